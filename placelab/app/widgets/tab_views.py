"""What tabs show by traits alone. What each trait has is said where it is drawn, in ``traits.ts`` of the view's folder."""

from __future__ import annotations

from pathlib import Path

from traitlets import Bool, Dict, Float, Int, List, Unicode

from placelab.app.widgets.whole import View

STATIC = Path(__file__).parent / "static"
Rows = List[dict]
Names = List[str]


class ComparisonTable(View):
    """All pairs of strategies (``widgets/comparison``); the browser sorts, colours and formats them."""

    _esm = STATIC / "comparison.js"

    schedulers: Names = List(Unicode()).tag(sync=True)
    rows: Rows = List(Dict()).tag(sync=True)
    shown: Names = List(Unicode()).tag(sync=True)
    other_options = Bool(False).tag(sync=True)
    measure = Unicode("makespan").tag(sync=True)
    status = Unicode("").tag(sync=True)
    fraction = Float(1.0).tag(sync=True)
    action = Unicode("").tag(sync=True)
    unitless = Bool(False).tag(sync=True)


class DifferenceTable(View):
    """Rows of what differs (``widgets/difference``), of which the browser shows one group."""

    _esm = STATIC / "difference.js"

    rows: Rows = List(Dict()).tag(sync=True)
    heads: Dict = Dict().tag(sync=True)
    groups: Names = List(Unicode()).tag(sync=True)
    group = Unicode("scope").tag(sync=True)
    summary = Unicode("").tag(sync=True)
    stale = Bool(False).tag(sync=True)
    beside = Unicode("").tag(sync=True)
    unitless = Bool(False).tag(sync=True)
    selection = Int(-1).tag(sync=True)


class WhatMattersTable(View):
    """Rows that the browser sorts and formats (``widgets/matters``); a slider says how much faster each part is imagined."""

    _esm = STATIC / "matters.js"

    rows: Rows = List(Dict()).tag(sync=True)
    makespan = Float(0.0).tag(sync=True)
    percent = Int(10).tag(sync=True)
    fraction = Float(1.0).tag(sync=True)
    status = Unicode("").tag(sync=True)
    stale = Bool(False).tag(sync=True)
    selection = Int(-1).tag(sync=True)
    unitless = Bool(False).tag(sync=True)


class TrainingChart(View):
    """A bar of what a run does over time, and a curve on which a hand drags the interval (``widgets/job``)."""

    _esm = STATIC / "job.js"

    run = Dict({"said": "", "kinds": [], "failures": []}).tag(sync=True)
    curve: Dict = Dict({"seconds": [], "over": []}).tag(sync=True)
    interval = Float(1.0).tag(sync=True)
    optimum = Float(1.0).tag(sync=True)
    limits = List([1.0, 1.0]).tag(sync=True)
    message = Unicode("").tag(sync=True)


class LayerStrip(View):
    """A cell per layer, coloured by device, and a row of bars per device; a hand drags the borders (``widgets/layers``)."""

    _esm = STATIC / "layers.js"
    verbatim = ("launch",)  # to be copied

    devices: Names = List(Unicode()).tag(sync=True)
    borders: List[int] = List(Int()).tag(sync=True)
    limits: List[list[int]] = List(List(Int())).tag(sync=True)
    sizes: List[float] = List(Float()).tag(sync=True)
    rows: Rows = List(Dict()).tag(sync=True)
    facts = Dict().tag(sync=True)
    best = Float(0.0).tag(sync=True)
    now = Unicode("").tag(sync=True)
    said = Unicode("").tag(sync=True)
    of = Unicode("").tag(sync=True)
    ghosts: Rows = List(Dict()).tag(sync=True)
    launching = Bool(False).tag(sync=True)
    launch: Rows = List(Dict()).tag(sync=True)
    asked = Dict().tag(sync=True)
    message = Unicode("").tag(sync=True)


class PlanBoard(View):
    """Bars of memory, a table, a plane of cells (``widgets/plans``); a click on a row or a cell asks for its plan."""

    _esm = STATIC / "plans.js"

    page = Unicode("degrees").tag(sync=True)
    stages: Rows = List(Dict()).tag(sync=True)
    said = Unicode("").tag(sync=True)
    refused = Unicode("").tag(sync=True)
    remedies: Names = List(Unicode()).tag(sync=True)
    rows: Rows = List(Dict()).tag(sync=True)
    plane: Dict = Dict({"x": [], "y": [], "cells": []}).tag(sync=True)
    status = Unicode("").tag(sync=True)

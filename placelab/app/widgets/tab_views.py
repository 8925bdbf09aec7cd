"""What tabs show by traits alone: tables of pairs, differences and parts; a training run, a strip of layers, a board of plans."""

from __future__ import annotations

from pathlib import Path

import traitlets

from placelab.app.widgets.whole import View


class ComparisonTable(View):
    """What is known of each pair of strategies; the browser sorts, colours and formats it.

    Attributes
    ----------
    rows
        One dictionary per partitioner: ``name``; ``state``: ``"pending"``, ``"running"``, ``"done"``, ``"search"``, which has a
        button that asks for it, or ``"own"``: a plan by hand, whose row stays the first; ``cells``: one per scheduler, None
        where nothing is known, else ``makespan`` [s], ``gap`` (of the makespan to the best lower bound, a fraction), ``memory``
        (largest peak of a device) and ``moved`` [bytes], each None where there is none, ``flaw`` (why the schedule does not
        count), ``error`` (why there is none), and ``stale``: it belongs to a problem before.
    asked
        What a user asks for, set by the browser: ``kind``: ``"show"`` a pair, ``"search"`` or ``"halt"`` a partitioner ("" for
        all), ``"compare"``, ``"against"``: a problem on which the pair shown loses to this one; ``partitioner``, ``scheduler``,
        and ``seq``, a number that grows.

    Examples
    --------
    >>> ComparisonTable(schedulers=["fifo", "pct"])
    ComparisonTable(0 partitioners under 2 schedulers)
    """

    _esm = Path(__file__).parent / "static" / "comparison.js"

    schedulers = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    shown = traitlets.List(traitlets.Unicode()).tag(sync=True)  # partitioner and scheduler that the explorer shows
    measure = traitlets.Unicode("makespan").tag(sync=True)  # or "gap", "memory", "moved"
    status = traitlets.Unicode("").tag(sync=True)  # a few words; "" when there is nothing to say
    fraction = traitlets.Float(1.0).tag(sync=True)  # share of the rows to be compared that are
    action = traitlets.Unicode("").tag(sync=True)  # of the button: "halt", "compare", "search", or "" for none
    asked = traitlets.Dict().tag(sync=True)
    unitless = traitlets.Bool(False).tag(sync=True)  # all quantities are plain numbers, see Cluster.units

    def __repr__(self) -> str:
        return f"ComparisonTable({len(self.rows)} partitioners under {len(self.schedulers)} schedulers)"


class DifferenceTable(View):
    """Rows in the order that Python gives them; the browser shows those of one group.

    Attributes
    ----------
    rows
        One dictionary per row: ``what`` (``scope``, ``kind``, ``op``, ``number``), ``name``; ``moved``, ``before``, ``after``,
        texts; ``saved`` [s], None for none; ``op``, the number of the op that a click selects, -1 for none.
    groups
        The values of ``what`` that a reader can choose; ``group`` is the one chosen.
    summary
        A sentence above the rows, or why there are none.
    stale
        Whether the rows belong to a schedule before.
    beside
        The partitioner of the kept schedule, where its decisions can be laid beside those of the one on show; "": they cannot.
        A button asks for that by the message ``{"part": True}``.
    unitless
        Whether times are plain numbers.

    Examples
    --------
    >>> DifferenceTable()
    DifferenceTable(0 rows)
    """

    _esm = Path(__file__).parent / "static" / "difference.js"

    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    groups = traitlets.List(traitlets.Unicode()).tag(sync=True)
    group = traitlets.Unicode("scope").tag(sync=True)
    summary = traitlets.Unicode("").tag(sync=True)
    stale = traitlets.Bool(False).tag(sync=True)
    beside = traitlets.Unicode("").tag(sync=True)
    unitless = traitlets.Bool(False).tag(sync=True)
    selection = traitlets.Int(-1).tag(sync=True)  # number of the op that all views show as selected

    def __repr__(self) -> str:
        return f"DifferenceTable({len(self.rows)} rows)"


class WhatMattersTable(View):
    """Rows that the browser sorts and formats; a slider says how much faster each part is imagined.

    Attributes
    ----------
    rows
        One dictionary per part: ``what`` (``kind``, ``device``, ``devices``, ``op``, ``link``, ``links``), ``name``; ``op``, the
        number of the op that a click selects, -1 for none; ``saved`` [s], None where the faster run fails; ``stale``: it belongs
        to a schedule before.
    makespan
        Of the schedule as it is [s].
    percent
        Position of the slider, set by the browser.
    fraction
        Share of the rows that are computed.
    stale
        Whether all rows belong to a schedule before.

    Examples
    --------
    >>> WhatMattersTable()
    WhatMattersTable(0 rows, 10 % faster)
    """

    _esm = Path(__file__).parent / "static" / "matters.js"

    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    makespan = traitlets.Float(0.0).tag(sync=True)
    percent = traitlets.Int(10).tag(sync=True)
    fraction = traitlets.Float(1.0).tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)  # a few words; "" when there is nothing to say
    stale = traitlets.Bool(False).tag(sync=True)
    selection = traitlets.Int(-1).tag(sync=True)  # number of the op that all views show as selected
    unitless = traitlets.Bool(False).tag(sync=True)  # all quantities are plain numbers, see Cluster.units

    def __repr__(self) -> str:
        return f"WhatMattersTable({len(self.rows)} rows, {self.percent} % faster)"


class TrainingChart(View):
    """A bar of what a run does over time, and a curve on which a hand drags the interval.

    Attributes
    ----------
    run
        ``said``, a sentence; ``kinds``: of each kind of time ``name``, ``share`` as a text and ``columns``, shares of each column
        of the bar; ``failures``: shares of the run at which one struck.
    curve
        ``seconds`` between checkpoints, rising, and ``over``, the expected time beyond the useful one over it.
    interval
        Seconds between checkpoints, set by the browser, too.
    optimum
        The best ones.
    limits
        Least and largest interval that a hand may choose.

    Examples
    --------
    >>> TrainingChart()
    TrainingChart(interval 1.0 s)
    """

    _esm = Path(__file__).parent / "static" / "job.js"

    run = traitlets.Dict({"said": "", "kinds": [], "failures": []}).tag(sync=True)
    curve: traitlets.Dict = traitlets.Dict({"seconds": [], "over": []}).tag(sync=True)
    interval = traitlets.Float(1.0).tag(sync=True)
    optimum = traitlets.Float(1.0).tag(sync=True)
    limits = traitlets.List([1.0, 1.0]).tag(sync=True)
    message = traitlets.Unicode("").tag(sync=True)  # why there is no picture; "" when there is one

    def __repr__(self) -> str:
        return f"TrainingChart(interval {self.interval} s)"


class LayerStrip(View):
    """A cell per layer, coloured by device, and a row of bars per device; a hand drags the borders.

    Attributes
    ----------
    devices
        Their names.
    borders
        First block of each device, and the number of blocks: embedding, layers, head.
    limits
        Of each border the least and the most block that it can be put before so that everything fits.
    sizes
        Width of each block: its bytes or its seconds.
    rows
        Of each device ``seconds``, ``parts``: pairs of category and bytes, ``capacity`` [bytes], None where it is unlimited, and
        ``lacks`` [bytes], 0 where it fits.
    facts
        What rows are summed from, by :meth:`placelab.app.explorer.layers.Layers.facts`: while a border is dragged, the page
        shows those of its new place before the kernel has answered.
    best
        Seconds of the slowest device of the best split, a line through the bars.
    now, said
        What the split comes to, in a word and in a line.
    of
        What the seconds are of: ``"time per token"``.
    ghosts
        The best splits: ``objective``, ``label``, ``value`` (a text), ``borders``.
    asked
        Where a hand wants a border, set by the browser: ``border``, ``to`` (a block), and ``drag``, a number that grows from one
        movement of a hand to the next; or ``best``, the objective whose best split it wants, and ``drag``.
    launching
        Whether what to type is shown, set by the browser, too.
    launch
        What to type: ``name``, ``where``, ``text``, ``why`` there is none.
    message
        Why there is no strip; "" when there is one.

    Examples
    --------
    >>> LayerStrip(devices=["gpu:0"], borders=[0, 4])
    LayerStrip(4 blocks on 1 devices)
    """

    _esm = Path(__file__).parent / "static" / "layers.js"

    devices = traitlets.List(traitlets.Unicode()).tag(sync=True)
    borders = traitlets.List(traitlets.Int()).tag(sync=True)
    limits = traitlets.List(traitlets.List(traitlets.Int())).tag(sync=True)
    sizes = traitlets.List(traitlets.Float()).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    facts = traitlets.Dict().tag(sync=True)
    best = traitlets.Float(0.0).tag(sync=True)
    now = traitlets.Unicode("").tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    of = traitlets.Unicode("").tag(sync=True)
    ghosts = traitlets.List(traitlets.Dict()).tag(sync=True)
    launching = traitlets.Bool(False).tag(sync=True)
    launch = traitlets.List(traitlets.Dict()).tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)
    message = traitlets.Unicode("").tag(sync=True)

    def __repr__(self) -> str:
        return f"LayerStrip({self.borders[-1] if self.borders else 0} blocks on {len(self.devices)} devices)"


class PlanBoard(View):
    """One of three pages: bars of memory, a table, a plane of cells; a click on a row or a cell asks for its plan.

    Attributes
    ----------
    page
        ``"degrees"``, ``"winners"`` or ``"plane"``.
    stages
        Of each stage ``name``, ``parts``: pairs of category and bytes, ``capacity`` [bytes], None where it is unlimited, and
        ``lacks`` [bytes], 0 where it fits.
    said, refused
        The plan's numbers; why it cannot run, "" where it can.
    remedies
        Choices with which it fits, in words.
    rows
        Plans that were found: ``degrees``, ``schedule``, ``more``, ``seconds`` (None where it was not run), ``mfu``, ``bubble``,
        ``memory`` [bytes], ``why`` it was not run, ``shown``: it is the one shown, ``kept``: it is compared with.
    plane
        ``x`` and ``y``, names of columns and rows; ``cells``: rows of ``seconds``, ``text``, ``why``, ``row`` (-1 for none) and
        ``shown``.
    status
        What the search does, or has found.
    asked
        The ``row`` or the number of a ``remedy`` that a hand wants, -1 for none, set by the browser, ``keep``: to compare with
        it, and ``seq``, a number that grows.

    Examples
    --------
    >>> PlanBoard()
    PlanBoard(0 plans)
    """

    _esm = Path(__file__).parent / "static" / "plans.js"

    page = traitlets.Unicode("degrees").tag(sync=True)
    stages = traitlets.List(traitlets.Dict()).tag(sync=True)
    said = traitlets.Unicode("").tag(sync=True)
    refused = traitlets.Unicode("").tag(sync=True)
    remedies = traitlets.List(traitlets.Unicode()).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    plane: traitlets.Dict = traitlets.Dict({"x": [], "y": [], "cells": []}).tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)

    def __repr__(self) -> str:
        return f"PlanBoard({len(self.rows)} plans)"

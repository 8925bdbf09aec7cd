"""A training plan's memory by stage, the plans that a search has found, and the best of them over two degrees. Traits only."""

from __future__ import annotations

from pathlib import Path

import traitlets

from placelab.app.widgets.whole import View


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
    rows
        Plans that were found: ``degrees``, ``schedule``, ``more``, ``seconds`` (None where it was not run), ``mfu``, ``bubble``,
        ``memory`` [bytes], ``why`` it was not run, ``shown``: it is the one shown, ``kept``: it is compared with.
    plane
        ``x`` and ``y``, names of columns and rows; ``cells``: rows of ``seconds``, ``text``, ``why``, ``row`` (-1 for none) and
        ``shown``.
    status
        What the search does, or has found.
    asked
        The ``row`` that a hand wants, set by the browser, ``keep``: to compare with it, and ``seq``, a number that grows.

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
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    plane: traitlets.Dict = traitlets.Dict({"x": [], "y": [], "cells": []}).tag(sync=True)
    status = traitlets.Unicode("").tag(sync=True)
    asked = traitlets.Dict().tag(sync=True)

    def __repr__(self) -> str:
        return f"PlanBoard({len(self.rows)} plans)"

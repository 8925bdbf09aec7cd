"""A table of partitioners × schedulers, a heat map that is used by mouse and keyboard. Traits only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anywidget
import ipywidgets as w
import traitlets


class ComparisonTable(anywidget.AnyWidget):
    """What is known of each pair of strategies; the browser sorts, colours and formats it.

    Attributes
    ----------
    rows
        One dictionary per partitioner: ``name``; ``state``: ``"pending"``, ``"running"``, ``"done"`` or ``"search"``, which has a
        button that asks for it; ``cells``: one per scheduler, None where nothing is known, else ``makespan`` [s], ``gap`` (of the
        makespan to the best lower bound, a fraction), ``memory`` (largest peak of a device) and ``moved`` [bytes], each None
        where there is none, ``flaw`` (why the schedule does not count), ``error`` (why there is none), and ``stale``: it belongs
        to a problem before.
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
    unitless = traitlets.Bool(False).tag(sync=True)  # all quantities are plain numbers, see problem.plain_numbers

    def __init__(self, **traits: Any) -> None:
        super().__init__(**{"layout": w.Layout(width="100%", height="100%", min_width="0", min_height="0"), **traits})

    def __repr__(self) -> str:
        return f"ComparisonTable({len(self.rows)} partitioners under {len(self.schedulers)} schedulers)"

"""The decisions of a partitioner, step by step. Traits only; the drawing is in ``widgets/decisions``."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from placelab.analysis.decisions import first_difference
from placelab.app.widgets.decisions_wire import Traces, decision_page, rank_page
from placelab.schedule.placement import Placement


class Decisions(anywidget.AnyWidget):
    """What a partitioner decided, in planning order: op, rank, the score of each device, the reason; and how ranks add up.

    Rows are sent page by page, as the browser asks for them, so that large graphs are quick. A graph of some dozens of ops is
    one page: then stepping needs no kernel.

    Attributes
    ----------
    candidates
        Of the current step, ``{device, start, finish, op, chosen}`` for each device that was looked at, times in seconds, for
        ghost bars on the device's lane; empty where scores are no times of the op, and while a prediction is awaited.

    Examples
    --------
    >>> import placelab as pl
    >>> Decisions.of(pl.place(pl.datasets.problem("topcuoglu"), "heft", trace=True))
    Decisions(10 decisions of heft)
    """

    _esm = Path(__file__).parent / "static" / "decisions.js"

    page = traitlets.Bytes().tag(sync=True)  # rows, see placelab.app.widgets.decisions_wire
    generation = traitlets.Int(0).tag(sync=True)  # number of what is on show; pages of another number are outdated
    mode = traitlets.Unicode("decisions").tag(sync=True)  # or "ranks"; both ways
    counts = traitlets.List(traitlets.Int(), [0, 0]).tag(sync=True)  # decisions; ops with ranks, 0 without ranks
    wanted = traitlets.Int(-1).tag(sync=True)  # row that the browser lacks, of the present mode
    devices = traitlets.List(traitlets.Unicode()).tag(sync=True)  # names
    about = traitlets.Dict().tag(sync=True)  # names and units of scores and ranks, names of the strategies
    step = traitlets.Int(0).tag(sync=True)  # current decision; both ways
    selection = traitlets.Int(-1).tag(sync=True)  # op number, -1 for none; both ways
    choices = traitlets.List(traitlets.Unicode()).tag(sync=True)  # strategies to compare with
    against = traitlets.Unicode("").tag(sync=True)  # the one chosen, "" for none; both ways
    differs = traitlets.List(traitlets.Int(), [-1, -1]).tag(sync=True)  # rows, -1: none; first one in order, of devices
    candidates = traitlets.List(traitlets.Dict()).tag(sync=True)  # of the current step, from the browser
    note = traitlets.Unicode("").tag(sync=True)  # a sentence: why there is nothing, or what to know
    stale = traitlets.Bool(False).tag(sync=True)  # what is shown is being recomputed

    _traces: Traces | None = None
    _showing = False  # the step changes because of another trace, not because a reader went there

    def __init__(self, **traits: object) -> None:
        self._lock = threading.RLock()  # the browser's messages may arrive on another thread than placements
        super().__init__(**traits)

    @classmethod
    def of(cls, placement: Placement, other: Placement | None = None, **traits: object) -> Decisions:
        """The view of one placement, made with ``trace=True``, or of two."""
        view = cls(**traits)
        view.show(placement, other)
        return view

    def show(self, placement: Placement, other: Placement | None = None, *, note: str = "") -> None:
        """Show the decisions of a placement, compared with those of another one of the same problem.

        The step stays on the selected op, or where it was.

        Raises
        ------
        UnsupportedError
            A placement has no trace, or `other` is of another graph.
        """
        found = [first_difference(placement, other or placement, order=order) for order in (True, False)]
        trace, problem = placement.trace, placement.problem
        assert trace is not None  # else first_difference has raised
        with self._lock, self.hold_sync():
            self._traces = Traces(problem, trace, None if other is None else other.trace)
            self.counts = [len(trace.op), 0 if trace.ranks is None else problem.graph.n_ops]
            self.devices = list(problem.cluster.names)
            self.about = _about(placement, other)
            self.differs = [-1 if row is None else row for row in found]
            self.note, self.stale = note, False
            if trace.ranks is None:
                self.mode = "decisions"
            row = self._traces.row[self.selection] if 0 <= self.selection < problem.graph.n_ops else -1
            self._showing = True
            self.step = int(row) if row >= 0 else min(self.step, len(trace.op) - 1)
            self._showing = False
            self.generation += 1
            self._send_page(self._current_row())

    def clear(self, note: str) -> None:
        """Show nothing but a sentence."""
        with self._lock, self.hold_sync():
            self._traces, self.counts, self.differs, self.candidates = None, [0, 0], [-1, -1], []
            self.note, self.stale, self.page = note, False, b""
            self.generation += 1

    def _current_row(self) -> int:
        """The current row of the present mode."""
        if self.mode == "decisions":
            return self.step
        n = self.counts[1]
        return n - 1 - self.selection if 0 <= self.selection < n else 0

    def _send_page(self, row: int) -> None:
        if self._traces is not None:
            page = decision_page if self.mode == "decisions" else rank_page
            self.page = page(self._traces, self.generation, row)

    @traitlets.observe("wanted")
    def _on_wanted(self, change: dict[str, Any]) -> None:
        with self._lock:
            if change["new"] >= 0:
                self._send_page(change["new"])
                self.wanted = -1  # so that the same row can be asked for again

    @traitlets.observe("mode")
    def _on_mode(self, change: dict[str, Any]) -> None:
        with self._lock:
            self._send_page(self._current_row())

    @traitlets.observe("step")
    def _on_step(self, change: dict[str, Any]) -> None:
        """Select the op that a reader went to; the browser does not know those of other pages."""
        with self._lock:
            traces, selection = self._traces, self.selection
            if traces is None or self._showing or not 0 <= change["new"] < len(traces.trace.op):
                return
            if not 0 <= selection < len(traces.row) or traces.row[selection] != change["new"]:
                self.selection = int(traces.trace.op[change["new"]])

    @traitlets.observe("selection")
    def _on_selection(self, change: dict[str, Any]) -> None:
        """Go to the decision about an op that was selected elsewhere."""
        with self._lock:
            if self._traces is None or not 0 <= change["new"] < len(self._traces.row):
                return
            row = int(self._traces.row[change["new"]])
            if row >= 0:
                self.step = row

    def __repr__(self) -> str:
        n, strategy = self.counts[0], self.about.get("strategy", "")
        return f"Decisions({n} decision{'s' * (n != 1)}{f' of {strategy}' * bool(strategy)})"


def _about(placement: Placement, other: Placement | None) -> dict[str, str]:
    """The words around the numbers."""
    trace = placement.trace
    assert trace is not None
    words = {"strategy": placement.partitioner, "times": trace.times}
    named = {"score": trace.score_name, "rank": trace.rank_name, "sums": trace.ranks.name if trace.ranks else ""}
    if other is not None and other.trace is not None:
        words |= {"against": other.partitioner, "against_times": other.trace.times}
        named["against_score"] = other.trace.score_name
    for key, name in named.items():
        words[key], _, unit = name.partition(" [")
        words[f"{key}_unit"] = unit.rstrip("]") if placement.problem.cluster.units.si else ""
    return words

"""The decisions of a partitioner, step by step: the pages in which they are sent, and what they had settled after each.

Drawn by ``widgets/decisions``. Each column starts at a multiple of 8 bytes, and is read by ``widgets/decisions/page.ts``.

==============  ============================================================================================================
part            content
==============  ============================================================================================================
header          9 u4: version, generation, kind (0 decisions, 1 ranks), first row, rows n, devices k, whether there is another
                trace, terms, bytes of the JSON
kind 0          u4 op, u4 device, f8 rank (NaN: none) of the n decisions; f8 score and f8 time on the device of each of the n·k
                pairs (NaN: no candidate, or not known). With another trace the same again of its decisions about the same
                ops, but u4 row (2³² - 1: none) in place of op and without rank
kind 1          u4 op, f8 own, f8 rank of the n ops; u4 n + 1 pointers to the terms: u4 successor, f8 way, f8 rank of each; u4
                number of terms left out of each op
JSON            names, why; with another trace other_why and other_here; of ranks: names and successors
==============  ============================================================================================================
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import traitlets

from placelab.analysis.two_schedules import first_difference
from placelab.app.widgets.gantt_wire import joined
from placelab.app.widgets.whole import View
from placelab.base.directions import all_isolated
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.schedule.trace import Ranks, Trace

VERSION = 1
DECISIONS = 0
RANKS = 1
PAIRS = 8192  # of rows and devices on a page, about
LEAST = 96  # rows of a page; more than a screen shows
MOST = 256
TERMS = 12  # successors listed of an op, those of the longest paths


@dataclass(frozen=True, eq=False)
class Traces:
    """The trace on show, and the one that it is compared with.

    Attributes
    ----------
    problem, trace
        What was placed, and how; `other` is a trace of the same problem.
    """

    problem: Problem
    trace: Trace
    other: Trace | None = None

    @cached_property
    def row(self) -> np.ndarray:
        """Row of the decision about each op, -1 for none; shape (n_ops,)."""
        return self.trace.rows(self.problem)

    @cached_property
    def other_row(self) -> np.ndarray:
        """Row of the other trace's decision about each op, -1 for none; shape (n_ops,)."""
        assert self.other is not None
        return self.other.rows(self.problem)


def span(row: int, total: int, devices: int) -> tuple[int, int]:
    """First and last + 1 of the rows of a page that has `row` well inside."""
    size = min(max(PAIRS // max(devices, 1), LEAST), MOST)
    first = min(max(row - size // 2, 0), max(total - size, 0))
    return first, min(first + size, total)


def decision_page(shown: Traces, generation: int, row: int) -> bytes:
    """The page of decisions around `row`."""
    problem = shown.problem
    trace = shown.trace
    k = shown.problem.cluster.n_devices
    first, last = span(row, len(trace.op), k)
    rows = np.arange(first, last)
    texts: dict[str, Any] = {
        "names": problem.graph.names[trace.op[rows]].tolist(),
        "why": [why(problem, trace, i) for i in rows.tolist()],
    }
    rank = np.full(len(rows), np.nan) if trace.rank is None else trace.rank[rows]
    columns = [trace.op[rows].astype("<u4"), *_candidates(problem, trace, rows, rank)]
    if shown.other is not None:
        same = shown.other_row[trace.op[rows]]
        columns += [same.astype("<u4"), *_candidates(problem, shown.other, same)]
        texts["other_why"] = [why(problem, shown.other, i) if i >= 0 else "" for i in same.tolist()]
        texts["other_here"] = [_taken(problem, shown.other, i) for i in rows.tolist()]
    header = [VERSION, generation, DECISIONS, first, len(rows), k, shown.other is not None, 0]
    return _message(header, columns, texts)


def rank_page(shown: Traces, generation: int, row: int) -> bytes:
    """The page of ranks around `row`: row i is op n_ops - 1 - i, so that successors come before."""
    problem = shown.problem
    ranks = shown.trace.ranks
    graph = shown.problem.graph
    assert ranks is not None
    first, last = span(row, graph.n_ops, 1)
    ops = graph.n_ops - 1 - np.arange(first, last)
    terms = [_terms(problem, ranks, v) for v in ops.tolist()]
    edges = np.concatenate([np.empty(0, int), *(kept for kept, _ in terms)]).astype(int)
    successor = graph.consumer[edges]
    columns = [
        *(ops.astype("<u4"), ranks.own[ops].astype("<f8"), ranks.value[ops].astype("<f8")),
        np.cumsum([0, *(len(kept) for kept, _ in terms)]).astype("<u4"),
        *(successor.astype("<u4"), ranks.way[edges].astype("<f8"), ranks.value[successor].astype("<f8")),
        np.array([left for _, left in terms], "<u4"),
    ]
    texts = {"names": graph.names[ops].tolist(), "successors": graph.names[successor].tolist()}
    return _message([VERSION, generation, RANKS, first, len(ops), 1, 0, len(edges)], columns, texts)


def why(problem: Problem, trace: Trace, row: int) -> str:
    """The reason of a decision as a sentence: the device, why, how far ahead of the next best it is, who follows."""
    op = trace.op[row]
    chosen = trace.device[row]
    score = trace.score[row]
    names = problem.cluster.names
    text = f"{names[chosen]}: {trace.reasons[trace.reason[row]]}"
    equal = [names[d] for d in np.flatnonzero(score == score[chosen]) if d != chosen]
    behind = np.where(score > score[chosen], score, np.inf)
    if equal:
        text += f"; equal on {', '.join(equal[:3])}{' and more' if len(equal) > 3 else ''}"
    elif trace.times and np.isfinite(behind).any():
        text += f", {problem.cluster.units.time(behind.min() - score[chosen])} before {names[int(np.argmin(behind))]}"
    members = len(problem.members(op))
    return f"{text}. {members - 1} more of its group follow." if members > 1 else f"{text}."


def _taken(problem: Problem, trace: Trace, row: int) -> str:
    """What a trace decides at a row, "" behind its end."""
    if row >= len(trace.op):
        return ""
    return f"{problem.graph.names[trace.op[row]]} → {problem.cluster.names[trace.device[row]]}"


def _candidates(
    problem: Problem, trace: Trace, rows: np.ndarray, rank: np.ndarray | None = None
) -> tuple[np.ndarray, ...]:
    """Device, rank if given, scores and times of decisions; a row of -1 has none."""
    there = rows >= 0
    device = trace.device[rows].astype("<u4")
    score = trace.score[rows].astype("<f8")
    took = trace.score[rows] * np.nan
    if trace.times:
        took = problem.exec_table(trace.op[rows], otherwise=np.nan)
    score[~there] = np.nan
    took[~there] = np.nan
    ranks = () if rank is None else (rank.astype("<f8"),)
    return device, *ranks, score.reshape(-1), took.astype("<f8").reshape(-1)


def _terms(problem: Problem, ranks: Ranks, op: int) -> tuple[np.ndarray, int]:
    """Edges to the successors of the longest paths, the deciding one first, each successor once; how many are left out."""
    graph = problem.graph
    edges = np.arange(graph.succ_ptr[op], graph.succ_ptr[op + 1])
    through = ranks.way[edges] + ranks.value[graph.consumer[edges]]
    edges = edges[np.lexsort((graph.consumer[edges], -through))]
    once = np.sort(np.unique(graph.consumer[edges], return_index=True)[1])
    return edges[once][:TERMS], max(len(once) - TERMS, 0)


def _message(header: list[Any], columns: list[np.ndarray], texts: dict[str, Any]) -> bytes:
    text = np.frombuffer(json.dumps(all_isolated(texts)).encode(), np.uint8)
    return joined([np.array([*header, len(text)], "<u4"), *columns, text])


class Decisions(View):
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

    page = traitlets.Bytes().tag(sync=True)  # rows, see placelab.app.widgets.decisions
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
    # A chart beside shows everything, not what is decided so far; both ways.
    whole = traitlets.Bool(False).tag(sync=True)
    hides = traitlets.Bool(False).tag(sync=True)  # a prediction is awaited; from the browser
    candidates = traitlets.List(traitlets.Dict()).tag(sync=True)  # of the current step, from the browser
    note = traitlets.Unicode("").tag(sync=True)  # a sentence: why there is nothing, or what to know
    stale = traitlets.Bool(False).tag(sync=True)  # what is shown is being recomputed

    _traces: Traces | None = None

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
        trace = placement.trace
        problem = placement.problem
        assert trace is not None  # else first_difference has raised
        with self._lock, self.hold_sync():
            self._traces = Traces(problem, trace, None if other is None else other.trace)
            self.counts = [len(trace.op), 0 if trace.ranks is None else problem.graph.n_ops]
            self.devices = list(problem.cluster.names)
            self.about = _about(placement, other)
            self.differs = [-1 if row is None else row for row in found]
            self.note = note
            self.stale = False
            if trace.ranks is None:
                self.mode = "decisions"
            row = self._traces.row[self.selection] if 0 <= self.selection < problem.graph.n_ops else -1
            with self.quietly():  # no reader has gone there
                self.step = int(row) if row >= 0 else min(self.step, len(trace.op) - 1)
            self.generation += 1
            self._send_page(self._current_row())

    def clear(self, note: str) -> None:
        """Show nothing but a sentence."""
        with self._lock, self.hold_sync():
            self._traces = None
            self.counts = [0, 0]
            self.differs = [-1, -1]
            self.candidates = []
            self.note = note
            self.stale = False
            self.page = b""
            self.generation += 1

    def so_far(self, schedule: Schedule) -> tuple[int, int, np.ndarray] | None:
        """How many ops are decided, of how many, and the mask of :func:`decided_so_far`; None where everything is to be drawn."""
        with self._lock:
            traces = self._traces
            if traces is None or self.whole or self.mode != "decisions" or traces.problem is not schedule.problem:
                return None
            mask = decided_so_far(schedule, traces.row, self.step + (not self.hides))
            n = schedule.problem.graph.n_ops
            return int(mask[:n].sum()), n, mask

    def op_of(self, row: int) -> int:
        """The number of the op that decision `row` is about."""
        with self._lock:
            assert self._traces is not None
            return int(self._traces.trace.op[row])

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
            traces = self._traces
            selection = self.selection
            if traces is None or self.quiet or not 0 <= change["new"] < len(traces.trace.op):
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
        n = self.counts[0]
        strategy = self.about.get("strategy", "")
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


def decided_so_far(schedule: Schedule, rows: np.ndarray, decisions: int) -> np.ndarray:
    """A mask of the ops, then of the transfers: what the first decisions have settled.

    Parameters
    ----------
    rows
        Row of the decision about each op, -1 for none, as :meth:`placelab.schedule.trace.Trace.rows` returns; shape (n_ops,).
    decisions
        How many of them.

    Returns
    -------
    ndarray of bool
        Shape (n_ops + transfers,). A transfer is settled with its producer and one of the ops that read it where it goes.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.datasets.problem("topcuoglu")
    >>> placement = pl.place(problem, "heft", trace=True)
    >>> schedule = pl.simulate(problem, placement)
    >>> mask = decided_so_far(schedule, placement.trace.rows(problem), 3)
    >>> problem.graph.names[mask[:10]].tolist(), int(mask[10:].sum())
    (['T1', 'T3', 'T4'], 1)
    """
    graph = schedule.problem.graph
    k = schedule.problem.cluster.n_devices
    ops = (rows >= 0) & (rows < decisions)
    moved = schedule.transfers
    read = ops[graph.consumer]
    arrivals = graph.edge_tensor[read].astype(np.int64) * k + schedule.device[graph.consumer[read]]
    there = np.isin(moved["tensor"].astype(np.int64) * k + moved["destination"], arrivals)
    return np.concatenate([ops, there & ops[graph.tensor_producer[moved["tensor"]]]])

"""Pages of the rows that the decisions view shows: little-endian columns, then JSON, in one message.

Each column starts at a multiple of 8 bytes. Read by ``widgets/decisions/page.ts``.

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
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from placelab.app.widgets.gantt.wire import joined
from placelab.problem.problem import Problem
from placelab.schedule.trace import Ranks, Trace

VERSION = 1
DECISIONS, RANKS = 0, 1
PAIRS = 8192  # of rows and devices on a page, about
LEAST, MOST = 96, 256  # rows of a page; more than a screen shows
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
    problem, trace, k = shown.problem, shown.trace, shown.problem.cluster.n_devices
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
    problem, ranks, graph = shown.problem, shown.trace.ranks, shown.problem.graph
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
    op, chosen, score, names = trace.op[row], trace.device[row], trace.score[row], problem.cluster.names
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
    device, score, took = trace.device[rows].astype("<u4"), trace.score[rows].astype("<f8"), trace.score[rows] * np.nan
    if trace.times:
        took = problem.exec_table(trace.op[rows], otherwise=np.nan)
    score[~there], took[~there] = np.nan, np.nan
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
    text = np.frombuffer(json.dumps(texts).encode(), np.uint8)
    return joined([np.array([*header, len(text)], "<u4"), *columns, text])

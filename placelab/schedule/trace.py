"""The decisions behind a placement, in the order they were taken, and the ranks that ordered them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.units import apart
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem

PLANNED_FINISH = "planned finish [s]"  # scores that are times of the op itself, as the next
EARLIEST_START = "earliest start [s]"


@dataclass(frozen=True, eq=False)
class Ranks:
    r"""Lengths of the longest paths to the exits, added up backwards.

    .. math:: rank(v) = own(v) + \max_{e: v \to s} (way(e) + rank(s))

    Attributes
    ----------
    name : str
        What a rank is, with its unit.
    value, own : ndarray, shape (n_ops,)
        The rank of each op, and what the op itself adds to it.
    way : ndarray, shape (n_edges,)
        What each edge adds.
    """

    name: str
    value: np.ndarray
    own: np.ndarray
    way: np.ndarray

    def through(self, graph: OpGraph) -> np.ndarray:
        """Length of the longest path from the beginning of each edge's way: way(e) + rank(s), shape (n_edges,)."""
        return self.way + self.value[graph.consumer]


@dataclass(frozen=True, eq=False)
class Trace:
    """Why each op is where it is: one row per decision, in the order decided.

    Attributes
    ----------
    op, device : ndarray of int32, shape (n_decisions,)
        The op (first member of its group) and the device it was given.
    score : ndarray, shape (n_decisions, n_devices)
        What the partitioner compared, NaN where a device was no candidate.
    reason : ndarray of int32, shape (n_decisions,)
        Index into `reasons`.
    score_name : str
        What a score is, with its unit.
    times : {"", "start", "finish"}
        Whether a score is the planned start or finish of the op on the device, which :meth:`spans` needs.
    rank : ndarray, shape (n_decisions,), or None
        What decisions were ordered by, the largest first (of the ops that the strategy could choose from), or, in ``etf``,
        ``flb`` and ``sct``, what breaks ties; None where the strategy has no ranks.
    rank_name : str
        What that is, with its unit.
    ranks : Ranks or None
        How upward ranks add up, for strategies that have them.
    """

    op: np.ndarray
    device: np.ndarray
    score: np.ndarray
    reason: np.ndarray
    reasons: tuple[str, ...]
    score_name: str
    times: Literal["", "start", "finish"] = ""
    rank: np.ndarray | None = None
    rank_name: str = ""
    ranks: Ranks | None = None

    def rows(self, problem: Problem) -> np.ndarray:
        """The row that decided each op, with or without its group; -1 where there is none. int32 of shape (n_ops,)."""
        none = len(self.op)
        row = np.full(problem.graph.n_ops, none, dtype=np.int32)
        row[self.op] = np.arange(none, dtype=np.int32)
        if problem.n_groups:
            first = np.minimum.reduceat(row[problem.group_ops], problem.group_ptr[:-1])
            grouped = problem.group >= 0
            row[grouped] = first[problem.group[grouped]]
        return frozen(np.where(row == none, np.int32(-1), row))

    def spans(self, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        """When the op of each decision would start and finish on each device, as planned; ``schedule`` may differ.

        Returns
        -------
        start, finish : ndarray, shape (n_decisions, n_devices)
            Seconds, to rounding; NaN where the device was no candidate, and everywhere if scores are no times of the op.
        """
        if not self.times:
            return np.full(self.score.shape, np.nan), np.full(self.score.shape, np.nan)
        took = problem.exec_table(self.op, otherwise=np.nan)
        return (self.score, self.score + took) if self.times == "start" else (self.score - took, self.score)

    def line(self, problem: Problem, op: int) -> str:
        """The decision about `op` (or about its group) as one sentence."""
        rows = np.flatnonzero(np.isin(self.op, problem.members(op)))
        if not len(rows):
            return f"{problem.graph.names[op]}: no decision recorded"
        i = rows[0]
        names = problem.cluster.names
        chosen = self.device[i]
        score = self.score[i]
        others = [d for d in np.argsort(score, kind="stable") if d != chosen and not np.isnan(score[d])][:4]
        first, *rest = apart([score[chosen], *score[others]], self.text_of(problem))
        compared = "; ".join([first, *(f"{names[d]} {text}" for d, text in zip(others, rest, strict=True))])
        text = f"{problem.graph.names[op]} on {names[chosen]}: {self.reasons[self.reason[i]]}"
        if self.op[i] != op:
            text += f", with {problem.graph.names[self.op[i]]} of its group"
        if np.isnan(score[chosen]):
            return text
        tie = "; of equals the first" if (score == score[chosen]).sum() > 1 else ""
        return f"{text} ({self.score_name.partition(' [')[0]} {compared}{tie})"

    def text_of(self, problem: Problem) -> Callable[[float, int], str]:
        """Writes a score with so many digits: times in a unit that fits, other numbers as they are."""
        written = problem.cluster.units
        return written.time if self.score_name.endswith("[s]") else lambda score, digits: f"{score:.{digits}g}"

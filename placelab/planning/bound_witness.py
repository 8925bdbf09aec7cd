"""Say why no schedule is shorter than the bound ``inputs``: a chain of ops, transfers and ops that must share a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from placelab.base.interrupts import need
from placelab.kernels import blocks
from placelab.kernels.plan.input_heads import force
from placelab.planning.input_bound import (
    arrivals,
    fullest_window,
    longest_window,
    pools,
    windows,
    workspace,
)
from placelab.problem.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

NEAR = 1e-9  # relative: rounding
BEFORE = 1e-7  # relative: how much before a head the start is looked at that is impossible


class Step(NamedTuple):
    """A part of the proof: what takes the time between two moments of every schedule, or more."""

    kind: str
    ops: tuple[int, ...]
    start: float
    finish: float


def witness(problem: Problem) -> pd.DataFrame:
    """The proof of the bound ``inputs``, in the order of time; its rows fill the time from 0 to the bound.

    Returns
    -------
    DataFrame
        ``kind``; ``start``, ``finish`` [s]; ``ops``, a tuple of names; ``reason``, a sentence. Kinds: ``op`` (its least time),
        ``transfer`` (its input is awaited: producer and reader), ``share`` (ops that must run on one device, between an op
        that is awaited and the one that reads them), ``work`` (ops that all lie between two moments, over the devices
        that may run them).

    Notes
    -----
    Where several chains bind, the one over the lowest numbers. O(steps · f log f) with f forced ops, and, where a window of work
    binds, O(n_ops) for each head before the window's. Memory and contention are left out.

    References
    ----------
    Of placelab; each step is an argument of the bound, see :func:`placelab.planning.input_bound.windows`.
    """
    need("pandas")
    import pandas as pd

    names = problem.graph.names.tolist()
    rows = [
        (step.kind, step.start, step.finish, tuple(names[op] for op in step.ops), _reason(step, names))
        for step in steps(problem)
    ]
    return pd.DataFrame(rows, columns=["kind", "start", "finish", "ops", "reason"])


def steps(problem: Problem) -> list[Step]:
    """The steps of the proof, without a gap from 0 to the bound."""
    time, head, tail = windows(problem)
    longest = longest_window(problem)
    fullest = fullest_window(problem)
    if longest >= fullest * (1 - NEAR):
        op = int(np.argmax(head + time + tail))
        middle = [Step("op", (op,), float(head[op]), float(head[op] + time[op]))]
        return [*_chain(problem, op), *middle, *_mirrored(problem, op, longest)]
    first, last, inside = _window(problem, fullest)
    work = Step("work", tuple(inside.tolist()), float(head[first]), fullest - float(tail[last]))
    return [*_chain(problem, first), work, *_mirrored(problem, last, fullest)]


def _window(problem: Problem, fullest: float) -> tuple[int, int, np.ndarray]:
    """Ops of the earliest head and the shortest tail of the fullest window, and the ops inside."""
    _, head, tail = windows(problem)
    by_tail = np.argsort(-tail, kind="stable")
    for pool in pools(problem):
        some = by_tail[pool.inside[by_tail]]
        for a in np.unique(head[some]):
            kept = some[head[some] >= a]
            span = a + np.cumsum(pool.work[kept]) + tail[kept]
            if span.max() >= fullest * (1 - NEAR):
                inside = kept[: int(np.argmax(span)) + 1]
                return int(inside[np.argmin(head[inside])]), int(inside[-1]), np.sort(inside)
    raise AssertionError("the fullest window is that of a pool")


def _mirrored(problem: Problem, op: int, end: float) -> list[Step]:
    """The chain behind an op: that of the graph turned round, whose op v is op n - 1 - v, turned back."""
    n = problem.graph.n_ops
    turned = reversed(_chain(problem, n - 1 - op, backward=True))
    return [Step(s.kind, tuple(n - 1 - v for v in reversed(s.ops)), end - s.finish, end - s.start) for s in turned]


def _chain(problem: Problem, op: int, backward: bool = False) -> list[Step]:
    """What fills the time from 0 to an op's head."""
    time, head, tail = windows(problem)
    if backward:
        time, head = time[::-1], tail[::-1]
    search = Search(time, head, arrivals(problem, backward), workspace(len(time)))
    chain: list[Step] = []
    while head[op] > 0.0:
        op, found = _cause(op, search)
        chain += found
    return [step for step in reversed(chain) if step.finish > step.start]


class Search(NamedTuple):
    """What heads were found from, backward or not."""

    time: np.ndarray
    head: np.ndarray
    inputs: blocks.Awaited
    room: blocks.Forced

    def runs(self, op: int) -> Step:
        """The op at its head."""
        return Step("op", (op,), float(self.head[op]), float(self.head[op] + self.time[op]))


def _cause(op: int, search: Search) -> tuple[int, list[Step]]:
    """What ends at an op's head, latest first, and the op at whose head it begins."""
    time, head, inputs, room = search
    start = float(head[op])
    for i in range(inputs.ptr[op], inputs.ptr[op + 1]):
        before = search.runs(int(inputs.op[i]))
        if before.finish + inputs.always[i] >= start * (1 - NEAR):
            return before.ops[0], [Step("transfer", (*before.ops, op), before.finish, start), before]
    just = start * (1 - BEFORE)
    count, _ = force(op, just, time, inputs, room, head)
    due = dict(zip(room.op[:count].tolist(), room.until[:count].tolist(), strict=True))
    for u in (op, *due):
        latest = due[u] - float(time[u]) if u != op else just
        for i in range(inputs.ptr[u], inputs.ptr[u + 1]):
            before = search.runs(int(inputs.op[i]))
            arrival = before.finish + float(inputs.cost[i])
            if latest < arrival <= latest + 2 * BEFORE * start:
                behind = tuple(sorted(v for v in due if v >= u))  # u, and what runs between it and the op
                share = Step("share", behind, arrival, start)
                return before.ops[0], [share, Step("transfer", (*before.ops, u), before.finish, share.start), before]
    return _shared(op, due, search)


def _shared(op: int, due: dict[int, float], search: Search) -> tuple[int, list[Step]]:
    """The ops that fill one device from a head to the time they are due at, and those that follow there before the op."""
    time, head = search.time, search.head
    most = -np.inf
    inside: list[int] = []
    for release in sorted({float(head[v]) for v in due}):
        later = sorted((v for v in due if head[v] >= release), key=due.__getitem__)
        late = release + np.cumsum(time[later]) - [due[v] for v in later]
        if late.max() > most:
            most = float(late.max())
            inside = later[: int(np.argmax(late)) + 1]
    first = min(inside, key=lambda v: (head[v], v))
    behind = {v for v in due if due[v] > due[inside[-1]]}
    return first, [Step("share", tuple(sorted({*inside, *behind})), float(head[first]), float(head[op]))]


def _reason(step: Step, names: Sequence[str]) -> str:
    first, last = (names[op] for op in (step.ops[0], step.ops[-1]))
    if step.kind == "op":
        return f"{first} takes at least this long on each device that may run it."
    if step.kind == "transfer":
        return f"{last} awaits the output of {first} from another device."
    if step.kind == "work":
        return f"{len(step.ops):,} ops run between these moments, over the devices that may run them."
    if len(step.ops) == 1:
        return f"{first} runs on the device of the op that reads its output."
    return f"{len(step.ops):,} ops run on one device one after the other, {first} to {last}: each is too late to send its output."

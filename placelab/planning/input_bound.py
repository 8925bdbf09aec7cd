"""Bound ``inputs``: an input is awaited, or its producer shares the device with the op that reads it; and its proof.

The proof says why no schedule is shorter: a chain of ops, transfers and ops that must share a device.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.interrupts import need
from placelab.base.once import once
from placelab.kernels import blocks
from placelab.kernels.plan import least_starts as kernels
from placelab.kernels.plan import least_starts as times
from placelab.kernels.plan.least_starts import force
from placelab.planning import plan_arrays
from placelab.problem.problem import Problem

if TYPE_CHECKING:
    import pandas as pd


FORCED = 256  # ops that are followed from one start; the rest would make the bound stronger, seldom and little …
FOLLOWED = (
    1_600_000  # … and fewer on graphs of more than 6,250 ops, so that all starts together follow no more than this
)
BETWEEN = 64  # ops between two that are looked at together; where there are more, none are
SETS = 12  # sets of allowed devices that are told apart; where there are more, any device counts as allowed
POOLS = 64  # sets of devices whose work is counted by itself; where there are more, only that of all devices is


class Windows(NamedTuple):
    """What bounds ops in time: in every schedule one starts at `head` or later, and `tail` passes after its end, or more."""

    time: np.ndarray  # float64 (n,): least seconds on a device that it may run on
    head: np.ndarray  # float64 (n,): seconds
    tail: np.ndarray  # float64 (n,): seconds


@once
def windows(problem: Problem) -> Windows:
    r"""Heads and tails of all ops.

    An op v can start at t only if each producer w of v, and of each op that must run on v's device before, either is early
    enough for a transfer, :math:`r(w) + e(w) + c(w, u) \le t_u`, or runs on that device, too; e is the least time over allowed
    devices, c the least transfer over pairs of distinct ones. If the ops that must run there do not fit between their heads
    and the times they are due at (preemptive, earliest due date first), t is impossible. The head r(v) is the largest t that is
    found impossible. A tail is the head in the graph turned round.

    Where all ways to v lead through an op u, the ops between them are looked at together, too: v is on u's device, where those
    run as well that have no time for two transfers, or on another one, and then the two devices share these ops, and each loses
    the time of a transfer (``placelab.kernels.plan.least_starts``).

    Notes
    -----
    Valid for each transfer model and memory model: queues, Sends and waits for memory only delay. Ops of one group share a
    device wherever they are. O(n_ops · f log f) with f forced ops, at most 256, on more
    than 6,250 ops at most 1.6 million / n_ops: there the bound is weaker where transfers take much longer than ops.
    """
    time = least_exec(problem)
    head = _heads(time, arrivals(problem))
    tail = _heads(time[::-1], arrivals(problem, backward=True))[::-1]
    return Windows(time, frozen(head), frozen(tail))


@once
def least_exec(problem: Problem) -> np.ndarray:
    """Least time of each op over the devices it may run on [s], shape (n_ops,)."""
    least = np.empty(problem.graph.n_ops)
    times.least_times(plan_arrays.times(problem), plan_arrays.eligible(problem), np.empty(problem.columns), least)
    return frozen(least)


@once
def input_bound(problem: Problem) -> float:
    """The larger of :func:`longest_window` and :func:`fullest_window` [s]."""
    return max(longest_window(problem), fullest_window(problem))


def longest_window(problem: Problem) -> float:
    """The longest head + time + tail of an op [s]."""
    time, head, tail = windows(problem)
    return times.longest_window(head, time, tail)


def fullest_window(problem: Problem) -> float:
    """The longest a + (work of a pool's ops whose heads are at least a and tails at least b) + b [s], of all :func:`pools`."""
    _, head, tail = windows(problem)
    n = len(head)
    ascending = np.argsort(tail, kind="stable")
    place = np.empty(n, np.int32)
    place[ascending] = np.arange(n)
    order = np.argsort(-head, kind="stable").astype(np.int32)
    tree = [np.empty(2 << max(n - 1, 1).bit_length()) for _ in range(2)]
    fixed = head, frozen(place), frozen(tail[ascending])
    return max(
        float(kernels.least_span(frozen(order[pool.inside[order]]), *fixed, pool.work, *tree))
        for pool in pools(problem)
    )


class Pool(NamedTuple):
    """Ops that share some devices, and can run on no other ones."""

    inside: np.ndarray  # bool (n,): the ops
    work: np.ndarray  # float64 (n,): seconds that each takes of these devices together, at least


def pools(problem: Problem) -> list[Pool]:
    """All ops with all devices; then each set of devices that some op is restricted to, with the ops that run only there."""
    every = Pool(frozen(np.ones(problem.graph.n_ops, bool)), shares(problem))
    if not problem.restricted:
        return [every]
    kinds, row = np.unique(problem.may_run, axis=0, return_inverse=True)
    few = kinds[~kinds.all(axis=1)] if len(kinds) <= POOLS else kinds[:0]
    time = windows(problem).time
    within = [(kinds <= devices).all(axis=1)[row.reshape(-1)] for devices in few]
    return [every, *(Pool(frozen(i), frozen(time / d.sum())) for i, d in zip(within, few, strict=True))]


@once
def least_transfers(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Least seconds of the transfer along each edge between distinct devices, infinite where its ends share one, and 0, or
    the same where no device may run both ends; shape (n_edges,) each."""
    graph = problem.graph
    kinds, row = _device_sets(problem)
    pairs, pair = np.unique(row[graph.producer] * len(kinds) + row[graph.consumer], return_inverse=True)
    bandwidth = problem.cluster.narrowest if problem.transfer_model.shared else problem.cluster.bandwidth
    ends = [(kinds[number // len(kinds)], kinds[number % len(kinds)]) for number in pairs.tolist()]
    found = []
    for source, destination in ends:
        links = source[:, None] & destination & ~np.eye(len(source), dtype=bool)
        found.append(_best_links(problem.cluster.latency[links], bandwidth[links]))
    ptr = np.cumsum([0, *map(len, found)])
    latency, rate = np.array([link for links in found for link in links]).reshape(-1, 2).T
    apart = np.array([not (source & destination).any() for source, destination in ends], bool)
    group = problem.group
    together = (group[graph.producer] >= 0) & (group[graph.producer] == group[graph.consumer])
    cost = np.empty(graph.n_edges)
    always = np.zeros(graph.n_edges)
    whole = (frozen(pair.reshape(-1).astype(np.int32)), frozen(ptr.astype(np.int32)))
    marks = (frozen(apart.view(np.uint8)), frozen(together.view(np.uint8)))
    times.least_transfers(*whole, frozen(latency), frozen(rate), *marks, graph.edge_bytes, cost, always)
    return cost, always


def _best_links(latency: np.ndarray, rate: np.ndarray) -> list[tuple[float, float]]:
    """(latency, rate) of the links than which no other is better in both: the least time of any size is that of one of them."""
    best: list[tuple[float, float]] = []
    order = np.lexsort((-rate, latency))
    for link in zip(latency[order].tolist(), rate[order].tolist(), strict=True):
        if not best or link[1] > best[-1][1]:
            best.append(link)
    return best


def _device_sets(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The sets of devices that ops may run on, as rows of booleans, and the row of each op."""
    graph = problem.graph
    if problem.restricted:
        kinds, row = np.unique(problem.may_run, axis=0, return_inverse=True)
        if len(kinds) <= SETS:
            return kinds, row.reshape(-1)
    return np.ones((1, problem.cluster.n_devices), bool), np.zeros(graph.n_ops, int)


def arrivals(problem: Problem, backward: bool = False) -> blocks.Awaited:
    """Inputs of all ops as the kernel takes them; backward, of the graph turned round, in which op v is op n - 1 - v."""
    graph = problem.graph
    n = graph.n_ops
    source = n - 1 - graph.consumer if backward else graph.producer
    destination = n - 1 - graph.producer if backward else graph.consumer
    by_destination = np.argsort(destination, kind="stable")
    ptr = np.concatenate([[0], np.bincount(destination, minlength=n).cumsum()])
    cost, always = least_transfers(problem)
    inputs = source[by_destination].astype(np.int32)
    return blocks.Awaited(
        frozen(ptr.astype(np.int32)), frozen(inputs), frozen(cost[by_destination]), frozen(always[by_destination])
    )


def workspace(n: int) -> blocks.Forced:
    """Room for the forced ops of one start among n ops."""
    most = min(FORCED, max(FOLLOWED // n, 16))
    until, left, queue, ready = (np.empty(most * width) for width in (1, 1, 2, 2))
    return blocks.Forced(np.empty(most, np.int32), until, left, queue, ready, np.full(n, -1.0))


def among(n: int) -> blocks.Between:
    """Room for the ops between two of n ops."""
    most = min(BETWEEN, max(FOLLOWED // n, 16))
    before, first, place = (np.empty(n, np.int32) for _ in range(3))
    times = (np.empty(most) for _ in range(5))
    return blocks.Between(before, first, np.empty(n), place, np.empty(most, np.int32), *times)


def _heads(time: np.ndarray, inputs: blocks.Awaited) -> np.ndarray:
    head = np.empty(len(time))
    kernels.heads(frozen(time), inputs, workspace(len(time)), among(len(time)), head)
    return head


def shares(problem: Problem) -> np.ndarray:
    """Seconds that each op takes of all devices together, at least."""
    if problem.graph.time is None and not problem.restricted:
        return frozen(problem.graph.compute / plan_arrays.total(problem.cluster.speed))
    return frozen(windows(problem).time / problem.cluster.n_devices)


NEAR = 1e-9  # relative: rounding
BEFORE = 1e-7  # relative: how much before a head the start is looked at that is impossible


class ProofPart(NamedTuple):
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
        that is awaited and the one that reads them), ``between`` (all ops between two, on one device or on both sides of a
        transfer), ``work`` (ops that all lie between two moments, over the devices that may run them).

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


def steps(problem: Problem) -> list[ProofPart]:
    """The steps of the proof, without a gap from 0 to the bound."""
    time, head, tail = windows(problem)
    longest = longest_window(problem)
    fullest = fullest_window(problem)
    if longest >= fullest * (1 - NEAR):
        op = int(np.argmax(head + time + tail))
        middle = [ProofPart("op", (op,), float(head[op]), float(head[op] + time[op]))]
        return [*_chain(problem, op), *middle, *_mirrored(problem, op, longest)]
    first, last, inside = _window(problem, fullest)
    work = ProofPart("work", tuple(inside.tolist()), float(head[first]), fullest - float(tail[last]))
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


def _mirrored(problem: Problem, op: int, end: float) -> list[ProofPart]:
    """The chain behind an op: that of the graph turned round, whose op v is op n - 1 - v, turned back."""
    n = problem.graph.n_ops
    turned = reversed(_chain(problem, n - 1 - op, backward=True))
    return [ProofPart(s.kind, tuple(n - 1 - v for v in reversed(s.ops)), end - s.finish, end - s.start) for s in turned]


def _chain(problem: Problem, op: int, backward: bool = False) -> list[ProofPart]:
    """What fills the time from 0 to an op's head."""
    time, head, tail = windows(problem)
    if backward:
        time = time[::-1]
        head = tail[::-1]
    inputs = arrivals(problem, backward)
    between = among(len(time))
    kernels.heads(frozen(time), inputs, workspace(len(time)), between, np.empty(len(time)))
    search = HeadSearch(time, head, inputs, workspace(len(time)), between)
    chain: list[ProofPart] = []
    while head[op] > 0.0:
        op, found = _cause(op, search)
        chain += found
    return [step for step in reversed(chain) if step.finish > step.start]


class HeadSearch(NamedTuple):
    """What heads were found from, backward or not."""

    time: np.ndarray
    head: np.ndarray
    inputs: blocks.Awaited
    room: blocks.Forced
    between: blocks.Between

    def runs(self, op: int) -> ProofPart:
        """The op at its head."""
        return ProofPart("op", (op,), float(self.head[op]), float(self.head[op] + self.time[op]))


def _cause(op: int, search: HeadSearch) -> tuple[int, list[ProofPart]]:
    """What ends at an op's head, latest first, and the op at whose head it begins."""
    time, head, inputs, room, between = search
    start = float(head[op])
    u = int(between.before[op])
    if u >= 0 and head[u] + time[u] + between.span[op] == start and between.span[op] > 0.0:
        inside = _between(u, op, inputs)
        return u, [ProofPart("between", inside, float(head[u] + time[u]), start), search.runs(u)]
    for i in range(inputs.ptr[op], inputs.ptr[op + 1]):
        before = search.runs(int(inputs.op[i]))
        if before.finish + inputs.always[i] >= start * (1 - NEAR):
            return before.ops[0], [ProofPart("transfer", (*before.ops, op), before.finish, start), before]
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
                share = ProofPart("share", behind, arrival, start)
                return before.ops[0], [
                    share,
                    ProofPart("transfer", (*before.ops, u), before.finish, share.start),
                    before,
                ]
    return _shared(op, due, search)


def _between(first: int, last: int, inputs: blocks.Awaited) -> tuple[int, ...]:
    """The ops between one and another through which all ways to it lead."""
    found: set[int] = set()
    left = [last]
    while left:
        v = left.pop()
        new = {*inputs.op[inputs.ptr[v] : inputs.ptr[v + 1]].tolist()} - found - {first}
        found |= new
        left += new
    return tuple(sorted(found))


def _shared(op: int, due: dict[int, float], search: HeadSearch) -> tuple[int, list[ProofPart]]:
    """The ops that fill one device from a head to the time they are due at, and those that follow there before the op."""
    time = search.time
    head = search.head
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
    return first, [ProofPart("share", tuple(sorted({*inside, *behind})), float(head[first]), float(head[op]))]


def _reason(step: ProofPart, names: Sequence[str]) -> str:
    first, last = (names[op] for op in (step.ops[0], step.ops[-1]))
    if step.kind == "op":
        return f"{first} takes at least this long on each device that may run it."
    if step.kind == "transfer":
        return f"{last} awaits the output of {first} from another device."
    if step.kind == "work":
        return f"{len(step.ops):,} ops run between these moments, over the devices that may run them."
    if step.kind == "between":
        return (
            f"{len(step.ops):,} ops, {first} to {last}: on one device they take so long, on two with transfers no less."
        )
    if len(step.ops) == 1:
        return f"{first} runs on the device of the op that reads its output."
    return f"{len(step.ops):,} ops run on one device one after the other, {first} to {last}: each is too late to send its output."

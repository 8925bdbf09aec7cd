"""Orders of a pipelined training step: what the schedulers of pipelines share, and the times of ops in them.

A schedule is written as a list of :data:`Slot` per device; :func:`in_sequence` makes an order of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from placelab.base.errors import UnsupportedError, count
from placelab.problem.pipeline_columns import Pipeline, required
from placelab.problem.problem import Problem
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement

Slot = tuple[str, int, int]  # phase ("F", "B", "W", "BW"), micro-batch, stage
TOGETHER = ("planned", "dualpipe", "dualpipe-v")  # schedulers of pipelines in which passes run together
RECEIVE = {"F": "RF", "B": "RB", "BW": "RB"}


@dataclass(frozen=True, eq=False)
class Ranks:
    """The stages of a placed pipeline, device by device.

    Attributes
    ----------
    pipeline : Pipeline
    device : tuple of int
        Devices that run stages, by their first stage: the ranks 0 … p - 1.
    stages : tuple of tuples of int
        Stages of each rank, ascending.
    """

    pipeline: Pipeline
    device: tuple[int, ...]
    stages: tuple[tuple[int, ...], ...]

    @property
    def p(self) -> int:
        """Number of ranks."""
        return len(self.device)

    @property
    def m(self) -> int:
        """Number of micro-batches."""
        return self.pipeline.microbatches

    @cached_property
    def chunks(self) -> int:
        """Stages on each rank, 0 where their numbers differ."""
        counts = {len(stages) for stages in self.stages}
        return counts.pop() if len(counts) == 1 else 0


def ranks_of(problem: Problem, placement: Placement, who: str) -> list[Ranks]:
    """The ranks of a placement, of each replica.

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches; or the ops of a stage are on several devices.
    """
    whole = required(problem.graph, f"the scheduler {who!r}")
    if whole.merged and who not in TOGETHER:
        raise UnsupportedError(
            f"the scheduler {who!r} does not run {problem.graph.title}, in which passes run together; "
            f"{', '.join(map(repr, TOGETHER))} do"
        )
    return [_ranks(whole.of_replica(w), problem, placement, who) for w in range(whole.replicas)]


def _ranks(pipeline: Pipeline, problem: Problem, placement: Placement, who: str) -> Ranks:
    micro = np.flatnonzero((pipeline.microbatch >= 0) & (pipeline.stage >= 0))
    where = np.full(pipeline.stages, -1)
    where[pipeline.stage[micro]] = placement.device[micro]
    apart = micro[placement.device[micro] != where[pipeline.stage[micro]]]
    if len(apart):
        raise UnsupportedError(
            f"the scheduler {who!r} needs each stage on one device; {problem.graph.names[apart[0]]!r} is apart from its stage"
        )
    device = tuple(dict.fromkeys(where.tolist()))
    return Ranks(pipeline, device, tuple(tuple(np.flatnonzero(where == d).tolist()) for d in device))


def single(problem: Problem, placement: Placement, who: str, split: bool = False) -> list[Ranks]:
    """The ranks of a pipeline of one stage per device; `split`: with gradients of weights as ops of their own."""
    replicas = ranks_of(problem, placement, who)
    if replicas[0].chunks != 1:
        raise UnsupportedError(
            f"the scheduler {who!r} needs one stage per device; 'interleaved', 'zb-v' and 'zb-auto' run several"
        )
    if split:
        check_split(replicas[0], who)
    return replicas


def looped(problem: Problem, placement: Placement, who: str) -> list[Ranks]:
    """The ranks of a pipeline of which rank s has stages s, s + p, s + 2p …."""
    replicas = ranks_of(problem, placement, who)
    p = replicas[0].p
    v = replicas[0].chunks
    if any(stages != tuple(range(rank, p * v, p)) for rank, stages in enumerate(replicas[0].stages)):
        raise UnsupportedError(
            f"the scheduler {who!r} needs stages 0, {p}, … on the first device, 1, {p + 1}, … on the next; "
            "give pipeline_training layout='loop'"
        )
    return replicas


def is_v(ranks: Ranks) -> bool:
    """Whether each rank has two stages, down and up again."""
    return all(stages == (rank, 2 * ranks.p - 1 - rank) for rank, stages in enumerate(ranks.stages))


def round_of(p: int, m: int, group: Any = 0) -> int:
    """Micro-batches of a round of interleaved chunks: `group`; 0: the least that leaves no short last round.

    >>> round_of(4, 10), round_of(4, 8), round_of(4, 3)
    (5, 4, 3)
    """
    size = count(group, "group", 0)
    if m <= p:
        if size not in (0, m):
            raise UnsupportedError(f"group is {size}; with {m} micro-batches on {p} devices a round has all {m}")
        return m
    best = next(g for g in range(p, m + 1) if m % g == 0 or m % g >= p)
    if size == 0:
        return best
    if not p <= size <= m:
        raise UnsupportedError(f"group is {size}; expected {p}, one per device, to {m}, all micro-batches")
    if 0 < m % size < p:
        warnings.warn(
            f"the last round has {m % size} of {m} micro-batches, fewer than devices, {p}; group={best} has no such bubble",
            UserWarning,
            stacklevel=2,
        )
    return size


def passes(ranks: Ranks, rank: int, group: int) -> list[Slot]:
    """Forwards of a rank in rounds of `group` micro-batches, chunk by chunk in each."""
    return [
        ("F", i, stage)
        for low in range(0, ranks.m, group)
        for stage in ranks.stages[rank]
        for i in range(low, min(low + group, ranks.m))
    ]


def interleaved_plans(ranks: Ranks, group: int, more: int = 0) -> list[list[Slot]]:
    """Interleaved 1F1B in rounds of `group`, of each rank; `more`: forwards beyond its warm-up."""
    p = ranks.p
    m = ranks.m
    v = ranks.chunks
    plans = []
    for rank, stages in enumerate(ranks.stages):
        forwards = passes(ranks, rank, group)
        reverse = dict(zip(stages, reversed(stages), strict=True))
        backwards = [(i, reverse[stage]) for _, i, stage in forwards]
        plans.append(one_by_one(ranks, forwards, backwards, min(2 * (p - rank - 1) + (v - 1) * group + more, m * v)))
    return plans


def check_split(ranks: Ranks, who: str) -> None:
    """UnsupportedError where one op computes both gradients, unless passes have been put together."""
    if not ranks.pipeline.splits_all and not ranks.pipeline.merged:
        raise UnsupportedError(
            f"the scheduler {who!r} needs the gradients of weights as ops of their own: give pipeline_training a weight, "
            "or microbatches split=True"
        )


def backward(ranks: Ranks, microbatch: int, stage: int) -> list[Slot]:
    """The backward pass of a micro-batch through a stage, in one op or in two; none where there are forward passes only."""
    return [(phase, microbatch, stage) for phase in ("BW", "B", "W") if (phase, microbatch, stage) in ranks.pipeline.op]


def one_by_one(ranks: Ranks, forwards: list[Slot], backwards: list[tuple[int, int]], warm_up: int) -> list[Slot]:
    """`warm_up` forwards, then a forward and a backward in turn, then the backwards that are left.

    `backwards` are (micro-batch, stage).
    """
    slots = forwards[:warm_up]
    rest = forwards[warm_up:]
    for i, (microbatch, stage) in enumerate(backwards):
        slots += rest[i : i + 1] + backward(ranks, microbatch, stage)
    return slots


def zero_bubble(ranks: Ranks, k: int) -> list[list[Slot]]:
    """ZB-H1 (k = 1), ZB-H2 (k = 2): gradients of weights come late, in what would be idle time."""
    return [_zero_bubble(ranks.p, ranks.m, stage, rank, k) for rank, (stage,) in enumerate(ranks.stages)]


def _zero_bubble(p: int, m: int, stage: int, rank: int, k: int) -> list[Slot]:
    warm_up = min(k * (p - rank - 1), m)
    slots: list[Slot] = [("F", i, stage) for i in range(warm_up)]
    for j in range(m):
        slots += [("F", warm_up + j, stage)] if warm_up + j < m else []
        slots += [("B", j, stage)]
        slots += [("W", j - k * rank, stage)] if j >= k * rank else []
    return slots + [("W", i, stage) for i in range(max(m - k * rank, 0), m)]


def in_sequence(replicas: Sequence[Ranks], plan: Callable[[Ranks], Sequence[Sequence[Slot]]]) -> Order:
    """The order in which each rank of each replica runs the slots that `plan` gives it.

    Ops that run once per step are first (``P``) or last; a Receive is right before the op that reads it.
    """
    return Order("planned", np.concatenate([sequence(each, plan(each)) for each in replicas]))


def sequence(ranks: Ranks, plans: Sequence[Sequence[Slot]]) -> np.ndarray:
    """The ops of a replica, rank by rank."""
    pipeline = ranks.pipeline
    op = ranks.pipeline.op
    number: list[int] = []
    receives = np.isin(pipeline.phase, list(RECEIVE.values())).any()
    for plan in plans:
        for slot in plan:
            if receives and (receive := op.get((RECEIVE.get(slot[0], ""), *slot[1:]))) is not None:
                number.append(receive)
            v = op[slot]
            if number[-1:] != [v]:  # a forward and a backward pass together are one op
                number.append(v)
    last = np.flatnonzero(np.isin(pipeline.phase, ("AR", "U")))
    return np.concatenate([np.flatnonzero(pipeline.phase == "P"), np.array(number, np.int64), last])


@dataclass(frozen=True)
class Work:
    """A placed problem as lists: seconds of each op, and its inputs with the seconds that each takes to arrive."""

    device: list[int]
    seconds: list[float]
    inputs: list[list[tuple[int, float]]]
    outputs: list[list[tuple[int, float]]]


def work_of(problem: Problem, device: np.ndarray) -> Work:
    """Seconds of ops and transfers under a placement by `device`, without contention."""
    graph = problem.graph
    cluster = problem.cluster
    u = graph.producer
    v = graph.consumer
    took = np.where(
        device[u] == device[v],
        0.0,
        cluster.latency[device[u], device[v]] + graph.edge_bytes / cluster.bandwidth[device[u], device[v]],
    )
    inputs: list[list[tuple[int, float]]] = [[] for _ in range(graph.n_ops)]
    outputs: list[list[tuple[int, float]]] = [[] for _ in range(graph.n_ops)]
    for a, b, seconds in zip(u.tolist(), v.tolist(), took.tolist(), strict=True):
        inputs[b].append((a, seconds))
        outputs[a].append((b, seconds))
    return Work(device.tolist(), problem.exec_times(device).tolist(), inputs, outputs)


def replay(work: Work, sequence: Sequence[int]) -> list[float]:
    """Finish of each op when each device runs its ops in the order of `sequence` [s]; -1.0 for those that never run.

    `sequence` may lack ops: they never run. O(ops + edges).
    """
    n = len(work.seconds)
    missing = [len(inputs) for inputs in work.inputs]
    after = [-1] * n
    last: dict[int, int] = {}
    listed = [False] * n
    for v in sequence:
        listed[v] = True
        d = work.device[v]
        if d in last:
            after[last[d]] = v
            missing[v] += 1
        last[d] = v
    ready = [v for v in sequence if missing[v] == 0]
    finish = [-1.0] * n
    start = [0.0] * n
    while ready:
        v = ready.pop()
        finish[v] = start[v] + work.seconds[v]
        for w, seconds in [*work.outputs[v], *([(after[v], 0.0)] if after[v] >= 0 else [])]:
            start[w] = max(start[w], finish[v] + seconds)
            missing[w] -= 1
            if missing[w] == 0 and listed[w]:
                ready.append(w)
    return finish

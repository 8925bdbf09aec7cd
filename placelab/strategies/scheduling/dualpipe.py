"""DualPipe: two pipelines through the same devices, or one, down and up again, whose second chunk is the other direction.

Steps of a rank are tuples of ops that run together: one op, both gradients, or a forward pass and both gradients.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from placelab.base.errors import UnsupportedError
from placelab.planning.pipeline_orders import Ranks, check_split, is_v, ranks_of
from placelab.problem.pipeline_columns import required
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", source="DeepSeek-AI 2024, DualPipe")
def dualpipe(problem: Problem, placement: Placement) -> Order:
    """Two pipelines on the same devices, one down and one up: passes of one run together with backward passes of the other.

    Notes
    -----
    p devices hold two copies of the model, m/2 micro-batches each, m ≥ 2p, p even. Rank s, counted from its end of the pipeline
    (r = min(s, p - 1 - s)): p - 2r - 2 forwards; r + 1 times a forward of each direction; p/2 - r - 1 times the gradient of an
    input, of the weights, a forward; then a forward together with the backward pass of the other direction, in turn; backward
    passes, from the middle on with gradients of weights put off. :func:`placelab.transforms.together` makes one op of what runs
    together, which this scheduler runs, too; without it the forward pass comes first. Merged, the bubble is
    ``(p/2 - 1)(F&B + B - 2W)`` where F = B ≥ W and F&B is the seconds of both together; p + 1 activations. No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, one op for both gradients, or no twin; p is odd, or m < 2p.
    """
    return order_of(problem, dualpipe_steps(problem, placement))


@scheduler(static=True, needs="pipeline", source='Liu 2025, DualPipeV ("cut-in-half")')
def dualpipe_v(problem: Problem, placement: Placement) -> Order:
    """DualPipe's order in a V: rank s has stages s and 2p - 1 - s, one copy of the model.

    Notes
    -----
    The first chunk is one direction of ``dualpipe``, the second one the other, with p devices in place of its p/2; m ≥ 2p.
    :func:`placelab.transforms.together` makes one op of what runs together, which this scheduler runs, too; without it the
    forward pass comes first. 2p + 1
    activations of chunks. No ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, one op for both gradients, or other stages on a device; m < 2p.
    """
    return order_of(problem, dualpipe_v_steps(problem, placement))


# ------------------------------------------------ forward passes of one direction run together with backward passes of the other

Steps = list[list[tuple[int, ...]]]  # by rank
Find = Callable[[str, int, int], int]  # phase, direction, micro-batch → op


def dualpipe_v_steps(problem: Problem, placement: Placement) -> Steps:
    """Steps of each rank of a V-shaped pipeline, whose second chunk is the other direction."""
    replicas = ranks_of(problem, placement, "dualpipe-v")
    steps: Steps = []
    for ranks in replicas:
        check_split(ranks, "dualpipe-v")
        if not is_v(ranks):
            raise UnsupportedError(
                "the scheduler 'dualpipe-v' needs two stages per device, down and up again; "
                "give pipeline_training chunks=2, layout='v'"
            )
        if ranks.m < 2 * ranks.p:
            raise UnsupportedError(
                f"the scheduler 'dualpipe-v' needs {2 * ranks.p} micro-batches or more on {ranks.p} devices; "
                f"there are {ranks.m}"
            )
        for rank in range(ranks.p):
            steps.append(_steps(ranks.p, ranks.m, rank, _of_chunks(ranks, rank)))
    return steps


def dualpipe_steps(problem: Problem, placement: Placement) -> Steps:
    """Steps of each rank of two pipelines that run through the same devices, one down and one up."""
    replicas = ranks_of(problem, placement, "dualpipe")
    check_split(replicas[0], "dualpipe")
    device = replicas[0].device
    if len(replicas) != 2 or replicas[1].device != device[::-1] or any(each.chunks != 1 for each in replicas):
        raise UnsupportedError(
            "the scheduler 'dualpipe' needs two pipelines on the same devices, the second upside down; "
            "give pipeline_training layout='dual'"
        )
    p = len(device)
    m = replicas[0].m
    if p % 2:
        raise UnsupportedError(f"the scheduler 'dualpipe' needs an even number of devices; there are {p}")
    if m < p:
        raise UnsupportedError(
            f"the scheduler 'dualpipe' needs {2 * p} micro-batches or more on {p} devices; there are {2 * m}"
        )
    return [_steps(p // 2, m, min(rank, p - 1 - rank), _of_replicas(replicas, rank)) for rank in range(p)]


def order_of(problem: Problem, steps: Steps) -> Order:
    """The order of all steps, one op after the other, passes that are one op once; what runs once per step is first or last."""
    pipeline = required(problem.graph, "an order")
    middle = list(dict.fromkeys(v for rank in steps for step in rank for v in step))
    last = np.flatnonzero(np.isin(pipeline.phase, ("AR", "U")))
    return Order("planned", np.concatenate([np.flatnonzero(pipeline.phase == "P"), np.array(middle), last]))


STEPS = {"dualpipe": dualpipe_steps, "dualpipe-v": dualpipe_v_steps}


def _of_chunks(ranks: Ranks, rank: int) -> Find:
    stage = ranks.stages[rank]
    return lambda phase, direction, i: _op(ranks, phase, i, stage[direction])


def _op(ranks: Ranks, phase: str, microbatch: int, stage: int) -> int:
    """The op of a pass, or the one that both gradients have been put together in."""
    known = ranks.pipeline.op
    found = known.get((phase, microbatch, stage))
    return known["BW", microbatch, stage] if found is None else found


def _of_replicas(replicas: list[Ranks], rank: int) -> Find:
    """On the second half of the devices the directions are exchanged."""
    p = replicas[0].p
    second = rank >= p // 2
    stage = (rank, p - 1 - rank)
    return lambda phase, direction, i: _op(replicas[direction ^ second], phase, i, stage[direction ^ second])


def _steps(h: int, m: int, rank: int, op: Find) -> list[tuple[int, ...]]:
    """DeepSeek's eight parts, on the `rank`-th of `h` devices from the outside, m micro-batches in each direction."""
    steps: list[tuple[int, ...]] = []
    done = np.zeros((2, 2), int)  # forward and backward passes of each direction
    late: deque[int] = deque()  # gradients of weights that are put off

    def following(backward: int, direction: int) -> int:
        done[backward, direction] += 1
        return int(done[backward, direction]) - 1

    def forward(direction: int) -> None:
        steps.append((op("F", direction, following(0, direction)),))

    def backward(direction: int, *, put_off: bool = False) -> None:
        i = following(1, direction)
        own = op("B", direction, i), op("W", direction, i)
        if put_off:
            late.append(own[1])
        steps.append(own[:1] if put_off else own)

    def weight() -> None:
        if late:
            steps.append((late.popleft(),))

    def both(ahead: int, back: int) -> None:
        i = following(0, ahead)
        j = following(1, back)
        steps.append((op("F", ahead, i), op("B", back, j), op("W", back, j)))

    inner = h - rank - 1
    for _ in range(2 * inner):
        forward(0)
    for _ in range(rank + 1):
        forward(0)
        forward(1)
    for _ in range(inner):
        backward(1, put_off=True)
        weight()
        forward(1)
    for k in range(m - 2 * h + rank + 1):
        if k == 0 and inner == 0:  # these two are apart: the second needs what the rank has just sent to itself
            forward(0)
            backward(1)
        else:
            both(0, 1)
        both(1, 0)
    for _ in range(inner):
        backward(1)
        both(1, 0)
    middle = (rank + 1) // 2
    for k in range(rank + 1):
        backward(1, put_off=k > middle or (k == middle and rank % 2 == 1))
        backward(0, put_off=k >= middle)
    for _ in range(inner):
        weight()
        backward(0, put_off=True)
    for _ in range(rank + 1):
        weight()
    return steps

"""ZB-V: two stages per device, down and up again; no bubble if F = B = W."""

from __future__ import annotations

from placelab.base.errors import UnsupportedError
from placelab.planning.pipeline_orders import Ranks, Slot, check_split, in_sequence, is_v, ranks_of
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, needs="pipeline", source="Qi et al. 2024 §6")
def zb_v(problem: Problem, placement: Placement) -> Order:
    """The published order for a V-shaped pipeline: rank s has stages s and 2p - 1 - s.

    Notes
    -----
    Warm-up: 2(p - s) - 1 forwards of the first stage, then s times a forward of each, then p - s times a forward and both
    gradients of the second. Then in turn forward and both gradients of the first stage, the same of the second; at the end
    gradients of inputs first. With F = B = W in all stages and m ≥ 2p - 1, no device is idle between its first and its last op,
    and a device holds at most 2p activations of a stage, as many bytes as ``1f1b`` with p stages. No
    ties; O(ops).

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches, other stages on a device, or one op for both gradients.
    """
    replicas = ranks_of(problem, placement, "zb-v")
    check_split(replicas[0], "zb-v")
    if not is_v(replicas[0]):
        raise UnsupportedError(
            "the scheduler 'zb-v' needs two stages per device, down and up again; "
            "give pipeline_training chunks=2, layout='v'"
        )
    return in_sequence(replicas, down_and_up)


def down_and_up(ranks: Ranks) -> list[list[Slot]]:
    """The published order of each rank."""
    return [_plan(ranks.p, ranks.m, rank) for rank in range(ranks.p)]


def _plan(p: int, m: int, rank: int) -> list[Slot]:
    """The order of a rank for at least 2p - 1 micro-batches, without those that there are not."""
    most = max(2 * p - 1, m)
    stage = (rank, 2 * p - 1 - rank)
    slots: list[Slot] = []
    done = {(phase, chunk): 0 for phase in "FBW" for chunk in (0, 1)}

    def run(phase: str, chunk: int) -> None:
        slots.append((phase, done[phase, chunk], stage[chunk]))
        done[phase, chunk] += 1

    def both(chunk: int) -> None:
        run("B", chunk)
        run("W", chunk)

    for _ in range(2 * (p - rank) - 1):
        run("F", 0)
    for _ in range(rank):
        run("F", 1)
        run("F", 0)
    for _ in range(p - rank):
        run("F", 1)
        both(1)
    while done["F", 1] < most:
        if done["F", 0] < most:
            run("F", 0)
        both(0)
        run("F", 1)
        both(1)
    for _ in range(rank):
        run("B", 0)
        run("B", 1)
    for _ in range(p - rank):
        run("B", 0)
        run("W", 0)
    for chunk in (1, 0):
        while done["W", chunk] < most:
            run("W", chunk)
    return [slot for slot in slots if slot[1] < m]

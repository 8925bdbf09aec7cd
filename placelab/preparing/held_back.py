"""Hold ops of a plan back where its run is short of memory through what planners leave out: contention and Send ops."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

import numpy as np

from placelab.errors import InfeasibleError
from placelab.planning.memory_plan import can_bind
from placelab.problem.graph import frozen
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation import simulate

ROUNDS = 8


def held_back(placement: Placement) -> Placement:
    """The placement with ``not_before`` times under which ``planned`` runs within memory, where some are found.

    Notes
    -----
    Only where transfers contend or Send ops run, and memory may be short: elsewhere a plan within memory runs within it.
    The plan is simulated. On each device that is short of memory, the op that brought the bytes at which the first shortage
    begins starts so much later as that shortage lasts: the op that began to run (under ``edges`` ended), or the producer of a
    tensor that came; of several the last in planned order. That is done at most 8 times, each time with one more simulation.
    If the last run is short of memory, too, the placement stays as it was: no time helps where an op was planned to take its
    input at once, and a Send op runs before it. An estimate that the first run met becomes the new makespan.
    """
    problem = placement.problem
    if placement.planned is None or not _may_differ(problem):
        return placement
    with suppress(InfeasibleError):  # a plan that contradicts the edges; simulate says so when it is run
        first = run = simulate(problem, placement, "planned")
        held = placement
        for _ in range(ROUNDS):
            if not len(run.oom):
                break
            held = _later(held, run)
            run = simulate(problem, held, "planned")
        if held is not placement and not len(run.oom):
            met = first.makespan == placement.estimate
            return replace(held, estimate=run.makespan) if met else held
    return placement


def _may_differ(problem: Problem) -> bool:
    """Whether tensors may leave later than planners assume, and then be where there is no room for them."""
    contended = bool(problem.transfer_model.queue) or problem.transfer_ops > 0
    return contended and problem.memory_model.timed and can_bind(problem)


def _later(placement: Placement, run: Schedule) -> Placement:
    """The placement in which what began the first shortage of each device starts later."""
    times = np.zeros(len(run.start)) if placement.not_before is None else placement.not_before.copy()
    place = np.empty(len(run.start), np.int64)
    place[placement.planned] = np.arange(len(run.start))
    _, first = np.unique(run.oom["device"], return_index=True)
    for short in run.oom[first]:
        ops = _brought(run, short["device"], short["start"])
        if len(ops):
            v = ops[place[ops].argmax()]
            before = (short["start"] - run.start[v]) * (1 - 1e-12)  # so that rounding leaves no shortage
            times[v] = max(times[v], short["finish"] - before)
    return replace(placement, not_before=frozen(times))


def _brought(run: Schedule, device: int, time: float) -> np.ndarray:
    """Ops whose bytes a device begins to hold at a time, there or by a transfer."""
    edges, moved = run.problem.memory == "edges", run.transfers
    began = run.finish if edges else run.start
    came = moved["finish"] if edges else moved["start"]
    sent = moved["tensor"][(moved["destination"] == device) & (came == time)]
    here = np.flatnonzero((run.device == device) & (began == time))
    return np.concatenate([here, run.problem.graph.tensor_producer[sent]])

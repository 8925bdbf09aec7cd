"""Hold ops of a plan back where its run is short of memory through what planners leave out: contention and Send ops."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from placelab.base.errors import InfeasibleError
from placelab.base.index_arrays import frozen
from placelab.base.progress import never
from placelab.planning.memory_plan import can_bind
from placelab.problem.problem import Problem
from placelab.schedule.held_bytes import HeldBytes
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate

LEAST, MOST = 8, 24  # rounds
WORK = 100_000  # rounds times ops, between these: large graphs get few, as a hand may be waiting
SHIFTS, HOLDS = 2, 4  # how often an op starts later by the length of a shortage, and at all


def held_back(placement: Placement, cancel: Callable[[], bool] = never) -> Placement:
    """The placement with ``not_before`` times under which ``planned`` runs within memory, where some are found.

    Parameters
    ----------
    cancel
        Called before each simulation but the first; when it returns True the placement stays as it was.

    Notes
    -----
    Only where transfers contend or Send ops run, and memory may be short: elsewhere a plan within memory runs within it.
    The plan is simulated. For each shortage one op starts later: of those whose bytes the device begins to hold with it the last
    in planned order; where each of them was held back four times, of all whose bytes it holds then. The first two times the op
    starts as much later as the shortage lasts, then when the shortage ends. That is done at most r times, each time with one
    more simulation; r is 100,000 / n_ops, but 24 at most and 8 at least.
    If the last run is short of memory, too, the placement stays as it was: no time helps where an op was planned to take its
    input at once, and another input or a Send op comes between. An estimate that the first run met becomes the new makespan.
    O(r · (a simulation + n_edges log n_edges)).
    """
    problem = placement.problem
    if placement.planned is None or not _may_differ(problem):
        return placement
    with suppress(InfeasibleError):  # a plan that contradicts the edges; simulate says so when it is run
        first = run = simulate(problem, placement, "planned")
        held, times = placement, np.zeros(len(run.start))
        if placement.not_before is not None:
            times += placement.not_before
        often = np.zeros(len(run.start), np.int64)
        for _ in range(max(LEAST, min(MOST, WORK // problem.graph.n_ops))):
            if not len(run.oom) or cancel() or not _hold(run, times, often):
                break
            held = replace(placement, not_before=frozen(times.copy()))
            run = simulate(problem, held, "planned")
        if held is not placement and not len(run.oom):
            met = first.makespan == placement.estimate
            return replace(held, estimate=run.makespan) if met else held
    return placement


def _may_differ(problem: Problem) -> bool:
    """Whether tensors may leave later than planners assume, and then be where there is no room for them."""
    contended = bool(problem.transfer_model.queue) or problem.transfer_ops > 0
    return contended and problem.memory_model.timed and can_bind(problem)


def _hold(run: Schedule, times: np.ndarray, often: np.ndarray) -> bool:
    """Let an op start later for each shortage, in `times`, and count it in `often`; False if none may."""
    place, before, held = np.empty(len(times), np.int64), often.copy(), _held(run)
    place[run.placement.planned] = np.arange(len(times))
    for short in run.oom:
        here = (held.device == short["device"]) & (held.begin <= short["start"]) & (held.end > short["start"])
        for which in (here & (held.begin == short["start"]), here):
            ops = held.op[which]
            ops = ops[before[ops] < HOLDS]
            if len(ops):
                v = ops[place[ops].argmax()]
                if often[v] == before[v]:  # once a round
                    since = (short["start"] - run.start[v]) * (1 - 1e-12)  # so that rounding leaves no shortage
                    times[v] = max(times[v], short["finish"] - (since if often[v] < SHIFTS else 0.0))
                    often[v] += 1
                break
    return bool((often > before).any())


class _Held(NamedTuple):
    """Bytes that come and go: the device that holds them, the op that makes or needs them, and when [s]."""

    device: np.ndarray
    op: np.ndarray
    begin: np.ndarray
    end: np.ndarray


def _held(run: Schedule) -> _Held:
    graph = run.problem.graph
    device, begin, end, size = HeldBytes(run).held()
    made, ops = graph.tensor_producer, np.arange(graph.n_ops)
    op = np.concatenate([made, made[run.transfers["tensor"]], ops, ops])[: len(device)]  # under `edges` tensors alone
    real = (size > 0) & (begin < end) & np.isfinite(end)
    return _Held(device[real], op[real], begin[real], end[real])

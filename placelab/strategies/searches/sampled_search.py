"""Searches by samples, for partitioners that learn from them: start, makespans of samples, the best one, the learning curve.

Ops that transforms place as one are tied in the problem of all ops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from placelab.base.errors import InfeasibleError, expect
from placelab.base.interrupts import need
from placelab.base.progress import Progress, Report
from placelab.base.seeds import generator
from placelab.planning.capacity import Assignment, units
from placelab.planning.list_scheduler import planned_order
from placelab.planning.lower_bounds import best_bound
from placelab.planning.ranks import rounded, upward_rank
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, keywords, partitioners
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.simulation.batches import makespans
from placelab.simulation.event_simulation import simulate, times_under
from placelab.strategies.preparing.chain import chain

COLUMNS = ("samples", "best", "mean", "placement_time")
FEWER = 100  # samples per unit and device, at most
CERTAIN = 0.99  # probability of a unit's device in the placement that the search starts from
AGAIN = 8  # units that are drawn evenly again, on average
TRIED = 3  # of the samples of a round that promise to be better, as many are run with regard to memory
NEAR = 1e-6  # relative: nothing is searched for below that

Start = Literal["m-etf", "m-sct", "heft", "single", "uniform"]
Samples = Annotated[int, Limits(1)]
DRAWN = 64  # placements; two units of which none is pinned share a device in all of them once in 2⁶⁴ times at most


@dataclass(frozen=True, eq=False)
class SampledPlan:
    """A placement with a planned order, and its simulated run."""

    placement: Placement
    makespan: float
    short: float  # bytes missing, summed over the spans in which a device is out of memory

    @property
    def cost(self) -> tuple[float, float]:
        """What is compared: memory, then time."""
        return self.short, self.makespan


class SampledSearch:
    """Placements of units, an op or a colocation group each, drawn from a distribution that the caller learns.

    All samples follow one order, falling :func:`placelab.upward_rank`. Send ops go before all others, as in the replay of a plan,
    so that a sample's plan takes as long as the sample.

    Attributes
    ----------
    even : ndarray, shape (n_units, n_devices)
        Equal probabilities for the devices that each unit may run on.
    chances : ndarray, shape (n_units, n_devices)
        Those to start from: 0.99 for the device of the start; without one, as `even`.
    random : numpy.random.Generator
        The generator of all random numbers, used in the caller's thread.
    """

    def __init__(
        self, problem: Problem, start: Start, samples: int, seed: int, progress: Report, cancel: Callable[[], bool]
    ) -> None:
        self.problem = problem
        self.done = 0
        self.random = generator(seed)
        self._progress = progress
        self._cancel = cancel
        self.assignment = Assignment(problem)
        self.bound = best_bound(problem)
        self.units = self.assignment.units
        k = problem.cluster.n_devices
        self.samples = min(samples, FEWER * self.units.n * k)
        allowed = problem.allowed_flags(self.units.first)[0].reshape(-1, k) != 0
        self.even = np.broadcast_to(allowed / allowed.sum(axis=1, keepdims=True), (self.units.n, k))
        first = np.full(problem.graph.n_tensors, np.inf) if problem.transfer_ops else None
        self.order = Order("priority", rounded(upward_rank(problem)), send=first)
        self.best: SampledPlan | None = None
        self.rows: list[tuple[int, float, float, float]] = []
        self._stuck = 0  # rounds without a better sample
        self.start = start
        self.chances = self.even
        if start != "uniform":
            self.chances = self._begin(start, seed)

    def _begin(self, name: str, seed: int) -> np.ndarray:
        """Start from the plan of a partitioner, or from its placement in the order of samples, if that takes less time."""
        function = partitioners()[name]
        placement = function(self.problem, **keywords(function, {}, seed=seed))
        plans = [self._run(placement.device, *times_under(placement, self.order))]
        if placement.planned is not None:
            plans.append(_plan(placement))
        self.best = min(plans, key=lambda plan: plan.cost)
        unit = np.arange(self.units.n)
        there = placement.device[self.units.first]
        others = self.even > 0
        others[unit, there] = False
        chances = np.where(others, (1 - CERTAIN) / np.maximum(others.sum(axis=1, keepdims=True), 1), 0.0)
        chances[unit, there] = np.where(others.any(axis=1), CERTAIN, 1.0)
        return chances

    @property
    def left(self) -> int:
        """Samples that have not been drawn."""
        return self.samples - self.done

    @property
    def goes_on(self) -> bool:
        """Whether there are samples left, the best one is not proven optimal, and the search is not cancelled."""
        optimal = self.best is not None and not self.best.short and self.best.makespan <= self.bound * (1 + NEAR)
        begun = self.best is not None or self.done > 0  # else a cancelled search would have no result
        return self.left > 0 and not optimal and not (begun and self._cancel())

    def again(self, rounds: int) -> float:
        """The share of units to draw evenly again: 0, but that of eight after so many rounds without a better sample."""
        if self._stuck < rounds:
            return 0.0
        self._stuck = 0
        return min(1.0, AGAIN / self.units.n)

    def costs(self, places: np.ndarray) -> np.ndarray:
        """What samples cost, by device number of each unit, shape (samples, n_units); keeps the best.

        Returns
        -------
        ndarray, shape (samples,), float64
            The makespan [s], and that times 2 and more where the lasting bytes do not fit, by the share that does not.
        """
        before = self.best
        different, again = np.unique(places, axis=0, return_inverse=True)
        taken = makespans(self.problem, different[:, self.units.of], self.order)
        over = self._over(different)
        cost = np.where(over > 0, taken * (2 + over), taken)
        self._keep(different, np.where(over > 0, np.inf, taken))
        self.done += len(places)
        cost = cost[again.reshape(-1)]
        mean = float(cost.mean())
        self._stuck = self._stuck + 1 if self.best is before else 0
        best = np.nan if self.best is None else self.best.makespan
        self.rows.append((self.done, best, mean, self.done * best))
        share = min(self.done / self.samples, 1.0)
        self._progress(Progress(f"{self.done:,} samples", share, None if self.best is None else best, self.bound))
        return cost

    def _over(self, places: np.ndarray) -> np.ndarray:
        """Bytes beyond the capacity of devices, by the static check, as a share of the bytes of all units; shape (samples,)."""
        needs = self.assignment.needs
        limit = self.assignment.capacity.limit
        over = np.zeros(len(places))
        if np.isinf(limit).all():
            return over
        for d in np.flatnonzero(np.isfinite(limit)):
            here = places == d
            need = here @ needs.held + np.where(here, needs.peak, 0.0).max(axis=1)
            over += np.maximum(need - limit[d], 0.0)
        return over / max(float(needs.held.sum() + needs.peak.max()), 1.0)

    def _keep(self, places: np.ndarray, taken: np.ndarray) -> None:
        """Run the best samples with regard to memory; the first that is better than the best so far is the best."""
        urgent = self.best is None or self.best.short > 0
        for i in np.argsort(taken, kind="stable")[:TRIED]:
            if taken[i] == np.inf or not (urgent or (self.best is not None and taken[i] < self.best.makespan)):
                return
            device = places[i][self.units.of]
            plan = self._run(device, *times_under(Placement(self.problem, device), self.order))
            if self.best is None or plan.cost < self.best.cost:
                self.best = plan
                return

    def _run(self, device: np.ndarray, start: np.ndarray, finish: np.ndarray) -> SampledPlan:
        return _plan(Placement(self.problem, device, planned_order(start, finish)))

    def placement(self, problem: Problem) -> Placement:
        """The best of all as a placement of `problem`, which has the same ops, with the learning curve as its table."""
        need("pandas")
        import pandas as pd

        if self.best is None:
            raise InfeasibleError(
                f"none of {self.done:,} samples fits within the memory of the devices; start from a partitioner that finds room",
                stuck=True,
            )
        best = self.best
        notes = [f"{self.done:,} samples from {self.start}"]
        if best.makespan <= self.bound * (1 + NEAR):
            notes.append("no schedule is shorter, it meets a lower bound")
        notes += ["every sample that was better is out of memory at some time"] if best.short > 0 else []
        taken = problem.cluster.units.time(self.done * best.makespan)
        notes.append(f"had each sample been a step on the machine, as in the papers, placing would have taken {taken}")
        bound = min(self.bound, best.makespan)
        placement = replace(best.placement, problem=problem, estimate=best.makespan, trace=None, bound=bound)
        return replace(placement, notes=tuple(notes), table=pd.DataFrame(self.rows, columns=list(COLUMNS)))


def _plan(placement: Placement) -> SampledPlan:
    """A placement with a plan, run by ``planned``."""
    schedule = simulate(placement.problem, placement, "planned")
    short = float(schedule.oom["bytes"].sum())
    return SampledPlan(placement, schedule.makespan, short)


def draw(chance: np.ndarray, n: int, random: np.random.Generator) -> np.ndarray:
    """Device numbers of `n` samples, shape (n, n_units), by probabilities of shape (n_units, n_devices).

    A device of probability 0 is never drawn.
    """
    place = random.random((n, len(chance)))
    number = np.zeros((n, len(chance)), dtype=np.int32)
    reached = np.cumsum(chance, axis=1)
    last = chance.shape[1] - 1 - (chance[:, ::-1] > 0).argmax(axis=1)
    for d in range(chance.shape[1] - 1):
        number += place >= reached[:, d]
    return np.minimum(number, last)


def tied_by(problem: Problem, names: str) -> Problem:
    """The problem with a colocation group for all ops that always share a device after some transforms.

    Parameters
    ----------
    names
        Transforms of the catalogue in their order, such as ``"forward-only coplace fuse"``; "": the problem itself.

    Returns
    -------
    Problem
        All ops run, where after ``prepare=`` only the smaller problem is looked at; but what is to be decided is as small.

    Notes
    -----
    Random placements of the smaller problem are expanded; ops that have the same device in all of them are tied.
    """
    expect(names, str, "units, the names of transforms,")
    small, expand = chain(names.split())(problem)
    if small is problem:
        return problem
    unit = units(small)
    random = generator(0)
    choices = [small.feasible(v) for v in unit.first]
    drawn = np.empty((problem.graph.n_ops, DRAWN), dtype=np.int32)
    for i in range(DRAWN):
        place = np.array([choice[random.integers(len(choice))] for choice in choices])
        drawn[:, i] = expand(Placement(small, place[unit.of])).device
    _, number = np.unique(drawn, axis=0, return_inverse=True)
    members = np.argsort(number.reshape(-1), kind="stable")
    groups = np.split(problem.graph.names[members], np.cumsum(np.bincount(number.reshape(-1)))[:-1])
    return problem.replace(groups=[group.tolist() for group in groups if len(group) > 1])

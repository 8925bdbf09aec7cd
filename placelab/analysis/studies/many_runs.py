"""Run a step many times, with random orders or random costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from placelab.analysis import worker_measures as measures
from placelab.base.errors import FormatError, expect
from placelab.base.interrupts import need
from placelab.base.progress import Progress, Report, never, silent
from placelab.base.seeds import seed_number
from placelab.base.threads import in_batches
from placelab.costs.new_costs import perturb
from placelab.planning.read_orders import Reads, replica_column
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, Scheduler, checked
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.batches import schedule_or_raise, simulate_all
from placelab.simulation.event_simulation import RunRequest, run_of, static_order

if TYPE_CHECKING:
    import pandas as pd

CHUNK = 25  # runs between two reports


@checked
def iterations(
    problem: Problem,
    placement: Placement,
    scheduler: str | Scheduler | None = None,
    *,
    runs: Annotated[int, Limits(1)] = 1000,
    seed: int = 0,
    noise: Annotated[float, Limits(0, 1)] = 0.0,
    handoff: Annotated[float, Limits(0)] = 0.0,
    progress: Report | None = None,
    cancel: Callable[[], bool] | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Run a placement many times; each run has its own random order and costs.

    Parameters
    ----------
    problem, placement, scheduler
        As for :func:`placelab.simulate`. ``random-reads`` reads parameters in a new order in each run, ``tic`` and ``tac`` in
        the same.
    runs
        Number of runs; run i has the seed ``seed + i``.
    seed
        Of the first run.
    noise
        f, 0 to 1: in each run, all costs are multiplied by factors from U(1 - f, 1 + f)
        (:func:`placelab.transforms.perturb`). A static scheduler orders by the costs of `problem` all the same.
    handoff
        Seconds that it takes to enforce the order of a transfer, added to the latency of the links on which reads travel.
    progress
        Called after some runs with a :class:`placelab.base.progress.Progress`.
    cancel
        Called now and then; when it returns True, the complete runs are returned.
    options
        Options of the scheduler.

    Returns
    -------
    DataFrame
        One row per run: ``seed``; ``step`` [s], the makespan over the number of iterations in the graph; ``efficiency`` and
        ``potential``, the least over workers (:func:`placelab.worker_metrics`); ``straggling``, the last worker's end less the
        first one's, over the last one's; and per worker ``end worker:0`` [s], with the name of its device.

    Raises
    ------
    FormatError, UnsupportedError, InfeasibleError
        As for :func:`placelab.simulate`.

    Notes
    -----
    Each run is one simulation; on all cores with placelab's own schedulers.

    References
    ----------
    Hashemi et al. (2018) §3: 1,000 runs with and without an enforced order.

    Examples
    --------
    >>> import placelab as pl
    >>> server = pl.Cluster([1.0, 1.0], bandwidth=1.0, latency=0.0, types=["ps", "gpu"])
    >>> problem = pl.Problem(pl.generators.seq(4), server, transfers="channel")
    >>> frame = iterations(problem, pl.place(problem, "heft"), "tic", runs=2)
    >>> frame[["step", "efficiency", "straggling"]]
       step  efficiency  straggling
    0   5.0        0.75         0.0
    1   5.0        0.75         0.0
    """
    need("pandas")
    import pandas as pd

    expect(problem, Problem, "iterations")
    expect(placement, Placement, "iterations")
    if handoff == np.inf:
        raise FormatError("handoff is inf; expected a finite number of seconds")
    if handoff:
        problem = _with_handoff(problem, placement, handoff)
    one = run_of(problem, placement, scheduler, 0, "mark", options)
    run = _Runs(one, noise)
    seeds = range(seed_number(seed), seed_number(seed) + runs)
    report = progress or silent
    done: dict[int, dict[str, float]] = {}
    for i, row in in_batches(run.rows, seeds, cancel or never, problem.graph.n_ops, one.settings.scheduler):
        done[i] = row
        if len(done) % CHUNK == 0 or len(done) == runs:
            report(Progress(f"{len(done)} runs", len(done) / runs))
    frame = pd.DataFrame([done[i] for i in sorted(done)], columns=run.columns)
    frame.attrs["si"] = problem.cluster.units.si
    return frame


class _Runs:
    """What runs have in common.

    A static scheduler sees the costs of the placement's problem each time, as a framework that orders ops by estimates; it is
    asked once if it has no random part.
    """

    def __init__(self, run: RunRequest, noise: float) -> None:
        self.problem = run.placement.problem
        self.run = run
        self.noise = noise
        scheduler = run.settings.scheduler
        self.fixed = scheduler.static and "seed" not in scheduler.reserved
        if self.fixed:
            self.run = run._replace(order=static_order(*run[:3]))
        self.workers = measures.workers_of(run.placement)
        iteration = replica_column(self.problem.graph, "iteration")
        self.steps = 1 if iteration is None else len(np.unique(iteration[iteration >= 0])) or 1
        self.work: tuple[np.ndarray, np.ndarray] | None = None
        ends = [f"end {name}" for name in self.workers.names]
        self.columns = ["seed", "step", "efficiency", "potential", "straggling", *ends]

    def rows(self, seeds: Sequence[int]) -> list[dict[str, float]]:
        """The rows of some seeds."""
        found = simulate_all([self._run(seed) for seed in seeds])
        return [self.row(seed, schedule_or_raise(one)) for seed, one in zip(seeds, found, strict=True)]

    def row(self, seed: int, schedule: Schedule) -> dict[str, float]:
        """What is measured of one run."""
        most, least = self._work(schedule)
        end = measures.ends(schedule, self.workers)
        waited = measures.waits(schedule, self.workers)
        step = schedule.makespan / self.steps
        efficiency = measures.efficiency(most, least, end - waited).min()
        facts = (seed, step, efficiency, measures.potential(most, least).min(), measures.straggling(end), *end.tolist())
        return dict(zip(self.columns, facts, strict=True))

    def _run(self, seed: int) -> RunRequest:
        run = self.run._replace(settings=self.run.settings._replace(seed=seed))
        if run.settings.scheduler.static and not self.fixed:
            run = run._replace(order=static_order(*run[:3]))
        return run.on(self._problem(seed)) if self.noise else run

    def _problem(self, seed: int) -> Problem:
        return self.problem.with_costs(graph=perturb(self.problem.graph, factor=self.noise, seed=seed))

    def _work(self, schedule: Schedule) -> tuple[np.ndarray, np.ndarray]:
        """U and L of the workers, which only other costs change."""
        if self.noise:
            return measures.work(schedule, self.workers)
        if self.work is None:
            self.work = measures.work(schedule, self.workers)
        return self.work


def _with_handoff(problem: Problem, placement: Placement, seconds: float) -> Problem:
    """The problem with `seconds` more latency on the links on which reads travel."""
    cluster = problem.cluster
    reads = Reads.of(problem, placement)
    source, destination = reads.links
    latency = cluster.latency.copy()
    latency[source, destination] += seconds
    return problem.with_costs(cluster=cluster.replace(latency=latency))

"""Simulate training runs that save checkpoints and lose work to failures; seconds that checkpoints and detection take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from placelab.analysis.faults.expectations import count, expected_failures, span, step_time, steps_between
from placelab.base.errors import FormatError, expect
from placelab.base.index_arrays import frozen
from placelab.base.seeds import generator, seed_number
from placelab.kernels.run import training_run as training
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.preparing.checkpoint_ops import RESTORE, SAVE, checkpoint_nodes, disk_rates


@dataclass(frozen=True, eq=False)
class Detection:
    """Detect failures by health checks, by errors of Send and Receive, or by both. Made by :func:`detection`.

    Attributes
    ----------
    period : float
        Seconds between health checks; infinite without them.
    timeout : float
        Seconds from the check, or from when the transfer should have ended, to the detection.
    ends : ndarray
        Ends of the failed device's transfers within a step [s], ascending; empty where transfers detect nothing.
    """

    period: float
    timeout: float
    ends: np.ndarray


def detection(
    schedule: Schedule | None = None,
    device: int | str | None = None,
    *,
    health_check: float | None = None,
    timeout: float = 0.0,
) -> Detection:
    """Detect failures of a device by its transfers, by health checks, or by whichever is earlier.

    Parameters
    ----------
    schedule, device
        A step, and the device that fails. The failure is noticed where the first of its transfers that would end after the
        failure, to or from the device, should have ended. After the last transfer of the step, while a checkpoint is written and
        during a restore: the first transfer of the step that would have followed.
    health_check
        Seconds between health checks of all devices, the first at this time; a check at the instant of a failure has passed.
    timeout
        Seconds from there to the detection.

    Raises
    ------
    FormatError
        Neither is given; a device without transfers.

    References
    ----------
    TensorFlow white paper (2015) §3.3.

    Examples
    --------
    >>> detection(health_check=15.0).period
    15.0
    """
    period = np.inf if health_check is None else span(health_check, "health_check", "more than 0")
    ends = np.empty(0)
    if schedule is not None:
        expect(schedule, Schedule, "detection(schedule, device)")
        if device is None:
            raise FormatError("no device is given; name the one that fails")
        d = schedule.problem.cluster.index(device)
        moved = schedule.transfers
        ends = np.unique(moved["finish"][(moved["source"] == d) | (moved["destination"] == d)])
        if not len(ends) and health_check is None:
            name = schedule.problem.cluster.names[d]
            raise FormatError(f"device {name!r} has no transfers that could show its failure; give health_check")
    elif health_check is None:
        raise FormatError("nothing detects failures; give a schedule and a device, or health_check")
    return Detection(period, span(timeout, "timeout"), frozen(ends))


KINDS = ("useful", "saving", "lost", "detecting", "restoring")
COLUMNS = {"kind": "i8", "start": "f8", "finish": "f8", "iteration": "i8"}
INTERVAL = np.dtype([*COLUMNS.items()])
MOST_FAILURES = 1e6  # expected in one run: beyond, it would take a minute and more
MOST_RUNS = 10_000_000  # beyond, they would take gigabytes, and a quarter of an hour
ROWS = 1024
DRAWN = 32

Delay = float | Detection | Callable[[float], float]


@dataclass(frozen=True, eq=False)
class TrainingRuns:
    """Where the time of training runs goes.

    Attributes
    ----------
    step : float
        Seconds of a step.
    iterations, every : int
        Steps to be done; steps from one checkpoint to the next.
    useful, saving, lost, detecting, restoring : ndarray, shape (n_runs,)
        Seconds of each run: steps that count, complete checkpoints, what failures destroyed (steps since the last complete
        checkpoint, checkpoints and restores under way), from failures to their detection, complete restores.
    failures : ndarray of int, shape (n_runs,)
        Number of failures of each run; one that strikes before the one before it is detected is none of its own.
    intervals : structured ndarray
        What the first run did: ``kind`` (an index into ``placelab.faults.KINDS``), ``start`` and ``finish`` [s], one after the
        other without gaps, and ``iteration``: steps done, and not lost, at the start. Each failure has a row ``detecting``, and
        each complete restart one ``restoring``, also if they take no time: a row ``lost`` is of a restore after the first, of
        steps after any other.
    seed : int
        Run i drew its failures from seed + i.
    """

    step: float
    iterations: int
    every: int
    useful: np.ndarray
    saving: np.ndarray
    lost: np.ndarray
    detecting: np.ndarray
    restoring: np.ndarray
    failures: np.ndarray
    intervals: np.ndarray
    seed: int = 0

    @property
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.useful)

    @cached_property
    def total(self) -> np.ndarray:
        """Seconds of each run: the sum of the five parts; shape (n_runs,)."""
        return frozen(self.useful + self.saving + self.lost + self.detecting + self.restoring)

    @property
    def failed(self) -> np.ndarray:
        """When the first run failed [s]."""
        return self.intervals["start"][self.intervals["kind"] == training.DETECTING]

    @property
    def mean(self) -> float:
        """Mean total [s]."""
        return float(self.total.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean total [s]; NaN for one run."""
        return float(self.total.std(ddof=1) / math.sqrt(self.n_runs)) if self.n_runs > 1 else math.nan

    def __repr__(self) -> str:
        parts = " + ".join(f"{getattr(self, kind).mean():.6g} {kind}" for kind in KINDS)
        runs = f"mean of {self.n_runs} runs " if self.n_runs > 1 else ""
        return f"TrainingRuns({self.iterations} steps: {runs}{self.mean:.6g} s = {parts})"


def simulate_training(
    step: float | Schedule,
    iterations: int,
    *,
    every: int | None = None,
    seconds: float | None = None,
    save: float = 0.0,
    restore: float = 0.0,
    start: float = 0.0,
    mtbf: float | None = None,
    failures: Iterable[float] | None = None,
    detect: Delay = 0.0,
    final: bool = False,
    runs: int = 1,
    seed: int = 0,
) -> TrainingRuns:
    """Simulate training: steps, checkpoints, failures that lose all since the last checkpoint, and restarts from there.

    Parameters
    ----------
    step
        Seconds of a step, or a schedule, which takes its makespan.
    iterations
        Steps to be done.
    every, seconds
        A checkpoint after so many steps, or after the first step that ends so many seconds after the last checkpoint or restart,
        or later. Without either: none. After the last step there is one only if `final`.
    save, restore
        Seconds of writing and of reading a checkpoint: see :func:`disk_time` and :func:`node_times`.
    start
        Seconds in place of `restore` while there is no checkpoint.
    mtbf
        Mean seconds between failures of the whole system (:func:`system_mtbf`), whose spans are exponential.
    failures
        Instead of `mtbf`: when failures strike [s], ascending.
    detect
        Seconds from a failure to its detection; a function of the failure's time that returns them; or a :class:`Detection`.
    runs, seed
        Number of runs; run i draws its failures from seed + i.

    Returns
    -------
    TrainingRuns

    Raises
    ------
    FormatError
        A time that is negative or not finite; both `every` and `seconds`, or both `mtbf` and `failures`; more than a million
        failures expected in a run.

    Notes
    -----
    A failure before the end of a step, a save or a restore ends it; what ends at the instant of a failure is complete. A save
    is a checkpoint only when complete: a failure in it loses it and all steps since the one before. Failures until the
    detection of one are the same failure; the next random one is drawn from there on. A failure may strike a restore, which
    then begins again.
    All steps between two checkpoints are one piece of work here, so a run takes O(checkpoints + failures).

    References
    ----------
    TensorFlow white paper (2015) §3.3.

    Examples
    --------
    >>> simulate_training(10, 10, every=3, save=2, restore=5, failures=[47], detect=1)
    TrainingRuns(10 steps: 127 s = 100 useful + 6 saving + 15 lost + 1 detecting + 5 restoring)
    """
    length = step_time(step)
    n = count(iterations, "iterations")
    apart = steps_between(every, seconds, length, n)
    times = span(save, "save"), span(restore, "restore"), span(start, "start")
    job = training.TrainingJob(n, apart, length, *times, bool(final))
    given = _given(failures, mtbf)
    mean = None if mtbf is None else span(mtbf, "mtbf", "more than 0")
    if mean is not None:
        _check_feasible(job, mean)
    noticed, ask = _detection(detect)
    several = count(runs, "runs")
    first = seed_number(seed)
    if several > MOST_RUNS:
        raise FormatError(f"runs is {several:,}; at most {MOST_RUNS:,} are simulated")
    total = np.zeros((several, len(KINDS)))
    failed = np.zeros(several, dtype=np.int64)
    rows = np.empty(0, INTERVAL)
    for i in range(several):
        source = _spans(mean, first + i) if mean is not None else iter((given,))
        run, table = _run(job, noticed, ask, source, mean is not None, ROWS if i == 0 else 0)
        total[i] = run.total
        failed[i] = run.failed[0]
        rows = table if i == 0 else rows
    return TrainingRuns(
        step=length,
        iterations=n,
        every=apart,
        **{kind: frozen(column.copy()) for kind, column in zip(KINDS, total.T, strict=True)},
        failures=frozen(failed),
        intervals=frozen(rows),
        seed=first,
    )


def _run(
    job: training.TrainingJob,
    detection: training.Detection,
    ask: Callable[[float], float] | None,
    source: Iterator[np.ndarray],
    random: bool,
    rows: int,
) -> tuple[training.TrainingState, np.ndarray]:
    """One run, and its intervals where `rows` are kept at a time."""
    run = _begun()
    kept = training.Intervals(**{name: np.zeros(rows, kind) for name, kind in COLUMNS.items()})
    failures = training.Failures(next(source), random)
    parts = []
    while (state := training.train(job, detection, failures, run, kept)) != training.OVER:
        if state == training.NO_FAILURES:
            failures = training.Failures(next(source), random)
            run.used[0] = 0
        elif state == training.NO_DELAY:
            assert ask is not None
            run.delay[0] = span(ask(float(run.failure[0])), "the delay of detection")
        else:
            parts.append(_table(kept, run))
            run.rows[0] = 0
    return run, np.concatenate([*parts, _table(kept, run)])


def _begun() -> training.TrainingState:
    """A run at its begin."""
    now, failure, delay, into = np.array([[0.0], [0.0], [-1.0], [0.0]])
    phase, used, saved, rows, failed = np.zeros((5, 1), dtype=np.int64)
    return training.TrainingState(now, failure, delay, into, phase, used, saved, rows, failed, np.zeros(len(KINDS)))


def _table(kept: training.Intervals, run: training.TrainingState) -> np.ndarray:
    """The intervals written since the last time."""
    table = np.empty(run.rows[0], INTERVAL)
    for name, column in zip(COLUMNS, kept, strict=True):
        table[name] = column[: len(table)]
    return table


def _spans(mtbf: float, seed: int) -> Iterator[np.ndarray]:
    """Exponential spans between failures, more each time."""
    random = generator(seed)
    n = DRAWN
    while True:
        yield frozen(random.standard_exponential(n) * mtbf)
        n *= 2


def _given(failures: Iterable[float] | None, mtbf: float | None) -> np.ndarray:
    """Given instants of failures, ascending; empty without them."""
    if failures is None:
        return frozen(np.empty(0))
    if mtbf is not None:
        raise FormatError("mtbf and failures are both given; give one of them")
    if not isinstance(failures, Iterable):
        raise FormatError(f"failures is {failures!r:.60}; expected the times of failures, ascending")
    times = [span(time, "the time of a failure") for time in failures]
    if times != sorted(times):
        raise FormatError("the times of failures are not ascending; sort them")
    return frozen(np.array(times, dtype=np.float64))


def _detection(detect: Any) -> tuple[training.Detection, Callable[[float], float] | None]:
    """Detection as the kernel takes it, and the function to be asked."""
    if isinstance(detect, Detection):
        return training.Detection(0.0, False, detect.period, detect.timeout, detect.ends), None
    none = frozen(np.empty(0))
    if callable(detect):
        return training.Detection(0.0, True, math.inf, 0.0, none), detect
    return training.Detection(span(detect, "detect"), False, math.inf, 0.0, none), None


def _check_feasible(job: training.TrainingJob, mtbf: float) -> None:
    """Refuse a run that would hardly ever end."""
    expected = expected_failures(job, mtbf)
    if not expected <= MOST_FAILURES:
        segment = job.every * job.step + job.save
        raise FormatError(
            f"a run would take {expected:.3g} failures: steps up to a checkpoint, and it, take {segment:.6g} s, and there is a "
            f"failure every {mtbf:.6g} s; save more often"
        )


def disk_time(placement: Placement | Schedule, *, disk: Any) -> float:
    """Seconds until every device has written, or read, the persistent bytes of its ops, all at once.

    Parameters
    ----------
    placement
        Where the ops are: a placement or a schedule.
    disk
        Bytes/s of a device's disk, a number or one per device.

    Returns
    -------
    float
        The greatest quotient of bytes and `disk`: a `save` or a `restore` of :func:`simulate_training` between steps.
    """
    expect(placement, (Placement, Schedule), "disk_time")
    problem = placement.problem
    rate = disk_rates(disk, problem.cluster.n_devices)
    held = np.bincount(placement.device, problem.graph.persistent, minlength=problem.cluster.n_devices)
    return float((held / rate).max())


def step_with_nodes(schedule: Schedule, *, disk: Any, save: bool = True, restore: bool = True) -> Schedule:
    """Simulate the step of a schedule with Save and Restore ops: same placement, same scheduler.

    Parameters
    ----------
    schedule, disk, save, restore
        See :func:`placelab.transforms.checkpoint_nodes`. A planned order has Restore ops first and Save ops last.

    Examples
    --------
    >>> import placelab as pl
    >>> g = pl.OpGraph.from_arrays(["x", "y"], [2.0, 3.0], [(0, 1)], edge_bytes=[1.0], persistent=[4.0, 6.0])
    >>> problem = pl.Problem(g, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    >>> step = pl.simulate(problem, pl.Placement(problem, [0, 1]))
    >>> with_nodes = lambda **which: step_with_nodes(step, disk=2.0, **which).makespan
    >>> step.makespan, with_nodes(save=False), with_nodes(restore=False), with_nodes()
    (6.0, 8.0, 9.0, 11.0)
    """
    expect(schedule, Schedule, "step_with_nodes")
    problem = checkpoint_nodes(schedule.problem, disk=disk, save=save, restore=restore)
    options = dict(seed=schedule.seed, oom=schedule.oom_rule, **schedule.options)
    return simulate(problem, _placed(schedule.placement, problem), schedule.scheduler or None, **options)


def node_times(schedule: Schedule, *, disk: Any) -> tuple[float, float]:
    """Seconds by which Save ops, and by which Restore ops, lengthen a step: `save` and `restore` of a run.

    Parameters
    ----------
    schedule, disk
        See :func:`step_with_nodes`.

    Returns
    -------
    (float, float)
        Less than :func:`disk_time` where a device reads or writes while others compute; 0 where the step gets no longer.
    """
    longer = (
        step_with_nodes(schedule, disk=disk, save=save, restore=not save).makespan - schedule.makespan
        for save in (True, False)
    )
    save, restore = (max(seconds, 0.0) for seconds in longer)
    return save, restore


def _placed(placement: Placement, problem: Problem) -> Placement:
    """The placement of the step with Save and Restore ops: each where its variable is."""
    old = placement.problem.graph
    new = problem.graph
    number = np.array([new._index[name] for name in old.names])
    device = np.full(new.n_ops, -1, dtype=np.int32)
    added = np.ones(new.n_ops, dtype=bool)
    device[number] = placement.device
    added[number] = False
    extra = np.flatnonzero(added)
    for v in extra:
        device[v] = placement.device[old.index(new.names[v].partition("/")[2])]
    planned = None
    not_before = None
    if placement.planned is not None:
        restores, saves = (extra[new.kind[extra] == kind] for kind in (RESTORE, SAVE))
        planned = np.concatenate([restores, number[placement.planned], saves]).astype(np.int32)
    if placement.not_before is not None:
        not_before = np.zeros(new.n_ops)
        not_before[number] = placement.not_before
    return Placement(problem, device, planned=planned, partitioner=placement.partitioner, not_before=not_before)

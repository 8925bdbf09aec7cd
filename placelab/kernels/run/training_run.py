"""A training run with checkpoints and failures.

A run goes from checkpoint to checkpoint: the steps up to one and its save are a segment, which a failure before its end loses
whole. The kernel returns where it needs something, and is entered again with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from placelab.kernels.jit import helper, kernel

# Kinds of intervals.
USEFUL, SAVING, LOST, DETECTING, RESTORING = range(5)

# What a run does next.
DRAW, WORK, DETECT, RESTORE = range(4)

# Why the kernel returns: the run is over, it needs more failures, a delay of detection, or more rows for intervals.
OVER, NO_FAILURES, NO_DELAY, NO_ROWS = range(4)


class TrainingJob(NamedTuple):
    """What is trained, and when it is saved."""

    iterations: int
    every: int  # steps between two checkpoints
    step: float
    save: float
    restore: float
    start: float  # in place of `restore` while there is no checkpoint
    final: bool  # save after the last step, too


class Detection(NamedTuple):
    """How long a failure stays unnoticed: `constant`, unless there are checks or transfers; then the earlier of these."""

    constant: float
    asked: bool  # a delay comes from the caller, failure by failure
    period: float  # between health checks; infinite without them
    timeout: float  # after the check or the transfer
    ends: np.ndarray  # float64, ascending: ends of transfers of the failed device within a step; empty without them


class Failures(NamedTuple):
    """When failures strike."""

    times: np.ndarray  # float64: instants, ascending, or spans between the end of a detection and the next failure
    random: bool  # they are spans; where they run out, more are needed


class TrainingState(NamedTuple):
    """A run so far; what is under way is not in `total` yet."""

    now: np.ndarray  # float64 (1,): when the work or the restore began
    failure: np.ndarray  # float64 (1,): the next failure, or the one to be detected
    delay: np.ndarray  # float64 (1,): from failure to detection, as the caller gave it; negative: not given yet
    # float64 (1,): time from the begin of a step to the failure; negative: a step would begin so much later
    into: np.ndarray
    phase: np.ndarray  # int64 (1,): DRAW, WORK, DETECT or RESTORE
    used: np.ndarray  # int64 (1,): number of `Failures.times` used
    saved: np.ndarray  # int64 (1,): steps in the last complete checkpoint
    rows: np.ndarray  # int64 (1,): intervals written
    failed: np.ndarray  # int64 (1,): failures so far
    total: np.ndarray  # float64 (5,): time by kind of interval


class Intervals(NamedTuple):
    """What a run did when, one row per interval; without rows, nothing is written."""

    kind: np.ndarray  # int64
    start: np.ndarray  # float64
    finish: np.ndarray  # float64
    iteration: np.ndarray  # int64: steps done, and not lost, at the start


NEVER = float("inf")


@helper
def note(kind, start, finish, iteration, run, intervals):
    """Add an interval to the totals and, where there are rows, to the list."""
    run.total[kind] += finish - start
    i = run.rows[0]
    if len(intervals.kind) > 0:
        intervals.kind[i] = kind
        intervals.start[i] = start
        intervals.finish[i] = finish
        intervals.iteration[i] = iteration
        run.rows[0] = i + 1


@helper
def strike(end, run, intervals):
    """Whether a failure ends what would last until `end`; that is lost then."""
    failure = run.failure[0]
    if failure >= end:
        return False
    note(LOST, run.now[0], failure, run.saved[0], run, intervals)
    run.into[0] = failure - end
    run.failed[0] += 1
    run.phase[0] = DETECT
    return True


@helper
def draw(failures, run):
    """Note the next failure from now on; False where the random ones have run out."""
    times = failures.times
    i = run.used[0]
    if failures.random:
        if i == len(times):
            return False
        run.failure[0] = run.now[0] + times[i]
    else:
        while i < len(times) and times[i] < run.now[0]:
            i += 1
        run.failure[0] = times[i] if i < len(times) else NEVER
    run.used[0] = i + 1
    run.phase[0] = RESTORE if run.failed[0] > 0 else WORK
    return True


@helper
def work(job, run, intervals):
    """Compute up to the next checkpoint and save it. Returns whether the run is over."""
    now = run.now[0]
    saved = run.saved[0]
    steps = job.iterations - saved
    if steps > job.every:
        steps = job.every
    last = saved + steps == job.iterations
    worked = now + steps * job.step
    end = worked if last and not job.final else worked + job.save
    if strike(end, run, intervals):
        if run.failure[0] < worked:
            elapsed = run.failure[0] - now
            run.into[0] = elapsed - int(elapsed / job.step) * job.step
        return False
    note(USEFUL, now, worked, saved, run, intervals)
    if end > worked:
        note(SAVING, worked, end, saved + steps, run, intervals)
    run.saved[0] = saved + steps
    run.now[0] = end
    return last


@helper
def delay(job, detection, run):
    """Seconds from the failure to its detection."""
    least = NEVER
    period = detection.period
    if period < NEVER:
        failure = run.failure[0]
        least = (int(failure / period) + 1) * period - failure
    ends = detection.ends
    if len(ends) > 0:
        into = run.into[0]
        wait = ends[0] + job.step - into
        for i in range(len(ends) - 1, -1, -1):
            if ends[i] > into:
                wait = ends[i] - into
        least = wait if wait < least else least
    return least + detection.timeout if least < NEVER else detection.constant


@kernel
def train(job, detection, failures, run, intervals):
    """Go on with a run. Returns OVER, or what is missing. O(segments + failures · (1 + transfers of the failed device))."""
    rows = len(intervals.kind)
    while True:
        phase = run.phase[0]
        if 0 < rows < run.rows[0] + 2:
            return NO_ROWS
        if phase == DRAW:
            if not draw(failures, run):
                return NO_FAILURES
        elif phase == WORK:
            if work(job, run, intervals):
                return OVER
        elif phase == DETECT:
            if detection.asked and run.delay[0] < 0.0:
                return NO_DELAY
            failure = run.failure[0]
            end = failure + (run.delay[0] if detection.asked else delay(job, detection, run))
            run.delay[0] = -1.0
            note(DETECTING, failure, end, run.saved[0], run, intervals)
            run.now[0] = end
            run.phase[0] = DRAW
        else:
            end = run.now[0] + (job.restore if run.saved[0] > 0 else job.start)
            if not strike(end, run, intervals):
                note(RESTORING, run.now[0], end, run.saved[0], run, intervals)
                run.now[0] = end
                run.phase[0] = WORK

"""Arguments of the kernel of training runs, one NamedTuple per concept; :mod:`placelab.faults` makes them. Times are seconds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Kinds of intervals.
USEFUL, SAVING, LOST, DETECTING, RESTORING = range(5)

# What a run does next.
DRAW, WORK, DETECT, RESTORE = range(4)

# Why the kernel returns: the run is over, it needs more failures, a delay of detection, or more rows for intervals.
OVER, NO_FAILURES, NO_DELAY, NO_ROWS = range(4)


class Job(NamedTuple):
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


class Run(NamedTuple):
    """A run so far; what is under way is not in `total` yet."""

    now: np.ndarray  # float64 (1,): when the work or the restore began
    failure: np.ndarray  # float64 (1,): the next failure, or the one to be detected
    delay: np.ndarray  # float64 (1,): from failure to detection, as the caller gave it; negative: not given yet
    into: (
        np.ndarray
    )  # float64 (1,): time from the begin of a step to the failure; negative: a step would begin so much later
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

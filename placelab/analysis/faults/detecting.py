"""Detection of a failure: by a health check, or by a transfer of the failed device that does not end."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from placelab.analysis.faults.given_times import span
from placelab.base.errors import FormatError, expect
from placelab.base.index_arrays import frozen
from placelab.schedule.schedule import Schedule


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
        d, moved = schedule.problem.cluster.index(device), schedule.transfers
        ends = np.unique(moved["finish"][(moved["source"] == d) | (moved["destination"] == d)])
        if not len(ends) and health_check is None:
            name = schedule.problem.cluster.names[d]
            raise FormatError(f"device {name!r} has no transfers that could show its failure; give health_check")
    elif health_check is None:
        raise FormatError("nothing detects failures; give a schedule and a device, or health_check")
    return Detection(period, span(timeout, "timeout"), frozen(ends))

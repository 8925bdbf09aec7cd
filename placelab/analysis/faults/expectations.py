"""Expected times of training with random failures, and the best interval between checkpoints."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from placelab.base.errors import FormatError, poses_as_number
from placelab.base.index_arrays import floats
from placelab.base.interrupts import need
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    from placelab.kernels.run.training_run import TrainingJob


def span(value: Any, what: str, least: str = "0 or more") -> float:
    """A number of seconds, 0 or ``"more than 0"``; FormatError for anything else.

    >>> span(2, "save")
    2.0
    """
    number = isinstance(value, (int, float, np.number)) and not poses_as_number(value)
    if not number or not 0 <= value <= sys.float_info.max or (value == 0 and least != "0 or more"):
        raise FormatError(f"{what} is {value!r:.60}; expected a finite number of seconds, {least}")
    return float(value)


def count(value: Any, what: str) -> int:
    """A whole number, 1 or more; FormatError for anything else."""
    if not isinstance(value, (int, np.integer)) or poses_as_number(value) or not 1 <= value < 2**53:
        raise FormatError(f"{what} is {value!r:.60}; expected a whole number, 1 or more")
    return int(value)


def step_time(step: Any) -> float:
    """Seconds of a step: of a schedule, its makespan."""
    return span(step.makespan if isinstance(step, Schedule) else step, "the time of a step", "more than 0")


def steps_between(every: Any, seconds: Any, step: float, iterations: int) -> int:
    """Steps from one checkpoint to the next, at most `iterations`.

    A checkpoint `seconds` after the last checkpoint or restart is one after the first step that ends then or later.
    """
    if every is not None and seconds is not None:
        raise FormatError("every and seconds are both given; give one of them")
    if every is not None:
        return min(count(every, "every"), iterations)
    if seconds is None:
        return iterations
    asked = span(seconds, "seconds", "more than 0") / step
    return iterations if asked > iterations else max(1, math.ceil(asked * (1 - 1e-12)))  # 0.3 s are 3 steps of 0.1 s


POINTS = 1000  # numbers of steps between checkpoints that `over_intervals` tries
SHORT = 4e-3  # √(2C/μ) below which a save is short


def system_mtbf(devices: Iterable[float]) -> float:
    r"""Mean time between failures of a system that fails where one of its devices does.

    .. math:: \mu = 1 / \sum_d 1 / \mu_d

    Parameters
    ----------
    devices
        Mean time between failures of each device [s], infinite for one that never fails.

    Examples
    --------
    >>> system_mtbf([3.6e6] * 100)
    36000.0
    """
    try:
        each = floats([*devices])
    except (TypeError, ValueError, OverflowError):
        raise FormatError(
            f"times between failures are {devices!r:.60}; expected seconds above 0, one per device"
        ) from None
    if not len(each) or not (each > 0).all():
        raise FormatError(f"times between failures are {each.tolist()!r:.60}; expected seconds above 0, one per device")
    rate = math.fsum(1 / each)
    return 1 / rate if rate else math.inf


def checkpoint_interval(save: float, mtbf: float, *, method: Literal["exact", "daly", "young"] = "exact") -> float:
    r"""Seconds of work between two checkpoints for which the expected time is least.

    Parameters
    ----------
    save
        C, seconds of writing a checkpoint.
    mtbf
        μ, mean seconds between failures of the system.
    method
        ``"exact"``: :math:`\mu (1 + W_0(-e^{-C/\mu - 1}))`, the minimum of
        :func:`~placelab.faults.expected_segment_time` per second of work, whatever a restore and a detection take. ``"daly"``:
        :math:`\sqrt{2 C \mu} (1 + \frac13 \sqrt{C / 2\mu} + C / 18\mu) - C` for :math:`C < 2\mu`, else μ. ``"young"``:
        :math:`\sqrt{2 C \mu}`.

    References
    ----------
    Young (1974), "A first order approximation to the optimum checkpoint interval"; Daly (2006), "A higher order estimate of the
    optimum checkpoint interval for restart dumps", eq. 37.

    Examples
    --------
    >>> [round(checkpoint_interval(60, 36_000, method=m), 4) for m in ("young", "daly", "exact")]
    [2078.461, 2038.6534, 2038.6549]
    """
    cost = span(save, "save", "more than 0")
    mean = span(mtbf, "mtbf", "more than 0")
    young = math.sqrt(2) * math.sqrt(cost) * math.sqrt(mean)
    if method == "young":
        return young
    if method == "daly":
        x = cost / (2 * mean)
        return young * (1 + math.sqrt(x) / 3 + x / 9) - cost if x < 1 else mean
    if method == "exact":
        return _exact(cost, mean)
    raise FormatError(f"method is {method!r:.60}; expected 'exact', 'daly' or 'young'")


def _exact(cost: float, mean: float) -> float:
    r"""Interval of the method ``"exact"``. For short saves W is near its branch point, where few of its digits are right.

    There its series in :math:`x = \sqrt{2 C / \mu}` is used, whose next term is below 1e-16 of the whole.
    """
    x = math.sqrt(2) * math.sqrt(cost) / math.sqrt(mean)
    if x < SHORT:
        return mean * x * (1 - x / 3 + x**2 / 36 + x**3 / 270 + x**4 / 4320)
    need("scipy.special")
    from scipy.special import lambertw

    return float(mean * (1 + lambertw(-math.exp(-cost / mean - 1)).real))


def expected_segment_time(work: Any, *, save: float, restore: float, mtbf: float, detect: float = 0.0) -> Any:
    r"""Expected time of so much work and the checkpoint after it, failures and restarts included.

    .. math:: e^{R/\mu} (\mu + D) (e^{(w + C)/\mu} - 1)

    Parameters
    ----------
    work
        w, seconds of work; a number or an array.
    save, restore, detect
        C, R, D: seconds of a save, a restore and from a failure to its detection.
    mtbf
        μ, mean seconds between failures, whose spans are exponential.

    Returns
    -------
    float or ndarray
        Seconds; infinite where they exceed the range of numbers.

    Examples
    --------
    >>> round(expected_segment_time(3600, save=60, restore=30, mtbf=36_000, detect=10), 4)
    3856.8014
    """
    mean = span(mtbf, "mtbf", "more than 0")
    again = mean + span(detect, "detect")
    try:
        seconds = floats(work)
    except (TypeError, ValueError, OverflowError):
        seconds = np.array(np.nan)
    if not (seconds >= 0).all():
        raise FormatError(f"work is {work!r:.60}; expected seconds, 0 or more: a number or an array")
    spent = seconds + span(save, "save")
    with np.errstate(over="ignore", invalid="ignore"):
        expected = np.exp(span(restore, "restore") / mean) * again * np.expm1(spent / mean)
    expected = np.where(spent > 0, expected, 0.0)
    return expected if np.ndim(expected) else float(expected)


def expected_training_time(
    step: float | Schedule,
    iterations: int,
    *,
    every: Any = None,
    save: float = 0.0,
    restore: float = 0.0,
    start: float = 0.0,
    mtbf: float,
    detect: float = 0.0,
    final: bool = False,
) -> Any:
    """Expected total of :func:`simulate_training`: the sum over the segments between checkpoints.

    Parameters
    ----------
    every
        Steps between checkpoints, a number or an array; None: no checkpoints.
    step, iterations, save, restore, start, mtbf, detect, final
        As there; `detect` in seconds. Until the first checkpoint `start` stands for `restore`; after the last segment
        there is no save unless `final`.

    Returns
    -------
    float or ndarray
        Seconds, of the shape of `every`; infinite where they exceed the range of numbers.

    Examples
    --------
    >>> round(expected_training_time(10, 300, every=3, save=2, restore=5, mtbf=200, detect=1), 1)
    3572.6
    """
    length = step_time(step)
    n = count(iterations, "iterations")
    try:
        asked = np.asarray(n if every is None else every)
    except ValueError:  # lists of different lengths
        asked = np.empty(0)
    if asked.dtype.kind not in "iu" or (asked < 1).any():
        raise FormatError(f"every is {every!r:.60}; expected whole numbers of steps, 1 or more")
    apart = np.minimum(asked, n)
    segments = -(-n // apart)
    last = n - (segments - 1) * apart
    facts: dict[str, float] = dict(mtbf=mtbf, detect=detect)
    end = save if final else 0.0
    one = segments == 1
    alone = expected_segment_time(last * length, save=end, restore=start, **facts)
    first = expected_segment_time(apart * length, save=save, restore=start, **facts)
    inner = expected_segment_time(apart * length, save=save, restore=restore, **facts)
    rest = expected_segment_time(last * length, save=end, restore=restore, **facts)
    with np.errstate(invalid="ignore"):
        several = first + np.where(segments > 2, (segments - 2) * inner, 0.0) + rest
    expected = np.where(one, alone, several)
    return expected if expected.ndim else float(expected)


def over_intervals(
    step: float | Schedule, iterations: int, *, every: Any = None, save: float, mtbf: float, **facts: Any
) -> np.ndarray:
    """Expected totals over numbers of steps between checkpoints: the columns of a curve.

    Parameters
    ----------
    every
        The numbers; default: from 1 to `iterations` all or, above some hundred, a thousand of equal ratios.
    step, iterations, save, mtbf, facts
        As :func:`expected_training_time` takes them.

    Returns
    -------
    structured ndarray
        ``every``, ``seconds`` (of work between two checkpoints) and ``expected`` [s], one row per number.
    """
    length = step_time(step)
    n = count(iterations, "iterations")
    if every is None:
        every = np.unique(np.round(np.geomspace(1, n, POINTS)).astype(np.int64))
    steps = np.atleast_1d(np.asarray(every))
    table = np.empty(len(steps), [("every", "i8"), ("seconds", "f8"), ("expected", "f8")])
    table["expected"] = expected_training_time(length, n, every=steps, save=save, mtbf=mtbf, **facts)
    table["every"] = steps
    table["seconds"] = steps * length
    return table


def expected_failures(job: TrainingJob, mtbf: float) -> float:
    """Expected number of failures of a run."""
    facts: dict[str, Any] = dict(every=job.every, save=job.save, restore=job.restore, start=job.start, final=job.final)
    return expected_training_time(job.step, job.iterations, mtbf=mtbf, **facts) / mtbf

"""Check the arguments of training runs; each message says what was given and what is expected."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.schedule.schedule import Schedule


def span(value: Any, what: str, least: str = "0 or more") -> float:
    """A number of seconds, 0 or ``"more than 0"``; FormatError for anything else.

    >>> span(2, "save")
    2.0
    """
    number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value < 0 or (value == 0 and least != "0 or more"):
        raise FormatError(f"{what} is {value!r:.60}; expected a finite number of seconds, {least}")
    return float(value)


def count(value: Any, what: str) -> int:
    """A whole number, 1 or more; FormatError for anything else."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or not 1 <= value < 2**53:
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

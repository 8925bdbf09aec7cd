"""Busy time of devices: in total, and by columns of a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from placelab.schedule.schedule import Schedule


def busy_time(schedule: Schedule) -> np.ndarray:
    """Seconds each device runs ops and Sends, shape (n_devices,)."""
    k, sends = schedule.problem.cluster.n_devices, schedule.sends
    ran = np.bincount(schedule.device, schedule.finish - schedule.start, minlength=k)
    return ran + np.bincount(sends["source"], sends["finish"] - sends["start"], minlength=k)


def covered(start: np.ndarray, finish: np.ndarray, row: np.ndarray, rows: int, span: float, columns: int) -> np.ndarray:
    """How much of each column of a picture spans of time cover.

    Parameters
    ----------
    start, finish
        Spans within [0, `span`] [s].
    row
        Row of each span, from 0 to `rows` - 1.
    span, columns
        The picture's width, in seconds and in columns.

    Returns
    -------
    ndarray, shape (rows, columns)
        Widths of columns that are covered, added up over the spans of a row: 1 where one span covers the column.

    Notes
    -----
    O(spans + rows · columns). From time t on, a span that begins at t covers the rest of t's column and all columns after it;
    a span is what begins at its start minus what begins at its finish, so that two differences and one running sum do.
    """
    wide = columns + 2
    difference = np.zeros(rows * wide)
    scale = columns / span if span > 0 else 0.0
    for time, sign in ((start, 1.0), (finish, -1.0)):
        at = np.minimum(time * scale, columns)
        first = at.astype(np.int64)
        place = row * wide + first
        rest = first + 1 - at
        difference += np.bincount(place, sign * rest, minlength=rows * wide)
        difference += np.bincount(place + 1, sign * (1 - rest), minlength=rows * wide)
    return np.cumsum(difference.reshape(rows, wide), axis=1)[:, :columns]


def touched(start: np.ndarray, row: np.ndarray, rows: int, span: float, columns: int) -> np.ndarray:
    """Whether a span starts in each column, so that spans too short to cover anything can be drawn; shape (rows, columns)."""
    scale = columns / span if span > 0 else 0.0
    at = np.minimum((start * scale).astype(np.int64), columns - 1)
    return np.bincount(row * columns + at, minlength=rows * columns).reshape(rows, columns) > 0

"""Arguments of the kernels that explain a schedule, one NamedTuple per concept.

:mod:`placelab.schedule.critical_steps` and :mod:`placelab.analysis.explanation` make them. Notation: n ops, m edges, k devices,
x transfers; items are ops (0 … n - 1) and Sends (n + transfer). Arrays that are only read are read-only; times are seconds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Items(NamedTuple):
    """What devices ran."""

    n_ops: int
    start: np.ndarray  # float64 (items,)
    finish: np.ndarray  # float64 (items,)
    device: np.ndarray  # int32 (items,)
    by_start: np.ndarray  # int32 (items,): items by start, then number


class Carried(NamedTuple):
    """How tensors reached their consumers."""

    carrier: np.ndarray  # int32 (m,): transfer that brought each edge's tensor, -1 within a device
    finish: np.ndarray  # float64 (x,)


class Moved(NamedTuple):
    """Transfers, and what they may have waited for."""

    made_by: np.ndarray  # int32 (x,): op whose output each carries
    start: np.ndarray  # float64 (x,)
    first: np.ndarray  # int32 (x,): port or channel that each occupies; (0,) where transfers wait for none
    last: np.ndarray  # int32 (x,): the other one, or the same
    free: np.ndarray  # float64 (x,): when these are free again
    by_free: np.ndarray  # int32 (x,): transfers by that; (0,) where they wait for none


class CarrierWork(NamedTuple):
    """Workspace: transfers by tensor, and by device."""

    first: np.ndarray  # int32 (tensors,): a transfer of each tensor, -1 for none
    following: np.ndarray  # int32 (x,): the next one of the same tensor
    stamp: np.ndarray  # int32 (k,): the tensor that row holds for
    row: np.ndarray  # int32 (k,): the transfer that goes to each device


class Walk(NamedTuple):
    """Workspace: what ran before what, and what is on the path."""

    last: np.ndarray  # int32 (k,), -1 at first: last item of each device
    before: np.ndarray  # int32 (items,): item before each on its device, -1 for the first
    visited: np.ndarray  # uint8 (items + x,), 0 at first


class Steps(NamedTuple):
    """Results: entries of the critical path, the last one first."""

    kind: np.ndarray  # uint8 (most,)
    row: np.ndarray  # int32 (most,)
    cause: np.ndarray  # int32 (most,)
    by: np.ndarray  # int32 (most,)
    begin: np.ndarray  # float64 (most,)
    end: np.ndarray  # float64 (most,)


class Gaps(NamedTuple):
    """Results: spans in which a device runs nothing."""

    device: np.ndarray  # int32 (most,)
    begin: np.ndarray  # float64 (most,)
    end: np.ndarray  # float64 (most,)
    reason: np.ndarray  # uint8 (most,)
    op: np.ndarray  # int32 (most,)

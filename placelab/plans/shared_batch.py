"""Share a batch between workers of different speed."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from placelab.base.errors import FormatError, count

MOST = 10**15


def share_batch(seconds: Sequence[float], total: int) -> tuple[int, ...]:
    r"""Share micro-batches between workers so that the slowest one ends first.

    .. math:: \min_{\sum c_w = n} \max_w c_w \tau_w

    Parameters
    ----------
    seconds
        Of a micro-batch on each worker, :math:`\tau_w`.
    total
        Micro-batches n.

    Returns
    -------
    tuple of int
        Micro-batches of each worker: the `samples` of :func:`placelab.transforms.model_replica`.

    Raises
    ------
    FormatError
        No workers, seconds that are not above 0, a total that is no such number.

    Notes
    -----
    Each further micro-batch goes to the worker that would end first with it, ties to the lower number; what all workers can do
    by the time that fractions would take is given at once. O(workers log workers).

    Examples
    --------
    >>> share_batch([1, 2, 3], 11)
    (6, 3, 2)
    """
    n = count(total, "total", 0, MOST)
    try:
        taken = np.asarray(seconds, dtype=np.float64)
    except (TypeError, ValueError):
        taken = np.array(np.nan)
    if taken.ndim != 1 or not len(taken) or not (np.isfinite(taken) & (taken > 0)).all():
        raise FormatError(f"seconds is {seconds!r:.60}; expected a number above 0 for each worker")
    ratio = taken / taken.min()
    shares = np.floor(n / (1 / ratio).sum() / ratio * (1 - 1e-9)).astype(np.int64)
    ends = [((share + 1) * tau, w) for w, (share, tau) in enumerate(zip(shares.tolist(), taken.tolist(), strict=True))]
    heapq.heapify(ends)
    for _ in range(n - int(shares.sum())):
        _, w = ends[0]
        shares[w] += 1
        heapq.heapreplace(ends, (float((shares[w] + 1) * taken[w]), w))
    return tuple(shares.tolist())

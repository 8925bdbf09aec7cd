"""Bandwidth and latency of a link from measured sizes and seconds."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError

ROUNDING = 1e-9


class FittedLink(NamedTuple):
    """Bandwidth [bytes/s] and latency [s] of one direction of a link, in the order that ``Cluster.from_hosts`` takes."""

    bandwidth: float
    latency: float


def fit_link(bytes: Any, seconds: Any) -> FittedLink:
    """Bandwidth and latency of a link by least squares: ``seconds ≈ latency + bytes / bandwidth``.

    Parameters
    ----------
    bytes, seconds
        Size and duration of each measured transfer, shape (n,); two sizes at least.

    Returns
    -------
    FittedLink
        ``bandwidth`` in bytes per second, ``latency`` in seconds, 0 or more; a pair in this order.

    Raises
    ------
    FormatError
        Fewer than two sizes; numbers that are not finite, negative bytes, seconds not above 0; larger transfers that
        are not slower, so that no bandwidth fits.

    Notes
    -----
    Minimizes squared relative errors: durations spread over many powers of ten, and with absolute errors the longest alone
    would determine the fit and leave the latency to chance. A negative latency is clipped to 0 and the bandwidth fitted
    alone. O(n).

    References
    ----------
    Jeon et al. (2020), Baechi, §4.1: the communication cost as a linear function of size.

    Examples
    --------
    >>> link = fit_link([1e3, 1e6, 1e9], [50e-6 + size / 12e9 for size in (1e3, 1e6, 1e9)])
    >>> round(link.bandwidth / 1e9), round(link.latency * 1e6)
    (12, 50)
    >>> import placelab as pl
    >>> pl.Cluster.from_hosts({"host": 2}, inside=link).bandwidth[0, 1] == link.bandwidth
    np.True_
    """
    size, duration = _measured(bytes, seconds)
    longest, scale = duration.max(), size.max()
    with np.errstate(over="ignore"):
        weight = longest / duration
    if not np.isfinite(weight).all():
        raise FormatError(
            f"transfers take {duration.min():g} to {longest:g} s, too far apart for one link; expected closer ones"
        )
    slopes = weight * (size / scale)
    (latency, slope), *_ = np.linalg.lstsq(np.stack([weight, slopes], axis=1), np.ones(len(size)), rcond=None)
    if latency < 0:
        latency, slope = 0.0, slopes.sum() / (slopes**2).sum()
    # Both are relative to the longest duration; a slope below ROUNDING is 0 up to rounding errors.
    if not slope > ROUNDING or not scale / slope / longest < np.inf:
        raise FormatError(
            "larger transfers take no longer than smaller ones, so no bandwidth fits; expected slower ones"
        )
    return FittedLink(bandwidth=float(scale / slope / longest), latency=float(latency * longest))


def _measured(bytes: Any, seconds: Any) -> tuple[np.ndarray, np.ndarray]:
    try:
        size, duration = np.asarray(bytes, dtype=float), np.asarray(seconds, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise FormatError("bytes and seconds must be numbers, one of each per transfer") from None
    if size.ndim != 1 or size.shape != duration.shape:
        raise FormatError(
            f"bytes has shape {size.shape} and seconds {duration.shape}; expected one of each per transfer"
        )
    for label, values, enough, least in (
        ("bytes", size, size >= 0, "0 or more"),
        ("seconds", duration, duration > 0, "above 0"),
    ):
        wrong = values[~(enough & np.isfinite(values))]
        if len(wrong):
            raise FormatError(f"{label} of a transfer are {wrong[0]:g}; expected a finite number {least}")
    if len(np.unique(size)) < 2:
        raise FormatError(
            f"transfers of {len(np.unique(size))} sizes cannot tell latency from bandwidth; expected two at least"
        )
    return size, duration

"""Latency and bandwidth of a link from measured transfers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.costs import fit_link

SIZES = np.logspace(2, 9, 30)
latencies = st.floats(1e-7, 1e-2)
bandwidths = st.floats(1e7, 1e12)


@given(latencies, bandwidths)
def test_transfers_without_noise_give_the_link_back(latency, bandwidth):
    """The fit recovers a link exactly from transfers of a few bytes to a gigabyte."""
    fitted = fit_link(SIZES, latency + SIZES / bandwidth)
    shares = SIZES / bandwidth / latency
    assert fitted.bandwidth == pytest.approx(bandwidth, rel=1e-6) or shares.max() < 1e-3
    assert fitted.latency == pytest.approx(latency, rel=1e-6) or shares.min() > 1e3


@given(st.integers(0, 2**32 - 1), st.floats(1e-6, 1e-4), st.floats(1e8, 1e11))
def test_noise_of_ten_percent_moves_the_fit_by_less(seed, latency, bandwidth):
    """Latency and bandwidth are fitted together, over seven powers of ten."""
    sizes = np.repeat(SIZES, 10)
    noise = np.random.default_rng(seed).uniform(0.9, 1.1, len(sizes))
    fitted = fit_link(sizes, noise * (latency + sizes / bandwidth))
    assert fitted.bandwidth == pytest.approx(bandwidth, rel=0.1)
    if latency * bandwidth > 1e3:  # else even the smallest transfer is all bandwidth
        assert fitted.latency == pytest.approx(latency, rel=0.1)


def test_a_latency_is_never_negative():
    """If small transfers are faster than the line through the large ones, latency is 0 and only the bandwidth is fitted."""
    bandwidth, latency = fit_link([1e6, 2e6, 4e6], [1e-4, 4e-4, 16e-4])
    assert latency == 0.0
    assert 1e6 / 1e-4 > bandwidth > 4e6 / 16e-4


def test_two_transfers_of_two_sizes_are_enough():
    """The line through two points; a message of 0 bytes has the latency."""
    bandwidth, latency = fit_link([0, 1000], [1e-3, 2e-3])
    assert latency == pytest.approx(1e-3)
    assert bandwidth == pytest.approx(1e6)


@pytest.mark.parametrize(
    ("sizes", "seconds", "message"),
    [
        ([], [], "transfers of 0 sizes"),
        ([5, 5, 5], [1, 2, 3], "transfers of 1 size"),
        ([1, 2], [1], "bytes has shape \\(2,\\) and seconds \\(1,\\)"),
        ([[1, 2]], [[1, 2]], "bytes has shape"),
        ([1, float("nan")], [1, 2], "bytes of a transfer are nan"),
        ([1, -2], [1, 2], "bytes of a transfer are -2"),
        ([1, 2], [1, float("inf")], "seconds of a transfer are inf"),
        ([1, 2], [1, 0], "seconds of a transfer are 0; expected a finite number above 0"),
        ([1, 2], ["a", 0], "must be numbers"),
        ([1e3, 1e6], [2e-3, 1e-3], "no bandwidth fits"),
        ([1e3, 1e6], [1e-3, 1e-3], "no bandwidth fits"),
        ([1e3, 1e6], [1e-300, 1e300], "too far apart"),
    ],
)
def test_what_no_link_fits_is_refused(sizes, seconds, message):
    """The error is one sentence."""
    with pytest.raises(pl.FormatError, match=message):
        fit_link(sizes, seconds)


numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.tuples(numbers, numbers), max_size=6))
def test_a_fit_is_a_link_or_a_sentence(pairs):
    """Any measurements give a latency of 0 or more and a valid bandwidth, or an error."""
    try:
        bandwidth, latency = fit_link([size for size, _ in pairs], [second for _, second in pairs])
    except pl.FormatError:
        return
    assert pl.Cluster([1.0, 1.0], bandwidth=bandwidth, latency=latency).n_devices == 2


def test_a_fit_is_what_clusters_of_hosts_are_made_of():
    """The fit is (bandwidth, latency), in the order of all arguments."""
    fitted = fit_link([0, 1000], [1e-3, 2e-3])
    assert fitted == (fitted.bandwidth, fitted.latency) == pytest.approx((1e6, 1e-3))
    assert pl.Cluster.from_hosts({"host": 2}, inside=fitted).latency[0, 1] == fitted.latency

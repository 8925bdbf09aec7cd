"""Shares of a batch: none ends sooner."""

from __future__ import annotations

from itertools import product

import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl


@pytest.mark.parametrize(
    ("seconds", "total", "shares"), [((1, 2, 3), 11, (6, 3, 2)), ((1, 2), 12, (8, 4)), ((1, 1, 3), 8, (4, 3, 1))]
)
def test_three_batches(seconds, total, shares):
    """Golden U1."""
    assert pl.share_batch(seconds, total) == shares


@examples(60)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 9))
def test_no_other_shares_end_sooner(seconds, total):
    """The longest is that of the best of all shares."""
    every = product(range(total + 1), repeat=len(seconds))
    ends = [max(c * tau for c, tau in zip(shares, seconds, strict=True)) for shares in every if sum(shares) == total]
    found = pl.share_batch(seconds, total)
    assert sum(found) == total and max(c * tau for c, tau in zip(found, seconds, strict=True)) == min(ends)


def test_a_batch_of_many():
    """A million million micro-batches take no longer to share than ten."""
    assert pl.share_batch([1, 3], 10**12) == (750_000_000_000, 250_000_000_000)


@pytest.mark.parametrize("seconds", [(), (0, 1), (1, -1), "fast", (1, float("nan")), ((1, 2),), None])
def test_wrong_seconds(seconds):
    """One sentence names them."""
    with pytest.raises(pl.FormatError, match="seconds is"):
        pl.share_batch(seconds, 4)

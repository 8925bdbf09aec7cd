"""Check seeds, and make the random generators that start from them; the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.base.errors import count


def seed_number(seed: Any) -> int:
    """The seed as an int; FormatError when it is not a whole number, 0 or more.

    >>> seed_number(np.int64(3))
    3
    """
    return count(seed, "seed", 0)


def generator(seed: Any) -> np.random.Generator:
    """A generator of random numbers that starts at `seed`."""
    return np.random.default_rng(seed_number(seed))

"""Parts of the test files, so that several runs share all tests."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def share(files: Iterable[Path], which: str) -> set[Path]:
    """The K-th of N parts of the files, for "K/N": neighbours in the alphabet are in different ones."""
    k, n = map(int, which.split("/"))
    if not 1 <= k <= n:
        raise ValueError(f"--share={which}: expected K/N with 1 ≤ K ≤ N, such as 2/3")
    return set(sorted(files)[k - 1 :: n])

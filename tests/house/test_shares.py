"""Every test file is in exactly one share of the files: none is left out when several runs divide them."""

from pathlib import Path

import pytest
from shares import share

FILES = set(Path(__file__).parents[1].glob("*/test_*.py"))


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_shares_are_disjoint_and_together_everything(n):
    parts = [share(FILES, f"{k + 1}/{n}") for k in range(n)]
    assert set().union(*parts) == FILES and sum(map(len, parts)) == len(FILES)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("which", ["0/3", "4/3"])
def test_no_such_share(which):
    with pytest.raises(ValueError, match="such as 2/3"):
        share(FILES, which)

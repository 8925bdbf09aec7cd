"""Every test file is in exactly one share of the files: none is left out when several runs divide them."""

import json
import subprocess
import sys
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


@pytest.mark.parametrize(
    "which", [pytest.param("1/3", marks=pytest.mark.slow), "2/3", pytest.param("3/3", marks=pytest.mark.slow)]
)
def test_what_has_failed_of_a_share_runs_again(which, tmp_path):
    """Though its file is the only one then, and so the first of all shares."""
    failed = "tests/house/test_shares.py::test_no_such_share[0/3]"
    cache = tmp_path / "v" / "cache"
    cache.mkdir(parents=True)
    (cache / "lastfailed").write_text(json.dumps({failed: True}))
    options = [
        "--collect-only",
        "--quiet",
        "--last-failed",
        f"--share={which}",
        "--override-ini",
        f"cache_dir={tmp_path}",
    ]
    command = [sys.executable, "-m", "pytest", *options, "tests/house"]
    listed = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert failed in listed.stdout and listed.returncode == 0, listed.stdout + listed.stderr


@pytest.mark.parametrize(
    ("options", "status"), [(["--share=1/2"], 0), (["--share=1/2", "--numprocesses=1"], 0), ([], 5)]
)
def test_a_share_may_have_none_of_the_tests_asked_for(options, status, tmp_path):
    """As half of the twelfths have no test that is to be alone; where nothing divides the files, no test is an error."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-m",
        "alone",
        f"--override-ini=cache_dir={tmp_path}",
        *options,
        __file__,
    ]
    run = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)
    assert run.returncode == status, run.stdout + run.stderr

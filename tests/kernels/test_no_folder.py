"""Kernels where nothing can be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import placelab

CALL = """
import sys, tempfile, time
import placelab as pl
from placelab.base.progress import patient
from placelab.kernels import jit
from placelab.kernels.plan import ranks
if "no folder" in sys.argv:
    tempfile._candidate_tempdir_list = lambda: ["/dev/null"]
problem = pl.Problem(pl.generators.fork_join(5), pl.Cluster.uniform(2))
with patient():
    print(pl.upward_rank(problem).sum(), pl.downward_rank(problem).sum())
print(ranks.upward.compiled is not None, jit._temporary_name())
"""


@pytest.fixture
def run(tmp_path):
    """``run(*arguments, **environment)``: CALL where not even root can write package and home: files stand for folders."""
    quick = shutil.ignore_patterns("__pycache__", "static")
    shutil.copytree(Path(placelab.__file__).parent, tmp_path / "placelab", ignore=quick)
    for folder in (tmp_path / "placelab" / "kernels", *(tmp_path / "placelab" / "kernels").glob("*/")):
        (folder / "__pycache__").touch()
    nowhere = {"PYTHONDONTWRITEBYTECODE": "1", "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null", "PLACELAB_JIT": "1"}

    def process(*arguments, **changed):
        command = [sys.executable, "-c", CALL, *arguments]
        environment = {**os.environ, **nowhere, **changed}
        environment["PYTHONPATH"] = str(tmp_path)
        ended = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        return ended.stdout.splitlines()[1], ended.stderr.splitlines()

    return process


@pytest.mark.slow
@pytest.mark.parametrize("cache", ["", "/dev/null/cache"])
def test_kernels_are_compiled_where_nothing_can_be_written(run, cache):
    """In a folder of this process alone, which is removed at its end; the log says so once."""
    out, log = run(NUMBA_CACHE_DIR=cache)
    compiled, folder = out.split()
    assert compiled == "True" and not Path(folder).exists()
    assert len(log) == 1 and "anew for this process" in log[0]


@pytest.mark.slow
def test_without_any_folder_the_plain_path_serves(run):
    """Not even one for temporary files; the log says so once."""
    out, log = run("no folder")
    assert out == "False None"
    assert len(log) == 1 and "plain Python" in log[0]

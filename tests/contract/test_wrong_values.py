"""Functions, files of studies and the command line answer a wrong value with one clear sentence."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import placelab as pl
from placelab.app.cli import main

PROBLEM = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
PLACEMENT = pl.place(PROBLEM, "heft")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: pl.compare(PROBLEM, ["heft"], ["fifo"], seeds=0), "seeds is 0"),
        (lambda: pl.compare(PROBLEM, ["heft"], ["fifo"], seeds=[]), "seeds is"),
        (lambda: pl.compare(PROBLEM, ["heft"], ["fifo"], seeds=10**20), "seeds is 1000"),
        (lambda: pl.study(PROBLEM, "heft", seeds=0), "seeds is 0"),
        (lambda: pl.makespans(PROBLEM, [[0, 1], [0]]), "several lengths"),
        (lambda: pl.makespans(PROBLEM, [PLACEMENT.device], sequences=[[0, 1], [0]]), "several lengths"),
        (lambda: pl.study(PROBLEM, "heft", seeds=[2**63]), "up to"),
        (lambda: pl.study(PROBLEM, []), "no partitioner"),
        (lambda: pl.grid(PROBLEM.graph, 2, bandwidth="x"), "bandwidth is 'x'; expected a number"),
        (lambda: pl.grid(PROBLEM.graph, 2, speed={"fast": None}), "speed is None; expected a number"),
        (lambda: pl.grid(PROBLEM.graph, [[2]]), r"number of devices is \[2\]"),
        (lambda: pl.Cluster.uniform(10**11), "number of devices is 1000"),
        (lambda: pl.Cluster([1.0] * 10_001), "number of devices is 10001"),
        (lambda: pl.Cluster.from_hosts({"a": 10**20}), "devices of host 'a' is 1000"),
        (lambda: pl.clusters.parameter_server(10**11), "number of workers is 1000"),
        (lambda: pl.clusters.data_parallel(10**11), "number of workers is 1000"),
        (lambda: pl.clusters.replicated(PROBLEM.cluster, 10**11), "number of replicas is 1000"),
        (lambda: pl.place(PROBLEM, "heft", prepare=[2]), "the step 2"),
        (lambda: pl.export.placement(PLACEMENT, "p.csv"), r"p\.csv cannot hold"),
        (lambda: pl.sensitivity(PROBLEM, [("heft", None)], "fifo"), "beside a list of pairs"),
        (lambda: pl.sensitivity(PROBLEM, "heft", partitioner_options={"colour": 1}), "no option 'colour'"),
        (lambda: pl.sensitivity(PROBLEM, "heft", partitioner_options={"insertion": 3}), "insertion is 3"),
        (lambda: pl.sensitivity(PROBLEM, "heft", "fifo", scheduler_options={"x": 3}), "no option 'x'"),
    ],
)
def test_a_wrong_value_is_named(call, says):
    """Before any work is done, and not in a row of each value."""
    with pytest.raises(pl.PlacelabError, match=says):
        call()


def test_an_impossible_port_is_named_at_once():
    """No other port is tried."""
    for port in ("0", "-1", "65536", "99999999"):
        with pytest.raises(SystemExit, match=f"--port is {port}"):
            main(["lab", "--no-browser", "--port", port])


@pytest.mark.parametrize("path", ["/dev/null", "a\0b"])
def test_lessons_go_to_a_folder(path):
    """A file, or a text that is no path, is named."""
    with pytest.raises(SystemExit, match="is not a folder"):
        main(["lessons", path])


def test_a_study_nested_too_deeply_is_refused(tmp_path):
    """3,000 brackets exceed what the parser of TOML can follow."""
    path = tmp_path / "study.toml"
    path.write_text("x = " + "[" * 3000 + "]" * 3000)
    with pytest.raises(SystemExit, match=r"study\.toml has too many brackets"):
        main(["study", str(path)])


def test_the_version_is_told(capsys):
    """In Python and on the command line."""
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["--version"])
    assert pl.__version__ in capsys.readouterr().out


def test_python_runs_the_package_as_the_command():
    """``python -m placelab`` is ``placelab``."""
    done = subprocess.run([sys.executable, "-m", "placelab", "--version"], capture_output=True, text=True, check=True)
    assert pl.__version__ in done.stdout


def test_seeds_of_numpy_are_numbers():
    """One seed, given by numpy."""
    assert len(pl.compare(PROBLEM, ["heft"], ["fifo"], seeds=np.int64(1))) == 1

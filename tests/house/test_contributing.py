"""Each example of CONTRIBUTING.md and of widgets/README.md works when it is followed literally in a copy of the package."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import numpy as np
import pytest

import placelab as pl
from placelab.problem import resource_models

ROOT = Path(__file__).resolve().parents[2]
FRONT_END = (ROOT / "widgets" / "README.md").read_text()
TEXT = (ROOT / "CONTRIBUTING.md").read_text() + FRONT_END
MODULES = ROOT / "widgets" / "node_modules"
SECTIONS = dict(re.findall(r"^## Add (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
FILE = re.compile(r"^`([^`\n]+)`\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PATIENCE = 300  # seconds on a busy machine; a few on an idle one


def follow(section: str, root: Path) -> list[str]:
    """Write the section's new files and apply its diffs below `root`; returns their paths."""
    steps = FILE.findall(section)
    for path, language, text in steps:
        target = root / path
        if language == "diff":
            target.write_text(patched(target.read_text(), text, path))
        else:
            assert not target.exists(), f"{path} is no new file; show the change as a diff"
            target.parent.mkdir(exist_ok=True)
            target.write_text(text)
    return [path for path, _, _ in steps]


def patched(text: str, diff: str, path: str) -> str:
    """Apply a diff to a text; the old lines of each hunk, which ``@@`` ends, must occur once."""
    for hunk in re.split(r"^@@\n", diff, flags=re.MULTILINE):
        lines = [line if line.strip() else " \n" for line in hunk.splitlines(keepends=True)]
        assert {line[0] for line in lines} <= set(" +-"), (
            f"{path}: a line of the diff begins with none of ' ', '+', '-'"
        )
        old, new = ("".join(line[1:] for line in lines if line[0] in kind) for kind in (" -", " +"))
        places = [found.start() for found in re.finditer(f"^(?={re.escape(old)})", text, re.MULTILINE)]
        assert len(places) == 1, f"{path} must have these lines once:\n{old}"
        text = text[: places[0]] + new + text[places[0] + len(old) :]
    return text


def copy(to: Path) -> None:
    """Copy what the examples change: package, datasets, tests and front end, without caches and what npm has installed."""
    for folder in ("placelab", "datasets", "tests", "widgets"):
        copytree(ROOT / folder, to / folder, ignore=ignore_patterns("__pycache__", "artifacts", "node_modules"))
    (to / "pyproject.toml").write_text((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize(
    "title", [title if title == "a partitioner" else pytest.param(title, marks=pytest.mark.slow) for title in SECTIONS]
)
def test_an_example_works_as_it_is_written(title, tmp_path):
    """Its files and changes fit the code, its commands succeed, and its code passes ruff."""
    copy(tmp_path)
    if title == "a view":
        if not MODULES.is_dir():
            pytest.skip("npm has not installed what the front end is built with; make frontend does")
        (tmp_path / "widgets" / "node_modules").symlink_to(MODULES)
    changed = follow(SECTIONS[title], tmp_path)
    commands = "".join(COMMANDS.findall(SECTIONS[title]))
    assert changed and commands
    python = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": os.pathsep.join([python, os.environ["PATH"]]),
        "PYTHONPATH": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PLACELAB_JIT": "0",
    }
    run = subprocess.run(
        ["bash", "-euc", commands], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert run.returncode == 0, (run.stdout + run.stderr)[-2000:]
    ours = [path for path in changed if path.endswith(".py")]
    for command in (["check"], ["format", "--check"]):
        run = subprocess.run(["ruff", *command, *ours], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr


def added(section: str, path: str) -> str:
    """The lines that a section's diff adds to a file, or its new file."""
    (text,) = (text for other, _, text in FILE.findall(SECTIONS[section]) if other == path)
    return "".join(line[1:] for line in text.splitlines(keepends=True) if line[0] == "+") or text


@pytest.mark.parametrize("jit", ["check", "0"])
def test_examples_serve_calls_of_many_runs(jit, monkeypatch):
    """Partitioner, scheduler, transfer model and dataset in `makespans`, `what_if` and `sensitivity`, compiled and plain."""
    monkeypatch.setenv("PLACELAB_JIT", jit)
    exec(added("a partitioner", "placelab/strategies/partitioning/least_loaded.py"), {"__name__": "least_loaded"})
    exec(added("a scheduler", "placelab/strategies/scheduling/shortest.py"), {"__name__": "shortest"})
    queues, _, row = added("a transfer model", "placelab/problem/resource_models.py").partition(
        "        TransferModel("
    )
    exec(queues, names := dict(vars(resource_models)))
    monkeypatch.setitem(resource_models.TRANSFER_MODELS, "bus", eval(f"(TransferModel({row})", names)[0])
    exec(added("a dataset", "datasets/graham.py"), dataset := {"__name__": "graham"})
    names = [f"T{i}" for i in range(1, 10)]
    graph = pl.OpGraph.from_arrays(
        names, dataset["SECONDS"], [(u - 1, v - 1) for u, v in dataset["EDGES"]], edge_bytes=[1.0] * 5
    )
    slow, fast = (pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=rate), transfers="bus") for rate in (0.5, 2.0))
    schedule, other = (pl.solve(problem, "least-loaded", "shortest") for problem in (slow, fast))
    devices = [schedule.device, np.arange(9) % 3, schedule.device]
    alone = [pl.simulate(slow, pl.Placement(slow, device), "fifo").makespan for device in devices]
    assert pl.makespans(slow, devices).tolist() == alone
    assert len(pl.what_if(schedule)) > 9 and (pl.what_if(schedule, factor=1.0)["saved"] == 0).all()
    found = pl.sensitivity(slow, "least-loaded", "shortest", values=[0.5, 0.5, 2.0])["makespan"].tolist()
    assert found == [schedule.makespan, schedule.makespan, other.makespan]


def test_every_kind_of_extension_has_its_example():
    """There are six sections, in the order of the README's last paragraph, and one for the front end."""
    assert list(SECTIONS) == [
        "a partitioner",
        "a scheduler",
        "a format",
        "a panel to the explorer",
        "a transfer model",
        "a dataset",
        "a view",
    ]


def test_the_map_of_the_front_end_names_its_folders():
    """Each folder of views is in the table, with the Python file of its traits, and is built."""
    rows = re.findall(r"^\| (`.*?/`) \|[^|]*\|([^|]*)\|$", FRONT_END, re.MULTILINE)
    folders = [name for cell, _ in rows for name in re.findall(r"`(\w+)/`", cell)]
    views = {path.parent.name for path in ROOT.glob("widgets/*/index.ts*")}
    assert set(folders) == {*views, "shared", "kernels"}, "each folder has a row in the table of widgets/README.md"
    for _, traits in rows:
        assert all(
            (ROOT / "placelab" / "app" / "widgets" / name).is_file() for name in re.findall(r"`(\w+\.py)`", traits)
        )


def test_a_change_that_no_longer_fits_is_found():
    """A hunk whose old lines are missing or occur twice is an error."""
    assert patched("a\nb\n\nc\n", " a\n-b\n+d\n@@\n\n+e\n c\n", "x") == "a\nd\n\ne\nc\n"
    for text in ("a\n", "b\nb\n"):
        with pytest.raises(AssertionError, match="x must have these lines once"):
            patched(text, "-b\n", "x")

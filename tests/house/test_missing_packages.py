"""A package that is missing costs only what needs it, which says so in one sentence."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import placelab as pl
from placelab.base.interrupts import EXTRAS
from placelab.schedule.catalogue import transforms

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MINIMAL = {"numpy", "scipy", "pandas", "networkx", "ipywidgets", "anywidget"}  # with what these bring

# Hides the packages of `sys.argv[1]`, then evaluates each line of the standard input: prints its error, or nothing.
SCRIPT = """
import sys
absent = sys.argv[1].split()
sys.modules.update(dict.fromkeys(absent))
import placelab as pl
from placelab.schedule.catalogue import transforms
graph = pl.generators.series_parallel(8, seed=1, ccr=0.2)
problem = pl.Problem(graph, pl.Cluster.uniform(2, latency=0.0, memory=1e12), memory="reserved")
schedule = pl.solve(problem, "heft")
star = pl.OpGraph.from_arrays(["u", "a", "b"], [1.0] * 3, [(0, 1), (0, 2)], edge_bytes=1.0)
fork = pl.Problem(star, pl.Cluster([1.0] * 3))

def command(*words):
    from placelab.app.cli import main
    main(words)

def grey():
    explorer = pl.explore(problem)
    sent, menu = explorer.get_state(), explorer.pickers.partitioner.model_id
    shown = sent[f"{menu}.missing"], "min-cut" in sent[f"{menu}.labels"]
    explorer.close()
    raise SystemExit(shown)

for line in sys.stdin:
    try:
        eval(line)
    except (pl.PlacelabError, SystemExit) as error:
        print(line.strip(), "|", error)
"""
CATALOGUE = """\
[pl.place(problem, name) for name, f in pl.partitioners().items() if not {*f.packages} & {*absent}]
[pl.solve(problem, "heft", name) for name, f in pl.schedulers().items() if not f.needs]
[pl.place(problem, "heft", prepare=name) for name, f in transforms().items() if not {*f.packages} & {*absent}]
pl.testing.check_partitioner("heft")
""".splitlines()
COMMON = ["pl.bounds(problem)", "pl.validate(schedule)", "pl.solve(problem, 'etf')", "pl.makespans(problem, [[0] * 8])"]
NEEDING = {  # what each package is for
    "anywidget": ["pl.explore(problem)"],
    "bokeh": ["pl.plots.memory(schedule)"],
    "cvxpy": [f"pl.place(problem, {name!r})" for name in ("sct", "m-sct", "ilp")] + ["pl.bounds(fork, lp=True)"],
    "distributed": ["pl.study([problem], 'heft', 'fifo', client='tcp://127.0.0.1:1')"],
    "google.protobuf": ["pl.load('nothing.pb')"],
    "highspy": ["pl.place(problem, 'ilp')"],
    "ipywidgets": ["pl.explore(problem)", "pl.study_view([problem])"],
    "jupyterlab": ["command('lab', '--no-browser')"],
    "networkx": ["problem.graph.to_networkx()"],
    "numba": [],  # kernels run as plain Python
    "onnx": ["pl.load('nothing.onnx')"],
    "ortools": ["pl.place(problem, 'cp-sat')"],
    "pandas": [f"pl.place(problem, {name!r})" for name in ("cp-sat", "portfolio", "cem", "policy-gradient")]
    + ["pl.compare(problem)", "pl.critical_path(schedule)", "pl.what_if(schedule)", "pl.idle_reasons(schedule)"],
    "pyarrow": ["pl.study([problem], 'heft', 'fifo', path='study', processes=0)"],
    "pymetis": ["pl.place(problem, 'min-cut')"],
    "scipy": [f"pl.place(problem, {name!r})" for name in ("sct", "m-sct", "ilp", "min-cut")]
    + [f"pl.place(problem, 'heft', prepare={name!r})" for name in ("colocate", "coplace")],
    "torch": ["__import__('placelab.formats.torch.module').formats.torch.module.from_module(3)"],
    "yaml": ["__import__('placelab.formats.task_graphs.pegasus').formats.task_graphs.pegasus.yaml_of('a: 1')"],
    "voila": ["command('explore', 'topcuoglu', '--no-browser')"],
}

# Those of computing, of drawing, of reading files, and what is no package of its own name.
QUICK = {"bokeh", "cvxpy", "google.protobuf", "numba", "onnx", "pandas", "scipy", "torch"}


def refused(absent: str, lines: list[str], folder: Path) -> list[str]:
    """The lines that raise an error in a process without these packages, each with what it says."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, absent],
        input="\n".join(lines),
        env=os.environ | {"PLACELAB_JIT": "0", "PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout.splitlines()


def remedy(package: str) -> str:
    """What an error says of a missing package."""
    title = "protobuf" if package == "google.protobuf" else package
    return f"{title}, which is not installed: run pip install " + (
        f"'placelab[{EXTRAS[package]}]'" if package in EXTRAS else title
    )


@pytest.mark.parametrize(
    "package", [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in NEEDING]
)
def test_a_missing_package_is_named_with_the_remedy(package, tmp_path):
    """What needs it says in one sentence what to install, and everything else works."""
    for name in ("nothing.pb", "nothing.onnx"):
        (tmp_path / name).write_bytes(b"\x08\x01" * 20)
    said = refused(package, NEEDING[package] + ([] if package == "pandas" else COMMON), tmp_path)
    assert [line.partition(" | ")[0] for line in said] == NEEDING[package]
    assert all(line.endswith(remedy(package)) for line in said), said


# Imports every module, then solves and writes a page, where neither numba is nor a thread can start.
BARE = """
import importlib, pkgutil, sys, threading
sys.modules.update(numba=None, llvmlite=None)
def start(thread):
    raise RuntimeError("can't start new thread")
threading.Thread.start = start
import placelab as pl
for found in pkgutil.walk_packages(pl.__path__, "placelab."):
    if not found.name.startswith("placelab.app.cli.page"):
        importlib.import_module(found.name)
schedule = pl.solve(pl.datasets.problem("topcuoglu"), "heft")
print(schedule.makespan, "cannot recompute" in pl.export.html(schedule, "page.html", live=True).read_text())
"""


@pytest.mark.slow
def test_no_module_needs_numba_or_a_thread(tmp_path):
    """Every module is imported without numba; a problem is solved and a page written where, as in Pyodide, no thread starts."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PLACELAB_JIT": "1"}
    ran = subprocess.run(
        [sys.executable, "-c", BARE], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert ran.stdout == "80.0 False\n", ran.stderr[-2000:]


def test_the_recipe_for_jupyterlite_needs_what_it_installs(tmp_path):
    """Its last lines run beside the packages that it names and numpy, which Pyodide has, without numba."""
    block = (ROOT / "docs" / "install.md").read_text(encoding="utf-8").split("## JupyterLite")[1].split("```")[1]
    given = set(re.findall(r'"([a-z]+)"', block.split("placelab-")[0]))
    lines = block.partition("import placelab")
    assert given | {"numpy"} == MINIMAL
    hidden = f"import sys; sys.modules.update(dict.fromkeys({sorted(set(NEEDING) - MINIMAL | {'numba'})}))\n"
    program = hidden + "".join(lines[1:])
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    assert 'class="live"' in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_without_all_but_a_minimum_the_catalogue_runs(tmp_path):
    """Strategies that name no missing package run, and those that do say so."""
    absent = " ".join(package for package in NEEDING if package not in MINIMAL)
    assert refused(absent, CATALOGUE, tmp_path) == []


@pytest.mark.slow
def test_menus_show_what_is_missing_in_grey(tmp_path):
    """The page gets the strategies that lack a package, each with the sentence; they stay in the menu."""
    said = refused("pymetis", ["grey()"], tmp_path)
    assert said == [f"grey() | ({{'min-cut': \"min-cut needs {remedy('pymetis')}\"}}, True)"]


def test_extras_are_those_of_the_project():
    """The extra that an error names brings the package, and no dependency of placelab itself is in the list."""
    of = {
        Requirement(line).name: extra
        for extra in set(EXTRAS.values())
        for line in PROJECT["optional-dependencies"][extra]
    }
    assert {package: of.get(package, EXTRAS[package]) for package in EXTRAS} == EXTRAS
    assert not {Requirement(line).name for line in PROJECT["dependencies"]} & EXTRAS.keys()


@pytest.mark.parametrize("catalogue", [pl.partitioners(), pl.schedulers(), transforms()])
def test_strategies_name_the_packages_that_they_need(catalogue):
    """The names are of packages that may be missing."""
    assert {package for function in catalogue.values() for package in function.packages} <= NEEDING.keys()

"""A file of placelab imports only what stands above it, and importing placelab stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import placelab

PACKAGE = Path(placelab.__file__).parent

# From the bottom up: a file may import what an earlier line names, its own line from left to right, and its own folder.
LAYERS = """
errors units seeds progress
graph
memory
cluster clusters
problem
schedule
kernels
ranks costs importance room memory_plan
planned list_scheduler earliest_finish append_plan
strategies
schedulers
simulate validate
solvers
bounds ratios
transforms
partitioners
solve
explain metrics compare
formats
generators datasets loading
sweep
faults
testing
plots
widgets
export
explorer
cli nodelay
""".split()
# Users look for OpGraph.from_networkx, to_networkx and save, for Placement.load and save, and for costs.Profile.load lower down
# than where the work is done.
DOORS = {("graph", "formats"), ("schedule", "formats"), ("costs", "formats")}
PICTURES = {"plots", "widgets", "explorer"}
JUPYTER = {"IPython", "anywidget", "bokeh", "ipywidgets", "jupyter_bokeh", "jupyter_server", "jupyterlab", "traitlets"}
HEAVY = {
    "anywidget",
    "bokeh",
    "cvxpy",
    "google",
    "ipywidgets",
    "jupyterlab",
    "numba",
    "onnx",
    "ortools",
    "pandas",
    "pymetis",
    "tensorflow",
    "torch",
}
IMPORT_SECONDS = 1.0

FILES = sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def relative(path: Path) -> str:
    """Path of a file inside the package, as a test's name."""
    return str(path.relative_to(PACKAGE))


def layer(path: Path) -> str:
    """Name of the file or folder of placelab that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[tuple[str, int]]:
    """Dotted name and line of everything that a file imports, wherever in it, except for type checking alone."""
    tree = ast.parse(path.read_text())
    package = ["placelab", *path.relative_to(PACKAGE).parts[:-1]]
    for node in runtime_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package[: len(package) + 1 - node.level] if node.level else []
            origin = ".".join([*parts, *(node.module or "").split(".")]).strip(".")
            # `from placelab import graph` names a file, `from placelab.graph import OpGraph` does not.
            names = [f".{alias.name}" for alias in node.names] if origin == "placelab" else [""]
            yield from ((origin + name, node.lineno) for name in names)


def runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below, without the bodies of ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from runtime_nodes(child)


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_only_from_layers_below(path):
    """No import, not even one inside a function, leads upwards or sideways to a later name."""
    here = layer(path)
    assert here in LAYERS, f"{here} has no place in LAYERS yet"
    for name, line in imports(path):
        origin, _, rest = name.partition(".")
        if origin != "placelab":
            continue
        there = rest.partition(".")[0]
        assert there in LAYERS, f"line {line} imports {name}, which is no file or folder of placelab"
        below = LAYERS.index(there) <= LAYERS.index(here) or (here, there) in DOORS
        assert below, f"line {line} imports {name}, which stands above {here}"


@pytest.mark.parametrize("path", [path for path in FILES if layer(path) not in PICTURES | {"cli"}], ids=relative)
def test_only_views_know_jupyter(path):
    """Everything that computes works without a notebook; Jupyter and Bokeh are for the files that draw or start it."""
    known = {name.partition(".")[0] for name, _ in imports(path)}
    assert not known & JUPYTER


def test_import_is_light():
    """``import placelab`` takes under a second of processor time and loads nothing that only some users need."""
    code = (
        "import sys, time; begun = time.process_time(); import placelab; "
        "print(time.process_time() - begun, *{name.partition('.')[0] for name in sys.modules})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, *loaded = run.stdout.split()
    assert not HEAVY & set(loaded)
    assert float(seconds) < IMPORT_SECONDS

"""A room imports only from rooms above it, no imports form a circle, and importing placelab stays light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import placelab

PACKAGE = Path(placelab.__file__).parent

ROOT = PACKAGE.parent
TABLE = (ROOT / "README.md").read_text().partition("\n## Where things are\n")[2].partition("\n## ")[0]
ROOMS = re.findall(r"^\| `(\w+)/`", TABLE, re.MULTILINE)  # from the top down
VIEWS = {"pictures", "app"}
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
# What takes long to import, and may stay broken when that is interrupted.
WHOLE = {"bokeh", "cvxpy", "distributed", "networkx", "numba", "onnx", "ortools", "pandas", "pyarrow", "scipy"}
IMPORTED = "import sys, placelab; print(*sys.modules)"
MOST_MODULES = 700  # 590 today
MOST_ROOMS = 16
MOST_FLOORS = 10
MANY_LINES = 500

FILES = sorted(PACKAGE.rglob("*.py"))


def dotted(path: Path) -> str:
    """Name of the module in a file."""
    return ".".join(["placelab", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")


MODULES = {dotted(path): path for path in FILES}


def relative(path: Path) -> str:
    """Path of a file inside the package, for a test's name."""
    return str(path.relative_to(PACKAGE))


def room(name: str) -> str:
    """The room, or the file directly in placelab, that a module belongs to; "" for the package itself."""
    return name.partition(".")[2].partition(".")[0]


@cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """Dotted name and line of all imports of a file, also inside functions and for type checking only."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[tuple[str, int]]:
    return _imports_of(ast.parse(path.read_text()))


def _imports_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno} has a relative import; write the whole name"
            for alias in node.names:  # `from placelab.problem import graph_json` names a file
                full = f"{node.module}.{alias.name}"
                yield (full if full in MODULES else str(node.module)), node.lineno


@pytest.mark.parametrize(
    "path",
    [path for path in FILES if path.parent != PACKAGE or path.stem not in ("__init__", "__main__")],
    ids=relative,
)
def test_imports_only_from_rooms_above(path):
    """No import, also inside a function, leads to a later room."""
    here = room(dotted(path))
    assert here in ROOMS, f"{here} has no place in ROOMS yet"
    for name, line in imports(path):
        if name.partition(".")[0] == "placelab":
            there = room(name)
            assert there in ROOMS, f"line {line} imports {name}, which is no room of placelab"
            assert ROOMS.index(there) <= ROOMS.index(here), f"line {line} imports {name}, which comes after {here}"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_an_interrupt_ends_no_heavy_import(path):
    """Where a function imports what is heavy it has called `need`."""
    if path.stem == "shape_inference":  # runs in a process of its own
        return
    for function in ast.walk(ast.parse(path.read_text())):
        if isinstance(function, ast.FunctionDef):
            called = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            calls = " ".join(ast.unparse(node) for node in called if ast.unparse(node.func) == "need")
            for name, line in _imports_of(function):
                top = name.partition(".")[0]
                assert top not in WHOLE or f"'{top}" in calls, f"line {line} imports {name} without need({name!r})"


def test_no_files_import_each_other_in_a_circle():
    """There is no circle inside a room, nor through imports in functions."""
    needs = {name: {there for there, _ in imports(path) if there in MODULES} for name, path in MODULES.items()}
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_few_rooms_stand_on_each_other():
    """The longest chain of rooms, each of which imports from the next, is short."""
    below = {here: set() for here in ROOMS}
    for name, path in MODULES.items():
        below.setdefault(room(name), set()).update(room(there) for there, _ in imports(path) if there in MODULES)
    floor: dict[str, int] = {}
    for here in ROOMS:
        floor[here] = 1 + max((floor[there] for there in below[here] - {here, ""}), default=0)
    assert max(floor.values()) <= MOST_FLOORS


def test_no_function_hides_a_module():
    """``placelab.a.b`` is the module in ``placelab/a/b.py``: no public function of a package has the name of a module."""
    hidden = []
    for name in MODULES:
        import_module(name)
        package, _, own = name.rpartition(".")
        if package and not isinstance(getattr(sys.modules[package], own), ModuleType):
            hidden.append(name)
    assert not hidden
    public = {name for name in placelab.__all__ if not isinstance(getattr(placelab, name), ModuleType)}
    assert not public & {name.rpartition(".")[2] for name in MODULES} - {
        "critical_path",  # the name of a partitioner, too
        "plan",  # the folder of kernels that plan
    }


def test_the_table_lists_the_rooms():
    """Every room is in README's table, there are few, and no file but the package's own is outside them."""
    found = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert found == set(ROOMS) and len(ROOMS) <= MOST_ROOMS
    assert sorted(path.name for path in PACKAGE.glob("*.py")) == ["__init__.py", "__main__.py"]


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_a_long_file_has_one_idea(path):
    """Length alone is no fault; a file of more than 500 lines is named in a warning, so that somebody looks for a cut."""
    lines = len(path.read_text().splitlines())
    if lines > MANY_LINES:
        warnings.warn(f"{relative(path)} has {lines} lines; is there a second idea in it?", stacklevel=1)


@pytest.mark.parametrize("path", [path for path in FILES if room(dotted(path)) not in VIEWS], ids=relative)
def test_only_views_know_jupyter(path):
    """All computation works without a notebook; only files that draw or start Jupyter and Bokeh import them."""
    known = {name.partition(".")[0] for name, _ in imports(path)}
    assert not known & JUPYTER


def test_import_is_light():
    """``import placelab`` loads no optional or heavy library, and few modules in all: about half a second of work."""
    run = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    modules = run.stdout.split()
    assert not HEAVY & {name.partition(".")[0] for name in modules}
    assert len(modules) < MOST_MODULES

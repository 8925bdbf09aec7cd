"""A room imports only from rooms above it, no imports form a circle, and importing placelab stays light."""

from __future__ import annotations

import ast
import pydoc
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
from placelab.schedule import catalogue

PACKAGE = Path(placelab.__file__).parent

ROOT = PACKAGE.parent
TABLE = (ROOT / "CONTRIBUTING.md").read_text().partition("\n## Where things are\n")[2].partition("\n## ")[0]
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
    "numpy",
    "onnx",
    "ortools",
    "pandas",
    "pymetis",
    "tensorflow",
    "torch",
}
# What takes long to import, and may stay broken when that is interrupted.
WHOLE = {"bokeh", "cvxpy", "distributed", "networkx", "numba", "onnx", "ortools", "pandas", "pyarrow", "scipy"}
LOADED = "print(*sys.modules)"
MOST_OWN = 10  # modules of placelab that `import placelab` runs; 6 today
MOST_MODULES = 700  # that a look into a catalogue runs, numpy's among them; 538 today
MOST_ROOMS = 16
MOST_FLOORS = 10
MANY_LINES = 500
RAW_THREADS = {
    "base/threads.py",
    "base/interrupts.py",
    "kernels/jit.py",
}  # files that start a thread without `threads.beside`

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


def files_of(here: str) -> list[Path]:
    """The files of a room; a test per room, not per file, is a second instead of ten."""
    return [path for path in FILES if room(dotted(path)) == here]


@cache
def tree(path: Path) -> ast.Module:
    """What a file says."""
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> tuple[tuple[str, int], ...]:
    """Dotted name and line of all imports of a file, also inside functions and for type checking only."""
    return tuple(_imports_of(tree(path)))


def _imports_of(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"line {node.lineno} has a relative import; write the whole name"
            for alias in node.names:  # `from placelab.problem import graph_json` names a file
                full = f"{node.module}.{alias.name}"
                yield (full if full in MODULES else str(node.module)), node.lineno


@pytest.mark.parametrize("here", ROOMS)
def test_imports_only_from_rooms_above(here):
    """No import, also inside a function, leads to a later room."""
    for path in files_of(here):
        for name, line in imports(path):
            if name.partition(".")[0] == "placelab":
                said = f"line {line} of {relative(path)} imports {name}"
                assert room(name) in ROOMS, f"{said}, which is no room of placelab"
                assert ROOMS.index(room(name)) <= ROOMS.index(here), f"{said}, which comes after {here}"


@pytest.mark.parametrize("here", [*ROOMS, ""])
def test_an_interrupt_ends_no_heavy_import(here):
    """Where a function imports what is heavy it has called `need`."""
    for path in files_of(here):
        if path.stem == "shape_inference":  # runs in a process of its own
            continue
        for function in ast.walk(tree(path)):
            if isinstance(function, ast.FunctionDef):
                called = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
                calls = " ".join(ast.unparse(node) for node in called if ast.unparse(node.func) == "need")
                for name, line in _imports_of(function):
                    top = name.partition(".")[0]
                    said = f"line {line} of {relative(path)} imports {name} without need({name!r})"
                    assert top not in WHOLE or f"'{top}" in calls, said


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
    """Every room is in CONTRIBUTING's table, there are few, and no file but the package's own is outside them."""
    found = {path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.rglob("*.py"))}
    assert found == set(ROOMS) and len(ROOMS) <= MOST_ROOMS
    assert sorted(path.name for path in PACKAGE.glob("*.py")) == ["__init__.py", "__main__.py"]


def test_a_long_file_has_one_idea():
    """Length alone is no fault; a file of more than 500 lines is named in a warning, so that somebody looks for a cut."""
    for path in FILES:
        lines = len(path.read_text().splitlines())
        if lines > MANY_LINES:
            warnings.warn(f"{relative(path)} has {lines} lines; is there a second idea in it?", stacklevel=1)


@pytest.mark.parametrize("here", ROOMS)
def test_a_line_assigns_one_thing(here):
    """`a, b = x, y` is two lines, unless `y` is about the old `a`; constants in capitals that number kinds may stand in one."""
    for path in files_of(here):
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
                (left, *_), right = node.targets, node.value
                starred = any(isinstance(one, ast.Starred) for one in (*ast.walk(left), *right.elts))
                apart = isinstance(left, ast.Tuple) and not (
                    starred or ast.unparse(left).isupper() or together(left, right)
                )
                assert not apart, f"line {node.lineno} of {relative(path)}: write a line for each assignment"


def together(left: ast.Tuple, right: ast.Tuple) -> bool:
    """Whether a value is about what an assignment before it, were it a line of its own, would have changed."""
    read = [{ast.unparse(part) for part in ast.walk(value) if isinstance(part, ast.expr)} for value in right.elts]
    return any(
        ast.unparse(target.value if isinstance(target, ast.Subscript) else target) in set().union(*read[i + 1 :])
        for i, target in enumerate(left.elts)
    )


def test_threads_are_started_in_one_file():
    """But where that file cannot be imported, for reasons that `beside` has, and where the command line opens a browser."""
    started = {
        path.relative_to(PACKAGE).as_posix()
        for path in FILES
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Thread", "threading.Thread")
    }
    assert {path for path in started if not path.startswith("app/cli/")} == RAW_THREADS


@pytest.mark.parametrize("here", [here for here in ROOMS if here not in VIEWS])
def test_only_views_know_jupyter(here):
    """All computation works without a notebook; only files that draw or start Jupyter and Bokeh import them."""
    for path in files_of(here):
        found = JUPYTER & {name.partition(".")[0] for name, _ in imports(path)}
        assert not found, f"{relative(path)} imports {', '.join(found)}"


def loaded_by(code: str) -> list[str]:
    """Names of the modules that a process has imported when it has run the code."""
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}; {LOADED}"], capture_output=True, text=True, check=True
    )
    return run.stdout.split()


def test_import_is_light():
    """``import placelab`` loads no other library, and hardly a module of its own."""
    modules = loaded_by("import placelab")
    assert not HEAVY & {name.partition(".")[0] for name in modules}
    assert sum(name.partition(".")[0] == "placelab" for name in modules) <= MOST_OWN


def test_strategies_are_light():
    """A look into a catalogue loads numpy and all strategies, but nothing else that is heavy or optional."""
    modules = loaded_by("import placelab; placelab.partitioners()")
    assert (HEAVY | WHOLE) & {name.partition(".")[0] for name in modules} == {"numpy"}
    assert len(modules) < MOST_MODULES


def test_public_names_are_said_alike_for_people_and_for_types():
    """``__all__``, the table of what is imported when, and what type checkers read agree, name by name."""
    (block,) = (node for node in tree(PACKAGE / "__init__.py").body if isinstance(node, ast.If))
    read = {
        # as the statement does, which imports a module of that name where there is none yet
        alias.asname or alias.name: getattr(__import__(str(node.module), fromlist=[alias.name]), alias.name)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert set(read) == set(placelab.HOMES) == set(placelab.__all__) and len(placelab.__all__) == len(
        set(placelab.__all__)
    )
    assert all(placelab.__getattr__(name) is what for name, what in read.items())


def test_no_module_asks_for_public_names():
    """A module names the module that it needs: public names may be imported in another thread, which would wait for it."""
    for path in FILES:
        for node in ast.walk(tree(path)) if path != PACKAGE / "__init__.py" else ():
            asks = isinstance(node, ast.ImportFrom) and node.module == "placelab"
            assert not asks, f"{relative(path)} imports a name from placelab; write import placelab.… as …"


@pytest.mark.parametrize("first", ["strategies.preparing.fusion", "strategies.scheduling.zb_v", "strategies.placing"])
def test_catalogues_are_in_one_order_whatever_is_imported_first(first):
    """The order in which menus and comparisons list strategies depends on no import of the user's."""
    looked = "print(*c.partitioners(), *c.schedulers(), *c.transforms())"
    code = f"import placelab.{first}; import placelab.schedule.catalogue as c; {looked}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == [*catalogue.partitioners(), *catalogue.schedulers(), *catalogue.transforms()]


def test_a_strategy_of_the_users_comes_after_placelabs_own():
    """It is entered before anybody has looked into the catalogue, and replaces one of placelab's own with a warning."""
    code = """
import warnings
import placelab
def heft(problem):
    return placelab.Placement(problem, [0] * problem.graph.n_ops)
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    own = placelab.partitioner(heft)
    mine = placelab.partitioner(heft, name="mine")
print(len(said), said[0].filename, placelab.partitioners()["heft"] is own, list(placelab.partitioners())[-1])
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1", "<string>", "True", "mine"]


def test_two_threads_that_look_first_see_all():
    """A thread that comes while another one imports the strategies waits until they are entered."""
    code = """
import placelab
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(8) as pool:
    print(*{len(c) for c in pool.map(lambda _: tuple(placelab.partitioners()), range(8))})
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) == len(catalogue.partitioners())


def test_an_interrupted_look_leaves_nothing_half_made():
    """Whoever stops the first look into a catalogue finds all in it at the second one, in the usual order."""
    code = """
import sys, placelab
class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "placelab.strategies.partitioning.heft" and self in sys.meta_path:
            sys.meta_path.remove(self)
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stop())
try:
    placelab.partitioners()
except KeyboardInterrupt:
    print(*placelab.partitioners())
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == list(catalogue.partitioners())


ROLE = re.compile(r":(?:py:)?(?:class|func|meth|mod|attr|data|exc):`~?(placelab\.[\w.]+)`")


def test_what_a_docstring_refers_to_is_there():
    """The site checks references to the API; those to what is behind it become plain code there."""
    missing = [
        f"{relative(path)} refers to {name}: give the name that it has now"
        for path in FILES
        for name in ROLE.findall(path.read_text())
        if not is_there(name)
    ]
    assert not missing, "\n".join(missing)


def is_there(name: str) -> bool:
    """Whether a dotted name can be reached; a field without a default is reached by its class."""
    if pydoc.locate(name) is not None:
        return True
    owner, _, last = name.rpartition(".")
    return last in getattr(pydoc.locate(owner), "__annotations__", {})

"""Grade copies of lessons: whose copy each file is, which of its cells run, and their run in a process of its own.

What is run is a stranger's code, with the rights of who grades: it can read and write that account's files, use the network and
start processes. The limits stop loops and memory leaks by accident; they are no sandbox. A copy that sets out to can report any
points, as its checks run in its own process. Grade as a user without rights, in a container or a virtual machine without network.
"""

from __future__ import annotations

import ast
import dis
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.files import PACKAGE, json_of, read_file, shipped

LARGEST_FILE = 1 << 28  # bytes that a copy may write into one file
MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)  # lines for IPython and the shell, which are not run
CELL = 60  # seconds of a cell outside checks, whose answers have limits of their own
LESSONS = Path("notebooks", "lessons")
EXPECTED = "a notebook"
LARGEST = 64 << 20  # bytes of a copy
CHECKPOINTS = ".ipynb_checkpoints"
UNGRADED = "puzzles.ipynb"  # stands beside the lessons
SILENT = (ast.Assign, ast.FunctionDef, ast.For)  # statements that show nothing, which Otter's doctests would compare


@dataclass(frozen=True)
class Cell:
    """A code cell to run: its kind is ``teaching``, ``student``, ``exercise`` or ``check``."""

    kind: str
    source: str


@dataclass(frozen=True)
class Copy:
    """A file that was handed in; `lesson` is the shipped notebook, or None where it is a copy of none, which `remark` says."""

    student: str
    path: Path
    lesson: Path | None
    remark: str = ""


def lessons() -> list[Path]:
    """The shipped lessons, with solutions, in their order."""
    return sorted(shipped(LESSONS).glob("*.ipynb"))


def copies_in(folder: Path) -> list[Copy]:
    """Each notebook in a folder: of the student whose name the subfolder has, or else the file without the lesson's name."""
    if not folder.is_dir():
        raise FormatError(f"{str(folder)!a} is no folder; expected one with the copies that students have handed in")
    paths = [
        path for path in sorted(folder.rglob("*.ipynb")) if CHECKPOINTS not in path.parts and path.name != UNGRADED
    ]
    if not paths:
        raise FormatError(f"{str(folder)!a} has no notebooks; expected FOLDER/STUDENT/NN_lesson.ipynb")
    return [_copy(folder, path) for path in paths]


def _copy(folder: Path, path: Path) -> Copy:
    inside = path.relative_to(folder).parts
    try:
        cells = cells_of(path)
    except (FormatError, OSError) as error:
        return Copy(_student(inside, None), path, None, str(error))
    number = _number(cells, path.stem)
    lesson = next((lesson for lesson in lessons() if lesson.name.startswith(f"{number:02}_")), None)
    remark = "" if lesson else f"{path.name} is no copy of a lesson; its first cell has no '# Lesson N'"
    return Copy(_student(inside, lesson), path, lesson, remark)


def _student(inside: tuple[str, ...], lesson: Path | None) -> str:
    if len(inside) > 1:
        return inside[0]
    stem = Path(inside[0]).stem
    return (stem.replace(lesson.stem, "") if lesson else stem).strip("_- .") or stem


def _number(cells: list[dict[str, Any]], stem: str) -> int:
    """Number of the lesson, from its title, or else from the name of the file; 0 if neither has it."""
    title = next((_source(cell) for cell in cells if cell["cell_type"] == "markdown"), "")
    found = re.match(r"# Lesson (\d+)\b", title)
    named = (int(lesson.name[:2]) for lesson in lessons() if lesson.stem in stem)
    return int(found[1]) if found else next(named, 0)


def cells_of(path: Path) -> list[dict[str, Any]]:
    """The cells of a notebook file; FormatError if it is none."""
    content = json_of(read_file(path, EXPECTED, LARGEST), path.name, EXPECTED)
    cells = content.get("cells") if isinstance(content, dict) else None
    if not isinstance(cells, list) or not all(_is_cell(cell) for cell in cells):
        raise FormatError(f"{path.name} is no notebook: it has no list of cells")
    return cells


def _is_cell(cell: Any) -> bool:
    return (
        isinstance(cell, dict)
        and isinstance(cell.get("cell_type"), str)
        and isinstance(cell.get("source"), (str, list))
    )


def _source(cell: dict[str, Any]) -> str:
    source = cell["source"]
    return source if isinstance(source, str) else "".join(map(str, source))


def tags(cell: dict[str, Any]) -> list[str]:
    """Tags of a cell."""
    metadata = cell.get("metadata")
    found = metadata.get("tags") if isinstance(metadata, dict) else None
    return found if isinstance(found, list) else []


def exercises(lesson: Path) -> list[str]:
    """What each exercise of a lesson defines, in their order."""
    return [_defined(_source(cell))[0] for cell in cells_of(lesson) if "exercise" in tags(cell)]


def to_run(lesson: Path, copy: Path) -> list[Cell]:
    """The code cells to run for a copy, in their order.

    Text, examples and checks are the shipped lesson's, whatever the copy has in their place; answers are the copy's, and so are
    cells of the student's own, each where it stands. A check brings the examples that it uses. The explorer is left out.
    """
    mine = [cell for cell in cells_of(copy) if cell["cell_type"] == "code"]
    theirs = [cell for cell in cells_of(lesson) if cell["cell_type"] == "code" and "solution" not in tags(cell)]
    match = _matches(theirs, mine)
    known = set(match.values())
    found: list[Cell] = []
    done = 0
    for i, cell in enumerate(theirs):
        if i in match:
            found += _own(mine, range(done, match[i]), known)
            done = max(done, match[i] + 1)
        found += _shipped(cell, mine[match[i]] if i in match else None, theirs[:i])
    return found + list(_own(mine, range(done, len(mine)), known))


def _own(cells: list[dict[str, Any]], numbers: range, known: set[int]) -> Iterator[Cell]:
    """The student's own cells among some."""
    return (Cell("student", _source(cells[n])) for n in numbers if n not in known and "solution" not in tags(cells[n]))


def _shipped(cell: dict[str, Any], copy: dict[str, Any] | None, before: list[dict[str, Any]]) -> list[Cell]:
    """The lesson's cell, or the student's answer to it; a check with the examples that it uses."""
    if "explorer" in tags(cell):
        return []
    if "exercise" in tags(cell):
        return [Cell("exercise", _source(cell))] + ([Cell("student", _source(copy))] if copy else [])
    if "check" in tags(cell):
        return [Cell("check", checked(cell, before))]
    return [Cell("teaching", _source(cell))]


def checked(cell: dict[str, Any], before: list[dict[str, Any]]) -> str:
    """The source of a check behind those of the cells before it that it uses."""
    return f"{brought(cell, before)}\n\n{_source(cell)}".strip()


def brought(cell: dict[str, Any], before: list[dict[str, Any]]) -> str:
    """What a check uses of the examples before it."""
    others = {"check", "exercise", "explorer", "solution"}
    examples = [one for one in before if one["cell_type"] == "code" and not others & set(tags(one))]
    return examples_for(_source(cell), [_source(one) for one in examples])


def _matches(theirs: list[dict[str, Any]], mine: list[dict[str, Any]]) -> dict[int, int]:
    """The number of the copy's cell for each cell of the lesson: by id or, where a program has given new ones, by content."""
    by_id = {cell.get("id"): n for n, cell in enumerate(mine) if isinstance(cell.get("id"), str)}
    by_text = {_source(cell).strip(): n for n, cell in enumerate(mine)}
    found: dict[int, int] = {}
    for i, cell in enumerate(theirs):
        n = by_id.get(cell.get("id"), by_text.get(_source(cell).strip()))
        if n is None and "exercise" in tags(cell):
            names = set(_defined(_source(cell)))
            n = next((n for n, other in enumerate(mine) if names <= set(_defined(_source(other)))), None)
        if n is not None and n not in found.values():
            found[i] = n
    return found


def _defined(source: str) -> list[str]:
    """Names that a cell defines outside functions."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [
        name
        for node in body
        for name in (
            [node.name]
            if isinstance(node, (ast.FunctionDef, ast.ClassDef))
            else [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
        )
    ]


def examples_for(check: str, cells: Iterable[str]) -> str:
    """The cells before a check that define what it uses, and what these use, in their order; they assert and show nothing.

    They run again with the check: an answer may give their names another meaning before.
    """
    bodies = [ast.parse(source).body for source in cells]
    kept: list[list[ast.stmt]] = [[node for node in body if isinstance(node, SILENT)] for body in bodies]
    defined = [set(_kept_names(body)) for body in kept]
    used = _used(ast.parse(check).body)
    needed: set[int] = set()
    while new := {i for i, names in enumerate(defined) if names & used} - needed:
        needed |= new
        used |= {name for i in new for name in _used(kept[i])}
    return "\n".join(ast.unparse(ast.Module(kept[i], [])) for i in sorted(needed))


def _kept_names(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Names that functions and assignments define."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            parts = (part for target in node.targets for part in ast.walk(target))
            yield from (part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store))


def _used(body: list[ast.stmt]) -> set[str]:
    """Names that statements read and that are no function's own."""
    return set(_read(compile(ast.Module(body, []), "cell", "exec")))


def _read(code: CodeType) -> Iterator[str]:
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            yield step.argval
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _read(part)


@dataclass(frozen=True)
class Grade:
    """What a copy's run came to: for each exercise "" where it is right, or why not; `remark` is of the whole copy."""

    copy: Copy
    sentences: tuple[str, ...]
    remark: str = ""

    @property
    def points(self) -> list[int]:
        """1 for a right answer, 0 for others."""
        return [int(not sentence) for sentence in self.sentences]


def graded(copy: Copy, seconds: float, memory: float) -> Grade:
    """Run a copy and collect what its checks say.

    Parameters
    ----------
    copy
        What was handed in.
    seconds
        After these the process and all that it has started are killed; exercises that were checked by then keep their points.
    memory
        Bytes of address space of the process, where the system can limit it (Linux does, Windows does not).
    """
    if copy.lesson is None:
        return Grade(copy, (), copy.remark)
    with TemporaryDirectory(prefix="placelab-grade-") as folder:
        verdicts = Path(folder, "verdicts.jsonl")
        verdicts.touch()
        module = "placelab.app.grading"
        command = [sys.executable, "-m", module, *map(str, (copy.lesson, copy.path.resolve(), verdicts))]
        remark = _run(command, folder, seconds, memory)
        found = _verdicts(verdicts)
    wanted = len(exercises(copy.lesson))
    if len(found) < wanted and not remark:
        remark = "the process ended before all exercises were checked"
    left = [f"not checked: {remark}"] * (wanted - len(found))
    return Grade(copy, tuple([*found, *left][:wanted]), f"{copy.path.name}: {remark}" if remark else "")


def _run(command: list[str], folder: str, seconds: float, memory: float) -> str:
    """Run a command in a folder until it ends or its time is over; why it did not end well, or nothing."""
    own = {"PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)}
    nowhere = subprocess.DEVNULL
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | own,
        stdin=nowhere,
        stdout=nowhere,
        stderr=nowhere,
        start_new_session=True,
        preexec_fn=_limits(memory),
    )
    try:
        status = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return f"stopped after {seconds:g} s"
    finally:
        _kill(process)
    return f"the process ended with status {status}" if status else ""


def _limits(memory: float) -> Callable[[], None] | None:
    """What to call in a new process before it runs anything; None where the system knows no such limits."""
    try:
        import resource
    except ImportError:
        return None

    def limit() -> None:
        for what, most in ((resource.RLIMIT_AS, int(memory)), (resource.RLIMIT_FSIZE, LARGEST_FILE)):
            with suppress(ValueError, OSError):  # a lower limit of the account's own stays
                resource.setrlimit(what, (most, most))

    return limit


def _kill(process: subprocess.Popen) -> None:
    """End a process and those that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _verdicts(path: Path) -> list[str]:
    """The sentences that the process has written, "" for a right answer; a line that was cut off is none."""
    found = []
    for line in path.read_text("utf-8", "replace").splitlines():
        try:
            verdict = json.loads(line)
        except ValueError:
            break
        found.append("" if verdict is None else str(verdict))
    return found


class Late(BaseException):
    """A cell runs for too long."""


def main(lesson: str, copy: str, verdicts: str) -> None:
    """Run a copy; `verdicts` gets a line of JSON per exercise as soon as it is checked: None for right, or a sentence."""
    import placelab.testing as testing

    shipped = {module: dict(vars(module)) for module in (sys.modules[PACKAGE.name], testing)}
    names: dict[str, Any] = {"__name__": "__main__", "display": print, "get_ipython": lambda: None}
    trouble = ""  # of the newest cell of the student's
    with Path(verdicts).open("w", encoding="utf-8") as file:
        for cell in to_run(Path(lesson), Path(copy)):
            if cell.kind == "student":
                trouble = _trouble(cell.source, names)
                continue
            for module, content in shipped.items():
                vars(module).update(content)
            sentence = _trouble(cell.source, names, limited=cell.kind != "check")
            if cell.kind == "check":
                file.write(json.dumps(trouble or sentence or None) + "\n" if sentence else "null\n")
                file.flush()
                trouble = ""


def _trouble(source: str, names: dict[str, Any], limited: bool = True) -> str:
    """Run a cell; what goes wrong, as a sentence."""
    try:
        with _alarm(CELL if limited else 0):
            exec(compile(MAGIC.sub(r"\1pass", source), "cell", "exec"), names)
    except Late:
        return f"a cell takes longer than {CELL} s"
    except AssertionError as error:
        return str(error).partition("\n")[0] or "an assertion of a cell fails"
    except BaseException as error:  # also an exit
        with suppress(Exception):
            return f"a cell fails with {type(error).__name__}: {error}".partition("\n")[0]
        return f"a cell fails with {type(error).__name__}"
    return ""


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    """Raise Late in a cell after some time, where the system has such a signal; else the limit of the process must do."""
    if not seconds or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


if __name__ == "__main__":
    main(*sys.argv[1:])

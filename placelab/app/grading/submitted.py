"""What students have handed in: whose copy of which lesson each file is, and which of its cells to run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from placelab.app.grading.examples import examples_for
from placelab.base.errors import FormatError
from placelab.base.files import json_of, read_file, shipped

LESSONS = Path("notebooks", "lessons")
EXPECTED = "a notebook"
LARGEST = 64 << 20  # bytes of a copy
CHECKPOINTS = ".ipynb_checkpoints"
UNGRADED = "puzzles.ipynb"  # stands beside the lessons


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

"""The lessons: their parts, both copies, and what a student sees before an exercise is filled in."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

import placelab as pl
from placelab.app import cli
from placelab.app.cli.course_commands import LESSONS, students_copy
from placelab.base.files import shipped

NOTEBOOKS = sorted(shipped(LESSONS).glob("*.ipynb"))
EMPTY = re.compile(r"is still empty: fill in its body|is not filled in yet: put your own")


def tags(cell) -> list[str]:
    """Tags of a cell."""
    return cell["metadata"].get("tags", [])


def tagged(path: Path, tag: str) -> list[str]:
    """Sources of the cells with a tag."""
    return [cell["source"] for cell in nbformat.read(path, as_version=4).cells if tag in tags(cell)]


def names_of(node: ast.stmt) -> list[str]:
    """Names that a statement outside functions defines."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name for alias in node.names]
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]


def test_there_are_fifteen_lessons():
    """Numbered without a gap."""
    assert [int(path.name[:2]) for path in NOTEBOOKS] == list(range(1, len(NOTEBOOKS) + 1))
    assert len(NOTEBOOKS) == 15


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_lesson_has_all_its_parts(path):
    """Title and goal, an explorer, exercises with solution and check in this order, three questions, slides."""
    cells = nbformat.read(path, as_version=4).cells
    nbformat.validate(nbformat.read(path, as_version=4))
    assert cells[0]["source"].startswith(f"# Lesson {int(path.name[:2])} · ") and "**Goal.**" in cells[0]["source"]
    assert len(tagged(path, "explorer")) == 1
    parts = [tag for cell in cells for tag in tags(cell) if tag in ("exercise", "solution", "check")]
    assert parts == ["exercise", "solution", "check"] * (len(parts) // 3) and len(parts) >= 9
    assert re.findall(r"^(\d)\. ", cells[-1]["source"], re.MULTILINE) == ["1", "2", "3"]
    assert "## Questions for the class" in cells[-1]["source"]
    assert all("slideshow" in cell["metadata"] for cell in cells if cell["source"].startswith("#"))
    others = {"explorer", "exercise", "solution", "check"}
    teaching = [cell for cell in cells if cell["cell_type"] == "code" and not others & set(tags(cell))]
    assert any("assert" in cell["source"] for cell in teaching)


def test_each_question_for_homework_has_an_answer():
    """The questions on the course's page and the answers for instructors have the same numbers."""
    root = NOTEBOOKS[0].parents[2]
    asked, answered = (
        re.findall(r"^(\d+)\. ", text.partition("## Questions for the class")[0], re.MULTILINE)
        for text in ((root / "docs" / "course.md").read_text(), (NOTEBOOKS[0].parent / "answers.md").read_text())
    )
    assert asked == answered == [str(number) for number in range(1, len(asked) + 1)] and len(asked) > 9


def test_each_question_for_the_class_has_an_answer():
    """A section per lesson with the numbers of its questions."""
    text = (NOTEBOOKS[0].parent / "answers.md").read_text().partition("## Questions for the class")[2]
    sections = re.split(r"^### Lesson (\d+)$", text, flags=re.MULTILINE)[1:]
    assert [int(number) for number in sections[::2]] == list(range(1, len(NOTEBOOKS) + 1))
    for path, answers in zip(NOTEBOOKS, sections[1::2], strict=True):
        questions = nbformat.read(path, as_version=4).cells[-1]["source"]
        asked, answered = (re.findall(r"^(\d)\. ", each, re.MULTILINE) for each in (questions, answers))
        assert asked == answered, path.name


def test_a_lessons_puzzle_is_there():
    """A lesson that names a puzzle is checked with the same name."""
    named = [
        re.findall(r'puzzles\.load\("(.+?)"\)|puzzle="(.+?)"', path.read_text().replace('\\"', '"'))
        for path in NOTEBOOKS
    ]
    assert sum(map(bool, named)) == 6
    for both in filter(None, named):
        (loaded, _), (_, checked) = both
        assert loaded == checked and loaded in pl.puzzles.names()


def test_three_lessons_end_in_a_contest():
    """Each ranks the student's strategy on problems drawn from a seed."""
    assert sum("check_strategy" in "".join(tagged(path, "check")) for path in NOTEBOOKS) == 3


def test_copies_are_written_once(tmp_path, capsys):
    """A student's copy has neither solutions nor results, an instructor's is the lesson; what is there already is kept."""
    for folder, more in (("students", []), ("instructor", ["--instructor"])):
        cli.main(["lessons", str(tmp_path / folder), *more])
        others = ["answers.md", "puzzles.ipynb"] if more else ["puzzles.ipynb"]
        assert sorted(path.name for path in (tmp_path / folder).iterdir()) == [path.name for path in NOTEBOOKS] + others
    for path in NOTEBOOKS:
        assert (tmp_path / "instructor" / path.name).read_text() == path.read_text().replace("(../puzzles", "(puzzles")
        cells = json.loads((tmp_path / "students" / path.name).read_text())["cells"]
        assert not any("solution" in tags(cell) or cell.get("outputs") for cell in cells)
        hidden = [cell["metadata"].get("jupyter", {}).get("source_hidden", False) for cell in cells]
        assert hidden == ["check" in tags(cell) for cell in cells]
        assert all(cell["source"][0].startswith("# Run this cell") for cell in cells if "check" in tags(cell))
        assert len(cells) == len(json.loads(path.read_text())["cells"]) - len(tagged(path, "solution"))
    mine = tmp_path / "students" / NOTEBOOKS[0].name
    mine.write_text("{}")
    cli.main(["lessons", str(tmp_path / "students")])
    assert mine.read_text() == "{}" and "is there already and is kept" in capsys.readouterr().out


@pytest.mark.parametrize("kind", [[], ["--instructor"], ["--nbgrader"], ["--otter"]], ids=str)
def test_links_of_copies_lead_somewhere(tmp_path, kind):
    """Each file that a lesson links to is there, beside the copy or where the lessons stand."""
    cli.main(["lessons", str(tmp_path), *kind])
    linked = 0
    for path in tmp_path.rglob("*.ipynb"):
        cells = json.loads(path.read_text())["cells"]
        texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        files = [file for text in texts for file in re.findall(r"\]\((?!https?:|#)([^)#]+)", text)]
        assert all((path.parent / file).exists() for file in files), (path.name, files)
        linked += len(files)
    assert linked == (0 if {"--nbgrader", "--otter"} & set(kind) else 6)


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=[pytest.mark.slow] * (i % 3 > 0)) for i, path in enumerate(NOTEBOOKS)],
    ids=lambda path: path.stem,
)
def test_an_unfilled_exercise_is_one_sentence(path):
    """A student's copy runs as far as its checks, and each check says in a sentence that its exercise is empty."""
    names: dict = {"__name__": "__main__"}
    for cell in json.loads(students_copy(path.read_text()))["cells"]:
        if cell["cell_type"] != "code" or "explorer" in tags(cell):
            continue
        code = compile("".join(cell["source"]), path.name, "exec")
        with contextlib.redirect_stdout(io.StringIO()):
            if "check" not in tags(cell):
                exec(code, names)
                continue
            assert "print(" in "".join(cell["source"]) or "check_strategy" in "".join(cell["source"])
            with pytest.raises(AssertionError, match=EMPTY) as error:
                exec(code, names)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_check_needs_no_solution_of_another_exercise(path):
    """Solutions may use the ones before them, but no text or check uses a name that only a solution defines."""
    cells = nbformat.read(path, as_version=4).cells
    only_solved: set[str] = set()
    defined: set[str] = set()
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        tree = ast.parse(cell["source"])
        stored = {name for node in tree.body for name in names_of(node)}
        if "solution" in tags(cell):
            only_solved |= stored - defined
        else:
            used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
            assert not used & only_solved - stored
            defined |= stored
            only_solved -= stored


def public_names() -> set[str]:
    """Names of attributes and functions that are placelab's, and nobody else's."""
    classes = (pl.OpGraph, pl.Problem, pl.Cluster, pl.Placement, pl.Schedule, pl.ListScheduler)
    owned = {name for owner in (pl, pl.transforms, pl.costs, pl.faults, *classes) for name in dir(owner)}
    common = {name for other in (str, list, dict, set, np.ndarray, pd.DataFrame, np) for name in dir(other)}
    return {name for name in owned - common if not name.startswith("_")}


def test_a_student_has_read_each_name_that_a_solution_uses():
    """In the text or the code of this lesson before it, or of an earlier one; a student cannot guess names of a library."""
    known = public_names()
    read = ""
    for path in NOTEBOOKS:
        assert not re.search(r"(from|import) placelab\.", path.read_text()), "a lesson needs no private module"
        for cell in nbformat.read(path, as_version=4).cells:
            if "solution" not in tags(cell):
                read += cell["source"] if "check" not in tags(cell) else ""
                continue
            tree = ast.parse(cell["source"])
            used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)} & known
            used |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg} & known
            missing = {name for name in used if not re.search(rf"\b{name}\b", read)}
            assert not missing, (
                f"{path.name} says nothing of {', '.join(sorted(missing))} before {cell['source'][:60]!r}"
            )

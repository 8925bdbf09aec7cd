"""Masters of the lessons for nbgrader and Otter-Grader: what students get of them has neither solutions nor hidden tests."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re

import nbformat
import pytest

from placelab.app import cli
from placelab.app.grading import exercises, lessons
from placelab.app.masters import nbgrader_master, otter_master
from placelab.testing.answers import is_empty

LESSONS = pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
REGION = r"^( *)# ?BEGIN {0}.*?^ *# ?END {0}$"  # of an nbgrader or Otter master, its indentation first


def cells(text):
    """Code cells of a notebook as pairs of metadata and source."""
    content = nbformat.reads(text, as_version=4)
    nbformat.validate(content)
    return [(cell.metadata, cell.source) for cell in content.cells if cell.cell_type == "code"]


def without(region, source, stub):
    """What a grader leaves of a cell: a stub, indented as the region was."""
    pattern = re.compile(REGION.format(region).replace("# ?", "(?:### |# )"), re.MULTILINE | re.DOTALL)
    return pattern.sub(lambda found: "\n".join(found[1] + line for line in stub.splitlines()), source)


def released(path):
    """The cells of a student's copy as nbgrader makes them."""
    for metadata, source in cells(nbgrader_master(path.read_text("utf-8"))):
        if metadata.get("nbgrader", {}).get("solution"):
            source = without("SOLUTION", source, "# YOUR CODE HERE\nraise NotImplementedError()")
        yield metadata, without("HIDDEN TESTS", source, "")


@LESSONS
def test_each_exercise_has_a_graded_check(path):
    """Ids are unique, solutions can be edited, checks are locked and have points, as nbgrader's schema 3 asks."""
    facts = [
        metadata["nbgrader"]
        for metadata, _ in cells(nbgrader_master(path.read_text("utf-8")))
        if "nbgrader" in metadata
    ]
    ids = [each["grade_id"] for each in facts]
    assert len(set(ids)) == len(ids) and all(each["schema_version"] == 3 for each in facts)
    assert [each["grade_id"] for each in facts if each["solution"]] == exercises(path)
    graded = [each for each in facts if each["grade"]]
    assert [each["grade_id"] for each in graded] == [f"check-{name}" for name in exercises(path)]
    assert all(each["locked"] and not each["solution"] and each["points"] == 1 for each in graded)


@LESSONS
def test_a_release_tells_no_answer(path):
    """Of each solution and hidden test the longest line is nowhere in what students get, nor are markers; the rest can run."""
    master = "\n".join(source for _, source in cells(nbgrader_master(path.read_text("utf-8"))))
    left = list(released(path))
    shown = "\n".join(source for _, source in left)
    assert "### " not in shown
    for name in ("SOLUTION", "HIDDEN TESTS"):
        regions = re.findall(rf"### BEGIN {name}\n(.*?)### END {name}", master, re.DOTALL)
        assert len(regions) >= len(exercises(path))
        assert all(max(region.splitlines(), key=len).strip() not in shown for region in regions)
    for metadata, source in left:
        if metadata.get("nbgrader", {}).get("grade"):
            assert source.startswith("pl.testing.check_filled(")
        ast.parse(source)


@pytest.mark.parametrize("number", [1, 2, 5, 13, 14])
def test_the_masters_solutions_pass_and_its_stubs_do_not(number):
    """Cell by cell: the public and the hidden tests on the solution; the public ones on the stub."""
    path = lessons()[number - 1]
    stubs = dict(enumerate(released(path)))
    names: dict = {"__name__": "__main__"}
    for i, (metadata, source) in enumerate(cells(nbgrader_master(path.read_text("utf-8")))):
        if "explorer" in metadata.get("tags", ()):
            continue
        with contextlib.redirect_stdout(io.StringIO()):
            if metadata.get("nbgrader", {}).get("solution") and "def " in source:
                stub = dict(names)
                exec(stubs[i][1], stub)
                assert is_empty(stub[metadata["nbgrader"]["grade_id"]])
            exec(source, names)


def defined_by(tree):
    """Names that a cell defines outside functions and comprehensions."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            yield node.name
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)
        else:
            targets = getattr(node, "targets", [getattr(node, "target", node)])
            yield from (part.id for each in targets for part in ast.walk(each) if isinstance(part, ast.Name))


@LESSONS
def test_no_example_needs_a_hidden_test(path):
    """Names that only a check defines are used by it alone: students' copies lack them, and Otter runs each test by itself."""
    lesson: set[str] = set()
    hidden: set[str] = set()
    for metadata, source in cells(path.read_text("utf-8")):
        tree = ast.parse(source)
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        stored = (
            set()
            if tree.body and isinstance(tree.body[-1], ast.Expr) and len(tree.body) == 1
            else set(defined_by(tree))
        )
        inner = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        inner |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        assert not used & hidden - stored - inner
        if "check" in metadata.get("tags", ()):
            hidden |= stored - lesson
        elif "solution" not in metadata.get("tags", ()):
            lesson |= stored
            hidden -= stored


@LESSONS
def test_otter_finds_question_solution_and_tests(path):
    """Raw cells in the order that otter assign reads; the configuration first; a public and a hidden test each."""
    content = json.loads(otter_master(path.read_text("utf-8"), path.stem))
    nbformat.validate(nbformat.from_dict(content))
    raw = ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "raw"]
    assert raw[0].startswith("# ASSIGNMENT CONFIG\n") and f"name: {path.stem}" in raw[0]
    parts = ["BEGIN QUESTION", "BEGIN SOLUTION", "END SOLUTION", "BEGIN TESTS", "END TESTS", "END QUESTION"]
    assert [text.splitlines()[0][2:] for text in raw[1:]] == parts * len(exercises(path))
    named = [re.search(r"^name: (.+)$", text, re.MULTILINE) for text in raw[1:] if "BEGIN QUESTION" in text]
    assert [found and found[1] for found in named] == exercises(path)
    code = [source for _, source in cells(json.dumps(content))]
    assert [sum(f"hidden: {kind}\n" in source for source in code) for kind in ("true", "false")] == [
        len(exercises(path))
    ] * 2
    for source in code:
        ast.parse(source)
        last = ast.parse(source).body[-1]
        shows = isinstance(last, ast.Expr) and "check_strategy" in ast.unparse(last)
        assert not ("BEGIN TEST CONFIG" in source and shows), "a doctest would compare the table"


def test_masters_are_written_where_the_graders_look(tmp_path, capsys):
    """nbgrader's source/ASSIGNMENT/NOTEBOOK, a folder per lesson for Otter; one kind at a time, and nothing is overwritten."""
    cli.main(["lessons", str(tmp_path / "n"), "--nbgrader"])
    cli.main(["lessons", str(tmp_path / "o"), "--otter"])
    for path in lessons():
        assert (tmp_path / "n" / "source" / path.stem / path.name).exists()
        assert (tmp_path / "o" / path.stem / path.name).exists()
    cli.main(["lessons", str(tmp_path / "o"), "--otter"])
    assert capsys.readouterr().out.count("is there already and is kept") == len(lessons())
    with pytest.raises(SystemExit):
        cli.main(["lessons", str(tmp_path / "o"), "--otter", "--nbgrader"])

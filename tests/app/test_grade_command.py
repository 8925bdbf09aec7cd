"""Copies that students hand in are graded by the shipped checks, each in a process of its own, which ends in time."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from threading import Lock

import pytest
from prepared import Prepared

import placelab as pl
from placelab.app import cli, grading
from placelab.app.cli.course_commands import students_copy
from placelab.app.grading import Copy, copies_in, examples_for, graded, lessons, to_run
from placelab.app.masters import nbgrader_master, otter_master

LESSON = lessons()[0]
RIGHT = {
    "in_eight": "def in_eight():\n    return dict(a=0, b=0, c=1, d=1)",
    "waits_for": """def waits_for(schedule, device, time):
    for row in pl.idle_reasons(schedule).itertuples():
        if row.device == device and row.start <= time <= row.finish:
            return row.name""",
    "stops_paying": "def stops_paying():\n    return 1 / 3",
}
WRONG = {name: f"{name} = lambda *_: 7" for name in RIGHT}


def copy_with(answers, change=lambda cell: None):
    """A student's copy of the first lesson with these answers."""
    content = json.loads(students_copy(LESSON.read_text("utf-8")))
    for cell in content["cells"]:
        if "exercise" in cell["metadata"].get("tags", ()):
            name = next(name for name in RIGHT if name in "".join(cell["source"]))
            cell["source"] = answers.get(name, cell["source"])
        change(cell)
    return json.dumps(content)


@pytest.fixture
def handed_in(tmp_path):
    """A folder for copies, and a function that puts one in."""

    def put(student, text, name=LESSON.name):
        path = tmp_path / "handed-in" / student / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    put.folder = tmp_path / "handed-in"
    return put


@pytest.fixture(scope="module")
def prepared() -> Iterator[Prepared]:
    """A process that has imported what grading does; tests of limits start processes of their own."""
    process = Prepared(
        "import numba, pandas, placelab, placelab.testing, placelab.app.grading; placelab.partitioners()"
    )
    yield process
    process.close()


@pytest.fixture
def forked(prepared, monkeypatch):
    """Copies are run in forks of it, one after the other."""
    turn = Lock()

    def run(command, folder, seconds, memory):
        with turn:
            status = prepared.run(command, cwd=folder, timeout=seconds).returncode
        return f"the process ended with status {status}" if status else ""

    monkeypatch.setattr(grading, "_run", run)


def table(folder, tmp_path, *more):
    """The rows of the table, by student."""
    file = tmp_path / "grades.csv"
    cli.main(["grade", str(folder), "-o", str(file), *more])
    with file.open(encoding="utf-8") as lines:
        return {row["student"]: row for row in csv.DictReader(lines)}


def test_one_row_per_student(handed_in, tmp_path, capsys, forked):
    """Right, half and wrong copies; one that is no notebook; a name that a spreadsheet would run."""
    handed_in("right", copy_with(RIGHT))
    handed_in("right", "{}", "puzzles.ipynb")  # is not graded
    handed_in("half", copy_with({"in_eight": RIGHT["in_eight"], "waits_for": WRONG["waits_for"]}))
    handed_in("wrong", copy_with(WRONG))
    handed_in("other", "this is no notebook")
    handed_in("=1+1", copy_with({}))
    rows = table(handed_in.folder, tmp_path, "--jobs", "2", "--feedback", str(tmp_path / "feedback"))
    assert list(rows["right"]) == ["student", "1.1", "1.2", "1.3", "points", "remarks"]
    points = {student: [row["1.1"], row["1.2"], row["1.3"], row["points"]] for student, row in rows.items()}
    assert points == {
        "right": ["1", "1", "1", "3"],
        "half": ["1", "0", "0", "1"],
        "wrong": ["0", "0", "0", "0"],
        "other": ["0", "0", "0", "0"],
        "'=1+1": ["0", "0", "0", "0"],
    }
    assert "is not JSON" in rows["other"]["remarks"] and not rows["right"]["remarks"]
    assert rows["other"]["remarks"].endswith("no copy of Lesson 1")
    told = (tmp_path / "feedback" / "half.txt").read_text()
    assert (
        "in_eight: right" in told
        and "a different op ends the idle interval" in told
        and "stops_paying is still empty" in told
    )
    assert "right  01_where_and_who_next.ipynb  3 of 3" in capsys.readouterr().out


@pytest.mark.slow
def test_a_copy_that_never_ends_is_stopped(handed_in, tmp_path):
    """What was judged before counts, and the other copies are graded."""
    for student, answer in (("endless", "while True:\n    pass"), ("right", RIGHT["waits_for"])):
        handed_in(student, copy_with(RIGHT | {"waits_for": answer}))
    rows = table(handed_in.folder, tmp_path, "--seconds", "25", "--jobs", "2")
    assert {student: row["points"] for student, row in rows.items()} == {"endless": "1", "right": "3"}
    assert "stopped after 25 s" in rows["endless"]["remarks"] and not rows["right"]["remarks"]


def test_a_copy_is_judged_by_the_shipped_lesson(handed_in):
    """Edited checks and examples, missing cells and new ids change nothing; files can lie flat."""

    def cheat(cell):
        if "check" in cell["metadata"].get("tags", ()):
            cell["source"] = "print('Right.')"
        if "".join(cell["source"]).startswith("cluster ="):
            cell["source"] = (
                "cluster = pl.Cluster(speed=[99, 99], bandwidth=99)\nproblem = pl.Problem(diamond, cluster)"
            )
        cell["id"] = f"new-{cell['id']}"

    path = handed_in("", copy_with(WRONG | {"stops_paying": RIGHT["stops_paying"]}, cheat), f"Ann_{LESSON.name}")
    (copy,) = copies_in(handed_in.folder)
    assert (copy.student, copy.lesson, copy.path) == ("Ann", LESSON, path)
    assert graded(copy, 60, 16e9).points == [0, 0, 1]


def test_answers_share_no_process_and_files(handed_in, forked):
    """A copy cannot leave through an exit, and a function of placelab that it replaces is there again at the check."""
    replaced = "pl.testing.check_placement = lambda *_, **__: None\n" + WRONG["in_eight"]
    path = handed_in("eve", copy_with(RIGHT | {"in_eight": replaced, "waits_for": "raise SystemExit"}))
    grade = graded(Copy("eve", path, LESSON), 60, 16e9)
    assert grade.points == [0, 0, 1] and not grade.remark
    assert "SystemExit" in grade.sentences[1]
    path = handed_in("bob", copy_with(RIGHT | {"waits_for": "import os\nos._exit(0)"}))
    grade = graded(Copy("bob", path, LESSON), 60, 16e9)
    assert grade.points == [1, 0, 0] and "ended before all exercises" in grade.remark


@pytest.mark.slow
def test_memory_is_limited(handed_in):
    """An answer that asks for more than there is fails; the others are graded."""
    pytest.importorskip("resource")
    path = handed_in("max", copy_with(RIGHT | {"in_eight": "def in_eight():\n    return bytearray(2**35)"}))
    grade = graded(Copy("max", path, LESSON), 60, 16e9)
    assert grade.points == [0, 1, 1] and "MemoryError" in grade.sentences[0]


def test_a_cell_that_never_ends_costs_its_exercise_only(handed_in, tmp_path, monkeypatch):
    """Where the system has an alarm."""
    pytest.importorskip("resource")
    path = handed_in("ida", copy_with(RIGHT | {"waits_for": "while True:\n    pass"}))
    problem = pl.datasets.problem("topcuoglu")  # what the cells would import within their second
    problem.graph.to_networkx()
    pl.idle_reasons(pl.solve(problem, "heft"))
    monkeypatch.setattr(grading, "CELL", 1)
    grading.main(str(LESSON), str(path), str(tmp_path / "verdicts"))
    assert [json.loads(line) for line in (tmp_path / "verdicts").read_text().splitlines()] == [
        None,
        "a cell takes longer than 1 s",
        None,
    ]


def test_own_cells_run_where_they_stand(handed_in):
    """Cells of the student's own between the lesson's; lines for the shell are not run."""
    content = json.loads(copy_with(RIGHT))
    mine = {"cell_type": "code", "id": "mine", "metadata": {}, "source": "!rm x\ntwo = 2", "outputs": []}
    content["cells"].insert(3, mine)
    path = handed_in("zoe", json.dumps(content))
    cells = to_run(LESSON, path)
    assert [cell.kind for cell in cells[:3]] == ["teaching", "student", "teaching"]
    assert grading._trouble(cells[1].source, names := {}) == "" and names["two"] == 2


@pytest.mark.parametrize("path", lessons(), ids=lambda path: path.stem)
def test_each_lesson_is_recognised(path, handed_in):
    """By its title, whatever the file is called; its checks and exercises are found in a student's copy."""
    copy = handed_in("ann", students_copy(path.read_text("utf-8")), "my homework.ipynb")
    (found,) = copies_in(handed_in.folder)
    assert found.lesson == path
    kinds = [cell.kind for cell in to_run(path, copy)]
    assert kinds.count("check") == kinds.count("exercise") == kinds.count("student") >= 3


@pytest.mark.parametrize(("folder", "words"), [("nowhere", "is no folder"), ("", "has no notebooks")])
def test_nothing_to_grade_is_one_sentence(folder, words, tmp_path):
    """A missing and an empty folder."""
    with pytest.raises(SystemExit, match=words):
        cli.main(["grade", str(tmp_path / folder), "-o", str(tmp_path / "grades.csv")])


CELLS = [
    "import numpy as np\nleast = 3\nassert least < 4\nprint(least)",
    "def twice(x):\n    return 2 * helper(x)",
    "def helper(x):\n    return x + least",
    "unused = 7",
    "table = {}\nfor i in range(3):\n    table[i] = i",
]


def test_what_is_used_and_what_that_uses():
    """In the order of the lesson; a loop that fills a table is there, assertions and what prints are not."""
    brought = examples_for("assert twice(1) == 8 and table[2] == 2", CELLS)
    names: dict = {}
    exec(brought, names)
    assert names["twice"](1) == 8 and names["table"] == {0: 0, 1: 1, 2: 2}
    assert not any(word in brought for word in ("assert", "print", "unused", "numpy"))


def test_own_names_of_a_check_are_not_looked_for():
    """Arguments and variables of its functions, and of comprehensions."""
    assert examples_for("def f(unused):\n    return [table for table in unused]\nf([])", CELLS) == ""


MASTERS = nbgrader_master, lambda text: otter_master(text, "lesson")


@pytest.mark.parametrize(
    "written", [students_copy, *(pytest.param(master, marks=pytest.mark.slow) for master in MASTERS)]
)
def test_each_kind_of_copy_has_them(written):
    """Lesson 3's second exercise compares by two functions of the text: they are defined once there, and once for the check."""
    text = lessons()[2].read_text("utf-8")
    cells = json.loads(written(text))["cells"]
    assert sum("def fifo(problem)" in "".join(cell["source"]) for cell in cells) == 2

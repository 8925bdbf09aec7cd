"""The course: ``placelab lessons`` writes its notebooks, with or without solutions; ``placelab grade`` grades copies."""

from __future__ import annotations

import argparse
import csv
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from placelab.app.cli.arguments import check_folder, command, printable
from placelab.app.grading import Grade, checked, copies_in, exercises, graded
from placelab.app.masters import nbgrader_master, otter_master
from placelab.base.errors import FormatError
from placelab.base.files import path_of, shipped

LESSONS = Path("notebooks", "lessons")
PUZZLES = Path("notebooks", "puzzles.ipynb")  # which lessons link to
LINKED = "[notebook of puzzles](../puzzles.ipynb)"
ANSWERS = "answers.md"  # to the questions for homework and exams, for instructors
SOLUTION = "solution"  # tag of the cells that a student's copy lacks
CHECK = "check"
FOLDED = "# Run this cell: it checks your answer.\n"  # the line that a folded cell shows
PASSED = '\nprint("Right.")'
LESSONS_EXAMPLES = """
lessons course                 students' copies, in a new folder
lessons course --instructor    with the solutions, and answers.md to the questions for homework and exams
lessons course --nbgrader      course/source/LESSON/LESSON.ipynb; then, in course: nbgrader generate_assignment LESSON --create
lessons course --otter         course/LESSON/LESSON.ipynb; then, in course/LESSON: otter assign LESSON.ipynb dist
"""


def add_to(commands: Any) -> None:
    """Add both commands to the parser's."""
    added = command(commands, "lessons", lessons, LESSONS_EXAMPLES)
    added.add_argument("directory", type=Path, help="folder to write to; made if it is missing")
    kind = added.add_mutually_exclusive_group()
    kind.add_argument("--instructor", action="store_true", help="keep the solutions and the results")
    kind.add_argument(
        "--nbgrader", action="store_true", help="masters for nbgrader, which removes solutions and hidden tests"
    )
    kind.add_argument("--otter", action="store_true", help="masters for Otter-Grader, which removes them, too")
    _add_grade(commands)


def lessons(options: argparse.Namespace) -> None:
    """Write the fifteen lessons of the course, and the notebook of puzzles that they link to.

    A file that is there already is kept, as it may hold somebody's answers.
    """
    if "\0" in str(options.directory) or (path_of(options.directory).exists() and not options.directory.is_dir()):
        raise FormatError(f"{str(options.directory)!a} is not a folder; name a different one to write the lessons to")
    _make(options.directory)
    written = [_written(path, options) for path in sorted(shipped(LESSONS).glob("*.ipynb"))]
    if not (options.nbgrader or options.otter):
        written.append((options.directory / PUZZLES.name, shipped(PUZZLES).read_text("utf-8")))
    if options.instructor:
        written.append((options.directory / ANSWERS, (shipped(LESSONS) / ANSWERS).read_text("utf-8")))
    for copy, text in written:
        if copy.exists():
            print(f"{printable(copy)} is there already and is kept")
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text, "utf-8")
        print(printable(copy))


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FormatError(f"the folder {str(folder)!a} cannot be made: {error.strerror}") from None


def _written(lesson: Path, options: argparse.Namespace) -> tuple[Path, str]:
    """Where a lesson goes, and what is written there."""
    text = lesson.read_text("utf-8")
    if options.nbgrader:
        return options.directory / "source" / lesson.stem / lesson.name, nbgrader_master(without_link(text))
    if options.otter:
        return options.directory / lesson.stem / lesson.name, otter_master(without_link(text), lesson.stem)
    text = beside_puzzles(text)
    return options.directory / lesson.name, text if options.instructor else students_copy(text)


def beside_puzzles(notebook: str) -> str:
    """The lesson's JSON for a folder that has the puzzles, too."""
    return notebook.replace(LINKED, LINKED.replace("../", ""))


def without_link(notebook: str) -> str:
    """The lesson's JSON where graders hand it out alone."""
    return notebook.replace(LINKED, f"notebook `{PUZZLES.name}`, which `placelab lessons DIR` writes,")


def students_copy(notebook: str) -> str:
    """The notebook's JSON without solutions and results; checks, whose code says what is right, are folded and say "Right.".

    A check brings the examples that it uses, whatever has become of their names.
    """
    content = json.loads(notebook)
    for i, cell in enumerate(content["cells"]):
        if CHECK in cell["metadata"].get("tags", ()):
            cell["source"] = [checked(cell, content["cells"][:i])]
    content["cells"] = [cell for cell in content["cells"] if SOLUTION not in cell["metadata"].get("tags", ())]
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = []
            cell["execution_count"] = None
        if CHECK in cell["metadata"].get("tags", ()):
            cell["metadata"]["jupyter"] = {"source_hidden": True}
            shows = "check_strategy" in "".join(cell["source"])  # its table is the answer
            cell["source"] = [FOLDED, *cell["source"], *([] if shows else [PASSED])]
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


SECONDS = 600
MEMORY = 16.0  # GB of address space; numba, solvers and threads reserve some, of which they use little
GRADE_EXAMPLES = """
grade handed-in -o grades.csv                       one row per student
grade handed-in -o grades.csv --feedback feedback   and a file per student that says why
grade handed-in -o grades.csv --seconds 300 --memory 8 --jobs 4
"""


def _add_grade(commands: Any) -> None:
    added = command(commands, "grade", grade, GRADE_EXAMPLES)
    added.add_argument("folder", type=Path, help="copies: STUDENT/NN_lesson.ipynb, or STUDENT_NN_lesson.ipynb")
    added.add_argument(
        "-o", "--output", type=Path, required=True, help="CSV file to write; one that is there is replaced"
    )
    added.add_argument(
        "--feedback", type=Path, metavar="DIR", help="folder for a text per student, with a line per exercise"
    )
    added.add_argument("--seconds", type=_positive, default=SECONDS, help=f"limit of a copy (default: {SECONDS})")
    added.add_argument(
        "--memory", type=_positive, default=MEMORY, help=f"limit of a copy's address space [GB] (default: {MEMORY:g})"
    )
    added.add_argument("--jobs", type=_whole, default=1, help="copies that run at once (default: 1)")


def grade(options: argparse.Namespace) -> None:
    """Grade the copies of lessons that students have handed in.

    An answer that its check passes gives a point. Nothing is sent anywhere. Each copy runs in a process of its own: answers and
    further cells are the student's, examples and checks those of the installed lessons, so editing a check does not help.

    This runs strangers' code with your rights: it can read and change your files, use the network and start programs. Limits on
    time and memory stop loops and mistakes, and are no sandbox; an answer that sets out to can report any points. So grade as a
    user who owns nothing of value, in a container or virtual machine without network, and look at what is suspiciously good.
    """
    check_folder(options.output)
    if options.feedback:
        _make(path_of(options.feedback))
    copies = copies_in(options.folder)
    run = partial(graded, seconds=options.seconds, memory=options.memory * 1e9)
    grades = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for done in pool.map(run, copies):
            grades.append(done)
            points = f"{sum(done.points)} of {len(done.points)}" if done.points else "not graded"
            print(
                printable(
                    f"{done.copy.student}  {done.copy.path.name}  {points}" + f"  ({done.remark})" * bool(done.remark)
                )
            )
    _write(options.output, grades)
    if options.feedback:
        _write_feedback(options.feedback, grades)


def _write(path: Path, grades: Iterable[Grade]) -> None:
    """A row per student, a column per exercise of the lessons that were handed in, and the sum; no copy counts as 0."""
    by_student = _by_student(grades)
    lessons = sorted({grade.copy.lesson for several in by_student.values() for grade in several if grade.copy.lesson})
    columns = {
        (lesson, i): f"{int(lesson.name[:2])}.{i + 1}" for lesson in lessons for i in range(len(exercises(lesson)))
    }
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["student", *columns.values(), "points", "remarks"])
        for student, several in sorted(by_student.items()):
            best: dict[Any, int] = defaultdict(int)
            for each in several:
                for i, point in enumerate(each.points):
                    best[each.copy.lesson, i] = max(best[each.copy.lesson, i], point)
            points = [best[key] for key in columns]
            lacking = [
                int(lesson.name[:2]) for lesson in lessons if all(each.copy.lesson != lesson for each in several)
            ]
            said = [each.remark for each in several if each.remark] + [f"no copy of Lesson {n}" for n in lacking]
            remarks = "; ".join(said)
            rows.writerow([_cell(student), *points, sum(points), _cell(remarks)])


def _write_feedback(folder: Path, grades: Iterable[Grade]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for student, several in _by_student(grades).items():
        lines = [line for each in several for line in _feedback(each)]
        Path(folder, f"{student}.txt").write_text("\n".join(lines) + "\n", "utf-8")


def _feedback(grade: Grade) -> list[str]:
    lines = [grade.copy.path.name, *([f"  {printable(grade.remark)}"] if grade.remark else [])]
    named = exercises(grade.copy.lesson) if grade.copy.lesson else []
    return lines + [
        f"  {name}: {printable(sentence) or 'right'}" for name, sentence in zip(named, grade.sentences, strict=False)
    ]


def _by_student(grades: Iterable[Grade]) -> dict[str, list[Grade]]:
    found: dict[str, list[Grade]] = defaultdict(list)
    for each in grades:
        found[each.copy.student].append(each)
    return found


def _cell(text: str) -> str:
    """Text on one line, which no spreadsheet takes for a formula."""
    text = printable(text)
    return f"'{text}" if text.startswith(("=", "+", "-", "@")) else text


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def _whole(text: str) -> int:
    value = int(text)
    if not 1 <= value <= (os.cpu_count() or 1) * 4:
        raise argparse.ArgumentTypeError(f"{text} is not between 1 and four times the number of cores")
    return value

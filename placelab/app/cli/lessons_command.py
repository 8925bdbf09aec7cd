"""``placelab lessons``: write the course's notebooks, with or without the solutions."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from placelab.app.cli.arguments import command
from placelab.app.grading.masters import nbgrader_master, otter_master
from placelab.base.errors import FormatError
from placelab.base.places import shipped

LESSONS = Path("notebooks", "lessons")
PUZZLES = Path("notebooks", "puzzles.ipynb")  # which lessons link to
LINKED = "[notebook of puzzles](../puzzles.ipynb)"
ANSWERS = "answers.md"  # to the questions for homework and exams, for instructors
SOLUTION = "solution"  # tag of the cells that a student's copy lacks
CHECK = "check"
FOLDED = "# Run this cell: it checks your answer.\n"  # the line that a folded cell shows
PASSED = '\nprint("Right.")'
EXAMPLES = """
lessons course                 students' copies, in a new folder
lessons course --instructor    with the solutions, and answers.md to the questions for homework and exams
lessons course --nbgrader      course/source/LESSON/LESSON.ipynb; then, in course: nbgrader generate_assignment LESSON --create
lessons course --otter         course/LESSON/LESSON.ipynb; then, in course/LESSON: otter assign LESSON.ipynb dist
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    added = command(commands, "lessons", lessons, EXAMPLES)
    added.add_argument("directory", type=Path, help="folder to write to; made if it is missing")
    kind = added.add_mutually_exclusive_group()
    kind.add_argument("--instructor", action="store_true", help="keep the solutions and the results")
    kind.add_argument(
        "--nbgrader", action="store_true", help="masters for nbgrader, which removes solutions and hidden tests"
    )
    kind.add_argument("--otter", action="store_true", help="masters for Otter-Grader, which removes them, too")


def lessons(options: argparse.Namespace) -> None:
    """Write the fifteen lessons of the course, and the notebook of puzzles that they link to.

    A file that is there already is kept, as it may hold somebody's answers.
    """
    if "\0" in str(options.directory) or (options.directory.exists() and not options.directory.is_dir()):
        raise FormatError(f"{str(options.directory)!a} is not a folder; name a different one to write the lessons to")
    options.directory.mkdir(parents=True, exist_ok=True)
    written = [_written(path, options) for path in sorted(shipped(LESSONS).glob("*.ipynb"))]
    if not (options.nbgrader or options.otter):
        written.append((options.directory / PUZZLES.name, shipped(PUZZLES).read_text("utf-8")))
    if options.instructor:
        written.append((options.directory / ANSWERS, (shipped(LESSONS) / ANSWERS).read_text("utf-8")))
    for copy, text in written:
        if copy.exists():
            print(f"{copy} is there already and is kept")
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(text, "utf-8")
        print(copy)


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
    """The notebook's JSON without solutions and results; checks, whose code says what is right, are folded and say "Right."."""
    content = json.loads(notebook)
    content["cells"] = [cell for cell in content["cells"] if SOLUTION not in cell["metadata"].get("tags", ())]
    for cell in content["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"], cell["execution_count"] = [], None
        if CHECK in cell["metadata"].get("tags", ()):
            cell["metadata"]["jupyter"] = {"source_hidden": True}
            shows = "check_strategy" in "".join(cell["source"])  # its table is the answer
            cell["source"] = [FOLDED, *cell["source"], *([] if shows else [PASSED])]
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"

"""Show the course's lessons as students get them, without solutions, and write these copies as an archive."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from lesson_pictures import with_picture
from sphinx.application import Sphinx

from placelab.app.cli.course_commands import CHECK, LESSONS, PUZZLES, SOLUTION, beside_puzzles, students_copy

NEEDS = {  # number: the lessons it builds on, and how hard it is
    1: ("–", 1),
    2: ("1", 1),
    3: ("2", 2),
    4: ("3", 2),
    5: ("4", 3),
    6: ("4", 2),
    7: ("4, 6", 2),
    8: ("4", 3),
    9: ("8", 3),
    10: ("9", 3),
    11: ("4", 2),
    12: ("4", 2),
    13: ("3", 2),
    14: ("3", 2),
    15: ("14; its contest: 4", 3),
}
WORDS = 120  # a minute
CELL = 1  # minutes
EXERCISE = 3
LINE = 1  # of its solution
HEAD = """| lesson | builds on | afterwards you can | difficulty | text | exercises |
| --- | --- | --- | --- | ---: | ---: |"""


def write_copies(app: Sphinx) -> None:
    """docs/generated/lessons-students.zip."""
    lessons = sorted(Path(app.srcdir, LESSONS).glob("*.ipynb"))
    copies = {path.name: students_copy(beside_puzzles(path.read_text("utf-8"))) for path in lessons}
    copies[PUZZLES.name] = Path(app.srcdir, PUZZLES).read_text("utf-8")
    file = Path(app.srcdir, "docs", "generated", "lessons-students.zip")
    file.parent.mkdir(parents=True, exist_ok=True)
    archive = zipped(copies, "lessons-students")
    if not file.exists() or file.read_bytes() != archive:
        file.write_bytes(archive)


def write_table(app: Sphinx) -> None:
    """docs/generated/lessons.txt, which docs/course.md includes."""
    lessons = sorted(Path(app.srcdir, LESSONS).glob("*.ipynb"))
    rows = [row(path, json.loads(path.read_text("utf-8"))["cells"]) for path in lessons]
    Path(app.srcdir, "docs", "generated", "lessons.txt").write_text("\n".join([HEAD, *rows]) + "\n")


def row(path: Path, cells: list[dict]) -> str:
    """Title, needs, goal and difficulty of a lesson, and the minutes estimated of its text and its exercises."""
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    title = re.search(r"^# Lesson (\d+ · .*)$", text, re.MULTILINE)[1]
    goal = re.search(r"\*\*Goal\.\*\* After this lesson you can (.*?)\.(?= |$)", text, re.MULTILINE)[1]
    needs, hard = NEEDS[int(path.name[:2])]
    run = [cell for cell in cells if cell["cell_type"] == "code" and not cell["metadata"].get("tags")]
    solved = ["".join(cell["source"]) for cell in cells if SOLUTION in cell["metadata"].get("tags", ())]
    each = [EXERCISE + LINE * sum(bool(line.strip()) for line in text.splitlines()) for text in solved]
    read = round(len(text.split()) / WORDS + CELL * len(run))
    cells_of_row = (
        f"[{title}](../{LESSONS.as_posix()}/{path.name})",
        needs,
        goal,
        "●" * hard,
        f"{read} min",
        f"{' + '.join(map(str, each))} = {sum(each)} min",
    )
    return f"| {' | '.join(cells_of_row)} |"


def zipped(texts: dict[str, str], folder: str) -> bytes:
    """An archive of these files; the same bytes at each build."""
    archive = io.BytesIO()
    with ZipFile(archive, "w") as files:
        for name, text in texts.items():
            files.writestr(ZipInfo(f"{folder}/{name}"), text, ZIP_DEFLATED)  # dated 1980
    return archive.getvalue()


def show_students_copy(app: Sphinx, page: str, source: list[str]) -> None:
    """Replace a lesson's notebook by the student's copy with a live page; checks are hidden: their code says what is right."""
    if page.startswith(f"{LESSONS.as_posix()}/"):
        source[0] = with_picture(without_checks(students_copy(source[0])), page, app.outdir)


def without_checks(notebook: str) -> str:
    """The notebook's JSON with a sentence in place of each check."""
    content = json.loads(notebook)
    for cell in content["cells"]:
        if CHECK in cell["metadata"].get("tags", ()):
            cell["source"] = ["# The notebook has a cell here that checks your answer."]
    return json.dumps(content)


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the build."""
    app.connect("builder-inited", write_copies)
    app.connect("builder-inited", write_table)
    app.connect("source-read", show_students_copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

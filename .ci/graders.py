"""Try nbgrader's and Otter-Grader's own commands on a lesson: release, grade a right, a half and a wrong copy, write feedback.

    python .ci/graders.py [LESSON]

The environment of this Python needs placelab[solvers], nbgrader and otter-grader. Ends with 1 at the first command or grade that
is not as it should be.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

BIN = Path(sys.executable).parent
FIRST = "01_where_and_who_next"
FILLED = {"right": 1.0, "half": 0.5, "wrong": 0.0}  # share of the exercises that is answered rightly, rounded up


def run(*command: str | Path, at: Path) -> str:
    """Run a program of this environment; what it prints."""
    environment = os.environ | {"PLACELAB_JIT": "0", "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([BIN / command[0], *command[1:]], cwd=at, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(
            f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
    return done.stdout


def answers(lesson: str, folder: Path) -> dict[str, str]:
    """The solution of each exercise, by the name of its function."""
    run("placelab", "lessons", folder, "--instructor", at=folder.parent)
    cells = json.loads((folder / f"{lesson}.ipynb").read_text())["cells"]
    solved = ["".join(cell["source"]) for cell in cells if "solution" in cell["metadata"].get("tags", ())]
    return {name: text for text in solved if (name := function(text))}


def function(source: str) -> str | None:
    """Name of the function that a cell defines last; None if it has none, or is no Python."""
    try:
        names = [part.name for part in ast.parse(source).body if isinstance(part, ast.FunctionDef)]
    except SyntaxError:
        return None
    return names[-1] if names else None


def copy(released: Path, to: Path, solved: dict[str, str], share: float) -> int:
    """Write a copy of what a student gets, with that share of the answers right and the others wrong; its points."""
    notebook = json.loads(released.read_text())
    right = list(solved)[: round(share * len(solved) + 0.25)]
    for cell in notebook["cells"]:
        name = function("".join(cell["source"])) if cell["cell_type"] == "code" else None
        if name in solved:
            cell["source"] = solved[name] if name in right else wrong(solved[name])
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(json.dumps(notebook))
    return len(right)


def wrong(solution: str) -> str:
    """The same functions, which return 0."""
    heads = [part for part in ast.parse(solution).body if isinstance(part, ast.FunctionDef)]
    for head in heads:
        head.body = ast.parse("return 0").body
    return "\n\n".join(map(ast.unparse, heads))


def nbgrader(lesson: str, folder: Path, solved: dict[str, str]) -> dict[str, tuple[int, float]]:
    """Points that are due, and those of nbgrader, per copy."""
    run("placelab", "lessons", folder, "--nbgrader", at=folder.parent)
    run("nbgrader", "generate_assignment", lesson, "--create", at=folder)
    released = folder / "release" / lesson / f"{lesson}.ipynb"
    due = {
        who: copy(released, folder / "submitted" / who / lesson / released.name, solved, share)
        for who, share in FILLED.items()
    }
    run("nbgrader", "autograde", lesson, "--create", "--Execute.timeout=600", at=folder)
    run("nbgrader", "generate_feedback", lesson, at=folder)
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{folder / 'gradebook.db'}") as book:
        found = {who: book.find_submission(lesson, who).score for who in FILLED}
    for who in FILLED:
        assert (folder / "feedback" / who / lesson / f"{lesson}.html").stat().st_size > 1000, who
    return {who: (due[who], found[who]) for who in FILLED}


def otter(lesson: str, folder: Path, solved: dict[str, str]) -> dict[str, tuple[int, float]]:
    """Points that are due, and those of Otter, per copy."""
    run("placelab", "lessons", folder, "--otter", at=folder.parent)
    here = folder / lesson
    run("otter", "assign", f"{lesson}.ipynb", "dist", at=here)
    (archive,) = (here / "dist" / "autograder").glob("*.zip")
    points = {}
    for who, share in FILLED.items():
        mine = here / who / f"{lesson}.ipynb"
        due = copy(here / "dist" / "student" / f"{lesson}.ipynb", mine, solved, share)
        run("otter", "run", "-a", archive, mine, at=mine.parent)
        results = json.loads((mine.parent / "results.json").read_text())
        points[who] = due, sum(test.get("score", 0.0) for test in results["tests"])
    return points


def main(lesson: str) -> None:
    """Try both; print a line per copy."""
    with TemporaryDirectory() as name:
        root = Path(name)
        solved = answers(lesson, root / "instructor")
        with ThreadPoolExecutor() as pool:  # side by side, as each waits for programs, which one core runs at a time
            tried = [(each, pool.submit(each, lesson, root / each.__name__, solved)) for each in (nbgrader, otter)]
        points = [(each.__name__, who, *both) for each, done in tried for who, both in done.result().items()]
    for grader, who, due, found in points:
        print(f"{grader}: {who} copy of {lesson}: {found:g} of {len(solved)} points, {due} due")
    if any(due != found for *_, due, found in points):
        sys.exit(1)


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else FIRST
    assert re.fullmatch(r"\w+", given), f"{given!r} is no lesson; expected a name such as {FIRST}"
    main(given)

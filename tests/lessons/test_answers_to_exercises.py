"""The checks of all lessons on a student's answers: right ones pass; wrong and slow ones are one sentence each."""

from __future__ import annotations

import contextlib
import io
import json

import pytest
from answers_to_exercises import ANSWERS
from answers_to_later_exercises import LATER_ANSWERS

from placelab.app.cli.course_commands import LESSONS, students_copy
from placelab.base import leaving
from placelab.base.files import shipped
from placelab.testing import answers

NOTEBOOKS = sorted(shipped(LESSONS).glob("*.ipynb"))
LIMIT = 0.1  # seconds of an answer that never ends


def run(code: str, names: dict) -> None:
    """Run a cell and drop what it prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, "cell", "exec"), names)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_check_judges_what_an_answer_does(path, monkeypatch):
    """Below the sentence there is nothing, or code; every exercise has answers here."""
    names: dict = {"__name__": "__main__"}
    call = answers._called
    monkeypatch.setattr(leaving, "GRACE", 0.0)  # a loop without an end uses up all that it is given
    for cell in json.loads(students_copy(path.read_text()))["cells"]:
        tags = cell["metadata"].get("tags", [])
        code = "".join(cell["source"])
        if cell["cell_type"] != "code" or "explorer" in tags:
            continue
        if "check" not in tags:
            before = set(names)
            run(code, names)
            stub = code
            defined = [name for name in names if name not in before]
            continue
        right, wrong = (ANSWERS | LATER_ANSWERS)[defined[0]]
        for answer in right:
            run(f"{answer}\n{code}", dict(names))
        slow = (
            [(stub.replace("    ...", "    while True:\n        pass"), "takes longer than")] if "def" in stub else []
        )
        for answer, words in [*wrong, *slow]:
            limit = LIMIT if answer.endswith("pass") else answers.SECONDS
            monkeypatch.setattr(
                answers, "_called", lambda f, given, _, watch, limit=limit: call(f, given, limit, watch)
            )
            with pytest.raises(AssertionError, match=words) as error:
                run(f"{answer}\n{code}", dict(names))
            first, _, below = str(error.value).partition("\n\n")
            assert "\n" not in first
            compile(below, "counter-example", "exec")
        monkeypatch.setattr(answers, "_called", call)
        run(right[0], names)  # an answer to a later exercise may call it

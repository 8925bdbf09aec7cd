"""Checks bring the examples that they use, so that an answer cannot give their names another meaning."""

import json

import pytest

from placelab.app.cli.course_commands import students_copy
from placelab.app.grading.examples import examples_for
from placelab.app.grading.masters import nbgrader_master, otter_master
from placelab.app.grading.submitted import lessons

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


@pytest.mark.parametrize("written", [students_copy, nbgrader_master, lambda text: otter_master(text, "lesson")])
def test_each_kind_of_copy_has_them(written):
    """Lesson 3's second exercise compares by two functions of the text: they are defined once there, and once for the check."""
    text = lessons()[2].read_text("utf-8")
    cells = json.loads(written(text))["cells"]
    assert sum("def fifo(problem)" in "".join(cell["source"]) for cell in cells) == 2

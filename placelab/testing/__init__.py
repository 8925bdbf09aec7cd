"""Check a new strategy, or an answer to an exercise: in a test, in a cell of a notebook, in a course.

Every check returns quietly or raises AssertionError with one sentence that says what is wrong and, where there is one, the
smallest counter-example as code. It never says the answer, and an answer found in another way passes, too. An answer that is
not filled in, fails, or takes longer than its limit in seconds is one sentence, too. An answer gets copies: what it changes,
no check uses. ``forbid`` says what of placelab an answer must not call, because the exercise is to write it.
"""

from placelab.formats.python_code import as_code
from placelab.testing.contracts import check_partitioner, check_scheduler, check_strategy, contest_problems, examples
from placelab.testing.exercise_checks import (
    check_beats,
    check_by_hand,
    check_placement,
    check_problem,
    check_schedule,
    check_transform,
    check_violation,
)
from placelab.testing.value_checks import check_error, check_filled, check_frame, check_property, check_run, check_value

__all__ = [
    "as_code",
    "check_beats",
    "check_by_hand",
    "check_error",
    "check_filled",
    "check_frame",
    "check_partitioner",
    "check_placement",
    "check_problem",
    "check_property",
    "check_run",
    "check_schedule",
    "check_scheduler",
    "check_strategy",
    "check_transform",
    "check_value",
    "check_violation",
    "contest_problems",
    "examples",
]

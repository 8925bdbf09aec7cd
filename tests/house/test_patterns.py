"""Regular expressions of the package match alike in every Python that it supports."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from re import _compiler, _parser

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "placelab"
MARKS = re.compile(r"[*+?}]\+|\(\?>")


def texts(source: str) -> Iterator[str]:
    """Strings of a module that may be patterns; what an f-string inserts is ``x``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)):
            yield node.value if isinstance(node.value, str) else node.value.decode("latin-1")


def possessive_groups(pattern: str) -> bool:
    """Whether more than a single character is repeated possessively, or a group is atomic, commented or not."""
    for flags in (0, re.VERBOSE):
        try:
            if any(_found(_parser.parse(pattern, flags))):
                return True
        except re.error:  # a part of a pattern, or none
            continue
    return False


def _found(pattern: object) -> Iterator[bool]:
    if isinstance(pattern, _parser.SubPattern):
        for op, argument in pattern:
            yield op is _parser.ATOMIC_GROUP
            yield op is _parser.POSSESSIVE_REPEAT and not _compiler._simple(argument[2])
            yield from _found(argument)
    elif isinstance(pattern, (list, tuple)):
        for part in pattern:
            yield from _found(part)


def test_no_pattern_has_possessive_groups():
    """Python 3.11.0 to 3.11.4 skips matches of such groups; ``[^"]*+(?:\\\\.[^"]*+)*`` takes as little time without one."""
    found = [
        f"{path.relative_to(PACKAGE)}: {text}"
        for path in PACKAGE.rglob("*.py")
        if MARKS.search(source := path.read_text("utf-8"))
        for text in texts(source)
        if MARKS.search(text) and possessive_groups(text)
    ]
    assert not found


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r'"(?:[^"\\]|\\.)*+"', True),
        (r"a|(?>ab|a)c", True),
        (r"(?P<word>(x(?:ab)++)|y)", True),
        ("(?:\\s++ # blanks\n|//)*+", True),
        (r'"[^"\\]*+(?:\\.[^"\\]*+)*"', False),
        (r"(?:\s)*+\d{1,9}+", False),
        ("i++; (", False),
    ],
)
def test_possessive_groups_are_recognised(pattern, expected):
    """Single characters may be repeated possessively, in a group or not."""
    assert possessive_groups(pattern) is expected

"""Check the fields of a file's records, one by one; raise FormatError with the field, what was found and what was expected."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import Any

from placelab.base.errors import FormatError, PlacelabError, escaped


@contextmanager
def read_from(where: str) -> Iterator[None]:
    """Prefix the message of errors raised inside with the name of the file, `where`.

    >>> with read_from("x.stg"):
    ...     raise FormatError("line 3 has 2 numbers")
    Traceback (most recent call last):
    placelab.base.errors.FormatError: x.stg: line 3 has 2 numbers
    """
    try:
        yield
    except PlacelabError as error:
        raise type(error)(f"{where}: {error}") from None


def title(where: str, default: str) -> str:
    """Title of a graph that has none: the file's name without its suffix; `default` if nothing is left.

    >>> title("profiles/vgg16.txt.gz", "a profile"), title("the upload", "a profile")
    ('vgg16', 'a profile')
    """
    name = escaped(PurePath(where).name)
    return name.removesuffix(".gz").rpartition(".")[0] or default


def one_line(text: str) -> str:
    """`text` with single spaces for all white space, and escapes for what is not seen: a name, as graphs have them."""
    return escaped(" ".join(text.split()))


def cost(value: Any, what: str) -> float:
    """`value` as a float; FormatError unless it is a finite number, 0 or more. `what` names it in messages."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise FormatError(f"{what} is {value!r:.60}; expected a number")
    return _checked(value, value, what)


def cost_of_text(text: str, what: str) -> float:
    """The number in `text`; FormatError unless it is finite, 0 or more."""
    try:
        number = float(text)
    except ValueError:
        raise FormatError(f"{what} is {text!r:.60}; expected a number") from None
    return _checked(number, text, what)


def _checked(number: float, given: Any, what: str) -> float:
    if not 0 <= number <= sys.float_info.max:  # JSON has whole numbers beyond, which compare with it as they are
        raise FormatError(f"{what} is {given!s:.60}; expected a finite number, 0 or more")
    return float(number)


def integer(value: Any, what: str, low: int, high: int) -> int:
    """`value`; FormatError unless it is a whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise FormatError(f"{what} is {value!r:.60}; expected a whole number from {low} to {high:,}")
    return value


def text(value: Any, what: str) -> str:
    """`value`; FormatError unless it is text."""
    if not isinstance(value, str):
        raise FormatError(f"{what} is {value!r:.60}; expected a text")
    return value


def record(value: Any, what: str) -> dict[str, Any]:
    """`value`; FormatError unless it is an object."""
    if not isinstance(value, dict):
        raise FormatError(f"{what} is {_kind(value)}; expected an object")
    return value


def records(value: Any, what: str) -> list[dict[str, Any]]:
    """`value`; FormatError unless it is a list of objects."""
    if not isinstance(value, list):
        raise FormatError(f"{what} is {_kind(value)}; expected a list of objects")
    return [record(entry, f"entry {i} of {what}") for i, entry in enumerate(value)]


def nonempty(entries: list[Any], what: str) -> list[Any]:
    """`entries`; FormatError if there are none."""
    if not entries:
        raise FormatError(f"there are no {what}; expected at least one")
    return entries


def texts(value: Any, what: str) -> list[str]:
    """`value`; FormatError unless it is a list of texts."""
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise FormatError(f"{what} is {value!r:.60}; expected a list of texts")
    return value


def _kind(value: Any) -> str:
    return {list: "a list", str: "a text", type(None): "missing"}.get(type(value), f"{value!r:.60}")

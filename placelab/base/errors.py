"""The four kinds of errors, and checks that raise them. A message names the file, op or device, what was found and expected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import inf
from numbers import Integral
from typing import Any

LONGEST = 1000  # characters of a message: the name of an op in a file may have millions
# Controls, among them a terminal's escapes, marks and overrides of direction, and spaces without width. Joiners (U+200C, U+200D)
# stay: they are letters' and emojis' own.
UNSEEN = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]"
)
LONGEST_LIST = 4000  # of one that says what is wrong device by device


class PlacelabError(ValueError):
    """An error that the user can remedy. Its message is one line of bounded length, whatever a file holds.

    >>> len(str(PlacelabError("an op called " + "a" * 10**6)))
    1000
    >>> str(PlacelabError("job 'a\\nb' is there twice"))
    "job 'a b' is there twice"
    """

    longest = LONGEST

    def __init__(self, *message: Any) -> None:
        super().__init__(*(_one_line(part, self.longest) if isinstance(part, str) else part for part in message))


class FormatError(PlacelabError):
    """A file, graph or array does not have the form it should have."""


class CycleError(PlacelabError):
    """A graph has a cycle, so its ops have no order."""


class InfeasibleError(PlacelabError):
    """No device, or no device with enough memory, is left for an op or a group.

    Attributes
    ----------
    op, group : str
        The op that was to be placed, and its colocation group; "" where no single one is the cause.
    fixed : str
        The device on which the strategy has placed other ops of the group before, so that this one must go there; "" for none.
    devices : dict of str
        Why each device rejected it, the one that came closest first; empty where that is not known by device.
    short : dict of float
        Missing bytes of the devices that lack memory.
    stuck : bool
        Whether the strategy found no way on, which does not prove that there is none.
    suffices : float or None
        Bytes on each device with which the depth-first plan of the problem runs; None where that is not known.
    """

    longest = LONGEST_LIST

    def __init__(
        self,
        *message: Any,
        op: str = "",
        group: str = "",
        fixed: str = "",
        devices: Mapping[str, str] | None = None,
        short: Mapping[str, float] | None = None,
        stuck: bool = False,
        suffices: float | None = None,
    ) -> None:
        super().__init__(*message)
        self.op = op
        self.group = group
        self.fixed = fixed
        self.devices = dict(devices or {})
        self.short = dict(short or {})
        self.stuck = stuck
        self.suffices = suffices


class UnsupportedError(PlacelabError):
    """An option or its value does not exist, a package is not installed, or two valid things do not fit together."""


def expect(value: Any, kind: type | tuple[type, ...], who: str) -> None:
    """Raise FormatError unless `value`, an argument of `who`, is a `kind`, or one of several; True and False are no numbers.

    >>> expect("heft", (int, float), "speed")
    Traceback (most recent call last):
    placelab.base.errors.FormatError: speed needs an int or a float, found a str
    """
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kind) or (poses_as_number(value) and type(value) not in kinds):
        raise FormatError(f"{who} needs {' or '.join(map(with_article, kinds))}, found {described(value)}")


def count(value: Any, what: str, least: int = 1, most: float = inf) -> int:
    """The value as an int; FormatError unless it is a whole number from `least` to `most`. `what` names it in the message.

    >>> from numpy import int64
    >>> count(int64(3), "workers")
    3
    """
    if poses_as_number(value) or not isinstance(value, (int, Integral)) or not least <= int(value) <= most:
        limits = f", {least} or more" if most == inf else f" from {least} to {most:,}"
        raise FormatError(f"{what} is {value!r:.60}; expected a whole number{limits}")
    return int(value)


def poses_as_number(value: Any) -> bool:
    """Whether a value is True, False or a timedelta64, which Python and numpy count among the whole numbers."""
    return isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "m"


def described(value: Any) -> str:
    """What a value is, in two words: ``a Placement``, ``an int``; for messages about wrong types."""
    return "None" if value is None else with_article(type(value))


def with_article(kind: type) -> str:
    """The name of a class in a sentence: ``a Placement``, ``an int``."""
    return f"{'an' if kind.__name__[0] in 'AEIOUaeiou' else 'a'} {kind.__name__}"


def _one_line(text: str, longest: int) -> str:
    """Its beginning and its end, which says what to do, with a space for each line break."""
    end = longest // 3
    short = text if len(text) <= longest else f"{text[: longest - end - 3]} … {text[-end:]}"
    return escaped(" ".join(short.splitlines()))


def is_name(value: Any) -> bool:
    """Whether a value is a name: text on one line, not empty, that UTF-8 can encode."""
    try:
        return (
            isinstance(value, str) and bool(value) and "\n" not in value and (value.isascii() or bool(value.encode()))
        )
    except UnicodeEncodeError:
        return False


def escaped(text: str) -> str:
    r"""`text` with escapes for characters that are not seen, or that turn the text around them; line breaks stay.

    >>> print(escaped("a\x1b[2J\u202eb"))
    a\x1b[2J\u202eb
    """
    if text.isprintable():
        return text
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)

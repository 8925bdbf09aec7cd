"""Names that are written from right to left, in sentences from left to right: neither turns the other around."""

from __future__ import annotations

import re
from typing import Any

FIRST_STRONG, POP = "\u2068", "\u2069"  # around a part of a text that has its own direction
# Letters of Hebrew, Arabic and their like, with their marks.
_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
_IS_RIGHT = re.compile(f"[{_RIGHT}]")
_WORD = re.compile(rf"[\w\-{_RIGHT}]+")
_TURNS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066\u2067]")
_ISOLATES = re.compile(f"[{FIRST_STRONG}{POP}]")


def isolated(text: str) -> str:
    r"""`text` in which words from right to left turn nothing around them, and what would is an escape.

    Words are parts of a path, too, so that the beginnings of isolated names are those of names, isolated. A text that is
    isolated stays as it is.

    >>> isolated("relu"), isolated("op \u05d0\u05d1/relu waits"), isolated("a\u202eb")
    ('relu', 'op \u2068אב\u2069/relu waits', 'a\\u202eb')
    """
    if text.isascii():
        return text
    plain = _TURNS.sub(lambda found: found[0].encode("unicode_escape").decode(), joined(text))
    if not _IS_RIGHT.search(plain):
        return plain
    words = _WORD.sub(lambda found: f"{FIRST_STRONG}{found[0]}{POP}" if _IS_RIGHT.search(found[0]) else found[0], plain)
    return words.replace(f"{POP} {FIRST_STRONG}", " ")  # words of one name are read in their own order


def joined(text: str) -> str:
    """`text` without the marks of :func:`isolated`."""
    return text if text.isascii() else _ISOLATES.sub("", text)


def all_isolated(value: Any) -> Any:
    """A value of lists, dictionaries and texts, as JSON has them, with its texts isolated."""
    return _each(value, isolated)


def all_joined(value: Any) -> Any:
    """A value as JSON has it, with the marks of :func:`isolated` taken from its texts."""
    return _each(value, joined)


def _each(value: Any, change: Any) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, (list, tuple)):
        return [_each(item, change) for item in value]
    if isinstance(value, dict):
        return {_each(key, change): _each(item, change) for key, item in value.items()}
    return value

"""Find the blocks of protobuf's text format (``.pbtxt``) without parsing their contents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from placelab.base.errors import FormatError
from placelab.formats.protobuf import MessageType

STRING = r"""(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*+')"""  # possessive: no backtracking
MARK = re.compile(STRING + r"""|[{}<>"']|#[^\n]*""")
FIELD = re.compile(r"(\w+)\s*:?\s*\Z")
MAX_DEPTH = 100  # as in binary files
MAX_FIELDS = 100_000  # of one op or function; parsing takes 20 µs for each
VALUE = re.compile(STRING + "|([:,{<])")


class Block(NamedTuple):
    """``name { … }``: the text between the braces is ``text[start:end]``."""

    name: str
    start: int
    end: int


def blocks(text: str, where: str, start: int = 0, end: int | None = None) -> Iterator[Block]:
    """The outermost blocks of a text, in order.

    Raises
    ------
    FormatError
        Braces that do not match, or blocks more than 100 deep. O(len(text)).
    """
    depth, begin, name, past = 0, 0, "", start
    for found in MARK.finditer(text, start, len(text) if end is None else end):
        mark = found[0]
        if mark in "{<":
            if depth == 0:
                begin, name = found.end(), _name(text, past, found.start(), where)
            depth += 1
            if depth > MAX_DEPTH:
                raise FormatError(
                    f"{where} is nested more than {MAX_DEPTH} deep {_at(text, found)}; such files are not read"
                )
        elif mark in "}>":
            depth -= 1
            if depth < 0:
                raise FormatError(f"{where} closes a block that is not open {_at(text, found)}")
            if depth == 0:
                yield Block(name, begin, found.start())
                past = found.end()
        elif len(mark) == 1 and mark != "#":
            raise FormatError(f"{where} has a quotation mark that nothing closes {_at(text, found)}")
    if depth:
        raise FormatError(f"{where} ends inside a block: {depth} braces are not closed")


def message_of(kind: MessageType, text: str, where: str, at: int) -> Any:
    """Parse the text of a block as a message; `at` is its position in the file, for errors."""
    from google.protobuf import text_format

    if _has_over(MAX_FIELDS, text):
        raise FormatError(
            f"{where} has a block of more than {MAX_FIELDS:,} fields at character {at:,}; such files are not read"
        )
    try:
        return text_format.Parse(text, kind(), allow_unknown_field=True, allow_unknown_extension=True)
    except (text_format.ParseError, ValueError, RecursionError) as error:
        found = str(error).replace("\n", " ")[:200]
        raise FormatError(f"{where} is not a protobuf text file: in the block at character {at:,}, {found}") from None


def _has_over(limit: int, text: str) -> bool:
    """Whether a text has more than `limit` fields and list entries, strings ignored."""
    if sum(map(text.count, ":,{<")) <= limit:
        return False
    marks = (found for found in VALUE.finditer(text) if found[1])
    return next(islice(marks, limit, None), None) is not None


def _name(text: str, past: int, at: int, where: str) -> str:
    found = FIELD.search(text, max(past, at - 100), at)
    if found is None:
        raise FormatError(f"{where} opens a block without a name at character {at:,}; expected node {{ … }}")
    return found[1]


def _at(text: str, found: re.Match) -> str:
    return f"in line {text.count(chr(10), 0, found.start()) + 1:,}"

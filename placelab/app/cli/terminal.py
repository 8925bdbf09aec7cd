"""Format text for a terminal, in columns and without control characters, which a file's names may contain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LONGEST = 100  # characters of a name


def printable(text: object) -> str:
    r"""`text` with every character that cannot be printed written as its escape.

    >>> printable("a\x1b[2J\u202eb")
    'a\\x1b[2J\\u202eb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in str(text))


def shortened(name: object) -> str:
    """A name without its middle if it is long."""
    text = printable(name)
    half = LONGEST // 2 - 1
    return text if len(text) <= LONGEST else f"{text[:half]}…{text[-half:]}"


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """A line for each label and its value, the values aligned."""
    rows = list(rows)
    width = max((len(label) for label, _ in rows), default=0)
    return "\n".join(f"{label:<{width}}  {value}".rstrip() for label, value in rows)


def table(rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Rows of equal length, the first of them the heads; columns in `numbers` are aligned to the right."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    sides = [">" if j in numbers else "<" for j in range(len(widths))]
    cells = [[f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)] for row in rows]
    return "\n".join("  ".join(row).rstrip() for row in cells)

"""How does text of a stranger's file reach a terminal? Without what could steer it, in columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LONGEST = 100  # characters of a name


def printable(text: object) -> str:
    r"""`text` with everything that is no character to look at written as its escape.

    >>> printable("a\x1b[2J\u202eb")
    'a\\x1b[2J\\u202eb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in str(text))


def shortened(name: object) -> str:
    """A name, its middle left out where it is long."""
    text = printable(name)
    half = LONGEST // 2 - 1
    return text if len(text) <= LONGEST else f"{text[:half]}…{text[-half:]}"


def counted(n: int, what: str) -> str:
    """A number of things.

    >>> counted(1, "transfer"), counted(2000, "op")
    ('1 transfer', '2,000 ops')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def pairs(rows: Iterable[tuple[str, str]], indent: str = "") -> str:
    """Labels and what stands for each, the latter below each other."""
    rows = list(rows)
    width = max((len(label) for label, _ in rows), default=0)
    return "\n".join(f"{indent}{label:<{width}}  {value}".rstrip() for label, value in rows)


def table(rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Rows of equal length, the first their heads; columns in `numbers` to the right."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    sides = [">" if j in numbers else "<" for j in range(len(widths))]
    cells = [[f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)] for row in rows]
    return "\n".join("  ".join(row).rstrip() for row in cells)

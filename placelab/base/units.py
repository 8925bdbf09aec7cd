"""Show things to people: numbers with three significant digits and a suitable unit; objects at the end of a cell."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def seconds(value: float, digits: int = 3) -> str:
    """A time with three digits: ``12.3 µs``.

    >>> seconds(0.01234), seconds(0), seconds(90.0), seconds(7514.0), seconds(1.25e7)
    ('12.3 ms', '0 s', '90 s', '7,510 s', '12,500,000 s')
    """
    for scale, unit in TIMES:
        if abs(value) >= 0.9995 * scale:
            return f"{float(f'{value / scale:.{digits}g}'):,.15g} {unit}"
    return "0 s" if value == 0 else f"{value:.{digits}g} s"


def apart(values: Sequence[float], text_of: Callable[[float, int], str]) -> list[str]:
    """Each value as text, with three digits, or as many more (nine at most) as tell different values apart.

    >>> apart([0.01, 0.0100004, 0.01], seconds)
    ['10 ms', '10.0004 ms', '10 ms']
    """
    different = len(set(values))
    for digits in range(3, 10):
        texts = [text_of(value, digits) for value in values]
        if len(set(texts)) == different:
            break
    return texts


def si(value: float, unit: str) -> str:
    """Three digits and a decimal prefix.

    >>> si(20861004, "B"), si(0, "B"), si(999.9, "B")
    ('20.9 MB', '0 B', '1 kB')
    """
    for size, prefix in PREFIXES:
        if value >= 0.9995 * size:
            return f"{float(f'{value / size:.3g}'):g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def si_row(values: Sequence[float], unit: str) -> str:
    """Several quantities with the unit of the largest, written once, three digits of each at most.

    >>> si_row([278e6, 1.4e9, 0.0], "B"), si_row([], "B")
    ('0.28 1.4 0 GB', 'B')
    """
    size, prefix = next(
        ((size, prefix) for size, prefix in PREFIXES if max(values, default=0.0) >= 0.9995 * size), (1.0, "")
    )
    largest = max(values, default=0.0) / size
    digits = 0 if largest >= 99.95 else 1 if largest >= 9.995 else 2
    return " ".join([*(f"{round(value / size, digits):g}" for value in values), f"{prefix}{unit}"])


def percent(share: float) -> str:
    """Whole percents; one decimal below ten.

    >>> percent(0.297), percent(0.0123), percent(0.0), percent(2e-4), percent(43.21)
    ('30 %', '1.2 %', '0 %', '< 0.1 %', '4,321 %')
    """
    value = 100 * share
    if 0 < value < 0.1:
        return "< 0.1 %"
    return f"{value:,.0f} %" if value >= 9.95 or value == 0 else f"{value:.1f} %"


def counted(n: int, what: str) -> str:
    """A number and its noun.

    >>> counted(1, "transfer"), counted(2000, "op"), counted(8, "micro-batch")
    ('1 transfer', '2,000 ops', '8 micro-batches')
    """
    return f"{n:,} {what}{'' if n == 1 else 'es' if what.endswith('ch') else 's'}"


def number(value: float, digits: int = 4) -> str:
    """A number without a unit: four digits, thousands grouped.

    >>> number(80.0), number(1 / 3), number(12345.678), number(2e16)
    ('80', '0.3333', '12,350', '2e+16')
    """
    return f"{value:.{digits}g}" if abs(value) >= 1e15 else f"{float(f'{value:.{digits}g}'):,.15g}"


@dataclass(frozen=True)
class Units:
    """How the quantities of a problem are written: in SI units, or as plain numbers.

    Examples
    --------
    >>> SI.time(0.08), PLAIN.time(80.0), SI.amount(3e9, "B/s"), PLAIN.amount(10.0, "B/s")
    ('80 ms', '80', '3 GB/s', '10')
    """

    si: bool
    second: float = 1.0  # units of time in a second

    def time(self, value: float, digits: int = 3) -> str:
        """A time, with three digits in SI units and four without."""
        value /= self.second
        return seconds(value, digits) if self.si else number(value, max(digits, 4))

    def amount(self, value: float, unit: str) -> str:
        """A quantity whose SI unit is `unit`, with three digits and a prefix there."""
        return si(value, unit) if self.si else number(value)

    def amounts(self, values: Sequence[float], unit: str) -> str:
        """Several of them in a row, with one unit at the end."""
        return si_row(values, unit) if self.si else " ".join(map(number, values))


SI = Units(True)
PLAIN = Units(False)


# --------------------------------------------------------- what a notebook shows of an object; :mod:`placelab.pictures` draws it

_draw: Callable[[Any], str] = repr


def draw_with(draw: Callable[[Any], str]) -> None:
    """Have objects drawn by a function that returns HTML; the rooms of graphs and schedules know no pictures."""
    global _draw
    _draw = draw


def bundle(shown: Any) -> dict[str, str]:
    """What Jupyter shows of an object: HTML in notebooks, its repr in terminals."""
    return {"text/plain": repr(shown), "text/html": _draw(shown)}

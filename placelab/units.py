"""How are numbers said? Three significant digits and the unit that fits."""

from __future__ import annotations

TIMES = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def seconds(value: float) -> str:
    """A time with three digits: ``12.3 µs``.

    >>> seconds(0.01234), seconds(0), seconds(90.0)
    ('12.3 ms', '0 s', '90 s')
    """
    for scale, unit in TIMES:
        if abs(value) >= 0.9995 * scale:
            return f"{float(f'{value / scale:.3g}'):g} {unit}"
    return "0 s" if value == 0 else f"{value:.3g} s"

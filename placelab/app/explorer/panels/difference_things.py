"""What differs in the use of physical things: a row per device, and per link that carries something. Data only."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from placelab.analysis.machine_use import LinkUse, device_use, link_use
from placelab.analysis.two_schedules import Difference
from placelab.base.units import PREFIXES, TIMES, Units

MOST = 200  # rows of links
LEAST = 1e-9  # of the largest value; what differs by less is rounding
Row = dict[str, Any]
Values = tuple[float, ...]
Pair = tuple[str, Values | None, Values | None]  # name, kept, now


def things(diff: Difference) -> tuple[list[Row], dict[str, list[str]]]:
    """Rows of devices and of links, and the heads of their measures with units, by the name of their group.

    A device of `b` stands beside that of `a` for which it counts (:attr:`Difference.matched`), and links with their devices.
    Nothing where one of the two clusters has no units.
    """
    units = diff.a.problem.cluster.units
    if units is not diff.b.problem.cluster.units:
        return [], {}
    devices = list(_devices(diff))
    links = list(_links(diff))[:MOST]
    counted = "none" not in (diff.a.problem.memory, diff.b.problem.memory)
    measures = [("busy", "s"), ("idle", "s"), *([("peak memory", "B")] if counted else [])]
    rows: list[Row] = []
    heads: dict[str, list[str]] = {}
    for what, pairs, told in (("device", devices, measures), ("link", links, [("busy", "s"), ("carried", "B")])):
        if pairs:
            cells, heads[what] = _written(pairs, told, units)
            rows += [dict(what=what, name=pair[0], cells=row, op=-1) for pair, row in zip(pairs, cells, strict=True)]
    return rows, heads


def _devices(diff: Difference) -> Iterable[Pair]:
    """Use of each device, the one whose busy time has changed most first."""
    before = device_use(diff.a)
    after = {diff.matched.get(name, name): (name, use) for name, use in device_use(diff.b).items()}
    found = []
    for name in dict.fromkeys([*before, *after]):
        own, now = after.get(name, (name, None))
        found.append((_both(name, own) if name in before else own, before.get(name), now))
    return sorted(found, key=_change)


def _links(diff: Difference) -> Iterable[Pair]:
    """Use of each link, the one whose busy time has changed most first.

    A shared link of `b` counts as that of `a` between the same devices, else as the one of its name.
    """
    kept = link_use(diff.a)
    shared = {link.pairs: link.name for link in kept if link.name}
    before = {link.name or link.pairs: link for link in kept}
    after = {}
    for link in link_use(diff.b):
        ends = frozenset((diff.matched.get(i, i), diff.matched.get(j, j)) for i, j in link.pairs)
        after[shared.get(ends, link.name) if link.name else ends] = link
    found = []
    for key in dict.fromkeys([*before, *after]):
        was = before.get(key)
        now = after.get(key)
        names = [_name(link) for link in (was, now) if link]
        found.append((_both(names[0], names[-1]), was and (was.busy, was.carried), now and (now.busy, now.carried)))
    return sorted(found, key=_change)


def _name(link: LinkUse) -> str:
    return link.name or " → ".join(next(iter(link.pairs)))


def _both(name: str, own: str) -> str:
    return name if own == name else f"{name} (now {own})"


def _change(pair: Pair) -> float:
    was, now = ((values or (0.0,))[0] for values in pair[1:])
    return -abs(now - was)


# -------------------------------------------------------------------- as text


def _written(pairs: Sequence[Pair], told: Sequence[tuple[str, str]], units: Units) -> tuple[list[list[str]], list[str]]:
    """The cells of each row, of each measure kept, now and difference; the heads of the measures, with their unit."""
    cells: list[list[str]] = [[] for _ in pairs]
    heads = []
    for i, (measure, unit) in enumerate(told):
        before = [was[i] if was else None for _, was, _ in pairs]
        after = [now[i] if now else None for _, _, now in pairs]
        most = max(value for value in (*before, *after) if value is not None)
        size, written = _scale(most, unit, units)
        heads.append(f"{measure} [{written}]" if written else measure)
        for row, was, now in zip(cells, before, after, strict=True):
            row += [_text(was, size, most), _text(now, size, most), _moved(was, now, size, most)]
    return cells, heads


def _scale(most: float, unit: str, units: Units) -> tuple[float, str]:
    """The unit in which a column is written whose largest value is this; its size, and "" for plain numbers."""
    if not units.si:
        return (units.second if unit == "s" else 1.0), ""
    sizes = TIMES if unit == "s" else [(size, f"{prefix}{unit}") for size, prefix in PREFIXES]
    least = TIMES[-1] if unit == "s" and most else (1.0, unit)
    return next(((size, name) for size, name in sizes if most >= 0.9995 * size), least)


def _text(value: float | None, size: float, most: float) -> str:
    """A value of a column in which the largest has three digits."""
    if value is None:
        return "–"
    largest = most / size
    rounded = round(value / size, 0 if largest >= 99.95 else 1 if largest >= 9.995 else 2)
    return f"{rounded:,.15g}" if rounded or not value else "≈ 0"


def _moved(was: float | None, now: float | None, size: float, most: float) -> str:
    """The difference with its sign."""
    change = (now or 0.0) - (was or 0.0)
    if abs(change) <= LEAST * most:
        return "0"
    text = _text(abs(change), size, most)
    return text if text == "≈ 0" else f"{'+' if change > 0 else '−'}{text}"

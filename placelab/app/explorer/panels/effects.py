"""What an edit did, in the few words of a note: what differs between two states, and by how much the makespan changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from placelab.app.explorer.offered import HandPlan, Job
from placelab.app.explorer.panels.options import COSTS
from placelab.app.explorer.panels.pickers import TRANSFERS
from placelab.app.explorer.spreads import Layers, Planned
from placelab.app.explorer.state import Spread, State
from placelab.base.errors import escaped
from placelab.base.units import TIMES, Units, counted, number, si
from placelab.problem.cluster import Cluster
from placelab.schedule.catalogue import partitioners, schedulers, transforms

LONGEST = 28  # characters of a name or a value
MOST = 3  # changes that are named
NAMES = {"speed": "FLOP/s", "bandwidth": "B/s", "memory": "B", "latency": "s"}
DEGREES = ("dp", "tp", "pp")


def said_of_change(before: State, after: State) -> str:
    """What differs between two states, in a few words; "" for nothing but how the cluster is drawn.

    Ops that are placed one by one have no makespan yet, and the numbers say how far they are: nothing is said of them.
    """
    if before.placed is not None or after.placed is not None:
        return ""
    said = [part for part in _parts(before, after) if part]
    more = [f"{len(said) - MOST} more"] if len(said) > MOST else []
    return ", ".join(said[:MOST] + more)


def said_of_effect(before: float, after: float, time: Callable[[float], str]) -> str:
    """How the makespan changed: ``110 → 112 ms``.

    >>> from placelab.base.units import SI
    >>> said_of_effect(0.11, 0.112, SI.time), said_of_effect(0.11, 0.11, SI.time)
    ('110 → 112 ms', 'still 110 ms')
    """
    old = time(before)
    new = time(after)
    return f"still {new}" if old == new else between(old, new)


def between(before: str, after: str, mark: str = "→") -> str:
    """Two values, with one unit where they share it.

    >>> between("16 GB", "8 GB"), between("900 MB", "8 GB"), between("3", "4"), between("2 … 4 GB", "8 GB")
    ('16 → 8 GB', '900 MB → 8 GB', '3 → 4', '2 … 4 → 8 GB')
    """
    value, _, unit = before.rpartition(" ")
    shared = value and after.rpartition(" ")[2] == unit and " " not in value.replace(" … ", "…")
    return f"{value if shared else before} {mark} {after}"


def written(value: float, column: str, units: Units) -> str:
    """A value of a column of the cluster, with its unit.

    >>> from placelab.base.units import PLAIN, SI
    >>> written(8e9, "memory", SI), written(2e-5, "latency", SI), written(3.0, "latency", PLAIN), written(np.inf, "memory", SI)
    ('8 GB', '20 µs', '3', 'unlimited')
    """
    if np.isinf(value):
        return "unlimited"
    if column == "latency" and units.si:
        return next((f"{value / scale:.3g} {unit}" for scale, unit in TIMES if value >= scale), f"{value:.3g} s")
    return units.amount(value, NAMES[column])


def span(values: np.ndarray, column: str, units: Units) -> str:
    """The value that all have, or the smallest and the largest."""
    ends = [written(float(value), column, units) for value in (values.min(), values.max())]
    return ends[0] if ends[0] == ends[1] else between(ends[0], ends[1], "…")


def _parts(before: State, after: State) -> Iterator[str]:
    """What differs, one after the other; "" for nothing."""
    if before.model is not after.model:
        yield _said_of_model(before, after)
        return
    yield _arrow("", before.placer, after.placer)
    yield _arrow("", before.scheduler, after.scheduler)
    if before.preset is not after.preset:
        yield f"cluster {_short(after.preset.title)}"
    elif before.cluster is not after.cluster or before.layout.order != after.layout.order:
        yield from _said_of_cluster(before, after)
    yield _arrow("memory model", before.memory, after.memory)
    yield _arrow("transfers", *(_titled(TRANSFERS, (s.transfers, s.duplex)) for s in (before, after)))
    yield _arrow("latency", before.latency, after.latency)
    yield _arrow("seed", before.seed, after.seed)
    yield _arrow("costs", *(_titled(COSTS, state.costs) for state in (before, after)))
    yield _arrow("compute", *(f"× {state.compute:g}" for state in (before, after)))
    yield _arrow("bytes", *(f"× {state.transfer:g}" for state in (before, after)))
    yield _arrow("prepare", *(" + ".join(state.prepare) or "nothing" for state in (before, after)))
    if before.own_plan and after.own_plan and before.hand is not after.hand:
        yield _said_of_move(before.own_plan, after.own_plan, after)
    if after.spread is not None and before.spread != after.spread:
        yield from _said_of_spread(before.spread, after.spread, after.cluster)
    yield _said_of_pins(before, after)
    yield from _said_of_options(before, after)


def _arrow(label: str, before: object, after: object) -> str:
    """``seed 0 → 3``; "" where they are equal."""
    return "" if before == after else f"{label} {_value(before)} → {_value(after)}".strip()


def _value(value: object) -> str:
    """A value as a user knows it, not too long."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if value is None:
        return "none"
    return _short(number(value) if isinstance(value, float) else str(value))


def _titled(titles: Mapping[str, Any], value: object) -> str:
    """The title that a menu has for a value."""
    return next((title for title, known in titles.items() if known == value), str(value))


def _short(name: str) -> str:
    """A name without what steers the page's text; of a long one the last scopes that fit, or its end, which tells more."""
    name = escaped(name)
    if len(name) <= LONGEST:
        return name
    ends = (name[at:] for at, letter in enumerate(name) if letter in "/." and at)
    return f"…{next((end for end in ends if len(end) < LONGEST), name[1 - LONGEST :])}"


# -------------------------------------------------------------------- models and jobs


def _said_of_model(before: State, after: State) -> str:
    """Another model, or what has become of the step of one: its job, or other settings of it."""
    job = after.job
    if job is None:
        alone = before.base is not None and before.base.model is after.model
        return "one step, no job" if alone else f"model {_short(after.model.title)}"
    same = before.base is not None and after.base is not None and before.base.model is after.base.model
    if not same or before.job is None or before.job.kind != job.kind:
        return f"job {job.title}"
    return ", ".join(_differing(before.job, job))


def _differing(before: Job, after: Job) -> Iterator[str]:
    for field in fields(Job):
        old, new = (getattr(job, field.name) for job in (before, after))
        if field.name == "bucket_bytes" and old != new:
            yield f"bucket {between(si(old, 'B'), si(new, 'B'))}"
        else:
            yield from filter(None, [_arrow(_worded(field.name), old, new)])


def _worded(name: str) -> str:
    return name.replace("_", " ")


def _said_of_spread(before: Spread | None, after: Spread, cluster: Cluster) -> Iterator[str]:
    """What was asked of the layers or the plan; where nothing else was, the split or the degrees."""
    pairs: list[tuple[Any, Any, tuple[str, ...]]] = []
    if isinstance(before, Layers) and isinstance(after, Layers):
        pairs = [(before, after, ("objective", "phase", "batch", "sequence", "context", "microbatches", "headroom"))]
    elif isinstance(before, Planned) and isinstance(after, Planned):
        plan = tuple(field.name for field in fields(after.plan) if field.name not in DEGREES)
        pairs = [(before, after, ("batch", "sequence")), (before.plan, after.plan, plan)]
    said = [_arrow(_worded(name), getattr(a, name), getattr(b, name)) for a, b, names in pairs for name in names]
    yield from filter(None, said)
    if not any(said) or (pairs and _degrees(before) != _degrees(after)):
        yield after.words(cluster)


def _degrees(spread: Spread | None) -> tuple[int, ...]:
    return tuple(getattr(spread.plan, name) for name in DEGREES) if isinstance(spread, Planned) else ()


# -------------------------------------------------------------------- ops, options


def _said_of_pins(before: State, after: State) -> str:
    """Which ops were tied to which device, or to none any more."""
    if before.pins == after.pins:
        return ""
    renamed = bool(before.pins) and before.cluster.names != after.cluster.names
    old = _rules(before.with_cluster(after.cluster, after.layout) if renamed else before)
    new = _rules(after)
    changed = [op for op in {**new, **old} if old.get(op) != new.get(op)]
    goals = {new.get(op) for op in changed}
    if not changed or len(goals) > 1:
        return f"pins of {counted(len(changed), 'op')}" if changed else ""
    who = _together([op for op in {**new, **old} if op in set(changed)], after)
    (goal,) = goals
    return f"{who} → {_value(' and '.join(' or '.join(names) for names in goal))}" if goal else f"{who} unpinned"


def _rules(state: State) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Names that each pinned op is tied to, those that were asked for before those that went with them."""
    return {op: tuple(where[op] for where in state.pins if op in where) for pins in state.pins for op in pins}


def _together(ops: Sequence[str], state: State) -> str:
    """The first of some ops, or the largest scope around it of which all ops are among them, and how many more there are."""
    among = set(ops)
    first = ops[0]
    names = state.graph.names.tolist()
    if len(among) == len(names) > 1:
        return f"all {counted(len(names), 'op')}"
    mark = "/" if "/" in first else "."
    for at in (i for i, letter in enumerate(first) if letter == mark and i):
        inside = [name for name in names if name.startswith(first[: at + 1]) or name == first[:at]]
        if len(inside) > 1 and among.issuperset(inside):
            name = _short(first[:at])
            more = len(among) - len(inside)
            return f"{name} + {_others(inside, more, state)}" if more else f"{name} ({counted(len(inside), 'op')})"
    more = len(among) - 1
    return f"{_short(first)} + {_others([first], more, state)}" if more else _short(first)


def _others(ops: Sequence[str], more: int, state: State) -> str:
    """How many more ops, which share a group with the first, or not."""
    return counted(more, "colocated op" if len(state.with_groups(ops)) - len(ops) >= more else "op")


def _said_of_move(before: HandPlan, after: HandPlan, state: State) -> str:
    """Which op has another device by hand; "a different order" where none has."""
    moved = np.flatnonzero(before.device != after.device)
    if not len(moved):
        return "a different order"
    names = state.cluster.names
    here, there = ({names[d] for d in plan.device[moved]} for plan in (before, after))
    if len(there) > 1:
        return f"{counted(len(moved), 'op')} on other devices"
    who = _together(state.graph.names[moved].tolist(), state)
    return f"{who} {_short(min(here))} → {_short(min(there))}" if len(here) == 1 else f"{who} → {_short(min(there))}"


def _said_of_options(before: State, after: State) -> Iterator[str]:
    """Options of strategies and transformations with their values, the default where none was set."""
    catalogues: Mapping[str, Mapping[str, Any]] = {
        "partitioner": partitioners(),
        "scheduler": schedulers(),
        "transform": transforms(),
    }
    for kind, name in {**before.options, **after.options}:
        old, new = (state.options.get((kind, name), {}) for state in (before, after))
        known = getattr(catalogues[kind].get(name), "options", {})
        for option in {**old, **new}:
            _, default = known.get(option, (None, None))
            yield _arrow(f"{name} {_worded(option)}", old.get(option, default), new.get(option, default))


# -------------------------------------------------------------------- devices and links


def _said_of_cluster(before: State, after: State) -> Iterator[str]:
    """Devices that came, went or moved, with all that follows from it; else names and values that differ."""
    old = before.cluster
    new = after.cluster
    if old.n_devices != new.n_devices:
        came, gone = ([name for name in a.names if name not in b.names] for a, b in ((new, old), (old, new)))
        yield from (f"{_listed(names)} {how}" for names, how in ((came, "added"), (gone, "removed")) if names)
    elif old.hosts != new.hosts:
        yield _said_of_hosts(old, new)
    elif old.names != new.names:
        pairs = [(a, b) for a, b in zip(old.names, new.names, strict=True) if a != b]
        yield (
            f"{_short(pairs[0][0])} renamed {_short(pairs[0][1])}"
            if len(pairs) == 1
            else f"{len(pairs)} devices renamed"
        )
    elif links := [(a, b) for a, b in zip(old.links, new.links, strict=False) if a.bandwidth != b.bandwidth]:
        for a, b in links:
            values = (written(link.bandwidth, "bandwidth", new.units) for link in (a, b))
            yield f"{_short(a.name)} bandwidth {between(*values)}"
    else:
        yield from _said_of_values(old, new)
        if old is new:
            yield "cards in another order"


def _said_of_hosts(old: Cluster, new: Cluster) -> str:
    """Devices on another host; the host's name where all of it have another."""
    moved = [d for d in range(new.n_devices) if old.hosts[d] != new.hosts[d]]
    to = {new.hosts[d] for d in moved}
    where = _short(min(to))
    if len({*zip(old.hosts, new.hosts, strict=True)}) == len(set(old.hosts)) == len(set(new.hosts)) and len(to) == 1:
        return f"host {_short(old.hosts[moved[0]])} renamed {where}"
    return f"{_listed([new.names[d] for d in moved])} → {where if len(to) == 1 else 'other hosts'}"


def _said_of_values(old: Cluster, new: Cluster) -> Iterator[str]:
    """Speed, memory, bandwidth and latency: of a device, a link, or of how many."""
    for column in NAMES:
        a = getattr(old, column)
        b = getattr(new, column)
        changed = a != b
        if changed.any():
            whom = _links(changed, new) if a.ndim == 2 else _devices(changed, new)
            values = [span(x[changed], column, new.units) for x in (a, b)]
            yield f"{whom} {column} {between(*values)}".strip()


def _devices(changed: np.ndarray, cluster: Cluster) -> str:
    """The device, or how many; "" for all of several."""
    names = [cluster.names[d] for d in np.flatnonzero(changed)]
    return "" if len(names) == len(cluster.names) > 1 else _listed(names)


def _links(changed: np.ndarray, cluster: Cluster) -> str:
    """The link, the device whose links they are, or how many; "" for all of several."""
    pairs = np.argwhere(changed).tolist()
    names = cluster.names
    n = len(names)
    a, b = pairs[0]
    if len(pairs) == 1:
        return f"{_short(names[a])} → {_short(names[b])}"
    if {*map(tuple, pairs)} == {(a, b), (b, a)}:
        return f"{_short(names[a])} ↔ {_short(names[b])}"
    if len(pairs) == n * (n - 1):
        return ""
    ends = [d for d in (a, b) if all(d in pair for pair in pairs)]
    return f"links of {_short(names[ends[0]])}" if ends else counted(len(pairs), "link")


def _listed(names: Sequence[str]) -> str:
    return _short(names[0]) if len(names) == 1 else counted(len(names), "device")

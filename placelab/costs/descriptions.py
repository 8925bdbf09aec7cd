"""Describe in words where costs come from: those of a graph, and the seconds of one op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import numpy as np

from placelab.base import units
from placelab.base.errors import expect
from placelab.base.units import seconds, si
from placelab.costs.roofline import TO_MATRIX_UNITS, bytes_touched, distinct
from placelab.formats.op_kinds import FREE, UNKNOWN, category
from placelab.problem.coverage import is_number, known_shares, provenance, whole_percent
from placelab.problem.graph import OpGraph

COUNTS = {  # key of metadata["costs"] → label, what one of them is, what several are
    "untimed": ("unknown time", "job counts 0 s", "jobs count 0 s"),
    "negative": ("negative size", "size counts without its sign", "sizes count without their signs"),
    "sized_by_readers": ("size by readers", "file has no size at its writer", "files have no size at their writers"),
    "other_sizes": (
        "other size",
        "reader gives another size than the writer",
        "readers give other sizes than the writers",
    ),
    "external": ("from outside", "file that no job writes costs nothing", "files that no job writes cost nothing"),
    "unparented": (
        "no parent",
        "reading of a file that several jobs write, no parent among them, has no edge",
        "readings of files that several jobs write, no parent among them, have no edge",
    ),
    "unwaited": ("not waited for", "kernel that nothing waits for", "kernels that nothing waits for"),
}
BODIES = "memory of the tensors within loops and branches, which are single ops"
KINDS = 8  # unknown kinds and unknown dimensions listed by name


def sources(graph: OpGraph) -> list[tuple[str, str]]:
    """(label, sentence) pairs for operations, time columns, unknown kinds, sizes and dimensions, factors, loops and branches.

    The sentences contain names from the file unescaped: escape them where they are shown.

    Examples
    --------
    >>> costs = {"compute": "FLOP", "unknown": {"Foo": 1}}
    >>> dict(sources(OpGraph.from_arrays(["a"], [1.0], [], metadata={"costs": costs})))["unknown kind"]
    '1 op: Foo × 1'
    """
    expect(graph, OpGraph, "costs.sources")
    known = provenance(graph)
    rows = [
        ("operations", _operations(graph, known)),
        *_columns(graph, known.get("columns", {})),
        ("known", _known(known_shares(graph))),
        ("unknown kind", _unknown(known.get("unknown", {}), "columns" in known)),
        ("unknown size", _unsized(known.get("unsized"))),
        *_counts(known),
        ("guessed shape", _kept(known.get("kept"))),
        ("contradiction", _contradicted(known.get("contradicted"))),
        ("not read", ", ".join(f"{key} × {n:g}" for key, n in list(_mapping(known.get("ignored")).items())[:KINDS])),
        ("open dimension", open_sizes(graph)),
        ("scaled", _scaled(known.get("scaled", {}))),
        ("loops", _loops(graph.metadata.get("loops"))),
        ("branches", _branches(graph.metadata.get("branches"))),
        ("not counted", _bodies(graph)),
    ]
    return [(label, text) for label, text in rows if text]


def _known(shares: Mapping[str, float]) -> str:
    """The coverage that a reader has left; nothing where everything is as the file has it."""
    if not {"ops", "bytes"} <= shares.keys() or shares["ops"] == shares["bytes"] == shares.get("flop_by_file"):
        return ""
    ways = (("rule", "counted from shapes"), ("profile", "measured"), ("file", "as the file has them"))
    parts = [(shares.get(f"flop_by_{key}", 0.0), text) for key, text in ways]
    said = [f"{whole_percent(share)} {text}" for share, text in parts if 0 < share < shares["ops"]]
    listed = f" ({', '.join(said)})" if said else ""
    return f"costs of {whole_percent(shares['ops'])} of the ops{listed}, sizes of {whole_percent(shares['bytes'])} of the tensors"


def _operations(graph: OpGraph, known: Mapping[str, Any]) -> str:
    unit = str(known.get("compute", ""))
    speed = graph.metadata.get("reference_speed")
    if unit == "FLOP":
        return "FLOP, counted from shapes"
    unit = unit or ("measured seconds × reference speed" if speed else "as the model has them")
    counted = _source(known.get("measured"))
    return unit + (f", {si(float(speed), 'FLOP/s')}" if speed is not None and is_number(speed) else "") + counted


def _columns(graph: OpGraph, how: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name in graph.time_types:
        other = ", and on types without times, scaled by speed" if name == graph.time_default else ""
        yield f"time on {name}", _column(how.get(name, {})) + other


def _column(how: Mapping[str, Any]) -> str:
    if how.get("how") == "measured":
        return "measured" + _source(how)
    if how.get("how") != "estimated":
        return "as the model has it"
    parts = [
        f"{how.get('by')}",
        _quantity(how, "matmul", "FLOP/s"),
        _quantity(how, "memory_bandwidth", "B/s"),
        f"{seconds(how['overhead'])} per op" if is_number(how.get("overhead")) else "",
    ]
    return "estimated: " + ", ".join(part for part in parts if part)


def _source(how: Any) -> str:
    if not isinstance(how, Mapping):
        return ""
    n = how["without"] if is_number(how.get("without")) else 0
    missing = f"; {n:,} {'op' if n == 1 else 'ops'} not measured" if n else ""
    return (f": {how['source']}" if how.get("source") else "") + missing


def _quantity(how: Mapping[str, Any], label: str, unit: str) -> str:
    return si(how[label], unit) if is_number(how.get(label)) else ""


def _unknown(kinds: Mapping[str, Any], timed: bool) -> str:
    ranked = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    n = sum(kinds.values())
    if not n:
        return ""
    shown = ", ".join(f"{kind or 'no kind'} × {count:g}" for kind, count in ranked[:KINDS])
    more = f" and {len(ranked) - KINDS} more" if len(ranked) > KINDS else ""
    return f"{n:,} {'op' if n == 1 else 'ops'}{', taken to be bound by memory' * timed}: {shown}{more}"


def _unsized(n: Any) -> str:
    return f"{n:,} {'output counts' if n == 1 else 'outputs count'} 0 bytes" if is_number(n) and n > 0 else ""


def _mapping(value: Any) -> dict[str, float]:
    """The numbers in an object; {} if it is none."""
    return {str(key): n for key, n in value.items() if is_number(n)} if isinstance(value, Mapping) else {}


def _counts(known: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What readers count, in words: of each key of ``COUNTS`` that is above 0."""
    for key, (label, one, several) in COUNTS.items():
        n: Any = known.get(key)
        size: Any = known.get(f"{key}_bytes")
        if is_number(n) and n > 0:
            yield label, f"{n:,} {one if n == 1 else several}" + (f", {si(size, 'B')}" if is_number(size) else "")


def _kept(kinds: Any) -> str:
    """Ops of unknown kinds whose output is taken to be like their first input."""
    found = {kind: n for kind, n in kinds.items() if is_number(n)} if isinstance(kinds, Mapping) else {}
    listed = _unknown(found, timed=False)
    return f"the first input's for {listed}" if listed else ""


def _contradicted(values: Any) -> str:
    """Values of which the file declares another shape than the one that follows."""
    if not isinstance(values, Mapping) or not values:
        return ""
    listed = "; ".join(f"{name} is declared {shapes}" for name, shapes in list(values.items())[:KINDS])
    return f"{listed}{f'; and {len(values) - KINDS:,} more' if len(values) > KINDS else ''}"


def open_sizes(graph: OpGraph) -> str:
    """Sizes that unknown dimensions were given: by name in ONNX, the batch for a shape's first one in TensorFlow; "" if none.

    The names are those of the file, unescaped.
    """
    known = provenance(graph)
    assumed: Any = known.get("assumed")
    batch: Any = known.get("batch")
    if isinstance(assumed, Mapping):
        taken = [f"{name} taken as {size:,}" for name, size in assumed.items() if is_number(size)]
        more = f" and {len(taken) - KINDS:,} more" if len(taken) > KINDS else ""
        return ", ".join(taken[:KINDS]) + more
    if is_number(assumed) and assumed > 0 and is_number(batch):
        outputs = "output" if assumed == 1 else "outputs"
        return f"batch taken as {batch:,}, the first unknown dimension of {assumed:,} {outputs}"
    return ""


def _scaled(factors: Mapping[str, Any]) -> str:
    return ", ".join(f"{label} × {factor:.3g}" for label, factor in factors.items() if factor != 1)


def _loops(loops: Any) -> str:
    """How often each loop runs, and how many of them have a number that the file does not say."""
    rows = _rows(loops, "trips")
    assumed = [row for row in rows if row.get("known") is not True]
    listed = [
        f"{row['op']} × {row['trips']:,}{'' if row.get('known') is True else ' (assumed' + _most(row) + ')'}"
        for row in rows
    ]
    hint = f"; the file does not say how often {len(assumed):,} of {len(rows):,} run: trips" if assumed else ""
    return _shown(listed) + hint


def _most(row: Mapping[str, Any]) -> str:
    return f", at most {row['most']:,}" if is_number(row.get("most")) else ""


def _branches(branches: Any) -> str:
    """Which side of each branch counts."""
    rows = _rows(branches, "taken", "branches")
    listed = [f"{row['op']}: {row['taken'] + 1:,} of {row['branches']:,}" for row in rows]
    return ("the side of most operations counts: " if rows else "") + _shown(listed)


def _bodies(graph: OpGraph) -> str:
    """What is left out where an op has bodies."""
    return BODIES if _loops(graph.metadata.get("loops")) or _branches(graph.metadata.get("branches")) else ""


def _rows(rows: Any, *numbers: str) -> list[Mapping[str, Any]]:
    """The rows that have an op and these numbers; metadata may hold anything."""
    listed = [row for row in rows if isinstance(row, Mapping) and "op" in row] if isinstance(rows, list) else []
    return [row for row in listed if all(is_number(row.get(number)) for number in numbers)]


def _shown(texts: list[str]) -> str:
    more = f" and {len(texts) - KINDS:,} more" if len(texts) > KINDS else ""
    return ", ".join(texts[:KINDS]) + more


def describe_op(graph: OpGraph, op: str | int, device: str) -> str:
    """Describe where an op's seconds on a device come from: an estimate, a measurement, the model, or compute / speed.

    Parameters
    ----------
    op
        Name or number of the op.
    device
        Device name or type; the default time column is used if it has none of its own.

    Raises
    ------
    FormatError
        No op has that name or number.

    Notes
    -----
    O(ops + edges).

    Examples
    --------
    >>> from placelab.costs.roofline import estimate
    >>> g = OpGraph.from_arrays(["a", "b"], [2e12, 8], [(0, 1)], edge_bytes=[4e6], kind=["MatMul", "Relu"])
    >>> describe_op(estimate(g, "h100"), "a", "h100")
    'estimated for h100: 2 TFLOP at 66.9 TFLOP/s (its 4 MB take 1.19 µs), and 5 µs to start it'
    >>> describe_op(estimate(g, "h100"), "b", "h100")
    'estimated for h100: 4 MB at 3.35 TB/s (its 8 FLOP take 1.2e-13 s), and 5 µs to start it'
    >>> describe_op(g, "a", "h100")
    '2 T operations divided by the speed of the device'
    """
    expect(graph, OpGraph, "costs.describe_op")
    v = int(op) if isinstance(op, (int, np.integer)) and 0 <= op < graph.n_ops else graph.index(cast(str, op))
    j = graph.time_column(device, device)
    if j < 0 or graph.time is None or np.isnan(graph.time[v, j]):
        return f"{units.si(graph.compute[v], '')} operations divided by the speed of the device".replace("  ", " ")
    column = graph.time_types[j]
    note = provenance(graph).get("columns", {}).get(column, {})
    if note.get("how") == "measured":
        source = f"measured on {column} ({note.get('source') or 'source unknown'})"
        return source if graph.time[v, j] else f"{source}: it was never seen to run, so it takes no time"
    if note.get("how") == "estimated":
        return f"estimated for {column}: {_roofline(graph, v, note)}"
    return f"seconds on {column} that came with the graph"


def _roofline(graph: OpGraph, v: int, note: Mapping[str, Any]) -> str:
    kind = str(graph.kind[v])
    flop = float(graph.compute[v])
    sort = category(kind)
    if sort in FREE and not flop:
        return f"{kind} starts nothing on a device, so it takes no time"
    peak, rate, overhead = (_figure(note, key) for key in (_peak(sort), "memory_bandwidth", "overhead"))
    if not peak or not rate:
        return "by figures that are not recorded"
    reached = _figure(note, "efficiency") or 1.0
    peak = peak * reached
    rate = rate * reached
    size = float(bytes_touched(graph, *distinct(graph.kind))[v])
    ways = [
        (flop / peak, units.si(flop, "FLOP"), units.si(peak, "FLOP/s")),
        (size / rate, units.si(size, "B"), units.si(rate, "B/s")),
    ]
    (_, most, pace), (least, rest, _) = sorted(ways, reverse=True)
    work = f"{most} at {pace} (its {rest} take {units.seconds(least)})" if flop and size else f"{most} at {pace}"
    unknown = f"; no table knows {kind or 'an op without a kind'}" if sort == UNKNOWN else ""
    scaled = "; costs were scaled since" if "scaled" in provenance(graph) else ""
    return f"{work}, and {units.seconds(overhead)} to start it{unknown}{scaled}"


def _peak(sort: str) -> str:
    return "matmul" if sort in TO_MATRIX_UNITS else "speed"


def _figure(note: Mapping[str, Any], key: str) -> float:
    value = note.get(key, 0.0)
    return float(value) if is_number(value) and value >= 0 else 0.0

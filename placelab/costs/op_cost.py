"""Describe in one sentence where the time of an op comes from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np

from placelab.base import units
from placelab.base.errors import deprecate, expect
from placelab.costs.origin import is_number, provenance
from placelab.costs.roofline import TO_MATRIX_UNITS, bytes_touched, distinct
from placelab.formats.flops.kinds import FREE, UNKNOWN, category
from placelab.problem.graph import OpGraph


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


def told(graph: OpGraph, op: str | int, device: str) -> str:
    """:func:`describe_op` by its former name; deprecated."""
    deprecate("costs.told is called costs.describe_op now")
    return describe_op(graph, op, device)


def _roofline(graph: OpGraph, v: int, note: Mapping[str, Any]) -> str:
    kind, flop = str(graph.kind[v]), float(graph.compute[v])
    sort = category(kind)
    if sort in FREE and not flop:
        return f"{kind} starts nothing on a device, so it takes no time"
    peak, rate, overhead = (_figure(note, key) for key in (_peak(sort), "memory_bandwidth", "overhead"))
    if not peak or not rate:
        return "by figures that are not recorded"
    reached = _figure(note, "efficiency") or 1.0
    peak, rate = peak * reached, rate * reached
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

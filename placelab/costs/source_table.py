"""Describe in words where a graph's costs come from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from placelab.base.errors import expect
from placelab.base.units import seconds, si
from placelab.costs.origin import is_number, provenance
from placelab.problem.graph import OpGraph

KINDS = 8  # unknown kinds and unknown dimensions listed by name


def sources(graph: OpGraph) -> list[tuple[str, str]]:
    """(label, sentence) pairs for operations, time columns, unknown kinds, sizes and dimensions, and factors.

    The sentences contain names from the file unescaped: escape them where they are shown.

    Examples
    --------
    >>> sources(OpGraph.from_arrays(["a"], [1.0], [], metadata={"costs": {"compute": "FLOP", "unknown": {"Foo": 1}}}))
    [('operations', 'FLOP, counted from shapes'), ('unknown kind', '1 op: Foo × 1')]
    """
    expect(graph, OpGraph, "costs.sources")
    known = provenance(graph)
    rows = [
        ("operations", _operations(graph, known)),
        *_columns(graph, known.get("columns", {})),
        ("unknown kind", _unknown(known.get("unknown", {}), "columns" in known)),
        ("unknown size", _unsized(known.get("unsized"))),
        ("open dimension", _assumed(known.get("assumed"), known.get("batch"))),
        ("scaled", _scaled(known.get("scaled", {}))),
    ]
    return [(label, text) for label, text in rows if text]


def _operations(graph: OpGraph, known: Mapping[str, Any]) -> str:
    unit, speed = str(known.get("compute", "")), graph.metadata.get("reference_speed")
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
        _figure(how, "matmul", "FLOP/s"),
        _figure(how, "memory_bandwidth", "B/s"),
        f"{seconds(how['overhead'])} per op" if is_number(how.get("overhead")) else "",
    ]
    return "estimated: " + ", ".join(part for part in parts if part)


def _source(how: Any) -> str:
    if not isinstance(how, Mapping):
        return ""
    n = how["without"] if is_number(how.get("without")) else 0
    missing = f"; {n:,} {'op' if n == 1 else 'ops'} not measured" if n else ""
    return (f": {how['source']}" if how.get("source") else "") + missing


def _figure(how: Mapping[str, Any], label: str, unit: str) -> str:
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


def _assumed(assumed: Any, batch: Any) -> str:
    """Sizes that unknown dimensions were given: by name in ONNX, the batch for a shape's first one in TensorFlow."""
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

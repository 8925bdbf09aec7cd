"""How long would an op take on a device nobody has at hand? Its roofline: arithmetic or memory, whichever takes longer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from placelab.costs.origin import provenance
from placelab.errors import FormatError, UnsupportedError, expect
from placelab.flops.kinds import FREE, PRODUCTS, UNKNOWN, category, name_of
from placelab.hardware import DEVICES, Spec, chosen
from placelab.problem.graph import OpGraph
from placelab.problem.time_columns import known_speeds

DEFAULT = ("rtx2080ti", "h100")
TO_MATRIX_UNITS = PRODUCTS | {"call"}  # products are what a called function spends its time on, mostly


def estimate(
    graph: OpGraph,
    specs: Any = None,
    *,
    precision: str | None = None,
    overhead: float | None = None,
    efficiency: float = 1.0,
) -> OpGraph:
    """The graph with a time column for each device type: ``max(FLOP / peak, bytes / memory bandwidth) + overhead``.

    Parameters
    ----------
    graph
        Its compute counts FLOP, its kinds are those of TensorFlow, ONNX or PyTorch.
    specs
        Names from :func:`placelab.costs.specs`, Spec objects, mappings of their arguments, or a list mixing them. Default: an RTX
        2080 Ti and an H100.
    precision
        Of matrix products, convolutions, attention and recurrent cells: a key of ``Spec.matmul``, such as ``"float16"`` or
        ``"tf32"``; a device that lacks it takes its `speed`. Default: what ``metadata["costs"]["precision"]`` says, else
        ``"float32"``. The bytes are the graph's, whatever the precision.
    overhead
        Seconds per op beyond its work; default: each spec's own.
    efficiency
        Share of the peaks that ops reach, above 0, at most 1.

    Returns
    -------
    OpGraph
        Other time columns stay. ``time_speed`` has the speed of each spec, so that seconds follow a device's speed, and
        ``time_default`` is the first spec; ``metadata["costs"]`` says how the columns came about and lists under
        ``unknown`` the kinds, and how many ops, that were taken to be bound by memory because no table knows them.

    Raises
    ------
    UnsupportedError
        Compute that is not FLOP: drawn at random, measured seconds times a reference speed, or NaN.
    FormatError
        A spec, precision, overhead or efficiency that is none.

    Notes
    -----
    Bytes touched: each input once, outputs and persistent bytes; of a gather or a slice, twice the outputs and the smaller
    inputs; of what only fills its output, the outputs; of an optimiser, the variable and its slots, read and written; of what
    writes into a variable without an output, its largest input once or twice more. Views, control flow, parameters, inputs
    and constants take no time, not even the overhead: they start nothing on a device, unless the graph says that they
    compute. A call of a function (loop, branch) runs at the speed of products. Where a parameter is no op (ONNX, PyTorch), its
    bytes count at the op that holds them alone, not at others that read it, too. Caches and fusion are not modelled.
    O(ops + edges), plus one look at each distinct kind.

    References
    ----------
    Williams, Waterman, Patterson (2009), Roofline.

    Examples
    --------
    >>> g = OpGraph.from_arrays(["a", "b"], [6.69e13, 0], [(0, 1)], edge_bytes=[3.35e12], kind=["MatMul", "Identity"])
    >>> estimate(g, "h100", overhead=0.0).time.tolist()
    [[1.0], [0.0]]
    """
    expect(graph, OpGraph, "costs.estimate")
    _check_unit(graph)
    precision = provenance(graph).get("precision", "float32") if precision is None else precision
    wanted = chosen(DEFAULT if specs is None else specs)
    _check_options(wanted, precision, overhead, efficiency)
    kinds, of = distinct(graph.kind)
    product = _are(kinds, of, *TO_MATRIX_UNITS)
    free = _are(kinds, of, *FREE) & (graph.compute == 0)
    touched = bytes_touched(graph, kinds, of)
    seconds = {}
    for spec in wanted:
        peak = np.where(product, spec.matmul.get(precision, spec.speed), spec.speed)
        work = np.maximum(graph.compute / peak, touched / spec.memory_bandwidth) / efficiency
        seconds[spec.name] = np.where(free, 0.0, work + (spec.overhead if overhead is None else overhead))
    notes = {spec.name: _note(spec, precision, overhead, efficiency) for spec in wanted}
    count = np.bincount(of, minlength=len(kinds)).tolist()
    unknown = {kind: n for kind, n in zip(kinds, count, strict=True) if category(kind) == UNKNOWN}
    return with_times(graph, seconds, notes, {spec.name: spec.speed for spec in wanted}, unknown, wanted[0].name)


def with_times(
    graph: OpGraph,
    seconds: Mapping[str, np.ndarray],
    notes: Mapping[str, Any],
    speed: Mapping[str, float],
    unknown: Mapping[str, int],
    default: str | None,
) -> OpGraph:
    """The graph with these time columns beside its other ones, their speeds where known, and notes on where they come from.

    `default` becomes the default column; with None, the graph keeps its own.
    """
    held = {} if graph.time is None else dict(zip(graph.time_types, graph.time.T, strict=True))
    all_columns = dict(sorted((held | seconds).items()))
    told = provenance(graph)
    known = {name: s for name, s in known_speeds(graph).items() if name not in seconds} | dict(speed)
    told["columns"] = told.get("columns", {}) | dict(notes)
    if unknown or "unknown" in told:
        listed = told.get("unknown", {})
        told["unknown"] = {kind: max(listed.get(kind, 0), unknown.get(kind, 0)) for kind in sorted({*listed, *unknown})}
    return graph.replace(
        time=np.stack(list(all_columns.values()), axis=1),
        time_types=tuple(all_columns),
        time_speed=known,
        time_default=default or graph.time_default,
        metadata={**graph.metadata, "costs": told},
    )


def _note(spec: Spec, precision: str, overhead: float | None, efficiency: float) -> dict[str, Any]:
    return {
        "how": "estimated",
        "by": "roofline",
        "precision": precision,
        "speed": spec.speed,
        "matmul": spec.matmul.get(precision, spec.speed),
        "memory_bandwidth": spec.memory_bandwidth,
        "overhead": spec.overhead if overhead is None else float(overhead),
        "efficiency": float(efficiency),
        "source": spec.source,
    }


# -------------------------------------------------------------------- bytes

TOUCHED_PER_GRADIENT = {  # of an optimiser: the gradient read, the variable and each slot read and written
    "GradientDescent": 3,
    "Momentum": 5,
    "CenteredRMSProp": 9,
    "RMSProp": 7,
    "Adagrad": 5,
    "Adadelta": 7,
    "Ada": 7,
    "Ftrl": 7,
}
WRITES = {
    "Assign": 1,
    "AssignVariableOp": 1,
    "AssignAdd": 2,
    "AssignAddVariableOp": 2,
    "AssignSub": 2,
    "AssignSubVariableOp": 2,
}


def distinct(kind: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The distinct kinds, in order of appearance, and which of them each op has."""
    each = kind.tolist()
    number = {text: i for i, text in enumerate(dict.fromkeys(each))}
    return list(number), np.fromiter(map(number.__getitem__, each), dtype=np.int64, count=len(each))


def bytes_touched(graph: OpGraph, kinds: list[str], of: np.ndarray) -> np.ndarray:
    """Bytes that each op reads and writes, shape (n_ops,); `kinds` are the distinct ones, `of` which of them each op has."""
    read, largest = _read(graph)
    written, held = graph.outputs, graph.persistent
    table = np.where(held > 0, 0.0, largest)  # a parameter that is no op stands in the persistent bytes
    rows, fills = _are(kinds, of, "gather"), _are(kinds, of, "fill", "random")
    touched = np.select([rows, fills], [read - table + 2 * written, written], read + written + held)
    per_gradient, writes = (np.array([f(kind) for kind in kinds], dtype=float)[of] for f in (_per_gradient, _writes))
    return np.maximum(touched, per_gradient * largest) + np.where(written == 0, writes * largest, 0.0)


def _read(graph: OpGraph) -> tuple[np.ndarray, np.ndarray]:
    """Bytes of all inputs of each op, and of its largest one."""
    # Edges are sorted by tensor and consumer: a tensor that an op reads twice is read once.
    first = np.ones(graph.n_edges, dtype=bool)
    first[1:] = (np.diff(graph.edge_tensor) != 0) | (np.diff(graph.consumer) != 0)
    largest = np.zeros(graph.n_ops)
    np.maximum.at(largest, graph.consumer, graph.edge_bytes)
    return np.bincount(graph.consumer, graph.edge_bytes * first, minlength=graph.n_ops), largest


def _are(kinds: list[str], of: np.ndarray, *categories: str) -> np.ndarray:
    return np.array([category(kind) in categories for kind in kinds], dtype=bool)[of]


def _per_gradient(kind: str) -> float:
    if category(kind) != "optimiser":
        return 0.0
    return next((times for part, times in TOUCHED_PER_GRADIENT.items() if part in kind), 0.0)


def _writes(kind: str) -> float:
    """How often what is written into a variable crosses the memory beyond being read: written, or read, added to and written."""
    return WRITES.get(name_of(kind), 2.0 if category(kind) == "scatter" else 0.0)


# -------------------------------------------------------------------- checks


def _check_unit(graph: OpGraph) -> None:
    told = provenance(graph).get("compute", "FLOP")
    if told != "FLOP":
        raise UnsupportedError(
            f"costs of {graph.title} are {told!r:.80}, not FLOP, so no time can be estimated from them"
        )
    if "reference_speed" in graph.metadata and "costs" not in graph.metadata:
        raise UnsupportedError(
            f"compute of {graph.title} is measured seconds times a reference speed, not FLOP; it has its times already"
        )
    if np.isnan(graph.compute).any():
        name = graph.names[int(np.flatnonzero(np.isnan(graph.compute))[0])]
        raise UnsupportedError(
            f"op {name!r} of {graph.title} has no compute, so its time cannot be estimated; give it FLOP"
        )


def _check_options(wanted: list[Spec], precision: Any, overhead: Any, efficiency: Any) -> None:
    known = list(dict.fromkeys(key for spec in (*DEVICES, *wanted) for key in spec.matmul))
    if precision not in known:
        raise FormatError(f"precision is {precision!r:.80}; expected one of {', '.join(known)}")
    if overhead is not None and not (isinstance(overhead, (int, float)) and 0 <= overhead < np.inf):
        raise FormatError(f"overhead is {overhead!r:.80}; expected seconds, 0 or more")
    if not (isinstance(efficiency, (int, float)) and 0 < efficiency <= 1):
        raise FormatError(f"efficiency is {efficiency!r:.80}; expected a number above 0 and at most 1")

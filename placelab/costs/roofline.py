"""Estimate how long ops take on a device by the roofline model: arithmetic or memory traffic, whichever takes longer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, PlacelabError, UnsupportedError, expect
from placelab.base.index_arrays import LARGEST
from placelab.formats.op_kinds import FREE, PRODUCTS, UNKNOWN, category, name_of
from placelab.problem.coverage import provenance
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import known_speeds
from placelab.problem.hardware import DEVICES, Spec, chosen

BACKWARD = ".backward"  # after the name of an op: its gradient of inputs
DEFAULT = ("rtx2080ti", "h100")
TO_MATRIX_UNITS = PRODUCTS | {"call"}  # called functions spend most of their time on products
TOUCHED_PER_GRADIENT = {  # of an optimiser: the gradient read, the variable and each slot read and written
    "GradientDescent": 3,
    "Momentum": 5,
    "CenteredRMSProp": 9,
    "RMSProp": 7,
    "AdagradDA": 7,
    "Adagrad": 5,
    "Amsgrad": 9,
    "Ada": 7,
    "Ftrl": 7,
    "Sign": 5,
}
WRITES = {
    "Assign": 1,
    "AssignVariableOp": 1,
    "AssignAdd": 2,
    "AssignAddVariableOp": 2,
    "AssignSub": 2,
    "AssignSubVariableOp": 2,
}


def estimate(
    graph: OpGraph,
    specs: Any = None,
    *,
    precision: str | None = None,
    overhead: float | None = None,
    efficiency: float = 1.0,
) -> OpGraph:
    """Add a time column for each device type: ``max(FLOP / peak, bytes / memory bandwidth) + overhead``.

    Parameters
    ----------
    graph
        Its compute counts FLOP, its kinds are those of TensorFlow, ONNX or PyTorch.
    specs
        Names from :func:`placelab.costs.specs`, Spec objects, mappings of their arguments, or a list mixing them. Default: an RTX
        2080 Ti and an H100.
    precision
        Precision of matrix products, convolutions, attention and recurrent cells: a key of ``Spec.matmul``, such as
        ``"float16"`` or ``"tf32"``; `speed` is used for a device that lacks it. Default: ``metadata["costs"]["precision"]``,
        else ``"float32"``. Bytes do not depend on it.
    overhead
        Seconds per op beyond its work; default: each spec's own.
    efficiency
        Share of the peaks that ops reach, above 0, at most 1.

    Returns
    -------
    OpGraph
        Other time columns stay. ``time_speed`` has the speed of each spec, so that seconds follow a device's speed, and
        ``time_default`` is the first spec. ``metadata["costs"]`` records how the columns were made and, under ``unknown``, the
        number of ops by kind that were taken to be memory-bound because no table has their kind.

    Raises
    ------
    UnsupportedError
        Compute that is not FLOP: drawn at random, measured seconds times a reference speed, or NaN.
    FormatError
        An invalid spec, precision, overhead or efficiency.

    Notes
    -----
    Bytes of an op: each input once, outputs and persistent bytes; of a product called ``op.backward``, which makes the gradient
    of the inputs of ``op``, the weights that ``op`` holds, too. Exceptions: a gather or a slice counts twice the outputs and
    the smaller inputs; an op that fills its output, the outputs; an optimiser, the variable and its slots, read and written;
    an op that writes into a variable and has no output, its largest input once or twice more. Views, control flow,
    parameters, inputs and constants take no time, not even the overhead, unless their compute is above 0: they start nothing
    on a device. A call of a function (loop, branch) runs at the speed of products. Where a parameter is not an op (ONNX,
    PyTorch), its bytes count only at the op that holds them. Caches and fusion are not modelled. O(ops + edges).

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
    """Add time columns to a graph, their speeds if known, and notes on their origin.

    `default` becomes the default column; if it is None, the graph keeps its own.
    """
    held = {} if graph.time is None else dict(zip(graph.time_types, graph.time.T, strict=True))
    all_columns = dict(sorted({**held, **seconds}.items()))
    costs = provenance(graph)
    known = {name: s for name, s in known_speeds(graph).items() if name not in seconds} | dict(speed)
    costs["columns"] = costs.get("columns", {}) | dict(notes)
    if unknown or "unknown" in costs:
        listed = costs.get("unknown", {})
        costs["unknown"] = {
            kind: max(listed.get(kind, 0), unknown.get(kind, 0)) for kind in sorted({*listed, *unknown})
        }
    return graph.replace(
        time=np.stack(list(all_columns.values()), axis=1),
        time_types=tuple(all_columns),
        time_speed=known,
        time_default=default or graph.time_default,
        metadata={**graph.metadata, "costs": costs},
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


def distinct(kind: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The distinct kinds, in order of appearance, and the index of each op's kind."""
    each = kind.tolist()
    number = {text: i for i, text in enumerate(dict.fromkeys(each))}
    return list(number), np.fromiter(map(number.__getitem__, each), dtype=np.int64, count=len(each))


def bytes_touched(graph: OpGraph, kinds: list[str], of: np.ndarray) -> np.ndarray:
    """Bytes that each op reads and writes, shape (n_ops,); `kinds` and `of` as :func:`distinct` returns them."""
    read, largest = _read(graph)
    written = graph.outputs
    held = graph.persistent
    table = np.where(held > 0, 0.0, largest)  # a parameter that is not an op is in the persistent bytes
    rows = _are(kinds, of, "gather")
    fills = _are(kinds, of, "fill", "random")
    touched = np.select([rows, fills], [read - table + 2 * written, written], read + written + held)
    touched += _weights_again(graph, _are(kinds, of, *PRODUCTS))
    per_gradient, writes = (np.array([f(kind) for kind in kinds], dtype=float)[of] for f in (_per_gradient, _writes))
    return np.maximum(touched, per_gradient * largest) + np.where(written == 0, writes * largest, 0.0)


def _weights_again(graph: OpGraph, product: np.ndarray) -> np.ndarray:
    """Bytes of weights that products read to make gradients of inputs, which the forward op holds."""
    found = np.zeros(graph.n_ops)
    names = graph.names.tolist()
    back = [v for v in np.flatnonzero(product & (graph.persistent == 0)).tolist() if names[v].endswith(BACKWARD)]
    if back:
        number = dict(zip(names, range(len(names)), strict=True))
        for v in back:
            forward = number.get(names[v].removesuffix(BACKWARD), -1)
            found[v] = graph.persistent[forward] if forward >= 0 else 0.0
    return found


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
    """Memory passes over a variable that an op writes: 1 to overwrite it, 2 to read it, add to it and write it."""
    return WRITES.get(name_of(kind), 2.0 if category(kind) == "scatter" else 0.0)


# -------------------------------------------------------------------- checks


def _check_unit(graph: OpGraph) -> None:
    unit = provenance(graph).get("compute", "FLOP")
    if unit != "FLOP":
        raise UnsupportedError(
            f"costs of {graph.title} are {unit!r:.80}, not FLOP, so no time can be estimated from them; "
            "give a graph whose operations are counted from shapes"
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
    if overhead is not None and not (isinstance(overhead, (int, float)) and 0 <= overhead <= LARGEST):
        raise FormatError(f"overhead is {overhead!r:.80}; expected seconds, 0 or more")
    if not (isinstance(efficiency, (int, float)) and 0 < efficiency <= 1):
        raise FormatError(f"efficiency is {efficiency!r:.80}; expected a number above 0 and at most 1")


def with_estimates(graph: OpGraph) -> OpGraph:
    """The graph with a column of seconds for each default device type, if ``compute`` is FLOP according to its metadata.

    Returns the graph unchanged if it has such a column, or if ``compute`` is something else.

    Raises
    ------
    FormatError
        Metadata of costs or times, read from a file, are malformed.
    """
    if provenance(graph).get("compute") != "FLOP" or set(DEFAULT) & set(graph.time_types):
        return graph
    try:
        return estimate(graph)
    except PlacelabError:
        raise
    except (AttributeError, TypeError, ValueError):
        raise FormatError(f"what the metadata of {graph.title!a:.200} say of costs is not as expected") from None

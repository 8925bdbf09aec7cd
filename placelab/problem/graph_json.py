"""placelab JSON: a graph as columns, gzipped when the name says so. The schema is in ``datasets/README.md``.

Version 2 has the keys ``time_speed`` and ``time_default``. A graph that has neither is written as version 1, where earlier files
have both in the metadata. Version 3 has ``storage`` among the tensors' keys; only graphs whose tensors share storages are written
as it. Shapes, ``shapes`` and ``tensors.shape``, may be in any version, which readers that do not know them leave out.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.fields import read_from
from placelab.base.files import path_for, save
from placelab.base.index_arrays import members
from placelab.problem.graph_checks import check_size, checked
from placelab.problem.graph_columns import GraphColumns, known_speeds, times_in_metadata

FORMAT = "placelab-graph"
VERSIONS = (1, 2, 3)
EXPECTED = "placelab JSON"

WORDS: dict[type, str] = {str: "texts", list: "lists"}


def is_one(document: Any) -> bool:
    """Whether parsed JSON says that it is a placelab graph."""
    return isinstance(document, dict) and document.get("format") == FORMAT


def columns(document: Any, where: str) -> dict[str, Any]:
    """The arguments of :meth:`OpGraph.from_arrays` in parsed JSON; `where` names it in messages.

    Raises
    ------
    FormatError
        Not a placelab graph, another version, a column that is missing or does not fit.
    """
    if not is_one(document):
        raise FormatError(f'{where} is not a placelab graph: expected {{"format": "{FORMAT}", …}} at the top')
    if type(document.get("version")) is not int or document["version"] not in VERSIONS:
        known = ", ".join(map(str, VERSIONS))
        raise FormatError(f"{where} has version {document.get('version')!r:.40}; this placelab reads versions {known}")
    with read_from(where):
        return _columns(document)


def write(graph: GraphColumns, path: Any) -> None:
    """Write a graph; the same graph always gives the same bytes. The file appears only when it is complete."""
    path = path_for(path, "a graph", "JSON", ".json")
    save(dumps(graph), path)


def dumps(graph: GraphColumns) -> str:
    """The graph as placelab JSON text."""
    names = graph.names.tolist()
    default = graph.persistent + graph.temporary + graph.new_bytes
    kinds = list(dict.fromkeys(graph.kind.tolist()))
    number = {kind: i for i, kind in enumerate(kinds)}
    times = {"time_speed": known_speeds(graph), "time_default": graph.time_default}
    shared = graph.tensor_storage is not None
    times = times if any(times.values()) or shared else {}
    document = {
        "format": FORMAT,
        "version": 3 if shared else 2 if times else 1,
        "metadata": graph.metadata,
        "ops": {
            "name": names,
            "kind": [number[kind] for kind in graph.kind],
            "compute": _numbers(graph.compute),
            "persistent": _numbers(graph.persistent),
            "temporary": _numbers(graph.temporary),
            "memory": None if np.array_equal(default, graph.memory) else _numbers(graph.memory),
            "time": _times(graph) or None,
            "group": graph.group.tolist(),
            "devices": graph.device_set.tolist(),
            "outputs": np.diff(graph.op_tensor_ptr).tolist(),
        },
        **times,
        "kinds": kinds,
        "groups": list(graph.group_names),
        "device_sets": [list(s) for s in graph.device_sets],
        "tensors": {
            "bytes": _numbers(graph.tensor_bytes),
            "consumers": np.diff(graph.tensor_ptr).tolist(),
            "control": np.flatnonzero(graph.tensor_control).tolist(),
            **({"storage": graph.tensor_storage.tolist()} if graph.tensor_storage is not None else {}),
            **({"shape": graph.tensor_shape.tolist()} if graph.tensor_shape is not None else {}),
        },
        **({"shapes": list(graph.shapes)} if graph.shapes else {}),
        "edges": {"consumer": graph.consumer.tolist()},
    }
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FormatError(
            f"the metadata of {graph.title} is not JSON: {error}; expected texts, numbers, lists and objects"
        ) from None


def _numbers(column: np.ndarray) -> list:
    """Numbers for JSON: whole ones without a decimal point, NaN as null."""
    return [None if x != x else int(x) if x == int(x) and abs(x) < 2**53 else x for x in column.tolist()]


def _times(graph: GraphColumns) -> dict[str, list]:
    """Measured seconds by device name or type."""
    if graph.time is None:
        return {}
    return {key: _numbers(graph.time[:, j]) for j, key in enumerate(graph.time_types)}


def _columns(document: dict) -> dict[str, Any]:
    ops, tensors, edges = (_object(document, key) for key in ("ops", "tensors", "edges"))
    names = _list(ops, "name", str)
    n = len(names)
    kinds = _list(document, "kinds", str)
    consumer = _integers(edges, "consumer", n, None)
    n_tensors = len(_list(tensors, "bytes", int, float))
    # As an edge has one tensor, more are left.
    check_size(ops=n, edges=len(consumer), outputs=n_tensors - len(consumer))
    producer = _repeated(_integers(ops, "outputs", n_tensors + 1, n), n_tensors, "outputs", "tensors")
    edge_tensor = _repeated(
        _integers(tensors, "consumers", len(consumer) + 1, n_tensors), len(consumer), "consumers", "edges"
    )
    size = _floats(tensors, "bytes", n_tensors)
    control = np.zeros(n_tensors, bool)
    control[_integers(tensors, "control", n_tensors, None)] = True
    storage = np.full(n_tensors, -1)
    if document["version"] == 3:
        storage = _integers(tensors, "storage", n_tensors, n_tensors)
    output = np.arange(n_tensors)
    used = np.zeros(n_tensors, bool)
    used[edge_tensor] = True
    group = _integers(ops, "group", len(_list(document, "groups", str)), n, low=-1)
    labels = document["groups"]
    sets = [_texts(s) for s in _list(document, "device_sets", list)]
    device = _integers(ops, "devices", len(sets), n, low=-1)
    time = ops.get("time")
    return checked(
        names=names,
        compute=_floats(ops, "compute", n, null=True),
        edges=np.stack([producer[edge_tensor], consumer], axis=1) if len(consumer) else np.empty((0, 2)),
        edge_bytes=size[edge_tensor],
        edge_output=output[edge_tensor],
        edge_control=control[edge_tensor],
        edge_storage=storage[edge_tensor] if document["version"] == 3 else None,
        outputs=[
            (int(producer[t]), int(output[t]), float(size[t]), int(storage[t]))
            for t in np.flatnonzero(~used & ~control)
        ],
        persistent=_floats(ops, "persistent", n),
        temporary=_floats(ops, "temporary", n),
        memory=None if ops.get("memory") is None else _floats(ops, "memory", n),
        kind=[kinds[i] for i in _integers(ops, "kind", len(kinds), n)],
        time=None
        if time is None
        else {t: _floats(_object(ops, "time"), t, n, null=True) for t in _object(ops, "time")},
        groups=[ops.tolist() for ops in members(group, len(labels))],
        group_names=labels,
        devices={int(v): sets[device[v]] for v in np.flatnonzero(device >= 0)},
        shapes=_shapes(document, producer),
        **_time_facts(document, time or ()),
    )


def _shapes(document: dict, producer: np.ndarray) -> dict[tuple[int, int], str]:
    """Shapes of tensors, of which tensor t is output t of its producer."""
    tensors = _object(document, "tensors")
    if "shape" not in tensors:
        return {}
    texts = _list(document, "shapes", str)
    code = _integers(tensors, "shape", len(texts), len(producer), low=-1).tolist()
    return {(v, t): texts[c] for t, (v, c) in enumerate(zip(producer.tolist(), code, strict=True)) if c >= 0}


def _time_facts(document: dict, types: Collection[str]) -> dict[str, Any]:
    """Metadata, and the speeds and the default of time columns."""
    metadata = _object(document, "metadata")
    if document["version"] == 1:
        return times_in_metadata(metadata, types)
    return dict(
        time_speed=_object(document, "time_speed"), time_default=document.get("time_default"), metadata=metadata
    )


def _object(parent: dict, key: str) -> dict:
    value = parent.get(key)
    if not isinstance(value, dict):
        raise FormatError(f"{key!r} is {type(value).__name__}; expected an object")
    return value


def _list(parent: dict, key: str, *kinds: type) -> list:
    value = parent.get(key)
    if not isinstance(value, list) or not set(map(type, value)) <= set(kinds):
        raise FormatError(f"{key!r} must be a list of {WORDS.get(kinds[0], 'numbers')}")
    return value


def _texts(value: list) -> tuple[str, ...]:
    if not all(isinstance(x, str) for x in value):
        raise FormatError("'device_sets' must be lists of names or types")
    return tuple(value)


def _repeated(counts: np.ndarray, total: int, key: str, what: str) -> np.ndarray:
    """Each index repeated by its count."""
    if counts.sum() != total:
        raise FormatError(f"{key!r} add up to {counts.sum()}, but there are {total} {what}")
    return np.repeat(np.arange(len(counts)), counts)


def _integers(parent: dict, key: str, high: int, length: int | None, low: int = 0) -> np.ndarray:
    value = parent.get(key)
    if not isinstance(value, list) or not set(map(type, value)) <= {int}:
        raise FormatError(f"{key!r} must be a list of whole numbers")
    if value and (min(value) < low or max(value) >= high):
        raise FormatError(
            f"{key!r} holds {next(x for x in value if not low <= x < high)!r:.24}; expected {low} to {high - 1}"
        )
    if length is not None and len(value) != length:
        raise FormatError(f"{key!r} has {len(value)} entries, expected {length}")
    return np.array(value, dtype=np.int64)


def _floats(parent: dict, key: str, length: int, null: bool = False) -> np.ndarray:
    value = _list(parent, key, int, float, *[type(None)] * null)
    if len(value) != length:
        raise FormatError(f"{key!r} has {len(value)} entries, expected {length}")
    try:
        return np.array(value, dtype=np.float64)  # None is NaN
    except OverflowError:
        raise FormatError(f"{key!r} holds a number that is too large; expected at most 1.8e308") from None

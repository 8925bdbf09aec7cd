"""What is in a model: ``placelab inspect`` measures it, ``placelab convert`` writes it in another format."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from placelab.analysis.measures import best_single
from placelab.app.cli.arguments import (
    add_cluster,
    add_model,
    cluster_of,
    command,
    ending,
    model_of,
    open_flag,
    pairs,
    printable,
    shortened,
    table,
)
from placelab.app.widgets.gantt_wire import depths
from placelab.base.errors import FormatError, PlacelabError, is_name
from placelab.base.units import SI, Units, counted, percent
from placelab.costs.descriptions import sources
from placelab.formats import exports
from placelab.formats.catalogue import GRAPH, writers
from placelab.graphs.loading import load
from placelab.pictures.problem_cells import graph_units
from placelab.planning.input_bound import least_exec
from placelab.planning.lower_bounds import critical_length, sct_ratio
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import known_speeds
from placelab.problem.problem import Problem


def facts(graph: OpGraph, name: str, cluster: Cluster) -> dict[str, Any]:
    """All facts as values that JSON can hold; bytes, operations and seconds are numbers, or None."""
    return {
        "name": graph.title,
        "provenance": graph.metadata.get("provenance"),
        "ops": graph.n_ops,
        "edges": graph.n_edges,
        "control_edges": int(graph.tensor_control[graph.edge_tensor].sum()),
        "tensors": _tensors(graph),
        "parameters": {"bytes": _number(graph.persistent.sum()), "ops": int((graph.persistent > 0).sum())},
        "temporary_bytes": _number(graph.temporary.sum()),
        "operations": _number(np.nansum(graph.compute)),
        "kinds": kinds(graph),
        "groups": {"groups": len(graph.group_names), "ops": int((graph.group >= 0).sum())},
        "devices": _devices(graph),
        "depth": depth(graph),
        "costs": dict(sources(graph)),
        "on": _times_on(graph, name, cluster),
    }


def kinds(graph: OpGraph) -> list[dict[str, Any]]:
    """Number of ops and share of all operations of each kind, sorted by operations, then by ops."""
    names, of = np.unique(graph.kind.astype(str), return_inverse=True)
    count = np.bincount(of, minlength=len(names))
    work = np.bincount(of, np.nan_to_num(graph.compute), minlength=len(names))
    share = work / work.sum() if work.sum() else work
    order = sorted(range(len(names)), key=lambda i: (-work[i], -count[i], names[i]))
    return [{"kind": str(names[i]), "ops": int(count[i]), "share": float(share[i])} for i in order]


def depth(graph: OpGraph) -> int:
    """Number of ops on the longest path."""
    return 1 + int(depths(graph).max()) if graph.n_ops else 0


def _tensors(graph: OpGraph) -> dict[str, Any]:
    data = np.flatnonzero(~graph.tensor_control)
    size = graph.tensor_bytes[data]
    largest = data[np.argmax(size)] if len(data) else -1
    return {
        "tensors": len(data),
        "bytes": _number(size.sum()),
        **_shared(graph),
        "largest": _number(size.max()) if len(data) else 0.0,
        "largest_of": str(graph.names[graph.tensor_producer[largest]]) if len(data) else None,
    }


def _shared(graph: OpGraph) -> dict[str, Any]:
    """Number of tensors that live in the storage of another, and the bytes that this saves on one device."""
    first = graph.tensor_storage
    inside = 0 if first is None else int((first != np.arange(graph.n_tensors)).sum())
    return {"in_others": inside, "saved": _number(graph.outputs.sum() - graph.new_bytes.sum()) if inside else 0.0}


def _devices(graph: OpGraph) -> list[dict[str, Any]]:
    count = np.bincount(graph.device_set[graph.device_set >= 0], minlength=len(graph.device_sets))
    return [{"devices": list(names), "ops": int(n)} for names, n in zip(graph.device_sets, count, strict=True) if n]


def _times_on(graph: OpGraph, name: str, cluster: Cluster) -> dict[str, Any]:
    """Times on a cluster, or why the graph cannot run there."""
    about = {"cluster": name, "devices": cluster.n_devices, "types": sorted(set(cluster.types))}
    try:
        problem = Problem(graph, cluster)
        least = least_exec(problem)
    except PlacelabError as error:
        return {**about, "error": str(error)}
    work = float(least.sum())
    path = critical_length(problem, least)
    return {
        **about,
        "one_device": _number(best_single(problem)),
        "work": work,
        "longest_path": path,
        "parallelism": work / path if path else None,
        "shortest_op": float(least.min()),
        "rho": _number(sct_ratio(problem)),
    }


def _number(value: float) -> float | None:
    """The value, or None if JSON has no number for it."""
    return float(value) if np.isfinite(value) else None


KINDS = 15  # greatest number listed without --all
INSPECT_EXAMPLES = """
inspect inception_v3
inspect bert.onnx --dimension batch=8 --cluster h100_box
inspect graph.pbtxt --json
"""


def add_to(commands: Any) -> None:
    """Add both commands to the parser's."""
    inspect_command = command(commands, "inspect", inspect, INSPECT_EXAMPLES)
    add_model(inspect_command)
    add_cluster(inspect_command)
    inspect_command.add_argument("--json", action="store_true", help="the same as JSON: bytes, operations, seconds")
    inspect_command.add_argument("--all", action="store_true", help=f"all kinds of ops, not only the first {KINDS}")
    _add_convert(commands)


def inspect(options: argparse.Namespace) -> None:
    """Print facts about a model: ops, kinds, bytes, operations, groups, longest path, parallelism.

    Longest path and work count each op on its fastest device, without transfers; parallelism is work over longest path; rho
    is the longest transfer over the shortest op.
    """
    graph = model_of(options)
    name, cluster = cluster_of(options, graph)
    fact = facts(graph, name, cluster)
    most = None if options.all else KINDS
    flag = open_flag(options, graph)
    print(json.dumps(fact, indent=2) if options.json else text(fact, most, flag, graph_units(graph), cluster.units))


def text(fact: dict[str, Any], most: int | None, flag: str = "", of_graph: Units = SI, on_cluster: Units = SI) -> str:
    """The facts as text, with at most `most` kinds, and `flag`, the option that sets an open dimension."""
    parts = [pairs(_graph(fact, flag, of_graph)), pairs(_on(fact["on"], on_cluster)), _kinds(fact["kinds"], most)]
    return "\n\n".join(part for part in parts if part)


def _graph(fact: dict[str, Any], flag: str, written: Units) -> Iterator[tuple[str, str]]:
    tensors = fact["tensors"]
    parameters = fact["parameters"]
    groups = fact["groups"]
    yield "name", shortened(fact["name"])
    if fact["provenance"]:
        yield "from", _provenance(fact["provenance"])
    yield "ops", f"{fact['ops']:,} of {counted(len(fact['kinds']), 'kind')}, {fact['depth']:,} on the longest path"
    yield "edges", f"{fact['edges']:,}, of them control {fact['control_edges']:,}"
    largest = (
        f"; largest {_bytes(tensors['largest'], written)}: {shortened(tensors['largest_of'])}"
        if tensors["largest"]
        else ""
    )
    yield "tensors", f"{tensors['tensors']:,}, {_bytes(tensors['bytes'], written)}{largest}"
    if tensors["in_others"]:
        saved = _bytes(tensors["saved"], written)
        yield "storages", f"{counted(tensors['in_others'], 'tensor')} in the storage of another, which saves {saved}"
    yield "parameters", f"{_bytes(parameters['bytes'], written)} at {counted(parameters['ops'], 'op')}"
    if fact["temporary_bytes"]:
        yield "temporary", _bytes(fact["temporary_bytes"], written)
    yield "groups", f"{counted(groups['groups'], 'group')}, {counted(groups['ops'], 'op')} in all"
    for rule in fact["devices"]:
        yield "devices", f"{counted(rule['ops'], 'op')} only on {', '.join(map(shortened, rule['devices']))}"
    sum_of_all = _amount(fact["operations"], "", written).strip()
    for label, sentence in fact["costs"].items():
        hint = f"; {printable(flag)}" if flag and label == "open dimension" else ""
        yield printable(label), f"{sum_of_all} · " * (label == "operations") + printable(sentence) + hint


def _provenance(provenance: Any) -> str:
    """The provenance that a reader has left: a text, or the values of an object."""
    parts = provenance.values() if isinstance(provenance, dict) else [provenance]
    return ", ".join(shortened(part) for part in parts if isinstance(part, (str, int, float)))


def _on(on: dict[str, Any], written: Units) -> Iterator[tuple[str, str]]:
    yield (
        "cluster",
        f"{on['cluster']}: {counted(on['devices'], 'device')} of type {', '.join(map(shortened, on['types']))}",
    )
    if "error" in on:
        yield "none", printable(on["error"])
        return
    if on["one_device"] is not None:
        yield "one device", written.time(on["one_device"])
    yield "longest path", written.time(on["longest_path"])
    if on["parallelism"]:
        yield "parallelism", f"{on['parallelism']:.3g}"
    rho = "∞" if on["rho"] is None else f"{on['rho']:.3g}"
    yield "ρ", f"{rho} (shortest op {written.time(on['shortest_op'])})"


def _kinds(kinds: list[dict[str, Any]], most: int | None) -> str:
    shown = kinds[:most]
    rows = [("kind", "ops", "operations")]
    rows += [(shortened(kind["kind"] or "(none)"), f"{kind['ops']:,}", percent(kind["share"])) for kind in shown]
    left = len(kinds) - len(shown)
    return table(rows, numbers=(1, 2)) + (f"\n… and {counted(left, 'kind')} more: --all" if left else "")


def _bytes(value: float | None, written: Units) -> str:
    return _amount(value, "B", written)


def _amount(value: float | None, unit: str, written: Units) -> str:
    return "more than a float can hold" if value is None else written.amount(value, unit)


CONVERT_EXAMPLES = """
convert bert.onnx bert.json.gz --dimension batch=8
convert graph.pbtxt graph.json --name inception
convert topcuoglu topcuoglu.dot
"""


def _add_convert(commands: Any) -> None:
    convert_command = command(commands, "convert", convert, CONVERT_EXAMPLES)
    add_model(convert_command)
    convert_command.add_argument("out", type=Path, help=f"file to write: {', '.join(writers(GRAPH))}")
    convert_command.add_argument("--name", help="name of the graph in the file")


def convert(options: argparse.Namespace) -> None:
    """Write a model with its costs as placelab JSON, or as DOT or STG, which may hold less of it."""
    ending(options.out, writers(GRAPH))
    graph = renamed(model_of(options), options.name)
    exports.graph(graph, options.out)
    print(f"{printable(options.out)}: {graph.n_ops:,} ops, {graph.n_edges:,} edges")
    if text := note(graph, options.out):
        print(f"note: {printable(text)}")


def note(graph: OpGraph, path: Path) -> str:
    """A sentence about what the written file does not hold of the graph; "" when it holds everything."""
    try:
        missing = list(lost(graph, load(path)))
    except PlacelabError as error:
        return f"it cannot be read again: {error}"
    return f"{path} does not hold {', '.join(missing)}" if missing else ""


def lost(graph: OpGraph, again: OpGraph) -> Iterator[str]:
    """What differs between a graph and the one read back from its file; the order of their ops is the same."""
    yield from (label for label, column in HELD.items() if column(graph) != column(again))
    keys = [
        key for key in graph.metadata if key not in {"name", *UNIT} and _metadata(key)(graph) != _metadata(key)(again)
    ]
    if keys:
        yield f"metadata ({', '.join(keys)})"


def _metadata(*keys: str) -> Callable[[OpGraph], str]:
    """These metadata as text, in which tuples and the lists that JSON makes of them are equal."""
    return lambda graph: json.dumps([graph.metadata.get(key) for key in keys], sort_keys=True, default=str)


def _numbers(*columns: np.ndarray) -> list[list[float | None]]:
    return [[None if x != x else x for x in column.ravel().tolist()] for column in columns]


def _allowed(graph: OpGraph) -> list[tuple[str, ...]]:
    return [(*graph.device_sets, ())[d] for d in graph.device_set]


def _sharing_edges(graph: OpGraph) -> int:
    """Number of edges whose tensor another edge carries, too."""
    tensor = graph.edge_tensor[~graph.tensor_control[graph.edge_tensor]]
    return len(tensor) - len(np.unique(tensor))


UNIT = ("reference_speed", "costs")
HELD: dict[str, Callable[[OpGraph], Any]] = {
    "names": lambda graph: graph.names.tolist(),
    "kinds": lambda graph: graph.kind.tolist(),
    "operations": lambda graph: _numbers(graph.compute),
    "the unit of operations": _metadata(*UNIT),
    "times": lambda graph: graph.time is not None and (graph.time_types, _numbers(graph.time)),
    "which speeds its times hold for": lambda graph: (known_speeds(graph), graph.time_default),
    "memory": lambda graph: _numbers(graph.persistent, graph.temporary, graph.memory),
    "bytes of edges": lambda graph: sorted(graph.edge_bytes.tolist()),
    "control edges": lambda graph: int(graph.tensor_control[graph.edge_tensor].sum()),
    "shared tensors": _sharing_edges,
    "groups": lambda graph: (graph.group_names, graph.group.tolist()),
    "allowed devices": _allowed,
}


def renamed(graph: OpGraph, name: str | None) -> OpGraph:
    """The graph with another name, if one is given."""
    if name is None:
        return graph
    if not is_name(name):
        raise FormatError(f"{name!a} is not a name; expected text on one line")
    return graph.replace(metadata={**graph.metadata, "name": name})

"""Measure a graph: sizes, kinds, bytes, operations, groups; on a cluster also times and parallelism."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.analysis.measures import best_single
from placelab.app.widgets.colouring import depths
from placelab.base.errors import PlacelabError
from placelab.costs.descriptions import sources
from placelab.planning.lower_bounds import critical_length, least_exec, sct_ratio
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
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
        "on": _on(graph, name, cluster),
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
        "largest": _number(size.max()) if len(data) else 0.0,
        "largest_of": str(graph.names[graph.tensor_producer[largest]]) if len(data) else None,
    }


def _devices(graph: OpGraph) -> list[dict[str, Any]]:
    count = np.bincount(graph.device_set[graph.device_set >= 0], minlength=len(graph.device_sets))
    return [{"devices": list(names), "ops": int(n)} for names, n in zip(graph.device_sets, count, strict=True) if n]


def _on(graph: OpGraph, name: str, cluster: Cluster) -> dict[str, Any]:
    """Times on a cluster, or why the graph cannot run there."""
    about = {"cluster": name, "devices": cluster.n_devices, "types": sorted(set(cluster.types))}
    try:
        problem = Problem(graph, cluster)
        least = least_exec(problem)
    except PlacelabError as error:
        return {**about, "error": str(error)}
    work, path = float(least.sum()), critical_length(problem, least)
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

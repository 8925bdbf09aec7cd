"""What identifies a problem: a hash of its content, so that equal problems are known to be equal."""

from __future__ import annotations

import json
from dataclasses import fields
from hashlib import blake2b

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.once import once
from placelab.problem.cluster import as_argument
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem


@once
def problem_key(problem: Problem) -> str:
    """A hash of all that a problem consists of.

    Raises
    ------
    FormatError
        The metadata of its graph are not JSON.
    """
    cluster = problem.cluster
    digest = blake2b(_graph_digest(problem.graph), digest_size=16)
    for column in (cluster.speed, cluster.memory, cluster.bandwidth, cluster.latency, problem.group):
        digest.update(np.ascontiguousarray(column).tobytes())
    facts = [cluster.names, cluster.types, cluster.hosts, problem.memory, problem.transfers, problem.duplex]
    facts += [problem.transfer_ops, problem.group_names, sorted(problem.allowed.items())]
    facts += [as_argument(cluster.links)] if cluster.links else []
    facts += [problem.latency] if problem.latency != "holds" else []
    digest.update(json.dumps(facts).encode())
    return digest.hexdigest()


@once  # many problems share a graph
def _graph_digest(graph: OpGraph) -> bytes:
    """A hash of all columns; quicker than that of the file. Shapes count where there are any: what is shown has them."""
    digest = blake2b(digest_size=16)
    rest = {}
    for field in fields(graph):
        if graph.tensor_shape is None and field.name in ("tensor_shape", "shapes"):
            continue
        value = getattr(graph, field.name)
        if isinstance(value, np.ndarray) and value.dtype.kind in "bif":
            digest.update(f"{field.name} {value.dtype.str} {value.shape} ".encode() + value.tobytes())
        else:
            rest[field.name] = value.tolist() if isinstance(value, np.ndarray) else value
    try:
        digest.update(json.dumps(rest).encode())
    except (TypeError, ValueError) as error:
        raise FormatError(
            f"the metadata of {graph.title} is not JSON: {error}; expected texts, numbers, lists and objects"
        ) from None
    return digest.digest()

"""Multiply the costs of a graph: all operations and seconds, all tensor bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.base.errors import FormatError, expect, formerly
from placelab.base.index_arrays import LARGEST
from placelab.costs.origin import provenance
from placelab.problem.graph import OpGraph


@formerly("compute", "transfer")
def scale(graph: OpGraph, *, compute: float = 1.0, transfer: float = 1.0) -> OpGraph:
    """Multiply all operations and seconds by `compute`, and all tensor bytes by `transfer`.

    Parameters
    ----------
    graph
        Any graph.
    compute, transfer
        Factors, finite and not negative; 1 leaves the costs as they are.

    Returns
    -------
    OpGraph
        Persistent and temporary bytes stay; ``memory`` changes by what the op's outputs gain or lose, and is clipped at 0.
        ``metadata["costs"]["scaled"]`` records the product of all factors so far.

    Raises
    ------
    FormatError
        An invalid factor; costs that overflow a float.

    Examples
    --------
    >>> g = OpGraph.from_arrays(["a", "b"], [1.0, 2.0], [(0, 1)], edge_bytes=[8.0])
    >>> h = scale(g, compute=10, transfer=0.5)
    >>> h.compute.tolist(), h.tensor_bytes.tolist(), h.metadata["costs"]["scaled"]
    ([10.0, 20.0], [4.0], {'compute': 10.0, 'transfer': 0.5})
    """
    expect(graph, OpGraph, "costs.scale")
    factors = {"compute": _factor(compute, "compute"), "transfer": _factor(transfer, "transfer")}
    costs = provenance(graph)
    before = costs.get("scaled", {})
    costs["scaled"] = {label: before.get(label, 1.0) * factor for label, factor in factors.items()}
    work, move = factors.values()
    with np.errstate(over="ignore"):
        return graph.replace(
            compute=graph.compute * work,
            time=None if graph.time is None else graph.time * work,
            tensor_bytes=graph.tensor_bytes * move,
            memory=np.maximum(graph.memory + (move - 1) * graph.outputs, 0.0),
            metadata={**graph.metadata, "costs": costs},
        )


def _factor(value: Any, label: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LARGEST:
        raise FormatError(f"factor of {label} is {value!r:.80}; expected a finite number, 0 or more")
    return float(value)

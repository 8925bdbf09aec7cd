"""Read where a graph's costs come from out of ``metadata["costs"]``, in one form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from placelab.base.errors import expect
from placelab.base.index_arrays import LARGEST
from placelab.problem.graph import OpGraph


def provenance(graph: OpGraph) -> dict[str, Any]:
    """Where the costs of a graph come from; malformed entries of its metadata are ignored.

    Returns
    -------
    dict
        As far as known: ``compute`` (what compute counts: ``"FLOP"``, or a text such as ``"mayer, seed 0"``), ``precision``
        (number type of matrix products), ``unknown`` (kind → number of ops whose FLOP or category is in no table),
        ``unsized`` (number of outputs whose bytes are unknown), ``columns`` (time column → origin of its seconds: a dict with
        ``how``, ``"estimated"`` or ``"measured"``, ``source``, and the assumptions), ``scaled`` (factors of ``compute`` and
        ``transfer`` applied since), ``measured``.

    Examples
    --------
    >>> provenance(OpGraph.from_arrays(["a"], [1.0], [], metadata={"costs": "mayer, seed 0"}))
    {'compute': 'mayer, seed 0'}
    """
    expect(graph, OpGraph, "costs.provenance")
    costs = graph.metadata.get("costs")
    if not isinstance(costs, Mapping):
        return {} if costs is None else {"compute": str(costs)}
    costs = dict(costs)
    for key, fits in (("unknown", is_number), ("scaled", is_number), ("columns", lambda how: isinstance(how, Mapping))):
        if key in costs:
            costs[key] = _entries(costs[key], fits)
    if "columns" in costs:
        costs["columns"] = {name: how for name, how in costs["columns"].items() if name in graph.time_types}
    return costs


def is_number(value: Any) -> bool:
    """Whether a value is a number that fits a float: whole numbers in JSON can be of any size."""
    return type(value) in (int, float) and abs(value) <= LARGEST


def _entries(given: Any, fits: Callable[[Any], bool]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if fits(value)} if isinstance(given, Mapping) else {}

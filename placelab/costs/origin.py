"""Where do a graph's costs come from? What ``metadata["costs"]`` says of them, in one form."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from placelab.errors import expect
from placelab.problem.graph import OpGraph
from placelab.problem.index_arrays import LARGEST


def provenance(graph: OpGraph) -> dict[str, Any]:
    """How the costs of a graph came about; what its metadata hold in another form is left out.

    Returns
    -------
    dict
        As far as known: ``compute`` (what compute counts: ``"FLOP"``, or a text such as ``"mayer, seed 0"``), ``precision``
        (number type of matrix products), ``unknown`` (kind → number of ops whose FLOP or category no table knows),
        ``unsized`` (number of outputs whose bytes are not known), ``columns`` (time column → how its seconds came about: a
        dict with ``how``, ``"estimated"`` or ``"measured"``, ``source``, and the assumptions), ``scaled`` (factors of
        ``compute`` and ``transfer`` since then), ``measured``.

    Examples
    --------
    >>> provenance(OpGraph.from_arrays(["a"], [1.0], [], metadata={"costs": "mayer, seed 0"}))
    {'compute': 'mayer, seed 0'}
    """
    expect(graph, OpGraph, "costs.provenance")
    told = graph.metadata.get("costs")
    if not isinstance(told, Mapping):
        return {} if told is None else {"compute": str(told)}
    told = dict(told)
    for key, fits in (("unknown", is_number), ("scaled", is_number), ("columns", lambda how: isinstance(how, Mapping))):
        if key in told:
            told[key] = _entries(told[key], fits)
    if "columns" in told:
        told["columns"] = {name: how for name, how in told["columns"].items() if name in graph.time_types}
    return told


def is_number(value: Any) -> bool:
    """Whether a value is a number that a float can hold: JSON has whole numbers of any size."""
    return type(value) in (int, float) and abs(value) <= LARGEST


def _entries(told: Any, fits: Callable[[Any], bool]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if fits(value)} if isinstance(told, Mapping) else {}

"""Where do a graph's costs come from? What ``metadata["costs"]`` says of them, in one form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placelab.graph import OpGraph


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
    told = graph.metadata.get("costs")
    if not isinstance(told, Mapping):
        return {} if told is None else {"compute": str(told)}
    told = dict(told)
    for key, of in (("unknown", (int, float)), ("scaled", (int, float)), ("columns", Mapping)):
        if key in told:
            told[key] = _entries(told[key], of)
    if "columns" in told:
        told["columns"] = {name: how for name, how in told["columns"].items() if name in graph.time_types}
    return told


def _entries(told: Any, kind: Any) -> dict[str, Any]:
    return {key: value for key, value in told.items() if isinstance(value, kind)} if isinstance(told, Mapping) else {}

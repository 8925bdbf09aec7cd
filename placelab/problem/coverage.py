"""How much of a graph's costs is known, and where they come from: what readers leave in its metadata, and the words for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from placelab.base.errors import expect
from placelab.base.files import MAX_OPS
from placelab.base.index_arrays import LARGEST
from placelab.problem.graph import OpGraph

SAID = 0.9  # share of known costs below which the explorer says so under its numbers
NOTED = 0.5  # and below which a placement has a note


def coverage(graph: OpGraph) -> dict[str, float]:
    """How much of a graph is known, as shares from 0 to 1; readers of other programs' files leave it in the metadata.

    Returns
    -------
    dict
        ``ops``: share of ops whose operations or seconds are known. ``bytes``: share of tensors whose size is known. Of the ops,
        ``flop_by_rule``: counted from shapes; ``flop_by_profile``: measured; ``flop_by_file``: as the file has them;
        ``flop_unknown``: the rest, which count 0. The last four add up to 1.

    Examples
    --------
    >>> costs = {"compute": "FLOP", "unknown": {"Mystery": 1}}
    >>> graph = OpGraph.from_arrays(["a", "b"], [5.0, 0.0], [(0, 1)], edge_bytes=[8.0], metadata={"costs": costs})
    >>> coverage(graph)["ops"], coverage(graph)["flop_by_rule"], coverage(graph)["bytes"]
    (0.5, 0.5, 1.0)
    """
    found = graph.metadata.get("costs")
    costs = found if isinstance(found, Mapping) else {}
    kinds = costs.get("unknown")
    listed = kinds.values() if isinstance(kinds, Mapping) else ()
    lacking = _share(sum(map(_count, listed)) + _count(costs.get("untimed")), graph.n_ops)
    unsized = _share(_count(costs.get("unsized")), int((~graph.tensor_control).sum()))
    unit = str(costs.get("compute", ""))
    way = "rule" if unit == "FLOP" else "profile" if "seconds" in unit else "file"
    shares = {f"flop_by_{name}": 1.0 - lacking if name == way else 0.0 for name in ("rule", "profile", "file")}
    return {"ops": 1.0 - lacking, "bytes": 1.0 - unsized, **shares, "flop_unknown": lacking}


def _count(value: Any) -> int:
    """A count in metadata; 0 for what is none."""
    return value if type(value) is int and 0 <= value <= MAX_OPS else 0


def _share(part: int, whole: int) -> float:
    return min(part / whole, 1.0) if whole else 0.0


def with_coverage(graph: OpGraph) -> OpGraph:
    """The graph with its coverage in the metadata."""
    return graph.replace(metadata=graph.metadata | {"coverage": coverage(graph)})


def known_shares(graph: OpGraph) -> dict[str, float]:
    """The numbers from 0 to 1 of ``metadata["coverage"]``; what is none is left out.

    Of a graph that was saved without coverage, but with a reader's counts, it is computed; of others nothing is known.
    """
    counts = isinstance(graph.metadata.get("costs"), Mapping)
    found = graph.metadata.get("coverage", coverage(graph) if counts else None)
    pairs = found.items() if isinstance(found, Mapping) else ()
    return {key: float(share) for key, share in pairs if type(share) in (int, float) and 0 <= share <= 1}


def whole_percent(share: float) -> str:
    """A share, rounded down: only all of it is 100 %.

    >>> whole_percent(0.9999), whole_percent(1.0), whole_percent(0.256)
    ('99 %', '100 %', '25 %')
    """
    return f"{int(100 * share + 1e-9)} %"


def little_known(graph: OpGraph, least: float) -> str:
    """A sentence on a graph of which less than `least` of the ops or of the tensors has known costs, else "".

    Examples
    --------
    >>> metadata = {"coverage": {"ops": 0.25, "bytes": 1.0}}
    >>> little_known(OpGraph.from_arrays(["a"], [1.0], [], metadata=metadata), 0.5)
    'only 25 % of the ops have known costs; the others count as 0'
    """
    shares = known_shares(graph)
    rows = (("ops", "ops have known costs"), ("bytes", "tensors have a known size"))
    said = [f"only {whole_percent(shares[key])} of the {text}" for key, text in rows if shares.get(key, 1.0) < least]
    return f"{' and '.join(said)}; the others count as 0" if said else ""


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

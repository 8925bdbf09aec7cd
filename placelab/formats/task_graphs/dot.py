r"""Read and write DOT with costs: Graphviz's language, as archives of scheduling problems use it.

Attributes of nodes and edges are those of :mod:`placelab.problem.networkx_graph`; ``time``, ``outputs`` and ``devices`` are
JSON, as is ``metadata`` of the graph. Names are case-insensitive. Three dialects have other names for costs:

====================== ================ =================================================================
a node has             an edge may have which are
====================== ================ =================================================================
``compute``, ``time``  ``bytes``        operations, seconds, bytes (placelab)
``size``               ``size``         operations, bytes (SimGrid); an edge without a size or with a negative
                                        one is a control edge; ``root`` and ``end`` need no size
``weight``, ``cost``   the same name    plain numbers, see :mod:`placelab.formats.task_graphs.unit_costs`
====================== ================ =================================================================

The dialect is the first row that any node matches; then every node must have its cost. Costs by the name of another row are
refused if they would be lost: on a node, and on edges none of which has a cost of this row. All other attributes (labels,
colours) are ignored: a number in a label is as often a name as a cost. Undirected graphs are refused.

References
----------
https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import cost_of_text, read_from, record, title
from placelab.base.interrupts import need
from placelab.base.limits import json_of, text_of
from placelab.base.saving import save
from placelab.formats.task_graphs.dot_parser import Attributes, DotGraph, parse
from placelab.formats.task_graphs.unit_costs import unit_metadata
from placelab.problem import networkx_graph
from placelab.problem.graph import OpGraph
from placelab.problem.graph_size import check_size

EXPECTED = "a digraph in DOT"
OWN_COSTS = ("compute", "time")
DIALECTS = (("size", "size"), ("weight", "weight"), ("cost", "cost"))  # cost of a node, of an edge
COSTS = {"bytes", "size", "weight", "cost"}
KNOWN = networkx_graph.NODE | networkx_graph.EDGE | COSTS | {"metadata"}
AS_JSON = {"time", "outputs", "devices"}
EDGE_SIZE = "size of an edge"  # None if negative: a control edge
DUMMIES = {"root", "end"}  # SimGrid's, without size


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a DOT file, gzipped or not; `where` names it in messages.

    >>> loads(b"digraph { a [Weight=2]; b [Weight=3]; a -> b [Weight=1] }").compute.tolist()
    [2.0, 3.0]
    """
    text = text_of(data, where, EXPECTED)
    with read_from(where):
        return _graph(parse(text, KNOWN), title(where, "digraph"))


def dumps(graph: OpGraph) -> str:
    """Serialize a graph as DOT that :func:`loads` reads back exactly; FormatError if a name cannot be quoted in DOT."""
    network = networkx_graph.write(graph)
    lines = [f"digraph {{\n  graph [metadata={_quoted(_json(network.graph, graph.title))}]"]
    lines += [f"  {_quoted(name)}{_listed(given)}" for name, given in network.nodes(data=True)]
    lines += [f"  {_quoted(u)} -> {_quoted(v)}{_listed(given)}" for u, v, given in network.edges(data=True)]
    return "\n".join([*lines, "}"]) + "\n"


def write(graph: OpGraph, path: Any) -> Path:
    """Write a graph as DOT, gzipped when the name ends in ``.gz``."""
    return save(dumps(graph), path)


def _listed(given: dict[str, Any]) -> str:
    return f" [{', '.join(f'{key}={_quoted(_spelling(value))}' for key, value in given.items())}]"


def _spelling(value: Any) -> str:
    return _json(value, "an attribute") if isinstance(value, (bool, dict, list)) else str(value)


def _json(value: Any, what: str) -> str:
    """JSON without a backslash before a quote, which DOT would take for an escape."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FormatError(f"the metadata of {what} are not JSON: {error}") from None
    return text.replace("\\\\", "\\u005c").replace('\\"', "\\u0022")


def _quoted(text: str) -> str:
    if re.search(r'\\("|$)', text):
        raise FormatError(f"{text!r:.80} has a backslash before a quote or at its end, which DOT cannot quote")
    return '"' + text.replace('"', '\\"') + '"'


# -------------------------------------------------------------------- from DOT to a graph


def _graph(dot: DotGraph, name: str) -> OpGraph:
    need("networkx")
    import networkx as nx

    network = nx.MultiDiGraph()
    dialect = _dialect(dot)
    _check_names(dot, dialect)
    if dialect in DIALECTS[1:]:
        network.graph.update(unit_metadata())
    network.graph.update({"name": dot.name or name, "provenance": EXPECTED})
    if "metadata" in dot.attributes:
        given = json_of(dot.attributes["metadata"].encode(errors="replace"), "metadata", "an object")
        network.graph.clear()
        network.graph.update(record(given, "metadata"))
    values = _Values()
    for name, given in dot.nodes.items():
        network.add_node(name, **_node(name, given, dialect, values))
    outputs = (given["outputs"] for _, given in network.nodes(data=True) if "outputs" in given)
    check_size(ops=len(dot.nodes), outputs=sum(len(given) for given in outputs if isinstance(given, dict)))
    edges = {(u, v): (u, v, given) for u, v, given in dot.edges}.values() if dot.strict else dot.edges
    network.add_edges_from((u, v, _edge(u, v, given, dialect, values)) for u, v, given in edges)
    return OpGraph.from_networkx(network)


def _dialect(dot: DotGraph) -> tuple[str, str]:
    """Names of the costs of nodes and of edges."""
    used = {key for given in dot.nodes.values() for key in given}
    if not dot.nodes:
        raise FormatError("the graph has no nodes")
    if used & set(OWN_COSTS):
        return "compute", "bytes"
    for node, edge in DIALECTS:
        if node in used:
            return node, edge
    raise FormatError(
        "no node has a cost: expected a [compute=2e9] and a -> b [bytes=4e6], in operations and bytes; also time, or weight, "
        "cost, or SimGrid's size on both"
    )


def _check_names(dot: DotGraph, dialect: tuple[str, str]) -> None:
    """FormatError if a cost has a name of another dialect and would not be counted."""
    node, edge = dialect
    for name, given in dot.nodes.items():
        wrong = next((key for key in given if key in COSTS and key != node), "")
        if wrong:
            raise FormatError(
                f"op {name!r:.80} has {wrong}, which does not count beside {node}: nodes have {node}, edges {edge}"
            )
    if not any(edge in given for _, _, given in dot.edges):  # else a weight may be Graphviz's, for drawing
        for u, v, key in ((u, v, key) for u, v, given in dot.edges for key in given if key in COSTS):
            raise FormatError(
                f"edge {u!r:.60} → {v!r:.60} has {key}; where nodes have {node}, the cost of an edge is called {edge}"
            )


class _Values:
    """Values of attributes, each text parsed once: all nodes that follow a default share its text."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Any] = {}

    def of(self, text: str, key: str, where: str) -> Any:
        """The value of attribute `key`; `where` names the node or edge in messages."""
        if (key, text) not in self.known:
            self.known[key, text] = _value(text, key, where)
        return self.known[key, text]


def _node(name: str, given: Attributes, dialect: tuple[str, str], values: _Values) -> dict[str, Any]:
    """The node's attributes for networkx_graph."""
    key, where = dialect[0], f"op {name!r:.80}"
    node = {key: values.of(given[key], key, where) for key in networkx_graph.NODE & given.keys()}
    if key != "compute":
        if key not in given and not (key == "size" and name in DUMMIES):
            raise FormatError(f"{where} has no {key}, but other ops have one")
        node["compute"] = values.of(given.get(key, "0"), key, where)
    return node


def _edge(u: str, v: str, given: Attributes, dialect: tuple[str, str], values: _Values) -> dict[str, Any]:
    where, key = f"edge {u!r:.60} → {v!r:.60}", dialect[1]
    edge = {name: values.of(given[name], name, where) for name in networkx_graph.EDGE & given.keys()}
    if key == "size":
        size = values.of(given.get(key, "-1"), EDGE_SIZE, where)
        return {"control": True} if size is None else edge | {"bytes": size}
    if key != "bytes" and key in given:
        edge["bytes"] = values.of(given[key], key, where)
    return edge


def _value(text: str, key: str, where: str) -> Any:
    if key in AS_JSON:
        return json_of(text.encode(errors="replace"), f"{key} of {where}", "JSON")
    if key == "control":
        return text.lower() in ("true", "1", "yes")
    if key == "tensor":
        return int(text) if re.fullmatch(r"\d{1,9}", text) else text
    if key == EDGE_SIZE:
        return None if text.lstrip().startswith("-") else cost_of_text(text, f"size of {where}")
    return text if key in ("kind", "group") else cost_of_text(text, f"{key} of {where}")

"""Read files of networkx: node-link JSON, with the edges called ``links`` or ``edges``, and GraphML.

Attributes of nodes and edges are those of DOT (:mod:`placelab.formats.task_graphs.dot`): the names of
:meth:`placelab.OpGraph.from_networkx`, or ``weight``, ``cost`` or ``size`` for nodes and edges alike. In GraphML ``time``,
``outputs`` and ``devices`` are JSON. In node-link JSON the object ``graph`` becomes the metadata if nodes have ``compute`` or
``time``.

All other attributes are not read. ``metadata["costs"]["ignored"]`` counts those whose names look like costs, such as
``duration``, by node or edge; a file whose nodes have no cost that is known is refused.
"""

from __future__ import annotations

import io
import json
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import read_from, records, title
from placelab.base.files import declared_first, json_of, narrow, parse_xml, unzipped
from placelab.base.interrupts import need
from placelab.formats.building import with_escapes
from placelab.formats.task_graphs.dot import KNOWN, MAX_EDGES, MAX_NODES, DotGraph
from placelab.formats.task_graphs.dot import graph_of as graph_of_dot
from placelab.problem.coverage import with_coverage
from placelab.problem.graph import OpGraph

EXPECTED = "node-link JSON of networkx"
GRAPHML = "GraphML"
LISTS = ("links", "edges")  # names of the list of edges, of networkx before and after 3.4
OWN_COSTS = {"compute", "time"}
OWN = {"id", "source", "target", "key"}
COSTLY = re.compile(
    r"time|runtime|duration|latency|seconds|weight|cost|size|bytes|flop|ops|memory|mem|load", re.IGNORECASE
)


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a file, JSON or GraphML, gzipped or not; `where` names it in messages."""
    data = unzipped(data, where)
    if not narrow(data[:64]).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"):
        return graph_of(json_of(data, where, EXPECTED), where)
    with read_from(where):
        return _graph(*_graphml(declared_first(data)), title(where, "graph"), GRAPHML, {})


def matches(document: Any) -> bool:
    """Whether parsed JSON is a graph as nodes and links."""
    if not isinstance(document, dict) or not isinstance(document.get("nodes"), list):
        return False
    return any(isinstance(document.get(key), list) for key in LISTS) and _is_linked(document)


def _is_linked(document: dict[str, Any]) -> bool:
    """Whether the object has what networkx writes beside the lists, or edges from a source to a target."""
    edges = next(document[key] for key in LISTS if isinstance(document.get(key), list))
    return "directed" in document or any(
        isinstance(edge, dict) and {"source", "target"} <= edge.keys() for edge in edges
    )


def graph_of(document: Any, where: str) -> OpGraph:
    """The graph in parsed JSON; `where` names it in messages."""
    if not matches(document):
        raise FormatError(f"{where} is not {EXPECTED}: expected nodes, and links or edges, at the top")
    with read_from(where):
        if document.get("directed") is not True:
            raise FormatError("it is an undirected graph; write it from a DiGraph, with directed: true")
        listed = next(key for key in LISTS if isinstance(document.get(key), list))
        nodes = [
            (_name(node.get("id"), f"id of node {i}"), node)
            for i, node in enumerate(records(document["nodes"], "nodes"))
        ]
        ends: list[Any] = [
            (*(_name(edge.get(end), f"{end} of entry {i} of {listed}") for end in ("source", "target")), edge)
            for i, edge in enumerate(records(document[listed], listed))
        ]
        facts = document.get("graph")
        return _graph(nodes, ends, title(where, "graph"), EXPECTED, facts if isinstance(facts, dict) else {})


def _name(value: Any, what: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise FormatError(f"{what} is {value!r:.60}; expected a text or a whole number")
    return str(value)


def _graphml(data: bytes) -> tuple[list[tuple[str, Any]], list[tuple[str, str, Any]]]:
    """Nodes and edges with their attributes; the file is checked before networkx reads it."""
    found: Counter[str] = Counter()

    def count(tag: str, attributes: dict[str, str], line: int) -> None:
        if not found and tag != "graphml":
            raise FormatError(f"its first element is {tag!r:.60}; expected 'graphml'")
        found[tag] += 1
        if found["node"] > MAX_NODES or found["edge"] > MAX_EDGES or found["data"] > 10 * MAX_EDGES:
            raise FormatError(
                f"line {line}: it has more than {MAX_NODES:,} nodes or {MAX_EDGES:,} edges; such graphs are not read"
            )

    parse_xml(data, count)
    if found["graph"] != 1:
        raise FormatError(f"it has {found['graph']} graphs; expected one")
    need("networkx")
    import networkx as nx

    try:
        with warnings.catch_warnings(action="ignore"):  # a key without a type is a text
            graph = nx.read_graphml(io.BytesIO(data), node_type=str)
    except (nx.NetworkXException, ValueError, KeyError, TypeError, AttributeError, SyntaxError) as error:
        raise FormatError(f"networkx cannot read it: {error or type(error).__name__}") from None
    if not graph.is_directed():
        raise FormatError('it is an undirected graph; write it from a DiGraph, with edgedefault="directed"')
    node, edge = (graph.graph.get(f"{which}_default", {}) for which in ("node", "edge"))
    return [(v, node | own) for v, own in graph.nodes(data=True)], [
        (u, v, edge | own) for u, v, own in graph.edges(data=True)
    ]


def _graph(
    nodes: Iterable[tuple[str, Mapping[str, Any]]],
    edges: Iterable[tuple[str, str, Mapping[str, Any]]],
    name: str,
    provenance: str,
    facts: dict[str, Any],
) -> OpGraph:
    """The graph, of which `facts` are the file's own metadata."""
    ignored: Counter[str] = Counter()
    found = DotGraph()
    for node, given in nodes:
        if node in found.nodes:
            raise FormatError(f"two nodes have the id {node!r:.80}; ids must be unique")
        found.nodes[node] = _kept(given, "node", ignored)
    for u, v, given in edges:
        for end in (u, v):
            if end not in found.nodes:
                raise FormatError(
                    f"an edge {u!r:.60} → {v!r:.60} has the end {end!r:.60}, which is not the id of a node"
                )
        found.edges.append((u, v, _kept(given, "edge", ignored)))
    if len(found.nodes) > MAX_NODES or len(found.edges) > MAX_EDGES:
        raise FormatError(f"it has more than {MAX_NODES:,} nodes or {MAX_EDGES:,} edges; such graphs are not read")
    if facts and any(OWN_COSTS & given.keys() for given in found.nodes.values()):
        found.attributes["metadata"] = json.dumps({"name": name, "provenance": provenance} | facts)
    try:
        graph = graph_of_dot(found, name, provenance)
    except FormatError as error:
        seen = f"; not read: {_listed(ignored)}" if ignored else ""
        raise FormatError(f"{error}{seen}") from None
    if ignored:
        known = graph.metadata.get("costs")
        graph.metadata["costs"] = (known if isinstance(known, dict) else {}) | {"ignored": dict(ignored)}
    return graph if "coverage" in graph.metadata else with_escapes(with_coverage(graph))


def _listed(ignored: Counter[str]) -> str:
    return ", ".join(f"{key} × {n:,}" for key, n in ignored.most_common(5))


def _kept(given: Mapping[str, Any], what: str, ignored: Counter[str]) -> dict[str, Any]:
    """The attributes that are read, as DOT has them: numbers as texts; `ignored` counts costs by other names."""
    kept: dict[str, Any] = {}
    for key, value in given.items():
        low = str(key).lower()
        if low in KNOWN and low != "metadata" and value is not None:
            kept[low] = value if isinstance(value, (str, list, dict)) else json.dumps(value)
        elif low not in OWN and isinstance(value, (int, float)) and not isinstance(value, bool) and COSTLY.search(low):
            ignored[f"{low[:40]} of a{'n' * (what == 'edge')} {what}"] += 1
    return kept

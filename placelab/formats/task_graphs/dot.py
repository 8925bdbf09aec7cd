"""Read and write DOT with costs: Graphviz's language, as archives of scheduling problems use it.

Attributes of nodes and edges are those of :mod:`placelab.problem.networkx_graph`; ``time``, ``outputs``, ``output_shapes`` and
``devices`` are JSON, as is ``metadata`` of the graph. Names are case-insensitive. Three dialects have other names for costs:

====================== ================ =================================================================
a node has             an edge may have which are
====================== ================ =================================================================
``compute``, ``time``  ``bytes``        operations, seconds, bytes (placelab)
``size``               ``size``         operations, bytes (SimGrid); an edge without a size or with a negative
                                        one is a control edge; ``root`` and ``end`` need no size
``weight``, ``cost``   the same name    plain numbers, see :mod:`placelab.formats.building`
====================== ================ =================================================================

The dialect is the first row that any node matches; then every node must have its cost. Costs by the name of another row are
refused if they would be lost: on a node, and on edges none of which has a cost of this row. All other attributes (labels,
colours) are ignored: a number in a label is as often a name as a cost. Undirected graphs are refused.

Subgraphs pass on defaults and may be the ends of edges; ports are ignored. Numbers may have exponents without quotes, which
Graphviz would split into two tokens.

The tokenizer and the parser are our own, 200 lines without recursion: pydot, the one such library that needs no compiler,
took 6 s for 1,000 nodes and 32 s for 5,000 where this takes 0.06 and 0.3 s, and failed at 50 nested subgraphs.

References
----------
https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Container
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import cost_of_text, read_from, record, title
from placelab.base.files import json_of, save, text_of
from placelab.base.interrupts import need
from placelab.formats.building import unit_metadata, with_escapes
from placelab.problem import networkx_graph
from placelab.problem.coverage import with_coverage
from placelab.problem.graph import OpGraph
from placelab.problem.graph_checks import check_size

EXPECTED = "a digraph in DOT"
OWN_COSTS = ("compute", "time")
DIALECTS = (("size", "size"), ("weight", "weight"), ("cost", "cost"))  # cost of a node, of an edge
COSTS = {"bytes", "size", "weight", "cost"}
KNOWN = networkx_graph.NODE | networkx_graph.EDGE | COSTS | {"metadata"}
AS_JSON = {"time", "outputs", "output_shapes", "devices"}
EDGE_SIZE = "size of an edge"  # None if negative: a control edge
DUMMIES = {"root", "end"}  # SimGrid's, without size
MAX_NODES = 100_000
MAX_EDGES = 200_000  # an edge of 8 bytes of text takes a hundred times as much memory
MAX_TOKENS = 4_000_000  # a graph of 23,500 ops has a fifth of that
MAX_NESTING = 100  # subgraphs inside subgraphs
TOKEN = re.compile(
    r"""\s*+(?:(?://[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*\*/|(?m:^)\#[^\n]*+)\s*+)*
    (?:(?P<mark>->|--|[{}\[\];,=:+])
      | (?P<word>[^\W\d]\w*+|-?(?:\.\d++|\d++(?:\.\d*+)?)(?:[eE][-+]?\d++)?(?!\w))
      | "(?P<quoted>[^"\\]*+(?:\\.[^"\\]*+)*)"
      | (?P<html><)
      | (?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
SPACE = re.compile(r"\s*+")
BRACKET = re.compile("[<>]")
KEYWORDS = {"node", "edge", "graph", "digraph", "subgraph", "strict"}
Attributes = dict[str, str]


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a DOT file, gzipped or not; `where` names it in messages.

    >>> loads(b"digraph { a [Weight=2]; b [Weight=3]; a -> b [Weight=1] }").compute.tolist()
    [2.0, 3.0]
    """
    text = text_of(data, where, EXPECTED)
    with read_from(where):
        return graph_of(parse(text, KNOWN), title(where, "digraph"))


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


def graph_of(dot: DotGraph, name: str, provenance: str = EXPECTED) -> OpGraph:
    """The graph of nodes and edges with attributes, by the dialect of their costs."""
    need("networkx")
    import networkx as nx

    network = nx.MultiDiGraph()
    dialect = _dialect(dot)
    _check_names(dot, dialect)
    if dialect in DIALECTS[1:]:
        network.graph.update(unit_metadata())
    network.graph.update({"name": dot.name or name, "provenance": provenance})
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
    graph = OpGraph.from_networkx(network)
    # what placelab wrote is read as it was
    return graph if "metadata" in dot.attributes else with_escapes(with_coverage(graph))


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

    def of(self, text: Any, key: str, where: str) -> Any:
        """The value of attribute `key`; `where` names the node or edge in messages. Lists and objects are values already."""
        if not isinstance(text, str):
            return text
        if (key, text) not in self.known:
            self.known[key, text] = _value(text, key, where)
        return self.known[key, text]


def _node(name: str, given: Attributes, dialect: tuple[str, str], values: _Values) -> dict[str, Any]:
    """The node's attributes for networkx_graph."""
    key = dialect[0]
    where = f"op {name!r:.80}"
    node = {key: values.of(given[key], key, where) for key in networkx_graph.NODE & given.keys()}
    if key != "compute":
        if key not in given and not (key == "size" and name in DUMMIES):
            raise FormatError(f"{where} has no {key}, but other ops have one")
        node["compute"] = values.of(given.get(key, "0"), key, where)
    return node


def _edge(u: str, v: str, given: Attributes, dialect: tuple[str, str], values: _Values) -> dict[str, Any]:
    where = f"edge {u!r:.60} → {v!r:.60}"
    key = dialect[1]
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
    return text if key in ("kind", "group", "tensor_shape") else cost_of_text(text, f"{key} of {where}")


@dataclass
class Scope:
    """A graph or subgraph that is open: its nodes, its defaults, and the statement being parsed."""

    node: Attributes
    edge: Attributes
    nodes: dict[str, None] = field(default_factory=dict)
    ends: list[list[str]] = field(default_factory=list)  # of the statement's edges: lists of nodes
    attributes: Attributes = field(default_factory=dict)
    arrow: bool = False  # whether an end must follow


@dataclass
class DotGraph:
    """A parsed file: nodes and edges with their attributes."""

    name: str = ""
    strict: bool = False
    attributes: Attributes = field(default_factory=dict)
    nodes: dict[str, Attributes] = field(default_factory=dict)
    edges: list[tuple[str, str, Attributes]] = field(default_factory=list)


def parse(text: str, keep: Container[str]) -> DotGraph:
    """Parse a digraph; FormatError names the line.

    Parameters
    ----------
    text
        Contents of a DOT file with one digraph.
    keep
        Names of attributes to keep, in lower case; all others are ignored.
    """
    return _Parser(text, keep).parsed()


class _Parser:
    """Parses statement by statement, with a stack of open subgraphs instead of recursion."""

    def __init__(self, text: str, keep: Container[str]) -> None:
        self.text = text
        self.at = 0
        self.keep = keep
        self.kind = ""  # of the next token: mark, word, quoted or end
        self.value = ""
        self.n_tokens = 0
        self.dot = DotGraph()
        self.scopes = [Scope({}, {})]

    def parsed(self) -> DotGraph:
        """The graph."""
        self._advance()
        self._opening()
        while self.scopes:
            self._step()
        if self.kind != "end":
            raise self._error("something follows the end of the graph; expected one graph in a file")
        return self.dot

    # ---- tokens

    def _advance(self) -> None:
        found = TOKEN.match(self.text, self.at)
        if found is None:
            space = SPACE.match(self.text, self.at)
            self.at = space.end() if space else self.at
            raise self._error(f"{self.text[self.at : self.at + 20]!r} is not a name, number, text in quotes or mark")
        self.kind = found.lastgroup or ""
        self.at = found.end()
        self.value = found[self.kind]
        self.n_tokens += 1
        if self.n_tokens > MAX_TOKENS:
            raise self._error(f"there are over {MAX_TOKENS:,} names and marks; such graphs are not read")
        if self.kind == "quoted" and "\\" in self.value:
            self.value = self.value.replace('\\"', '"').replace("\\\n", "")
        elif self.kind == "html":
            self.kind = "word"
            self.value = self._html()

    def _html(self) -> str:
        depth = 0
        begin = self.at - 1
        for found in BRACKET.finditer(self.text, begin):
            depth += 1 if found[0] == "<" else -1
            if not depth:
                self.at = found.end()
                return self.text[begin : self.at]
        raise self._error("'<' without its '>'")

    def _took(self, mark: str) -> bool:
        """Take the next token if it is that mark."""
        if self.kind != "mark" or self.value != mark:
            return False
        self._advance()
        return True

    def _expect(self, mark: str, after: str) -> None:
        if not self._took(mark):
            raise self._error(f"{self._found()} after {after}; expected {mark!r}")

    def _found(self) -> str:
        return "the end of the file" if self.kind == "end" else f"{self.value!r:.40}"

    def _error(self, what: str) -> FormatError:
        return FormatError(f"line {self.text.count(chr(10), 0, self.at) + 1}: {what}")

    def _name(self, after: str) -> str:
        quoted = self.kind == "quoted"
        parts = [self._part(after)]
        while quoted and self._took("+"):
            parts.append(self._part("'+'"))
        return "".join(parts)

    def _part(self, after: str) -> str:
        text = self.value
        if self.kind not in ("word", "quoted"):
            raise self._error(f"{self._found()} after {after}; expected a name")
        self._advance()
        return text

    # ---- statements

    def _keyword(self) -> str:
        """The next token in lower case if it is a keyword, else ""."""
        return low if self.kind == "word" and (low := self.value.lower()) in KEYWORDS else ""

    def _opening(self) -> None:
        if self._keyword() == "strict":
            self.dot.strict = True
            self._advance()
        if self._keyword() == "graph":
            raise self._error("the graph is undirected; expected a digraph")
        if self._keyword() != "digraph":
            raise self._error(f"{self._found()}; expected a digraph")
        self._advance()
        if self.kind in ("word", "quoted"):
            self.dot.name = self._name("digraph")
        self._expect("{", "digraph")

    def _step(self) -> None:
        """Parse the next part of a statement."""
        scope = self.scopes[-1]
        step = STEPS.get(self.value) if self.kind == "mark" else None
        if step is not None:
            self._advance()
            step(self, scope)
        elif keyword := self._keyword():
            self._advance()
            self._defaults(scope, keyword)
        else:
            self._named(scope, self._name("a statement"))

    def _named(self, scope: Scope, name: str) -> None:
        """Parse what follows a name: an attribute of the graph, or a node."""
        if self._took("="):
            self._finish(scope)
            self._set(self.dot.attributes if len(self.scopes) == 1 else {}, name, self._name("'='"))
            return
        while self._took(":"):
            self._name("':'")
        if name not in self.dot.nodes:
            self.dot.nodes[name] = dict(scope.node)
            if len(self.dot.nodes) > MAX_NODES:
                raise self._error(f"there are over {MAX_NODES:,} nodes; such graphs are not read")
        self._end_of_edge(scope, [name])

    def _end_of_edge(self, scope: Scope, nodes: list[str]) -> None:
        if not scope.arrow:
            self._finish(scope)
        scope.ends.append(nodes)
        scope.arrow = False
        scope.nodes.update(dict.fromkeys(nodes))

    def _arrow(self, scope: Scope) -> None:
        if not scope.ends or scope.arrow or scope.attributes:
            raise self._error("'->' without a node before it")
        scope.arrow = True

    def _open(self, scope: Scope) -> None:
        if len(self.scopes) > MAX_NESTING:
            raise self._error(f"over {MAX_NESTING} subgraphs inside each other; such graphs are not read")
        self.scopes.append(Scope(scope.node, scope.edge))

    def _close(self, scope: Scope) -> None:
        self._finish(scope)
        self.scopes.pop()
        if self.scopes:
            self._end_of_edge(self.scopes[-1], list(scope.nodes))

    def _defaults(self, scope: Scope, keyword: str) -> None:
        """Parse what follows ``node``, ``edge``, ``graph`` or ``subgraph``."""
        if keyword == "subgraph":
            if self.kind in ("word", "quoted"):
                self._name("subgraph")
            self._expect("{", "subgraph")
            return self._open(scope)
        if keyword not in ("node", "edge", "graph"):
            raise self._error(f"{keyword!r} inside a graph")
        self._finish(scope)
        self._expect("[", keyword)
        given = self._attributes()
        if keyword == "graph":
            self.dot.attributes |= given if len(self.scopes) == 1 else {}
        else:
            setattr(scope, keyword, getattr(scope, keyword) | given)

    def _list(self, scope: Scope) -> None:
        if not scope.ends or scope.arrow:
            raise self._error("'[' without a node or edge before it")
        scope.attributes |= self._attributes()

    def _attributes(self) -> Attributes:
        """Parse the attributes after ``[``, up to ``]``."""
        given: Attributes = {}
        while not self._took("]"):
            name = self._name("'['")
            self._set(given, name, self._name("'='") if self._took("=") else "true")
            while self._took(",") or self._took(";"):
                pass
        return given

    def _set(self, attributes: Attributes, name: str, value: str) -> None:
        if name.lower() in self.keep:
            attributes[name.lower()] = value

    def _finish(self, scope: Scope) -> None:
        """Complete the statement: set its node's attributes, or add its edges."""
        if scope.arrow:
            raise self._error("'->' without a node after it")
        if len(scope.ends) == 1 and len(scope.ends[0]) == 1:
            self.dot.nodes[scope.ends[0][0]].update(scope.attributes)
        for before, after in pairwise(scope.ends):
            self._edges(before, after, scope.edge | scope.attributes)
        scope.ends = []
        scope.attributes = {}

    def _edges(self, before: list[str], after: list[str], attributes: Attributes) -> None:
        if len(self.dot.edges) + len(before) * len(after) > MAX_EDGES:
            raise self._error(f"there are over {MAX_EDGES:,} edges; such graphs are not read")
        self.dot.edges += [(u, v, attributes) for u in before for v in after]


STEPS: dict[str, Callable[[_Parser, Scope], None]] = {
    "{": _Parser._open,
    "}": _Parser._close,
    "->": _Parser._arrow,
    "[": _Parser._list,
    ";": _Parser._finish,
    ",": _Parser._finish,
}

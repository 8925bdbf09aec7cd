r"""DOT with costs: Graphviz's language, as schedulers' archives use it, read as far as it describes a graph.

Attributes of nodes and edges are those of :mod:`placelab.problem.networkx_graph`; ``time``, ``outputs`` and ``devices`` are
JSON, as is ``metadata`` of the graph. Three dialects give costs by other names, without regard to case:

====================== ================ =================================================================
a node has             an edge may have which are
====================== ================ =================================================================
``compute``, ``time``  ``bytes``        operations, seconds, bytes (placelab)
``size``               ``size``         operations, bytes; none or below 0: control only (SimGrid); its
                                        ``root`` and ``end`` need no size
``weight``, ``cost``   the same name    plain numbers, see :mod:`placelab.formats.task_graphs.unit_costs`
====================== ================ =================================================================

The first row that any node of the graph fits decides, and then every node must have its cost. A cost by the name of another
row is refused where it would be lost: on a node, and on edges none of which has the right one. All other attributes (labels,
colours) are ignored: a number in a label is as often a name as a cost. Subgraphs hand down defaults and may be the ends of
edges; ports are left out. Undirected graphs are refused. Numbers may have exponents without quotes, too, which Graphviz would
take apart.

The tokenizer and the parser are our own, 200 lines without recursion: pydot, the one such library that needs no compiler,
took 6 s for 1,000 nodes and 32 s for 5,000 where this takes 0.06 and 0.3 s, and fell at 50 nested subgraphs.

References
----------
https://graphviz.org/doc/info/lang.html
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from placelab.errors import FormatError
from placelab.files.fields import cost_of_text, read_from, record, title
from placelab.files.limits import json_of, read_file, text_of
from placelab.files.saving import save
from placelab.formats.task_graphs.unit_costs import unit_metadata
from placelab.problem import networkx_graph
from placelab.problem.graph import OpGraph
from placelab.problem.graph_size import check_size

EXPECTED = "a digraph in DOT"
MAX_NODES = 100_000
MAX_EDGES = 200_000  # as a text of 8 bytes for each takes a hundred times as much once read
MAX_TOKENS = 4_000_000  # a graph of 23,500 ops has a fifth of that
MAX_NESTING = 100  # subgraphs in each other
TOKEN = re.compile(
    r"""(?:\s++|//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+\*/|(?m:^)\#[^\n]*+)*+
    (?:(?P<mark>->|--|[{}\[\];,=:+])
      | (?P<word>[^\W\d]\w*+|-?(?:\.\d++|\d++(?:\.\d*+)?)(?:[eE][-+]?\d++)?(?!\w))
      | "(?P<quoted>(?:[^"\\]++|\\.)*+)"
      | (?P<html><)
      | (?P<end>\Z))""",
    re.VERBOSE | re.DOTALL,
)
SPACE = re.compile(r"\s*+")
BRACKET = re.compile("[<>]")
OURS = ("compute", "time")
DIALECTS = (("size", "size"), ("weight", "weight"), ("cost", "cost"))  # of a node and of an edge
COSTS = {"bytes", "size", "weight", "cost"}
KNOWN = networkx_graph.NODE | networkx_graph.EDGE | COSTS | {"metadata"}
KEYWORDS = {"node", "edge", "graph", "digraph", "subgraph", "strict"}
AS_JSON = {"time", "outputs", "devices"}
SIGNED = "size of an edge"  # which is None below 0: the edge only orders
IMPLIED = {"root", "end"}  # SimGrid's, without size

Attributes = dict[str, str]


def read(path: Any) -> OpGraph:
    """The graph in a DOT file; FormatError, CycleError when it holds none."""
    return loads(read_file(path, EXPECTED), str(path))


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a DOT file, gzipped or not; `where` names it in messages.

    >>> loads(b"digraph { a [Weight=2]; b [Weight=3]; a -> b [Weight=1] }").compute.tolist()
    [2.0, 3.0]
    """
    text = text_of(data, where, EXPECTED)
    with read_from(where):
        return _graph(_Parser(text).parsed(), title(where, "digraph"))


def dumps(graph: OpGraph) -> str:
    """The graph as DOT that :func:`loads` reads back exactly; FormatError where a name cannot be quoted in DOT."""
    network = networkx_graph.write(graph)
    lines = [f"digraph {{\n  graph [metadata={_quoted(_json(network.graph, graph.title))}]"]
    lines += [f"  {_quoted(name)}{_listed(given)}" for name, given in network.nodes(data=True)]
    lines += [f"  {_quoted(u)} -> {_quoted(v)}{_listed(given)}" for u, v, given in network.edges(data=True)]
    return "\n".join([*lines, "}"]) + "\n"


def write(graph: OpGraph, path: Any) -> Path:
    """Write a graph as DOT, gzipped when the name ends in ``.gz``."""
    return save(dumps(graph), path)


def _listed(given: dict[str, Any]) -> str:
    return f" [{', '.join(f'{key}={_quoted(_spelt(value))}' for key, value in given.items())}]"


def _spelt(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _json(value, "an attribute") if isinstance(value, (dict, list)) else str(value)


def _json(value: Any, what: str) -> str:
    """JSON without a backslash before a quote, which means something else in DOT."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise FormatError(f"the metadata of {what} are not JSON: {error}") from None
    return text.replace("\\\\", "\\u005c").replace('\\"', "\\u0022")


def _quoted(text: str) -> str:
    if re.search(r'\\("|$)', text):
        raise FormatError(f"{text!r:.80} has a backslash before a quote or at its end, which DOT cannot quote")
    return '"' + text.replace('"', '\\"') + '"'


# -------------------------------------------------------------------- the language


@dataclass
class _Scope:
    """A graph or subgraph that is open: its nodes, the defaults in it, and the statement that is being read."""

    node: Attributes
    edge: Attributes
    nodes: dict[str, None] = field(default_factory=dict)
    ends: list[list[str]] = field(default_factory=list)  # of the statement: nodes, joined by arrows
    attributes: Attributes = field(default_factory=dict)
    arrow: bool = False  # an end must follow


@dataclass
class _Dot:
    """What a file says: nodes and edges with their attributes."""

    name: str = ""
    strict: bool = False
    attributes: Attributes = field(default_factory=dict)
    nodes: dict[str, Attributes] = field(default_factory=dict)
    edges: list[tuple[str, str, Attributes]] = field(default_factory=list)


class _Parser:
    """Reads statement by statement; subgraphs that are open stand on a stack of our own."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.kind, self.value = "", ""  # the token that comes next: mark, word, quoted or end
        self.n_tokens = 0
        self.dot = _Dot()
        self.scopes = [_Scope({}, {})]

    def parsed(self) -> _Dot:
        """All that the file says."""
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
            self.at = SPACE.match(self.text, self.at).end()
            raise self._error(f"{self.text[self.at : self.at + 20]!r} is no name, number, text in quotes or mark")
        self.kind, self.at = found.lastgroup, found.end()
        self.value = found[self.kind]
        self.n_tokens += 1
        if self.n_tokens > MAX_TOKENS:
            raise self._error(f"there are over {MAX_TOKENS:,} names and marks; such graphs are not read")
        if self.kind == "quoted" and "\\" in self.value:
            self.value = self.value.replace('\\"', '"').replace("\\\n", "")
        elif self.kind == "html":
            self.kind, self.value = "word", self._html()

    def _html(self) -> str:
        depth, begin = 0, self.at - 1
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
        quoted, parts = self.kind == "quoted", [self._part(after)]
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
        """The keyword that comes next, in small letters; "" where none does."""
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
        """Read the next piece of a statement."""
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

    def _named(self, scope: _Scope, name: str) -> None:
        """A name: an attribute of the graph, or a node."""
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

    def _end_of_edge(self, scope: _Scope, nodes: list[str]) -> None:
        if not scope.arrow:
            self._finish(scope)
        scope.ends.append(nodes)
        scope.arrow = False
        scope.nodes.update(dict.fromkeys(nodes))

    def _arrow(self, scope: _Scope) -> None:
        if not scope.ends or scope.arrow or scope.attributes:
            raise self._error("'->' without a node before it")
        scope.arrow = True

    def _open(self, scope: _Scope) -> None:
        if len(self.scopes) > MAX_NESTING:
            raise self._error(f"over {MAX_NESTING} subgraphs in each other; such graphs are not read")
        self.scopes.append(_Scope(scope.node, scope.edge))

    def _close(self, scope: _Scope) -> None:
        self._finish(scope)
        self.scopes.pop()
        if self.scopes:
            self._end_of_edge(self.scopes[-1], list(scope.nodes))

    def _defaults(self, scope: _Scope, keyword: str) -> None:
        """After ``node``, ``edge``, ``graph`` or ``subgraph``."""
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

    def _list(self, scope: _Scope) -> None:
        if not scope.ends or scope.arrow:
            raise self._error("'[' without a node or edge before it")
        scope.attributes |= self._attributes()

    def _attributes(self) -> Attributes:
        """What stands between ``[``, already read, and ``]``."""
        given: Attributes = {}
        while not self._took("]"):
            name = self._name("'['")
            self._set(given, name, self._name("'='") if self._took("=") else "true")
            while self._took(",") or self._took(";"):
                pass
        return given

    def _set(self, attributes: Attributes, name: str, value: str) -> None:
        if name.lower() in KNOWN:
            attributes[name.lower()] = value

    def _finish(self, scope: _Scope) -> None:
        """The statement is complete: its node gets its attributes, or its edges are there."""
        if scope.arrow:
            raise self._error("'->' without a node after it")
        if len(scope.ends) == 1 and len(scope.ends[0]) == 1:
            self.dot.nodes[scope.ends[0][0]].update(scope.attributes)
        for before, after in pairwise(scope.ends):
            self._edges(before, after, scope.edge | scope.attributes)
        scope.ends, scope.attributes = [], {}

    def _edges(self, before: list[str], after: list[str], attributes: Attributes) -> None:
        if len(self.dot.edges) + len(before) * len(after) > MAX_EDGES:
            raise self._error(f"there are over {MAX_EDGES:,} edges; such graphs are not read")
        self.dot.edges += [(u, v, attributes) for u in before for v in after]


STEPS = {
    "{": _Parser._open,
    "}": _Parser._close,
    "->": _Parser._arrow,
    "[": _Parser._list,
    ";": _Parser._finish,
    ",": _Parser._finish,
}


# -------------------------------------------------------------------- what it means


def _graph(dot: _Dot, name: str) -> OpGraph:
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


def _dialect(dot: _Dot) -> tuple[str, str]:
    """Names of the costs of nodes and edges."""
    used = {key for given in dot.nodes.values() for key in given}
    if not dot.nodes:
        raise FormatError("the graph has no nodes")
    if used & set(OURS):
        return "compute", "bytes"
    for node, edge in DIALECTS:
        if node in used:
            return node, edge
    raise FormatError(
        "no node has a cost: expected a [compute=2e9] and a -> b [bytes=4e6], in operations and bytes; also time, or weight, "
        "cost, or SimGrid's size on both"
    )


def _check_names(dot: _Dot, dialect: tuple[str, str]) -> None:
    """FormatError where a cost goes by another name than the others, so that it would not be counted."""
    node, edge = dialect
    for name, given in dot.nodes.items():
        wrong = next((key for key in given if key in COSTS and key != node), None)
        if wrong:
            raise FormatError(
                f"op {name!r:.80} has {wrong}, which does not count beside {node}: nodes have {node}, edges {edge}"
            )
    if not any(edge in given for _, _, given in dot.edges):  # else a weight may be Graphviz's, which says how to draw
        wrong = next(((u, v, key) for u, v, given in dot.edges for key in given if key in COSTS), None)
        if wrong:
            raise FormatError(
                f"edge {wrong[0]!r:.60} → {wrong[1]!r:.60} has {wrong[2]}; where nodes have {node}, what travels is called {edge}"
            )


class _Values:
    """What texts of attributes mean, each read once: a default stands at every node that follows."""

    def __init__(self) -> None:
        self.known: dict[tuple[str, str], Any] = {}

    def of(self, text: str, key: str, where: str) -> Any:
        """The value; nodes that have the same text share it."""
        if (key, text) not in self.known:
            self.known[key, text] = _value(text, key, where)
        return self.known[key, text]


def _node(name: str, given: Attributes, dialect: tuple[str, str], values: _Values) -> dict[str, Any]:
    """Attributes as networkx_graph takes them."""
    key, where = dialect[0], f"op {name!r:.80}"
    node = {key: values.of(given[key], key, where) for key in networkx_graph.NODE & given.keys()}
    if key != "compute":
        if key not in given and not (key == "size" and name in IMPLIED):
            raise FormatError(f"{where} has no {key}, but other ops have one")
        node["compute"] = values.of(given.get(key, "0"), key, where)
    return node


def _edge(u: str, v: str, given: Attributes, dialect: tuple[str, str], values: _Values) -> dict[str, Any]:
    where, key = f"edge {u!r:.60} → {v!r:.60}", dialect[1]
    edge = {name: values.of(given[name], name, where) for name in networkx_graph.EDGE & given.keys()}
    if key == "size":
        size = values.of(given.get(key, "-1"), SIGNED, where)
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
    if key == SIGNED:
        return None if text.lstrip().startswith("-") else cost_of_text(text, f"size of {where}")
    return text if key in ("kind", "group") else cost_of_text(text, f"{key} of {where}")

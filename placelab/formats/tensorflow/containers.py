"""Read the nodes and functions of a TensorFlow file, and the outputs of a SavedModel, from binary and from text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from placelab.base.errors import FormatError
from placelab.base.limits import MAX_OPS
from placelab.formats.protobuf import BYTES, fields, parse, spans_of
from placelab.formats.tensorflow.functions import Function, Library, function_of
from placelab.formats.tensorflow.nodes import EXPECTED, Node, node_of, schema
from placelab.formats.tensorflow.saved_model import is_saved_model, saved_graph
from placelab.formats.tensorflow.text_format import Block, blocks, message_of
from placelab.problem.graph_size import check_size

NODE, LIBRARY, FUNCTION = 1, 2, 1  # fields of GraphDef, and of the library in it
SIGNATURE, NAME = 1, 1  # of a function, and of its signature
MAX_TEXT_OPS = 200_000  # parsing text takes twenty times as long
BOM = b"\xef\xbb\xbf"  # byte order mark of Windows editors
TEXT = re.compile(
    rb"\s*(?:#[^\n]*\n\s*)*(?:node|library|versions|version|meta_graphs|saved_model_schema_version)\s*[:{<]"
)


class Contents(NamedTuple):
    """Contents of a file."""

    nodes: list[Node]
    library: Library | None  # None if the file has no functions
    outputs: tuple[str, ...]  # tensors to compute, as ``op:0``; if empty, all
    provenance: dict[str, str]


class _Nodes:
    """The nodes read so far; FormatError when there are too many."""

    def __init__(self, where: str, limit: int) -> None:
        self.where, self.limit = where, limit
        self.found: list[Node] = []
        self.names: set[str] = set()
        self.n_read, self.n_outputs = 0, 0  # those of functions included

    def add(self, message: Any) -> None:
        """Read a node of the graph; FormatError if its name is taken."""
        node = self.read(message)
        if node.name in self.names:
            raise FormatError(f"{self.where} has two ops called {node.name!r:.200}; op names must be unique")
        self.names.add(node.name)
        if len(self.names) > self.limit:
            raise FormatError(f"{self.where} has more than {self.limit:,} ops; expected {EXPECTED} of fewer")
        self.found.append(node)

    def read(self, message: Any) -> Node:
        """Read a node of the graph or of a function; its outputs count, as a few bytes can declare 100,000."""
        node = node_of(message, self.where)
        self.n_read += 1
        self.n_outputs += len(node.types)
        check_size(ops=self.n_read, outputs=self.n_outputs)
        return node


def is_text(data: bytes) -> bool:
    """Whether a file is in protobuf's text format."""
    return TEXT.match(data, len(BOM) if data.startswith(BOM) else 0, 10_000) is not None


def binary(data: bytes, where: str) -> Contents:
    """The contents of a ``.pb`` file."""
    if not is_saved_model(data):
        return _binary(data, where, 0, len(data), (), {"format": "TensorFlow GraphDef"})
    saved = saved_graph(data, where)
    provenance = {"format": "TensorFlow SavedModel", "tags": ", ".join(saved.tags), "version": saved.version}
    return _binary(data, where, saved.start, saved.end, saved.outputs, provenance)


def _binary(
    data: bytes, where: str, start: int, end: int, outputs: tuple[str, ...], provenance: dict[str, str]
) -> Contents:
    nodes, functions = _Nodes(where, MAX_OPS), dict[str, tuple[int, int]]()
    kind = schema()["NodeDef"]
    for number, wire, _, value, stop in fields(data, where, start, end):
        if (number, wire) == (NODE, BYTES):
            nodes.add(parse(kind, data[value:stop], where))
        elif (number, wire) == (LIBRARY, BYTES):
            functions |= {
                _function_name(data, where, *span): span for span in spans_of(FUNCTION, data, where, value, stop)
            }

    def load(span: tuple[int, int]) -> Any:
        return parse(schema()["FunctionDef"], data[slice(*span)], where)

    return Contents(nodes.found, _library(functions, load, nodes), outputs, provenance)


def textual(text: str, where: str) -> Contents:
    """The contents of a ``.pbtxt`` file."""
    nodes, functions = _Nodes(where, MAX_TEXT_OPS), dict[str, Any]()
    kind, function = schema()["NodeDef"], schema()["FunctionDef"]
    for block in _graph_blocks(text, where):
        if block.name == "node":
            nodes.add(message_of(kind, text[block.start : block.end], where, block.start))
        elif block.name == "library":
            for inner in blocks(text, where, block.start, block.end):
                if inner.name == "function":
                    message = message_of(function, text[inner.start : inner.end], where, inner.start)
                    functions[message.signature.name] = message
    library = _library(functions, lambda message: message, nodes)
    return Contents(nodes.found, library, (), {"format": "TensorFlow GraphDef, text"})


def _graph_blocks(text: str, where: str) -> Iterator[Block]:
    """The blocks of the GraphDef in a text: the outermost ones, or those in the first graph of a SavedModel."""
    for block in blocks(text, where):
        if block.name != "meta_graphs":
            yield block
            continue
        graphs = [inner for inner in blocks(text, where, block.start, block.end) if inner.name == "graph_def"]
        for graph in graphs[:1]:
            yield from blocks(text, where, graph.start, graph.end)
            return


def _library(functions: Mapping[str, Any], load: Callable[[Any], Any], nodes: _Nodes) -> Library | None:
    """Functions by name, each read at its first call."""
    if not functions:
        return None

    @cache
    def function(name: str) -> Function | None:
        return function_of(load(functions[name]), nodes.read) if name in functions else None

    return function


def _function_name(data: bytes, where: str, start: int, end: int) -> str:
    for signature in spans_of(SIGNATURE, data, where, start, end):
        for name in spans_of(NAME, data, where, *signature):
            return data[slice(*name)].decode(errors="replace")
    return ""

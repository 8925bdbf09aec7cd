"""Read the nodes and functions of a TensorFlow file, and the outputs of a SavedModel, from binary and from text.

A SavedModel has a graph per set of tags, and signatures by which programs run it. The graph includes ops that save and restore
the model, which no signature needs. Of protobuf's text format (``.pbtxt``) only the ends of blocks are looked for.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from placelab.base.errors import FormatError
from placelab.base.files import MAX_OPS, narrow
from placelab.formats.protobuf import BYTES, VARINT, MessageType, fields, messages, parse, spans_of
from placelab.formats.tensorflow.functions import Function, Library, function_of
from placelab.formats.tensorflow.nodes import EXPECTED, Node, node_of, schema
from placelab.problem.graph_checks import check_size

NODE = 1  # fields of GraphDef
LIBRARY = 2
FUNCTION = 1  # field of the library
SIGNATURE = 1  # field of a function
NAME = 1  # field of its signature
MAX_TEXT_OPS = 200_000  # parsing text takes twenty times as long
TEXT = re.compile(
    rb"\s*(?:#[^\n]*\n\s*)*(?:node|library|versions|version|meta_graphs|saved_model_schema_version)\s*[:{<]"
)
# Fields of SavedModel
VERSION = 1
META_GRAPH = 2
# Fields of MetaGraphDef
META_INFO = 1
GRAPH = 2
SIGNATURES = 5
TABLES = {
    "MetaInfo": "repeated string tags = 4; string tensorflow_version = 5",
    "Signature": "string key = 1; SignatureDef value = 2",
    "SignatureDef": "map<string, Tensor> outputs = 2",
    "Tensor": "string name = 1",
}
SERVE = "serve"
PRIVATE = "__saved_model"  # prefix of signatures that only restore or initialise a model
STRING = r"""(?:"[^"\\\n]*+(?:\\.[^"\\\n]*+)*"|'[^'\\\n]*+(?:\\.[^'\\\n]*+)*')"""
MARK = re.compile(STRING + r"""|[{}<>"']|#[^\n]*""")
FIELD = re.compile(r"(\w+)\s*:?\s*\Z")
MAX_DEPTH = 100  # as in binary files
MAX_FIELDS = 100_000  # of one op or function; parsing takes 20 µs for each
VALUE = re.compile(STRING + "|([:,{<])")


class Contents(NamedTuple):
    """Contents of a file."""

    nodes: list[Node]
    library: Library | None  # None if the file has no functions
    outputs: tuple[str, ...]  # tensors to compute, as ``op:0``; if empty, all
    provenance: dict[str, str]


class _Nodes:
    """The nodes read so far; FormatError when there are too many."""

    def __init__(self, where: str, limit: int) -> None:
        self.where = where
        self.limit = limit
        self.found: list[Node] = []
        self.names: set[str] = set()
        self.n_read = 0  # with those of functions, as the next
        self.n_outputs = 0

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
    data = narrow(data[:10_000])
    return TEXT.match(data, len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0) is not None


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
    nodes = _Nodes(where, MAX_OPS)
    functions = dict[str, tuple[int, int]]()
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
    nodes = _Nodes(where, MAX_TEXT_OPS)
    functions = dict[str, Any]()
    kind = schema()["NodeDef"]
    function = schema()["FunctionDef"]
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


class Saved(NamedTuple):
    """A graph in a SavedModel."""

    start: int
    end: int  # the GraphDef is data[start:end]
    tags: tuple[str, ...]
    version: str  # of the TensorFlow that wrote it
    outputs: tuple[str, ...]  # tensors that signatures return, as ``op:0``


def is_saved_model(data: bytes) -> bool:
    """Whether a file begins like a SavedModel, with a version number and a graph; a GraphDef begins with a node."""
    return data[:1] == bytes([VERSION << 3 | VARINT]) and data[2:3] == bytes([META_GRAPH << 3 | BYTES])


def saved_graph(data: bytes, where: str) -> Saved:
    """The graph with the tag ``serve``, else the first one; FormatError if there is none."""
    found = [
        _saved(data, where, value, end)
        for number, wire, _, value, end in fields(data, where)
        if (number, wire) == (META_GRAPH, BYTES)
    ]
    graphs = [saved for saved in found if saved.end]
    if not graphs:
        raise FormatError(f"{where} is a SavedModel without a graph")
    return next((saved for saved in graphs if SERVE in saved.tags), graphs[0])


def _saved(data: bytes, where: str, start: int, end: int) -> Saved:
    saved = Saved(0, 0, (), "", ())
    outputs = []
    for number, wire, _, value, stop in fields(data, where, start, end):
        if (number, wire) == (META_INFO, BYTES):
            info = parse(_schema()["MetaInfo"], data[value:stop], where)
            saved = saved._replace(tags=tuple(info.tags), version=info.tensorflow_version)
        elif (number, wire) == (GRAPH, BYTES):
            saved = saved._replace(start=value, end=stop)
        elif (number, wire) == (SIGNATURES, BYTES):
            signature = parse(_schema()["Signature"], data[value:stop], where)
            if not signature.key.startswith(PRIVATE):
                outputs += [signature.value.outputs[name].name for name in sorted(signature.value.outputs)]
    return saved._replace(outputs=tuple(outputs))


@cache
def _schema() -> dict[str, MessageType]:
    return messages("tensorflow_saved", TABLES)


class Block(NamedTuple):
    """``name { … }``: the text between the braces is ``text[start:end]``."""

    name: str
    start: int
    end: int


def blocks(text: str, where: str, start: int = 0, end: int | None = None) -> Iterator[Block]:
    """The outermost blocks of a text, in order.

    Raises
    ------
    FormatError
        Braces that do not match, or blocks more than 100 deep. O(len(text)).
    """
    depth = 0
    begin = 0
    name = ""
    past = start
    for found in MARK.finditer(text, start, len(text) if end is None else end):
        mark = found[0]
        if mark in "{<":
            if depth == 0:
                begin = found.end()
                name = _name(text, past, found.start(), where)
            depth += 1
            if depth > MAX_DEPTH:
                raise FormatError(
                    f"{where} is nested more than {MAX_DEPTH} deep {_at(text, found)}; such files are not read"
                )
        elif mark in "}>":
            depth -= 1
            if depth < 0:
                raise FormatError(f"{where} closes a block that is not open {_at(text, found)}")
            if depth == 0:
                yield Block(name, begin, found.start())
                past = found.end()
        elif len(mark) == 1 and mark != "#":
            raise FormatError(f"{where} has a quotation mark that nothing closes {_at(text, found)}")
    if depth:
        raise FormatError(f"{where} ends inside a block: {depth} braces are not closed")


def message_of(kind: MessageType, text: str, where: str, at: int) -> Any:
    """Parse the text of a block as a message; `at` is its position in the file, for errors."""
    from google.protobuf import text_format

    if _has_over(MAX_FIELDS, text):
        raise FormatError(
            f"{where} has a block of more than {MAX_FIELDS:,} fields at character {at:,}; such files are not read"
        )
    try:
        return text_format.Parse(text, kind(), allow_unknown_field=True, allow_unknown_extension=True)
    except (text_format.ParseError, ValueError, RecursionError) as error:
        found = str(error).replace("\n", " ")[:200]
        raise FormatError(f"{where} is not a protobuf text file: in the block at character {at:,}, {found}") from None


def _has_over(limit: int, text: str) -> bool:
    """Whether a text has more than `limit` fields and list entries, strings ignored."""
    if sum(map(text.count, ":,{<")) <= limit:
        return False
    marks = (found for found in VALUE.finditer(text) if found[1])
    return next(islice(marks, limit, None), None) is not None


def _name(text: str, past: int, at: int, where: str) -> str:
    found = FIELD.search(text, max(past, at - 100), at)
    if found is None:
        raise FormatError(f"{where} opens a block without a name at character {at:,}; expected node {{ … }}")
    return found[1]


def _at(text: str, found: re.Match) -> str:
    return f"in line {text.count(chr(10), 0, found.start()) + 1:,}"

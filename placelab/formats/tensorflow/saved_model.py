"""Locate the graph in a SavedModel's ``saved_model.pb``, and the outputs of its signatures.

A SavedModel has a graph per set of tags, and signatures by which programs run it. The graph includes ops that save and restore
the model, which no signature needs.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from placelab.base.errors import FormatError
from placelab.formats.protobuf import BYTES, VARINT, MessageType, fields, messages, parse

VERSION, META_GRAPH = 1, 2  # fields of SavedModel
META_INFO, GRAPH, SIGNATURE = 1, 2, 5  # of MetaGraphDef
TABLES = {
    "MetaInfo": "repeated string tags = 4; string tensorflow_version = 5",
    "Signature": "string key = 1; SignatureDef value = 2",
    "SignatureDef": "map<string, Tensor> outputs = 2",
    "Tensor": "string name = 1",
}
SERVE = "serve"
PRIVATE = "__saved_model"  # prefix of signatures that only restore or initialise a model


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
    saved, outputs = Saved(0, 0, (), "", ()), []
    for number, wire, _, value, stop in fields(data, where, start, end):
        if (number, wire) == (META_INFO, BYTES):
            info = parse(_schema()["MetaInfo"], data[value:stop], where)
            saved = saved._replace(tags=tuple(info.tags), version=info.tensorflow_version)
        elif (number, wire) == (GRAPH, BYTES):
            saved = saved._replace(start=value, end=stop)
        elif (number, wire) == (SIGNATURE, BYTES):
            signature = parse(_schema()["Signature"], data[value:stop], where)
            if not signature.key.startswith(PRIVATE):
                outputs += [signature.value.outputs[name].name for name in sorted(signature.value.outputs)]
    return saved._replace(outputs=tuple(outputs))


@cache
def _schema() -> dict[str, MessageType]:
    return messages("tensorflow_saved", TABLES)

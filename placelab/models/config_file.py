"""Read a ``config.json`` of Hugging Face as the graph of its model's forward pass on a sequence of 4096 tokens."""

from __future__ import annotations

from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import read_from
from placelab.base.files import json_of
from placelab.models.config import shape_of
from placelab.models.transformer import CONFIG, EXPECTED, MOST_BYTES, Transformer, title
from placelab.problem.graph import OpGraph

__all__ = ["CONFIG", "EXPECTED", "graph_of", "loads", "matches"]

SIZES = {"hidden_size", "num_hidden_layers"}


def matches(document: Any) -> bool:
    """Whether the document is a configuration of a model."""
    return isinstance(document, dict) and ("model_type" in document or document.keys() >= SIZES)


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a file, which `where` names in messages."""
    if len(data) > MOST_BYTES:
        raise FormatError(f"{where} has {len(data):,} bytes; expected {EXPECTED}, {MOST_BYTES:,} at most")
    return graph_of(json_of(data, where, EXPECTED), where)


def graph_of(document: Any, where: str) -> OpGraph:
    """The graph of a document."""
    if not matches(document):
        raise FormatError(f"{where} is JSON of a different kind; expected {EXPECTED}")
    with read_from(where):
        return Transformer(title(document, where), shape_of(document)).graph("forward")

"""Read placelab JSON: a graph as columns, gzipped or not. The schema is in ``datasets/README.md``."""

from __future__ import annotations

from typing import Any

from placelab.base.fields import read_from
from placelab.base.files import json_of, read_file
from placelab.formats.building import build
from placelab.problem.graph import OpGraph
from placelab.problem.graph_json import EXPECTED, columns
from placelab.problem.graph_json import is_one as matches

__all__ = ["EXPECTED", "graph_of", "loads", "matches", "read"]


def read(path: Any) -> OpGraph:
    """Read a placelab JSON file.

    Raises
    ------
    FormatError
        Another format, a file that is too large or nested too deeply, a column that is missing or malformed.
    """
    return loads(read_file(path, EXPECTED), str(path))


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a placelab JSON file, gzipped or not; `where` names it in messages."""
    return graph_of(json_of(data, where, EXPECTED), where)


def graph_of(document: Any, where: str) -> OpGraph:
    """The graph in parsed JSON; `where` names it in messages."""
    found = columns(document, where)
    with read_from(where):
        return build(**found, own=True)

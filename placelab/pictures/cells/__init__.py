"""Static pictures of objects, which a notebook shows at the end of a cell."""

from collections.abc import Callable
from typing import Any

from placelab.pictures.cells.problem import show_cluster, show_graph, show_problem
from placelab.pictures.cells.schedule import show_placement, show_schedule
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

DRAWN: dict[type, Callable[[Any], str]] = {
    Cluster: show_cluster,
    OpGraph: show_graph,
    Problem: show_problem,
    Placement: show_placement,
    Schedule: show_schedule,
}


def html(shown: Any) -> str:
    """The picture of an object as HTML."""
    return next(draw(shown) for kind, draw in DRAWN.items() if isinstance(shown, kind))

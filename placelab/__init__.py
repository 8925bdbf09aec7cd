"""placelab: explore how the operations of a machine-learning model are placed on devices and scheduled there."""

from placelab import clusters
from placelab.cluster import Cluster
from placelab.errors import CycleError, FormatError, InfeasibleError, PlacelabError, UnsupportedError
from placelab.graph import OpGraph
from placelab.problem import Problem
from placelab.schedule import Placement, Schedule

__all__ = [
    "Cluster",
    "CycleError",
    "FormatError",
    "InfeasibleError",
    "OpGraph",
    "PlacelabError",
    "Placement",
    "Problem",
    "Schedule",
    "UnsupportedError",
    "clusters",
]

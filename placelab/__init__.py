"""placelab: explore how the operations of a machine-learning model are placed on devices and scheduled there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import placelab.partitioners  # enter their strategies into the catalogues
import placelab.schedulers  # noqa: F401
from placelab import clusters, costs, datasets, generators
from placelab.cluster import Cluster
from placelab.errors import CycleError, FormatError, InfeasibleError, PlacelabError, UnsupportedError
from placelab.graph import OpGraph
from placelab.loading import load
from placelab.list_scheduler import ListScheduler
from placelab.problem import Problem
from placelab.ranks import compute_rank, downward_rank, upward_rank
from placelab.schedule import Placement, Schedule
from placelab.simulate import simulate
from placelab.solve import place, solve
from placelab.strategies import Order, partitioner, partitioners, scheduler, schedulers

__all__ = [
    "Cluster",
    "CycleError",
    "FormatError",
    "InfeasibleError",
    "ListScheduler",
    "OpGraph",
    "Order",
    "PlacelabError",
    "Placement",
    "Problem",
    "Schedule",
    "UnsupportedError",
    "clusters",
    "compute_rank",
    "costs",
    "datasets",
    "downward_rank",
    "explore",
    "export",
    "generators",
    "load",
    "partitioner",
    "partitioners",
    "place",
    "plots",
    "scheduler",
    "schedulers",
    "simulate",
    "solve",
    "testing",
    "upward_rank",
]


def __getattr__(name: str) -> Any:
    """What needs Jupyter or Bokeh is imported on first use, so that ``import placelab`` stays quick."""
    if name in ("export", "plots", "testing"):
        return import_module(f"placelab.{name}")
    if name == "explore":
        return import_module("placelab.explorer").explore
    raise AttributeError(f"module 'placelab' has no attribute {name!r}")

"""placelab: explore how the operations of a machine-learning model are placed on devices and scheduled there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import placelab.partitioners  # enter their strategies into the catalogues
import placelab.schedulers  # noqa: F401
from placelab import clusters, costs, datasets, generators, transforms
from placelab.bounds import bounds
from placelab.cluster import Cluster
from placelab.compare import compare
from placelab.errors import CycleError, FormatError, InfeasibleError, PlacelabError, UnsupportedError
from placelab.explain import critical_path, idle_reasons
from placelab.graph import OpGraph
from placelab.list_scheduler import ListScheduler
from placelab.loading import load
from placelab.metrics import metrics
from placelab.problem import Problem
from placelab.ranks import compute_rank, downward_rank, upward_rank
from placelab.ratios import ratios
from placelab.schedule import Placement, Schedule
from placelab.simulate import simulate
from placelab.solve import place, solve
from placelab.strategies import Order, partitioner, partitioners, scheduler, schedulers
from placelab.validate import Violation, validate

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
    "Violation",
    "bounds",
    "clusters",
    "compare",
    "compute_rank",
    "costs",
    "critical_path",
    "datasets",
    "downward_rank",
    "explore",
    "export",
    "generators",
    "idle_reasons",
    "load",
    "metrics",
    "partitioner",
    "partitioners",
    "place",
    "plots",
    "ratios",
    "scheduler",
    "schedulers",
    "simulate",
    "solve",
    "testing",
    "transforms",
    "upward_rank",
    "validate",
]


def __getattr__(name: str) -> Any:
    """What needs Jupyter or Bokeh is imported on first use, so that ``import placelab`` stays quick."""
    if name in ("export", "plots", "testing"):
        return import_module(f"placelab.{name}")
    if name == "explore":
        return import_module("placelab.explorer").explore
    raise AttributeError(f"module 'placelab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)

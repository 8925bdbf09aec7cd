"""placelab: explore how the operations of a machine-learning model are placed on devices and scheduled there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import placelab.partitioning  # enter their strategies into the catalogues
import placelab.scheduling  # noqa: F401
from placelab import costs, datasets, faults, generators, transforms
from placelab.analysis.approximation import ratios
from placelab.analysis.collectives import allreduce_time, arrival_skew
from placelab.analysis.explanation import critical_path, idle_reasons
from placelab.analysis.faster import what_if
from placelab.analysis.lower_bounds import bounds
from placelab.analysis.many_placements import makespans
from placelab.analysis.measures import metrics
from placelab.analysis.stage_measures import stages
from placelab.analysis.two_schedules import Difference, difference
from placelab.analysis.validation import Violation, validate
from placelab.analysis.worker_measures import worker_metrics
from placelab.comparing import compare
from placelab.errors import CycleError, FormatError, InfeasibleError, PlacelabError, UnsupportedError
from placelab.faults.expectations import checkpoint_interval
from placelab.formats.torch.schedule_table import read as load_schedule_table
from placelab.interrupts import need
from placelab.loading import load
from placelab.placing import place, solve
from placelab.planning.list_scheduler import ListScheduler
from placelab.planning.ranks import compute_rank, downward_rank, upward_rank
from placelab.problem import clusters
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies import partitioner, partitioners, scheduler, schedulers
from placelab.studies.adversary_search import Adversary, adversarial
from placelab.studies.many_runs import iterations
from placelab.studies.members_table import list_members
from placelab.studies.over_values import sensitivity
from placelab.studies.problem_grid import Problems, grid
from placelab.studies.study_runs import study

__all__ = [
    "Adversary",
    "Cluster",
    "CycleError",
    "Difference",
    "FormatError",
    "InfeasibleError",
    "ListScheduler",
    "OpGraph",
    "Order",
    "PlacelabError",
    "Placement",
    "Problem",
    "Problems",
    "Schedule",
    "UnsupportedError",
    "Violation",
    "adversarial",
    "allreduce_time",
    "arrival_skew",
    "bounds",
    "checkpoint_interval",
    "clusters",
    "compare",
    "compute_rank",
    "costs",
    "critical_path",
    "datasets",
    "difference",
    "downward_rank",
    "explore",
    "export",
    "faults",
    "generators",
    "grid",
    "idle_reasons",
    "iterations",
    "list_members",
    "load",
    "load_schedule_table",
    "makespans",
    "metrics",
    "partitioner",
    "partitioners",
    "place",
    "plots",
    "ratios",
    "scheduler",
    "schedulers",
    "sensitivity",
    "simulate",
    "solve",
    "stages",
    "start_study",
    "study",
    "study_view",
    "testing",
    "transforms",
    "upward_rank",
    "validate",
    "what_if",
    "worker_metrics",
]


def __getattr__(name: str) -> Any:
    """What needs Jupyter or Bokeh is imported on first use, so that ``import placelab`` stays quick."""
    if name in ("export", "plots", "testing"):
        return _imported(f"placelab.{name}")
    if name == "explore":
        return _imported("placelab.explorer").explore
    if name in ("start_study", "study_view"):
        return getattr(_imported("placelab.widgets.live_study"), name)
    raise AttributeError(f"module 'placelab' has no attribute {name!r}")


def _imported(name: str) -> Any:
    need(name)
    return import_module(name)


def __dir__() -> list[str]:
    return list(__all__)

"""placelab: explore how the operations of a machine-learning model are placed on devices and scheduled there."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import placelab.strategies.partitioning  # enter their strategies into the catalogues
import placelab.strategies.scheduling  # noqa: F401
from placelab import costs, models
from placelab.analysis import faults
from placelab.analysis.best_moves import HandMove, best_move
from placelab.analysis.comparing import best_pairs, compare, list_members
from placelab.analysis.explanation import critical_path
from placelab.analysis.faster import what_if
from placelab.analysis.faults.expectations import checkpoint_interval
from placelab.analysis.hand_plans import ByHand, Places, by_hand
from placelab.analysis.idle_time import idle_reasons
from placelab.analysis.measures import metrics, stages
from placelab.analysis.studies.adversary_search import Adversary, adversarial
from placelab.analysis.studies.many_runs import iterations
from placelab.analysis.studies.over_values import sensitivity
from placelab.analysis.studies.problem_grid import Problems, grid
from placelab.analysis.studies.study_runs import study
from placelab.analysis.two_schedules import Difference, difference
from placelab.analysis.validation import Violation, validate
from placelab.analysis.worker_measures import arrival_skew, worker_metrics
from placelab.base.errors import CycleError, FormatError, InfeasibleError, PlacelabError, UnsupportedError
from placelab.base.interrupts import need
from placelab.base.shown import draw_with
from placelab.costs.collective_times import allreduce_time, collective_time
from placelab.formats.torch.schedule_table import read as load_schedule_table
from placelab.graphs import datasets, generators, transforms
from placelab.graphs.loading import load
from placelab.planning.list_scheduler import ListScheduler
from placelab.planning.lower_bounds import bounds, ratios
from placelab.planning.ranks import compute_rank, downward_rank, upward_rank
from placelab.plans.all_plans import Plans, plan_search
from placelab.plans.best_split import split_layers
from placelab.plans.degrees import Plan
from placelab.plans.layer_split import LayerSplit
from placelab.plans.plan_steps import PlanResult, plan
from placelab.problem import clusters
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner, partitioners, scheduler, schedulers
from placelab.schedule.known_schedules import best_known
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.batches import makespans
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place, solve

__all__ = [
    "Adversary",
    "ByHand",
    "Cluster",
    "CycleError",
    "Difference",
    "FormatError",
    "HandMove",
    "InfeasibleError",
    "LayerSplit",
    "ListScheduler",
    "OpGraph",
    "Order",
    "PlacelabError",
    "Placement",
    "Places",
    "Plan",
    "PlanResult",
    "Plans",
    "Problem",
    "Problems",
    "Schedule",
    "UnsupportedError",
    "Violation",
    "adversarial",
    "allreduce_time",
    "arrival_skew",
    "best_known",
    "best_move",
    "best_pairs",
    "bounds",
    "by_hand",
    "checkpoint_interval",
    "clusters",
    "collective_time",
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
    "models",
    "partitioner",
    "partitioners",
    "place",
    "plan",
    "plan_search",
    "plots",
    "ratios",
    "scheduler",
    "schedulers",
    "sensitivity",
    "simulate",
    "solve",
    "split_layers",
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

LATER = {"export": "placelab.app.export", "plots": "placelab.pictures.plots", "testing": "placelab.testing"}


def _draw(shown: Any) -> str:
    from placelab.pictures.cells import html

    return html(shown)


draw_with(_draw)


def __getattr__(name: str) -> Any:
    """What needs Jupyter or Bokeh is imported on first use, so that ``import placelab`` stays quick."""
    if name in LATER:
        return _imported(LATER[name])
    if name == "explore":
        return _imported("placelab.app.explorer").explore
    if name in ("start_study", "study_view"):
        return getattr(_imported("placelab.app.widgets.live_study"), name)
    if name == "__version__":
        return _imported("importlib.metadata").version("placelab")
    raise AttributeError(f"module 'placelab' has no attribute {name!r}")


def _imported(name: str) -> Any:
    need(name)
    return import_module(name)


def __dir__() -> list[str]:
    return list(__all__)

"""placelab: explore how the operations of a machine-learning model are placed on devices and scheduled there."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from placelab.base.interrupts import enter_later, need
from placelab.base.units import draw_with

if TYPE_CHECKING:
    from placelab import costs, models, testing
    from placelab.analysis import faults
    from placelab.analysis.comparing import best_pairs, compare, list_members
    from placelab.analysis.explanation import critical_path
    from placelab.analysis.faster import what_if
    from placelab.analysis.faults.expectations import checkpoint_interval
    from placelab.analysis.hand_plans import ByHand, Places, by_hand
    from placelab.analysis.idle_time import idle_reasons
    from placelab.analysis.improving import HandMove, best_move, improve, improve_known
    from placelab.analysis.known_orders import recognise
    from placelab.analysis.measures import metrics, stages
    from placelab.analysis.studies.adversary_search import Adversary, adversarial
    from placelab.analysis.studies.many_runs import iterations
    from placelab.analysis.studies.over_values import sensitivity
    from placelab.analysis.studies.study_runs import Problems, grid, study
    from placelab.analysis.two_schedules import Difference, difference
    from placelab.analysis.validation import Violation, validate
    from placelab.analysis.worker_measures import arrival_skew, worker_metrics
    from placelab.app import export
    from placelab.app.explorer import explore
    from placelab.app.widgets.live_study import start_study, study_view
    from placelab.base.errors import CycleError, FormatError, InfeasibleError, PlacelabError, UnsupportedError
    from placelab.costs.collective_times import allreduce_time, collective_time
    from placelab.formats.torch.schedule_table import read as load_schedule_table
    from placelab.graphs import datasets, generators, transforms
    from placelab.graphs.loading import load
    from placelab.pictures import plots
    from placelab.planning.list_scheduler import ListScheduler
    from placelab.planning.lower_bounds import bounds, ratios
    from placelab.planning.ranks import compute_rank, downward_rank, upward_rank
    from placelab.plans.all_plans import Plans, plan_search
    from placelab.plans.best_split import share_batch, split_layers
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
    from placelab.testing import puzzles

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
    "improve",
    "improve_known",
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
    "puzzles",
    "ratios",
    "recognise",
    "scheduler",
    "schedulers",
    "sensitivity",
    "share_batch",
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

# Rooms whose imports of Jupyter, Bokeh and pandas an interrupt must not end half-way.
VIEWS = {"app", "pictures", "testing"}
# Rooms are attributes, too, from the first look on, as after ``import placelab.formats``.
ROOMS = {
    *VIEWS,
    *"analysis base costs formats graphs kernels models planning plans problem schedule simulation strategies".split(),
}

# Public name -> module of placelab that has it, imported when the name is first used; ``module:name`` where it has another name
# there, and the module alone where that is what is public.
HOMES = {
    "Adversary": "analysis.studies.adversary_search",
    "ByHand": "analysis.hand_plans",
    "Cluster": "problem.cluster",
    "CycleError": "base.errors",
    "Difference": "analysis.two_schedules",
    "FormatError": "base.errors",
    "HandMove": "analysis.improving",
    "InfeasibleError": "base.errors",
    "LayerSplit": "plans.layer_split",
    "ListScheduler": "planning.list_scheduler",
    "OpGraph": "problem.graph",
    "Order": "schedule.order",
    "PlacelabError": "base.errors",
    "Placement": "schedule.placement",
    "Places": "analysis.hand_plans",
    "Plan": "plans.degrees",
    "PlanResult": "plans.plan_steps",
    "Plans": "plans.all_plans",
    "Problem": "problem.problem",
    "Problems": "analysis.studies.study_runs",
    "Schedule": "schedule.schedule",
    "UnsupportedError": "base.errors",
    "Violation": "analysis.validation",
    "adversarial": "analysis.studies.adversary_search",
    "allreduce_time": "costs.collective_times",
    "arrival_skew": "analysis.worker_measures",
    "best_known": "schedule.known_schedules",
    "best_move": "analysis.improving",
    "best_pairs": "analysis.comparing",
    "bounds": "planning.lower_bounds",
    "by_hand": "analysis.hand_plans",
    "checkpoint_interval": "analysis.faults.expectations",
    "clusters": "problem.clusters",
    "collective_time": "costs.collective_times",
    "compare": "analysis.comparing",
    "compute_rank": "planning.ranks",
    "costs": "costs",
    "critical_path": "analysis.explanation",
    "datasets": "graphs.datasets",
    "difference": "analysis.two_schedules",
    "downward_rank": "planning.ranks",
    "explore": "app.explorer",
    "export": "app.export",
    "faults": "analysis.faults",
    "generators": "graphs.generators",
    "grid": "analysis.studies.study_runs",
    "idle_reasons": "analysis.idle_time",
    "improve": "analysis.improving",
    "improve_known": "analysis.improving",
    "iterations": "analysis.studies.many_runs",
    "list_members": "analysis.comparing",
    "load": "graphs.loading",
    "load_schedule_table": "formats.torch.schedule_table:read",
    "makespans": "simulation.batches",
    "metrics": "analysis.measures",
    "models": "models",
    "partitioner": "schedule.catalogue",
    "partitioners": "schedule.catalogue",
    "place": "strategies.placing",
    "plan": "plans.plan_steps",
    "plan_search": "plans.all_plans",
    "plots": "pictures.plots",
    "puzzles": "testing.puzzles",
    "ratios": "planning.lower_bounds",
    "recognise": "analysis.known_orders",
    "scheduler": "schedule.catalogue",
    "schedulers": "schedule.catalogue",
    "sensitivity": "analysis.studies.over_values",
    "share_batch": "plans.best_split",
    "simulate": "simulation.event_simulation",
    "solve": "strategies.placing",
    "split_layers": "plans.best_split",
    "stages": "analysis.measures",
    "start_study": "app.widgets.live_study",
    "study": "analysis.studies.study_runs",
    "study_view": "app.widgets.live_study",
    "testing": "testing",
    "transforms": "graphs.transforms",
    "upward_rank": "planning.ranks",
    "validate": "analysis.validation",
    "what_if": "analysis.faster",
    "worker_metrics": "analysis.worker_measures",
}


def _draw(shown: Any) -> str:
    from placelab.pictures.schedule_cells import html

    return html(shown)


draw_with(_draw)
enter_later("placelab.strategies.partitioning", "placelab.strategies.scheduling", "placelab.strategies.preparing")


def __getattr__(name: str) -> Any:
    """What is public is imported on first use, so that ``import placelab`` is quick."""
    if name == "__version__":
        return import_module("importlib.metadata").version("placelab")
    if name in ROOMS and name not in HOMES:
        return import_module(f"placelab.{name}")
    if name not in HOMES:
        raise AttributeError(f"module 'placelab' has no attribute {name!r}")
    home, _, own = HOMES[name].partition(":")
    need("numpy", *(f"placelab.{home}" for room in VIEWS if room == home.partition(".")[0]))
    module = import_module(f"placelab.{home}")
    value = module if home.rpartition(".")[2] == name else getattr(module, own or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)

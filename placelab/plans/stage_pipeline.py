"""The pipeline of a plan's step: an op per stage, phase and micro-batch, collectives as part of it, and its run."""

from __future__ import annotations

from typing import NamedTuple

from placelab.graphs.training_steps import pipeline_training
from placelab.graphs.transforms.passes_together import together
from placelab.plans.degrees import Plan
from placelab.plans.stage_ranks import MERGED, layout_of, splits
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place


class Step(NamedTuple):
    """A pipeline's step: seconds per stage, bytes of a border, seconds of each rank's gradients after its last backward, and of
    DualPipe those of each stage's forward pass together with the backward pass of the other stage of its device."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]
    weight: tuple[float, ...]
    transfer: float
    gradients: tuple[float, ...]
    both: tuple[float, ...] = ()


def pipeline_of(step: Step, m: int, plan: Plan, cluster: Cluster) -> Problem:
    """The pipeline of a step."""
    weight = step.weight if splits(plan.schedule) else None
    return pipeline_training(
        step.forward, step.backward, weight, microbatches=m, stages=plan.pp, chunks=plan.chunks,
        transfer=step.transfer, layout=layout_of(plan.schedule, plan.chunks), cluster=cluster,
    )  # fmt: skip


def placed(problem: Problem, schedule: str, both: tuple[float, ...] = ()) -> Placement:
    """A pipeline's placement; passes that run together are one op."""
    return together(problem, schedule, seconds=both or None) if schedule in MERGED else place(problem, "hash")


def run_placed(placement: Placement, schedule: str) -> Schedule:
    """Simulate a placed pipeline; passes that run together have their order already."""
    return simulate(placement.problem, placement, "planned" if schedule in MERGED else schedule)


def run_pipeline(problem: Problem, schedule: str) -> Schedule:
    """Simulate a pipeline, whose ops are tied to their devices."""
    return run_placed(placed(problem, schedule), schedule)

"""The pipeline of a plan's step: an op per stage, phase and micro-batch, collectives as part of it, and its run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.once import handed_on
from placelab.graphs.training_steps import pipeline_training
from placelab.graphs.transforms.passes_together import together
from placelab.plans.degrees import Plan
from placelab.plans.rank_passes import MOST_OPS
from placelab.plans.stage_ranks import MERGED, layout_of, splits
from placelab.problem.cluster import Cluster
from placelab.problem.pipeline_columns import pipeline_of as columns_of
from placelab.problem.pipeline_columns import required
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place


class Step(NamedTuple):
    """A pipeline's step: seconds per stage, bytes of a border, seconds of each rank's gradients after its last backward, of
    DualPipe those of each stage's forward pass together with the backward pass of the other stage of its device, and of ZeRO 2
    those in which each stage's gradients are scattered after each backward pass."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]
    weight: tuple[float, ...]
    transfer: float
    gradients: tuple[float, ...]
    both: tuple[float, ...] = ()
    scatter: tuple[float, ...] = ()


def pipeline_of(step: Step, m: int, plan: Plan, cluster: Cluster) -> Problem:
    """The pipeline of a step."""
    return costed(unit_pipeline(m, plan, cluster), step, plan)


def check_passes(m: int, plan: Plan) -> None:
    """Refuse a step of too many passes before anything is made."""
    if (n := m * plan.pp * plan.chunks * (3 if splits(plan.schedule) else 2)) > MOST_OPS:
        raise FormatError(f"{m:,} micro-batches have {n:,} passes; at most {MOST_OPS:,} are made")


def unit_pipeline(m: int, plan: Plan, cluster: Cluster) -> Problem:
    """The pipeline with passes of 1 s and borders of 1 byte, which many steps have in common."""
    return pipeline_training(
        1.0, 1.0, 1.0 if splits(plan.schedule) else None, microbatches=m, stages=plan.pp, chunks=plan.chunks,
        transfer=1.0, layout=layout_of(plan.schedule, plan.chunks), cluster=cluster,
    )  # fmt: skip


def costed(unit: Problem, step: Step, plan: Plan) -> Problem:
    """The pipeline of :func:`unit_pipeline` with the seconds and bytes of a step."""
    graph = unit.graph
    columns = required(graph, "a plan")
    whole = [b + w for b, w in zip(step.backward, step.weight, strict=True)]
    seconds = {"F": step.forward, "B": step.backward, "W": step.weight, "BW": whole}
    taken = np.zeros(graph.n_ops)
    for phase, each in seconds.items():
        ops = columns.phase == phase
        taken[ops] = np.array(each)[columns.stage[ops]]
    speed = unit.cluster.speed[unit.may_run.argmax(axis=1)]
    made = graph.replace(
        compute=taken * speed, tensor_bytes=graph.tensor_bytes * step.transfer, memory=graph.memory * step.transfer
    )
    handed_on(columns_of, graph, made)
    return unit.replace(graph=made)


def alone(step: Step, m: int) -> tuple[float, float]:
    """The end of a single stage's passes, those of a micro-batch after the other's, and of what its stream scatters.

    Added up as the simulator does, to the last digit.

    >>> alone(Step((1.0,), (2.0,), (0.0,), 0.0, (0.0,), scatter=(4.0,)), 3)
    (9.0, 15.0)
    """
    finish = np.add.accumulate(np.tile([step.forward[0], step.backward[0] + step.weight[0]], m))
    sent = end = float(finish[-1])
    if step.scatter:
        sent = 0.0
        for made in finish[1::2].tolist():
            sent = max(sent, made) + step.scatter[0]
    return end, max(end, sent)


def placed(problem: Problem, schedule: str, both: tuple[float, ...] = ()) -> Placement:
    """A pipeline's placement; passes that run together are one op."""
    return together(problem, schedule, seconds=both or None) if schedule in MERGED else place(problem, "hash")


def run_placed(placement: Placement, schedule: str) -> Schedule:
    """Simulate a placed pipeline; passes that run together have their order already."""
    return simulate(placement.problem, placement, "planned" if schedule in MERGED else schedule)


def run_pipeline(problem: Problem, schedule: str) -> Schedule:
    """Simulate a pipeline, whose ops are tied to their devices."""
    return run_placed(placed(problem, schedule), schedule)

"""Recognise the published orders of a pipelined training step in a schedule."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from placelab.analysis.hand_plans import ByHand, by_hand, complete
from placelab.base.errors import UnsupportedError
from placelab.base.index_arrays import frozen
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import Pipeline, required
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import schedulers
from placelab.schedule.order import lanes
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate

ORDERS = ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v")
# Phases whose order makes a pipeline; Receives and what runs once per step follow from them.
COMPUTE = (
    "F",
    "B",
    "W",
    "BW",
)
Lanes = Sequence[np.ndarray]


def recognise(plan: ByHand | Placement | Schedule) -> tuple[str, ...]:
    """The schedulers of pipelines whose order a plan has, though it may have been made by hand.

    Parameters
    ----------
    plan
        A plan by hand, a schedule, or a placement, of a problem with stages and micro-batches.

    Returns
    -------
    tuple of str
        Of ``gpipe``, ``1f1b``, ``interleaved``, ``zb-h1``, ``zb-h2``, ``zb-v`` those that give every device the same order of
        forward and backward ops, micro-batches renumbered where they are equal. Several where they agree, as with one
        micro-batch; none where the order is a different one, or passes run together.

    Raises
    ------
    FormatError
        Ops of the plan wait to be placed.
    UnsupportedError
        The graph has no stages and micro-batches.

    Notes
    -----
    Micro-batches are renumbered in the order in which they enter the first stage; the new numbers count only if ops and edges
    that they exchange are equal in time, memory and bytes. One pipeline; replicas are compared without renumbering.
    O(ops log ops + edges log edges) beside the schedulers themselves.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.generators.pipeline_training(1.0, 2.0, microbatches=4, stages=3)
    >>> recognise(pl.solve(problem, "hash", "1f1b"))
    ('1f1b',)
    """
    made = complete(plan, "recognise")
    problem = made.placement.problem
    pipeline = required(problem.graph, "recognise")
    if pipeline.merged:  # none of them puts passes together
        return ()
    mine = lanes(made.placement.device, made.planned, problem.cluster.n_devices)
    renumbered = _renumbered(problem, pipeline, mine)
    own = _compute(pipeline, [renumbered[lane] for lane in mine])
    return tuple(name for name in ORDERS if _has_order(name, made.placement, pipeline, own))


def _has_order(name: str, placement: Placement, pipeline: Pipeline, own: Lanes) -> bool:
    """Whether a scheduler runs each device's ops in the order `own`."""
    problem = placement.problem
    bare = Placement(problem, placement.device)
    try:
        schedule = simulate(problem, bare, schedulers()[name])
    except UnsupportedError:  # it needs other stages, or gradients apart
        return False
    made = by_hand(schedule)
    theirs = _compute(pipeline, lanes(bare.device, made.planned, problem.cluster.n_devices))
    return all(np.array_equal(a, b) for a, b in zip(own, theirs, strict=True))


def _compute(pipeline: Pipeline, orders: Lanes) -> list[np.ndarray]:
    """The forward and backward ops of each device."""
    counts = np.isin(pipeline.phase, COMPUTE)
    return [lane[counts[lane]] for lane in orders]


def _renumbered(problem: Problem, pipeline: Pipeline, orders: Lanes) -> np.ndarray:
    """For each op the one that it stands for: that of the micro-batch which would enter the pipeline at its turn."""
    n = problem.graph.n_ops
    same = np.arange(n)
    if pipeline.replicas > 1:
        return same
    first = (pipeline.phase == "F") & (pipeline.stage == 0)
    entered = [v for lane in orders for v in lane.tolist() if first[v]]  # the first stage is on one device
    new = {int(pipeline.microbatch[v]): i for i, v in enumerate(entered)}
    image = same.copy()
    for (phase, microbatch, stage), v in pipeline.op.items():
        if microbatch >= 0:
            image[v] = pipeline.op[phase, new[microbatch], stage]
    return image if _keeps(problem, image) else same


def _keeps(problem: Problem, image: np.ndarray) -> bool:
    """Whether ops may take each other's place: times, memory and edges stay what they are."""
    graph = problem.graph
    columns = (problem.exec_table(), problem.may_run, graph.persistent, graph.temporary)
    if any(not np.array_equal(column[image], column) for column in columns):
        return False
    return np.array_equal(_edges(graph, image), _edges(graph, np.arange(graph.n_ops)))


def _edges(graph: OpGraph, image: np.ndarray) -> np.ndarray:
    """Producer, consumer and bytes of each edge, sorted, after ops have taken each other's place."""
    rows = np.stack([image[graph.producer], image[graph.consumer], graph.edge_bytes])
    return frozen(rows[:, np.lexsort(rows)])

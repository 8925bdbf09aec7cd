"""Ranks with the terms they add up from, for traces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.planning.ranks import compute_rank, mean_exec, mean_transfer, operations, static_level
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.trace import Ranks

TOTAL_RANK = "relative total rank"


def upward_ranks(problem: Problem, up: np.ndarray) -> Ranks:
    """The terms of :func:`placelab.upward_rank`: mean times of ops and of transfers."""
    latency, per_byte = mean_transfer(problem)
    way = latency + problem.graph.edge_bytes * per_byte
    return Ranks("upward rank [s]", frozen(up), frozen(mean_exec(problem)), frozen(way))


def static_levels(problem: Problem) -> Ranks:
    """The terms of :func:`placelab.planning.ranks.static_level`: mean times of ops."""
    way = frozen(np.zeros(problem.graph.n_edges))
    return Ranks("static level [s]", frozen(static_level(problem)), frozen(mean_exec(problem)), way)


def compute_ranks(graph: OpGraph) -> Ranks:
    """The terms of Mayer's upward rank (:func:`placelab.compute_rank`): operations."""
    way = frozen(np.zeros(graph.n_edges))
    return Ranks("upward rank [operations]", frozen(compute_rank(graph)[0]), operations(graph), way)


def with_ranks(
    placement: Placement, ranks: Callable[[], Ranks], priority: np.ndarray | None = None, name: str = ""
) -> Placement:
    """Add ranks to the placement's trace, if it has one.

    Parameters
    ----------
    ranks
        Makes them; called only for a trace.
    priority, name
        What the strategy orders ops by, shape (n_ops,), and what that is; default: the upward ranks.
    """
    if placement.trace is None:
        return placement
    sums = ranks()
    of_ops, rank_name = (sums.value, sums.name) if priority is None else (priority, name)
    trace = replace(placement.trace, rank=of_ops[placement.trace.op], rank_name=rank_name, ranks=sums)
    return replace(placement, trace=trace)

"""Predict earliest finish time: each op where it, and at best the rest of the graph after it, finishes soonest."""

from __future__ import annotations

from typing import Literal

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.kernels.costs import row_means
from placelab.kernels.plan.list_schedule import FINISH
from placelab.kernels.plan.ranks import optimistic_cost
from placelab.planning import plan_arrays
from placelab.planning.list_scheduling import in_order
from placelab.planning.ranks import mean_transfer, precedence_order, rounded, upward_rank, upward_ranks, with_ranks
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

MEANING = "finishes soonest there, the rest of the graph at best included", "planned finish + optimistic cost [s]"


@partitioner(source="Arabnejad, Barbosa 2014")
def peft(problem: Problem, *, link: Literal["mean", "actual"] = "mean", trace: bool = False) -> Placement:
    r"""PEFT: as ``heft``, but the rest of the graph, at best, counts for the order and for the device.

    .. math::
        OCT(v, d) &= \max_{s \in succ(v)} \min_w (OCT(s, w) + exec(s, w) + [w \ne d] \, \bar c_{vs}) \\
        p_v &= \arg\min_d EFT(v, d) + OCT(v, d)

    Parameters
    ----------
    link
        The transfer in OCT: ``"mean"`` over all pairs of devices (as published), or what the ``"actual"`` link takes.

    Notes
    -----
    Of the ops whose inputs are placed, always the one of largest mean OCT (over the devices that it may run on),
    :func:`~placelab.planning.ranks.rounded`; inserted into idle gaps. Ties: op number, device number. w is a device that s
    may run on. Groups, memory and transfers as in ``heft``; same complexity, with ``"actual"`` links O(edges · devices²)
    more.
    """
    table = optimistic_costs(problem, link)
    mean = np.average(table, axis=1, weights=problem.may_run) if problem.restricted else row_means_of(table)
    order = precedence_order(problem.graph, rounded(mean))
    aim = plan_arrays.aim(FINISH, table)
    placement = in_order(problem, order, trace=trace, aim=aim, meaning=MEANING)
    return with_ranks(placement, lambda: upward_ranks(problem, upward_rank(problem)), mean, "mean optimistic cost [s]")


def row_means_of(table: np.ndarray) -> np.ndarray:
    """The mean of each row, shape (n_ops,)."""
    mean = np.empty(len(table))
    row_means(frozen(table.reshape(-1)), table.shape[1], plan_arrays.halves(), mean)
    return mean


def optimistic_costs(problem: Problem, link: Literal["mean", "actual"] = "mean") -> np.ndarray:
    """OCT [s], shape (n_ops, n_devices): what the rest of the graph takes at best after each op on each device."""
    _, succ, times, network, eligible = plan_arrays.facts(problem)
    shape = problem.graph.n_ops, problem.cluster.n_devices
    ahead, table = (np.empty(shape[0] * shape[1]) for _ in range(2))
    transfer = mean_transfer(problem) if link == "mean" else (-1.0, 0.0)
    optimistic_cost(*transfer, succ, times, network, eligible, ahead, table)
    return table.reshape(shape)

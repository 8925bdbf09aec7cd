"""Batch split: the ops of highest rank on the fastest devices, in batches."""

from __future__ import annotations

from typing import Literal

import numpy as np

from placelab.planning.capacity import Assignment
from placelab.planning.ranks import by_falling, by_speed, relative_rank, relative_speed
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

REASONS = (
    "its rank is in this device's batch",
    "its batch's device may not or cannot hold it; the next slower one that can",
)


@partitioner(source="Mayer et al. 2017 §3.2.1")
def batch_split(problem: Problem, *, quota: Literal["speed", "equal"] = "speed", trace: bool = False) -> Placement:
    r"""Ops by total rank, highest first, in batches to the devices, fastest first.

    With devices numbered from the fastest, the i-th of n ops (from 0) goes to the first device d with

    .. math:: (i + 1/2) \sum_e quota_e \le n \sum_{e \le d} quota_e .

    Parameters
    ----------
    quota
        Size of a device's batch: in proportion to its ``"speed"``, or ``"equal"``, as in the published code.

    Notes
    -----
    A group goes with its member of highest rank; its other members keep their places in the count. A device that is
    not allowed or has no room passes an op on to the next slower one, the slowest to the fastest. Ties: ranks by op
    number, speeds by device number. The paper gives no batch size. The published code sorts the devices and then uses
    the unsorted list. O(ops log ops), and O(ops × devices) when devices are full.
    """
    assignment = Assignment(problem, trace)
    n = problem.graph.n_ops
    order = by_falling(relative_rank(problem.graph))[0]
    sequence = by_speed(problem)
    share = relative_speed(problem)[sequence] if quota == "speed" else np.ones(len(sequence))
    target = np.searchsorted(np.cumsum(share) / share.sum() * n, np.arange(n) + 0.5, side="left")
    target = np.minimum(target, len(sequence) - 1)
    queue, position = assignment.units.queue(order)
    return assignment.first_fit(queue, target[position], REASONS, sequence)

"""First come, first served."""

from __future__ import annotations

from typing import Literal

import numpy as np

from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, source="Mayer et al. 2017 §5.1")
def fifo(problem: Problem, placement: Placement, *, seed: int = 0, ties: Literal["index", "random"] = "index") -> Order:
    """The op that became executable first.

    Parameters
    ----------
    ties
        Among ops that became executable at the same time: ``"index"``, the lower op number, or ``"random"``, as in Mayer §5.1.

    Notes
    -----
    The executable ops of a device are a heap: O(log ops) per op.
    """
    tie = np.random.default_rng(seed).permutation(problem.graph.n_ops) if ties == "random" else None
    return Order("fifo", tie)

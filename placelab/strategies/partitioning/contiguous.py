"""Consecutive pieces of the model, one per device."""

from __future__ import annotations

import numpy as np

from placelab.planning.capacity import Assignment
from placelab.planning.ranks import mean_exec, relative_speed
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement

REASONS = ("in this device's piece", "its piece's device may not or cannot hold it; the next one that can")


@partitioner(source="Srivastava 2018 ch. 10, vertical cut")
def contiguous(problem: Problem, *, trace: bool = False) -> Placement:
    r"""Topological order cut into one piece per device, of work in proportion to its speed: a pipeline's stages.

    With W(v) the work of the ops before v, op v belongs to the first device d with

    .. math:: \frac{W(v) + w_v / 2}{W} \le \frac{\sum_{e \le d} s_e}{\sum_e s_e} .

    Notes
    -----
    w is :func:`placelab.planning.ranks.mean_exec`, s :func:`placelab.planning.ranks.relative_speed`. A group goes where its
    first op belongs. Devices by number; one that is not allowed or has no room passes the op on to the next, round the
    cluster. The thesis names the baseline and leaves it open. O(ops), O(ops × devices) when devices are full.
    """
    assignment = Assignment(problem, trace)
    target = pieces(mean_exec(problem), relative_speed(problem))[assignment.units.first]
    return assignment.first_fit(np.arange(assignment.units.n), target, REASONS)


def pieces(work: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Device of each stretch of work, int32: where its middle lies when the shares are laid end to end along all the work."""
    done = np.cumsum(work)
    share = np.cumsum(share)
    target = np.searchsorted(share / share[-1] * done[-1], done - work / 2, side="left")
    return np.minimum(target, len(share) - 1).astype(np.int32)

"""TensorFlow's greedy placer: simulate the graph from its sources and place each op when it is reached."""

from __future__ import annotations

from placelab.planning.list_scheduling import as_ready
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(source="TensorFlow white paper 2015 §3.2.1")
def tf_greedy(problem: Problem, *, trace: bool = False) -> Placement:
    r"""Each op, as a simulated run reaches it, to the device where it would finish soonest.

    .. math::
        p_v = \arg\min_d \max \{ free(d), \max_{u \in pred(v)} (finish(u) + trans(\tau, p_u, d)) \} + exec(v, d)

    Notes
    -----
    An op is reached when its last input has been computed, wherever; ties by op number, between devices by device
    number. Only feasible devices compete: a group's is that of its first op, and where the plan made without regard
    to memory exceeds a capacity, one without room is left out until memory is freed. Transfers are planned without
    contention, a tensor once per device. O(ops · log ops + edges · devices).

    Departures: none known; the paper leaves the order among reached ops and the ties open.
    """
    return as_ready(problem, trace=trace)

"""Slack of ops: how much later each could finish without delaying the end of the schedule."""

from __future__ import annotations

import numpy as np

from placelab.analysis.explanation import carriers
from placelab.base.errors import expect
from placelab.base.index_arrays import frozen
from placelab.kernels import blocks
from placelab.kernels.plan import ranks
from placelab.schedule.schedule import Schedule

ROUNDING = 1e-9  # of the makespan; less slack is none


def slack(schedule: Schedule) -> np.ndarray:
    """Slack of each op: how much later it could finish without a greater makespan.

    Devices keep their order of ops, and a tensor takes as long to arrive as it did, waiting for a link included.

    Returns
    -------
    ndarray, shape (n_ops,)
        Seconds; 0 on the critical path but for ops that only held up a link.

    Notes
    -----
    O((ops + edges) log). The longest path to the end in the graph with an edge from each op to the next on its device.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 5.0, 2.0], [(0, 2)], edge_bytes=[1.0])
    >>> problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    >>> slack(pl.simulate(problem, pl.Placement(problem, [0, 1, 0])))
    array([2., 0., 2.])
    """
    expect(schedule, Schedule, "slack")
    graph, n = schedule.problem.graph, schedule.problem.graph.n_ops
    order = np.lexsort((np.arange(n), schedule.start))  # topological, and along each device
    number = np.empty(n, np.int64)
    number[order] = np.arange(n)
    lane = order[np.argsort(schedule.device[order], kind="stable")]
    follows = schedule.device[lane[1:]] == schedule.device[lane[:-1]]
    begin = np.concatenate([number[graph.producer], number[lane[:-1][follows]]])
    end = np.concatenate([number[graph.consumer], number[lane[1:][follows]]])
    way = np.concatenate([_delays(schedule), np.zeros(int(follows.sum()))])
    by_begin = np.argsort(begin, kind="stable")
    ptr = np.zeros(n + 1, graph.succ_ptr.dtype)
    np.cumsum(np.bincount(begin, minlength=n), out=ptr[1:])
    columns = (
        ptr,
        end[by_begin].astype(graph.consumer.dtype),
        way[by_begin],
        np.zeros(len(way), graph.edge_tensor.dtype),
    )
    tail = np.empty(n)
    taken = schedule.finish - schedule.start
    ranks.upward(frozen(taken[order]), blocks.Successors(*map(frozen, columns)), 0.0, 1.0, tail)
    left = schedule.makespan - (schedule.start + tail[number])
    return frozen(np.where(left > ROUNDING * schedule.makespan, left, 0.0))


def _delays(schedule: Schedule) -> np.ndarray:
    """Seconds from the finish of each edge's producer until its tensor was there."""
    carrier, made = carriers(schedule), schedule.finish[schedule.problem.graph.producer]
    delay = np.zeros(len(carrier))
    moved = carrier >= 0
    delay[moved] = schedule.transfers["finish"][carrier[moved]] - made[moved]
    return np.maximum(delay, 0.0)

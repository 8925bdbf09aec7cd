"""How much later each op of a schedule could finish without making it longer."""

from __future__ import annotations

import numpy as np

from placelab.analysis.explanation import carriers
from placelab.errors import expect
from placelab.kernels.latest_finish import latest_finish
from placelab.problem.graph import frozen
from placelab.schedule.schedule import Schedule

ROUNDING = 1e-12  # of the makespan


def slack(schedule: Schedule) -> np.ndarray:
    r"""Time by which each op could finish later with the makespan unchanged.

    .. math:: slack(v) = \min_{w} (latest(w) - exec(w) - way(v, w)) - finish(v)

    over the consumers w of v and the next op of its device; without any, makespan - finish(v). The way to a consumer elsewhere
    is its Send, if any, and its transfer.

    Returns
    -------
    ndarray, shape (n_ops,), float64
        Seconds, at least 0; rounding errors are 0. Devices keep their orders; transfers take as long as they do, and do not queue
        for links.

    Notes
    -----
    O(ops log ops + edges + transfers).

    Examples
    --------
    >>> import placelab as pl
    >>> fork = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 4.0, 2.0], [(0, 1), (0, 2)])
    >>> problem = pl.Problem(fork, pl.Cluster([1.0, 1.0]))
    >>> slack(pl.simulate(problem, pl.Placement(problem, [0, 0, 1]))).tolist()
    [0.0, 0.0, 2.0]
    """
    expect(schedule, Schedule, "slack")
    graph, moved, sends = schedule.problem.graph, schedule.transfers, schedule.sends
    took = moved["finish"] - moved["start"]
    if len(sends):
        took = took + (sends["finish"] - sends["start"])
    way = np.append(took, 0.0)[carriers(schedule)]  # -1, within a device: nothing
    duration = schedule.finish - schedule.start
    order = np.lexsort((schedule.finish, schedule.start)).astype(np.int32)  # stable: ties by number, as edges go
    latest, begin = np.zeros(graph.n_ops), np.zeros(schedule.problem.cluster.n_devices)
    columns = (order, duration, schedule.device, graph.succ_ptr, graph.consumer, way)
    latest_finish(schedule.makespan, *map(frozen, columns), begin, latest)
    left = latest - schedule.finish
    return frozen(np.where(left < ROUNDING * schedule.makespan, 0.0, left))

"""Which ops and transfers of a schedule a partitioner had decided after some of its decisions."""

from __future__ import annotations

import numpy as np

from placelab.schedule.schedule import Schedule


def decided_so_far(schedule: Schedule, rows: np.ndarray, decisions: int) -> np.ndarray:
    """A mask of the ops, then of the transfers: what the first decisions have settled.

    Parameters
    ----------
    rows
        Row of the decision about each op, -1 for none, as :meth:`placelab.schedule.trace.Trace.rows` returns; shape (n_ops,).
    decisions
        How many of them.

    Returns
    -------
    ndarray of bool
        Shape (n_ops + transfers,). A transfer is settled with its producer and one of the ops that read it where it goes.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.datasets.problem("topcuoglu")
    >>> placement = pl.place(problem, "heft", trace=True)
    >>> schedule = pl.simulate(problem, placement)
    >>> mask = decided_so_far(schedule, placement.trace.rows(problem), 3)
    >>> problem.graph.names[mask[:10]].tolist(), int(mask[10:].sum())
    (['T1', 'T3', 'T4'], 1)
    """
    graph = schedule.problem.graph
    k = schedule.problem.cluster.n_devices
    ops = (rows >= 0) & (rows < decisions)
    moved = schedule.transfers
    read = ops[graph.consumer]
    arrivals = graph.edge_tensor[read].astype(np.int64) * k + schedule.device[graph.consumer[read]]
    there = np.isin(moved["tensor"].astype(np.int64) * k + moved["destination"], arrivals)
    return np.concatenate([ops, there & ops[graph.tensor_producer[moved["tensor"]]]])

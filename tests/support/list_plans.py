"""Convert a list scheduler's plan to a schedule that the validator can check."""

from __future__ import annotations

import numpy as np

from placelab.planning.list_scheduler import ListScheduler
from placelab.schedule.schedule import TRANSFER, Schedule


def schedule(s: ListScheduler) -> Schedule:
    """The planned times of a finished plan without Send ops; transfers as planned, without contention."""
    problem = s.problem
    placement = s.placement()
    graph = problem.graph
    cluster = problem.cluster
    edges = zip(graph.tensor_producer[graph.edge_tensor], graph.edge_tensor, graph.consumer, strict=True)
    moves = sorted({(u, s.device[w], t) for u, t, w in edges if s.device[u] != s.device[w]})
    rows = []
    for u, d, t in moves:
        home = s.device[u]
        sent = s.finish[u]
        arrives = sent + cluster.latency[home, d] + graph.tensor_bytes[t] / cluster.bandwidth[home, d]
        rows.append((t, home, d, sent, arrives))
    return Schedule(placement, s.start.copy(), s.finish.copy(), np.array(rows, TRANSFER), np.zeros(0, TRANSFER), "plan")

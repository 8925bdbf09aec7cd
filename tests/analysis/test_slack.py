"""Slack: an op that finishes later by no more than that leaves the makespan as it is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import placelab as pl
from placelab.analysis.explanation import carriers, critical_steps, slack


def scheduled(transfers: str) -> pl.Schedule:
    graph = pl.generators.layered(60, seed=3)
    problem = pl.Problem(graph, pl.Cluster.uniform(3, speed=1e9, bandwidth=1e9), transfers=transfers)
    return pl.simulate(problem, pl.place(problem, "round-robin"), "fifo")


def latest_finishes(schedule: pl.Schedule) -> np.ndarray:
    """Latest finish of each op, worked out op by op from the last to start to the first."""
    graph = schedule.problem.graph
    late = np.full(schedule.problem.graph.n_ops, schedule.makespan)
    carrier = carriers(schedule)
    taken = schedule.finish - schedule.start
    order = np.lexsort((np.arange(graph.n_ops), schedule.start))
    following = {}
    for d in range(schedule.problem.cluster.n_devices):
        mine = [v for v in order if schedule.device[v] == d]
        following |= dict(pairwise(mine))
    for v in order[::-1]:
        if v in following:
            late[v] = min(late[v], late[following[v]] - taken[following[v]])
        for e in np.flatnonzero(graph.producer == v):
            c = graph.consumer[e]
            way = schedule.transfers["finish"][carrier[e]] - schedule.finish[v] if carrier[e] >= 0 else 0.0
            late[v] = min(late[v], late[c] - taken[c] - way)
    return late


@pytest.mark.parametrize("transfers", ["parallel", "sequential", "channel"])
def test_slack_is_what_a_plain_backward_pass_finds(transfers):
    """And never negative."""
    schedule = scheduled(transfers)
    found = slack(schedule)
    np.testing.assert_allclose(found, latest_finishes(schedule) - schedule.finish, atol=1e-8 * schedule.makespan)
    assert (found >= 0).all() and found.max() > 0


def test_the_critical_path_has_none():
    """Where transfers do not wait for each other, all its ops have no slack."""
    schedule = scheduled("parallel")
    steps = critical_steps(schedule)
    assert (slack(schedule)[steps["row"][steps["kind"] == 0]] == 0).all()

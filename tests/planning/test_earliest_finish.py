"""List scheduling within memory: the kernel plans what the list scheduler does, op by op."""

from __future__ import annotations

from random import Random

import numpy as np
import problems
import pytest

import placelab as pl
from placelab.planning import list_scheduling
from placelab.planning.list_scheduler import ListScheduler
from placelab.planning.ranks import by_falling, upward_rank

MODELS = ("edges", "reserved", "dynamic")


def outcome(planner, problem, i, by_kernel):
    """All that a planner decided and recorded, or what it said when nothing fitted."""
    try:
        placement = planner(problem, i, by_kernel)
    except pl.InfeasibleError as error:
        return str(error), error.op, error.group, error.devices
    trace = placement.trace
    recorded = trace and (
        trace.op.tolist(),
        trace.device.tolist(),
        np.nan_to_num(trace.score, nan=-1).tolist(),
        [trace.reasons[i] for i in trace.reason],
    )
    return placement.device.tolist(), placement.planned.tolist(), placement.estimate, recorded


def in_some_order(problem, i, by_kernel):
    """A plan in the order of upward rank, by turns inserted and traced; some ops prefer a device."""
    rng, n = Random(i), problem.graph.n_ops
    _, place = by_falling(upward_rank(problem))
    preferred = np.array([rng.choice([-1, -1, rng.randrange(problem.cluster.n_devices)]) for _ in range(n)], np.int32)
    for array in (place, preferred):
        array.flags.writeable = False
    if by_kernel:
        return list_scheduling._in_memory(problem, place, preferred, bool(i % 3), bool(i % 2))
    return list_scheduling.one_by_one(ListScheduler(problem, bool(i % 3), bool(i % 2)), lambda v: place[v], preferred)


def as_ready(problem, i, by_kernel):
    """A plan of ops as their last input is computed."""
    graph = problem.graph
    if by_kernel:
        preferred, place = np.full(graph.n_ops, -1, np.int32), np.empty(0, np.int32)
        for array in (place, preferred):
            array.flags.writeable = False
        return list_scheduling._in_memory(problem, place, preferred, False, bool(i % 2))
    s = ListScheduler(problem, trace=bool(i % 2))
    inputs = lambda v: graph.producer[graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]]  # noqa: E731
    return list_scheduling.one_by_one(s, lambda v: s.finish[inputs(v)].max(initial=0.0))


@pytest.mark.parametrize("planner", [in_some_order, as_ready])
@pytest.mark.parametrize("model", MODELS)
def test_the_kernel_is_the_list_scheduler(model, planner):
    """Devices, order, estimate, trace and error agree to the last bit, with restrictions, groups and tight memory."""
    refused = 0
    for i, problem in enumerate(problems.many(250, seed=61, ops=14, memory=(model,))):
        expected = outcome(planner, problem, i, by_kernel=False)
        assert outcome(planner, problem, i, by_kernel=True) == expected, i
        refused += isinstance(expected[0], str)
    assert 10 < refused < 200


@pytest.mark.parametrize("model", ["edges", "dynamic"])
def test_the_kernel_is_the_list_scheduler_on_long_curves(model):
    """The same where memory changes so often that a device's curve takes several blocks, and is scarce."""
    made = 0
    for i in range(9):
        problem = pl.Problem(pl.generators.layered(400, seed=i), pl.Cluster.uniform(2, memory=1e18), memory=model)
        peak = pl.solve(problem, "heft", "planned").peak_memory.max()
        problem = problem.replace(cluster=pl.Cluster.uniform(2, memory=float(peak * (0.97 - 0.02 * i))))
        expected = outcome(in_some_order, problem, i, by_kernel=False)
        assert outcome(in_some_order, problem, i, by_kernel=True) == expected, i
        made += not isinstance(expected[0], str)
    assert made > 1


@pytest.mark.parametrize("i", [6380, 14235, 17846])
def test_set_aside_ops_are_tried_again_when_nothing_else_is_left(i):
    """Nobody gives bytes back, but a copy of the input has come: its second reader has room where there was none."""
    problem = problems.problem(Random(f"63 {i}").randint, ops=8, memory=MODELS)
    expected = outcome(in_some_order, problem, i, by_kernel=False)
    assert outcome(in_some_order, problem, i, by_kernel=True) == expected

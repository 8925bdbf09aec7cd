"""List scheduling within memory: kernel and list scheduler make the same plan, op by op."""

from __future__ import annotations

from random import Random

import numpy as np
import problems
import pytest
from examples import fewer

import placelab as pl
from placelab.kernels.blocks import Busy
from placelab.kernels.plan import list_schedule as kernels
from placelab.planning import list_scheduling
from placelab.planning.list_scheduler import Gaps, ListScheduler
from placelab.planning.ranks import by_falling, upward_rank
from placelab.problem.resource_models import MEMORY_MODELS

MODELS = tuple(name for name in MEMORY_MODELS if name != "none")


def outcome(planner, problem, i, by_kernel):
    """All decisions and records of a planner, or its error if nothing fitted."""
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
    """A plan in order of upward rank, inserted and traced by turns; some ops prefer a device."""
    rng = Random(i)
    n = problem.graph.n_ops
    _, place = by_falling(upward_rank(problem))
    preferred = np.array([rng.choice([-1, -1, rng.randrange(problem.cluster.n_devices)]) for _ in range(n)], np.int32)
    for array in (place, preferred):
        array.flags.writeable = False
    if by_kernel:
        return list_scheduling._in_memory(problem, place, preferred, bool(i % 3), bool(i % 2))
    return list_scheduling.one_by_one(
        ListScheduler(problem, insertion=bool(i % 3), trace=bool(i % 2)), lambda v: place[v], preferred
    )


def as_ready(problem, i, by_kernel):
    """A plan in the order in which the last inputs of ops are computed."""
    graph = problem.graph
    if by_kernel:
        preferred = np.full(graph.n_ops, -1, np.int32)
        place = np.empty(0, np.int32)
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
    assert fewer(10) < refused < fewer(200)


@pytest.mark.parametrize("model", ["edges", "dynamic"])
def test_the_kernel_is_the_list_scheduler_on_long_curves(model):
    """The same if memory is scarce and changes so often that a device's curve needs several blocks."""
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
    """No memory is freed, but a copy of the input has arrived, so its second reader fits where it did not before."""
    problem = problems.problem(Random(f"63 {i}").randint, ops=8, memory=MODELS)
    expected = outcome(in_some_order, problem, i, by_kernel=False)
    assert outcome(in_some_order, problem, i, by_kernel=True) == expected


class Counted(list):
    """A list that counts how often it is read."""

    reads = 0

    def __getitem__(self, i):
        """The entry, and one more read."""
        self.reads += 1
        return super().__getitem__(i)


def test_short_gaps_are_skipped_in_blocks():
    """Among 100,000 busy spans a long op finds the one gap that holds it in a few thousand reads, at any position."""
    n = 100_000
    ends = Counted(np.arange(n) * 1.0 + 0.9)
    begins = Counted(np.arange(n) * 1.0)
    begins[70_000] += 0.05  # 0.15 wide, the others 0.1
    widest = Counted([0.0] * -(-n // kernels.SPANS))
    busy = Busy(n, [n], begins, ends, widest, [0], [0.0])
    kernels.measure(0, 0, n, busy)
    for row in (begins, ends, widest):
        row.reads = 0
    assert kernels.gap(0, busy, 10.0, 0.12, 1e300) == ends[69_999]
    assert begins.reads + ends.reads + widest.reads < 5 * n / kernels.SPANS


@pytest.mark.parametrize("scattered", [0.1, 0.5, 1.0])
def test_gaps_are_those_of_a_plain_list(scattered):
    """Thousands of ops, some of no time, inserted into one device's gaps, start when a scan over all gaps finds."""
    rng = Random(1)
    n = 4000
    plain = Gaps()
    busy = Busy(n, [0], [0.0] * n, [0.0] * n, [np.nan] * -(-n // kernels.SPANS), [0], [0.0] * n)
    for _ in range(n):
        ready = rng.randrange(8000) / 4 if rng.random() < scattered else max(plain.ends, default=0.0)
        ready += rng.choice([0.0, 0.25, 1e-9])
        length = rng.choice([0.0, 0.1, 0.25, 0.5, rng.random()])
        start = kernels.gap(0, busy, ready, length, 1e300)
        assert start == plain.earliest(ready, length)
        plain.occupy(start, start + length)
        kernels.run_on(0, True, busy, start, start + length)
    assert busy.count[0] > 2 * kernels.SPANS

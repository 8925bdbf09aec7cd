"""m-topo: topological order, device after device, by the papers' two rules."""

from __future__ import annotations

import numpy as np
import problems
import pytest
from examples import fewer

import placelab as pl
from placelab.planning.capacity import Assignment, needs, units


def plain(problem, rule):
    """The rule, written plainly; None if an op fits on no device."""
    k = problem.cluster.n_devices
    made = units(problem)
    held, peak = needs(problem)
    each = problem.graph.memory if problem.memory == "none" else held + peak
    need = [sum(each[v] for v in made.ops[a:b]) for a, b in zip(made.ptr, made.ptr[1:], strict=False)]
    size = np.diff(made.ptr)
    assignment = Assignment(problem)
    own = assignment.needs
    limit = assignment.capacity.limit
    used = [0.0] * k
    top = [0.0] * k
    load = [0.0] * k
    device = {}
    now = 0
    count = 0
    fits = lambda u, d: (  # noqa: E731
        d in problem.feasible(made.first[u]) and used[d] + own.held[u] + max(top[d], own.peak[u]) <= limit[d]
    )
    for u in range(made.n):
        while now < k - 1 and now in problem.feasible(made.first[u]):
            if rule == "count" or not sum(need):
                enough = count >= problem.graph.n_ops / k * (now + 1)
            else:
                enough = load[now] + need[u] > sum(need) / k + max(need)
            if not enough and fits(u, now):
                break
            now += 1
        choices = [d for d in [*range(now, k), *range(now)] if fits(u, d)]
        if not choices:
            return None
        d = device[u] = choices[0]
        used[d], top[d], load[d], count = (
            used[d] + own.held[u],
            max(top[d], own.peak[u]),
            load[d] + need[u],
            count + size[u],
        )
    return [device[u] for u in made.of]


def line(need, **rules):
    """Ops in a chain that need so many bytes."""
    n = len(need)
    graph = pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n)], [1.0] * n, [(v, v + 1) for v in range(n - 1)], memory=need
    )
    return lambda cluster: pl.Problem(graph, cluster, **rules)


def test_memory_rule_by_hand():
    """Baechi §2.2: Σ mem / m + max mem = 12 / 3 + 4 = 8 bytes per device: 1 2 1 4 fills the first exactly, then 2 1 1."""
    problem = line([1.0, 2.0, 1.0, 4.0, 2.0, 1.0, 1.0])(pl.Cluster.uniform(3))
    assert pl.place(problem, "m-topo").device.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_count_rule_by_hand():
    """Thesis 4.1.3: seven ops on three machines: on to the next once 7/3 and 14/3 ops are placed, so after 3 and after 5."""
    problem = line([1.0, 2.0, 1.0, 4.0, 2.0, 1.0, 1.0])(pl.Cluster.uniform(3))
    assert pl.place(problem, "m-topo", rule="count").device.tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_a_full_machine_is_left_for_good():
    """Thesis 4.1.3 "until a machine is full": 3 + 3 do not fit into 5 bytes, and the next op, of 1 byte, does not go back."""
    problem = line([3.0, 3.0, 1.0], memory="reserved")(pl.Cluster.uniform(2, memory=5.0))
    assert pl.place(problem, "m-topo", rule="count").device.tolist() == [0, 1, 1]
    assert pl.place(problem, "m-topo", rule="memory").device.tolist() == [0, 1, 1]


def test_what_the_last_machine_has_no_room_for_goes_round():
    """When the second device is full, ops go to the first, which has 2 bytes left."""
    problem = line([3.0, 3.0, 2.0, 2.0], memory="reserved")(pl.Cluster.uniform(2, memory=5.0))
    assert pl.place(problem, "m-topo").device.tolist() == [0, 1, 1, 0]


def test_an_op_that_may_not_run_there_does_not_end_the_filling():
    """op1 may only run on the last of three devices; op2 and op3 fill the first up to its 3 bytes."""
    problem = line([1.0] * 6)(pl.Cluster.uniform(3)).pin({"op1": 2})
    assert pl.place(problem, "m-topo").device.tolist() == [0, 2, 0, 0, 1, 1]


@pytest.mark.parametrize("rule", ["memory", "count"])
def test_it_is_the_rule_written_plainly(rule):
    """On random problems with groups, restrictions and every memory model."""
    refused = 0
    for i, problem in enumerate(problems.many(400, seed=71)):
        expected = plain(problem, rule)
        if expected is None:
            with pytest.raises(pl.InfeasibleError):
                pl.place(problem, "m-topo", rule=rule, fallback=False)
            refused += 1
        else:
            assert (
                pl.place(problem, "m-topo", rule=rule, fallback=False, trace=bool(i % 2)).device.tolist() == expected
            ), i
    assert fewer(20) < refused < fewer(200)


def test_the_share_is_never_too_small():
    """For any sizes, ops go to devices in turn: none is skipped, and none gets more than its share."""
    for problem in problems.many(200, seed=72, memory=("none",), groups=False, restricted=False):
        placement = pl.place(problem, "m-topo")
        need = problem.graph.memory
        k = problem.cluster.n_devices
        load = np.bincount(placement.device, need, minlength=k)
        assert (np.diff(placement.device) >= 0).all()
        assert load.max() <= (need.sum() / k + need.max()) * (1 + 1e-12) or not need.any()


def test_devices_keep_the_topological_order():
    """Baechi §2.2: at run time a device executes its ops as sorted."""
    problem = pl.Problem(pl.generators.layered(60, seed=3), pl.Cluster.uniform(3))
    schedule = pl.solve(problem, "m-topo", "planned")
    assert all((np.diff(schedule.order(d)) > 0).all() for d in range(3))
    assert pl.validate(schedule) == []

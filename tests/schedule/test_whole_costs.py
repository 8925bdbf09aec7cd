"""Whole costs give the same plan in seconds and in any decimal unit of time, and the plan speaks in seconds."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from examples import ALIKE
from problems import many

import placelab as pl
from placelab.schedule.whole_costs import in_whole_costs

QUICK = [name for name, function in pl.partitioners().items() if not function.slow]
FEW = {
    "cem": dict(samples=40),
    "policy-gradient": dict(samples=40),
    "portfolio": dict(moves=60),
    "cp-sat": {},
    "ilp": {},
}
MILLI = 1e-3


def slower(problem: pl.Problem, c: float, *, by_speed: bool = False, by_bytes: bool = False) -> pl.Problem:
    """The problem with all its times times `c`: its costs, or its speeds, or its bytes instead of its bandwidths."""
    graph = problem.graph
    cluster = problem.cluster
    ops = 1.0 if by_speed else c
    rate = 1.0 if by_bytes else c
    sizes = c if by_bytes else 1.0
    time = {} if graph.time is None else dict(time=graph.time * c, time_speed=graph.time_speed * (ops / c))
    links = {link.name: (link.bandwidth / rate, link.pairs) for link in cluster.links}
    return problem.with_costs(
        graph=graph.replace(compute=graph.compute * ops, tensor_bytes=graph.tensor_bytes * sizes, **time),
        cluster=cluster.replace(
            speed=cluster.speed * (ops / c),
            bandwidth=cluster.bandwidth / rate,
            latency=cluster.latency * c,
            links=links,
        ),
    ).replace(transfer_ops=problem.transfer_ops * ops, allowed=problem.allowed, groups=problem.groups)


def plan(problem: pl.Problem, name: str, **options: object) -> pl.Placement | str:
    """A placement, or the name of the error that there is instead."""
    try:
        return pl.partitioners()[name](problem, **options)
    except pl.PlacelabError as error:
        return type(error).__name__


def check_alike(a: pl.Placement | str, b: pl.Placement | str, c: float) -> None:
    """Check that `b` is `a` with all times times `c`."""
    if isinstance(a, str) or isinstance(b, str):
        assert a == b
        return
    assert a.device.tolist() == b.device.tolist()
    assert (a.planned is None) == (b.planned is None)
    assert a.planned is None or a.planned.tolist() == b.planned.tolist()
    for mine, other in ((a.estimate, b.estimate), (a.bound, b.bound), (a.not_before, b.not_before)):
        assert (mine is None) == (other is None)
        assert mine is None or np.asarray(other) == pytest.approx(np.asarray(mine) * c, rel=1e-9)


@pytest.mark.parametrize("name", QUICK)
def test_a_plan_does_not_depend_on_the_unit_of_time(name):
    """Device and order of every op are those of the same problem in milliseconds, however it is written."""
    for i, problem in enumerate(many(24 if name in ALIKE else 60, seed=23, ops=25, whole=True)):
        memory = problem.memory != "none"
        changes = (dict(), dict(by_speed=True), dict() if memory else dict(by_bytes=True))[i % 3]
        c = (MILLI, 1e-6, 1e3)[i % 3]
        check_alike(plan(problem, name), plan(slower(problem, c, **changes), name), c)


@pytest.mark.parametrize("name", FEW)
@pytest.mark.slow
def test_a_search_does_not_depend_on_the_unit_of_time(name):
    """Searches find the same plan in milliseconds."""
    for problem in many(8, seed=24, ops=6, devices=3, whole=True):
        check_alike(*(plan(p, name, **FEW[name]) for p in (problem, slower(problem, MILLI))), MILLI)


@pytest.mark.parametrize("name", ["heft", "peft", "lc", "min-cut", "dfs", "single"])
def test_traces_are_in_seconds(name):
    """Scores and ranks that are times, and ranks that are operations, are those of the problem that was given."""
    problem = pl.Problem(
        pl.OpGraph.from_arrays(list("abcd"), [2, 3, 3, 1], [(0, 1), (0, 2), (1, 3), (2, 3)], edge_bytes=[1, 2, 3, 4]),
        pl.Cluster([1.0, 2.0], latency=1.0),
    )
    seconds, milli = (pl.place(p, name, trace=True).trace for p in (problem, slower(problem, MILLI)))
    factor = {"[s]": MILLI, "[operations]": MILLI}
    columns = [(milli.score, seconds.score, seconds.score_name)]
    columns += [] if seconds.rank is None else [(milli.rank, seconds.rank, seconds.rank_name)]
    for other, mine, label in columns:
        assert other == pytest.approx(mine * factor.get(label.rpartition(" ")[2], 1.0), nan_ok=True)
    if seconds.ranks is not None:
        for column in ("value", "own", "way"):
            assert getattr(milli.ranks, column) == pytest.approx(getattr(seconds.ranks, column) * MILLI)


def test_reports_tables_and_notes_are_in_seconds():
    """What a search reports while it runs, its learning curve and its sentences are in seconds."""
    problem = slower(pl.datasets.problem("topcuoglu"), MILLI)
    told: list[pl.Progress] = []
    placed = pl.place(problem, "cem", samples=60, progress=told.append)
    assert placed.estimate == pytest.approx(told[-1].makespan) == pytest.approx(placed.table.best.iloc[-1])
    assert 0.04 < placed.estimate < 0.1 and placed.problem is problem
    spent = placed.table.placement_time.iloc[-1]
    assert problem.cluster.units.time(spent) in placed.notes[-1]
    row = pl.place(problem, "portfolio", moves=100).table.set_index("partitioner").loc["heft"]
    assert row.makespan == pytest.approx(0.08)


def test_costs_that_are_whole_in_seconds_or_nowhere_stay():
    """Such problems are planned as they are; costs in milliseconds become whole, also where speeds are thirds."""
    graph = pl.OpGraph.from_arrays(list("ab"), [2.0, 3.0], [(0, 1)], edge_bytes=[5.0])
    whole = pl.Problem(graph, pl.Cluster([1.0, 1 / 3], latency=1.0))
    odd = slower(whole, 1 / 7)
    assert in_whole_costs(whole).problem is whole and in_whole_costs(odd).problem is odd
    milli = in_whole_costs(slower(whole, MILLI))
    assert milli.problem.graph.compute.tolist() == [2.0, 3.0] and milli.second == 1000.0
    assert np.array_equal(milli.problem.exec_table(), whole.exec_table())
    assert np.array_equal(milli.problem.cluster.latency, whole.cluster.latency)


@pytest.mark.parametrize(
    ("bandwidth", "latency", "transfer_ops"), [(1e30, 0.0, 0.0), (1e25, 0.0, 0.0), (1.0, 1e-25, 0.0), (1e30, 0.0, 1.0)]
)
def test_no_unit_is_so_fine_that_sums_are_rounded(bandwidth, latency, transfer_ops):
    """Whole seconds beside a link, or a latency, that takes almost no time are planned in seconds: the estimate is whole."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [3.0, 2.0, 7.0], [(0, 1), (1, 2)], edge_bytes=[1.0, 1.0])
    cluster = pl.Cluster([1.0, 1.0], bandwidth=bandwidth, latency=latency)
    problem = pl.Problem(graph, cluster, transfer_ops=transfer_ops)
    assert in_whole_costs(problem).problem is problem
    assert pl.place(problem, "heft").estimate == 12.0


def test_strategies_of_users_get_the_problem_that_was_given():
    """A function that a user decorates sees the costs as they are."""
    seen = []

    @pl.partitioner
    def first(problem):
        """All on device 0."""
        seen.append(problem)
        return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))

    problem = slower(pl.datasets.problem("topcuoglu"), MILLI)
    assert pl.place(problem, first).problem is seen[0] is problem


def test_speeds_that_are_no_decimal_numbers_leave_ties_to_the_last_bit():
    """There the plans of whole costs differ in one of sixty problems at most."""
    random = Random(5)
    differ = 0
    for problem in many(60, seed=25, ops=25, whole=True, memory=("none",), transfer_ops=(0,), time_table=False):
        speed = [random.uniform(1, 4) for _ in range(problem.cluster.n_devices)]
        problem = problem.with_costs(cluster=problem.cluster.replace(speed=speed))
        a, b = (plan(p, "heft") for p in (problem, slower(problem, MILLI)))
        differ += a.device.tolist() != b.device.tolist()
    assert differ <= 1

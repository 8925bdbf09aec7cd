"""A session knows the shortest legal schedule of a problem and the best bound, for every problem of equal content."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import problems
import pytest

import placelab as pl
from placelab.schedule import known_schedules as known


def made() -> pl.Problem:
    """An equal problem with each call, but another object."""
    return pl.Problem(pl.generators.layered(20, seed=2), pl.Cluster.uniform(3))


def test_the_shortest_is_known_by_content():
    """Of solve and compare, whichever is shorter; of the problem that asks; legal, with all that made it."""
    assert pl.best_known(made()) is None
    slow = pl.solve(made(), "single", "fifo")
    problem = made()
    found = pl.best_known(problem)
    assert found.makespan == slow.makespan and found.problem is problem and found.scheduler == "fifo"
    frame = pl.compare(made(), ["heft", "round-robin"], ["planned", "fifo"])
    pl.solve(made(), "single")
    best = pl.best_known(problem)
    assert best.makespan == min(frame["makespan"].min(), slow.makespan) and pl.validate(best) == []
    assert pl.best_known(problem.replace(transfers="channel")) is None
    assert pl.best_known(problem.replace(cluster=problem.cluster.replace(bandwidth=1e9))) is None


def test_it_is_legal_on_random_problems():
    """Under every transfer and memory model it is the least makespan of those within memory; there may be none."""
    for problem in problems.many(60, seed=51):
        spans = []
        for name in ("heft", "single", "random"):
            try:
                schedule = pl.solve(problem, name)
            except pl.InfeasibleError:
                continue
            spans += [schedule.makespan] if problem.memory == "none" or not len(schedule.oom) else []
        best = pl.best_known(problem)
        assert (best is None) == (not spans)
        if best is not None:
            assert best.makespan == min(spans) and pl.validate(best) == [] and pl.metrics(best)["bound_gap"] >= -1e-9


def test_what_a_partitioner_proves_is_known():
    """cp-sat's bound stands in the schedule that another one made; place alone is enough to learn it."""
    problem = pl.datasets.problem("topcuoglu")
    pl.solve(problem, "heft")
    assert pl.best_known(problem).placement.bound is None
    proven = pl.place(problem, "cp-sat")
    assert pl.best_known(problem).placement.partitioner == "heft"
    assert pl.best_known(problem).placement.bound == known.best_proven(problem) == proven.bound
    pl.simulate(problem, proven, "planned")
    assert pl.metrics(pl.best_known(problem))["bound_gap"] == pytest.approx(80 / 73 - 1)
    pl.solve(problem, "cp-sat")
    assert pl.metrics(pl.best_known(problem))["bound_gap"] == pytest.approx(0.0, abs=1e-6)


def test_a_refuted_bound_is_forgotten_and_the_others_stay():
    """A claim that is longer than a known schedule does not count, whichever came first; claims below it do."""
    problem = made()
    makespan = pl.solve(problem, "heft").makespan
    for claim, holds in ((makespan / 2, makespan / 2), (makespan * 2, makespan / 2), (makespan * 0.9, makespan * 0.9)):
        known.prove(problem, claim)
        assert known.best_proven(problem) == holds
    shorter = pl.simulate(problem, pl.place(problem, "portfolio", moves=500), "planned")
    if shorter.makespan < makespan * 0.9:
        known.offer(shorter)
        assert known.best_proven(problem) <= shorter.makespan * (1 + 1e-6)


def test_a_schedule_that_is_out_of_memory_does_not_count():
    """All ops on a device with half the memory they need."""
    two = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [], memory=[4.0, 4.0])
    problem = pl.Problem(two, pl.Cluster([1.0, 1.0], memory=[6.0, 6.0]), memory="reserved")
    short = pl.simulate(problem, pl.Placement(problem, np.zeros(2, int)), "fifo")
    assert len(short.oom)
    known.offer(short)
    assert pl.best_known(problem) is None


def test_the_last_problems_are_remembered(monkeypatch):
    """Those nobody asked for are forgotten, never the newest, however large it is; traces and tables are not kept."""
    monkeypatch.setattr(known, "KEPT", 3)
    many = [pl.Problem(pl.generators.fork_join(n), pl.Cluster.uniform(2)) for n in range(2, 7)]
    for problem in many:
        pl.solve(problem, "heft", trace=True)
        pl.best_known(many[0])
    assert [pl.best_known(problem) is not None for problem in many] == [True, False, False, True, True]
    assert pl.best_known(many[0]).placement.trace is None
    monkeypatch.setattr(known, "LARGEST", 1)
    pl.solve(made(), "heft")
    assert pl.best_known(made()) is not None and pl.best_known(many[0]) is None


def test_a_problem_whose_metadata_are_no_json_is_equal_to_itself_alone():
    """It has no hash of its content."""
    graph = pl.generators.fork_join(3)
    odd = lambda: pl.Problem(graph.replace(metadata={"made by": object()}), pl.Cluster.uniform(2))  # noqa: E731
    problem = odd()
    pl.solve(problem, "heft")
    assert pl.best_known(problem) is not None and pl.best_known(odd()) is None


def test_many_threads_offer_at_once():
    """The shortest of all is kept, whatever the order."""
    problem = made()
    schedules = [pl.simulate(problem, pl.place(problem, "random", seed=seed), "fifo") for seed in range(40)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(known.offer, schedules * 5))
    assert pl.best_known(problem).makespan == min(schedule.makespan for schedule in schedules)


def test_a_search_for_adversaries_leaves_no_trace():
    """It solves thousands of problems that nobody asks for."""
    pl.adversarial("single", "heft", restarts=1, steps=5, seed=1)
    assert not known._records


def test_an_equal_schedule_of_another_bound():
    """A schedule that is no shorter is not kept, but what its partitioner has proven is."""
    problem = made()
    schedule = pl.solve(problem, "heft")
    claim = schedule.makespan / 3
    known.offer(replace(schedule, placement=replace(schedule.placement, bound=claim)))
    assert pl.best_known(problem).placement.bound == claim

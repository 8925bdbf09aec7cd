"""Local search from a plan: never worse, ended when asked, and what it finds of a problem is known."""

from __future__ import annotations

import problems
import pytest

import placelab as pl
from placelab.schedule import known_schedules


def ten_tasks() -> pl.Problem:
    """Topcuoglu's."""
    return pl.datasets.problem("topcuoglu")


def test_a_plan_is_finished_and_stays_legal():
    """On random problems of all models: valid where the plan was, no longer, and the same by the same seed."""
    shorter = 0
    for i, problem in enumerate(problems.many(55, seed=51, ops=9, devices=3)):
        try:
            plan = pl.by_hand(pl.solve(problem, "random", "fifo", seed=i))
        except (pl.InfeasibleError, pl.UnsupportedError):
            continue
        found = pl.improve(plan, moves=200, seed=i)
        if not len(plan.schedule.oom):
            assert pl.validate(found.schedule) == []
            assert found.makespan <= plan.makespan * (1 + 1e-12)
        shorter += found.makespan < plan.makespan * (1 - 1e-9)
        assert (pl.improve(plan, moves=200, seed=i).planned == found.planned).all()
    assert shorter > 5


def test_an_optimal_plan_is_left_as_it_is():
    """The very same is returned, and so is one that is ended before its first round."""
    single = pl.Problem(pl.generators.independent(4, seed=1), pl.Cluster([1.0]))
    plan = pl.by_hand(pl.solve(single, "heft"))
    assert pl.improve(plan) is plan
    poor = pl.by_hand(pl.solve(ten_tasks(), "hash"))
    assert pl.improve(poor, cancel=lambda: True) is poor
    assert pl.improve(poor, time_limit=0) is poor


def test_progress_falls_to_the_result():
    """Makespans that are reported never rise; the last is that of the plan, and the bound is below it."""
    seen = []
    found = pl.improve(pl.solve(ten_tasks(), "hash"), progress=seen.append)
    makespans = [one.makespan for one in seen]
    assert makespans == sorted(makespans, reverse=True) and makespans[-1] == found.makespan == 73
    assert all(0 < one.bound <= 73 for one in seen)


def test_what_is_found_is_known():
    """From nothing, and again from what is known; every report has a schedule that is known by then."""
    known_schedules.clear()
    problem = ten_tasks()

    def check(one) -> None:
        if one.doing == "local search":
            assert pl.best_known(problem).makespan == one.makespan

    best = pl.improve_known(problem, progress=check)
    assert best.makespan == pl.best_known(problem).makespan == 73
    assert pl.validate(best) == [] and 56 <= best.placement.bound <= 73
    assert pl.improve_known(problem, cancel=lambda: True).makespan == 73


@pytest.mark.slow
def test_it_begins_with_what_is_known(monkeypatch):
    """The best known plan is not lost where the catalogue has only worse ones."""
    from placelab.analysis import improving

    known_schedules.clear()
    problem = ten_tasks()
    known_schedules.offer(pl.improve(pl.solve(problem, "hash")).schedule)
    monkeypatch.setattr(improving, "usual_moves", lambda problem: 1)
    assert pl.improve_known(problem).makespan == 73


def test_what_is_proven_is_not_searched(monkeypatch):
    """No partitioner is tried where the best known meets its bound."""
    from placelab.analysis import improving

    known_schedules.clear()
    problem = pl.Problem(pl.generators.independent(4, seed=1), pl.Cluster([1.0]))
    made = pl.solve(problem, "heft")
    monkeypatch.setattr(improving, "catalogue_plans", None)
    assert pl.improve_known(problem).makespan == made.makespan


def test_what_fits_nowhere_raises():
    """As the partitioners do."""
    known_schedules.clear()
    graph = pl.OpGraph.from_arrays(["a"], [1.0], [], persistent=9.0)
    with pytest.raises(pl.InfeasibleError, match="'a'"):
        pl.improve_known(pl.Problem(graph, pl.Cluster([1.0], memory=5.0)))

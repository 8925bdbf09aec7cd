"""The best single move: exact among those that it tries, legal, and none where none helps."""

from __future__ import annotations

import numpy as np
import pytest
from problems import many

import placelab as pl
from placelab.schedule.critical_steps import critical_steps


def tried(plan: pl.ByHand) -> list[tuple[float, int, int]]:
    """Makespan, op and device of each move, one simulation each."""
    problem = plan.placement.problem
    steps = critical_steps(plan.schedule)
    found = []
    for v in np.unique(steps["row"][steps["kind"] == 0]).tolist():
        for d in problem.feasible(v).tolist():
            if plan.places(problem.graph.names[v], d).legal:
                moved = plan.move(problem.graph.names[v], d).schedule
                if len(plan.schedule.oom) or not len(moved.oom):
                    found.append((moved.makespan, v, d))
    return found


def test_it_is_the_best_of_all_moves():
    """On random problems of every model, with groups and pins: the least makespan, of the lowest op; the plan is legal."""
    helped = 0
    for problem in many(60, seed=91):
        try:
            plan = pl.by_hand(pl.solve(problem, "random"))
        except pl.InfeasibleError:
            continue
        move = pl.best_move(plan.schedule)
        least = min(tried(plan), default=(np.inf, -1, -1))
        if move is None:
            assert not least[0] < plan.makespan * (1 - 1e-9)
            continue
        helped += 1
        assert move.makespan == pytest.approx(least[0], rel=1e-9) and move.saves == plan.makespan - move.makespan > 0
        assert move.plan.makespan == move.makespan
        assert [v for v in pl.validate(move.plan.schedule) if v.kind != "memory"] == []
    assert helped > 5


def test_move_after_move_ends():
    """Each saves something, so no plan comes twice. HEFT's plan of the ten tasks has one such move, hash's has several."""
    problem = pl.datasets.problem("topcuoglu")
    move = pl.best_move(pl.solve(problem, "heft"))
    assert move is not None and (move.op, move.device, move.makespan) == ("T6", "P1", 76)
    assert pl.best_move(move.plan.schedule) is None
    plan = pl.by_hand(pl.solve(problem, "hash"))
    makespans = [plan.makespan]
    while (move := pl.best_move(plan.schedule)) is not None:
        plan = move.plan
        makespans.append(plan.makespan)
    assert makespans == sorted(set(makespans), reverse=True) and len(makespans) > 2 and makespans[-1] >= 73
    assert pl.validate(plan.schedule) == []


def test_a_cancelled_search_has_tried_nothing():
    """And one that is not tells how far it is."""
    schedule = pl.solve(pl.datasets.problem("topcuoglu"), "heft")
    assert pl.best_move(schedule, cancel=lambda: True) is None
    seen: list = []
    pl.best_move(schedule, progress=seen.append)
    assert seen[-1].fraction == 1.0


def test_a_schedule_by_hand_is_checked():
    """An explorer, a plan, a schedule, a placement or a function: legal, and short enough."""
    problem = pl.datasets.problem("topcuoglu")
    plan = pl.by_hand(pl.solve(problem, "heft"))
    for given in (plan, plan.schedule, plan.placement, lambda: plan):
        pl.testing.check_by_hand(given, at_most=80)
        with pytest.raises(AssertionError, match="takes 80 s; at most 73 s are allowed"):
            pl.testing.check_by_hand(given, at_most=73)
    with pytest.raises(AssertionError, match="a plan by hand, a schedule or a placement is expected"):
        pl.testing.check_by_hand(5)

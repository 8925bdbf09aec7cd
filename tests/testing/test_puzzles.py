"""Puzzles: their optimum is the optimum, stars are earned by legal plans alone, and HEFT's plan can be beaten."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl
from placelab import testing


def test_there_are_twelve_from_four_ops_to_forty():
    """Each has a task in words, an optimum of halves, and a plan to begin with that is legal and not optimal."""
    sizes = [pl.puzzles.load(name).problem.graph.n_ops for name in pl.puzzles.names()]
    assert len(sizes) == 12 and (min(sizes), max(sizes)) == (4, 40)
    for name in pl.puzzles.names():
        puzzle = pl.puzzles.load(name)
        assert puzzle.task and (2 * puzzle.optimum) % 1 == 0
        assert puzzle.stars(puzzle.start) in (1, 2), name
        assert puzzle.start.makespan > puzzle.optimum


@pytest.mark.parametrize("name", pl.puzzles.names())
def test_the_optimum_is_proven(name):
    """cp-sat proves a plan of just that length, which earns three stars; HEFT's earns two where it is longer, three else."""
    pytest.importorskip("ortools", reason="needs the extra solvers")
    puzzle = pl.puzzles.load(name)
    best = pl.place(puzzle.problem, "cp-sat")
    assert best.optimal and best.estimate == pytest.approx(puzzle.optimum, rel=1e-9)
    assert puzzle.stars(best) == puzzle.stars(pl.by_hand(best)) == 3
    assert puzzle.heft >= puzzle.optimum


def test_most_of_hefts_plans_can_be_beaten():
    """That is what the third star is for."""
    every = [pl.puzzles.load(name) for name in pl.puzzles.names()]
    longer = [puzzle for puzzle in every if puzzle.heft > puzzle.optimum * (1 + 1e-9)]
    assert len(longer) >= 9
    for puzzle in longer:
        assert puzzle.stars(pl.solve(puzzle.problem, "heft", "planned")) == 2


def test_a_plan_without_room_earns_nothing():
    """All forward passes first are too much for the stages' memory."""
    puzzle = pl.puzzles.load("pipeline")
    late = pl.solve(puzzle.problem, "hash", "gpipe")
    assert len(late.oom) and puzzle.stars(late) == 0
    assert puzzle.stars(pl.solve(puzzle.problem, "hash", "1f1b")) == 3


def test_another_problem_is_refused():
    """An equal problem is none."""
    puzzle = pl.puzzles.load("diamond")
    same = pl.Problem(puzzle.problem.graph, puzzle.problem.cluster)
    assert puzzle.stars(pl.Placement(same, [0] * 4)) == 3
    with pytest.raises(pl.FormatError, match="of another problem than the puzzle 'diamond'"):
        puzzle.stars(pl.Placement(same.replace(transfers="channel"), [0] * 4))
    with pytest.raises(pl.FormatError, match="no puzzle is called 'diamonds'; there are diamond, "):
        pl.puzzles.load("diamonds")


def test_a_check_counts_stars():
    """It says how many were earned and what the next one needs, never the optimum."""
    puzzle = pl.puzzles.load("ten tasks")
    testing.check_by_hand(puzzle.start, puzzle="ten tasks", stars=1)
    testing.check_by_hand(pl.place(puzzle.problem, "heft"), puzzle="ten tasks", stars=2)
    with pytest.raises(AssertionError, match="80 s, which is 2 of 3 stars; for the next it must be optimal"):
        testing.check_by_hand(pl.place(puzzle.problem, "heft"), puzzle="ten tasks")
    with pytest.raises(AssertionError, match="1 of 2 stars; for the next it must be as short as HEFT's"):
        testing.check_by_hand(puzzle.start, puzzle="ten tasks", stars=2)
    with pytest.raises(AssertionError, match="is a plan of another problem than the puzzle 'diamond'"):
        testing.check_by_hand(puzzle.start, puzzle="diamond")
    with pytest.raises(AssertionError, match="breaks the rule 'memory'"):
        testing.check_by_hand(pl.solve(pl.puzzles.load("pipeline").problem, "hash", "gpipe"), puzzle="pipeline")


STEPS = {
    "plain": dict(microbatches=4, stages=3),
    "split": dict(weight=1.0, microbatches=6, stages=3),
    "loop": dict(microbatches=4, stages=2, chunks=2, layout="loop"),
    "v": dict(weight=1.0, microbatches=6, stages=2, chunks=2, layout="v"),
}


@pytest.mark.parametrize(
    ("step", "names"),
    [("plain", ("gpipe", "1f1b")), ("split", ("zb-h1", "zb-h2")), ("loop", ("gpipe", "interleaved")), ("v", ("zb-v",))],
)
def test_what_a_scheduler_made_is_recognised(step, names):
    """By its name alone, as a schedule and as a plan by hand; one swap of equal neighbours on a device is another order."""
    problem = pl.generators.pipeline_training(1.0, 2.0, **STEPS[step])
    for name in names:
        schedule = pl.solve(problem, "hash", name)
        plan = pl.by_hand(schedule)
        assert pl.recognise(schedule) == pl.recognise(plan) == (name,)
        assert pl.recognise(pl.by_hand(plan.placement)) == (name,)
        assert name not in pl.recognise(with_two_exchanged(plan))


def with_two_exchanged(plan: pl.ByHand) -> pl.ByHand:
    """The plan in which the last two neighbours of a device that may, run the other way round."""
    names = plan.placement.problem.graph.names
    lane = [str(names[v]) for v in plan.order(0)]
    at = max(i for i, op in enumerate(lane[:-1]) if plan.places(op, 0).last > i)
    return plan.move(lane[at], 0, after=lane[at + 1])


def renumbered(problem: pl.Problem, order: list[int]) -> pl.ByHand:
    """1F1B in which micro-batch ``order[i]`` is the i-th to enter."""
    plan = pl.by_hand(pl.solve(problem, "hash", "1f1b"))
    m = len(order)
    planned = []
    for v in plan.planned.tolist():
        phase, stage = str(problem.graph.names[v]).split(".")
        letters = phase.rstrip("0123456789")
        planned.append(problem.graph.index(f"{letters}{order[int(phase[len(letters) :])]}.{stage}"))
    assert sorted(planned) == list(range(problem.graph.n_ops)) and m == 4
    return pl.by_hand(pl.Placement(problem, plan.placement.device, np.array(planned, np.int32)))


def test_equal_micro_batches_may_change_places():
    """1F1B with its micro-batches in another order is 1F1B; where one of them takes longer, it is not."""
    problem = pl.generators.pipeline_training(1.0, 2.0, microbatches=4, stages=3)
    plan = renumbered(problem, [2, 0, 3, 1])
    assert pl.recognise(plan) == ("1f1b",)
    seconds = problem.graph.compute.copy()
    seconds[problem.graph.index("F2.1")] *= 2
    longer = problem.replace(graph=problem.graph.replace(compute=seconds))
    assert pl.recognise(pl.by_hand(pl.Placement(longer, plan.placement.device, plan.planned))) == ()
    assert pl.recognise(pl.solve(longer, "hash", "1f1b")) == ("1f1b",)


def test_orders_that_agree_are_all_named():
    """With one micro-batch there is nothing to take turns."""
    problem = pl.generators.pipeline_training(1.0, 2.0, microbatches=1, stages=2)
    assert pl.recognise(pl.solve(problem, "hash", "1f1b")) == ("gpipe", "1f1b", "interleaved")


def test_other_graphs_have_no_such_orders():
    """They have neither stages nor micro-batches."""
    with pytest.raises(pl.UnsupportedError, match="recognise needs a training step of stages and micro-batches"):
        pl.recognise(pl.puzzles.load("diamond").start)

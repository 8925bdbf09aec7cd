"""Answers that leave the work to placelab, or change the problem they get, do not pass."""

from __future__ import annotations

import contextlib
import threading

import numpy as np
import pytest

import placelab as pl
from placelab import testing
from placelab.testing.answers import Watch, apart

PROBLEM = pl.datasets.problem("topcuoglu")


def takes(problem, partitioner="heft"):
    """Makespan of a plan."""
    return pl.solve(problem, partitioner).makespan


def directly(problem):
    """HEFT through the catalogue."""
    return pl.partitioners()["heft"](problem)


def imported(problem):
    """HEFT's own function, under another name."""
    from placelab.strategies.partitioning.heft import heft as helper

    return helper(problem)


def hidden(problem):
    """The call is followed by an error that is caught, and by an honest plan."""
    with contextlib.suppress(ZeroDivisionError):
        pl.place(problem, "heft")
        raise ZeroDivisionError
    return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))


def inside(problem):
    """HEFT is one of several that a built-in function compares."""
    pl.compare(problem, partitioners=["heft"], schedulers=["planned"])
    return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))


def honest(problem):
    """HEFT, written with the list scheduler."""
    s = pl.ListScheduler(problem, insertion=True)
    for op in np.argsort(-pl.upward_rank(problem), kind="stable"):
        s.place(op, min(s.feasible(op), key=lambda d: s.eft(op, d)))
    return s.placement()


@pytest.mark.parametrize(
    ("answer", "forbid"),
    [
        pytest.param(answer, forbid, marks=[pytest.mark.slow] * ((i - j) % 4 > 0 or answer is inside))
        for i, answer in enumerate((directly, imported, hidden, inside))
        for j, forbid in enumerate((["heft"], ["partitioners"], "partitioners"))
    ],
)
def test_a_forbidden_strategy_is_found_however_it_is_called(answer, forbid):
    """By what runs; an answer that does its own work passes, and so does either without `forbid`."""
    check = lambda found, **more: testing.check_placement(PROBLEM, found, **more)  # noqa: E731
    with pytest.raises(
        AssertionError, match=f"{answer.__name__} calls placelab's own 'heft', which this exercise forbids"
    ):
        check(answer, forbid=forbid)
    check(answer)
    check(honest, forbid=forbid)


def test_the_contract_and_the_contest_forbid_as_well():
    """The strategy under test is watched, and its rivals are not."""
    testing.check_partitioner(honest, [PROBLEM], forbid=["partitioners"])
    testing.check_strategy(honest, [PROBLEM], "round-robin", beside=["heft"], forbid=["partitioners"])
    with pytest.raises(AssertionError, match="'imported' calls placelab's own 'heft'"):
        testing.check_partitioner(imported, [PROBLEM], forbid=["partitioners"])
    with pytest.raises(AssertionError, match="imported calls placelab's own 'heft'"):
        testing.check_strategy(imported, [PROBLEM], "round-robin", beside=(), forbid=["partitioners"])
    with pytest.raises(AssertionError, match="calls placelab's own 'pct'"):
        testing.check_scheduler(lambda problem, placement: pl.schedulers()["pct"](problem, placement), forbid=["pct"])


def test_other_threads_may_run_what_the_answer_must_not():
    """An explorer that is open in the same notebook goes on planning."""
    plan = threading.Thread(target=lambda: pl.place(PROBLEM, "heft"))

    def beside(problem):
        starter.start()
        plan_started.wait(10)
        plan.join()
        return honest(problem)

    plan_started = threading.Event()
    starter = threading.Thread(target=lambda: (plan.start(), plan_started.set()))
    testing.check_placement(PROBLEM, beside, forbid=["heft"])
    assert not plan.is_alive()


def test_functions_and_the_simulator_can_be_forbidden():
    """A function is forbidden by itself; a word that is nothing of placelab is refused."""
    plan = pl.place(PROBLEM, "heft")
    with pytest.raises(AssertionError, match="calls placelab's own 'bounds'"):
        testing.check_value(lambda: max(pl.bounds(PROBLEM).values()), 1, forbid=[pl.bounds])
    with pytest.raises(AssertionError, match="which this exercise forbids"):
        testing.check_value(lambda: pl.simulate(PROBLEM, plan).makespan, 80, forbid=["simulation"])
    with pytest.raises(pl.FormatError, match="forbid has 'hefty'; expected partitioners, schedulers, simulation"):
        Watch(["hefty"])


def test_an_answer_cannot_change_the_problem_that_judges_it():
    """It gets a copy: faster devices in it make no placement shorter."""

    def cheating(problem):
        for array in (problem.graph.compute, problem.cluster.speed, problem.cluster.bandwidth):
            array.flags.writeable = True
            array[...] = 1e12
        return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))

    before = takes(PROBLEM, "single")
    with pytest.raises(AssertionError, match=f"takes {before:g} s; at most 80 s"):
        testing.check_placement(PROBLEM, cheating, at_most=80)
    testing.check_property(cheating, [PROBLEM], lambda problem, _: takes(problem, "single") == before, "it is the same")
    assert takes(PROBLEM, "single") == before


def test_a_copy_shares_nothing_and_is_as_read_only_as_the_original():
    """The problem of a copied schedule is one object, as it was; kernels take it as they take the original."""
    schedule = pl.solve(PROBLEM, "heft", "planned")
    copy = apart(schedule)
    assert copy.problem is copy.placement.problem and copy.problem is not PROBLEM
    assert not np.shares_memory(copy.problem.graph.compute, PROBLEM.graph.compute)
    with pytest.raises(ValueError, match="read-only"):
        copy.problem.graph.compute[0] = 0
    assert takes(copy.problem) == schedule.makespan


def test_an_error_that_the_answer_raises_itself_shows_nothing():
    """Of placelab's errors; a division by zero is the answer's own anyway."""

    def raises():
        raise pl.CycleError("the graph has a cycle")

    with pytest.raises(AssertionError, match="raises raises CycleError itself; a call of placelab must raise it"):
        testing.check_error(raises, pl.CycleError, words="cycle")
    testing.check_error(lambda: 1 / 0, ZeroDivisionError)

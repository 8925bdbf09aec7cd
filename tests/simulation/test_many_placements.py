"""makespans: many placements at once take what each takes alone."""

from random import Random

import numpy as np
import problems
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.planning.list_scheduler import planned_order
from placelab.planning.ranks import rounded
from placelab.simulation import batches
from placelab.simulation.batches import makespans
from placelab.simulation.event_simulation import times_under

PROBLEM = pl.Problem(
    pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 2.0, 3.0], [(0, 1)], edge_bytes=[4.0], groups=[[0, 2]]),
    pl.Cluster([1.0, 1.0], bandwidth=1.0),
)


@examples(100)
@given(problem=problems.problems(), seed=st.integers(0, 999))
def test_to_the_last_bit_what_the_simulator_says(problem, seed):
    """First come, first served; by priority; as planned, a plan per placement; in every model of transfers, Sends and memory."""
    placed = [problems.placement(Random(seed + i).randint, problem) for i in range(4)]
    devices = np.array([placement.device for placement in placed])
    assert makespans(problem, devices).tolist() == [pl.simulate(problem, p, "fifo").makespan for p in placed]
    order = pl.Order("priority", rounded(pl.upward_rank(problem)))
    times = [times_under(placement, order) for placement in placed]
    assert makespans(problem, devices, order).tolist() == [finish.max() for _, finish in times]
    plans = [planned_order(start, finish) for start, finish in times]
    alone = [pl.simulate(problem, pl.Placement(problem, *both), "planned") for both in zip(devices, plans, strict=True)]
    assert makespans(problem, devices, sequences=plans).tolist() == [schedule.makespan for schedule in alone]


def test_neither_the_number_of_threads_nor_the_compiler_matters(monkeypatch):
    """One thread, five, and plain Python."""
    problem = pl.Problem(pl.generators.layered(40, seed=1), pl.Cluster.uniform(4), transfers="channel")
    devices = np.random.default_rng(0).integers(0, 4, (23, 40))
    one = makespans(problem, devices).tolist()
    monkeypatch.setattr(batches, "ENOUGH", 1)
    monkeypatch.setattr(batches, "cores", lambda: 5)
    assert makespans(problem, devices).tolist() == one
    monkeypatch.setenv("PLACELAB_JIT", "0")
    assert makespans(problem, devices).tolist() == one and len(set(one)) > 1


def test_a_plan_against_the_edges_never_ends():
    """It is NaN; the plans beside it are as ever."""
    devices = [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    plans = [[0, 1, 2], [1, 0, 2], [1, 2, 0]]
    assert makespans(PROBLEM, devices, sequences=plans).tolist()[::2] == [6.0, 10.0]
    assert np.isnan(makespans(PROBLEM, devices, sequences=plans)[1])
    assert len(makespans(PROBLEM, np.empty((0, 3), int))) == 0


@pytest.mark.parametrize(
    ("devices", "plans", "error", "words"),
    [
        ([[0, 2, 0]], None, pl.FormatError, "op 'b' is on device 2 in placement 0"),
        ([0, 0, 0], None, pl.FormatError, r"shape \(3,\); expected whole numbers of shape \(placements, 3\)"),
        ([[0.5, 0, 0]], None, pl.FormatError, "whole numbers"),
        ([[0, 0, 0], [0, 0, 1]], None, pl.InfeasibleError, "placement 1: op 'c' is not on the device of 'a'"),
        ([[0, 0, 0]], [[0, 0, 1]], pl.FormatError, "sequence 0 must name each of the 3 ops once"),
        ([[0, 0, 0]], [[0, 1, 2]] * 2, pl.FormatError, "2 sequences for 1 placements"),
    ],
)
def test_what_is_no_placement_is_refused(devices, plans, error, words):
    """The message names the placement; the kernel itself does not look where it writes."""
    with pytest.raises(error, match=words):
        makespans(PROBLEM, devices, sequences=plans)


def test_an_op_where_it_may_not_run_is_refused():
    """A pin holds for every placement."""
    with pytest.raises(pl.InfeasibleError, match="placement 0: op 'b' is on 'dev1', but may only run on dev0"):
        makespans(PROBLEM.pin({"b": 0}), [[0, 1, 0]])
    with pytest.raises(pl.FormatError, match="the order has 2 numbers; expected one for each of 3 ops"):
        makespans(PROBLEM, [[0, 0, 0]], pl.Order("priority", np.zeros(2)))
    with pytest.raises(pl.FormatError, match="not both"):
        makespans(PROBLEM, [[0, 0, 0]], pl.Order("fifo"), sequences=[[0, 1, 2]])

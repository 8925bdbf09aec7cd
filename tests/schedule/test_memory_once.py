"""Memory curves are computed only where they are needed: not where nothing that comes to a device could fill it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from problems import placed

import placelab as pl
from placelab.planning.memory_plan import can_bind
from placelab.schedule import schedule as schedules
from placelab.schedule.schedule import most_held


@pytest.mark.parametrize("partitioner", ["heft", "m-etf"])
def test_a_move_computes_the_curves_once(partitioner, monkeypatch):
    """The planner's check needs none, although no device could hold everything; the run's are computed on demand."""
    calls = []
    curves = schedules.curves
    monkeypatch.setattr(schedules, "curves", lambda schedule: (calls.append(schedule), curves(schedule))[1])
    graph = pl.generators.fork_join(8, stages=3, seed=1)
    room = 0.9 * (graph.tensor_bytes.sum() + graph.persistent.sum())
    problem = pl.Problem(graph, pl.Cluster.uniform(4, memory=room, latency=0.0), memory="dynamic")
    schedule = pl.solve(problem, partitioner)
    assert can_bind(problem) and (most_held(schedule) < room).all()
    assert not calls
    assert not len(schedule.oom) and (schedule.peak_memory > 0).any()
    assert calls == [schedule]


@given(placed())
def test_the_bound_is_one(placement):
    """No device ever holds more, in any memory model, up to rounding; so no span out of memory is missed."""
    schedule = pl.simulate(placement.problem, placement, "fifo")
    if placement.problem.memory != "none":
        assert (schedule.peak_memory <= most_held(schedule) * (1 + 1e-12)).all()
        short = np.unique(schedule.oom["device"])
        over = np.flatnonzero(schedule.peak_memory > placement.problem.cluster.memory * (1 + 1e-9))
        assert short.tolist() == over.tolist()


def test_memory_curves_of_a_plan_that_runs_as_planned_are_computed_once(monkeypatch):
    """HEFT's plan is checked for memory, then simulated: the same curves; those of a longer run are its own."""
    made = []
    monkeypatch.setattr(
        schedules, "_curves", lambda schedule, curves=schedules._curves: made.append(schedule) or curves(schedule)
    )
    graph = pl.load("convolutional_network")
    graph = graph.replace(compute=graph.compute / 7)  # whole in no unit: planned in seconds
    problem = pl.Problem(graph, pl.clusters.pcie_box(4).replace(memory=60e6), memory="dynamic")
    schedule = pl.solve(problem, "heft", "planned")
    peaks = schedule.peak_memory
    assert [one.scheduler for one in made] == ["plan"]
    monkeypatch.setattr(schedules, "_last", None)
    assert pl.solve(problem, "heft", "planned").peak_memory.tobytes() == peaks.tobytes()
    assert pl.solve(problem, "heft", "fifo").memory(0)[0].tolist() != schedule.memory(0)[0].tolist()

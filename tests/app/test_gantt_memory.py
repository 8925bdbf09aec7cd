"""The chart receives memory curves only while it shows them."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl
from placelab.app.widgets import gantt_chart
from placelab.app.widgets.gantt_chart import Gantt, memory_matters
from placelab.app.widgets.gantt_wire import pack_memory


def scheduled(memory: float, model: str = "dynamic", n_ops: int = 60) -> pl.Schedule:
    """A layered graph, ops assigned in turn to two devices with this much memory."""
    graph = pl.generators.layered(n_ops, seed=0)
    problem = pl.Problem(graph, pl.Cluster.uniform(2, memory=memory), memory=model)
    return pl.simulate(problem, pl.Placement(problem, np.arange(n_ops) % 2), "fifo")


PEAK = scheduled(np.inf, "none").peak_memory.max()


@pytest.mark.parametrize(
    ("memory", "model", "shown"),
    [
        (0.5 * PEAK, "dynamic", True),
        (1.5 * PEAK, "dynamic", True),
        (3 * PEAK, "dynamic", False),
        (0.5 * PEAK, "none", False),
    ],
    ids=["short", "scarce", "plenty", "not counted"],
)
def test_lanes_appear_when_memory_gets_scarce(memory, model, shown):
    """Lanes appear at a shortage or above half of the capacity; only then are curves sent."""
    schedule = scheduled(memory, model)
    chart = Gantt.of(schedule)
    assert chart.memory_shown == memory_matters(schedule) == shown
    assert chart.memory == pack_memory(schedule, curves=shown)


def test_a_choice_of_lanes_is_kept():
    """A choice by button or cell stays for later schedules; without one, lanes that appeared stay."""
    chart = Gantt.of(scheduled(3 * PEAK))
    chart.show(scheduled(0.5 * PEAK))
    assert chart.memory_shown
    chart.memory_shown = False
    short = scheduled(0.4 * PEAK)
    chart.show(short)
    assert not chart.memory_shown and chart.memory == pack_memory(short, curves=False)
    chart.memory_shown = True
    assert chart.memory == pack_memory(short)
    plenty = scheduled(3 * PEAK)
    chart.show(plenty)
    assert chart.memory_shown and chart.memory == pack_memory(plenty)
    assert Gantt(memory_shown=True).memory_shown


def test_lanes_that_appeared_go_with_what_made_them_appear():
    """After an undo the schedule decides anew; lanes that somebody chose stay."""
    chart = Gantt.of(scheduled(3 * PEAK))
    for chosen in (False, True):
        chart.show(scheduled(0.5 * PEAK))
        if chosen:
            chart.memory_shown = False
            chart.memory_shown = True
        chart.undo_lanes()
        chart.show(scheduled(3 * PEAK))
        assert chart.memory_shown == chosen


def test_a_dragging_hand_waits_for_no_curve(monkeypatch):
    """During a drag of a large graph, curves that only the lanes need are omitted until release, and no lane appears."""
    monkeypatch.setattr(gantt_chart, "MANY", 50)
    free = scheduled(np.inf, "none")
    chart = Gantt.of(free, memory_shown=True)
    assert chart.memory == pack_memory(free)
    chart.show(free, dragging=True)
    assert chart.memory == pack_memory(free, curves=False)
    chart.settle()
    assert chart.memory == pack_memory(free)
    chart = Gantt.of(scheduled(3 * PEAK))
    short = scheduled(0.5 * PEAK)
    chart.show(short, dragging=True)
    assert not chart.memory_shown
    chart.settle()
    assert chart.memory_shown and chart.memory == pack_memory(short)

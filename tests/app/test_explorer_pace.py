"""A moving hand: the rate of pictures, of strategies that take their time, and what many drags leave behind."""

from __future__ import annotations

import gc
import time

import numpy as np
import psutil
import pytest
from explorer_hands import CLUSTER, edit, pick, release

import placelab as pl
from placelab.app.explorer import Explorer, computation
from placelab.app.explorer.engine.curve import Curve
from placelab.app.explorer.engine.solving import RunningCall, TimedSolver
from placelab.app.explorer.panels.comparison import Comparison
from placelab.app.explorer.session import STEPS
from placelab.app.explorer.state import initial_state
from placelab.kernels import jit


@pytest.fixture
def explorer(monkeypatch):
    """A small graph on two hosts, nothing else computed beside it."""
    monkeypatch.setattr(Comparison, "show", lambda *args: None)
    monkeypatch.setattr(Curve, "follow", lambda *args: None)
    opened = pl.explore(pl.generators.layered(60, seed=3), CLUSTER)
    assert opened.schedule
    yield opened
    opened.close()


def move(explorer: Explorer, value: float) -> None:
    """A step of one drag of the link between the first two devices."""
    edit(explorer, "bandwidth", pairs=[[0, 1], [1, 0]], value=value, gesture=7, final=False)


def test_a_move_takes_four_messages(explorer, monkeypatch):
    """Which state is the newest, its schedule, its numbers, and that the move is answered: each message costs the page time."""
    sent: list[list[str]] = []
    monkeypatch.setattr(computation, "PATIENCE", 30.0)  # also where the machine is busy, the answer comes last
    monkeypatch.setattr(explorer, "_send", lambda message, buffers=None: sent.append([*message["state"]]))
    for value in (3e9, 4e9):
        sent.clear()  # the first sends more, which stays as it is from then on
        move(explorer, value)
        assert explorer.settled(30)
    asked, now, schedule, numbers, answer = sent  # the page itself has sent the first
    assert asked == [f"{explorer.canvas.model_id}.edit"]
    assert now == ["now"] and f"{explorer.canvas.model_id}.ack" in answer
    assert f"{explorer.gantt.model_id}.result_of" in schedule
    assert f"{explorer.gantt.model_id}.numbers" in numbers
    assert f"{explorer.numbers.figures.model_id}.items" in numbers


def seconds_of_a_picture(explorer: Explorer, n: int) -> float:
    """Mean seconds from a change to its picture, nothing moving."""
    begun = time.monotonic()
    for i in range(n):
        edit(explorer, "bandwidth", pairs=[[0, 1], [1, 0]], value=2e9 + 1e6 * i, gesture=8 + i, final=True)
        assert explorer.settled(30)
    return (time.monotonic() - begun) / n


@pytest.mark.slow
@pytest.mark.parametrize("took", [0.07, 0.3, 1.5])
def test_a_hand_sees_four_fifths_of_the_pictures_that_a_strategy_could_give(explorer, took):
    """Messages follow each other as fast as they are acknowledged; the newest value wins, and the last one is shown.

    What the strategy could give is measured beside it: pictures one after the other, each waited for.
    """
    placed: list[float] = []

    @pl.partitioner
    def steady(problem: pl.Problem) -> pl.Placement:
        placed.append(float(problem.cluster.bandwidth[0, 1]))
        time.sleep(took)
        return pl.Placement(problem, np.arange(problem.graph.n_ops) % 4)

    pick(explorer, "Partitioner", "steady")
    assert explorer.schedule and explorer.settled(30)
    alone = seconds_of_a_picture(explorer, 10 if took < 0.2 else 2)
    placed.clear()
    shown: list[float] = []
    explorer.gantt.observe(lambda _: shown.append(time.monotonic()), "schedule")
    begun = time.monotonic()
    sent = []
    value = 1e9
    while time.monotonic() - begun < 6 * max(took, 0.5) + 0.1:
        value += 1e6
        before = time.monotonic()
        move(explorer, value)
        sent.append((value, time.monotonic() - before))
    assert len(shown) >= 0.8 * (time.monotonic() - begun) / alone - 1
    assert np.median([waited for _, waited in sent]) < 0.25  # the browser's other messages do not wait
    values = [sent_value for sent_value, _ in sent]
    assert set(placed) <= set(values) and placed == sorted(set(placed))  # no queue: each a newer one
    release(explorer)
    assert explorer.schedule.problem.cluster.bandwidth[0, 1] == value


def test_a_call_that_loads_kernels_is_not_measured(monkeypatch):
    """Its time says nothing about the next ones, so a hand is followed after it."""
    loaded = iter([1, 2, 2, 2])
    monkeypatch.setattr(jit, "ready", lambda: next(loaded))
    state = initial_state(pl.generators.fork_join(3), CLUSTER)
    solver = TimedSolver()
    try:
        for known in (False, True):
            search = RunningCall(state.partitioner, lambda elapsed: False, 0.0)
            assert solver.solve(state, state.problem(), search, search.stop, preview=False, dragging=False)
            assert ("takes" in solver.delay(state)) == known
    finally:
        solver.close()


@pytest.mark.slow
def test_memory_does_not_grow_with_drags():
    """A thousand drags keep nothing but the steps of undo: objects and resident memory stay within a tenth."""
    explorer = pl.explore(pl.generators.layered(1000, seed=3), CLUSTER)
    assert explorer.schedule

    def drags(n: int) -> tuple[int, int]:
        for i in range(n):
            for value in range(3):
                move(explorer, 1e9 + 1e7 * (i % 50) + value)
            release(explorer)
        assert explorer.settled(60)
        gc.collect()
        return len(gc.get_objects()), psutil.Process().memory_info().rss

    before = drags(STEPS + 50)
    after = drags(1000)
    assert all(0.9 * x <= y <= 1.1 * x for x, y in zip(before, after, strict=True)), (before, after)
    explorer.close()

"""Strategies that loop, sleep, exit or crash: the explorer leaves them within a second, and goes on."""

from __future__ import annotations

import linecache
import os
import sys
import threading
import time
from collections.abc import Callable
from traceback import walk_stack

import numpy as np
import pytest
from explorer_hands import CLUSTER, drag, edit, look, message, pick, shown, wait_for

import placelab as pl
from placelab.app.explorer import Explorer, readable
from placelab.app.explorer.offered import Model
from placelab.app.explorer.panels.comparison import Comparison
from placelab.base import leaving
from placelab.base.errors import PlacelabError
from placelab.base.threads import PREFIX

SECOND = 5.0  # for each way out, of which a busy machine takes half a second; whatever is not left has no end


@pytest.fixture(autouse=True)
def ended_soon(monkeypatch):
    """What is left is ended, and ended again, after a fraction of the usual time, in which a loop keeps a core busy."""
    monkeypatch.setattr(leaving, "GRACE", leaving.GRACE / 5)
    monkeypatch.setattr(leaving, "AGAIN", leaving.AGAIN / 5)


@pytest.fixture
def explorer(ended_soon, monkeypatch):
    """A small graph on two hosts, nothing compared beside it, which would run into the same loops."""
    monkeypatch.setattr(Comparison, "show", lambda *args: None)
    opened = pl.explore(pl.generators.layered(60, seed=3), CLUSTER)
    assert opened.schedule
    yield opened
    opened.close()
    morning.set()
    wait_for(lambda: not looping())
    morning.clear()


def looping() -> list[threading.Thread]:
    """Threads of calls that run a function of this file."""
    frames = sys._current_frames()
    threads = [t for t in threading.enumerate() if t.name == f"{PREFIX}calls" and t.ident in frames]
    return [t for t in threads if any(f.f_code.co_filename == __file__ for f, _ in walk_stack(frames[t.ident]))]


morning = threading.Event()


def endless() -> None:
    """Catch what ends it, once."""
    try:
        while True:
            pass
    except BaseException:
        while True:
            pass


def napping() -> None:
    """Sleep for longer than any test, and end with it.

    While an exception waits for a thread that sleeps, Python 3.11 stands still in each other thread that has a profiler.
    """
    morning.wait(1000)


@pytest.fixture(params=["partitioner", "scheduler", "preparation"])
def hang(request) -> Callable[[Explorer, Callable[[], None]], None]:
    """Pick a strategy that calls a function and never ends."""

    def choose(explorer: Explorer, never_ends: Callable[[], None]) -> None:
        begun = threading.Event()

        def stay() -> None:
            begun.set()
            never_ends()

        if request.param == "partitioner":

            @pl.partitioner(name="hangs")
            def partitioner(problem: pl.Problem) -> pl.Placement:
                stay()
                raise AssertionError

            pick(explorer, "Partitioner", "hangs")
        elif request.param == "scheduler":

            @pl.scheduler(name="hangs")
            def scheduler(state, device, ready):
                stay()

            pick(explorer, "Scheduler", "hangs")
        else:

            @pl.transforms.transform(name="hangs")
            def transform(problem: pl.Problem):
                stay()

            explorer.change(lambda s: s.__class__(**{**vars(s), "prepare": ("hangs",)}))
        assert begun.wait(10)

    return choose


def newest(explorer: Explorer) -> None:
    """The result of the newest state comes in time, and is right."""
    begun = time.monotonic()
    wait_for(lambda: explorer.result.schedule.problem is explorer.problem and not explorer.gantt.stale)
    assert time.monotonic() - begun < SECOND
    state = explorer.state
    expected = pl.solve(explorer.problem, state.partitioner, state.scheduler)
    assert np.array_equal(explorer.schedule.start, expected.start)


@pytest.mark.parametrize("never_ends", [endless, napping])
def test_stop_ends_it(explorer, hang, never_ends):
    """The message shows the time it takes and why, and a button; the chart before stays; it can be run again."""
    hang(explorer, never_ends)
    line = explorer.line
    wait_for(lambda: shown(line.running) and "code of your own" in line.running.said)
    begun = time.monotonic()
    line.running.obey({"kind": "stop"})
    wait_for(lambda: "stopped by hand after" in message(explorer))
    assert time.monotonic() - begun < SECOND and not shown(line.running) and shown(line.again)
    with pytest.raises(PlacelabError, match="without a result"):
        _ = explorer.schedule
    explorer.undo()
    newest(explorer)
    assert message(explorer) == "" and not shown(line.again)


def test_calls_that_run_on_hold_up_no_other_model(explorer):
    """As many as may run on have been left, of the same strategies; another model does not wait for their end."""
    begun = []

    @pl.partitioner
    def naps(problem: pl.Problem) -> pl.Placement:
        if problem.graph.n_ops == 60:
            begun.append(problem)
            napping()
        return pl.place(problem, "heft")

    pick(explorer, "Partitioner", "naps")
    for seed in range(1, leaving.MAX_ABANDONED + 1):
        wait_for(lambda: len(begun) == seed)  # noqa: B023
        pick(explorer, "Seed", seed)
    explorer.change(lambda state: state.with_model(Model("other", pl.generators.layered(50, seed=3))))
    newest(explorer)


def test_its_text_does_not_wait_for_ever(explorer, monkeypatch):
    """Whoever prints a traceback asks for it; it says that there is no schedule yet, and that of the next one is whole."""
    monkeypatch.setattr(readable, "PATIENT", 0.1)

    @pl.partitioner
    def sleeps(problem: pl.Problem) -> pl.Placement:
        morning.wait(1000)
        raise AssertionError

    pick(explorer, "Partitioner", "sleeps")
    assert repr(explorer).endswith(" sleeps + planned: still computing)")
    explorer.undo()
    newest(explorer)
    monkeypatch.undo()
    assert "computing" not in repr(explorer) and explorer.problem.cluster.units.time(
        explorer.schedule.makespan
    ) in repr(explorer)


@pytest.mark.parametrize("never_ends", [endless, napping])
def test_another_choice_ends_it(explorer, hang, never_ends):
    """Going back to HEFT and FIFO does not wait."""
    hang(explorer, never_ends)
    explorer.change(lambda s: s.__class__(**{**vars(s), "partitioner": "heft", "scheduler": "fifo", "prepare": ()}))
    newest(explorer)


@pytest.mark.slow
def test_another_cluster_ends_it(explorer):
    """The loop is entered for one bandwidth only; the next value is followed, in a drag and by an edit."""

    @pl.partitioner
    def picky(problem: pl.Problem) -> pl.Placement:
        if problem.cluster.bandwidth[0, 1] == 1e9:
            endless()
        return pl.place(problem, "heft")

    pick(explorer, "Partitioner", "picky")
    newest(explorer)
    edit(explorer, "bandwidth", pairs=[[0, 1], [1, 0]], value=1e9)
    time.sleep(0.3)
    edit(explorer, "bandwidth", pairs=[[0, 1], [1, 0]], value=2e9)
    newest(explorer)
    drag(explorer, 1e9, release=False)
    time.sleep(2.0)  # what keeps up is given as long
    drag(explorer, 3e9)
    newest(explorer)
    assert explorer.schedule.problem.cluster.bandwidth[0, 1] == 3e9


def test_a_new_definition_ends_it(explorer):
    """When the cell of the strategy is run again, the new version is used."""

    @pl.partitioner(name="mine")
    def first(problem: pl.Problem) -> pl.Placement:
        endless()
        raise AssertionError

    look(explorer)
    pick(explorer, "Partitioner", "mine")
    wait_for(looping)

    @pl.partitioner(name="mine")
    def second(problem: pl.Problem) -> pl.Placement:
        return pl.Placement(problem, np.full(problem.graph.n_ops, 3))

    begun = time.monotonic()
    assert (explorer.schedule.device == 3).all() and time.monotonic() - begun < SECOND


@pytest.mark.parametrize("way", ["close", "leave"])
def test_an_explorer_that_is_gone_ends_it(monkeypatch, way):
    """Closing it, or leaving it because nobody sees it, ends the loop; one that is seen again begins anew."""
    monkeypatch.setattr(Comparison, "show", lambda *args: None)
    explorer = pl.explore(pl.generators.layered(60, seed=3), CLUSTER)
    begun = []

    @pl.partitioner
    def endless_one(problem: pl.Problem) -> pl.Placement:
        begun.append(problem)
        endless()
        raise AssertionError

    pick(explorer, "Partitioner", "endless-one")
    wait_for(lambda: begun and looping())
    explorer.close() if way == "close" else explorer._computation.leave()
    wait_for(lambda: not looping())
    time.sleep(0.3)
    assert len(begun) == 1
    if way == "leave":
        explorer._computation.wake()
        wait_for(lambda: len(begun) == 2)
        explorer.close()
        wait_for(lambda: not looping())


@pytest.mark.slow
def test_the_curve_of_a_drag_ends_it(explorer):
    """A strategy that loops for other values than the hand's is left, and the drag goes on."""
    mine = {CLUSTER.bandwidth[0, 1], 1e9, 2e9}

    @pl.partitioner
    def picky(problem: pl.Problem) -> pl.Placement:
        if problem.cluster.bandwidth[0, 1] not in mine:
            endless()
        return pl.place(problem, "heft")

    pick(explorer, "Partitioner", "picky")
    newest(explorer)
    drag(explorer, 1e9, release=False)
    wait_for(looping)
    wait_for(lambda: not looping())
    drag(explorer, 2e9)
    newest(explorer)


def exits() -> None:
    sys.exit("and out")


def interrupts() -> None:
    raise KeyboardInterrupt


def recurses() -> None:
    recurses()


def mute() -> None:
    class Mute(AttributeError):
        def __str__(self) -> str:
            raise ValueError

    raise Mute


def rambles() -> None:
    raise RuntimeError("a\nb " + "<x>" * 100_000)


@pytest.mark.parametrize("bug", [exits, interrupts, recurses, mute, rambles])
def test_a_crash_is_one_sentence_and_the_traceback_opens(explorer, bug):
    """From the user's first line on, as text; the explorer goes on, also after an exit."""

    @pl.partitioner
    def broken(problem: pl.Problem) -> pl.Placement:
        bug()
        raise AssertionError

    pick(explorer, "Partitioner", "broken")
    wait_for(lambda: "broken + " in message(explorer))
    failure = explorer.failure_panel.said.failure
    sentence = failure["sentence"]
    if bug is not mute:
        assert failure["place"] == f"in {bug.__name__}, test_explorer_left.py"
        assert [failing for *_, failing in failure["lines"]].count(True) == 1  # the line that failed
    assert f"of {bug.__name__}" in sentence and "\n" not in sentence and len(sentence) < 7_000
    trace = explorer._computation.failure.traceback
    assert (trace.startswith("  File") and "in broken" in trace.splitlines()[0]) or bug is rambles
    assert failure["traceback"] == trace and len(trace) < 70_000
    if bug is exits:
        assert "bug()" in trace and trace.rstrip().endswith("SystemExit: and out")
    with pytest.raises((PlacelabError, RecursionError, RuntimeError, AttributeError)):  # never an exit
        _ = explorer.schedule
    pick(explorer, "Partitioner", "mite")
    newest(explorer)
    assert message(explorer) == ""


def test_errors_of_placelab_show_no_traceback_of_its_own(explorer):
    """One that a user's line has raised has that line; one of placelab's own strategies has none."""

    @pl.partitioner
    def asks(problem: pl.Problem) -> pl.Placement:
        return pl.place(problem, "hefty")

    pick(explorer, "Partitioner", "asks")
    wait_for(lambda: "no partitioner is called" in message(explorer))
    assert "in asks" in explorer._computation.failure.traceback
    explorer.undo()
    explorer.change(lambda s: s.with_cluster(s.cluster.replace(memory=1.0), s.layout))
    with pytest.raises(pl.InfeasibleError):
        _ = explorer.schedule
    assert explorer._computation.failure.traceback == ""


def test_the_page_learns_which_cell_has_failed(explorer):
    """Text and line of a strategy's cell, by the file name that ipykernel gives it; nothing once there is a result again."""
    source = "@pl.partitioner\ndef of_a_cell(problem):\n    return {}['key']\n"
    name = os.path.join(os.sep, "x", "ipykernel_7", "1.py")
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), {"pl": pl, "__name__": "__main__"})
    explorer.change(lambda state: state.with_strategy("partitioner", "of-a-cell"))
    assert explorer.settled(60)
    assert explorer.actions.frame.failing == {"source": source, "line": 3}
    assert explorer.failure_panel.said.failure["cell"]
    explorer.undo()
    assert explorer.settled(60) and explorer.actions.frame.failing == {}

"""The chip of the best known schedule: what it says, what it shows, and its search in the background."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator

import pytest
from explorer_hands import figures, look, pick, reproduces, wait_for

import placelab as pl
from placelab.app.explorer import Explorer
from placelab.app.explorer.panels import known_best
from placelab.app.explorer.panels.known_best import with_schedule
from placelab.base import threads
from placelab.base.errors import PlacelabError


@pytest.fixture
def explorer(monkeypatch) -> Iterator[Explorer]:
    """The ten tasks under HEFT; a search begins at once where it is switched on."""
    monkeypatch.setattr(known_best, "REST", 0.02)
    pl.schedule.known_schedules.clear()
    explorer = pl.explore("topcuoglu")
    explorer.best_known.switch.value = False
    explorer.comparison.halt()
    look(explorer)
    assert explorer.settled(60)
    yield explorer
    explorer.close()


def test_a_search_in_the_background_finds_a_shorter_one_and_a_click_shows_it(explorer):
    """From 80 to the optimum, 73, which a click shows as a step of the history, legal, and as the copied cell makes it."""
    chip = explorer.best_known
    assert not chip.box.hidden and chip.chip.disabled and chip.chip.description.startswith("★ best known")
    chip.switch.value = True
    wait_for(lambda: chip.chip.description.startswith("★ 73 best known"))
    chip.switch.value = False
    assert chip.settled(60)
    assert explorer.schedule.makespan == 80 and not chip.chip.disabled
    assert chip.par.said.startswith("proven ≥ ") and "best known 73, shown 80" in chip.par.said
    assert chip.par.bound <= chip.par.best == 73 < chip.par.shown
    chip.chip.click()
    assert explorer.schedule.makespan == 73 and pl.validate(explorer.schedule) == []
    assert explorer.pickers.partitioner.value == "best known" and reproduces(explorer)
    wait_for(lambda: chip.chip.disabled)
    explorer.undo()
    assert explorer.schedule.makespan == 80 and explorer.pickers.partitioner.value == "heft"


def test_a_search_that_is_switched_off_ends(explorer):
    """What was found stays known; nothing more is looked for."""
    chip = explorer.best_known
    chip.switch.value = True
    wait_for(lambda: pl.best_known(explorer.problem).makespan < 80)
    chip.switch.value = False
    assert chip.settled(60) and "pl-searching" not in chip.switch.classes
    pick(explorer, "Partitioner", "cpop")
    assert chip.settled(60) and explorer.schedule.makespan == 86


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no priority of its own")
def test_a_search_has_the_priority_of_what_it_would_hold_up(explorer, monkeypatch):
    """Of a lower one it would wait for a core with Python's lock in hand, for seconds on a busy machine; a core stays free."""
    found: list[tuple[int, int]] = []

    def look(*_, **__):
        found.append((os.getpriority(os.PRIO_PROCESS, threading.get_native_id()), threads.cores()))
        raise PlacelabError

    monkeypatch.setattr(known_best, "improve_known", look)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    explorer.best_known.switch.value = True
    wait_for(lambda: found)
    assert found[0] == (os.getpriority(os.PRIO_PROCESS, 0), 3)


def test_a_search_waits_while_a_hand_holds_an_op(explorer):
    """Off the drag path: it begins only once the op is set."""
    explorer.gantt.by_hand = True
    assert explorer.settled(60)
    explorer.gantt.hold = dict(kind="hold", grip=1, op=5, device=0, time=41.0)
    explorer.best_known.switch.value = True
    assert not explorer.best_known.settled(0.3) and "pl-searching" not in explorer.best_known.switch.classes
    explorer.gantt.obey(dict(kind="set", grip=1, op=5))
    wait_for(lambda: explorer.best_known.chip.description.startswith("★ 73"))


@pytest.mark.parametrize("pair", [("heft", "planned"), ("hash", "fifo"), ("m-etf", "pct"), ("etf", "random")])
def test_any_schedule_can_be_shown(explorer, pair):
    """As its plan, or where the replay takes longer as its strategies; never longer than it is known."""
    schedule = pl.solve(explorer.problem, *pair)
    explorer.change(lambda state: with_schedule(state, schedule))
    assert explorer.schedule.makespan == schedule.makespan


def test_the_order_of_a_pipeline_is_named():
    """A plan of 1F1B is recognised in the row of numbers, whoever made it."""
    problem = pl.generators.pipeline_training(1.0, 2.0, microbatches=4, stages=3)
    explorer = pl.explore(problem, partitioner="hash", scheduler="1f1b")
    look(explorer)
    assert explorer.settled(60)
    wait_for(lambda: "1F1B" in figures(explorer))
    explorer.gantt.by_hand = True
    assert explorer.settled(60) and explorer.state.own_plan is not None
    wait_for(lambda: "1F1B" in figures(explorer))
    explorer.close()


def test_nothing_is_looked_for_behind_an_optimum():
    """The chip says so, and the switch goes."""
    chain = pl.OpGraph.from_arrays(["a", "b"], [1.0, 2.0], [(0, 1)], edge_bytes=1.0)
    explorer = pl.explore(pl.Problem(chain, pl.Cluster([1.0, 1.0])))
    explorer.shared.prove(explorer.problem, 3.0)
    assert explorer.schedule.makespan == 3.0 and explorer.settled(60)
    wait_for(lambda: "optimal" in explorer.best_known.chip.description and explorer.best_known.switch.hidden)
    explorer.close()


def test_a_gap_is_said_from_a_tenth_of_a_percent_on():
    """Below that, what is proven is said as the tenth that it is within."""
    said = [known_best._far(best, 1.0) for best in (1.0, 1.0003, 1.29)]
    assert said == ["optimal", "within 0.1 % of what is possible", "within 29 % of what is possible"]

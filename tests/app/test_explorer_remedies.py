"""What the panel over the chart offers when a problem is infeasible."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from explorer_hands import press, shown, wait_for

import placelab as pl
from placelab.app.explorer.engine import remedies
from placelab.app.explorer.engine.remedies import (
    EXACT,
    LONG,
    MEMORY,
    PLENTY,
    RECOMPUTE,
    ROUGH,
    STRATEGY,
    Remedies,
    Remedy,
    RemedySearch,
    in_turn,
    least_memory,
    more_memory,
    remedies_of,
)
from placelab.app.explorer.jobs import with_job
from placelab.app.explorer.offered import PIPELINE, Job
from placelab.app.explorer.panels.comparison import Comparison
from placelab.app.explorer.state import initial_state
from placelab.schedule import catalogue as strategies
from placelab.strategies import placing

# HEFT puts a where it is fastest, and b must follow, for which there is no room.
TRAP = pl.OpGraph.from_arrays(
    ["a", "b"], [1e9, 1e9], [(0, 1)], persistent=[1e9, 0], temporary=[0, 6e9], groups=[[0, 1]], group_names=["<pair>"]
)
CLUSTER = pl.Cluster([2e12, 1e12], memory=[5e9, 8e9], names=["fast", "large"])


def not_instead(problem: pl.Problem, name: str, error: pl.InfeasibleError, **rest: object) -> pl.Placement:
    """As on a problem on which the depth-first plan is stuck, too."""
    raise error


@pytest.fixture
def explorer(monkeypatch):
    """The trap, few strategies beside HEFT, and no plan that stands in where one is stuck: on two ops there would be one."""
    monkeypatch.setattr(placing, "instead", not_instead)
    few = ("heft", "single", "m-etf", "round-robin", "cp-sat")
    monkeypatch.setattr(strategies, "_partitioners", {name: strategies._partitioners[name] for name in few})
    monkeypatch.setattr(Comparison, "show", lambda *args: None)
    opened = pl.explore(pl.Problem(TRAP, CLUSTER, memory="dynamic"))
    yield opened
    opened.close()


def offers(explorer) -> list[str]:
    """Texts of the buttons that were found."""
    return [place.description for place in explorer.rejection.offers.children if not place.disabled]


def places_of(explorer) -> list[str]:
    """Texts of all places, in their order."""
    return [place.description for place in explorer.rejection.offers.children]


def test_what_would_work_is_one_click_away(explorer):
    """The true reason, and strategies that place it; a click shows one."""
    wait_for(lambda: shown(explorer.rejection.box))
    assert "heft has already fixed colocation group &#x27;&lt;pair&gt;&#x27; on fast" in explorer.rejection.text.value
    assert "where op &#x27;b&#x27; has no room" in explorer.rejection.text.value
    assert explorer.rejection.settled(60)
    found = [name for name in strategies.partitioners() if name != "cp-sat" and places(explorer.problem, name)]
    assert found and [text.split()[0] for text in offers(explorer)[1:]] == found
    press(explorer.rejection.box, offers(explorer)[1])
    assert explorer.state.partitioner == found[0] and explorer.schedule and not shown(explorer.rejection.box)


def places(problem: pl.Problem, name: str) -> bool:
    """Whether a strategy places a problem within memory."""
    try:
        return not len(pl.solve(problem, name).oom)
    except pl.InfeasibleError:
        return False


def test_undo_is_offered_where_there_is_something_to_undo(explorer):
    """Of a problem that was given as it is there is not; after a change there is, and it leads back."""
    wait_for(lambda: shown(explorer.rejection.box))
    assert not shown(explorer.rejection.back) and not shown(explorer.failure_panel.back)
    explorer.change(lambda state: replace(state, memory="none"))
    assert explorer.schedule and shown(explorer.rejection.back)
    press(explorer.rejection.box, "Undo")
    assert explorer.state.memory == "dynamic" and not shown(explorer.rejection.back)


def test_the_least_memory_is_exact(explorer):
    """HEFT needs 7 of the 5 GB of the fast device: a factor of 1.4."""
    wait_for(lambda: shown(explorer.rejection.box) and explorer.rejection.settled(60))
    assert "Memory × 1.4" in offers(explorer)[0]
    assert explorer.rejection.offers.children[0].tooltip == (
        "Give every device 1.4 times its memory: heft then has room, or the plan that stands in where it is stuck. "
        "It is the least that was found to be enough, in trials of up to 5 s each; less may do"
    )
    press(explorer.rejection.box, offers(explorer)[0])
    assert explorer.schedule and explorer.state.partitioner == "heft"
    assert 7e9 <= explorer.state.cluster.memory[0] <= 7e9 * EXACT
    assert explorer.state.cluster.memory[1] / explorer.state.cluster.memory[0] == pytest.approx(1.6)
    explorer.undo()
    assert explorer.state.cluster.memory[0] == 5e9


@pytest.mark.slow
def test_a_pipeline_without_room_is_offered_to_compute_activations_again():
    """The offer has the makespan that a click then shows; what computes them again already is not offered it."""
    layers = pl.OpGraph.from_arrays(
        [f"l{i}" for i in range(8)],
        [1e9] * 8,
        [(i, i + 1) for i in range(7)],
        edge_bytes=[1e9] * 7,
        persistent=[1e8] * 8,
    )
    cluster = pl.Cluster([1e12] * 2, memory=[1e13] * 2, bandwidth=1e12)
    opened = pl.explore(pl.Problem(layers, cluster, memory="edges"), partitioner="heft")
    try:
        opened.change(lambda state: replace(with_job(state, Job(PIPELINE, stages=2)), memory="edges"))
        assert opened.schedule
        opened.change(lambda state: state.with_cluster(state.cluster.replace(memory=[4e8] * 2), state.layout))
        wait_for(lambda: shown(opened.rejection.box))
        assert opened.rejection.settled(60)
        (offer,) = [text for text in offers(opened) if text.startswith("Recompute: ")]
        press(opened.rejection.box, offer)
        made = opened.schedule
        assert opened.state.job.recompute and opened.state.memory == "edges" and not shown(opened.rejection.box)
        assert offer == f"Recompute: {made.problem.cluster.units.time(made.makespan)}"
        opened.change(lambda state: state.with_cluster(state.cluster.replace(memory=[1e7] * 2), state.layout))
        wait_for(lambda: shown(opened.rejection.box))
        assert opened.rejection.settled(60) and not any(text.startswith("Recompute") for text in offers(opened))
    finally:
        opened.close()


@pytest.mark.parametrize("least", [1.001, 1.4, 2.0, 2.0001, 37.0, 1e6])
def test_the_least_factor_is_within_one_percent(least):
    """From above; where the least is known to suffice, that."""
    assert least <= least_memory(lambda factor: factor >= least, PLENTY) <= least * EXACT
    assert least_memory(lambda factor: factor >= least, least) == least


def test_strategies_that_hang_or_crash_offer_nothing(explorer, monkeypatch):
    """They are left after a while, the others are offered; a result ends the search."""
    monkeypatch.setattr(remedies, "LIMIT", 1.0)

    @pl.partitioner
    def hangs(problem: pl.Problem) -> pl.Placement:
        while True:
            time.sleep(0.01)

    @pl.partitioner
    def exits(problem: pl.Problem) -> pl.Placement:
        raise SystemExit

    @pl.partitioner
    def large(problem: pl.Problem) -> pl.Placement:
        return pl.Placement(problem, np.ones(problem.graph.n_ops, int))

    explorer.change(lambda s: s.with_cluster(s.cluster.replace(memory=[4e9, 8e9]), s.layout))
    wait_for(lambda: shown(explorer.rejection.box) and any(text.startswith("large ") for text in offers(explorer)))
    assert explorer.rejection.settled(60) and not {"hangs", "exits"} & {text.split()[0] for text in offers(explorer)}
    assert "would work; a click does it" in explorer.rejection.hint.value
    assert {"hangs", "exits"} < set(places_of(explorer))  # struck out


def test_the_cheapest_are_tried_first(monkeypatch):
    """Quick strategies, a pipeline's job made anew, the long ones, capacities, then a user's own, which may take seconds."""
    monkeypatch.setattr(strategies, "_partitioners", dict(strategies._partitioners))

    @pl.partitioner
    def own(problem: pl.Problem) -> pl.Placement:
        return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))

    names = ("own", LONG[-1], LONG[0], "m-etf")
    every = Remedy(MEMORY), Remedy(RECOMPUTE), *(Remedy(STRATEGY, name) for name in names)
    problem = pl.Problem(TRAP, CLUSTER, memory="dynamic")
    state = initial_state(problem)
    called = lambda remedies: [remedy.name or remedy.kind for remedy in remedies]  # noqa: E731
    assert called(in_turn(Remedies(state, every))) == ["m-etf", RECOMPUTE, LONG[0], LONG[-1], MEMORY, "own"]
    offered = called(remedies_of(state, problem).every)
    assert offered[0] == MEMORY and offered[-1] == "own" and offered[-2] == LONG[-1] and "heft" not in offered
    assert set(LONG) < set(offered) and not any(pl.partitioners()[name].slow for name in offered[1:])


def test_what_cannot_help_is_not_offered():
    """No more memory where none is limited; more of it comes before a pipeline's job made anew, which only a pipeline has."""
    kinds = lambda state: [remedy.kind for remedy in remedies_of(state, state.problem()).every]  # noqa: E731
    layers = pl.OpGraph.from_arrays([*"abcd"], [1e9] * 4, [(0, 1), (1, 2), (2, 3)], persistent=[1e8] * 4)
    state = initial_state(pl.Problem(layers, pl.Cluster([1e12] * 2, memory=[1e13] * 2), memory="edges"))
    pipeline = with_job(state, Job(PIPELINE, stages=2))
    assert kinds(state)[:2] == [MEMORY, STRATEGY] and kinds(pipeline)[:3] == [MEMORY, RECOMPUTE, STRATEGY]
    assert RECOMPUTE not in kinds(with_job(state, Job(PIPELINE, stages=2, recompute=True)))
    unlimited = state.with_cluster(state.cluster.replace(memory=np.inf), state.layout)
    assert {*kinds(unlimited)} == {STRATEGY}


def test_the_search_tries_the_cheapest_first(monkeypatch):
    """In its own order, not in that of the places."""
    monkeypatch.setattr(remedies, "PAUSE", 0.0)
    asked: list[str] = []
    monkeypatch.setattr(remedies, "value_of", lambda remedy, *_: asked.append(remedy.name or remedy.kind))
    problem = pl.Problem(TRAP, CLUSTER, memory="dynamic")
    search = RemedySearch(lambda _: None)
    search.begin(remedies_of(initial_state(problem), problem), problem)
    assert search.settled(60)
    search.close()
    assert asked[-1] == MEMORY and asked[-1 - len(LONG) : -1] == list(LONG)


def test_each_remedy_has_its_place_from_the_start(explorer, monkeypatch):
    """What becomes of one changes that place alone: no other is made, moved or taken away, nor its words changed."""
    wait_for(lambda: shown(explorer.rejection.box) and explorer.rejection.settled(60))
    seen = []
    whole = remedies.value_of

    def watched(*arguments: object) -> float | None:
        seen.append((explorer.rejection.offers.children, places_of(explorer)))
        return whole(*arguments)

    monkeypatch.setattr(remedies, "value_of", watched)
    explorer.change(lambda s: s.with_cluster(s.cluster.replace(memory=[4e9, 8e9]), s.layout))
    wait_for(lambda: len(seen) == 4 and explorer.rejection.settled(60))
    assert seen[0][1] == ["more memory …", "single …", "m-etf …", "round-robin …"]
    steps = [*(texts for _, texts in seen), places_of(explorer)]
    for before, after in pairwise(steps):
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 1
    assert all(children == explorer.rejection.offers.children for children, _ in seen)
    assert not any("…" in text for text in places_of(explorer))


def test_the_search_has_begun_when_the_panel_is_seen(explorer):
    """Whoever waits for its end does not find that of the one before."""
    wait_for(lambda: shown(explorer.rejection.box) and explorer.rejection.settled(60))
    explorer.change(lambda state: replace(state, memory="none"))
    assert explorer.schedule and not shown(explorer.rejection.box)
    begun = []
    explorer.rejection.box.observe(lambda _: begun.append(not explorer.rejection.settled(0)), "hidden")
    explorer.undo()
    wait_for(lambda: begun)
    assert begun == [True]


def test_another_state_ends_the_search(explorer):
    """What is tried then is left, what would come next is not begun, and no place tells of it."""
    begun = []

    @pl.partitioner
    def hangs(problem: pl.Problem) -> pl.Placement:
        begun.append("hangs")
        while True:
            time.sleep(0.01)

    @pl.partitioner
    def never(problem: pl.Problem) -> pl.Placement:
        begun.append("never")
        raise AssertionError

    explorer.change(lambda s: s.with_cluster(s.cluster.replace(memory=[4e9, 8e9]), s.layout))
    wait_for(lambda: begun == ["hangs"])
    assert places_of(explorer)[-2:] == ["hangs …", "never …"]
    explorer.change(lambda state: replace(state, memory="none"))
    assert explorer.schedule and not shown(explorer.rejection.box)
    assert explorer.rejection.settled(30) and begun == ["hangs"]  # which never ends
    assert places_of(explorer)[-2:] == ["hangs …", "never …"]


def test_bounds_spare_most_of_the_search_for_more_memory(monkeypatch):
    """Another plan is looked for a few times, where HEFT alone has no room; the factor suffices, and a little less does not.

    Where that takes longer than an attempt may, HEFT's own factor stays.
    """
    graph = pl.OpGraph.from_arrays(
        [*"abcdefghijklmno"],
        [1e9] * 15,
        [(2 * i + j, 8 + i) for i in range(7) for j in (0, 1)],  # a binary reduction of eight
        edge_bytes=1e9,
    )
    state = initial_state(pl.Problem(graph, pl.Cluster([1e12, 1e12], memory=[1.5e9] * 2), memory="dynamic"))
    asked = []

    def attempt(state, problem: pl.Problem, fallback: bool = True):
        asked.append(fallback)
        try:
            schedule = pl.solve(problem, state.partitioner, state.scheduler, fallback=fallback)
        except pl.InfeasibleError:
            return None
        return None if len(schedule.oom) else SimpleNamespace(schedule=schedule)

    factor = more_memory(state, state.problem(), attempt)
    assert sum(asked) <= 8 < len(asked)
    works = lambda factor: attempt(*remedies._with_memory(state, factor)) is not None  # noqa: E731
    assert factor > 1 and works(factor) and not works(factor / ROUGH / 1.001)
    monkeypatch.setattr(remedies, "LIMIT", 0.0)
    asked.clear()
    assert more_memory(state, state.problem(), attempt) >= factor and sum(asked) <= 3 < len(asked)


def test_what_a_depth_first_plan_needs_is_asked_for_where_a_plan_stands_in(monkeypatch):
    """Not where the strategy alone has room with little more memory, which a plan that stands in has no need to beat; and no
    longer than such plans are looked for, nor once the search has ended."""
    asked: list[Callable[[], bool]] = []
    monkeypatch.setattr(remedies, "depth_first_need", lambda problem, cancel: asked.append(cancel) or np.inf)
    enough = 1.04

    def attempt(state, problem: pl.Problem, fallback: bool = True):
        if problem.cluster.memory[0] < enough * 5e9:
            return None
        return SimpleNamespace(schedule=SimpleNamespace(peak_memory=np.array([enough * 5e9, 0.0])))

    state = initial_state(pl.Problem(TRAP, CLUSTER, memory="dynamic"))
    assert enough <= more_memory(state, state.problem(), attempt) <= enough * EXACT and not asked
    enough = 3.0
    over: list[object] = []
    assert enough <= more_memory(state, state.problem(), attempt, lambda: bool(over)) <= enough * EXACT
    (cancel,) = asked
    assert not cancel()
    over.append(True)
    assert cancel()
    tried: list[object] = []
    more_memory(state, state.problem(), lambda *given, **rest: tried.append(given) or attempt(*given), lambda: True)
    assert len(tried) == 1 and len(asked) == 1


def test_what_is_found_for_a_failure_before_stays_out_of_the_next_one_s_places(explorer, monkeypatch):
    """Also of the same state, and where it comes in the very moment in which the next one is shown."""
    wait_for(lambda: shown(explorer.rejection.box) and explorer.rejection.settled(60))
    panel = explorer.rejection
    state = explorer.state
    old, new = (remedies_of(state, explorer.problem) for _ in range(2))
    panel._reserve(new)
    panel._offer(old.with_value(old.every[1], 1.0))
    assert places_of(explorer)[1] == "single …"

    class Slow(Remedies):
        """The next failure comes while it is asked what this is of."""

        @property
        def failure(self) -> object:
            threading.Thread(target=panel.show, args=(error, state, explorer.problem, False)).start()
            time.sleep(0.2)
            return new.failure

        @failure.setter
        def failure(self, value: object) -> None: ...

    error = pl.InfeasibleError("none: whatever", devices={"fast": "is too fast"})
    monkeypatch.setattr(panel._search, "begin", lambda *_: None)
    panel._offer(Slow(state, new.with_value(new.every[1], 1.0).every))
    wait_for(lambda: places_of(explorer)[1] == "single …")


def test_the_strategies_that_are_tried_last_are_those_that_take_long():
    """As measured: the quick ones of four times the median and more, by their times, two that are alike in any order."""
    table = (Path(__file__).parents[2] / "benchmarks" / "strategies.md").read_text()
    rows = re.findall(r"^\| `(.+)` \| ([\d.]+) \|$", table, re.M)
    took = {name: float(ms) for name, ms in rows}
    assert {*took} == {name for name, function in pl.partitioners().items() if not function.slow}
    usual = np.median([*took.values()])
    assert {*LONG} == {name for name, ms in took.items() if ms >= 4 * usual}
    assert all(took[after] > 0.8 * took[before] for before, after in pairwise(LONG))


def test_where_nothing_helps_the_panel_says_so(explorer, monkeypatch):
    """No strategy places it, and memory is not what lacks."""
    monkeypatch.setattr(strategies, "_partitioners", {"heft": strategies._partitioners["heft"]})

    @pl.partitioner
    def refuses(problem: pl.Problem) -> pl.Placement:
        raise pl.InfeasibleError("none of <these>: whatever", devices={"fast": "is too fast"})

    explorer.change(lambda s: s.with_strategy("partitioner", "refuses"))
    wait_for(lambda: "None of &lt;these&gt;<" in explorer.rejection.text.value)
    wait_for(lambda: "No quick strategy places it." in explorer.rejection.hint.value)
    assert offers(explorer) == []


def test_ops_that_only_together_have_no_room_are_answered_too(monkeypatch):
    """The exact solver names no op: what would work is offered as for other rejections, and what is wrong is named by device."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1e9] * 3, [(0, 1), (1, 2)], persistent=[6e9] * 3)
    problem = pl.Problem(graph, pl.Cluster([1e12] * 2, memory=[8e9] * 2), memory="dynamic")
    monkeypatch.setattr(Comparison, "show", lambda *args: None)
    opened = pl.explore(problem, partitioner="cp-sat")
    try:
        assert opened.settled(120)
        wait_for(lambda: shown(opened.rejection.box))
        assert not shown(opened.failure_panel.box)
        assert opened.rejection.settled(180)
        assert any(text.startswith("≥ 12") for text in offers(opened)), offers(opened)
        assert "stays within memory" in opened.rejection.text.value
        assert [row["cells"][0] for row in opened.rejection.devices.rows] == ["dev0, dev1"]
    finally:
        opened.close()

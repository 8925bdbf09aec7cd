"""The explorer without a browser: the same messages and widgets."""

from __future__ import annotations

import gzip
import inspect
import io
import json
import math
import re
import threading
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from explorer_hands import (
    CLUSTER,
    classes,
    drag,
    edit,
    figures,
    message,
    of_class,
    pick,
    press,
    release,
    reproduces,
    shown,
    upload,
    wait_for,
    widgets,
)

import placelab as pl
from placelab.analysis import explanation, idle_time
from placelab.app.explorer import Explorer, computation
from placelab.app.explorer.engine import curve, solving
from placelab.app.explorer.offered import preset
from placelab.app.explorer.panels.commands import suggestions
from placelab.app.explorer.panels.comparison import Comparison
from placelab.app.explorer.panels.numbers import OPTIMAL, at_most
from placelab.app.explorer.panels.options import Controls, control
from placelab.app.explorer.panels.refusals import headline, reasons
from placelab.app.explorer.session import Undoable
from placelab.app.explorer.state import initial_state
from placelab.app.widgets import controls as w
from placelab.base import units
from placelab.planning.lower_bounds import is_proven
from placelab.schedule.catalogue import Limits, transforms

# ---------------------------------------------------------------- opening and reading


def test_opens_on_a_real_model():
    """Without arguments it shows Inception-V3 on four GPUs over PCIe, under HEFT's plan."""
    explorer = pl.explore()
    assert explorer.problem.graph.n_ops == 5230 and explorer.problem.cluster.n_devices == 4
    box = pl.clusters.rtx2080ti_box(4)
    expected = pl.solve(pl.Problem(pl.load("inception_v3"), box, memory="dynamic"), "heft", "planned")
    assert explorer.schedule.makespan == expected.makespan
    assert repr(explorer) == "Explorer(inception_v3: 5,230 ops on 4 devices, heft + planned: 110 ms)"
    assert explorer.placement is explorer.schedule.placement
    explorer.close()


def test_opens_on_a_tab():
    """The tab that is named is seen; a wrong name lists the right ones, and no thread goes on."""
    explorer = pl.explore("topcuoglu", tab="Decisions")
    assert explorer.tabs.titles.value == "Decisions" and explorer.tabs.panels["Decisions"].visible
    explorer.close()
    before = {*threading.enumerate()}
    with pytest.raises(pl.UnsupportedError, match="no tab is called 'Nothing'; there are Comparison, Graph, Decisions"):
        pl.explore("topcuoglu", tab="Nothing")
    wait_for(lambda: not {*threading.enumerate()} - before)


def test_numbers_are_the_librarys(explorer):
    """The numbers above the chart are those of metrics, bounds and validate."""
    m = pl.metrics(explorer.schedule)
    wait_for(lambda: gap_of(explorer) != "…")  # it is worked out after the chart is shown
    strip = {item["key"]: item for item in explorer.gantt.numbers}
    assert strip["makespan"]["value"] == units.seconds(m["makespan"])
    assert strip["speedup"]["value"] == f"× {m['speedup']:.3g}"
    assert strip["gap"]["value"] == at_most(m["bound_gap"])
    assert strip["legal"]["value"] == "✓ legal" and not pl.validate(explorer.schedule)
    assert strip["moved"]["title"] == f"{m['transfers']:,} transfers between devices"


@pytest.mark.parametrize("memory", ["reserved", "dynamic"])
def test_a_legal_plan_that_lacks_memory_says_both(memory):
    """Of a plan by hand on a card that is too small: every other rule holds, and the fullest device needs 112 %."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1e9] * 2, [(0, 1)], edge_bytes=[1e6], persistent=[1.11e8, 0.0])
    problem = pl.Problem(graph, pl.Cluster([1e12] * 2, bandwidth=1e9, memory=1e8), memory=memory)
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1]), "fifo")
    assert not pl.validate(schedule, memory=False) and pl.validate(schedule)
    explorer = pl.explore(pl.by_hand(schedule))
    assert explorer.settled(60)
    (legal,) = (item for item in explorer.gantt.numbers if item["key"] == "legal")
    assert (legal["value"], legal["tone"]) == ("✓ legal · ✗ memory 112 %", "bad")
    assert "holds but memory" in legal["title"]
    assert "dev0 is out of memory at 0 s, 12 MB short." in explorer.numbers.warning.value
    explorer.close()


def gap_of(explorer: Explorer) -> str:
    """What the row of numbers says about the distance from the optimum."""
    return next(item["value"] for item in explorer.gantt.numbers if item["key"] == "gap")


def test_a_drag_does_not_wait_for_the_better_bound(explorer, patient):
    """While a hand drags the gap is outstanding and nothing is proven; on release it is that of the library."""
    assert explorer.schedule  # and with it the first numbers
    wait_for(lambda: gap_of(explorer) != "…")
    drag(explorer, 1e6, release=False)
    assert gap_of(explorer) == "…" and not is_proven(explorer.schedule.problem)
    release(explorer)
    gap = pl.metrics(explorer.schedule)["bound_gap"]
    wait_for(lambda: gap_of(explorer) == ("proven optimal" if gap < OPTIMAL else at_most(gap)))


def test_the_best_known_schedule_is_beside_the_makespan(explorer):
    """What the session knows of an equal problem is seen once no hand drags, unless the schedule shown is as short."""
    pick(explorer, "Partitioner", "round-robin")
    problem = explorer.schedule.problem
    least = pl.solve(problem.replace(), "heft").makespan
    assert least < explorer.schedule.makespan and pl.best_known(problem).makespan <= least
    pick(explorer, "Partitioner", "hash")
    chip = explorer.best_known.chip
    wait_for(lambda: f"★ {units.seconds(pl.best_known(explorer.schedule.problem).makespan)}" in chip.description)
    assert not explorer.best_known.box.hidden and not chip.disabled
    drag(explorer, 1e6, release=False)
    assert explorer.best_known.box.hidden


def test_load_of_links(explorer):
    """The canvas gets the share of time in which at least one transfer of a link travels."""
    schedule = explorer.schedule
    busy = np.zeros((4, 4))
    for source, destination in np.ndindex(4, 4):
        mine = schedule.transfers[
            (schedule.transfers["source"] == source) & (schedule.transfers["destination"] == destination)
        ]
        edges = np.unique(np.concatenate([mine["start"], mine["finish"]]))
        for begin_, end in pairwise(edges):
            busy[source, destination] += (end - begin_) * any((mine["start"] <= begin_) & (mine["finish"] >= end))
    assert busy.any() and np.allclose(explorer.canvas.load, busy / schedule.makespan, rtol=1e-9)


def test_one_device_works():
    """One device, without links or transfers, has a schedule, too."""
    explorer = pl.explore(pl.generators.fork_join(3), pl.Cluster.uniform(1))
    assert explorer.schedule.makespan > 0
    strip = {item["key"]: item["value"] for item in explorer.gantt.numbers}
    assert strip["speedup"] == "× 1" and strip["moved"] == "0 B"
    assert explorer.gantt.warning == ""
    explorer.actions.save_graph()
    assert reproduces(explorer)
    explorer.close()


# ---------------------------------------------------------------- copy as code


def test_code_of_an_edited_cluster(explorer):
    """The cell reproduces a cluster with a changed link and a moved, a renamed and a copied device."""
    explorer.actions.save_graph()
    drag(explorer, 7.3e9, 1.1e10 / 3)
    edit(explorer, "host", device=2, host="a")
    edit(explorer, "speed", device=1, value=2.5e13)
    assert "cluster = pl.Cluster(" in explorer.code and reproduces(explorer)
    edit(explorer, "copy", device=0)
    edit(explorer, "rename", device=0, name="left 'one'")
    assert reproduces(explorer)


def test_a_dragged_shared_link():
    """It changes the schedule where transfers are fair, is one step, and the cell says so; other models do not know it."""
    links = {"switch": (4e9, [("*", "*")])}
    explorer = pl.explore(pl.Problem(pl.load("convolutional_network"), CLUSTER.replace(links=links), transfers="fair"))
    explorer.actions.save_graph()
    before = explorer.schedule.makespan
    assert explorer.canvas.sharing
    edit(explorer, "shared", link="switch", value=1e9)
    assert explorer.schedule.makespan > before
    assert "'switch': (1000000000.0" in explorer.code and reproduces(explorer)
    explorer.undo()
    assert explorer.schedule.makespan == before
    pick(explorer, "Transfers", "parallel")
    assert not explorer.canvas.sharing
    explorer.close()


def test_the_curve_of_a_shared_link():
    """Each value of the curve is the state with that bandwidth."""
    state = initial_state("topcuoglu")
    state = state.with_cluster(state.cluster.replace(links={"bus": (2.0, [("*", "*")])}), state.layout)
    message = {"kind": "shared", "link": "bus", "value": 9.0}
    assert curve.dragged_value(state.cluster, message) == 2.0
    assert curve.at(state, message, 0.25).cluster.links[0].bandwidth == 0.5


def test_code_of_a_preset_says_only_what_changed():
    """Only the changed entries of fifty devices are written."""
    explorer = pl.explore("topcuoglu")
    explorer.change(lambda s: s.with_model(initial_state("convolutional_network").model).with_preset(preset("mayer50")))
    drag(explorer, 55.5)
    lines = explorer.code.splitlines()
    assert "bandwidth[0, 1] = 55.5" in lines and len(lines) < 15
    assert reproduces(explorer)
    explorer.close()


@pytest.mark.parametrize("transfers", ["parallel", "sequential", "sequential, duplex", "channel"])
def test_code_of_every_picker(explorer, transfers):
    """The cell has options, seed, transfer and memory model."""
    explorer.actions.save_graph()
    pick(explorer, "Transfers", transfers)
    pick(explorer, "Memory", "edges")
    pick(explorer, "Partitioner", "hash")
    pick(explorer, "Scheduler", "random")
    pick(explorer, "Seed", 7)
    assert reproduces(explorer)
    pick(explorer, "Partitioner", "heft")
    pick(explorer, "insertion", False)
    pick(explorer, "Scheduler", "msr")
    assert "partitioner_options={'insertion': False}" in explorer.code
    assert reproduces(explorer)


def test_a_latency_that_follows_is_picked_written_and_undone(explorer):
    """The menu stands beside that of transfers, where these wait for a link or share one."""
    menu = explorer.pickers.latency
    assert not shown(menu)
    explorer.actions.save_graph()
    pick(explorer, "Transfers", "channel")
    assert shown(menu) and "latency='" not in explorer.code
    held = explorer.schedule
    pick(explorer, "Latency", "follows")
    assert explorer.problem.latency == "follows" and "latency='follows'" in explorer.code and reproduces(explorer)
    explorer.undo()
    assert (menu.value, explorer.problem.latency) == ("holds", "holds")
    assert explorer.schedule.transfers.tobytes() == held.transfers.tobytes()


def test_code_of_a_problem_with_rules():
    """Pins, groups and Send ops of a given problem are kept and written, also when the cluster changes."""
    graph = pl.generators.layered(30, seed=1)
    rules = dict(transfers="channel", transfer_ops=1e8, latency="follows")
    problem = pl.Problem(graph, CLUSTER, **rules, groups=[list(graph.names[3:6])])
    problem = problem.pin({graph.names[0]: "b", graph.names[7]: ["a/gpu:1", "b/gpu:1"]}).pin(
        {graph.names[0]: "b/gpu:1"}
    )
    explorer = pl.explore(problem)
    explorer.actions.save_graph()
    assert explorer.placement.device[0] == 3 and reproduces(explorer)
    edit(explorer, "remove", device=1)
    assert explorer.problem.cluster.n_devices == 3 and explorer.placement.device[7] == 2 and reproduces(explorer)
    edit(explorer, "remove", device=2)
    assert "may only run on" in explorer.canvas.error
    assert explorer.problem.cluster.n_devices == explorer.canvas.value.n_devices == 3
    explorer.close()


# ---------------------------------------------------------------- undo


def test_undo_goes_back_over_pickers_and_canvas_alike(explorer):
    """Picks, drags and options form one history for undo and redo."""
    before = explorer.state
    states = []
    pick(explorer, "Scheduler", "fifo")
    states.append(explorer.state)
    drag(explorer, 1e9, 2e9, 3e9)
    states.append(explorer.state)
    pick(explorer, "insertion", False)
    states.append(explorer.state)
    edit(explorer, "undo")  # by the canvas' own button
    assert explorer.state == states[1]
    explorer.undo()
    assert explorer.state == states[0] and explorer.canvas.value is CLUSTER
    explorer.undo()
    assert explorer.state == before and not explorer.canvas.can_undo and explorer.canvas.can_redo
    explorer.undo()
    assert explorer.state == before
    for state in states:
        explorer.redo()
        assert explorer.state == state
    assert explorer.schedule.problem.cluster.bandwidth[0, 1] == 3e9


def test_layout_is_undone_too(explorer):
    """Moving a card is a step, although nothing is recomputed."""
    result = explorer.schedule
    edit(explorer, "move", device=0, slot=1)
    assert explorer.canvas.cluster["order"] == [1, 0, 2, 3]
    assert np.array_equal(explorer.schedule.start, result.start)
    explorer.undo()
    assert explorer.canvas.cluster["order"] == [0, 1, 2, 3]


def test_a_slider_in_motion_is_one_step():
    """Changes of one control in quick succession are undone together."""
    a = initial_state("topcuoglu")
    b = initial_state("topcuoglu")
    c = initial_state("topcuoglu")
    steps = Undoable(a).to(b, "seed", 1.0).to(c, "seed", 1.5)
    assert steps.undo().now is a
    assert steps.to(a, "seed", 9.0).undo().now is c


# ---------------------------------------------------------------- during a drag


def test_a_drag_shows_every_value_that_was_handled(explorer, patient):
    """A message is acknowledged when its result is shown; the whole drag is one step."""
    explorer.settled(120)
    before = explorer.schedule.makespan
    drag(explorer, 1e6, release=False)
    assert explorer.canvas.dragging and explorer.result.state is explorer.state and not explorer.gantt.stale
    assert explorer.schedule.makespan != before
    drag(explorer, 1e6, 2e6)
    assert len(explorer.steps.past) == 1


def test_what_another_browser_does_ends_a_drag(explorer):
    """The drag is a step of its own then, and nothing waits any more for a browser that was closed amid it."""
    pick(explorer, "insertion", False)
    before = explorer.state
    drag(explorer, 1e6, release=False)
    dragged = explorer.state
    pick(explorer, "Scheduler", "fifo")
    assert not explorer.canvas.dragging and not explorer.gantt.dragging
    assert explorer.steps.past[1:] == (before, dragged)
    drag(explorer, 2e6, release=False)  # the hand goes on
    explorer.undo()
    assert not explorer.canvas.dragging
    assert explorer.steps.past[1:] == (before, dragged) and explorer.state.scheduler == "fifo"


def test_slow_strategies_catch_up_on_release(explorer, monkeypatch):
    """A strategy known to be slow is not called during a drag; its last result is shown as stale, and a line says why."""
    monkeypatch.setattr(solving, "LIVE", 0.05)
    monkeypatch.setattr(curve, "PAUSE", 60)  # its makespans are other calls
    monkeypatch.setattr(Comparison, "show", lambda *args: None)  # and so are those of the table
    monkeypatch.setenv("PLACELAB_JIT", "wait")  # the time of a call that loads kernels does not count
    calls = []

    @pl.partitioner
    def slow(problem: pl.Problem) -> pl.Placement:
        calls.append(problem)
        time.sleep(0.1)
        return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))

    assert explorer.comparison.settled(120)
    pick(explorer, "Partitioner", "slow")
    assert explorer.settled(120)
    drag(explorer, 5e8)
    assert explorer.settled(120)
    seen = len(calls)
    drag(explorer, 1e9, 2e9, 3e9, release=False)
    assert len(calls) == seen and explorer.gantt.stale
    assert (
        re.search(r"slow takes [\d.]+ m?s", explorer.line.text.value)
        and "its result follows on release." in explorer.line.text.value
    )
    release(explorer)
    assert explorer.schedule.problem.cluster.bandwidth[0, 1] == 3e9 and not explorer.gantt.stale
    assert calls[-1] is explorer.problem and len(calls) == seen + 1 and "release" not in explorer.line.text.value


def test_newest_state_wins(explorer, monkeypatch):
    """After an outdated computation only the newest state is computed."""
    monkeypatch.setattr(computation, "SAME", 60.0)  # it is left to end
    monkeypatch.setattr(Comparison, "show", lambda *args: None)
    begun = []
    gate = threading.Event()
    graph = explorer.problem.graph

    @pl.partitioner
    def slow(problem: pl.Problem, *, seed: int = 0) -> pl.Placement:
        if problem.graph is graph:  # a search that an earlier test gave up may try all strategies a moment longer
            begun.append(seed)
        gate.wait(60)
        return pl.Placement(problem, np.zeros(problem.graph.n_ops, int))

    pick(explorer, "Partitioner", "slow")
    wait_for(lambda: begun)
    for seed in range(1, 6):
        explorer.pickers.seed.value = seed
    gate.set()
    assert explorer.schedule.seed == 5
    assert [*dict.fromkeys(begun)] == [0, 5]


def test_many_ops_are_validated_on_release(explorer, monkeypatch):
    """The validator's badge is empty during a drag and filled on release."""
    monkeypatch.setattr(solving, "MANY", 10)
    drag(explorer, 1e6, release=False)
    # None before the first result.
    wait_for(lambda: {item["key"]: item["value"] for item in explorer.gantt.numbers}.get("legal") == "…")
    release(explorer)
    wait_for(lambda: "✓ legal" in [item["value"] for item in explorer.gantt.numbers])


def test_the_selected_op_is_explained(explorer):
    """The detail is the line of the decision trace and the reason for the start."""
    assert explorer.schedule  # a browser, too, can only click what it sees
    explorer.gantt.selection = 5
    wait_for(lambda: explorer.gantt.detail)
    problem = explorer.problem
    schedule = explorer.schedule
    trace = pl.place(problem, "heft", trace=True).trace
    assert explorer.gantt.detail == "\n".join([trace.line(problem, 5), explanation.why(schedule, 5)])
    pick(explorer, "Partitioner", "single")
    wait_for(lambda: "single" in explorer.gantt.detail or explorer.gantt.detail.count("\n"))
    explorer.settled(120)
    assert explanation.why(explorer.schedule, 5) in explorer.gantt.detail


def test_a_clicked_gap_is_explained(explorer):
    """The first line of the detail is the gap's; a device that one partitioner never chose has the best visit."""
    schedule = explorer.schedule
    gaps = idle_time.idle_gaps(schedule)
    row = int(np.flatnonzero(gaps["op"] >= 0)[0])
    explorer.gantt.gap = row
    explorer.gantt.selection = int(gaps["op"][row])
    wait_for(lambda: explorer.gantt.detail.startswith(idle_time.said_of_gap(schedule, row)))
    assert explanation.why(schedule, int(gaps["op"][row])) in explorer.gantt.detail
    pick(explorer, "Partitioner", "single")
    schedule = explorer.schedule
    assert explorer.settled(120) and explorer.gantt.gap == -1
    explorer.gantt.selection = -1
    explorer.gantt.gap = int(np.flatnonzero(idle_time.idle_gaps(schedule)["op"] < 0)[-1])
    wait_for(lambda: "was never chosen: the best visit, of " in explorer.gantt.detail)


# ---------------------------------------------------------------- what goes wrong stays in place


def test_a_partitioner_without_a_plan(explorer):
    """Another scheduler replaces `planned` after hash, which makes no plan; a sentence says so, and undo restores HEFT."""
    pick(explorer, "Partitioner", "hash")
    assert explorer.schedule.scheduler == "pct" and "pct decides who runs next" in message(explorer)
    explorer.undo()
    assert (explorer.state.partitioner, explorer.state.scheduler) == ("heft", "planned")
    pick(explorer, "Partitioner", "hash")
    pick(explorer, "Scheduler", "planned")
    wait_for(lambda: explorer.pickers.scheduler.value == "pct")  # which follows the state
    assert explorer.state.scheduler == "pct"
    explorer.undo()
    assert explorer.state.partitioner == "heft"


def document() -> dict:
    """A placelab JSON: op x, whose output goes to op y."""
    path = Path("two.json")
    pl.OpGraph.from_arrays(["x", "y"], [1.0, 1.0], [(0, 1)], edge_bytes=[4.0]).save(path)
    return json.loads(path.read_text())


def cyclic() -> dict:
    """Two ops that wait for each other."""
    graph = document()
    graph["ops"]["outputs"] = [1, 1]
    return graph | {"tensors": {"bytes": [4, 4], "consumers": [1, 1], "control": []}, "edges": {"consumer": [1, 0]}}


def clash() -> dict:
    """A colocation group whose members may run on different types only."""
    graph = document()
    graph["ops"] |= {"group": [0, 0], "devices": [0, 1]}
    return graph | {"groups": ["g"], "device_sets": [["a"], ["b"]]}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (lambda: b"\x00 nothing", "JSON"),
        (lambda: b"{}", "JSON of a different kind, an empty object"),
        (lambda: json.dumps(cyclic()).encode(), "cycle"),
        (lambda: gzip.compress(json.dumps(clash()).encode()), "no device left"),
    ],
    ids=["bytes", "other JSON", "cycle", "clash"],
)
@pytest.mark.parametrize("way", ["path", "upload"])
def test_bad_files_lose_nothing(explorer, content, sentence, way):
    """A bad file gives one sentence and changes neither model, schedule nor picker."""
    before = explorer.state
    schedule = explorer.schedule
    data = content()
    picker = explorer.pickers.models
    if way == "path":
        Path("bad.json.gz" if data[:2] == b"\x1f\x8b" else "bad.json").write_bytes(data)
        picker.path.value = "bad.json.gz" if data[:2] == b"\x1f\x8b" else "bad.json"
    else:
        upload(explorer, "bad.json", data)
    assert picker.opening.settled(120)
    assert sentence in message(explorer) and 'role="alert"' in message(explorer)
    assert explorer.state is before and explorer.schedule is schedule and not explorer.gantt.stale
    assert picker.menu.value == before.model.title and not explorer.steps.past


def test_an_upload_is_shown_and_can_be_copied(explorer):
    """An uploaded file is a model like the others; the copied cell loads it from a file beside the notebook."""
    data = json.dumps(document()).encode()
    picker = explorer.pickers.models
    upload(explorer, "my model.json", data)
    assert explorer.problem.graph.n_ops == 2 and picker.menu.value == "my model.json"
    explorer.actions.code.copies += 1
    assert Path("my_model.json.gz").exists() and "my_model.json.gz" in explorer.actions.code.note
    assert reproduces(explorer)
    pick(explorer, "Model", "topcuoglu")
    assert picker.opening.settled(120) and explorer.problem.cluster.names == ("P1", "P2", "P3")
    explorer.undo()
    assert explorer.problem.graph.n_ops == 2 and explorer.problem.cluster is CLUSTER


def test_bandwidth_zero_is_refused(explorer):
    """The canvas shows why, and the link stays."""
    before = explorer.state
    edit(explorer, "bandwidth", pairs=[[0, 1]], value=0)
    assert "bandwidth" in explorer.canvas.error
    assert explorer.state == before and explorer.canvas.value is CLUSTER


def test_a_failing_strategy_keeps_the_last_chart(explorer):
    """Its error is shown, the last chart is stale, and reading the schedule in a cell raises the error."""

    @pl.partitioner
    def hopeless(problem: pl.Problem) -> pl.Placement:
        raise pl.InfeasibleError("op 'x' needs more room than any device has")

    chart = explorer.schedule and explorer.gantt.schedule
    pick(explorer, "Partitioner", "hopeless")
    with pytest.raises(pl.InfeasibleError, match="more room"):
        _ = explorer.schedule
    wait_for(lambda: "more room than any device has" in message(explorer))
    assert explorer.gantt.stale and explorer.gantt.schedule == chart
    assert "more room" in repr(explorer) and "pl-failed" in classes(of_class(explorer, "pl-chart"))
    pick(explorer, "Partitioner", "heft")
    assert explorer.schedule.makespan > 0 and not explorer.gantt.stale and message(explorer) == ""
    assert "pl-failed" not in classes(of_class(explorer, "pl-chart"))


def test_a_bug_in_a_strategy_is_shown_with_its_line(explorer):
    """The message has the exception and the line of the strategy where it happened."""

    @pl.partitioner
    def buggy(problem: pl.Problem) -> pl.Placement:
        return {}["x"]

    line = inspect.unwrap(buggy).__code__.co_firstlineno + 2
    pick(explorer, "Partitioner", "buggy")
    wait_for(lambda: f"KeyError: 'x' in line {line} of buggy" in message(explorer))


def test_a_strategy_that_returns_what_it_should_not(explorer):
    """It may not change the problem, nor place another one; a bound that its own schedule refutes proves nothing."""

    @pl.partitioner
    def changes(problem: pl.Problem) -> pl.Placement:
        problem.memory = "none"
        return pl.place(problem, "heft")

    @pl.partitioner
    def elsewhere(problem: pl.Problem) -> pl.Placement:
        return pl.place(pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2)), "heft")

    @pl.partitioner
    def boaster(problem: pl.Problem) -> pl.Placement:
        return replace(pl.place(problem, "heft"), bound=1e9)

    for name, words in (("changes", "of changes"), ("elsewhere", "returned a placement of another problem")):
        pick(explorer, "Partitioner", name)
        wait_for(lambda words=words: words in message(explorer))
    pick(explorer, "Partitioner", "boaster")
    assert explorer.schedule.placement.bound == 1e9
    wait_for(lambda: "claims that no schedule is shorter" in explorer.gantt.warning)
    gap = next(item for item in explorer.gantt.numbers if item["key"] == "gap")
    assert "optimal" not in gap["value"]
    assert explorer.shared.bound <= explorer.schedule.makespan  # 0, or what the comparison has proven


def test_warnings_are_plain():
    """Sentences warn of a device out of memory and of a schedule slower than one device."""
    graph = pl.OpGraph.from_arrays(list("abcd"), [1e9] * 4, [(0, 1), (0, 2), (0, 3)], edge_bytes=[1e9] * 3)
    cluster = pl.Cluster([1e12] * 3, memory=[1.5e9] * 3, bandwidth=1e9)
    explorer = pl.explore(pl.Problem(graph, cluster, transfers="sequential"))

    @pl.partitioner
    def careless(problem: pl.Problem) -> pl.Placement:
        return pl.Placement(problem, [0, 1, 2, 1])

    pick(explorer, "Scheduler", "fifo")
    pick(explorer, "Partitioner", "careless")
    assert explorer.schedule.makespan > 1
    assert "One device alone would be faster: 4 ms" in explorer.gantt.warning
    assert "is out of memory at" in explorer.gantt.warning
    tones = {item["key"]: item["tone"] for item in explorer.gantt.numbers}
    assert tones["speedup"] == tones["memory"] == "bad"
    explorer.close()


# ---------------------------------------------------------------- strategies


def test_a_new_strategy_is_in_the_pickers_at_once(explorer):
    """A strategy defined in another cell can be picked; when the cell is run again, the new version is used."""

    def define(device: int) -> None:
        @pl.partitioner(name="all-on-one")
        def f(problem: pl.Problem, *, spread: Annotated[float, (0.0, 1.0)] = 0.5) -> pl.Placement:
            """Everything on one device."""
            return pl.Placement(problem, np.full(problem.graph.n_ops, device))

    define(1)
    assert "all-on-one" in explorer.pickers.partitioner.options
    pick(explorer, "Partitioner", "all-on-one")
    assert (explorer.placement.device == 1).all()
    assert any(isinstance(x, w.FloatSlider) and x.description == "spread" for x in widgets(explorer))
    define(2)
    assert (explorer.placement.device == 2).all()
    assert explorer.code.splitlines()[1] == "# run the cell that defines all-on-one first"


@pytest.mark.parametrize(
    ("annotation", "default", "kind"),
    [
        (bool, True, w.Checkbox),
        (Literal["a", "b"], "b", w.Dropdown),
        (Annotated[float, (0.0, 2.0)], 0.5, w.FloatSlider),
        (Annotated[int, (1, 9)], 3, w.IntSlider),
        (Annotated[float, Limits(0, 1)], 0.5, w.FloatSlider),
        (Annotated[float, Limits(0.001, 1000)], 0.03, w.FloatLogSlider),
        (Annotated[int, Limits(1, 1000)], 3, w.BoundedIntText),
        (Annotated[int, Limits(1)], 3, w.IntText),
        (Annotated[float, Limits(0)], 3.5, w.FloatText),
        (int, 3, w.IntText),
        (float, 0.25, w.FloatText),
        (str, "x", w.Text),
        (int | None, None, w.Text),
        (tuple, (1, 2.5), w.Text),
    ],
)
def test_controls_follow_the_signature(annotation, default, kind):
    """Each annotation has its control; what it shows reads back as the same value."""
    from placelab.app.explorer.panels.options import read

    widget = control("some_option", annotation, default, default)
    assert type(widget) is kind and widget.description == "some option"
    assert read(widget) == default


def test_options_with_two_bounds_have_sliders_to_their_ends():
    """Of every strategy in the catalogue: its number can be typed, its ends are those of the option."""
    bounded = {}
    for function in [*pl.partitioners().values(), *pl.schedulers().values(), *transforms().values()]:
        for name, (annotation, default) in function.options.items():
            limits = next((x for x in getattr(annotation, "__metadata__", ()) if isinstance(x, Limits)), None)
            if limits is not None and math.isfinite(limits.most):
                bounded[f"{function.name} {name}"] = limits, control(name, annotation, default, default)
    assert {"cem rate", "cem noise", "sct threshold", "m-sct threshold", "min-cut imbalance"} <= set(bounded)
    for limits, slider in bounded.values():
        assert isinstance(slider, (w.IntSlider, w.FloatSlider)) and slider.typed
        real = (lambda x: 10**x) if isinstance(slider, w.FloatLogSlider) else float
        assert (real(slider.min), real(slider.max)) == (limits.least, limits.most)
        assert limits.hold(slider.min) == (not slider.above) or real is not float
        assert isinstance(slider, w.FloatLogSlider) == (0 < limits.least < limits.most / 100)


@pytest.mark.parametrize("text", ["{[]: 1}", "1 +", "-" * 100_000 + "1"])
def test_what_is_no_literal_is_a_text(text):
    """The strategy refuses it in a sentence, as any other wrong value."""
    from placelab.app.explorer.panels.options import read

    field = control("some_option", tuple, (1, 2.5), (1, 2.5))
    field.value = text
    assert read(field) == text


def test_options_of_every_strategy_have_controls():
    """The whole catalogue can be shown, and its defaults are no changes."""
    for function in [*pl.partitioners().values(), *pl.schedulers().values()]:
        moved = []
        controls = Controls(lambda values, name, moved=moved: moved.append(values))
        controls.show(function, {})
        assert [x.description.replace(" ", "_") for x in controls.box.children] == list(function.options)
        assert not moved


# ---------------------------------------------------------------- export


def test_downloads_are_handed_to_the_browser(explorer, here, monkeypatch):
    """Page, trace, tables and numbers arrive whole, and nothing is left where the kernel runs."""
    sent = {}
    monkeypatch.setattr(
        explorer.actions.frame, "send", lambda what, buffers: sent.update({what["download"]: buffers[0]})
    )
    for text in ("Page .html", "Trace .json", "Numbers .tsv", "Ops", "Transfers"):
        explorer.actions.downloads.buttons[text].click()
    contents = {name.partition(".")[2]: content.decode() for name, content in sent.items()}
    assert contents["html"].startswith("<!doctype html>") and json.loads(contents["trace.json"])
    assert len(contents["csv"].splitlines()) == 1 + explorer.problem.graph.n_ops
    assert contents["tsv"].startswith("Makespan\t")
    assert not list(here.iterdir()) and not message(explorer)


def test_tables_of_the_tabs_are_downloaded(explorer, monkeypatch):
    """Raw numbers with units in the head; a table that is not there yet says how to get it."""
    sent = {}
    monkeypatch.setattr(
        explorer.actions.frame, "send", lambda what, buffers: sent.update({what["download"]: buffers[0].decode()})
    )

    def table(title):
        sent.clear()
        explorer.actions.downloads.buttons[title].click()
        [text] = sent.values()
        return pd.read_csv(io.StringIO(text))

    explorer.actions.downloads.buttons["Difference"].click()
    assert not sent and "◈ Keep" in message(explorer)
    kept = explorer.schedule
    explorer.keep(kept)
    pick(explorer, "Partitioner", "single")
    explorer.tabs.open("Difference")
    assert explorer.settled(60)
    rows = table("Difference")
    assert [rows[f"finish_{side} [s]"].max() for side in "ab"] == [kept.makespan, explorer.schedule.makespan]
    explorer.tabs.open("Comparison")
    wait_for(lambda: explorer.comparison.frame is not None and not explorer.comparison.running)
    rows = table("Comparison").set_index(["partitioner", "scheduler"])
    assert rows["makespan [s]"]["single", explorer.state.scheduler] == explorer.schedule.makespan
    explorer.tabs.open("What matters")
    view = explorer.tabs.panels["What matters"].view
    wait_for(lambda: view.rows and view.fraction == 1.0 and not any(row["stale"] for row in view.rows))
    rows = table("What matters")
    assert rows.filter(like="faster [s]").iloc[:, 0].max() > 0 and set(rows["what"]) >= {"op", "device"}


def test_what_the_drawer_shows_is_downloaded(explorer, monkeypatch):
    """The curve of a value, and the facts of a selection: raw numbers with units, names without formulas; asked for by Ctrl+K."""
    sent = {}
    monkeypatch.setattr(
        explorer.actions.frame, "send", lambda what, buffers: sent.update({what["download"]: buffers[0].decode()})
    )

    def table(asked):
        sent.clear()
        command = suggestions(asked, explorer.commands)[0]
        command.act()
        [(name, text)] = sent.items() if sent else [("", "")]
        return name, pd.read_csv(io.StringIO(text)) if text else None

    for title in ("Curve", "Details"):
        explorer.actions.downloads.buttons[title].click()
        assert not sent and "to download: " in message(explorer)
    explorer.gantt.drawer = True
    explorer.gantt.selection = 5
    wait_for(lambda: explorer.gantt.details.get("of") == explorer.now)
    name, facts = table("save details as csv")
    assert name.endswith(".details.csv") and list(facts.columns) == ["name", "value", "unit"]
    value = dict(zip(facts["name"], facts["value"], strict=True))
    schedule = explorer.schedule
    assert value["op"] == schedule.problem.graph.names[5]
    assert float(value["start"]) == schedule.start[5] and float(value["finish"]) == schedule.finish[5]
    assert facts.set_index("name")["unit"]["start"] == "s"
    links = {"kind": "bandwidth", "label": "bandwidth inside server", "pairs": [[0, 1], [1, 0]]}
    explorer.gantt.value = links
    explorer.canvas.chosen = links
    wait_for(lambda: explorer.gantt.curve.get("missing") == 0)
    name, rows = table("save curve as csv")
    assert name.endswith(".curve.csv") and list(rows.columns) == ["bandwidth inside server [B/s]", "makespan [s]"]
    assert rows.iloc[:, 0].is_monotonic_increasing and (rows["makespan [s]"] > 0).all()


def test_the_file_of_a_curve_that_is_computed_follows_when_it_is_whole(explorer, monkeypatch):
    """A message says how much is left; where another value is chosen meanwhile, it says that no file comes.

    What a hand has opened meanwhile stays open.
    """
    sent, said = [], []
    monkeypatch.setattr(explorer.actions.frame, "send", lambda what, buffers: sent.append(buffers[0].decode()))
    monkeypatch.setattr(explorer.actions.downloads, "_say", lambda text, tone: said.append((text, tone)))
    assert explorer.settled(60)
    gate = threading.Event()
    whole = curve.makespan

    def gated(state) -> float:
        gate.wait(0.2)
        return whole(state)

    monkeypatch.setattr(curve, "makespan", gated)
    links = {"kind": "bandwidth", "label": "bandwidth inside server", "pairs": [[0, 1], [1, 0]]}
    download = explorer.actions.downloads.buttons["Curve"]
    for other in (True, False):
        explorer.canvas.chosen = links
        wait_for(lambda: explorer.gantt.curve.get("missing", 0) > 0)
        said.clear()
        download.click()
        assert not sent and said[0][1] == "note" and said[0][0].endswith("values are left; its file follows.")
        if other:
            explorer.canvas.chosen = {"kind": "speed", "label": "speed of gpu:0", "device": 0}
            wait_for(lambda: "download Curve again" in said[-1][0])
    menu = explorer.actions.downloads.popover
    menu.toggle.value = True  # meanwhile, for another file
    gate.set()
    wait_for(lambda: sent)
    assert menu.toggle.value and shown(menu.panel)
    rows = pd.read_csv(io.StringIO(sent[0]))
    assert len(rows) == len(explorer.gantt.curve["values"]) and explorer.gantt.curve["missing"] == 0
    assert len(sent) == 1 and len(rows) == curve.VALUES


def test_the_file_of_a_curve_without_a_value_so_far_follows(explorer, monkeypatch):
    """A quick hand clicks before the first value is known; where none is chosen any more, a message says that no file comes."""
    sent, said = [], []
    monkeypatch.setattr(explorer.actions.frame, "send", lambda what, buffers: sent.append(buffers[0].decode()))
    monkeypatch.setattr(explorer.actions.downloads, "_say", lambda text, tone: said.append((text, tone)))
    assert explorer.settled(60)
    download = explorer.actions.downloads.buttons["Curve"]
    download.click()
    assert said == [("there is no curve to download: click a value of the cluster first", "bad")]
    monkeypatch.setattr(curve, "PAUSE", 60.0)
    explorer.canvas.chosen = {"kind": "speed", "label": "speed of gpu:0", "device": 0}
    download.click()
    assert said[-1] == ("The curve is being computed; its file follows.", "note")
    assert explorer.settled(60)
    explorer.canvas.chosen = {}
    wait_for(lambda: "download Curve again" in said[-1][0])
    monkeypatch.setattr(curve, "PAUSE", 0.5)
    explorer.canvas.chosen = {"kind": "speed", "label": "speed of gpu:0", "device": 0}
    download.click()
    wait_for(lambda: sent)
    assert len(sent) == 1 and "download Curve again" not in said[-1][0]


@pytest.mark.parametrize(
    ("text", "width", "ends"), [("PNG", 0, ".png"), ("SVG, in mm", 85, ".svg"), ("PDF", 85, ".pdf")]
)
def test_pictures_for_a_paper_have_a_width(explorer, monkeypatch, text, width, ends):
    asked = []
    monkeypatch.setattr(explorer.gantt, "send", lambda what, *_: asked.append(what))
    explorer.actions.downloads.width.value = 85
    explorer.actions.downloads.buttons[text].click()
    assert asked[-1]["width"] == width and asked[-1]["name"].endswith(ends)


def test_another_schedule_is_whole_until_its_decisions_are_there(explorer, monkeypatch):
    """While decisions are stepped through: no mask of one schedule meets the transfers of another one."""
    explorer.tabs.open("Decisions")
    panel = explorer.tabs.panels["Decisions"]
    for partitioner in ("cpop", "etf", "heft"):
        pick(explorer, "Partitioner", partitioner)
        assert explorer.settled(60) and panel.settled(60)
        panel.view.step = 2
        wait_for(lambda: "3 of 60 ops" in figures(explorer))
        assert len(explorer.gantt.decided) == 60 + len(explorer.schedule.transfers)
    explorer.tabs.open("Comparison")
    assert explorer.gantt.decided == b"" and "of 60 ops" not in figures(explorer)
    written = []
    monkeypatch.setattr(explorer.numbers, "show", lambda *given, **more: written.append(given))
    panel.result(explorer.result)  # as each result of a drag
    assert not written


def test_a_kept_schedule_is_what_others_are_compared_with(explorer):
    """The outline stays behind, the makespan shows its change, and the button can take both away."""
    kept = explorer.schedule
    explorer.actions.keep.value = True
    assert explorer.gantt.kept
    pick(explorer, "Partitioner", "single")
    change = explorer.schedule.makespan / kept.makespan - 1
    assert f"▲ {units.percent(change)} of ◈" in figures(explorer)
    explorer.actions.keep.value = False
    assert not explorer.gantt.kept and "◈" not in figures(explorer)


def test_mayers_cluster_given_in_a_cell_brings_his_costs():
    """FLOP on devices of 10 to 100 operations/s would take years; other clusters keep the model's costs."""
    for cluster, costs in (
        (pl.clusters.mayer50(seed=3, devices=4), "mayer"),
        (pl.Cluster.uniform(4, speed=1e13), "model"),
    ):
        explorer = pl.explore("convolutional_network", cluster)
        assert explorer.state.costs == costs
        explorer.close()


def test_opens_on_what_is_asked_for():
    """Strategies, options, transformations and a schedule to compare with are there from the start."""
    problem = pl.Problem(pl.generators.layered(60, seed=1), CLUSTER)
    before = pl.solve(problem, "single")
    explorer = pl.explore(
        problem, partitioner="tf_greedy", scheduler="fifo", prepare=["fuse"], compare_with=before, height=700
    )
    state = explorer.state
    assert (state.partitioner, state.scheduler, state.prepare) == ("tf-greedy", "fifo", ("fuse",))
    assert explorer.settled(60) and explorer.gantt.kept and explorer.height == 700
    assert "◈" in figures(explorer)
    explorer.close()
    explorer = pl.explore(problem, prepare="fuse")
    assert explorer.state.prepare == ("fuse",)
    explorer.close()
    with pytest.raises(pl.FormatError, match="explore, in prepare, needs a str, found an int"):
        pl.explore(problem, prepare=[3])
    with pytest.raises(pl.UnsupportedError, match="no partitioner is called 'heftt'; did you mean 'heft'"):
        pl.explore(problem, partitioner="heftt")
    with pytest.raises(pl.UnsupportedError, match="'heft' has no option 'speed'"):
        pl.explore(problem, partitioner="heft", options={"speed": 3})


# ---------------------------------------------------------------- preparing


def prepare(explorer: Explorer, *names: str) -> None:
    """Press the toggles of these transformations."""
    for name in names:
        toggle = explorer.pickers.prepare.toggles[name]
        toggle.value = not toggle.value


def test_the_graph_can_be_made_smaller_first(explorer):
    """Transformations apply in the order of pressing; the number of ops is shown, all ops are placed, undo goes back."""
    explorer.actions.save_graph()
    button = explorer.pickers.prepare.toggle
    about = explorer.pickers.prepare.about
    assert button.description == "Prepare…"
    prepare(explorer, "fuse", "coplace")
    assert explorer.state.prepare == ("fuse", "coplace") and button.description == "Prepare: fuse → coplace"
    prepare(explorer, "fuse", "fuse")
    assert explorer.state.prepare == ("coplace", "fuse")
    assert [t.description for t in explorer.pickers.prepare.toggles.values() if t.value] == [
        "1 · coplace",
        "2 · fuse",
    ]
    expected = pl.place(explorer.problem, "heft", prepare=["coplace", "fuse"])
    assert np.array_equal(explorer.placement.device, expected.device)
    small, _ = pl.transforms.chain(["coplace", "fuse"])(explorer.problem)
    wait_for(lambda: f"60 → {small.graph.n_ops} ops" in about.value)
    assert "prepare=['coplace', 'fuse']" in explorer.code and reproduces(explorer)
    explorer.undo()
    assert explorer.state.prepare == ("coplace",)
    explorer.undo()
    explorer.undo()
    explorer.undo()
    assert explorer.state.prepare == () and button.description == "Prepare…"
    assert explorer.schedule and about.value == ""


def test_transformations_have_options(explorer):
    """Chosen transformations show the controls of their options, which the copied cell contains."""
    explorer.actions.save_graph()
    prepare(explorer, "coplace", "fuse")
    picker = explorer.pickers.prepare
    assert shown(picker.controls["fuse"].box) and not shown(picker.controls["colocate"].box)
    pick(explorer, "rule", "exact")
    assert explorer.state.preparation == (("coplace", {}), ("fuse", {"rule": "exact"}))
    assert "functools.partial(pl.transforms.catalogue()['fuse'], rule='exact')" in explorer.code
    assert reproduces(explorer)


# ---------------------------------------------------------------- memory


def test_the_first_capacity_is_counted(explorer):
    """The first capacity changes the memory model from none to dynamic, and removing it changes it back; undo restores both."""
    explorer = pl.explore(pl.generators.layered(60, seed=3), CLUSTER.replace(memory=None))
    needed = float(explorer.schedule.peak_memory.max())
    assert explorer.state.memory == "none" and explorer.canvas.peak == []
    edit(explorer, "memory", device=1, value=2 * needed)
    assert explorer.state.memory == explorer.problem.memory == explorer.pickers.memory.value == "dynamic"
    assert explorer.schedule and explorer.canvas.peak == explorer.schedule.peak_memory.tolist()
    wait_for(lambda: "Memory model dynamic: a device has a capacity now." in explorer.line.text.value)
    edit(explorer, "memory", device=1, value=None)
    assert explorer.state.memory == "none" and explorer.schedule and explorer.canvas.peak == []
    explorer.undo()
    assert explorer.state.memory == "dynamic" and explorer.problem.cluster.memory[1] == 2 * needed
    explorer.undo()
    assert explorer.state.memory == "none"
    pick(explorer, "Memory", "reserved")
    edit(explorer, "memory", device=1, value=2 * needed)
    assert explorer.state.memory == "reserved"
    explorer.close()


def squeeze(explorer: Explorer, *capacities: float, release: bool = True) -> None:
    """Drag the memory of the first device."""
    gesture = max(explorer.canvas.ack, default=0) + 1000
    for value in capacities:
        edit(explorer, "memory", device=0, value=value, gesture=gesture, final=False)
    if release:
        edit(explorer, "release", gesture=gesture, final=True)


def test_no_room_is_explained_in_place():
    """The panel names the op and each device's missing bytes, during a drag, too; undo takes it away."""
    graph = pl.OpGraph.from_arrays(list("abc"), [1e9] * 3, [(0, 1), (1, 2)], persistent=[1e9, 6e9, 1e9])
    explorer = pl.explore(graph, pl.Cluster([1e12] * 2, memory=[8e9, 4e9], names=["big", "small"]))
    panel = explorer.rejection
    before = explorer.schedule
    assert not shown(panel.box)
    squeeze(explorer, 7e9, 5e9, release=False)
    wait_for(lambda: shown(panel.box))
    assert "Op &#x27;b&#x27; fits on no device (memory model dynamic)" in panel.text.value
    cells = [row["cells"] for row in panel.devices.rows]
    assert ["big", "short by 2 GB", "5 GB"] in cells and ["small", "short by 2 GB"] in [texts[:2] for texts in cells]
    assert explorer.gantt.stale and message(explorer) == ""  # nothing moves during a drag
    squeeze(explorer, 5e9)
    with pytest.raises(pl.InfeasibleError):
        _ = explorer.schedule
    press(panel.box, "Show b")
    assert explorer.gantt.selection == 1
    explorer.undo()
    assert explorer.schedule.makespan == before.makespan and not shown(panel.box)
    explorer.redo()
    wait_for(lambda: shown(panel.box))
    press(panel.box, "Ignore memory")
    assert explorer.state.memory == "none" and explorer.schedule and not shown(panel.box)
    assert not explorer.gantt.stale
    explorer.close()


def test_it_opens_on_a_schedule_and_on_the_name_of_a_cluster():
    """A schedule brings its problem and strategies, and is kept: what is shown may have been made with other options."""
    problem = pl.Problem(pl.load("alexnet"), pl.clusters.pcie_box(2), transfers="channel")
    schedule = pl.solve(problem, "etf", "fifo")
    explorer = pl.explore(schedule)
    assert (explorer.state.partitioner, explorer.state.scheduler) == ("etf", "fifo")
    assert explorer.problem.transfers == "channel" and explorer.schedule.makespan == schedule.makespan
    assert explorer.shared.kept is schedule
    explorer.close()
    own = pl.simulate(problem, pl.Placement(problem, np.zeros(problem.graph.n_ops, int)), "fifo")
    explorer = pl.explore(own)
    assert explorer.shared.kept is own and explorer.state.scheduler == "fifo"
    explorer.close()
    explorer = pl.explore("alexnet", "pcie_box")
    assert explorer.problem.cluster.bandwidth.tolist() == pl.clusters.pcie_box().bandwidth.tolist()
    assert "pl.clusters.pcie_box()" in explorer.code
    explorer.close()
    with pytest.raises(pl.FormatError, match="pcie_boxx"):
        pl.explore("alexnet", "pcie_boxx")


def test_it_opens_on_a_graph_of_networkx_whose_nodes_have_times():
    """Seconds on any device; the makespan is the library's."""
    graph = nx.DiGraph()
    graph.add_node("read", time=2.0)
    graph.add_node("write", time=3.0)
    graph.add_edge("read", "write")
    explorer = pl.explore(graph)
    assert explorer.schedule.makespan == 5 and explorer.problem.graph.names.tolist() == ["read", "write"]
    explorer.close()


def test_a_planner_that_is_stuck_denies_no_plan():
    """The text says how much memory suffices; with it there is a plan."""
    edges = [(2 * i + j, 8 + i) for i in range(7) for j in (0, 1)]  # a binary reduction of eight
    graph = pl.OpGraph.from_arrays([*"abcdefghijklmno"], [1e9] * 15, edges, edge_bytes=1e9)
    explorer = pl.explore(graph, pl.Cluster([1e12], memory=[3e9]), partitioner="m-etf")
    panel = explorer.rejection
    wait_for(lambda: shown(panel.box))
    assert "m-etf is stuck at op" in panel.text.value and "fits on no device" not in panel.text.value
    assert "With 5 GB on each device one does: depth first" in panel.text.value
    explorer.change(lambda state: state.with_cluster(state.cluster.replace(memory=5e9), state.layout))
    assert pl.validate(explorer.schedule) == [] and not shown(panel.box)
    explorer.close()


def test_a_group_without_room_is_named():
    """The headline has the group's first op and its size; devices with one reason share a row; names are escaped."""
    error = pl.InfeasibleError(
        "no room",
        op="<a>",
        group="pair",
        devices={f"d{i}": "is not allowed" for i in range(20)} | {"g": "is short by 5 bytes"},
    )
    graph = pl.OpGraph.from_arrays(["<a>", "b"], [1.0, 1.0], [], groups=[[0, 1]], group_names=["pair"])
    cluster = pl.Cluster([1.0] * 21, names=[*(f"d{i}" for i in range(20)), "g"])
    problem = pl.Problem(graph, cluster)
    assert "Colocation group 'pair' of 2 ops, '<a>' the first, fits on no device" in headline(error, problem, "heft")
    table = [row["cells"] for row in reasons(error, problem)]
    assert table == [["d0, d1, d2 and 17 others", "is not allowed", ""], ["g", "is short by 5 bytes", ""]]


def test_the_devices_that_lack_least_are_named_one_by_one():
    """Of many that are short the last row says how many more, and by how much at most."""
    names = [f"<d{i}>" for i in range(9)]
    error = pl.InfeasibleError(
        "", op="a", devices=dict.fromkeys(names, "short"), short={n: 1e9 * (9 - i) for i, n in enumerate(names)}
    )
    cluster = pl.Cluster([1.0] * 9, names=names, memory=1e9)
    table = reasons(error, pl.Problem(pl.OpGraph.from_arrays(["a"], [1.0], []), cluster, memory="dynamic"))
    assert table[0]["cells"][:2] == ["<d8>", "short by 1 GB"]
    assert table[-1]["cells"][:2] == ["3 others", "short by up to 9 GB"]


def test_costs_that_fit_are_chosen_and_said():
    """Plain numbers on a machine become milliseconds, FLOP on plain numbers Mayer's costs; a sentence says so."""
    explorer = pl.explore("topcuoglu", pl.clusters.pcie_box())
    assert explorer.settled(60)
    assert explorer.state.costs == "seconds" and 0.01 < explorer.schedule.makespan < 1
    assert "topcuoglu counts in plain numbers: on the cluster a unit takes 1 ms" in explorer.line.text.value
    assert "pl.costs.in_seconds(graph)" in explorer.code
    assert "1 ms per unit" in explorer.pickers.costs.menu.options
    explorer.change(lambda s: s.with_model(initial_state("alexnet").model))
    assert explorer.state.costs == "model" and "1 ms per unit" not in explorer.pickers.costs.menu.options
    explorer.change(lambda s: s.with_preset(preset("mayer50")))
    assert explorer.settled(60) and explorer.state.costs == "mayer"
    assert "Quantities of mayer50 are plain numbers" in explorer.line.text.value
    explorer.change(lambda s: s.with_model(initial_state("topcuoglu").model))
    assert explorer.state.costs == "model" and explorer.schedule.makespan == 80
    explorer.close()
    explorer = pl.explore(pl.costs.mayer(pl.load("alexnet"), seed=5), pl.clusters.mayer50())
    assert explorer.state.costs == "model"  # they fit already
    explorer.close()


def test_a_speed_that_no_op_depends_on_is_told_to_the_canvas():
    """Topcuoglu's times are given per processor; on other devices his ops follow the speed."""
    explorer = pl.explore("topcuoglu")
    assert explorer.canvas.fixed == [0, 1, 2]
    explorer.change(lambda s: s.with_preset(preset("pcie_box")))
    assert explorer.canvas.fixed == []
    explorer.close()

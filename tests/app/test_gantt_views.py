"""What the chart is sent besides the schedule: a kept schedule, colours, the transfers to the selected op."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import placelab as pl
from placelab.analysis.explanation import slack
from placelab.analysis.idle_time import REASONS, idle_gaps
from placelab.app.widgets import gantt_wire as wire
from placelab.app.widgets.gantt_chart import Gantt
from placelab.schedule import schedule as schedules

TYPESCRIPT = Path(__file__).parents[2] / "widgets" / "gantt" / "scene" / "colouring.ts"


def in_turn(graph: pl.OpGraph, k: int = 3, **rules: object) -> pl.Schedule:
    """Ops on the devices in turn."""
    problem = pl.Problem(graph, pl.Cluster.uniform(k, speed=1e9, bandwidth=1e9, memory=1e9), **rules)
    return pl.simulate(problem, pl.Placement(problem, np.arange(graph.n_ops) % k), "fifo")


@pytest.fixture
def schedule() -> pl.Schedule:
    return in_turn(pl.generators.layered(80, seed=1))


def unpack_kept(data: bytes):
    """A plain reader of a kept schedule: devices, makespan, columns."""
    version, n, k, _ = np.frombuffer(data, "<u4", 4)
    assert version == wire.VERSION
    at = 24
    columns = []
    for dtype in ("<u2", "<f4", "<f4"):
        columns.append(np.frombuffer(data, dtype, n, at))
        at += -(-columns[-1].nbytes // 8) * 8
    assert at == len(data)
    return k, np.frombuffer(data, "<f8", 1, 16)[0], columns


def test_a_kept_schedule_is_sent_as_it_is(schedule):
    """Device, start and finish of each op; the makespan exactly; None takes it away."""
    chart = Gantt.of(schedule)
    kept = in_turn(schedule.problem.graph, 2)
    chart.keep(kept)
    k, makespan, (device, start, finish) = unpack_kept(chart.kept)
    assert (k, makespan) == (3, kept.makespan)
    np.testing.assert_array_equal(device, kept.device)
    np.testing.assert_array_equal(start, kept.start.astype("f4"))
    np.testing.assert_array_equal(finish, kept.finish.astype("f4"))
    chart.keep(None)
    assert chart.kept == b""


def test_a_kept_schedule_follows_names():
    """Ops and devices have the numbers that their names have now; those that are gone have none, or come last."""
    names = ["a", "b", "c"]
    old = pl.OpGraph.from_arrays(names, [1.0, 2.0, 3.0], [])
    new = pl.OpGraph.from_arrays(["c", "new", "a"], [1.0, 2.0, 3.0], [])
    before = pl.Problem(old, pl.Cluster([1.0, 1.0], bandwidth=1.0, names=["x", "y"]))
    after = pl.Problem(new, pl.Cluster([1.0, 1.0], bandwidth=1.0, names=["y", "z"]))
    kept = pl.simulate(before, pl.Placement(before, [0, 1, 1]), "fifo")
    chart = Gantt()
    chart.keep(kept)
    chart.show(pl.simulate(after, pl.Placement(after, [0, 1, 1]), "fifo"))
    k, _, (device, start, finish) = unpack_kept(chart.kept)
    assert k == 2
    assert device.tolist() == [0, wire.NOWHERE, wire.NOWHERE, 0]  # c on y, new, a on x that is gone, b on y
    assert (finish - start).tolist() == [3, 0, 1, 2]


def test_colours_are_sent_when_they_are_chosen(schedule):
    """Nothing at first and for what the browser works out; one index per op for the others, which follow the schedule."""
    chart = Gantt.of(schedule)
    assert (chart.colours, chart.colour_names) == (b"", [])
    for way in ("scope", "layer", "slack"):
        chart.colour_by = way
        assert len(chart.colours) == schedule.problem.graph.n_ops
        assert max(chart.colours) < len(chart.colour_names) <= wire.COLOURS
    other = in_turn(schedule.problem.graph, 2)
    chart.show(other)
    assert (chart.colours, chart.colour_names) == wire.pack_slack(other)
    chart.colour_by = "device"
    assert chart.colours == b""
    assert re.findall(r'"([a-z -]+)"', re.search(r"WAYS = \[(.*?)\]", TYPESCRIPT.read_text(), re.DOTALL)[1]) == list(
        wire.WAYS
    )


def test_jobs_have_colours_of_their_own(schedule):
    """Micro-batch and phase of a pipeline, replica and phase of replicas; another graph takes the choice back."""
    piped = pl.generators.pipeline_training(1.0, 1.0, 1.0, microbatches=9, stages=2)
    chart = Gantt.of(pl.solve(piped, "heft", "zb-h1"))
    assert chart.colour_ways == ["micro-batch", "phase"]
    chart.colour_by = "micro-batch"
    columns = piped.graph.metadata["pipeline"]
    assert list(chart.colours) == [m % 7 for m in columns["microbatch"]]
    assert chart.colour_names[0] == "micro-batch 0, 7"
    chart.colour_by = "phase"
    names = {"F": "forward", "B": "backward, inputs", "W": "backward, weights"}
    assert [chart.colour_names[i] for i in chart.colours] == [names[p] for p in columns["phase"]]
    served = pl.transforms.model_replica(pl.load("alexnet"), 2)
    chart.show(pl.solve(pl.Problem(served, pl.clusters.parameter_server(2)), "heft"))
    assert chart.colour_ways == ["replica", "phase"]
    replica = served.metadata["replica"]
    assert [chart.colour_names[i] for i in chart.colours] == [replica["roles"][r] for r in replica["role"]]
    chart.colour_by = "replica"
    assert list(chart.colours) == [w if w >= 0 else 7 for w in replica["worker"]]
    chart.show(schedule)
    assert (chart.colour_ways, chart.colour_by, chart.colours) == ([], "kind", b"")


def test_slack_has_a_colour_of_its_own_for_none(schedule):
    """Index 0 is no slack; the others rise with it."""
    index = np.frombuffer(wire.pack_slack(schedule)[0], np.uint8)
    free = slack(schedule)
    np.testing.assert_array_equal(index == 0, free == 0)
    order = np.argsort(free, kind="stable")
    assert (np.diff(index[order].astype(int)) >= 0).all()


def test_layers_and_scopes():
    """Layers count ops before; scopes are the outermost that differ, most compute first."""
    chain = pl.OpGraph.from_arrays(
        ["n/a/x", "n/b/x", "n/b/y"], [1.0, 2.0, 3.0], [(0, 1), (1, 2)], edge_bytes=[1.0, 1.0]
    )
    assert wire.pack_layers(chain) == (b"\0\1\2", ["layer 1", "layer 2", "layer 3"])
    index, names = wire.pack_scopes(chain)
    assert (list(index), names[:2]) == ([1, 0, 0], ["n/b", "n/a"])
    long = pl.OpGraph.from_arrays(
        list("abcdefghijkl"), [1.0] * 12, [(i, i + 1) for i in range(11)], edge_bytes=[1.0] * 11
    )
    assert wire.pack_layers(long)[1][0] == "layers 1 to 2"
    assert list(wire.pack_scopes(long)[0]) == [7] * 12


def test_transfers_to_the_selected_op(schedule):
    """Those that carry an input of it to its device, whatever else its producers send there."""
    graph = schedule.problem.graph
    moved = schedule.transfers
    chart = Gantt.of(schedule)
    assert chart.incoming == []
    op = next(v for v in range(graph.n_ops) if len(graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]) > 1)
    chart.selection = op
    edges = graph.pred_edge[graph.pred_ptr[op] : graph.pred_ptr[op + 1]]
    tensors = set(graph.edge_tensor[edges].tolist())
    expected = [
        i for i, row in enumerate(moved) if row["tensor"] in tensors and row["destination"] == schedule.device[op]
    ]
    assert chart.incoming == [op, *expected] and expected
    chart.selection = -1
    assert chart.incoming == []


def test_a_clicked_gap_is_explained():
    """With the op that its device waited for; a device that was never chosen with the best visit. Another op ends it."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [(0, 1)], edge_bytes=[4.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0, 4.0], bandwidth=2.0))
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1]), "fifo")
    chart = Gantt.of(schedule)
    of = {(REASONS[gap["reason"]], gap["device"]): i for i, gap in enumerate(idle_gaps(schedule))}
    chart.gap = of["transfer", 1]  # selects a
    chart.selection = 0
    assert chart.detail.split("\n") == [
        "dev1 waited for: transfer of a ← a",
        "a on dev0 started at once: it has no inputs",
    ]
    chart.selection = 1
    assert chart.detail == "b on dev1 waited 4 for a from dev0 (transfer 2)"
    chart.selection = -1
    chart.gap = of["never chosen", 2]
    assert chart.detail == "dev2 was never chosen: the best visit, of b, would save 2.25"
    chart.show(schedule)
    assert chart.gap == -1


def test_memory_curves_are_packed_once_a_move(monkeypatch):
    """Also when lanes appear by themselves, and after the release of a drag that has sent them already."""
    packed = []
    computed = []
    pack = wire.pack_memory
    curves = schedules.curves
    monkeypatch.setattr(
        "placelab.app.widgets.gantt_chart.pack_memory", lambda *a, **k: packed.append(k) or pack(*a, **k)
    )
    monkeypatch.setattr(schedules, "curves", lambda s: computed.append(s) or curves(s))
    graph = pl.generators.layered(60, seed=0)
    tight = in_turn(graph, 2, memory="dynamic")
    tight = in_turn(graph, 2).problem.replace(
        memory="dynamic", cluster=tight.problem.cluster.replace(memory=tight.peak_memory.max())
    )
    place = pl.Placement(tight, np.arange(60) % 2)
    computed.clear()
    chart = Gantt.of(pl.simulate(tight, place, "fifo"))
    assert chart.memory_shown and len(packed) == len(computed) == 1
    chart.show(pl.simulate(tight, place, "fifo"), dragging=True)
    chart.settle()
    assert len(packed) == len(computed) == 2

"""Problems in plain numbers are recognised by one rule, and no unit is written for them anywhere."""

from __future__ import annotations

import re

import numpy as np
import pytest

import placelab as pl
from placelab.analysis.explanation import why
from placelab.app.cli.strategy_commands import summary
from placelab.app.explorer.panels.numbers import strip, with_change
from placelab.app.widgets.cluster_edit import Layout, describe
from placelab.app.widgets.decisions import Decisions
from placelab.app.widgets.gantt_chart import Gantt, gantt_traits
from placelab.app.widgets.graph_view import ModelGraph
from placelab.costs.new_costs import counts_plainly
from placelab.formats.task_graphs import stg

UNIT = re.compile(r"\d (?:[kMGTPmµn]?(?:s|B|B/s|FLOP|FLOP/s)|operations/s)\b")
STG = b"2\n 0 0 0\n 1 20 1 0\n 2 30 1 1\n 3 0 1 2\n"


def texts(problem):
    """What objects, numbers, explanations and figures say about a problem and its schedule."""
    placement = pl.place(problem, "heft", trace=True)
    schedule = pl.simulate(problem, placement, "planned")
    single = pl.solve(problem, "single", "fifo")
    shown = (problem, problem.cluster, problem.graph, placement, schedule, pl.difference(schedule, single))
    yield from map(repr, shown)
    yield from (x._repr_mimebundle_()["text/html"] for x in shown if hasattr(x, "_repr_mimebundle_"))
    items, warning = strip(schedule, [])
    yield from (f"{item['value']} {item['title']}" for item in with_change(items, schedule, single))
    yield warning
    yield summary(schedule)
    for v in range(problem.graph.n_ops):
        yield why(schedule, v)
        yield placement.trace.line(problem, v)
    view = Decisions.of(placement)
    yield view.page.decode("latin-1")
    yield " ".join(f"1 {unit}" for name, unit in view.about.items() if name.endswith("unit"))
    yield re.sub("<[^>]*>", " ", pl.plots.gantt(schedule))
    for figure in pl.plots.memory(schedule).children[:1]:
        plot = figure[0] if isinstance(figure, tuple) else figure
        yield re.sub(r"\[(.*)\]", r"1 \1", f"{plot.title.text} {plot.xaxis[0].axis_label} {plot.yaxis[0].axis_label}")


def problems_without_units():
    yield pl.datasets.problem("topcuoglu")
    graph = stg.loads(STG)
    yield pl.Problem(graph, pl.datasets.own_cluster(graph), memory="dynamic")
    yield pl.Problem(pl.costs.mayer(pl.load("alexnet")), pl.clusters.mayer50(devices=5), memory="dynamic")


@pytest.mark.parametrize("problem", list(problems_without_units()), ids=["topcuoglu", "stg", "mayer"])
def test_no_unit_is_written(problem):
    """No seconds, bytes or operations per second in any text; the views know it."""
    assert not problem.cluster.units.si and counts_plainly(problem.graph)
    for text in texts(problem):
        assert not UNIT.search(text), UNIT.search(text)
    schedule = pl.solve(problem, "heft")
    assert gantt_traits(schedule)["unitless"] and Gantt.of(schedule).unitless and ModelGraph.of(schedule).unitless
    assert describe(problem.cluster, Layout.of(problem.cluster))["unitless"]


def test_real_machines_keep_their_units():
    """Every preset but Mayer's, however it is measured: by its devices, its links or its memory alone."""
    for name in pl.clusters.PRESETS:
        assert pl.clusters.preset(name).units.si == (name != "mayer50")
    for cluster in (pl.Cluster([1e6]), pl.Cluster([1.0] * 2, bandwidth=1e9), pl.Cluster([1.0], memory=1e6)):
        assert cluster.units.si
    for cluster in (pl.Cluster([1.0]), pl.Cluster([1.0, 99.0], bandwidth=np.inf, memory=[8.0, None])):
        assert not cluster.units.si
    problem = pl.Problem(pl.load("alexnet"), pl.clusters.pcie_box())
    assert not counts_plainly(problem.graph)
    assert sum(bool(UNIT.search(text)) for text in texts(problem)) > 10
    assert not Gantt.of(pl.solve(problem)).unitless


@pytest.mark.parametrize("name", ["alexnet", "dynamic_rnn", "bert_base"])
def test_real_models_count_in_units(name):
    """FLOP, measured seconds, reference speeds; a graph without any is judged by its size."""
    assert not counts_plainly(pl.load(name))
    assert not counts_plainly(pl.generators.layered(10)) and counts_plainly(
        pl.generators.layered(10, compute=10, ccr=1e-3)
    )


def test_in_seconds_keeps_ratios():
    """A plan stays the same but for the unit of time; a graph in seconds is returned as it is."""
    graph = pl.load("topcuoglu")
    scaled = pl.costs.in_seconds(graph)
    assert not counts_plainly(scaled) and pl.costs.in_seconds(scaled) is scaled
    with pytest.raises(pl.UnsupportedError, match="in_seconds: unit is 'ms'; expected a number, above 0"):
        pl.costs.in_seconds(graph, unit="ms")
    cluster = pl.datasets.own_cluster(graph)
    before = pl.solve(pl.Problem(graph, cluster), "heft")
    after = pl.solve(pl.Problem(scaled, cluster.replace(speed=[1e13] * 3, bandwidth=12e9)), "heft")
    assert after.makespan == pytest.approx(0.08) and np.array_equal(before.device, after.device)


def test_speeds_that_matter():
    """Seconds without a speed hold at any; compute, seconds with a speed, gaps in a column and Send ops follow it."""
    names = ["a", "b"]
    edges = [(0, 1)]
    cluster = pl.Cluster([1e9] * 3, types=["x", "y", "z"], bandwidth=1e9)
    graph = pl.OpGraph.from_arrays(
        names, [1e9, 1e9], edges, time={"x": [1.0, 2.0], "y": [1.0, 2.0]}, time_speed={"y": 1e9}
    )
    problem = pl.Problem(graph, cluster)
    assert problem.speed_matters.tolist() == [False, True, True]
    for d, matters in enumerate(problem.speed_matters):
        faster = pl.Problem(graph, cluster.replace(speed=[2e9 if i == d else 1e9 for i in range(3)]))
        assert (faster.exec_table()[:, d] != problem.exec_table()[:, d]).any() == matters
    gap = pl.OpGraph.from_arrays(names, [1e9, 1e9], edges, time={"x": [1.0, np.nan]})
    assert pl.Problem(gap, cluster).speed_matters.all()
    assert not pl.Problem(gap, cluster).pin({"b": "z"}).speed_matters[0]
    assert pl.Problem(graph, cluster, transfer_ops=1.0).speed_matters.all()

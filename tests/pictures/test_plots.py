"""Bokeh figures show the schedule at every size, on light and dark pages."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.embed import file_html
from bokeh.models import HoverTool
from bokeh.resources import INLINE

import placelab as pl
from placelab.pictures.plots.style import INK


@pytest.fixture
def schedule():
    """A run with kinds of ops, transfers, Sends and idle time."""
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box(4), transfer_ops=10)
    return pl.solve(problem, "heft", "pct")


def bars(figure, column):
    """That column of all bars that have it, by renderer."""
    found = [r.data_source.data[column] for r in figure.renderers if column in r.data_source.data]
    return np.concatenate(found)


def test_gantt_has_every_op_in_its_lane_and_time(schedule):
    """Bars named like ops have the schedule's start, finish and device, in the unit of the axis."""
    figure = pl.plots.gantt(schedule)
    graph = schedule.problem.graph
    unit = {"time [s]": 1.0, "time [ms]": 1e-3, "time [µs]": 1e-6}[figure.xaxis[0].axis_label]
    drawn = {}
    for r in figure.renderers:
        data = r.data_source.data
        if "kind" in data:
            drawn |= {
                n: (a, b, c)
                for n, a, b, c in zip(data["name"], data["left"], data["right"], data["device"], strict=True)
            }
    assert set(drawn) == set(graph.names)
    for v, name in enumerate(graph.names):
        left, right, device = drawn[name]
        assert left * unit == pytest.approx(schedule.start[v])
        assert right * unit == pytest.approx(schedule.finish[v])
        assert device == schedule.problem.cluster.names[schedule.device[v]]
    moved = [r.data_source.data["bytes"] for r in figure.renderers if "bytes" in r.data_source.data]
    assert [len(b) for b in moved] == [len(schedule.transfers), len(schedule.sends)]
    assert figure.select(HoverTool)


def test_gantt_of_many_ops_and_of_one():
    """22,000 ops are drawn with WebGL; one op on one device is also drawn."""
    many = pl.Problem(pl.generators.layered(22_000), pl.Cluster.uniform(8))
    figure = pl.plots.gantt(pl.solve(many, "contiguous", "fifo"))
    assert figure.output_backend == "webgl"
    assert len(bars(figure, "kind")) == 22_000
    one = pl.Problem(pl.OpGraph.from_arrays(["only"], [1.0], []), pl.Cluster([1.0]))
    assert file_html(pl.plots.gantt(pl.solve(one, "single", "fifo")), INLINE)


def test_gantt_of_nothing_that_takes_time():
    """If no op takes time, the axis is empty, without an error."""
    problem = pl.Problem(pl.OpGraph.from_arrays(["a", "b"], [0.0, 0.0], [(0, 1)]), pl.Cluster([1.0, 1.0]))
    assert file_html(pl.plots.gantt(pl.simulate(problem, pl.Placement(problem, [0, 0]), "fifo")), INLINE)


@pytest.mark.parametrize("dark", [False, True, None])
def test_figures_take_the_colours_of_the_page(schedule, dark):
    """Transparent background, and text that is readable on light and dark pages."""
    frame = pl.compare(schedule.problem, ["heft", "single"], ["fifo"])
    for figure in (pl.plots.gantt(schedule, dark=dark), pl.plots.comparison(frame, dark=dark)):
        assert figure.background_fill_color is None
        assert figure.xaxis[0].major_label_text_color == INK[dark]


def cells(figure):
    """The data columns of the cells."""
    return figure.select_one({"name": "cells"}).data_source.data


def test_comparison_marks_the_best_and_says_the_gap(schedule):
    """A star marks the least makespan; a pair without a result is a dash with its reason on hover."""
    frame = pl.compare(schedule.problem, [name for name, f in pl.partitioners().items() if not f.slow])
    data = cells(pl.plots.comparison(frame))
    text = [a or b or c for a, b, c in zip(data["on_dark"], data["on_light"], data["on_page"], strict=True)]
    best = frame.loc[frame["makespan"].idxmin()]
    starred = [i for i, t in enumerate(text) if "★" in t]
    assert [(data["partitioner"][i], data["scheduler"][i]) for i in starred] == [(best.partitioner, best.scheduler)]
    assert f"+{100 * best.bound_gap:.0f} %" in text[starred[0]]
    for i, row in enumerate(frame.itertuples()):
        assert (text[i] == "–") == bool(row.error)
        assert not row.error or data["detail"][i] == row.error


def test_comparison_of_seeds_shows_their_mean(schedule):
    """Three seeds of one pair are one cell."""
    frame = pl.compare(schedule.problem, ["random"], ["fifo"], seeds=3)
    data = cells(pl.plots.comparison(frame))
    assert data["partitioner"] == ["random"]
    assert data["relative"] == [1.0]


def test_what_breaks_a_rule_is_never_best():
    """The faster run exceeds a device's memory: it has a warning, the other run the star."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [], memory=[1.0, 1.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0]))
    frame = pl.compare(problem, ["round-robin", "single"], ["fifo"])
    frame["oom"] = [True, False]
    text = cells(pl.plots.comparison(frame))["on_dark"]
    assert "⚠" in text[0]
    assert "★" in text[1]


def test_comparison_not_yet_complete_and_stale(schedule):
    """One row or none are figures, too; stale cells are pale, with readable text."""
    frame = pl.compare(schedule.problem, ["heft"], ["fifo", "planned"])
    assert file_html(pl.plots.comparison(frame.head(1), stale=True), INLINE)
    assert file_html(pl.plots.comparison(frame.head(0)), INLINE)
    figure = pl.plots.comparison(frame, stale=True)
    assert figure.select_one({"name": "cells"}).glyph.fill_alpha < 0.5
    assert all(cells(figure)["on_page"])


def test_bokeh_and_pandas_are_imported_on_use():
    """Importing placelab and placelab.plots loads neither."""
    import subprocess
    import sys

    code = "import sys, placelab; placelab.plots; print([m for m in ('bokeh', 'pandas') if m in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


# ---------------------------------------------------------------- memory


@pytest.fixture
def crowded():
    """A run that exceeds some device's memory for a while."""
    graph = pl.generators.layered(60, seed=2)
    free = pl.solve(pl.Problem(graph, pl.Cluster.uniform(3)), "heft", "pct")
    problem = pl.Problem(graph, pl.Cluster.uniform(3, memory=0.7 * free.peak_memory.max()))
    return pl.simulate(problem, pl.Placement(problem, free.device), "pct")


def panels(grid):
    """The figures of a grid, from the top."""
    return [child for child, _, _ in sorted(grid.children, key=lambda c: c[1])]


def column(figure, name, label):
    """A column of the glyphs of that name."""
    return np.asarray(figure.select_one({"name": name}).data_source.data[label])


def test_memory_curves_are_the_schedules(crowded):
    """In each panel: times, bytes, capacity and spans out of memory, in the units of the axes."""
    drawn = panels(pl.plots.memory(crowded))
    time = {"time [ms]": 1e-3, "time [µs]": 1e-6}[drawn[-1].xaxis[0].axis_label]
    size = {"memory [MB]": 1e6, "memory [kB]": 1e3}[drawn[0].yaxis[0].axis_label]
    assert [p.xaxis[0].visible for p in drawn] == [False, False, True]
    assert len(crowded.oom)
    for d, panel in enumerate(drawn):
        times, used = crowded.memory(d)
        assert column(panel, "curve", "time")[:-1] * time == pytest.approx(times)
        assert column(panel, "curve", "used")[:-1] * size == pytest.approx(used)
        (line,) = panel.select({"name": "capacity"})
        assert line.location * size == pytest.approx(crowded.problem.cluster.memory[d])
        short = crowded.oom[crowded.oom["device"] == d]
        for label, name, unit in (("start", "left", time), ("finish", "right", time), ("bytes", "missing", size)):
            assert column(panel, "short", name) * unit == pytest.approx(short[label])
        assert f"dev{d}: peak" in panel.title.text and "capacity" in panel.title.text
    assert drawn[0].x_range is drawn[1].x_range and drawn[0].y_range is drawn[1].y_range


def test_memory_that_nothing_limits():
    """An unlimited capacity is neither drawn nor written; one far above all use is only written."""
    for memory, model, text in ((None, "none", ""), (16e12, "none", ""), (16e12, "dynamic", "capacity 16 TB")):
        problem = pl.Problem(pl.generators.layered(30), pl.Cluster.uniform(2, memory=memory), memory=model)
        for panel in panels(pl.plots.memory(pl.solve(problem, "heft", "pct"))):
            assert not panel.select({"name": "capacity"})
            assert text in panel.title.text if text else "capacity" not in panel.title.text


def test_memory_of_many_devices_and_of_nothing():
    """Of fifty devices the fullest sixteen are drawn; a graph without memory is a figure, too."""
    problem = pl.Problem(pl.generators.layered(300), pl.clusters.mayer50())
    schedule = pl.solve(problem, "heft", "pct")
    drawn = [panel.title.text.partition(":")[0] for panel in panels(pl.plots.memory(schedule))]
    full = np.argsort(-schedule.peak_memory, kind="stable")[:16]
    assert drawn == [problem.cluster.names[d] for d in np.sort(full)]
    empty = pl.Problem(pl.OpGraph.from_arrays(["a"], [0.0], []), pl.Cluster([1.0]))
    assert file_html(pl.plots.memory(pl.solve(empty, "single", "fifo")), INLINE)


def test_the_pair_selected_has_a_frame_of_two_colours(schedule):
    """One of them contrasts with any cell; only cells react to hover, not the frames over them."""
    plot = pl.plots.comparison(pl.compare(schedule.problem, ["heft"], ["fifo"]))
    frames = [r for r in plot.renderers if getattr(r.glyph, "line_alpha", None) == 0.0]
    assert [r.selection_glyph.line_color for r in frames] == ["black", "white"]
    assert all(r.selection_glyph.line_alpha == 1.0 and r.nonselection_glyph.line_alpha == 0.0 for r in frames)
    assert [r.name for r in plot.hover.renderers] == ["cells"]

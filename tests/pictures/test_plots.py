"""Figures show the schedule at every size, on light and dark pages."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest
from bokeh.embed import file_html
from bokeh.resources import INLINE
from pictures import HOSTILE, MOST_BYTES, find, read

import placelab as pl
from placelab.pictures.style import INK


@pytest.fixture
def schedule():
    """A run with kinds of ops, transfers, Sends and idle time."""
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box(4), transfer_ops=10)
    return pl.solve(problem, "heft", "pct")


def test_gantt_is_the_picture_of_the_schedule_as_an_image(schedule):
    """An SVG file with the bars that a cell shows, and a legend of their colours within its width, whatever kinds are called."""
    image = pl.plots.gantt(schedule)
    root = ElementTree.fromstring(image)
    drawn = [path.get("d") for path in find(root, "path")]
    assert drawn == [path.get("d") for path in find(read(schedule), "path")]
    words = {text.text: float(text.get("x")) + 7 * len(text.text) for text in find(root, "text")}
    assert {"MatMul", "Conv2D", "Send", "critical path"} < words.keys()
    assert max(words.values()) < int(root.get("width"))
    used = {path.get("stroke") for path in find(root, "path")} - {None, "currentColor"}  # the grid is in the text's
    assert used <= {patch.get("fill") for patch in find(root, "rect")}
    assert image._repr_svg_() == image and "background:#fff;color:#111" in root.get("style")


def test_gantt_of_many_ops_of_one_and_of_nothing_that_takes_time():
    """22,000 ops of hostile kinds are a file of at most 100 KB; one op without a kind, and ops of no time, are drawn, too."""
    graph = pl.OpGraph.from_arrays(
        np.arange(22_000).astype(str).tolist(), np.ones(22_000), [], kind=np.resize(HOSTILE[:3], 22_000)
    )
    many = pl.plots.gantt(pl.solve(pl.Problem(graph, pl.Cluster.uniform(8)), "contiguous", "fifo"))
    assert len(many.encode()) <= MOST_BYTES and "alert(1)" in "".join(ElementTree.fromstring(many).itertext())
    for graph in (pl.OpGraph.from_arrays(["a"], [1.0], []), pl.OpGraph.from_arrays(["a", "b"], [0.0, 0.0], [(0, 1)])):
        assert ElementTree.fromstring(pl.plots.gantt(pl.solve(pl.Problem(graph, pl.Cluster([1.0])), "single", "fifo")))


@pytest.mark.parametrize("dark", [False, True, None])
def test_figures_take_the_colours_of_the_page(schedule, dark):
    """Transparent background, and text that is readable on light and dark pages."""
    for figure in panels(pl.plots.memory(schedule, dark=dark)):
        assert figure.background_fill_color is None
        assert figure.xaxis[0].major_label_text_color == INK[dark]


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

"""Figures of sensitivities and differences: every value is a point, units stand on the axes, failures are seen."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.embed import file_html
from bokeh.models.annotations import Span
from bokeh.resources import INLINE

import placelab as pl
from placelab.pictures.style import INK, PALETTE

UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "GB/s": 1e9, "MB/s": 1e6, "GB": 1e9, "MB": 1e6, "T operations/s": 1e12}


@pytest.fixture(scope="module")
def problem():
    """A small network on four GPUs."""
    return pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box(4), memory="dynamic")


def unit(axis) -> float:
    """Size of the unit in brackets on an axis."""
    return UNITS[axis.axis_label.partition("[")[2].partition("]")[0]]


@pytest.mark.parametrize("over", ["bandwidth", "latency", "speed", "memory"])
def test_every_value_is_a_point_of_its_pairs_line(problem, over):
    """In the units of the axes; the present value is marked."""
    frame = pl.sensitivity(problem, [("heft", "planned"), ("single", "fifo")], over=over)
    figure = pl.plots.sensitivity(frame)
    lines = [renderer.data_source.data for renderer in figure.select({"name": "points"})]
    assert len(lines) == 2
    for data in lines:
        mine = frame[
            [p + " + " + s == data["pair"][0] for p, s in zip(frame["partitioner"], frame["scheduler"], strict=True)]
        ]
        mine = mine[mine["error"] == ""]
        assert data["value"] * unit(figure.xaxis[0]) == pytest.approx(mine["value"])
        assert data["makespan"] * unit(figure.yaxis[0]) == pytest.approx(mine["makespan"])
    (present,) = figure.select(Span)
    assert present.location * unit(figure.xaxis[0]) == pytest.approx(frame["value"][15])
    assert figure.xaxis[0].axis_label.startswith(over)
    assert file_html(figure, INLINE)


def test_plain_numbers_have_no_units():
    """Topcuoglu's ten tasks have times without a unit: none on axes and in legends, whatever rows are drawn."""
    problem = pl.Problem(pl.load("topcuoglu"), pl.Cluster([1.0] * 3, bandwidth=1.0))
    over = pl.plots.sensitivity(pl.sensitivity(problem, "heft", over="bandwidth").iloc[5:])
    assert (over.xaxis[0].axis_label, over.yaxis[0].axis_label) == ("bandwidth", "makespan")
    steps = pl.plots.iterations(pl.iterations(problem, pl.place(problem, "heft"), "fifo", runs=3))
    assert steps.xaxis[0].axis_label == "step time" and " s" not in steps.legend[0].items[0].label.value.split("sd")[0]


def test_failures_and_lack_of_memory_are_seen():
    """A cross on the axis with the reason, a ring around a run that overfills a device; 0 makes the axis linear."""
    crowded = pl.OpGraph.from_arrays(
        list("abc"), [1.0] * 3, [(0, 2), (1, 2)], edge_bytes=[3.0, 3.0], persistent=[1.0] * 3
    )
    problem = pl.Problem(crowded, pl.Cluster([1.0], memory=[20.0]))
    frame = pl.sensitivity(problem, "single", "fifo", over="memory", values=[0.0, 2.0, 6.5, 20.0])
    figure = pl.plots.sensitivity(frame)
    (crosses,) = [renderer.data_source.data for renderer in figure.select({"name": "failed"})]
    assert crosses["value"].tolist() == [0.0, 2.0]
    assert list(crosses["detail"]) == frame["error"][:2].tolist()
    (rings,) = [renderer.data_source.data for renderer in figure.select({"name": "short"})]
    assert rings["value"].tolist() == [6.5]
    assert type(figure.x_scale).__name__ == "LinearScale"
    nothing = pl.sensitivity(problem, "single", over="memory", values=[1.0])
    assert file_html(pl.plots.sensitivity(nothing), INLINE)
    assert file_html(pl.plots.sensitivity(frame.head(0)), INLINE)


def test_what_is_no_sensitivity_is_refused(problem):
    """Another table, and two parameters at once."""
    with pytest.raises(pl.FormatError, match="no column"):
        pl.plots.sensitivity(pl.compare(problem, ["single"], ["fifo"]))
    import pandas as pd

    both = [pl.sensitivity(problem, "single", over=over, values=[1e9]) for over in ("bandwidth", "speed")]
    with pytest.raises(pl.FormatError, match="one parameter"):
        pl.plots.sensitivity(pd.concat(both))


@pytest.fixture(scope="module")
def change(problem):
    """One GPU, then four."""
    return pl.difference(pl.solve(problem, "single"), pl.solve(problem, "heft"))


def panels(grid):
    """The two figures of a difference."""
    return [child for child, *_ in grid.children]


@pytest.mark.parametrize("by", ["kind", "scope"])
def test_bars_say_what_was_saved_and_lost(change, by):
    """A bar each, in the unit of the axis; those left out are one."""
    table = change.by_kind() if by == "kind" else change.by_scope()
    bars, _ = panels(pl.plots.difference(change, by=by, rows=3))
    size = UNITS[bars.xaxis[0].axis_label.partition("[")[2].partition("]")[0]]
    saved, lost = (bars.select_one({"name": name}).data_source.data for name in ("saved", "lost"))
    assert saved["right"][:3] * size == pytest.approx(table["saved"][:3])
    assert lost["left"][:3] * size == pytest.approx(-table["lost"][:3])
    assert sum(saved["right"]) * size == pytest.approx(table["saved"].sum())
    assert len(saved["name"]) == min(len(table), 4)
    assert sum(saved["moved"]) == len(change.moved)


def test_long_names_leave_the_bars_their_room():
    """Their middle is left out beside the axis, and whole on hover."""
    scope = "model/" + "very_long_scope_of_a_name/" * 4 + "attention"
    graph = pl.OpGraph.from_arrays([f"{scope}/op"], [1.0], [])
    problem = pl.Problem(graph, pl.Cluster([1.0, 2.0]))
    runs = [pl.simulate(problem, pl.Placement(problem, [device]), "fifo") for device in (0, 1)]
    bars, _ = panels(pl.plots.difference(*runs, by="scope", depth=9))
    (label,) = bars.yaxis[0].major_label_overrides.values()
    assert len(label) == 40 and label.startswith("model/") and "…" in label and label.endswith("/attention")
    assert bars.select_one({"name": "saved"}).data_source.data["name"] == [scope]


def test_runs_that_are_alike_have_no_deviation():
    """Rounding is none: the mean of three times 0.1 is not 0.1."""
    problem = pl.Problem(pl.OpGraph.from_arrays(["a"], [0.1], []), pl.Cluster([1.0], bandwidth=1e9))
    frame = pl.iterations(problem, pl.place(problem, "single"), "fifo", runs=3)
    assert frame["step"].to_numpy().std() > 0
    (entry,) = pl.plots.iterations(frame).legend[0].items
    assert entry.label.value.partition(", ")[2] in ("sd 0", "sd 0 s")


def test_each_op_is_a_point(change):
    """When it finished, how much earlier it does; two schedules are as good as their difference."""
    _, shifts = panels(pl.plots.difference(change.a, change.b))
    drawn = {}
    for name in ("same device", "another device"):
        for renderer in shifts.select({"name": name}):
            data = renderer.data_source.data
            drawn |= dict(zip(data["name"], zip(data["finish"], data["earlier"], strict=True), strict=True))
    sizes = unit(shifts.xaxis[0]), unit(shifts.yaxis[0])
    assert set(drawn) == set(change.ops["name"])
    for row in change.ops.itertuples():
        at = np.array(drawn[row.name]) * sizes
        assert at == pytest.approx([row.finish_a, row.finish_a - row.finish_b])


@pytest.mark.parametrize("dark", [False, True, None])
def test_they_take_the_colours_of_the_page(problem, change, dark):
    """Ink that reads on a light or dark page; nothing that changed is a figure, too."""
    figure = pl.plots.sensitivity(pl.sensitivity(problem, "single", values=[1e9, 2e9]), dark=dark)
    (moved, *_) = panels(pl.plots.difference(change.a, change.b, dark=dark))[1].select({"name": "another device"})
    assert moved.glyph.fill_color == PALETTE[4 if dark else 0]  # the darker blue is hardly seen on a dark page
    grids = [pl.plots.difference(x, y, dark=dark) for x, y in ((change.a, change.b), (change.a, change.a))]
    for drawn in (figure, *panels(grids[0]), *panels(grids[1])):
        assert drawn.background_fill_color is None
        assert drawn.xaxis[0].major_label_text_color == INK[dark]
    assert all(file_html(grid, INLINE) for grid in grids)
    with pytest.raises(pl.FormatError, match="by is"):
        pl.plots.difference(change, by="colour")
    with pytest.raises(pl.FormatError, match="Schedule"):
        pl.plots.difference(change.a)

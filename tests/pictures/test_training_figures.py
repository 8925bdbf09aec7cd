"""Figures of training runs: every interval is a bar, every failure a mark, and the best interval is ringed."""

from __future__ import annotations

import numpy as np
import pytest
from bokeh.embed import file_html
from bokeh.resources import INLINE

import placelab as pl
from placelab.analysis.faults import KINDS, over_intervals, simulate_training
from placelab.pictures.training_figures import progress


def test_a_run_is_bars_marks_and_a_line():
    """F1, in the axis' unit."""
    runs = simulate_training(10, 10, every=3, save=2, restore=5, failures=[47], detect=1)
    figure = pl.plots.training(runs)
    for kind, name in enumerate(KINDS):
        (bars,) = figure.select({"name": name})
        rows = runs.intervals[runs.intervals["kind"] == kind]
        assert bars.data_source.data["left"] * 60 == pytest.approx(rows["start"])
        assert bars.data_source.data["right"] * 60 == pytest.approx(rows["finish"])
    (marks,) = figure.select({"name": "failures"})
    assert marks.data_source.data["time"] * 60 == pytest.approx([47])
    labels = [item.label.value for item in figure.legend[0].items]
    assert labels == ["useful 79 %", "saving 4.7 %", "lost 12 %", "detecting 0.8 %", "restoring 3.9 %", "1 failure"]
    assert figure.xaxis[0].axis_label == "time [min]"
    assert file_html(figure, INLINE)


def test_progress_falls_where_steps_are_lost():
    """F3: to the last checkpoint; a restore that fails is no progress."""
    time, steps = progress(simulate_training(10, 10, every=3, save=2, restore=5, failures=[47, 50], detect=1))
    at = list(zip(time.tolist(), steps.tolist(), strict=True))
    assert (47, 4.5) in at and (47, 3) in at and (50, 3) in at
    assert max(y for t, y in at if 47 < t <= 56) == 3 and at[-1] == (130, 10)


def test_several_runs_are_named_in_the_title():
    """The figure shows the first and gives the mean of all."""
    runs = simulate_training(10, 30, every=3, save=2, restore=5, mtbf=100, runs=20)
    title = pl.plots.training(runs).title.text
    assert "the first of 20 runs; mean" in title


def test_the_best_interval_is_ringed():
    """At the least total of each curve; totals that are not finite are left out."""
    curves = {str(m): over_intervals(10, 300, save=2, restore=5, mtbf=m) for m in (3, 200, 2000)}
    figure = pl.plots.checkpoint_intervals(curves)
    rings = {ring.data_source.data["label"][0]: ring.data_source.data for ring in figure.select({"name": "best"})}
    lines = {line.data_source.data["label"][0]: line.data_source.data for line in figure.select({"name": "line"})}
    for label, table in curves.items():
        assert rings[label]["every"].tolist() == [table["every"][np.argmin(table["expected"])]]
        assert len(lines[label]["every"]) == np.isfinite(table["expected"]).sum()
    assert len(lines["3"]["every"]) < len(lines["2000"]["every"])
    assert file_html(figure, INLINE) and file_html(pl.plots.checkpoint_intervals(curves["200"]), INLINE)


def test_other_tables_are_refused():
    """The error names the column, or says that nothing is finite."""
    with pytest.raises(pl.FormatError, match="no column 'every'"):
        pl.plots.checkpoint_intervals(np.zeros(3))
    with pytest.raises(pl.FormatError, match="no total of the curve is finite"):
        pl.plots.checkpoint_intervals(over_intervals(1e5, 300, save=2, mtbf=1))
    with pytest.raises(pl.FormatError, match="needs a TrainingRuns"):
        pl.plots.training(3)


def test_the_best_so_far_over_samples():
    """A line per placement, named; the values are those of the tables."""
    problem = pl.Problem(pl.generators.layered(30, seed=1), pl.clusters.pcie_box(2))
    named = {start: pl.place(problem, "cem", start=start, samples=300) for start in ("m-etf", "uniform")}
    figure = pl.plots.learning_curves(named, dark=True)
    assert figure.legend[0] in figure.right  # beside the lines
    assert figure.xaxis[0].axis_line_color == figure.xaxis[0].axis_label_text_color == "#f2f2f2"
    lines = [renderer.data_source.data for renderer in figure.renderers[::2]]
    assert [line["name"][0] for line in lines] == list(named)
    assert figure.yaxis[0].axis_label == "makespan [ms]"
    for line, placement in zip(lines, named.values(), strict=True):
        assert line["samples"].tolist() == placement.table.samples.tolist()
        assert line["best"] == pytest.approx(1e3 * placement.table.best)
        assert line["mean"] == pytest.approx(1e3 * placement.table["mean"])
    assert file_html(figure, INLINE)


def test_other_placements_have_no_curve():
    """The error names those that make one."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    with pytest.raises(pl.UnsupportedError, match="by 'heft' has no learning curve; cem and"):
        pl.plots.learning_curves(pl.place(problem, "heft"))

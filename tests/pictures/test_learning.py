"""learning_curves: what the table of a learned placement says, in the unit of the axis."""

import pytest
from bokeh.embed import file_html
from bokeh.resources import INLINE

import placelab as pl


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

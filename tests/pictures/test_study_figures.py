"""Figures of studies, against numbers worked out by hand and a published example."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import placelab as pl
from placelab.base.errors import FormatError
from placelab.pictures.study_figures import ranked

# Areas under the curve of C4.5, with m, with cf, with both, on 14 data sets: Demšar (2006), table 6. The third of the line before
# the last is printed as 0.975; its rank there is 2, before the fourth's, so it was larger before rounding.
DEMSAR = """
0.763 0.768 0.771 0.798
0.599 0.591 0.590 0.569
0.954 0.971 0.968 0.967
0.628 0.661 0.654 0.657
0.882 0.888 0.886 0.898
0.936 0.931 0.916 0.931
0.661 0.668 0.609 0.685
0.583 0.583 0.563 0.625
0.775 0.838 0.866 0.875
1.000 1.000 1.000 1.000
0.940 0.962 0.965 0.962
0.619 0.666 0.614 0.669
0.972 0.981 0.9754 0.975
0.957 0.978 0.946 0.970
"""


def frame(makespans: list[list[float]], **columns: list) -> pd.DataFrame:
    """A study with one row per problem (down) and strategy a, b, c … (across); NaN is a failure."""
    rows = []
    for i, line in enumerate(makespans):
        described = {name: values[i] for name, values in columns.items()}
        for name, makespan in zip("abcdefgh", line, strict=False):
            known = makespan == makespan
            row = dict(problem=f"p{i}", **described, partitioner=name, scheduler="fifo", seed=0, makespan=makespan)
            rows.append(row | dict(bound_gap=0.0, valid=known, oom=False, seconds=0.0, error="" if known else "no"))
    return pd.DataFrame(rows)


def columns_of(figure, name: str) -> list[dict]:
    """The data of all renderers of that name."""
    return [dict(renderer.data_source.data) for renderer in figure.renderers if renderer.name == name]


def test_demsars_ranks():
    """Mean ranks, Friedman's and Iman and Davenport's statistics, and critical differences as printed in §3.2."""
    area = np.array([line.split() for line in DEMSAR.strip().splitlines()], dtype=float)
    ranks = ranked(-area)
    assert ranks.mean.round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    assert round(ranks.chi2, 2) == 9.28 and round(ranks.f, 2) == 3.69
    assert 0.01 < ranks.p < 0.05  # F(3, 39) is 2.85 at 0.05
    assert round(ranks.critical, 2) == 1.25 and round(ranked(-area, 0.10).critical, 2) == 1.12


def test_mean_ranks_are_drawn_best_first():
    """By hand: a is best three times of four, b shares once with c; a failure is last."""
    plot = pl.plots.mean_ranks(frame([[1, 2, 3], [1, 2, 2], [1, 3, np.nan], [2, 1, 3]]))
    (dots,) = columns_of(plot, "ranks")
    assert list(dots["strategy"]) == ["a", "b", "c"]
    assert np.allclose(dots["rank"], [1.25, (2 + 2.5 + 2 + 1) / 4, (3 + 2.5 + 3 + 3) / 4])
    width = np.asarray(dots["right"]) - dots["left"]
    assert np.allclose(width, 2.343701 * np.sqrt(3 * 4 / (6 * 4)), atol=1e-4)  # q of 3 groups at 0.05, Demšar's table 5
    assert np.isinf(ranked(np.array([[1.0, 2.0], [1.0, 2.0]])).f)


def test_performance_profiles_by_hand():
    """Ratios of a: 1, 2, 1; of b: 1.5, 1, no result; so ρ_a(1) = 2/3, ρ_a(2) = 1, ρ_b(1) = 1/3, ρ_b(1.5) = 2/3."""
    plot = pl.plots.performance_profile(frame([[2, 3], [8, 4], [5, np.nan]]), most=4)
    a, b = columns_of(plot, "profile")
    assert list(zip(a["tau"], a["share"], strict=True)) == [(1, pytest.approx(2 / 3)), (2, 1), (4, 1)]
    assert list(zip(b["tau"], np.round(b["share"], 3), strict=True)) == [(1, 0.333), (1.5, 0.667), (4, 0.667)]


def test_means_over_seeds_and_a_study_under_way():
    """Seeds of a problem count once; a problem that one strategy was not run on is left out."""
    one = frame([[2, 3], [8, 4]])
    more = pd.concat([one, one.assign(seed=1, makespan=one["makespan"] + 2)]).iloc[:-1]
    (a, _) = columns_of(pl.plots.performance_profile(more), "profile")
    assert a["share"][0] == 0.5
    (a, _) = columns_of(pl.plots.performance_profile(one.iloc[:-1]), "profile")
    assert a["share"][0] == 1
    with pytest.raises(FormatError, match="no problem that all strategies"):
        pl.plots.performance_profile(one.iloc[[0, 3]])
    with pytest.raises(FormatError, match="no column 'problem'"):
        pl.plots.winners(one.drop(columns="problem"), "x", "y")


def test_bootstrapped_ratios_by_hand():
    """Ratios 1 and 4: samples of two have the mean 1, 2, 2 or 4, so 95 % of them are within 1 and 4, and 40 % at 2."""
    table = frame([[1, 1], [1, 4], [1, np.nan]])
    (wide,) = columns_of(pl.plots.ratio_intervals(table), "means")
    assert np.allclose([wide["low"][1], wide["mean"][1], wide["high"][1]], [1, 2, 4]) and list(wide["n"]) == [3, 2]
    (narrow,) = columns_of(pl.plots.ratio_intervals(table, level=0.4), "means")
    assert np.allclose([narrow["low"][1], narrow["high"][1]], 2)
    (other,) = columns_of(pl.plots.ratio_intervals(table, "b"), "means")
    assert np.allclose(other["mean"], [0.5, 1])
    with pytest.raises(FormatError, match="there are a, b"):
        pl.plots.ratio_intervals(table, "z")


def test_winners_by_hand():
    """Of two problems in a cell, a is 1 and 4 times the best, b 2 times and 1: means 2 and √2, so b wins by 41 %."""
    table = frame([[1, 2], [4, 1], [3, 4], [np.nan, np.nan]], x=[2, 2, 10, 10], y=["u", "u", "u", "v"])
    cells = {
        (x, y): (winner, mean, second)
        for data in columns_of(pl.plots.winners(table, "x", "y"), "cells")
        for x, y, winner, mean, second in zip(*(data[k] for k in ("x", "y", "winner", "mean", "second")), strict=True)
    }
    assert set(cells) == {("2", "u"), ("10", "u")}
    assert cells["2", "u"] == ("b", pytest.approx(np.sqrt(2)), "a, 41.4 % longer")
    assert cells["10", "u"] == ("a", 1.0, "b, 33.3 % longer")
    assert list(pl.plots.winners(table, "x", "y").x_range.factors) == ["2", "10"]
    with pytest.raises(FormatError, match="no column 'z'"):
        pl.plots.winners(table, "z", "y")


def test_strategies_that_tie_win_together():
    """All of them are named, the cell is hatched, and the second best is the first that does not tie."""
    table = frame([[1, 2, 1], [3, 1, 2]], x=[2, 10], y=["u", "u"])
    cells = {
        data["x"][i]: {key: data[key][i] for key in ("first", "hatch", "winner", "second")}
        for data in columns_of(pl.plots.winners(table, "x", "y"), "cells")
        for i in range(len(data["x"]))
    }
    assert cells["2"] == dict(first="a", hatch="/", winner="a, c (tie)", second="b, 100.0 % longer")
    assert cells["10"] == dict(first="b", hatch=" ", winner="b", second="c, 100.0 % longer")


def test_winners_of_a_table_that_was_a_file():
    """Names that a file gives back as numbers, and names as a column of the plane, are problems, too."""
    table = frame([[1, 2], [4, 1]], x=[2, 10])
    read = table.assign(problem=table["problem"].str.strip("p").astype(int))
    for x, y in (("x", "problem"), ("problem", "problem"), ("x", "x")):
        cells = columns_of(pl.plots.winners(read, x, y), "cells")
        assert [(data["x"], data["y"]) for data in cells] == [([str(read[x][i])], [str(read[y][i])]) for i in (0, 2)]


def test_a_real_study_is_drawn():
    """All four figures, dark and light."""
    problems = pl.grid(pl.generators.fft(4), [2, 3], bandwidth=[1e9, 1e10])
    table = pl.study(problems, ["heft", "single", "round-robin"], ["fifo", "planned"], processes=0)
    for dark in (None, False, True):
        for draw in (pl.plots.performance_profile, pl.plots.mean_ranks, pl.plots.ratio_intervals):
            assert draw(table, dark=dark).renderers
        assert pl.plots.winners(table, "bandwidth", "devices", dark=dark).renderers

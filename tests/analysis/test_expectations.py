"""Closed forms: the best interval between checkpoints, expected times, failure rates of systems."""

from __future__ import annotations

import math

import numpy as np
import pytest

import placelab as pl
from placelab.analysis.faults import expected_segment_time, expected_training_time, over_intervals, system_mtbf


@pytest.mark.parametrize(
    ("save", "mtbf", "expected"),
    [
        (60, 36_000, (2078.4610, 2038.6534, 2038.6549)),
        (600, 86_400, (10182.3376, 9786.2660, 9786.3282)),
        (2, 200, (28.2843, 26.9667, 26.9670)),
    ],
)
def test_the_best_interval(save, mtbf, expected):
    """F8: Young's, Daly's, the exact one."""
    found = [pl.checkpoint_interval(save, mtbf, method=name) for name in ("young", "daly", "exact")]
    assert found == pytest.approx(expected, abs=5e-5)


def test_the_overhead_at_the_best_interval():
    """F8: 6.0040 % at Young's interval, 6.0029 % at the optimum, and more beside it."""
    over = lambda w: expected_segment_time(w, save=60, restore=0, mtbf=36_000) / w - 1  # noqa: E731
    best, young = (pl.checkpoint_interval(60, 36_000, method=name) for name in ("exact", "young"))
    assert 100 * over(young) == pytest.approx(6.0040, abs=5e-5) and 100 * over(best) == pytest.approx(6.0029, abs=5e-5)
    assert over(best) < min(over(best * 0.999), over(best * 1.001))


def test_methods_agree_where_saves_are_short_and_end_where_they_are_long():
    """Daly's interval is μ from a save of 2 μ on; the exact one is never longer than μ."""
    assert pl.checkpoint_interval(1e-3, 1e6, method="daly") == pytest.approx(
        pl.checkpoint_interval(1e-3, 1e6), rel=1e-6
    )
    assert pl.checkpoint_interval(500, 200, method="daly") == 200
    assert 199 < pl.checkpoint_interval(2000, 200) <= 200


@pytest.mark.parametrize(("save", "mtbf"), [(1e-3, 1e13), (1e-6, 1e9), (1.0, 1e7), (1.0, 2e5), (1e-300, 1e300)])
def test_the_interval_is_exact_for_short_saves(save, mtbf):
    """It solves s + ln(1 - s) = -C/μ, where s is the interval over μ, however small C/μ is."""
    s = pl.checkpoint_interval(save, mtbf) / mtbf
    assert math.fsum(s**n / n for n in range(2, 9)) == pytest.approx(save / mtbf, rel=1e-9)
    assert pl.checkpoint_interval(save, mtbf) == pytest.approx(math.sqrt(2 * save * mtbf), rel=1e-2)


def test_nothing_to_do_takes_no_time_whatever_a_restore_takes():
    """Also where the restore alone exceeds the range of numbers."""
    assert expected_segment_time(0, save=0, restore=1e6, mtbf=1) == 0
    assert expected_segment_time([0, 1], save=0, restore=1e6, mtbf=1).tolist() == [0, np.inf]


def test_the_expected_time_of_a_segment():
    """F9."""
    assert expected_segment_time(3600, save=60, restore=30, mtbf=36_000, detect=10) == pytest.approx(
        3856.8014, abs=5e-5
    )


def test_the_expected_time_of_a_run():
    """F10: the sum over segments; the best number of steps is 3, the best interval 2.70 steps."""
    facts = dict(save=2, restore=5, mtbf=200, detect=1)
    found = expected_training_time(10, 300, every=np.array([1, 3, 10, 30, 100]), **facts)
    assert found == pytest.approx([3820.6, 3572.6, 4106.5, 7241.0, 90997.5], abs=0.05)
    curve = over_intervals(10, 300, **facts)
    assert curve["every"][np.argmin(curve["expected"])] == 3
    assert pl.checkpoint_interval(2, 200) / 10 == pytest.approx(2.70, abs=0.005)
    assert curve["seconds"].tolist() == [10 * n for n in curve["every"]]
    assert curve["every"][[0, -1]].tolist() == [1, 300]


def test_an_expected_time_is_monotone():
    """It rises with the time of a save, a restore, a detection, a start, and with the failure rate."""
    base = dict(save=2.0, restore=5.0, start=1.0, detect=1.0, mtbf=200.0)
    every = np.arange(1, 40)
    for name, more in dict(save=3.0, restore=6.0, start=2.0, detect=2.0, mtbf=150.0).items():
        now, then = (expected_training_time(10, 40, every=every, **facts) for facts in (base, base | {name: more}))
        assert (then > now).all()
    assert (expected_training_time(10, 40, every=every, **base) > 400).all()


def test_beyond_the_range_of_numbers_it_is_infinite():
    """Without a warning."""
    found = expected_training_time(10, 300, every=[1, 300], save=2, mtbf=2.0)
    assert np.isfinite(found[0]) and found[1] == np.inf


def test_a_system_fails_when_one_device_does():
    """Rates add up; a device that never fails adds none."""
    assert system_mtbf([100.0, 300.0]) == 75 and system_mtbf([50.0, np.inf]) == 50
    assert system_mtbf([np.inf]) == np.inf
    for wrong in ([], [0.0], [1.0, -1.0], [np.nan], 5.0, ["a"], None):
        with pytest.raises(pl.FormatError, match="times between failures"):
            system_mtbf(wrong)


@pytest.mark.parametrize("work", ["a", -5.0, [1.0, -1.0], np.nan, None, [[1.0], [2.0, 3.0]]])
def test_work_is_no_less_than_nothing(work):
    """One sentence, no negative time."""
    with pytest.raises(pl.FormatError, match=r"work is .*; expected seconds, 0 or more: a number or an array"):
        expected_segment_time(work, save=1.0, restore=1.0, mtbf=5.0)


def test_errors_name_the_argument():
    """One sentence each."""
    with pytest.raises(pl.FormatError, match="method is 'best'; expected 'exact', 'daly' or 'young'"):
        pl.checkpoint_interval(1, 100, method="best")
    with pytest.raises(pl.FormatError, match="save is 0"):
        pl.checkpoint_interval(0, 100)
    with pytest.raises(pl.FormatError, match="every is 0; expected whole numbers of steps"):
        expected_training_time(10, 300, every=0, mtbf=100)
    with pytest.raises(pl.FormatError, match=r"every is \[\[1\], \[2, 3\]\]; expected whole numbers of steps"):
        expected_training_time(10, 300, every=[[1], [2, 3]], mtbf=100)

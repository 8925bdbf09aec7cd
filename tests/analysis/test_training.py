"""Training runs with failures: where time goes, run by run, and on average what is expected in theory."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import placelab as pl
from placelab.analysis.faults import KINDS, detection, expected_training_time, simulate_training
from placelab.pictures.training_figures import progress

JOB = dict(every=3, save=2, restore=5)


def parts(runs) -> list[float]:
    """Total, then its five parts, of the only run."""
    return [runs.total[0], *(getattr(runs, kind)[0] for kind in KINDS)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(dict(failures=[47], detect=1), [127, 100, 6, 15, 1, 5], id="F1"),
        pytest.param(dict(failures=[31]), [137, 100, 6, 31, 0, 0], id="F2"),
        pytest.param(dict(failures=[47, 50], detect=1), [130, 100, 6, 17, 2, 5], id="F3"),
        pytest.param({}, [106, 100, 6, 0, 0, 0], id="F4"),
        pytest.param(dict(every=None, failures=[47, 90]), [190, 100, 0, 90, 0, 0], id="F5"),
        pytest.param(dict(every=None, seconds=25, failures=[47], detect=1), [127, 100, 6, 15, 1, 5], id="F6"),
        pytest.param(dict(failures=[47], detect=detection(health_check=15)), [139, 100, 6, 15, 13, 5], id="F7"),
        pytest.param(dict(failures=[47], detect=lambda t: 60 - t), [139, 100, 6, 15, 13, 5], id="F7, a function"),
        pytest.param(dict(final=True), [108, 100, 8, 0, 0, 0], id="saved at the end"),
        pytest.param(dict(final=True, failures=[107.5]), [124.5, 100, 8, 11.5, 0, 5], id="lost in the last save"),
        pytest.param(dict(failures=[20], start=7), [133, 100, 6, 20, 0, 7], id="no checkpoint yet"),
        pytest.param(dict(failures=[30], save=0), [105, 100, 0, 0, 0, 5], id="at the end of a save"),
        pytest.param(dict(failures=[47, 47.5, 48], detect=1), [128, 100, 6, 15, 2, 5], id="before and at detection"),
        pytest.param(dict(failures=[106, 200]), [106, 100, 6, 0, 0, 0], id="after the end"),
    ],
)
def test_where_the_time_goes(options, expected):
    """Steps of 10 s, by hand."""
    assert parts(simulate_training(10, 10, **{**JOB, **options})) == pytest.approx(expected, abs=1e-12)


def test_a_schedule_is_a_step():
    """Its makespan is the time of a step."""
    schedule = pl.solve(pl.datasets.problem("topcuoglu"), "heft")
    assert simulate_training(schedule, 7).total[0] == 7 * schedule.makespan


def test_intervals_are_the_run():
    """F1: what happened when, from which step on, and when it failed."""
    runs = simulate_training(10, 10, **JOB, failures=[47], detect=1)
    named = [(KINDS[kind], *rest) for kind, *rest in runs.intervals[:6].tolist()]
    assert named == [
        ("useful", 0, 30, 0),
        ("saving", 30, 32, 3),
        ("lost", 32, 47, 3),
        ("detecting", 47, 48, 3),
        ("restoring", 48, 53, 3),
        ("useful", 53, 83, 3),
    ]
    assert runs.failed.tolist() == [47] and runs.failures.tolist() == [1]


def random_jobs(n: int):
    """Jobs of all sorts: (step, iterations, options)."""
    random = np.random.default_rng(12)
    for i in range(n):
        step = float(random.uniform(0.1, 5))
        iterations = int(random.integers(1, 60))
        options = dict(zip(("save", "restore", "start"), random.choice([0.0, 0.7, 3.0], 3).tolist(), strict=True))
        options |= dict(final=bool(i % 2), seed=i, detect=float(random.choice([0.0, 1.3])))
        options |= [{}, dict(every=int(random.integers(1, 12))), dict(seconds=float(random.uniform(0.1, 20)))][i % 3]
        options |= dict(mtbf=step * iterations * float(random.uniform(0.3, 3)))
        if i % 5 == 0:
            options["detect"] = detection(health_check=float(random.uniform(0.5, 9)), timeout=0.2)
        yield step, iterations, options


def test_the_parts_are_the_total():
    """Intervals follow each other without a gap, each kind adds up to its part, and every step is done once."""
    for step, iterations, options in random_jobs(200):
        runs = simulate_training(step, iterations, **options)
        rows = runs.intervals
        assert rows["start"][0] == 0 and all(a["finish"] == b["start"] for a, b in pairwise(rows))
        assert rows["finish"][-1] == pytest.approx(runs.total[0], rel=1e-12)
        sums = np.bincount(rows["kind"], rows["finish"] - rows["start"], minlength=len(KINDS))
        assert parts(runs) == pytest.approx([sums.sum(), *sums], rel=1e-9, abs=1e-9)
        assert runs.useful[0] == pytest.approx(step * iterations)
        assert len(runs.failed) == runs.failures[0]
        time, steps = progress(runs)
        assert (np.diff(time) >= 0).all() and steps[-1] == pytest.approx(iterations)


def test_given_failures_repeat_a_random_run():
    """A random run and one with its failures given are the same, detection included."""
    for step, iterations, options in random_jobs(60):
        runs = simulate_training(step, iterations, **options)
        again = {key: value for key, value in options.items() if key not in ("mtbf", "seed")}
        assert parts(simulate_training(step, iterations, **again, failures=runs.failed)) == pytest.approx(parts(runs))


def test_runs_are_seeded_one_by_one():
    """Run i of seed s is run 0 of seed s + i, however many failures it has."""
    options = dict(every=30, save=2, restore=5, mtbf=100.0, detect=1)
    several = simulate_training(10, 120, **options, runs=5, seed=3)
    assert several.failures.max() > 32 and len(set(several.total)) == 5
    for i in range(5):
        alone = simulate_training(10, 120, **options, seed=3 + i)
        assert alone.total[0] == several.total[i] and alone.failures[0] == several.failures[i]


def test_compiled_and_plain_runs_are_the_same(monkeypatch):
    """To the last bit."""
    found = []
    for setting in ("check", "0"):
        monkeypatch.setenv("PLACELAB_JIT", setting)
        found.append([simulate_training(step, n, **options) for step, n, options in random_jobs(30)])
    for compiled, plain in zip(*found, strict=True):
        assert parts(compiled) == parts(plain) and compiled.intervals.tolist() == plain.intervals.tolist()


@pytest.mark.parametrize("every", [1, 3, 10, 30, 100])
def test_the_mean_of_many_runs_is_the_expected_time(every):
    """F10: within four standard errors of the closed form."""
    options = dict(every=every, save=2, restore=5, mtbf=200.0, detect=1)
    runs = simulate_training(10, 300, **options, runs=1000)
    assert abs(runs.mean - expected_training_time(10, 300, **options)) < 4 * runs.error


@pytest.mark.parametrize("change", [dict(start=4.0), dict(final=True), dict(every=None, start=4.0), dict(every=7)])
def test_the_expected_time_knows_first_and_last_segments(change):
    """A start before the first checkpoint, a save at the end, no checkpoint, a shorter last segment."""
    options = dict(every=4, save=2.0, restore=3.0, mtbf=60.0, detect=0.5) | change
    runs = simulate_training(3, 30, **options, runs=3000)
    assert abs(runs.mean - expected_training_time(3, 30, **options)) < 4 * runs.error


def test_without_failures_only_saves_cost():
    """A very rare failure leaves useful time and saves, in both ways."""
    total = simulate_training(10, 10, **JOB, mtbf=1e15).total[0]
    assert total == 106 and expected_training_time(10, 10, **JOB, mtbf=1e15) == pytest.approx(106)


def test_more_failures_save_and_restore_time_take_longer():
    """A run with one failure more, a longer restore, or later detection never ends earlier if the rest is the same."""
    random = np.random.default_rng(5)
    for _ in range(50):
        failure = float(random.uniform(0, 100))
        base = dict(every=int(random.integers(1, 8)), save=2.0, restore=5.0)
        none, one = (simulate_training(10, 10, **base, failures=f).total[0] for f in ([], [failure]))
        late = simulate_training(10, 10, **base, failures=[failure], detect=3.0).total[0]
        slow = simulate_training(10, 10, **{**base, "restore": 9.0}, failures=[failure]).total[0]
        assert none <= one <= slow and late == pytest.approx(one + 3.0)


# -------------------------------------------------------------------- detection


@pytest.fixture
def schedule():
    """Steps of 6 s on A and B, with a transfer from 2 to 3 s; C has an op alone."""
    graph = pl.OpGraph.from_arrays(["x", "y", "z"], [2.0, 3.0, 6.0], [(0, 1)], edge_bytes=[1.0])
    cluster = pl.Cluster([1.0] * 3, bandwidth=1.0, names=["A", "B", "C"])
    problem = pl.Problem(graph, cluster)
    return pl.simulate(problem, pl.Placement.from_mapping(problem, {"x": "A", "y": "B", "z": "C"}))


@pytest.mark.parametrize(
    ("failure", "found"),
    [(7.0, 9.0), (9.0, 15.0), (10.0, 15.0), (2.9, 3.0), (18.5, 23.0)],
    ids=["before the transfer", "at its end", "after it", "in the first step", "in a save"],
)
def test_a_transfer_that_fails_shows_the_failure(schedule, failure, found):
    """At the first end of a transfer after it: in this step or the next one, which a save puts off by 2 s."""
    for device in ("A", "B"):
        detect = detection(schedule, device, timeout=0.5)
        runs = simulate_training(schedule, 6, every=3, save=2, failures=[failure], detect=detect)
        assert runs.detecting[0] == pytest.approx(found + 0.5 - failure)


def test_transfers_detect_a_failure_of_the_restore(schedule):
    """The step that would follow it is the first with a transfer."""
    detect = detection(schedule, "A")
    runs = simulate_training(schedule, 6, every=1, restore=4, failures=[7.0, 10.0], detect=detect)
    assert runs.detecting[0] == pytest.approx((9 - 7) + (13 + 3 - 10))


def test_the_earlier_of_both_detects(schedule):
    """A health check every 2 s, or the end of a transfer."""
    both = detection(schedule, "A", health_check=8.0)
    for failure, found in ((7.0, 8.0), (8.0, 9.0), (10.0, 15.0), (15.5, 16.0)):
        assert simulate_training(schedule, 6, failures=[failure], detect=both).detecting[0] == found - failure


def test_what_cannot_detect_is_refused(schedule):
    """A device without transfers, no device, nothing."""
    with pytest.raises(pl.FormatError, match="device 'C' has no transfers that could show its failure"):
        detection(schedule, "C")
    assert detection(schedule, "C", health_check=3.0).period == 3
    with pytest.raises(pl.FormatError, match="name the one that fails"):
        detection(schedule)
    with pytest.raises(pl.FormatError, match="nothing detects failures"):
        detection()


# -------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(step=0.0), "the time of a step is 0.0; expected a finite number of seconds, more than 0"),
        (dict(step="1"), "the time of a step is '1'"),
        (dict(iterations=0), "iterations is 0; expected a whole number, 1 or more"),
        (dict(iterations=1.5), "iterations is 1.5"),
        (dict(every=0), "every is 0"),
        (dict(every=2, seconds=3.0), "every and seconds are both given"),
        (dict(seconds=0.0), "seconds is 0.0"),
        (dict(save=-1.0), "save is -1.0; expected a finite number of seconds, 0 or more"),
        (dict(restore=math.nan), "restore is nan"),
        (dict(mtbf=0.0), "mtbf is 0.0"),
        (dict(mtbf=1.0, failures=[1.0]), "mtbf and failures are both given"),
        (dict(failures=[2.0, 1.0]), "not ascending; sort them"),
        (dict(failures=5.0), "failures is 5.0; expected the times of failures, ascending"),
        (dict(failures=[math.inf]), "the time of a failure is inf"),
        (dict(detect=-1.0), "detect is -1.0"),
        (dict(failures=[1.0], detect=lambda t: math.nan), "the delay of detection is nan"),
        (dict(runs=0), "runs is 0"),
        (dict(runs=10**13), "runs is 10,000,000,000,000; at most 10,000,000 are simulated"),
        (dict(seed=-1), "seed is -1"),
        (dict(mtbf=0.5), "a run would take .* failures: .* save more often"),
        (dict(mtbf=1e-6), "a run would take inf failures"),
    ],
)
def test_what_is_no_run_is_refused(options, words):
    """One sentence that names the argument."""
    given = dict(step=10.0, iterations=10) | options
    with pytest.raises(pl.FormatError, match=words):
        simulate_training(given.pop("step"), given.pop("iterations"), **given)

"""`compare`: rows equal the results of `solve`, failures are rows, and it can be cancelled."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl
from placelab.analysis.comparing import COLUMNS
from placelab.base.progress import Progress


@pytest.fixture
def problem():
    """Gaussian elimination on four unequal devices."""
    return pl.Problem(pl.generators.gaussian_elimination(6), pl.clusters.mayer50(devices=4))


def test_every_pair_is_a_row_that_solve_confirms(problem):
    """Partitioner × seed × scheduler, in order; makespan, gap and validity are those of solve."""
    quick = [name for name, function in pl.partitioners().items() if not function.slow]
    frame = pl.compare(problem, quick, seeds=2)
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == len(quick) * sum(not f.needs for f in pl.schedulers().values()) * 2
    assert not frame.duplicated(["partitioner", "scheduler", "seed"]).any()
    bound = max(pl.bounds(problem, inputs=True).values())
    for row in frame[frame["error"] == ""].itertuples():
        schedule = pl.solve(problem, row.partitioner, row.scheduler, seed=row.seed)
        assert row.makespan == schedule.makespan
        assert row.bound_gap == pytest.approx(schedule.makespan / bound - 1)
        assert row.valid
        assert not row.oom
        assert row.seconds > 0
    assert set(frame["seed"]) == {0, 1}


def test_all_best_pairs_are_named(problem):
    """Rows that have the least makespan to the last bit tie; one that is not legal or out of memory does not count."""
    frame = pl.compare(problem, ["heft", "single"])
    least = frame["makespan"].min()
    best = pl.best_pairs(frame)
    assert len(best) > 1 and best.equals(frame[frame["makespan"] == least])
    others = pl.best_pairs(frame.assign(oom=frame["makespan"] == least))
    assert len(others) and (others["makespan"] > least).all()
    assert not len(pl.best_pairs(frame.assign(valid=False))) and not len(pl.best_pairs(frame[:0]))
    nearly = frame.assign(makespan=frame["makespan"].where(frame.index != best.index[0], np.nextafter(least, 0.0)))
    assert pl.best_pairs(nearly).index.tolist() == [best.index[0]]


def test_schedulers_of_pipelines_are_compared_where_there_are_stages(problem):
    """Those that need what a graph lacks are left out, unless they are named."""
    stages = pl.generators.pipeline_training([1.0, 1.0], [2.0, 2.0], microbatches=2)
    assert "1f1b" in set(pl.compare(stages, ["hash"])["scheduler"])
    assert "1f1b" not in set(pl.compare(problem, ["hash"])["scheduler"])
    assert "stages" in pl.compare(problem, ["hash"], ["1f1b"])["error"][0]


def test_measures_are_further_columns(problem):
    """What `measure` returns of each schedule follows the other columns, NaN where there is no schedule."""
    frame = pl.compare(
        problem, ["hash", "heft"], ["planned"], measure=lambda s: {"moved": pl.metrics(s)["bytes_moved"]}
    )
    assert tuple(frame.columns) == (*COLUMNS, "moved")
    assert np.isnan(frame["moved"][0])
    assert frame["moved"][1] == pl.metrics(pl.solve(problem, "heft", "planned"))["bytes_moved"]


def test_pairs_that_do_not_fit_say_why(problem):
    """`planned` after a partitioner without a plan has no makespan but a reason."""
    frame = pl.compare(problem, ["hash", "heft"], ["planned"])
    assert frame["makespan"].isna().tolist() == [True, False]
    assert "planned" in frame["error"][0]
    assert frame["error"][1] == ""
    assert frame["valid"].tolist() == [False, True]


def test_an_infeasible_placement_says_why():
    """If nothing fits, every scheduler's row has the partitioner's reason."""
    graph = pl.OpGraph.from_arrays(["a"], [1.0], [], persistent=[9.0])
    frame = pl.compare(pl.Problem(graph, pl.Cluster([1.0], memory=[4.0])), ["single", "hash"], ["fifo", "pct"])
    assert frame["error"].str.contains("short by 5 bytes").all()


def test_lack_of_memory_over_time_is_marked():
    """A run that exceeds a device's memory is otherwise legal, and marked."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)], edge_bytes=[3.0], persistent=[1.0, 1.0])
    frame = pl.compare(pl.Problem(graph, pl.Cluster([1.0], memory=[5.0])), ["single"], ["fifo"])
    assert (frame["valid"][0], frame["oom"][0]) == (True, False)
    crowded = pl.OpGraph.from_arrays(
        list("abc"), [1.0] * 3, [(0, 2), (1, 2)], edge_bytes=[3.0, 3.0], persistent=[1.0] * 3
    )
    frame = pl.compare(pl.Problem(crowded, pl.Cluster([1.0], memory=[6.5])), ["single"], ["fifo"])
    assert (frame["valid"][0], frame["oom"][0]) == (True, True)


def test_a_strategy_that_fails_is_a_row(problem):
    """A user's partitioner may raise anything; the comparison goes on."""

    @pl.partitioner
    def divides_by_zero(problem):
        """Raises ZeroDivisionError."""
        return 1 / 0

    frame = pl.compare(problem, ["divides-by-zero", "single"], ["fifo"])
    assert frame["error"].tolist() == ["division by zero", ""]


def test_progress_and_cancel(problem):
    """Each pair is reported when done, as place reports a search; after the third the comparison is cancelled."""
    reports = []
    frame = pl.compare(
        problem,
        ["single", "hash"],
        ["fifo", "pct"],
        progress=reports.append,
        cancel=lambda: len(reports) == 3,
    )
    assert all(isinstance(progress, Progress) for progress in reports)
    assert [(p.doing, p.fraction) for p in reports] == [
        ("single + fifo", 0.25),
        ("single + pct", 0.5),
        ("hash + fifo", 0.75),
    ]
    assert [p.row for p in reports] == frame.to_dict("records")
    assert [p.makespan for p in reports] == frame["makespan"].cummin().tolist()
    assert reports[-1].bound <= reports[-1].makespan


def test_seeds_may_be_given(problem):
    """Seeds can be given instead of their number; placements differ between them."""
    frame = pl.compare(problem, ["random"], ["fifo"], seeds=[7, 3])
    assert frame["seed"].tolist() == [7, 3]
    assert frame["makespan"].nunique() == 2


def test_the_order_of_names_is_kept(problem):
    """Rows come in the given order; decorated functions are accepted; an empty list gives no rows."""
    frame = pl.compare(problem, [pl.partitioners()["single"], "hash"], ["pct", "fifo"])
    assert frame["partitioner"].tolist() == ["single", "single", "hash", "hash"]
    assert frame["scheduler"].tolist() == ["pct", "fifo"] * 2
    assert pl.compare(problem, [], ["fifo"]).empty


@pytest.fixture
def search():
    """A partitioner that searches until it is cancelled, or ends at once when it has proven its bound."""

    @pl.partitioner(slow=True, name="search")
    def search(problem, *, progress=None, cancel=None):
        best = pl.place(problem, "single")
        length = pl.simulate(problem, best, "fifo").makespan
        while problem.cluster.n_devices > 1 and not cancel():
            pass
        return pl.Placement(problem, best.device, bound=length)

    return search


def test_what_searches_comes_last_and_hears_cancel(problem, search):
    """Its rows follow all others; cancelling keeps the complete pairs."""
    reports = []
    frame = pl.compare(
        problem,
        ["search", "hash"],
        ["fifo", "pct"],
        progress=reports.append,
        cancel=lambda: len(reports) == 2,
    )
    assert frame["partitioner"].tolist() == ["hash", "hash"]


def test_a_proven_bound_counts_for_all(search):
    """The gap uses the best bound, also for pairs that were done before it was proven."""
    problem = pl.Problem(pl.generators.layered(20, seed=1), pl.Cluster.uniform(1))
    frame = pl.compare(problem, ["search", "single"], ["fifo"])
    assert frame["bound_gap"].tolist() == pytest.approx([0.0, 0.0])


def test_a_placement_of_another_problem_is_no_result(problem):
    """Every reported run is a run of the given problem."""

    @pl.partitioner(name="elsewhere")
    def elsewhere(problem):
        return pl.place(pl.Problem(pl.generators.fork_join(2), pl.Cluster.uniform(1)), "single")

    row = pl.compare(problem, "elsewhere", "fifo").iloc[0]
    assert np.isnan(row["makespan"])
    assert "of another problem" in row["error"]


@pytest.mark.parametrize("seeds", [-1, [-1], "x", None, 1.5])
def test_seeds_of_the_wrong_kind_are_named(problem, seeds):
    """Wrong seeds give one sentence instead of an empty table."""
    with pytest.raises(pl.FormatError, match="seed is"):
        pl.compare(problem, "random", "fifo", seeds=seeds)


def test_measures_say_what_they_measure(problem):
    """The error names the type needed and the type found."""
    for measure in (pl.metrics, pl.critical_path, pl.idle_reasons, pl.validate):
        with pytest.raises(pl.FormatError, match="needs a Schedule, found a Problem"):
            measure(problem)
    for measure in (pl.bounds, pl.upward_rank, pl.downward_rank, pl.ListScheduler, pl.compare):
        with pytest.raises(pl.FormatError, match="needs a Problem, found an OpGraph"):
            measure(problem.graph)

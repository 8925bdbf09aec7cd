"""Many runs of a step: random orders, random costs, several workers."""

from __future__ import annotations

import numpy as np
import parameter_servers as made
import pytest

import placelab as pl
from placelab.base import threads


def test_one_worker_in_random_order():
    """H4: 3 or 4, equally likely; E .5 or 0."""
    where = made.figure_1()
    frame = pl.iterations(where.problem, where, "random-reads", runs=600)
    assert frame["step"].isin([3, 4]).all() and (frame["efficiency"] == (4 - frame["step"]) / 2).all()
    assert frame["step"].mean() == pytest.approx(3.5, abs=4 * 0.5 / 600**0.5)
    assert frame["step"].std(ddof=0) == pytest.approx(0.5, abs=0.01)
    assert (frame["potential"] == 1).all() and (frame["straggling"] == 0).all()
    assert frame["seed"].tolist() == list(range(600))


def test_two_workers_in_random_orders():
    """H4: over the four pairs of orders mean 3.75, sd .4330, mean straggling .125."""
    where = made.figure_1(workers=2)
    frame = pl.iterations(where.problem, where, "random-reads", runs=100)
    pairs = frame.drop_duplicates(["end worker:0", "end worker:1"])
    assert len(pairs) == 4
    assert pairs["step"].mean() == 3.75 and pairs["step"].std(ddof=0) == pytest.approx(0.4330, abs=5e-5)
    assert pairs["straggling"].mean() == 0.125
    assert (frame["step"] == frame[["end worker:0", "end worker:1"]].max(axis=1)).all()


def test_threads_do_not_matter(monkeypatch):
    """Runs of few ops take turns in the caller's; in threads they have the same rows."""
    where = made.three_reads(workers=2)
    with monkeypatch.context() as patch:
        patch.setattr(threads, "ThreadPoolExecutor", None)
        one = pl.iterations(where.problem, where, "random-reads", runs=60, noise=0.3)
    monkeypatch.setattr(threads, "LEAST", 0)
    monkeypatch.setattr(threads, "cores", lambda: 3)
    assert pl.iterations(where.problem, where, "random-reads", runs=60, noise=0.3).equals(one)


def test_a_run_is_a_simulation():
    """The row of a seed has the makespan of ``simulate`` with that seed, also with noise if the order does not look at costs."""
    where = made.three_reads(workers=2)
    frame = pl.iterations(where.problem, where, "random-reads", runs=40, seed=7, noise=0.3)
    for row in frame.iloc[[0, 17, 39]].itertuples():
        noisy = where.problem.replace(graph=pl.transforms.perturb(where.problem.graph, factor=0.3, seed=row.seed))
        again = pl.simulate(noisy, pl.Placement(noisy, where.device), "random-reads", seed=row.seed)
        assert again.makespan == row.step
        assert pl.worker_metrics(again)["efficiency"].min() == row.efficiency
        assert pl.worker_metrics(again)["potential"].min() == row.potential
    assert frame["step"].nunique() == 40


def test_orders_follow_the_estimate_not_the_noise():
    """TAC orders by the costs of the problem; with its own costs in each run it would know what it cannot know."""
    where = made.three_reads()
    order = pl.schedulers()["tac"](where.problem, where)
    assert isinstance(order, pl.Order)

    def fixed(problem: pl.Problem, placement: pl.Placement) -> pl.Order:
        """The order by the estimate."""
        return order

    from placelab.schedule import catalogue as strategies

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strategies, "_schedulers", dict(strategies._schedulers))
        fixed = pl.scheduler(fixed, static=True)
        expected = pl.iterations(where.problem, where, fixed, runs=60, noise=0.9)
    assert pl.iterations(where.problem, where, "tac", runs=60, noise=0.9).equals(expected)


def test_steps_of_several_iterations_are_averaged():
    """Two iterations one after the other take twice as long."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)])
    graph = graph.replace(metadata={"replica": {"iteration": [0, 1], "worker": [0, 0]}})
    problem = pl.Problem(graph, pl.Cluster([1.0]))
    frame = pl.iterations(problem, pl.place(problem, "single"), "fifo", runs=1)
    assert frame["step"].item() == 1 and frame["end dev0"].item() == 2


@pytest.mark.parametrize("wrong", [{"runs": 0}, {"runs": 1.5}, {"noise": 2.0}, {"handoff": -1.0}, {"handoff": np.inf}])
def test_wrong_numbers_are_refused(wrong):
    """With an error of one sentence."""
    where = made.figure_1()
    with pytest.raises(pl.PlacelabError, match=next(iter(wrong))):
        pl.iterations(where.problem, where, "tic", **wrong)


def test_runs_can_be_cancelled():
    """The complete runs are returned."""
    where = made.figure_1()
    asked = iter([False, True])
    frame = pl.iterations(where.problem, where, "random-reads", runs=500, cancel=lambda: next(asked, True))
    assert 0 < len(frame) < 500


def test_distribution_of_step_times():
    """The figure has a step per run, for each frame; axes and legend tell the mean."""
    where = made.figure_1()
    frames = {rule: pl.iterations(where.problem, where, rule, runs=20) for rule in ("random-reads", "tic")}
    figure = pl.plots.iterations(frames)
    first, second = (renderer.data_source.data for renderer in figure.renderers)
    assert set(first["step"]) == {3, 4} and set(second["step"]) == {3}
    below = (frames["random-reads"]["step"] == 3).mean()
    assert below in first["share"] and first["share"][-1] == 1
    assert figure.xaxis[0].axis_label == "step time"
    with pytest.raises(pl.FormatError, match="step"):
        pl.plots.iterations(frames["tic"].drop(columns="step"))

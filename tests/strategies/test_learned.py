"""cem and policy-gradient: never worse than their start, optimal on few units, the same for a seed; their learning curve."""

from itertools import product

import numpy as np
import problems
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.base.progress import never, silent
from placelab.planning.capacity import units
from placelab.planning.ranks import rounded
from placelab.simulation import batches
from placelab.strategies.searches.sampled_search import SampledSearch, draw, tied_by

LEARNED = ("cem", "policy-gradient")
STARTS = ("m-etf", "heft", "single", "uniform")


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNED)
def test_the_optimum_of_few_units(name):
    """Up to eight units: as good as the best of all placements, each run in the order of the samples."""
    for seed, problem in enumerate(problems.many(25, seed=11, ops=8, memory=("none",), transfer_ops=(0,))):
        unit = units(problem)
        every = np.array(list(product(*map(problem.feasible, unit.first))))
        order = pl.Order("priority", rounded(pl.upward_rank(problem)))
        least = pl.makespans(problem, every[:, unit.of], order).min()
        assert pl.place(problem, name, seed=seed).estimate <= least * (1 + 1e-9), seed


def test_a_samples_plan_takes_as_long_as_the_sample():
    """In every model of transfers, with Send ops: ``planned`` runs them before other ops, and so do samples."""
    for problem in problems.many(100, seed=13, memory=("none",), transfer_ops=(1,)):
        search = SampledSearch(problem, "uniform", 20, 0, silent, never)
        places = draw(search.even, search.left, search.random)
        least = search.costs(places).min()
        assert pl.simulate(problem, search.placement(problem), "planned").makespan == least


@pytest.mark.parametrize("name", LEARNED)
@pytest.mark.parametrize("start", STARTS)
def test_two_equal_ops_end_up_apart(name, start):
    """Whatever it starts from; a distribution that cannot tell the two apart would need luck in each sample."""
    problem = pl.Problem(pl.OpGraph.from_arrays(["a", "b"], [2.0, 2.0], []), pl.Cluster.uniform(2))
    assert sorted(pl.place(problem, name, start=start).device.tolist()) == [0, 1]


@pytest.mark.parametrize("name", LEARNED)
@examples(15)
@given(problem=problems.problems(), seed=st.integers(0, 99))
def test_never_worse_than_the_start(name, problem, seed):
    """In every model: less time than the start's plan, or less memory missing; the curve falls, and `planned` gives its end."""
    start = ("m-etf", "heft")[seed % 2]
    try:
        first = pl.solve(problem, start, seed=seed)
    except pl.InfeasibleError:
        return
    found = pl.place(problem, name, start=start, samples=200, seed=seed)
    schedule = pl.simulate(problem, found, "planned")
    short = lambda run: float(run.oom["bytes"].sum())  # noqa: E731
    assert (short(schedule), schedule.makespan) <= (short(first), first.makespan)
    assert schedule.makespan == found.estimate
    curve = found.table
    if short(first) == 0:
        assert (np.diff(curve.best) <= 0).all()
    if len(curve):
        assert curve.samples.is_monotonic_increasing and curve.samples.iloc[-1] <= 200
        assert curve.best.iloc[-1] == found.estimate
        assert curve.placement_time.iloc[-1] == curve.samples.iloc[-1] * found.estimate


@pytest.mark.parametrize("name", LEARNED)
def test_pins_groups_and_memory_are_kept(name):
    """Samples that break a rule are never drawn, those that do not fit never kept: from uniform as from a start."""
    graph = pl.OpGraph.from_arrays(list("abcdef"), [1.0] * 6, [], persistent=[1.0] * 6, groups=[[0, 1]])
    cluster = pl.Cluster([1.0] * 3, memory=[2.0, 2.0, 2.0], bandwidth=1.0)
    problem = pl.Problem(graph, cluster, memory="dynamic").pin({"c": 2})
    for start in ("m-etf", "uniform"):
        found = pl.place(problem, name, start=start)
        assert np.bincount(found.device).tolist() == [2, 2, 2] and found.device[0] == found.device[1]
        assert found.device[2] == 2 and found.estimate == 2.0
    full = pl.Problem(graph, cluster.replace(memory=[1.0] * 3), memory="dynamic")
    with pytest.raises(pl.InfeasibleError, match="none of 1,500 samples fits"):
        pl.place(full, name, start="uniform")


@pytest.mark.parametrize("name", LEARNED)
def test_the_same_for_a_seed_whatever_the_threads(name, monkeypatch):
    """One thread or five: the same bytes; another seed draws other samples."""
    problem = pl.Problem(pl.generators.layered(40, seed=1), pl.clusters.uniform(3))
    one = pl.place(problem, name, samples=300, seed=4)
    monkeypatch.setattr(batches, "ENOUGH", 1)
    monkeypatch.setattr(batches, "cores", lambda: 5)
    five = pl.place(problem, name, samples=300, seed=4)
    assert one.device.tobytes() == five.device.tobytes() and one.table.equals(five.table) and one.notes == five.notes
    assert not one.table.equals(pl.place(problem, name, samples=300, seed=5).table)


@pytest.mark.parametrize("name", LEARNED)
def test_progress_and_cancel(name):
    """Reports have the best makespan so far; a search that is stopped gives what it has."""
    problem = pl.Problem(pl.generators.layered(40, seed=1), pl.clusters.uniform(3))
    reports = []
    found = pl.place(problem, name, progress=reports.append, cancel=lambda: len(reports) == 3)
    assert len(found.table) == 3 and [report.makespan for report in reports] == found.table.best.tolist()
    assert 0 < reports[0].fraction < reports[2].fraction < 1 and reports[0].bound <= found.estimate


@pytest.mark.parametrize("name", LEARNED)
def test_it_learns(name):
    """Where transfers are dear, the best round's mean is far below the first one's, from uniform."""
    problem = pl.Problem(pl.generators.layered(40, seed=1), pl.Cluster.uniform(3, bandwidth=1e8))
    mean = pl.place(problem, name, start="uniform", samples=1500).table["mean"]
    assert mean.min() < 0.6 * mean.iloc[0]


def test_units_are_what_transforms_place_as_one():
    """All ops run, and what the smaller problem has as one op shares a device; without names the problem stays itself."""
    graph = pl.load("convolutional_network")
    problem = pl.Problem(graph, pl.clusters.pcie_box(4))
    names = "forward-only coplace fuse"
    tied = tied_by(problem, names)
    assert units(tied).n < units(problem).n / 3 and tied.graph is graph
    for seed in range(3):
        # No group on two devices.
        pl.Placement(tied, pl.place(problem, "random", seed=seed, prepare=names.split()).device)
    found = pl.place(problem, "cem", units=names, samples=300)
    assert found.problem is problem and pl.simulate(problem, found).makespan == found.estimate
    assert tied_by(problem, "") is problem
    with pytest.raises(pl.UnsupportedError, match="no transform is called 'fusee'"):
        pl.place(problem, "cem", units="fusee")


def test_devices_of_probability_0_are_not_drawn():
    """Whatever the others: at the ends, and between."""
    chance = np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.1, 0.2, 0.7]])
    drawn = draw(chance, 2000, np.random.default_rng(0))
    share = np.stack([(drawn == d).mean(axis=0) for d in range(3)], axis=1)
    assert (share[chance == 0] == 0).all() and np.abs(share - chance).max() < 0.05

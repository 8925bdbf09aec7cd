"""Many runs of one graph give, to the last bit, what each gives alone; those that are alike are one call of the kernel."""

from __future__ import annotations

import re
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import placed, placements

import placelab as pl
from placelab.base.errors import InfeasibleError
from placelab.kernels.run import events
from placelab.schedule.order import Order
from placelab.simulation.batches import makespans_of, simulate_all
from placelab.simulation.event_simulation import run_of

SCHEDULERS = {
    "fifo": {},
    "pct": {},
    "pct with transfers": dict(order_transfers=True),
    "msr": {},
    "planned": {},
    "random": {},
    "tic": {},
}


def with_other_costs(problem: pl.Problem, seed: int) -> pl.Problem:
    """The problem with perturbed ops and tensors, faster devices and slower links."""
    factor = np.random.default_rng(seed).uniform(0.5, 2.0, problem.cluster.n_devices)
    cluster = problem.cluster
    links = cluster.bandwidth * factor[:, None], cluster.latency * factor[None, :]
    other = cluster.replace(speed=cluster.speed * factor, bandwidth=links[0], latency=links[1])
    return problem.with_costs(graph=pl.transforms.perturb(problem.graph, factor=0.5, seed=seed), cluster=other)


def in_some_order(placement: pl.Placement, seed: int) -> pl.Placement:
    """The placement with a plan: the ops by random priorities, each after what it waits for."""
    graph = placement.problem.graph
    late = np.random.default_rng(seed).permutation(graph.n_ops)
    level = np.zeros(graph.n_ops, int)
    for v in range(graph.n_ops):
        level[v] = max((level[u] + 1 for u in graph.predecessors_of(v)), default=0)
    return pl.Placement(placement.problem, placement.device, np.lexsort((late, level)))


def same(schedule: pl.Schedule, alone: pl.Schedule) -> bool:
    """Whether all columns are equal to the last bit."""
    return all(
        np.array_equal(getattr(schedule, label), getattr(alone, label))
        for label in ("device", "start", "finish", "transfers", "sends")
    )


@pytest.mark.parametrize("name", SCHEDULERS)
@given(data=st.data())
def test_runs_are_those_of_simulate(name, data):
    """Of one placement with other costs and seeds, and of several; any transfer model, Sends, groups, short memory."""
    placement = data.draw(placed(ops=9))
    options = SCHEDULERS[name]
    oom = data.draw(st.sampled_from(["mark", "wait"]))
    problem = placement.problem
    scheduler = name.split()[0]
    runs = []
    for i in range(data.draw(st.integers(1, 5))):
        if data.draw(st.booleans()):
            placement = data.draw(placements(problem))
        other = with_other_costs(problem, i) if data.draw(st.booleans()) else problem
        one = in_some_order(placement, i) if name == "planned" else placement
        runs.append(run_of(other, one, scheduler, i, oom, options))
    for run, found, makespan in zip(runs, simulate_all(runs), makespans_of(runs), strict=True):
        same_as = dict(seed=run.settings.seed, oom=oom, **options)
        if isinstance(found, Exception):
            assert np.isnan(makespan)
            with pytest.raises(type(found), match=re.escape(str(found))):
                pl.simulate(run.placement.problem, run.placement, scheduler, **same_as)
        else:
            assert same(found, pl.simulate(run.placement.problem, run.placement, scheduler, **same_as))
            assert makespan == found.makespan
            assert found.placement is run.placement and found.seed == run.settings.seed and found.oom_rule == oom


@pytest.mark.parametrize("transfers", ["parallel", "sequential", "channel", "fair"])
def test_alike_runs_are_one_call(monkeypatch, transfers):
    """Of one placement whatever the transfer model; of several but for ``fair``."""
    problem = pl.Problem(pl.generators.layered(30, seed=1), pl.Cluster.uniform(3), transfers=transfers)
    plans = [pl.place(problem, name) for name in ("heft", "etf", "single")]
    calls = []
    kernel = events.run_events
    here = threading.get_ident()

    def counted(*arguments):
        if threading.get_ident() == here:  # a call that an earlier test gave up may go on for a moment
            calls.append(len(arguments[-1].makespan))
        return kernel(*arguments)

    monkeypatch.setattr(events, "run_events", counted)
    first = run_of(problem, plans[0], "pct", 0, "mark", {})
    makespans_of([first.on(with_other_costs(problem, seed)) for seed in range(5)])
    assert calls == [5]
    calls.clear()
    makespans_of([run_of(problem, plan, "pct", 0, "mark", {}) for plan in plans])
    assert calls == ([0, 0, 0] if transfers == "fair" else [3])


def test_plans_of_other_integers():
    """A plan is what it says, whatever type its numbers have; one of several may contradict the graph."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    base = run_of(problem, pl.Placement(problem, [0] * 5), "fifo", 0, "mark", {})
    runs = [
        base._replace(order=Order("planned", np.array(op, np.int64)))
        for op in ([0, 1, 2, 3, 4], [0, 3, 2, 1, 4], [4, 3, 2, 1, 0])
    ]
    one, two, none = simulate_all(runs)
    assert one.order(0).tolist() == [0, 1, 2, 3, 4] and two.order(0).tolist() == [0, 3, 2, 1, 4]
    assert isinstance(none, InfeasibleError) and np.isnan(makespans_of(runs)[2])

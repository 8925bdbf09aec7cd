"""Every strategy in the catalogues keeps its contract; a new one needs no new test."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import problems
import pytest
from examples import ALIKE, examples
from hypothesis import given

import placelab as pl
from placelab import testing
from placelab.analysis.validation import validate
from placelab.problem.resource_models import MEMORY_MODELS, TRANSFER_MODELS
from placelab.testing import contracts

NETWORKS = ("convolutional_network", "recurrent_network", "dynamic_rnn")
ANY_GRAPH = [name for name, function in pl.schedulers().items() if not function.needs]
QUICK = [name for name, function in pl.partitioners().items() if not function.slow]


def legal(schedule: pl.Schedule) -> bool:
    """The validator finds only what the schedule itself marks as out of memory."""
    found = validate(schedule)
    return {violation.kind for violation in found} <= {"memory"} and len(found) == len(schedule.oom)


def parts():
    """Quick partitioners with all built-in problems; those that search or are alike with every third one, and slow with all."""
    for name in pl.partitioners():
        whole = name in QUICK and name not in ALIKE
        yield pytest.param(name, 1, id=name) if whole else pytest.param(name, 3, id=f"{name}, a third")
        if not whole:
            yield pytest.param(name, 1, id=name, marks=pytest.mark.slow)


@pytest.mark.parametrize(("name", "every"), list(parts()))
def test_partitioner(name, every, monkeypatch):
    """On the built-in problems, and on random ones of every memory and transfer model; those that search try less by default.

    Their own tests run them in full.
    """
    few = {name: pl.partitioners()[name] for name in ("single", "heft", "m-etf", "m-topo", "lc", "random")}
    monkeypatch.setattr("placelab.strategies.searches.tried_plans.partitioners", lambda: few)
    monkeypatch.setattr("placelab.strategies.partitioning.portfolio.usual_moves", lambda problem: 200)
    monkeypatch.setattr("placelab.strategies.searches.tried_plans.PASSES", 2)
    monkeypatch.setattr("placelab.strategies.searches.tried_plans.FURTHER", 2)
    monkeypatch.setattr("placelab.strategies.searches.sampled_search.FEWER", 5)
    most = contracts.SEARCHED if name not in QUICK else 10**9
    testing.check_partitioner(name, [p for p in contracts.examples() if p.graph.n_ops <= most][::every])

    @examples(20 if name in ALIKE else 60 if name in QUICK else 4)
    @given(problem=problems.problems())
    def on_any(problem):
        testing.check_partitioner(name, [problem])

    on_any()


@pytest.mark.parametrize("name", pl.schedulers())
def test_scheduler(name):
    """On the built-in problems, and on random ones of every memory and transfer model."""
    testing.check_scheduler(name)

    @examples(60)
    @given(problem=problems.problems())
    def on_any(problem):
        testing.check_scheduler(name, [problem])

    on_any()


def pairs_of_models():
    """Memory and transfer models: each of both in one pair that is quick, the other pairs slow."""
    for i, memory in enumerate(MEMORY_MODELS):
        for j, transfers in enumerate(TRANSFER_MODELS):
            once = (i - j) % min(len(MEMORY_MODELS), len(TRANSFER_MODELS)) == 0
            yield pytest.param(memory, transfers, marks=[] if once else pytest.mark.slow)


@pytest.mark.parametrize(("memory", "transfers"), list(pairs_of_models()))
def test_every_pair_runs_and_is_legal(memory, transfers):
    """Partitioner × scheduler in this memory and transfer model; a pair that does not fit raises an error that says so."""

    @examples(15)
    @given(problem=problems.problems(memory=(memory,), transfers=(transfers,), ops=9))
    def on_any(problem):
        for partitioner in QUICK:
            with suppress(pl.InfeasibleError):
                placement = pl.place(problem, partitioner)
                for scheduler in ("fifo", "planned") if partitioner in ALIKE else pl.schedulers():
                    with suppress(pl.UnsupportedError):
                        schedule = pl.simulate(problem, placement, scheduler)
                        assert legal(schedule), (partitioner, scheduler, testing.as_code(problem))

    on_any()


@pytest.mark.slow
@pytest.mark.parametrize("memory", MEMORY_MODELS)
@pytest.mark.parametrize("network", NETWORKS)
def test_every_pair_on_the_networks(network, memory):
    """Partitioner × scheduler × transfer model on a real model that exceeds the memory of one device.

    A quarter of the pairs of scheduler and transfer model for each partitioner, the next quarter for the next partitioner and
    memory model, so that every combination is met on each network.
    """
    graph = pl.load(network)
    needed = {"reserved": graph.memory.sum(), "edges": graph.edge_bytes.sum(), "none": 1.0}
    capacity = 0.4 * needed.get(memory, graph.persistent.sum() + graph.outputs.sum())
    base = pl.Problem(graph, pl.clusters.pcie_box().replace(memory=[capacity] * 4), memory=memory)
    refused = set()
    for i, name in enumerate(QUICK, list(MEMORY_MODELS).index(memory)):
        try:
            placement = pl.place(base, name)
        except pl.InfeasibleError:
            refused.add(name)  # says so, and why
            continue
        for transfers, scheduler in [*product(TRANSFER_MODELS, ANY_GRAPH)][i % 4 :: 4]:
            if scheduler == "planned" and placement.planned is None:
                continue
            schedule = pl.simulate(base.replace(transfers=transfers), placement, scheduler)
            assert legal(schedule), (name, transfers, scheduler)
    assert refused <= {"single", "etf", "sct"}  # on one device, or without regard to memory

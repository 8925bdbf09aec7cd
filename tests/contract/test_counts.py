"""True and False are no counts, seeds, amounts or numbers of devices and ops."""

from __future__ import annotations

import inspect

import pytest

import placelab as pl

PUBLIC = (pl.generators, pl.clusters, pl.transforms, pl.faults, pl)
GRAPH = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)])
PROBLEM = pl.Problem(GRAPH, pl.Cluster.uniform(2))
SCHEDULE = pl.solve(PROBLEM, "heft")
MODEL = pl.OpGraph.from_arrays(["r", "f"], [0, 1], [(0, 1)], edge_bytes=[1.0], kind=["read", ""])


def counts() -> list:
    """Every function of ours whose parameters all have defaults, and each of these that is an int."""
    found = {}
    for room in PUBLIC:
        names = room.__all__ if hasattr(room, "__all__") else vars(room)
        for name in sorted(names):
            function = getattr(room, name)  # imports what comes at its first use, whatever ran before
            if not inspect.isfunction(function) or name.startswith("_"):
                continue
            parameters = inspect.signature(function).parameters.values()
            if all(p.default is not p.empty or p.kind == p.VAR_KEYWORD for p in parameters):
                ints = [p.name for p in parameters if p.annotation in ("int", "int | None")]
                found |= {f"{name}({label})": (function, label) for label in ints}
    return [pytest.param(*case, id=label) for label, case in found.items()]


@pytest.mark.parametrize(("function", "label"), counts())
def test_no_count_is_true_or_false(function, label):
    """Each function of the package that can be called without arguments."""
    for value in (True, False):
        with pytest.raises(pl.PlacelabError, match=str(value)):
            function(**{label: value})


@pytest.mark.parametrize(
    "call",
    [
        lambda: pl.allreduce_time(1.0, True, bandwidth=1.0),
        lambda: pl.allreduce_time(True, 2, bandwidth=1.0),
        lambda: pl.Cluster.from_hosts({"a": True}),
        lambda: pl.Problem(GRAPH, pl.Cluster.uniform(2), transfer_ops=True),
        lambda: PROBLEM.pin({"a": True}),
        lambda: PROBLEM.cluster.index(True),
        lambda: pl.ListScheduler(PROBLEM).place(False, 0),
        lambda: pl.place(PROBLEM, "random", seed=True),
        lambda: pl.simulate(PROBLEM, SCHEDULE.placement, "random", seed=True),
        lambda: pl.compare(PROBLEM, ["heft"], seeds=True),
        lambda: pl.study(PROBLEM, "heft", seeds=True),
        lambda: pl.study(PROBLEM, "heft", processes=True),
        lambda: pl.iterations(PROBLEM, SCHEDULE.placement, "fifo", runs=True),
        lambda: pl.what_if(SCHEDULE, factor=True),
        lambda: pl.what_if(SCHEDULE, k=True),
        lambda: pl.difference(SCHEDULE, SCHEDULE).by_scope(True),
        lambda: pl.sensitivity(PROBLEM, "heft", of=True),
        lambda: pl.transforms.model_replica(MODEL, True),
        lambda: pl.transforms.model_replica(MODEL, 2, sync="allreduce", bucket_bytes=True),
        lambda: pl.transforms.microbatches(SCHEDULE.placement, True),
        lambda: pl.generators.pipeline_training(1.0, 1.0, microbatches=True, stages=2),
        lambda: pl.generators.pipeline_training(1.0, 1.0, microbatches=2, stages=True),
        lambda: pl.faults.simulate_training(1.0, True),
        lambda: pl.faults.simulate_training(1.0, 10, every=True),
        lambda: pl.faults.expected_training_time(1.0, 10, every=True, mtbf=1.0),
        lambda: pl.checkpoint_interval(True, 10.0),
        lambda: pl.testing.contest_problems(0, True),
        lambda: pl.testing.check_strategy("heft", True, "heft"),
    ],
)
def test_nothing_takes_true_for_a_number(call):
    """One clear sentence that has what was given."""
    with pytest.raises(pl.PlacelabError, match=r"True|False|bool"):
        call()

"""Measures per worker."""

from random import Random

import numpy as np
import parameter_servers as made
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from problems import many, placement
from replicas import models, run, with_servers, with_streams

import placelab as pl


def test_devices_are_workers_without_replicas():
    """Every device that runs an op, but for servers; where all are servers, these."""
    graph = pl.OpGraph.from_arrays(list("abc"), [2.0, 1.0, 1.0], [(0, 1), (0, 2)], edge_bytes=[1.0, 1.0])
    cluster = pl.Cluster([1.0] * 4, bandwidth=1.0, latency=0.0, names=list("wxyz"), types=["ps", "gpu", "gpu", "gpu"])
    problem = pl.Problem(graph, cluster, transfers="channel")
    frame = pl.worker_metrics(pl.simulate(problem, pl.Placement(problem, [0, 1, 2]), "fifo"))
    assert frame["worker"].tolist() == ["x", "y"] and frame["end"].tolist() == [4, 4]
    assert frame["potential"].tolist() == [1, 1] and frame["efficiency"].tolist() == [-2, -2]
    alone = pl.simulate(problem, pl.Placement(problem, [0, 0, 0]), "fifo")
    assert pl.worker_metrics(alone)["worker"].tolist() == ["w"] and pl.worker_metrics(alone)["efficiency"].item() == 1


@pytest.mark.parametrize("transfers", ["parallel", "sequential", "channel"])
def test_efficiency_is_at_most_one(transfers):
    """L is a lower bound of each worker's end, under every transfer model."""
    for i, problem in enumerate(many(100, seed=9, transfers=[transfers])):
        schedule = pl.simulate(problem, placement(Random(i).randint, problem), "fifo")
        frame = pl.worker_metrics(schedule)
        assert (frame["efficiency"] <= 1 + 1e-9).all() and (frame["potential"] >= 0).all()
        assert frame["end"].max() == pytest.approx(max(schedule.makespan, *schedule.transfers["finish"], 0.0))


@pytest.mark.parametrize(
    "job", [dict(sync="ps"), dict(sync="ps-async", servers=2), dict(sync="allreduce", algorithm="ring")], ids=str
)
@examples(25)
@given(
    graph=models(5),
    workers=st.integers(1, 3),
    transfers=st.sampled_from(["parallel", "sequential", "channel"]),
    order=st.sampled_from(["fifo", "tic", "tac", "random-reads", "pct"]),
)
def test_efficiency_of_jobs_is_at_most_one(job, graph, workers, transfers, order):
    """With servers and with all-reduce, whatever the read order; a worker's U is no less than its L."""
    made = pl.transforms.model_replica(graph, workers, iterations=2, **job)
    alone = job["sync"] == "allreduce"
    cluster = (
        with_streams(workers, latency=0.5) if alone else with_servers(*[1.0] * workers, servers=job.get("servers", 1))
    )
    frame = pl.worker_metrics(run(made, cluster, order, transfers, duplex=alone))
    assert len(frame) == workers
    assert (frame["efficiency"] <= 1 + 1e-9).all() and (frame["potential"] >= -1e-9).all()


def test_streams_belong_to_their_worker():
    """A worker has all devices of its ops."""
    where = made.figure_1()
    graph = where.problem.graph
    cluster = pl.Cluster([1.0] * 3, bandwidth=1.0, latency=0.0, types=["ps", "gpu", "stream"])
    problem = pl.Problem(graph, cluster, memory="none", transfers="channel")
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 0, 1, 2]), "fifo")
    frame = pl.worker_metrics(schedule)
    assert len(frame) == 1 and frame["end"].item() == schedule.makespan
    assert np.isclose(frame["potential"], 3)

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
    assert frame["potential"].tolist() == [1, 1] and frame["efficiency"].tolist() == [0, 0]
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


def straggling_job(compute: float, size: float, workers: int = 4) -> pl.Schedule:
    """One worker, number 2, is 1.3 times slower than the others; `compute` seconds and `size` seconds of bytes."""
    model = pl.OpGraph.from_arrays(["r", "f"], [0, compute], [(0, 1)], edge_bytes=[size], kind=["read", ""])
    made = pl.transforms.model_replica(model, workers, sync="allreduce", iterations=2)
    cluster = with_streams(workers)
    speed = cluster.speed.copy()
    speed[2] /= 1.3
    return run(made, cluster.replace(speed=speed), "fifo", "sequential", duplex=True)


@pytest.mark.parametrize(("compute", "size"), [(100.0, 1.0), (1.0, 1.0), (1.0, 100.0)])
def test_the_late_worker_is_named(compute, size):
    """Whether computing or transfers take long, both tables say who it is; who waits for it has as good an E."""
    schedule = straggling_job(compute, size)
    frame = pl.worker_metrics(schedule)
    skew = pl.arrival_skew(schedule)
    assert frame["late"].tolist() == pytest.approx([0, 0, 0.6 * compute, 0])
    assert skew["worker"].tolist() == ["worker:2"] * 2
    healthy = frame["worker"] != "worker:2"
    assert frame["waited"][healthy].min() >= frame["waited"][2]
    assert frame["waited"][healthy].tolist() == pytest.approx([1.2 * compute] * 3, abs=size)
    assert frame["efficiency"].tolist() == pytest.approx([frame["efficiency"][2]] * 4, abs=0.5)


def test_workers_wait_while_nothing_of_them_runs():
    """One computes 2 s and sends for 1 s; the other waits 3 s, computes 1 s while its second input is on its way, then 1 s."""
    graph = pl.OpGraph.from_arrays(
        list("abcd"), [2.0, 1.0, 1.0, 1.0], [(0, 2), (1, 3), (2, 3)], edge_bytes=[1.0, 1.0, 0.0]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0), transfers="channel")
    frame = pl.worker_metrics(pl.simulate(problem, pl.Placement(problem, [0, 0, 1, 1]), "fifo"))
    assert frame["end"].tolist() == [4, 5] and frame["waited"].tolist() == [0, 2]
    assert frame["late"].tolist() == [0, 2]
    assert frame["efficiency"].tolist() == [0.5, 0.5]  # U 5 and 4, L 3 and 2; they took 4 and 3


def test_a_transfer_that_others_slow_down_is_waiting_in_part():
    """Two workers fetch 2 bytes each over one card of 1 byte/s: 4 s, of which each took 2 s alone; then each computes 1 s."""
    graph = pl.OpGraph.from_arrays(list("abcd"), [0.0, 0.0, 1.0, 1.0], [(0, 2), (1, 3)], edge_bytes=[2.0, 2.0])
    cluster = pl.Cluster([1.0] * 3, bandwidth=1.0, types=["ps", "gpu", "gpu"], links={"card": (1.0, [(0, 1), (0, 2)])})
    problem = pl.Problem(graph, cluster, transfers="fair")
    frame = pl.worker_metrics(pl.simulate(problem, pl.Placement(problem, [0, 0, 1, 2]), "fifo"))
    assert frame["end"].tolist() == [5, 5] and frame["waited"].tolist() == [2, 2]
    assert frame["efficiency"].tolist() == [0, 0]  # nothing overlaps: U 3, and they took 3

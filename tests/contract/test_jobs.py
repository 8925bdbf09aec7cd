"""Jobs of many steps, workers or micro-batches: one placement, legal schedules, no E above 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import placelab as pl

BRIEF = {  # searches, cut short: there is one placement
    "cp-sat": dict(effort=0.1),
    "portfolio": dict(moves=100),
    "cem": dict(samples=100),
    "policy-gradient": dict(samples=20),
}
EXACT = {"cp-sat", "ilp"}  # refuse what is too large for them
V = {"zb-v", "forward-only", "dualpipe", "dualpipe-v"}  # need two stages on a device, no backward ops, or twins
SPLITS = {"zb-auto", "zb-h1", "zb-h2"}  # need gradients of weights as ops of their own


def replicas(workers: int, **job) -> pl.Problem:
    """Two steps of AlexNet on so many workers."""
    graph = pl.transforms.model_replica(pl.load("alexnet"), workers, iterations=2, **job)
    if job["sync"] == "allreduce":
        return pl.Problem(graph, pl.clusters.data_parallel(workers, hosts=1), transfers="sequential", duplex=True)
    return pl.Problem(graph, pl.clusters.parameter_server(workers, servers=job.get("servers", 1)), transfers="channel")


def generated(weight: float | None = None, chunks: int = 1, **options) -> pl.Problem:
    """Four micro-batches through stages on two devices."""
    work = dict(weight=weight, microbatches=4, stages=2, activation=1.0, transfer=0.1, chunks=chunks)
    return pl.generators.pipeline_training(1.0, 2.0, **work, **options)


def twins() -> pl.Problem:
    """Two pipelines on the same devices, two micro-batches each."""
    return pl.generators.pipeline_training(1.0, 1.0, 1.0, microbatches=4, stages=2, layout="dual", transfer=0.1)


def folded(split: bool, recv: str = "async") -> pl.Problem:
    """ResNet-50 on four GPUs, in four micro-batches."""
    problem = pl.Problem(pl.load("resnet50"), pl.clusters.rtx2080ti_box(4), transfers="sequential", duplex=True)
    placement = pl.place(problem, "contiguous", prepare="forward-only")
    return pl.transforms.microbatches(placement, 4, split=split, recv=recv)


JOBS: dict[str, tuple[Callable[[], pl.Problem], set[str]]] = {  # problem, schedulers of pipelines that refuse it
    "servers": (lambda: replicas(2, sync="ps", servers=2), set()),
    "servers, no barrier": (lambda: replicas(2, sync="ps", barrier=False), set()),
    "servers, forward": (lambda: replicas(2, sync="ps", training=False), set()),
    "servers, async": (lambda: replicas(2, sync="ps-async"), set()),
    "ring": (lambda: replicas(3, sync="allreduce", algorithm="ring", bucket_bytes=25e6), set()),
    "tree": (lambda: replicas(3, sync="allreduce", algorithm="tree", bucket_bytes=25e6), set()),
    "halving": (lambda: replicas(4, sync="allreduce", algorithm="halving", window="start"), set()),
    "pipeline": (generated, V | SPLITS),
    "pipeline, split": (lambda: generated(weight=1.0), V),
    "pipeline, chunks": (lambda: generated(chunks=2), {"1f1b"} | V | SPLITS),
    "pipeline, twins": (lambda: twins(), V - {"dualpipe"}),
    "pipeline, forward": (
        lambda: pl.generators.pipeline_training(1.0, None, microbatches=4, stages=2),
        (V - {"forward-only"}) | SPLITS,
    ),
    "pipeline, recomputing": (lambda: generated(recompute=True), V | SPLITS),
    "pipeline, replicas": (lambda: pl.transforms.pipeline_replica(generated(1.0), 2, gradient=4.0), V),
    "resnet50, replicas": (lambda: pl.transforms.pipeline_replica(folded(True), 2, bucket_bytes=25e6), V),
    "resnet50": (lambda: folded(False), V | SPLITS),
    "resnet50, split": (lambda: folded(True), V),
    "resnet50, blocking": (lambda: folded(True, "blocking"), V),
}


QUICK = ("servers", "pipeline, split")


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in JOBS]
)
def test_jobs(name):
    """Every partitioner gives the only placement; every scheduler that is made for the graph gives a legal schedule."""
    problem = JOBS[name][0]()
    refusing = JOBS[name][1]
    plans = [placement for partitioner in pl.partitioners() if (placement := placed(problem, partitioner))]
    assert len(plans) >= len(pl.partitioners()) - 3  # single and the exact ones
    for placement in plans:
        assert np.array_equal(placement.device, plans[0].device)
        if placement.planned is not None:
            check(pl.simulate(problem, placement, "planned"))
    refused = set()
    for scheduler, function in pl.schedulers().items():
        if scheduler == "planned" or (function.needs and function.needs not in problem.graph.metadata):
            continue
        try:
            check(pl.simulate(problem, plans[0], scheduler))
        except pl.UnsupportedError:
            refused.add(scheduler)
    assert refused == refusing


def placed(problem: pl.Problem, partitioner: str) -> pl.Placement | None:
    """The placement; None from a partitioner that may refuse."""
    try:
        return pl.place(problem, partitioner, **BRIEF.get(partitioner, {}))
    except pl.InfeasibleError:
        assert partitioner == "single"
    except pl.UnsupportedError:
        assert partitioner in EXACT
    return None


def check(schedule: pl.Schedule) -> None:
    """Legal, within memory, and no worker better than a perfect overlap."""
    assert pl.validate(schedule) == [] and not len(schedule.oom)
    assert pl.worker_metrics(schedule)["efficiency"].max() <= 1 + 1e-9

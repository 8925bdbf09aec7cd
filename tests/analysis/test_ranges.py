"""Every published share, ratio and efficiency lies in its range, to the last bit, whatever the job."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from examples import examples, fewer
from hypothesis import given
from hypothesis import strategies as st
from problems import many, placement
from replicas import models, with_servers, with_streams

import placelab as pl
from placelab.problem.resource_models import LATENCIES, TRANSFER_MODELS

ALL = (0.0, np.inf)
SHARE = (0.0, 1.0)
RANGES = dict(
    speedup=ALL,
    slr=(1.0, np.inf),
    efficiency=ALL,
    utilisation=SHARE,
    load_balance=SHARE,
    memory_balance=SHARE,
    ordering_efficiency=SHARE,
    bound_gap=ALL,
    sct_ratio=ALL,
)


def within(values, low, high) -> bool:
    """Whether all that are defined lie between two bounds."""
    values = np.asarray(values, dtype=float)
    return bool(((values >= low) & (values <= high) | np.isnan(values)).all())


def check(schedule: pl.Schedule) -> None:
    """All measures of one schedule."""
    measured = pl.metrics(schedule)
    for name, bounds in RANGES.items():
        assert within(measured[name], *bounds), (name, measured[name])
    for name in ("critical_compute", "critical_transfer", "critical_wait", "bubble", "bubble_span"):
        assert within(measured.get(name, 0.0), 0.0, measured["makespan"]), name
    workers = pl.worker_metrics(schedule)
    assert within(workers["efficiency"], *SHARE) and within(workers["potential"], *ALL)
    assert within(workers["waited"], 0.0, workers["end"]) and within(workers["late"], 0.0, workers["end"])
    assert within(list(pl.ratios(schedule.problem).values()), 1.0, np.inf)


@pytest.mark.parametrize("transfers", TRANSFER_MODELS)
def test_measures_of_any_placement(transfers):
    """Random placements in any order, and plans of list schedulers as planned."""
    for i, problem in enumerate(many(fewer(150), seed=9, transfers=[transfers])):
        for scheduler in ("fifo", "pct"):
            check(pl.simulate(problem, placement(Random(i).randint, problem), scheduler))
        try:
            plan = pl.place(problem, ("heft", "etf", "m-sct")[i % 3])
        except pl.InfeasibleError:
            continue
        schedule = pl.simulate(problem, plan, "planned")
        check(schedule)
        assert within(pl.compare(problem, ["heft", "single"], ["fifo"])["bound_gap"], *ALL)


@examples(60)
@given(
    graph=models(5),
    speeds=st.lists(st.sampled_from([1.0, 1 / 1.3, 1 / 3, 2.0]), min_size=1, max_size=4),
    job=st.sampled_from(
        [
            dict(sync="ps"),
            dict(sync="ps", update=2.0),
            dict(sync="ps-async", servers=2),
            *(dict(sync="allreduce", algorithm=a, bucket_bytes=b) for a in ("ring", "tree") for b in (2.0, 1e9)),
        ]
    ),
    transfers=st.sampled_from([*TRANSFER_MODELS]),
    latency=st.sampled_from([*LATENCIES]),
    card=st.sampled_from([None, 0.3, 1.0]),
    order=st.sampled_from(["fifo", "tac", "random-reads", "pct"]),
)
def test_measures_of_jobs(graph, speeds, job, transfers, latency, card, order):
    """Workers that differ, with servers or all-reduces; also where all transfers share one network card."""
    n = len(speeds)
    made = pl.transforms.model_replica(graph, len(speeds), iterations=2, **job)
    cluster = with_servers(*speeds, servers=job.get("servers", 1))
    if job["sync"] == "allreduce":
        cluster = with_streams(n, latency=0.5).replace(speed=[*speeds, *[1.0] * n])
    if card and cluster.n_devices > 1:
        cluster = cluster.replace(links={"card": (card, [("*", "*")])})
    problem = pl.Problem(made, cluster, transfers=transfers, latency=latency)
    schedule = pl.simulate(problem, pl.place(problem, "hash"), order)
    check(schedule)
    runs = pl.iterations(problem, schedule.placement, order, runs=2, noise=0.2)
    assert within(runs[["efficiency", "straggling"]], *SHARE) and within(runs["potential"], *ALL)
    if "bucket" in made.metadata["replica"]:
        skew = pl.arrival_skew(schedule)
        assert within(skew["skew"], 0.0, skew["latest"]) and within(skew["latest"], skew["earliest"], skew["end"])
        assert ((skew["worker"] != "") == (skew["skew"] > 0)).all()


@examples(30)
@given(
    microbatches=st.integers(1, 4),
    stages=st.integers(1, 3),
    forward=st.floats(0.1, 3.0),
    transfer=st.floats(0, 2.0),
    replicas=st.integers(1, 2),
    order=st.sampled_from(["1f1b", "gpipe", "fifo"]),
)
def test_measures_of_pipelines(microbatches, stages, forward, transfer, replicas, order):
    """Stages are busy within their span, and the span lies within the step."""
    problem = pl.generators.pipeline_training(
        forward, 2.0, microbatches=microbatches, stages=stages, activation=1.0, transfer=transfer
    )
    if replicas > 1:
        problem = pl.transforms.pipeline_replica(problem, replicas, gradient=4.0)
    schedule = pl.simulate(problem, pl.place(problem, "hash"), order)
    check(schedule)
    table = pl.stages(schedule)
    assert within(table["busy"], 0.0, table["span"]) and within(table["idle"], 0.0, table["span"])
    assert within(table["span"], 0.0, schedule.makespan)

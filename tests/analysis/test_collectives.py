"""All-reduces: closed forms, simulated times, bounds, and arrival skew."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from replicas import ONE, column, layers, run, with_streams

import placelab as pl
from placelab.graphs.transforms import model_replica

MODELS = [("parallel", False), ("channel", False), ("sequential", True)]


def one(size):
    """A model without work whose parameter has so many bytes."""
    return pl.OpGraph.from_arrays(["r", "f"], [0, 0], [(0, 1)], edge_bytes=[size], kind=["read", ""])


def job(size, workers, algorithm="ring"):
    """One all-reduce."""
    return model_replica(one(size), workers, sync="allreduce", algorithm=algorithm)


def farthest_first(problem):
    """First in, first out; of transfers asked for at one instant the one to the highest device first."""
    n = problem.graph.n_tensors
    k = problem.cluster.n_devices
    return pl.Order("fifo", transfer=np.broadcast_to(np.arange(float(k)), (n, k)))


@pytest.mark.parametrize(("transfers", "duplex"), MODELS)
@pytest.mark.parametrize(("algorithm", "wanted"), [("ring", 15), ("tree", 34), ("halving", 14)])
def test_ar1_simulated_and_closed_form_agree(algorithm, wanted, transfers, duplex):
    """AR1: 8 bytes, 4 workers, 1 byte/s, latency .5; a tree's transfers are ordered, the farther subtree first."""
    found = run(job(8.0, 4, algorithm), with_streams(4, latency=0.5), farthest_first, transfers, duplex)
    assert found.makespan == wanted
    assert pl.allreduce_time(8, 4, bandwidth=1, latency=0.5, algorithm=algorithm) == wanted


def test_ar1_a_tree_whose_transfers_are_not_ordered_is_slower():
    """AR1: with one transfer at a time the root sends to the nearer child first."""
    assert run(job(8.0, 4, "tree"), with_streams(4, latency=0.5), "fifo", "sequential", True).makespan == 42.5


def test_ar1b_rings_of_other_sizes_and_a_slow_link():
    """AR1b: 2, 3, 5, 8 workers; one link at half the rate."""
    for n, wanted in {2: 9, 3: 12.6667, 5: 16.8, 8: 21}.items():
        assert run(job(8.0, n), with_streams(n, latency=0.5)).makespan == pytest.approx(wanted, abs=5e-5)
        assert pl.allreduce_time(8, n, bandwidth=1, latency=0.5) == pytest.approx(wanted, abs=5e-5)
    rate = np.ones((4, 4))
    rate[1, 2] = 0.5
    assert run(job(8.0, 4), with_streams(4, rate, 0.5)).makespan == 27
    assert pl.allreduce_time(8, 4, bandwidth=[1, 0.5, 1, 1], latency=0.5) == 27


@examples(60)
@given(
    algorithm=st.sampled_from(["ring", "tree", "halving"]),
    power=st.integers(0, 3),
    odd=st.integers(0, 3),
    size=st.floats(0, 100),
    latency=st.floats(0, 2),
    seed=st.integers(0, 1000),
    model=st.sampled_from(MODELS),
)
def test_an_allreduce_is_never_faster_than_its_bound(algorithm, power, odd, size, latency, seed, model):
    """The closed form at the fastest link; a tree of n workers is at least as deep as log2 n rounded down."""
    n = 2**power + (odd % 2**power if algorithm != "halving" else 0)
    rate = np.random.default_rng(seed).uniform(0.5, 4, (n, n))
    found = run(job(size, n, algorithm), with_streams(n, rate, latency), "fifo", *model).makespan
    least = 2 ** (n.bit_length() - 1) if algorithm == "tree" else n
    bound = pl.allreduce_time(size, least, bandwidth=rate.max(), latency=latency, algorithm=algorithm)
    assert found >= bound * (1 - 1e-12)
    if algorithm == "ring" and n > 1 and model != MODELS[0]:
        ring = rate[np.arange(n), (np.arange(n) + 1) % n]
        assert found >= pl.allreduce_time(size, n, bandwidth=ring, latency=latency) * (1 - 1e-12)


@examples(30)
@given(
    algorithm=st.sampled_from(["ring", "halving"]),
    power=st.integers(1, 3),
    size=st.floats(0.01, 100),
    latency=st.floats(0, 2),
)
def test_equal_links_give_the_closed_form_exactly(algorithm, power, size, latency):
    """Under every transfer model with full duplex."""
    n = 2**power
    wanted = pl.allreduce_time(size, n, bandwidth=2.0, latency=latency, algorithm=algorithm)
    for model in MODELS:
        found = run(job(size, n, algorithm), with_streams(n, 2.0, latency), "fifo", *model).makespan
        assert found == pytest.approx(wanted, rel=1e-12)


def test_arrival_skew_is_the_spread_of_readiness():
    """A worker of half the speed computes 2 s instead of 1 s in each pass; the sum follows it."""
    made = model_replica(ONE, 2, sync="allreduce", iterations=2)
    cluster = with_streams(2)
    skew = pl.arrival_skew(run(made, cluster.replace(speed=[1, 0.5, 1, 1])))
    assert skew["iteration"].tolist() == [0, 1] and skew["bucket"].tolist() == [0, 0]
    assert skew["earliest"][0] == 2 and skew["latest"][0] == 4 and skew["skew"].tolist() == [2, 2]
    assert (skew["end"] >= skew["latest"]).all()
    even = pl.arrival_skew(run(model_replica(layers(3, 1.0), 2, sync="allreduce", bucket_bytes=1.0), cluster))
    assert even["bucket"].tolist() == [0, 1, 2] and not even["skew"].any()


def test_a_schedule_without_buckets_has_no_skew():
    """The message says how to make one."""
    with pytest.raises(pl.UnsupportedError, match="no buckets of gradients"):
        pl.arrival_skew(pl.solve(pl.Problem(one(1.0), pl.Cluster.uniform(2)), "heft"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(workers=0, bandwidth=1), "workers is 0"),
        (dict(workers=3, bandwidth=[1, 2]), "bandwidth has shape"),
        (dict(workers=3, bandwidth=0), "bandwidths above 0"),
        (dict(workers=3, bandwidth=1, algorithm="halving"), "power of two"),
        (dict(workers=4, bandwidth=1, algorithm="star"), "algorithm is 'star'"),
    ],
)
def test_numbers_out_of_range_are_named(arguments, words):
    """Each raises a FormatError."""
    with pytest.raises(pl.FormatError, match=words):
        pl.allreduce_time(8.0, **arguments)


def test_the_worst_bucket_is_found_by_its_number():
    """Buckets of a job and of its skew have the same numbers."""
    made = model_replica(layers(3, 1.0), 2, sync="allreduce", bucket_bytes=1.0)
    assert sorted(set(column(made, "bucket").tolist())) == [-1, 0, 1, 2]

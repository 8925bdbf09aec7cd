"""Replicas that sum their gradients by all-reduces: buckets, windows, overlap."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from replicas import column, is_role, layers, run, with_streams

import placelab as pl
from placelab.graphs.transforms import model_replica


def backward_only(graph):
    """The job with backward ops of 2 operations and no other work."""
    return graph.replace(compute=np.where(is_role(graph, "backward"), 2.0, 0.0))


def collectives_first(problem):
    """First in, first out; at one instant the ops of buckets first."""
    n = problem.graph.n_ops
    return pl.Order("fifo", np.arange(n) + n * ~is_role(problem.graph, "ready", "reduce", "gather"))


@pytest.mark.parametrize(
    ("workers", "size", "latency", "streams", "fused", "wanted"),
    [
        (2, 3, 0, True, False, 11),
        (2, 3, 0, False, False, 11.5),
        (2, 3, 0, True, True, 15),
        (2, 1, 0, False, False, 7.5),
        (2, 1, 0, False, True, 9),
        (2, 1, 1, False, False, 11.5),
        (2, 1, 1, False, True, 11),
        (4, 4, 0, True, False, 20),
        (4, 4, 0, False, False, 21),
        (4, 4, 0, True, True, 24),
    ],
)
def test_ar2_and_ar3_overlap_of_three_layers(workers, size, latency, streams, fused, wanted):
    """AR2, AR3: buckets per layer overlap with the backward pass; fusing wins when latency counts."""
    how = dict(bucket_bytes=np.inf if fused else 0.0, streams=streams)
    graph = backward_only(model_replica(layers(3, size), workers, sync="allreduce", **how))
    found = run(graph, with_streams(workers, latency=latency), collectives_first).makespan
    assert found == pytest.approx(wanted, abs=1e-12)


@examples(30)
@given(
    seconds=st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=1, max_size=8),
    most=st.sampled_from([4.0, 8.0, np.inf]),
    latency=st.sampled_from([0.0, 0.25]),
)
def test_buckets_overlap_as_ddp_does(seconds, most, latency):
    """By the closed form: a bucket's sum ends at e(k) = max(ready(k), e(k - 1)) + its all-reduce; the rest is exposed."""
    n = len(seconds)
    chain = layers(len(seconds), 4.0)
    chain = chain.replace(compute=[0.0] * n + seconds)
    schedule = run(model_replica(chain, 4, sync="allreduce", bucket_bytes=most), with_streams(4, latency=latency))
    buckets = pl.arrival_skew(schedule)
    end = 0.0
    assert not buckets["skew"].any() and buckets["latest"].iloc[-1] == 2 * sum(seconds)
    for row, share in zip(buckets.itertuples(), shared_out(n, most), strict=True):
        end = max(row.latest, end) + pl.allreduce_time(4.0 * share, 4, bandwidth=1.0, latency=latency)
        assert row.end == pytest.approx(end, rel=1e-12)
    assert schedule.makespan == pytest.approx(end, rel=1e-12)


def shared_out(n: int, most: float) -> list[int]:
    """How many of `n` gradients of 4 bytes are in each bucket."""
    each = n if most == np.inf else int(most // 4)
    return [min(each, n - first) for first in range(0, n, each)]


@pytest.mark.parametrize(
    ("window", "barrier", "wanted"),
    [
        ("end", True, [11, 22, 33]),
        ("start", True, [15, 30, 45]),
        ("end", False, [11, 22, 33]),
        ("start", False, [15, 30, 45]),
    ],
)
def test_windows_of_synchronisation(window, barrier, wanted):
    """At the start of a step nothing hides the all-reduces but the forward pass, which has no work here."""
    for iterations, end in enumerate(wanted, 1):
        made = model_replica(
            layers(3, 3.0), 2, sync="allreduce", bucket_bytes=0.0, window=window, iterations=iterations, barrier=barrier
        )
        assert run(backward_only(made), with_streams(2)).makespan == end


def test_a_forward_op_waits_for_its_own_bucket_alone():
    """Window at the start: the first layer runs when its parameter is there, the last one's follows."""
    made = model_replica(layers(3, 3.0), 2, sync="allreduce", bucket_bytes=0.0, window="start")
    schedule = run(made, with_streams(2))
    assert [schedule.start[made.index(f"it0/w0/r{i}")] for i in range(3)] == [3, 6, 9]


def test_buckets_are_filled_in_order_of_the_backward_pass():
    """The last layer's gradient is in the first bucket; a gradient larger than a bucket is alone."""
    made = model_replica(layers(5, 4.0), 2, sync="allreduce", bucket_bytes=8.0)
    for b, wanted in enumerate(({"f4", "f3"}, {"f2", "f1"}, {"f0"})):
        inputs = made.predecessors_of(made.index(f"it0/bucket{b}/ready@0"))
        gradients = inputs[is_role(made, "backward")[inputs]]
        assert set(made.names[gradients]) == {f"it0/w0/gradients/{name}_grad" for name in wanted}
    assert column(model_replica(layers(3, 4.0), 2, sync="allreduce", bucket_bytes=1.0), "bucket").max() == 2


def parameters(sizes: list[float]) -> pl.OpGraph:
    """A chain of ops, each of which reads a parameter, p0 first."""
    n = len(sizes)
    edges = [(i, n + i) for i in range(n)] + [(n + i, n + i + 1) for i in range(n - 1)]
    names = [f"p{i}/read" for i in range(n)] + [f"f{i}" for i in range(n)]
    return pl.OpGraph.from_arrays(
        names, [0] * n + [1] * n, edges, edge_bytes=[*sizes, *[0] * (n - 1)], kind=["read"] * n + [""] * n
    )


def bucket_bytes(made: pl.OpGraph) -> list[float]:
    """Bytes of each bucket over two workers, each hop of whose ring has half of them."""
    bucket = np.array(made.metadata["replica"]["bucket"])
    hop = [v for v in range(made.n_ops) if made.names[v].endswith("reduce0@1")]
    into = np.isin(made.consumer, hop)
    return (2 * np.bincount(bucket[made.consumer[into]], made.edge_bytes[into])).tolist()


def resnet18() -> list[float]:
    """Bytes of its 62 parameters in float32, in the order of the module."""
    sizes = [3 * 64 * 49, 64, 64]
    width = 64
    for i, c in enumerate((64, 128, 256, 512)):
        for j in range(2):
            sizes += [width * c * 9, c, c, c * c * 9, c, c]
            sizes += [width * c, c, c] if i and not j else []
            width = c
    return [4.0 * n for n in (*sizes, 512_000, 1000)]


@pytest.mark.parametrize(("mib", "wanted"), [(25, [2052000, 28852224, 15853824]), (35, [2052000, 38297600, 6408448])])
def test_the_buckets_of_pytorch(mib, wanted):
    """Golden D1 (PyTorch #48880): ResNet-18, whose first bucket has a cap of 1 MiB."""
    how = dict(buckets="reach") if mib == 25 else dict(buckets="reach", bucket_bytes=mib * 2**20)
    assert bucket_bytes(model_replica(parameters(resnet18()), 2, sync="allreduce", **how)) == wanted


def test_buckets_by_name():
    """Buckets are reduced in the order given; each parameter is in one."""
    graph = parameters([4.0, 8.0, 16.0])
    made = model_replica(graph, 2, sync="allreduce", buckets=[["p1"], ["p2", "p0"]])
    assert bucket_bytes(made) == [8, 20]
    for buckets, words in (
        ([["p0", "p1"]], "parameter 'p2' is in none of the buckets"),
        ([["p0", "p1", "p2"], ["p1"]], "parameter 'p1' is in two places of the buckets"),
        ([["p3"]], "bucket 0 has 'p3', which is no parameter"),
        ([0], "bucket 0 needs"),
        ("largest", "buckets is 'largest'; expected 'fit', 'reach' or lists"),
    ):
        with pytest.raises(pl.PlacelabError, match=words):
            model_replica(graph, 2, sync="allreduce", buckets=buckets)


@pytest.mark.parametrize(
    ("more", "wanted"), [({}, 14), (dict(rings=4, hosts=2), 3.5), (dict(algorithm="hierarchical", hosts=2), 5)]
)
def test_hosts_of_four(more, wanted):
    """Golden C1, gradients of eight bytes: one ring, four, and a hierarchy."""
    near = np.arange(8) // 4
    cluster = with_streams(8, np.where(near[:, None] == near, 4.0, 1.0))
    graph = parameters([8.0])
    made = model_replica(graph.replace(compute=np.zeros(2)), 8, sync="allreduce", **more)
    assert run(made, cluster).makespan == wanted


@pytest.mark.parametrize("sync", ["allreduce", "ps"])
def test_uneven_batches(sync):
    """A worker with three of four samples computes three times as long, and its activations have three times the bytes."""
    graph = parameters([4.0, 4.0]).replace(compute=[0, 0, 1.0, 1.0])
    graph = pl.OpGraph.from_arrays(
        graph.names, graph.compute, graph.edges, edge_bytes=[4.0, 4.0, 10.0], kind=graph.kind
    )
    even, uneven = (model_replica(graph, 2, sync=sync, samples=samples) for samples in (None, (3, 1)))
    for w, factor in ((0, 1.5), (1, 0.5)):
        mine = np.char.find(even.names.astype(str), f"it0/w{w}/") == 0
        assert uneven.compute[mine].tolist() == (factor * even.compute[mine]).tolist()
    assert sorted(size for size in even.edge_bytes if size > 4) == [10] * 4
    assert sorted(size for size in uneven.edge_bytes if size > 4) == [5, 5, 15, 15]
    assert (even.edge_bytes == 4).sum() == (uneven.edge_bytes == 4).sum()
    with pytest.raises(pl.FormatError, match="samples is"):
        model_replica(graph, 2, sync=sync, samples=(1, 2, 3))

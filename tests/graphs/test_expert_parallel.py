"""Expert parallelism as a graph: exchanges around the experts of each layer, and what ranks hold."""

from __future__ import annotations

import numpy as np
import pytest
from replicas import run, with_streams

import placelab as pl
from placelab.models.config import CONFIGS

expert_parallel = pl.transforms.expert_parallel
SMALL = dict(hidden_size=64, num_attention_heads=8, vocab_size=1024)
MODEL = pl.models.read(
    CONFIGS["mixtral-8x7b"] | SMALL | dict(num_hidden_layers=2, num_key_value_heads=2, intermediate_size=128)
)
SHARED = pl.models.read(CONFIGS["deepseek-v2-lite"] | SMALL | dict(num_hidden_layers=3))


@pytest.mark.parametrize("e", [2, 4, 8])
@pytest.mark.parametrize("capacity", [None, 1.5])
def test_exchanges_of_a_training_step(e, capacity):
    """Two all-to-alls a layer each way, each of the tokens' bytes times the experts that they choose; experts are divided."""
    graph = MODEL.graph("train", sequence=16)
    made = expert_parallel(graph, e, capacity=capacity)
    hop = made.kind == "exchange"
    assert hop.sum() == 2 * 2 * 2 * e * (e - 1)
    moved = made.edge_bytes[hop[made.consumer]].sum() / e
    assert moved == pytest.approx(8 * (e - 1) / e * 2 * 16 * 2 * 64 * (capacity or 1))
    experts = 2 * 3 * 64 * 128 * 8 * 2
    on_rank = np.array([made.device_sets[d][0] == "worker:0" for d in made.device_set])
    assert made.persistent[on_rank].sum() == 2 * MODEL.parameters - experts + experts / e
    run(made, pl.clusters.data_parallel(e))


def test_shared_experts_stay():
    """The experts that all tokens share are on every rank, and dense layers exchange nothing."""
    graph = SHARED.graph("forward", sequence=16)
    made = expert_parallel(graph, 4)
    assert (made.kind == "exchange").sum() == 2 * 2 * 4 * 3
    names = [name for name in made.names if name.startswith("w0/") and "shared_experts" in name]
    assert len(names) == 2 * 4
    for name in names:
        v = made.index(name)
        w = graph.index(name.removeprefix("w0/"))
        assert made.persistent[v] == graph.persistent[w] and made.compute[v] == graph.compute[w]


def test_one_rank_takes_the_time_of_the_graph():
    """Nothing is exchanged."""
    graph = MODEL.graph("train", sequence=16)
    problem = pl.Problem(graph, pl.clusters.data_parallel(1))
    alone = pl.simulate(problem, pl.place(problem, "single"), "fifo")
    assert run(expert_parallel(graph, 1), problem.cluster).makespan == pytest.approx(alone.makespan)


def test_a_layer_by_hand():
    """Attention and experts of 1 s, and two exchanges of 3 rounds, each of half a second and 2 bytes at 4 bytes/s."""
    graph = pl.OpGraph.from_arrays(
        ["attention", "experts.mlp", "combine"], [1.0, 1.0, 0.0], [(0, 1), (1, 2)], edge_bytes=[8.0, 8.0]
    )
    made = expert_parallel(graph, 4)
    assert run(made, with_streams(4, bandwidth=4.0, latency=0.5)).makespan == 1 + 3 + 1 + 3


def layer_of_e1() -> pl.OpGraph:
    """A layer of golden E1: attention and experts of 1 s, in the backward pass of 2 s; 8 bytes are exchanged."""
    names = ["attention", "experts.mlp", "combine"]
    names = [*names, *(f"{name}.backward" for name in names[::-1]), "attention.update"]
    edges = [(k, k + 1) for k in range(6)]
    return pl.OpGraph.from_arrays(
        names, [1.0, 1.0, 0.0, 0.0, 2.0, 2.0, 0.0], edges, edge_bytes=[8.0, 8.0, 0.0, 8.0, 8.0, 0.0]
    )


@pytest.mark.parametrize(("exchange", "forward", "backward", "both"), [(1, 4, 6, 6), (0.5, 3, 5, 6), (1.5, 5, 7, 7)])
def test_two_micro_batches_of_a_layer(exchange, forward, backward, both):
    """Golden E1: the passes that run together take the proven optimum; all of it is F, F&B, B."""
    cluster = with_streams(2, bandwidth=4.0 / exchange)
    assert run(expert_parallel(layer_of_e1(), 2), cluster).makespan == forward + backward
    schedule = run(expert_parallel(layer_of_e1(), 2, overlap=True), cluster)
    assert schedule.makespan == forward + both + backward


@pytest.mark.parametrize("model", [MODEL, SHARED])
def test_overlap_hides_what_is_exchanged(model):
    """Two micro-batches take less than twice one, and no less than a device is busy; ops and exchanges are there twice."""
    graph = model.graph("train", sequence=256)
    alone = expert_parallel(graph, 4)
    both = expert_parallel(graph, 4, overlap=True)
    hop = both.kind == "exchange"
    assert (
        both.edge_bytes[hop[both.consumer]].sum()
        == 2 * alone.edge_bytes[(alone.kind == "exchange")[alone.consumer]].sum()
    )
    assert both.persistent.sum() == alone.persistent.sum()
    updates = [name for name in both.names if name.endswith(".update")]
    assert len(updates) == sum(name.endswith(".update") for name in alone.names) and "mb1/" in updates[0]
    assert both.compute.sum() == pytest.approx(
        2 * alone.compute.sum() - sum(alone.compute[alone.index(name.replace("mb1/", ""))] for name in updates)
    )
    for bandwidth in (1e4, 1e6, 1e9):
        cluster = with_streams(4, bandwidth=bandwidth).replace(speed=[1e9] * 4 + [1.0] * 4)
        one = run(alone, cluster)
        two = run(both, cluster)
        busy = both.compute.sum() / 4 / 1e9
        assert busy <= two.makespan < 2 * one.makespan


@pytest.mark.parametrize(
    ("graph", "arguments", "words"),
    [
        (MODEL, dict(e=3), "e is 3, which does not divide 8 experts"),
        (MODEL, dict(e=0), "e is 0"),
        (MODEL, dict(e=2, capacity=0), "capacity is 0"),
        (pl.models.read("gpt2"), dict(e=2), "has no experts"),
        (MODEL, dict(e=2, overlap=True), "has no backward pass to overlap with; give the graph of a training step"),
    ],
)
def test_what_is_refused(graph, arguments, words):
    """One sentence says what was found."""
    with pytest.raises(pl.PlacelabError, match=words):
        expert_parallel(graph.graph("forward", sequence=16), **arguments)

"""What makes graphs and clusters refuses impossible numbers of what it makes, before it takes memory for them."""

from __future__ import annotations

import inspect
import re
import tracemalloc
from collections.abc import Callable

import pytest

import placelab as pl

IMPOSSIBLE = (10**400, 10**12, -1, 2.5, True, float("nan"), "3")
LONGEST = 240  # characters of one clear sentence
MOST = 3_000_000  # bytes that a refusal may take

MODEL = pl.models.read("gpt2")
FORWARD = MODEL.graph("forward", sequence=8)
STEP = MODEL.graph("train", sequence=8)
EXPERTS = pl.models.read("mixtral-8x7b").graph("forward", sequence=8)
LAYER = pl.OpGraph.from_arrays(["route", "experts.up", "combine"], [0, 4, 0], [(0, 1), (1, 2)], edge_bytes=[8, 8])
TRAINING = pl.transforms.backward(pl.generators.fork_join(3))
READS = pl.OpGraph.from_arrays(["r", "f"], [0, 1], [(0, 1)], edge_bytes=[1.0], kind=["read", ""])
PIPELINE = pl.generators.pipeline_training(1.0, 2.0, microbatches=2, stages=2)
NEEDED = {  # arguments that have no defaults
    "cluster": dict(device="h100"),
    "collective": dict(kind="all-reduce", size=1e6, workers=4),
    "describe_op": None,  # makes nothing
    "expert_parallel": dict(graph=EXPERTS, e=2),
    "microbatches": dict(placement=pl.place(pl.Problem(TRAINING, pl.Cluster.uniform(2)), "heft"), m=2),
    "model_replica": dict(graph=READS, workers=2, sync="allreduce"),
    "pipeline_replica": dict(problem=PIPELINE, replicas=2, gradient=1.0),
    "pipeline_training": dict(forward=1.0, backward=2.0, microbatches=4, stages=2),
    "replicated": dict(cluster=pl.Cluster.uniform(2)),
    "sharded": dict(graph=STEP, n=2),
    "tensor_parallel": dict(graph=FORWARD, t=2),
    "uniform": dict(n=2),
}


def makers() -> list[Callable]:
    """All functions of the rooms that make graphs and clusters."""
    listed = [getattr(room, name) for room in (pl.generators, pl.transforms, pl.costs) for name in room.__all__]
    presets = [
        function
        for function in vars(pl.clusters).values()
        if getattr(function, "__module__", "") == pl.clusters.__name__
    ]
    public = [made for made in (*listed, *presets) if inspect.isfunction(made) and not made.__name__.startswith("_")]
    return [*public, pl.Cluster.uniform, MODEL.graph]


def cases() -> list:
    """Each maker with each of its parameters that is a whole number."""
    return [
        pytest.param(maker, label, id=f"{maker.__qualname__}({label})")
        for maker in makers()
        for label, parameter in inspect.signature(maker).parameters.items()
        if parameter.annotation in ("int", "int | None") and label != "seed"
        if NEEDED.get(maker.__name__, {}) is not None
    ]


@pytest.mark.parametrize(("maker", "label"), cases())
def test_an_impossible_number_is_refused_in_one_sentence(maker, label):
    """The sentence names the argument, is the package's own, and comes at once."""
    given = NEEDED.get(maker.__name__, {})
    maker(**given)
    tracemalloc.start()
    for value in IMPOSSIBLE:
        tracemalloc.reset_peak()
        with pytest.raises(pl.PlacelabError) as caught:
            maker(**given | {label: value})
        said = str(caught.value)
        assert re.search(rf"\b{label}\b|number of devices", said) and len(said) < LONGEST and "\n" not in said
        assert tracemalloc.get_traced_memory()[1] < MOST, value
    tracemalloc.stop()


@pytest.mark.parametrize(
    "call",
    [
        lambda: pl.generators.fork_join(10**4, 10**4),
        lambda: pl.generators.stencil(10**4, 10**4),
        lambda: pl.generators.pipeline(10**4, 10**4),
        lambda: pl.generators.gaussian_elimination(10**4),
        lambda: pl.generators.fft(2**20),
        lambda: pl.generators.layered(10**6, degree=1e6),
        lambda: pl.generators.random_dag(10**6, degree=1e300),
        lambda: pl.costs.cluster("h100", 10**4, hosts=10**4),
        lambda: pl.transforms.sharded(STEP, 10**6),
        lambda: pl.transforms.sharded(STEP, 2, accumulate=10**6),
        lambda: pl.transforms.tensor_parallel(TRAINING, 10**6),
        lambda: pl.transforms.expert_parallel(LAYER, 10**6),
    ],
)
def test_numbers_that_are_too_large_together_are_refused(call):
    """Each of them alone would do; the sentence has both, or what they make, and comes before memory is taken."""
    tracemalloc.start()
    with pytest.raises(pl.FormatError, match=r"at most|from 1 to"):
        call()
    assert tracemalloc.get_traced_memory()[1] < MOST
    tracemalloc.stop()


def test_all_pairs_of_a_small_graph_are_joined():
    """Every two of 500 ops, whatever degree is given."""
    assert pl.generators.random_dag(500, degree=1e9).n_edges == 500 * 499 // 2

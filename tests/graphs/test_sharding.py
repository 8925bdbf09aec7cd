"""Sharded training steps: hand-computed overlap of gathers, bytes of the closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from replicas import run, with_streams

import placelab as pl

sharded = pl.transforms.sharded
TINY = dict(
    model_type="llama", hidden_size=64, num_hidden_layers=3, num_attention_heads=8, num_key_value_heads=2,
    intermediate_size=128, vocab_size=1024,
)  # fmt: skip


def four_units(size: float) -> pl.OpGraph:
    """Units of 2 s forward and 4 s back, with `size` bytes of weights."""
    forward = [f"model.layers.{i}" for i in range(4)]
    names = [*forward, *(f"{name}.backward" for name in forward[::-1])]
    return pl.OpGraph.from_arrays(
        names, [2.0] * 4 + [4.0] * 4, [(v, v + 1) for v in range(7)], persistent=[size] * 4 + [0.0] * 4
    )


@pytest.mark.parametrize(("seconds", "expected"), [(1, (35, 26, 26)), (3, (57, 37, 33)), (6, (90, 66, 66))])
def test_units_gathered_ahead(seconds, expected):
    """Golden Z1: stage 3 with one, two and three units at a time; gathers and scatters of 1, 3 and 6 s on a ring of four."""
    graph = four_units(4 * seconds / 3)
    for limit, makespan in enumerate(expected, 1):
        assert run(sharded(graph, 4, limit=limit), with_streams(4)).makespan == pytest.approx(makespan)


def test_two_streams():
    """Gathers that do not wait for scatters end sooner unless both need the same link; a unit not kept is gathered again."""
    graph = four_units(4.0)
    for transfers, expected in (("parallel", (37, 33, 38)), ("channel", (37, 37, 38))):
        for how, makespan in zip(({}, dict(streams=2), dict(keep_last=False)), expected, strict=True):
            schedule = run(sharded(graph, 4, **how), with_streams(4), transfers=transfers)
            assert schedule.makespan == pytest.approx(makespan)


def sent(made: pl.OpGraph, n: int) -> np.ndarray:
    """Bytes that each rank sends."""
    moving = np.isin(made.kind, ("ready", "reduce", "gather"))
    found = np.zeros(n)
    crossing = moving[made.producer] & moving[made.consumer]
    for u, size in zip(made.producer[crossing], made.edge_bytes[crossing], strict=True):
        found[int(made.names[u].rpartition("@")[2])] += size
    return found


@pytest.mark.parametrize("n", [1, 2, 4])
def test_bytes_by_stage(n):
    """2(n - 1)/n of all weights at stages 1 and 2, 3(n - 1)/n at stage 3 but for what is kept; one rank takes the step's time."""
    model = pl.models.read(TINY)
    graph = model.graph("train", sequence=16)
    whole = 2.0 * model.parameters
    layer = 2.0 * model.blocks["parameters"].iloc[1]
    rest = whole - 3 * layer
    cluster = pl.clusters.data_parallel(n)
    for stage, bytes_ in ((1, 2 * whole), (2, 2 * whole), (3, 3 * whole - layer - rest)):
        made = sharded(graph, n, stage)
        assert sent(made, n) == pytest.approx(np.full(n, (n - 1) / n * bytes_))
        schedule = run(made, cluster)
        assert made.persistent.sum() == pytest.approx(graph.persistent.sum() * (1 if stage == 3 else n))
        assert all(
            "/stream" in made.device_sets[d][0] for d in made.device_set[np.isin(made.kind, ("reduce", "gather"))]
        )
        if n == 1:
            problem = pl.Problem(graph, cluster)
            alone = pl.simulate(problem, pl.place(problem, "single"), "fifo")
            assert schedule.makespan == pytest.approx(alone.makespan)


def test_groups_and_micro_batches():
    """HSDP gathers within groups and sums across; accumulating scatters once."""
    graph = four_units(24.0)
    both = sent(sharded(graph, 4, hybrid=2), 4)
    assert both == pytest.approx(np.full(4, (7 + 4) * 12 + 4 * 2 * (2 - 1) / 2 * 12))
    each, last = (sent(sharded(graph, 4, accumulate=3, sync=sync), 4)[0] for sync in ("each", "last"))
    assert each == pytest.approx(3 * (7 + 4) * 18) and last == pytest.approx((3 * 7 + 4) * 18)
    assert run(sharded(graph, 4, accumulate=3), with_streams(4)).makespan > 3 * 4 * (2 + 4)


def test_buckets_of_stage_1():
    """A bucket is scattered once it has its bytes."""
    for bucket, scatters in ((np.inf, 1), (20, 2), (5, 4)):
        made = sharded(four_units(10.0), 2, 1, bucket_bytes=bucket)
        ready = [name for name in made.names if "/scatter/" in name and "/ready@0" in name]
        assert len(ready) == scatters


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(stage=0), "stage is 0; expected 1, 2 or 3"),
        (dict(hybrid=3), "groups of 3 do not divide 4 ranks"),
        (dict(units="block"), "units is 'block'; expected 'layer'"),
        (dict(units=["other.*"]), "unit 0 has no forward ops"),
        (dict(units=[]), "the graph has no units"),
        (dict(limit=0), "limit is 0"),
        (dict(gradient=-1), "gradient is -1"),
        (dict(sync="never"), "sync is 'never'"),
    ],
)
def test_what_is_refused(arguments, words):
    """One sentence says what was found."""
    with pytest.raises(pl.PlacelabError, match=words):
        sharded(four_units(4.0), 4, **arguments)
    with pytest.raises(pl.UnsupportedError, match="sharding needs a training step"):
        sharded(pl.models.read(TINY).graph("forward", sequence=16), 2)

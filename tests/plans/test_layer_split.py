"""Layers over devices: published sizes on known GPUs, agreement with the simulator, and what is refused."""

from __future__ import annotations

import time
from itertools import product

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.plans.borders import OBJECTIVES

TYPES = ("rtx4090", "rtx3090", "t4")


def gpus(types=TYPES, memory=1.0, **more) -> pl.Cluster:
    """One device of each type, with links that take no time."""
    known = [pl.costs.specs()[name] for name in types]
    links = dict(bandwidth=1e30) | more
    return pl.Cluster([s.speed for s in known], memory=[memory * s.memory for s in known], types=types, **links)


@pytest.mark.parametrize(
    ("objective", "memory", "counts", "value"),
    [
        ("stage", 1.0, (16, 14, 2), 7.4568e-3),
        ("memory", 1.0, (11, 14, 7), 0.27404),
        ("sum", 1.0, (31, 1, 0), 18.2328e-3),
        ("sum", 0.4, (18, 14, 0), 18.6989e-3),
    ],
)
def test_llama_on_three_gpus(objective, memory, counts, value):
    """Golden L2: bytes over bandwidth, which activations change by less than a thousandth; the last device has the head alone."""
    split = pl.split_layers("llama-3-8b", gpus(memory=memory), objective=objective, context=8192)
    assert split.counts == counts and split.value == pytest.approx(value, rel=1e-3)
    assert split.value >= value * (1 - 1e-5)
    same = pl.split_layers("llama-3-8b", gpus(), objective=objective, context=8192, headroom=1 - memory)
    assert same.counts == counts and same.fits


@pytest.mark.parametrize("phase", ["decode", "prefill", "train"])
@pytest.mark.parametrize("name", ["llama-3.2-1b", "gpt2", "deepseek-v2-lite", "gemma-2-9b"])
def test_one_micro_batch_takes_the_sum_of_all_seconds(name, phase):
    """The simulator agrees on seconds, and on bytes of weights and caches, tied tables on both ends included."""
    cluster = pl.costs.cluster("h200", 3, link="pcie4").replace(memory=1e15)
    split = pl.split_layers(name, cluster, phase=phase, batch=2, sequence=64, context=0 if phase == "train" else 30)
    schedule = split.schedule()
    assert schedule.makespan == pytest.approx(split.seconds.sum(), rel=1e-9) and pl.validate(schedule) == []
    if phase != "train":
        frame = split.frame
        held = np.bincount(schedule.device, schedule.problem.graph.persistent, minlength=3)
        assert held == pytest.approx(frame["weights"] + frame["cache"], rel=1e-12)
        assert frame["layers"].sum() == split.model.layers


def test_a_step_of_micro_batches_is_held_up_by_the_slowest_stage():
    """Under 1f1b a step takes m times the slowest stage at least; the first stage keeps p micro-batches, the last one."""
    split = pl.split_layers("llama-3.2-1b", pl.costs.cluster("h100", 4), phase="train", microbatches=8, sequence=1024)
    schedule = split.schedule()
    frame = split.frame
    assert 8 * (frame["seconds"].max() * 0.99) < schedule.makespan < (8 + 3) * frame["seconds"].max()
    each = frame["activations"] / frame["layers"]
    assert (each / each.iloc[-1]).tolist() == pytest.approx([4, 3, 2, 1])


def test_every_objective_is_best_at_its_own():
    """Each split is at least as good as the others by its own measure, and moving a border never makes it better."""
    cluster = gpus(bandwidth=5e9, latency=1e-5)
    splits = {o: pl.split_layers("qwen2.5-7b", cluster, objective=o, phase="prefill", sequence=512) for o in OBJECTIVES}

    def measured(split: pl.LayerSplit, objective: str) -> float:
        return pl.LayerSplit(
            split.model, cluster, split.order, split.borders, split.wanted._replace(objective=objective)
        ).value

    for objective, best in splits.items():
        assert sum(best.counts) == 28 and best.fits
        for other in splits.values():
            assert best.value <= measured(other, objective) * (1 + 1e-12)
        for border in (0, 1):
            for layers in (-1, 1):
                try:
                    moved = best.moved(border, layers)
                except pl.FormatError:
                    continue
                assert moved.counts != best.counts
                assert not moved.fits or moved.value >= best.value * (1 - 1e-12)


def test_more_never_hurts():
    """A faster device, a faster link or more memory gives no worse value."""
    less = pl.split_layers("llama-3-8b", gpus(memory=0.4, bandwidth=1e9), context=512)
    for better in (
        gpus(memory=0.5, bandwidth=1e9),
        gpus(memory=0.4, bandwidth=4e9),
        gpus(("h100", *TYPES[1:]), 0.4, bandwidth=1e9),
    ):
        assert pl.split_layers("llama-3-8b", better, context=512).value <= less.value
    free = pl.split_layers("llama-3-8b", gpus(memory=0.4, bandwidth=1e9), context=512, order="free")
    idle = pl.split_layers("llama-3-8b", gpus(memory=0.4, bandwidth=1e9), context=512, empty=True)
    assert free.value <= less.value and idle.value <= less.value


def test_a_free_order_names_its_devices():
    """The slow device has the fewest layers wherever it stands, and the columns follow the order."""
    cluster = gpus(("t4", "h100", "t4"))
    split = pl.split_layers("llama-3-8b", cluster, order="free", objective="sum", context=100)
    assert sorted(split.order) == [0, 1, 2] and split.order[split.counts.index(max(split.counts))] == 1
    assert split.seconds.sum() == pytest.approx(split.schedule().makespan)
    assert split.devices == tuple(cluster.names[d] for d in split.order)


def test_idle_devices_have_nothing():
    """With `empty` one fast device takes all; a fixed border holds."""
    cluster = gpus(("t4", "h100", "t4"))
    split = pl.split_layers("llama-3-8b", cluster, objective="sum", empty=True)
    assert split.counts == (0, 32, 0) and split.seconds[[0, 2]].tolist() == [0, 0] == split.memory[[0, 2]].tolist()
    assert (
        split.schedule().makespan == pytest.approx(split.value) and split.frame["weights"].tolist()[1] == 2 * 8030261248
    )
    train = pl.split_layers("llama-3.2-1b", cluster, objective="stage", empty=True, phase="train", sequence=256)
    assert sum(train.counts) == 16 and train.counts[1] > 0 and train.fits
    fixed = pl.split_layers("llama-3-8b", cluster, fixed={0: 3, 1: 30})
    assert fixed.counts == (3, 27, 2)
    assert pl.split_layers("llama-3-8b", cluster, fixed={0: 0}, empty=True).counts[0] == 0


def test_tied_tables_count_on_both_ends_and_once_on_one_device():
    """Llama 3.2's table is at the embedding and at the head."""
    model = pl.models.read("llama-3.2-1b")
    two = pl.split_layers(model, gpus(TYPES[:2]))
    one = pl.split_layers(model, gpus(TYPES[:1]))
    table = 2 * 128256 * 2048
    assert two.frame["weights"].sum() - table == one.frame["weights"].sum() == 2 * model.parameters


def test_large_models_are_split_within_a_drag():
    """126 layers on 16 devices take milliseconds."""
    model = pl.models.read("llama-3.1-405b")
    cluster = pl.costs.cluster("h100", 8, hosts=2)
    pl.split_layers(model, cluster)
    start = time.thread_time()  # which other programs and threads add nothing to
    split = pl.split_layers(model, cluster)
    assert time.thread_time() - start < 0.2  # 0.01 on an idle core
    assert sum(split.counts) == 126 and max(split.counts) - min(split.counts) == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(objective="time"), "objective is 'time'; expected one of stage, memory, sum"),
        (dict(phase=["decode"]), r"phase is \['decode'\]; expected one of decode, prefill, train"),
        (dict(order=1), "order is 1; expected one of given, free"),
        (dict(empty=1), "empty is 1; expected one of False, True"),
        (dict(batch=0), "batch is 0; expected a whole number from 1"),
        (dict(headroom=1.0), "headroom is 1.0; expected a share"),
        (dict(headroom="x"), "headroom needs an int or a float, found a str"),
        (dict(fixed={5: 3}), "a border in fixed is 5; expected a whole number from 0 to 1"),
        (dict(fixed={0: 33}), "layers before border 0 is 33; expected a whole number from 0 to 32"),
        (dict(fixed=[3]), "fixed needs a Mapping, found a list"),
        (dict(phase="train", context=3), "context is 3 in phase 'train'"),
    ],
)
def test_wrong_options_are_refused(options, words):
    """One sentence says what was found and what is expected."""
    with pytest.raises((pl.FormatError, pl.UnsupportedError), match=words):
        pl.split_layers("llama-3-8b", gpus(), **options)


def test_what_does_not_fit_is_said_in_bytes():
    """The message has the needed and the available bytes, the room of each device and where they are full."""
    with pytest.raises(
        pl.InfeasibleError, match=r"needs 16.1 GB and there are 12.8 GB \(dev0 4.8 GB, dev1 4.8 GB, dev2 3.2 GB\)"
    ):
        pl.split_layers("llama-3-8b", gpus(memory=0.2))
    with pytest.raises(pl.InfeasibleError, match="with these borders fixed"):
        pl.split_layers("llama-3-8b", gpus(), fixed={0: 31, 1: 30})
    with pytest.raises(pl.FormatError, match="gpt2 has 14 blocks, fewer than the 15 devices"):
        pl.split_layers("gpt2", pl.Cluster.uniform(15), sequence=10)
    with pytest.raises(pl.UnsupportedError, match="'memory' needs devices with a memory"):
        pl.split_layers("gpt2", pl.Cluster.uniform(2, memory=None), objective="memory")
    with pytest.raises(pl.UnsupportedError, match=r"links from 'h100' to 'h100' differ"):
        pl.split_layers("gpt2", pl.costs.cluster("h100", 2, hosts=2), order="free")
    many = pl.Cluster(np.arange(1, 15) * 1e12)
    with pytest.raises(pl.UnsupportedError, match="more than 1,000,000 states; use order='given'"):
        pl.split_layers("llama-3-8b", many, order="free")
    with pytest.raises(pl.FormatError, match="border 0 of llama-3-8b can move by -16 to 13 layers; found 14"):
        pl.split_layers("llama-3-8b", gpus(), context=8192).moved(0, 14)
    with pytest.raises(pl.FormatError, match="border is 2"):
        pl.split_layers("llama-3-8b", gpus()).moved(2, 1)


@pytest.mark.parametrize(
    ("seconds", "total", "shares"), [((1, 2, 3), 11, (6, 3, 2)), ((1, 2), 12, (8, 4)), ((1, 1, 3), 8, (4, 3, 1))]
)
def test_three_batches(seconds, total, shares):
    """Golden U1."""
    assert pl.share_batch(seconds, total) == shares


@examples(60)
@given(st.lists(st.integers(1, 6), min_size=1, max_size=4), st.integers(0, 9))
def test_no_other_shares_end_sooner(seconds, total):
    """The longest is that of the best of all shares."""
    every = product(range(total + 1), repeat=len(seconds))
    ends = [max(c * tau for c, tau in zip(shares, seconds, strict=True)) for shares in every if sum(shares) == total]
    found = pl.share_batch(seconds, total)
    assert sum(found) == total and max(c * tau for c, tau in zip(found, seconds, strict=True)) == min(ends)


def test_a_batch_of_many():
    """A million million micro-batches take no longer to share than ten."""
    assert pl.share_batch([1, 3], 10**12) == (750_000_000_000, 250_000_000_000)


@pytest.mark.parametrize("seconds", [(), (0, 1), (1, -1), "fast", (1, float("nan")), ((1, 2),), None])
def test_wrong_seconds(seconds):
    """One sentence names them."""
    with pytest.raises(pl.FormatError, match="seconds is"):
        pl.share_batch(seconds, 4)

"""Passes that run together: a chunk of experts by hand, and plans with DualPipe."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.plans import overlap_seconds
from placelab.plans.plan_steps import Planner

H100 = pl.costs.cluster("h100", 8, link="nvlink4")


@pytest.mark.parametrize(("x", "expected"), [(1, (4, 6, 6)), (0.5, (3, 5, 6)), (1.5, (5, 7, 7))])
def test_a_chunk_of_experts(x, expected):
    """Golden E1: attention 1, dispatch x, experts 1, combination x; twice as long back."""
    forward = [("compute", 1), ("stream", x), ("compute", 1), ("stream", x)]
    backward = [("stream", x), ("compute", 2), ("stream", x), ("compute", 2)]
    found = overlap_seconds(forward, backward)
    assert found == (*expected, True)


parts = st.lists(st.tuples(st.sampled_from(["compute", "stream"]), st.integers(0, 4)), max_size=6)


@examples(30)
@given(parts, parts)
def test_both_take_no_longer_than_one_after_the_other(forward, backward):
    """Nor less than the busier of device and stream; an order that is proven takes no longer than another."""
    found = overlap_seconds(forward, backward)
    busy = [sum(s for d, s in forward + backward if d == device) for device in ("compute", "stream")]
    least = max(found.forward, found.backward, *busy)
    assert least <= found.both <= found.forward + found.backward
    assert found.both <= overlap_seconds(forward, backward, prove=False).both


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([("gpu", 1)], "forward has a part on 'gpu'; expected 'compute' or 'stream'"),
        ([("compute", -1)], "forward has a part of -1 s"),
        ([("compute", "long")], "expected pairs like"),
        ([5], "expected pairs like"),
    ],
)
def test_what_is_refused(wrong, words):
    """One sentence names the part."""
    with pytest.raises(pl.PlacelabError, match=words):
        overlap_seconds(wrong, [])


@pytest.mark.parametrize(("schedule", "chunks"), [("dualpipe", 1), ("dualpipe-v", 2)])
def test_a_plan_whose_passes_run_together(schedule, chunks):
    """Collectives hide: both passes take less than one after the other; the schedule is legal, and as long as the plan says."""
    plan = pl.Plan(tp=2, pp=4, schedule=schedule, chunks=chunks)
    planner = Planner("llama-3-8b", H100, 16, 2048)
    found = planner.result(plan)
    step = planner.step(planner.checked(plan))
    n = len(step.both)
    apart = [step.forward[s] + step.backward[n - 1 - s] + step.weight[n - 1 - s] for s in range(n)]
    assert all(both < alone for both, alone in zip(step.both, apart, strict=True))
    assert found.schedule().makespan == pytest.approx(found.seconds - found.exposed)
    assert not pl.validate(found.schedule()) and 0 < found.bubble < 1
    assert planner.bound(found.plan, step) <= found.seconds


def test_dualpipe_holds_every_parameter_twice():
    """A rank has its stage and that of its twin; of a V, two chunks of half the size."""
    frames = {
        schedule: pl.plan(
            "llama-3-8b", H100, pl.Plan(pp=8, schedule=schedule, chunks=c), batch=16, sequence=2048
        ).memory
        for schedule, c in (("1f1b", 1), ("dualpipe", 1), ("dualpipe-v", 2), ("looped-bfs", 2))
    }
    once = frames["1f1b"]["optimizer"]
    assert frames["dualpipe"]["optimizer"].to_numpy() == pytest.approx(np.array(once) + np.array(once)[::-1])
    for schedule in ("dualpipe-v", "looped-bfs"):
        assert frames[schedule]["optimizer"].sum() == pytest.approx(once.sum())
    layer = frames["1f1b"]["activations"].iloc[-1]
    assert frames["dualpipe"]["activations"].to_numpy() == pytest.approx(9 * layer)
    assert frames["looped-bfs"]["activations"].to_numpy() == pytest.approx(16 * layer)


@pytest.mark.parametrize(
    ("plan", "batch", "words"),
    [
        (pl.Plan(pp=4, schedule="dualpipe"), 6, "dualpipe"),
        (pl.Plan(pp=5, schedule="dualpipe"), 10, "dualpipe"),
        (pl.Plan(pp=4, schedule="dualpipe-v", chunks=2), 4, "dualpipe-v"),
    ],
)
def test_what_dualpipe_needs(plan, batch, words):
    """Too few micro-batches, an odd pipeline: one sentence."""
    with pytest.raises(pl.UnsupportedError, match=words):
        pl.plan("llama-3-8b", H100, plan, batch=batch, sequence=1024)

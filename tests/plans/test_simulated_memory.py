"""Memory of a plan by simulation: the formula holds up to the buffers, and what it leaves out is seen."""

from __future__ import annotations

import random

import numpy as np
import pytest
from examples import fewer
from small_models import drawn

import placelab as pl

H100 = pl.costs.cluster("h100", 8, link="nvlink4")
KEPT = ["weights", "gradients", "optimizer"]


def both(model: pl.models.Transformer, plan: pl.Plan, batch: int, sequence: int) -> list[pl.PlanResult]:
    """A plan with its memory by formula, and by simulation."""
    how = ("formula", "simulated")
    return [pl.plan(model, H100, plan, batch=batch, sequence=sequence, memory=memory) for memory in how]


def widest(model: pl.models.Transformer, plan: pl.Plan, sequence: int) -> float:
    """Most bytes that an op of the undivided graph reads and makes."""
    how = "eager" if plan.recompute == "selective" else "flash"
    graph = model.graph("train", batch=plan.microbatch, sequence=sequence, attention=how)
    read = np.bincount(graph.consumer, graph.edge_bytes, minlength=graph.n_ops)
    return float((read + graph.outputs).max())


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "interleaved", "looped-bfs"])
def test_the_formula_is_the_simulated_peak_up_to_buffers(schedule):
    """Random small models of all families, degrees and recomputation: the tensors' peak is at least the activations that the
    formula counts from the order, and at most these, the buffers, and twice what the widest op reads and makes; where all
    forward passes come first, the logarithms of all micro-batches' probabilities, too, of which the formula has one."""
    source = random.Random(schedule)
    chunks = 2 if schedule in ("interleaved", "looped-bfs") else 1
    for _ in range(fewer(12)):
        model = pl.models.read(drawn(source) | dict(num_hidden_layers=4, n_layer=4))
        tp = source.choice((1, 2)) if model.shape.latent is None else 1
        recompute = source.choice(("none", "selective", "full"))
        plan = pl.Plan(
            tp=tp, pp=2, dp=2, microbatch=source.choice((1, 2)), schedule=schedule, chunks=chunks, recompute=recompute,
            sequence_parallel=source.random() < 0.5, zero=source.choice((0, 1)),
        )  # fmt: skip
        sequence = source.choice((64, 256))
        formula, found = both(model, plan, 16, sequence)
        assert (found.memory[KEPT] == formula.memory[KEPT]).all().all() and found.seconds == formula.seconds
        low = formula.memory["total"] - formula.memory["buffers"]
        assert (found.memory["total"] >= low * (1 - 1e-12)).all()
        m = plan.microbatches(16) if schedule in ("gpipe", "looped-bfs") else 1
        words = -(-model.shape.vocabulary // (128 * tp)) * 128  # of a rank, padded
        logarithms = np.array([0, (m - 1) * 4 * plan.microbatch * sequence * words])
        assert (found.memory["total"] <= formula.memory["total"] + 2 * widest(model, plan, sequence) + logarithms).all()


@pytest.mark.parametrize("tp", [1, 2])
@pytest.mark.parametrize("schedule", ["1f1b", "interleaved"])
def test_of_a_large_model_the_difference_is_small(schedule, tp):
    """Llama 3 8B on four stages: within 6 % of the formula's total on every rank."""
    plan = pl.Plan(tp=tp, pp=4, schedule=schedule, chunks=2 if schedule == "interleaved" else 1, zero=1)
    formula, found = both(pl.models.read("llama-3-8b"), plan, 8, 2048)
    assert found.memory["total"].to_numpy() == pytest.approx(formula.memory["total"].to_numpy(), rel=0.06)


def test_by_hand():
    """Two stages of a GPT, two micro-batches at once on the first: 34 sbh a layer and micro-batch are kept (golden A2), and the
    next op's tensors beside them."""
    hidden = 64
    sequence = 32
    batch = 4
    sizes = dict(n_head=4, n_embd=hidden, n_layer=4, n_positions=sequence, vocab_size=128)
    model = pl.models.read({"model_type": "gpt2", **sizes})
    found = pl.plan(
        model, H100, pl.Plan(pp=2, microbatch=batch), batch=8 * batch, sequence=sequence, memory="simulated"
    )
    unit = hidden * sequence * batch
    assert found.memory["activations"][0] == 2 * 2 * 34 * unit and found.memory["activations"][1] == 2 * 34 * unit
    assert 0 < found.memory["buffers"][0] < 2 * 34 * unit


def test_logarithms_of_all_micro_batches():
    """Where the forward passes come first, the last stage of GPT-2 keeps 4TV bytes of each of four micro-batches."""
    formula, found = both(pl.models.read("gpt2"), pl.Plan(pp=2, schedule="gpipe"), 4, 256)
    more = found.memory["total"] - formula.memory["total"]
    assert more[1] - more[0] == pytest.approx(3 * 4 * 256 * 50257, rel=0.1)


def test_what_the_formula_leaves_out():
    """A schedule that delays the gradients of weights holds what a layer computed again until then: the formula has 2h of it."""
    model = pl.models.read("llama-3-8b")
    whole, apart = (both(model, pl.Plan(pp=4, schedule=s, recompute="full"), 8, 1024) for s in ("1f1b", "zb-h1"))
    assert (whole[1].memory["total"] < 1.05 * whole[0].memory["total"]).all()
    assert (apart[1].memory["total"] > apart[0].memory["total"] + 1e9).all()


def test_latents_are_whole_on_every_rank():
    """DeepSeek's latents of keys, values and queries are on all ranks of a tensor group, and so are the tokens sent to experts;
    the formula divides them by t."""
    model = pl.models.read("deepseek-v2-lite")
    one, two = (both(model, pl.Plan(tp=tp, pp=2, sequence_parallel=False), 4, 512) for tp in (1, 2))
    assert one[1].memory["total"][0] < one[0].memory["total"][0] * 1.02
    more = two[1].memory["total"][0] - two[0].memory["total"][0]
    latents = 2 * 512 * (2 * 512 + 64)  # bytes of a layer's: before and after their norm, and with positions
    assert more > 2 * 13 * latents / 2


@pytest.mark.parametrize("schedule", ["zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v"])
def test_all_schedules_are_simulated(schedule):
    """Those of V and twins, too, hold at least the activations that are counted from their order; ZeRO 3 its gathered units."""
    chunks = 2 if schedule in ("zb-v", "dualpipe-v") else 1
    formula, found = both(pl.models.read("gpt2"), pl.Plan(pp=2, schedule=schedule, chunks=chunks), 8, 256)
    assert (found.memory["activations"] == formula.memory["activations"]).all() and (found.memory["buffers"] > 0).all()
    one, three = (both(pl.models.read("gpt2"), pl.Plan(dp=8, zero=zero), 8, 256)[1].memory for zero in (1, 3))
    unit = max(pl.models.read("gpt2").blocks["parameters"])
    assert three["buffers"][0] - one["buffers"][0] == pytest.approx((2 * 2 + 4) * unit)


def test_what_is_refused(monkeypatch):
    """Another word, and more ops than are run, in one sentence each."""
    with pytest.raises(pl.UnsupportedError, match="memory is 'exact'; expected 'formula' or 'simulated'"):
        pl.plan("gpt2", H100, pl.Plan(), batch=8, sequence=64, memory="exact")
    monkeypatch.setattr("placelab.plans.simulated_memory.MOST_OPS", 1000)
    with pytest.raises(
        pl.FormatError, match=r"the passes of a rank have [\d,]+ ops; memory='simulated' runs at most 1,000"
    ):
        pl.plan("gpt2", H100, pl.Plan(), batch=64, sequence=64, memory="simulated")

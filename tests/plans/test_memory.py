"""Bytes by category: published figures, measured ones, the simulator's."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from examples import fewer
from small_models import drawn

import placelab as pl
from placelab.models.config import CONFIGS
from placelab.plans.block_times import read_bytes
from placelab.plans.degrees import layout_of, splits
from placelab.plans.memory import Training, training_bytes
from placelab.plans.stage_memory import held_activations, stage_memory
from placelab.plans.stage_pipeline import placed, run_placed

GIB = 2**30


def gpt(heads: int, hidden: int, layers: int, sequence: int = 2048, vocabulary: int = 51200) -> pl.models.Transformer:
    """A GPT of Korthikanti's table."""
    sizes = dict(n_head=heads, n_embd=hidden, n_layer=layers, n_positions=sequence, vocab_size=vocabulary)
    return pl.models.read({"model_type": "gpt2", **sizes})


@pytest.mark.parametrize(
    ("model", "p", "batch", "chunks", "tensor_alone", "both"),
    [
        (gpt(64, 6144, 48), 1, 4, 1, 59.25, 9.5625),
        (gpt(96, 12288, 96), 8, 1, 3, 66.84375, 12.3515625),
        (gpt(128, 20480, 105), 35, 1, 3, 114.0234375, 23.076171875),
        (gpt(160, 25600, 128), 64, 1, 1, 131.25, 26.5625),
    ],
    ids=["22B", "175B", "530B", "1T"],
)
def test_activations_of_the_first_stage(model, p, batch, chunks, tensor_alone, both):
    """Golden A1, Korthikanti et al. (2022): eager attention on 8 ranks; then with both measures."""
    options = dict(
        layers=[model.layers // p // chunks] * p * chunks, batch=batch, sequence=2048, microbatches=2 * p, chunks=chunks
    )
    options["schedule"] = "interleaved" if chunks > 1 else "1f1b"
    for how, expected in (
        (Training(tensor=8, sequence_parallel=False, attention="eager"), tensor_alone),
        (Training(tensor=8, recompute="selective", attention="eager"), both),
    ):
        found = stage_memory(model, how, **options)
        assert found["activations"].iloc[0] / GIB == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("name", "layers", "measured", "formula"),
    [
        ("llama-3.1-70b", 12, (66.55, 60.68, 39.07, 28.29), (65.93, 60.35, 38.82, 28.05)),
        ("llama-3.1-405b", 4, (87.08, 81.59, 52.89, 38.57), (83.46, 78.72, 51.20, 37.45)),
    ],
)
def test_measured_memory_on_b200(name, layers, measured, formula):
    """Golden R1, SimuMax v1.2's public table: within 5 % of what was measured; the formula's own figures but for log-sum-exp."""
    model = pl.models.read(CONFIGS[name] | dict(num_hidden_layers=layers))
    for (t, p, n), real, figure in zip(((1, 2, 4), (2, 1, 4), (4, 1, 2), (8, 1, 1)), measured, formula, strict=True):
        stages = stage_memory(model, Training(data=n, tensor=t, zero=1), layers=[layers // p] * p, microbatches=8)
        found = stages["total"].iloc[0] / GIB
        assert found == pytest.approx(real, rel=0.05) and figure - 0.01 < found < figure + 0.02


def test_the_stages_of_zero():
    """Golden A3, Rajbhandari et al.: 16 bytes a parameter with gradients of 2; Megatron's 18 become 6 + 12/n."""
    model = pl.models.read("llama-2-7b")

    def per_parameter(**how) -> float:
        kept = training_bytes(model, Training(**how), 1, 1).kept
        return sum(column.sum() for column in kept.values()) / model.parameters

    zero = [per_parameter(data=64, zero=stage, grad_dtype="bfloat16") for stage in range(4)]
    assert [f"{7.5 * x:.3g}" for x in zero] == ["120", "31.4", "16.6", "1.88"]
    assert per_parameter() == 18 and per_parameter(data=4, zero=1) == 6 + 12 / 4
    assert per_parameter(optimizer="sgd") == 2 + 4 + 8


def test_a_layer_more_takes_as_much_in_the_simulator():
    """GPT with as/h = 3.2 keeps 34 + 16 units of sbh a layer: the dynamic model finds the same peak, layer by layer."""
    unit = 16 * 2048 * 40

    def peak(layers: int) -> float:
        model = gpt(8, 40, layers, 64, 8)
        graph = model.graph("train", batch=2048, sequence=16, attention="eager")
        problem = pl.Problem(graph, pl.Cluster([1e12], memory=[1e15]), memory="dynamic")
        return float(pl.simulate(problem, pl.place(problem, "hash"), "fifo").peak_memory[0])

    one = peak(1)
    three = peak(3)
    weights = 2 * (gpt(8, 40, 3, 64, 8).parameters - gpt(8, 40, 1, 64, 8).parameters)
    assert (three - one) / unit == pytest.approx(2 * 50, rel=0.01)
    assert (three - one - 2 * 50 * unit) <= 2 * weights


def test_the_formula_agrees_with_the_simulator_up_to_buffers():
    """Small models of all families, ranks of tensor groups of 1, 2 and 4: the peak is above weights and activations, and below
    the sum of all categories and, which no category has, twice what the rank's widest op reads and makes."""
    source = random.Random(0)
    for _ in range(fewer(30)):
        model = pl.models.read(drawn(source))
        batch = source.randint(1, 8)
        sequence = source.choice((32, 128, 300))
        t = source.choice((1, 2, 4))
        how: Any = dict(sequence_parallel=source.random() < 0.5, attention=source.choice(("flash", "eager")))
        graph = model.graph("train", batch=batch, sequence=sequence, attention=how["attention"])
        made = pl.transforms.tensor_parallel(graph, t, sequence_parallel=how["sequence_parallel"])
        cluster = pl.clusters.data_parallel(t).replace(memory=[1e15] * t + [None] * t)
        problem = pl.Problem(made, cluster, memory="dynamic")
        peak = pl.simulate(problem, pl.place(problem, "hash"), "fifo").peak_memory[:t]
        training = Training(tensor=t, optimizer="sgd", grad_dtype="bfloat16", **how)
        found = training_bytes(model, training, batch, sequence).by_category(0, model.layers + 2)
        low = found["weights"] + found["activations"]
        widest = (read_bytes(made) + made.outputs).max()
        assert (peak > low).all() and (peak < low + found["gradients"] + found["buffers"] + 2 * widest).all()


SCHEDULES = ("gpipe", "1f1b", "interleaved", "looped-bfs", "zb-h1", "zb-h2", "zb-v", "dualpipe", "dualpipe-v")


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_pipeline_holds_what_is_counted_from_its_order(schedule):
    """The simulator's peaks are the activations of the formula, whatever stages keep and take, and however many micro-batches."""
    source = random.Random(schedule)
    for _ in range(fewer(12)):
        chunks = 2 if schedule in ("interleaved", "looped-bfs", "zb-v", "dualpipe-v") else 1
        p = source.choice((2, 4) if schedule == "dualpipe" else (2, 3, 4))
        m = 2 * source.randint(p, p + 3)
        n = p * chunks
        kept = [float(source.randint(1, 9)) for _ in range(n)]
        cost = lambda n=n: [float(source.randint(1, 4)) for _ in range(n)]  # noqa: E731
        problem = pl.generators.pipeline_training(
            cost(), cost(), cost() if splits(schedule) else None, microbatches=m, stages=p, chunks=chunks,
            activation=kept, layout=layout_of(schedule, chunks),
        )  # fmt: skip
        held, _ = held_activations(schedule, kept, m, chunks)
        assert run_placed(placed(problem, schedule), schedule).peak_memory.tolist() == held.tolist()


def test_what_is_divided():
    """Tensor parallelism leaves norms and routers whole; experts also divide by e, their state by n/e; a KV head is copied."""
    dense = pl.models.read("llama-3-8b")
    h = 4096
    k = 8
    d = 128
    layer = dense.blocks["parameters"][1]
    assert training_bytes(dense, Training(tensor=4), 1, 8).kept["weights"][1] == 2 * ((layer - 2 * h) / 4 + 2 * h)
    split = 2 * ((layer - 2 * h - 2 * h * k * d) / 16 + 2 * h * d + 2 * h)
    assert training_bytes(dense, Training(tensor=16), 1, 8).kept["weights"][1] == split
    sparse = pl.models.read("mixtral-8x7b")
    experts = 8 * 3 * 4096 * 14336
    rest = sparse.blocks["parameters"][1] - experts
    found = training_bytes(sparse, Training(expert=4, data=8, zero=1), 1, 8)
    assert found.kept["weights"][1] == 2 * (rest + experts / 4)
    assert found.kept["optimizer"][1] == 12 * (rest / 8 + experts / 8)
    buffers = found.by_category(1, 2)["buffers"]
    apart = training_bytes(sparse, Training(data=8), 1, 8).by_category(1, 2)["buffers"]
    assert buffers - apart == 4 * 8 * 2 * 4096  # the all-to-all, 4TKh


def test_recomputation_keeps_the_input_of_a_layer():
    """2h of a token, and one layer whole while it runs again; flash attention has nothing to gain from the selective kind."""
    model = pl.models.read("llama-3-8b")
    whole, full = (training_bytes(model, Training(recompute=r), 1, 64) for r in ("none", "full"))
    assert full.activations[1] == 64 * 2 * 4096
    assert full.by_category(0, 34)["buffers"] - whole.by_category(0, 34)["buffers"] == whole.activations[1]
    assert training_bytes(model, Training(recompute="selective"), 1, 64).activations[1] == whole.activations[1]


def test_weights_that_are_gathered():
    """Stage 3 holds two gathered units and one whole gradient beside its share."""
    model = pl.models.read("llama-2-7b")
    found, whole = (training_bytes(model, Training(data=8, zero=z), 1, 1) for z in (3, 2))
    unit = max(model.blocks["parameters"])
    assert found.by_category(0, 34)["buffers"] - whole.by_category(0, 34)["buffers"] == (2 * 2 + 4) * unit
    assert found.kept["weights"].sum() == whole.kept["weights"].sum() / 8


@pytest.mark.parametrize(
    ("schedule", "chunks", "expected"),
    [
        ("1f1b", 1, [4, 3, 2, 1]),
        ("gpipe", 1, [8, 8, 8, 8]),
        ("interleaved", 2, [11, 9, 7, 5]),
        ("zb-h1", 1, [4, 4, 4, 4]),
        ("zb-h2", 1, [7, 7, 7, 7]),
    ],
)
def test_micro_batches_in_flight_are_counted_from_the_order(schedule, chunks, expected):
    """As many as the schedulers' own pages say."""
    held, device = held_activations(schedule, [1.0] * 4 * chunks, 8, chunks)
    assert held.tolist() == expected and device.tolist() == [0, 1, 2, 3] * chunks


def test_a_device_of_both_ends_holds_a_shared_table_once():
    """In a V the first rank has embedding and head."""
    model = pl.models.read("llama-3.2-1b")
    frame = stage_memory(model, Training(), layers=[2] * 8, microbatches=8, schedule="zb-v", chunks=2, sequence=64)
    assert frame["weights"].sum() == 2 * model.parameters
    apart = stage_memory(model, Training(), layers=[4] * 4, microbatches=8, sequence=64)
    assert apart["weights"].sum() == 2 * (model.parameters + 128256 * 2048)


def test_wrong_options_are_refused():
    """One sentence each."""
    model = pl.models.read("gpt2")
    for options, words in (
        (dict(zero=4), "zero is 4; expected one of 0, 1, 2, 3"),
        (dict(zero=True), "zero is True"),
        (dict(recompute="all"), "recompute is 'all'; expected one of none, selective, full"),
        (dict(tensor=0), "tensor is 0; expected a whole number, 1 or more"),
        (dict(optimizer=["adam"]), "optimizer is"),
    ):
        with pytest.raises(pl.PlacelabError, match=words):
            Training(**options)
    for options, words in (
        (dict(layers=[6, 7]), r"layers of the stages are \[6, 7\]; expected a multiple of 1 stages, 12 layers in all"),
        (dict(layers=[6, 6], schedule="fifo"), "'fifo' is no scheduler of pipelines"),
        (dict(layers=[6, 6], schedule="zb-v", microbatches=3), "'zb-v' needs two stages per device"),
    ):
        with pytest.raises(pl.PlacelabError, match=words):
            stage_memory(model, Training(), sequence=64, **options)


def test_ranges_are_the_sums_of_their_blocks():
    """The table of ranges that borders are found with has the totals of every range."""
    model = pl.models.read("gemma-2-9b")
    memory = training_bytes(model, Training(), 1, 128)
    table = memory.of_ranges(slice(0, 44), 3)
    source = np.random.default_rng(0)
    for first, last in [(0, 44), *(sorted(source.choice(45, 2, replace=False)) for _ in range(40))]:
        assert table[first, last] == pytest.approx(sum(memory.by_category(first, last, 3).values()), rel=1e-12)


@pytest.mark.parametrize(("n", "t", "e"), [(8, 1, 4), (4, 2, 4), (2, 4, 4), (1, 4, 4), (3, 2, 2), (1, 8, 2)])
def test_all_ranks_together_hold_whole_copies_of_the_experts(n, t, e):
    """n t ranks hold as many copies of all experts as there are ranks with the same ones, n/e where e divides n."""
    model = pl.models.read("mixtral-8x7b")
    how = Training(data=n, tensor=t, expert=e)
    experts = 2.0 * 8 * 3 * 4096 * 14336
    held = training_bytes(model, how, 1, 8).of_experts["weights"][1]
    assert held * n * t == how.expert_copies * experts
    assert how.expert_copies == n // e if n % e == 0 else how.expert_copies * e <= n * t


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
    monkeypatch.setattr("placelab.plans.stage_memory.MOST_OPS", 1000)
    with pytest.raises(
        pl.FormatError, match=r"the passes of a rank have [\d,]+ ops; memory='simulated' runs at most 1,000"
    ):
        pl.plan("gpt2", H100, pl.Plan(), batch=64, sequence=64, memory="simulated")

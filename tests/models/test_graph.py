"""The graph of a pass has the FLOP, weights and saved bytes of the closed forms, and runs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import placelab as pl
from placelab.models.config import CONFIGS
from placelab.models.layer_ops import FLASH
from placelab.models.shape import outer_bytes, saved_bytes

PHASES = ("train", "forward", "prefill", "decode")
SMALL = dict(hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16, vocab_size=32)
SMALL |= dict(num_key_value_heads=2)
HEADS = ("aten.linear", "aten.bmm")


def flop(graph: pl.OpGraph, *kinds: str) -> float:
    """FLOP of the ops of these kinds."""
    return graph.compute[np.isin(graph.kind, kinds)].sum()


@pytest.mark.parametrize("name", pl.models.names())
def test_a_graph_has_the_models_weights_and_flop(name):
    """Persistent bytes are the parameters; products have the blocks' FLOP; all kinds are known and all ops have seconds."""
    model = pl.models.read(name)
    for phase in PHASES:
        graph = model.graph(phase, batch=3, sequence=100)
        tokens = 3 if phase == "decode" else 300
        cache = model.kv_bytes(1 if phase == "decode" else 100, 3) if phase in ("prefill", "decode") else 0
        assert graph.persistent.sum() == pytest.approx(2 * model.parameters + cache, rel=1e-15)
        times = 3 if phase == "train" else 1
        assert flop(graph, *HEADS) == pytest.approx(times * tokens * model.blocks["flop"].sum(), rel=1e-12)
        assert "unknown" not in {k for k, n in graph.metadata["costs"].items() if n}
        assert np.isfinite(graph.time).all()


def test_a_sequence_has_the_flop_of_the_closed_form():
    """Golden M3: products, and scores and context with half of the keys or all of them."""
    for name, s, products, half, full in (
        ("llama-3-8b", 8192, 122956323749888, 17594333528064, 35184372088832),
        ("llama-2-7b", 4096, 54125177864192, 4399120252928, 8796093022208),
    ):
        model = pl.models.read(name)
        for causal, attention in (("half", half), ("full", full)):
            graph = model.graph("forward", sequence=s, causal=causal)
            assert (flop(graph, *HEADS), flop(graph, FLASH)) == (products, attention)
            assert graph.compute.sum() == products + attention
            eager = model.graph("forward", sequence=s, causal=causal, attention="eager")
            assert flop(eager, "aten.matmul") == attention
        back = model.graph("train", sequence=s)
        assert flop(back, *HEADS) == 3 * products
        assert flop(back, f"{FLASH}_backward") == 2.5 * half


@pytest.mark.parametrize(
    ("heads", "hidden", "layers", "batch", "flop_of_a_step", "seconds", "gpus", "mfu"),
    [
        (64, 6144, 48, 4, 1.143561e15, 1.10, 8, 0.4165),
        (96, 12288, 96, 64, 1.410915e17, 13.75, 64, 0.5139),
        (128, 20480, 105, 280, 1.852230e18, 37.83, 280, 0.5605),
        (160, 25600, 128, 512, 6.425876e18, 71.49, 512, 0.5627),
    ],
    ids=["22B", "175B", "530B", "1T"],
)
def test_a_training_step_has_the_published_flop(heads, hidden, layers, batch, flop_of_a_step, seconds, gpus, mfu):
    """Golden M4, Korthikanti et al. (2022): 72·batch·L·s·h²(1 + s/6h + V/12hL), and their share of A100's 312 TFLOP/s."""
    sizes = dict(n_head=heads, n_embd=hidden, n_layer=layers, n_positions=2048, vocab_size=51200)
    model = pl.models.read({"model_type": "gpt2", **sizes})
    found = model.graph("train", batch=batch, sequence=2048, attention="eager", causal="full").compute.sum()
    form = 72 * batch * layers * 2048 * hidden**2 * (1 + 2048 / 6 / hidden + 51200 / 12 / hidden / layers)
    assert found == pytest.approx(form, rel=1e-14) and found == pytest.approx(flop_of_a_step, rel=1e-6)
    assert found / seconds / gpus / 312e12 == pytest.approx(mfu, abs=6e-5)


def test_windows_and_contexts_limit_the_keys():
    """A window hides what came before it; decode sees the context and itself."""
    model = pl.models.read(CONFIGS["mistral-7b"] | dict(sliding_window=4))
    per_key = model.blocks["flop_per_key"].sum()
    assert flop(model.graph("forward", sequence=6), FLASH) == (1 + 2 + 3 + 4 + 4 + 4) * per_key
    assert flop(model.graph("prefill", sequence=3, context=2), FLASH) == (3 + 4 + 4) * per_key
    assert flop(model.graph("decode", context=2), FLASH) == 3 * per_key
    assert flop(model.graph("decode", context=20, batch=2), FLASH) == 8 * per_key
    assert model.graph("decode", context=20).persistent.sum() == 2 * model.parameters + model.kv_bytes(4)


def saved(graph: pl.OpGraph, layer: str) -> float:
    """Bytes of the tensors that backward ops of a layer read and forward ops made."""
    names = graph.names.astype(str)
    back = np.char.endswith(names, "backward") | np.char.endswith(names, "weight_gradient")
    of_layer = back & np.char.startswith(names, f"{layer}.")
    edges = of_layer[graph.consumer] & ~back[graph.producer]
    return graph.tensor_bytes[np.unique(graph.edge_tensor[edges])].sum()


@pytest.mark.parametrize("attention", ["flash", "eager"])
@pytest.mark.parametrize("name", pl.models.names())
def test_saved_tensors_are_those_of_the_closed_form(name, attention):
    """A layer keeps for its backward pass what the formula says, byte by byte."""
    model = pl.models.read(name)
    graph = model.graph("train", batch=2, sequence=64, attention=attention)
    for layer in (1, model.layers - 1):
        sparse = model.shape.sparse[layer]
        want = saved_bytes(model.shape, sparse, 2, attention, keys=64)
        assert saved(graph, model.blocks["block"][layer + 1]) == 128 * want
        if attention == "flash":
            assert model.blocks["activation_bytes"][layer + 1] == want


def test_coefficients_are_the_published_ones():
    """GPT keeps 34h and 5as of a token; Llama 8h + 4ad + 4kd + 6f and 4a; a mixture 4E + K(2h + 6f) for the MLP."""
    gpt = pl.models.read("gpt2").shape
    assert saved_bytes(gpt, False, 2, "flash") == 34 * 768
    assert saved_bytes(gpt, False, 2, "eager", 1024) == 34 * 768 + 5 * 12 * 1024
    assert outer_bytes(gpt, 2) == 10 * 768
    llama = pl.models.read("llama-3-8b").shape
    assert saved_bytes(llama, False, 2) == 8 * 4096 + 4 * 4096 + 4 * 1024 + 6 * 14336 + 4 * 32
    mixtral = pl.models.read("mixtral-8x7b").shape
    assert saved_bytes(mixtral, True, 2) == 8 * 4096 + 4 * 4096 + 4 * 1024 + 4 * 32 + 4 * 8 + 2 * (2 * 4096 + 6 * 14336)


def test_names_are_module_paths():
    """Ops have the names of Hugging Face's modules, weights sit at theirs, and a shared table is held where all of it is read."""
    llama = pl.models.read("llama-3.2-1b").graph("forward", sequence=8)
    at = dict(zip(llama.names.tolist(), llama.persistent.tolist(), strict=True))
    assert at["model.layers.7.mlp.up_proj"] == 2 * 2048 * 8192
    assert at["model.embed_tokens"] == 0 and at["lm_head"] == 2 * 2048 * 128256
    assert {"model.norm", "model.layers.15.self_attn.o_proj", "model.layers.0.input_layernorm"} <= set(at)
    assert "transformer.h.7.mlp.c_fc" in pl.models.read("gpt2").graph("forward").names
    assert "model.layers.3.mlp.shared_experts.up_proj" in pl.models.read("deepseek-v3").graph("decode").names


def test_decode_reads_each_weight_and_the_cache_once():
    """Bytes of a step are the weights but the table, the experts that a token chose, and the cache; little else."""
    for name in ("llama-3-8b", "mixtral-8x7b", "deepseek-v3"):
        model = pl.models.read(name)
        spec = pl.costs.Spec("memory", 1e30, {}, 1.0, 1e12)
        graph = pl.costs.estimate(model.graph("decode", context=8192), spec)
        table = int(model.blocks["parameters"][0])
        want = 2 * (model.active_parameters - table) + model.kv_bytes(8193)
        assert want < graph.time[:, graph.time_types.index("memory")].sum() < 1.01 * want
    batch = pl.models.read("mixtral-8x7b").graph("decode", batch=4)
    assert not np.char.endswith(batch.names.astype(str), "unchosen").any()


@pytest.mark.parametrize("config", [dict(model_type="llama"), dict(model_type="gemma2"), dict(model_type="qwen3")])
def test_a_training_step_runs_within_its_closed_form(config):
    """Layers more cost their weights and saved tensors at the peak, no more and no less."""

    def peak(layers: int) -> float:
        model = pl.models.read(SMALL | config | dict(num_hidden_layers=layers, head_dim=4))
        problem = pl.Problem(model.graph("train", sequence=512), pl.Cluster([1e12], memory=[1e12]), memory="dynamic")
        schedule = pl.solve(problem, "single", "fifo")
        assert not pl.validate(schedule)
        return float(schedule.peak_memory[0])

    model = pl.models.read(SMALL | config | dict(head_dim=4))
    layer = 512 * saved_bytes(model.shape, False, 2) + 2 * int(model.blocks["parameters"][1])
    assert peak(5) - peak(3) == 2 * layer


def test_wrong_passes_are_refused():
    """Choices, sizes and contexts that do not exist, and more tokens than there are positions."""
    model = pl.models.read("gpt2")
    assert model.graph("forward").metadata["name"].endswith("1 x 1024 tokens")
    for wrong in (dict(phase="test"), dict(attention="ring"), dict(causal=None), dict(context=1)):
        with pytest.raises(pl.UnsupportedError, match=next(iter(wrong))):
            model.graph(**wrong)
    for wrong in (dict(batch=0), dict(sequence=1.5), dict(context=-1, phase="decode"), dict(batch=10**10)):
        with pytest.raises(pl.FormatError, match=next(iter(wrong))):
            model.graph(**wrong)
    with pytest.raises(pl.FormatError, match="n_positions, 1,024"):
        model.graph("decode", context=1024)


@pytest.mark.slow
def test_the_deepest_model_is_built():
    """A configuration within the limits is read and its forward pass is built, however deep."""
    model = pl.models.read(json.loads(json.dumps(SMALL | dict(model_type="llama", num_hidden_layers=10_000))))
    assert model.graph("forward", sequence=8).n_ops > 100_000

"""Decoders from their configurations have the published numbers of parameters, and wrong configurations are refused."""

from __future__ import annotations

import json
import random
import time

import pytest
from examples import fewer

import placelab as pl
from placelab.models.config import CONFIGS

PUBLISHED = {
    "llama-2-7b": 6738415616,
    "llama-3-8b": 8030261248,
    "llama-3.2-1b": 1235814400,
    "llama-3.2-3b": 3212749824,
    "llama-3.1-70b": 70553706496,
    "llama-3.1-405b": 405853388800,
    "mistral-7b": 7241732096,
    "qwen2.5-0.5b": 494032768,
    "qwen2.5-7b": 7615616512,
    "qwen3-30b-a3b": 30532122624,
    "gemma-2b": 2506172416,
    "gemma-2-9b": 9241705984,
    "gpt2": 124439808,
    "mixtral-8x7b": 46702792704,
    "deepseek-v2-lite": 15706484224,
    "deepseek-v3": 671026419200,
}
ACTIVE = {
    "mixtral-8x7b": 12879925248,
    "deepseek-v3": 37552297472,
    "qwen3-30b-a3b": 3353032704,
    "deepseek-v2-lite": 2661150208,
}
CACHED = {  # bytes of a token
    "llama-3-8b": 131072,
    "llama-3.1-70b": 327680,
    "qwen2.5-7b": 57344,
    "gemma-2b": 18432,
    "deepseek-v3": 70272,
    "deepseek-v2-lite": 31104,
}
LLAMA = CONFIGS["llama-2-7b"]
EXPERTS = CONFIGS["qwen3-30b-a3b"]


@pytest.mark.parametrize("name", pl.models.names())
def test_parameters_are_those_of_the_published_weights(name):
    """Golden M1, and M2's active ones: parameters are exact, the blocks sum up to them, and reading takes a few milliseconds."""
    start = time.thread_time()  # which other programs and threads add nothing to
    model = pl.models.read(name)
    total = model.parameters
    assert time.thread_time() - start < 0.1
    assert total == PUBLISHED[name] == model.blocks["parameters"].sum()
    assert model.active_parameters == ACTIVE.get(name, total) == model.blocks["active_parameters"].sum()
    assert len(model.blocks) == model.layers + 2


@pytest.mark.parametrize("name", CACHED)
def test_the_cache_has_the_bytes_of_its_heads_or_latents(name):
    """Golden M2: bytes of a token in the cache, of the whole model and summed over its blocks."""
    model = pl.models.read(name)
    assert model.kv_bytes(1) == CACHED[name] == model.blocks["kv_bytes"].sum()
    assert model.kv_bytes(100, 3) == 300 * CACHED[name]
    assert pl.models.read(name, dtype="float32").kv_bytes(1) == 2 * CACHED[name]


def test_layers_with_a_window_keep_no_more_than_it():
    """Mistral's layers all have a window, every other one of Gemma 2's, and Qwen's only where it is switched on."""
    mistral = pl.models.read("mistral-7b")
    gemma = pl.models.read("gemma-2-9b")
    assert mistral.kv_bytes(10_000) == 4096 * mistral.kv_bytes(1)
    assert gemma.kv_bytes(10_000) == (4096 + 10_000) // 2 * gemma.kv_bytes(1)
    given = CONFIGS["qwen2.5-7b"] | dict(sliding_window=100, max_window_layers=21)
    off = pl.models.read(given)
    on = pl.models.read(given | dict(use_sliding_window=True))
    assert off.kv_bytes(200) == 200 * off.kv_bytes(1) and on.kv_bytes(200) == (200 * 21 + 100 * 7) * 2048


def test_defaults_of_windows_are_those_of_the_library():
    """A missing window is 4096 where the family has one, null is none; Qwen's first 28 layers have none."""
    small = dict(hidden_size=64, num_hidden_layers=32, num_attention_heads=4, intermediate_size=64, vocab_size=64)
    small |= dict(num_key_value_heads=4)
    read = lambda family, **more: pl.models.read(small | dict(model_type=family) | more).shape.windows  # noqa: E731
    assert read("mistral") == (4096,) * 32 and read("mistral", sliding_window=None) == (None,) * 32
    assert read("mixtral", num_local_experts=4, num_experts_per_tok=1) == read("llama") == (None,) * 32
    assert read("gemma2") == (4096, None) * 16
    assert read("qwen2") == (None,) * 32
    assert read("qwen3", use_sliding_window=True) == (None,) * 28 + (4096,) * 4
    experts = dict(num_experts=4, num_experts_per_tok=1, use_sliding_window=True)
    assert read("qwen3_moe", **experts) == (4096,) * 32  # which has no max_window_layers


def test_what_is_left_out_is_the_librarys():
    """Heads, biases, ranks and experts are those of the family's class in transformers, and keys that it ignores do nothing."""

    def without(name: str, *keys: str, **more):
        config = CONFIGS[name] | more
        return pl.models.read({key: value for key, value in config.items() if key not in keys}).shape

    def heads(family: str, number: int) -> tuple[int, int]:
        config = CONFIGS["llama-2-7b"] | dict(model_type=family, num_attention_heads=number, head_dim=64)
        config |= dict(num_experts=4, num_experts_per_tok=1)
        null = pl.models.read(config | dict(num_key_value_heads=None)).shape.kv_heads
        del config["num_key_value_heads"]
        return pl.models.read(config).shape.kv_heads, null

    known = dict(llama=64, mistral=8, mixtral=8, qwen2=32, qwen3=32, qwen3_moe=4, gemma=16, gemma2=4)
    assert {family: heads(family, 64) for family in known} == {family: (k, 64) for family, k in known.items()}
    assert without("qwen3-30b-a3b", "num_experts", num_local_experts=16).experts == 16
    third = CONFIGS["deepseek-v3"]
    left = ("q_lora_rank", "n_shared_experts", "first_k_dense_replace", "topk_method")
    assert without("deepseek-v3", *left) == pl.models.read(third).shape
    lite = without("deepseek-v2-lite", *left)
    assert (lite.latent.query, lite.shared_width, lite.sparse[0], lite.router_bias) == (1536, 2 * 1408, True, False)
    with pytest.raises(pl.FormatError, match="'n_routed_experts' is missing"):
        without("deepseek-v3", "n_routed_experts")
    ignored = dict(attention_bias=True, mlp_bias=True)
    for name in ("mistral-7b", "mixtral-8x7b", "qwen2.5-7b"):
        assert without(name, **ignored) == without(name)
    assert without("gemma-2b", **ignored).bias_in and not without("gemma-2b", **ignored).bias_mlp


def test_flop_per_token_and_key_give_the_published_flop():
    """Golden M3: FLOP of a sequence, forward: products, and scores and context with a causal mask."""
    for name, s, products, causal in (
        ("llama-3-8b", 8192, 122956323749888, 17594333528064),
        ("llama-2-7b", 4096, 54125177864192, 4399120252928),
    ):
        blocks = pl.models.read(name).blocks
        assert blocks["flop"].sum() * s == products
        assert blocks["flop_per_key"].sum() * s * (s + 1) / 2 == causal


def test_a_configuration_is_a_dict_a_file_or_a_folder(tmp_path):
    """All of them give the same model, and `load` gives its forward pass."""
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIGS["gpt2"]))
    models = [pl.models.read(given) for given in (CONFIGS["gpt2"], path, str(path), tmp_path)]
    assert len({model.shape for model in models}) == 1
    for given in (path, tmp_path):
        graph = pl.load(given)
        assert graph.names.tolist() == models[0].graph("forward").names.tolist()
        assert {"h100", "rtx2080ti"} <= set(graph.time_types)


def test_variants_of_families_count():
    """Biases, heads of another size, tied tables, sparse layers and shared experts follow the configuration."""
    h = 4096
    layers = 32

    def more(**given):
        return pl.models.read(LLAMA | given).parameters - PUBLISHED["llama-2-7b"]

    assert more(attention_bias=True) == layers * 4 * h
    assert more(mlp_bias=True) == layers * (2 * 11008 + h)
    assert more(head_dim=256) == layers * 4 * h * h
    assert more(tie_word_embeddings=True) == -32000 * h
    assert more(torch_dtype="float32", rope_scaling={"type": "linear"}, head_dim=None) == 0
    assert pl.models.read(EXPERTS | dict(mlp_only_layers=[0])).blocks["kind"].tolist()[1:3] == ["dense", "moe"]
    assert pl.models.read(EXPERTS | dict(decoder_sparse_step=2)).blocks["kind"].tolist()[1:3] == ["dense", "moe"]
    latent = CONFIGS["deepseek-v2-lite"]
    assert set(pl.models.read(latent | dict(n_routed_experts=None)).blocks["kind"]) == {"embedding", "dense", "head"}


@pytest.mark.parametrize(
    ("config", "error", "words"),
    [
        (LLAMA | dict(model_type="bert"), pl.UnsupportedError, "model_type 'bert'; known are llama"),
        (dict(model_type="llava", text_config=LLAMA), pl.UnsupportedError, "give its text_config alone"),
        ({}, pl.FormatError, "no 'model_type'"),
        ({key: v for key, v in LLAMA.items() if key != "vocab_size"}, pl.FormatError, "'vocab_size' is missing"),
        (LLAMA | dict(num_attention_heads=30, num_key_value_heads=30), pl.FormatError, "give head_dim"),
        (LLAMA | dict(num_key_value_heads=5), pl.FormatError, "does not divide num_attention_heads"),
        (EXPERTS | dict(num_experts_per_tok=129), pl.FormatError, "more than num_experts, 128"),
        (LLAMA | dict(num_hidden_layers=10_001), pl.FormatError, "num_hidden_layers is 10001; expected"),
        (LLAMA | dict(hidden_size="4096"), pl.FormatError, "hidden_size is '4096'; expected a whole number"),
        (LLAMA | dict(hidden_size=-1), pl.FormatError, "hidden_size is -1"),
        (LLAMA | dict(hidden_size=4096.0), pl.FormatError, "hidden_size is 4096.0"),
        (LLAMA | dict(hidden_size=True), pl.FormatError, "hidden_size is True"),
        (LLAMA | dict(tie_word_embeddings="no"), pl.FormatError, "tie_word_embeddings is 'no'; expected true or false"),
        (LLAMA | dict(model_type=["llama"]), pl.UnsupportedError, "known are"),
        (CONFIGS["gemma-2-9b"] | dict(layer_types=["full_attention"]), pl.FormatError, "one per layer, 42"),
    ],
)
def test_a_wrong_configuration_is_refused_in_one_sentence(config, error, words, tmp_path):
    """The sentence names the file, the key, what was found and what was expected."""
    with pytest.raises(error, match=words) as caught:
        pl.models.read(config)
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    with pytest.raises(error, match=words) as of_file:
        pl.models.read(path)
    assert str(path) in str(of_file.value) and "\n" not in str(caught.value)


def test_a_folder_without_a_configuration(tmp_path):
    """The message says what it lacks."""
    with pytest.raises(pl.FormatError, match=r"the folder '.*' has no config\.json"):
        pl.models.read(tmp_path)


@pytest.mark.parametrize("text", ["[" * 100_000, "{}" * 3, "[]", "", '{"model_type": NaN}', "x" * (1 << 20)])
def test_a_hostile_file_is_refused_in_one_sentence(text, tmp_path):
    """What is nested deeply, no JSON, or no object raises a FormatError that names the file."""
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(pl.FormatError, match=r"config\.json"):
        pl.models.read(path)


def test_damaged_configurations_are_read_or_refused_in_one_sentence():
    """Whatever stands in their keys; what is read has sizes that are numbers."""
    values = (None, 0, -1, 1, 3, 1.5, "7", [], {}, True, 10**7, 10**30, float("nan"), float("inf"), [1])
    more = ("head_dim", "layer_types", "sliding_window", "moe_layer_freq", "mlp_only_layers", "decoder_sparse_step")
    source = random.Random(0)
    read = 0
    refused = []
    for _ in range(fewer(600)):
        config = dict(CONFIGS[source.choice(list(CONFIGS))])
        for key in source.choices([*config, *more, "attention_bias", "n_inner", "max_window_layers"], k=2):
            config[key] = source.choice(values)
        try:
            model = pl.models.read(config)
        except pl.PlacelabError as error:
            refused.append(str(error))
        else:
            read += 1
            assert 0 < model.active_parameters <= model.parameters and model.kv_bytes(1) > 0
    assert read and refused and all("\n" not in sentence and len(sentence) < 400 for sentence in refused)


def test_wrong_arguments_are_named():
    """What is no configuration, no type and no number of tokens."""
    for wrong in (3, None, [LLAMA], object(), b"gpt2"):
        with pytest.raises(pl.FormatError, match="needs a dict, a path or the name"):
            pl.models.read(wrong)
    with pytest.raises(pl.FormatError, match=r"neither a bundled model \(llama-2-7b"):
        pl.models.read("llama-9")
    for wrong in ("int8", None, 3, []):
        with pytest.raises(pl.UnsupportedError, match="dtype is"):
            pl.models.read("gpt2", dtype=wrong)
    for wrong in (-1, 1.5, "x", None):
        with pytest.raises(pl.FormatError, match="context is"):
            pl.models.read("gpt2").kv_bytes(wrong)

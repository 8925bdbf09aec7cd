"""Check a ``config.json`` of Hugging Face and read the shape of its decoder; nothing of it is executed. Some are bundled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from placelab.base.errors import FormatError, UnsupportedError
from placelab.base.fields import integer
from placelab.models.shape import Latent, Shape

FAMILIES = (
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "qwen3_moe",
    "gemma",
    "gemma2",
    "gpt2",
    "mixtral",
    "deepseek_v2",
    "deepseek_v3",
)
TIED = {"gemma", "gemma2", "gpt2"}  # unless the configuration says otherwise
# Where sliding_window is missing.
WINDOWS = {
    "mistral": 4096,
    "gemma2": 4096,
    "qwen2": 4096,
    "qwen3": 4096,
    "qwen3_moe": 4096,
}
ALL_SEE = 28  # first layers of qwen2 and qwen3 that have no window, where max_window_layers is missing
KV_HEADS = {  # where num_key_value_heads is missing; null is as many as heads
    "mistral": 8,
    "mixtral": 8,
    "qwen2": 32,
    "qwen3": 32,
    "qwen3_moe": 4,
    "gemma": 16,
    "gemma2": 4,
}
BIASED = {"llama", "qwen3", "qwen3_moe", "gemma", "gemma2", "deepseek_v2", "deepseek_v3"}  # as attention_bias says
BIASED_MLP = {"llama", "deepseek_v2"}  # as mlp_bias says
HEADS = {"gemma": 256, "gemma2": 256, "qwen3": 128}  # size of a head where the configuration gives none
EXPERTS = {  # keys of the number of experts, the usual one first
    "qwen3_moe": ("num_experts", "num_local_experts"),
    "mixtral": ("num_local_experts", "num_experts"),
}
LATENT = {"deepseek_v2", "deepseek_v3"}
QUERY_RANK = 1536  # where q_lora_rank is missing; null is no latent
SHARED = {"deepseek_v2": 2, "deepseek_v3": 1}  # where n_shared_experts is missing
FIRST_DENSE = {"deepseek_v2": 0, "deepseek_v3": 3}  # where first_k_dense_replace is missing
TOP_K = {"deepseek_v2": "greedy", "deepseek_v3": "noaux_tc"}  # where topk_method is missing
MOST_LAYERS = 10_000
MOST = 10_000_000  # any other size; a vocabulary, a window and a number of positions may have more
MOST_TOKENS = 1_000_000_000


def shape_of(config: Mapping[str, Any]) -> Shape:
    """The shape of the decoder of a configuration; what it leaves out is as in the classes of ``transformers``.

    Raises
    ------
    UnsupportedError
        A ``model_type`` that is not known.
    FormatError
        A key that is missing, of a wrong type or out of range; sizes that do not fit each other.
    """
    family = _family(config)
    if family == "gpt2":
        return _gpt2(config)
    h = _size(config, "hidden_size")
    a = _size(config, "num_attention_heads")
    layers = _size(config, "num_hidden_layers", MOST_LAYERS)
    latent = _latent(config) if family in LATENT else None
    k = (
        a
        if latent
        else _size(config, "num_key_value_heads", default=_missing(config, "num_key_value_heads", KV_HEADS, a))
    )
    if a % k:
        raise FormatError(f"num_key_value_heads is {k}, which does not divide num_attention_heads, {a}")
    bias = _flag(config, "attention_bias", False) and family in BIASED
    return Shape(
        family=family,
        hidden=h,
        heads=a,
        kv_heads=k,
        head=0 if latent else _head(config, family, h, a),
        width=_size(config, "intermediate_size"),
        vocabulary=_size(config, "vocab_size", MOST_TOKENS),
        positions=0,
        tied=_flag(config, "tie_word_embeddings", family in TIED),
        bias_in=bias or family == "qwen2",
        bias_out=bias,
        bias_mlp=_flag(config, "mlp_bias", False) and family in BIASED_MLP,
        head_norms=family in ("qwen3", "qwen3_moe"),
        windows=_windows(config, family, layers),
        latent=latent,
        **_experts(config, family, layers),
    )


def _family(config: Mapping[str, Any]) -> str:
    family = config.get("model_type")
    known = f"known are {', '.join(FAMILIES)}"
    if family is None:
        raise FormatError(f"there is no 'model_type'; {known}")
    if family not in FAMILIES:
        inner = "; give its text_config alone" if isinstance(config.get("text_config"), Mapping) else ""
        raise UnsupportedError(f"model_type {family!r:.60}; {known}{inner}")
    return str(family)


def _gpt2(config: Mapping[str, Any]) -> Shape:
    h = _size(config, "n_embd")
    a = _size(config, "n_head")
    layers = _size(config, "n_layer", MOST_LAYERS)
    return Shape(
        family="gpt2",
        hidden=h,
        heads=a,
        kv_heads=a,
        head=_quotient(h, a, "n_embd", "n_head"),
        width=_size(config, "n_inner", default=4 * h),
        vocabulary=_size(config, "vocab_size", MOST_TOKENS),
        positions=_size(config, "n_positions", MOST_TOKENS),
        tied=_flag(config, "tie_word_embeddings", True),
        bias_in=True,
        bias_out=True,
        bias_mlp=True,
        head_norms=False,
        windows=(None,) * layers,
        sparse=(False,) * layers,
    )


def _head(config: Mapping[str, Any], family: str, h: int, a: int) -> int:
    if config.get("head_dim") is not None:
        return _size(config, "head_dim")
    return HEADS.get(family) or _quotient(h, a, "hidden_size", "num_attention_heads")


def _quotient(h: int, a: int, whole: str, part: str) -> int:
    if h % a:
        raise FormatError(f"{whole} is {h}, which {part}, {a}, does not divide; give head_dim")
    return h // a


def _latent(config: Mapping[str, Any]) -> Latent:
    query = config.get("q_lora_rank", QUERY_RANK)
    sizes = ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    return Latent(
        None if query is None else _size({"q_lora_rank": query}, "q_lora_rank"), *(_size(config, key) for key in sizes)
    )


def _experts(config: Mapping[str, Any], family: str, layers: int) -> dict[str, Any]:
    """Facts of the mixtures of experts, none in a dense family."""
    if family not in EXPERTS and (family not in LATENT or config.get("n_routed_experts", 0) is None):
        return {"sparse": (False,) * layers}
    keys = EXPERTS.get(family, ("n_routed_experts",))
    key = next((key for key in keys if config.get(key) is not None), keys[0])
    experts = _size(config, key)
    chosen = _size(config, "num_experts_per_tok")
    if chosen > experts:
        raise FormatError(f"num_experts_per_tok is {chosen}, more than {key}, {experts}")
    width = _size(config, "moe_intermediate_size", default=_size(config, "intermediate_size"))
    usual = _missing(config, "n_shared_experts", SHARED, 0)
    shared = _size(config, "n_shared_experts", default=usual, least=0) if family in LATENT else 0
    return {
        "sparse": _sparse(config, family, layers),
        "experts": experts,
        "chosen": chosen,
        "expert_width": width,
        "shared_width": shared * width,
        "router_bias": config.get("topk_method", TOP_K.get(family)) == "noaux_tc" and family in LATENT,
    }


def _sparse(config: Mapping[str, Any], family: str, layers: int) -> tuple[bool, ...]:
    if family == "mixtral":
        return (True,) * layers
    if family == "qwen3_moe":
        step = _size(config, "decoder_sparse_step", default=1)
        dense = _list(config, "mlp_only_layers")
        return tuple(i not in dense and (i + 1) % step == 0 for i in range(layers))
    first = _missing(config, "first_k_dense_replace", FIRST_DENSE, 0)
    first = _size(config, "first_k_dense_replace", MOST_LAYERS, default=first, least=0)
    step = _size(config, "moe_layer_freq", default=1)
    return tuple(i >= first and i % step == 0 for i in range(layers))


def _windows(config: Mapping[str, Any], family: str, layers: int) -> tuple[int | None, ...]:
    """The window of each layer: all (mistral, mixtral), every other one (gemma2), those that the configuration switches on."""
    known = config.get("sliding_window", WINDOWS.get(family))  # null: no window
    if known is None or family in LATENT | {"llama", "gemma"}:
        return (None,) * layers
    window = _size({"sliding_window": known}, "sliding_window", MOST_TOKENS)
    types = _list(config, "layer_types")
    if types:
        if len(types) != layers:
            raise FormatError(f"layer_types has {len(types)} entries; expected one per layer, {layers}")
        slides = [kind == "sliding_attention" for kind in types]
    elif family == "gemma2":
        slides = [i % 2 == 0 for i in range(layers)]
    elif family == "qwen3_moe":
        slides = [_flag(config, "use_sliding_window", False)] * layers
    elif family.startswith("qwen"):
        first = _size(config, "max_window_layers", MOST_LAYERS, default=ALL_SEE, least=0)
        slides = [_flag(config, "use_sliding_window", False) and i >= first for i in range(layers)]
    else:
        slides = [True] * layers
    return tuple(window if slide else None for slide in slides)


def _missing(config: Mapping[str, Any], key: str, usual: Mapping[str, int], null: int) -> int:
    """What a size is where it is missing, by family, or null."""
    return null if key in config else usual.get(str(config["model_type"]), null)


def _size(config: Mapping[str, Any], key: str, most: int = MOST, *, default: int | None = None, least: int = 1) -> int:
    """A size; where it is missing or null, `default`, or an error."""
    value = config.get(key)
    if value is None:
        if default is None:
            raise FormatError(f"{key!r} is missing; expected a whole number from {least} to {most:,}")
        return default
    return integer(value, key, least, most)


def _flag(config: Mapping[str, Any], key: str, default: bool) -> bool:
    value = config.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise FormatError(f"{key} is {value!r:.60}; expected true or false")
    return value


def _list(config: Mapping[str, Any], key: str) -> list[Any]:
    value = config.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise FormatError(f"{key} is {value!r:.60}; expected a list")
    return value


def _dense(family: str, sizes: tuple[int, int, int, int, int, int], **more: Any) -> dict[str, Any]:
    """Hidden size, layers, heads, KV heads, MLP width, vocabulary."""
    keys = (
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "intermediate_size",
        "vocab_size",
    )
    return {"model_type": family, **dict(zip(keys, sizes, strict=True)), **more}


def _with_latents(family: str, q_lora_rank: int | None, **more: Any) -> dict[str, Any]:
    """DeepSeek's latent attention, equal in its two models but for the query."""
    ranks = dict(kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128)
    return {"model_type": family, "q_lora_rank": q_lora_rank, **ranks, **more}


# The plain facts of published models, under the keys of their config.json.
CONFIGS: dict[str, dict[str, Any]] = {
    "llama-2-7b": _dense("llama", (4096, 32, 32, 32, 11008, 32000)),
    "llama-3-8b": _dense("llama", (4096, 32, 32, 8, 14336, 128256)),
    "llama-3.2-1b": _dense("llama", (2048, 16, 32, 8, 8192, 128256), head_dim=64, tie_word_embeddings=True),
    "llama-3.2-3b": _dense("llama", (3072, 28, 24, 8, 8192, 128256), head_dim=128, tie_word_embeddings=True),
    "llama-3.1-70b": _dense("llama", (8192, 80, 64, 8, 28672, 128256)),
    "llama-3.1-405b": _dense("llama", (16384, 126, 128, 8, 53248, 128256)),
    "mistral-7b": _dense("mistral", (4096, 32, 32, 8, 14336, 32000), sliding_window=4096),
    "qwen2.5-0.5b": _dense("qwen2", (896, 24, 14, 2, 4864, 151936), tie_word_embeddings=True),
    "qwen2.5-7b": _dense("qwen2", (3584, 28, 28, 4, 18944, 152064)),
    "qwen3-30b-a3b": _dense(
        "qwen3_moe",
        (2048, 48, 32, 4, 6144, 151936),
        head_dim=128,
        moe_intermediate_size=768,
        num_experts=128,
        num_experts_per_tok=8,
    ),
    "gemma-2b": _dense("gemma", (2048, 18, 8, 1, 16384, 256000), head_dim=256),
    "gemma-2-9b": _dense("gemma2", (3584, 42, 16, 8, 14336, 256000), head_dim=256, sliding_window=4096),
    "gpt2": dict(model_type="gpt2", n_embd=768, n_layer=12, n_head=12, n_positions=1024, vocab_size=50257),
    "mixtral-8x7b": _dense("mixtral", (4096, 32, 32, 8, 14336, 32000), num_local_experts=8, num_experts_per_tok=2),
    "deepseek-v2-lite": _with_latents(
        "deepseek_v2",
        None,
        hidden_size=2048,
        num_hidden_layers=27,
        num_attention_heads=16,
        intermediate_size=10944,
        moe_intermediate_size=1408,
        n_routed_experts=64,
        n_shared_experts=2,
        num_experts_per_tok=6,
        first_k_dense_replace=1,
        vocab_size=102400,
    ),
    "deepseek-v3": _with_latents(
        "deepseek_v3",
        1536,
        hidden_size=7168,
        num_hidden_layers=61,
        num_attention_heads=128,
        intermediate_size=18432,
        moe_intermediate_size=2048,
        n_routed_experts=256,
        n_shared_experts=1,
        num_experts_per_tok=8,
        first_k_dense_replace=3,
        topk_method="noaux_tc",
        vocab_size=129280,
    ),
}

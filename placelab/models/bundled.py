"""Bundled configurations: the plain facts of published models, under the keys of their ``config.json``."""

from __future__ import annotations

from typing import Any


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


def _latent(family: str, q_lora_rank: int | None, **more: Any) -> dict[str, Any]:
    """DeepSeek's latent attention, equal in its two models but for the query."""
    ranks = dict(kv_lora_rank=512, qk_nope_head_dim=128, qk_rope_head_dim=64, v_head_dim=128)
    return {"model_type": family, "q_lora_rank": q_lora_rank, **ranks, **more}


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
    "deepseek-v2-lite": _latent(
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
    "deepseek-v3": _latent(
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

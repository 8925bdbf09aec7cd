"""Configurations of small models at random, for tests that compare ways to compute their memory."""

from __future__ import annotations

import random
from typing import Any


def drawn(source: random.Random) -> dict[str, Any]:
    """The configuration of a small model of any family."""
    family = source.choice(("llama", "gpt2", "gemma2", "qwen3", "mixtral", "qwen3_moe", "deepseek_v2"))
    a = source.choice((4, 8))
    d = source.choice((4, 8))
    layers = source.randint(1, 3)
    vocabulary = source.choice((64, 512))
    positions = 4096
    if family == "gpt2":
        return dict(
            model_type=family, n_embd=a * d, n_head=a, n_layer=layers, n_positions=positions, vocab_size=vocabulary
        )
    experts = source.choice((2, 4))
    width = 8 * source.randint(2, 12)
    mixture = dict(num_local_experts=experts, num_experts=experts, n_routed_experts=experts, num_experts_per_tok=2)
    latent = dict(kv_lora_rank=16, qk_nope_head_dim=8, qk_rope_head_dim=8, v_head_dim=8, first_k_dense_replace=1)
    return dict(
        model_type=family, hidden_size=a * d * source.choice((1, 2)), num_hidden_layers=layers, num_attention_heads=a,
        num_key_value_heads=source.choice((1, 2, 4)), head_dim=d, intermediate_size=width, vocab_size=vocabulary,
        moe_intermediate_size=width, **mixture, **latent,
    )  # fmt: skip

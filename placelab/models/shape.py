"""The shape of a decoder: sizes of its layers, the matrices and norms that follow, and what a layer keeps of a token."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

SUM = 4  # bytes of float32, in which log-sum-exp and the router's probabilities are kept


class Latent(NamedTuple):
    """Ranks and head sizes of DeepSeek's latent attention; `query` is None where queries have no latent."""

    query: int | None
    kv: int
    nope: int
    rope: int
    value: int


@dataclass(frozen=True)
class Shape:
    """Sizes of a decoder.

    Attributes
    ----------
    family : str
        ``model_type`` of the configuration.
    hidden, heads, kv_heads, head, width, vocabulary : int
        Hidden size, attention heads, KV heads, size of a head, width of a dense MLP, vocabulary.
    positions : int
        Rows of a learnt table of positions (gpt2), else 0.
    tied : bool
        Whether the head uses the embedding table.
    bias_in, bias_out, bias_mlp, head_norms : bool
        Biases of q, k, v, of the output projection and of the MLP; norms of q and k.
    windows : tuple of int or None, shape (layers,)
        Keys that a query of the layer sees; None: all before it.
    sparse : tuple of bool, shape (layers,)
        Whether the layer's MLP is a mixture of experts.
    experts, chosen, expert_width, shared_width : int
        Experts of a layer, those that a token goes to, the width of each, the width of what all tokens share.
    router_bias : bool
        A correction per expert.
    latent : Latent or None
        Latent attention, in place of heads of equal size.
    """

    family: str
    hidden: int
    heads: int
    kv_heads: int
    head: int
    width: int
    vocabulary: int
    positions: int
    tied: bool
    bias_in: bool
    bias_out: bool
    bias_mlp: bool
    head_norms: bool
    windows: tuple[int | None, ...]
    sparse: tuple[bool, ...]
    experts: int = 0
    chosen: int = 0
    expert_width: int = 0
    shared_width: int = 0
    router_bias: bool = False
    latent: Latent | None = None

    @property
    def layers(self) -> int:
        """Number of layers."""
        return len(self.windows)

    @property
    def gpt(self) -> bool:
        """Whether this is GPT-2: layer norms with biases, one matrix for q, k, v, dropout."""
        return self.family == "gpt2"

    @property
    def query_size(self) -> int:
        """Elements of a token's queries."""
        return self.heads * (self.latent.nope + self.latent.rope if self.latent else self.head)

    @property
    def key_size(self) -> int:
        """Elements of a token's keys, as attention in a forward pass reads them."""
        return self.query_size if self.latent else self.kv_heads * self.head

    @property
    def value_size(self) -> int:
        """Elements of a token's values."""
        return self.heads * self.latent.value if self.latent else self.kv_heads * self.head

    @property
    def context_size(self) -> int:
        """Elements of a token's output of attention."""
        return self.heads * (self.latent.value if self.latent else self.head)

    @property
    def cached_size(self) -> int:
        """Elements that the KV cache keeps of a token in a layer."""
        return self.latent.kv + self.latent.rope if self.latent else 2 * self.kv_heads * self.head


class Matrix(NamedTuple):
    """A product's weights: module within its layer, sizes, elements of a bias; experts have `copies`, `active` of a token."""

    module: str
    inputs: int
    outputs: int
    bias: int = 0
    copies: int = 1
    active: int = 1

    @property
    def parameters(self) -> int:
        """Weights and biases of all copies."""
        return self.copies * (self.inputs * self.outputs) + self.bias

    @property
    def active_parameters(self) -> int:
        """Weights and biases that one token uses."""
        return self.active * (self.inputs * self.outputs) + self.bias

    @property
    def flop(self) -> int:
        """FLOP of a token, forward."""
        return 2 * self.active * self.inputs * self.outputs


def attention_matrices(shape: Shape) -> list[Matrix]:
    """The products of a layer's attention but scores and context, in the order in which they run."""
    h = shape.hidden
    out = shape.context_size
    if shape.gpt:
        return [Matrix("attn.c_attn", h, 3 * h, 3 * h), Matrix("attn.c_proj", h, h, h)]
    if shape.latent:
        r = shape.latent
        query = shape.query_size
        bias = int(shape.bias_in)
        first = (
            [
                Matrix("self_attn.q_a_proj", h, r.query, bias * r.query),
                Matrix("self_attn.q_b_proj", r.query, query),
            ]
            if r.query
            else [Matrix("self_attn.q_proj", h, query)]
        )
        return [
            *first,
            Matrix("self_attn.kv_a_proj_with_mqa", h, r.kv + r.rope, bias * (r.kv + r.rope)),
            Matrix("self_attn.kv_b_proj", r.kv, shape.heads * (r.nope + r.value)),
            Matrix("self_attn.o_proj", out, h, h * shape.bias_out),
        ]
    sizes = {"q": shape.query_size, "k": shape.key_size, "v": shape.value_size}
    first = [Matrix(f"self_attn.{name}_proj", h, size, size * shape.bias_in) for name, size in sizes.items()]
    return [*first, Matrix("self_attn.o_proj", out, h, h * shape.bias_out)]


def mlp_matrices(shape: Shape, sparse: bool) -> list[Matrix]:
    """The products of a layer's MLP, in the order in which they run."""
    h = shape.hidden
    f = shape.width
    if shape.gpt:
        return [Matrix("mlp.c_fc", h, f, f), Matrix("mlp.c_proj", f, h, h)]
    if not sparse:
        return _gated("mlp", h, f, shape.bias_mlp)
    e = shape.experts
    k = shape.chosen
    module = expert_module(shape)
    router = Matrix(f"{module}.gate", h, e, e * shape.router_bias)
    experts = [m._replace(copies=e, active=k) for m in _gated(f"{module}.experts", h, shape.expert_width, False)]
    shared = _gated(f"{module}.shared_experts", h, shape.shared_width, False) if shape.shared_width else []
    return [router, *experts, *shared]


def expert_module(shape: Shape) -> str:
    """The module of a mixture of experts within its layer."""
    return "block_sparse_moe" if shape.family == "mixtral" else "mlp"


def _gated(module: str, h: int, f: int, bias: bool) -> list[Matrix]:
    up = [Matrix(f"{module}.{name}_proj", h, f, f * bias) for name in ("gate", "up")]
    return [*up, Matrix(f"{module}.down_proj", f, h, h * bias)]


def norms(shape: Shape) -> dict[str, int]:
    """Module → parameters of a layer's norms."""
    h = shape.hidden
    latent = shape.latent
    if shape.gpt:
        return {"ln_1": 2 * h, "ln_2": 2 * h}
    found = {"input_layernorm": h, "post_attention_layernorm": h}
    if shape.family == "gemma2":
        found |= {"pre_feedforward_layernorm": h, "post_feedforward_layernorm": h}
    if latent:
        found |= {"self_attn.q_a_layernorm": latent.query} if latent.query else {}
        found["self_attn.kv_a_layernorm"] = latent.kv
    if shape.head_norms:
        found |= {"self_attn.q_norm": shape.head, "self_attn.k_norm": shape.head}
    return found


def mean_keys(queries: int, context: int, window: int | None, causal: str) -> float:
    """Mean keys per query of `queries` tokens after `context` others: ``"full"`` computes what the mask hides, too."""
    last = context + queries
    if causal == "full":
        return float(last)
    if window is None or last <= window:
        return context + (queries + 1) / 2
    rising = max(window - context, 0)  # queries that see fewer keys than the window has
    seen = rising * context + rising * (rising + 1) / 2 + (queries - rising) * window
    return seen / queries


def saved_bytes(shape: Shape, sparse: bool, width: int, attention: str = "flash", keys: float = 0.0) -> float:
    r"""Bytes that one token leaves in one layer, on one device.

    .. math:: 8h + 4ad + 4kd + 6f + 4a \quad (\text{llama, flash}), \qquad 34h\ (+ 5as \text{, eager})\ (\text{GPT})

    Parameters
    ----------
    sparse
        Whether the layer's MLP is a mixture of experts.
    width
        Bytes per element, ε; the formulas above have ε = 2.
    attention
        ``"flash"`` keeps the log-sum-exp, ``"eager"`` the probabilities: 2as, GPT with its dropout 5as.
    keys
        Keys per query, s, which ``"eager"`` needs.

    Notes
    -----
    Inputs of norms and products (8h; gemma2 12h: it has two more norms), q, k, v, the output of attention, gate, up and their
    product; the inputs of norms of q and k, and of latents, where there are any. A mixture of experts keeps 4E probabilities and
    K(2h + 6f_e) of the chosen experts in place of 6f. GPT-2's flash attention keeps no log-sum-exp here, as published.

    References
    ----------
    Korthikanti et al. (2022), Reducing activation recomputation in large transformer models, §4.
    """
    return inner_bytes(shape, sparse, width, attention, keys) + outer_bytes(shape, width)


def outer_bytes(shape: Shape, width: int) -> float:
    """The part outside of the tensor-parallel region: inputs of norms and of the two halves of a layer; GPT's dropout masks."""
    h = shape.hidden
    if shape.gpt:
        return (4 * width + 2) * h
    return (6 if shape.family == "gemma2" else 4) * width * h


def inner_bytes(shape: Shape, sparse: bool, width: int, attention: str = "flash", keys: float = 0.0) -> float:
    """The part that tensor parallelism divides by its degree: what is kept per head, per column of an MLP, per expert."""
    return _kept_by_attention(shape, width, attention, keys) + _kept_by_mlp(shape, sparse, width)


def score_bytes(shape: Shape, width: int, attention: str, keys: float) -> float:
    """Of that, what stands for the scores: log-sum-exp or probabilities."""
    if shape.gpt:
        return (2 * width + 1) * shape.heads * keys if attention == "eager" else 0.0
    return width * shape.heads * keys if attention == "eager" else float(SUM * shape.heads)


def _kept_by_attention(shape: Shape, width: int, attention: str, keys: float) -> float:
    latent = shape.latent
    kept = shape.query_size + shape.key_size + shape.value_size + shape.context_size
    if latent:
        kept += 2 * latent.kv + 2 * (latent.query or 0)
    if shape.head_norms:
        kept += shape.query_size + shape.key_size
    return width * kept + score_bytes(shape, width, attention, keys)


def _kept_by_mlp(shape: Shape, sparse: bool, width: int) -> float:
    if shape.gpt:
        return 2 * width * shape.width
    if not sparse:
        return 3 * width * shape.width
    experts = shape.chosen * width * (shape.hidden + 3 * shape.expert_width)
    return SUM * shape.experts + experts + 3 * width * shape.shared_width

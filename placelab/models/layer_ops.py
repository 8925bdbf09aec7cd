"""The ops of one layer, with sizes, weights and what each of them keeps for its backward pass."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from placelab.models.shape import SUM, Matrix, Shape, attention_matrices, expert_module, mlp_matrices, norms

Tensor = tuple[str, int]  # name of an op, number of its output
FLASH = "aten._scaled_dot_product_flash_attention"
INDEX = 8  # bytes of an index


class Op(NamedTuple):
    """A forward op.

    Attributes
    ----------
    name, kind : str
        Module path, and ATen op.
    inputs : tuple of Tensor
        What it reads.
    outputs : tuple of float
        Bytes of each output.
    flop : float
        FLOP of a product, forward.
    weights : float
        Parameters that it reads, held on its device.
    idle : float
        Parameters that it does not read in this pass, such as experts that no token chose.
    saved : tuple of Tensor
        What its backward ops read.
    cached : float
        Bytes of the KV cache on its device.
    back : float
        FLOP of the backward pass over that of the forward pass.
    table : str
        The module that holds its weights; "" for itself.
    trained : float
        Parameters of which its backward pass makes gradients, where these are not `weights`.
    """

    name: str
    kind: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[float, ...]
    flop: float = 0.0
    weights: float = 0.0
    idle: float = 0.0
    saved: tuple[Tensor, ...] = ()
    cached: float = 0.0
    back: float = 2.0
    table: str = ""
    trained: float = 0.0


@dataclass
class Layer:
    """Builds the ops of a layer for a number of tokens.

    Attributes
    ----------
    shape : Shape
        Sizes of the model.
    prefix : str
        The layer's module path.
    tokens : int
        Tokens of the pass.
    keys : float
        Mean keys per query that are computed.
    rows : int
        Keys per query that eager attention writes scores for.
    width : int
        Bytes per element.
    training, flash, absorbed : bool
        Whether there is dropout; one op of attention; attention on latents.
    cached : float
        Bytes of this layer's cache.
    """

    shape: Shape
    prefix: str
    sparse: bool
    tokens: int
    keys: float
    rows: int
    width: int
    training: bool
    flash: bool
    absorbed: bool
    cached: float
    ops: list[Op] = field(default_factory=list)

    def build(self, x: Tensor) -> Tensor:
        """Add all ops of the layer, of which `x` is the input; the layer's output."""
        gemma = self.shape.family == "gemma2"
        first, second = ("ln_1", "ln_2") if self.shape.gpt else ("input_layernorm", "post_attention_layernorm")
        y = self._attention(self.norm(first, x))
        y = self._dropout("attn.resid_dropout", self.norm(second, y) if gemma else y)
        x = self.add("add_attention", x, y)
        y = self._mlp(self.norm("pre_feedforward_layernorm" if gemma else second, x))
        y = self._dropout("mlp.dropout", self.norm("post_feedforward_layernorm", y) if gemma else y)
        return self.add("add_mlp", x, y)

    # ---------------------------------------------------------------- ops

    def put(self, module: str, kind: str, inputs: tuple[Tensor, ...], *elements: float, **more: object) -> Tensor:
        """Add an op whose outputs have so many elements per token; its first output."""
        name = f"{self.prefix}.{module}"
        outputs = tuple(self.tokens * size * self.width for size in elements)
        self.ops.append(Op(name, kind, inputs, outputs, **more))  # type: ignore[arg-type]
        return name, 0

    def norm(self, module: str, x: Tensor, size: int = 0, instances: int = 1) -> Tensor:
        """A norm of `instances` vectors per token, of the hidden size unless given; it keeps its input."""
        kind = "aten.native_layer_norm" if self.shape.gpt else "aten.rms_norm"
        weights = norms(self.shape)[module]
        return self.put(module, kind, (x,), (size or self.shape.hidden) * instances, weights=weights, saved=(x,))

    def linear(self, matrix: Matrix, x: Tensor, *outputs: int) -> Tensor:
        """A product with weights; it keeps its input."""
        sizes = outputs or (matrix.outputs,)
        weights = matrix.parameters
        return self.put(
            matrix.module, "aten.linear", (x,), *sizes, flop=self.tokens * matrix.flop, weights=weights, saved=(x,)
        )

    def add(self, module: str, x: Tensor, y: Tensor) -> Tensor:
        """The sum of two tensors of the hidden size; it keeps nothing."""
        return self.put(module, "aten.add", (x, y), self.shape.hidden)

    def _dropout(self, module: str, x: Tensor) -> Tensor:
        """GPT's dropout in training, which keeps a mask of a byte per element."""
        if not (self.shape.gpt and self.training):
            return x
        name = f"{self.prefix}.{module}"
        size = self.tokens * self.shape.hidden
        outputs = (size * self.width, float(size))
        self.ops.append(Op(name, "aten.native_dropout", (x,), outputs, saved=((name, 1),)))
        return name, 0

    # ---------------------------------------------------------------- attention

    def _attention(self, x: Tensor) -> Tensor:
        matrices = {m.module.rpartition(".")[2]: m for m in attention_matrices(self.shape)}
        qkv: tuple[Tensor, ...]
        if self.shape.gpt:
            qkv = (self.linear(matrices["c_attn"], x),)
        elif self.shape.latent:
            qkv = self._latent(matrices, x)
        else:
            qkv = self._heads(matrices, x)
        out = self._fused(qkv) if self.flash else self._eager(qkv)
        return self.linear(matrices["c_proj" if self.shape.gpt else "o_proj"], out)

    def _heads(self, matrices: dict[str, Matrix], x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values, with positions."""
        shape = self.shape
        q, k, v = (self.linear(matrices[f"{name}_proj"], x) for name in "qkv")
        if shape.head_norms:
            q = self.norm("self_attn.q_norm", q, shape.head, shape.heads)
            k = self.norm("self_attn.k_norm", k, shape.head, shape.kv_heads)
        return *self._positions((q, k), shape.query_size, shape.key_size), v

    def _positions(self, inputs: tuple[Tensor, ...], q: int, k: int) -> tuple[Tensor, Tensor]:
        name, _ = self.put("self_attn.apply_rotary_pos_emb", "aten.mul", inputs, q, k)
        return (name, 0), (name, 1)

    def _latent(self, matrices: dict[str, Matrix], x: Tensor) -> tuple[Tensor, ...]:
        """Queries, keys and values from their latents; absorbed: the latents themselves are keys and values."""
        shape = self.shape
        r = self.shape.latent
        assert r is not None
        if r.query:
            q = self.norm("self_attn.q_a_layernorm", self.linear(matrices["q_a_proj"], x), r.query)
            q = self.linear(matrices["q_b_proj"], q)
        else:
            q = self.linear(matrices["q_proj"], x)
        latent = self.linear(matrices["kv_a_proj_with_mqa"], x, r.kv, r.rope)
        rope = (latent[0], 1)
        kv = self.norm("self_attn.kv_a_layernorm", latent, r.kv)
        up = matrices["kv_b_proj"]
        if self.absorbed:
            # Of queries; that of the context is in the same weights.
            q = self.linear(up, q, shape.heads * (r.kv + r.rope))
            return *self._positions((q, rope), shape.heads * (r.kv + r.rope), r.rope), kv
        name, _ = self.linear(up, kv, shape.heads * r.nope, shape.heads * r.value)
        return *self._positions((q, rope, (name, 0)), shape.query_size, shape.key_size), (name, 1)

    def _score_flop(self) -> tuple[float, float]:
        """FLOP of scores and of context."""
        q = self.shape.query_size
        c = self.shape.context_size
        if self.absorbed and (r := self.shape.latent):
            q = self.shape.heads * (r.kv + r.rope)
            c = self.shape.heads * r.kv
        return 2 * self.tokens * self.keys * q, 2 * self.tokens * self.keys * c

    def _fused(self, qkv: tuple[Tensor, ...]) -> Tensor:
        module = "attn.attention" if self.shape.gpt else "self_attn.attention"
        name = f"{self.prefix}.{module}"
        tokens = self.tokens
        out = float(tokens * self.shape.context_size * self.width)
        sums = () if self.shape.gpt else (float(SUM * self.shape.heads * tokens),)
        saved = (*qkv, *((name, i) for i in range(1 + len(sums))))
        flop = sum(self._score_flop())
        self.ops.append(Op(name, FLASH, qkv, (out, *sums), flop, saved=saved, cached=self.cached, back=2.5))
        return name, 0

    def _eager(self, qkv: tuple[Tensor, ...]) -> Tensor:
        """Scores, softmax, GPT's dropout, context."""
        gpt = self.shape.gpt
        module, (q, k, v) = ("attn", qkv * 3) if gpt else ("self_attn", qkv)
        probabilities = self.shape.heads * self.rows
        scores, context = self._score_flop()
        reads = tuple(dict.fromkeys((q, k)))
        s = self.put(
            f"{module}.scores", "aten.matmul", reads, probabilities, flop=scores, saved=reads, cached=self.cached
        )
        name = f"{self.prefix}.{module}.softmax"
        p = self.put(f"{module}.softmax", "aten.softmax", (s,), probabilities, saved=((name, 0),))
        if gpt and self.training:
            name = f"{self.prefix}.attn.attn_dropout"
            size = float(self.tokens * probabilities)
            self.ops.append(Op(name, "aten.native_dropout", (p,), (size * self.width, size), saved=((name, 1),)))
            p = (name, 0)
        return self.put(f"{module}.context", "aten.matmul", (p, v), self.shape.context_size, flop=context, saved=(p, v))

    # ---------------------------------------------------------------- MLP

    def _mlp(self, x: Tensor) -> Tensor:
        matrices = mlp_matrices(self.shape, self.sparse)
        if self.shape.gpt:
            up, down = matrices
            y = self.linear(up, x)
            return self.linear(down, self.put("mlp.act", "aten.gelu", (y,), up.outputs, saved=(y,)))
        if not self.sparse:
            return self._gated(matrices, x)
        return self._experts(matrices, x)

    def _gated(self, matrices: list[Matrix], x: Tensor) -> Tensor:
        gate, up, down = matrices
        both = self.linear(gate, x), self.linear(up, x)
        module = gate.module.rpartition(".")[0]
        return self.linear(down, self.put(f"{module}.act_fn", "aten.silu", both, gate.outputs, saved=both))

    def _experts(self, matrices: list[Matrix], x: Tensor) -> Tensor:
        """Router, dispatch, the chosen experts, combination with what all tokens share."""
        shape = self.shape
        tokens = self.tokens
        module = expert_module(self.shape)
        router, *experts = matrices
        gate = f"{self.prefix}.{router.module}"
        topk = f"{self.prefix}.{module}.topk"
        logits = (float(SUM * shape.experts * tokens),)
        self.ops.append(Op(gate, "aten.linear", (x,), logits, tokens * router.flop, router.parameters, saved=(x,)))
        routed = float(tokens * shape.chosen)
        self.ops.append(Op(topk, "aten.topk", ((gate, 0),), (SUM * routed, INDEX * routed), saved=((gate, 0),)))
        sent = self.put(f"{module}.dispatch", "aten.index_select", (x, (topk, 1)), shape.chosen * shape.hidden)
        out = self._chosen(experts[:3], sent)
        shared = (self._gated(experts[3:], x),) if len(experts) > 3 else ()
        return self.put(f"{module}.combine", "aten.mul", (out, (topk, 0), *shared), shape.hidden)

    def _chosen(self, matrices: list[Matrix], x: Tensor) -> Tensor:
        """The experts' products as three batched ones; weights of experts that no token can have chosen are idle."""
        shape = self.shape
        used = min(self.tokens * shape.chosen, shape.experts) / shape.experts

        def product(matrix: Matrix, y: Tensor) -> Tensor:
            weights = matrix.parameters * used
            more = dict(flop=self.tokens * matrix.flop, weights=weights, idle=matrix.parameters - weights, saved=(y,))
            return self.put(matrix.module, "aten.bmm", (y,), shape.chosen * matrix.outputs, **more)

        gate, up, down = matrices
        both = product(gate, x), product(up, x)
        module = gate.module.rpartition(".")[0]
        size = shape.chosen * gate.outputs
        return product(down, self.put(f"{module}.act_fn", "aten.silu", both, size, saved=both))

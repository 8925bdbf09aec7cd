"""The graph of a pass through a transformer: forward ops, in training their backward and update ops, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from placelab.base.errors import FormatError, UnsupportedError, count
from placelab.base.files import MAX_OPS
from placelab.costs.roofline import with_estimates
from placelab.models.layer_ops import FLASH, INDEX, SUM, Layer, Op, Tensor
from placelab.models.shape import Shape, mean_keys
from placelab.problem.coverage import with_coverage
from placelab.problem.graph import OpGraph

CHOICES = {
    "phase": ("train", "forward", "prefill", "decode"),
    "attention": ("flash", "eager"),
    "causal": ("half", "full"),
}
MOST_TOKENS = 1_000_000_000
PRODUCTS = {"aten.linear", "aten.bmm"}  # with weights: their backward pass is two products
OPS_PER_LAYER = {False: 30, True: 90}  # at most, without and with the backward pass
BACKWARD = {
    FLASH: "aten._scaled_dot_product_flash_attention_backward",
    "aten.rms_norm": "aten._fused_rms_norm_backward",
    "aten.native_layer_norm": "aten.native_layer_norm_backward",
    "aten.silu": "aten.silu_backward",
    "aten.gelu": "aten.gelu_backward",
    "aten.softmax": "aten._softmax_backward_data",
    "aten.native_dropout": "aten.native_dropout_backward",
    "aten.cross_entropy_loss": "aten._log_softmax_backward_data",
    "aten.embedding": "aten.embedding_dense_backward",
    "aten.index_select": "aten.index_add",
    "aten.topk": "aten.scatter",
}


@dataclass(frozen=True)
class Pass:
    """What runs: the arguments of :meth:`placelab.models.Transformer.graph`, with the type's name and bytes."""

    phase: str
    batch: int
    sequence: int
    context: int
    attention: str
    causal: str
    dtype: str
    width: int

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            if getattr(self, name) not in known:
                raise UnsupportedError(f"{name} is {getattr(self, name)!r:.60}; expected one of {', '.join(known)}")
        for name, least in (("batch", 1), ("sequence", 1), ("context", 0)):
            object.__setattr__(self, name, count(getattr(self, name), name, least, MOST_TOKENS))
        if self.context and self.phase in ("train", "forward"):
            raise UnsupportedError(
                f"context is {self.context} in phase {self.phase!r}; prefill and decode have a cache"
            )

    @property
    def training(self) -> bool:
        """Whether there is a backward pass."""
        return self.phase == "train"

    @property
    def queries(self) -> int:
        """New tokens of a sequence."""
        return 1 if self.phase == "decode" else self.sequence

    @property
    def tokens(self) -> int:
        """New tokens of all sequences."""
        return self.batch * self.queries

    @property
    def caching(self) -> bool:
        """Whether keys and values stay."""
        return self.phase in ("prefill", "decode")


def graph_of(shape: Shape, name: str, run: Pass) -> OpGraph:
    """The graph of a pass; see :meth:`placelab.models.Transformer.graph`."""
    _check(shape, run)
    ops = _forward(shape, run)
    columns = _Columns()
    for op in ops:
        columns.forward(op, run.width)
    if run.training:
        _backward(ops, columns, run.width)
    title = f"{name}, {run.phase}, {run.batch} x {run.queries} tokens"
    sizes = dict(heads=shape.heads, kv_heads=shape.kv_heads, vocabulary=shape.vocabulary, experts=shape.experts)
    metadata = {"name": title, "costs": {"compute": "FLOP", "precision": run.dtype}, "model": sizes}
    return with_estimates(with_coverage(columns.graph(metadata)))


def _check(shape: Shape, run: Pass) -> None:
    last = run.context + run.queries
    if shape.positions and last > shape.positions:
        raise FormatError(
            f"{last:,} tokens of a sequence are more than the model's n_positions, {shape.positions:,}; give fewer"
        )
    if shape.layers * OPS_PER_LAYER[run.training] > MAX_OPS:
        raise UnsupportedError(f"{shape.layers:,} layers have more than {MAX_OPS:,} ops in phase {run.phase!r}")


def _forward(shape: Shape, run: Pass) -> list[Op]:
    """Forward ops from the ids to the logits, in training to the loss."""
    hidden = float(run.tokens * shape.hidden * run.width)
    root, table = ("transformer", "transformer.wte") if shape.gpt else ("model", "model.embed_tokens")
    words = shape.vocabulary * shape.hidden
    held, tied = (0, "lm_head") if shape.tied else (words, "")  # a shared table is held where all of it is read
    ids_in: tuple[Tensor, ...] = (("input_ids", 0),)
    ops = [
        Op("input_ids", "input", (), (float(run.tokens * INDEX),)),
        Op(table, "aten.embedding", ids_in, (hidden,), weights=held, saved=ids_in, table=tied, trained=words),
    ]
    x: Tensor = (table, 0)
    if shape.gpt:
        positions = "transformer.wpe"
        weights = shape.positions * shape.hidden
        ops.append(Op(positions, "aten.embedding", ids_in, (hidden,), weights=weights, saved=ids_in))
        ops.append(Op("transformer.add", "aten.add", (x, (positions, 0)), (hidden,)))
        x = ("transformer.add", 0)
    for i in range(shape.layers):
        layer = _layer(shape, run, i)
        x = layer.build(x)
        ops += layer.ops
    norm, norm_kind, size = (
        (f"{root}.ln_f", "aten.native_layer_norm", 2) if shape.gpt else (f"{root}.norm", "aten.rms_norm", 1)
    )
    ops.append(Op(norm, norm_kind, (x,), (hidden,), weights=size * shape.hidden, saved=(x,)))
    logits = float(run.tokens * shape.vocabulary)
    flop = 2.0 * run.tokens * words
    ops.append(
        Op("lm_head", "aten.linear", ((norm, 0),), (logits * run.width,), flop, weights=words, saved=((norm, 0),))
    )
    if run.training:
        loss = (float(SUM), SUM * logits)  # a number, and the log-probabilities in float32 that its gradient needs
        ops.append(Op("loss", "aten.cross_entropy_loss", (("lm_head", 0),), loss, saved=(("loss", 1),)))
    return ops


def _layer(shape: Shape, run: Pass, i: int) -> Layer:
    window = shape.windows[i]
    last = run.context + run.queries
    causal = "half" if run.phase == "decode" else run.causal
    kept = last if window is None else min(last, window)
    return Layer(
        shape=shape,
        prefix=f"transformer.h.{i}" if shape.gpt else f"model.layers.{i}",
        sparse=shape.sparse[i],
        tokens=run.tokens,
        keys=mean_keys(run.queries, run.context, window, causal),
        rows=last,
        width=run.width,
        training=run.training,
        flash=run.attention == "flash",
        absorbed=run.phase == "decode" and shape.latent is not None,
        cached=float(run.batch * kept * shape.cached_size * run.width) if run.caching else 0.0,
    )


class _Columns:
    """Columns of a graph in the making; an edge is a tensor's producer and its reader."""

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.compute: list[float] = []
        self.persistent: list[float] = []
        self.kind: list[str] = []
        self.edges: list[tuple[int, int]] = []
        self.output: list[int] = []
        self.bytes: list[float] = []
        self.size: dict[Tensor, float] = {}
        self.groups: dict[str, list[int]] = {}

    def add(
        self, name: str, kind: str, inputs: tuple[Tensor, ...], outputs: tuple[float, ...], flop: float = 0.0
    ) -> int:
        """Add an op; its number."""
        op = self.number[name] = len(self.number)
        self.compute.append(flop)
        self.persistent.append(0.0)
        self.kind.append(kind)
        for key in dict.fromkeys(inputs):
            self.edges.append((self.number[key[0]], op))
            self.output.append(key[1])
            self.bytes.append(self.size[key])
        for i, size in enumerate(outputs):
            self.size[name, i] = size
        return op

    def forward(self, op: Op, width: int) -> None:
        """Add a forward op, and, without time, what it holds and does not read."""
        number = self.add(op.name, op.kind, op.inputs, op.outputs, op.flop)
        self.persistent[number] = op.weights * width + op.cached
        if op.table:
            self.groups[op.table] = [number]
        if op.idle:
            idle = self.add(f"{op.name}.unchosen", "get_attr", (), ())
            self.persistent[idle] = op.idle * width
            self.groups[op.name] = [number, idle]
        elif op.name in self.groups:
            self.groups[op.name].append(number)

    def graph(self, metadata: dict[str, Any]) -> OpGraph:
        """The graph."""
        read = {(producer, k) for (producer, _), k in zip(self.edges, self.output, strict=True)}
        unread = [(self.number[n], k, s) for (n, k), s in self.size.items() if (self.number[n], k) not in read]
        return OpGraph.from_arrays(
            list(self.number),
            self.compute,
            self.edges,
            edge_bytes=self.bytes,
            edge_output=self.output,
            outputs=unread,
            persistent=self.persistent,
            kind=self.kind,
            groups=list(self.groups.values()),
            group_names=list(self.groups),
            metadata=metadata,
        )


def _backward(ops: list[Op], columns: _Columns, width: int) -> None:
    """Backward ops in reverse order, then updates. A tensor's gradient is the sum of what its readers' backward ops give it."""
    gradients: dict[Tensor, list[Tensor]] = {}
    updates: dict[str, list[Tensor]] = {}
    constant = {(op.name, k) for op in ops for k in _without_gradient(op)}
    for op in reversed(ops):
        if op.kind == "input":
            continue
        given = tuple(g for k in range(len(op.outputs)) for g in gradients.get((op.name, k), ()))
        wanted = [x for x in dict.fromkeys(op.inputs) if x not in constant]
        sizes = tuple(columns.size[x] for x in wanted)
        name = f"{op.name}.backward"
        trained = (op.trained or op.weights) * width
        if op.kind in PRODUCTS:
            group = columns.groups.setdefault(op.name, [columns.number[op.name]])
            group.append(columns.add(name, op.kind, given, sizes, op.flop))
            of_weights = (f"{op.name}.weight_gradient", 0)
            columns.add(of_weights[0], op.kind, (*given, *op.saved), (trained,), op.flop)
        else:
            sizes = sizes[:1] if op.kind == "aten.add" else sizes  # both terms have the gradient of their sum
            of_weights = (name, len(sizes))
            outputs = (*sizes, trained) if trained else sizes
            columns.add(name, BACKWARD.get(op.kind, op.kind), (*given, *op.saved), outputs, op.flop * op.back)
        if trained:
            updates.setdefault(op.table or op.name, []).append(of_weights)
        for k, x in enumerate(wanted):
            gradients.setdefault(x, []).append((name, min(k, len(sizes) - 1)))
    _updates(updates, columns)


def _without_gradient(op: Op) -> range:
    """Outputs that are indices: the ids of tokens, the choice of experts."""
    return range(1) if op.kind == "input" else range(1, 2) if op.kind == "aten.topk" else range(0)


def _updates(updates: dict[str, list[Tensor]], columns: _Columns) -> None:
    """Plain gradient descent in place, on the device of the weights."""
    for module, gradients in updates.items():
        update = columns.add(f"{module}.update", "aten.sub_", tuple(gradients), ())
        columns.groups.setdefault(module, [columns.number[module]]).append(update)

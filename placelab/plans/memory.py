"""Bytes that the blocks of a transformer hold on a device, by category: in training, and while a model answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any, Literal, NamedTuple

import numpy as np

from placelab.base.errors import UnsupportedError, count
from placelab.models import Transformer
from placelab.models.shape import (
    Matrix,
    Shape,
    attention_matrices,
    inner_bytes,
    mlp_matrices,
    norms,
    outer_bytes,
    score_bytes,
)

CATEGORIES = ("weights", "gradients", "optimizer", "activations", "buffers")
OPTIMIZERS = {"adam": 8, "sgd": 4}  # bytes of state per parameter, beside a float32 copy where weights are shorter
GRADIENTS = {"float32": 4, "bfloat16": 2}
FLOAT32 = 4
OUTSIDE_OPS = (3, 5)  # rows of a `BlockMemory`'s peaks that no op makes: exchanged tokens, gathered units
ROWS = ("o_proj", "down_proj", "c_proj")  # split by their inputs: every rank has the whole bias
WHOLE = ("gate", "q_a_proj", "kv_a_proj_with_mqa")  # every rank of a tensor group has all of them
TOGETHER = {"up_proj": "gate_proj", "k_proj": "q_proj", "v_proj": "q_proj"}  # one product in trainers
CHOICES: Mapping[str, tuple[Any, ...]] = {
    "zero": (0, 1, 2, 3),
    "recompute": ("none", "selective", "full"),
    "sequence_parallel": (False, True),
    "attention": ("flash", "eager"),
    "optimizer": tuple(OPTIMIZERS),
    "grad_dtype": tuple(GRADIENTS),
}


@dataclass(frozen=True)
class Training:
    """How a model is trained, as far as it tells what a device holds.

    Attributes
    ----------
    data, tensor, expert : int
        Degrees n, t, e.
    zero : int
        Stage of ZeRO: from 1 optimizer state, from 2 gradients, at 3 weights are divided by n.
    recompute : str
        ``"none"``; ``"selective"``: scores and probabilities are made again; ``"full"``: all but the input of a layer.
    sequence_parallel : bool
        Whether tensor parallelism also divides what lies outside of attention and MLP.
    attention : str
        ``"flash"`` or ``"eager"``.
    optimizer, grad_dtype : str
        ``"adam"`` or ``"sgd"`` with momentum; ``"float32"`` (Megatron) or ``"bfloat16"``.
    gathered : int
        Units whose weights are gathered at a time under stage 3.
    """

    data: int = 1
    tensor: int = 1
    expert: int = 1
    zero: int = 0
    recompute: Literal["none", "selective", "full"] = "none"
    sequence_parallel: bool = True
    attention: Literal["flash", "eager"] = "flash"
    optimizer: Literal["adam", "sgd"] = "adam"
    grad_dtype: Literal["float32", "bfloat16"] = "float32"
    gathered: int = 2

    def __post_init__(self) -> None:
        for label in ("data", "tensor", "expert", "gathered"):
            object.__setattr__(self, label, count(getattr(self, label), label))
        for label, known in CHOICES.items():
            value = getattr(self, label)
            if value not in known or isinstance(value, bool) != isinstance(known[0], bool):
                raise UnsupportedError(f"{label} is {value!r:.60}; expected one of {', '.join(map(str, known))}")

    @property
    def expert_tensor(self) -> int:
        """Ranks among which the matrices of an expert are divided: t where e divides n, fewer where its ranks also share t.

        >>> Training(data=8, tensor=2, expert=4).expert_tensor, Training(tensor=4, expert=4).expert_tensor
        (2, 1)
        """
        rest, left = divmod(self.data * self.tensor, self.expert)
        return self.tensor if left else gcd(self.tensor, rest)

    @property
    def expert_copies(self) -> int:
        """Ranks that hold the same experts: n/e where e divides n.

        >>> Training(data=8, tensor=2, expert=4).expert_copies, Training(tensor=4, expert=2).expert_copies
        (2, 1)
        """
        return max(self.data * self.tensor // (self.expert * self.expert_tensor), 1)


class BlockMemory(NamedTuple):
    """Bytes per block: embedding, layers, final norm and head.

    Attributes
    ----------
    kept : dict of ndarray, shape (n_blocks,)
        Category → bytes that stay.
    activations : ndarray, shape (n_blocks,)
        Bytes of a micro-batch between its forward and its backward pass.
    peaks : ndarray, shape (n_peaks, n_blocks)
        Buffers: of each row a device holds that of its largest block.
    twice : dict
        Category → bytes of a table that embedding and head share; counted at both, but held once where one device has both.
    of_experts : dict of ndarray, shape (n_blocks,), or None
        Category → those of the bytes that stay which are of experts, in training.
    """

    kept: dict[str, np.ndarray]
    activations: np.ndarray
    peaks: np.ndarray
    twice: dict[str, float]
    of_experts: dict[str, np.ndarray] | None = None

    @property
    def n_blocks(self) -> int:
        """Blocks, embedding and head included."""
        return len(self.activations)

    def by_category(self, first: int, last: int, in_flight: float = 1.0) -> dict[str, float]:
        """Category → bytes of the blocks from `first` up to `last`, which is not of them."""
        return self.of_device([(first, last)], in_flight * float(self.activations[first:last].sum()))

    def of_device(self, ranges: Sequence[tuple[int, int]], activations: float) -> dict[str, float]:
        """Category → bytes of a device that has several ranges, each a first block and an end, and keeps such activations."""
        own = np.zeros(self.n_blocks, bool)
        for first, last in ranges:
            own[first:last] = True
        both = own[0] and own[-1]
        found = {
            name: float(column[own].sum()) - both * self.twice.get(name, 0.0) for name, column in self.kept.items()
        }
        buffers = float(self.peaks[:, own].max(axis=1, initial=0.0).sum())
        return found | {"activations": activations, "buffers": buffers}

    def of_ranges(self, first: slice, in_flight: float) -> np.ndarray:
        """Bytes of each range whose first block is in `first`, shape (first blocks, n_blocks + 1); columns are ends.

        A range that ends before it begins has no meaning here. O(first blocks × n_blocks).
        """
        n = self.n_blocks
        each = sum(self.kept.values(), np.zeros(n)) + in_flight * self.activations
        summed = np.concatenate([[0.0], np.cumsum(each)])
        starts = np.arange(n + 1)[first]
        total = summed[None, :] - summed[starts, None]
        inside = np.arange(n)[None, :] >= starts[:, None]
        for row in self.peaks[self.peaks.any(axis=1)]:
            total[:, 1:] += np.maximum.accumulate(np.where(inside, row, 0.0), axis=1)
        total[starts == 0, n] -= sum(self.twice.values())
        return total


def training_bytes(model: Transformer, how: Training, batch: int, sequence: int) -> BlockMemory:
    r"""Bytes of each block in training.

    Parameters
    ----------
    batch, sequence
        Sequences of a micro-batch, and tokens of each; T of them in all.

    Notes
    -----
    Of Ψ parameters on a device, after division by t (experts also by e): weights 2Ψ; gradients 4Ψ or 2Ψ; Adam 12Ψ, with a copy
    in float32 and two moments, SGD with momentum 8Ψ; ZeRO divides them by n, those of experts by n/e. Where e does not divide n,
    ranks of a tensor group have different experts, whose matrices are divided by gcd(t, nt/e) only. Norms, routers, biases of
    products split by rows and DeepSeek's projections onto latents are whole on every rank of a tensor group; a rank has one KV
    head at least. Types of 4 bytes have no copy. Buffers: :math:`2 \max matrix / t`, one gradient before it is added (gate with
    up, q with k and v; tables have none); :math:`6fT/t`, the MLP's own gradients; :math:`6TV/t`, logits; all-to-all, where
    e > 1, 4TKh; with stage 3 the gathered units and one whole gradient; with ``recompute="full"`` the layer that runs again.

    References
    ----------
    Korthikanti et al. (2022); Rajbhandari et al. (2020), ZeRO; Narayanan et al. (2021).
    """
    shape = model.shape
    width = model.element_bytes
    tokens = batch * sequence
    kinds = {sparse: _layer(shape, sparse, how, width, tokens, sequence) for sparse in set(shape.sparse)}
    table = shape.vocabulary * shape.hidden / how.tensor
    norm = shape.hidden * (2 if shape.gpt else 1)
    first = _Block(table + shape.positions * shape.hidden)
    last = _Block(table + norm, logits=(FLOAT32 + width) * tokens * shape.vocabulary / how.tensor)
    blocks = [first, *(kinds[sparse] for sparse in shape.sparse), last]
    own, matrix, experts, mlp, logits, sent, again, saved = np.array(blocks, float).T
    whole = own + experts
    shares = how.data, how.expert_copies
    copy = FLOAT32 if width < FLOAT32 else 0
    sizes = {"weights": width, "gradients": GRADIENTS[how.grad_dtype], "optimizer": OPTIMIZERS[how.optimizer] + copy}
    divided = {"weights": how.zero == 3, "gradients": how.zero >= 2, "optimizer": how.zero >= 1}
    kept = {
        name: size * (own / shares[0] + experts / shares[1] if divided[name] else whole) for name, size in sizes.items()
    }
    units = (width * how.gathered + sizes["gradients"]) * whole * (how.zero == 3)
    twice = {name: size * table / (how.data if divided[name] else 1) * shape.tied for name, size in sizes.items()}
    of_experts = {name: size * experts / (shares[1] if divided[name] else 1) for name, size in sizes.items()}
    return BlockMemory(kept, saved, np.array([width * matrix, mlp, logits, sent, again, units]), twice, of_experts)


def inference_bytes(
    model: Transformer, working: np.ndarray, *, batch: int, tokens: int, sequences_in_flight: int = 1
) -> BlockMemory:
    """Bytes of each block while a model answers: weights, KV cache of `tokens` per sequence, working set of the widest op.

    Parameters
    ----------
    working
        Bytes of the inputs and outputs of each block's widest op, shape (n_blocks,).
    sequences_in_flight
        Batches whose caches are there at once.
    """
    shape = model.shape
    width = model.element_bytes
    parameters = {sparse: sum(_parameters(shape, sparse, Training())) for sparse in set(shape.sparse)}
    table = shape.vocabulary * shape.hidden
    norm = shape.hidden * (2 if shape.gpt else 1)
    sizes = [table + shape.positions * shape.hidden, *(parameters[sparse] for sparse in shape.sparse), table + norm]
    by_window = {window: model.layer_kv_bytes(shape.windows.index(window), tokens) for window in set(shape.windows)}
    cache = [0, *(by_window[window] for window in shape.windows), 0]
    held = float(batch * sequences_in_flight)
    kept = {"weights": width * np.array(sizes, float), "cache": held * np.array(cache, float)}
    twice = {"weights": float(width * table * shape.tied)}
    return BlockMemory(kept, np.zeros(len(sizes)), working[None, :], twice)


class _Block(NamedTuple):
    """Parameters without and of experts, elements of the largest matrix, bytes of buffers, and what is saved."""

    own: float
    matrix: float = 0.0
    experts: float = 0.0
    mlp: float = 0.0
    logits: float = 0.0
    sent: float = 0.0
    again: float = 0.0
    saved: float = 0.0


def _layer(shape: Shape, sparse: bool, how: Training, width: int, tokens: int, sequence: int) -> _Block:
    own, experts = _parameters(shape, sparse, how)
    t = how.tensor
    matrices = [*attention_matrices(shape), *mlp_matrices(shape, sparse)]
    widths = shape.chosen * shape.expert_width + shape.shared_width if sparse else shape.width
    outer, inner = _saved(shape, sparse, how, width, sequence)
    full = how.recompute == "full"
    kept = (width * shape.hidden / (t if how.sequence_parallel else 1)) if full else outer + inner
    return _Block(
        own,
        _largest(matrices, shape, how),
        experts,
        mlp=(2 if shape.gpt else 3) * width * widths * tokens / t,
        sent=2 * width * tokens * shape.chosen * shape.hidden * (sparse and how.expert > 1),
        again=tokens * (outer + inner) if full else 0.0,
        saved=tokens * kept,
    )


def _largest(matrices: Sequence[Matrix], shape: Shape, how: Training) -> float:
    """Elements of the largest product's weights on one device; gate with up, and q with k and v, are one product."""
    sizes: dict[str, float] = {}
    for m in matrices:
        module, _, name = m.module.rpartition(".")
        key = f"{module}.{TOGETHER.get(name, name)}"
        sizes[key] = sizes.get(key, 0.0) + m.inputs * m.outputs / _share(m, shape, how)
    return max(sizes.values())


def _saved(shape: Shape, sparse: bool, how: Training, width: int, sequence: int) -> tuple[float, float]:
    """Bytes that a token leaves outside and inside of what tensor parallelism divides."""
    keys = float(sequence)
    t = how.tensor
    inner = inner_bytes(shape, sparse, width, how.attention, keys)
    if how.recompute == "selective" and how.attention == "eager":
        inner -= score_bytes(shape, width, how.attention, keys)
    return outer_bytes(shape, width) / (t if how.sequence_parallel else 1), inner / t


def _parameters(shape: Shape, sparse: bool, how: Training) -> tuple[float, float]:
    """Parameters of a layer on one device, without its routed experts, and those of the experts."""
    own = float(sum(norms(shape).values()))
    experts = 0.0
    for m in [*attention_matrices(shape), *mlp_matrices(shape, sparse)]:
        share = _share(m, shape, how)
        if m.copies > 1:
            experts += m.parameters / how.expert / share
        else:
            own += m.inputs * m.outputs / share + m.bias / (1 if m.module.endswith(ROWS) else share)
    return own, experts


def _share(matrix: Matrix, shape: Shape, how: Training) -> int:
    """Ranks of a tensor group among which a matrix is divided."""
    name = matrix.module.rpartition(".")[2]
    t = how.tensor
    if matrix.copies > 1:
        return how.expert_tensor
    if name in WHOLE:
        return 1
    return min(t, shape.kv_heads) if name in ("k_proj", "v_proj") else t

"""Divide the ops of a transformer among the ranks of a tensor group, with the collectives between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Literal

import numpy as np

from placelab.base.errors import UnsupportedError, count, expect
from placelab.base.files import MAX_OPS
from placelab.graphs.transforms.rank_ops import BACKWARD, UPDATE, WEIGHTS, RankOps, forward_names
from placelab.problem.graph import OpGraph

ROLES = ("column", "row", "heads", "vocabulary", "copy")
WHOLE = "whole"  # run whole on every rank, on all tokens, as the next
SUM = "sum"  # whose output is summed like a row's
BY_MODULE = {
    "column": "q_proj k_proj v_proj c_attn q_b_proj kv_b_proj gate_proj up_proj c_fc",
    "row": "o_proj down_proj c_proj",
    "heads": "apply_rotary_pos_emb q_norm k_norm attention scores softmax attn_dropout context act_fn act loss",
    "vocabulary": "embed_tokens wte lm_head",
    WHOLE: "gate topk dispatch input_ids",
    SUM: "combine",
}
OF_MODULE = {module: role for role, modules in BY_MODULE.items() for module in modules.split()}
KEYS = ("k_proj", "v_proj", "k_norm")  # as many as there are KV heads
DIVIDED = ("column", "row", "heads", "vocabulary")
PADDED = 128  # entries of a vocabulary per rank are a multiple of it


def tensor_parallel(
    graph: OpGraph,
    t: int,
    *,
    sequence_parallel: bool = True,
    overlap: bool = True,
    algorithm: Literal["ring", "tree", "halving", "hierarchical"] = "ring",
    roles: Mapping[str, str] | None = None,
) -> OpGraph:
    """The graph of a tensor group: each op on every rank, divided by its role, and the collectives between ranks.

    *Column*: weights, operations and output are divided. *Row*: so are weights and operations; the output is a partial sum.
    *Heads*: operations and output are divided; so are element-wise ops between a column and a row. *Vocabulary*: the table of an
    embedding or a head, padded to a multiple of 128t; of an embedding the output is a partial sum. *Copy*: on every rank.

    Without sequence parallelism an all-reduce sums the output of each row op, and in the backward pass the gradients of each
    tensor that column ops read. With it, copies run on 1/t of the tokens: the output of a row op is reduce-scattered, the input
    of column ops all-gathered; in the backward pass the gradient of a row's output is all-gathered, the gradient of a column's
    input reduce-scattered, and that input gathered again for the gradient of the weights.

    Parameters
    ----------
    graph
        Of :meth:`placelab.models.Transformer.graph`, or any whose backward ops are called ``op.backward``, gradients of weights
        ``op.weight_gradient`` and updates ``op.update``.
    t
        Ranks, devices ``worker:w`` with ``worker:w/stream``: :func:`placelab.clusters.data_parallel`.
    sequence_parallel
        Whether copies are divided by tokens.
    overlap
        True: the collective of a column op's input gradients runs beside the gradients of its weights; False: after them.
    algorithm
        Of the collectives: :func:`placelab.generators.collective`.
    roles
        Globs of op names → role, the first that matches; then the last part of the module path of Hugging Face decides, else
        ``"copy"``.

    Returns
    -------
    OpGraph
        ``w{w}/op`` on ``worker:w``, in program order; on streams, ``op/reduce/…@w`` after row ops, ``op/gather/…`` of an output
        that column ops read, ``op/again/…`` of the same in the backward pass, ``op.backward/reduce/…`` of its gradient,
        ``op.backward/gather/…`` of a gradient of a row's output, one collective after the other.

    Raises
    ------
    UnsupportedError
        t does not divide the heads of the model, or t and its KV heads do not divide; a role that does not exist.
    FormatError
        t below 1.

    Notes
    -----
    Where t is more than the KV heads, each is on several ranks. Routers and what chooses experts run whole on every rank; experts
    are divided like an MLP, and their sum over ranks is taken after they are combined. Left out: buffers of gathered inputs and
    of partial sums (a partial sum counts as what is left of it), the sum over ranks in the loss. The bias of a row op
    is divided with its weights. O(t² · collectives + t · edges).

    References
    ----------
    Shoeybi et al. (2019), Megatron-LM; Korthikanti et al. (2022).

    Examples
    --------
    >>> import placelab as pl
    >>> names, edges = ["up_proj", "act_fn", "down_proj", "add"], [(0, 1), (1, 2), (2, 3)]
    >>> layer = pl.OpGraph.from_arrays(names, [4.0, 0.0, 4.0, 1.0], edges, edge_bytes=8.0)
    >>> made = tensor_parallel(layer, 2)
    >>> made.n_ops, float(made.compute[made.index("w1/up_proj")]), float(made.compute[made.index("w1/add")])
    (12, 2.0, 0.5)
    """
    expect(graph, OpGraph, "tensor_parallel")
    division = _Division(graph, count(t, "t", most=MAX_OPS), bool(sequence_parallel), bool(overlap), roles or {})
    ops = RankOps(graph, division.t, algorithm)
    order = division.order()
    number = ops.copy(order.tolist())
    place = np.empty(graph.n_ops, dtype=np.int64)
    place[order] = np.arange(graph.n_ops)
    for each in sorted(division.collectives(place), key=lambda c: max(place[c.after].tolist(), default=-1)):
        last = ops.collective(each.label, each.kind, each.size, list(number[each.after]))
        ops.then(last, number[min(each.readers, key=place.__getitem__)])
    title = f"{graph.title}, {division.t} tensor ranks"
    return ops.graph(division.share, division.held, division.tensor, {**_kept(graph), "name": title})


def _kept(graph: OpGraph) -> dict[str, Any]:
    return {key: value for key, value in graph.metadata.items() if key not in ("forward", "parameters", "cluster")}


@dataclass
class _Collective:
    """`size` bytes between ranks once the ops `after` are over, before the first of the ops `readers`."""

    label: str
    kind: str
    size: float
    after: list[int]
    readers: list[int]


class _Division:
    """The role of each op, factors of its costs, and the collectives."""

    def __init__(
        self, graph: OpGraph, t: int, sequence_parallel: bool, overlap: bool, roles: Mapping[str, str]
    ) -> None:
        self.graph = graph
        self.t = t
        self.scattered = sequence_parallel
        self.overlap = overlap
        sizes = graph.metadata.get("model", {})
        self.kv = min(t, int(sizes.get("kv_heads", t)))
        self.padded = _padded(int(sizes.get("vocabulary", 0)), t)
        _check(sizes, t, roles)
        self.names = graph.names.tolist()
        self.of = forward_names(graph)
        self.number = {name: v for v, name in enumerate(self.names)}
        self.role = [_role(forward, roles) for forward, _ in self.of]
        self.forward = np.array([not suffix for _, suffix in self.of])
        self.readers = self._readers()
        self.summed = np.array([self._is_summed(v) for v in range(graph.n_ops)], bool)
        self._shares()

    def _readers(self) -> dict[int, list[int]]:
        """Tensor of a forward op → the forward ops that read it."""
        found: dict[int, list[int]] = {}
        for u, v, k in zip(self.graph.producer, self.graph.consumer, self.graph.edge_tensor, strict=True):
            if self.forward[u] and self.forward[v] and not self.graph.tensor_control[k]:
                found.setdefault(int(k), []).append(int(v))
        return found

    def _is_summed(self, v: int) -> bool:
        """Whether ranks have partial sums of the output of a forward op, which are summed before it is read."""
        if not self.forward[v] or not self._partial(v):
            return False
        tensors = range(*self.graph.op_tensor_ptr[v : v + 2])
        readers = [r for k in tensors for r in self.readers.get(k, [])]
        return not readers or any(self.role[r] not in ("row", SUM) for r in readers)

    def _partial(self, v: int) -> bool:
        return self.role[v] in ("row", SUM) or (self.role[v] == "vocabulary" and "embedding" in str(self.graph.kind[v]))

    def _shares(self) -> None:
        """Factors of the costs of ops, of their persistent bytes, and of the bytes of tensors."""
        graph = self.graph
        each = 1 / self.t
        outer = each if self.scattered else 1.0
        cost = {**dict.fromkeys(DIVIDED, each), "copy": outer, WHOLE: 1.0, SUM: 1.0}
        self.share = np.ones(graph.n_ops)
        self.held = np.ones(graph.n_ops)
        out = np.ones(graph.n_ops)
        for v, (name, _) in enumerate(self.of):
            role = self.role[v]
            module = name.rpartition(".")[2]
            key = 1 / self.kv if module in KEYS else each
            padded = self.padded if role == "vocabulary" or module == "loss" else 1.0
            looked_up = role == "vocabulary" and self._partial(v)
            self.share[v] = 1.0 if looked_up else (key if role in DIVIDED else cost[role]) * padded
            whole = role in ("copy", WHOLE, SUM) or "norm" in str(graph.kind[v])
            self.held[v] = 1.0 if whole else (1 / self.kv if role == "heads" else key) * padded
            if self._partial(v):
                out[v] = outer if self.summed[v] else 1.0
            else:
                out[v] = self.share[v]
        self.tensor = out[graph.tensor_producer]
        for k in range(graph.n_tensors):
            u = int(graph.tensor_producer[k])
            second = k - int(graph.op_tensor_ptr[u]) == 1
            if second and self.of[u] == (self.names[u], "") and self.names[u].endswith("apply_rotary_pos_emb"):
                self.tensor[k] = 1 / self.kv
        self._gradients()

    def _gradients(self) -> None:
        """A gradient has the size of its tensor on a rank; that of weights, of the weights there."""
        graph = self.graph
        made: dict[tuple[int, int], int] = {}
        for u, v, k in zip(graph.producer, graph.consumer, graph.edge_tensor, strict=True):
            if self.forward[u] and self.forward[v]:
                made.setdefault((int(u), int(v)), int(k))
        for u, v, k in zip(graph.producer, graph.consumer, graph.edge_tensor, strict=True):
            if self.forward[u]:
                continue
            reader, producer = (self.number.get(self.of[x][0], -1) for x in (u, v))
            if self.of[v][1] == UPDATE:
                self.tensor[k] = self.held[u]
            elif (producer, reader) in made:
                self.tensor[k] = self.tensor[made[producer, reader]]

    # ---------------------------------------------------------------- order and collectives

    def order(self) -> np.ndarray:
        """Program order: that of the graph, but gradients of weights after those of the inputs that are summed together."""
        place = np.arange(self.graph.n_ops, dtype=np.float64)
        for readers in self._regions().values():
            inputs = self._backward(readers, BACKWARD)
            for v in self._backward(readers, WEIGHTS):
                place[v] = max([place[v], *(i + 0.5 for i in inputs)])
        return np.argsort(place, kind="stable")

    def _regions(self) -> dict[int, list[int]]:
        """Tensors outside of the parallel region → the ops inside that read them."""
        found = {}
        for k, readers in self.readers.items():
            u = int(self.graph.tensor_producer[k])
            if self.role[u] == "copy" or self.summed[u]:
                inside = [v for v in readers if self.role[v] in (*DIVIDED, WHOLE) and not self._partial(v)]
                if inside:
                    found[k] = inside
        return found

    def _backward(self, ops: list[int], *suffixes: str) -> list[int]:
        """Numbers of the backward ops of forward ops, those that there are."""
        names = [self.names[v] + suffix for v in dict.fromkeys(ops) for suffix in suffixes]
        return [self.number[name] for name in names if name in self.number]

    def collectives(self, place: np.ndarray) -> list[_Collective]:
        """All collectives; `place` is the position of each op in program order."""
        found = []
        t = self.scattered
        regions = self._regions()
        for v in np.flatnonzero(self.summed).tolist():
            found += self._of_sum(v, "reduce-scatter" if t else "all-reduce")
        for k, inside in regions.items():
            u = int(self.graph.tensor_producer[k])
            size = float(self.graph.tensor_bytes[k])
            name = self._label(k)
            inputs = self._backward(inside, BACKWARD)
            weights = self._backward(inside, WEIGHTS)
            if t:
                found.append(_Collective(f"{name}/gather", "all-gather", size, [u], inside))
                if weights and inputs:
                    first = min(inputs, key=place.__getitem__)
                    before = np.flatnonzero(place == place[first] - 1).tolist()
                    found.append(_Collective(f"{name}/again", "all-gather", size, before, weights))
            if inputs and (producers := self._backward([u], BACKWARD, WEIGHTS)):
                after = inputs if self.overlap else inputs + weights
                kind = "reduce-scatter" if t else "all-reduce"
                found.append(_Collective(f"{name}.backward/reduce", kind, size, after, producers))
        return found

    def _of_sum(self, v: int, kind: str) -> list[_Collective]:
        """The sum of a partial output, and in the backward pass the gathering of its gradient."""
        k = int(self.graph.op_tensor_ptr[v])
        size = float(self.graph.tensor_bytes[k]) if self.graph.op_tensor_ptr[v + 1] > k else 0.0
        found = []
        if readers := self.readers.get(k, []):
            found.append(_Collective(f"{self.names[v]}/reduce", kind, size, [v], readers))
        back = self._backward([v], BACKWARD, WEIGHTS)
        given = [int(u) for b in back for u in self.graph.predecessors_of(b) if not self.forward[u]]
        given = [u for u in dict.fromkeys(given) if u not in back]
        if self.scattered and given:
            found.append(_Collective(f"{self.names[v]}.backward/gather", "all-gather", size, given, back))
        return found

    def _label(self, k: int) -> str:
        u = int(self.graph.tensor_producer[k])
        output = k - int(self.graph.op_tensor_ptr[u])
        return f"{self.names[u]}:{output}" if output else self.names[u]


def _check(sizes: Mapping[str, Any], t: int, roles: Mapping[str, str]) -> None:
    expect(roles, Mapping, "roles")
    for pattern, role in roles.items():
        if not isinstance(pattern, str) or role not in ROLES:
            raise UnsupportedError(f"role of {pattern!r:.60} is {role!r:.60}; expected one of {', '.join(ROLES)}")
    a = sizes.get("heads")
    k = sizes.get("kv_heads")
    if a and a % t:
        raise UnsupportedError(f"t is {t}, which does not divide {a} heads")
    if k and k % t and t % k:
        raise UnsupportedError(f"t is {t}, and neither it nor {k} KV heads divides the other")


def _role(name: str, roles: Mapping[str, str]) -> str:
    for pattern, role in roles.items():
        if fnmatchcase(name, pattern):
            return role
    return OF_MODULE.get(name.removesuffix(".unchosen").rpartition(".")[2], "copy")


def _padded(vocabulary: int, t: int) -> float:
    """Entries of the padded vocabulary over those of the vocabulary."""
    return -(-vocabulary // (PADDED * t)) * PADDED * t / vocabulary if vocabulary and t > 1 else 1.0

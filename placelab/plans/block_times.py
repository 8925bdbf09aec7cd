"""Seconds of each block of a transformer on each device by the roofline of its ops, whole or divided among ranks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from placelab.costs.roofline import DEFAULT, estimate
from placelab.models import Transformer
from placelab.plans.degrees import Plan
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.hardware import SPECS
from placelab.problem.problem import Problem

BACKWARD = (".backward", ".weight_gradient")
UPDATE = ".update"
ATTENTION = ("attn", "input_layernorm", "ln_1", "add_attention")  # of a layer, its first half
EXPERTS = "aten.bmm"  # only products of experts have several matrices at once
OUTSIDE = ("norm", "ln_1", "ln_2", "add_attention", "add_mlp", "dropout")  # of a layer, outside of the parallel region


class Pass(NamedTuple):
    """A pass of the model: its phase, sequences, tokens of each, and tokens in the cache before."""

    phase: str
    batch: int
    sequence: int
    context: int

    @property
    def tokens(self) -> int:
        """New tokens of all sequences."""
        return self.batch * self.new

    @property
    def new(self) -> int:
        """New tokens of a sequence."""
        return 1 if self.phase == "decode" else self.sequence


class BlockTimes(NamedTuple):
    """Seconds of the blocks on each device, forward and backward, and the bytes of their widest ops.

    Attributes
    ----------
    forward, backward : ndarray, shape (n_devices, n_blocks)
        Seconds of a micro-batch.
    working : ndarray, shape (n_blocks,)
        Inputs and outputs of the widest op, bytes.
    """

    forward: np.ndarray
    backward: np.ndarray
    working: np.ndarray


def estimated(model: Transformer, cluster: Cluster, run: Pass) -> OpGraph:
    """The graph of a pass with the seconds of the cluster's types; starts of ops are not counted, they run ahead."""
    graph = model.graph(run.phase, batch=run.batch, sequence=run.sequence, context=run.context)  # type: ignore[arg-type]
    known = [kind for kind in dict.fromkeys(cluster.types) if kind in SPECS]
    return estimate(graph, list(dict.fromkeys([*DEFAULT, *known])), overhead=0.0)


def block_times(model: Transformer, cluster: Cluster, run: Pass) -> BlockTimes:
    """Seconds of each block: of a graph with one layer of each kind, since equal layers take equal times.

    Notes
    -----
    Updates are not counted: they run once per step. O(ops of a layer · kinds of layers · devices).
    """
    shape = model.shape
    layers = list(zip(shape.sparse, shape.windows, strict=True))
    kinds = list(dict.fromkeys(layers))
    few = replace(shape, sparse=tuple(k[0] for k in kinds), windows=tuple(k[1] for k in kinds))
    graph = estimated(replace(model, shape=few), cluster, run)
    block = blocks_of(graph, len(kinds))
    seconds = Problem(graph, cluster, memory="none").exec_table()
    names = graph.names.tolist()
    counted = np.array([not name.endswith(UPDATE) for name in names])
    back = np.array([name.endswith(BACKWARD) for name in names])
    blocks = np.array([0, *(1 + kinds.index(k) for k in layers), len(kinds) + 1])
    forward, backward = (_summed(seconds, block, ops & counted, len(kinds) + 2)[:, blocks] for ops in (~back, back))
    working = np.zeros(len(kinds) + 2)
    np.maximum.at(working, block, graph.outputs + read_bytes(graph))
    return BlockTimes(forward, backward, working[blocks])


def blocks_of(graph: OpGraph, layers: int) -> np.ndarray:
    """The block of each op of a graph of :meth:`placelab.models.Transformer.graph`, shape (n_ops,)."""
    return np.array([block_of(name, layers) for name in graph.names.tolist()])


def block_of(name: str, layers: int) -> int:
    """The block of an op by its module path."""
    path = name.split(".")
    if len(path) > 2 and path[1] in ("layers", "h"):
        return int(path[2]) + 1
    head = path[0] in ("lm_head", "loss") or (len(path) > 1 and path[1] in ("norm", "ln_f"))
    return layers + 1 if head else 0


def _summed(seconds: np.ndarray, block: np.ndarray, ops: np.ndarray, n: int) -> np.ndarray:
    """Seconds of some ops by device and block."""
    return np.stack([np.bincount(block[ops], column[ops], minlength=n) for column in seconds.T])


def read_bytes(graph: OpGraph) -> np.ndarray:
    """Bytes of the inputs of each op, a tensor that it reads twice once; shape (n_ops,)."""
    first = np.ones(graph.n_edges, dtype=bool)
    first[1:] = (np.diff(graph.edge_tensor) != 0) | (np.diff(graph.consumer) != 0)
    return np.bincount(graph.consumer, graph.edge_bytes * first, minlength=graph.n_ops)


class _Ops(NamedTuple):
    """Ops of a graph with one layer of each kind: seconds on each device, block, phase, and what they belong to."""

    seconds: np.ndarray  # (n_ops, n_devices)
    block: np.ndarray
    phase: np.ndarray
    outside: np.ndarray  # of what tensor parallelism divides
    core: np.ndarray  # of attention, without weights
    first: np.ndarray  # in the half of a layer before its MLP
    place_of: np.ndarray  # block of the graph that each block of the model is like


class DividedBlocks:
    """Blocks of micro-batches of one model and length on a cluster; each kind of plan is computed once.

    Notes
    -----
    Of an even routing all ranks that share experts compute as much as without sharing, each with the tokens of all; it is the
    weights that they read and the gradients that they write which become fewer.
    """

    def __init__(self, model: Transformer, cluster: Cluster, sequence: int, precision: str, efficiency: float) -> None:
        self.model = model
        self.cluster = cluster
        self.sequence = sequence
        self.precision = precision
        self.efficiency = efficiency
        self.found: dict[Any, Any] = {}

    def of(self, plan: Plan) -> dict[str, np.ndarray]:
        """Phase → seconds of each block of a micro-batch, shape (n_devices, n_blocks), divided by tp, weights of experts by ep.

        Phases: ``"F"``, ``"B"``, ``"W"``; ``"core"``, what selective recomputation makes again; ``"half"``, the share of a
        layer's forward seconds before its MLP.
        """
        how = "eager" if plan.recompute == "selective" else "flash"
        held = self._held(plan)
        key = plan.microbatch, plan.tp, plan.sequence_parallel, how, held
        return self._once(key, lambda: self._divided(plan, how, held))

    def _held(self, plan: Plan) -> float:
        """Bytes of experts that a rank reads, as a share of what it would read if all tp ranks together had one copy of all.

        Tokens of the ranks that share experts have chosen them: few tokens do not choose all, but more than those of one rank.
        """
        # micro-batches whose tokens meet, and copies that they share
        apart = plan.ep * plan.training().expert_tensor / plan.tp
        experts = self.model.shape.experts
        routed = plan.microbatch * self.sequence * self.model.shape.chosen
        return min(routed * apart, experts) / min(routed, experts) / apart if experts else 1.0

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self.found:
            self.found[key] = make()
        return self.found[key]

    def _divided(self, plan: Plan, how: str, held: float) -> dict[str, np.ndarray]:
        ops: _Ops = self._once((plan.microbatch, how, held), lambda: self._ops(plan.microbatch, how, held))
        seconds = ops.seconds / np.where(ops.outside & (not plan.sequence_parallel), 1, plan.tp)[:, None]
        n = int(ops.place_of[-1]) + 1

        def summed(chosen: np.ndarray) -> np.ndarray:
            rows = [np.bincount(ops.block[chosen], column[chosen], minlength=n) for column in seconds.T]
            return np.stack(rows)[:, ops.place_of]

        forward = ops.phase == "F"
        found = {c: summed(ops.phase == c) for c in "FBW"} | {"core": summed(forward & ops.core)}
        with np.errstate(invalid="ignore"):
            return found | {"half": summed(forward & ops.first) / found["F"]}

    def _graph(self, microbatch: int, how: Any, kinds: list[tuple[bool, int | None]]) -> OpGraph:
        few = replace(self.model.shape, sparse=tuple(k[0] for k in kinds), windows=tuple(k[1] for k in kinds))
        return replace(self.model, shape=few).graph("train", batch=microbatch, sequence=self.sequence, attention=how)

    def _ops(self, microbatch: int, how: Any, held: float) -> _Ops:
        shape = self.model.shape
        each = list(zip(shape.sparse, shape.windows, strict=True))
        kinds = list(dict.fromkeys(each))
        whole = self._once(("graph", microbatch, how), lambda: self._graph(microbatch, how, kinds))
        graph = with_experts(whole, held)
        types = list(dict.fromkeys([*DEFAULT, *self.cluster.types]))
        graph = estimate(graph, types, precision=self.precision, overhead=0.0, efficiency=self.efficiency)
        names = graph.names.tolist()
        phase = np.array(
            ["W" if n.endswith(".weight_gradient") else "B" if n.endswith(".backward") else "F" for n in names]
        )
        phase[[n.endswith(UPDATE) for n in names]] = "U"
        return _Ops(
            Problem(graph, self.cluster, memory="none").exec_table(),
            blocks_of(graph, len(kinds)),
            phase,
            np.array([any(word in name.rpartition(".layers.")[2] for word in OUTSIDE) for name in names]),
            np.array([".self_attn." in n or ".attn." in n for n in names]) & (graph.persistent == 0),
            np.array([any(word in name for word in ATTENTION) for name in names]),
            np.array([0, *(1 + kinds.index(k) for k in each), len(kinds) + 1]),
        )


def with_experts(graph: OpGraph, share: float) -> OpGraph:
    """A graph of :meth:`placelab.models.Transformer.graph` whose products of experts read and train a share of their weights."""
    product = graph.kind == EXPERTS
    trains = np.array([name.endswith(".weight_gradient") for name in graph.names.tolist()]) & product
    return graph.replace(
        persistent=np.where(product, graph.persistent * share, graph.persistent),
        tensor_bytes=np.where(trains[graph.tensor_producer], graph.tensor_bytes * share, graph.tensor_bytes),
    )

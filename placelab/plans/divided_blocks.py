"""Seconds of the blocks of a transformer in training, divided among the ranks of tensor groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from placelab.costs.roofline import DEFAULT, estimate
from placelab.models import Transformer
from placelab.plans.block_times import UPDATE, blocks_of
from placelab.plans.degrees import Plan
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem

ATTENTION = ("attn", "input_layernorm", "ln_1", "add_attention")  # of a layer, its first half
EXPERTS = "aten.bmm"  # only products of experts have several matrices at once
OUTSIDE = ("norm", "ln_1", "ln_2", "add_attention", "add_mlp", "dropout")  # of a layer, outside of the parallel region


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

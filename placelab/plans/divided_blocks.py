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
from placelab.problem.problem import Problem

ATTENTION = ("attn", "input_layernorm", "ln_1", "add_attention")  # of a layer, its first half
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
    """Blocks of micro-batches of one model and length on a cluster; each kind of plan is computed once."""

    def __init__(self, model: Transformer, cluster: Cluster, sequence: int, precision: str, efficiency: float) -> None:
        self.model, self.cluster, self.sequence = model, cluster, sequence
        self.precision, self.efficiency = precision, efficiency
        self.found: dict[Any, Any] = {}

    def of(self, plan: Plan) -> dict[str, np.ndarray]:
        """Phase → seconds of each block of a micro-batch, shape (n_devices, n_blocks), divided by tp.

        Phases: ``"F"``, ``"B"``, ``"W"``; ``"core"``, what selective recomputation makes again; ``"half"``, the share of a
        layer's forward seconds before its MLP.
        """
        how = "eager" if plan.recompute == "selective" else "flash"
        key = plan.microbatch, plan.tp, plan.sequence_parallel, how
        return self._once(key, lambda: self._divided(plan, how))

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self.found:
            self.found[key] = make()
        return self.found[key]

    def _divided(self, plan: Plan, how: str) -> dict[str, np.ndarray]:
        ops: _Ops = self._once((plan.microbatch, how), lambda: self._ops(plan.microbatch, how))
        seconds = ops.seconds / np.where(ops.outside & (not plan.sequence_parallel), 1, plan.tp)[:, None]
        n = int(ops.place_of[-1]) + 1

        def summed(chosen: np.ndarray) -> np.ndarray:
            rows = [np.bincount(ops.block[chosen], column[chosen], minlength=n) for column in seconds.T]
            return np.stack(rows)[:, ops.place_of]

        forward = ops.phase == "F"
        found = {c: summed(ops.phase == c) for c in "FBW"} | {"core": summed(forward & ops.core)}
        with np.errstate(invalid="ignore"):
            return found | {"half": summed(forward & ops.first) / found["F"]}

    def _ops(self, microbatch: int, how: Any) -> _Ops:
        shape = self.model.shape
        each = list(zip(shape.sparse, shape.windows, strict=True))
        kinds = list(dict.fromkeys(each))
        few = replace(shape, sparse=tuple(k[0] for k in kinds), windows=tuple(k[1] for k in kinds))
        graph = replace(self.model, shape=few).graph("train", batch=microbatch, sequence=self.sequence, attention=how)
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

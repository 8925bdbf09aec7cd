"""Bytes of a plan's ranks by simulation: the ops of all passes in a rank's order, each tensor held until its last reader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.graphs.transforms.tensor_parallelism import tensor_parallel
from placelab.models import Transformer
from placelab.plans.block_times import UPDATE, block_of
from placelab.plans.degrees import Plan
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import required
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate

MOST_OPS = 1_000_000  # of a rank, some seconds of work
AGAIN = {"none": (), "selective": ("scores", "softmax", "attn_dropout"), "full": None}  # modules; None: a whole layer
Tensor = tuple[int, int]  # number of an op, and of its output
Pass = tuple[int, int, int]  # micro-batch, stage, replica


class _Ops(NamedTuple):
    """Ops of a training graph on one rank of a tensor group."""

    block: np.ndarray
    phase: list[str]  # "F", "B", "W"
    inputs: list[list[Tensor]]
    size: dict[Tensor, float]
    outputs: list[list[Tensor]]  # that are read
    added: list[list[Tensor]]  # of these, gradients of weights, which are added to others
    again: list[bool]  # whether the forward op runs again before the backward pass of its layer


def simulated_peaks(model: Transformer, plan: Plan, sequence: int, one: Schedule, ends: np.ndarray) -> np.ndarray:
    """The most bytes that the tensors of passes take on each rank of a pipeline, shape (ranks,).

    Parameters
    ----------
    one
        The pipeline's schedule, whose order the ranks have.
    ends
        First block of each stage, and the number of blocks.

    Raises
    ------
    FormatError
        More than a million ops on a rank.

    Notes
    -----
    Tensors are those of :func:`placelab.transforms.tensor_parallel`; what comes from another stage is held from the pass that
    reads it on. A gradient of weights is held until it is added to the others. Of passes that run together the forward one
    comes first. O(ops of all passes).
    """
    ops = _ops(model, plan, sequence)
    return np.array([_Rank(ops, ends).run(list(_passes(one, rank))) for rank in range(plan.pp)])


def _ops(model: Transformer, plan: Plan, sequence: int) -> _Ops:
    """The ops of a micro-batch on the first rank of a tensor group."""
    how = "eager" if plan.recompute == "selective" else "flash"
    graph = model.graph("train", batch=plan.microbatch, sequence=sequence, attention=how)  # type: ignore[arg-type]
    if plan.tp > 1:
        graph = tensor_parallel(graph, plan.tp, sequence_parallel=plan.sequence_parallel)
    prefix = "w0/" if plan.tp > 1 else ""
    found = graph.names.tolist()
    own = [v for v, n in enumerate(found) if n.startswith(prefix) and not n.endswith((UPDATE, ".unchosen"))]
    number = {v: k for k, v in enumerate(own)}
    names = [found[v].removeprefix(prefix) for v in own]
    inputs: list[list[Tensor]] = [[] for _ in own]
    outputs, added = ([dict[Tensor, None]() for _ in own] for _ in range(2))
    size: dict[Tensor, float] = {}
    first = graph.op_tensor_ptr.tolist()
    for u, v, k in zip(graph.producer.tolist(), graph.consumer.tolist(), graph.edge_tensor.tolist(), strict=True):
        if graph.tensor_control[k] or u not in number:
            continue
        tensor = number[u], k - first[u]
        size[tensor] = float(graph.tensor_bytes[k])
        outputs[number[u]][tensor] = None
        if v in number:
            inputs[number[v]].append(tensor)
        elif found[v].endswith(UPDATE):
            added[number[u]][tensor] = None
    block = np.array([block_of(name, model.layers) for name in names])
    phase = ["W" if n.endswith(".weight_gradient") else "B" if n.endswith(".backward") else "F" for n in names]
    modules = AGAIN[plan.recompute]
    layer = (block > 0) & (block <= model.layers)
    again = [
        bool(inside) and p == "F" and (modules is None or n.rpartition(".")[2] in modules)
        for n, p, inside in zip(names, phase, layer, strict=True)
    ]
    return _Ops(block, phase, inputs, size, [list(o) for o in outputs], [list(a) for a in added], again)


@dataclass
class _Rank:
    """The ops of a rank as they are added, in its order; tensors by pass, those that are made again apart."""

    ops: _Ops
    ends: np.ndarray
    made: int = 0
    edges: list[tuple[int, int]] = field(default_factory=list)
    output: list[int] = field(default_factory=list)
    size: dict[Tensor, float] = field(default_factory=dict)
    first: dict[tuple[Pass, Tensor], Tensor] = field(default_factory=dict)
    again: dict[tuple[Pass, Tensor], Tensor] = field(default_factory=dict)

    def run(self, passes: Sequence[tuple[Pass, str]]) -> float:
        """Peak bytes of passes in their order."""
        each = {(key[1], phase): self._chosen(key[1], phase) for key, phase in passes}
        total = sum(len(each[key[1], phase]) for key, phase in passes)
        if total > MOST_OPS:
            raise FormatError(f"the passes of a rank have {total:,} ops; memory='simulated' runs at most {MOST_OPS:,}")
        for key, phase in passes:
            self._receive(key, phase, each[key[1], phase])
            for k, how in each[key[1], phase]:
                self._add(key, k, how)
        return self._peak()

    def _chosen(self, stage: int, phase: str) -> list[tuple[int, bool]]:
        """The ops of a pass, and whether they run again: before the first backward op of their layer."""
        ops = self.ops
        found = list[tuple[int, bool]]()
        inside = np.flatnonzero((ops.block >= self.ends[stage]) & (ops.block < self.ends[stage + 1])).tolist()
        repeated: dict[int, list[int]] = {}
        for k in inside:
            if ops.again[k] and "B" in phase:
                repeated.setdefault(int(ops.block[k]), []).append(k)
        for k in inside:
            if ops.phase[k] in phase:
                found += [(j, True) for j in repeated.pop(int(ops.block[k]), ())]
                found.append((k, False))
        return found

    def _receive(self, key: Pass, phase: str, chosen: Sequence[tuple[int, bool]]) -> None:
        """What comes from another stage: the input of the forward pass, or the sum of the gradients of its output."""
        if phase == "W":
            return
        low, high = self.ends[key[1] : key[1] + 2].tolist()
        read = {t for k, how in chosen if not how for t in self.ops.inputs[k] if self.ops.phase[t[0]] == phase[0]}
        outer = [t for t in read if not low <= self.ops.block[t[0]] < high]
        if outer:
            self.size[self.made, 0] = max(self.ops.size[t] for t in outer)
            self.first |= {(key, t): (self.made, 0) for t in outer}
            self.made += 1

    def _add(self, key: Pass, k: int, how: bool) -> None:
        ops = self.ops
        op = self.made
        self.made += 1
        for t in dict.fromkeys(ops.inputs[k]):
            inside = ops.block[t[0]] == ops.block[k]  # what another layer has made is kept
            repeated = inside and ops.again[t[0]] and (how or ops.phase[k] != "F")
            self._read(op, (self.again if repeated else self.first)[key, t])
        for t in ops.outputs[k]:
            (self.again if how else self.first)[key, t] = op, t[1]
            self.size[op, t[1]] = ops.size[t]
        for t in ops.added[k]:  # to the gradients of weights, at once
            self._read(self.made, (op, t[1]))
            self.made += 1

    def _read(self, op: int, tensor: Tensor) -> None:
        self.edges.append((tensor[0], op))
        self.output.append(tensor[1])

    def _peak(self) -> float:
        """Peak of the ops, one after the other on a device."""
        carried = {(u, o) for (u, _), o in zip(self.edges, self.output, strict=True)}
        graph = OpGraph.from_arrays(
            [str(k) for k in range(self.made)],
            np.ones(self.made),
            np.array(self.edges, int).reshape(-1, 2),
            edge_bytes=[self.size[u, o] for (u, _), o in zip(self.edges, self.output, strict=True)],
            edge_output=self.output,
            outputs=[(*tensor, size) for tensor, size in self.size.items() if tensor not in carried],
        )
        number = np.array([graph.index(str(k)) for k in range(self.made)], np.int32)
        problem = Problem(graph, Cluster([1.0], memory=[np.inf], bandwidth=np.inf), memory="dynamic")
        placement = Placement(problem, np.zeros(self.made, np.int32), number, partitioner="a rank's passes")
        return float(simulate(problem, placement).peak_memory[0])


def _passes(one: Schedule, rank: int) -> Iterator[tuple[Pass, str]]:
    """Micro-batch, stage, replica and phase of the passes of a rank in their order."""
    pipeline = required(one.problem.graph, "a plan")
    for v in one.order(rank):
        key = int(pipeline.microbatch[v]), int(pipeline.stage[v]), int(pipeline.replica[v])
        phase = str(pipeline.phase[v])
        yield key, "F" if phase == "FB" else phase
        if phase == "FB":
            microbatch, stage, replica = pipeline.backward[v].tolist()
            yield (microbatch, stage, replica), "BW"

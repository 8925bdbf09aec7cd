"""Bytes of a plan's ranks: activations by the order in which they run their micro-batches, or by simulated passes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count
from placelab.base.interrupts import need
from placelab.graphs.training_steps import pipeline_training
from placelab.graphs.transforms.tensor_parallelism import tensor_parallel
from placelab.models import Transformer
from placelab.plans.block_times import UPDATE, block_of
from placelab.plans.degrees import MOST_OPS, Plan, layout_of, splits, stages_of
from placelab.plans.memory import CATEGORIES, BlockMemory, Training, training_bytes
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import required
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import find, schedulers
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate

if TYPE_CHECKING:
    import pandas as pd

AGAIN = {"none": (), "selective": ("scores", "softmax", "attn_dropout"), "full": None}  # modules; None: a whole layer
Tensor = tuple[int, int]  # number of an op, and of its output
Pass = tuple[int, int, int]  # micro-batch, stage, replica


def stage_memory(
    model: Transformer,
    how: Training,
    *,
    layers: Sequence[int],
    batch: int = 1,
    sequence: int = 4096,
    microbatches: int = 1,
    schedule: str = "1f1b",
    chunks: int = 1,
) -> pd.DataFrame:
    """Bytes of each rank of a pipeline by category.

    Parameters
    ----------
    layers
        Layers of each stage in the order of the model, chunks times ranks of them; the first also has the embedding, the last
        the head.
    batch, sequence
        Sequences of a micro-batch, and tokens of each.
    microbatches
        Micro-batches of a step.
    schedule
        Scheduler of pipelines, from whose order the activations are counted.
    chunks
        Stages of each rank.

    Returns
    -------
    DataFrame
        A row per rank: ``weights``, ``gradients``, ``optimizer``, ``activations``, ``buffers``, ``total``.

    Raises
    ------
    FormatError
        Stages that the chunks do not divide; layers that are not those of the model.
    UnsupportedError
        A scheduler that is none of pipelines, or does not fit the numbers.

    Examples
    --------
    >>> from placelab.models import read
    >>> found = stage_memory(read("llama-2-7b"), Training(), layers=[8] * 4, microbatches=8)
    >>> (found["activations"] / found["activations"].iloc[-1]).tolist()
    [4.0, 3.0, 2.0, 1.0]
    """
    chunks = count(chunks, "chunks")
    stages = [count(n, "layers of a stage", 0) for n in layers]
    if not stages or len(stages) % chunks or sum(stages) != model.layers:
        raise FormatError(
            f"layers of the stages are {list(layers)!s:.200}; expected a multiple of {chunks} stages, "
            f"{model.layers} layers in all"
        )
    memory = training_bytes(model, how, count(batch, "batch"), count(sequence, "sequence"))
    return as_frame(rank_bytes(memory, stages, microbatches, schedule, chunks))


def as_frame(rows: np.ndarray) -> pd.DataFrame:
    """A row per rank: bytes by category, and their sum."""
    need("pandas")
    import pandas as pd

    frame = pd.DataFrame(rows, columns=list(CATEGORIES))
    return frame.assign(total=rows.sum(axis=1))


def rank_bytes(memory: BlockMemory, layers: Sequence[int], microbatches: int, schedule: str, chunks: int) -> np.ndarray:
    """Bytes of each rank by category, shape (ranks, categories); arguments as those of :func:`stage_memory`."""
    ends = np.concatenate([[0], 1 + np.cumsum(layers)])
    ends[-1] += 1
    ranges = list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))
    saved = np.array([memory.activations[first:last].sum() for first, last in ranges])
    held, _ = held_activations(schedule, saved, microbatches, chunks)
    own = [[ranges[s] for s in stages_of(schedule, rank, len(held), chunks)] for rank in range(len(held))]
    rows = [memory.of_device(mine, float(most)) for mine, most in zip(own, held, strict=True)]
    return np.array([[row[name] for name in CATEGORIES] for row in rows])


def held_activations(schedule: str, saved: Any, microbatches: int, chunks: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """The most bytes of activations that each rank holds at once, counted from the order of its ops.

    Parameters
    ----------
    saved
        Bytes of a micro-batch in each stage, from its forward op until its last backward op.

    Returns
    -------
    tuple of ndarray
        Bytes of each rank, and the rank of each stage, of DualPipe's twins the first one's.

    Examples
    --------
    >>> held_activations("1f1b", [1.0] * 4, 8)[0].tolist()
    [4.0, 3.0, 2.0, 1.0]
    >>> held_activations("interleaved", [0.5] * 8, 8, 2)[0].tolist()
    [5.5, 4.5, 3.5, 2.5]
    """
    rule = find(schedulers(), schedule, "scheduler")
    if getattr(rule, "needs", "") != "pipeline":
        raise UnsupportedError(f"{schedule!r} is no scheduler of pipelines; gpipe, 1f1b and others are")
    saved = np.asarray(saved, float)
    ranks = len(saved) // chunks
    few = min(microbatches, ranks) if rule.name == "1f1b" else microbatches  # of which further ones do not keep more
    order = _order(rule.name, ranks, few, chunks)
    held = [np.cumsum(saved[stage] * sign).max(initial=0.0) for stage, sign in order.changes]
    return np.array(held), order.rank


class _Order(NamedTuple):
    """Of each rank the stages of its ops that keep (1) or free (-1) activations, in their order; the rank of each stage."""

    changes: list[tuple[np.ndarray, np.ndarray]]
    rank: np.ndarray


@lru_cache(512)  # plans that differ in all else have the same order
def _order(schedule: str, p: int, microbatches: int, chunks: int) -> _Order:
    rule: Any = schedulers()[schedule]
    problem = _pipeline(p, microbatches, chunks, splits(schedule), layout_of(schedule, chunks))
    placement = Placement(problem, problem.may_run.argmax(axis=1))
    pipeline = required(problem.graph, schedule)
    sequence = rule(problem, placement).op
    last = "W" if pipeline.splits else "BW"
    sign = (pipeline.phase == "F").astype(int) - (pipeline.phase == last)
    changes = []
    for d in range(problem.cluster.n_devices):
        mine = sequence[(placement.device[sequence] == d) & (sign[sequence] != 0)]
        changes.append((pipeline.stage[mine], sign[mine]))
    rank = np.empty(p * chunks, int)
    first = pipeline.replica <= 0
    rank[pipeline.stage[first]] = placement.device[first]
    return _Order(changes, rank)


@lru_cache(8)  # schedulers of the same stages, one after the other
def _pipeline(p: int, microbatches: int, chunks: int, split: bool, layout: Any) -> Problem:
    weight = 1.0 if split else None
    return pipeline_training(1.0, 1.0, weight, microbatches=microbatches, stages=p, chunks=chunks, layout=layout)


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

"""Seconds of each block of a transformer on each device, by the roofline of its ops, and the widest op's bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from placelab.costs.roofline import DEFAULT, estimate
from placelab.models import Transformer
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.hardware import SPECS
from placelab.problem.problem import Problem

BACKWARD = (".backward", ".weight_gradient")
UPDATE = ".update"


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

"""What every copy of a model has in common: its reads, the ops that its worker runs, and their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from placelab.graphs.transforms.parameter_reads import Forward
from placelab.graphs.transforms.replica_ops import BACKWARD, FORWARD, ReplicaOps
from placelab.problem.graph import OpGraph


@dataclass(frozen=True, eq=False)
class Model:
    """A forward graph with reads, and the graph of one step: with its backward pass when training, else the same.

    Op v's gradient op in `step` has the number ``2 * n - 1 - v``, n being the number of forward ops.
    """

    forward: Forward
    step: OpGraph
    training: bool

    @property
    def n_reads(self) -> int:
        """Number of parameters."""
        return self.forward.n_reads

    @cached_property
    def reads(self) -> np.ndarray:
        """Numbers of the reads in `step`."""
        return np.arange(self.n_reads)

    @cached_property
    def pushes(self) -> np.ndarray:
        """Numbers of the gradient ops of the reads in `step`; none without a backward pass."""
        return self.step.n_ops - 1 - self.reads if self.training else self.reads[:0]

    @cached_property
    def own(self) -> np.ndarray:
        """Numbers in `step` of the ops that a worker runs: all but reads and their gradient ops."""
        return np.arange(self.n_reads, self.step.n_ops - len(self.pushes))

    @cached_property
    def ends(self) -> np.ndarray:
        """Numbers in `step` of the ops without consumers."""
        return np.flatnonzero(np.diff(self.step.succ_ptr) == 0)

    @cached_property
    def origin(self) -> np.ndarray:
        """Number in the given graph of each op of `step`, of a gradient op's forward op."""
        origin = self.forward.origin
        return np.concatenate([origin, origin[::-1]]) if self.training else origin

    @cached_property
    def size(self) -> np.ndarray:
        """Bytes of each parameter: of the largest tensor that its read sends; shape (n_reads,)."""
        size, producer = np.zeros(self.step.n_ops), self.step.tensor_producer
        np.maximum.at(size, producer, self.step.tensor_bytes)
        return size[: self.n_reads]

    @cached_property
    def gradients(self) -> tuple[np.ndarray, np.ndarray]:
        """The last gradient ops of parameters, as pairs: parameter, op of `step`."""
        push = self.step.n_ops - 1 - self.step.consumer
        last = np.flatnonzero((push < self.n_reads) & self.training)
        return push[last], self.step.producer[last]

    def add_copy(self, ops: ReplicaOps, chosen: np.ndarray, iteration: int, worker: int, device: int) -> np.ndarray:
        """Numbers of a worker's copies of the chosen ops of `step`."""
        prefix, step = f"it{iteration}/w{worker}/", self.step
        return ops.add(
            [prefix + name for name in step.names[chosen]],
            step.kind[chosen],
            cost=chosen,
            device=device,
            iteration=iteration,
            worker=worker,
            role=np.where(chosen < self.forward.graph.n_ops, FORWARD, BACKWARD),
            op=self.origin[chosen],
        )

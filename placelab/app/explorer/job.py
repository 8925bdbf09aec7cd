"""What becomes of the step of one model: a job of many workers, or a pipeline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

SERVERS = "parameter servers"
ALL_REDUCE = "all-reduce"
PIPELINE = "pipeline"
KINDS = (SERVERS, ALL_REDUCE, PIPELINE)  # of jobs


@dataclass(frozen=True)
class Job:
    """What becomes of the step of one model.

    Attributes
    ----------
    kind
        One of ``KINDS``; what another kind needs is kept, and does nothing.
    workers, servers, hosts
        Numbers of devices: workers, servers of parameters, and machines that the workers of an all-reduce share.
    sync, barrier
        Of parameter servers: whether updates wait for all workers, and reads for all updates.
    training
        Of parameter servers: whether there is a backward pass.
    algorithm, bucket_bytes
        Of all-reduces, see :func:`placelab.transforms.model_replica`.
    iterations
        Steps in the graph, one after the other; of replicas.
    microbatches, stages, partitioner, split, recompute, blocking
        Of a pipeline: numbers, who cuts the model into stages, whether gradients of weights are ops of their own, whether the
        forward pass runs again before the backward pass, and whether a receive blocks its stage.
    replicas
        Of a pipeline: copies, whose gradients are summed by all-reduces.
    """

    kind: str = SERVERS
    workers: int = 4
    servers: int = 1
    hosts: int = 1
    sync: bool = True
    barrier: bool = True
    training: bool = True
    algorithm: Literal["ring", "tree", "halving"] = "ring"
    bucket_bytes: float = 25e6
    iterations: int = 1
    microbatches: int = 8
    stages: int = 4
    partitioner: str = "contiguous"
    split: bool = False
    recompute: bool = False
    replicas: int = 1
    blocking: bool = False

    @property
    def scheduler(self) -> str:
        """The scheduler that such a job is shown with at first."""
        if self.kind == PIPELINE:
            return "zb-h1" if self.split else "1f1b"
        return "tic" if self.kind == SERVERS else "fifo"

    @property
    def title(self) -> str:
        """What the job adds to the title of its model."""
        if self.kind == PIPELINE:
            copies = f"{self.replicas} × " * (self.replicas > 1)
            return f"{copies}{self.stages} stages × {self.microbatches} micro-batches"
        return f"{self.workers} workers"

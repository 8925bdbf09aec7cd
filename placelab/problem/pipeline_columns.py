"""Read micro-batch, stage and phase of each op of a pipelined training step.

``graph.metadata["pipeline"]`` is a dict of lists with an entry per op: ``microbatch`` (whole number from 0, -1 for an op
that runs once per step), ``stage`` (whole number from 0, -1 for an op of no stage), ``replica`` (whole number from 0, the copy of
the pipeline; may be left out where there is one), ``added`` (bytes of gradients that an update only adds to others, of weights
that several stages use; may be left out where there are none), ``backward`` (of an op of phase ``FB`` the micro-batch, stage and
replica of its backward pass, the other columns being those of its forward pass; None for other ops), ``phase``:

======  ====================================================================================================
``F``   forward pass of a micro-batch through a stage
``B``   gradient of the stage's input
``W``   gradient of its weights
``BW``  both in one op
``FB``  a forward pass and both gradients of another micro-batch, together (:func:`placelab.transforms.together`)
``RF``  Receive that precedes a forward op, where a Receive holds the device (``recv="blocking"``)
``RB``  Receive that precedes a backward op
``P``   what depends on no input of the model, once per step
``AR``  all-reduce of the gradients of weights over replicas, once per step
``U``   update of the weights, once per step
======  ====================================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from placelab.base.errors import UnsupportedError
from placelab.base.once import once
from placelab.problem.graph import OpGraph

PHASES = ("F", "B", "W", "BW", "FB", "RF", "RB", "P", "AR", "U")
ONCE = ("P", "AR", "U")  # phases that run once per step
KEY = "pipeline"  # in a graph's metadata


@dataclass(frozen=True, eq=False)
class Pipeline:
    """Micro-batch, stage and phase of each op.

    Attributes
    ----------
    microbatch, stage : ndarray of int64, shape (n_ops,)
        -1 where an op belongs to none.
    phase : ndarray of str, shape (n_ops,)
        One of ``PHASES``; "" for the ops of another replica.
    replica : ndarray of int64, shape (n_ops,)
        All 0 where there is one.
    backward : ndarray of int64, shape (n_ops, 3)
        Micro-batch, stage and replica of the backward pass of an op of phase ``FB``; -1 elsewhere.
    """

    microbatch: np.ndarray
    stage: np.ndarray
    phase: np.ndarray
    replica: np.ndarray
    backward: np.ndarray

    @cached_property
    def microbatches(self) -> int:
        """Number of micro-batches."""
        return int(self.microbatch.max()) + 1

    @cached_property
    def stages(self) -> int:
        """Number of stages, those of all chunks."""
        return int(self.stage[self.microbatch >= 0].max()) + 1

    @cached_property
    def replicas(self) -> int:
        """Number of copies of the pipeline."""
        return int(self.replica.max()) + 1

    def of_replica(self, replica: int) -> Pipeline:
        """One of the copies: ops of others belong to no micro-batch, stage or phase."""
        if self.replicas == 1:
            return self
        own = self.replica == replica
        return Pipeline(
            np.where(own, self.microbatch, -1),
            np.where(own, self.stage, -1),
            np.where(own, self.phase, ""),
            np.zeros_like(self.replica),
            np.where(self.backward[:, 2:] == replica, self.backward * [1, 1, 0], -1),
        )

    @cached_property
    def op(self) -> dict[tuple[str, int, int], int]:
        """(phase, micro-batch, stage) → op number; of one replica."""
        phase = np.where(self.phase == "FB", "F", self.phase)
        keys = zip(phase.tolist(), self.microbatch.tolist(), self.stage.tolist(), strict=True)
        found = {key: v for v, key in enumerate(keys)}
        merged = np.flatnonzero(self.backward[:, 0] >= 0).tolist()
        return found | {("BW", int(self.backward[v, 0]), int(self.backward[v, 1])): v for v in merged}

    @property
    def splits(self) -> bool:
        """Whether some gradients of inputs and of weights are ops of their own."""
        return bool((self.phase == "W").any())

    @cached_property
    def splits_all(self) -> bool:
        """Whether all of them are."""
        return self.splits and not self.merged and not (self.phase == "BW").any()

    @cached_property
    def merged(self) -> bool:
        """Whether some ops are a forward and a backward pass together."""
        return bool((self.phase == "FB").any())

    @cached_property
    def trains(self) -> bool:
        """Whether there are backward ops."""
        return bool(np.isin(self.phase, ("B", "BW", "FB")).any())


@once
def pipeline_of(graph: OpGraph) -> Pipeline | None:
    """The columns in a graph's metadata; None if there are none, or none that fit its ops.

    Columns fit if each micro-batch has a forward op in each stage, and one backward op there or two, or there is no backward op
    at all; in each replica, where a column tells replicas apart.
    """
    stored = graph.metadata.get(KEY)
    if not isinstance(stored, Mapping):
        return None
    lists: list[Any] = [stored.get(label) for label in ("microbatch", "stage", "phase")]
    lists.append(stored.get("replica", [0] * graph.n_ops))
    if not all(isinstance(column, list) and len(column) == graph.n_ops for column in lists):
        return None
    microbatch, stage, phase, replica = lists
    if not all(_numbers(column, graph.n_ops) for column in (microbatch, stage, replica)) or min(replica) < 0:
        return None
    if not all(isinstance(p, str) and p in PHASES for p in phase):
        return None
    backward = _backward(stored.get("backward"), phase)
    if backward is None:
        return None
    pipeline = Pipeline(
        np.array(microbatch), np.array(stage), np.array(phase, dtype=object), np.array(replica), backward
    )
    return pipeline if _whole(pipeline) else None


def _backward(column: Any, phase: list[str]) -> np.ndarray | None:
    """The backward passes of merged ops; None where the column does not fit."""
    n = len(phase)
    found = np.full((n, 3), -1)
    merged = [v for v, name in enumerate(phase) if name == "FB"]
    if not merged:
        return found
    if not isinstance(column, list) or len(column) != n:
        return None
    for v in merged:
        entry = column[v]
        if not isinstance(entry, list) or len(entry) != 3 or not all(type(x) is int and 0 <= x < n for x in entry):
            return None
        found[v] = entry
    return found


def _numbers(column: list[Any], n: int) -> bool:
    return set(map(type, column)) <= {int} and min(column) >= -1 and max(column) < n


def _whole(pipeline: Pipeline) -> bool:
    summed = np.isin(pipeline.phase, ONCE)
    micro = ~summed
    if not micro.any() or pipeline.microbatch[summed].max(initial=-1) >= 0:
        return False
    if min(pipeline.microbatch[micro].min(), pipeline.stage[micro].min()) < 0:
        return False
    columns = (
        column[micro].tolist() for column in (pipeline.phase, pipeline.microbatch, pipeline.stage, pipeline.replica)
    )
    keys = [("F", *key[1:]) if key[0] == "FB" else key for key in zip(*columns, strict=True)]
    merged = pipeline.backward[pipeline.phase == "FB"]
    keys += [("BW", *entry) for entry in merged.tolist()]
    if len(set(keys)) != micro.sum() + len(merged):
        return False
    of = {phase: {key[1:] for key in keys if key[0] == phase} for phase in ("F", "BW", "B", "W")}
    places = pipeline.microbatches * pipeline.stages * pipeline.replicas
    backward = of["BW"] | of["B"]
    if len(of["F"]) != places or of["B"] != of["W"] or of["BW"] & of["B"]:
        return False
    return len(backward) in (0, places)


def required(graph: OpGraph, who: str) -> Pipeline:
    """The columns of a graph; UnsupportedError where it has none, `who` in front."""
    pipeline = pipeline_of(graph)
    if pipeline is None:
        raise UnsupportedError(
            f"{who} needs a training step of stages and micro-batches, and {graph.title} has none; "
            "make one with generators.pipeline_training or transforms.microbatches"
        )
    return pipeline

"""Memory of the ranks of a training pipeline: activations by the order in which they run their micro-batches."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count
from placelab.base.interrupts import need
from placelab.graphs.training_steps import pipeline_training
from placelab.models import Transformer
from placelab.plans.memory import CATEGORIES, BlockMemory, Training, training_bytes
from placelab.plans.stage_ranks import layout_of, splits, stages_of
from placelab.problem.pipeline_columns import required
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import find, schedulers
from placelab.schedule.placement import Placement

if TYPE_CHECKING:
    import pandas as pd


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

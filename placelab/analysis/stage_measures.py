"""Measure a pipelined training step: bubbles, spans and activations of its stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from placelab.base.errors import UnsupportedError, expect
from placelab.base.interrupts import need
from placelab.base.once import once
from placelab.problem.pipeline_columns import Pipeline, pipeline_of
from placelab.schedule.schedule import Schedule

if TYPE_CHECKING:
    import pandas as pd

WORK = ("F", "B", "W", "BW")


def stages(schedule: Schedule) -> pd.DataFrame:
    """Use of each device of a pipelined training step.

    Returns
    -------
    DataFrame
        A row per device that runs stages, by replica and first stage: ``device``; ``replica``, its number; ``stages``, how many;
        ``busy``, seconds of its ops (``F``, ``B``, ``W``, ``BW``); ``span``, from the start of the first to the finish of the
        last; ``idle``, the span less busy; ``activations``, the most forward passes of a micro-batch
        through a stage that it holds at a time, each from its start until its last backward op has finished; ``memory``, peak
        bytes.

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.generators.pipeline_training(1.0, 2.0, microbatches=4, stages=2)
    >>> stages(pl.simulate(problem, pl.place(problem, "heft"), "1f1b"))["activations"].tolist()
    [2, 1]
    """
    need("pandas")
    import pandas as pd

    expect(schedule, Schedule, "stages")
    pipeline = pipeline_of(schedule.problem.graph)
    if pipeline is None:
        raise UnsupportedError(
            f"stages measures a training step of stages and micro-batches, and {schedule.problem.graph.title} has none; "
            "make one with generators.pipeline_training or transforms.microbatches"
        )
    ops = np.flatnonzero(np.isin(pipeline.phase, WORK))
    first = np.full(schedule.problem.cluster.n_devices, pipeline.stages)
    np.minimum.at(first, schedule.device[ops], pipeline.stage[ops])
    replica = np.zeros_like(first)
    replica[schedule.device[ops]] = pipeline.replica[ops]
    used = [int(d) for d in np.lexsort((first, replica)) if first[d] < pipeline.stages]
    rows = [_row(schedule, pipeline, ops[schedule.device[ops] == d], d) for d in used]
    return pd.DataFrame(rows)


def _row(schedule: Schedule, pipeline: Pipeline, ops: np.ndarray, d: int) -> dict[str, object]:
    start, finish = schedule.start[ops], schedule.finish[ops]
    busy, span = float((finish - start).sum()), float(finish.max() - start.min())
    return {
        "device": schedule.problem.cluster.names[d],
        "replica": int(pipeline.replica[ops[0]]),
        "stages": len(np.unique(pipeline.stage[ops])),
        "busy": busy,
        "span": span,
        "idle": max(span - busy, 0.0),
        "activations": _held(schedule, pipeline, ops),
        "memory": float(schedule.peak_memory[d]),
    }


def _held(schedule: Schedule, pipeline: Pipeline, ops: np.ndarray) -> int:
    """The most forward passes held at a time; what an instant frees is free for what starts then."""
    key = pipeline.microbatch[ops] * pipeline.stages + pipeline.stage[ops]
    forward = pipeline.phase[ops] == "F"
    begin = schedule.start[ops[forward]]
    until = np.zeros(pipeline.microbatches * pipeline.stages)
    np.maximum.at(until, key, schedule.finish[ops])
    end = until[key[forward]]
    held = end > begin
    time = np.concatenate([end[held], begin[held]])
    change = np.repeat([-1, 1], int(held.sum()))
    return int(np.cumsum(change[np.argsort(time, kind="stable")]).max(initial=0))


@once
def bubbles(schedule: Schedule) -> dict[str, float]:
    """Bubbles of a pipelined training step [s], and its peak of activations; {} for other graphs.

    ``bubble``: the makespan less the time of the busiest device's ops. ``bubble_span``: the longest span of a device instead of
    the makespan, as papers on zero bubbles count. ``peak_activations``: the most that a device holds, see
    :func:`~placelab.stages`.
    """
    if pipeline_of(schedule.problem.graph) is None:
        return {}
    table = stages(schedule)
    busiest = float(table["busy"].max())
    return {
        "bubble": max(schedule.makespan - busiest, 0.0),
        "bubble_span": max(float(table["span"].max()) - busiest, 0.0),
        "peak_activations": float(table["activations"].max()),
    }

"""ZeRO 2 in a plan's step: the gradients of a stage are scattered after each of its backward passes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from placelab.problem.pipeline_columns import required
from placelab.schedule.schedule import Schedule

LAST = ("W", "BW", "FB")  # phases that end a backward pass


class Scatter(NamedTuple):
    """Gradients that leave a stage: the pipeline's ops that end the passes which made them, two of DualPipe's twins."""

    stage: int
    ops: tuple[int, ...]


def starting_order(one: Schedule) -> list[int]:
    """Ops of a pipeline in the order in which they start."""
    return np.lexsort((np.arange(len(one.start)), one.finish, one.start)).tolist()


def scatters(one: Schedule, twins: bool) -> list[Scatter]:
    """What is scattered, in the order in which streams send it: the k-th pass of a stage with the k-th of its twin."""
    pipeline = required(one.problem.graph, "a plan")
    waiting: dict[int, dict[int, list[int]]] = {}  # stage → replica → ops that end its passes
    found = []
    for v in starting_order(one):
        phase = str(pipeline.phase[v])
        if phase not in LAST:
            continue
        stage = int(pipeline.backward[v, 1] if phase == "FB" else pipeline.stage[v])
        replica = int(pipeline.backward[v, 2] if phase == "FB" else pipeline.replica[v])
        here = waiting.setdefault(stage, {0: [], 1: []} if twins else {replica: []})
        here[replica].append(v)
        if all(here.values()):
            found.append(Scatter(stage, tuple(ops.pop(0) for ops in here.values())))
    return found


def scattered_ends(one: Schedule, seconds: Sequence[float], twins: bool) -> np.ndarray:
    """When the stream of each rank has scattered the gradients of all passes, each `seconds` of its stage; shape (ranks,)."""
    ends = np.zeros(one.problem.cluster.n_devices)
    for stage, ops in scatters(one, twins):
        ranks = one.device[list(ops)]
        made = one.finish[list(ops)].max()
        ends[ranks] = max(float(ends[ranks].max()), float(made)) + seconds[stage]
    return ends

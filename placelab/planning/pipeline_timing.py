"""Times of ops whose order on each device is fixed, where transfers do not queue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from placelab.problem.problem import Problem


@dataclass(frozen=True)
class Work:
    """A placed problem as lists: seconds of each op, and its inputs with the seconds that each takes to arrive."""

    device: list[int]
    seconds: list[float]
    inputs: list[list[tuple[int, float]]]
    outputs: list[list[tuple[int, float]]]


def work_of(problem: Problem, device: np.ndarray) -> Work:
    """Seconds of ops and transfers under a placement by `device`, without contention."""
    graph, cluster = problem.graph, problem.cluster
    u, v = graph.producer, graph.consumer
    took = np.where(
        device[u] == device[v],
        0.0,
        cluster.latency[device[u], device[v]] + graph.edge_bytes / cluster.bandwidth[device[u], device[v]],
    )
    inputs: list[list[tuple[int, float]]] = [[] for _ in range(graph.n_ops)]
    outputs: list[list[tuple[int, float]]] = [[] for _ in range(graph.n_ops)]
    for a, b, seconds in zip(u.tolist(), v.tolist(), took.tolist(), strict=True):
        inputs[b].append((a, seconds))
        outputs[a].append((b, seconds))
    return Work(device.tolist(), problem.exec_times(device).tolist(), inputs, outputs)


def replay(work: Work, sequence: Sequence[int]) -> list[float]:
    """Finish of each op when each device runs its ops in the order of `sequence` [s]; -1.0 for those that never run.

    `sequence` may lack ops: they never run. O(ops + edges).
    """
    n = len(work.seconds)
    missing = [len(inputs) for inputs in work.inputs]
    after = [-1] * n
    last: dict[int, int] = {}
    listed = [False] * n
    for v in sequence:
        listed[v] = True
        d = work.device[v]
        if d in last:
            after[last[d]] = v
            missing[v] += 1
        last[d] = v
    ready, finish = [v for v in sequence if missing[v] == 0], [-1.0] * n
    start = [0.0] * n
    while ready:
        v = ready.pop()
        finish[v] = start[v] + work.seconds[v]
        for w, seconds in [*work.outputs[v], *([(after[v], 0.0)] if after[v] >= 0 else [])]:
            start[w] = max(start[w], finish[v] + seconds)
            missing[w] -= 1
            if missing[w] == 0 and listed[w]:
                ready.append(w)
    return finish

"""Published workloads stored beside the project, as problems: those of Tarnawski et al. 2020 and PipeDream's profiles."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import placelab as pl
from placelab.formats.task_graphs import pipedream as profiles
from placelab.graphs.datasets import own_cluster


def tarnawski(folder: Path) -> list[Path]:
    """The files of dnn-partitioning: inference and training, by layer and by operator."""
    return sorted(folder.glob("*-inputs/*/*.json"))


def pipedream(folder: Path) -> list[Path]:
    """The profiles of PipeDream, without graphs for tests of another program."""
    return sorted(folder.glob("profiler/*/profiles/*/graph.txt"))


@cache
def tarnawski_problem(path: Path) -> pl.Problem:
    """A workload on the accelerators and CPU cores of its file, with its sizes as reserved memory."""
    graph = pl.load(path)
    return pl.Problem(graph, own_cluster(graph), memory="reserved")


@cache
def pipedream_problem(path: Path, devices: int = 4, share: float = 2.0) -> pl.Problem:
    """A profile as a training step on equal GPUs that together have `share` times the memory the step needs."""
    graph = profiles.loads(path.read_bytes(), path.name)
    memory = share * graph.memory.sum() / devices
    return pl.Problem(graph, pl.clusters.uniform(devices).replace(memory=[memory] * devices), memory="reserved")

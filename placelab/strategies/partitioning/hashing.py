"""Hashing: a pseudo-random device by the op's name, the same in every run."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal
from zlib import crc32

import numpy as np

from placelab.base.errors import UnsupportedError
from placelab.base.index_arrays import frozen
from placelab.kernels.plan.unit_by_unit import draw
from placelab.planning.capacity import Assignment
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner
from placelab.schedule.placement import Placement


@partitioner(name="hash", source="Mayer et al. 2017 §3.1")
def hashing(
    problem: Problem,
    *,
    weight: Literal["auto", "memory", "speed", "uniform"] = "auto",
    seed: int = 0,
    trace: bool = False,
) -> Placement:
    r"""A pseudo-random device by a hash of the op's name, in proportion to the devices' capacity.

    Op v goes to the first device d of those with room, by number, with

    .. math:: \sum_{e \le d} weight_e > h(v) \sum_e weight_e, \qquad h(v) \in [0, 1) .

    Parameters
    ----------
    weight
        What a device's share is proportional to: its ``"memory"``, its ``"speed"``, or ``"uniform"``. ``"auto"``:
        memory if every device's is finite, else speed, or uniform when the graph has measured times (speeds say
        nothing there).
    seed
        A different seed gives a different hash.

    Notes
    -----
    A group has the hash of its first op. The hash is CRC-32 of the name, mixed with the seed (splitmix64): the same on
    every machine, and an op keeps it when others come or go. Ops are placed by number, so early ones take the room.
    O(ops × devices).
    """
    assignment = Assignment(problem, trace)
    weights = frozen(_weights(problem, weight))
    number = frozen(_uniform(_digests(problem.graph)[assignment.units.first], seed))
    placed = draw(*assignment.arguments, number, weights)
    return assignment.placement(placed, ("drawn by the hash of its name",), "share of the draw")


def _weights(problem: Problem, weight: str) -> np.ndarray:
    memory = problem.cluster.memory
    speed = problem.cluster.speed
    if weight == "auto":
        weight = "memory" if np.isfinite(memory).all() else "speed" if problem.graph.time is None else "uniform"
    if weight == "memory" and not np.isfinite(memory).all():
        unlimited = problem.cluster.names[int(np.flatnonzero(np.isinf(memory))[0])]
        raise UnsupportedError(f"hash: weight 'memory' needs finite memory, that of {unlimited!r} is not; use 'speed'")
    choices = {"memory": memory, "speed": speed, "uniform": np.ones(len(speed))}
    return choices[weight] / choices[weight].max()


@lru_cache(maxsize=8)  # during a drag the names stay the same
def _digests(graph: OpGraph) -> np.ndarray:
    return np.array([crc32(name.encode()) for name in graph.names], dtype=np.uint64)


def _uniform(digest: np.ndarray, seed: int) -> np.ndarray:
    """splitmix64 of each digest and the seed, as a float64 in [0, 1)."""
    z = digest + np.uint64((seed + 1) * 0x9E3779B97F4A7C15 & 0xFFFFFFFFFFFFFFFF)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53

"""Colours of ops that the browser cannot work out by itself: an index per op, and what each index means."""

from __future__ import annotations

import numpy as np

from placelab.analysis.slack import slack
from placelab.kernels import ranks
from placelab.planning.plan_arrays import successors
from placelab.problem.graph import OpGraph, frozen
from placelab.problem.kind_colours import PALETTE, colours_by_work, kind_colours
from placelab.schedule.schedule import Schedule

COLOURS = len(PALETTE)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of the makespan, between the colours of slack
WAYS = ("kind", "scope", "layer", "device", "op", "critical path", "slack")

Colours = tuple[bytes, list[str]]


def colours_of(way: str, schedule: Schedule) -> Colours:
    """The indices of one way to colour, uint8, and their meanings; nothing for those that the browser works out."""
    if way == "scope":
        return pack_scopes(schedule.problem.graph)
    if way == "layer":
        return pack_layers(schedule.problem.graph)
    return pack_slack(schedule) if way == "slack" else (b"", [])


def pack_kinds(graph: OpGraph) -> Colours:
    """A colour index for each op, and the meaning of the indices: :func:`placelab.problem.kind_colours.kind_colours`."""
    colour, legend = kind_colours(graph)
    return colour.tobytes(), legend


def pack_scopes(graph: OpGraph) -> Colours:
    """The outermost scopes that are not the same for all ops, those with the most compute first."""
    paths = [name.split("/" if "/" in name else ".")[:-1] for name in graph.names]
    scopes = [""] * len(paths)
    for depth in range(1, 1 + max(map(len, paths))):
        scopes = ["/".join(path[:depth]) for path in paths]
        if len(set(scopes) - {""}) > 1:
            break
    return _by_work(np.array(scopes), graph.compute)


def pack_layers(graph: OpGraph) -> Colours:
    """How many ops come before each op on the longest path to it, in at most `COLOURS` steps."""
    depth = np.empty(graph.n_ops)
    ranks.downward(frozen(np.ones(graph.n_ops)), successors(graph), 0.0, 0.0, depth)
    n = int(depth.max()) + 1
    step = -(-n // COLOURS)
    first = range(0, n, step)
    names = [f"layer {a + 1}" if step == 1 else f"layers {a + 1} to {min(a + step, n)}" for a in first]
    return (depth // step).astype(np.uint8).tobytes(), names


def pack_slack(schedule: Schedule) -> Colours:
    """How much later each op could finish without delaying the end, as shares of the makespan."""
    free = slack(schedule)
    index = np.where(free > 0, 1 + np.searchsorted(SHARES, free / (schedule.makespan or 1.0), side="right"), 0)
    names = ["no slack", *(f"slack < {share:.0%}" for share in SHARES), f"slack ≥ {SHARES[-1]:.0%} of the makespan"]
    return index.astype(np.uint8).tobytes(), names


def _by_work(labels: np.ndarray, compute: np.ndarray) -> Colours:
    """The labels with the most compute have colours of their own; the rest and "" share the last one."""
    found, index = np.unique(labels, return_inverse=True)
    colour, legend = colours_by_work(found.tolist(), index, compute)
    return colour.tobytes(), legend

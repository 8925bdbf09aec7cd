"""Colours of ops that the browser cannot work out by itself: an index per op, and what each index means."""

from __future__ import annotations

import numpy as np

from placelab.analysis.slack import slack
from placelab.base.index_arrays import frozen
from placelab.kernels.plan import ranks
from placelab.pictures.kind_colours import PALETTE, colours_by_work, kind_colours
from placelab.planning.plan_arrays import successors
from placelab.planning.read_orders import replica_column
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import pipeline_of
from placelab.schedule.schedule import Schedule

COLOURS = len(PALETTE)
SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of the makespan, between the colours of slack
JOB_WAYS = ("micro-batch", "replica", "phase")  # of graphs that have these
WAYS = ("kind", "scope", "layer", "device", "op", "critical path", "slack", *JOB_WAYS)
PHASES = {
    "F": "forward",
    "B": "backward, inputs",
    "W": "backward, weights",
    "BW": "backward",
    "RF": "receive, forward",
    "RB": "receive, backward",
    "P": "once, before",
    "AR": "all-reduce",
    "U": "update",
}

Colours = tuple[bytes, list[str]]


def colours_of(way: str, schedule: Schedule) -> Colours:
    """The indices of one way to colour, uint8, and their meanings; nothing for those that the browser works out."""
    if way == "scope":
        return pack_scopes(schedule.problem.graph)
    if way == "layer":
        return pack_layers(schedule.problem.graph)
    if way in JOB_WAYS:
        return pack_job(way, schedule.problem.graph)
    return pack_slack(schedule) if way == "slack" else (b"", [])


def pack_kinds(graph: OpGraph) -> Colours:
    """A colour index for each op, and the meaning of the indices: :func:`placelab.pictures.kind_colours.kind_colours`."""
    colour, legend = kind_colours(graph)
    return colour.tobytes(), legend


def pack_scopes(graph: OpGraph) -> Colours:
    """The outermost scopes that are not the same for all ops: those with the most compute, then all others as one."""
    paths = [name.split("/" if "/" in name else ".")[:-1] for name in graph.names]
    scopes = [""] * len(paths)
    for depth in range(1, 1 + max(map(len, paths))):
        scopes = ["/".join(path[:depth]) for path in paths]
        if len(set(scopes) - {""}) > 1:
            break
    found, index = np.unique(scopes, return_inverse=True)
    colour, legend = colours_by_work(found.tolist(), index, graph.compute)
    return colour.tobytes(), legend


def pack_layers(graph: OpGraph) -> Colours:
    """The depth of each op, in at most `COLOURS` steps."""
    depth = depths(graph)
    n = int(depth.max()) + 1
    step = -(-n // COLOURS)
    first = range(0, n, step)
    names = [f"layer {a + 1}" if step == 1 else f"layers {a + 1} to {min(a + step, n)}" for a in first]
    return (depth // step).astype(np.uint8).tobytes(), names


def depths(graph: OpGraph) -> np.ndarray:
    """How many ops come before each op on the longest path to it, shape (n_ops,)."""
    depth = np.empty(graph.n_ops)
    ranks.downward(frozen(np.ones(graph.n_ops)), successors(graph), 0.0, 0.0, depth)
    return depth


def job_ways(graph: OpGraph) -> list[str]:
    """Those of ``JOB_WAYS`` that a graph has: a pipeline's micro-batches, replicas, and phase where there is one of both."""
    has = {"micro-batch": pipeline_of(graph) is not None, "replica": replica_column(graph, "worker") is not None}
    has["phase"] = any(has.values())
    return [way for way in JOB_WAYS if has[way]]


def pack_job(way: str, graph: OpGraph) -> Colours:
    """Micro-batch, worker or phase of each op, each of them with its name; nothing for a graph that has none."""
    if way not in job_ways(graph):
        return b"", []
    if way == "micro-batch":
        return _in_order(pipeline_of(graph).microbatch, "micro-batch", "once per step")  # type: ignore[union-attr]
    if way == "replica":
        worker = replica_column(graph, "worker")
        name = "worker" if pipeline_of(graph) is None else "replica"
        return _in_order(np.asarray(worker), name, f"all {name}s")
    return _by_phase(graph)


def _in_order(number: np.ndarray, name: str, others: str) -> Colours:
    """Seven colours in turn, so that neighbours differ; -1 has the last colour."""
    n, own = int(number.max()) + 1, COLOURS - 1
    numbers = [[*map(str, range(i, n, own))] for i in range(min(n, own))]
    names = [f"{name} {', '.join(each if len(each) < 3 else [*each[:2], '…'])}" for each in numbers]
    index = np.where(number >= 0, number % own, own)
    return index.astype(np.uint8).tobytes(), [*names, *[""] * (own - len(names)), others]


def _by_phase(graph: OpGraph) -> Colours:
    pipeline = pipeline_of(graph)
    if pipeline is not None:
        present = [phase for phase in PHASES if (pipeline.phase == phase).any()]
        number = {phase: i for i, phase in enumerate(present)}
        return bytes(number[phase] for phase in pipeline.phase.tolist()), [PHASES[phase] for phase in present]
    role, names = replica_column(graph, "role"), graph.metadata["replica"].get("roles", [])
    if role is None or role.max() >= len(names):
        return b"", []
    found = np.unique(role).tolist()
    index = np.minimum(np.searchsorted(found, role), COLOURS - 1)
    labels = [str(names[i]) for i in found]
    return index.astype(np.uint8).tobytes(), [*labels[: COLOURS - 1], ", ".join(labels[COLOURS - 1 :])][: len(labels)]


def pack_slack(schedule: Schedule) -> Colours:
    """How much later each op could finish without delaying the end, as shares of the makespan."""
    free = slack(schedule)
    index = np.where(free > 0, 1 + np.searchsorted(SHARES, free / (schedule.makespan or 1.0), side="right"), 0)
    names = ["no slack", *(f"slack < {share:.0%}" for share in SHARES), f"slack ≥ {SHARES[-1]:.0%} of the makespan"]
    return index.astype(np.uint8).tobytes(), names

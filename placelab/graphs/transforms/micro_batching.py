"""Fold a placed training step into a pipeline of micro-batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from placelab.base.errors import UnsupportedError, count, expect
from placelab.base.files import MAX_OPS
from placelab.formats.op_kinds import FREE, category, name_of
from placelab.graphs.transforms.unrolling import Carried, Receive, StagePart, unrolled
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import KEY, ONCE
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.strategies.preparing.gradients import backward_part, depending, gradient_ops

MICRO = ("F", "B", "W", "BW")
Node = tuple[str, int]  # phase, device
Folded = tuple[Node, tuple[Node, ...], float, bool]  # producer, consumers, bytes, whether it only orders
INPUTS = ("input", "Placeholder", "PlaceholderWithDefault", "IteratorGetNext")
SUMS = ("AddN", "Add", "AddV2", "add")


class Placed(NamedTuple):
    """A problem, and the device of each op; colocation groups may be split."""

    problem: Problem
    device: np.ndarray


def microbatches(
    placement: Placement, m: int, *, split: bool = False, recompute: bool = False, recv: Receive = "async"
) -> Problem:
    """The pipeline of `m` micro-batches that a placed training step becomes: a stage per device, an op per phase and micro-batch.

    Parameters
    ----------
    placement
        Of the graph of a training step, forward and backward pass: from TensorFlow, PyTorch or :func:`backward`.
    m
        Micro-batches that a batch is divided into.
    split
        True: backward ops that no other device waits for are an op of their own, ``W``, which zero-bubble schedulers delay;
        these are the gradients of weights, on the first stage all. False: one backward op, ``BW``.
    recompute
        True: a stage keeps of a micro-batch only what comes from other stages, and the model's inputs; its backward op runs the
        forward ops again, needs what they keep from then on, and so takes the forward op's seconds more.
    recv
        As for :func:`placelab.generators.pipeline_training`.

    Returns
    -------
    Problem
        On the same cluster with the same models. Ops ``F{micro-batch}.{stage}``, ``BW…`` or ``B…`` and ``W…``, each tied to its
        device, and once per step ``P.…``, what depends on no input of the model, and ``U.…``, the optimiser's ops.
        ``graph.metadata["pipeline"]`` has their columns (:mod:`placelab.problem.pipeline_columns`).

    Raises
    ------
    UnsupportedError
        There is no backward pass; the stages depend on each other in a circle, then two ops of opposite direction are named.

    Notes
    -----
    Time of an op of the pipeline: of each op in it its overhead, where the roofline that timed it has one, and the rest over
    m. Tensors of a micro-batch have their bytes over m; parameters, gradients of weights and updates are there once. A tensor
    is a gradient of weights if an update reads it, or if a backward op makes it and no op reads it. Tensors that stay within
    an op of the pipeline are not counted. Of several tensors of one storage that an op of the pipeline leaves to the same
    later ops of its own device, the largest counts; those that are sent, each, as each is moved. Where the backward pass
    reads no tensor of the forward pass (:func:`backward` makes such graphs), every tensor that a forward op reads is kept for
    the backward pass of its reader's device. Temporary bytes: the most that an op in it takes, over m. An update waits for
    the gradients of its own device only. A gradient of weights that is read on another device, such as that of a weight
    shared by the first and last layer, is sent when the last micro-batch is in it, which runs after the first one. Gradients
    of a tensor with several readers are summed on the device of what reads the sum. O(n_ops + n_edges).

    Place with ``contiguous`` and ``prepare="forward-only"``: gradient ops are then on the device of their op. A model whose
    first and last op share a weight passes tensors back to the first device, unless their colocation group is left out of the
    graph: ``graph.replace(groups=())``. No cut keeps such a group, whole or merged by ``coplace``, in one stage of several,
    as all ops between its members would be in that stage, too.

    Examples
    --------
    >>> import placelab as pl
    >>> chain = pl.OpGraph.from_arrays(["a", "b"], [4.0, 4.0], [(0, 1)], edge_bytes=[8.0])
    >>> step = pl.Problem(pl.transforms.backward(chain, 2.0), pl.Cluster([1.0, 1.0], bandwidth=8.0))
    >>> pipeline = microbatches(pl.Placement(step, [0, 1, 1, 0]), 2)
    >>> [str(name) for name in pipeline.graph.names]
    ['F0.0', 'F0.1', 'BW0.1', 'BW0.0', 'F1.0', 'F1.1', 'BW1.1', 'BW1.0']
    >>> pl.simulate(pipeline, pl.place(pipeline, "heft"), "1f1b").makespan
    19.5
    """
    expect(placement, Placement, "microbatches")
    m = count(m, "microbatches: m", most=MAX_OPS)
    problem = placement.problem
    graph = placement.problem.graph
    placed = Placed(problem, summed_where_read(graph, placement.device))
    phase = phases(graph, placed.device, split)
    parts, tensors = _folded(placed, phase, m, bool(recompute))
    name = f"{graph.title}, {m} micro-batches"
    made = unrolled(parts, tensors, m, problem.cluster, recv, {"name": name})
    added = added_bytes(graph, placed.device, phase)
    if added.any():
        made = _with_added(made, problem.cluster.names, added)
    return Problem(
        made,
        problem.cluster,
        memory=problem.memory,
        transfers=problem.transfers,
        duplex=problem.duplex,
        transfer_ops=problem.transfer_ops,
        latency=problem.latency,
    )


def _with_added(made: OpGraph, devices: Sequence[str], added: np.ndarray) -> OpGraph:
    """The pipeline with a column of the bytes of gradients that updates only add to others."""
    of = dict(zip(devices, added.tolist(), strict=False))
    column = [0.0] * made.n_ops
    for v in np.flatnonzero(made.kind == "U").tolist():
        column[v] = of.get(made.device_sets[made.device_set[v]][0], 0.0)
    return made.replace(metadata={**made.metadata, KEY: {**made.metadata[KEY], "added": column}})


def _folded(placed: Placed, phase: np.ndarray, m: int, recompute: bool) -> tuple[list[StagePart], list[Carried]]:
    """Parts and tensors of one micro-batch, and of what runs once."""
    nodes = list(zip(phase.tolist(), placed.device.tolist(), strict=True))
    backs = ("BW",) if (phase == "BW").any() else ("B", "W")
    columns = _read(placed, nodes, backs)
    again: dict[int, float] = {}
    if recompute:
        columns, again = recomputed(columns, np.isin(placed.problem.graph.kind, INPUTS), backs)
    tensors = _tensors(columns, m)
    stages = _stages(placed, nodes)
    chain = ("F", *backs)
    tensors += [((a, d), ((b, d),), 0.0, True) for d in stages for a, b in pairwise(chain)]
    order = _in_order(placed, nodes, tensors, stages, backs)
    at = {node: k for k, node in enumerate(order)}
    parts = _parts(placed, nodes, order, stages, m)
    if recompute:
        parts = with_forward(parts, {d: size / m for d, size in again.items()})
    return parts, [Carried(at[u], tuple(at[v] for v in to), size, control) for u, to, size, control in tensors]


def _read(placed: Placed, nodes: list[Node], backs: tuple[str, ...]) -> list[Read]:
    """The tensors, each with all parts that read it or keep it."""
    graph = placed.problem.graph
    readers: list[set[Node]] = [set() for _ in range(graph.n_tensors)]
    for t, v in zip(graph.edge_tensor.tolist(), graph.consumer.tolist(), strict=True):
        readers[t].add(nodes[v])
    ops = graph.tensor_producer.tolist()
    storage = range(graph.n_tensors) if graph.tensor_storage is None else graph.tensor_storage.tolist()
    rows = zip(ops, readers, graph.tensor_bytes.tolist(), graph.tensor_control.tolist(), storage, strict=True)
    columns = [Read(v, nodes[v], to, nbytes, only, first) for v, to, nbytes, only, first in rows]
    reads = any(t.part[0] == "F" and not t.control and any(v[0] in backs for v in t.to) for t in columns)
    updated = optimisers(graph).any()
    found = []
    for t in columns:
        to = t.to
        if t.part[0] == "F" and not reads and not t.control:  # the backward pass needs what the forward pass reads
            to = to | {(back, d) for phase, d in to if phase == "F" for back in backs}
        if t.part[0] in backs and not to and not updated:
            to = {("U", t.part[1])}
        found.append(t._replace(to=to))
    return found


def _tensors(columns: list[Read], m: int) -> list[Folded]:
    """Tensors that leave their part; those of one producer and the same consumers together, as one."""
    total = defaultdict[tuple[Node, tuple[Node, ...], bool], float](float)
    held: dict[tuple[Node, tuple[Node, ...], int], float] = {}  # bytes counted of a storage that stays on its device
    for _, u, readers, nbytes, only, storage in columns:
        to = {v for v in readers if v != u and (v[0] != u[0] or v[0] not in ONCE)}
        once = {v for v in to if "U" in (u[0], v[0]) or u[0] == "P"}
        for group, share in ((once, 1), (to - once, m)):
            if group:
                end = tuple(sorted(group))
                counted = held.get((u, end, storage), 0.0)
                if all(v[1] == u[1] for v in group):
                    held[u, end, storage] = max(counted, nbytes)
                total[u, end, only] += max(nbytes - counted, 0.0) / share
    return [(u, to, nbytes, only) for (u, to, only), nbytes in total.items()]


def _stages(placed: Placed, nodes: list[Node]) -> dict[int, int]:
    """Device → stage, in the direction of the forward pass."""
    devices = list(dict.fromkeys(d for p, d in nodes if p in MICRO))
    needs: dict[Node, dict[Node, None]] = {("F", d): {} for d in devices}
    for u, v in placed.problem.graph.edges.tolist():
        if nodes[u][0] == nodes[v][0] == "F" and nodes[u] != nodes[v]:
            needs[nodes[v]][nodes[u]] = None
    return {d: stage for stage, (_, d) in enumerate(_sorted(placed, nodes, needs))}


def _in_order(
    placed: Placed, nodes: list[Node], tensors: list[Folded], stages: dict[int, int], backs: tuple[str, ...]
) -> list[Node]:
    """Parts in topological order: what runs once first and last."""
    once = sorted({node for node in nodes if node[0] in ONCE} | {v for _, to, *_ in tensors for v in to if v[0] == "U"})
    needs: dict[Node, dict[Node, None]] = {(phase, d): {} for phase in ("F", *backs) for d in stages}
    for u, to, *_ in tensors:
        for v in to:
            if u in needs and v in needs:
                needs[v][u] = None
    micro = _sorted(placed, nodes, needs)
    return [*(node for node in once if node[0] == "P"), *micro, *(node for node in once if node[0] == "U")]


def _sorted(placed: Placed, nodes: list[Node], needs: dict[Node, dict[Node, None]]) -> list[Node]:
    """Parts in topological order; UnsupportedError names an op in each direction where there is a circle."""
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        circle: list[Node] = error.args[1]  # each is an input of the next
        there = _edge(placed, nodes, *circle[:2])
        back = _edge(placed, nodes, *circle[-2:])
        apart = ", and leave colocation groups out, graph.replace(groups=())" if placed.problem.n_groups else ""
        raise UnsupportedError(
            f"microbatches needs stages that pass tensors in one direction, but {there}, and {back}; "
            f"place with 'contiguous' and prepare='forward-only'{apart}"
        ) from None


def _edge(placed: Placed, nodes: list[Node], a: Node, b: Node) -> str:
    """An edge from part a to part b, in words."""
    graph = placed.problem.graph
    names = placed.problem.cluster.names
    u, v = next((u, v) for u, v in graph.edges.tolist() if (nodes[u], nodes[v]) == (a, b))
    return f"{graph.names[u]!r} on {names[a[1]]} feeds {graph.names[v]!r} on {names[b[1]]}"


def _parts(placed: Placed, nodes: list[Node], order: list[Node], stages: dict[int, int], m: int) -> list[StagePart]:
    problem = placed.problem
    graph = placed.problem.graph
    number = {node: k for k, node in enumerate(order)}
    of = np.array([number[node] for node in nodes])
    share = np.array([m if node[0] in MICRO else 1 for node in order])
    took = problem.exec_times(placed.device)
    fixed = _overhead(placed)
    seconds = np.bincount(of, fixed + (took - fixed) / share[of], minlength=len(order))
    temporary = np.zeros(len(order))
    np.maximum.at(temporary, of, graph.temporary)
    lasting = np.bincount(placed.device, graph.persistent, minlength=problem.cluster.n_devices)
    parts = []
    for k, (phase, d) in enumerate(order):
        parts.append(StagePart(phase, stages.get(d, -1), d, seconds[k], lasting[d], temporary[k] / share[k]))
        lasting[d] = 0.0
    return parts


def _overhead(placed: Placed) -> np.ndarray:
    """Seconds of each op that do not shrink with its work: the overhead that its time was estimated with; shape (n_ops,)."""
    problem = placed.problem
    graph = placed.problem.graph
    columns = graph.metadata.get("costs", {})
    columns = columns.get("columns", {}) if isinstance(columns, dict) else {}
    known = np.zeros(problem.cluster.n_devices)
    for d, device in enumerate(zip(problem.cluster.names, problem.cluster.types, strict=True)):
        column = graph.time_column(*device)
        how = columns.get(graph.time_types[column]) if column >= 0 and isinstance(columns, dict) else None
        value = how.get("overhead") if isinstance(how, dict) else None
        if isinstance(value, (int, float)) and value > 0:
            known[d] = value / problem.divisor[d]
    return np.minimum(known[placed.device], problem.exec_times(placed.device))


def phases(graph: OpGraph, device: np.ndarray, split: bool) -> np.ndarray:
    """Phase of each op, shape (n_ops,): ``P``, ``F``, ``BW`` (with `split`: ``B`` or ``W``) or ``U``.

    ``W`` are backward ops from which no backward op on another device can be reached. ``U`` are optimiser ops, ops that read
    gradients and are none (their names say so: clipping), what depends on them, and sums of gradients of weights over devices:
    backward additions with an input from another device on which only updates depend, if anything does. ``P`` are forward ops
    that depend on no input, in graphs that have inputs.

    Raises
    ------
    UnsupportedError
        The graph has no backward pass, or nothing but one.
    """
    back = backward_part(graph)
    gradient = gradient_ops(graph)
    if not back.any() or back.all():
        raise UnsupportedError(
            f"microbatches needs a training step with a forward and a backward pass, and {graph.title} has no "
            f"{'forward' if back.all() else 'backward'} op; transforms.backward makes one of a forward graph"
        )
    update = depending(graph, back & (optimisers(graph) | ~gradient))
    update |= _summed(graph, device, back, update)
    fed = depending(graph, np.isin(graph.kind, INPUTS))
    phase = np.where(back, "BW", "F").astype(object)
    if split:
        phase[back] = np.where(_awaited(graph, device, back & ~update), "B", "W")[back]
    phase[~back & ~fed & fed.any()] = "P"
    phase[update] = "U"
    return phase


def summed_where_read(graph: OpGraph, device: np.ndarray) -> np.ndarray:
    """The device of each op, with additions of the backward pass moved to the device of what reads them, where that is one.

    Gradients of a tensor with several readers are summed by an op that belongs to no op of the forward pass; wherever it was
    placed, a pipeline sums them on the stage that needs the sum. Shape (n_ops,).
    """
    sums = backward_part(graph) & _kinds(graph, lambda kind: name_of(kind) in SUMS)
    moved = device.copy()
    for v in np.flatnonzero(sums)[::-1]:
        readers = np.unique(moved[graph.consumer[graph.succ_ptr[v] : graph.succ_ptr[v + 1]]])
        if len(readers) == 1:
            moved[v] = readers[0]
    return moved


def added_bytes(graph: OpGraph, device: np.ndarray, phase: np.ndarray) -> np.ndarray:
    """Bytes of gradients that the updates of each device only add to others, shape (highest device + 1,).

    Of a weight that several stages hold: all parts but one, as their sum has the bytes of one.
    """
    sums = _kinds(graph, lambda kind: name_of(kind) in SUMS)
    views = _kinds(graph, lambda kind: category(kind) in FREE)
    gradient = np.isin(phase, ("BW", "B", "W"))
    added = np.zeros(device.max(initial=0) + 1)
    for v in np.flatnonzero((phase == "U") & (sums | views)):
        edges = graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]
        edges = edges[~graph.tensor_control[graph.edge_tensor[edges]]]
        if len(edges) and gradient[graph.producer[edges]].all():
            gradient[v] = True
            if sums[v]:
                added[device[v]] += graph.edge_bytes[edges].sum() - graph.edge_bytes[edges].max()
    return added


def optimisers(graph: OpGraph) -> np.ndarray:
    """Whether each op is an optimiser's, by its kind; shape (n_ops,)."""
    return _kinds(graph, lambda kind: category(kind) == "optimiser")


def _kinds(graph: OpGraph, wanted: Callable[[str], bool]) -> np.ndarray:
    """Whether each op's kind is wanted, shape (n_ops,)."""
    return np.isin(graph.kind, [kind for kind in set(graph.kind.tolist()) if wanted(kind)])


def _summed(graph: OpGraph, device: np.ndarray, back: np.ndarray, update: np.ndarray) -> np.ndarray:
    """Whether each op is a sum of gradients over devices, or a view of one."""
    on = device.tolist()
    ops = back.tolist()
    edges = graph.edges.tolist()
    light = _kinds(graph, lambda kind: name_of(kind) in SUMS or category(kind) in FREE)
    last = (back & ~update & light).tolist()  # on which only updates, and others of these, depend
    for u, v in reversed(edges):
        last[u] = last[u] and (last[v] or bool(update[v]))
    summed = [False] * graph.n_ops
    for u, v in edges:
        summed[v] = summed[v] or (last[v] and ops[u] and (summed[u] or on[u] != on[v]))
    return np.array(summed, dtype=bool)


def _awaited(graph: OpGraph, device: np.ndarray, ops: np.ndarray) -> np.ndarray:
    """Whether one of `ops` on another device than v is v's successor, or the successor of one of `ops` that depends on v."""
    on = device.tolist()
    inside = ops.tolist()
    awaited = [False] * graph.n_ops
    for u, v in reversed(graph.edges.tolist()):
        if inside[u] and inside[v]:
            awaited[u] = awaited[u] or awaited[v] or on[u] != on[v]
    return np.array(awaited, dtype=bool)


class Read(NamedTuple):
    """A tensor: the op and the part that make it, the parts that read it, bytes, whether it only orders, and its storage."""

    op: int
    part: Node
    to: set[Node]
    bytes: float
    control: bool
    storage: int  # number of the first tensor in it


def recomputed(
    tensors: list[Read], is_input: np.ndarray, backs: tuple[str, ...]
) -> tuple[list[Read], dict[int, float]]:
    """The tensors of a step whose first backward part on each device runs the device's forward ops again.

    What a forward op makes for the backward pass of its own device is made again, unless it is an input of the model; what the
    forward ops of a device read from elsewhere is kept for that.

    Returns
    -------
    tensors, again
        `again`: bytes that are made and read within the first backward part, by device.
    """
    found = []
    again = defaultdict[int, float](float)
    first = backs[0]
    for t in tensors:
        phase, d = t.part
        if phase != "F" or t.control:
            found.append(t)
            continue
        from_elsewhere = {at for reader, at in t.to if reader == "F" and (at != d or is_input[t.op])}
        to = t.to | {(first, at) for at in from_elsewhere}
        if not is_input[t.op]:
            own = {(back, d) for back in backs} & to
            to -= own
            if later := own - {(first, d)}:
                found.append(t._replace(part=(first, d), to=later))
            elif own:
                again[d] += t.bytes
        found.append(t._replace(to=to))
    return found, again


def with_forward(parts: list[StagePart], again: dict[int, float]) -> list[StagePart]:
    """The parts, with time and bytes of each device's forward part in its first backward part."""
    forward = {part.device: part for part in parts if part.phase == "F"}
    return [
        replace(
            part,
            seconds=part.seconds + forward[part.device].seconds,
            temporary=max(part.temporary, forward[part.device].temporary) + again.get(part.device, 0.0),
        )
        if part.phase in ("B", "BW")
        else part
        for part in parts
    ]

"""Replicate a pipelined training step, and sum the gradients of each stage over its replicas."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count, expect
from placelab.base.files import MAX_OPS
from placelab.graphs.transforms.collective_hops import Hops, counts, hops
from placelab.graphs.transforms.reduce_steps import Reduction, all_reduce
from placelab.graphs.transforms.replica_ops import BACKWARD, FORWARD, UPDATE, ReplicaOps
from placelab.problem.clusters import replicated
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import KEY, Pipeline, required
from placelab.problem.problem import Problem

BACK = ("B", "W", "BW")
ROLE = {"F": FORWARD, "RF": FORWARD, "P": FORWARD, "U": UPDATE}


class Gradients(NamedTuple):
    """What is summed together at the end of a stage: `size` bytes on a device, by number.

    `edges` lead from backward ops to the updates that read them; `ops` are all that has to be over before, `updates` wait for the
    sum.
    """

    device: int
    stage: int
    size: float
    edges: np.ndarray
    ops: np.ndarray
    updates: np.ndarray


def pipeline_replica(
    problem: Problem,
    replicas: int,
    *,
    gradient: Any = None,
    algorithm: Literal["ring", "tree", "halving"] = "ring",
    bucket_bytes: float = np.inf,
    bandwidth: float | None = None,
    latency: float | None = None,
) -> Problem:
    """Copies of a pipelined training step that sum their gradients by all-reduces, stage by stage, before each update.

    Parameters
    ----------
    problem
        From :func:`microbatches` or :func:`placelab.generators.pipeline_training`: each op is tied to the device of its stage.
    replicas
        Number r of copies, each on devices of its own; each runs the micro-batches of `problem`. 1: `problem` as it is.
    gradient
        Bytes of the gradients of weights of each stage; a number or an array of shape (stages,). None: what the stage's update
        reads of backward ops; in a graph whose updates read none, or that has none, the persistent bytes of the stage.
    algorithm
        As in :func:`model_replica`.
    bucket_bytes
        Most bytes of a bucket; the gradients of a stage fill equal ones, which are summed one after the other.
    bandwidth, latency
        Of the links between replicas, see :func:`placelab.clusters.replicated`.

    Returns
    -------
    Problem
        On :func:`placelab.clusters.replicated`, with the same models of memory and transfers. Ops ``w{w}/v`` for op v of copy w,
        on its device there, and for bucket b, on the stream of its stage's device: ``bucket{b}/ready@{w}``, when all backward
        ops of the stage in copy w are over; ``bucket{b}/reduce{h}@{w}`` and ``gather{h}``, the hops of
        :func:`model_replica`. A stage whose update reads gradients has ``w{w}/gradients.{stage}`` before, which takes no time
        and has them from all devices. The update waits for all buckets of its stage. ``graph.metadata["pipeline"]`` has a
        column ``replica`` and the phase ``AR``, ``graph.metadata["replica"]`` columns as from :func:`model_replica`, ``op``
        being the number in `problem`. Every scheduler of pipelines orders each replica on its own.

    Raises
    ------
    FormatError
        A number out of range; halving where r is no power of two; `gradient` of a wrong length.
    UnsupportedError
        No stages and micro-batches; replicas already; an op that may run on several devices; no gradients at all.

    Notes
    -----
    Gradients stay on their device, and their sums take their place, until the update has ended; what streams hold meanwhile is
    without limit. The gradients of a weight that several stages use, as the first and last layer do, are added on the device of
    its update first, and then summed over replicas once, as PyTorch's DistributedDataParallel does; Megatron-LM sums each part
    over replicas, and adds them after that.
    O(r · (n_ops + n_edges + buckets · r)).

    References
    ----------
    Narayanan et al. (2021) §2.1, Megatron-LM; Li et al. (2020), PyTorch Distributed.

    Examples
    --------
    >>> import placelab as pl
    >>> links = pl.Cluster([1.0, 1.0], bandwidth=8.0)
    >>> step = pl.generators.pipeline_training(1.0, 2.0, microbatches=4, stages=2, cluster=links)
    >>> job = pipeline_replica(step, 2, gradient=16.0)
    >>> pl.simulate(step, pl.place(step, "hash"), "1f1b").makespan
    15.0
    >>> pl.simulate(job, pl.place(job, "hash"), "1f1b").makespan  # a ring of two takes 2 (n - 1) M / n B = 2 s
    17.0
    """
    expect(problem, Problem, "pipeline_replica")
    r = count(replicas, "replicas", most=MAX_OPS)
    pipeline = required(problem.graph, "pipeline_replica")
    most = float(Reduction(algorithm, bucket_bytes).bucket_bytes or 0.0)
    if not most > 0:
        raise FormatError("bucket_bytes is 0; expected more, or inf for one bucket per stage")
    steps = hops(algorithm, r)
    device = _devices(problem)
    if pipeline.replicas > 1:
        raise UnsupportedError(f"{problem.graph.title} has replicas already; give pipeline_replica the one pipeline")
    if pipeline.merged:
        raise UnsupportedError(
            f"passes of {problem.graph.title} run together; give pipeline_replica the pipeline before"
        )
    if r == 1:
        return problem
    gradients = _gradients(problem.graph, pipeline, device, _sizes(gradient, pipeline))
    shares = [max(1, int(np.ceil(each.size / most))) for each in gradients]
    if (n := r * problem.graph.n_ops + sum(shares) * (len(steps.source) + r)) > MAX_OPS:
        raise FormatError(f"{r} replicas have {n:,} ops; at most {MAX_OPS:,} are made")
    cluster = replicated(problem.cluster, r, bandwidth=bandwidth, latency=latency)
    ops = _ops(problem, pipeline, device, r, list(zip(gradients, shares, strict=True)), steps)
    graph = ops.graph(
        list(cluster.names),
        {**problem.graph.metadata, "name": f"{problem.graph.title}, {r} replicas", KEY: _columns(ops, pipeline)},
        workers=r,
        servers=0,
        sync="allreduce",
        iterations=1,
        training=True,
    )
    return problem.replace(graph=graph, cluster=cluster)


def _devices(problem: Problem) -> np.ndarray:
    several = np.flatnonzero(problem.may_run.sum(axis=1) != 1)
    if len(several):
        raise UnsupportedError(
            f"pipeline_replica needs each op tied to the device of its stage; {problem.graph.names[several[0]]!r} is not"
        )
    return problem.may_run.argmax(axis=1)


def _sizes(gradient: Any, pipeline: Pipeline) -> np.ndarray | None:
    if gradient is None:
        return None
    try:
        given = np.asarray(gradient, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    if given.shape not in ((), (pipeline.stages,)) or not (np.isfinite(given) & (given >= 0)).all():
        raise FormatError(
            f"gradient is {gradient!r:.60}; expected bytes, 0 or more: a number, or one for each of {pipeline.stages} stages"
        )
    return np.broadcast_to(given, pipeline.stages)


def _gradients(graph: OpGraph, pipeline: Pipeline, device: np.ndarray, given: np.ndarray | None) -> list[Gradients]:
    """What is summed, by stage; updates of devices without a stage last."""
    read = np.flatnonzero((pipeline.microbatch[graph.producer] >= 0) & (pipeline.phase[graph.consumer] == "U"))
    reading = graph.tensor_bytes[graph.edge_tensor[read]].any()  # else the graph does not tell gradients apart
    backward = np.isin(pipeline.phase, BACK)
    update = pipeline.phase == "U"
    keys = {(s, int(device[pipeline.stage == s][0])) for s in range(pipeline.stages)}
    keys |= set(zip(pipeline.stage[update].tolist(), device[update].tolist(), strict=True))
    added = _added(graph)
    gradients = []
    for stage, d in sorted(keys, key=lambda key: (key[0] < 0, *key)):
        of = pipeline.stage == stage
        updates = np.flatnonzero(update & of & (device == d))
        edges = read[np.isin(graph.consumer[read], updates)]
        if given is not None and stage >= 0:
            size = float(given[stage])
        elif reading:
            read_bytes = graph.tensor_bytes[np.unique(graph.edge_tensor[edges])].sum()
            size = max(0.0, float(read_bytes - added[updates].sum()))
        else:
            size = float(graph.persistent[of].sum())
        if size:
            gradients.append(Gradients(d, stage, size, edges, np.flatnonzero(backward & of), updates))
    if not gradients and given is None:
        raise UnsupportedError(
            f"{graph.title} has no gradients of weights, and no parameters; give pipeline_replica gradient, bytes per stage"
        )
    return gradients


def _added(graph: OpGraph) -> np.ndarray:
    """Bytes of gradients that each op only adds to others, shape (n_ops,); 0 where the graph does not say."""
    column = graph.metadata[KEY].get("added")
    known = isinstance(column, list) and len(column) == graph.n_ops and set(map(type, column)) <= {int, float}
    added = np.array(column if known else [0.0] * graph.n_ops, dtype=np.float64)
    return np.where(np.isfinite(added), added, 0.0)


def _ops(
    problem: Problem,
    pipeline: Pipeline,
    device: np.ndarray,
    r: int,
    buckets: list[tuple[Gradients, int]],
    steps: Hops,
) -> ReplicaOps:
    """All ops: micro-batches by replica, all-reduces by stage, updates by replica. Op column ``op``: number in `problem`."""
    graph = problem.graph
    k = problem.cluster.n_devices
    ops = ReplicaOps(graph)
    number = np.empty((r, graph.n_ops), dtype=np.int64)
    every = np.arange(r)

    def copy(chosen: np.ndarray) -> None:
        roles = np.array([ROLE.get(phase, BACKWARD) for phase in pipeline.phase[chosen].tolist()])
        for w in range(r):
            number[w, chosen] = ops.add(
                [f"w{w}/{name}" for name in graph.names[chosen]],
                graph.kind[chosen],
                cost=chosen,
                device=device[chosen] + w * k,
                iteration=0,
                worker=w,
                role=roles,
                op=chosen,
            )

    last = pipeline.phase == "U"
    copy(np.flatnonzero(~last))
    sums: list[tuple[np.ndarray, np.ndarray]] = []  # what updates wait for, and the updates
    b = 0
    for each, n in buckets:
        ready = number[:, each.ops]
        if len(each.edges):
            ready = _gathered(ops, graph, number, each, k)[:, None]
        stream = (r + every) * k + each.device
        whole = None
        for _ in range(n):
            whole = all_reduce(
                ops, f"bucket{b}", each.size / n, steps, ready, stream, after=whole, iteration=0, bucket=b
            )
            b += 1
            sums.append((whole, each.updates))
    copy(np.flatnonzero(last))
    for whole, updates in sums:
        for v in updates.tolist():
            ops.connect(whole, np.repeat(number[:, v], counts(steps)))
    for w in range(r):
        ops.copy_edges(number[w])
    return ops


def _gathered(ops: ReplicaOps, graph: OpGraph, number: np.ndarray, each: Gradients, k: int) -> np.ndarray:
    """An op of each replica that has all gradients of a stage on its device."""
    every = np.arange(len(number))
    where = each.stage if each.stage >= 0 else f"device{each.device}"
    made = ops.add(
        [f"w{w}/gradients.{where}" for w in every],
        "gradients",
        device=each.device + every * k,
        iteration=0,
        worker=every,
        role=BACKWARD,
    )
    tensor = graph.edge_tensor[each.edges]
    for control in (False, True):
        some = graph.tensor_control[tensor] == control
        edges = each.edges[some]
        of = tensor[some]
        size = () if control else (np.tile(graph.edge_bytes[edges], len(number)), np.tile(of, len(number)))
        ops.connect(number[:, graph.producer[edges]], made[:, None], *size)
    return made


def _columns(ops: ReplicaOps, pipeline: Pipeline) -> dict[str, list[Any]]:
    """Micro-batch, stage, phase and replica of each op."""
    op, worker = (np.concatenate(ops.columns[label]) for label in ("op", "worker"))
    own = op >= 0
    return {
        "microbatch": np.where(own, pipeline.microbatch[op], -1).tolist(),
        "stage": np.where(own, pipeline.stage[op], -1).tolist(),
        "phase": np.where(own, pipeline.phase[op], "AR").tolist(),
        "replica": worker.tolist(),
    }

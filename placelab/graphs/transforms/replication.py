"""Replicate a model on many workers that share parameters through servers or all-reduces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from placelab.base.errors import FormatError, count, expect
from placelab.base.files import MAX_OPS
from placelab.graphs.transforms.backward_graph import backward
from placelab.graphs.transforms.reduce_steps import Reduction, reduce_steps
from placelab.graphs.transforms.replica_ops import READ, STEP, UPDATE, Forward, Model, ReplicaOps, forward_with_reads
from placelab.problem.graph import OpGraph

SYNCS = ("ps", "ps-async", "allreduce")
ASSIGN = ("round-robin", "size")


def model_replica(
    graph: OpGraph,
    workers: int,
    servers: int = 1,
    sync: Literal["ps", "ps-async", "allreduce"] = "ps",
    iterations: int = 1,
    training: bool = True,
    barrier: bool = True,
    assign: Literal["round-robin", "size"] = "round-robin",
    update: float = 0.0,
    *,
    ratio: Any = 1.0,
    algorithm: Literal["ring", "tree", "halving", "hierarchical"] = "ring",
    buckets: Literal["fit", "reach"] | Sequence[Sequence[str]] = "fit",
    bucket_bytes: float | None = None,
    first_bucket: float = 2**20,
    window: Literal["end", "start"] = "end",
    streams: bool = True,
    rings: int = 1,
    hosts: int = 1,
    samples: Sequence[float] | None = None,
) -> OpGraph:
    """The graph of a data-parallel job: a copy of the model per worker and iteration, and how their parameters are kept alike.

    A *read* is an op of kind ``read`` or ``ReadVariableOp``, or one named ``<variable>/read``, as in graphs of TensorFlow.
    Several reads of a variable are one, so that its gradient is sent or all-reduced once. In a graph without reads, such as
    those of PyTorch and ONNX, each op with persistent bytes reads one parameter of that size. A backward pass that the graph
    has already, and all that depends on it, is left out when training: it is mirrored anew.

    With parameter servers, iteration k has these ops; θ is a parameter, ``|θ|`` the bytes that its read sends, s its server:

    - ``it{k}/step`` on ``ps:0``, with a barrier and for k > 0: waits (control edges) for every update of iteration k - 1.
    - ``it{k}/θ/read@w`` on ``ps:s``, no operations: waits for the step, or without a barrier for θ's last update. Sends ``|θ|``
      bytes to the consumers of θ in copy w.
    - ``it{k}/w{w}/v`` on ``worker:w``: op v of copy w, a gradient op, too.
    - ``it{k}/θ/update`` on ``ps:s``: receives ``|θ|`` bytes from the gradient op of each consumer of θ, of all workers.

    ``sync="ps-async"`` has ``it{k}/θ/apply@w``, which receives from worker w alone, for the update, and ``it{k}/step@w``,
    which waits for worker w's, for the step. The gradient op of a read is left out: what it would receive is pushed.

    With ``sync="allreduce"`` each worker has its own reads, ``it{k}/w{w}/θ/read``. Gradients fill buckets in order of the
    backward pass, and bucket b of M bytes has these ops, on ``worker:w/stream``, which computes nothing else and runs one
    bucket after the other:

    - ``it{k}/bucket{b}/ready@w``: waits for the last gradient ops of its parameters in copy w.
    - ``it{k}/bucket{b}/reduce{h}@w``, ``…/gather{h}@w``: hop h, received by w: a partial or a finished sum, of M/n bytes or as
      the algorithm has it. A replica joins when its own gradients are ready.
    - ``it{k}/bucket{b}/update@w`` on ``worker:w``: waits for the whole sum. The step of w waits for all of these.

    Parameters
    ----------
    graph
        The forward graph.
    workers, servers
        Numbers of devices ``worker:w`` and ``ps:s``: :func:`placelab.clusters.parameter_server`, and for all-reduce
        :func:`placelab.clusters.data_parallel`, which has no servers.
    sync
        ``"ps"``: an update waits for all workers; ``"ps-async"``: for one; ``"allreduce"``: without servers.
    iterations
        Steps in the graph, one after the other.
    training
        True: add the backward pass (:func:`placelab.transforms.backward`). False: nothing is updated; a step waits for the last
        ops of the iteration before, of all workers, or with ``"ps-async"`` or without a barrier of its own worker.
    barrier
        False: a parameter is read again as soon as it is updated.
    assign
        Server of each parameter: ``"round-robin"`` in the order of reads; ``"size"``, largest first to the server of fewest
        bytes, ties to the lower number.
    update
        Operations of the update of one parameter.
    ratio
        Cost of each gradient op over its op's; a number, or one per op of `graph`.
    algorithm
        ``"ring"``; ``"tree"``, by pairs of growing distance to worker 0 and back; ``"halving"``, recursive halving, then
        doubling, for a power of two workers; ``"hierarchical"``, as in :func:`placelab.collective_time`.
    buckets
        ``"fit"``: gradients in order of the backward pass, as many as fit. ``"reach"`` (PyTorch's DistributedDataParallel):
        parameters in reverse order; a bucket is closed once its bytes reach the cap. Or lists of parameters, in the order in
        which buckets are reduced.
    bucket_bytes
        Most bytes of a bucket that ``"fit"`` fills, where a larger gradient has one of its own; the cap of ``"reach"``. None:
        no limit, and 25 MiB with ``"reach"``.
    first_bucket
        Cap of the first bucket of ``"reach"``.
    window
        ``"end"``: a bucket is reduced when its gradients are ready. ``"start"``: at the start of the next iteration, after
        the step, in order of the forward pass; the first iteration reduces what the one before has left, and the last one's
        gradients stay.
    streams
        False: the ops of a bucket run on ``worker:w`` and wait there for a compute op to end; buckets may overlap.
    rings
        Rings that share a bucket: :func:`placelab.generators.collective`.
    hosts
        Hosts of equally many workers, in their order, for ``"hierarchical"`` and several rings.
    samples
        Samples of each worker, as :func:`placelab.share_batch` gives them: costs and tensors of its copy are times its samples
        over their mean. Gradients are weighted by them, which takes no time. None: equally many.

    Returns
    -------
    OpGraph
        Each op may run on one device, so every partitioner gives the same placement. Colocation groups and device
        constraints are left out. What an op holds (persistent and reserved bytes) counts in iteration 0; a variable's bytes are
        held by ``it0/θ/read@0``, on its server. ``metadata["replica"]`` has ``workers``, ``servers``, ``sync``, ``iterations``,
        ``training``, ``barrier``, ``parameters`` (names by number), ``roles`` (texts), and lists of whole numbers, one per op,
        by op number: ``iteration``; ``worker``, -1 for ops of all workers; ``role``, an index into ``roles``; ``op``, the
        number in `graph` of the op itself, of a gradient op's forward op, of the read (where there are none, of the op that holds
        the parameter) for reads and updates on servers, else -1; and with all-reduce ``bucket``, -1 for none.

    Raises
    ------
    FormatError
        No reads; a read that depends on more than its variable; a number below 1; all-reduce without training; lists of
        buckets in which a parameter is not once.

    Notes
    -----
    A tensor with several readers has several pushes, one from each gradient op. Ops are numbered by iteration: step,
    reads by parameter then worker, copies by worker, updates; or step, copies with their reads, buckets. At one instant the
    simulator sends to the lower worker first, which makes a tree slower than it need be where ports are shared (``sequential``):
    an :class:`placelab.Order` of transfers can put the farther one first.
    O(workers · iterations · (n_ops + n_edges + buckets · workers)).

    References
    ----------
    Hashemi et al. (2018) §2; Thakur and Gropp (2003); Patarasuk and Yuan (2009).

    Examples
    --------
    >>> import placelab as pl
    >>> g = pl.OpGraph.from_arrays(["w/read", "a"], [0, 1.0], [(0, 1)], edge_bytes=[4.0])
    >>> made = model_replica(g, 1)
    >>> for name, devices in zip(made.names, made.device_set):
    ...     print(name, *made.device_sets[devices])
    it0/w/read@0 ps:0
    it0/w0/a worker:0
    it0/w0/gradients/a_grad worker:0
    it0/w/update ps:0
    """
    expect(graph, OpGraph, "model_replica")
    w = count(workers, "workers", most=MAX_OPS)
    s = count(servers, "servers", most=MAX_OPS)
    k = count(iterations, "iterations", most=MAX_OPS)
    if sync not in SYNCS:
        raise FormatError(f"sync is {sync!r:.60}; expected one of {', '.join(SYNCS)}")
    if sync == "allreduce" and not training:
        raise FormatError("an all-reduce sums gradients, of which there are none with training=False; choose sync='ps'")
    forward = forward_with_reads(graph, cut=training)
    step = backward(forward.graph, _of_ops(ratio, graph, forward), transfer_ratio=1.0) if training else forward.graph
    if (n := k * w * step.n_ops) > MAX_OPS:
        raise FormatError(f"{w:,} workers and {k:,} iterations have over {n:,} ops; at most {MAX_OPS:,} are made")
    model = Model(forward, step, bool(training))
    scale = _scale(samples, w)
    wait = bool(barrier)
    if sync == "allreduce":
        ops = reduce_steps(
            model,
            w,
            Reduction(algorithm, bucket_bytes, window, streams, buckets, first_bucket, rings, hosts),
            barrier=wait,
            iterations=k,
            update=update,
            scale=scale,
        )
        others = [f"worker:{i}/stream" for i in range(w)]
    else:
        server = servers_of(model.size, s, assign)
        ops = server_steps(model, w, server, scale, joint=sync == "ps", barrier=wait, iterations=k, update=update)
        others = [f"ps:{i}" for i in range(s)]
    return ops.graph(
        [*(f"worker:{i}" for i in range(w)), *others],
        {**forward.graph.metadata, "name": f"{graph.title}, {w} workers"},
        workers=w,
        servers=0 if sync == "allreduce" else s,
        sync=sync,
        iterations=k,
        training=bool(training),
        barrier=wait,
        parameters=forward.parameters,
    )


def _of_ops(ratio: Any, graph: OpGraph, forward: Forward) -> Any:
    """The ratio of each op of the forward graph, from one number or one per op of the given graph."""
    return np.asarray(ratio)[forward.origin] if np.shape(ratio) == (graph.n_ops,) else ratio


def _scale(samples: Sequence[float] | None, workers: int) -> np.ndarray:
    """Samples of each worker over their mean."""
    if samples is None:
        return np.ones(workers)
    try:
        given = np.asarray(samples, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array(np.nan)
    if given.shape != (workers,) or not (np.isfinite(given) & (given >= 0)).all() or not given.any():
        raise FormatError(f"samples is {samples!r:.60}; expected a number of 0 or more for each of {workers} workers")
    return given / given.mean()


def servers_of(size: np.ndarray, servers: int, assign: str) -> np.ndarray:
    """The server of each parameter, of these bytes, in turn or by size; shape (n_parameters,).

    >>> servers_of(np.array([1.0, 5.0, 2.0, 2.0]), 2, "size").tolist()
    [1, 0, 1, 1]
    """
    if assign not in ASSIGN:
        raise FormatError(f"assign is {assign!r:.60}; expected one of {', '.join(ASSIGN)}")
    if assign == "round-robin":
        return np.arange(len(size)) % servers
    server = np.zeros(len(size), dtype=int)
    load = np.zeros(servers)
    for p in np.argsort(-size, kind="stable"):
        server[p] = load.argmin()
        load[server[p]] += size[p]
    return server


def server_steps(
    model: Model,
    workers: int,
    server: np.ndarray,
    scale: np.ndarray,
    *,
    joint: bool,
    barrier: bool,
    iterations: int,
    update: float,
) -> ReplicaOps:
    """All ops of the job. Devices are worker w, numbered w, and server s, numbered ``workers + s``.

    Parameters
    ----------
    server
        Of each parameter.
    scale
        Of the costs of each worker's copy.
    joint
        Whether an update waits for all workers.
    """
    ops = ReplicaOps(model.step)
    p = model.n_reads
    every = np.arange(workers)
    device = workers + np.repeat(server, workers)
    names = model.forward.parameters
    held = np.outer(model.step.persistent[:p], every == 0).ravel()
    number = np.full((workers, model.step.n_ops), -1)  # of each op of each copy, of this iteration
    last = None  # updates of the iteration before, by parameter, one for all workers or one for each
    for k in range(iterations):
        before = _before(ops, k, model, number, last, joint, barrier)
        reads = ops.add(
            [f"it{k}/{name}/read@{w}" for name in names for w in range(workers)],
            "read",
            held=held if k == 0 else 0.0,
            device=device,
            iteration=k,
            worker=np.tile(every, p),
            role=READ,
            op=np.repeat(model.origin[:p], workers),
        ).reshape(p, workers)
        if before is not None:
            ops.connect(before, reads)
        number[:, :p] = reads.T
        for w in range(workers):
            number[w, model.own] = model.add_copy(ops, model.own, k, w, w, scale[w])
        if model.training:
            last = _updates(ops, k, model, workers, workers + server, joint, update)
            number[:, model.pushes] = last.T
        for w in range(workers):
            ops.copy_edges(number[w], model.growth(scale[w]))
    return ops


def _before(
    ops: ReplicaOps, k: int, model: Model, number: np.ndarray, last: np.ndarray | None, joint: bool, barrier: bool
) -> np.ndarray | None:
    """What the reads of iteration k wait for, as an array that broadcasts to (parameters, workers)."""
    if k == 0 or (not barrier and last is not None):
        return last
    one = joint and barrier
    workers = len(number)
    steps = ops.add(
        [f"it{k}/step"] if one else [f"it{k}/step@{w}" for w in range(workers)],
        "step",
        device=workers,
        iteration=k,
        worker=-1 if one else np.arange(workers),
        role=STEP,
    )
    ops.connect(number[:, model.ends].T if last is None else last, steps)
    return steps


def _updates(
    ops: ReplicaOps, k: int, model: Model, workers: int, device: np.ndarray, joint: bool, update: float
) -> np.ndarray:
    """The update of each parameter, or one for each worker; shape (parameters, 1 or workers)."""
    names = model.forward.parameters
    n = 1 if joint else workers
    return ops.add(
        [f"it{k}/{name}/update" if joint else f"it{k}/{name}/apply@{w}" for name in names for w in range(n)],
        "update" if joint else "apply",
        compute=update,
        device=np.repeat(device, n),
        iteration=k,
        worker=-1 if joint else np.tile(np.arange(workers), model.n_reads),
        role=UPDATE,
        op=np.repeat(model.origin[: model.n_reads], n),
    ).reshape(-1, n)

"""Replicate a model on many workers that share parameters through servers or all-reduces."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from placelab.base.errors import FormatError, count, expect
from placelab.base.limits import MAX_OPS
from placelab.graphs.transforms.backward_graph import backward
from placelab.graphs.transforms.model_copies import Model
from placelab.graphs.transforms.parameter_reads import Forward, forward_with_reads
from placelab.graphs.transforms.reduce_steps import Reduction, reduce_steps
from placelab.graphs.transforms.server_steps import server_steps, servers_of
from placelab.problem.graph import OpGraph

SYNCS = ("ps", "ps-async", "allreduce")


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
    algorithm: Literal["ring", "tree", "halving"] = "ring",
    bucket_bytes: float = np.inf,
    window: Literal["end", "start"] = "end",
    streams: bool = True,
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
        doubling, for a power of two workers.
    bucket_bytes
        Most bytes of a bucket; a larger gradient has one of its own.
    window
        ``"end"``: a bucket is reduced when its gradients are ready. ``"start"``: at the start of the next iteration, after
        the step, in order of the forward pass; the first iteration reduces what the one before has left, and the last one's
        gradients stay.
    streams
        False: the ops of a bucket run on ``worker:w`` and wait there for a compute op to end; buckets may overlap.

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
        No reads; a read that depends on more than its variable; a number below 1; all-reduce without training.

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
    w, s, k = count(workers, "workers"), count(servers, "servers"), count(iterations, "iterations")
    if sync not in SYNCS:
        raise FormatError(f"sync is {sync!r:.60}; expected one of {', '.join(SYNCS)}")
    if sync == "allreduce" and not training:
        raise FormatError("an all-reduce sums gradients, of which there are none with training=False; choose sync='ps'")
    forward = forward_with_reads(graph, cut=training)
    step = backward(forward.graph, _of_ops(ratio, graph, forward), transfer_ratio=1.0) if training else forward.graph
    if (n := k * w * step.n_ops) > MAX_OPS:
        raise FormatError(f"{w:,} workers and {k:,} iterations have over {n:,} ops; at most {MAX_OPS:,} are made")
    model = Model(forward, step, bool(training))
    wait = bool(barrier)
    if sync == "allreduce":
        ops = reduce_steps(
            model,
            w,
            Reduction(algorithm, bucket_bytes, window, streams),
            barrier=wait,
            iterations=k,
            update=update,
        )
        others = [f"worker:{i}/stream" for i in range(w)]
    else:
        server = servers_of(model.size, s, assign)
        ops = server_steps(model, w, server, joint=sync == "ps", barrier=wait, iterations=k, update=update)
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

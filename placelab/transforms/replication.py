"""Replicate a model on many workers, which read from and update parameter servers or reduce gradients among each other."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from placelab.errors import FormatError, expect
from placelab.problem.graph import OpGraph
from placelab.transforms.backward_graph import backward
from placelab.transforms.model_copies import Model
from placelab.transforms.parameter_reads import forward_with_reads
from placelab.transforms.server_steps import server_steps, servers_of

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
) -> OpGraph:
    """The graph of a data-parallel job: a copy of the model per worker and iteration, and how they keep their parameters alike.

    A *read* is an op of kind ``read`` or ``ReadVariableOp``, or one named ``<variable>/read``, as in graphs of TensorFlow. In a
    graph without these, such as those of PyTorch and ONNX, each op with persistent bytes reads one parameter of that size. A
    backward pass that the graph has already, and all that depends on it, is left out when training: it is mirrored anew.

    With parameter servers, iteration k has these ops; θ is a parameter, |θ| the bytes of its read, s its server.

    ==========================  ============  ===================================================================================
    op                          device        inputs
    ==========================  ============  ===================================================================================
    ``it{k}/step``              ``ps:0``      with a barrier, k > 0: every update of iteration k - 1 (control)
    ``it{k}/θ/read@w``          ``ps:s``      the step (control), or without a barrier θ's update of iteration k - 1 (control);
                                              |θ| bytes to each consumer of θ in copy w, no operations
    ``it{k}/w{w}/v``            ``worker:w``  as op v, within the copy
    ``it{k}/θ/update``          ``ps:s``      |θ| bytes from each gradient op of a consumer of θ, of all workers
    ==========================  ============  ===================================================================================

    ``sync="ps-async"``: instead of one update, ``it{k}/θ/apply@w`` has the inputs from worker w alone; instead of one step,
    ``it{k}/step@w`` waits for worker w's. The gradient op of a read is left out: its inputs are what is pushed.

    Parameters
    ----------
    graph
        The forward graph.
    workers, servers
        Numbers of devices ``worker:w`` and ``ps:s``, as in :func:`placelab.clusters.parameter_server`.
    sync
        ``"ps"``: an update waits for all workers; ``"ps-async"``: for one.
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
        Operations of an update.
    ratio
        Cost of each gradient op over its op's.

    Returns
    -------
    OpGraph
        Each op may run on one device, so every partitioner gives the same placement. Colocation groups and device
        constraints are left out. What an op holds (persistent and reserved bytes) counts in iteration 0; a variable's bytes are
        held by ``it0/θ/read@0``, on its server. ``metadata["replica"]`` has ``workers``, ``servers``, ``sync``,
        ``iterations``, ``training``, ``barrier``, ``parameters`` (names by number), ``roles`` (texts), and lists of whole
        numbers with one entry per op, by op number: ``iteration``; ``worker``, -1 for ops of all workers; ``role``, an index into
        ``roles``; ``op``, the number in `graph` of the op itself, of a gradient op's forward op, or of the read (the
        op that holds the parameter, where there are no reads) for reads and updates, -1 for steps.

    Raises
    ------
    FormatError
        No reads; a read that depends on more than its variable; a number below 1.

    Notes
    -----
    A tensor with several readers has several pushes, one from each gradient op. Numbers of ops ascend by iteration: step,
    reads by parameter then worker, copies by worker, updates. O(workers · iterations · (n_ops + n_edges)).

    References
    ----------
    Hashemi et al. (2018) §2.

    Examples
    --------
    >>> import placelab as pl
    >>> g = pl.OpGraph.from_arrays(["w/read", "a"], [0, 1.0], [(0, 1)], edge_bytes=[4.0])
    >>> for name, devices in zip(*(lambda r: (r.names, r.device_sets))(model_replica(g, 1))):
    ...     print(name, *devices)
    it0/w/read@0 ps:0
    it0/w0/a worker:0
    """
    expect(graph, OpGraph, "model_replica")
    for label, n in (("workers", workers), ("servers", servers), ("iterations", iterations)):
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
            raise FormatError(f"{label} is {n!r:.60}; expected a whole number, 1 or more")
    if sync not in SYNCS:
        raise FormatError(f"sync is {sync!r:.60}; expected one of {', '.join(SYNCS)}")
    forward = forward_with_reads(graph, cut=training)
    step = backward(forward.graph, ratio, transfer_ratio=1.0) if training else forward.graph
    model = Model(forward, step, bool(training))
    server = servers_of(model.sent, int(servers), assign)
    ops = server_steps(
        model,
        int(workers),
        server,
        joint=sync == "ps",
        barrier=bool(barrier),
        iterations=int(iterations),
        update=update,
    )
    return ops.graph(
        [*(f"worker:{w}" for w in range(workers)), *(f"ps:{s}" for s in range(servers))],
        {**forward.graph.metadata, "name": f"{graph.title}, {workers} workers"},
        workers=int(workers),
        servers=int(servers),
        sync=sync,
        iterations=int(iterations),
        training=bool(training),
        barrier=bool(barrier),
        parameters=forward.parameters,
    )

"""The steps of a job with parameter servers: reads, copies of the model, updates."""

from __future__ import annotations

import numpy as np

from placelab.base.errors import FormatError
from placelab.graphs.transforms.model_copies import Model
from placelab.graphs.transforms.replica_ops import READ, STEP, UPDATE, ReplicaOps

ASSIGN = ("round-robin", "size")


def servers_of(size: np.ndarray, servers: int, assign: str) -> np.ndarray:
    """The server of each parameter, of these bytes, in turn or by size; shape (n_parameters,).

    >>> servers_of(np.array([1.0, 5.0, 2.0, 2.0]), 2, "size").tolist()
    [1, 0, 1, 1]
    """
    if assign not in ASSIGN:
        raise FormatError(f"assign is {assign!r:.60}; expected one of {', '.join(ASSIGN)}")
    if assign == "round-robin":
        return np.arange(len(size)) % servers
    server, load = np.zeros(len(size), dtype=int), np.zeros(servers)
    for p in np.argsort(-size, kind="stable"):
        server[p] = load.argmin()
        load[server[p]] += size[p]
    return server


def server_steps(
    model: Model, workers: int, server: np.ndarray, *, joint: bool, barrier: bool, iterations: int, update: float
) -> ReplicaOps:
    """All ops of the job. Devices are worker w, numbered w, and server s, numbered ``workers + s``.

    Parameters
    ----------
    server
        Of each parameter.
    joint
        Whether an update waits for all workers.
    """
    ops, p, every = ReplicaOps(model.step), model.n_reads, np.arange(workers)
    device, names = workers + np.repeat(server, workers), model.forward.parameters
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
            number[w, model.own] = model.add_copy(ops, model.own, k, w, w)
        if model.training:
            last = _updates(ops, k, model, workers, workers + server, joint, update)
            number[:, model.pushes] = last.T
        for w in range(workers):
            ops.copy_edges(number[w])
    return ops


def _before(
    ops: ReplicaOps, k: int, model: Model, number: np.ndarray, last: np.ndarray | None, joint: bool, barrier: bool
) -> np.ndarray | None:
    """What the reads of iteration k wait for, as an array that broadcasts to (parameters, workers)."""
    if k == 0 or (not barrier and last is not None):
        return last
    one, workers = joint and barrier, len(number)
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
    names, n = model.forward.parameters, 1 if joint else workers
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

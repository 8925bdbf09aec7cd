"""The steps of a job without servers: each worker has all parameters, and all-reduces sum the gradients, bucket by bucket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.limits import MAX_OPS
from placelab.graphs.transforms.replica_ops import GATHER, READ, READY, REDUCE, STEP, UPDATE, Model, ReplicaOps

WINDOWS = ("end", "start")
ALGORITHMS = ("ring", "tree", "halving")


@dataclass(frozen=True, eq=False)
class Reduction:
    """How gradients are summed: see :func:`placelab.transforms.model_replica`."""

    algorithm: str = "ring"
    bucket_bytes: float = np.inf
    window: str = "end"
    streams: bool = True

    def __post_init__(self) -> None:
        if self.window not in WINDOWS:
            raise FormatError(f"window is {self.window!r:.60}; expected one of {', '.join(WINDOWS)}")
        expect(self.bucket_bytes, (int, float, np.number), "bucket_bytes")
        if not self.bucket_bytes >= 0:
            raise FormatError(f"bucket_bytes is {self.bucket_bytes!r:.60}; expected bytes, 0 or more")


def buckets_of(model: Model, most: float) -> np.ndarray:
    """The bucket of each parameter: gradients in order of the backward pass, as many as fit into `most` bytes, at least one.

    A gradient's place is that of the last gradient op before it; ties: the later read first. Shape (n_reads,).
    """
    place = np.full(model.n_reads, -1)
    np.maximum.at(place, *model.gradients)
    bucket = np.zeros(model.n_reads, dtype=int)
    load = 0.0
    b = 0
    for i, p in enumerate(np.lexsort((-model.reads, place))):
        if i and load + model.size[p] > most:
            b, load = b + 1, 0.0
        bucket[p], load = b, load + model.size[p]
    return bucket


def reduce_steps(
    model: Model, workers: int, how: Reduction, *, barrier: bool, iterations: int, update: float
) -> ReplicaOps:
    """All ops of the job. Devices are worker w, numbered w, and its stream, numbered ``workers + w``."""
    ops = ReplicaOps(model.step)
    bucket = buckets_of(model, how.bucket_bytes)
    steps = hops(how.algorithm, workers)
    per_parameter = lambda made: made[bucket].T  # noqa: E731
    number: np.ndarray | None = None  # the copies of the iteration before
    summed: np.ndarray | None = None  # its updates, by bucket and worker
    for k in range(iterations):
        if how.window == "end":
            before = None if summed is None else per_parameter(summed)
            number = _copies(ops, k, model, before if before is None or not barrier else _step(ops, k, before), workers)
            summed = _reductions(ops, k, model, bucket, steps, number, how, update)
        else:
            last = None if number is None or not barrier else _step(ops, k, number[:, model.gradients[1]])
            summed = _reductions(ops, k, model, bucket, steps, number if last is None else last, how, update)
            number = _copies(ops, k, model, per_parameter(summed), workers)
    return ops


def _step(ops: ReplicaOps, k: int, before: np.ndarray) -> np.ndarray:
    """An op of each worker that waits for its row of `before`; shape (workers, 1)."""
    every = np.arange(len(before))
    made = ops.add(
        [f"it{k}/step@{w}" for w in every], "step", device=every, iteration=k, worker=every, role=STEP
    ).reshape(-1, 1)
    ops.connect(before, made)
    return made


def _copies(ops: ReplicaOps, k: int, model: Model, before: np.ndarray | None, workers: int) -> np.ndarray:
    """The number of each op in each worker's copy, -1 for gradient ops of reads; reads wait for `before`."""
    number = np.full((workers, model.step.n_ops), -1)
    for w in range(workers):
        number[w, model.reads] = ops.add(
            [f"it{k}/w{w}/{name}" for name in model.step.names[model.reads]],
            "read",
            held=model.step.persistent[model.reads] if k == 0 else 0.0,
            device=w,
            iteration=k,
            worker=w,
            role=READ,
            op=model.origin[model.reads],
        )
        number[w, model.own] = model.add_copy(ops, model.own, k, w, w)
        ops.copy_edges(number[w])
    if before is not None:
        ops.connect(before, number[:, model.reads])
    return number


def _reductions(
    ops: ReplicaOps,
    k: int,
    model: Model,
    bucket: np.ndarray,
    steps: Hops,
    gradients: np.ndarray | None,
    how: Reduction,
    update: float,
) -> np.ndarray:
    """All-reduces of all buckets; the updates after them, by bucket and worker. `gradients` has a row per worker, by op."""
    n = len(steps.last)
    n_buckets = bucket.max() + 1
    size = np.bincount(bucket, model.size)
    every = np.arange(n)
    whole: np.ndarray | None = None  # what has the sum of the bucket before, by worker
    made = np.empty((n_buckets, n), dtype=int)
    for b in range(n_buckets) if how.window == "end" else reversed(range(n_buckets)):
        mine: Any = None
        if gradients is not None:
            parameter, op = model.gradients
            mine = gradients[:, op[bucket[parameter] == b] if gradients.shape[1] > 1 else [0]]
        before = whole if how.streams else None  # a stream runs one collective after the other
        label = f"it{k}/bucket{b}"
        common = dict(iteration=k, bucket=b)
        whole = all_reduce(ops, label, size[b], steps, mine, n * how.streams + every, after=before, **common)
        made[b] = ops.add(
            [f"{label}/update@{w}" for w in every],
            "update",
            compute=update * (bucket == b).sum(),
            device=every,
            worker=every,
            role=UPDATE,
            **common,
        )
        ops.connect(whole, np.repeat(made[b], counts(steps)))
    return made


def all_reduce(
    ops: ReplicaOps,
    label: str,
    size: float,
    steps: Hops,
    gradients: np.ndarray | None,
    device: np.ndarray,
    *,
    after: np.ndarray | None = None,
    **common: Any,
) -> np.ndarray:
    """Add the all-reduce of one bucket of `size` bytes; what each replica has to wait for, replica by replica.

    Parameters
    ----------
    gradients
        A row per replica of the ops that it waits for; None: nothing.
    device
        Where each replica's ops run.
    after
        The collective before, as this function returns it, which has to end first.
    """
    every = np.arange(len(steps.last))
    things = ops.add([f"{label}/ready@{w}" for w in every], "ready", device=device, worker=every, role=READY, **common)
    if gradients is not None:
        ops.connect(gradients, things[:, None])
    phases = np.where(steps.gather, "gather", "reduce").tolist()
    hop = ops.add(
        [f"{label}/{phase}{h}@{w}" for h, (phase, w) in enumerate(zip(phases, steps.destination, strict=True))],
        phases,
        device=device[steps.destination],
        worker=steps.destination,
        role=np.where(steps.gather, GATHER, REDUCE),
        **common,
    )
    if after is not None:
        ops.connect(after, np.repeat(things, counts(steps)))
    things, joins = np.concatenate([things, hop]), steps.joined >= 0
    ops.connect(things[steps.sent], hop, size * steps.share, np.arange(len(hop)))
    ops.connect(things[steps.joined[joins]], hop[joins])
    return things[np.concatenate(steps.last)]


def counts(steps: Hops) -> list[int]:
    """For how many things each replica waits at the end."""
    return [len(last) for last in steps.last]


@dataclass(frozen=True, eq=False)
class Hops:
    """The hops of one all-reduce over n replicas. Things are numbered 0 to n - 1 for the replicas' own values, n + h for hop h.

    Attributes
    ----------
    source, destination : ndarray of int, shape (hops,)
        Replicas.
    share : ndarray, shape (hops,)
        Bytes over those of the whole.
    gather : ndarray of bool, shape (hops,)
        Whether it carries a finished sum, else a part of one.
    sent, joined : ndarray of int, shape (hops,)
        What it sends on, which is at its source; and what it joins at its destination, -1 for nothing.
    last : list of arrays
        For each replica, all that it has to wait for until it has the whole sum.
    """

    source: np.ndarray
    destination: np.ndarray
    share: np.ndarray
    gather: np.ndarray
    sent: np.ndarray
    joined: np.ndarray
    last: list[np.ndarray]


def hops(algorithm: str, n: int) -> Hops:
    """The hops of an algorithm over `n` replicas, each after those that it needs.

    Parameters
    ----------
    algorithm
        ``"ring"``: chunk c of n starts at replica c and goes round twice: the first time it is summed, the
        second time handed on.
        ``"tree"``: pairs of growing distance reduce to replica 0, which sends the sum back the same way, to the farthest first.
        ``"halving"``: pairs of falling distance exchange halves, and pairs of growing distance the sums.

    Raises
    ------
    FormatError
        Another algorithm; ``"halving"`` where n is no power of two; too many hops.
    """
    if algorithm not in ALGORITHMS:
        raise FormatError(f"algorithm is {algorithm!r:.60}; expected one of {', '.join(ALGORITHMS)}")
    if algorithm == "halving" and n & (n - 1):
        raise FormatError(f"halving takes a power of two workers, found {n}; choose ring or tree")
    many = {"ring": 2 * n * (n - 1), "tree": 2 * (n - 1), "halving": 2 * n * (n.bit_length() - 1)}[algorithm]
    if many > MAX_OPS:
        raise FormatError(
            f"an all-reduce over {n:,} replicas by {algorithm} has {many:,} hops; at most {MAX_OPS:,} ops are made"
        )
    return {"ring": _ring, "tree": _tree, "halving": _halving}[algorithm](n)


def _ring(n: int) -> Hops:
    hop, chunk = (grid.ravel() for grid in np.mgrid[: 2 * n - 2, :n])
    destination = (chunk + hop + 1) % n
    last = [n + np.flatnonzero((destination == w) & (hop >= n - 2)) for w in range(n)]
    return Hops(
        (chunk + hop) % n,
        destination,
        np.full(len(hop), 1 / n),
        hop >= n - 1,
        np.where(hop == 0, chunk, chunk + hop * n),  # n + its place in the row before
        np.where(hop < n - 1, destination, -1),
        last if n > 1 else [np.array([0])],
    )


def _tree(n: int) -> Hops:
    distances = [2**i for i in range((n - 1).bit_length())]
    up = [(i, i - d, False) for d in distances for i in range(d, n, 2 * d)]
    down = [(i, i + d, True) for d in distances[::-1] for i in range(0, n - d, 2 * d)]
    rows, has = [], list(range(n))  # what each replica has so far
    for source, destination, gather in up + down:
        rows.append((source, destination, 1.0, gather, has[source], -1 if gather else has[destination]))
        has[destination] = n + len(rows) - 1
    return _hops(rows, [np.array([thing]) for thing in has])


def _halving(n: int) -> Hops:
    distances = [2**i for i in range((n - 1).bit_length())]
    rows = []
    has = list(range(n))
    for d, gather in [*((d, False) for d in distances[::-1]), *((d, True) for d in distances)]:
        before = tuple(has)
        for source in range(n):
            rows.append((source, source ^ d, d / n, gather, before[source], before[source ^ d]))
            has[source ^ d] = n + len(rows) - 1
    return _hops(rows, [np.array([thing]) for thing in has])


def _hops(rows: list[tuple], last: list[np.ndarray]) -> Hops:
    source, destination, share, gather, sent, joined = zip(*rows, strict=True) if rows else ((),) * 6
    whole = lambda column: np.array(column, dtype=np.int64)  # noqa: E731
    return Hops(
        whole(source),
        whole(destination),
        np.array(share, dtype=np.float64),
        np.array(gather, dtype=bool),
        whole(sent),
        whole(joined),
        last,
    )

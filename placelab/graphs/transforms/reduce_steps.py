"""The steps of a job without servers: each worker has all parameters, and all-reduces sum the gradients, bucket by bucket."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count, expect
from placelab.base.files import MAX_OPS
from placelab.graphs.transforms.collective_hops import Hops, counts, hops
from placelab.graphs.transforms.replica_ops import GATHER, READ, READY, REDUCE, STEP, UPDATE, Model, ReplicaOps

WINDOWS = ("end", "start")
MIB = 2**20
REACHED = 25 * MIB  # bytes of a bucket by PyTorch's rule where none are given


@dataclass(frozen=True, eq=False)
class Reduction:
    """How gradients are summed: see :func:`placelab.transforms.model_replica`."""

    algorithm: str = "ring"
    bucket_bytes: float | None = None
    window: str = "end"
    streams: bool = True
    buckets: Any = "fit"
    first_bucket: float = MIB
    rings: int = 1
    hosts: int = 1

    def __post_init__(self) -> None:
        if self.window not in WINDOWS:
            raise FormatError(f"window is {self.window!r:.60}; expected one of {', '.join(WINDOWS)}")
        if isinstance(self.buckets, str) and self.buckets not in ("fit", "reach"):
            raise UnsupportedError(f"buckets is {self.buckets!r:.60}; expected 'fit', 'reach' or lists of parameters")
        if self.bucket_bytes is None:
            object.__setattr__(self, "bucket_bytes", REACHED if self.buckets == "reach" else np.inf)
        for label in ("bucket_bytes", "first_bucket"):
            value = getattr(self, label)
            expect(value, (int, float, np.number), label)
            if not value >= 0:
                raise FormatError(f"{label} is {value!r:.60}; expected bytes, 0 or more")
        for label in ("rings", "hosts"):
            object.__setattr__(self, label, count(getattr(self, label), label, most=MAX_OPS))


def buckets_of(model: Model, how: Reduction) -> np.ndarray:
    """The bucket of each parameter, shape (n_reads,)."""
    if how.buckets == "reach":
        return _reached(model.size, how)
    return _fitting(model, float(how.bucket_bytes or 0.0)) if how.buckets == "fit" else _named(model, how.buckets)


def _reached(size: np.ndarray, how: Reduction) -> np.ndarray:
    """PyTorch's rule: parameters in reverse order; a bucket is closed once its bytes reach the cap, the first one's its own."""
    bucket = np.zeros(len(size), dtype=int)
    b = 0
    load = 0.0
    cap = how.first_bucket
    for p in reversed(range(len(size))):
        bucket[p] = b
        load += size[p]
        if load >= cap:
            b = b + 1
            load = 0.0
            cap = float(how.bucket_bytes or 0.0)
    return bucket


def _named(model: Model, buckets: Any) -> np.ndarray:
    """Buckets as lists of parameters, each of which is in one."""
    number = {name: p for p, name in enumerate(model.forward.parameters)}
    bucket = np.full(len(number), -1)
    expect(buckets, (list, tuple), "buckets")
    for b, names in enumerate(buckets):
        expect(names, (list, tuple), f"bucket {b}")
        for name in names:
            if not isinstance(name, str) or name not in number:
                raise FormatError(f"bucket {b} has {name!r:.60}, which is no parameter of the graph")
            if bucket[number[name]] >= 0:
                raise FormatError(f"parameter {name!r:.60} is in two places of the buckets; expected once")
            bucket[number[name]] = b
    if (bucket < 0).any():
        raise FormatError(f"parameter {model.forward.parameters[int(bucket.argmin())]!r:.60} is in none of the buckets")
    return np.unique(bucket, return_inverse=True)[1]


def _fitting(model: Model, most: float) -> np.ndarray:
    """Gradients in order of the backward pass, as many as fit into `most` bytes, at least one.

    A gradient's place is that of the last gradient op before it; ties: the later read first.
    """
    place = np.full(model.n_reads, -1)
    np.maximum.at(place, *model.gradients)
    bucket = np.zeros(model.n_reads, dtype=int)
    load = 0.0
    b = 0
    for i, p in enumerate(np.lexsort((-model.reads, place))):
        if i and load + model.size[p] > most:
            b = b + 1
            load = 0.0
        bucket[p] = b
        load = load + model.size[p]
    return bucket


def reduce_steps(
    model: Model,
    workers: int,
    how: Reduction,
    *,
    barrier: bool,
    iterations: int,
    update: float,
    scale: np.ndarray | None = None,
) -> ReplicaOps:
    """All ops of the job. Devices are worker w, numbered w, and its stream, numbered ``workers + w``.

    `scale` has the share of the mean batch that each worker has; None: equal ones.
    """
    ops = ReplicaOps(model.step)
    bucket = buckets_of(model, how)
    steps = hops(how.algorithm, workers, rings=how.rings, hosts=how.hosts)
    shares = np.ones(workers) if scale is None else scale
    per_parameter = lambda made: made[bucket].T  # noqa: E731
    number: np.ndarray | None = None  # the copies of the iteration before
    summed: np.ndarray | None = None  # its updates, by bucket and worker
    for k in range(iterations):
        if how.window == "end":
            before = None if summed is None else per_parameter(summed)
            number = _copies(ops, k, model, before if before is None or not barrier else _step(ops, k, before), shares)
            summed = _reductions(ops, k, model, bucket, steps, number, how, update)
        else:
            last = None if number is None or not barrier else _step(ops, k, number[:, model.gradients[1]])
            summed = _reductions(ops, k, model, bucket, steps, number if last is None else last, how, update)
            number = _copies(ops, k, model, per_parameter(summed), shares)
    return ops


def _step(ops: ReplicaOps, k: int, before: np.ndarray) -> np.ndarray:
    """An op of each worker that waits for its row of `before`; shape (workers, 1)."""
    every = np.arange(len(before))
    made = ops.add(
        [f"it{k}/step@{w}" for w in every], "step", device=every, iteration=k, worker=every, role=STEP
    ).reshape(-1, 1)
    ops.connect(before, made)
    return made


def _copies(ops: ReplicaOps, k: int, model: Model, before: np.ndarray | None, scale: np.ndarray) -> np.ndarray:
    """The number of each op in each worker's copy, -1 for gradient ops of reads; reads wait for `before`."""
    number = np.full((len(scale), model.step.n_ops), -1)
    for w, share in enumerate(scale.tolist()):
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
        number[w, model.own] = model.add_copy(ops, model.own, k, w, w, share)
        ops.copy_edges(number[w], model.growth(share))
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
    things = np.concatenate([things, hop])
    joins = steps.joined >= 0
    ops.connect(things[steps.sent], hop, size * steps.share, np.arange(len(hop)))
    ops.connect(things[steps.joined[joins]], hop[joins])
    ops.connect(things[steps.waits[:, 0]], hop[steps.waits[:, 1]])
    return things[np.concatenate(steps.last)]

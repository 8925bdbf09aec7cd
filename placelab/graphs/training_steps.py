"""Generate a pipelined training step from the seconds of its stages."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from placelab.base.errors import FormatError, count
from placelab.base.files import MAX_OPS
from placelab.base.index_arrays import floats
from placelab.base.units import counted
from placelab.graphs.transforms.unrolling import Carried, Receive, StagePart, unrolled
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import KEY
from placelab.problem.problem import Problem

MOST = 4096  # stages: the cluster has a bandwidth for each pair of devices


def pipeline_training(
    forward: Any,
    backward: Any,
    weight: Any = None,
    *,
    microbatches: int,
    activation: Any = 0.0,
    transfer: Any = 0.0,
    chunks: int = 1,
    layout: Literal["loop", "v", "dual"] = "loop",
    stages: int | None = None,
    cluster: Cluster | None = None,
    recompute: bool = False,
    recv: Receive = "async",
) -> Problem:
    """A training step of micro-batches in a pipeline, every op tied to the device of its stage.

    Parameters
    ----------
    forward, backward, weight
        Seconds of a micro-batch in a stage: forward pass, gradient of the input, gradient of the weights. One number per stage,
        shape (p,), or one for all. ``weight=None``: `backward` is both gradients, in one op; ``backward=None``: forward passes
        alone.
    microbatches
        Their number m.
    activation
        Bytes that a stage keeps of a micro-batch from its forward op until its last backward op has ended. Shapes as `forward`.
    transfer
        Bytes of a micro-batch between two stages, and of its gradient on the way back. A number, or one per border.
    chunks
        v parts of the model on each device. What is given per device (shape (p,) or a number) is divided by v; with `stages`,
        arrays of length p · v are taken as they are, an entry per stage in the order of the model.
    layout
        Device of each of the p · v stages: ``"loop"``, stage j on device j mod p (Megatron); ``"v"``, down and, in the next
        chunk, up again, so that the turn stays on its device; ``"dual"`` (DualPipe), two replicas of the pipeline with half the
        micro-batches each: stage j on device j, and its twin, called p + j, on device p - 1 - j. The twins' gradients are not
        summed.
    stages
        p, where no array says it.
    cluster
        At least p devices; seconds hold at their speed. Default: p devices of speed 1, links that take no time.
    recompute
        True: only what comes in at a stage's border is kept, `transfer` bytes; the backward op takes the forward op's seconds
        more, and needs the activation from then on.
    recv
        ``"async"``: a tensor arrives while its receiver computes. ``"blocking"``: a Receive op, ``RF…`` or ``RB…``, holds the
        receiving device while the bytes arrive; only the latency of the link passes before. Such bytes count as an op, not as a
        transfer.

    Returns
    -------
    Problem
        Ops ``F{micro-batch}.{stage}``, ``B…`` and ``W…``, or ``BW…``; ``graph.metadata["pipeline"]`` has their columns
        (:mod:`placelab.problem.pipeline_columns`). Every partitioner gives the same placement, ``single`` none. Run it under
        ``gpipe``, ``1f1b``, ``interleaved``, ``looped-bfs``, ``zb-h1``, ``zb-h2``, ``zb-v``, ``zb-auto``, ``dualpipe``,
        ``dualpipe-v``, ``forward-only``, or any other scheduler.

    Raises
    ------
    FormatError
        Arrays of different lengths, or none and no `stages`; a negative number; a cluster with too few devices.

    References
    ----------
    Huang et al. (2019), GPipe; Narayanan et al. (2019, 2021), PipeDream and Megatron; Qi et al. (2024), zero bubble.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pipeline_training(1.0, 2.0, microbatches=8, stages=4)
    >>> pl.simulate(problem, pl.place(problem, "heft"), "1f1b").makespan  # (m + p - 1)(F + B)
    33.0
    """
    m = count(microbatches, "microbatches", most=MAX_OPS)
    v = count(chunks, "chunks", most=MOST)
    if backward is None and (weight is not None or recompute):
        raise FormatError("backward is None; forward passes alone have no weight, and nothing to recompute")
    seconds = {"F": forward, "B" if weight is not None else "BW": backward, "W": weight}
    seconds = {phase: value for phase, value in seconds.items() if value is not None}
    p = _stages(stages, seconds.values(), activation, v)
    if layout not in ("loop", "v", "dual"):
        raise FormatError(f"layout is {layout!r:.60}; expected 'loop', 'v' or 'dual'")
    dual = layout == "dual"
    if dual and (v > 1 or m % 2):
        raise FormatError(
            f"two replicas share {m} micro-batches and have {v} stages per device; expected an even number, and chunks=1"
        )
    column = {phase: _column(value, p, v, phase) for phase, value in seconds.items()}
    kept = _column(activation, p, v, "activation")
    border = _borders(transfer, p * v)
    if cluster is None:
        cluster = Cluster([1.0] * p, bandwidth=np.inf, names=[f"gpu:{d}" for d in range(p)], types=["gpu"] * p)
    if cluster.n_devices < p:
        raise FormatError(f"the cluster has {cluster.n_devices} devices; {p} stages need one each")
    if dual:
        column = {phase: np.tile(values, 2) for phase, values in column.items()}
        kept = np.tile(kept, 2)
        border = np.concatenate([border, [0.0], border])
    device = [_device(j, p, layout) for j in range(p * (2 if dual else v))]
    parts, tensors = _micro_batch(column, kept, border, device, recompute)
    if dual:
        tensors = [each for each in tensors if parts[each.producer].stage // p == parts[each.consumers[-1]].stage // p]
    said = counted(p, "stage") if v == 1 else f"{p} x {v} stages"
    name = f"pipeline of {said}, {counted(m, 'micro-batch')}"
    if dual:
        name = f"two pipelines of {p} stages, {m // 2} micro-batches each"
    graph = unrolled(parts, tensors, m // 2 if dual else m, cluster, recv, {"name": name})
    return Problem(_twins(graph, p) if dual else graph, cluster)


def _twins(graph: OpGraph, p: int) -> OpGraph:
    """The graph with stages from p on as those of a second replica."""
    columns = graph.metadata[KEY]
    stage = np.array(columns["stage"])
    columns = columns | {"stage": (stage % p).tolist(), "replica": (stage // p).tolist()}
    return graph.replace(metadata=graph.metadata | {KEY: columns})


def _device(stage: int, p: int, layout: str) -> int:
    chunk, d = divmod(stage, p)
    return p - 1 - d if layout != "loop" and chunk % 2 else d


def _micro_batch(
    seconds: dict[str, np.ndarray], kept: np.ndarray, border: np.ndarray, device: list[int], recompute: bool
) -> tuple[list[StagePart], list[Carried]]:
    """Parts and tensors of one micro-batch."""
    n = len(device)
    if len(seconds) == 1:
        return _forward_alone(seconds["F"], border, device)
    back = "B" if "W" in seconds else "BW"
    again = seconds["F"] if recompute else np.zeros(n)
    alone = recompute and back == "BW"  # what is computed again is needed while this op runs, and no longer
    parts = [StagePart("F", s, device[s], seconds["F"][s]) for s in range(n)]
    parts += [
        StagePart(back, s, device[s], seconds[back][s] + again[s], temporary=kept[s] if alone else 0.0)
        for s in reversed(range(n))
    ]
    if back == "B":
        parts += [StagePart("W", s, device[s], seconds["W"][s]) for s in range(n)]
    at = {(part.phase, part.stage): k for k, part in enumerate(parts)}
    tensors = []
    for s in range(n):
        f = at["F", s]
        b = at[back, s]
        readers = (b, at["W", s]) if back == "B" else (b,)
        if recompute:
            tensors.append(Carried(f, (b,), control=True))
            tensors += [Carried(b, (at["W", s],), kept[s])] if back == "B" else []
        else:
            tensors.append(Carried(f, readers, kept[s]))
            tensors += [Carried(b, (at["W", s],), control=True)] if back == "B" else []
        if s + 1 < n:
            after = (at["F", s + 1], at[back, s + 1]) if recompute else (at["F", s + 1],)
            tensors += [Carried(f, after, border[s]), Carried(at[back, s + 1], (b,), border[s])]
    return parts, tensors


def _forward_alone(seconds: np.ndarray, border: np.ndarray, device: list[int]) -> tuple[list[StagePart], list[Carried]]:
    parts = [StagePart("F", s, d, float(seconds[s])) for s, d in enumerate(device)]
    return parts, [Carried(s, (s + 1,), float(border[s])) for s in range(len(device) - 1)]


def _stages(stages: Any, seconds: Any, activation: Any, v: int) -> int:
    """p, from `stages` or from the length of an array."""
    lengths = {len(np.atleast_1d(value)) for value in (*seconds, activation) if np.ndim(value)}
    if stages is not None:
        p = count(stages, "stages", most=MOST)
    elif lengths:
        p = min(lengths)
    else:
        raise FormatError("the number of stages is not known; give stages, or an array of seconds with one per stage")
    if not p:
        raise FormatError("an array of seconds has no entries; expected one per stage")
    if p * v > MOST:
        raise FormatError(f"{p:,} devices with {v} stages each have {p * v:,} stages; at most {MOST:,} are made")
    if wrong := lengths - {p, p * v}:
        raise FormatError(
            f"an array has {min(wrong)} entries; expected one per stage: {p}" + (f" or {p * v}" * (v > 1))
        )
    return p


def _column(value: Any, p: int, v: int, label: str) -> np.ndarray:
    """A value for each of the p · v stages."""
    given = _finite(value, label)
    if given.shape == (p * v,) and v > 1:
        return given
    return np.tile(np.broadcast_to(given / v, p), v)


def _borders(value: Any, n: int) -> np.ndarray:
    given = _finite(value, "transfer")
    if given.ndim and given.shape != (n - 1,):
        raise FormatError(f"transfer has {given.size} entries; expected one number, or one per border: {n - 1}")
    return np.broadcast_to(given, n - 1)


def _finite(value: Any, label: str) -> np.ndarray:
    try:
        given = floats(value)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"{label} is {value!r:.60}; expected numbers, 0 or more") from None
    if given.ndim > 1 or not (np.isfinite(given) & (given >= 0)).all():
        raise FormatError(f"{label} is {value!r:.60}; expected finite numbers, 0 or more")
    return given

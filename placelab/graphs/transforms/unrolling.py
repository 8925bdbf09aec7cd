"""Repeat one micro-batch's pass through the stages of a pipeline for all micro-batches of a training step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any, Literal

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.limits import MAX_OPS
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import KEY, ONCE

Receive = Literal["async", "blocking"]
RECEIVES = ("async", "blocking")


@dataclass(frozen=True)
class StagePart:
    """The ops of one stage and phase, for one micro-batch; once per step where the phase is in ``ONCE``.

    Attributes
    ----------
    phase, stage, device
        As in the columns; number of the device.
    seconds, persistent, temporary
        Of one micro-batch: time; bytes that its device holds for ever (counted once), and while it runs.
    """

    phase: str
    stage: int
    device: int
    seconds: float
    persistent: float = 0.0
    temporary: float = 0.0


@dataclass(frozen=True)
class Carried:
    """A tensor from one part to others.

    From a part of a micro-batch to one that runs once (a gradient of weights), all micro-batches write it, and it exists once;
    to another device it is sent when the last one has written it, and during that op counts twice, with the copy that is sent.
    Without consumers it exists while its producer runs.
    """

    producer: int
    consumers: tuple[int, ...]
    bytes: float = 0.0
    control: bool = False


def unrolled(
    parts: Sequence[StagePart],
    tensors: Sequence[Carried],
    m: int,
    cluster: Cluster,
    receive: Receive,
    metadata: dict[str, Any],
) -> OpGraph:
    """The graph of `m` micro-batches, with `metadata` and its columns.

    Parameters
    ----------
    parts, tensors
        One micro-batch. Parts in topological order, those that run once first or last.
    receive
        ``"blocking"``: what crosses devices is received by an op that holds the device while the bytes arrive.
    """
    if receive not in RECEIVES:
        raise FormatError(f"recv is {receive!r:.60}; expected 'async' or 'blocking'")
    if receive == "blocking":
        parts, tensors = _with_receives(parts, tensors, cluster)
    if len(parts) * m > MAX_OPS:
        raise FormatError(f"{m} micro-batches have {len(parts) * m:,} ops; at most {MAX_OPS:,} are made")
    number, rows = _numbered(parts, m)
    columns = [parts[k] for _, k in rows]
    edges = _edges(parts, tensors, number, m)
    speed = cluster.speed[[part.device for part in columns]]
    pipeline = {
        "microbatch": [i for i, _ in rows],
        "stage": [part.stage for part in columns],
        "phase": [part.phase for part in columns],
    }
    return OpGraph.from_arrays(
        [_name(part, i) for (i, _), part in zip(rows, columns, strict=True)],
        np.array([part.seconds for part in columns]) * speed,
        edges.pairs,
        edge_bytes=edges.bytes,
        edge_output=edges.output,
        edge_control=edges.control,
        outputs=edges.outputs,
        persistent=[part.persistent if i <= 0 else 0.0 for (i, _), part in zip(rows, columns, strict=True)],
        temporary=[part.temporary for part in columns],
        kind=[part.phase for part in columns],
        devices={v: (cluster.names[part.device],) for v, part in enumerate(columns)},
        metadata={**metadata, KEY: pipeline},
    )


def _name(part: StagePart, microbatch: int) -> str:
    stage = part.stage if part.stage >= 0 else f"device{part.device}"
    return f"{part.phase}{microbatch if microbatch >= 0 else ''}.{stage}"


@dataclass
class _Edges:
    pairs: list[tuple[int, int]]
    bytes: list[float]
    output: list[int]
    control: list[bool]
    outputs: list[tuple[int, int, float]]

    def add(self, u: int, v: int, size: float, output: int, control: bool) -> None:
        self.pairs.append((u, v))
        self.bytes.append(0.0 if control else size)
        self.output.append(output)
        self.control.append(control)


def _numbered(parts: Sequence[StagePart], m: int) -> tuple[dict[tuple[int, int], int], list[tuple[int, int]]]:
    """Op number of (micro-batch, part), and the reverse; micro-batch -1 for parts that run once."""
    micro = [k for k, part in enumerate(parts) if part.phase not in ONCE]
    first = [(-1, k) for k, part in enumerate(parts) if part.phase == "P"]
    last = [(-1, k) for k, part in enumerate(parts) if part.phase == "U"]
    rows = [*first, *((i, k) for i in range(m) for k in micro), *last]
    return {row: v for v, row in enumerate(rows)}, rows


def _edges(
    parts: Sequence[StagePart], tensors: Sequence[Carried], number: dict[tuple[int, int], int], m: int
) -> _Edges:
    made = _Edges([], [], [], [], [])
    for t, tensor in enumerate(tensors):
        u = tensor.producer
        once = parts[u].phase in ONCE
        for i in (-1,) if once else range(m):
            here = number[i, u]
            if 0 < i == m - 1 and not tensor.control and _leaves(parts, tensor):
                made.add(number[0, u], here, tensor.bytes, t, False)  # held until then
            if not tensor.consumers and i <= 0:
                made.outputs.append((here, t, tensor.bytes))
            for v in tensor.consumers:
                if parts[v].phase in ONCE:  # a gradient exists once: other micro-batches only precede its reader
                    away = parts[v].device != parts[u].device  # sent when it is complete
                    only = tensor.control or i not in (-1, m - 1 if away else 0)
                    made.add(here, number[-1, v], tensor.bytes, len(tensors) + t if only else t, only)
                else:
                    for j in range(m) if once else (i,):
                        made.add(here, number[j, v], tensor.bytes, t, tensor.control)
    return made


def _leaves(parts: Sequence[StagePart], tensor: Carried) -> bool:
    """Whether a part that runs once reads the tensor on another device."""
    return any(parts[v].phase in ONCE and parts[v].device != parts[tensor.producer].device for v in tensor.consumers)


def _with_receives(
    parts: Sequence[StagePart], tensors: Sequence[Carried], cluster: Cluster
) -> tuple[list[StagePart], list[Carried]]:
    """The same with a Receive on each device that gets a tensor from another one; its time is bytes over bandwidth."""
    made = list(parts)
    carried = list[Carried]()
    into: dict[tuple[str, int], int] = {}
    for tensor in tensors:
        u = parts[tensor.producer]
        away = [v for v in tensor.consumers if parts[v].device != u.device and parts[v].phase not in ONCE]
        if tensor.control or u.phase in ONCE or not away:
            carried.append(tensor)
            continue
        if near := tuple(v for v in tensor.consumers if v not in away):
            carried.append(replace(tensor, consumers=near))
        for d in dict.fromkeys(parts[v].device for v in away):
            there = tuple(v for v in away if parts[v].device == d)
            first = min((parts[v] for v in there), key=lambda part: (part.phase != "F", part.stage))
            phase = "RF" if first.phase == "F" else "RB"
            seconds = tensor.bytes / cluster.bandwidth[u.device, d]
            part = StagePart(phase, first.stage, d, seconds)
            key = part.phase, part.stage
            if key in into:  # one Receive for all that a part gets, one after the other
                k = into[key]
                made[k] = replace(made[k], seconds=made[k].seconds + part.seconds)
            else:
                k = into[key] = len(made)
                made.append(part)
            carried += [Carried(tensor.producer, (k,)), Carried(k, there, tensor.bytes)]
    return _ordered(made, carried)


def _ordered(parts: list[StagePart], tensors: list[Carried]) -> tuple[list[StagePart], list[Carried]]:
    """Parts renumbered topologically."""
    needs: dict[int, set[int]] = {k: set() for k in range(len(parts))}
    for tensor in tensors:
        for v in tensor.consumers:
            needs[v].add(tensor.producer)
    order = list(TopologicalSorter(needs).static_order())
    at = {k: i for i, k in enumerate(order)}
    moved = [replace(t, producer=at[t.producer], consumers=tuple(at[v] for v in t.consumers)) for t in tensors]
    return [parts[k] for k in order], moved

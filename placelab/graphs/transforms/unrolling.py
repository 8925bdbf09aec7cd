"""Repeat one micro-batch's pass through the stages of a pipeline for all micro-batches of a training step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
from typing import Any, Literal

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.files import MAX_OPS
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
    rows = _Rows(parts, m)
    columns = [parts[k] for k in rows.part]
    edges = _edges(parts, tensors, rows)
    named = [_name(part) for part in parts]
    ties = {part.device: (cluster.names[part.device],) for part in parts}  # one for all ops of a device
    first = np.array(rows.microbatch) <= 0
    of_part = np.array(rows.part)
    device = np.array([part.device for part in parts])[of_part]
    pipeline = {
        "microbatch": rows.microbatch,
        "stage": [part.stage for part in columns],
        "phase": [part.phase for part in columns],
    }
    return OpGraph.from_arrays(
        [_numbered(named[k], i) for i, k in zip(rows.microbatch, rows.part, strict=True)],
        np.array([part.seconds for part in parts])[of_part] * cluster.speed[device],
        np.stack([edges.producer, edges.consumer], axis=1),
        edge_bytes=np.where(edges.control, 0.0, edges.bytes),
        edge_output=edges.output,
        edge_control=edges.control,
        outputs=edges.outputs,
        persistent=np.where(first, np.array([part.persistent for part in parts])[of_part], 0.0),
        temporary=np.array([part.temporary for part in parts])[of_part],
        kind=[part.phase for part in columns],
        devices={v: ties[d] for v, d in enumerate(device.tolist())},
        metadata={**metadata, KEY: pipeline},
    )


def _name(part: StagePart) -> tuple[str, str]:
    """What stands before and after the number of a micro-batch."""
    return part.phase, f".{part.stage if part.stage >= 0 else f'device{part.device}'}"


def _numbered(name: tuple[str, str], microbatch: int) -> str:
    return f"{name[0]}{microbatch if microbatch >= 0 else ''}{name[1]}"


class _Rows:
    """Micro-batch and part of each op; micro-batch -1 for parts that run once, which are first or last."""

    def __init__(self, parts: Sequence[StagePart], m: int) -> None:
        micro = [k for k, part in enumerate(parts) if part.phase not in ONCE]
        first = [k for k, part in enumerate(parts) if part.phase == "P"]
        last = [k for k, part in enumerate(parts) if part.phase == "U"]
        self.m = m
        self.part = [*first, *micro * m, *last]
        self.microbatch = [-1] * len(first) + [i for i in range(m) for _ in micro] + [-1] * len(last)
        self.own = {k: v for v, k in enumerate(first)} | {k: len(first) + v for v, k in enumerate(micro)}
        self.own |= {k: len(first) + m * len(micro) + v for v, k in enumerate(last)}
        self.step = len(micro)

    def op(self, part: int, microbatch: int) -> int:
        """The op of a part in a micro-batch; -1 for what runs once."""
        return self.own[part] + max(microbatch, 0) * self.step

    def ops(self, part: int) -> np.ndarray:
        """The ops of a part in all micro-batches."""
        return self.own[part] + self.step * np.arange(self.m)


@dataclass
class _Edges:
    producer: np.ndarray
    consumer: np.ndarray
    bytes: np.ndarray
    output: np.ndarray
    control: np.ndarray
    outputs: list[tuple[int, int, float]]


def _edges(parts: Sequence[StagePart], tensors: Sequence[Carried], rows: _Rows) -> _Edges:
    """Edges of each tensor: within each micro-batch, or from and to parts that run once."""
    found: list[tuple] = []  # producers, consumers, bytes, output, whether it only orders
    outputs: list[tuple[int, int, float]] = []
    last = rows.m - 1
    for t, tensor in enumerate(tensors):
        u = tensor.producer
        once = parts[tensor.producer].phase in ONCE
        here = np.array([rows.op(u, -1)]) if once else rows.ops(u)
        if not once and last > 0 and not tensor.control and _leaves(parts, tensor):
            found.append((here[:1], here[-1:], tensor.bytes, t, False))  # held until then
        if not tensor.consumers:
            outputs.append((int(here[0]), t, tensor.bytes))
        for v in tensor.consumers:
            if parts[v].phase not in ONCE:
                found.append((here, rows.ops(v), tensor.bytes, t, tensor.control))
                continue
            away = parts[v].device != parts[u].device  # sent when it is complete
            whole = 0 if once or not away else last
            for i, op in enumerate(
                here.tolist()
            ):  # a gradient exists once: other micro-batches only precede its reader
                only = tensor.control or i != whole
                found.append(([op], [rows.op(v, -1)], tensor.bytes, len(tensors) + t if only else t, only))
    pairs = [np.array(np.broadcast_arrays(u, v)) for u, v, *_ in found] or [np.empty((2, 0), int)]
    count = [pair.shape[1] for pair in pairs][: len(found)]
    size, output, control = (np.repeat([each[k] for each in found], count) for k in (2, 3, 4))
    producer, consumer = np.concatenate(pairs, axis=1)
    return _Edges(
        producer,
        consumer,
        size,
        output.astype(int),
        control.astype(bool),
        outputs,
    )


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

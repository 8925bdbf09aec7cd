"""Make ops of what the ranks of a pipeline send each other, on streams that run them in order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, expect
from placelab.base.files import read_file, text_of
from placelab.formats.torch.schedule_table import EXPECTED, MAX_BYTES, messages_of
from placelab.planning.pipeline_orders import Ranks, ranks_of
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import KEY, Pipeline
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

Streams = Literal["one", "direction", "peer"]
LETTER = {"F": "F", "BW": "B", "B": "I", "W": "W"}


class Message(NamedTuple):
    """What a stage sends: ``"F"``, its output, or ``"B"``, the gradient of its input, of a micro-batch."""

    kind: str
    microbatch: int
    stage: int

    @property
    def to(self) -> int:
        """The stage that receives it."""
        return self.stage + (1 if self.kind == "F" else -1)

    def name(self, receives: bool) -> str:
        """The action's name in tables of PyTorch."""
        stage, word = (self.to, "RECV") if receives else (self.stage, "SEND")
        return f"{stage}{word}_{self.kind}{self.microbatch}"


Action = tuple[Message, bool]  # a message, and whether it is received


def communication_streams(
    placement: Placement | Schedule,
    transfer: float | None = None,
    *,
    streams: Streams = "one",
    recv: Literal["sender", "late", "table"] = "sender",
    table: Any = None,
) -> Placement:
    """The order of a pipeline with its SENDs and RECVs as ops, which wait for each other as on streams of NCCL.

    A SEND needs the pass that makes the tensor, and its RECV posted; both streams are held until it is over, and what is behind
    them in their order waits, too. So passes wait for tensors that are not theirs, and orders that look right may deadlock.

    Parameters
    ----------
    placement
        Of a training step of stages and micro-batches, with a planned order; or a schedule, whose order it is.
    transfer
        Seconds of each SEND. None: what the links of the cluster say of the bytes.
    streams
        Of each rank: ``"one"``; ``"direction"``, one for SENDs and one for RECVs; ``"peer"``, one for each other rank.
    recv
        Where a RECV is in the order of its rank. ``"sender"``, as PyTorch lowers tables: ranks take turns with one pass each
        that has all it needs; its SENDs go behind it, and their RECVs to the end of what the receiver has then. ``"late"``: right
        before the pass that reads it. ``"table"``: as a file says.
    table
        The path of a schedule table with SENDs and RECVs, for ``recv="table"``.

    Returns
    -------
    Placement
        Of a problem with the streams as devices, ``gpu:0/stream``, ``gpu:0/stream/send`` or ``gpu:0/stream/gpu:1``; ``planned``
        replays it. Ops are called as in PyTorch's tables: ``1F3``, ``1SEND_F3``, ``2RECV_F3``; ``2RECV_F3/post`` says that the
        receiver has come to it.

    Raises
    ------
    UnsupportedError
        No planned order; several replicas; tensors between ranks that belong to no pass; passes that need each other in a circle.
    FormatError
        A table that lacks a SEND or RECV, or has one too many.

    Notes
    -----
    A deadlock is the simulator's InfeasibleError, which names actions that wait. O(ops + edges).

    References
    ----------
    PyTorch, ``torch.distributed.pipelining.schedules._add_send_recv``.

    Examples
    --------
    >>> import placelab as pl
    >>> step = pl.generators.pipeline_training(1.0, 2.0, microbatches=8, stages=4, chunks=2)
    >>> schedule = pl.simulate(step, pl.place(step, "hash"), "interleaved")
    >>> lowered = communication_streams(schedule, 0.25)
    >>> schedule.makespan, pl.simulate(lowered.problem, lowered).makespan
    (28.5, 44.25)
    """
    for label, value, known in (
        ("streams", streams, ("one", "direction", "peer")),
        ("recv", recv, ("sender", "late", "table")),
    ):
        if value not in known:
            raise UnsupportedError(f"{label} is {value!r:.60}; expected one of {', '.join(known)}")
    if (table is None) == (recv == "table"):
        raise UnsupportedError("recv='table' needs the table, a path; other values need none")
    placement, order = _ordered(placement)
    replicas = ranks_of(placement.problem, placement, "planned")
    if len(replicas) > 1:
        raise UnsupportedError(f"{placement.problem.graph.title} has {len(replicas)} replicas; give the one pipeline")
    lowered = _Lowered(placement, order, replicas[0])
    rows = lowered.rows()
    actions = [[each for each in row if not isinstance(each, int)] for row in rows]
    if recv == "late":
        actions = [lowered.deferred(row) for row in rows]
    elif recv == "table":
        actions = lowered.of_table(text_of(read_file(table, EXPECTED, MAX_BYTES), str(table), EXPECTED))
    return lowered.placement(actions, _seconds(transfer), streams)


def _ordered(given: Placement | Schedule) -> tuple[Placement, np.ndarray]:
    """A placement, and its ops in their order."""
    if isinstance(given, Schedule):
        return given.placement, np.concatenate([given.order(d) for d in range(given.problem.cluster.n_devices)])
    expect(given, Placement, "communication_streams")
    if given.planned is None:
        raise UnsupportedError("the placement has no planned order; give a schedule, or the placement of a table")
    return given, given.planned


def _seconds(transfer: Any) -> float | None:
    if transfer is None:
        return None
    expect(transfer, (int, float, np.number), "transfer")
    if not 0 <= transfer < np.inf:
        raise FormatError(f"transfer is {transfer!r:.60}; expected seconds, 0 or more")
    return float(transfer)


class _Lowered:
    """The messages of a pipeline, and the order of each rank."""

    def __init__(self, placement: Placement, order: np.ndarray, ranks: Ranks) -> None:
        self.problem = placement.problem
        self.device = placement.device
        self.ranks = ranks
        self.pipeline = ranks.pipeline
        self.rank_of = {stage: rank for rank, stages in enumerate(ranks.stages) for stage in stages}
        self.of_rank = [order[self.device[order] == d].tolist() for d in ranks.device]
        self.sent: dict[int, list[Message]] = {}  # by op
        self.needed: dict[int, list[Message]] = {}
        self.edges: dict[Message, tuple[float, int, int, int]] = {}  # bytes, producer, a reader, tensor
        graph = self.problem.graph
        for u, v, t in zip(graph.producer.tolist(), graph.consumer.tolist(), graph.edge_tensor.tolist(), strict=True):
            if self.device[u] != self.device[v]:
                message = self._message(u, v)
                size = float(graph.tensor_bytes[t])
                if message not in self.edges:
                    self.sent.setdefault(u, []).append(message)
                if message not in self.needed.setdefault(v, []):
                    self.needed[v].append(message)
                if message not in self.edges or size > self.edges[message][0]:
                    self.edges[message] = (size, u, v, t)

    def _message(self, u: int, v: int) -> Message:
        known = set(_passes(self.pipeline, v))
        for kind, microbatch, stage in _passes(self.pipeline, u):
            message = Message(kind, microbatch, stage)
            if (kind, microbatch, message.to) in known:
                return message
        names = self.problem.graph.names
        raise UnsupportedError(
            f"{names[u]!r:.60} sends to {names[v]!r:.60} on another device, which is no next pass of its micro-batch"
        )

    def rows(self) -> list[list[Any]]:
        """Ops and actions of each rank as PyTorch lowers them: ranks take turns, a pass that has all it needs each."""
        rows: list[list[Any]] = [[] for _ in self.of_rank]
        there: set[Message] = set()
        left = [iter(ops) for ops in self.of_rank]
        head = [next(ops, None) for ops in left]
        while any(v is not None for v in head):
            moved = False
            for r, v in enumerate(head):
                if v is None or not there.issuperset(self.needed.get(v, [])):
                    continue
                rows[r].append(v)
                for message in self.sent.get(v, []):
                    rows[r].append((message, False))
                    rows[self.rank_of[message.to]].append((message, True))
                    there.add(message)
                head[r] = next(left[r], None)
                moved = True
            if not moved:
                waits = next(v for v in head if v is not None)
                raise UnsupportedError(f"passes wait for each other in a circle, {self.name(waits)} among them")
        return rows

    def deferred(self, row: list[Any]) -> list[Action]:
        """The actions of a rank with each RECV right before the pass that reads it."""
        found: list[Action] = []
        received: set[Message] = set()
        for each in row:
            if isinstance(each, int):
                for message in self.needed.get(each, []):
                    if message not in received:
                        found.append((message, True))
                        received.add(message)
            elif not each[1]:
                found.append(each)
        return found

    def of_table(self, text: str) -> list[list[Action]]:
        """The actions of each rank in the order of a table; FormatError for one that is missing, there twice, or unknown."""
        found: list[list[Action]] = [[] for _ in self.of_rank]
        seen: set[Action] = set()
        for stage, word, kind, microbatch in messages_of(text):
            receives = word == "RECV"
            message = Message(kind, microbatch, stage - (1 if kind == "F" else -1) if receives else stage)
            if message not in self.edges:
                raise FormatError(f"{stage}{word}_{kind}{microbatch} is no message between ranks of this pipeline")
            if (message, receives) in seen:
                raise FormatError(f"{message.name(receives)} is there twice; expected once")
            seen.add((message, receives))
            found[self.rank_of[stage]].append((message, receives))
        for message in self.edges:
            for receives in (False, True):
                if (message, receives) not in seen:
                    raise FormatError(
                        f"the table lacks {message.name(receives)}; give all SENDs and RECVs, or recv='sender'"
                    )
        return found

    def name(self, v: int) -> str:
        """The name of an op as an action of PyTorch's tables; of what runs once per step, its own."""
        pipeline = self.pipeline
        stage = int(pipeline.stage[v])
        microbatch = int(pipeline.microbatch[v])
        phase = str(pipeline.phase[v])
        if phase == "FB":
            other, back, _ = pipeline.backward[v].tolist()
            return f"({stage}F{microbatch};{back}B{other})OVERLAP_F_B"
        return f"{stage}{LETTER[phase]}{microbatch}" if phase in LETTER else str(self.problem.graph.names[v])

    # ---------------------------------------------------------------- the problem with streams

    def placement(self, actions: list[list[Action]], transfer: float | None, streams: Streams) -> Placement:
        """The planned order of ops and actions."""
        graph = self.problem.graph
        cluster = self.problem.cluster
        ranks = self.ranks
        own = [cluster.names[d] for d in ranks.device]
        names = [self.name(v) for v in range(graph.n_ops)]
        number = {name: v for v, name in enumerate(names)}
        seconds = self.problem.exec_times(self.device).tolist()
        where = [cluster.names[d] for d in self.device]
        sequence: dict[str, list[int]] = {name: ops for name, ops in zip(own, self.of_rank, strict=True)}
        edges: list[tuple[int, int]] = []

        def add(name: str, device: str, taken: float) -> int:
            number[name] = len(names)
            names.append(name)
            seconds.append(taken)
            where.append(device)
            sequence.setdefault(device, []).append(number[name])
            return number[name]

        for r, row in enumerate(actions):
            for message, receives in row:
                peer = own[self.rank_of[message.stage if receives else message.to]]
                device = f"{own[r]}/stream" + {"one": "", "direction": "/recv" if receives else "/send"}.get(
                    streams, f"/{peer}"
                )
                label = message.name(receives)
                if receives:
                    edges.append((add(f"{label}/post", device, 0.0), add(label, device, 0.0)))
                else:
                    add(label, device, self._taken(message) if transfer is None else transfer)
        carried: list[tuple[int, int, float, int]] = []  # a message's bytes are with its sender until it is sent
        for message, (size, u, _, t) in self.edges.items():
            send = number[message.name(False)]
            received = number[message.name(True)]
            edges += [(number[f"{message.name(True)}/post"], send), (send, received)]
            carried.append((u, send, size, t))
        carried += [(number[m.name(True)], v, self.edges[m][0], 0) for v, needed in self.needed.items() for m in needed]
        return self._made(names, seconds, where, sequence, edges, carried)

    def _taken(self, message: Message) -> float:
        size, u, v, _ = self.edges[message]
        ends = self.device[u], self.device[v]
        cluster = self.problem.cluster
        return float(cluster.latency[ends] + size / cluster.bandwidth[ends])

    def _made(
        self,
        names: list[str],
        seconds: list[float],
        where: list[str],
        sequence: dict[str, list[int]],
        order_only: list[tuple[int, int]],
        carried: list[tuple[int, int, float, int]],
    ) -> Placement:
        graph = self.problem.graph
        cluster = self.problem.cluster
        n = len(names)
        inside = self.device[graph.producer] == self.device[graph.consumer]
        tensor = graph.edge_tensor[inside]
        pairs = [*map(tuple, graph.edges[inside].tolist()), *order_only, *(e[:2] for e in carried)]
        known = len(cluster.names)
        devices = [*cluster.names, *(name for name in sequence if name not in set(cluster.names))]
        speed = [*cluster.speed.tolist(), *[1.0] * (len(devices) - known)]
        of = dict(zip(devices, speed, strict=True))
        pad = [0.0] * (n - graph.n_ops)
        read = np.isin(np.arange(graph.n_tensors), [*tensor.tolist(), *(e[3] for e in carried if e[0] < graph.n_ops)])
        unread = np.flatnonzero(~read & ~graph.tensor_control)
        made = OpGraph.from_arrays(
            names,
            [taken * of[device] for taken, device in zip(seconds, where, strict=True)],
            pairs,
            edge_bytes=[*graph.edge_bytes[inside].tolist(), *[0.0] * len(order_only), *(e[2] for e in carried)],
            edge_output=[*tensor.tolist(), *[0] * len(order_only), *(e[3] for e in carried)],
            edge_control=[*graph.tensor_control[tensor].tolist(), *[True] * len(order_only), *[False] * len(carried)],
            outputs=[(int(graph.tensor_producer[t]), int(t), float(graph.tensor_bytes[t])) for t in unread],
            persistent=[*graph.persistent.tolist(), *pad],
            temporary=[*graph.temporary.tolist(), *pad],
            kind=[*graph.kind.tolist(), *("send" if "SEND" in name else "receive" for name in names[graph.n_ops :])],
            devices={v: (device,) for v, device in enumerate(where)},
            metadata={k: v for k, v in graph.metadata.items() if k != KEY}
            | {"name": f"{graph.title}, with its messages"},
        )
        streams = Cluster(
            speed,
            memory=[*cluster.memory.tolist(), *[None] * (len(devices) - known)],
            bandwidth=np.inf,
            names=devices,
            types=[*cluster.types, *["stream"] * (len(devices) - known)],
        )
        problem = self.problem.replace(graph=made, cluster=streams)
        order = [made.index(names[v]) for ops in sequence.values() for v in ops]
        number = {name: d for d, name in enumerate(devices)}
        device = np.empty(n, np.int32)
        device[[made.index(name) for name in names]] = [number[name] for name in where]
        left = np.setdiff1d(np.arange(n), order)
        return Placement(
            problem, device, np.array([*order, *left.tolist()], np.int32), partitioner="communication streams"
        )


def _passes(pipeline: Pipeline, v: int) -> Iterator[tuple[str, int, int]]:
    """The forward and the backward pass of an op: kind, micro-batch, stage."""
    phase = str(pipeline.phase[v])
    if phase in ("F", "FB"):
        yield "F", int(pipeline.microbatch[v]), int(pipeline.stage[v])
    if phase in ("B", "BW"):
        yield "B", int(pipeline.microbatch[v]), int(pipeline.stage[v])
    if phase == "FB":
        microbatch, stage, _ = pipeline.backward[v].tolist()
        yield "B", microbatch, stage

"""A plan's step with all of its ranks: parts of passes on devices, hops of collectives on their streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.limits import MAX_OPS
from placelab.graphs.transforms.collective_hops import Hops, hops
from placelab.plans.degrees import Plan
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import required
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

COMPUTE = "compute"
SPLIT, WHOLE = "W", "BW"  # gradients of weights in ops of their own, or with those of inputs


class Part(NamedTuple):
    """A part of a pass: ``"compute"`` with its seconds on each device, or the kind of a collective with its bytes."""

    kind: str
    amount: Any


class Sizes(NamedTuple):
    """Bytes of the collectives of a layer; 0 where a plan has none: sums over tensor groups, exchanges of tokens for experts."""

    summed: float
    exchanged: float


def parts_of(
    blocks: Mapping[str, np.ndarray], sparse: Sequence[bool], first: int, last: int, sizes: Sizes, recompute: str
) -> dict[str, list[Part]]:
    """The parts of each pass of a stage: phase → parts in their order.

    Parameters
    ----------
    blocks
        Phase → seconds of each block of a micro-batch, shape (n_devices, n_blocks): ``"F"``, ``"B"``, ``"W"``, ``"core"``, what
        selective recomputation makes again, and ``"half"``, the share of a layer's forward seconds before its MLP.
    sparse
        Whether each layer has experts.
    first, last
        Blocks of the stage, `last` not among them.
    """
    layers = range(max(first, 1), min(last, len(sparse) + 1))
    head = [last - 1] if last == len(sparse) + 2 else []
    table = [0] if first == 0 else []

    def layer(b: int, seconds: np.ndarray, more: Any = 0.0) -> list[list[Part]]:
        half = blocks["half"][:, b]
        exchange = [Part("all-to-all", sizes.exchanged)] if sizes.exchanged and sparse[b - 1] else []
        total = [Part("all-reduce", sizes.summed)] if sizes.summed else []
        attention = [Part(COMPUTE, seconds * half + more), *total]
        return [attention, [*exchange, Part(COMPUTE, seconds * (1 - half)), *exchange, *total]]

    def passed(seconds: np.ndarray, more: Any = None) -> list[Part]:
        outer = [Part(COMPUTE, seconds[:, b]) for b in table], [Part(COMPUTE, seconds[:, b]) for b in head]
        inner = [half for b in layers for half in layer(b, seconds[:, b], 0.0 if more is None else more[:, b])]
        whole = [outer[0], *inner, outer[1]]
        return [part for parts in whole for part in parts]

    def back(seconds: np.ndarray) -> list[Part]:
        core = blocks["core"] if recompute == "selective" else None
        again = [part for b in layers for half in layer(b, blocks["F"][:, b]) for part in half]
        return _joined((again if recompute == "full" else []) + passed(seconds, core)[::-1])

    weight = Part(COMPUTE, blocks["W"][:, first:last].sum(axis=1))
    return {
        "F": _joined(passed(blocks["F"])),
        "B": back(blocks["B"]),
        SPLIT: [weight],
        WHOLE: back(blocks["B"] + blocks["W"]),
    }


def every_rank(
    plan: Plan,
    cluster: Cluster,
    one: Schedule,
    parts: Sequence[Mapping[str, list[Part]]],
    gradients: Sequence[tuple[float, float]],
) -> Placement:
    """The step of all dp · tp · pp ranks, planned in the order of the pipeline of one of them.

    Parameters
    ----------
    cluster
        Its first devices are the ranks, replica i, stage j, tensor rank q on q + tp (i + dp j).
    one
        The pipeline of one tensor rank of one replica, a device per stage.
    parts
        Of each stage, its passes' parts by phase.
    gradients
        Of each pipeline rank the bytes of gradients, and of weights that are gathered after ZeRO has scattered those.

    Returns
    -------
    Placement
        Of a problem on the ranks and their streams, ``name/stream``. Ops: ``F{micro-batch}.{stage}/{part}@{device}``, hops
        ``F…/{part}/reduce{hop}@{device}``, ``gradients{j}/…``; ``planned`` replays it.

    Raises
    ------
    FormatError
        More ops than graphs may have.

    Notes
    -----
    Sums and exchanges are rings. O(ops + edges).
    """
    step = _Step(plan, cluster, one, parts)
    step.passes()
    for rank, (size, gathered) in enumerate(gradients):
        step.sum_gradients(rank, size, gathered)
    return step.placement()


def _joined(parts: Sequence[Part]) -> list[Part]:
    """The parts, those that compute one after the other as one."""
    found: list[Part] = []
    for part in parts:
        if part.kind == COMPUTE and found and found[-1].kind == COMPUTE:
            part = Part(COMPUTE, found.pop().amount + part.amount)
        found.append(part)
    return found


class _Step:
    """Ops of ranks and streams as they are added, inputs first; device d's stream is number n + d."""

    def __init__(self, plan: Plan, cluster: Cluster, one: Schedule, parts: Sequence[Mapping[str, list[Part]]]) -> None:
        self.plan, self.one, self.parts = plan, one, parts
        self.n, self.wide = plan.devices, plan.dp * plan.tp
        self.cluster = _with_streams(cluster, self.n)
        self.names: list[str] = []
        self.seconds: list[float] = []
        self.kinds: list[str] = []
        self.order: list[list[int]] = [[] for _ in range(2 * self.n)]
        self.edges: list[tuple[int, int, float, int, bool]] = []  # producer, consumer, bytes, output, whether it orders

    def add(self, name: str, device: int, seconds: float, kind: str, after: Sequence[int] = ()) -> int:
        """The number of a new op, which waits for others."""
        made = len(self.names)
        if made >= MAX_OPS:
            raise FormatError(f"{self.n:,} ranks have more than {MAX_OPS:,} ops; ask for ranks='one'")
        self.names.append(f"{name}@{self.cluster.names[device % self.n]}")
        self.seconds.append(seconds)
        self.kinds.append(kind)
        self.order[device].append(made)
        self.edges += [(u, made, 0.0, 0, True) for u in after]
        return made

    def passes(self) -> None:
        """All passes, in the order in which they start in the one pipeline."""
        one, graph = self.one, self.one.problem.graph
        pipeline = required(graph, "every_rank")
        ends: dict[int, dict[int, int]] = {}  # op of the one pipeline → device → the op that is its end there
        needs: dict[int, list[tuple[int, float]]] = {}
        for u, v, size in zip(graph.producer.tolist(), graph.consumer.tolist(), graph.edge_bytes.tolist(), strict=True):
            needs.setdefault(v, []).append((u, size))
        for v in np.lexsort((np.arange(graph.n_ops), one.finish, one.start)).tolist():
            rank, phase = int(one.device[v]), str(pipeline.phase[v])
            label = f"{phase}{pipeline.microbatch[v]}.{pipeline.stage[v]}"
            begun, ends[v] = self._pass(label, self.parts[int(pipeline.stage[v])][phase], rank)
            for u, size in needs.get(v, []):
                away = (int(one.device[u]) - rank) * self.wide
                for device, op in begun.items():
                    self.edges.append((ends[u][device + away], op, size if away else 0.0, 0, not away))

    def _pass(self, label: str, parts: Sequence[Part], rank: int) -> tuple[dict[int, int], dict[int, int]]:
        """The first op and the last one of a pass on each device of a pipeline rank."""
        group = range(rank * self.wide, (rank + 1) * self.wide)
        begun: dict[int, int] = {}
        last: dict[int, list[int]] = {d: [] for d in group}
        for k, part in enumerate([*parts, Part(COMPUTE, np.zeros(self.n))]):
            if part.kind == COMPUTE:
                if k == len(parts) and parts[-1].kind == COMPUTE:
                    continue  # it ends with computation: nothing to wait for
                for d in group:
                    last[d] = [self.add(f"{label}/{k}", d, float(part.amount[d]), label[0], last[d])]
                    begun.setdefault(d, last[d][0])
                continue
            if not begun:  # what comes first waits for the inputs
                begun = {d: self.add(f"{label}/begin", d, 0.0, label[0]) for d in group}
                last = {d: [op] for d, op in begun.items()}
            size = self.plan.ep if part.kind == "all-to-all" else self.plan.tp
            for first in group[::size]:
                last |= self.collective(f"{label}/{k}", part.kind, part.amount, list(range(first, first + size)), last)
        return begun, {d: ops[-1] for d, ops in last.items()}

    def collective(
        self, label: str, kind: str, size: float, members: Sequence[int], after: Mapping[int, Sequence[int]]
    ) -> dict[int, list[int]]:
        """Add a collective on the streams of some devices; what each of them has to wait for."""
        steps = _ring(kind, len(members))
        things = [self.add(f"{label}/ready", self.n + d, 0.0, "ready", after[d]) for d in members]
        columns = (steps.destination, steps.share, steps.gather, steps.sent, steps.joined)
        for h, (to, share, gather, sent, joined) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            word = "exchange" if kind == "all-to-all" else "gather" if gather else "reduce"
            hop = self.add(f"{label}/{word}{h}", self.n + members[to], 0.0, word)
            self.edges.append((things[sent], hop, size * share, h, False))
            if joined >= 0:
                self.edges.append((things[joined], hop, 0.0, 0, True))
            things.append(hop)
        return {d: [things[k] for k in last.tolist()] for d, last in zip(members, steps.last, strict=True)}

    def sum_gradients(self, rank: int, size: float, gathered: float) -> None:
        """Sum the gradients of a pipeline rank over replicas once its last op is over."""
        if self.plan.dp == 1:
            return
        group = range(rank * self.wide, (rank + 1) * self.wide)
        last: dict[int, list[int]] = {d: self.order[d][-1:] for d in group}
        rounds = [("all-reduce", size)] if not self.plan.zero else [("reduce-scatter", size), ("all-gather", gathered)]
        for kind, bytes_ in rounds:
            for q in range(self.plan.tp):
                last |= self.collective(f"gradients{rank}/{kind}", kind, bytes_, group[q :: self.plan.tp], last)

    def placement(self) -> Placement:
        """All ops in their order."""
        device = np.empty(len(self.names), np.int32)
        for d, ops in enumerate(self.order):
            device[ops] = d
        producers, consumers, bytes_, outputs, control = zip(*self.edges, strict=True) if self.edges else ((),) * 5
        names = self.cluster.names
        graph = OpGraph.from_arrays(
            self.names,
            self.seconds,
            np.column_stack([producers, consumers]).reshape(-1, 2).astype(int),
            edge_bytes=bytes_,
            edge_output=outputs,
            edge_control=control,
            kind=self.kinds,
            devices={v: (names[d],) for v, d in enumerate(device.tolist())},
            metadata={"name": f"{self.one.problem.graph.title}, {self.n} ranks"},
        )
        number = np.array([graph.index(name) for name in self.names])
        placed = np.empty_like(device)
        placed[number] = device
        problem = self.one.problem.replace(graph=graph, cluster=self.cluster)
        planned = number[[v for ops in self.order for v in ops]].astype(np.int32)
        return Placement(problem, placed, planned, partitioner="every rank")


def _with_streams(cluster: Cluster, n: int) -> Cluster:
    """The first devices of a cluster, at speed 1, and a stream beside each, whose links are its device's."""
    own = np.arange(2 * n) % n
    same, pairs = own[:, None] == own, np.ix_(own, own)
    names = list(cluster.names[:n])
    return Cluster(
        [1.0] * (2 * n),
        bandwidth=np.where(same, np.inf, cluster.bandwidth[pairs]),
        latency=np.where(same, 0.0, cluster.latency[pairs]),
        names=[*names, *(f"{name}/stream" for name in names)],
        types=[*cluster.types[:n], *["stream"] * n],
        hosts=[cluster.hosts[d] for d in own],
    )


@lru_cache(256)
def _ring(kind: str, n: int) -> Hops:
    return hops("ring", n, kind)

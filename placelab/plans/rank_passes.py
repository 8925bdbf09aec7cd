"""Passes on all ranks of a plan: parts on devices, hops of collectives on the streams beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

import numpy as np

from placelab.base.errors import FormatError
from placelab.graphs.transforms.collective_hops import Hops, hops
from placelab.plans.degrees import Plan
from placelab.plans.pass_parts import COMPUTE, Part
from placelab.plans.plan_collectives import exchange_groups
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement

MOST_OPS = 1_000_000  # some seconds of work
STREAM, GATHER = 1, 2  # of a device: collectives within passes, and those of weights and gradients of ZeRO 3
Sent = tuple[str, Sequence[Sequence[int]]]  # kind of a collective, the groups of devices that each run one
Ends = dict[int, list[int]]  # device → ops that it has to wait for


class RankPasses:
    """Ops of ranks and streams as they are added, inputs first; device d's streams are numbers n + d and 2n + d."""

    def __init__(self, plan: Plan, cluster: Cluster, streams: int = 1) -> None:
        self.plan = plan
        self.n = plan.devices
        self.wide = plan.dp * plan.tp
        self.cluster = _with_streams(cluster, self.n, streams)
        self.exchanges = [group.tolist() for group in exchange_groups(plan)]
        self.whose = f"{self.n} ranks"
        self.names: list[str] = []
        self.seconds: list[float] = []
        self.kinds: list[str] = []
        self.order: list[list[int]] = [[] for _ in range((1 + streams) * self.n)]
        self.edges: list[tuple[int, int, float, int, bool]] = []  # producer, consumer, bytes, output, whether it orders

    def group(self, rank: int) -> range:
        """The devices of a rank of the pipeline."""
        return range(rank * self.wide, (rank + 1) * self.wide)

    def add(self, name: str, device: int, seconds: float, kind: str, after: Sequence[int] = ()) -> int:
        """The number of a new op, which waits for others."""
        made = len(self.names)
        self.names.append(f"{name}@{self.cluster.names[device % self.n]}")
        self.seconds.append(seconds)
        self.kinds.append(kind)
        self.order[device].append(made)
        self.edges += [(u, made, 0.0, 0, True) for u in after]
        return made

    def check(self, passes: Iterable[Sequence[Part]], sent: Iterable[Sent] = ()) -> None:
        """Refuse a step that has too many ops before one is made: passes of pipeline ranks, and other collectives."""
        exchanges = len(self.exchanges), self.plan.ep
        sums = self.wide // self.plan.tp, self.plan.tp

        def ops(part: Part) -> int:
            groups, size = exchanges if part.kind == "all-to-all" else sums
            return self.wide if part.kind == COMPUTE else groups * _ops(part.kind, size)

        each: dict[int, int] = {}  # a stage has the same parts in each micro-batch
        total = 0
        for parts in passes:
            if id(parts) not in each:
                each[id(parts)] = sum(map(ops, parts))
            total += each[id(parts)]
        total += sum(_ops(kind, len(group)) for kind, groups in sent for group in groups)
        if total > MOST_OPS:
            raise FormatError(
                f"all {self.n:,} ranks have {total:,} ops; at most {MOST_OPS:,} are made, ask for ranks='one'"
            )

    def run(
        self, label: str, parts: Sequence[Part], rank: int, kind: str, after: Mapping[int, Sequence[int]] | None = None
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Add a pass on each device of a pipeline rank; its first op and its last one there."""
        group = self.group(rank)
        begun: dict[int, int] = {}
        last: Ends = {d: list((after or {}).get(d, ())) for d in group}
        if not parts or parts[0].kind != COMPUTE:  # what comes first waits for the inputs
            begun = self.mark(f"{label}/begin", last, kind)
            last = {d: [op] for d, op in begun.items()}
        for k, part in enumerate(parts):
            last = self.part(f"{label}/{k}", part, rank, kind, last)
            begun = begun or {d: ops[0] for d, ops in last.items()}
        if not parts or parts[-1].kind == COMPUTE:
            return begun, {d: ops[-1] for d, ops in last.items()}
        return begun, self.mark(f"{label}/{len(parts)}", last, kind)

    def run_together(
        self, label: str, chains: Sequence[Sequence[Part]], order: Sequence[int], rank: int
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Add two passes that share the devices of a rank: `order` has the number of the pass of each next part."""
        group = self.group(rank)
        begun = self.mark(f"{label}/begin", {d: [] for d in group}, "FB")
        last = [{d: [op] for d, op in begun.items()} for _ in chains]
        at = [0] * len(chains)
        for c in order:
            part = chains[c][at[c]]
            last[c] = self.part(f"{label}/{'FB'[c]}{at[c]}", part, rank, "FB"[c], last[c])
            at[c] += 1
        ended = {d: [op for each in last for op in each[d]] for d in group}
        return begun, self.mark(f"{label}/end", ended, "FB")

    def mark(self, label: str, after: Mapping[int, Sequence[int]], kind: str) -> dict[int, int]:
        """Add an op that takes no time on each device."""
        return {d: self.add(label, d, 0.0, kind, ops) for d, ops in after.items()}

    def part(self, label: str, part: Part, rank: int, kind: str, after: Ends) -> Ends:
        """Add a part of a pass on each device of a pipeline rank; what comes next there has to wait for."""
        if part.kind == COMPUTE:
            return {d: [self.add(label, d, float(part.amount[d]), kind, after[d])] for d in after}
        base = rank * self.wide
        t = self.plan.tp
        groups = self.exchanges if part.kind == "all-to-all" else [range(q, q + t) for q in range(0, self.wide, t)]
        last = dict(after)
        for members in groups:
            last |= self.collective(label, part.kind, part.amount, [base + member for member in members], after)
        return last

    def collective(
        self,
        label: str,
        kind: str,
        size: float,
        members: Sequence[int],
        after: Mapping[int, Sequence[int]],
        stream: int = STREAM,
    ) -> Ends:
        """Add a collective on the streams of some devices; what each of them has to wait for."""
        steps = _ring(kind, len(members))
        base = stream * self.n
        things = [self.add(f"{label}/ready", base + d, 0.0, "ready", after.get(d, ())) for d in members]
        columns = (steps.destination, steps.share, steps.gather, steps.sent, steps.joined)
        for h, (to, share, gather, sent, joined) in enumerate(zip(*(c.tolist() for c in columns), strict=True)):
            word = "exchange" if kind == "all-to-all" else "gather" if gather else "reduce"
            hop = self.add(f"{label}/{word}{h}", base + members[to], 0.0, word)
            self.edges.append((things[sent], hop, size * share, h, False))
            if joined >= 0:
                self.edges.append((things[joined], hop, 0.0, 0, True))
            things.append(hop)
        return {d: [things[k] for k in last.tolist()] for d, last in zip(members, steps.last, strict=True)}

    def placement(self, like: Problem) -> Placement:
        """All ops in their order, in a problem with the models of another one."""
        device = np.empty(len(self.names), np.int32)
        for d, ops in enumerate(self.order):
            device[ops] = d
        producers, consumers, bytes_, outputs, control = zip(*self.edges, strict=True) if self.edges else ((),) * 5
        ties = [(name,) for name in self.cluster.names]
        graph = OpGraph.from_arrays(
            self.names,
            self.seconds,
            np.column_stack([producers, consumers]).reshape(-1, 2).astype(int),
            edge_bytes=bytes_,
            edge_output=outputs,
            edge_control=control,
            kind=self.kinds,
            devices={v: ties[d] for v, d in enumerate(device.tolist())},
            metadata={"name": f"{like.graph.title}, {self.whose}"},
        )
        number = np.array([graph.index(name) for name in self.names])
        placed = np.empty_like(device)
        placed[number] = device
        problem = like.replace(graph=graph, cluster=self.cluster)
        planned = number[[v for ops in self.order for v in ops]].astype(np.int32)
        return Placement(problem, placed, planned, partitioner="every rank")


def _with_streams(cluster: Cluster, n: int, streams: int) -> Cluster:
    """The first devices of a cluster, at speed 1, and streams beside each, whose links are its device's."""
    own = np.arange((1 + streams) * n) % n
    same = own[:, None] == own
    pairs = np.ix_(own, own)
    names = list(cluster.names[:n])
    beside = [f"{name}/{kind}" for kind in ("stream", "gather")[:streams] for name in names]
    return Cluster(
        [1.0] * len(own),
        bandwidth=np.where(same, np.inf, cluster.bandwidth[pairs]),
        latency=np.where(same, 0.0, cluster.latency[pairs]),
        names=[*names, *beside],
        types=[*cluster.types[:n], *["stream"] * len(beside)],
        hosts=[cluster.hosts[d] for d in own],
    )


def _ops(kind: str, n: int) -> int:
    """Ops of a ring of n devices: one that each is ready, and the hops."""
    return n + n * (n - 1) * (2 if kind == "all-reduce" else 1)


@lru_cache(256)
def _ring(kind: str, n: int) -> Hops:
    return hops("ring", n, kind)

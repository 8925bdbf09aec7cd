"""A plan's step on its ranks, all or one of each stage: parts of passes on devices, collectives on the streams beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.graphs.transforms.collective_hops import Hops, hops
from placelab.graphs.transforms.passes_together import together_order
from placelab.plans.degrees import MOST_OPS, Plan
from placelab.plans.plan_collectives import Gradients, Sizes, exchange_groups, gradient_groups
from placelab.plans.stage_pipeline import scatters, starting_order
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import required
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

COMPUTE = "compute"
SPLIT, WHOLE = "W", "BW"  # gradients of weights in ops of their own, or with those of inputs
STREAM, GATHER = 1, 2  # of a device: collectives within passes, and those of weights and gradients of ZeRO 3
Sent = tuple[str, Sequence[Sequence[int]]]  # kind of a collective, the groups of devices that each run one
Ends = dict[int, list[int]]  # device → ops that it has to wait for
WORDS = {"all-to-all": "exchange", "all-gather": "gather"}  # kind of an op; a sum's is "reduce"
Over = Callable[[str, float, Sequence[int]], float]  # seconds of a collective over some devices


class Part(NamedTuple):
    """A part of a pass: ``"compute"`` with its seconds on each device, or the kind of a collective with its bytes."""

    kind: str
    amount: Any


def parts_of(
    blocks: Mapping[str, np.ndarray], sparse: Sequence[bool], first: int, last: int, sizes: Sizes, recompute: str
) -> dict[str, list[Part]]:
    """The parts of each pass of a stage: phase → parts in their order.

    Parameters
    ----------
    blocks
        Phase → seconds of each block of a micro-batch, shape (n_devices, n_blocks): ``"F"``, ``"B"``, ``"W"``, ``"BW"``, their
        sum, ``"core"``, what selective recomputation makes again, and ``"half"``, the share of a layer's forward seconds before
        its MLP.
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
        WHOLE: back(blocks[WHOLE]),
    }


def _joined(parts: Sequence[Part]) -> list[Part]:
    """The parts, those that compute one after the other as one."""
    found: list[Part] = []
    for part in parts:
        if part.kind == COMPUTE and found and found[-1].kind == COMPUTE:
            part = Part(COMPUTE, found.pop().amount + part.amount)
        found.append(part)
    return found


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


class OneRank(RankPasses):
    """As :class:`RankPasses`, of the first device of each rank of the pipeline alone."""

    def __init__(self, plan: Plan, cluster: Cluster, streams: int = 1, *, over: Over) -> None:
        super().__init__(plan, cluster, streams)
        self.over = over
        self.whose = "a rank of each stage"

    def group(self, rank: int) -> range:
        """The device of a rank of the pipeline."""
        return range(rank * self.wide, rank * self.wide + 1)

    def check(self, passes: Iterable[Sequence[Part]], sent: Iterable[Sent] = ()) -> None:
        """Refuse a step that has too many ops before one is made."""
        total = sum(len(parts) + 2 for parts in passes) + sum(1 for _ in sent) * self.plan.pp
        if total > MOST_OPS:
            raise FormatError(f"a rank of each stage has {total:,} ops; at most {MOST_OPS:,} are made")

    def part(self, label: str, part: Part, rank: int, kind: str, after: Ends) -> Ends:
        """Add a part of a pass; the slowest device of its rank sets the pace."""
        if part.kind == COMPUTE:
            slowest = float(np.max(part.amount[rank * self.wide : (rank + 1) * self.wide]))
            return {d: [self.add(label, d, slowest, kind, after[d])] for d in after}
        return super().part(label, part, rank, kind, after)

    def collective(
        self,
        label: str,
        kind: str,
        size: float,
        members: Sequence[int],
        after: Mapping[int, Sequence[int]],
        stream: int = STREAM,
    ) -> Ends:
        """Add a collective as an op on the stream of each device that is modelled; it waits for all of these."""
        own = [d for d in members if d % self.wide == 0]
        waits = [op for d in own for op in after.get(d, ())]
        word = WORDS.get(kind, "reduce")
        seconds = self.over(kind, size, members) if own else 0.0
        return {d: [self.add(label, stream * self.n + d, seconds, word, waits)] for d in own}

    def placement(self, like: Problem) -> Placement:
        """All ops in their order, on the devices that are modelled and their streams."""
        c = self.cluster
        streams = len(self.order) // self.n
        kept = [s * self.n + j * self.wide for s in range(streams) for j in range(self.plan.pp)]
        pairs = np.ix_(kept, kept)
        stream = np.arange(len(kept)) >= self.plan.pp
        waits = stream[:, None] | stream  # a collective's seconds have all of its latencies
        self.order = [self.order[k] for k in kept]
        self.cluster = Cluster(
            [1.0] * len(kept),
            bandwidth=c.bandwidth[pairs],
            latency=np.where(waits, 0.0, c.latency[pairs]),
            names=[c.names[k] for k in kept],
            types=[c.types[k] for k in kept],
            hosts=[c.hosts[k] for k in kept],
        )
        return super().placement(like)


def every_rank(
    plan: Plan,
    cluster: Cluster,
    one: Schedule,
    parts: Sequence[Mapping[str, list[Part]]],
    gradients: Sequence[Gradients],
    chains: Sequence[tuple[Sequence, Sequence]] = (),
    scattered: Sequence[Gradients] = (),
    make: Callable[..., RankPasses] = RankPasses,
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
        Of each pipeline rank what leaves it after its last op.
    chains
        Of passes that run together: by stage, the seconds of the parts of its forward pass and of its whole backward pass, as
        :func:`placelab.plans.overlap_seconds` takes them.
    scattered
        Under ZeRO 2, of each stage what is scattered after each backward pass, on a second stream, ``name/gather``.
    make
        Of which ranks ops are made: of all, or of one (:class:`OneRank`).

    Returns
    -------
    Placement
        Of a problem on the ranks and their streams, ``name/stream``. Ops: ``F{micro-batch}.{stage}/{part}@{device}``, hops
        ``F…/{part}/reduce{hop}@{device}``, ``gradients{j}/…``; ``planned`` replays it. Passes that run together begin and end
        with an op without time; the parts between are in the order that gives the seconds of both.

    Raises
    ------
    FormatError
        More than a million ops.

    Notes
    -----
    Sums and exchanges are rings. O(ops + edges).
    """
    ranks = make(plan, cluster, streams=2 if scattered else 1)
    ranks.check(_each_pass(one, parts), _each_sent(plan, one, gradients, scattered))
    _add_passes(ranks, one, parts, chains, scattered)
    _add_gradients(ranks, gradients)
    return ranks.placement(one.problem)


def _each_pass(one: Schedule, parts: Sequence[Mapping[str, list[Part]]]) -> Iterator[list[Part]]:
    """The parts of all passes; of those that run together, of both."""
    pipeline = required(one.problem.graph, "every_rank")
    for phase, stage, back in zip(
        pipeline.phase, pipeline.stage.tolist(), pipeline.backward[:, 1].tolist(), strict=True
    ):
        yield parts[stage]["F" if phase == "FB" else str(phase)]
        if phase == "FB":
            yield parts[back]["BW"]


def _each_sent(
    plan: Plan, one: Schedule, gradients: Sequence[Gradients], scattered: Sequence[Gradients]
) -> Iterator[Sent]:
    """All collectives of gradients and weights."""
    bases = [0, plan.dp * plan.tp] if plan.twins else [0]
    groups = [_members(plan, bases, experts) for experts in (False, True)]
    stages = [each.stage for each in scatters(one, plan.twins)] if scattered else []
    apart = gradients[: plan.pp // 2] if plan.twins else gradients  # twins send theirs together
    kinds = "reduce-scatter" if plan.zero else "all-reduce", "all-gather"
    for sent in (*apart, *(Gradients(scattered[s].size, 0.0, scattered[s].experts) for s in stages)):
        for k, size in enumerate(sent):  # gradients and weights, then those of experts
            if size:
                yield kinds[k % 2], groups[k // 2]


def _add_passes(
    ranks: RankPasses,
    one: Schedule,
    parts: Sequence[Mapping[str, list[Part]]],
    chains: Sequence[tuple[Sequence, Sequence]],
    scattered: Sequence[Gradients],
) -> None:
    """Add all passes, in the order in which they start in the one pipeline."""
    graph = one.problem.graph
    pipeline = required(graph, "every_rank")
    ends: dict[int, dict[int, int]] = {}  # op of the one pipeline → device → the op that is its end there
    needs: dict[int, list[tuple[int, float]]] = {}
    for u, v, size in zip(graph.producer.tolist(), graph.consumer.tolist(), graph.edge_bytes.tolist(), strict=True):
        needs.setdefault(v, []).append((u, size))
    at = {v: k for k, v in enumerate(starting_order(one))}
    sent = {max(each.ops, key=at.__getitem__): each for each in scatters(one, ranks.plan.twins)} if scattered else {}
    for v in at:
        rank = int(one.device[v])
        phase = str(pipeline.phase[v])
        stage = int(pipeline.stage[v])
        label = str(graph.names[v])
        if phase == "FB":
            back = int(pipeline.backward[v, 1])
            order = together_order(chains[stage][0], chains[back][1])
            begun, ends[v] = ranks.run_together(label, (parts[stage]["F"], parts[back]["BW"]), order, rank)
        else:
            begun, ends[v] = ranks.run(label, parts[stage][phase], rank, phase[0])
        for u, size in needs.get(v, []):
            away = (int(one.device[u]) - rank) * ranks.wide
            for device, op in begun.items():
                ranks.edges.append((ends[u][device + away], op, size if away else 0.0, 0, not away))
        if v in sent:
            _scatter(ranks, label, scattered[sent[v].stage], [ends[u] for u in sent[v].ops])


def _scatter(ranks: RankPasses, label: str, sent: Gradients, made: Sequence[Mapping[int, int]]) -> None:
    """Scatter the gradients of a stage once the passes that made them are over on each of its devices."""
    last: Ends = {d: [op] for each in made for d, op in each.items()}
    bases = [min(each) for each in made]
    for experts, size in ((False, sent.size), (True, sent.experts)):
        for members in _members(ranks.plan, bases, experts) if size else ():
            last |= ranks.collective(
                f"scatter/{label}{'/experts' * experts}", "reduce-scatter", size, members, last, GATHER
            )


def _members(plan: Plan, bases: Sequence[int], experts: bool) -> list[list[int]]:
    """Devices that hold the same weights, or the same experts, of ranks of the pipeline that begin at `bases`."""
    groups = [
        [base + place for base in bases for place in places.tolist()] for places in gradient_groups(plan, experts)
    ]
    return [group for group in groups if len(group) > 1]


def _add_gradients(ranks: RankPasses, gradients: Sequence[Gradients]) -> None:
    """Sum gradients over the devices that hold the same weights once the last op of each is over; of twins over both ranks."""
    plan = ranks.plan
    stream = GATHER if ranks.plan.zero == 2 else STREAM
    for rank, sent in enumerate(gradients):
        twins = [rank, plan.pp - 1 - rank] if plan.twins else [rank]
        if twins[0] > twins[-1]:
            continue
        bases = [twin * ranks.wide for twin in twins]
        last: Ends = {d: ranks.order[d][-1:] for base in bases for d in range(base, base + ranks.wide)}
        for experts, size, gathered in ((False, *sent[:2]), (True, *sent[2:])):
            rounds = [("all-reduce", size)] if not plan.zero else [("reduce-scatter", size), ("all-gather", gathered)]
            for kind, bytes_ in rounds:
                for members in _members(plan, bases, experts) if bytes_ else ():
                    label = f"gradients{rank}/{'experts/' * experts}{kind}"
                    last |= ranks.collective(label, kind, bytes_, members, last, stream)

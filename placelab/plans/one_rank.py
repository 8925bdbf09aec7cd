"""One rank of each stage of a plan's step, with its streams: each collective is an op there, as long as its closed form says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from placelab.base.errors import FormatError
from placelab.plans.degrees import Plan
from placelab.plans.pass_parts import COMPUTE, Part
from placelab.plans.rank_passes import MOST_OPS, STREAM, Ends, RankPasses, Sent
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement

WORDS = {"all-to-all": "exchange", "all-gather": "gather"}  # kind of an op; a sum's is "reduce"
Over = Callable[[str, float, Sequence[int]], float]  # seconds of a collective over some devices


class OneRank(RankPasses):
    """As :class:`placelab.plans.rank_passes.RankPasses`, of the first device of each rank of the pipeline alone."""

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

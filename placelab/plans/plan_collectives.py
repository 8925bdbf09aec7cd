"""Bytes and seconds of a plan's collectives: sums of tensor groups, exchanges of tokens, gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from placelab.costs.collective_times import collective_time
from placelab.models import Transformer
from placelab.plans.degrees import Plan, ranks_with, stages_of
from placelab.plans.memory import BlockMemory, training_bytes
from placelab.problem.cluster import Cluster


class Sizes(NamedTuple):
    """Bytes of the collectives of a layer; 0 where a plan has none: sums over tensor groups, exchanges of tokens for experts."""

    summed: float
    exchanged: float


class Gradients(NamedTuple):
    """Bytes that leave a rank after its last op: gradients, and weights that are gathered once ZeRO 1 or 2 has scattered those;
    of experts apart, as fewer ranks hold the same ones."""

    size: float
    gathered: float = 0.0
    experts: float = 0.0
    experts_gathered: float = 0.0


def rank_groups(plan: Plan, rank: int) -> np.ndarray:
    """Devices of a rank of the pipeline: replica i, tensor rank q at q + tp i."""
    return np.arange(plan.tp * plan.dp) + plan.tp * plan.dp * rank


def exchange_groups(plan: Plan) -> list[np.ndarray]:
    """Places, in a rank of the pipeline, of the devices among which each group of tokens is exchanged.

    As Megatron has them: ranks that divide an expert's matrices are next to each other, then those that have other experts.

    >>> [group.tolist() for group in exchange_groups(Plan(dp=2, tp=2, ep=2))]
    [[0, 2], [1, 3]]
    >>> [group.tolist() for group in exchange_groups(Plan(tp=4, ep=2))]
    [[0, 2], [1, 3]]
    """
    inside = plan.training().expert_tensor
    places = np.arange(plan.tp * plan.dp).reshape(-1, plan.ep, inside)
    return [group for copy in places for group in copy.T]


def gradient_groups(plan: Plan, experts: bool = False) -> list[np.ndarray]:
    """Places, in a rank of the pipeline, of the devices that hold the same weights, or the same experts.

    >>> [group.tolist() for group in gradient_groups(Plan(dp=4, tp=2, ep=2), experts=True)]
    [[0, 4], [1, 5], [2, 6], [3, 7]]
    """
    apart = plan.ep * plan.training().expert_tensor if experts else plan.tp
    return list(np.arange(plan.tp * plan.dp).reshape(-1, apart).T)


def joined(sizes: Sequence[Gradients], which: Sequence[int]) -> Gradients:
    """The bytes of several blocks or stages, which are sent at once."""
    return Gradients(*(sum(column) for column in zip(*(sizes[k] for k in which), strict=True)))


class Collectives:
    """Collectives of plans of one model and length on a cluster; what plans share is computed once."""

    def __init__(self, model: Transformer, cluster: Cluster, sequence: int) -> None:
        self.model = model
        self.cluster = cluster
        self.sequence = sequence
        self.found: dict[Any, Any] = {}

    def _once(self, key: Any, make: Callable[[], Any]) -> Any:
        if key not in self.found:
            self.found[key] = make()
        return self.found[key]

    def sizes(self, plan: Plan) -> Sizes:
        """Bytes that a layer sums over a tensor group, and exchanges for its experts; 0 where there is one rank."""
        shape = self.model.shape
        hidden = self.model.element_bytes * plan.microbatch * self.sequence * shape.hidden
        return Sizes(hidden * (plan.tp > 1), hidden * shape.chosen / plan.tp * (plan.ep > 1))

    def over(self, kind: Any, size: float, devices: Sequence[int]) -> float:
        """Seconds of a collective by the slowest link of the ring."""
        if len(devices) < 2 or not size:
            return 0.0
        ahead = [*devices[1:], devices[0]]
        c = self.cluster
        slowest = float(c.bandwidth[devices, ahead].min())
        latest = float(c.latency[devices, ahead].max())
        return collective_time(kind, size, len(devices), bandwidth=slowest, latency=latest)

    def of_layers(self, plan: Plan, layers: range, group: np.ndarray) -> float:
        """Seconds of the collectives of some layers on the devices of a stage, one way."""
        sparse = self.model.shape.sparse
        reduce, experts = self.each(plan, group)
        return len(layers) * 2 * reduce + 2 * experts * sum(sparse[i] for i in layers)

    def each(self, plan: Plan, group: np.ndarray) -> tuple[float, float]:
        """Seconds of one sum over a tensor group, and of one exchange for experts, on the devices of a stage."""
        key = ("each", int(group[0]), plan.tp, plan.ep, plan.dp, plan.microbatch)

        def make() -> tuple[float, float]:
            sizes = self.sizes(plan)
            return (
                self.over("all-reduce", sizes.summed, group[: plan.tp].tolist()),
                self.over("all-to-all", sizes.exchanged, group[exchange_groups(plan)[0]].tolist()),
            )

        return self._once(key, make)

    def stage_gradients(self, plan: Plan, ends: np.ndarray) -> list[Gradients]:
        """Bytes of each stage's gradients and weights; `ends` are the first blocks of stages, and the end."""
        each = np.array(self.of_blocks(plan))
        return [Gradients(*each[a:b].sum(axis=0).tolist()) for a, b in pairwise(ends.tolist())]

    def gradients(self, plan: Plan, ends: np.ndarray) -> list[Gradients]:
        """Bytes that leave each rank of the pipeline after its last op; `ends` are the first blocks of stages, and the end."""
        stages = self.stage_gradients(plan, ends)
        own = [stages_of(plan.schedule, j, plan.pp, plan.chunks) for j in range(plan.pp)]
        found = [joined(stages, mine) for mine in own]
        if plan.zero == 2:  # gradients have left after each pass
            return [Gradients(0.0, sent.gathered, 0.0, sent.experts_gathered) for sent in found]
        return [sent if plan.zero else Gradients(sent.size, 0.0, sent.experts, 0.0) for sent in found]

    def gradient_seconds(self, plan: Plan, ends: np.ndarray) -> tuple[float, ...]:
        """Seconds of each rank's exchange of gradients; of DualPipe's twins over both of them."""
        return tuple(map(sum, self.gradient_parts(plan, ends)))

    def gradient_parts(self, plan: Plan, ends: np.ndarray) -> list[tuple[float, float]]:
        """Of each rank the seconds in which weights are gathered, and gradients summed or scattered before."""
        scatter = "reduce-scatter" if plan.zero else "all-reduce"
        each = zip(self.rings(plan), self.gradients(plan, ends), strict=True)
        return [self._sent(sent, rings, scatter) for rings, sent in each]

    def scatter_seconds(self, plan: Plan, ends: np.ndarray) -> tuple[float, ...]:
        """Seconds in which the gradients of each stage are scattered."""
        rings = self.rings(plan)
        own = [rings[ranks_with(plan.schedule, s, plan.pp, plan.chunks)[0]] for s in range(len(ends) - 1)]
        each = zip(own, self.stage_gradients(plan, ends), strict=True)
        return tuple(self._sent(sent, ring)[1] for ring, sent in each)

    def of_blocks(self, plan: Plan) -> list[Gradients]:
        """Bytes of each block's gradients and weights, which ZeRO 3 scatters and gathers."""
        whole = self._whole(plan)
        experts = whole.of_experts or {}
        names = "gradients", "weights"
        columns = [*(whole.kept[n] - experts[n] for n in names), *(experts[n] for n in names)]
        return [Gradients(*row) for row in np.stack(columns, axis=1).tolist()]

    def gathered_seconds(self, plan: Plan, sent: Gradients) -> tuple[float, float]:
        """Seconds to gather weights, and to scatter their gradients."""
        return self._sent(sent, self.rings(plan)[0])

    def _sent(
        self, sent: Gradients, rings: tuple[list[int], list[int]], scatter: str = "reduce-scatter"
    ) -> tuple[float, float]:
        """Seconds to gather weights, and to scatter or sum gradients, over the ring of all and that of experts."""
        every, experts = rings
        gather = self.over("all-gather", sent.gathered, every)
        reduce = self.over(scatter, sent.size, every)
        return (
            gather + self.over("all-gather", sent.experts_gathered, experts),
            reduce + self.over(scatter, sent.experts, experts),
        )

    def rings(self, plan: Plan) -> list[tuple[list[int], list[int]]]:
        """Of each rank of the pipeline the first ring over which gradients are summed, and that of experts."""
        places = [gradient_groups(plan, experts)[0] for experts in (False, True)]
        found = []
        for j in range(plan.pp):
            twins = [j, plan.pp - 1 - j] if plan.twins else [j]
            groups = [rank_groups(plan, rank) for rank in twins]
            every, experts = ([int(d) for group in groups for d in group[place]] for place in places)
            found.append((every, experts))
        return found

    def _whole(self, plan: Plan) -> BlockMemory:
        """Bytes of a device that ZeRO does not divide."""
        how = plan.training()
        key = "whole", plan.tp, plan.ep, how.expert_tensor

        def make() -> BlockMemory:
            return training_bytes(self.model, replace(how, zero=0), 1, 1)

        return self._once(key, make)


def stage_devices(plan: Plan, stage: int) -> np.ndarray:
    """Devices of a stage; of DualPipe on both sides."""
    ranks = ranks_with(plan.schedule, stage, plan.pp, plan.chunks)
    return np.concatenate([rank_groups(plan, rank) for rank in ranks])

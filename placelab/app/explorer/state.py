"""The state of the explorer, one immutable value, and the key that says to which state a result belongs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from itertools import count
from typing import Any

import numpy as np

import placelab.costs as costs
from placelab.app.explorer.offered import (
    BY_HAND,
    CLUSTER,
    GIVEN,
    MODEL,
    OWN,
    HandPlan,
    Job,
    Model,
    Preset,
    model_of,
    preset,
)
from placelab.app.explorer.spreads import Layers, Planned, planned_of, schedules
from placelab.app.widgets.cluster_edit import Layout
from placelab.base.errors import FormatError, InfeasibleError
from placelab.base.once import once
from placelab.costs import Profile
from placelab.costs.new_costs import counts_plainly
from placelab.plans.layer_split import LayerSplit
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.ops_on_devices import groups_of, merged_groups
from placelab.problem.problem import CHOSEN, Problem
from placelab.problem.problem_key import problem_key
from placelab.schedule.catalogue import PLANNED, find, keywords, partitioners, schedulers, transforms
from placelab.schedule.placement import Placement

PARTITIONER, SCHEDULER = "heft", PLANNED  # defaults
TIED = "round-robin"  # the partitioner where each op is tied to its device: the quickest


Spread = Layers | Planned


@dataclass(frozen=True)
class State:
    """Everything that is set in the explorer's pickers and on its canvas.

    Attributes
    ----------
    model
        The graph.
    costs
        ``"model"``: as the graph has them; ``"mayer"``: drawn as in Mayer 2017 §5.1; ``"seconds"``: its plain numbers as
        milliseconds (:func:`placelab.costs.in_seconds`).
    compute, transfer
        Factors of all operations and seconds, and of all tensor bytes.
    preset, cluster, layout
        The cluster picked, the cluster after edits, and the arrangement of its cards.
    partitioner, scheduler, seed
        Names in the catalogues.
    prepare
        Names of the transformations that make the graph smaller before it is placed, in their order.
    options
        ``{("partitioner", name): {option: value}}``, likewise for schedulers and transforms: options that differ from their
        defaults. Options of strategies that are not chosen now are kept.
    memory, transfers, duplex, latency, transfer_ops, groups
        As in :class:`placelab.Problem`; no control changes the last two, which come from a given problem.
    requested_scheduler
        The scheduler that a user has chosen, where it could not run for want of a plan; "" where it runs.
    job, base
        The training job that `model` is, and the state of one step that it is made of; None where `model` is the step itself.
    spread
        How a decoder is spread over the devices, its layers split or under a plan; the problem is then that of the split or the
        plan. None for other models.
    pins
        Device constraints of a given problem, and pins set by hand: ``{op: names of devices, types, hosts}``, all of which
        hold.
    hand
        The plan that was made by hand, in place of the partitioner's; it counts for its model and number of devices.
    """

    model: Model
    preset: Preset
    cluster: Cluster
    layout: Layout
    partitioner: str = PARTITIONER
    scheduler: str = SCHEDULER
    seed: int = 0
    costs: str = "model"
    compute: float = 1.0
    transfer: float = 1.0
    options: Mapping[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    memory: str = "none"
    transfers: str = "parallel"
    duplex: bool = False
    transfer_ops: float = 0.0
    latency: str = "holds"
    groups: tuple[tuple[str, ...], ...] = ()
    pins: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    prepare: tuple[str, ...] = ()
    requested_scheduler: str = ""
    job: Job | None = None
    base: State | None = None
    spread: Spread | None = None
    hand: HandPlan | None = None

    @property
    def own_plan(self) -> HandPlan | None:
        """The plan that was made by hand, where it counts."""
        return self.hand if self.hand is not None and self.fits(self.hand) else None

    @property
    def placed(self) -> np.ndarray | None:
        """Which ops of the plan by hand are placed, where they are placed one by one; None: all."""
        return self.own_plan.placed if self.own_plan is not None else None

    def fits(self, hand: HandPlan) -> bool:
        """Whether a plan is one of this model on so many devices."""
        return hand.model is self.model and hand.n_devices == self.cluster.n_devices

    @property
    def placer(self) -> str:
        """Name of the partitioner, or of the plan in its place."""
        return self.own_plan.title if self.own_plan else self.partitioner

    @property
    def graph(self) -> OpGraph:
        """The graph with the costs chosen."""
        model = self.model if self.spread is None else _spread_model(self.spread, self.cluster)
        return model.with_scaled_costs(self.costs, self.compute, self.transfer)

    @property
    def edited(self) -> bool:
        """Whether the cluster was changed after it was picked."""
        return self.cluster is not self.preset.cluster

    def options_of(self, kind: str) -> Mapping[str, Any]:
        """Options of the chosen ``"partitioner"`` or ``"scheduler"`` that differ from its defaults."""
        return self.options.get((kind, getattr(self, kind)), {})

    def with_options(self, kind: str, values: Mapping[str, Any]) -> State:
        """Other options for the chosen strategy."""
        return self.with_option_values(kind, getattr(self, kind), values)

    def with_strategy(self, kind: str, name: str) -> State:
        """Another ``"partitioner"`` or ``"scheduler"``; with another partitioner, `requested_scheduler` is tried again.

        A scheduler that a plan can have becomes the plan's.
        """
        if kind == "scheduler":
            if self.planned is not None and name in schedules(self.planned.plan):
                planned = self.planned.moved("schedule", name, self.cluster)
                return replace(self.with_spread(planned), scheduler=planned.scheduler, requested_scheduler="")
            return replace(self, scheduler=name, requested_scheduler="")
        scheduler = self.requested_scheduler or self.scheduler
        return replace(self, partitioner=name, scheduler=scheduler, requested_scheduler="", hand=None)

    def with_hand(self, placement: Placement, title: str = BY_HAND, placed: np.ndarray | None = None) -> State:
        """A plan in place of the partitioner's; ``planned`` replays it."""
        assert placement.planned is not None
        arrays = placement.device, placement.planned, placement.not_before
        part = None if placed is None or placed.all() else placed
        return self.with_plan(HandPlan(self.model, self.cluster.n_devices, *arrays, title, part))

    def with_plan(self, hand: HandPlan) -> State:
        """A plan that was shown before, in place of the partitioner's."""
        return replace(self, hand=hand, scheduler=PLANNED, requested_scheduler="")

    def with_choices(
        self, partitioner: str | None, scheduler: str | None, options: Mapping[str, Any], prepare: tuple[str, ...]
    ) -> State:
        """Other strategies where they are named, options, transformations; UnsupportedError for unknown names."""
        chosen = self
        for kind, name, catalogue in (
            ("partitioner", partitioner, partitioners()),
            ("scheduler", scheduler, schedulers()),
        ):
            if name is not None:
                chosen = chosen.with_strategy(kind, find(catalogue, name, kind).name)
        for name in prepare:
            find(transforms(), name, "transform")
        keywords(partitioners()[chosen.partitioner], options)
        return replace(chosen.with_options("partitioner", options), prepare=prepare)

    def with_option_values(self, kind: str, name: str, values: Mapping[str, Any]) -> State:
        """Other options for the strategy or transform called `name`."""
        return replace(self, options={**self.options, (kind, name): dict(values)})

    @property
    def preparation(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The transformations before placing, each with its options that differ from the defaults."""
        return tuple((name, self.options.get(("transform", name), {})) for name in self.prepare)

    def with_model(self, model: Model) -> State:
        """Another graph, on its own processors if it comes with some; those of the graph before are replaced by a preset."""
        if self.base is not None:
            return self.base.with_model(model)
        changed = replace(self, model=model, groups=(), pins=(), costs=self._fitting(model, self.preset))
        changed = changed.with_spread(spread_of(model, self.cluster))
        if model.cluster:
            return changed.with_preset(model.cluster)
        return changed.with_preset(preset(CLUSTER)) if self.preset.title == OWN else changed

    @property
    def layers(self) -> Layers | None:
        """How a decoder's layers are split, if they are."""
        return self.spread if isinstance(self.spread, Layers) else None

    @property
    def planned(self) -> Planned | None:
        """The plan that a decoder is trained under, if there is one."""
        return self.spread if isinstance(self.spread, Planned) else None

    def with_spread(self, spread: Spread | None) -> State:
        """A decoder spread so, or no decoder. Ops are tied to devices then, so that the quickest strategies will do."""
        if spread is None:
            free = replace(self, spread=None)
            return free if self.spread is None else replace(free, partitioner=PARTITIONER, scheduler=SCHEDULER)
        changed = replace(self, spread=spread, hand=None)
        if self.spread is None:
            changed = replace(changed, partitioner=TIED)
        if self.spread is None or self.spread.scheduler != spread.scheduler:
            changed = replace(changed, scheduler=spread.scheduler, requested_scheduler="")
        return changed

    def with_profile(self, name: str, profile: Profile) -> State:
        """The same graph with measured times, which hold for a device of the cluster's median speed."""
        if self.base is not None:
            return self.base.with_profile(name, profile)
        graph = costs.measured(self.model.graph, profile, reference_speed=float(np.median(self.cluster.speed)))
        return replace(self, model=Model(f"{self.model.title}, {name}", graph), costs="model").with_spread(None)

    def with_preset(self, preset: Preset) -> State:
        """Another cluster, with costs that fit."""
        return replace(self, preset=preset, costs=self._fitting(self.model, preset)).with_cluster(
            preset.cluster, Layout.of(preset.cluster)
        )

    def _fitting(self, model: Model, preset: Preset) -> str:
        """Costs that fit a graph and a cluster, unless others than those that fit were chosen before."""
        chosen = self.costs != costs_for(self.model.graph, self.preset)
        possible = self.costs != "seconds" or counts_plainly(model.graph)
        return self.costs if chosen and possible else costs_for(model.graph, preset)

    def with_cluster(self, cluster: Cluster, layout: Layout) -> State:
        """The cluster after an edit. The memory model changes with it if it was its default; pins follow a device's new name."""
        memory = default_memory(cluster) if self.memory == default_memory(self.cluster) else self.memory
        pins = _renamed(self.pins, self.cluster.names, cluster.names)
        spread = None if self.spread is None else self.spread.on(cluster)
        return replace(self, cluster=cluster, layout=layout, memory=memory, pins=pins, spread=spread)

    def with_pin(self, ops: Iterable[str], device: str) -> State:
        """Tie ops to a device, all members of their colocation groups behind them; earlier pins of these ops no longer hold."""
        asked = dict.fromkeys(ops)
        moved = [*asked, *(op for op in self.with_groups(asked) if op not in asked)]
        kept = self.without_pin(moved).pins or ({},)
        return replace(self, pins=(*kept[:-1], {**kept[-1], **dict.fromkeys(moved, (device,))}))

    def without_pin(self, ops: Iterable[str]) -> State:
        """Take the pins of ops away, and those of all members of their colocation groups."""
        free = set(self.with_groups(ops))
        kept = ({op: names for op, names in where.items() if op not in free} for where in self.pins)
        return replace(self, pins=tuple(where for where in kept if where))

    def with_groups(self, ops: Iterable[str]) -> list[str]:
        """Names of ops and of all that share a colocation group with one of them, in the graph's order."""
        graph = self.graph
        chosen = np.zeros(graph.n_ops, bool)
        chosen[[graph.index(op) for op in ops]] = True
        group, _ = merged_groups(graph, groups_of(self.groups))
        together = np.unique(group[chosen])
        chosen |= np.isin(group, together[together >= 0])
        return graph.names[chosen].tolist()

    @property
    def rules(self) -> tuple:
        """The arguments of the problem; states with equal ones have the same problem."""
        labels = ("graph", "cluster", "spread", *CHOSEN, "groups", "pins")
        return tuple(getattr(self, label) for label in labels)

    def problem(self) -> Problem:
        """The problem described; raise PlacelabError when it is invalid."""
        chosen = {label: getattr(self, label) for label in CHOSEN}
        if self.spread is None:
            problem = Problem(self.graph, self.cluster, **chosen, groups=self.groups)
        else:
            if not self.spread.fits(self.cluster):  # the strip says what is missing, and the chart shows what would be
                chosen["memory"] = "none"
            problem = self.spread.problem(self.cluster).replace(**chosen)
            problem = problem if self.graph is problem.graph else problem.with_costs(graph=self.graph)
        for where in self.pins:
            problem = problem.pin(pins_on(where, self.cluster))
        return problem


Change = Callable[[State], State]


def initial_state(given: Any = None, cluster: Cluster | str | None = None) -> State:
    """The state to open on.

    Parameters
    ----------
    given
        A Problem (its rules are kept), a LayerSplit (on its cluster), or anything :func:`placelab.load` takes; None is the
        dataset ``inception_v3``.
    cluster
        Instead of the problem's, the graph's own processors, or ``rtx2080ti_box``; also the name of a preset.
    """
    problem = given if isinstance(given, Problem) else None
    if isinstance(given, LayerSplit):
        cluster = cluster or given.cluster
    model = model_of(problem.graph if problem else MODEL if given is None else given)
    chosen = cluster or (problem.cluster if problem else None)
    if isinstance(chosen, str):
        start = preset(chosen)
    else:
        start = Preset(GIVEN, chosen) if chosen else model.cluster or preset(CLUSTER)
    state = State(model, start, start.cluster, Layout.of(start.cluster), memory=default_memory(start.cluster))
    if problem is not None:
        state = replace(state, **_rules(problem))
    if model.layers is not None:
        state = state.with_spread(spread_of(model, start.cluster))
    return state if problem is not None and cluster is None else replace(state, costs=costs_for(model.graph, start))


def spread_of(model: Model, cluster: Cluster) -> Spread | None:
    """How a decoder is spread at first: its layers split, or under a plan where there are more devices than blocks."""
    layers = model.layers
    if layers is None or cluster.n_devices <= layers.model.layers + 2:
        return layers
    return planned_of(layers.model, layers.source, cluster)


@lru_cache(maxsize=8)
def _spread_model(spread: Spread, cluster: Cluster) -> Model:
    """The graph of a split or a plan; the same object when asked again."""
    return Model(spread.model.name, spread.problem(cluster).graph)


def default_memory(cluster: Cluster) -> str:
    """The memory model of a problem on this cluster unless another one is chosen."""
    return "none" if np.isinf(cluster.memory).all() else "dynamic"


def costs_for(graph: OpGraph, preset: Preset) -> str:
    """The costs in which a graph fits a cluster: both in SI units, or both in plain numbers."""
    if counts_plainly(graph):
        return "seconds" if preset.cluster.units.si else "model"
    return "model" if preset.cluster.units.si else "mayer"


def said_of_costs(state: State) -> str:
    """A sentence where the costs are not those of the model, because these would not fit the cluster."""
    where = "the cluster" if state.preset.title in (GIVEN, OWN) else state.preset.title
    return {
        "seconds": f"{state.model.graph.title} counts in plain numbers: on {where} a unit takes 1 ms (Costs).",
        "mayer": f"Quantities of {where} are plain numbers: costs are drawn from 1 to 100, as in Mayer 2017 (Costs).",
    }.get(state.costs, "")


def pins_on(where: Mapping[str, tuple[str, ...]], cluster: Cluster) -> dict[str, tuple[str, ...]]:
    """The pins without names that the cluster lacks; raise InfeasibleError when a pin has no name left."""
    known = {*cluster.names, *cluster.types, *cluster.hosts}
    left = {op: tuple(name for name in names if name in known) for op, names in where.items()}
    for op, names in left.items():
        if not names:
            raise InfeasibleError(
                f"op {op!r} may only run on {', '.join(where[op])}, which the cluster would no longer have"
            )
    return left


def _renamed(
    pins: tuple[Mapping[str, tuple[str, ...]], ...], before: Sequence[str], after: Sequence[str]
) -> tuple[Mapping[str, tuple[str, ...]], ...]:
    """The pins, a device being called by its new name if it is the only one whose name has changed."""
    other = [(old, new) for old, new in zip(before, after, strict=False) if old != new]
    if not pins or len(other) != 1 or len(before) != len(after):
        return pins
    new = dict(other)
    return tuple({op: tuple(new.get(name, name) for name in names) for op, names in where.items()} for where in pins)


def _rules(problem: Problem) -> dict[str, Any]:
    rules = {label: getattr(problem, label) for label in CHOSEN}
    groups = () if problem.groups == Problem(problem.graph, problem.cluster).groups else problem.groups
    depth = max(map(len, problem.rules.values()), default=0)
    pins = tuple({op: names[i] for op, names in problem.rules.items() if i < len(names)} for i in range(depth))
    return {**rules, "groups": groups, "pins": pins}


SHOWN = 12  # characters of each hash: a session has some thousand states
_numbers = count()


def key_of_problem(state: State, problem: Problem) -> str:
    """The hash of a problem and of what all pairs of strategies are told of it: seed and transformations."""
    return _hash(f"{_problem(problem)} {state.seed} {state.preparation}")


def key_of(state: State, problem: Problem) -> str:
    """The hash of the problem, a colon, and that of the strategies with their options, or of the plan in their place.

    Equal states have equal keys. A strategy that is defined anew has another key than the one of its name before.
    """
    plan = state.own_plan
    placed = _number(partitioners().get(state.partitioner)) if plan is None else _number(plan)
    parts = (
        placed,
        _number(schedulers().get(state.scheduler)),
        *(sorted(state.options_of(kind).items()) for kind in ("partitioner", "scheduler")),
    )
    return f"{key_of_problem(state, problem)}:{_hash(str(parts))}"


def _hash(text: str) -> str:
    return blake2b(text.encode(), digest_size=SHOWN // 2).hexdigest()


@once
def _problem(problem: Problem) -> str:
    """The digest that is there already; a problem that has none, since its metadata are not JSON, is equal to itself alone."""
    try:
        return problem_key(problem)
    except FormatError:
        return f"without a hash: {next(_numbers)}"


def _number(strategy: object) -> int:
    """A number of its own for each strategy or plan; 0 for one that has been taken out."""
    return 0 if strategy is None else _numbered(strategy)


@once
def _numbered(strategy: object) -> int:
    return next(_numbers) + 1

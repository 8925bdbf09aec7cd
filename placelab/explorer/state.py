"""What does the explorer show? One immutable value, and the steps between such values. Nothing here knows the browser."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from placelab import costs, datasets
from placelab.errors import InfeasibleError
from placelab.loading import load
from placelab.problem import clusters
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.strategies import PLANNED
from placelab.widgets.cluster.layout import Layout

MODEL, CLUSTER, PARTITIONER, SCHEDULER = "dynamic_rnn", "pcie_box", "heft", PLANNED  # what the explorer opens on
GIVEN, OWN = "as given", "the model's own"  # clusters that are not presets
STEPS = 200  # that can be undone


@dataclass(frozen=True, eq=False)
class Model:
    """A graph, its title in the picker, and the expression that loads it ("" when only a saved file can)."""

    title: str
    graph: OpGraph
    code: str = ""

    @cached_property
    def mayer(self) -> OpGraph:
        """The same topology with the costs of Mayer 2017."""
        return costs.mayer(self.graph)

    def of_kind(self, kind: str) -> OpGraph:
        """The graph with costs of a kind, as of `State.costs`."""
        return self.mayer if kind == "mayer" else self.graph

    def priced(self, kind: str, compute: float, transfer: float) -> OpGraph:
        """The graph with costs of a kind, multiplied; the last one is kept."""
        asked = (kind, compute, transfer)
        if self._priced.get("asked") != asked:
            graph = self.of_kind(kind)
            scaled = graph if compute == transfer == 1.0 else costs.scale(graph, compute=compute, transfer=transfer)
            self._priced.update(asked=asked, graph=scaled)
        return self._priced["graph"]

    @cached_property
    def _priced(self) -> dict[str, Any]:
        return {}

    @cached_property
    def cluster(self) -> Preset | None:
        """The processors that the graph is defined on, if it comes with some."""
        own = datasets.own_cluster(self.graph)
        return None if own is None else Preset(OWN, own, "pl.Cluster(**graph.metadata['cluster'])")


@dataclass(frozen=True, eq=False)
class Preset:
    """A cluster to start from, its title in the picker, and the expression that makes it ("" when it has to be written out)."""

    title: str
    cluster: Cluster
    code: str = ""


@dataclass(frozen=True)
class State:
    """Everything the explorer's pickers and canvas say.

    Attributes
    ----------
    model
        The graph.
    costs
        ``"model"``: as the graph has them; ``"mayer"``: drawn as in Mayer 2017 §5.1.
    compute, transfer
        By what all operations and seconds, and all tensor bytes are multiplied.
    preset, cluster, layout
        The cluster begun with, what a hand has made of it, and how its cards are arranged.
    partitioner, scheduler, seed
        Names in the catalogues.
    prepare
        Names of the transformations that make the graph smaller before it is placed, in their order.
    options
        ``{("partitioner", name): {option: value}}``, likewise for schedulers and transforms: what differs from the defaults.
        Options of what is not chosen now are kept.
    memory, transfers, duplex, transfer_ops, groups
        As in :class:`placelab.Problem`; the last two come from a problem that was given, and stay.
    wished
        Scheduler that was asked for, where the partitioner had nothing for it to follow; "" where it runs.
    pins
        Device constraints of the problem that was given: ``{op: names of devices, types, hosts}``, one after the other.
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
    groups: tuple[tuple[str, ...], ...] = ()
    pins: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    prepare: tuple[str, ...] = ()
    wished: str = ""

    @property
    def graph(self) -> OpGraph:
        """The graph with the costs chosen."""
        return self.model.priced(self.costs, self.compute, self.transfer)

    @property
    def edited(self) -> bool:
        """Whether a hand has changed the cluster since it was picked."""
        return self.cluster is not self.preset.cluster

    def options_of(self, kind: str) -> Mapping[str, Any]:
        """Options of the chosen ``"partitioner"`` or ``"scheduler"`` that differ from its defaults."""
        return self.options.get((kind, getattr(self, kind)), {})

    def with_options(self, kind: str, values: Mapping[str, Any]) -> State:
        """Other options for the chosen strategy."""
        return self.with_option_values(kind, getattr(self, kind), values)

    def with_strategy(self, kind: str, name: str) -> State:
        """Another ``"partitioner"`` or ``"scheduler"``. One that may have a plan gets the scheduler back that follows it."""
        if kind == "scheduler":
            return replace(self, scheduler=name, wished="")
        return replace(self, partitioner=name, scheduler=self.wished or self.scheduler, wished="")

    def with_option_values(self, kind: str, name: str, values: Mapping[str, Any]) -> State:
        """Other options for the strategy or transform called `name`."""
        return replace(self, options={**self.options, (kind, name): dict(values)})

    @property
    def preparation(self) -> tuple[tuple[str, Mapping[str, Any]], ...]:
        """The transformations before placing, each with its options that differ from the defaults."""
        return tuple((name, self.options.get(("transform", name), {})) for name in self.prepare)

    def with_model(self, model: Model) -> State:
        """Another graph; one that comes with processors brings them, and they leave with it."""
        changed = replace(self, model=model, groups=(), pins=())
        if model.cluster:
            return changed.with_preset(model.cluster)
        return changed.with_preset(preset(CLUSTER)) if self.preset.title == OWN else changed

    def with_profile(self, name: str, profile: costs.Profile) -> State:
        """The same graph with measured times: a device of the cluster's median speed takes what was measured."""
        graph = costs.measured(self.model.graph, profile, reference_speed=float(np.median(self.cluster.speed)))
        return replace(self, model=Model(f"{self.model.title}, {name}", graph), costs="model")

    def with_preset(self, preset: Preset) -> State:
        """Another cluster. The memory model follows when it was the natural one; Mayer's cluster brings Mayer's units."""
        units = costs_for(preset) if self.costs == costs_for(self.preset) else self.costs
        return replace(self, preset=preset, costs=units).with_cluster(preset.cluster, Layout.of(preset.cluster))

    def with_cluster(self, cluster: Cluster, layout: Layout) -> State:
        """What a hand has made of the cluster; the memory model follows when it was the natural one."""
        memory = natural_memory(cluster) if self.memory == natural_memory(self.cluster) else self.memory
        return replace(self, cluster=cluster, layout=layout, memory=memory)

    @property
    def rules(self) -> tuple:
        """What makes the problem; two states with the same have the same problem."""
        labels = ("graph", "cluster", "memory", "transfers", "duplex", "transfer_ops", "groups", "pins")
        return tuple(getattr(self, label) for label in labels)

    def problem(self) -> Problem:
        """The problem this describes; PlacelabError when it is none."""
        problem = Problem(
            self.graph,
            self.cluster,
            memory=self.memory,
            transfers=self.transfers,
            duplex=self.duplex,
            transfer_ops=self.transfer_ops,
            groups=self.groups,
        )
        for where in self.pins:
            problem = problem.pin(present(where, self.cluster))
        return problem


Change = Callable[[State], State]


@dataclass(frozen=True)
class Steps:
    """A state, those before it, and those that were undone. Changes of one `key` that follow each other closely are one step."""

    now: State
    past: tuple[State, ...] = ()
    future: tuple[State, ...] = ()
    key: str = ""
    time: float = 0.0

    def to(self, state: State, key: str, time: float) -> Steps:
        """One step on, or the latest step once more when it has the same key and is less than a second old."""
        if state == self.now:
            return self
        if key and key == self.key and time - self.time < 1.0:
            return replace(self, now=state, time=time)
        return Steps(state, (*self.past, self.now)[-STEPS:], (), key, time)

    def instead(self, state: State) -> Steps:
        """The latest step led to `state`; none, if that is where it began."""
        if self.past and state == self.past[-1]:
            return Steps(self.past[-1], self.past[:-1])
        return replace(self, now=state)

    def undo(self) -> Steps:
        """Back one step, if there is one."""
        return Steps(self.past[-1], self.past[:-1], (*self.future, self.now)) if self.past else self

    def redo(self) -> Steps:
        """Forward to what the last undo left, if there is such."""
        return Steps(self.future[-1], (*self.past, self.now), self.future[:-1]) if self.future else self


def begin(given: Any = None, cluster: Cluster | None = None) -> State:
    """The state to open on.

    Parameters
    ----------
    given
        A Problem (its rules are kept), or anything :func:`placelab.load` takes; None is the dataset ``dynamic_rnn``.
    cluster
        Instead of the problem's, the graph's own processors, or ``pcie_box``.
    """
    problem = given if isinstance(given, Problem) else None
    model = model_of(problem.graph if problem else MODEL if given is None else given)
    chosen = cluster or (problem.cluster if problem else None)
    start = Preset(GIVEN, chosen) if chosen else model.cluster or preset(CLUSTER)
    state = State(model, start, start.cluster, Layout.of(start.cluster), memory=natural_memory(start.cluster))
    return replace(state, **_rules(problem)) if problem else replace(state, costs=costs_for(start))


def model_of(what: Any) -> Model:
    """The graph that what :func:`placelab.load` takes stands for; FormatError when it is none."""
    graph = load(what)
    code = f"pl.load({str(what)!r})" if isinstance(what, (str, Path)) else ""
    return Model(str(what) if code else f"{graph.metadata.get('name', 'graph')}, given", graph, code)


def preset(name: str) -> Preset:
    """A preset of :mod:`placelab.clusters` with its defaults."""
    return Preset(name, clusters.preset(name), f"pl.clusters.{name}()")


def model_names() -> list[str]:
    """Models that are there without opening a file; onnx's own light ones, which are many, come last."""
    return sorted(datasets.names(), key=lambda name: (name.startswith("light_"), name))


def natural_memory(cluster: Cluster) -> str:
    """The memory model a problem has unless told otherwise."""
    return "none" if np.isinf(cluster.memory).all() else "dynamic"


def costs_for(preset: Preset) -> str:
    """Which costs are in a cluster's units: those of Mayer's are not seconds and bytes."""
    return "mayer" if preset.title == "mayer50" else "model"


def present(where: Mapping[str, tuple[str, ...]], cluster: Cluster) -> dict[str, tuple[str, ...]]:
    """The pins without the names that this cluster lacks; InfeasibleError when nothing is left of one."""
    known = {*cluster.names, *cluster.types, *cluster.hosts}
    left = {op: tuple(name for name in names if name in known) for op, names in where.items()}
    for op, names in left.items():
        if not names:
            raise InfeasibleError(
                f"op {op!r} may only run on {', '.join(where[op])}, which the cluster would no longer have"
            )
    return left


def _rules(problem: Problem) -> dict[str, Any]:
    rules = {label: getattr(problem, label) for label in ("memory", "transfers", "duplex", "transfer_ops")}
    groups = () if problem.groups == Problem(problem.graph, problem.cluster).groups else problem.groups
    depth = max(map(len, problem.rules.values()), default=0)
    pins = tuple({op: names[i] for op, names in problem.rules.items() if i < len(names)} for i in range(depth))
    return {**rules, "groups": groups, "pins": pins}

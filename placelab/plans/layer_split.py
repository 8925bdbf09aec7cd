"""A split of a decoder's layers over devices: seconds and bytes of each, as a problem and as a schedule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, count, expect
from placelab.base.interrupts import need
from placelab.base.units import seconds as in_words
from placelab.graphs.training_steps import pipeline_training
from placelab.models import Transformer
from placelab.plans.block_times import Pass, block_times, blocks_of, estimated
from placelab.plans.memory import BlockMemory, Training, inference_bytes, training_bytes
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate

if TYPE_CHECKING:
    import pandas as pd


class Wanted(NamedTuple):
    """What was asked for."""

    objective: str
    run: Pass
    microbatches: int
    order: str
    empty: bool
    headroom: float


@dataclass(frozen=True, eq=False)
class LayerSplit:
    """Consecutive layers on each device: made by :func:`placelab.split_layers`.

    Attributes
    ----------
    model : Transformer
        The model.
    cluster : Cluster
        The devices.
    order : tuple of int
        Devices by number, in the order in which a token passes them; idle ones are last where the order is free.
    borders : tuple of int
        First block of each device in that order, and the number of blocks: embedding, layers, final norm with head.
    wanted
        Objective, phase and sizes.

    Notes
    -----
    All columns have one entry per device, in the order of `order`.
    """

    model: Transformer
    cluster: Cluster
    order: tuple[int, ...]
    borders: tuple[int, ...]
    wanted: Wanted

    def __repr__(self) -> str:
        counts = ", ".join(map(str, self.counts))
        shown = in_words(self.value) if self.wanted.objective != "memory" else f"{self.value:.1%} of a memory"
        phase = self.wanted.run.phase
        return f"LayerSplit({self.model.name}: {counts} layers, {self.wanted.objective} {shown}, {phase})"

    @property
    def devices(self) -> tuple[str, ...]:
        """Names of the devices."""
        return tuple(self.cluster.names[d] for d in self.order)

    @property
    def counts(self) -> tuple[int, ...]:
        """Layers on each device."""
        layers = np.clip(np.array(self.borders) - 1, 0, self.model.layers)
        return tuple(np.diff(layers).tolist())

    @property
    def stages(self) -> tuple[tuple[int, int, int], ...]:
        """Device, first block and end of each device that is not idle."""
        ends = zip(self.order, self.borders, self.borders[1:], strict=False)
        return tuple((d, first, last) for d, first, last in ends if last > first)

    @cached_property
    def seconds(self) -> np.ndarray:
        """Seconds of a micro-batch on each device, its border included."""
        return self._at_stages(self._stage_seconds())

    @cached_property
    def memory(self) -> np.ndarray:
        """Bytes on each device."""
        return np.array([float(sum(found.values())) for found in self.by_category])

    @property
    def by_category(self) -> list[dict[str, float]]:
        """Of each device category → bytes; of an idle one nothing."""
        rows = {d: found for (d, *_), found in zip(self.stages, self._stage_bytes, strict=True)}
        return [rows.get(d, {}) for d in self.order]

    @property
    def capacity(self) -> np.ndarray:
        """Bytes that each device has; inf is unlimited."""
        return self.cluster.memory[list(self.order)]

    @property
    def value(self) -> float:
        """Of the objective: seconds of the slowest device, the fullest one's share of its memory, or seconds of all devices."""
        if self.wanted.objective == "memory":
            return float((self.memory / self.capacity).max())
        return float(self.seconds.sum() if self.wanted.objective == "sum" else self.seconds.max())

    @property
    def fits(self) -> bool:
        """Whether every device has room, with the headroom."""
        return bool((self.memory <= self.capacity * (1 - self.wanted.headroom)).all())

    @property
    def frame(self) -> pd.DataFrame:
        """A row per device: its layers, seconds, bytes by category, capacity.

        Returns
        -------
        DataFrame
            ``device``, ``first`` (its first layer), ``layers``, ``seconds``, a column of bytes per category of memory,
            ``memory`` (their sum), ``capacity``.
        """
        need("pandas")
        import pandas as pd

        by_category = pd.DataFrame(self.by_category).fillna(0.0)
        firsts = np.clip(np.array(self.borders[:-1]) - 1, 0, self.model.layers)
        found = pd.DataFrame(dict(device=self.devices, first=firsts, layers=self.counts, seconds=self.seconds))
        return pd.concat([found, by_category], axis=1).assign(memory=self.memory, capacity=self.capacity)

    def moved(self, border: int, layers: int) -> LayerSplit:
        """The split with one border moved, whether it fits or not.

        Parameters
        ----------
        border
            Number of the border: 0 is between the first two devices.
        layers
            Layers that change sides: above 0, to the device before the border.

        Raises
        ------
        FormatError
            No such border; a layer that is beyond the next border.
        """
        border = count(border, "border", 0, len(self.order) - 2)
        low, here, high = self.borders[border : border + 3]
        least = 0 if self.wanted.empty else 1
        expect(layers, (int, np.integer), "layers")
        if not low + least <= here + layers <= high - least:
            limits = f"{low + least - here} to {high - least - here}"
            raise FormatError(f"border {border} of {self.model.name} can move by {limits} layers; found {layers}")
        borders = (*self.borders[: border + 1], here + int(layers), *self.borders[border + 2 :])
        return with_facts(replace(self, borders=borders), self._facts)

    def problem(self) -> Problem:
        """The pass as a problem, every op tied to its device.

        Returns
        -------
        Problem
            Decode and prefill: the graph of one micro-batch. Training: a step of all micro-batches in a pipeline
            (:func:`placelab.generators.pipeline_training`), with the memory that is left beside weights and their state.
        """
        return self._training() if self.wanted.run.phase == "train" else self._inference()

    def schedule(self) -> Schedule:
        """The problem simulated: with one micro-batch it takes the sum of all seconds; training runs under ``1f1b``."""
        problem = self.problem()
        placement = Placement(problem, problem.may_run.argmax(axis=1))
        return simulate(problem, placement, "1f1b" if self.wanted.run.phase == "train" else "fifo")

    # ---------------------------------------------------------------- parts

    @cached_property
    def _facts(self) -> Facts:
        return facts_of(self.model, self.cluster, self.wanted)

    def _at_stages(self, values: list[float]) -> np.ndarray:
        found = dict(zip((d for d, *_ in self.stages), values, strict=True))
        return np.array([found.get(d, 0.0) for d in self.order])

    def _stage_seconds(self) -> list[float]:
        facts = self._facts
        stages = self.stages
        own = [float(facts.seconds[d, first:last].sum()) for d, first, last in stages]
        links = [float(facts.links[a, b]) for (a, *_), (b, *_) in pairwise(stages)]
        return [s + link for s, link in zip(own, [*links, 0.0], strict=True)]

    @cached_property
    def _stage_bytes(self) -> list[dict[str, float]]:
        facts = self._facts
        stages = self.stages
        return [
            facts.memory.by_category(first, last, in_flight(self.wanted, k, len(stages)))
            for k, (_, first, last) in enumerate(stages)
        ]

    def _inference(self) -> Problem:
        graph = estimated(self.model, self.cluster, self.wanted.run)
        block = blocks_of(graph, self.model.layers)
        device = np.empty(self.borders[-1], int)
        for d, first, last in self.stages:
            device[first:last] = d
        held = graph.persistent.copy()
        if self.model.shape.tied and device[0] != device[-1]:
            held[int(np.flatnonzero(block == 0)[-1])] += self._facts.memory.twice["weights"]
        graph = graph.replace(persistent=held, groups=())
        names = self.cluster.names
        allowed = {op: names[device[b]] for op, b in zip(graph.names.tolist(), block.tolist(), strict=True)}
        return Problem(graph, self.cluster, allowed=allowed)

    def _training(self) -> Problem:
        facts = self._facts
        wanted = self.wanted
        stages = self.stages
        devices = [d for d, *_ in stages]
        forward, backward = (
            [float(times[d, first:last].sum()) for d, first, last in stages]
            for times in (facts.forward, facts.backward)
        )
        kept = [facts.memory.by_category(first, last, 0.0) for _, first, last in stages]
        left = self.cluster.memory[devices] - [sum(found.values()) for found in kept]
        saved = [float(facts.memory.activations[first:last].sum()) for _, first, last in stages]
        here = np.ix_(devices, devices)
        cluster = Cluster(
            self.cluster.speed[devices],
            memory=np.maximum(left, 1.0),
            bandwidth=self.cluster.bandwidth[here],
            latency=self.cluster.latency[here],
            names=[self.cluster.names[d] for d in devices],
            types=[self.cluster.types[d] for d in devices],
            hosts=[self.cluster.hosts[d] for d in devices],
        )
        m = wanted.microbatches
        size = border_bytes(self.model, wanted.run)
        return pipeline_training(forward, backward, microbatches=m, activation=saved, transfer=size, cluster=cluster)


class Facts(NamedTuple):
    """Seconds of blocks on devices, seconds of borders between devices, bytes of blocks."""

    forward: np.ndarray
    backward: np.ndarray
    links: np.ndarray
    memory: BlockMemory

    @property
    def seconds(self) -> np.ndarray:
        """Of a micro-batch, forward and backward, shape (n_devices, n_blocks)."""
        return self.forward + self.backward


def with_facts(split: LayerSplit, facts: Facts) -> LayerSplit:
    """The split itself, which need not find out any more what is known of its question."""
    vars(split)["_facts"] = facts
    return split


def facts_of(model: Transformer, cluster: Cluster, wanted: Wanted) -> Facts:
    """The facts of a question: borders of training carry gradients back, too."""
    run = wanted.run
    times = block_times(model, cluster, run)
    size = border_bytes(model, run)
    links = cluster.latency + size / cluster.bandwidth
    if run.phase == "train":
        return Facts(
            times.forward, times.backward, links + links.T, training_bytes(model, Training(), run.batch, run.sequence)
        )
    held = inference_bytes(
        model, times.working, batch=run.batch, tokens=run.context + run.new, sequences_in_flight=wanted.microbatches
    )
    return Facts(times.forward, times.backward, links, held)


def border_bytes(model: Transformer, run: Pass) -> float:
    """Bytes of the hidden states of a micro-batch."""
    return float(model.element_bytes * model.shape.hidden * run.tokens)


def in_flight(wanted: Wanted, stage: int, stages: int) -> int:
    """Micro-batches whose activations a stage keeps under ``1f1b``."""
    return min(wanted.microbatches, stages - stage)

"""A decoder split by layers, as the explorer keeps it: the question, borders set by hand, and the problem that they make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from placelab.base.errors import InfeasibleError, UnsupportedError
from placelab.models import Transformer, names, read
from placelab.plans.best_split import split_layers
from placelab.plans.layer_split import Facts, LayerSplit, facts_of, in_flight
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem

CONTEXT = 8192  # tokens in the cache before, at first
ALWAYS = ("objective", "phase", "batch", "headroom")
SIZES = {"decode": ("context",), "prefill": ("sequence", "context"), "train": ("sequence", "microbatches")}  # by phase


@dataclass(frozen=True)
class Layers:
    """What :func:`placelab.split_layers` is asked, and where a hand has put the borders.

    Attributes
    ----------
    model
        The decoder.
    source
        The Python expression that reads it.
    objective, phase, batch, sequence, context, microbatches, headroom
        As in :func:`placelab.split_layers`.
    borders
        First block of each device, and the number of blocks; () for the best split.
    """

    model: Transformer
    source: str
    objective: str = "stage"
    phase: str = "decode"
    batch: int = 1
    sequence: int = 4096
    context: int = 0
    microbatches: int = 1
    headroom: float = 0.0
    borders: tuple[int, ...] = ()

    problem_code = "split.problem()"

    @property
    def scheduler(self) -> str:
        """The scheduler that the pass is shown with at first."""
        return "1f1b" if self.phase == "train" else "fifo"

    def best(self, cluster: Cluster, objective: str = "") -> LayerSplit:
        """The best split; where nothing fits, the one that would be if memories were unlimited.

        Raises
        ------
        PlacelabError
            More devices than blocks; numbers that the model does not have.
        """
        asked = {label: getattr(self, label) for label in (*ALWAYS, *SIZES[self.phase])}
        return _best(self.model, cluster, tuple((asked | ({"objective": objective} if objective else {})).items()))

    def split(self, cluster: Cluster) -> LayerSplit:
        """The split shown: the best one with the borders of the hand, if the cluster has as many."""
        found = self.best(cluster)
        for border, by in moves(found.borders, self.borders):
            found = found.moved(border, by)
        return found

    def fits(self, cluster: Cluster) -> bool:
        """Whether each device has the memory, headroom aside."""
        split = self.split(cluster)
        return bool((split.memory <= split.capacity).all())

    def used(self, cluster: Cluster) -> np.ndarray:
        """Bytes on each device."""
        return self.split(cluster).memory

    def on(self, cluster: Cluster) -> Layers:
        """The same question on another cluster."""
        return self

    def words(self, cluster: Cluster) -> str:
        """The split in a few words."""
        return f"{self.phase}, layers {', '.join(map(str, self.split(cluster).counts))}"

    def imports(self, cluster: Cluster) -> list[str]:
        """Modules that the code needs."""
        return [] if self.best(cluster).fits else ["import dataclasses"]

    def widths(self, cluster: Cluster, what: str) -> list[float]:
        """Of each block on its device its ``"seconds"``, or its ``"bytes"`` without what blocks share, as buffers."""
        split = self.split(cluster)
        facts = _facts(self.best(cluster))
        device = np.repeat(split.order, np.diff(split.borders))
        if what == "seconds":
            return facts.seconds[device, np.arange(len(device))].tolist()
        return (sum(facts.memory.kept.values()) + facts.memory.activations).tolist()

    def facts(self, cluster: Cluster) -> dict[str, Any]:
        """What seconds and bytes of devices are summed from, whatever the borders; the same object when asked again."""
        return _told(self.best(cluster))

    def problem(self, cluster: Cluster) -> Problem:
        """The pass with each op tied to its device; the same object when asked again."""
        return _problem(self, cluster)

    def moved(self, cluster: Cluster, border: int, to: int) -> Layers:
        """The border put before block `to`, or as close as it can get: each device keeps one block."""
        now = self.split(cluster).borders
        if not 0 <= border < len(now) - 2:
            return self
        to = max(now[border] + 1, min(to, now[border + 2] - 1))
        return replace(self, borders=(*now[: border + 1], to, *now[border + 2 :]))

    def lines(self, cluster: Cluster) -> list[str]:
        """Code that makes ``split`` on ``cluster``."""
        usual = {field.name: field.default for field in fields(self)}
        labels = (*ALWAYS, *SIZES[self.phase])
        given = {label: getattr(self, label) for label in labels if getattr(self, label) != usual[label]}
        written = "".join(f", {label}={value!r}" for label, value in given.items())
        found = self.best(cluster)
        lines = [f"model = {self.source}", f"split = pl.split_layers(model, cluster{written})"]
        if not found.fits:  # what does not fit is split as if it did
            lines[1:] = [
                "roomy = cluster.replace(memory=[float('inf')] * cluster.n_devices)",
                f"split = dataclasses.replace(pl.split_layers(model, roomy{written}), cluster=cluster)",
            ]
        return lines + [f"split = split.moved({border}, {by})" for border, by in moves(found.borders, self.borders)]

    def limits(self, cluster: Cluster) -> list[tuple[int, int]]:
        """Of each border the least and the most block that it can be put before so that both its devices have room.

        Where they have none now, the present place is among these, too.
        """
        split = self.split(cluster)
        memory = _facts(self.best(cluster)).memory
        room = split.capacity * (1 - self.headroom)
        stages = len(split.stages)

        def sizes(device: int, first: slice) -> np.ndarray:
            return memory.of_ranges(first, in_flight(split.wanted, device, stages))

        found = []
        for border, (low, here, high) in enumerate(
            zip(split.borders, split.borders[1:], split.borders[2:], strict=False)
        ):
            before = sizes(border, slice(low, low + 1))[0, low + 1 : high] <= room[border]
            after = sizes(border + 1, slice(low + 1, high))[:, high] <= room[border + 1]
            least = high - 1 - int(after[::-1].cumprod()[1:].sum())
            most = low + 1 + int(before.cumprod()[1:].sum())
            found.append((min(least, here), max(most, here)))
        return found


def layers_of(model: Transformer, source: str = "") -> Layers:
    """A decoder to be split, with a cache of `CONTEXT` tokens if it may be so long."""
    longest = model.shape.positions or CONTEXT + 1
    return Layers(model, source or _source(model), context=min(CONTEXT, longest - 1), sequence=min(4096, longest))


def layers_of_split(split: LayerSplit) -> Layers:
    """What a split was asked, with its borders where they are.

    Raises
    ------
    UnsupportedError
        Its devices are in another order than the cluster's, or some are idle.
    """
    wanted = split.wanted
    run = split.wanted.run
    if split.order != tuple(range(split.cluster.n_devices)) or len(split.stages) < len(split.order):
        raise UnsupportedError(
            "the explorer splits layers over all devices in the cluster's order; "
            f"{split!r} leaves some idle or has a different order"
        )
    sizes = dict(batch=run.batch, sequence=run.sequence, context=run.context, microbatches=wanted.microbatches)
    chosen = dict(objective=wanted.objective, phase=run.phase, headroom=wanted.headroom, borders=split.borders)
    return Layers(split.model, _source(split.model), **sizes, **chosen)  # type: ignore[arg-type]


def moves(start: Sequence[int], end: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Borders to move one after the other, and by how many blocks, so that none ever passes the next one.

    Those that go to the right come first, from the right; nothing where `end` has another number of borders.

    >>> list(moves((0, 2, 4, 6), (0, 3, 5, 6))), list(moves((0, 3, 5, 6), (0, 1, 2, 6)))
    ([(1, 1), (0, 1)], [(0, -2), (1, -3)])
    """
    if len(start) != len(end):
        return
    by = [after - before for before, after in zip(start, end, strict=True)][1:-1]
    yield from ((border, n) for border, n in reversed(list(enumerate(by))) if n > 0)
    yield from ((border, n) for border, n in enumerate(by) if n < 0)


def _source(model: Transformer) -> str:
    """The expression of a bundled model; of another one, that of the file that it may have been read from."""
    dtype = "" if model.dtype == "bfloat16" else f", dtype={model.dtype!r}"
    if model.name in names() and read(model.name, dtype=model.dtype) == model:
        return f"pl.models.read({model.name!r}{dtype})"
    return f"pl.models.read('config.json'{dtype})  # of {model.name}"


@lru_cache(maxsize=32)
def _best(model: Transformer, cluster: Cluster, question: tuple[tuple[str, Any], ...]) -> LayerSplit:
    given = dict(question)
    try:
        return split_layers(model, cluster, **given)
    except InfeasibleError:
        given["objective"] = "stage" if given["objective"] == "memory" else given["objective"]
        roomy = cluster.replace(memory=np.full(cluster.n_devices, np.inf))
        return replace(split_layers(model, roomy, **given), cluster=cluster)


@lru_cache(maxsize=8)
def _facts(split: LayerSplit) -> Facts:
    return facts_of(split.model, split.cluster, split.wanted)


@lru_cache(maxsize=8)
def _told(split: LayerSplit) -> dict[str, Any]:
    """For the page: `LayerSplit` sums up the same, and `tests/app/test_layer_sums.py` compares them."""
    facts = _facts(split)
    memory = facts.memory
    devices = range(len(split.order))
    return dict(
        seconds=[_runs(row) for row in facts.seconds],
        links=[*(float(facts.links[d, d + 1]) for d in devices[:-1]), 0.0],
        kept=[[name, _runs(column)] for name, column in memory.kept.items()],
        twice=dict(memory.twice),
        activations=_runs(memory.activations),
        copies=[in_flight(split.wanted, d, len(devices)) for d in devices],
        peaks=[_runs(row) for row in memory.peaks if row.any()],
        capacity=[None if np.isinf(size) else size for size in split.capacity.tolist()],
        share=1 - split.wanted.headroom,
    )


def _runs(column: np.ndarray) -> list[list[float]]:
    """Each value that differs from the one before, and how many blocks in a row have it."""
    begins = np.flatnonzero(np.diff(column, prepend=np.nan) != 0)
    return [
        [value, n] for value, n in zip(column[begins].tolist(), np.diff([*begins, len(column)]).tolist(), strict=True)
    ]


@lru_cache(maxsize=8)
def _problem(layers: Layers, cluster: Cluster) -> Problem:
    return layers.split(cluster).problem()

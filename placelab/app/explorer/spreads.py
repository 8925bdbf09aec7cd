"""A decoder on the devices, as the explorer keeps it: its layers split, borders set by hand; or trained under a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from placelab.base.errors import InfeasibleError, UnsupportedError
from placelab.base.units import si
from placelab.models import Transformer, names, read
from placelab.plans.all_plans import SCHEDULES
from placelab.plans.best_split import split_layers
from placelab.plans.degrees import Plan
from placelab.plans.gathered_units import is_shown
from placelab.plans.layer_split import Facts, LayerSplit, facts_of, in_flight
from placelab.plans.plan_steps import Planner, PlanResult, Ranks
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
        return _split_problem(self, cluster)

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
def _split_problem(layers: Layers, cluster: Cluster) -> Problem:
    return layers.split(cluster).problem()


DEGREES = ("dp", "tp", "pp")  # whose product is the number of devices
GIVES_WAY = {"dp": "tp", "tp": "pp", "pp": "tp"}  # moved: which of the others changes only if it must
# Schedules with several stages per device, and how many.
CHUNKED = {
    "interleaved": (2, 4),
    "looped-bfs": (2, 4),
    "zb-v": (2,),
    "dualpipe-v": (2,),
}
BATCH = 64
GROUP = 8  # most devices of a tensor group, at first
SEQUENCE = 4096
RANKS: Ranks = "gradients"  # of a plan's problem, that the chart has


MOST_REMEDIES = 2  # there is room for


@dataclass(frozen=True)
class Planned:
    """What :func:`placelab.plan` is asked.

    Attributes
    ----------
    model
        The decoder.
    source
        The Python expression that reads it.
    plan
        Degrees, schedule and the rest.
    batch, sequence
        Sequences of a step, and tokens of each.
    """

    model: Transformer
    source: str
    plan: Plan
    batch: int = BATCH
    sequence: int = SEQUENCE

    problem_code = f"plan.problem({RANKS!r})"

    @property
    def scheduler(self) -> str:
        """The plan's schedule; under ZeRO 3 gathers and scatters have an order of their own, which any one keeps."""
        gathers = self.plan.zero == 3 and is_shown(self.model.layers, self.plan.microbatches(self.batch))
        return "fifo" if gathers and self.plan.dp > 1 else self.plan.schedule

    def result(self, cluster: Cluster) -> PlanResult:
        """Seconds and bytes; the same object when asked again.

        Raises
        ------
        PlacelabError
            Degrees that model, cluster or schedule do not allow; devices without a data sheet.
        """
        return _result(self, cluster)

    def problem(self, cluster: Cluster) -> Problem:
        """The pipeline of one tensor rank of one replica, with streams that send gradients; the same object when asked again."""
        return _plan_problem(self, cluster)

    def fits(self, cluster: Cluster) -> bool:
        """Always: the pipeline's devices have no capacity, and what lacks stands beside it."""
        return True

    def used(self, cluster: Cluster) -> np.ndarray:
        """Bytes on each device of the cluster."""
        total = self.result(cluster).memory["total"].to_numpy()
        held = np.zeros(cluster.n_devices)
        held[: self.plan.devices] = np.repeat(total, self.plan.dp * self.plan.tp)
        return held

    def on(self, cluster: Cluster) -> Planned:
        """The plan with degrees that use the devices of another cluster."""
        plan = self.plan
        if (plan.dp, plan.tp, plan.pp) in self.legal(cluster):
            return self
        return self.moved("tp", _below(plan.tp, self.stops("tp", cluster)), cluster)

    def lines(self, cluster: Cluster) -> list[str]:
        """Code that makes ``plan`` on ``cluster``."""
        usual = Plan()
        given = {field.name: getattr(self.plan, field.name) for field in fields(Plan)}
        changed = ", ".join(f"{k}={v!r}" for k, v in given.items() if v != getattr(usual, k))
        sizes = f"batch={self.batch}, sequence={self.sequence}"
        return [f"model = {self.source}", f"plan = pl.plan(model, cluster, pl.Plan({changed}), {sizes})"]

    def words(self, cluster: Cluster) -> str:
        """The plan in a few words."""
        return f"plan {self.plan.dp} × {self.plan.tp} × {self.plan.pp}"

    def imports(self, cluster: Cluster) -> list[str]:
        """Modules that the code needs."""
        return []

    def legal(self, cluster: Cluster) -> tuple[tuple[int, int, int], ...]:
        """All dp, tp and pp that model and batch allow, on all devices, or on as many as can be used."""
        return _legal(self.model, cluster, self.batch)

    def stops(self, name: str, cluster: Cluster) -> list[int]:
        """Values that a degree can have if others give way."""
        shape = self.model.shape
        plan = self.plan
        if name in DEGREES:
            return sorted({degrees[DEGREES.index(name)] for degrees in self.legal(cluster)})
        if name == "ep":
            return [e for e in _divisors(plan.dp * plan.tp) if shape.experts and shape.experts % e == 0] or [1]
        if name == "microbatch":
            return _divisors(max(self.batch // plan.dp, 1))
        return self._chunks(plan.schedule, plan.pp)

    def moved(self, name: str, value: Any, cluster: Cluster) -> Planned:
        """Another value of one field of the plan, one of its `stops`; other fields give way so that the plan stays legal."""
        plan = {field.name: getattr(self.plan, field.name) for field in fields(Plan)} | {name: value, "layers": None}
        if name == "zero" and value == 3:
            name = "pp"
            plan["pp"] = 1
        plan |= dict(zip(DEGREES, self._degrees(name if name in DEGREES else "tp", plan, cluster), strict=True))
        if plan["pp"] == 1 or not self._chunks(plan["schedule"], plan["pp"]):
            plan["schedule"] = "1f1b"
        if plan["zero"] == 3 and plan["pp"] > 1:
            plan["zero"] = 1
        plan["chunks"] = _below(plan["chunks"], self._chunks(plan["schedule"], plan["pp"]))
        asked = replace(self, plan=Plan(**{**plan, "ep": 1, "microbatch": 1}))
        for each in ("ep", "microbatch"):
            plan[each] = _below(plan[each], asked.stops(each, cluster))
        return replace(self, plan=Plan(**plan))

    def remedies(self, cluster: Cluster) -> list[tuple[str, Planned]]:
        """Up to two plans that fit and differ in one choice, in words with the bytes of their fullest rank."""
        smaller = [b for b in self.stops("microbatch", cluster) if b < self.plan.microbatch]
        choices: list[tuple[str, Any, str]] = [("microbatch", b, f"micro-batch {b}") for b in reversed(smaller)]
        choices += [("recompute", "full", "recompute full")] * (self.plan.recompute != "full")
        choices += [("zero", z, f"ZeRO {z}") for z in (1, 3) if z > self.plan.zero]
        found: dict[str, tuple[str, Planned]] = {}
        for field, value, words in choices:
            if field not in found and (size := (other := self.moved(field, value, cluster))._fullest(cluster)):
                found[field] = f"{words} ({si(size, 'B')})", other
        return list(found.values())[:MOST_REMEDIES]

    def _fullest(self, cluster: Cluster) -> float:
        """Bytes of the fullest rank; 0 where a rank has no room."""
        known = planner(self.model, cluster, self.batch, self.sequence)
        plan = known.checked(self.plan)
        held = known.bytes(plan).sum(axis=1)
        return float(held.max()) if (held <= known.capacity(plan)).all() else 0.0

    def _degrees(self, moved: str, plan: dict[str, Any], cluster: Cluster) -> tuple[int, int, int]:
        """Legal degrees with the one that was moved; of the others the second to give way stays, or falls as little as can be."""
        last = DEGREES.index(GIVES_WAY[moved])
        at = DEGREES.index(moved)
        here = [degrees for degrees in self.legal(cluster) if degrees[at] == plan[moved]] or self.legal(cluster)
        wanted = plan[GIVES_WAY[moved]]
        return min(here, key=lambda degrees: (degrees[last] > wanted, abs(degrees[last] - wanted)))

    def _chunks(self, schedule: str, pp: int) -> list[int]:
        return [c for c in CHUNKED.get(schedule, (1,)) if pp * c <= self.model.shape.layers + 2]


def planned_of(model: Transformer, source: str, cluster: Cluster) -> Planned:
    """A decoder under a plan by rule of thumb: tensor parallelism inside a host, data parallelism for the rest, ZeRO 1."""
    longest = model.shape.positions or SEQUENCE
    start = Planned(model, source, Plan(), sequence=min(SEQUENCE, longest))
    start = start.moved("tp", 1, cluster)
    host = cluster.hosts.count(cluster.hosts[0])
    inside = [t for _, t, p in start.legal(cluster) if t <= min(host, GROUP) and p == 1]
    return start.moved("tp", max(inside, default=1), cluster).moved("zero", 1, cluster)


def pipelined(
    model: Transformer, source: str, cluster: Cluster, microbatches: int = 8, sequence: int = 1024
) -> Planned:
    """A decoder as a pipeline, a stage on each device, micro-batches of one sequence under 1F1B."""
    asked = Planned(model, source, Plan(pp=cluster.n_devices), batch=microbatches, sequence=sequence)
    return asked.on(cluster)


def schedules(plan: Plan) -> tuple[str, ...]:
    """Schedules that a plan may have; without a pipeline they are all one."""
    return SCHEDULES if plan.pp > 1 else ("1f1b",)


@lru_cache(maxsize=64)
def _legal(model: Transformer, cluster: Cluster, batch: int) -> tuple[tuple[int, int, int], ...]:
    for n in range(cluster.n_devices, 0, -1):
        found = [(n // (t * p), t, p) for t in _divisors(n) for p in _divisors(n // t)]
        legal = tuple(d for d in found if not Plan(*d).why_not(model.shape, cluster, batch))
        if legal:
            return legal
    return ((1, 1, 1),)


def _divisors(n: int) -> list[int]:
    return [d for d in range(1, n + 1) if n % d == 0]


def _below(value: int, known: Iterable[int]) -> int:
    """The largest known value up to `value`, or the least."""
    values = sorted(known)
    return max((v for v in values if v <= value), default=values[0])


@lru_cache(maxsize=4)
def planner(model: Transformer, cluster: Cluster, batch: int, sequence: int) -> Planner:
    """What plans of one model, cluster and batch share."""
    return Planner(model, cluster, batch, sequence)


@lru_cache(maxsize=64)
def _result(planned: Planned, cluster: Cluster) -> PlanResult:
    return planner(planned.model, cluster, planned.batch, planned.sequence).result(planned.plan)


@lru_cache(maxsize=8)
def _plan_problem(planned: Planned, cluster: Cluster) -> Problem:
    problem = planned.result(cluster).problem(RANKS)
    if planned.plan.pp > 1:
        return problem
    memory = np.where(np.arange(problem.cluster.n_devices) == 0, cluster.memory[0], np.inf)
    # No finite link says that times are in seconds.
    return problem.replace(cluster=problem.cluster.replace(memory=memory))

"""A decoder trained under a plan, as the explorer keeps it: degrees of parallelism, and which of them give way to which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np

from placelab.base.units import si
from placelab.models import Transformer
from placelab.plans.all_plans import SCHEDULES
from placelab.plans.degrees import Plan
from placelab.plans.gathered_units import is_shown
from placelab.plans.plan_steps import Planner, PlanResult, Ranks
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem

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
        return _problem(self, cluster)

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
def _problem(planned: Planned, cluster: Cluster) -> Problem:
    problem = planned.result(cluster).problem(RANKS)
    if planned.plan.pp > 1:
        return problem
    memory = np.where(np.arange(problem.cluster.n_devices) == 0, cluster.memory[0], np.inf)
    # No finite link says that times are in seconds.
    return problem.replace(cluster=problem.cluster.replace(memory=memory))

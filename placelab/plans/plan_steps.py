"""Seconds and bytes of a training step under a plan, by roofline, closed forms of collectives and one simulated pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count, expect
from placelab.costs.collective_times import collective_time
from placelab.costs.roofline import DEFAULT, estimate
from placelab.graphs.training_steps import pipeline_training
from placelab.graphs.transforms.passes_together import together
from placelab.models import Transformer, read
from placelab.models.shape import mean_keys
from placelab.plans.best_split import split_layers
from placelab.plans.block_times import UPDATE, blocks_of
from placelab.plans.degrees import Plan
from placelab.plans.every_rank import Sizes, every_rank, parts_of
from placelab.plans.memory import training_bytes
from placelab.plans.overlap import Part, overlap_seconds
from placelab.plans.stage_memory import stage_memory
from placelab.plans.stage_ranks import MERGED, layout_of, rank_of, ranks_with, splits, stages_of
from placelab.problem.cluster import Cluster
from placelab.problem.hardware import SPECS
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place

if TYPE_CHECKING:
    import pandas as pd

ATTENTION = ("attn", "input_layernorm", "ln_1", "add_attention")  # of a layer, its first half
OUTSIDE = ("norm", "ln_1", "ln_2", "add_attention", "add_mlp", "dropout")  # of a layer, outside of the parallel region


class Step(NamedTuple):
    """A pipeline's step: seconds per stage, bytes of a border, seconds of each rank's gradients after its last backward, and of
    DualPipe those of each stage's forward pass together with the backward pass of the other stage of its device."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]
    weight: tuple[float, ...]
    transfer: float
    gradients: tuple[float, ...]
    both: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class PlanResult:
    """A training step under a plan: made by :func:`placelab.plan`.

    Attributes
    ----------
    plan : Plan
        The plan, with its layers.
    seconds : float
        Of a step.
    tokens_per_second, mfu, bubble, exposed : float
        Tokens of the batch per second; model FLOP over what the devices' peaks would do in that time; idle share of the
        pipeline; seconds of the gradients' exchange that outlive the pipeline.
    memory : DataFrame
        A row per rank of the pipeline: bytes by category, ``total``, ``capacity``.
    """

    plan: Plan
    seconds: float
    tokens_per_second: float
    mfu: float
    bubble: float
    exposed: float
    memory: pd.DataFrame
    _pipeline: Placement
    _all: Callable[[Schedule], Placement]

    @property
    def fits(self) -> bool:
        """Whether every rank has room."""
        return bool((self.memory["total"] <= self.memory["capacity"]).all())

    def problem(self, ranks: Literal["one", "all"] = "one") -> Problem:
        """The step as a problem, each op tied to its device.

        Parameters
        ----------
        ranks
            ``"one"``: the pipeline of one tensor rank of one replica, a device per stage; collectives are part of its passes.
            ``"all"``: every device, with its stream on which the hops of collectives run; gradients are summed, too. Of equal
            devices and links both take the plan's seconds; of others ``"all"`` has each one's own.

        Raises
        ------
        UnsupportedError
            ``"all"`` of passes that run together, or with weights gathered layer by layer.
        FormatError
            ``"all"`` with more ops than graphs may have.
        """
        return self._placement(ranks).problem

    def schedule(self, ranks: Literal["one", "all"] = "one") -> Schedule:
        """The schedule of :meth:`problem`; of one rank without its gradients, which go out after it."""
        placement = self._placement(ranks)
        return _run(placement, self.plan.schedule) if ranks == "one" else simulate(placement.problem, placement)

    def _placement(self, ranks: Any) -> Placement:
        if ranks not in ("one", "all"):
            raise UnsupportedError(f"ranks is {ranks!r:.60}; expected 'one' or 'all'")
        return self._pipeline if ranks == "one" else self._every

    @cached_property
    def _every(self) -> Placement:
        plan = self.plan
        if plan.schedule in MERGED:
            raise UnsupportedError(f"passes of {plan.schedule!r} run together, and have no parts to put on all ranks")
        if plan.zero == 3:
            raise UnsupportedError("zero is 3, whose weights are gathered layer by layer: transforms.sharded has them")
        return self._all(self.schedule())

    def __repr__(self) -> str:
        p = self.plan
        return (
            f"PlanResult(dp {p.dp}, tp {p.tp}, pp {p.pp}, ep {p.ep}, {p.schedule}: {self.seconds:.4g} s, "
            f"{self.mfu:.1%} MFU, {'fits' if self.fits else 'does not fit'})"
        )


def plan(
    model: Transformer | str,
    cluster: Cluster,
    plan: Plan,
    *,
    batch: int,
    sequence: int,
    precision: str = "bfloat16",
    efficiency: float = 1.0,
) -> PlanResult:
    r"""Seconds and bytes of one training step of a model under a plan.

    Parameters
    ----------
    model
        Of :func:`placelab.models.read`, or what that reads.
    cluster
        The devices; a plan that needs fewer uses the first ones.
    plan
        Degrees, schedule, recomputation, ZeRO.
    batch, sequence
        Sequences of a step over all replicas, and tokens of each.
    precision, efficiency
        Of matrix products, and the share of the peaks that ops reach: :func:`placelab.costs.estimate`.

    Returns
    -------
    PlanResult
        Whether it fits or not.

    Raises
    ------
    UnsupportedError
        Degrees that the model, the cluster or the schedule do not allow.
    FormatError
        A number out of range; types of devices without a data sheet.

    Notes
    -----
    A stage takes the seconds of its slowest device: rooflines of its blocks over tp, without sequence parallelism norms and sums
    whole, and per layer two all-reduces of the hidden states each way (scatter and gather take as long), per layer of experts
    two all-to-alls each way; nothing hides these. The pipeline is simulated. After a rank's last backward op its gradients go out
    whole: all-reduced, from ZeRO 1 scattered and the weights gathered; at 3 weights are gathered per micro-batch, two units at a
    time: :math:`\max(m(F+B) + g + s, 2mG - g + S)`. Forward
    passes of ``dualpipe`` and ``dualpipe-v`` run together with backward passes (:func:`placelab.plans.overlap_seconds`), so that
    collectives of one hide behind computation of the other. Left out: overlap of tensor collectives with gradients of weights,
    gathering inputs again in the backward pass, gradients in buckets that leave before the last op, updates, the sum of tied
    tables across ranks, imbalance of experts.

    Examples
    --------
    >>> import placelab as pl
    >>> found = plan("llama-3-8b", pl.costs.cluster("h100", 8), Plan(tp=8, zero=1), batch=8, sequence=4096)
    >>> found.fits, found.bubble
    (True, 0.0)
    """
    return Planner(model, cluster, batch, sequence, precision, efficiency).result(plan)


@dataclass(eq=False)
class Planner:
    """Plans of one model, cluster and batch; what plans share is computed once."""

    model: Any
    cluster: Cluster
    batch: int
    sequence: int
    precision: str = "bfloat16"
    efficiency: float = 1.0
    cached: dict[Any, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.model = self.model if isinstance(self.model, Transformer) else read(self.model)
        expect(self.cluster, Cluster, "plan(model, cluster)")
        self.batch, self.sequence = count(self.batch, "batch", 1, 10**9), count(self.sequence, "sequence", 1, 10**9)
        unknown = [kind for kind in self.cluster.types if kind not in SPECS]
        if unknown:
            raise FormatError(
                f"no data sheet of device type {unknown[0]!r:.60}; costs.specs() has those that there are"
            )

    def result(self, plan: Plan) -> PlanResult:
        """Seconds and bytes of one plan."""
        plan = self.checked(plan)
        memory, step = self.memory(plan), self.step(plan)
        m, p = plan.microbatches(self.batch), plan.pp
        key = (p, m, plan.chunks, plan.schedule, step, tuple(self._ranks(plan)))
        pipeline, ends, work = self._once(("pipeline", key), lambda: self._simulated(plan, step, m))
        makespan = float(ends.max())
        seconds = float((ends + np.array(step.gradients)).max())
        if plan.zero == 3:
            seconds = max(seconds, self._gathering(plan, m, work))
        tokens = self.batch * self.sequence
        peak = sum(
            SPECS[self.cluster.types[d]].matmul.get(self.precision, 0.0) or self.cluster.speed[d]
            for d in range(plan.devices)
        )
        return PlanResult(
            plan, seconds, tokens / seconds, self._flop() / seconds / peak, max(1 - work / p / makespan, 0.0) if p > 1 else 0.0,
            seconds - makespan, memory, pipeline, lambda one: self._every(plan, one),
        )  # fmt: skip

    def checked(self, plan: Plan) -> Plan:
        """The plan with its layers; UnsupportedError where a degree does not fit."""
        expect(plan, Plan, "plan(model, cluster, plan)")
        if sentence := plan.why_not(self.model.shape, self.cluster, self.batch):
            raise UnsupportedError(f"the plan does not fit {self.model.name}: {sentence}")
        return plan if plan.layers is not None else replace(plan, layers=self._layers(plan))

    def memory(self, plan: Plan) -> pd.DataFrame:
        """Bytes of each rank by category, and its capacity."""
        m = plan.microbatches(self.batch)
        key = ("memory", replace(plan, layers=tuple(plan.layers or ())))
        sizes = dict(batch=plan.microbatch, sequence=self.sequence, microbatches=m, chunks=plan.chunks)
        found = self._once(
            key,
            lambda: stage_memory(
                self.model, plan.training(), layers=plan.layers or (), schedule=plan.schedule, **sizes
            ),  # type: ignore[arg-type]
        )
        capacity = [self.cluster.memory[self._group(plan, j)].min() for j in range(plan.pp)]
        return found.assign(capacity=capacity)

    def step(self, plan: Plan) -> Step:
        """Seconds of each stage and of what follows the last backward op."""
        stages, ends, blocks = plan.pp * plan.chunks, _ends(plan), self._blocks(plan)
        columns: dict[str, list[float]] = {"F": [], "B": [], "W": []}
        for s in range(stages):
            group = self._groups(plan, s)
            extra = self._collectives(plan, range(max(ends[s] - 1, 0), min(ends[s + 1] - 1, self.model.layers)), group)
            f, b, w = (float(blocks[phase][group, ends[s] : ends[s + 1]].sum(axis=1).max()) for phase in "FBW")
            inner = max(ends[s], 1), min(ends[s + 1], self.model.layers + 1)
            again = self._again(plan, group, *inner) + (extra if plan.recompute == "full" else 0.0)
            columns["F"].append(f + extra)
            columns["B"].append(b + again + extra)
            columns["W"].append(w)
        both = self._both(plan, columns, ends) if plan.schedule in MERGED else ()
        if not splits(plan.schedule):
            columns["B"] = [b + w for b, w in zip(columns["B"], columns["W"], strict=True)]
            columns["W"] = [0.0] * stages
        t = plan.tp if plan.sequence_parallel else 1
        transfer = self.model.element_bytes * plan.microbatch * self.sequence * self.model.shape.hidden / t
        forward, backward, weight = (tuple(columns[c]) for c in "FBW")
        return Step(forward, backward, weight, transfer, self._gradients(plan, ends), both)

    def bound(self, plan: Plan, step: Step) -> float:
        """Seconds of the busiest rank's passes, which no order undercuts."""
        m = plan.microbatches(self.batch) / (2 if layout_of(plan.schedule, plan.chunks) == "dual" else 1)
        work = step.both or [f + b + w for f, b, w in zip(step.forward, step.backward, step.weight, strict=True)]
        own = [stages_of(plan.schedule, rank, plan.pp, plan.chunks) for rank in range(plan.pp)]
        return m * max(sum(work[s] for s in stages) for stages in own)

    # ---------------------------------------------------------------- parts

    def _once(self, key: Any, make: Any) -> Any:
        if key not in self.cached:
            self.cached[key] = make()
        return self.cached[key]

    def _group(self, plan: Plan, rank: int) -> np.ndarray:
        return np.arange(plan.tp * plan.dp) + plan.tp * plan.dp * rank

    def _groups(self, plan: Plan, stage: int) -> np.ndarray:
        """Devices of a stage; of DualPipe on both sides."""
        ranks = ranks_with(plan.schedule, stage, plan.pp, plan.chunks)
        return np.concatenate([self._group(plan, rank) for rank in ranks])

    def _both(self, plan: Plan, columns: dict[str, list[float]], ends: np.ndarray) -> tuple[float, ...]:
        """Seconds of each stage's forward pass together with the backward pass of the other stage of its device."""
        n = plan.pp * plan.chunks
        passes = [self._parts(plan, columns, s, ends) for s in range(n)]
        found = []
        for s in range(n):
            other = n - 1 - s  # DualPipe's twin, and the other chunk of a V
            pair = tuple(passes[s][0]), tuple(passes[other][1])
            found.append(self._once(("both", *pair), lambda pair=pair: overlap_seconds(*pair, prove=False).both))
        return tuple(found)

    def _parts(
        self, plan: Plan, columns: dict[str, list[float]], s: int, ends: np.ndarray
    ) -> tuple[list[Part], list[Part]]:
        """Parts of a stage's passes: of each layer attention, half of its collectives, MLP, the other half."""
        group, blocks = self._groups(plan, s), self._blocks(plan)
        inner = range(max(ends[s], 1), min(ends[s + 1], self.model.layers + 1))
        extra = [self._collectives(plan, range(b - 1, b), group) for b in inner]
        halves = [float(blocks["half"][group[0], b]) for b in inner]
        f = columns["F"][s] - sum(extra)
        back = columns["B"][s] + columns["W"][s] - sum(extra)
        if not extra:
            return [("compute", f)], [("compute", back)]
        forward: list[Part] = []
        backward: list[Part] = []
        for half, sent in zip(halves, extra, strict=True):
            share = 1 / len(extra)
            forward += [("compute", f * share * half), ("stream", sent / 2)]
            forward += [("compute", f * share * (1 - half)), ("stream", sent / 2)]
            backward += [("stream", sent / 2), ("compute", back * share * (1 - half))]
            backward += [("stream", sent / 2), ("compute", back * share * half)]
        return forward, backward

    def _ranks(self, plan: Plan) -> list[int]:
        return [plan.tp * plan.dp * j for j in range(plan.pp)]

    def _layers(self, plan: Plan) -> tuple[int, ...]:
        n, layers = plan.pp * plan.chunks, self.model.layers
        if layers % n == 0:
            return (layers // n,) * n
        kinds = [self._ranks(plan)[rank_of(plan.schedule, s, plan.pp, plan.chunks)] for s in range(n)]
        key = ("layers", plan.microbatch, tuple((self.cluster.types[d], float(self.cluster.speed[d])) for d in kinds))

        def split() -> tuple[int, ...]:
            speed, types = self.cluster.speed[kinds], [self.cluster.types[d] for d in kinds]
            flat = Cluster(speed, bandwidth=np.inf, types=types)
            return split_layers(self.model, flat, phase="train", batch=plan.microbatch, sequence=self.sequence).counts

        return self._once(key, split)

    def _blocks(self, plan: Plan) -> dict[str, np.ndarray]:
        """Phase → seconds of each block of a micro-batch on each device, divided by tp; "again": what is recomputed."""
        how = "eager" if plan.recompute == "selective" else "flash"
        key = ("blocks", plan.microbatch, plan.tp, plan.sequence_parallel, how)
        return self._once(key, lambda: self._timed(plan, how))

    def _timed(self, plan: Plan, how: Any) -> dict[str, np.ndarray]:
        shape = self.model.shape
        each = list(zip(shape.sparse, shape.windows, strict=True))
        kinds = list(dict.fromkeys(each))
        few = replace(shape, sparse=tuple(k[0] for k in kinds), windows=tuple(k[1] for k in kinds))
        graph = replace(self.model, shape=few).graph(
            "train", batch=plan.microbatch, sequence=self.sequence, attention=how
        )
        types = list(dict.fromkeys([*DEFAULT, *self.cluster.types]))
        graph = estimate(graph, types, precision=self.precision, overhead=0.0, efficiency=self.efficiency)
        seconds = Problem(graph, self.cluster, memory="none").exec_table()
        block, names = blocks_of(graph, len(kinds)), graph.names.tolist()
        outside = np.array([any(word in name.rpartition(".layers.")[2] for word in OUTSIDE) for name in names])
        seconds = seconds / np.where(outside & (not plan.sequence_parallel), 1, plan.tp)[:, None]
        phase = np.array(
            ["W" if n.endswith(".weight_gradient") else "B" if n.endswith(".backward") else "F" for n in names]
        )
        phase[[n.endswith(UPDATE) for n in names]] = "U"
        core = np.array([".self_attn." in n or ".attn." in n for n in names]) & (graph.persistent == 0)
        place_of = np.array([0, *(1 + kinds.index(k) for k in each), len(kinds) + 1])

        def summed(ops: np.ndarray) -> np.ndarray:
            rows = [np.bincount(block[ops], column[ops], minlength=len(kinds) + 2) for column in seconds.T]
            return np.stack(rows)[:, place_of]

        first = np.array([any(word in name for word in ATTENTION) for name in names])
        found = {c: summed(phase == c) for c in "FBW"} | {"core": summed((phase == "F") & core)}
        with np.errstate(invalid="ignore"):
            return found | {"half": summed((phase == "F") & first) / found["F"]}

    def _again(self, plan: Plan, group: np.ndarray, first: int, last: int) -> float:
        """Seconds of the forward ops of the layers that run again before the backward pass."""
        name = {"none": "", "full": "F", "selective": "core"}[plan.recompute]
        return float(self._blocks(plan)[name][group, first:last].sum(axis=1).max()) if name and last > first else 0.0

    def _every(self, plan: Plan, one: Schedule) -> Placement:
        """The step of all ranks, as the pipeline of one has it."""
        ends, blocks, shape = _ends(plan), self._blocks(plan), self.model.shape
        sizes = Sizes(*self._sizes(plan))
        parts = [
            parts_of(blocks, shape.sparse, first, last, sizes, plan.recompute)
            for first, last in pairwise(ends.tolist())
        ]
        return every_rank(plan, self.cluster, one, parts, self._exchanged(plan, ends))

    def _sizes(self, plan: Plan) -> tuple[float, float]:
        """Bytes that a layer sums over a tensor group, and exchanges for its experts; 0 where there is one rank."""
        shape = self.model.shape
        hidden = self.model.element_bytes * plan.microbatch * self.sequence * shape.hidden
        return hidden * (plan.tp > 1), hidden * shape.chosen / plan.tp * (plan.ep > 1)

    def _over(self, kind: Any, size: float, devices: list[int]) -> float:
        """Seconds of a collective by the slowest link of the ring."""
        if len(devices) < 2 or not size:
            return 0.0
        ahead, c = [*devices[1:], devices[0]], self.cluster
        slowest, latest = float(c.bandwidth[devices, ahead].min()), float(c.latency[devices, ahead].max())
        return collective_time(kind, size, len(devices), bandwidth=slowest, latency=latest)

    def _collectives(self, plan: Plan, layers: range, group: np.ndarray) -> float:
        """Seconds of the collectives of some layers, one way."""
        shape, ranks = self.model.shape, group.tolist()
        key = ("collectives", ranks[0], plan.tp, plan.ep, plan.dp, plan.microbatch)

        def make() -> tuple[float, float]:
            summed, exchanged = self._sizes(plan)
            reduce = 2 * self._over("all-reduce", summed, ranks[: plan.tp])
            return reduce, 2 * self._over("all-to-all", exchanged, ranks[: plan.ep])

        reduce, experts = self._once(key, make)
        return len(layers) * reduce + experts * sum(shape.sparse[i] for i in layers)

    def _exchanged(self, plan: Plan, ends: np.ndarray) -> list[tuple[float, float]]:
        """Bytes of each rank's gradients, and of the weights that are gathered after them under ZeRO 1 and 2."""
        whole = self._once(
            ("whole", plan.tp, plan.ep),
            lambda: training_bytes(self.model, replace(plan.training(), data=1, zero=0), 1, 1).kept,
        )
        found = []
        for j in range(plan.pp):
            own = stages_of(plan.schedule, j, plan.pp, plan.chunks)
            g, w = (sum(float(whole[k][ends[s] : ends[s + 1]].sum()) for s in own) for k in ("gradients", "weights"))
            found.append((g, w if plan.zero in (1, 2) else 0.0))
        return found

    def _gradients(self, plan: Plan, ends: np.ndarray) -> tuple[float, ...]:
        found = []
        for j, (g, w) in enumerate(self._exchanged(plan, ends)):
            ring = self._group(plan, j).tolist()[:: plan.tp]
            if layout_of(plan.schedule, plan.chunks) == "dual":  # twins sum theirs, too
                ring += self._group(plan, plan.pp - 1 - j).tolist()[:: plan.tp]
            scatter = self._over("all-reduce" if plan.zero == 0 else "reduce-scatter", g, ring)
            found.append(scatter + self._over("all-gather", w, ring))
        return tuple(found)

    def _gathering(self, plan: Plan, m: int, work: float) -> float:
        """Seconds of a step of ZeRO 3 with two units gathered at a time."""
        kept = self.cached["whole", plan.tp, plan.ep]
        ring = self._group(plan, 0).tolist()[:: plan.tp]
        gather = self._over("all-gather", float(kept["weights"].sum()), ring)
        scatter = self._gradients(plan, np.array([0, self.model.layers + 2]))[0]
        units = self.model.layers + 2
        return max(work + (gather + scatter) / units, (2 * m - 1 / units) * gather + scatter)

    def _simulated(self, plan: Plan, step: Step, m: int) -> tuple[Placement, np.ndarray, float]:
        """The pipeline, the end of each rank, and the seconds in which ranks are busy, of all together."""
        ranks = self._ranks(plan)
        c = self.cluster
        inner = np.ix_(ranks, ranks)
        small = Cluster(
            [1.0] * plan.pp, bandwidth=c.bandwidth[inner], latency=c.latency[inner], names=[c.names[d] for d in ranks]
        )
        placement = placed(pipeline_of(step, m, plan, small), plan.schedule, step.both)
        schedule = _run(placement, plan.schedule)
        ends = np.array([schedule.finish[schedule.device == d].max() for d in range(plan.pp)])
        return placement, ends, float((schedule.finish - schedule.start).sum())

    def _flop(self) -> float:
        """Of a step: forward, and twice as many backward."""
        frame, s = self.model.blocks, self.sequence
        windows = [None, *self.model.shape.windows, None]
        keys = np.array([mean_keys(s, 0, w, "half") for w in windows])
        return 3.0 * self.batch * s * float((frame["flop"] + frame["flop_per_key"] * keys).sum())


def _ends(plan: Plan) -> np.ndarray:
    """The first block of each stage, and the number of blocks."""
    ends = np.concatenate([[0], 1 + np.cumsum(list(plan.layers or ()))])
    ends[-1] += 1
    return ends


def pipeline_of(step: Step, m: int, plan: Plan, cluster: Cluster) -> Problem:
    """The pipeline of a step."""
    weight = step.weight if splits(plan.schedule) else None
    return pipeline_training(
        step.forward, step.backward, weight, microbatches=m, stages=plan.pp, chunks=plan.chunks,
        transfer=step.transfer, layout=layout_of(plan.schedule, plan.chunks), cluster=cluster,
    )  # fmt: skip


def placed(problem: Problem, schedule: str, both: tuple[float, ...] = ()) -> Placement:
    """A pipeline's placement; passes that run together are one op."""
    return together(problem, schedule, seconds=both or None) if schedule in MERGED else place(problem, "hash")


def run_pipeline(problem: Problem, schedule: str) -> Schedule:
    """Simulate a pipeline, whose ops are tied to their devices."""
    return _run(placed(problem, schedule), schedule)


def _run(placement: Placement, schedule: str) -> Schedule:
    return simulate(placement.problem, placement, "planned" if schedule in MERGED else schedule)

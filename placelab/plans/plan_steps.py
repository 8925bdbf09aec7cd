"""Seconds and bytes of a training step under a plan, by roofline, closed forms of collectives and one simulated pipeline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, count, expect
from placelab.base.files import MAX_OPS
from placelab.graphs.transforms.passes_together import overlap_seconds
from placelab.models import Transformer, read
from placelab.models.shape import mean_keys
from placelab.plans.best_split import split_layers
from placelab.plans.block_times import DividedBlocks
from placelab.plans.degrees import MERGED, Plan, layout_of, rank_of, splits, stages_of
from placelab.plans.gathered_units import (
    actions,
    every_gathered_rank,
    gathered_seconds,
    is_shown,
    joined,
    with_gathers,
)
from placelab.plans.memory import OUTSIDE_OPS, BlockMemory, training_bytes
from placelab.plans.plan_collectives import Collectives, rank_groups, stage_devices
from placelab.plans.rank_passes import COMPUTE, OneRank, Part, RankPasses, every_rank, parts_of
from placelab.plans.stage_memory import as_frame, rank_bytes, simulated_peaks
from placelab.plans.stage_pipeline import (
    Sending,
    Step,
    alone,
    check_passes,
    costed,
    placed,
    run_placed,
    scattered_ends,
    unit_pipeline,
    with_streams,
)
from placelab.problem.cluster import Cluster
from placelab.problem.hardware import SPECS
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate

if TYPE_CHECKING:
    import pandas as pd


Ranks = Literal["one", "gradients", "streams", "all"]
RANKS = ("one", "gradients", "streams", "all")


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
        A row per rank of the pipeline: bytes by category, ``total``, ``capacity``. Of ``memory="simulated"`` the peak of the
        passes' tensors is ``activations``, as far as the formula has them, and the rest ``buffers``.
    """

    plan: Plan
    seconds: float
    tokens_per_second: float
    mfu: float
    bubble: float
    exposed: float
    memory: pd.DataFrame
    _pipeline: Callable[[], Placement]
    _made: Callable[[Ranks, Schedule], Placement]

    @property
    def fits(self) -> bool:
        """Whether every rank has room."""
        return bool((self.memory["total"] <= self.memory["capacity"]).all())

    def problem(self, ranks: Ranks = "one") -> Problem:
        """The step as a problem, each op tied to its device.

        Parameters
        ----------
        ranks
            ``"one"``: the pipeline of one tensor rank of one replica, a device per stage; collectives are part of its passes.
            ``"gradients"``: the same with a stream beside each device, on which gradients are summed, or scattered and weights
            gathered, as long as in closed form; the step takes the plan's seconds, under any scheduler of pipelines that has the
            plan's order. ``"one"`` where a plan sends none. Under ZeRO 3 passes of each block, weights gathered before them and
            gradients scattered after them, in an order that any scheduler keeps; of more than 30,000 the passes alone.
            ``"streams"``: the same with all collectives on the stream, those within passes, too; passes are split there.
            ``"all"``: every device, with its stream on which the hops of collectives run; gradients are summed, too. Of equal
            devices and links both take the plan's seconds; of others ``"all"`` has each one's own. Under ZeRO 3 ``"one"`` has
            the passes alone, ``"all"`` also gathers and scatters, on a second stream. Passes that run together have their parts
            in ``"all"``.

        Raises
        ------
        UnsupportedError
            Other `ranks`.
        FormatError
            ``"all"`` with more than a million ops.
        """
        return self._placement(ranks).problem

    def schedule(self, ranks: Ranks = "one") -> Schedule:
        """The schedule of :meth:`problem`; of one rank without its gradients, which go out after it."""
        placement = self._placement(ranks)
        if ranks == "one":
            return run_placed(placement, self.plan.schedule)
        order = (self.plan.schedule,) if placement.planned is None else ()
        return simulate(placement.problem, placement, *order)

    def _placement(self, ranks: Any) -> Placement:
        if ranks not in RANKS:
            raise UnsupportedError(
                f"ranks is {ranks!r:.60}; expected {', '.join(map(repr, RANKS[:-1]))} or {RANKS[-1]!r}"
            )
        return self._pipeline() if ranks == "one" else self._placements(ranks)

    @cached_property
    def _placements(self) -> Callable[[Ranks], Placement]:
        one = self.schedule()
        return cache(lambda ranks: self._made(ranks, one))

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
    memory: Literal["formula", "simulated"] = "formula",
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
    memory
        ``"formula"``: activations of a layer times micro-batches in flight, and buffers by rule. ``"simulated"``: the most bytes
        at a time that tensors take if the ops of all passes run in the schedule's order, each tensor held until its last reader;
        what stays and what collectives gather is as in the formula.

    Returns
    -------
    PlanResult
        Whether it fits or not.

    Raises
    ------
    UnsupportedError
        Degrees that the model, the cluster or the schedule do not allow; another `memory`.
    FormatError
        A number out of range; types of devices without a data sheet; over a million passes of micro-batches.

    Notes
    -----
    A stage takes the seconds of its slowest device: rooflines of its blocks over tp, without sequence parallelism norms and sums
    whole, and per layer two all-reduces of the hidden states each way (scatter and gather take as long), per layer of experts
    two all-to-alls each way; nothing hides these. The pipeline is simulated. After a rank's last backward op its gradients go
    out whole: all-reduced, from ZeRO 1 scattered and the weights gathered; those of experts over the n/e ranks that hold the
    same ones. At 2, where ranks keep no whole gradients, those of a stage are scattered after each of its backward passes, on a
    stream beside them. At 3 weights are gathered and gradients scattered layer by layer in each micro-batch, two layers at a
    time, by the rules of :func:`placelab.transforms.sharded`. Forward passes of ``dualpipe`` and ``dualpipe-v`` run together
    with backward passes (:func:`placelab.plans.overlap_seconds`), so that collectives of one hide behind computation of the
    other. Left out: overlap of tensor collectives with gradients of weights, gathering inputs again in the backward pass,
    gradients in buckets that leave before the last op, updates, the sum of tied tables across ranks, imbalance of experts.

    Examples
    --------
    >>> import placelab as pl
    >>> found = plan("llama-3-8b", pl.costs.cluster("h100", 8), Plan(tp=8, zero=1), batch=8, sequence=4096)
    >>> found.fits, found.bubble
    (True, 0.0)
    """
    if memory not in ("formula", "simulated"):
        raise UnsupportedError(f"memory is {memory!r:.60}; expected 'formula' or 'simulated'")
    planner = Planner(model, cluster, batch, sequence, precision, efficiency)
    found = planner.result(plan)
    return found if memory == "formula" else replace(found, memory=planner.simulated(found.plan, found.schedule()))


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
        self.batch = count(self.batch, "batch", 1, 10**9)
        self.sequence = count(self.sequence, "sequence", 1, 10**9)
        unknown = [kind for kind in self.cluster.types if kind not in SPECS]
        if unknown:
            raise FormatError(
                f"no data sheet of device type {unknown[0]!r:.60}; costs.specs() has those that there are"
            )
        self.blocks = DividedBlocks(self.model, self.cluster, self.sequence, self.precision, self.efficiency)
        self.collectives = Collectives(self.model, self.cluster, self.sequence)

    def result(self, plan: Plan) -> PlanResult:
        """Seconds and bytes of one plan."""
        plan = self.checked(plan)
        check_passes(plan.microbatches(self.batch), plan)
        memory = self.memory(plan)
        step = self.step(plan)
        m = plan.microbatches(self.batch)
        p = plan.pp
        key = (p, m, plan.chunks, plan.schedule, step, tuple(self._ranks(plan)))
        pipeline, ends, sent, work = self._once(("pipeline", key), lambda: self._simulated(plan, step, m))
        makespan = float(ends.max())
        seconds = float((sent + np.array(step.gradients)).max())
        if plan.zero == 3:
            seconds = self._gathered(plan, m)
        tokens = self.batch * self.sequence
        peak = sum(
            SPECS[self.cluster.types[d]].matmul.get(self.precision, 0.0) or self.cluster.speed[d]
            for d in range(plan.devices)
        )
        return PlanResult(
            plan, seconds, tokens / seconds, self._flop() / seconds / peak, max(1 - work / p / makespan, 0.0) if p > 1 else 0.0,
            seconds - makespan, memory, pipeline, lambda ranks, one: self._made(plan, ranks, one),
        )  # fmt: skip

    def checked(self, plan: Plan) -> Plan:
        """The plan with its layers; UnsupportedError where a degree does not fit."""
        expect(plan, Plan, "plan(model, cluster, plan)")
        if sentence := plan.why_not(self.model.shape, self.cluster, self.batch):
            raise UnsupportedError(f"the plan does not fit {self.model.name}: {sentence}")
        return plan if plan.layers is not None else replace(plan, layers=self._layers(plan))

    def memory(self, plan: Plan) -> pd.DataFrame:
        """Bytes of each rank by category, and its capacity."""
        return as_frame(self.bytes(plan)).assign(capacity=self.capacity(plan))

    def bytes(self, plan: Plan) -> np.ndarray:
        """Bytes of each rank by category, shape (ranks, categories)."""
        blocks = self._block_bytes(plan)
        m = plan.microbatches(self.batch)
        rows = lambda: rank_bytes(blocks, plan.layers or (), m, plan.schedule, plan.chunks)  # noqa: E731
        key = "memory", plan.training(), plan.microbatch, plan.layers, m, plan.schedule, plan.chunks
        return self._once(key, rows)

    def _block_bytes(self, plan: Plan) -> BlockMemory:
        how = plan.training()
        key = "bytes", how, plan.microbatch
        return self._once(key, lambda: training_bytes(self.model, how, plan.microbatch, self.sequence))

    def simulated(self, plan: Plan, one: Schedule) -> pd.DataFrame:
        """As :meth:`memory`, with the simulated peak of a schedule of the plan instead of the formula."""
        rows = self.bytes(plan).copy()
        ends = _ends(plan)
        beside = self._block_bytes(plan).peaks[list(OUTSIDE_OPS)]
        for rank, peak in enumerate(simulated_peaks(self.model, plan, self.sequence, one, ends)):
            own = [slice(*ends[s : s + 2]) for s in stages_of(plan.schedule, rank, plan.pp, plan.chunks)]
            rows[rank, 3] = min(rows[rank, 3], peak)
            largest = np.max([beside[:, blocks].max(axis=1) for blocks in own], axis=0)
            rows[rank, 4] = peak - rows[rank, 3] + largest.sum()
        return as_frame(rows).assign(capacity=self.capacity(plan))

    def capacity(self, plan: Plan) -> list[float]:
        """Bytes that the smallest device of each rank has."""
        return [float(self.cluster.memory[rank_groups(plan, j)].min()) for j in range(plan.pp)]

    def step(self, plan: Plan) -> Step:
        """Seconds of each stage and of what follows the last backward op."""
        stages = plan.pp * plan.chunks
        ends = _ends(plan)
        passes = [self._passes(plan, ends[s], ends[s + 1], stage_devices(plan, s)) for s in range(stages)]
        both = self._both(plan, ends) if plan.schedule in MERGED else ()
        if not splits(plan.schedule):
            passes = [(f, b + w, 0.0) for f, b, w in passes]
        t = plan.tp if plan.sequence_parallel else 1
        transfer = self.model.element_bytes * plan.microbatch * self.sequence * self.model.shape.hidden / t
        forward, backward, weight = zip(*passes, strict=True)
        scatter = self.collectives.scatter_seconds(plan, ends) if plan.zero == 2 else ()
        return Step(forward, backward, weight, transfer, self.collectives.gradient_seconds(plan, ends), both, scatter)

    def bound(self, plan: Plan, step: Step) -> float:
        """Seconds of the busiest rank's passes, which no order undercuts."""
        m = plan.microbatches(self.batch) / (2 if plan.twins else 1)
        work = step.both or [f + b + w for f, b, w in zip(step.forward, step.backward, step.weight, strict=True)]
        own = [stages_of(plan.schedule, rank, plan.pp, plan.chunks) for rank in range(plan.pp)]
        return m * max(sum(work[s] for s in stages) for stages in own)

    # ---------------------------------------------------------------- parts

    def _once(self, key: Any, make: Any) -> Any:
        if key not in self.cached:
            self.cached[key] = make()
        return self.cached[key]

    def _passes(self, plan: Plan, first: int, last: int, group: np.ndarray) -> tuple[float, float, float]:
        """Seconds of the passes F, B, W of some blocks on devices, collectives within them included."""
        blocks = self.blocks.of(plan)
        layers = self.model.layers
        extra = self.collectives.of_layers(plan, range(max(first - 1, 0), min(last - 1, layers)), group)
        f, b, w = (float(blocks[phase][group, first:last].sum(axis=1).max()) for phase in "FBW")
        again = self._again(plan, group, max(first, 1), min(last, layers + 1))
        return f + extra, b + (again + (extra if plan.recompute == "full" else 0.0)) + extra, w

    def _both(self, plan: Plan, ends: np.ndarray) -> tuple[float, ...]:
        """Seconds of each stage's forward pass together with the backward pass of the other stage of its device."""
        chains = self._chains(plan, ends)
        n = len(chains)
        found = []
        for s in range(n):
            pair = chains[s][0], chains[n - 1 - s][1]  # DualPipe's twin, and the other chunk of a V
            found.append(self._once(("both", *pair), lambda pair=pair: overlap_seconds(*pair, prove=False).both))
        return tuple(found)

    def _chains(self, plan: Plan, ends: np.ndarray) -> list[tuple[tuple, tuple]]:
        """Of each stage the seconds of the parts of its forward pass and of its whole backward pass."""
        found = []
        for s, parts in enumerate(self._parts(plan, ends)):
            group = stage_devices(plan, s)
            reduce, exchange = self.collectives.each(plan, group)
            sent = {"all-reduce": reduce, "all-to-all": exchange}

            def timed(part: Part, group: np.ndarray = group, sent: dict = sent) -> tuple[str, float]:
                return (
                    (COMPUTE, float(part.amount[group].max())) if part.kind == COMPUTE else ("stream", sent[part.kind])
                )

            found.append((tuple(map(timed, parts["F"])), tuple(map(timed, parts["BW"]))))
        return found

    def _parts(self, plan: Plan, ends: Any) -> list[dict[str, list[Part]]]:
        """The parts of the passes of each stage."""
        blocks = self.blocks.of(plan)
        blocks = blocks | {"BW": blocks["B"] + blocks["W"]}  # once, not for each stage
        sparse = self.model.shape.sparse
        sizes = self.collectives.sizes(plan)
        return [parts_of(blocks, sparse, *pair, sizes, plan.recompute) for pair in pairwise(np.asarray(ends).tolist())]

    def _ranks(self, plan: Plan) -> list[int]:
        return [plan.tp * plan.dp * j for j in range(plan.pp)]

    def _layers(self, plan: Plan) -> tuple[int, ...]:
        n = plan.pp * plan.chunks
        layers = self.model.layers
        if layers % n == 0:
            return (layers // n,) * n
        kinds = [self._ranks(plan)[rank_of(plan.schedule, s, plan.pp, plan.chunks)] for s in range(n)]
        key = ("layers", plan.microbatch, tuple((self.cluster.types[d], float(self.cluster.speed[d])) for d in kinds))

        def split() -> tuple[int, ...]:
            speed = self.cluster.speed[kinds]
            types = [self.cluster.types[d] for d in kinds]
            flat = Cluster(speed, bandwidth=np.inf, types=types)
            return split_layers(self.model, flat, phase="train", batch=plan.microbatch, sequence=self.sequence).counts

        return self._once(key, split)

    def _again(self, plan: Plan, group: np.ndarray, first: int, last: int) -> float:
        """Seconds of the forward ops of the layers that run again before the backward pass."""
        name = {"none": "", "full": "F", "selective": "core"}[plan.recompute]
        return float(self.blocks.of(plan)[name][group, first:last].sum(axis=1).max()) if name and last > first else 0.0

    def _made(self, plan: Plan, ranks: Ranks, one: Schedule) -> Placement:
        """The step with its streams, of all ranks or of one of each stage, as the pipeline of one has it."""
        return self._sending(plan, one) if ranks == "gradients" else self._every(plan, one, ranks == "all")

    def _sending(self, plan: Plan, one: Schedule) -> Placement:
        """The pipeline with streams that send gradients."""
        if plan.zero == 3:
            m = plan.microbatches(self.batch)
            return with_gathers(one, *self._units(plan, m)) if is_shown(self.model.layers, m) else one.placement
        ends = _ends(plan)
        gathered, summed = zip(*self.collectives.gradient_parts(plan, ends), strict=True)
        scattered = self.collectives.scatter_seconds(plan, ends) if plan.zero == 2 else ()
        return with_streams(one, Sending(summed, gathered, scattered), plan.twins)

    def _every(self, plan: Plan, one: Schedule, every: bool) -> Placement:
        """The step of all ranks, or of one of each stage with its streams, as the pipeline of one has it."""
        make = RankPasses if every else partial(OneRank, over=self.collectives.over)
        if plan.zero == 3:
            step = actions(self.model.layers, plan.microbatches(self.batch))
            parts = self._parts(plan, self._each())
            return every_gathered_rank(
                plan, self.cluster, one.problem, step, parts, self.collectives.of_blocks(plan), make
            )
        ends = _ends(plan)
        chains = self._chains(plan, ends) if plan.schedule in MERGED else ()
        sent = self.collectives.gradients(plan, ends)
        scattered = self.collectives.stage_gradients(plan, ends) if plan.zero == 2 else ()
        return every_rank(plan, self.cluster, one, self._parts(plan, ends), sent, chains, scattered, make)

    def _each(self) -> np.ndarray:
        """Every block by itself."""
        return np.arange(self.model.layers + 3)

    def _gathered(self, plan: Plan, m: int) -> float:
        """Seconds of a step of ZeRO 3."""
        if (n := m * (5 * self.model.layers + 4)) > MAX_OPS:
            raise FormatError(
                f"ZeRO 3 gathers and scatters {self.model.layers:,} layers in {m:,} micro-batches: {n:,} actions, "
                f"at most {MAX_OPS:,} are made"
            )
        return gathered_seconds(*self._units(plan, m))

    def _units(self, plan: Plan, m: int) -> tuple[Any, Any, Any]:
        """The actions of a step of ZeRO 3, seconds of the passes of blocks, and those to gather and scatter a unit."""
        group = rank_groups(plan, 0)
        passes = [self._passes(plan, b, b + 1, group) for b in self._each()[:-1]]
        sizes = self.collectives.of_blocks(plan)
        seconds = cache(self.collectives.gathered_seconds)  # most layers are equal
        each = {"F": [f for f, _, _ in passes], "BW": [b + w for _, b, w in passes]}
        return actions(self.model.layers, m), each, lambda unit: seconds(plan, joined(sizes, unit))

    def _simulated(
        self, plan: Plan, step: Step, m: int
    ) -> tuple[Callable[[], Placement], np.ndarray, np.ndarray, float]:
        """The pipeline, the end of each rank and of what its stream scatters meanwhile, the seconds in which all are busy."""
        pipeline = cache(lambda: placed(costed(self._unit(plan, m), step, plan), plan.schedule, step.both))
        if (plan.pp, plan.chunks, plan.schedule) == (1, 1, "1f1b"):
            end, last = alone(step, m)
            return pipeline, np.array([end]), np.array([last]), end
        schedule = run_placed(pipeline(), plan.schedule)
        ends = np.array([schedule.finish[schedule.device == d].max() for d in range(plan.pp)])
        sent = np.maximum(ends, scattered_ends(schedule, step.scatter, plan.twins)) if step.scatter else ends
        return pipeline, ends, sent, float((schedule.finish - schedule.start).sum())

    def _unit(self, plan: Plan, m: int) -> Problem:
        """The pipeline with passes of 1 s."""
        ranks = self._ranks(plan)
        c = self.cluster
        inner = np.ix_(ranks, ranks)
        small = Cluster(
            [1.0] * plan.pp, bandwidth=c.bandwidth[inner], latency=c.latency[inner], names=[c.names[d] for d in ranks]
        )
        layout = layout_of(plan.schedule, plan.chunks)
        key = "unit", plan.pp, m, plan.chunks, splits(plan.schedule), layout, tuple(ranks)
        return self._once(key, lambda: unit_pipeline(m, plan, small))

    def _flop(self) -> float:
        """Of a step: forward, and twice as many backward."""
        frame = self.model.blocks
        s = self.sequence
        windows = [None, *self.model.shape.windows, None]
        keys = np.array([mean_keys(s, 0, w, "half") for w in windows])
        return 3.0 * self.batch * s * float((frame["flop"] + frame["flop_per_key"] * keys).sum())


def _ends(plan: Plan) -> np.ndarray:
    """The first block of each stage, and the number of blocks."""
    ends = np.concatenate([[0], 1 + np.cumsum(list(plan.layers or ()))])
    ends[-1] += 1
    return ends

"""The pipeline of a plan's step: an op per stage, phase and micro-batch, collectives as part of it or on streams beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.once import handed_on
from placelab.graphs.training_steps import pipeline_training
from placelab.graphs.transforms.passes_together import together
from placelab.plans.degrees import MERGED, MOST_OPS, Plan, layout_of, splits
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import KEY, required
from placelab.problem.pipeline_columns import pipeline_of as columns_of
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place

LAST = ("W", "BW", "FB")  # phases that end a backward pass


class Step(NamedTuple):
    """A pipeline's step: seconds per stage, bytes of a border, seconds of each rank's gradients after its last backward, of
    DualPipe those of each stage's forward pass together with the backward pass of the other stage of its device, and of ZeRO 2
    those in which each stage's gradients are scattered after each backward pass."""

    forward: tuple[float, ...]
    backward: tuple[float, ...]
    weight: tuple[float, ...]
    transfer: float
    gradients: tuple[float, ...]
    both: tuple[float, ...] = ()
    scatter: tuple[float, ...] = ()


def check_passes(m: int, plan: Plan) -> None:
    """Refuse a step of too many passes before anything is made."""
    if (n := m * plan.pp * plan.chunks * (3 if splits(plan.schedule) else 2)) > MOST_OPS:
        raise FormatError(f"{m:,} micro-batches have {n:,} passes; at most {MOST_OPS:,} are made")


def unit_pipeline(m: int, plan: Plan, cluster: Cluster) -> Problem:
    """The pipeline with passes of 1 s and borders of 1 byte, which many steps have in common."""
    return pipeline_training(
        1.0, 1.0, 1.0 if splits(plan.schedule) else None, microbatches=m, stages=plan.pp, chunks=plan.chunks,
        transfer=1.0, layout=layout_of(plan.schedule, plan.chunks), cluster=cluster,
    )  # fmt: skip


def costed(unit: Problem, step: Step, plan: Plan) -> Problem:
    """The pipeline of :func:`unit_pipeline` with the seconds and bytes of a step."""
    graph = unit.graph
    columns = required(graph, "a plan")
    whole = [b + w for b, w in zip(step.backward, step.weight, strict=True)]
    seconds = {"F": step.forward, "B": step.backward, "W": step.weight, "BW": whole}
    taken = np.zeros(graph.n_ops)
    for phase, each in seconds.items():
        ops = columns.phase == phase
        taken[ops] = np.array(each)[columns.stage[ops]]
    speed = unit.cluster.speed[unit.may_run.argmax(axis=1)]
    made = graph.replace(
        compute=taken * speed, tensor_bytes=graph.tensor_bytes * step.transfer, memory=graph.memory * step.transfer
    )
    handed_on(columns_of, graph, made)
    return unit.replace(graph=made)


def alone(step: Step, m: int) -> tuple[float, float]:
    """The end of a single stage's passes, those of a micro-batch after the other's, and of what its stream scatters.

    Added up as the simulator does, to the last digit.

    >>> alone(Step((1.0,), (2.0,), (0.0,), 0.0, (0.0,), scatter=(4.0,)), 3)
    (9.0, 15.0)
    """
    finish = np.add.accumulate(np.tile([step.forward[0], step.backward[0] + step.weight[0]], m))
    sent = end = float(finish[-1])
    if step.scatter:
        sent = 0.0
        for made in finish[1::2].tolist():
            sent = max(sent, made) + step.scatter[0]
    return end, max(end, sent)


def placed(problem: Problem, schedule: str, both: tuple[float, ...] = ()) -> Placement:
    """A pipeline's placement; passes that run together are one op."""
    return together(problem, schedule, seconds=both or None) if schedule in MERGED else place(problem, "hash")


def run_placed(placement: Placement, schedule: str) -> Schedule:
    """Simulate a placed pipeline; passes that run together have their order already."""
    return simulate(placement.problem, placement, "planned" if schedule in MERGED else schedule)


class Scatter(NamedTuple):
    """Gradients that leave a stage: the pipeline's ops that end the passes which made them, two of DualPipe's twins."""

    stage: int
    ops: tuple[int, ...]


def starting_order(one: Schedule) -> list[int]:
    """Ops of a pipeline in the order in which they start."""
    return np.lexsort((np.arange(len(one.start)), one.finish, one.start)).tolist()


def scatters(one: Schedule, twins: bool) -> list[Scatter]:
    """What is scattered, in the order in which streams send it: the k-th pass of a stage with the k-th of its twin."""
    pipeline = required(one.problem.graph, "a plan")
    waiting: dict[int, dict[int, list[int]]] = {}  # stage → replica → ops that end its passes
    found = []
    for v in starting_order(one):
        phase = str(pipeline.phase[v])
        if phase not in LAST:
            continue
        stage = int(pipeline.backward[v, 1] if phase == "FB" else pipeline.stage[v])
        replica = int(pipeline.backward[v, 2] if phase == "FB" else pipeline.replica[v])
        here = waiting.setdefault(stage, {0: [], 1: []} if twins else {replica: []})
        here[replica].append(v)
        if all(here.values()):
            found.append(Scatter(stage, tuple(ops.pop(0) for ops in here.values())))
    return found


def scattered_ends(one: Schedule, seconds: Sequence[float], twins: bool) -> np.ndarray:
    """When the stream of each rank has scattered the gradients of all passes, each `seconds` of its stage; shape (ranks,)."""
    ends = np.zeros(one.problem.cluster.n_devices)
    for stage, ops in scatters(one, twins):
        ranks = one.device[list(ops)]
        made = one.finish[list(ops)].max()
        ends[ranks] = max(float(ends[ranks].max()), float(made)) + seconds[stage]
    return ends


class Sending(NamedTuple):
    """Seconds of a plan's streams: of each rank to sum or scatter its gradients once its passes are over, and to gather its
    weights then; under ZeRO 2, of each stage to scatter its gradients after each backward pass."""

    summed: Sequence[float]
    gathered: Sequence[float]
    scattered: Sequence[float] = ()


def with_streams(one: Schedule, sending: Sending, twins: bool) -> Placement:
    """The pipeline of a schedule with its streams; as it is where nothing is sent.

    Parameters
    ----------
    one
        Of the pipeline, whose devices are its ranks.
    sending
        What streams do.
    twins
        Whether two replicas of the pipeline share the devices, as in DualPipe, so that two passes make a stage's gradients.

    Returns
    -------
    Placement
        On devices and, next to each, its stream ``name/stream``. Ops of the pipeline as they were; on the streams, of phase
        ``AR``, as long as their closed forms: ``scatter{k}.{stage}@name`` after the stage's k-th backward pass,
        ``gradients@name`` after all passes there, ``weights@name``.
    """
    streams = _Streams(one)
    sent: Counter[int] = Counter()
    for stage, made in scatters(one, twins) if sending.scattered else ():
        k = sent[stage]
        sent[stage] += 1
        for rank in np.unique(one.device[list(made)]).tolist():
            streams.add(f"scatter{k}.{stage}", "scatter", rank, sending.scattered[stage], made)
    last = np.isin(streams.columns.phase, LAST)
    for rank, (summed, gathered) in enumerate(zip(sending.summed, sending.gathered, strict=True)):
        passes = np.flatnonzero(last & (one.device == rank)).tolist()
        after = streams.add("gradients", "reduce", rank, summed, passes)
        streams.add("weights", "gather", rank, gathered, after)
    return streams.placement() if streams.names else one.placement


class _Streams:
    """Ops of streams as they are added to a pipeline's."""

    def __init__(self, one: Schedule) -> None:
        self.one = one
        self.graph = one.problem.graph
        self.columns = required(self.graph, "a plan")
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.ranks: list[int] = []
        self.seconds: list[float] = []
        self.edges: list[tuple[int, int]] = []

    def add(self, name: str, kind: str, rank: int, seconds: float, after: Sequence[int]) -> list[int]:
        """An op on the stream of a rank; what comes next there waits for it, or for the same as before if it takes no time."""
        if not seconds:
            return list(after)
        made = self.graph.n_ops + len(self.names)
        self.names.append(f"{name}@{self.one.problem.cluster.names[rank]}")
        self.kinds.append(kind)
        self.ranks.append(rank)
        self.seconds.append(seconds)
        self.edges += [(u, made) for u in after]
        return [made]

    def placement(self) -> Placement:
        """All ops where they run."""
        problem = self.one.problem.replace(graph=self._graph(), cluster=beside(self.one.problem.cluster))
        return Placement(
            problem, problem.may_run.argmax(axis=1).astype(np.int32), partitioner=self.one.placement.partitioner
        )

    def _graph(self) -> OpGraph:
        graph = self.graph
        new = len(self.names)
        cluster = self.one.problem.cluster
        unread = np.setdiff1d(np.arange(graph.n_tensors), graph.edge_tensor)
        places = [*(cluster.names[d] for d in self.one.device.tolist())]
        places += [f"{cluster.names[rank]}/stream" for rank in self.ranks]
        names = [*graph.names.tolist(), *self.names]
        made = OpGraph.from_arrays(
            names,
            [*graph.compute.tolist(), *self.seconds],
            np.concatenate([np.stack([graph.producer, graph.consumer], axis=1), np.array(self.edges)]),
            edge_bytes=np.concatenate([graph.edge_bytes, np.zeros(len(self.edges))]),
            edge_output=np.concatenate([graph.edge_tensor, np.zeros(len(self.edges), int)]),
            edge_control=np.concatenate([graph.tensor_control[graph.edge_tensor], np.ones(len(self.edges), bool)]),
            outputs=[(int(graph.tensor_producer[t]), int(t), float(graph.tensor_bytes[t])) for t in unread],
            persistent=[*graph.persistent.tolist(), *[0.0] * new],
            temporary=[*graph.temporary.tolist(), *[0.0] * new],
            kind=[*graph.kind.tolist(), *self.kinds],
            devices={v: (name,) for v, name in enumerate(places)},
            metadata=dict(graph.metadata),
        )
        return made.replace(metadata=made.metadata | {KEY: self._columns(made, names)})

    def _columns(self, made: OpGraph, names: Sequence[str]) -> dict[str, list]:
        """Micro-batch, stage and phase of each op by its number in the graph made."""
        number = {name: v for v, name in enumerate(names)}
        order = [number[name] for name in made.names.tolist()]
        usual = {"microbatch": -1, "stage": -1, "phase": "AR", "replica": 0, "backward": None}
        stored = self.graph.metadata[KEY]
        new = len(self.names)
        whole = {label: [*stored[label], *[value] * new] for label, value in usual.items() if label in stored}
        return {label: [column[v] for v in order] for label, column in whole.items()}


def beside(cluster: Cluster) -> Cluster:
    """Each device and, next to it, its stream, whose links are without cost: seconds of collectives have all in them."""
    own = np.repeat(np.arange(cluster.n_devices), 2)
    stream = np.arange(len(own)) % 2 == 1
    free = stream[:, None] | stream
    pairs = np.ix_(own, own)
    return Cluster(
        np.where(stream, 1.0, cluster.speed[own]),
        memory=np.where(stream, np.inf, cluster.memory[own]),
        bandwidth=np.where(free, np.inf, cluster.bandwidth[pairs]),
        latency=np.where(free, 0.0, cluster.latency[pairs]),
        names=[cluster.names[d] + "/stream" * at for d, at in zip(own.tolist(), stream.tolist(), strict=True)],
        types=["stream" if at else cluster.types[d] for d, at in zip(own.tolist(), stream.tolist(), strict=True)],
        hosts=[cluster.hosts[d] for d in own],
    )

"""A plan's pipeline with a stream beside each device, on which gradients are summed, or scattered and weights gathered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from placelab.plans.scattered_gradients import LAST, scatters
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.pipeline_columns import KEY, required
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule


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
        k, sent[stage] = sent[stage], sent[stage] + 1
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
        self.one, self.graph = one, one.problem.graph
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

"""Training jobs made of one step: the graph and the cluster of workers and servers, of replicas, or of pipeline stages."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from placelab.app.explorer.offered import PIPELINE, SERVERS, Job, Model, Preset
from placelab.app.explorer.spreads import layers_of
from placelab.app.explorer.state import TIED, State, default_memory
from placelab.app.widgets.cluster_edit import Layout
from placelab.base.errors import InfeasibleError, UnsupportedError
from placelab.graphs.transforms import backward, microbatches, model_replica, pipeline_replica
from placelab.problem.cluster import Cluster, links_among
from placelab.problem.clusters import data_parallel, parameter_server
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.strategies.placing import place
from placelab.strategies.preparing.gradients import backward_part

STAGES = ("contiguous", "layers")  # partitioners that give stages
ETHERNET = 1.25e9, 50e-6  # 10 Gbit: bytes/s, s
# Of a cluster; what a hand can change, besides links that are shared.
COLUMNS = (
    "speed",
    "memory",
    "bandwidth",
    "latency",
)
HELPERS = ("ps", "stream")  # types of devices that do not compute a model


def with_job(state: State, job: Job) -> State:
    """The job of the step shown, or of the step that the present job is made of.

    Edits of devices that stay are kept, as is the memory model that was chosen for the present job.

    Raises
    ------
    PlacelabError
        The model has no parameters, or its stages depend on each other in a circle.
    """
    base = state.base or one_step(state)
    model, preset = made(job, base)
    cluster = _with_edits(preset.cluster, state) if state.job is not None else preset.cluster
    same = state.job is not None and state.job.scheduler == job.scheduler
    chosen = state.job is not None and state.memory != default_memory(state.cluster)
    channels = job.kind != PIPELINE  # one per source and worker, as in Hashemi 2018
    return replace(
        base,
        model=model,
        preset=preset,
        cluster=cluster,
        layout=Layout.of(cluster),
        partitioner=state.partitioner if same else TIED,
        scheduler=state.scheduler if same else job.scheduler,
        requested_scheduler="",
        seed=state.seed,
        options=state.options,
        costs="model",
        compute=1.0,
        transfer=1.0,
        memory=state.memory if chosen else default_memory(cluster),
        groups=(),
        pins=(),
        prepare=(),
        job=job,
        base=base,
        spread=None,
        transfers="channel" if channels else base.transfers,
        duplex=base.duplex and not channels,
    )


def one_step(state: State) -> State:
    """The step that a job is made of, as it was; of a decoder under a plan, its next token."""
    if state.planned is not None:
        return state.with_spread(layers_of(state.planned.model, state.planned.source))
    return state if state.base is None else replace(state.base, seed=state.seed, options=state.options)


def made(job: Job, base: State) -> tuple[Model, Preset]:
    """The job's graph and cluster. Their expressions name the step's ``graph`` and, of a pipeline, its ``cluster``."""
    title = f"{base.model.title} × {job.title}"
    if job.kind == PIPELINE:
        stages = stages_of(job, base.cluster)
        problem, code = _pipeline(job, base, stages)
        graph = problem.graph
        code = f"{code}.graph"
        preset = Preset(f"{job.stages} stages", problem.cluster, _copies(job, base.cluster))
    else:
        graph, code = _replicas(job, base.graph)
        preset = _machines(job, base.cluster)
    return Model(title, graph, code), preset


def _replicas(job: Job, graph: OpGraph) -> tuple[OpGraph, str]:
    given: dict[str, object] = dict(workers=job.workers)
    if job.kind == SERVERS:
        given |= dict(servers=job.servers) | ({} if job.sync else dict(sync="ps-async"))
        given |= {} if job.training else dict(training=False)
        given |= {} if job.barrier else dict(barrier=False)
    else:
        given |= dict(sync="allreduce", algorithm=job.algorithm, bucket_bytes=job.bucket_bytes)
    given |= {} if job.iterations == 1 else dict(iterations=job.iterations)
    return model_replica(graph, **given), f"pl.transforms.model_replica(graph, {_written(given)})"  # type: ignore[arg-type]


def _pipeline(job: Job, base: State, cluster: Cluster) -> tuple[Problem, str]:
    """Stages of the model. Where they make a circle: without colocation groups, which tie the last stage to the first where these
    share a weight; then with capacities, which no cut of the model keeps, left aside."""
    apart = "graph.replace(groups=())"
    ungrouped = base.graph.replace(groups=())
    for graph, code in ((base.graph, "graph"), (ungrouped, apart)):
        with suppress(UnsupportedError, InfeasibleError):
            return _folded(job, base, cluster, graph, code, base.memory)
    return _folded(job, base, cluster, ungrouped, apart, "none")


def _folded(job: Job, base: State, cluster: Cluster, graph: OpGraph, step: str, memory: str) -> tuple[Problem, str]:
    if not backward_part(graph).any():
        graph = backward(graph)
        step = f"pl.transforms.backward({step})"
    placement = place(Problem(graph, cluster, memory=memory), job.partitioner, prepare="forward-only", seed=base.seed)
    recv: Literal["async", "blocking"] = "blocking" if job.blocking else "async"
    folded = microbatches(placement, job.microbatches, split=job.split, recompute=job.recompute, recv=recv)
    problem = f"pl.Problem({step}, cluster, memory={memory!r})"
    placed = f"pl.place({problem}, {job.partitioner!r}, prepare='forward-only', seed={base.seed})"
    options = "split=True, " * job.split + "recompute=True, " * job.recompute + f"recv={recv!r}"
    code = f"pl.transforms.microbatches({placed}, {job.microbatches}, {options})"
    if job.replicas == 1:
        return folded, code
    given: dict[str, Any] = dict(algorithm=job.algorithm, bucket_bytes=job.bucket_bytes) | _between(base.cluster)
    copies = pipeline_replica(folded, job.replicas, **given)
    return copies, f"pl.transforms.pipeline_replica({code}, {job.replicas}, {_written(given)})"


def _copies(job: Job, present: Cluster) -> str:
    """The expression of the cluster, which names that of the stages."""
    if job.replicas == 1:
        return "cluster"
    return f"pl.clusters.replicated(cluster, {job.replicas}, {_written(_between(present))})"


def _between(present: Cluster) -> dict[str, float]:
    """Links between replicas: the slowest there is, of a single machine at best Ethernet."""
    links = ~np.eye(present.n_devices, dtype=bool)
    rate = float(present.bandwidth[links].min(initial=np.inf))
    delay = float(present.latency[links].max(initial=0.0))
    if len(set(present.hosts)) == 1 and rate > ETHERNET[0]:
        rate = ETHERNET[0]
        delay = max(delay, ETHERNET[1])
    return dict(bandwidth=rate, latency=delay)


def _written(arguments: Mapping[str, object]) -> str:
    values = {name: "float('inf')" if value == np.inf else repr(value) for name, value in arguments.items()}
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _machines(job: Job, present: Cluster) -> Preset:
    """Workers with speed and memory of the devices there are, and links between them."""
    n = job.workers
    if job.kind == SERVERS:
        start = parameter_server(n, servers=job.servers)
        helpers = job.servers
        code = f"pl.clusters.parameter_server({n}, servers={job.servers})"
        at = np.arange(n) + helpers
    else:
        hosts = job.hosts if n % job.hosts == 0 else 1
        start = data_parallel(n, hosts=hosts)
        code = f"pl.clusters.data_parallel({n}, hosts={hosts})"
        at = np.arange(n)
    like = _computing(present)
    like = like[np.arange(n) % len(like)]
    memory = start.memory.copy()
    ratio = start.speed / start.speed[at[0]]  # of servers and streams to workers
    speed = ratio * present.speed[like].max()
    speed[at] = present.speed[like]
    memory[at] = present.memory[like]
    bandwidth, latency = _links(start, present)
    carried = start.replace(speed=speed, memory=memory, bandwidth=bandwidth, latency=latency)
    return Preset(f"{n} workers", carried, code if _same(start, carried) else "")


def _links(start: Cluster, present: Cluster) -> tuple[np.ndarray, np.ndarray]:
    """Links inside machines as the fastest present ones, between them as the slowest; of one machine, at most `start`'s."""
    k = present.n_devices
    bandwidth = start.bandwidth.copy()
    latency = start.latency.copy()
    if k < 2:
        return bandwidth, latency
    links = np.argwhere(~np.eye(k, dtype=bool))
    rate = present.bandwidth[tuple(links.T)]
    delay = present.latency[tuple(links.T)]
    host = np.array(start.hosts)
    near = np.array([name.partition("/")[0] for name in start.names])
    own = near[:, None] == near
    inside = host[:, None] == host
    fast = int(rate.argmax())
    slow = int(rate.argmin())
    bandwidth[inside & ~own] = rate[fast]
    latency[inside & ~own] = delay[fast]
    several = len(set(present.hosts)) > 1
    apart = ~inside & (several | (bandwidth > rate[slow]))
    bandwidth[apart] = rate[slow]
    latency[apart] = delay[slow]
    if np.isfinite(rate.max()):  # a worker hands over to its own stream at no cost worth counting
        bandwidth[own] = np.maximum(bandwidth[own], rate.max())
    return bandwidth, latency


def _computing(cluster: Cluster) -> np.ndarray:
    """Numbers of the devices that may compute a model."""
    workers = np.flatnonzero([kind not in HELPERS for kind in cluster.types])
    return workers if len(workers) else np.arange(cluster.n_devices)


def stages_of(job: Job, present: Cluster) -> Cluster:
    """The first devices there are, one per stage; more stages than devices begin again with the first."""
    p = job.stages
    k = present.n_devices
    if p == k:
        return present
    like = np.arange(p) % k
    links = ~np.eye(k, dtype=bool)
    bandwidth, latency = (matrix[np.ix_(like, like)].copy() for matrix in (present.bandwidth, present.latency))
    twins = (like[:, None] == like) & ~np.eye(p, dtype=bool)
    if twins.any() and k > 1:
        bandwidth[twins] = present.bandwidth[links].min()
        latency[twins] = present.latency[links].max()
    elif twins.any():
        bandwidth[twins], latency[twins] = ETHERNET  # no link is known
    names = [present.names[d] + (f" {i // k + 1}" if i >= k else "") for i, d in enumerate(like)]
    return Cluster(
        present.speed[like],
        memory=present.memory[like],
        bandwidth=bandwidth,
        latency=latency,
        names=names,
        types=[present.types[d] for d in like],
        hosts=[present.hosts[d] for d in like],
        links=links_among(present.links, like),
    )


def _with_edits(cluster: Cluster, state: State) -> Cluster:
    """The cluster with what a hand has changed of the one shown, where device and link are still there."""
    if not state.edited or state.cluster.n_devices != state.preset.cluster.n_devices:
        return cluster
    before = state.preset.cluster
    now = state.cluster
    number = {name: d for d, name in enumerate(now.names)}
    here = np.array([i for i, name in enumerate(cluster.names) if name in number], dtype=np.int64)
    there = np.array([number[cluster.names[i]] for i in here], dtype=np.int64)
    columns: dict[str, np.ndarray] = {}
    for label in COLUMNS:
        made, old, new = (getattr(c, label) for c in (cluster, before, now))
        mine, theirs = (here, there) if made.ndim == 1 else (np.ix_(here, here), np.ix_(there, there))
        columns[label] = made.copy()
        columns[label][mine] = np.where(old[theirs] != new[theirs], new[theirs], made[mine])
    dragged = {link.name: link.bandwidth for link in now.links if link not in before.links}
    links = tuple(replace(link, bandwidth=dragged.get(link.name, link.bandwidth)) for link in cluster.links)
    edited = cluster.replace(**columns, links=links)
    return cluster if _same(cluster, edited) else edited


def _same(a: Cluster, b: Cluster) -> bool:
    return a.links == b.links and all(np.array_equal(getattr(a, c), getattr(b, c)) for c in COLUMNS)

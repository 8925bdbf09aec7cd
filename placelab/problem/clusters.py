"""Presets of clusters: machines of the papers and of today."""

from __future__ import annotations

import numpy as np

from placelab.base.errors import FormatError, count, expect
from placelab.base.seeds import generator
from placelab.problem.cluster import MOST_DEVICES, Cluster, SharedLink, links_among


def uniform(n: int = 4) -> Cluster:
    """`n` equal devices of 10¹³ operations/s, 16 GB each, every two joined at 12 GB/s and 50 µs."""
    return Cluster.uniform(n, speed=1e13, memory=16e9, bandwidth=12e9, latency=50e-6)


def mayer50(*, seed: int = 0, devices: int = 50) -> Cluster:
    """The simulated devices of Mayer 2017 §5.1: speeds U(10, 100) operations and rates U(10, 60) bytes per time unit.

    Whole numbers, as in the published device file; rates are symmetric; no latency, no memory limit. One time unit is 1 s.
    As in that file, 19 of 50 devices have the type ``GPU``, the others ``CPU``: the two kinds that ops of the published graphs
    are restricted to.
    """
    rng = generator(seed)
    k = count(devices, "number of devices", most=MOST_DEVICES)
    speed = rng.integers(10, 100, k, endpoint=True)
    rate = np.triu(rng.integers(10, 60, (k, k), endpoint=True), 1)
    types = np.where(rng.permutation(k) < round(k * 19 / 50), "GPU", "CPU")
    return Cluster(speed, bandwidth=rate + rate.T + np.eye(k), types=types.tolist())


def pcie_box(gpus: int = 4) -> Cluster:
    """One server with `gpus` GPUs on PCIe 3 × 16, like the four-GPU server of Baechi §5.1.

    8 GB and 10¹³ operations/s each; GPU to GPU through the host: 6 GB/s and 50 µs.
    """
    return Cluster.from_hosts({"server": _gpus(gpus)}, speed=1e13, memory=8e9, inside=(6e9, 50e-6))


def nvlink_box(gpus: int = 8) -> Cluster:
    """One server with `gpus` GPUs behind an NVLink switch: 10¹⁴ operations/s, 80 GB, 300 GB/s and 5 µs between any two."""
    return Cluster.from_hosts({"server": _gpus(gpus)}, speed=1e14, memory=80e9, inside=(300e9, 5e-6))


def two_nodes(gpus: int = 4) -> Cluster:
    """Two servers with `gpus` GPUs each: NVLink inside (300 GB/s, 5 µs), 100 Gbit/s Ethernet between (12.5 GB/s, 20 µs)."""
    return Cluster.from_hosts(
        dict.fromkeys(("node0", "node1"), _gpus(gpus)),
        speed=1e14,
        memory=80e9,
        inside=(300e9, 5e-6),
        between=(12.5e9, 20e-6),
    )


def parameter_server(workers: int = 4, *, servers: int = 1) -> Cluster:
    """`workers` GPU machines and `servers` CPU machines (type ``ps``), joined by 10 Gbit/s Ethernet: 1.25 GB/s, 50 µs.

    For graphs of :func:`placelab.transforms.model_replica`. ``Problem(…, transfers="channel")`` gives each server a channel to
    each worker (Hashemi 2018); with ``transfers="sequential", duplex=True`` each machine has one network card, so that a
    server's is shared by its workers: one transfer out and one in at a time.
    """
    w, s = (
        count(n, f"number of {what}", most=MOST_DEVICES) for n, what in ((workers, "workers"), (servers, "servers"))
    )
    names = [f"ps:{i}" for i in range(s)] + [f"worker:{i}" for i in range(w)]
    return Cluster(
        [1e12] * s + [1e13] * w,
        memory=[256e9] * s + [16e9] * w,
        bandwidth=1.25e9,
        latency=50e-6,
        names=names,
        types=["ps"] * s + ["gpu"] * w,
        hosts=[name.replace(":", "") for name in names],
    )


def data_parallel(workers: int = 8, *, hosts: int | None = None) -> Cluster:
    """`workers` GPUs, as many on each of `hosts` servers, each with a communication stream, for all-reduces between them.

    By default on two servers, an odd number on one. For graphs of :func:`placelab.transforms.model_replica` with
    ``sync="allreduce"``, whose collectives run on the devices ``worker:w/stream`` (type ``stream``), without memory limit.
    10¹⁴ operations/s and 80 GB per GPU; NVLink inside a server (300 GB/s, 5 µs), 100 Gbit/s Ethernet between (12.5 GB/s,
    20 µs); no latency between a GPU and its own stream.

    Raises
    ------
    FormatError
        The servers cannot have equally many workers.
    """
    n = count(workers, "number of workers", most=MOST_DEVICES // 2)
    h = 2 - n % 2 if hosts is None else count(hosts, "number of hosts", most=n)
    if n % h:
        raise FormatError(f"{n} workers cannot be shared equally by {h} hosts; change one of the two")
    host = np.tile(np.arange(n) // (n // h), 2)
    near = host[:, None] == host
    own = np.arange(2 * n) % n
    same = own[:, None] == own
    return Cluster(
        [1e14] * (2 * n),
        memory=[80e9] * n + [None] * n,
        bandwidth=np.where(same, 2e12, np.where(near, 300e9, 12.5e9)),
        latency=np.where(same, 0.0, np.where(near, 5e-6, 20e-6)),
        names=[*(f"worker:{w}" for w in range(n)), *(f"worker:{w}/stream" for w in range(n))],
        types=["gpu"] * n + ["stream"] * n,
        hosts=[f"node{i}" for i in host],
    )


def replicated(
    cluster: Cluster, replicas: int = 2, *, bandwidth: float | None = None, latency: float | None = None
) -> Cluster:
    """Copies of a cluster, each on hosts of its own, and a communication stream beside each device, for all-reduces between them.

    For graphs of :func:`placelab.transforms.pipeline_replica`.

    Parameters
    ----------
    cluster
        Its k devices are there `replicas` times, device ``name`` as ``replica:w/name``, host ``host`` as ``replica:w/host``.
    replicas
        Their number r.
    bandwidth, latency
        Of the links between replicas. None: of the slowest link of `cluster`.

    Returns
    -------
    Cluster
        2 r k devices: the copies, replica by replica, then in the same order the streams, ``replica:w/name/stream`` of type
        ``stream``, as fast as their device, without memory limit. A device and its stream are linked without cost. Shared links
        are there once per replica, ``replica:w/link``, for its streams, too.
    """
    expect(cluster, Cluster, "replicated")
    k = cluster.n_devices
    r = count(replicas, "number of replicas", most=max(1, MOST_DEVICES // (2 * k)))
    apart = ~np.eye(k, dtype=bool)
    rate = cluster.bandwidth[apart].min(initial=np.inf) if bandwidth is None else bandwidth
    delay = cluster.latency[apart].max(initial=0.0) if latency is None else latency
    expect(rate, (int, float, np.number), "bandwidth between replicas")
    expect(delay, (int, float, np.number), "latency between replicas")
    of = np.tile(np.repeat(np.arange(r), k), 2)
    device = np.tile(np.arange(k), 2 * r)
    near = of[:, None] == of
    own = near & (device[:, None] == device)
    pair = np.ix_(device, device)
    names = [f"replica:{w}/{cluster.names[d]}" for w, d in zip(of.tolist(), device.tolist(), strict=True)]
    return Cluster(
        cluster.speed[device],
        memory=np.where(np.arange(2 * r * k) < r * k, cluster.memory[device], np.inf),
        bandwidth=np.where(own, np.inf, np.where(near, cluster.bandwidth[pair], rate)),
        latency=np.where(own, 0.0, np.where(near, cluster.latency[pair], delay)),
        names=[*names[: r * k], *(f"{name}/stream" for name in names[r * k :])],
        types=[cluster.types[d] for d in device[: r * k]] + ["stream"] * (r * k),
        hosts=[f"replica:{w}/{cluster.hosts[d]}" for w, d in zip(of.tolist(), device.tolist(), strict=True)],
        links=[
            SharedLink(f"replica:{w}/{link.name}", link.bandwidth, link.pairs)
            for w in range(r)
            for link in links_among(cluster.links, np.where(of == w, device, -1))
        ],
    )


def rtx2080ti_box(gpus: int = 4) -> Cluster:
    """One server with `gpus` GeForce RTX 2080 Ti on PCIe 3 × 16: 13.4 TFLOP/s and 11 GB each; 15.75 GB/s and 10 µs.

    Devices of the type ``rtx2080ti``, for which models come with estimated times (:func:`placelab.costs.estimate`).
    """
    return Cluster.from_hosts({"server": _gpus(gpus)}, speed=13.4e12, memory=11e9, inside=(15.754e9, 10e-6)).replace(
        types=["rtx2080ti"] * gpus
    )


def h100_box(gpus: int = 8) -> Cluster:
    """One server with `gpus` H100 (SXM) behind an NVLink switch: 66.9 TFLOP/s and 80 GB each; 450 GB/s and 5 µs.

    Devices of the type ``h100``, for which models come with estimated times (:func:`placelab.costs.estimate`).
    """
    return Cluster.from_hosts({"server": _gpus(gpus)}, speed=66.9e12, memory=80e9, inside=(450e9, 5e-6)).replace(
        types=["h100"] * gpus
    )


def _gpus(gpus: int) -> int:
    return count(gpus, "gpus", most=MOST_DEVICES)


PRESETS = {
    preset.__name__: preset
    for preset in (
        uniform,
        mayer50,
        pcie_box,
        nvlink_box,
        two_nodes,
        parameter_server,
        rtx2080ti_box,
        h100_box,
    )
}


def preset(name: str) -> Cluster:
    """The preset of that name with its defaults; FormatError when there is none."""
    if not isinstance(name, str) or name not in PRESETS:
        raise FormatError(f"no cluster preset is called {name!r}; there are {', '.join(PRESETS)}")
    return PRESETS[name]()

"""Peak figures of common devices and links with their sources, and clusters made of them.

Speeds are those of dense matrices (no sparsity), at the boost clock the vendor quotes. Two figures that data sheets lack are
assumed: the seconds a framework needs to start an op (``LAUNCH``) and the latency of a transfer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from placelab.base.errors import FormatError, count, is_name
from placelab.base.index_arrays import LARGEST
from placelab.problem.cluster import MOST_DEVICES, Cluster

LAUNCH = {"gpu": 5e-6, "tpu": 2e-6, "cpu": 1e-6}  # seconds from one op's end to the next one's start, assumed


@dataclass(frozen=True)
class Spec:
    """Peak figures of one type of device.

    Attributes
    ----------
    name : str
        The device type: name of the time column that :func:`placelab.costs.estimate` makes for it.
    speed : float
        FLOP/s of the vector units in float32; the device's ``speed`` in a cluster.
    matmul : mapping of float
        Precision → FLOP/s of matrix products; other precisions run at `speed`.
    memory_bandwidth : float
        Bytes/s.
    memory : float
        Bytes.
    overhead : float
        Seconds that each op takes beyond its work.
    source : str
        Publication that has the figures.
    """

    name: str
    speed: float
    matmul: Mapping[str, float] = field(default_factory=dict)
    memory_bandwidth: float = 1e11
    memory: float = 16e9
    overhead: float = 0.0
    source: str = ""

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise FormatError(f"name of a device is {self.name!r:.80}; expected non-empty text on one line")
        if not isinstance(self.matmul, Mapping):
            raise FormatError(f"matmul of device {self.name!r} is {self.matmul!r:.80}; expected precision → FLOP/s")
        object.__setattr__(self, "matmul", dict(self.matmul))
        products = {f"matmul {precision}": value for precision, value in self.matmul.items()}
        figures = dict(speed=self.speed, memory_bandwidth=self.memory_bandwidth, memory=self.memory) | products
        for label, value in figures.items():
            if not _is_number(value) or not 0 < value <= LARGEST:
                raise FormatError(f"{label} of device {self.name!r} is {value!r:.80}; expected a finite number above 0")
        if not _is_number(self.overhead) or not 0 <= self.overhead <= LARGEST:
            raise FormatError(f"overhead of device {self.name!r} is {self.overhead!r:.80}; expected seconds, 0 or more")


@dataclass(frozen=True)
class Link:
    """Bandwidth [bytes/s] in one direction, latency [s] and source of one type of link."""

    name: str
    bandwidth: float
    latency: float
    source: str = ""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _gpu(
    name: str, source: str, teraflops: float, gigabytes_per_second: float, gigabytes: float, **matmul: float
) -> Spec:
    """A GPU by its figures in the units of data sheets: TFLOP/s, GB/s, GB."""
    products = {"float32": teraflops} | matmul
    return Spec(
        name,
        float(round(teraflops * 1e12)),
        {precision: float(round(value * 1e12)) for precision, value in products.items()},
        gigabytes_per_second * 1e9,
        gigabytes * 1e9,
        LAUNCH["gpu"],
        source,
    )


def _halves(value: float) -> dict[str, float]:
    return {"float16": value, "bfloat16": value}


def _tpu(name: str, source: str, vector: float, product: float, gigabytes_per_second: float, gibibytes: float) -> Spec:
    """A TPU chip; products of float32 matrices, too, are computed in bfloat16 by default."""
    matmul = {precision: product * 1e12 for precision in ("float32", "tf32", "bfloat16")}
    memory = gibibytes * 2.0**30
    return Spec(name, vector * 1e12, matmul, gigabytes_per_second * 1e9, memory, LAUNCH["tpu"], source)


def _cpu(name: str, source: str, gigaflops: float, gigabytes_per_second: float, gigabytes: float) -> Spec:
    speed = gigaflops * 1e9
    return Spec(name, speed, {"float32": speed}, gigabytes_per_second * 1e9, gigabytes * 1e9, LAUNCH["cpu"], source)


HOPPER = "NVIDIA H100 Tensor Core GPU Architecture, table of H100 SXM5 and A100"
DOMAIN = "Jouppi et al. (2020), A domain-specific supercomputer for training deep neural networks, CACM 63(7), table of chips"
AMD = "peak figures of the product page and data sheet, AMD Instinct"

GPUS = (
    _gpu("gtx1080ti", "NVIDIA GeForce GTX 1080 Ti product page; 3584 cores × 2 × 1.582 GHz", 11.3, 484, 11),
    _gpu(
        "rtx2080",
        "NVIDIA Turing GPU Architecture, appendix on TU104, reference card; 2944 cores × 2 × 1.71 GHz",
        10.1,
        448,
        8,
        float16=40.3,
    ),
    _gpu(
        "rtx2080ti",
        "NVIDIA Turing GPU Architecture, comparison with GTX 1080 Ti, reference card; 4352 cores × 2 × 1.545 GHz",
        13.4,
        616,
        11,
        float16=53.8,
    ),
    _gpu(
        "t4",
        "NVIDIA Turing GPU Architecture, appendix on T4 (its data sheet says 300 GB/s)",
        8.1,
        320,
        16,
        float16=65,
    ),
    _gpu("p100", "NVIDIA Tesla P100 (whitepaper), NVLink version", 10.6, 732, 16, float16=21.2),
    _gpu("v100", "NVIDIA Tesla V100 GPU Architecture, table 1, SXM2, 16 GB version", 15.7, 900, 16, float16=125),
    _gpu(
        "a100_40gb",
        "NVIDIA A100 Tensor Core GPU data sheet, SXM4 40 GB",
        19.5,
        1555,
        40,
        tf32=156,
        **_halves(312),
    ),
    _gpu(
        "a100_80gb",
        "NVIDIA A100 Tensor Core GPU data sheet, SXM4 80 GB",
        19.5,
        2039,
        80,
        tf32=156,
        **_halves(312),
    ),
    _gpu(
        "l4",
        "NVIDIA L4 Tensor Core GPU data sheet, halved where it counts sparsity",
        30.3,
        300,
        24,
        tf32=60,
        float8=242.5,
        **_halves(121),
    ),
    _gpu(
        "rtx3090",
        "NVIDIA Ampere GA102 GPU Architecture, table of RTX 3090, products with float32 sums",
        35.6,
        936,
        24,
        tf32=35.6,
        **_halves(71),
    ),
    _gpu(
        "rtx4090",
        "NVIDIA Ada GPU Architecture, table of RTX 4090, products with float32 sums",
        82.6,
        1008,
        24,
        tf32=82.6,
        **_halves(165.2),
    ),
    _gpu("h100", HOPPER + ", and data sheet, SXM", 66.9, 3350, 80, tf32=494.7, float8=1978.9, **_halves(989.4)),
    _gpu(
        "h200",
        "NVIDIA H200 Tensor Core GPU data sheet, SXM; arithmetic of the " + HOPPER,
        66.9,
        4800,
        141,
        tf32=494.7,
        float8=1978.9,
        **_halves(989.4),
    ),
    _gpu(
        "b200",
        "NVIDIA Blackwell Architecture Technical Brief, HGX B200, per GPU, halved where it counts sparsity",
        80,
        8000,
        180,
        tf32=1100,
        float8=4500,
        **_halves(2250),
    ),
    _gpu("mi250x", f"{AMD} MI250X, both dies together", 47.9, 3276.8, 128, float32=95.7, **_halves(383)),
    _gpu(
        "mi300x",
        f"{AMD} MI300X",
        163.4,
        5300,
        192,
        float32=163.4,
        tf32=653.7,
        float8=2614.9,
        **_halves(1307.4),
    ),
)
TPUS = (
    _tpu("tpu_v2", DOMAIN, 3, 46, 700, 16),
    _tpu("tpu_v3", f"{DOMAIN}; Cloud TPU documentation, TPU v3", 4, 123, 900, 32),
    _tpu(
        "tpu_v4",
        "Jouppi et al. (2023), TPU v4, ISCA: products and memory; vector 2 cores × 128 lanes × 16 × 1.05 GHz",
        4.3,
        275,
        1200,
        32,
    ),
)
CPUS = (
    _cpu(
        "xeon_8380",
        "Intel Xeon Platinum 8380: 40 cores × 64 FLOP (two AVX-512 units) × 2.3 GHz base; 8 × DDR4-3200; 256 GB: assumed",
        5888,
        204.8,
        256,
    ),
    _cpu(
        "xeon_8380_core",
        "Intel Xeon Platinum 8380, a 40th of the socket in everything",
        147.2,
        5.12,
        6.4,
    ),
    _cpu(
        "epyc_7763",
        "AMD EPYC 7763: 64 cores × 32 FLOP (two AVX2 units) × 2.45 GHz base; 8 × DDR4-3200; 256 GB assumed",
        5017.6,
        204.8,
        256,
    ),
)
DEVICES = (*GPUS, *TPUS, *CPUS)
SPECS: Mapping[str, Spec] = MappingProxyType({spec.name: spec for spec in DEVICES})
HARDWARE = {spec.name: kind for kind, group in (("gpu", GPUS), ("tpu", TPUS), ("cpu", CPUS)) for spec in group}

HOST = 10e-6  # latencies, assumed: a copy through PCIe
SWITCH = 5e-6  # through NVLink
NETWORK = 50e-6  # a message by TCP
VERBS = 5e-6  # a message by InfiniBand between GPUs' memories, assumed
PCIE = "PCI-SIG: 16 lanes, 128 of 130 bits"
CONNECTIONS = (
    Link("pcie3", 15.754e9, HOST, f"{PCIE}, 8 GT/s"),
    Link("pcie4", 31.508e9, HOST, f"{PCIE}, 16 GT/s"),
    Link("pcie5", 63.015e9, HOST, f"{PCIE}, 32 GT/s"),
    Link("nvlink1", 80e9, SWITCH, "NVIDIA Tesla P100 (whitepaper): 160 GB/s per GPU in both directions"),
    Link("nvlink2", 150e9, SWITCH, "NVIDIA Tesla V100 GPU Architecture: 300 GB/s per GPU in both directions"),
    Link("nvlink3", 300e9, SWITCH, "NVIDIA A100 data sheet: 600 GB/s per GPU in both directions"),
    Link("nvlink4", 450e9, SWITCH, "NVIDIA H100 data sheet: 900 GB/s per GPU in both directions"),
    Link(
        "nvlink5", 900e9, SWITCH, "NVIDIA Blackwell Architecture Technical Brief: 1.8 TB/s per GPU in both directions"
    ),
    Link("infiniband_edr", 12.5e9, VERBS, "InfiniBand Trade Association: 100 Gbit/s, 4 lanes"),
    Link("infiniband_hdr", 25e9, VERBS, "InfiniBand Trade Association: 200 Gbit/s, 4 lanes"),
    Link("infiniband_ndr", 50e9, VERBS, "InfiniBand Trade Association: 400 Gbit/s, 4 lanes"),
    Link("ethernet1", 0.125e9, NETWORK, "IEEE 802.3: 1 Gbit/s"),
    Link("ethernet10", 1.25e9, NETWORK, "IEEE 802.3: 10 Gbit/s"),
    Link("ethernet25", 3.125e9, NETWORK, "IEEE 802.3: 25 Gbit/s"),
    Link("ethernet100", 12.5e9, NETWORK, "IEEE 802.3: 100 Gbit/s"),
)
LINKS: Mapping[str, Link] = MappingProxyType({link.name: link for link in CONNECTIONS})


def specs() -> dict[str, Spec]:
    """Name → figures of every known device type.

    >>> specs()["h100"].memory
    80000000000.0
    """
    return {name: replace(spec) for name, spec in SPECS.items()}  # copies, so that callers may change them


def links() -> dict[str, Link]:
    """Name → bandwidth and latency of every type of link.

    >>> links()["nvlink4"].bandwidth
    450000000000.0
    """
    return dict(LINKS)


def spec_of(given: Any) -> Spec:
    """The Spec meant by a Spec, a name from the table, or a mapping of its arguments.

    >>> spec_of({"name": "mine", "speed": 1e12}).speed
    1000000000000.0
    """
    if isinstance(given, Spec):
        return given
    if isinstance(given, Mapping):
        try:
            return Spec(**given)
        except TypeError:
            keys = ", ".join(Spec.__dataclass_fields__)
            raise FormatError(
                f"device {dict(given)!r:.200} is not a Spec; expected name, speed and some of {keys}"
            ) from None
    return _named(given, SPECS, "device", "costs.specs()")


def link_of(given: Any) -> Link:
    """The Link meant by a Link or a name from the table."""
    return given if isinstance(given, Link) else _named(given, LINKS, "link", "costs.links()")


def _named(name: Any, table: Mapping[str, Any], what: str, listing: str) -> Any:
    if not isinstance(name, str) or name not in table:
        raise FormatError(f"no {what} is called {name!r:.80}; {listing} has {', '.join(table)}")
    return table[name]


def cluster(
    device: Any, n: int | None = None, *, link: Any = "pcie4", hosts: int = 1, network: Any = "ethernet100"
) -> Cluster:
    """`n` devices of one type on each of some hosts, or the devices of a list.

    Parameters
    ----------
    device
        Name of a device type, or a Spec: the devices' type, speed and memory. ``costs.estimate(graph, [device])`` makes its
        time column. A list has one for each device of a host.
    n
        Devices per host: 4, or as many as the list has.
    link, network
        Names of links, or Link objects, between devices of one host and of different hosts; one link per pair of devices.

    Returns
    -------
    Cluster
        Devices are called ``gpu:0`` …, with several hosts ``host1/gpu:0`` …; ``mine:0`` … for a custom Spec ``mine``; those of
        a list ``rtx4090:0``, ``t4:1`` ….

    Raises
    ------
    FormatError
        An unknown name; a list of another length than `n`, or an empty one.

    Examples
    --------
    >>> c = cluster("h100", 8, link="nvlink4")
    >>> c.names[1], c.types[1], float(c.speed[1]), float(c.bandwidth[0, 1])
    ('gpu:1', 'h100', 66900000000000.0, 450000000000.0)
    >>> cluster(["rtx4090", "t4"]).names
    ('rtx4090:0', 't4:1')
    """
    if isinstance(device, (list, tuple)):
        return _mixed([spec_of(each) for each in device], n, link, hosts, network)
    kind = spec_of(device)
    n = 4 if n is None else count(n, "n", most=MOST_DEVICES)
    inside = link_of(link)
    between = link_of(network)
    hosts = count(hosts, "number of hosts", most=MOST_DEVICES)
    made = Cluster.from_hosts(
        {f"host{i}": n for i in range(hosts)},
        speed=kind.speed,
        memory=kind.memory,
        inside=(inside.bandwidth, inside.latency),
        between=(between.bandwidth, between.latency),
        kind=_hardware(kind.name) or kind.name,
    )
    return made.replace(types=(kind.name,) * made.n_devices)


def _mixed(kinds: Sequence[Spec], n: int | None, link: Any, hosts: int, network: Any) -> Cluster:
    """Hosts with the same devices of several types."""
    if not kinds or n not in (None, len(kinds)):
        raise FormatError(
            f"the list has {len(kinds)} devices, and n is {n!r:.60}; leave n out, and name a device at least"
        )
    made = cluster(kinds[0], len(kinds), link=link, hosts=hosts, network=network)
    each = [kinds[d % len(kinds)] for d in range(made.n_devices)]
    paths = [name.rpartition("/") for name in made.names]
    return made.replace(
        speed=[kind.speed for kind in each],
        memory=[kind.memory for kind in each],
        types=[kind.name for kind in each],
        names=[f"{path}{slash}{each[d].name}:{d % len(kinds)}" for d, (path, slash, _) in enumerate(paths)],
    )


def hardware(cluster: Cluster) -> tuple[str, ...]:
    """Classify each device as ``"gpu"``, ``"tpu"`` or ``"cpu"`` by its type, else by its name; ``""`` if neither matches.

    >>> hardware(cluster("h100", 1)), hardware(cluster("xeon_8380", 1)), hardware(Cluster.uniform(1))
    (('gpu',), ('cpu',), ('',))
    """
    return tuple(_hardware(kind) or _hardware(name) for name, kind in zip(cluster.names, cluster.types, strict=True))


def _hardware(text: str) -> str:
    return HARDWARE.get(text) or next((kind for kind in LAUNCH if kind in text.lower()), "")


def chosen(given: Any) -> list[Spec]:
    """Specs meant by a name, a Spec, a mapping of its arguments, a mapping name → Spec, or a list mixing these."""
    if isinstance(given, (str, Spec)) or (isinstance(given, Mapping) and "speed" in given):
        given = [given]
    elif isinstance(given, Mapping):
        given = [{"name": name, **value} if isinstance(value, Mapping) else value for name, value in given.items()]
    if not isinstance(given, Iterable):
        raise FormatError(f"specs is {given!r:.80}; expected names of devices or Spec objects")
    found = [spec_of(device) for device in given]
    if len({spec.name for spec in found}) < len(found) or not found:
        raise FormatError("specs must name one device type at least, and each once")
    return found

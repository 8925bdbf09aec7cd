"""Read workloads of Tarnawski et al. 2020 (dnn-partitioning): JSON with latencies on an accelerator and on a CPU core.

An op is a node; its ``time`` columns are ``fpga`` (the format's word for any accelerator) and ``cpu``, its ``memory`` is the
node's ``size``, its ``kind`` is ``forward`` or ``backward``. Colour classes of two nodes or more are colocation groups. A node
that accelerators do not support runs only on ``cpu`` (anywhere if the cluster has none). Latencies and edge costs are
milliseconds. Sizes include a node's weights and activations: use the memory model ``reserved``.

An edge's cost is the time between an accelerator and the CPU's memory, which the published files computed from bytes at
2 GiB/s. It becomes the bytes that take as long on such a link; a node has one output tensor, as the format requires.
``metadata["cluster"]`` has the accelerators and cores that the file allows: 2 GiB/s between an accelerator and a core, half of
that between accelerators (through the CPU's memory), and almost no time between cores.

A backward node that shares its colour with one forward node is its gradient (``metadata["forward"]``). ``compute`` is the
time on an accelerator × 10¹³ operations/s, or the time on a core × 10¹² where no accelerator supports the node, so that
speeds can be changed.

References
----------
Tarnawski et al. (2020), *Efficient Algorithms for Device Placement of DNN Graph Operators*, NeurIPS;
https://github.com/msr-fiddle/dnn-partitioning
"""

from __future__ import annotations

from math import nan
from typing import Any

from placelab.base.errors import FormatError, is_name
from placelab.base.fields import cost, integer, nonempty, read_from, records, title
from placelab.base.files import json_of
from placelab.formats.building import build
from placelab.problem.graph import OpGraph

EXPECTED = "a workload of dnn-partitioning"
KEYS = ("maxSizePerFPGA", "maxFPGAs", "maxCPUs", "nodes", "edges")
MS = 1e-3
LINK = 2.0**31  # bytes/s between an accelerator and the CPU's memory
AT_HAND = 1e30  # bytes/s between cores, which share memory
SPEED = {"fpga": 1e13, "cpu": 1e12}  # operations/s; the layers of the published files take ten times as long on a core
MAX_DEVICES = 500  # of each type
LARGEST = 10**15  # id of a node


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a dnn-partitioning file, gzipped or not; `where` names it in messages."""
    return graph_of(json_of(data, where, EXPECTED), where)


def matches(document: Any) -> bool:
    """Whether parsed JSON has the fields of a workload."""
    return isinstance(document, dict) and all(key in document for key in KEYS)


def graph_of(document: Any, where: str) -> OpGraph:
    """The graph in parsed JSON; `where` names it in messages."""
    if not matches(document):
        raise FormatError(f"{where} is not {EXPECTED}: expected {', '.join(KEYS)} at the top")
    with read_from(where):
        return _graph(document, title(where, "workload"))


def _graph(document: dict[str, Any], name: str) -> OpGraph:
    nodes = nonempty(records(document["nodes"], "nodes"), "nodes")
    ids = [integer(node.get("id"), f"id of node {v}", 0, LARGEST) for v, node in enumerate(nodes)]
    number = {node: v for v, node in enumerate(ids)}
    if len(number) < len(ids):
        raise FormatError("two nodes have one id; ids must be unique")
    names = _names(nodes, ids)
    edges = records(document["edges"], "edges")
    pairs = [(_end(edge, "sourceId", number), _end(edge, "destId", number)) for edge in edges]
    supported = [_flag(node, "supportedOnFpga", name) for name, node in zip(names, nodes, strict=True)]
    backward = [_flag(node, "isBackwardNode", name) for name, node in zip(names, nodes, strict=True)]
    time = {"fpga": _column(nodes, names, "fpgaLatency", MS), "cpu": _column(nodes, names, "cpuLatency", MS)}
    compute = [
        SPEED["fpga"] * f if on else SPEED["cpu"] * c for f, c, on in zip(*time.values(), supported, strict=True)
    ]
    time["fpga"] = [seconds if on else nan for seconds, on in zip(time["fpga"], supported, strict=True)]
    colours = _colours(nodes)
    return build(
        names,
        compute,
        pairs,
        edge_bytes=[LINK * MS * cost(edge.get("cost"), f"cost of edge {e}") for e, edge in enumerate(edges)],
        edge_output=[0] * len(edges),
        memory=_column(nodes, names, "size"),
        time=time,
        time_speed=SPEED,
        time_default="fpga",
        kind=["backward" if late else "forward" for late in backward],
        groups=[members for members in colours if len(members) > 1],
        devices={v: ["cpu", "*"] for v, on in enumerate(supported) if not on},
        metadata={
            "name": name,
            "provenance": EXPECTED,
            "reference_speed": SPEED["fpga"],
            "forward": _forward(colours, backward, names),
            "cluster": _cluster(document),
        },
    )


def _names(nodes: list[dict[str, Any]], ids: list[int]) -> list[str]:
    """The nodes' names if they are all valid and unique, else their ids."""
    names = [str(node["name"]) for node in nodes if is_name(node.get("name"))]
    if len(set(names)) == len(nodes):
        return names
    return [f"node{i}" for i in ids]


def _column(nodes: list[dict[str, Any]], names: list[str], key: str, scale: float = 1.0) -> list[float]:
    return [scale * cost(node.get(key), f"{key} of {name!r:.80}") for name, node in zip(names, nodes, strict=True)]


def _end(edge: dict[str, Any], key: str, number: dict[int, int]) -> int:
    node = integer(edge.get(key), f"{key} of an edge", 0, LARGEST)
    if node not in number:
        raise FormatError(f"an edge has {key} {node}, which is not the id of a node")
    return number[node]


def _flag(node: dict[str, Any], key: str, name: str) -> bool:
    value = node.get(key)
    if value not in (0, 1) or isinstance(value, float):
        raise FormatError(f"{key} of {name!r:.80} is {value!r:.40}; expected true or false")
    return bool(value)


def _colours(nodes: list[dict[str, Any]]) -> list[list[int]]:
    """The nodes of each colour class."""
    classes: dict[int, list[int]] = {}
    for v, node in enumerate(nodes):
        if node.get("colorClass") is not None:
            colour = integer(node["colorClass"], f"colorClass of node {v}", -LARGEST, LARGEST)
            classes.setdefault(colour, []).append(v)
    return list(classes.values())


def _forward(colours: list[list[int]], backward: list[bool], names: list[str]) -> dict[str, str]:
    """Gradient → forward op, of each colour with one of both."""
    pairs = [sorted(members, key=backward.__getitem__) for members in colours if len(members) == 2]
    return {names[v]: names[u] for u, v in pairs if backward[v] and not backward[u]}


def _cluster(document: dict[str, Any]) -> dict[str, Any]:
    counts = {
        "fpga": integer(document["maxFPGAs"], "maxFPGAs", 0, MAX_DEVICES),
        "cpu": integer(document["maxCPUs"], "maxCPUs", 0, MAX_DEVICES),
    }
    types = [kind for kind, count in counts.items() for _ in range(count)]
    if not types:
        raise FormatError("maxFPGAs and maxCPUs are 0; expected a device")
    size = cost(document["maxSizePerFPGA"], "maxSizePerFPGA")
    link = {0: AT_HAND, 1: LINK, 2: LINK / 2}  # by the number of accelerators at its ends
    hops = [int(kind == "fpga") for kind in types]
    return {
        "speed": [SPEED[kind] for kind in types],
        "memory": [size if kind == "fpga" else None for kind in types],
        "bandwidth": [[link[a + b] for b in hops] for a in hops],
        "names": [f"{kind}:{i}" for kind, count in counts.items() for i in range(count)],
        "types": types,
    }

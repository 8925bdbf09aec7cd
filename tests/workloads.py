"""Reads published workloads that lie beside the project: those of Tarnawski et al. 2020 and PipeDream's profiles.

Readers for tests: they take what a schedule needs and trust the files.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np

import placelab as pl

MS = 1e-3
NODE = re.compile(r"(?P<id>\S+) -- .* -- forward_compute_time=(?P<ahead>\S+), backward_compute_time=(?P<back>\S+), "
                  r"activation_size=(?P<out>[^,]+), parameter_size=(?P<weights>[^ ,]+)")  # fmt: skip


def tarnawski(folder: Path) -> list[Path]:
    """The files of dnn-partitioning: inference and training, by layer and by operator."""
    return sorted(folder.glob("*-inputs/*/*.json"))


def pipedream(folder: Path) -> list[Path]:
    """The profiles of PipeDream; its graphs for tests of another program are left out."""
    return sorted(folder.glob("profiler/*/profiles/*/graph.txt"))


@cache
def tarnawski_problem(path: Path) -> pl.Problem:
    """A workload on the accelerators and CPU cores its file asks for, colour classes as groups, sizes as reserved memory.

    Times are taken for milliseconds. An edge's cost is the time between an accelerator and the CPU's memory: twice that
    between two accelerators, none between two cores. Bytes stand for milliseconds of such a transfer.
    """
    file = json.loads(path.read_text())
    nodes, number = file["nodes"], {node["id"]: v for v, node in enumerate(file["nodes"])}
    colours: dict[int, list[int]] = {}
    for v, node in enumerate(nodes):
        if node.get("colorClass") is not None:
            colours.setdefault(node["colorClass"], []).append(v)
    seconds = {kind: [MS * node[f"{kind}Latency"] for node in nodes] for kind in ("fpga", "cpu")}
    graph = pl.OpGraph.from_arrays(
        [f"node{node['id']}" for node in nodes],
        [np.nan] * len(nodes),
        [(number[edge["sourceId"]], number[edge["destId"]]) for edge in file["edges"]],
        edge_bytes=[edge["cost"] for edge in file["edges"]],
        edge_output=[0] * len(file["edges"]),  # "should be the same for all edges going out of the same node"
        memory=[node["size"] for node in nodes],
        time=seconds,
        kind=["backward" if node["isBackwardNode"] else "forward" for node in nodes],
        groups=[members for members in colours.values() if len(members) > 1],
        devices={v: ["cpu"] for v, node in enumerate(nodes) if not node["supportedOnFpga"]} or None,
    )
    return pl.Problem(graph, _accelerators_and_cores(file), memory="reserved")


def _accelerators_and_cores(file: dict) -> pl.Cluster:
    kinds = ["fpga"] * file["maxFPGAs"] + ["cpu"] * file["maxCPUs"]
    hops = np.add.outer(*[np.array([kind == "fpga" for kind in kinds], dtype=float)] * 2)
    with np.errstate(divide="ignore"):
        bandwidth = 1 / (MS * hops)
    memory = [file["maxSizePerFPGA"] if kind == "fpga" else None for kind in kinds]
    return pl.Cluster([1.0] * len(kinds), memory, bandwidth, types=kinds)


@cache
def pipedream_problem(path: Path, devices: int = 4, share: float = 2.0) -> pl.Problem:
    """A profile as a training step on equal GPUs: each layer's forward op, and its backward op in one group with it.

    The backward op needs the forward op's activations and the gradients from its successors, of the bytes of its own
    activations. Weights and activations are reserved memory; the devices have `share` times what the step needs, together.
    """
    lines = path.read_text().splitlines()
    layers = [NODE.match(line).groupdict() for line in lines if not line.startswith("\t")]
    number, n = {layer["id"]: v for v, layer in enumerate(layers)}, len(layers)
    pairs = [[number[name] for name in line.strip().split(" -- ")] for line in lines if line.startswith("\t")]
    activation = [sum(map(float, layer["out"].strip("[]").split(";"))) for layer in layers]
    weights = [float(layer["weights"]) for layer in layers]
    ahead, stored, back = pairs, [(v, n + v) for v in range(n)], [(n + v, n + u) for u, v in pairs]
    graph = pl.OpGraph.from_arrays(
        [f"{layer['id']}{suffix}" for suffix in ("", "/grad") for layer in layers],
        [MS * float(layer[way]) for way in ("ahead", "back") for layer in layers],
        [*ahead, *stored, *back],
        edge_bytes=[*(activation[u] for u, _ in [*ahead, *stored]), *(activation[u] for u, _ in pairs)],
        edge_output=[0] * (len(ahead) + n) + list(range(len(back))),  # one gradient per input
        memory=[w + a for w, a in zip(weights, activation, strict=True)] + activation,
        kind=["forward"] * n + ["backward"] * n,
        groups=[[v, n + v] for v in range(n)],
    )
    cluster = pl.clusters.uniform(devices).replace(speed=[1.0] * devices)
    return pl.Problem(graph, cluster.replace(memory=[share * graph.memory.sum() / devices] * devices), memory="reserved")

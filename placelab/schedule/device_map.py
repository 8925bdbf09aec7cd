"""Read a device map of modules, as Accelerate and transformers write it, as a placement.

::

    {"embed": 0, "layers.0": 0, "layers.1": "cuda:1", "head": "cpu"}

A module places all ops inside it; of several the longest name counts, and ``""`` is the whole model. Parts of names are
joined by dots in the map, by dots or slashes in the names of ops, of which a leading slash and ``gradients/`` are no parts:
gradients follow their module. A number, alone or after ``cuda:``, counts the devices that are no CPUs, in the cluster's
order; ``disk`` counts as the CPU, through which it is read. Ops of no module in the map run where their inputs are, as in
PyTorch, or, without inputs, where they are read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.problem.cluster import Cluster
from placelab.problem.hardware import hardware
from placelab.problem.problem import Problem

ACCELERATOR = re.compile(
    r"(?:(?:cuda|xpu|npu|mlu|musa|hpu|mps|tpu|xla):)?(\d{1,6})|(?:cuda|xpu|npu|mlu|musa|hpu|mps|tpu|xla)"
)
HOST = ("cpu", "disk")
BACKWARD = "gradients."


def is_one(problem: Problem, given: Mapping[str, Any]) -> bool:
    """Whether op or module → device is a device map: a device is called as in PyTorch, or a name is a module's with ops in it."""
    devices = set(problem.cluster.names)
    if any(
        isinstance(d, int) or (d not in devices and (d in HOST or ACCELERATOR.fullmatch(d))) for d in given.values()
    ):
        return True
    ops = set(problem.graph.names.tolist())
    modules = {prefix for name in ops for prefix in _around(_path(name))} if given.keys() - ops else set()
    return any(name not in ops and _path(name) in modules for name in given)


def placed(problem: Problem, given: Mapping[str, Any]) -> tuple[np.ndarray, tuple[str, ...]]:
    """The device of each op, and notes on what the map leaves open; FormatError if it has a device that the cluster lacks."""
    graph = problem.graph
    where = {_path(name): _device(problem.cluster, name, d) for name, d in given.items()}
    device = np.full(graph.n_ops, -1, dtype=np.int32)
    used = set[str]()
    for v, name in enumerate(graph.names.tolist()):
        module = next((prefix for prefix in _around(_path(name)) if prefix in where), None)
        if module is not None:
            device[v] = where[module]
            used.add(module)
    if not used:
        raise FormatError(f"no op of {graph.title} is in a module of the map, such as {next(iter(given), '')!r:.80}")
    open_ops = np.flatnonzero(device < 0)
    _follow(problem, device)
    notes = [f"{len(open_ops):,} ops are in no module of the map: they run where their inputs are"] * bool(
        len(open_ops)
    )
    unused = [name for name in given if _path(name) not in used]
    shown = ", ".join(repr(name)[:60] for name in unused[:3]) + ", …" * (len(unused) > 3)
    notes += [f"{len(unused):,} modules of the map have no op of their own: {shown}"] * bool(unused)
    return device, tuple(notes)


def _path(name: str) -> str:
    """A name with dots between its parts."""
    return name.lstrip("/").replace("/", ".").removeprefix(BACKWARD)


def _around(path: str) -> list[str]:
    """A path and what is around it, the longest first, "" last."""
    cuts = [i for i, mark in enumerate(path) if mark == "."]
    return [path, *(path[:i] for i in reversed(cuts)), *[""] * bool(path)]


def _device(cluster: Cluster, module: str, given: Any) -> int:
    if isinstance(given, str) and given in cluster.names:
        return cluster.names.index(given)
    on_cpu = [kind == "cpu" for kind in hardware(cluster)]
    found = ACCELERATOR.fullmatch(given) if isinstance(given, str) else None
    if given in HOST:
        devices = [d for d, cpu in enumerate(on_cpu) if cpu]
        number = 0
    elif found or (isinstance(given, int) and given >= 0):
        devices = [d for d, cpu in enumerate(on_cpu) if not cpu]
        number = int(found[1] or 0) if found else given
    else:
        raise FormatError(
            f"module {module!r:.80} is on {given!r:.60}; expected a number, cuda:N, cpu, disk or a device's name"
        )
    if number >= len(devices):
        kind = "CPUs" if given in HOST else "devices beside CPUs"
        raise FormatError(f"module {module!r:.80} is on {given!r:.60}; the cluster has {len(devices)} {kind}")
    return devices[number]


def _follow(problem: Problem, device: np.ndarray) -> None:
    """Place the ops that are left with another of their group, their first producer, or, where none is placed, a consumer."""
    graph = problem.graph
    inputs: list[list[int]] = [[] for _ in range(graph.n_ops)]
    readers: list[list[int]] = [[] for _ in range(graph.n_ops)]
    for u, v in graph.edges.tolist():
        inputs[v].append(u)
        readers[u].append(v)
    for near, order in (
        (inputs, range(graph.n_ops)),
        (readers, range(graph.n_ops - 1, -1, -1)),
        (inputs, range(graph.n_ops)),
    ):
        for v in order:
            if device[v] < 0:
                placed = [u for u in (*problem.members(v).tolist(), *near[v]) if device[u] >= 0]
                device[v] = device[placed[0]] if placed else -1
    if (device < 0).any():
        v = int(np.argmin(device))
        raise FormatError(
            f"op {graph.names[v]!r} is in no module of the map, and neither are its inputs nor its readers; add ''"
        )

"""Write a placement as a device map of PyTorch modules, in Accelerate's format.

A device map has a device for each listed module and all modules inside it; PyTorch then runs an op where its tensors are. So a
device map holds less than a placement: it cannot place the ops that a module runs beside its children, nor the backward pass,
which follows the forward pass.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from placelab.base.errors import FormatError, UnsupportedError, expect
from placelab.base.files import path_for, save
from placelab.problem.graph import OpGraph
from placelab.problem.hardware import hardware
from placelab.schedule.placement import Placement


@dataclass
class Module:
    """A module of the model: its children, and the devices of its own ops and parameters.

    Attributes
    ----------
    children
        Modules by the last part of their path.
    seconds
        Device → seconds of the module's own forward ops there.
    parameters
        Last part of the name of each own parameter or buffer → device.
    """

    children: dict[str, Module] = field(default_factory=dict)
    seconds: dict[int, float] = field(default_factory=dict)
    parameters: dict[str, int] = field(default_factory=dict)


def device_map(placement: Placement, *, devices: Mapping[str, int | str] | None = None) -> dict[str, int | str]:
    """Make a device map, module path → device, for Accelerate's ``dispatch_model``.

    Parameters
    ----------
    placement
        A placement of a graph from ``from_module`` or ``from_training``, whose op names are module paths.
    devices
        Device name → PyTorch's name. Default: ``"cpu"`` for CPUs by :func:`placelab.problem.hardware.hardware`, numbers from 0
        for all others, in the order of the cluster.

    Returns
    -------
    dict
        A module that is entirely on one device has one entry, its path; ``""`` is the whole model. Otherwise each of its
        children and its own parameters, by their names, have entries. Exactly one entry covers each parameter.

    Raises
    ------
    FormatError
        `devices` lacks a device.
    UnsupportedError
        A graph without PyTorch modules; a placement on several hosts.

    Warns
    -----
    UserWarning
        Modules without children whose ops or parameters are on several devices; each goes where it spends most time.

    Notes
    -----
    O(ops + parameters).
    """
    expect(placement, Placement, "device_map")
    check_modules(placement.problem.graph)
    root = _modules(placement)
    split = list[str]()
    entries = dict(_entries("", root, split))
    if split:
        shown = ", ".join(split[:5]) + (f" and {len(split) - 5} more" if len(split) > 5 else "")
        warnings.warn(f"the placement splits {shown}; each goes where it spends most time", UserWarning, stacklevel=2)
    names = _device_names(placement, devices)
    return {path: names[device] for path, device in entries.items()}


def write(placement: Placement, path: Any, *, devices: Mapping[str, int | str] | None = None) -> Path:
    """Write the device map as JSON; ``dispatch_model(model, json.load(file))`` takes it.

    Raises
    ------
    FormatError
        The file cannot be written; else as :func:`device_map`.
    """
    path = path_for(path, "a device map", "JSON", ".json")
    return save(json.dumps(device_map(placement, devices=devices), indent=1) + "\n", path)


def check_modules(graph: OpGraph) -> None:
    """UnsupportedError unless a graph's metadata have the parameters of PyTorch modules."""
    if "parameters" not in graph.metadata:
        raise UnsupportedError(
            f"{graph.title} has no PyTorch modules, which a device map places; write its placement instead, op by op"
        )


def _modules(placement: Placement) -> Module:
    """The tree of modules, from the names of forward ops and parameters."""
    graph = placement.problem.graph
    problem = placement.problem
    root = Module()
    for v, (name, kind) in enumerate(zip(graph.names.tolist(), graph.kind.tolist(), strict=True)):
        if kind == "input" or name.startswith("gradients/"):
            continue
        d = int(placement.device[v])
        seconds = _at(root, name.split("/")[:-1]).seconds
        seconds[d] = seconds.get(d, 0.0) + problem.exec_time(v, d)
    for name, holder in _parameters(graph).items():
        *path, own = name.split(".")
        module = _at(root, path)
        unread = max(module.seconds, key=module.seconds.__getitem__, default=int(placement.device[0]))
        module.parameters[own] = int(placement.device[graph.index(holder)]) if holder else unread
    return root


def _parameters(graph: OpGraph) -> dict[str, str]:
    given = graph.metadata["parameters"]
    if not isinstance(given, Mapping) or not all(isinstance(text, str) for pair in given.items() for text in pair):
        raise FormatError(
            f"metadata 'parameters' of {graph.title} is {given!r:.60}; expected parameter → op that holds it"
        )
    return dict(given)


def _at(root: Module, path: Iterable[str]) -> Module:
    for part in path:
        root = root.children.setdefault(part, Module())
    return root


def _entries(path: str, module: Module, split: list[str]) -> list[tuple[str, int]]:
    """Paths and devices of a module; one entry if it is entirely on one device."""
    if not module.children:
        return [(path, _majority(path, module, split))]
    below = [(f"{path}.{name}".lstrip("."), device) for name, device in module.parameters.items()]
    for name, child in module.children.items():
        below += _entries(f"{path}.{name}".lstrip("."), child, split)
    devices = {device for _, device in below}
    return [(path, devices.pop())] if len(devices) == 1 else below


def _majority(path: str, module: Module, split: list[str]) -> int:
    devices = module.seconds.keys() | set(module.parameters.values())
    if len(devices) > 1:
        split.append(repr(path))
    return max(sorted(devices), key=lambda device: module.seconds.get(device, 0.0))


def _device_names(placement: Placement, devices: Mapping[str, int | str] | None) -> list[int | str]:
    """PyTorch's name of each device of the cluster."""
    cluster = placement.problem.cluster
    hosts = list(dict.fromkeys(cluster.hosts[d] for d in placement.device.tolist()))
    if len(hosts) > 1:
        raise UnsupportedError(f"a device map is for one host; the placement is on {hosts[0]!r} and {hosts[1]!r}")
    if devices is not None:
        expect(devices, Mapping, "device_map")
        if missing := [name for name in cluster.names if name not in devices]:
            raise FormatError(
                f"devices does not say what PyTorch calls {missing[0]!r}; it needs an entry for every device"
            )
        return [devices[name] for name in cluster.names]
    on_cpu = [kind == "cpu" for kind in hardware(cluster)]
    return ["cpu" if cpu else d - sum(on_cpu[:d]) for d, cpu in enumerate(on_cpu)]

"""TensorFlow's device names: translated to devices of a cluster and back, and written into the user's own GraphDef.

TensorFlow's names are ``/job:worker/replica:0/task:1/device:GPU:0``, any part of which may be missing or ``*``, or, in short,
``/gpu:0``. An op's device name becomes the names and types of devices that it may run on:

========================================  =====================================================================
``/gpu:0``, also on job localhost         ``gpu:0``
``/device:GPU:*``                         ``gpu``, ``h100`` and all other types of GPUs in ``costs.specs()``
``/job:worker/task:1/device:GPU:0``       ``worker1/gpu:0``, and ``worker:1``; ``worker1`` if it has no id
``/job:ps``                               ``ps0``, ``ps:0``, and likewise for each task in the file
========================================  =====================================================================

and always the name itself and ``*``: the op may run anywhere on a cluster that has none of these devices, as in TensorFlow
with ``allow_soft_placement``.

A placement is written into the ``device`` fields of a copy of the file. All other bytes stay the same: fields are replaced in
place, nothing is parsed and serialized again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from placelab.base.errors import FormatError, UnsupportedError, expect
from placelab.base.files import path_of, read_file, save, text_of, unzipped
from placelab.formats.protobuf import BYTES, fields, tagged
from placelab.formats.tensorflow.containers import NODE, STRING, Block, blocks, is_saved_model, is_text
from placelab.problem.cluster import Cluster
from placelab.problem.hardware import HARDWARE, hardware
from placelab.schedule.placement import Placement

ANY = "*"
LOCAL = {"", "localhost"}
PART = re.compile(
    r"(?:(job|replica|task):([^/:]+)|device:([^/:]+)(?::(\d+|\*))?|([cgt]pu)(?::(\d+|\*))?)", re.IGNORECASE
)
ENDING = re.compile(r"(.*?\D)(\d+)\Z")
JOB = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class DeviceName(NamedTuple):
    """A full or partial name; parts that it leaves open are ""."""

    job: str = ""
    task: str = ""
    kind: str = ""  # in lower case
    id: str = ""

    def covers(self, other: DeviceName) -> bool:
        """Whether all parts of this name that are not open agree with the other one."""
        return all(a in ("", b) for a, b in zip(self, other, strict=True))


def device_name(text: str) -> DeviceName | None:
    """Parse a TensorFlow device name; None if it is not one.

    >>> device_name("/job:worker/replica:0/task:1/device:GPU:0")
    DeviceName(job='worker', task='1', kind='gpu', id='0')
    >>> device_name("/gpu:*")
    DeviceName(job='', task='', kind='gpu', id='')
    """
    parts: dict[str, str] = {}
    for part in text.strip("/").split("/"):
        found = PART.fullmatch(part)
        if found is None:
            return None
        label, value, kind, number, short, short_number = found.groups()
        parts |= (
            {label.lower(): value} if label else {"kind": (kind or short).lower(), "id": number or short_number or ""}
        )
    parts.pop("replica", None)
    return DeviceName(**{label: "" if value == ANY else value for label, value in parts.items()})


def allowed(texts: Sequence[str], devices: Any = True) -> dict[str, tuple[str, ...]]:
    """Devices of a cluster that each TensorFlow device name of a file allows; names that allow all are left out.

    Parameters
    ----------
    texts
        Distinct ``device`` fields of the file.
    devices
        True: translate names by this module's table. False: do not restrict any. A mapping from TensorFlow names, full or
        partial, to devices of a cluster (names, types, hosts): the first match counts, other names allow all devices.
    """
    if devices is False:
        return {}
    if isinstance(devices, Mapping):
        return _mapped(texts, devices)
    if devices is not True:
        raise UnsupportedError(
            f"devices is {devices!r:.80}; expected True, False or a mapping from TensorFlow's device names"
        )
    names = {text: device_name(text) for text in texts if text}
    tasks: dict[str, dict[str, None]] = {}
    for name in names.values():
        if name and name.job:
            tasks.setdefault(name.job, {}).setdefault(name.task or "0")
    found = {text: _texts(text, name, tasks) for text, name in names.items()}
    return {text: called for text, called in found.items() if called}


def _texts(text: str, name: DeviceName | None, tasks: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    if name is None:
        return (text, ANY)
    where = [] if name.job in LOCAL else [(name.job, task) for task in ([name.task] if name.task else tasks[name.job])]
    device = f"{name.kind}:{name.id}" if name.id else name.kind
    if not where:
        types = () if name.id else tuple(kind for kind, group in HARDWARE.items() if group == device)
        return (text, device, *types, ANY) if device else ()
    on_task = f"/{device}" if name.id else ""
    return (text, *(f"{job}{task}{on_task}" for job, task in where), *(f"{job}:{task}" for job, task in where), ANY)


def _mapped(texts: Iterable[str], devices: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Allowed devices by a user's mapping."""
    keys = {}
    for key, given in devices.items():
        name = device_name(key) if isinstance(key, str) else None
        values = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, (list, tuple)) else ()
        if name is None or not values or not all(isinstance(value, str) for value in values):
            raise UnsupportedError(
                f"devices maps {key!r:.80} to {given!r:.80}; expected a TensorFlow name and devices of a cluster"
            )
        keys[name] = values
    found = {}
    for text in texts:
        name = device_name(text) if text else None
        fitting = next((values for key, values in keys.items() if name and key.covers(name)), None)
        if fitting:
            found[text] = fitting
    return found


# -------------------------------------------------------------------- from a cluster to TensorFlow's names


def tensorflow_names(cluster: Cluster, devices: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """TensorFlow's name of each device of a cluster.

    :func:`placelab.problem.hardware.hardware` classifies devices; those it does not classify are CPUs. Devices are numbered
    from 0 on each host. In a cluster of several hosts, their names give jobs and tasks: ``worker1`` is task 1 of job worker.
    `devices`, device name → TensorFlow's name, takes precedence.

    >>> from placelab import clusters
    >>> tensorflow_names(clusters.uniform(2))
    ('/device:CPU:0', '/device:CPU:1')
    >>> tensorflow_names(clusters.h100_box(2))
    ('/device:GPU:0', '/device:GPU:1')
    >>> tensorflow_names(clusters.two_nodes(1))
    ('/job:node/task:0/device:GPU:0', '/job:node/task:1/device:GPU:0')
    """
    given = _given(cluster, devices)
    host = _hosts(cluster)
    count: dict[tuple[str, str], int] = {}
    found = []
    for name, hardware_kind, place in zip(cluster.names, hardware(cluster), cluster.hosts, strict=True):
        kind = hardware_kind.upper() or "CPU"
        number = count[place, kind] = count.get((place, kind), -1) + 1
        plain = name if name.startswith("/") and device_name(name) else f"{host[place]}/device:{kind}:{number}"
        found.append(given.get(name, plain))
    return tuple(found)


def _given(cluster: Cluster, devices: Mapping[str, str] | None) -> Mapping[str, str]:
    if devices is not None and not isinstance(devices, Mapping):
        raise FormatError(f"devices is {devices!r:.80}; expected a mapping, device of the cluster → TensorFlow's name")
    for name, text in (devices or {}).items():
        cluster.index(name)
        if not isinstance(text, str) or device_name(text) is None:
            raise FormatError(
                f"device {name!r} is to be {text!r:.80}; expected a TensorFlow name such as /device:GPU:0"
            )
    return devices or {}


def _hosts(cluster: Cluster) -> dict[str, str]:
    """``/job:…/task:…`` of each host; "" if there is only one."""
    hosts = list(dict.fromkeys(cluster.hosts))
    if len(hosts) == 1:
        return {hosts[0]: ""}
    parts = {host: part for host in hosts if (part := ENDING.fullmatch(host)) and JOB.fullmatch(part[1])}
    if len(parts) == len(hosts):
        return {host: f"/job:{part[1]}/task:{int(part[2])}" for host, part in parts.items()}
    return {host: f"/job:worker/task:{i}" for i, host in enumerate(hosts)}


# -------------------------------------------------------------------- the device fields of a file

# Fields of NodeDef
NAME = 1
DEVICE = 4
EXPECTED = "a TensorFlow GraphDef"
NAME_OR_DEVICE = re.compile(rf"\b(name|device)\s*:\s*({STRING})|{STRING}|#[^\n]*")


def write(graph_file: Any, placement: Placement, out: Any, *, devices: Mapping[str, str] | None = None) -> Path:
    """Write a copy of a GraphDef file whose ``device`` fields follow a placement.

    Parameters
    ----------
    graph_file
        The ``.pb`` or ``.pbtxt`` file that the placed graph was read from, gzipped or not. Ops that are not in the placement
        keep their device; placed ops that are not in the file (fused, or in functions) are ignored.
    placement
        Device of each op.
    out
        File to write, atomically: text if `graph_file` is text, gzipped if the name ends in ``.gz``.
    devices
        Device of the cluster → TensorFlow's name, such as ``{"dev0": "/job:worker/task:0/device:GPU:0"}``. Default:
        :func:`placelab.formats.tensorflow.devices.tensorflow_names`, ``/device:GPU:0`` for the first device of type ``gpu``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FormatError
        Not a GraphDef, or none of its ops is in the placement.
    UnsupportedError
        A SavedModel, or text that is to be written as binary or vice versa.

    Notes
    -----
    TensorFlow accepts the placement with ``allow_soft_placement=False`` if every op has a kernel for its device: placements
    respect the graph's colocation groups, which TensorFlow requires. O(size of the file).
    """
    expect(placement, Placement, "writing a TensorFlow graph")
    out = path_of(out)
    where = str(graph_file)
    called = tensorflow_names(placement.problem.cluster, devices)
    places = {name: called[d] for name, d in zip(placement.problem.graph.names, placement.device, strict=True)}
    data = unzipped(read_file(graph_file, EXPECTED), where)
    _check(data, where, out)
    placed = _text(text_of(data, where, EXPECTED), places, where) if is_text(data) else _binary(data, places, where)
    return save(placed, out)


def _check(data: bytes, where: str, out: Path) -> None:
    if is_saved_model(data):
        raise UnsupportedError(f"{where} is a SavedModel; devices can be written into GraphDef files (.pb, .pbtxt)")
    wants_text = ".pbtxt" in out.suffixes
    if is_text(data) != wants_text:
        found, wanted = ("text", ".pbtxt") if is_text(data) else ("binary", ".pb")
        raise UnsupportedError(f"{where} is {found}, so {out.name} must end in {wanted}, or {wanted}.gz")


def _binary(data: bytes, places: Mapping[str, str], where: str) -> bytes:
    parts = []
    placed = 0
    for number, wire, start, value, end in fields(data, where):
        node = _node(data, value, end, places, where) if (number, wire) == (NODE, BYTES) else None
        parts.append(data[start:end] if node is None else tagged(NODE, node))
        placed += node is not None
    _check_any(placed, places, where)
    return b"".join(parts)


def _node(data: bytes, start: int, end: int, places: Mapping[str, str], where: str) -> bytes | None:
    """A node with its new device; None if it is not placed."""
    name = ""
    kept = []
    for number, _, begin, value, stop in fields(data, where, start, end):
        if number == NAME:
            name = data[value:stop].decode(errors="replace")
        if number != DEVICE:
            kept.append((number, data[begin:stop]))
    if name not in places:
        return None
    before = b"".join(raw for number, raw in kept if number < DEVICE)
    return before + tagged(DEVICE, places[name].encode()) + b"".join(raw for number, raw in kept if number > DEVICE)


def _text(text: str, places: Mapping[str, str], where: str) -> bytes:
    parts = []
    past = 0
    placed = 0
    for block in blocks(text, where):
        if block.name != "node":
            continue
        found = dict(_name_and_device(text, block, where))
        device = places.get(_name(found))
        if device is None:
            continue
        start, end, head = _span(text, found)
        parts += [text[past:start], head, f'device: "{device}"']
        past = end
        placed = placed + 1
    _check_any(placed, places, where)
    return "".join([*parts, text[past:]]).encode()


def _name_and_device(text: str, block: Block, where: str) -> Iterator[tuple[str, re.Match]]:
    """Matches of the node's own name and device, those in nested blocks excluded."""
    start = block.start
    for inner in [*blocks(text, where, block.start, block.end), Block("", block.end, block.end)]:
        yield from ((found[1], found) for found in NAME_OR_DEVICE.finditer(text, start, inner.start) if found[1])
        start = inner.end


def _name(found: Mapping[str, re.Match]) -> str:
    """A node's name, without unescaping: TensorFlow's op names have no characters that are escaped."""
    return found["name"][2][1:-1] if "name" in found else ""


def _span(text: str, found: Mapping[str, re.Match]) -> tuple[int, int, str]:
    """Start and end of the text that the new device replaces, and the white space before it."""
    if "device" in found:
        return *found["device"].span(), ""
    name = found["name"]
    line = text.rfind("\n", 0, name.start()) + 1
    indent = text[line : name.start()]
    return name.end(), name.end(), f"\n{indent}" if indent.isspace() else " "


def _check_any(placed: int, places: Mapping[str, str], where: str) -> None:
    if not placed:
        example = next(iter(places), "")
        raise FormatError(
            f"none of the placed ops, such as {example!r:.200}, is in {where}; expected the file they came from"
        )

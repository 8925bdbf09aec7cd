"""Translate TensorFlow's device names to devices of a cluster, and back.

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
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from placelab.base.errors import FormatError, UnsupportedError
from placelab.problem.cluster import Cluster
from placelab.problem.hardware import HARDWARE, hardware

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

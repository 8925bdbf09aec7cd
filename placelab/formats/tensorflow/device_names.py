"""Which devices does a TensorFlow device name mean here, and what is a device of a cluster called there?

TensorFlow's names are ``/job:worker/replica:0/task:1/device:GPU:0``, each part of which may be missing or ``*``, and, shorter,
``/gpu:0``. An op's name becomes the texts by which a cluster may know such a device:

========================================  =====================================================================
``/gpu:0``, also on job localhost         ``gpu:0``
``/device:GPU:*``                         ``gpu``, ``h100`` and all other types of GPUs that ``costs.specs`` has
``/job:worker/task:1/device:GPU:0``       ``worker1/gpu:0``, and ``worker:1``, ``worker1`` when it names no id
``/job:ps``                               ``ps0``, ``ps:0``, and so on for each task that the file names
========================================  =====================================================================

and always the name itself and ``*``: a cluster that has none of these devices lets the op run anywhere, as TensorFlow does with
``allow_soft_placement``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from placelab.errors import FormatError, UnsupportedError
from placelab.hardware import HARDWARE, hardware
from placelab.problem.cluster import Cluster

ANY = "*"
LOCAL = {"", "localhost"}
PART = re.compile(
    r"(?:(job|replica|task):([^/:]+)|device:([^/:]+)(?::(\d+|\*))?|([cgt]pu)(?::(\d+|\*))?)", re.IGNORECASE
)
ENDING = re.compile(r"(.*?\D)(\d+)\Z")


class DeviceName(NamedTuple):
    """A full or partial name; "" for what it leaves open."""

    job: str = ""
    task: str = ""
    kind: str = ""  # in small letters
    id: str = ""

    def covers(self, other: DeviceName) -> bool:
        """Whether everything that this name says, the other one says, too."""
        return all(a in ("", b) for a, b in zip(self, other, strict=True))


def device_name(text: str) -> DeviceName | None:
    """A TensorFlow device name in its parts; None when it is none.

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
    """What each TensorFlow device name of a file allows on a cluster; names that allow everything are absent.

    Parameters
    ----------
    texts
        Distinct ``device`` fields of the file.
    devices
        True: as this file's table says; False: nothing is restricted; a mapping from TensorFlow names, full or partial, to
        devices of a cluster (names, types, hosts): the first one that fits counts, other names allow everything.
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
        types = () if name.id else tuple(kind for kind, sort in HARDWARE.items() if sort == device)
        return (text, device, *types, ANY) if device else ()
    if name.id:
        called = [f"{job}{task}/{device}" for job, task in where]
    else:
        called = [f"{job}{task}" for job, task in where]
    return (text, *called, *(f"{job}:{task}" for job, task in where), ANY)


def _mapped(texts: Iterable[str], devices: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Allowed devices by a user's mapping."""
    keys = {}
    for key, several in devices.items():
        name = device_name(key) if isinstance(key, str) else None
        values = (
            (several,) if isinstance(several, str) else tuple(several) if isinstance(several, (list, tuple)) else ()
        )
        if name is None or not values or not all(isinstance(value, str) for value in values):
            raise UnsupportedError(
                f"devices maps {key!r:.80} to {several!r:.80}; expected a TensorFlow name and devices of a cluster"
            )
        keys[name] = values
    found = {}
    for text in texts:
        name = device_name(text) if text else None
        fitting = next((values for key, values in keys.items() if name and key.covers(name)), None)
        if fitting:
            found[text] = fitting
    return found


# -------------------------------------------------------------------- a cluster's devices as TensorFlow calls them


def tensorflow_names(cluster: Cluster, devices: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """What TensorFlow calls each device of a cluster.

    GPUs and TPUs are what :func:`placelab.costs.specs.hardware` takes for them, all others are CPUs, counted from 0 on each
    host; a cluster of several hosts has jobs and tasks by the hosts' names: ``worker1`` is task 1 of job worker. `devices`,
    device name → TensorFlow's name, goes before that.

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
    for name, sort, place in zip(cluster.names, hardware(cluster), cluster.hosts, strict=True):
        kind = sort.upper() or "CPU"
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
    """``/job:…/task:…`` of each host; nothing where there is only one."""
    hosts = list(dict.fromkeys(cluster.hosts))
    if len(hosts) == 1:
        return {hosts[0]: ""}
    parts = [ENDING.fullmatch(host) for host in hosts]
    if all(part and re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", part[1]) for part in parts):
        return {host: f"/job:{part[1]}/task:{int(part[2])}" for host, part in zip(hosts, parts, strict=True)}
    return {host: f"/job:worker/task:{i}" for i, host in enumerate(hosts)}

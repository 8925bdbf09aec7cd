"""A cluster: devices on hosts, a link from each device to each other, and links that several pairs of devices share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, count, is_name, poses_as_number
from placelab.base.index_arrays import floats, frozen
from placelab.base.units import PLAIN, SI, Units, bundle

LEAST = (
    1e6  # operations/s of a device, bytes/s of a link or bytes of a memory, of which one in SI units has at least one
)
MOST_DEVICES = 10_000  # of a cluster: its matrices grow with the square


@dataclass(frozen=True, eq=False, init=False)
class Cluster:
    """Devices and the links between them, SI units.

    Parameters
    ----------
    speed
        Operations per second, one per device.
    memory
        Bytes, scalar or one per device; None is unlimited.
    bandwidth
        Bytes per second, scalar or a matrix; ``bandwidth[i, j]`` is the link from device i to j, the diagonal is ignored.
    latency
        Seconds, scalar or a matrix.
    names, types, hosts
        One text per device: unique names (default ``dev0``…), device types (default ``device``), hosts (default ``host0``).
    links
        Links that several pairs of devices share, ``{name: (bytes per second, [(from, to), …])}``; an end is a device, all
        devices of a type or on a host, by number or name, or ``"*"``. Kept as
        :class:`placelab.problem.cluster.SharedLink`. Only ``Problem(transfers="fair")`` knows them.

    Raises
    ------
    FormatError
        Sizes that do not match, more than 10,000 devices, a speed, memory or bandwidth that is not positive, a negative latency,
        two equal names, a link without a pair.

    Examples
    --------
    >>> Cluster(speed=[1.0, 2.0], bandwidth=8.0).names
    ('dev0', 'dev1')
    >>> Cluster([1.0] * 3, bandwidth=8.0, links={"card of dev0": (8.0, [("dev0", "*")])}).links[0].pairs
    ((0, 1), (0, 2))
    """

    speed: np.ndarray
    memory: np.ndarray
    bandwidth: np.ndarray
    latency: np.ndarray
    names: tuple[str, ...]
    types: tuple[str, ...]
    hosts: tuple[str, ...]
    links: tuple[SharedLink, ...]

    def __init__(
        self,
        speed: Any,
        *,
        memory: Any = None,
        bandwidth: Any = 1.0,
        latency: Any = 0.0,
        names: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        hosts: Sequence[str] | None = None,
        links: Any = None,
    ) -> None:
        speed = np.atleast_1d(_numbers(speed, "speed"))
        k = len(speed)
        if speed.ndim != 1 or k == 0:
            raise FormatError(f"speed has shape {speed.shape}; expected one number per device, at least one")
        count(k, "number of devices", most=MOST_DEVICES)
        names = _texts(names, "names", tuple(f"dev{i}" for i in range(k)))
        columns = dict(
            speed=speed,
            memory=_memory(memory, k),
            bandwidth=_matrix(bandwidth, k, "bandwidth", diagonal=np.inf),
            latency=_matrix(latency, k, "latency", diagonal=0.0),
            names=names,
            types=_texts(types, "types", ("device",) * k),
            hosts=_texts(hosts, "hosts", ("host0",) * k),
        )
        _check(columns, k)
        for label, value in columns.items():
            object.__setattr__(self, label, frozen(value) if isinstance(value, np.ndarray) else value)
        object.__setattr__(self, "links", shared_links(links, self._ends))

    @classmethod
    def uniform(
        cls,
        n: int,
        *,
        speed: float = 1e13,
        memory: float | None = None,
        bandwidth: float = 12e9,
        latency: float = 50e-6,
    ) -> Cluster:
        """`n` equal devices on one host, each pair joined by its own link."""
        speeds = [speed] * count(n, "number of devices", most=MOST_DEVICES)
        return cls(speeds, memory=memory, bandwidth=bandwidth, latency=latency)

    @classmethod
    def from_hosts(
        cls,
        hosts: Mapping[str, int],
        *,
        speed: Any = 1e13,
        memory: Any = None,
        inside: tuple[float, float] = (12e9, 10e-6),
        between: tuple[float, float] = (1.25e9, 50e-6),
        kind: str = "gpu",
    ) -> Cluster:
        """Hosts with the given numbers of devices; `inside` and `between` are (bandwidth, latency) within a host and across.

        >>> Cluster.from_hosts({"a": 2, "b": 1}).names
        ('a/gpu:0', 'a/gpu:1', 'b/gpu:0')
        """
        if not isinstance(hosts, Mapping):
            raise FormatError(f"hosts is {hosts!r}; expected names and numbers of devices, like {{'host0': 4}}")
        local = _link(inside, "inside")
        remote = _link(between, "between")
        here = {name: _devices_of(name, n) for name, n in hosts.items()}
        count(max(1, sum(here.values())), "number of devices", most=MOST_DEVICES)
        host = [name for name, n in here.items() for _ in range(n)]
        names = [
            f"{name}/{kind}:{i}" if len(hosts) > 1 else f"{kind}:{i}" for name, n in hosts.items() for i in range(n)
        ]
        same = np.array(host)[:, None] == np.array(host)[None, :]
        speeds = np.broadcast_to(_numbers(speed, "speed"), (len(host),)) if np.ndim(speed) == 0 else speed
        return cls(
            speeds,
            memory=memory,
            bandwidth=np.where(same, local[0], remote[0]),
            latency=np.where(same, local[1], remote[1]),
            names=names,
            types=[kind] * len(host),
            hosts=host,
        )

    @property
    def n_devices(self) -> int:
        """Number of devices."""
        return len(self.names)

    @cached_property
    def narrowest(self) -> np.ndarray:
        """Bytes per second of the narrowest link on the way between devices, shared ones included, shape (k, k)."""
        narrowest = self.bandwidth.copy()
        for link in self.links:
            here = tuple(np.array(link.pairs).T)
            narrowest[here] = np.minimum(narrowest[here], link.bandwidth)
        return frozen(narrowest)

    @cached_property
    def units(self) -> Units:
        """How quantities on this cluster are written: without units where no speed, bandwidth or memory reaches 10⁶.

        A cluster none of whose devices computes a million operations in a second, none of whose links carries a million bytes in
        a second, and none of whose memories holds a million bytes is no machine: its speeds, times and sizes are plain numbers,
        as most papers on scheduling have them. What is unlimited says nothing.

        >>> Cluster([1.0, 2.0]).units.time(80.0), Cluster([1e12]).units.time(80.0)
        ('80', '80 s')
        """
        known = np.concatenate([self.speed, self.bandwidth.ravel(), self.memory])
        return SI if known.max(where=np.isfinite(known), initial=0) >= LEAST else PLAIN

    def index(self, name: str | int | np.integer) -> int:
        """Number of the device called `name` (a number is returned as it is); FormatError when there is none."""
        if isinstance(name, (int, np.integer)) and not poses_as_number(name) and 0 <= name < self.n_devices:
            return int(name)
        if not isinstance(name, str) or name not in self.names:
            known = ", ".join(self.names[:8]) + (", …" if self.n_devices > 8 else "")
            raise FormatError(f"no device is called {name!r}; the cluster has {known}")
        return self.names.index(name)

    def matching(self, name: str) -> np.ndarray:
        """Numbers of the devices that have this name or type or are on this host; FormatError when there is none."""
        if name in self.names:
            return np.array([self.names.index(name)])
        found = np.flatnonzero([name in (kind, host) for kind, host in zip(self.types, self.hosts, strict=True)])
        if not len(found):
            raise FormatError(
                f"no device has the name, type or host {name!r}; the cluster has the types {', '.join(sorted(set(self.types)))} "
                f"and the devices {', '.join(self.names[:8])}{', …' if self.n_devices > 8 else ''}"
            )
        return found

    def _ends(self, name: Any) -> Iterable[int]:
        """Numbers of the devices that an end of a shared link stands for."""
        if isinstance(name, str):
            return range(self.n_devices) if name == "*" else self.matching(name).tolist()
        return [self.index(name)]

    def replace(self, **changes: Any) -> Cluster:
        """A cluster with some of the constructor's arguments changed; sizes must still match."""
        unknown = set(changes) - set(self.__dataclass_fields__)
        if unknown:
            raise FormatError(
                f"a cluster has no {', '.join(sorted(unknown))}; known are {', '.join(self.__dataclass_fields__)}"
            )
        return Cluster(**{**{label: getattr(self, label) for label in self.__dataclass_fields__}, **changes})

    def __repr__(self) -> str:
        return f"Cluster({self.n_devices} devices on {len(set(self.hosts))} hosts)"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return bundle(self)


def _numbers(value: Any, label: str) -> np.ndarray:
    try:
        return floats(value)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"{label} is {value!r:.80}; expected numbers") from None


def _devices_of(host: str, n: Any) -> int:
    return count(n, f"number of devices of host {host!r}", most=MOST_DEVICES)


def _texts(value: Any, label: str, default: tuple[str, ...]) -> tuple[Any, ...]:
    if value is None:
        return default
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise FormatError(f"{label} is {value!r:.80}; expected a list of texts, one per device")
    return tuple(value)


def _link(value: Any, label: str) -> np.ndarray:
    pair = _numbers(value, label)
    if pair.shape != (2,):
        raise FormatError(f"{label} is {value!r}; expected (bandwidth [bytes/s], latency [s])")
    return pair


def _memory(memory: Any, k: int) -> np.ndarray:
    if memory is None:
        return np.full(k, np.inf)
    if isinstance(memory, (list, tuple)) or getattr(memory, "ndim", 0) == 1:
        memory = [np.inf if m is None else m for m in memory]
    column = _numbers(memory, "memory")
    if column.ndim > 1:
        raise FormatError(f"memory has shape {column.shape}; expected one number or one per device")
    return np.full(k, column) if column.ndim == 0 else column.copy()


def _matrix(value: Any, k: int, label: str, diagonal: float) -> np.ndarray:
    matrix = _numbers(value, label)
    matrix = np.full((k, k), matrix) if matrix.ndim == 0 else matrix.copy()
    if matrix.shape != (k, k):
        raise FormatError(f"{label} has shape {matrix.shape}; expected one number or a {k} × {k} matrix")
    np.fill_diagonal(matrix, diagonal)
    return matrix


def _check(columns: dict[str, Any], k: int) -> None:
    names = columns["names"]
    for label in ("memory", "names", "types", "hosts"):
        if len(columns[label]) != k:
            raise FormatError(f"there are {k} speeds but {len(columns[label])} {label}; give one per device")
    for name in (*names, *columns["types"], *columns["hosts"]):
        if not is_name(name):
            raise FormatError(f"{name!r} is not a device, type or host name: expected non-empty text on one line")
    if len(set(names)) < k:
        raise FormatError(
            f"two devices are called {next(n for n in names if names.count(n) > 1)!r}; device names must be unique"
        )
    for label, unit in (("speed", "operations/s"), ("memory", "bytes")):
        bad = np.flatnonzero(~(columns[label] > 0) | (np.isinf(columns[label]) & (label == "speed")))
        if len(bad):
            raise FormatError(
                f"{label} of device {names[bad[0]]!r} is {columns[label][bad[0]]:g} {unit}; expected more than 0"
            )
    for label, unit, least in (("bandwidth", "bytes/s", "more than 0"), ("latency", "s", "a finite number, 0 or more")):
        matrix = columns[label]
        good = matrix > 0 if label == "bandwidth" else (matrix >= 0) & ~np.isinf(matrix)
        if not good.all():
            i, j = np.argwhere(~good)[0]
            raise FormatError(f"{label} from {names[i]!r} to {names[j]!r} is {matrix[i, j]:g} {unit}; expected {least}")


# -------------------------------------------------------------------- links that several pairs of devices share

MOST_PAIRS = 1_000_000  # of all links of a cluster
MOST_BANDWIDTH = 1e300
End = int | str | np.integer


@dataclass(frozen=True)
class SharedLink:
    """A named link that the transfers between several pairs of devices share; models other than ``fair`` do not know it.

    Attributes
    ----------
    name : str
        Unique in its cluster.
    bandwidth : float
        Bytes per second, of all transfers together.
    pairs : tuple of (source, destination)
        Numbers of the devices, in ascending order.
    """

    name: str
    bandwidth: float
    pairs: tuple[tuple[int, int], ...]


def shared_links(given: Any, matching: Callable[[Any], Iterable[int]]) -> tuple[SharedLink, ...]:
    """The links of a cluster; FormatError if they are malformed.

    Parameters
    ----------
    given
        ``{name: (bandwidth, pairs)}``, also as read from JSON; links; or None.
    matching
        Numbers of the devices that one end of a pair stands for.
    """
    if given is None:
        return ()
    if isinstance(given, Mapping):
        named = list(given.items())
    elif isinstance(given, (list, tuple)) and all(isinstance(link, SharedLink) for link in given):
        named = [(link.name, (link.bandwidth, link.pairs)) for link in given]
    else:
        raise FormatError(f"links is {given!r:.80}; expected {{name: (bandwidth, [(from, to), …])}}")
    names = [name for name, _ in named]
    for name in names:
        if not is_name(name):
            raise FormatError(f"{name!r:.80} is no name of a link: expected non-empty text on one line")
    if len(set(names)) < len(names):
        raise FormatError("two links have one name; the names of shared links must be unique")
    shared = []
    devices = lru_cache(None)(lambda end: tuple(map(int, matching(end))))
    most = MOST_PAIRS
    for name, what in named:
        shared.append(_shared_link(name, what, devices, most))
        most -= len(shared[-1].pairs)
    return tuple(shared)


def _shared_link(name: str, what: Any, devices: Callable[[Any], tuple[int, ...]], most: int) -> SharedLink:
    if not isinstance(what, (list, tuple)) or len(what) != 2 or not isinstance(what[1], (list, tuple)):
        raise FormatError(f"link {name!r} is {what!r:.80}; expected (bandwidth, [(from, to), …])")
    pairs: set[tuple[int, int]] = set()
    for pair in what[1]:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2 or not all(isinstance(end, End) for end in pair):
            raise FormatError(
                f"link {name!r} has the pair {pair!r:.80}; expected (from, to), names or numbers of devices"
            )
        here, there = map(devices, pair)
        if len(pairs) + len(here) * len(there) > 2 * most:
            raise FormatError(f"links have over {MOST_PAIRS:,} pairs, of which link {name!r} has the last; name fewer")
        pairs.update((i, j) for i in here for j in there if i != j)
    if not pairs:
        raise FormatError(f"link {name!r} joins no two devices; name a pair that shares it, or leave it out")
    return SharedLink(name, _bandwidth(name, what[0]), tuple(sorted(pairs)))


def _bandwidth(name: str, given: Any) -> float:
    number = isinstance(given, (int, float, np.number)) and not poses_as_number(given)
    if not number or not 0 < given < MOST_BANDWIDTH:
        raise FormatError(f"link {name!r} has a bandwidth of {given!r:.80} bytes/s; expected a finite one, more than 0")
    return float(given)


def with_bandwidth(links: Sequence[SharedLink], name: str, bandwidth: float) -> tuple[SharedLink, ...]:
    """The links of a cluster, one of them with another bandwidth."""
    return tuple(replace(link, bandwidth=bandwidth) if link.name == name else link for link in links)


def links_among(links: Sequence[SharedLink], like: Sequence[int] | np.ndarray) -> tuple[SharedLink, ...]:
    """The links of a cluster whose device i is as `like` ``[i]`` of the present one; without those that no pair uses any more."""
    number = [int(d) for d in like]
    shared = []
    for link in links:
        used = set(link.pairs)
        pairs = tuple((i, j) for i, a in enumerate(number) for j, b in enumerate(number) if (a, b) in used)
        shared += [SharedLink(link.name, link.bandwidth, pairs)] if pairs else []
    return tuple(shared)


def as_argument(links: Sequence[SharedLink]) -> dict[str, tuple[float, list[tuple[int, int]]]]:
    """What ``Cluster(links=…)`` takes, in plain Python, also for JSON."""
    return {link.name: (link.bandwidth, list(link.pairs)) for link in links}

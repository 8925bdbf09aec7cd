"""Links that several pairs of devices share: a PCIe switch, a network card, an uplink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.names import is_name

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
        shared.append(_link(name, what, devices, most))
        most -= len(shared[-1].pairs)
    return tuple(shared)


def _link(name: str, what: Any, devices: Callable[[Any], tuple[int, ...]], most: int) -> SharedLink:
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
    number = isinstance(given, (int, float, np.number)) and not isinstance(given, bool)
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

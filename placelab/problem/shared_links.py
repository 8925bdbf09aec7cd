"""Links that several pairs of devices share: a PCIe switch, a network card, an uplink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from placelab.errors import FormatError
from placelab.names import is_name


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
    for name, _ in named:
        if not is_name(name) or [other for other, _ in named].count(name) > 1:
            raise FormatError(f"{name!r:.80} is no name of a link: expected non-empty text on one line, which is there once")
    return tuple(_link(name, what, matching) for name, what in named)


def _link(name: str, what: Any, matching: Callable[[Any], Iterable[int]]) -> SharedLink:
    if not isinstance(what, (list, tuple)) or len(what) != 2 or not isinstance(what[1], (list, tuple)):
        raise FormatError(f"link {name!r} is {what!r:.80}; expected (bandwidth, [(from, to), …])")
    bandwidth, ends = what
    number = isinstance(bandwidth, (int, float, np.number)) and not isinstance(bandwidth, bool)
    if not number or not 0 < bandwidth < np.inf:
        raise FormatError(f"link {name!r} has a bandwidth of {bandwidth!r:.80} bytes/s; expected a finite one, more than 0")
    pairs: set[tuple[int, int]] = set()
    for pair in ends:
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise FormatError(f"link {name!r} has the pair {pair!r:.80}; expected (from, to)")
        here, there = (list(map(int, matching(end))) for end in pair)
        pairs.update((i, j) for i in here for j in there if i != j)
    if not pairs:
        raise FormatError(f"link {name!r} joins no two devices; name a pair that shares it, or leave it out")
    return SharedLink(name, float(bandwidth), tuple(sorted(pairs)))


def links_among(links: Sequence[SharedLink], like: Sequence[int] | np.ndarray) -> tuple[SharedLink, ...]:
    """The links of a cluster whose device i is as `like` ``[i]`` of the present one; without those that no pair uses any more."""
    number = [int(d) for d in like]
    found = []
    for link in links:
        used = set(link.pairs)
        pairs = tuple((i, j) for i, a in enumerate(number) for j, b in enumerate(number) if (a, b) in used)
        found += [SharedLink(link.name, link.bandwidth, pairs)] if pairs else []
    return tuple(found)


def as_argument(links: Sequence[SharedLink]) -> dict[str, tuple[float, list[tuple[int, int]]]]:
    """What ``Cluster(links=…)`` takes, in plain Python, also for JSON."""
    return {link.name: (link.bandwidth, list(link.pairs)) for link in links}

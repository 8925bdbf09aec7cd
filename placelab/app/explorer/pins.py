"""Write pins of many ops with few patterns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from glob import escape

from placelab.problem.graph import OpGraph

Devices = str | tuple[str, ...]


def shortened(where: Mapping[str, tuple[str, ...]], graph: OpGraph) -> dict[str, Devices]:
    """Pins in which ``scope/*`` stands for the ops of a scope that all have the same one, and a lone device for a list of one.

    Parameters
    ----------
    where
        Names of the devices of each pinned op.

    Returns
    -------
    dict
        For :meth:`placelab.Problem.pin`, where it means the same; the outermost scopes first, in the order of `where`.

    Examples
    --------
    >>> g = OpGraph.from_arrays(["a/x", "a/y", "b"], [1] * 3, [])
    >>> shortened({"a/x": ("gpu:0",), "a/y": ("gpu:0",)}, g)
    {'a/*': 'gpu:0'}
    """
    taken = {*graph.names.tolist(), *graph.group_names}
    total = Counter(scope for name in graph.names.tolist() for scope in _scopes(name))
    pinned = Counter((scope, devices) for name, devices in where.items() for scope in _scopes(name))
    pins: dict[str, Devices] = {}
    for name, devices in where.items():
        whole = (scope for scope in _scopes(name) if 1 < total[scope] == pinned[scope, devices])
        pattern = next((p for p in (f"{escape(scope)}/*" for scope in whole) if p not in taken), name)
        pins[pattern] = devices[0] if len(devices) == 1 else devices
    return pins


def _scopes(name: str) -> Iterator[str]:
    """The scopes that an op is in, from the outermost: ``a`` and ``a/b`` for ``a/b/c``."""
    at = name.find("/")
    while at >= 0:
        yield name[:at]
        at = name.find("/", at + 1)

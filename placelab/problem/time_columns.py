"""Columns of measured seconds: the speed at which each was taken, and the one for devices without a column of their own."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.index_arrays import F8, LARGEST
from placelab.problem.graph_checks import column
from placelab.problem.graph_columns import GraphColumns

RESERVED = ("times", "time_speed", "time_default")  # keys that metadata must not have


def arguments(graph: GraphColumns, change: Callable[[np.ndarray], np.ndarray] = np.asarray) -> dict[str, Any]:
    """The arguments of :meth:`OpGraph.from_arrays` for a graph with the times of `graph`, its table changed by `change`."""
    if graph.time is None:
        return {}
    return dict(
        time=dict(zip(graph.time_types, np.ascontiguousarray(change(graph.time).T), strict=True)),
        time_speed=known_speeds(graph),
        time_default=graph.time_default,
    )


def known_speeds(graph: GraphColumns) -> dict[str, float]:
    """Time type → operations/s, without the columns whose speed is not known."""
    pairs = zip(graph.time_types, graph.time_speed.tolist(), strict=True)
    return {kind: speed for kind, speed in pairs if speed == speed}


def speeds(given: Any, types: Sequence[str]) -> np.ndarray:
    """Speed [operations/s] of each column, NaN where it is not known; from a mapping, type → speed, or an array.

    Raises
    ------
    FormatError
        A type that has no column; a speed that is not a finite number above 0.
    """
    if given is None:
        return np.full(len(types), np.nan)
    if not isinstance(given, Mapping):
        given = dict(zip(types, column(given, len(types), "time_speed").tolist(), strict=True))
    known = set(types)
    for kind, speed in given.items():
        _check_column("time_speed", kind, known)
        fits = isinstance(speed, (int, float, np.number)) and not isinstance(speed, bool)
        if not fits or not (speed != speed or 0 < speed <= LARGEST):
            raise FormatError(f"time_speed of {kind!r:.60} is {speed!r:.60}; expected operations/s above 0")
    return np.array([given.get(kind, np.nan) for kind in types], dtype=F8)


def default(given: Any, types: Collection[str]) -> str | None:
    """The name of the default column; FormatError where no column is called that."""
    if given is not None:
        _check_column("time_default", given, types)
    return given


def from_metadata(metadata: Mapping[str, Any], types: Collection[str]) -> dict[str, Any]:
    """``time_speed``, ``time_default`` and ``metadata`` of :meth:`OpGraph.from_arrays`, from metadata of version 1.

    Version 1 of placelab JSON kept speeds and default in ``metadata["times"]``, also those of columns that the graph lacks,
    which are left out here.

    Raises
    ------
    FormatError
        ``times`` is no object of speeds and a default.
    """
    rest = dict(metadata)
    times = rest.pop("times", {})
    if not isinstance(times, Mapping):
        raise FormatError(f"metadata 'times' are {times!r:.60}; expected an object of speed and default")
    known, usual = times.get("speed", {}), times.get("default")
    if not isinstance(known, Mapping):
        raise FormatError(f"the speeds of times in the metadata are {known!r:.60}; expected device type → operations/s")
    return dict(
        time_speed={kind: speed for kind, speed in known.items() if kind in types and speed != 0},
        time_default=usual if isinstance(usual, str) and usual in types else None,
        metadata=rest,
    )


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Refuse keys of metadata that would look as if they set speeds or the default."""
    if wrong := next((key for key in RESERVED if key in metadata), None):
        raise FormatError(f"metadata hold {wrong!r}, which is not read there; give time_speed and time_default instead")


def _check_column(label: str, kind: Any, types: Collection[str]) -> None:
    if kind not in types:
        known = ", ".join(sorted(types)) or "none"
        raise FormatError(f"{label} names {kind!r:.60}, but there are times for {known:.200}; name one of these")

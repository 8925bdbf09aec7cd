"""Checks of a graph's columns: lengths, types, ranges and names; and limits on the graph that a file becomes.

A small file can describe a large graph: one default of 1,000 outputs holds for each of 3,000 nodes, 6,000 nodes that each name
a device type of their own are a table of 36 million seconds, and a TensorFlow node of 30 bytes may declare 100,000 outputs.
Limits on bytes (:mod:`placelab.base.files`) do not see that. Columns of every reader pass through :func:`checked`; readers
that expand such a description before they have all columns call :func:`check_size` first.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from placelab.base.errors import CycleError, FormatError, is_name
from placelab.base.files import MAX_OPS
from placelab.base.index_arrays import floats

COSTS = {"compute": "operations", "persistent": "bytes", "temporary": "bytes", "memory": "bytes"}


def column(value: Any, n: int, label: str) -> np.ndarray:
    """Numbers, one for each of n, or one for all."""
    try:
        numbers = floats(value)
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"{label} must be numbers that a float can hold, one per op or edge") from None
    if numbers.ndim == 0:
        return np.full(n, numbers)
    check_length(numbers, n, label)
    return numbers


def check_length(column: np.ndarray, n: int, label: str) -> None:
    """Refuse a column whose shape is not (n,)."""
    if column.shape != (n,):
        raise FormatError(f"{label} has shape {column.shape}, expected ({n},)")


def flags(value: Any, n: int, label: str) -> np.ndarray:
    """True or False, one for each of n; 1 and 0 will do."""
    found = integers(value, label)
    check_length(found, n, label)
    if ((found != 0) & (found != 1)).any():
        raise FormatError(f"{label} holds {found[(found != 0) & (found != 1)][0]}; expected True or False")
    return found.astype(bool)


def integers(value: Any, label: str) -> np.ndarray:
    """Whole numbers as int64; fractions are refused, not cut off."""
    try:
        given = np.asarray(value)
        with np.errstate(invalid="ignore"):
            whole = given.astype(np.int64)
        if given.size and (given.dtype.kind not in "biufO" or (whole != given).any()):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise FormatError(f"{label} must be whole numbers") from None
    return whole


def listed(value: Any, label: str) -> Any:
    """A list or array as it is, any other iterable as a list."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise FormatError(f"{label} is {value!r}; expected a list")
    return list(value)


def texts(value: Any, label: str) -> tuple[str, ...]:
    """A text, or several, as a tuple."""
    found = (value,) if isinstance(value, str) else tuple(listed(value, label))
    others = [] if set(map(type, found)) <= {str} else [text for text in found if not isinstance(text, str)]
    if others:
        raise FormatError(f"{label} holds {others[0]!r}; expected texts")
    return found


def items(value: Any, label: str) -> Iterable[tuple[Any, Any]]:
    """The items of a mapping; of None, none."""
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise FormatError(f"{label} is {type(value).__name__}; expected a mapping")
    return value.items()


def ops(value: Any, n: int, label: str) -> list[int]:
    """Numbers of ops as a list."""
    if isinstance(value, list) and set(map(type, value)) == {int} and 0 <= min(value) and max(value) < n:
        return value  # as files have them: thousands of groups, no array for each
    found = integers(listed(value, label), label)
    if found.ndim != 1 or (found.size and (found.min() < 0 or found.max() >= n)):
        raise FormatError(f"{label} holds {found.tolist()}; expected numbers of ops, 0 to {n - 1}")
    return found.tolist()


def outputs_of(rows: Sequence[Any], n: int) -> list[tuple[int, int, float, int]]:
    """Outputs that no edge carries, as (op, output number, bytes, storage), -1 where a tensor has its own."""
    for row in rows:
        if not isinstance(row, (tuple, list)) or len(row) not in (3, 4):
            raise FormatError(f"outputs holds {row!r}; expected (op, output number, bytes) or these and a storage")
    whole = [(*row, -1)[:4] for row in rows]
    producers, numbers, sizes, storages = zip(*whole, strict=True) if whole else ((), (), (), ())
    op = ops(producers, n, "outputs")
    number = integers(numbers, "output numbers").tolist()
    storage = integers(storages, "storages of outputs").tolist()
    if min(storage, default=-1) < -1:
        raise FormatError(f"outputs holds the storage {min(storage)}; expected a number, or -1 for a tensor's own")
    return list(zip(op, number, column(sizes, len(rows), "bytes of outputs").tolist(), storage, strict=True))


def pairs(edges: Any) -> np.ndarray:
    """Edges as an array of shape (n_edges, 2)."""
    edges = integers(listed(edges, "edges"), "edges")
    edges = edges.reshape(-1, 2) if edges.size == 0 else edges
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise FormatError(f"edges has shape {edges.shape}; expected one pair (producer, consumer) per edge")
    return edges


def check_edges(edges: np.ndarray, n: int, names: Sequence[str]) -> None:
    """Refuse edges of ops that do not exist, and loops."""
    if edges.size and (edges.min() < 0 or edges.max() >= n):
        wrong = int(edges.min() if edges.min() < 0 else edges.max())
        raise FormatError(f"an edge refers to op {wrong}, but there are {n} ops, numbered from 0")
    loops = np.flatnonzero(edges[:, 0] == edges[:, 1])
    if len(loops):
        raise CycleError(f"op {names[edges[loops[0], 0]]!r} consumes its own output; remove that edge")


def check_devices(sets: Iterable[tuple[str, ...]]) -> None:
    """Refuse texts that cannot be names or types of devices."""
    for name in (name for names in sets for name in names if not is_name(name)):
        raise FormatError(f"devices holds {name!r:.80}; expected names or types, non-empty text on one line")


def check_columns(columns: dict[str, Any]) -> None:
    """Refuse numbers of a graph that are negative, infinite or, but for measured seconds, NaN."""
    names = columns["names"]
    _check_numbers(columns["tensor_bytes"], names[columns["tensor_producer"]], "an output", "bytes")
    for label, unit in COSTS.items():
        _check_numbers(columns[label], names, label, unit, nan=label == "compute" and columns["time"] is not None)
    if columns["time"] is not None:
        for j, kind in enumerate(columns["time_types"]):
            _check_numbers(columns["time"][:, j], names, f"time on {kind}", "seconds", nan=True)


def check_names(names: Sequence[str]) -> None:
    """Refuse names that are empty, on several lines or there twice."""
    text = "\n".join(names)
    if text.isascii() and text.count("\n") == len(names) - 1 and len(set(names)) == len(names) and "" not in names:
        return  # nothing to complain of, seen at a glance
    seen: set[Hashable] = set()
    for name in names:
        if not is_name(name):
            raise FormatError(f"op name {name!r} is not a name: expected non-empty text on one line")
        if name in seen:
            raise FormatError(f"two ops are called {name!r}; op names must be unique")
        seen.add(name)


def _check_numbers(values: np.ndarray, names: np.ndarray, label: str, unit: str, nan: bool = False) -> None:
    bad = (values < 0) | np.isinf(values) | (np.isnan(values) & (not nan))
    if bad.any():
        v = int(np.flatnonzero(bad)[0])
        raise FormatError(f"{label} of op {names[v]!r} is {values[v]:g} {unit}; expected a finite number, 0 or more")


def closest(name: str, known: Mapping[str, int]) -> str:
    """The name that was probably meant, as the end of a message."""
    from difflib import get_close_matches

    close = get_close_matches(str(name), known, n=1) if len(known) <= 30_000 else []
    return f"; did you mean {close[0]!r}?" if close else ""


# The largest dataset, GNMT of 50 words, has 23,529 ops, 40,976 edges and 3 time types; a graph of a million ops with ten inputs
# and ten time types each is read. At few ops, where a small file may describe the most, no limit lets in more than 300 MB.
MIN_EDGES = 2_000_000  # 130 bytes each, next to 2 in JSON; 2,000 ops, each joined to all, have so many
EDGES_PER_OP = 10
MIN_OUTPUTS = 300_000  # half a kilobyte each
OUTPUTS_PER_OP = 8  # most ops have one, TensorFlow's FusedBatchNormV3 has 6
MAX_SECONDS = 10_000_000  # ops × time types, a table of 80 MB and its copy: 400 types at 23,500 ops
MAX_ALLOWED = 20_000_000  # ops × device names; shared in memory, but DOT and networkx graphs repeat them at each op


def check_size(*, ops: int = 0, edges: int = 0, outputs: int = 0, time_types: int = 0, device_names: int = 0) -> None:
    """Raise FormatError when a graph of these sizes would be too large.

    Parameters
    ----------
    ops, edges, time_types
        How many there are.
    outputs
        Outputs of ops; those that edges carry need not be among them.
    device_names
        Names of allowed devices, added up over the ops.

    Examples
    --------
    >>> check_size(ops=6_000, time_types=6_000)
    Traceback (most recent call last):
    placelab.base.errors.FormatError: there are 36,000,000 times (6,000 ops × 6,000 device types); at most 10,000,000 are read
    """
    for found, limit, what in (
        (ops, MAX_OPS, "ops"),
        (edges, max(MIN_EDGES, EDGES_PER_OP * ops), f"edges between {ops:,} ops"),
        (outputs, max(MIN_OUTPUTS, OUTPUTS_PER_OP * ops), f"outputs of {ops:,} ops"),
        (ops * time_types, MAX_SECONDS, f"times ({ops:,} ops × {time_types:,} device types)"),
        (device_names, MAX_ALLOWED, f"names of allowed devices, added up over {ops:,} ops"),
    ):
        if found > limit:
            raise FormatError(f"there are {found:,} {what}; at most {limit:,} are read")


def checked(
    *,
    names: Sequence[str],
    edges: Any,
    outputs: Sequence[tuple[int, int, float] | tuple[int, int, float, int]] = (),
    time: Mapping[str, Any] | None = None,
    devices: Mapping[int, Sequence[str]] | None = None,
    **columns: Any,
) -> dict[str, Any]:
    """Columns for :meth:`OpGraph.from_arrays` as they are; FormatError when they hold more than a graph may have."""
    check_size(
        ops=len(names),
        edges=len(edges),
        outputs=len(outputs),
        time_types=len(time or ()),
        device_names=sum(map(len, (devices or {}).values())),
    )
    return dict(names=names, edges=edges, outputs=outputs, time=time, devices=devices, **columns)

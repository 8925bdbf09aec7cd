"""Limits on the graph that a file becomes.

A small file can describe a large graph: one default of 1,000 outputs holds for each of 3,000 nodes, 6,000 nodes that each name
a device type of their own are a table of 36 million seconds, and a TensorFlow node of 30 bytes may declare 100,000 outputs.
Limits on bytes (:mod:`placelab.base.limits`) do not see that. Columns of every reader pass through :func:`checked`; readers
that expand such a description before they have all columns call :func:`check_size` first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.limits import MAX_OPS

# The largest dataset, GNMT of 50 words, has 23,529 ops, 40,976 edges and 3 time types; a graph of a million ops with ten inputs
# and ten time types each is read. At few ops, where a small file may describe the most, no limit lets in more than 300 MB.
MIN_EDGES, EDGES_PER_OP = (
    2_000_000,
    10,
)  # 130 bytes each, next to 2 in JSON; 2,000 ops, each joined to all, have 2 million
MIN_OUTPUTS, OUTPUTS_PER_OP = 300_000, 8  # half a kilobyte each; most ops have one, TensorFlow's FusedBatchNormV3 has 6
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
    outputs: Sequence[tuple[int, int, float]] = (),
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

"""Placements as JSON: ``{"op": "device", …}`` with a few words about where it comes from, written and read again.

::

    {"format": "placelab-placement", "version": 1, "graph": "bert", "partitioner": "heft", "estimate": 0.012,
     "devices": ["gpu:0", "gpu:1"], "placement": {"embed": "gpu:0", …}, "planned": ["embed", …] or null}

``estimate`` is in seconds or null; ``planned`` is the order the partitioner planned. Version 2 has the key ``not_before``, the
seconds before which ops of that order do not start, ``{"embed": 0.002, …}``; a placement without is written as version 1.
What is read may also be the object under ``placement`` alone, as a hand or another program writes it; members of a group may be
left out then.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.fields import cost, read_from, record, text, texts
from placelab.base.limits import json_of, read_file
from placelab.base.saving import save
from placelab.problem import graph_json

if TYPE_CHECKING:
    from placelab.schedule.placement import Placement

FORMAT, VERSIONS = "placelab-placement", (1, 2)
EXPECTED = "a placement: an object of op name → device name"


class PlacementColumns(NamedTuple):
    """A placement in names, as a file stores it; :meth:`Placement.load` makes the placement of a problem from it."""

    device: dict[str, str]
    planned: list[str] | None
    not_before: dict[str, float] | None
    estimate: float | None
    partitioner: str


def write(placement: Placement, path: Any) -> Path:
    """Write a placement; gzipped when the name ends in ``.gz``."""
    return save(dumps(placement), path)


def dumps(placement: Placement) -> str:
    """A placement as JSON text, an op per line."""
    names, not_before = placement.problem.graph.names, placement.not_before
    document = {
        "format": FORMAT,
        "version": 1 if not_before is None else 2,
        "graph": placement.problem.graph.title,
        "partitioner": placement.partitioner,
        "estimate": placement.estimate,
        "devices": list(placement.problem.cluster.names),
        "placement": placement.to_mapping(),
        "planned": None if placement.planned is None else names[placement.planned].tolist(),
    }
    if not_before is not None:
        document["not_before"] = {names[v]: float(not_before[v]) for v in np.flatnonzero(not_before)}
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def read(path: Any) -> PlacementColumns:
    """What a file says of a placement.

    Raises
    ------
    FormatError
        Not such a file.
    """
    return loads(read_file(path, EXPECTED), str(path))


def loads(data: bytes, where: str = "the upload") -> PlacementColumns:
    """Parse the bytes of a placement file, gzipped or not; `where` names it in messages."""
    document = json_of(data, where, EXPECTED)
    if not isinstance(document, dict):
        raise FormatError(f"{where} is not {EXPECTED}")
    if graph_json.is_one(document):
        raise FormatError(f"{where} is a graph, which pl.load reads; expected {EXPECTED}")
    stored = document if is_one(document) else {"version": 1, "placement": document}
    if type(stored.get("version")) is not int or stored["version"] not in VERSIONS:
        known = " and ".join(map(str, VERSIONS))
        raise FormatError(f"{where} has version {stored.get('version')!r:.40}; this placelab reads versions {known}")
    with read_from(where):
        return _columns(stored)


def is_one(document: Any) -> bool:
    """Whether parsed JSON says that it is a placement."""
    return isinstance(document, dict) and document.get("format") == FORMAT


def _columns(stored: dict[str, Any]) -> PlacementColumns:
    device = record(stored.get("placement"), "placement")
    for op, name in device.items():
        text(name, f"the device of op {op!r:.80}")
    planned, estimate = stored.get("planned"), stored.get("estimate")
    times = record(stored.get("not_before"), "not_before") if stored["version"] == 2 else None
    return PlacementColumns(
        device,
        planned=None if planned is None else texts(planned, "planned"),
        not_before=times and {op: cost(time, f"not_before of op {op!r:.80}") for op, time in times.items()},
        estimate=None if estimate is None else cost(estimate, "estimate"),
        partitioner=text(stored.get("partitioner", ""), "partitioner"),
    )

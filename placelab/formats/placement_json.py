"""Placements as JSON: ``{"op": "device", …}`` with a few words about where it comes from, written and read again.

::

    {"format": "placelab-placement", "version": 1, "graph": "bert", "partitioner": "heft", "estimate": 0.012,
     "devices": ["gpu:0", "gpu:1"], "placement": {"embed": "gpu:0", …}, "planned": ["embed", …] or null}

``estimate`` is in seconds or null; ``planned`` is the order the partitioner planned. What is read may also be the object
under ``placement`` alone, as a hand or another program writes it; members of a group may be left out then.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from placelab.errors import FormatError, expect
from placelab.formats import placelab_json
from placelab.formats.fields import cost, read_from, record, text, texts
from placelab.formats.limits import json_of, read_file
from placelab.formats.saving import save
from placelab.problem import Problem
from placelab.schedule import Placement

FORMAT, VERSION = "placelab-placement", 1
EXPECTED = "a placement: an object of op name → device name"


def write(placement: Placement, path: Any) -> Path:
    """Write a placement; gzipped when the name ends in ``.gz``."""
    return save(dumps(placement), path)


def dumps(placement: Placement) -> str:
    """A placement as JSON text, an op per line."""
    expect(placement, Placement, "a placement's JSON")
    names = placement.problem.graph.names
    document = {
        "format": FORMAT,
        "version": VERSION,
        "graph": placement.problem.graph.title,
        "partitioner": placement.partitioner,
        "estimate": placement.estimate,
        "devices": list(placement.problem.cluster.names),
        "placement": placement.to_mapping(),
        "planned": None if placement.planned is None else names[placement.planned].tolist(),
    }
    return json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def read(path: Any, problem: Problem) -> Placement:
    """The placement in a file, of the ops and devices of `problem`.

    Raises
    ------
    FormatError
        Not such a file; an op or a device that the problem does not have, or an op without a device.
    InfeasibleError
        A placement that the problem does not allow.
    """
    return loads(read_file(path, EXPECTED), problem, str(path))


def loads(data: bytes, problem: Problem, where: str = "the upload") -> Placement:
    """The placement in the bytes of a file, gzipped or not; `where` names it in messages."""
    expect(problem, Problem, "reading a placement")
    document = json_of(data, where, EXPECTED)
    if not isinstance(document, dict):
        raise FormatError(f"{where} is not {EXPECTED}")
    if placelab_json.is_one(document):
        raise FormatError(f"{where} is a graph, which pl.load reads; expected {EXPECTED}")
    told = document if is_one(document) else {"version": VERSION, "placement": document}
    if type(told.get("version")) is not int or told["version"] != VERSION:
        raise FormatError(f"{where} has version {told.get('version')!r:.40}; this placelab reads version {VERSION}")
    with read_from(where):
        return _placement(told, problem)


def is_one(document: Any) -> bool:
    """Whether parsed JSON says that it is a placement."""
    return isinstance(document, dict) and document.get("format") == FORMAT


def _placement(told: dict[str, Any], problem: Problem) -> Placement:
    where = record(told.get("placement"), "placement")
    for op, device in where.items():
        text(device, f"the device of op {op!r:.80}")
    placement = Placement.from_mapping(problem, where)
    planned, estimate = told.get("planned"), told.get("estimate")
    return replace(
        placement,
        planned=None
        if planned is None
        else np.array([problem.graph.index(op) for op in texts(planned, "planned")], "i4"),
        estimate=None if estimate is None else cost(estimate, "estimate"),
        partitioner=text(told.get("partitioner", ""), "partitioner"),
    )

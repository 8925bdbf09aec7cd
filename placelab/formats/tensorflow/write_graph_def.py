"""Write a placement into the ``device`` fields of the user's own GraphDef.

All other bytes of the file stay the same: fields are replaced in place, nothing is parsed and serialized again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from placelab.base.errors import FormatError, UnsupportedError, expect
from placelab.base.limits import path_of, read_file, text_of, unzipped
from placelab.base.saving import save
from placelab.formats.protobuf import BYTES, fields, tagged
from placelab.formats.tensorflow.containers import NODE, STRING, Block, blocks, is_saved_model, is_text
from placelab.formats.tensorflow.device_names import tensorflow_names
from placelab.schedule.placement import Placement

NAME, DEVICE = 1, 4  # fields of NodeDef
EXPECTED = "a TensorFlow GraphDef"
NAME_OR_DEVICE = re.compile(rf"\b(name|device)\s*:\s*({STRING})|{STRING}|#[^\n]*")


def write(graph_file: Any, placement: Placement, out: Any, *, devices: Mapping[str, str] | None = None) -> Path:
    """Write a copy of a GraphDef file whose ``device`` fields follow a placement.

    Parameters
    ----------
    graph_file
        The ``.pb`` or ``.pbtxt`` file that the placed graph was read from, gzipped or not. Ops that are not in the placement
        keep their device; placed ops that are not in the file (fused, or in functions) are ignored.
    placement
        Device of each op.
    out
        File to write, atomically: text if `graph_file` is text, gzipped if the name ends in ``.gz``.
    devices
        Device of the cluster → TensorFlow's name, such as ``{"dev0": "/job:worker/task:0/device:GPU:0"}``. Default:
        :func:`placelab.formats.tensorflow.device_names.tensorflow_names`, ``/device:GPU:0`` for the first device of type ``gpu``.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    FormatError
        Not a GraphDef, or none of its ops is in the placement.
    UnsupportedError
        A SavedModel, or text that is to be written as binary or vice versa.

    Notes
    -----
    TensorFlow accepts the placement with ``allow_soft_placement=False`` if every op has a kernel for its device: placements
    respect the graph's colocation groups, which TensorFlow requires. O(size of the file).
    """
    expect(placement, Placement, "writing a TensorFlow graph")
    out, where = path_of(out), str(graph_file)
    called = tensorflow_names(placement.problem.cluster, devices)
    places = {name: called[d] for name, d in zip(placement.problem.graph.names, placement.device, strict=True)}
    data = unzipped(read_file(graph_file, EXPECTED), where)
    _check(data, where, out)
    placed = _text(text_of(data, where, EXPECTED), places, where) if is_text(data) else _binary(data, places, where)
    return save(placed, out)


def _check(data: bytes, where: str, out: Path) -> None:
    if is_saved_model(data):
        raise UnsupportedError(f"{where} is a SavedModel; devices can be written into GraphDef files (.pb, .pbtxt)")
    wants_text = ".pbtxt" in out.suffixes
    if is_text(data) != wants_text:
        found, wanted = ("text", ".pbtxt") if is_text(data) else ("binary", ".pb")
        raise UnsupportedError(f"{where} is {found}, so {out.name} must end in {wanted}, or {wanted}.gz")


def _binary(data: bytes, places: Mapping[str, str], where: str) -> bytes:
    parts = []
    placed = 0
    for number, wire, start, value, end in fields(data, where):
        node = _node(data, value, end, places, where) if (number, wire) == (NODE, BYTES) else None
        parts.append(data[start:end] if node is None else tagged(NODE, node))
        placed += node is not None
    _check_any(placed, places, where)
    return b"".join(parts)


def _node(data: bytes, start: int, end: int, places: Mapping[str, str], where: str) -> bytes | None:
    """A node with its new device; None if it is not placed."""
    name = ""
    kept = []
    for number, _, begin, value, stop in fields(data, where, start, end):
        if number == NAME:
            name = data[value:stop].decode(errors="replace")
        if number != DEVICE:
            kept.append((number, data[begin:stop]))
    if name not in places:
        return None
    before = b"".join(raw for number, raw in kept if number < DEVICE)
    return before + tagged(DEVICE, places[name].encode()) + b"".join(raw for number, raw in kept if number > DEVICE)


def _text(text: str, places: Mapping[str, str], where: str) -> bytes:
    parts = []
    past = 0
    placed = 0
    for block in blocks(text, where):
        if block.name != "node":
            continue
        found = dict(_name_and_device(text, block, where))
        device = places.get(_name(found))
        if device is None:
            continue
        start, end, head = _span(text, found)
        parts += [text[past:start], head, f'device: "{device}"']
        past, placed = end, placed + 1
    _check_any(placed, places, where)
    return "".join([*parts, text[past:]]).encode()


def _name_and_device(text: str, block: Block, where: str) -> Iterator[tuple[str, re.Match]]:
    """Matches of the node's own name and device, those in nested blocks excluded."""
    start = block.start
    for inner in [*blocks(text, where, block.start, block.end), Block("", block.end, block.end)]:
        yield from ((found[1], found) for found in NAME_OR_DEVICE.finditer(text, start, inner.start) if found[1])
        start = inner.end


def _name(found: Mapping[str, re.Match]) -> str:
    """A node's name, without unescaping: TensorFlow's op names have no characters that are escaped."""
    return found["name"][2][1:-1] if "name" in found else ""


def _span(text: str, found: Mapping[str, re.Match]) -> tuple[int, int, str]:
    """Start and end of the text that the new device replaces, and the white space before it."""
    if "device" in found:
        return *found["device"].span(), ""
    name = found["name"]
    line = text.rfind("\n", 0, name.start()) + 1
    indent = text[line : name.start()]
    return name.end(), name.end(), f"\n{indent}" if indent.isspace() else " "


def _check_any(placed: int, places: Mapping[str, str], where: str) -> None:
    if not placed:
        example = next(iter(places), "")
        raise FormatError(
            f"none of the placed ops, such as {example!r:.200}, is in {where}; expected the file they came from"
        )

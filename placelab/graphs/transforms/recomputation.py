"""Recompute the forward pass of a stage before its backward pass, instead of keeping its tensors."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from placelab.graphs.transforms.unrolling import Part

Node = tuple[str, int]  # phase, device


class Read(NamedTuple):
    """A tensor: the op and the part that make it, the parts that read it, bytes, and whether it only orders."""

    op: int
    part: Node
    to: set[Node]
    bytes: float
    control: bool


def recomputed(
    tensors: list[Read], is_input: np.ndarray, backs: tuple[str, ...]
) -> tuple[list[Read], dict[int, float]]:
    """The tensors of a step whose first backward part on each device runs the device's forward ops again.

    What a forward op makes for the backward pass of its own device is made again, unless it is an input of the model; what the
    forward ops of a device read from elsewhere is kept for that.

    Returns
    -------
    tensors, again
        `again`: bytes that are made and read within the first backward part, by device.
    """
    found, again, first = [], defaultdict[int, float](float), backs[0]
    for t in tensors:
        phase, d = t.part
        if phase != "F" or t.control:
            found.append(t)
            continue
        from_elsewhere = {at for reader, at in t.to if reader == "F" and (at != d or is_input[t.op])}
        to = t.to | {(first, at) for at in from_elsewhere}
        if not is_input[t.op]:
            own = {(back, d) for back in backs} & to
            to -= own
            if later := own - {(first, d)}:
                found.append(t._replace(part=(first, d), to=later))
            elif own:
                again[d] += t.bytes
        found.append(t._replace(to=to))
    return found, again


def with_forward(parts: list[Part], again: dict[int, float]) -> list[Part]:
    """The parts, with time and bytes of each device's forward part in its first backward part."""
    forward = {part.device: part for part in parts if part.phase == "F"}
    return [
        replace(
            part,
            seconds=part.seconds + forward[part.device].seconds,
            temporary=max(part.temporary, forward[part.device].temporary) + again.get(part.device, 0.0),
        )
        if part.phase in ("B", "BW")
        else part
        for part in parts
    ]

"""Parts of a pass: what a device computes, and the collectives between, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from placelab.plans.plan_collectives import Sizes

COMPUTE = "compute"
SPLIT, WHOLE = "W", "BW"  # gradients of weights in ops of their own, or with those of inputs


class Part(NamedTuple):
    """A part of a pass: ``"compute"`` with its seconds on each device, or the kind of a collective with its bytes."""

    kind: str
    amount: Any


def parts_of(
    blocks: Mapping[str, np.ndarray], sparse: Sequence[bool], first: int, last: int, sizes: Sizes, recompute: str
) -> dict[str, list[Part]]:
    """The parts of each pass of a stage: phase → parts in their order.

    Parameters
    ----------
    blocks
        Phase → seconds of each block of a micro-batch, shape (n_devices, n_blocks): ``"F"``, ``"B"``, ``"W"``, ``"core"``, what
        selective recomputation makes again, and ``"half"``, the share of a layer's forward seconds before its MLP.
    sparse
        Whether each layer has experts.
    first, last
        Blocks of the stage, `last` not among them.
    """
    layers = range(max(first, 1), min(last, len(sparse) + 1))
    head = [last - 1] if last == len(sparse) + 2 else []
    table = [0] if first == 0 else []

    def layer(b: int, seconds: np.ndarray, more: Any = 0.0) -> list[list[Part]]:
        half = blocks["half"][:, b]
        exchange = [Part("all-to-all", sizes.exchanged)] if sizes.exchanged and sparse[b - 1] else []
        total = [Part("all-reduce", sizes.summed)] if sizes.summed else []
        attention = [Part(COMPUTE, seconds * half + more), *total]
        return [attention, [*exchange, Part(COMPUTE, seconds * (1 - half)), *exchange, *total]]

    def passed(seconds: np.ndarray, more: Any = None) -> list[Part]:
        outer = [Part(COMPUTE, seconds[:, b]) for b in table], [Part(COMPUTE, seconds[:, b]) for b in head]
        inner = [half for b in layers for half in layer(b, seconds[:, b], 0.0 if more is None else more[:, b])]
        whole = [outer[0], *inner, outer[1]]
        return [part for parts in whole for part in parts]

    def back(seconds: np.ndarray) -> list[Part]:
        core = blocks["core"] if recompute == "selective" else None
        again = [part for b in layers for half in layer(b, blocks["F"][:, b]) for part in half]
        return _joined((again if recompute == "full" else []) + passed(seconds, core)[::-1])

    weight = Part(COMPUTE, blocks["W"][:, first:last].sum(axis=1))
    return {
        "F": _joined(passed(blocks["F"])),
        "B": back(blocks["B"]),
        SPLIT: [weight],
        WHOLE: back(blocks["B"] + blocks["W"]),
    }


def _joined(parts: Sequence[Part]) -> list[Part]:
    """The parts, those that compute one after the other as one."""
    found: list[Part] = []
    for part in parts:
        if part.kind == COMPUTE and found and found[-1].kind == COMPUTE:
            part = Part(COMPUTE, found.pop().amount + part.amount)
        found.append(part)
    return found

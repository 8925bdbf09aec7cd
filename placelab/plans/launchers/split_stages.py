"""What all launchers are told of a split: the blocks of each stage."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from placelab.base.errors import expect
from placelab.base.files import save
from placelab.models.shape import Shape
from placelab.plans.layer_split import LayerSplit


class Stage(NamedTuple):
    """A device that is not idle: its number in the cluster, its layers, and whether it has embedding and head."""

    device: int
    layers: range
    embedding: bool
    head: bool


def stages_of(split: LayerSplit, who: str) -> list[Stage]:
    """The stages of a split in their order; `who` names the caller in messages."""
    expect(split, LayerSplit, who)
    n = split.model.layers
    return [
        Stage(d, range(max(first - 1, 0), min(last - 1, n)), first == 0, last == n + 2)
        for d, first, last in split.stages
    ]


def modules_of(shape: Shape) -> list[str]:
    """Module paths of the blocks in the order in which they run, the final norm apart from the head."""
    root = "transformer" if shape.gpt else "model"
    first = ["transformer.wte", "transformer.wpe"] if shape.gpt else ["model.embed_tokens"]
    layers = [f"{root}.{'h' if shape.gpt else 'layers'}.{i}" for i in range(shape.layers)]
    return [*first, *layers, "transformer.ln_f" if shape.gpt else "model.norm", "lm_head"]


def modules_of_stages(split: LayerSplit, stages: list[Stage]) -> list[list[str]]:
    """The module paths of each stage."""
    modules = modules_of(split.model.shape)
    before = len(modules) - 2 - split.model.layers
    found = []
    for stage in stages:
        first = 0 if stage.embedding else before + stage.layers.start
        last = len(modules) if stage.head else before + stage.layers.stop
        found.append(modules[first:last])
    return found


def written(text: str, path: str | Path | None) -> str:
    """The text, which is also written to a file if there is a path."""
    if path is not None:
        save(text + "\n", path)
    return text

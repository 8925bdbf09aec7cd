"""Give a committed graph the shapes of its network, built anew: nothing is measured, and all costs stay."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from placelab import OpGraph
from placelab.formats import placelab_json

HELP = "measure nothing: keep the graph in the file, and give it the shapes of the network that is built anew"


def with_shapes_of(built: OpGraph, path: Path) -> OpGraph:
    """The graph in a file, with the shapes of the same network; ValueError where ops, edges or tensors differ."""
    kept = placelab_json.read(path)
    for name in ("names", "edges", "tensor_producer", "tensor_bytes", "edge_tensor"):
        if not np.array_equal(getattr(kept, name), getattr(built, name)):
            raise ValueError(f"{path.name}: its {name} are not those of the network, as another version may build it")
    return replace(kept, tensor_shape=built.tensor_shape, shapes=built.shapes)

"""Split points of ``torch.distributed.pipelining``: ``["model.layers.9", "model.layers.18", "model.layers.26"]``."""

from __future__ import annotations

import json
from pathlib import Path

from placelab.base.errors import FormatError, expect
from placelab.base.files import json_of
from placelab.models import Transformer
from placelab.plans.launchers.split_stages import modules_of, modules_of_stages, stages_of, written
from placelab.plans.layer_split import LayerSplit

EXPECTED = "a list of module paths"


def torch_split_points(split: LayerSplit, path: str | Path | None = None, *, parts: bool = False) -> str:
    """Where PyTorch's pipelines begin their stages: each name becomes ``split_spec={name: SplitPoint.BEGINNING}``.

    Parameters
    ----------
    split
        Layers over devices; stage k is the k-th device that is not idle.
    path
        JSON file to write them to, too.
    parts
        List all modules of each stage instead, as torchtitan's ``module_fqns_per_model_part``, with transformers' names.

    Returns
    -------
    str
        A list in JSON. The order of micro-batches is written by :func:`placelab.export.torch_schedule`.

    Examples
    --------
    >>> import placelab as pl
    >>> torch_split_points(pl.split_layers("llama-3-8b", pl.costs.cluster("h100"), fixed={0: 9, 1: 18, 2: 26}))
    '["model.layers.9", "model.layers.18", "model.layers.26"]'
    """
    expect(parts, bool, "parts")
    modules = modules_of_stages(split, stages_of(split, "export.torch_split_points"))
    return written(json.dumps(modules if parts else [stage[0] for stage in modules[1:]]), path)


def read_points(text: str, model: Transformer) -> list[list[str]]:
    """The modules of each stage that begins at the points, in the order in which they run.

    Raises
    ------
    FormatError
        JSON of a different kind; a name that is no module, or not behind the one before.
    """
    points = json_of(text.encode(), "the split points", EXPECTED)
    modules = modules_of(model.shape)
    if not isinstance(points, list) or not all(isinstance(point, str) for point in points):
        raise FormatError(f"the split points are {points!r:.80}; expected {EXPECTED}")
    at = [0]
    for point in points:
        if point not in modules[at[-1] + 1 :]:
            raise FormatError(f"split point {point!r:.80} is no module of {model.name} behind {modules[at[-1]]!r}")
        at.append(modules.index(point))
    return [modules[a:b] for a, b in zip(at, [*at[1:], len(modules)], strict=True)]

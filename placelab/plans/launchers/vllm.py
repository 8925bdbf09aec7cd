"""vLLM's ``VLLM_PP_LAYER_PARTITION=9,9,8,6``: layers of each rank of a pipeline."""

from __future__ import annotations

import re
from pathlib import Path

from placelab.base.errors import FormatError, UnsupportedError, count, expect
from placelab.plans.launchers.split_stages import stages_of, written
from placelab.plans.layer_split import LayerSplit

VARIABLE = "VLLM_PP_LAYER_PARTITION"
MOST_RANKS = 10_000


def vllm_partition(split: LayerSplit, path: str | Path | None = None) -> str:
    """The environment variable that tells vLLM how many layers each rank of its pipeline runs.

    Parameters
    ----------
    split
        Layers over devices; rank k is the k-th device that is not idle.
    path
        File to write it to, too.

    Returns
    -------
    str
        ``VLLM_PP_LAYER_PARTITION=9,9,8,6``; without it vLLM makes equal parts, and gives what is left to the last ranks but one.

    Raises
    ------
    UnsupportedError
        A rank without a layer, which vLLM does not run.

    Examples
    --------
    >>> import placelab as pl
    >>> vllm_partition(pl.split_layers("llama-3-8b", pl.costs.cluster("h100"), fixed={0: 9, 1: 18, 2: 26}))
    'VLLM_PP_LAYER_PARTITION=9,9,8,6'
    """
    stages = stages_of(split, "export.vllm_partition")
    for stage in stages:
        if not stage.layers:
            name = split.cluster.names[stage.device]
            raise UnsupportedError(f"{name!r} has no layer of {split.model.name}; vLLM runs one on each rank at least")
    return written(f"{VARIABLE}={','.join(str(len(s.layers)) for s in stages)}", path)


def read_partition(text: str, layers: int, ranks: int) -> list[int]:
    """Layers of each rank by vLLM's rule.

    Raises
    ------
    FormatError
        Another variable; not as many whole numbers of 1 or more as ranks; a sum that is not the layers.
    """
    expect(text, str, "a partition")
    found = re.fullmatch(rf"{VARIABLE}=(\d{{1,9}}(?:,\d{{1,9}})*)", text.strip())
    counts = [int(part) for part in found[1].split(",")] if found else []
    if len(counts) != ranks or min(counts, default=0) < 1 or sum(counts) != layers:
        raise FormatError(
            f"partition {text!r:.200}; expected {VARIABLE}=, {ranks} whole numbers of 1 or more, {layers} in all"
        )
    return counts


def default(layers: int, ranks: int) -> list[int]:
    """Layers of each rank if nobody says: equal parts, what is left goes to the last ranks but one.

    >>> default(32, 6), default(61, 4)
    ([5, 5, 5, 6, 6, 5], [15, 15, 16, 15])
    """
    ranks = count(ranks, "ranks", 1, MOST_RANKS)
    each, left = divmod(count(layers, "layers", ranks), ranks)
    return [each + (ranks - 1 - left <= rank < ranks - 1) for rank in range(ranks)]

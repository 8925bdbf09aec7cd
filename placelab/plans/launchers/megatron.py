"""Megatron-LM's ``--pipeline-model-parallel-layout``: ``Et*9|t*9|t*8|t*6L``.

A stage per ``|``; E is the embedding, t a layer, m a block of multi-token prediction, L the loss. ``x*n`` repeats a letter,
``(…)*n`` a group, which holds no other group; commas count for nothing.
"""

from __future__ import annotations

import re
from pathlib import Path

from placelab.base.errors import FormatError, count, expect
from placelab.plans.launchers.split_stages import stages_of, written
from placelab.plans.layer_split import LayerSplit

GROUP = re.compile(r"\(([^()]*)\)\*(\d{1,6})")
LETTER = re.compile(r"([^()*\d])\*(\d{1,6})")
MOST_LETTERS = 100_000


def megatron_layout(split: LayerSplit, path: str | Path | None = None) -> str:
    """The value of Megatron-LM's ``--pipeline-model-parallel-layout``; rank k is the k-th device that is not idle.

    Parameters
    ----------
    split
        Layers over devices.
    path
        File to write it to, too.

    Returns
    -------
    str
        The layout. It excludes ``--decoder-first-pipeline-num-layers``, ``--decoder-last-pipeline-num-layers`` and
        ``--num-layers-per-virtual-pipeline-stage``. O(devices).

    Examples
    --------
    >>> import placelab as pl
    >>> megatron_layout(pl.split_layers("llama-3-8b", pl.costs.cluster("h100"), fixed={0: 9, 1: 18, 2: 26}))
    'Et*9|t*9|t*8|t*6L'
    """
    stages = stages_of(split, "export.megatron_layout")
    return written("|".join(_stage(len(s.layers), s.embedding, s.head) for s in stages), path)


def _stage(layers: int, embedding: bool, head: bool) -> str:
    middle = f"t*{layers}" if layers > 2 else "t" * layers
    return f"{'E' * embedding}{middle}{'L' * head}"


def read_layout(text: str, ranks: int | None = None) -> list[str]:
    """The stages of a layout by Megatron's rule, chunk by chunk: stage = chunk · ranks + rank.

    Raises
    ------
    FormatError
        Letters other than E, t, m, L; no single E at the very start or no single L at the very end, an m before a t; a number of
        stages that the ranks do not divide.

    Examples
    --------
    >>> read_layout("E|(t|)*3,m|m||L")
    ['E', 't', 't', 't', 'm', 'm', '', 'L']
    """
    expect(text, str, "a layout")
    spread = _unrolled(_unrolled(text.replace(",", ""), GROUP), LETTER)
    if wrong := re.search(r"[^EtmL|]", spread):
        raise FormatError(f"layout {text!r:.200} has {wrong[0]!r}; expected E, t, m, L and |, x*n and (…)*n")
    letters = spread.replace("|", "")
    if not re.fullmatch("Et*m*L", letters):
        raise FormatError(
            f"layout {text!r:.200} has {letters!r:.60}; expected one E, layers t, then m, and one L at the end"
        )
    stages = spread.split("|")
    if ranks is not None and len(stages) % count(ranks, "ranks"):
        raise FormatError(f"layout {text!r:.200} has {len(stages)} stages, which {ranks} ranks do not divide")
    return stages


def _unrolled(text: str, pattern: re.Pattern[str]) -> str:
    if sum(len(m[1]) * int(m[2]) for m in pattern.finditer(text)) + len(text) > MOST_LETTERS:
        raise FormatError(f"layout {text!r:.200} has more than {MOST_LETTERS:,} letters when it is written out")
    return pattern.sub(lambda m: m[1] * int(m[2]), text)

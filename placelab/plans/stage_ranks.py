"""Which stages of a pipeline each rank has under a schedule, and which gradients are ops of their own."""

from __future__ import annotations

from typing import Literal

V_SHAPED = ("zb-v", "zb-auto", "dualpipe-v")  # with several chunks they go down the devices and up again
MERGED = ("dualpipe", "dualpipe-v")  # run forward and backward passes together


def layout_of(schedule: str, chunks: int) -> Literal["loop", "v", "dual"]:
    """The layout of :func:`placelab.generators.pipeline_training` that a schedule needs."""
    if schedule == "dualpipe":
        return "dual"
    return "v" if schedule in V_SHAPED and chunks > 1 else "loop"


def splits(schedule: str) -> bool:
    """Whether gradients of weights are ops of their own."""
    return schedule.startswith(("zb", "dualpipe"))


def rank_of(schedule: str, stage: int, p: int, chunks: int) -> int:
    """The rank of a stage; of DualPipe's twins, of the first one.

    >>> [rank_of("zb-v", stage, 2, 2) for stage in range(4)]
    [0, 1, 1, 0]
    """
    chunk, rank = divmod(stage, p)
    return p - 1 - rank if layout_of(schedule, chunks) == "v" and chunk % 2 else rank


def stages_of(schedule: str, rank: int, p: int, chunks: int) -> list[int]:
    """The stages of a rank; of DualPipe, its own and that of the twin that comes the other way.

    >>> stages_of("dualpipe", 0, 4, 1), stages_of("interleaved", 0, 4, 2)
    ([0, 3], [0, 4])
    """
    if layout_of(schedule, chunks) == "dual":
        return sorted({rank, p - 1 - rank})
    return [s for s in range(p * chunks) if rank_of(schedule, s, p, chunks) == rank]


def ranks_with(schedule: str, stage: int, p: int, chunks: int) -> list[int]:
    """The ranks that have a stage: two of DualPipe."""
    first = rank_of(schedule, stage, p, chunks)
    return sorted({first, p - 1 - stage}) if layout_of(schedule, chunks) == "dual" else [first]

"""The page *Fit my model on my machines* says what its pieces of code give."""

from __future__ import annotations

import pytest
from pages import run_page


@pytest.fixture(scope="module")
def names():
    """What the page's code defines, and the value of each piece by its last line."""
    return run_page("fit")


def test_the_slowest_device_sets_the_pace(names):
    """Devices take nearly equal times in the pipeline; the sum of one user's token is less than that of the pipeline's split."""
    split = names["split"]
    alone = names["alone"]
    values = names["values"]
    assert split.fits and split.seconds.min() > 0.7 * split.seconds.max()
    assert alone.counts[0] == max(alone.counts) and alone.value < split.seconds.sum()
    assert values["pl.export.vllm_partition(split)"] == f"VLLM_PP_LAYER_PARTITION={','.join(map(str, split.counts))}"
    assert values["pl.export.llama_cpp(split)"].startswith("-ngl 33 -sm layer -ts ")
    moved = names["moved"]
    assert moved.value > split.value and moved.counts[0] == split.counts[0] + 2
    assert "llama-3.1-70b does not fit: it needs 141 GB and there are 64 GB" in names["message"]


def test_the_first_stage_keeps_most(names):
    """Activations fall from stage to stage, and everything fits."""
    train = names["train"]
    kept = (train.frame["activations"] / train.frame["layers"]).tolist()
    assert train.fits and kept == sorted(kept, reverse=True) and kept[0] == pytest.approx(4 * kept[-1])
    assert names["values"]["pl.export.megatron_layout(train)"].count("|") == 3

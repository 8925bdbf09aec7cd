"""The search of plans: its best are those of trying all."""

from __future__ import annotations

import pytest

import placelab as pl
from placelab.plans.plan_steps import Planner

BOX = pl.costs.cluster("h100", 4, link="nvlink4")


@pytest.fixture(scope="module")
def usual():
    """The plans of a small model."""
    return pl.plan_search("gpt2", BOX, batch=16, sequence=1024)


@pytest.mark.slow
def test_the_bound_loses_none_of_the_top():
    """The first three are those of a search that gives none up, and every plan has either seconds or a reason."""
    sizes = dict(batch=16, sequence=1024, space=dict(microbatch=(1, 2), zero=(0, 1)))
    everything = pl.plan_search("gpt2", BOX, top=10_000, **sizes).frame
    few = pl.plan_search("gpt2", BOX, top=3, **sizes).frame
    assert few["seconds"].head(3).tolist() == everything["seconds"].head(3).tolist()
    assert few["seconds"].notna().sum() < everything["seconds"].notna().sum()
    for frame in (few, everything):
        assert (frame["seconds"].notna() == (frame["why_not"] == "")).all()


def test_the_best_is_that_of_its_plan(usual):
    """The best's seconds are those of the plan computed alone."""
    best = usual.best
    assert best.fits and Planner("gpt2", BOX, 16, 1024).result(best.plan).seconds == pytest.approx(best.seconds)


def test_nothing_fits():
    """The error has the plan that lacks least, its stage, a category and bytes."""
    found = pl.plan_search("llama-3.1-70b", BOX, batch=4, sequence=4096, space=dict(microbatch=(1,)))
    assert found.frame["seconds"].isna().all()
    with pytest.raises(pl.InfeasibleError, match=r"lacks least is dp .*: stage \d lacks .*B, most of it has"):
        _ = found.best


def test_schedules_that_a_trainer_has():
    """A space with schedules alone keeps the other choices, but for stage 3 of ZeRO in pipelines."""
    space = dict(schedule=("1f1b", "zb-h1"), microbatch=(1,), chunks=(1,))
    found = pl.plan_search("gpt2", BOX, batch=16, sequence=256, space=space).frame
    assert set(found["schedule"]) == {"1f1b", "zb-h1"} and set(found["zero"]) == {0, 1, 3}
    assert (found[found["zero"] == 3]["pp"] == 1).all()


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (dict(cp=(1,)), "space has 'cp'; a plan has dp, tp"),
        (dict(tp=2), r"space\['tp'\]"),
        (dict(tp=("2",)), r"space\['tp'\] is '2'"),
        (dict(schedule="1f1b"), r"space\['schedule'\]"),
        (3, "space needs a Mapping"),
    ],
)
def test_other_spaces(space, words):
    """One sentence names the field and what was found."""
    with pytest.raises(pl.FormatError, match=words):
        pl.plan_search("gpt2", BOX, batch=4, sequence=1024, space=space)


@pytest.mark.slow
def test_over_devices_and_sequences():
    """A cell has the plans of a search on its own; the best one has most tokens per second; a plane has the best of each cell."""
    sizes = dict(batch=16, space=dict(microbatch=(1, 2), zero=(0, 1), schedule=("1f1b", "interleaved")))
    found = pl.plan_search("gpt2", BOX, sequence=1024, over={"devices": [2, 4], "sequence": [256, 1024]}, **sizes)
    two = pl.costs.cluster("h100", 2, link="nvlink4")
    alone = pl.plan_search("gpt2", two, sequence=256, **sizes)
    cell = found.frame[(found.frame["devices"] == 2) & (found.frame["sequence"] == 256)]
    assert cell["seconds"].dropna().tolist() == pytest.approx(alone.frame["seconds"].dropna().tolist())
    plane = found.plane("devices", "sequence")
    assert plane.loc[256, 2] == pytest.approx(alone.best.seconds) and plane.shape == (2, 2)
    rates = found.plane("devices", "sequence", "tokens_per_second").to_numpy()
    assert rates.max() == found.best.tokens_per_second and (rates[:, 1] > rates[:, 0]).all()


def test_a_plane_of_degrees(usual):
    """Cells of degrees that do not multiply to the devices are empty; the figure has a cell for each of the others."""
    plane = usual.plane("dp", "pp")
    assert plane.min().min() == usual.best.seconds and plane.isna().loc[4, 4] and plane.notna().loc[1, 4]
    figure = pl.plots.plane(usual, "dp", "pp")
    drawn = [x for r in figure.renderers if r.name == "cells" for x in r.data_source.data["x"]]
    assert len(drawn) == plane.notna().sum().sum()
    with pytest.raises(pl.FormatError, match="the plans have no column 'cp'"):
        usual.plane("cp", "pp")


@pytest.mark.parametrize(
    ("over", "words"),
    [
        (dict(cp=(1,)), "over has 'cp'; expected some of devices, batch, sequence"),
        (dict(devices=(8,)), "devices is 8"),
        (dict(devices=()), "over has no values"),
        (dict(devices=4), "devices"),
    ],
)
def test_other_axes(over, words):
    """One sentence says what was found."""
    with pytest.raises(pl.FormatError, match=words):
        pl.plan_search("gpt2", BOX, batch=4, sequence=1024, over=over)

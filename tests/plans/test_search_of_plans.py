"""The search of plans: its best are those of trying all."""

from __future__ import annotations

import pytest

import placelab as pl
from placelab.plans.plan_steps import Planner

BOX = pl.costs.cluster("h100", 4, link="nvlink4")


def test_the_bound_loses_none_of_the_top():
    """The first three are those of a search that gives none up, and every plan has either seconds or a reason."""
    sizes = dict(batch=16, sequence=1024, space=dict(microbatch=(1, 2), zero=(0, 1)))
    everything = pl.plan_search("gpt2", BOX, top=10_000, **sizes).frame
    few = pl.plan_search("gpt2", BOX, top=3, **sizes).frame
    assert few["seconds"].head(3).tolist() == everything["seconds"].head(3).tolist()
    assert few["seconds"].notna().sum() < everything["seconds"].notna().sum()
    for frame in (few, everything):
        assert (frame["seconds"].notna() == (frame["why_not"] == "")).all()


def test_the_best_is_that_of_its_plan():
    """The best's seconds are those of the plan computed alone."""
    best = pl.plan_search("gpt2", BOX, batch=16, sequence=1024).best
    assert best.fits and Planner("gpt2", BOX, 16, 1024).result(best.plan).seconds == pytest.approx(best.seconds)


def test_nothing_fits():
    """The error has the plan that lacks least, its stage, a category and bytes."""
    found = pl.plan_search("llama-3.1-70b", BOX, batch=4, sequence=4096, space=dict(microbatch=(1,)))
    assert found.frame["seconds"].isna().all()
    with pytest.raises(pl.InfeasibleError, match=r"lacks least is dp .*: stage \d lacks .*B, most of it has"):
        _ = found.best


def test_another_field():
    """A field that plans do not have is named."""
    with pytest.raises(pl.FormatError, match="space has 'cp'"):
        pl.plan_search("gpt2", BOX, batch=4, sequence=1024, space=dict(cp=(1,)))

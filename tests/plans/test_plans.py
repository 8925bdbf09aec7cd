"""Plans: a training step's seconds and bytes by its degrees."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl
from placelab.plans.stage_pipeline import Step, pipeline_of, run_pipeline

H100 = pl.costs.cluster("h100", 8, link="nvlink4")


@pytest.mark.parametrize(
    ("n", "t", "p", "m", "seconds"),
    [(2, 2, 2, 4, 50.46), (1, 4, 2, 4, 48.24), (2, 1, 4, 8, 82.18), (4, 2, 2, 3, 46.42), (2, 4, 2, 4, 56.26)],
)
def test_one_rank_of_a_replica(n, t, p, m, seconds):
    """Golden G1: two layers a stage, an all-reduce of 4 bytes after each, activations of 2, gradients of 16."""
    link = dict(latency=0.01)
    each = pl.collective_time("all-reduce", 4, t, bandwidth=8, **link)
    gradients = pl.collective_time("all-reduce", 16, n, bandwidth=2, **link)
    step = Step((2 * (1 + each),) * p, (2 * (2 + each),) * p, (0.0,) * p, 2.0, (gradients,) * p)
    cluster = pl.Cluster([1.0] * p, bandwidth=4.0, latency=0.01)
    schedule = run_pipeline(pipeline_of(step, m, pl.Plan(pp=p), cluster), "1f1b")
    assert schedule.makespan + gradients == pytest.approx(seconds)


def test_a_plan_is_what_its_parts_say():
    """Without a pipeline and peers a step is m passes; two replicas halve it but for the gradients' exchange."""
    one = pl.plan("gpt2", H100, pl.Plan(), batch=8, sequence=1024)
    two = pl.plan("gpt2", H100, pl.Plan(dp=2), batch=8, sequence=1024)
    assert one.exposed == 0 and one.bubble == 0 and one.fits
    assert two.seconds - two.exposed == pytest.approx(one.seconds / 2) and two.exposed > 0
    assert one.tokens_per_second == pytest.approx(8 * 1024 / one.seconds) and 0 < one.mfu < 1


@pytest.mark.parametrize("schedule", ["1f1b", "gpipe", "zb-h1", "zb-h2"])
def test_a_pipeline_has_its_bubble(schedule):
    """The schedule is legal and takes as long as the plan says, its gradients aside."""
    found = pl.plan("llama-3-8b", H100, pl.Plan(tp=2, pp=4, schedule=schedule), batch=8, sequence=2048)
    assert found.schedule().makespan == pytest.approx(found.seconds - found.exposed)
    assert not pl.validate(found.schedule()) and 0 < found.bubble < 1
    assert len(found.memory) == 4 and (found.memory["total"] > 0).all()


def test_recomputing_trades_seconds_for_bytes():
    """Full recomputation takes longer and keeps less."""
    kept, again = (
        pl.plan("llama-3-8b", H100, pl.Plan(tp=8, recompute=how), batch=8, sequence=4096) for how in ("none", "full")
    )
    assert again.seconds > kept.seconds
    assert again.memory["activations"].iloc[0] < kept.memory["activations"].iloc[0]


def test_layers_that_stages_do_not_divide():
    """They are split so that the slowest stage is fastest."""
    found = pl.plan("llama-3-8b", H100, pl.Plan(pp=5), batch=8, sequence=1024)
    assert sum(found.plan.layers) == 32 and np.ptp(found.plan.layers[:-1]) <= 1


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (dict(tp=3), "tp 3 does not divide 32 heads"),
        (dict(dp=16), "dp · tp · pp is 16, and there are 8 devices"),
        (dict(ep=2, dp=2), "the model has no experts"),
        (dict(microbatch=3), "dp · microbatch, 3, does not divide the batch, 8"),
        (dict(pp=2, layers=(1, 2)), "layers sum to 3, not to 32"),
    ],
)
def test_degrees_that_do_not_fit(plan, words):
    """One sentence has the relation that is broken."""
    with pytest.raises(pl.UnsupportedError, match=words):
        pl.plan("llama-3-8b", H100, pl.Plan(**plan), batch=8, sequence=1024)


@pytest.mark.parametrize("value", [0, -1, 10**9, "2", 1.5, None, True, float("nan")])
@pytest.mark.parametrize("label", ["dp", "tp", "pp", "ep", "microbatch", "chunks"])
def test_hostile_degrees(label, value):
    """They raise one sentence that names the degree."""
    with pytest.raises(pl.FormatError, match=label) as error:
        pl.Plan(**{label: value})
    assert "\n" not in str(error.value) and len(str(error.value)) < 200

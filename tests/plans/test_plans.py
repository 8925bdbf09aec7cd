"""Plans: a training step's seconds and bytes by its degrees."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest

import placelab as pl
from placelab.plans.stage_pipeline import Step, costed, placed, run_placed, unit_pipeline

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
    plan = pl.Plan(pp=p)
    pipeline = costed(unit_pipeline(m, plan, cluster), step, plan)
    schedule = run_placed(placed(pipeline, "1f1b"), "1f1b")
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


@pytest.mark.parametrize("zero", [0, 1, 2])
def test_a_single_stage(zero):
    """Its passes are added up as the simulator adds them; half a million micro-batches are not simulated for it."""
    for batch in (2, 7, 100):
        found = pl.plan("gpt2", H100, pl.Plan(dp=2, zero=zero), batch=2 * batch, sequence=64)
        assert found.seconds - found.exposed == pytest.approx(found.schedule().makespan, rel=1e-15)
        assert found.schedule("gradients").makespan == pytest.approx(found.seconds, rel=1e-12)
    begun = time.process_time()
    many = pl.plan("gpt2", H100, pl.Plan(dp=2, zero=zero), batch=1_000_000, sequence=64)
    assert time.process_time() - begun < 3 and many.memory.equals(found.memory)


MIXTURE = dict(
    model_type="mixtral", hidden_size=1024, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=8,
    intermediate_size=3584, vocab_size=64, num_local_experts=8, num_experts_per_tok=2,
)  # fmt: skip


def passes(plan: pl.Plan, sequence: int, **options) -> float:
    """Seconds of the passes of a mixture of experts on eight H100 whose links take none."""
    cluster = H100.replace(bandwidth=np.inf, latency=0.0)
    found = pl.plan(pl.models.read(MIXTURE | options), cluster, plan, batch=8, sequence=sequence)
    return found.seconds - found.exposed


@pytest.mark.parametrize(
    ("dp", "tp", "ep", "experts"), [(8, 1, 2, 4), (8, 1, 4, 2), (8, 1, 8, 1), (4, 2, 2, 2), (2, 4, 8, 1), (1, 8, 8, 1)]
)
def test_a_rank_reads_the_weights_of_its_experts(dp, tp, ep, experts):
    """Golden by hand, 64 tokens a rank, all experts chosen: three products read E/e experts of 3hf elements of 2 bytes, gradients
    of their inputs read them again, and those of the weights are as many; operations do not change, since each rank computes what
    all ranks' tokens chose."""
    layers = 2
    element = 2
    bandwidth = pl.costs.specs()["h100"].memory_bandwidth
    held = 3 * 1024 * 3584 * element
    without = layers * 3 * held * 8 / tp / bandwidth * 8 / dp
    apart = layers * 3 * held * experts / bandwidth * 8 / dp
    saved = passes(pl.Plan(dp=dp, tp=tp), 64) - passes(pl.Plan(dp=dp, tp=tp, ep=ep), 64)
    assert saved == pytest.approx(without - apart, rel=1e-6, abs=1e-12)


def test_operations_of_experts_do_not_depend_on_where_they_are():
    """With so many tokens that arithmetic takes longer than memory, a rank computes as long for any ep."""
    seconds = [passes(pl.Plan(dp=8, ep=ep), 32768, num_hidden_layers=1) for ep in (1, 2, 4, 8)]
    assert seconds == pytest.approx([seconds[0]] * 4, rel=1e-12)


def test_more_ranks_that_share_experts_never_read_more():
    """Random sizes and degrees: passes get no longer as ep grows."""
    source = np.random.default_rng(0)
    for _ in range(20):
        experts = int(source.choice([8, 16, 64]))
        sizes = dict(num_local_experts=experts, intermediate_size=128 * int(source.integers(1, 20)))
        tp = int(source.choice([1, 2]))
        sequence = int(source.choice([4, 64, 2048]))
        taken = [passes(pl.Plan(dp=8 // tp, tp=tp, ep=ep), sequence, **sizes) for ep in (1, 2, 4, 8)]
        assert all(after <= before * (1 + 1e-12) for before, after in pairwise(taken))


def test_few_tokens_choose_few_experts():
    """Two tokens of two experts each on eight ranks: of 64 experts a rank reads 4, whether it has all of them or 8."""
    apart, shared = (passes(pl.Plan(dp=8, ep=ep), 2, num_local_experts=64) for ep in (1, 8))
    assert shared == pytest.approx(apart, rel=1e-12)


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

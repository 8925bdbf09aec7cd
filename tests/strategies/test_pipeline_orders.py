"""Schedulers of pipelines: bubbles and peaks in closed form, on equal stages."""

from collections.abc import Iterable
from itertools import product

import numpy as np
import pytest

import placelab as pl
from placelab.analysis.measures import bubbles
from placelab.planning.pipeline_orders import round_of

training = pl.generators.pipeline_training
COSTS = [(1, 1, 1), (10, 12, 8), (2, 3, 2), (3, 3, 2), (4, 4, 1)]
STAGES = range(2, 9)


def run(problem: pl.Problem, scheduler: str, **options: object) -> pl.Schedule:
    """The only placement of a pipeline, under a scheduler, found legal."""
    schedule = pl.simulate(problem, pl.place(problem, "round-robin"), scheduler, **options)
    assert pl.validate(schedule) == []
    return schedule


@pytest.mark.parametrize("p", STAGES)
def test_gpipe_and_1f1b(p):
    """Bubble (p - 1)(F + B + W), (p - 1)/(m + p - 1) of the makespan; m activations, or min(m, p - s)."""
    for m, (f, b, w) in product((1, 3, p, 3 * p + 1), COSTS):
        problem = training(f, b + w, microbatches=m, stages=p, activation=1.0)
        for scheduler, peaks in (("gpipe", [m] * p), ("1f1b", [min(m, p - s) for s in range(p)])):
            schedule = run(problem, scheduler)
            assert bubbles(schedule)["bubble"] == (p - 1) * (f + b + w)
            assert bubbles(schedule)["bubble"] / schedule.makespan == pytest.approx((p - 1) / (m + p - 1))
            assert schedule.peak_memory.tolist() == peaks


@pytest.mark.parametrize(("p", "v"), list(product(STAGES, (1, 2, 3))))
def test_interleaved(p, v):
    """Bubble (p - 1)(F + B + W)/v; min(mv, 2(p - s - 1) + (v - 1)p + 1) activations of chunks."""
    for m, (f, b, w) in product((p, 2 * p, 4 * p), COSTS[:3]):
        problem = training(f, b + w, microbatches=m, stages=p, chunks=v, activation=float(v))
        schedule = run(problem, "interleaved")
        assert bubbles(schedule)["bubble"] == pytest.approx((p - 1) * (f + b + w) / v)
        peaks = [min(m * v, 2 * (p - s - 1) + (v - 1) * p + 1) for s in range(p)]
        assert schedule.peak_memory == pytest.approx(peaks) and pl.stages(schedule)["activations"].tolist() == peaks


def test_rounds_of_interleaved_micro_batches():
    """Golden P1: four devices, two chunks each, ten micro-batches in rounds of 5, 6 and 10; of 4, the last round is short."""
    problem = training(1.0, 2.0, microbatches=10, stages=4, chunks=2)
    for group, seconds in ((0, 34.5), (5, 34.5), (6, 34.5), (10, 34.5)):
        assert run(problem, "interleaved", group=group).makespan == seconds
    assert pl.stages(run(problem, "interleaved"))["activations"].tolist() == [12, 10, 8, 6]
    with pytest.warns(
        UserWarning, match="the last round has 2 of 10 micro-batches, fewer than devices, 4; group=5 has no"
    ):
        assert run(problem, "interleaved", group=4).makespan == 39.5
    few = training(1.0, 2.0, microbatches=3, stages=4, chunks=2)
    assert run(few, "interleaved").makespan == run(few, "interleaved", group=3).makespan == 15
    for group, words in ((2, "group is 2; expected 4, one per device, to 10"), (11, "group is 11")):
        with pytest.raises(pl.UnsupportedError, match=words):
            run(problem, "interleaved", group=group)
    with pytest.raises(pl.UnsupportedError, match="group is 4; with 3 micro-batches on 4 devices a round has all 3"):
        run(few, "interleaved", group=4)
    for group in (-1, 1.5, "4", None, float("nan")):
        with pytest.raises(pl.PlacelabError, match="group"):
            run(problem, "interleaved", group=group)


@pytest.mark.slow
def test_the_usual_round():
    """Golden P2: the sizes of rounds on four devices; the bubble is that of full rounds for every number of micro-batches."""
    assert [round_of(4, m) for m in range(3, 18)] == [3, 4, 5, 6, 7, 4, 5, 5, 6, 4, 7, 5, 5, 4, 6]
    assert full_rounds((2, 3, 5), (2, 3)) == 234


def full_rounds(devices: Iterable[int], chunks: Iterable[int]) -> int:
    """How many pipelines take (m + (p - 1)/v)(F + B): all for p to 4p + 2 micro-batches and three sets of costs."""
    tried = 0
    for p, v, (f, b) in product(devices, chunks, ((1, 2), (2, 2), (3, 4))):
        for m in range(p, 4 * p + 3):
            problem = training(f, b, microbatches=m, stages=p, chunks=v)
            assert run(problem, "interleaved").makespan == pytest.approx((m + (p - 1) / v) * (f + b))
            tried += 1
    return tried


@pytest.mark.slow
def test_the_usual_round_of_all():
    """Golden P2, whole: 1,134 pipelines of 2 to 8 devices with 2 to 4 chunks each."""
    assert full_rounds(range(2, 9), (2, 3, 4)) == 1_134


@pytest.mark.parametrize(("v", "m", "seconds"), [(2, 8, 28.5), (2, 10, 34.5), (4, 8, 26.25)])
def test_looped_bfs(v, m, seconds):
    """Golden P3: the bubble of interleaved chunks; all activations are held."""
    schedule = run(training(1.0, 2.0, microbatches=m, stages=4, chunks=v), "looped-bfs")
    assert schedule.makespan == seconds and set(pl.stages(schedule)["activations"]) == {m * v}


@pytest.mark.parametrize(("v", "m", "seconds"), [(1, 8, 11), (2, 8, 9.5), (2, 10, 11.5), (1, 1, 4)])
def test_forward_only(v, m, seconds):
    """Golden P8: without backward ops a pipeline takes (m + (p - 1)/v)F; other schedulers run it, too."""
    problem = training(1.0, None, microbatches=m, stages=4, chunks=v, transfer=1.0)
    assert run(problem, "forward-only").makespan == seconds
    assert run(problem, "interleaved").makespan == seconds <= run(problem, "gpipe").makespan
    assert not any(name.startswith("B") for name in problem.graph.names)


@pytest.mark.parametrize("p", [*STAGES[:5], *(pytest.param(p, marks=pytest.mark.slow) for p in STAGES[5:])])
def test_zero_bubble(p):
    """Bubble of the longest span (p - 1)(F + B - kW), with k = 1 of the makespan, too; k(p - 1) + 1 activations."""
    for k, (f, b, w) in product((1, 2), COSTS):
        for m in (2 * p - 1, 3 * p) if k == 2 else (p, p + 1, 3 * p):
            schedule = run(training(f, b, w, microbatches=m, stages=p, activation=1.0), f"zb-h{k}")
            if f + b - k * w >= 0:
                assert bubbles(schedule)["bubble_span"] == pytest.approx((p - 1) * (f + b - k * w))
                assert k == 2 or bubbles(schedule)["bubble"] == pytest.approx((p - 1) * (f + b - k * w))
            assert schedule.peak_memory.max() == min(m, k * (p - 1) + 1)


@pytest.mark.parametrize("p", [*STAGES[:2], *(pytest.param(p, marks=pytest.mark.slow) for p in STAGES[2:])])
def test_zb_auto(p):
    """No longer than zb-h2 at its memory, than zb-h1 at its; never more activations than the cap."""
    for m, (f, b, w) in product((3, 2 * p), COSTS[:3]):
        problem = training(f, b, w, microbatches=m, stages=p, activation=1.0)
        auto = run(problem, "zb-auto")
        one = run(problem, "zb-auto", cap=p)
        span = lambda schedule: bubbles(schedule)["bubble_span"]  # noqa: E731
        assert span(auto) <= span(run(problem, "zb-h2")) + 1e-9 and auto.peak_memory.max() <= 2 * p - 1
        assert span(one) <= span(run(problem, "zb-h1")) + 1e-9 and one.peak_memory.max() <= p
        assert run(problem, "zb-auto", cap=1).peak_memory.max() == 1
        short = run(problem, "zb-auto", objective="makespan")
        assert short.makespan <= auto.makespan + 1e-9


def test_zb_auto_gains_on_unequal_stages():
    """Where stages differ and links take time, the greedy orders beat the published ones."""
    cluster = pl.Cluster([1.0] * 4, bandwidth=2.0)
    stages = dict(forward=[2, 2, 2, 4], backward=[3, 3, 4, 2], weight=[1, 2, 3, 1])
    problem = training(**stages, microbatches=8, transfer=1.0, activation=1.0, cluster=cluster)
    assert (
        bubbles(run(problem, "zb-h1"))["bubble_span"] == 10
        and bubbles(run(problem, "zb-auto", cap=4))["bubble_span"] == 5
    )
    assert bubbles(run(problem, "zb-h2"))["bubble_span"] == 3 and bubbles(run(problem, "zb-auto"))["bubble_span"] == 0


@pytest.mark.parametrize("p", STAGES)
def test_zb_v(p):
    """With F = B = W, no device is idle between its first and its last op, within the memory of 1F1B."""
    for m in (2 * p - 1, 2 * p, 4 * p):
        schedule = run(training(1, 1, 1, microbatches=m, stages=p, chunks=2, layout="v", activation=1.0), "zb-v")
        assert bubbles(schedule)["bubble_span"] == 0 and schedule.peak_memory.max() == p
        assert pl.stages(schedule)["idle"].tolist() == [0] * p
    for m in (1, p):
        run(training(1, 2, 1, microbatches=m, stages=p, chunks=2, layout="v"), "zb-v")


def test_several_stages_on_a_device():
    """gpipe runs stage by stage; zb-auto stays within its cap and never waits for ever."""
    for layout, v in (("loop", 2), ("v", 2), ("v", 3)):
        problem = training(2, 2, 2, microbatches=6, stages=3, chunks=v, layout=layout, activation=1.0)
        run(problem, "gpipe")
        for cap in (v, 2 * v, 10):
            assert bubbles(run(problem, "zb-auto", cap=cap))["peak_activations"] <= cap


@pytest.mark.parametrize(
    ("scheduler", "options", "words"),
    [
        ("1f1b", dict(chunks=2), "'1f1b' needs one stage per device; 'interleaved'"),
        (
            "zb-h1",
            dict(),
            "'zb-h1' needs the gradients of weights as ops of their own: give pipeline_training a weight",
        ),
        ("zb-auto", dict(), "'zb-auto' needs the gradients of weights"),
        ("interleaved", dict(chunks=2, layout="v"), "'interleaved' needs stages 0, 2, … on the first device"),
        ("looped-bfs", dict(chunks=2, layout="v"), "'looped-bfs' needs stages 0, 2, … on the first device"),
        ("forward-only", dict(), "'forward-only' needs a pipeline without backward ops"),
        ("zb-h1", dict(backward=None), "'zb-h1' needs the gradients of weights as ops of their own"),
        ("zb-v", dict(chunks=2, weight=1.0), "'zb-v' needs two stages per device, down and up again"),
    ],
)
def test_what_does_not_fit_is_refused(scheduler, options, words):
    """One sentence says what the scheduler needs."""
    problem = training(**(dict(forward=1.0, backward=1.0, stages=2, microbatches=4) | options))
    with pytest.raises(pl.UnsupportedError, match=words):
        run(problem, scheduler)


def test_pinned_apart():
    """A stage whose ops are on two devices is refused by name."""
    free = training(1.0, 1.0, microbatches=2, stages=2).graph
    graph = pl.OpGraph.from_arrays(free.names, free.compute, free.edges, metadata=free.metadata)
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0]))
    device = np.arange(graph.n_ops) % 2
    with pytest.raises(
        pl.UnsupportedError, match=r"'gpipe' needs each stage on one device; '.*' is apart from its stage"
    ):
        pl.simulate(problem, pl.Placement(problem, device), "gpipe")

"""All ranks of a plan: the step takes as long as that of one rank where devices and links are equal."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import numpy as np
import pytest
from examples import fewer

import placelab as pl
from placelab.plans.gathered_units import actions, gathered_seconds
from placelab.plans.plan_collectives import Gradients
from placelab.plans.rank_passes import Part, every_rank
from placelab.plans.stage_pipeline import Step, costed, placed, run_placed, unit_pipeline

MODELS = {
    "dense": dict(model_type="llama", num_key_value_heads=4),
    "experts": dict(model_type="mixtral", num_local_experts=4, num_experts_per_tok=2, num_key_value_heads=4),
}
SIZES = dict(hidden_size=256, num_hidden_layers=6, num_attention_heads=4, intermediate_size=512, vocab_size=1024)
H100 = pl.costs.cluster("h100", 16, link="nvlink4")


def links(n: int, t: int, p: int) -> pl.Cluster:
    """Devices of speed 1; 8 bytes/s within tensor groups, 4 between stages, 2 between replicas."""
    d = np.arange(n * t * p)
    stage = d // (n * t)
    replica = d // t % n
    rate = np.where(stage[:, None] != stage, 4.0, np.where(replica[:, None] != replica, 2.0, 8.0))
    return pl.Cluster([1.0] * len(d), bandwidth=rate, latency=0.01)


def with_streams(found: pl.PlanResult) -> None:
    """One rank of each stage and its streams take the plan's seconds, too; collectives are nowhere else."""
    sums_beside(found)
    one = found.schedule("streams")
    assert one.makespan == pytest.approx(found.seconds, rel=1e-9) and pl.validate(one) == []
    names = np.array(one.problem.cluster.names)
    kinds = one.problem.graph.kind
    sent = np.isin(kinds, ("reduce", "gather", "exchange"))
    assert len(names) == found.plan.pp * (3 if found.plan.zero > 1 else 2)
    assert [("/" in name) for name in names[one.device]] == sent.tolist()


def gathers_between(found: pl.PlanResult, sent: pl.Schedule) -> None:
    """Passes of each block, that wait for their weights; any scheduler takes as long."""
    graph = sent.problem.graph
    kinds = graph.kind
    layers = SIZES["num_hidden_layers"]
    m = len({name.partition(".")[0] for name in graph.names[kinds == "F"]})
    assert [int((kinds == kind).sum()) for kind in "FB"] == [m * (layers + 2)] * 2
    assert [int((kinds == kind).sum()) for kind in ("gather", "scatter")] == [m * 2 * layers, m * (layers + 1)]
    at = {name.partition("@")[0]: v for v, name in enumerate(graph.names.tolist())}
    for k in range(1, layers + 1):
        assert sent.start[at[f"F0.{k}"]] >= sent.finish[at[f"gather/F0.{k}"]]
        assert sent.start[at[f"scatter/BW0.{k}"]] >= sent.finish[at[f"BW0.{k}"]]
    for scheduler in ("fifo", "random"):
        assert pl.solve(sent.problem, "round-robin", scheduler).makespan == sent.makespan


def test_a_long_step_has_no_gathers():
    """Of more than 30,000 actions one rank's chart has the passes alone."""
    found = pl.plan(pl.models.read(SIZES | MODELS["dense"]), H100, pl.Plan(dp=16, zero=3), batch=16 * 900, sequence=16)
    assert found.problem("gradients") is found.problem() and found.seconds > found.schedule().makespan


def sums_beside(found: pl.PlanResult) -> None:
    """The pipeline with its gradients on a stream next to each device takes the plan's seconds; its passes start as without."""
    one = found.schedule()
    sent = found.schedule("gradients")
    if found.plan.dp == 1 and found.plan.schedule != "dualpipe":
        assert sent.problem is one.problem
        return
    assert sent.makespan == pytest.approx(found.seconds, rel=1e-12) and pl.validate(sent) == []
    streams = [f"{name}{at}" for name in one.problem.cluster.names for at in ("", "/stream")]
    assert list(sent.problem.cluster.names) == streams
    sums = np.isin(sent.problem.graph.kind, ("reduce", "scatter", "gather"))
    assert sums.any() and (sent.device % 2 == 1).tolist() == sums.tolist()
    if found.plan.zero == 3:
        return gathers_between(found, sent)
    began = dict(zip(one.problem.graph.names, one.start, strict=True))
    passes = dict(zip(sent.problem.graph.names[~sums], sent.start[~sums], strict=True))
    assert began == passes and sent.scheduler in (found.plan.schedule, "planned")


@pytest.mark.parametrize(
    ("n", "t", "p", "m", "seconds"),
    [(2, 2, 2, 4, 50.46), (1, 4, 2, 4, 48.24), (2, 1, 4, 8, 82.18), (4, 2, 2, 3, 46.42), (2, 4, 2, 4, 56.26)],
)
def test_ranks_by_hand(n, t, p, m, seconds):
    """Golden G1, ranks="all": two layers a stage, an all-reduce of 4 bytes after each, activations of 2, gradients of 16."""
    each = pl.collective_time("all-reduce", 4, t, bandwidth=8, latency=0.01)
    step = Step((2 * (1 + each),) * p, (2 * (2 + each),) * p, (0.0,) * p, 2.0, (0.0,) * p)
    plan = pl.Plan(dp=n, tp=t, pp=p)
    cluster = links(n, t, p)
    pipeline = costed(unit_pipeline(m, plan, pl.Cluster([1.0] * p, bandwidth=4.0, latency=0.01)), step, plan)
    one = run_placed(placed(pipeline.replace(transfers="channel"), "1f1b"), "1f1b")
    sums = [Part("all-reduce", 4.0)] * (t > 1)
    work = {phase: [Part("compute", np.full(n * t * p, cost)), *sums] * 2 for phase, cost in (("F", 1.0), ("BW", 2.0))}
    placement = every_rank(plan, cluster, one, [work] * p, [Gradients(16.0)] * p)
    schedule = pl.simulate(placement.problem, placement)
    assert schedule.makespan == pytest.approx(seconds) and pl.validate(schedule) == []
    assert placement.problem.graph.n_ops > 4 * one.problem.graph.n_ops


@pytest.mark.parametrize(
    "schedule", ["gpipe", "1f1b", "interleaved", "looped-bfs", "zb-h1", "zb-v", "dualpipe", "dualpipe-v"]
)
def test_all_ranks_take_as_long_as_one(schedule):
    """Random degrees of models with and without experts, recomputation and ZeRO; the plan's seconds, and a legal schedule."""
    source = random.Random(schedule)
    for _ in range(fewer(8)):
        kind = source.choice(list(MODELS))
        chunks = 2 if schedule in ("interleaved", "looped-bfs", "zb-v", "dualpipe-v") else 1
        dp, tp, pp = source.choice(((2, 2, 2), (1, 2, 2), (2, 1, 3), (1, 4, 2), (4, 1, 2), (2, 4, 1)))
        pp = 2 if "dualpipe" in schedule else pp
        plan = pl.Plan(
            dp=dp, tp=tp, pp=pp, ep=source.choice((1, 2)) if kind == "experts" and dp * tp > 1 else 1,
            schedule=schedule, chunks=chunks if pp > 1 else 1, zero=source.choice((0, 1, 2)),
            recompute=source.choice(("none", "full", "selective")), sequence_parallel=source.random() < 0.5,
        ) if pp > 1 or schedule == "1f1b" else pl.Plan(dp=dp, tp=tp, zero=1)  # fmt: skip
        model = pl.models.read(SIZES | MODELS[kind])
        found = pl.plan(model, H100, plan, batch=6 * dp, sequence=64)
        with_streams(found)
        every = found.schedule("all")
        assert every.makespan == pytest.approx(found.seconds, rel=1e-9) and pl.validate(every) == []
        names = every.problem.cluster.names
        assert len(names) == (3 if plan.zero == 2 else 2) * plan.devices
        hops = np.isin(every.problem.graph.kind, ("ready", "reduce", "gather", "exchange"))
        assert {names[d].endswith(("/stream", "/gather")) for d in every.device[hops]} <= {True}


@pytest.mark.parametrize(("seconds", "expected"), [(1, (35, 26, 26)), (3, (57, 37, 33)), (6, (90, 66, 66))])
def test_units_gathered_ahead(seconds, expected):
    """Golden Z1: four layers of 2 s and 4 s; one, two and three of them gathered at a time."""
    passes = {"F": [0, 2, 2, 2, 2, 0], "BW": [0, 4, 4, 4, 4, 0]}
    sent = lambda blocks: (0, 0) if 0 in blocks else (seconds, seconds)  # noqa: E731
    assert tuple(gathered_seconds(actions(4, 1, limit), passes, sent) for limit in (1, 2, 3)) == expected


@pytest.mark.parametrize("kind", list(MODELS))
def test_gathered_weights(kind):
    """ZeRO 3 on all ranks takes the plan's seconds, whether gathers or passes take longer; each rank has two streams."""
    source = random.Random(kind)
    for _ in range(fewer(8)):
        dp, tp = source.choice(((2, 1), (4, 1), (2, 2), (2, 4)))
        ep = source.choice((1, 2, 4)) if kind == "experts" else 1
        recompute = source.choice(("none", "full"))
        plan = pl.Plan(dp=dp, tp=tp, ep=ep if dp * tp % ep == 0 else 1, zero=3, recompute=recompute)
        rate = source.choice((1e9, 4.5e11))
        cluster = H100.replace(bandwidth=np.where(np.eye(16) > 0, np.inf, rate))
        found = pl.plan(pl.models.read(SIZES | MODELS[kind]), cluster, plan, batch=3 * dp, sequence=256)
        with_streams(found)
        every = found.schedule("all")
        assert every.makespan == pytest.approx(found.seconds, rel=1e-9) and pl.validate(every) == []
        names = np.array(every.problem.cluster.names)[every.device]
        gathers = np.array([name.startswith(("gather", "scatter")) for name in every.problem.graph.names])
        assert len(set(names)) <= 3 * plan.devices and all(name.endswith("/gather") for name in names[gathers])
        assert gathers.any() and found.seconds > found.schedule().makespan


@pytest.mark.parametrize(
    "schedule", ["gpipe", "1f1b", "interleaved", "looped-bfs", "zb-h1", "zb-v", "dualpipe", "dualpipe-v"]
)
def test_gradients_scattered_after_each_pass(schedule):
    """ZeRO 2 on all ranks takes the plan's seconds, by fast links and slow ones; by slow ones, longer than ZeRO 1."""
    source = random.Random(schedule)
    chunks = 2 if schedule in ("interleaved", "looped-bfs", "zb-v", "dualpipe-v") else 1
    for _ in range(fewer(6)):
        kind = source.choice(list(MODELS))
        dp, tp, pp = source.choice(((2, 2, 2), (2, 1, 2), (4, 1, 2), (4, 1, 3)))
        ep = source.choice((1, 2)) if kind == "experts" else 1
        pp = 2 if "dualpipe" in schedule else pp
        rate = source.choice((1e8, 1e9, 4.5e11))
        cluster = H100.replace(bandwidth=np.where(np.eye(16) > 0, np.inf, rate))
        model = pl.models.read(SIZES | MODELS[kind])
        once, each = (
            pl.plan(model, cluster, pl.Plan(dp=dp, tp=tp, pp=pp, ep=ep, schedule=schedule, chunks=chunks, zero=z),
                    batch=6 * dp, sequence=64) for z in (1, 2)
        )  # fmt: skip
        with_streams(each)
        every = each.schedule("all")
        assert every.makespan == pytest.approx(each.seconds, rel=1e-9) and pl.validate(every) == []
        assert rate > 1e9 or each.seconds > once.seconds


def test_gradients_of_every_pass_by_hand():
    """Two replicas, four micro-batches: where links are slow a step is a pass, a reduce-scatter for each one, and a gather of the
    weights; where they are fast only the last reduce-scatter outlives the passes."""
    model = pl.models.read(SIZES | MODELS["dense"])
    rest = np.eye(2) > 0

    def found(rate: float, zero: int) -> pl.PlanResult:
        two = pl.costs.cluster("h100", 2, link="nvlink4").replace(bandwidth=np.where(rest, np.inf, rate), latency=0.0)
        return pl.plan(model, two, pl.Plan(dp=2, zero=zero), batch=8, sequence=64)

    for rate, waited in ((1e6, 4), (1e15, 1)):
        one = found(rate, 1)
        each = found(rate, 2)
        passes = one.seconds - one.exposed
        scatter = 4 * model.parameters / 2 / rate
        gather = 2 * model.parameters / 2 / rate
        assert one.exposed == pytest.approx(scatter + gather)
        assert each.seconds == pytest.approx(passes * (waited == 1 or 1 / 4) + waited * scatter + gather)


def test_gradients_of_experts_by_hand():
    """Those of E/e experts go over the n/e ranks that have the same ones, all others over n: 4 bytes, 2(k - 1) times."""
    model = pl.models.read(SIZES | MODELS["experts"])
    experts = 6 * 4 * 3 * 256 * 512  # layers, experts, matrices
    for dp, tp, ep in ((4, 1, 2), (4, 2, 2), (4, 1, 4), (1, 4, 2), (2, 2, 4)):
        found = pl.plan(model, H100, pl.Plan(dp=dp, tp=tp, ep=ep), batch=dp, sequence=64)
        graph = found.problem("all").graph
        hop = np.array([name.startswith("gradients") for name in graph.names])
        routed = np.array(["/experts/" in name for name in graph.names])
        sent = [graph.edge_bytes[(hop & of)[graph.consumer]].sum() for of in (routed, ~routed)]
        copies = dp // ep if dp % ep == 0 else 1
        assert sent[0] == pytest.approx(2 * (copies - 1) * 4 * experts)
        rest = found.memory["gradients"][0] - 4 * experts / (dp * tp / copies)
        assert sent[1] == pytest.approx(2 * (dp - 1) * tp * rest)


def test_devices_that_differ():
    """One rank has the slowest device of each stage; of all ranks, each has its own, and replicas wait only for gradients."""
    kinds = ["a100_80gb", "h100", "h100", "a100_80gb"]
    speed = [pl.costs.specs()[kind].speed for kind in kinds]
    cluster = pl.Cluster(speed, memory=[8e10] * 4, bandwidth=4.5e11, types=kinds)
    found = pl.plan("gpt2", cluster, pl.Plan(dp=2, pp=2), batch=16, sequence=256)
    every = found.schedule("all")
    assert 0.5 * found.seconds < every.makespan < 0.98 * found.seconds and pl.validate(every) == []
    busy = [(every.finish - every.start)[every.device == d].sum() for d in range(4)]
    assert busy[0] > 1.5 * busy[1] and busy[3] > 1.5 * busy[2]


def test_what_is_refused():
    """One sentence says what there is."""
    found = pl.plan("gpt2", H100, pl.Plan(pp=2), batch=8, sequence=64)
    with pytest.raises(pl.UnsupportedError, match="ranks is 'two'; expected 'one', 'gradients', 'streams' or 'all'"):
        found.problem("two")


@pytest.mark.parametrize(
    ("zero", "schedule"), [(0, "1f1b"), (0, "dualpipe"), (2, "1f1b"), (2, "dualpipe"), (3, "1f1b")]
)
def test_more_ops_than_are_made(zero, schedule, monkeypatch):
    """They are counted and refused before any is made, in one sentence; so are the actions of ZeRO 3."""
    pp = 1 if zero == 3 or schedule == "1f1b" else 2
    found = pl.plan("gpt2", H100, pl.Plan(dp=2, tp=4, pp=pp, zero=zero, schedule=schedule), batch=128, sequence=64)
    monkeypatch.setattr("placelab.plans.rank_passes.MOST_OPS", 40_000)
    monkeypatch.delattr("placelab.plans.rank_passes.RankPasses.add")
    with pytest.raises(pl.FormatError, match=r"ranks have \d+,\d+ ops; at most 40,000 are made, ask for ranks='one'"):
        found.problem("all")


@pytest.mark.parametrize("schedule", ["1f1b", "interleaved", "zb-h1", "dualpipe", "dualpipe-v"])
def test_ops_are_counted_before_they_are_made(schedule, monkeypatch):
    """The count that a limit is compared with has every pass and every hop: marks without time are all that it leaves out."""
    chunks = 2 if schedule in ("interleaved", "dualpipe-v") else 1
    for model, zero, ep in (("dense", 0, 1), ("experts", 1, 2), ("experts", 2, 2), ("dense", 3, 1)):
        plan = pl.Plan(dp=2, tp=2, pp=1 if zero == 3 else 2, ep=ep, zero=zero)
        plan = plan if zero == 3 else replace(plan, schedule=schedule, chunks=chunks)
        found = pl.plan(pl.models.read(SIZES | MODELS[model]), H100, plan, batch=16, sequence=64)
        graph = found.problem("all").graph
        made = int((graph.compute > 0).sum() + np.isin(graph.kind, ("ready", "reduce", "gather", "exchange")).sum())
        monkeypatch.setattr("placelab.plans.rank_passes.MOST_OPS", made - 1)
        again = pl.plan(pl.models.read(SIZES | MODELS[model]), H100, plan, batch=16, sequence=64)
        with pytest.raises(pl.FormatError, match=f" have {made:,} ops"):
            again.problem("all")
        monkeypatch.undo()


@pytest.mark.slow
def test_huge_numbers_of_layers_and_micro_batches():
    """One sentence each, at once."""
    many = pl.models.read(SIZES | MODELS["dense"] | dict(num_hidden_layers=10_000))
    with pytest.raises(pl.FormatError, match=r"all 8 ranks have [0-9,]+ ops; at most 1,000,000 are made"):
        pl.plan(many, H100, pl.Plan(dp=8, zero=3), batch=8, sequence=64).problem("all")
    with pytest.raises(pl.FormatError, match="at most 2,000,000 are made"):
        pl.plan(many, H100, pl.Plan(dp=8, zero=3), batch=8 * 8_192, sequence=64)
    gpt2 = pl.models.read("gpt2")
    for found, batch in ((many, 10**8), (gpt2, 500_001), (gpt2, 10**9)):
        began = time.process_time()
        with pytest.raises(
            pl.FormatError, match=f"{batch:,} micro-batches have {2 * batch:,} passes; at most 1,000,000"
        ):
            pl.plan(found, H100, pl.Plan(), batch=batch, sequence=64)
        assert time.process_time() - began < 1

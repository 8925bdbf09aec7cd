"""Passes that run together: DualPipe's published bubbles, Megatron's pairs, tables of PyTorch; the seconds of both."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.formats.torch import schedule_table
from placelab.plans import overlap_seconds
from placelab.plans.plan_steps import Planner

training = pl.generators.pipeline_training


def run(placement: pl.Placement) -> pl.Schedule:
    """A planned order, found legal."""
    schedule = pl.simulate(placement.problem, placement)
    assert pl.validate(schedule) == []
    return schedule


def dual(p: int, m: int, costs=(1.0, 1.0, 1.0)) -> pl.Problem:
    """Two pipelines on the same devices."""
    return training(*costs, microbatches=m, stages=p, layout="dual", activation=1.0)


def folded(p: int, m: int) -> pl.Problem:
    """Two chunks a device, down and up; a second for each op of a chunk."""
    return training(2.0, 2.0, 2.0, microbatches=m, stages=p, chunks=2, layout="v", activation=2.0)


@pytest.mark.parametrize(("p", "m", "together", "short", "apart"), [(4, 10, 32, 28.4, 31), (8, 20, 66, 57.6, 63)])
def test_dualpipe(p, m, together, short, apart):
    """Golden P4: F&B of 3 and of 2.4 s, and one after the other; p + 1 activations."""
    problem = dual(p, m)
    for factor, seconds in ((1.0, together), (0.8, short)):
        schedule = run(pl.transforms.together(problem, "dualpipe", factor=factor))
        assert schedule.makespan == pytest.approx(seconds)
        assert pl.stages(schedule)["activations"].tolist() == [p + 1] * p
        assert schedule.peak_memory.tolist() == [p + 1] * p
        again = pl.simulate(schedule.problem, pl.place(schedule.problem, "hash"), "dualpipe")
        assert again.start.tolist() == schedule.start.tolist()
    alone = pl.simulate(problem, pl.place(problem, "hash"), "dualpipe")
    assert alone.makespan == apart and pl.validate(alone) == []


def test_dualpipe_v():
    """Golden P5: the same on one copy of the model; the last rank's row as PyTorch writes it."""
    for p, m, together, short in ((4, 10, 66, 57.6), (2, 4, 26, 23.6)):
        for factor, seconds in ((1.0, together), (0.8, short)):
            schedule = run(pl.transforms.together(folded(p, m), "dualpipe-v", factor=factor))
            assert schedule.makespan == pytest.approx(seconds)
            assert set(pl.stages(schedule)["activations"]) == {min(2 * p + 1, 2 * m)}
            again = pl.simulate(schedule.problem, pl.place(schedule.problem, "hash"), "dualpipe-v")
            assert again.start.tolist() == schedule.start.tolist()
    rows = schedule_table.dumps(run(pl.transforms.together(folded(4, 10), "dualpipe-v"))).split()
    middle = ",".join(f"(4F{k};3B{k - 4})OVERLAP_F_B,(3F{k + 1};4B{k - 3})OVERLAP_F_B" for k in range(4, 9))
    head = "3F0,4F0,3F1,4F1,3F2,4F2,3F3,4F3,3F4,4B0,"
    end = ",(4F9;3B5)OVERLAP_F_B,4B6,3B6,4B7,3B7,4I8,3I8,4I9,3I9,4W8,3W8,4W9,3W9"
    assert rows[3] == head + middle + end


@pytest.mark.parametrize(("w", "factor"), list(product((1.0, 0.9, 0.5), (1.0, 0.8))))
def test_the_published_bubble(w, factor):
    """Golden P6: (p/2 - 1)(F&B + B - 2W) where F = B ≥ W, of the device that idles longest."""
    for p in (4, 8):
        schedule = run(pl.transforms.together(dual(p, 2 * p + 2, (1.0, 1.0, w)), "dualpipe", factor=factor))
        idle = schedule.makespan - pl.stages(schedule)["busy"]
        assert idle.max() == pytest.approx((p / 2 - 1) * (factor * (2 + w) + 1 + w - 3 * w))


@pytest.mark.parametrize(("costs", "idle"), [((1.0, 1.2, 0.8), 2.4), ((1.0, 0.8, 1.2), 2.0)])
def test_the_bubble_of_unequal_passes(costs, idle):
    """Golden P6: where the formula does not hold, F&B + F - W - min(B, W) on four devices."""
    schedule = run(pl.transforms.together(dual(4, 10, costs), "dualpipe"))
    found = (schedule.makespan - pl.stages(schedule)["busy"]).max()
    assert found == pytest.approx(idle) == pytest.approx(3 + 1 - costs[2] - min(costs[1:]))


def test_pairs_after_one_more_forward():
    """Golden P7: one device, and Megatron's interleaved pairs; the period of pairs does not double."""
    one = training(1.0, 2.0, microbatches=4, stages=1)
    assert run(pl.transforms.together(one, "interleaved", seconds=2.4, pairs="1f1b")).makespan == pytest.approx(10.2)
    four = training(1.0, 2.0, microbatches=8, stages=4, chunks=2)
    for seconds, makespan in ((1.5, 28.5), (1.2, 25.2)):
        schedule = run(pl.transforms.together(four, "interleaved", seconds=seconds, pairs="1f1b"))
        assert schedule.makespan == pytest.approx(makespan)
        assert pl.stages(schedule)["activations"].tolist() == [12, 10, 8, 6]
    single = training(1.0, 2.0, microbatches=8, stages=4)
    assert run(pl.transforms.together(single, "interleaved", seconds=2.4, pairs="1f1b")).makespan == pytest.approx(28.8)


@pytest.mark.parametrize("scheduler", ["1f1b", "interleaved", "zb-h1", "zb-h2", "looped-bfs"])
def test_without_gain_nothing_gets_shorter(scheduler):
    """With factor 1 outputs leave later; what an op does is done once, on its device, for as long as before."""
    problem = training(1.0, 1.0, 1.0, microbatches=6, stages=3, transfer=1.0)
    placement = pl.transforms.together(problem, scheduler)
    before = pl.simulate(problem, pl.place(problem, "hash"), scheduler)
    after = run(placement)
    assert after.makespan >= before.makespan - 1e-9
    assert pl.stages(after)["busy"].tolist() == pytest.approx(pl.stages(before)["busy"].tolist())
    assert placement.problem.graph.metadata["pipeline"]["phase"].count("FB") > 0 or scheduler == "looped-bfs"


def test_a_table_of_merged_passes_is_read_again(tmp_path):
    """A table with OVERLAP_F_B replays the same; on the pipeline before, one pass comes after the other."""
    problem = folded(3, 7)
    placement = pl.transforms.together(problem, "dualpipe-v", factor=0.8)
    schedule = run(placement)
    path = pl.export.torch_schedule(schedule, tmp_path / "dual.csv")
    again = run(pl.load_schedule_table(placement.problem, path))
    assert again.makespan == schedule.makespan and np.allclose(again.start, schedule.start)
    assert schedule_table.dumps(again) == path.read_bytes().decode()
    assert run(pl.load_schedule_table(problem, path)).makespan > schedule.makespan
    text = path.read_text().replace("(0F5;5B2)OVERLAP_F_B", "5B2,0F5")
    assert text != path.read_text()
    with pytest.raises(pl.FormatError, match=r"0F5 runs together with 5B2 in this pipeline"):
        pl.load_schedule_table(placement.problem, _written(tmp_path, text))


merged = pl.transforms.together(dual(2, 4), "dualpipe")


def _written(folder, text):
    path = folder / "other.csv"
    path.write_text(text)
    return path


def test_pytorch_makes_the_same_dualpipe_v_table():
    """ScheduleDualPipeV, where the installed PyTorch has it."""
    pipelining = pytest.importorskip("torch.distributed.pipelining.schedules")
    if not hasattr(pipelining, "ScheduleDualPipeV"):
        pytest.skip("this PyTorch has no ScheduleDualPipeV")
    for p, m in ((2, 4), (4, 10)):
        made = object.__new__(pipelining.ScheduleDualPipeV)
        made.__dict__.update(pp_group_size=p, _num_stages=2 * p, _n_microbatches=m)
        rows = [",".join(str(a) for a in made._calculate_single_rank_operations(r) if a) for r in range(p)]
        schedule = run(pl.transforms.together(folded(p, m), "dualpipe-v"))
        assert rows == schedule_table.dumps(schedule).split()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pl.transforms.together(dual(4, 10), "fifo"), "'fifo' is no scheduler of pipelines"),
        (lambda: pl.transforms.together(dual(4, 10), "dualpipe", pairs="all"), "pairs is 'all'"),
        (
            lambda: pl.transforms.together(dual(4, 10), "1f1b", pairs="1f1b"),
            "are those of 'interleaved', not of '1f1b'",
        ),
        (
            lambda: pl.transforms.together(dual(4, 10), "dualpipe", seconds=-1),
            "seconds is -1; expected a finite number",
        ),
        (lambda: pl.transforms.together(dual(4, 10), "dualpipe", factor="much"), "factor is 'much'"),
        (
            lambda: pl.transforms.together(dual(4, 6), "dualpipe"),
            "needs 8 micro-batches or more on 4 devices; there are 6",
        ),
        (lambda: pl.transforms.together(dual(3, 10), "dualpipe"), "needs an even number of devices; there are 3"),
        (lambda: pl.transforms.together(folded(4, 7), "dualpipe-v"), "needs 8 micro-batches or more on 4 devices"),
        (lambda: pl.transforms.together(folded(4, 8), "dualpipe"), "give pipeline_training layout='dual'"),
        (lambda: pl.transforms.together(dual(2, 4), "dualpipe-v"), "give pipeline_training chunks=2, layout='v'"),
        (
            lambda: pl.transforms.together(training(1, 2, microbatches=4, stages=2), "gpipe"),
            "passes of 'gpipe' that would run together wait for each other in a circle",
        ),
        (lambda: dual(4, 9), "two replicas share 9 micro-batches"),
        (
            lambda: pl.transforms.together(pl.transforms.together(dual(2, 4), "dualpipe").problem, "dualpipe"),
            "run together already",
        ),
        (
            lambda: pl.simulate(merged.problem, merged, "gpipe"),
            "'gpipe' does not run .*, in which passes run together",
        ),
        (lambda: schedule_table.dumps(run(pl.transforms.together(dual(2, 4), "dualpipe"))), "DualPipe's twins share"),
        (
            lambda: pl.transforms.pipeline_replica(pl.transforms.together(folded(2, 4), "dualpipe-v").problem, 2),
            "passes of .* run together; give pipeline_replica",
        ),
    ],
)
def test_what_does_not_fit_is_refused(make, words):
    """One sentence says what is wrong."""
    with pytest.raises(pl.PlacelabError, match=words) as error:
        make()
    assert "\n" not in str(error.value)


H100 = pl.costs.cluster("h100", 8, link="nvlink4")


@pytest.mark.parametrize(("x", "expected"), [(1, (4, 6, 6)), (0.5, (3, 5, 6)), (1.5, (5, 7, 7))])
def test_a_chunk_of_experts(x, expected):
    """Golden E1: attention 1, dispatch x, experts 1, combination x; twice as long back."""
    forward = [("compute", 1), ("stream", x), ("compute", 1), ("stream", x)]
    backward = [("stream", x), ("compute", 2), ("stream", x), ("compute", 2)]
    found = overlap_seconds(forward, backward)
    assert found == (*expected, True)


parts = st.lists(st.tuples(st.sampled_from(["compute", "stream"]), st.integers(0, 4)), max_size=6)


@examples(30)
@given(parts, parts)
def test_both_take_no_longer_than_one_after_the_other(forward, backward):
    """Nor less than the busier of device and stream; an order that is proven takes no longer than another."""
    found = overlap_seconds(forward, backward)
    busy = [sum(s for d, s in forward + backward if d == device) for device in ("compute", "stream")]
    least = max(found.forward, found.backward, *busy)
    assert least <= found.both <= found.forward + found.backward
    assert found.both <= overlap_seconds(forward, backward, prove=False).both


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([("gpu", 1)], "forward has a part on 'gpu'; expected 'compute' or 'stream'"),
        ([("compute", -1)], "forward has a part of -1 s"),
        ([("compute", "long")], "expected pairs like"),
        ([5], "expected pairs like"),
    ],
)
def test_what_is_refused(wrong, words):
    """One sentence names the part."""
    with pytest.raises(pl.PlacelabError, match=words):
        overlap_seconds(wrong, [])


@pytest.mark.parametrize(("schedule", "chunks"), [("dualpipe", 1), ("dualpipe-v", 2)])
def test_a_plan_whose_passes_run_together(schedule, chunks):
    """Collectives hide: both passes take less than one after the other; the schedule is legal, and as long as the plan says."""
    plan = pl.Plan(tp=2, pp=4, schedule=schedule, chunks=chunks)
    planner = Planner("llama-3-8b", H100, 16, 2048)
    found = planner.result(plan)
    step = planner.step(planner.checked(plan))
    n = len(step.both)
    apart = [step.forward[s] + step.backward[n - 1 - s] + step.weight[n - 1 - s] for s in range(n)]
    assert all(both < alone for both, alone in zip(step.both, apart, strict=True))
    assert found.schedule().makespan == pytest.approx(found.seconds - found.exposed)
    assert not pl.validate(found.schedule()) and 0 < found.bubble < 1
    assert planner.bound(found.plan, step) <= found.seconds


def test_dualpipe_holds_every_parameter_twice():
    """A rank has its stage and that of its twin; of a V, two chunks of half the size."""
    frames = {
        schedule: pl.plan(
            "llama-3-8b", H100, pl.Plan(pp=8, schedule=schedule, chunks=c), batch=16, sequence=2048
        ).memory
        for schedule, c in (("1f1b", 1), ("dualpipe", 1), ("dualpipe-v", 2), ("looped-bfs", 2))
    }
    once = frames["1f1b"]["optimizer"]
    assert frames["dualpipe"]["optimizer"].to_numpy() == pytest.approx(np.array(once) + np.array(once)[::-1])
    for schedule in ("dualpipe-v", "looped-bfs"):
        assert frames[schedule]["optimizer"].sum() == pytest.approx(once.sum())
    layer = frames["1f1b"]["activations"].iloc[-1]
    assert frames["dualpipe"]["activations"].to_numpy() == pytest.approx(9 * layer)
    assert frames["looped-bfs"]["activations"].to_numpy() == pytest.approx(16 * layer)


@pytest.mark.parametrize(
    ("plan", "batch", "words"),
    [
        (pl.Plan(pp=4, schedule="dualpipe"), 6, "dualpipe"),
        (pl.Plan(pp=5, schedule="dualpipe"), 10, "dualpipe"),
        (pl.Plan(pp=4, schedule="dualpipe-v", chunks=2), 4, "dualpipe-v"),
    ],
)
def test_what_dualpipe_needs(plan, batch, words):
    """Too few micro-batches, an odd pipeline: one sentence."""
    with pytest.raises(pl.UnsupportedError, match=words):
        pl.plan("llama-3-8b", H100, plan, batch=batch, sequence=1024)

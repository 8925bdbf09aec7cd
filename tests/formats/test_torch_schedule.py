"""Schedule tables of torch.distributed.pipelining: in, out, what is wrong with one, and PyTorch's own."""

from types import SimpleNamespace

import numpy as np
import pytest

import placelab as pl
from placelab.formats.torch import schedule_table

training = pl.generators.pipeline_training
SMALL = training(1.0, 2.0, microbatches=2, stages=2)
SPLIT = training(1.0, 1.0, 1.0, microbatches=2, stages=2)


def run(problem: pl.Problem, scheduler: str) -> pl.Schedule:
    """The only placement of a pipeline, under a scheduler."""
    return pl.simulate(problem, pl.place(problem, "heft"), scheduler)


def test_a_schedule_as_a_table(tmp_path):
    """A row per rank: stage, kind, micro-batch; B is both gradients, I that of the input, W that of the weights."""
    path = pl.export.torch_schedule(run(SMALL, "1f1b"), tmp_path / "1f1b.csv")
    assert path.read_text().split() == ["0F0,0F1,0B0,0B1", "1F0,1B0,1F1,1B1"]
    assert schedule_table.dumps(run(SPLIT, "zb-h1")).split() == ["0F0,0F1,0I0,0W0,0I1,0W1", "1F0,1I0,1F1,1I1,1W0,1W1"]


@pytest.mark.parametrize("scheduler", ["gpipe", "1f1b", "zb-h1", "zb-h2", "zb-auto", "fifo", "random"])
@pytest.mark.parametrize("recv", ["async", "blocking"])
def test_written_and_read_it_replays(scheduler, recv, tmp_path):
    """Every schedule comes back with the same order of actions; those that do not idle without need with the same times."""
    problem = training([1, 2, 3], 2.0, 1.0, microbatches=5, transfer=1.0, recv=recv, cluster=pl.Cluster([1.0] * 3))
    schedule = run(problem, scheduler)
    path = pl.export.torch_schedule(schedule, tmp_path / "schedule.csv.gz")
    again = pl.simulate(problem, pl.load_schedule_table(problem, path))
    assert again.scheduler == "planned" and pl.validate(again) == []
    assert schedule_table.dumps(again) == schedule_table.dumps(schedule)
    if recv == "async":
        assert np.allclose(again.start, schedule.start)


def test_cells_that_are_empty_or_communicate():
    """Idle steps, spaces and communication are left out; what runs together runs one after the other; B may be two ops."""
    table = b"0UNSHARD,0F0,0SEND_F0,0F1,, 0RECV_B0,(0B0;0B1)OVERLAP_F_B,0REDUCE_GRAD\r\n,1F0,1B0,1F1,1B1\r\n\r\n"
    placement = schedule_table.loads(SMALL, table)
    assert SMALL.graph.names[placement.planned].tolist() == "F0.0 F1.0 BW0.0 BW1.0 F0.1 BW0.1 F1.1 BW1.1".split()
    both = schedule_table.loads(SPLIT, table)
    assert SPLIT.graph.names[both.planned[:6]].tolist() == "F0.0 F1.0 B0.0 W0.0 B1.0 W1.0".split()


ROW = "1F0,1B0,1F1,1B1"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (f"0F0,0F1,0B0,0X1\n{ROW}", r"row 0 has '0X1'; expected stage, F, B, I or W, and micro-batch, as in '0F0'"),
        (f"0F0,0F1,0B0,0B1x\n{ROW}", r"row 0 has '0B1x'"),
        (f"0F0,0F1,0B0,0B2\n{ROW}", r"0B2 is no op of a pipeline of stages 0 to 1 and micro-batches 0 to 1"),
        (f"0F0,0F1,0I0,0W0\n{ROW}", r"0I0 needs gradients of weights as ops of their own; give pipeline_training a weight"),
        (f"0F0,0F1,0B0\n{ROW}", r"0B1 is missing; each micro-batch needs it once"),
        ("0F0,0F1,0B0,0B1\n1F0,1B0,1B1", r"1F1 is missing, which 1B1 needs; each"),
        (f"0F0,0B0,0B1\n{ROW}", r"0F1 is missing, which 1F1 needs; each"),
        (f"0F0,0F1,0B0,0B1,0F1\n{ROW}", r"0F1 is there twice; expected once"),
        ("0F0,0F1,0B0,0B1,1F0\n1B0,1F1,1B1", r"row 0 has 1F0 and 0F0, whose stages are on two devices; expected"),
        (f"0F0,0F1\n0B0,0B1\n{ROW}", r"0B0 of row 1 is on the device of row 0; expected a row per device"),
        (f"0B0,0F0,0F1,0B1\n{ROW}", r"0B0 comes before 0F0, which it needs, in one row"),
        ("0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1", r"deadlock: 1F1 waits for 0F1, which comes after 0B0 in its row, and 0B0 waits"),
        ("", r"0F0 is missing; each"),
        ('0F0,"0F1', r"the table is not CSV"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table(table, words):
    """One sentence with the actions."""
    with pytest.raises(pl.FormatError, match=rf"^the upload: (?s:.*)(?:{words})") as found:
        schedule_table.loads(SMALL, table.encode())
    assert "\n" not in str(found.value)


def test_other_problems_are_refused():
    """A graph without stages, ops that may run anywhere, and files that are no text."""
    other = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    with pytest.raises(pl.UnsupportedError, match="a schedule table needs a training step of stages and micro-batches"):
        schedule_table.loads(other, b"0F0")
    free = pl.OpGraph.from_arrays(SMALL.graph.names, 1.0, SMALL.graph.edges, metadata=SMALL.graph.metadata)
    with pytest.raises(pl.UnsupportedError, match="every op tied to the device of its stage"):
        schedule_table.loads(pl.Problem(free, SMALL.cluster), b"0F0")
    with pytest.raises(pl.FormatError, match="is not text in UTF-8; expected a schedule table"):
        schedule_table.loads(SMALL, b"\xff\xfe0F0")


# -------------------------------------------------------------------- PyTorch's own


def rows(order: dict) -> str:
    """What ``_dump_csv`` writes, compute actions only."""
    wanted = lambda action: action is not None and action.is_compute_op  # noqa: E731
    return "".join(",".join(str(a) for a in order[rank] if wanted(a)) + "\r\n" for rank in sorted(order))


@pytest.mark.parametrize(("p", "m"), [(2, 4), (4, 4), (4, 9), (3, 7)])
def test_pytorch_makes_the_same_tables_of_gpipe_and_1f1b(p, m):
    """ScheduleGPipe and Schedule1F1B list the actions that placelab writes.

    The last rank of PyTorch's 1F1B counts forwards from 1; such a table is refused.
    """
    pipelining = pytest.importorskip("torch.distributed.pipelining.schedules")
    problem = training(1.0, 2.0, microbatches=m, stages=p)
    stub = SimpleNamespace(_num_stages=p, _n_microbatches=m)
    assert rows(pipelining.ScheduleGPipe._get_pipeline_order(stub)) == schedule_table.dumps(run(problem, "gpipe"))
    theirs = rows(pipelining.Schedule1F1B._get_pipeline_order(stub)).split()
    assert theirs[:-1] == schedule_table.dumps(run(problem, "1f1b")).split()[:-1]
    if theirs[-1].startswith(f"{p - 1}F1"):
        with pytest.raises(pl.FormatError, match=f"{p - 1}F{m} is no op"):
            schedule_table.loads(problem, "\n".join(theirs).encode())


@pytest.mark.parametrize(("p", "v", "m"), [(2, 2, 4), (4, 2, 8), (4, 3, 8), (3, 2, 6)])
def test_pytorch_makes_the_same_interleaved_table(p, v, m):
    """ScheduleInterleaved1F1B, with as many micro-batches a round as there are ranks."""
    pipelining = pytest.importorskip("torch.distributed.pipelining.schedules")
    made = object.__new__(pipelining.ScheduleInterleaved1F1B)
    facts = dict(
        pp_group_size=p, n_local_stages=v, _n_microbatches=m, number_of_rounds=m // p, microbatches_per_round=p
    )
    made.__dict__.update(facts)
    order = {rank: made._calculate_single_rank_operations(rank) for rank in range(p)}
    problem = training(1.0, 2.0, microbatches=m, stages=p, chunks=v)
    assert rows(order) == schedule_table.dumps(run(problem, "interleaved"))


@pytest.mark.parametrize(("p", "m"), [(2, 4), (4, 8), (3, 2)])
def test_pytorch_makes_the_same_v_table(p, m):
    """ScheduleZBVZeroBubble; its table runs here without a bubble if F = B = W and m ≥ 2p - 1."""
    pipelining = pytest.importorskip("torch.distributed.pipelining.schedules")
    made = object.__new__(pipelining.ScheduleZBVZeroBubble)
    made.__dict__.update(pp_group_size=p, num_stages=2 * p, n_local_stages=2, _n_microbatches=m)
    order = {rank: made._calculate_single_rank_operations(rank) for rank in range(p)}
    problem = training(1.0, 1.0, 1.0, microbatches=m, stages=p, chunks=2, layout="v")
    assert rows(order) == schedule_table.dumps(run(problem, "zb-v"))
    replayed = pl.simulate(problem, schedule_table.loads(problem, rows(order).encode()))
    assert m < 2 * p - 1 or pl.metrics(replayed)["bubble_span"] == 0


def test_pytorch_reads_what_is_written(tmp_path):
    """``_load_csv`` and the check of PyTorch's schedules accept every table."""
    pipelining = pytest.importorskip("torch.distributed.pipelining.schedules")
    problem = training(1.0, 1.0, 1.0, microbatches=5, stages=3)
    for scheduler in ("gpipe", "zb-h1", "zb-h2", "zb-auto"):
        path = pl.export.torch_schedule(run(problem, scheduler), tmp_path / f"{scheduler}.csv")
        made = object.__new__(pipelining.PipelineScheduleMulti)
        made.__dict__.update(pipeline_order={}, pp_group_size=3, _num_stages=3, _n_microbatches=5, _stages=[])
        made._load_csv(path)
        assert made.stage_index_to_group_rank == {0: 0, 1: 1, 2: 2}
        assert rows(made.pipeline_order) == path.read_bytes().decode()

"""SENDs and RECVs on streams that run them in order: published bubbles, a published deadlock, tables."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl
from placelab.formats.torch import schedule_table

lowered = pl.transforms.communication_streams


def interleaved(p: int, m: int, **more) -> pl.Schedule:
    """Two chunks a rank, half a second forward and a second back in each."""
    step = pl.generators.pipeline_training(1.0, 2.0, microbatches=m, stages=p, chunks=2, **more)
    return pl.simulate(step, pl.place(step, "hash"), "interleaved")


def run(placement: pl.Placement) -> pl.Schedule:
    """Its schedule, found legal."""
    schedule = pl.simulate(placement.problem, placement)
    assert pl.validate(schedule) == []
    return schedule


@pytest.mark.parametrize(
    ("p", "m", "transfer", "one", "direction", "peer"),
    [
        (4, 8, 0, 33.5, 28.5, 28.5),
        (4, 8, 0.25, 44.25, 32.5, 32),
        (8, 16, 0, 84, 58.5, 58.5),
        (8, 16, 0.25, 123.25, 68.75, 66),
        (2, 4, 0, 13.5, 13.5, 13.5),
        (2, 4, 0.25, 15.5, 15, 15.5),
    ],
)
def test_interleaved_as_pytorch_lowers_it(p, m, transfer, one, direction, peer):
    """Golden S1: one stream for all messages costs 5 s of 28.5 even where they take no time (PyTorch #188833)."""
    schedule = interleaved(p, m)
    for streams, makespan in (("one", one), ("direction", direction), ("peer", peer)):
        assert run(lowered(schedule, transfer, streams=streams)).makespan == makespan


def test_receiving_late_deadlocks():
    """Golden S1: RECVs right before the passes that read them wait for each other on one stream (PyTorch #172668)."""
    schedule = interleaved(4, 8)
    placement = lowered(schedule, 0, recv="late")
    with pytest.raises(pl.InfeasibleError, match="'0SEND_F3', '1F3', '1SEND_F2' wait for ops planned after them"):
        pl.simulate(placement.problem, placement)
    assert run(lowered(schedule, 0, recv="late", streams="direction")).makespan == 28.5


def test_streams_never_help():
    """What takes no time costs nothing alone; the links of the cluster say what a message takes."""
    cluster = pl.Cluster([1.0] * 4, bandwidth=4.0, latency=0.125)
    step = pl.generators.pipeline_training(
        1.0, 2.0, microbatches=6, stages=4, transfer=0.5, activation=1.0, cluster=cluster
    )
    schedule = pl.simulate(step, pl.place(step, "hash"), "1f1b")
    given, known = (run(lowered(schedule, transfer)) for transfer in (0.25, None))
    assert given.makespan == known.makespan >= schedule.makespan
    assert np.abs(given.peak_memory[:4] - schedule.peak_memory).max() <= 0.5  # a message more or less at the peak
    assert run(lowered(schedule, 0)).makespan <= given.makespan


def table_with(placement: pl.Placement, schedule: pl.Schedule) -> str:
    """The table of a schedule with the messages of a lowered placement, rank by rank."""
    problem = placement.problem
    planned = placement.planned
    rows = []
    for d in range(schedule.problem.cluster.n_devices):
        name = schedule.problem.cluster.names[d]
        streams = [e for e, other in enumerate(problem.cluster.names) if other.startswith(f"{name}/")]
        own = [problem.graph.names[v] for v in planned[np.isin(placement.device[planned], [d, *streams])]]
        rows.append(",".join(name for name in own if not name.endswith("/post")))
    return "\n".join(rows)


def test_a_table_says_where_messages_are(tmp_path):
    """Its SENDs and RECVs are run in their order when asked for; else a note says that they are left out."""
    schedule = interleaved(4, 8)
    want = lowered(schedule, 0.25)
    path = tmp_path / "table.csv"
    path.write_text(table_with(want, schedule))
    read = pl.load_schedule_table(schedule.problem, path)
    assert "SENDs and RECVs of the table are left out" in read.notes[0]
    assert run(read).makespan == schedule.makespan
    again = run(lowered(read, 0.25, recv="table", table=path))
    assert again.makespan == run(want).makespan == 44.25
    pl.export.torch_schedule(schedule, plain := tmp_path / "plain.csv")
    assert pl.load_schedule_table(schedule.problem, plain).notes == ()
    for text, words in (
        (path.read_text().replace("0SEND_F3", ""), "the table lacks 0SEND_F3"),
        (path.read_text().replace("0SEND_F3", "0SEND_F2"), "0SEND_F2 is there twice"),
        (path.read_text().replace("0SEND_F3", "7SEND_F3"), "7SEND_F3 is no message between ranks"),
    ):
        path.write_text(text)
        with pytest.raises(pl.FormatError, match=words):
            lowered(read, recv="table", table=path)
        path.write_text(table_with(want, schedule))


def test_passes_together_have_their_messages():
    """An op of both passes sends both results; names are those of PyTorch's table."""
    step = pl.generators.pipeline_training(2.0, 2.0, 2.0, microbatches=4, stages=2, chunks=2, layout="v")
    merged = pl.transforms.together(step, "dualpipe-v")
    placement = lowered(merged, 0)
    assert run(placement).makespan >= pl.simulate(merged.problem, merged).makespan
    names = set(placement.problem.graph.names)
    assert any(name.endswith("OVERLAP_F_B") for name in names)
    assert {name for name in names if name in schedule_table.dumps(run_of(merged)).replace("\r\n", ",").split(",")}


def run_of(placement: pl.Placement) -> pl.Schedule:
    return pl.simulate(placement.problem, placement)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda s: lowered(s, streams="two"), "streams is 'two'; expected one of one, direction, peer"),
        (lambda s: lowered(s, recv="early"), "recv is 'early'"),
        (lambda s: lowered(s, recv="table"), "recv='table' needs the table"),
        (lambda s: lowered(s, -1.0), "transfer is -1.0; expected seconds"),
        (lambda s: lowered(pl.place(s.problem, "hash")), "has no planned order"),
        (lambda s: lowered(pl.solve(pl.datasets.problem("topcuoglu"), "heft")), "stages and micro-batches"),
    ],
)
def test_what_is_refused(make, words):
    """One sentence says what was found."""
    with pytest.raises(pl.PlacelabError, match=words):
        make(interleaved(2, 4))

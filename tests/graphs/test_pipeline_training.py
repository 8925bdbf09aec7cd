"""Pipelined training steps: the graph's ops, tensors and columns, recomputation, Receives that hold a device."""

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.analysis.measures import bubbles
from placelab.problem.pipeline_columns import pipeline_of

training = pl.generators.pipeline_training


def run(problem: pl.Problem, scheduler: str, **options: object) -> pl.Schedule:
    """The only placement of a pipeline, under a scheduler, found legal."""
    schedule = pl.simulate(problem, pl.place(problem, "heft"), scheduler, **options)
    assert pl.validate(schedule) == []
    return schedule


def test_ops_of_a_small_pipeline():
    """Two stages, two micro-batches: names, seconds, edges, columns."""
    graph = training([1.0, 2.0], [3.0, 4.0], 5.0, microbatches=2, activation=7.0, transfer=2.0).graph
    assert graph.names[:6].tolist() == ["F0.0", "F0.1", "B0.1", "B0.0", "W0.0", "W0.1"]
    assert graph.compute[:6].tolist() == [1, 2, 4, 3, 5, 5] and graph.n_ops == 12
    edges = {
        (str(graph.names[u]), str(graph.names[v])): size
        for (u, v), size in zip(graph.edges, graph.edge_bytes, strict=True)
    }
    assert edges["F0.0", "F0.1"] == edges["B0.1", "B0.0"] == 2 and edges["B0.0", "W0.0"] == 0
    assert edges["F1.0", "B1.0"] == edges["F1.0", "W1.0"] == 7 and ("F0.0", "F1.0") not in edges
    assert graph.metadata["pipeline"]["phase"][:6] == ["F", "F", "B", "B", "W", "W"]
    assert graph.metadata["pipeline"]["stage"] == [0, 1, 1, 0, 0, 1] * 2
    assert graph.metadata["pipeline"]["microbatch"] == [0] * 6 + [1] * 6


def test_columns_survive_a_file(tmp_path):
    """Saved and loaded, a pipeline still has its schedulers."""
    graph = training(1.0, 2.0, microbatches=3, stages=2).graph
    graph.save(tmp_path / "pipeline.json")
    problem = pl.Problem(pl.load(tmp_path / "pipeline.json"), pl.Cluster([1.0, 1.0], names=["gpu:0", "gpu:1"]))
    assert run(problem, "1f1b").makespan == 12


@pytest.mark.parametrize("damage", ["short", "phase", "number", "twice", "huge"])
def test_columns_that_do_not_fit_are_none(damage):
    """Metadata of another graph, or of a damaged file, make no pipeline, and schedulers say so in one sentence."""
    problem = training(1.0, 2.0, microbatches=3, stages=2)
    columns = {name: list(column) for name, column in problem.graph.metadata["pipeline"].items()}
    if damage == "short":
        columns["stage"].pop()
    if damage == "phase":
        columns["phase"][0] = "G"
    if damage == "number":
        columns["microbatch"][0] = "0"
    if damage == "twice":
        columns["microbatch"][0] = 1
    if damage == "huge":
        columns["stage"][0] = 10**9
    other = problem.replace(graph=problem.graph.replace(metadata={"name": "mine", "pipeline": columns}))
    assert pipeline_of(other.graph) is None
    words = "'gpipe' needs a training step of stages and micro-batches, and mine has none; make"
    with pytest.raises(pl.UnsupportedError, match=words):
        run(other, "gpipe")


def test_every_partitioner_gives_the_one_placement():
    """Ops are tied to the devices of their stages, in a loop or down and up."""
    loop, v = (training(1.0, 2.0, microbatches=2, stages=2, chunks=2, layout=layout) for layout in ("loop", "v"))
    for name in ("heft", "etf", "min-cut", "round-robin", "m-topo"):
        assert pl.place(loop, name).device[:4].tolist() == [0, 1, 0, 1]
        assert pl.place(v, name).device[:4].tolist() == [0, 1, 1, 0]


def test_chunks_share_what_a_device_has():
    """A number, or an entry per device, is divided by the chunks; an entry per stage is not."""
    shared = training([2.0, 4.0], 2.0, microbatches=1, chunks=2, activation=6.0).graph
    assert shared.compute[:4].tolist() == [1, 2, 1, 2] and 3.0 in shared.edge_bytes
    each = training([1.0, 2.0, 3.0, 4.0], 2.0, microbatches=1, chunks=2, stages=2).graph
    assert each.compute[:4].tolist() == [1, 2, 3, 4]


def test_recomputing_takes_a_forward_more_and_keeps_the_borders():
    """Time + F per stage; between forward and backward only what came in is kept, and during the backward op the activation."""
    usual = dict(microbatches=6, activation=10.0, transfer=1.0, stages=3)
    for seconds in ((1.0, 2.0), (1.0, 2.0, 1.0)):
        once, again = (run(training(*seconds, **usual, recompute=r), "gpipe") for r in (False, True))
        assert again.makespan == once.makespan + 6 + 2  # F more per micro-batch, and in the bubble
        assert once.peak_memory[1] >= 60
        assert 10 + 6 <= again.peak_memory[1] <= 10 + 6 + 3


def test_a_receive_that_blocks_holds_its_device():
    """By hand: F 1, transfer 1, two micro-batches. The second one's tensor arrives while the stage computes, or after."""
    cluster = pl.Cluster([1.0, 1.0], bandwidth=1.0)
    usual = dict(microbatches=2, stages=2, transfer=1.0, cluster=cluster)
    free, held = (run(training(1.0, 1.0, **usual, recv=recv), "gpipe") for recv in ("async", "blocking"))
    start = lambda schedule, op: schedule.start[schedule.problem.graph.index(op)]  # noqa: E731
    assert [start(free, op) for op in ("F0.1", "F1.1", "BW0.1", "BW1.1", "BW0.0", "BW1.0")] == [2, 3, 4, 5, 6, 7]
    assert [start(held, op) for op in ("RF0.1", "F0.1", "RF1.1", "F1.1", "BW0.1", "BW1.1")] == [1, 2, 3, 4, 5, 6]
    assert [start(held, op) for op in ("RB0.0", "BW0.0", "RB1.0", "BW1.0")] == [6, 7, 8, 9]
    assert len(free.transfers) == 4 and free.problem.graph.tensor_bytes[free.transfers["tensor"]].sum() == 4
    assert held.problem.graph.tensor_bytes[held.transfers["tensor"]].sum() == 0  # the bytes are in the Receives


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(forward=1.0, backward=1.0, microbatches=2), "the number of stages is not known; give stages"),
        (
            dict(forward=[1.0, 1.0], backward=[1.0] * 3, microbatches=2),
            "an array has 3 entries; expected one per stage: 2",
        ),
        (dict(forward=[-1.0], backward=1.0, microbatches=2), "F is .*; expected finite numbers, 0 or more"),
        (dict(forward=[1.0], backward=1.0, microbatches=0), "microbatches is 0; expected .* from 1 to 2,000,000"),
        (dict(forward=[1.0] * 3, backward=1.0, microbatches=1, transfer=[1.0]), "transfer has 1 entries"),
        (dict(forward=[1.0] * 3, backward=1.0, microbatches=1, cluster=pl.Cluster([1.0])), "3 stages need one each"),
        (
            dict(forward=[1.0], backward=1.0, microbatches=1, layout="w"),
            "layout is 'w'; expected 'loop', 'v' or 'dual'",
        ),
        (dict(forward=[1.0], backward=1.0, microbatches=1, recv="no"), "recv is 'no'; expected 'async' or 'blocking'"),
        (dict(forward=[1.0], backward=1.0, microbatches=10**7), "microbatches is 10000000; expected .* to 2,000,000"),
        (dict(forward=[1.0, 1.0], backward=1.0, microbatches=10**6), "at most 2,000,000 are made"),
        (
            dict(forward=1.0, backward=1.0, microbatches=1, stages=10**7),
            "stages is 10000000; expected .* from 1 to 4,096",
        ),
        (
            dict(forward=1.0, backward=1.0, microbatches=1, stages=4096, chunks=2),
            "8,192 stages; at most 4,096 are made",
        ),
    ],
)
def test_what_makes_no_pipeline_is_refused(given, words):
    """One sentence: what was given, what was expected."""
    with pytest.raises(pl.FormatError, match=words):
        training(**given)


SECONDS = st.sampled_from([0.5, 1.0, 2.0, 3.0])


@examples(60)
@given(data=st.data())
def test_no_order_holds_more_than_its_peak(data):
    """On any stages, transfers and Receives: legal under every scheduler and transfer model, and within the peak of the order."""
    p = data.draw(st.integers(1, 5), "p")
    m = data.draw(st.integers(1, 9), "m")
    column = lambda: data.draw(st.lists(SECONDS, min_size=p, max_size=p))  # noqa: E731
    cluster = pl.Cluster([1.0] * p, bandwidth=data.draw(st.sampled_from([1.0, 4.0, 1e9])))
    problem = training(
        column(), column(), column(), microbatches=m, stages=p, activation=1.0, cluster=cluster,
        transfer=data.draw(st.sampled_from([0.0, 1.0])), recv=data.draw(st.sampled_from(["async", "blocking"])),
    ).replace(transfers=data.draw(st.sampled_from(["parallel", "sequential", "channel"])))  # fmt: skip
    peak = {"gpipe": m, "1f1b": min(m, p), "zb-h1": min(m, p), "zb-h2": min(m, 2 * p - 1), "zb-auto": min(m, 2 * p - 1)}
    for scheduler, most in peak.items():
        schedule = run(problem, scheduler)
        assert bubbles(schedule)["peak_activations"] <= most
    cap = data.draw(st.integers(1, p))
    assert bubbles(run(problem, "zb-auto", cap=cap))["peak_activations"] <= cap
    for scheduler in ("fifo", "pct", "msr", "random"):
        run(problem, scheduler)


def test_measures_are_there_where_stages_are():
    """metrics has bubbles for pipelines only; stages has a row per device."""
    schedule = run(training(1.0, 2.0, microbatches=4, stages=3, activation=2.0), "1f1b")
    found = pl.metrics(schedule)
    table = pl.stages(schedule)
    assert (found["bubble"], found["bubble_span"], found["peak_activations"]) == (6, 6, 3)
    assert table["memory"].tolist() == [6, 4, 2] and table["activations"].tolist() == [3, 2, 1]
    assert table["span"].tolist() == [18, 15, 12] and table["idle"].tolist() == [6, 3, 0]
    other = pl.solve(pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2)), "heft")
    assert "bubble" not in pl.metrics(other)
    with pytest.raises(pl.UnsupportedError, match=r"stages measures a training step .*, and fork-join 3 x 1 has none"):
        pl.stages(other)


def test_sixteen_micro_batches_of_many_stages_are_quick_to_make():
    """A thousand micro-batches of eight stages are 24,000 ops, and each is there once."""
    graph = training(1.0, 1.0, 1.0, microbatches=1000, stages=8).graph
    assert graph.n_ops == 24_000 and len(np.unique(graph.names)) == 24_000

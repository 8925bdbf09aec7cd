"""Replicated pipelines: ops and edges by hand, gradients of real models, every scheduler, bounds of all-reduces."""

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.formats.torch import schedule_table
from placelab.problem.pipeline_columns import pipeline_of

replicated = pl.transforms.pipeline_replica
training = pl.generators.pipeline_training
PIPELINES = ("gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", "zb-auto")
LINKS = pl.Cluster([1.0, 1.0], bandwidth=8.0)


def run(problem: pl.Problem, scheduler: str, **options: object) -> pl.Schedule:
    """The only placement, under a scheduler, found legal, each replica on devices of its own."""
    schedule = pl.simulate(problem, pl.place(problem, "hash"), scheduler, **options)
    assert pl.validate(schedule) == [] and not len(schedule.oom)
    replica = pipeline_of(problem.graph).replica
    pairs = np.unique(np.stack([replica, schedule.device], axis=1), axis=0)
    assert len(np.unique(pairs[:, 1])) == len(pairs)
    return schedule


def folded(name: str = "resnet50", split: bool = False, **options: object) -> pl.Problem:
    """A real model on two GPUs, in four micro-batches, with updates where its graph has them."""
    problem = pl.Problem(pl.load(name), pl.clusters.rtx2080ti_box(2), transfers="sequential", duplex=True)
    placement = pl.place(problem, "contiguous", prepare="forward-only")
    return pl.transforms.microbatches(placement, 4, split=split, **options)


def test_two_stages_by_hand():
    """Two copies of every op, a bucket per stage, summed after the stage's last backward op; the second stage's meanwhile."""
    step = training(1.0, 2.0, microbatches=4, stages=2, cluster=LINKS)
    job = replicated(step, 2, gradient=[16.0, 8.0])
    # Of each bucket ready ops, and two hops of both chunks.
    assert job.graph.n_ops == 2 * step.graph.n_ops + 2 * (2 + 4)
    assert [name for name in job.graph.names if "bucket1" in name] == [
        *("bucket1/ready@0", "bucket1/ready@1", "bucket1/reduce0@1", "bucket1/reduce1@0"),
        *("bucket1/gather2@0", "bucket1/gather3@1"),
    ]
    schedule = run(job, "1f1b")
    skew = pl.arrival_skew(schedule)
    assert skew[["latest", "end"]].to_numpy().tolist() == [[15, 17], [13, 14]]
    assert schedule.makespan == 17 and pl.metrics(schedule)["bubble"] == 17 - 12
    assert pl.stages(schedule)["device"].tolist() == [f"replica:{w}/dev{d}" for w in (0, 1) for d in (0, 1)]
    assert pl.stages(schedule)["replica"].tolist() == [0, 0, 1, 1]
    halves = replicated(step, 2, gradient=[16.0, 8.0], bucket_bytes=8.0)  # no smaller latency: the same time
    assert len(pl.arrival_skew(run(halves, "1f1b"))) == 3 and run(halves, "1f1b").makespan == 17


def test_a_slow_device_delays_the_sum_of_its_stage_alone():
    """The other replica waits for it at the all-reduce, not before."""
    job = replicated(training(1.0, 2.0, microbatches=4, stages=2, cluster=LINKS), 2, gradient=8.0)
    speed = job.cluster.speed.copy()
    speed[3] = 0.5  # replica 1, stage 1
    schedule = run(job.replace(cluster=job.cluster.replace(speed=speed)), "1f1b")
    own = pipeline_of(job.graph).microbatch >= 0
    end = [schedule.finish[own & (schedule.device == d)].max() for d in range(4)]
    assert end[0] == 15 and end[2] > 15
    assert pl.arrival_skew(schedule)["skew"].tolist() == [end[2] - 15, end[3] - 13]


def test_updates_wait_for_all_buckets_and_hold_gradients_until_then():
    """Of a graph with an optimiser, all that its updates read is summed, before they start."""
    step = folded("resnet50")
    pipeline = pipeline_of(step.graph)
    graph = step.graph
    job = replicated(step, 3, bucket_bytes=25e6)
    schedule = run(job, "1f1b")
    u = np.isin(job.graph.kind, ["U"])
    assert u.any() and u.sum() == 3 * (pipeline.phase == "U").sum()
    into = (pipeline.phase[graph.consumer] == "U") & (pipeline.microbatch[graph.producer] >= 0)
    size = graph.tensor_bytes[np.unique(graph.edge_tensor[into])].sum()
    hops = np.array(job.graph.metadata["replica"]["role"])[job.graph.producer]
    roles = job.graph.metadata["replica"]["roles"]
    first = np.isin(hops, [roles.index("ready")]) & ~job.graph.tensor_control[job.graph.edge_tensor]
    assert job.graph.edge_bytes[first].sum() == pytest.approx(size)  # three chunks of a third each
    skew = pl.arrival_skew(schedule)
    starts = schedule.start[u]
    assert skew["end"].max() <= starts.max() and (starts >= skew["end"].min()).all()
    alone = run(step, "1f1b")
    assert (schedule.peak_memory[:2] >= alone.peak_memory).all()


@pytest.mark.parametrize(
    ("name", "parameters", "shared"), [("gpt2", 124_439_808, True), ("llama_8", 168_313_856, False)]
)
def test_a_weight_of_two_stages_is_summed_once(name, parameters, shared):
    """The gradients summed are as many as there are parameters: GPT-2's embedding, which is its last layer, too, counts once."""
    graph = pl.load(name).replace(groups=())
    placement = pl.place(pl.Problem(graph, pl.clusters.rtx2080ti_box(4)), "contiguous", prepare="forward-only")
    step = pl.transforms.microbatches(placement, 4)
    assert ("added" in step.graph.metadata["pipeline"]) == shared
    job = replicated(step, 2).graph
    role = np.array(job.metadata["replica"]["role"])
    roles = job.metadata["replica"]["roles"]
    summed = job.edge_bytes[(role == roles.index("reduce"))[job.consumer]].sum()
    assert summed == pytest.approx(4 * parameters, rel=1e-9)


def test_parts_of_a_gradient_by_hand():
    """Two stages use w: parts of 6 bytes, one from the second stage, are added on the first, then summed over replicas as 6."""
    rows = [  # name, kind, operations, inputs with bytes
        ("x", "Placeholder", 0, {}),
        ("w", "VariableV2", 0, {}),
        ("a", "MatMul", 8, {"x": 16, "w": 6}),
        ("b", "MatMul", 8, {"a": 24, "w": 6}),
        ("gradients/b_grad/MatMul", "MatMul", 8, {"b": 4}),
        ("gradients/b_grad/MatMul_1", "MatMul", 8, {"b": 4, "a": 24}),
        ("gradients/a_grad/MatMul_1", "MatMul", 8, {"gradients/b_grad/MatMul": 24, "x": 16}),
        ("gradients/AddN", "AddN", 1, {"gradients/b_grad/MatMul_1": 6, "gradients/a_grad/MatMul_1": 6}),
        ("u", "ApplyGradientDescent", 1, {"w": 6, "gradients/AddN": 6}),
    ]
    number = {name: v for v, (name, *_) in enumerate(rows)}
    edges = [(number[u], v, size) for v, (*_, inputs) in enumerate(rows) for u, size in inputs.items()]
    graph = pl.OpGraph.from_arrays(
        [row[0] for row in rows],
        [float(row[2]) for row in rows],
        [edge[:2] for edge in edges],
        edge_bytes=[float(edge[2]) for edge in edges],
        kind=[row[1] for row in rows],
    )
    there = [name == "b" or name.startswith("gradients/b") for name in graph.names]
    step = pl.transforms.microbatches(pl.Placement(pl.Problem(graph, LINKS), np.array(there, int)), 2)
    assert max(step.graph.metadata["pipeline"]["added"]) == 6
    job = replicated(step, 2)
    assert sum(job.graph.edge_bytes[job.graph.kind[job.graph.consumer] == "reduce"]) == 6  # two halves
    assert len(pl.arrival_skew(run(job, "1f1b"))) == 1
    wrong = {**step.graph.metadata["pipeline"], "added": ["6"] * step.graph.n_ops}
    unknown = step.replace(graph=step.graph.replace(metadata={"pipeline": wrong}))
    assert sum(replicated(unknown, 2).graph.edge_bytes[job.graph.kind[job.graph.consumer] == "reduce"]) == 12


def test_gradients_without_an_optimiser():
    """As many bytes as a stage's parameters; without these, an error that names the remedy."""
    graph = pl.transforms.backward(pl.load("alexnet"))
    problem = pl.Problem(graph, pl.clusters.rtx2080ti_box(2))
    step = pl.transforms.microbatches(pl.place(problem, "contiguous", prepare="forward-only"), 4)
    assert not np.isin(step.graph.kind, ["U"]).any()
    schedule = run(replicated(step, 2), "1f1b")
    sent = schedule.transfers["tensor"][schedule.transfers["source"] >= 4]
    # a ring of two sends all bytes once in each direction to sum them, and once more to hand them on, in halves
    assert schedule.problem.graph.tensor_bytes[sent].sum() == pytest.approx(2 * graph.persistent.sum())
    with pytest.raises(pl.UnsupportedError, match=r"has no gradients of weights, and no parameters; give .* gradient"):
        replicated(training(1.0, 2.0, microbatches=4, stages=2), 2)


def test_one_replica_is_the_pipeline():
    """The very problem; an order of two is that of one, in each replica."""
    step = training(1.0, 2.0, 1.0, microbatches=6, stages=3, cluster=pl.Cluster([1.0] * 3, bandwidth=4.0), transfer=1.0)
    assert replicated(step, 1) is step
    twice = replicated(step, 2, gradient=0.0)
    for scheduler in ("gpipe", "1f1b", "zb-h1", "zb-h2", "zb-auto"):
        one = run(step, scheduler)
        two = run(twice, scheduler)
        for w in range(2):
            mine = pipeline_of(twice.graph).replica == w
            np.testing.assert_array_equal(two.start[mine], one.start)
        assert pl.stages(two)["activations"].tolist() == 2 * pl.stages(one)["activations"].tolist()


def test_several_stages_on_a_device_and_every_scheduler():
    """Chunks have buckets of their own; each scheduler of pipelines accepts or refuses what it does of the one pipeline."""
    for options in (
        dict(), dict(weight=1.0), dict(chunks=2), dict(chunks=2, weight=1.0, layout="v"), dict(weight=1.0, recv="blocking")
    ):  # fmt: skip
        step = training(1.0, 2.0, microbatches=4, stages=2, transfer=1.0, activation=1.0, cluster=LINKS, **options)
        job = replicated(step, 2, gradient=4.0, bucket_bytes=3.0)
        assert len(set(job.graph.metadata["replica"]["bucket"]) - {-1}) == 2 * pipeline_of(step.graph).stages
        for scheduler in PIPELINES:
            assert ran(step, scheduler) == ran(job, scheduler)


def ran(problem: pl.Problem, scheduler: str) -> bool:
    try:
        run(problem, scheduler)
    except pl.UnsupportedError:
        return False
    return True


def test_columns_and_tables():
    """Saved and loaded, replicas are still told apart; a table of torch is that of each."""
    job = replicated(training(1.0, 2.0, microbatches=4, stages=2, cluster=LINKS), 2, gradient=4.0)
    schedule = run(job, "1f1b")
    table = schedule_table.dumps(schedule)
    assert len(table.splitlines()) == 2
    again = schedule_table.loads(job, table.encode())
    np.testing.assert_array_equal(pl.simulate(job, again, "planned").start, schedule.start)
    columns = {**job.graph.metadata["pipeline"], "replica": [0] * job.graph.n_ops}
    assert pipeline_of(job.graph.replace(metadata={"pipeline": columns})) is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (dict(replicas=0), "replicas is 0; expected a whole number from 1 to 2,000,000"),
        (dict(replicas=3, algorithm="halving"), "halving takes a power of two workers, found 3"),
        (dict(replicas=2, bucket_bytes=0), "bucket_bytes is 0; expected more"),
        (dict(replicas=2, gradient=[1.0]), r"gradient is \[1.0\]; expected bytes, .* one for each of 2 stages"),
        (dict(replicas=2, gradient=-1.0), "gradient is -1.0; expected bytes, 0 or more"),
        (
            dict(replicas=10**5),
            "an all-reduce over 100,000 replicas by ring has .* hops; at most 2,000,000 ops are made",
        ),
        (dict(replicas=2**20, algorithm="tree"), "an all-reduce over .* replicas by tree has .* hops"),
        (dict(replicas=2**20, algorithm="halving"), "an all-reduce over .* replicas by halving has .* hops"),
        (dict(replicas=2, bucket_bytes=1e-6), "2 replicas have .* ops; at most 2,000,000 are made"),
    ],
)
def test_what_is_refused(options, words):
    """One sentence: what was given, what was expected."""
    with pytest.raises(pl.FormatError, match=words):
        replicated(training(1.0, 2.0, microbatches=2, stages=2), **{"gradient": 8.0, **options})


def test_what_is_no_pipeline_is_refused():
    """A graph without stages, one with replicas, and one whose ops may move."""
    step = training(1.0, 2.0, microbatches=2, stages=2)
    with pytest.raises(pl.UnsupportedError, match="pipeline_replica needs a training step of stages and micro-batches"):
        replicated(pl.Problem(pl.generators.fork_join(3), LINKS), 2)
    with pytest.raises(pl.UnsupportedError, match="has replicas already"):
        replicated(replicated(step, 2, gradient=1.0), 2)
    graph = step.graph
    free = pl.OpGraph.from_arrays(graph.names, graph.compute, graph.edges, metadata=graph.metadata)
    with pytest.raises(pl.UnsupportedError, match=r"each op tied to the device of its stage; 'F0\.0' is not"):
        replicated(step.replace(graph=free), 2, gradient=1.0)


SECONDS = st.sampled_from([0.5, 1.0, 2.0, 3.0])


@examples(40)
@given(data=st.data())
def test_no_all_reduce_is_faster_than_its_bound(data):
    """On any stages, links and buckets: legal under each scheduler, replicas apart, and no sum sooner than its closed form."""
    p = data.draw(st.integers(1, 3), "p")
    r = data.draw(st.integers(2, 4), "r")
    column = lambda: data.draw(st.lists(SECONDS, min_size=p, max_size=p))  # noqa: E731
    rate = data.draw(st.sampled_from([1.0, 4.0]), "rate")
    delay = data.draw(st.sampled_from([0.0, 0.5]), "delay")
    step = training(
        column(), column(), column(), microbatches=data.draw(st.integers(1, 5)), stages=p, transfer=1.0,
        cluster=pl.Cluster([1.0] * p, bandwidth=2.0),
    ).replace(transfers=data.draw(st.sampled_from(["parallel", "sequential", "channel"])))  # fmt: skip
    algorithm = data.draw(st.sampled_from(["ring", "tree"] + ["halving"] * (r != 3)))
    gradient = data.draw(st.sampled_from([3.0, 8.0]))
    most = data.draw(st.sampled_from([2.0, 4.0, np.inf]))
    how = dict(algorithm=algorithm, bucket_bytes=most, bandwidth=rate, latency=delay)
    job = replicated(step, r, gradient=gradient, **how)
    size = gradient / max(1, np.ceil(gradient / most))
    least = pl.allreduce_time(size, r, bandwidth=rate, latency=delay, algorithm=algorithm)
    least *= 0.5 if algorithm == "tree" else 1.0  # less deep where r is no power of two
    for scheduler in ("gpipe", "1f1b", "zb-h1", "zb-h2", "zb-auto", "fifo", "pct"):
        schedule = run(job, scheduler)
        took = pl.arrival_skew(schedule)
        assert (took["end"] - took["latest"] >= least * (1 - 1e-9)).all()
        assert pl.worker_metrics(schedule)["efficiency"].max() <= 1 + 1e-9

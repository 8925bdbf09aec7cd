"""Data-parallel jobs: graphs of parameter servers and of all-reduces, and the times that spec and papers give them."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st
from replicas import ONE, TWO, column, is_role, models, run, schedulers_of, with_servers, with_streams

import placelab as pl
from placelab.graphs.transforms import model_replica

JOBS = [
    dict(sync="ps"),
    dict(sync="ps", servers=2, barrier=False, assign="size"),
    dict(sync="ps", training=False),
    dict(sync="ps-async", servers=2),
    dict(sync="ps-async", barrier=False),
    dict(sync="allreduce", bucket_bytes=6.0),
    dict(sync="allreduce", algorithm="tree", window="start", bucket_bytes=0.0),
    dict(sync="allreduce", algorithm="halving", barrier=False, streams=False),
    dict(sync="allreduce", window="start", barrier=False),
]


def cluster_of(graph):
    """A cluster with the devices of a job."""
    job = graph.metadata["replica"]
    if job["sync"] == "allreduce":
        return with_streams(job["workers"], latency=0.5)
    return with_servers(*[1.0] * job["workers"], servers=job["servers"])


def ends(schedule, worker=-1):
    """When the last update of each iteration ends, of all workers or of one."""
    graph = schedule.problem.graph
    updates = is_role(graph, "update") & (column(graph, "worker") == worker)
    iteration = column(graph, "iteration")
    return [float(schedule.finish[updates & (iteration == k)].max()) for k in range(iteration.max() + 1)]


# -------------------------------------------------------------------- parameter servers


def test_the_ops_have_the_names_the_devices_and_the_edges_of_the_definition():
    """Fig. 1 trained for two iterations on two workers: every op, in its order."""
    graph = model_replica(TWO, 2, 2, iterations=2)
    device = [graph.device_sets[d][0] for d in graph.device_set]
    first = [f"it0/{name}/read@{w}" for name in ("r1", "r2") for w in (0, 1)]
    copies = [f"it0/w{w}/{v}" for w in (0, 1) for v in ("c1", "c2", "gradients/c2_grad", "gradients/c1_grad")]
    one = [*first, *copies, "it0/r1/update", "it0/r2/update"]
    assert graph.names.tolist() == one + ["it1/step"] + [name.replace("it0", "it1") for name in one]
    servers = ["ps:0", "ps:0", "ps:1", "ps:1"]
    assert device[:14] == servers + ["worker:0"] * 4 + ["worker:1"] * 4 + ["ps:0", "ps:1"]
    assert device[14] == "ps:0" and device[15:] == device[:14]
    wanted = {
        "it1/step": {"it0/r1/update", "it0/r2/update"},
        "it1/r2/read@1": {"it1/step"},
        "it0/w1/c2": {"it0/w1/c1", "it0/r2/read@1"},
        "it0/w1/gradients/c2_grad": {"it0/w1/c2"},
        "it0/r1/update": {"it0/w0/gradients/c1_grad", "it0/w1/gradients/c1_grad"},
        "it1/r2/update": {"it1/w0/gradients/c2_grad", "it1/w1/gradients/c2_grad"},
    }
    for name, inputs in wanted.items():
        assert set(graph.names[graph.predecessors_of(graph.index(name))]) == inputs
    pushes = graph.consumer == graph.index("it0/r1/update")
    assert graph.edge_bytes[pushes].tolist() == [1, 1] and not graph.tensor_control[graph.edge_tensor[pushes]].any()


def test_async_jobs_have_an_update_and_a_step_for_each_worker():
    """Worker w's apply receives from w alone, and its step waits for its own."""
    graph = model_replica(TWO, 2, sync="ps-async", iterations=2)
    inputs = lambda name: set(graph.names[graph.predecessors_of(graph.index(name))])  # noqa: E731
    assert inputs("it0/r1/apply@1") == {"it0/w1/gradients/c1_grad"}
    assert inputs("it1/step@1") == {"it0/r1/apply@1", "it0/r2/apply@1"}
    assert inputs("it1/r2/read@0") == {"it1/step@0"}
    free = model_replica(TWO, 2, sync="ps-async", iterations=2, barrier=False)
    assert free.names[free.predecessors_of(free.index("it1/r2/read@0"))].tolist() == ["it0/r2/apply@0"]
    assert not is_role(free, "step").any()


@pytest.mark.parametrize(
    ("sync", "update", "of_workers"),
    [
        ("ps", 0, {-1: [5, 10, 15]}),
        ("ps", 1, {-1: [6, 12, 18]}),
        ("ps-async", 0, {0: [4, 8, 12], 1: [5, 10, 15]}),
        ("ps-async", 1, {0: [5, 11, 17], 1: [6, 12, 18]}),
    ],
)
def test_ps1_ends_of_three_steps(sync, update, of_workers):
    """PS1: workers of speed 1 and 2/3; a read waits in the server's queue behind the other worker's apply."""
    graph = model_replica(ONE, 2, sync=sync, iterations=3, update=update)
    schedule = run(graph, with_servers(1, 2 / 3))
    for worker, wanted in of_workers.items():
        assert ends(schedule, worker) == pytest.approx(wanted, abs=1e-12)


def last_read_first(problem):
    """First in, first out; of reads at one instant the last parameter first."""
    order = np.arange(problem.graph.n_ops)
    return pl.Order("fifo", np.where(is_role(problem.graph, "read"), -order, order))


@pytest.mark.parametrize(
    ("barrier", "in_order", "turned"), [(True, [6, 12, 18], [7, 14, 21]), (False, [6, 12, 18], [7, 13, 19])]
)
def test_ps2_read_orders_with_and_without_a_barrier(barrier, in_order, turned):
    """PS2: Fig. 1 trained on one worker; without a barrier the parameter updated first is read first."""
    graph = model_replica(TWO, 1, iterations=3, barrier=barrier)
    assert ends(run(graph, with_servers(1))) == in_order
    assert ends(run(graph, with_servers(1), last_read_first)) == turned


@pytest.mark.parametrize(("scheduler", "end", "efficiency"), [("fifo", 6, 0.5), (last_read_first, 7, 0.25)])
def test_ps2_overlap_of_a_step(scheduler, end, efficiency):
    """PS2: E of one step in order and reversed."""
    schedule = run(model_replica(TWO, 1), with_servers(1), scheduler)
    assert schedule.makespan == end and pl.worker_metrics(schedule)["efficiency"].tolist() == [efficiency]


def test_ps3_random_read_orders_cost_time_and_make_stragglers():
    """PS3: Inception-V2, 125 MB/s, compute .95 of communication: random orders .604 to .670 s, TIC .358 s at no spread."""
    published = {1: (0.604, 0.0), 2: (0.647, 0.100), 4: (0.663, 0.146), 8: (0.670, 0.197)}
    for workers, (wanted, straggling) in published.items():
        graph = model_replica(pl.load("inception_v2"), workers, training=False)
        worker = column(graph, "worker")
        seconds = np.nan_to_num(graph.time[:, graph.time_types.index("cpu")])
        reads = is_role(graph, "read") & (worker == 0)
        communication = graph.outputs[reads].sum() / 125e6
        compute = seconds * 0.95 * communication / seconds[(worker == 0) & ~reads].sum()
        graph = graph.replace(compute=np.where(is_role(graph, "read"), 0.0, compute), time=None, time_types=())
        problem = pl.Problem(graph, with_servers(*[1.0] * workers, bandwidth=125e6), transfers="channel")
        placement = pl.place(problem, "hash")
        spans = []
        spread = []
        for seed in range(20):
            schedule = pl.simulate(problem, placement, "random-reads", seed=seed)
            own = np.array([schedule.finish[worker == w].max() for w in range(workers)])
            spans.append(own.max())
            spread.append((own.max() - own.min()) / own.max())
        error = 4 * np.std(spans) * (1 / 20 + 1 / 60) ** 0.5  # of both means
        assert np.mean(spans) == pytest.approx(wanted, abs=error)
        assert np.mean(spread) == pytest.approx(straggling, abs=4 * np.std(spread) * (1 / 20 + 1 / 60) ** 0.5)
        own = pl.simulate(problem, placement, "tic").finish
        ends = [own[worker == w].max() for w in range(workers)]
        assert max(ends) == pytest.approx(0.358, abs=5e-4) and min(ends) == pytest.approx(max(ends))


def test_one_card_of_a_server_serves_one_worker_after_the_other():
    """Sequential and duplex: two workers wait for each other's read and push; with channels they do not."""
    graph = model_replica(ONE, 2)
    assert run(graph, with_servers(1, 1)).makespan == 4
    assert run(graph, with_servers(1, 1), transfers="sequential", duplex=True).makespan == 5


def test_size_gives_the_largest_parameter_to_the_emptiest_server():
    """Bytes 1, 5, 2, 2 on two servers: 5 alone, the others together; in turn: 1 and 2, 5 and 2."""
    names = [f"v{i}/read" for i in range(4)]
    graph = pl.OpGraph.from_arrays([*names, "op"], [0] * 5, [(i, 4) for i in range(4)], edge_bytes=[1, 5, 2, 2])
    server = lambda made: [made.device_sets[d][0] for d in made.device_set[is_role(made, "read")]]  # noqa: E731
    assert server(model_replica(graph, 1, 2, assign="size")) == ["ps:1", "ps:0", "ps:1", "ps:1"]
    assert server(model_replica(graph, 1, 2)) == ["ps:0", "ps:1", "ps:0", "ps:1"]


# -------------------------------------------------------------------- what is a read


def test_reads_of_tensorflow_take_their_variables_with_them():
    """`<variable>/read`: the variable is no op of the job, its bytes are held once, on its server."""
    names = ["v", "v/read", "w", "w/assign", "w/read", "x"]
    graph = pl.OpGraph.from_arrays(
        names,
        [0] * 6,
        [(0, 1), (2, 3), (2, 4), (1, 5), (4, 5)],
        edge_bytes=[0, 0, 0, 8, 4],
        persistent=[8, 0, 4, 0, 0, 0],
    )
    made = model_replica(graph, 2, 2, iterations=2, training=False)
    assert made.metadata["replica"]["parameters"] == ["v", "w"]
    held = {made.names[v]: made.persistent[v] for v in np.flatnonzero(made.persistent)}
    assert held == {"it0/v/read@0": 8, "it0/w/read@0": 4}
    after = made.predecessors_of(made.index("it0/w1/w/assign"))
    assert made.names[after].tolist() == ["it0/w/read@1"]  # it used the variable itself
    op = column(made, "op")
    assert np.array(graph.names)[op[op >= 0]].tolist()[:4] == ["v/read", "v/read", "w/read", "w/read"]


@pytest.mark.parametrize("sync", ["ps", "allreduce"])
def test_several_reads_of_a_variable_are_one_parameter(sync):
    """Its gradient is all-reduced once, and its bytes are sent once to a worker; another variable stays apart."""
    names = ["v", "w", "v/read", "r", "w/read", "x", "y"]
    graph = pl.OpGraph.from_arrays(
        names,
        [0] * 7,
        [(0, 2), (0, 3), (1, 4), (2, 5), (3, 6), (4, 6), (5, 6)],
        edge_bytes=[0, 0, 0, 8, 8, 8, 1],
        persistent=[8, 8, 0, 0, 0, 0, 0],
        kind=["", "", "read", "read", "read", "", ""],
    )
    made = model_replica(graph, 2, sync=sync)
    assert made.metadata["replica"]["parameters"] == ["v", "w"]
    assert is_role(made, "read").sum() == 4 and made.persistent.sum() == (16 if sync == "ps" else 32)
    read = made.index("it0/v/read@0" if sync == "ps" else "it0/w0/v/read")
    assert set(made.names[made.successors_of(read)]) >= {"it0/w0/x", "it0/w0/y"}
    assert made.outputs[read] == 8
    if sync == "allreduce":
        assert made.edge_bytes[is_role(made, "reduce", "gather")[made.consumer]].sum() == 2 * 16


def test_without_reads_ops_with_persistent_bytes_read_them():
    """As PyTorch and ONNX name no reads: the bytes leave the op for its server, and reach each worker."""
    graph = pl.OpGraph.from_arrays(
        ["x", "mm", "y"], [1, 2, 3], [(0, 1), (1, 2)], edge_bytes=[4, 4], persistent=[0, 6, 0]
    )
    made = model_replica(graph, 2)
    assert made.metadata["replica"]["parameters"] == ["mm"]
    assert made.persistent[made.index("it0/mm/read@0")] == made.persistent.sum() == 6
    assert made.outputs[made.index("it0/mm/read@1")] == 6
    assert set(made.names[made.predecessors_of(made.index("it0/mm/update"))]) == {
        "it0/w0/gradients/mm_grad",
        "it0/w1/gradients/mm_grad",
    }


@pytest.mark.parametrize(
    ("network", "parameters"),
    [("alexnet", 26), ("resnet_v2_152", 514), ("convolutional_network", 26), ("bert_base", 105)],
)
def test_real_models_have_a_parameter_per_read_or_holder(network, parameters):
    """TensorFlow's and PyTorch's; what they hold is conserved, a backward pass of their own is mirrored anew."""
    graph = pl.load(network)
    for made in (model_replica(graph, 2), model_replica(graph, 2, sync="allreduce", bucket_bytes=25e6)):
        job = made.metadata["replica"]
        assert len(job["parameters"]) == parameters
        copies = 1 if job["servers"] else 2
        assert made.persistent.sum() == pytest.approx(copies * graph.persistent.sum())
        assert is_role(made, "forward").sum() == is_role(made, "backward").sum()


def test_a_graph_without_reads_is_refused_with_the_rule():
    """The message says what counts as a read."""
    with pytest.raises(
        pl.FormatError, match=r"no reads of parameters.*kind 'read'.*'<variable>/read'.*persistent bytes"
    ):
        model_replica(pl.generators.fork_join(3), 2)


def test_a_read_that_needs_the_worker_is_refused():
    """A server cannot wait for an op of the model that others use, too."""
    graph = pl.OpGraph.from_arrays(["a", "b", "v/read", "c"], [0] * 4, [(0, 1), (1, 2), (1, 3), (2, 3)])
    with pytest.raises(pl.FormatError, match=r"'v/read', on a server .* depends on 'b'"):
        model_replica(graph, 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(workers=0), "workers is 0"),
        (dict(workers=2, servers=1.5), "servers is 1.5"),
        (dict(workers=10**6, iterations=10), "1,000,000 workers and 10 iterations have over .* ops; at most 2,000,000"),
        (dict(workers=2, iterations=True), "iterations is True"),
        (dict(workers=2, sync="gossip"), "sync is 'gossip'; expected one of ps, ps-async, allreduce"),
        (dict(workers=2, assign="hash"), "assign is 'hash'"),
        (dict(workers=2, sync="allreduce", training=False), "none with training=False"),
        (dict(workers=2, sync="allreduce", algorithm="star"), "algorithm is 'star'"),
        (dict(workers=3, sync="allreduce", algorithm="halving"), "power of two workers, found 3"),
        (dict(workers=2, sync="allreduce", window="middle"), "window is 'middle'"),
        (dict(workers=2, sync="allreduce", bucket_bytes=-1), "bucket_bytes is -1"),
        (dict(workers=2, sync="allreduce", bucket_bytes=float("nan")), "bucket_bytes is nan"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    """Each raises a FormatError that says what was expected."""
    with pytest.raises(pl.FormatError, match=words):
        model_replica(ONE, **arguments)


# -------------------------------------------------------------------- properties


@pytest.mark.parametrize("job", JOBS, ids=str)
@examples(25)
@given(graph=models(), workers=st.sampled_from([1, 2, 4]), iterations=st.integers(1, 3))
def test_counts_bytes_and_ties(job, graph, workers, iterations):
    """Ops, bytes sent and held are what the definition says; each op has one device; metadata name each op."""
    made = model_replica(graph, workers, iterations=iterations, **job)
    facts = made.metadata["replica"]
    p = len(facts["parameters"])
    n = graph.n_ops
    own = n - 2 * p
    passes = 2 if facts["training"] else 1
    copies = iterations * workers
    assert is_role(made, "read").sum() == copies * p
    assert is_role(made, "forward", "backward").sum() == copies * own * passes
    assert {len(s) for s in made.device_sets} == {1} and (made.device_set >= 0).all()
    assert all(len(facts[key]) == made.n_ops for key in ("iteration", "worker", "role", "op"))
    iteration, worker, op = (column(made, key) for key in ("iteration", "worker", "op"))
    for v in np.flatnonzero(is_role(made, "forward")):
        assert made.names[v] == f"it{iteration[v]}/w{worker[v]}/{graph.names[op[v]]}"
    reads = np.flatnonzero(is_role(made, "read"))
    assert np.array_equal(made.outputs[reads], graph.outputs[op[reads]])
    alone = facts["sync"] == "allreduce"
    assert made.persistent.sum() == graph.persistent.sum() * (workers if alone else 1)
    size = graph.outputs[[graph.index(f"{name}/read") for name in facts["parameters"]]].sum()
    if alone:
        hops = is_role(made, "reduce", "gather")
        into = hops[made.consumer]
        assert made.edge_bytes[into].sum() == pytest.approx(2 * (workers - 1) * size * iterations)
    elif facts["training"]:
        joint = facts["sync"] == "ps"
        assert is_role(made, "update").sum() == iterations * p * (1 if joint else workers)
        pushed = made.edge_bytes[is_role(made, "update")[made.consumer]].sum()
        consumers = {f"{name}/read": graph.successors_of(graph.index(f"{name}/read")) for name in facts["parameters"]}
        assert pushed == copies * sum(
            len(found) * graph.outputs[graph.index(name)] for name, found in consumers.items()
        )


@pytest.mark.parametrize("job", JOBS, ids=str)
@examples(10)
@given(graph=models(4), transfers=st.sampled_from(["parallel", "sequential", "channel"]), duplex=st.booleans())
def test_iterations_follow_one_another_and_every_schedule_is_legal(job, graph, transfers, duplex):
    """Under every scheduler; with a barrier no read of a step starts before the updates of the one before have ended."""
    made = model_replica(graph, 2, iterations=2, **job)
    for scheduler in schedulers_of(made):
        schedule = run(made, cluster_of(made), scheduler, transfers, duplex)
        again = is_role(made, "read") & (column(made, "iteration") == 1)
        before = is_role(made, "update") & (column(made, "iteration") == 0)
        joint = job["sync"] == "ps" and job.get("barrier", True) and before.any()
        assert not joint or schedule.start[again].min() >= schedule.finish[before].max()


@pytest.mark.parametrize(
    "partitioner",
    [
        pytest.param(name, marks=pytest.mark.slow) if function.slow else name
        for name, function in pl.partitioners().items()
    ],
)
@pytest.mark.parametrize("job", JOBS[::3] + JOBS[5:6], ids=str)
def test_every_partitioner_gives_the_only_placement(partitioner, job):
    """And its schedule is legal, memory taken into account."""
    made = model_replica(TWO.replace(persistent=[1, 1, 0, 0]), 2, iterations=1 + (job["sync"] == "ps"), **job)
    cluster = cluster_of(made)
    problem = pl.Problem(made, cluster.replace(memory=[1e3] * cluster.n_devices), transfers="channel")
    if partitioner == "single":
        with pytest.raises(pl.InfeasibleError, match="no single device"):
            pl.place(problem, partitioner)
        return
    placement = pl.place(problem, partitioner, **({"max_ops": made.n_ops} if partitioner == "ilp" else {}))
    assert [cluster.names[d] for d in placement.device] == [made.device_sets[s][0] for s in made.device_set]
    assert {"fifo", "pct", "msr", "random", "tic", "tac", "random-reads"} <= set(schedulers_of(made))
    for scheduler in [*schedulers_of(made), *["planned"] * (placement.planned is not None)]:
        schedule = pl.simulate(problem, placement, scheduler)
        assert pl.validate(schedule) == [] and not len(schedule.oom)


def test_a_job_is_saved_and_read_back(tmp_path):
    """The metadata are JSON; ops keep their numbers."""
    made = model_replica(TWO, 2, sync="allreduce", iterations=2)
    made.save(tmp_path / "job.json.gz")
    again = pl.load(tmp_path / "job.json.gz")
    assert again.metadata == made.metadata and again.names.tolist() == made.names.tolist()

"""Tensors that share a storage: it is held once where the first of them is made; what moves is a tensor."""

import numpy as np
import pytest

import placelab as pl
from placelab.schedule.independent_checks import HeldBytes

MODELS = ("edges", "dynamic", "reserved")


def chain(**more):
    """Three ops whose 1 GB tensors are views of one storage; the last output is read by nobody."""
    return pl.OpGraph.from_arrays(
        ["make", "view", "add_"],
        [1.0] * 3,
        [(0, 1), (1, 2)],
        edge_bytes=[1e9, 1e9],
        edge_storage=[7, 7],
        outputs=[(2, 0, 1e9, 7)],
        **more,
    )


def drawn(seed, n=14):
    """A random graph in which about half of the tensors are in one of few storages."""
    rng = np.random.default_rng(seed)
    edges = [(u, v) for v in range(1, n) for u in range(v) if rng.random() < 2.2 / v]
    output = rng.integers(0, 2, len(edges))
    size = rng.integers(1, 9, (n, 2)) * 10.0
    storage = np.where(rng.random((n, 2)) < 0.5, rng.integers(0, 3, (n, 2)), -1)
    u = np.array([u for u, _ in edges], int)
    read = set(zip(u.tolist(), output.tolist(), strict=True))
    unread = [(v, o, size[v, o], int(storage[v, o])) for v in range(n) for o in (0, 1) if (v, o) not in read]
    return pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n)],
        rng.integers(0, 5, n).astype(float),
        edges,
        edge_bytes=size[u, output],
        edge_output=output,
        edge_storage=storage[u, output],
        outputs=[row for row in unread if rng.random() < 0.5],
        persistent=rng.integers(0, 4, n).astype(float),
        temporary=rng.integers(0, 4, n).astype(float),
    )


def viewed(seed, n=14):
    """A random graph in which about half of the ops have an output in the storage of one of their inputs."""
    rng = np.random.default_rng(seed)
    edges = [(u, v) for v in range(1, n) for u in range(v) if rng.random() < 2.2 / v]
    storage = np.arange(n)
    for v in range(n):
        inputs = [u for u, w in edges if w == v]
        if inputs and rng.random() < 0.5:
            storage[v] = storage[rng.choice(inputs)]
    size = rng.integers(1, 9, n) * 10.0
    u = np.array([u for u, _ in edges], int)
    return pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n)],
        rng.integers(1, 5, n).astype(float),
        edges,
        edge_bytes=size[u],
        edge_output=np.zeros(len(u), int),
        edge_storage=storage[u],
        outputs=[(v, 0, size[v], int(storage[v])) for v in set(range(n)) - set(u.tolist())],
        temporary=rng.integers(0, 4, n).astype(float),
    )


def peaks(schedule):
    """Most bytes held on each device, by the validator's sums of what is held."""
    device, begin, end, size = HeldBytes(schedule).held()
    real = (begin < end) & (size > 0)
    most = np.zeros(schedule.problem.cluster.n_devices)
    for d in range(len(most)):
        here = real & (device == d)
        for time in np.unique(begin[here]):
            most[d] = max(most[d], size[here & (begin <= time) & (time < end)].sum())
    return most


@pytest.mark.parametrize("memory", MODELS)
def test_views_of_one_storage_take_it_once(memory):
    """On one device three tensors of one storage take 1 GB; on three devices each takes its own, and the copies theirs."""
    problem = pl.Problem(chain(), pl.Cluster([1.0] * 3, bandwidth=1e9, memory=4e9), memory=memory)
    assert pl.simulate(problem, pl.Placement(problem, [0, 0, 0])).peak_memory.tolist() == [1e9, 0, 0]
    away = pl.simulate(problem, pl.Placement(problem, [0, 1, 2]))
    assert len(away.transfers) == 2
    assert pl.validate(away) == []
    if memory == "dynamic":
        assert away.peak_memory.tolist() == [1e9, 2e9, 2e9]


def test_a_storage_is_as_large_as_its_largest_tensor_until_all_are_read():
    """A slice keeps the whole storage; a part that is moved is moved, and held, as the part."""
    graph = pl.OpGraph.from_arrays(
        ["make", "slice", "near", "far"],
        [1.0] * 4,
        [(0, 1), (1, 2), (1, 3)],
        edge_bytes=[100.0, 10.0, 10.0],
        edge_output=[0, 0, 0],
        edge_storage=[0, 0, 0],
    )
    problem = pl.Problem(graph, pl.Cluster([1.0] * 2, bandwidth=1.0, memory=1e3), memory="dynamic")
    run = pl.simulate(problem, pl.Placement(problem, [0, 0, 0, 1]))
    assert run.transfers["finish"].tolist() == [12.0]  # 10 bytes
    assert run.peak_memory.tolist() == [100, 10]
    time, size = run.memory(0)
    assert size[(time >= 0) & (time < 12)].min() == 100 and size[-1] == 0


@pytest.mark.parametrize("memory", MODELS)
def test_curves_are_the_validators_sums(memory):
    """Peaks of 150 random graphs are what is held, summed up by the validator, on random devices."""
    for seed in range(150):
        graph = drawn(seed)
        rng = np.random.default_rng(seed)
        problem = pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=10.0, memory=1e6), memory=memory)
        run = pl.simulate(problem, pl.Placement(problem, rng.integers(0, 3, graph.n_ops)))
        np.testing.assert_allclose(run.peak_memory, peaks(run))
        tight = problem.replace(cluster=problem.cluster.replace(memory=run.peak_memory.max() * 0.8))
        over = pl.simulate(tight, pl.Placement(tight, run.device))
        spans = HeldBytes(over).spans_over()
        assert len(spans) == len(over.oom)
        np.testing.assert_allclose([list(row) for row in over.oom], spans)


def room_at_starts(run):
    """Bytes of each op's device that are held when it starts, and those that its outputs will begin to hold; under ``edges``."""
    graph = run.problem.graph
    device, begin, end, size = HeldBytes(run).held()
    shared = graph.storages_on(run.device)
    first = np.full(graph.n_tensors, np.inf)
    np.minimum.at(first, shared, run.finish[graph.tensor_producer])
    read = np.bincount(shared, np.diff(graph.tensor_ptr), graph.n_tensors) > 0
    for v in np.flatnonzero(run.finish > run.start):
        held = size[(device == run.device[v]) & (begin <= run.start[v]) & (run.start[v] < end)].sum()
        made = {shared[t] for t in range(graph.op_tensor_ptr[v], graph.op_tensor_ptr[v + 1])}
        yield run.device[v], held + sum(graph.storage_bytes[s] for s in made if read[s] and first[s] == run.finish[v])


@pytest.mark.parametrize("memory", [pytest.param("edges", marks=pytest.mark.slow), "dynamic"])
def test_ops_wait_for_what_is_held(memory):
    """With room for the peak nobody waits; with less, ops start when there is room, and only what arrives may take more."""
    waited = 0
    for seed in range(100):
        graph = drawn(seed)
        graph = graph.replace(compute=graph.compute + 1)
        device = np.random.default_rng(seed).integers(0, 2, graph.n_ops)
        roomy = pl.Problem(graph, pl.Cluster([1.0] * 2, bandwidth=10.0, memory=1e6), memory=memory)
        run = pl.simulate(roomy, pl.Placement(roomy, device), oom="wait")
        assert run.start.tolist() == pl.simulate(roomy, pl.Placement(roomy, device)).start.tolist()
        for share in (0.95, 0.85, 0.75, 0.65):
            limit = np.maximum(run.peak_memory * share, 1)
            less = roomy.replace(cluster=roomy.cluster.replace(memory=limit))
            try:
                late = pl.simulate(less, pl.Placement(less, device), oom="wait")
            except pl.InfeasibleError:
                continue
            waited += bool((late.start > run.start).any())
            if memory == "edges":
                assert all(held <= limit[d] * (1 + 1e-9) for d, held in room_at_starts(late))
            else:
                assert {x.kind for x in pl.validate(late)} <= {"memory"}
                starts = set(late.transfers["start"].tolist())
                assert all(begin in starts for _, begin, _, _ in HeldBytes(late).spans_over())
    assert waited > 10


@pytest.mark.parametrize("memory", MODELS)
def test_planners_count_storages(memory):
    """Every quick planner plans random graphs within memory as the simulator counts it, or says that it cannot."""
    planned = 0
    for seed in range(6):
        graph = viewed(seed)
        roomy = pl.Problem(graph, pl.Cluster([1.0] * 2, bandwidth=10.0, memory=1e6), memory=memory)
        most = pl.simulate(roomy, pl.place(roomy, "heft")).peak_memory.max()
        problem = roomy.replace(cluster=roomy.cluster.replace(memory=most))
        for name in ("heft", "m-etf", "m-sct", "peft", "cpop", "dls", "lookahead"):
            try:
                placement = pl.place(problem, name)
            except pl.InfeasibleError:
                continue
            planned += 1
            assert pl.validate(pl.simulate(problem, placement)) == [], (seed, name)
    assert planned > 10


@pytest.mark.parametrize("memory", MODELS)
def test_a_long_chain_in_place_fits_where_one_tensor_does(memory):
    """Ten ops in place on 1 GB are planned on a device of 1.5 GB by every planner that looks at memory."""
    n = 10
    edges = [(v, v + 1) for v in range(n - 1)]
    graph = pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n)], [1.0] * n, edges, edge_bytes=1e9, edge_storage=[0] * len(edges)
    )
    problem = pl.Problem(graph, pl.Cluster([1.0], bandwidth=1e9, memory=1.5e9), memory=memory)
    for name in ("heft", "etf", "m-etf", "m-sct", "m-topo", "contiguous"):
        run = pl.simulate(problem, pl.place(problem, name))
        assert run.peak_memory.max() == 1e9 and pl.validate(run) == []


def test_storages_survive_every_way_out_and_in(tmp_path):
    """JSON of version 3, networkx and Python code have them; graphs without any are written as before."""
    for seed in range(20):
        graph = drawn(seed)
        graph.save(tmp_path / "graph.json")
        for again in (pl.load(tmp_path / "graph.json"), pl.OpGraph.from_networkx(graph.to_networkx())):
            assert again.tensor_storage.tolist() == graph.tensor_storage.tolist()
            assert again.memory.tolist() == graph.memory.tolist()
            assert again.tensor_bytes.tolist() == graph.tensor_bytes.tolist()
    assert '"version":3' in (tmp_path / "graph.json").read_text()
    own = pl.OpGraph.from_arrays(["a", "b"], [1, 1], [(0, 1)], edge_bytes=8, edge_storage=[3])
    assert own.tensor_storage is None and own.edge_storage is None
    own.save(tmp_path / "own.json")
    assert '"version":1' in (tmp_path / "own.json").read_text()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(edge_storage=[0]), "edge_storage has shape"),
        (dict(edge_storage=[0, -2]), "edge_storage holds -2"),
        (dict(edge_storage=[0.5, 1]), "edge_storage must be whole numbers"),
        (dict(edge_storage=[0, 1], edge_output=[0, 0]), "is in storage .* a tensor has one"),
        (dict(outputs=[(0, 5, 8.0, -3)]), "outputs holds the storage -3"),
    ],
)
def test_wrong_storages_are_refused(given, words):
    """The message says what is wrong."""
    with pytest.raises(pl.FormatError, match=words):
        pl.OpGraph.from_arrays(["a", "b", "c"], [1] * 3, [(0, 1), (0, 2)], edge_bytes=8, **given)


def test_cp_sat_proves_with_storages():
    """A chain in place and a reader of the storage fit on a device with room for one tensor and a half; less is refused."""
    pytest.importorskip("ortools")
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c", "d"], [1.0] * 4, [(0, 1), (1, 2), (2, 3)], edge_bytes=10.0, edge_storage=[0, 0, 0]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0], bandwidth=1.0, memory=15.0), memory="dynamic")
    placement = pl.place(problem, "cp-sat")
    assert pl.simulate(problem, placement).makespan == 4
    with pytest.raises(pl.InfeasibleError):
        pl.place(problem.replace(cluster=problem.cluster.replace(memory=9.0)), "cp-sat")

"""Each transfer and memory model is defined in one table, which all other code reads."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from random import Random

import numpy as np
import problems
import pytest

import placelab as pl
from placelab.base.errors import UnsupportedError
from placelab.kernels import blocks
from placelab.problem.resource_models import MEMORY_MODELS, TRANSFER_MODELS, TransferModel

MODELS = {**MEMORY_MODELS, **TRANSFER_MODELS}
CODES = {name for name in vars(blocks) if name.isupper()}


def test_every_code_is_written_once():
    """No kernel has its own codes of models."""
    for path in Path(blocks.__file__).parent.glob("*.py"):
        assigned = {
            target.id
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.Assign)
            for target in ast.walk(node)
            if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
        }
        assert path.stem == "blocks" or not assigned & CODES, path.name


def test_models_of_a_kind_differ():
    """Memory models differ in the code that kernels read, transfer models in code or queues."""
    assert len({model.code for model in MEMORY_MODELS.values()}) == len(MEMORY_MODELS)
    four = pl.Cluster.uniform(4)
    assert len({(model.code, model.queues(four, False)) for model in TRANSFER_MODELS.values()}) == len(TRANSFER_MODELS)
    assert all(name == model.name for models in (MEMORY_MODELS, TRANSFER_MODELS) for name, model in models.items())


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_documented_with_its_source(name):
    """The documentation is in `Problem`."""
    described = re.search(rf'``"{name}"`` \(([^)]*)\)', pl.Problem.__doc__)
    assert described and MODELS[name].source in " ".join(described[1].split())


@pytest.mark.parametrize("name", TRANSFER_MODELS)
@pytest.mark.parametrize("duplex", [False, True])
def test_transfers_occupy_queues_that_are_there(name, duplex):
    """Between two devices in both directions: number of queues, and the ends that occupy them; none without waiting."""
    model = TRANSFER_MODELS[name]
    cluster = pl.Cluster.uniform(2)
    queues = model.queues(cluster, duplex)
    ends = model.occupied(np.array([0, 1]), np.array([1, 0]), cluster, duplex)
    assert all(((0 <= end) & (end < queues)).all() for end in ends)
    assert bool(queues) == bool(ends) == bool(model.queue)
    assert model.duplex or queues == model.queues(cluster, not duplex)


ROWS = {  # by name: how many queues there are among k devices, and the one that a transfer from s to d occupies
    "bus": (lambda k: 1, lambda s, d, k: np.zeros(len(s))),
    "sender": (lambda k: k, lambda s, d, k: s),
    "receiver": (lambda k: k, lambda s, d, k: d),
    "cable": (
        lambda k: k * (k - 1) // 2,
        lambda s, d, k: (lo := np.minimum(s, d)) * (2 * k - lo - 3) // 2 + s + d - lo - 1,
    ),
    "last of many": (lambda k: k * k + 1, lambda s, d, k: np.full(len(s), k * k)),
}


def one_queue(name: str, planned: int, kind: str = "i8") -> TransferModel:
    """A row of ROWS, whose ends are numbers of some type."""
    count, queue = ROWS[name]
    ends = lambda s, d, cluster, duplex: (queue(s, d, cluster.n_devices).astype(kind),)  # noqa: E731
    queues = lambda cluster, duplex: count(cluster.n_devices)  # noqa: E731
    return TransferModel(name, "", "", blocks.CHANNEL, planned, "queue", queues, ends)


@pytest.mark.parametrize("jit", ["check", "0"])
@pytest.mark.parametrize(("name", "kind"), list(zip(ROWS, ["i8", "i4", "u8", "i1", "i2"], strict=True)))
def test_a_row_serves_single_runs_and_batches(monkeypatch, name, kind, jit):
    """Many placements, what-ifs and other bandwidths are simulations of their own, whatever queue is used, compiled and plain."""
    monkeypatch.setitem(TRANSFER_MODELS, name, one_queue(name, blocks.PARALLEL, kind))
    monkeypatch.setenv("PLACELAB_JIT", jit)
    graph = pl.generators.layered(40, seed=1)
    cluster = pl.Cluster.uniform(4)
    problem = pl.Problem(graph, cluster, transfers=name)
    devices = np.random.default_rng(0).integers(0, 4, (3, 40))
    runs = [pl.simulate(problem, pl.Placement(problem, device), "fifo") for device in devices]
    assert pl.makespans(problem, devices).tolist() == [run.makespan for run in runs]
    faster = pl.what_if(runs[0], factor=2.0).set_index(["what", "name"])["makespan"]
    link = cluster.bandwidth.copy()
    link[0, 1] *= 2
    twice = problem.replace(cluster=cluster.replace(bandwidth=link))
    assert faster["link", "dev0 → dev1"] == pl.simulate(twice, runs[0].placement, "fifo").makespan
    values = [1e9, 2e9, 4e9]
    found = pl.sensitivity(problem, "round-robin", "pct", values=values)["makespan"].tolist()
    others = [problem.replace(cluster=pl.Cluster.uniform(4, bandwidth=value)) for value in values]
    assert found == [pl.solve(other, "round-robin", "pct").makespan for other in others]


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "planned"),
    [
        pytest.param(name, planned, marks=[pytest.mark.slow] * ((i - j) % 3 > 0))
        for i, name in enumerate(ROWS)
        for j, planned in enumerate((blocks.PARALLEL, blocks.PORTS, blocks.CHANNEL))
    ],
)
def test_planners_have_room_for_the_model_that_they_assume(monkeypatch, name, planned, whole):
    """A model with fewer queues than the one that planners take for it: no index is out of range, whatever is tried."""
    if not whole:
        few = {name: pl.partitioners()[name] for name in ("heft", "etf", "m-topo", "lc", "dsc")}
        monkeypatch.setattr("placelab.strategies.searches.tried_plans.partitioners", lambda: few)
    monkeypatch.setitem(TRANSFER_MODELS, name, one_queue(name, planned))
    monkeypatch.setenv("PLACELAB_JIT", "0")
    problem = pl.Problem(pl.generators.layered(20, seed=1), pl.Cluster.uniform(3), transfers=name, duplex=True)
    for partitioner in ("heft", "etf", "m-sct"):
        assert pl.solve(problem, partitioner).makespan > 0
    assert pl.solve(problem, "portfolio", partitioner_options={"moves": 50}).makespan > 0


@pytest.mark.parametrize(
    "ends",
    [
        lambda s, d, cluster, duplex: (s - 1,),
        lambda s, d, cluster, duplex: (s * cluster.n_devices + d,),
        lambda s, d, cluster, duplex: (s[:1],),
        lambda s, d, cluster, duplex: (s / 2,),
    ],
)
def test_ends_that_are_no_queues_are_refused(monkeypatch, ends):
    """Below 0, beyond the last one, of another shape, or fractions: the kernel itself does not look where it writes."""
    queues = lambda cluster, duplex: cluster.n_devices  # noqa: E731
    row = TransferModel("wrong", "", "", blocks.CHANNEL, blocks.PARALLEL, "queue", queues, ends)
    monkeypatch.setitem(TRANSFER_MODELS, "wrong", row)
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(3), transfers="wrong")
    for call in (
        lambda: pl.solve(problem, "round-robin", "fifo"),
        lambda: pl.makespans(problem, [[0, 1, 2, 0, 1]] * 2),
    ):
        with pytest.raises(pl.FormatError, match=r"'wrong' gave .*; expected a whole number from 0 to 2"):
            call()


@pytest.mark.parametrize("queues", [1.5, 10**12, -1, None, "1", True])
def test_a_number_of_queues_that_is_none_is_refused(monkeypatch, queues):
    """It is the length of an array."""
    row = TransferModel(
        "wrong", "", "", blocks.CHANNEL, blocks.PARALLEL, "queue", lambda *_: queues, lambda s, d, *_: (0 * s,)
    )
    monkeypatch.setitem(TRANSFER_MODELS, "wrong", row)
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2), transfers="wrong")
    placement = pl.place(pl.Problem(problem.graph, problem.cluster), "round-robin").device
    for call in (
        lambda: pl.simulate(problem, pl.Placement(problem, placement), "fifo"),
        lambda: pl.bounds(problem, pl.Placement(problem, placement)),
    ):
        with pytest.raises(
            pl.FormatError, match=r"queues of the transfer model 'wrong' is .*; expected a whole number"
        ):
            call()


@pytest.mark.parametrize("ends", [lambda s, d, cluster, duplex: (s, d), lambda s, d, cluster, duplex: s])
def test_a_model_of_one_queue_gives_one_array(monkeypatch, ends):
    """Two arrays, or one that is in no tuple, are refused in one sentence."""
    queues = lambda cluster, duplex: cluster.n_devices  # noqa: E731
    row = TransferModel("wrong", "", "", blocks.CHANNEL, blocks.PARALLEL, "queue", queues, ends)
    monkeypatch.setitem(TRANSFER_MODELS, "wrong", row)
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(3), transfers="wrong")
    with pytest.raises(pl.FormatError, match="expected a tuple of one array"):
        pl.solve(problem, "round-robin", "fifo")


HOSTS = TransferModel(
    "hosts",
    "one at a time from each host",
    "",
    blocks.CHANNEL,
    blocks.PARALLEL,
    "host",
    lambda cluster, duplex: len(set(cluster.hosts)),
    lambda source, destination, cluster, duplex: (np.unique(cluster.hosts, return_inverse=True)[1][source],),
)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("first", [False, True])
def test_a_model_with_one_queue_per_transfer_is_a_row(monkeypatch, seed, first):
    """The simulator runs one transfer at a time per queue, with or without priorities, and never leaves a queue idle."""
    monkeypatch.setitem(TRANSFER_MODELS, "hosts", HOSTS)
    graph = pl.generators.layered(40, seed=seed)
    cluster = pl.Cluster.from_hosts({"a": 2, "b": 2, "c": 1})
    problem = pl.Problem(graph, cluster, transfers="hosts", transfer_ops=1e6 * (seed % 2))
    schedule = pl.simulate(problem, pl.place(problem, "random", seed=seed), "pct", order_transfers=first)
    moved = schedule.transfers
    ready = schedule.sends["finish"] if len(schedule.sends) else schedule.finish[graph.tensor_producer[moved["tensor"]]]
    assert len(moved) > 10
    for queue in range(3):
        here = np.flatnonzero(moved["source"] // 2 == queue)
        here = here[np.argsort(moved["start"][here], kind="stable")]
        start = moved["start"][here]
        finish = moved["finish"][here]
        assert (start[1:] >= finish[:-1]).all()
        assert np.isin(start, [*ready[here], *finish]).all()


def test_a_wait_for_a_queue_is_explained_by_who_had_it(monkeypatch):
    """Two tensors from two devices share a queue: the second waits for the first's link, not for memory."""
    monkeypatch.setitem(TRANSFER_MODELS, "hosts", HOSTS)
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 1.0, 1.0], [(0, 2), (1, 2)], edge_bytes=[3.0, 3.0])
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=1.0, hosts=["a", "a", "b"]), transfers="hosts")
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1, 2]), "fifo")
    assert schedule.makespan == 8.0
    path = pl.critical_path(schedule)
    assert path["kind"].tolist() == ["op", "wait", "transfer", "op"]
    assert path["reason"][1] == "dev0 → dev2 carried a"


def test_the_validator_refuses_a_model_it_has_no_rule_for(monkeypatch):
    """It neither accepts it unchecked nor applies another model's rule."""
    monkeypatch.setitem(TRANSFER_MODELS, "hosts", HOSTS)
    problem = pl.Problem(pl.generators.layered(10, seed=1), pl.Cluster.uniform(3), transfers="hosts")
    with pytest.raises(UnsupportedError, match="validate has no check of 'hosts' transfers"):
        pl.validate(pl.solve(problem, "round-robin", "fifo"))


def test_lasting_bytes_are_in_every_memory_count():
    """Memory over time is at least the bytes held for the whole run, and equals them in a model without time."""
    for i, problem in enumerate(problems.many(60, seed=77)):
        schedule = pl.simulate(problem, problems.placement(Random(i).randint, problem), "fifo", oom="mark")
        for d in range(problem.cluster.n_devices):
            kept = problem.lasting[schedule.device == d].sum()
            _, used = schedule.memory(d)
            if problem.memory != "none":
                assert (used >= kept - 1e-9 * max(kept, 1.0)).all()
                assert problem.memory_model.timed or np.allclose(used, kept)

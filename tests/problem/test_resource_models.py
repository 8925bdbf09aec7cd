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
from placelab.errors import UnsupportedError
from placelab.kernels import codes
from placelab.problem.resource_models import MEMORY_MODELS, TRANSFER_MODELS, TransferModel

MODELS = {**MEMORY_MODELS, **TRANSFER_MODELS}
CODES = {name for name in vars(codes) if name.isupper()}


def test_every_code_is_written_once():
    """No kernel has its own codes of models."""
    for path in Path(codes.__file__).parent.glob("*.py"):
        assigned = {
            target.id
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.Assign)
            for target in ast.walk(node)
            if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store)
        }
        assert path.stem == "codes" or not assigned & CODES, path.name


def test_models_of_a_kind_differ():
    """Memory models differ in the code that kernels read, transfer models in code or queues."""
    assert len({model.code for model in MEMORY_MODELS.values()}) == len(MEMORY_MODELS)
    assert len({(model.code, model.queues(4, False)) for model in TRANSFER_MODELS.values()}) == len(TRANSFER_MODELS)
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
    model, there, back = TRANSFER_MODELS[name], np.array([0, 1]), np.array([1, 0])
    queues, ends = model.queues(2, duplex), model.ends(there, back, 2, duplex)
    assert all(((0 <= end) & (end < queues)).all() for end in ends)
    assert bool(queues) == bool(ends) == bool(model.queue)
    assert model.duplex or queues == model.queues(2, not duplex)


HOSTS = TransferModel(
    "hosts",
    "one at a time from each pair of devices",
    "",
    codes.CHANNEL,
    codes.PARALLEL,
    "host",
    lambda k, duplex: (k + 1) // 2,
    lambda source, destination, k, duplex: (source.astype(np.int64) // 2,),
)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("first", [False, True])
def test_a_model_with_one_queue_per_transfer_is_a_row(monkeypatch, seed, first):
    """The simulator runs one transfer at a time per queue, with or without priorities, and never leaves a queue idle."""
    monkeypatch.setitem(TRANSFER_MODELS, "hosts", HOSTS)
    graph, cluster = pl.generators.layered(40, seed=seed), pl.Cluster.uniform(5)
    problem = pl.Problem(graph, cluster, transfers="hosts", transfer_ops=1e6 * (seed % 2))
    schedule = pl.simulate(problem, pl.place(problem, "random", seed=seed), "pct", order_transfers=first)
    moved = schedule.transfers
    ready = schedule.sends["finish"] if len(schedule.sends) else schedule.finish[graph.tensor_producer[moved["tensor"]]]
    assert len(moved) > 10
    for queue in range(3):
        here = np.flatnonzero(moved["source"] // 2 == queue)
        here = here[np.argsort(moved["start"][here], kind="stable")]
        start, finish = moved["start"][here], moved["finish"][here]
        assert (start[1:] >= finish[:-1]).all()
        assert np.isin(start, [*ready[here], *finish]).all()


def test_a_wait_for_a_queue_is_explained_by_who_had_it(monkeypatch):
    """Two tensors from two devices share a queue: the second waits for the first's link, not for memory."""
    monkeypatch.setitem(TRANSFER_MODELS, "hosts", HOSTS)
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 1.0, 1.0], [(0, 2), (1, 2)], edge_bytes=[3.0, 3.0])
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=1.0), transfers="hosts")
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

"""Each transfer and memory model stands in one table; everybody else draws it from there."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from random import Random

import numpy as np
import problems
import pytest

import placelab as pl
from placelab.kernels import codes
from placelab.problem.resource_models import MEMORY_MODELS, TRANSFER_MODELS

MODELS = {**MEMORY_MODELS, **TRANSFER_MODELS}
CODES = {name for name in vars(codes) if name.isupper()}


def test_every_code_is_written_once():
    """No kernel has numbers of its own for a model."""
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
    """Memory models by the code by which kernels tell them apart, transfer models by it or by their queues."""
    assert len({model.code for model in MEMORY_MODELS.values()}) == len(MEMORY_MODELS)
    assert len({(model.code, model.queues(4, False)) for model in TRANSFER_MODELS.values()}) == len(TRANSFER_MODELS)
    assert all(name == model.name for models in (MEMORY_MODELS, TRANSFER_MODELS) for name, model in models.items())


@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_documented_with_its_source(name):
    """Where a problem is made."""
    described = re.search(rf'``"{name}"`` \(([^)]*)\)', pl.Problem.__doc__)
    assert described and MODELS[name].source in " ".join(described[1].split())


@pytest.mark.parametrize("name", TRANSFER_MODELS)
@pytest.mark.parametrize("duplex", [False, True])
def test_transfers_occupy_queues_that_are_there(name, duplex):
    """Of two devices, there and back: how many queues, and which ends occupy them; none where nothing is waited for."""
    model, there, back = TRANSFER_MODELS[name], np.array([0, 1]), np.array([1, 0])
    queues, ends = model.queues(2, duplex), model.ends(there, back, 2, duplex)
    assert all(((0 <= end) & (end < queues)).all() for end in ends)
    assert bool(queues) == bool(ends) == bool(model.queue)
    assert model.duplex or queues == model.queues(2, not duplex)


def test_what_lasts_is_counted_by_all_who_count():
    """Memory over time is never below what ops keep for the whole run, and is that alone in a model without time."""
    for i, problem in enumerate(problems.many(60, seed=77)):
        schedule = pl.simulate(problem, problems.placement(Random(i).randint, problem), "fifo", oom="mark")
        for d in range(problem.cluster.n_devices):
            kept = problem.lasting[schedule.device == d].sum()
            _, used = schedule.memory(d)
            if problem.memory != "none":
                assert (used >= kept - 1e-9 * max(kept, 1.0)).all()
                assert problem.memory_model.timed or np.allclose(used, kept)

"""Calls of the previous version still work in this one, with a warning that shows the new form."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import placelab as pl
from placelab.base.errors import formerly

GRAPH = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [(0, 1)], edge_bytes=[4.0])
PROBLEM = pl.Problem(GRAPH, pl.Cluster([1.0, 1.0], bandwidth=2.0))
PLANNED = pl.solve(PROBLEM, "heft")


@formerly("unit", "digits", suffix="unit")
def written(number, *, unit="s", digits=1):
    """A number with its unit."""
    return f"{number:.{digits}f} {unit}"


def test_a_positional_option_and_a_former_name_reach_the_parameter():
    """The warning names the calling line."""
    with pytest.warns(DeprecationWarning, match="written takes unit, digits by keyword only: write unit=…") as warned:
        assert written(2, "ms", 3) == "2.000 ms"
    assert warned[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="written's suffix is called unit now"):
        assert written(2, suffix="ms") == "2.0 ms"


def test_calls_as_they_should_be_are_not_warned_about():
    """Calls in the new form raise no warning, which would be an error here; the signature shown is the new one."""
    assert written(2, unit="ms", digits=0) == "2 ms"
    assert str(inspect.signature(written)) == "(number, *, unit='s', digits=1)"


@pytest.mark.parametrize(
    "call",
    [
        lambda: written(2, "ms", 3, 4),
        lambda: written(2, "ms", unit="ms"),
        lambda: written(2, unit="ms", suffix="ms"),
        lambda: written(2, other=1),
        lambda: written(),
    ],
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_never_was_a_call_is_none_now(call):
    """Too many arguments, a repeated one and an unknown one are errors."""
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize(
    ("former", "now"),
    [
        (lambda: pl.Cluster([1, 2], 3, 4).bandwidth, lambda: pl.Cluster([1, 2], memory=3, bandwidth=4).bandwidth),
        (lambda: pl.Cluster.uniform(2, 3.0, 4.0).memory, lambda: pl.Cluster.uniform(2, speed=3.0, memory=4.0).memory),
        (
            lambda: pl.Cluster.from_hosts({"h": 2}, 3.0, None, (5.0, 6.0)).latency,
            lambda: pl.Cluster.from_hosts({"h": 2}, speed=3.0, inside=(5.0, 6.0)).latency,
        ),
        (lambda: pl.clusters.mayer50(3, 4).speed, lambda: pl.clusters.mayer50(seed=3, devices=4).speed),
        (lambda: pl.clusters.parameter_server(2, 2).names, lambda: pl.clusters.parameter_server(2, servers=2).names),
        (
            lambda: pl.Problem(GRAPH, PROBLEM.cluster, "edges", "channel").transfers,
            lambda: pl.Problem(GRAPH, PROBLEM.cluster, memory="edges", transfers="channel").transfers,
        ),
        (lambda: pl.validate(PLANNED, False), lambda: pl.validate(PLANNED, memory=False)),
        (
            lambda: pl.ListScheduler(PROBLEM, True).insertion,
            lambda: pl.ListScheduler(PROBLEM, insertion=True).insertion,
        ),
        (
            lambda: pl.compare(PROBLEM, ["hash"], ["fifo"], 2).seed,
            lambda: pl.compare(PROBLEM, ["hash"], ["fifo"], seeds=2).seed,
        ),
        (lambda: pl.costs.scale(GRAPH, 2.0).compute, lambda: pl.costs.scale(GRAPH, compute=2.0).compute),
        (lambda: pl.costs.mayer(GRAPH, 1).compute, lambda: pl.costs.mayer(GRAPH, seed=1).compute),
        (
            lambda: pl.transforms.perturb(GRAPH, 0.5, 1).compute,
            lambda: pl.transforms.perturb(GRAPH, factor=0.5, seed=1).compute,
        ),
        (
            lambda: pl.transforms.backward_schedule(PLANNED, C0=2.0).start,
            lambda: pl.transforms.backward_schedule(PLANNED, ratio=2.0).start,
        ),
        (
            lambda: pl.transforms.backward_schedule(PLANNED, 1.0, pl.transforms.backward(GRAPH, forward=False)).start,
            lambda: pl.transforms.backward_schedule(PLANNED, 1.0).start,
        ),
    ],
)
def test_public_functions_take_their_former_calls_once_more(former, now):
    """Earlier forms give the same result and a warning."""
    with pytest.warns(DeprecationWarning, match="the next version of placelab refuses the former call"):
        found = former()
    assert np.array_equal(found, now())

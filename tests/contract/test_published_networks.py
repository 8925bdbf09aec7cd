"""Networks published with other placement systems: every strategy gives a legal schedule of each, within memory."""

from __future__ import annotations

import pytest
import workloads
from conftest import SHARED

import placelab as pl

EXACT = {"ilp", "cp-sat"}  # may say that a problem is too large for them
BRIEFLY = {  # a search that is stopped early gives legal schedules too
    "cp-sat": {"effort": 0.5},
    "cem": {"samples": 300},
    "policy-gradient": {"samples": 60},
}
# Searches, cut short: that they are legal is the claim.
BRIEF = {
    "cp-sat": dict(effort=0.1),
    "portfolio": dict(moves=1000),
}
CLASSICAL = {"etf", "sct"}  # plan without regard to memory; their m- variants are for that
TARNAWSKI = workloads.tarnawski(SHARED / "dnn-partitioning")
PIPEDREAM = workloads.pipedream(SHARED / "pipedream")


def label(path) -> str:
    """Short name of a file, as a test's name."""
    return "/".join(path.parts[-3:])


def test_the_published_networks_are_here(shared_data):
    """24 workloads and 14 profiles; if their folders are absent, this test skips and names them."""
    shared_data("dnn-partitioning")
    shared_data("pipedream")
    assert (len(TARNAWSKI), len(PIPEDREAM)) == (24, 14)


@pytest.mark.slow
@pytest.mark.parametrize("path", TARNAWSKI, ids=label)
def test_workloads_of_tarnawski(path):
    """On the file's numbers of accelerators and CPU cores, with its memory; colour classes stay together."""
    check(workloads.tarnawski_problem(path))


@pytest.mark.slow
@pytest.mark.parametrize("path", PIPEDREAM, ids=label)
def test_profiles_of_pipedream(path):
    """Forward and backward pass on four GPUs that have together twice the memory needed."""
    check(workloads.pipedream_problem(path))


def check(problem: pl.Problem) -> None:
    """Every strategy places the problem, and its schedule breaks no rule and stays within memory.

    Exceptions are ``single`` if no device holds all ops, exact solvers that refuse the size, and memory for classical
    strategies, which ignore it.
    """
    refused = set()
    fits_on_one = problem.cluster.memory.max() >= problem.graph.memory.sum()
    for name in pl.partitioners():
        if name == "single" and not fits_on_one:
            continue
        posed = problem.replace(memory="none") if name in CLASSICAL else problem
        try:
            placement = pl.place(posed, name, **BRIEFLY.get(name, {}))
        except pl.UnsupportedError:
            refused.add(name)
            continue
        schedule = pl.simulate(posed, placement, "fifo" if placement.planned is None else "planned")
        assert pl.validate(schedule) == [], name
        assert all(len({placement.device[problem.graph.index(op)] for op in group}) == 1 for group in problem.groups)
    assert "ilp" in refused and refused <= EXACT  # no network is small enough for the integer program


def test_colour_classes_tie_the_backward_op_to_its_layer(shared_data):
    """In training workloads a layer and its gradient share a colour: the group holds ops of both passes."""
    (path,) = [p for p in workloads.tarnawski(shared_data("dnn-partitioning")) if p.name == "bert24_training.json"]
    problem = workloads.tarnawski_problem(path)
    kinds = [sorted(problem.graph.kind[problem.graph.index(op)] for op in group) for group in problem.groups]
    assert kinds == [["backward", "forward"]] * 32

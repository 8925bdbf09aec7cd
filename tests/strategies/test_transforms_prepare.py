"""Transformations around a partitioner: chains, `prepare`, the catalogue; and perturbed profiles."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from problems import many

import placelab as pl
from placelab.graphs import transforms
from placelab.graphs.transforms import chain, coarsen, fuse, perturb

NETWORK = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box())


def test_the_catalogue_names_what_prepares_a_problem():
    """Each entry has a summary, a source, and options for which controls can be made."""
    catalogue = transforms.catalogue()
    assert {"colocate", "coplace", "fuse", "forward-only", "coarsen"} <= set(catalogue)
    for name, function in catalogue.items():
        assert function.name == name and function.summary and function.source
    assert catalogue["fuse"].options["rule"][1] == "safe"


def test_each_entry_of_the_catalogue_prepares_any_problem():
    """With default options it returns a problem, which a partitioner can place, and a function that expands."""
    for name in transforms.catalogue():
        for problem in many(30, seed=31, memory=("none",)):
            assert pl.place(problem, "heft", prepare=name).problem is problem


def test_a_transformation_of_one_cell_can_prepare():
    """A decorated function is in the catalogue at once; it must return a pair."""

    @transforms.transform
    def nothing(problem):
        """Return the problem unchanged."""
        return problem, lambda placement: placement

    @transforms.transform
    def half(problem):
        return problem

    assert pl.place(NETWORK, "heft", prepare="nothing").estimate == pl.place(NETWORK, "heft").estimate
    with pytest.raises(pl.PlacelabError, match="'half' is no transformation for placement"):
        pl.place(NETWORK, "heft", prepare="half")
    with pytest.raises(pl.UnsupportedError, match="no transform is called 'fuze'; did you mean 'fuse'"):
        pl.place(NETWORK, "heft", prepare=("fuze",))


def test_the_partitioner_sees_the_small_problem_and_the_user_the_full_one():
    """Steps by name, by function, with options; one step or several."""
    exact = partial(fuse, rule="exact")
    for steps in ("fuse", fuse, exact, ("coplace", exact), ["coplace", "fuse", "coarsen"]):
        small, expand = chain(steps)(NETWORK)
        placement = pl.place(NETWORK, "heft", prepare=steps)
        assert placement.problem is NETWORK and placement.partitioner == "heft"
        assert placement.device.tolist() == expand(pl.place(small, "heft")).device.tolist()
        assert (
            pl.solve(NETWORK, "heft", "planned", prepare=steps).placement.device.tolist() == placement.device.tolist()
        )


def test_nothing_to_do_changes_nothing():
    """Without steps a placement is unchanged, estimate and trace included."""
    plain = pl.place(NETWORK, "heft", trace=True)
    prepared = pl.place(NETWORK, "heft", trace=True, prepare=())
    assert plain.estimate == prepared.estimate and prepared.notes == plain.notes
    assert plain.device.tolist() == prepared.device.tolist()


@pytest.mark.parametrize("entry", transforms.catalogue().values(), ids=transforms.catalogue())
def test_only_problems_are_prepared(entry):
    """The error names another type, such as a graph."""
    with pytest.raises(pl.FormatError, match="needs a Problem, found an OpGraph"):
        entry(NETWORK.graph)


def test_what_cannot_prepare_is_named():
    """No steps are (), not None; a target is a number."""
    for steps in (None, 5):
        with pytest.raises(pl.FormatError, match=f"what prepares a problem is {steps}; expected names"):
            pl.place(NETWORK, "heft", prepare=steps)
    with pytest.raises(pl.UnsupportedError, match="coarsen: rho is 'x'; expected a number"):
        coarsen(NETWORK, rho="x")


def test_prepare_is_no_option_of_a_strategy():
    """`prepare` is an argument of solve itself."""
    with pytest.raises(pl.UnsupportedError, match="'prepare' is no option of a strategy"):
        pl.solve(NETWORK, "heft", partitioner_options={"prepare": "fuse"})


def test_comparisons_prepare_once():
    """All rows are of the full problem; a step that fails is the reason in each row."""
    seen = []

    def watched(problem):
        seen.append(problem)
        return fuse(problem)

    table = pl.compare(NETWORK, ["heft", "hash"], ["pct"], prepare=("coplace", watched))
    assert len(seen) == 1 and table["valid"].all()
    wanted = pl.solve(NETWORK, "heft", "pct", prepare=("coplace", "fuse")).makespan
    assert table["makespan"][0] == wanted

    def broken(problem):
        raise pl.UnsupportedError("not this one")

    assert set(pl.compare(NETWORK, ["heft", "hash"], ["pct"], prepare=broken)["error"]) == {"not this one"}


def test_no_ratio_is_claimed_of_a_plan_for_fewer_ops():
    """Notes on the small problem's proven ratio are not copied to the full problem."""
    graph = pl.OpGraph.from_arrays(list("abcd"), [8.0, 1, 8, 8], [(0, 1), (1, 2), (0, 3)], edge_bytes=[2.0, 2, 2])
    problem = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1))
    small, _ = transforms.coarsen(problem)
    assert any(note.startswith("proven") for note in pl.place(small, "etf").notes)
    assert not any("proven" in note for note in pl.place(problem, "etf", prepare="coarsen").notes)


@pytest.mark.slow
def test_the_same_small_problem_in_every_process():
    """For any PYTHONHASHSEED: no result depends on the order of a set."""
    code = (
        "import hashlib, placelab as pl;"
        "p = pl.Problem(pl.load('recurrent_network'), pl.clusters.pcie_box());"
        "steps = [(name,) for name in pl.transforms.catalogue()] + [('coplace', 'fuse'), ('forward-only', 'coarsen')];"
        "made = [pl.transforms.chain(s)(p)[0].graph for s in steps];"
        "print(hashlib.sha256(repr([(list(g.names), g.edges.tobytes(), g.tensor_bytes.tobytes(), g.compute.tobytes(), "
        "g.temporary.tobytes()) for g in made]).encode()).hexdigest())"
    )
    environment = {"PLACELAB_JIT": "0", "PATH": "/usr/bin:/bin"}
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**environment, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "4242")
    }
    assert len(digests) == 1


# -------------------------------------------------------------------- perturb


@pytest.mark.parametrize("distribution", ["uniform", "extremes"])
def test_perturbed_costs_stay_within_the_factor(distribution):
    """Each op and tensor has its own factor within the limits; extremes are at the limits; all else stays."""
    for problem in many(40, seed=32, zero=False):
        graph = problem.graph
        other = perturb(problem, factor=0.3, seed=5, distribution=distribution)
        data = ~graph.tensor_control
        op = other.graph.compute / graph.compute
        tensor = other.graph.tensor_bytes[data] / graph.tensor_bytes[data]
        off = np.concatenate([op, tensor])
        assert (np.abs(off - 1) <= 0.3 + 1e-12).all()
        if distribution == "extremes":
            assert np.allclose(np.abs(off - 1), 0.3)
        if graph.time is not None:
            assert np.allclose(other.graph.time, graph.time * op[:, None], equal_nan=True)
        assert other.allowed == problem.allowed and other.groups == problem.groups
        assert (other.graph.edges == graph.edges).all() and (other.graph.memory == graph.memory).all()


def test_the_seed_decides_the_errors():
    """Same seed, same graph; another seed, another one; factor 0 leaves all costs."""
    graph = pl.generators.layered(50)
    assert (perturb(graph, factor=0.5, seed=3).compute == perturb(graph, factor=0.5, seed=3).compute).all()
    assert (perturb(graph, factor=0.5, seed=3).compute != perturb(graph, factor=0.5, seed=4).compute).any()
    assert (perturb(graph, factor=0.0, seed=3).compute == graph.compute).all()


def test_uniform_errors_spread_over_the_whole_interval():
    """Mean 1, standard deviation f / √3."""
    graph = pl.generators.layered(20_000)
    off = perturb(graph, factor=0.6, seed=7).compute / graph.compute
    assert off.mean() == pytest.approx(1, abs=0.01) and off.std() == pytest.approx(0.6 / 3**0.5, rel=0.02)


def test_what_cannot_be_perturbed_is_named():
    """Wrong factor, wrong distribution, no graph."""
    graph = pl.generators.fork_join(2)
    for options, words in (
        (dict(factor=2.0), "factor is 2.0; expected a number, 0 to 1"),
        (dict(distribution="normal"), "'normal'"),
    ):
        with pytest.raises(pl.UnsupportedError, match=words):
            perturb(graph, **options)
    with pytest.raises(pl.FormatError, match="needs an OpGraph or a Problem, found a str"):
        perturb("graph")


def test_a_pinned_problem_stays_pinned_when_perturbed():
    """Pins and groups that were added to a problem are kept."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2), groups=[["stage0/branch0", "join"]]).pin(
        {"join": 1}
    )
    other = perturb(problem, factor=0.1)
    assert other.groups == problem.groups and other.rules == problem.rules

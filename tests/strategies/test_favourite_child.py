"""The linear program of SCT: its optimum, the choice among optimal x, and the favourite children."""

from __future__ import annotations

import threading
from random import Random

import highspy
import numpy as np
import problems
import pytest
from brute_force import optimum
from examples import examples, fewer
from hypothesis import given

import placelab as pl
from placelab.planning import favourite_child, relaxation
from placelab.planning.favourite_child import (
    MATCHING,
    PROGRAM,
    UNFINISHED,
    favourite_children,
    infinite_machine_bound,
    mean_arcs,
)
from placelab.planning.relaxation import Arcs, canonical, least_makespan

FORK = pl.OpGraph.from_arrays(["u", "a", "b"], [1.0] * 3, [(0, 1), (0, 2)], edge_bytes=1.0)
UNIFORM = pl.Cluster.uniform(4, speed=1e13, bandwidth=12e9)
OTHERS = {
    name: dict(solver="HIGHS", options={"highs_options": options})
    for name, options in {
        "dual simplex of other random numbers": {"solver": "simplex", "random_seed": 7},
        "primal simplex": {"solver": "simplex", "simplex_strategy": 4},
        "interior point with crossover": {"solver": "ipm"},
    }.items()
} | {"another program": dict(solver="GLOP")}


def random_arcs(seed: int, ops: int = 40) -> Arcs:
    """Few and integer times, so that ties abound, or fractions; zeros among both."""
    draw = Random(seed)
    n = draw.randint(2, ops)
    edges = [(draw.randrange(max(0, v - 8), v), v) for v in range(1, n) for _ in range(draw.randint(0, 3))]
    number = (lambda: float(draw.randint(0, 3))) if seed % 2 else (lambda: draw.random() * draw.randint(0, 3))
    graph = pl.OpGraph.from_arrays([f"op{v}" for v in range(n)], [number() for _ in range(n)], edges)
    return Arcs.of(graph, graph.compute.copy(), np.array([number() for _ in edges]))


def whole_program(arcs: Arcs) -> float:
    """Optimum of the program with every row, passed to HiGHS directly [s]."""
    n = len(arcs.time)
    m = arcs.n
    h = highspy.Highs()
    h.setOptionValue("output_flag", False)
    x = [h.addVariable(0, 1) for _ in range(m)]
    s = [h.addVariable(0) for _ in range(n)]
    w = h.addVariable(0)
    for v in range(n):
        h.addConstr(s[v] + arcs.time[v] <= w)
    for e in range(m):
        h.addConstr(s[arcs.tail[e]] + arcs.time[arcs.tail[e]] + arcs.cost[e] * x[e] <= s[arcs.head[e]])
    for end in (arcs.tail, arcs.head):
        for v in np.unique(end):
            own = np.flatnonzero(end == v)
            h.addConstr(sum(x[e] for e in own) >= len(own) - 1)
    h.minimize(w)
    return h.getObjectiveValue()


def is_feasible(arcs: Arcs, x: np.ndarray, w: float) -> bool:
    """Whether x keeps the degree rows and its longest path is w."""
    spare = [np.bincount(end, 1 - x, minlength=len(arcs.time)).max(initial=0) for end in (arcs.tail, arcs.head)]
    return max(spare) <= 1 + 1e-6 and arcs.longest(x)[1].max() == pytest.approx(w, rel=1e-7)


# ---------------------------------------------------------------- the optimum


def test_fork():
    """u → a, b, all times 1: w = 2.5 at x = ½, ½, so no favourite child at θ = 0.5, a strict threshold; one at θ = 0.6."""
    problem = pl.Problem(FORK, pl.Cluster([1.0] * 3))
    found = favourite_children(problem)
    assert (found.w, found.x.tolist(), found.rule) == (2.5, [0.5, 0.5], PROGRAM)
    assert found.child.tolist() == found.parent.tolist() == [-1, -1, -1]
    assert favourite_children(problem, 0.6).child.tolist() == [1, -1, -1]


def test_optimum_is_that_of_all_rows():
    """Omitted rows and dropped arcs do not matter: HiGHS finds the same w for the published program."""
    for seed in range(60):
        arcs = random_arcs(seed, 25)
        if arcs.n:
            assert least_makespan(arcs).w == pytest.approx(whole_program(arcs), rel=1e-9, abs=1e-12), seed


def test_arcs_are_dropped():
    """In a random graph of 3,000 ops two in five arcs lie on no path that could become the longest."""
    arcs = mean_arcs(pl.Problem(pl.generators.layered(3000, seed=1), UNIFORM))
    assert 0.5 * arcs.n < len(arcs.critical) < 0.7 * arcs.n


def test_certificate_is_the_optimum_from_below():
    """The dual values prove w to 12 digits, and no more; rough values prove less, never more."""
    for seed in range(40):
        best = least_makespan(random_arcs(seed))
        assert best.w * (1 - 1e-12) <= best.certified <= best.w * (1 + 1e-12)
        rough = np.random.default_rng(seed)
        blurred = [d * rough.uniform(0, 2, len(d)) for d in (best.arc, best.start, best.stop, best.leaves, best.enters)]
        assert relaxation.Optimum(best.arcs, best.w, best.x, *blurred).certified <= best.w * (1 + 1e-12)


@examples(60)
@given(
    problem=problems.problems(
        ops=6, devices=3, transfers=("parallel",), memory=("none",), transfer_ops=(0,), zero=False
    )
)
def test_bound_is_a_bound(problem):
    """No schedule of a small problem, by exhaustive search, is shorter than the bound."""
    bound = infinite_machine_bound(problem)
    assert bound is None or bound <= optimum(problem) * (1 + 1e-9)


def test_no_bound_beyond_its_assumption():
    """None with a transfer longer than an op, an op of no time, or one device. Best links and devices count."""
    assert infinite_machine_bound(pl.Problem(FORK, pl.Cluster([1.0, 1.0], bandwidth=0.9))) is None
    assert infinite_machine_bound(pl.Problem(FORK.replace(compute=[1, 1, 0]), pl.Cluster([1.0, 1.0]))) is None
    assert infinite_machine_bound(pl.Problem(FORK, pl.Cluster([1.0]))) is None
    uneven = pl.Cluster([0.5, 1.0], bandwidth=[[1, 2], [0.1, 1]])
    assert infinite_machine_bound(pl.Problem(FORK, uneven)) == pytest.approx(2.25)


# ---------------------------------------------------------------- which optimum


@pytest.mark.slow
def test_no_solver_chooses():
    """The chosen x is feasible, optimal, and the same for every solver, on random graphs with many ties."""
    for seed in range(fewer(30)):
        arcs = random_arcs(seed)
        best = least_makespan(arcs)
        x = canonical(best)
        assert is_feasible(arcs, x, best.w), seed
        for name, how in OTHERS.items():
            assert np.allclose(x, canonical(least_makespan(arcs, **how), **how), atol=1e-6), (seed, name)


def test_solvers_would_choose():
    """Without that choice they differ: x from interior point and dual simplex have one w and other favourites."""
    problem = pl.Problem(pl.load("convolutional_network"), UNIFORM)
    one, two = (least_makespan(mean_arcs(problem), **how) for how in ({}, OTHERS["interior point with crossover"]))
    assert one.w == pytest.approx(two.w, rel=1e-9)
    assert ((one.x < 0.5 - 1e-6) != (two.x < 0.5 - 1e-6)).sum() >= 5


def families() -> dict[str, pl.OpGraph]:
    """Graphs on which solvers tend to differ: regular, dense, with equal costs, with loops unrolled."""
    g = pl.generators
    return {
        "recurrent_network": pl.load("recurrent_network"),
        "dynamic_rnn": pl.load("dynamic_rnn"),
        "layered": g.layered(3000, seed=1),
        "dense": g.layered(800, degree=4, seed=1),
        "stencil": g.stencil(12, 16),
        "fft": g.fft(64),
        "gauss": g.gaussian_elimination(40),
        "equal": (even := g.stencil(8, 8)).replace(compute=np.full(64, 1e9), tensor_bytes=np.full(even.n_tensors, 1e6)),
    }


@pytest.mark.parametrize("name", ["convolutional_network", "topcuoglu"])
def test_networks_have_one_answer(name):
    """Favourite children of a dataset: the same bytes from all solvers."""
    graph = pl.load(name)
    problem = pl.Problem(graph, pl.datasets.own_cluster(graph) or UNIFORM)
    first = favourite_children(problem)
    assert (first.child >= 0).sum() > 1
    for how in OTHERS.values():
        assert favourite_children(problem, **how).child.tobytes() == first.child.tobytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "cluster", [pl.clusters.pcie_box(), pl.clusters.nvlink_box(), UNIFORM], ids=["pcie", "nv", "12"]
)
@pytest.mark.parametrize("name", ["stencil", "fft", "gauss", "equal"])
def test_regular_graphs_have_one_answer(name, cluster):
    """All of x is the same, not only the children, if many optima are nearly equal, for any ratio of transfers to ops."""
    arcs = mean_arcs(pl.Problem(families()[name], cluster, memory="none"))
    first = canonical(least_makespan(arcs))
    for how in ("interior point with crossover", "another program"):
        assert np.allclose(first, canonical(least_makespan(arcs, **OTHERS[how]), **OTHERS[how]), rtol=0, atol=1e-6), how


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["recurrent_network", "dynamic_rnn", "layered", "dense", "stencil", "fft", "gauss", "equal"]
)
def test_larger_graphs_have_one_answer(name):
    """The same on large and regular graphs, for dual simplex, interior point with crossover and another program."""
    problem = pl.Problem(families()[name], pl.clusters.pcie_box(), memory="none")
    first = favourite_children(problem)
    for how in ("interior point with crossover", "another program"):
        again = favourite_children(problem, **OTHERS[how])
        assert again.w == pytest.approx(first.w, rel=1e-9)
        assert again.child.tobytes() == first.child.tobytes(), how


def solve_warm(lp, solver, options, patience) -> bool:
    """As ``relaxation._solve``, by primal simplex from the optimum for other costs."""
    import cvxpy as cp

    data, chain, inverse = lp.get_problem_data(cp.HIGHS)
    h = highspy.Highs()
    model = highspy.HighsModel()
    h.setOptionValue("output_flag", False)
    matrix = data["A"].tocsc()
    rows = data["b"]
    model.lp_.num_row_, model.lp_.num_col_ = matrix.shape
    equal = np.arange(len(rows)) < data["dims"].zero
    model.lp_.row_lower_ = np.where(equal, rows, -highspy.kHighsInf)
    model.lp_.row_upper_ = rows
    inside = lambda bound, default: np.full(matrix.shape[1], default) if bound is None else bound  # noqa: E731
    model.lp_.col_lower_ = inside(data["lower_bounds"], -highspy.kHighsInf)
    model.lp_.col_upper_ = inside(data["upper_bounds"], highspy.kHighsInf)
    model.lp_.col_cost_ = data["c"] + np.abs(np.random.default_rng(3).random(matrix.shape[1]))
    model.lp_.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.lp_.a_matrix_.start_ = matrix.indptr
    model.lp_.a_matrix_.index_ = matrix.indices
    model.lp_.a_matrix_.value_ = matrix.data
    h.passModel(model)
    h.run()
    h.changeColsCost(matrix.shape[1], np.arange(matrix.shape[1], dtype=np.int32), data["c"])
    h.setOptionValue("simplex_strategy", 4)
    h.run()
    result = dict(solution=h.getSolution(), basis=h.getBasis(), info=h.getInfo(), run_time=0.0)
    lp.unpack_results(result | {"model_status": h.getModelStatus().name}, chain, inverse)
    return lp.status == "optimal"


def test_no_start_chooses(monkeypatch):
    """A warm start, from the optimum for other costs, ends in the same x as a cold start."""
    graphs = {seed: random_arcs(seed) for seed in range(fewer(30))}
    network = mean_arcs(pl.Problem(pl.load("convolutional_network"), UNIFORM))
    cold = {seed: canonical(least_makespan(arcs)) for seed, arcs in (graphs | {"network": network}).items()}
    monkeypatch.setattr(relaxation, "_solve", solve_warm)
    for seed, arcs in (graphs | {"network": network}).items():
        assert np.allclose(canonical(least_makespan(arcs)), cold[seed], atol=1e-6), seed


# ---------------------------------------------------------------- favourite children


@examples(60)
@given(problem=problems.problems())
def test_at_most_one_child_and_parent(problem):
    """At any θ; favourite child and parent agree; θ = 0.1 finds a part of those at θ = 0.5."""
    found = {threshold: favourite_children(problem, threshold) for threshold in (0.1, 0.5, 0.9)}
    for favourites in found.values():
        ops = np.flatnonzero(favourites.child >= 0)
        assert (favourites.parent[favourites.child[ops]] == ops).all()
        assert (favourites.parent >= 0).sum() == len(ops)
    few = found[0.1].child
    most = found[0.5].child
    assert ((few == most) | (few == -1)).all()


def test_costless_and_parallel_edges():
    """Edges between the same two ops have one x, from the largest tensor; a costless one is always waited for."""
    edges = [(0, 1), (0, 1), (0, 2), (1, 3)]
    graph = pl.OpGraph.from_arrays(list("uvwx"), [1.0] * 4, edges, edge_bytes=[1.0, 9.0, 2.0, 0.0])
    found = favourite_children(pl.Problem(graph, pl.Cluster([1.0, 1.0])))
    assert found.x[0] == found.x[1] and found.x[3] == 1.0
    assert found.child.tolist() == [1, -1, -1, -1]
    assert mean_arcs(pl.Problem(graph, pl.Cluster([1.0, 1.0]))).cost.tolist() == [9.0, 2.0, 0.0]


def test_means():
    """The cluster's mean speed, bandwidth and latency; measured times count with their mean over allowed devices."""
    cluster = pl.Cluster([1.0, 3.0], bandwidth=[[1, 2], [6, 1]], latency=[[0, 1], [2, 0]])
    arcs = mean_arcs(pl.Problem(FORK, cluster))
    assert arcs.time.tolist() == [0.5] * 3 and arcs.cost.tolist() == [1.75] * 2
    boundless = pl.Cluster([1.0] * 3, bandwidth=[[1, 2, np.inf], [6, 1, np.inf], [4, 4, 1]])
    # Infinite ones say nothing about the others.
    assert mean_arcs(pl.Problem(FORK, boundless)).cost.tolist() == [0.25] * 2
    timed = pl.OpGraph.from_arrays(["a", "b"], [np.nan] * 2, [(0, 1)], time={"dev0": [2.0, 4.0], "dev1": [6.0, 8.0]})
    assert mean_arcs(pl.Problem(timed, cluster).pin({"b": "dev1"})).time.tolist() == [4.0, 8.0]


def test_threshold_is_a_share():
    """θ ≤ 0 or above 1 is refused; the error says what was expected."""
    for threshold in (0.0, -1.0, 1.5):
        with pytest.raises(pl.FormatError, match="expected above 0, and 1 or less"):
            favourite_children(pl.Problem(FORK, UNIFORM), threshold)


def test_solved_once(monkeypatch):
    """The same graph and times are solved once, also by concurrent threads; other times anew."""
    solved = []
    monkeypatch.setattr(favourite_child, "least_makespan", lambda *given: solved.append(1) or least_makespan(*given))
    problem = pl.Problem(pl.generators.layered(200, seed=9), UNIFORM)
    threads = [threading.Thread(target=favourite_children, args=(problem, 0.1 * i + 0.1)) for i in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    favourite_children(problem.replace(memory="reserved", transfers="channel"))
    assert len(solved) == 1
    favourite_children(problem.replace(cluster=UNIFORM.replace(bandwidth=1e9)))
    assert len(solved) == 2


def test_preview_and_cancel_match_greedily():
    """Neither solves the program; matching follows the longest paths. A preview uses a cached solution."""
    problem = pl.Problem(pl.generators.layered(200, seed=10), UNIFORM)
    reports = []
    preview = favourite_children(problem, preview=True)
    stopped = favourite_children(problem, progress=reports.append, cancel=lambda: len(reports) > 1)
    assert len(reports) == 2 and preview.rule == stopped.rule == MATCHING
    assert preview.child.tobytes() == stopped.child.tobytes()
    longest = np.argmax(mean_arcs(problem).through)
    assert preview.child[mean_arcs(problem).tail[longest]] == mean_arcs(problem).head[longest]
    solved = favourite_children(problem)
    assert favourite_children(problem, preview=True).rule == solved.rule == PROGRAM
    assert solved.w <= preview.w


def test_a_program_of_too_many_steps_is_given_up(monkeypatch):
    """Large programs have a fixed number of steps; then ops are matched, deterministically, without another attempt."""
    problem = pl.Problem(pl.generators.layered(300, seed=11), UNIFORM)
    solved = []
    with monkeypatch.context() as impatient:
        impatient.setattr(favourite_child, "STEPS", 20)
        impatient.setattr(favourite_child, "ROWS", 100)
        impatient.setattr(favourite_child, "least_makespan", lambda *given: solved.append(1) or least_makespan(*given))
        given_up = favourite_children(problem)
        again = favourite_children(problem, 0.1)
        preview = favourite_children(problem, preview=True)
        assert least_makespan(mean_arcs(problem)).w > 0  # an explicitly requested bound has no limit
    assert len(solved) == 1
    assert given_up.rule == again.rule == preview.rule == UNFINISHED
    matched = favourite_child.matched(mean_arcs(problem))
    assert matched.child.tolist() == given_up.child.tolist() == again.child.tolist()
    same = pl.Problem(pl.generators.layered(300, seed=11), UNIFORM)
    assert favourite_children(same).rule == PROGRAM


def test_cancel_is_asked_before_each_call_of_the_solver():
    """A second call does not begin if the first was cancelled."""
    problem = pl.Problem(pl.generators.stencil(12, 12), UNIFORM)
    asked = []
    stopped = favourite_children(problem, cancel=lambda: asked.append(1) or len(asked) > 1)
    assert len(asked) >= 2 and stopped.rule == MATCHING

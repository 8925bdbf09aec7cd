"""The exact partitioners agree with exhaustive search, prove their result, and report gaps if they stop early."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from random import Random
from time import monotonic

import numpy as np
import problems
import pytest
from brute_force import least_in_memory, least_run, optimum
from examples import fewer
from list_scheduling_graphs import nine_ops, peft_graph

import placelab as pl
from placelab.base.progress import Progress
from placelab.strategies.searches import cp_sat_model, cp_sat_search
from placelab.strategies.searches.cp_sat_model import renamed
from placelab.strategies.searches.cp_sat_resources import transfer_seconds
from placelab.strategies.searches.incumbent import Incumbent
from placelab.strategies.searches.tables import interchangeable, tables, whole

EXACT = ("cp-sat", "ilp")
PLAIN = dict(transfers=("parallel",), transfer_ops=(0,))
ROUNDING = 1e-6


def check_optimal(placement: pl.Placement, best: float) -> None:
    """The placement has this makespan as proven estimate, and its run keeps every rule and has it."""
    schedule = pl.simulate(placement.problem, placement, "planned")
    assert pl.validate(schedule) == []
    assert placement.estimate == schedule.makespan == pytest.approx(best, rel=ROUNDING, abs=1e-12)
    assert placement.bound <= best * (1 + 1e-9)
    assert placement.notes == ("proven optimal",)
    assert placement.optimal


def test_optimal_agrees_with_the_note():
    """The note "proven optimal" is present if and only if placement.optimal is true, also for differences by rounding."""
    said = set()
    for problem in problems.many(60, seed=8, ops=9, transfers=("parallel", "sequential"), memory=("none",)):
        for effort in (0.0, 1.0):
            placement = pl.place(problem, "cp-sat", effort=effort)
            assert placement.optimal == (placement.notes[0] == "proven optimal")
            said.add(placement.optimal)
    assert said == {True, False}


def test_optimal_is_up_to_rounding():
    """A bound 7e-12 below the estimate proves it; one 1e-5 below, or none at all, does not."""
    problem = pl.datasets.problem("topcuoglu")
    made = pl.Placement(problem, [0] * 10, estimate=100.0)
    bounds = (100 * (1 - 7e-12), 100.0, 100 * (1 - 1e-5), None)
    assert [replace(made, bound=bound).optimal for bound in bounds] == [True, True, False, False]
    assert not pl.place(problem, "heft").optimal


@pytest.mark.parametrize(("name", "count"), [("cp-sat", 120), ("ilp", 60)])
def test_equals_trying_everything(name, count):
    """Up to 7 ops on 3 devices: ties, zero times, unequal devices and links, groups, restrictions, measured times."""
    for problem in problems.many(count, seed=5, ops=7, devices=3, memory=("none",), **PLAIN):
        check_optimal(pl.place(problem, name), optimum(problem))


@pytest.mark.slow
def test_refuting_alone_finds_and_proves(monkeypatch):
    """Where the searches for shorter plans get no time, makespans that are met or refuted lead to the same optimum."""
    monkeypatch.setattr(cp_sat_search, "WORK", {False: 0.0, True: 0.5})
    asked = []
    build = cp_sat_model.Model.build
    monkeypatch.setattr(cp_sat_model.Model, "build", lambda *given: asked.append(given[2:]) or build(*given))
    for problem in problems.many(40, seed=15, ops=7, devices=3, memory=("none",), **PLAIN):
        check_optimal(pl.place(problem, "cp-sat"), optimum(problem))
    assert asked.count((True,)) >= 10


@pytest.mark.parametrize("learning", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_clauses_on_any_bound_refute_what_else_stays_open(learning):
    """Fifty ops on four devices take 1.57 ms at least: shown in one second by clauses on any bound, and not without them."""
    problem = pl.Problem(pl.generators.layered(50, seed=0), pl.Cluster.uniform(4))
    incumbent = Incumbent(problem, "testing")
    incumbent.offer_placement(pl.place(problem, "heft"))
    model = cp_sat_model.Model(problem, incumbent)
    model.reach = (1.57e-3 / model.unit - model.least) / (model.most - model.least)
    options = cp_sat_search.LEARN | dict(max_deterministic_time=0.08, use_new_integer_conflict_resolution=learning)
    model.solve(options, (0, 1), 1.0, monotonic() + 300, lambda: False, refuting=True)
    assert model.decided == learning and (incumbent.bound > 1.569e-3) == learning
    assert cp_sat_search.LEARN["use_new_integer_conflict_resolution"]


def test_options_that_another_version_lacks_are_left_out():
    """An option of a version to come is no error: OR-tools 9.14 lacks one that is used."""
    problem = pl.Problem(pl.generators.layered(8, seed=0), pl.Cluster.uniform(2))
    incumbent = Incumbent(problem, "testing")
    incumbent.offer_placement(pl.place(problem, "heft"))
    model = cp_sat_model.Model(problem, incumbent)
    model.solve(cp_sat_search.SEARCH | dict(use_what_comes=True), (0, 1), 1.0, monotonic() + 300, lambda: False)
    assert incumbent.proven


@pytest.mark.parametrize(("name", "count"), [("cp-sat", 80), ("ilp", 50)])
def test_equals_trying_everything_within_reserved_memory(name, count):
    """The same with capacities; an error if and only if nothing fits."""
    nowhere = 0
    for problem in problems.many(count, seed=6, ops=6, devices=3, memory=("reserved",), **PLAIN):
        best = optimum(problem)
        if np.isinf(best):
            nowhere += 1
            with pytest.raises(pl.InfeasibleError, match=r"keep .* bytes, 'op\d' the most"):
                pl.place(problem, name)
        else:
            check_optimal(pl.place(problem, name), best)
    assert nowhere


@pytest.mark.slow
def test_both_prove_the_same_bound_in_every_model():
    """Up to 10 ops, with Sends: equal where both state the same problem; cp-sat's is higher where it states more of it."""
    compared = higher = 0
    for problem in problems.many(40, seed=7, ops=10):
        try:
            bounds = [pl.place(problem, name).bound for name in EXACT]
        except (pl.InfeasibleError, pl.UnsupportedError):
            continue
        compared += 1
        assert bounds[0] >= bounds[1] * (1 - ROUNDING), problem
        if problem.transfers == "parallel" and problem.memory != "dynamic":
            assert bounds[0] == pytest.approx(bounds[1], rel=ROUNDING, abs=1e-12), problem
        higher += bounds[0] > bounds[1] * (1 + ROUNDING)
    assert compared > fewer(30) and higher > 0


@pytest.mark.parametrize(
    ("transfers", "memory"),
    [("sequential", "none"), ("channel", "none"), ("parallel", "dynamic"), ("channel", "dynamic")],
)
def test_proves_the_shortest_of_all_runs_with_contention_and_memory_over_time(transfers, memory):
    """Up to 4 ops: every placement in every order is simulated; none ends before the bound, and nearly all bounds are reached."""
    count = proven = reached = 0
    limits = dict(ops=4, devices=3, memory=(memory,), transfers=(transfers,), transfer_ops=(0,))
    for problem in problems.many(12, seed=21, **limits):
        try:
            placement = pl.place(problem, "cp-sat")
        except pl.InfeasibleError:
            assert np.isinf(least_run(problem))
            continue
        best = least_run(problem)
        assert placement.bound <= best * (1 + 1e-9)
        assert placement.estimate <= best * (1 + ROUNDING)  # a plan may let an op wait
        schedule = pl.simulate(problem, placement, "planned")
        assert pl.validate(schedule) == [] and schedule.makespan == placement.estimate and not len(schedule.oom)
        count += 1
        proven += placement.optimal
        reached += placement.optimal and placement.estimate == pytest.approx(best, rel=ROUNDING)
    assert proven >= 0.9 * count and reached >= 0.8 * count > 0


def tight(seed: int) -> pl.Problem:
    """Up to 5 ops of whole costs on two devices, each of which holds about two thirds of what there is."""
    random = Random(f"tight {seed}")
    n = random.randint(3, 5)
    some = lambda n, high: [random.randint(0, high) for _ in range(n)]  # noqa: E731
    edges = [(u, v) for v in range(n) for u in range(v) if not random.randint(0, 2)]
    graph = pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n)],
        some(n, 3),
        edges,
        edge_bytes=some(len(edges), 4),
        edge_output=range(len(edges)),
        persistent=some(n, 2),
        temporary=some(n, 2),
        groups=[random.sample(range(n), 2)] if random.randint(0, 1) else [],
    )
    most = int(graph.persistent.sum() + graph.tensor_bytes.sum() + graph.temporary.max())
    memory = [max(1, random.randint(most * 4 // 10, most * 9 // 10)) for _ in range(2)]
    return pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1, memory=memory), memory="dynamic")


def test_a_proven_plan_runs_within_dynamic_memory_and_no_schedule_is_shorter():
    """Every placement and every whole start are tried, also those at which an op waits though it need not."""
    proven = nowhere = 0
    for problem in map(tight, range(63, 63 + fewer(120))):
        try:
            placement = pl.place(problem, "cp-sat")
        except pl.InfeasibleError:
            if problem.graph.n_ops < 5:
                serial = tables(problem).serial + transfer_seconds(problem).max(axis=(1, 2)).sum()
                assert np.isinf(least_in_memory(problem, int(serial) + 1))
                nowhere += 1
            continue
        check_optimal(placement, placement.estimate)
        assert not len(pl.simulate(problem, placement).oom)
        assert np.isinf(least_in_memory(problem, int(placement.estimate)))
        proven += 1
    assert proven >= fewer(60) and nowhere


def waits_for_memory() -> pl.Problem:
    """Six bytes on one device, eight on the other: b has room when the output of a, which d takes, has left."""
    graph = pl.OpGraph.from_arrays(
        list("abcd"),
        [2, 3, 2, 1],
        [(0, 3), (1, 2)],
        edge_bytes=[3, 3],
        persistent=[2, 0, 2, 1],
        temporary=[1, 0, 0, 1],
        groups=[[0, 2]],
    )
    return pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1, memory=[8, 6]), memory="dynamic")


def test_a_plan_keeps_the_times_at_which_its_ops_have_room():
    """The shortest plan takes 10, as b waits until 5; at 2 it would be 2 bytes short, and the run would take 7."""
    problem = waits_for_memory()
    placement = pl.place(problem, "cp-sat")
    check_optimal(placement, least_in_memory(problem, 20))
    assert placement.estimate == 10 and placement.not_before.tolist() == [0, 5, 0, 0]
    assert pl.simulate(problem, placement, oom="raise").makespan == 10


def test_both_offer_plans_with_the_waits_of_their_run():
    """An order that is short of memory is kept with the times of its run in which ops wait for room."""
    incumbent = Incumbent(waits_for_memory(), "searching")
    incumbent.offer(np.array([0, 0, 0, 1]), np.array([0, 3, 1, 2]))
    assert incumbent.makespan == 10 and incumbent.placement.not_before.tolist() == [0, 5, 0, 0]


def test_a_transfer_after_a_send_takes_no_memory_before():
    """f runs before the second of two tensors has been sent to its device; beside that it would have no room."""
    graph = pl.OpGraph.from_arrays(
        list("afb"),
        [1, 1, 1],
        [(0, 1), (0, 2), (1, 2)],
        edge_bytes=[1, 4, 0],
        edge_output=[0, 1, 0],
        temporary=[0, 4, 0],
    )
    cluster = pl.Cluster([1, 1], bandwidth=1, memory=[9, 6])
    problem = pl.Problem(graph, cluster, memory="dynamic", transfer_ops=5).pin(dict(a=0, f=1, b=1))
    placement = pl.place(problem, "cp-sat")
    assert placement.estimate == least_run(problem) == 16 >= placement.bound


@pytest.mark.parametrize("name", EXACT)
def test_ops_of_no_time_that_do_not_fit_are_refused_as_others_are(name):
    """Where there is room they are placed, proven optimal."""
    graph = pl.OpGraph.from_arrays(list("ab"), [0, 0], [], memory=[3, 3])
    problem = pl.Problem(graph, pl.Cluster([1], memory=4), memory="reserved")
    with pytest.raises(pl.InfeasibleError, match="the ops fit on the devices in no way"):
        pl.place(problem, name)
    check_optimal(pl.place(problem.replace(cluster=pl.Cluster([1], memory=6)), name), 0)


@pytest.mark.parametrize("name", EXACT)
def test_a_search_that_was_stopped_says_so(name):
    """No plan by then does not mean that memory over time was in the way."""
    graph = pl.OpGraph.from_arrays(list("abcdef"), [1] * 6, [], memory=[5, 2, 2, 3, 2, 2])  # 5 + 3, and the others
    problem = pl.Problem(graph, pl.Cluster([1, 1], memory=8), memory="reserved")
    with pytest.raises(
        pl.UnsupportedError, match=r"stopped by the time limit, has found no plan .* let it search for longer"
    ):
        pl.place(problem, name, time_limit=0)


def test_an_op_waits_where_its_output_must():
    """Two ops of 2 bytes each beside a device of 3 bytes: the second starts when the first output has been used."""
    graph = pl.OpGraph.from_arrays(
        list("abcd"), [1.0, 1.0, 1.0, 1.0], [(0, 2), (1, 3)], edge_bytes=[2.0, 2.0], temporary=[0.0] * 4
    )
    problem = pl.Problem(graph, pl.Cluster([1.0], memory=3.0), memory="dynamic")
    check_optimal(pl.place(problem, "cp-sat"), 4.0)
    nowhere = problem.replace(cluster=pl.Cluster([1.0], memory=1.0))
    with pytest.raises(pl.InfeasibleError):
        pl.place(nowhere, "cp-sat")


def test_the_bound_holds_with_contention_sends_and_memory():
    """No run of any partitioner that keeps within memory ends before the bound."""
    for problem in problems.many(40, seed=8, ops=10):
        try:
            bound = pl.place(problem, "cp-sat").bound
        except (pl.InfeasibleError, pl.UnsupportedError):
            continue
        for name in ("heft", "m-etf", "critical-path", "round-robin", "random"):
            placement = pl.place(problem.replace(memory="none"), name)
            schedule = pl.simulate(problem, pl.Placement(problem, placement.device), "pct")
            assert len(schedule.oom) or schedule.makespan >= bound * (1 - 1e-9), (name, problem)


def test_a_plan_is_as_long_as_it_says_in_every_model():
    """The estimate is the makespan of the planned run, also with contention for links and with Sends."""
    for problem in problems.many(40, seed=9, ops=10, memory=("none",)):
        placement = pl.place(problem, "cp-sat")
        assert placement.estimate == pl.simulate(problem, placement, "planned").makespan
        assert placement.bound <= placement.estimate


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize(
    ("problem", "makespan"),
    [(pl.datasets.problem("topcuoglu"), 73), (peft_graph(), 113), (nine_ops(2), 17), (nine_ops(3), 16)],
)
def test_known_optima(problem, makespan, name):
    """HEFT takes 80 and PEFT 122 on the graphs of their papers, list schedulers 19 or 20 on the nine ops."""
    check_optimal(pl.place(problem, name), makespan)


@pytest.mark.parametrize("devices", [2, *(pytest.param(n, marks=pytest.mark.slow) for n in (3, 4))])
@pytest.mark.parametrize("speeds", ["equal", "unequal"])
def test_ten_tasks_of_every_structure_are_proven(devices, speeds):
    """Trees, forks, joins, pipelines, stencils, series-parallel and random graphs with transfers."""
    cluster = pl.Cluster.uniform(devices)
    if speeds == "unequal":
        cluster = cluster.replace(speed=[1e13, 2e13, 1e13, 2e13][:devices])
    for structure, graph in pl.generators.structures(10, seed=devices).items():
        placement = pl.place(pl.Problem(graph, cluster), "cp-sat")
        assert placement.notes == ("proven optimal",), structure


@pytest.mark.slow
def test_a_model_of_forty_ops_is_the_same_twice():
    """Stopped by its budget of work, not by time, the search gives the same bytes again."""
    problem = pl.Problem(pl.generators.layered(40, seed=1), pl.Cluster.uniform(4))
    one, again = (pl.place(problem, "cp-sat", effort=0.3, time_limit=limit) for limit in (60.0, 100.0))
    assert one.device.tobytes() == again.device.tobytes() and one.planned.tobytes() == again.planned.tobytes()
    assert (one.estimate, one.bound, one.notes) == (again.estimate, again.bound, again.notes)
    assert "above the optimum" in one.notes[0] and one.notes[0].endswith("stopped after 0.3 s of work")
    assert one.bound < one.estimate <= pl.place(problem, "heft").estimate


def large() -> pl.Problem:
    """A problem too hard to be solved within a test."""
    return pl.Problem(pl.generators.layered(60, seed=2), pl.Cluster.uniform(4))


def test_cancelling_returns_the_best_so_far():
    """Cancelled at its start, cp-sat returns the heuristics' best plan, with a note."""
    placement = pl.place(large(), "cp-sat", cancel=lambda: True)
    assert placement.notes[0].endswith("stopped on request")
    assert placement.bound <= placement.estimate <= pl.place(large(), "heft").estimate


def test_cancelling_the_linear_program_returns_the_best_so_far():
    """HiGHS also calls `cancel`."""
    problem = pl.Problem(pl.generators.independent(14, seed=1), pl.Cluster.uniform(4))
    placement = pl.place(problem, "ilp", max_ops=14, cancel=lambda: True)
    assert placement.bound <= placement.estimate <= pl.place(problem, "heft").estimate
    assert placement.notes[0].endswith("stopped on request")


@pytest.mark.parametrize(("name", "options"), [("cp-sat", {}), ("ilp", {"max_ops": 14})])
def test_the_clock_stops_the_search(name, options):
    """With a time limit of 0 it returns the heuristics' plan and a bound that needs no search."""
    problem = pl.Problem(pl.generators.independent(14, seed=1), pl.Cluster.uniform(4))
    placement = pl.place(problem, name, time_limit=0.0, **options)
    assert placement.notes[0].endswith("stopped by the time limit")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "options"), [("cp-sat", {"effort": 0.5}), ("ilp", {"max_ops": 14})])
def test_progress_only_gets_better(name, options):
    """Makespans fall, bounds and fractions rise; the last report is the result."""
    reports: list[Progress] = []
    problem = pl.Problem(pl.generators.layered(14 if name == "ilp" else 30, seed=4), pl.Cluster.uniform(3))
    placement = pl.place(problem, name, progress=reports.append, **options)
    spans = [word.makespan for word in reports if word.makespan is not None]
    bounds = [word.bound for word in reports]
    assert spans == sorted(spans, reverse=True) and bounds == sorted(bounds)
    assert [word.fraction for word in reports] == sorted(word.fraction for word in reports)
    assert (reports[-1].makespan, reports[-1].bound) == (placement.estimate, placement.bound)


def test_what_is_too_large_is_refused_with_a_remedy():
    """It is solved when the limit is raised."""
    problem = pl.Problem(pl.generators.layered(20, seed=0), pl.Cluster.uniform(2))
    with pytest.raises(pl.UnsupportedError, match=r"ilp takes up to 12 ops, this problem has 20; place with 'cp-sat'"):
        pl.place(problem, "ilp")
    with pytest.raises(
        pl.UnsupportedError, match=r"cp-sat .* up to 30 ops × devices, this one has 40; .* raise max_size"
    ):
        pl.place(problem, "cp-sat", max_size=30)
    assert pl.place(problem, "ilp", max_ops=20, time_limit=0.0).estimate > 0


def test_memory_over_time_rules_plans_out():
    """If the shortest plan runs out of memory, another is returned, and the bound is not above its estimate."""
    graph = pl.OpGraph.from_arrays(
        list("abc"), [1.0, 2.0, 2.0], [(0, 1), (0, 2)], edge_bytes=[1.0, 1.0], temporary=[0, 3, 3]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], memory=[9.0, 1.0], bandwidth=100.0), memory="dynamic")
    for name in EXACT:
        placement = pl.place(problem, name)
        assert len(pl.simulate(problem, placement, "planned").oom) == 0
        assert placement.estimate == 5.0
        if name == "cp-sat":
            assert placement.notes == ("proven optimal",) and placement.optimal
        else:
            assert placement.bound == pytest.approx(3.01) and "memory over time" in placement.notes[1]


@pytest.mark.parametrize("name", EXACT)
def test_packing_that_heuristics_miss(name):
    """Two devices of 4 bytes, ops of 1, 1 and 4 bytes: spreading the small ones leaves no room for the large one."""
    graph = pl.OpGraph.from_arrays(list("abc"), [1.0, 1.0, 1.0], [], memory=[1.0, 1.0, 4.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], memory=4.0), memory="reserved")
    for heuristic in ("heft", "m-etf", "m-sct"):
        with pytest.raises(pl.InfeasibleError):
            pl.partitioners()[heuristic](problem)
        assert "was stuck" in pl.place(problem, heuristic).notes[0]
    check_optimal(pl.place(problem, name), 2.0)


def test_a_failure_inside_the_solver_reaches_the_caller(monkeypatch):
    """It is not lost in the solver's thread."""
    from ortools.sat.python import cp_model

    def fail(*_):
        raise IndexError("raw_hash_map::at")

    monkeypatch.setattr(cp_model.CpSolver, "solve", fail)
    with pytest.raises(pl.PlacelabError, match="OR-tools failed on this problem"):
        pl.place(large(), "cp-sat")


def test_whole_units_round_nothing_but_down():
    """Integers, halves and quarters are kept; other numbers lose less than a unit."""
    exact = pl.Problem(
        pl.OpGraph.from_arrays(list("ab"), [1.5, 2.25], [(0, 1)], edge_bytes=[3.0]), pl.Cluster([1.0, 2.0])
    )
    table, unit = whole(tables(exact), 4.0)
    assert unit == 0.375 and np.array_equal(table.time * unit, tables(exact).time)
    odd = pl.Problem(pl.OpGraph.from_arrays(list("ab"), [0.1, 0.7], [(0, 1)], edge_bytes=[1.0]), pl.Cluster([1.0, 3.0]))
    (table, unit), seconds = whole(tables(odd), 1.0), tables(odd)
    assert (table.time * unit <= seconds.time).all() and (seconds.time - table.time * unit < unit).all()


def test_heads_and_tails_are_no_longer_than_any_run():
    """The longest path through an op on its device, transfers included, is not longer than any run without contention."""
    for problem in problems.many(60, seed=10, ops=8, memory=("none",), **PLAIN):
        placement = pl.place(problem, "heft")
        table = tables(problem)
        schedule = pl.simulate(problem, placement, "planned")
        ops = np.arange(problem.graph.n_ops)
        slack = 1e-9 * (1 + schedule.makespan)
        assert (table.head[ops, placement.device] <= schedule.start + slack).all()
        assert (table.tail[ops, placement.device] <= schedule.makespan - schedule.start + slack).all()
        assert np.allclose(table.starts(placement.device, placement.planned), schedule.start, rtol=1e-12)


def test_interchangeable_devices_are_equal_in_everything():
    """In speed, memory, links to all others, and allowed ops."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b"], [1.0, 1.0], [(0, 1)], edge_bytes=[1.0], devices={0: ["dev0", "dev1", "dev2"]}
    )
    cluster = pl.Cluster([1.0] * 5, bandwidth=2.0)
    kinds = lambda cluster: interchangeable(pl.Problem(graph, cluster)).tolist()  # noqa: E731
    assert kinds(cluster) == [0, 0, 0, 1, 1]
    assert kinds(cluster.replace(memory=[1.0, 1.0, 2.0, 2.0, 2.0])) == [0, 0, 1, 2, 2]
    slow = np.full((5, 5), 2.0)
    slow[0, 1] = 1.0
    assert kinds(cluster.replace(bandwidth=slow)) == [0, 1, 2, 3, 3]
    assert renamed(np.array([2, 0, 4]), np.array([0, 1, 2]), np.array([0, 0, 0, 1, 1])).tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    "order", [("highspy", "ortools.sat.python.cp_model"), ("ortools.sat.python.cp_model", "highspy")]
)
@pytest.mark.slow
def test_both_solvers_live_in_one_process(order):
    """Some versions of HiGHS and OR-tools cannot be imported together; the pinned ones can, in either order."""
    code = "; ".join(f"import {module}" for module in order)
    subprocess.run([sys.executable, "-c", code], check=True)


def test_cp_sat_refuses_to_start_after_tensorflow(monkeypatch):
    """OR-tools would crash the process; the error is a sentence with a remedy."""
    monkeypatch.setitem(sys.modules, "tensorflow", sys)
    monkeypatch.delitem(sys.modules, "ortools.sat.python.cp_model", raising=False)
    with pytest.raises(pl.UnsupportedError, match=r"import ortools\.sat\.python\.cp_model before tensorflow"):
        pl.place(pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2)), "cp-sat")

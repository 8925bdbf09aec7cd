"""Plans by hand: a move is legal exactly where edges and orders stay without a circle, and its schedule is valid."""

from __future__ import annotations

import graphlib
from itertools import pairwise
from random import Random

import numpy as np
import problems
import pytest

import placelab as pl
from placelab.problem.problem import CHOSEN
from placelab.schedule.order import lanes

MANY = 240


def has_circle(problem, orders):
    """Whether edges and devices' orders contradict each other, found by the standard library."""
    sorter = graphlib.TopologicalSorter({v: set() for v in range(problem.graph.n_ops)})
    for u, w in zip(problem.graph.producer.tolist(), problem.graph.consumer.tolist(), strict=True):
        sorter.add(w, u)
    for order in orders:
        for u, w in pairwise(order):
            sorter.add(w, u)
    try:
        sorter.prepare()
    except graphlib.CycleError:
        return True
    return False


def valid(schedule):
    """The validator finds nothing but a shortage of memory, and that only where it is marked."""
    assert {violation.kind for violation in pl.validate(schedule)} == ({"memory"} if len(schedule.oom) else set())


def orders_of(plan):
    return [plan.order(d).tolist() for d in range(plan.placement.problem.cluster.n_devices)]


def plans():
    """Plans of random problems in all models, with and without groups."""
    for i, problem in enumerate(problems.many(MANY, seed=31)):
        random = Random(i)
        yield pl.by_hand(problems.placement(random.randint, problem)), random


def same(a, b):
    assert np.array_equal(a.placement.device, b.placement.device)
    assert np.array_equal(a.placement.planned, b.placement.planned)


def test_a_place_is_legal_exactly_where_no_circle_arises():
    """For one op without a group, every place on every device against the standard library; legal ones are valid."""
    tried = refused = 0
    for plan, random in plans():
        problem = plan.placement.problem
        v = random.randrange(problem.graph.n_ops)
        if len(problem.members(v)) > 1:
            continue
        name = problem.graph.names[v]
        for d in range(problem.cluster.n_devices):
            orders = [[w for w in order if w != v] for order in orders_of(plan)]
            lane = orders[d]
            found = plan.places(name, d)
            assert found.first <= found.start <= found.last
            for position in range(len(lane) + 1):
                changed = [*orders[:d], [*lane[:position], v, *lane[position:]], *orders[d + 1 :]]
                circle = has_circle(problem, changed)
                assert circle == (not found.first <= position <= found.last)
                if found.reason or not lane:
                    continue
                tried += 1
                anchor = (
                    {"before": problem.graph.names[lane[position]]}
                    if position < len(lane)
                    else {"after": problem.graph.names[lane[-1]]}
                )
                if circle:
                    refused += 1
                    with pytest.raises(pl.InfeasibleError, match="cannot run") as caught:
                        plan.move(name, d, **anchor)
                    assert repr(found.after if position < found.first else found.before) in str(caught.value)
                else:
                    moved = plan.move(name, d, **anchor)
                    assert orders_of(moved) == changed
                    valid(moved.schedule)
    assert tried > 2 * refused > 20


def test_an_op_starts_when_its_inputs_are_there_or_later():
    """The ghost's time: no place on a device starts the op earlier, and where the device is free then, it starts right then."""
    met = 0
    limits = dict(transfers=("parallel",), transfer_ops=(0,), memory=("none",), groups=False)
    for i, problem in enumerate(problems.many(MANY, seed=33, **limits)):
        random = Random(i)
        plan = pl.by_hand(problems.placement(random.randint, problem))
        v = random.randrange(problem.graph.n_ops)
        name = problem.graph.names[v]
        for d in problem.feasible(v).tolist():
            found = plan.places(name, d)
            begins = plan.move(name, d).schedule.start[v]
            assert begins >= found.ready * (1 - 1e-9)
            lane = plan.order(d)
            lane = lane[lane != v]
            ahead = plan.schedule.finish[lane[: found.start]].max(initial=0.0)
            if ahead <= found.ready and d != plan.placement.device[v]:
                met += 1
                assert begins == pytest.approx(found.ready, rel=1e-9)
    assert met > 10


def test_several_ops_and_groups_move_together_and_stay_valid():
    """A legal block stands together in its order; groups are never apart; an illegal one is truly a circle."""
    legal = refused = 0
    for plan, random in plans():
        problem = plan.placement.problem
        names = problem.graph.names
        block = random.sample(range(problem.graph.n_ops), min(3, problem.graph.n_ops))
        d = random.randrange(problem.cluster.n_devices)
        found = plan.places([names[v] for v in block], d)
        if found.reason:
            with pytest.raises(pl.InfeasibleError):
                plan.move([names[v] for v in block], d)
        elif found.legal:
            legal += 1
            moved = plan.move([names[v] for v in block], d)
            valid(moved.schedule)
            rank = {v: i for i, v in enumerate(plan.placement.planned.tolist())}
            wanted = sorted(block, key=rank.get)
            assert [v for v in moved.order(d).tolist() if v in block] == wanted
        elif all(len(problem.members(v)) == 1 for v in block):
            refused += 1
            rank = {v: i for i, v in enumerate(plan.placement.planned.tolist())}
            wanted = sorted(block, key=rank.get)
            orders = [[w for w in order if w not in block] for order in orders_of(plan)]
            for i in range(len(orders[d]) + 1):
                assert has_circle(problem, [*orders[:d], [*orders[d][:i], *wanted, *orders[d][i:]], *orders[d + 1 :]])
            with pytest.raises(pl.InfeasibleError):
                plan.move([names[v] for v in block], d)
    assert legal > 10


def test_moving_back_gives_the_same_plan():
    """An op without a group, put next to the op that was its neighbour; the plan before has not changed."""
    undone = 0
    for plan, random in plans():
        problem = plan.placement.problem
        v = random.randrange(problem.graph.n_ops)
        home = int(plan.placement.device[v])
        order = plan.order(home).tolist()
        d = random.randrange(problem.cluster.n_devices)
        name = problem.graph.names[v]
        if len(problem.members(v)) > 1 or len(order) < 2 or plan.places(name, d).reason:
            continue
        i = order.index(v)
        back = {"after": order[i - 1]} if i else {"before": order[i + 1]}
        moved = plan.move(name, d)
        if moved.places(name, home).reason:
            continue  # it was where it does not fit
        same(moved.move(name, home, **{side: problem.graph.names[w] for side, w in back.items()}), plan)
        undone += 1
    assert undone > 5


def test_swaps_are_legal_or_name_a_circle():
    """Against the standard library, for ops without groups; swapping twice changes nothing."""
    swapped = refused = 0
    for plan, random in plans():
        problem = plan.placement.problem
        if problem.graph.n_ops < 2:
            continue
        a, b = random.sample(range(problem.graph.n_ops), 2)
        names = problem.graph.names[[a, b]]
        if any(len(problem.members(v)) > 1 for v in (a, b)):
            continue
        other = {a: b, b: a}
        wanted = [[other.get(v, v) for v in order] for order in orders_of(plan)]
        devices = plan.placement.device[[b, a]]
        if not problem.may_run[[a, b], devices].all():
            continue
        if has_circle(problem, wanted):
            refused += 1
            with pytest.raises(pl.InfeasibleError, match=r"→|alone would keep"):
                plan.swap(*names)
        elif not any(plan.places(name, d).reason for name, d in zip(names, devices, strict=True)):
            swapped += 1
            moved = plan.swap(*names)
            assert orders_of(moved) == wanted
            valid(moved.schedule)
            if not any(moved.places(name, d).reason for name, d in zip(names, devices[::-1], strict=True)):
                same(moved.swap(*names), plan)
    assert swapped > 3
    assert refused > 3


def test_a_schedule_becomes_the_plan_that_it_ran():
    """Each device keeps the order in which the schedule started its ops."""
    for i, problem in enumerate(problems.many(MANY, seed=32)):
        for scheduler in ("fifo", "pct"):
            schedule = pl.simulate(problem, problems.placement(Random(i).randint, problem), scheduler)
            plan = pl.by_hand(schedule)
            valid(plan.schedule)
            for d in range(problem.cluster.n_devices):
                ran = schedule.order(d)
                assert (np.diff(schedule.start[plan.order(d)]) >= 0).all()
                assert sorted(ran.tolist()) == sorted(plan.order(d).tolist())


def test_moves_improve_hefts_plan_of_ten_tasks_to_its_optimum():
    """Topcuoglu's ten tasks: HEFT's 80 becomes 73, which is optimal; each step is valid."""
    plan = pl.by_hand(pl.solve(pl.datasets.problem("topcuoglu"), "heft"))
    assert plan.makespan == 80
    plan = plan.move("T2", "P3", after="T1").move("T3", "P2", before="T4").move("T4", "P1", before="T8")
    valid(plan.schedule)
    plan = plan.move("T6", "P1", after="T4").move("T7", "P2", after="T3")
    assert plan.makespan == 73
    valid(plan.schedule)


def test_devices_that_may_not_run_an_op_say_why():
    """A pin, the pin of another member of its group, and memory that the op alone exceeds."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 1.0, 1.0], [(0, 1)], memory=[10.0, 1.0, 1.0])
    cluster = pl.Cluster([1.0, 1.0], bandwidth=1.0, memory=[20.0, 5.0])
    problem = pl.Problem(graph, cluster, memory="reserved", groups=[["b", "c"]]).pin({"c": 0})
    plan = pl.by_hand(pl.Placement(problem, [0, 0, 0]))
    other = cluster.names[1]
    assert "colocation group may only run on" in plan.places("b", 1).reason
    assert "alone would keep 10" in plan.places("a", other).reason
    assert not plan.places("a", 1).legal
    for name in "abc":
        with pytest.raises(pl.InfeasibleError):
            plan.move(name, 1)


def test_short_memory_is_marked_not_refused():
    """Two ops that fit alone and not together."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [], memory=[4.0, 4.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0, memory=5.0), memory="reserved")
    plan = pl.by_hand(pl.Placement(problem, [0, 1]))
    assert not len(plan.schedule.oom)
    assert len(plan.move("b", 0).schedule.oom)


def test_the_error_names_the_op_through_orders_of_other_devices():
    """a → b by an edge, b before c by the order of a device, c → d by an edge: d cannot run before a."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c", "d"], [1.0] * 4, [(0, 1), (2, 3)])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    plan = pl.by_hand(pl.Placement(problem, [0, 1, 1, 1], planned=[0, 1, 2, 3]))
    with pytest.raises(pl.InfeasibleError, match="'d' cannot run before 'a'"):
        plan.move("d", 0, before="a")
    with pytest.raises(pl.InfeasibleError, match="→"):
        plan.swap("a", "d")


def test_wrong_arguments_are_named():
    problem = pl.Problem(pl.generators.fork_join(2), pl.Cluster.uniform(2))
    plan = pl.by_hand(pl.Placement(problem, [0] * 4))
    first, second = problem.graph.names[:2]
    for wrong in (3, None, "x", [None], []):
        with pytest.raises(pl.FormatError):
            plan.move(wrong, 0)
    for anchors in ({"before": second, "after": second}, {"before": first}, {"before": "x"}):
        with pytest.raises(pl.FormatError):
            plan.move(first, 0, **anchors)
    with pytest.raises(pl.FormatError):
        plan.move(first, 9)
    for wrong in (problem, None, "heft"):
        with pytest.raises(pl.FormatError, match="by_hand needs"):
            pl.by_hand(wrong)


def test_a_planned_order_that_contradicts_the_edges_is_refused():
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    with pytest.raises(pl.InfeasibleError, match=r"a → b → a|b → a → b"):
        pl.by_hand(pl.Placement(problem, [0, 0], planned=[1, 0]))


def test_lanes_of_devices_without_ops_are_empty():
    assert [lane.tolist() for lane in lanes(np.array([1, 1]), np.array([1, 0]), 3)] == [[], [1, 0], []]


def without_the_others(problem, placed):
    """The problem of the ops that are placed, made anew of nothing else; groups and devices that are allowed are left out."""
    graph = problem.graph
    number = np.cumsum(placed) - 1
    kept = placed[graph.consumer] & placed[graph.producer]
    edge_tensor = graph.edge_tensor[kept]
    unread = [t for t in range(graph.n_tensors) if placed[graph.tensor_producer[t]] and t not in edge_tensor]
    unread = [t for t in unread if not graph.tensor_control[t]]
    part = pl.OpGraph.from_arrays(
        graph.names[placed],
        graph.compute[placed],
        number[graph.edges[kept]],
        edge_bytes=graph.edge_bytes[kept],
        edge_output=edge_tensor,
        edge_control=graph.tensor_control[edge_tensor],
        outputs=[(number[graph.tensor_producer[t]], t, graph.tensor_bytes[t]) for t in unread],
        persistent=graph.persistent[placed],
        temporary=graph.temporary[placed],
        memory=graph.memory[placed],
        time=None if graph.time is None else dict(zip(graph.time_types, graph.time[placed].T, strict=True)),
    )
    return pl.Problem(part, problem.cluster, **{label: getattr(problem, label) for label in CHOSEN})


def test_a_plan_from_nothing_is_simulated_as_if_nothing_else_were():
    """Op after op under all models: each schedule is legal, and to the last bit that of the ops that are placed alone."""
    queued = short = 0
    for plan, random in plans():
        problem = plan.placement.problem
        graph = problem.graph
        plan = pl.by_hand(plan.placement, placed=[])
        assert plan.makespan == 0 and len(plan.schedule.transfers) == 0 and len(plan.waiting) == graph.n_ops
        while plan.placed is not None:
            inputs = [plan.placed[graph.predecessors_of(v)].all() for v in range(graph.n_ops)]
            ready = np.flatnonzero(~plan.placed & inputs)
            name = graph.names[random.choice(ready.tolist())]
            devices = [d for d in range(problem.cluster.n_devices) if plan.places(name, d).legal]
            if not devices:
                break  # it alone is too large
            plan = plan.move(name, random.choice(devices))
            placed = np.ones(graph.n_ops, bool) if plan.placed is None else plan.placed
            schedule = plan.schedule
            valid(schedule)
            small = without_the_others(problem, placed)
            order = (np.cumsum(placed) - 1)[plan.placement.planned[placed[plan.placement.planned]]]
            alone = pl.simulate(small, pl.Placement(small, plan.placement.device[placed], order), "planned")
            assert np.array_equal(schedule.start[placed], alone.start) and schedule.makespan == alone.makespan
            assert np.array_equal(schedule.finish[placed], alone.finish)
            assert np.array_equal(schedule.transfers["finish"], alone.transfers["finish"])
            assert np.array_equal(schedule.peak_memory, alone.peak_memory) and len(schedule.oom) == len(alone.oom)
            queued += problem.transfers != "parallel" and len(alone.transfers) > 1
            short += len(schedule.oom) > 0
    assert queued > 40 and short > 40


def test_what_waits_is_not_in_the_way_and_is_not_moved():
    """Only ops whose inputs are placed have places; placed ones move among themselves; groups keep together."""
    problem = pl.datasets.problem("topcuoglu")
    plan = pl.by_hand(pl.solve(problem, "heft"), placed=["T1"])
    assert plan.waiting.tolist() == [f"T{i}" for i in range(2, 11)] and "9 wait" in repr(plan)
    assert plan.places("T7", "P1").reason == "op 'T7' waits for T3, to be placed first"
    with pytest.raises(pl.InfeasibleError, match="op 'T7' waits for T3"):
        plan.move("T7", "P1")
    with pytest.raises(pl.InfeasibleError, match="'T2' waits to be placed"):
        plan.swap("T1", "T2")
    for takes in (pl.improve, pl.recognise, pl.puzzles.load("diamond").stars):
        with pytest.raises(
            pl.FormatError, match="takes a whole plan, and 9 ops of this one wait to be placed, 'T2' first"
        ):
            takes(plan)
    with pytest.raises(AssertionError, match="is not complete: 9 ops wait to be placed, 'T2' first"):
        pl.testing.check_by_hand(plan)
    with pytest.raises(pl.InfeasibleError, match="op 'T7' is placed, but its input 'T3' is not"):
        pl.by_hand(plan.placement, placed=["T1", "T7"])
    plan = plan.move(["T3", "T7"], "P1").move("T1", "P1")
    assert plan.order("P1").tolist() == [0, 2, 6] and plan.order("P2").tolist() == [] and plan.makespan == 14 + 11 + 7
    group = pl.Problem(problem.graph, problem.cluster, groups=[["T2", "T5", "T9"]])
    plan = pl.by_hand(pl.Placement(group, [0] * 10), placed=["T1"]).move("T2", "P2")
    assert plan.placement.device[[1, 4, 8]].tolist() == [1, 1, 1] and plan.order("P2").tolist() == [1]


def test_of_a_storage_that_is_shared_the_part_has_what_it_made():
    """A view of a tensor that waits holds its own bytes; the tensor does not."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c", "d"],
        [1.0] * 4,
        [(0, 2), (1, 3)],
        edge_bytes=[8.0, 2.0],
        edge_storage=[0, 0],
    )
    problem = pl.Problem(graph, pl.Cluster([1.0]), memory="dynamic")
    whole = pl.Placement(problem, [0] * 4)
    assert pl.by_hand(whole).schedule.peak_memory.tolist() == [8.0]
    for placed, peak in ((["a"], 8.0), (["b"], 2.0), (["a", "b", "d"], 8.0)):
        plan = pl.by_hand(whole, placed=placed)
        valid(plan.schedule)
        assert plan.schedule.peak_memory.tolist() == [peak]

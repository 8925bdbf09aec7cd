"""The simulator equals the reference simulator on thousands of random problems, and the papers' published numbers."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tracemalloc
from itertools import permutations
from pathlib import Path
from random import Random
from types import SimpleNamespace

import numpy as np
import published
import pytest
import reference_memory
import reference_simulator
from examples import examples, fewer
from hypothesis import assume, given
from hypothesis import strategies as st
from problems import Pick, many, placed, placement

import placelab as pl
from placelab.analysis.validation import validate
from placelab.base.errors import InfeasibleError
from placelab.graphs.generators import par, seq
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.resource_models import TRANSFER_MODELS
from placelab.schedule import catalogue as strategies
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

RULES = ("fifo", "priority", "msr", "planned")


@pytest.fixture(autouse=True, scope="module")
def _catalogue_stays_as_it_was():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strategies, "_schedulers", dict(strategies._schedulers))
        yield


def simulated(where: Placement, order: Order, **options) -> Schedule:
    """Result of the simulator under test for a given order."""

    @scheduler(static=True)
    def given_order(problem: Problem, placement: Placement) -> Order:
        return order

    return pl.simulate(where.problem, where, given_order, **options)


def some_order(pick: Pick, problem: Problem, rule: str | None = None) -> Order:
    """An order with many ties: of a given rule or any, sometimes with priorities for transfers and Sends."""
    n = problem.graph.n_ops
    t = problem.graph.n_tensors
    k = problem.cluster.n_devices
    rule = rule or RULES[pick(0, len(RULES) - 1)]
    draw = lambda *shape: np.array([float(pick(0, 3)) for _ in range(int(np.prod(shape)))]).reshape(shape)  # noqa: E731
    for_tensors = lambda: [None, draw(t), draw(t, k)][max(0, pick(0, 3) - 1)]  # noqa: E731
    transfer = for_tensors()
    if rule == "priority":
        return Order(rule, draw(n), transfer, for_tensors())
    if rule == "msr":
        weights = tuple(float(pick(0, 5)) for _ in range(4)) if pick(0, 1) else (1.0, 1.0, 1.0, 5.0)
        return Order(rule, transfer=transfer, weights=weights, static=not pick(0, 2))
    shuffled = np.argsort([pick(0, 999) for _ in range(n)], kind="stable")
    if rule == "fifo":
        return Order(rule, shuffled if pick(0, 1) else None, transfer)
    times = np.array([float(pick(0, 9) * pick(0, 1)) for _ in range(n)]) if not pick(0, 2) else None
    return Order(rule, precedence(problem.graph, shuffled), transfer, not_before=times)


def precedence(graph: OpGraph, wish: np.ndarray) -> np.ndarray:
    """A topological order close to `wish`: always the op highest in it whose inputs are all there."""
    order = []
    left = wish.tolist()
    while left:
        v = next(v for v in left if not set(graph.producer[graph.consumer == v].tolist()) & set(left))
        order.append(v)
        left.remove(v)
    return np.array(order)


def outcome(run, *arguments, **options) -> Schedule | None:
    """Result of a run; None if memory is missing."""
    try:
        return run(*arguments, **options)
    except InfeasibleError:
        return None


def assert_equal(made: Schedule | None, expected: Schedule | None) -> None:
    """Both lack memory, or all times, transfers and Sends agree to the last bit and are legal."""
    assert (made is None) == (expected is None), "one of the two found no room"
    if made is not None:
        for column in ("start", "finish", "transfers", "sends"):
            np.testing.assert_array_equal(getattr(made, column), getattr(expected, column), err_msg=column)
        assert {violation.kind for violation in validate(made)} <= {"memory"}


def tightened(where: Placement, order: Order, pick: Pick) -> Placement:
    """The placement with capacities somewhat below the peaks of an unlimited run, so that ops must wait."""
    made = reference_simulator.simulate(where, order)
    devices = range(where.problem.cluster.n_devices)
    peaks = [max(size for _, size in reference_memory.curve(made, d)) for d in devices]
    memory = [max(peak * pick(80, 100) / 100, 1e-6) if pick(0, 1) else None for peak in peaks]
    return Placement(where.problem.replace(cluster=where.problem.cluster.replace(memory=memory)), where.device)


def reads_twice(graph: OpGraph) -> bool:
    """Whether some op reads one tensor more than once."""
    return len(np.unique(np.stack([graph.edge_tensor, graph.consumer]), axis=1).T) < graph.n_edges


# -------------------------------------------------------------------- the same as the plain simulator


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("transfers", TRANSFER_MODELS)
def test_equals_the_reference(transfers, rule):
    """Many problems each: groups, restrictions, several outputs, control edges, Sends, zero times and bytes, ties."""
    for i, problem in enumerate(many(240, seed=3, transfers=[transfers])):
        if rule == "msr" and problem.transfer_ops and reads_twice(problem.graph):
            continue  # below
        pick = Random(i).randint
        where = placement(pick, problem)
        order = some_order(pick, problem, rule)
        assert_equal(simulated(where, order), reference_simulator.simulate(where, order))


def test_msr_counts_an_op_that_reads_a_tensor_twice_once():
    """MSR sums over distinct ops also for a Send; a tensor that an op reads twice arrives once."""
    for i, problem in enumerate(many(360, seed=4, transfer_ops=[1])):
        where = placement(Random(i).randint, problem)
        order = some_order(Random(i).randint, problem, "msr")
        assert_equal(simulated(where, order), reference_simulator.simulate(where, order))


@pytest.mark.parametrize(
    "memory", ["dynamic", "edges", *(pytest.param(name, marks=pytest.mark.slow) for name in ("reserved", "none"))]
)
def test_waiting_for_room_equals_the_reference(memory):
    """oom="wait", 800 problems each: the ops that wait, the order of their starts, and deadlocks."""
    waited = stuck = 0
    for i, problem in enumerate(many(800, seed=5, memory=[memory], ops=16, devices=3)):
        pick = Random(i).randint
        where = placement(pick, problem)
        order = some_order(pick, problem)
        if order.rule == "msr" and problem.transfer_ops and reads_twice(problem.graph):
            continue  # above
        where = tightened(where, order, pick)
        expected = outcome(reference_simulator.simulate, where, order, "wait")
        assert_equal(outcome(simulated, where, order, oom="wait"), expected)
        stuck += expected is None
        waited += expected is not None and (expected.start != reference_simulator.simulate(where, order).start).any()
    assert memory == "none" or stuck > fewer(50)
    assert memory in ("none", "reserved") or waited > fewer(30)


@examples(300)
@given(placed(), st.data())
def test_equals_the_reference_smallest_failure(where, data):
    """The same through hypothesis, which shrinks failures."""
    order = some_order(lambda low, high: data.draw(st.integers(low, high)), where.problem)
    assume(not (order.rule == "msr" and where.problem.transfer_ops and reads_twice(where.problem.graph)))  # above
    assert_equal(simulated(where, order), reference_simulator.simulate(where, order))


def test_plain_and_compiled_kernels_are_one(monkeypatch):
    """The kernel's Python source and machine code give the same bits."""
    for i, problem in enumerate(many(150, seed=6)):
        where = placement(Random(i).randint, problem)
        order = some_order(Random(i).randint, problem)
        runs = []
        for jit in ("wait", "0"):
            monkeypatch.setenv("PLACELAB_JIT", jit)
            runs.append(simulated(where, order))
        assert_equal(*runs)


def test_run_time_rule_sees_what_is_going_on():
    """A Python rule receives the executable ops, and a state that equals the reference's at every call."""

    def sees(time, device, ready, exec_time, idle, missing, since) -> tuple:
        ops = range(problem.graph.n_ops)
        devices = range(problem.cluster.n_devices)
        return (
            time,
            int(device),
            [int(v) for v in ready],
            [exec_time(v) for v in ready],
            [bool(idle(d)) for d in devices],
            [int(missing(v)) for v in ops],
            [since(v) for v in ready],
        )

    def ask(state, device, ready):
        asked.append(
            sees(state.time, device, ready, state.exec_time, state.idle, state.missing_inputs, state.executable_since)
        )
        return ready[wish[len(ready)] % len(ready)]

    def reference_ask(run, device, ready):
        count = lambda v: sum(t in run.missing[v] for t, c in run.edges if c == v)  # noqa: E731
        exec_time = lambda v: run.problem.exec_time(v, run.device[v])  # noqa: E731
        free = lambda d: d not in run.running  # noqa: E731
        expected.append(sees(run.now, device, ready, exec_time, free, count, lambda v: run.ready[0, v]))
        return ready[wish[len(ready)] % len(ready)]

    rule = scheduler(ask)
    for i, problem in enumerate(many(300, seed=7)):
        asked = []
        expected = []
        wish = [Random(i).randint(0, 20) for _ in range(30)]
        where = placement(Random(i).randint, problem)
        reference = reference_simulator.simulate(
            where, SimpleNamespace(rule="ask", transfer=None, choose=reference_ask)
        )
        assert_equal(pl.simulate(problem, where, rule), reference)
        assert asked == expected


def path_computation_time(where: Placement) -> Order:
    """PCT (Mayer eq. 12) of ops and Sends, from the end to the beginning; sums that differ by rounding alone are ties."""
    problem = where.problem
    device = where.device.tolist()
    graph = problem.graph
    cluster = problem.cluster
    ops = problem.transfer_ops
    op = np.zeros(graph.n_ops)
    send = np.zeros((graph.n_tensors, cluster.n_devices))
    for v in reversed(range(graph.n_ops)):
        d = device[v]
        longest = 0.0
        for t in np.flatnonzero(graph.tensor_producer == v):
            consumers = graph.consumer[graph.edge_tensor == t].tolist()
            for e in sorted({device[c] for c in consumers}):
                after = max(op[c] for c in consumers if device[c] == e)
                if e != d:
                    receive = ops / cluster.speed[e] + after
                    move = cluster.latency[d, e] + graph.tensor_bytes[t] / cluster.bandwidth[d, e]
                    after = send[t, e] = ops / cluster.speed[d] + move + receive
                longest = max(longest, after)
        op[v] = problem.exec_time(v, d) + longest
    most = max(op.max(), 1e-300)
    return Order("priority", np.round(op / most, 11), send=np.round(send / most, 11))


def test_priorities_per_transfer_are_those_by_tensor_and_destination():
    """A row per transfer gives the same as the table of tensors × devices, for Sends and on links."""
    for i, problem in enumerate(many(200, seed=12, transfer_ops=[0, 1])):
        where = placement(Random(i).randint, problem)
        n = problem.graph.n_ops
        t = problem.graph.n_tensors
        k = problem.cluster.n_devices
        rng = np.random.default_rng(i)
        op = rng.random(n)
        table = rng.integers(0, 5, (2, t, k)).astype(float)
        moved = pl.simulate(problem, where, "fifo").transfers
        rows = table[:, moved["tensor"], moved["destination"]][:, :, None]
        assert_equal(simulated(where, Order("priority", op, *rows)), simulated(where, Order("priority", op, *table)))


def test_another_number_of_rows_is_refused():
    """The message names all three shapes."""
    problem = pl.datasets.problem("topcuoglu")
    where = pl.place(problem, "heft")
    x = len(pl.simulate(problem, where, "fifo").transfers)
    with pytest.raises(pl.FormatError, match=rf"shape \({x + 1}, 1\); expected \(15,\), \(15, 3\) or \({x}, 1\)"):
        simulated(where, Order("priority", np.zeros(10), np.zeros((x + 1, 1))))


def test_pct_takes_no_table_of_tensors_and_devices():
    """20,000 ops on 200 devices: a table by tensor and device would have 32 MB, and queueing for links another."""
    problem = pl.Problem(
        pl.generators.layered(20_000, seed=0), pl.Cluster.uniform(200), transfers="channel", transfer_ops=1e6
    )
    where = pl.place(problem, "round-robin")
    tracemalloc.start()
    try:
        order = pl.schedulers()["pct"](problem, where, order_transfers=True)
        assert tracemalloc.get_traced_memory()[1] < 16e6
    finally:
        tracemalloc.stop()
    assert order.send.shape == order.transfer.shape == (len(pl.simulate(problem, where, "fifo").transfers), 1)


def test_pct_equals_the_reference():
    """The scheduler `pct`, with and without Sends, against ranks and a simulation of the tests' own."""
    for i, problem in enumerate(many(360, seed=8, transfer_ops=[0, 1])):
        where = placement(Random(i).randint, problem)
        expected = reference_simulator.simulate(where, path_computation_time(where))
        made = pl.simulate(problem, where, "pct")
        np.testing.assert_allclose(made.start, expected.start, rtol=1e-12, atol=1e-12)


# -------------------------------------------------------------------- memory


def test_memory_curves_are_sums_over_what_is_held():
    """Curves, peaks and shortages of many schedules equal their definition, instant by instant."""
    for i, problem in enumerate(many(900, seed=9)):
        made = simulated(placement(Random(i).randint, problem), some_order(Random(i).randint, problem))
        for d in range(problem.cluster.n_devices):
            times, size = made.memory(d)
            points = reference_memory.curve(made, d)
            at = np.searchsorted(times, [now for now, _ in points], side="right") - 1
            np.testing.assert_allclose(size[at], [used for _, used in points], rtol=1e-12, atol=1e-9)
            assert made.peak_memory[d] == pytest.approx(max(used for _, used in points), abs=1e-9)
            assert set(times.tolist()) <= {now for now, _ in points}
        np.testing.assert_allclose(
            [list(row) for row in made.oom.tolist()], reference_memory.shortages(made), rtol=1e-9, atol=1e-9
        )


def test_a_devices_curve_has_nothing_of_the_rounding_of_anothers():
    """Beside a device that holds 1e15 bytes, one of 0.02 bytes that needs 0.03 is short of 0.01, also for the validator."""
    graph = OpGraph.from_arrays(["big", "small"], [1, 1], [], persistent=[1e15, 0.03])
    for model in ("dynamic", "reserved"):
        problem = Problem(graph, pl.Cluster([1, 1], memory=[1e16, 0.02]), memory=model)
        made = pl.simulate(problem, Placement(problem, [0, 1]), "fifo")
        assert made.peak_memory.tolist() == [1e15, 0.03]
        assert {v.kind for v in pl.validate(made)} == {"memory"}


def test_oom_raise_stops_exactly_where_mark_marks():
    """oom="raise" is an error if and only if oom="mark" lists a shortage."""
    for i, problem in enumerate(many(400, seed=10)):
        where = placement(Random(i).randint, problem)
        order = some_order(Random(i).randint, problem)
        marked = simulated(where, order)
        assert (outcome(simulated, where, order, oom="raise") is None) == bool(len(marked.oom))


@pytest.mark.parametrize(
    "memory", ["dynamic", *(pytest.param(name, marks=pytest.mark.slow) for name in ("edges", "reserved"))]
)
def test_waiting_changes_nothing_where_no_memory_is_short(memory):
    """Whenever oom="raise" succeeds, "wait" gives the same schedule; 800 problems each, many just within their memory."""
    succeeded = 0
    for i, problem in enumerate(many(800, seed=11, memory=[memory])):
        pick = Random(i).randint
        where = placement(pick, problem)
        order = some_order(pick, problem)
        if pick(0, 1):  # capacities of just what the run takes
            made = simulated(where, order)
            memory_used = [max(float(peak), 1e-6) for peak in made.peak_memory]
            tight = problem.replace(cluster=problem.cluster.replace(memory=memory_used))
            where = Placement(tight, where.device)
        plain = outcome(simulated, where, order, oom="raise")
        if plain is not None:
            succeeded += 1
            assert_equal(simulated(where, order, oom="wait"), plain)
    assert succeeded > fewer(400)


def test_a_tensor_that_is_picked_up_at_once_needs_no_room():
    """`edges`: b starts when a ends, so a tensor of 5 bytes is never on the device of 4, and needs no memory."""
    graph = OpGraph.from_arrays(["a", "b"], [1, 1], [(0, 1)], edge_bytes=[5])
    problem = Problem(graph, pl.Cluster([1], memory=4), memory="edges")
    for name in ("fifo", "pct", "msr"):
        for oom in ("raise", "wait"):
            assert pl.simulate(problem, Placement(problem, [0, 0]), name, oom=oom).makespan == 2.0


def test_wait_delays_ops_until_memory_is_free_and_reports_deadlocks():
    """Two ops with 3 bytes of work space: on 4 bytes the second waits for the first's consumer to end; on 2 nothing runs."""
    graph = OpGraph.from_arrays(["a", "b", "c"], [1, 1, 1], [(0, 2)], edge_bytes=[2], temporary=[1, 3, 0])
    for memory, starts in ((4.0, [0, 2, 1]), (2.0, None)):
        problem = Problem(graph, pl.Cluster([1], memory=memory), memory="dynamic")
        order = Order("priority", np.array([3.0, 2.0, 1.0]))
        made = outcome(simulated, Placement(problem, [0, 0, 0]), order, oom="wait")
        assert (None if made is None else made.start.tolist()) == starts
    with pytest.raises(InfeasibleError, match="'b'"):
        simulated(Placement(problem, [0, 0, 0]), order, oom="wait")


# -------------------------------------------------------------------- by hand


def test_canonical_receive():
    """A tensor is sent to a device once, for any number of consumers there."""
    fork = OpGraph.from_arrays(["a", "b", "c"], [1, 1, 1], [(0, 1), (0, 2)], edge_bytes=[2, 2], edge_output=[0, 0])
    problem = Problem(fork, pl.Cluster([1, 1], bandwidth=1, latency=1))
    made = pl.simulate(problem, Placement(problem, [0, 1, 1]), "fifo")
    assert made.transfers.tolist() == [(0, 0, 1, 1.0, 4.0)]
    assert made.start.tolist() == [0, 4, 5]


@pytest.mark.parametrize(("other_input", "first"), [(False, "wakes"), (True, "feeds")])
def test_msr_wakes_an_idle_device(other_input, first):
    """Running "wakes" lets w begin on an idle device: 1 + 1 + 1 + 5. "feeds" feeds f on its own device: 1 + 1 + 5.

    If w still waits for another input, "wakes" is worth 1 + 1 only.
    """
    edges = [(0, 2), (1, 3)] + [(4, 3)] * other_input
    graph = OpGraph.from_arrays(["feeds", "wakes", "f", "w", "other"], [1, 1, 1, 1, 9], edges, edge_bytes=1)
    problem = Problem(graph, pl.Cluster([1, 1, 1], bandwidth=1))
    made = pl.simulate(problem, Placement.from_mapping(problem, dict(feeds=0, wakes=0, f=0, w=1, other=2)), "msr")
    assert made.start[graph.index(first)] == 0
    assert validate(made) == []


@pytest.mark.parametrize("rule", ["pct", "msr", Order("priority", np.array([1.0, 0, 2, 0, 0]))])
def test_of_equals_the_one_that_has_waited_longest_goes_first(rule):
    """While "busy" runs, "late" joins "early", whose priority is the same and whose number is higher: "early" is next."""
    names = ["sends", "late", "busy", "early", "tail"]
    graph = OpGraph.from_arrays(names, [1, 1, 3, 1, 1], [(0, 1), (2, 4)], edge_bytes=1)
    problem = Problem(graph, pl.Cluster([1, 1], bandwidth=1))
    where = Placement(problem, [1, 0, 0, 0, 1])
    made = simulated(where, rule) if isinstance(rule, Order) else pl.simulate(problem, where, rule)
    assert made.start[[graph.index(name) for name in ("busy", "early", "late")]].tolist() == [0, 3, 4]


def test_msr_among_many_equals_the_reference():
    """Sixty ops on few devices, so that dozens wait at once, some for memory: every choice equals the reference's."""
    for i, problem in enumerate(many(60, seed=12, ops=60, devices=3)):
        pick = Random(i).randint
        where = placement(pick, problem)
        order = some_order(pick, problem, "msr")
        assert_equal(simulated(where, order), reference_simulator.simulate(where, order))
        where = tightened(where, order, pick) if i % 3 == 0 and problem.memory != "none" else where
        made, expected = (outcome(run, where, order, oom="wait") for run in (simulated, reference_simulator.simulate))
        if not reads_twice(problem.graph):
            assert_equal(made, expected)


@pytest.mark.parametrize("edges", ["none", "pairs", "one sink"])
def test_msr_is_not_quadratic_in_the_ops_that_wait(edges, monkeypatch):
    """80,000 ops, most executable at once: the limit of a second is ten times the usual time; comparing all ops took 20."""
    monkeypatch.setenv("PLACELAB_JIT", "check")
    n = 80_000
    ends = dict(none=[], pairs=[(i, i + n // 2) for i in range(n // 2)])
    ends["one sink"] = [(i, n - 1) for i in range(n - 1)]
    graph = OpGraph.from_arrays([f"op{i}" for i in range(n)], [1.0] * n, ends[edges], edge_bytes=1)
    problem = Problem(graph, pl.Cluster.uniform(4))
    where = Placement(problem, np.arange(n) % 4)
    pl.simulate(problem, where, "msr")
    begun = time.process_time()
    pl.simulate(problem, where, "msr")
    assert time.process_time() - begun < 1


def read_order(graph: OpGraph, reads: list[str], order: tuple[int, ...]) -> Order:
    """Reads, and the transfers of what they read, in a given order."""
    op = np.zeros(graph.n_ops)
    op[[graph.index(reads[i]) for i in order]] = np.arange(len(order), 0, -1)
    return Order("priority", op, transfer=op[graph.tensor_producer])


@pytest.mark.parametrize(("order", "makespan", "efficiency"), [((0, 1), 3, 0.5), ((1, 0), 4, 0.0)])
def test_hashemi_figure_1(order, makespan, efficiency):
    """Two reads from a server, two convolutions: 3 s if the first convolution's input is read first, else 4 (Hashemi Fig. 1)."""
    graph = OpGraph.from_arrays(
        ["read1", "read2", "conv1", "conv2"], [0, 0, 1, 1], [(0, 2), (2, 3), (1, 3)], edge_bytes=[1, 0, 1]
    )
    problem = Problem(graph, pl.Cluster([1, 1], bandwidth=1, names=["server", "worker"]), transfers="channel")
    where = Placement.from_mapping(problem, dict(read1="server", read2="server", conv1="worker", conv2="worker"))
    made = simulated(where, read_order(graph, ["read1", "read2"], order))
    assert made.makespan == makespan
    assert validate(made) == []
    everything = (made.finish - made.start).sum() + (made.transfers["finish"] - made.transfers["start"]).sum()
    busiest = 2.0  # the worker's two convolutions, or the channel's two transfers
    assert (everything - made.makespan) / (everything - busiest) == efficiency


def one_server(graph: OpGraph) -> Placement:
    """Reads on a parameter server, layers on one worker, one channel between them."""
    problem = Problem(graph, pl.Cluster([1, 1], bandwidth=1, types=["ps", "gpu"]), transfers="channel")
    return Placement(problem, [problem.feasible(v)[0] for v in range(graph.n_ops)])


def makespan_of_reads(where: Placement, order: tuple[int, ...]) -> float:
    """Makespan with the reads in this order."""
    return simulated(
        where, read_order(where.problem.graph, [f"read{i + 1}" for i in range(len(order))], order)
    ).makespan


@pytest.mark.parametrize("n", [*range(1, 6), pytest.param(6, marks=pytest.mark.slow)])
def test_every_order_of_reads_is_best_for_par_and_one_for_seq(n):
    """All n! orders of Hashemi's Par-n and Seq-n (Hashemi §3)."""
    side_by_side = one_server(par(n))
    chained = one_server(seq(n))
    best = []
    for order in permutations(range(n)):
        assert makespan_of_reads(side_by_side, order) == n + 1
        if makespan_of_reads(chained, order) == n + 1:
            best.append(order)
    assert best == [tuple(range(n))]


def test_par_32_and_seq_32():
    """Par-32: 33 in any order. Seq-32: 33 in the layers' order; more after swapping two neighbours or after a shuffle."""
    side_by_side = one_server(par(32))
    chained = one_server(seq(32))
    in_order = tuple(range(32))
    assert makespan_of_reads(chained, in_order) == 33
    others = [(*in_order[:i], i + 1, i, *in_order[i + 2 :]) for i in range(31)]
    others += [tuple(Random(i).sample(in_order, 32)) for i in range(50)]
    for order in others:
        assert makespan_of_reads(side_by_side, order) == 33
        assert makespan_of_reads(chained, order) > 33


# -------------------------------------------------------------------- published makespans, reproducibility


def test_mayer_2017_in_the_reference(shared_data):
    """The reference simulator reproduces a published makespan, too; test_published.py has all of them."""
    folder = shared_data("mayer2017")
    problem = published.problem(folder, "convolutional_network", transfer_ops=10)
    placed_ops = published.placement(folder, problem, "convolutional_network", "critical_path")
    made = reference_simulator.simulate(placed_ops, path_computation_time(placed_ops))
    assert made.makespan == pytest.approx(104.16233313836665, rel=1e-9)


DIGEST = """
import hashlib, random
import placelab as pl
from problems import many, placement
digest = hashlib.sha256()
for i, problem in enumerate(many(60)):
    where = placement(random.Random(i).randint, problem)
    for scheduler, options in (("fifo", dict(ties="random")), ("random", {}), ("msr", {}), ("pct", {})):
        made = pl.simulate(problem, where, scheduler, seed=7, **options)
        for column in (made.start, made.finish, made.transfers, made.sends):
            digest.update(column.tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_same_seed_same_bytes():
    """Two processes with different hash seeds make the same schedules, byte by byte."""
    path = os.pathsep.join([str(Path(pl.__file__).parents[1]), str(Path(__file__).parents[1] / "support")])
    digests = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1
    assert len(digests.pop().strip()) == 64


def test_random_ties_depend_on_the_seed_alone():
    """The same seed gives the same schedule, another seed another one."""
    graph = OpGraph.from_arrays([f"op{i}" for i in range(30)], [1] * 30, [])
    problem = Problem(graph, pl.Cluster([1]))
    starts = [
        pl.simulate(problem, Placement(problem, [0] * 30), "fifo", seed=s, ties="random").start for s in (1, 1, 2)
    ]
    assert np.array_equal(starts[0], starts[1])
    assert not np.array_equal(starts[0], starts[2])

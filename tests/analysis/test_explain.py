"""The realised critical path, the idle gaps and the sentences that explain what a schedule waited for."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import problems
import pytest

import placelab as pl
from placelab.analysis.explanation import KINDS, critical_steps, why
from placelab.analysis.idle_time import REASONS, idle_gaps
from placelab.problem.resource_models import TRANSFER_MODELS
from placelab.schedule.critical_steps import free_again
from placelab.schedule.schedule import TRANSFER


def runs(count, seed, **limits):
    """Schedules of random placements under several schedulers, memory marked and waited for."""
    for i, problem in enumerate(problems.many(count, seed=seed, **limits)):
        placement = pl.place(problem.replace(memory="none"), "random", seed=i)
        for scheduler, oom in (("fifo", "mark"), ("pct", "wait"), ("msr", "mark")):
            try:
                yield pl.simulate(problem, placement, scheduler, oom=oom)
            except pl.InfeasibleError:
                continue


def plans(count, seed):
    """Random placements whose devices run their ops in a random order that contradicts no edge, and wait for it."""
    for i, problem in enumerate(problems.many(count, seed=seed)):
        rng = np.random.default_rng(i)
        placement = pl.place(problem.replace(memory="none"), "random", seed=i)
        graph = problem.graph
        order = []
        waiting = np.array([len(graph.predecessors_of(v)) for v in range(graph.n_ops)])
        while len(order) < graph.n_ops:
            v = int(rng.choice([v for v in np.flatnonzero(waiting == 0) if v not in order]))
            order.append(v)
            for u in graph.successors_of(v):
                waiting[u] -= 1
        yield pl.simulate(problem, replace(placement, planned=np.array(order), problem=problem), "planned")


def example(**rules):
    """a (2) on dev0 feeds b (1) and c (1) on dev1, 3 bytes each at 1 byte/s; d (4) is alone on dev1."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c", "d"], [2.0, 1.0, 1.0, 4.0], [(0, 1), (0, 2)], edge_bytes=[3.0, 3.0], edge_output=[0, 1]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0), **rules)
    return pl.simulate(
        problem, pl.Placement.from_mapping(problem, {"a": "dev0", "b": "dev1", "c": "dev1", "d": "dev1"}), "fifo"
    )


def short_of_memory():
    """b's output leaves dev0 until 5, so that a, which needs the 5 bytes it holds there, waits on an idle device."""
    graph = pl.OpGraph.from_arrays(
        list("bac"), [0, 1, 0], [(0, 2)], edge_bytes=[5], temporary=[0, 5, 0], devices={0: ["dev0"], 1: ["dev0"]}
    )
    problem = pl.Problem(graph, pl.Cluster([1, 1], memory=[5, 5], bandwidth=1), memory="dynamic")
    return pl.simulate(problem, pl.Placement(problem, [0, 0, 1]), "fifo", oom="wait")


def test_the_path_tiles_the_makespan():
    """From 0 to the last finish, each step begins where the one before ends, to the last bit."""
    for schedule in runs(300, seed=51):
        steps = critical_steps(schedule)
        assert steps["start"][0] == 0
        assert steps["finish"][-1] == schedule.makespan
        assert (steps["start"][1:] == steps["finish"][:-1]).all()
        assert KINDS[steps["kind"][-1]] == "op"


def test_each_step_is_what_ran_then():
    """The step of an op or transfer is its whole duration; a wait is the whole time for which another was in the way."""
    seen = set()
    for schedule in runs(300, seed=52):
        spans = {
            "op": (schedule.start, schedule.finish),
            "transfer": (schedule.transfers["start"], schedule.transfers["finish"]),
            "send": (schedule.sends["start"], schedule.sends["finish"]),
            "held": (schedule.transfers["start"], free_again(schedule)),
        }
        for kind, row, start, finish, cause, by in critical_steps(schedule).tolist():
            what = {(0, 0): "op", (1, 0): "transfer", (1, 2): "send", (2, 1): "op", (2, 2): "send", (2, 3): "transfer"}
            seen.add((kind, cause))
            if (kind, cause) == (2, 0):
                assert schedule.problem.memory in ("edges", "dynamic")
                continue
            ran = spans["held" if (kind, cause) == (2, 3) else what[kind, cause]]
            assert (ran[0][by], ran[1][by]) == (start, finish)
            assert kind == 2 or row == by
    assert seen == {(0, 0), (1, 0), (1, 2), (2, 0), (2, 1), (2, 2), (2, 3)}


def test_each_step_holds_the_next_one_up():
    """A step is an input of the next, its Send or transfer, or what ran before it on the device or link it needs."""
    for schedule in runs(200, seed=53):
        graph = schedule.problem.graph
        moved = schedule.transfers
        made = graph.tensor_producer[moved["tensor"]]
        edges = set(map(tuple, graph.edges.tolist()))
        steps = critical_steps(schedule).tolist()
        for (kind, _, _, _, cause, by), (kind2, _, _, _, cause2, by2) in pairwise(steps):
            if (kind, cause) == (2, 0) or (kind2, cause2) == (2, 0):
                continue
            is_op = cause == 1 or kind == 0
            next_is_op = cause2 == 1 or kind2 == 0
            if kind == 2:  # it was in the way: on the same device or a link with a common end
                ends = {schedule.device[by]} if is_op else {moved["source"][by], moved["destination"][by]}
                other = {schedule.device[by2]} if next_is_op else {moved["source"][by2], moved["destination"][by2]}
                assert ends & other
            elif is_op and next_is_op:
                assert (by, by2) in edges
            elif is_op:
                assert made[by2] == by
            elif next_is_op:
                assert (made[by], by2) in edges
                assert moved["destination"][by] == schedule.device[by2]
            else:
                assert by == by2  # a Send and its transfer


def test_queueing_for_a_device_is_a_wait():
    """b and c arrive at 5; b runs, c waits for it."""
    frame = pl.critical_path(example())
    assert frame["kind"].tolist() == ["op", "transfer", "wait", "op"]
    assert frame["name"].tolist() == ["a", "a", "c", "c"]
    assert frame["device"].tolist() == ["dev0", "dev1", "dev1", "dev1"]
    assert frame["start"].tolist() == [0, 2, 5, 6]
    assert frame["reason"].tolist() == ["its output is awaited", "transfer dev0 → dev1", "dev1 ran b", "finishes last"]


@pytest.mark.parametrize("transfers", ["channel", "sequential"])
def test_queueing_for_a_link_is_a_wait(transfers):
    """One transfer at a time: c's bytes wait for b's, and c for them."""
    frame = pl.critical_path(example(transfers=transfers))
    assert frame["kind"].tolist() == ["op", "wait", "transfer", "op"]
    assert frame["start"].tolist() == [0, 2, 5, 8]
    assert frame["reason"].tolist()[1] == "dev0 → dev1 carried a"


def test_a_send_op_counts_as_transfer():
    """With Send ops the path from a to b is Send, then transfer; the second Send waits for the first."""
    frame = pl.critical_path(example(transfer_ops=1))
    assert frame["kind"].tolist() == ["op", "wait", "transfer", "transfer", "op"]
    assert frame["reason"].tolist()[1:3] == ["dev0 ran the Send of a", "Send op dev0 → dev1"]
    assert frame["device"].tolist() == ["dev0", "dev0", "dev0", "dev1", "dev1"]


def test_waiting_for_memory_is_a_wait():
    """With two bytes of memory, the second op's output waits until the first op's reader ends."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 3.0, 1.0], [(0, 1)], edge_bytes=[2.0], outputs=[(2, 0, 1.0)])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], memory=[2.0, 3.0]), memory="dynamic")
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1, 0]), "fifo", oom="wait")
    gaps = pl.idle_reasons(schedule)
    assert (gaps["reason"] == "memory").any()
    assert gaps[gaps["reason"] == "memory"]["name"].tolist() == ["c"]
    assert "no room in memory" in why(schedule, "c")


def test_gaps_are_exactly_the_idle_time():
    """On each device, gaps and runs together tile [0, makespan], and a gap touches no run."""
    for schedule in runs(200, seed=54):
        gaps = idle_gaps(schedule)
        sends = schedule.sends
        assert (gaps["finish"] > gaps["start"]).all()
        for d in range(schedule.problem.cluster.n_devices):
            mine = gaps[gaps["device"] == d]
            spans = list(zip(mine["start"], mine["finish"], strict=True))
            for start, finish, device in (
                (schedule.start, schedule.finish, schedule.device),
                (sends["start"], sends["finish"], sends["source"]),
            ):
                spans += [(a, b) for a, b, e in zip(start, finish, device, strict=True) if e == d and b > a]
            spans.sort()
            edges = [0.0, *(x for span in spans for x in span), schedule.makespan]
            assert edges[::2] == edges[1::2]


@pytest.mark.slow
def test_each_gap_has_the_reason_that_ended_it():
    """upstream: that op is not done; transfer: its tensor is on the way; both: it is read next; end: nothing follows.

    memory and left waiting: all inputs of that op are there, and of no other one that starts later earlier.
    """
    seen = set()
    for schedule in chain([short_of_memory()], runs(200, seed=55), plans(60, seed=58)):
        graph = schedule.problem.graph
        device = schedule.device
        for d, start, finish, code, op, _ in idle_gaps(schedule).tolist():
            reason = REASONS[code]
            seen.add(reason)
            later = [v for v in range(graph.n_ops) if device[v] == d and schedule.start[v] >= finish]
            if reason in ("end", "never chosen"):
                assert op == -1
                assert finish == schedule.makespan
                assert not [v for v in later if schedule.finish[v] > finish]
                assert (reason == "end") == bool((device == d).any())
            elif reason in ("memory", "left waiting"):
                ready = {v: ready_at(schedule, v) for v in later}
                assert op in later and ready[op] <= start and ready[op] == min(ready.values())
                assert schedule.scheduler == "planned" or reason == "memory"
            else:
                assert (schedule.finish[op] >= finish) if reason == "upstream" else (schedule.finish[op] <= start)
                assert {w for u, w in graph.edges.tolist() if u == op} & set(later)
    assert seen == set(REASONS)


def ready_at(schedule, op):
    """When all inputs of an op were on its device, by the definition."""
    graph = schedule.problem.graph
    moved = {(t, d): finish for t, _, d, _, finish in schedule.transfers.tolist()}
    edges = graph.pred_edge[graph.pred_ptr[op] : graph.pred_ptr[op + 1]].tolist()
    there = [moved.get((graph.edge_tensor[e], schedule.device[op]), schedule.finish[graph.producer[e]]) for e in edges]
    return max(there, default=0.0)


@pytest.mark.parametrize("transfers", TRANSFER_MODELS)
def test_no_gap_is_explained_by_memory_without_waiting(transfers):
    """A gap that ends with several ops of no time is attributed to the input that came last, not to a lack of memory."""
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box(4), transfers=transfers)
    for partitioner in ("heft", "cpop"):
        gaps = idle_gaps(pl.solve(problem, partitioner, "planned"))
        assert "memory" not in {REASONS[r] for r in gaps["reason"]}


def test_idle_reasons_by_hand():
    """dev1 without d waits two seconds for a and three for its transfer; dev0 has no op after a."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [2.0, 1.0], [(0, 1)], edge_bytes=[3.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    frame = pl.idle_reasons(pl.simulate(problem, pl.Placement(problem, [0, 1]), "fifo"))
    assert frame.to_dict("list") == {
        "device": ["dev0", "dev1", "dev1"],
        "start": [2.0, 0.0, 2.0],
        "finish": [6.0, 2.0, 5.0],
        "reason": ["end", "upstream", "transfer"],
        "name": ["", "a", "a"],
    }


def test_the_sentence():
    """One sentence for each reason for which an op can wait."""
    plain = example()
    channel = example(transfers="channel")
    assert why(plain, "a") == "a on dev0 started at once: it has no inputs"
    assert why(plain, "b") == "b on dev1 waited 1 for a from dev0 (transfer 3)"
    assert why(plain, "c") == "c on dev1 was ready at 5, in line for 1; dev1 ran b just before"
    assert why(channel, "c") == "c on dev1 waited 2 for a from dev0 (transfer 3, after 3 in line for the link)"
    chain = pl.Problem(pl.OpGraph.from_arrays(["x", "y"], [1.0, 1.0], [(0, 1)]), pl.Cluster([1.0]))
    assert why(pl.solve(chain, "single", "fifo"), "y") == "y on dev0 started as soon as its input x was done"


def test_a_sentence_for_every_op():
    """Every op of every run has a sentence, whatever it waited for."""
    for schedule in runs(100, seed=56):
        for v, name in enumerate(schedule.problem.graph.names):
            assert why(schedule, v).startswith(f"{name} on {schedule.problem.cluster.names[schedule.device[v]]} ")


def test_compiled_is_plain_bit_for_bit(monkeypatch):
    """Both kernels give the same bits compiled and plain, on random runs."""
    for schedule in runs(60, seed=57):
        found = []
        for mode in ("wait", "0"):
            monkeypatch.setenv("PLACELAB_JIT", mode)
            found.append((critical_steps(schedule).tobytes(), idle_gaps(schedule).tobytes()))
        assert found[0] == found[1]


def test_impossible_schedules_end_too():
    """A hand-made schedule that breaks every rule still gets a path, from 0 to its end."""
    problem = pl.Problem(pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)]), pl.Cluster([1.0]))
    placement = pl.Placement(problem, [0, 0])

    empty = np.zeros(0, dtype=TRANSFER)
    for start, finish in (([5, 0], [5, 5]), ([3, 3], [4, 4]), ([2, 1], [9, 2]), ([0, 0], [0, 0])):
        broken = pl.Schedule(placement, np.array(start, float), np.array(finish, float), empty, empty)
        steps = critical_steps(broken)
        assert steps["start"][0] <= 0
        assert steps["finish"][-1] == broken.makespan
        idle_gaps(broken)


@pytest.mark.slow
@pytest.mark.parametrize("transfers", ["parallel", "sequential"])
def test_an_op_of_very_many_neighbours_costs_no_more_than_its_edges(transfers):
    """Two ops that feed 200,000 others a tensor each, and one that reads all, take seconds, not minutes."""
    n = 200_000
    middle = np.arange(2, n + 2)
    edges = np.concatenate([np.stack([middle % 2, middle], 1), np.stack([middle, np.full(n, n + 2)], 1)])
    output = np.concatenate([middle // 2 - 1, np.zeros(n, int)])
    graph = pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n + 3)], np.full(n + 3, 1e6), edges, edge_bytes=np.full(2 * n, 8.0), edge_output=output
    )
    problem = pl.Problem(graph, pl.Cluster([1e9] * 4, bandwidth=1e9), transfers=transfers)
    schedule = pl.simulate(problem, pl.Placement(problem, np.arange(n + 3) // 2 % 4), "fifo")
    pl.metrics(example()), idle_gaps(example())  # kernels are compiled
    begun = time.process_time()
    critical_steps(schedule)
    idle_gaps(schedule)
    pl.metrics(schedule)
    assert f"op{n + 2}" in why(schedule, n + 2)
    assert time.process_time() - begun < 5.0

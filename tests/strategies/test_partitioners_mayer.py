"""Mayer's partitioners and the baselines: each decision equals that of the rule, written plainly.

A traced placement is replayed decision by decision. Every candidate must be one by a plain count of memory, and the
chosen device must have the least score (within rounding) by a plain statement of the equation.
"""

from __future__ import annotations

from math import isclose
from zlib import crc32

import numpy as np
import problems
import pytest
from examples import fewer
from reference_capacity import plain_need

import placelab as pl
from placelab.planning.ranks import operations

ROUNDING = 1e-9


class Replay:
    """A traced placement, decision by decision: the ops placed so far and their devices."""

    def __init__(self, problem, name, **options):
        self.problem = problem
        self.placement = pl.place(problem, name, trace=True, fallback=False, **options)
        self.on = {}  # device of each op placed so far

    def decisions(self):
        """(unit's ops, chosen device, candidates, scores), after a check that candidates are the devices with enough memory."""
        trace = self.placement.trace
        for op, device, scores in zip(trace.op, trace.device, trace.score, strict=True):
            ops = self.problem.members(op).tolist()
            room = [d for d in self.problem.feasible(op).tolist() if self.fits(ops, d)]
            assert np.flatnonzero(~np.isnan(scores)).tolist() == room
            assert device in room
            yield ops, int(device), room, scores
            self.on |= dict.fromkeys(ops, int(device))
        assert [self.on[v] for v in range(self.problem.graph.n_ops)] == self.placement.device.tolist()

    def fits(self, ops, d):
        there = [v for v, e in self.on.items() if e == d]
        return plain_need(self.problem, there + ops) <= self.problem.cluster.memory[d] * (1 + ROUNDING)

    def exec_time(self, ops, d):
        return sum(self.problem.exec_time(v, d) for v in ops)

    def load(self, d):
        return self.exec_time([v for v, e in self.on.items() if e == d], d)

    def traffic(self, ops, d, both=False):
        graph = self.problem.graph
        trips = set()  # each tensor once, and once to each device
        for t, u, w in zip(graph.edge_tensor.tolist(), graph.producer, graph.consumer, strict=True):
            if w in ops and u in self.on:
                trips.add((t, self.on[u], d))
            if both and u in ops and w in self.on:
                trips.add((t, d, self.on[w]))
        return sum(self.problem.transfer_time(*trip) for trip in trips)


def factor(values):
    """Each value over the largest, at least 1e-6."""
    most = max(values.values())
    return {d: max(x / most if most > 0 else 0.0, 1e-6) for d, x in values.items()}


def check_least(scores, plain, chosen):
    """Check that the recorded scores equal the plain ones and the chosen device has the least."""
    for d, value in plain.items():
        assert isclose(scores[d], value, rel_tol=10 * ROUNDING, abs_tol=1e-15)
    assert plain[chosen] <= min(plain.values()) * (1 + ROUNDING) + 1e-15


def speeds(problem):
    """Relative speed of the devices; with measured times, from the times of ops that they may run."""
    k = problem.cluster.n_devices
    n = problem.graph.n_ops
    if problem.graph.time is None:
        return problem.cluster.speed / max(problem.cluster.speed)
    mean = [np.mean([problem.exec_time(v, d) for d in problem.feasible(v)]) for v in range(n)]
    mine = [[v for v in range(n) if d in problem.feasible(v)] for d in range(k)]
    took = [sum(problem.exec_time(v, d) for v in mine[d]) for d in range(k)]
    speed = np.array([sum(mean[v] for v in mine[d]) / took[d] if took[d] > 0 else 1.0 for d in range(k)])
    return speed / speed.max()


def total_ranks(problem):
    """up + down of each op, in operations, by the two equations."""
    graph = problem.graph
    c = operations(problem.graph)
    up = c.copy()
    down = np.zeros(graph.n_ops)
    for u, v in graph.edges[::-1].tolist():
        up[u] = max(up[u], c[u] + up[v])
    for v in range(graph.n_ops):
        down[v] = max((down[u] + c[u] for u, w in graph.edges.tolist() if w == v), default=0.0)
    return up + down, down + c


def by_rank(problem):
    """Ops by falling total rank, ties (up to rounding) by number."""
    total = total_ranks(problem)[0]
    return sorted(range(problem.graph.n_ops), key=lambda v: (-round(total[v], 9), v))


def firsts(problem, order):
    """(unit, position of its first member) along an order of ops."""
    seen = set()
    found = []
    for i, v in enumerate(order):
        unit = tuple(problem.members(v).tolist())
        if unit not in seen:
            seen.add(unit)
            found.append((list(unit), i))
    return found


def replays(name, sample, count=150, **options):
    """Replays of a partitioner over random problems without the infeasible ones; at least one must be feasible."""
    done = 0
    for problem in problems.many(count, seed=sample, transfers=("parallel",)):
        try:
            yield Replay(problem, name, **options)
        except pl.InfeasibleError:
            continue
        done += 1
    assert done > fewer(count) / 2


# ------------------------------------------------------------------ hash and random


def splitmix(name, seed):
    """The hash of a name in [0, 1), computed with Python's integers."""
    mask = 2**64 - 1
    z = (crc32(name.encode()) + (seed + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
    return ((z ^ z >> 31) >> 11) / 2**53


@pytest.mark.parametrize("weight", ["speed", "uniform", "auto"])
def test_hash_draws_in_proportion_to_the_weight(weight):
    """The chosen device is where the running sum of weights passes the hash; scores are the shares."""
    for replay in replays("hash", 21, weight=weight, seed=5):
        cluster = replay.problem.cluster
        graph = replay.problem.graph
        weights = {"speed": cluster.speed, "uniform": np.ones(cluster.n_devices)}.get(weight)
        if weights is None:
            finite = np.isfinite(cluster.memory).all()
            weights = cluster.memory if finite else cluster.speed if graph.time is None else np.ones(cluster.n_devices)
        for ops, device, room, scores in replay.decisions():
            share = weights[room] / weights[room].sum()
            assert np.allclose(scores[room], share, rtol=ROUNDING)
            below = share[: room.index(device)].sum()
            assert below - ROUNDING <= splitmix(graph.names[ops[0]], 5) <= below + share[room.index(device)] + ROUNDING


def test_hash_keeps_an_op_where_it_was_when_others_come_and_go():
    """An op's device depends on its name alone, as long as memory suffices."""
    names = [f"layer/{v}" for v in range(200)]

    def place(n):
        return pl.place(pl.Problem(pl.OpGraph.from_arrays(names[:n], [1.0] * n, []), pl.Cluster.uniform(5)), "hash")

    assert (place(200).device[:120] == place(120).device).all()


def test_hash_and_random_spread_over_all_devices():
    """With thousands of ops, each device gets its share within 10 %; another seed gives another placement."""
    graph = pl.OpGraph.from_arrays([f"op{v}" for v in range(20_000)], [1.0] * 20_000, [])
    problem = pl.Problem(graph, pl.Cluster([1.0, 2.0, 5.0]))
    for name, share in (("hash", [1 / 8, 2 / 8, 5 / 8]), ("random", [1 / 3] * 3)):
        one = pl.place(problem, name, seed=0).device
        other = pl.place(problem, name, seed=1).device
        assert np.bincount(one) / 20_000 == pytest.approx(share, rel=0.1)
        assert (one == other).mean() == pytest.approx(sum(s * s for s in share), rel=0.1)
        assert (one == pl.place(problem, name, seed=0).device).all()


def test_hash_by_memory_needs_memories():
    """weight="memory" with an unlimited device is an error that names it."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster([1.0, 1.0], memory=[8.0, None], names=["a", "b"]))
    with pytest.raises(pl.UnsupportedError, match="'b'"):
        pl.place(problem, "hash", weight="memory")


# ------------------------------------------------------------------ round-robin, contiguous, batch-split


def test_round_robin_takes_the_next_device_with_room():
    """After each decision comes the next device, without those that lack memory."""
    for replay in replays("round-robin", 22):
        k = replay.problem.cluster.n_devices
        last = -1
        for _, device, room, scores in replay.decisions():
            steps = {d: (d - last - 1) % k for d in room}
            check_least(scores, steps, device)
            last = device


def follow_targets(replay, queue, sequence, target):
    """Each unit of the queue goes to the first device with enough memory, cyclically from its target position."""
    k = len(sequence)
    for (ops, i), (placed, device, room, scores) in zip(queue, replay.decisions(), strict=True):
        assert placed == ops
        check_least(scores, {d: (sequence.index(d) - target(i)) % k for d in room}, device)


def test_contiguous_cuts_the_work_by_speed():
    """The middle of an op's work, along the devices' shares, decides its piece."""
    for replay in replays("contiguous", 23):
        problem = replay.problem
        n = replay.problem.graph.n_ops
        work = [np.mean([problem.exec_time(v, d) for d in problem.feasible(v)]) for v in range(n)]
        share = np.cumsum(speeds(problem)) / speeds(problem).sum() * sum(work)
        middle = np.cumsum(work) - np.array(work) / 2
        if np.abs(share[:, None] - middle).min() < 1e-9 and sum(work) > 0:
            continue  # a cut exactly in the middle of an op: rounding decides
        piece = lambda i, middle=middle, share=share: min(int((share < middle[i]).sum()), len(share) - 1)  # noqa: E731
        follow_targets(replay, firsts(problem, range(n)), list(range(problem.cluster.n_devices)), piece)


def test_contiguous_by_hand():
    """Six equal ops in a chain on speeds 1 and 2: two, then four."""
    graph = pl.OpGraph.from_arrays(list("abcdef"), [2.0] * 6, [(v, v + 1) for v in range(5)])
    assert pl.place(pl.Problem(graph, pl.Cluster([1.0, 2.0])), "contiguous").device.tolist() == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize("quota", ["speed", "equal"])
def test_batch_split_assigns_ranks_fastest_device_first(quota):
    """The i-th op by rank goes to the device in whose share of the count i + ½ lies, fastest first."""
    for replay in replays("batch-split", 24, quota=quota):
        problem = replay.problem
        n = replay.problem.graph.n_ops
        speed = speeds(problem)
        sequence = sorted(range(len(speed)), key=lambda d: (-round(speed[d], 12), d))
        share = [speed[d] if quota == "speed" else 1.0 for d in sequence]
        cut = np.cumsum(share) / sum(share) * n
        batch = lambda i, cut=cut: min(int((cut < i + 0.5 - ROUNDING).sum()), len(cut) - 1)  # noqa: E731
        if np.abs(cut[:, None] - (np.arange(n) + 0.5)).min() < ROUNDING:
            continue  # a cut exactly in the middle of an op: rounding decides
        follow_targets(replay, firsts(problem, by_rank(problem)), sequence, batch)


def test_batch_split_by_hand():
    """A chain a→b→c has the rank and the device of half the speed; the lone ops d, e, f share the other half."""
    graph = pl.OpGraph.from_arrays(list("dabcef"), [1, 2, 2, 2, 1, 1], [(1, 2), (2, 3)])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0, 2.0]))
    where = pl.place(problem, "batch-split").to_mapping()
    assert {where[v] for v in "abc"} == {"dev2"}
    assert [where[v] for v in "def"] == ["dev0", "dev0", "dev1"]  # 4 + 1/2 of 6 ops, 3/4 of the speed
    equal = pl.place(problem, "batch-split", quota="equal").to_mapping()
    assert [equal[v] for v in "abcdef"] == ["dev2", "dev2", "dev0", "dev0", "dev1", "dev1"]


# ------------------------------------------------------------------ critical path


@pytest.mark.parametrize("order", ["topological", "random"])
def test_critical_path_then_least_load(order):
    """The path goes to the fastest device that holds it (else op by op); each other unit to the least load."""
    whole_paths = 0
    for replay in replays("critical-path", 25, order=order, seed=3, count=250):
        problem = replay.problem
        graph = replay.problem.graph
        done = total_ranks(problem)[1]
        sinks = [v for v in range(graph.n_ops) if v not in graph.producer]
        path = [max(sinks, key=lambda v: (done[v], -v))]
        while before := sorted({u for u, v in graph.edges.tolist() if v == path[0]}):
            path.insert(0, max(before, key=lambda u: (done[u], -u)))
        if (
            abs(np.sort(done[sinks])[-2:].sum() - 2 * done[path[-1]]) < ROUNDING
            and len(sinks) > 1
            and graph.time is not None
        ):
            continue  # rounding decides between two sinks
        units = [ops for ops, _ in firsts(problem, path)]
        fast = sorted(range(problem.cluster.n_devices), key=lambda d: (-round(speeds(problem)[d], 12), d))
        every = [v for ops in units for v in ops]
        allowed = [d for d in fast if all(d in problem.feasible(v) for v in every)]
        home = next((d for d in allowed if replay.fits(every, d)), None)
        for i, (ops, device, room, scores) in enumerate(replay.decisions()):
            loads = {d: replay.load(d) + replay.exec_time(ops, d) for d in room}
            if i < len(units):
                assert ops == units[i]
                assert device == (next(d for d in fast if d in room) if home is None else home)
                check_least(scores, loads, min(loads, key=loads.get))
            else:
                check_least(scores, loads, device)
        rest = [v for v in replay.placement.trace.op[len(units) :].tolist()]
        assert order == "random" or rest == sorted(rest)
        whole_paths += home is not None
    assert whole_paths > 20


def test_critical_path_by_hand():
    """a→b→c (9) beats d→c (6): the path is on the fast device; d too, only if its load is less."""
    graph = pl.OpGraph.from_arrays(list("abdc"), [4.0, 2.0, 3.0, 3.0], [(0, 1), (1, 3), (2, 3)])
    place = lambda *speed: pl.place(pl.Problem(graph, pl.Cluster(speed)), "critical-path").to_mapping()  # noqa: E731
    assert place(1.0, 2.0) == {"a": "dev1", "b": "dev1", "c": "dev1", "d": "dev0"}  # 3 / 1 < 12 / 2
    assert place(1.0, 5.0) == {"a": "dev1", "b": "dev1", "c": "dev1", "d": "dev1"}  # 12 / 5 < 3 / 1


def test_critical_path_spills_from_its_source_on():
    """Nine units of memory hold two of the three ops of the path: the third goes to the next fastest device."""
    graph = pl.OpGraph.from_arrays(list("abc"), [1.0] * 3, [(0, 1), (1, 2)], memory=[4.0] * 3)
    problem = pl.Problem(graph, pl.Cluster([1.0, 3.0, 2.0], memory=[9.0] * 3), memory="reserved")
    assert pl.place(problem, "critical-path").device.tolist() == [1, 1, 2]


# ------------------------------------------------------------------ MITE


@pytest.mark.parametrize("neighbours", ["predecessors", "both"])
def test_mite_is_equations_8_to_10(neighbours):
    """memory × importance × traffic × time, each over its maximum and at least 1e-6, in falling total rank."""
    for replay in replays("mite", 26, neighbours=neighbours):
        problem = replay.problem
        rank = total_ranks(problem)[0]
        speed = speeds(problem)
        rank = rank / rank.max() if rank.max() > 0 else rank
        queue = firsts(problem, order := by_rank(problem))
        for (unit, i), (ops, device, room, scores) in zip(queue, replay.decisions(), strict=True):
            assert ops == unit
            used = {d: plain_need(problem, [v for v, e in replay.on.items() if e == d]) for d in room}
            memory = {d: max(used[d] / problem.cluster.memory[d] if used[d] else 0.0, 1e-6) for d in room}
            traffic = factor({d: replay.traffic(ops, d, neighbours == "both") for d in room})
            took = factor({d: replay.exec_time(ops, d) for d in room})
            importance = {d: max(1 - rank[order[i]] * speed[d], 1e-6) for d in room}
            plain = {d: memory[d] * importance[d] * traffic[d] * took[d] for d in room}
            if any(isclose(importance[d], 1e-6, rel_tol=1e-3) for d in room):
                continue  # 1 - 1 is rounding
            check_least(scores, plain, device)


def test_mite_by_hand():
    """The top-ranked op has importance 1 - 1·1 on the fastest device: it goes there; the next one follows its input."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [3.0, 1.0], [(0, 1)], edge_bytes=[8.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 2.0, 2.0], bandwidth=4.0))
    placement = pl.place(problem, "mite", trace=True)
    assert placement.device.tolist() == [1, 1]
    first = placement.trace.score[0] / 1e-12  # memory and traffic at their floors
    assert first == pytest.approx([0.5 * 1.0, 1e-6 * 0.5, 1e-6 * 0.5])


# ------------------------------------------------------------------ DFS


@pytest.mark.parametrize("exec_time", ["load", "score"])
def test_dfs_is_equation_11_in_depth_first_order(exec_time):
    """traffic × time, in the order of a recursive search with children by rank."""
    for replay in replays("dfs", 27, exec_time=exec_time):
        problem = replay.problem
        graph = replay.problem.graph
        position = {v: i for i, v in enumerate(by_rank(problem))}
        visited = []

        def visit(v, visited=visited, graph=graph, position=position):
            if v not in visited:
                visited.append(v)
                for w in sorted({w for u, w in graph.edges.tolist() if u == v}, key=position.get):
                    visit(w)

        for v in sorted((v for v in range(graph.n_ops) if v not in graph.consumer), key=position.get):
            visit(v)
        for (unit, _), (ops, device, room, scores) in zip(firsts(problem, visited), replay.decisions(), strict=True):
            assert ops == unit
            own = {d: replay.exec_time(ops, d) for d in room}
            took = factor({d: own[d] + (replay.load(d) if exec_time == "load" else 0.0) for d in room})
            traffic = factor({d: replay.traffic(ops, d) for d in room})
            check_least(scores, {d: traffic[d] * took[d] for d in room}, device)


def test_dfs_by_hand():
    """The search follows the heavier branch first; the second branch stays with its input unless the load outweighs it."""
    graph = pl.OpGraph.from_arrays(["root", "light", "heavy"], [1.0, 1.0, 5.0], [(0, 1), (0, 2)], edge_bytes=[2.0, 2.0])
    placement = pl.place(pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0)), "dfs", trace=True)
    assert [graph.names[v] for v in placement.trace.op] == ["root", "heavy", "light"]
    assert placement.device.tolist() == [0, 0, 0]  # no traffic at home: 1e-6 beats any load


# ------------------------------------------------------------------ single


def test_single_is_the_fastest_device_that_holds_all():
    """Least total time among the devices that may run all ops and have enough memory."""
    found = 0
    for problem in problems.many(200, seed=28):
        n = problem.graph.n_ops
        k = problem.cluster.n_devices
        all_ops = list(range(n))
        free = [d for d in range(k) if all(d in problem.feasible(v) for v in all_ops)]
        need = plain_need(problem, all_ops, together=lambda *_: True)
        holds = [d for d in free if need <= problem.cluster.memory[d] * (1 + ROUNDING)]
        if not holds:
            with pytest.raises(pl.InfeasibleError):
                pl.place(problem, "single")
            continue
        device = pl.place(problem, "single").device
        took = [sum(problem.exec_time(v, d) for v in all_ops) for d in range(k)]
        assert len(set(device.tolist())) == 1
        assert device[0] in holds
        assert took[device[0]] <= min(took[d] for d in holds) * (1 + ROUNDING)
        found += 1
    assert found > fewer(50)

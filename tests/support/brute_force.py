"""Compute the least makespan of a small problem by trying every placement and every order."""

from __future__ import annotations

from itertools import permutations, product
from math import inf

import numpy as np

import placelab as pl
from placelab.problem.problem import Problem


def optimum(problem: Problem) -> float:
    """Least makespan [s] of a problem with ``parallel`` transfers and no Send ops; up to 7 ops or so.

    Memory is unlimited or ``reserved``; infinite if the ops do not fit. Any schedule can be built by appending ops in
    order of their start (ties: finish, op number) to a device of theirs, each as early as its inputs and its device allow. So
    all such sequences are tried, except those that cannot improve the result.
    """
    assert problem.transfers == "parallel" and problem.memory in ("none", "reserved") and not problem.transfer_ops
    graph = problem.graph
    k = problem.cluster.n_devices
    n = graph.n_ops
    times = [[float(problem.exec_time(v, d)) for d in range(k)] for v in range(n)]
    choices = [problem.feasible(v).tolist() for v in range(n)]
    inputs = {v: [] for v in range(n)}
    for t, u, v in zip(graph.edge_tensor.tolist(), graph.producer.tolist(), graph.consumer.tolist(), strict=True):
        inputs[v].append((t, u))
    tail = [0.0] * n  # least time from an op's start to the end
    for v in reversed(range(n)):
        rest = max((tail[c] for u, c in graph.edges.tolist() if u == v), default=0.0)
        tail[v] = min(times[v][d] for d in choices[v]) + rest
    best = inf
    device = {}
    finish = {}
    free = [0.0] * k
    size = graph.memory.tolist()
    room = [inf] * k if problem.memory == "none" else (problem.cluster.memory * (1 + 1e-9)).tolist()

    def extend(latest_start: float, makespan: float) -> None:
        nonlocal best
        if len(finish) == n:
            best = min(best, makespan)
            return
        for v in range(n):
            if v in finish or any(u not in finish for _, u in inputs[v]):
                continue
            placed = [device[w] for w in problem.members(v).tolist() if w in device]
            for d in placed[:1] or choices[v]:
                if size[v] > room[d]:
                    continue
                there = [finish[u] + problem.transfer_time(t, device[u], d) for t, u in inputs[v]]
                start = max([free[d], *there])
                if start >= latest_start and max(makespan, start + tail[v]) < best:
                    before = free[d]
                    free[d] = start + times[v][d]
                    device[v] = d
                    finish[v] = free[d]
                    room[d] -= size[v]
                    extend(start, max(makespan, free[d]))
                    room[d] += size[v]
                    free[d] = before
                    del device[v], finish[v]

    extend(0.0, 0.0)
    return best


def least_run(problem: Problem) -> float:
    """Least makespan [s] of all runs in a planned order that keep within memory, in every model; for up to 4 ops.

    Every placement in every order, each op as early as possible, by the simulator; infinite if no run keeps within memory.
    """
    graph = problem.graph
    best = inf
    orders = [order for order in permutations(range(graph.n_ops)) if _keeps(order, graph.edges.tolist())]
    for device in product(*(problem.feasible(v).tolist() for v in range(graph.n_ops))):
        if any(len({device[v] for v in problem.members(u).tolist()}) > 1 for u in range(graph.n_ops)):
            continue
        for order in orders:
            placement = pl.Placement(problem, np.array(device, np.int32), np.array(order, np.int32))
            schedule = pl.simulate(problem, placement, "planned")
            if not len(schedule.oom):
                best = min(best, schedule.makespan)
    return best


def least_in_memory(problem: Problem, below: int) -> float:
    """Least makespan of all schedules that keep within ``dynamic`` memory, if it is less than `below`, else infinite.

    ``parallel`` transfers, no Send ops, all times and bytes whole numbers; for up to 6 ops or so. Ops may wait for as long as
    they like: every placement and every whole start is tried, op by op. Other starts cannot do better, since which of two events
    is the earlier one bounds the difference of two starts by a whole number.
    """
    assert problem.memory == "dynamic" and problem.transfers == "parallel" and not problem.transfer_ops
    graph = problem.graph
    capacity = problem.cluster.memory
    n = graph.n_ops
    k = problem.cluster.n_devices
    best = float(below)
    size = graph.tensor_bytes.tolist()
    producer = graph.tensor_producer.tolist()
    edges = list(zip(graph.edge_tensor.tolist(), graph.producer.tolist(), graph.consumer.tolist(), strict=True))
    delay = [[[int(problem.transfer_time(t, d, e)) for e in range(k)] for d in range(k)] for t in range(len(size))]
    time = [[int(problem.exec_time(v, d)) for d in range(k)] for v in range(n)]
    tail = [0] * n  # least time from an op's start to the end
    for v in reversed(range(n)):
        tail[v] = min(time[v][d] for d in problem.feasible(v)) + max(
            (tail[w] for _, u, w in edges if u == v), default=0
        )
    device = [-1] * n
    start = [0] * n
    finish = [0] * n

    def fits(placed: int) -> bool:
        """Whether what the ops placed so far hold fits at all times; those to come only hold more."""
        held = np.zeros((k, int(best) + 1))
        for v in range(placed):
            held[device[v]] += graph.persistent[v]
            held[device[v], start[v] : finish[v]] += graph.temporary[v]
        for t, u in enumerate(producer):
            if u >= placed:
                continue
            last = {device[u]: finish[u]}  # by device: until when it needs the tensor
            for _, _, v in (edge for edge in edges if edge[0] == t and edge[2] < placed):
                last[device[v]] = max(last.get(device[v], 0), finish[v])
            for d in set(last) - {device[u]}:
                held[d, finish[u] : last[d]] += size[t]
                last[device[u]] = max(last[device[u]], finish[u] + delay[t][device[u]][d])
            held[device[u], start[u] : last[device[u]]] += size[t]
        return bool((held.max(axis=1) <= capacity).all())

    def extend(v: int, makespan: int) -> None:
        nonlocal best
        if v == n:
            best = min(best, makespan)
            return
        with_it = [device[w] for w in problem.members(v).tolist() if w < v]
        for d in with_it[:1] or problem.feasible(v).tolist():
            device[v] = d
            begin = max((finish[u] + delay[t][device[u]][d] for t, u, w in edges if w == v), default=0)
            while max(makespan, begin + tail[v]) < best:
                start[v] = begin
                finish[v] = begin + time[v][d]
                here = (w for w in range(v) if device[w] == d)
                if all(finish[w] <= begin or finish[v] <= start[w] for w in here) and fits(v + 1):
                    extend(v + 1, max(makespan, finish[v]))
                begin += 1

    extend(0, 0)
    return best if best < below else inf


def _keeps(order: tuple[int, ...], edges: list[list[int]]) -> bool:
    return all(order.index(u) < order.index(v) for u, v in edges)

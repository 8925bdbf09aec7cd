"""Memory in use, by its definition: at each instant, the sum of everything held at that time."""

from __future__ import annotations

from math import inf

from placelab.schedule.schedule import Schedule

Span = tuple[int, float, float, float]  # device, from, to (not included), bytes


def spans(schedule: Schedule) -> list[Span]:
    """What is held on which device and during which time, in the problem's memory model."""
    problem = schedule.problem
    graph = schedule.problem.graph
    device = schedule.device.tolist()
    start = schedule.start.tolist()
    finish = schedule.finish.tolist()
    ops = range(graph.n_ops)
    if problem.memory == "reserved":
        return [(device[v], 0.0, inf, graph.memory[v]) for v in ops]
    dynamic = problem.memory != "edges"
    held = []
    if dynamic:
        held += [(device[v], 0.0, inf, graph.persistent[v]) for v in ops]
        held += [(device[v], start[v], finish[v], graph.temporary[v]) for v in ops]
    release = finish if dynamic else start  # a consumer holds its inputs until then
    for t, u in enumerate(graph.tensor_producer.tolist()):
        consumers = [v for x, v in zip(graph.edge_tensor, graph.consumer, strict=True) if x == t]
        moves = [row for row in schedule.transfers if row["tensor"] == t]
        ends = [release[v] for v in consumers if device[v] == device[u]] + [row["finish"] for row in moves]
        if dynamic:
            held.append((device[u], start[u], max([finish[u], *ends]), graph.tensor_bytes[t]))
        elif ends:
            held.append((device[u], finish[u], max(ends), graph.tensor_bytes[t]))
        for row in moves:
            there = [release[v] for v in consumers if device[v] == row["destination"]]
            held.append((row["destination"], row["start" if dynamic else "finish"], max(there), graph.tensor_bytes[t]))
    return [(d, float(a), float(b), float(size)) for d, a, b, size in held if a < b and size > 0]


def curve(schedule: Schedule, d: int) -> list[tuple[float, float]]:
    """(time, bytes in use on device d from then on), at time 0 and whenever something begins or ends there."""
    mine = [(a, b, size) for where, a, b, size in spans(schedule) if where == d]
    times = sorted({0.0, *(a for a, _, _ in mine), *(b for _, b, _ in mine if b < inf)})
    return [(now, sum(size for a, b, size in mine if a <= now < b)) for now in times]


def shortages(schedule: Schedule) -> list[Span]:
    """Maximal spans in which a device holds more than its capacity, with the largest shortage in each."""
    found: list[Span] = []
    if schedule.problem.memory == "none":
        return found
    for d, capacity in enumerate(schedule.problem.cluster.memory.tolist()):
        points = curve(schedule, d)
        ends = [now for now, _ in points[1:]] + [schedule.makespan]
        for (now, used), end in zip(points, ends, strict=True):
            if used > capacity * (1 + 1e-9):
                if found and found[-1][0] == d and found[-1][2] == now:
                    _, begin, _, short = found.pop()
                    found.append((d, begin, end, max(short, used - capacity)))
                else:
                    found.append((d, now, end, used - capacity))
    return found

"""Random small problems for tests: one function, driven by ``random.Random`` in bulk or by hypothesis for shrinking.

``many(1000)`` yields problems from a seed; ``problems()`` is a hypothesis strategy; ``placement(pick, problem)`` and
``placements(problem)`` place one. Every problem has a placement within its groups and allowed devices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random

import numpy as np
from examples import fewer
from hypothesis import strategies as st

from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.resource_models import LATENCIES, MEMORY_MODELS, TRANSFER_MODELS
from placelab.schedule.placement import Placement

Pick = Callable[[int, int], int]  # pick(low, high): a whole number, both ends included; smaller is simpler


def problem(
    pick: Pick,
    *,
    ops: int = 12,
    devices: int = 4,
    transfers: Sequence[str] = tuple(TRANSFER_MODELS),
    memory: Sequence[str] = tuple(MEMORY_MODELS),
    transfer_ops: Sequence[float] = (0, 0, 1),
    latency: Sequence[str] = tuple(LATENCIES),
    groups: bool = True,
    restricted: bool = True,
    identical: bool = False,
    whole: bool | None = None,
    zero: bool = True,
    time_table: bool = True,
) -> Problem:
    """A problem of at most `ops` ops and `devices` devices.

    Parameters
    ----------
    pick
        Where every choice comes from.
    transfers, memory, transfer_ops, latency
        What to choose from.
    groups, restricted, time_table
        Whether there may be colocation groups, device constraints, measured times.
    identical
        Equal devices and equal links.
    whole
        True: small whole costs, so that ties abound; False: fractions; None: either.
    zero
        Whether costs, bytes and latencies may be zero.
    """
    n = pick(1, ops)
    k = pick(1, devices)
    unit = 1.0 if (bool(pick(0, 3)) if whole is None else whole) else 1 / 7
    least = 0 if zero else 1
    cost = lambda high: pick(least, high) if unit == 1.0 else pick(least, 97 * high) * unit / 13.1  # noqa: E731
    model = memory[pick(0, len(memory) - 1)]
    cluster = _cluster(pick, k, cost, identical, tight=model != "none")
    home = [pick(0, k - 1) for _ in range(n)]  # a placement that stays possible
    members = _groups(pick, n, home) if groups else []
    edges, output, control = _edges(pick, n)
    size = {(u, o): float(cost(6)) if not zero or pick(0, 3) else 0.0 for (u, _), o in zip(edges, output, strict=True)}
    unused = [(v, 7, float(cost(4))) for v in range(n) if not pick(0, 4)]
    graph = OpGraph.from_arrays(
        [f"op{v}" for v in range(n)],
        [float(cost(4)) for _ in range(n)],
        edges,
        edge_bytes=[0.0 if c else size[u, o] for (u, _), o, c in zip(edges, output, control, strict=True)],
        edge_output=output,
        edge_control=control,
        outputs=unused,
        persistent=[float(cost(2)) for _ in range(n)],
        temporary=[float(cost(3)) for _ in range(n)],
        time=_times(pick, n, cluster, cost) if time_table and not pick(0, 5) else None,
        groups=members,
        devices=_devices(pick, cluster, home) if restricted else None,
    )
    first = members[0][0] if members else None
    more = [[f"op{first}", f"op{v}"] for v in range(n) if members and home[v] == home[first] and not pick(0, 4)]
    contention = transfers[pick(0, len(transfers) - 1)]
    return Problem(
        graph,
        _with_links(pick, cluster) if contention == "fair" and k > 1 else cluster,
        memory=model,
        transfers=contention,
        duplex=bool(pick(0, 1)),
        transfer_ops=transfer_ops[pick(0, len(transfer_ops) - 1)],
        groups=more[:1],
        latency=latency[pick(0, len(latency) - 1)],
    )


def placement(pick: Pick, problem: Problem) -> Placement:
    """A placement, each op (or group) on any device it may use."""
    device = np.full(problem.graph.n_ops, -1)
    for v in range(problem.graph.n_ops):
        if device[v] < 0:
            choice = problem.feasible(v)
            device[problem.members(v)] = choice[pick(0, len(choice) - 1)]
    return Placement(problem, device)


def many(count: int, seed: int = 0, **limits) -> Iterator[Problem]:
    """`count` problems, in `make test` fewer, the same for the same seed; `limits` as for :func:`problem`."""
    for i in range(fewer(count)):
        yield problem(Random(f"{seed} {i}").randint, **limits)


@st.composite
def problems(draw, **limits) -> Problem:
    """Problems as a hypothesis strategy; `limits` as for :func:`problem`."""
    return problem(lambda low, high: draw(st.integers(low, high)), **limits)


@st.composite
def placements(draw, problem: Problem) -> Placement:
    """Placements of `problem` as a hypothesis strategy."""
    return placement(lambda low, high: draw(st.integers(low, high)), problem)


@st.composite
def placed(draw, **limits) -> Placement:
    """Placements of problems; `limits` as for :func:`problem`."""
    return draw(placements(draw(problems(**limits))))


def _cluster(pick: Pick, k: int, cost: Callable[[int], float], identical: bool, tight: bool) -> Cluster:
    """Speeds and bandwidths of 1, 2 and 4 (division by them is exact), or odd ones; some capacities tight."""
    rate = lambda: float(2 ** pick(0, 2)) if pick(0, 3) else pick(1, 29) / 7  # noqa: E731
    capacity = lambda: float(pick(1, 40)) if tight and pick(0, 2) else None  # noqa: E731
    square = lambda value: [[value() for _ in range(k)] for _ in range(k)]  # noqa: E731
    slow = cost(1) > 0  # else no latencies
    if identical:
        return Cluster([rate()] * k, memory=capacity(), bandwidth=rate(), latency=float(cost(2)) if slow else 0.0)
    return Cluster(
        [rate() for _ in range(k)],
        memory=[capacity() for _ in range(k)],
        bandwidth=square(rate),
        latency=square(lambda: float(cost(2))) if slow else 0.0,
        types=[("cpu", "gpu")[pick(0, 1)] for _ in range(k)],
    )


def _with_links(pick: Pick, cluster: Cluster) -> Cluster:
    """The cluster with up to three links that random pairs of devices share; often a card or an uplink."""
    k = cluster.n_devices
    links = {}
    for i in range(pick(0, 3)):
        pairs = [(pick(0, k - 2), k - 1)]
        pairs += [(a, b) for a in range(k) for b in range(k) if a != b and not pick(0, 2)]
        links[f"link {i}"] = float(2 ** pick(0, 2)) if pick(0, 3) else pick(1, 29) / 7, pairs
    return cluster.replace(links=links)


def _edges(pick: Pick, n: int) -> tuple[list[tuple[int, int]], list[int], list[bool]]:
    """Edges (producer, consumer) to later ops, the producer's output each carries, and whether it only orders."""
    edges = []
    output = []
    control = []
    for v in range(1, n):
        for _ in range(pick(0, 3)):
            edges.append((pick(max(0, v - 5), v - 1), v))
            output.append(pick(0, 1))
            control.append(not pick(0, 7))
    return edges, output, control


def _groups(pick: Pick, n: int, home: list[int]) -> list[list[int]]:
    """At most two groups, which may share an op; all members of joined groups are given one home."""
    groups = [sorted({pick(0, n - 1) for _ in range(pick(2, 4))}) for _ in range(max(0, pick(0, 4) - 2))]
    joined = len(groups) == 2 and set(groups[0]) & set(groups[1])
    for group in groups:
        for v in group:
            home[v] = home[groups[0][0] if joined else group[0]]
    return groups


def _devices(pick: Pick, cluster: Cluster, home: list[int]) -> dict[int, tuple[str, ...]]:
    """Device constraints of some ops, by name or type, that always allow the op's home."""
    chosen = {}
    for v, d in enumerate(home):
        how = pick(0, 9)
        if how == 9:
            chosen[v] = (cluster.types[d],)
        elif how == 8:
            chosen[v] = tuple(sorted({cluster.names[d], cluster.names[pick(0, cluster.n_devices - 1)]}))
    return chosen


def _times(pick: Pick, n: int, cluster: Cluster, cost: Callable[[int], float]) -> dict[str, list[float]]:
    """Measured seconds for one type and perhaps one device name, with holes."""
    some = lambda: float(cost(4)) if pick(0, 3) else float("nan")  # noqa: E731
    keys = {cluster.types[0], cluster.names[pick(0, cluster.n_devices - 1)]}
    return {key: [some() for _ in range(n)] for key in sorted(keys)}

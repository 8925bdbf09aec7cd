"""Ranks that list scheduling sorts by: longest paths from each op to an exit op, and from an entry op to it.

With the terms that they add up from, for traces; and the importance of ops and devices, relative to the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.index_arrays import LARGEST, frozen
from placelab.kernels import costs
from placelab.kernels.plan import ranks as kernels
from placelab.planning import plan_arrays
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.trace import Ranks

STEPS = 2.0**40  # of a rounded rank, from 0 to the largest
FEW_BITS = 8  # of a priority, by which fewer than MANY items are sorted in one pass, with 256 counters
MANY_BITS = 12  # the same of more items: a third fewer passes, and the 4,096 counters still stay in the nearest cache
MANY = 500
NEAR = 1 / 32  # steps: how far from the border of a step ranks are looked at …
SAME = 1 / 128  # … and how far apart those are that are equal


def upward_rank(problem: Problem) -> np.ndarray:
    r"""Length of the longest path from each op to an exit op, its own time included (HEFT's priority).

    .. math:: rank_u(v) = \bar{w}_v + \max_{s \in succ(v)} (\bar{c}_{vs} + rank_u(s))

    Parameters
    ----------
    problem
        :math:`\bar{w}_v` is the mean of exec(v, d) over the devices v is allowed on; :math:`\bar{c}_{vs} = \bar{L} + t /
        \bar{B}` has the mean latency and the mean of 1 / bandwidth over all ordered pairs of distinct devices, so it is
        the mean transfer time of the tensor; 0 with one device. Send and Receive ops do not count.

    Returns
    -------
    ndarray, shape (n_ops,), float64
        Seconds, indexed like ``problem.graph.names``. An op's rank is never below a successor's, so falling rank
        (:func:`~placelab.planning.ranks.rounded` or not), ties by op number, is a topological order, zero-time ops included.

    Notes
    -----
    O(ops · columns + edges), ``columns`` being the number of different time tables (1 without measured times).
    Departure: devices of unequal links are averaged over all pairs, as printed, even where an op is restricted to some
    of them.

    References
    ----------
    Topcuoglu, Hariri, Wu (2002), eq. 1, 2, 8.

    Examples
    --------
    >>> import placelab as pl
    >>> round(upward_rank(pl.datasets.problem("topcuoglu"))[0])
    108
    """
    expect(problem, Problem, "upward_rank")
    return _sweep(kernels.upward, problem.graph, mean_exec(problem), *mean_transfer(problem))


def downward_rank(problem: Problem) -> np.ndarray:
    r"""Length of the longest path from an entry op to each op, its own time left out.

    .. math:: rank_d(v) = \max_{u \in pred(v)} (rank_d(u) + \bar{w}_u + \bar{c}_{uv})

    Means as in :func:`~placelab.upward_rank`; an entry op has 0. Along the critical path the sum of both ranks is constant.

    Returns
    -------
    ndarray, shape (n_ops,), float64
        Seconds. O(ops · columns + edges).

    References
    ----------
    Topcuoglu, Hariri, Wu (2002), eq. 9.

    Examples
    --------
    >>> import placelab as pl
    >>> round(downward_rank(pl.datasets.problem("topcuoglu"))[9])
    93
    """
    expect(problem, Problem, "downward_rank")
    return _sweep(kernels.downward, problem.graph, mean_exec(problem), *mean_transfer(problem))


def static_level(problem: Problem) -> np.ndarray:
    r"""Longest path to an exit op without transfers: :math:`sl(v) = \bar{w}_v + \max_s sl(s)` [s], shape (n_ops,).

    Mean times as in :func:`~placelab.upward_rank`. ETF's and SCT's tie rule, :func:`~placelab.planning.ranks.rounded`.
    O(ops · columns + edges).

    References
    ----------
    Hwang, Chow, Anger, Lee (1989); Srivastava (2018) §4.2.
    """
    return _sweep(kernels.upward, problem.graph, mean_exec(problem), 0.0, 0.0)


def compute_rank(graph: OpGraph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Mayer's upward, downward and total rank: longest paths in operations, transfers left out.

    .. math:: up(v) = c_v + \max_{s \in succ(v)} up(s), \quad
              down(v) = \max_{u \in pred(v)} (down(u) + c_u), \quad total = up + down

    Returns
    -------
    up, down, total : ndarray, each of shape (n_ops,), float64
        Operations. ``total`` is the same for all ops of a critical path once it is :func:`~placelab.planning.ranks.rounded`.

    Notes
    -----
    O(ops + edges). Departure: eq. 6 prints :math:`c_i` in the downward rank; the text ("predecessor vertices"),
    Topcuoglu (2002) and the published program have the predecessor's. An op that has measured times only counts as
    their mean times the graph's ``reference_speed`` (1 operation/s where it names none).

    References
    ----------
    Mayer, Mayer, Laich (2017), eq. 5, 6.
    """
    expect(graph, OpGraph, "compute_rank")
    up = _sweep(kernels.upward, graph, operations(graph), 0.0, 0.0)
    down = operations_before(graph)
    return up, down, up + down


def operations_before(graph: OpGraph) -> np.ndarray:
    """The downward rank of :func:`placelab.compute_rank` alone, shape (n_ops,): operations on the longest path to each op."""
    return _sweep(kernels.downward, graph, operations(graph), 0.0, 0.0)


def path_computation_time(
    problem: Problem, device: np.ndarray, transfers: bool | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    r"""PCT: how long the longest path from each op takes under a placement p.

    .. math:: PCT(v) = exec(v, p_v) + \max_{s \in succ(v)} (trans(\tau, p_v, p_s) + PCT(s))

    With ``transfer_ops`` > 0 a tensor that changes device passes a Send and a Receive op of so many operations:

    .. math:: PCT(Receive) = ops / s_{dst} + \max_{s} PCT(s), \quad
              PCT(Send) = ops / s_{src} + L + t / B + PCT(Receive)

    Parameters
    ----------
    problem
        Graph and cluster.
    device
        Device of each op, shape (n_ops,).
    transfers
        Whether to return PCT of Sends (without Send ops: of transfers) too. Default: when ``transfer_ops`` > 0.

    Returns
    -------
    ops : ndarray, shape (n_ops,), float64
        Seconds.
    sends : ndarray, shape (n_tensors, n_devices), float64, or None
        Seconds, by destination; 0 where the tensor does not travel.

    Notes
    -----
    O(ops + edges), and O(tensors · devices) for the Sends.

    References
    ----------
    Mayer, Mayer, Laich (2017), eq. 12, and the Send and Receive ops of the program published with it.
    """
    graph = problem.graph
    cluster = problem.cluster
    wanted = problem.transfer_ops > 0 if transfers is None else transfers
    shape = (graph.n_tensors, cluster.n_devices)
    rank = np.empty(graph.n_ops)
    sends = np.empty(shape[0] * shape[1] if wanted else 0)
    kernels.path_computation_time(
        frozen(plan_arrays.durations(problem, device)),
        frozen(np.asarray(device, dtype=np.int32)),
        plan_arrays.successors(graph),
        plan_arrays.network(problem),
        rank,
        sends,
    )
    return rank, sends.reshape(shape) if wanted else None


def transfer_computation_time(problem: Problem, device: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """PCT of each Send (without Send ops: of each transfer) that a placement needs, see :func:`path_computation_time`.

    Parameters
    ----------
    device, rank
        Device and PCT of each op, shape (n_ops,).

    Returns
    -------
    ndarray, shape (n_transfers, 1), float64
        Seconds, in the order of ``Schedule.transfers``: the same numbers as in the table by tensor and device, without its
        empty places. O(edges log edges).
    """
    graph = problem.graph
    cluster = problem.cluster
    home = device[graph.producer]
    there = device[graph.consumer]
    process = problem.transfer_ops / cluster.speed
    way = process[home] + cluster.latency[home, there] + graph.edge_bytes / cluster.bandwidth[home, there]
    return largest_per_transfer(problem, device, way + (process[there] + rank[graph.consumer]))


def largest_per_transfer(problem: Problem, device: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The largest `value` (n_edges,) among the edges of each transfer, at least 0; shape (n_transfers, 1), O(edges log edges).

    Transfers are in the order of ``Schedule.transfers``: by (producer, destination, tensor).
    """
    graph = problem.graph
    edges = np.flatnonzero(device[graph.producer] != device[graph.consumer])
    pair = graph.producer[edges].astype(np.int64) * problem.cluster.n_devices + device[graph.consumer[edges]]
    output = graph.edge_tensor[edges] - graph.op_tensor_ptr[graph.producer[edges]]
    _, transfer = np.unique(pair * (output.max(initial=0) + 1) + output, return_inverse=True)
    largest = np.zeros((transfer.max(initial=-1) + 1, 1))
    np.maximum.at(largest[:, 0], transfer, value[edges])
    return largest


def mean_exec(problem: Problem) -> np.ndarray:
    """Mean of exec(v, d) over the devices each op is allowed on [s], shape (n_ops,).

    O(ops · columns), with restrictions O(ops · devices).
    """
    k = problem.cluster.n_devices
    mean = np.empty(problem.graph.n_ops)
    if not problem.restricted:
        costs.mean_times(plan_arrays.times(problem), np.empty(k + problem.columns), plan_arrays.halves(), mean)
        return mean
    share = np.zeros((k, problem.columns))
    share[np.arange(k), problem.column] = 1 / problem.divisor
    share = problem.may_run @ share
    return np.where(share > 0, problem.cost_table * share, 0.0).sum(axis=1) / problem.may_run.sum(axis=1)


def mean_transfer(problem: Problem) -> tuple[float, float]:
    """Mean latency [s] and mean time per byte [s] over ordered pairs of distinct devices; (0, 0) with one device."""
    cluster = problem.cluster
    k = cluster.n_devices
    pairs = cluster.latency.reshape(-1), cluster.bandwidth.reshape(-1)
    return costs.mean_transfer(*pairs, k, np.empty(k * k), plan_arrays.halves())


def operations(graph: OpGraph) -> np.ndarray:
    """Operations of each op, shape (n_ops,); from its mean measured time × ``reference_speed`` where the graph gives none."""
    unknown = np.isnan(graph.compute)
    if not unknown.any():
        return graph.compute
    assert graph.time is not None  # a graph without measured times gives every op's operations
    speed = graph.metadata.get("reference_speed", 1.0)
    if not isinstance(speed, (int, float)) or not 0 < speed <= LARGEST:
        raise FormatError(f"reference_speed of {graph.title} is {speed!r:.60}; expected operations/s, more than 0")
    work = graph.compute.copy()
    work[unknown] = np.nanmean(graph.time[unknown], axis=1) * speed
    return work


def rounded(rank: np.ndarray, largest: float | None = None) -> np.ndarray:
    r"""Ranks as they are compared: whole numbers of steps of :math:`2^{-40}` of the largest.

    Sums of floats along different paths differ in their last bits where they are equal in mathematics. Which op goes first
    would then depend on rounding, on the unit of the costs and on the order of the sums; op numbers must decide.

    Parameters
    ----------
    rank
        Sums of times or operations, not negative, any shape.
    largest
        What the ranks are relative to; default: the largest of them.

    Returns
    -------
    ndarray, like `rank`, float64
        Steps, 0 to 2⁴⁰ for ranks up to `largest`. A larger rank never has fewer. Ranks within :math:`2^{-47}` of the largest of
        each other have the same number: where the border of a step passes between them, both are counted below it.

    Notes
    -----
    Wherever a strategy of this library orders ops by a rank, it orders by this. Priorities that a scheduler hands to the
    simulator are compared exactly, as given (:class:`placelab.Order`). O(n), and O(b log b) for the b ranks near a
    border.

    Examples
    --------
    >>> 0.1 + 0.2 == 0.3, bool(np.ptp(rounded(np.array([0.1 + 0.2, 0.3]), 1.0)))
    (False, False)
    """
    given = np.asarray(rank, dtype=np.float64)
    largest = given.max(initial=0.0) if largest is None else largest
    if not largest > 0:
        return np.zeros(given.shape)
    flat = frozen(given.ravel())
    steps = np.empty(len(flat))
    exact = np.empty(len(flat))
    near = np.empty(len(flat), dtype=np.int32)
    count = kernels.round_to_steps(flat, float(largest), STEPS, NEAR, steps, near, exact)
    if count > 1:
        exact = frozen(exact[:count])
        rising = frozen(np.argsort(exact).astype(np.int32))
        kernels.join_across_borders(frozen(near[:count]), exact, rising, SAME, steps)
    return steps.reshape(given.shape)


def by_falling(priority: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ops by falling priority, ties by op number: (order, place of each op in it), both int32 of shape (n_ops,).

    Priorities are compared exactly; ranks are :func:`~placelab.planning.ranks.rounded` first. Falling
    :func:`~placelab.upward_rank` is a topological order.
    O(n).
    """
    return in_classes(priority)[:2]


def in_classes(priority: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As :func:`by_falling`, and per op the first place of those of equal priority, -1 where there is no other; int32.

    The third array is empty where no two are equal.
    """
    n = len(priority)
    order, place, shared, other = (np.empty(n, dtype=np.int32) for _ in range(4))
    key, other_key = (np.empty(n, dtype=np.int64) for _ in range(2))
    width = FEW_BITS if n < MANY else MANY_BITS
    counter = np.empty(1 << width, dtype=np.int32)
    exact = frozen(np.asarray(priority, dtype=np.float64) + 0.0)  # -0.0 is 0.0
    ties = kernels.rank_falling(exact.view(np.int64), width, order, place, shared, key, other_key, other, counter)
    return order, place, shared if ties else shared[:0]


def precedence_order(graph: OpGraph, priority: np.ndarray) -> np.ndarray:
    """The order of list scheduling: of the ops whose inputs are listed always the one of highest priority, ties by op number.

    Any priority will do. Returns int32, shape (n_ops,). O(n log n + edges).
    """
    item, place = by_falling(priority)
    missing, heap, order = (np.empty(graph.n_ops, dtype=np.int32) for _ in range(3))
    kernels.precedence_order(frozen(place), frozen(item), plan_arrays.successors(graph), missing, heap, order)
    return order


def _sweep(kernel: kernels.kernel, graph: OpGraph, weight: np.ndarray, latency: float, per_byte: float) -> np.ndarray:
    rank = np.empty(graph.n_ops)
    kernel(frozen(weight), plan_arrays.successors(graph), latency, per_byte, rank)
    return rank


TOTAL_RANK = "relative total rank"


def upward_ranks(problem: Problem, up: np.ndarray) -> Ranks:
    """The terms of :func:`placelab.upward_rank`: mean times of ops and of transfers."""
    latency, per_byte = mean_transfer(problem)
    way = latency + problem.graph.edge_bytes * per_byte
    return Ranks("upward rank [s]", frozen(up), frozen(mean_exec(problem)), frozen(way))


def static_levels(problem: Problem) -> Ranks:
    """The terms of :func:`placelab.planning.ranks.static_level`: mean times of ops."""
    way = frozen(np.zeros(problem.graph.n_edges))
    return Ranks("static level [s]", frozen(static_level(problem)), frozen(mean_exec(problem)), way)


def compute_ranks(graph: OpGraph) -> Ranks:
    """The terms of Mayer's upward rank (:func:`placelab.compute_rank`): operations."""
    way = frozen(np.zeros(graph.n_edges))
    return Ranks("upward rank [operations]", frozen(compute_rank(graph)[0]), operations(graph), way)


def with_ranks(
    placement: Placement, ranks: Callable[[], Ranks], priority: np.ndarray | None = None, name: str = ""
) -> Placement:
    """Add ranks to the placement's trace, if it has one.

    Parameters
    ----------
    ranks
        Makes them; called only for a trace.
    priority, name
        What the strategy orders ops by, shape (n_ops,), and what that is; default: the upward ranks.
    """
    if placement.trace is None:
        return placement
    sums = ranks()
    of_ops, rank_name = (sums.value, sums.name) if priority is None else (priority, name)
    trace = replace(placement.trace, rank=of_ops[placement.trace.op], rank_name=rank_name, ranks=sums)
    return replace(placement, trace=trace)


def relative_rank(graph: OpGraph) -> np.ndarray:
    """Total rank (Mayer 2017 §3.2: upward plus downward) over the largest total rank, in [0, 1]; shape (n_ops,).

    :func:`placelab.planning.ranks.rounded` to multiples of 2⁻⁴⁰, so that op numbers decide ties, and not rounding errors.
    """
    return frozen(rounded(compute_rank(graph)[2]) / STEPS)


def relative_speed(problem: Problem) -> np.ndarray:
    """Speed of each device over the fastest one's, in (0, 1]; shape (n_devices,).

    When the graph has measured times, ``speed`` says little: then the mean times (over devices) of the ops a device
    may run, over its own times for them; 1 before scaling for a device that has nothing to run. Where times are
    compute over speed, both are the same.
    """
    speed = problem.cluster.speed
    if problem.graph.time is not None:
        own = problem.exec_table(otherwise=np.nan)
        took = np.nansum(own, axis=0)
        mean = np.where(np.isnan(own), 0.0, mean_exec(problem)[:, None]).sum(axis=0)
        speed = np.divide(mean, took, out=np.ones(len(took)), where=took > 0)
    return frozen(speed / speed.max())


def by_speed(problem: Problem) -> np.ndarray:
    """Devices from the fastest to the slowest, ties by device number; shape (n_devices,), int32."""
    return frozen(np.argsort(-relative_speed(problem), kind="stable").astype(np.int32))

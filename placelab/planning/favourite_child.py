"""Find each op's favourite child in SCT: the successor that should share its device, by the linear program."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.index_arrays import frozen
from placelab.base.progress import Progress, Report, never, silent
from placelab.kernels.plan import favourite_child as kernels
from placelab.planning.ranks import mean_exec
from placelab.planning.relaxation import (
    SOLVER,
    Arcs,
    NoOptimum,
    Patience,
    Stopped,
    TooManySteps,
    canonical,
    least_makespan,
)
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem

EDGE = 1e-6  # an x this close to the threshold is the threshold
KEPT = 8  # solutions kept per graph
PROGRAM = "linear program"
MATCHING = "matching"
UNSOLVED = "matching, for want of an optimum"
UNFINISHED = "matching, after very many steps of the solver"
# The steps and rows after which the linear program is given up. Steps of dual simplex for the larger of its two programs, on
# uniform clusters and PCIe boxes of four: generators.layered(22_000) of seeds 0 to 2 15,545 to 30,229 (39,494 to 51,883 rows),
# gnmt_40 21,893 (45,169), gnmt_50 26,605 (55,895). STEPS is a third above the most of these. Two random inputs from the last 60
# ops make a narrow graph: of 22,000 ops it needs over 59,484 steps (77,979 rows), six times as long each, and then interior
# point. generators.stencil(40, 60) needs interior point, 75 steps of it, and has 11,722 rows.
STEPS = 40_000
ROWS = 20_000

_solved: WeakKeyDictionary[OpGraph, dict[bytes, Future]] = WeakKeyDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, eq=False)
class Favourites:
    """Each op's favourite child, if it has one.

    Attributes
    ----------
    child, parent : ndarray of int32, shape (n_ops,)
        Favourite child of each op, and the op whose favourite child it is; -1 for none.
    w : float
        Makespan on any number of devices under x [s]: the linear program's optimum, no bound after a matching.
    x : ndarray, shape (n_edges,)
        Share of each edge's transfer that is waited for, 0 to 1; edges between the same two ops have one x.
    rule : str
        ``"linear program"``; ``"matching"``, see `preview` in :func:`favourite_children`; or that, ``"for want of an optimum"``:
        the times differ by more orders of magnitude than the solver can resolve; or ``"after very many steps of the
        solver"``, see the notes there.
    seconds : float
        Time that solving took; of a program that was solved before, the time of that solution.
    """

    child: np.ndarray
    parent: np.ndarray
    w: float
    x: np.ndarray
    rule: str
    seconds: float


def favourite_children(
    problem: Problem,
    threshold: float = 0.5,
    *,
    preview: bool = False,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
    solver: str = SOLVER,
    options: Mapping[str, Any] | None = None,
) -> Favourites:
    r"""v is the favourite child of u where :math:`x_{uv} < θ` in the linear program of :mod:`placelab.planning.relaxation`.

    Parameters
    ----------
    threshold
        θ, above 0 and at most 1. At 0.5 (the classical rounding) and below, no op gets two favourite children or is that of
        two, because two values below ½ would break a row of the program. Above, the smaller x goes first (ties: edge number).
        Baechi takes 0.1.
    preview
        Match ops greedily unless the program has been solved before: in the order of the longest path through an edge, all
        transfers waited for (ties: edge number).
    progress, cancel
        See :mod:`placelab.base.progress`; `cancel` is called before each call of the solver. When cancelled: as with `preview`.
    solver, options
        cvxpy's name of another solver, and keywords for it. The favourite children are the same; nothing is remembered.

    Returns
    -------
    Favourites
        A function of the graph and of the times alone: of the many optimal x one is chosen
        (:func:`placelab.planning.relaxation.canonical`). Values within 1e-6 of θ count as θ.

    Notes
    -----
    exec(v) is the op's compute over the mean speed of the cluster; where the graph has measured times, the mean of exec(v, d)
    over the devices v may run on. :math:`c_{uv}` is the mean latency plus bytes over the mean bandwidth, means over ordered
    pairs of distinct devices (of bandwidths, the finite ones), of the largest tensor between the two. Groups, restrictions,
    memory, contention, Send and Receive ops are left out.

    Large programs of which the solver has no optimum after a fixed number of steps (`STEPS`, in programs of more than `ROWS`
    rows) are given up, and ops are matched as with `preview`. This depends on the problem, not on the clock; it happens with
    long and narrow graphs of over 10,000 ops.

    Solutions are remembered per graph and times, the last 8; threads that ask for the same one wait for the first.

    References
    ----------
    Hanen, Munier (1995); Srivastava (2018) §4.3; Baechi (2020) §2.4, §4.3. Both print that v is the favourite child where the
    rounded x is 1; it is 0.

    Examples
    --------
    The fork u → a, b, all times 1: x = ½ and ½ is the optimum, so u has no favourite child.

    >>> import placelab as pl
    >>> fork = pl.OpGraph.from_arrays(["u", "a", "b"], [1.0] * 3, [(0, 1), (0, 2)], edge_bytes=1.0)
    >>> found = favourite_children(pl.Problem(fork, pl.Cluster([1.0, 1.0])))
    >>> found.w, found.x.tolist(), found.child.tolist()
    (2.5, [0.5, 0.5], [-1, -1, -1])
    """
    if not 0 < threshold <= 1:
        raise FormatError(f"the threshold of favourite children is {threshold!r}; expected above 0, and 1 or less")
    arcs = mean_arcs(problem)
    if solver != SOLVER or options is not None:
        chosen = _solution(arcs, silent, never, solver, options)
        assert chosen is not None and chosen[1] is not None  # never cancelled; a chosen solver has no limit of steps
        return _rounded(arcs, threshold, chosen[0], chosen[1], chosen[2])
    key = hashlib.blake2b(arcs.time.tobytes() + arcs.cost.tobytes()).digest()
    if preview and not _is_known(problem.graph, key):
        return matched(arcs)
    try:
        solution = _remembered(problem.graph, key, lambda: _solution(arcs, progress, cancel), cancel)
    except NoOptimum:
        return replace(matched(arcs), rule=UNSOLVED)
    if solution is None:
        return matched(arcs)
    w, x, spent = solution
    return replace(matched(arcs), rule=UNFINISHED) if x is None else _rounded(arcs, threshold, w, x, spent)


def mean_arcs(problem: Problem) -> Arcs:
    """The arcs of the problem's graph with the mean times that :func:`favourite_children` says."""
    graph = problem.graph
    cluster = problem.cluster
    link = ~np.eye(cluster.n_devices, dtype=bool)
    latency = cluster.latency[link]
    rate = cluster.bandwidth[link & np.isfinite(cluster.bandwidth)]
    exec_time = mean_exec(problem) if graph.time is not None else graph.compute / cluster.speed.mean()
    per_byte = 1 / rate.mean() if rate.size else 0.0
    transfer = (latency.mean() if latency.size else 0.0) + graph.edge_bytes * per_byte
    return Arcs.of(graph, exec_time, transfer)


def matched(arcs: Arcs) -> Favourites:
    """Favourite children without a linear program, see `preview` in :func:`favourite_children`. O(arcs log arcs)."""
    begun = time.perf_counter()
    arc = np.flatnonzero(arcs.cost > 0)
    order = arc[np.lexsort((arc, -arcs.through[arc]))]
    child, parent = _paired(arcs, order)
    x = np.where(child[arcs.tail] == arcs.head, 0.0, 1.0)
    w = float(arcs.longest(x)[1].max())
    return Favourites(child, parent, w, frozen(x[arcs.of_edge]), MATCHING, time.perf_counter() - begun)


def is_mean(problem: Problem) -> bool:
    """Whether devices or links differ, so that the linear program's times are those of no device."""
    cluster = problem.cluster
    table = problem.exec_table()
    link = ~np.eye(cluster.n_devices, dtype=bool)
    differ = lambda values: bool((values != values.flat[0]).any()) if values.size else False  # noqa: E731
    return bool((table != table[:, :1]).any()) or differ(cluster.latency[link]) or differ(cluster.bandwidth[link])


def infinite_machine_bound(problem: Problem) -> float | None:
    r"""Makespan of the linear program with the least time of each op and the least transfer of each tensor [s].

    A lower bound on every schedule of the problem, with any number of its devices: exec(v) is the least over the devices
    that v may run on, :math:`c_{uv}` the least over ordered pairs of distinct devices.

    Returns
    -------
    float or None
        None where it is no bound: some transfer takes longer than some op, ops that take no time included (then two
        successors of u that follow it on its device may both save the transfer). None with one device, where nothing is
        transferred.

    Notes
    -----
    Proof: in a schedule let x be 0 for v the first successor of u on the device of u, u the last predecessor of v there.
    Any other pair waits at least for one op, hence as long as for the transfer: s, x satisfy all rows. Send and Receive ops
    are left out. The value is computed from the solver's dual values so that rounding and tolerances only lower it.

    Examples
    --------
    >>> import placelab as pl
    >>> fork = pl.OpGraph.from_arrays(["u", "a", "b"], [1.0] * 3, [(0, 1), (0, 2)], edge_bytes=1.0)
    >>> infinite_machine_bound(pl.Problem(fork, pl.Cluster([1.0] * 3)))
    2.5
    """
    cluster = problem.cluster
    k = problem.cluster.n_devices
    if k == 1 or problem.graph.n_edges == 0:
        return None
    least = problem.exec_table(otherwise=np.inf).min(axis=1)
    link = ~np.eye(k, dtype=bool)
    latency = cluster.latency[link]
    rate = cluster.bandwidth[link]
    if (latency + problem.graph.edge_bytes.max() / rate).min() > least.min():
        return None
    sizes, of = np.unique(problem.graph.edge_bytes, return_inverse=True)
    transfer = np.array([(latency + size / rate).min() for size in sizes])
    return least_makespan(Arcs.of(problem.graph, least, transfer[of])).certified


Solution = tuple[float, np.ndarray | None, float]  # w [s], x per arc (None: too many steps), seconds that solving took


def _solution(
    arcs: Arcs,
    progress: Report,
    cancel: Callable[[], bool],
    solver: str = SOLVER,
    options: Mapping[str, Any] | None = None,
) -> Solution | None:
    """The chosen optimum, without x where it takes too many steps, or None when cancelled."""
    begun = time.perf_counter()
    patience = Patience(STEPS, ROWS, cancel)
    progress(Progress("favourite children: least makespan of the linear program", 0.0))
    if cancel():
        return None
    try:
        optimum = least_makespan(arcs, solver, options, patience)
        progress(Progress("favourite children: which of its optima", 0.5))
        if cancel():
            return None
        return optimum.w, canonical(optimum, solver, options, patience), time.perf_counter() - begun
    except Stopped:
        return None
    except TooManySteps:
        return float("nan"), None, time.perf_counter() - begun


def _rounded(arcs: Arcs, threshold: float, w: float, x: np.ndarray, seconds: float) -> Favourites:
    """Favourite children where x is below the threshold, the smallest x first."""
    near = np.flatnonzero((x < threshold - EDGE) & (arcs.cost > 0))
    order = near[np.lexsort((near, x[near]))]
    child, parent = _paired(arcs, order)
    return Favourites(child, parent, w, frozen(x[arcs.of_edge]), PROGRAM, seconds)


def _paired(arcs: Arcs, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Child and parent of each op by arcs in this order, each taken if both its ends are still without."""
    child, parent = np.full((2, len(arcs.time)), -1, np.int32)
    kernels.match(frozen(order.astype(np.int32)), arcs.tail, arcs.head, child, parent)
    return child, parent


def _is_known(graph: OpGraph, key: bytes) -> bool:
    with _lock:
        return key in _solved.get(graph, {}) and _solved[graph][key].done()


def _remembered(
    graph: OpGraph, key: bytes, solve: Callable[[], Solution | None], cancel: Callable[[], bool]
) -> Solution | None:
    """The graph's solution of that key, solved now, or before, or by another thread at this moment; None when cancelled."""
    while True:
        with _lock:
            known = _solved.setdefault(graph, {})
            future = known.get(key)
            if mine := future is None:
                future = known[key] = Future()
                for old in list(known)[:-KEPT]:
                    del known[old]
        if mine:
            return _solve_for_all(known, key, future, solve)
        solution = _wait(future, cancel)
        if solution is not None or cancel():
            return solution


def _solve_for_all(known: dict, key: bytes, future: Future, solve: Callable[[], Solution | None]) -> Solution | None:
    solution = None
    try:
        solution = solve()
    finally:  # without a solution, the threads that wait get None and solve it themselves
        if solution is None:
            with _lock:
                known.pop(key, None)
        future.set_result(solution)
    return solution


def _wait(future: Future, cancel: Callable[[], bool]) -> Solution | None:
    while not cancel():
        try:
            return future.result(timeout=0.05)
        except NotYet:
            continue
    return None

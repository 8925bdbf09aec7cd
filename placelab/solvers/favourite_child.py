"""Which successor of each op had best run on the same device? The favourite children of SCT, from a linear program.

With any number of equal devices, an op need share its device with one successor at most, if no transfer takes longer than
any op. Which one: x in {0, 1} per pair of ops says whether the transfer u → v is waited for, 0 for a favourite child.
Relaxed to 0 <= x <= 1 (Hanen & Munier 1995):

.. math::
    \\min w, \\quad s_v + exec(v) \\le w, \\quad s_u + exec(u) + c_{uv} x_{uv} \\le s_v, \\quad
    \\sum_{v \\in succ(u)} x_{uv} \\ge |succ(u)| - 1, \\quad \\sum_{u \\in pred(v)} x_{uv} \\ge |pred(v)| - 1

The thesis prints <= in the last row and calls v the favourite child where x = 1; both are misprints.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from placelab.errors import PlacelabError
from placelab.graph import OpGraph, frozen, pointers
from placelab.kernels import favourite_child as kernels
from placelab.problem import Problem

FLAT = 1e-12  # relative: rounding of sums of times
DUAL = 1e-6  # a dual value above this is not 0


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
    cluster, k = problem.cluster, problem.cluster.n_devices
    if k == 1:
        return None
    table = problem.cost.reshape(-1, problem.columns)[:, problem.column] / problem.divisor
    least = (table if problem.mask is None else np.where(problem.mask, table, np.inf)).min(axis=1)
    link = ~np.eye(k, dtype=bool)
    way, rate = cluster.latency[link], cluster.bandwidth[link]
    largest = problem.graph.tensor_bytes.max(initial=0.0)
    if problem.graph.n_edges == 0 or (way + largest / rate).min() > least.min():
        return None
    sizes, of = np.unique(problem.graph.edge_bytes, return_inverse=True)
    fastest = np.array([(way + size / rate).min() for size in sizes])
    arcs = Arcs.of(problem.graph, least, fastest[of])
    return max(arcs.low, _relax(arcs).certified)


@dataclass(frozen=True, eq=False)
class Arcs:
    """Ops and the distinct pairs of them joined by edges, with the times of the linear program.

    Attributes
    ----------
    time : ndarray, shape (n_ops,)
        Seconds.
    ptr, tail, head : ndarray of int32, shapes (n_ops + 1,), (n_arcs,), (n_arcs,)
        Arcs sorted by (tail, head); those that leave op u are ``ptr[u]:ptr[u + 1]``.
    cost : ndarray, shape (n_arcs,)
        Seconds: of the largest tensor between the two.
    of_edge : ndarray of int, shape (n_edges,)
        Arc of each edge of the graph.
    """

    time: np.ndarray
    ptr: np.ndarray
    tail: np.ndarray
    head: np.ndarray
    cost: np.ndarray
    of_edge: np.ndarray

    @classmethod
    def of(cls, graph: OpGraph, time: np.ndarray, transfer: np.ndarray) -> Arcs:
        """The arcs of a graph, with exec(v) per op and the transfer of each edge [s]. O(edges log edges)."""
        n = graph.n_ops
        key, of_edge = np.unique(graph.producer.astype(np.int64) * n + graph.consumer, return_inverse=True)
        cost = np.zeros(len(key))
        np.maximum.at(cost, of_edge, transfer)
        tail, head = (key // n).astype(np.int32), (key % n).astype(np.int32)
        return cls(frozen(time), pointers(tail, n), *map(frozen, (tail, head, cost)), of_edge)

    @property
    def n(self) -> int:
        """Number of arcs."""
        return len(self.cost)

    def longest(self, x: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Longest path [s] to each op without it, and from each op with it, under x (default: every transfer is waited for)."""
        before, after = np.empty(len(self.time)), np.empty(len(self.time))
        delay = self.cost if x is None else frozen(self.cost * x)
        kernels.longest_paths(self.time, self.ptr, self.head, delay, before, after)
        return before, after

    @cached_property
    def through(self) -> np.ndarray:
        """Length of the longest path through each arc when every transfer is waited for [s], shape (n_arcs,)."""
        before, after = self.longest()
        return before[self.tail] + self.time[self.tail] + self.cost + after[self.head]

    @cached_property
    def low(self) -> float:
        """A lower bound on the makespan of the linear program [s]."""
        n = len(self.time)
        before, after = np.empty(n), np.empty(n)
        into = frozen(np.argsort(self.head, kind="stable").astype(np.int32))
        every = frozen(np.arange(self.n, dtype=np.int32))
        entering = (pointers(self.head, n), into, self.tail)
        kernels.water_levels(
            self.time, self.ptr, self.head, every, *entering, self.cost, np.empty(self.n), before, after
        )
        return float((before + after).max())

    @cached_property
    def critical(self) -> np.ndarray:
        """Arcs whose rows matter: on some path that could be longer than :attr:`low`. The others may all be waited for."""
        return np.flatnonzero((self.through > self.low * (1 + FLAT)) & (self.cost > 0))


@dataclass(frozen=True, eq=False)
class _Optimum:
    """The linear program's optimum: the makespan [s], x per arc, and dual values, the arc rows' per arc, others' per op."""

    arcs: Arcs
    w: float
    x: np.ndarray
    arc: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    leaves: np.ndarray
    enters: np.ndarray

    @property
    def certified(self) -> float:
        """A lower bound on the optimum that holds however the solver rounded [s]."""
        a = self.arcs
        duals = (self.arc, self.start, self.stop, self.leaves, self.enters)
        return kernels.certified(a.time, a.ptr, a.head, a.cost, *map(frozen, duals), np.empty(len(a.time)))


class _Rows:
    """The linear program's rows over the critical arcs, as cvxpy expressions, times divided by `scale`."""

    def __init__(self, arcs: Arcs, kept: np.ndarray, scale: float) -> None:
        import cvxpy as cp
        from scipy import sparse

        self.ops = np.unique(np.concatenate([arcs.tail[kept], arcs.head[kept]]))
        tail, head = (np.searchsorted(self.ops, end[kept]) for end in (arcs.tail, arcs.head))
        shape, each, ones = (len(kept), len(self.ops)), np.arange(len(kept)), np.ones(len(kept))
        self.out, self.into = (sparse.csr_array((ones, (each, end)), shape) for end in (tail, head))
        leave, enter = (np.bincount(end, minlength=len(self.ops)) for end in (tail, head))
        self.forks, self.joins, self.sinks = (np.flatnonzero(rows) for rows in (leave > 1, enter > 1, leave == 0))
        self.spare = leave - 1, enter - 1
        self.time, self.cost = arcs.time[self.ops] / scale, arcs.cost[kept] / scale
        self.x, self.s = cp.Variable(len(kept), bounds=[0, 1]), cp.Variable(len(self.ops), nonneg=True)

    def paths(self) -> Any:
        """At least 0: time from when the input of each arc is there to the start of its head."""
        import cvxpy as cp

        return (self.into - self.out) @ self.s - cp.multiply(self.cost, self.x) - self.out @ self.time

    def ends(self) -> Any:
        """At most w: when each sink ends."""
        return self.s[self.sinks] + self.time[self.sinks]

    def leaving(self) -> Any:
        """At least 0: by how much the successors of a fork that wait are more than all but one."""
        return self.out.T[self.forks] @ self.x - self.spare[0][self.forks]

    def entering(self) -> Any:
        """The same of the predecessors of a join."""
        return self.into.T[self.joins] @ self.x - self.spare[1][self.joins]


def _relax(arcs: Arcs, solver: str = "HIGHS", options: dict[str, Any] | None = None) -> _Optimum:
    """Solve the linear program, on its critical arcs."""
    import cvxpy as cp

    n, kept = len(arcs.time), arcs.critical
    x, arc = np.ones(arcs.n), np.zeros(arcs.n)
    stop, leaves, enters = (np.zeros(n) for _ in range(3))
    if not len(kept):
        return _Optimum(arcs, arcs.low, x, arc, stop, stop, leaves, enters)
    scale = _scale(arcs, kept)
    rows, w = _Rows(arcs, kept, scale), cp.Variable(bounds=[arcs.low / scale, None])
    path, end = rows.paths() >= 0, w - rows.ends() >= 0
    fork, join = rows.leaving() >= 0, rows.entering() >= 0
    _solve(cp.Problem(cp.Minimize(w), [path, end, fork, join]), solver, options)
    x[kept], arc[kept] = np.clip(rows.x.value, 0, 1), np.maximum(path.dual_value, 0)
    stop[rows.ops[rows.sinks]] = np.maximum(end.dual_value, 0)
    leaves[rows.ops[rows.forks]] = np.maximum(fork.dual_value, 0) * scale
    enters[rows.ops[rows.joins]] = np.maximum(join.dual_value, 0) * scale
    leaving, entering = (np.bincount(op, arc, minlength=n) for op in (arcs.tail, arcs.head))
    start = np.maximum(stop + leaving - entering, 0)
    return _Optimum(arcs, float(w.value) * scale, x, arc, start, stop, leaves, enters)


def _scale(arcs: Arcs, kept: np.ndarray) -> float:
    """Seconds that the solver sees as 1: the mean of the times that are not 0."""
    times = np.concatenate([arcs.time, arcs.cost[kept]])
    return float(times[times > 0].mean())


def _solve(lp: Any, solver: str, options: dict[str, Any] | None) -> None:
    """Solve a linear program by dual simplex; PlacelabError when the solver does not find its optimum."""
    if solver == "HIGHS" and options is None:
        options = {"highs_options": {"solver": "simplex", "simplex_strategy": 1}}
    lp.solve(solver=solver, **(options or {}))
    if lp.status != "optimal":
        raise PlacelabError(f"{solver} ended with {lp.status!r} on the linear program of the favourite children")

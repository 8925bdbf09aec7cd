r"""Solve SCT's linear program, the least makespan on any number of equal devices, and choose one of its optima.

If no transfer takes longer than any op, an op needs to share its device with at most one successor. The variable x in {0, 1} of a
pair of ops u, v says whether v waits for the transfer from u. Relaxed to 0 <= x <= 1 (Hanen & Munier 1995):

.. math::
    \min w, \quad s_v + exec(v) \le w, \quad s_u + exec(u) + c_{uv} x_{uv} \le s_v, \quad
    \sum_{v \in succ(u)} x_{uv} \ge |succ(u)| - 1, \quad \sum_{u \in pred(v)} x_{uv} \ge |pred(v)| - 1

The thesis (4.3) prints <= in the last row, a misprint. cvxpy states the program with sparse incidence matrices; the rows
s + exec <= w are there for sinks only, those of degrees where the degree is 2 or more, and arcs that lie on no path that could
be longest are left out: they may all be waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from placelab.base.errors import PlacelabError
from placelab.base.index_arrays import frozen, pointers
from placelab.base.interrupts import need
from placelab.base.seeds import generator
from placelab.kernels.plan import favourite_child as kernels
from placelab.problem.graph import OpGraph

FLAT = 1e-12  # relative: rounding of sums of times
DUAL = 1e-9  # a dual value up to this is 0; where one of 5e-7 counts as 0, the solver's tolerance of w lets x move by tenths
SPREAD = 0.01  # added to the weight of each arc, times a random number from 1 to 2, so that one optimum is lightest
SOLVER = "SCIPY"  # scipy's own HiGHS


class NoOptimum(PlacelabError):
    """The solver gave up, as it may where times differ by more orders of magnitude than it can resolve."""


class TooManySteps(NoOptimum):
    """The solver had not found the optimum after as many steps as it was allowed."""


class Stopped(NoOptimum):
    """The caller cancelled before the optimum was found."""


@dataclass(frozen=True)
class Patience:
    """Limits to the work of solving, counted in the solver's own steps so that they are the same on every machine.

    Attributes
    ----------
    steps
        Most steps of the dual simplex method in a program of more than `rows` rows; after them the program stays unsolved.
        Interior point is not tried then, because its steps are few and long where the matrix fills in.
    rows
        Programs of as many rows or fewer are solved to the end.
    cancel
        Called between two attempts; returns True to stop. An attempt is one call of the solver and is not interrupted.
    """

    steps: int
    rows: int
    cancel: Callable[[], bool]


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
        tail = (key // n).astype(np.int32)
        head = (key % n).astype(np.int32)
        return cls(frozen(time), pointers(tail, n), frozen(tail), frozen(head), frozen(cost), of_edge)

    @property
    def n(self) -> int:
        """Number of arcs."""
        return len(self.cost)

    def longest(self, x: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Longest path [s] to each op without it, and from each op with it, under x (default: every transfer is waited for)."""
        before = np.empty(len(self.time))
        after = np.empty(len(self.time))
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
        before = np.empty(n)
        after = np.empty(n)
        into = frozen(np.argsort(self.head, kind="stable").astype(np.int32))
        every = frozen(np.arange(self.n, dtype=np.int32))
        entering = (pointers(self.head, n), into, self.tail)
        kernels.water_levels(
            self.time, self.ptr, self.head, every, *entering, self.cost, np.empty(self.n), before, after
        )
        return float((before + after).max())

    @cached_property
    def critical(self) -> np.ndarray:
        """Arcs on some path that could be longer than :attr:`low`, shape (n_critical,). All others may be waited for."""
        return np.flatnonzero(self.through > self.low * (1 + FLAT))


@dataclass(frozen=True, eq=False)
class Optimum:
    """An optimum of the linear program, and what proves that it is one.

    Attributes
    ----------
    arcs : Arcs
    w : float
        Least makespan [s].
    x : ndarray, shape (n_arcs,)
        Share of each transfer that is waited for; one of many that attain w, whichever the solver found.
    arc : ndarray, shape (n_arcs,)
        Dual values of the arcs' rows: share of the longest path that passes through each arc, 0 to 1.
    start, stop : ndarray, shape (n_ops,)
        Share of the longest path that starts and that ends at each op.
    leaves, enters : ndarray, shape (n_ops,)
        Dual values of the degree rows [s].
    """

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
        """A lower bound on the least makespan that holds however the solver rounded [s]."""
        a = self.arcs
        duals = (self.arc, self.start, self.stop, self.leaves, self.enters)
        return max(a.low, kernels.certified(a.time, a.ptr, a.head, a.cost, *map(frozen, duals), np.empty(len(a.time))))


class _Rows:
    """Variables x of the critical arcs and s of their ops, and the rows that join the two; times are divided by `scale`.

    x is at least 1 where `least` is, and at most 0 where `most` is not; 1 where the transfer costs nothing.
    """

    def __init__(self, arcs: Arcs, scale: float, least: np.ndarray | bool, most: np.ndarray | bool) -> None:
        need("cvxpy", "scipy.sparse")
        import cvxpy as cp
        from scipy import sparse

        kept = arcs.critical
        self.ops = np.unique(np.concatenate([arcs.tail[kept], arcs.head[kept]]))
        tail, head = (np.searchsorted(self.ops, end[kept]) for end in (arcs.tail, arcs.head))
        shape = (len(kept), len(self.ops))
        each = np.arange(len(kept))
        ones = np.ones(len(kept))
        self._leave, self._enter = (sparse.csr_array((ones, (each, end)), shape) for end in (tail, head))
        self._time = arcs.time[self.ops] / scale
        self._cost = arcs.cost[kept] / scale
        self.sinks = np.flatnonzero(np.bincount(tail, minlength=len(self.ops)) == 0)
        costless = self._cost == 0
        self.x = cp.Variable(len(kept), bounds=[1.0 * (costless | least), 1.0 * (costless | most)])
        self.s = cp.Variable(len(self.ops), nonneg=True)

    def slack(self) -> Any:
        """Seconds between each input's arrival and its op's start; at least 0."""
        need("cvxpy")
        import cvxpy as cp

        return (self._enter - self._leave) @ self.s - cp.multiply(self._cost, self.x) - self._leave @ self._time

    def ends(self) -> Any:
        """End of each sink; at most w."""
        return self.s[self.sinks] + self._time[self.sinks]

    def spare(self, end: np.ndarray) -> tuple[np.ndarray, Any]:
        """Ops that are the `end` of several arcs, and Σ x of these arcs minus (their number - 1), which is at least 0."""
        need("scipy.sparse")
        from scipy import sparse

        count = np.bincount(end)
        ops = np.flatnonzero(count > 1)
        arc = np.flatnonzero(count[end] > 1)
        matrix = sparse.csr_array((np.ones(len(arc)), (np.searchsorted(ops, end[arc]), arc)), (len(ops), len(end)))
        return ops, matrix @ self.x - (count[ops] - 1)


def least_makespan(
    arcs: Arcs,
    solver: str = SOLVER,
    options: Mapping[str, Any] | None = None,
    patience: Patience | None = None,
) -> Optimum:
    """Solve the linear program.

    Parameters
    ----------
    solver, options
        cvxpy's name of a solver, and keywords for it. Default: HiGHS by dual simplex, which is quickest on most graphs, and
        by interior point (with crossover) where that takes more steps than three for four rows.
    patience
        Limits to the work of the default solver; None: no limits.

    Raises
    ------
    NoOptimum
        The solver gave up: :class:`TooManySteps` at the limit of `patience`, :class:`Stopped` when cancelled.
    """
    need("cvxpy")
    import cvxpy as cp

    n = len(arcs.time)
    kept = arcs.critical
    x = np.ones(arcs.n)
    arc = np.zeros(arcs.n)
    stop, leaves, enters = (np.zeros(n) for _ in range(3))
    if not len(kept):
        return Optimum(arcs, arcs.low, x, arc, stop, stop, leaves, enters)
    scale = _scale(arcs)
    rows = _Rows(arcs, scale, least=False, most=True)
    w = cp.Variable(bounds=[arcs.low / scale, None])
    (forks, fork), (joins, join) = (rows.spare(end[kept]) for end in (arcs.tail, arcs.head))
    holds = [rows.slack() >= 0, w - rows.ends() >= 0, fork >= 0, join >= 0]
    lp = cp.Problem(cp.Minimize(w), holds)
    if not _solve(lp, solver, options, patience):
        raise _failed()
    assert rows.x.value is not None and w.value is not None  # an optimum was found
    dual = [np.maximum(row.dual_value, 0) for row in holds]
    x[kept] = np.clip(rows.x.value, 0, 1)
    arc[kept] = dual[0]
    stop[rows.ops[rows.sinks]] = dual[1]
    leaves[forks] = dual[2] * scale
    enters[joins] = dual[3] * scale
    leaving, entering = (np.bincount(op, arc, minlength=n) for op in (arcs.tail, arcs.head))
    start = np.maximum(stop + leaving - entering, 0)
    return Optimum(arcs, float(w.value) * scale, x, arc, start, stop, leaves, enters)


def canonical(
    optimum: Optimum,
    solver: str = SOLVER,
    options: Mapping[str, Any] | None = None,
    patience: Patience | None = None,
) -> np.ndarray:
    r"""The x that is taken of all that attain the least makespan; a function of the arcs alone, whatever the solver.

    On critical arcs the x of least :math:`\sum_e x_e (c_e / c_{max} + 0.01 (1 + u_e))`, u_e being fixed numbers that look
    drawn from U(0, 1), one per arc in their order. What is then left to successors and predecessors goes to the other arcs,
    in the order of falling weight: these may all be waited for.

    Returns
    -------
    ndarray, shape (n_arcs,)
        0 to 1; 1 where the transfer costs nothing.

    Notes
    -----
    The u_e make the optimum unique. Numbers that grow evenly along the arcs do not: where two ops each feed the same two,
    the arcs are numbered i, i + 1, j, j + 1, and both ways to pair them weigh 2 i + ... + j + 1. With such weights dual simplex
    from two starts, and interior point, differ in up to 434 of 11,684 arcs of a random graph; with these in none.

    The optima are the feasible x and s that keep the rows of positive dual value with equality, and at its bound what has a
    reduced cost. Asking for this instead of w <= w* (1 + 1e-9) needs no tolerance, so that x = ½ comes out as ½, and is 5 to 20
    times faster. Where a solver's dual values are too rough for it, fewer rows are equalities and w may be 1e-9 above.

    Solvers agree as far as their tolerances, 1e-7 of the mean time, let them: where transfers take millions of times as long as
    ops, the times of ops are lost in those, and single arcs may differ between solvers (not between runs of one).
    """
    a = optimum.arcs
    free = np.flatnonzero(a.cost > 0)
    x = np.ones(a.n)
    weight = np.zeros(a.n)
    if not len(free):
        return x
    weight[free] = a.cost[free] / a.cost.max() + SPREAD * (1 + generator(0).random(a.n)[free])
    if len(a.critical):
        x[a.critical] = _lightest(optimum, weight[a.critical], solver, options, patience)
    rest = np.setdiff1d(free, a.critical, assume_unique=True)
    left = [1 - np.bincount(end, 1 - x, minlength=len(a.time)) for end in (a.tail, a.head)]
    order = rest[np.lexsort((rest, -weight[rest]))].astype(np.int32)
    kernels.fill(frozen(order), a.tail, a.head, *left, x)
    return x


def _lightest(
    optimum: Optimum, weight: np.ndarray, solver: str, options: Mapping[str, Any] | None, patience: Patience | None
) -> np.ndarray:
    """Of all optimal x of the critical arcs the one of least Σ weight · x."""
    for rough, more in ((DUAL, 0.0), (1000 * DUAL, 1e-9), (np.inf, 1e-9)):
        lp, x = _face(optimum, weight, rough, more)
        if _solve(lp, solver, options, patience):
            return np.clip(x.value, 0, 1)
    raise _failed()


def _face(optimum: Optimum, weight: np.ndarray, rough: float, more: float) -> tuple[Any, Any]:
    """The linear program of :func:`canonical` and its x. Dual values up to `rough` are 0; w may be a share of `more` greater."""
    need("cvxpy")
    import cvxpy as cp

    a = optimum.arcs
    kept = optimum.arcs.critical
    scale = _scale(optimum.arcs)
    reduced = (optimum.arc * a.cost - optimum.leaves[a.tail] - optimum.enters[a.head])[kept] / scale
    rows = _Rows(a, scale, reduced < -rough, reduced <= rough)
    holds = [*_split(rows.slack(), optimum.arc[kept] > rough), rows.s[optimum.start[rows.ops] > rough] == 0]
    holds += _split(optimum.w * (1 + more) / scale - rows.ends(), optimum.stop[rows.ops[rows.sinks]] > rough)
    for end, dual in ((a.tail, optimum.leaves), (a.head, optimum.enters)):
        ops, spare = rows.spare(end[kept])
        holds += _split(spare, dual[ops] > rough * scale)
    return cp.Problem(cp.Minimize((1000 * weight) @ rows.x), holds), rows.x  # 1000: far above a solver's tolerances


def _split(slack: Any, tight: np.ndarray) -> list[Any]:
    """The rows `slack` >= 0, equalities where `tight`."""
    return [slack[np.flatnonzero(tight)] == 0, slack[np.flatnonzero(~tight)] >= 0]


def _scale(arcs: Arcs) -> float:
    """Seconds that the solver sees as 1: the mean of the times that are not 0."""
    times = np.concatenate([arcs.time, arcs.cost])
    return float(times[times > 0].mean())


def _solve(lp: Any, solver: str, options: Mapping[str, Any] | None = None, patience: Patience | None = None) -> bool:
    """Solve a linear program; return whether its optimum was found."""
    data, chain, inverse = lp.get_problem_data(solver)
    rows = sum(row.size for row in lp.constraints)
    default = solver == SOLVER and options is None
    large = patience if default and patience is not None and rows > patience.rows else None
    simplex = {"method": "highs-ds"}
    limited = simplex | {"maxiter": 1000 + 3 * rows // 4 if large is None else large.steps}
    tries = [limited, {"method": "highs-ipm"}, simplex if large is None else limited]
    for attempt in [{"scipy_options": chosen} for chosen in tries] if default else [dict(options or {})]:
        if patience is not None and patience.cancel():
            raise Stopped("stopped before the linear program of the favourite children was solved")
        found = chain.solve_via_data(lp, data, warm_start=False, verbose=False, solver_opts=attempt)
        solution = chain.invert(found, inverse)
        if solution.status == "optimal":
            lp.unpack(solution)
            return True
        if large is not None and found.status == 1:  # scipy's number of a limit
            raise TooManySteps("HiGHS takes very many steps for the linear program of the favourite children")
    return False


def _failed() -> NoOptimum:
    return NoOptimum("HiGHS finds no optimum of the linear program of the favourite children, which has one")

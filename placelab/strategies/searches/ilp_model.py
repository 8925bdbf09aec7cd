r"""Find the shortest plan by the integer linear program of the thesis (4.4.3), stated with cvxpy, solved by HiGHS.

With y_vd = 1 where op v is on device d, same_uv = 1 where two ops share one, b_uv = 0 where u runs before v:

.. math::
    \min w, \quad \sum_d y_{vd} = 1, \quad y_{uvd} \le y_{ud},\ y_{vd}, \quad y_{uvd} \ge y_{ud} + y_{vd} - 1, \quad
    same_{uv} = \sum_d y_{uvd} \\
    s_v + exec_v \le w, \qquad s_u + exec_u + c_{uv} (1 - same_{uv}) \le s_v \quad \text{each arc} \\
    s_u + exec_u - s_v \le U (b_{uv} + 1 - same_{uv}), \quad
    s_v + exec_v - s_u \le U (2 - b_{uv} - same_{uv}) \quad \text{each unrelated pair} \\
    \sum_v mem_v y_{vd} \le C_d

Ops joined by a path run in its order anyway and need no b. exec_v = Σ_d exec(v, d) y_vd, so devices may differ; where links do,
a variable stands for c_uv (1 - same): at least Σ_e c_de y_ve - max_e c_de (1 - y_ud), for every d.

The thesis prints s_i for m_i in its memory row, and "x_ij = 0" for ops on one device in (4.13), where 1 is meant. Its L and U
are minus and plus all times and transfers; here U is what the windows of the two starts under a known plan's makespan leave,
never more. Groups share their y. Added: the work of a device is at most w, and of interchangeable devices the next is used only
after the one before it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.interrupts import need
from placelab.base.progress import never
from placelab.planning.lower_bounds import best_bound
from placelab.planning.memory_plan import can_bind
from placelab.planning.ranks import precedence_order
from placelab.problem.problem import Problem
from placelab.schedule.schedule import TOLERANCE
from placelab.strategies.searches.incumbent import Incumbent
from placelab.strategies.searches.tables import Tables, infeasible, interchangeable, neighbours, tables

TOLERATED = 1e-9  # how far rows and whole numbers may be off; makespans are about 1
SAME = 1e-7  # starts this close are one instant
OPTIONS = dict(
    mip_rel_gap=1e-7,
    mip_abs_gap=1e-9,
    mip_feasibility_tolerance=TOLERATED,
    primal_feasibility_tolerance=TOLERATED,
    parallel="off",
    output_flag=False,
)


def search(
    problem: Problem, incumbent: Incumbent, time_limit: float, seed: int = 0, cancel: Callable[[], bool] = never
) -> str:
    """Find the optimum of the model and prove it, unless `time_limit` [s] is over or `cancel` returns True before.

    Parameters
    ----------
    incumbent
        Its best plan bounds the search; plans that are found are offered to it.

    Returns
    -------
    str
        The limit that ended the search, or ``""`` where it ended by itself.

    Raises
    ------
    InfeasibleError
        The ops' memory fits on the devices in no way.

    Notes
    -----
    Leaves out contention for links, the time that Sends take and memory over time, like ``cp-sat``.
    """
    table = tables(problem)
    incumbent.prove(max(table.longest_path, best_bound(problem)))
    longest = table.serial
    if incumbent.placement is not None:
        device = incumbent.placement.device
        order = incumbent.placement.planned
        assert order is not None  # what is offered has an order
        longest = float(table.makespan(device, table.starts(device, order)))
    if incumbent.proven:
        return ""
    longest = longest or 1.0  # where nothing takes any time, it remains to find what fits
    program = Program(problem, table.scaled(longest))

    def found(values: np.ndarray) -> None:
        incumbent.offer(*program.plan(values))

    def proved(bound: float) -> None:
        incumbent.prove(bound * longest)

    stopped = program.solve(dict(time_limit=time_limit, random_seed=seed), found, proved, cancel)
    if stopped == "infeasible" and incumbent.placement is None:
        raise infeasible(problem)
    return stopped


class Program:
    """The program of a problem whose known makespan is 1.

    Attributes
    ----------
    y, start, makespan, before
        The variables y, s, w, b.
    """

    def __init__(self, problem: Problem, table: Tables) -> None:
        need("cvxpy")
        import cvxpy as cp

        self.cp = cp
        self.problem = problem
        self.table = table
        latest = 1 + SAME - table.tail
        may, self.first, last = table.windows(latest)
        ops = may[table.units.of]
        self.time = np.where(ops, table.time, 0.0)
        self.last_end = np.where(ops, latest + self.time, -np.inf).max(axis=1)
        self.y = cp.Variable(may.shape, boolean=True)
        self.start = cp.Variable(table.n_ops, bounds=[self.first, last])
        self.makespan = cp.Variable(bounds=[min(table.longest_path, 1.0), 1 + SAME])
        self.here = self.y[table.units.of]
        self.exec = cp.sum(cp.multiply(self.time, self.here), axis=1)
        rows = [cp.sum(self.y, axis=1) == 1, self.start + self.exec <= self.makespan]
        rows += [self.y[np.nonzero(~may)] == 0] if not may.all() else []
        rows += [cp.sum(cp.multiply(self.time, self.here), axis=0) <= self.makespan]
        rows += [*self._arcs(), *self._pairs(), *self._memory(), *self._symmetry()]
        self.statement = cp.Problem(cp.Minimize(self.makespan), rows)

    def _same(self, u: np.ndarray, v: np.ndarray) -> tuple[Any, list]:
        """Whether ops u and v share a device, for arrays of pairs of different units (4.5, 4.6)."""
        cp = self.cp
        y_u = self.here[u]
        y_v = self.here[v]
        both = cp.Variable((len(u), self.table.n_devices), nonneg=True)
        return cp.sum(both, axis=1), [both <= y_u, both <= y_v, both >= y_u + y_v - 1]

    def _arcs(self) -> list:
        """A consumer starts when its input is there."""
        table = self.table
        rows = []
        u = table.producer
        v = table.consumer
        apart = table.apart
        if not apart.all():
            a = u[~apart]
            b = v[~apart]
            rows.append(self.start[a] + self.exec[a] <= self.start[b])
        if apart.any():
            delay, needed = self._delay(u[apart], v[apart], table.delay[apart])
            rows += [self.start[u[apart]] + self.exec[u[apart]] + delay <= self.start[v[apart]], *needed]
        return rows

    def _delay(self, u: np.ndarray, v: np.ndarray, delay: np.ndarray) -> tuple[Any, list]:
        """Seconds between the ends of u and the starts of v, and their rows; `delay` has the shape (arcs, devices, devices)."""
        cp = self.cp
        k = self.table.n_devices
        other = ~np.eye(k, dtype=bool)
        least = delay[:, other].min(axis=1, initial=np.inf)
        most = delay[:, other].max(axis=1, initial=0.0)
        least = np.minimum(least, most)
        same, rows = self._same(u, v)
        if (least == most).all():
            return cp.multiply(least, 1 - same), rows
        waits = cp.Variable(len(u), nonneg=True)
        rows.append(waits >= cp.multiply(least, 1 - same))
        for d in range(k):
            longest = delay[:, d].max(axis=1)
            rows.append(
                waits
                >= cp.sum(cp.multiply(delay[:, d], self.here[v]), axis=1) - cp.multiply(longest, 1 - self.here[u, d])
            )
        return waits, rows

    def _pairs(self) -> list:
        """Unrelated ops on one device do not overlap (4.11, 4.12)."""
        cp = self.cp
        table = self.table
        u, v = np.nonzero(np.triu(~(table.related | table.related.T), 1))
        if not len(u):
            return []
        apart = table.units.of[u] != table.units.of[v]
        u = np.concatenate([u[apart], u[~apart]])
        v = np.concatenate([v[apart], v[~apart]])
        same, rows = self._same(u[: apart.sum()], v[: apart.sum()]) if apart.any() else (np.zeros(0), [])
        same = cp.hstack([same, np.ones((~apart).sum())]) if not apart.all() else same
        self.before = cp.Variable(len(u), boolean=True)
        ends = self.last_end
        first, second = (np.maximum(ends[i] - self.first[j], 0.0) for i, j in ((u, v), (v, u)))
        return [
            *rows,
            self.start[u] + self.exec[u] - self.start[v] <= cp.multiply(first, self.before + 1 - same),
            self.start[v] + self.exec[v] - self.start[u] <= cp.multiply(second, 2 - self.before - same),
        ]

    def _memory(self) -> list:
        held = self.table.units.total(self.problem.lasting)
        capacity = self.problem.cluster.memory
        if self.problem.memory == "none":
            return []
        return [(held / capacity[d]) @ self.y[:, d] <= 1 + TOLERANCE for d in np.flatnonzero(held.sum() > capacity)]

    def _symmetry(self) -> list:
        """Of interchangeable devices the next holds a unit only if the one before holds an earlier unit."""
        earlier = np.tri(self.y.shape[0], k=-1)
        return [
            self.y[:, later] <= earlier @ self.y[:, one] for one, later in neighbours(interchangeable(self.problem))
        ]

    # ---------------------------------------------------------------- the search

    def solve(
        self,
        options: dict[str, Any],
        found: Callable[[np.ndarray], None],
        proved: Callable[[float], None],
        cancel: Callable[[], bool],
    ) -> str:
        """Run HiGHS; report each better solution (a column of values) and each bound; return what stopped it."""
        need("highspy")
        import highspy

        data, _, _ = self.statement.get_problem_data(self.cp.HIGHS)
        self.column = data["param_prob"].var_id_to_col
        solver = highspy.Highs()
        for name, value in (OPTIONS | options).items():
            solver.setOptionValue(name, value)
        solver.passModel(_model(data, highspy))
        solver.cbMipImprovingSolution += lambda event: found(np.array(event.data_out.mip_solution))
        solver.cbMipInterrupt += lambda event: self._poll(event, proved, cancel)
        solver.run()
        status = solver.getModelStatus()
        info = solver.getInfo()
        ended = highspy.HighsModelStatus
        if status == ended.kInfeasible:
            return "infeasible"
        proved(info.mip_dual_bound)
        if status == ended.kOptimal:
            found(np.array(solver.getSolution().col_value))
            return ""
        return {ended.kTimeLimit: "by the time limit", ended.kInterrupt: "on request"}.get(status, "by the solver")

    def _poll(self, event: Any, proved: Callable[[float], None], cancel: Callable[[], bool]) -> None:
        """Report the bound proven so far, and interrupt the solver when cancelled."""
        if np.isfinite(event.data_out.mip_dual_bound):
            proved(event.data_out.mip_dual_bound)
        if cancel():
            event.interrupt()

    def plan(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Device of each op, and an order, from a solution's column of values."""
        y = self._value(values, self.y)
        start = self._value(values, self.start)
        device = y.argmax(axis=1)[self.table.units.of]
        finish = start + self.table.time[np.arange(len(start)), device]
        rank = np.empty(len(start))
        rank[np.lexsort((np.round(finish / SAME), np.round(start / SAME)))] = np.arange(len(start))
        return device, precedence_order(self.problem.graph, frozen(-rank))

    def _value(self, values: np.ndarray, variable: Any) -> np.ndarray:
        """The values of one variable of the statement."""
        first = self.column[variable.id]
        return values[first : first + variable.size].reshape(variable.shape, order="F")


def _model(data: dict[str, Any], highspy: Any) -> Any:
    """The model in HiGHS's form, from cvxpy's matrices: rows A x = b first, then A x ≤ b."""
    lp = highspy.HighsLp()
    matrix = data["A"].tocsc()
    inf = highspy.kHighsInf
    lp.num_col_ = matrix.shape[1]
    lp.num_row_ = matrix.shape[0]
    lp.col_cost_ = data["c"]
    lp.col_lower_ = np.full(matrix.shape[1], -inf) if data["lower_bounds"] is None else np.array(data["lower_bounds"])
    lp.col_upper_ = np.full(matrix.shape[1], inf) if data["upper_bounds"] is None else np.array(data["upper_bounds"])
    lp.row_lower_ = np.where(np.arange(matrix.shape[0]) < data["dims"].zero, data["b"], -inf)
    lp.row_upper_ = data["b"]
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_ = matrix.indptr
    lp.a_matrix_.index_ = matrix.indices
    lp.a_matrix_.value_ = matrix.data
    whole = set(data["bool_vars_idx"])
    kinds = highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger
    lp.integrality_ = [kinds[column in whole] for column in range(matrix.shape[1])]
    return lp


def left_out(problem: Problem) -> str:
    """Parts of a problem that the program leaves out, so that its bound holds but may be out of reach; "" if none."""
    what = [f"contention ({problem.transfers} transfers)"] if problem.transfer_model.queue else []
    what += ["the time that Sends take of devices"] if problem.transfer_ops else []
    what += ["memory over time"] if problem.memory_model.timed and can_bind(problem) else []
    return " and ".join(what)

r"""Find the shortest plan: scheduling with optional intervals, for the constraint solver of OR-tools.

A Boolean y per unit (op or colocation group) and device says whether the unit is there; an integer s per op is its start:

- exactly one y of a unit, on devices it may use;
- an interval of each op on each device, present where y is: no two overlap;
- a Boolean x per arc between units says whether they share a device: s_v ≥ s_u + exec(u), and + the least delay where not x (for
  links that are not all equal: + that between d and e where y_ud and y_ve);
- makespan ≥ s_v + exec(v), and ≥ the work of each device;
- ``reserved`` memory, and the persistent bytes of ``dynamic``: Σ bytes · y ≤ capacity;
- transfers that wait for each other, and ``dynamic`` memory over time: :mod:`placelab.strategies.searches.cp_sat_resources`.

Added because they shorten the proof and lose no optimum: windows of the starts under the makespan of a known plan, by the longest
paths and by the heads and tails of :func:`placelab.planning.input_bound.windows`; all ops as one cumulative resource of as many
units as there are devices; and of interchangeable devices the next is used only after the one before it.

To refute a makespan is to solve the model without its objective, in the windows under that makespan: it has either no solution,
which is a new bound, or one, which is a new plan. When this is done, :mod:`placelab.strategies.searches.cp_sat_search` decides.

No Boolean says which of two ops is first on whichever device they share: what is learned of a pair would hold on all devices, but
less was proven in the same time (``benchmarks/quality/exact.md``).

Times are whole units (:func:`placelab.strategies.searches.tables.whole`), rounded down, so what is proven holds for the problem
as it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from time import monotonic
from typing import Any

import numpy as np

from placelab.base.errors import PlacelabError, UnsupportedError
from placelab.base.interrupts import need
from placelab.base.threads import beside
from placelab.planning.input_bound import windows
from placelab.planning.list_scheduler import planned_order
from placelab.planning.lower_bounds import best_bound
from placelab.planning.memory_plan import can_bind
from placelab.problem.problem import Problem
from placelab.schedule.placement import PROVEN
from placelab.schedule.schedule import TOLERANCE
from placelab.strategies.searches.cp_sat_resources import Memory, Transfers, transfer_seconds, waiting
from placelab.strategies.searches.incumbent import Incumbent
from placelab.strategies.searches.tables import Tables, infeasible, interchangeable, neighbours, tables, whole

POLL = 0.05  # seconds between two looks at whether to stop
ORDERED = 32  # units for which the order among interchangeable devices is spelt out
REACH = 0.5  # how far from the bound to the plan the first makespan lies that is to be refuted
NEAR = 0.8  # where that far was refuted, all of the rest is tried at once
FEW = 40_000  # squared ops times devices up to which clauses on any bound were tried: 100 ops on 4
HAIR = 1e-9  # rounding of heads and tails


def _solver() -> Any:
    """OR-tools' module of constraint models, which crashes the process when it is first loaded after TensorFlow."""
    name = "ortools.sat.python.cp_model"
    if name not in sys.modules and "tensorflow" in sys.modules:
        raise UnsupportedError(
            f"cp-sat cannot start in a process that has loaded TensorFlow; in a new one, import {name} before tensorflow"
        )
    need(name)
    return import_module(name)


class Model:
    """The constraint model of a problem, with the best plan and bound found so far.

    Attributes
    ----------
    closed : bool
        No better plan is left in the model.
    hard : bool
        A makespan was neither met nor refuted in the work that a search begins with; only where ops are few.
    """

    def __init__(self, problem: Problem, incumbent: Incumbent) -> None:
        cp_model = _solver()
        self.cp = cp_model
        self.problem = problem
        self.incumbent = incumbent
        self.closed = False
        table = tables(problem)
        moves = transfer_seconds(problem)
        held = moves if problem.latency == "holds" else transfer_seconds(problem, 0.0)
        self.over_time = problem.memory == "dynamic" and can_bind(problem)
        self.sharing = waiting(problem) or self.over_time
        known = _shortest(table, incumbent, self.sharing)
        serial = table.serial + (float(moves.max(axis=(1, 2)).sum()) * table.n_devices if self.sharing else 0.0)
        limit = serial if known is None else known[2]
        incumbent.prove(max(table.longest_path, best_bound(problem)))
        if limit <= 0:  # nothing takes any time
            self.closed = known is not None
            limit = 1.0
        self.table, self.unit = whole(table, limit, np.concatenate([moves, held]) if self.sharing else None)
        self.exact = _multiples(table.time, self.unit)
        self.moves, self.held = (
            np.floor(np.minimum(seconds, 2 * limit) / self.unit).astype(np.int64) for seconds in (moves, held)
        )
        self.rounded = not (self.exact and _multiples(table.delay, self.unit))
        known_windows = windows(problem)
        self.heads = self._units(known_windows.head)
        self.tails = self._units(known_windows.tail)
        self.kind = interchangeable(problem)
        self.best: tuple[np.ndarray, np.ndarray] | None = None
        self.most = int(np.ceil(limit / self.unit))
        self.least = max(int(self.table.longest_path), int(self._units(np.array(incumbent.bound))))
        self.reach = REACH
        self.decided = True
        self.hard = False
        self.spent = 0.0
        self.seconds = table
        self.begin()

    @property
    def few(self) -> bool:
        """Whether ops are so few that a search may learn clauses on any bound."""
        return bool(self.table.units.n**2 * self.table.n_devices <= FEW)

    def begin(self) -> None:
        """Take the incumbent's plan as the one to begin with."""
        known = _shortest(self.seconds, self.incumbent, self.sharing)
        if known is not None:
            device = renamed(known[0], self.table.units.first, self.kind)
            start = self.table.starts(device, known[1])
            most = int(known[2] / self.unit) + 1 if self.sharing else int(self.table.makespan(device, start))
            if self.best is None or most < self.most:
                self.best = device, start
                self.most = most

    def _units(self, seconds: np.ndarray) -> np.ndarray:
        """Lower bounds in units: where times are rounded down, they add up to some units less."""
        times = seconds / self.unit
        times = np.floor(times) - 2 * self.table.n_ops if self.rounded else np.ceil(times * (1 - HAIR) - HAIR)
        return np.maximum(times, 0).astype(np.int64)

    # ---------------------------------------------------------------- the model

    def build(self, most: int, refuting: bool = False) -> bool:
        """State the variables and constraints, for at most `most` units of time; O(units · devices + arcs · devices²) of them.

        False where there is no need to: some op has no place in its window.
        """
        table = self.table
        model = self.cp.CpModel()
        self.model = model
        self.limit = most
        may, first, last = table.windows(most - table.tail)
        first = np.maximum(first, self.heads)
        last = np.minimum(last, most - table.time.min(axis=1) - self.tails)
        if refuting and not (may.any(axis=1).all() and (first <= last).all()):
            return False
        last = np.maximum(last, first)
        self.here: list[list[Any]] = [[model.new_bool_var("") if yes else None for yes in row] for row in may.tolist()]
        for row in self.here:
            model.add_exactly_one(y for y in row if y is not None)
        self.start = [model.new_int_var(int(a), int(b), "") for a, b in zip(first, last, strict=True)]
        self.makespan = model.new_int_var(self.least, most, "")
        self.end = [self._intervals(v) for v in range(table.n_ops)]
        self.shared: dict[tuple[int, int], Any] = {}
        self._no_overlap()
        for a in range(len(table.producer)):
            self._precedence(a)
        self._memory()
        if self.sharing:
            transfers = Transfers(self, self.moves, self.held)
            if self.over_time:
                Memory(self, transfers)
        self._symmetry(self.kind)
        if not refuting:
            model.minimize(self.makespan)
        self._hint()
        return True

    def row(self, v: int) -> list[tuple[int, Any, int]]:
        """(device, Boolean, time) of op v, wherever it may run."""
        row = self.here[self.table.units.of[v]]
        return [(d, y, int(self.table.time[v, d])) for d, y in enumerate(row) if y is not None]

    def _intervals(self, v: int) -> Any:
        """The end of op v."""
        row = self.row(v)
        start = self.start[v]
        if len({time for _, _, time in row}) == 1:
            return start + row[0][2]
        end = self.model.new_int_var(0, self.limit, "")
        self.model.add(end == start + sum(time * y for _, y, time in row))
        return end

    def _no_overlap(self) -> None:
        model = self.model
        table = self.table
        lanes: list[list[Any]] = [[] for _ in range(table.n_devices)]
        work: list[list[Any]] = [[] for _ in range(table.n_devices)]
        every = []
        for v, (start, end) in enumerate(zip(self.start, self.end, strict=True)):
            row = self.row(v)
            for d, y, time in row:
                lanes[d].append(model.new_optional_interval_var(start, time, end, y, ""))
                work[d].append(time * y)
            times = {time for _, _, time in row}
            size = row[0][2] if len(times) == 1 else model.new_int_var(min(times), max(times), "")
            every.append(model.new_interval_var(start, size, end, ""))
            model.add(self.makespan >= end + int(self.tails[v]))
        for lane, load in zip(lanes, work, strict=True):
            model.add_no_overlap(lane)
            model.add(sum(load) <= self.makespan)
        model.add_cumulative(every, [1] * len(every), table.n_devices)

    def _precedence(self, a: int) -> None:
        """The consumer of arc a starts after its producer, and after the transfer where there is one."""
        table = self.table
        add = self.model.add
        u = int(table.producer[a])
        v = int(table.consumer[a])
        add(self.start[v] >= self.end[u])
        if not table.apart[a]:
            return
        there = self.here[table.units.of[v]]
        delays = {
            (d, e): int(table.delay[a, d, e])
            for d, _, _ in self.row(u)
            for e, z in enumerate(there)
            if z is not None and e != d
        }
        least = min(delays.values(), default=0)
        if least > 0:
            apart = self._together(u, v).negated()
            add(self.start[v] >= self.end[u] + least).only_enforce_if(apart)
        for d, y, _ in self.row(u):
            from_d = {e: longer for (source, e), longer in delays.items() if source == d}
            least_from_d = min(from_d.values(), default=0)
            if least_from_d > least:
                moved = [y] if there[d] is None else [y, there[d].negated()]
                add(self.start[v] >= self.end[u] + least_from_d).only_enforce_if(moved)
            for e, longer in from_d.items():
                if longer > least_from_d:
                    add(self.start[v] >= self.end[u] + longer).only_enforce_if([y, there[e]])

    def _together(self, u: int, v: int) -> Any:
        """Whether the units of two ops are on one device."""
        one, other = sorted((int(self.table.units.of[u]), int(self.table.units.of[v])))
        if (one, other) not in self.shared:
            both = self.model.new_bool_var("")
            self.shared[one, other] = both
            for y, z in zip(self.here[one], self.here[other], strict=True):
                if y is not None and z is not None:
                    self.model.add_bool_or([y.negated(), z.negated(), both])
                    self.model.add_bool_or([both.negated(), y.negated(), z])
                    self.model.add_bool_or([both.negated(), z.negated(), y])
                elif y is not None or z is not None:
                    self.model.add_implication(both, (z if y is None else y).negated())
        return self.shared[one, other]

    def _memory(self) -> None:
        held = self.table.units.total(self.problem.lasting)
        for d, capacity in enumerate(self.problem.cluster.memory.tolist()):
            users = [(row[d], size) for row, size in zip(self.here, held.tolist(), strict=True) if row[d] is not None]
            if np.isfinite(capacity) and sum(size for _, size in users) > capacity:
                scale = 1.0 if (held % 1 == 0).all() else 2.0**40 / capacity
                size = [int(min(size, 2 * capacity) * scale) for _, size in users]
                self.model.add(
                    sum(b * y for b, (y, _) in zip(size, users, strict=True)) <= int(capacity * (1 + TOLERANCE) * scale)
                )

    def _symmetry(self, kind: np.ndarray) -> None:
        """Of interchangeable devices the next holds a unit only if the one before holds an earlier unit."""
        for one, next_one in neighbours(kind):
            earlier: list[Any] = []
            for row in self.here[:ORDERED]:
                if row[next_one] is not None:
                    self.model.add_bool_or([row[next_one].negated(), *earlier])
                earlier += [row[one]] if row[one] is not None else []

    # ---------------------------------------------------------------- the search

    def solve(
        self,
        options: dict[str, Any],
        part: tuple[float, float],
        expected: float,
        end: float,
        cancel: Callable[[], bool],
        refuting: bool = False,
    ) -> str:
        """Search once; return what stopped it before its own limit, or "".

        Parameters
        ----------
        options
            Parameters of the solver.
        part
            Fractions of the whole search at which this one begins and ends, for progress.
        expected
            Seconds that it takes, roughly.
        end
            When it must stop, by the monotonic clock [s].
        refuting
            Look for any plan within a part, ``reach``, of what lies between the bound and the best plan; not for the shortest.
        """
        refuting = refuting and self.best is not None
        target = self.least + int((self.most - 1 - self.least) * self.reach) if refuting else self.most
        self.spent = 0.0
        if not self.build(target, refuting):
            self._decide(target, impossible=True)
            return ""
        solver = self.cp.CpSolver()
        found: list[tuple[list[int], list[int]]] = []
        bounds: list[float] = []
        failed: list[Exception] = []
        solver.parameters.num_workers = 1
        solver.parameters.symmetry_level = 0  # of OR-tools' own: 9.15 fails with it on some cumulatives
        solver.parameters.max_time_in_seconds = max(end - monotonic(), 0.0)
        for name, value in options.items():
            if hasattr(solver.parameters, name):  # OR-tools 9.14 may not know it
                setattr(solver.parameters, name, value)
        if not refuting:
            solver.best_bound_callback = bounds.append
        stopped = ""
        begun = monotonic()
        thread = beside(self._run, solver, found, failed, daemon=False)
        try:
            while thread.is_alive():
                thread.join(POLL)
                stopped = stopped or ("on request" if cancel() else "")
                if stopped:
                    solver.stop_search()
                self.incumbent.fraction = part[0] + (part[1] - part[0]) * min((monotonic() - begun) / expected, 1)
                self._take(found, bounds)
                self.incumbent.report_progress()
        finally:
            solver.stop_search()
            thread.join()
        if failed:
            raise PlacelabError(
                f"OR-tools failed on this problem ({failed[0]}); try another seed, or 'ilp'"
            ) from failed[0]
        self._take(found, bounds)
        self.spent = solver.response_proto.deterministic_time
        if refuting and not stopped:
            self._decide(target, self.status == self.cp.INFEASIBLE)
            return "by the time limit" if not self.decided and monotonic() >= end else ""
        return stopped or self._conclude(end)

    def _decide(self, target: int, impossible: bool) -> None:
        """Learn from a makespan that was refuted, or met, or neither."""
        if impossible:
            self._raise(target + 1)
        self.decided = impossible or self.most <= target
        self.closed = self.least >= self.most
        if not (self.decided or self.hard) and self.few:
            self.hard = True  # as far once more
            return
        nearer = 1.0 if self.reach > NEAR else (1 + self.reach) / 2
        self.reach = nearer if impossible else REACH if self.decided else self.reach / 2

    def _hint(self) -> None:
        """Begin with the best plan so far."""
        if self.best is not None:
            device, start = self.best
            of_unit = device[self.table.units.first]
            for row, at in zip(self.here, of_unit.tolist(), strict=True):
                for d, y in enumerate(row):
                    if y is not None:
                        self.model.add_hint(y, d == at)
            for variable, value in zip(self.start, start.tolist(), strict=True):
                self.model.add_hint(variable, value)
            self.model.add_hint(self.makespan, self.most)

    def _run(self, solver: Any, found: list, failed: list) -> None:
        here = self.here
        start = self.start
        cp = self.cp

        class Found(cp.CpSolverSolutionCallback):  # type: ignore[name-defined]  # imported when a search begins
            def on_solution_callback(self) -> None:
                places = [next(d for d, y in enumerate(row) if y is not None and self.boolean_value(y)) for row in here]
                found.append((places, [self.value(s) for s in start]))

        try:
            self.status = solver.solve(self.model, Found())
            self.proved = solver.best_objective_bound
        except Exception as error:  # to be raised in the caller's thread
            failed.append(error)

    def _take(self, found: list, bounds: list) -> None:
        """Offer the plans in the order in which they were found, and raise the bound."""
        while found:
            places, start = found.pop(0)
            device = np.array(places)[self.table.units.of]
            start = np.array(start)
            finish = start + self.table.time[np.arange(len(start)), device]
            order = planned_order(start, finish)
            if not self.sharing:
                start = self.table.starts(device, order)  # what is only to be within a makespan may wait without need
            makespan = int(self.table.makespan(device, start))
            if self.best is None or makespan < self.most:
                self.best = (device, start)
                self.most = makespan
            self.incumbent.offer(device, order)
            if self.sharing and self.incumbent.makespan > makespan * self.unit * (1 + PROVEN):
                self.incumbent.offer(device, order, start * self.unit)
        while bounds:
            self._raise(bounds.pop(0))

    def _raise(self, bound: float) -> None:
        self.least = max(self.least, min(int(np.ceil(bound - 0.5)), self.most))
        self.incumbent.prove(self.least * self.unit)

    def _conclude(self, end: float) -> str:
        cp = self.cp
        if self.status == cp.INFEASIBLE and self.best is None:
            raise infeasible(self.problem, over_time=self.over_time)
        self._raise(self.proved)
        self.closed = self.status == cp.OPTIMAL
        return "by the time limit" if not self.closed and monotonic() >= end else ""


def _multiples(seconds: np.ndarray, unit: float) -> bool:
    """Whether all finite times are whole units."""
    return bool((np.where(np.isfinite(seconds), seconds, 0) % unit == 0).all())


def _shortest(table: Tables, incumbent: Incumbent, sharing: bool) -> tuple[np.ndarray, np.ndarray, float] | None:
    """Device, order and makespan [s] of the incumbent, in the tables' terms unless transfers or memory are shared."""
    if incumbent.placement is None:
        return None
    device = incumbent.placement.device
    order = incumbent.placement.planned
    assert order is not None  # what is offered has an order
    alone = float(table.makespan(device, table.starts(device, order)))
    return device, order, incumbent.makespan if sharing else alone


def renamed(device: np.ndarray, first: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """The same placement with interchangeable devices used in the order of their numbers; `first` op of each unit."""
    new = np.full(len(kind), -1)
    unused = {c: iter(np.flatnonzero(kind == c).tolist()) for c in np.unique(kind).tolist()}
    for d in device[first].tolist():
        if new[d] < 0:
            new[d] = next(unused[int(kind[d])])
    return new[device]

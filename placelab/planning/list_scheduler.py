"""List scheduling op by op: when an op could run on a device, given what is planned so far."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping
from math import inf
from typing import Any, Literal

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError, UnsupportedError, expect, poses_as_number
from placelab.base.index_arrays import F8, I4, frozen
from placelab.kernels.plan.memory_over_time import memory_waits as which_waited
from placelab.planning import plan_arrays
from placelab.planning.capacity import infeasible
from placelab.planning.memory_plan import MemoryPlan, can_bind
from placelab.planning.plan_arrays import transfer_delay
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.trace import EARLIEST_START, PLANNED_FINISH, Trace

TIMES: dict[str, Literal["", "start", "finish"]] = {PLANNED_FINISH: "finish", EARLIEST_START: "start"}
Decision = tuple[int, int, Any, str]  # op, device, score per candidate device, reason


class ListScheduler:
    r"""A plan that grows op by op: earliest starts and finishes on every device, groups, restrictions and memory included.

    .. math:: EST(v, d) = \min \{ t \ge \max_{u \in pred(v)} (finish(u) + trans(\tau, p_u, d)) :
              d \text{ is idle and has room in } [t, t + exec(v, d)) \}, \quad EFT(v, d) = EST(v, d) + exec(v, d)

    Parameters
    ----------
    problem
        What is planned. Ops may be given by number or name, devices too.
    insertion
        Fill idle gaps between planned ops (Topcuoglu 2002 §4.1), instead of appending after a device's last op.
    trace
        Record each decision with the finish it would have had on every candidate.

    Attributes
    ----------
    device : ndarray of int32, shape (n_ops,)
        Devices so far, -1 where not placed.
    start, finish : ndarray, shape (n_ops,)
        Planned times [s].
    freed : int
        Grows whenever the plan frees memory; an (op, device) pair that was rejected may have become possible then.

    Notes
    -----
    Transfers are planned without contention, whatever the problem's transfer model: a tensor leaves when its producer
    ends (with ``transfer_ops``, one Send later, though the Send occupies no device here) and is on a device once, however
    many consumers it has there.

    Memory, in the problem's model, is exact for the planned times: an op whose start does not fit waits for the first
    time that does; persistent bytes (under ``reserved`` all) of a whole group are taken with its first member. A tensor
    is held until all its consumers are placed and done, so a finished plan is within every capacity.

    An op of no time fits between two ops that touch. Per op O(inputs · devices) for arrivals, O(log ops) per device for
    a gap.

    Examples
    --------
    >>> import placelab as pl
    >>> chain = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [(0, 1)], edge_bytes=[4.0])
    >>> s = ListScheduler(pl.Problem(chain, pl.Cluster(speed=[1.0, 3.0], bandwidth=1.0)))
    >>> s.place("a", "dev0")
    >>> [s.eft("b", d) for d in s.feasible("b")]
    [5.0, 7.0]
    """

    def __init__(self, problem: Problem, *, insertion: bool = False, trace: bool = False) -> None:
        expect(problem, Problem, "ListScheduler")
        graph = problem.graph
        n = problem.graph.n_ops
        k = problem.cluster.n_devices
        self.problem = problem
        self.insertion = insertion
        self.device = np.full(n, -1, dtype=np.int32)
        self.start = np.zeros(n)
        self.finish = np.zeros(n)
        # as lists, which Python reads an element of faster than of arrays
        self._home = [-1] * n
        self._done = [0.0] * n
        self._placed: list[int] = []
        self._cost, self._column, self._divisor = _lists(problem.cost, problem.column, problem.divisor)
        self._columns = problem.columns
        self._send, self._way, self._rate = _lists(*transfer_delay(problem), problem.cluster.bandwidth)
        self._pred_ptr, self._pred_tensor = _lists(graph.pred_ptr, graph.edge_tensor[graph.pred_edge])
        self._producer, self._size = _lists(graph.tensor_producer, graph.tensor_bytes)
        self._group = problem.group.tolist()
        self._group_device = [-1] * problem.n_groups
        self._lanes = [Gaps() if insertion else Tail() for _ in range(k)]
        self._memory = MemoryPlan(problem) if can_bind(problem) else None
        self._arrivals: dict[int, list[float]] = {}
        self._est: dict[tuple[int, int], float] = {}
        self._decisions: list[Decision] | None = [] if trace else None

    @property
    def freed(self) -> int:
        """Number of times that memory was freed."""
        return self._memory.freed if self._memory else 0

    def arrival(self, op: int | str, device: int | str) -> float:
        """When all inputs of an op are on a device [s]; errors as :meth:`est`."""
        return self._ready(self._op(op))[self.problem.cluster.index(device)]

    def est(self, op: int | str, device: int | str) -> float:
        """Earliest start of an op on a device [s]; infinite where it has no room.

        Raises
        ------
        UnsupportedError
            An input of the op is not placed yet.
        """
        v = self._op(op)
        d = self.problem.cluster.index(device)
        if (v, d) not in self._est:
            self._est[v, d] = self._earliest(v, d)
        return self._est[v, d]

    def eft(self, op: int | str, device: int | str) -> float:
        """Earliest finish of an op on a device [s]; infinite where it has no room."""
        v = self._op(op)
        d = self.problem.cluster.index(device)
        return self.est(v, d) + self._exec(v, d)

    def candidates(self, op: int | str) -> list[int]:
        """Devices the op may run on and has room on now, ascending; a placed group's device alone; perhaps none."""
        v = self._op(op)
        allowed = self._allowed(v)
        return [d for d in allowed if self.est(v, d) < inf] if self._memory else allowed

    def next_candidate(self, op: int | str, device: int | str) -> int | None:
        """The first of :meth:`candidates` from a device on, those before it last; None where there is none.

        Devices behind it are not looked at.
        """
        v = self._op(op)
        first = self.problem.cluster.index(device)
        k = self.problem.cluster.n_devices
        allowed = sorted(self._allowed(v), key=lambda d: (d - first) % k)
        return next((d for d in allowed if self._memory is None or self.est(v, d) < inf), None)

    def feasible(self, op: int | str) -> list[int]:
        """As :meth:`candidates`, but at least one.

        Raises
        ------
        InfeasibleError
            None is left; says for each device why.
        """
        v = self._op(op)
        candidates = self.candidates(v)
        if not candidates:
            short = np.full(self.problem.cluster.n_devices, np.nan)
            for d in self._allowed(v):
                short[d] = self._shortage(v, d)
            raise infeasible(self.problem, v, short)
        return candidates

    def place(
        self,
        op: int | str,
        device: int | str,
        *,
        reason: str = "finishes soonest there",
        scores: Mapping[int, float] | None = None,
    ) -> None:
        """Plan the op on the device at its earliest start; the first member of a group fixes the group's device.

        Parameters
        ----------
        reason, scores
            For the trace: why, and what was compared per device (default: the finish on each candidate).

        Raises
        ------
        InfeasibleError
            The op may not run there, or has no room.
        UnsupportedError
            It is placed already, or an input of it is not.
        """
        v = self._op(op)
        d = self.problem.cluster.index(device)
        if self._home[v] >= 0:
            raise UnsupportedError(
                f"op {self._name(v)!r} is placed already, on {self.problem.cluster.names[self.device[v]]!r}; place it once"
            )
        start = self.est(v, d)
        if d not in self._allowed(v) or start == inf:
            self._refuse(v, d)
        if self._decisions is not None:
            self._record(self._decisions, v, d, reason, scores)
        self.enter(v, d, start, start + self._exec(v, d))

    def enter(self, v: int, d: int, start: float, finish: float) -> None:
        """Plan op number v on device number d at times known to be possible, unchecked."""
        if self._memory:
            self._memory.place(v, d, start, finish, self._inputs(v, d))
        self._lanes[d].occupy(start, finish)
        self.device[v] = d
        self.start[v] = start
        self.finish[v] = finish
        self._home[v] = d
        self._done[v] = finish
        self._placed.append(v)
        if self._group[v] >= 0:
            self._group_device[self._group[v]] = d
        self._est.clear()
        self._arrivals.pop(v, None)

    def placement(self, score_name: str = PLANNED_FINISH) -> Placement:
        """The finished plan, with its order and makespan.

        Raises
        ------
        UnsupportedError
            An op is not placed.
        """
        missing = np.flatnonzero(self.device < 0)
        if len(missing):
            raise UnsupportedError(
                f"op {self._name(missing[0])!r} is not placed ({len(missing)} are not); place every op first"
            )
        trace = None if self._decisions is None else _trace(self._decisions, self.problem.cluster.n_devices, score_name)
        order = planned_order(self.start, self.finish, np.array(self._placed))
        times = self.device, self.start, self.finish
        waits = memory_waits(self.problem, *times, order) if self._memory else None
        return Placement(self.problem, self.device, order, float(self.finish.max()), trace, not_before=waits)

    # ---------------------------------------------------------------- parts

    def _op(self, op: int | str) -> int:
        if poses_as_number(op) or not isinstance(op, (str, int, np.integer)):
            raise FormatError(f"{op!r} is no op; expected a name or a number")
        v = self.problem.graph.index(op) if isinstance(op, str) else int(op)
        if not 0 <= v < len(self._home):
            raise FormatError(
                f"there is no op number {v}; ops of {self.problem.graph.title} are 0 to {len(self._home) - 1}"
            )
        return v

    def _name(self, v: int) -> str:
        return str(self.problem.graph.names[v])

    def _exec(self, v: int, d: int) -> float:
        return self._cost[v * self._columns + self._column[d]] / self._divisor[d]

    def _allowed(self, v: int) -> list[int]:
        g = self._group[v]
        if g >= 0 and self._group_device[g] >= 0:
            return [self._group_device[g]]
        return self.problem.feasible(v).tolist()

    def _earliest(self, v: int, d: int) -> float:
        length = self._exec(v, d)
        lane = self._lanes[d]
        start = lane.earliest(self._ready(v)[d], length)
        if self._memory is None:
            return start
        inputs = self._inputs(v, d)
        while start < inf:
            fits = self._memory.earliest(v, d, start, length, inputs)
            if fits == start:
                break
            start = lane.earliest(fits, length) if fits < inf else inf
        return start

    def _ready(self, v: int) -> list[float]:
        """When all inputs of v are on each device."""
        if v not in self._arrivals:
            latest = [0.0] * len(self._lanes)
            for t in self._inputs_of(v):
                u = self._producer[t]
                done = self._done[u]
                size = self._size[t]
                home = self._home[u]
                if home < 0:
                    raise UnsupportedError(
                        f"op {self._name(v)!r} comes before its input {self._name(u)!r}, which is not placed; "
                        "place inputs first, for example by falling upward_rank"
                    )
                arrive = [done + way + size / rate for way, rate in zip(self._way[home], self._rate[home], strict=True)]
                latest = list(map(max, latest, arrive))
            self._arrivals[v] = latest
        return self._arrivals[v]

    def _inputs_of(self, v: int) -> list[int]:
        return self._pred_tensor[self._pred_ptr[v] : self._pred_ptr[v + 1]]

    def _inputs(self, v: int, d: int) -> list[tuple[int, int, float, float]]:
        """(tensor, its home, transfer's start, transfer's finish) of every input, as if v ran on d."""
        inputs = []
        for t in self._inputs_of(v):
            done = self._done[self._producer[t]]
            home = self._home[self._producer[t]]
            arrives = done + self._way[home][d] + self._size[t] / self._rate[home][d]
            inputs.append((t, home, done + self._send[home][d], arrives))
        return inputs

    def _refuse(self, v: int, d: int) -> None:
        names = self.problem.cluster.names
        allowed = self._allowed(v)
        if d in allowed:
            raise InfeasibleError(
                f"op {self._name(v)!r} has no room on {names[d]!r}, which is short by {self._shortage(v, d):.6g} bytes in "
                f"memory model {self.problem.memory!r}; candidates(op) lists the devices with room"
            )
        raise InfeasibleError(
            f"op {self._name(v)!r} may not run on {names[d]!r}, only on {', '.join(names[e] for e in allowed)}"
        )

    def _shortage(self, v: int, d: int) -> float:
        assert self._memory is not None  # without memory limits every allowed device is a candidate
        length = self._exec(v, d)
        start = self._lanes[d].earliest(self._ready(v)[d], length)
        return self._memory.shortage(v, d, start, length, self._inputs(v, d))

    def _record(
        self, decisions: list[Decision], v: int, d: int, reason: str, scores: Mapping[int, float] | None
    ) -> None:
        g = self._group[v]
        if g >= 0 and self._group_device[g] >= 0:
            return  # decided with the first of its group
        if scores is None:
            scores = {e: self.eft(v, e) for e in self.candidates(v)}
        decisions.append((v, d, scores, reason))


class Tail:
    """A device that runs ops one after the other."""

    def __init__(self) -> None:
        self.end = 0.0

    def earliest(self, time: float, length: float) -> float:
        """Earliest start, at or after `time`."""
        return max(time, self.end)

    def occupy(self, start: float, finish: float) -> None:
        """Run an op from `start` to `finish`."""
        self.end = finish


class Gaps:
    """A device whose idle gaps can be filled: busy spans, merged where they touch, and when each op that takes time ends."""

    def __init__(self) -> None:
        self.begins: list[float] = []
        self.ends: list[float] = []
        self.done: list[float] = []

    def earliest(self, time: float, length: float) -> float:
        """Earliest start of an op of this length, at or after `time`; one of length 0 also fits between two ops that touch."""
        i = bisect_right(self.ends, time)
        if length == 0:
            inside = i < len(self.ends) and self.begins[i] < time
            return self.done[bisect_left(self.done, time)] if inside else time
        while i < len(self.ends) and time + length > self.begins[i]:
            time = max(time, self.ends[i])
            i += 1
        return time

    def occupy(self, start: float, finish: float) -> None:
        """Run an op from `start` to `finish`, which :meth:`earliest` found idle."""
        if finish > start:
            insort(self.done, finish)
        i = bisect_right(self.ends, start)
        if i < len(self.ends) and self.begins[i] < finish:
            return  # of length 0, between two ops that touch
        if i < len(self.ends) and self.begins[i] == finish:
            finish = self.ends[i]
            del self.begins[i], self.ends[i]
        if i > 0 and self.ends[i - 1] == start:
            self.ends[i - 1] = finish
        else:
            self.begins.insert(i, start)
            self.ends.insert(i, finish)


def _lists(*arrays: np.ndarray) -> list[list]:
    return [array.tolist() for array in arrays]


def planned_order(start: np.ndarray, finish: np.ndarray, placed: np.ndarray | None = None) -> np.ndarray:
    """Ops by planned start, finish, place in `placed`: one of no time comes before what starts with it, but after its inputs.

    Parameters
    ----------
    placed
        Ops in the order in which they were placed, inputs first; default: by number. Of two ops of no time at one instant the
        second may be there only because it was appended to the first; before it, it would run sooner than planned.
    """
    if placed is None:
        return np.lexsort((finish, start)).astype(np.int32)
    return placed[np.lexsort((finish[placed], start[placed]))].astype(np.int32)


def decided(problem: Problem, order: np.ndarray) -> np.ndarray:
    """The ops of an order that were decisions: without those that follow their group."""
    group = problem.group[order]
    first = group < 0
    first[np.unique(group, return_index=True)[1]] = True
    return order[first]


def _trace(decisions: list[Decision], n_devices: int, score_name: str) -> Trace:
    score = np.full((len(decisions), n_devices), np.nan)
    for row, (_, _, scores, _) in zip(score, decisions, strict=True):
        row[list(scores)] = list(scores.values())
    reasons = tuple(dict.fromkeys(reason for _, _, _, reason in decisions))
    op, device = (np.array([decision[i] for decision in decisions], dtype=np.int32) for i in (0, 1))
    reason = np.array([reasons.index(reason) for _, _, _, reason in decisions], dtype=np.int32)
    return Trace(op, device, score, reason, reasons, score_name, TIMES.get(score_name, ""))


def memory_waits(
    problem: Problem,
    device: np.ndarray,
    start: np.ndarray,
    finish: np.ndarray,
    planned: np.ndarray,
    there: np.ndarray | None = None,
) -> np.ndarray | None:
    """When the plan lets each op start that waited for memory, 0 for the others, shape (n_ops,) [s]; None where none waited.

    Parameters
    ----------
    device, start, finish
        Of each op, shape (n_ops,); seconds. Nothing but inputs, devices and memory delayed an op.
    planned
        Ops in planned order, shape (n_ops,).
    there
        When each tensor is on a device, shape (n_tensors * n_devices,), if transfers waited for links; without it a transfer
        leaves when its producer ends.

    Notes
    -----
    Times are added up as planners do, so that they are compared to the last bit. O(n_ops log n_ops + n_edges).
    """
    graph = problem.graph
    waits, possible = np.empty((2, graph.n_ops))
    ran = (frozen(np.array(column, dtype)) for column, dtype in ((device, I4), (start, F8), (finish, F8)))
    facts = graph.producer, plan_arrays.successors(graph), plan_arrays.network(problem)
    came = frozen(np.empty(0) if there is None else there.copy())
    work = np.empty(problem.cluster.n_devices, I4), possible
    waited = which_waited(*ran, *facts, came, frozen(planned.astype(I4)), *work, waits)
    return frozen(waits) if waited else None

"""Static capacity check of planners without times: whether a device has room for an op and its group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from placelab.base.errors import InfeasibleError
from placelab.base.index_arrays import frozen
from placelab.kernels import blocks
from placelab.kernels.costs import add_by
from placelab.kernels.plan.unit_by_unit import first_fit, unit_inputs
from placelab.planning import plan_arrays
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TOLERANCE
from placelab.schedule.trace import Trace

LISTED = 16  # devices named one by one in an error


@dataclass(frozen=True, eq=False)
class Units:
    """Units of placement: each colocation group, and each op that is in none (Baechi §3.1, "co-adjust").

    Units are numbered by their first op, so topologically as far as groups allow.

    Attributes
    ----------
    of : ndarray of int32, shape (n_ops,)
        Unit of each op.
    ptr, ops : ndarray of int32, shapes (n_units + 1,) and (n_ops,)
        Ops of unit u are ``ops[ptr[u]:ptr[u + 1]]``, ascending.
    """

    of: np.ndarray
    ptr: np.ndarray
    ops: np.ndarray

    @property
    def n(self) -> int:
        """Number of units."""
        return len(self.ptr) - 1

    @cached_property
    def first(self) -> np.ndarray:
        """First op of each unit, shape (n_units,)."""
        return self.ops[self.ptr[:-1]]

    def total(self, values: np.ndarray) -> np.ndarray:
        """Sum over the ops of each unit, shape (n_units,)."""
        return values if self.n == len(self.of) else frozen(np.bincount(self.of, values, minlength=self.n))

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Maximum over the ops of each unit, shape (n_units,)."""
        return values if self.n == len(self.of) else frozen(np.maximum.reduceat(values[self.ops], self.ptr[:-1]))

    def queue(self, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Units in the order in which a sequence of all ops first meets them, and the positions where it does."""
        if self.n == len(self.of):
            return frozen(order.astype(np.int32)), frozen(np.arange(self.n, dtype=np.int32))
        position = np.sort(np.unique(self.of[order], return_index=True)[1])
        return frozen(self.of[order[position]]), frozen(position.astype(np.int32))


def units(problem: Problem) -> Units:
    """The units of a problem. O(n_ops log n_ops) with groups, O(n_ops) without."""
    n = problem.graph.n_ops
    ops = np.arange(n, dtype=np.int32)
    if not problem.n_groups:
        return Units(frozen(ops), frozen(np.arange(n + 1, dtype=np.int32)), frozen(ops))
    grouped = problem.group >= 0
    leader = ops.copy()
    leader[grouped] = problem.group_ops[problem.group_ptr[:-1]][problem.group[grouped]]
    of = (np.cumsum(leader == ops, dtype=np.int32) - 1)[leader]
    ptr = np.zeros(of.max() + 2, dtype=np.int32)
    np.cumsum(np.bincount(of), out=ptr[1:])
    return Units(frozen(of), frozen(ptr), frozen(np.argsort(of, kind="stable").astype(np.int32)))


class Assignment:
    r"""Units placed one after the other within the devices' capacity: the blocks that kernels read and write.

    A unit u fits on a device d that all its ops may use, if

    .. math:: used_d + held_u + \max(top_d, peak_u) \le C_d

    where, by memory model (an estimate without times; ``none`` holds nothing),

    ============  ==========================  ================================
    model         held_u, summed over ops     peak_u, maximum over ops
    ============  ==========================  ================================
    ``edges``     bytes of the op's inputs    0
    ``reserved``  the op's memory             0
    ``dynamic``   the op's persistent bytes   its temporary bytes and outputs
    ============  ==========================  ================================

    and used_d is the sum of held_u, top_d the maximum of peak_u over the units on d. C_d is relaxed by 1e-9. Which inputs
    need no room under ``edges``: :func:`needs`.

    Attributes
    ----------
    units : Units
    needs : placelab.kernels.blocks.UnitNeeds
        held and peak of each unit, and the devices it may run on.
    capacity : placelab.kernels.blocks.Capacity
        C, used and top of each device.
    choices : placelab.kernels.blocks.Choices
        Device of each unit, in which order they were placed and why (`reason` is an index into the trace's reasons); scores
        when traced.

    Notes
    -----
    Source: the memory models of Mayer 2017 eq. 2, Srivastava 2018 §3.1 and Baechi 2020 §4.2, without their times.
    """

    def __init__(self, problem: Problem, trace: bool = False) -> None:
        self.problem = problem
        self.units = units(problem)
        self.traced = trace
        n = self.units.n
        k = problem.cluster.n_devices
        held, peak = needs(problem)
        allowed, stride = problem.allowed_flags(self.units.first)
        self.needs = blocks.UnitNeeds(allowed, stride, self.units.total(held), self.units.largest(peak))
        limit = frozen(problem.capacity * (1 + TOLERANCE))
        self.capacity = blocks.Capacity(limit, np.zeros(k), np.zeros(k))
        place = np.full(n, -1, np.int32)
        order = np.zeros(n, np.int32)
        reason = np.zeros(n, np.int32)
        self.choices = blocks.Choices(place, order, reason, np.full(n * k if trace else 0, np.nan))

    @property
    def arguments(self) -> tuple[blocks.UnitNeeds, blocks.Capacity, blocks.Choices]:
        """First arguments of every kernel that places units."""
        return self.needs, self.capacity, self.choices

    @property
    def units_block(self) -> blocks.Units:
        """The units as kernels take them."""
        return blocks.Units(self.units.of, self.units.ptr, self.units.ops)

    @cached_property
    def cost(self) -> np.ndarray:
        """Like ``problem.cost``, summed over the ops of each unit; shape (n_units * problem.columns,)."""
        table = self.problem.cost_table
        if self.units.n == len(table):
            return self.problem.cost
        return frozen(np.stack([self.units.total(column) for column in table.T], axis=1).reshape(-1))

    @property
    def times(self) -> blocks.Times:
        """Execution times of the units."""
        return plan_arrays.times(self.problem, self.cost)

    @property
    def inputs(self) -> blocks.UnitInputs:
        """Tensors that units read from other units, and what moving them takes."""
        graph = self.problem.graph
        cluster = self.problem.cluster
        ptr = np.zeros(self.units.n + 1, np.int32)
        source = np.zeros(graph.n_edges, np.int32)
        read = np.zeros(graph.n_tensors, np.int32)
        size = np.zeros(graph.n_edges)
        unit_inputs(self.units_block, plan_arrays.predecessors(graph), graph.tensor_bytes, read, ptr, source, size)
        links = cluster.latency.reshape(-1), frozen(1 / cluster.bandwidth.reshape(-1))
        return blocks.UnitInputs(frozen(ptr), frozen(source), frozen(size), *links)

    def first_fit(
        self, queue: np.ndarray, target: np.ndarray, reasons: tuple[str, str], sequence: np.ndarray | None = None
    ) -> Placement:
        """Units one after the other, each on its target or on the first device behind it that may and can hold it.

        Parameters
        ----------
        queue, target
            The units in order; the place in `sequence` that each is meant for, or -1 for the one behind the unit before.
        reasons
            Why a unit is where it was meant to be, and why it is not.
        sequence
            The devices in the order in which they are tried, round and round; default: by number.
        """
        devices = np.arange(self.problem.cluster.n_devices) if sequence is None else sequence
        placed = first_fit(*self.arguments, *(frozen(x.astype(np.int32)) for x in (queue, target, devices)))
        return self.placement(placed, reasons, "devices passed over")

    def placement(self, placed: int, reasons: tuple[str, ...], score_name: str) -> Placement:
        """The placement that a kernel decided. Raise InfeasibleError when it stopped before the last unit.

        Parameters
        ----------
        placed
            Number of units placed; if not all, ``order[placed]`` is the one that fitted nowhere.
        reasons, score_name
            The words of the trace.
        """
        choices = self.choices
        capacity = self.capacity
        if placed < self.units.n:
            unit = choices.order[placed]
            needed = capacity.used + self.needs.held[unit] + np.maximum(capacity.top, self.needs.peak[unit])
            short = needed - self.problem.cluster.memory
            raise infeasible(self.problem, self.units.first[unit], short)
        trace = None
        if self.traced:
            score = frozen(choices.score.reshape(self.units.n, -1))
            op = self.units.first[choices.order]
            trace = Trace(op, choices.place[choices.order], score, choices.reason, reasons, score_name)
        return Placement(self.problem, choices.place[self.units.of], trace=trace)


def needs(problem: Problem, home: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Bytes each op holds all the time, and its highest need on top of that; shapes (n_ops,).

    Parameters
    ----------
    home
        Ops of equal number share a device whatever happens, shape (n_ops,). Default: all ops if there is one device, else
        those of a colocation group and those that are tied to one device.

    Notes
    -----
    Under ``edges`` an op holds each of its inputs once, except those that need no time in memory: the inputs from a producer
    on its own device that is its only predecessor, and whose only successor it is. It may start when that one ends. A storage
    that tensors share counts once: under ``edges`` at the first op that reads one of them and holds it, under ``dynamic`` at the
    op that makes the first.
    """
    graph = problem.graph
    model = problem.memory_model
    held = _inputs(problem, home) if model.inputs else problem.lasting
    return held, frozen(graph.temporary + graph.new_bytes if model.working else np.zeros(graph.n_ops))


def _inputs(problem: Problem, home: np.ndarray | None) -> np.ndarray:
    """Bytes of the inputs that each op holds while it waits, shape (n_ops,); one that it reads twice counts once."""
    graph = problem.graph
    again = np.zeros(graph.n_edges, dtype=bool)
    again[1:] = (np.diff(graph.edge_tensor) == 0) & (np.diff(graph.consumer) == 0)
    size = np.where(again | _chained(problem, _homes(problem) if home is None else home), 0.0, graph.edge_bytes)
    if graph.tensor_storage is not None and graph.edge_storage is not None:
        once = np.zeros(graph.n_edges, dtype=bool)
        holds = np.flatnonzero(size > 0)
        first = holds[np.lexsort((graph.consumer[holds], graph.edge_storage[holds]))]
        once[first[np.diff(graph.edge_storage[first], prepend=-1) != 0]] = True
        shared = np.bincount(graph.tensor_storage, minlength=graph.n_tensors)[graph.edge_storage] > 1
        size = np.where(shared, np.where(once, graph.storage_bytes[graph.edge_storage], 0.0), size)
    held = np.zeros(graph.n_ops)
    add_by(graph.consumer, frozen(size), held)
    return frozen(held)


def _chained(problem: Problem, home: np.ndarray) -> np.ndarray:
    """Whether each edge is the only one that joins two ops of one device in a chain; shape (n_edges,)."""
    graph = problem.graph
    producer = graph.producer
    consumer = graph.consumer
    only_successor = (np.diff(graph.successors[0]) == 1)[producer]
    only_predecessor = (graph.n_producers == 1)[consumer]
    return only_successor & only_predecessor & (home[producer] == home[consumer])


def _homes(problem: Problem) -> np.ndarray:
    """One number for all ops that share a device in every placement, shape (n_ops,)."""
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    if k == 1:
        return np.zeros(n, dtype=np.int64)
    home = units(problem).of.astype(np.int64)
    if not problem.restricted:
        return home
    return np.where(problem.may_run.sum(axis=1) == 1, n + problem.may_run.argmax(axis=1), home)


def infeasible(problem: Problem, op: int, short: np.ndarray) -> InfeasibleError:
    """The error that an op and its group find no room: each device is not allowed, or short of so many bytes.

    It says "fits on no device" where :func:`fits_nowhere` proves that, and else that the strategy is stuck.

    Parameters
    ----------
    op
        Number of the op that was to be placed.
    short
        Bytes missing on each device, shape (n_devices,); not looked at where the op is not allowed, NaN where it may not
        go because its group is on another device already.
    """
    names = problem.cluster.names
    members = problem.members(op)
    allowed = np.zeros(len(names), bool)
    allowed[problem.feasible(op)] = True
    closest = np.lexsort((np.arange(len(names)), np.where(allowed, short, np.inf)))
    followed = np.isnan(short) & allowed
    missing = {names[d]: float(short[d]) for d in closest if allowed[d] and not followed[d]}

    def lack(d: int) -> str:
        if followed[d]:
            return "is not where its group is"
        return f"is short by {short[d]:.6g} bytes" if allowed[d] else "is not allowed"

    devices = {names[d]: lack(d) for d in closest}
    op_name = str(problem.graph.names[op])
    group = ""
    fixed = ""
    what = f"op {op_name!r}"
    if len(members) > 1:
        group = problem.group_names[problem.group[op]]
        first = problem.graph.names[members[0]]
        if followed.any():
            fixed = next(iter(missing), "")
        else:
            what = f"colocation group {group!r} ({len(members)} ops, first {first!r})"
    why = listed([f"{name} {text}" for name, text in devices.items()])
    stuck = not fits_nowhere(problem, op)
    where = "finds no room any more, the strategy is stuck" if stuck else "fits on no device"
    message = f"{what} {where} in memory model {problem.memory!r}: {why}"
    return InfeasibleError(message, op=op_name, group=group, fixed=fixed, devices=devices, short=missing, stuck=stuck)


def fits_nowhere(problem: Problem, op: int) -> bool:
    """Whether an op and its group need more alone than each device has that is allowed for them: no plan places them.

    Counted are the bytes that they keep for the whole run and, under ``dynamic``, the most that one of them needs while it runs:
    inputs, outputs and temporary bytes, of tensors in one storage the largest. Inputs under ``edges`` may come when the op
    starts, and take no room.
    """
    graph = problem.graph
    members = problem.members(op)
    most = 0.0
    if problem.memory_model.working:
        for v in members:
            read = graph.edge_tensor[graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]]
            tensors = np.union1d(read, np.arange(graph.op_tensor_ptr[v], graph.op_tensor_ptr[v + 1]))
            storage = tensors if graph.tensor_storage is None else graph.tensor_storage[tensors]
            largest = np.zeros(graph.n_tensors)
            np.maximum.at(largest, storage, graph.tensor_bytes[tensors])
            most = max(most, float(graph.temporary[v] + largest.sum()))
    need = problem.lasting[members].sum() + most
    allowed = problem.feasible(op)
    return bool((need > problem.cluster.memory[allowed] * (1 + TOLERANCE)).all()) and problem.memory != "none"


def listed(why: list[str]) -> str:
    """The reason against each device, the first 16 in full."""
    more = [f"and so on for {len(why) - LISTED} more"] if len(why) > LISTED else []
    return "; ".join(why[:LISTED] + more)

r"""Transfers and memory over time for the constraint model of :mod:`placelab.strategies.searches.cp_sat_model`.

Per tensor t and destination d a start b_td, and per source s a Boolean x_tsd, which is y_us and some y_vd of a consumer v:

- b_td ≥ s_u + exec(u), and s_v ≥ b_td + trans(t, s, d) where x_tsd and y_vd;
  b_td = s_u + exec(u) where neither another transfer nor a Send can be in the way;
- an interval of each transfer on each port or channel that it occupies, present where x is: no two overlap, in any order; it is
  shorter than the transfer where the latency follows;
- ``dynamic`` memory of each device: a cumulative resource of persistent bytes always, temporary bytes while an op runs, outputs
  from the producer's start until the last consumer there and the last transfer have finished, received copies from the
  transfer's start until the last consumer there has finished.

With times rounded down, every schedule, its starts rounded down as well, is a solution: spans that do not overlap still do not.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from placelab.problem.problem import Problem
from placelab.schedule.schedule import TOLERANCE
from placelab.strategies.searches.tables import Tables

FINE = 2.0**40  # parts of a capacity that bytes are counted in where they are no whole numbers


class Model(Protocol):
    """What transfers and memory need to know of :class:`placelab.strategies.searches.cp_sat_model.Model`."""

    problem: Problem
    table: Tables
    model: Any
    here: list[list[Any]]
    start: list[Any]
    end: list[Any]
    most: int
    exact: bool

    def row(self, v: int) -> list[tuple[int, Any, int]]:
        """(device, Boolean, time) of op v, wherever it may run."""


def waiting(problem: Problem) -> bool:
    """Whether transfers wait for each other; those that share a link at once (``fair``) do not."""
    return bool(problem.transfer_model.queue) and not problem.transfer_model.shared


def transfer_seconds(problem: Problem, part: float = 1.0) -> np.ndarray:
    """Seconds of each tensor from device to device, with a part of the latency; 0 within a device.

    Shape (n_tensors, n_devices, n_devices).
    """
    cluster = problem.cluster
    k = problem.cluster.n_devices
    seconds = part * cluster.latency + problem.graph.tensor_bytes[:, None, None] / cluster.bandwidth
    seconds[:, np.arange(k), np.arange(k)] = 0.0
    return seconds


def readers(problem: Problem) -> list[list[int]]:
    """Ops that read each tensor."""
    found: list[set[int]] = [set() for _ in range(problem.graph.n_tensors)]
    for t, v in zip(problem.graph.edge_tensor.tolist(), problem.graph.consumer.tolist(), strict=True):
        found[t].add(v)
    return [sorted(ops) for ops in found]


class Transfers:
    """Variables of all transfers of a model, and their constraints.

    Attributes
    ----------
    begin : dict
        Start of the transfer of a tensor to a device, by (tensor, destination).
    sent : list
        Of each tensor the transfers that it may take: (source, destination, Boolean).
    """

    def __init__(self, model: Model, units: np.ndarray, held: np.ndarray) -> None:
        self.model = model
        self.units = units
        self.held = held
        self.begin: dict[tuple[int, int], Any] = {}
        self.sent: list[list[tuple[int, int, Any]]] = [[] for _ in range(model.problem.graph.n_tensors)]
        self.lanes: dict[int, list[Any]] = {}
        self.readers = readers(model.problem)
        for t in range(model.problem.graph.n_tensors):
            for d in range(model.table.n_devices):
                self._to(t, d)
        for lane in self.lanes.values():
            model.model.add_no_overlap(lane)

    def _to(self, t: int, d: int) -> None:
        """The transfer of tensor t to device d, from wherever it is produced."""
        model = self.model
        cp = self.model.model
        of = self.model.table.units.of
        problem = model.problem
        u = int(model.problem.graph.tensor_producer[t])
        there = {v: model.here[of[v]][d] for v in self.readers[t] if of[v] != of[u]}
        there = {v: y for v, y in there.items() if y is not None}
        sources = {s: y for s, y in enumerate(model.here[of[u]]) if y is not None and s != d}
        if not there or not sources:
            return
        begin = self.begin[t, d] = cp.new_int_var(0, model.most, "")
        for s, y in sources.items():
            x = cp.new_bool_var("")
            self.sent[t].append((s, d, x))
            cp.add_implication(x, y)
            cp.add_bool_or([x.negated(), *there.values()])
            cp.add(begin >= model.end[u]).only_enforce_if(x)
            if not (waiting(problem) or problem.transfer_ops):
                cp.add(begin <= model.end[u] + (0 if model.exact else 1)).only_enforce_if(x)
            long = int(self.units[t, s, d])
            for v, z in there.items():
                cp.add_bool_or([y.negated(), z.negated(), x])
                cp.add(model.start[v] >= begin + long).only_enforce_if([x, z])
            for (queue,) in self._queues(s, d):
                lane = self.lanes.setdefault(queue, [])
                held = int(self.held[t, s, d])
                lane.append(cp.new_optional_fixed_size_interval_var(begin, held, x, ""))

    def _queues(self, s: int, d: int) -> list[list[int]]:
        problem = self.model.problem
        if not waiting(problem):
            return []
        ends = problem.transfer_model.occupied(np.array([s]), np.array([d]), problem.cluster, problem.duplex)
        return [end.tolist() for end in ends]


class Memory:
    """``dynamic`` memory over time as cumulative constraints."""

    def __init__(self, model: Model, transfers: Transfers) -> None:
        self.model = model
        self.transfers = transfers
        graph = model.problem.graph
        self.held: list[list] = [[] for _ in range(model.table.n_devices)]
        for v in range(graph.n_ops):
            for d, y, time in model.row(v):
                self._hold(d, model.start[v], time, model.start[v] + time, y, graph.temporary[v])
                self._hold(d, 0, model.most, model.most, y, graph.persistent[v])
        first = graph.tensor_storage
        storages: dict[int, list[int]] = {}
        for t, s in enumerate(range(graph.n_tensors) if first is None else first.tolist()):
            storages.setdefault(s, []).append(t)
        for tensors in storages.values():
            self._at_home(tensors)
        for t, d in transfers.begin:
            self._copy(t, d)
        for d, spans in enumerate(self.held):
            self._limit(spans, float(model.problem.cluster.memory[d]))

    def _hold(self, d: int, begin: Any, size: Any, end: Any, present: Any, held: float) -> None:
        if held > 0:
            self.held[d].append((self.model.model.new_optional_interval_var(begin, size, end, present, ""), held))

    def _span(self) -> tuple[Any, Any]:
        """(size, end) of a span whose end is open."""
        cp = self.model.model
        most = self.model.most
        return cp.new_int_var(0, most, ""), cp.new_int_var(0, most, "")

    def _at_home(self, tensors: list[int]) -> None:
        """The outputs in one storage on the device of the first's producer; those that are made elsewhere, there."""
        model = self.model
        graph = model.problem.graph
        here = [model.here[model.table.units.of[graph.tensor_producer[t]]] for t in tensors]
        ends = [self._last_use(t) for t in tensors]
        begins = [model.start[graph.tensor_producer[t]] for t in tensors]
        size, end = self._span() if len(tensors) > 1 else ends[0]
        begin = model.model.new_int_var(0, model.most, "") if len(tensors) > 1 else begins[0]
        for i, (t, at) in enumerate(zip(tensors, here, strict=True)) if len(tensors) > 1 else ():
            for d, y in enumerate(at):
                if y is None:
                    continue
                joined = [y] if i == 0 else [y, here[0][d]] if here[0][d] is not None else None
                if joined:
                    model.model.add(begin <= begins[i]).only_enforce_if(joined)
                    model.model.add(end >= ends[i][1]).only_enforce_if(joined)
                if i > 0:
                    apart = y
                    if joined:
                        apart = model.model.new_bool_var("")
                        model.model.add(apart >= y - joined[1])
                    self._hold(d, begins[i], *ends[i], apart, float(graph.tensor_bytes[t]))
        for d, y in enumerate(here[0]):
            if y is not None:
                self._hold(d, begin, size, end, y, float(graph.storage_bytes[tensors[0]]))

    def _last_use(self, t: int) -> tuple[Any, Any]:
        """(size, end) of a tensor's span on its producer's device."""
        model = self.model
        cp = self.model.model
        of = self.model.table.units.of
        u = int(model.problem.graph.tensor_producer[t])
        size, end = self._span()
        cp.add(end >= model.end[u])
        for v in self.transfers.readers[t]:
            pairs = zip(model.here[of[u]], model.here[of[v]], strict=True)
            both = [[]] if of[u] == of[v] else [[y, z] for y, z in pairs if y is not None and z is not None]
            for literals in both:
                cp.add(end >= model.end[v]).only_enforce_if(literals)
        for s, d, x in self.transfers.sent[t]:
            cp.add(end >= self.transfers.begin[t, d] + int(self.transfers.units[t, s, d])).only_enforce_if(x)
        return size, end

    def _copy(self, t: int, d: int) -> None:
        """The copy that a device receives."""
        model = self.model
        cp = self.model.model
        of = self.model.table.units.of
        come = cp.new_bool_var("")
        cp.add(sum(x for _, to, x in self.transfers.sent[t] if to == d) == come)
        begin = self.transfers.begin[t, d]
        size, end = self._span()
        for v in self.transfers.readers[t]:
            y = model.here[of[v]][d]
            if y is not None:
                cp.add(end >= model.end[v]).only_enforce_if([come, y])
        self._hold(d, begin, size, end, come, float(model.problem.graph.tensor_bytes[t]))

    def _limit(self, spans: list[tuple[Any, float]], capacity: float) -> None:
        sizes = np.array([held for _, held in spans])
        if np.isfinite(capacity) and sizes.sum() > capacity:
            scale = 1.0 if (sizes % 1 == 0).all() else FINE / capacity
            demands = [int(held) for held in np.minimum(sizes, 2 * capacity) * scale]
            room = int(capacity * (1 + TOLERANCE) * scale)
            self.model.model.add_cumulative([interval for interval, _ in spans], demands, room)

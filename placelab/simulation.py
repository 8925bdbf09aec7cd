"""Simulate a placement on a cluster: the event simulator's public function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from placelab.errors import FormatError, InfeasibleError, UnsupportedError, expect
from placelab.kernels import events
from placelab.kernels.codes import FREE
from placelab.kernels.memory_in_use import fits
from placelab.problem.problem import Problem
from placelab.schedule.memory import TOLERANCE
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TRANSFER, Schedule
from placelab.simulation_arrays import RULES, Arguments, Moves, arguments, moves
from placelab.strategies import Order, Rule, Scheduler, StaticScheduler, default_scheduler, find, keywords, schedulers

OOM = ("mark", "raise", "wait")


def simulate(
    problem: Problem,
    placement: Placement,
    scheduler: str | Scheduler | None = None,
    *,
    seed: int = 0,
    oom: str = "mark",
    **options: Any,
) -> Schedule:
    """Run a placement, event by event, under the problem's transfer and memory model.

    Parameters
    ----------
    problem
        What is run.
    placement
        Where each op runs.
    scheduler
        Name in the catalogue, or a decorated function. Default: ``planned`` if the placement has a plan, else ``pct``.
    seed
        For schedulers with a random part.
    oom
        What happens when a device lacks memory: ``"mark"`` runs on (see ``schedule.oom``); ``"raise"`` stops; ``"wait"`` lets
        ops wait for room. A run that lacks none without waiting is the result of ``"wait"``, too. Otherwise the run begins
        anew, and an op starts when its device has room for all it may hold until it ends: temporary bytes and outputs, as if
        each output stayed. That is more than an output takes that its consumer picks up at once (``edges``), because no op
        knows what runs next. Even an op of no time waits. Tensors on their way do not wait for room; a shortage that they
        cause is marked.
    options
        Options of the scheduler.

    Returns
    -------
    Schedule
        The same for the same input in every process: ties are broken by op number, never by the order of a set or a heap.

    Raises
    ------
    InfeasibleError
        Under ``oom="raise"`` the first shortage; under ``"wait"`` a deadlock, naming the ops, never where ``"raise"``
        succeeds; a planned order that contradicts the edges.
    UnsupportedError
        No such scheduler or option, or ``planned`` after a partitioner without a plan.

    Notes
    -----
    O((ops + edges + transfers) log ops), with ``fair`` also O(transfers · pairs of devices); ``"wait"`` runs twice where memory
    is short. Transfers start when their producer ends (``parallel``; ``fair``, which shares links), are reserved in order of
    request (``sequential``) or wait for a channel; a tensor goes once to each device that consumes it. Ties of priority: what
    became executable first, at one instant a Send before an op, then the lower number. An instant is processed in
    rounds: completions, then transfers, then idle devices from the lowest up; where transfers have priorities, those that take
    time start last, when all of the instant have been requested
    (:mod:`placelab.kernels.events`).

    References
    ----------
    Mayer et al. (2017) §5; Jeon et al., Baechi (2020) §3.4, §4.2; Hashemi et al. (2018) §1; Abadi et al. (2015) §3.2.2.

    Examples
    --------
    >>> import placelab as pl
    >>> chain = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [(0, 1)], edge_bytes=[4.0])
    >>> problem = pl.Problem(chain, pl.Cluster([1.0, 1.0], bandwidth=2.0))
    >>> pl.simulate(problem, pl.Placement(problem, [0, 1]), "fifo").makespan
    7.0
    """
    expect(problem, Problem, "simulate")
    expect(placement, Placement, "simulate")
    if placement.problem is not problem:
        placement = replace(
            placement, problem=problem, bound=None, notes=()
        )  # what was proven holds for the other problem
    if oom not in OOM:
        raise FormatError(f"oom is {oom!r}; expected one of {', '.join(OOM)}")
    function = find(schedulers(), default_scheduler(placement) if scheduler is None else scheduler, "scheduler")
    return _simulated(placement, moves(problem, placement.device), _Way(function, seed, oom, options))


def repeater(schedule: Schedule) -> Callable[[Problem], Schedule]:
    """A function that runs a schedule's placement again, with its scheduler, on its problem with other costs.

    ``repeater(s)(problem)`` is ``simulate(problem, s.placement, s.scheduler, …)`` of a problem made by
    :meth:`Problem.with_costs`, without looking for the transfers again. Threads may share it.

    Raises
    ------
    UnsupportedError
        The schedule was not made by :func:`simulate`, or its scheduler is no longer in the catalogue.
    """
    if schedule.scheduler not in schedulers():
        raise UnsupportedError(
            f"the schedule was made by {schedule.scheduler or 'no scheduler'!r}, which cannot be run again; "
            "simulate its placement with a scheduler of the catalogue first"
        )
    way = _Way(schedulers()[schedule.scheduler], schedule.seed, schedule.shortage, schedule.options)
    placement, moved = schedule.placement, moves(schedule.problem, schedule.device)
    return lambda problem: _simulated(replace(placement, problem=problem, bound=None, notes=()), moved, way)


def runner(
    placement: Placement, scheduler: str | Scheduler | None = None, **options: Any
) -> Callable[[Problem, int], Schedule]:
    """A function that runs a placement many times, on its problem with other costs: (problem, seed) → schedule.

    A static scheduler sees the costs of ``placement.problem`` each time, as a framework that orders ops by estimates; it is
    asked once if it has no random part. Otherwise ``runner(p)(problem, seed)`` is ``simulate(problem, p, seed=seed)`` of a
    problem made by :meth:`Problem.with_costs`. Threads may share it.
    """
    function = find(schedulers(), default_scheduler(placement) if scheduler is None else scheduler, "scheduler")
    moved = moves(placement.problem, placement.device)
    planned = _planned(placement, moved, _Way(function, 0, "mark", options)) if function.static else None
    fixed = planned if "seed" not in function.reserved else None

    def run(problem: Problem, seed: int) -> Schedule:
        way = _Way(function, seed, "mark", options)
        order = _planned(placement, moved, way) if function.static and fixed is None else fixed
        return _simulated(replace(placement, problem=problem, bound=None, notes=()), moved, way, order)

    return run


def times_under(placement: Placement, order: Order) -> tuple[np.ndarray, np.ndarray]:
    """Start and finish of each op of a placement under an order [s], shapes (n_ops,); NaN where a plan lets it wait for ever."""
    way = _Way(schedulers()["fifo"], 0, "mark", {})
    run = _Run(placement, moves(placement.problem, placement.device), way, wait=False)
    with suppress(InfeasibleError):
        run.follow(_as_order(order, placement.problem, "order", run.n_transfers))
    return run.result.start, run.result.finish


class _Way(NamedTuple):
    """How a placement is run."""

    scheduler: Scheduler
    seed: int
    oom: str
    options: Mapping[str, Any]


def _simulated(placement: Placement, moved: Moves, way: _Way, order: Order | None = None) -> Schedule:
    """The schedule of a placement with these transfers; `order` instead of the one that a static scheduler gives."""
    problem, function = placement.problem, way.scheduler
    given = keywords(function, way.options, seed=way.seed)
    if function.static and order is None:
        order = _planned(placement, moved, way)
    schedule = _Run(placement, moved, way, wait=False).result_of(function, given, order)
    if way.oom == "wait" and len(schedule.oom):
        schedule = _Run(placement, moved, way, wait=True).result_of(function, given, order)
    if way.oom == "raise" and len(schedule.oom):
        d, begin, _, short = schedule.oom[0].tolist()
        raise InfeasibleError(
            f"device {problem.cluster.names[d]!r} is out of memory at {begin:.6g} s, {short:,.0f} bytes short "
            f"(memory model {problem.memory!r}); place fewer ops there, or simulate with oom='mark' to see the whole run"
        )
    return schedule


def _planned(placement: Placement, moved: Moves, way: _Way) -> Order:
    """The order that a static scheduler gives."""
    function, problem = cast(StaticScheduler, way.scheduler), placement.problem
    answer = function(problem, placement, **keywords(function, way.options, seed=way.seed))
    return _as_order(answer, problem, function.name, len(moved.copies.tensor))


def _as_order(answer: Any, problem: Problem, who: str, n_transfers: int) -> Order:
    """What a static scheduler returned, as a checked Order."""
    if not isinstance(answer, Order):
        pair = answer if isinstance(answer, tuple) else (answer, None)
        if len(pair) != 2:
            raise FormatError(
                f"scheduler {who!r} gave {len(pair)} arrays; expected op priorities, or (op, transfer) priorities"
            )
        answer = Order("priority", *pair)
    n, t, k = problem.graph.n_ops, problem.graph.n_tensors, problem.cluster.n_devices
    if answer.op is not None and np.shape(answer.op) != (n,):
        raise FormatError(f"scheduler {who!r} gave op priorities of shape {np.shape(answer.op)}; expected ({n},)")
    for label in ("transfer", "send"):
        value = getattr(answer, label)
        if value is not None and np.shape(value) not in ((t,), (t, k), (n_transfers, 1)):
            raise FormatError(
                f"scheduler {who!r} gave {label} priorities of shape {np.shape(value)}; expected ({t},), ({t}, {k}) or "
                f"({n_transfers}, 1)"
            )
    return answer


class _Run:
    """One simulation: the arrays that the kernel reads and writes."""

    def __init__(self, placement: Placement, moved: Moves, way: _Way, wait: bool) -> None:
        self.problem, self.placement, self.moves, self.way = placement.problem, placement, moved, way
        timed = self.problem.memory_model.timed
        self.memory = self.problem.memory_model.code if wait and timed else FREE
        if wait and not timed:
            _check_lasting(self.problem, placement)
        self.n_transfers = len(moved.copies.tensor)

    def result_of(self, rule: Scheduler, given: dict[str, Any], order: Order | None) -> Schedule:
        """The schedule of a scheduler: under the order it gave, or asking it whenever a device must choose."""
        if order is None:
            self.ask(cast(Rule, rule), given)
        else:
            self.follow(order)
        return self.schedule()

    def follow(self, order: Order) -> None:
        """Run to the end under a static order."""
        arrays = self._arguments(order, RULES[order.rule])
        events.run_events(*arrays)
        self._finish(arrays)

    def ask(self, rule: Rule, given: dict[str, Any]) -> None:
        """Run to the end, asking `rule` whenever a device must choose."""
        arrays = self._arguments(Order("fifo"), events.ASK)
        enter, views, write_back = events.run_events.bind(*arrays)
        view = Arguments(*views)
        state, queues = State(self.problem, self.placement, view, self.way.seed), view.order.ready
        while (device := enter()) >= 0:
            base, count = queues.base[device], queues.count[device]
            ready = sorted(v for v in map(int, queues.entry[base : base + count]) if state._fits(v))
            op = rule(state, device, ready, **given)
            if not isinstance(op, (int, np.integer)) or op not in ready:
                raise UnsupportedError(
                    f"scheduler {rule.name!r} chose {op!r}; it must choose one of the executable ops it was given"
                )
            view.answer[0] = int(op)
        write_back()
        self._finish(arrays)

    def schedule(self) -> Schedule:
        """The result as a Schedule."""
        times, copies = self.result, self.moves.copies
        transfers = np.empty(self.n_transfers, TRANSFER)
        transfers["tensor"], transfers["source"] = copies.tensor, copies.source
        transfers["destination"] = copies.destination
        sends = transfers.copy() if len(times.send_start) else np.empty(0, TRANSFER)
        transfers["start"], transfers["finish"] = times.transfer_start, times.transfer_finish
        sends["start"], sends["finish"] = times.send_start, times.send_finish
        way = self.way
        made_by = way.scheduler.name, way.seed, dict(way.options), way.oom
        return Schedule(self.placement, times.start, times.finish, transfers, sends, *made_by)

    def _arguments(self, order: Order, rule: int) -> Arguments:
        return arguments(self.problem, self.placement.device, self.moves, order, rule, self.memory)

    def _finish(self, arrays: Arguments) -> None:
        self.result = arrays.results
        if arrays.clock.count[events.DONE] < self.problem.graph.n_ops:
            raise InfeasibleError(_deadlock(self.problem, self.placement, arrays))


class State:
    """What a run-time rule may look at when it is asked: read-only.

    Attributes
    ----------
    problem, placement
        What is running, and where.
    time : float
        Now [s].
    random : numpy.random.Generator
        Seeded with the simulation's seed.
    """

    def __init__(self, problem: Problem, placement: Placement, view: Arguments, seed: int) -> None:
        self.problem, self.placement = problem, placement
        self._view, self._seed = view, seed

    @property
    def time(self) -> float:
        """Now [s]."""
        return float(self._view.clock.now[0])

    @cached_property
    def random(self) -> np.random.Generator:
        """A generator seeded with the simulation's seed."""
        return np.random.default_rng(self._seed)

    def exec_time(self, op: int) -> float:
        """Seconds that op takes on its device."""
        return float(self._view.ops.duration[op])

    def idle(self, device: int) -> bool:
        """Whether nothing runs on that device at the moment."""
        return not self._view.devices.busy[device]

    def missing_inputs(self, op: int) -> int:
        """Number of inputs (edges) of that op that have not arrived yet."""
        return int(self._view.ops.missing[op])

    def executable_since(self, op: int) -> float:
        """Time at which the last input of an executable op arrived [s]; 0 for an op without inputs."""
        graph, view = self.problem.graph, self._view
        arrival = 0.0
        for e in graph.pred_edge[graph.pred_ptr[op] : graph.pred_ptr[op + 1]]:
            x = view.copies.of_edge[e]
            came = view.results.transfer_finish[x] if x >= 0 else view.results.finish[graph.producer[e]]
            arrival = max(arrival, came)
        return float(arrival)

    def _fits(self, op: int) -> bool:
        view = self._view
        return bool(fits(op, view.ops.device[op], view.pred, view.copies.of_edge, view.memory))


def _check_lasting(problem: Problem, placement: Placement) -> None:
    need = np.bincount(placement.device, problem.lasting, minlength=problem.cluster.n_devices)
    over = np.flatnonzero(need > problem.cluster.memory * (1 + TOLERANCE))
    if len(over):
        d = over[0]
        raise InfeasibleError(
            f"device {problem.cluster.names[d]!r} has {problem.cluster.memory[d]:,.0f} bytes, but its ops reserve "
            f"{need[d]:,.0f} for the whole run; waiting cannot help: place fewer ops there"
        )


def _deadlock(problem: Problem, placement: Placement, arrays: Arguments) -> str:
    graph, cluster = problem.graph, problem.cluster
    left = np.flatnonzero(np.isnan(arrays.results.finish))
    ready = left[arrays.ops.missing[left] == 0]
    if arrays.memory.needs.model != FREE:
        used = arrays.memory.use.bytes
        lacks = [
            f"{graph.names[v]!r} on {cluster.names[d]!r} ({used[d]:,.0f} of {cluster.memory[d]:,.0f} bytes in use)"
            for v, d in zip(ready[:3], placement.device[ready[:3]], strict=True)
        ]
        more = f" and {len(ready) - 3} more" if len(ready) > 3 else ""
        if lacks:
            return (
                f"out of memory: {', '.join(lacks)}{more} wait for room that nothing will free; place fewer ops there"
            )
    sequence = arrays.order.sequence
    first = left[sequence.op[sequence.next[placement.device[left]]] == left]
    names = ", ".join(repr(graph.names[v]) for v in first[:3])
    return f"the planned order contradicts the graph: {names} wait for ops planned after them; plan each op after its inputs"

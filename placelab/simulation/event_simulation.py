"""Simulate a placement on a cluster: the event simulator's public function."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError, UnsupportedError, expect
from placelab.kernels.blocks import FREE
from placelab.kernels.run import events
from placelab.kernels.run.simulation_blocks import Arguments, Results
from placelab.planning.depth_first import depth_first_order
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import (
    Rule,
    RunState,
    Scheduler,
    StaticScheduler,
    checked,
    default_scheduler,
    find,
    keywords,
    schedulers,
)
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TOLERANCE, TRANSFER, Schedule
from placelab.simulation.kernel_arrays import RULES, PlacementTransfers, arguments, moves

OOM = ("mark", "raise", "wait")


@checked
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
    (:mod:`placelab.kernels.run.events`).

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
    return simulated(*run_of(problem, placement, scheduler, seed, oom, options))


def times_under(placement: Placement, order: Order) -> tuple[np.ndarray, np.ndarray]:
    """Start and finish of each op of a placement under an order [s], shapes (n_ops,); NaN where a plan lets it wait for ever."""
    settings = RunSettings(schedulers()["fifo"], 0, "mark", {})
    run = _Simulation(placement, moves(placement.problem, placement.device), settings, wait=False)
    with suppress(InfeasibleError):
        run.follow(_as_order(order, placement.problem, "order", run.n_transfers))
    return run.result.start, run.result.finish


class RunSettings(NamedTuple):
    """How a placement is run."""

    scheduler: Scheduler
    seed: int
    oom: str
    options: Mapping[str, Any]


class RunRequest(NamedTuple):
    """What :func:`simulated` takes.

    Attributes
    ----------
    placement, moved
        Where ops run, on which problem, and the transfers of that.
    settings
        How it is run.
    order
        What its static scheduler gave; None: it is asked, and sees the costs of the placement's problem.
    """

    placement: Placement
    moved: PlacementTransfers
    settings: RunSettings
    order: Order | None = None

    def on(self, problem: Problem) -> RunRequest:
        """This run with other costs, of a problem made by :meth:`Problem.with_costs`."""
        return self._replace(placement=replace(self.placement, problem=problem, bound=None, notes=()))

    def by(self, scheduler: Scheduler) -> RunRequest:
        """This run by another scheduler, with its default options."""
        return self._replace(settings=self.settings._replace(scheduler=scheduler, options={}))


def run_of(
    problem: Problem,
    placement: Placement,
    scheduler: str | Scheduler | None,
    seed: int,
    oom: str,
    options: Mapping[str, Any],
) -> RunRequest:
    """The run that :func:`simulate` is asked for."""
    expect(problem, Problem, "simulate")
    expect(placement, Placement, "simulate")
    if placement.problem is not problem:  # what was proven holds for the other problem
        placement = replace(placement, problem=problem, bound=None, notes=())
    if oom not in OOM:
        raise FormatError(f"oom is {oom!r}; expected one of {', '.join(OOM)}")
    function = find(schedulers(), default_scheduler(placement) if scheduler is None else scheduler, "scheduler")
    return RunRequest(placement, moves(problem, placement.device), RunSettings(function, seed, oom, options))


def simulated(
    placement: Placement, moved: PlacementTransfers, settings: RunSettings, order: Order | None = None
) -> Schedule:
    """The schedule of a placement with these transfers; `order` instead of the one that a static scheduler gives."""
    problem = placement.problem
    function = settings.scheduler
    given = keywords(function, settings.options, seed=settings.seed)
    if function.static and order is None:
        order = _order_of(placement, moved, settings, given)
    schedule = _Simulation(placement, moved, settings, wait=False).result_of(function, given, order)
    if settings.oom == "wait" and len(schedule.oom):
        schedule = _Simulation(placement, moved, settings, wait=True).result_of(function, given, order)
    if settings.oom == "raise" and len(schedule.oom):
        d, begin, _, short = schedule.oom[0].tolist()
        raise InfeasibleError(
            f"device {problem.cluster.names[d]!r} is out of memory at {begin:.6g} s, {short:,.0f} bytes short "
            f"(memory model {problem.memory!r}); place fewer ops there, or simulate with oom='mark' to see the whole run"
        )
    return schedule


def static_order(placement: Placement, moved: PlacementTransfers, settings: RunSettings) -> Order:
    """The order that a static scheduler gives, checked."""
    return _order_of(placement, moved, settings, keywords(settings.scheduler, settings.options, seed=settings.seed))


def _order_of(
    placement: Placement, moved: PlacementTransfers, settings: RunSettings, given: Mapping[str, Any]
) -> Order:
    function = cast(StaticScheduler, settings.scheduler)
    problem = placement.problem
    return _as_order(function(problem, placement, **given), problem, function.name, len(moved.copies.tensor))


def _as_order(answer: Any, problem: Problem, who: str, n_transfers: int) -> Order:
    """What a static scheduler returned, as a checked Order."""
    if not isinstance(answer, Order):
        pair = answer if isinstance(answer, tuple) else (answer, None)
        if len(pair) != 2:
            raise FormatError(
                f"scheduler {who!r} gave {len(pair)} arrays; expected op priorities, or (op, transfer) priorities"
            )
        answer = Order("priority", *pair)
    n = problem.graph.n_ops
    t = problem.graph.n_tensors
    k = problem.cluster.n_devices
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


def schedule_of(placement: Placement, moved: PlacementTransfers, settings: RunSettings, times: Results) -> Schedule:
    """The results of a run as a Schedule."""
    copies = moved.copies
    transfers = np.empty(len(copies.tensor), TRANSFER)
    transfers["tensor"] = copies.tensor
    transfers["source"] = copies.source
    transfers["destination"] = copies.destination
    sends = transfers.copy() if len(times.send_start) else np.empty(0, TRANSFER)
    transfers["start"] = times.transfer_start
    transfers["finish"] = times.transfer_finish
    sends["start"] = times.send_start
    sends["finish"] = times.send_finish
    made_by = settings.scheduler.name, settings.seed, dict(settings.options), settings.oom
    return Schedule(placement, times.start, times.finish, transfers, sends, *made_by)


class _Simulation:
    """One simulation: the arrays that the kernel reads and writes."""

    def __init__(self, placement: Placement, moved: PlacementTransfers, settings: RunSettings, wait: bool) -> None:
        self.problem = placement.problem
        self.placement = placement
        self.moves = moved
        self.settings = settings
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
        return schedule_of(self.placement, self.moves, self.settings, self.result)

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
        state = RunState(self.problem, self.placement, view, self.settings.seed)
        queues = view.order.ready
        while (device := enter()) >= 0:
            base = queues.base[device]
            count = queues.count[device]
            ready = sorted(v for v in map(int, queues.entry[base : base + count]) if state.fits(v))
            op = rule(state, device, ready, **given)
            if not isinstance(op, (int, np.integer)) or op not in ready:
                raise UnsupportedError(
                    f"scheduler {rule.name!r} chose {op!r}; it must choose one of the executable ops it was given"
                )
            view.answer[0] = int(op)
        write_back()
        self._finish(arrays)

    def _arguments(self, order: Order, rule: int) -> Arguments:
        return arguments(self.problem, self.placement.device, self.moves, order, rule, self.memory)

    def _finish(self, arrays: Arguments) -> None:
        self.result = arrays.results
        if arrays.clock.count[events.DONE] < self.problem.graph.n_ops:
            message = _deadlock(self.problem, self.placement, arrays)
            if self.memory == FREE:
                raise InfeasibleError(message)
            least = self._least_memory()
            raise InfeasibleError(
                f"{message}, or run the scheduler 'depth-first' on devices of {least:.6g} bytes each, which suffice",
                stuck=True,
                suffices=least,
            )

    def _least_memory(self) -> float:
        """Bytes on each device with which this placement runs in the depth-first order."""
        order = Order("planned", depth_first_order(self.problem))
        run = _Simulation(self.placement, self.moves, self.settings._replace(oom="mark"), wait=False)
        run.follow(order)
        return float(schedule_of(self.placement, self.moves, run.settings, run.result).peak_memory.max())


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
    graph = problem.graph
    cluster = problem.cluster
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

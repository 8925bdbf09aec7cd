"""Make many runs of one graph; those that are alike, and many placements, are one call of the simulator's kernel."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, cast

import numpy as np

from placelab.base import threads
from placelab.base.errors import FormatError, InfeasibleError, UnsupportedError, expect
from placelab.base.index_arrays import frozen
from placelab.base.progress import never
from placelab.base.threads import cores
from placelab.kernels import blocks
from placelab.kernels.blocks import CHANNEL, FREE, PARALLEL, PORTS
from placelab.kernels.run import events
from placelab.kernels.run import simulation_blocks as simulating
from placelab.planning import plan_arrays
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import checked, schedulers
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import (
    RunRequest,
    RunSettings,
    schedule_of,
    simulated,
    static_order,
    times_under,
)
from placelab.simulation.kernel_arrays import (
    F8,
    I4,
    I8,
    NO_RESULTS,
    NO_ROWS,
    RULES,
    PlacementTransfers,
    arguments,
    moves,
    ranks,
    results,
    transfer_ranks,
    wires,
)

MOVABLE = (PARALLEL, PORTS, CHANNEL)  # contention under which ops may be on other devices in each run of a call


def run_again(schedule: Schedule) -> RunRequest:
    """The run that gave a schedule.

    Raises
    ------
    UnsupportedError
        The schedule was not made by :func:`placelab.simulate`, or its scheduler is no longer in the catalogue.
    """
    if schedule.scheduler not in schedulers():
        raise UnsupportedError(
            f"the schedule was made by {schedule.scheduler or 'no scheduler'!r}, which cannot be run again; "
            "simulate its placement with a scheduler of the catalogue first"
        )
    settings = RunSettings(schedulers()[schedule.scheduler], schedule.seed, schedule.oom_rule, schedule.options)
    return RunRequest(schedule.placement, moves(schedule.problem, schedule.device), settings)


def simulate_all(runs: Sequence[RunRequest]) -> list[Schedule | Exception]:
    """The schedule of each run, to the last bit :func:`placelab.simulate`'s; instead of it what that would raise.

    All are runs of one graph, on problems that differ in costs alone. O(runs · (ops + edges + transfers) log ops).
    """
    ordered = [_ordered(run) for run in runs]
    found = dict[int, Schedule]()
    for places, arrays in _calls(ordered, whole=True):
        for i, place in enumerate(places):
            if not np.isnan(arrays.batch.makespan[i]):
                run = runs[place]
                found[place] = schedule_of(run.placement, run.moved, run.settings, _row(arrays, i, run))
    return [_settled(run, found.get(i)) for i, run in enumerate(ordered)]


def makespans_of(runs: Sequence[RunRequest]) -> list[float]:
    """The makespan of each run [s], as :func:`placelab.simulate` has it; NaN where that raises InfeasibleError."""
    ordered = [_ordered(run) for run in runs]
    found = dict[int, float]()
    if all(run.settings.oom == "mark" for run in runs):
        for places, arrays in _calls(ordered, whole=False):
            found |= zip(places, arrays.batch.makespan.tolist(), strict=True)
    for i, run in enumerate(ordered):
        if np.isnan(found.get(i, np.nan)):
            try:
                found[i] = schedule_or_raise(_settled(run)).makespan
            except InfeasibleError:
                found[i] = np.nan
    return [found[i] for i in range(len(runs))]


def schedule_or_raise(found: Schedule | Exception) -> Schedule:
    """The schedule, if :func:`simulate_all` has found one."""
    if isinstance(found, Exception):
        raise found
    return found


def _ordered(run: RunRequest) -> RunRequest | Exception:
    """The run with the order of its scheduler, unless that is asked while it runs."""
    if run.order is not None or not run.settings.scheduler.static:
        return run
    try:
        return run._replace(order=static_order(run.placement, run.moved, run.settings))
    except Exception as error:  # a user's scheduler may raise anything
        return error


def _settled(run: RunRequest | Exception, schedule: Schedule | None = None) -> Schedule | Exception:
    """The schedule, if it is what the run has to give; else that of a call of its own, or what it raises."""
    if isinstance(run, Exception):
        return run
    if schedule is not None and (run.settings.oom == "mark" or not len(schedule.oom)):
        return schedule
    try:
        return simulated(*run)
    except Exception as error:
        return error


# -------------------------------------------------------------------- runs that are alike


def _calls(runs: Sequence[RunRequest | Exception], whole: bool) -> Iterator[tuple[list[int], simulating.Arguments]]:
    """Positions of runs that are alike, and what the kernel has made of them; `whole`: with their times."""
    groups: dict[Hashable, list[int]] = {}
    for i, run in enumerate(runs):
        if isinstance(run, RunRequest) and run.order is not None:
            groups.setdefault(_kind(run, run.order), []).append(i)
    for places in groups.values():
        if len(places) > 1:
            arrays = _arguments([cast(RunRequest, runs[i]) for i in places], whole)
            events.run_events(*arrays)
            yield places, arrays


def _kind(run: RunRequest, order: Order) -> Hashable:
    """What runs of one call have in common."""
    waits = order.not_before
    orders = order.rule, *(part is None for part in (order.op, order.transfer, order.send, waits))
    if is_movable(run.placement.problem, order):
        return orders
    links = run.placement.problem.cluster.links
    return *orders, order.static, order.weights, None if waits is None else waits.tobytes(), links, id(run.moved)


def is_movable(problem: Problem, order: Order) -> bool:
    """Whether ops may be on other devices in each run of a call."""
    plain = order.rule != "msr" and order.transfer is None and order.send is None and order.not_before is None
    return plain and not problem.transfer_ops and problem.transfer_model.code in MOVABLE


def _arguments(runs: list[RunRequest], whole: bool) -> simulating.Arguments:
    """Everything the kernel takes for runs that are alike."""
    first = runs[0]
    orders = [cast(Order, run.order) for run in runs]
    problem = first.placement.problem
    order = orders[0]
    device = first.placement.device
    moved = first.moved
    devices = [run.placement.device for run in runs]
    work = _NO_WORK
    rows = _cost_rows([run.placement.problem for run in runs], devices)
    if any(run.moved is not moved for run in runs):
        device, moved, work = room(problem)
        rows = rows._replace(device=_joined(devices, I4))
    if order.rule == "planned":
        rows = rows._replace(sequence=_joined([one.op for one in orders], I4))
    kept = results(problem, len(moved.copies.tensor), len(runs)) if whole else NO_RESULTS
    arrays = arguments(
        problem, device, moved, order, RULES[order.rule], FREE, batch(problem, rows, len(runs), kept, work)
    )
    return arrays if all(one is order for one in orders) else _with_ranks(arrays, problem, orders)


def room(problem: Problem) -> tuple[np.ndarray, PlacementTransfers, blocks.Sorting]:
    """A device of each op and room for any transfers, both of which each run writes, and workspace for that."""
    work, receivers, copies = plan_arrays.transfers(problem)
    for column in (copies.tensor, copies.destination, copies.source):
        column[:] = 0
    copies.of_edge[:] = -1
    return np.zeros(problem.graph.n_ops, I4), PlacementTransfers(receivers=receivers, copies=copies), work


def batch(
    problem: Problem, rows: simulating.Rows, runs: int, kept: simulating.Results, work: blocks.Sorting
) -> simulating.Batch:
    """Some runs whose results are `kept`; with rows of devices they need `work` (:func:`room`)."""
    queue = _queue_of_pair(problem) if len(rows.device) else _NO_QUEUE
    times = plan_arrays.times(problem)
    succ = plan_arrays.successors(problem.graph)
    return simulating.Batch(rows, np.empty(runs), kept, queue, times, succ, work)


def _cost_rows(problems: list[Problem], devices: list[np.ndarray]) -> simulating.Rows:
    """The costs that differ, run by run."""
    first = problems[0]
    rows = NO_ROWS
    if any(problem is not first for problem in problems):
        durations = [plan_arrays.durations(problem, device) for problem, device in zip(problems, devices, strict=True)]
        rows = rows._replace(duration=_joined(durations, F8))
    if any(problem.graph is not first.graph for problem in problems):
        rows = rows._replace(tensor_bytes=_joined([problem.graph.tensor_bytes for problem in problems], F8))
    if any(problem.cluster is not first.cluster for problem in problems):
        columns = zip(*map(wires, problems), strict=True)
        latency, bandwidth, send = (_joined(column, F8) for column in columns)
        rows = rows._replace(latency=latency, bandwidth=bandwidth, send=send)
    return rows


def _with_ranks(arrays: simulating.Arguments, problem: Problem, orders: list[Order]) -> simulating.Arguments:
    """The arguments with the places that items and transfers have in each run's order."""
    kind = arrays.order.rule.kind
    rows = arrays.batch.rows
    scheduling = arrays.order
    if kind in (events.PRIORITY, events.FIFO) and orders[0].op is not None:
        rank, shared, item = zip(*(ranks(problem, arrays.copies, order, kind) for order in orders), strict=True)
        rows = rows._replace(rank=_joined(rank, I4), item=_joined(item, I4))
        if any(map(len, shared)):  # some have items of equal priority
            alone = np.full(len(rank[0]), -1, I4)
            rows = rows._replace(first=_joined([first if len(first) else alone for first in shared], I4))
            scheduling = scheduling._replace(classes=simulating.Classes(*(alone.copy() for _ in range(3))))
    if orders[0].transfer is not None:
        rows = rows._replace(transfer_rank=_joined([transfer_ranks(arrays.copies, order) for order in orders], I8))
    return arrays._replace(order=scheduling, batch=arrays.batch._replace(rows=rows))


def _joined(rows: Sequence[Any], kind: type) -> np.ndarray:
    return frozen(np.concatenate(rows).astype(kind, copy=False))


def _row(arrays: simulating.Arguments, i: int, run: RunRequest) -> simulating.Results:
    """The results of run number i of a call."""
    runs = len(arrays.batch.makespan)
    x = len(run.moved.copies.tensor)
    start, finish, *moved = (column.reshape(runs, -1)[i] for column in arrays.batch.results)
    return simulating.Results(start, finish, *(column[:x] for column in moved))


def _queue_of_pair(problem: Problem) -> np.ndarray:
    """The queue in which a transfer waits by its pair of devices, int64 (k * k,); empty where transfers wait for no channel."""
    row = problem.transfer_model
    k = problem.cluster.n_devices
    if row.code != CHANNEL:
        return _NO_QUEUE
    (queue,) = row.occupied(*np.divmod(np.arange(k * k), k), problem.cluster, problem.duplex)
    return frozen(queue)


_NO_QUEUE = frozen(np.empty(0, I8))
_NO_WORK = blocks.Sorting(np.empty(0, I4), np.empty(0, I4), np.empty(0, I4))


ENOUGH = 20_000  # ops that a thread is worth


@checked
def makespans(problem: Problem, devices: Any, order: Order | None = None, *, sequences: Any = None) -> np.ndarray:
    """Simulate many placements of a problem.

    Parameters
    ----------
    devices
        Device number of each op, shape (placements, n_ops).
    order
        What all of them follow; default: first come, first served, as the scheduler ``fifo``.
    sequences
        Plans instead: each placement's ops in the order in which devices run their own, shape (placements, n_ops), as
        ``Placement.planned``.

    Returns
    -------
    ndarray, shape (placements,), float64
        Makespans [s], to the last bit those of :func:`placelab.simulate`, which marks a shortage of memory and runs on. NaN for
        a plan that contradicts the graph.

    Raises
    ------
    FormatError
        Other shapes; a number that is none of a device; a sequence without some op; an order of other ops.
    InfeasibleError
        An op is where it may not run, or a colocation group on two devices.

    Notes
    -----
    All cores, each with its share of the placements in one call; which core runs which does not matter to the result. Where an
    order has priorities of transfers, the rule ``msr`` or times before which ops do not start, or the problem Send ops, each
    placement is a call of its own. O(placements · (ops + edges + transfers) log ops).

    Examples
    --------
    >>> import placelab as pl
    >>> two = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [])
    >>> makespans(pl.Problem(two, pl.Cluster([1.0, 1.0], bandwidth=1.0)), [[0, 0], [0, 1]]).tolist()
    [5.0, 3.0]
    """
    expect(problem, Problem, "makespans")
    if order is not None and sequences is not None:
        raise FormatError("makespans takes an order for all placements, or a sequence for each, not both")
    if order is not None:
        expect(order, Order, "makespans, as its order,")
        if order.op is not None and np.shape(order.op) != (problem.graph.n_ops,):
            raise FormatError(
                f"the order has {np.size(order.op)} numbers; expected one for each of {problem.graph.n_ops} ops"
            )
    rows = _checked(problem, devices)
    plans = np.empty((len(rows), 0), np.int32)
    if sequences is not None:
        plans = _sequences(sequences, rows)
        order = Order("planned", np.arange(problem.graph.n_ops))
    elif order is None:
        order = Order("fifo")
    elif order.rule == "planned" and order.op is not None:
        plans = np.broadcast_to(np.asarray(order.op, np.int32), rows.shape)
    shares = np.array_split(np.arange(len(rows)), _shares(rows))
    run = _in_one_call if is_movable(problem, order) else _one_by_one
    result = np.empty(len(rows))
    for i, part in threads.results(
        lambda share: run(problem, rows[share], order, plans[share]), shares, never, threads=len(shares)
    ):
        result[shares[i]] = part
    return result


def _shares(rows: np.ndarray) -> int:
    """How many threads are worth their while."""
    return max(1, min(cores(), len(rows), rows.size // ENOUGH))


def _in_one_call(problem: Problem, devices: np.ndarray, order: Order, plans: np.ndarray) -> np.ndarray:
    if not len(devices):
        return np.empty(0)
    device, moved, work = room(problem)
    rows = NO_ROWS._replace(device=frozen(devices.reshape(-1)), sequence=frozen(plans.reshape(-1)))
    runs = batch(problem, rows, len(devices), NO_RESULTS, work)
    events.run_events(*arguments(problem, device, moved, order, RULES[order.rule], blocks.FREE, runs))
    return runs.makespan


def _one_by_one(problem: Problem, devices: np.ndarray, order: Order, plans: np.ndarray) -> np.ndarray:
    each = [Order("planned", plan) if order.not_before is None else order for plan in plans] if plans.size else None
    return np.array(
        [times_under(Placement(problem, row), each[i] if each else order)[1].max() for i, row in enumerate(devices)]
    )


def _checked(problem: Problem, devices: Any) -> np.ndarray:
    """The devices as a fresh table, checked: the kernel does not look where it writes."""
    rows = _table(devices, "devices", problem.graph.n_ops)
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    if rows.size and (rows.min() < 0 or rows.max() >= k):
        b, v = np.argwhere((rows < 0) | (rows >= k))[0]
        raise FormatError(
            f"op {problem.graph.names[v]!r} is on device {rows[b, v]} in placement {b}; the cluster has devices 0 to {k - 1}"
        )
    wrong = np.zeros(len(rows), dtype=bool)
    if problem.restricted:
        wrong |= ~problem.may_run[np.arange(n), rows].all(axis=1)
    if problem.n_groups:
        first = problem.group_ops[problem.group_ptr[:-1]][problem.group[problem.group_ops]]
        wrong |= (rows[:, problem.group_ops] != rows[:, first]).any(axis=1)
    for b in np.flatnonzero(wrong)[:1]:
        try:
            Placement(problem, rows[b])
        except InfeasibleError as error:
            raise InfeasibleError(f"placement {b}: {error}") from None
    return rows


def _sequences(sequences: Any, devices: np.ndarray) -> np.ndarray:
    rows = _table(sequences, "sequences", devices.shape[1])
    if rows.shape != devices.shape:
        raise FormatError(f"there are {len(rows)} sequences for {len(devices)} placements; expected one for each")
    bad = (np.sort(rows, axis=1) != np.arange(rows.shape[1])).any(axis=1)
    if bad.any():
        raise FormatError(f"sequence {int(bad.argmax())} must name each of the {rows.shape[1]} ops once")
    return rows


def _table(value: Any, what: str, n: int) -> np.ndarray:
    try:
        given = np.asarray(value)
    except ValueError:
        raise FormatError(f"{what} are of several lengths; expected whole numbers of shape (placements, {n})") from None
    if given.size and given.dtype.kind not in "iu":
        raise FormatError(
            f"{what} has {given.ravel().tolist()[0]!r:.60}; expected whole numbers of shape (placements, {n})"
        )
    if given.ndim != 2 or given.shape[1] != n:
        raise FormatError(f"{what} have shape {given.shape}; expected whole numbers of shape (placements, {n})")
    if given.size and (given.min() < -(2**31) or given.max() >= 2**31):
        raise FormatError(f"{what} must be below 2³¹")
    return np.array(given, dtype=np.int32, order="C")

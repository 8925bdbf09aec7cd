"""Makespans of many placements of one problem: one call of the simulator's kernel per core."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError, expect
from placelab.base.index_arrays import frozen
from placelab.base.progress import never
from placelab.base.threads import cores, results
from placelab.kernels import codes
from placelab.kernels.run import events
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import checked
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.simulation.batches import batch, is_movable, room
from placelab.simulation.event_simulation import times_under
from placelab.simulation.kernel_arrays import NO_RESULTS, NO_ROWS, RULES, arguments

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
        plans, order = _sequences(sequences, rows), Order("planned", np.arange(problem.graph.n_ops))
    elif order is None:
        order = Order("fifo")
    elif order.rule == "planned" and order.op is not None:
        plans = np.broadcast_to(np.asarray(order.op, np.int32), rows.shape)
    shares = np.array_split(np.arange(len(rows)), _shares(rows))
    run = _in_one_call if is_movable(problem, order) else _one_by_one
    result = np.empty(len(rows))
    for i, part in results(
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
    events.run_events(*arguments(problem, device, moved, order, RULES[order.rule], codes.FREE, runs))
    return runs.makespan


def _one_by_one(problem: Problem, devices: np.ndarray, order: Order, plans: np.ndarray) -> np.ndarray:
    each = [Order("planned", plan) if order.not_before is None else order for plan in plans] if plans.size else None
    return np.array(
        [times_under(Placement(problem, row), each[i] if each else order)[1].max() for i, row in enumerate(devices)]
    )


def _checked(problem: Problem, devices: Any) -> np.ndarray:
    """The devices as a fresh table, checked: the kernel does not look where it writes."""
    rows, n, k = _table(devices, "devices", problem.graph.n_ops), problem.graph.n_ops, problem.cluster.n_devices
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
    given = np.asarray(value)
    if given.dtype.kind not in "iu" or given.ndim != 2 or given.shape[1] != n:
        raise FormatError(f"{what} have shape {given.shape}; expected whole numbers of shape (placements, {n})")
    if given.size and (given.min() < -(2**31) or given.max() >= 2**31):
        raise FormatError(f"{what} must be below 2³¹")
    return np.array(given, dtype=np.int32, order="C")

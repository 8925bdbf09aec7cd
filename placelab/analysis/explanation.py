"""Explain a schedule: the realised critical path, why an op started when it did, and its slack."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.base.index_arrays import frozen
from placelab.base.interrupts import need
from placelab.kernels import blocks
from placelab.kernels import explain as kernels
from placelab.kernels.plan import ranks
from placelab.schedule.critical_steps import StepsBack, critical_steps, said_of_sharing
from placelab.schedule.independent_checks import HeldBytes
from placelab.schedule.schedule import Schedule, carriers

if TYPE_CHECKING:
    import pandas as pd

KINDS = ("op", "transfer", "wait")
COLUMNS = ("kind", "name", "device", "start", "finish", "reason")
FEW = 3  # ops that a sentence names


def critical_path(schedule: Schedule, to: int | str | None = None) -> pd.DataFrame:
    """What the makespan is made of: a chain of ops, transfers and waits from 0 to the last finish, without a gap.

    From the op that finishes last (ties: lowest number), or from `to`, back through what it waited for. An op that starts
    when its last input arrives waited for that: the way goes on with the transfer or the op that brought it (kinds
    ``transfer``, ``op``). One that was ready earlier queued for its device, and the way goes on with the op before it
    there, whose time is a ``wait``; likewise a transfer that queued for a port or channel. A Send op counts as
    ``transfer``. One that shared its links does not wait; `reason` says with whom, and how much longer it took. An op that was
    ready on an idle device waited for room in memory, if there was none: `reason` says what took it, first what gave it back.

    Parameters
    ----------
    schedule
        From :func:`placelab.simulate`, :func:`placelab.solve`, or a file.
    to
        The op with which the chain ends, a name or number; default: the one that finishes last.

    Returns
    -------
    DataFrame
        ``kind`` (``op``, ``transfer``, ``wait``), ``name`` (op, or the op whose output travels, or the op that waited),
        ``device`` (of a transfer: where it goes), ``start``, ``finish`` [s], ``reason``. Each row starts when the one
        before it finishes.

    Notes
    -----
    O((ops + transfers) log + edges). :func:`placelab.schedule.critical_steps.critical_steps` is the same as an array.

    References
    ----------
    Topcuoglu et al. (2002) for paths; Srivastava (2018) §3.3.1 for waits.
    """
    need("pandas")
    import pandas as pd

    expect(schedule, Schedule, "critical_path")
    steps = critical_steps(schedule) if to is None else StepsBack(schedule).to(_number(schedule, to))
    sharing = said_of_sharing(
        schedule, steps["by"][(steps["kind"] == kernels.TRANSFER) & (steps["cause"] != kernels.BY_SEND)]
    )
    held = HeldBytes(schedule)
    rows = [described(schedule, step, held, sharing) for step in steps]
    rows[-1] = (*rows[-1][:-1], "finishes last" if to is None else "the path is to it")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _number(schedule: Schedule, op: int | str) -> int:
    """The number of an op, given by name or number."""
    graph = schedule.problem.graph
    if isinstance(op, str):
        return graph.index(op)
    expect(op, (int, np.integer), "an op, a name or number,")
    if not 0 <= op < graph.n_ops:
        raise FormatError(f"there is no op number {op}; {graph.title} has ops 0 to {graph.n_ops - 1}")
    return int(op)


def described(schedule: Schedule, step: np.void, held: HeldBytes, sharing: Mapping[int, str] | None = None) -> tuple:
    """A step of the critical path in words: one row of :func:`critical_path`.

    Parameters
    ----------
    step
        Of :func:`placelab.schedule.critical_steps.critical_steps`.
    held
        The memory of the schedule.
    sharing
        What is said of transfers that shared links, by row.
    """
    names = schedule.problem.graph.names
    devices = schedule.problem.cluster.names
    kind, row, cause, by = (int(step[label]) for label in ("kind", "row", "cause", "by"))
    moved = schedule.transfers[by] if _moves(step) else None
    if moved is None:  # an op, or a wait for one or for memory
        d = schedule.device[by if cause == kernels.BY_OP else row]
        reason = "its output is awaited"
        if kind == kernels.WAIT:
            span = float(step["start"]), float(step["finish"])
            reason = f"{devices[d]} ran {names[by]}" if cause == kernels.BY_OP else kept(held, row, *span)
        return KINDS[kind], names[row], devices[d], step["start"], step["finish"], reason
    made = names[schedule.problem.graph.tensor_producer[moved["tensor"]]]
    source = devices[moved["source"]]
    link = f"{devices[moved['source']]} → {devices[moved['destination']]}"
    if kind == kernels.WAIT:
        reason = f"{link} carried {made}" if cause == kernels.BY_LINK else f"{source} ran the Send of {made}"
        return KINDS[kind], names[row], source, step["start"], step["finish"], reason
    sent = cause == kernels.BY_SEND
    where = source if sent else devices[moved["destination"]]
    reason = f"Send op {link}" if sent else f"transfer {link}{(sharing or {}).get(by, '')}"
    return KINDS[kind], made, where, step["start"], step["finish"], reason


def _moves(step: np.void) -> bool:
    """Whether `by` of a step is a transfer."""
    return step["kind"] == kernels.TRANSFER or (step["kind"] == kernels.WAIT and step["cause"] >= kernels.BY_SEND)


def kept(held: HeldBytes, op: int, begin: float, end: float) -> str:
    """Why an op that was ready did not start in [begin, end) on its device, which was idle. `held`: memory of the schedule."""
    if held.has_room(op, begin, end):
        return "not started though it could"
    problem = held.problem
    holders = held.holders(int(held.device[op]), end)
    some = [f"{problem.graph.names[v]} {problem.cluster.units.amount(size, 'B')}" for v, size in holders[:FEW]]
    more = f" and {len(holders) - FEW} more" if len(holders) > FEW else ""
    return f"no room in memory, taken by {', '.join(some)}{more}" if some else "no room in memory"


def why(schedule: Schedule, op: int | str) -> str:
    """Why op (a name or number) started when it did, in one sentence.

    Examples
    --------
    >>> import placelab as pl
    >>> chain = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [(0, 1)], edge_bytes=[4.0])
    >>> problem = pl.Problem(chain, pl.Cluster([1.0, 1.0], bandwidth=2.0))
    >>> why(pl.simulate(problem, pl.Placement(problem, [0, 1])), "b")
    'b on dev1 waited 4 for a from dev0 (transfer 2)'
    """
    expect(schedule, Schedule, "why")
    problem = schedule.problem
    graph = schedule.problem.graph
    device = schedule.device
    v = _number(schedule, op)
    time = problem.cluster.units.time
    names = graph.names
    devices = problem.cluster.names
    began = schedule.start[v]
    idle_from, runner = _before(schedule, v)
    edge, arrived, x = _last_input(schedule, v)
    here = f"{names[v]} on {devices[device[v]]}"
    if began <= 0:
        return f"{here} started at once" + (": it has no inputs" if edge < 0 else "")
    if edge >= 0 and arrived >= began:
        u = graph.producer[edge]
        if x < 0:
            return f"{here} started as soon as its input {names[u]} was done"
        moved = schedule.transfers[x]
        took = f"transfer {time(moved['finish'] - moved['start'])}"
        queued = moved["start"] - (schedule.sends["finish"][x] if len(schedule.sends) else schedule.finish[u])
        sharing = said_of_sharing(schedule, np.array([x])).get(x, "")
        took += f", after {time(queued)} in line for the link" if queued > 0 else sharing
        if idle_from >= began:
            return f"{here} started when {names[u]} arrived from {devices[device[u]]} ({took})"
        return f"{here} waited {time(began - idle_from)} for {names[u]} from {devices[device[u]]} ({took})"
    ready = f"ready at {time(arrived)}, " if edge >= 0 else ""
    if idle_from >= began:
        return f"{here} was {ready}in line for {time(began - arrived)}; {devices[device[v]]} ran {runner} just before"
    since = max(arrived, idle_from)
    return f"{here} was {ready}kept for {time(began - since)}: {kept(HeldBytes(schedule), v, since, began)}"


def _before(schedule: Schedule, v: int) -> tuple[float, str]:
    """When the device of op v had finished what it ran before, and what that was."""
    names = schedule.problem.graph.names
    sends = schedule.sends
    d = schedule.device[v]
    began = schedule.start[v]
    mine = (schedule.device == d) & (schedule.finish <= began)
    mine[v] = False
    ops = np.flatnonzero(mine)
    sent = np.flatnonzero((sends["source"] == d) & (sends["finish"] <= began))
    free = 0.0
    name = ""
    if len(ops):
        last = ops[np.argmax(schedule.finish[ops])]
        free = schedule.finish[last]
        name = names[last]
    if len(sent) and sends["finish"][sent].max() > free:
        last = sent[np.argmax(sends["finish"][sent])]
        free = sends["finish"][last]
        name = f"the Send of {names[schedule.problem.graph.tensor_producer[sends['tensor'][last]]]}"
    return float(free), name


def _last_input(schedule: Schedule, v: int) -> tuple[int, float, int]:
    """The edge that reached op v last (-1: none; ties: the lowest), when, and its transfer (-1: from the same device)."""
    graph = schedule.problem.graph
    moved = schedule.transfers
    edges = graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]
    if not len(edges):
        return -1, 0.0, -1
    carrier = carriers(schedule)[edges]
    arrived = schedule.finish[graph.producer[edges]]
    arrived[carrier >= 0] = moved["finish"][carrier[carrier >= 0]]
    last = np.argmax(arrived)
    return int(edges[last]), float(arrived[last]), int(carrier[last])


ROUNDING = 1e-9  # of the makespan; less slack is none


def slack(schedule: Schedule) -> np.ndarray:
    """Slack of each op: how much later it could finish without a greater makespan.

    Devices keep their order of ops, and a tensor takes as long to arrive as it did, waiting for a link included.

    Returns
    -------
    ndarray, shape (n_ops,)
        Seconds; 0 on the critical path but for ops that only held up a link.

    Notes
    -----
    O((ops + edges) log). The longest path to the end in the graph with an edge from each op to the next on its device.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 5.0, 2.0], [(0, 2)], edge_bytes=[1.0])
    >>> problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    >>> slack(pl.simulate(problem, pl.Placement(problem, [0, 1, 0])))
    array([2., 0., 2.])
    """
    expect(schedule, Schedule, "slack")
    graph = schedule.problem.graph
    n = schedule.problem.graph.n_ops
    order = np.lexsort((np.arange(n), schedule.start))  # topological, and along each device
    number = np.empty(n, np.int64)
    number[order] = np.arange(n)
    lane = order[np.argsort(schedule.device[order], kind="stable")]
    follows = schedule.device[lane[1:]] == schedule.device[lane[:-1]]
    begin = np.concatenate([number[graph.producer], number[lane[:-1][follows]]])
    end = np.concatenate([number[graph.consumer], number[lane[1:][follows]]])
    way = np.concatenate([_delays(schedule), np.zeros(int(follows.sum()))])
    by_begin = np.argsort(begin, kind="stable")
    ptr = np.zeros(n + 1, graph.succ_ptr.dtype)
    np.cumsum(np.bincount(begin, minlength=n), out=ptr[1:])
    columns = (
        ptr,
        end[by_begin].astype(graph.consumer.dtype),
        way[by_begin],
        np.zeros(len(way), graph.edge_tensor.dtype),
    )
    tail = np.empty(n)
    taken = schedule.finish - schedule.start
    ranks.upward(frozen(taken[order]), blocks.Successors(*map(frozen, columns)), 0.0, 1.0, tail)
    left = schedule.makespan - (schedule.start + tail[number])
    return frozen(np.where(left > ROUNDING * schedule.makespan, left, 0.0))


def _delays(schedule: Schedule) -> np.ndarray:
    """Seconds from the finish of each edge's producer until its tensor was there."""
    carrier = carriers(schedule)
    made = schedule.finish[schedule.problem.graph.producer]
    delay = np.zeros(len(carrier))
    moved = carrier >= 0
    delay[moved] = schedule.transfers["finish"][carrier[moved]] - made[moved]
    return np.maximum(delay, 0.0)

"""Why devices idle: gap by gap, back to the first op that ran; what an op would have cost on a device that was never chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from placelab.analysis.explanation import described, kept
from placelab.base.errors import UnsupportedError, expect
from placelab.base.index_arrays import frozen
from placelab.base.interrupts import need
from placelab.base.once import once
from placelab.base.progress import Progress, Report, never, silent
from placelab.base.threads import in_batches
from placelab.kernels import explain as kernels
from placelab.schedule.catalogue import checked
from placelab.schedule.critical_steps import StepsBack, inputs, items_run
from placelab.schedule.independent_checks import HeldBytes
from placelab.schedule.schedule import Schedule, carried
from placelab.simulation.batches import makespans_of, run_again
from placelab.simulation.event_simulation import RunRequest
from placelab.simulation.kernel_arrays import moves

if TYPE_CHECKING:
    import pandas as pd

REASONS = ("transfer", "upstream", "memory", "end", "left waiting", "never chosen")
GAP = np.dtype([("device", "i4"), ("start", "f8"), ("finish", "f8"), ("reason", "u1"), ("op", "i4"), ("next", "i4")])
MOST_CAUSES = 10_000_000  # of all chains together
MOST_TRIED = 1_000  # ops; each is simulated on a device that was never chosen, in about a second together


class Cause(NamedTuple):
    """What a device waited for, as a row of :func:`placelab.critical_path`.

    Attributes
    ----------
    kind, name, device : str
        ``op``, ``transfer`` or ``wait``; the op, or the one whose output travels, or the one that waited; where, of a transfer
        where it goes.
    start, finish : float
        Seconds.
    reason : str
        What was in the way: the op that ran, the link, the tensors that took the memory.
    """

    kind: str
    name: str
    device: str
    start: float
    finish: float
    reason: str


@checked
def idle_reasons(
    schedule: Schedule,
    chain: bool = False,
    *,
    progress: Report | None = None,
    cancel: Callable[[], bool] | None = None,
) -> pd.DataFrame:
    """Why each device idles, gap by gap; with `chain`, back to the first op that ran.

    A gap ends when an op starts. What that op waited for last is charged: until the op upstream had finished, that op
    (``upstream``); from then on its tensor's way here (``transfer``: Send, queueing for the link, transfer). As soon as all
    inputs of some op of the device are there, the device waits for none of this: that op lacks room (``memory``), or it could
    run and is left waiting for another one or for a planned time (``left waiting``). After a device's last op comes its
    ``end``; a device without ops was ``never chosen``.

    Parameters
    ----------
    schedule
        For the cost of a device that was never chosen: made by :func:`placelab.simulate` or :func:`placelab.solve`.
    chain
        Whether to add the columns ``chain`` and ``best``.
    progress, cancel
        Of the runs for ``best``: called after each run with a :class:`placelab.base.progress.Progress`; called before each run,
        and when it returns True, ``best`` stays NaN.

    Returns
    -------
    DataFrame
        ``device``, ``start``, ``finish`` [s], ``reason``, ``name`` (the op upstream; under ``memory`` and ``left waiting`` the op
        that waits, of several the one whose inputs were there first; empty at the end), by device and time. Together the gaps
        are exactly the time when a device runs nothing.

        ``chain``: a tuple of :class:`placelab.analysis.idle_time.Cause`, the one that was under way when the gap ended first,
        then what that waited for, down to one that starts at 0; each ends when the one before it starts. They are the rows of
        ``critical_path(schedule, to=op)``, where op ended the gap, or is the op upstream; those of shared links say not with
        whom. Empty at the end, and where a device was never chosen.

        ``best`` [s]: the least makespan with one op moved to a device that was never chosen, all else as it is; ``name`` is that
        op (ties: the first), of a colocation group the first of those that move together. NaN and empty where no op may run
        there or the schedule cannot be run again, and for other gaps. Exact: one simulation per op, as of
        :func:`placelab.what_if`.

    Raises
    ------
    UnsupportedError
        The chains have more than ten million entries together.

    References
    ----------
    Srivastava (2018) §3.3.1, wait time.
    """
    need("pandas")
    import pandas as pd

    gaps = idle_gaps(schedule)
    names = np.append(schedule.problem.graph.names, "")  # op -1
    devices = np.array(schedule.problem.cluster.names, dtype=object)
    frame = pd.DataFrame(
        dict(
            device=devices[gaps["device"]],
            start=gaps["start"],
            finish=gaps["finish"],
            reason=np.array(REASONS, dtype=object)[gaps["reason"]],
            name=names[gaps["op"]],
        )
    )
    if not chain:
        return frame
    unused = np.flatnonzero(gaps["reason"] == kernels.NEVER_CHOSEN)
    moved = _moves_to_unused(schedule, gaps["device"][unused].tolist(), progress or silent, cancel or never)
    best = np.full(len(gaps), np.nan)
    for row, (op, makespan) in zip(unused.tolist(), moved, strict=True):
        best[row] = makespan
        frame.loc[row, "name"] = names[op]
    chains = pd.Series(_chains(schedule, gaps), index=frame.index, dtype=object)
    return frame.assign(chain=chains, best=best)


@once
def idle_gaps(schedule: Schedule) -> np.ndarray:
    """:func:`idle_reasons` as an array, without a Python object per gap.

    Returns
    -------
    structured ndarray
        ``device``, ``start``, ``finish`` [s], ``reason`` (its place in ``REASONS``), ``op`` (-1 at the end), ``next`` (the op
        whose start ended it, -1 at the end).
    """
    expect(schedule, Schedule, "idle_reasons")
    items = items_run(schedule)
    n = len(items.start)
    k = schedule.problem.cluster.n_devices
    kinds = (np.int32, np.float64, np.float64, np.uint8, np.int32, np.int32)
    columns = kernels.Gaps(*(np.zeros(3 * n + k, kind) for kind in kinds))
    work = kernels.GapWork(np.zeros(k), np.zeros(n), np.full(k, -1, np.int32), np.zeros(n, np.int32))
    pred = inputs(schedule.problem.graph)
    count = kernels.idle_gaps(schedule.makespan, items, pred, carried(schedule), work, columns)
    gaps = np.empty(count, GAP)
    order = np.lexsort((columns.begin[:count], columns.device[:count]))
    for label, column in zip(GAP.names or (), columns, strict=True):
        gaps[label] = column[:count][order]
    _find_lack_of_memory(schedule, gaps)
    return frozen(gaps)


def _find_lack_of_memory(schedule: Schedule, gaps: np.ndarray) -> None:
    """Tell ops that lacked room from others that were left waiting."""
    if not schedule.problem.memory_model.timed:
        return
    left = np.flatnonzero((gaps["reason"] == kernels.LEFT_WAITING) & (gaps["op"] >= 0))
    graph = schedule.problem.graph
    made = np.bincount(graph.tensor_producer, graph.tensor_bytes, minlength=graph.n_ops) + graph.temporary
    op = gaps["op"][left]
    d = schedule.device[op]
    most = (schedule.peak_memory[d] + made[op]) * (1 + 1e-9)  # rounding aside; with a shared storage it is less
    left = left[most > schedule.problem.cluster.memory[d]]  # else there is room at any time
    if not len(left):
        return
    held = HeldBytes(schedule)
    for i in left.tolist():
        if not held.has_room(*gaps[["op", "start", "finish"]][i].tolist()):
            gaps["reason"][i] = kernels.FOR_MEMORY


# -------------------------------------------------------------------- back to the first op


def _chains(schedule: Schedule, gaps: np.ndarray) -> list[tuple[Cause, ...]]:
    """The chain of each gap; an entry that several have is one object."""
    back = StepsBack(schedule)
    held = HeldBytes(schedule)
    known: dict[tuple, Cause] = {}
    found = []
    total = 0
    for gap in gaps:
        steps = _steps(back, gap)
        total += len(steps)
        if total > MOST_CAUSES:
            raise UnsupportedError(
                f"the chains of {len(gaps):,} gaps have more than {MOST_CAUSES:,} entries; use idle_reasons without chain, and "
                "critical_path(schedule, to=op) for one of them"
            )
        keys = steps.tolist()
        for i, key in enumerate(keys):
            if key not in known:
                known[key] = Cause(*described(schedule, steps[i], held))
        found.append(tuple(known[key] for key in reversed(keys)))
    return found


def _steps(back: StepsBack, gap: np.void) -> np.ndarray:
    """What was under way when a gap ended, and all before it on the way to the op that ended the gap."""
    if gap["next"] < 0:
        return back.none
    if gap["reason"] == kernels.FOR_UPSTREAM:
        steps = back.to(int(gap["op"]))
    else:
        steps = back.to(int(gap["next"]))[:-1]
    return steps[(steps["start"] < gap["finish"]) | (steps["finish"] <= gap["finish"])]


def steps_of_gap(schedule: Schedule, row: int) -> np.ndarray:
    """The chain of a row of :func:`idle_gaps` in order of time, as :meth:`StepsBack.to` has it; empty where there is none."""
    return _steps(StepsBack(schedule), idle_gaps(schedule)[row])


def said_of_gap(
    schedule: Schedule, row: int, few: int = 5, most: int = MOST_TRIED, cancel: Callable[[], bool] = never
) -> str:
    """What a device waited for in row number `row` of :func:`idle_gaps`, in one sentence.

    Parameters
    ----------
    row
        Number of the gap.
    few
        Of a longer chain the first ones are named.
    most
        Number of ops up to which each of them is tried on a device that was never chosen.
    cancel
        Ends these tries when it returns True.

    Examples
    --------
    >>> import placelab as pl
    >>> chain = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [(0, 1)], edge_bytes=[4.0])
    >>> problem = pl.Problem(chain, pl.Cluster([1.0, 1.0], bandwidth=2.0))
    >>> schedule = pl.simulate(problem, pl.Placement(problem, [0, 1]))
    >>> [said_of_gap(schedule, i) for i in range(3)]
    ['dev0 has nothing left to run', 'dev1 waited for: a', 'dev1 waited for: transfer of a ← a']
    """
    gap = idle_gaps(schedule)[row]
    names = schedule.problem.graph.names
    device = schedule.problem.cluster.names[gap["device"]]
    if gap["reason"] == kernels.FOR_END:
        return f"{device} has nothing left to run"
    if gap["reason"] == kernels.NEVER_CHOSEN:
        op, makespan = visit(schedule, int(gap["device"]), most, cancel)
        best = f": the best visit, of {names[op]}, would {said_of_cost(schedule, makespan)}" if op >= 0 else ""
        return f"{device} was never chosen{best}"
    (causes,) = _chains(schedule, idle_gaps(schedule)[row : row + 1])
    ways = {"op": "{0.name}", "transfer": "transfer of {0.name}", "wait": "{0.name} ({0.reason})"}
    words = [ways[cause.kind].format(cause) for cause in causes[:few]]
    more = f" ← {len(causes) - few} more" if len(causes) > few else ""
    waited = f"{device} waited for: {' ← '.join(words)}{more}"
    if lacked := said_of_lack(schedule, row):
        return f"{waited}; {names[gap['op']]} was ready and found {lacked}"
    if gap["reason"] != kernels.LEFT_WAITING:
        return waited
    left = f"{names[gap['op']]} could run and was left waiting" if gap["op"] >= 0 else "it could run and did not"
    return f"{waited}; {left}"


def said_of_lack(schedule: Schedule, row: int) -> str:
    """What took the memory that an op lacked in a row of :func:`idle_gaps`, where another op ended the gap; else ""."""
    gap = idle_gaps(schedule)[row]
    if gap["reason"] != kernels.FOR_MEMORY or gap["op"] == gap["next"]:  # of the op itself its chain says so
        return ""
    return kept(HeldBytes(schedule), *gap[["op", "start", "finish"]].tolist())


# -------------------------------------------------------------------- devices that were never chosen


def visit(
    schedule: Schedule, device: int, most: int = MOST_TRIED, cancel: Callable[[], bool] = never
) -> tuple[int, float]:
    """:func:`best_visit` to a device that was never chosen, found once; none where that takes too long, or is not known.

    Parameters
    ----------
    most, cancel
        As for :func:`said_of_gap`.
    """
    known = _visits(schedule)
    if device not in known and schedule.problem.graph.n_ops <= most:
        (found,) = _moves_to_unused(schedule, [device], silent, cancel)
        if found[0] < 0 and cancel():
            return found
        known[device] = found
    return known.get(device, (-1, np.nan))


@once
def _visits(schedule: Schedule) -> dict[int, tuple[int, float]]:
    """Those that are known, by device."""
    return {}


def said_of_cost(schedule: Schedule, makespan: float) -> str:
    """What another makespan costs more than that of the schedule, to end a sentence."""
    more = makespan - schedule.makespan
    time = schedule.problem.cluster.units.time
    return f"cost {time(more)} more" if more > 0 else f"save {time(-more)}" if more < 0 else "cost nothing"


def best_visit(
    schedule: Schedule, device: int, progress: Report = silent, cancel: Callable[[], bool] = never
) -> tuple[int, float]:
    """The op (-1: none) that is best moved to a device, and the makespan then [s] (NaN: none), all else as it is."""
    tries = list(_movable(schedule, device))
    run = run_again(schedule)
    found = np.full(len(tries), np.nan)

    def some(ops: Sequence[np.ndarray]) -> list[float]:
        return makespans_of([_with(run, members, device) for members in ops])

    done = 0
    for i, makespan in in_batches(some, tries, cancel, schedule.problem.graph.n_ops, run.settings.scheduler):
        found[i] = makespan
        done += 1
        report = Progress(f"an op on {schedule.problem.cluster.names[device]}", done / len(tries))
        progress(report)
    if done < len(tries) or np.isnan(found).all():
        return -1, np.nan
    best = int(np.nanargmin(found))
    return int(tries[best][0]), float(found[best])


def _movable(schedule: Schedule, device: int) -> Iterator[np.ndarray]:
    """Ops that may run on a device, each with its colocation group, by the first."""
    problem = schedule.problem
    may = problem.may_run[:, device] if problem.restricted else np.ones(problem.graph.n_ops, bool)
    for op in range(problem.graph.n_ops):
        members = problem.members(op)
        if op == members[0] and may[members].all():
            yield members


def _with(run: RunRequest, ops: np.ndarray, device: int) -> RunRequest:
    """The run with some ops on another device."""
    where = run.placement.device.copy()
    where[ops] = device
    placement = replace(run.placement, device=where, estimate=None, trace=None, bound=None, notes=(), table=None)
    return run._replace(placement=placement, moved=moves(placement.problem, placement.device))


def _moves_to_unused(
    schedule: Schedule, devices: list[int], progress: Report, cancel: Callable[[], bool]
) -> list[tuple[int, float]]:
    """:func:`best_visit` to each of these devices."""
    found = []
    for device in devices:
        try:
            found.append(best_visit(schedule, device, progress, cancel))
        except UnsupportedError:  # it was made by no scheduler of the catalogue
            found.append((-1, np.nan))
    return found

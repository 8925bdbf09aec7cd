"""The shortest legal schedule of a problem that was made in this session, and the best lower bound that was proven of it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, fields
from math import inf
from typing import Any

from placelab.base.errors import FormatError, expect
from placelab.base.once import once
from placelab.problem.problem import Problem
from placelab.problem.problem_key import problem_key
from placelab.schedule.placement import PROVEN, Placement
from placelab.schedule.schedule import Schedule

KEPT = 64  # problems; those of which nothing was asked or told for longest are forgotten
CLAIMS = 8  # bounds of a problem that are kept, the largest: a schedule may refute the best of them
LARGEST = 2_000_000  # ops and transfers of all schedules that are kept together, some 100 MB


@dataclass
class _Record:
    """What is known of a problem; the columns of its schedule without the problem, which is not to be kept alive."""

    makespan: float = inf
    columns: dict[str, Any] | None = None
    placement: dict[str, Any] | None = None
    claims: tuple[float, ...] = ()

    @property
    def bound(self) -> float:
        return max((bound for bound in self.claims if bound <= self.makespan * (1 + PROVEN)), default=0.0)

    @property
    def size(self) -> int:
        return 0 if self.columns is None else len(self.columns["start"]) + len(self.columns["transfers"])


_records: OrderedDict[Hashable, _Record] = OrderedDict()
_lock = threading.Lock()


def best_known(problem: Problem) -> Schedule | None:
    """The shortest schedule of a problem that this session has made; None where it has made none.

    It counts schedules that :func:`placelab.solve`, :func:`placelab.compare` and the explorer have made of an equal problem and
    that keep within its memory, and bounds that partitioners have proven.

    Returns
    -------
    Schedule or None
        Of `problem` itself, also where it was made of an equal one. ``placement.bound`` is the best bound that a partitioner has
        proven, where one has and no schedule refutes it, and ``metrics(best)["bound_gap"]`` how far from the optimum it can be
        at most. The placement has neither trace nor table.

    Notes
    -----
    Problems are equal if their contents are: graph, cluster and rules. Of schedules that take equally long the first. The last 64
    problems are remembered, fewer large ones, for as long as the process runs; in studies on several processes each has its own.
    O(ops + edges) for the first question about a problem, to hash it.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster([3e12, 4e12]), memory="none")
    >>> pl.best_known(problem)
    >>> made = [pl.solve(problem, name).makespan for name in ("single", "heft")]
    >>> pl.best_known(pl.Problem(pl.generators.fork_join(3), pl.Cluster([3e12, 4e12]), memory="none")).makespan == min(made)
    True
    """
    expect(problem, Problem, "best_known")
    with _lock:
        record = _of(problem)
        if record is None or record.columns is None or record.placement is None:
            return None
        columns = record.columns
        placement = record.placement
        bound = record.bound
    return Schedule(Placement(problem, **(placement | dict(bound=bound or None))), **columns)


def least_known(problem: Problem) -> float:
    """The makespan of :func:`best_known` [s]; infinite where there is none."""
    with _lock:
        record = _of(problem)
        return inf if record is None else record.makespan


def best_proven(problem: Problem) -> float:
    """The best lower bound that a partitioner has proven of an equal problem in this session [s]; 0 where none has."""
    with _lock:
        record = _of(problem)
        return 0.0 if record is None else record.bound


def offer(schedule: Schedule) -> None:
    """Remember a legal schedule if none of its problem that is shorter is known, and what its partitioner has proven.

    The caller knows that it is legal: the simulator has made it. One that is out of memory is not remembered.
    """
    problem = schedule.problem
    prove(problem, schedule.placement.bound)
    with _lock:
        known = _of(problem)
        shorter = known is None or schedule.makespan < known.makespan
    if not shorter or (problem.memory != "none" and len(schedule.oom)):
        return
    with _lock:
        record = _of(problem, new=True)
        assert record is not None  # it is made
        if schedule.makespan >= record.makespan:  # another thread was quicker
            return
        record.makespan = schedule.makespan
        record.columns = _fields(schedule, but="placement")
        record.placement = _fields(schedule.placement, but="problem") | dict(trace=None, table=None)
        _forget()


def prove(problem: Problem, bound: float | None) -> None:
    """Remember a lower bound of the makespan [s]; it counts as long as no schedule refutes it."""
    if not bound:
        return
    with _lock:
        record = _of(problem, new=True)
        assert record is not None  # it is made
        record.claims = tuple(sorted({*record.claims, float(bound)})[-CLAIMS:])
        _forget()


def clear() -> None:
    """Forget everything."""
    with _lock:
        _records.clear()


def _of(problem: Problem, new: bool = False) -> _Record | None:
    """The record of a problem, which is now the last to be forgotten."""
    key = _key(problem)
    if key in _records:
        _records.move_to_end(key)
    elif new:
        _records[key] = _Record()
    return _records.get(key)


@once
def _key(problem: Problem) -> Hashable:
    """The hash of its content; metadata that are not JSON have none, and such a problem is equal to itself alone."""
    try:
        return problem_key(problem)
    except FormatError:
        return object()


def _fields(of: Any, but: str) -> dict[str, Any]:
    return {field.name: getattr(of, field.name) for field in fields(of) if field.name != but}


def _forget() -> None:
    """Forget what is oldest, but not the newest."""
    while len(_records) > 1 and (len(_records) > KEPT or sum(record.size for record in _records.values()) > LARGEST):
        _records.popitem(last=False)

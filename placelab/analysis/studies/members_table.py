"""All members of the parametric list scheduler on one problem."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import TYPE_CHECKING, Any, get_args

from placelab.base.errors import InfeasibleError, expect
from placelab.base.interrupts import need
from placelab.base.progress import never
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Scheduler
from placelab.simulation.event_simulation import simulate
from placelab.strategies.partitioning.parametric import Place, Priority
from placelab.strategies.placing import place

if TYPE_CHECKING:
    import pandas as pd

FLAGS = ("insertion", "pin_critical_path", "sufferage")


def list_members(
    problem: Problem, scheduler: str | Scheduler = "planned", *, cancel: Callable[[], bool] | None = None
) -> pd.DataFrame:
    """The makespans of all 72 members of the partitioner ``parametric``.

    Parameters
    ----------
    scheduler
        Name or decorated function; runs each placement.
    cancel
        Called before each member; when it returns True, the members so far are returned.

    Returns
    -------
    DataFrame
        A row per member: its options, ``makespan`` [s], ``ratio`` to the least of them, and ``error``: why there is no plan
        (makespan NaN then), else ``""``.

    Examples
    --------
    >>> import placelab as pl
    >>> rows = list_members(pl.datasets.problem("topcuoglu"))
    >>> len(rows), float(rows["makespan"].min())
    (72, 76.0)
    """
    need("pandas")
    import pandas as pd

    expect(problem, Problem, "list_members")
    rows, stopped = [], cancel or never
    for priority, where, *flags in product(get_args(Priority), get_args(Place), *[(True, False)] + [(False, True)] * 2):
        if stopped():
            break
        options: dict[str, Any] = {"priority": priority, "place": where, **dict(zip(FLAGS, flags, strict=True))}
        try:
            makespan, error = simulate(problem, place(problem, "parametric", **options), scheduler).makespan, ""
        except InfeasibleError as refusal:
            makespan, error = float("nan"), str(refusal)
        rows.append({**options, "makespan": makespan, "error": error})
    frame = pd.DataFrame(rows, columns=["priority", "place", *FLAGS, "makespan", "error"])
    frame.insert(len(frame.columns) - 1, "ratio", frame["makespan"] / frame["makespan"].min())
    return frame

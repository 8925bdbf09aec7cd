"""Partitioners plan in the unit of time that makes costs whole; their placements, reports and traces are in seconds again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.progress import Progress
from placelab.problem.problem import Problem
from placelab.problem.whole_costs import Whole, in_whole_costs
from placelab.schedule.placement import Placement
from placelab.schedule.trace import Trace

LATER = 1 + 1e-12  # what an op waits for may end later by rounding
TIMES = {"makespan", "best", "mean", "placement_time"}  # columns of tables that hold times
Quantity = TypeVar("Quantity")


def in_whole_units(partitioner: Callable[..., Placement]) -> Callable[..., Placement]:
    """A partitioner whose plans do not depend on the decimal unit that whole costs are given in."""

    @wraps(partitioner)
    def plan(problem: Problem, **options: Any) -> Placement:
        whole = in_whole_costs(problem)
        if whole.problem is problem:
            return partitioner(problem, **options)
        if "progress" in options:
            options["progress"] = _report_in_seconds(options["progress"], whole)
        return _in_seconds(partitioner(whole.problem, **options), problem, whole)

    return plan


def _report_in_seconds(report: Callable[[Progress], None], whole: Whole) -> Callable[[Progress], None]:
    def tell(progress: Progress) -> None:
        makespan = _per(progress.makespan, whole.second)
        bound = _per(progress.bound, whole.second)
        report(replace(progress, makespan=makespan, bound=bound))

    return tell


def _in_seconds(placement: Placement, problem: Problem, whole: Whole) -> Placement:
    not_before = placement.not_before
    table = placement.table
    if table is not None:
        table = table.assign(**{name: table[name] / whole.second for name in table.columns if name in TIMES})
    return replace(
        placement,
        problem=problem,
        estimate=_per(placement.estimate, whole.second),
        bound=_per(placement.bound, whole.second),
        not_before=None if not_before is None else not_before / whole.second * LATER,
        trace=placement.trace and _trace_in_seconds(placement.trace, whole),
        table=table,
    )


def _trace_in_seconds(trace: Trace, whole: Whole) -> Trace:
    ranks = trace.ranks
    if ranks is not None:
        value, own, way = (_given(column, ranks.name, whole) for column in (ranks.value, ranks.own, ranks.way))
        ranks = replace(ranks, value=value, own=own, way=way)
    score = _given(trace.score, trace.score_name, whole)
    rank = _given(trace.rank, trace.rank_name, whole)
    return replace(trace, score=score, rank=rank, ranks=ranks)


def _given(column: Any, name: str, whole: Whole) -> Any:
    """Numbers in the unit that their name says."""
    size = whole.second if name.endswith("[s]") else whole.operation if name.endswith("[operations]") else 1.0
    return column if column is None or size == 1 else frozen(np.asarray(column) / size)


def _per(value: float | None, second: float) -> float | None:
    return None if value is None else value / second

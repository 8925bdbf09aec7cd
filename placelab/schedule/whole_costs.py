"""Partitioners plan in the unit of time that makes costs whole; their placements, reports and traces are in seconds again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from math import inf, isnan
from typing import Any, NamedTuple, TypeVar

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.once import once
from placelab.base.progress import Progress
from placelab.kernels.costs import LOW, decimal_places, decimal_unit, longest_time, whole_again
from placelab.problem.cluster import Cluster
from placelab.problem.graph import INDICES, OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.trace import Trace

DIGITS = 11  # of the largest cost, so that sums of thousands are exact
PARTS = 30  # speeds and bandwidths may be thirds, sevenths … up to this
ROUNDING = 2e-15  # relative: what conversions between units leave
NEAR = 4.6e-15  # relative: what counts as a power of ten
POWERS = frozen(np.array([float(f"1e{power}") for power in range(-LOW, 309)]))  # of ten; read, not computed


class Numbers(NamedTuple):
    """A kind of number in a problem, and the least number of decimal places with which all of it is whole, times `parts`.

    Where no number of places does (`parts` is 0), that of the leading digit of the largest; of zeros, minus infinity.
    """

    columns: tuple[Any, ...]
    places: float
    parts: int

    @classmethod
    def of(cls, *columns: Any, parts: int = 1) -> Numbers:
        """The numbers in these columns, of up to so many `parts`; NaN and infinite ones are left out."""
        numbers = frozen(np.concatenate([np.ravel(column) for column in columns]).astype(np.float64))
        return cls(columns, *decimal_places(numbers, parts, DIGITS, ROUNDING, NEAR, POWERS))

    def times_ten_to(self, power: float) -> list[np.ndarray]:
        """The columns times 10 ** `power`: the same bits, whatever unit they come in, if they are whole."""
        if self.places == -inf:
            return [np.asarray(column, dtype=np.float64) for column in self.columns]
        if not self.parts:
            return [frozen(_shifted(x, power)) for x in self.columns]
        return [self._whole(np.asarray(column, np.float64), power - self.places) for column in self.columns]

    def _whole(self, column: np.ndarray, power: float) -> np.ndarray:
        result = np.empty(column.size)
        given = frozen(column.reshape(-1).copy()), self.parts
        whole_again(*given, _ten_to(abs(self.places)), self.places < 0, _ten_to(abs(power)), power >= 0, result)
        return frozen(result.reshape(column.shape))


class Whole(NamedTuple):
    """A problem in the decimal unit of time that makes its costs whole: how many units a second and an operation are."""

    problem: Problem
    second: float
    operation: float


@once
def in_whole_costs(problem: Problem) -> Whole:
    """The problem in the coarsest decimal unit of time that makes its costs whole.

    Problems that differ in the unit of their times, seconds and milliseconds say, become the same to the last bit. One whose
    costs are whole in seconds, or in no such unit, stays as it is; so does one whose longest cost would have more than twelve
    digits there, as beside a link of 10³⁰ bytes/s. Bytes change only where no memory is counted.
    """
    graph = problem.graph
    cluster = problem.cluster
    work = Numbers.of(graph.compute, problem.transfer_ops)
    sent = Numbers.of(graph.tensor_bytes)
    seconds = Numbers.of(cluster.latency, [] if graph.time is None else graph.time)
    if not (work.parts and sent.parts and seconds.parts):
        return Whole(problem, 1.0, 1.0)
    speed = Numbers.of(cluster.speed, graph.time_speed, parts=PARTS)
    rate = Numbers.of(cluster.bandwidth, [link.bandwidth for link in cluster.links], parts=PARTS)
    places = (kind.places for kind in (work, sent, seconds, speed, rate))
    unit, ops, sizes = decimal_unit(*places, problem.memory == "none", _longest(problem), DIGITS + 1, NEAR, POWERS)
    if isnan(unit):
        return Whole(problem, 1.0, 1.0)
    compute, transfer_ops = work.times_ten_to(ops)
    device_speed, time_speed = speed.times_ten_to(ops - unit)
    bandwidth, shared = rate.times_ten_to(sizes - unit)
    latency, time = seconds.times_ten_to(unit)
    persistent, temporary, memory = Numbers.of(graph.persistent, graph.temporary, graph.memory).times_ten_to(sizes)
    changed = problem.with_costs(
        graph=_graph_of(
            graph,
            compute=compute,
            tensor_bytes=sent.times_ten_to(sizes)[0],
            persistent=persistent,
            temporary=temporary,
            memory=memory,
            time=None if graph.time is None else time,
            time_speed=time_speed,
        ),
        cluster=_cluster_of(
            cluster,
            speed=device_speed,
            bandwidth=bandwidth,
            latency=latency,
            links=tuple(replace(link, bandwidth=x) for link, x in zip(cluster.links, shared.tolist(), strict=True)),
            units=replace(cluster.units, second=_ten_to(unit)),
        ),
    )
    object.__setattr__(changed, "transfer_ops", transfer_ops.item())
    return Whole(changed, _ten_to(unit), _ten_to(ops))


def _longest(problem: Problem) -> float:
    """An upper bound on each op's, transfer's and Send op's time and each latency [s]; unknown and infinite ones are left out."""
    graph = problem.graph
    cluster = problem.cluster
    time = np.empty(0) if graph.time is None else graph.time
    shared = np.array([link.bandwidth for link in cluster.links], np.float64)
    columns = (graph.tensor_bytes, cluster.latency, time, cluster.speed, cluster.bandwidth, shared)
    flat = (frozen(column.reshape(-1)) for column in columns)
    return longest_time(frozen(graph.compute), float(problem.transfer_ops), *flat)


def _graph_of(graph: OpGraph, **costs: Any) -> OpGraph:
    made = replace(graph, **costs)
    made.__dict__.update({name: value for name, value in graph.__dict__.items() if name in INDICES})
    return made


def _cluster_of(cluster: Cluster, **costs: Any) -> Cluster:
    made = object.__new__(Cluster)
    made.__dict__.update({name: getattr(cluster, name) for name in cluster.__dataclass_fields__} | costs)
    return made


def _ten_to(power: float) -> float:
    return float(POWERS[min(int(power) + LOW, len(POWERS) - 1)])


def _shifted(x: Any, places: float) -> np.ndarray:
    """Numbers times 10 ** `places`, exact where they can be: no power of a tenth is a float."""
    return np.multiply(x, _ten_to(places)) if places >= 0 else np.divide(x, _ten_to(-places))


# -------------------------------------------------------------------- placements, reports and traces in seconds again

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

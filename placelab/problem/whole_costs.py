"""A problem whose costs are whole numbers in some decimal unit of time, in that unit.

Sums of 0.001 s, 0.002 s … differ in their last bits with the order of their terms, and planners that compare them would decide
by these bits. Sums of 1, 2 … are exact.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor, inf, log10
from typing import Any, NamedTuple

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.once import once
from placelab.kernels.costs import common_divisor, whole_again
from placelab.problem.cluster import Cluster
from placelab.problem.graph import INDICES, OpGraph
from placelab.problem.problem import Problem

DIGITS = 11  # of the largest cost, so that sums of thousands are exact
PARTS = 30  # speeds and bandwidths may be thirds, sevenths … up to this
ROUNDING = 2e-15  # relative: what conversions between units leave
WIDEST = 290  # decimal places


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
        largest = numbers[np.isfinite(numbers)].max(initial=0.0)
        if largest == 0:
            return cls(columns, -inf, 1)
        leading = float(-floor(log10(largest) + ROUNDING))
        for q in range(1, parts + 1) if abs(leading) < WIDEST else ():
            if (places := _places(numbers, q, leading + DIGITS)) < inf:
                return cls(columns, places, q)
        return cls(columns, leading, 0)

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
        whole_again(*given, 10.0 ** abs(self.places), self.places < 0, 10.0 ** abs(power), power >= 0, result)
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
    carried = sent.places - rate.places if rate.places > -inf else -inf
    unit = max(work.places - speed.places, carried, seconds.places)
    ops = max(work.places, unit + speed.places)
    sizes = max(sent.places, unit + rate.places) if problem.memory == "none" and carried > -inf else 0.0
    if not (unit or ops or sizes) or abs(unit) > WIDEST or log10(_longest(problem)) + unit > DIGITS + 1:
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
            units=replace(cluster.units, second=10.0**unit),
        ),
    )
    object.__setattr__(changed, "transfer_ops", transfer_ops.item())
    return Whole(changed, 10.0**unit, 10.0**ops)


def _longest(problem: Problem) -> float:
    """An upper bound on each op's, transfer's and Send op's time and each latency [s]; unknown and infinite ones are left out."""
    graph = problem.graph
    cluster = problem.cluster
    slowest = min([cluster.bandwidth.min(), *(link.bandwidth for link in cluster.links)])
    times = np.concatenate(
        [
            np.append(graph.compute, problem.transfer_ops) / cluster.speed.min(),
            graph.tensor_bytes / slowest,
            np.ravel(cluster.latency),
            [] if graph.time is None else np.ravel(graph.time),
        ]
    )
    return times[np.isfinite(times)].max(initial=0.0) or 1.0


def _graph_of(graph: OpGraph, **costs: Any) -> OpGraph:
    made = replace(graph, **costs)
    made.__dict__.update({name: value for name, value in graph.__dict__.items() if name in INDICES})
    return made


def _cluster_of(cluster: Cluster, **costs: Any) -> Cluster:
    made = object.__new__(Cluster)
    made.__dict__.update({name: getattr(cluster, name) for name in cluster.__dataclass_fields__} | costs)
    return made


def _places(numbers: np.ndarray, parts: int, finest: float) -> float:
    """The least number of decimal places with which numbers times `parts` are whole; infinite where the `finest` does not do."""
    common = str(common_divisor(numbers, parts, 10.0 ** abs(finest), finest < 0, ROUNDING))
    return inf if common == "-1" else finest - len(common) + len(common.rstrip("0"))


def _shifted(x: Any, places: float) -> np.ndarray:
    """Numbers times 10 ** `places`, exact where they can be: no power of a tenth is a float."""
    return np.multiply(x, 10.0**places) if places >= 0 else np.divide(x, 10.0**-places)

"""Explain one op of a result: the partitioner's decision, what the op waited for, the source of its time."""

from __future__ import annotations

from placelab.analysis import explanation
from placelab.app.explorer.engine.solving import Result, function_of, place_state
from placelab.costs import describe_op
from placelab.schedule.placement import Placement
from placelab.schedule.trace import Trace


class Reasons:
    """Explain ops; keep the decision trace of the latest result."""

    def __init__(self) -> None:
        self._traced: tuple[Result, Trace | None] | None = None

    def detail(self, result: Result, op: int) -> str:
        """A line each for its device, if that was recorded, its start, and the source of its time; "" for -1."""
        if not 0 <= op < result.state.graph.n_ops:
            return ""
        if self._traced is None or self._traced[0] is not result:
            self._traced = (result, traced(result).trace)
        trace = self._traced[1]
        decision = [trace.line(result.schedule.problem, op)] if trace else []
        return "\n".join([*decision, explanation.why(result.schedule, op), *_source(result, op)])


def _source(result: Result, op: int) -> list[str]:
    """The source of the op's seconds, in graphs that have times."""
    graph, cluster = result.schedule.problem.graph, result.schedule.problem.cluster
    if graph.time is None:
        return []
    d = result.schedule.device[op]
    column = cluster.names[d] if cluster.names[d] in graph.time_types else cluster.types[d]
    return [f"Its time: {describe_op(graph, op, column)}."]


def traced(result: Result) -> Placement:
    """The placement with its decisions; a quick partitioner that did not record them is called again."""
    state, placement = result.state, result.schedule.placement
    repeatable = not (function_of(state).slow or result.stopped or result.preview)
    if placement.trace is not None or not repeatable:
        return placement
    return place_state(state, placement.problem, trace=True)[0]

"""Why is an op where it is, and then? What the partitioner decided, and what the op waited for."""

from __future__ import annotations

from placelab.analysis import explanation
from placelab.costs import told
from placelab.explorer.solving import Result, function_of, placed
from placelab.schedule.placement import Trace


class Reasons:
    """Explains ops of a result; its trace is kept until another result comes."""

    def __init__(self) -> None:
        self._traced: tuple[Result, Trace | None] | None = None

    def detail(self, result: Result, op: int) -> str:
        """A line for where, if that was recorded, one for when, one for where its time comes from; "" for what is no op."""
        if not 0 <= op < result.state.graph.n_ops:
            return ""
        if self._traced is None or self._traced[0] is not result:
            self._traced = (result, _trace(result))
        trace = self._traced[1]
        where = [trace.line(result.schedule.problem, op)] if trace else []
        return "\n".join([*where, explanation.why(result.schedule, op), *_time(result, op)])


def _time(result: Result, op: int) -> list[str]:
    """What the op's seconds rest on, where the graph has any."""
    graph, cluster = result.schedule.problem.graph, result.schedule.problem.cluster
    if graph.time is None:
        return []
    d = result.schedule.device[op]
    column = cluster.names[d] if cluster.names[d] in graph.time_types else cluster.types[d]
    return [f"Its time: {told(graph, op, column)}."]


def _trace(result: Result) -> Trace | None:
    """The decisions. Where they were not recorded the partitioner is asked again, if it does not search for long."""
    state, placement = result.state, result.schedule.placement
    again = not (function_of(state).slow or result.stopped or result.preview)
    if placement.trace is not None or not again:
        return placement.trace
    return placed(state, placement.problem, trace=True)[0].trace

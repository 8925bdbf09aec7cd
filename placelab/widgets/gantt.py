"""The Gantt chart of a schedule. Traits and messages only; what is drawn is in ``widgets/gantt``."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets

from placelab.explain import why
from placelab.schedule import Schedule
from placelab.widgets.wire import pack_kinds, pack_names, pack_schedule


def gantt_traits(schedule: Schedule) -> dict[str, object]:
    """Everything the chart needs to know to draw a schedule, by trait."""
    graph = schedule.problem.graph
    kinds, kind_names = pack_kinds(graph)
    return {
        "names": pack_names(graph.names),
        "kinds": kinds,
        "kind_names": kind_names,
        "devices": list(schedule.problem.cluster.names),
        "schedule": pack_schedule(schedule),
    }


def reason(schedule: Schedule, op: int) -> str:
    """Why op number `op` is on its device, if that was recorded, and why it started when it did; "" for -1."""
    if op < 0:
        return ""
    trace = schedule.placement.trace
    here = [trace.line(schedule.problem, op)] if trace is not None else []
    return "\n".join([*here, why(schedule, op)])


class Gantt(anywidget.AnyWidget):
    """An animated Gantt chart: ops and transfers per device, critical path, idle gaps and their reasons.

    Playback, zoom and hover live in the browser and go on while the kernel is busy.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    >>> Gantt.of(pl.solve(problem))
    Gantt(5 ops on 2 devices)
    """

    _esm = Path(__file__).parent / "static" / "gantt.js"

    schedule = traitlets.Bytes().tag(sync=True)  # columns, see placelab.widgets.wire
    names = traitlets.Bytes().tag(sync=True)  # op names, utf-8, joined by newlines
    kinds = traitlets.Bytes().tag(sync=True)  # colour index per op, uint8
    kind_names = traitlets.List(traitlets.Unicode()).tag(sync=True)  # what a colour index stands for
    devices = traitlets.List(traitlets.Unicode()).tag(sync=True)  # device names
    selection = traitlets.Int(-1).tag(sync=True)  # op number, -1 for none
    detail = traitlets.Unicode("").tag(sync=True)  # why the selected op is here, and then
    numbers = traitlets.List(traitlets.Dict()).tag(sync=True)  # strip: key, label, value, title, tone
    warning = traitlets.Unicode("").tag(sync=True)  # one sentence above the chart
    stale = traitlets.Bool(False).tag(sync=True)  # what is shown is being recomputed
    height = traitlets.Int(0).tag(sync=True)  # of the chart in CSS pixels; 0: the devices decide

    _shown: Schedule | None = None

    @classmethod
    def of(cls, schedule: Schedule, **traits: object) -> Gantt:
        """The chart of one schedule; says why the selected op is where and when it is."""
        chart = cls(**traits)
        chart.show(schedule)
        chart.observe(lambda change: setattr(chart, "detail", reason(chart._shown, change["new"])), "selection")
        return chart

    def show(self, schedule: Schedule) -> None:
        """Show another schedule; names and kinds are sent again only when the graph is another one."""
        graph = schedule.problem.graph
        with self.hold_sync():
            if self._shown is None or graph is not self._shown.problem.graph:
                self.names = pack_names(graph.names)
                self.kinds, self.kind_names = pack_kinds(graph)
                self.selection = -1
            self.devices = list(schedule.problem.cluster.names)
            self.schedule = pack_schedule(schedule)
            self._shown = schedule

    def __repr__(self) -> str:
        ops, devices = len(self.kinds), len(self.devices)
        return f"Gantt({ops} op{'s' * (ops != 1)} on {devices} device{'s' * (devices != 1)})"

"""The Gantt chart of a schedule. Traits and messages only; what is drawn is in ``widgets/gantt``."""

from __future__ import annotations

import threading
from pathlib import Path

import anywidget
import traitlets

from placelab.analysis.explanation import why
from placelab.schedule.schedule import Schedule
from placelab.widgets.gantt.wire import pack_kinds, pack_memory, pack_names, pack_schedule

MANY = 5_000  # ops; the memory of more takes longer to work out than a hand that drags can wait
PAGE_POINTS = 12_000  # of the memory curves on a page, which is to be small


def gantt_traits(schedule: Schedule) -> dict[str, object]:
    """Everything the chart needs to know to draw a schedule without a kernel, by trait."""
    graph = schedule.problem.graph
    kinds, kind_names = pack_kinds(graph)
    return {
        "names": pack_names(graph.names),
        "kinds": kinds,
        "kind_names": kind_names,
        "devices": list(schedule.problem.cluster.names),
        "schedule": pack_schedule(schedule),
        "memory": pack_memory(schedule, most=PAGE_POINTS),
        "memory_shown": memory_matters(schedule),
    }


def memory_matters(schedule: Schedule) -> bool:
    """Whether memory is short, or more than half used on some device, so that its curves are worth their room."""
    if schedule.problem.memory == "none":
        return False
    return bool((schedule.peak_memory > 0.5 * schedule.problem.cluster.memory).any())


def reason(schedule: Schedule, op: int) -> str:
    """Why op number `op` is on its device, if that was recorded, and why it started when it did; "" for -1."""
    if op < 0:
        return ""
    trace = schedule.placement.trace
    here = [trace.line(schedule.problem, op)] if trace is not None else []
    return "\n".join([*here, why(schedule, op)])


class Gantt(anywidget.AnyWidget):
    """An animated Gantt chart: ops and transfers per device, critical path, idle gaps and their reasons, memory in use.

    Playback, zoom and hover live in the browser and go on while the kernel is busy. Lanes of memory appear when memory gets
    scarce (`memory_matters`) or when `memory_shown` is set, here or by the button in the chart; once that has been
    done it stays as it was set. Spans out of memory are red on the ops, too, whether or not the lanes are shown.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    >>> Gantt.of(pl.solve(problem))
    Gantt(5 ops on 2 devices)
    """

    _esm = Path(__file__).parents[1] / "static" / "gantt.js"

    schedule = traitlets.Bytes().tag(sync=True)  # columns, see placelab.widgets.gantt.wire
    names = traitlets.Bytes().tag(sync=True)  # op names, utf-8, joined by newlines
    kinds = traitlets.Bytes().tag(sync=True)  # colour index per op, uint8
    kind_names = traitlets.List(traitlets.Unicode()).tag(sync=True)  # what a colour index stands for
    devices = traitlets.List(traitlets.Unicode()).tag(sync=True)  # device names
    memory = traitlets.Bytes().tag(sync=True)  # memory in use, see placelab.widgets.gantt.wire
    memory_shown = traitlets.Bool(False).tag(sync=True)  # lanes of memory are drawn; both ways
    selection = traitlets.Int(-1).tag(sync=True)  # op number, -1 for none
    detail = traitlets.Unicode("").tag(sync=True)  # why the selected op is here, and then
    numbers = traitlets.List(traitlets.Dict()).tag(sync=True)  # strip: key, label, value, title, tone
    warning = traitlets.Unicode("").tag(sync=True)  # one sentence above the chart
    stale = traitlets.Bool(False).tag(sync=True)  # what is shown is being recomputed
    height = traitlets.Int(0).tag(sync=True)  # of the chart in CSS pixels; 0: the devices decide

    _shown: Schedule | None = None
    _owed = False  # a hand dragged: memory was left out, and whether its lanes appear is not decided
    _chosen = False  # the lanes were asked for or put away, and are no longer left to the schedule

    def __init__(self, **traits: object) -> None:
        self._lock = threading.RLock()  # the button's message may arrive on another thread than schedules
        super().__init__(**traits)

    @classmethod
    def of(cls, schedule: Schedule, **traits: object) -> Gantt:
        """The chart of one schedule; says why the selected op is where and when it is."""
        chart = cls(**traits)
        chart.show(schedule)
        chart.observe(lambda change: setattr(chart, "detail", reason(chart._shown, change["new"])), "selection")
        return chart

    def show(self, schedule: Schedule, *, dragging: bool = False) -> None:
        """Show another schedule; names and kinds are sent again only when the graph is another one.

        Parameters
        ----------
        dragging
            A hand waits for the picture: lanes of memory do not appear under it, and curves that nothing else needs are
            left out where they take long. Call `settle` when the hand lets go.
        """
        graph = schedule.problem.graph
        with self._lock, self.hold_sync():
            another = self._shown is None or graph is not self._shown.problem.graph
            if another:
                self.names = pack_names(graph.names)
                self.kinds, self.kind_names = pack_kinds(graph)
                self.selection = -1
            self.devices = list(schedule.problem.cluster.names)
            self.schedule = pack_schedule(schedule)
            self._shown, self._owed = schedule, dragging
            if not dragging:
                self._offer_lanes(self.memory_shown and not another)
            counted = schedule.problem.memory != "none"  # then the curves are known already: something may be short
            self._send_memory(curves=not dragging or counted or graph.n_ops <= MANY)

    def settle(self) -> None:
        """The hand has let go: send what `show` left out while it dragged, if anything."""
        with self._lock, self.hold_sync():
            if self._owed:
                self._owed = False
                self._offer_lanes(self.memory_shown)
                self._send_memory()

    def _offer_lanes(self, already: bool) -> None:
        """Lanes appear when memory gets scarce, and stay, unless someone has chosen."""
        if not self._chosen:
            self.memory_shown = already or memory_matters(self._shown)
            self._chosen = False

    def _send_memory(self, curves: bool = True) -> None:
        self.memory = pack_memory(self._shown, curves=curves and self.memory_shown)

    @traitlets.observe("memory_shown")
    def _on_lanes(self, change: object) -> None:
        with self._lock:
            self._chosen = True
            if self._shown is not None:
                self._send_memory()

    def __repr__(self) -> str:
        ops, devices = len(self.kinds), len(self.devices)
        return f"Gantt({ops} op{'s' * (ops != 1)} on {devices} device{'s' * (devices != 1)})"

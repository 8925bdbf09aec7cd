"""The Gantt chart of a schedule, and the lane above it that says why none is shorter: traits and messages, no drawing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import traitlets

from placelab.analysis.explanation import carriers, why
from placelab.analysis.idle_time import MOST_TRIED, idle_gaps, said_of_gap
from placelab.app.widgets.details import Subject, details_of
from placelab.app.widgets.gantt_wire import (
    JOB_WAYS,
    WAYS,
    colours_of,
    job_ways,
    pack_kept,
    pack_kinds,
    pack_memory,
    pack_names,
    pack_schedule,
)
from placelab.app.widgets.whole import View
from placelab.base.progress import never
from placelab.planning.input_bound import ProofPart, steps
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule
from placelab.schedule.trace import Trace

CLICKED = ["selection", "gap", "transfer", "lane", "area", "value"]  # traits that say what was clicked
MANY = 5_000  # ops; the memory curves of more take too long to compute during a drag
PAGE_POINTS = 12_000  # of the memory curves on a page, to keep its file small


def gantt_traits(schedule: Schedule) -> dict[str, object]:
    """The values of all traits that draw a schedule without a kernel."""
    graph = schedule.problem.graph
    kinds, kind_names = pack_kinds(graph)
    return {
        "names": pack_names(graph.names),
        "kinds": kinds,
        "kind_names": kind_names,
        "devices": list(schedule.problem.cluster.names),
        "hosts": list(schedule.problem.cluster.hosts),
        "schedule": pack_schedule(schedule),
        "memory": pack_memory(schedule, most=PAGE_POINTS),
        "memory_shown": memory_matters(schedule),
        "unitless": not schedule.problem.cluster.units.si,
        "shared_links": shared_links(schedule.problem),
    }


def shared_links(problem: Problem) -> list[dict[str, object]]:
    """Name and pairs of devices of each link that transfers of several pairs share; none where they do not share links."""
    links = problem.cluster.links if problem.transfer_model.shared else ()
    return [{"name": link.name, "pairs": [list(pair) for pair in link.pairs]} for link in links]


def memory_matters(schedule: Schedule) -> bool:
    """Whether memory is more than half used on some device, so that its curves are worth their space."""
    if schedule.problem.memory == "none":
        return False
    return bool((schedule.peak_memory > 0.5 * schedule.problem.cluster.memory).any())


def detail_of(
    schedule: Schedule,
    op: int,
    gap: int,
    trace: Trace | None,
    most: int = MOST_TRIED,
    cancel: Callable[[], bool] = never,
) -> list[str]:
    """A line each for the idle gap that selected an op, by row, for the op's device, if that was recorded, and for its start.

    See `said_of_gap` for the others.
    """
    gaps = idle_gaps(schedule)
    waits = 0 <= gap < len(gaps) and gaps["op"][gap] == op
    said = [said_of_gap(schedule, gap, most=most, cancel=cancel)] if waits else []
    if not 0 <= op < schedule.problem.graph.n_ops:
        return said
    return [*said, *([] if trace is None else [trace.line(schedule.problem, op)]), why(schedule, op)]


def inputs_of(schedule: Schedule, op: int) -> list[int]:
    """Op number `op` and the rows of the transfers that bring its inputs; nothing for -1."""
    graph = schedule.problem.graph
    if not 0 <= op < graph.n_ops:
        return []
    rows = carriers(schedule)[graph.pred_edge[graph.pred_ptr[op] : graph.pred_ptr[op + 1]]]
    return [op, *sorted({int(row) for row in rows if row >= 0})]


class Gantt(View):
    """An animated Gantt chart: ops and transfers per device, critical path, idle gaps and their reasons, memory in use.

    Playback, zoom and hover run in the browser, also while the kernel is busy. Lanes of memory appear when memory gets scarce
    (`memory_matters`), until `memory_shown` is set, here or by the button in the chart; from then on it stays as set. Spans
    out of memory are red on the ops, too, whether or not the lanes are shown.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    >>> Gantt.of(pl.solve(problem))
    Gantt(5 ops on 2 devices)
    """

    _esm = Path(__file__).parent / "static" / "gantt.js"

    schedule = traitlets.Bytes().tag(sync=True)  # columns, see placelab.app.widgets.gantt_wire
    names = traitlets.Bytes().tag(sync=True)  # op names, utf-8, joined by newlines
    kinds = traitlets.Bytes().tag(sync=True)  # colour index per op, uint8
    kind_names = traitlets.List(traitlets.Unicode()).tag(sync=True)  # meaning of each colour index
    devices = traitlets.List(traitlets.Unicode()).tag(sync=True)  # device names
    hosts = traitlets.List(traitlets.Unicode()).tag(sync=True)  # and the host of each
    lanes = traitlets.Dict().tag(sync=True)  # order ("number", "busy"), hides (idle ones), pinned, folded; both ways
    memory = traitlets.Bytes().tag(sync=True)  # memory in use, see placelab.app.widgets.gantt_wire
    memory_shown = traitlets.Bool(False).tag(sync=True)  # lanes of memory are drawn; both ways
    selection = traitlets.Int(-1).tag(sync=True)  # op number, -1 for none
    gap = traitlets.Int(-1).tag(sync=True)  # row of the idle gap whose click selected the op, or nothing; -1 for none
    # Row of the transfer whose click selected the op that it brings, likewise.
    transfer = traitlets.Int(-1).tag(sync=True)
    lane = traitlets.Int(-1).tag(sync=True)  # device whose name was clicked, which selects no op; -1 for none
    area = traitlets.List(traitlets.Float()).tag(sync=True)  # brushed: start, finish [s], then its devices; or empty
    # Chosen on a cluster canvas, see ClusterCanvas.chosen; a click here ends that.
    value = traitlets.Dict().tag(sync=True)
    # Makespan over it, see placelab.app.explorer.engine.curve; {} while not known.
    curve = traitlets.Dict().tag(sync=True)
    detail = traitlets.Unicode("").tag(sync=True)  # why the selected op is where it is and starts then; of a gap, too
    details = traitlets.Dict().tag(sync=True)  # what the drawer says, see placelab.app.widgets.details
    proof = traitlets.List(traitlets.Dict()).tag(sync=True)  # why not faster, see placelab.app.widgets.gantt_chart
    proof_shown = traitlets.Bool(False).tag(sync=True)  # there is a lane for it; both ways
    drawer = traitlets.Bool(False).tag(sync=True)  # the drawer is open; both ways
    numbers = traitlets.List(traitlets.Dict()).tag(sync=True)  # strip: key, label, value, title, tone
    warning = traitlets.Unicode("").tag(sync=True)  # one sentence above the chart
    stale = traitlets.Bool(False).tag(sync=True)  # what is shown is being recomputed
    height = traitlets.Int(0).tag(sync=True)  # of the chart in CSS pixels; 0: the devices decide; -1: all there is
    kept = traitlets.Bytes().tag(sync=True)  # a schedule drawn behind, see `keep`
    keep_axis = traitlets.Bool(False).tag(sync=True)  # the time axis stays when the makespan changes; both ways
    # A hand drags something it depends on; the axis does not shrink then.
    dragging = traitlets.Bool(False).tag(sync=True)
    colour_by = traitlets.Enum(WAYS, "kind").tag(sync=True)  # what the colours of the ops mean; both ways
    colour_ways = traitlets.List(traitlets.Unicode()).tag(sync=True)  # more ways, which the graph of a job has
    colours = traitlets.Bytes().tag(sync=True)  # colour index per op, uint8, where only Python can work it out
    colour_names = traitlets.List(traitlets.Unicode()).tag(sync=True)  # meaning of each of these indices
    links_shown = traitlets.Bool(False).tag(sync=True)  # lanes of links are drawn; both ways
    shared_links = traitlets.List(traitlets.Dict()).tag(sync=True)  # of several pairs of devices: name, pairs
    incoming = traitlets.List(traitlets.Int()).tag(sync=True)  # the selected op, and the transfers to it, by row
    decided = traitlets.Bytes().tag(sync=True)  # what is drawn of ops, then of transfers, uint8; empty: everything
    mark = traitlets.Dict().tag(sync=True)  # a line at a time [s] with a text on the axis; {} for none
    candidates = traitlets.List(traitlets.Dict()).tag(sync=True)  # ghosts of bars: device (number), start, finish [s]
    can_hand = traitlets.Bool(False).tag(sync=True)  # somebody hears of moves by hand
    by_hand = traitlets.Bool(False).tag(sync=True)  # bars can be moved by hand; both ways
    hold = traitlets.Dict().tag(sync=True, echo_update=False)  # where the page holds an op: the newest command ``hold``
    hand = traitlets.Dict().tag(sync=True)  # what is held, and where: see placelab.app.explorer.panels.hand_mode
    tray = traitlets.List(traitlets.Dict()).tag(sync=True)  # ops that wait to be placed: op, name, ready, said
    tray_more = traitlets.Int(0).tag(sync=True)  # how many more wait than are listed
    predicts = traitlets.Bool(False).tag(sync=True)  # one says where an op runs before it is shown; both ways
    embedded = traitlets.Bool(False).tag(sync=True)  # numbers and warning are shown elsewhere
    unitless = traitlets.Bool(False).tag(sync=True)  # all quantities are plain numbers, see Cluster.units

    _shown: Schedule | None = None
    _problem: Problem | None = None  # that it is of, or that it is a part of
    _postponed = False  # the last `show` was during a drag, which postpones the memory curves and their lanes
    _chosen = False  # a user or the program has set `memory_shown`, which then no longer depends on the schedule
    _anew = False  # lanes that have appeared by themselves may go with the next schedule
    _curves = False  # the last message held the memory curves
    _kept: Schedule | None = None

    def __init__(self, **traits: object) -> None:
        self._lock = threading.RLock()  # the button's message may arrive on another thread than schedules
        super().__init__(**traits)

    @classmethod
    def of(cls, schedule: Schedule, **traits: object) -> Gantt:
        """The chart of one schedule, which explains the selected op."""
        chart = cls(**traits)
        chart.show(schedule)
        chart.observe(chart._explain, CLICKED)
        return chart

    def show(self, schedule: Schedule, *, dragging: bool = False, whole: Problem | None = None) -> None:
        """Show another schedule; names and kinds are sent again only for another graph.

        Parameters
        ----------
        whole
            The problem that the schedule's is a part of (:func:`placelab.problem.part.part_of`); default: it is whole.
        dragging
            Be quick: show no lanes of memory that are not there yet, and leave out memory curves that take long to compute.
            Call `settle` after the drag.
        """
        problem = schedule.problem if whole is None else whole
        graph = problem.graph
        with self._lock, self.hold_sync():
            before = self._problem
            cluster = problem.cluster
            another = before is None or graph is not before.graph
            self.gap = self.transfer = -1
            self.lane = self.lane if self.lane < cluster.n_devices else -1
            if another:
                self.names = pack_names(graph.names)
                self.kinds, self.kind_names = pack_kinds(graph)
                self.selection = -1
                self.colour_ways = job_ways(graph)
                if self.colour_by in JOB_WAYS and self.colour_by not in self.colour_ways:
                    self.colour_by = "kind"
            if self.devices != list(cluster.names):  # what was pinned or folded was of other devices
                self.lanes = {name: value for name, value in self.lanes.items() if name not in ("pinned", "folded")}
            self.devices = list(cluster.names)
            self.hosts = list(cluster.hosts)
            self.unitless = not cluster.units.si
            self.shared_links = shared_links(schedule.problem)
            self.schedule = pack_schedule(schedule)
            if problem is not before:
                self.proof = []  # of another problem
            self._shown = schedule
            self._problem = problem
            self._postponed = dragging
            if self._kept is not None and (before is None or another or cluster.names != before.cluster.names):
                self.kept = pack_kept(self._kept, problem)
            if another or self.colour_by == "slack":
                self._recolour()
            self.incoming = inputs_of(schedule, self.selection)
            if not dragging:
                self._offer_lanes(schedule, self.memory_shown and not another)
            counted = schedule.problem.memory != "none"  # then the simulator has computed the curves already
            self._send_memory(schedule, curves=not dragging or counted or graph.n_ops <= MANY)

    def settle(self) -> None:
        """Send what `show` left out during a drag, if anything."""
        with self._lock, self.hold_sync():
            if self._postponed and self._shown is not None:
                self._postponed = False
                self._offer_lanes(self._shown, self.memory_shown)
                if self.memory_shown and not self._curves:
                    self._send_memory(self._shown)

    def keep(self, schedule: Schedule | None) -> None:
        """Draw a schedule behind the one on show, to compare them; None draws none. Ops and devices are matched by name."""
        with self._lock:
            self._kept = schedule
            shown = self._shown or schedule
            self.kept = pack_kept(schedule, shown.problem) if schedule is not None and shown is not None else b""

    def download(self, name: str, title: str, width: int = 0) -> None:
        """Have the browser download the chart: the span of time, colours and selection that are shown.

        Parameters
        ----------
        name
            Of the file; ends in ``.png``, ``.svg`` or ``.pdf``; the last opens the browser's print dialog.
        title
            A line above the chart as it is shown; what screen readers say of it.
        width
            In mm, for a page of paper: all devices in light colours, without the title, PNG with 300 pixels per inch. 0: as the
            chart is shown, which PDF cannot be.
        """
        self.send({"picture": name.rpartition(".")[2], "name": name, "title": title, "width": width})

    def undo_lanes(self) -> None:
        """Have the next schedule decide about lanes that have appeared by themselves: what made them appear is undone."""
        self._anew = True

    def _offer_lanes(self, schedule: Schedule, already: bool) -> None:
        """Show the lanes when memory gets scarce, and keep them, unless `memory_shown` was set."""
        if not self._chosen:
            self.take(memory_shown=(already and not self._anew) or memory_matters(schedule))
        self._anew = False

    def _send_memory(self, schedule: Schedule, curves: bool = True) -> None:
        self._curves = curves and self.memory_shown
        self.memory = pack_memory(schedule, curves=self._curves)

    @traitlets.observe("memory_shown")
    def _on_lanes(self, change: object) -> None:
        with self._lock:
            if self.quiet:
                return
            self._chosen = True
            if self._shown is not None:
                self._send_memory(self._shown)

    @traitlets.observe("colour_by")
    def _recolour(self, change: object = None) -> None:
        with self._lock, self.hold_sync():
            if self._shown is not None:
                self.colours, self.colour_names = colours_of(self.colour_by, self._shown)

    @traitlets.observe("selection")
    def _follow(self, change: dict[str, Any]) -> None:
        with self._lock:
            self.incoming = [] if self._shown is None else inputs_of(self._shown, change["new"])

    def prove(self, problem: Problem, proof: list[dict[str, object]]) -> None:
        """Show why no schedule of `problem` is shorter than its bound, if that is the problem on show."""
        with self._lock:
            if self._problem is problem:
                self.proof = proof

    @property
    def subject(self) -> Subject:
        """What was clicked last."""
        return Subject(self.selection, self.gap, self.transfer, self.lane, tuple(self.area), self.value)

    def _explain(self, _: object) -> None:
        if self._shown is not None:
            lines = detail_of(self._shown, self.selection, self.gap, self._shown.placement.trace)
            self.take(detail="\n".join(lines), details=details_of(self._shown, self.subject))

    def __repr__(self) -> str:
        ops = len(self.kinds)
        devices = len(self.devices)
        return f"Gantt({ops} op{'s' * (ops != 1)} on {devices} device{'s' * (devices != 1)})"


MOST = 120  # segments that are sent
MARKED = 200  # ops of one that are, to be marked
KINDS = {"op": "compute", "transfer": "transfer", "share": "share", "between": "share", "work": "work"}
Segment = dict[str, object]


def proof_of(problem: Problem) -> list[Segment]:
    """The proof of the bound ``inputs`` (``bounds(why=True)``) in order of time, for the lane.

    Returns
    -------
    list of dict
        ``kind`` (``compute``, ``transfer``, ``share``: ops that must run on one device or await transfers, ``work``: of all
        devices together), ``label``, ``start``, ``finish`` [s], ``op`` (number of the first op), ``ops`` (all it is about, 200 at
        most), ``said``, a sentence.
        Neighbouring ops of one scope are one segment; where that is still more than 120, the shortest are drawn with the one
        before them.
    """
    parts = [step for step in steps(problem) if step.finish > step.start]
    names = problem.graph.names
    scope = lambda step: (step.kind, str(names[step.ops[0]]).partition("/")[0] if step.kind == "op" else step)  # noqa: E731
    joined = [list(group) for _, group in groupby(parts, scope)]
    while len(joined) > MOST:
        least = min(range(1, len(joined)), key=lambda i: joined[i][-1].finish - joined[i][0].start)
        joined[least - 1 : least + 1] = [joined[least - 1] + joined[least]]
    return [_segment(group, problem) for group in joined]


def _segment(group: Sequence[ProofPart], problem: Problem) -> Segment:
    """Neighbouring steps as one segment; the kind is that of the longest."""
    longest = max(group, key=lambda step: step.finish - step.start)
    names = problem.graph.names
    time = problem.cluster.units.time
    began = group[0].start
    ended = group[-1].finish
    first, last = (str(names[op]) for op in (longest.ops[0], longest.ops[-1]))
    took = f"{time(ended - began)}, {time(began)} to {time(ended)}"
    if longest.kind == "transfer":
        label = ""
        said = f"{last} waits for the output of {first} from another device"
    elif longest.kind == "share" and len(longest.ops) > 1:
        label = f"{len(longest.ops):,} ops share"
        said = f"{len(longest.ops):,} ops, {first} to {last}, run on one device: each would be too late elsewhere"
    elif longest.kind == "between":
        label = f"{len(longest.ops):,} ops"
        said = f"{len(longest.ops):,} ops, {first} to {last}: on one device they take so long, on two with transfers no less"
    elif longest.kind == "work":
        label = f"{len(longest.ops):,} ops"
        said = f"{len(longest.ops):,} ops run between these moments, over the devices that may run them"
    else:
        label = first.partition("/")[0] if len(group) > 1 else first.rpartition("/")[2]
        said = f"{len(group):,} ops of {label} run one after the other" if len(group) > 1 else f"{first} runs"
    return {
        "kind": KINDS[longest.kind],
        "label": label,
        "start": float(began),
        "finish": float(ended),
        "op": int(longest.ops[0]),
        "ops": list(dict.fromkeys(int(op) for step in group for op in step.ops))[:MARKED],
        "said": f"{said}: at least {took}.",
    }

"""Show a result, or why there is none: in chart, numbers, tabs and canvas, and in a panel over an outdated chart."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from html import escape
from time import monotonic, sleep

import numpy as np
import traitlets

from placelab.analysis.known_orders import recognise
from placelab.app.explorer.engine.failure import Failure, Remedies, RemedySearch, with_memory, with_recomputing
from placelab.app.explorer.engine.solving import Result, RunningCall, StoppedError
from placelab.app.explorer.panels import tray
from placelab.app.explorer.panels.decisions_panel import DecisionsPanel
from placelab.app.explorer.panels.difference_panel import DifferencePanel
from placelab.app.explorer.panels.known_best import BestKnown
from placelab.app.explorer.panels.numbers import (
    OPTIMAL,
    Numbers,
    at_most,
    link_load,
    no_schedule,
    plan_so_far,
    strip,
    with_change,
    with_order,
    with_proof,
    with_stars,
)
from placelab.app.explorer.panels.panel import Item, Message, Puzzle, Shared, button
from placelab.app.explorer.panels.pickers import ChangeState, Pickers
from placelab.app.explorer.panels.tabs import Tabs
from placelab.app.explorer.state import State
from placelab.app.explorer.state_key import key_of
from placelab.app.widgets import controls as w
from placelab.app.widgets.cluster_canvas import ClusterCanvas
from placelab.app.widgets.gantt_chart import Gantt
from placelab.app.widgets.whole import PartComm
from placelab.base.compiling import compiling
from placelab.base.errors import FormatError, InfeasibleError
from placelab.base.progress import COMPILING
from placelab.base.units import SI
from placelab.problem.pipeline_columns import pipeline_of
from placelab.problem.problem import Problem
from placelab.schedule.known_schedules import offer
from placelab.schedule.schedule import Schedule

INTERVAL = 0.2  # seconds between two updates


class SearchLine:
    """What is said of a search: while it runs, a message over the chart; of its result, notes in the line above.

    Parameters
    ----------
    again
        Called when a user wants a search that was ended to be run again.

    Attributes
    ----------
    running
        The message: `doing` says what runs and why it takes long, `bar` how far it is, `cancel` ends it.
    box
        The line with the notes, always there and as high as its button; `text` and `again` are the widgets in it.
    """

    def __init__(self, again: Callable[[], None]) -> None:
        self._search: RunningCall | None = None
        self._shown_at = 0.0
        self.bar = w.FloatProgress(tooltip="How far the search is")
        self.doing = w.HTML()
        self.cancel = button("Stop", "End the search and show the best so far", self.halt).add_class("pl-stop")
        self.running = w.HBox([self.doing, self.bar, self.cancel]).add_class("pl-running")
        self.text = w.HTML()
        self.again = button("Search again", "Search once more, to the end", again)
        self.box = w.HBox([self.text, self.again]).add_class("pl-line")
        self.rest()

    def show(self, search: RunningCall) -> None:
        """Show a search that is under way; called as often as one likes, it changes a few times a second."""
        if self._search is search and monotonic() - self._shown_at < INTERVAL:
            return
        self._search = search
        self._shown_at = monotonic()
        progress = search.progress
        self.bar.value = min(max(progress.fraction or 0.0, 0.0), 1.0)
        (self.bar.add_class if progress.fraction is None else self.bar.remove_class)("pl-unknown")
        head = f"<b>{escape(search.title)}</b> is running · {search.elapsed:.0f} s"
        self.doing.value = f"<div>{head}</div><div>{escape(described(search))}</div>"
        best = progress.makespan
        self.cancel.description = "Stop" if best is None else f"Stop, take {search.units.time(best)}"
        self.cancel.disabled = search.halted
        self.text.value = ""
        self.again.hidden = True
        self.running.hidden = False

    def rest(self, notes: Sequence[str] = (), stopped: bool = False) -> None:
        """Show the notes of a result; `stopped` offers to search again."""
        self._search = None
        lead = ' class="pl-preview"' if notes and notes[0].lower().startswith("preview") else ""
        spans = " ".join(f"<span{lead if i == 0 else ''}>{escape(note)}</span>" for i, note in enumerate(notes))
        self.text.value = f'<div role="status">{spans}</div>' if spans else ""
        self.again.hidden = not stopped
        self.running.hidden = True

    def halt(self) -> None:
        """End the search with the best placement so far."""
        if search := self._search:
            search.halt()
            self.cancel.disabled = True


def described(search: RunningCall) -> str:
    """How far a search is, and why it takes long."""
    progress = search.progress
    gap = progress.gap
    parts = [
        "stopping…" if search.halted else progress.doing,
        "" if progress.makespan is None else f"best {search.units.time(progress.makespan)}",
        "" if progress.bound is None else f"bound {search.units.time(progress.bound)}",
        "" if gap is None else "optimal" if gap < OPTIMAL else f"{at_most(gap)} above optimum",
        f"slow because of {COMPILING}" if compiling() and progress.doing != COMPILING else search.why,
    ]
    return " · ".join([part for part in parts if part])


LISTED = 6  # devices that are short of memory, one by one
OFFERED = 3  # strategies that would place it
LONGEST = 40  # characters of an op's name on a button


class Rejection:
    """The panel, with remedies.

    Parameters
    ----------
    select
        Called with the number of an op that is to be shown.
    change, undo
        Change the state; go back one step.

    Attributes
    ----------
    box
        The panel; `text` is the headline, `hint` says what is tried, `offers` has a button for each remedy, `devices` says why
        each device was ruled out.
    """

    def __init__(self, select: Callable[[int], None], change: ChangeState, undo: Callable[[], None]) -> None:
        self._select = select
        self._op = -1
        self._written = SI
        self._sizes: list[float] = []  # of the devices' memories
        self.text = w.HTML()
        self.hint = w.HTML()
        self.offers = w.HBox().add_class("pl-remedies")
        self._show_op = button("", "Select it in all views", lambda: self._select(self._op))
        tip = "Memory model none: place as if every device had room for everything"
        ignore = button("Ignore memory", tip, lambda: change(lambda s: replace(s, memory="none"), ""))
        back = button("Undo", "Back to what was there before", undo)
        self._change = change
        self._remedies = RemedySearch(self._offer)
        always = w.HBox([self._show_op, ignore, back]).add_class("pl-remedies")
        self.devices = w.HTML()
        self.box = w.VBox([self.text, self.hint, self.offers, always, self.devices]).add_class("pl-rejection")
        self.hide()

    def show(self, error: InfeasibleError, state: State, problem: Problem, selectable: bool) -> None:
        """Explain an error that has a reason for each device; `selectable`: the chart shows the graph of this problem."""
        self._written = problem.cluster.units
        self._sizes = np.unique(state.cluster.memory).tolist()
        title = escape(headline(error, problem, state.placer))
        self.text.value = f'<div role="alert"><b>{title}</b></div>'
        self.devices.value = reasons(error, problem)
        named = bool(error.op) and error.op in problem.graph.names
        self._op = problem.graph.index(error.op) if named else -1
        self._show_op.description = f"Show {_short(error.op)}"
        self._show_op.hidden = not (named and selectable)
        self._offer(Remedies())
        self.box.hidden = False
        self._remedies.begin(state, problem)

    def hide(self) -> None:
        """Take the panel away."""
        self.box.hidden = True
        self._remedies.end()

    def settled(self, timeout: float | None = None) -> bool:
        """Wait until all remedies have been tried; return False when that takes longer."""
        return self._remedies.settled(timeout)

    def close(self) -> None:
        """End the thread."""
        self._remedies.close()

    def _offer(self, remedies: Remedies) -> None:
        """A button for each of the best remedies."""
        if remedies.ended:
            hint = (
                "" if remedies.strategies or remedies.memory or remedies.recompute else "No quick strategy places it."
            )
        else:
            hint = "Trying what would work …"
        self.hint.value = f'<div role="status">{hint}</div>' if hint else ""
        offers = [self._use(name, makespan) for name, makespan in remedies.strategies[:OFFERED]]
        if remedies.recompute is not None:
            offers.insert(0, self._recompute(remedies.recompute))
        if remedies.memory is not None:
            offers.insert(0, self._grow(remedies.memory))
        self.offers.children = offers

    def _recompute(self, makespan: float) -> w.Button:
        tip = "Compute activations again where they are needed, rather than keep them"
        text = f"Recompute: {self._written.time(makespan)}"
        return button(text, tip, lambda: self._change(with_recomputing, ""))

    def _use(self, name: str, makespan: float) -> w.Button:
        pick = lambda: self._change(lambda s: s.with_strategy("partitioner", name), "")  # noqa: E731
        return button(f"{name}: {self._written.time(makespan)}", f"Place it with {name}, which finds room", pick)

    def _grow(self, factor: float) -> w.Button:
        tip = (
            f"The least memory with which the strategies shown would place it, to 1 %: × {factor:.3g} for every device"
        )
        sizes = self._sizes
        if len(sizes) == 1:
            text = (
                f"≥ {self._written.amount(sizes[0] * factor, 'B')} a device (now {self._written.amount(sizes[0], 'B')})"
            )
        else:
            text = f"Memory × {factor:.3g}"
        return button(text, tip, lambda: self._change(lambda s: with_memory(s, factor), ""))


def reasons(error: InfeasibleError, problem: Problem) -> str:
    """A table of why each device was ruled out: those short of memory first, the least short of all; equal reasons in one row."""
    cluster = problem.cluster
    short = sorted((name for name in error.devices if name in error.short), key=lambda name: error.short[name])
    rows = [
        (
            name,
            f"short by {cluster.units.amount(error.short[name], 'B')}",
            float(cluster.memory[cluster.names.index(name)]),
        )
        for name in short[:LISTED]
    ]
    table = [
        f"<tr><td>{escape(name)}</td><td>{escape(why)}</td><td>{cluster.units.amount(size, 'B')}</td></tr>"
        for name, why, size in rows
    ]
    if len(short) > LISTED:
        worst = cluster.units.amount(error.short[short[-1]], "B")
        table.append(f"<tr><td>{len(short) - LISTED} others</td><td>short by up to {worst}</td><td></td></tr>")
    others: dict[str, list[str]] = {}
    for name in error.devices:
        if name not in error.short:
            others.setdefault(error.devices[name], []).append(name)
    for why, names in sorted(others.items(), key=lambda item: -len(item[1])):
        table.append(f"<tr><td>{escape(_some(names))}</td><td>{escape(why)}</td><td></td></tr>")
    head = "<tr><th>Device</th><th>Why not</th><th>Its memory</th></tr>"
    return f"<table>{head}{''.join(table)}</table>"


NAMED = 3  # devices of one reason that are named


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    >>> _some(["a", "b"]), _some(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 others')
    """
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} other{'s' * (more > 1)}" if more > 0 else "")


# Shown by the page where it finds the cell.
JUMP = '<button type="button" class="pl-button pl-jump" title="Scroll to where it is defined">Jump to the cell</button>'


class FailurePanel:
    """The panel of a strategy that has failed: its error, the line, the traceback.

    Parameters
    ----------
    again, undo
        Compute once more; go back one step.

    Attributes
    ----------
    box
        The panel; `text` is what it says.
    on_cell
        Called with the text and the line of the cell in which the strategy has failed; {} for none.
    """

    on_cell: Callable[[dict[str, object]], object] = staticmethod(lambda _: None)

    def __init__(self, again: Callable[[], None], undo: Callable[[], None]) -> None:
        self.text = w.HTML()
        buttons = [
            button("Run again", "Compute the same once more", again),
            button("Undo", "Back to what was there before", undo),
        ]
        row = w.HBox(buttons).add_class("pl-remedies")
        self.box = w.VBox([self.text, row]).add_class("pl-failure")
        self.hide()

    def show(self, failure: Failure) -> None:
        """Say what went wrong, and in which line."""
        jump = JUMP if failure.where else ""
        said = f"<b>{escape(failure.sentence)}</b>{failure.lines}{jump}{failure.details}"
        self.text.value = f'<div role="alert">{said}</div>'
        self.on_cell(failure.where)
        self.box.hidden = False

    def hide(self) -> None:
        """Take the panel away."""
        self.text.value = ""
        self.box.hidden = True
        self.on_cell({})


def headline(error: InfeasibleError, problem: Problem, partitioner: str) -> str:
    """A line that says why there is no placement.

    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2, memory=1.0), memory="dynamic")
    >>> headline(InfeasibleError("", op="fork"), problem, "heft")
    "Op 'fork' fits on no device (memory model dynamic)"
    >>> headline(InfeasibleError("", op="fork", stuck=True, suffices=4.0), problem, "heft")
    "heft is stuck at op 'fork' (memory model dynamic); a plan may still exist. With 4 B on each device one does: depth first"
    """
    model = f" (memory model {problem.memory})"
    if not error.op and not error.group:
        reason = str(error).partition(":")[0]
        return reason[:1].upper() + reason[1:]
    if error.fixed:
        group = f"colocation group {error.group!r}"
        return f"{partitioner} has already fixed {group} on {error.fixed}, where op {error.op!r} has no room{model}"
    what = f"Op {error.op!r}"
    if error.group:
        n = len(problem.members(problem.graph.index(error.op))) if error.op in problem.graph.names else 0
        what = f"Colocation group {error.group!r}" + (f" of {n:,} ops, {error.op!r} the first," if n else "")
    if not error.stuck:
        return f"{what} fits on no device{model}"
    enough = ""
    if error.suffices is not None:
        enough = f". With {problem.cluster.units.amount(error.suffices, 'B')} on each device one does: depth first"
    return f"{partitioner} is stuck at {what[0].lower()}{what[1:]}{model}; a plan may still exist{enough}"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"…{name[1 - LONGEST :]}"


def _used(result: Result) -> np.ndarray:
    """Bytes in use on each device at most; of a decoder all that is counted, also what a problem of stages takes for granted."""
    spread = result.state.spread
    return result.schedule.peak_memory if spread is None else spread.used(result.state.cluster)


SENDING = 1e-3  # seconds in which the kernel's thread that sends messages gets Python's lock; it would wait for the numbers else
FEW = 10  # devices; the canvas does not draw the links of more, so their load is not sent


class ResultView:
    """The Gantt chart, the numbers, the tabs, and the panel that explains why nothing fits.

    Parameters
    ----------
    canvas, message, pickers
        Also show parts of a result: use of memory and links, errors, number of ops placed.
    shared
        What the tabs share; its selection is that of the chart.
    change, undo
        Called by the remedies that the panel offers.
    again
        Called when a user wants a stopped search to be run again.
    busy
        Whether something is computed or due, or nobody sees the explorer.

    Attributes
    ----------
    best
        The chip of the best known schedule.
    puzzle
        Whose stars are shown where its problem is; None for none.
    aside
        A sentence about a side effect of the latest change, shown with the notes of its result; "" for none.
    """

    def __init__(
        self,
        canvas: ClusterCanvas,
        message: Message,
        pickers: Pickers,
        shared: Shared,
        change: ChangeState,
        undo: Callable[[], None],
        again: Callable[[], None],
        busy: Callable[[], bool],
    ) -> None:
        self._canvas = canvas
        self._prepare = pickers.prepare
        self._shared = shared
        self.say = message.say
        self.aside = ""
        # The schedule whose numbers are shown, the key of its state, numbers and warning; replaced as a whole, for other threads.
        self._shown: tuple[Schedule, str, list[Item], str] | None = None
        self._decided: tuple[Schedule, tuple[int, int, np.ndarray]] | None = None  # of a schedule, while a plan is made
        self._placed: np.ndarray | None = None  # which ops are, where they are placed one by one
        self._orders: tuple[str, ...] = ()  # published orders that it has, where it is of a pipeline
        self.puzzle: Puzzle | None = None
        self._stars = -1  # that it earns as a plan of the puzzle; -1: not known
        self._writing = threading.Lock()  # a bound is proven on another thread than results are shown
        self._devices = 0  # of the newest problem
        self.gantt = Gantt(embedded=True, height=-1, proof_shown=True, comm=PartComm())
        self.line = SearchLine(again)
        self.best = BestKnown(shared, busy)
        self.numbers = Numbers(pickers.models.opening.box, self.line.box, chip=self.best.box)
        self.rejection = Rejection(self._select, change, undo)
        self.failure_panel = FailurePanel(again, undo)
        self.tabs = Tabs(shared)
        newest_first = [self.line.running, message, self.rejection.box, self.failure_panel.box]
        messages = w.VBox(newest_first).add_class("pl-messages")
        self.box = w.Box([self.gantt, messages]).add_class("pl-chart")
        shared.observe(self._write_numbers, ["bound", "best"])
        traitlets.link((self.gantt, "selection"), (shared, "selection"))
        decisions = self.tabs.panels[DecisionsPanel.title]
        assert isinstance(decisions, DecisionsPanel)
        decisions.on_step = self._show_so_far
        decisions.on_part = self._mark
        apart = self.tabs.panels[DifferencePanel.title]
        assert isinstance(apart, DifferencePanel)

        def part(name: str) -> None:
            self.tabs.open(DecisionsPanel.title)
            decisions.beside(name)

        apart.on_part = part
        # in the page, ghosts of the bars that were considered
        self.links = [[f"{view.model_id}.candidates" for view in (decisions.view, self.gantt)]]

    def follow(self, problem: Problem) -> None:
        """Prepare for the results of this problem; use of memory and links of other devices is taken off the canvas."""
        self._shared.follow(problem)
        self.best.follow(problem)
        devices = self._canvas.state[0].n_devices  # under a plan the problem has one of many
        self._canvas.fixed = np.flatnonzero(~np.resize(problem.speed_matters, devices)).tolist()
        self._canvas.sharing = problem.transfers == "fair"
        if problem.cluster.n_devices != self._devices:
            self.clear_canvas()
        self._devices = problem.cluster.n_devices

    def keep(self, schedule: Schedule | None) -> None:
        """Compare the schedules to come with this one; None: with none."""
        self._shared.kept = schedule
        self.gantt.keep(schedule)
        self._write_numbers()

    def show(self, result: Result) -> None:
        """Show a result; the chart first, since working out the numbers takes as long as drawing it."""
        schedule = result.schedule
        gantt = self.gantt
        self._shared.prove(schedule.problem, schedule.placement.proven(schedule.makespan))
        self._decided = None  # of the schedule before; the panel tells it anew
        self._placed = result.state.placed
        if self._placed is not None:
            self._decided = schedule, tray.so_far(schedule, self._placed)
        of = result.key
        with gantt.hold_sync():
            gantt.result_of = of
            gantt.decided = b"" if self._decided is None else self._decided[1][2].astype(np.uint8).tobytes()
            gantt.show(schedule, dragging=self._shared.dragging())
        sleep(SENDING)
        self._orders = ()
        self._stars = -1
        self.measure(result, of)
        self.rest(result)
        self._prepare.show_count(schedule.problem.graph.n_ops, result.ops)
        self.tabs.result(result)
        limited = result.state.memory != "none" and np.isfinite(result.state.cluster.memory).any()
        with self._canvas.hold_sync():
            self._canvas.result_of = of
            self._canvas.peak = _used(result).tolist() if limited else []
            drawn = len(names := result.state.cluster.names) <= FEW and schedule.problem.cluster.names == names
            self._canvas.load = link_load(schedule).tolist() if drawn else []

    def measure(self, result: Result, of: str) -> None:
        """Show the numbers of a result, the key of whose state is `of`."""
        numbers, warning = strip(result.schedule, result.violations)
        self._shown = result.schedule, of, numbers, warning
        with self.gantt.hold_sync():
            self.gantt.numbers, self.gantt.warning = numbers, warning
        self._write_numbers()

    def learn(self, schedule: Schedule) -> None:
        """Remember a legal schedule; show what else is known of its problem, the order of a pipeline, the stars of a puzzle."""
        offer(schedule)
        if self.puzzle is not None:
            with suppress(FormatError):  # another problem is shown
                self._stars = self.puzzle.stars(schedule)
                self._write_numbers()
        if pipeline_of(schedule.problem.graph) is not None and not self._orders:
            self._orders = recognise(schedule)
            self._write_numbers()
        self._shared.learn(schedule.problem)

    def rest(self, result: Result | None) -> None:
        """Show the notes of a result instead of the progress of a search."""
        notes = [] if result is None else [*result.notes, self.aside]
        self.line.rest([note for note in notes if note], result is not None and result.stopped)

    def fail(self, failure: Failure, state: State, problem: Problem, selectable: bool) -> None:
        """Show why there is no result; `selectable`: the chart still shows a schedule of the same graph."""
        error = failure.error
        self.box.add_class("pl-failed")
        self._shown = None  # its numbers are of another state
        self.best.write(None)
        self.numbers.show(no_schedule(f"{state.placer} + {state.scheduler}"), "", key_of(state, problem))
        self.clear_canvas()
        self.tabs.result(None)
        self.line.rest((), stopped=isinstance(error, StoppedError))
        self.say("")
        if isinstance(error, InfeasibleError) and error.devices:
            self.failure_panel.hide()
            self.rejection.show(error, state, problem, selectable)
        else:
            self.rejection.hide()
            self.failure_panel.show(failure)

    def recover(self) -> None:
        """Take an error away after a result has been shown again."""
        self.box.remove_class("pl-failed")
        self.rejection.hide()
        self.failure_panel.hide()
        self.say("")

    def clear_canvas(self) -> None:
        """Remove use of memory and links from the canvas: they belong to a placement that is no longer valid."""
        self._canvas.peak = []
        self._canvas.load = []

    def close(self) -> None:
        """End the threads of the panels."""
        self.rejection.close()
        self.best.close()
        self.tabs.close()

    def _write_numbers(self, _: object = None) -> None:
        with self._writing:
            if self._shown is None:
                return self.best.write(None)
            schedule, of, items, warning = self._shown
            decided = self._decided  # may still be of the schedule before
            if decided is not None and decided[0] is schedule:
                self.numbers.show(plan_so_far(schedule, *decided[1]), "", of)
                return self.best.write(None)
            items = with_proof(items, schedule, self._shared.bound)
            items = with_stars(with_order(items, self._orders), self.puzzle, self._stars)
            self.numbers.show(with_change(items, schedule, self._shared.kept), warning, of)
            self.best.write(schedule, of)

    def _show_so_far(self, schedule: Schedule, so_far: tuple[int, int, np.ndarray] | None) -> None:
        """Draw what is decided so far, and say nothing of what is to come."""
        if self._placed is not None:
            return  # what is placed by hand is drawn
        if so_far is not None and so_far[0] == so_far[1]:
            so_far = None  # all of it
        if self._shown is None or schedule is not self._shown[0] or (so_far is None and self._decided is None):
            return  # as with each result of a drag in another tab
        self._decided = None if so_far is None else (schedule, so_far)
        self.gantt.decided = b"" if so_far is None else so_far[2].astype(np.uint8).tobytes()
        self._write_numbers()

    def _mark(self, schedule: Schedule, row: int, op: int) -> None:
        """Mark where the first decision that differs has its op."""
        if self._shown is not None and schedule is self._shown[0]:
            name = str(schedule.problem.graph.names[op])
            said = f"first difference: decision {row + 1:,}, {name}"
            self.gantt.mark = {"time": float(schedule.start[op]), "text": said} if row >= 0 else {}

    def _select(self, op: int) -> None:
        self.gantt.selection = op

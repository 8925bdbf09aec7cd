"""The explorer as a widget: its views, what they do to each other, and the values that a cell can read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

from placelab.app.explorer.computation import Computation
from placelab.app.explorer.engine.curve import Curve
from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.panels.actions import TABLES, Actions, curve_columns, curve_key, details_columns
from placelab.app.explorer.panels.commands import Command, Commands
from placelab.app.explorer.panels.effects import said_of_change, said_of_effect
from placelab.app.explorer.panels.everyday import TABS, everyday
from placelab.app.explorer.panels.hand_mode import ByHandMode
from placelab.app.explorer.panels.held import PLACE_ALL
from placelab.app.explorer.panels.panel import Message, Puzzle, Shared
from placelab.app.explorer.panels.pickers import EXAMPLES, Pickers
from placelab.app.explorer.panels.result_view import ResultView
from placelab.app.explorer.readable import PATIENT, Readable, SavedPicture
from placelab.app.explorer.session import Session, Undoable, costs_switched, memory_switched
from placelab.app.explorer.state import Change, State, key_of, said_of_costs
from placelab.app.widgets import controls as w
from placelab.app.widgets.cluster_canvas import ClusterCanvas
from placelab.app.widgets.gantt_chart import CLICKED
from placelab.app.widgets.whole import PartComm
from placelab.base.progress import compiling
from placelab.problem.problem import Problem
from placelab.schedule import catalogue as strategies
from placelab.schedule.schedule import Schedule

LOADED_AGAIN = "This page was loaded again: run the cell before you save the notebook, or it keeps an earlier picture."


class Explorer(Readable):
    """Everything about one problem on one screen: pickers, numbers, cluster canvas beside the tabs, and the Gantt chart.

    Attributes
    ----------
    problem, placement, schedule
        What is shown now; reading them waits for a computation that is under way. During a drag they may be a preview.
    state
        What pickers and canvas show.
    pickers, actions, message, numbers, canvas, tabs, line, gantt, rejection, failure_panel
        The parts, from top to bottom; `line` shows the progress of a search.
    sensitivity
        The makespan over the value that is chosen on the canvas.
    best_known
        The chip of the best known schedule, with its search.
    by_hand
        What the chart does while bars are moved by hand.
    saved
        The picture that a saved notebook shows without a kernel.

    Notes
    -----
    The browser's messages arrive one at a time, on the main thread or, while a cell is busy, on another one. Each waits a
    moment for its result (:class:`placelab.app.explorer.computation.Computation`), so that the browser sends at the rate the
    strategies can hold.
    """

    _closed = False

    def __init__(
        self,
        state: State,
        problem: Problem,
        *,
        height: int | None = None,
        puzzle: Puzzle | None = None,
        begins: bool = False,
    ) -> None:
        self._begins = begins  # nothing was asked for
        self._session = session = Session(state, problem)
        self.message = Message()
        self._say = self.message.say
        self.shared = Shared(
            self.change,
            self._say,
            self._dragging,
            undo=self.undo,
            redo=self.redo,
            again=self._compute_again,
            busy=self._busy,
        )
        self.pickers = Pickers(self.shared, state)
        self.actions = Actions(
            self.shared,
            session,
            lambda: (self.state, self.schedule, self.gantt.numbers),
            self._table,
            self._toggle_kept,
        )
        self.canvas = ClusterCanvas(state.cluster, lock=session.lock, embedded=True, comm=PartComm())
        self.canvas.on_step = lambda kind: {"undo": self.undo, "redo": self.redo}[kind]()
        self.sensitivity = w.Sensitivity()
        self._seen: tuple[Any, ...] = ()  # cluster, arrangement and drag of the canvas that were taken over last
        self._curve = Curve(
            lambda curve: self.canvas.set_trait("curve", curve),
            self._show_curve,
            lambda: self._computation.active,
        )
        self._view = ResultView(self.shared, self.canvas, self.message, self.pickers)
        self._view.puzzle = puzzle
        self.gantt = self._view.gantt
        self.line = self._view.line
        self.best_known = self._view.best
        self.rejection = self._view.rejection
        self.failure_panel = self._view.failure_panel
        self.numbers = self._view.numbers
        self.tabs = self._view.tabs
        self._view.aside = said_of_costs(state)
        self._computation = Computation(
            lambda: session.now, self._dragging, self._view, self._adopt_scheduler, self._full_result
        )
        self.by_hand = ByHandMode(session, self.gantt, lambda: self.result, self._moved_by_hand, self._say, self.line)
        self.actions.downloads.draw = self.gantt.download
        self.commands = Commands(
            session,
            self.shared,
            self.gantt,
            schedule=lambda: None if self.result is None else self.result.schedule,
            load=lambda name: self.pickers.models.menu.set_trait("value", name),
            views=tuple(self._own_commands()),
            keep=self._keep_and_open,
        )
        self._told: tuple[State, float] | None = None  # state and makespan of the last full result
        self._stepped: tuple[State | None, str] = None, ""  # what undo or redo led to last, and which of them
        self.saved = SavedPicture(self._pictured, self.actions.frame.expect_picture)
        tall = 0 if height is None else max(int(height), 400)
        super().__init__(self._assemble(), links=self._view.links, height=tall, hiding=self.saved.hiding)
        self._listen()
        self._show_inputs()
        self._compute()

    # ---------------------------------------------------------------- what a user can do

    def undo(self) -> None:
        """Go back one step, of the pickers or the canvas."""
        self._step_to(Undoable.undo, "Undo")

    def redo(self) -> None:
        """Go forward to the state that the last undo left."""
        self._step_to(Undoable.redo, "Redo")

    def change(self, change: Change, key: str = "") -> None:
        """Show ``change(state)`` as a new step.

        A change that makes no valid problem is refused: its error is shown, and the controls jump back.

        Parameters
        ----------
        change
            Takes the state and returns another one.
        key
            Changes of one key that follow each other within a second are one step.
        """
        with self._session.lock:
            self.canvas.let_go()  # another browser may be dragging, or was closed amid a drag
            with self._changing():
                self.by_hand.let_go()
                before = self.state
                try:
                    self._session.adopt(change(before))
                    self._view.aside = costs_switched(before, self.state)
                except Exception as error:
                    self._say(sentence(error), "bad")
                self._session.record(key)
        self._computation.wait()

    def close(self) -> None:
        """End the threads and close all widgets; a second call, as when the object is deleted, does nothing."""
        if self._closed:
            return
        self._closed = True
        self._computation.close()
        self._curve.close()
        self.by_hand.close()
        self.saved.close()
        self.pickers.models.close()
        self._view.close()
        if self._catalogue_changed in strategies.on_change:
            strategies.on_change.remove(self._catalogue_changed)
        super().close()

    def keep(self, schedule: Schedule | None) -> None:
        """Compare the schedules to come with this one: its outline and the change of the numbers; None: with none."""
        self.shared.kept = schedule

    def _toggle_kept(self, wanted: bool) -> None:
        if wanted and self.result is not None and self.result.whole is not None:
            self._say(PLACE_ALL, "note")
            self.actions.keep.value = False
        elif wanted != (self.shared.kept is not None):
            self.keep(self.result.schedule if wanted and self.result is not None else None)

    # ---------------------------------------------------------------- the newest state

    def _edited(self, _: Any) -> None:
        """Take over another cluster or arrangement of the canvas, or the end of a drag."""
        with self._session.lock:
            seen = (*self.canvas.state, self.canvas.dragging)
            if self._seen == seen:
                return
            self._seen = seen
            self.by_hand.let_go()
            before = self._session.steps.now
            dragging = self.canvas.dragging
            self.gantt.dragging = dragging
            self._curve.follow(before, self.canvas.edit, self.canvas.gesture)
            state = before.with_cluster(*self.canvas.state)
            self._view.aside = memory_switched(before, state)
            try:
                self._session.adopt(before if state == before else state)
            except Exception as error:
                self._show_inputs()
                self.canvas.error = sentence(error)
            else:
                if not dragging:
                    self._session.record()
                    self._show_inputs()
            self._compute()
        self._computation.wait()

    def _show_inputs(self) -> None:
        """Show the newest state in every control, without asking for a change."""
        with self._session.lock:
            state = self.state
            self.pickers.show(state)
            if self.canvas.state != (state.cluster, state.layout):
                with self.canvas.quietly():
                    self.canvas.restore((state.cluster, state.layout))
            self.actions.show()
            self.canvas.take(can_undo=bool(self.steps.past), can_redo=bool(self.steps.future))
            for panel in (self.rejection, self.failure_panel):
                panel.back.hidden = not self.steps.past

    def _step_to(self, way: Callable[[Undoable], Undoable], name: str) -> None:
        if self.commands.palette.done.get("text"):
            self.commands.palette.note("")
        with self._session.lock:
            self.canvas.let_go()
            with self._changing():
                self.by_hand.let_go()
                self.gantt.undo_lanes()
                self._session.step(way)
                self._stepped = self.state, name
        self._computation.wait()

    def _dragging(self) -> bool:
        """Whether a hand drags on the canvas, or holds an op of the chart."""
        return self.canvas.dragging or self.by_hand.holding

    def _busy(self) -> bool:
        """Whether something is computed, compiled, held or compared, or nobody sees the explorer."""
        computing = self._computation.active or compiling() or self.by_hand.active or self.comparison.running
        return not self.views or computing or self._dragging()

    def _moved_by_hand(self) -> None:
        """Show the newest state after a move in the chart."""
        with self._session.lock:
            if self._dragging():
                self._compute()
            else:
                with self._changing():
                    pass
        self._computation.wait()

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Forget what was said of the state before, and show and compute the one after. Needs the lock."""
        with self.in_one_message():
            self._say("")
            self._view.aside = ""
            yield
            self._show_inputs()
            self.by_hand.follow()
            self._follow()
        self._computation.start()

    def _adopt_scheduler(self, asked: State, runnable: State) -> bool:
        """Take over the scheduler that replaced ``planned`` for want of a plan, and say so; False when a newer state has come."""
        with self._session.lock:
            if self.state is not asked:
                return False
            self._session.correct(runnable)
            self._announce()
            self._show_inputs()
            self.tabs.show(self.state, self.problem, self._dragging())
            self._say(
                f"{asked.partitioner} plans no order for planned to follow; {self.state.scheduler} decides who runs next.",
                "note",
            )
        return True

    def _announce(self) -> None:
        """Say which state is the newest, before its result is there."""
        self.now = key_of(*self._session.now)

    def _compute(self) -> None:
        with self.in_one_message():
            self._follow()
        self._computation.start()

    def _follow(self) -> None:
        """Show what needs no schedule of the newest state: before the worker starts, which would take turns with it."""
        self._announce()
        self._view.follow(self.problem)
        self.tabs.show(self.state, self.problem, self._dragging())

    def _compute_again(self) -> None:
        """Compute the present state once more."""
        with self._session.lock:
            self._session.renew()
            self._compute()

    # ---------------------------------------------------------------- assembly

    def _assemble(self) -> list[w.Widget]:
        middle = self.tabs.row
        middle.children = [w.HBox([self.canvas, self.sensitivity]).add_class("pl-canvas"), self.tabs.box]
        bar = w.HBox([*self.pickers.bar, self.actions.box, self.commands.palette]).add_class("pl-top")
        return [bar, self.numbers.box, middle, self._view.box]

    def _own_commands(self) -> Iterator[Command]:
        """What can be asked for in words, beside strategies, models, values and ops."""
        yield Command("undo", "Back to what was there before", "edit", self.undo, "back revert")
        yield Command("redo", "Do again what was undone", "edit", self.redo, "forward")
        keep = lambda: self._toggle_kept(True)  # noqa: E731
        yield Command(
            "keep", "Compare what follows with this schedule", "view", keep, "compare two schedules freeze pin this"
        )
        yield Command(
            "keep nothing", "Stop comparing with the kept schedule", "view", lambda: self.keep(None), "compare"
        )
        yield Command(
            "hints",
            "Show what to do first, each hint at its place",
            "view",
            lambda: self.set_trait("hints", self.hints + 1),
            "start first tour newcomer tutorial introduction what is this",
        )
        yield Command(
            "examples", "Drop a model, or open one of three", "file", self._begin, "start page example demo begin"
        )
        yield Command(
            "best known",
            "The best schedule that is known of this problem",
            "edit",
            self.best_known.show_best,
            "better improve improved optimum star",
        )
        drawer = lambda: self.gantt.set_trait("drawer", not self.gantt.drawer)  # noqa: E731
        yield Command("details", "Facts, why here, why then", "view", drawer, "why explain drawer")
        for title in self.tabs.panels:
            act = partial(self.tabs.open, title)
            yield Command(title.lower(), "Open this tab", "view", act, f"show tab view {TABS.get(title, '')}")
        for text, button in self.actions.downloads.buttons.items():
            table = "csv numbers" if text in TABLES else ""
            yield Command(
                f"download {text}",
                str(button.tooltip),
                "file",
                button.click,
                f"save export file share print picture image paper {table}",
            )
        yield from everyday(self.shared, self._session, self.gantt, self.pickers.models.ask)

    def _table(self, title: str) -> Mapping[str, Any]:
        """The columns of a table of ``TABLES``."""
        drawers = {"Curve": curve_columns, "Details": details_columns}
        return drawers[title](self.gantt) if title in drawers else self.tabs.panels[title].columns()

    def _keep_and_open(self) -> bool:
        """Keep the newest schedule and open the difference; False where it takes long, or there is none."""
        if not self.settled(PATIENT) or self._computation.failure is not None:
            self._say(
                "Its schedule takes long: keep it with ◈ once it is there, then pick the other partitioner.", "note"
            )
            return False
        if self._computation.newest.whole is not None:
            self._say(PLACE_ALL, "note")
            return False
        self.keep(self.schedule)
        self.tabs.open("Difference")
        return True

    def _begin(self, how: str = "again") -> None:
        """Have the page offer examples and a place to drop a model on: ``"again"``, or ``"once"`` in each browser.

        A message and no trait: a page without a kernel, which has the traits that were saved, could open none of them.
        """
        buttons = self.pickers.models.examples
        examples = [
            {"name": e.name, "title": e.title, "says": e.says, "tag": e.tag, "button": made.model_id}
            for e, made in zip(EXAMPLES, buttons, strict=True)
        ]
        self.send({"to": "begin", "content": {"how": how, "behind": self.state.model.title, "examples": examples}})

    def _listen(self) -> None:
        self.actions.frame.whole = self.model_id
        self.failure_panel.on_cell = lambda cell: self.actions.frame.set_trait("failing", cell)
        self.actions.frame.handles = {"stale": lambda: self._say(LOADED_AGAIN, "note")}
        self.canvas.on_choice(self._edited, ["value", "dragging", "cluster"])
        self.gantt.observe(lambda _: self._computation.wake(), [*CLICKED, "drawer"])
        self.canvas.observe(lambda change: self.gantt.set_trait("value", change["new"]), "chosen")
        self.gantt.observe(lambda change: self.canvas.set_trait("chosen", change["new"]), "value")
        self.shared.observe(lambda change: self.actions.keep.set_trait("value", change["new"] is not None), "kept")
        self.observe(self._seen_or_not, "views")
        strategies.on_change.append(self._catalogue_changed)

    def _seen_or_not(self, change: dict[str, Any]) -> None:
        """End what is computed when the last view has gone, as when the cell is run again; go on when one appears."""
        if change["new"]:
            self._computation.wake()
            if self._begins and not self.steps.past:
                self._begin("once")
        else:
            self._computation.leave()

    def _catalogue_changed(self) -> None:
        """Show a new or replaced strategy in the pickers at once, and compute what is shown again with it."""
        if (
            self.state.partitioner not in strategies.partitioners()
            or self.state.scheduler not in strategies.schedulers()
        ):
            return  # the strategy shown has been taken out; what it computed stays
        with self._session.lock:
            self._show_inputs()
            self._session.renew()
            self._announce()
            if self.views != 0:
                self._computation.wake()
                self.comparison.again()

    def _full_result(self) -> None:
        self._tell()
        self.by_hand.begin_if_asked()
        self.actions.offer_code()
        self.saved.follow()
        state, problem = self._session.now
        self._curve.rest_on(state, self.gantt.value, key_of(state, problem))

    def _show_curve(self, curve: dict[str, Any]) -> None:
        """Show the makespan over the value that is chosen: large in the drawer, small beside the canvas' buttons."""
        with self.in_one_message():
            self.gantt.curve = curve
            label = str(self.gantt.value.get("label", ""))
            unitless = not self.state.cluster.units.si
            self.sensitivity.take(curve=curve, label=label, unitless=unitless, result_of=curve.get("of", ""))
        self.actions.downloads.more_of("Curve", curve_key(self.gantt))

    def _tell(self) -> None:
        """Say what an edit did, once its result is there."""
        result = self.result
        if result is None or result.preview:
            return
        before = self._told
        self._told = result.state, result.schedule.makespan
        if before is None or before[0] is result.state or not (what := said_of_change(before[0], result.state)):
            return
        makespan = result.schedule.makespan
        if result.state.own_plan and not before[0].own_plan and makespan == before[1]:
            return  # the mode by hand has begun, with what was shown
        stepped, name = self._stepped
        way = name if stepped is result.state else ""
        effect = said_of_effect(before[1], makespan, self.problem.cluster.units.time)
        self.commands.palette.note(f"{way}: {what}" if way else what, effect, redo=way == "Undo")

"""What the explorer's tabs share: their shape, what they tell each other, and small parts: numbers, buttons, messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from html import escape
from math import inf
from threading import RLock
from time import monotonic
from typing import Any, Protocol, runtime_checkable

import traitlets

from placelab.analysis.hand_plans import ByHand
from placelab.app.explorer.engine.solving import Result, RunningCall
from placelab.app.explorer.state import Change, State
from placelab.app.widgets import controls as w
from placelab.app.widgets.whole import Part, PartComm
from placelab.base.errors import UnsupportedError, escaped
from placelab.base.progress import COMPILING, compiling, never
from placelab.base.threads import Background, Worker
from placelab.base.units import percent
from placelab.problem.problem import Problem
from placelab.schedule.known_schedules import best_proven, least_known
from placelab.schedule.schedule import Schedule

OPTIMAL = 1e-9  # a makespan this close above its bound differs from it by rounding
Item = dict[str, str]  # key, label, value, title, tone, as in the `numbers` trait of the Gantt chart


def item(key: str, label: str, value: str, title: str = "", tone: str = "") -> Item:
    """A number: what it is called, its text, the words on hover, and ``"good"``, ``"bad"`` or ""."""
    return {"key": key, "label": label, "value": value, "title": title, "tone": tone}


def at_most(share: float) -> str:
    """A share of which only an upper bound is known.

    >>> at_most(0.297), at_most(2e-4)
    ('≤ 30 %', '< 0.1 %')
    """
    text = percent(share)
    return text if text.startswith("<") else f"≤ {text}"


def button(text: str, tip: str, act: Callable[[], object]) -> w.Button:
    """A button as wide as its text; a click calls `act`."""
    made = w.Button(description=text, tooltip=tip)
    made.handles = {"click": act}
    return made


def together(part: Part) -> AbstractContextManager[None]:
    """What the parts of a whole show meanwhile as one message: each takes the page a millisecond or two, whatever is in it."""
    comm = part.comm
    return comm.whole.in_one_message() if isinstance(comm, PartComm) and comm.whole else nullcontext()


def opens(toggle: w.ToggleButton, panel: w.Box, first: Callable[[], object] = never) -> None:
    """Show a panel while a toggle is pressed; `first` is called before it appears."""

    def reveal(_: object = None) -> None:
        if toggle.value:
            first()
        panel.hidden = not toggle.value

    toggle.observe(reveal, "value")
    reveal()


class Popover:
    """A toggle and the panel that it opens.

    Escape and a click elsewhere close it, in the browser (``widgets/frame``).

    Attributes
    ----------
    box
        The button; the panel is in it and stands over the rest of the page. `toggle` and `panel` are the two.
    """

    def __init__(self, text: str, tip: str, *content: w.Widget, first: Callable[[], object] = never) -> None:
        self.toggle = w.ToggleButton(description=text, tooltip=tip)
        self.toggle.add_class("pl-opens")
        self.panel = w.VBox(list(content)).add_class("pl-popover")
        self.box = w.HBox([self.toggle, self.panel]).add_class("pl-pops")
        opens(self.toggle, self.panel, first)

    def close(self) -> None:
        """Hide the panel."""
        self.toggle.value = False


class Message(w.HBox):
    """A message over the chart's lower edge, with a button that takes it away; hidden while it is empty.

    Attributes
    ----------
    text
        What it says.
    """

    def __init__(self) -> None:
        self.text = w.HTML()
        self._tone = ""
        self._said = ""
        # A worker may say something while a hand does: text, tone and what is hidden are of one of them.
        self._saying = RLock()
        super().__init__([self.text, button("✕", "Take this message away", lambda: self.say(""))])
        self.add_class("pl-message")
        self.say("")

    def say(self, text: str, tone: str = "") -> None:
        """Show `text` in the tone ``"bad"`` or ``"note"``; "" hides the message.

        A note leaves by itself after a while, an error stays until another state is shown.
        """
        role = "alert" if tone == "bad" else "status"
        with self._saying, self.hold_sync():
            self.text.value = f'<div role="{role}" class="{tone}">{escape(escaped(text))}</div>' if text else ""
            if tone != self._tone:
                self.remove_class(f"pl-said-{self._tone}").add_class(f"pl-said-{tone}")
                self._tone = tone
            self.hidden = not text
            self._said = text

    def unsay(self, text: str) -> None:
        """Hide the message if it still says `text`."""
        with self._saying:
            if self._said == text:
                self.say("")


ChangeState = Callable[[Change, str], None]  # takes a change, and the key under which quick repetitions are one step


class Shared(traitlets.HasTraits):
    """What the parts of one explorer share: what they can have it do, and what they tell each other.

    Parameters
    ----------
    change
        Takes a change of the state, and the key under which quick repetitions are one step of the history.
    say
        Shows a sentence in the tone ``""``, ``"note"`` or ``"bad"``.
    dragging
        Whether a hand is dragging on the canvas.
    undo, redo, again
        Go back one step, or forward; compute the present state once more.
    busy
        Whether something is computed or due, or nobody sees the explorer.

    Attributes
    ----------
    selection
        Number of the op that is selected in all views, -1 for none.
    bound
        The best proven lower bound of the makespan of the problem shown [s]; 0 while none is known.
    best
        The least makespan of a legal schedule of the problem shown that this session knows [s]; infinite while none is known.
    kept
        The schedule that the others are compared with; None while none is kept.
    """

    selection = traitlets.Int(-1)
    bound = traitlets.Float(0.0)
    best = traitlets.Float(inf)
    kept = traitlets.Any(None)

    def __init__(
        self,
        change: ChangeState,
        say: Callable[[str, str], None],
        dragging: Callable[[], bool],
        *,
        undo: Callable[[], object] = never,
        redo: Callable[[], object] = never,
        again: Callable[[], object] = never,
        busy: Callable[[], bool] = never,
    ) -> None:
        super().__init__()
        self._change = change
        self.say = say
        self.dragging = dragging
        self.undo = undo
        self.redo = redo
        self.again = again
        self.busy = busy
        self._problem: Problem | None = None

    def change(self, change: Change, key: str = "") -> None:
        """Show ``change(state)`` as a step of the history."""
        self._change(change, key)

    def follow(self, problem: Problem) -> None:
        """Forget what was proven of another problem."""
        if problem is not self._problem:
            self._problem = problem
            self.bound = 0.0
            self.best = inf

    def prove(self, problem: Problem, bound: float | None) -> None:
        """Tell all views of a lower bound [s] of the makespan of `problem`, if that is shown and the bound is better."""
        if problem is self._problem and bound is not None and bound > self.bound:
            self.bound = float(bound)

    def learn(self, problem: Problem) -> None:
        """Tell all views the best schedule and bound that the session knows of `problem`, if that is shown."""
        self.prove(problem, best_proven(problem))
        least = least_known(problem)
        if problem is self._problem and least < self.best:
            self.best = least


class Panel(Background):
    """A tab beside the canvas: one file in this folder, made by ``Panel(shared)``, listed in ``result_view.py``.

    A class that computes for long does so in `_catch_up`, on a thread of its own, which `_worker` wakes.

    Attributes
    ----------
    title
        Of its tab.
    box
        Fills the space it is given, and scrolls inside.
    visible
        Whether its tab is chosen. A panel that nobody sees computes nothing; when it becomes visible, `result` is called again.
    """

    title: str
    box: w.Widget
    _visible = True
    _link: traitlets.link | None = None
    _state: State | None = None
    _problem: Problem | None = None

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._worker = Worker(self._catch_up, self.title.lower())

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Take the newest state, before its result is there; return at once."""

    def result(self, result: Result | None) -> None:
        """Take the newest result, None where there is none. The worker waits for it: long work has a thread of its own."""

    def columns(self) -> Mapping[str, Any]:
        """Columns of its table by their heads, with units; UnsupportedError while there is none."""
        raise UnsupportedError(f"the tab {self.title} has no table")

    def close(self) -> None:
        """End its threads."""
        super().close()
        if self._link is not None:
            self._link.unlink()

    @property
    def visible(self) -> bool:
        """Whether its tab is chosen."""
        return self._visible

    @visible.setter
    def visible(self, visible: bool) -> None:
        self._visible = visible
        self._turned()

    def _turned(self) -> None:
        """Do what is to be done when the tab was chosen or left."""

    def _catch_up(self) -> None:
        """Compute what is due, in the panel's thread."""

    def _hand_is_off(self) -> bool:
        """Wait inside `_catch_up` while a hand drags; return False as soon as there is something newer."""
        while self._shared.dragging():
            if not self._worker.sleep(POLL):
                return False
        return not self._worker.closed

    def _select_with(self, view: w.Widget) -> None:
        """Let a view show what is selected, and select."""
        self._link = traitlets.link((self._shared, "selection"), (view, "selection"))


@runtime_checkable
class Puzzle(Protocol):
    """What the explorer knows of a puzzle of :mod:`placelab.puzzles`."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def task(self) -> str:
        """What is to be found out."""

    @property
    def start(self) -> ByHand:
        """A plan to begin with."""

    def stars(self, plan: Schedule) -> int:
        """How many stars a plan earns; raise FormatError where it is of another problem."""


POLL = 0.02  # seconds between two looks at the hand that drags
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
        The message.
    box
        The line with the notes, always there and as high as its button; `text` and `again` are the widgets in it.
    """

    def __init__(self, again: Callable[[], object]) -> None:
        self._search: RunningCall | None = None
        self._shown_at = 0.0
        self.running = w.Running()
        self.running.handles = {"stop": self.halt}
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
        best = progress.makespan
        self.running.take(
            title=search.title,
            said=described(search),
            seconds=search.elapsed,
            share=-1.0 if progress.fraction is None else min(max(progress.fraction, 0.0), 1.0),
            stop="Stop" if best is None else f"Stop, take {search.units.time(best)}",
            stopping=search.halted,
            hidden=False,
        )
        self.text.value = ""
        self.again.hidden = True

    def rest(self, notes: Sequence[str] = (), stopped: bool = False) -> None:
        """Show the notes of a result; `stopped` offers to search again."""
        self._search = None
        lead = ' class="pl-preview"' if notes and notes[0].lower().startswith("preview") else ""
        spans = " ".join(f"<span{lead if i == 0 else ''}>{escape(note)}</span>" for i, note in enumerate(notes))
        whole = escape(" · ".join(notes))
        self.text.value = f'<div role="status" title="{whole}">{spans}</div>' if spans else ""
        self.again.hidden = not stopped
        self.running.hidden = True

    def halt(self) -> None:
        """End the search with the best placement so far."""
        if search := self._search:
            search.halt()
            self.running.stopping = True


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

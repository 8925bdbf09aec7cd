"""What the explorer's tabs share: their shape, what they tell each other, and small parts: numbers, buttons, messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import inf
from time import monotonic
from typing import Any, Protocol, runtime_checkable

import traitlets

from placelab.analysis.hand_plans import ByHand
from placelab.app.explorer.engine.solving import Result, RunningCall
from placelab.app.explorer.state import Change, State
from placelab.app.widgets import controls as w
from placelab.base.progress import COMPILING, compiling
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


def button(text: str, tip: str, act: Callable[[], None]) -> w.Button:
    """A button as wide as its text; a click calls `act`."""
    made = w.Button(description=text, tooltip=tip)
    made.on_click(lambda _: act())
    return made


def opens(toggle: w.ToggleButton, panel: w.Box) -> None:
    """Show a panel while a toggle is pressed."""

    def reveal(_: object = None) -> None:
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

    def __init__(self, text: str, tip: str, *content: w.Widget) -> None:
        self.toggle = w.ToggleButton(description=text, tooltip=tip)
        self.toggle.add_class("pl-opens")
        self.panel = w.VBox(list(content)).add_class("pl-popover")
        self.box = w.HBox([self.toggle, self.panel]).add_class("pl-pops")
        opens(self.toggle, self.panel)

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
        super().__init__([self.text, button("✕", "Take this message away", lambda: self.say(""))])
        self.add_class("pl-message")
        self.say("")

    def say(self, text: str, tone: str = "", details: str = "") -> None:
        """Show `text` in the tone ``"bad"`` or ``"note"``; "" hides the message. `details` is HTML shown below the text.

        A note leaves by itself after a while, an error stays until another state is shown.
        """
        role = "alert" if tone == "bad" else "status"
        with self.hold_sync():
            self.text.value = f'<div role="{role}" class="{tone}">{escape(text)}{details}</div>' if text else ""
            if tone != self._tone:
                self.remove_class(f"pl-said-{self._tone}").add_class(f"pl-said-{tone}")
                self._tone = tone
            self.hidden = not text


class Shared(traitlets.HasTraits):
    """What the views of one explorer share.

    Parameters
    ----------
    change
        Takes a change of the state, and the key under which quick repetitions are one step of the history.
    say
        Shows a sentence in the tone ``""``, ``"note"`` or ``"bad"``.
    dragging
        Whether a hand is dragging on the canvas.

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
        self, change: Callable[[Change, str], None], say: Callable[[str, str], None], dragging: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._change = change
        self.say = say
        self.dragging = dragging
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


class Panel(Protocol):
    """A tab beside the canvas: one file in this folder, made by ``Panel(shared)``, listed in ``tabs.py``.

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
    visible: bool

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Take the newest state, before its result is there; return at once."""

    def result(self, result: Result | None) -> None:
        """Take the newest result, None where there is none. The worker waits for it: long work has a thread of its own."""

    def close(self) -> None:
        """End its threads."""


class Tabular(Panel, Protocol):
    """A panel whose table can be downloaded."""

    def columns(self) -> Mapping[str, Any]:
        """Columns by their heads, with units; UnsupportedError while there is no table."""


@runtime_checkable
class Puzzle(Protocol):
    """What the explorer knows of a puzzle of :mod:`placelab.puzzles`."""

    @property
    def task(self) -> str:
        """What is to be found out."""

    @property
    def start(self) -> ByHand:
        """A plan to begin with."""

    def stars(self, plan: Schedule) -> int:
        """How many stars a plan earns; raise FormatError where it is of another problem."""


PanelFactory = Callable[[Shared], Any]  # makes a Panel


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

    def __init__(self, again: Callable[[], None]) -> None:
        self._search: RunningCall | None = None
        self._shown_at = 0.0
        self.running = w.Running()
        self.running.on_stop = self.halt
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
        with self.running.hold_sync():
            self.running.title = search.title
            self.running.said = described(search)
            self.running.seconds = search.elapsed
            self.running.share = -1.0 if progress.fraction is None else min(max(progress.fraction, 0.0), 1.0)
            self.running.stop = "Stop" if best is None else f"Stop, take {search.units.time(best)}"
            self.running.stopping = search.halted
            self.running.hidden = False
        self.text.value = ""
        self.again.hidden = True

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

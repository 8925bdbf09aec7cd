"""The shape that the explorer's tabs share, and what they share with each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import ipywidgets as w
import traitlets

from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.state import Change, State
from placelab.problem.problem import Problem


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
    kept
        The schedule that the others are compared with; None while none is kept.
    """

    selection = traitlets.Int(-1)
    bound = traitlets.Float(0.0)
    kept = traitlets.Any(None)

    def __init__(
        self, change: Callable[[Change, str], None], say: Callable[[str, str], None], dragging: Callable[[], bool]
    ) -> None:
        super().__init__()
        self._change, self.say, self.dragging = change, say, dragging
        self._problem: Problem | None = None

    def change(self, change: Change, key: str = "") -> None:
        """Show ``change(state)`` as a step of the history."""
        self._change(change, key)

    def follow(self, problem: Problem) -> None:
        """Forget what was proven of another problem."""
        if problem is not self._problem:
            self._problem, self.bound = problem, 0.0

    def prove(self, problem: Problem, bound: float | None) -> None:
        """Tell all views of a lower bound [s] of the makespan of `problem`, if that is shown and the bound is better."""
        if problem is self._problem and bound is not None and bound > self.bound:
            self.bound = float(bound)


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


PanelFactory = Callable[[Shared], Any]  # makes a Panel

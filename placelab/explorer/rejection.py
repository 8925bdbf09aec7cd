"""Why is there no placement? Which op or group fits nowhere, and for each device why, over the chart that is out of date."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape

import ipywidgets as w

from placelab.errors import InfeasibleError
from placelab.explorer.buttons import button
from placelab.explorer.pickers import Go
from placelab.explorer.state import State
from placelab.problem.problem import Problem
from placelab.units import si

LISTED = 16  # devices named one by one


class Rejection:
    """The panel.

    Parameters
    ----------
    select
        Called with the number of an op that a hand wants to see.
    go, undo
        The explorer's: another state; the state before.
    """

    def __init__(self, select: Callable[[int], None], go: Go, undo: Callable[[], None]) -> None:
        self._select, self._op = select, -1
        self._text = w.HTML()
        self._show_op = button("", "Select it in all views", lambda: self._select(self._op))
        forget = button(
            "Ignore memory", "Memory model none: place as if every device had room for everything", self._none
        )
        back = button("Undo", "Back to what was there before", undo)
        self._go = go
        self.box = w.VBox([self._text, w.HBox([self._show_op, forget, back]).add_class("pl-remedies")])
        self.box.add_class("pl-rejection")
        self.hide()

    def show(self, error: InfeasibleError, problem: Problem, selectable: bool) -> None:
        """Explain an error that says why device by device; `selectable`: views show the graph that it is about."""
        self._text.value = explained(error, problem)
        named = bool(error.op) and error.op in problem.graph.names
        self._op = problem.graph.index(error.op) if named else -1
        self._show_op.description = f"Show {_short(error.op)}"
        self._show_op.layout.display = "" if named and selectable else "none"
        self.box.layout.display = ""

    def hide(self) -> None:
        """There is a placement."""
        self.box.layout.display = "none"

    def _none(self) -> None:
        self._go(_without_memory, "")


def explained(error: InfeasibleError, problem: Problem) -> str:
    """The panel's text: a headline, and a row for each device."""
    names, left = problem.cluster.names, len(error.devices) - LISTED
    rows = [_row(name, error, float(problem.cluster.memory[names.index(name)])) for name in error.devices][:LISTED]
    rows += [f'<tr><td colspan="3">and so on for {left} more</td></tr>'] if left > 0 else []
    head = "<tr><th>Device</th><th>Why not</th><th>Its memory</th></tr>"
    return f'<div role="alert"><b>{escape(headline(error, problem))}</b><table>{head}{"".join(rows)}</table></div>'


def headline(error: InfeasibleError, problem: Problem) -> str:
    """What fits nowhere, in a line.

    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2, memory=1.0), memory="dynamic")
    >>> headline(InfeasibleError("", op="fork"), problem)
    "Op 'fork' fits on no device (memory model dynamic)"
    """
    what = f"Op {error.op!r}" if error.op else f"No device holds all {problem.graph.n_ops:,} ops"
    if error.group:
        n = len(problem.members(problem.graph.index(error.op))) if error.op in problem.graph.names else 0
        what = f"Colocation group {error.group!r}" + (f" of {n:,} ops, {error.op!r} the first," if n else "")
    fits = " fits on no device" if error.op or error.group else ""
    return f"{what}{fits} (memory model {problem.memory})"


def _row(name: str, error: InfeasibleError, capacity: float) -> str:
    known = name in error.short
    why = f"short by {si(error.short[name], 'B')}" if known else error.devices[name]
    return f"<tr><td>{escape(name)}</td><td>{escape(why)}</td><td>{si(capacity, 'B') if known else ''}</td></tr>"


def _short(name: str, most: int = 40) -> str:
    return name if len(name) <= most else f"…{name[1 - most :]}"


def _without_memory(state: State) -> State:
    return replace(state, memory="none")

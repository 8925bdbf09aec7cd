"""The panel over an outdated chart that names the op or group that fits on no device, with the reason for each device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape

import ipywidgets as w

from placelab.errors import InfeasibleError
from placelab.explorer.panels.buttons import button
from placelab.explorer.panels.pickers import ChangeState
from placelab.explorer.state import State
from placelab.problem.problem import Problem
from placelab.units import si

LISTED = 16  # devices named one by one


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
        The panel; `text` is the widget that explains.
    """

    def __init__(self, select: Callable[[int], None], change: ChangeState, undo: Callable[[], None]) -> None:
        self._select, self._op = select, -1
        self.text = w.HTML()
        self._show_op = button("", "Select it in all views", lambda: self._select(self._op))
        ignore = button(
            "Ignore memory", "Memory model none: place as if every device had room for everything", self._ignore_memory
        )
        back = button("Undo", "Back to what was there before", undo)
        self._change = change
        self.box = w.VBox([self.text, w.HBox([self._show_op, ignore, back]).add_class("pl-remedies")])
        self.box.add_class("pl-rejection")
        self.hide()

    def show(self, error: InfeasibleError, problem: Problem, selectable: bool) -> None:
        """Explain an error that has a reason for each device; `selectable`: the chart shows the graph of this problem."""
        self.text.value = explained(error, problem)
        named = bool(error.op) and error.op in problem.graph.names
        self._op = problem.graph.index(error.op) if named else -1
        self._show_op.description = f"Show {_short(error.op)}"
        self._show_op.layout.display = "" if named and selectable else "none"
        self.box.layout.display = ""

    def hide(self) -> None:
        """Take the panel away."""
        self.box.layout.display = "none"

    def close(self) -> None:
        """End the thread."""

    def _ignore_memory(self) -> None:
        self._change(_without_memory, "")


def explained(error: InfeasibleError, problem: Problem) -> str:
    """The panel's text: a headline, and a row for each device."""
    names, left = problem.cluster.names, len(error.devices) - LISTED
    rows = [_row(name, error, float(problem.cluster.memory[names.index(name)])) for name in error.devices][:LISTED]
    rows += [f'<tr><td colspan="3">and so on for {left} more</td></tr>'] if left > 0 else []
    head = "<tr><th>Device</th><th>Why not</th><th>Its memory</th></tr>"
    return f'<div role="alert"><b>{escape(headline(error, problem))}</b><table>{head}{"".join(rows)}</table></div>'


def headline(error: InfeasibleError, problem: Problem) -> str:
    """A line that says what fits on no device.

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

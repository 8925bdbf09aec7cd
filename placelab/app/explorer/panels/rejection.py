"""The panel over an outdated chart that names the op or group that fits on no device, with the reason for each device."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape

import ipywidgets as w

from placelab.app.explorer.engine.remedies import Remedies, RemedySearch, with_memory
from placelab.app.explorer.panels.buttons import button
from placelab.app.explorer.panels.pickers import ChangeState
from placelab.app.explorer.state import State
from placelab.base.errors import InfeasibleError
from placelab.base.units import SI, Units
from placelab.problem.problem import Problem

LISTED = 16  # devices named one by one
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
        The panel; `text` is the widget that explains, `hint` says what is tried, `offers` has a button for each remedy.
    """

    def __init__(self, select: Callable[[int], None], change: ChangeState, undo: Callable[[], None]) -> None:
        self._select, self._op, self._written = select, -1, SI
        self.text, self.hint, self.offers = w.HTML(), w.HTML(), w.HBox().add_class("pl-remedies")
        self._show_op = button("", "Select it in all views", lambda: self._select(self._op))
        tip = "Memory model none: place as if every device had room for everything"
        ignore = button("Ignore memory", tip, lambda: change(lambda s: replace(s, memory="none"), ""))
        back = button("Undo", "Back to what was there before", undo)
        self._change = change
        self._remedies = RemedySearch(self._offer)
        always = w.HBox([self._show_op, ignore, back]).add_class("pl-remedies")
        self.box = w.VBox([self.text, self.hint, self.offers, always]).add_class("pl-rejection")
        self.hide()

    def show(self, error: InfeasibleError, state: State, problem: Problem, selectable: bool) -> None:
        """Explain an error that has a reason for each device; `selectable`: the chart shows the graph of this problem."""
        self._written = problem.cluster.units
        self.text.value = explained(error, problem, state.partitioner)
        named = bool(error.op) and error.op in problem.graph.names
        self._op = problem.graph.index(error.op) if named else -1
        self._show_op.description = f"Show {_short(error.op)}"
        self._show_op.layout.display = "" if named and selectable else "none"
        self._offer(Remedies())
        self.box.layout.display = ""
        self._remedies.begin(state, problem)

    def hide(self) -> None:
        """Take the panel away."""
        self.box.layout.display = "none"
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
            hint = "" if remedies.strategies or remedies.memory else "No strategy that is quick places it."
        else:
            hint = "Trying what would work …"
        self.hint.value = f'<div role="status">{hint}</div>' if hint else ""
        buttons = [self._use(name, makespan) for name, makespan in remedies.strategies[:OFFERED]]
        self.offers.children = buttons + ([self._grow(remedies.memory)] if remedies.memory else [])

    def _use(self, name: str, makespan: float) -> w.Button:
        pick = lambda: self._change(lambda s: s.with_strategy("partitioner", name), "")  # noqa: E731
        return button(f"{name}: {self._written.time(makespan)}", f"Place it with {name}, which finds room", pick)

    def _grow(self, factor: float) -> w.Button:
        tip = "The least memory with which the strategies shown would place it, to 1 %: this factor for every device"
        return button(f"Memory × {factor:.3g}", tip, lambda: self._change(lambda s: with_memory(s, factor), ""))


def explained(error: InfeasibleError, problem: Problem, partitioner: str) -> str:
    """The panel's text: a headline, and a row for each device."""
    names, left = problem.cluster.names, len(error.devices) - LISTED
    rows = [
        _row(name, error, float(problem.cluster.memory[names.index(name)]), problem.cluster.units)
        for name in error.devices
    ][:LISTED]
    rows += [f'<tr><td colspan="3">and so on for {left} more</td></tr>'] if left > 0 else []
    head = "<tr><th>Device</th><th>Why not</th><th>Its memory</th></tr>"
    title = escape(headline(error, problem, partitioner))
    return f'<div role="alert"><b>{title}</b><table>{head}{"".join(rows)}</table></div>'


def headline(error: InfeasibleError, problem: Problem, partitioner: str) -> str:
    """A line that says why there is no placement.

    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2, memory=1.0), memory="dynamic")
    >>> headline(InfeasibleError("", op="fork"), problem, "heft")
    "Op 'fork' fits on no device (memory model dynamic)"
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
    return f"{what} fits on no device{model}"


def _row(name: str, error: InfeasibleError, capacity: float, written: Units) -> str:
    known = name in error.short
    why = f"short by {written.amount(error.short[name], 'B')}" if known else error.devices[name]
    return f"<tr><td>{escape(name)}</td><td>{escape(why)}</td><td>{written.amount(capacity, 'B') if known else ''}</td></tr>"


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"…{name[1 - LONGEST :]}"

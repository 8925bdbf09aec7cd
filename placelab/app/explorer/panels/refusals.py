"""Why there is no result: no device has room, with what would work; or the strategy has failed, with its line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from html import escape

import numpy as np

from placelab.app.explorer.engine.failure import Failure, Remedies, RemedySearch, with_memory, with_recomputing
from placelab.app.explorer.panels.panel import Shared, button
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.base.errors import InfeasibleError
from placelab.base.units import SI
from placelab.problem.problem import Problem

LISTED = 6  # devices that are short of memory, one by one
OFFERED = 3  # strategies that would place it
RECOMPUTE_TIP = "Compute activations again where they are needed, rather than keep them"
LONGEST = 40  # characters of an op's name on a button


class Rejection:
    """The panel, with remedies.

    Attributes
    ----------
    box
        The panel; `text` is the headline, `hint` says what is tried, `offers` has a button for each remedy, `devices` says why
        each device was ruled out.
    back
        The button to undo.
    """

    def __init__(self, shared: Shared) -> None:
        self._change = shared.change
        self._op = -1
        self._written = SI
        self._sizes: list[float] = []  # of the devices' memories
        self.text = w.HTML()
        self.hint = w.HTML()
        self.offers = w.HBox().add_class("pl-remedies")
        self._show_op = button("", "Select it in all views", lambda: shared.set_trait("selection", self._op))
        tip = "Memory model none: place as if every device had room for everything"
        ignore = button("Ignore memory", tip, lambda: shared.change(lambda s: replace(s, memory="none")))
        self.back = button("Undo", "Back to what was there before", shared.undo)
        self._remedies = RemedySearch(self._offer)
        always = w.HBox([self._show_op, ignore, self.back]).add_class("pl-remedies")
        self.devices = w.Table(head=["Device", "Why not", "Its memory"])
        self.box = w.VBox([self.text, self.hint, self.offers, always, self.devices]).add_class("pl-rejection")
        self.hide()

    def show(self, error: InfeasibleError, state: State, problem: Problem, selectable: bool) -> None:
        """Explain an error that has a reason for each device; `selectable`: the chart shows the graph of this problem."""
        self._written = problem.cluster.units
        self._sizes = np.unique(state.cluster.memory).tolist()
        title = escape(headline(error, problem, state.placer))
        self.text.value = f'<div role="alert"><b>{title}</b></div>'
        self.devices.rows = reasons(error, problem)
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
        offers = [] if remedies.memory is None else [self._grow(remedies.memory)]
        if remedies.recompute is not None:
            text = f"Recompute: {self._written.time(remedies.recompute)}"
            offers.append(button(text, RECOMPUTE_TIP, partial(self._change, with_recomputing)))
        for name, makespan in remedies.strategies[:OFFERED]:
            act = partial(self._change, partial(State.with_strategy, kind="partitioner", name=name))
            text = f"{name}: {self._written.time(makespan)}"
            offers.append(button(text, f"Place it with {name}, which finds room", act))
        self.offers.children = offers

    def _grow(self, factor: float) -> w.Button:
        tip = (
            "The least memory with which the strategies shown would place it, to 1 %, or HEFT where they search for long: "
            f"× {factor:.3g} for every device"
        )
        text = f"Memory × {factor:.3g}"
        if len(self._sizes) == 1:
            now, least = (self._written.amount(self._sizes[0] * times, "B") for times in (1.0, factor))
            text = f"≥ {least} a device (now {now})"
        return button(text, tip, lambda: self._change(lambda s: with_memory(s, factor)))


def reasons(error: InfeasibleError, problem: Problem) -> list[dict[str, list[str]]]:
    """Rows of why each device was ruled out: those short of memory first, the least short of all; equal reasons in one row."""
    cluster = problem.cluster
    amount = lambda size: cluster.units.amount(float(size), "B")  # noqa: E731
    short = sorted((name for name in error.devices if name in error.short), key=lambda name: error.short[name])
    rows = [
        [name, f"short by {amount(error.short[name])}", amount(cluster.memory[cluster.names.index(name)])]
        for name in short[:LISTED]
    ]
    if len(short) > LISTED:
        rows.append([f"{len(short) - LISTED} others", f"short by up to {amount(error.short[short[-1]])}", ""])
    others: dict[str, list[str]] = {}
    for name in error.devices:
        if name not in error.short:
            others.setdefault(error.devices[name], []).append(name)
    rows += [[_some(names), why, ""] for why, names in sorted(others.items(), key=lambda item: -len(item[1]))]
    return [{"cells": cells} for cells in rows]


NAMED = 3  # devices of one reason that are named


def _some(names: Sequence[str]) -> str:
    """The first names, and how many more there are.

    >>> _some(["a", "b"]), _some(["a", "b", "c", "d", "e"])
    ('a, b', 'a, b, c and 2 others')
    """
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} other{'s' * (more > 1)}" if more > 0 else "")


class FailurePanel:
    """The panel of a strategy that has failed: its error, the line, the traceback.

    Attributes
    ----------
    box
        The panel; `said` is the error in it.
    back
        The button to undo.
    on_cell
        Called with the text and the line of the cell in which the strategy has failed; {} for none.
    """

    on_cell: Callable[[dict[str, object]], object] = staticmethod(lambda _: None)

    def __init__(self, shared: Shared) -> None:
        self.said = w.Failed()
        again = button("Run again", "Compute the same once more", shared.again)
        self.back = button("Undo", "Back to what was there before", shared.undo)
        row = w.HBox([again, self.back]).add_class("pl-remedies")
        self.box = w.VBox([self.said, row]).add_class("pl-failure")
        self.hide()

    def show(self, failure: Failure) -> None:
        """Say what went wrong, and in which line."""
        self.said.failure = failure.shown
        self.on_cell(failure.where)
        self.box.hidden = False

    def hide(self) -> None:
        """Take the panel away."""
        self.said.failure = {}
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

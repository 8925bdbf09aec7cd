"""Why there is no result: no device has room, with what would work; or the strategy has failed, with its line."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from html import escape

import numpy as np

from placelab.app.explorer.engine.failure import Failure
from placelab.app.explorer.engine.remedies import (
    LIMIT,
    MEMORY,
    QUICK,
    RECOMPUTE,
    STRATEGY,
    Remedies,
    Remedy,
    RemedySearch,
    remedies_of,
    with_memory,
    with_recomputing,
)
from placelab.app.explorer.engine.solving import function_of
from placelab.app.explorer.panels.panel import Shared, button, together
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.base.errors import InfeasibleError
from placelab.base.units import SI
from placelab.problem.problem import Problem

LISTED = 6  # devices that are short of memory, one by one
RECOMPUTE_TIP = "Compute activations again where they are needed, rather than keep them"
LONGEST = 40  # characters of an op's name on a button


class Rejection:
    """The panel, with remedies.

    Attributes
    ----------
    box
        The panel; `text` is the headline, `hint` says how much is tried, `offers` has a place for each remedy from the start,
        which becomes a button or is struck out, so that none moves; `devices` says why each device was ruled out.
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
        self.offers = w.HBox().add_class("pl-places")
        self._remedies: Remedies | None = None  # what the places show
        self._writing = threading.Lock()  # what is found comes on another thread than the next failure
        self._show_op = button("", "Select it in all views", lambda: shared.set_trait("selection", self._op))
        tip = "Memory model none: place as if every device had room for everything"
        ignore = button("Ignore memory", tip, lambda: shared.change(lambda s: replace(s, memory="none")))
        self.back = button("Undo", "Back to what was there before", shared.undo)
        self._search = RemedySearch(self._offer)
        always = w.HBox([self._show_op, ignore, self.back]).add_class("pl-remedies")
        self.devices = w.Table(head=["Device", "Why not", "Its memory"])
        head = w.HBox([self.text, always]).add_class("pl-refused")
        below = w.HBox([self.offers, self.devices]).add_class("pl-why")
        self.box = w.VBox([head, self.hint, below]).add_class("pl-rejection")
        self.hide()

    def show(self, error: InfeasibleError, state: State, problem: Problem, selectable: bool) -> None:
        """Explain an error that has a reason for each device; `selectable`: the chart shows the graph of this problem."""
        title = escape(headline(error, problem, state.placer))
        self.text.value = f'<div role="alert"><b>{title}</b></div>'
        self.devices.rows = reasons(error, problem)
        named = bool(error.op) and error.op in problem.graph.names
        self._op = problem.graph.index(error.op) if named else -1
        self._show_op.description = f"Show {_short(error.op)}"
        self._show_op.hidden = not (named and selectable)
        remedies = remedies_of(state, problem)
        with self._writing:
            self._written = problem.cluster.units
            self._sizes = np.unique(state.cluster.memory).tolist()
            self._reserve(remedies)
        self._search.begin(remedies, problem)  # first: whoever sees the panel may wait for its end
        self.box.hidden = False

    def hide(self) -> None:
        """Take the panel away."""
        self.box.hidden = True
        with self._writing:
            self._remedies = None
        self._search.end()

    def settled(self, timeout: float | None = None) -> bool:
        """Wait until all remedies have been tried; return False when that takes longer."""
        return self._search.settled(timeout)

    def close(self) -> None:
        """End the thread."""
        self._search.close()

    def _reserve(self, remedies: Remedies) -> None:
        """A place for each remedy; those that are there stay, so that a hand which changes the problem meets them again.

        Needs the lock.
        """
        places = [*self.offers.children[: len(remedies.every)]]
        for i in range(len(places), len(remedies.every)):
            places.append(button("", "", partial(self._take, i)))
        self._remedies = remedies
        if len(places) != len(self.offers.children):
            self.offers.children = places
        self._show_all(remedies)

    def _offer(self, remedies: Remedies) -> None:
        """Show what has been found; of a failure before the newest it is outdated."""
        with self._writing:
            shown = self._remedies
            if shown is not None and remedies.failure is shown.failure:
                self._remedies = remedies
                self._show_all(remedies)

    def _show_all(self, remedies: Remedies) -> None:
        tried = sum(remedy.tried for remedy in remedies.every)
        helpful = remedies.helpful
        hint = f"Trying what would work: {tried} of {len(remedies.every)}"
        if remedies.ended:
            hint = (
                f"{len(helpful)} of {tried} would work; a click does it" if helpful else "No quick strategy places it."
            )
        with together(self.hint):
            self.hint.value = f'<div role="status">{hint}</div>'
            for place, remedy in zip(self.offers.children, remedies.every, strict=True):
                place.description, place.tooltip = self._words(remedy, remedies.state)
                place.disabled = remedy.value is None
                place.classes = _look(remedy)

    def _words(self, remedy: Remedy, state: State) -> tuple[str, str]:
        """What is written on a place, and what is said under the pointer."""
        name = {MEMORY: "more memory", RECOMPUTE: "recompute", STRATEGY: remedy.name}[remedy.kind]
        if not remedy.tried:
            return f"{name} …", f"Trying {name}"
        if remedy.value is None:
            return name, f"{name} does not fit"
        if remedy.kind == MEMORY:
            return self._grown(remedy.value, state)
        time = self._written.time(remedy.value)
        if remedy.kind == RECOMPUTE:
            return f"Recompute: {time}", RECOMPUTE_TIP
        return f"{name} {time}", f"Place it with {name}, which finds room: {time}"

    def _grown(self, factor: float, state: State) -> tuple[str, str]:
        who = QUICK if function_of(state).slow else state.placer
        tip = (
            f"Give every device {factor:.3g} times its memory: {who} then has room, or the plan that stands in where it is stuck."
            f" It is the least that was found to be enough, in trials of up to {LIMIT:g} s each; less may do"
        )
        if len(self._sizes) > 1:
            return f"Memory × {factor:.3g}", tip
        now, least = (self._written.amount(self._sizes[0] * times, "B") for times in (1.0, factor))
        return f"≥ {least} a device (now {now})", tip

    def _take(self, place: int) -> None:
        """Do what the button in a place says."""
        shown = self._remedies
        if shown is None or place >= len(shown.every) or (remedy := shown.every[place]).value is None:
            return
        act: dict[str, Callable[[State], State]] = {
            MEMORY: partial(with_memory, factor=remedy.value),
            RECOMPUTE: with_recomputing,
            STRATEGY: partial(State.with_strategy, kind="partitioner", name=remedy.name),
        }
        self._change(act[remedy.kind])


def _look(remedy: Remedy) -> list[str]:
    """Classes of a place: what is not known yet is faint, what does not fit struck out; words that are long have two columns."""
    state = "pl-known" if remedy.value is not None else "pl-unfit" if remedy.tried else "pl-trying"
    return [state, *["pl-wide"] * (remedy.kind == MEMORY)]


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

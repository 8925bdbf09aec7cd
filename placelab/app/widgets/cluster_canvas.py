"""The cluster canvas: devices and links that a user can drag, undo and redo; a drag is one step.

The meaning of edits is in :mod:`placelab.app.widgets.cluster_edit`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import traitlets

from placelab.app.widgets.cluster_edit import Layout, State, apply, describe
from placelab.app.widgets.commands import read
from placelab.app.widgets.whole import View
from placelab.base.errors import PlacelabError
from placelab.problem.cluster import Cluster

LIMIT = 200  # steps kept
ACKNOWLEDGED = 8  # numbers of messages kept


@dataclass(frozen=True)
class History:
    """A cluster and its layout now, the states before it, and those that were undone.

    `gesture` is the number of the drag in progress, or None. Every edit of a drag applies to the state in which the
    drag began, the last of `past`; so only the newest message counts, and earlier ones may be lost.
    """

    now: State
    past: tuple[State, ...] = ()
    future: tuple[State, ...] = ()
    gesture: int | None = None

    @classmethod
    def of(cls, cluster: Cluster) -> History:
        """The start: a cluster in its plain arrangement."""
        return cls((cluster, Layout.of(cluster)))

    def handle(self, message: Mapping[str, Any]) -> History:
        """The history after one message of the browser; raise PlacelabError when the edit is refused."""
        steps = {"undo": self.undo, "redo": self.redo, "release": lambda: self}
        kind = message.get("kind")
        return steps[kind]() if kind in steps else self.edit(message)

    def edit(self, edit: Mapping[str, Any]) -> History:
        """The history after an edit, which continues the drag in progress or begins a new step."""
        gesture = edit.get("gesture")
        if self.gesture is not None and gesture == self.gesture:
            return replace(self, now=apply(*self.past[-1], edit))
        settled = self.settle()
        return settled.then(apply(*settled.now, edit), gesture)

    def then(self, state: State, gesture: int | None = None) -> History:
        """Add `state` as a new step; redo is no longer possible."""
        return History(state, (*self.past, self.now)[-LIMIT:], (), gesture)

    def settle(self) -> History:
        """End the drag in progress; drop its step if it has changed nothing."""
        if self.gesture is not None and _same(self.now, self.past[-1]):
            return History(self.past[-1], self.past[:-1], self.future)
        return replace(self, gesture=None)

    def undo(self) -> History:
        """Go back one step, if there is one."""
        if not self.past:
            return self
        return History(self.past[-1], self.past[:-1], (*self.future, self.now))

    def redo(self) -> History:
        """Go forward to the state that the last undo left, if there is one."""
        if not self.future:
            return self
        return History(self.future[-1], (*self.past, self.now), self.future[:-1])


def _same(a: State, b: State) -> bool:
    columns = ("names", "types", "hosts", "speed", "memory", "bandwidth", "latency")
    return (
        a[1] == b[1]
        and a[0].links == b[0].links
        and all(np.array_equal(getattr(a[0], c), getattr(b[0], c)) for c in columns)
    )


class ClusterCanvas(View):
    """An editable drawing of a cluster.

    Parameters
    ----------
    value
        The cluster shown. Observe it to follow edits; set it to show another one, which can be undone like an edit.
    lock
        Held while a message is handled; by default one of the canvas' own. A view around the canvas passes its own lock, so
        that there is one order of locks and no deadlock.

    Notes
    -----
    During a drag `dragging` is true, and every message edits the cluster as it was when the drag began, so that
    the browser may leave out all but the newest. A message is acknowledged when the observers of `value` and `dragging`
    have returned, and the browser has at most one in flight, so messages come at the rate that the observers can hold and
    never queue.

    Examples
    --------
    >>> import placelab as pl
    >>> canvas = ClusterCanvas(pl.clusters.pcie_box())
    >>> canvas.edit = {"kind": "speed", "device": 0, "value": 2e13}
    >>> canvas.value.speed[0], canvas.can_undo
    (np.float64(20000000000000.0), True)
    """

    _esm = Path(__file__).parent / "static" / "cluster.js"

    cluster = traitlets.Dict().tag(sync=True)  # see layout.describe
    edit = traitlets.Dict().tag(sync=True, echo_update=False)  # the newest command: an edit with its drag
    ack: traitlets.List[int] = traitlets.List().tag(sync=True)  # seq of the last messages handled, of several browsers
    peak: traitlets.List[float] = traitlets.List().tag(sync=True)  # peak bytes of each device; empty when not known
    load: traitlets.List[list[float]] = traitlets.List().tag(sync=True)  # busy fraction of links; empty: not known
    selected = traitlets.Int(-1).tag(sync=True)  # device number or -1
    chosen = traitlets.Dict().tag(sync=True)  # the value that was pointed at last: kind, label, device or pairs or link
    curve = traitlets.Dict().tag(sync=True)  # makespan over the value being dragged; see explorer.engine.curve
    error = traitlets.Unicode("").tag(sync=True)  # why the last edit was refused
    fixed: traitlets.List[int] = traitlets.List().tag(sync=True)  # devices whose speed changes no time, which is shown
    sharing = traitlets.Bool(True).tag(sync=True)  # whether the transfer model knows shared links
    embedded = traitlets.Bool(False).tag(sync=True)  # in a larger view, which has the undo buttons and gives the height
    values_only = traitlets.Bool(False).tag(sync=True)  # devices and hosts stay as they are
    can_undo = traitlets.Bool(False).tag(sync=True)
    can_redo = traitlets.Bool(False).tag(sync=True)

    value = traitlets.Instance(Cluster)
    dragging = traitlets.Bool(False)
    on_step: Callable[[str], None] | None = None  # handles "undo" and "redo" instead, inside a larger view

    def __init__(self, value: Cluster, *, lock: threading.RLock | None = None, **traits: Any) -> None:
        self._lock = lock or threading.RLock()  # while a cell is busy, messages arrive on another thread
        self._history = History.of(value)
        super().__init__(value=value, cluster=describe(*self._history.now), **traits)

    @property
    def state(self) -> State:
        """The cluster and the arrangement of its cards."""
        return self._history.now

    @property
    def before(self) -> State:
        """The cluster and the arrangement in which the drag in progress began; without one those shown."""
        return self._history.past[-1] if self._history.gesture is not None else self._history.now

    @property
    def gesture(self) -> int | None:
        """Number of the drag in progress; None when there is none."""
        return self._history.gesture

    def restore(self, state: State) -> None:
        """Show a cluster in an arrangement and forget all steps, which a larger view keeps instead."""
        with self._lock, self.hold_sync():
            self._show(History(state), settled=True)
            self.error = ""

    def undo(self) -> None:
        """Go back one step."""
        self._receive({"new": {"kind": "undo"}})

    def redo(self) -> None:
        """Go forward to the state that the last undo left."""
        self._receive({"new": {"kind": "redo"}})

    def let_go(self) -> None:
        """End the drag in progress, if there is one: what its hand moves from then on is another step."""
        if self.dragging:
            self._receive({"new": {"kind": "release"}})

    @traitlets.observe("edit")
    def _receive(self, change: Any) -> None:
        message = change["new"]
        with self._lock, self.hold_sync():
            try:
                self.error = ""
                kind, _ = read(message)
                if self.on_step and kind in ("undo", "redo"):
                    self.on_step(kind)
                else:
                    self._show(self._history.handle(message), settled=message.get("final", True))
            except PlacelabError as refused:
                self._show(self._history, settled=message.get("final", True))
                self.error = str(refused)
            finally:
                if isinstance(seq := message.get("seq"), int):  # also of an edit that is refused: the page waits for it
                    self.ack = [*self.ack, seq][-ACKNOWLEDGED:]

    @traitlets.observe("value")
    def _replace(self, change: Any) -> None:
        with self._lock:
            if change["new"] is not self._history.now[0]:
                state = History.of(change["new"]).now
                self._show(self._history.settle().then(state), settled=True)

    def _show(self, history: History, settled: bool) -> None:
        with self.hold_trait_notifications():  # observers see one consistent state
            self._history = history.settle() if settled else history
            if self._history.now[0].names != self.value.names:
                self.chosen = {}  # it names devices by their numbers
            self.value = self._history.now[0]
            self.dragging = self._history.gesture is not None
            if self.on_step is None:  # else the larger view knows
                self.can_undo = bool(self._history.past)
                self.can_redo = bool(self._history.future)
            if settled:
                self.cluster = describe(*self._history.now)

    def __repr__(self) -> str:
        return f"ClusterCanvas({self.value!r})"

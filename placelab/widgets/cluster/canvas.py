"""The cluster canvas: devices and links that a hand can drag. Traits and messages only.

What an edit means is in `cluster_edit`, what can be undone in `cluster_history`, how cards are arranged in
`cluster_layout`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from placelab.errors import PlacelabError
from placelab.problem.cluster import Cluster
from placelab.widgets.cluster.edit import State
from placelab.widgets.cluster.history import History
from placelab.widgets.cluster.layout import describe


class ClusterCanvas(anywidget.AnyWidget):
    """An editable drawing of a cluster.

    Parameters
    ----------
    value
        The cluster shown. Observe it to follow the hand; set it to show another one, which can be undone like an edit.

    Notes
    -----
    While a hand drags, `dragging` is true and every message edits the cluster as it was when the drag began, so that
    the browser may leave out all but the newest. A message is acknowledged when the observers of `value` and `dragging`
    have returned, and the browser has one in flight at most; so the hand gets what the observers can hold, never a
    queue.

    Examples
    --------
    >>> import placelab as pl
    >>> canvas = ClusterCanvas(pl.clusters.pcie_box())
    >>> canvas.edit = {"kind": "speed", "device": 0, "value": 2e13}
    >>> canvas.value.speed[0], canvas.can_undo
    (np.float64(20000000000000.0), True)
    """

    _esm = Path(__file__).parents[1] / "static" / "cluster.js"

    cluster = traitlets.Dict().tag(sync=True)  # see cluster_layout.describe
    edit = traitlets.Dict().tag(sync=True, echo_update=False)  # the newest message; see Message in traits.ts
    ack = traitlets.Int(0).tag(sync=True)  # seq of the last message handled
    peak = traitlets.List().tag(sync=True)  # bytes in use at most, one per device; empty when not known
    load = traitlets.List().tag(sync=True)  # busy fraction of each link, rows of a matrix; empty when not known
    selected = traitlets.Int(-1).tag(sync=True)  # device number or -1
    error = traitlets.Unicode("").tag(sync=True)  # why the last edit was refused
    can_undo = traitlets.Bool(False).tag(sync=True)
    can_redo = traitlets.Bool(False).tag(sync=True)

    value = traitlets.Instance(Cluster)
    dragging = traitlets.Bool(False)
    on_step: Callable[[str], None] | None = None  # takes over "undo" and "redo" inside a larger view

    def __init__(self, value: Cluster, **traits: Any) -> None:
        self._lock = threading.RLock()  # while a cell is busy, messages arrive on another thread
        self._history = History.of(value)
        super().__init__(value=value, cluster=describe(*self._history.now), **traits)

    @property
    def state(self) -> State:
        """The cluster and the arrangement of its cards."""
        return self._history.now

    def restore(self, state: State) -> None:
        """Show a cluster in an arrangement, as if the canvas had begun with it: a larger history keeps the steps."""
        with self._lock, self.hold_sync():
            self._show(History(state), settled=True)
            self.error = ""

    def undo(self) -> None:
        """Back one step."""
        self._receive({"new": {"kind": "undo"}})

    def redo(self) -> None:
        """Forward to what the last undo left."""
        self._receive({"new": {"kind": "redo"}})

    @traitlets.observe("edit")
    def _receive(self, change: Any) -> None:
        message = change["new"]
        with self._lock, self.hold_sync():
            try:
                self.error = ""
                if self.on_step and message.get("kind") in ("undo", "redo"):
                    self.on_step(message["kind"])
                else:
                    self._show(self._history.handle(message), settled=message.get("final", True))
            except PlacelabError as refused:
                self._show(self._history, settled=message.get("final", True))
                self.error = str(refused)
            finally:
                self.ack = message.get("seq", self.ack)

    @traitlets.observe("value")
    def _replace(self, change: Any) -> None:
        with self._lock:
            if change["new"] is not self._history.now[0]:
                state = History.of(change["new"]).now
                self._show(self._history.settle().then(state), settled=True)

    def _show(self, history: History, settled: bool) -> None:
        with self.hold_trait_notifications():  # observers see one consistent state
            self._history = history.settle() if settled else history
            self.value = self._history.now[0]
            self.dragging = self._history.gesture is not None
            self.can_undo, self.can_redo = bool(self._history.past), bool(self._history.future)
            if settled:
                self.cluster = describe(*self._history.now)

    def __repr__(self) -> str:
        return f"ClusterCanvas({self.value!r})"

"""Undo and redo on the cluster canvas; a drag is one step, however many messages it sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from placelab.app.widgets.cluster.edit import State, apply
from placelab.app.widgets.cluster.layout import Layout
from placelab.problem.cluster import Cluster

LIMIT = 200  # steps kept


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

"""The tab that tells what would save how much if it were faster, simulated in the background."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any

import numpy as np

from placelab.analysis.faster import Part, makespans, things
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.panels.panel import Panel, Shared
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.app.widgets.tab_views import WhatMattersTable
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import UnsupportedError
from placelab.base.leaving import Abandoned, for_good, run_abandonable
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

PAUSE = 0.15  # seconds without a change before the schedule is run again and again
OFTEN = 0.12  # seconds between two messages with new rows
LINKS = 60  # greatest number of links; those that carry most
WAITS = "updates on release"

Key = tuple[str, str]
Row = dict[str, Any]


class WhatMatters(Panel):
    """A tab.

    Attributes
    ----------
    view
        The widget.

    Notes
    -----
    Rows are stale from a change until they are simulated again, one by one. A drag stops the simulations, a release begins them.
    """

    title = "What matters"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self.view = WhatMattersTable(comm=PartComm())
        self.box: w.Widget = self.view
        self._newest: tuple[Schedule | None, str] = (None, "")  # a schedule, and the key of its state
        self._known: tuple[Schedule, int] | None = None  # schedule and percentage that the rows belong to, once all do
        self._rows: dict[Key, Row] = {}
        self._select_with(self.view)
        self.view.observe(lambda change: self._wake(), "percent")

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Mark the rows as stale; nothing is simulated while a hand drags."""
        schedule = self._schedule
        self.view.stale = schedule is None or dragging or schedule.problem is not problem
        if not dragging and not self.view.stale:
            self._wake()

    def result(self, result: Result | None) -> None:
        """Simulate again for a result, unless a drag goes on; without one there is nothing to tell."""
        done = result is not None and not result.preview and result.whole is None
        self._newest = (result.schedule, result.key) if result is not None and done else (None, "")
        if result is None:
            self.view.take(stale=True, status="")
        self._wake()

    @property
    def _schedule(self) -> Schedule | None:
        return self._newest[0]

    def columns(self) -> dict[str, Any]:
        """A row per op, device and link; UnsupportedError while some are not simulated for what is shown."""
        if self._schedule is None or self._known != (self._schedule, self.view.percent):
            raise UnsupportedError("what matters is not known yet; open its tab, wait, and download it again")
        rows = [*self._rows.values()]
        head = f"saved if {self.view.percent} % faster [s]"
        saved = [np.nan if row["saved"] is None else row["saved"] for row in rows]
        return {
            "what": [row["what"] for row in rows],
            "name": [row["name"] for row in rows],
            head: np.array(saved, float),
        }

    def _wake(self) -> None:
        if self.visible and self._schedule is not None:
            self._worker.wake()

    def _catch_up(self) -> None:
        schedule, of = self._newest
        percent = self.view.percent
        if schedule is None or not self.visible or not self._hand_is_off():
            return
        if self._known == (schedule, percent):
            return self.view.take(
                result_of=of, stale=False, status=""
            )  # the same schedule may be that of another state
        if not self._worker.sleep(PAUSE):
            return
        stop = for_good(lambda: self._worker.woken or not self.visible or self._shared.dragging())
        try:
            self._simulate(schedule, of, percent, stop)
        except Abandoned:
            pass
        except Exception as error:  # a user's scheduler may raise anything, and must not end the thread
            self.view.status = str(error) or type(error).__name__
            self.view.fraction = 1.0
        if self._shared.dragging():
            self._worker.wake()

    def _hand_is_off(self) -> bool:
        """Say that rows wait for the hand while it drags."""
        if self._shared.dragging():
            self.view.take(stale=True, status=WAITS)
        return super()._hand_is_off()

    def _simulate(self, schedule: Schedule, of: str, percent: int, stop: Callable[[], bool]) -> None:
        """Fill the table; rows of before stay, marked as stale, until their turn comes."""
        todo, left_out = _shortened(things(schedule))
        keys = [(part.what, part.name) for part in todo]
        rows = {key: {**self._rows[key], "stale": True} for key in keys if key in self._rows}
        status = f"{left_out} links that carry less are left out" if left_out else ""
        plain = not schedule.problem.cluster.units.si
        with self.view.hold_sync():
            self.view.take(result_of=of, unitless=plain, makespan=schedule.makespan, status=status, stale=False)
            self._put(rows, keys)
        ops = [_op(schedule, part) for part in todo]

        def fill() -> None:
            sent = monotonic()
            done = 0
            for i, makespan in makespans(schedule, todo, 1 + percent / 100, stop):
                saved = None if np.isnan(makespan) else schedule.makespan - makespan
                rows[keys[i]] = dict(what=todo[i].what, name=todo[i].name, op=ops[i], saved=saved, stale=False)
                done += 1
                if monotonic() - sent > OFTEN and not stop():
                    sent = monotonic()
                    self._put(rows, keys, done / len(todo))
            if not stop():
                self._known = (schedule, percent)
                self._put(rows, keys, 1.0)

        run_abandonable(fill, stop)

    def _put(self, rows: dict[Key, Row], keys: list[Key], fraction: float = 0.0) -> None:
        """Send the rows, in the order of `keys`."""
        self._rows = {key: rows[key] for key in keys if key in rows}
        self.view.take(rows=list(self._rows.values()), fraction=fraction)


def _shortened(todo: list[Part]) -> tuple[list[Part], int]:
    """The parts without the links that carry least, and how many these are."""
    links = [part for part in todo if len(part.pairs)]
    dropped = set(map(id, links[LINKS:]))
    return [part for part in todo if id(part) not in dropped], len(dropped)


def _op(schedule: Schedule, part: Part) -> int:
    """The op that a click on a part selects: its largest; of links the one that sends most; -1 for none."""
    if len(part.pairs):
        moved = schedule.transfers
        k = schedule.problem.cluster.n_devices
        graph = schedule.problem.graph
        joined = np.zeros((k, k), bool)
        joined[tuple(part.pairs.T)] = True
        mine = moved[joined[moved["source"], moved["destination"]]]["tensor"]
        return int(graph.tensor_producer[mine[np.argmax(graph.tensor_bytes[mine])]])
    took = (schedule.finish - schedule.start)[part.ops]
    return int(part.ops[np.argmax(took)]) if len(took) else -1

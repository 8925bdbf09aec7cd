"""Compare all pairs of strategies in the background and show them in a table: the pair that is shown first, its row, its column.

Partitioners that search for seconds run only on request, or on graphs of at most `SMALL` ops: otherwise each change would keep
the machine busy for minutes. The plan of one that is shown is there already, and is run under all schedulers. Any other strategy
that takes more than `LATE` seconds is left, and begins anew behind the others with twice the time, and so on: one may never end.
A scheduler may never end under some partitioners: each cell of its column is tried before one has twice the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cache
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.analysis.comparing import best_pairs, fitting_schedulers, rows_under, timed
from placelab.analysis.studies.adversary_search import Adversary
from placelab.app.explorer.engine.pairs import KnownPairs, Pair, RivalSearch, Step, measures
from placelab.app.explorer.engine.solving import Result, preparation
from placelab.app.explorer.offered import BY_HAND, HandPlan, Model
from placelab.app.explorer.panels.panel import POLL, Panel, Shared
from placelab.app.explorer.state import State, key_of_problem
from placelab.app.widgets.tab_views import ComparisonTable
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import UnsupportedError
from placelab.base.leaving import Abandoned, for_good, run_abandonable
from placelab.base.units import percent
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import PLANNED, partitioners, schedulers
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.strategies.placing import place_only
from placelab.strategies.preparing.chain import chain

if TYPE_CHECKING:
    import pandas as pd

PAUSE = 0.4  # seconds without a change before all pairs are compared again
LATE = 5.0  # seconds that a placement or a run may take before others come first
REFRESH = 0.1  # seconds between two messages to the browser
UNITS_OF = {"makespan": " [s]", "seconds": " [s]", "peak_memory": " [bytes]", "bytes_moved": " [bytes]"}
SMALL = 20  # ops; searches on smaller graphs end in about a second and run without a request

# Problem (equal only to itself), seed, preparation, version of the catalogues.
Subject = tuple[Problem, int, tuple, int]
# A placement, the seconds it took, and why there is none.
Placed = tuple[Placement | None, float, str]


class Comparison(Panel):
    """The panel that compares.

    Parameters
    ----------
    shared
        What the explorer's views share.

    Attributes
    ----------
    table
        The widget, also called `box`.

    Notes
    -----
    A drag does not restart a run: it waits between two pairs until the release, and begins again if the problem has changed.
    The last plan by hand is a row of its own, the first one, while the model and the number of devices are those it was made for.
    """

    title = "Comparison"

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._lock = threading.RLock()
        self._newest: Subject | None = None  # what the explorer shows
        self._subject: Subject | None = None  # what is compared: the newest that no hand was dragging
        self._of = ""  # its key
        self._prepare: Callable = chain()
        self._version = 0
        self._pairs = KnownPairs()
        self._placed: dict[str, Placed] = {}  # by partitioner, of the problem that is compared
        self._took: dict[str, float] = {}  # partitioner → seconds to place
        self._asked: set[str] = set()  # partitioners that run although they search …
        self._left_out: set[str] = set()  # … and those that do not although they are quick
        self._hand: HandPlan | None = None  # the last plan by hand that was shown
        self._result: Result | None = None  # the newest
        self._now = ""
        self._ran = ""  # partitioner of the newest result: one that hangs has none, and must not hold up the others
        self._halted = False
        self._why = ""
        self._sent = 0.0
        self._frame: pd.DataFrame | None = None
        self._rivals = RivalSearch(self._adopt, self._refresh)
        self.box = self.table = ComparisonTable(comm=PartComm())
        self.table.handles = {
            "show": self._show,
            "against": self._against,
            "search": self.search,
            "halt": self._halt,
            "compare": self.resume,
        }
        shared.observe(self._heed, "bound")

    # ---------------------------------------------------------------- the panel

    def show(self, state: State, problem: Problem, dragging: bool) -> None:
        """Mark the pair that is shown; compare again for another problem, once no hand drags it."""
        with self._lock:
            self._state = state
            self.table.shown = [state.placer, state.scheduler]
            self.table.other_options = _has_options(state)
            newest = (problem, state.seed, state.preparation, self._version)
            before = self._newest
            self._newest = newest
            if not dragging and self._subject != newest:
                self._begin()
            elif (before == self._subject) != (newest == self._subject):
                self._refresh()
            if not dragging:
                self._take_shown()  # a drag's last result may be there already

    def result(self, result: Result | None) -> None:
        """Take over what is proven, and compare what changed while nobody saw the panel."""
        self._ran = "" if result is None else result.state.placer
        with self._lock:
            self._result = result
            self._take_shown()
        self._heed()
        self._wake()

    def again(self) -> None:
        """Compare again because the catalogues have changed."""
        with self._lock:
            self._version += 1
            self._result = None  # of a strategy as it was
            if self._newest:
                self._newest = (*self._newest[:3], self._version)
                self._begin()

    def halt(self, partitioner: str = "") -> None:
        """Stop, until `resume` or another problem; or leave one partitioner out and go on."""
        with self._lock:
            self._halted = self._halted or not partitioner
            self._left_out |= {partitioner}
            self._asked -= {partitioner} if partitioner else set(self._asked)
            self._fill()
            self._refresh()

    def resume(self) -> None:
        """Go on after `halt`."""
        self._halted = False
        self._why = ""
        self._refresh()
        self._wake()

    def search(self, partitioner: str = "") -> None:
        """Compare a partitioner that searches for long, by default all of them; do nothing for a name that is none."""
        known = set(partitioners())
        if partitioner and partitioner not in known:
            return
        with self._lock:
            names = {partitioner} if partitioner else known
            self._asked |= names
            self._left_out -= names
        self.resume()

    @property
    def frame(self) -> pd.DataFrame | None:
        """The latest complete result of :func:`placelab.compare`; None before the first.

        It has all quick partitioners at least, but those that were left out; once the comparison was stopped, all schedulers but
        those of which a run did not end in time.
        """
        return self._frame

    def columns(self) -> dict[str, Any]:
        """Columns of `frame` for a file; UnsupportedError while there is none."""
        if self._frame is None:
            raise UnsupportedError("the comparison has not ended yet; open its tab, wait, and download it again")
        units = UNITS_OF if self._state is None or self._state.cluster.units.si else {}
        return {f"{name}{units.get(name, '')}": column.to_numpy() for name, column in self._frame.items()}

    @property
    def best(self) -> list[Pair]:
        """The pairs of least makespan in `frame` that are legal and within memory, all that tie."""
        if self._frame is None:
            return []
        return [*best_pairs(self._frame)[["partitioner", "scheduler"]].itertuples(index=False, name=None)]

    @property
    def running(self) -> bool:
        """Whether pairs are being compared now."""
        return bool(self._now)

    def close(self) -> None:
        """End the thread."""
        self._shared.unobserve(self._heed, "bound")
        super().close()
        self._rivals.close()
        self.table.close()

    # ---------------------------------------------------------------- what is to be compared

    def _begin(self) -> None:
        assert self._state is not None
        self._subject = self._newest
        self._of = key_of_problem(self._state, self._subject[0]) if self._subject is not None else ""
        self._prepare = cache(chain(preparation(self._state)))
        self._pairs.begin()
        self._placed = {}
        self._asked = set()
        self._left_out = set()
        self._halted = False
        self._why = ""
        self._refresh()
        self._wake()

    def _turned(self) -> None:
        self._wake()

    def _wake(self) -> None:
        if self.visible and self._next():
            self._worker.wake()

    def _wanted(self, name: str) -> bool:
        if name in self._left_out or self._subject is None:
            return False
        small = self._subject[0].graph.n_ops <= SMALL
        return small or not partitioners()[name].slow or name in self._asked or name in self._placed

    def _next(self) -> tuple[str, list[str]] | None:
        """The partitioner to be compared next, and the schedulers: the row of the pair shown, its column, the quickest row."""
        with self._lock:
            if self._halted or self._state is None or not (due := self._due(self._state.scheduler)):
                return None
            slow = {name: partitioners()[name].slow for name in due}
            at_hand = lambda name: name == self._ran and (name in self._placed or not slow[name])  # noqa: E731
            names = sorted(due, key=lambda name: (not at_hand(name), slow[name], self._took.get(name, 0.0)))
            shown = self._state.scheduler
            if not at_hand(names[0]):
                for name in names:
                    if not slow[name] and shown in due[name]:
                        return name, [shown]
            return names[0], due[names[0]]

    def _due(self, shown: str) -> dict[str, list[str]]:
        """The partitioners to be compared, each with schedulers, the one that is shown first; what was put off comes last."""
        columns = sorted(self._columns(), key=lambda scheduler: scheduler != shown)
        names = [name for name in partitioners() if self._wanted(name) and name not in self._pairs.done]
        left = {name: [s for s in columns if not self._pairs.knows((name, s))] for name in names}
        turn = {(name, s): self._pairs.turn((name, s)) for name in names for s in left[name]}
        least = min(turn.values(), default=(0.0, 0.0))
        due = {name: [s for s in left[name] if turn[name, s] <= least] for name in names}
        return {name: due[name] for name in names if due[name] or not left[name]}

    # ---------------------------------------------------------------- the worker

    def _catch_up(self) -> None:
        if not self._pairs.done and not self._worker.sleep(PAUSE):
            return
        try:
            while self._hand_is_off() and self.visible and (due := self._next()):
                self._now = due[0]
                self._compare(*due)
        except (Exception, SystemExit) as error:  # whatever it is, the table says so
            self._halted = True
            self._why = str(error)
        self._now = ""
        self._refresh()

    def _compare(self, name: str, under: list[str]) -> None:
        """Compare one partitioner under some schedulers, unless the problem changes, a user stops it, or it takes too long."""
        subject = self._subject
        assert subject is not None
        step = Step()
        limit = lambda scheduler="": max(LATE, 2 * self._pairs.left_after(name, scheduler))  # noqa: E731
        over = lambda: self._halted or self._worker.closed or self._subject != subject or not self._wanted(name)  # noqa: E731
        late = for_good(lambda: step.late)
        stop = for_good(lambda: over() or late())
        begun = iter(under)

        def wait_or_stop() -> bool:  # called before each pair
            step.rest()
            while self._shared.dragging() and not stop():
                sleep(POLL)
            if not stop():  # else what was late is what the step still names
                scheduler = next(begun)
                step.begin(limit(scheduler), scheduler)
            return stop()

        def refresh_or_stop() -> bool:
            if monotonic() > self._sent + REFRESH:
                self._refresh()
            return stop()

        def compare() -> None:
            if not partitioners()[name].slow:
                step.begin(limit())
            placed = self._place(name, subject, stop)
            step.rest()
            when = [schedulers()[scheduler] for scheduler in under]
            for row, bound in rows_under(subject[0], name, when, subject[1], placed, wait_or_stop, measures):
                if not stop():
                    self._take(subject[0], row, bound)

        with suppress(Abandoned):
            run_abandonable(compare, refresh_or_stop)
        if stop():
            if late() and not over():
                self._put_off(name, step)
            return
        with self._lock:
            if all(scheduler in under or self._pairs.knows((name, scheduler)) for scheduler in self._columns()):
                self._pairs.done.add(name)
                self._fill()

    def _put_off(self, name: str, step: Step) -> None:
        """Let the others come first, as the placement or the run takes long; the partitioner in the next problem, too."""
        with self._lock:
            self._pairs.put_off(name, step.scheduler, step.limit)
            if not step.scheduler:
                self._took[name] = step.limit

    def _place(self, name: str, subject: Subject, stop: Callable[[], bool]) -> Placed:
        """The placement of a partitioner, made once; that of a search which is shown is there."""
        if (known := self._placed.get(name)) is None:
            prepare = self._prepare
            timed(lambda: prepare(subject[0]))  # which is no time of the partitioner's
            known = timed(lambda: place_only(subject[0], name, prepare=prepare, seed=subject[1], cancel=stop))
            with self._lock:
                if not stop():
                    self._placed[name] = known
                    self._took[name] = known[1]
        return known

    def _heed(self, _: Any = None) -> None:
        """Take over a bound that another view has proven."""
        with self._lock:
            if self._subject == self._newest and self._pairs.prove(self._shared.bound):
                self._fill()
                self._refresh()

    def _take(self, problem: Problem, row: dict[str, Any], bound: float) -> None:
        """Take over a pair, and what its partitioner has proven."""
        with self._lock:
            proven = self._pairs.prove(bound)
            self._pairs.take(row)
        if proven:
            self._shared.prove(problem, self._pairs.bound)
        self._shared.learn(problem)

    def _take_shown(self) -> None:
        """Take over what is shown, unless a hand still moves it. Needs the lock."""
        result = self._result
        if result is None or result.preview or self._shared.dragging() or self._subject is None:
            return
        if result.state.own_plan is not None:
            return self._take_hand(result)
        told = (result.schedule.problem, result.state.seed, result.state.preparation)
        if result.stopped or _has_options(result.state) or told != self._subject[:3]:
            return  # what the table says is of whole searches with default options
        name = result.state.partitioner
        if partitioners()[name].slow and name not in self._placed:
            self._placed[name] = result.placement, np.nan, ""
        pair = (name, result.state.scheduler)
        if result.violations is not None and not self._pairs.knows(pair):
            self._take_row(pair, result.schedule, not result.violations)

    def _take_row(self, pair: Pair, schedule: Schedule, legal: bool) -> None:
        """Take over the schedule that is shown, as the row of a pair, and show it."""
        row = dict(partitioner=pair[0], scheduler=pair[1], makespan=schedule.makespan, error="", seconds=np.nan)
        row |= dict(oom=len(schedule.oom) > 0, valid=legal)
        self._pairs.take(row | measures(schedule))
        self._refresh()

    def _take_hand(self, result: Result) -> None:
        """Take over a plan by hand. Needs the lock."""
        hand = result.state.own_plan
        if hand is None or hand.title != BY_HAND or result.state.placed is not None:
            return
        if self._subject is not None and result.schedule.problem is self._subject[0]:
            self._hand = hand
            self._take_row((BY_HAND, PLANNED), result.schedule, legal=True)  # each move is legal

    def _fill(self) -> None:
        """Make the frame, once all quick partitioners are compared but those that were left out.

        Once a user has stopped the comparison, without schedulers of which a run was left.
        """
        quick_first = sorted(partitioners(), key=lambda name: partitioners()[name].slow)
        columns = [s for s in self._columns() if not self._halted or self._pairs.never_left(s)]
        known = lambda name: columns and all(self._pairs.knows((name, s)) for s in columns)  # noqa: E731
        names = [name for name in quick_first if name in self._pairs.done or known(name)]
        quick = [name for name in quick_first if not partitioners()[name].slow and name not in self._left_out]
        if names and all(name in names for name in quick):
            self._frame = self._pairs.frame(names, columns)

    # ---------------------------------------------------------------- the table

    def _refresh(self) -> None:
        """Show what is known."""
        with self._lock, self.table.hold_sync():
            names = list(partitioners())
            done = self._pairs.done
            wanted = [name for name in names if self._wanted(name)]
            left = [name for name in wanted if name not in done]
            columns = self._columns()
            known = sum(name in done or self._pairs.knows((name, s)) for name in wanted for s in columns)
            pairs = len(wanted) * len(columns)
            table = self.table
            table.result_of = self._of
            table.schedulers = list(columns)
            table.unitless = self._subject is not None and not self._subject[0].cluster.units.si
            table.rows = [*self._row_by_hand(), *(self._row(name) for name in names)]
            table.fraction = known / pairs if left else 1.0
            table.action = "search" if len(done) < len(names) else ""
            table.status = ""
            if left:
                table.action = "compare" if self._halted else "halt"
                table.status = percent(known / pairs)  # the row that is computed says so itself
            if left and self._halted:
                table.status = f"Stopped. {self._why}".strip()
            if self._rivals.running:
                table.action = "halt"
                table.fraction = self._rivals.fraction
            table.status = self._rivals.status or table.status
            self._sent = monotonic()

    def _row(self, name: str) -> dict[str, Any]:
        done = name in self._pairs.done
        wanted = self._wanted(name)
        stale = self._newest != self._subject
        state = "done" if done else "running" if self._now == name else "pending" if wanted else "search"
        pairs = [(name, s) for s in self._columns()]
        cells = [self._pairs.cell(pair, stale) for pair in pairs]
        quick = not partitioners()[name].slow
        over = [self._pairs.over(pair) for pair in pairs]
        return {"name": name, "state": state, "cells": cells, "over": over, "quick": quick}

    def _row_by_hand(self) -> list[dict[str, Any]]:
        """The row of the last plan by hand, where the problem shown may have it."""
        if self._hand is None or self._state is None or not self._state.fits(self._hand):
            return []
        stale = self._newest != self._subject
        cells = [self._pairs.cell((BY_HAND, s), stale) if s == PLANNED else None for s in self._columns()]
        return [{"name": BY_HAND, "state": "own", "cells": cells}]

    def _columns(self) -> tuple[str, ...]:
        """The schedulers that fit the graph shown."""
        return fitting_schedulers(self._subject[0].graph) if self._subject is not None else tuple(schedulers())

    def _show(self, partitioner: str, scheduler: str) -> None:
        """Show a pair, or the last plan by hand."""
        hand = self._hand
        if partitioner == BY_HAND and hand is not None:
            self._shared.change(lambda state: state.with_plan(hand) if state.fits(hand) else state)
        elif partitioner in partitioners() and scheduler in schedulers():
            self._shared.change(lambda state: _with_pair(state, partitioner, scheduler))

    def _halt(self, partitioner: str = "") -> None:
        if self._rivals.running and not partitioner:
            self._rivals.halt()
        elif not partitioner or partitioner in partitioners():
            self.halt(partitioner)

    def _against(self, partitioner: str, scheduler: str) -> None:
        """Search for a problem on which the pair shown loses to another one."""
        if self._state is None or partitioner not in partitioners() or scheduler not in schedulers():
            return
        rival = partitioner, scheduler
        shown = self._state.placer, self._state.scheduler
        if self._state.own_plan:
            self._shared.say("A plan by hand is for this problem alone: show a pair of strategies first.", "note")
        elif rival == shown:
            self._shared.say("This pair is shown: press Shift and click the pair to which it is to lose.", "note")
        else:
            self._rivals.start(shown, rival, self._state.seed)

    def _adopt(self, adversary: Adversary, code: str) -> None:
        """Show the problem that was found, with the schedule of the pair shown; that of the other one is kept beside it."""
        self._shared.change(lambda state: _with_adversary(state, adversary.problem.graph, code))
        self._shared.kept = adversary.b
        names = " + ".join((adversary.b.placement.partitioner, adversary.b.scheduler))
        self._shared.say(
            f"Here it takes {adversary.value:.3g} times as long as {names}, whose schedule is kept (◈).", "note"
        )


def _has_options(state: State) -> bool:
    """Whether the pair of a state has options other than the defaults, with which all pairs are compared."""
    return any(state.options_of(kind) for kind in ("partitioner", "scheduler"))


def _with_pair(state: State, partitioner: str, scheduler: str) -> State:
    """The state with a pair and default options, as it was compared."""
    state = replace(state, partitioner=partitioner, scheduler=scheduler, requested_scheduler="", hand=None)
    return state.with_options("partitioner", {}).with_options("scheduler", {})


def _with_adversary(state: State, graph: OpGraph, code: str) -> State:
    """The state with a graph that :func:`placelab.adversarial` found, on its own cluster, under the rules of that search."""
    rules: dict[str, Any] = dict(transfers="parallel", duplex=False, transfer_ops=0.0, latency="holds")
    plain = replace(state, prepare=(), compute=1.0, transfer=1.0, **rules)
    changed = replace(plain.with_model(Model(graph.title, graph, code)), costs="model", memory="none")
    return changed.with_options("partitioner", {}).with_options("scheduler", {})

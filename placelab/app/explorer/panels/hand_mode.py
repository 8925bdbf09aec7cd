"""The chart as an instrument: bars that a hand takes and puts elsewhere; legal places only, the schedule follows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from placelab.analysis.hand_plans import ByHand, by_hand
from placelab.analysis.improving import HandMove, best_move, improve
from placelab.app.explorer.engine.solving import Result, RunningCall
from placelab.app.explorer.offered import HandPlan
from placelab.app.explorer.panels.held import PLACE_ALL, FromTray, Held, Target, is_ready, waiting_rows
from placelab.app.explorer.panels.panel import SearchLine
from placelab.app.explorer.session import Session
from placelab.app.widgets.gantt_chart import Gantt
from placelab.base.progress import Progress
from placelab.base.threads import Background, Worker
from placelab.problem.problem import Problem

FINISHING = 60.0  # seconds of local search at most
WAIT = "The schedule is still being computed; then it can be changed by hand."


class ByHandMode(Background):
    """What the chart does while its mode *By hand* is on.

    Parameters
    ----------
    session
        Whose newest state the moves change.
    gantt
        The chart: its traits `by_hand`, `hold` and `hand`, and its messages.
    result
        Returns the result that is shown.
    show
        Computes and shows the session's newest state.
    say
        Shows a sentence in a tone.
    line
        Shows a search under way, and ends it when asked.

    Notes
    -----
    The best move and *finish for me* are looked for on a thread of its own; whatever the hand does next ends that.
    An op that is held changes the newest state, but no step of the history is made before it is set; each move begins at the
    plan from which the op was taken, so that of the page's messages only the newest counts.
    """

    def __init__(
        self,
        session: Session,
        gantt: Gantt,
        result: Callable[[], Result | None],
        show: Callable[[], None],
        say: Callable[[str, str], None],
        line: SearchLine,
    ) -> None:
        self._session = session
        self._gantt = gantt
        self._result = result
        self._show = show
        self._say = say
        self._line = line
        self._wanted = False  # the mode, as soon as there is a schedule
        self._asked: tuple[str, int] | None = None  # what is to be looked for, and the page's grip
        self._worker = Worker(self._look, "by hand")
        self._held: Held | None = None
        self._verdict = ""  # on what was predicted
        self._over = 0  # the newest grip that has ended
        self._known: tuple[HandPlan, Problem, ByHand] | None = None
        gantt.can_hand = True
        gantt.observe(self._toggled, "by_hand")
        gantt.observe(lambda change: gantt.obey(change["new"]), "hold")
        acts: dict[str, Callable[..., bool]] = {
            "hold": self._move,
            "step": self._move,
            "set": partial(self._move, setting=True),
            "return": self._return,
            "best": partial(self._seek, "best"),
            "finish": partial(self._seek, "finish"),
            "empty": self._empty,
        }
        gantt.handles = {kind: partial(self._hear, act) for kind, act in acts.items()}

    @property
    def holding(self) -> bool:
        """Whether an op is in the hand."""
        return self._held is not None and self._held.offer is None

    @property
    def active(self) -> bool:
        """Whether the best move or a better plan is looked for."""
        return self._worker.active

    def begin(self) -> None:
        """Begin the mode as soon as there is a schedule; what waits of a plan that was given is in the tray."""
        with self._session.lock:
            self.follow()
        self._wanted = True
        if (result := self._result()) is not None and result.state is self._session.state:
            self.begin_if_asked()

    def begin_if_asked(self) -> None:
        """Begin the mode if it was asked for before there was a schedule."""
        if self._wanted:
            self._wanted = False
            self._gantt.by_hand = True

    def follow(self) -> None:
        """Leave the mode where the newest state has no plan by hand. Needs the session's lock."""
        state = self._session.state
        if state.own_plan is None:
            self._gantt.by_hand = False
        waiting, more = ([], 0) if state.placed is None else waiting_rows(self._session.problem, state.placed)
        if self._gantt.tray != waiting or self._gantt.tray_more != more:
            self._gantt.take(tray=waiting, tray_more=more)

    def let_go(self) -> None:
        """Put what is held back, since something else happens. Needs the session's lock; shows nothing."""
        self._asked = None
        if self._held is not None:
            self._session.adopt(self._session.steps.now)
            self._end()

    # ---------------------------------------------------------------- the mode

    def _toggled(self, change: dict[str, Any]) -> None:
        """Make a plan by hand of what is shown; on leaving, put back what is held."""
        with self._session.lock:
            if not change["new"]:
                moved = self.holding
                self.let_go()
                if not moved:
                    return
            elif not self._begin():
                return
        self._show()

    def _begin(self) -> bool:
        """Make a plan by hand of what is shown; return whether that is another state. Needs the session's lock."""
        state = self._session.state
        if state.own_plan is not None:
            return False
        result = self._result()
        if result is None or result.state is not state or result.preview:
            self._gantt.by_hand = False
            self._say(WAIT, "note")
            return False
        self._session.adopt(state.with_hand(by_hand(result.schedule).placement))
        self._session.record()
        return True

    def _plan(self) -> ByHand | None:
        """The plan of the last step of the history; None where it has none."""
        own = self._session.steps.now.own_plan
        problem = self._session.problem
        if own is None:
            return None
        if self._known is None or self._known[0] is not own or self._known[1] is not problem:
            placed = None if own.placed is None else problem.graph.names[own.placed]
            self._known = own, problem, by_hand(own.placement(problem), placed)
        return self._known[2]

    # ---------------------------------------------------------------- what the page says

    def _hear(self, act: Callable[..., bool], grip: int, **said: Any) -> None:
        """Do what is said of a grip, unless that has ended; `act` returns whether there is another state to be shown."""
        with self._session.lock:
            if not self._gantt.by_hand or grip <= self._over:
                return
            self._asked = None
            changed = act(grip, **said)
        if changed:
            self._show()
        if self._verdict:
            self._say(self._verdict, "note")
            self._verdict = ""

    def _seek(self, what: str, grip: int) -> bool:
        """Look for the best move, or for a better plan, once all ops are placed."""
        moved = self.holding
        self.let_go()
        if self._session.steps.now.placed is not None:
            self._over = grip
            self._say(PLACE_ALL, "note")
            return moved
        self._asked = what, grip
        self._worker.wake()
        return moved

    def _return(self, grip: int, op: int, ops: Sequence[int] = ()) -> bool:
        """Put what is held back."""
        if self._taken(grip, op, ops) is None:
            return False
        moved = self.holding
        self.let_go()
        return moved

    def _move(
        self,
        grip: int,
        op: int,
        ops: Sequence[int] = (),
        device: int = -1,
        time: float | None = None,
        way: str = "",
        swap: bool = False,
        setting: bool = False,
    ) -> bool:
        """Hold an op, with those that move together with it, at a time of a device, or a step on; or set it there.

        With `swap` it changes places with the op that is there.
        """
        held = self._taken(grip, op, ops)
        if held is None:
            return False
        swap = swap and not isinstance(held, FromTray)
        if time is not None and 0 <= device < self._session.problem.cluster.n_devices:
            (held.swap_at if swap else held.at)(device, time)
        elif way:
            (held.swap_step if swap else held.step)(way)
        self._adopt(held, setting)
        if setting:
            self._session.record()
            if isinstance(held, FromTray) and held.landed and self._gantt.predicts:
                self._verdict = held.verdict()
            self._end()
        else:
            self._tell(held)
        return True

    def _empty(self, grip: int) -> bool:
        """Take all ops off, to be placed one by one."""
        self.let_go()
        self._over = grip
        plan = self._plan()
        if plan is None:
            return False
        none = np.zeros(plan.placement.problem.graph.n_ops, bool)
        self._session.adopt(self._session.steps.now.with_hand(plan.placement, placed=none))
        self._session.record()
        return True

    def _taken(self, grip: int, op: int, others: Sequence[int] = ()) -> Held | None:
        """The op in the hand, with those that move together with it; a new grip takes it up."""
        if self._held is None or self._held.grip != grip:
            plan = self._plan()
            self._held = None
            if plan is None or not all(0 <= v < plan.placement.problem.graph.n_ops for v in (op, *others)):
                return None
            placed = plan.placed
            if placed is None or placed[op]:
                self._held = Held(plan, op, grip, [v for v in others if placed is None or placed[v]])
            elif is_ready(plan.placement.problem, op, placed):
                self._held = FromTray(plan, op, grip)
        return self._held

    def _adopt(self, held: Held, setting: bool) -> None:
        """Make the plan with the move the newest state; the plan before is its own state again.

        What is to be predicted is shown only when it is set.
        """
        before = self._session.steps.now
        hidden = isinstance(held, FromTray) and self._gantt.predicts and not setting
        if held.plan is held.before or hidden:
            return self._session.adopt(before)
        state = self._session.state
        if state.hand is None or state.hand.planned is not held.plan.planned:
            self._session.adopt(before.with_hand(held.plan.placement, placed=held.plan.placed))

    def _end(self) -> None:
        if self._held is not None:
            self._over = self._held.grip
        if isinstance(self._held, FromTray):
            self._gantt.candidates = []
        self._held = None
        self._gantt.hand = {}

    # ---------------------------------------------------------------- help

    def _look(self) -> None:
        """Look for the best move, or for a better plan from here, unless something else happens meanwhile."""
        with self._session.lock:
            asked = self._asked
            plan = self._plan()
        if asked is None or plan is None or not self._gantt.by_hand:
            return
        what, grip = asked
        units = plan.placement.problem.cluster.units
        outdated = lambda _: self._asked is not asked or self._worker.closed  # noqa: E731
        search = RunningCall({"best": "best move", "finish": "finish for me"}[what], outdated, units=units)

        def report(progress: Progress) -> None:
            search.report(progress)
            self._line.show(search)

        try:
            if what == "best":
                move = best_move(plan.schedule, progress=report, cancel=search.cancel)
                return self._answer(asked, lambda: self._offer(plan, move, grip))
            better = improve(plan, time_limit=FINISHING, progress=report, cancel=search.cancel)
        finally:
            self._line.rest()
        self._answer(asked, lambda: self._finish(plan, better))

    def _answer(self, asked: tuple[str, int], answer: Callable[[], bool]) -> None:
        """Give an answer, unless something else has been asked; show the newest state if it has changed that."""
        with self._session.lock:
            changed = self._asked is asked and answer()
        if changed:
            self._show()

    def _offer(self, plan: ByHand, move: HandMove | None, grip: int) -> bool:
        """Show the best move, to be taken or not."""
        if move is None:
            self._over = grip
            self._say("No single move of an op of the critical path saves anything.", "note")
            return False
        problem = plan.placement.problem
        held = Held(plan, problem.graph.index(move.op), grip)
        held.offer = move
        held.plan = move.plan
        held.target = Target(problem.cluster.index(move.device), held.target.position)
        saved = problem.cluster.units.time(move.saves)
        held.said = f"Best move: {move.op} to {move.device} saves {saved}; Enter takes it, Esc does not"
        self._held = held
        self._tell(held)
        return False

    def _finish(self, plan: ByHand, better: ByHand) -> bool:
        """Take the better plan, as a step."""
        if not better.makespan < plan.makespan:
            self._say("Local search from here finds nothing shorter.", "note")
            return False
        self._session.adopt(self._session.steps.now.with_hand(better.placement))
        self._session.record()
        return True

    def _tell(self, held: Held) -> None:
        """Tell the page where it would run, what forbids devices and places, and when the inputs would be there."""
        schedule = held.plan.schedule
        start = float(schedule.start[held.op])
        finish = float(schedule.finish[held.op])
        fresh = isinstance(held, FromTray)
        said = held.said
        if isinstance(held, FromTray):
            shown = not self._gantt.predicts
            self._gantt.candidates = held.ghosts if shown else []
            if held.landed and shown and not held.stopped:
                time = schedule.problem.cluster.units.time
                said = f"{held.name}: {said}, {time(start)} to {time(finish)}"
        self._gantt.hand = {
            "grip": held.grip,
            "op": held.op,
            "moving": held.moving,
            "device": held.target.device,
            "fresh": fresh,
            "ready": held.places(held.target.device).ready if held.target.device >= 0 else 0.0,
            "refused": held.refused,
            "said": said,
            "stopped": held.stopped,
            "barred": list(held.barred),
            "offer": held.offer is not None,
            "start": start,
            "finish": finish,
            "makespan": held.before.makespan,
        }

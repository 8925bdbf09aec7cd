"""The chart as an instrument: bars that a hand takes and puts elsewhere; legal places only, the schedule follows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from placelab.analysis.hand_plans import ByHand, Places, by_hand
from placelab.app.explorer.engine.solving import Result
from placelab.app.explorer.session import Session
from placelab.app.explorer.state import HandPlan
from placelab.app.widgets.gantt_chart import Gantt
from placelab.problem.problem import Problem

WAIT = "The schedule is still being computed; then it can be changed by hand."


class Target(NamedTuple):
    """Where ops would stand: a device, and a position among its ops that do not move."""

    device: int
    position: int


class Held:
    """An op in the hand.

    Parameters
    ----------
    plan
        The plan that it is taken from.
    op
        Its number.
    grip
        Number of the grip, which the page counts: messages of earlier ones come too late.

    Attributes
    ----------
    target
        Where it would stand now; `plan` is the plan with that move, and `said` says where it is, or what forbids another place.
    """

    def __init__(self, plan: ByHand, op: int, grip: int) -> None:
        self.before = self.plan = plan
        self.op = op
        self.grip = grip
        self.name = str(plan.placement.problem.graph.names[op])
        self.said = ""
        self._places: dict[int, Places] = {}
        device = int(plan.placement.device[op])
        self.home = self.target = Target(device, int((plan.order(device) == op).nonzero()[0][0]))

    def places(self, device: int) -> Places:
        """Where on a device it may stand."""
        if device not in self._places:
            self._places[device] = self.before.places(self.name, device)
        return self._places[device]

    @property
    def refused(self) -> list[str]:
        """Of each device why it may not run the op, or ""."""
        return [self.places(d).reason for d in range(self.before.placement.problem.cluster.n_devices)]

    def at(self, device: int, time: float) -> None:
        """Put it on a device behind the ops whose middle is before a time, or as near as may be."""
        schedule = self.before.schedule
        lane = self._others(device)
        self.put(Target(device, int(((schedule.start[lane] + schedule.finish[lane]) / 2 < time).sum())))

    def step(self, way: str) -> None:
        """Put it one place on (``left``, ``right``), or on the next device that may run it (``up``, ``down``)."""
        device, position = self.target
        if way in ("left", "right"):
            return self.put(Target(device, position + (1 if way == "right" else -1)))
        n = self.before.placement.problem.cluster.n_devices
        others = range(device + 1, n) if way == "down" else range(device - 1, -1, -1)
        for d in others:
            if self.places(d).legal:
                return self.put(self.home if d == self.home.device else Target(d, self.places(d).start))
        self.said = next((self.places(d).reason for d in others if self.places(d).reason), self.said)

    def put(self, wanted: Target) -> None:
        """Put it at the legal place that is nearest to one, and say what forbids that one."""
        places = self.places(wanted.device)
        if not places.legal:
            self.said = places.reason or f"{self.name!r} has no legal place on {places.device!r}"
            return
        target = Target(wanted.device, min(max(wanted.position, places.first), places.last))
        if target != self.target:
            self.target = target
            self.plan = self._moved(target)
        self.said = self._said(wanted, places)

    def _moved(self, target: Target) -> ByHand:
        if target == self.home:
            return self.before
        lane = self._others(target.device)
        names = self.before.placement.problem.graph.names
        if target.position < len(lane):
            return self.before.move(self.name, target.device, before=names[lane[target.position]])
        behind = dict(after=names[lane[-1]]) if len(lane) else {}
        return self.before.move(self.name, target.device, **behind)

    def _others(self, device: int) -> Any:
        """The ops of a device in their order, without the one in the hand."""
        lane = self.before.order(device)
        return lane[lane != self.op]

    def _said(self, wanted: Target, places: Places) -> str:
        """Where it is, in words; or why not where it was wanted."""
        if wanted.position < places.first and places.after:
            return f"{self.name} cannot run before {places.after}, which must run first"
        if wanted.position > places.last and places.before:
            return f"{self.name} cannot run behind {places.before}, which must run later"
        device, position = self.target
        lane = self._others(device)
        names = self.before.placement.problem.graph.names
        parts = [f"after {names[v]}" for v in lane[:position][-1:]]
        parts += [f"before {names[v]}" for v in lane[position:][:1]]
        return ", ".join([places.device, *parts])


class ByHandMode:
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

    Notes
    -----
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
    ) -> None:
        self._session = session
        self._gantt = gantt
        self._result = result
        self._show = show
        self._say = say
        self._held: Held | None = None
        self._over = 0  # the newest grip that has ended
        self._known: tuple[HandPlan, Problem, ByHand] | None = None
        gantt.can_hand = True
        gantt.observe(self._toggled, "by_hand")
        gantt.observe(lambda change: self._hear(change["new"]), "hold")
        gantt.on_msg(lambda _, content, __: self._hear(content) if isinstance(content, dict) else None)

    @property
    def holding(self) -> bool:
        """Whether an op is in the hand."""
        return self._held is not None

    def follow(self) -> None:
        """Leave the mode where the newest state has no plan by hand. Needs the session's lock."""
        if self._session.state.own_plan is None:
            self._gantt.by_hand = False

    def let_go(self) -> None:
        """Put what is held back, since something else happens. Needs the session's lock; shows nothing."""
        if self._held is not None:
            self._session.adopt(self._session.steps.now)
            self._end()

    # ---------------------------------------------------------------- the mode

    def _toggled(self, change: dict[str, Any]) -> None:
        """Make a plan by hand of what is shown; on leaving, put back what is held."""
        with self._session.lock:
            if not change["new"]:
                if self._held is not None:
                    self._return()
                return
            state = self._session.state
            if state.own_plan is not None:
                return
            result = self._result()
            if result is None or result.state is not state or result.preview:
                self._gantt.by_hand = False
                return self._say(WAIT, "note")
            self._session.adopt(state.with_hand(by_hand(result.schedule).placement))
            self._session.record()
        self._show()

    def _plan(self) -> ByHand | None:
        """The plan of the last step of the history; None where it has none."""
        own, problem = self._session.steps.now.own_plan, self._session.problem
        if own is None:
            return None
        if self._known is None or self._known[0] is not own or self._known[1] is not problem:
            self._known = own, problem, by_hand(own.placement(problem))
        return self._known[2]

    # ---------------------------------------------------------------- what the page says

    def _hear(self, said: dict[str, Any]) -> None:
        """Take a message: ``grip``, ``op``, and ``device`` and ``time`` or a step ``way``; ``do`` sets it or returns it."""
        with self._session.lock:
            if not self._gantt.by_hand or int(said.get("grip", 0)) <= self._over:
                return
            held = self._taken(int(said["grip"]), int(said["op"]))
            if held is None:
                return
            if "time" in said:
                held.at(int(said["device"]), float(said["time"]))
            elif "way" in said:
                held.step(str(said["way"]))
            do = said.get("do", "")
            if do == "return":
                return self._return()
            if do == "set":
                return self._set(held)
            self._try(held)

    def _taken(self, grip: int, op: int) -> Held | None:
        """The op in the hand; a new grip takes it up."""
        if self._held is None or self._held.grip != grip:
            plan = self._plan()
            if plan is None or not 0 <= op < plan.placement.problem.graph.n_ops:
                return None
            self._held = Held(plan, op, grip)
        return self._held

    def _try(self, held: Held) -> None:
        """Show the plan with the op where it is held."""
        self._tell(held)
        self._adopt(held)
        self._show()

    def _set(self, held: Held) -> None:
        """Make the place a step of the history."""
        self._adopt(held)
        self._session.record()
        self._end()
        self._show()

    def _return(self) -> None:
        """Show the plan as it was before."""
        self.let_go()
        self._show()

    def _adopt(self, held: Held) -> None:
        """Make the plan with the move the newest state; the plan before is its own state again."""
        before = self._session.steps.now
        if held.plan is held.before:
            return self._session.adopt(before)
        state = self._session.state
        if state.hand is None or state.hand.planned is not held.plan.planned:
            self._session.adopt(before.with_hand(held.plan.placement))

    def _end(self) -> None:
        if self._held is not None:
            self._over = self._held.grip
        self._held = None
        self._gantt.hand = {}

    def _tell(self, held: Held) -> None:
        """Tell the page what forbids devices and places, and when the inputs would be there."""
        places = held.places(held.target.device)
        self._gantt.hand = {
            "grip": held.grip,
            "op": held.op,
            "device": held.target.device,
            "ready": places.ready,
            "refused": held.refused,
            "said": held.said,
            "makespan": held.before.makespan,
        }

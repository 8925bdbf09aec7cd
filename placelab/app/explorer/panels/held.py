"""What a hand holds: an op, several that move together, or two that change places; where they would stand, what forbids more."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from placelab.analysis.hand_plans import ByHand, Places, by_hand
from placelab.analysis.improving import HandMove
from placelab.base.errors import InfeasibleError
from placelab.schedule.placement import Placement

NO_BAR = "No bar is here to change places with"


class Target(NamedTuple):
    """Where ops would stand: a device, and a position among its ops that do not move."""

    device: int
    position: int


class Held:
    """An op in the hand, or one that is offered to be moved.

    Parameters
    ----------
    plan
        The plan that it is taken from.
    op
        Its number.
    grip
        Number of the grip, which the page counts: messages of earlier ones come too late.
    others
        Ops that move with it, one behind the other in their order.
    placed
        Which ops are placed; the others stand behind them, and nobody sees them. None: all.

    Attributes
    ----------
    target
        Where it would stand now; `plan` is the plan with that move, and `said` says where it is, or what forbids another place.
    stopped
        Whether something forbids where it was wanted.
    moving
        Numbers of the ops that move, in the order of the plan; those of an exchange are two.
    offer
        The best move, where it is that.
    """

    def __init__(
        self, plan: ByHand, op: int, grip: int, others: Iterable[int] = (), placed: np.ndarray | None = None
    ) -> None:
        self.before = self.plan = plan
        self.op = op
        self.grip = grip
        self.name = self._name(op)
        self.said = ""
        self.stopped = False
        self.offer: HandMove | None = None
        self.placed = placed
        together = {op, *others}
        self.moving = self.block = [v for v in plan.planned.tolist() if v in together]
        self._places: dict[int, Places] = {}
        device = int(plan.placement.device[op])
        lane = plan.order(device)
        at = int((lane == op).nonzero()[0][0])
        self.home = self.target = Target(device, int((~np.isin(lane[:at], self.block)).sum()))
        self._partner = Target(device, at)  # the place of the op to change with, among the others of the device

    def _name(self, op: int) -> str:
        return str(self.before.placement.problem.graph.names[op])

    @property
    def what(self) -> str:
        """The op by its name, or how many there are."""
        return self.name if len(self.block) == 1 else f"{len(self.block)} ops"

    def places(self, device: int) -> Places:
        """Where on a device it may stand."""
        if device not in self._places:
            names = self.before.placement.problem.graph.names[self.block]
            found = self.before.places(names.tolist(), device)
            if self.placed is not None:
                last = int(np.isin(self._others(device), self._lane(device)).sum())
                if found.last >= last:
                    found = found._replace(last=last, before="", start=min(found.start, last))
            self._places[device] = found
        return self._places[device]

    @property
    def refused(self) -> list[str]:
        """Of each device why it may not run the op, or ""."""
        return [self.places(d).reason for d in range(self.before.placement.problem.cluster.n_devices)]

    # ---------------------------------------------------------------- moves

    def at(self, device: int, time: float) -> None:
        """Put it on a device behind the ops whose middle is before a time, or as near as may be."""
        schedule = self.before.schedule
        ahead = self.block[: self.block.index(self.op)]
        time -= float((schedule.finish[ahead] - schedule.start[ahead]).sum())  # of the first op that moves
        self.put(Target(device, self._position(self._others(device), time)))

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
        self._refuse(next((self.places(d).reason for d in others if self.places(d).reason), self.said))

    def put(self, wanted: Target) -> None:
        """Put it at the legal place that is nearest to one, and say what forbids that one."""
        places = self.places(wanted.device)
        self.moving = self.block
        if not places.legal:
            return self._refuse(places.reason or self._said_of_no_place(places))
        target = Target(wanted.device, min(max(wanted.position, places.first), places.last))
        self.target = target
        self.plan = self._moved(target)
        self.said = self._said(wanted, places)
        self.stopped = target != wanted

    # ---------------------------------------------------------------- exchanges

    def swap_at(self, device: int, time: float) -> None:
        """Let the op change places with the one that the device runs at a time."""
        schedule = self.before.schedule
        lane = self._lane(device)
        there = lane[(schedule.start[lane] <= time) & (time < schedule.finish[lane])]
        if not len(there):
            self.plan = self.before
            self.moving = self.block
            return self._refuse(NO_BAR)
        self._swap(int(there[0]))

    def swap_step(self, way: str) -> None:
        """Let the op change places with the next one of its device, or with one of the next device that runs at its time."""
        device, position = self._partner
        if way in ("left", "right"):
            home = device == self.home.device
            lane = self._lane(device)
            position += 1 if way == "right" else -1
            if home and 0 <= position < len(lane) and lane[position] == self.op:
                position += 1 if way == "right" else -1
        else:
            device += 1 if way == "down" else -1
            if not 0 <= device < self.before.placement.problem.cluster.n_devices:
                return self._refuse("There is no device")
            lane = self._lane(device)
            start = float(self.before.schedule.start[self.op])
            position = min(self._position(lane, start), len(lane) - 1)
        if not 0 <= position < len(lane):
            return self._refuse(NO_BAR)
        self._partner = Target(device, position)
        self._swap(int(lane[position]))

    def _swap(self, other: int) -> None:
        """Exchange two ops, if that is legal."""
        if other == self.op:
            self.plan = self.before
            self.said = ""
            self.stopped = False
            self.moving = self.block
            return
        name = self._name(other)
        try:
            self.plan = self._tidy(self.before.swap(self.name, name))
        except InfeasibleError as error:
            return self._refuse(f"{self.name} and {name} cannot change places: {error}")
        self.moving = [self.op, other]
        self.target = Target(int(self.before.placement.device[other]), self.target.position)
        self.said = f"{self.name} and {name} change places"
        self.stopped = False

    # ---------------------------------------------------------------- where, and why not

    def _refuse(self, said: str) -> None:
        self.said = said
        self.stopped = True

    def _moved(self, target: Target) -> ByHand:
        if target == self.home and len(self.block) == 1:
            return self.before
        lane = self._others(target.device)
        graph_names = self.before.placement.problem.graph.names
        names = graph_names[self.block].tolist()
        if target.position < len(lane):
            return self._tidy(self.before.move(names, target.device, before=graph_names[lane[target.position]]))
        behind = dict(after=graph_names[lane[-1]]) if len(lane) else {}
        return self._tidy(self.before.move(names, target.device, **behind))

    def _tidy(self, plan: ByHand) -> ByHand:
        """The plan with what is not placed behind all else."""
        return plan if self.placed is None else behind_placed(plan, self.placed)

    def _lane(self, device: int) -> Any:
        """The ops of a device in their order that are placed."""
        lane = self.before.order(device)
        return lane if self.placed is None else lane[self.placed[lane]]

    def _others(self, device: int) -> Any:
        """The ops of a device in their order, without those in the hand."""
        lane = self.before.order(device)
        return lane[~np.isin(lane, self.block)]

    def _position(self, lane: Any, time: float) -> int:
        """How many ops of a lane have their middle before a time."""
        schedule = self.before.schedule
        return int(((schedule.start[lane] + schedule.finish[lane]) / 2 < time).sum())

    def _said_of_no_place(self, places: Places) -> str:
        between = f": {places.before} must run between them" if places.before and len(self.block) > 1 else ""
        return f"{self.what} have no place together on {places.device}{between}"

    def _said(self, wanted: Target, places: Places) -> str:
        """Where it is, in words; or why not where it was wanted."""
        if wanted.position < places.first and places.after:
            return f"{self.what} cannot run before {places.after}, which must run first"
        if wanted.position > places.last and places.before:
            return f"{self.what} cannot run behind {places.before}, which must run later"
        device, position = self.target
        lane = self._lane(device)
        lane = lane[~np.isin(lane, self.block)]
        parts = [f"after {self._name(v)}" for v in lane[:position][-1:]]
        parts += [f"before {self._name(v)}" for v in lane[position:][:1]]
        several = [self.what] if len(self.block) > 1 else []
        return ", ".join([*several, places.device, *parts])


def behind_placed(plan: ByHand, placed: np.ndarray) -> ByHand:
    """The plan with the ops that are not placed behind all that are, on the devices where they are."""
    order = np.concatenate([plan.planned[placed[plan.planned]], plan.planned[~placed[plan.planned]]])
    return by_hand(Placement(plan.placement.problem, plan.placement.device, order))

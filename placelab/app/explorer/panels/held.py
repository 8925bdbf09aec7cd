"""What a hand holds: ops that move together, two that change places, or one of those that wait to be placed one by one."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from placelab.analysis.hand_plans import ByHand, Places
from placelab.analysis.improving import HandMove
from placelab.base.errors import InfeasibleError
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

PLACE_ALL = "First place all ops: some wait in the tray."
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

    Attributes
    ----------
    target
        Where it would stand now; `plan` is the plan with that move, and `said` says where it is, or what forbids another place.
    stopped
        Whether something forbids where it was wanted.
    barred
        Number of the op that forbids it, and on which side of it: -1 up to its end, 1 from its start on, 0 where it stands;
        empty where no op does.
    moving
        Numbers of the ops that move, in the order of the plan; those of an exchange are two.
    offer
        The best move, where it is that.
    """

    def __init__(self, plan: ByHand, op: int, grip: int, others: Iterable[int] = ()) -> None:
        self.before = self.plan = plan
        self.op = op
        self.grip = grip
        self.name = self._name(op)
        self.said = ""
        self.stopped = False
        self.barred: tuple[int, ...] = ()
        self.offer: HandMove | None = None
        together = {op, *others}
        self.moving = self.block = [v for v in plan.planned.tolist() if v in together]
        self._places: dict[int, Places] = {}
        self.home = self.target = self._home()

    def _home(self) -> Target:
        """Where the op is; notes its place among all ops of its device, from which one steps to others to change with."""
        device = int(self.before.placement.device[self.op])
        lane = self.before.order(device)
        at = int((lane == self.op).nonzero()[0][0])
        self._partner = Target(device, at)  # the place of the op to change with
        return Target(device, int((~np.isin(lane[:at], self.block)).sum()))

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
            self._places[device] = self.before.places(names.tolist(), device)
        return self._places[device]

    @property
    def refused(self) -> list[str]:
        """Of each device why it may not run the op, or ""."""
        each = [self.places(d) for d in range(self.before.placement.problem.cluster.n_devices)]
        return ["" if places.legal else places.reason or self._said_of_no_place(places) for places in each]

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
        self.barred = self._barred(wanted, places)
        self.said = self._said(wanted, places)
        self.stopped = target != wanted

    # ---------------------------------------------------------------- exchanges

    def swap_at(self, device: int, time: float) -> None:
        """Let the op change places with the one that the device runs at a time."""
        schedule = self.before.schedule
        lane = self.before.order(device)
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
            lane = self.before.order(device)
            position += 1 if way == "right" else -1
            if home and 0 <= position < len(lane) and lane[position] == self.op:
                position += 1 if way == "right" else -1
        else:
            device += 1 if way == "down" else -1
            if not 0 <= device < self.before.placement.problem.cluster.n_devices:
                return self._refuse("There is no device")
            lane = self.before.order(device)
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
            self.barred = ()
            self.moving = self.block
            return
        name = self._name(other)
        try:
            self.plan = self.before.swap(self.name, name)
        except InfeasibleError as error:
            self._refuse(f"{self.name} and {name} cannot change places: {error}")
            self.barred = (other, 0)
            return
        self.moving = [self.op, other]
        self.target = Target(int(self.before.placement.device[other]), self.target.position)
        self.said = f"{self.name} and {name} change places"
        self.stopped = False
        self.barred = ()

    # ---------------------------------------------------------------- where, and why not

    def _refuse(self, said: str) -> None:
        self.said = said
        self.stopped = True
        self.barred = ()

    def _moved(self, target: Target) -> ByHand:
        if target == self.home and len(self.block) == 1:
            return self.before
        lane = self._others(target.device)
        graph_names = self.before.placement.problem.graph.names
        names = graph_names[self.block].tolist()
        if target.position < len(lane):
            return self.before.move(names, target.device, before=graph_names[lane[target.position]])
        behind = dict(after=graph_names[lane[-1]]) if len(lane) else {}
        return self.before.move(names, target.device, **behind)

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

    def _barred(self, wanted: Target, places: Places) -> tuple[int, ...]:
        """The op that forbids a place, and its side."""
        index = self.before.placement.problem.graph.index
        if wanted.position < places.first and places.after:
            return index(places.after), -1
        return (index(places.before), 1) if wanted.position > places.last and places.before else ()

    def _said(self, wanted: Target, places: Places) -> str:
        """Where it is, in words; or why not where it was wanted."""
        if wanted.position < places.first and places.after:
            return f"{self.what} cannot run before {places.after}, which must run first"
        if wanted.position > places.last and places.before:
            return f"{self.what} cannot run behind {places.before}, which must run later"
        device, position = self.target
        lane = self._others(device)
        parts = [f"after {self._name(v)}" for v in lane[:position][-1:]]
        parts += [f"before {self._name(v)}" for v in lane[position:][:1]]
        several = [self.what] if len(self.block) > 1 else []
        return ", ".join([*several, places.device, *parts])


MOST = 200  # ops that are listed
NAMED = 2  # inputs that an op waits for, by name; of more their number


def is_ready(problem: Problem, op: int, placed: np.ndarray) -> bool:
    """Whether all inputs of an op are placed."""
    return bool(placed[problem.graph.predecessors_of(op)].all())


def waiting_rows(problem: Problem, placed: np.ndarray) -> tuple[list[dict[str, object]], int]:
    """What waits, in topological order, those first that can be placed: ``op``, ``name``, ``ready``, ``said``; how many more."""
    graph = problem.graph
    cluster = problem.cluster
    missing = np.bincount(graph.consumer[~placed[graph.producer]], minlength=graph.n_ops)
    ready = np.flatnonzero(~placed & (missing == 0))
    waiting = np.flatnonzero(~placed & (missing > 0))
    times = problem.exec_table()
    found: list[dict[str, object]] = []
    for op in [*ready.tolist(), *waiting.tolist()][:MOST]:
        inputs = [int(u) for u in graph.predecessors_of(op) if not placed[u]]
        names = [str(graph.names[u]) for u in inputs]
        waits = f"waits for {', '.join(names) if len(names) <= NAMED else len(names)}"
        each = [cluster.units.time(float(times[op, d])) for d in problem.feasible(op).tolist()]
        said = waits if inputs else " · ".join(dict.fromkeys(each))
        found.append({"op": op, "name": str(graph.names[op]), "ready": not inputs, "said": said})
    return found, len(ready) + len(waiting) - len(found)


def placed_so_far(schedule: Schedule, placed: np.ndarray) -> tuple[int, int, np.ndarray]:
    """How many ops are placed, of how many, and the mask of ops, then of transfers, that are drawn: all transfers of the part."""
    drawn = np.concatenate([placed, np.ones(len(schedule.transfers), bool)])
    return int(placed.sum()), len(placed), drawn


class FromTray(Held):
    """An op that is taken from the tray: it stands among those that are placed, or behind them."""

    def _home(self) -> Target:
        return Target(-1, 0)

    @property
    def landed(self) -> bool:
        """Whether it has a place."""
        return self.target != self.home

    def step(self, way: str) -> None:
        """As of an op that is placed; at first up and down lead to the last and to the first device that may run it."""
        if not self.landed:
            n = self.before.placement.problem.cluster.n_devices
            self.target = Target(n if way in ("up", "left") else -1, 0)
            way = "up" if way in ("up", "left") else "down"
        super().step(way)

    @cached_property
    def ghosts(self) -> list[dict[str, float]]:
        """On each device that may run it the bar at the place by earliest start: ``device``, ``start``, ``finish`` [s]."""
        found = []
        for d in range(self.before.placement.problem.cluster.n_devices):
            if self.places(d).legal:
                run = self.before.move(self.name, d).schedule
                times = dict(start=float(run.start[self.op]), finish=float(run.finish[self.op]))
                found.append({"device": d, **times})
        return found

    def verdict(self) -> str:
        """Where it runs, and where it would end first, for one who has said so before seeing it."""
        graph = self.before.placement.problem.graph
        cluster = self.before.placement.problem.cluster
        schedule = self.plan.schedule
        begin = float(schedule.start[self.op])
        end = float(schedule.finish[self.op])
        first = min(self.ghosts, key=lambda ghost: (ghost["finish"], ghost["device"]))
        time = cluster.units.time
        here = f"{graph.names[self.op]} on {cluster.names[self.target.device]}: {time(begin)} to {time(end)}."
        if end <= first["finish"]:
            return f"{here} Nowhere does it end earlier."
        return f"{here} On {cluster.names[int(first['device'])]} it would end at {time(first['finish'])}."

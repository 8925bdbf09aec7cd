"""Ops that wait to be placed one by one, as with paper and pencil: only those whose inputs are placed can be."""

from __future__ import annotations

import numpy as np

from placelab.analysis.hand_plans import ByHand
from placelab.app.explorer.panels.held import Held, Target
from placelab.app.widgets.decisions import decided_so_far
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule

MOST = 200  # ops that are listed
NAMED = 2  # inputs that an op waits for, by name; of more their number


def why_not_empty(problem: Problem) -> str:
    """Why the ops of a problem cannot be placed one by one; "" where they can.

    What waits stands behind all that is placed. Where transfers wait for each other, those to ops that are not placed yet would
    hold up others.
    """
    if problem.transfers != "parallel" or problem.transfer_ops:
        return (
            "Ops can be placed one by one where transfers are parallel and take no time of devices: choose that first."
        )
    return ""


def is_ready(problem: Problem, op: int, placed: np.ndarray) -> bool:
    """Whether all inputs of an op are placed."""
    return bool(placed[problem.graph.predecessors_of(op)].all())


def rows(problem: Problem, placed: np.ndarray) -> tuple[list[dict[str, object]], int]:
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


def so_far(schedule: Schedule, placed: np.ndarray) -> tuple[int, int, np.ndarray]:
    """How many ops are placed, of how many, and the mask of ops, then of transfers, that are drawn."""
    row = np.where(placed, 0, 1)
    return int(placed.sum()), len(placed), decided_so_far(schedule, row, 1)


class FromTray(Held):
    """An op that is taken from the tray: it stands among those that are placed, or behind them."""

    def __init__(self, plan: ByHand, op: int, grip: int, placed: np.ndarray) -> None:
        super().__init__(plan, op, grip, placed=placed)
        self.home = self.target = Target(-1, 0)
        self.placed = placed.copy()
        self.placed[op] = True

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

    def ghosts(self) -> list[dict[str, float]]:
        """On each device that may run it the earliest bar: ``device``, ``start``, ``finish`` [s]."""
        finish = self.before.schedule.finish
        times = self.before.placement.problem.exec_table()
        found = []
        for d in np.flatnonzero([self.places(d).legal for d in range(times.shape[1])]).tolist():
            places = self.places(d)
            ahead = self._lane(d)[: places.start][-1:]
            start = max(places.ready, *finish[ahead].tolist(), 0.0)
            found.append({"device": d, "start": start, "finish": start + float(times[self.op, d])})
        return found

    def verdict(self) -> str:
        """Where it runs, and where it would end first, for one who has said so before seeing it."""
        graph = self.before.placement.problem.graph
        cluster = self.before.placement.problem.cluster
        schedule = self.plan.schedule
        begin = float(schedule.start[self.op])
        end = float(schedule.finish[self.op])
        first = min(self.ghosts(), key=lambda ghost: (ghost["finish"], ghost["device"]))
        time = cluster.units.time
        here = f"{graph.names[self.op]} on {cluster.names[self.target.device]}: {time(begin)} to {time(end)}."
        if end <= first["finish"]:
            return f"{here} Nowhere does it end earlier."
        return f"{here} On {cluster.names[int(first['device'])]} it would end at {time(first['finish'])}."

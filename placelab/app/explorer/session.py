"""The newest state of an explorer with its problem, and the steps that undo and redo lead to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from placelab.app.explorer.state import State, said_of_costs
from placelab.problem.problem import Problem

STEPS = 200  # steps kept for undo
HELD = "held "  # begins the key of one movement of a hand, which is one step however long it takes


@dataclass(frozen=True)
class Undoable:
    """A state, those before it, and those that were undone."""

    now: State
    past: tuple[State, ...] = ()
    future: tuple[State, ...] = ()
    key: str = ""
    time: float = 0.0

    def to(self, state: State, key: str, time: float) -> Undoable:
        """Add a step, or replace the latest one when it has the same key and is less than a second old or `HELD`."""
        if state == self.now:
            return self
        if key and key == self.key and (key.startswith(HELD) or time - self.time < 1.0):
            return replace(self, now=state, time=time)
        return Undoable(state, (*self.past, self.now)[-STEPS:], (), key, time)

    def instead(self, state: State) -> Undoable:
        """Replace the state that the latest step led to; drop the step if it then changes nothing."""
        if self.past and state == self.past[-1]:
            return Undoable(self.past[-1], self.past[:-1])
        return replace(self, now=state)

    def undo(self) -> Undoable:
        """Go back one step, if there is one."""
        return Undoable(self.past[-1], self.past[:-1], (*self.future, self.now)) if self.past else self

    def redo(self) -> Undoable:
        """Go forward to the state that the last undo left, if there is one."""
        return Undoable(self.future[-1], (*self.past, self.now), self.future[:-1]) if self.future else self


class Session:
    """The newest state and its problem. It knows no widget.

    Attributes
    ----------
    lock
        Held by whoever changes the state: the browser's messages arrive on several threads.
    now
        State and problem; replaced as a whole, so that reading them needs no lock.
    steps
        The states that undo and redo lead to.
    """

    def __init__(self, state: State, problem: Problem) -> None:
        self.lock = threading.RLock()
        self.now: tuple[State, Problem] = (state, problem)
        self.steps = Undoable(state)

    @property
    def state(self) -> State:
        """The newest state."""
        return self.now[0]

    @property
    def problem(self) -> Problem:
        """The problem of the newest state."""
        return self.now[1]

    def adopt(self, state: State) -> None:
        """Make `state` the newest, or raise what keeps it from being a problem. An equal state stays the same object."""
        before, problem = self.now
        state = before if state == before else state
        self.now = (state, problem if state.rules == before.rules else state.problem())

    def record(self, key: str = "") -> None:
        """Make a step of the newest state; those of one key that follow each other within a second are one."""
        self.steps = self.steps.to(self.state, key, time.monotonic())

    def step(self, way: Callable[[Undoable], Undoable]) -> None:
        """Go back or forward to another step."""
        self.steps = way(self.steps)
        self.adopt(self.steps.now)

    def correct(self, state: State) -> None:
        """Replace the newest state, and the step that led to it."""
        self.adopt(state)
        self.steps = self.steps.instead(self.state)

    def renew(self) -> None:
        """Make the newest state a new object: states are compared by identity to see whether they were computed."""
        state, problem = self.now
        self.now = (replace(state), problem)


def costs_switched(before: State, now: State) -> str:
    """A sentence when another model or cluster has brought other costs."""
    same = before.costs == now.costs or (before.model is now.model and before.preset is now.preset)
    return "" if same else said_of_costs(now)


def memory_switched(before: State, now: State) -> str:
    """A sentence when a capacity has changed the memory model."""
    if before.memory == now.memory:
        return ""
    why = "a device has a capacity now" if now.memory != "none" else "no device has a capacity any more"
    return f"Memory model {now.memory}: {why}."

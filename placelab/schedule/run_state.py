"""What a scheduler that is asked at run time may look at."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from placelab.kernels.run.memory_in_use import fits
from placelab.kernels.run.simulation_blocks import Arguments
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement


class RunState:
    """The state of a run when a rule is asked for the next op: read-only.

    Attributes
    ----------
    problem, placement
        What is running, and where.
    time : float
        Now [s].
    random : numpy.random.Generator
        Seeded with the simulation's seed.
    """

    def __init__(self, problem: Problem, placement: Placement, view: Arguments, seed: int) -> None:
        self.problem, self.placement = problem, placement
        self._view, self._seed = view, seed

    @property
    def time(self) -> float:
        """Now [s]."""
        return float(self._view.clock.now[0])

    @cached_property
    def random(self) -> np.random.Generator:
        """A generator seeded with the simulation's seed."""
        return np.random.default_rng(self._seed)

    def exec_time(self, op: int) -> float:
        """Seconds that op takes on its device."""
        return float(self._view.ops.duration[op])

    def idle(self, device: int) -> bool:
        """Whether nothing runs on that device at the moment."""
        return not self._view.devices.busy[device]

    def missing_inputs(self, op: int) -> int:
        """Number of inputs (edges) of that op that have not arrived yet."""
        return int(self._view.ops.missing[op])

    def executable_since(self, op: int) -> float:
        """Time at which the last input of an executable op arrived [s]; 0 for an op without inputs."""
        graph, view = self.problem.graph, self._view
        arrival = 0.0
        for e in graph.pred_edge[graph.pred_ptr[op] : graph.pred_ptr[op + 1]]:
            x = view.copies.of_edge[e]
            came = view.results.transfer_finish[x] if x >= 0 else view.results.finish[graph.producer[e]]
            arrival = max(arrival, came)
        return float(arrival)

    def fits(self, op: int) -> bool:
        """Whether the op's device has room for it now."""
        view = self._view
        return bool(fits(op, view.ops.device[op], view.pred, view.copies.of_edge, view.memory))

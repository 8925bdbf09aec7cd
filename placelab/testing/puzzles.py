"""Twelve puzzles: problems to be scheduled by hand, whose optimum is known, and the stars that a plan earns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import inf

import numpy as np

from placelab.analysis.hand_plans import ByHand, by_hand, complete
from placelab.analysis.validation import validate
from placelab.base.errors import FormatError, InfeasibleError, expect
from placelab.graphs import datasets
from placelab.graphs.training_steps import pipeline_training
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.problem_key import problem_key
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place

__all__ = ["Puzzle", "load", "names"]

ROUNDING = 1e-9  # relative


@dataclass(frozen=True, eq=False)
class Puzzle:
    """A problem to be scheduled by hand.

    Attributes
    ----------
    name : str
    task : str
        What is to be found out, in a sentence or two.
    problem : Problem
        Ops, links and devices of whole seconds, bytes and speeds.
    optimum : float
        Makespan of the shortest schedule [s], proven by ``cp-sat``.
    """

    name: str
    task: str
    problem: Problem
    optimum: float

    @cached_property
    def heft(self) -> float:
        """Makespan of HEFT's plan [s], ops waiting where memory is short; infinite where they would wait for ever."""
        try:
            return simulate(self.problem, place(self.problem, "heft"), "planned", oom="wait").makespan
        except InfeasibleError:
            return inf

    @cached_property
    def start(self) -> ByHand:
        """A plan to begin with, legal and seldom good: devices in turn; ops as they become executable, or depth first."""
        placement = place(self.problem, "round-robin")
        runs = [simulate(self.problem, placement, rule) for rule in ("fifo", "depth-first")]
        return next((by_hand(run) for run in runs if not len(run.oom)), by_hand(runs[0]))

    def stars(self, plan: ByHand | Placement | Schedule) -> int:
        """How many stars a plan earns: one if it is legal, two if it is as short as HEFT's, three if it is optimal, else none.

        Raises
        ------
        FormatError
            The plan is of another problem.

        Examples
        --------
        >>> import placelab as pl
        >>> puzzle = load("ten tasks")
        >>> puzzle.stars(puzzle.start), puzzle.stars(pl.solve(puzzle.problem, "heft"))
        (1, 2)
        """
        schedule = schedule_of(plan)
        if schedule.problem is not self.problem and problem_key(schedule.problem) != problem_key(self.problem):
            raise FormatError(f"the plan is of another problem than the puzzle {self.name!r}; begin with its start")
        if validate(schedule):
            return 0
        limits = (inf, max(self.heft, self.optimum), self.optimum)
        return sum(schedule.makespan <= limit * (1 + ROUNDING) for limit in limits)


def schedule_of(plan: ByHand | Placement | Schedule) -> Schedule:
    """The run of a plan: what it has, or for a placement what :func:`placelab.simulate` gives."""
    expect(plan, (ByHand, Placement, Schedule), "a puzzle's plan")
    if isinstance(plan, Placement):
        return simulate(plan.problem, plan)
    return complete(plan, "a puzzle").schedule if isinstance(plan, ByHand) else plan


def names() -> list[str]:
    """Names of the puzzles, the easiest first.

    >>> len(names())
    12
    """
    return list(_PUZZLES)


def load(name: str) -> Puzzle:
    """The puzzle of this name; FormatError if there is none.

    >>> load("diamond").problem.graph.n_ops
    4
    """
    if not isinstance(name, str) or name not in _PUZZLES:
        raise FormatError(f"no puzzle is called {name!r:.60}; there are {', '.join(_PUZZLES)}")
    return _loaded(name)


@cache
def _loaded(name: str) -> Puzzle:
    task, optimum, make = _PUZZLES[name]
    return Puzzle(name, task, make(), optimum)


# -------------------------------------------------------------------- the problems


def _small(
    seconds: Mapping[str, float], edges: Mapping[str, float], speed: list[float], transfers: str = "parallel"
) -> Problem:
    """Ops of one letter each; ``"ab"`` is the edge from a to b, with its bytes; links of 1 byte/s."""
    return Problem(_graph(seconds, edges), Cluster(speed, bandwidth=1.0), transfers=transfers)


def _graph(seconds: Mapping[str, float], edges: Mapping[str, float], persistent: list[float] | None = None) -> OpGraph:
    ops = list(seconds)
    number = [(ops.index(edge[0]), ops.index(edge[1])) for edge in edges]
    kept = np.zeros(len(ops)) if persistent is None else persistent
    return OpGraph.from_arrays(ops, list(seconds.values()), number, edge_bytes=list(edges.values()), persistent=kept)


def _ops(seconds: str) -> dict[str, float]:
    """Ops a, b, c … with these seconds, a digit each."""
    return {chr(ord("a") + i): float(digit) for i, digit in enumerate(seconds)}


def _edges(edges: str) -> dict[str, float]:
    """Edges with their bytes: ``"ab3 ac4"``."""
    return {word[:2]: float(word[2:]) for word in edges.split()}


def _diamond() -> Problem:
    return _small(_ops("2311"), _edges("ab4 ac2 bd4 cd3"), [1.0, 1.0])


def _four_inputs() -> Problem:
    return _small(_ops("352122"), _edges("ae3 be2 ce4 de3 ef2"), [1.0, 1.0])


def _two_chains() -> Problem:
    return _small(_ops("443313"), _edges("ab1 bc4 de3 ef2 ae4 df1"), [1.0, 1.0])


def _seven_jobs() -> Problem:
    return _small(_ops("5544333"), {}, [1.0] * 3)


def _slow_and_fast() -> Problem:
    return _small(_ops("2525543"), _edges("ab2 ac1 bd2 ce4 df2 ef4 bg1 eg4"), [1.0, 2.0])


def _tight() -> Problem:
    graph = _graph(_ops("2313521"), _edges("ac4 bc4 bd1 ce1 de3 cf2 dg4"), [4.0, 4.0, 2.0, 2.0, 3.0, 3.0, 3.0])
    return Problem(graph, Cluster([1.0, 1.0], bandwidth=1.0, memory=[23.0, 20.0]), memory="reserved")


def _one_port() -> Problem:
    return _small(_ops("31355321"), _edges("ab3 ac4 ad4 be3 cf3 dg2 eh1 fh2 gh3"), [1.0] * 3, transfers="sequential")


def _butterfly() -> Problem:
    return _small(_ops("45223124"), _edges("ac2 ad2 bc1 bd4 ce1 cf1 de3 df4 eg1 fg4 fh3 eh1"), [1.0, 1.0])


def _ten_tasks() -> Problem:
    return datasets.problem("topcuoglu")


def _reduction() -> Problem:
    edges = "ai4 bi3 cj4 dj4 ek2 fk2 gl1 hl4 im1 jm2 kn1 ln4 mo2 no4"
    return _small(_ops("322453334454522"), _edges(edges), [1.0] * 3)


def _pipeline() -> Problem:
    cluster = Cluster([1.0] * 4, memory=[4.0, 3.0, 2.0, 1.0])
    step = pipeline_training(1.0, 2.0, microbatches=5, stages=4, activation=1.0, cluster=cluster)
    return step.replace(memory="dynamic")


def _no_bubble() -> Problem:
    return pipeline_training(1.0, 1.0, 1.0, microbatches=4, stages=3)


_PUZZLES: dict[str, tuple[str, float, Callable[[], Problem]]] = {
    "diamond": ("Four ops, two devices: is the second device worth its transfers?", 7.0, _diamond),
    "four inputs": (
        "An op reads four others. Which of them share its device, and which are awaited?",
        11.0,
        _four_inputs,
    ),
    "two chains": ("Two chains read each other. Where do you cut?", 12.0, _two_chains),
    "seven jobs": ("Seven ops without edges on three devices. The longest first is not the best.", 9.0, _seven_jobs),
    "slow and fast": ("One device is twice as fast. What is left for the other one?", 11.5, _slow_and_fast),
    "tight": ("Each op keeps bytes on its device, and both devices are nearly full.", 13.0, _tight),
    "one port": ("Three devices, each of which sends or receives one tensor at a time.", 16.0, _one_port),
    "butterfly": ("Two ops, two that read both, and so on twice more.", 17.0, _butterfly),
    "ten tasks": ("The ten tasks with which HEFT was published, on its three devices.", 73.0, _ten_tasks),
    "reduction": ("Eight leaves, and sums of two until one is left, on three devices.", 20.0, _reduction),
    "pipeline": (
        "Five micro-batches through four stages, forward and back. A stage has room for few activations: it cannot run all "
        "forward ops first.",
        24.0,
        _pipeline,
    ),
    "no bubble": (
        "Gradients of weights (W) need no other stage, so they can fill the time in which a stage would be idle.",
        14.0,
        _no_bubble,
    ),
}

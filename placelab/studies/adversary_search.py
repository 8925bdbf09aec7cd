"""Search for a problem on which one strategy loses to another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.analysis.lower_bounds import bounds
from placelab.analysis.measures import ordering_efficiency
from placelab.errors import FormatError, InfeasibleError, UnsupportedError, expect
from placelab.interrupts import need
from placelab.placing import solve
from placelab.problem.problem import Problem
from placelab.progress import Progress, Report, never, silent
from placelab.schedule.schedule import Schedule
from placelab.strategies import Partitioner, Scheduler, find, partitioners, schedulers
from placelab.studies.instances import EQUAL, LEAST, Instance, SmallInstance, Variation

if TYPE_CHECKING:
    import pandas as pd

HOT, COLD = 10.0, 0.1  # temperature at the first and after the last step
PUBLISHED_COOLING = 0.99  # of the temperature by each step: 459 steps from HOT to COLD
OBJECTIVES = ("makespan", "gap", "efficiency")
RULES = ("metropolis", "published")
COLUMNS = ("restart", "step", "temperature", "value", "taken", "best")

Pair = tuple[Partitioner, Scheduler | None]
Strategy = str | Partitioner | tuple[str | Partitioner, str | Scheduler | None]


@dataclass(frozen=True, eq=False)
class Adversary:
    """A problem on which a strategy does badly; :func:`adversarial` makes it.

    ``placelab.explore(found.problem, partitioner="cpop", compare_with=found.b)`` shows one schedule before the other.

    Attributes
    ----------
    problem : Problem
        The instance. Where the search began with small ones, ``problem.graph.save("name.json")`` is a dataset, cluster
        included.
    a, b : Schedule
        What the two strategies make of it.
    value : float
        What the search maximised, for this problem.
    path : DataFrame
        One row per step: ``restart``, ``step``, ``temperature``, the ``value`` tried (NaN where a strategy gave no result),
        whether it was ``taken``, and the ``best`` so far.
    """

    problem: Problem
    a: Schedule
    b: Schedule
    value: float
    path: pd.DataFrame


def adversarial(
    a: Strategy,
    b: Strategy,
    *,
    around: Problem | None = None,
    factor: float = 2.0,
    least: float = LEAST,
    equal: str | Iterable[str] = (),
    objective: str = "makespan",
    restarts: int = 10,
    steps: int = 1000,
    rule: str = "metropolis",
    seed: int = 0,
    progress: Report | None = None,
    cancel: Callable[[], bool] | None = None,
) -> Adversary:
    r"""Search for a problem on which strategy `a` loses to strategy `b`, by simulated annealing over problems.

    Parameters
    ----------
    a, b
        A partitioner, or a pair (partitioner, scheduler); with a partitioner alone the default scheduler runs its placement.
    around
        A problem to begin with, whose structure is kept: only costs, bytes, speeds and bandwidths move, each within `factor`.
        Default: chains of 3 to 5 ops on 3 to 5 devices with weights from 0.1 to 1, whose edges come and go, too.
    least
        Below which no move takes a weight of these small problems. The public program had 1e-9 at first and has 0.1 now; with
        devices and links of almost no speed ratios have no end.
    equal
        ``"devices"``, ``"links"`` or both: those of the small problems are all 1, and none changes; with `around` they stay as
        they are. For strategies that are made for equal ones.
    objective
        What is maximised: ``"makespan"``, that of `a` over that of `b`; ``"gap"``, that of `a` over the best lower bound;
        ``"efficiency"``, :math:`2 - E` of `a` (:func:`placelab.metrics`). `b` has no part in the last two.
    restarts, steps
        Number of searches, each from another beginning (with `around`: from the same one), and of steps of each.
    rule
        ``"metropolis"``: a better problem is always taken, a worse one of ratio :math:`r = new / old` with probability
        :math:`\exp(-(1 - r) / T)`; T falls from 10 to 0.1 over the steps. ``"published"``: as the published program does,
        :math:`\exp(-r / T)`, which favours worse problems, and T falls by ×0.99 a step, so that 459 steps are made at most.
    seed
        Of all random choices, and of the strategies.
    progress
        Called now and then with a :class:`placelab.progress.Progress`; its text has the best value so far.
    cancel
        Called after each step; when it returns True, the best problem so far is returned.

    Returns
    -------
    Adversary
        The problem, both schedules, the value, and the path that led there. The first of equal problems wins. The same for
        the same seed.

    Raises
    ------
    InfeasibleError, UnsupportedError
        One of the strategies gives no result for any beginning.
    FormatError
        An option has no such value.

    Notes
    -----
    Each step places and simulates twice: 2 · restarts · steps runs at most.

    References
    ----------
    Coleman, Krishnamachari (2024), PISA: an adversarial approach to comparing task graph scheduling algorithms,
    arXiv 2403.07120.

    Examples
    --------
    >>> found = adversarial("single", "heft", restarts=1, steps=60, seed=3)
    >>> found.value == found.a.makespan / found.b.makespan > 1
    True
    """
    need("pandas")
    import pandas as pd

    same = frozenset([equal] if isinstance(equal, str) else equal)
    _check(around, factor, least, same, objective, rule, restarts, steps)
    trial = _Trial(_pair(a), _pair(b), objective, seed)
    random, report, stopped = np.random.default_rng(seed), progress or silent, cancel or never
    rows: list[tuple] = []
    best: tuple[float, Instance] | None = None
    for restart in range(restarts):
        begin = SmallInstance.start(random, least, same) if around is None else Variation.of(around, factor, same)
        for row, found in _annealed(trial, begin, random, steps, rule):
            if best is None or found[0] > best[0]:
                best = found
            rows.append((restart, *row, best[0]))
            report(Progress(f"{best[0]:.3g} ×", (restart + row[0] / steps) / restarts))
            if stopped():
                break
        if stopped():
            break
    assert best is not None
    value, found_at = best
    problem = found_at.problem()
    one, two = trial.schedules(problem)
    return Adversary(problem, one, two, value, pd.DataFrame(rows, columns=list(COLUMNS)))


@dataclass(frozen=True)
class _Trial:
    """Two strategies, and how what they make of a problem is valued."""

    a: Pair
    b: Pair
    objective: str
    seed: int

    def schedules(self, problem: Problem) -> tuple[Schedule, Schedule]:
        one, two = (solve(problem, *pair, seed=self.seed) for pair in (self.a, self.b))
        return one, two

    def value(self, problem: Problem) -> float:
        """The objective; raises what the strategies raise, NaN is no value."""
        one = solve(problem, *self.a, seed=self.seed)
        if self.objective == "efficiency":
            return 2.0 - ordering_efficiency(one)
        other = solve(problem, *self.b, seed=self.seed).makespan if self.objective == "makespan" else _bound(problem)
        return one.makespan / other if other > 0 else np.nan


def _bound(problem: Problem) -> float:
    return max(value for value in bounds(problem).values() if np.isfinite(value))


def _annealed(
    trial: _Trial, begin: Instance, random: np.random.Generator, steps: int, rule: str
) -> Iterator[tuple[tuple, tuple[float, Instance]]]:
    """Yield per step (step, temperature, value, taken), and the value and instance that are present then."""
    now, value = begin, trial.value(begin.problem())
    yield (0, HOT, value, True), (value, now)
    cooling = PUBLISHED_COOLING if rule == "published" else (COLD / HOT) ** (1 / steps)
    temperature = HOT
    for step in range(1, steps + 1):
        if rule == "published" and temperature < COLD:
            return
        tried = now.moved(random)
        try:
            found = trial.value(tried.problem())
        except (InfeasibleError, UnsupportedError):
            found = np.nan
        taken = _taken(found, value, temperature, rule, random.random())
        if taken:
            now, value = tried, found
        yield (step, temperature, found, taken), (value, now)
        temperature *= cooling


def _taken(new: float, old: float, temperature: float, rule: str, chance: float) -> bool:
    if not np.isfinite(new):
        return False
    ratio = new / old
    worse = ratio if rule == "published" else 1 - ratio
    return bool(ratio >= 1 or chance < np.exp(-worse / temperature))


def _pair(given: Strategy) -> Pair:
    partitioner, scheduler = given if isinstance(given, tuple) else (given, None)
    found = find(partitioners(), partitioner, "partitioner")
    return found, None if scheduler is None else find(schedulers(), scheduler, "scheduler")


def _check(
    around: Any, factor: float, least: float, equal: frozenset, objective: str, rule: str, restarts: int, steps: int
) -> None:
    if around is not None:
        expect(around, Problem, "adversarial")
    named = [("objective", objective, OBJECTIVES), ("rule", rule, RULES), *(("equal", one, EQUAL) for one in equal)]
    for label, value, known in named:
        if value not in known:
            raise FormatError(f"{label} is {value!r:.60}; expected {' or '.join(map(repr, known))}")
    if not factor > 1 or not np.isfinite(factor):
        raise FormatError(f"factor is {factor!r:.60}; expected a number above 1")
    if not 0 < least <= LEAST:
        raise FormatError(f"least is {least!r:.60}; expected a number above 0, at most {LEAST}")
    if min(restarts, steps) < 1:
        raise FormatError(f"restarts is {restarts!r:.20} and steps is {steps!r:.20}; expected 1 or more")

"""Contests: a strategy against a baseline, on problems that its author has not seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.analysis.validation import validate
from placelab.base.errors import count, described
from placelab.base.interrupts import need
from placelab.base.seeds import generator
from placelab.graphs import generators
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import find, partitioners
from placelab.schedule.placement import Placement
from placelab.simulation.event_simulation import simulate
from placelab.testing.answers import SECONDS, answer, fail, title
from placelab.testing.example_problems import size
from placelab.testing.problem_as_code import as_code

if TYPE_CHECKING:
    import pandas as pd

BESIDE = ("heft", "cpop", "etf", "critical-path")


def contest_problems(seed: int, n: int = 6) -> list[Problem]:
    """`n` problems drawn from a seed: graphs of four families, 15 to 48 ops, on three or four devices of unequal speed."""
    rng = generator(seed)
    families: tuple[Callable, ...] = (
        lambda **costs: generators.layered(int(rng.integers(30, 49)), **costs),
        lambda **costs: generators.fft(8, **costs),
        lambda **costs: generators.series_parallel(int(rng.integers(15, 41)), **costs),
        lambda **costs: generators.gaussian_elimination(int(rng.integers(5, 9)), **costs),
    )
    found = []
    for i in range(count(n, "n")):
        draw = int(rng.integers(2**31))
        graph = families[i % len(families)](seed=draw, ccr=float(rng.choice([0.5, 1.0, 3.0])))
        devices = int(rng.integers(3, 5))
        speed = generators.SPEED * rng.uniform(0.5, 2.0, devices)
        found.append(Problem(graph, Cluster(speed, bandwidth=generators.BANDWIDTH, latency=0.0)))
    return found


def check_strategy(
    f: str | Callable,
    problems: Iterable[Problem] | int,
    baseline: str = "heft",
    *,
    beside: Iterable[str] = BESIDE,
    seconds: float = SECONDS,
) -> pd.DataFrame:
    """Check that a partitioner takes less time than a baseline on average, and rank it among others.

    Parameters
    ----------
    f
        Partitioner: a name, a decorated function, or a plain one ``f(problem)``.
    problems
        Problems, or the seed of :func:`contest_problems`.
    baseline
        Partitioner to beat.
    beside
        Further partitioners of the table.
    seconds
        Limit of each call.

    Returns
    -------
    DataFrame
        The leaderboard, best first: a row per partitioner; per problem, its makespan divided by the baseline's; ``mean``, their
        geometric mean. Placements with a plan run as planned, others under ``pct``.

    Raises
    ------
    AssertionError
        A placement that breaks a rule, or a mean of 1 or more; the smallest problem on which `f` takes longer is shown.

    Examples
    --------
    >>> check_strategy("heft", contest_problems(1, 2), "round-robin", beside=()).index.tolist()
    ['heft', 'round-robin']
    """
    need("pandas")
    import pandas as pd

    several = contest_problems(problems) if isinstance(problems, int) else list(problems)
    name = f if isinstance(f, str) else title(f)
    own = np.array([_makespan(f, problem, seconds) for problem in several])
    rivals = dict.fromkeys((baseline, *beside))
    times = {rival: np.array([_makespan(rival, problem, None) for problem in several]) for rival in rivals}
    times[name] = own
    ratio = {rival: time / times[baseline] for rival, time in times.items()}
    mean = float(np.exp(np.log(ratio[name]).mean()))
    if mean >= 1:
        worse = [problem for problem, share in zip(several, ratio[name], strict=True) if share >= 1]
        fail(
            f"{name} takes {mean:.3f} times as long as {baseline} on average; it must take less",
            as_code(min(worse, key=size)),
        )
    table = pd.DataFrame.from_dict(ratio, orient="index", columns=_titles(several))
    table["mean"] = np.exp(np.log(table).mean(axis=1))
    return table.sort_values("mean", kind="stable").round(3)


def _makespan(f: str | Callable, problem: Problem, seconds: float | None) -> float:
    partitioner: Any = find(partitioners(), f, "partitioner") if isinstance(f, str) else f
    placement = answer(partitioner, problem, seconds=seconds)
    if not isinstance(placement, Placement) or placement.problem is not problem:
        fail(f"{title(f)} gives no placement of the problem but {described(placement)}")
    schedule = simulate(problem, placement)
    for violation in validate(schedule)[:1]:
        fail(f"{title(f)} breaks the rule {violation.kind!r}: {violation.detail}", as_code(problem))
    return schedule.makespan


def _titles(problems: list[Problem]) -> list[str]:
    return [f"{i + 1}: {problem.graph.title}" for i, problem in enumerate(problems)]

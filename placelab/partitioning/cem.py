"""Cross-entropy method: draw placements from a distribution, and move it towards the best of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from placelab.analysis.sampled_search import SampledSearch, Samples, Start, draw
from placelab.preparing.together import tied_by
from placelab.problem.problem import Problem
from placelab.progress import Report, never, silent
from placelab.schedule.placement import Placement
from placelab.strategies import Limits, partitioner

STUCK = 10
AGAIN = 8
CERTAIN = 0.99  # probability of a unit's device in the placement that the search starts from


@partitioner(source="Rubinstein 1999; for placement: Gao, Chen, Li 2018 (Post)", slow=True)
def cem(
    problem: Problem,
    *,
    start: Start = "m-etf",
    units: str = "",
    samples: Samples = 10_000,
    batch: Annotated[int, Limits(1)] = 100,
    elites: Annotated[int, Limits(1)] = 10,
    rate: Annotated[float, Limits(0, 1)] = 0.7,
    noise: Annotated[float, Limits(0, 1)] = 0.01,
    seed: int = 0,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> Placement:
    r"""A distribution over devices per unit (an op, or a colocation group), which learns from the best of its samples.
    """
    search = SampledSearch(tied_by(problem, units), start, samples, seed, progress, cancel)
    chance = search.first_chances(CERTAIN)
    floor = search.allowed / search.allowed.sum(axis=1, keepdims=True)
    while search.goes_on:
        places = draw((1 - noise) * chance + noise * floor, min(batch, samples - search.done), search.random)
        best = places[np.argsort(search.costs(places), kind="stable")[:elites]]
        share = np.stack([(best == d).mean(axis=0) for d in range(problem.cluster.n_devices)], axis=1)
        chance = (1 - rate) * chance + rate * share
        if search.stuck >= STUCK:
            search.stuck = 0
            few = min(1.0, AGAIN / search.units.n)
            chance = (1 - few) * chance + few * floor
    return search.placement(problem)

"""Cross-entropy method: draw placements from a distribution, and move it towards the best of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import numpy as np

from placelab.base.progress import Report, never, silent
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, partitioner
from placelab.schedule.placement import Placement
from placelab.strategies.searches.sampled_search import SampledSearch, Samples, Start, draw, tied_by

STUCK = 3  # rounds without a better sample after which some units are drawn evenly again


@partitioner(source="Rubinstein 1999; for placement: Gao, Chen, Li 2018 (Post)", slow=True, packages=("pandas",))
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
    r"""A probability of each device for each unit (an op, or a colocation group), moved towards the best of its samples.

    .. math:: x^{(1)}, \ldots, x^{(N)} \sim (1 - ε) P + ε / K, \qquad
              P_{ud} \leftarrow (1 - α) P_{ud} + \frac{α}{M} \, |\{x \in elites: x_u = d\}|

    The elites are the M of N samples of least makespan; K is the number of devices that u may run on.

    Parameters
    ----------
    start
        At first each unit is on its device in this partitioner's placement with probability 0.99; with ``"uniform"`` all its
        devices are equally likely.
    units
        Transforms such as ``"forward-only coplace fuse"``: what they place as one is one unit. All ops run in each sample,
        where ``prepare=`` would look at the smaller problem alone. Fewer units learn faster.
    samples
        Placements that are simulated; small problems get fewer, :math:`100 \cdot units \cdot devices`.
    batch, elites, rate, noise
        N, M, α and ε.

    Returns
    -------
    Placement
        The best sample with the order in which it ran, or the start's plan if that takes less time. ``table``, the learning
        curve: a row per round with ``samples`` so far, the makespan of the ``best`` one, the ``mean`` of the round [s], and
        ``placement_time`` = samples · best, as papers report it that run each sample on the machine.

    Raises
    ------
    InfeasibleError
        The start finds no room, or from ``"uniform"`` no sample fits.

    Notes
    -----
    Samples run as the simulator runs them, by falling upward rank, on all cores (:func:`placelab.makespans`); Sends go before
    other ops, as ``planned`` has them. After three rounds without a better one, eight units on average are drawn evenly again,
    with few units all of them (Botev, Kroese 2004, "variance injection"). A sample whose lasting bytes do not fit costs twice
    its makespan or more, and is never the result. Where memory over time can run out, the best of each round are simulated; one
    out of memory replaces none that is within it.
    Ties: the sample drawn first. The search ends early at a lower bound. O(samples · (ops + edges) log ops).

    Measured on Inception-V3 and four GPUs on PCIe (benchmarks/README.md): from ``m-etf`` and with ``units="forward-only coplace
    fuse"`` it finds 145 ms, where ``m-etf`` has 157 ms and one GPU 166 ms. Started from uniform it stays above one GPU: 175 ms
    with these units, 367 ms with one per op. On 500 random problems of up to 8 units it finds the optimum of its order on 498.

    References
    ----------
    Rubinstein (1999), "The cross-entropy method for combinatorial and continuous optimization"; Botev, Kroese (2004), "Global
    likelihood optimization via the cross-entropy method"; Gao, Chen, Li (2018), "Post: device placement with cross-entropy
    minimization and proximal policy optimization".

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(4), pl.Cluster.uniform(2))
    >>> placed = pl.place(problem, "cem", samples=500)
    >>> bool(placed.estimate <= pl.place(problem, "m-etf").estimate)
    True
    """
    search = SampledSearch(tied_by(problem, units), start, samples, seed, progress, cancel)
    chance = search.chances
    while search.goes_on:
        places = draw((1 - noise) * chance + noise * search.even, min(batch, search.left), search.random)
        best = places[np.argsort(search.costs(places), kind="stable")[:elites]]
        share = np.stack([(best == d).mean(axis=0) for d in range(problem.cluster.n_devices)], axis=1)
        chance = (1 - rate) * chance + rate * share
        if again := search.again(STUCK):
            chance = (1 - again) * chance + again * search.even
    return search.placement(problem)

"""Perturb costs by random factors, as errors of a profile do."""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

import numpy as np

from placelab.base.errors import expect, formerly
from placelab.base.seeds import generator
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, checked
from placelab.strategies.preparing.contraction import on_graph

Either = TypeVar("Either", OpGraph, Problem)


@formerly("factor", "seed", "distribution")
@checked
def perturb(
    graph: Either,
    *,
    factor: Annotated[float, Limits(0, 1)] = 0.2,
    seed: int = 0,
    distribution: Literal["uniform", "extremes"] = "uniform",
) -> Either:
    """Multiply every op's cost and every tensor's bytes by a random factor.

    Parameters
    ----------
    graph
        An OpGraph or a Problem.
    factor
        f, 0 to 1: costs are multiplied by factors between 1 - f and 1 + f.
    seed
        Seed of the factors; the same seed draws the same ones.
    distribution
        ``"uniform"``: factors from U(1 - f, 1 + f). ``"extremes"``: 1 - f or 1 + f, each half of the time.

    Returns
    -------
    OpGraph or Problem
        Of the same class as `graph`. One factor per op, for its compute and all its measured times, in topological order;
        then one per tensor for its bytes. Persistent, temporary and reserved bytes stay; groups, constraints and pins too.
        To run a placement of the perturbed problem with the true costs:
        ``Placement(problem, placement.device, placement.planned)``.

    References
    ----------
    Baechi (2020) §5.5, Fig. 8: errors of up to 20 % hardly change step times.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = pl.generators.fork_join(3)
    >>> wrong = perturb(graph, factor=0.5, seed=1, distribution="extremes")
    >>> sorted({round(float(x), 3) for x in wrong.compute / graph.compute})
    [0.5, 1.5]
    """
    if isinstance(graph, Problem):
        return on_graph(graph, perturb(graph.graph, factor=factor, seed=seed, distribution=distribution))
    expect(graph, (OpGraph, Problem), "perturb")
    drawn = 2 * generator(seed).random(graph.n_ops + graph.n_tensors) - 1
    off = 1 + factor * (drawn if distribution == "uniform" else np.where(drawn < 0, -1.0, 1.0))
    op, tensor = off[: graph.n_ops], off[graph.n_ops :]
    return graph.replace(
        compute=graph.compute * op,
        tensor_bytes=graph.tensor_bytes * tensor,
        time=None if graph.time is None else graph.time * op[:, None],
    )

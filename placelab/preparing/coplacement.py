"""Co-placement: tie ops that should share a device, as groups that join the colocation groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from placelab.planning.capacity import needs
from placelab.preparing.chain import Expand
from placelab.preparing.contraction import expanded_trace, same_ops
from placelab.preparing.gradients import forward_ops
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.memory import TOLERANCE
from placelab.schedule.placement import Placement
from placelab.strategies import transform


@transform(source="Baechi (2020) §3.2")
def coplace(problem: Problem, *, chains: bool = True, gradients: bool = True) -> tuple[Problem, Expand]:
    """Tie an op to the only op that uses its output, and each gradient op to its forward op.

    Parameters
    ----------
    chains
        Tie op u to v when v is the only op that reads tensors of u.
    gradients
        Tie gradient ops to their forward ops, which are known by name (``gradients/<op>_grad/…``).

    Returns
    -------
    small, expand
        The problem of the same ops with more colocation groups, which :func:`fuse` can then merge.

    Notes
    -----
    Ties join colocation groups, transitively. A joined group that fits on no device, or whose members have none in common, falls
    back to its colocation groups (Baechi §5.4 turns co-placement off altogether then): persistent (``reserved``: all)
    bytes of its ops and the highest temporary and output bytes of one against the capacities. Control edges carry no output: if
    they counted, the op that only waits for all initialisers would tie all variables together. An estimate stays
    what it was, since the ops did; a bound is one for placements that keep the ties, and is dropped. O(n_ops + n_edges).
    """
    ties = [*_chains(problem.graph)] if chains else []
    if gradients:
        forward = forward_ops(problem.graph)
        paired = np.flatnonzero(forward >= 0)
        ties.append(np.stack([paired, forward[paired]], axis=1))
    return tied(problem, np.concatenate([np.empty((0, 2), dtype=np.int64), *ties]), "coplace")


def tied(problem: Problem, ties: np.ndarray, what: str) -> tuple[Problem, Expand]:
    """The problem with pairs of ops tied together, as far as the groups that result fit somewhere; shape (n_ties, 2)."""
    joined = components(problem, ties)
    fits = _fits(problem, joined)
    kept = ties[fits[joined[ties[:, 0]]]]
    together = components(problem, kept)
    members = np.argsort(together, kind="stable")
    groups = np.split(problem.graph.names[members], np.cumsum(np.bincount(together))[:-1])
    new = np.zeros(len(groups), dtype=bool)
    new[together[kept[:, 0]]] = True
    if not len(ties):
        return problem, same_ops(problem)
    small = problem.replace(groups=[groups[i].tolist() for i in np.flatnonzero(new)])
    refused = len(np.unique(joined[ties[:, 0]])) - len(np.unique(joined[kept[:, 0]]))
    note = f"{what}: groups placed together: {new.sum():,}" + (
        f"; left apart, fitting nowhere: {refused}" if refused else ""
    )

    def expand(placement: Placement) -> Placement:
        same_ops(small)(placement)
        trace = placement.trace and expanded_trace(placement.trace, problem, small, np.arange(problem.graph.n_ops))
        return replace(placement, problem=problem, bound=None, trace=trace, notes=(note, *placement.notes))

    return small, expand


def _chains(graph: OpGraph) -> list[np.ndarray]:
    """(u, v) for each op u whose tensors are read by v alone."""
    data = ~graph.tensor_control[graph.edge_tensor]
    pairs = np.unique(graph.edges[data], axis=0)
    readers = np.bincount(pairs[:, 0], minlength=graph.n_ops)
    return [pairs[readers[pairs[:, 0]] == 1]]


def components(problem: Problem, ties: np.ndarray) -> np.ndarray:
    """Connected component of each op under ties and colocation groups, shape (n_ops,)."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, grouped = problem.graph.n_ops, problem.group_ops
    first = grouped[problem.group_ptr[:-1]][problem.group[grouped]] if len(grouped) else grouped
    source, destination = np.concatenate([ties[:, 0], grouped]), np.concatenate([ties[:, 1], first])
    matrix = coo_array((np.ones(len(source), dtype=np.int32), (source, destination)), shape=(n, n))
    return connected_components(matrix, directed=False)[1]


def _fits(problem: Problem, of: np.ndarray) -> np.ndarray:
    """Whether all ops of each component may run on a common device that has room for them; shape (n_components,)."""
    held, peak = needs(problem, of)
    order = np.argsort(of, kind="stable")
    start = np.concatenate([[0], np.cumsum(np.bincount(of))[:-1]])
    needed = np.add.reduceat(held[order], start) + np.maximum.reduceat(peak[order], start)
    limit = problem.capacity * (1 + TOLERANCE)
    fits = needed[:, None] <= np.broadcast_to(limit, problem.cluster.n_devices)
    if problem.restricted:
        fits = fits & np.logical_and.reduceat(problem.may_run[order], start)
    return np.any(fits, axis=1)

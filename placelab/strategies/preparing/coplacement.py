"""Co-placement: tie ops that should share a device, as groups that join the colocation groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from placelab.base.interrupts import need
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import transform
from placelab.schedule.placement import Placement
from placelab.strategies.preparing.chain import Expand
from placelab.strategies.preparing.contraction import expanded_trace, same_ops
from placelab.strategies.preparing.gradients import gradient_ties
from placelab.strategies.preparing.group_memory import fitting, kept_ties


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
        The problem of the same ops with more colocation groups, which :func:`~placelab.transforms.fuse` can then merge.

    Notes
    -----
    Ties join colocation groups, transitively. Where a joined group fits on no device, or its members have none in common, its
    ties are taken one by one, gradients before chains, by op number, and those left out that would make a group too large; a
    note says so (Baechi §5.4 turns co-placement off altogether then). What a group needs: persistent (``reserved``: all) bytes of
    its ops and, under ``dynamic``, the most that its temporary bytes and outputs take while the ops of the graph run one after
    the other. Several groups that each fit on a device may still not fit on the devices together. Control edges carry no output:
    if they counted, the op that only waits for all initialisers would tie all variables together. An estimate stays
    what it was, since the ops did; a bound is one for placements that keep the ties, and is dropped.
    O((n_ops + n_edges) log n_ops) where all groups fit.
    """
    ties = [np.empty((0, 2), dtype=np.int64)]
    ties += [gradient_ties(problem.graph)] if gradients else []
    ties += [_chains(problem.graph)] if chains else []
    return tied(problem, np.concatenate(ties), "coplace")


def tied(problem: Problem, ties: np.ndarray, what: str) -> tuple[Problem, Expand]:
    """The problem with pairs of ops tied together, as far as the groups that result fit somewhere; shape (n_ties, 2)."""
    if not len(ties):
        return problem, same_ops(problem)
    joined = components(problem, ties)
    large = ~fitting(problem, joined)
    kept = ties[~large[joined[ties[:, 0]]]]
    if large.any():
        few = ties[large[joined[ties[:, 0]]]]
        kept = np.concatenate([kept, few[kept_ties(problem, few, components(problem, ties[:0]))]])
    together = components(problem, kept)
    members = np.argsort(together, kind="stable")
    groups = np.split(problem.graph.names[members], np.cumsum(np.bincount(together))[:-1])
    new = np.zeros(len(groups), dtype=bool)
    new[together[kept[:, 0]]] = True
    small = problem.replace(groups=[groups[i].tolist() for i in np.flatnonzero(new)])
    note = f"{what}: groups placed together: {new.sum():,}{_refused(joined[ties[:, 0]], large, joined[kept[:, 0]])}"

    def expand(placement: Placement) -> Placement:
        same_ops(small)(placement)
        trace = placement.trace and expanded_trace(placement.trace, problem, small, np.arange(problem.graph.n_ops))
        return replace(placement, problem=problem, bound=None, trace=trace, notes=(note, *placement.notes))

    return small, expand


def _chains(graph: OpGraph) -> np.ndarray:
    """(u, v) for each op u whose tensors are read by v alone."""
    data = ~graph.tensor_control[graph.edge_tensor]
    pairs = np.unique(graph.edges[data], axis=0)
    readers = np.bincount(pairs[:, 0], minlength=graph.n_ops)
    return pairs[readers[pairs[:, 0]] == 1]


def components(problem: Problem, ties: np.ndarray) -> np.ndarray:
    """Connected component of each op under ties and colocation groups, shape (n_ops,)."""
    need("scipy.sparse.csgraph")
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n, grouped = problem.graph.n_ops, problem.group_ops
    first = grouped[problem.group_ptr[:-1]][problem.group[grouped]] if len(grouped) else grouped
    source, destination = np.concatenate([ties[:, 0], grouped]), np.concatenate([ties[:, 1], first])
    matrix = coo_array((np.ones(len(source), dtype=np.int32), (source, destination)), shape=(n, n))
    return connected_components(matrix, directed=False)[1]


def _refused(tied: np.ndarray, large: np.ndarray, kept: np.ndarray) -> str:
    """What to say of groups that fit nowhere whole: joined group of each tie, whether it does, group of each tie kept."""
    whole = np.unique(tied[large[tied]])
    split = int(np.isin(whole, kept).sum())
    says = [("left apart, fitting nowhere", len(whole) - split), ("split, fitting nowhere whole", split)]
    return "".join(f"; {what}: {n}" for what, n in says if n)

"""Co-placement: tie ops that should share a device, as groups that join the colocation groups as far as a device has room."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from placelab.base.interrupts import need
from placelab.planning.capacity import needs
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import transform
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TOLERANCE
from placelab.strategies.preparing.chain import Expand
from placelab.strategies.preparing.contraction import allowed_for_all, expanded_trace, root_of, same_ops
from placelab.strategies.preparing.gradients import gradient_ties

PIECES = 256  # of the topological order, in each of which a tensor counts whole while groups are joined tie by tie


@transform(source="Baechi (2020) §3.2", packages=("scipy",))
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

    n = problem.graph.n_ops
    grouped = problem.group_ops
    first = grouped[problem.group_ptr[:-1]][problem.group[grouped]] if len(grouped) else grouped
    source = np.concatenate([ties[:, 0], grouped])
    destination = np.concatenate([ties[:, 1], first])
    matrix = coo_array((np.ones(len(source), dtype=np.int32), (source, destination)), shape=(n, n))
    return connected_components(matrix, directed=False)[1]


def _refused(tied: np.ndarray, large: np.ndarray, kept: np.ndarray) -> str:
    """What to say of groups that fit nowhere whole: joined group of each tie, whether it does, group of each tie kept."""
    whole = np.unique(tied[large[tied]])
    split = int(np.isin(whole, kept).sum())
    says = [("left apart, fitting nowhere", len(whole) - split), ("split, fitting nowhere whole", split)]
    return "".join(f"; {what}: {n}" for what, n in says if n)


def fitting(problem: Problem, of: np.ndarray) -> np.ndarray:
    """Whether some device that all ops of a group may use has room for them; shape (n_groups,).

    Parameters
    ----------
    of
        Group of each op, numbered from 0 without gaps, shape (n_ops,).

    Notes
    -----
    A group needs what its ops hold all the time, and under ``dynamic`` the most that its tensors and temporary bytes take while
    all ops of the graph run one after the other in topological order. O((n_ops + n_edges) log n_ops).
    """
    n = int(of.max()) + 1
    needed = np.bincount(of, needs(problem, of)[0], minlength=n)
    if problem.memory_model.working:
        needed = needed + _peaks(problem.graph, of, n)
    may = allowed_for_all(problem.may_run, of) if problem.restricted else np.ones((n, 1), dtype=bool)
    return np.any((needed[:, None] <= problem.capacity * (1 + TOLERANCE)) & may, axis=1)


def kept_ties(problem: Problem, ties: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Which ties join two units, or groups joined before, that together have room on one device; shape (n_ties,).

    Parameters
    ----------
    ties
        Pairs of ops, shape (n_ties, 2); an earlier one goes first.
    units
        Colocation group, or number alone, of each op; numbered from 0 without gaps, shape (n_ops,).

    Notes
    -----
    As :func:`fitting`, but in each of 256 pieces of the topological order all tensors count that are held in some part of it,
    which is never less. O(n_ties · (256 + n_devices)).
    """
    held = _curves(problem, units)
    limit = problem.capacity * (1 + TOLERANCE)
    may = allowed_for_all(problem.may_run, units) if problem.restricted else None
    root = list(range(len(held)))
    kept = np.zeros(len(ties), dtype=bool)
    for i, (a, b) in enumerate(units[ties].tolist()):
        a = root_of(root, a)
        b = root_of(root, b)
        if a == b:
            continue
        both = held[a] + held[b]
        fits = both.max() <= limit
        common = fits if may is None else may[a] & may[b]
        if (fits & common).any():
            root[b] = a
            held[a] = both
            kept[i] = True
            if may is not None:
                may[a] = common
    return kept


def _spans(graph: OpGraph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(op, last op, bytes) of tensors, held until their last reader ends, and of temporary bytes."""
    last = graph.tensor_producer.copy()
    np.maximum.at(last, graph.edge_tensor, graph.consumer)
    own = np.flatnonzero(graph.temporary)
    return (
        np.concatenate([graph.tensor_producer, own]),
        np.concatenate([last, own]),
        np.concatenate([graph.tensor_bytes, graph.temporary[own]]),
    )


def _peaks(graph: OpGraph, of: np.ndarray, n: int) -> np.ndarray:
    """The most bytes that the spans of each group take at once, shape (n,)."""
    first, last, size = _spans(graph)
    group = np.concatenate([of[first]] * 2)
    time = np.concatenate([first, last + 1])
    change = np.concatenate([size, -size])
    order = np.lexsort((change, time, group))  # what ends goes before what begins
    group = group[order]
    total = np.cumsum(change[order])  # of each group 0 at its end
    peak = np.zeros(n)
    np.maximum.at(peak, group, total)
    return peak


def _curves(problem: Problem, units: np.ndarray) -> np.ndarray:
    """Bytes of each unit in each piece of the topological order, shape (n_units, pieces)."""
    graph = problem.graph
    n = int(units.max()) + 1
    lasting = np.bincount(units, needs(problem, units)[0], minlength=n)
    if not problem.memory_model.working:
        return lasting[:, None]
    pieces = min(PIECES, graph.n_ops)
    piece = np.arange(graph.n_ops) * pieces // graph.n_ops
    first, last, size = _spans(graph)
    change = np.zeros((n, pieces + 1))
    np.add.at(change, (units[first], piece[first]), size)
    np.add.at(change, (units[first], piece[last] + 1), -size)
    return lasting[:, None] + np.cumsum(change[:, :-1], axis=1)

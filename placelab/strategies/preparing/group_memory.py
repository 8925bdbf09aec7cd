"""Memory of groups of ops on a device of their own, and ties that join them only as far as a device has room."""

from __future__ import annotations

import numpy as np

from placelab.planning.capacity import needs
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.schedule import TOLERANCE
from placelab.strategies.preparing.contraction import allowed_for_all
from placelab.strategies.preparing.merging import root_of

PIECES = 256  # of the topological order, in each of which a tensor counts whole while groups are joined tie by tie


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
    held, limit = _curves(problem, units), problem.capacity * (1 + TOLERANCE)
    may = allowed_for_all(problem.may_run, units) if problem.restricted else None
    root, kept = list(range(len(held))), np.zeros(len(ties), dtype=bool)
    for i, (a, b) in enumerate(units[ties].tolist()):
        a, b = root_of(root, a), root_of(root, b)
        if a == b:
            continue
        both = held[a] + held[b]
        fits = both.max() <= limit
        common = fits if may is None else may[a] & may[b]
        if (fits & common).any():
            root[b], held[a], kept[i] = a, both, True
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
    group, time = np.concatenate([of[first]] * 2), np.concatenate([first, last + 1])
    change = np.concatenate([size, -size])
    order = np.lexsort((change, time, group))  # what ends goes before what begins
    group, total = group[order], np.cumsum(change[order])  # of each group 0 at its end
    peak = np.zeros(n)
    np.maximum.at(peak, group, total)
    return peak


def _curves(problem: Problem, units: np.ndarray) -> np.ndarray:
    """Bytes of each unit in each piece of the topological order, shape (n_units, pieces)."""
    graph, n = problem.graph, int(units.max()) + 1
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

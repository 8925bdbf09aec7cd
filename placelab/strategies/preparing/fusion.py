"""Operator fusion: merge neighbours of one colocation group without making a cycle."""

from __future__ import annotations

from collections import deque
from typing import Literal

import numpy as np

from placelab.problem.problem import Problem
from placelab.schedule.catalogue import transform
from placelab.strategies.preparing.chain import Expand
from placelab.strategies.preparing.contraction import Merging, contract


@transform(source="Baechi (2020) §3.3")
def fuse(problem: Problem, *, rule: Literal["safe", "exact"] = "safe") -> tuple[Problem, Expand]:
    """Merge u → v of one colocation group when no other path leads from u to v, again and again.

    After :func:`~placelab.transforms.coplace` the groups are co-placement groups, too.

    Parameters
    ----------
    rule
        ``"safe"``: merge when u has no other successor or v no other predecessor, a sufficient test. ``"exact"``: then also
        merge the pairs between which a search finds no other path.

    Returns
    -------
    small, expand
        The problem of the merged ops, and the way from its placements to those of `problem`.

    Notes
    -----
    Degrees count distinct neighbours of any group, control edges included, and change with every merge; pairs are tested in
    the order of their edges and again when a degree falls, until nothing can be merged. Since the exact rule
    begins where the safe one ends, it merges at least as much. Merged ops need the memory of their members at once, so that
    a problem which is tight on memory may have no placement any more.

    Safe: near O(n_edges log n_ops), small neighbourhoods being handed over to large ones. Exact: a search per pair among ops
    between the two in topological order, in the worst case O(n_edges) each.

    Ops left of placelab's networks, on devices that hold them whole:

    =====================  =====  =============  =====  ===========================  =====
    network                ops    coplace, fuse  exact  forward-only, coplace, fuse  exact
    =====================  =====  =============  =====  ===========================  =====
    convolutional_network  367    101            30     38                           30
    recurrent_network      2,919  1,134          329    85                           83
    dynamic_rnn            5,333  1,887          724    424                          278
    =====================  =====  =============  =====  ===========================  =====

    Baechi reports 6,884 → 17, 18,050 → 542 and 22,340 → 706 for its own, by all of its optimisations.
    """
    graph = problem.graph
    group = problem.group
    inside = (group[graph.producer] >= 0) & (group[graph.producer] == group[graph.consumer])
    if not inside.any():
        return contract(problem, np.arange(graph.n_ops), "fuse")
    merging = Merging(graph)
    pairs = graph.edges[inside].tolist()
    _merge_safe(merging, group, pairs)
    while rule == "exact" and _merge_exact(merging, group, pairs):
        pass
    return contract(problem, merging.blocks(), "fuse")


def _merge_safe(merging: Merging, group: np.ndarray, pairs: list) -> None:
    """Merge pairs that are safe, and those that become so."""
    after = merging.after
    before = merging.before
    of = group.tolist()
    waiting = deque(pairs)
    while waiting:
        u, v = waiting.popleft()
        u = merging.root(u)
        v = merging.root(v)
        if v in after[u] and of[u] == of[v] >= 0 and merging.is_safe(u, v):
            w, fewer_after, fewer_before = merging.merge(u, v)
            waiting.extend((p, w) for p in fewer_after if len(after[p]) == 1)
            waiting.extend((w, s) for s in fewer_before if len(before[s]) == 1)
            if len(after[w]) == 1:
                waiting.append((w, *after[w]))
            if len(before[w]) == 1:
                waiting.append((*before[w], w))


def _merge_exact(merging: Merging, group: np.ndarray, pairs: list) -> bool:
    """One round over all pairs, each merge followed by the safe ones it makes possible; whether there was any."""
    merged = False
    for u, v in pairs:
        u = merging.root(u)
        v = merging.root(v)
        if v in merging.after[u] and (gap := merging.gap(u, v)):
            w = merging.merge(u, v, gap)[0]
            around = [(w, s) for s in merging.after[w]] + [(p, w) for p in merging.before[w]]
            _merge_safe(merging, group, around)
            merged = True
    return merged

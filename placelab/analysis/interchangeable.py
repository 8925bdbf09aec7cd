"""Devices that may change places without a change of the problem, and the best matching of them between two placements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from placelab.base.interrupts import need
from placelab.base.once import once
from placelab.problem.problem import Problem


class Block(NamedTuple):
    """Devices that change places with others as a whole.

    Attributes
    ----------
    devices : tuple of int
        Its devices: the first of one block takes the place of the first of another, and so on.
    parts : tuple of Block
        What it is made of; () for a device.
    free : bool
        Whether its parts may be permuted among themselves.
    """

    devices: tuple[int, ...]
    parts: tuple[Block, ...] = ()
    free: bool = False


@once
def interchangeable(problem: Problem) -> Block:
    """All devices as a tree of blocks.

    Parts of a free block may be permuted at will: devices of one type, speed, memory and times that have the same links, then
    pairs and larger blocks of them, hosts, and blocks of hosts. Blocks are the devices that the fastest links join, those that
    the next slower ones join, and so on, first within hosts. Each exchange of two blocks is tried: it leaves the problem as it
    is, which is the times and constraints of ops, speed, memory, bandwidth, latency, shared links, and which devices share a
    host. Symmetries that are made of no such exchange, as the turning of a ring, are not found.

    Notes
    -----
    O(devices³) at most, without shared links.
    """
    symmetry = _Symmetry(problem)
    block = [Block((d,)) for d in range(problem.cluster.n_devices)]
    for label in _levels(problem):
        first = np.unique(label, return_index=True)[1]
        for d in first.tolist():
            members = np.flatnonzero(label == label[d])
            inside = list({block[e].devices: block[e] for e in members.tolist()}.values())
            if len(inside) > 1:
                whole = _joined(sorted(_merged(inside, symmetry), key=symmetry.order))
                for e in whole.devices:
                    block[e] = whole
    return block[0]


def _levels(problem: Problem) -> Iterator[np.ndarray]:
    """The component of each device, shape (n_devices,): joined by the fastest links, by slower ones too … until all are one."""
    need("scipy")
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    cluster = problem.cluster
    k = cluster.n_devices
    rank = np.unique(-np.minimum(cluster.bandwidth, cluster.bandwidth.T), return_inverse=True)[1].reshape(k, k) + 1.0
    host = np.unique(cluster.hosts, return_inverse=True)[1]
    rank[host[:, None] != host[None, :]] += rank.max(initial=0.0)
    np.fill_diagonal(rank, 0.0)
    tree = minimum_spanning_tree(rank).tocoo()
    for level in np.unique(tree.data):
        chosen = tree.data <= level
        joins = coo_array((tree.data[chosen], (tree.row[chosen], tree.col[chosen])), shape=(k, k))
        yield connected_components(joins, directed=False)[1]


def _joined(blocks: Sequence[Block], free: bool = False) -> Block:
    """One block of several."""
    if len(blocks) == 1:
        return blocks[0]
    return Block(tuple(d for block in blocks for d in block.devices), tuple(blocks), free)


def _merged(blocks: list[Block], symmetry: _Symmetry) -> list[Block]:
    """The blocks, those that may change places made into one, until there are none."""
    while True:
        classes: list[list[Block]] = []
        for block in blocks:
            mine = next((others for others in classes if symmetry.may_swap(others[0].devices, block.devices)), None)
            if mine is None:
                classes.append([block])
            else:
                mine.append(block)
        if len(classes) == len(blocks):
            return blocks
        blocks = [_joined(one, free=True) for one in classes]


class _Symmetry:
    """Whether two blocks of devices may change places."""

    def __init__(self, problem: Problem) -> None:
        cluster = problem.cluster
        host = np.unique(cluster.hosts, return_inverse=True)[1]
        off = ~np.eye(cluster.n_devices, dtype=bool)
        links = [np.where(off, matrix, 0.0) for matrix in (cluster.bandwidth, cluster.latency)]
        self.tables = [*links, host[:, None] == host[None, :]]
        self.kind = _kinds(problem)
        self.shared = [(link.bandwidth, frozenset(link.pairs)) for link in cluster.links]
        self.count = Counter(self.shared)

    def order(self, block: Block) -> tuple[int, ...]:
        """The kinds of its devices, so that blocks that are alike come in one order."""
        return tuple(self.kind[list(block.devices)].tolist())

    def may_swap(self, a: Sequence[int], b: Sequence[int]) -> bool:
        """Whether nothing changes when the devices of block a take the places of those of b, and the other way round."""
        if len(a) != len(b) or (self.kind[list(a)] != self.kind[list(b)]).any():
            return False
        both = np.array([*a, *b])
        to = np.arange(len(self.kind))
        to[both] = [*b, *a]
        for table in self.tables:
            rows = table[both]
            columns = table[:, both]
            if not (np.array_equal(table[to[both]][:, to], rows) and np.array_equal(table[to][:, to[both]], columns)):
                return False
        if not self.shared:
            return True
        place = to.tolist()
        return self.count == Counter(
            (bandwidth, frozenset((place[i], place[j]) for i, j in pairs)) for bandwidth, pairs in self.shared
        )


def _kinds(problem: Problem) -> np.ndarray:
    """A number for each device that devices share which do the same for every op, shape (n_devices,)."""
    cluster = problem.cluster
    may = problem.may_run if problem.restricted else np.ones((1, cluster.n_devices), bool)
    facts = zip(
        cluster.types,
        cluster.speed.tolist(),
        cluster.memory.tolist(),
        problem.column.tolist(),
        problem.divisor.tolist(),
        [column.tobytes() for column in np.packbits(may, axis=0).T],
        strict=True,
    )
    number: dict[tuple, int] = {}
    return np.array([number.setdefault(fact, len(number)) for fact in facts])


def best_matching(problem: Problem, kept: np.ndarray) -> np.ndarray:
    """The permutation of interchangeable devices under which most ops stay where they were.

    Parameters
    ----------
    kept : ndarray, shape (n_devices, n_devices)
        ``kept[i, j]``: the number of ops on device i in one placement and on device j in the other.

    Returns
    -------
    ndarray of int, shape (n_devices,)
        For each device of the other placement, the one whose place it takes. Ties: as many devices as possible take their own.

    Notes
    -----
    An assignment (``scipy.optimize.linear_sum_assignment``) among the parts of each free block, innermost first.
    """
    k = problem.cluster.n_devices
    gain = np.asarray(kept, float) * (k + 1) + np.eye(k)
    everything = interchangeable(problem)
    to = np.arange(k)
    for i, j in _matched(everything, everything, gain)[1]:
        to[j] = i
    return to


def _matched(a: Block, b: Block, gain: np.ndarray) -> tuple[float, Iterable[tuple[int, int]]]:
    """The most that pairs of devices gain if block b takes the place of a, and these pairs."""
    need("scipy")
    from scipy.optimize import linear_sum_assignment

    if not a.parts:
        return gain[a.devices[0], b.devices[0]], [(a.devices[0], b.devices[0])]
    if not a.free:
        found = [_matched(x, y, gain) for x, y in zip(a.parts, b.parts, strict=True)]
    elif all(not part.parts for part in a.parts):
        rows, columns = linear_sum_assignment(gain[np.ix_(a.devices, b.devices)], maximize=True)
        pairs = [(a.devices[i], b.devices[j]) for i, j in zip(rows, columns, strict=True)]
        return sum(gain[pair] for pair in pairs), pairs
    else:
        each = [[_matched(x, y, gain) for y in b.parts] for x in a.parts]
        table = np.array([[value for value, _ in row] for row in each])
        rows, columns = linear_sum_assignment(table, maximize=True)
        found = [each[i][j] for i, j in zip(rows.tolist(), columns.tolist(), strict=True)]
    return sum(value for value, _ in found), [pair for _, pairs in found for pair in pairs]

"""The difference between two schedules of one graph, op by op, and between the decisions of two partitioners."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from placelab.analysis.explanation import KINDS, critical_steps
from placelab.base.errors import FormatError, UnsupportedError, expect
from placelab.base.index_arrays import frozen
from placelab.base.interrupts import need
from placelab.base.once import once
from placelab.kernels import explain as kernels
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import checked
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.schedule.trace import Trace

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Difference:
    """Two schedules, ops matched by name; :func:`difference` makes it.

    Each second of a makespan is charged to one op along the realised critical path (:func:`placelab.critical_path`): the one
    that runs then, even where it is only in the way of a different one, or the one whose output travels. A
    wait for memory is charged to the op that waits. So what all ops save, minus what they lose, is the difference of the
    makespans.

    Attributes
    ----------
    a, b : Schedule
        Before and after.
    match : bool
        Whether interchangeable devices of `b` are matched with those of `a` before placements are compared.
    """

    a: Schedule
    b: Schedule
    match: bool = True

    @property
    def saved(self) -> float:
        """Makespan of `a` minus that of `b` [s]; negative if `b` is longer."""
        return self.a.makespan - self.b.makespan

    @cached_property
    def ops(self) -> pd.DataFrame:
        """One row per op, by the numbers of `a`; then those that only `b` has.

        ``name``, ``kind``; ``moved``: both have it, on different devices, of which `b`'s are read as `matched` says;
        ``device_a``, ``device_b``, ``start_a``,
        ``start_b``, ``finish_a``, ``finish_b`` [s], missing where the other schedule alone has the op; ``critical_a``,
        ``critical_b``: seconds of each makespan that are charged to it.
        """
        need("pandas")
        import pandas as pd

        both = _columns(self.a).merge(_columns(self.b), how="outer", on="name", suffixes=("_a", "_b"), sort=False)
        in_a = both["number_a"].notna()
        in_b = both["number_b"].notna()
        there = both["device_b"].replace(self.matched)
        both = both.assign(
            kind=both["kind_a"].where(in_a, both["kind_b"]),
            moved=in_a & in_b & (both["device_a"] != there),
            critical_a=both["critical_a"].fillna(0.0),
            critical_b=both["critical_b"].fillna(0.0),
        ).sort_values(["number_a", "number_b"], ignore_index=True)
        sides = [f"{label}_{side}" for label in ("device", "start", "finish", "critical") for side in "ab"]
        return pd.DataFrame(both[["name", "kind", "moved", *sides]])

    @cached_property
    def matched(self) -> dict[str, str]:
        """The device of `a` whose ops each device of `b` has taken over; those that keep their own are left out.

        Only devices that may change places in `b`'s problem without a change of it are matched
        (:func:`placelab.analysis.two_schedules.interchangeable`), so that as few ops as possible have moved.
        """
        if not self.match:
            return {}
        names = self.b.problem.cluster.names
        to = best_matching(self.b.problem, self._kept()).tolist()
        return {names[j]: names[i] for j, i in enumerate(to) if i != j}

    def _kept(self) -> np.ndarray:
        """How many ops are on device i of `b`'s cluster in `a`, and on device j in `b`; shape (n_devices, n_devices)."""
        cluster = self.b.problem.cluster
        number = {name: d for d, name in enumerate(cluster.names)}
        names = self.a.problem.graph.names.tolist()
        places = np.array([number.get(name, -1) for name in self.a.problem.cluster.names])[self.a.device].tolist()
        was = dict(zip(names, places, strict=True))
        before = np.array([was.get(name, -1) for name in self.b.problem.graph.names.tolist()])
        known = before >= 0
        kept = np.zeros((cluster.n_devices, cluster.n_devices), np.int64)
        np.add.at(kept, (before[known], self.b.device[known]), 1)
        return kept

    @property
    def moved(self) -> pd.DataFrame:
        """The rows of `ops` that moved."""
        return self.ops[self.ops["moved"]].reset_index(drop=True)

    @property
    def path(self) -> pd.DataFrame:
        """Seconds of each makespan in ops, transfers and waits: ``part``, ``a``, ``b``, ``saved`` (a minus b)."""
        need("pandas")
        import pandas as pd

        a, b = (
            np.bincount(steps["kind"], steps["finish"] - steps["start"], minlength=len(KINDS))
            for steps in map(critical_steps, (self.a, self.b))
        )
        return pd.DataFrame(dict(part=KINDS, a=a, b=b, saved=a - b))

    def by_kind(self) -> pd.DataFrame:
        """Ops of one kind together, the kind that changed most first: see :meth:`by_scope`; column ``kind``."""
        return self._by("kind", self.ops["kind"])

    def by_scope(self, depth: int = 1) -> pd.DataFrame:
        """Ops of one scope together, the scope that changed most first.

        Parameters
        ----------
        depth
            Number of components of a name that make a scope: with 1, ``encoder/layer_0/MatMul`` is in ``encoder``. Names are
            divided at ``/``, in graphs without it at ``.``. An op outside all scopes is in the scope ``""``.

        Returns
        -------
        DataFrame
            ``scope``; ``ops``, ``moved``: numbers of ops; ``critical_a``, ``critical_b``: seconds of each makespan; ``saved``,
            ``lost``: sums of what single ops have less, or more, in `b`. Over all rows, ``saved - lost`` is :attr:`saved`, up
            to rounding.
        """
        expect(depth, (int, np.integer), "depth")
        return self._by("scope", _scopes(self.ops["name"].tolist(), max(int(depth), 0)))

    def _by(self, label: str, key: list[str] | pd.Series) -> pd.DataFrame:
        ops = self.ops
        change = ops["critical_a"] - ops["critical_b"]
        parts = ops.assign(ops=1, saved=change.clip(lower=0.0), **{label: key})
        parts["lost"] = parts["saved"] - change
        total = parts.groupby(label, sort=False)[["ops", "moved", "critical_a", "critical_b", "saved", "lost"]].sum()
        order = (total["saved"] - total["lost"]).abs().to_numpy().argsort(kind="stable")[::-1]
        return total.iloc[order].reset_index()

    def __repr__(self) -> str:
        time = self.a.problem.cluster.units.time
        change = f"{time(abs(self.saved))} {'less' if self.saved >= 0 else 'more'}"
        share = f", {100 * abs(self.saved) / self.a.makespan:.3g} %" if self.a.makespan > 0 else ""
        moved = f"{int(self.ops['moved'].sum())} of {len(self.ops)} ops on another device"
        moved += ", identical devices matched" if self.matched else ""
        return f"Difference({time(self.a.makespan)} → {time(self.b.makespan)}: {change}{share}; {moved})"


@checked
def difference(a: Schedule, b: Schedule, *, match: bool = True) -> Difference:
    """Compare two schedules of one graph, whatever problems and strategies they come from.

    Parameters
    ----------
    a, b
        Before and after. Ops are matched by name, devices too.
    match
        Whether devices that are interchangeable in `b`'s problem count as one another, so that as few ops as possible have
        moved: those of one type, speed, memory, times and links, and whole hosts of them. The other numbers do not depend on
        it. False: an op has moved when its device has a different name.

    Returns
    -------
    Difference
        ``ops`` (which moved, start and finish of each), ``moved``, ``matched`` (which device stands for which), ``path`` (ops,
        transfers and waits of both makespans), ``by_kind()``, ``by_scope(depth)`` (saved and lost time), all DataFrames but
        ``matched``; ``saved`` [s].

    Raises
    ------
    FormatError
        The graphs have no op in common.

    Notes
    -----
    O((ops + transfers) log + edges), and an assignment among the devices of each kind.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = pl.OpGraph.from_arrays(["in", "f/x", "g/x"], [1.0, 4.0, 4.0], [(0, 1), (0, 2)], edge_bytes=[1.0, 1.0])
    >>> problem = pl.Problem(graph, pl.Cluster([1.0, 1.0]))
    >>> d = difference(pl.solve(problem, "single"), pl.solve(problem, "heft"))
    >>> d
    Difference(9 → 6: 3 less, 33.3 %; 1 of 3 ops on another device)
    >>> d.by_scope()
      scope  ops  moved  critical_a  critical_b  saved  lost
    0     f    1      0         4.0         0.0    4.0   0.0
    1          1      0         1.0         2.0    0.0   1.0
    2     g    1      1         4.0         4.0    0.0   0.0
    """
    for schedule in (a, b):
        expect(schedule, Schedule, "difference")
    if not set(a.problem.graph.names.tolist()) & set(b.problem.graph.names.tolist()):
        raise FormatError(
            f"the schedules have no op in common: one is of {a.problem.graph.title}, the other of {b.problem.graph.title}; "
            "expected two of one graph"
        )
    return Difference(a, b, match)


def _columns(schedule: Schedule) -> pd.DataFrame:
    """What `ops` says of one of the schedules."""
    need("pandas")
    import pandas as pd

    graph = schedule.problem.graph
    devices = np.array(schedule.problem.cluster.names, dtype=object)
    return pd.DataFrame(
        dict(
            name=graph.names.astype(object),
            number=np.arange(graph.n_ops),
            kind=graph.kind.astype(object),
            device=devices[schedule.device],
            start=schedule.start,
            finish=schedule.finish,
            critical=charged(schedule),
        )
    )


def charged(schedule: Schedule) -> np.ndarray:
    """Seconds of the makespan that are charged to each op along the realised critical path; shape (n_ops,)."""
    steps = critical_steps(schedule)
    graph = schedule.problem.graph
    op = steps["row"].copy()
    by = steps["by"]
    waits = steps["kind"] == kernels.WAIT
    travels = (steps["kind"] == kernels.TRANSFER) | (waits & (steps["cause"] >= kernels.BY_SEND))
    op[travels] = graph.tensor_producer[schedule.transfers["tensor"][by[travels]]]
    runs = waits & (steps["cause"] == kernels.BY_OP)
    op[runs] = by[runs]
    return np.bincount(op, steps["finish"] - steps["start"], minlength=graph.n_ops)


def _scopes(names: list[str], depth: int) -> list[str]:
    """The first `depth` components of each name, its last one left out."""
    mark = "/" if any("/" in name for name in names) else "."
    return [mark.join(name.split(mark)[:-1][:depth]) for name in names]


def first_difference(a: Placement, b: Placement, *, order: bool = True) -> int | None:
    """The first decision of `a` that `b` took otherwise.

    Parameters
    ----------
    a, b
        Placements of one problem, made with ``trace=True``.
    order
        Compare step by step: a difference is another op (or group), or another device. False: compare op by op: a difference
        is an op that `b` put on another device, whenever that was.

    Returns
    -------
    int or None
        Row of ``a.trace``; None if there is no difference.

    Raises
    ------
    UnsupportedError
        A placement has no trace, or the graphs differ.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.datasets.problem("topcuoglu")
    >>> a, b = (pl.place(problem, name, trace=True) for name in ("heft", "cpop"))
    >>> first_difference(a, b)
    0
    """
    first = _trace(a)
    second = _trace(b)
    if not np.array_equal(a.problem.graph.names, b.problem.graph.names):
        raise UnsupportedError("decisions can be compared for one graph only; these placements have different ops")
    if order:
        n = min(len(first.op), len(second.op))
        of = units(a.problem)
        other = (of[first.op[:n]] != of[second.op[:n]]) | (first.device[:n] != second.device[:n])
        differs = np.append(other, np.ones(len(first.op) - n, dtype=bool))
    else:
        differs = b.device[first.op] != first.device
    return int(np.argmax(differs)) if differs.any() else None


def units(problem: Problem) -> np.ndarray:
    """A number for each op that the members of a colocation group share, shape (n_ops,)."""
    alone = np.arange(problem.graph.n_ops)
    return frozen(np.where(problem.group < 0, alone, len(alone) + problem.group))


def _trace(placement: Placement) -> Trace:
    if placement.trace is None:
        name = placement.partitioner or "this placement"
        raise UnsupportedError(
            f"{name} has no trace; place with trace=True and a partitioner that records its decisions"
        )
    return placement.trace


# ------------------------------------------ devices that may change places, and the best matching of them between two placements


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

"""Schedules by hand: a device for each op and an order for each device, changed by moves that are always legal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError, expect
from placelab.base.index_arrays import frozen
from placelab.kernels.plan import places as kernels
from placelab.planning.plan_arrays import total
from placelab.problem.graph import OpGraph
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate

MOST_NAMED = 6  # ops of a circle, in a message
ROUNDING = 1e-9  # relative; of times that are compared


class Places(NamedTuple):
    """Where in a device's order ops may stand.

    Attributes
    ----------
    device : str
    first, last : int
        The legal positions are `first` to `last`, both included, among the ops of the device that do not move: 0 is before
        all of them. None is legal where `first` is above `last`.
    after, before : str
        The op that forbids an earlier place, and the one that forbids a later one; empty where nothing does.
    start : int
        The position by earliest start, within the legal ones: the first gap into which they fit once the inputs are there, all
        else staying in time; where none is long enough, behind what starts before the inputs are there.
    ready : float
        When the inputs are there [s] if nothing else moved, without queues for links: the ghost's earliest time.
    reason : str
        Why the device may not run them, else empty.
    """

    device: str
    first: int
    last: int
    after: str
    before: str
    start: int
    ready: float
    reason: str

    @property
    def legal(self) -> bool:
        """Whether any place is legal."""
        return not self.reason and self.first <= self.last


@dataclass(frozen=True, eq=False)
class ByHand:
    """A plan by hand; :func:`placelab.by_hand` makes it, and each change gives a new one.

    Attributes
    ----------
    placement : Placement
        Its ``planned`` is one order of all ops that respects edges and the devices' orders, and takes the lowest number of the
        ops that could come next: plans with equal devices and equal orders have equal arrays.
    """

    placement: Placement

    @cached_property
    def schedule(self) -> Schedule:
        """The plan as the scheduler ``planned`` replays it; a shortage of memory is marked in ``schedule.oom``."""
        return simulate(self.placement.problem, self.placement, "planned")

    @property
    def makespan(self) -> float:
        """Finish of the last op [s]."""
        return self.schedule.makespan

    @cached_property
    def _lanes(self) -> list[np.ndarray]:
        return lanes(self.placement.device, self.planned, self.placement.problem.cluster.n_devices)

    @property
    def planned(self) -> np.ndarray:
        """``placement.planned``: the ops in one order of all, shape (n_ops,)."""
        assert self.placement.planned is not None
        return self.placement.planned

    def order(self, device: int | str) -> np.ndarray:
        """Numbers of the ops of one device, in its order."""
        return frozen(self._lanes[self.placement.problem.cluster.index(device)])

    def places(self, ops: str | Iterable[str], device: int | str) -> Places:
        """Where in a device's order ops may stand, one behind the other; what forbids more.

        Parameters
        ----------
        ops
            Name of an op, or of several, which keep their order. Members of a group that are not named hold up nothing if they
            change their device, too: they find their places afterwards.
        device
            Name or number, also that on which they are.

        Returns
        -------
        Places

        Raises
        ------
        FormatError
            No such op or device.

        Notes
        -----
        Exact: a place is legal if and only if edges and devices' orders stay without a circle. One op has a legal place on every
        device; several have none where an op of the device must stand between them. O(ops + edges). Not in the literature.
        """
        problem = self.placement.problem
        block = self._block(ops)
        d = problem.cluster.index(device)
        names = problem.graph.names
        lane, first, last = self._range(block, d)
        ready = self._ready(int(block[0]), d)
        return Places(
            problem.cluster.names[d],
            first,
            last,
            str(names[lane[first - 1]]) if first else "",
            str(names[lane[last]]) if last < len(lane) else "",
            self._earliest(block, d, lane, first, last, ready),
            ready,
            self._refusal(block, d),
        )

    def move(
        self, ops: str | Iterable[str], device: int | str, *, before: str | None = None, after: str | None = None
    ) -> ByHand:
        """A plan in which ops stand elsewhere.

        Parameters
        ----------
        ops
            Name of an op, or of several, which stand one behind the other and keep their order.
        device
            Name or number, also that on which they are.
        before, after
            An op of that device that does not move, next to which they stand. Without: the place by earliest start
            (``places(ops, device).start``).

        Returns
        -------
        ByHand
            Where a colocation group changes its device, its members that are not named keep their place in time.

        Raises
        ------
        FormatError
            No such op or device; `before` and `after` both, or an op that is not on the device.
        InfeasibleError
            The device may not run them, or the place is behind an op that must run later, or before one that must run first,
            through edges and devices' orders; it names that op.

        Notes
        -----
        O((ops + edges) log ops).

        Examples
        --------
        >>> import placelab as pl
        >>> problem = pl.datasets.problem("topcuoglu")
        >>> plan = pl.by_hand(pl.solve(problem, "heft"))
        >>> plan.move("T5", "P2").order("P2").tolist()
        [3, 5, 4, 8, 9]
        """
        problem = self.placement.problem
        block = self._block(ops)
        d = problem.cluster.index(device)
        if refusal := self._refusal(block, d):
            raise InfeasibleError(refusal)
        found = self.places(problem.graph.names[block], d)
        lane = self._range(block, d)[0]
        position = found.start if before is None and after is None else self._beside(lane, d, before, after)
        self._check(block, found, position)
        loose = self._loose(block, d)
        return self._settled({d: np.concatenate([lane[:position], block, lane[position:]])}, {d: loose}, block)

    def swap(self, a: str, b: str) -> ByHand:
        """A plan in which two ops have exchanged their devices and places.

        Members of a colocation group that is with one of them change their device with it, and keep their place in time.

        Raises
        ------
        FormatError
            No such op.
        InfeasibleError
            A device may not run the op that would come there; or edges and orders would form a circle, whose ops it names.

        Notes
        -----
        O((ops + edges) log ops).
        """
        problem = self.placement.problem
        pair = [problem.graph.index(a), problem.graph.index(b)]
        one, other = (int(d) for d in self.placement.device[pair])
        new: dict[int, np.ndarray] = {}
        loose: dict[int, np.ndarray] = {}
        for v, w, there in ((pair[0], pair[1], other), (pair[1], pair[0], one)):
            if one != other and (refusal := self._refusal(np.array([v]), there)):
                raise InfeasibleError(refusal)
            lane = self._lanes[there].copy()
            lane[self._lanes[there] == w] = v
            if one == other:
                lane[self._lanes[there] == v] = w
            loose[there] = self._loose(np.array([v]), there)
            new[there] = lane
        return self._settled(new, loose, np.array(pair))

    def __repr__(self) -> str:
        return f"ByHand({self.placement!r}: makespan {self.makespan:.6g})"

    # ---------------------------------------------------------------- what a place depends on

    def _block(self, ops: str | Iterable[str]) -> np.ndarray:
        """Numbers of ops in the order of the plan."""
        expect(ops, (str, Iterable), "a move, as its ops,")
        graph = self.placement.problem.graph
        chosen = np.unique(np.array([graph.index(name) for name in ([ops] if isinstance(ops, str) else ops)], np.int32))
        if not len(chosen):
            raise FormatError("a move needs an op, found none")
        return chosen[np.argsort(self._rank[chosen])]

    @cached_property
    def _rank(self) -> np.ndarray:
        return inverse(self.planned)

    def _closed(self, block: np.ndarray) -> np.ndarray:
        """The ops and all members of their groups, ascending."""
        return np.unique(np.concatenate([self.placement.problem.members(v) for v in block.tolist()]))

    def _loose(self, block: np.ndarray, device: int) -> np.ndarray:
        """Other members of the ops' groups, which come to the device with them."""
        others = np.setdiff1d(self._closed(block), block)
        return others[self.placement.device[others] != device]

    def _refusal(self, block: np.ndarray, device: int) -> str:
        """Why the device may not run these ops, else ""."""
        problem = self.placement.problem
        name = problem.cluster.names[device]
        moving = self._closed(block)
        for v in block[~problem.may_run[block, device]].tolist():
            known = ", ".join(problem.cluster.names[d] for d in problem.feasible(v))
            group = "" if len(problem.members(v)) == 1 else "with its colocation group "
            return f"op {problem.graph.names[v]!r} {group}may only run on {known}, not on {name!r}"
        held = total(problem.lasting[moving])
        if held > problem.capacity[device] and (self.placement.device[moving] != device).any():
            these = repr(str(problem.graph.names[block[0]])) if len(moving) == 1 else f"{len(moving)} ops that move"
            return f"device {name!r} has {problem.capacity[device]:,.0f} bytes; {these} alone would keep {held:,.0f}"
        return ""

    def _range(self, block: np.ndarray, device: int) -> tuple[np.ndarray, int, int]:
        """The device's order without what moves, and the first and last legal position in it."""
        problem = self.placement.problem
        n = problem.graph.n_ops
        home = self.placement.device.copy()
        home[block] = -1
        home[self._loose(block, device)] = -1
        flags = np.zeros((3, n), np.uint8)
        flags[0, block] = 1
        ptr, succ, _ = problem.graph.successors
        lane_flags = np.zeros(problem.cluster.n_devices, np.uint8)
        kernels.mark_before_and_behind(
            self.planned, frozen(home), frozen(flags[0].copy()), ptr, succ, lane_flags, flags[1], flags[2]
        )
        lane = self._lanes[device]
        lane = lane[home[lane] >= 0]
        ahead = np.flatnonzero(flags[1, lane])
        behind = np.flatnonzero(flags[2, lane])
        return lane, int(ahead[-1]) + 1 if len(ahead) else 0, int(behind[0]) if len(behind) else len(lane)

    def _earliest(self, block: np.ndarray, d: int, lane: np.ndarray, first: int, last: int, ready: float) -> int:
        """The position by earliest start: of the first gap that is long enough, else behind what starts before `ready`."""
        begin = frozen(self.schedule.start[lane])
        end = frozen(self.schedule.finish[lane])
        took = total(self.placement.problem.exec_table(block)[:, d])
        return int(kernels.first_gap(begin, end, first, last, ready, took, ROUNDING))

    def _ready(self, v: int, device: int) -> float:
        """When the inputs of an op are on a device if nothing else moves [s]."""
        graph = self.placement.problem.graph
        edges = graph.pred_edge[graph.pred_ptr[v] : graph.pred_ptr[v + 1]]
        arrivals = [0.0]
        for u, t in zip(graph.producer[edges].tolist(), graph.edge_tensor[edges].tolist(), strict=True):
            source = int(self.placement.device[u])
            way = 0.0 if source == device else self.placement.problem.transfer_time(t, source, device)
            arrivals.append(float(self.schedule.finish[u]) + way)
        return float(max(arrivals))

    def _beside(self, lane: np.ndarray, device: int, before: str | None, after: str | None) -> int:
        """The position next to an op."""
        if before is not None and after is not None:
            raise FormatError("a move takes before= or after=, not both")
        name = before if before is not None else after
        found = np.flatnonzero(lane == self.placement.problem.graph.index(name))  # type: ignore[arg-type]
        if not len(found):
            where = self.placement.problem.cluster.names[device]
            raise FormatError(f"op {name!r} is not among the ops of device {where!r} that do not move")
        return int(found[0]) + (after is not None)

    def _check(self, block: np.ndarray, found: Places, position: int) -> None:
        names = self.placement.problem.graph.names
        what = repr(str(names[block[0]])) if len(block) == 1 else f"{len(block)} ops that stay together"
        if position < found.first:
            raise InfeasibleError(f"{what} cannot run before {found.after!r} on {found.device!r}, which must run first")
        if position > found.last:
            raise InfeasibleError(
                f"{what} cannot run behind {found.before!r} on {found.device!r}, which must run later"
            )

    # ---------------------------------------------------------------- the new plan

    def _settled(self, new: dict[int, np.ndarray], loose: dict[int, np.ndarray], moved: np.ndarray) -> ByHand:
        """The plan with new orders of some devices; `loose` ops come to a device and keep their place in time."""
        problem = self.placement.problem
        k = problem.cluster.n_devices
        floating = np.concatenate(list(loose.values()))
        gone = np.zeros(problem.graph.n_ops, bool)
        gone[floating] = True
        gone[moved] = True
        orders = [new[d] if d in new else lane[~gone[lane]] for d, lane in enumerate(self._lanes)]
        orders = [lane[~np.isin(lane, floating)] for lane in orders] if len(floating) else orders
        device = self.placement.device.copy()
        for d, lane in new.items():
            device[lane] = d
        for d, ops in loose.items():
            device[ops] = d
        planned = one_order(problem.graph, orders, self._rank)
        if len(floating):
            orders = lanes(device, planned, k)
        return ByHand(Placement(problem, device, one_order(problem.graph, orders)))


def by_hand(plan: Placement | Schedule) -> ByHand:
    """A plan of one's own, from a placement or a schedule: a device for each op, an order for each device.

    Parameters
    ----------
    plan
        A schedule: its devices and the order in which each started its ops. A placement: as :func:`placelab.simulate` runs it,
        in its planned order, or without one as ``pct`` does.

    Returns
    -------
    ByHand
        With ``move``, ``swap``, ``places``; ``schedule`` is its run by the scheduler ``planned``. Times before which ops were not
        to start (``not_before``) are left out, as they belong to a plan that is to be changed: a plan that waited for memory may
        then be short of it, which is marked.

    Raises
    ------
    InfeasibleError
        The planned order contradicts the edges.

    Notes
    -----
    Ops of no time that start together run in the planned order, else by op number. O((ops + edges) log ops).

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    >>> plan = pl.by_hand(pl.solve(problem, "heft"))
    >>> pl.validate(plan.schedule)
    []
    """
    expect(plan, (Placement, Schedule), "by_hand")
    problem = plan.problem
    if isinstance(plan, Placement):
        planned = plan.planned
        schedule = simulate(problem, plan) if planned is None else None
    else:
        planned = plan.placement.planned if plan.scheduler == "planned" else None
        schedule = plan
    if planned is None:
        assert schedule is not None
        planned = np.lexsort((schedule.finish, schedule.start)).astype(np.int32)  # stable: ties by op number
    orders = lanes(plan.device, planned, problem.cluster.n_devices)
    return ByHand(Placement(problem, plan.device, one_order(problem.graph, orders)))


def lanes(device: np.ndarray, planned: np.ndarray, n_devices: int) -> list[np.ndarray]:
    """Each device's ops in the order of `planned`, as arrays of int32."""
    by_device = planned[np.argsort(device[planned], kind="stable")]
    return np.split(by_device, np.cumsum(np.bincount(device, minlength=n_devices))[:-1])


def inverse(order: np.ndarray) -> np.ndarray:
    """The place of each op in an order of all, as int32."""
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return frozen(rank)


def one_order(graph: OpGraph, orders: Sequence[np.ndarray], rank: np.ndarray | None = None) -> np.ndarray:
    """All ops in one order that holds edges and devices' orders; of those that could come next the least `rank` (op number).

    Raises
    ------
    InfeasibleError
        Edges and orders form a circle; it names its ops.
    """
    n = graph.n_ops
    ptr, succ, _ = graph.successors
    rank = frozen(np.arange(n, dtype=np.int32)) if rank is None else rank
    follows = np.full(n, -1, np.int32)
    waits = np.bincount(succ, minlength=n).astype(np.int32)
    for lane in orders:
        follows[lane[:-1]] = lane[1:]
        waits[lane[1:]] += 1
    order = np.empty(n, np.int32)
    heap = np.empty(n, np.int32)
    count = kernels.order_all(frozen(follows), waits, ptr, succ, rank, inverse(rank), heap, order)
    if count < n:
        raise InfeasibleError(f"each of these ops would wait for the one before it: {_circle(graph, follows, waits)}")
    return order


def _circle(graph: OpGraph, follows: np.ndarray, waits: np.ndarray) -> str:
    """Names of ops that wait for each other, once around; those of which `waits` is above 0 could not be ordered."""
    ahead = np.full(graph.n_ops, -1, np.int64)
    ahead[follows[follows >= 0]] = np.flatnonzero(follows >= 0)
    v = int(np.flatnonzero(waits > 0)[0])
    seen: list[int] = []
    while v not in seen:
        seen.append(v)
        inputs = [*graph.predecessors_of(v).tolist(), *([int(ahead[v])] if ahead[v] >= 0 else [])]
        v = next(u for u in inputs if waits[u] > 0)
    around = [str(graph.names[u]) for u in seen[seen.index(v) :][::-1]]
    shown = around if len(around) <= MOST_NAMED else [*around[: MOST_NAMED - 1], "…"]
    return " → ".join([*shown, around[0]])

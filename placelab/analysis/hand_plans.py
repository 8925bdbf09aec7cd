"""Schedules by hand: a device for each op and an order for each device, changed by moves that are always legal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError, expect
from placelab.base.index_arrays import frozen
from placelab.kernels.plan import places as kernels
from placelab.planning.plan_arrays import total
from placelab.problem.graph import OpGraph
from placelab.problem.part import part_of
from placelab.problem.problem import Problem
from placelab.schedule.order import inverse, lanes, one_order
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate

MOST_NAMED = 6  # inputs that wait, in a message
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
    placed : ndarray of bool, shape (n_ops,), or None
        Which ops are placed, where they are placed one by one; the others wait. In `placement` they stand behind those that are
        placed, on some device that may run them. None: all are placed.
    """

    placement: Placement
    placed: np.ndarray | None = None

    @cached_property
    def schedule(self) -> Schedule:
        """The plan as the scheduler ``planned`` replays it; a shortage of memory is marked in ``schedule.oom``.

        While ops wait it is the schedule of the part that is placed: what waits takes no time there, holds no memory, and neither
        sends nor receives anything. So it is legal in every model, and ``schedule.problem`` is that part of the problem.
        """
        plan = self.placement if self.placed is None else alone(self.placement, self.placed)
        return simulate(plan.problem, plan, "planned")

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
        """Numbers of the ops of one device that are placed, in its order."""
        lane = self._lanes[self.placement.problem.cluster.index(device)]
        return frozen(lane if self.placed is None else lane[self.placed[lane]])

    def places(self, ops: str | Iterable[str], device: int | str) -> Places:
        """Where in a device's order ops may stand, one behind the other; what forbids more.

        Parameters
        ----------
        ops
            Name of an op, or of several, which keep their order. Members of a group that are not named hold up nothing if they
            change their device, too: they find their places afterwards. An op that waits has places once its inputs are placed,
            before or with it.
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
        if self.placed is not None:  # what waits stands behind all that is placed, and forbids nothing
            lane = lane[self.placed[lane]]
            last = min(last, len(lane))
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
            Where a colocation group changes its device, its members that are not named keep their place in time. Ops that waited
            are placed.

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

    @property
    def waiting(self) -> np.ndarray:
        """Names of the ops that wait to be placed, in topological order."""
        names = self.placement.problem.graph.names
        return names[:0] if self.placed is None else names[~self.placed]

    def swap(self, a: str, b: str) -> ByHand:
        """A plan in which two ops have exchanged their devices and places.

        Members of a colocation group that is with one of them change their device with it, and keep their place in time.

        Raises
        ------
        FormatError
            No such op.
        InfeasibleError
            A device may not run the op that would come there; or edges and orders would form a circle, whose ops it names; or an
            op waits to be placed.

        Notes
        -----
        O((ops + edges) log ops).
        """
        problem = self.placement.problem
        pair = [problem.graph.index(a), problem.graph.index(b)]
        if self.placed is not None and not self.placed[pair].all():
            late = b if self.placed[pair[0]] else a
            raise InfeasibleError(f"{a!r} and {b!r} cannot change places: {late!r} waits to be placed")
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
        waits = f", {len(self.waiting)} wait" if len(self.waiting) else ""
        return f"ByHand({self.placement!r}{waits}: makespan {self.makespan:.6g})"

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
        if missing := self._missing(block):
            return f"op {problem.graph.names[block[0]]!r} waits for {missing}, to be placed first"
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

    def _missing(self, block: np.ndarray) -> str:
        """Names of inputs of ops that wait themselves, but for those among the ops; "" for none."""
        if self.placed is None:
            return ""
        graph = self.placement.problem.graph
        inputs = np.unique(np.concatenate([graph.predecessors_of(v) for v in block.tolist()]))
        names = graph.names[np.setdiff1d(inputs[~self.placed[inputs]], block)].tolist()
        return ", ".join([*names[:MOST_NAMED], *["…"][: len(names) - MOST_NAMED]])

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
        if self.placed is None and not len(floating):
            return ByHand(Placement(problem, device, one_order(problem.graph, orders)))
        placed = self.placed
        if placed is not None:
            placed = placed.copy()
            placed[moved] = True
        return _replayed(problem, device, one_order(problem.graph, orders, self._rank), placed)


def by_hand(plan: Placement | Schedule, placed: Iterable[str] | None = None) -> ByHand:
    """A plan of one's own, from a placement or a schedule: a device for each op, an order for each device.

    Parameters
    ----------
    plan
        A schedule: its devices and the order in which each started its ops. A placement: as :func:`placelab.simulate` runs it,
        in its planned order, or without one as ``pct`` does.
    placed
        Names of the ops that are placed, each with its inputs; the others wait to be placed one by one by ``move``, which begins
        with none in ``by_hand(plan, placed=[])``. Default: all.

    Returns
    -------
    ByHand
        With ``move``, ``swap``, ``places``; ``schedule`` is its run by the scheduler ``planned``. Times before which ops were not
        to start (``not_before``) are left out, as they belong to a plan that is to be changed: a plan that waited for memory may
        then be short of it, which is marked.

    Raises
    ------
    InfeasibleError
        The planned order contradicts the edges, or an op is placed and one of its inputs is not.

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
    >>> plan = pl.by_hand(pl.solve(pl.datasets.problem("topcuoglu"), "heft"), placed=[])
    >>> plan.makespan, plan.move("T1", "P2").move("T2", "P1").makespan
    (0.0, 47.0)
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
    return _replayed(problem, plan.device, planned, None if placed is None else _flags(problem.graph, placed))


def _flags(graph: OpGraph, placed: Iterable[str]) -> np.ndarray:
    """Which ops are placed; InfeasibleError where one is placed and an input of it is not."""
    expect(placed, Iterable, "by_hand, as the ops that are placed,")
    flags = np.zeros(graph.n_ops, bool)
    flags[[graph.index(name) for name in placed]] = True
    early = np.flatnonzero(flags[graph.consumer] & ~flags[graph.producer])
    if len(early):
        first, op = graph.names[graph.edges[early[0]]].tolist()
        raise InfeasibleError(f"op {op!r} is placed, but its input {first!r} is not")
    return flags


def _replayed(problem: Problem, device: np.ndarray, planned: np.ndarray, placed: np.ndarray | None) -> ByHand:
    """The plan of an order of all ops; what waits stands behind all that is placed."""
    if placed is not None and placed.all():
        placed = None
    if placed is not None:
        there = placed[planned]
        planned = np.concatenate([planned[there], planned[~there]])
        placed = frozen(placed)
    orders = lanes(device, planned, problem.cluster.n_devices)
    return ByHand(Placement(problem, device, one_order(problem.graph, orders)), placed)


def complete(plan: ByHand | Placement | Schedule, who: str) -> ByHand:
    """A plan by hand of all ops, for a function of the name `who`; FormatError where some of them wait to be placed."""
    expect(plan, (ByHand, Placement, Schedule), who)
    made = plan if isinstance(plan, ByHand) else by_hand(plan)
    if len(made.waiting):
        raise FormatError(
            f"{who} takes a whole plan, and {len(made.waiting)} ops of this one wait to be placed, {made.waiting[0]!r} first"
        )
    return made


def alone(plan: Placement, placed: np.ndarray) -> Placement:
    """The plan of the ops that are placed, alone: of the part of the problem that they are."""
    return Placement(part_of(plan.problem, placed), plan.device, plan.planned, not_before=plan.not_before)

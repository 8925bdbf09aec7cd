"""Portfolio: try the partitioners, take the best plan, and improve it move by move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from time import perf_counter
from typing import Annotated

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.interrupts import need
from placelab.base.progress import Progress, Report, never, silent
from placelab.base.threads import cores, results
from placelab.kernels import blocks
from placelab.kernels.plan import ranks as rank_kernels
from placelab.kernels.search import local_search as kernels
from placelab.kernels.search import replaying as searching
from placelab.planning import plan_arrays
from placelab.planning.capacity import Assignment
from placelab.planning.input_bound import least_exec
from placelab.planning.lower_bounds import best_bound
from placelab.planning.memory_plan import can_bind
from placelab.problem.problem import Problem
from placelab.problem.resource_models import held
from placelab.schedule.catalogue import Limits, partitioner
from placelab.schedule.placement import Placement
from placelab.strategies.searches.tried_plans import EXACT, MODULUS, TriedPlan, catalogue_plans, row_of, run

ROUNDS = 40  # calls of the kernel that the moves of a walk are spread over
LEAST = 25  # moves of a call: what they lead to is simulated
EXCHANGE = 0.5  # share of the moves after which the worse half of the walks goes on from the best plan
SLACK = (0.03, 0.1, 0.3, 0.03)  # how much longer a plan may get at first, relative: one walk for each
STALE = 8  # rounds without a gain after which a walk takes another plan …
LATEST = 0.8  # … until this share of its moves
ENOUGH = 2000  # moves per op with which it may get that much longer; in proportion with fewer
CHUNK = 64  # positions between two saved states
CHECK = 20  # moves that a call of the kernel counts for where memory must be checked after it
TRYING = 0.2  # share of the progress that the catalogue is


@partitioner(
    source="Srivastava 2018 ch. 10, one-click; search: Jia et al. 2019, Mastrolilli, Gambardella 2000",
    slow=True,
    packages=("pandas",),
)
def portfolio(
    problem: Problem,
    *,
    moves: Annotated[int, Limits(0)] = 0,
    time_limit: Annotated[float, Limits(0)] = 60.0,
    seed: int = 0,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> Placement:
    r"""Plans of the catalogue, as far as they are feasible, planned anew; then local search from the best ones, move by move.

    Every partitioner runs with its default options, but for the slow ones, of which ``ez`` is tried where
    :math:`edges \cdot (ops + edges) \le 2 \cdot 10^7`; its placement runs under every static scheduler; what came out is a plan.
    The best eight partitioners are tried on half of the devices, a quarter, and so on, too: the fastest one with those that are
    nearest to it. Each placement is then planned anew twelve times: by list scheduling that knows, of the placement before, how
    long it takes from each op to the end, and where its consumers ran
    (:func:`placelab.strategies.searches.tried_plans.replanned`); from the four best plans, 24 times more, by scores that chance
    changes a little.

    From each of the four best plans (least memory short, then least makespan, then the first) a walk tries a quarter of the
    moves, all four side by side on all cores; after half of them the worse two go on from the best plan, and one that has gained
    nothing in a fifth of its moves goes on from the next plan of the catalogue. A move is kept when the plan gets at most so much
    longer than the shortest one met on that walk; that falls from 3, 10, 30 and 3 % to nothing, from proportionally less where
    there are fewer than 2,000 moves per op:

    - a unit (an op, or a colocation group) of the realised critical path, or next to it, to another device: the most promising
      of three, which are those of neighbours one time in two,
    - together with a cluster of up to 31 others, joined to it by heavy edges: any, or only those that lead to it, or from it,
    - two units that change devices,
    - an op before an earlier one on its device.

    Parameters
    ----------
    moves
        Moves that are timed; small problems get fewer, :math:`2000 \cdot units \cdot devices`. 0: by the size,
        :math:`20 \cdot ops \cdot devices + 2.4 \cdot 10^7 / ops`, but at most 600,000, and at most the largest of 20,000,
        :math:`4 \cdot 10^8 / ops` and :math:`2 \cdot 10^9 / ops`, of which the last counts up to 80,000.
    time_limit
        Seconds of wall-clock time after which the best so far is returned, wherever it stands: a safety net. What came out then
        depends on the machine, and a note says so.

    Returns
    -------
    Placement
        ``bound``: the best lower bound known (:func:`placelab.planning.lower_bounds.best_bound`).
        ``table``: one row per partitioner, with its best scheduler and the makespan of that as a plan, ``oom``, or why there
        is none; a row for each smaller number of devices, one for what was planned anew, and one of the search, each with its
        best plan. The scheduler ``planned`` reproduces ``estimate``, in every transfer model, since it is
        what simulating the plan gave: exactly, but for costs that are planned in a unit other than seconds, there to rounding.

    Notes
    -----
    A move is timed by simulating the plan from the first op on that it changes, from a state saved every 64 ops, and given up
    as soon as the longest way that is left makes it too long (the delta simulation of FlexFlow, Jia, Zaharia, Aiken 2019). Where
    transfers do not wait and take no time of devices, only the ops that would end at another time are timed: by the order
    before the move, which is then merged with what has changed; what comes out is the same.
    Transfers and Sends are included, exactly as the simulator has them, but under ``fair``, under ``sequential`` with Send
    ops, and where transfers wait and an op that takes no time ends together with another; so what a round of moves leads to is
    simulated, and dropped if it is not as good. Of moves of one unit only those are timed for which the longest way through
    the op, by heads and tails (Mastrolilli, Gambardella 2000), promises a plan that is not too long.

    Memory: a unit goes only where the static check of :mod:`placelab.planning.capacity` has room; where memory over time
    can run out, each improvement is simulated, and one that is out of memory is dropped. The search ends early at a lower
    bound of the problem.
    Partitioners that raise are rows of the table. The same seed gives the same placement, however many cores there are, unless
    the time ran out.

    References
    ----------
    Srivastava (2018) ch. 10; Jia, Zaharia, Aiken, "Beyond data and model parallelism" (MLSys 2019) §5.3; Mastrolilli,
    Gambardella, "Effective neighbourhood functions for the flexible job shop problem" (2000).

    Examples
    --------
    >>> import placelab as pl
    >>> found = pl.place(pl.Problem(pl.generators.gaussian_elimination(5), pl.Cluster.uniform(2)), "portfolio")
    >>> list(found.table.partitioner)[-1]
    'local search'
    """
    need("pandas")
    import pandas as pd

    late = _deadline(time_limit, cancel)
    plans, rows = catalogue_plans(problem, seed, _scaled(progress), late)
    search = LocalSearch(problem, plans, seed, moves or usual_moves(problem))
    while search.goes_on and not late():
        search.round()
        progress(Progress("local search", TRYING + (1 - TRYING) * search.share, search.best.makespan, search.bound))
    best = search.best
    table = pd.DataFrame([*rows, row_of("local search", search.best)])
    notes = [_first_note(problem, plans), search.note(plans[0], stopped=search.goes_on)]
    notes += ["every plan that was found is out of memory at some time"] if best.short > 0 else []
    bound = min(search.bound, best.makespan)
    placement = Placement(problem, best.device, best.order, best.makespan, bound=bound, not_before=best.not_before)
    return replace(placement, notes=tuple(notes), table=table)


def _scaled(progress: Report) -> Report:
    """Report the progress of the catalogue as a part of the whole."""
    return lambda one: progress(replace(one, fraction=TRYING * (one.fraction or 0.0)))


def _deadline(time_limit: float, cancel: Callable[[], bool]) -> Callable[[], bool]:
    """Whether to stop now."""
    end = perf_counter() + time_limit
    return lambda: cancel() or perf_counter() > end


# -------------------------------------------------------------------- the search


def usual_moves(problem: Problem) -> int:
    """Moves that are tried by default: the larger the problem, the more, until timing one takes long."""
    n = problem.graph.n_ops
    least = max(20_000, min(80_000, 2_000_000_000 // n))  # 80,000 take half a minute on 20,000 ops
    return min(20 * n * problem.cluster.n_devices + 24_000_000 // n, max(least, 400_000_000 // n), 600_000)


class Walk:
    """One of the searches that go on side by side: where it stands, the moves it has, and arrays that are its own."""

    def __init__(self, problem: Problem, fixed: tuple, plan: TriedPlan, moves: int, slack: float, seed: int) -> None:
        self.problem = problem
        self.fixed = fixed
        self.now = plan
        self.moves = moves
        self.slack = slack
        self.done = 0
        self.stale = 0  # rounds without a gain
        self.since = 0.0  # share of its moves before it began with its plan
        self.assignment = Assignment(problem)
        self.eager = problem.memory_model.timed and can_bind(problem)
        self.random = np.array([seed % MODULUS + 1], dtype=np.int64)
        k = problem.cluster.n_devices
        self.width = 2 * k + plan_arrays.lanes(problem)

    @property
    def share(self) -> float:
        """Of its moves that have been tried."""
        return min(self.done / self.moves, 1.0) if self.moves else 1.0

    def begin(self, plan: TriedPlan) -> None:
        """Go on from another plan, which may get as much longer as the first one might."""
        self.now = plan
        self.stale = 0
        self.since = self.share

    def round(self) -> None:
        """Some moves from where it stands; what they lead to is kept if running it is no worse."""
        if self.share == 1:
            return
        wanted = min(max(-(-self.moves // ROUNDS), LEAST), self.moves - self.done)
        left = max((1 - self.share) / (1 - self.since) - 1 / ROUNDS, 0.0)
        device, order, tried, _ = self.improve(wanted, 0.0 if self.eager else self.slack * left)
        self.done += max(tried, 1) + CHECK if self.eager else wanted
        plan = run(self.problem, device, order, "local search", "planned")
        self.stale = 0 if plan.cost < self.now.cost else self.stale + 1
        self.now = plan if plan.cost <= self.now.cost else self.now

    def improve(self, moves: int, slack: float = 0.0) -> tuple[np.ndarray, np.ndarray, int, np.ndarray]:
        """By the kernel, from where it stands: device, order, moves tried, and the makespans it saw at first and at the end."""
        k = self.problem.cluster.n_devices
        width = self.width
        device = self.now.device.copy()
        order = self.now.order.copy()
        needs = self.assignment.needs
        capacity = self.assignment.capacity
        place = device[self.assignment.units.first]
        capacity.used[:] = np.bincount(place, needs.held, minlength=k)
        capacity.top[:] = 0.0
        np.maximum.at(capacity.top, place, needs.peak)
        trial = _timing(self.problem, width, np.empty_like(order))
        run = _timing(self.problem, width, order)
        makespan = np.empty(2)
        pred, succ, machine, lengths = self.fixed
        search = searching.Search(
            pred=pred,
            succ=succ,
            machine=machine,
            lengths=lengths,
            units=self.assignment.units_block,
            needs=needs,
            capacity=capacity,
            plan=_sequences(device, k),
            place=np.empty(len(order), np.int32),
            trial=trial,
            run=run,
            pending=_pending(len(order), k, width),
            paths=_paths(len(order)),
            ripple=_ripple(len(order)),
            moved=_moved(len(order)),
            random=self.random,
        )
        tried = kernels.improve(moves, slack, int(self.eager), search, makespan)
        return device, order, tried, makespan


class LocalSearch:
    """Local search round by round, by walks from the best of some plans, side by side."""

    def __init__(self, problem: Problem, plans: list[TriedPlan], seed: int, moves: int) -> None:
        self.problem = problem
        self.best = plans[0]
        self.bound = best_bound(problem)
        self.apart = True
        fixed = _fixed(problem)
        n = problem.graph.n_ops
        count = len(SLACK)
        self.moves = min(moves, 2000 * Assignment(problem).units.n * problem.cluster.n_devices)
        most = min(1.0, self.moves / (ENOUGH * n))
        starts = [plans[0], *(plan for a, plan in pairwise(plans) if plan.cost != a.cost)]
        starts += [plans[0]] * (count - len(starts))
        self.others = starts[count:]  # plans that no walk has begun with
        seeds = np.random.SeedSequence(seed % MODULUS).generate_state(count).tolist()
        self.walks = [
            Walk(problem, fixed, starts[i], (self.moves + count - 1 - i) // count, most * SLACK[i], seeds[i])
            for i in range(count)
        ]
        self.walks[0].improve(0)  # threads do not wait for the compiler

    @property
    def done(self) -> int:
        """Moves that have been tried."""
        return sum(walk.done for walk in self.walks)

    @property
    def share(self) -> float:
        """Of the moves that have been tried."""
        return min(walk.share for walk in self.walks)

    @property
    def goes_on(self) -> bool:
        """Whether there are moves left, and something to gain."""
        return self.share < 1 and not self.met

    @property
    def met(self) -> bool:
        """Whether the best plan meets a lower bound within memory, so that none is shorter."""
        return self.best.short == 0 and self.best.makespan <= self.bound * (1 + EXACT)

    def round(self) -> None:
        """One round of each walk, on all cores; then the best plan of all, and those that are to go on from another plan."""
        for _ in results(Walk.round, self.walks, never, threads=cores()):
            pass
        self.best = min((self.best, *(walk.now for walk in self.walks)), key=lambda plan: plan.cost)
        if self.apart and self.share >= EXCHANGE:
            self.apart = False
            for walk in sorted(self.walks, key=lambda walk: walk.now.cost)[len(self.walks) // 2 :]:
                walk.now = self.best
                walk.stale = 0
        for walk in self.walks:
            if walk.stale >= STALE and walk.share < LATEST and self.others:
                walk.begin(self.others.pop(0))

    def note(self, start: TriedPlan, stopped: bool) -> str:
        """What the search gained, in words."""
        share = 1 - self.best.makespan / start.makespan if start.makespan > 0 else 0.0
        gained = f"local search −{100 * share:.2g} %" if share > 0 else "local search found nothing shorter"
        if self.best.makespan <= self.bound * (1 + EXACT):
            return f"{gained}: no schedule is shorter, it meets a lower bound"
        end = ", stopped before its end; a run that is not stopped may find more" if stopped else ""
        return f"{gained} in {self.done:,} moves{end}"


def _fixed(problem: Problem) -> tuple[blocks.Predecessors, blocks.Successors, searching.Machine, searching.Lengths]:
    """The problem as the kernel takes it, up to the units."""
    graph = problem.graph
    cluster = problem.cluster
    k = problem.cluster.n_devices
    succ = plan_arrays.successors(graph)
    least = least_exec(problem)
    rest = np.empty(graph.n_ops)
    rank_kernels.upward(frozen(least), succ, 0.0, 0.0, rest)
    rest = np.maximum(rest * (1 - 1e-12) - least, 0.0)  # sums of floats associate from the other end here
    machine = searching.Machine(
        problem.transfer_model.planned,
        (3 if problem.duplex else 2) * k,
        held(problem.latency),
        frozen(problem.transfer_ops / cluster.speed),
        cluster.latency.reshape(-1),
        cluster.bandwidth.reshape(-1),
    )
    lengths = searching.Lengths(frozen(problem.exec_table().reshape(-1)), frozen(rest))
    return plan_arrays.predecessors(graph), succ, machine, lengths


def _timing(problem: Problem, width: int, order: np.ndarray) -> searching.Timing:
    """Empty times of a plan, and its order."""
    n = problem.graph.n_ops
    m = problem.graph.n_edges
    rows = (n - 1) // CHUNK + 1
    return searching.Timing(np.empty(n), order, np.empty(m), np.empty(rows * width), CHUNK, width)


def _sequences(device: np.ndarray, k: int) -> searching.Sequences:
    n = len(device)
    return searching.Sequences(device, np.empty(k, np.int32), np.empty(n, np.int32), np.empty(n, np.int32))


def _pending(n: int, k: int, width: int) -> searching.Pending:
    whole = lambda size: np.empty(size, np.int32)  # noqa: E731
    return searching.Pending(np.empty(width), whole(k), whole(k), np.empty(k), whole(k), whole(n))


def _paths(n: int) -> searching.Paths:
    return searching.Paths(np.empty(n, np.int32), np.empty(n), np.empty(2 * n, np.int32))


def _ripple(n: int) -> searching.Ripple:
    whole = lambda: np.empty(n, np.int32)  # noqa: E731
    return searching.Ripple(whole(), whole(), whole(), np.empty(n), whole())


def _moved(n: int) -> searching.Moved:
    return searching.Moved(*(np.empty(n, np.int32) for _ in range(5)))


# -------------------------------------------------------------------- what is said about it


def _first_note(problem: Problem, plans: list[TriedPlan]) -> str:
    """What the search began with."""
    best = plans[0]
    makespan = problem.cluster.units.time(best.makespan)
    return f"best of {len(plans)} plans: {best.partitioner} in {best.scheduler} order, {makespan}"

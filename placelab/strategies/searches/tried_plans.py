"""Plans of the catalogue: of all quick partitioners, on all devices and on fewer, and what comes of planning them anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from placelab.base.errors import FormatError, InfeasibleError, UnsupportedError
from placelab.base.index_arrays import frozen
from placelab.base.progress import Progress, Report, never, silent
from placelab.base.threads import cores, results
from placelab.planning import plan_arrays
from placelab.planning.list_scheduler import planned_order
from placelab.planning.list_scheduling import in_order
from placelab.planning.lower_bounds import best_bound
from placelab.planning.ranks import by_falling, path_computation_time, rounded
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Partitioner, keywords, partitioners, schedulers
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.batches import schedule_or_raise, simulate_all
from placelab.simulation.event_simulation import RunRequest, run_of, simulate

EXACT = 1e-6  # relative: nothing is searched for below that
MODULUS = 2**31 - 2  # seeds of the search's generator are 1 to this
FIRST = 8  # partitioners whose plans were best are tried on fewer devices, too
PASSES = 12  # of list scheduling, from each placement of the catalogue
FURTHER = 24  # from the best ones, by scores that chance changes a little
LEADERS = 4  # that go on so
ORDERS = "planned", "pct"  # schedulers that order what comes of one
EZ = 2e7  # edges · (ops + edges) up to which `ez` is tried, which is slow elsewhere
MOST = 5_000_000  # ops · devices up to which a table with a row for each op is no burden
TYPICAL = 1e6  # bytes of a transfer by which links are compared
AGAIN = ", replanned"  # follows the name of the partitioner that a chain of plans began with
Key = tuple[bytes, bytes, bytes]  # devices, order and earliest starts of a plan


@dataclass(frozen=True, eq=False)
class TriedPlan:
    """A placement with an order, and what came of running it."""

    device: np.ndarray
    order: np.ndarray  # ops by finish
    makespan: float
    short: float  # bytes missing, summed over the spans in which a device is out of memory
    partitioner: str  # whose placement it was
    scheduler: str  # whose order it was
    not_before: np.ndarray | None = None  # of a plan that waits for memory

    @property
    def cost(self) -> tuple[float, float]:
        """What is compared: memory, then time."""
        return self.short, self.makespan


def run(problem: Problem, device: np.ndarray, order: np.ndarray, by: str, rule: str) -> TriedPlan:
    """What comes of a placement and an order, by the simulator's ``planned``."""
    return _plan(simulate(problem, Placement(problem, device, order), "planned"), by, rule)


def _plan(schedule: Schedule, by: str, rule: str) -> TriedPlan:
    start = schedule.start
    finish = schedule.finish
    order = cast(np.ndarray, schedule.placement.planned)
    by_finish = np.lexsort((np.argsort(order), start, finish)).astype(np.int32)
    short = float(schedule.oom["bytes"].sum())
    waits = schedule.placement.not_before
    return TriedPlan(schedule.device, by_finish, schedule.makespan, short, by, rule, waits)


def catalogue_plans(
    problem: Problem, seed: int, progress: Report, late: Callable[[], bool]
) -> tuple[list[TriedPlan], list[dict[str, Any]]]:
    """Plans of all quick partitioners, best first, and a row for each; until one works, all are tried. See :class:`Catalogue`.

    `late` is called before each; when it returns True, those that are left are not tried.

    Raises
    ------
    InfeasibleError
        Or what else was raised first, where no partitioner has a plan.
    """
    found = Catalogue(problem, seed, late)
    quick = found.quick()
    for i, function in enumerate(quick):
        progress(Progress(f"trying {function.name}", 0.5 * i / len(quick), found.least))
        found.add(function)
    if not found.plans:
        raise next((error for error in found.refused if isinstance(error, InfeasibleError)), found.refused[0])
    if found.goes_on:
        found.on_fewer_devices()
    for i in range(PASSES + FURTHER if found.goes_on else 0):
        progress(Progress("replanning", 0.5 + 0.5 * i / (PASSES + FURTHER), found.least))
        found.replan() if i < PASSES else found.replan_by_chance(i)
    return sorted(found.plans, key=lambda plan: plan.cost), found.table()


class Catalogue:
    """Plans of the quick partitioners, on all devices and on fewer, and what comes of them when they are planned anew."""

    def __init__(self, problem: Problem, seed: int, late: Callable[[], bool]) -> None:
        self.problem = problem
        self.seed = seed
        self.late = late
        self.plans: list[TriedPlan] = []
        self.rows: list[dict[str, Any]] = []
        self.refused: list[Exception] = []
        self.known: dict[Key, TriedPlan] = {}
        self.chains: list[TriedPlan] = []  # that are planned anew
        self.met: set[bytes] = set()  # devices of all ops in what was planned anew
        self.again: TriedPlan | None = None  # the best of that

    @property
    def least(self) -> float | None:
        """The least makespan so far."""
        return min((plan.makespan for plan in self.plans), default=None)

    @property
    def best(self) -> TriedPlan:
        """The best plan so far."""
        return min(self.plans, key=lambda plan: plan.cost)

    @property
    def goes_on(self) -> bool:
        """Whether there is time left and something to gain."""
        best = self.best
        return not self.late() and (best.short > 0 or best.makespan > best_bound(self.problem) * (1 + EXACT))

    def quick(self) -> list[Partitioner]:
        """The partitioners that are tried."""
        n = self.problem.graph.n_ops
        m = self.problem.graph.n_edges
        small = {"ez"} if m * (n + m) <= EZ else set()
        return [function for function in partitioners().values() if function.name in small or not function.slow]

    def add(self, function: Partitioner) -> None:
        """Try a partitioner, unless it is late and there is a plan."""
        if self.plans and self.late():
            self.rows.append(row_of(function.name, error="not tried: stopped before"))
            return
        try:
            plan = _try(self.problem, function, self.seed, self.known)
        except Exception as error:  # a user's strategy may raise anything
            self.rows.append(row_of(function.name, error=str(error) or type(error).__name__))
            self.refused.append(error)
            return
        self.plans.append(plan)
        self.rows.append(row_of(function.name, plan))

    def on_fewer_devices(self) -> None:
        """Try the best partitioners on half of the devices, a quarter, and so on."""
        named = partitioners()
        first = [named[plan.partitioner] for plan in sorted(self.plans, key=lambda plan: plan.cost)[:FIRST]]
        for devices in nearest_halves(self.problem.cluster):
            try:
                part = part_of(self.problem, devices)
            except (FormatError, InfeasibleError):  # some op may run on none of them
                continue
            tried: list[TriedPlan] = []
            for function in first:
                if self.late():
                    return
                with suppress(Exception):  # a user's strategy may raise anything; on all devices it did not
                    tried.append(_try(self.problem, function, self.seed, self.known, part, devices))
            if tried:
                self.plans += tried
                self.rows.append(row_of(f"on {len(devices)} devices", min(tried, key=lambda plan: plan.cost)))

    def replan(self) -> None:
        """Plan each chain anew, from the placement that it has come to; one that comes to a known placement ends."""
        known = self.met
        going = list[TriedPlan]()
        for plan in self.chains or sorted(self.plans, key=lambda plan: plan.cost):
            key = plan.device.tobytes()
            if key not in known:
                known.add(key)
                going.append(plan)
        self._go_on(going, None)

    def replan_by_chance(self, number: int) -> None:
        """Plan the leaders anew: at first the best plans, then what came of them."""
        if number == PASSES:
            self.chains = sorted(self.plans, key=lambda plan: plan.cost)
        self._go_on(self.chains[:LEADERS], number)

    def _go_on(self, plans: list[TriedPlan], number: int | None) -> None:
        """Plan these anew, side by side; by chance if the pass has a number."""
        if self.problem.graph.n_ops * self.problem.cluster.n_devices > MOST:
            return
        anew = lambda i: self._anew(plans[i], None if number is None else (self.seed % MODULUS, number, i))  # noqa: E731
        found = dict(results(anew, range(len(plans)), self.late, threads=cores()))
        self.chains = [plan for i in sorted(found) if (plan := found[i])]
        self.plans += self.chains
        if self.chains:
            self.again = min(filter(None, (self.again, *self.chains)), key=lambda plan: plan.cost)

    def _anew(self, plan: TriedPlan, seed: tuple[int, ...] | None) -> TriedPlan | None:
        """What comes of planning anew from a plan's placement; None where there is no room for some op."""
        by = plan.partitioner.removesuffix(AGAIN) + AGAIN
        try:
            placement = replanned(self.problem, plan.device, None if seed is None else np.random.default_rng(seed))
        except InfeasibleError:
            return None
        return _best_order(self.problem, placement, ORDERS, self.seed, {}, by)

    def table(self) -> list[dict[str, Any]]:
        """A row for each partitioner, for each smaller number of devices, and for what was planned anew."""
        return self.rows if self.again is None else [*self.rows, row_of("replanned", self.again)]


def _try(
    problem: Problem,
    function: Partitioner,
    seed: int,
    known: dict[Key, TriedPlan],
    part: Problem | None = None,
    devices: np.ndarray | None = None,
) -> TriedPlan:
    """The best plan that a partitioner's placement makes, on all devices or a part, whichever static scheduler orders it."""
    asked = dict(seed=seed, trace=False, preview=False, progress=silent, cancel=never)
    placement = function(problem if part is None else part, **keywords(function, {}, **asked))
    by = function.name
    if devices is not None:
        placement = Placement(problem, devices[placement.device].astype(np.int32), placement.planned)
        by = f"{by} on {len(devices)} devices"
    static = tuple(name for name, scheduler in schedulers().items() if scheduler.static)
    return _best_order(problem, placement, static, seed, known, by)


def _best_order(
    problem: Problem, placement: Placement, names: Sequence[str], seed: int, known: dict[Key, TriedPlan], by: str
) -> TriedPlan:
    """The best plan that a placement makes, whichever of the schedulers orders it; those `known` are not run."""
    base = run_of(problem, placement, "fifo", seed, "mark", {})
    static = [schedulers()[name] for name in names]
    ordered = dict[str, Key]()
    new = dict[Key, RunRequest]()
    for scheduler, found in zip(static, simulate_all([base.by(scheduler) for scheduler in static]), strict=True):
        if isinstance(found, UnsupportedError):  # planned, without a plan
            continue
        schedule = schedule_or_raise(found)
        order = planned_order(schedule.start, schedule.finish)
        waits = placement.not_before if scheduler.name == "planned" else None
        key = schedule.device.tobytes(), order.tobytes(), b"" if waits is None else waits.tobytes()
        ordered[scheduler.name] = key
        if key not in known:
            plan = Placement(problem, schedule.device, order, not_before=waits)
            new[key] = base.by(schedulers()["planned"])._replace(placement=plan)
    for key, found in zip(new, simulate_all(list(new.values())), strict=True):
        known[key] = _plan(schedule_or_raise(found), by, "")
    plans = [replace(known[key], partitioner=by, scheduler=name) for name, key in ordered.items()]
    return min(plans, key=lambda plan: plan.cost)


def row_of(name: str, plan: TriedPlan | None = None, error: str = "") -> dict[str, Any]:
    """What a table says of a partitioner: its plan, or why it has none."""
    if plan is None:
        return dict(partitioner=name, scheduler="", makespan=np.nan, oom=False, error=error)
    return dict(partitioner=name, scheduler=plan.scheduler, makespan=plan.makespan, oom=plan.short > 0, error="")


# -------------------------------------------------------------------- list scheduling once more, and on fewer devices


def replanned(problem: Problem, device: np.ndarray, random: np.random.Generator | None = None) -> Placement:
    r"""Put each op anew where its way to the end is shortest, if its consumers ran where they are in the given placement.

    .. math:: p_v = \arg\min_d EFT(v, d) + \max_{s \in succ(v)} (trans(\tau, d, p'_s) + PCT'(s))

    By falling PCT, both of the given placement p'. HEFT knows only the mean transfer in its rank, and nothing about what follows
    in its choice; here both are those of a plan that exists. With `random` each score is up to the mean time of an op larger,
    so that another plan comes of the same placement. O(edges · devices) beside the list scheduling.
    """
    rank, _ = path_computation_time(problem, device, transfers=False)
    order, _ = by_falling(rounded(rank))
    rest = _rest(problem, device, rank)
    if random is not None:
        rest = frozen(rest + random.uniform(0.0, problem.exec_times(device).mean(), len(rest)))
    return in_order(problem, order, aim=plan_arrays.aim(extra=rest))


def _rest(problem: Problem, device: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Seconds from the end of each op to that of the plan, if it ran on each device: of op v on device d at v * k + d."""
    graph = problem.graph
    k = problem.cluster.n_devices
    network = plan_arrays.network(problem)
    rest = np.zeros((graph.n_ops, k))
    ptr = graph.succ_ptr
    sends = np.flatnonzero(ptr[1:] > ptr[:-1])
    if len(sends):
        to = device[graph.consumer]
        after = rank[graph.consumer]
        for d in range(k):
            link = d * k + to
            ways = network.delay[link] + graph.edge_bytes / network.bandwidth[link] + after
            rest[sends, d] = np.maximum.reduceat(ways, ptr[sends])
    return frozen(rest.reshape(-1))


def nearest_halves(cluster: Cluster) -> list[np.ndarray]:
    """Half of the devices, a quarter, and so on down to two: the fastest one with those that it exchanges most quickly with.

    On a machine whose hosts are joined by slower links than devices within one, that is a host, then a part of it.
    """
    speed = cluster.speed
    first = int(np.argmax(speed))
    way = _ways(cluster)[first]
    near = np.lexsort((-speed, way))
    sizes: list[int] = []
    size = len(speed) // 2
    while size >= 2:
        sizes.append(size)
        size //= 2
    return [np.sort(near[:size]) for size in sizes]


def _ways(cluster: Cluster) -> np.ndarray:
    """Seconds of a typical transfer to each device from each, and back; 0 within one."""
    there = cluster.latency + TYPICAL / cluster.bandwidth
    np.fill_diagonal(there, 0.0)
    return there + there.T


def part_of(problem: Problem, devices: np.ndarray) -> Problem:
    """The problem on some of its devices.

    Raises
    ------
    FormatError, InfeasibleError
        Some op can run on none of them.
    """
    cluster = problem.cluster
    among = np.ix_(devices, devices)
    kept = [tuple(values[d] for d in devices) for values in (cluster.names, cluster.types, cluster.hosts)]
    part = Cluster(
        cluster.speed[devices],
        memory=cluster.memory[devices],
        bandwidth=cluster.bandwidth[among],
        latency=cluster.latency[among],
        names=kept[0],
        types=kept[1],
        hosts=kept[2],
    )
    return problem.replace(cluster=part)

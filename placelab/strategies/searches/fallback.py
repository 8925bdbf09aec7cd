"""Find a plan where a strategy is stuck for want of memory: depth first, in few pieces, one device after the other, by trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import InfeasibleError, PlacelabError, UnsupportedError
from placelab.base.index_arrays import frozen
from placelab.base.progress import Progress, Report, never, silent
from placelab.planning.capacity import Units, units
from placelab.planning.depth_first import depth_first_order
from placelab.planning.list_scheduler import ListScheduler
from placelab.planning.ranks import mean_exec, relative_speed
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.trace import PLANNED_FINISH, Trace
from placelab.simulation.event_simulation import simulate
from placelab.strategies.searches.cp_sat_search import left_out, search
from placelab.strategies.searches.incumbent import Incumbent, run

EACH = 8  # devices; of more, every half of their number is tried
SLACK = 1 / 8  # of the mean piece
STEPS = 100_000  # ops times devices that are planned op by op
SMALL = 12  # ops of a problem that is searched
TRIALS = 3_000  # partial plans
EFFORT = 5.0  # of cp-sat, as the next
TIME_LIMIT = 20.0


def instead(
    problem: Problem,
    name: str,
    error: InfeasibleError,
    *,
    trace: bool = False,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> Placement:
    """A plan within memory for a problem on which the strategy `name` was stuck with `error`.

    Notes
    -----
    Tried one after the other, until there is a plan: :func:`depth_first_plan`; for up to 12 ops, all sequences of an op and a
    device, depth first ones first, up to 3,000 partial plans; the same problem by ``cp-sat``, for at most 20 s. The problem keeps
    the answer, which is the same for all strategies.

    Raises
    ------
    InfeasibleError
        None has a plan: the error, which says that the strategy is stuck, and the least memory that suffices to the first; or
        that ``cp-sat`` has proven that there is none; or that the search for a plan was cancelled before it had one.
    """
    plan, note, proof, least = _answer(problem, progress, cancel)
    if proof:
        raise _said_anew(f"{proof}: {error}", error)
    if plan is None:
        raise stuck(name, error, least) if least else _cut_short(name, error)
    said = f"{name} was stuck; this is {note}"
    return replace(plan, notes=(said,), trace=_trace(plan, note) if trace else None)


class Answer(NamedTuple):
    """What stands in on a problem for any strategy that is stuck.

    Attributes
    ----------
    plan, note
        A plan within memory, and which it is; None where none was found.
    proof
        Why there is none, else "".
    least
        Bytes on each device that suffice to the depth-first plan; 0 where there is a plan or a proof, or the search was cut off.
    """

    plan: Placement | None
    note: str
    proof: str = ""
    least: float = 0.0


KEPT = "_what_stands_in"  # of a problem, beside its cached properties


def _answer(problem: Problem, progress: Report, cancel: Callable[[], bool]) -> Answer:
    """What stands in, looked for once in a problem that all strategies are tried on; not kept where it was cut short."""
    kept = vars(problem)
    if KEPT not in kept:
        answer = _looked_for(problem, progress, cancel)
        if cancel():
            return answer
        kept[KEPT] = answer
    return kept[KEPT]


def _looked_for(problem: Problem, progress: Report, cancel: Callable[[], bool]) -> Answer:
    order = depth_first_order(problem)
    found = Answer(depth_first_plan(problem, order, progress, cancel), "the depth-first plan")
    if found.plan is not None and cancel():
        return found._replace(note="the best depth-first plan that was found before the search was stopped")
    if found.plan is None and problem.graph.n_ops <= SMALL and not cancel():
        found = Answer(_by_trial(problem, order, cancel), "a plan found by trial")
        if found.plan is None and not cancel():
            found = _by_cp_sat(problem, progress, cancel)
    if found.plan is not None or found.proof or cancel():
        return found
    least = _least_memory(problem, order, cancel)
    return found if cancel() else found._replace(least=least)


def depth_first_plan(
    problem: Problem, order: np.ndarray | None = None, progress: Report = silent, cancel: Callable[[], bool] = never
) -> Placement | None:
    """The shortest plan that :func:`placelab.planning.depth_first.depth_first_order` makes; None if it makes none within memory.

    Notes
    -----
    The order is cut into contiguous pieces on m, m − 1, … 1 devices (the fastest; of more than 8 devices on m, m/2, m/4, …), by
    work and by the bytes that ops keep for the whole run, and on each device alone. Each of these is simulated; where memory is
    short, again with ``oom="wait"``. If none runs within memory, ops are planned one by one in the order: on the device of their
    piece or, where that has no room, the next one that has; then on one device after the other, each until it is full. An op
    goes to its group, and to devices that it may use. An estimate is the makespan of the run. O(m · a simulation).
    """
    if order is None:
        order = depth_first_order(problem)
    best: Placement | None = None
    cuts = list(_cuts(problem, order))
    for i, device in enumerate(cuts):
        if cancel():
            return best
        progress(Progress("planning depth first", i / len(cuts), None if best is None else best.estimate))
        best = _better(best, _run(problem, Placement(problem, device, order)))
    if best is not None or problem.graph.n_ops * problem.cluster.n_devices > STEPS:
        return best
    for wished in (*cuts, None):
        if best is not None or cancel():
            return best
        best = _one_by_one(problem, order, wished)
    return best


def depth_first_need(problem: Problem, cancel: Callable[[], bool] = never) -> float:
    """Bytes on each device with which :func:`depth_first_plan` makes a plan, whatever they have.

    When `cancel` returns True, which is called before each simulation, of the cuts tried until then; infinity of none.
    """
    kept = vars(problem).get(KEPT)
    if kept is not None and kept.least:
        return kept.least
    return float("inf") if cancel() else _least_memory(problem, depth_first_order(problem), cancel)


def _least_memory(problem: Problem, order: np.ndarray, cancel: Callable[[], bool]) -> float:
    """Bytes on each device with which one of the cuts runs that are tried until `cancel` returns True; infinity of none."""
    least = float("inf")
    for device in _cuts(problem, order):
        if cancel():
            break
        run = simulate(problem, Placement(problem, device, order), "planned")
        least = min(least, float(run.peak_memory.max()))
    return least


def stuck(name: str, error: InfeasibleError, least: float) -> InfeasibleError:
    """The error of a strategy that is stuck where the depth-first plan is, too: names the least memory that suffices to that."""
    message = (
        f"{name} is stuck, and so is the depth-first plan, which proves no lack of plans; {least:.6g} bytes on each device "
        f"suffice to it; give them as much, or try 'cp-sat': {error}"
    )
    return _said_anew(message, error, stuck=True, suffices=least)


def _cut_short(name: str, error: InfeasibleError) -> InfeasibleError:
    """The error of a strategy that is stuck where the search for another plan was cancelled: of that one nothing is known."""
    message = (
        f"{name} is stuck, and the search for another plan was stopped before it had one; there may be one: {error}"
    )
    return _said_anew(message, error, stuck=True)


def _said_anew(message: str, error: InfeasibleError, **known: Any) -> InfeasibleError:
    causes: dict[str, Any] = dict(
        op=error.op, group=error.group, fixed=error.fixed, devices=error.devices, short=error.short
    )
    return InfeasibleError(message, **causes, **known)


def warm(
    incumbent: Incumbent, heuristics: tuple[Callable[[Problem], Placement], ...], cancel: Callable[[], bool] = never
) -> None:
    """Offer the placement of each heuristic; skip those that fail. If all do, offer the depth-first plan."""
    for heuristic in heuristics:
        try:
            incumbent.offer_placement(heuristic(incumbent.problem))
        except PlacelabError:
            continue
    if incumbent.placement is None and (plan := depth_first_plan(incumbent.problem, cancel=cancel)) is not None:
        incumbent.offer_placement(plan)


def _cuts(problem: Problem, order: np.ndarray) -> Iterator[np.ndarray]:
    """Devices of the ops when the order is cut into pieces, each cut once."""
    unit = units(problem)
    known = set()
    fastest = np.lexsort((-problem.cluster.memory, -relative_speed(problem)))
    kinds = [(mean_exec(problem), relative_speed(problem))]
    if problem.lasting.any() and np.isfinite(problem.cluster.memory).all() and problem.cluster.memory.any():
        kinds.append((problem.lasting, problem.cluster.memory))
    bytes_held = _held_after(problem, order)
    for used in _subsets(fastest):
        for weight, share in kinds:
            for slack in (SLACK, 0.0):
                piece = _pieces(weight[order], share[used], bytes_held, slack)
                device = _on_devices(problem, unit, order, used, piece)
                if device.tobytes() not in known:
                    known.add(device.tobytes())
                    yield device


def _subsets(devices: np.ndarray) -> Iterator[np.ndarray]:
    m = len(devices)
    while m > 1:
        yield np.sort(devices[:m])
        m = m - 1 if m <= EACH else max(m // 2, EACH)
    for d in devices[:EACH]:
        yield devices[devices == d]


def _held_after(problem: Problem, order: np.ndarray) -> np.ndarray:
    """Bytes of the storages that have begun by then and are read later, after each place in the order; shape (n_ops,)."""
    graph = problem.graph
    place = np.empty(graph.n_ops, np.int64)
    place[order] = np.arange(graph.n_ops)
    storage = np.arange(graph.n_tensors) if graph.tensor_storage is None else graph.tensor_storage
    size = np.where(storage == np.arange(graph.n_tensors), graph.storage_bytes, 0.0)
    made = place[graph.tensor_producer]
    read = made.copy()
    np.maximum.at(read, storage[graph.edge_tensor], place[graph.consumer])
    return np.cumsum(np.bincount(made, size, graph.n_ops) - np.bincount(read, size, graph.n_ops))


def _pieces(weight: np.ndarray, share: np.ndarray, held: np.ndarray, slack: float) -> np.ndarray:
    """The piece of each place, of weight in proportion to the shares; cut where least is held within `slack` of a mean piece."""
    done = np.cumsum(weight)
    wide = slack * done[-1] / len(share)
    share = share if share.any() else np.ones(len(share))
    cuts = []
    for ideal in (np.cumsum(share) / share.sum() * done[-1])[:-1]:
        first, end = np.searchsorted(done, [ideal - wide, ideal + wide])
        near = np.arange(min(first, len(done) - 1), max(min(end, len(done)), first + 1))
        near = near[near < len(done)]
        cuts.append(near[np.lexsort((np.abs(done[near] - ideal), held[near]))[0]])
    return np.searchsorted(np.maximum.accumulate(cuts), np.arange(len(done))) if cuts else np.zeros(len(done), np.int64)


def _on_devices(problem: Problem, unit: Units, order: np.ndarray, used: np.ndarray, piece: np.ndarray) -> np.ndarray:
    """Devices of the ops, int32 of shape (n_ops,): a unit where its first op's piece is or, if it may not, the next of `used`."""
    queue, position = unit.queue(order)
    target = used[piece[position]]
    k = problem.cluster.n_devices
    if problem.restricted:
        may = problem.may_run[unit.first[queue]]
        here = may & np.isin(np.arange(k), used)
        here = np.where(here.any(axis=1)[:, None], here, may)
        target = np.where(here, (np.arange(k) - target[:, None]) % k, k).argmin(axis=1)
    device = np.empty(unit.n, np.int32)
    device[queue] = target
    return frozen(device[unit.of])


def _run(problem: Problem, placement: Placement) -> Placement | None:
    """The plan with what its run took as its estimate, if that is within memory."""
    schedule = run(problem, placement)
    return None if schedule is None else replace(schedule.placement, estimate=schedule.makespan)


def _better(a: Placement | None, b: Placement | None) -> Placement | None:
    if a is None or b is None:
        return a if b is None else b
    return b if (b.estimate or 0.0) < (a.estimate or 0.0) else a


def _one_by_one(problem: Problem, order: np.ndarray, device: np.ndarray | None) -> Placement | None:
    """Ops planned in this order, each on its device if that has room, else the next one; without `device` on that of the last."""
    plan = ListScheduler(problem)
    last = 0
    for v in order.tolist():
        found = plan.next_candidate(v, last if device is None else int(device[v]))
        if found is None:
            return None
        last = found
        plan.place(v, last)
    return _run(problem, plan.placement())


def _by_trial(problem: Problem, order: np.ndarray, cancel: Callable[[], bool]) -> Placement | None:
    """The first plan that a depth-first search over sequences of an op and a device finds; those met before are left out."""
    graph = problem.graph
    inputs = [set(graph.predecessors_of(v).tolist()) for v in range(graph.n_ops)]
    stack: list[tuple[tuple[int, int], ...]] = [()]
    known: set[frozenset[tuple[int, int]]] = set()
    while stack and len(known) < TRIALS and not cancel():
        sequence = stack.pop()
        if frozenset(sequence) in known:
            continue
        known.add(frozenset(sequence))
        plan = ListScheduler(problem)
        for v, d in sequence:
            plan.place(v, d)
        done = {v for v, _ in sequence}
        if len(done) == graph.n_ops:
            if (found := _run(problem, plan.placement())) is not None:
                return found
            continue
        ready = [v for v in order.tolist() if v not in done and inputs[v] <= done]
        stack += [(*sequence, (v, d)) for v in reversed(ready) for d in reversed(plan.candidates(v))]
    return None


def _by_cp_sat(problem: Problem, progress: Report, cancel: Callable[[], bool]) -> Answer:
    """The plan of cp-sat, or none where it finds none, or is not installed; or its proof that there is none."""
    incumbent = Incumbent(problem, "searching", progress, left_out(problem))
    try:
        search(problem, incumbent, EFFORT, TIME_LIMIT, 0, cancel)
    except UnsupportedError:
        return Answer(None, "")
    except InfeasibleError as proof:
        return Answer(None, "", str(proof))
    return Answer(incumbent.placement, "a plan of cp-sat")


def _trace(placement: Placement, note: str) -> Trace:
    """Each unit in the planned order with the time at which its op ends there; no other device was compared."""
    problem = placement.problem
    unit = units(problem)
    assert placement.planned is not None
    op = placement.planned[unit.queue(placement.planned)[1]]
    finish = simulate(problem, placement, "planned").finish
    score = np.full((len(op), problem.cluster.n_devices), np.nan)
    score[np.arange(len(op)), placement.device[op]] = finish[op]
    reason = frozen(np.zeros(len(op), np.int32))
    return Trace(
        frozen(op), frozen(placement.device[op]), frozen(score), reason, (f"part of {note}",), PLANNED_FINISH, "finish"
    )

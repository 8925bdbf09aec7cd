"""Check that a strategy keeps its contract: in a test, in a cell of a notebook, in an exercise of a course.

A partitioner keeps its contract if, on every problem, it

- places all ops, keeps colocation groups together and obeys restrictions,
- returns the same placement for the same seed, with or without a trace, with defaults written out or left out,
- does not change the problem,
- puts no more lasting bytes on a device than fit, and
- plans an order that runs without breaking a rule or a lower bound.

It may raise UnsupportedError, but not for small problems without limits of memory, and InfeasibleError only where memory is
limited or no device may run all ops. Memory over time may run short; the schedule marks where. A scheduler keeps its contract
if its schedules break no rule and no lower bound, are the same for the same seed, and leave the problem unchanged.

A contest sets a strategy against a baseline, on problems that its author has not seen.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

import numpy as np

from placelab.analysis.validation import validate
from placelab.base.errors import InfeasibleError, UnsupportedError, count, described
from placelab.base.interrupts import need
from placelab.base.seeds import generator
from placelab.formats.python_code import as_code
from placelab.graphs import generators
from placelab.graphs.generators import gaussian_elimination, layered, pipeline_training
from placelab.planning.lower_bounds import bounds
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Partitioner, Scheduler, _enter, find, partitioners, schedulers
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TOLERANCE, Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place
from placelab.testing.answers import (
    SECONDS,
    Called,
    Forbidden,
    Watch,
    answer,
    apart,
    fail,
    fail_called,
    fail_empty,
    is_empty,
    of_original,
    title,
)

if TYPE_CHECKING:
    import pandas as pd


ROUNDING = 1e-9  # relative
SMALL = 10  # ops; every strategy, also an exact one, must place problems of this size
SEARCHED = 20  # ops; larger examples, each placed several times, would keep a search busy for minutes
BESIDE = ("heft", "cpop", "etf", "critical-path")


def check_partitioner(
    partitioner: str | Callable,
    problems: Iterable[Problem] | None = None,
    *,
    seconds: float | None = None,
    forbid: Iterable[Forbidden] = (),
) -> None:
    """Check a partitioner's contract, which the module's docstring states.

    Parameters
    ----------
    partitioner
        Name in the catalogue, decorated function, or plain function ``f(problem, ...)``.
    problems
        Problems to check it on; default :func:`examples`, for one that searches for seconds (``slow``) those of up to 20 ops.
    seconds
        Limit of the whole check; default: none.
    forbid
        What of placelab's own it must not call: ``"partitioners"``, ``"schedulers"``, ``"simulation"``, a name, a function.

    Raises
    ------
    AssertionError
        The contract is broken; the message says how, and on which smallest problem, as code to run.

    Examples
    --------
    >>> check_partitioner("heft")
    """
    f: Partitioner = Watch(forbid).around(strategy(partitioner, "partitioner"))
    if problems is None and getattr(f, "slow", False):
        problems = [problem for problem in examples() if problem.graph.n_ops <= SEARCHED]
    _first_fault("partitioner", f, _partitioner_faults, problems, seconds)


def check_scheduler(
    scheduler: str | Callable,
    problems: Iterable[Problem] | None = None,
    *,
    seconds: float | None = None,
    forbid: Iterable[Forbidden] = (),
) -> None:
    """Check a scheduler's contract, which the module's docstring states, on several placements of each problem.

    Parameters
    ----------
    scheduler
        Name in the catalogue, decorated function, or plain function of three (a rule) or two parameters (static priorities).
    problems
        Problems to check it on; default :func:`examples`.
    seconds
        Limit of the whole check; default: none.
    forbid
        What of placelab's own it must not call: ``"partitioners"``, ``"schedulers"``, ``"simulation"``, a name, a function.

    Raises
    ------
    AssertionError
        The contract is broken; the message says how, and on which smallest problem, as code to run.

    Examples
    --------
    >>> check_scheduler("pct")
    """
    f: Scheduler = Watch(forbid).around(strategy(scheduler, "scheduler"))
    _first_fault("scheduler", f, _scheduler_faults, problems, seconds)


# -------------------------------------------------------------------- the contracts


def _partitioner_faults(f: Partitioner, problem: Problem) -> Iterator[str]:
    given = apart(problem)
    before = _fingerprint(given)
    try:
        placement = of_original(problem, place(given, f, seed=1))
    except InfeasibleError as error:
        unlimited = problem.memory == "none" or np.isinf(problem.cluster.memory).all()
        if unlimited and problem.runs_all.any():
            yield f"finds no placement, though one device may run all ops and has room: {error}"
        return
    except UnsupportedError as refusal:
        if problem.memory == "none" and problem.graph.n_ops <= SMALL:
            yield f"does not treat a problem of {problem.graph.n_ops} ops without limits of memory: {refusal}"
        return
    yield from placement_faults(placement)
    for label, again in _again(f, given):
        if _fingerprint(placement) != _fingerprint(again):
            yield f"gives another placement {label}"
    if _fingerprint(given) != before:
        yield "changes the problem it was given"
    for scheduler in ("fifo", "planned") if placement.planned is not None else ("fifo",):
        yield from (
            f"under {scheduler!r} {fault}" for fault in _schedule_faults(simulate(problem, placement, scheduler))
        )


def placement_faults(placement: Placement) -> Iterator[str]:
    """What is wrong with a placement, as the end of a sentence."""
    problem = placement.problem
    device = placement.device
    graph = problem.graph
    if not problem.runs_on(device).all():
        yield f"puts op {graph.names[np.argmin(problem.runs_on(device))]!r} where it may not run"
    for g in range(problem.n_groups):
        members = problem.group_ops[problem.group_ptr[g] : problem.group_ptr[g + 1]]
        if len(set(device[members].tolist())) > 1:
            yield f"splits colocation group {problem.group_names[g]!r}"
    held = np.bincount(device, problem.lasting, minlength=problem.cluster.n_devices)
    for d in np.flatnonzero(held > problem.cluster.memory * (1 + TOLERANCE)):
        yield f"puts {held[d]:g} bytes for ever on {problem.cluster.names[d]!r}, which has {problem.cluster.memory[d]:g}"
    least = max(bounds(problem, inputs=True).values(), default=0.0)
    if placement.estimate is not None and placement.estimate < least * (1 - ROUNDING):
        yield f"expects a makespan of {placement.estimate!r} s, below the lower bound {least!r} s"
    estimate = placement.estimate
    bound = placement.bound
    if estimate is not None and bound is not None and estimate < bound * (1 - ROUNDING):
        yield f"expects a makespan of {estimate!r} s, below its own lower bound {bound!r} s"
    if placement.planned is not None:
        place_of = np.argsort(placement.planned)
        late = np.flatnonzero(place_of[graph.producer] > place_of[graph.consumer])
        if len(late):
            u, v = graph.edges[late[0]]
            yield f"plans op {graph.names[v]!r} before its input {graph.names[u]!r}"


def _again(f: Partitioner, problem: Problem) -> Iterator[tuple[str, Placement]]:
    """Placements that must equal the first, each with how it was made."""
    yield "when called again", place(problem, f, seed=1)
    if f.options:
        yield (
            "when its options' defaults are written out",
            place(problem, f, seed=1, **{o: d for o, (_, d) in f.options.items()}),
        )
    if "trace" in f.reserved:
        yield "when it records a trace", place(problem, f, seed=1, trace=True)
    for options in _choices(f):
        with suppress(UnsupportedError, InfeasibleError):  # a choice may refuse this problem, but must not crash
            place(problem, f, seed=1, **options)


def _choices(f: Partitioner) -> Iterator[dict[str, Any]]:
    for name, (hint, _) in f.options.items():
        if get_origin(hint) is Literal:
            yield from ({name: choice} for choice in get_args(hint))
        if hint is bool:
            yield from ({name: choice} for choice in (False, True))


def _scheduler_faults(f: Scheduler, original: Problem) -> Iterator[str]:
    problem = apart(original)
    before = _fingerprint(problem)
    refusals = []
    placements = _placements(problem)
    for placement in placements:
        try:
            schedule, again = (simulate(problem, placement, f, seed=1) for _ in range(2))
        except UnsupportedError as refusal:
            refusals.append(refusal)  # it may not fit this placement
            continue
        yield from _schedule_faults(schedule)
        if _fingerprint(schedule) != _fingerprint(again):
            yield "gives another schedule when run again with the same seed"
    if len(refusals) == len(placements) and not f.needs:
        yield f"runs with none of the placements: {refusals[-1]}"
    if _fingerprint(problem) != before:
        yield "changes the problem it was given"


def _placements(problem: Problem) -> list[Placement]:
    """Three placements: each op on its first feasible device, ops in turn on their feasible devices, and HEFT's plan."""
    ops = range(problem.graph.n_ops)
    choices = [problem.feasible(v) for v in ops]
    first = [choice[0] for choice in choices]
    turn = [choices[v][problem.members(v)[0] % len(choices[v])] for v in ops]
    plan = place(problem.replace(memory="none"), "heft")
    return [
        *(Placement(problem, np.array(device)) for device in (first, turn)),
        Placement(problem, plan.device, plan.planned, plan.estimate),
    ]


def _schedule_faults(schedule: Schedule) -> Iterator[str]:
    for violation in validate(schedule, memory=False)[:1]:
        yield f"gives an illegal schedule: {violation}"
    least = max(bounds(schedule.problem, schedule.placement, inputs=True).values(), default=0.0)
    if schedule.makespan < least * (1 - ROUNDING):
        yield f"gives a makespan of {schedule.makespan!r} s, below the lower bound {least!r} s"


def _fingerprint(thing: Any) -> tuple:
    """The arrays of a problem, placement or schedule, as bytes to compare."""
    if isinstance(thing, Placement):
        plan = [None if part is None else part.tobytes() for part in (thing.planned, thing.not_before)]
        return thing.device.tobytes(), *plan, thing.estimate
    if isinstance(thing, Schedule):
        return thing.start.tobytes(), thing.finish.tobytes(), thing.transfers.tobytes(), thing.sends.tobytes()
    parts = (thing.graph, thing.cluster, thing)
    arrays = [getattr(part, label) for part in parts for label in part.__dataclass_fields__]
    return tuple(array.tobytes() for array in arrays if isinstance(array, np.ndarray) and array.dtype != object)


# -------------------------------------------------------------------- running and reporting


def strategy(given: Any, what: str) -> Any:
    """The strategy with its attributes; a plain function gets them without an entry in the catalogue."""
    if not callable(given) or hasattr(given, "options"):
        return find(partitioners() if what == "partitioner" else schedulers(), given, what)
    if what == "partitioner":
        return _enter({}, given, dict(name="", source="", packages=()), first=("problem",))
    rule = [p for p in inspect.signature(given).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    first = ("state", "device", "ready") if len(rule) == 3 else ("problem", "placement")
    return _enter({}, given, dict(name="", source="", static=len(rule) != 3, needs="", packages=()), first=first)


def _first_fault(
    what: str, f: Any, faults: Callable, problems: Iterable[Problem] | None, seconds: float | None
) -> None:
    name = f"{what} {f.name!r}"
    if is_empty(f):
        fail_empty(name)

    def run() -> bool:
        for problem in examples() if problems is None else sorted(problems, key=size):
            fault = None
            cause = None
            try:
                fault = next(faults(f, problem), None)
            except NotImplementedError as error:
                fail_empty(name, error)
            except Called as error:
                fail_called(name, error)
            except Exception as error:
                fault = f"fails with {type(error).__name__}: {error}"
                cause = error
            if fault is not None:
                fail(f"{name} {fault}", as_code(problem), cause)
        return True

    run.__name__ = name
    answer(run, seconds=seconds)


def contest_problems(seed: int, n: int = 6) -> list[Problem]:
    """`n` problems drawn from a seed: graphs of four families, 15 to 48 ops, on three or four devices of unequal speed."""
    rng = generator(seed)
    families: tuple[Callable, ...] = (
        lambda **costs: generators.layered(int(rng.integers(30, 49)), **costs),
        lambda **costs: generators.fft(8, **costs),
        lambda **costs: generators.series_parallel(int(rng.integers(15, 41)), **costs),
        lambda **costs: generators.gaussian_elimination(int(rng.integers(5, 9)), **costs),
    )
    found = []
    for i in range(count(n, "n")):
        draw = int(rng.integers(2**31))
        graph = families[i % len(families)](seed=draw, ccr=float(rng.choice([0.5, 1.0, 3.0])))
        devices = int(rng.integers(3, 5))
        speed = generators.SPEED * rng.uniform(0.5, 2.0, devices)
        found.append(Problem(graph, Cluster(speed, bandwidth=generators.BANDWIDTH, latency=0.0)))
    return found


def check_strategy(
    f: str | Callable,
    problems: Iterable[Problem] | int,
    baseline: str = "heft",
    *,
    beside: Iterable[str] = BESIDE,
    seconds: float = SECONDS,
    forbid: Iterable[Forbidden] = (),
) -> pd.DataFrame:
    """Check that a partitioner takes less time than a baseline on average, and rank it among others.

    Parameters
    ----------
    f
        Partitioner: a name, a decorated function, or a plain one ``f(problem)``.
    problems
        Problems, or the seed of :func:`contest_problems`.
    baseline
        Partitioner to beat.
    beside
        Further partitioners of the table.
    seconds
        Limit of each call.
    forbid
        What of placelab's own `f` must not call, as in :func:`check_partitioner`.

    Returns
    -------
    DataFrame
        The leaderboard, best first: a row per partitioner; per problem, its makespan divided by the baseline's; ``mean``, their
        geometric mean. Placements with a plan run as planned, others under ``pct``.

    Raises
    ------
    AssertionError
        A placement that breaks a rule, or a mean of 1 or more; the smallest problem on which `f` takes longer is shown.

    Examples
    --------
    >>> check_strategy("heft", contest_problems(1, 2), "round-robin", beside=()).index.tolist()
    ['heft', 'round-robin']
    """
    need("pandas")
    import pandas as pd

    several = contest_problems(problems) if isinstance(problems, int) else list(problems)
    name = f if isinstance(f, str) else title(f)
    own = np.array([_makespan(f, problem, seconds, forbid) for problem in several])
    rivals = dict.fromkeys((baseline, *beside))
    times = {rival: np.array([_makespan(rival, problem, None) for problem in several]) for rival in rivals}
    times[name] = own
    ratio = {rival: time / times[baseline] for rival, time in times.items()}
    mean = float(np.exp(np.log(ratio[name]).mean()))
    if mean >= 1:
        worse = [problem for problem, share in zip(several, ratio[name], strict=True) if share >= 1]
        fail(
            f"{name} takes {mean:.3f} times as long as {baseline} on average; it must take less",
            as_code(min(worse, key=size)),
        )
    table = pd.DataFrame.from_dict(ratio, orient="index", columns=_titles(several))
    table["mean"] = np.exp(np.log(table).mean(axis=1))
    return table.sort_values("mean", kind="stable").round(3)


def _makespan(f: str | Callable, problem: Problem, seconds: float | None, forbid: Iterable[Forbidden] = ()) -> float:
    partitioner: Any = find(partitioners(), f, "partitioner") if isinstance(f, str) else f
    given = apart(problem)
    placement = answer(partitioner, given, seconds=seconds, forbid=forbid)
    if not isinstance(placement, Placement) or placement.problem is not given:
        fail(f"{title(f)} gives no placement of the problem but {described(placement)}")
    schedule = simulate(problem, of_original(problem, placement))
    for violation in validate(schedule)[:1]:
        fail(f"{title(f)} breaks the rule {violation.kind!r}: {violation.detail}", as_code(problem))
    return schedule.makespan


def _titles(problems: list[Problem]) -> list[str]:
    return [f"{i + 1}: {problem.graph.title}" for i, problem in enumerate(problems)]


def examples() -> list[Problem]:
    """Problems on which strategies tend to fail, smallest first: one op, ties, zero times, groups, restrictions, every model."""
    two = Cluster([1.0, 2.0], bandwidth=2.0, latency=0.5)
    one = Cluster([3.0])
    three = Cluster(
        [1.0, 4.0, 2.0], bandwidth=[[1, 2, 3], [4, 1, 2], [1, 5, 1]], latency=0.25, types=["cpu", "gpu", "gpu"]
    )
    chain = _chain(4)
    diamond = _diamond()
    found = [
        Problem(_chain(1), one),
        Problem(_chain(1), two),
        Problem(_chain(2), one),
        Problem(_chain(2), two),
        Problem(_chain(3, compute=0.0), two),
        Problem(_chain(3, compute=0.0, size=0.0), Cluster([1.0, 1.0])),
        Problem(OpGraph.from_arrays(list("abc"), [1.0] * 3, []), two),
        Problem(chain, two, groups=[("a", "d")]),
        Problem(chain, two).pin({"c": "dev0"}),
        Problem(diamond, three, allowed={"b": ["cpu"], "c": ["gpu"]}, groups=[("c", "d")]),
        Problem(diamond, three, transfers="sequential"),
        Problem(diamond, three, transfers="sequential", duplex=True, transfer_ops=1),
        Problem(diamond, three, transfers="channel"),
        Problem(diamond, three, transfers="channel", latency="follows"),
        Problem(diamond, three, transfer_ops=2),
        Problem(diamond, two.replace(memory=[8.0, 11.0]), memory="reserved"),
        Problem(diamond, two.replace(memory=[14.0, 14.0]), memory="edges"),
        Problem(diamond, two.replace(memory=[16.0, 16.0]), memory="dynamic"),
        Problem(diamond, two.replace(memory=[5.0, 5.0]), memory="dynamic"),
        Problem(diamond, two.replace(memory=[np.inf, 30.0]), memory="dynamic", groups=[("a", "b"), ("c", "d")]),
        Problem(_measured(), three),
        *(Problem(_dense(seed), three, groups=[("op1", "op4")], allowed={"op3": [0, 2]}) for seed in range(4)),
        pipeline_training(1.0, 2.0, 1.0, microbatches=2, stages=2),
        pipeline_training(1.0, 2.0, 1.0, microbatches=2, stages=2, chunks=2),
        pipeline_training(1.0, 2.0, 1.0, microbatches=2, stages=2, chunks=2, layout="v"),
        pipeline_training(1.0, None, microbatches=3, stages=2),
        pipeline_training(1.0, 2.0, 1.0, microbatches=4, stages=2, layout="dual"),
        pipeline_training(1.0, 2.0, 1.0, microbatches=4, stages=2, chunks=2, layout="v"),
        Problem(gaussian_elimination(5), Cluster.uniform(3)),
        Problem(layered(40, seed=1), Cluster.uniform(4), transfers="channel"),
        Problem(layered(40, seed=2), Cluster.uniform(4, memory=1e9)),
    ]
    return sorted(found, key=size)


def size(problem: Problem) -> tuple[int, int, int]:
    """Ops, edges, devices: what makes a problem smaller than another one."""
    return problem.graph.n_ops, problem.graph.n_edges, problem.cluster.n_devices


def _chain(n: int, compute: float = 2.0, size: float = 3.0) -> OpGraph:
    edges = [(v, v + 1) for v in range(n - 1)]
    return OpGraph.from_arrays(list("abcdefgh")[:n], [compute] * n, edges, edge_bytes=[size] * (n - 1))


def _diamond() -> OpGraph:
    """One tensor of a goes to b and c, tensors of both to d; all kinds of memory."""
    return OpGraph.from_arrays(
        list("abcd"),
        [1.0, 4.0, 3.0, 2.0],
        [(0, 1), (0, 2), (1, 3), (2, 3)],
        edge_bytes=[3.0, 3.0, 2.0, 1.0],
        edge_output=[0, 0, 0, 0],
        persistent=[0.0, 1.0, 0.0, 1.0],
        temporary=[1.0, 0.0, 2.0, 0.0],
        outputs=[(3, 0, 2.0)],
    )


def _measured() -> OpGraph:
    """Times by device type, and one op that only a GPU can run."""
    return OpGraph.from_arrays(
        list("abcd"),
        [np.nan] * 4,
        [(0, 1), (0, 2), (1, 3), (2, 3)],
        edge_bytes=[1.0] * 4,
        time={"cpu": [1.0, 5.0, np.nan, 1.0], "gpu": [2.0, 1.0, 1.0, 0.0]},
        devices={2: ["gpu"]},
    )


def _dense(seed: int) -> OpGraph:
    """Six ops, random edges and whole costs, zeros among them."""
    rng = np.random.default_rng(seed)
    edges = [(u, v) for v in range(6) for u in range(v) if rng.random() < 0.5]
    compute = rng.integers(0, 5, 6).astype(float)
    return OpGraph.from_arrays([f"op{v}" for v in range(6)], compute, edges, edge_bytes=rng.integers(0, 4, len(edges)))

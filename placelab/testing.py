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
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Literal, get_args, get_origin

import numpy as np

from placelab.analysis.lower_bounds import bounds
from placelab.analysis.validation import validate
from placelab.errors import InfeasibleError, UnsupportedError
from placelab.generators import gaussian_elimination, layered, pipeline_training
from placelab.placing import place
from placelab.problem import time_columns
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.memory import TOLERANCE
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation import simulate
from placelab.strategies import Partitioner, Scheduler, _enter, find, partitioners, schedulers

ROUNDING = 1e-9  # relative
SMALL = 10  # ops; every strategy, also an exact one, must place problems of this size
SEARCHED = 20  # ops; larger examples, each placed several times, would keep a search busy for minutes


def check_partitioner(partitioner: str | Callable, problems: Iterable[Problem] | None = None) -> None:
    """Check a partitioner's contract, which the module's docstring states.

    Parameters
    ----------
    partitioner
        Name in the catalogue, decorated function, or plain function ``f(problem, ...)``.
    problems
        Problems to check it on; default :func:`examples`, for one that searches for seconds (``slow``) those of up to 20 ops.

    Raises
    ------
    AssertionError
        The contract is broken; the message says how, and on which smallest problem, as code to run.

    Examples
    --------
    >>> check_partitioner("heft")
    """
    f: Partitioner = _strategy(partitioners(), partitioner, "partitioner")
    if problems is None and getattr(f, "slow", False):
        problems = [problem for problem in examples() if problem.graph.n_ops <= SEARCHED]
    _first_fault(f"partitioner {f.name!r}", lambda problem: _partitioner_faults(f, problem), problems)


def check_scheduler(scheduler: str | Callable, problems: Iterable[Problem] | None = None) -> None:
    """Check a scheduler's contract, which the module's docstring states, on several placements of each problem.

    Parameters
    ----------
    scheduler
        Name in the catalogue, decorated function, or plain function of three (a rule) or two parameters (static priorities).
    problems
        Problems to check it on; default :func:`examples`.

    Raises
    ------
    AssertionError
        The contract is broken; the message says how, and on which smallest problem, as code to run.

    Examples
    --------
    >>> check_scheduler("pct")
    """
    f: Scheduler = _strategy(schedulers(), scheduler, "scheduler")
    _first_fault(f"scheduler {f.name!r}", lambda problem: _scheduler_faults(f, problem), problems)


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
        Problem(gaussian_elimination(5), Cluster.uniform(3)),
        Problem(layered(40, seed=1), Cluster.uniform(4), transfers="channel"),
        Problem(layered(40, seed=2), Cluster.uniform(4, memory=1e9)),
    ]
    return sorted(found, key=_size)


# -------------------------------------------------------------------- the contracts


def _partitioner_faults(f: Partitioner, problem: Problem) -> Iterator[str]:
    before = _fingerprint(problem)
    try:
        placement = place(problem, f, seed=1)
    except InfeasibleError as error:
        unlimited = problem.memory == "none" or np.isinf(problem.cluster.memory).all()
        if unlimited and problem.runs_all.any():
            yield f"finds no placement, though one device may run all ops and has room: {error}"
        return
    except UnsupportedError as refusal:
        if problem.memory == "none" and problem.graph.n_ops <= SMALL:
            yield f"does not treat a problem of {problem.graph.n_ops} ops without limits of memory: {refusal}"
        return
    if placement.problem is not problem:
        yield "gives a placement of another problem than it was asked to place"
        return
    yield from _placement_faults(placement)
    for label, again in _again(f, problem):
        if _fingerprint(placement) != _fingerprint(again):
            yield f"gives another placement {label}"
    if _fingerprint(problem) != before:
        yield "changes the problem it was given"
    for scheduler in ("fifo", "planned") if placement.planned is not None else ("fifo",):
        yield from (
            f"under {scheduler!r} {fault}" for fault in _schedule_faults(simulate(problem, placement, scheduler))
        )


def _placement_faults(placement: Placement) -> Iterator[str]:
    problem, device = placement.problem, placement.device
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
    least = max(bounds(problem).values(), default=0.0)
    if placement.estimate is not None and placement.estimate < least * (1 - ROUNDING):
        yield f"expects a makespan of {placement.estimate!r} s, below the lower bound {least!r} s"
    estimate, bound = placement.estimate, placement.bound
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


def _scheduler_faults(f: Scheduler, problem: Problem) -> Iterator[str]:
    before, refusals = _fingerprint(problem), []
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
    least = max(bounds(schedule.problem, schedule.placement).values(), default=0.0)
    if schedule.makespan < least * (1 - ROUNDING):
        yield f"gives a makespan of {schedule.makespan!r} s, below the lower bound {least!r} s"


def _fingerprint(thing: Any) -> tuple:
    """The arrays of a problem, placement or schedule, as bytes to compare."""
    if isinstance(thing, Placement):
        planned = None if thing.planned is None else thing.planned.tobytes()
        return thing.device.tobytes(), planned, thing.estimate
    if isinstance(thing, Schedule):
        return thing.start.tobytes(), thing.finish.tobytes(), thing.transfers.tobytes(), thing.sends.tobytes()
    parts = (thing.graph, thing.cluster, thing)
    arrays = [getattr(part, label) for part in parts for label in part.__dataclass_fields__]
    return tuple(array.tobytes() for array in arrays if isinstance(array, np.ndarray) and array.dtype != object)


# -------------------------------------------------------------------- running and reporting


def _strategy(catalogue: Any, strategy: str | Callable, what: str) -> Any:
    """The strategy with its attributes; a plain function gets them without an entry in the catalogue."""
    if not callable(strategy) or hasattr(strategy, "options"):
        return find(catalogue, strategy, what)
    if what == "partitioner":
        return _enter({}, strategy, dict(name="", source=""), first=("problem",))
    rule = [p for p in inspect.signature(strategy).parameters.values() if p.kind is not p.KEYWORD_ONLY]
    first = ("state", "device", "ready") if len(rule) == 3 else ("problem", "placement")
    return _enter({}, strategy, dict(name="", source="", static=len(rule) != 3, needs=""), first=first)


def _first_fault(what: str, faults: Callable[[Problem], Iterator[str]], problems: Iterable[Problem] | None) -> None:
    for problem in examples() if problems is None else sorted(problems, key=_size):
        fault, cause = None, None
        try:
            fault = next(faults(problem), None)
        except Exception as error:
            fault, cause = f"fails with {type(error).__name__}: {error}", error
        if fault is not None:
            raise AssertionError(f"{what} {fault}\n\n{as_code(problem)}") from cause


def _size(problem: Problem) -> tuple[int, int, int]:
    return problem.graph.n_ops, problem.graph.n_edges, problem.cluster.n_devices


def as_code(problem: Problem) -> str:
    """A small problem as the code that makes it, after ``import placelab as pl; from numpy import inf, nan``."""
    if problem.graph.n_ops > 50:
        return repr(problem)
    rules = {
        label: getattr(problem, label)
        for label in ("memory", "transfers", "duplex", "transfer_ops", "groups", "allowed")
    }
    return "\n".join(
        [
            f"graph = pl.OpGraph.from_arrays({_call(_graph_arguments(problem.graph))})",
            f"cluster = pl.Cluster({_call(_cluster_arguments(problem.cluster))})",
            f"problem = pl.Problem({_call(dict(graph='graph', cluster='cluster') | rules, bare=('graph', 'cluster'))})",
        ]
    )


def _graph_arguments(graph: OpGraph) -> dict[str, Any]:
    number = np.arange(graph.n_tensors) - graph.op_tensor_ptr[graph.tensor_producer]
    unused = np.flatnonzero(np.diff(graph.tensor_ptr) == 0)
    own = np.array_equal(graph.memory, graph.persistent + graph.temporary + graph.outputs)
    return dict(
        names=graph.names,
        compute=graph.compute,
        edges=graph.edges,
        edge_bytes=graph.edge_bytes,
        edge_output=number[graph.edge_tensor],
        edge_control=graph.tensor_control[graph.edge_tensor],
        outputs=[(int(graph.tensor_producer[t]), int(number[t]), float(graph.tensor_bytes[t])) for t in unused],
        persistent=graph.persistent,
        temporary=graph.temporary,
        memory=None if own else graph.memory,
        **_time_arguments(graph),
    )


def _time_arguments(graph: OpGraph) -> dict[str, Any]:
    found = time_columns.arguments(graph)
    return found | {"time": {kind: seconds.tolist() for kind, seconds in found.get("time", {}).items()}}


def _cluster_arguments(cluster: Cluster) -> dict[str, Any]:
    arguments = {label: getattr(cluster, label) for label in cluster.__dataclass_fields__}
    default = Cluster(cluster.speed)
    if np.isinf(cluster.memory).all():
        arguments["memory"] = None
    for label in ("names", "types", "hosts"):
        if arguments[label] == getattr(default, label):
            arguments[label] = None
    return arguments


def _call(arguments: dict[str, Any], bare: tuple[str, ...] = ()) -> str:
    """Arguments as code, without those that are None, empty or all zero."""
    plain = {label: value.tolist() if isinstance(value, np.ndarray) else value for label, value in arguments.items()}
    is_set = lambda v: v and (isinstance(v, (str, dict, float, bool)) or any(v))  # noqa: E731
    always = ("compute", "edges", "edge_output")
    given = {label: value for label, value in plain.items() if label in always or is_set(value)}
    return ", ".join(f"{label}={value if label in bare else repr(value)}" for label, value in given.items())


# -------------------------------------------------------------------- graphs of the examples


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

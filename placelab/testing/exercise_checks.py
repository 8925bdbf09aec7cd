"""Check what an exercise asks for: placements, schedules, broken rules, problems and transformations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isclose
from typing import Any

import numpy as np

from placelab.analysis.hand_plans import ByHand
from placelab.analysis.validation import Violation, validate
from placelab.base.errors import FormatError, InfeasibleError, PlacelabError, described, expect
from placelab.formats.python_code import as_code
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.problem_key import problem_key
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place
from placelab.testing import puzzles
from placelab.testing.answers import (
    SECONDS,
    Forbidden,
    answer,
    apart,
    case_as_code,
    fail,
    of_original,
    shown,
    title,
)
from placelab.testing.contracts import examples, placement_faults, size

ROUNDING = 1e-9  # relative
ALONE = "no instance"  # two schedules are compared as they are
RULES = (
    "time",
    "duration",
    "allowed",
    "colocation",
    "overlap",
    "precedence",
    "transfer",
    "transfer time",
    "send",
    "contention",
    "memory",
)


def check_placement(
    problem: Problem,
    placement: Any,
    at_most: float | None = None,
    scheduler: str | None = None,
    *,
    seconds: float = SECONDS,
    forbid: Iterable[Forbidden] = (),
) -> None:
    """Check that a placement obeys the rules of a problem and, if asked, that its schedule is short enough.

    Parameters
    ----------
    placement
        A Placement, a mapping op → device, or a function of the problem that returns either.
    at_most
        Largest makespan [s] that passes.
    scheduler
        Default: ``planned`` if the placement has a plan, else ``pct``.
    forbid
        What of placelab's own the answer must not call, as in :func:`check_partitioner`.
    """
    expect(problem, Problem, "check_placement")
    name = title(placement)
    given = answer(placement, apart(problem), seconds=seconds, forbid=forbid)
    placed, code = _placement(problem, given, name)
    schedule = simulate(problem, placed, scheduler)
    _check_legal(schedule, at_most, name, code)


def check_by_hand(
    plan: Any, at_most: float | None = None, *, puzzle: str | None = None, stars: int = 3, seconds: float = SECONDS
) -> None:
    """Check that a schedule made by hand obeys the rules of its problem and, if asked, that it is short enough.

    Parameters
    ----------
    plan
        An explorer, what :func:`placelab.by_hand` returns, a Schedule, a Placement, or a function that returns one of these.
    at_most
        Largest makespan [s] that passes.
    puzzle
        Name of a puzzle (:func:`placelab.puzzles.names`) whose problem it must be a plan of.
    stars
        The least number of that puzzle's stars that passes, 1 to 3.
    """
    name = title(plan)
    given = answer(plan, seconds=seconds)
    if waiting := getattr(getattr(given, "gantt", None), "tray", ()):
        fail(f"{name} is not complete: {len(waiting)} ops wait in the tray, {waiting[0]['name']!r} first")
    if isinstance(given, ByHand) and len(given.waiting):
        fail(f"{name} is not complete: {len(given.waiting)} ops wait to be placed, {given.waiting[0]!r} first")
    if isinstance(given, Placement):
        given = simulate(given.problem, given)
    schedule = given if isinstance(given, Schedule) else getattr(given, "schedule", None)
    if not isinstance(schedule, Schedule):
        fail(f"{name} is {shown(given)}; a plan by hand, a schedule or a placement is expected")
    _check_legal(schedule, at_most, name)
    if puzzle is not None:
        _check_stars(puzzles.load(puzzle), schedule, stars, name)


def _check_stars(puzzle: puzzles.Puzzle, schedule: Schedule, stars: int, name: str) -> None:
    """Fail where a legal schedule is of another problem or earns fewer than `stars` stars."""
    try:
        earned = puzzle.stars(schedule)
    except FormatError as error:
        fail(f"{name} is a plan of another problem than the puzzle {puzzle.name!r}", "", error)
    if earned < stars:
        wanted = "be as short as HEFT's" if earned < 2 else "be optimal"
        fail(f"{name} takes {schedule.makespan:g} s, which is {earned} of {stars} stars; for the next it must {wanted}")


def _check_legal(schedule: Schedule, at_most: float | None, name: str, code: str = "") -> None:
    """Fail with the first rule that a schedule breaks, or where it takes longer than `at_most` [s]."""
    for violation in validate(schedule)[:1]:
        where = f" on {violation.device!r}" if violation.device is not None else ""
        fail(f"{name} breaks the rule {violation.kind!r}{where}: {violation.detail}", code)
    if at_most is not None and schedule.makespan > at_most * (1 + ROUNDING):
        fail(f"{name} takes {schedule.makespan:g} s; at most {at_most:g} s are allowed", code)


def check_schedule(
    found: Any,
    want: Schedule | Iterable[Schedule],
    *,
    seconds: float = SECONDS,
    forbid: Iterable[Forbidden] = (),
) -> None:
    """Check a schedule, start for start.

    Parameters
    ----------
    found
        A Schedule, the start of each op [s] as a sequence in the order of ops or as a mapping from op names, or a function of a
        Placement that returns one of these.
    want
        The right schedule. For a function: or several, each of another placement, of which the smallest problem that the
        function gets wrong is shown.
    forbid
        What of placelab's own the answer must not call, as in :func:`check_partitioner`.

    Raises
    ------
    AssertionError
        Names the first op that starts otherwise, and whether it does too early or too late.
    """
    several = [want] if isinstance(want, Schedule) else list(want)
    for right in sorted(several, key=lambda schedule: size(schedule.problem)):
        problem = right.problem
        name = title(found)
        value = answer(found, apart(right.placement), seconds=seconds, forbid=forbid)
        code = f"{as_code(problem)}\nplacement = pl.Placement(problem, {right.device.tolist()})"
        start = _starts(problem, value, name)
        off = np.abs(start - right.start) > ROUNDING * max(right.makespan, ROUNDING)
        if off.any():
            v = min(np.flatnonzero(off), key=lambda v: (min(start[v], right.start[v]), v))
            fail(
                f"{name} starts op {problem.graph.names[v]!r} at {start[v]:g} s, which is too "
                + ("early" if start[v] < right.start[v] else "late"),
                code if len(start) <= 50 else "",
            )


def check_violation(found: Any, schedule: Schedule, *, seconds: float = SECONDS) -> None:
    """Check the name of a rule that a schedule breaks, as :func:`placelab.validate` calls it.

    Parameters
    ----------
    found
        ``"overlap"``; ``("overlap", "op name")``; a Violation; or a function of the schedule that returns one of these. Any rule
        that the schedule breaks is right.
    """
    name = title(found)
    value = answer(found, apart(schedule), seconds=seconds)
    if isinstance(value, Violation):
        value = (value.kind, value.op)
    kind, op = value if isinstance(value, (tuple, list)) and len(value) == 2 else (value, None)
    if kind not in RULES:
        fail(f"{name} says {shown(kind)}; the rules are called {', '.join(RULES)}")
    broken = [violation for violation in validate(schedule) if violation.kind == kind]
    start = dict(zip(schedule.problem.graph.names, schedule.start.tolist(), strict=True))
    code = f"start = {start}" if len(start) <= 50 else ""
    if not broken:
        fail(f"{name} says {kind!r}, but the schedule does not break that rule", code)
    either = f"before {op!r} ends"  # of two ops that overlap, as the violation's text calls the other one
    if op is not None and not any(op == violation.op or either in violation.detail for violation in broken):
        fail(f"{name} says {op!r}, but another op breaks the rule {kind!r}", code)


def check_beats(a: Any, b: Any, by: float = 0.0, on: Any = ALONE, *, seconds: float = SECONDS) -> None:
    """Check that `a` takes less time than `b`, at least by the share `by`: 0.1 is 10 % less.

    Parameters
    ----------
    a, b
        Schedules, makespans [s], or functions of `on` that return either.
    on
        The instance that was asked for, a Problem or graph, or a function without parameters that makes it.
    """
    instance = on if on is ALONE else answer(on, seconds=seconds)
    if on is not ALONE and not isinstance(instance, (Problem, OpGraph)):
        fail(f"{title(on)} is {described(instance)}; a Problem or a graph is expected")
    arguments = () if on is ALONE else (instance,)
    times = [_makespan(answer(side, *apart(arguments), seconds=seconds), title(side)) for side in (a, b)]
    if not times[0] < times[1] or times[0] > times[1] * (1 - by) * (1 + ROUNDING):
        wanted = f"at least {by:.0%} less" if by else "less"
        names = [title(side) if callable(side) else other for side, other in ((a, "the first"), (b, "the second"))]
        fail(
            f"{names[0]} takes {times[0]:g} s and {names[1]} {times[1]:g} s; {names[0]} must take {wanted}",
            case_as_code(instance) if isinstance(instance, Problem) else "",
        )


def check_problem(f: Any, cases: Iterable[tuple[tuple, float]], *, seconds: float = SECONDS) -> None:
    """Check a function that makes a problem: the least makespan of each problem, proven by ``cp-sat``, must be the right one.

    Parameters
    ----------
    f
        The answer.
    cases
        Arguments of `f`, and the least makespan [s] of the problem; smallest first.
    """
    for arguments, least in cases:
        problem = answer(f, *apart(arguments), seconds=seconds)
        call = f"{title(f)}({', '.join(map(shown, arguments))})"
        if not isinstance(problem, Problem):
            fail(f"{call} is {described(problem)}; a Problem is expected")
        try:
            best = place(problem, "cp-sat").estimate
        except InfeasibleError as error:
            fail(f"{call} gives a problem that has no placement: {error}", as_code(problem), error)
        if best is None or not isclose(best, least, rel_tol=1e-6):
            fail(f"{call} gives a problem whose least makespan is {best:g} s, which is not right", as_code(problem))


def check_transform(
    f: Any,
    problems: Iterable[Problem] | None = None,
    *,
    seconds: float = SECONDS,
    forbid: Iterable[Forbidden] = (),
) -> None:
    """Check a transformation: its problem has no more ops, and its way back gives legal placements.

    Parameters
    ----------
    f
        Function of a problem that returns ``(smaller problem, expand)``.
    problems
        Problems to check it on; default :func:`examples`. One that has no placement any more is passed over.
    forbid
        What of placelab's own the answer must not call, as in :func:`check_partitioner`.
    """
    for problem in sorted(examples() if problems is None else problems, key=size):
        name = title(f)
        given = apart(problem)
        made = answer(f, given, seconds=seconds, forbid=forbid)
        if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], Problem) and callable(made[1])):
            fail(f"{name} gives {described(made)}; a pair (smaller problem, expand) is expected", as_code(problem))
        small, expand = made
        if small.graph.n_ops > problem.graph.n_ops:
            fail(f"{name} makes {small.graph.n_ops} ops of {problem.graph.n_ops}", as_code(problem))
        for partitioner in ("round-robin", "heft"):
            try:
                placed = place(small, partitioner)
            except InfeasibleError:
                continue
            way_back = answer(expand, placed, seconds=seconds)
            if not isinstance(way_back, Placement) or way_back.problem is not given:
                fail(f"the way back of {name} gives no placement of the problem it was given", as_code(problem))
            for fault in placement_faults(of_original(problem, way_back)):
                fail(f"a placement by {partitioner}, on the way back of {name}, {fault}", as_code(problem))


def _placement(problem: Problem, given: Any, name: str) -> tuple[Placement, str]:
    """The placement, and code that makes it."""
    if isinstance(given, Placement):
        if problem_key(given.problem) == problem_key(problem):
            given = of_original(problem, given)
            return given, f"{as_code(problem)}\nplacement = pl.Placement(problem, {given.device.tolist()})"
        given = given.to_mapping()
    if not isinstance(given, Mapping):
        fail(f"{name} is {described(given)}; a Placement or a mapping from ops to devices is expected")
    code = f"{as_code(problem)}\nplacement = pl.Placement.from_mapping(problem, {shown(dict(given))})"
    try:
        return Placement.from_mapping(problem, given), code
    except PlacelabError as error:
        fail(f"{name} is no placement: {error}", code, error)


def _starts(problem: Problem, value: Any, name: str) -> np.ndarray:
    names = problem.graph.names
    if isinstance(value, Schedule):
        return value.start
    if isinstance(value, Mapping):
        missing = next((op for op in names if op not in value), None)
        if missing is not None:
            fail(f"{name} gives op {missing!r} no start")
        value = [value[op] for op in names]
    try:
        start = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        fail(f"{name} is {described(value)}; a Schedule or the start of each op is expected")
    if start.shape != (len(names),) or not np.isfinite(start).all():
        fail(f"{name} gives {shown(value)}; {len(names)} starts are expected, one per op")
    return start


def _makespan(value: Any, name: str) -> float:
    if isinstance(value, Schedule):
        return value.makespan
    try:
        return float(value)
    except (TypeError, ValueError):
        fail(f"{name} gives {described(value)}; a Schedule or a makespan is expected")

"""Check what an exercise asks for: values, tables, errors and properties; placements, schedules, problems and transformations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from math import isclose
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from placelab.analysis.validation import Violation, validate
from placelab.base.errors import InfeasibleError, PlacelabError, described
from placelab.base.interrupts import need
from placelab.formats.python_code import as_code
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place
from placelab.testing.answers import SECONDS, answer, case_as_code, fail, is_empty, judged, shown, title
from placelab.testing.contracts import placement_faults
from placelab.testing.example_problems import examples, size

if TYPE_CHECKING:
    import pandas as pd

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
    """
    name = title(placement)
    given = answer(placement, problem, seconds=seconds)
    placed, code = _placement(problem, given, name)
    schedule = simulate(problem, placed, scheduler)
    _check_legal(schedule, at_most, name, code)


def check_by_hand(plan: Any, at_most: float | None = None, *, seconds: float = SECONDS) -> None:
    """Check that a schedule made by hand obeys the rules of its problem and, if asked, that it is short enough.

    Parameters
    ----------
    plan
        An explorer, what :func:`placelab.by_hand` returns, a Schedule, a Placement, or a function that returns one of these.
    at_most
        Largest makespan [s] that passes.
    """
    name = title(plan)
    given = answer(plan, seconds=seconds)
    if isinstance(given, Placement):
        given = simulate(given.problem, given)
    schedule = given if isinstance(given, Schedule) else getattr(given, "schedule", None)
    if not isinstance(schedule, Schedule):
        fail(f"{name} is {shown(given)}; a plan by hand, a schedule or a placement is expected")
    _check_legal(schedule, at_most, name)


def _check_legal(schedule: Schedule, at_most: float | None, name: str, code: str = "") -> None:
    """Fail with the first rule that a schedule breaks, or where it takes longer than `at_most` [s]."""
    for violation in validate(schedule)[:1]:
        where = f" on {violation.device!r}" if violation.device is not None else ""
        fail(f"{name} breaks the rule {violation.kind!r}{where}: {violation.detail}", code)
    if at_most is not None and schedule.makespan > at_most * (1 + ROUNDING):
        fail(f"{name} takes {schedule.makespan:g} s; at most {at_most:g} s are allowed", code)


def check_schedule(found: Any, want: Schedule | Iterable[Schedule], *, seconds: float = SECONDS) -> None:
    """Check a schedule, start for start.

    Parameters
    ----------
    found
        A Schedule, the start of each op [s] as a sequence in the order of ops or as a mapping from op names, or a function of a
        Placement that returns one of these.
    want
        The right schedule. For a function: or several, each of another placement, of which the smallest problem that the
        function gets wrong is shown.

    Raises
    ------
    AssertionError
        Names the first op that starts otherwise, with both times.
    """
    several = [want] if isinstance(want, Schedule) else list(want)
    for right in sorted(several, key=lambda schedule: size(schedule.problem)):
        problem = right.problem
        name = title(found)
        value = answer(found, right.placement, seconds=seconds)
        code = f"{as_code(problem)}\nplacement = pl.Placement(problem, {right.device.tolist()})"
        start = _starts(problem, value, name)
        off = np.abs(start - right.start) > ROUNDING * max(right.makespan, ROUNDING)
        if off.any():
            v = min(np.flatnonzero(off), key=lambda v: (min(start[v], right.start[v]), v))
            fail(
                f"{name} starts op {problem.graph.names[v]!r} at {start[v]:g} s; it starts at {right.start[v]:g} s",
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
    value = answer(found, schedule, seconds=seconds)
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
    times = [_makespan(answer(side, *arguments, seconds=seconds), title(side)) for side in (a, b)]
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
        problem = answer(f, *arguments, seconds=seconds)
        call = f"{title(f)}({', '.join(map(shown, arguments))})"
        if not isinstance(problem, Problem):
            fail(f"{call} is {described(problem)}; a Problem is expected")
        try:
            best = place(problem, "cp-sat").estimate
        except InfeasibleError as error:
            fail(f"{call} gives a problem that has no placement: {error}", as_code(problem), error)
        if best is None or not isclose(best, least, rel_tol=1e-6):
            fail(f"{call} gives a problem whose least makespan is {best:g} s, which is not right", as_code(problem))


def check_transform(f: Any, problems: Iterable[Problem] | None = None, *, seconds: float = SECONDS) -> None:
    """Check a transformation: its problem has no more ops, and its way back gives legal placements.

    Parameters
    ----------
    f
        Function of a problem that returns ``(smaller problem, expand)``.
    problems
        Problems to check it on; default :func:`examples`. One that has no placement any more is passed over.
    """
    for problem in sorted(examples() if problems is None else problems, key=size):
        name = title(f)
        made = answer(f, problem, seconds=seconds)
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
            if not isinstance(way_back, Placement) or way_back.problem is not problem:
                fail(f"the way back of {name} gives no placement of the problem it was given", as_code(problem))
            for fault in placement_faults(way_back):
                fail(f"a placement by {partitioner}, on the way back of {name}, {fault}", as_code(problem))


def _placement(problem: Problem, given: Any, name: str) -> tuple[Placement, str]:
    """The placement, and code that makes it."""
    if isinstance(given, Placement):
        if given.problem is problem:
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


PARTS = ("useful", "saving", "lost", "detecting", "restoring")


def check_value(found: Any, want: Any, tol: float = 0.0, hint: str = "", *, seconds: float = SECONDS) -> None:
    """Check a number, a name, or several of them.

    Parameters
    ----------
    found
        The answer, or a function without parameters that returns it.
    want
        What is right: a value, a set, sequence or mapping of values; or a function that tells whether an answer is right, where
        there are several or the cell should not show it.
    tol
        How far a number may be off, as a share of the right one; rounding of 1e-9 is always allowed.
    hint
        Where to look, for who is wrong.
    seconds
        Limit of the call.

    Raises
    ------
    AssertionError
        One sentence; see :mod:`placelab.testing`.

    Examples
    --------
    >>> check_value(80.0, 80)
    >>> check_value({"a", "b"}, ["b", "a"], hint="look at dev1")
    Traceback (most recent call last):
    AssertionError: the answer is a set; a list is expected
    """
    name = title(found)
    value = answer(found, seconds=seconds)
    if isinstance(want, Mapping) and hasattr(value, "to_dict"):  # a Series
        value = value.to_dict()
    if callable(want):
        right = bool(judged(want, value, name=name, value=value))
    elif _kind(value) != _kind(want):
        fail(f"{name} is {described(value)}; {described(want)} is expected")
    else:
        right = _equal(value, want, max(tol, ROUNDING))
    if not right:
        fail(f"{name} gives {shown(value)}, which is not right" + (f": {hint}" if hint else ""))


def check_frame(
    found: Any,
    columns: Sequence[str],
    claims: Mapping[str, Callable[[pd.DataFrame], Any]],
    *,
    seconds: float = SECONDS,
) -> None:
    """Check a table: its columns, and what must hold for it.

    Parameters
    ----------
    found
        A DataFrame, or a function without parameters that returns one.
    columns
        Names that must be among its columns, or levels of its index; others, and any order, are allowed.
    claims
        Sentence → function of the table that returns a truth value, or one per row; then the first row for which it is false
        is shown.
    """
    need("pandas")
    import pandas as pd

    table = answer(found, seconds=seconds)
    if not isinstance(table, pd.DataFrame):
        fail(f"{title(found)} is {described(table)}; a DataFrame is expected")
    if set(columns) & set(table.index.names):  # as groupby leaves them
        table = table.reset_index()
    missing = [column for column in columns if column not in table.columns]
    if missing:
        fail(f"the table has no column {missing[0]!r}; it has {', '.join(map(str, table.columns))}")
    if table.empty:
        fail("the table has no rows")
    for sentence, holds in claims.items():
        true = np.asarray(judged(holds, table, name=title(found), value=table), dtype=bool)
        if not true.all():
            row = f"row = {shown(table.iloc[int(np.argmin(true))].to_dict())}" if true.shape == (len(table),) else ""
            fail(f"the table breaks a claim: {sentence}", row)


def check_error(call: Any, kind: type[Exception], words: str = "", *, seconds: float = SECONDS) -> None:
    """Check that a function without parameters raises an error of a kind, with certain words in its message."""
    name = title(call)
    if not callable(call) or is_empty(call):
        answer(call)
        fail(f"{name} is {described(call)}; a function that raises {kind.__name__} is expected")
    try:
        value = answer(call, seconds=seconds)
    except AssertionError as error:
        cause = error.__cause__
        if not isinstance(cause, kind):
            raise
        if words not in str(cause):
            fail(f"{name} raises {kind.__name__} for another reason: {cause}", cause=cause)
        return
    fail(f"{name} raises no error but gives {shown(value)}; {kind.__name__} is expected")


def check_property(
    f: Any, cases: Iterable[Any], holds: Callable[[Any, Any], Any], words: str, *, seconds: float = SECONDS
) -> None:
    """Check that what a function of one argument returns has a property, on each of several cases.

    Parameters
    ----------
    f
        The answer.
    cases
        Arguments of `f`, smallest first; problems are sorted by size.
    holds
        ``holds(case, f(case))``: whether the property holds.
    words
        The property as a sentence; it stands in the message.
    """
    several = list(cases)
    if all(isinstance(case, Problem) for case in several):
        several.sort(key=size)
    for case in several:
        value = answer(f, case, seconds=seconds)
        if not judged(holds, case, value, name=title(f), value=value):
            fail(f"{title(f)} gives {shown(value)}, but {words}", case_as_code(case))


def check_run(found: Any, want: Any, *, seconds: float = SECONDS) -> None:
    """Check an account of a training run with failures, part by part [s].

    Parameters
    ----------
    found
        Mapping with the parts ``useful``, ``saving``, ``lost``, ``detecting`` and ``restoring`` (one left out is 0) and maybe
        their ``total``; an object with these attributes; or a function without parameters that returns either.
    want
        The same of the right run.
    """
    name = title(found) if callable(found) else "the account"
    parts = _parts(answer(found, seconds=seconds), name)
    right = _parts(want, "want")
    for part in PARTS:
        if not isclose(parts[part], right[part], rel_tol=ROUNDING, abs_tol=ROUNDING):
            fail(f"{name} counts {parts[part]:g} s as {part}, which is not right", f"parts = {shown(parts)}")
    if not isclose(parts["total"], sum(parts[part] for part in PARTS), rel_tol=ROUNDING):
        fail(f"{name} has a total of {parts['total']:g} s, which is not the sum of its parts", f"parts = {parts}")


def _parts(run: Any, name: str) -> dict[str, float]:
    given = run if isinstance(run, Mapping) else {part: getattr(run, part, None) for part in (*PARTS, "total")}
    unknown = [str(part) for part in given if part not in (*PARTS, "total")]
    if unknown:
        fail(f"{name} has a part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    known = {
        part: value.item() if np.size(value) == 1 and isinstance(value, np.ndarray) else value
        for part, value in given.items()
        if value is not None
    }
    if not known or not all(isinstance(value, Real) for value in known.values()):
        fail(f"{name} is {shown(run)}; seconds for {', '.join(PARTS)} are expected")
    parts = {part: float(known.get(part, 0.0)) for part in PARTS}
    return parts | {"total": float(known.get("total", sum(parts.values())))}


def _kind(value: Any) -> str:
    """Values of different kinds are never equal, and then saying the kind that is expected helps."""
    if isinstance(value, (bool, np.bool_)):
        return "truth"
    if isinstance(value, (Real, np.number)):
        return "number"
    kinds: dict[str, tuple[type, ...]] = dict(
        text=(str,), mapping=(Mapping,), set=(Set,), sequence=(Sequence, np.ndarray)
    )
    return next((kind for kind, types in kinds.items() if isinstance(value, types)), type(value).__name__)


def _equal(value: Any, want: Any, tol: float) -> bool:
    kind = _kind(want)
    if _kind(value) != kind:
        return False
    if kind == "number":
        return isclose(value, want, rel_tol=0.0, abs_tol=tol * max(abs(float(want)), ROUNDING))
    if kind == "mapping":
        return value.keys() == want.keys() and all(_equal(value[key], want[key], tol) for key in want)
    if kind == "sequence":
        return len(value) == len(want) and all(_equal(a, b, tol) for a, b in zip(value, want, strict=True))
    return bool(value == want)

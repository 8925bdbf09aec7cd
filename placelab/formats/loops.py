"""Loops and branches of a model: how often a body runs, which side of a branch counts, and what is said of both.

An op with a body (a loop, a branch, a call) is one op of the graph; its operations are those of its body. A loop's body and its
condition count once per iteration, nested loops multiply, and of a branch the side of most operations counts.

The number of iterations is known where a counter decides: it starts at a whole number, an iteration adds a whole number, and a
comparison with a number that stays the same ends the loop. :func:`counted` finds it without running anything, in
O(ops between counter and condition). Where data decide, it is what the option ``trips`` says, and ``known`` is False.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from placelab.base.errors import UnsupportedError
from placelab.formats.op_kinds import name_of
from placelab.schedule.catalogue import Limits

MAX_TRIPS = (1 << 31) - 1
LARGEST = 1 << 62  # of a number that is followed
MAX_FOLLOWED = 400  # ops from which one number is computed
MAX_DEEP = 100  # of them in a chain
Trips = Annotated[int, Limits(1, MAX_TRIPS)]


class Control:
    """The loops and branches found in a file.

    Parameters
    ----------
    trips
        Iterations of a loop of which the file does not say how many.
    """

    def __init__(self, trips: int = 1) -> None:
        if type(trips) is not int or not 1 <= trips <= MAX_TRIPS:
            raise UnsupportedError(f"trips is {trips!r:.40}; expected a whole number of 1 to {MAX_TRIPS:,}")
        self.trips = trips
        self.loops: list[dict[str, Any]] = []
        self.branches: list[dict[str, Any]] = []

    def loop(self, op: str, trips: int | None = None, most: int | None = None) -> int:
        """Record a loop of `trips` iterations, None if unknown, but not over `most`; return the number to multiply with."""
        known = trips is not None
        n = min(self.trips, most) if trips is None and most is not None else self.trips if trips is None else trips
        limit = {} if known or most is None else {"most": most}
        self.loops.append({"op": op, "trips": n, "known": known, **limit})
        return n

    def branch(self, op: str, operations: Sequence[float]) -> int:
        """Record a branch with sides of so many operations; return the number of the dearest side, of equals the first."""
        taken = max(range(len(operations)), key=operations.__getitem__, default=0)
        self.branches.append({"op": op, "branches": len(operations), "taken": taken})
        return taken

    def metadata(self) -> dict[str, Any]:
        """Entries for a graph's metadata: lists of the loops and of the branches, each where there are any."""
        return {name: rows for name, rows in (("loops", self.loops), ("branches", self.branches)) if rows}


# -------------------------------------------------------------------- whole numbers that are known, or change evenly


class Line(NamedTuple):
    """The number ``offset + slope·k`` in iteration k."""

    offset: int
    slope: int


class Below(NamedTuple):
    """True where ``offset + slope·k < 0``."""

    offset: int
    slope: int


class Zero(NamedTuple):
    """Whether ``offset + slope·k == 0``, or, if `holds` is False, whether it is not."""

    offset: int
    slope: int
    holds: bool


class Until(NamedTuple):
    """True in the iterations before `steps`, then False; if not `exact`, perhaps False before."""

    steps: int
    exact: bool = True


class Expression(NamedTuple):
    """A number that an op computes."""

    kind: str
    inputs: tuple[Hashable, ...]
    attributes: Mapping[str, Any] = {}


Value = int | bool | tuple[int, ...] | Line | Below | Zero | Until | None
Look = Callable[[Hashable], Value | Expression]
Arguments = Callable[[int], Value]


def value_of(source: Hashable, look: Look) -> Value:
    """The value of `source`, of which `look` has the value or the op that computes it; None if it depends on data."""
    found: dict[Hashable, Value] = {}

    def follow(source: Hashable, depth: int) -> Value:
        if source not in found:
            if depth > MAX_DEEP or len(found) > MAX_FOLLOWED:
                return None
            found[source] = None  # while it is computed, so that a cycle ends
            seen = look(source)
            if isinstance(seen, Expression):
                values = [follow(one, depth + 1) for one in seen.inputs]
                seen = computed(seen.kind, values, seen.attributes)
            found[source] = seen
        return found[source]

    return follow(source, 0)


def counted(
    start: Arguments, update: Callable[[int, Arguments], Value], condition: Callable[[Arguments], Value]
) -> Until | bool | None:
    """How long the condition of a loop ``while condition: variables = update`` holds; None if that depends on data.

    Parameters
    ----------
    start
        Number of a variable → its value before the loop.
    update
        Number of a variable, and the values of all variables in an iteration → its value in the next one.
    condition
        Values of all variables → whether another iteration follows.

    Examples
    --------
    >>> def less(i):
    ...     return computed("Less", [i(0), 10])
    >>> counted([0].__getitem__, lambda j, i: computed("Add", [i(0), 3]), less)
    Until(steps=4, exact=True)
    """
    held = until(condition(Counters(start, update)))
    return Until(0) if held is False else held


def limits(held: Until | bool | None) -> tuple[int | None, int | None]:
    """Iterations of a loop whose condition holds so long: their number, None if unknown; else the most, if known."""
    if not isinstance(held, Until):
        return (0 if held is False else None), None
    return (held.steps, None) if held.exact else (None, held.steps)


class Counters:
    """The variables of a loop as lines, where each iteration adds the same number to them; None for others."""

    def __init__(self, start: Arguments, update: Callable[[int, Arguments], Value]) -> None:
        self._start = start
        self._update = update
        self._found: dict[int, Value] = {}

    def __call__(self, variable: int) -> Value:
        """The variable's line or constant."""
        if variable not in self._found:
            self._found[variable] = None
            if len(self._found) <= MAX_DEEP:
                self._found[variable] = self._line(variable)
        return self._found[variable]

    def _line(self, variable: int) -> Value:
        first = self._start(variable)
        symbol = Line(0, 1)
        after = self._update(variable, lambda other: symbol if other == variable else self._constant(other))
        if after == symbol:
            return first
        if isinstance(after, Line) and after.slope == 1 and isinstance(first, int):
            return Line(int(first), after.offset)
        return first if first is not None and after == first else None

    def _constant(self, variable: int) -> Value:
        value = self(variable)
        return None if isinstance(value, Line) else value


def until(value: Value) -> Until | bool | None:
    """How long a condition holds: always, never, or in the first iterations."""
    match value:
        case Below(offset, slope):
            return Until(0) if offset >= 0 else True if slope <= 0 else Until(-(offset // slope))
        case Zero(offset, slope, holds):
            at = 0 if offset == 0 else -offset // slope if slope and offset % slope == 0 else -1
            if holds:
                return Until(0) if at else Until(1) if slope else True
            return True if at < 0 else Until(at)
        case Until():
            return value
        case bool() | int():
            return bool(value)
    return None


def computed(kind: str, values: Sequence[Value], attributes: Mapping[str, Any] | None = None) -> Value:
    """What an op computes of whole numbers and lines; None if that is neither, or an argument that matters is unknown.

    >>> computed("AddV2", [Line(0, 1), 2]), computed("aten.lt.Scalar", [3, 5]), computed("Mul", [Line(0, 1), Line(0, 1)])
    (Line(offset=2, slope=1), True, None)
    """
    function = FUNCTIONS.get(name_of(kind))
    if function is None:
        return None
    try:
        found = function(list(values), attributes or {})
    except (TypeError, ValueError, LookupError, ArithmeticError):
        return None
    numbers = found if isinstance(found, tuple) else (found,)  # lines and lists alike
    return None if any(isinstance(n, int) and abs(n) > LARGEST for n in numbers) else found


def _line(value: Value) -> Line:
    """A number as a line; TypeError for anything else."""
    if isinstance(value, Line):
        return value
    if type(value) is tuple and len(value) == 1:
        value = value[0]
    if not isinstance(value, int):
        raise TypeError
    return Line(int(value), 0)


def _listed(value: Value) -> tuple[int, ...]:
    """Several numbers; TypeError for anything else."""
    if type(value) is not tuple:
        raise TypeError
    return value


def _number(line: Line) -> Value:
    return line if line.slope else line.offset


def _added(values: list[Value], attributes: Mapping[str, Any], sign: int = 1) -> Value:
    """The sum; aten's add and sub multiply the second number by `alpha`."""
    a, b = map(_line, values)
    sign *= attributes.get("alpha", 1)
    return _number(Line(a.offset + sign * b.offset, a.slope + sign * b.slope))


def _subtracted(values: list[Value], attributes: Mapping[str, Any]) -> Value:
    return _added(values, attributes, -1)


def _multiplied(values: list[Value], attributes: Mapping[str, Any]) -> Value:
    a, b = map(_line, values)
    if a.slope and b.slope:
        return None
    return _number(Line(a.offset * b.offset, a.offset * b.slope + a.slope * b.offset))


def _whole(function: Callable[[int, int], int]) -> Callable[[list[Value], Mapping[str, Any]], Value]:
    """A function of two numbers that stay the same, neither below 0, where languages round differently."""

    def applied(values: list[Value], attributes: Mapping[str, Any]) -> Value:
        a, b = map(_line, values)
        return None if a.slope or b.slope or min(a.offset, b.offset) < 0 else function(a.offset, b.offset)

    return applied


def _compared(sign: int, equal: int) -> Callable[[list[Value], Mapping[str, Any]], Value]:
    """Whether `sign` times the difference is below 0, or, with `equal` 1, not above it."""

    def compared(values: list[Value], attributes: Mapping[str, Any]) -> Value:
        a, b = map(_line, values)
        offset = sign * (a.offset - b.offset) - equal
        slope = sign * (a.slope - b.slope)
        return Below(offset, slope) if slope else offset < 0

    return compared


def _same(holds: bool) -> Callable[[list[Value], Mapping[str, Any]], Value]:
    def compared(values: list[Value], attributes: Mapping[str, Any]) -> Value:
        a, b = map(_line, values)
        offset = a.offset - b.offset
        slope = a.slope - b.slope
        return Zero(offset, slope, holds) if slope else (offset == 0) is holds

    return compared


def _both(values: list[Value], attributes: Mapping[str, Any]) -> Value:
    a, b = map(until, values)
    if a is False or b is False:
        return False
    if a is True or b is True:
        return b if a is True else a
    known = [one for one in (a, b) if isinstance(one, Until)]
    first = min(known, key=lambda one: (one.steps, not one.exact), default=None)
    return None if first is None else Until(first.steps, len(known) == 2 and all(one.exact for one in known))


def _either(values: list[Value], attributes: Mapping[str, Any]) -> Value:
    a, b = map(until, values)
    if a is True or b is True:
        return True
    return b if a is False else a if b is False else None


def _opposite(values: list[Value], attributes: Mapping[str, Any]) -> Value:
    match values[0]:
        case Below(offset, slope):
            return Below(-offset - 1, -slope)
        case Zero(offset, slope, holds):
            return Zero(offset, slope, not holds)
        case bool() | int():
            return not values[0]
    return None


def _first(values: list[Value], attributes: Mapping[str, Any]) -> Value:
    return values[0]


def _entry(values: list[Value], attributes: Mapping[str, Any]) -> Value:
    """One of several numbers, such as a size of a shape."""
    return _listed(values[0])[_line(values[1]).offset]


def _slice(values: list[Value], attributes: Mapping[str, Any]) -> Value:
    """A part of a list: begin, end, then strides in TensorFlow, axes and strides in ONNX."""
    listed, begin, end, *more = values
    strides = more if "begin_mask" in attributes else more[1:]
    if strides and _line(strides[0]).offset != 1:
        return None
    first = None if attributes.get("begin_mask", 0) & 1 else _line(begin).offset
    last = None if attributes.get("end_mask", 0) & 1 else _line(end).offset
    if attributes.get("shrink_axis_mask", 0) & 1:
        return _listed(listed)[first or 0]
    return _listed(listed)[first:last]


def _size(values: list[Value], attributes: Mapping[str, Any]) -> Value:
    return math.prod(_listed(values[0]))


TABLE: dict[str, Callable[[list[Value], Mapping[str, Any]], Value]] = {
    "Add AddV2 add": _added,
    "Sub sub": _subtracted,
    "Mul mul": _multiplied,
    "FloorDiv Div floor_divide floordiv": _whole(operator.floordiv),
    "Mod FloorMod remainder mod": _whole(operator.mod),
    "Min Minimum minimum": _whole(min),
    "Max Maximum maximum": _whole(max),
    "Less lt": _compared(1, 0),
    "LessEqual LessOrEqual le": _compared(1, 1),
    "Greater gt": _compared(-1, 0),
    "GreaterEqual GreaterOrEqual ge": _compared(-1, 1),
    "Equal eq": _same(True),
    "NotEqual ne": _same(False),
    "LogicalAnd And logical_and bitwise_and and": _both,
    "LogicalOr Or logical_or bitwise_or or": _either,
    "LogicalNot Not logical_not bitwise_not not": _opposite,
    "Identity Cast Squeeze Unsqueeze ExpandDims Reshape LoopCond Enter StopGradient": _first,
    "clone detach lift_fresh_copy _to_copy to alias item _local_scalar_dense squeeze unsqueeze view": _first,
    "Gather GatherV2": _entry,
    "Slice StridedSlice": _slice,
    "ReduceProd Prod": _size,
}
FUNCTIONS = {name: function for names, function in TABLE.items() for name in names.split()}

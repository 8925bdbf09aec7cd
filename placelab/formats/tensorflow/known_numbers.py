"""Whole numbers that TensorFlow ops compute from shapes and constants: the sizes that other ops are given.

``Reshape(x, Pack(StridedSlice(Shape(x), [0], [1]), 784))`` has as many rows as x. A value is a number, or a tuple of
numbers or of rows of them; entries that are not known are None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

from placelab.formats.contractions import Unknown
from placelab.formats.loops import computed
from placelab.formats.tensorflow.nodes import MOST, Node, Shape

Shapes = tuple[Shape, ...]
Known = Any  # a whole number, a tuple of them or of such tuples, with None for unknown entries; None: not known
MAX_RANK = 64
LARGEST = (1 << 62) - 1  # of a dimension
LIMITS = {3: (1 << 31) - 1, 9: LARGEST, 10: 1}  # type of which values are followed → largest number
# A damaged file's attributes may be of any type.
MALFORMED = (Unknown, TypeError, ValueError, LookupError, ArithmeticError)


class Applied(NamedTuple):
    """An op with what is known of its inputs."""

    node: Node
    shapes: Shapes  # of the inputs
    values: tuple[Known, ...]  # of the inputs
    outputs: Shapes = ()  # shapes of the outputs, for rules of values

    def shape(self, i: int = 0) -> tuple[int, ...]:
        """The shape of an input; Unknown if its rank is not known."""
        shape = self.shapes[i]
        if shape is None:
            raise Unknown
        return shape

    def number(self, i: int) -> int:
        """The number that an input is, or, of several, their only one."""
        value = self.values[i]
        value = value[0] if isinstance(value, tuple) and len(value) == 1 else value
        if not isinstance(value, int):
            raise Unknown
        return int(value)

    def entries(self, i: int) -> Sequence[int | None]:
        """The numbers in an input, None for those unknown; Unknown if even their count is."""
        value = self.values[i]
        if isinstance(value, int):
            return (value,)
        if isinstance(value, tuple):
            return value
        shape = self.shape(i)
        if len(shape) != 1 or not 0 <= shape[0] <= MAX_RANK:
            raise Unknown
        return (None,) * shape[0]

    def dims(self, i: int) -> tuple[int, ...]:
        """The shape that an input is, -1 for unknown dimensions."""
        return tuple([-1 if size is None or size < 0 else size for size in self.entries(i)])

    def flag(self, name: str) -> int:
        """A whole number among the attributes, 0 if it has none."""
        return int(self.node.attributes.get(name) or 0)


def values_of(op: Applied) -> tuple[Known, ...]:
    """What an op computes, where that is few whole numbers; () if it is not known."""
    rule = VALUES.get(op.node.kind)
    if rule is None:
        return ()
    try:
        return tuple(
            [value if _is_kept(value, kind) else None for value, kind in zip(rule(op), op.node.types, strict=False)]
        )
    except MALFORMED:
        return ()


def _is_kept(value: Known, kind: int | None) -> bool:
    """Whether a value is few whole numbers that its type can hold."""
    entries = value if isinstance(value, tuple) else (value,)
    numbers = [n for entry in entries for n in (entry if isinstance(entry, tuple) else (entry,))]
    return kind in LIMITS and len(numbers) <= MOST and all(n is None or abs(n) <= LIMITS[kind] for n in numbers)


def _entrywise(op: Applied) -> Iterable[Known]:
    """Arithmetic on whole numbers, single or several."""
    kind = op.node.kind
    values = op.values
    lengths = {len(value) for value in values if isinstance(value, tuple)}
    if not lengths:
        return (computed(kind, list(values)),)
    n = max(lengths)
    if lengths - {1, n} or any(len(shape or ()) > 1 for shape in op.shapes):
        raise Unknown
    spread = [value * (n // len(value)) if isinstance(value, tuple) else (value,) * n for value in values]
    return (tuple([computed(kind, list(entries)) for entries in zip(*spread, strict=True)]),)


def _arranged(op: Applied) -> Iterable[Known]:
    """The same numbers as a scalar or as several, whichever the output is."""
    shape = op.outputs[0]
    entries = (op.values[0],) if op.shape() == () else _listed(op)
    if shape not in ((), (len(entries),)) or (shape == () and len(entries) != 1):
        raise Unknown
    return (entries[0] if shape == () else entries,)


def _sizes(op: Applied) -> Iterable[Known]:
    return [None if s is None else tuple([None if n < 0 else n for n in s]) for s in op.shapes]


def _count(op: Applied) -> Iterable[Known]:
    return (None if -1 in op.shape() else prod(op.shape()),)


def _rank(op: Applied) -> Iterable[Known]:
    return (len(op.shape()),)


def _listed(op: Applied, i: int = 0) -> tuple[Known, ...]:
    """Several numbers; Unknown if not even their count is known."""
    entries = tuple(op.entries(i))
    if len(op.shape(i)) != 1 or any(isinstance(entry, tuple) for entry in entries):
        raise Unknown
    return entries


def _part_of(op: Applied) -> Iterable[Known]:
    listed = _listed(op)
    begin = op.number(1)
    stop = op.number(2)
    if op.node.kind == "Slice":
        return (listed[begin:] if stop < 0 else listed[begin : begin + stop],)
    if op.flag("ellipsis_mask") or op.flag("new_axis_mask"):
        raise Unknown
    if op.flag("shrink_axis_mask"):
        return (listed[begin],)
    first = None if op.flag("begin_mask") else begin
    last = None if op.flag("end_mask") else stop
    return (listed[slice(first, last, op.number(3))],)


def _picked(op: Applied) -> Iterable[Known]:
    listed = _listed(op)
    at = op.values[1]
    if at is None or op.flag("batch_dims"):
        raise Unknown
    return (tuple([listed[i] for i in at]) if isinstance(at, tuple) else listed[at],)


def _together(op: Applied) -> Iterable[Known]:
    if op.node.kind == "Pack":
        return (op.values,) if op.flag("axis") == 0 and len(op.shape()) < 2 else ()
    last = len(op.shapes) - 1
    parts = [_listed(op, i) for i in (range(1, last + 1) if op.node.kind == "Concat" else range(last))]
    return (tuple([entry for part in parts for entry in part]),)


def _apart(op: Applied) -> Iterable[Known]:
    return _listed(op)


def _cut(op: Applied) -> Iterable[Known]:
    """Consecutive parts, of which the outputs have the lengths."""
    listed = _listed(op, 1 if op.node.kind == "Split" else 0)
    start = 0
    for shape in op.outputs:
        if shape is None or -1 in shape:
            raise Unknown
        yield listed[start : start + shape[0]]
        start += shape[0]


def _alike(op: Applied) -> Iterable[Known]:
    """As many zeros or ones as the input has numbers."""
    number = int(op.node.kind == "OnesLike")
    shape = op.shape()
    if len(shape) > 1 or not all(0 <= n <= MOST for n in shape):
        raise Unknown
    return ((number,) * shape[0] if shape else number,)


def _total(op: Applied) -> Iterable[Known]:
    listed = _listed(op)
    if None in listed or op.outputs[0] not in ((), (1,)):
        raise Unknown
    totals: dict[str, Callable[[Iterable[int]], int]] = {"Prod": prod, "Sum": sum, "Max": max, "Min": min}
    found = totals[op.node.kind](listed)
    return (found if op.outputs[0] == () else (found,),)


def _inverse(op: Applied) -> Iterable[Known]:
    listed = _listed(op)
    return (tuple([listed.index(i) for i in range(len(listed))]),)


def _counting(op: Applied) -> Iterable[Known]:
    numbers = range(*(op.number(i) for i in range(3)))
    return (tuple(numbers),) if len(numbers) <= MOST else ()


def _filled(op: Applied) -> Iterable[Known]:
    (length,) = op.dims(0)
    return ((op.values[1],) * length,) if 0 <= length <= MOST else ()


ROWS: dict[Callable[[Applied], Iterable[Known]], str] = {
    _entrywise: "Add AddV2 Sub Mul Div FloorDiv Mod FloorMod Maximum Minimum",
    _arranged: "ExpandDims Squeeze Reshape",
    (lambda op: op.values[:1]): "Identity Cast StopGradient PreventGradient Snapshot Enter EnsureShape",
    _sizes: "Shape ShapeN VariableShape",
    _count: "Size",
    _rank: "Rank",
    _part_of: "StridedSlice Slice",
    _picked: "Gather GatherV2",
    _together: "Pack ConcatV2 Concat",
    _apart: "Unpack",
    _cut: "Split SplitV",
    _alike: "ZerosLike OnesLike",
    _total: "Prod Sum Max Min",
    _inverse: "InvertPermutation",
    _counting: "Range",
    _filled: "Fill",
}
VALUES = {kind: rule for rule, kinds in ROWS.items() for kind in kinds.split()}

"""Operations of a program of XLA, counted as XLA's own analysis does (``cost_analysis()`` of JAX), but for loops.

A product of matrices: 2 per element and contracted element. A convolution: 2 per pair of a kernel's element and an input's that
is no padding. An elementwise op: 1 per element, but exponential functions, logarithms, roots, powers and the like: these are
counted apart (``transcendentals``). A reduction, a scatter, a window: what it calls, per element that is combined. Sorting n
numbers: n·⌈log₂ n⌉. What only moves data: 0. A fusion: what is in it. A branch: the dearest one.

XLA counts a loop's body and condition once; here they count as often as the loop runs: ``known_trip_count`` of the file, or a
counter that constants start, step and end.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import FormatError
from placelab.base.files import MAX_DEPTH
from placelab.formats.loops import Arguments, Control, Expression, Value, counted, limits, value_of
from placelab.formats.op_kinds import XLA
from placelab.formats.xla.program import Array, Computation, Instruction, Shape, arrays, integers

MULTIPLY_ADD = 2
TRANSCENDENTAL = frozenset(
    """
    atan2 cbrt cosine erf exponential exponential-minus-one log log-plus-one logistic power rsqrt sine sqrt tan tanh
    rng rng-bit-generator
    """.split()
)
ELEMENTWISE = frozenset(XLA["elementwise"].split()) - TRANSCENDENTAL - {"map"}
FREE = {kind for sort in ("gather", "fill", "movement", "view", "source") for kind in XLA[sort].split()} - {
    "all-reduce"
}
FREE |= {"capture", "copy-done", "copy-start"}
PER_ELEMENT = {  # what XLA makes of a function without an instruction of its own: operations per element of 32 bits
    "acos": 3,
    "acosh": 7,
    "asin": 5,
    "asinh": 11,
    "atanh": 6,
    "bessel-i1e": 83,
    "cosh": 3,
    "digamma": 73,
    "erf-inv": 37,
    "erfc": 62,
    "lgamma": 53,
    "next-after": 24,
    "sinh": 10,
    "batch-norm-grad": 11,
    "batch-norm-inference": 4,
    "batch-norm-training": 8,
}
WINDOW = re.compile(r"\b(size|stride|pad|lhs_dilate|rhs_dilate)=([\dx_-]{1,2000})")
LABELS = re.compile(r"([\w?]{2,40})_([\w?]{2,40})->([\w?]{2,40})")
LARGEST_WINDOW = 1 << 12  # sizes of kernels and outputs whose padding is counted exactly
MALFORMED = (TypeError, ValueError, LookupError, ArithmeticError)  # for attributes and shapes of a broken file


class Unknown(Exception):
    """Operations of this instruction cannot be counted."""


class Cost(NamedTuple):
    """Floating-point operations, and calls of exponential functions and the like."""

    flop: float = 0.0
    transcendentals: float = 0.0

    def times(self, n: float) -> Cost:
        """The cost of running `n` times."""
        return Cost(n * self.flop, n * self.transcendentals)


class Costs:
    """Costs of the instructions of a program.

    Attributes
    ----------
    control
        The loops and branches that were counted.
    unknown
        Kind → number of instructions that were counted as 0.
    targets
        The same for custom calls, by their targets.
    """

    def __init__(self, trips: int) -> None:
        self.control = Control(trips)
        self.unknown: Counter[str] = Counter()
        self.targets: Counter[str] = Counter()
        self._found: dict[int, Cost | None] = {}
        self._depth = 0

    def of(self, instruction: Instruction, within: Computation, name: str) -> Cost:
        """The cost of an instruction of the computation `within`, which is called `name` in messages and records."""
        try:
            return self._of(instruction, within, name)
        except (Unknown, *MALFORMED) as error:
            if isinstance(error, FormatError):
                raise
            self.unknown[instruction.kind] += 1
            if instruction.opcode == "custom-call":
                self.targets[target(instruction)] += 1
            return Cost()

    def _of(self, instruction: Instruction, within: Computation, name: str) -> Cost:
        opcode = instruction.opcode
        if opcode in FREE:
            return Cost()
        if opcode in PER_ELEMENT or opcode in ELEMENTWISE or opcode in TRANSCENDENTAL:
            n = _elements(instruction.shape)
            each = PER_ELEMENT.get(opcode, 1 if opcode in ELEMENTWISE else 0)
            return Cost(each * n, n if opcode in TRANSCENDENTAL else 0)
        if opcode == "while":
            return self._loop(instruction, within, name)
        if opcode == "conditional":
            return self._branch(instruction, name)
        if opcode in RUNNING:
            inner = [self._computation(called, name) for called in instruction.called]
            return RUNNING[opcode](instruction, within, inner)
        if opcode in COUNTED:
            return Cost(COUNTED[opcode](instruction, within))
        raise Unknown

    def _computation(self, called: Computation, name: str) -> Cost:
        """The cost of all that a computation runs, counted when it is first met."""
        if id(called) not in self._found:
            if self._depth > MAX_DEPTH:
                raise FormatError(f"{called.name!r:.80} is called by over {MAX_DEPTH} computations in each other")
            self._found[id(called)] = None
            self._depth += 1
            parts = [self.of(inner, called, f"{name}/{inner.name}") for inner in called.instructions]
            self._depth -= 1
            self._found[id(called)] = Cost(sum(c.flop for c in parts), sum(c.transcendentals for c in parts))
        found = self._found[id(called)]
        if found is None:
            raise FormatError(f"{called.name!r:.80} calls itself; expected a program without recursion")
        return found

    def _loop(self, loop: Instruction, within: Computation, name: str) -> Cost:
        trips = self.control.loop(name, *trip_count(loop, within))
        inner = [self._computation(called, name) for called in loop.called]
        return Cost(sum(c.flop for c in inner), sum(c.transcendentals for c in inner)).times(trips)

    def _branch(self, branch: Instruction, name: str) -> Cost:
        costs = [self._computation(called, name) for called in branch.called]
        taken = self.control.branch(name, [cost.flop for cost in costs])
        return costs[taken]


def target(call: Instruction) -> str:
    """What a custom call calls."""
    return call.attributes.get("custom_call_target", "").strip('"') or "?"


# -------------------------------------------------------------------- shapes


def _array(shape: Shape) -> Array:
    """The first array of a shape."""
    found = next(arrays(shape), None)
    if found is None:
        raise Unknown
    return found


def _elements(shape: Shape) -> int:
    n = _array(shape).elements
    if n is None:
        raise Unknown
    return n


def _size(within: Computation, instruction: Instruction, k: int) -> int:
    """Elements of operand `k`."""
    return _elements(within.operand(instruction, k).shape)


def _dims(shape: Shape) -> tuple[int, ...]:
    _elements(shape)
    return _array(shape).dims  # type: ignore[return-value]


# -------------------------------------------------------------------- what has a rule of its own


def _dot(dot: Instruction, within: Computation) -> float:
    shape = _dims(within.operand(dot, 0).shape)
    summed = prod(shape[axis] for axis in integers(dot.attributes.get("lhs_contracting_dims", "")))
    return MULTIPLY_ADD * _elements(dot.shape) * summed


def _convolution(conv: Instruction, within: Computation) -> float:
    found = LABELS.fullmatch(conv.attributes["dim_labels"])
    if found is None:
        raise Unknown
    image, kernel, result = (
        dict(zip(labels, _dims(shape), strict=True))
        for labels, shape in zip(
            found.groups(),
            (within.operand(conv, 0).shape, within.operand(conv, 1).shape, _array(conv.shape)),
            strict=True,
        )
    )
    axes = sorted(label for label in image if label.isdigit())
    window = _window(conv, len(axes))
    pairs = prod(
        _pairs(
            image[d], kernel[d], result[d], *(window[key][i] for key in ("stride", "low", "lhs_dilate", "rhs_dilate"))
        )
        for i, d in enumerate(axes)
    )
    groups = int(conv.attributes.get("batch_group_count", "1"))
    return MULTIPLY_ADD * kernel["i"] * kernel["o"] * (image["b"] // groups) * pairs


def _window(instruction: Instruction, rank: int) -> dict[str, list[int]]:
    """Per dimension: size, stride, padding before it, dilations."""
    given = dict(WINDOW.findall(instruction.attributes.get("window", "")))
    found = {key: [int(n) for n in given[key].split("x")] if key in given else [1] * rank for key in WINDOW_KEYS}
    padding = given["pad"].split("x") if "pad" in given else ["0_0"] * rank
    return found | {"low": [int(pad.partition("_")[0]) for pad in padding]}


WINDOW_KEYS = ("size", "stride", "lhs_dilate", "rhs_dilate")


@lru_cache(4096)
def _pairs(image: int, kernel: int, result: int, stride: int, low: int, spread: int, dilation: int) -> int:
    """Pairs of an element of the result and one of the kernel that meet an element of the image, not padding or a gap."""
    last = (image - 1) * spread
    reach = (result - 1) * stride + (kernel - 1) * dilation - low
    if low <= 0 and reach <= last and spread == 1:
        return kernel * result
    few, many = sorted(((kernel, dilation), (result, stride)))
    if few[0] > LARGEST_WINDOW or min(stride, dilation, spread) < 1 or max(map(abs, (image, *many, low, spread))) >> 31:
        raise Unknown
    start = np.arange(few[0]) * few[1] - low  # where the many begin, in the image with its gaps
    n, step = many
    first = np.maximum(0, -(start // step))
    begin = start + first * step
    end = np.minimum(n - 1, (last - start) // step)
    common = gcd(step, spread)
    cycle = spread // common  # of as many steps one meets no gap
    skipped = (-(begin // common) % cycle) * pow(step // common, -1, cycle) % cycle
    met = np.maximum(0, (end - first - skipped) // cycle + 1)
    return int(met[begin % common == 0].sum())


def _sort(sort: Instruction, within: Computation, inner: list[Cost]) -> Cost:
    n = _size(within, sort, 0)
    return Cost(n * (n - 1).bit_length())


def _transform(fft: Instruction, within: Computation) -> float:
    lengths = integers(fft.attributes["fft_length"])
    return MULTIPLY_ADD * 4 * prod(n.bit_length() - 1 for n in lengths) * _size(within, fft, 0)


def _cholesky(op: Instruction, within: Computation) -> float:
    return _dims(op.shape)[-1] * _elements(op.shape) // 3


def _triangular_solve(op: Instruction, within: Computation) -> float:
    return MULTIPLY_ADD * _dims(within.operand(op, 0).shape)[-1] * _size(within, op, 1)


def _all_reduce(op: Instruction, within: Computation, inner: list[Cost]) -> Cost:
    return Cost(float(sum(_elements(shape) for shape in arrays(op.shape))))


def _custom_call(call: Instruction, within: Computation) -> float:
    """Libraries of GPUs, whose products and convolutions XLA describes; others are unknown."""
    if target(call).startswith(("__cublas$", "__onednn$matmul")):
        config = json.loads(call.attributes["backend_config"])
        numbers = config.get("gemm_backend_config", config)["dot_dimension_numbers"]
        shape = _dims(within.operand(call, 0).shape)
        return MULTIPLY_ADD * _elements(call.shape) * prod(shape[int(k)] for k in numbers["lhs_contracting_dimensions"])
    if target(call).startswith("__cudnn$convForward"):
        return _convolution(call, within)
    raise Unknown


COUNTED: dict[str, Callable[[Instruction, Computation], float]] = {
    "dot": _dot,
    "convolution": _convolution,
    "fft": _transform,
    "cholesky": _cholesky,
    "triangular-solve": _triangular_solve,
    "custom-call": _custom_call,
}


# -------------------------------------------------------------------- what runs computations


def _whole(op: Instruction, within: Computation, inner: list[Cost]) -> Cost:
    """A fusion or a call: all that it runs, once."""
    if not inner:
        raise Unknown
    return Cost(sum(c.flop for c in inner), sum(c.transcendentals for c in inner))


def _reduce(op: Instruction, within: Computation, inner: list[Cost]) -> Cost:
    return inner[0].times(_size(within, op, 0) - _elements(op.shape))


def _reduce_window(op: Instruction, within: Computation, inner: list[Cost]) -> Cost:
    return inner[0].times((prod(_window(op, 0)["size"]) - 1) * _elements(op.shape))


def _map(op: Instruction, within: Computation, inner: list[Cost]) -> Cost:
    return inner[0].times(_elements(op.shape))


def _scatter(op: Instruction, within: Computation, inner: list[Cost]) -> Cost:
    return inner[0].times(_size(within, op, len(op.operands) // 2 + 1))


def _select_and_scatter(op: Instruction, within: Computation, inner: list[Cost]) -> Cost:
    source = _size(within, op, 1)
    window = prod(_window(op, 0)["size"])
    select = inner[0].times(source * (window - 1))
    scatter = inner[1].times(source)
    return Cost(select.flop + scatter.flop, select.transcendentals + scatter.transcendentals)


RUNNING: dict[str, Callable[[Instruction, Computation, list[Cost]], Cost]] = {
    "fusion": _whole,
    "call": _whole,
    "composite": _whole,
    "async-start": _whole,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "map": _map,
    "scatter": _scatter,
    "select-and-scatter": _select_and_scatter,
    "sort": _sort,
    "all-reduce": _all_reduce,
}


def carried(within: Computation, instruction: Instruction) -> int:
    """Number of the loop's value that an instruction of its body or condition is; Unknown if it is none."""
    while instruction.opcode == "copy":
        instruction = within.operand(instruction, 0)
    if instruction.opcode == "get-tuple-element":
        instruction, number = within.operand(instruction, 0), instruction.number
        if instruction.opcode == "parameter":
            return number
    elif instruction.opcode == "parameter":
        return instruction.number
    raise Unknown


# -------------------------------------------------------------------- how often a loop runs

KNOWN = re.compile(r'"known_trip_count":\{"n":"?(\d{1,18})')
SAME = ("bitcast", "convert", "copy", "domain", "reshape")  # of one number
EXPRESSIONS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "minimum": "minimum",
    "maximum": "maximum",
    "and": "and",
    "or": "or",
    "not": "not",
}
COMPARISONS = {"LT": "lt", "LE": "le", "GT": "gt", "GE": "ge", "EQ": "eq", "NE": "ne"}


@dataclass(eq=False, frozen=True)
class _Frame:
    """A computation, and the values of its parameters: those of a loop by number, or what a call gives."""

    computation: Computation
    variables: Arguments | None = None
    given: Sequence[Hashable] = ()

    def parameter(self, number: int) -> Value | Expression:
        """The value of a parameter, or of an element of the only one."""
        if self.variables is not None:
            return self.variables(number)
        return Expression("alias", (self.given[number],)) if number < len(self.given) else None

    def find(self, number: int) -> Value | Expression:
        """The value of an instruction, or how it is computed."""
        instruction = self.computation.instructions[number]
        operands = tuple((self, k) for k in instruction.operands)
        opcode = instruction.opcode
        if instruction.literal is not None:
            return instruction.literal
        if opcode == "parameter":
            return self.parameter(instruction.number)
        if opcode == "get-tuple-element" and operands:
            return self.element(self.computation.operand(instruction, 0), instruction.number)
        if opcode in ("fusion", "call") and instruction.called:
            called = instruction.called[0]
            return Expression("alias", ((_Frame(called, None, operands), called.root),))
        if opcode == "compare":
            return Expression(COMPARISONS.get(instruction.attributes.get("direction", ""), ""), operands)
        kind = "alias" if opcode in SAME else EXPRESSIONS.get(opcode)
        return Expression(kind, operands) if kind else None

    def element(self, whole: Instruction, k: int) -> Value | Expression:
        """The value of element `k` of what an instruction returns."""
        if whole.opcode == "parameter" and self.variables is not None:
            return self.variables(k)
        if whole.opcode == "tuple" and k < len(whole.operands):
            return Expression("alias", ((self, whole.operands[k]),))
        return None


def trip_count(loop: Instruction, within: Computation) -> tuple[int | None, int | None]:
    """How often a loop of the computation `within` runs, None if the program does not tell; else the most, if known."""
    if found := KNOWN.search(loop.attributes.get("backend_config", "")):
        return int(found[1]), None
    if len(loop.called) != 2:
        return None, None
    condition, body = loop.called
    given = loop.operands
    if len(given) == 1 and not isinstance(within.instructions[given[0]].shape, Array):
        given = _tuple_elements(within, given[0])
    returned = _tuple_elements(body, body.root)
    before = _Frame(within)

    def start(k: int) -> Value:
        return _value(before, given[k]) if k < len(given) else None

    def update(k: int, variables: Arguments) -> Value:
        return _value(_Frame(body, variables), returned[k]) if k < len(returned) else None

    return limits(counted(start, update, lambda variables: _value(_Frame(condition, variables), condition.root)))


def _tuple_elements(computation: Computation, number: int) -> list[int]:
    """Numbers of the instructions that a tuple is made of; that of the instruction itself if it is none."""
    whole = computation.instructions[number]
    return whole.operands if whole.opcode == "tuple" else [number]


def _value(frame: _Frame, number: int) -> Value:
    def look(source: Any) -> Value | Expression:
        within, k = source
        found: Value | Expression = within.find(k)
        return found

    return value_of((frame, number), look)

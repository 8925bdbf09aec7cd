"""A program of XLA: computations of instructions, whichever text it was read from, in HLO's own words.

Both readers make this: opcodes and attributes are spelled as in HLO text (``dot`` with ``lhs_contracting_dims={1}``), also those
of StableHLO, so that operations are counted once for both (:mod:`placelab.formats.xla.costs`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod
from typing import NamedTuple

from placelab.base.errors import FormatError
from placelab.base.files import MAX_DEPTH
from placelab.problem.tensor_shapes import shape_text

LARGEST = 1 << 62  # of a dimension
BITS = re.compile(r"[a-z]+(\d{1,3})")
TYPE = re.compile(r"(bf|f|s|u|c)(\d{1,3})(e\w{1,12})?")
LETTERS = {"bf": "bfloat", "f": "float", "s": "int", "u": "uint", "c": "complex"}
BRACKET = re.compile(r'[^"(){}\[\]]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*"|([({\[])|([)}\]]))', re.DOTALL)
INTEGERS = re.compile(r"-?\d{1,19}")


class Array(NamedTuple):
    """The shape of an array; None for a dimension that the file leaves open.

    Attributes
    ----------
    type
        Number type as in HLO: ``f32``, ``pred``; ``token`` is no array and has no bytes.
    dims
        Sizes; of a dimension with a bound, the bound.
    bounded
        Whether some size is a bound.
    """

    type: str
    dims: tuple[int | None, ...] = ()
    bounded: bool = False

    @property
    def elements(self) -> int | None:
        """Number of elements; None if a dimension is open."""
        return None if None in self.dims else prod(self.dims)  # type: ignore[arg-type]

    @property
    def bytes(self) -> float | None:
        """Bytes of the array; None if its size or its number type is unknown."""
        n = self.elements
        item = item_bytes(self.type)
        return None if n is None or item is None else float(n * item)

    @property
    def text(self) -> str | None:
        """Element type and sizes; None where a size is no more than a bound, and of what is no array.

        >>> Array("bf16", (4, None)).text, Array("f8e4m3fn", (2,)).text, Array("pred").text, Array("token").text
        ('bfloat16 [4, ?]', 'float8_e4m3fn [2]', 'bool []', None)
        """
        return _text(*self)


Shape = Array | tuple["Shape", ...]
NOTHING = Array("token")


def item_bytes(name: str) -> float | None:
    """Bytes of an element of a number type of HLO; None if it is not known.

    >>> [item_bytes(name) for name in ("f32", "bf16", "pred", "f8e4m3fn", "s4", "c64", "token", "mystery")]
    [4.0, 2.0, 1.0, 1.0, 0.5, 8.0, 0.0, None]
    """
    if name in ("pred", "token", "opaque"):
        return float(name == "pred")
    found = BITS.match(name)
    return int(found[1]) / 8 if found else None


@lru_cache(4096)  # the same shapes come again and again
def _text(name: str, dims: tuple[int | None, ...], bounded: bool) -> str | None:
    return None if bounded else shape_text(_type_name(name), dims)


def _type_name(name: str) -> str:
    """The name of a number type of HLO in numpy; "" if it has none."""
    found = TYPE.fullmatch(name)
    if found is None:
        return "bool" if name == "pred" else ""
    return f"{LETTERS[found[1]]}{found[2]}{f'_{found[3]}' if found[3] else ''}"


@dataclass(slots=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    name
        Unique in its computation.
    opcode
        HLO's: ``dot``, ``while``.
    kind
        As the file spells it: ``stablehlo.dot_general``.
    operands
        Numbers of instructions of the same computation, all of them before this one.
    attributes
        In HLO's spelling, as text.
    called
        Computations: condition and body of a loop, branches, what a fusion or a call runs.
    literal
        The value of a whole number, if the instruction is one.
    number
        Of a parameter, of what a region reads from outside, or of the element that ``get-tuple-element`` takes.
    after
        Numbers of instructions that run before this one without giving it data.
    captured
        Numbers of instructions that its regions read (StableHLO).
    """

    name: str
    opcode: str
    kind: str
    shape: Shape
    operands: list[int] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    called: list[Computation] = field(default_factory=list)
    literal: int | None = None
    number: int = 0
    after: list[int] = field(default_factory=list)
    captured: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Computation:
    """A function of a program, or a region of an instruction.

    Attributes
    ----------
    name
        For messages.
    instructions
        Each after those it reads.
    root
        Number of the instruction whose value it returns.
    """

    name: str
    instructions: list[Instruction] = field(default_factory=list)
    root: int = -1

    def operand(self, instruction: Instruction, k: int) -> Instruction:
        """The instruction whose value is operand `k` of another; FormatError if there is none."""
        if k >= len(instruction.operands):
            raise FormatError(f"{instruction.kind} {instruction.name!r:.80} has {len(instruction.operands)} operands")
        return self.instructions[instruction.operands[k]]


class Program(NamedTuple):
    """A program: its name, the computation that runs first, and where it is from."""

    name: str
    entry: Computation
    provenance: str


def arrays(shape: Shape) -> Iterator[Array]:
    """The arrays in a shape, those of tuples one after the other."""
    if isinstance(shape, Array):
        yield shape
    else:
        for part in shape:
            yield from arrays(part)


def integers(text: str) -> list[int]:
    """All whole numbers in an attribute such as ``{0,1}``."""
    return [int(digits) for digits in INTEGERS.findall(text)]


def dimension(text: str, what: str) -> int:
    """A size; FormatError unless it is a whole number that an array may have."""
    if not (text.isascii() and text.isdigit()) or len(text) > 19 or int(text) > LARGEST:
        raise FormatError(f"{what} has the dimension {text!r:.40}; expected a whole number up to {LARGEST:,}")
    return int(text)


def end_of_brackets(text: str, start: int, what: str) -> int:
    """The position behind the bracket that closes the one at `start`; FormatError if none does, or deeper than a hundred.

    >>> end_of_brackets('f(a, {"}"}) -> g', 1, "f")
    11
    """
    depth = 0
    position = start
    while found := BRACKET.match(text, position):
        position = found.end()
        depth += (found[1] is not None) - (found[2] is not None)
        if depth > MAX_DEPTH:
            raise FormatError(f"{what} has over {MAX_DEPTH} brackets in each other")
        if depth <= 0:
            return position
    raise FormatError(f"{what} has a bracket or a text that is not closed, from {text[start : start + 40]!r}")

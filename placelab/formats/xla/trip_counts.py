"""How often a loop of XLA runs: ``known_trip_count`` of the file, or a counter that constants start, step and end."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from placelab.formats.loops import Arguments, Expression, Value, counted, limits, value_of
from placelab.formats.xla.program import Array, Computation, Instruction

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
        given = _elements(within, given[0])
    returned = _elements(body, body.root)
    before = _Frame(within)

    def start(k: int) -> Value:
        return _value(before, given[k]) if k < len(given) else None

    def update(k: int, variables: Arguments) -> Value:
        return _value(_Frame(body, variables), returned[k]) if k < len(returned) else None

    return limits(counted(start, update, lambda variables: _value(_Frame(condition, variables), condition.root)))


def _elements(computation: Computation, number: int) -> list[int]:
    """Numbers of the instructions that a tuple is made of; that of the instruction itself if it is none."""
    whole = computation.instructions[number]
    return whole.operands if whole.opcode == "tuple" else [number]


def _value(frame: _Frame, number: int) -> Value:
    def look(source: Any) -> Value | Expression:
        within, k = source
        found: Value | Expression = within.find(k)
        return found

    return value_of((frame, number), look)

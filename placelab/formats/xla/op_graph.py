"""The graph of a program of XLA.

* An op is an instruction of the entry computation, or of a function that it calls, whose ops have the call's name before theirs.
  A parameter is an op that holds nothing: whoever gives it sends it. A fusion, a loop and a branch are one op each.
* ``tuple``, ``get-tuple-element``, ``bitcast`` and barriers are no ops: who reads them reads what they are made of; so does who
  reads a value that a loop hands on unchanged. Constants of up to a kilobyte are part of the ops that read them.
* An asynchronous pair, such as ``all-gather-start`` and ``all-gather-done``, is one op of the kind ``all-gather``.

``metadata["costs"]``: ``unknown``, ops by kind whose operations count as 0 since they cannot be counted; ``custom_calls``, those
of them by target; ``unsized``, outputs whose bytes are unknown; ``transcendentals``, calls of exponential functions and the
like, which XLA does not count as operations. ``metadata["loops"]`` says how often each loop was counted, and whether the program
tells that; ``metadata["branches"]``, which branch.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from placelab.base.errors import FormatError
from placelab.base.fields import title
from placelab.base.files import MAX_DEPTH, MAX_OPS
from placelab.formats.building import build
from placelab.formats.xla.costs import Costs, Unknown, carried, target
from placelab.formats.xla.program import Array, Computation, Instruction, Program, Shape, arrays
from placelab.problem.graph import OpGraph
from placelab.problem.graph_checks import check_size

MAX_INLINED = 1_000_000  # instructions of all calls
MAX_NAMES = 100 << 20  # characters of their names
MAX_FOLLOWED = 2 * MAX_OPS  # elements of all tuples that ops read
CHECKED = 1024  # ops between two checks of the graph's size
SMALL = 1024  # bytes; a smaller constant is copied to whatever reads it
# Values are those of the operands.
SAME = {
    "bitcast",
    "optimization-barrier",
    "opt-barrier",
    "add-dependency",
    "domain",
}
MARKS = {
    "Sharding",
    "SPMDFullToShardShape",
    "SPMDShardToFullShape",
    "LayoutConstraint",
    "annotate_device_placement",
    "shape_assertion",
}
HALVES = {"f16": "float16", "bf16": "bfloat16"}


class Output(NamedTuple):
    """An output of an op, by numbers."""

    op: int
    number: int


Value = Output | None | tuple["Value", ...]  # None: a constant, or nothing


def graph_of(program: Program, where: str, trips: int) -> OpGraph:
    """The graph of a program from the file `where`; loops of unknown length run `trips` times.

    Notes
    -----
    O(instructions and their operands).
    """
    _check_calls(program.entry, {}, 0)
    made = _Graph(trips)
    made.run(program.entry, [], "", 0)
    if not made.names:
        raise FormatError("it holds no ops but constants; expected a program with instructions")
    costs = made.costs
    return build(
        made.names,
        made.compute,
        [(source.op, v) for source, v in made.edges] + made.after,
        edge_bytes=[made.bytes[source] for source, _ in made.edges] + [0.0] * len(made.after),
        edge_output=[source.number for source, _ in made.edges] + [0] * len(made.after),
        edge_control=[False] * len(made.edges) + [True] * len(made.after),
        outputs=[(*source, size) for source, size in made.bytes.items()],
        shapes=made.shapes,
        kind=made.kinds,
        metadata={
            "name": program.name or title(where, "program"),
            "provenance": program.provenance,
            "costs": {
                "compute": "FLOP",
                "unknown": dict(sorted(costs.unknown.items())),
                "unsized": made.unsized,
                "transcendentals": made.transcendentals,
            }
            | ({"custom_calls": dict(sorted(costs.targets.items()))} if costs.targets else {})
            | _precision(program.entry),
        }
        | costs.control.metadata(),
    )


def _check_calls(computation: Computation, found: dict[int, tuple[int, int] | None], depth: int) -> tuple[int, int]:
    """Instructions of a computation with its calls inlined, and characters of their names; FormatError beyond limits."""
    if depth > MAX_DEPTH:
        raise FormatError(f"{computation.name!r:.80} is called by over {MAX_DEPTH} functions in each other")
    if id(computation) not in found:
        found[id(computation)] = None
        size = len(computation.instructions)
        text = sum(len(instruction.name) for instruction in computation.instructions)
        for call in computation.instructions:
            if call.opcode == "call" and call.called:
                inner, letters = _check_calls(call.called[0], found, depth + 1)
                size = size + inner
                text = text + letters + inner * (len(call.name) + 1)
        if size > max(MAX_INLINED, len(computation.instructions)) or text > MAX_NAMES:
            what = f"more than {MAX_INLINED:,} instructions, or instructions of very long names"
            raise FormatError(f"its calls become {what}; such programs are not read")
        found[id(computation)] = size, text
    known = found[id(computation)]
    if known is None:
        raise FormatError(f"{computation.name!r:.80} calls itself; expected a program without recursion")
    return known


def _precision(entry: Computation) -> dict[str, str]:
    """Number type of products, if most bytes of the parameters have 16 bits."""
    size: Counter[str] = Counter()
    for instruction in entry.instructions:
        if instruction.opcode == "parameter":
            for array in arrays(instruction.shape):
                size[array.type] += int(array.bytes or 0)
    half = HALVES.get(max(size, key=size.__getitem__, default=""))
    return {"precision": half} if half else {}


class _Graph:
    """Ops and edges found so far."""

    def __init__(self, trips: int) -> None:
        self.costs = Costs(trips)
        self.names: list[str] = []
        self.kinds: list[str] = []
        self.compute: list[float] = []
        self.bytes: dict[Output, float] = {}
        self.shapes: dict[tuple[int, int], str] = {}
        self.edges: list[tuple[Output, int]] = []
        self.after: list[tuple[int, int]] = []
        self.unsized = self.followed = 0
        self.transcendentals = 0.0

    def run(self, computation: Computation, arguments: list[Value], prefix: str, captured: int) -> Value:
        """Add the ops of a computation; returns its value. `arguments` are those of a call, none for the entry.

        The last `captured` of them are what a region reads from outside.
        """
        values: list[Value] = []
        for instruction in computation.instructions:
            read = [values[k] for k in (*instruction.operands, *instruction.captured)]
            if instruction.opcode in ("parameter", "capture") and prefix:
                given = arguments if instruction.opcode == "parameter" else arguments[len(arguments) - captured :]
                values.append(_element(given, instruction))
            elif instruction.opcode == "call" and instruction.called:
                name = f"{prefix}{instruction.name}/"
                values.append(self.run(instruction.called[0], read, name, len(instruction.captured)))
            else:
                values.append(self.value(instruction, computation, read, prefix))
            if instruction.after:
                self.order([values[k] for k in instruction.after], values[-1])
        return values[computation.root]

    def value(self, instruction: Instruction, within: Computation, read: list[Value], prefix: str) -> Value:
        """The value of an instruction, for which an op is added if it is one."""
        opcode = instruction.opcode
        if opcode == "tuple":
            return tuple(read)
        if opcode == "get-tuple-element":
            return _element(read[0] if read else None, instruction)
        if opcode in SAME or (opcode == "custom-call" and _marks(instruction)):
            return (
                tuple(read)
                if len(read) != 1 and not isinstance(instruction.shape, Array)
                else read[0]
                if read
                else None
            )
        if opcode.endswith(("-done", "-update")) and read and opcode not in ("recv-done", "send-done"):
            return read[0]
        if opcode == "constant" and sum(array.bytes or 0.0 for array in arrays(instruction.shape)) <= SMALL:
            return None
        shape = _result(instruction) if opcode.endswith("-start") else instruction.shape
        return self.op(instruction, within, read, prefix + instruction.name, shape)

    def op(self, instruction: Instruction, within: Computation, read: list[Value], name: str, shape: Shape) -> Value:
        v = len(self.names)
        if v % CHECKED == 0:
            check_size(ops=v, edges=len(self.edges))
        self.names.append(name)
        self.kinds.append(instruction.kind.removesuffix("-start"))
        self.edges += [(source, v) for source in self.leaves(read)]
        cost = self.costs.of(_finished(instruction), within, name)
        self.compute.append(cost.flop)
        self.transcendentals += cost.transcendentals
        made = self.outputs(v, shape)
        return _handed_on(instruction, read, made) if instruction.opcode == "while" else made

    def outputs(self, v: int, shape: Shape) -> Value:
        """The outputs of op `v`, numbered one after the other."""
        numbers = iter(range(MAX_OPS))

        def value(part: Shape) -> Value:
            if not isinstance(part, Array):
                return tuple(value(inner) for inner in part)
            output = Output(v, next(numbers))
            self.bytes[output] = part.bytes or 0.0
            self.unsized += part.bytes is None
            if text := part.text:
                self.shapes[output] = text
            return output

        return value(shape)

    def leaves(self, values: Any) -> list[Output]:
        """The outputs in values; FormatError if they are more than a graph has edges."""
        found: list[Output] = []
        left = list(reversed(values))
        while left:
            self.followed += 1
            if self.followed > MAX_FOLLOWED:
                raise FormatError("it has tuples of too many elements; such programs are not read")
            value = left.pop()
            if isinstance(value, Output):
                found.append(value)
            elif value:
                left += reversed(value)
        return found

    def order(self, before: list[Value], value: Value) -> None:
        """Let an op wait for others whose values it does not read."""
        for later in dict.fromkeys(output.op for output in self.leaves([value])):
            for earlier in dict.fromkeys(output.op for output in self.leaves(before)):
                self.after += [(earlier, later)] if earlier < later else []


def _marks(call: Instruction) -> bool:
    """Whether a custom call only says how its operand is sharded, or checks a size."""
    return target(call) in MARKS or target(call).startswith("xla.sdy.")


def _element(value: Any, instruction: Instruction) -> Value:
    """Element `number` of a tuple; None of a constant."""
    if value is None:
        return None
    if isinstance(value, Output) or instruction.number >= len(value):
        what = f"{instruction.kind} {instruction.name!r:.80}"
        raise FormatError(
            f"{what} takes element {instruction.number:,} of what has fewer; expected a tuple with that element"
        )
    element: Value = value[instruction.number]
    return element


def _result(start: Instruction) -> Shape:
    """The shape of what an asynchronous op returns in the end, beside its operands and what else its start holds."""
    shape = start.shape
    if isinstance(shape, Array) or start.opcode == "all-reduce-start" or len(shape) < 2:
        return shape
    return shape[0] if start.opcode == "copy-start" else shape[1]


def _finished(instruction: Instruction) -> Instruction:
    """The same op, not asynchronous."""
    if not instruction.opcode.endswith("-start") or (instruction.called and instruction.opcode == "async-start"):
        return instruction
    return Instruction(
        instruction.name,
        instruction.opcode.removesuffix("-start"),
        instruction.kind.removesuffix("-start"),
        _result(instruction),
        instruction.operands,
        instruction.attributes,
        instruction.called,
    )


def _handed_on(loop: Instruction, read: list[Value], made: Value) -> Value:
    """The values of a loop; those that its body returns as it gets them are what the loop has read."""
    given: Any = read[0] if len(read) == 1 and isinstance(read[0], tuple) and not isinstance(read[0], Output) else read
    body = loop.called[-1] if loop.called else None
    if body is None or isinstance(made, Output) or made is None:
        return made
    root = body.instructions[body.root]
    if root.opcode != "tuple" or len(root.operands) != len(made) or len(given) < len(made):
        return made
    values = list(made)
    for k, operand in enumerate(root.operands):
        try:
            if carried(body, body.instructions[operand]) == k:
                values[k] = given[k]
        except (Unknown, FormatError):
            continue
    return tuple(values)

"""Read HLO text, which XLA writes before and after its optimisations (``compiled.as_text()`` of JAX, ``--xla_dump_to``).

What the graph of a program is: :mod:`placelab.formats.xla.op_graph`. Layouts, sharding and metadata are passed over.
"""

from __future__ import annotations

import re

from placelab.base.errors import FormatError
from placelab.base.fields import one_line, read_from
from placelab.base.files import MAX_DEPTH, MAX_OPS, text_of
from placelab.formats.building import without_garbage_collection
from placelab.formats.loops import Trips
from placelab.formats.xla.op_graph import graph_of
from placelab.formats.xla.program import Array, Computation, Instruction, Program, Shape, dimension, end_of_brackets
from placelab.problem.graph import OpGraph
from placelab.schedule.catalogue import checked

EXPECTED = "HLO text"
COMMENT = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*(?:"|\Z)|/\*[^*]*+(?:\*(?!/)[^*]*+)*(?:\*/|\Z)|//[^\n]*+', re.DOTALL)
SPACE = re.compile(r"\s*+")
WORD = re.compile(r"[\w.%@$/-]++")
HEAD = re.compile(r"\s*+(ROOT\s++)?%?([\w.$/-]++)\s*+=\s*+")
ARRAY = re.compile(r"\s*+([a-z]\w*+)\[([^\[\]]*+)\]")
SIMPLE = re.compile(r'[^(){}\[\]"]*+')
OPCODE = re.compile(r"\s*+([a-z][\w-]*+)\s*+(?=\()")
ATTRIBUTE = re.compile(r"\s*+,\s*+([\w-]++)\s*+=\s*+")
FLAT = re.compile(r'\{[^{}"]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*"[^{}"]*+)*\}', re.DOTALL)
TEXT = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*"', re.DOTALL)
PLAIN = re.compile(r'[^\s,(){}\[\]"]++')
NAMED = re.compile(r"%([\w.$/-]++)")
TYPED = re.compile(r"(?<!\w)[a-z]\w*+\[[^\[\]]*+\](?:\{[^{}]*+\})?")
TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
ROW = re.compile(r'\s*+\d++\s*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*"|\{[^{}]*+\})')
PASSED_OVER = {"metadata", "sharding", "frontend_attributes", "origin", "statistics"}
CALLING = (
    *("condition", "body", "true_computation", "false_computation", "branch_computations", "calls", "to_apply"),
    *("select", "scatter", "called_computations", "async_computation"),
)
LITERAL = re.compile(r"-?\d{1,19}|true|false")


@checked
def loads(data: bytes, where: str = "the upload", *, trips: Trips = 1) -> OpGraph:
    """The graph in the bytes of HLO text, gzipped or not; `where` names it in messages.

    Loops whose number of iterations the program does not tell run `trips` times.

    >>> text = b"ENTRY f { x = f32[2,3] parameter(0) ROOT y = f32[2,2] dot(x, x), lhs_contracting_dims={1} }"
    >>> graph = loads(text)
    >>> graph.names.tolist(), graph.compute.tolist(), graph.edge_bytes.tolist()
    (['x', 'y'], [0.0, 24.0], [24.0, 24.0])
    """
    text = text_of(data, where, EXPECTED)
    with read_from(where), without_garbage_collection():
        return graph_of(program(text), where, trips)


def program(text: str) -> Program:
    """The program in HLO text."""
    if "/*" in text or "//" in text:
        text = COMMENT.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    return _Reader(text).program()


class _Reader:
    """Reads a text from `position` on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.instructions = 0
        self.computations: dict[str, Computation] = {}
        self.shapes: dict[tuple[str, str], Array] = {}
        self.calls: list[tuple[Instruction, str]] = []  # with the names of the computations that it calls

    def program(self) -> Program:
        name = ""
        entry = ""
        while word := self.word():
            if word == "HloModule":
                name = self.expect("the module's name")
                self.attributes()
            elif word in TABLES:
                while row := ROW.match(self.text, self.position):
                    self.position = row.end()
            elif word == "ENTRY":
                entry = self.computation(self.expect("the entry computation's name"))
            else:
                only = self.computation(word)
        if not self.ends():
            raise self.error("a computation")
        if not entry and len(self.computations) != 1:
            raise FormatError(
                "it has no computation marked ENTRY; expected HLO text, as compiled.as_text() of JAX gives"
            )
        for instruction, text in self.calls:
            instruction.called += [self.known(part, instruction.name) for part in text.split(",") if part.strip()]
        return Program(one_line(name), self.computations[entry or only], EXPECTED)

    def known(self, callee: str, name: str) -> Computation:
        callee = callee.strip(" \n\t{}").removeprefix("%")
        if callee not in self.computations:
            raise FormatError(f"{name!r:.80} calls {callee!r:.80}, which is no computation of the file")
        return self.computations[callee]

    # ------------------------------------------------------------ pieces of text

    def error(self, expected: str) -> FormatError:
        line = self.text.count("\n", 0, self.position) + 1
        found = " ".join(self.text[self.position : self.position + 60].split())[:40]
        return FormatError(f"line {line} has {found!r} where {expected} was expected")

    def ends(self) -> bool:
        return not self.text[self.position : self.position + 1]

    def took(self, mark: str) -> bool:
        """Whether `mark` is next, blanks aside; then it is passed."""
        self.position = SPACE.match(self.text, self.position).end()  # type: ignore[union-attr]
        found = self.text.startswith(mark, self.position)
        self.position += len(mark) * found
        return found

    def word(self) -> str:
        self.took("")
        found = WORD.match(self.text, self.position)
        self.position = found.end() if found else self.position
        return found[0] if found else ""

    def expect(self, what: str) -> str:
        word = self.word()
        if not word:
            raise self.error(what)
        return word

    def brackets(self) -> str:
        """What is between the bracket at the position and the one that closes it."""
        start = self.position
        flat = FLAT.match(self.text, start)
        self.position = flat.end() if flat else end_of_brackets(self.text, start, "the text")
        return self.text[start + 1 : self.position - 1]

    # ------------------------------------------------------------ grammar

    def computation(self, name: str) -> str:
        """Read a computation from what follows its name; returns the name."""
        name = name.removeprefix("%")
        if self.took("("):  # parameters, which the body has, too
            self.position -= 1
            self.brackets()
            if self.took("->"):
                self.shape()
        if not self.took("{"):
            raise self.error("'{' after the name of a computation")
        if name in self.computations:
            raise FormatError(f"two computations are called {name!r:.80}; names must be unique")
        self.computations[name] = found = Computation(name)
        self.body(found)
        self.attributes()
        return name

    def body(self, computation: Computation) -> None:
        number: dict[str, int] = {}
        while head := HEAD.match(self.text, self.position):
            self.position = head.end()
            computation.instructions.append(self.instruction(head[2], number))
            if head[2] in number:
                raise FormatError(
                    f"{computation.name!r:.80} has two instructions {head[2]!r:.80}; names must be unique"
                )
            number[head[2]] = len(number)
            if head[1]:
                computation.root = number[head[2]]
        if not self.took("}"):
            raise self.error("an instruction, name = shape opcode(operands), or '}'")
        if not number:
            raise FormatError(f"computation {computation.name!r:.80} has no instructions; expected at least one")

    def instruction(self, name: str, number: dict[str, int]) -> Instruction:
        self.instructions += 1
        if self.instructions > MAX_OPS:
            raise FormatError(f"it has more than {MAX_OPS:,} instructions; such programs are not read")
        shape = self.shape()
        opcode = OPCODE.match(self.text, self.position)
        if opcode is None:
            raise self.error(f"the opcode of {name!r:.60} and its operands in parentheses")
        self.position = opcode.end()
        inside = self.operands()
        made = Instruction(name, opcode[1], opcode[1], shape, attributes=self.attributes())
        if opcode[1] == "parameter":
            made.number = dimension(inside.strip(), f"parameter {name!r:.60}")
        elif opcode[1] == "constant":
            made.literal = _literal(inside, shape)
        else:
            made.operands = [_known(operand, number, name) for operand in _operands(inside)]
        if opcode[1] == "get-tuple-element":
            made.number = dimension(made.attributes.get("index", ""), f"the index of {name!r:.60}")
        before = made.attributes.pop("control-predecessors", "")
        made.after = [_known(found, number, name) for found in NAMED.findall(before)]
        self.calls += [(made, made.attributes.pop(key)) for key in CALLING if key in made.attributes]
        return made

    def operands(self) -> str:
        found = SIMPLE.match(self.text, self.position + 1)
        if found and self.text.startswith(")", found.end()):
            self.position = found.end() + 1
            return found[0]
        return self.brackets()

    def shape(self, depth: int = 0) -> Shape:
        if found := ARRAY.match(self.text, self.position):
            self.position = found.end()
            if self.text.startswith("{", self.position):  # a layout follows at once, a computation's body after a space
                self.brackets()
            key = found[1], found[2]
            if key not in self.shapes:
                self.shapes[key] = Array(found[1], _dimensions(found[2], found[1]), "<=" in found[2])
            return self.shapes[key]
        if depth > MAX_DEPTH:
            raise FormatError(f"a shape has over {MAX_DEPTH} tuples in each other")
        if not self.took("("):
            raise self.error("a shape, such as f32[8,16]{1,0}")
        parts: list[Shape] = []
        while not self.took(")"):
            parts.append(self.shape(depth + 1))
            if not self.took(",") and not self.text.startswith(")", self.position):
                raise self.error("',' or ')' in the shape of a tuple")
        return tuple(parts)

    def attributes(self) -> dict[str, str]:
        given: dict[str, str] = {}
        while found := ATTRIBUTE.match(self.text, self.position):
            self.position = found.end()
            value = self.value()
            if found[1] not in PASSED_OVER:
                given[found[1]] = value
        return given

    def value(self) -> str:
        start = self.position
        while not self.ends():
            if self.text[self.position] in "({[":
                self.brackets()
            elif found := TEXT.match(self.text, self.position) or PLAIN.match(self.text, self.position):
                self.position = found.end()
            elif self.text.startswith(" {", self.position):  # replica_groups=mesh['a'=2] {'a'}
                self.position += 1
            else:
                break
        if start == self.position:
            raise self.error("the value of an attribute")
        return self.text[start : self.position]


def _dimensions(text: str, kind: str) -> tuple[int | None, ...]:
    parts = [part.strip().removeprefix("<=") for part in text.split(",")] if text.strip() else []
    return tuple(None if part.startswith("?") else dimension(part, f"a shape of {kind}") for part in parts)


def _operands(inside: str) -> list[str]:
    """Names of operands; older texts have a shape before each name."""
    if "%" in inside:
        return NAMED.findall(inside)
    if "[" in inside:
        inside = re.sub(r"[()]", "", TYPED.sub("", inside)).strip()
    return [part.strip() for part in inside.split(",")] if inside.strip() else []


def _known(operand: str, number: dict[str, int], name: str) -> int:
    if operand not in number:
        raise FormatError(f"{name!r:.80} reads {operand!r:.80}, which is no instruction before it")
    return number[operand]


def _literal(text: str, shape: Shape) -> int | None:
    """The number in a literal, if it is a whole one."""
    found = LITERAL.fullmatch(text.strip())
    if not isinstance(shape, Array) or shape.dims or found is None:
        return None
    return int(found[0]) if found[0] not in ("true", "false") else int(found[0] == "true")

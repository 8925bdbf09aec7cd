"""Read StableHLO text (MLIR), pretty or generic, as ``lowered.as_text()`` of JAX and ``str(exported.mlir_module())`` write it.

Ops of ``stablehlo``, ``mhlo`` and ``chlo`` are translated to HLO's; ops of other dialects are kept, with unknown operations. A
region is a computation of its own, and what it reads from outside is read by the op that has it. What the graph of a program is:
:mod:`placelab.formats.xla.op_graph`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from placelab.base.errors import FormatError
from placelab.base.fields import one_line, read_from
from placelab.base.files import MAX_DEPTH, MAX_OPS, text_of, unzipped
from placelab.formats.building import without_garbage_collection
from placelab.formats.loops import Trips
from placelab.formats.op_kinds import DIALECTS
from placelab.formats.xla.mlir_types import WHOLE, Scope, Tokens, attributes_of, shape_of
from placelab.formats.xla.op_graph import graph_of
from placelab.formats.xla.program import Computation, Instruction, Program, Shape
from placelab.problem.graph import OpGraph
from placelab.schedule.catalogue import checked

EXPECTED = "StableHLO text"
BYTECODE = b"ML\xefR"
ONE = re.compile(r"dense<1(?:\.0+e\+00)?>")
MANUAL = "sdy.manual_computation"
ARGUMENTS = re.compile(r"\(\s*+%[\w.$-]++\s*+:"), re.compile(r"\(\s*+(?:\)\s*+\{|%[\w.$-]++\s*+:)")  # of a region
RETURNS = ("return", "func.return", "stablehlo.return", "mhlo.return", "sdy.return")
FUNCTION = "func.func"
MODULES = ("module", "builtin.module")
OPCODES = {
    "broadcast-in-dim": "broadcast",
    "case": "conditional",
    "composite": "call",
    "dot-general": "dot",
    "func.call": "call",
    "if": "conditional",
    "sdy.manual-computation": "call",
    "sdy.reshard": "copy",
    "sdy.sharding-constraint": "domain",
}


@checked
def loads(data: bytes, where: str = "the upload", *, trips: Trips = 1) -> OpGraph:
    """The graph in the bytes of StableHLO text, gzipped or not; `where` names it in messages.

    Loops whose number of iterations the program does not tell run `trips` times.

    >>> text = b"func.func @main(%a: tensor<2xf32>) { %0 = stablehlo.add %a, %a : tensor<2xf32> return %0 : tensor<2xf32> }"
    >>> graph = loads(text)
    >>> graph.names.tolist(), graph.kind.tolist(), graph.compute.tolist()
    (['a', 'add.0'], ['parameter', 'stablehlo.add'], [0.0, 2.0])
    """
    if unzipped(data, where).startswith(BYTECODE):
        raise FormatError(f"{where} is MLIR bytecode; write it as text, with stablehlo-opt or str(module)")
    text = text_of(data, where, EXPECTED)
    with read_from(where), without_garbage_collection():
        return graph_of(program(text), where, trips)


def program(text: str) -> Program:
    """The program in StableHLO text."""
    return _Reader(text).program()


@dataclass(slots=True)
class _Op:
    """What is written of an op."""

    name: str
    refs: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)  # of regions that have no arguments of their own
    symbol: str = ""
    text: list[str] = field(default_factory=list)  # of its attributes
    regions: list[Scope] = field(default_factory=list)


class _Reader(Tokens):
    """Reads the ops of a text, token by token, into computations."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.functions: dict[str, Computation] = {}
        self.public: list[str] = []
        self.calls: list[tuple[Instruction, str]] = []
        self.combined: dict[str, Computation] = {}
        self.instructions = self.depth = 0
        self.name = ""

    def program(self) -> Program:
        self.block(None)
        if self.kind:
            self.fail("a function")
        entry = self.functions.get("main") or next(
            (self.functions[name] for name in (*self.public, *self.functions)), None
        )
        if entry is None:
            raise FormatError("it has no function; expected StableHLO text, func.func @main(…) {…}")
        for instruction, symbol in self.calls:
            if symbol not in self.functions:
                raise FormatError(f"{instruction.name!r:.80} calls {symbol!r:.80}, which is no function of the file")
            instruction.called.append(self.functions[symbol])
        return Program(self.name, entry, EXPECTED)

    # ------------------------------------------------------------ blocks

    def block(self, scope: Scope | None) -> None:
        """Read ops until the block ends; outside functions, `scope` is None."""
        while self.kind and self.token != "}":
            if self.token == "^":
                self.fail("one block per region; branches between blocks are not read, so '}'")
            if self.token in ("#", "!") and scope is None:  # another name for an attribute or a type
                self.line()
            elif scope is None:
                self.declaration()
            else:
                self.statement(scope)

    def line(self) -> None:
        """Pass the rest of the line."""
        stop = self.text.find("\n", self.start)
        self.end = len(self.text) if stop < 0 else stop
        self.advance()

    def declaration(self) -> None:
        """A module, a function, or what other dialects declare beside functions, which is passed over."""
        name = self.token.strip('"')
        if self.kind not in ("word", "text"):
            self.fail("a module or a function")
        generic = self.kind == "text"
        if name in MODULES:
            self.module(generic)
        elif name == FUNCTION:
            self.advance()
            self.generic_function() if generic else self.function()
        elif name == "loc":
            self.line()
        elif name.startswith(("sdy.", "mpmd.", "ml_program.")):
            self.line()
        else:
            self.fail("a module or a function, func.func @main(…)")

    def module(self, generic: bool) -> None:
        self.advance()
        self.nest()
        if generic:
            while self.token != "{" or not self.text.startswith("{", self.start) or self.text[self.start - 1] != "(":
                if not self.kind:
                    self.fail("the region of the module")
                attributes = self.skip() if self.token == "{" else self.advance()
                self.name = self.name or _symbol(attributes)
        else:
            self.name = self.name or (one_line(self.advance()[1:].strip('"')) if self.kind == "symbol" else "")
            if self.took("attributes"):
                self.skip()
        self.expect("{")
        self.block(None)
        self.expect("}")
        self.depth -= 1
        if generic:
            self.expect(")")
            if self.token == "{":
                self.skip()
            self.expect(":")
            self.types()
        self.location()

    def function(self) -> None:
        private = False
        while self.kind == "word":
            private |= self.advance() == "private"
        if self.kind != "symbol":
            self.fail("the name of a function")
        name = self.advance()[1:].strip('"')
        scope = Scope(Computation(name))
        if self.token != "(":
            self.fail("the arguments of a function in parentheses")
        self.parameters(scope)
        if self.took("->"):
            if self.token == "(":
                self.skip()
            else:
                self.type()
        if self.took("attributes"):
            self.skip()
        if self.token == "{":  # else it is declared only
            self.body(scope)
            self.add_function(name, scope, private)
        self.location()

    def generic_function(self) -> None:
        op = _Op(FUNCTION)
        self.pieces(op, None)
        text = " ".join(op.text)
        name = _symbol(text)
        if not name or not op.regions:
            self.fail("a function with sym_name and a region")
        self.add_function(name, op.regions[0], 'sym_visibility = "private"' in text)
        self.expect(":")
        self.types()
        self.location()

    def add_function(self, name: str, scope: Scope, private: bool) -> None:
        if name in self.functions:
            raise FormatError(f"two functions are called {name!r:.80}; names must be unique")
        scope.computation.name = name
        self.functions[name] = scope.computation
        self.public += [] if private else [name]

    def parameters(self, scope: Scope) -> None:
        """``(%a: type, …)``."""
        self.expect("(")
        while self.kind == "ref":
            name = self.advance()
            self.expect(":")
            scope.parameter(name, self.type())
            if self.token == "{":
                self.skip()
            self.location()
            self.took(",")
        while self.kind and self.token != ")":  # types without names, as functions have that are only declared
            self.skip() if self.token in ("(", "{", "[") else self.advance()
        self.expect(")")

    def location(self) -> None:
        if self.took("loc"):
            self.skip()

    def nest(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormatError(f"it has over {MAX_DEPTH} regions in each other; such programs are not read")

    def body(self, scope: Scope) -> None:
        """``{ops}``, with the region's arguments before them in the generic form."""
        self.nest()
        self.expect("{")
        if self.took("^"):
            self.advance()
            if self.token == "(":
                self.parameters(scope)
            self.expect(":")
        self.block(scope)
        self.expect("}")
        self.depth -= 1
        if scope.computation.root < 0:
            raise FormatError(f"{scope.computation.name!r:.80} returns nothing; expected a return at its end")

    # ------------------------------------------------------------ ops

    def statement(self, scope: Scope) -> None:
        results = self.results()
        if self.kind not in ("word", "text"):
            self.fail("an op")
        op = _Op(self.advance().strip('"'))
        self.instructions += 1
        if self.instructions > MAX_OPS:
            raise FormatError(f"it has more than {MAX_OPS:,} ops; such programs are not read")
        if scope.computation.root >= 0:
            raise FormatError(f"{scope.computation.name!r:.80} has ops after its return; expected '}}'")
        self.pieces(op, scope)
        if op.name in RETURNS:
            self.returned(op, scope)
            return
        if self.token != ":":
            self.fail(f"':' and the types of {op.name:.60}")
        self.advance()
        shapes = self.types()
        self.regions(op, scope, shapes)
        self.location()
        self.instruction(op, scope, results, shapes)

    def results(self) -> list[tuple[str, int]]:
        """``%0:2, %a =``: names and numbers of values."""
        found: list[tuple[str, int]] = []
        while self.kind == "ref":
            name = self.advance()
            n = 1
            if self.took(":"):
                if not self.token.isdigit() or len(self.token) > 6:
                    self.fail("a number of results")
                n = int(self.advance())
            found.append((name, n))
            self.took(",")
        if found:
            self.expect("=")
        return found

    def pieces(self, op: _Op, scope: Scope | None) -> None:
        """Operands, attributes and regions of an op, up to the colon before its types."""
        nested = 0
        kept = self.start
        while self.kind and (nested or self.token not in (":", "}")):
            if self.kind == "ref":
                if op.name in RETURNS and nested == 0 and op.refs and self.text[kept : self.start].rstrip()[-1:] != ",":
                    break
                ref = self.advance()
                if nested and self.took("="):
                    op.arguments.append(ref)
                else:
                    op.refs.append(ref)
            elif self.kind == "symbol":
                symbol = self.advance()[1:].strip('"')
                op.symbol = op.symbol or symbol
            elif self.token == "{" and self.text[kept : self.start].rstrip()[-1:] in ("(", ",") and nested:
                op.text.append(self.text[kept : self.start])
                self.region(op, scope)
                kept = self.start
            elif self.token in ("{", "["):
                self.skip()
            elif self.token == "(" and not nested and ARGUMENTS[op.name == MANUAL].match(self.text, self.start):
                op.text.append(self.text[kept : self.start])
                self.reducer(op, scope)
                kept = self.start
            else:
                if op.name in RETURNS and nested == 0 and self.kind in ("word", "text"):
                    break
                nested += (self.token in ("(", "<")) - (self.token in (")", ">"))
                self.advance()
        op.text.append(self.text[kept : self.start])

    def region(self, op: _Op, scope: Scope | None, arguments: list[tuple[str, Shape]] | None = None) -> None:
        inner = Scope(Computation(f"region{len(op.regions)}"), scope)
        for name, shape in arguments or ():
            inner.parameter(name, shape)
        self.body(inner)
        op.regions.append(inner)

    def regions(self, op: _Op, scope: Scope, shapes: list[Shape]) -> None:
        """What follows the types in the pretty form: regions of a loop, of a reduction."""
        while True:
            if self.took("attributes"):
                self.skip()
            elif self.token in ("cond", "do"):
                self.advance()
                self.region(op, scope, list(zip(op.arguments, shapes, strict=False)))
            elif self.took("reducer"):
                self.reducer(op, scope)
            else:
                return

    def reducer(self, op: _Op, scope: Scope | None) -> None:
        """A region whose arguments stand before it."""
        inner = Scope(Computation("reducer"), scope)
        while self.token == "(":
            self.parameters(inner)
        self.body(inner)
        op.regions.append(inner)

    def returned(self, op: _Op, scope: Scope) -> None:
        if self.took(":"):
            self.types()
        self.location()
        values = [scope.number(ref) for ref in op.refs]
        if len(values) == 1:
            scope.computation.root = values[0]
        else:
            shape = tuple(scope.computation.instructions[v].shape for v in values)
            scope.computation.root = scope.add(Instruction("return", "tuple", "tuple", shape, values))

    def instruction(self, op: _Op, scope: Scope, results: list[tuple[str, int]], shapes: list[Shape]) -> None:
        n = sum(count for _, count in results)
        if n > len(shapes):
            self.fail(f"the types of {n} results of {op.name:.60} before this")
        shape = shapes[-1] if n == 1 else tuple(shapes[len(shapes) - n :])
        operands = [scope.number(ref) for ref in op.refs]
        opcode = _opcode(op.name)
        label = f"{op.name.rpartition('.')[2]}.{results[0][0][1:] if results else f'n{self.instructions}'}"
        made = Instruction(label, opcode, op.name, shape, operands)
        text = " ".join(op.text)
        made.attributes, made.literal, made.number = attributes_of(
            opcode, text, op.symbol, shape, scope.computation, operands
        )
        made.captured = list(dict.fromkeys(outer for inner in op.regions for outer in inner.captures))
        made.called = [inner.computation for inner in op.regions]
        if opcode == "call" and not made.called:
            self.calls.append((made, made.attributes["callee"]))
        elif opcode == "reduce" and not made.called:
            made.called = [self.combination(text)]
        given = [k for k in operands if k not in scope.ones]
        if opcode == "multiply" and len(given) == 1 and n == 1:  # by 1, which XLA drops as it reads StableHLO
            made.opcode = "domain"
            made.operands = given
        v = scope.add(made)
        first = WHOLE if n == 1 else 0
        if (
            ONE.search(text)
            if opcode == "constant" and len(text) < 100
            else opcode == "broadcast" and operands and not given
        ):
            scope.ones.add(v)
        for name, count in results:
            scope.define(name, (v, first, count))
            first += count

    def combination(self, text: str) -> Computation:
        """The computation of one op that ``applies stablehlo.add`` names."""
        found = re.search(r"\bapplies ([\w.]++)", text)
        name = found[1] if found else ""
        if name not in self.combined:
            shape = shape_of("tensor<f32>")
            self.combined[name] = Computation(name, [Instruction(name, _opcode(name), name, shape)], 0)
        return self.combined[name]


def _opcode(name: str) -> str:
    """HLO's opcode for an op of MLIR.

    >>> [_opcode(name) for name in ("stablehlo.dot_general", "mhlo.add", "chlo.erf_inv", "func.call", "arith.addf")]
    ['dot', 'add', 'erf-inv', 'call', 'arith.addf']
    """
    dialect, _, rest = name.partition(".")
    opcode = (rest if dialect in DIALECTS else name).replace("_", "-")
    return OPCODES.get(opcode, opcode)


def _symbol(text: str) -> str:
    found = re.search(r'\bsym_name = "([^"\n]{1,1000})"', text)
    return one_line(found[1]) if found else ""

"""Translate kernels from Python to JavaScript, so that a page computes the same bytes from the same source.

    PLACELAB_JIT=0 python widgets/kernels/translate.py run_events in_order > kernels.mjs

Kernels are written in a small part of Python (:mod:`placelab.kernels`): loops over ranges, arithmetic, arrays, blocks of arrays,
and calls of each other. What lies outside of it is refused with file and line; ``tests/house/test_translation.py`` asks that of
all kernels.

What differs between the languages, and how it is met:

- An integer is a JavaScript number, exact below 2**53. Keys of 64 bits, ``x << 32 | y``, become ``x * 2**32 + y``, which throws
  where it would not be exact; shifts are products and quotients. Arrays of int64 are ``Float64Array``.
- ``//`` and ``%`` round down, ``round`` goes to the even neighbour, ``min`` and ``max`` keep the first of equals and of what
  cannot be compared: helpers at the top of the output do as Python does.
- Bounds of ``range`` are computed once, and its variable keeps its last value.
- ``a, b = block`` needs the names of the block's fields. They follow from the types of a kernel's arguments (`types`).
- A slice is a view, ``subarray``: kernels only read slices.
- Reading beyond an array gives ``undefined`` instead of an error: ``checked=True`` makes both throw.
"""

from __future__ import annotations

import ast
import inspect
import math
import sys
import textwrap
import typing
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from placelab.kernels import jit

WORD = 32  # bits of the lower half of a key
INFIX = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}  # of bits only what keys need: JavaScript's have 32
COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "===", ast.NotEq: "!=="}
JOINED = {ast.And: " && ", ast.Or: " || "}
RESERVED = frozenset(
    "arguments await case class const debugger default delete do enum eval export extends function implements in instanceof "
    "interface let new package private protected public static super switch this throw typeof var void with yield".split()
)
HELPERS = {
    "$max": "function $max(a, b) { return b > a ? b : a; }",
    "$min": "function $min(a, b) { return b < a ? b : a; }",
    "$mod": "function $mod(a, b) { const r = a % b; return r !== 0 && r < 0 !== b < 0 ? r + b : r; }",
    "$round": (
        "function $round(x) { const f = Math.floor(x), r = x - f;"
        " return r < 0.5 ? f : r > 0.5 ? f + 1 : f % 2 === 0 ? f : f + 1; }"
    ),
    "$next_after": (
        "const word = new DataView(new ArrayBuffer(8));\n"
        "function $next_after(x, y) { if (x !== x || y !== y) return NaN; if (x === y) return y;\n"
        "  if (x === 0) return y > 0 ? 5e-324 : -5e-324;\n"
        "  word.setFloat64(0, x); word.setBigInt64(0, word.getBigInt64(0) + (y > x === x > 0 ? 1n : -1n));"
        " return word.getFloat64(0); }"
    ),
    "$key": (
        "function $key(high, low) {"
        " if (high >= 2 ** 21) throw new RangeError(`${high} does not fit into a key`); return high * 2 ** 32 + low; }"
    ),
    "$at": (
        "function $at(a, i) { if (!(i >= 0 && i < a.length)) throw new RangeError(`index ${i} of ${a.length}`); return i; }"
    ),
}


class UntranslatableError(Exception):
    """Python outside the part that is translated; the message names file, line and what was found."""


def translate(
    kernels: Sequence[jit.kernel], types: Callable[[jit.kernel], Sequence[Any]], checked: bool = False
) -> str:
    """A JavaScript module that exports the kernels under their names.

    Parameters
    ----------
    types
        Returns the types of a kernel's arguments: classes of blocks, None for all else.
    checked
        Whether each access to an array throws where it is out of bounds.
    """
    module = Module(checked)
    names = [module.add(each.function, types(each)) for each in kernels]
    return module.text(names)


def check(function: FunctionType) -> None:
    """Raise UntranslatableError unless the function, alone, can be translated; blocks that it unpacks are taken on trust."""
    Function(Module(False), function, "checked", [ANY] * len(inspect.signature(function).parameters)).text()


ANY = object()  # a type that nobody asks for


class Module:
    """The functions translated so far, each once."""

    def __init__(self, checked: bool) -> None:
        self.checked = checked
        self._names: dict[FunctionType, str] = {}
        self._types: dict[FunctionType, Sequence[Any]] = {}
        self._parts: list[str] = []
        self._helpers: set[str] = set()

    def add(self, function: FunctionType, types: Sequence[Any]) -> str:
        """Translate a function, and those it calls, unless that is done; its name in the output."""
        if function not in self._names:
            label = function.__name__
            if label in self._names.values():  # of another module
                label = f"{label}_{function.__module__.rpartition('.')[2]}"
            self._names[function] = label
            self._types[function] = types
            self._parts.append(Function(self, function, label, types).text())
        return self._names[function]

    def helper(self, name: str) -> str:
        """Note that a helper is needed; its name."""
        self._helpers.add(name)
        return name

    def text(self, exported: Sequence[str]) -> str:
        """The module."""
        helpers = [text for name, text in HELPERS.items() if name in self._helpers]
        return "\n".join([*helpers, *self._parts, f"export {{ {', '.join(exported)} }};\n"])


class Function:
    """One function on its way to JavaScript."""

    def __init__(self, module: Module, function: FunctionType, label: str, types: Sequence[Any]) -> None:
        self._module = module
        self._label = label
        self._globals = function.__globals__
        self._path = Path(function.__code__.co_filename)
        self._first = function.__code__.co_firstlineno
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
        if not isinstance(tree, ast.FunctionDef):
            raise UntranslatableError(f"{self._path}, line {self._first}: a kernel is a function")
        self._tree = tree
        arguments = tree.args
        if arguments.defaults or arguments.vararg or arguments.kwarg or arguments.kwonlyargs:
            self._refuse(tree, "parameters that are not plain")
        self._parameters = [argument.arg for argument in arguments.args]
        self._types: dict[str, Any] = dict(zip(self._parameters, types, strict=True))
        self._locals: set[str] = {
            node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        self._loops = 0  # so far, to number what belongs to each
        self._broken: list[str] = []  # of the loops around a statement: the flag that its break sets, or ""

    def text(self) -> str:
        """The function in JavaScript."""
        body = self._block(self._tree.body, 1)
        declared = sorted(_named(name) for name in self._locals - set(self._parameters) - {"_"})
        head = f"  let {', '.join(declared)};\n" if declared else ""
        return f"function {self._label}({', '.join(map(_named, self._parameters))}) {{\n{head}{body}}}\n"

    # ---------------------------------------------------------------- statements

    def _block(self, statements: Sequence[ast.stmt], depth: int) -> str:
        lines = (self._statement(each, depth) for each in statements)
        return "".join("  " * depth + line + "\n" for line in lines if line)

    def _statement(self, node: ast.stmt, depth: int) -> str:
        match node:
            case ast.Assign(targets=[target], value=value):
                return self._assigned(target, value)
            case ast.AugAssign(target=target, op=op, value=value):
                plain = ast.BinOp(_loaded(target), op, value)
                return self._assigned(target, ast.copy_location(plain, node))
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                return ""
            case ast.Expr(value=value):
                return f"{self._value(value)};"
            case ast.Return(value=value):
                return "return;" if value is None else f"return {self._value(value)};"
            case ast.Continue():
                return "continue;"
            case ast.Break():
                return f"{self._broken[-1]} = true; break;" if self._broken[-1] else "break;"
            case ast.If():
                return self._branches(node, depth)
            case ast.While() | ast.For():
                return self._loop(node, depth)
        self._refuse(node, "this statement")

    def _branches(self, node: ast.If, depth: int) -> str:
        end = "  " * depth + "}"
        text = f"if ({self._value(node.test)}) {{\n{self._block(node.body, depth + 1)}{end}"
        return text + (f" else {{\n{self._block(node.orelse, depth + 1)}{end}" if node.orelse else "")

    def _loop(self, node: ast.While | ast.For, depth: int) -> str:
        self._loops += 1
        flag = f"broke_{self._loops}" if node.orelse else ""
        head, first = self._range(node) if isinstance(node, ast.For) else (f"while ({self._value(node.test)})", "")
        self._broken.append(flag)
        body = self._block(node.body, depth + 1)
        self._broken.pop()
        pad = "  " * depth
        inner = "  " * (depth + 1)
        text = f"{head} {{\n{f'{inner}{first}{chr(10)}' if first else ''}{body}{pad}}}"
        if not flag:
            return text
        return f"let {flag} = false;\n{pad}{text}\n{pad}if (!{flag}) {{\n{self._block(node.orelse, depth + 1)}{pad}}}"

    def _range(self, node: ast.For) -> tuple[str, str]:
        """The head of a loop over a range, and the line that gives the variable its value."""
        match node:
            case ast.For(
                target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id="range"), args=arguments, keywords=[])
            ):
                pass
            case ast.For(target=ast.Name(id=name), iter=(ast.Name() | ast.Attribute()) as array):
                i = f"i_{self._loops}"
                each = self._value(array)
                return f"for (let {i} = 0; {i} < {each}.length; {i} += 1)", f"{_named(name)} = {each}[{i}];"
            case _:
                self._refuse(node, "a loop over something else than a range or an array")
        step = self._step(arguments[2]) if len(arguments) == 3 else 1
        low, high = ("0", self._value(arguments[0])) if len(arguments) == 1 else map(self._value, arguments[:2])
        i, end = f"{_named(name)}_{self._loops}", f"end_{self._loops}"
        sign = "<" if step > 0 else ">"
        head = f"for (let {i} = {low}, {end} = {high}; {i} {sign} {end}; {i} += {step})"
        return head, "" if name == "_" else f"{_named(name)} = {i};"

    def _step(self, node: ast.expr) -> int:
        step = self._constant(node.operand if isinstance(node, ast.UnaryOp) else node)
        if not step:
            self._refuse(node, "a step that is no whole number")
        return -step if isinstance(node, ast.UnaryOp) else step

    def _assigned(self, target: ast.expr, value: ast.expr) -> str:
        if isinstance(target, ast.Tuple):
            return self._unpacked(target, value)
        if isinstance(target, ast.Name):
            self._types[target.id] = self._type(value)
        return f"{self._target(target)} = {self._value(value)};"

    def _unpacked(self, target: ast.Tuple, value: ast.expr) -> str:
        """``a, b = block`` field by field; ``a, b = f(…)`` and ``a, b = b, a`` as an array."""
        kind = self._type(value)
        names = [each.id for each in target.elts if isinstance(each, ast.Name)]
        if len(names) != len(target.elts):
            self._refuse(target, "a target that is no name")
        if hasattr(kind, "_fields"):
            hints = _fields(kind)
            block = self._value(value)
            self._types |= dict(zip(names, hints.values(), strict=True))
            pairs = zip(names, hints, strict=True)
            return " ".join(f"{_named(name)} = {block}.{field};" for name, field in pairs if name != "_")
        if not isinstance(value, (ast.Call, ast.Tuple, ast.IfExp)) and kind is not ANY:
            self._refuse(value, "a block of unknown fields that is unpacked")
        self._types |= dict.fromkeys(names, kind)
        return f"[{', '.join('' if name == '_' else _named(name) for name in names)}] = {self._value(value)};"

    def _target(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return _named(node.id)
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            return self._element(node)
        self._refuse(node, "this target")

    # ---------------------------------------------------------------- expressions

    def _value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(value=value):
                return self._number(node, value)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute(value=value, attr=attribute):
                return f"{self._value(value)}.{attribute}"
            case ast.Subscript(value=value, slice=ast.Slice(lower=low, upper=high, step=None)):
                bounds = [self._value(low) if low else "0", *([self._value(high)] if high else [])]
                return f"{self._value(value)}.subarray({', '.join(bounds)})"
            case ast.Subscript():
                return self._element(node)
            case ast.BinOp():
                return self._combined(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return f"(-{self._value(operand)})"
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return f"!{self._value(operand)}" if isinstance(operand, ast.Compare) else f"!({self._value(operand)})"
            case ast.BoolOp(op=op, values=values):
                return f"({JOINED[type(op)].join(map(self._value, values))})"
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return f"({self._value(test)} ? {self._value(body)} : {self._value(orelse)})"
            case ast.Tuple(elts=elements):
                return f"[{', '.join(map(self._value, elements))}]"
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(node, name, arguments)
        self._refuse(node, "this expression")

    def _element(self, node: ast.Subscript) -> str:
        array = self._value(node.value)
        index = self._value(node.slice)
        return (
            f"{array}[{self._module.helper('$at')}({array}, {index})]" if self._module.checked else f"{array}[{index}]"
        )

    def _name(self, node: ast.expr, name: str) -> str:
        if name in self._types or name in self._locals:
            return _named(name)
        if name not in self._globals:
            self._refuse(node, f"the unknown name {name}")
        return self._number(node, self._globals[name])

    def _number(self, node: ast.expr, value: Any) -> str:
        if isinstance(value, (bool, np.bool_)):
            return "true" if value else "false"
        if isinstance(value, (int, np.integer)) and abs(int(value)) <= 2**53:
            return repr(int(value))
        if isinstance(value, (float, np.floating)):
            return "NaN" if math.isnan(value) else repr(float(value)).replace("inf", "Infinity")
        self._refuse(node, f"the constant {value!r:.40}")

    def _combined(self, node: ast.BinOp) -> str:
        left = self._value(node.left)
        right = self._value(node.right)
        shift = self._constant(node.right)
        match node.op:
            case ast.FloorDiv():
                return f"Math.floor({left} / {right})"
            case ast.Mod():
                return f"{self._module.helper('$mod')}({left}, {right})"
            case ast.LShift():
                return f"({left} * {2**shift})" if shift is not None else f"({left} * 2 ** {right})"
            case ast.RShift():
                few = shift is not None and shift < 8  # of an index
                return f"({left} >> {right})" if few else f"Math.floor({left} / 2 ** {right})"
            case ast.BitOr() if isinstance(node.left, ast.BinOp) and self._is_upper_half(node.left):
                return f"{self._module.helper('$key')}({self._value(node.left.left)}, {right})"
            case ast.BitAnd() if (
                shift is not None and shift & (shift + 1) == 0
            ):  # the lowest bits, of what is not negative
                return f"({left} % {shift + 1})"
            case op if type(op) in INFIX:
                return f"({left} {INFIX[type(op)]} {right})"
        self._refuse(node, f"the operator {type(node.op).__name__}")

    def _is_upper_half(self, node: ast.BinOp) -> bool:
        return isinstance(node.op, ast.LShift) and self._constant(node.right) == WORD

    def _constant(self, node: ast.expr) -> int | None:
        """The whole number that stands there, as a literal or by its name; None for all else."""
        local = isinstance(node, ast.Name) and (node.id in self._types or node.id in self._locals)
        value = self._globals.get(node.id) if isinstance(node, ast.Name) and not local else getattr(node, "value", None)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def _comparison(self, node: ast.Compare) -> str:
        parts = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            if type(op) not in COMPARED or isinstance(left, ast.Tuple) or isinstance(right, ast.Tuple):
                self._refuse(node, "this comparison")
            parts.append(f"{self._value(left)} {COMPARED[type(op)]} {self._value(right)}")
            left = right
        return f"({' && '.join(parts)})"

    def _call(self, node: ast.Call, name: str, arguments: Sequence[ast.expr]) -> str:
        called = self._globals.get(name)
        literal = arguments[0].value if name == "float" and isinstance(arguments[0], ast.Constant) else None
        if literal in ("inf", "nan"):
            return {"inf": "Infinity", "nan": "NaN"}[literal]
        given = [self._value(argument) for argument in arguments]
        if isinstance(called, FunctionType) and called in jit._helpers:
            types = [self._type(argument) for argument in arguments]
            label = name if ANY in self._types.values() else self._module.add(called, types)
            return f"{label}({', '.join(given)})"
        match name, given:
            case "len", [array]:
                return f"{array}.length"
            case "int", [x]:
                return f"Math.trunc({x})"
            case "float", [x]:
                return f"Number({x})"
            case "abs", [x]:
                return f"Math.abs({x})"
            case "round", [x]:
                return f"{self._module.helper('$round')}({x})"
            case "nextafter", [x, y]:
                return f"{self._module.helper('$next_after')}({x}, {y})"
            case (("max" | "min"), [first, _, *_]):
                for other in given[1:]:
                    first = f"{self._module.helper(f'${name}')}({first}, {other})"
                return first
        self._refuse(node, f"a call of {name}")

    # ---------------------------------------------------------------- types

    def _type(self, node: ast.expr) -> Any:
        """The class of a block; None for arrays and numbers; ANY where nothing is known."""
        if isinstance(node, ast.Name):
            return self._types.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._type(node.value)
            return _fields(owner).get(node.attr) if hasattr(owner, "_fields") else owner
        return None

    def _refuse(self, node: ast.AST, what: str) -> typing.NoReturn:
        line = self._first + getattr(node, "lineno", 1) - 1
        raise UntranslatableError(f"{self._path}, line {line}: {what} is outside the part of Python that is translated")


def _fields(block: type) -> dict[str, Any]:
    """Classes of a block's fields by name; None for arrays and numbers."""
    hints = typing.get_type_hints(block)
    return {name: hint if hasattr(hint, "_fields") else None for name, hint in hints.items()}


def _named(name: str) -> str:
    return f"{name}_" if name in RESERVED else name


def _loaded(target: ast.expr) -> ast.expr:
    """The value of an assignment's target."""
    loaded = ast.parse(ast.unparse(target), mode="eval").body
    for node in ast.walk(loaded):
        ast.copy_location(node, target)
    return loaded


if __name__ == "__main__":
    from record_calls import samples, types_of  # beside this file

    every, types = types_of(samples())
    wanted = [each for each in every if each.__name__ in sys.argv[1:] or len(sys.argv) == 1]
    sys.stdout.write(translate(wanted, types))

"""What StableHLO text is made of: its tokens; and types, attributes and named values in HLO's words."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NoReturn

from placelab.base.errors import FormatError
from placelab.formats.xla.program import (
    NOTHING,
    Array,
    Computation,
    Instruction,
    Shape,
    arrays,
    dimension,
    end_of_brackets,
    integers,
)

WHOLE = -1  # first element of a name that means all that an instruction returns
TOKEN = re.compile(
    r"""\s*+(?://[^\n]*+\s*+)*(?!//)(?:
    (?P<text>"[^"\\]*+(?:\\.[^"\\]*+)*")
    |(?P<dense>dense(?:_resource)?<[^">]*+(?:"[^"]*+"[^">]*+)*>)
    |(?P<type>(?:tensor|tuple|vector|memref|complex)<[^<>]*+(?:<[^<>]*+(?:<[^<>]*+>[^<>]*+)*>[^<>]*+)*>)
    |(?P<ref>%[\w.$-]++(?:\#\d{1,9}+)?)
    |(?P<symbol>@(?:[\w.$-]++|"[^"\n]*+"))
    |(?P<word>[A-Za-z_][\w.$]*+)
    |(?P<number>-?\d[\w.]*+)
    |(?P<arrow>->)
    |(?P<mark>\S))""",
    re.VERBOSE | re.DOTALL,
)
TENSOR = re.compile(r"(?:tensor|vector|memref)<((?:(?:\d++|\?|\*)x)*)(?!(?:\d++|\?|\*)x)(.*)>", re.DOTALL)
BOUNDS = re.compile(r"bounds\s*+=\s*+\[([^\]]*+)\]")
STORED = re.compile(r"!quant\.\w++<(\w++)")
COMPLEX = re.compile(r"complex<f(\d{1,3})>")
NUMBER = re.compile(r"(?:si|ui|i|f|bf|tf)\d{1,3}\w*")
CONTRACTED = re.compile(r"(?:\bcontracting_dims|\blhs_contracting_dimensions)\s*+=\s*+\[([^\]]*+)\]")
LABELS = re.compile(r"\[([^\[\]]*+)\]\s*+x\s*+\[([^\[\]]*+)\]\s*+->\s*+\[([^\[\]]*+)\]")
DIRECTION = re.compile(r"\b(EQ|NE|GE|GT|LE|LT)\b")
ELEMENT = re.compile(r"\bindex\s*+=\s*+(\d{1,9})|\[\s*+(\d{1,9})\s*+\]")
LITERAL = re.compile(r"dense<\s*+(-?\d{1,19}|true|false)\s*+>")
CALLEE = re.compile(r'\b(?:callee|decomposition)\s*+=\s*+@(?:([\w.$-]++)|"([^"]*+)")')
TARGET = re.compile(r'\bcall_target_name\s*+=\s*+"([^"]*+)"')
CONFIG = re.compile(r'\bbackend_config\s*+=\s*+"([^"\\]*+(?:\\.[^"\\]*+)*)"')
GROUPS = re.compile(r"\b(feature_group_count|batch_group_count)\s*+=\s*+(\d{1,9})")
WINDOW = {  # of HLO → of the pretty and of the generic form
    "size": ("window_dimensions",),
    "stride": ("stride", "window_strides"),
    "lhs_dilate": ("lhs_dilate", "lhs_dilation", "base_dilations"),
    "rhs_dilate": ("rhs_dilate", "rhs_dilation", "window_dilations"),
}


class Tokens:
    """A text that is read token by token; `kind` and `token` are the one to read next, `start` and `end` its place."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = self.end = 0
        self.kind = self.token = ""
        self.advance()

    def advance(self) -> str:
        """Go to the next token; returns the one that was next."""
        passed = self.token
        found = TOKEN.match(self.text, self.end)
        if found is None:
            self.kind = self.token = ""
            self.start = self.end = len(self.text)
            return passed
        self.kind = found.lastgroup or ""
        self.token = found[self.kind]
        self.start = found.start(self.kind)
        self.end = found.end()
        return passed

    def fail(self, expected: str) -> NoReturn:
        line = self.text.count("\n", 0, self.start) + 1
        raise FormatError(
            f"line {line} has {self.text[self.start : self.start + 40].split(chr(10))[0]!r} where {expected} was expected"
        )

    def took(self, token: str) -> bool:
        """Whether `token` is next; then it is passed."""
        return self.token == token and bool(self.advance())

    def expect(self, token: str) -> None:
        if not self.took(token):
            self.fail(repr(token))

    def skip(self) -> str:
        """Pass what is in brackets, which begin with the next token; returns it."""
        start = self.start
        self.end = end_of_brackets(self.text, start, "the text")
        found = self.text[start : self.end]
        self.advance()
        return found

    def types(self) -> list[Shape]:
        """The types of results, or all that are listed: ``(a, b) -> c``, ``a -> c``, ``a, b``, ``a to c``."""
        listed = self.listed() if self.token == "(" else [self.type()]
        while self.took(","):
            listed.append(self.type())
        if self.took("->"):
            return self.listed() if self.token == "(" else [self.type()]
        return [self.type()] if self.took("to") else listed

    def listed(self) -> list[Shape]:
        found = []
        self.expect("(")
        while not self.took(")"):
            found.append(self.type())
            if self.token == "{":
                self.skip()
            if not self.took(",") and self.token != ")":
                self.fail("',' or ')'")
        return found

    def type(self) -> Shape:
        if self.kind == "type":
            return shape_of(self.advance())
        if self.took("!"):
            name = self.advance()
            if self.token == "<":
                while self.kind and self.advance() != ">":
                    pass
            return shape_of(f"!{name}")
        if self.kind != "word":
            self.fail("a type, such as tensor<8x16xf32>")
        return shape_of(self.advance())


@dataclass(slots=True)
class Scope:
    """A function or a region while it is read: its values by name, and what it reads from around it."""

    computation: Computation
    around: Scope | None = None
    values: dict[str, tuple[int, int, int]] = field(default_factory=dict)  # name → instruction, first element, elements
    elements: dict[tuple[int, int], int] = field(default_factory=dict)
    captures: dict[int, int] = field(default_factory=dict)  # number around it → number in it
    ones: set[int] = field(default_factory=set)  # instructions all of whose elements are 1

    def add(self, instruction: Instruction) -> int:
        """Add an instruction; returns its number."""
        self.computation.instructions.append(instruction)
        return len(self.computation.instructions) - 1

    def define(self, name: str, value: tuple[int, int, int]) -> None:
        """Let a name mean a value."""
        if name in self.values:
            raise FormatError(f"{name!r:.80} is defined twice in {self.computation.name!r:.80}; once is expected")
        self.values[name] = value

    def parameter(self, name: str, shape: Shape) -> None:
        """Add a parameter."""
        k = len(self.computation.instructions)
        self.define(name, (self.add(Instruction(name[1:], "parameter", "parameter", shape, number=k)), WHOLE, 1))

    def number(self, ref: str) -> int:
        """Number of the instruction whose value a name means."""
        name, _, k = ref.partition("#")
        if name not in self.values:
            return self._captured(ref)
        v, first, n = self.values[name]
        if int(k or 0) >= max(n, 1):
            raise FormatError(f"{ref!r:.80} is read, but {name!r:.80} has {n} results")
        if first == WHOLE:
            return v
        whole = self.computation.instructions[v]
        parts: Any = whole.shape
        key = v, first + int(k or 0)
        if key not in self.elements:
            made = Instruction(f"{whole.name}#{key[1]}", "get-tuple-element", "element", parts[key[1]], [v])
            made.number = key[1]
            self.elements[key] = self.add(made)
        return self.elements[key]

    def _captured(self, ref: str) -> int:
        if self.around is None:
            raise FormatError(f"{ref!r:.80} is read in {self.computation.name!r:.80}, but nothing before defines it")
        outer = self.around.number(ref)
        if outer not in self.captures:
            whole = self.around.computation.instructions[outer]
            made = Instruction(ref[1:], "capture", "capture", whole.shape, literal=whole.literal)
            made.number = len(self.captures)
            self.captures[outer] = self.add(made)
            self.ones |= {self.captures[outer]} if outer in self.around.ones else set()
        return self.captures[outer]


@lru_cache(4096)
def shape_of(text: str) -> Shape:
    """The shape that a type of MLIR has.

    >>> shape_of("tensor<4x?xbf16>"), [part.type for part in shape_of("tuple<tensor<2xcomplex<f32>>, tensor<i1>>")]
    (Array(type='bf16', dims=(4, None), bounded=False), ['c64', 'pred'])
    """
    if text.startswith("tuple<"):
        return _tuple(text[len("tuple<") : -1])
    found = TENSOR.fullmatch(text)
    if found is None:
        return NOTHING if text.startswith("!") else Array(_number_type(text))
    element, _, encoding = _split(found[2])
    sizes = [None if part in "?*" else dimension(part, "a tensor") for part in found[1].split("x")[:-1]]
    bounds = BOUNDS.search(encoding)
    if bounds:
        limits = [part.strip() for part in bounds[1].split(",")]
        pairs = zip(sizes, limits, strict=False)
        sizes = [dimension(most, "a tensor") if n is None and most != "?" else n for n, most in pairs]
    return Array(_number_type(element.strip()), tuple(sizes), bounds is not None)


def _split(text: str) -> tuple[str, str, str]:
    """The element type, and what follows the comma behind it."""
    depth = 0
    for k, sign in enumerate(text):
        depth += (sign == "<") - (sign == ">")
        if sign == "," and depth == 0:
            return text[:k], ",", text[k + 1 :]
    return text, "", ""


def _tuple(text: str) -> Shape:
    parts = []
    for _ in range(1 << 16):
        part, more, text = _split(text)
        parts += [part.strip()] if part.strip() else []
        if not more:
            break
    return tuple(shape_of(part) for part in parts)


def _number_type(name: str) -> str:
    """Number type of HLO; the name itself if there is none, whose bytes are unknown then."""
    if name == "i1":
        return "pred"
    if name == "index":
        return "s64"
    if found := COMPLEX.fullmatch(name):
        return f"c{2 * int(found[1])}"
    if found := STORED.match(name):
        return _number_type(found[1])
    if not NUMBER.fullmatch(name):
        return name
    name = name.lower()
    return (
        f"s{name.removeprefix('s')[1:]}" if name.startswith(("i", "si")) else f"u{name[2:]}" if name[0] == "u" else name
    )


def attributes_of(
    opcode: str, text: str, symbol: str, shape: Shape, within: Computation, operands: list[int]
) -> tuple[dict[str, str], int | None, int]:
    """HLO's attributes of an op whose attributes are `text`; the number it is, of a constant; the number of an element."""
    if opcode == "constant":
        found = LITERAL.search(text) if len(text) < 1000 else None
        return {}, _literal(found[1]) if found and isinstance(shape, Array) and not shape.dims else None, 0
    if opcode == "get-tuple-element":
        found = ELEMENT.search(text)
        return {}, None, int(found[1] or found[2]) if found else 0
    if opcode == "call":
        found = CALLEE.search(text)
        return {"callee": (found[1] or found[2]) if found else symbol}, None, 0
    return _attributes(opcode, text, symbol, within, operands), None, 0


def _literal(digits: str) -> int:
    return int(digits == "true") if digits in ("true", "false") else int(digits)


def _attributes(opcode: str, text: str, symbol: str, within: Computation, operands: list[int]) -> dict[str, str]:
    if opcode == "dot":
        found = CONTRACTED.search(text)
        if found is None and "dot_dimension_numbers" not in text and "_dims" not in text and operands:  # stablehlo.dot
            rank = len(next(arrays(within.instructions[operands[0]].shape), NOTHING).dims)
            return {"lhs_contracting_dims": f"{{{rank - 1}}}" if rank else ""}
        return {"lhs_contracting_dims": f"{{{found[1]}}}" if found else ""}
    if opcode == "compare":
        found = DIRECTION.search(text)
        return {"direction": found[1]} if found else {}
    if opcode == "custom-call":
        found = TARGET.search(text)
        config = CONFIG.search(text)
        given = {"custom_call_target": found[1] if found else symbol}
        return given | ({"backend_config": config[1].replace('\\"', '"').replace("\\22", '"')} if config else {})
    if opcode == "fft":
        return {"fft_length": ",".join(map(str, _numbers(text, ("length", "fft_length"))))}
    if opcode == "convolution":
        found = LABELS.search(text)
        labels = ["".join(part.replace(",", "").split()) for part in found.groups()] if found else []
        made = {"dim_labels": f"{labels[0]}_{labels[1]}->{labels[2]}"} if labels else {}
        return made | dict(GROUPS.findall(text)) | {"window": _window(text)}
    if opcode in ("reduce-window", "select-and-scatter"):
        return {"window": _window(text)}
    if opcode == "while":
        return {}
    return {}


def _window(text: str) -> str:
    """HLO's ``window={size=3x3 stride=2x2 pad=1_1x1_1}``."""
    found = {key: _numbers(text, names) for key, names in WINDOW.items()}
    parts = [f"{key}={'x'.join(map(str, numbers))}" for key, numbers in found.items() if numbers]
    pads = _numbers(text, ("pad", "padding"))
    if len(pads) == 1:  # all alike
        pads *= 2 * max((len(numbers) for numbers in found.values()), default=1)
    pairs = [f"{low}_{high}" for low, high in zip(pads[::2], pads[1::2], strict=False)]
    return " ".join(parts + ([f"pad={'x'.join(pairs)}"] if pairs else []))


def _numbers(text: str, names: tuple[str, ...]) -> list[int]:
    """The numbers of an attribute under one of its names: ``[1, 2]``, ``array<i64: 1, 2>`` or ``dense<[1, 2]>``."""
    for name in names:
        if found := re.search(rf"\b{name}\s*+=\s*+(array<i64:?+|dense<|\[)", text):
            start = found.start(1)
            if found[1] == "[":
                return integers(text[start : end_of_brackets(text, start, name)])
            stop = text.find(">", start)
            if stop < 0:
                raise FormatError(f"attribute {name!r} is not closed by '>'")
            return integers(text[found.end(1) : stop])
    return []

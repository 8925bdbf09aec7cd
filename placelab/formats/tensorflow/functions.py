"""Functions of a TensorFlow 2 graph: calls are inlined; what loops and branches run is counted.

Each call is replaced by the ops of the function's body, which get its name as their scope: ``call/MatMul``. If the call has
control inputs, or ops have a control input from it, a ``NoOp`` marks its begin or its end.

Loops and branches stay single ops, which count the operations of the functions that they run. Such a function is read with the
shapes of the call, its own calls inlined. ``While`` runs condition and body as often as a counter says that the condition
compares, ``For`` from its start to its limit, ``MapDefun`` once per row. Of ``If`` and ``Case`` the dearest function counts. In
a function, single whole numbers and truth values are bookkeeping on the host, and count nothing. A function that is missing,
damaged or too large counts as unknown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from placelab.base.errors import CycleError, FormatError, PlacelabError
from placelab.formats.flops import count
from placelab.formats.loops import Arguments, Control, Expression, Look, Value, computed, counted, limits, value_of
from placelab.formats.op_kinds import category
from placelab.formats.tensorflow.nodes import WHOLE, Node, Source, data_inputs, edges_of, without_loops
from placelab.formats.tensorflow.output_shapes import Sizes
from placelab.problem.graph_building import topological_order

CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
BEGIN = "begin"  # op that waits for the control inputs of a call
MAX_INLINED = 1_000_000  # ops and inputs of all inlined calls
MAX_NAMES = 100 << 20  # characters of their names
MOST_NESTED = 100  # of nested calls
_NO_OUTPUTS: tuple[Any, ...] = ((), (), (), (), None, None, "", {})  # fields of a NoOp after its device
FREE = {"NoOp", "ControlTrigger", "_Arg"}  # kinds that compute nothing
MAX_OPS = 1_000_000  # of all functions that are read, each as often as it is called
MAX_DEPTH = 30  # of loops and branches in each other
CHOICES = ("If", "StatelessIf", "_If", "Case", "StatelessCase", "XlaIf")
# Inputs that no function gets; For's first is like its counter.
BEFORE = {
    **dict.fromkeys((*CHOICES, "RemoteCall"), 1),
    "For": 3,
}
RUN = "run"  # name of the call that is inlined, which is left out of names


class Function(NamedTuple):
    """A function of the file."""

    inputs: tuple[str, ...]
    returns: tuple[str, ...]  # source of each output: ``op:output:0``, or an input
    ends: tuple[str, ...]  # ops that must run although no output needs them
    nodes: tuple[Node, ...]
    size: int  # ops and inputs
    characters: int  # in their names


class Call(NamedTuple):
    """An inlined call: the sources of its outputs, and the ops that end it."""

    returns: tuple[str, ...]
    ends: tuple[str, ...]


Library = Callable[[str], Function | None]


def function_of(message: Any, read: Callable[[Any], Node]) -> Function:
    """The function in a FunctionDef."""
    signature = message.signature
    nodes = tuple(map(read, message.node_def))
    return Function(
        tuple(argument.name for argument in signature.input_arg),
        tuple(message.ret.get(argument.name, "") for argument in signature.output_arg),
        tuple(message.control_ret.values()),
        nodes,
        sum(1 + len(node.inputs) + len(node.together) for node in nodes),
        sum(map(len, (text for node in nodes for text in (node.name, *node.inputs, *node.together)))),
    )


def inlined(
    nodes: Sequence[Node], library: Library | None, outputs: Sequence[str], where: str
) -> tuple[list[Node], tuple[str, ...]]:
    """Replace every call, nested ones included, by the body of its function; return the nodes and the sources of `outputs`.

    Raises
    ------
    FormatError
        Functions that call themselves, or more ops than the limits allow. O(ops).
    """
    if library is None:
        return list(nodes), tuple(outputs)
    _check_size(nodes, library, where)
    found = []
    calls = dict[str, Call]()
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        function = library(called(node))
        if function is None:
            found.append(node)
            continue
        body, calls[node.name] = _body(node, function)
        waiting += reversed(body)
    return list(_joined(found, calls, where)), tuple(_source(text, calls, where) for text in outputs)


def called(node: Node) -> str:
    """Name of the function that an op may call: its attribute, or, in TensorFlow 1, its op type."""
    return node.calls if node.kind in CALLS else node.kind


def _check_size(nodes: Sequence[Node], library: Library, where: str) -> None:
    """FormatError if the inlined ops, their inputs or their names exceed the limits."""
    known: dict[str, tuple[int, int]] = {}

    def grown(node: Node, depth: int) -> tuple[int, int]:
        """Ops and inputs of an inlined call, and characters of their names within its scope; (0, 0) for other ops."""
        name = called(node)
        function = library(name)
        if function is None:
            return 0, 0
        if depth > MOST_NESTED:
            raise FormatError(
                f"{where}: functions call each other more than {MOST_NESTED} deep, {name!r:.200} among them"
            )
        if name not in known:
            inner = [(node, *grown(node, depth + 1)) for node in function.nodes]
            size = function.size + sum(size for _, size, _ in inner)
            known[name] = size, function.characters + sum(text + size * len(node.name) for node, size, text in inner)
        return known[name]

    sizes = [(node, *grown(node, 0)) for node in nodes]
    size = sum(size + (len(node.inputs) if size else 0) for node, size, _ in sizes)
    if size > MAX_INLINED or sum(text + size * len(node.name) for node, size, text in sizes) > MAX_NAMES:
        raise FormatError(
            f"{where}: calls of functions become more than {MAX_INLINED:,} ops and inputs, or these have very long names"
        )


def _body(call: Node, function: Function) -> tuple[list[Node], Call]:
    """The ops of an inlined call, and its outputs and ends."""
    scope = call.name + "/"
    data = [text for text in call.inputs if not text.startswith("^")]
    waits = tuple(text for text in call.inputs if text.startswith("^"))
    given = dict(zip(function.inputs, data, strict=False))
    local = {node.name: node.outputs for node in function.nodes}
    begin = [Node(scope + BEGIN, "NoOp", waits, call.device, *_NO_OUTPUTS)] if waits else []
    first = (f"^{scope}{BEGIN}",) if waits else ()

    def translated(text: str) -> str:
        return _translated(text, scope, local, given)

    body = [
        node._replace(
            name=scope + node.name,
            inputs=tuple(filter(None, map(translated, node.inputs))) + first * _is_first(node, local),
            device=node.device or call.device,
            together=tuple(scope + other if other in local else other for other in node.together),
        )
        for node in function.nodes
    ]
    returns = tuple(map(translated, function.returns))
    ends = [f"^{scope}{name}" for name in function.ends if name in local]
    ends += ["^" + text.partition(":")[0].lstrip("^") for text in returns if text]
    return begin + body, Call(returns, tuple(dict.fromkeys([*ends, *first])))


def _translated(text: str, scope: str, local: Mapping[str, tuple[str, ...]], given: Mapping[str, str]) -> str:
    """An input of an op in a body in terms of the outer graph; "" for an argument that the call lacks."""
    control, name = ("^", text[1:]) if text.startswith("^") else ("", text)
    op, _, rest = name.partition(":")
    if op not in local:
        source = given.get(op, "" if op else text)
        return control + source.partition(":")[0] if control and source else source
    if control:
        return f"^{scope}{op}"
    output, _, number = rest.partition(":")
    return f"{scope}{op}:{_flat(local[op], output, number)}"


def _flat(outputs: tuple[str, ...], name: str, number: str) -> int:
    """Index among all outputs of an op, from the name of a list of outputs and the index in it."""
    within = int(number) if number.isdecimal() and len(number) < 9 else 0
    return (outputs.index(name) if name in outputs else 0) + within


def _is_first(node: Node, local: Mapping[str, object]) -> bool:
    """Whether an op of a body reads no value of the body."""
    return not any(text.lstrip("^").partition(":")[0] in local for text in node.inputs)


def _joined(nodes: Sequence[Node], calls: Mapping[str, Call], where: str) -> Iterator[Node]:
    """Rewire inputs that referred to inlined calls; add one op per awaited call."""
    waited: dict[str, None] = {}
    for node in nodes:
        inputs = tuple(_source(text, calls, where) for text in node.inputs)
        waited.update({text[1:]: None for text in inputs if text.startswith("^") and text[1:] in calls})
        yield node._replace(inputs=inputs) if inputs != node.inputs else node
    ends = list(waited)
    for name in ends:  # grows
        inputs = tuple(_source(text, calls, where) for text in calls[name].ends)
        ends += [text[1:] for text in inputs if text[1:] in calls and text[1:] not in waited]
        waited.update(dict.fromkeys(ends))
        yield Node(name, "NoOp", inputs, "", *_NO_OUTPUTS)


def _source(text: str, calls: Mapping[str, Call], where: str) -> str:
    """The source of an input, calls resolved."""
    for _ in range(MOST_NESTED + 2):
        name, _, number = text.partition(":")
        if name not in calls:
            return text
        returns = calls[name].returns
        output = int(number) if number.isdecimal() and len(number) < 9 else 0
        if output >= len(returns) or not returns[output]:
            raise FormatError(f"{where}: {text!r:.200} is read, but that call returns {len(returns)} outputs")
        text = returns[output]
    raise CycleError(f"{where}: the output of call {name!r:.200} depends on itself")


class Wired(NamedTuple):
    """Ops, what they read, and the shapes of their outputs; of a function also what it returns and is called with."""

    nodes: Sequence[Node]
    inputs: Sequence[Sequence[Source]]
    sizes: Sizes
    returns: Sequence[Source | None] = ()
    given: Arguments = lambda argument: None

    def value(self, source: Source | None, arguments: Arguments | None = None) -> Value:
        """The value of an output that follows from constants, shapes and the arguments of a function."""
        return None if source is None else value_of(source, self._look(arguments or self.given))

    def _look(self, arguments: Arguments) -> Look:
        def look(source: Any) -> Value | Expression:
            u, _ = source
            node = self.nodes[u]
            if node.kind == "_Arg":
                return arguments(int(node.name))
            if node.kind == "Const":
                return node.value
            if node.kind in ("Shape", "Size"):
                shape = self.sizes.shapes(self.inputs[u][:1])
                return None if not shape or shape[0] is None else shape[0] if node.kind == "Shape" else prod(shape[0])
            return Expression(node.kind, tuple(self.inputs[u]), node.attributes)

        return look


class Bodies:
    """Counts the operations of ops, those of the functions that they run included.

    Attributes
    ----------
    unknown
        Kind → number of ops whose operations are unknown.
    """

    def __init__(self, library: Library | None, control: Control, batch: int | None, where: str) -> None:
        self.unknown: Counter[str] = Counter()
        self._library = library
        self._control = control
        self._batch = batch
        self._where = where
        self._read = 0  # ops of functions

    def operations(self, graph: Wired, scope: str = "", depth: int = 0) -> list[float]:
        """FLOP of each op; `scope` is the path of the ops around it, `depth` their number."""
        compute = list[float]()
        known = dict[tuple, float | None]()
        for v, node in enumerate(graph.nodes):
            outputs = graph.sizes.filled[v]
            shapes = graph.sizes.shapes(graph.inputs[v])
            if node.bodies and self._library is not None and category(node.kind) == "call":
                found = self._of(node, graph, v, scope + node.name.removeprefix(f"{RUN}/"), depth)
            elif depth and _is_bookkeeping(node, outputs):
                found = 0.0
            else:
                key = (node.kind, shapes, outputs, *node.attributes.items())
                if key not in known:
                    known[key] = 0.0 if node.kind in FREE else count(node.kind, shapes, outputs, node.attributes)
                found = known[key]
            if found is None:
                self.unknown[node.kind] += 1
            compute.append(found or 0.0)
        return compute

    def _of(self, node: Node, graph: Wired, v: int, name: str, depth: int) -> float | None:
        """Operations of an op that runs functions; None if one cannot be read."""
        names = [function for functions in node.bodies.values() for function in functions]
        if node.kind == "SymbolicGradient":  # not the operations of the function that it differentiates
            return None
        sources = [*graph.inputs[v][: node.kind == "For"], *graph.inputs[v][BEFORE.get(node.kind, 0) :]]
        try:
            bodies = [self._function(function, sources, graph, node.kind == "MapDefun", depth) for function in names]
        except PlacelabError:
            bodies = [None]
        sides = [None if body is None else sum(self.operations(body, f"{name}/", depth + 1)) for body in bodies]
        known = [side for side in sides if side is not None]
        if node.kind in CHOICES:
            return known[self._control.branch(name, known)] if sides and len(known) == len(sides) else None
        trips = self._trips(node, graph, v, bodies)
        n = 1 if trips is None else self._control.loop(name, *trips)
        return n * sum(known) if len(known) == len(sides) else None

    def _trips(
        self, node: Node, graph: Wired, v: int, bodies: Sequence[Wired | None]
    ) -> tuple[int | None, int | None] | None:
        """How often an op runs its functions, and at most; None if it is no loop."""
        inputs = graph.inputs[v]
        if "cond" in node.bodies and "body" in node.bodies:
            return limits(_held(lambda j: graph.value(inputs[j]) if j < len(inputs) else None, bodies))
        if node.kind == "For":
            start, limit, delta = [graph.value(source) for source in inputs[:3]] + [None] * (3 - len(inputs[:3]))
            kind = "Greater" if isinstance(delta, int) and delta < 0 else "Less"
            return limits(
                counted(
                    lambda _: start,
                    lambda _, i: computed("Add", [i(0), delta]),
                    lambda i: computed(kind, [i(0), limit]),
                )
            )
        if node.kind == "MapDefun":
            rows = graph.sizes.shapes(inputs[:1])
            return (rows[0][0] if rows and rows[0] else None), None
        return None

    def _function(self, name: str, sources: Sequence[Source], outer: Wired, rows: bool, depth: int) -> Wired | None:
        """A function that is called with these outputs, or with a row of each; None if there is none, or too much."""
        assert self._library is not None, "asked for where there is one"
        function = self._library(name)
        if function is None or depth >= MAX_DEPTH or self._read > MAX_OPS:
            return None
        arguments = [_argument(i, source, outer, rows) for i, source in enumerate(sources)]
        call = Node(
            RUN, "PartitionedCall", tuple(node.name for node in arguments), "", (), (), (), None, None, None, name, {}
        )
        wanted = [f"{RUN}:{k}" for k in range(len(function.returns))]
        nodes, returned = inlined([*arguments, call], self._library, wanted, self._where)
        self._read += len(nodes)
        edges, _ = without_loops(nodes, edges_of(nodes, self._where))
        pairs = np.array([(u, v) for (u, _), v in edges], dtype=np.int64).reshape(-1, 2)
        order = topological_order(len(nodes), pairs, [node.name for node in nodes])
        inputs = data_inputs(len(nodes), edges)
        number = {node.name: v for v, node in enumerate(nodes)}
        return Wired(
            nodes,
            inputs,
            Sizes(nodes, inputs, order.tolist(), self._batch),
            [_returned(text, number) for text in returned],
            lambda j: None if rows or j >= len(sources) else outer.value(sources[j]),
        )


def _argument(i: int, source: Source, outer: Wired, rows: bool) -> Node:
    """An argument of a function as an op; its name is its number."""
    u, k = source
    types = outer.nodes[u].types
    raw = outer.sizes.raw[u]
    filled = outer.sizes.shapes([source])[0]
    shape = filled if filled is not None else raw[k] if k < len(raw) else None
    kind = types[k] if k < len(types) else None
    held = shape[1:] if rows and shape else shape
    return Node(str(i), "_Arg", (), "", (), ("output",), (kind,), (held,), None, None, "", {})


def _returned(text: str, number: dict[str, int]) -> Source | None:
    name, _, output = text.partition(":")
    return (number[name], int(output) if output.isdecimal() else 0) if name in number else None


def _held(start: Callable[[int], Value], bodies: Sequence[Wired | None]) -> Any:
    """How long the condition of a ``While`` holds, whose functions are condition and body."""
    condition, body = (*bodies, None, None)[:2]
    if condition is None or body is None or not condition.returns:
        return None

    def update(j: int, arguments: Arguments) -> Value:
        return body.value(body.returns[j], arguments) if j < len(body.returns) else None

    return counted(start, update, lambda arguments: condition.value(condition.returns[0], arguments))


def _is_bookkeeping(node: Node, outputs: Sequence[Any]) -> bool:
    """Whether an op of a function makes single whole numbers or truth values only."""
    return bool(outputs) and all(kind in WHOLE for kind in node.types) and all(shape == () for shape in outputs)

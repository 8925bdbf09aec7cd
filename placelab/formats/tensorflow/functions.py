"""Inline the functions of a TensorFlow 2 graph: replace each call by the ops of the function's body.

The ops of a call get its name as their scope: ``call/MatMul``. If the call has control inputs, or ops have a control input from
it, a ``NoOp`` marks its begin or its end. Loops and branches stay single ops (:mod:`placelab.formats.tensorflow.bodies`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from placelab.base.errors import CycleError, FormatError
from placelab.formats.tensorflow.nodes import Node

CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
BEGIN = "begin"  # op that waits for the control inputs of a call
MAX_INLINED = 1_000_000  # ops and inputs of all inlined calls
MAX_NAMES = 100 << 20  # characters of their names
MAX_DEPTH = 100  # of nested calls


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
        if depth > MAX_DEPTH:
            raise FormatError(
                f"{where}: functions call each other more than {MAX_DEPTH} deep, {name!r:.200} among them"
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


_NO_OUTPUTS: tuple[Any, ...] = ((), (), (), (), None, None, "", {})  # fields of a NoOp after its device


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
    for _ in range(MAX_DEPTH + 2):
        name, _, number = text.partition(":")
        if name not in calls:
            return text
        returns = calls[name].returns
        output = int(number) if number.isdecimal() and len(number) < 9 else 0
        if output >= len(returns) or not returns[output]:
            raise FormatError(f"{where}: {text!r:.200} is read, but that call returns {len(returns)} outputs")
        text = returns[output]
    raise CycleError(f"{where}: the output of call {name!r:.200} depends on itself")

"""What do the functions of a TensorFlow 2 graph compute? Calls are replaced by the ops of the function's body.

The ops of a call get its name as their scope: ``call/MatMul``. Where others wait for a call, or a call for others, an op ``NoOp``
stands for its end or its begin. Loops and branches (``While``, ``If``) stay single ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from placelab.errors import CycleError, FormatError
from placelab.formats.tensorflow.nodes import Node

CALLS = {"PartitionedCall", "StatefulPartitionedCall"}
BEGIN = "begin"  # op that the ops of a call wait for
MAX_INLINED = 1_000_000  # ops and inputs that calls may become
MAX_NAMES = 100 << 20  # characters that names of these may have
MAX_DEPTH = 100  # of calls in calls


class Function(NamedTuple):
    """A function as the file has it."""

    inputs: tuple[str, ...]
    returns: tuple[str, ...]  # what each output is: ``op:output:0``, or an input
    ends: tuple[str, ...]  # ops that must have run although no output needs them
    nodes: tuple[Node, ...]
    size: int  # ops and inputs
    characters: int  # in their names


class Call(NamedTuple):
    """A call that was replaced: what stands for its outputs and for its end."""

    returns: tuple[str, ...]
    ends: tuple[str, ...]


Library = Callable[[str], Function | None]


def function_of(message: Any, read: Callable[[Any], Node]) -> Function:
    """What matters of a FunctionDef."""
    signature, nodes = message.signature, tuple(map(read, message.node_def))
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
    """The nodes with every call replaced by the body of its function, calls in bodies included, and what `outputs` are then.

    Raises
    ------
    FormatError
        Functions that call themselves, or become very many ops. O(ops).
    """
    if library is None:
        return list(nodes), tuple(outputs)
    _check_size(nodes, library, where)
    found, calls, waiting = [], {}, list(reversed(nodes))
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
    """The function that an op may call: the one it names, or, in TensorFlow 1, the one that its op type is."""
    return node.calls if node.kind in CALLS else node.kind


def _check_size(nodes: Sequence[Node], library: Library, where: str) -> None:
    """FormatError when the ops that calls become, their inputs and the names of both are very many."""
    known: dict[str, tuple[int, int]] = {}

    def grown(node: Node, depth: int) -> tuple[int, int]:
        """Ops and inputs that a call becomes, and characters of their names within its scope; nothing for other ops."""
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
    """The ops that a call becomes, and what stands for the call."""
    scope = call.name + "/"
    data = [text for text in call.inputs if not text.startswith("^")]
    waits = tuple(text for text in call.inputs if text.startswith("^"))
    given = dict(zip(function.inputs, data, strict=False))
    local = {node.name: node.outputs for node in function.nodes}
    begin = [Node(scope + BEGIN, "NoOp", waits, call.device, *_NOTHING)] if waits else []
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
    return begin + body, Call(returns, tuple(dict.fromkeys([*ends, *(waits and first)])))


_NOTHING = ((), (), (), (), None, None, "", {})


def _translated(text: str, scope: str, local: Mapping[str, tuple[str, ...]], given: Mapping[str, str]) -> str:
    """An input of an op in a body, as the graph around it would write it; "" where nothing was given."""
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
    """Number among all outputs of the op of one in a named list of them."""
    within = int(number) if number.isdecimal() and len(number) < 9 else 0
    return (outputs.index(name) if name in outputs else 0) + within


def _is_first(node: Node, local: Mapping[str, object]) -> bool:
    """Whether an op of a body reads nothing that the body computes."""
    return not any(text.lstrip("^").partition(":")[0] in local for text in node.inputs)


def _joined(nodes: Sequence[Node], calls: Mapping[str, Call], where: str) -> Iterator[Node]:
    """The nodes with what they read from calls read from what stands for these, and an op for each end that is waited for."""
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
        yield Node(name, "NoOp", inputs, "", *_NOTHING)


def _source(text: str, calls: Mapping[str, Call], where: str) -> str:
    """What stands for an input that a call gave."""
    for _ in range(MAX_DEPTH + 2):
        name, _, number = text.partition(":")
        if name not in calls:
            return text
        returns = calls[name].returns
        output = int(number) if number.isdecimal() and len(number) < 9 else 0
        if output >= len(returns) or not returns[output]:
            raise FormatError(f"{where}: {text!r:.200} is read, but that call returns {len(returns)} outputs")
        text = returns[output]
    raise CycleError(f"{where}: what call {name!r:.200} returns depends on itself")

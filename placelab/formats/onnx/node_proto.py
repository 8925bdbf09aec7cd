"""Read a NodeProto of an ONNX model: its name, the values it reads, its body graphs, and floating-point operations."""

from __future__ import annotations

import math
from collections import ChainMap, Counter
from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any

from placelab.base.fields import one_line
from placelab.formats.flops.counting import count
from placelab.formats.onnx.tensor_values import UNKNOWN, Value, values_of

MAX_ATTRIBUTE = 64  # entries; longer attributes are data, on which no cost depends


def op_name(name: str) -> str:
    """Name of a node's op: on one line, without the leading slash of PyTorch's exporter.

    >>> op_name("/layer1/conv1/Conv")
    'layer1/conv1/Conv'
    """
    return one_line(name).strip("/")


def body_graphs(node: Any) -> Iterator[Any]:
    """The graphs that a node runs: branches or loop bodies."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def node_reads(node: Any) -> list[str]:
    """Values that a node reads: its inputs, then those that its body graphs capture from outside."""
    captured = dict.fromkeys(name for body in body_graphs(node) for name in _captured(body))
    return [*filter(None, node.input), *captured]


def _captured(body: Any) -> dict[str, None]:
    known = {x.name for x in (*body.input, *body.initializer)} | {s.values.name for s in body.sparse_initializer}
    wanted: dict[str, None] = {}
    for node in body.node:
        wanted |= dict.fromkeys(name for name in node_reads(node) if name not in known)
        known.update(node.output)
    return wanted | dict.fromkeys(info.name for info in body.output if info.name not in known)


def node_flop(node: Any, values: MutableMapping[str, Value], unknown: Counter[str]) -> float:
    """Operations of a node, its body graphs included; 0 if unknown, and then counted in `unknown` by kind.

    A loop counts its body once, an ``If`` the branch of more operations.
    """
    bodies = [_body_flop(body, values, unknown) for body in body_graphs(node)]
    if bodies:
        return max(bodies) if node.op_type == "If" else sum(bodies)
    inputs, outputs = _shapes(node.input, values), _shapes(node.output, values)
    operations = count(node.op_type, inputs, outputs, _attributes(node))
    if operations is None or not 0 <= operations < math.inf:
        unknown[one_line(node.op_type)] += 1
        return 0.0
    return float(operations)


def _shapes(names: Iterable[str], values: MutableMapping[str, Value]) -> list[tuple[int, ...] | None]:
    return [values.get(name, UNKNOWN).shape for name in names]


def _body_flop(body: Any, values: MutableMapping[str, Value], unknown: Counter[str]) -> float:
    inside = ChainMap(values_of(body), values)
    return sum(node_flop(node, inside, unknown) for node in body.node)


def _attributes(node: Any) -> dict[str, Any]:
    """A node's attributes as Python values, except tensors, graphs and long lists."""
    found: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.type in (1, 2):
            found[attribute.name] = attribute.f if attribute.type == 1 else attribute.i
        elif attribute.type == 3:
            found[attribute.name] = attribute.s.decode(errors="replace")
        elif attribute.type in (6, 7):
            entries = attribute.floats if attribute.type == 6 else attribute.ints
            found |= {attribute.name: list(entries)} if len(entries) <= MAX_ATTRIBUTE else {}
    return found


def held_bytes(body: Any) -> float:
    """Bytes of the parameters in a body graph, nested ones included: initializers and constants."""
    values = values_of(body)
    own = [*(x.name for x in body.initializer), *(s.values.name for s in body.sparse_initializer)]
    own += [node.output[0] for node in body.node if node.op_type == "Constant" and node.output]
    inner = (held_bytes(deeper) for node in body.node for deeper in body_graphs(node))
    return sum(values.get(name, UNKNOWN).bytes or 0.0 for name in own) + sum(inner)

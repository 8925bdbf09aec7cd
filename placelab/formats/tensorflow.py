"""TensorFlow graphs: a GraphDef (``.pb``, ``.pbtxt``) or a SavedModel's ``saved_model.pb``, read without TensorFlow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from placelab.costs.flops import count
from placelab.errors import FormatError, PlacelabError
from placelab.formats.limits import read_file, unzipped
from placelab.formats.tensorflow_nodes import EXPECTED, Node, Shape, nodes_of
from placelab.formats.tensorflow_ops import size_of
from placelab.graph import OpGraph

VARIABLES = {"VariableV2", "Variable", "TemporaryVariable", "VarHandleOp", "AutoReloadVariable"}
CONTROL = -1  # output number of a control edge

Source = tuple[int, int]  # op, output


def read(path: Any, *, batch: int | None = 1) -> OpGraph:
    """The graph in a TensorFlow file.

    Parameters
    ----------
    path
        GraphDef as ``.pb`` or ``.pbtxt``, or a SavedModel's ``saved_model.pb``, gzipped or not.
    batch
        What an unknown first dimension of a shape is taken to be; None: outputs of such shapes have 0 bytes.
    """
    return loads(read_file(path, EXPECTED), str(path), batch=batch)


def loads(data: bytes, where: str = "the upload", *, batch: int | None = 1) -> OpGraph:
    """The graph in the bytes of a TensorFlow file; `where` names it in messages."""
    data = unzipped(data, where)
    try:
        return graph_of(list(nodes_of(data, where)), where, batch)
    except PlacelabError as error:
        raise error if str(error).startswith(where) else type(error)(f"{where}: {error}") from None


def graph_of(nodes: Sequence[Node], where: str, batch: int | None = 1) -> OpGraph:
    """The graph of these nodes."""
    number = numbers(nodes, where)
    edges = [(source, v) for v, node in enumerate(nodes) for source in sources(node, number, where)]
    sizes = Sizes(nodes, batch)
    sources_of, consumer = [source for source, _ in edges], [v for _, v in edges]
    control = [output == CONTROL for _, output in sources_of]
    used = set(sources_of)
    compute, unknown = operations(nodes, sources_of, consumer, sizes)
    return OpGraph.from_arrays(
        [node.name for node in nodes],
        compute,
        [(u, v) for (u, _), v in edges],
        edge_bytes=[sizes.bytes(u, output) for u, output in sources_of],
        edge_output=[max(output, 0) for _, output in sources_of],
        edge_control=control,
        outputs=[
            (v, k, sizes.bytes(v, k))
            for v, node in enumerate(nodes)
            for k in range(len(node.types))
            if (v, k) not in used
        ],
        persistent=[sizes.held(node) for node in nodes],
        kind=[node.kind for node in nodes],
        groups=list(groups(nodes, number, sources_of, consumer)),
        metadata={
            "name": where.rsplit("/", 1)[-1].partition(".")[0],
            "provenance": {"format": "TensorFlow GraphDef"},
            "costs": {"compute": "FLOP", "unknown": dict(unknown), "unsized": sizes.unsized, "batch": batch},
        },
    )


def numbers(nodes: Sequence[Node], where: str) -> dict[str, int]:
    """Name → number of each op."""
    number = {node.name: v for v, node in enumerate(nodes)}
    if len(number) < len(nodes):
        name = Counter(node.name for node in nodes).most_common(1)[0][0]
        raise FormatError(f"{where} has two ops called {name!r:.200}; op names must be unique")
    return number


def sources(node: Node, number: dict[str, int], where: str) -> Iterator[Source]:
    """Where each input of an op comes from."""
    for text in node.inputs:
        name, _, output = text.partition(":")
        if name not in number and name.lstrip("^") not in number:
            raise FormatError(f"{where}: op {node.name!r:.200} reads {text!r:.200}, but no op is called that")
        yield (number[name[1:]], CONTROL) if name.startswith("^") else (number[name], int(output or 0))


class Sizes:
    """Bytes of outputs, by their shapes and types."""

    def __init__(self, nodes: Sequence[Node], batch: int | None) -> None:
        self.nodes, self.batch = nodes, batch
        self.unsized = 0
        self._known: dict[Source, float] = {}

    def shape(self, op: int, output: int) -> Shape:
        node = self.nodes[op]
        shapes = node.shapes
        if shapes is None:
            shape = node.holds if output == 0 else None
        else:
            shape = shapes[output] if output < len(shapes) else None
        return shape

    def known(self, op: int, output: int) -> Shape:
        shape = self.shape(op, output)
        if shape is None or -1 not in shape:
            return shape
        if self.batch is None:
            return None
        return (self.batch if shape[0] < 0 else shape[0], *(max(d, 1) for d in shape[1:]))

    def bytes(self, op: int, output: int) -> float:
        if output < 0:
            return 0.0
        if (op, output) in self._known:
            return self._known[op, output]
        node = self.nodes[op]
        size = size_of(node.types[output]) if output < len(node.types) else None
        shape = self.known(op, output)
        total = 0.0
        if size is None or (shape is None and size):
            self.unsized += 1
        elif size:
            total = float(size)
            for d in shape:
                total *= d
        self._known[op, output] = total
        return total

    def held(self, node: Node) -> float:
        if node.kind not in VARIABLES or node.holds is None:
            return 0.0
        size = size_of(1)
        total = float(size)
        for d in node.holds:
            total *= max(d, 1)
        return total


def operations(
    nodes: Sequence[Node], source: Sequence[Source], consumer: Sequence[int], sizes: Sizes
) -> tuple[list[float], Counter]:
    """FLOP of each op, and how often each kind could not be counted."""
    inputs: list[list[Shape]] = [[] for _ in nodes]
    for (u, output), v in zip(source, consumer, strict=True):
        if output >= 0:
            inputs[v].append(sizes.known(u, output))
    compute, unknown = [], Counter()
    for v, node in enumerate(nodes):
        outputs = [sizes.known(v, k) for k in range(len(node.types))]
        found = count(node.kind, inputs[v], outputs, node.attributes)
        if found is None:
            unknown[node.kind] += 1
        compute.append(found or 0.0)
    return compute, unknown


def groups(
    nodes: Sequence[Node], number: dict[str, int], source: Sequence[Source], consumer: Sequence[int]
) -> Iterator[list[int]]:
    """Ops that must share a device: those that name one, and those that read a reference or a resource."""
    for v, node in enumerate(nodes):
        for other in node.together:
            if other in number and number[other] != v:
                yield [number[other], v]
    for (u, output), v in zip(source, consumer, strict=True):
        types = nodes[u].types
        if 0 <= output < len(types) and size_of(types[output]) == 0:
            yield [u, v]

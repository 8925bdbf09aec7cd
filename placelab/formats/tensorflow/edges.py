"""Find what reads what in a TensorFlow graph: inputs by name become edges; edges of a loop to its next round are left out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from placelab.base.errors import FormatError
from placelab.formats.tensorflow.nodes import MAX_OUTPUTS, Node
from placelab.formats.tensorflow.output_shapes import Source

CONTROL = -1  # output number of a control edge
BACK = ({"NextIteration", "RefNextIteration"}, {"Merge", "RefMerge"})  # kinds that a loop's back edge joins
INPUT = re.compile(r"(\^?)([^:^]+)(?::(\d{1,9}))?")
Edge = tuple[Source, int]  # the output that is read, and the op that reads it


def edges_of(nodes: Sequence[Node], where: str) -> list[Edge]:
    """Every input as an edge, in the order of ops and inputs."""
    number = {node.name: v for v, node in enumerate(nodes)}
    if len(number) < len(nodes):
        twice = Counter(node.name for node in nodes).most_common(1)[0][0]
        raise FormatError(f"{where} has two ops called {twice!r:.200}; op names must be unique")
    edges = []
    for v, node in enumerate(nodes):
        for text in node.inputs:
            u = number.get(text)
            found = (u, 0) if u is not None else _source(text, number)
            if found is None or found[1] >= (len(nodes[found[0]].types) or MAX_OUTPUTS):
                raise FormatError(f"{where}: op {node.name!r:.200} reads {text!r:.200}, but {_missing(found, nodes)}")
            edges.append((found, v))
    return edges


def _source(text: str, number: Mapping[str, int]) -> Source | None:
    """Op and output of an input; None if there is no such op."""
    found = INPUT.fullmatch(text)
    if found is None or found[2] not in number:
        return None
    return number[found[2]], CONTROL if found[1] else int(found[3] or 0)


def _missing(found: Source | None, nodes: Sequence[Node]) -> str:
    return "no op is called that" if found is None else f"that op has {len(nodes[found[0]].types)} outputs"


def without_loops(nodes: Sequence[Node], edges: Sequence[Edge]) -> tuple[list[Edge], list[tuple[int, int]]]:
    """The edges without those back to the next iteration of a loop, and the latter as pairs of ops."""
    left = []
    back = []
    for edge in edges:
        (u, k), v = edge
        if k != CONTROL and nodes[u].kind in BACK[0] and nodes[v].kind in BACK[1]:
            back.append((u, v))
        else:
            left.append(edge)
    return left, back


def data_inputs(n: int, edges: Sequence[Edge]) -> list[list[Source]]:
    """The outputs that each op reads, in order; control edges are left out."""
    inputs: list[list[Source]] = [[] for _ in range(n)]
    for source, v in edges:
        if source[1] != CONTROL:
            inputs[v].append(source)
    return inputs

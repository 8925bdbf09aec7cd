"""``placelab convert``: write a model of any readable format in another format."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from placelab.app.cli.arguments import add_model, command, ending, model_of, printable
from placelab.base.errors import FormatError, PlacelabError
from placelab.base.names import is_name
from placelab.formats import exports
from placelab.formats.catalogue import GRAPH, writers
from placelab.graphs.loading import load
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import known_speeds

EXAMPLES = """
convert bert.onnx bert.json.gz --dimension batch=8
convert graph.pbtxt graph.json --name inception
convert topcuoglu topcuoglu.dot
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    convert_command = command(commands, "convert", convert, EXAMPLES)
    add_model(convert_command)
    convert_command.add_argument("out", type=Path, help=f"file to write: {', '.join(writers(GRAPH))}")
    convert_command.add_argument("--name", help="name of the graph in the file")


def convert(options: argparse.Namespace) -> None:
    """Write a model with its costs as placelab JSON, or as DOT or STG, which may hold less of it."""
    ending(options.out, writers(GRAPH))
    graph = renamed(model_of(options), options.name)
    exports.graph(graph, options.out)
    print(f"{options.out}: {graph.n_ops:,} ops, {graph.n_edges:,} edges")
    if text := note(graph, options.out):
        print(f"note: {printable(text)}")


def note(graph: OpGraph, path: Path) -> str:
    """A sentence about what the written file does not hold of the graph; "" when it holds everything."""
    try:
        missing = list(lost(graph, load(path)))
    except PlacelabError as error:
        return f"it cannot be read again: {error}"
    return f"{path} does not hold {', '.join(missing)}" if missing else ""


def lost(graph: OpGraph, again: OpGraph) -> Iterator[str]:
    """What differs between a graph and the one read back from its file; the order of their ops is the same."""
    yield from (label for label, column in HELD.items() if column(graph) != column(again))
    keys = [
        key for key in graph.metadata if key not in {"name", *UNIT} and _metadata(key)(graph) != _metadata(key)(again)
    ]
    if keys:
        yield f"metadata ({', '.join(keys)})"


def _metadata(*keys: str) -> Callable[[OpGraph], str]:
    """These metadata as text, in which tuples and the lists that JSON makes of them are equal."""
    return lambda graph: json.dumps([graph.metadata.get(key) for key in keys], sort_keys=True, default=str)


def _numbers(*columns: np.ndarray) -> list[list[float | None]]:
    return [[None if x != x else x for x in column.ravel().tolist()] for column in columns]


def _allowed(graph: OpGraph) -> list[tuple[str, ...]]:
    return [(*graph.device_sets, ())[d] for d in graph.device_set]


def _shared(graph: OpGraph) -> int:
    """Number of edges whose tensor another edge carries, too."""
    tensor = graph.edge_tensor[~graph.tensor_control[graph.edge_tensor]]
    return len(tensor) - len(np.unique(tensor))


UNIT = ("reference_speed", "costs")
HELD: dict[str, Callable[[OpGraph], Any]] = {
    "names": lambda graph: graph.names.tolist(),
    "kinds": lambda graph: graph.kind.tolist(),
    "operations": lambda graph: _numbers(graph.compute),
    "the unit of operations": _metadata(*UNIT),
    "times": lambda graph: graph.time is not None and (graph.time_types, _numbers(graph.time)),
    "which speeds its times hold for": lambda graph: (known_speeds(graph), graph.time_default),
    "memory": lambda graph: _numbers(graph.persistent, graph.temporary, graph.memory),
    "bytes of edges": lambda graph: sorted(graph.edge_bytes.tolist()),
    "control edges": lambda graph: int(graph.tensor_control[graph.edge_tensor].sum()),
    "shared tensors": _shared,
    "groups": lambda graph: (graph.group_names, graph.group.tolist()),
    "allowed devices": _allowed,
}


def renamed(graph: OpGraph, name: str | None) -> OpGraph:
    """The graph with another name, if one is given."""
    if name is None:
        return graph
    if not is_name(name):
        raise FormatError(f"{name!a} is not a name; expected text on one line")
    return graph.replace(metadata={**graph.metadata, "name": name})

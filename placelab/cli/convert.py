"""``placelab convert``: a model of any format that can be read, in another one."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from placelab.cli.arguments import add_model, command, model_of
from placelab.errors import FormatError
from placelab.formats import dot, placelab_json, stg
from placelab.formats.saving import save
from placelab.graph import OpGraph, is_name

EXAMPLES = """
convert bert.onnx bert.json.gz --dimension batch=8
convert graph.pbtxt graph.json --name inception
convert topcuoglu topcuoglu.dot
"""


def _dot(graph: OpGraph, path: Path) -> None:
    save(dot.dumps(graph), path)


def _stg(graph: OpGraph, path: Path) -> None:
    save(stg.dumps(graph), path)


WRITERS = {
    ".json": placelab_json.write,
    ".json.gz": placelab_json.write,
    ".dot": _dot,
    ".gv": _dot,
    ".stg": _stg,
}


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    convert_command = command(commands, "convert", convert, EXAMPLES)
    add_model(convert_command)
    convert_command.add_argument("out", type=Path, help=f"file to write: {', '.join(WRITERS)}")
    convert_command.add_argument("--name", help="name of the graph in the file")


def convert(options: argparse.Namespace) -> None:
    """Write a model as placelab JSON, or what DOT or STG can hold of it, with its costs."""
    suffix = next((suffix for suffix in WRITERS if options.out.name.lower().endswith(suffix)), None)
    if suffix is None:
        raise FormatError(f"{str(options.out)!a} has no format to write; files end in {', '.join(WRITERS)}")
    graph = renamed(model_of(options), options.name)
    WRITERS[suffix](graph, options.out)
    print(f"{options.out}: {graph.n_ops:,} ops, {graph.n_edges:,} edges")


def renamed(graph: OpGraph, name: str | None) -> OpGraph:
    """The graph under another name, if one is given."""
    if name is None:
        return graph
    if not is_name(name):
        raise FormatError(f"{name!a} is not a name; expected text on one line")
    return graph.replace(metadata={**graph.metadata, "name": name})

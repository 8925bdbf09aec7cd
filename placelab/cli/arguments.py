"""What do several commands ask for in the same words? A model and how it is read, a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from inspect import cleandoc
from typing import Any

from placelab import clusters, datasets
from placelab.cluster import Cluster
from placelab.errors import FormatError
from placelab.graph import OpGraph
from placelab.loading import load, suffixes
from placelab.problem import MEMORY_MODELS, TRANSFER_MODELS, Problem

OWN = "own"  # the processors that a model comes with


def command(commands: Any, name: str, function: Callable[[argparse.Namespace], None], examples: str) -> Any:
    """A subcommand whose help is the function's docstring and shows examples."""
    told = cleandoc(function.__doc__)
    summary = told.partition("\n")[0].rstrip(".")
    added = commands.add_parser(
        name,
        help=summary[0].lower() + summary[1:],
        description=told,
        epilog="examples:\n" + "\n".join(f"  placelab {line}" for line in examples.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    added.set_defaults(command=function)
    return added


def add_model(command: Any) -> None:
    """The model, and what its format may need to know."""
    kinds = " ".join(suffix for suffix in suffixes() if not suffix.endswith(".gz"))
    command.add_argument("model", help=f"a file ({kinds}, gzipped or not), a SavedModel's folder or a dataset's name")
    command.add_argument("--batch", type=int, metavar="N", help="TensorFlow: size of a first dimension left open")
    command.add_argument(
        "--dimension",
        action="append",
        type=_dimension,
        metavar="NAME=N",
        help="ONNX: size of an open dimension; may be given several times",
    )


def add_cluster(command: Any) -> None:
    """The cluster."""
    names = ", ".join(clusters.PRESETS)
    command.add_argument("--cluster", metavar="NAME", help=f"{names}; {OWN}: the processors the model comes with")


def add_rules(command: Any) -> None:
    """The cluster and the rules that make a problem."""
    add_cluster(command)
    command.add_argument(
        "--memory", choices=MEMORY_MODELS, help="memory model (default: dynamic, where memory is limited)"
    )
    command.add_argument("--transfers", choices=TRANSFER_MODELS, default="parallel", help="(default: parallel)")
    command.add_argument("--seed", type=int, default=0, help="for strategies with a random part (default: 0)")
    command.add_argument(
        "--prepare", default="", metavar="A,B", help="transformations that make the graph smaller first"
    )


def model_of(options: argparse.Namespace) -> OpGraph:
    """The graph asked for."""
    given = {"batch": options.batch, "dimensions": dict(options.dimension or ())}
    return load(options.model, **{name: value for name, value in given.items() if value})


def cluster_of(options: argparse.Namespace, graph: OpGraph) -> tuple[str, Cluster]:
    """The cluster asked for and its name; default: the graph's own, or one that fits its times."""
    own = datasets.own_cluster(graph)
    name = options.cluster or (OWN if own else default_cluster(graph))
    if name != OWN:
        return name, clusters.preset(name)
    if own is None:
        raise FormatError(f"{graph.title!a} comes without processors; --cluster takes {', '.join(clusters.PRESETS)}")
    return name, own


def default_cluster(graph: OpGraph) -> str:
    """A preset whose devices the graph has seconds for, or ``pcie_box``."""
    return next((name for name in clusters.PRESETS if clusters.preset(name).types[0] in graph.time_types), "pcie_box")


def problem_of(options: argparse.Namespace) -> tuple[str, Problem]:
    """The problem asked for and its cluster's name."""
    graph = model_of(options)
    name, cluster = cluster_of(options, graph)
    return name, Problem(graph, cluster, memory=options.memory, transfers=options.transfers)


def several(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _dimension(text: str) -> tuple[str, int]:
    name, _, size = text.rpartition("=")
    if not name or not size.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!a} is not NAME=N")
    return name, int(size)

"""The arguments that several commands share: a model and how it is read, a cluster, rules; and text for a terminal."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.fields import read_from
from placelab.base.files import json_of, path_of, read_file
from placelab.formats import catalogue
from placelab.formats.catalogue import Format
from placelab.graphs import datasets
from placelab.graphs.loading import load, suffixes
from placelab.problem import clusters
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.ops_on_devices import said_of_units
from placelab.problem.problem import Problem
from placelab.problem.resource_models import LATENCIES, MEMORY_MODELS, TRANSFER_MODELS, summary

LONGEST = 100  # characters of a name


def printable(text: object) -> str:
    r"""`text` with every character that cannot be printed written as its escape.

    >>> printable("a\x1b[2J\u202eb")
    'a\\x1b[2J\\u202eb'
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "replace").decode() for c in str(text))


def shortened(name: object) -> str:
    """A name without its middle if it is long."""
    text = printable(name)
    half = LONGEST // 2 - 1
    return text if len(text) <= LONGEST else f"{text[:half]}…{text[-half:]}"


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """A line for each label and its value, the values aligned."""
    rows = list(rows)
    width = max((len(label) for label, _ in rows), default=0)
    return "\n".join(f"{label:<{width}}  {value}".rstrip() for label, value in rows)


def table(rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Rows of equal length, the first of them the heads; columns in `numbers` are aligned to the right."""
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    sides = [">" if j in numbers else "<" for j in range(len(widths))]
    cells = [[f"{cell:{side}{width}}" for cell, side, width in zip(row, sides, widths, strict=True)] for row in rows]
    return "\n".join("  ".join(row).rstrip() for row in cells)


OWN = "own"  # name of the processors that a model comes with
MAX_DIGITS = 12  # of a size


def command(commands: Any, name: str, function: Callable[[argparse.Namespace], None], examples: str) -> Any:
    """A subcommand whose help is the function's docstring and shows examples."""
    assert function.__doc__ is not None
    description = cleandoc(function.__doc__)
    summary = description.partition("\n")[0].rstrip(".")
    added = commands.add_parser(
        name,
        help=summary[0].lower() + summary[1:],
        description=description,
        epilog="examples:\n" + "\n".join(f"  placelab {line}" for line in examples.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    added.set_defaults(command=function)
    return added


def add_model(command: Any, default: str = "") -> None:
    """Add the model, which may be left out if there is a default, and the options of its format."""
    kinds = " ".join(suffix for suffix in suffixes() if not suffix.endswith(".gz"))
    what = f"a file ({kinds}, gzipped or not), a SavedModel's folder or a dataset's name"
    if default:
        command.add_argument("model", nargs="?", default=default, help=f"{what} (default: {default})")
    else:
        command.add_argument("model", help=what)
    command.add_argument("--batch", type=_size, metavar="N", help="TensorFlow: size of an open first dimension")
    command.add_argument(
        "--dimension",
        action="append",
        type=_dimension,
        metavar="NAME=N",
        help="ONNX: size of an open dimension; may be given several times",
    )
    command.add_argument("--trips", type=_size, metavar="N", help="iterations of loops whose files do not say how many")


def add_cluster(command: Any) -> None:
    """Add the cluster."""
    names = ", ".join(clusters.PRESETS)
    what = f"{names}; {OWN}: the processors the model comes with; or a JSON file of the arguments of placelab.Cluster"
    command.add_argument("--cluster", metavar="NAME|FILE", help=what)


def add_rules(command: Any) -> None:
    """Add the cluster and the rules of a problem."""
    add_cluster(command)
    command.add_argument(
        "--memory", choices=MEMORY_MODELS, help="memory model (default: dynamic, where memory is limited)"
    )
    command.add_argument("--transfers", choices=TRANSFER_MODELS, default="parallel", help="(default: parallel)")
    command.add_argument("--latency", choices=LATENCIES, default="holds", help=f"{summary(LATENCIES)} (default: holds)")
    command.add_argument("--seed", type=int, default=0, help="for strategies that use random numbers (default: 0)")
    command.add_argument(
        "--prepare", default="", metavar="A,B", help="transformations that make the graph smaller first"
    )


def model_of(options: argparse.Namespace) -> OpGraph:
    """The graph asked for; raise FormatError for an option that its format does not have."""
    for flag, option, instead in _given(options):
        _check_flag(options.model, flag, option, instead)
    given = {"batch": options.batch, "dimensions": dict(options.dimension or ()), "trips": options.trips}
    return load(options.model, **{name: value for name, value in given.items() if value})


def cluster_of(options: argparse.Namespace, graph: OpGraph) -> tuple[str, Cluster]:
    """Name of the cluster asked for, and the cluster; default: the graph's own, or one that fits its times."""
    own = datasets.own_cluster(graph)
    name = options.cluster or (OWN if own else default_cluster(graph))
    if name in clusters.PRESETS:
        return name, clusters.preset(name)
    if name != OWN:
        return name, _cluster_in(name)
    if own is None:
        raise FormatError(f"{graph.title!a} comes without processors; --cluster takes {', '.join(clusters.PRESETS)}")
    return name, own


def _cluster_in(path: str) -> Cluster:
    """The cluster in a JSON file; raise FormatError if there is none."""
    if not Path(path).exists():
        raise FormatError(
            f"no cluster preset is called {path!a}, and there is no such file; presets are {', '.join(clusters.PRESETS)}"
        )
    expected = "a JSON file of the arguments of placelab.Cluster"
    given = json_of(read_file(path, expected), path, expected)
    with read_from(path):
        return datasets.cluster_of(given, "the cluster")


def default_cluster(graph: OpGraph) -> str:
    """A preset whose devices the graph has seconds for, or ``pcie_box``."""
    return next((name for name in clusters.PRESETS if clusters.preset(name).types[0] in graph.time_types), "pcie_box")


def problem_of(options: argparse.Namespace) -> tuple[str, Problem]:
    """Name of the cluster asked for, and the problem."""
    graph = model_of(options)
    name, cluster = cluster_of(options, graph)
    rules = {rule: getattr(options, rule) for rule in ("memory", "transfers", "latency")}
    if said := said_of_units(graph, cluster):
        print(f"note: {printable(said)}", file=sys.stderr)
    return name, Problem(graph, cluster, **rules)


def open_flag(options: argparse.Namespace, graph: OpGraph) -> str:
    """The option that sets an open dimension of a model; "" if none is open or all are given."""
    costs = graph.metadata.get("costs")
    assumed = costs.get("assumed") if isinstance(costs, Mapping) else None
    form = format_of(options.model)
    taken = form.options if form else ()
    if "dimensions" in taken and isinstance(assumed, Mapping):
        left = [name for name in assumed if name not in dict(options.dimension or ())]
        return f"--dimension {left[0]}=N" if left else ""
    return "--batch N" if "batch" in taken and assumed and not options.batch else ""


def format_of(model: str) -> Format | None:
    """The format of a model's file; None for a dataset, and where no suffix fits."""
    return None if model in datasets.names() else catalogue.format_of(Path(model))


def ending(path: Path, suffixes: Collection[str]) -> str:
    """The first of the suffixes that a file to write ends in; raise FormatError if there is none, or no such folder."""
    name = path.name.lower()
    found = next((suffix for suffix in suffixes if name.endswith((suffix, f"{suffix}.gz"))), None)
    if found is None:
        raise FormatError(f"{str(path)!a} has no format to write; files end in {', '.join(suffixes)}")
    check_folder(path)
    return found


def check_folder(path: Path) -> None:
    """Raise FormatError unless a file of this name can be in its folder, which exists: better before the work than after it."""
    if path_of(path).is_dir():
        raise FormatError(f"{path} cannot be written: it is a folder; expected the path of a file")
    if not path.parent.is_dir():
        raise FormatError(f"{path} cannot be written: {path.parent} is not a folder; make it first")


def note_on_times(problem: Problem, cluster: str) -> str:
    """A sentence where a graph has seconds for devices and the cluster has none of these; else ""."""
    graph = problem.graph
    devices = problem.cluster
    pairs = zip(devices.names, devices.types, strict=True)
    if graph.time is None or any(graph.time_column(name, kind) >= 0 for name, kind in pairs):
        return ""
    types = ", ".join(graph.time_types[:5])
    more = ", …" * (len(graph.time_types) > 5)
    return f"its times are for {types}{more}; {cluster} has none of these, so an op takes its operations / speed"


def several(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def names(text: str) -> tuple[str, ...]:
    """One name or more with commas between them."""
    found = several(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!a} has no names; write one or more with commas between them")
    return found


def _given(options: argparse.Namespace) -> Iterator[tuple[str, str, str]]:
    """Each option of a reader that is given: its flag, its name, and the flag that other formats have for it."""
    if options.batch:
        yield "--batch", "batch", f"--dimension batch={options.batch}"
    if options.dimension:
        yield "--dimension", "dimensions", f"--batch {options.dimension[0][1]}"
    if options.trips:
        yield "--trips", "trips", ""


def _check_flag(model: str, flag: str, option: str, instead: str) -> None:
    found = format_of(model)
    dataset = model in datasets.names()
    if (found is None and not dataset) or (found and option in found.options):
        return
    suffix = catalogue.suffix_of(model)
    owners = ", ".join(row.title for row in catalogue.FORMATS if option in row.options)
    others = instead and found and {"batch", "dimensions"} & {*found.options}
    remedy = f"use {instead}" if others else f"{'datasets' if dataset else f'{suffix} files'} have none"
    raise FormatError(f"{model}: {flag} is an option of {owners} files; {remedy}")


def _size(text: str) -> int:
    if not text.isdecimal() or len(text) > MAX_DIGITS or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!a} is not a size: N must be a whole number of 1 or more")
    return int(text)


def strategy_option(text: str) -> tuple[str, Any]:
    """Name and value of ``name=value``, where a value that is no JSON is a text."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!a} is not NAME=VALUE, like moves=20000")
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value


def _dimension(text: str) -> tuple[str, int]:
    name, _, size = text.rpartition("=")
    if not name:
        raise argparse.ArgumentTypeError(f"{text!a} is not NAME=N, N a whole number of 1 or more")
    try:
        return name, _size(size)
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!a} is not NAME=N: N must be a whole number of 1 or more") from None

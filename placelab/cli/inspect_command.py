"""``placelab inspect``: print the facts about a model on one screen or as JSON."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from placelab.cli.arguments import add_cluster, add_model, cluster_of, command, model_of, open_flag
from placelab.cli.facts import facts
from placelab.cli.terminal import counted, pairs, printable, shortened, table
from placelab.problem.graph_html import graph_units
from placelab.units import SI, Units, percent

KINDS = 15  # greatest number listed without --all
EXAMPLES = """
inspect inception_v3
inspect bert.onnx --dimension batch=8 --cluster h100_box
inspect graph.pbtxt --json
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    inspect_command = command(commands, "inspect", inspect, EXAMPLES)
    add_model(inspect_command)
    add_cluster(inspect_command)
    inspect_command.add_argument("--json", action="store_true", help="the same as JSON: bytes, operations, seconds")
    inspect_command.add_argument("--all", action="store_true", help=f"all kinds of ops, not only the first {KINDS}")


def inspect(options: argparse.Namespace) -> None:
    """Print facts about a model: ops, kinds, bytes, operations, groups, longest path, parallelism.

    Longest path and work count each op on its fastest device, without transfers; parallelism is work over longest path; rho
    is the longest transfer over the shortest op.
    """
    graph = model_of(options)
    name, cluster = cluster_of(options, graph)
    found = facts(graph, name, cluster)
    most, flag = None if options.all else KINDS, open_flag(options, graph)
    print(json.dumps(found, indent=2) if options.json else text(found, most, flag, graph_units(graph), cluster.units))


def text(found: dict[str, Any], most: int | None, flag: str = "", of_graph: Units = SI, on_cluster: Units = SI) -> str:
    """The facts as text, with at most `most` kinds, and `flag`, the option that sets an open dimension."""
    parts = [pairs(_graph(found, flag, of_graph)), pairs(_on(found["on"], on_cluster)), _kinds(found["kinds"], most)]
    return "\n\n".join(part for part in parts if part)


def _graph(found: dict[str, Any], flag: str, written: Units) -> Iterator[tuple[str, str]]:
    tensors, parameters, groups = found["tensors"], found["parameters"], found["groups"]
    yield "name", shortened(found["name"])
    if found["provenance"]:
        yield "from", _provenance(found["provenance"])
    yield "ops", f"{found['ops']:,} of {counted(len(found['kinds']), 'kind')}, {found['depth']:,} on the longest path"
    yield "edges", f"{found['edges']:,}, of them control {found['control_edges']:,}"
    largest = (
        f"; largest {_bytes(tensors['largest'], written)}: {shortened(tensors['largest_of'])}"
        if tensors["largest"]
        else ""
    )
    yield "tensors", f"{tensors['tensors']:,}, {_bytes(tensors['bytes'], written)}{largest}"
    yield "parameters", f"{_bytes(parameters['bytes'], written)} at {counted(parameters['ops'], 'op')}"
    if found["temporary_bytes"]:
        yield "temporary", _bytes(found["temporary_bytes"], written)
    yield "groups", f"{counted(groups['groups'], 'group')}, {counted(groups['ops'], 'op')} in all"
    for rule in found["devices"]:
        yield "devices", f"{counted(rule['ops'], 'op')} only on {', '.join(map(shortened, rule['devices']))}"
    sum_of_all = (
        written.amount(found["operations"], "").strip()
        if found["operations"] is not None
        else "more than a float can hold"
    )
    for label, sentence in found["costs"].items():
        hint = f"; {printable(flag)}" if flag and label == "open dimension" else ""
        yield printable(label), f"{sum_of_all} · " * (label == "operations") + printable(sentence) + hint


def _provenance(provenance: Any) -> str:
    """The provenance that a reader has left: a text, or the values of an object."""
    parts = provenance.values() if isinstance(provenance, dict) else [provenance]
    return ", ".join(shortened(part) for part in parts if isinstance(part, (str, int, float)))


def _on(on: dict[str, Any], written: Units) -> Iterator[tuple[str, str]]:
    yield (
        "cluster",
        f"{on['cluster']}: {counted(on['devices'], 'device')} of type {', '.join(map(shortened, on['types']))}",
    )
    if "error" in on:
        yield "none", printable(on["error"])
        return
    if on["one_device"] is not None:
        yield "one device", written.time(on["one_device"])
    yield "longest path", written.time(on["longest_path"])
    if on["parallelism"]:
        yield "parallelism", f"{on['parallelism']:.3g}"
    rho = "∞" if on["rho"] is None else f"{on['rho']:.3g}"
    yield "ρ", f"{rho} (shortest op {written.time(on['shortest_op'])})"


def _kinds(kinds: list[dict[str, Any]], most: int | None) -> str:
    shown = kinds[:most]
    rows = [("kind", "ops", "operations")]
    rows += [(shortened(kind["kind"] or "(none)"), f"{kind['ops']:,}", percent(kind["share"])) for kind in shown]
    left = len(kinds) - len(shown)
    return table(rows, numbers=(1, 2)) + (f"\n… and {counted(left, 'kind')} more: --all" if left else "")


def _bytes(value: float | None, written: Units) -> str:
    return "more than a float can hold" if value is None else written.amount(value, "B")

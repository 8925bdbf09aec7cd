"""``placelab compare``: compare strategies for a model on a cluster."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from placelab.analysis.comparing import compare as compare_pairs
from placelab.app.cli.arguments import (
    add_model,
    add_rules,
    command,
    ending,
    note_on_times,
    printable,
    problem_of,
    several,
    table,
)
from placelab.app.cli.place_command import OPTIMAL
from placelab.base.units import Units, percent
from placelab.schedule.catalogue import partitioners

EXAMPLES = """
compare inception_v3 --cluster rtx2080ti_box
compare bert.onnx --partitioners heft,m-etf,m-sct --schedulers planned,pct --out pairs.csv
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    compare_command = command(commands, "compare", compare, EXAMPLES)
    add_model(compare_command)
    add_rules(compare_command)
    compare_command.add_argument(
        "--partitioners", type=several, metavar="A,B", help="(default: all but those that search for minutes)"
    )
    compare_command.add_argument("--schedulers", type=several, metavar="A,B", help="(default: all)")
    compare_command.add_argument("--out", type=Path, help="file to write: .csv")


def compare(options: argparse.Namespace) -> None:
    """Place a model with several partitioners, simulate each under several schedulers, and list the pairs, best first."""
    if options.out:
        ending(options.out, (".csv",))
    name, problem = problem_of(options)
    quick = [partitioner for partitioner, function in partitioners().items() if not function.slow]
    prepare = several(options.prepare)
    names = options.partitioners or quick
    frame = compare_pairs(problem, names, options.schedulers or None, seeds=[options.seed], prepare=prepare)
    frame = frame.sort_values(["oom", "makespan"], kind="stable")
    rows = [_row(pair, problem.cluster.units) for pair in frame.to_dict("records")]
    print(f"{printable(problem.graph.title)} on {name}\n{table([HEAD, *rows], (2, 3))}")
    if note := note_on_times(problem, name):
        print(f"note: {printable(note)}")
    if options.out:
        frame.to_csv(options.out, index=False)
        print(f"written: {options.out}")


HEAD = ("partitioner", "scheduler", "makespan", "above bound", "")


def _row(pair: dict[str, Any], written: Units) -> tuple[str, ...]:
    if pair["error"]:
        return pair["partitioner"], pair["scheduler"], "–", "–", printable(pair["error"])
    note = "out of memory" if pair["oom"] else "" if pair["valid"] else "not legal"
    gap = "proven optimal" if pair["bound_gap"] < OPTIMAL and not note else percent(pair["bound_gap"])
    return pair["partitioner"], pair["scheduler"], written.time(pair["makespan"]), gap, note

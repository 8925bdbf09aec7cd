"""``placelab study``: compare strategies on many problems, as a file says."""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from placelab.analysis.studies.study_runs import StudyTasks, grid, planned, run
from placelab.app.cli.arguments import check_folder, command, ending, printable, table
from placelab.base.errors import FormatError, count
from placelab.base.fields import read_from, text
from placelab.base.files import path_of, read_file
from placelab.base.progress import Progress, never, silent
from placelab.graphs.loading import load
from placelab.problem.graph import OpGraph

EXAMPLES = """
study study.toml
study study.toml --client tcp://10.0.0.1:8786 --out rows.csv
"""
EXPECTED = "a TOML file of a study"
KEYS = ("grid", "partitioners", "schedulers", "seeds", "prepare", "path")
FILE = """
the file:
  path = "study.parquet"                      # a folder, beside the file; rows that are there are not computed again
  partitioners = ["heft", { name = "heft", insertion = false }]
  schedulers = ["planned"]
  seeds = 3
  prepare = ["coplace"]
  [grid]
  graph = ["inception_v3", "model.onnx"]      # what placelab.load takes
  devices = [2, 4]                            # numbers, or names of presets
  bandwidth = [1e9, 1e10]                     # and other axes of placelab.grid"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    study_command = command(commands, "study", study, EXAMPLES)
    study_command.epilog += "\n" + FILE
    study_command.add_argument("file", type=Path, help=EXPECTED)
    study_command.add_argument(
        "--client", metavar="ADDRESS", help="a Dask scheduler (default: processes of this machine)"
    )
    study_command.add_argument("--processes", type=int, metavar="N", help="(default: one per processor; 0: this one)")
    study_command.add_argument("--out", type=Path, help="file to write: .csv")


def study(options: argparse.Namespace) -> None:
    """Compare strategies on many problems, as a TOML file says, and go on where an earlier run was ended."""
    if options.out:
        ending(options.out, (".csv",))
        check_folder(options.out)
    if options.processes is not None:
        count(options.processes, "--processes", 0)
    given = _read(options.file)
    with read_from(str(options.file)):
        work = _work(given, options.file)
    frame = run(work, options.client, options.processes, _show if sys.stderr.isatty() else silent, never)
    print(f"{len(frame):,} rows of {len(work.problems):,} problems\n{table([HEAD, *_summary(frame)], (2, 3, 4))}")
    if options.out:
        frame.to_csv(options.out, index=False)
        print(f"written: {options.out}")


def _work(given: Mapping[str, Any], file: Path) -> StudyTasks:
    """What the file asks for."""
    axes = dict(given["grid"])
    names = axes.pop("graph")
    graphs = {name: _graph(name) for name in (names if isinstance(names, list) else [names])}
    problems = grid(graphs, axes.pop("devices"), **axes)
    path = text(given.get("path", f"{file.stem}.parquet"), "path")
    with read_from("path"):
        path_of(path)
    where, when = (_strategies(given, key) for key in ("partitioners", "schedulers"))
    prepare = given.get("prepare", ())
    return planned(problems, where, when, given.get("seeds", 1), prepare, file.parent / path, None)


def _graph(name: Any) -> OpGraph:
    with read_from("graph"):
        return load(text(name, "the name"))


HEAD = ("partitioner", "scheduler", "best", "over the best", "failed")


def _read(path: Path) -> Mapping[str, Any]:
    data = read_file(path, EXPECTED)
    try:
        given = tomllib.loads(data.decode())
    except RecursionError:
        raise FormatError(f"{path} has too many brackets in each other; expected {EXPECTED}") from None
    except ValueError as error:  # no TOML, or no UTF-8
        raise FormatError(f"{path} is no TOML: {error}") from None
    if unknown := sorted(set(given) - set(KEYS)):
        raise FormatError(f"{path} has an unknown key {unknown[0]!a}; there are {', '.join(KEYS)}")
    axes = given.get("grid")
    if not isinstance(axes, dict) or not {"graph", "devices"} <= set(axes):
        raise FormatError(f"{path} has no table [grid] with graph and devices; placelab study --help shows one")
    return given


def _strategies(given: Mapping[str, Any], key: str) -> list[Any] | None:
    """Names, and pairs of a name with its options where the file has a table; None where the file has no such key."""
    if key not in given:
        return None
    listed = given[key] if isinstance(given[key], list) else [given[key]]
    return [_strategy(one, key) for one in listed]


def _strategy(one: Any, key: str) -> Any:
    if isinstance(one, str):
        return one
    if not isinstance(one, dict) or not isinstance(one.get("name"), str):
        raise FormatError(f"{key} has {one!a:.60}; expected a name, or a table with name and options")
    return one["name"], {key: value for key, value in one.items() if key != "name"}


def _summary(frame: Any) -> list[tuple[str, ...]]:
    """How often each pair is the best, its mean over the best, and failures; the best mean first."""
    cells = frame.assign(makespan=frame["makespan"].where(frame["valid"] & ~frame["oom"]))
    over = cells["makespan"] / cells.groupby(["problem", "seed"])["makespan"].transform("min")
    cells = cells.assign(over=over, best=over == 1, failed=over.isna())
    pairs = cells.groupby(["partitioner", "scheduler"], sort=False).agg(
        best=("best", "mean"), over=("over", "mean"), failed=("failed", "sum")
    )
    return [
        (
            *map(printable, pair),
            f"{100 * row.best:.0f} %",
            f"{row.over:.3f}" if row.over == row.over else "–",
            str(int(row.failed)),
        )
        for pair, row in pairs.sort_values("over", kind="stable").iterrows()
    ]


def _show(progress: Progress) -> None:
    print(f"\r{100 * (progress.fraction or 0):5.1f} %  {printable(progress.doing)[:100]:100}", end="", file=sys.stderr)

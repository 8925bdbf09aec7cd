"""``placelab place``, ``compare`` and ``study``: a pair of strategies on a model, many pairs, many pairs on many problems."""

from __future__ import annotations

import argparse
import sys
import tomllib
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from placelab.analysis.comparing import best_pairs
from placelab.analysis.comparing import compare as compare_pairs
from placelab.analysis.measures import metrics
from placelab.analysis.studies.study_runs import StudyTasks, grid, planned, run
from placelab.analysis.validation import validate
from placelab.app.cli.arguments import (
    add_model,
    add_rules,
    command,
    ending,
    format_of,
    names,
    note_on_times,
    pairs,
    printable,
    problem_of,
    several,
    strategy_option,
    table,
)
from placelab.base.errors import FormatError, PlacelabError, count
from placelab.base.fields import read_from, text
from placelab.base.files import path_of, read_file, text_of, told
from placelab.base.progress import Progress, never, silent
from placelab.base.units import Units, counted, percent
from placelab.formats.catalogue import PLACEMENT, SCHEDULE, TENSORFLOW, Format, writers, written
from placelab.formats.torch import device_map
from placelab.graphs.loading import load
from placelab.problem.graph import OpGraph
from placelab.schedule.catalogue import PLANNED, UNPLANNED, partitioners
from placelab.schedule.schedule import Schedule
from placelab.strategies.placing import solve

if TYPE_CHECKING:
    import pandas as pd


OPTIMAL = 1e-9  # a gap below this is rounding
EXAMPLES = """
place inception_v3 --cluster h100_box
place bert.onnx --partitioner m-etf --scheduler pct --out placement.json
place bert.onnx --partitioner portfolio --partitioner-option moves=20000
place graph.pb --out placed.pb
place gpt2 --out device_map.json
place inception_v3 --out run.html
"""
PAGE = Format("page", SCHEDULE, (".html",), writer="app.export:html")
WRITTEN = {".html": PAGE, **writers(SCHEDULE, PLACEMENT)}
COMPARISONS = """
compare inception_v3 --cluster rtx2080ti_box
compare bert.onnx --partitioners heft,m-etf,m-sct --schedulers planned,pct --out pairs.csv
"""
NAMED = 3  # of the pairs that tie
HEAD = ("partitioner", "scheduler", "makespan", "above bound", "")
STUDIES = """
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
STUDY_HEAD = ("partitioner", "scheduler", "best", "over the best", "failed")


def add_to(commands: Any) -> None:
    """Add the three commands to the parser's."""
    place_command = command(commands, "place", place, EXAMPLES)
    add_model(place_command)
    add_rules(place_command)
    place_command.add_argument("--partitioner", default="heft", help="decides where each op runs (default: heft)")
    place_command.add_argument(
        "--scheduler",
        help=f"decides which op a device runs next (default: {PLANNED}, or {UNPLANNED} where there is no plan)",
    )
    for strategy in ("partitioner", "scheduler"):
        told = f"an option of the {strategy}, which its page names; may be given several times"
        place_command.add_argument(
            f"--{strategy}-option", type=strategy_option, action="append", metavar="NAME=VALUE", help=told
        )
    place_command.add_argument("--out", type=Path, help=f"file to write; its suffix decides: {_suffixes()}")
    _add_compare(commands)
    _add_study(commands)


def place(options: argparse.Namespace) -> None:
    """Place a model on a cluster, simulate a step and write the placement or the schedule."""
    out = None if options.out is None else writer(options.out)
    name, problem = problem_of(options)
    if out:
        check(out, problem.graph, options.out, options.model)
    schedule = solve(
        problem,
        options.partitioner,
        options.scheduler or None,
        prepare=several(options.prepare),
        seed=options.seed,
        partitioner_options=dict(options.partitioner_option or ()),
        scheduler_options=dict(options.scheduler_option or ()),
    )
    text = summary(schedule, [note_on_times(problem, name)])
    print(f"{printable(problem.graph.title)} on {name}: {options.partitioner} + {schedule.scheduler}\n{text}")
    if out:
        write(out, schedule, options.out, options.model)
        print(f"written: {options.out} ({out.title})")


def summary(schedule: Schedule, notes: Iterable[str] = ()) -> str:
    """The measures of a schedule, in a few lines."""
    m = metrics(schedule)
    violations = validate(schedule)
    written = schedule.problem.cluster.units
    rows = [
        ("makespan", written.time(m["makespan"])),
        ("speed-up", f"× {m['speedup']:.3g} of the best single device"),
        ("above optimum", "proven optimal" if m["bound_gap"] < OPTIMAL else f"at most {percent(m['bound_gap'])}"),
        ("moved", f"{written.amount(m['bytes_moved'], 'B')} in {counted(int(m['transfers']), 'transfer')}"),
        ("ops", ", ".join(f"{name} {n:,}" for name, n in _counts(schedule).items())),
        ("rules", "all hold" if not violations else "; ".join(printable(v.detail) for v in violations[:3])),
    ]
    return pairs([*rows, *(("note", printable(note)) for note in (*notes, *schedule.placement.notes) if note)])


def _counts(schedule: Schedule) -> dict[str, int]:
    names = schedule.problem.cluster.names
    return {printable(name): int((schedule.device == d).sum()) for d, name in enumerate(names)}


def writer(path: Path) -> Format:
    """What a file of this name is to hold; raise FormatError if no suffix fits, or there is no such folder."""
    return WRITTEN[ending(path, WRITTEN)]


def check(out: Format, graph: OpGraph, path: Path, model: str) -> None:
    """Refuse a graph that cannot be written so before the work is done."""
    if out.writer in CHECKS:
        CHECKS[out.writer](graph, path, model)


def write(out: Format, schedule: Schedule, path: Path, model: str) -> None:
    """Write a schedule or its placement; what the writer warns of is printed. `model` is the file that was read."""
    what = schedule if out.holds == SCHEDULE else schedule.placement
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        written(out, what, path, **({"graph_file": model} if "graph_file" in out.options else {}))
    for warning in caught:
        print(f"note: {printable(warning.message)}")


def _suffixes() -> str:
    """The suffixes of each kind of file, for the help text."""
    rows = dict.fromkeys(WRITTEN.values())
    return "; ".join(f"{', '.join(row.suffixes)}: {row.title}" for row in rows) + "; each may be gzipped (.gz)"


def _check_modules(graph: OpGraph, path: Path, model: str) -> None:
    device_map.check_modules(graph)


def _check_graph_def(graph: OpGraph, path: Path, model: str) -> None:
    """Raise FormatError unless the model was read from a GraphDef of the same form, binary or text."""
    provenance = graph.metadata.get("provenance")
    read = format_of(model)
    form = str(provenance.get("format")) if isinstance(provenance, dict) else ""
    if read is None or read.title != TENSORFLOW:
        form = ""
    wanted = ".pbtxt" if ".pbtxt" in path.suffixes else ".pb"
    if not form.startswith("TensorFlow GraphDef"):
        raise FormatError(
            f"{path}: {wanted} can only be written for a GraphDef that was loaded from a file, and {model} is none; "
            "write .json instead"
        )
    found = ".pbtxt" if form.endswith("text") else ".pb"
    if found != wanted:
        raise FormatError(f"{path}: {model} is a GraphDef in {found}'s form; write {found} instead")


CHECKS = {"formats.exports:torch_device_map": _check_modules, "formats.exports:tensorflow": _check_graph_def}


def _add_compare(commands: Any) -> None:
    compare_command = command(commands, "compare", compare, COMPARISONS)
    add_model(compare_command)
    add_rules(compare_command)
    compare_command.add_argument(
        "--partitioners", type=names, metavar="A,B", help="(default: all but those that search for minutes)"
    )
    compare_command.add_argument("--schedulers", type=names, metavar="A,B", help="(default: all)")
    compare_command.add_argument("--out", type=Path, help="file to write: .csv")


def compare(options: argparse.Namespace) -> None:
    """Place a model with several partitioners, simulate each under several schedulers, and list the pairs, best first."""
    if options.out:
        ending(options.out, (".csv",))
    name, problem = problem_of(options)
    quick = [partitioner for partitioner, function in partitioners().items() if not function.slow]
    prepare = several(options.prepare)
    where = options.partitioners or quick
    frame = compare_pairs(problem, where, options.schedulers, seeds=[options.seed], prepare=prepare)
    frame = frame.sort_values(["oom", "makespan"], kind="stable")
    rows = [_pair_row(pair, problem.cluster.units) for pair in frame.to_dict("records")]
    print(f"{printable(problem.graph.title)} on {name}\n{table([HEAD, *rows], (2, 3))}")
    print(_best(frame))
    if note := note_on_times(problem, name):
        print(f"note: {printable(note)}")
    if options.out:
        frame.to_csv(options.out, index=False)
        print(f"written: {options.out}")
    if frame["error"].all():
        raise PlacelabError("no pair gave a schedule; the table says why")


def _best(frame: pd.DataFrame) -> str:
    """Which pair is the best, or which ones tie."""
    names = [" + ".join(pair) for pair in best_pairs(frame)[["partitioner", "scheduler"]].itertuples(index=False)]
    if len(names) < 2:
        return f"best: {names[0]}" if names else "best: none, since no pair gave a legal schedule within memory"
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"best: {len(names)} pairs tie, {', '.join(names[:NAMED])}{more}"


def _pair_row(pair: dict[str, Any], written: Units) -> tuple[str, ...]:
    if pair["error"]:
        return pair["partitioner"], pair["scheduler"], "–", "–", printable(pair["error"])
    note = "out of memory" if pair["oom"] else "" if pair["valid"] else "not legal"
    gap = "proven optimal" if pair["bound_gap"] < OPTIMAL and not note else percent(pair["bound_gap"])
    return pair["partitioner"], pair["scheduler"], written.time(pair["makespan"]), gap, note


def _add_study(commands: Any) -> None:
    study_command = command(commands, "study", study, STUDIES)
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
    if options.processes is not None:
        count(options.processes, "--processes", 0)
    given = _read(options.file)
    with read_from(str(options.file)):
        work = _work(given, options.file)
    frame = run(work, options.client, options.processes, _show if sys.stderr.isatty() else silent, never)
    print(
        f"{len(frame):,} rows of {len(work.problems):,} problems\n{table([STUDY_HEAD, *_study_rows(frame)], (2, 3, 4))}"
    )
    if options.out:
        frame.to_csv(options.out, index=False)
        print(f"written: {options.out}")
    if frame["error"].astype(bool).all():
        raise PlacelabError("no row has a schedule; the column error of the rows says why")


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


def _read(path: Path) -> Mapping[str, Any]:
    data = read_file(path, EXPECTED)
    try:
        given = tomllib.loads(text_of(data, str(path), EXPECTED))
    except RecursionError:
        raise FormatError(f"{path} has too many brackets in each other; expected {EXPECTED}") from None
    except ValueError as error:
        if isinstance(error, FormatError):  # no text
            raise
        raise FormatError(f"{path} {told(error, 'TOML')}") from None
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


def _study_rows(frame: Any) -> list[tuple[str, ...]]:
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

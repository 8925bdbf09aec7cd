"""``placelab place``: place a model on a cluster, run it, and write what came out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from placelab.cli.arguments import add_model, add_rules, command, problem_of, several
from placelab.cli.terminal import pairs, printable
from placelab.errors import FormatError
from placelab.metrics import metrics
from placelab.schedule import Schedule
from placelab.simulate import simulate
from placelab.solve import place as place_ops
from placelab.units import percent, seconds, si
from placelab.validate import validate

FALLBACK = "pct"  # for placements without a plan
EXAMPLES = """
place inception_v3 --cluster h100_box
place bert.onnx --partitioner m-etf --scheduler pct --out placement.json
place graph.pb --out run.html
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    place_command = command(commands, "place", place, EXAMPLES)
    add_model(place_command)
    add_rules(place_command)
    place_command.add_argument("--partitioner", default="heft", help="where each op runs (default: heft)")
    place_command.add_argument(
        "--scheduler", help=f"who runs next (default: planned, or {FALLBACK} where there is no plan)"
    )
    place_command.add_argument("--out", type=Path, help=f"file to write: {', '.join(WRITERS)}")


def place(options: argparse.Namespace) -> None:
    """Place a model on a cluster, simulate a step and write the placement or the schedule."""
    write = None if options.out is None else writer(options.out)
    name, problem = problem_of(options)
    prepare = several(options.prepare)
    placement = place_ops(problem, options.partitioner, prepare=prepare, seed=options.seed)
    scheduler = options.scheduler or (FALLBACK if placement.planned is None else "planned")
    schedule = simulate(problem, placement, scheduler, seed=options.seed)
    print(f"{printable(problem.graph.title)} on {name}: {options.partitioner} + {scheduler}\n{summary(schedule)}")
    if write:
        write(schedule, options.out)
        print(f"written: {options.out}")


def summary(schedule: Schedule) -> str:
    """What the schedule comes to, in a few lines."""
    m, violations = metrics(schedule), validate(schedule)
    rows = [
        ("makespan", seconds(m["makespan"])),
        ("speed-up", f"× {m['speedup']:.3g} of the best single device"),
        ("above optimum", f"at most {percent(m['bound_gap'])}"),
        ("moved", f"{si(m['bytes_moved'], 'B')} in {m['transfers']:,} transfers"),
        ("ops", ", ".join(f"{name} {n:,}" for name, n in _counts(schedule).items())),
        ("rules", "all hold" if not violations else "; ".join(printable(v.detail) for v in violations[:3])),
    ]
    return pairs([*rows, *(("note", printable(note)) for note in schedule.placement.notes)])


def _counts(schedule: Schedule) -> dict[str, int]:
    names = schedule.problem.cluster.names
    return {printable(name): int((schedule.device == d).sum()) for d, name in enumerate(names)}


def writer(path: Path) -> Callable[[Schedule, Path], Any]:
    """What writes a file of that name; FormatError when nothing does."""
    found = next((write for suffix, write in WRITERS.items() if path.name.lower().endswith(suffix)), None)
    if found is None:
        raise FormatError(f"{str(path)!a} has no format to write; files end in {', '.join(WRITERS)}")
    return found


def _page(schedule: Schedule, path: Path) -> None:
    from placelab.export import html

    html(schedule, path)


def _trace(schedule: Schedule, path: Path) -> None:
    from placelab.export import chrome_trace

    chrome_trace(schedule, path)


def _mapping(schedule: Schedule, path: Path) -> None:
    """Op name → device name."""
    path.write_text(json.dumps(schedule.placement.to_mapping(), indent=1) + "\n", encoding="utf-8")


WRITERS = {".html": _page, ".trace.json": _trace, ".trace.json.gz": _trace, ".json": _mapping}

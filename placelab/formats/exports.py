"""Write a schedule as a trace or table, a placement for its framework, a graph as a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from placelab.base.errors import FormatError, expect
from placelab.base.limits import path_of
from placelab.base.saving import save
from placelab.formats import csv_tables
from placelab.formats.task_graphs import dot, stg
from placelab.formats.tensorflow import write_graph_def
from placelab.formats.torch import device_map, schedule_table
from placelab.formats.trace_events import trace_json
from placelab.problem import graph_json
from placelab.problem.graph import OpGraph
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

TABLES = {"ops": csv_tables.ops_csv, "transfers": csv_tables.transfers_csv}
GRAPHS = {".json": graph_json.dumps, ".dot": dot.dumps, ".gv": dot.dumps, ".stg": stg.dumps}


def chrome_trace(schedule: Schedule, path: str | Path) -> Path:
    """Write a schedule in the Trace Event format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing open.

    The events are described in :mod:`placelab.formats.trace_events`. Times are microseconds, rounded to nanoseconds. The file is
    written as it is made: about 300 bytes per op and 800 per transfer, which do not pass through memory all at once.

    Parameters
    ----------
    path
        File to write; gzipped when its name ends in ``.gz``.

    References
    ----------
    Trace Event Format, https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
    """
    expect(schedule, Schedule, "export.chrome_trace")
    return save(trace_json(schedule), path)


def csv(schedule: Schedule, path: str | Path, *, table: str = "ops", as_it_is: bool = False) -> Path:
    """Write a table of a schedule as CSV: UTF-8, a first line of names with units, SI.

    Parameters
    ----------
    path
        File to write; gzipped when its name ends in ``.gz``.
    table
        ``"ops"``, a row per op with its costs, device and times, or ``"transfers"``, a row per transfer.
    as_it_is
        Write names that a spreadsheet would take for formulas (``=…``, ``@…``) unchanged; by default they get an apostrophe.
    """
    expect(schedule, Schedule, "export.csv")
    if not isinstance(table, str) or table not in TABLES:
        raise FormatError(f"there is no table {table!r:.80}; there are {' and '.join(TABLES)}")
    return save(TABLES[table](schedule, as_it_is=as_it_is), path)


def placement(placement: Placement, path: str | Path) -> Path:
    """Write a placement as JSON, op name → device name, which :func:`placelab.schedule.placement.read` reads.

    Parameters
    ----------
    path
        File to write; gzipped when its name ends in ``.gz``.
    """
    expect(placement, Placement, "export.placement")
    return placement.save(path)


def tensorflow(
    placement: Placement, graph_file: str | Path, path: str | Path, *, devices: Mapping[str, str] | None = None
) -> Path:
    """Write a copy of a TensorFlow graph file with ``device`` set to the placement.

    Parameters
    ----------
    graph_file
        The ``.pb`` or ``.pbtxt`` file that the placed graph came from.
    path
        File to write, of the same kind.
    devices
        Device of the cluster → TensorFlow's name; default: ``/device:GPU:0`` for the first device of type ``gpu``, and so on.

    Notes
    -----
    :func:`placelab.formats.tensorflow.write_graph_def.write` specifies what is kept and when TensorFlow accepts the file.
    """
    expect(placement, Placement, "export.tensorflow")
    return write_graph_def.write(graph_file, placement, path, devices=devices)


def torch_device_map(placement: Placement, path: str | Path, *, devices: Mapping[str, int | str] | None = None) -> Path:
    """Write a placement as a device map of modules for Accelerate's ``dispatch_model``; warn of modules that are split.

    Parameters
    ----------
    path
        JSON file to write.
    devices
        Device of the cluster → PyTorch's name; default: ``"cpu"``, and numbers from 0 for the others.

    Notes
    -----
    :func:`placelab.formats.torch.device_map.device_map` specifies the map and its limits.
    """
    expect(placement, Placement, "export.torch_device_map")
    return device_map.write(placement, path, devices=devices)


def torch_schedule(schedule: Schedule, path: str | Path) -> Path:
    """Write the order of a pipelined training step as a table of ``torch.distributed.pipelining``: ``0F0,0F1,0B0``.

    Parameters
    ----------
    path
        CSV file to write, gzipped when its name ends in ``.gz``; schedules of PyTorch read it with ``_load_csv``, format
        ``compute_only``.

    Notes
    -----
    :mod:`placelab.formats.torch.schedule_table` specifies the table; :func:`placelab.load_schedule_table` reads it.
    """
    expect(schedule, Schedule, "export.torch_schedule")
    return save(schedule_table.dumps(schedule), path)


def graph(graph: OpGraph, path: str | Path) -> Path:
    """Write a graph in the format of the file's suffix: ``.json``, ``.dot``, ``.gv``, ``.stg``, each also with ``.gz``.

    placelab JSON and DOT hold the whole graph. A Standard Task Graph holds only a cost per op and edge; a graph with a table of
    times is refused.
    """
    expect(graph, OpGraph, "export.graph")
    path = path_of(path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in GRAPHS:
        raise FormatError(f"{path} has no format to write a graph in; files end in {', '.join(GRAPHS)}")
    return save(GRAPHS[suffix](graph), path)

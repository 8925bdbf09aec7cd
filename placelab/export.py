"""How do results leave placelab? A schedule as a page, a trace or tables; a placement for its framework; a graph as a file.

Every function writes one file, whole or not at all, and returns its path.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html as markup
import json
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from placelab.errors import FormatError, expect
from placelab.formats import csv_tables, dot, placelab_json, placement_json, stg, tensorflow_write
from placelab.formats import torch_device_map as device_map
from placelab.formats.limits import path_of
from placelab.formats.saving import save
from placelab.formats.trace_events import trace_json
from placelab.graph import OpGraph
from placelab.schedule import Placement, Schedule
from placelab.widgets.gantt import Gantt, gantt_traits

__all__ = ["chrome_trace", "csv", "graph", "html", "placement", "tensorflow", "torch_device_map"]
TABLES = {"ops": csv_tables.ops_csv, "transfers": csv_tables.transfers_csv}
GRAPHS = {".json": placelab_json.dumps, ".dot": dot.dumps, ".gv": dot.dumps, ".stg": stg.dumps}

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style nonce="{nonce}">:root {{ color-scheme: light dark }} body {{ margin: 16px; font: 13px system-ui, sans-serif }}
h1 {{ font-size: 18px; font-weight: 600; margin: 0 0 12px }}</style>
</head>
<body>
<h1>{title}</h1>
<script type="text/plain" id="placelab-schedule">{payload}</script>
<script type="module" nonce="{nonce}">{code}</script>
</body>
</html>
"""


def html(schedule: Schedule, path: str | Path, *, numbers: Iterable[Mapping[str, str]] = (), title: str = "") -> Path:
    """Write a page that shows and plays a schedule in any browser, without a kernel and without a network.

    Parameters
    ----------
    path
        File to write.
    numbers
        Figures above the chart: ``key, label, value`` and, optionally, ``title`` and ``tone`` ("", good, warn, bad).
    title
        Title and heading of the page; by default the model, the strategies and the number of devices.

    Returns
    -------
    Path
        The file.

    Notes
    -----
    The page may fetch nothing and run nothing but the chart's own code, whose hash its content security policy names.
    Op names are data in a base64 block and reach the page as text only. About 0.5 MB for 20,000 ops.
    """
    expect(schedule, Schedule, "export.html")
    code = str(Gantt._esm)
    if "</script" in code:
        raise ValueError("the chart's code would end its own script element; rebuild it: npm run build")
    payload = _payload({**gantt_traits(schedule), "numbers": [dict(item) for item in numbers]})
    nonce = _digest(payload)[:24]
    title = markup.escape(str(title) or _title(schedule))
    page = _PAGE.format(policy=_policy(code, nonce), nonce=nonce, title=title, payload=payload, code=code)
    return save(page, path)


def _title(schedule: Schedule) -> str:
    problem, by = schedule.problem, schedule.placement.partitioner or "placed by hand"
    return f"{problem.graph.title} · {by} + {schedule.scheduler or 'given times'} · {problem.cluster.n_devices} devices"


def _policy(code: str, nonce: str) -> str:
    sources = f"script-src 'sha256-{_digest(code)}'; style-src 'nonce-{nonce}'"
    return f"default-src 'none'; {sources}; base-uri 'none'; form-action 'none'"


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _payload(traits: Mapping[str, Any]) -> str:
    """What ``widgets/player/player.ts`` unpacks: base64 of gzip of the header's length, header, and binary traits."""
    plain = {name: trait.default() for name, trait in Gantt.class_own_traits(sync=True).items()} | dict(traits)
    binary = {name: value for name, value in plain.items() if isinstance(value, bytes)}
    header = {
        "traits": {name: value for name, value in plain.items() if name not in binary},
        "buffers": [[name, len(value)] for name, value in binary.items()],
    }
    head = json.dumps(header).encode()
    data = struct.pack("<I", len(head)) + head + b"".join(binary.values())
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def chrome_trace(schedule: Schedule, path: str | Path) -> Path:
    """Write a schedule in the Trace Event format, which Perfetto (https://ui.perfetto.dev) and chrome://tracing open.

    What stands for what: :mod:`placelab.formats.trace_events`. Times are microseconds, rounded to nanoseconds. The file is
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
        Leave names that a spreadsheet would take for formulas (``=…``, ``@…``) as they are; by default they get an apostrophe.
    """
    expect(schedule, Schedule, "export.csv")
    if table not in TABLES:
        raise FormatError(f"there is no table {table!r:.80}; there are {' and '.join(TABLES)}")
    return save(TABLES[table](schedule, as_it_is=as_it_is), path)


def placement(placement: Placement, path: str | Path) -> Path:
    """Write a placement as JSON, op name → device name; :func:`placelab.formats.placement_json.read` takes it back.

    Parameters
    ----------
    path
        File to write; gzipped when its name ends in ``.gz``.
    """
    expect(placement, Placement, "export.placement")
    return placement_json.write(placement, path)


def tensorflow(
    placement: Placement, graph_file: str | Path, path: str | Path, *, devices: Mapping[str, str] | None = None
) -> Path:
    """Write a copy of a TensorFlow graph file in which ``device`` says where each op goes.

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
    What is kept, and when TensorFlow accepts it: :func:`placelab.formats.tensorflow_write.write`.
    """
    expect(placement, Placement, "export.tensorflow")
    return tensorflow_write.write(graph_file, placement, path, devices=devices)


def torch_device_map(placement: Placement, path: str | Path, *, devices: Mapping[str, int | str] | None = None) -> Path:
    """Write a placement as a device map of modules, which Accelerate's ``dispatch_model`` takes; warns of modules it splits.

    Parameters
    ----------
    path
        JSON file to write.
    devices
        Device of the cluster → what PyTorch calls it; default: ``"cpu"``, and numbers from 0 for the others.

    Notes
    -----
    What a map can say, and what it cannot: :func:`placelab.formats.torch_device_map.device_map`.
    """
    expect(placement, Placement, "export.torch_device_map")
    return device_map.write(placement, path, devices=devices)


def graph(graph: OpGraph, path: str | Path) -> Path:
    """Write a graph in the format that the file's name tells: ``.json``, ``.dot``, ``.gv``, ``.stg``, each also with ``.gz``.

    placelab JSON and DOT hold all of a graph and are read back as it was; a Standard Task Graph holds a cost per op and edge and
    no more, so a graph with a table of times is refused.
    """
    expect(graph, OpGraph, "export.graph")
    path = path_of(path)
    suffix = Path(path.name.lower().removesuffix(".gz")).suffix
    if suffix not in GRAPHS:
        raise FormatError(f"{path} has no format to write a graph in; files end in {', '.join(GRAPHS)}")
    return save(GRAPHS[suffix](graph), path)


def __dir__() -> list[str]:
    return list(__all__)

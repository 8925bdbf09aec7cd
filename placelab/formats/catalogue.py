"""The catalogue of formats: what a file holds, the suffixes it has, which module reads it and which function writes it.

A row names modules and functions by their place below ``placelab``; each is imported when a file is read or written. A format is
added by a row: ``load``, ``export.graph``, the command line, the explorer's file picker and the documentation read this table.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from placelab.base.files import START, narrow

GRAPH = "graph"
PROFILE = "profile"
SCHEDULE = "schedule"
PLACEMENT = "placement"
ORDER = "order"  # a placement with what each device runs next


class Format(NamedTuple):
    """A format; files of all formats may be gzipped, with ``.gz`` after the suffix.

    Attributes
    ----------
    title
        Its name in menus and messages.
    holds
        What a file says: a graph, a profile of a run, a schedule, a placement, an order.
    suffixes
        In small letters. Of formats with one suffix, the first that fits a file's content reads it.
    reader
        The module that reads it, see ``Reader`` in ``placelab.graphs.loading``, and ``DocumentReader`` for ``.json``; "" for a
        format that is only written.
    writer
        The function that writes it, ``module:function``, with what it holds and a path; "" for a format that is only read.
    options
        Names of the reader's options, or, of a format that is only written, what the writer needs beside.
    begins
        First bytes that its files may have, where they tell it from other formats of a suffix; before text, blanks may stand.
    """

    title: str
    holds: str
    suffixes: tuple[str, ...]
    reader: str = ""
    writer: str = ""
    options: tuple[str, ...] = ()
    begins: tuple[bytes, ...] = ()

    def may_be(self, start: bytes) -> bool:
        """Whether a file that begins with `start` may have this format."""
        text = tuple(begin for begin in self.begins if begin[:1].isascii() and begin > b" ")
        blank = narrow(start).removeprefix(BOM_UTF8)
        return not self.begins or start.startswith(self.begins) or blank.lstrip().startswith(text)


TENSORFLOW = "TensorFlow"
ONNX = "ONNX"
FORMATS = (
    Format("placelab JSON", GRAPH, (".json",), "formats.placelab_json", "problem.graph_json:write"),
    Format("WfFormat", GRAPH, (".json",), "formats.task_graphs.wfformat"),
    Format("dnn-partitioning", GRAPH, (".json",), "formats.task_graphs.dnn_partitioning"),
    Format("Chakra", GRAPH, (".json", ".et"), "formats.task_graphs.execution_trace"),
    Format(TENSORFLOW, GRAPH, (".pb", ".pbtxt"), "formats.tensorflow.graph_def", options=("batch", "devices", "trips")),
    Format(
        ONNX, GRAPH, (".pb", ".onnx"), "formats.onnx.model_proto", options=("dimensions", "trips"), begins=(b"\x08",)
    ),
    Format("networkx", GRAPH, (".json", ".graphml"), "formats.task_graphs.networkx_files"),
    Format("config.json of a transformer", GRAPH, (".json",), "models.transformer"),
    Format("DOT", GRAPH, (".dot", ".gv"), "formats.task_graphs.dot", "formats.task_graphs.dot:write"),
    Format("STG", GRAPH, (".stg",), "formats.task_graphs.stg", "formats.task_graphs.stg:write"),
    Format(
        "HLO",
        GRAPH,
        (".hlo", ".txt"),
        "formats.xla.hlo_text",
        options=("trips",),
        begins=(b"HloModule", b"ENTRY", b"%"),
    ),
    Format(
        "StableHLO",
        GRAPH,
        (".mlir", ".txt"),
        "formats.xla.stablehlo_text",
        options=("trips",),
        begins=(b"module", b"func.func", b'"builtin.module"', b"#", b"//"),
    ),
    Format("PipeDream", GRAPH, (".txt",), "formats.task_graphs.pipedream", options=("backward",)),
    Format("Mayer's CSV", GRAPH, (".csv",), "formats.task_graphs.mayer_csv"),
    Format("DAX", GRAPH, (".dax", ".xml"), "formats.task_graphs.dax"),
    Format("Pegasus 5", GRAPH, (".yml", ".yaml"), "formats.task_graphs.pegasus"),
    Format("torch.export", GRAPH, (".pt2",), "formats.torch.archive", options=("trips",)),
    Format("torch.profiler", PROFILE, (".json",), "formats.torch.profiler_trace", options=("graph",)),
    Format("ONNX Runtime's profile", PROFILE, (".json",), "formats.onnx.runtime_profile"),
    Format("RunMetadata", PROFILE, (".json", ".pb"), "formats.tensorflow.run_metadata"),
    Format("trace", SCHEDULE, (".trace.json",), writer="formats.exports:chrome_trace"),
    Format("table of ops", SCHEDULE, (".csv",), writer="formats.exports:csv"),
    Format(
        "schedule table of torch.distributed.pipelining",
        ORDER,
        (".csv",),
        "formats.torch.schedule_table",
        "formats.exports:torch_schedule",
    ),
    Format(
        "device map of PyTorch modules",
        PLACEMENT,
        ("device_map.json",),
        "schedule.placement",
        "formats.exports:torch_device_map",
    ),
    Format("placement", PLACEMENT, (".json",), "schedule.placement", "formats.exports:placement"),
    Format(
        "GraphDef with devices",
        PLACEMENT,
        (".pb", ".pbtxt"),
        writer="formats.exports:tensorflow",
        options=("graph_file",),
    ),
)


def suffix_of(name: str) -> str:
    """The last suffix of a file's name without ``.gz``, in small letters."""
    return Path(name.lower().removesuffix(".gz")).suffix


def readers(*holds: str, suffix: str = "") -> list[Format]:
    """Formats that are read and hold one of these, with a suffix if one is given."""
    return [row for row in FORMATS if row.reader and row.holds in holds and (not suffix or suffix in row.suffixes)]


def writers(*holds: str) -> dict[str, Format]:
    """Suffix → the first format that is written with it and holds one of these; the first suffix that fits a name counts."""
    found: dict[str, Format] = {}
    for row in FORMATS:
        if row.writer and row.holds in holds:
            found |= {suffix: row for suffix in row.suffixes if suffix not in found}
    return found


def format_of(path: Path) -> Format | None:
    """The format of a graph's file as far as suffix and first bytes tell; a folder may be a SavedModel. None: no suffix fits."""
    rows = readers(GRAPH, suffix=suffix_of(path.name) or "-")
    if path.is_dir():
        rows = [row for row in FORMATS if row.title == TENSORFLOW]
    if len(rows) > 1 and path.is_file():
        with suppress(OSError), path.open("rb") as file:
            start = file.read(START)
            rows.sort(key=lambda row: not (row.begins and row.may_be(start)))
    return rows[0] if rows else None


def module_of(row: Format) -> ModuleType:
    """The module that reads a format."""
    return import_module(f"placelab.{row.reader}")


def written(row: Format, what: Any, path: Path, **options: Any) -> None:
    """Write a file of a format."""
    module, _, function = row.writer.partition(":")
    write: Callable[..., Any] = getattr(import_module(f"placelab.{module}"), function)
    write(what, path=path, **options)

"""Read profiles of PyTorch, ONNX Runtime and TensorFlow; the format is recognised by content."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.limits import JSON, json_of, read_file, unzipped
from placelab.formats.profile_columns import ProfileColumns, median_columns
from placelab.problem.graph import OpGraph

EXPECTED = "a profile: a trace of PyTorch, ONNX Runtime or TensorFlow as JSON, or TensorFlow's RunMetadata"
TRACES = ("torch.profiler_trace", "onnx.runtime_profile", "tensorflow.run_metadata")
BINARY = "tensorflow.run_metadata"
BY_GRAPH = "torch.profiler_trace"  # whose events may need the graph


def read_profile(*paths: Any, graph: OpGraph | None = None) -> ProfileColumns:
    """Read one or more profiles: each op's median over the files.

    Parameters
    ----------
    paths
        Files of ``torch.profiler``, ``onnxruntime`` (``end_profiling``), TensorFlow (timeline, RunMetadata), gzipped or not.
    graph
        Graph of the profiled model; some traces of PyTorch can only be matched with ops if it is given.

    Raises
    ------
    FormatError
        A file that does not exist, or is not a profile.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = pl.load("model.onnx")                                                              # doctest: +SKIP
    >>> pl.costs.measured(graph, read_profile("profile.json", graph=graph), speed=1e12)            # doctest: +SKIP
    """
    if not paths:
        raise FormatError("read_profile needs the path of a profile, or of several")
    return median_columns([loads(read_file(path, EXPECTED), str(path), graph) for path in paths])


def loads(data: bytes, where: str = "the upload", graph: OpGraph | None = None) -> ProfileColumns:
    """The profile in the bytes of a file; `where` names it in messages."""
    data = unzipped(data, where)
    if not data.startswith(JSON):
        return _module(BINARY).loads(data, where)
    return profile_of(json_of(data, where, EXPECTED), where, graph)


def profile_of(document: Any, where: str, graph: OpGraph | None = None) -> ProfileColumns:
    """The profile in parsed JSON; `where` names it in messages."""
    found = _reader(document)
    if found is None:
        raise FormatError(f"{where} is not {EXPECTED}")
    options = {"graph": graph} if found is _module(BY_GRAPH) else {}
    return found.profile_of(document, where, **options)


def matches(document: Any) -> bool:
    """Whether parsed JSON is a profile of one of these frameworks."""
    return _reader(document) is not None


def _reader(document: Any) -> ModuleType | None:
    return next((module for module in map(_module, TRACES) if module.matches(document)), None)


def _module(name: str) -> ModuleType:
    return import_module(f"placelab.formats.{name}")

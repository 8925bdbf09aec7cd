"""Where does a graph come from? By name, from a file of any known format, or from another library's object."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, get_type_hints

from placelab import datasets
from placelab.costs.default import with_estimates
from placelab.costs.profile import Profile
from placelab.errors import FormatError, PlacelabError, UnsupportedError, described
from placelab.files.limits import json_of, path_of, read_file, unzipped
from placelab.formats import profiles
from placelab.formats.profile_columns import ProfileColumns
from placelab.formats.torch.module import from_exported, from_module, is_exported, is_module
from placelab.formats.torch.training import from_training
from placelab.names import is_name
from placelab.problem.graph import OpGraph
from placelab.schedule import placement_json
from placelab.strategies import check_options

# Suffix → the modules of placelab that read it; of several the first that can. Any file may be gzipped.
READERS = {
    ".json": (
        "formats.placelab_json",
        "formats.workflows.wfformat",
        "formats.task_graphs.dnn_partitioning",
        "formats.chakra.execution_trace",
    ),
    ".pb": ("formats.tensorflow.graph_def", "formats.onnx.model_proto", "formats.profiles"),
    ".pbtxt": ("formats.tensorflow.graph_def",),
    ".onnx": ("formats.onnx.model_proto",),
    ".dot": ("formats.task_graphs.dot",),
    ".gv": ("formats.task_graphs.dot",),
    ".stg": ("formats.task_graphs.stg",),
    ".txt": ("formats.task_graphs.pipedream",),
    ".csv": ("formats.task_graphs.mayer_csv",),
    ".et": ("formats.chakra.execution_trace",),
    ".dax": ("formats.workflows.dax",),
    ".xml": ("formats.workflows.dax",),
    ".pt2": ("formats.torch.archive",),
}
ONNX_VERSION = b"\x08"  # the field that ONNX models begin with, and the other files called .pb do not
SAVED_MODEL = "saved_model.pb"  # in the folder that TensorFlow calls a SavedModel
EXPECTED = "a graph"


class Reader(Protocol):
    """What a module is that reads one format.

    Attributes
    ----------
    EXPECTED
        What a file of the format is, for messages: ``"a DOT graph"``.
    """

    EXPECTED: str

    def read(self, path: Any, **options: Any) -> OpGraph:
        """The graph in a file."""

    def loads(self, data: bytes, where: str, **options: Any) -> OpGraph:
        """The graph in the bytes of a file that messages call `where`."""


class DocumentReader(Reader, Protocol):
    """A reader of JSON, of which several formats share a suffix."""

    def is_one(self, document: Any) -> bool:
        """Whether the document is of this format."""

    def graph_of(self, document: Any, where: str) -> OpGraph:
        """The graph in the document."""


def load(what: Any, **options: Any) -> OpGraph:
    """A graph by dataset name, from a file, or from another library's object.

    Parameters
    ----------
    what
        Name of a dataset (``placelab.datasets.names()``); path of a file that ends in one of :func:`suffixes`, or of the
        folder of a TensorFlow SavedModel; a networkx DiGraph; a ``torch.nn.Module`` or a ``torch.export`` program. An OpGraph
        is returned as it is.
    options
        For the format, as its reader in ``placelab.formats`` says: ``load("bert.onnx", dimensions={"batch": 8})``. For a
        module `args`, a tuple of what it is called with, and `loss`, what makes one number of its output: then the graph has
        the backward pass, too, as ``placelab.formats.torch.training.from_training`` makes it.

    Returns
    -------
    OpGraph
        With the seconds of ``costs.estimate`` where operations were counted from shapes and nothing was measured.

    Raises
    ------
    FormatError
        None of them, or a file that does not hold a graph; the message says what was expected.
    UnsupportedError
        An option that the format does not have, or not with such a value; a format that needs a package that is not
        installed.

    Examples
    --------
    >>> load("topcuoglu").n_ops
    10
    """
    if isinstance(what, OpGraph):
        _refuse(options, "an OpGraph")
        return what
    if hasattr(what, "is_directed") and not isinstance(what, (type, ModuleType)):
        _refuse(options, "a networkx graph")
        return OpGraph.from_networkx(what)
    if is_exported(what):
        return with_estimates(_call(from_exported, what, options=options))
    if is_module(what):
        return with_estimates(_call(from_training if "loss" in options else from_module, what, options=options))
    if not isinstance(what, (str, Path)):
        raise FormatError(
            "load needs a dataset's name, a path, a networkx DiGraph, a torch.nn.Module or a torch.export program, found "
            f"{_said(what)}"
        )
    if str(what) in datasets.names():
        _refuse(options, f"dataset {str(what)!r}")
        return datasets.load(str(what))
    return _open(what, options)


def loads(data: bytes, name: str, **options: Any) -> OpGraph:
    """The graph in the bytes of a file, gzipped or not, as an upload brings them; `name` tells its format.

    Raises
    ------
    FormatError, UnsupportedError
        As :func:`load`.
    """
    found = opened(data, name, **options)
    if isinstance(found, Profile):
        raise FormatError(f"{name} is a profile of a run, whose times placelab.costs.measured puts into a model")
    return found


def opened(data: bytes, name: str, graph: OpGraph | None = None, **options: Any) -> OpGraph | Profile:
    """The graph or the profile in the bytes of a file; `graph` is the one that a profile may be of.

    Raises
    ------
    FormatError, UnsupportedError
        As :func:`load`.
    """
    if not isinstance(data, bytes) or not is_name(name):
        raise FormatError(
            f"found a {type(data).__name__} called {name!a:.200}; expected the bytes and the name of a file"
        )
    if _suffix(name) == ".json":
        return _from_json(data, name, options, graph)
    refused, data = None, unzipped(data, name)
    for reader in _readers(name):
        if _suffix(name) == ".pb" and reader == "formats.onnx.model_proto" and not data.startswith(ONNX_VERSION):
            continue  # parsing a stranger's million fields once is enough
        try:
            found = _call(_module(reader).loads, data, name, options=options)
            return Profile(*found) if isinstance(found, ProfileColumns) else with_estimates(found)
        except PlacelabError as error:
            refused = refused or error  # what the first one says is most likely meant
    raise refused


def suffixes() -> list[str]:
    """How names of files end that :func:`load` reads.

    >>> {".json", ".json.gz", ".onnx"} <= set(suffixes())
    True
    """
    return [suffix + packed for suffix in READERS for packed in ("", ".gz")]


def _open(what: str | Path, options: dict[str, Any]) -> OpGraph:
    path = path_of(what)
    if os.path.isfile(path / SAVED_MODEL):
        path = path / SAVED_MODEL
    if not os.path.exists(path) and not _suffix(path.name):
        raise FormatError(f"{what!a:.200} is neither a dataset ({', '.join(datasets.names())}) nor a file that exists")
    readers = _readers(str(path))
    if len(readers) == 1:
        return with_estimates(_call(_module(readers[0]).read, path, options=options))
    return loads(read_file(path, EXPECTED), str(path), **options)


def _suffix(name: str) -> str:
    """The part of a file's name that tells its format, ``.gz`` left out; "" when none is known."""
    suffix = Path(name.lower().removesuffix(".gz")).suffix
    return suffix if suffix in READERS else ""


def _readers(name: str) -> tuple[str, ...]:
    suffix = _suffix(name)
    if not suffix:
        what = f"is a folder without {SAVED_MODEL}" if os.path.isdir(name) else "has no known format"
        raise FormatError(f"{name!a:.200} {what}; files end in {', '.join(READERS)}, gzipped or not")
    return READERS[suffix]


def _module(reader: str) -> Reader | DocumentReader:
    return import_module(f"placelab.{reader}")


def _from_json(data: bytes, name: str, options: dict[str, Any], graph: OpGraph | None) -> OpGraph | Profile:
    document = json_of(data, name, EXPECTED)
    modules = [_module(reader) for reader in READERS[".json"]]
    found = next((module for module in modules if module.is_one(document)), None)
    if found is not None:
        return with_estimates(_call(found.graph_of, document, name, options=options))
    if profiles.is_one(document):
        return Profile(*profiles.loads(data, name, graph))
    raise FormatError(f"{name} is {_described(document)}; expected {', '.join(m.EXPECTED for m in modules)}")


def _described(document: Any) -> str:
    """What JSON that is no graph is, as far as one can tell."""
    if placement_json.is_one(document):
        return "a placement, which Placement.load reads"
    if isinstance(document, dict) and document:
        return f"JSON of another kind, with the keys {', '.join(map(ascii, list(document)[:4]))}"[:200]
    return f"JSON of another kind, {'an empty object' if document == {} else type(document).__name__}"


def _said(what: Any) -> str:
    """What was to be loaded, in two or three words."""
    return f"the module {what.__name__}" if isinstance(what, ModuleType) else described(what)


def _refuse(options: dict[str, Any], who: str) -> None:
    """UnsupportedError for options of something that is complete without any."""
    for option in options:
        raise UnsupportedError(f"{who} has no option {option!r}; its options: none")


def _call(function: Callable[..., OpGraph], *arguments: Any, options: dict[str, Any]) -> OpGraph:
    """The reader's graph; UnsupportedError for options that it does not have, or not with such a value."""
    hints = {name: (hint, None) for name, hint in get_type_hints(function, include_extras=True).items()}
    names = list(signature(function).parameters)[len(arguments) :]
    check_options(function.__module__, {name: hints.get(name, (Any, None)) for name in names}, options)
    return function(*arguments, **options)

"""Load a graph by name, from a file of any known format, or from an object of another library."""

from __future__ import annotations

import os
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, get_type_hints

from placelab.base.errors import FormatError, PlacelabError, UnsupportedError, described, is_name
from placelab.base.files import START, foreign, json_of, open_file, path_of, read_file, unzipped
from placelab.costs.roofline import with_estimates
from placelab.formats import profiles
from placelab.formats.catalogue import GRAPH, PROFILE, Format, module_of, readers, suffix_of
from placelab.formats.profiles import Profile
from placelab.formats.torch.archive import looks_like
from placelab.formats.torch.module import from_exported, from_module, from_training, is_exported, is_module
from placelab.graphs import datasets
from placelab.problem.graph import OpGraph
from placelab.schedule.catalogue import check_options
from placelab.schedule.placement import is_one as is_placement

SAVED_MODEL = "saved_model.pb"  # in the folder of a TensorFlow SavedModel
CONFIG = "config.json"  # in the folder of a Hugging Face model
EXPECTED = "a graph"


class Reader(Protocol):
    """A module that reads one format.

    It may have a function ``read(path, **options)``, too, where a file is not read whole, such as a model with its weights.

    Attributes
    ----------
    EXPECTED
        The format's name in messages: ``"a DOT graph"``.
    """

    EXPECTED: str

    def loads(self, data: bytes, where: str, **options: Any) -> OpGraph:
        """The graph in the bytes of a file; `where` names it in messages."""


class DocumentReader(Reader, Protocol):
    """A reader of JSON, the suffix of several formats."""

    def matches(self, document: Any) -> bool:
        """Whether the document has this format."""

    def graph_of(self, document: Any, where: str) -> OpGraph:
        """The graph in the document."""


def load(what: Any, **options: Any) -> OpGraph:
    """Load a graph by dataset name, from a file, or from an object of another library.

    Parameters
    ----------
    what
        Name of a dataset (``placelab.datasets.names()``); path of a file with one of
        :func:`~placelab.graphs.loading.suffixes`, or of the folder of a TensorFlow SavedModel or of a Hugging Face model
        with its ``config.json``; a networkx DiGraph; a ``torch.nn.Module`` or a ``torch.export`` program; an OpGraph, which is
        returned unchanged.
    options
        Options of the format's reader in ``placelab.formats``: ``load("bert.onnx", dimensions={"batch": 8})``. For a module,
        `args`, the tuple of its arguments, and `loss`, a function of its output that returns one number: with `loss`, the graph
        includes the backward pass (``placelab.formats.torch.module.from_training``).

    Returns
    -------
    OpGraph
        The graph, with the seconds of ``costs.estimate`` if operations were counted from shapes and not measured.

    Raises
    ------
    FormatError
        `what` is none of these, or a file without a graph; the message says what was expected.
    UnsupportedError
        An option or a value that the format does not have; a format that needs a package that is not installed.

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
            f"{_kind(what)}"
        )
    if str(what) in datasets.names():
        _refuse(options, f"dataset {str(what)!r}")
        return datasets.load(str(what))
    return _open(what, options)


def loads(data: bytes, name: str, **options: Any) -> OpGraph:
    """Load a graph from the bytes of a file, such as an upload, gzipped or not; the suffix of `name` gives the format.

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
    """Load a graph or a profile from the bytes of a file; `graph` is that of the profiled model, if known.

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
    rows = _readers(name)
    errors = list[PlacelabError]()
    data = unzipped(data, name)
    for reader in [*map(module_of, _fitting(rows, data)), *[profiles] * any(row.holds == PROFILE for row in rows)]:
        try:
            found = _call(reader.loads, data, name, options=options)
            return found if isinstance(found, Profile) else with_estimates(found)
        except PlacelabError as error:
            errors.append(error)
    raise errors[0]  # of the likeliest format


def suffixes() -> list[str]:
    """Suffixes of the files that :func:`~placelab.load` reads.

    >>> {".json", ".json.gz", ".onnx"} <= set(suffixes())
    True
    """
    return [suffix + packed for suffix in _suffixes() for packed in ("", ".gz")]


def _open(what: str | Path, options: dict[str, Any]) -> OpGraph:
    path = path_of(what)
    if os.path.isfile(path / SAVED_MODEL):
        path = path / SAVED_MODEL
    elif os.path.isfile(path / CONFIG):
        path = path / CONFIG
    if not os.path.exists(path) and not _suffix(path.name):
        raise FormatError(f"{what!a:.200} is neither a dataset ({', '.join(datasets.names())}) nor a file that exists")
    rows = _readers(str(path))
    if len(rows) > 1:
        return loads(read_file(path, EXPECTED), str(path), **options)
    reader: Reader = module_of(rows[0])
    if read := getattr(reader, "read", None):
        return with_estimates(_call(read, path, options=options))
    return with_estimates(_call(reader.loads, read_file(path, reader.EXPECTED), str(path), options=options))


def _suffixes() -> list[str]:
    return list(dict.fromkeys(suffix for row in readers(GRAPH, PROFILE) for suffix in row.suffixes))


def _suffix(name: str) -> str:
    """The suffix of a file's name without ``.gz``; "" if no format has it."""
    suffix = suffix_of(name)
    return suffix if suffix in _suffixes() else ""


def _readers(name: str) -> list[Format]:
    suffix = _suffix(name)
    if not suffix:
        what = f"is a folder without {SAVED_MODEL} or {CONFIG}" if os.path.isdir(name) else _unknown(name)
        raise FormatError(f"{name!a:.200} {what}; files end in {', '.join(_suffixes())}, gzipped or not")
    return readers(GRAPH, PROFILE, suffix=suffix)


def _unknown(name: str) -> str:
    """What is wrong with a file of a suffix that no format has: of a known kind that is not read, or none that is known."""
    if os.path.isfile(name):
        with open_file(Path(name), EXPECTED) as file:
            start = file.read(START)
            if found := foreign(start) or looks_like(file, name):
                return f"looks like {found}"
    return "has no known format"


def _fitting(rows: list[Format], data: bytes) -> list[Format]:
    """Formats of graphs, without those that the first bytes rule out: a million fields are not parsed twice."""
    graphs = [row for row in rows if row.holds == GRAPH]
    return [row for row in graphs if len(graphs) == 1 or row.may_be(data[:START])]


def _from_json(data: bytes, name: str, options: dict[str, Any], graph: OpGraph | None) -> OpGraph | Profile:
    document = json_of(data, name, EXPECTED)
    known: list[DocumentReader] = [module_of(row) for row in readers(GRAPH, suffix=".json")]
    found = next((reader for reader in known if reader.matches(document)), None)
    if found is not None:
        return with_estimates(_call(found.graph_of, document, name, options=options))
    if profiles.matches(document):
        return profiles.profile_of(document, name, graph)
    raise FormatError(f"{name} is {_described(document)}; expected {', '.join(reader.EXPECTED for reader in known)}")


def _described(document: Any) -> str:
    """Describe JSON that is not a graph."""
    if is_placement(document):
        return "a placement, which Placement.load reads"
    if isinstance(document, dict) and document:
        return f"JSON of a different kind, with the keys {', '.join(map(ascii, list(document)[:4]))}"[:200]
    return f"JSON of a different kind, {'an empty object' if document == {} else type(document).__name__}"


def _kind(what: Any) -> str:
    """Describe the value to load in two or three words."""
    return f"the module {what.__name__}" if isinstance(what, ModuleType) else described(what)


def _refuse(options: dict[str, Any], who: str) -> None:
    """UnsupportedError if there are options; `who` has none."""
    for option in options:
        raise UnsupportedError(f"{who} has no option {option!r}; its options: none")


def _call(function: Callable[..., OpGraph], *arguments: Any, options: dict[str, Any]) -> OpGraph:
    """Call a reader; UnsupportedError for an option or a value that it does not have."""
    hints = {name: (hint, None) for name, hint in get_type_hints(function, include_extras=True).items()}
    names = list(signature(function).parameters)[len(arguments) :]
    check_options(function.__module__, {name: hints.get(name, (Any, None)) for name in names}, options)
    return function(*arguments, **options)

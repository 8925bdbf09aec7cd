"""Where does a graph come from? By name, from a file, or from another library's object."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from placelab import datasets
from placelab.errors import FormatError
from placelab.graph import OpGraph

READERS = {".json": "placelab_json", ".json.gz": "placelab_json"}


def load(what: Any) -> OpGraph:
    """A graph by dataset name, from a file, or from a networkx graph.

    Parameters
    ----------
    what
        Name of a dataset (``placelab.datasets.names()``), a path to a placelab JSON file (``.json``, ``.json.gz``), or a
        networkx DiGraph. An OpGraph is returned as it is.

    Raises
    ------
    FormatError
        Neither of them, or a file that does not hold a graph; the message says what was expected.

    Examples
    --------
    >>> load("topcuoglu").n_ops
    10
    """
    if isinstance(what, OpGraph):
        return what
    if hasattr(what, "is_directed") and not isinstance(what, type):
        return OpGraph.from_networkx(what)
    if not isinstance(what, (str, Path)):
        raise FormatError(
            f"cannot load a {type(what).__name__}; expected a dataset's name, a path or a networkx DiGraph"
        )
    if str(what) in datasets.names():
        return datasets.load(str(what))
    reader = next((module for suffix, module in READERS.items() if str(what).lower().endswith(suffix)), None)
    if reader:
        return import_module(f"placelab.formats.{reader}").read(what)
    if _exists(what):
        raise FormatError(f"{what} has no known format; files end in {' or '.join(READERS)}")
    raise FormatError(f"{str(what)!r:.200} is neither a dataset ({', '.join(datasets.names())}) nor a file that exists")


def _exists(path: str | Path) -> bool:
    try:
        return bool(str(path)) and Path(path).exists()
    except OSError:  # a name that is too long
        return False

"""Load the graphs that come with placelab: those in ``datasets/``, whose README says how each was made.

If onnx is installed, the ``light_…`` models in its package are datasets, too.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from placelab.base.errors import FormatError
from placelab.base.files import shipped
from placelab.costs.roofline import with_estimates
from placelab.formats import placelab_json
from placelab.formats.onnx import model_proto
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import checked

__all__ = [
    "cluster_of",
    "load",
    "names",
    "own_cluster",
    "problem",
]

SUFFIX = ".json.gz"
LIGHT = "backend/test/data/light"  # in the onnx package
LIGHT_LICENCE = "Apache-2.0, as the onnx package that the model is part of"
MAX_DEVICES = 2_000  # of a cluster in a file; its matrices grow with the square


def names() -> list[str]:
    """Names that :func:`load` knows, sorted.

    >>> "dynamic_rnn" in names()
    True
    """
    return sorted(_paths())


def load(name: str) -> OpGraph:
    """Load a dataset by name, with estimated seconds if it only has counted operations; FormatError if there is none.

    >>> load("topcuoglu").n_ops
    10
    """
    paths = _paths()
    if not isinstance(name, str) or name not in paths:
        raise FormatError(f"no dataset is called {name!r}; there are {', '.join(sorted(paths)) or 'none'}")
    return with_estimates(_onnx_model(name, paths[name]) if name in _light() else placelab_json.read(paths[name]))


def problem(name: str) -> Problem:
    """The dataset together with the cluster it is defined on; FormatError if it has none.

    >>> problem("topcuoglu").cluster.names
    ('P1', 'P2', 'P3')
    """
    graph = load(name)
    cluster = own_cluster(graph)
    if cluster is None:
        raise FormatError(f"dataset {name!r} comes without processors: write Problem(graph, cluster) with your own")
    return Problem(graph, cluster)


@checked
def own_cluster(graph: OpGraph) -> Cluster | None:
    """The cluster in a graph's metadata, or None; FormatError if it is malformed or has over 2,000 devices."""
    given = graph.metadata.get("cluster")
    return None if given is None else cluster_of(given, f"the cluster of {graph.title!r}")


def cluster_of(given: Any, what: str) -> Cluster:
    """The cluster whose keyword arguments are in parsed JSON; FormatError, with `what` as its subject, if it is malformed."""
    known = set(Cluster.__dataclass_fields__)
    if not isinstance(given, dict):
        raise FormatError(f"{what} is malformed: expected an object of {', '.join(sorted(known))}, speed at least")
    if unknown := next((key for key in given if key not in known), ""):
        raise FormatError(
            f"{what} is malformed: its key {unknown!r:.60} is unknown; there are {', '.join(sorted(known))}"
        )
    if "speed" not in given:
        raise FormatError(
            f"{what} is malformed: it has no 'speed'; expected the operations/s of each device, as a list"
        )
    if not isinstance(given["speed"], list) or len(given["speed"]) > MAX_DEVICES:
        raise FormatError(f"{what} must have a list of at most {MAX_DEVICES:,} speeds")
    return Cluster(**given)


def _paths() -> dict[str, Path]:
    """Path of each dataset."""
    return _light() | {path.name.removesuffix(SUFFIX): path for path in shipped("datasets").glob(f"*{SUFFIX}")}


def _onnx_model(name: str, path: Path) -> OpGraph:
    graph = model_proto.read(path)
    return graph.replace(metadata=graph.metadata | {"name": name, "licence": LIGHT_LICENCE})


@cache
def _light() -> dict[str, Path]:
    """Paths of the models in the onnx package, which is located without importing it."""
    try:
        found = find_spec("onnx")
    except (ImportError, ValueError):  # a module that is blocked, or was replaced
        found = None
    folders = [] if found is None else found.submodule_search_locations or []
    return {path.stem: path for folder in folders for path in sorted(Path(folder, LIGHT).glob("light_*.onnx"))}

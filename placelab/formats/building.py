"""What readers build a graph with: columns within limits, and the units of files in plain numbers."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from placelab.problem.coverage import with_coverage
from placelab.problem.graph import OpGraph
from placelab.problem.graph_checks import checked

PROCESSORS = 4  # if the file does not give a number
MAX_PROCESSORS = 2_000


def build(names: Sequence[str], compute: Any, edges: Any, *, own: bool = False, **columns: Any) -> OpGraph:
    """Build a graph within the limits on files; arguments are those of :meth:`OpGraph.from_arrays`.

    Its metadata get the ``coverage`` of its costs; those of placelab's own files (`own`) stay as they were written.

    Raises
    ------
    FormatError
        A graph larger than :mod:`placelab.problem.graph_checks` allows, or one that `from_arrays` refuses.
    """
    graph = OpGraph.from_arrays(**checked(names=names, compute=compute, edges=edges, **columns))
    return graph if own else with_coverage(graph)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Pause the collector of cyclic garbage, which takes 40 % of the time of readers that make many objects and no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def unit_metadata(processors: int | None = None) -> dict[str, Any]:
    """Metadata of a graph whose costs are plain numbers: a cluster on which one unit takes one second.

    The cluster has `processors` equal processors, by default `PROCESSORS`, of one operation/s, and links of one byte/s
    without latency. On other clusters the numbers count as operations and bytes.
    """
    k = processors or PROCESSORS
    return {
        "reference_speed": 1.0,
        "costs": {"compute": "units", "unit": "1 s on a processor, or 1 byte over a link of 1 byte/s"},
        "cluster": {
            "speed": [1.0] * k,
            "bandwidth": 1.0,
            "names": [f"P{i + 1}" for i in range(k)],
            "types": ["processor"] * k,
        },
    }

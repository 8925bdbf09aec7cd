"""What readers build a graph with: columns within limits, units in plain numbers, outputs that live in the memory of an input."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from placelab.base.errors import escaped
from placelab.base.fields import one_line
from placelab.base.index_arrays import frozen
from placelab.problem.coverage import with_coverage
from placelab.problem.graph import OpGraph
from placelab.problem.graph_checks import checked

PROCESSORS = 4  # if the file does not give a number
MAX_PROCESSORS = 2_000


def build(names: Sequence[str], compute: Any, edges: Any, *, own: bool = False, **columns: Any) -> OpGraph:
    """Build a graph within the limits on files; arguments are those of :meth:`OpGraph.from_arrays`.

    Its metadata get the ``coverage`` of its costs, and characters of names, kinds and names of groups that are not seen, or that
    turn the text around them, become escapes. What placelab's own files have (`own`) stays as it was written.

    Raises
    ------
    FormatError
        A graph larger than :mod:`placelab.problem.graph_checks` allows, or one that `from_arrays` refuses.
    """
    graph = OpGraph.from_arrays(**checked(names=names, compute=compute, edges=edges, **columns))
    return graph if own else with_escapes(with_coverage(graph))


def with_escapes(graph: OpGraph) -> OpGraph:
    """The graph with escapes for what is not seen in its names, kinds and names of groups, or turns the text around them.

    Names stay as they are where two ops would have the same.
    """
    names = [escaped(name) for name in graph.names.tolist()]
    kinds = [kind if kind.isprintable() else one_line(kind) for kind in graph.kind.tolist()]
    groups = tuple(kind if kind.isprintable() else one_line(kind) for kind in graph.group_names)
    changed: dict[str, Any] = {}
    if names != graph.names.tolist() and len(set(names)) == graph.n_ops:
        changed["names"] = frozen(np.array(names, dtype=object))
    if kinds != graph.kind.tolist():
        changed["kind"] = frozen(np.array(kinds, dtype=object))
    if groups != graph.group_names:
        changed["group_names"] = groups
    return replace(graph, **changed) if changed else graph


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


# -------------------------------------------------------------------- outputs that live in the memory of an input

Out = tuple[int, int]  # op, number of its output


def storages(aliases: Iterable[tuple[Out, Out]], size: Callable[[Out], float]) -> dict[Out, int]:
    """A number for the storage of each output that shares one; the others have a storage of their own.

    Parameters
    ----------
    aliases
        Pairs of an output and the one that lives in it, the pair that makes an output before those that read it.
    size
        Bytes of an output. One that is larger than the storage gets its own: the file is wrong, or the size was not known.

    Examples
    --------
    >>> size = {(0, 0): 8.0, (1, 0): 8.0, (2, 0): 8.0, (3, 0): 9.0}
    >>> storages([((0, 0), (1, 0)), ((1, 0), (2, 0)), ((0, 0), (3, 0))], size.__getitem__)
    {(0, 0): 0, (1, 0): 0, (2, 0): 0}
    """
    storage: dict[Out, int] = {}
    first: list[Out] = []  # output in each storage
    for source, own in aliases:
        held = first[storage[source]] if source in storage else source
        if not 0.0 < size(own) <= size(held):
            continue
        if source not in storage:
            storage[source] = len(first)
            first.append(source)
        storage[own] = storage[source]
    return storage

"""Tell graphs in plain numbers, as most papers on scheduling have them, and give them the units of real machines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from placelab.base.errors import expect
from placelab.costs.origin import provenance
from placelab.problem.cluster import LEAST
from placelab.problem.graph import OpGraph
from placelab.schedule.catalogue import Limits, checked

SPEED, BANDWIDTH = 1e13, 12e9  # operations/s and bytes/s of the preset `uniform`, on which a unit takes `unit` seconds


@checked
def in_seconds(graph: OpGraph, *, unit: Annotated[float, Limits(0, above=True)] = 1e-3) -> OpGraph:
    """Turn plain numbers into seconds, operations and bytes, for clusters in SI units.

    Parameters
    ----------
    graph
        A graph whose costs are plain numbers, as those of papers and of ``.stg`` files; any other is returned as it is.
    unit
        Seconds that a unit of compute takes on a device of 10¹³ operations/s, and a unit of data on a link of 12 GB/s, without
        latency: the preset ``uniform``.

    Returns
    -------
    OpGraph
        All operations times 10¹³ · `unit`, all bytes times 12 · 10⁹ · `unit`, and all measured times times `unit`. Ratios of
        computation to communication stay.

    Examples
    --------
    >>> from placelab import datasets
    >>> graph = in_seconds(datasets.load("topcuoglu"))
    >>> round(float(graph.time[0, 0]), 6), float(graph.edge_bytes[0])
    (0.014, 216000000.0)
    """
    expect(graph, OpGraph, "costs.in_seconds")
    if not counts_plainly(graph):
        return graph
    work, size = SPEED * unit, BANDWIDTH * unit
    said = provenance(graph).get("compute", "units")
    return graph.replace(
        compute=graph.compute * work,
        time=None if graph.time is None else graph.time * unit,
        time_speed=graph.time_speed * SPEED,
        persistent=graph.persistent * size,
        temporary=graph.temporary * size,
        memory=graph.memory * size,
        tensor_bytes=graph.tensor_bytes * size,
        metadata={**graph.metadata, "reference_speed": SPEED, "costs": {"compute": f"{unit:g} s per unit ({said})"}},
    )


def counts_plainly(graph: OpGraph) -> bool:
    """Whether the costs of a graph are plain numbers.

    They are where its metadata say so, or hold a cluster in plain numbers. Where they say nothing, and no times were measured, it
    is the size that tells: no op has a million operations, no tensor a million bytes.
    """
    costs, own = graph.metadata.get("costs"), graph.metadata.get("cluster")
    if costs is not None:
        said = str(costs.get("compute", "") if isinstance(costs, Mapping) else costs)
        return said == "units" or said.startswith("mayer")
    if isinstance(own, Mapping):
        speed = own.get("speed")
        return isinstance(speed, list) and all(isinstance(s, (int, float)) and s < LEAST for s in speed)
    silent = graph.time is None and "reference_speed" not in graph.metadata
    return silent and graph.compute.max(initial=0) < LEAST and graph.tensor_bytes.max(initial=0) < LEAST

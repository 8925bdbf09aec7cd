"""Tell problems in SI units from those in plain numbers, as most papers on scheduling have them.

The one rule: a cluster none of whose devices computes a million operations in a second, none of whose links carries a million
bytes in a second, and none of whose memories holds a million bytes is no machine; its speeds, times and sizes are plain numbers,
written without units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from placelab.base.units import PLAIN, SI, Units

if TYPE_CHECKING:
    from placelab.problem.cluster import Cluster
    from placelab.problem.graph import OpGraph

LEAST = (
    1e6  # operations/s of a device, bytes/s of a link, bytes of a memory: a cluster in SI units has at least one such
)


def units_of(cluster: Cluster) -> Units:
    """How quantities on a cluster are written; what is unlimited says nothing."""
    known = np.concatenate([cluster.speed, cluster.bandwidth.ravel(), cluster.memory])
    return SI if known.max(where=np.isfinite(known), initial=0) >= LEAST else PLAIN


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

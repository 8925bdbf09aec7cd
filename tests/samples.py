"""Small files of each format, for tests and as seeds of tests/fuzz.py: what a reader takes, in as little text as shows all."""

from __future__ import annotations

import placelab as pl
from placelab.formats import placelab_json as own


def placelab_json() -> list[bytes]:
    """A graph with everything a graph can have, and one with almost nothing."""
    full = pl.OpGraph.from_arrays(
        ["a", "scope/b", "c", "d"],
        [1.0, 2.5, 3.0, float("nan")],
        [(0, 1), (0, 2), (0, 3), (1, 3)],
        edge_bytes=[4.0, 4.0, 8.0, 0.0],
        edge_output=[0, 0, 1, 0],
        edge_control=[False, False, False, True],
        outputs=[(3, 0, 16.0)],
        persistent=[1.0, 0.0, 0.0, 2.0],
        temporary=1.0,
        kind=["Const", "MatMul", "Add", ""],
        time={"cpu": [1.0, 2.0, 3.0, 4.0], "gpu": [float("nan"), 1.0, 1.0, 1.0]},
        groups=[[0, 1]],
        group_names=["loc:a"],
        devices={2: ["cpu"]},
        metadata={"name": "full", "cluster": {"speed": [1.0, 2.0], "types": ["cpu", "gpu"]}},
    )
    return [own.dumps(graph).encode() for graph in (full, pl.OpGraph.from_arrays(["only"], [1.0], []))]

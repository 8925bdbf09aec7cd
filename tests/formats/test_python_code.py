"""Problems as code: evaluated, they are the same problem, to the last digit."""

from __future__ import annotations

import numpy as np
import pytest

import placelab as pl
from placelab.formats.python_code import as_code, literal

SPEEDS = [0.1 + 0.2, 6e9]


def again(problem):
    """The problem that the code makes, after the import of placelab alone."""
    names = {"pl": pl}
    exec(as_code(problem), names)
    return names["problem"]


@pytest.mark.parametrize(
    "column",
    [
        dict(persistent=[1.0, 2.0], memory=[0.0, 0.0]),
        dict(memory=[0.1, 0.0]),
        dict(compute=[np.nan, 1 / 3], time={"gpu": [2.5, np.nan]}, time_speed={"gpu": 1e13}),
        dict(outputs=[(0, 7, 4.0)]),
        dict(edge_bytes=[0.1], edge_output=[3]),
    ],
)
def test_columns_of_a_graph_are_kept(column):
    """Also zeros where others would be assumed, unknown costs, tensors that nobody reads."""
    graph = pl.OpGraph.from_arrays(**dict(names=["a", "b"], compute=[1.0, 2.0], edges=[(0, 1)]) | column)
    made = again(pl.Problem(graph, pl.Cluster(SPEEDS, types=["gpu", "gpu"]))).graph
    for label in ("compute", "persistent", "temporary", "memory", "outputs", "tensor_bytes", "edge_bytes"):
        np.testing.assert_array_equal(getattr(made, label), getattr(graph, label))
    assert (made.time is None) == (graph.time is None) and made.time_types == graph.time_types


@pytest.mark.parametrize(
    "column",
    [
        {},
        dict(bandwidth=1 / 3, latency=[[0, 1e-5], [2e-5, 0]]),
        dict(memory=[np.inf, 16e9], names=["it's", 'a "b"'], hosts=["x", "x"]),
        dict(links={"bus": (2.0, [(0, 1), (1, 0)])}),
    ],
)
def test_columns_of_a_cluster_are_kept(column):
    """Those that are as by default are not written."""
    cluster = pl.Cluster(SPEEDS, **column)
    problem = pl.Problem(pl.generators.fork_join(2), cluster, transfers="fair", transfer_ops=0.1, latency="follows")
    made = again(problem)
    assert repr(made.cluster) == repr(cluster) and made.transfer_ops == 0.1 and made.latency == "follows"
    for label in cluster.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(made.cluster, label), getattr(cluster, label))
    assert {label for label in column if f"    {label}=" in as_code(problem)} == set(column)
    assert ("memory=" in as_code(problem).split("pl.Problem")[0]) == ("memory" in column)


def test_values_are_written_without_numpy():
    """Scalars and arrays of numpy are plain numbers and lists."""
    assert literal([np.int32(3), np.float64(0.1), np.array([True]), ("a", None)]) == "[3, 0.1, [True], ['a', None]]"
    assert literal({"x": np.nan}) == "{'x': float('nan')}"

"""networkx graphs with arbitrary attributes give a graph or one sentence (test_graph.py covers their meaning)."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.problem import networkx_graph

ODD = (
    None, True, -1, 0.5, 10**400, float("nan"), float("inf"), 1j, "", "a\nb", "\ud800", b"x", (), [], {}, {"": 1}, {"a": None},
    [1], ["a", 2], {1: 2}, {"o": "p"}, object(), np.zeros((9, 9)), pd.DataFrame({"a": [1, 2]}), np.float32(2), "x" * 10_000,
)  # fmt: skip


def graph(node: dict, edge: dict) -> nx.MultiDiGraph:
    """Two ops, the first with these attributes, and an edge with those."""
    result = nx.MultiDiGraph()
    result.add_node("a", **{"compute": 1, **node})
    result.add_node("b", compute=1)
    result.add_edge("a", "b", **edge)
    return result


@given(
    st.dictionaries(st.sampled_from([*networkx_graph.NODE, "colour"]), st.sampled_from(ODD), max_size=3),
    st.dictionaries(st.sampled_from([*networkx_graph.EDGE, "width"]), st.sampled_from(ODD), max_size=2),
)
def test_whatever_an_attribute_is_only_a_placelab_error_comes_out(node, edge):
    """The message has one line, for values of any length and number of lines."""
    said = ""
    try:
        pl.OpGraph.from_networkx(graph(node, edge))
    except pl.PlacelabError as error:
        said = str(error)
    assert "\n" not in said and len(said) < 500


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([1, "1"], "two ops are called '1'"),
        (["a\nb"], "is not a name"),
        ([frozenset({1}), (1, 2)], None),
        ([""], "is not a name"),
        (["\ud800"], "is not a name"),
    ],
)
def test_nodes_become_names_by_str(nodes, words):
    """Any node of networkx; invalid and repeated names are refused."""
    network = nx.DiGraph()
    network.add_nodes_from(nodes, compute=1)
    if words is None:
        assert pl.OpGraph.from_networkx(network).names.tolist() == [str(node) for node in nodes]
        return
    with pytest.raises(pl.FormatError, match=words):
        pl.OpGraph.from_networkx(network)


def test_cycles_and_loops_are_cycle_errors():
    """The error names their ops."""
    network = nx.DiGraph([("a", "b"), ("b", "c"), ("c", "a")])
    nx.set_node_attributes(network, 1, "compute")
    with pytest.raises(pl.CycleError, match="has a cycle"):
        pl.OpGraph.from_networkx(network)


def test_attributes_of_the_graph_are_metadata():
    """They are kept unchanged; keys that are not text are left out."""
    network = graph({}, {})
    network.graph.update({"name": "n", 3: "left out", "licence": "MIT"})
    assert pl.OpGraph.from_networkx(network).metadata == {"name": "n", "licence": "MIT"}


def test_a_plain_number_of_seconds_holds_on_every_device():
    """Beside compute and beside times of device types; zero is a time, too; written and read again it is the same."""
    network = nx.DiGraph()
    network.add_node("a", time=2.0)
    network.add_node("b", time=0)
    network.add_node("c", time={"gpu": 4.0, "cpu": 8.0})
    network.add_node("d", time=np.float32(0.5), compute=9.0)
    network.add_edge("a", "b", bytes=3)
    graph = pl.OpGraph.from_networkx(network)
    again = pl.OpGraph.from_networkx(graph.to_networkx())
    for each in (graph, again):
        problem = pl.Problem(each, pl.Cluster([1.0, 3.0], types=["gpu", "cpu"]))
        times = [[problem.exec_time(v, d) for d in range(2)] for v in range(4)]
        assert times == [[2.0, 2.0], [0.0, 0.0], [4.0, 8.0], [0.5, 0.5]]
    plain = pl.OpGraph.from_networkx(network.subgraph(["a", "b"]))
    assert pl.solve(pl.Problem(plain, pl.Cluster.uniform(2))).makespan == 2.0
    for wrong in (True, "2 s", -1.0):
        network.add_node("a", time=wrong)
        with pytest.raises(pl.FormatError, match="time"):
            pl.OpGraph.from_networkx(network)

"""Files of networkx: node-link JSON, GraphML, and hostile XML."""

from __future__ import annotations

import gzip
import json

import fuzz
import networkx as nx
import pytest
import samples
from problems import many

import placelab as pl
from placelab.formats.task_graphs import networkx_files
from placelab.graphs import loading

OWN, PLAIN, GRAPHML = samples.networkx_files()


@pytest.mark.parametrize("key", ["links", "edges"])
def test_what_networkx_writes_is_the_graph(key):
    """Every column, for random graphs, under both names of the list of edges."""
    for problem in many(20, seed=8):
        graph = problem.graph
        text = json.dumps(nx.node_link_data(graph.to_networkx(), edges=key))
        again = loading.loads(text.encode(), "g.json")
        assert again.names.tolist() == graph.names.tolist() and again.edges.tolist() == graph.edges.tolist()
        for column in ("compute", "tensor_bytes", "persistent", "temporary", "tensor_control"):
            assert getattr(again, column).tolist() == getattr(graph, column).tolist(), column
        assert again.kind.tolist() == graph.kind.tolist() and again.group_names == graph.group_names


def test_dialects_are_those_of_dot():
    """Weights are plain numbers; a duration beside them is not read, and said."""
    graph = loading.loads(PLAIN, "g.json")
    assert graph.compute.tolist() == [0, 1, 2] and graph.edge_bytes.tolist() == [2, 0.5]
    assert graph.metadata["costs"]["ignored"] == {"duration of a node": 3}
    assert dict(pl.costs.sources(graph))["not read"] == "duration of a node × 3"
    own = loading.loads(OWN, "g.json")
    assert own.names.tolist() == ["a", "2"] and own.time.tolist()[0] == [0.5] and own.title == "own"
    assert own.tensor_control.tolist() == [False, True]


@pytest.mark.parametrize("data", [GRAPHML, b"\n" + GRAPHML[39:], b"\xef\xbb\xbf" + GRAPHML, gzip.compress(GRAPHML)])
def test_graphml_is_read(data):
    """Types, defaults, parallel edges, JSON in a text."""
    graph = loading.loads(data, "g.graphml")
    assert graph.names.tolist() == ["a", "b"] and graph.compute.tolist() == [1000, 2]
    assert sorted(graph.edge_bytes.tolist()) == [3, 8] and graph.time_types == ("cpu",)


def test_graphml_that_networkx_writes_is_the_graph(tmp_path):
    """Plain attributes, from its own writer."""
    given = nx.DiGraph()
    given.add_node("x", compute=2.5, kind="MatMul", persistent=7)
    given.add_node("y", compute=1.0)
    given.add_edge("x", "y", bytes=12)
    nx.write_graphml(given, tmp_path / "g.graphml")
    graph = pl.load(tmp_path / "g.graphml")
    assert (graph.compute.tolist(), graph.edge_bytes.tolist()) == ([2.5, 1.0], [12]) and graph.persistent[0] == 7


def changed(**changes):
    return json.dumps(json.loads(PLAIN) | changes).encode()


HOSTILE = {
    "undirected": (changed(directed=False), "it is an undirected graph"),
    "no direction": (
        json.dumps({k: v for k, v in json.loads(PLAIN).items() if k != "directed"}).encode(),
        "undirected",
    ),
    "ids twice": (changed(nodes=[{"id": 1, "weight": 1}, {"id": "1", "weight": 1}]), "two nodes have the id '1'"),
    "no id": (changed(nodes=[{"weight": 1}]), "id of node 0 is None"),
    "an end that is none": (changed(edges=[{"source": 0, "target": 9}]), "the end '9', which is not the id of a node"),
    "no costs": (
        changed(nodes=[{"id": 0, "duration": 1}], edges=[]),
        "no node has a cost: .* not read: duration of a node × 1",
    ),
    "a bad cost": (changed(nodes=[{"id": 0, "weight": [1]}], edges=[]), "expected a number"),
    "a negative cost": (changed(nodes=[{"id": 0, "weight": -1}], edges=[]), "weight of op '0' is -1"),
    "a cycle": (changed(edges=[{"source": 0, "target": 1}, {"source": 1, "target": 0}]), "cycle"),
    "another root": (b"<gexf/>", "its first element is 'gexf'; expected 'graphml'"),
    "entities": (b'<!DOCTYPE g [<!ENTITY a "b">]><graphml/>', "declares a document type or entities"),
    "no graph": (b"<graphml/>", "it has 0 graphs"),
    "a graph in a node": (GRAPHML.replace(b"</node>", b"<graph/></node>", 1), "it has 2 graphs"),
    "undirected GraphML": (GRAPHML.replace(b'"directed"', b'"undirected"'), "it is an undirected graph"),
    "a key that is none": (GRAPHML.replace(b'data key="d1"', b'data key="d9"'), "networkx cannot read it"),
    "a number that is none": (GRAPHML.replace(b">1e3<", b">big<"), "networkx cannot read it"),
    "a million deep": (b"<graphml>" + b"<a>" * 1_000_000, "nests more than 100 elements"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_sentence(name):
    """The error names the file and what was found, and reading takes little memory."""
    data, words = HOSTILE[name]
    before = fuzz.peak()
    with pytest.raises(pl.PlacelabError, match=words) as refusal:
        networkx_files.loads(data, "h.graphml")
    assert fuzz.peak() - before < 200 << 20
    assert str(refusal.value).startswith("h.graphml: ") and "\n" not in str(refusal.value)

"""Graphs, clusters and problems at the end of a cell: the numbers of the library, safely and briefly."""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import HOSTILE, cells, find, html_of, read, words

import placelab as pl
from placelab.pictures.problem_cells import layers
from placelab.pictures.style import PALETTE, columns_of, kind_colours, text


def facts(shown):
    """Two-column rows of all tables."""
    return {row[0]: row[1] for row in cells(read(shown)) if len(row) == 2}


def test_a_graph_tells_its_sizes():
    """Ops, edges, tensors, bytes, layers, groups; control edges apart."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c", "d"],
        [1e9, 2e9, 0, 1e9],
        [(0, 1), (0, 2), (1, 3), (2, 3)],
        edge_bytes=[5e6, 5e6, 1e6, 0],
        edge_output=[0, 0, 0, 0],
        edge_control=[False, False, False, True],
        persistent=[0, 3e6, 0, 0],
        kind=["MatMul", "MatMul", "Add", "Add"],
        time={"gpu": [1.0, 1.0, 1.0, 1.0]},
        groups=[[0, 1]],
        devices={2: ["gpu"]},
        metadata={"name": "diamond"},
    )
    assert words(read(graph)).startswith("diamond · 4 ops · 4 edges")
    assert facts(graph) == {
        "": "",
        "layers": "3, the widest of 2 ops",
        "edges": "4, 1 of them control",
        "tensors": "2, 6 MB",
        "parameters": "3 MB",
        "compute": "4 GFLOP",
        "times for": "gpu",
        "colocation": "1 group of 2 ops",
        "only some devices": "1 op",
    }
    kinds = [row for row in cells(read(graph)) if len(row) == 4]
    assert kinds[1:] == [["MatMul", "2", "3 GFLOP", "75 %"], ["Add", "2", "1 GFLOP", "25 %"]]


def test_rare_kinds_share_a_row():
    """Seven kinds and the rest, whose sum is right."""
    graph = pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(12)], np.arange(12.0), [], kind=[f"k{v:02}" for v in range(12)]
    )
    rows = [row for row in cells(read(graph)) if len(row) == 4][1:]
    assert [row[0] for row in rows] == [*(f"k{v:02}" for v in range(11, 4, -1)), "5 more kinds"]
    assert rows[-1][1:3] == ["5", "10"]


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40))
def test_layers_are_longest_paths(pairs):
    """Against networkx, for any graph; edges may be given in any order."""
    edges = [(a, b) for a, b in pairs if a < b]
    graph = pl.OpGraph.from_arrays([f"op{v}" for v in range(12)], 1.0, edges)
    other = nx.DiGraph(graph.edges.tolist())
    other.add_nodes_from(range(12))
    generations = {v: i for i, ops in enumerate(nx.topological_generations(other)) for v in ops}
    assert layers(graph).tolist() == [generations[v] for v in range(12)]


def test_the_drawing_of_layers_has_heights_by_root():
    """Of layers of 1 and 4 ops the second is twice as high; of 5 and 4 FLOP it has 0.894 of the height."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c", "d", "e"], [5.0, 1, 1, 1, 1], [(0, v) for v in range(1, 5)], kind=["A", "B", "B", "B", "B"]
    )
    colour, kinds = kind_colours(graph)
    assert kinds[colour[0]] == "A"
    assert kinds[colour[1]] == "B"
    paths = {path.get("stroke"): path.get("d") for path in find(read(graph), "path")}
    spans = {c: [tuple(map(int, found)) for found in re.findall(r"M(\d+) (\d+)v(\d+)", d)] for c, d in paths.items()}
    assert spans == {PALETTE[0]: [(0, 22, 22), (0, 45, 44)], PALETTE[1]: [(1, 0, 44), (1, 45, 39)]}


@pytest.mark.parametrize("n_ops", [1, 20_000])
def test_a_graph_is_small_in_any_form(n_ops):
    """A chain, and ops without edges, of many kinds: at most 100 KB, see :func:`pictures.read`."""
    rng = np.random.default_rng(0)
    kinds = [f"kind{i}" for i in rng.integers(0, 12, n_ops)]
    for edges in ([], np.stack([np.arange(n_ops - 1), np.arange(1, n_ops)], axis=1)):
        graph = pl.OpGraph.from_arrays([f"op{v}" for v in range(n_ops)], rng.uniform(0, 1, n_ops), edges, kind=kinds)
        read(graph)
        read(pl.Problem(graph, pl.Cluster.uniform(2)))


def test_a_graph_without_ops_or_compute():
    """Nothing to draw, or nothing to divide by; sums that no float can hold."""
    assert "0 ops" in words(read(pl.OpGraph.from_arrays([], [], [])))
    for compute in (0.0, [np.nan, np.nan], 1.7e308):
        graph = pl.OpGraph.from_arrays(["a", "b"], compute, [], kind=["A", "B"], time={"gpu": [1.0, 2.0]})
        assert facts(graph)["compute"] in ("0 FLOP", "∞")


def test_a_cluster_draws_each_device_and_link():
    """Names, speeds, memory; a table of bandwidths with latencies as tooltips, darkest where greatest."""
    cluster = pl.Cluster.from_hosts(
        {"a": 2, "b": 1}, speed=1e13, memory=[16e9, 16e9, None], inside=(300e9, 5e-6), between=(12e9, 50e-6)
    )
    root = read(cluster)
    assert words(root).startswith("3 devices · 2 hosts · 30 TFLOP/s in all · links 12 GB/s – 300 GB/s, 5 µs – 50 µs")
    assert words(root).count("16 GB") == 2
    assert "unlimited memory" in words(root)
    assert cells(root) == [
        ["from \\ to", *cluster.names],
        ["a/gpu:0", "–", "300 GB/s", "12 GB/s"],
        ["a/gpu:1", "300 GB/s", "–", "12 GB/s"],
        ["b/gpu:0", "12 GB/s", "12 GB/s", "–"],
    ]
    tips = {span.get("title"): span.get("style") for span in find(root, "span") if span.get("title")}
    assert "rgba(0,114,178,0.50)" in tips["a/gpu:0 → a/gpu:1: 5 µs"]
    assert "rgba(0,114,178,0.08)" in tips["a/gpu:0 → b/gpu:0: 50 µs"]


def test_equal_links_need_no_table():
    """The heading says it; one device has none."""
    root = read(pl.Cluster.uniform(4, bandwidth=12e9, latency=50e-6))
    assert "links 12 GB/s, 50 µs" in words(root)
    assert cells(root) == []
    assert "no links" in words(read(pl.Cluster.uniform(1)))
    assert "∞" in words(read(pl.Cluster([1.0, 1.0], bandwidth=np.inf)))


def test_many_devices_are_drawn_by_host():
    """Equal hosts once, with the number of their devices; bandwidths between hosts, or their range where there are many."""
    root = read(
        pl.Cluster.from_hosts({f"h{i}": 8 for i in range(6)}, memory=16e9, inside=(300e9, 0), between=(12e9, 0))
    )
    assert "6 hosts: h0 … h5" in words(root)
    assert "8 × gpu" in words(root)
    assert cells(root)[1] == ["h0", "300 GB/s", *["12 GB/s"] * 5]
    root = read(pl.Cluster.from_hosts({f"h{i}": 2 for i in range(100)}, inside=(300e9, 0), between=(12e9, 1e-6)))
    assert cells(root)[1:] == [["within a host", "300 GB/s", "0 s"], ["between hosts", "12 GB/s", "1 µs"]]


def test_names_of_strangers_are_text():
    """Names of hosts, devices, types, kinds, groups and graphs, at most 100 KB; see :func:`pictures.read`."""
    few = [f"{name}{i}" for i, name in enumerate(HOSTILE)]
    for names in (few, [f"{name}{i}" for i in range(25) for name in HOSTILE]):
        k = len(names)
        rng = np.random.default_rng(0)
        cluster = pl.Cluster(
            np.arange(1.0, k + 1),
            bandwidth=rng.uniform(1, 9, (k, k)),
            names=names,
            types=names,
            hosts=[*few * (k // 8)],
        )
        assert "<script>alert(1)</script>0" in words(read(cluster))
        graph = pl.OpGraph.from_arrays(
            names, 1.0, [], kind=names, time={name: np.ones(k) for name in few}, metadata={"name": HOSTILE[1]}
        )
        assert HOSTILE[1] in words(read(graph))
        assert HOSTILE[1] in words(read(pl.Problem(graph, cluster)))


def test_a_problem_tells_its_rules():
    """Models, groups, restrictions, Send ops, and the best device alone."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 2.0, 3.0], [(0, 1)], edge_bytes=[1.0])
    problem = pl.Problem(
        graph,
        pl.Cluster([1.0, 2.0], memory=8.0),
        transfers="sequential",
        duplex=True,
        transfer_ops=5,
        groups=[["a", "b"]],
    )
    assert words(read(problem)).startswith("this graph on 2 devices · 3 ops · 3 on dev1 alone")
    rows = facts(problem)
    assert rows["memory"] == "dynamic: parameters always, outputs while they are needed"
    assert rows["transfers"].startswith("sequential, duplex: one at a time")
    assert rows["Send, Receive"] == "ops of 5 each"
    assert rows["colocation"] == "1 group, the largest of 2 ops"
    assert "latency" not in rows
    assert facts(problem.replace(latency="follows"))["latency"].startswith(
        "follows: it occupies it for bytes / bandwidth"
    )
    pinned = problem.pin({"c": "dev0"})
    assert facts(pinned)["only one device"] == "1 op"
    assert "6 on dev0 alone" in words(read(pinned))


def test_the_same_thing_shows_the_same():
    """Notebooks compare outputs: made again, the text is the same to the last byte."""
    make = (
        lambda: pl.generators.layered(300, seed=1),
        lambda: pl.clusters.mayer50(seed=1),
        lambda: pl.Problem(pl.generators.layered(300, seed=1), pl.clusters.two_nodes()),
    )
    for thing in make:
        assert html_of(thing()) == html_of(thing())


def test_text_is_cut_in_its_middle_to_columns():
    """Beginning and end of a name stay; wide characters count twice."""
    assert text("/job:worker/task:0/device:GPU:0", 16) == "/job:wo…ce:GPU:0"
    assert text("short") == "short"
    for name in (*HOSTILE, "漢" * 9 + "a"):
        assert columns_of(re.sub("&[a-z0-9#]+;", "&", text(name, 11))) <= 11

"""DOT: three dialects of costs, the part of the language that describes graphs, round trips, hostile files."""

from __future__ import annotations

import numpy as np
import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st
from problems import many

import placelab as pl
from placelab.formats.task_graphs import dot
from placelab.graphs.datasets import own_cluster


def edges(graph) -> dict[tuple[str, str], float]:
    """Bytes of each edge by the names of its ends; -1 for control."""
    size = np.where(graph.tensor_control, -1, graph.tensor_bytes)[graph.edge_tensor]
    return {(graph.names[u], graph.names[v]): x for (u, v), x in zip(graph.edges.tolist(), size, strict=True)}


def test_placelabs_own_attributes():
    """They are documented in networkx_graph."""
    graph = dot.loads(samples.dot()[0])
    assert graph.compute.tolist() == [1000, 2] and graph.kind[0] == "MatMul" and graph.persistent[0] == 4
    assert graph.device_sets == (("cpu",),) and graph.group_names == ("g",) and graph.time_types == ("cpu",)
    assert graph.n_edges == 2 and graph.tensor_control.tolist() == [False, True]


def test_weights_are_units_and_bring_a_cluster_of_units():
    """Two ops on one device take five seconds."""
    graph = dot.loads(samples.dot()[1])
    assert graph.compute.tolist() == [2, 3] and edges(graph) == {("a", "b"): 1}
    assert pl.solve(pl.Problem(graph, own_cluster(graph)), "heft", "planned").makespan == 5


def test_simgrids_sizes_are_operations_and_bytes():
    """Root and end need no size; an edge of size -1, or without one, only orders."""
    graph = dot.loads(samples.dot()[2])
    assert dict(zip(graph.names, graph.compute, strict=True)) == {"1": 1e9, "root": 0, "end": 0}
    assert edges(graph) == {("root", "1"): -1, ("1", "end"): 8e6, ("root", "end"): -1}
    assert "cluster" not in graph.metadata


def test_the_language():
    """Defaults, subgraphs as ends, ports, chains, quoted and joined names, HTML, comments, keywords in any case."""
    graph = dot.loads(samples.dot()[3])
    assert dict(zip(graph.names, graph.compute, strict=True)) == dict.fromkeys(["e", "a", "b", "c", "d", 'quo"ted', "concat"], 1) | {"f": 4}  # fmt: skip # noqa: E501
    assert edges(graph) == dict.fromkeys([("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"), ("e", 'quo"ted'), ('quo"ted', "concat")], 2)  # fmt: skip # noqa: E501
    assert graph.title == "two words"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "digraph { node [cost=1] a; node [cost=2] b; subgraph { node [cost=3] c } d }",
            {"a": 1, "b": 2, "c": 3, "d": 2},
        ),
        ("digraph { { node [cost=5] a } -> b [cost=9] b [cost=1] }", {"a": 5, "b": 1}),
        ("DIGRAPH{a[COST=1]}", {"a": 1}),
        ("digraph { a [cost=1]; a [cost=2, color=blue]; }", {"a": 2}),
        ("digraph { cost=7; a [cost=1] }", {"a": 1}),
        ('digraph { "a b" [cost=".5"] ; é_1 [cost=2.]; -3 [cost=1] }', {"a b": 0.5, "é_1": 2, "-3": 1}),
        ('digraph { "lin\\\ned" [cost=1] }', {"lined": 1}),
    ],
)
def test_which_cost_a_node_gets(text, expected):
    """Its own attribute, else the default at the place of its first mention."""
    graph = dot.loads(text.encode())
    assert dict(zip(graph.names, graph.compute, strict=True)) == expected


def test_a_text_in_many_pieces_is_one_text():
    """Quoted pieces joined by plus signs, in any number."""
    pieces = " + ".join(['"a"'] * 100_000)
    assert dot.loads(f"digraph {{ {pieces} [compute=1] }}".encode()).names.tolist() == ["a" * 100_000]


def test_strict_graphs_have_one_edge_between_two_nodes():
    """Other graphs may have several."""
    body = b"digraph { node [cost=1] a -> b [cost=3]; a -> b [cost=4] }"
    assert (dot.loads(body).n_edges, dot.loads(b"strict " + body).n_edges) == (2, 1)


def test_round_trip_is_exact():
    """Every column and the metadata come back bit for bit."""
    for problem in many(150, seed=5):
        again = dot.loads(dot.dumps(problem.graph).encode())
        for label in problem.graph.__dataclass_fields__:
            read = getattr(again, label)
            written = getattr(problem.graph, label)
            if isinstance(written, np.ndarray):
                np.testing.assert_array_equal(read, written, err_msg=label)
            else:
                assert read == written


@given(st.text(min_size=1), st.text())
def test_any_name_is_written_and_read_again_or_refused(name, kind):
    """Quotes, backslashes, brackets, spaces, in names and in metadata."""
    try:
        graph = pl.OpGraph.from_arrays([name], [1.0], [], kind=[kind], metadata={"name": "x", "note": [name, kind]})
        text = dot.dumps(graph)
        data = text.encode()
    except (pl.FormatError, UnicodeEncodeError):
        return
    again = dot.loads(data)
    assert again.names.tolist() == [name] and again.metadata == graph.metadata and again.kind.tolist() == [kind]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "the end of the file; expected a digraph"),
        ("graph { a -- b }", "undirected; expected a digraph"),
        ("digraph { a -- b }", "'--' after a statement"),
        ("digraph {", "the end of the file after a statement"),
        ("digraph {}", "has no nodes"),
        ("digraph { a }", "no node has a cost"),
        ("digraph { a [compute=1]; b [compute=1]; a -> b [weight=4] }", "edge 'a' → 'b' has weight; .* is called bytes"),
        ("digraph { a [cost=1]; b [cost=1]; a -> b [bytes=4] }", "edge 'a' → 'b' has bytes; .* is called cost"),
        ("digraph { a [compute=1, bytes=4] }", "op 'a' has bytes, which does not count beside compute"),
        ("digraph { a [size=1, weight=4] }", "op 'a' has weight, which does not count beside size"),
        ("digraph { a [cost=1]; b }", "op 'b' has no cost, but other ops have one"),
        ("digraph { a [cost=x] }", "cost of op 'a' is 'x'; expected a number"),
        ("digraph { a [cost=-1] }", "cost of op 'a' is -1; expected a finite number"),
        ("digraph { a [cost=1e999] }", "cost of op 'a' is 1e999; expected a finite number"),
        ("digraph { a [cost=12ab] }", "'12ab] }' is not a name"),
        ('digraph { a [cost="1e999"] }', "cost of op 'a' is 1e999; expected a finite number"),
        ('digraph { a [cost="nan"] }', "cost of op 'a' is nan"),
        ("digraph { a [cost=1] a -> b -> a }", "op 'b' has no cost"),
        ("digraph { node [cost=1] a -> b -> a }", "has a cycle"),
        ("digraph { node [cost=1] a -> a }", "consumes its own output"),
        ("digraph { a -> }", "'->' without a node after it"),
        ("digraph { -> a }", "'->' without a node before it"),
        ("digraph { [cost=1] }", r"'\[' without a node or edge"),
        ("digraph { a [cost", "the end of the file after"),
        ("digraph {\n\n a [cost=] }", "line 3: ']' after '='; expected a name"),
        ('digraph { "a }', "line 1: '\"a }' is not a name"),
        ("digraph { <a }", "'<' without its '>'"),
        ("digraph { /* a }", "is not a name"),
        ("digraph { a [cost=1] } }", "something follows the end"),
        ("digraph { node }", r"'}' after node; expected '\['"),
        ("digraph { subgraph x }", "after subgraph; expected '{'"),
        ("digraph { strict }", "'strict' inside a graph"),
        ("digraph {" + "{" * 200 + "}" * 200 + "}", "over 100 subgraphs inside each other"),
        ("digraph {" + "{" * 1_000_000, "over 100 subgraphs inside each other"),
        ("digraph { node [cost=1] {%s} -> {%s} }", "there are over 200,000 edges"),
        pytest.param(
            "digraph { a [cost=1]; b [cost=1]; " + "a -> b;" * 200_001 + "}",
            "there are over 200,000 edges",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "digraph {" + ";" * 4_000_001, "there are over 4,000,000 names and marks", marks=pytest.mark.slow
        ),
        ('digraph { a [compute=1, time="[[["] }', "time of op 'a' is not JSON"),
        ('digraph { a [compute=1, time="[3]"] }', r"time of op 'a' is \[3\]"),
        ('digraph { a [compute=1, devices="{}"] }', "devices of op 'a'"),
        ('digraph { metadata="[]"; a [compute=1] }', "metadata is a list; expected an object"),
        ('digraph { a [compute=1]; b [compute=1]; a -> b [bytes=1 tensor=0]; a -> b [bytes=2 tensor=0] }', "must agree"),
        ('digraph { "a\nb" [compute=1] }', "is not a name"),
        ("\ufeffdigraph { a\x00 }", "is not a name"),
    ],
)  # fmt: skip
def test_files_that_are_none_say_what_was_found(text, words):
    """The error is one line that begins with the file's name."""
    if "%s" in text:
        text %= " ".join(f"a{i}" for i in range(500)), " ".join(f"b{i}" for i in range(500))
    with pytest.raises(pl.PlacelabError, match=words) as caught:
        dot.loads(text.encode(), "bad.dot")
    assert str(caught.value).startswith("bad.dot") and "\n" not in str(caught.value)


def test_a_weight_may_say_how_to_draw():
    """If edges also have costs, weight is Graphviz's attribute."""
    g = dot.loads(
        b"digraph { a [compute=1]; b [compute=1]; a -> b [bytes=3, weight=2] b -> c [weight=9] c [compute=1] }"
    )
    assert g.edge_bytes.tolist() == [3, 0]

"""OpGraph: the order of ops, tensors and edges, and refused input."""

import warnings
from random import Random

import numpy as np
import pytest
from problems import many

import placelab as pl
from placelab.problem import graph_json

DIAMOND = [(0, 1), (0, 2), (1, 3), (2, 3)]


def graph(**columns):
    return pl.OpGraph.from_arrays(["a", "b", "c", "d"], [1, 2, 3, 4], DIAMOND, **columns)


def test_ops_are_numbered_topologically_and_otherwise_keep_their_order():
    """Among ready ops, the one given first comes first."""
    g = pl.OpGraph.from_arrays(["sink", "x", "b", "a"], [1, 1, 1, 1], [(3, 0), (2, 0)])
    assert g.names.tolist() == ["x", "b", "a", "sink"]
    again = pl.OpGraph.from_arrays(g.names, g.compute, g.edges)
    assert again.names.tolist() == g.names.tolist()


def test_any_order_of_input_gives_the_same_edges():
    """Shuffling the edges changes nothing: they are sorted by (tensor, consumer)."""
    for problem in many(200):
        g = problem.graph
        order = Random(1).sample(range(g.n_edges), g.n_edges)
        local = np.arange(g.n_tensors) - g.op_tensor_ptr[g.tensor_producer]
        unused = np.flatnonzero((np.diff(g.tensor_ptr) == 0) & ~g.tensor_control)
        shuffled = pl.OpGraph.from_arrays(
            g.names,
            g.compute,
            g.edges[order],
            edge_bytes=g.edge_bytes[order],
            edge_output=local[g.edge_tensor[order]],
            edge_control=g.tensor_control[g.edge_tensor[order]],
            outputs=[(g.tensor_producer[t], local[t], g.tensor_bytes[t]) for t in unused],
        )
        np.testing.assert_array_equal(shuffled.edges, g.edges)
        np.testing.assert_array_equal(shuffled.edge_bytes, g.edge_bytes)


def test_bytes_of_control_edges_are_dropped_with_a_warning():
    """Unless they are 0, or one number for all edges."""
    given = dict(names=["a", "b", "c"], compute=1.0, edges=[(0, 1), (1, 2)], edge_control=[False, True])
    with pytest.warns(UserWarning, match=r"those of 1 edges, 'b' → 'c' first, are dropped"):
        assert pl.OpGraph.from_arrays(**given, edge_bytes=[5.0, 5.0]).edge_bytes.tolist() == [5.0, 0.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in ([5.0, 0.0], 5.0):
            assert pl.OpGraph.from_arrays(**given, edge_bytes=size).edge_bytes.tolist() == [5.0, 0.0]


def test_index_structures_agree_with_the_edge_list():
    """Successors, predecessors, tensors and distinct successors list each edge exactly once."""
    for problem in many(200):
        g = problem.graph
        pairs = [tuple(edge) for edge in g.edges.tolist()]
        assert pairs == [(u, g.consumer[e]) for u in range(g.n_ops) for e in range(g.succ_ptr[u], g.succ_ptr[u + 1])]
        entering = [(g.producer[e], v) for v in range(g.n_ops) for e in g.pred_edge[g.pred_ptr[v] : g.pred_ptr[v + 1]]]
        assert sorted(pairs) == sorted(entering)
        ptr, op, count = g.successors
        assert {(v, op[i]): count[i] for v in range(g.n_ops) for i in range(ptr[v], ptr[v + 1])} == {
            pair: pairs.count(pair) for pair in set(pairs)
        }
        assert all(u < v for u, v in pairs)


def test_edges_of_one_output_are_one_tensor():
    """Two consumers of one output read one tensor; without output numbers every edge has its own."""
    assert graph(edge_bytes=[5, 5, 1, 1], edge_output=[0, 0, 0, 0]).n_tensors == 3
    assert graph(edge_bytes=[5, 5, 1, 1]).n_tensors == 4


def test_control_edges_of_an_op_share_one_empty_tensor():
    """A control edge is a 0-byte tensor of its producer, whatever bytes it is given."""
    g = graph(edge_bytes=9, edge_control=[True, True, False, False])
    assert g.tensor_control.tolist() == [True, False, False]
    assert g.tensor_bytes.tolist() == [0, 9, 9]


def test_an_op_may_read_a_tensor_twice():
    """Both edges stay, adjacent, on one tensor."""
    g = pl.OpGraph.from_arrays(["a", "square"], [1, 1], [(0, 1), (0, 1)], edge_bytes=[3, 3], edge_output=[0, 0])
    assert (g.n_edges, g.n_tensors, g.outputs.tolist()) == (2, 1, [3, 0])


def test_groups_that_share_an_op_are_one_group():
    """The relation is transitive; the first group gives its name."""
    g = graph(groups=[[0, 1], [2, 3], [1, 2]], group_names=["x", "y", "z"])
    assert g.group.tolist() == [0, 0, 0, 0]
    assert g.group_names == ("x",)


def test_arrays_are_read_only():
    """A graph in use cannot change."""
    with pytest.raises(ValueError, match="read-only"):
        graph().compute[0] = 7


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: graph(edge_bytes=[1, 2]), pl.FormatError, r"edge_bytes has shape \(2,\), expected \(4,\)"),
        (lambda: graph(edge_bytes=[1, 2, 3, 4], edge_output=[0, 0, 0, 0]), pl.FormatError, "output 0 of op 'a' has"),
        (lambda: graph(persistent=[0, -1, 0, 0]), pl.FormatError, "persistent of op 'b' is -1 bytes"),
        (lambda: graph(temporary=[0, 0, np.nan, 0]), pl.FormatError, "temporary of op 'c' is nan bytes"),
        (lambda: graph(edge_bytes=np.inf), pl.FormatError, "an output of op 'a' is inf bytes"),
        (lambda: graph(time={"gpu": [1, 1, 1, -2]}), pl.FormatError, "time on gpu of op 'd' is -2 seconds"),
        (lambda: pl.OpGraph.from_arrays(["a", "a"], [1, 1], []), pl.FormatError, "two ops are called 'a'"),
        (lambda: pl.OpGraph.from_arrays(["a", ""], [1, 1], []), pl.FormatError, "op name '' is not a name"),
        (lambda: pl.OpGraph.from_arrays(["a", "b"], [1, np.nan], []), pl.FormatError, "compute of op 'b' is nan"),
        (lambda: pl.OpGraph.from_arrays(["a"], ["x"], []), pl.FormatError, "compute must be numbers"),
        (
            lambda: pl.OpGraph.from_arrays(["a", "b"], [1, 1], [(0, 2)]),
            pl.FormatError,
            "refers to op 2, but there are 2",
        ),
        (lambda: pl.OpGraph.from_arrays(["a"], [1], [(0, 0)]), pl.CycleError, "op 'a' consumes its own output"),
        (
            lambda: pl.OpGraph.from_arrays(["a", "b", "c"], [1] * 3, [(0, 1), (1, 2), (2, 0)]),
            pl.CycleError,
            "cycle: 'c' → 'a' → 'b' → 'c'",
        ),
        (lambda: graph().index("e"), pl.FormatError, "no op is called 'e'"),
    ],
)
def test_bad_input_is_one_sentence_that_names_the_op(make, error, words):
    """Each kind of invalid graph has its own error."""
    with pytest.raises(error, match=words) as caught:
        make()
    assert "\n" not in str(caught.value)


def test_an_unknown_op_is_answered_with_the_closest():
    """The error suggests the most similar name."""
    with pytest.raises(pl.FormatError, match="did you mean 'conv1/weights'"):
        pl.OpGraph.from_arrays(["conv1/weights"], [1], []).index("conv1/weigths")


def test_networkx_and_back_is_the_same_graph():
    """Every attribute survives, for graphs with several outputs, groups, device sets, times and control edges."""
    for problem in many(300, seed=1):
        again = pl.OpGraph.from_networkx(problem.graph.to_networkx())
        assert graph_json.dumps(again) == graph_json.dumps(problem.graph)


def test_networkx_parallel_edges_become_a_multigraph():
    """The result is a DiGraph if that can hold the graph, else a MultiDiGraph."""
    twice = pl.OpGraph.from_arrays(["a", "b"], [1, 1], [(0, 1), (0, 1)])
    assert twice.to_networkx().is_multigraph()
    assert not graph().to_networkx().is_multigraph()


def test_networkx_bad_attributes_are_named():
    """A misspelt attribute, a missing cost and a wrong type are errors, not ignored."""
    import networkx as nx

    bad = {"compute": "much"}, {"flops": 1}, {}, {"compute": 1, "group": 3}, {"compute": 1, "devices": {"gpu": 1}}
    words = (
        "compute of op 'n' is 'much'",
        "attribute 'flops'",
        "neither compute",
        "group of op 'n' is 3",
        "devices of op 'n'",
    )
    for attributes, expected in zip(bad, words, strict=True):
        g = nx.DiGraph()
        g.add_node("n", **attributes)
        with pytest.raises(pl.FormatError, match=expected):
            pl.OpGraph.from_networkx(g)
    with pytest.raises(pl.FormatError, match="needs a networkx DiGraph"):
        pl.OpGraph.from_networkx(nx.Graph())


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (dict(names=None), "names is None"),
        (dict(names=["a", 5]), "names holds 5"),
        (dict(names=["a", "\ud800"]), "is not a name"),
        (dict(compute=[10**400, 1]), "a float can hold"),
        (dict(edges=[("a", "b")]), "edges must be whole numbers"),
        (dict(edges=[(0, 0.5)]), "edges must be whole numbers"),
        (dict(edges=[(0, 10**30)]), "edges must be whole numbers"),
        (dict(edges=[0, 1]), "one pair"),
        (dict(edges=[(-1, 1)]), "refers to op -1"),
        (dict(edges=[(0, 1)], edge_output=[0.5]), "edge_output must be whole numbers"),
        (dict(outputs=[(-1, 0, 1.0)]), "expected numbers of ops, 0 to 1"),
        (dict(outputs=[(0, 1.0)]), "expected .op, output number, bytes."),
        (dict(groups=[[0, 7]]), "group 0 holds"),
        (dict(groups=[[0, -1]]), "group 0 holds"),
        (dict(groups=[[0, 1]], group_names=[]), "1 groups but 0 group_names"),
        (dict(devices={"a": ["gpu"]}), "devices must be whole numbers"),
        (dict(devices=["gpu"]), "expected a mapping"),
        (dict(time=[1, 2]), "expected a mapping"),
        (dict(kind=[1, 2]), "kind holds 1"),
        (dict(metadata=[1]), "expected a mapping"),
    ],
)
def test_arrays_of_the_wrong_kind_are_named(columns, words):
    """Nothing is truncated, wrapped or indexed from the end: one sentence names the column and what was expected."""
    with pytest.raises(pl.FormatError, match=words):
        pl.OpGraph.from_arrays(**{**dict(names=["a", "b"], compute=[1, 1], edges=[]), **columns})


def test_generators_and_single_texts_are_legal_columns():
    """An iterator is read once; a single text is one device, not a list of its letters."""
    g = pl.OpGraph.from_arrays(
        (name for name in "ab"), [1, 2], ((u, v) for u, v in [(0, 1)]), devices={np.int64(0): "gpu"}
    )
    assert g.names.tolist() == ["a", "b"]
    assert g.edges.tolist() == [[0, 1]]
    assert g.device_sets == (("gpu",),)


def test_replaced_columns_are_checked_too():
    """Lists are accepted; a column of another size or kind, or an unknown one, is refused."""
    assert graph().replace(compute=[4, 3, 2, 1]).compute.tolist() == [4, 3, 2, 1]
    for changes, words in (
        (dict(compute=[1]), "shape"),
        (dict(names=["a"]), "cannot be replaced"),
        (dict(time=5), "shape"),
    ):
        with pytest.raises(pl.FormatError, match=words):
            graph().replace(**changes)


@pytest.mark.parametrize(
    ("node", "edge", "words"),
    [
        (dict(time=[1.0]), {}, r"time of op 'a' is \[1.0\]"),
        (dict(outputs=[5]), {}, r"outputs of op 'a' is \[5\]"),
        (dict(kind=5), {}, "kind of op 'a' is 5"),
        ({}, dict(tensor=[1]), r"tensor of edge 'a' → 'b' is \[1\]"),
        ({}, dict(control="no"), "control of edge 'a' → 'b' is 'no'"),
        ({}, dict(bytes=10**400), "bytes of edge 'a' → 'b'"),
    ],
)
def test_networkx_attributes_of_the_wrong_kind_are_named(node, edge, words):
    """One sentence with the op or edge, what was found and what was expected."""
    import networkx as nx

    g = nx.DiGraph()
    g.add_node("a", compute=1, **node)
    g.add_node("b", compute=1)
    g.add_edge("a", "b", **edge)
    with pytest.raises(pl.FormatError, match=words):
        pl.load(g)


def test_messages_name_a_graph_on_one_line():
    """Whatever name its metadata have."""
    assert pl.OpGraph.from_arrays(["a"], 1, [], metadata={"name": "a\nb"}).title == "a b"


@pytest.mark.parametrize("name", ["", "a\nb", "\ud800"])
def test_devices_that_no_device_can_be_called_are_refused(name):
    """Names and types of devices are text on one line, like op names."""
    with pytest.raises(pl.FormatError, match=r"devices holds .*; expected names or types"):
        pl.OpGraph.from_arrays(["a"], 1, [], devices={0: ["gpu", name]})

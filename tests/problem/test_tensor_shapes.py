"""Shapes of tensors: kept and written exactly, never one that disagrees with the tensor's bytes, without effect on results."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from problems import many

import placelab as pl
from placelab.formats.placelab_json import loads
from placelab.formats.python_code import as_code
from placelab.formats.task_graphs import dot
from placelab.problem import graph_json
from placelab.problem.part import part_of
from placelab.problem.problem_key import problem_key
from placelab.problem.tensor_shapes import is_shape, shape_bytes, shape_text

SHAPES = {(1, 0): "float32 [2, 3]", (0, 0): "int64 []", (0, 1): "float16 [4]", (2, 4): "float32 [?, 7]"}


def shaped(shapes=SHAPES, **changes):
    """``b`` makes a tensor that ``a`` and ``c`` read; ``a`` one for ``c`` and one for nobody; ``c`` one for nobody."""
    columns = dict(
        edge_bytes=[24.0, 24.0, 8.0, 0.0],
        edge_output=[0, 0, 0, 0],
        edge_control=[False, False, False, True],
        outputs=[(0, 1, 8.0), (2, 4, 28.0)],
        shapes=shapes,
    )
    return pl.OpGraph.from_arrays(["a", "b", "c"], [1, 1, 1], [(1, 0), (1, 2), (0, 2), (1, 2)], **columns | changes)


def told(graph):
    """The shapes of what each op makes, by its name."""
    return {name: graph.shapes_of(v) for v, name in enumerate(graph.names)}


KNOWN = {"b": ["float32 [2, 3]"], "a": ["int64 []", "float16 [4]"], "c": ["float32 [?, 7]"]}


def test_outputs_keep_their_shapes_when_ops_are_numbered_anew():
    """By op as given and output number; control tensors have none; a tensor that several ops read has one."""
    graph = shaped()
    assert graph.names.tolist() == ["b", "a", "c"] and told(graph) == KNOWN
    assert len(graph.shapes) == 4 and not graph.tensor_shape.flags.writeable
    assert [graph.shape_of(t) for t in range(graph.n_tensors)].count(None) == 1  # the control tensor's
    assert (shaped({(1, 0): "string [2]"}).tensor_shape >= 0).tolist() == [True, False, False, False, False]


def test_a_graph_without_shapes_has_no_column():
    """None given, or none that fits: no column, and unknown for each tensor."""
    for graph in (shaped(None), shaped({}), shaped({(1, 0): "float32 [2, 4]"}), shaped({(1, 7): "float32 [2, 3]"})):
        assert graph.tensor_shape is None and graph.shapes == ()
        assert told(graph) == {"b": [None], "a": [None, None], "c": [None]}


def test_a_shape_that_disagrees_with_the_bytes_is_left_out():
    """Of the tensor alone; one whose bytes are not known from it stays."""
    graph = shaped(SHAPES | {(1, 0): "float64 [2, 3]", (0, 0): "string [1000]"})
    assert told(graph) == KNOWN | {"b": [None], "a": ["string [1000]", "float16 [4]"]}


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ({(1, 0): "float32[2]"}, "the shape of output 0 of op 'b' is 'float32[2]'"),
        ({(1, 0): "float32 [2]\n"}, "the shape of output 0 of op 'b'"),
        ({(1, 0): "<b>x</b> [2]"}, "the shape of output 0 of op 'b'"),
        ({(1, 0): "float32 [" + ", ".join("1" * 65) + "]"}, "the shape of output 0 of op 'b'"),
        ({(1, 0): "float32 [10000000000000000000]"}, "the shape of output 0 of op 'b'"),
        ({(1, 0): ["float32", 2]}, "the shape of output 0 of op 'b'"),
        ({(5, 0): "float32 [2]"}, "shapes holds"),
        ({1: "float32 [2]"}, "shapes has the key 1"),
        ([(1, 0)], "shapes is list; expected a mapping"),
    ],
)
def test_what_is_no_shape_is_refused(shapes, words):
    """In one sentence, which names the output."""
    with pytest.raises(pl.FormatError, match="shape") as caught:
        shaped(shapes)
    assert words in str(caught.value)


def test_shapes_need_numbers_of_outputs():
    """Where each edge is a tensor of its own, an output number says nothing."""
    with pytest.raises(pl.FormatError, match="give edge_output, too"):
        shaped(edge_output=None)


def test_bytes_of_a_shape():
    """Sizes times the bytes of an element, where both are known."""
    sizes = {
        "bfloat16 [3]": 6,
        "complex64 [2]": 16,
        "float8_e4m3fn [5]": 5,
        "qint8 [2]": 2,
        "bool []": 1,
        "uint8 [0, 9]": 0,
    }
    assert {text: shape_bytes(text) for text in sizes} == sizes
    assert [shape_bytes(text) for text in ("int4 [3]", "float32_ref [3]", "string []", "mystery8 [1]", "int8 [?]")] == [
        None
    ] * 5
    assert shape_bytes(f"float32 [{', '.join(['9' * 19] * 64)}]") == float("inf")
    assert is_shape(shape_text("float32", (9,) * 64)) and shape_text("float32", (9,) * 65) is None


def test_sizes_that_equal_whole_numbers_are_whole_numbers():
    """Whichever comes first, as texts are kept; no other number is a size."""
    for sizes in ((1.0, 0.0), (True, False), (1, 0), (np.int64(1), np.int32(0))):
        assert shape_text("uint4", sizes) == "uint4 [1, 0]"
        shape_text.cache_clear()
    assert [shape_text("uint4", (size,)) for size in (2.5, float("nan"), float("inf"))] == [None] * 3


def test_files_have_them_again(tmp_path):
    """placelab JSON of any version, DOT, networkx and code."""
    for graph in (shaped(), shaped(edge_storage=[0, 0, 0, -1]), shaped(time={"gpu": [1, 2, 3]}, time_default="gpu")):
        graph.save(tmp_path / "g.json.gz")
        again = pl.load(tmp_path / "g.json.gz")
        assert told(again) == KNOWN and graph_json.dumps(again) == graph_json.dumps(graph)
        assert told(pl.OpGraph.from_networkx(graph.to_networkx())) == KNOWN
        assert told(dot.loads(dot.dumps(graph).encode())) == KNOWN
        made = {"pl": pl}
        exec(as_code(pl.Problem(graph, pl.Cluster([1.0], types=["gpu"]))), made)
        assert told(made["graph"]) == KNOWN


def test_without_shapes_files_are_as_before():
    """No key of a file or of a digest speaks of shapes."""
    assert "shape" not in graph_json.dumps(shaped(None))
    network = shaped(None).to_networkx()
    assert not any("shape" in key for *_, given in network.edges(data=True) for key in given)


def test_hostile_files():
    """Numbers and texts of shapes are checked as other columns are."""
    document = json.loads(graph_json.dumps(shaped()))
    for shape, texts, words in (
        ([0, 1, 2, 9, 3], document["shapes"], "'shape' holds 9"),
        ([0, 1], document["shapes"], "'shape' has 2 entries"),
        ([0, -1, 1, 2, 3], ["float32 [2, 3]", "<script>", "a", "b"], "is '<script>'"),
        ([0, -1, 1, 2, 3], [1, 2, 3, 4], "'shapes' must be a list of texts"),
        ([0, -1, 1, 2, 3], None, "'shapes' must be a list of texts"),
        ("00000", document["shapes"], "'shape' must be a list of whole numbers"),
    ):
        changed = document | {"shapes": texts, "tensors": document["tensors"] | {"shape": shape}}
        with pytest.raises(pl.FormatError) as caught:
            loads(json.dumps(changed).encode())
        assert words in str(caught.value)


def test_edges_of_one_tensor_agree():
    """networkx has a shape per edge."""
    network = shaped().to_networkx()
    network["b"]["c"][0]["tensor_shape"] = "float64 [3]"
    with pytest.raises(pl.FormatError, match="edges of one tensor must agree"):
        pl.OpGraph.from_networkx(network)


@pytest.mark.parametrize("shape", [7, float("nan"), ["float32", 2], b"int64 []", np.array([2, 3])], ids=str)
def test_edges_have_texts_alone(shape):
    """Whatever else an edge has for a shape is refused in one sentence, however it compares with itself."""
    network = shaped().to_networkx()
    for edge in network["b"]["c"].values():
        edge["tensor_shape"] = shape
    with pytest.raises(pl.FormatError, match=r"tensor_shape of edge 'b' → 'c' is .*; expected a text"):
        pl.OpGraph.from_networkx(network)


def test_texts_of_numpy_are_plain_ones_in_a_graph():
    """A cell of an array of texts is no other shape, and code has it as a text."""
    graph = shaped({key: np.str_(text) for key, text in SHAPES.items()})
    assert told(graph) == KNOWN and {type(text) for text in graph.shapes} == {str}


def test_other_bytes_are_another_shape():
    """Of the tensors whose bytes change, unknown sizes or not; other columns leave shapes as they are."""
    graph = shaped()
    assert told(graph.replace(compute=[2, 2, 2])) == KNOWN
    size = graph.tensor_bytes.copy()
    size[graph.op_tensor_ptr[2]] = 14.0
    assert told(graph.replace(tensor_bytes=size)) == KNOWN | {"c": [None]}
    assert graph.replace(tensor_bytes=graph.tensor_bytes * 2).tensor_shape is None


def test_a_part_has_those_of_its_ops():
    """Ops outside make nothing."""
    part = part_of(pl.Problem(shaped(), pl.Cluster([1.0])), np.array([True, False, True]))
    assert told(part.graph) == KNOWN | {"a": [None, None]}


def test_no_result_depends_on_them():
    """Schedules are the same; graphs that differ in shapes alone are told apart, as they are shown."""
    plain = shaped(None)
    other = shaped(SHAPES | {(1, 0): "float32 [3, 2]"})
    cluster = pl.Cluster([1.0, 1.0], bandwidth=8.0)
    plans = [pl.solve(pl.Problem(graph, cluster), "heft") for graph in (plain, shaped(), other)]
    assert len({plan.makespan for plan in plans}) == 1
    assert len({problem_key(pl.Problem(graph, cluster)) for graph in (plain, shaped(), shaped(), other)}) == 3
    for problem in many(20):
        graph = problem.graph
        assert problem_key(replace_shapes(problem)) == problem_key(problem) and graph.tensor_shape is None


def replace_shapes(problem):
    """The problem with shapes that are all unknown, built anew."""
    return problem.replace(graph=replace(problem.graph, tensor_shape=None, shapes=()))

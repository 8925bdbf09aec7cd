"""Ops that ONNX's inference does not know, declared shapes and open dimensions: sizes go on behind them, and FLOP are counted."""

from __future__ import annotations

import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

from onnx import TensorProto, helper  # noqa: E402

from placelab.formats.onnx import model_proto  # noqa: E402

pytestmark = pytest.mark.usefixtures("forked_inference")

FLOAT = TensorProto.FLOAT
UINT8 = TensorProto.UINT8
INT32 = TensorProto.INT32
INT64 = TensorProto.INT64


def loaded(nodes, inputs, outputs=None, weights=(), options=None):
    """The graph of nodes; `inputs` and `weights` map names to shapes, of floats or (type, shape)."""
    tensors = [TensorProto(name=name, data_type=FLOAT, dims=shape) for name, shape in dict(weights).items()]
    infos = [
        helper.make_tensor_value_info(name, *(found if isinstance(found, tuple) else (FLOAT, found)))
        for name, found in inputs.items()
    ]
    ends = [helper.make_tensor_value_info(name, FLOAT, shape) for name, shape in (outputs or {}).items()]
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(helper.make_graph(nodes, "m", infos, ends, tensors), opset_imports=opsets, ir_version=10)
    return model_proto.loads(model.SerializeToString(), "m.onnx", dimensions=options or {})


def one(kind, shapes, outputs=1, domain="com.microsoft", **attributes):
    """Output bytes and FLOP of one op."""
    return facts(loaded(*read_op("op", kind, shapes, outputs, domain, **attributes)), "op")


def read_op(op, kind, shapes, outputs=1, domain="com.microsoft", **attributes):
    """An op and one that reads each of its outputs, and the shapes of its inputs by name."""
    names = [f"{op}.i{k}" if shape is not None else "" for k, shape in enumerate(shapes)]
    results = [f"{op}.o{k}" for k in range(outputs)]
    node = helper.make_node(kind, names, results, op, domain=domain, **attributes)
    readers = [helper.make_node("Identity", [name], [f"{name}.read"]) for name in results]
    return [node, *readers], {n: shape for n, shape in zip(names, shapes, strict=True) if n}


def facts(graph, op):
    """Output bytes and FLOP of an op; all sizes of the graph are known."""
    v = graph.names.tolist().index(op)
    sizes = [size for (u, _), size in zip(graph.edges.tolist(), graph.edge_bytes.tolist(), strict=True) if u == v]
    assert graph.metadata["costs"]["unsized"] == 0 and "kept" not in graph.metadata["costs"]
    return sizes, graph.compute[v]


X = [2, 16, 64]
ROWS = [
    ("MatMulNBits", [X, [96, 2, 16], [96, 2]], {"K": 64, "N": 96, "block_size": 32}, [2 * 16 * 96], 2 * 32 * 64 * 96),
    ("FusedMatMul", [[8, 4, 6], [8, 4, 5]], {"transA": 1}, [8 * 6 * 5], 2 * 8 * 6 * 5 * 4),
    ("MatMulIntegerToFloat", [X, [64, 96], [1], [1]], {}, [2 * 16 * 96], 2 * 32 * 64 * 96),
    ("DynamicQuantizeMatMul", [X, [64, 96], [1]], {}, [2 * 16 * 96], 2 * 32 * 64 * 96),
    ("QGemm", [[8, 64], [1], [1], [64, 96], [1], [1]], {}, [8 * 96], 2 * 8 * 64 * 96),
    ("SkipSimplifiedLayerNormalization", [X, X, [64]], {}, [2048, 32, 32, 2048], 8 * 2048),
    ("BiasGelu", [X, [64]], {}, [2048], 6 * 2048),
    ("FastGelu", [X], {}, [2048], 8 * 2048),
    ("QuickGelu", [X], {}, [2048], 3 * 2048),
    ("BiasSplitGelu", [X, [64]], {}, [1024], 8 * 1024),
    ("GroupNorm", [[2, 8, 8, 64], [64], [64]], {"groups": 8}, [8192], 8 * 8192),
    ("Inverse", [[3, 8, 8]], {}, [192], 2 * 192 * 8),
    ("Trilu", [[8, 8]], {}, [64], 64),
    ("FusedConv", [[1, 4, 8, 8], [6, 4, 3, 3]], {"pads": [1] * 4}, [6 * 64], 2 * 6 * 64 * 36),
    ("NhwcConv", [[1, 8, 8, 4], [6, 4, 3, 3]], {"strides": [2, 2]}, [6 * 9], 2 * 6 * 9 * 36),
    ("NhwcConv", [[1, 8, 8, 4], [6, 4, 3, 3]], {"auto_pad": "SAME_UPPER"}, [6 * 64], 2 * 6 * 64 * 36),
    ("MoE", [X, [32, 4], [4, 64, 128], None, [4, 128, 64]], {"k": 2}, [2048], 2 * 32 * 2 * 2 * 64 * 128),
    ("QMoE", [X, [32, 4], [4, 64, 64], [4], None, [4, 128, 32], [4]], {"k": 1}, [2048], 2 * 32 * 2 * 64 * 128),
    # projections of 32 rows by (64, 192), then 16 × 16 pairs in two batches, 64 wide twice
    ("Attention", [X, [64, 192], [192]], {"num_heads": 4}, [2048, 4096], 2 * 32 * 64 * 192 + 2 * 2 * 256 * 128),
    ("MultiHeadAttention", [X, [2, 24, 64], [2, 24, 32]], {"num_heads": 4}, [1024, 3072, 1536], 2 * 2 * 16 * 24 * 96),
    (
        "GroupQueryAttention",
        [X, [2, 16, 16], [2, 16, 16], [2, 1, 8, 16], [2, 1, 8, 16], [2], [1]],
        {"num_heads": 4, "kv_num_heads": 1},
        [2048, 768, 768],
        2 * 2 * 16 * 24 * 128,
    ),
    (
        "GroupQueryAttention",  # queries, keys and values packed: 4 + 2 · 1 heads 16 wide
        [[2, 16, 96], None, None, [2, 1, 8, 16], [2, 1, 8, 16], [2], [1]],
        {"num_heads": 4, "kv_num_heads": 1},
        [2048, 768, 768],
        2 * 2 * 16 * 24 * 128,
    ),
    ("LongformerAttention", [X, [64, 192], [192], [2, 16], [64, 192]], {"num_heads": 4, "window": 3}, [2048], None),
    ("PackedAttention", [[20, 64], [64, 192], [192], [2, 16]], {"num_heads": 4}, [1280], None),
    ("RotaryEmbedding", [X, [2, 16], [16, 8], [16, 8]], {}, [2048], 3 * 2048),
    ("QLinearMul", [[4, 1], [1], [1], [3], [1], [1], [1], [1]], {}, [12], 12),
    ("QLinearGlobalAveragePool", [[2, 8, 4, 4], [1], [1], [1], [1]], {}, [16], 256),
    ("Rfft", [[3, 16]], {"signal_ndim": 1, "onesided": 1, "normalized": 0}, [3 * 9 * 2], 5 * 48 * 4),
]


@pytest.fixture(scope="module")
def graph_of_rows():
    """One model with the ops of all rows, each named by its number: each model takes a process."""
    parts = [read_op(str(i), row[0], row[1], len(row[3]), **row[2]) for i, row in enumerate(ROWS)]
    return loaded(
        [node for nodes, _ in parts for node in nodes], {n: shape for _, shapes in parts for n, shape in shapes.items()}
    )


@pytest.mark.parametrize("row", range(len(ROWS)), ids=[row[0] for row in ROWS])
def test_ops_of_onnx_runtime_have_shapes_and_operations(row, graph_of_rows):
    """Elements of the outputs, 4 bytes each, and operations, as the documentation of the contributed operators has them."""
    *_, elements, flop = ROWS[row]
    sizes, compute = facts(graph_of_rows, str(row))
    assert sizes == [4 * n for n in elements]
    assert compute == flop if flop is not None else compute > 0


def test_types_of_outputs_are_those_of_the_ops():
    """Ids of words become embeddings, a table of 4-bit numbers rows of floats, and quantised data bytes."""
    sizes, compute = one("EmbedLayerNormalization", [(INT32, [2, 16]), (INT32, [2, 16]), [100, 64]], 2)
    assert (sizes, compute) == ([2 * 16 * 64 * 4, 8], 8 * 2048)
    ids = (INT64, [2, 3])
    assert one("GatherBlockQuantized", [(UINT8, [100, 32]), ids, [100, 2]], block_size=32)[0] == [2 * 3 * 64 * 4]
    assert one("QuantizeLinear", [X, [1], (UINT8, [1])])[0] == [2048]


def test_group_normalization_does_not_stop_shapes():
    """A convolution behind it has its operations."""
    nodes = [
        helper.make_node("GroupNormalization", ["x", "s", "s"], ["n"], num_groups=8),
        helper.make_node("Conv", ["n", "w"], ["y"], pads=[1] * 4),
    ]
    graph = loaded(nodes, {"x": [2, 32, 64, 64]}, {"y": None}, {"s": [32], "w": [32, 32, 3, 3]})
    assert graph.edge_bytes.tolist() == [1 << 20] * 2 and graph.compute[2] == 2 * 2 * 32 * 64 * 64 * 32 * 9


def test_the_attention_of_another_vendor_is_not_microsofts():
    """Its output counts as its first input, as that of any unknown op, and is counted."""
    node = helper.make_node("Attention", ["x", "w"], ["y"], domain="com.example", num_heads=4)
    graph = loaded([node, helper.make_node("Relu", ["y"], ["z"])], {"x": X, "w": [64, 96]})
    assert graph.metadata["costs"]["kept"] == {"Attention": 1} and graph.edge_bytes[-1] == 8192


@pytest.mark.parametrize(
    ("domain", "known"), [("", True), ("ai.onnx", True), ("com.ms.internal.nhwc", True), ("org.fast", False)]
)
def test_an_op_of_a_known_name_from_elsewhere_is_unknown(domain, known):
    node = helper.make_node("MatMul", ["x", "w"], ["y"], domain=domain)
    graph = loaded([node], {"x": [2, 3], "w": [3, 4]}, {"y": [2, 4]})
    assert graph.metadata["costs"].get("unknown", {}) == ({} if known else {"org.fast.MatMul": 1})
    assert graph.compute[-1] == (48 if known else 0)
    assert graph.metadata["coverage"]["flop_unknown"] == (0 if known else 1 / graph.n_ops)


def test_an_open_dimension_counts_as_one_and_is_named():
    """How many elements are not zero depends on the data; an option says how many."""
    nodes = [helper.make_node("NonZero", ["x"], ["n"]), helper.make_node("Cast", ["n"], ["f"], to=FLOAT)]
    graph = loaded(nodes, {"x": [8, 8]}, {"f": None})
    assert graph.metadata["costs"]["assumed"] == {"n[1]": 1} and graph.edge_bytes[-1] == 16
    graph = loaded(nodes, {"x": [8, 8]}, {"f": None}, options={"n[1]": 5})
    assert graph.metadata["costs"]["assumed"] == {"n[1]": 5} and graph.edge_bytes[-1] == 80
    with pytest.raises(model_proto.UnsupportedError, match=r"no open dimension 'm\[1\]'; open are n\[1\]"):
        loaded(nodes, {"x": [8, 8]}, {"f": None}, options={"m[1]": 5})


def test_what_a_loop_stacks_has_a_row_for_each_round():
    """The number of rounds is an initializer; the output is declared with an open dimension."""
    body = helper.make_graph(
        [helper.make_node("Relu", ["s"], ["t"]), helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [
            helper.make_tensor_value_info("i", INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", FLOAT, [4]),
        ],
        [
            helper.make_tensor_value_info("d", TensorProto.BOOL, []),
            helper.make_tensor_value_info("t", FLOAT, [4]),
            helper.make_tensor_value_info("t", FLOAT, [4]),
        ],
    )
    rounds = helper.make_node("Constant", [], ["m"], value_int=7)
    nodes = [
        rounds,
        helper.make_node("Loop", ["m", "", "x"], ["f", "y"], body=body),
        helper.make_node("Neg", ["y"], ["z"]),
    ]
    graph = loaded(nodes, {"x": [4]}, {"z": None})
    assert graph.compute[-1] == 28 and graph.metadata["costs"]["assumed"] == {}


def test_a_declared_shape_that_contradicts_the_computed_one_is_said():
    """The computed shape counts; a declared one fills what inference leaves open, and agrees in silence."""
    nodes = [helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["y"], ["z"])]
    graph = loaded(nodes, {"x": [4, 8]}, {"y": [4, 9], "z": [4, 8]})
    assert graph.metadata["costs"]["contradicted"] == {"y": "(4, 9), computed (4, 8)"}
    assert graph.edge_bytes.tolist() == [128, 128]
    assert "contradicted" not in loaded(nodes, {"x": [4, 8]}, {"y": [4, "a"], "z": [4, 8]}).metadata["costs"]
    unknown = [helper.make_node("Quantum", ["x"], ["y"], domain="com.example"), nodes[1]]
    graph = loaded(unknown, {"x": [4, 8]}, {"y": [4, 9]})
    assert graph.compute[-1] == 36 and "kept" not in graph.metadata["costs"]


def test_a_model_that_onnx_runtime_has_optimised_for_a_processor():
    """Its convolutions and pools count as those of the model that it was made from."""
    nchwc = "com.microsoft.nchwc"
    window = dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    weights = {"w": [16, 8, 3, 3]}
    plain = [
        helper.make_node("Conv", ["x", "w"], ["c"], **window),
        helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["y"]),
    ]
    blocks = [
        helper.make_node("ReorderInput", ["x"], ["i"], domain=nchwc),
        helper.make_node("Conv", ["i", "w"], ["c"], domain=nchwc, **window),
        helper.make_node("MaxPool", ["c"], ["p"], domain=nchwc, kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["p"], ["g"], domain=nchwc),
        helper.make_node("ReorderOutput", ["g"], ["y"], domain=nchwc, channels=16),
    ]
    was, made = (loaded(nodes, {"x": [1, 8, 32, 32]}, {"y": None}, weights) for nodes in (plain, blocks))
    assert was.compute[was.compute > 0].tolist() == made.compute[made.compute > 0].tolist()
    assert made.metadata["costs"]["unknown"] == {} and made.metadata["costs"]["unsized"] == 0

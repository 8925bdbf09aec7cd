"""TensorFlow graphs, read without TensorFlow: ops, bytes, groups, devices, and refused files."""

from __future__ import annotations

import gzip
from math import prod
from typing import Any

import pytest
import tensorflow_samples as samples
from tensorflow_samples import FLOAT, INT32, RESOURCE, call, constant, function, graph, node

import placelab as pl
from placelab.base.errors import CycleError, FormatError, InfeasibleError, PlacelabError, UnsupportedError
from placelab.formats.protobuf import tagged
from placelab.formats.tensorflow.containers import is_text
from placelab.formats.tensorflow.graph_def import loads, read
from placelab.problem.hardware import HARDWARE

# A GraphDef of two nodes, encoded by hand: "a", a Const of 2 × 3 floats, and "b", which reads a:0 and waits for a.
BY_HAND = bytes.fromhex(
    "0a34"  # node, 52 bytes
    "0a0161"  # name "a"
    "1205436f6e7374"  # op "Const"
    "2a0b0a05647479706512023001"  # attr "dtype": type 1
    "2a1b0a0576616c75651212"  # attr "value": 18 bytes
    "4210"  # tensor, 16 bytes
    "0801"  # dtype 1
    "1208"  # shape, 8 bytes
    "12020802"  # dim 2
    "12020803"  # dim 3
    "52020102"  # int64_val, which no table names
    "0a20"  # node, 32 bytes
    "0a0162"  # name "b"
    "120452656c75"  # op "Relu"
    "1a03613a30"  # input "a:0"
    "1a025e61"  # input "^a"
    "2a070a01541202"  # attr "T"
    "3001"  # type 1
    "ba06020102"  # an unknown field
)


def names(g: pl.OpGraph) -> list[tuple[str, str]]:
    """Edges by name."""
    return [(g.names[u], g.names[v]) for u, v in g.edges]


def devices(g: pl.OpGraph, op: str) -> tuple[str, ...]:
    """Allowed devices of an op."""
    found = g.device_set[g.index(op)]
    return g.device_sets[found] if found >= 0 else ()


def groups(g: pl.OpGraph) -> set[frozenset[str]]:
    """Colocation groups by name."""
    return {frozenset(g.names[g.group == i]) for i in range(len(g.group_names))}


# -------------------------------------------------------------------- what becomes what


def test_a_file_encoded_by_hand():
    """Two ops, a data and a control edge, 24 bytes, checked without our own tables."""
    g = loads(BY_HAND)
    assert (g.names.tolist(), g.kind.tolist()) == (["a", "b"], ["Const", "Relu"])
    assert names(g) == [("a", "b"), ("a", "b")]
    assert g.edge_bytes.tolist() == [24.0, 0.0]
    assert g.tensor_control[g.edge_tensor].tolist() == [False, True]
    assert g.compute.tolist() == [0.0, 6.0]


def test_one_training_step():
    """Outputs by number, sizes by shapes with a batch, groups by loc:@ and by reference, persistent bytes of the variable."""
    g = loads(samples.training(), batch=2)
    assert g.n_ops == 10
    assert g.n_edges == 11
    assert groups(g) == {frozenset({"w", "w/Assign", "w/read"})}
    assert g.persistent[g.index("w")] == 4 * 8 * 4
    size = dict(zip(names(g), g.edge_bytes, strict=True))
    assert size["x", "y"] == 2 * 4 * 4
    assert size["w", "w/read"] == 0.0
    assert size["w/read", "y"] == 4 * 8 * 4
    assert size["y", "parts"] == 2 * 8 * 4
    assert g.compute[g.index("y")] == 2 * 2 * 4 * 8
    assert g.metadata["costs"]["compute"] == "FLOP"
    assert g.metadata["costs"]["assumed"] > 0


def test_an_op_that_reads_two_outputs_of_another_has_two_tensors():
    """``parts`` and ``parts:1`` are different tensors of one op."""
    g = loads(samples.training())
    parts = g.index("parts")
    total = g.index("sum")
    tensors = [t for t, (u, v) in zip(g.edge_tensor, g.edges, strict=True) if (u, v) == (parts, total)]
    assert len(set(tensors)) == 2


def test_without_a_batch_sizes_are_unknown():
    """batch=None assumes no batch; metadata count the unknown sizes."""
    g = loads(samples.training(), batch=None)
    assert g.edge_bytes[names(g).index(("x", "y"))] == 0.0
    assert g.metadata["costs"]["unsized"] == 5  # x, y, both parts, their sum
    assert g.metadata["costs"]["assumed"] == 0


def test_the_batch_may_stand_in_any_place():
    """Recurrent networks have it second; with two unknown dimensions the bytes are a lower bound, and counted."""
    g = loads(
        graph(
            *[
                node(n, "Placeholder", types={"dtype": FLOAT}, shape=s)
                for n, s in {"a": (7, -1), "b": (-1, -1, 3)}.items()
            ]
        ),
        batch=5,
    )
    assert g.outputs.tolist() == [7 * 5 * 4, 5 * 1 * 3 * 4]
    assert g.metadata["costs"]["unsized"] == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/gpu:0", {"gpu:0"}),
        ("/device:GPU:1", {"gpu:1"}),
        ("/device:gpu:*", {"gpu"} | {name for name, sort in HARDWARE.items() if sort == "gpu"}),
        ("/job:localhost/replica:0/task:0/device:CPU:0", {"cpu:0"}),
        ("/job:worker/replica:0/task:1/device:GPU:0", {"worker1/gpu:0", "worker:1"}),
        ("/job:worker/task:1", {"worker1", "worker:1"}),
        ("dev2", set()),
    ],
)
def test_device_names(text, expected):
    """Full and partial names become names that clusters use, with the original name and `*`."""
    g = loads(graph(node("a", "NoOp", device=text)))
    assert set(devices(g, "a")) == {text, "*"} | expected


def test_any_gpu_is_any_device_of_a_type_that_is_one():
    """The op may run on any GPU of the cluster, but not on its CPU."""
    cluster = pl.Cluster([1e12] * 3, names=["host", "a", "b"], types=["xeon_8380", "h100", "h100"])
    problem = pl.Problem(loads(graph(node("y", "NoOp", device="/gpu:*"), node("x", "NoOp", device="/cpu:*"))), cluster)
    assert problem.may_run.tolist() == [[False, True, True], [True, False, False]]


def test_a_job_without_a_task_is_every_task_of_it_that_the_file_names():
    """``/job:ps`` may run on any task of ps that the file names."""
    g = loads(
        graph(
            *[
                node(f"a{i}", "NoOp", device=text)
                for i, text in enumerate(("/job:ps", "/job:ps/task:0", "/job:ps/task:2"))
            ]
        )
    )
    assert {"ps0", "ps2"} < set(devices(g, "a0"))


@pytest.mark.parametrize("text", ["", "/", "/replica:0", "/job:*", "/job:localhost"])
def test_names_that_say_nothing_allow_everything(text):
    """An empty name, and names that match every device."""
    g = loads(graph(node("a", "NoOp", device=text)))
    assert set(devices(g, "a")) <= {text, "*"}
    assert pl.Problem(g, pl.clusters.uniform()).allowed == {}


def test_devices_hold_where_the_cluster_has_them():
    """On a box of GPUs the op of ``/gpu:0`` stays there; on a cluster without such names it may run anywhere."""
    g = loads(samples.training())
    assert pl.Problem(g, pl.clusters.pcie_box()).allowed == {"y": ("gpu:0",)}
    for preset in pl.clusters.PRESETS:
        assert pl.place(pl.Problem(g, pl.clusters.preset(preset)), "round-robin").device.shape == (10,)
    own = pl.Cluster([1.0, 1.0], names=["worker1/gpu:0", "other"])
    assert pl.Problem(g, own).allowed == {"x": ("worker1/gpu:0",)}


def test_the_validator_lets_ops_go_where_their_devices_are_not():
    """The validator shares no code with the problem: ``/gpu:0`` allows any device of a cluster that has none."""
    problem = pl.Problem(loads(graph(node("y", "NoOp", device="/gpu:0"))), pl.Cluster.uniform(2))
    assert pl.validate(pl.simulate(problem, pl.Placement.from_mapping(problem, {"y": "dev1"}), "fifo")) == []


def test_devices_can_be_ignored_or_translated():
    """devices=False drops them; a mapping of full or partial names overrides our reading, and may be strict."""
    assert loads(samples.training(), devices=False).device_sets == ()
    g = loads(samples.training(), devices={"/gpu:0": "dev1", "/cpu:*": ["dev2", "dev3"]})
    assert pl.Problem(g, pl.clusters.uniform()).allowed["y"] == ("dev1",)
    assert pl.Problem(g, pl.clusters.uniform()).allowed["w/read"] == ("dev2", "dev3")
    with pytest.raises(InfeasibleError, match="dev1"):
        pl.Problem(g, pl.clusters.uniform(1))


@pytest.mark.parametrize("wrong", [5, "no", {"dev": "dev0"}, {"/gpu:0": 3}, {3: "dev0"}, {"/gpu:0": []}])
def test_what_devices_cannot_be(wrong):
    """The error is one sentence."""
    with pytest.raises(UnsupportedError, match="devices"):
        loads(samples.training(), devices=wrong)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "8", 1 << 40])
def test_what_a_batch_cannot_be(wrong):
    """The error is one sentence."""
    with pytest.raises(UnsupportedError, match="batch is"):
        loads(samples.training(), batch=wrong)


def test_groups_are_joined_transitively():
    """a names b, c names b, d reads a reference of c: one group. A name without an op has no effect."""
    g = loads(
        graph(
            node("b", "NoOp"),
            node("a", "NoOp", _class=["loc:@b"]),
            node("c", "VariableV2", types={"dtype": FLOAT}, shape=(), _class=["loc:@b", "loc:@nobody", "other"]),
            node("d", "Assign", "c", "e", types={"T": FLOAT}),
            constant("e"),
        )
    )
    assert groups(g) == {frozenset("abcd")}


def test_readers_of_a_resource_share_its_device():
    """A handle has no bytes and is never sent, so its readers are colocated."""
    g = loads(
        graph(
            node("v", "VarHandleOp", types={"dtype": FLOAT}, shape=(10,)),
            node("switch", "Identity", "v", types={"T": RESOURCE}),
            node("r", "ReadVariableOp", "switch", types={"dtype": FLOAT}),
        )
    )
    assert groups(g) == {frozenset({"v", "switch", "r"})}
    assert g.edge_bytes.tolist() == [0.0, 0.0]
    assert g.persistent.tolist() == [40.0, 0.0, 0.0]


def test_loops_are_one_round():
    """The edge from NextIteration back to Merge is left out; control flow stays with its data, as in TensorFlow."""
    g = loads(samples.loop())
    assert g.n_ops == 11
    assert ("while/NextIteration", "while/Merge") not in names(g)
    assert groups(g) == {frozenset(f"while/{kind}" for kind in ("Enter", "Merge", "Switch", "NextIteration", "Exit"))}
    assert "1 edges back" in g.metadata["rounds"]


def test_cycles_that_are_no_loops_are_refused():
    """Only NextIteration may close a cycle."""
    with pytest.raises(CycleError, match=r"'a' → 'b' → 'a'|'b' → 'a' → 'b'"):
        loads(graph(node("a", "Add", "b"), node("b", "Add", "a")))


# -------------------------------------------------------------------- shapes that follow


@pytest.mark.parametrize(
    ("kind", "inputs", "attributes", "expected"),
    [
        ("Relu", [(3, 4)], {}, (3, 4)),
        ("AddV2", [(3, 1), (4,)], {}, (3, 4)),
        ("Mul", [(), (5, 6)], {}, (5, 6)),
        ("MatMul", [(4, 3), (5, 4)], {"transpose_a": True, "transpose_b": True}, (3, 5)),
        ("BatchMatMulV2", [(7, 3, 4), (7, 4, 5)], {}, (7, 3, 5)),
        ("Conv2D", [(2, 9, 9, 3), (3, 3, 3, 8)], {"strides": [1, 2, 2, 1], "padding": "SAME"}, (2, 5, 5, 8)),
        ("Conv2D", [(2, 9, 9, 3), (3, 3, 3, 8)], {"strides": [1, 2, 2, 1], "padding": "VALID"}, (2, 4, 4, 8)),
        (
            "Conv2D",
            [(2, 3, 9, 9), (3, 3, 3, 8)],
            {"strides": [1, 1, 2, 2], "padding": "VALID", "data_format": "NCHW"},
            (2, 8, 4, 4),
        ),
        (
            "DepthwiseConv2dNative",
            [(1, 8, 8, 3), (3, 3, 3, 2)],
            {"strides": [1, 1, 1, 1], "padding": "SAME"},
            (1, 8, 8, 6),
        ),
        ("MaxPool", [(1, 8, 8, 3)], {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}, (1, 4, 4, 3)),
    ],
)
def test_shapes_follow_from_shapes(kind, inputs, attributes, expected):
    """In a file without shapes, constants have theirs, and so has what they determine."""
    sources = [constant(f"c{i}", *shape) for i, shape in enumerate(inputs)]
    types = {"types": {"T": FLOAT}}
    g = loads(
        graph(
            *sources,
            node("op", kind, *[f"c{i}" for i in range(len(inputs))], **types, **attributes),
            node("end", "Identity", "op", **types),
        )
    )
    assert g.outputs[g.index("end")] == 4 * prod(expected)
    assert g.metadata["costs"]["unsized"] == 0


def numbers(name: str, *rows: int | tuple[int, ...]) -> Any:
    """A constant of these whole numbers, or of rows of them."""
    made = constant(name, len(rows), *({len(row) for row in rows if isinstance(row, tuple)}), kind=INT32)
    for row in rows:
        made.attr["value"].tensor.int_val.extend(row if isinstance(row, tuple) else [row])
    return made


@pytest.mark.parametrize(
    ("kind", "shape", "given", "attributes", "expected"),
    [
        ("Reshape", (6, 4), [(3, -1)], {}, (3, 8)),
        ("Transpose", (2, 3, 5), [(2, 0, 1)], {}, (5, 2, 3)),
        ("StridedSlice", (9, 8, 7), [(1, 0), (-2, 0), (3, 1)], {"shrink_axis_mask": 2}, (2, 7)),
        (
            "StridedSlice",
            (9, 8, 7),
            [(0, 0, 1), (0, 0, 9), (1, 1, 2)],
            {"ellipsis_mask": 1, "new_axis_mask": 2},
            (9, 8, 1, 3),
        ),
        ("Slice", (9, 8), [(2, 3), (4, -1)], {}, (4, 5)),
        ("Tile", (3, 4), [(2, 5)], {}, (6, 20)),
        ("Pad", (3, 4), [((1, 2), (0, 5))], {}, (6, 9)),
        ("Sum", (3, 4, 5), [(-1, 0)], {}, (4,)),
        ("Sum", (3, 4, 5), [(1,)], {"keep_dims": True}, (3, 1, 5)),
        ("GatherV2", (3, 4, 5), [(7, 8), (1,)], {}, (3, 2, 5)),
        ("BroadcastTo", (4,), [(3, 4)], {}, (3, 4)),
        ("SpaceToBatchND", (2, 5, 6), [(2, 3), ((1, 0), (0, 3))], {}, (12, 3, 3)),
        ("BatchToSpaceND", (12, 3, 3), [(2, 3), ((1, 0), (0, 3))], {}, (2, 5, 6)),
    ],
)
def test_shapes_follow_from_numbers(kind, shape, given, attributes, expected):
    """Sizes, axes and bounds that are constants decide shapes."""
    sources = [numbers(f"c{i}", *entries) for i, entries in enumerate(given)]
    names = [source.name for source in sources]
    op = node("op", kind, "x", *names, types={"T": FLOAT, "Tparams": FLOAT}, **attributes)
    g = loads(graph(constant("x", *shape), *sources, op))
    assert g.outputs[g.index("op")] == 4 * prod(expected)
    assert g.metadata["costs"]["unsized"] == 0


def flattened(*sizes: int) -> bytes:
    """An input of (batch, 6, 4) that is reshaped to these sizes, and rectified."""
    float_ = {"types": {"T": FLOAT}}
    return graph(
        node("x", "Placeholder", types={"dtype": FLOAT}, shape=(-1, 6, 4)),
        numbers("to", *sizes),
        node("r", "Reshape", "x", "to", **float_),
        node("end", "Relu", "r", **float_),
    )


@pytest.mark.parametrize(("sizes", "elements"), [((-1, 24), 8 * 24), ((-1, 4), 8 * 24), ((-1,), 8 * 24)])
def test_a_reshape_of_a_batch_keeps_its_elements(sizes, elements):
    """The open dimension of (-1, 4) is not the batch, but six times the batch."""
    g = loads(flattened(*sizes), batch=8)
    assert (g.outputs[g.index("end")], g.compute[g.index("end")]) == (4 * elements, elements)
    assert (g.metadata["costs"]["unsized"], g.metadata["costs"]["assumed"]) == (0, 3)


def test_without_a_batch_open_dimensions_stay_open():
    """Three outputs have bytes that are not known."""
    assert loads(flattened(-1, 4), batch=None).metadata["costs"]["unsized"] == 3


def test_numbers_that_double_in_every_op_stay_few():
    """A chain of ops that each join a list with itself ends as unknown, not as 2⁶⁰ numbers or dimensions."""
    axis = numbers("axis", 0)
    ops = [node(f"c{i + 1}", "ConcatV2", f"c{i}", f"c{i}", "axis", types={"T": INT32}) for i in range(60)]
    end = node("end", "Fill", "c60", "c0", types={"T": INT32})
    assert loads(graph(axis, numbers("c0", 2, 2), *ops, end)).metadata["costs"]["unsized"] > 0


def test_what_shapes_do_not_decide_is_counted():
    """A Reshape to a constant of which the file lacks the contents."""
    g = loads(
        graph(constant("a", 4), constant("to", 2, kind=INT32), node("r", "Reshape", "a", "to", types={"T": FLOAT}))
    )
    assert g.metadata["costs"]["unsized"] == 1


@pytest.mark.parametrize("key", ["ksize", "strides", "dilations"])
@pytest.mark.parametrize("value", [5, True, "abcd", [1, 2]])
def test_a_window_that_is_no_list_of_four_decides_no_shape(key, value):
    """A damaged file may have a number, a text or another list there; the size is unknown then."""
    attributes = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME", key: value}
    g = loads(graph(constant("a", 1, 8, 8, 3), node("p", "MaxPool", "a", types={"T": FLOAT}, **attributes)))
    assert g.metadata["costs"]["unsized"] == 1


def test_shapes_in_the_file_go_first():
    """`_output_shapes` are TensorFlow's own, and have priority."""
    g = loads(graph(constant("a", 4), node("r", "Relu", "a", types={"T": FLOAT}, shapes=[(3, 3)])))
    assert g.outputs.tolist() == [16.0, 36.0]


def test_ops_that_nobody_knows():
    """A user's own op has bytes if the file has shapes; otherwise its outputs are counted as unsized."""
    own = loads(graph(node("own", "MyOp"), node("a", "Relu", "own:1", types={"T": FLOAT})))
    assert own.metadata["costs"]["unknown"] == {"MyOp": 1, "Relu": 1}
    assert own.metadata["costs"]["unsized"] == 2
    shaped = loads(
        graph(
            node("own", "MyOp", types={"T": FLOAT}, shapes=[(), (5,)]), node("a", "Relu", "own:1", types={"T": FLOAT})
        )
    )
    assert shaped.edge_bytes.tolist() == [20.0]


# -------------------------------------------------------------------- functions and SavedModels


def test_a_saved_model_is_what_its_signature_runs():
    """Calls become the ops of their functions, under the call's name; ops that only save are left out."""
    g = loads(samples.served())
    layers = [f"call/{layer}/{op}" for layer in ("one", "two") for op in ("read", "matmul", "relu")]
    assert set(g.names) == {"w", "x", "call/one", "call/two/begin", *layers}
    assert set(names(g)) == {
        ("w", "call/one/read"),
        ("x", "call/one/matmul"),
        ("call/one/read", "call/one/matmul"),
        ("call/one/matmul", "call/one/relu"),
        ("call/one/read", "call/one"),
        ("call/one/relu", "call/one"),
        ("call/one", "call/two/begin"),
        ("call/two/begin", "call/two/read"),
        ("w", "call/two/read"),
        ("call/one/relu", "call/two/matmul"),
        ("call/two/read", "call/two/matmul"),
        ("call/two/matmul", "call/two/relu"),
    }
    assert groups(g) == {frozenset({"w", "call/one/read", "call/two/read"})}
    assert g.metadata["provenance"]["tags"] == "serve"


def test_outputs_of_functions_are_found_by_name():
    """``op:idx:0`` of an op with outputs y and idx is its output 1; of a list, the number counts from the list's begin."""
    body = function(
        "f",
        ("x",),
        {"out": "last:output:0"},
        node("u", "Unique", "x", types={"T": FLOAT, "out_idx": INT32}, shapes=[(5,), (7,)]),
        node("first", "Identity", "u:y:0", types={"T": FLOAT}, shapes=[(5,)]),
        node("last", "Identity", "u:idx:0", types={"T": INT32}, shapes=[(7,)]),
    )
    g = loads(
        graph(
            constant("a", 7), call("c", "f", "a"), node("end", "Identity", "c", types={"T": INT32}), functions=(body,)
        )
    )
    size = dict(zip(names(g), g.edge_bytes, strict=True))
    assert size["c/u", "c/first"] == 20
    assert size["c/u", "c/last"] == 28
    assert ("c/last", "end") in size


def test_functions_that_call_themselves_are_refused():
    """Functions that call each other are refused, too."""
    f = function("f", ("x",), {"y": "c:output:0"}, call("c", "g", "x"))
    g = function("g", ("x",), {"y": "c:output:0"}, call("c", "f", "x"))
    with pytest.raises(FormatError, match="100 deep"):
        loads(graph(constant("a"), call("c", "f", "a"), functions=(f, g)))


def test_functions_that_become_very_many_ops_are_refused():
    """Thirty functions of two calls each would be a billion ops."""
    chain = [
        function(f"f{i}", ("x",), {"y": "b:output:0"}, call("a", f"f{i + 1}", "x"), call("b", f"f{i + 1}", "x"))
        for i in range(30)
    ]
    leaf = function("f30", ("x",), {"y": "r:activations:0"}, node("r", "Relu", "x"))
    with pytest.raises(FormatError, match="1,000,000 ops"):
        loads(graph(constant("a"), call("c", "f0", "a"), functions=(*chain, leaf)))


def test_a_call_that_returns_itself_is_refused():
    """A function that returns its input, called with its own output."""
    same = function("f", ("x",), {"y": "x"})
    with pytest.raises(CycleError, match="depends on itself"):
        loads(graph(call("c", "f", "c:0"), node("r", "Relu", "c"), functions=(same,)))


# -------------------------------------------------------------------- forms of files


@pytest.mark.parametrize(("kind", "called"), [(1, None), (19, "float16"), (14, "bfloat16")])
def test_products_of_16_bits_are_estimated_as_such(kind, called):
    """Mixed precision: the variable has 32 bits, its products 16."""
    g = loads(
        graph(
            node("w", "VariableV2", types={"dtype": FLOAT}, shape=(4096, 4096)),
            node("half", "Cast", "w", types={"SrcT": FLOAT, "DstT": kind}),
            node("y", "MatMul", "half", "half", types={"T": kind}),
        )
    )
    assert g.metadata["costs"].get("precision") == called


def test_text_says_the_same_as_binary():
    """The text format, with comments, other brackets, quotation marks in texts and fields that no table names."""
    g = loads(samples.text())
    same = loads(
        graph(
            node("x", "Placeholder", types={"dtype": FLOAT}, shape=(-1, 4)),
            node("w", "VariableV2", types={"dtype": FLOAT}, shape=(4, 8), device="/cpu:0"),
            node("y", "MatMul", "x", "w", "^w", types={"T": FLOAT}),
        )
    )
    assert names(g) == names(same)
    assert (g.tensor_bytes == same.tensor_bytes).all()
    assert (g.device_sets, g.persistent.tolist()) == (same.device_sets, same.persistent.tolist())


def test_text_as_windows_editors_save_it():
    """A byte order mark, and carriage returns at ends of lines."""
    data = b"\xef\xbb\xbf" + samples.text().replace(b"\n", b"\r\n")
    assert names(loads(data)) == names(loads(samples.text()))


def test_text_of_very_many_fields_is_refused():
    """Text in quotes does not count."""
    node = 'node {{ name: "a" op: "{}" {}}}'
    assert loads(node.format("b::" * 100_000, "").encode(), "a.pbtxt").n_ops == 1
    assert loads(node.format("b", 'attr { key: "c:" }' * 40_000).encode(), "a.pbtxt").n_ops == 1
    for fields in ('input: "a" ' * 100_001, f"attr {{ value {{ list {{ i: [{'1,' * 100_001}] }} }} }}"):
        with pytest.raises(pl.FormatError, match=r"a\.pbtxt has a block of more than 100,000 fields at character 6"):
            loads(node.format("b", fields).encode(), "a.pbtxt")


def test_functions_in_text():
    """The library is read from text, too."""
    from google.protobuf import text_format

    from placelab.formats.tensorflow.nodes import schema

    f = function("f", ("x",), {"y": "r:activations:0"}, node("r", "Relu", "x", types={"T": FLOAT}))
    library = "library { function { " + text_format.MessageToString(f) + " } }"
    nodes = [f"node {{ {text_format.MessageToString(one)} }}" for one in (constant("a", 3), call("c", "f", "a"))]
    assert schema()["FunctionDef"] is type(f)
    assert set(loads("\n".join([*nodes, library]).encode()).names) == {"a", "c/r"}


def test_files_may_be_gzipped(tmp_path):
    """By name or by content."""
    path = tmp_path / "model.v2.pb.gz"
    path.write_bytes(gzip.compress(samples.training()))
    g = read(path)
    assert g.n_ops == 10
    assert g.metadata["name"] == "model.v2"


def test_text_is_recognised():
    """By its first words after comments; binary files and other formats begin otherwise."""
    assert all(map(is_text, [samples.text(), b"# only\n node { }"]))
    others = [samples.training(), samples.served(), b"", b'{"format": 1}', b"\x1f\x8b", b"digraph {}", b"<xml>"]
    assert not any(map(is_text, others))


def test_a_graph_survives_placelab_json(tmp_path):
    """Saving and loading gives the same graph."""
    g = loads(samples.training())
    g.save(tmp_path / "g.json.gz")
    back = pl.load(tmp_path / "g.json.gz")
    assert names(back) == names(g)
    assert back.device_sets == g.device_sets
    assert back.metadata["costs"].items() >= g.metadata["costs"].items()


# -------------------------------------------------------------------- hostile files

DEEP_TEXT = b"node { " * 1_000_000
LONG = 10**6
SQUARE = function("f", ("x",), {}, *[node(f"n{i}", "NoOp") for i in range(1000)])

HOSTILE = {
    "empty": (b"", "holds no ops"),
    "JSON": (b'{"node": []}', "protobuf"),
    "no names": (tagged(1, b""), "expected a TensorFlow graph"),
    "no op type": (graph(node("a", "")), "op type ''"),
    "two of one name": (graph(node("a", "NoOp"), node("a", "NoOp")), "two ops called 'a'"),
    "missing op": (graph(node("a", "Relu", "b")), "reads 'b', but no op is called that"),
    "missing control": (graph(node("a", "NoOp", "^b")), "reads '\\^b'"),
    "far output": (graph(node("a", "NoOp"), node("b", "Relu", "a:999999999")), "reads 'a:999999999'"),
    "farther output": (graph(node("a", "NoOp"), node("b", "Relu", "a:99999999999999999999")), "reads 'a:9999"),
    "output that is not there": (graph(constant("a"), node("b", "Relu", "a:1")), "has 1 outputs"),
    "odd output": (graph(constant("a"), node("b", "Relu", "a:-1")), "reads 'a:-1'"),
    "odd input": (graph(constant("a"), node("b", "Relu", "")), "reads ''"),
    "self loop": (graph(node("a", "Relu", "a")), "has a cycle: 'a' → 'a'"),
    "line break in a name": (graph(node("a\nb", "NoOp")), "not a name"),
    "not UTF-8": (tagged(1, tagged(1, b"\xff\xfe") + tagged(2, b"NoOp")), "protobuf message"),
    "huge length": (b"\x0a\xff\xff\xff\xff\x0f" + b"a" * 9, "not a complete protobuf file"),
    "long number": (b"\x08" + b"\xff" * 40, "not a complete protobuf file"),
    "groups of fields": (b"\x0b" * 100, "not a complete protobuf file"),
    "gzip bomb": (gzip.compress(b"\0" * (64 << 20)), "unpacks to more than"),
    "broken gzip": (gzip.compress(samples.training())[:-9], "not a whole gzip file"),
    "attributes without end": (tagged(1, b"\x2a\x00" * LONG * 2), "more than 1,000,000 fields"),
    "deep text": (DEEP_TEXT, "nested more than 100 deep in line 1"),
    "deep list in text": (b'node { name: "a" x: ' + b"[" * LONG + b" }", "not a protobuf text file"),
    "open text": (b"node { name: 'a'", "1 braces are not closed"),
    "closed text": (b'node { name: "a" op: "NoOp" } }', "closes a block that is not open in line 1"),
    "open string": (b'node { name: "a }\n', "quotation mark that nothing closes in line 1"),
    "long open string": (b'node { name: "' + b"a" * 5 * LONG, "quotation mark that nothing closes in line 1"),
    "long string of escapes": (b"node { name: '" + b"\\a" * LONG, "quotation mark that nothing closes in line 1"),
    "a million ops of one name": (tagged(1, tagged(1, b"a") + tagged(2, b"b")) * LONG, "two ops called 'a'"),
    "block without a name": (b'node { name: "a" op: "NoOp" } { }', "block without a name"),
    "wrong type in text": (b"node { name: 3 }", "not a protobuf text file"),
    "text not UTF-8": (b"node { name: '\xff' }", "not text in UTF-8"),
    "SavedModel without a graph": (samples.saved_model(b"")[:2] + tagged(2, b""), "SavedModel without a graph"),
    "dimensions beyond all numbers": (
        graph(node("a", "NoOp"), node("b", "Relu", "a", "a", "c")),
        "no op is called that",
    ),
    "a function's missing output": (
        graph(call("c", "f"), node("b", "Relu", "c:5"), functions=(SQUARE,)),
        "returns 0 outputs",
    ),
}


@pytest.mark.parametrize(("data", "message"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_refused_in_one_sentence(data, message):
    """Damaged, contradictory and malicious files: a PlacelabError that names the file and what is wrong."""
    with pytest.raises(PlacelabError, match=message) as caught:
        loads(data, "evil.pb")
    assert str(caught.value).startswith("evil.pb")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_enormous_shapes_have_no_size():
    """Tensors larger than any memory have unknown size."""
    g = loads(graph(constant("a", 2**62, 2**62), node("v", "VariableV2", types={"dtype": FLOAT}, shape=(2**62, 2**62))))
    assert g.outputs.tolist() == [0.0, 0.0]
    assert g.persistent.tolist() == [0.0, 0.0]

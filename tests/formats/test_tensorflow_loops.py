"""Loops and branches of TensorFlow 2: the operations of their functions, trip counts, and files that are damaged."""

from struct import pack

import pytest
import tensorflow_samples as tf

from placelab.formats.protobuf import tagged
from placelab.formats.tensorflow import functions as calls
from placelab.formats.tensorflow.graph_def import loads

FLOP = 2 * 8 * 16 * 16  # of the product in a body
INT = {"types": {"T": tf.INT32}}
BOOL = 10


def number(name, value, kind=tf.INT32, content=False):
    """A constant of one whole number, in one of the two forms that TensorFlow writes."""
    made = tf.constant(name, kind=kind)
    if content:
        data = made.attr["value"].tensor.SerializeToString() + tagged(4, pack("<i", value))
        made.attr["value"].tensor.ParseFromString(data)
    elif kind == BOOL:
        made.attr["value"].tensor.bool_val.append(bool(value))
    else:
        made.attr["value"].tensor.int_val.append(value)
    return made


def runs(name, kind, *inputs, types=(), shapes=None, **functions):
    """A node that runs functions: ``cond="f"`` or ``branches=["f", "g"]``."""
    made = tf.node(name, kind, *inputs)
    for key, named in functions.items():
        if isinstance(named, str):
            made.attr[key].func.name = named
        else:
            for one in named:
                made.attr[key].list.func.add(name=one)
    key = "Tout" if kind not in ("While", "StatelessWhile", "For") else "T"
    made.attr[key].list.type.extend(types)
    for shape in shapes or ():
        tf._shape(made.attr["output_shapes"].list.shape.add(), shape)
    return made


def condition(kind="Less", limit=10, *more):
    """A function ``i kind limit``."""
    returned = f"{more[-1].name}:z:0" if more else "less:z:0"
    less = tf.node("less", kind, "i", "limit:output:0", **INT)
    return tf.function("cond", ("i", "x", "w"), {"go": returned}, number("limit", limit), less, *more)


def body(step=1, kind="AddV2", product="w"):
    """A function ``i kind step, x @ w, w``."""
    return tf.function(
        "body",
        ("i", "x", "w"),
        {"i_": "next:z:0", "x_": "mm:product:0", "w_": "w"},
        number("step", step, content=True),
        tf.node("next", kind, "i", "step:output:0", **INT),
        tf.node("mm", "MatMul", "x", product, types={"T": tf.FLOAT}),
    )


def values():
    """An image and a weight."""
    return [
        tf.node(name, "Placeholder", types={"dtype": tf.FLOAT}, shape=shape)
        for name, shape in (("x", (8, 16)), ("w", (16, 16)))
    ]


def loop(start=0, *functions, kind="StatelessWhile", shapes=None):
    """A loop over a counter, an image and a weight, and an op behind it."""
    first = (
        number("start", start) if start is not None else tf.node("start", "Placeholder", types={"dtype": 3}, shape=())
    )
    types = (tf.INT32, tf.FLOAT, tf.FLOAT)
    made = runs("loop", kind, "start", "x", "w", types=types, shapes=shapes, cond="cond", body="body")
    out = tf.node("out", "Identity", "loop:1", types={"T": tf.FLOAT})
    return tf.graph(first, *values(), made, out, functions=functions or (condition(), body()))


def column(graph):
    """Operations by name."""
    return dict(zip(graph.names.tolist(), graph.compute.tolist(), strict=True))


@pytest.mark.parametrize("kind", ["While", "StatelessWhile"])
@pytest.mark.parametrize(
    ("start", "compare", "limit", "step", "add", "trips"),
    [
        (0, "Less", 10, 1, "AddV2", 10),
        (0, "LessEqual", 10, 1, "Add", 11),
        (4, "Less", 10, 4, "AddV2", 2),
        (10, "Greater", 0, -3, "AddV2", 4),
        (10, "GreaterEqual", 0, 5, "Sub", 3),
        (0, "NotEqual", 6, 2, "AddV2", 3),
        (11, "Less", 10, 1, "AddV2", 0),
    ],
)
def test_a_while_loop_counts_as_often_as_its_counter_says(kind, start, compare, limit, step, add, trips):
    """Start, limit and step are constants of the graph and of the functions; the option changes nothing."""
    graph = loads(loop(start, condition(compare, limit), body(step, add), kind=kind), trips=77)
    assert graph.metadata["loops"] == [{"op": "loop", "trips": trips, "known": True}]
    assert column(graph)["loop"] == trips * FLOP
    assert graph.metadata["costs"]["unknown"] == {}


@pytest.mark.parametrize(
    "data",
    [
        loop(None),  # starts at an input
        loop(0, condition("Less", 10), body(1, "Mul")),
        loop(0, condition("Less", 10), body(0)),  # never ends
    ],
)
@pytest.mark.parametrize("trips", [1, 25])
def test_a_loop_that_data_end_counts_as_the_option_says(data, trips):
    """The metadata say that the number is not known."""
    graph = loads(data, trips=trips)
    assert graph.metadata["loops"] == [{"op": "loop", "trips": trips, "known": False}]
    assert column(graph)["loop"] == trips * FLOP


def test_a_second_condition_on_data_leaves_an_upper_limit():
    """As ``tf.while_loop(maximum_iterations=10)`` writes it; the condition's own work counts, too."""
    more = [
        tf.constant("axes", 2, kind=tf.INT32),
        tf.node("sum", "Sum", "x", "axes:output:0", types={"T": tf.FLOAT}, shapes=[()]),
        tf.node("small", "Less", "sum:output:0", "sum:output:0", types={"T": tf.FLOAT}),
        tf.node("both", "LogicalAnd", "less:z:0", "small:z:0"),
    ]
    graph = loads(loop(0, condition("Less", 10, *more), body()), trips=40)
    assert graph.metadata["loops"] == [{"op": "loop", "trips": 10, "known": False, "most": 10}]
    assert column(graph)["loop"] == 10 * (FLOP + 8 * 16)


@pytest.mark.parametrize("shapes", [None, [(), (8, 16), (16, 16)], [(), None, None]])
def test_what_a_loop_carries_keeps_its_shape(shapes):
    """Those of ``output_shapes``, where the file has them, else of the values that the loop begins with."""
    graph = loads(loop(shapes=shapes))
    assert graph.edge_bytes[-1] == 4 * 8 * 16
    assert graph.metadata["costs"]["unsized"] == 0


def test_nested_loops_multiply():
    """A body whose own loop runs 10 times, as often as the outer one, through a function that it calls."""
    types = (tf.INT32, tf.FLOAT, tf.FLOAT)
    inner = runs("inner", "While", "zero:output:0", "x", "w", types=types, cond="cond", body="body")
    called = tf.function("called", ("x", "w"), {"y": "inner:output:1"}, number("zero", 7), inner)
    outer = tf.function(
        "outer",
        ("i", "x", "w"),
        {"i_": "next:z:0", "x_": "call:output:0", "w_": "w"},
        number("step", 5),
        tf.node("next", "AddV2", "i", "step:output:0", **INT),
        tf.call("call", "called", "x", "w"),
    )
    made = runs("loop", "While", "start", "x", "w", types=types, cond="cond", body="outer")
    data = tf.graph(number("start", 0), *values(), made, functions=(condition(), body(), called, outer))
    graph = loads(data)
    assert {row["op"]: row["trips"] for row in graph.metadata["loops"]} == {"loop": 2, "loop/call/inner": 3}
    assert column(graph)["loop"] == 6 * FLOP


def branches(kind, **functions):
    """A branch whose sides are a product and a Relu."""
    product = tf.function(
        "product", ("x", "w"), {"y": "mm:product:0"}, tf.node("mm", "MatMul", "x", "w", types={"T": 1})
    )
    small = tf.function("small", ("x", "w"), {"y": "r:activations:0"}, tf.node("r", "Relu", "x", types={"T": 1}))
    made = runs("choice", kind, "p", "x", "w", types=(tf.FLOAT,), shapes=[(8, 16)], **functions)
    p = tf.node("p", "Placeholder", types={"dtype": tf.INT32}, shape=())
    out = tf.node("out", "Identity", "choice", types={"T": tf.FLOAT})
    return loads(tf.graph(p, *values(), made, out, functions=(product, small)))


@pytest.mark.parametrize(
    ("kind", "functions", "k", "taken", "flop"),
    [
        ("If", {"then_branch": "small", "else_branch": "product"}, 2, 1, FLOP),
        ("StatelessIf", {"then_branch": "product", "else_branch": "small"}, 2, 0, FLOP),
        ("StatelessIf", {"then_branch": "small", "else_branch": "small"}, 2, 0, 8 * 16),
        ("Case", {"branches": ["small", "small", "product", "small"]}, 4, 2, FLOP),
        ("StatelessCase", {"branches": ["small"]}, 1, 0, 8 * 16),
    ],
)
def test_of_a_branch_the_dearest_side_counts(kind, functions, k, taken, flop):
    """The sides see the inputs behind the condition; of equals the first."""
    graph = branches(kind, **functions)
    assert column(graph)["choice"] == flop
    assert graph.metadata["branches"] == [{"op": "choice", "branches": k, "taken": taken}]
    assert graph.edge_bytes[-1] == 4 * 8 * 16


@pytest.mark.parametrize(
    "functions",
    [
        (body(),),  # no condition
        (condition(), tf.function("body", ("i", "x", "w"), {"i_": "", "x_": "", "w_": ""})),
    ],
)
def test_functions_that_cannot_be_read_count_as_unknown(functions):
    """A missing function, one that returns nothing; an op in one that reads what is not there."""
    graph = loads(loop(0, *functions))
    assert graph.metadata["costs"]["unknown"] == {"StatelessWhile": 1} and column(graph)["loop"] == 0
    graph = loads(loop(0, condition(), body(product="nowhere:output:0")))
    assert graph.metadata["costs"]["unknown"] == {"MatMul": 1} and column(graph)["loop"] == 0


def test_a_function_that_runs_itself_ends(monkeypatch):
    """Recursion by a loop, and a file whose functions call each other so often that they have millions of ops."""
    types = (tf.INT32, tf.FLOAT, tf.FLOAT)
    again = runs("again", "While", "i", "x", "w", types=types, cond="cond", body="body")
    itself = tf.function("body", ("i", "x", "w"), {f"{c}_": f"again:output:{k}" for k, c in enumerate("ixw")}, again)
    assert loads(loop(0, condition(), itself)).metadata["costs"]["unknown"]["While"] >= 1
    monkeypatch.setattr(calls, "MAX_OPS", 0)
    two = [runs(f"l{k}", "While", "i", "x", "w", types=types, cond="cond", body="body") for k in range(2)]
    first = tf.node("i", "Placeholder", types={"dtype": tf.INT32}, shape=())
    data = tf.graph(first, *values(), *two, functions=(condition(), body()))
    assert loads(data).metadata["costs"]["unknown"] == {"While": 2}


def test_for_and_map_defun_are_loops_too():
    """``For`` from start to limit; ``MapDefun`` once per row, with its arguments' rows."""
    each = tf.function(
        "each", ("i", "x", "w"), {"x_": "mm:product:0", "w_": "w"}, tf.node("mm", "MatMul", "x", "w", types={"T": 1})
    )
    made = runs("for", "For", "start", "limit", "delta", "x", "w", types=(tf.FLOAT, tf.FLOAT), body="each")
    data = tf.graph(number("start", 2), number("limit", 9), number("delta", 3), *values(), made, functions=(each,))
    assert column(loads(data))["for"] == 3 * FLOP
    row = tf.function("row", ("x",), {"y": "r:activations:0"}, tf.node("r", "Relu", "x", types={"T": 1}))
    made = runs("map", "MapDefun", "x", types=(), f="row")
    graph = loads(tf.graph(values()[0], made, functions=(row,)))
    assert graph.metadata["loops"] == [{"op": "map", "trips": 8, "known": True}] and column(graph)["map"] == 8 * 16


def test_text_files_have_loops_too():
    """The same graph, from protobuf's text format."""
    from google.protobuf import text_format

    from placelab.formats.protobuf import messages
    from placelab.formats.tensorflow.nodes import DATA_TYPE, TABLES

    whole = {**TABLES, "GraphDef": "repeated NodeDef node = 1; Library library = 2"}
    kind = messages("loops_as_text", whole, {"DataType": DATA_TYPE})["GraphDef"]
    plain = tf.function(
        "body",
        ("i", "x", "w"),
        {"i_": "next:z:0", "x_": "mm:product:0", "w_": "w"},
        number("step", 1),
        *body().node_def[1:],
    )
    data = loop(0, condition(), plain)
    text = text_format.MessageToString(kind.FromString(data)).encode()
    assert column(loads(text))["loop"] == column(loads(data))["loop"] == 10 * FLOP

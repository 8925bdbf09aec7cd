"""HLO and StableHLO: what JAX writes and XLA counts, small programs by hand, other spellings, files that are wrong."""

# ruff: noqa: E501  (programs stand on one line)

from __future__ import annotations

import time

import pytest
import samples

import placelab as pl
from placelab.formats.op_kinds import category
from placelab.formats.xla import hlo_text, stablehlo_text
from placelab.formats.xla.costs import _pairs
from placelab.graphs.loading import loads

OPTIMISED, PLAIN = (hlo_text.loads(data) for data in samples.hlo_text())
PRETTY, GENERIC = (stablehlo_text.loads(data) for data in samples.stablehlo_text())


def flop(graph: pl.OpGraph, name: str) -> float:
    """Operations of an op."""
    return float(graph.compute[graph.index(name)])


def named_edges(graph: pl.OpGraph) -> dict[tuple[str, str], float]:
    """Producer and consumer → bytes."""
    edges = zip(graph.edges.tolist(), graph.edge_bytes.tolist(), strict=True)
    return {(str(graph.names[u]), str(graph.names[v])): size for (u, v), size in edges}


# ---------------------------------------------------------------- what is an op


def test_an_optimised_module_becomes_ops_with_bytes_and_operations():
    """A fusion counts what is in it; tuples and their elements are no ops, nor is the second half of a collective."""
    assert OPTIMISED.names.tolist() == ["x", "f", "loop", "which", "branch", "start", "total", "call"]
    assert flop(OPTIMISED, "f") == 2 * 8 * 16 * 4  # the product; tanh is no operation for XLA
    assert OPTIMISED.kind[OPTIMISED.index("start")] == "all-reduce" and flop(OPTIMISED, "start") == 32
    assert flop(OPTIMISED, "total") == 31
    edges = named_edges(OPTIMISED)
    assert edges["x", "f"] == 512 and edges["loop", "branch"] == 128 and edges["start", "total"] == 128
    assert edges["f", "start"] == 0  # waits for it only
    assert OPTIMISED.metadata["costs"]["transcendentals"] == 32


def test_a_loop_counts_as_often_as_it_runs_and_a_branch_its_dearest_side():
    """The number is that of the file; both are listed."""
    assert flop(OPTIMISED, "loop") == 5 * (32 + 1 + 1) and flop(OPTIMISED, "branch") == 32
    assert OPTIMISED.metadata["loops"] == [{"op": "loop", "trips": 5, "known": True}]
    assert OPTIMISED.metadata["branches"] == [{"op": "branch", "branches": 2, "taken": 1}]
    assert flop(PRETTY, "while.0") == 3 * (2 * 8 * 4 * 4 + 1 + 1)
    assert PRETTY.metadata["loops"] == [{"op": "while.0", "trips": 3, "known": True}]


@pytest.mark.parametrize(
    ("reader", "sample"), [(hlo_text, samples.hlo_text()[0]), (stablehlo_text, samples.stablehlo_text()[0])]
)
def test_a_loop_of_unknown_length_runs_as_often_as_the_option_says(reader, sample):
    """Once without the option; the option does not change what the file tells."""
    unknown = sample.replace(b"next = s32[] add", b"next = s32[] multiply").replace(
        b'{"known_trip_count":{"n":"5"}}', b"{}"
    )
    unknown = unknown.replace(b"%4 = stablehlo.add %iterArg_0", b"%4 = stablehlo.multiply %iterArg_0")
    once = reader.loads(unknown)
    often = reader.loads(unknown, trips=7)
    (v,) = (v for v, kind in enumerate(once.kind) if "while" in kind)
    assert once.metadata["loops"][0] | {"op": ""} == {"op": "", "trips": 1, "known": False}
    assert often.metadata["loops"][0]["trips"] == 7 and often.compute[v] == 7 * once.compute[v] > 0
    assert reader.loads(sample, trips=7).metadata["loops"][0]["known"]
    with pytest.raises(pl.UnsupportedError, match="trips"):
        loads(sample, "x.hlo" if reader is hlo_text else "x.mlir", trips=0)


def test_what_cannot_be_counted_is_said():
    """Custom calls by target; sizes that the file leaves open; a kind that is not known."""
    assert OPTIMISED.metadata["costs"]["unknown"] == {"custom-call": 1}
    assert OPTIMISED.metadata["costs"]["custom_calls"] == {"mystery": 1}
    assert PLAIN.metadata["costs"]["unsized"] == 1
    text = b"func.func @main(%a: tensor<?x4xf32>) { %0 = new.op %a : tensor<?x4xf32> return %0 : tensor<?x4xf32> }"
    costs = stablehlo_text.loads(text).metadata["costs"]
    assert costs["unknown"] == {"new.op": 1} and costs["unsized"] == 2


def test_a_value_that_a_loop_hands_on_is_not_the_loops():
    """Whoever reads it reads what the loop was given."""
    text = samples.stablehlo_text()[0].replace(b"reduce(%0#0 init", b"reduce(%0#2 init")
    text = text.replace(b"%0:2 = stablehlo.while(", b"%0:3 = stablehlo.while(%kept = %arg1, ", 1)
    text = text.replace(
        b": tensor<8x4xf32>, tensor<i32>\n    cond", b": tensor<4x4xf32>, tensor<8x4xf32>, tensor<i32>\n    cond"
    )
    text = text.replace(b"return %3, %4 : tensor<8x4xf32>", b"return %kept, %3, %4 : tensor<4x4xf32>, tensor<8x4xf32>")
    text = text.replace(b"%0#1", b"%0#9").replace(b"%0#0", b"%0#1").replace(b"%0#2", b"%0#0").replace(b"%0#9", b"%0#2")
    text = text.replace(
        b"(tensor<8x4xf32>, tensor<f32>) -> tensor<8xf32>", b"(tensor<4x4xf32>, tensor<f32>) -> tensor<4xf32>"
    )
    text = text.replace(b"(tensor<8xf32>) -> ()", b"(tensor<4xf32>) -> ()")
    graph = stablehlo_text.loads(text)
    edges = named_edges(graph)
    assert ("arg1", "reduce.1") in edges and ("while.0", "reduce.1") not in edges
    assert graph.metadata["loops"][0]["known"]


def test_functions_are_inlined_with_their_names():
    """The ops of a call have its name before theirs, wherever the function stands in the file."""
    text = samples.stablehlo_text()[0].replace(
        b"return %2 :",
        b"%9 = call @layer(%2, %arg1) : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> return %9 :",
    )
    graph = stablehlo_text.loads(text)
    assert {"call.9/dot_general.0", "call.9/tanh.1"} <= set(graph.names.tolist())
    assert ("case.2", "call.9/dot_general.0") in named_edges(graph)


# ---------------------------------------------------------------- spellings


def test_the_two_forms_of_a_convolution_count_alike():
    """Pretty, generic, and HLO: padding is no operation."""
    exact = 2 * 3 * 4 * 22 * 22  # of 3 · 8 pairs in a direction two meet padding
    assert flop(GENERIC, "convolution.0") == flop(PLAIN, "c") == exact


HLO_SPELLINGS = {
    "percent signs and shapes before operands": "ENTRY %e (x: f32[2,3]) -> f32[2,2] { %x = f32[2,3]{1,0} parameter(0) ROOT %y = f32[2,2]{1,0} dot(f32[2,3]{1,0} %x, f32[2,3]{1,0} %x), lhs_contracting_dims={1}, rhs_contracting_dims={1} }",
    "shapes without percent signs": "HloModule m ENTRY e { x = f32[2,3]{1,0} parameter(0) ROOT y = f32[2,2]{1,0} dot(f32[2,3]{1,0} x, f32[2,3]{1,0} x), lhs_contracting_dims={1}, rhs_contracting_dims={1} }",
    "one line without blanks": "HloModule m\nENTRY e { x=f32[2,3]{1,0} parameter(0) ROOT y=f32[2,2]{1,0} dot(x,x), lhs_contracting_dims={1}, rhs_contracting_dims={1} }",
    "functions after their callers": "ENTRY e { x = f32[2,3] parameter(0) ROOT y = f32[2,2] fusion(x), kind=kLoop, calls=f }\nf { x = f32[2,3] parameter(0) ROOT y = f32[2,2] dot(x, x), lhs_contracting_dims={1} }",
    "without ENTRY": "%e { x = f32[2,3] parameter(0) ROOT y = f32[2,2] dot(x, x), lhs_contracting_dims={1} }",
    "layouts of tiles": "ENTRY e { x = f32[2,3]{1,0:T(8,128)(2,1)S(1)} parameter(0) ROOT y = f32[2,2]{1,0:T(8,128)} dot(x, x), lhs_contracting_dims={1} }, execution_thread=\"main\"",
    "dynamic sizes": "ENTRY e { x = f32[<=2,3] parameter(0) ROOT y = f32[<=2,2] dot(x, x), lhs_contracting_dims={1} }",
    "a call": "f { a = f32[2,3] parameter(0) ROOT y = f32[2,2] dot(a, a), lhs_contracting_dims={1} } ENTRY e { x = f32[2,3] parameter(0) ROOT y = f32[2,2] call(x), to_apply=f }",
    "an asynchronous op": "f { a = f32[2,3] parameter(0) ROOT y = f32[2,2] dot(a, a), lhs_contracting_dims={1} } ENTRY e { x = f32[2,3] parameter(0) s = ((f32[2,3]), f32[2,2], u32[]) async-start(x), calls=f ROOT y = f32[2,2] async-done(s) }",
}  # fmt: skip


@pytest.mark.parametrize("spelling", HLO_SPELLINGS)
def test_hlo_is_read_in_all_its_spellings(spelling):
    """One product, 24 operations, one edge from x of 24 bytes."""
    graph = hlo_text.loads(HLO_SPELLINGS[spelling].encode())
    assert graph.n_ops == 2 and graph.compute.sum() == 24 and set(named_edges(graph).values()) == {24}


MLIR_SPELLINGS = {
    "module without name": "module { func.func @main(%a: tensor<2x3xf32>) -> tensor<2x2xf32> { %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32> return %0 : tensor<2x2xf32> } }",
    "no module": 'func.func @f(%a: tensor<2x3xf32>) -> tensor<2x2xf32> { %0 = "stablehlo.dot_general"(%a, %a) {dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32> func.return %0 : tensor<2x2xf32> }',
    "plain dot, other dialect": "func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> tensor<2x2xf32> { %0 = mhlo.dot %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32> return %0 : tensor<2x2xf32> }",
    "places and comments": '#loc = loc(unknown)\nmodule @m { // a comment\n func.func @main(%a: tensor<2x3xf32> loc("a")) -> (tensor<2x2xf32> {jax.result_info = "{"}) { %0 = stablehlo.dot_general %a, %a, contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32> loc(#loc)\n return %0 : tensor<2x2xf32> loc(#loc) } loc(#loc) } loc(#loc)',
    "bounds": "func.func @main(%a: tensor<?x3xf32, #stablehlo.bounds<2, ?>>, %b: tensor<?x3xf32, #stablehlo.type_extensions<bounds = [2, ?]>>) -> tensor<2x2xf32> { %0 = stablehlo.dot_general %b, %b, contracting_dims = [1] x [1] : (tensor<?x3xf32>, tensor<?x3xf32>) -> tensor<2x2xf32> return %0 : tensor<2x2xf32> }",
}  # fmt: skip


@pytest.mark.parametrize("spelling", MLIR_SPELLINGS)
def test_stablehlo_is_read_in_all_its_spellings(spelling):
    """One product, 24 operations."""
    graph = stablehlo_text.loads(MLIR_SPELLINGS[spelling].encode())
    assert graph.compute.sum() == 24 and 24 in named_edges(graph).values()


def test_a_library_of_gpus_says_what_it_multiplies():
    """cuBLAS: twice per element and contracted element."""
    text = """ENTRY e { x = bf16[2,3] parameter(0) ROOT y = (bf16[2,2], s8[64]) custom-call(x, x),
    custom_call_target="__cublas$gemm", backend_config={"gemm_backend_config":{"alpha_real":1,
    "dot_dimension_numbers":{"lhs_contracting_dimensions":["1"],"rhs_contracting_dimensions":["1"]}}} }"""
    graph = hlo_text.loads(text.encode())
    assert graph.compute.sum() == 24 and graph.metadata["costs"]["unknown"] == {}
    assert graph.metadata["costs"]["precision"] == "bfloat16"


def test_programs_for_several_devices_are_read():
    """Groups of a mesh in HLO; in StableHLO the region that each device runs, whose ops are those of the graph."""
    text = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) } ENTRY e { x = f32[4] parameter(0) ROOT r = "
    text += "f32[4] all-reduce(x), replica_groups=mesh['a'=2,'b'=2] {'b'}, use_global_device_ids=true, to_apply=add }"
    graph = hlo_text.loads(text.encode())
    assert graph.kind.tolist() == ["parameter", "all-reduce"] and graph.compute.tolist() == [0, 4]
    text = """module @m { sdy.mesh @mesh = <["a"=2]>
    func.func public @main(%arg0: tensor<8x4xf32>, %arg1: tensor<4xf32>) -> tensor<4xf32> {
      %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>] out_shardings=[<@mesh, []>] manual_axes={"a"} (%arg2: tensor<4x4xf32>) {
        %1 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [0] x [0] : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
        sdy.return %1 : tensor<4xf32>
      } : (tensor<8x4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32> } }"""
    graph = stablehlo_text.loads(text.encode())
    assert graph.names.tolist() == ["arg0", "arg1", "manual_computation.0/dot_general.1"]
    assert graph.compute.sum() == 32 and graph.n_edges == 2 and graph.metadata["costs"]["unknown"] == {}


@pytest.mark.parametrize(
    ("start", "limit", "step", "direction", "trips"),
    [
        (0, 5, 1, "LT", 5),
        (0, 5, 2, "LE", 3),
        (9, 0, -3, "GT", 3),
        (9, 0, -3, "GE", 4),
        (0, 6, 2, "NE", 3),
        (5, 5, 1, "LT", 0),
    ],
)
def test_a_counter_tells_how_often_a_loop_runs(start, limit, step, direction, trips):
    """It starts, steps and ends with constants."""
    text = samples.hlo_text()[0].decode().replace(', backend_config={"known_trip_count":{"n":"5"}}', "")
    text = text.replace("zero = s32[] constant(0)", f"zero = s32[] constant({start})")
    text = text.replace("constant(5)", f"constant({limit})").replace("constant(1)", f"constant({step})")
    graph = hlo_text.loads(text.replace("direction=LT", f"direction={direction}").encode())
    assert graph.metadata["loops"] == [{"op": "loop", "trips": trips, "known": True}]


@pytest.mark.parametrize(
    "case",
    [(5, 3, 5, 1, 1, 1, 1), (7, 3, 4, 2, 1, 1, 1), (4, 3, 8, 1, 1, 2, 1), (9, 2, 5, 1, 0, 1, 4), (3, 5, 7, 3, 4, 3, 2)],
)
def test_pairs_that_meet_no_padding_are_those_of_the_definition(case):
    """Each element of the result with each of the kernel, tried one by one."""
    image, kernel, result, stride, low, spread, dilation = case
    places = [o * stride + k * dilation - low for o in range(result) for k in range(kernel)]
    assert _pairs(*case) == sum(0 <= p <= (image - 1) * spread and p % spread == 0 for p in places)


# ---------------------------------------------------------------- files


@pytest.mark.parametrize(("name", "data"), [
    *((name, data) for name in ("x.hlo", "x.txt", "module.hlo.txt") for data in samples.hlo_text()),
    *((name, data) for name in ("x.mlir", "x.txt") for data in samples.stablehlo_text()),
    ("x.txt", b"\xef\xbb\xbf \n" + samples.hlo_text()[0]),
])  # fmt: skip
def test_the_content_tells_the_format(name, data):
    """A text may be PipeDream's, HLO or StableHLO; ops get seconds on devices."""
    graph = loads(data, name)
    assert graph.metadata["provenance"] in ("HLO text", "StableHLO text") and graph.time is not None
    assert "layers" not in str(graph.metadata["costs"])


def test_text_that_is_neither_is_still_pipedreams(tmp_path):
    """The message is that of the likeliest format, and a profile is read as one."""
    assert loads(samples.pipedream()[0], "x.txt").metadata["provenance"] == "a profile of PipeDream"
    with pytest.raises(pl.FormatError, match="forward_compute_time"):
        loads(b"hello", "x.txt")


def test_the_two_reports(shared_data):
    """One exponential of 8 numbers, which XLA counts apart."""
    folder = shared_data("reports")
    for name, kind in (("module.hlo.txt", "exponential"), ("module.mlir", "stablehlo.exponential")):
        graph = pl.load(folder / name)
        assert graph.kind.tolist() == ["parameter", kind] and graph.edge_bytes.tolist() == [32]
        assert graph.compute.sum() == 0 and graph.metadata["costs"]["transcendentals"] == 8


WRONG = [
    ("HloModule m", "no computation marked ENTRY"),
    ("HloModule m ENTRY e { }", "has no instructions"),
    (
        "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] negate(z) }",
        "'y' reads 'z', which is no instruction before it",
    ),
    ("ENTRY e { x = f32[2] parameter(0) x = f32[2] negate(x) }", "two instructions 'x'"),
    ("ENTRY e { x = f32[2] fusion(), calls=g }", "calls 'g', which is no computation"),
    ("ENTRY e { x = f32[2] parameter(0)", "expected"),
    ("ENTRY e { x = f32[2 parameter(0) }", "a shape, such as"),
    ("ENTRY e { x = f32[99999999999999999999] parameter(0) }", "dimension"),
    (
        "e { x = f32[2] call(), to_apply=f } f { x = f32[2] call(), to_apply=e } ENTRY g { x = f32[2] fusion(), calls=e }",
        "calls itself",
    ),
    ("ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] get-tuple-element(x), index=1 }", "takes element 1"),
    ("ENTRY e { x = " + "(" * 999 + "f32[2]" + ")" * 999 + " parameter(0) }", "tuples in each other"),
    ("ENTRY e { x = f32[2] parameter(0), a=" + "{" * 999 + "}" * 999 + " }", "brackets in each other"),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_wrong_hlo_is_refused_in_a_sentence(text, words):
    """The message has what was found and what is expected."""
    with pytest.raises(pl.FormatError, match=words) as caught:
        hlo_text.loads(text.encode(), "x.hlo")
    assert str(caught.value).startswith("x.hlo: ") and "\n" not in str(caught.value)


BODY = "func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {{ {} }}"
WRONG_MLIR = [
    ("module {", "'}'"),
    ("module { }", "no function"),
    (BODY.format("return %b : tensor<2xf32>"), "'%b' is read"),
    (BODY.format("%0 = stablehlo.negate %a"), "the types of stablehlo.negate"),
    (BODY.format("%0 = stablehlo.negate %a : tensor<2xf32>"), "returns nothing"),
    (
        BODY.format("%0 = call @g(%a) : (tensor<2xf32>) -> tensor<2xf32> return %0 : tensor<2xf32>"),
        "'g', which is no function",
    ),
    (BODY.format("%0 = call @main(%a) : (tensor<2xf32>) -> tensor<2xf32> return %0 : tensor<2xf32>"), "main"),
    (BODY.format("%0 = stablehlo.negate %a : tensor<2xf32> %0 = stablehlo.negate %a : tensor<2xf32>"), "defined twice"),
    (BODY.format("%0:2 = stablehlo.negate %a : tensor<2xf32>"), "types of 2 results"),
    (BODY.format('"cf.br"(%a)[^bb1] : (tensor<2xf32>) -> () ^bb1: return %a : tensor<2xf32>'), "one block per region"),
    (BODY.format("x.y() ({" * 500 + "})" * 500), "regions in each other"),
    ("ML\xefR".encode("latin-1").decode("latin-1"), "a module or a function|bytecode"),
]


@pytest.mark.parametrize(("text", "words"), WRONG_MLIR)
def test_wrong_stablehlo_is_refused_in_a_sentence(text, words):
    """The message has what was found and what is expected."""
    with pytest.raises(pl.FormatError, match=words) as caught:
        stablehlo_text.loads(text.encode("latin-1"), "x.mlir")
    assert str(caught.value).startswith("x.mlir") and "\n" not in str(caught.value)


def test_calls_that_swell_are_refused():
    """Forty functions that each call the one before twice would be a trillion ops."""
    texts = ["f0 { x = f32[2] parameter(0) ROOT y = f32[2] negate(x) }"]
    for i in range(40):
        inner = f"x = f32[2] parameter(0) a = f32[2] call(x), to_apply=f{i} ROOT b = f32[2] call(a), to_apply=f{i}"
        texts.append(f"f{i + 1} {{ {inner} }}")
    with pytest.raises(pl.FormatError, match="its calls become more than"):
        hlo_text.loads(
            "\n".join([*texts, "ENTRY e { x = f32[2] parameter(0) ROOT y = f32[2] call(x), to_apply=f40 }"]).encode()
        )


def test_kinds_of_xla_have_categories():
    """Also where PyTorch has an op of the name that does something else."""
    expected = {
        "dot": "matmul",
        "select": "elementwise",
        "exponential": "elementwise",
        "slice": "gather",
        "fusion": "call",
    }
    expected |= {"stablehlo.select": "elementwise", "stablehlo.dot_general": "matmul", "chlo.erf_inv": "elementwise"}
    expected |= {"aten.select.int": "view", "aten.exponential.default": "random", "all-reduce": "movement"}
    assert {kind: category(kind) for kind in expected} == expected


@pytest.mark.parametrize(
    "text",
    [
        '"' + "\\a" * 200_000,
        "// a\n" * 200_000 + "/",
        'dense<"' + '"a"' * 200_000,
        "tensor<" + "<a<b>>" * 100_000,
        BODY.format("%0 = a.b %a {c = [" + '"a\\n"' * 100_000),
        BODY.format("%0 = a.b %a : tensor<" + "2x" * 100_000 + "f32"),
    ],
    ids=["a text", "comments", "elements", "a type", "brackets", "dimensions"],
)
def test_what_never_ends_takes_linear_time(text):
    """Each takes a fraction of a second where every character is read once, and hours where it is not."""
    began = time.process_time()
    with pytest.raises(pl.FormatError):
        stablehlo_text.loads(text.encode(), "x.mlir")
    assert time.process_time() - began < 20

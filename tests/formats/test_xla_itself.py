"""HLO and StableHLO against XLA: programs of JAX have the operations that its own analysis counts."""

from __future__ import annotations

import pytest

pytest.importorskip("jax", reason="JAX is not installed: pip install placelab[frameworks]")

import jax
import jax_functions

from placelab.formats.xla import hlo_text, stablehlo_text


def counted(function, arguments):
    """(form, graph, operations that XLA counts) of the three texts of a function's program."""
    lowered = jax.jit(function).lower(*arguments)
    compiled = lowered.compile()
    before, after = (analysis.get("flops", 0.0) for analysis in (lowered.cost_analysis(), compiled.cost_analysis()))
    yield "optimised HLO", hlo_text.loads(compiled.as_text().encode()), after
    yield "HLO", hlo_text.loads(lowered.as_text(dialect="hlo").encode()), before
    yield "StableHLO", stablehlo_text.loads(lowered.as_text().encode()), before
    module = lowered.compiler_ir()
    yield (
        "generic StableHLO",
        stablehlo_text.loads(module.operation.get_asm(print_generic_op_form=True).encode()),
        before,
    )


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (i % 4 > 0)) for i, name in enumerate(jax_functions.STRAIGHT)],
)
def test_operations_are_those_that_xla_counts(name):
    """Within 1 % in all forms, and nothing is unknown."""
    function, *arguments = jax_functions.STRAIGHT[name]
    for form, graph, expected in counted(function, arguments):
        assert graph.compute.sum() == pytest.approx(expected, rel=0.01), form
        costs = graph.metadata["costs"]
        assert costs["unknown"] == {} and costs["unsized"] == 0, form


@pytest.mark.parametrize("name", jax_functions.LOOPS)
def test_loops_count_as_often_as_they_run(name):
    """XLA counts one iteration: so do we, divided by the trips; a length that no constant tells is 1."""
    function, arguments, trips = jax_functions.LOOPS[name]
    for form, graph, once in counted(function, arguments):
        loops = {loop["op"]: loop for loop in graph.metadata["loops"]}
        assert [loop["trips"] if loop["known"] else None for loop in loops.values()] == trips, form
        times = [loops[op]["trips"] if op in loops else 1 for op in graph.names]
        assert (graph.compute / times).sum() == pytest.approx(once, rel=0.01), form


def test_loops_in_loops_multiply():
    """Three times four products."""
    inner = lambda x: jax.lax.fori_loop(0, 4, lambda j, d: d @ d, x)  # noqa: E731
    nested = lambda x: jax.lax.fori_loop(0, 3, lambda i, c: inner(c), x)  # noqa: E731
    for form, graph, _ in counted(nested, [jax_functions.some(16, 16)]):
        assert graph.compute.sum() == pytest.approx(12 * 2 * 16**3, rel=0.01), form
        assert [loop["trips"] for loop in graph.metadata["loops"]] == [3, 4], form


def test_bytes_are_those_of_the_arrays():
    """Of a product of 8 × 16 and 16 × 4 halves in float32: the inputs and the result."""
    arguments = [jax_functions.some(8, 16), jax_functions.some(16, 4).astype("bfloat16")]
    for form, graph, _ in counted(lambda a, b: a @ b.astype("float32"), arguments):
        sizes = sorted(graph.edge_bytes[graph.producer < 2].tolist())
        assert sizes == [128, 512], form
        assert graph.outputs[-1] == 8 * 4 * 4, form

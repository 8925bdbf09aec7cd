"""Kernels in JavaScript: all but one can be translated, and what they compute is equal to the bit."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import problems
import pytest
import record_calls
import translate

from placelab.app.cli.warming import every
from placelab.kernels import jit

REPLAY = Path(translate.__file__).with_name("replay.mjs")
LEFT_OUT = {  # kernels that a page cannot have, and why
    "least_shared": "its sets of reads have 62 bits each",
    "falling_key": "the bits of a float are 64; pages sort by sorted.ts",
    "differing_bits": "likewise",
    "rank_falling": "likewise",
}


def functions():
    """All kernels and helpers."""
    found = {each.function for each in every()} | set(jit._helpers)
    return sorted(found, key=lambda function: (function.__module__, function.__name__))


def untranslatable(function) -> str:
    """What of a kernel keeps a page from computing what it decides, or ""."""
    try:
        translate.check(function)
    except translate.UntranslatableError as error:
        return str(error)
    return ""


def test_kernels_stay_within_the_part_that_is_translated():
    """All but those that a page cannot have."""
    found = {function.__name__: why for function in functions() if (why := untranslatable(function))}
    assert found.keys() == LEFT_OUT.keys(), found


@pytest.fixture(scope="module")
def calls():
    """Calls of kernels by placing and simulating random problems, plain Python's results with them."""
    with pytest.MonkeyPatch.context() as patch, record_calls.recording() as found:
        patch.setenv("PLACELAB_JIT", "0")
        record_calls.run_all(problems.many(60, seed=28))
    assert len(found) > 500
    return found


@pytest.fixture(scope="module")
def node():
    """The path of Node, with which the front end is built."""
    path = shutil.which("node")
    if path is None:
        pytest.skip("there is no node on this machine: translated kernels are not compared")
    return path


@pytest.fixture(scope="module")
def recorded(calls, tmp_path_factory):
    """The file of these calls, which takes longer to write than to compare."""
    return written(calls, tmp_path_factory.mktemp("calls"))


def written(calls, folder):
    """The file of calls, in a folder."""
    (folder / "calls.json").write_text(record_calls.written(calls))
    return folder / "calls.json"


def differences(node, recorded, calls, text):
    """What the translated kernels give otherwise than plain Python."""
    translated = recorded.with_name("kernels.mjs")
    translated.write_text(text)
    done = subprocess.run([node, REPLAY, translated, recorded], capture_output=True, text=True, timeout=60, check=True)
    found = json.loads(done.stdout)
    assert found["calls"] == len(calls)
    return found["different"]


@pytest.mark.parametrize(
    "checked",
    [pytest.param(False, id="as it is"), pytest.param(True, id="with bounds checked", marks=pytest.mark.slow)],
)
def test_translated_kernels_compute_the_same_bytes(calls, node, recorded, checked):
    """Every array that a kernel writes, and what it returns."""
    kernels, types = record_calls.types_of(calls)
    assert {each.__name__ for each in kernels} >= {"run_events", "in_order", "one_by_one", "upward", "group_transfers"}
    assert differences(node, recorded, calls, translate.translate(kernels, types, checked)) == []


MUTANTS = {  # what stands there, and what a mistake would put there
    "a tie of events": ("(t === time) && (heap[(j + 1)] < code)", "(t === time) && (heap[(j + 1)] > code)"),
    "a sum in another order": (
        "((begin + network.latency[pair]) + took)",
        "(begin + (network.latency[pair] + took))",
    ),
    "a key": ("high * 2 ** 32 + low", "high * 2 ** 32 + low + 1"),
    "the least of equals": ("b < a ? b : a", "b > a ? b : a"),
    "an index": ("succ.bytes[e]", "succ.bytes[e + 1]"),
}


@pytest.mark.parametrize(
    "mutant", [pytest.param(name, marks=[pytest.mark.slow] * (i % 3 > 0)) for i, name in enumerate(MUTANTS)]
)
def test_a_wrong_translation_is_noticed(calls, node, recorded, mutant):
    """The test of the test: each mistake in the translated text changes some result."""
    kernels, types = record_calls.types_of(calls)
    right = translate.translate(kernels, types)
    before, after = MUTANTS[mutant]
    assert before in right
    assert differences(node, recorded, calls, right.replace(before, after))


def bits(x, y):
    return x | y


def text(x):
    return "a" if x else "b"


def names(x):
    return sum(x)


def loops(x):
    for i, _ in enumerate(x):
        x[i] = 0


def power(x):
    return x**0.5


def optional(x, y=1):
    return x + y


def tuples(x, y):
    return (x, y) < (y, x)


@pytest.mark.parametrize(
    "function", [bits, text, names, loops, power, optional, tuples], ids=lambda each: each.__name__
)
def test_what_has_another_meaning_in_javascript_is_refused(function):
    """With file and line."""
    with pytest.raises(
        translate.UntranslatableError, match=r"test_translation\.py, line \d+: .* is outside the part of Python"
    ):
        translate.check(function)


@pytest.mark.slow
def test_a_thousand_problems(node, tmp_path):
    """As above, with more of them, in pieces that fit into memory."""
    for seed in range(20):
        with pytest.MonkeyPatch.context() as patch, record_calls.recording() as found:
            patch.setenv("PLACELAB_JIT", "0")
            record_calls.run_all(problems.many(50, seed=seed))
        kernels, types = record_calls.types_of(found)
        assert differences(node, written(found, tmp_path), found, translate.translate(kernels, types)) == []

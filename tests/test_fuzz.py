"""The fuzz driver: every format it knows reads its own seeds, and a thousand damaged inputs each raise nothing else."""

from __future__ import annotations

import fuzz
import pytest

import placelab as pl

N_INPUTS = 300  # a few seconds for all formats; `python tests/fuzz.py FORMAT --minutes 10` is the long run


def ready(name: str):
    """Reader and seeds of a format; skips where the library it needs is not installed."""
    module, seeds = fuzz.FORMATS[name]
    try:
        read, files = fuzz.reader(module), seeds()
        for data in files:
            read(data)
    except (ImportError, pl.UnsupportedError) as error:
        pytest.skip(f"{name}: {error}")
    return read, files


@pytest.mark.parametrize("name", sorted(fuzz.FORMATS))
def test_damaged_files_are_refused_or_read(name):
    """Whatever the damage: a PlacelabError of one line, or a graph."""
    read, seeds = ready(name)
    faults = {fuzz.attempt(read, fuzz.damaged(seeds, 1, number)) for number in range(N_INPUTS)}
    assert [fault for fault in faults if fault.startswith("! ")] == []


def test_the_driver_sees_what_it_looks_for():
    """Another exception, an empty message and one of two lines are failures; a reader that takes all is none."""

    def lines(data):
        raise fuzz.PlacelabError("one\ntwo")

    assert fuzz.attempt(lambda data: data[99], b"").startswith("! IndexError at test_fuzz.py")
    assert fuzz.attempt(lines, b"").startswith("! not one sentence")
    assert fuzz.attempt(bytes.upper, b"") == "read"


def test_an_input_is_a_function_of_its_number():
    """So that a report names it."""
    seeds = fuzz.FORMATS["placelab_json"][1]()
    inputs = [fuzz.damaged(seeds, 0, number) for number in range(50)]
    assert inputs == [fuzz.damaged(seeds, 0, number) for number in range(50)] and len(set(inputs)) > 40

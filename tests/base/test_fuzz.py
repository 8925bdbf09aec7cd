"""The fuzz driver: all formats read their seeds, and damaged and hostile files raise errors of one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import fuzz
import hostile
import pytest

import placelab as pl
from placelab.formats.catalogue import GRAPH, PROFILE, readers

ROOT = str(Path(pl.__file__).parent.parent)
N_INPUTS = 300  # a few seconds for all formats; `python tests/support/fuzz.py FORMAT --minutes 10` is the long run


def ready(name: str):
    """Reader and seeds of a format; skips if the library it needs is not installed."""
    module, seeds = fuzz.FORMATS[name]
    try:
        read = fuzz.reader(module)
        files = seeds()
        for data in files:
            read(data)
    except (ImportError, pl.UnsupportedError) as error:
        pytest.skip(f"{name}: {error}")
    return read, files


@pytest.mark.parametrize("row", readers(GRAPH, PROFILE), ids=lambda row: row.title)
def test_every_reader_of_the_catalogue_is_fuzzed(row):
    """Each reader of graphs or profiles has seeds."""
    name = row.reader.rpartition(".")[2]
    assert row.reader in {module.partition(":")[0] for module, _ in fuzz.FORMATS.values()}, (
        f"{row.title} needs small files: a function {name}() in tests/support/samples.py, or a row of FORMATS in fuzz.py"
    )


@pytest.mark.parametrize("name", sorted(fuzz.FORMATS))
def test_damaged_files_are_refused_or_read(name):
    """Any damage gives a PlacelabError of one line, or a graph."""
    read, seeds = ready(name)
    faults = {fuzz.attempt(read, fuzz.damaged(seeds, 1, number)) for number in range(N_INPUTS)}
    assert [fault for fault in faults if fault.startswith("! ")] == []


def test_the_driver_sees_what_it_looks_for():
    """Other exceptions and messages that are empty or have two lines are failures; a reader that accepts all has none."""

    def lines(data):
        error = fuzz.PlacelabError("one two")
        error.args = ("one\ntwo",)  # it makes one line of two itself
        raise error

    assert fuzz.attempt(lambda data: data[99], b"").startswith("! IndexError at test_fuzz.py")
    assert fuzz.attempt(lines, b"").startswith("! not one sentence")
    assert fuzz.attempt(bytes.upper, b"") == "read"


def test_an_input_is_a_function_of_its_number():
    """A report's number reproduces the input."""
    seeds = fuzz.FORMATS["placelab_json"][1]()
    inputs = [fuzz.damaged(seeds, 0, number) for number in range(50)]
    assert inputs == [fuzz.damaged(seeds, 0, number) for number in range(50)] and len(set(inputs)) > 40


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(fuzz.FORMATS))
def test_files_that_break_programs_are_refused_in_little_memory(name):
    """Nested a million deep, huge lengths, zip bombs, …: one sentence each, below 200 MB, in a separate process."""
    ready(name)
    command = [sys.executable, hostile.__file__, name]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": ROOT})
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    assert len(rows) == 22 and {row[1] for row in rows} <= {"FormatError", "CycleError", "UnsupportedError"}, rows
    assert max(int(row[3]) for row in rows) < 200, rows

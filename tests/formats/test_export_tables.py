"""Tables of a schedule: every op and transfer with units, and no formulas for spreadsheets."""

from __future__ import annotations

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import many

import placelab as pl
from placelab.app import export
from placelab.formats import csv_tables


@pytest.fixture
def schedule():
    """A fork over two devices; the first op's name is a formula."""
    graph = pl.OpGraph.from_arrays(
        ["=cmd|' /C calc'!A1", "b, with a comma", "-3"],
        [2.0, 3.0, 1.0],
        [(0, 1), (0, 2)],
        edge_bytes=[4.0, 4.0],
        kind=["@x", "", "Add"],
        groups=[[0, 2]],
        group_names=["+g"],
        persistent=[1.0, 0.0, 0.0],
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=2.0))
    return pl.simulate(problem, pl.Placement(problem, [0, 1, 0]), "fifo")


def test_ops_are_read_back_by_pandas(schedule, tmp_path):
    """Column names have the unit; times are the schedule's."""
    table = pd.read_csv(export.csv(schedule, tmp_path / "ops.csv"))
    assert list(table) == [
        *("op", "kind", "group", "device", "start [s]", "finish [s]", "compute [operations]"),
        *("persistent [bytes]", "temporary [bytes]", "outputs [bytes]"),
    ]
    np.testing.assert_array_equal(table["finish [s]"], schedule.finish)
    assert table["device"].tolist() == ["dev0", "dev1", "dev0"] and table["persistent [bytes]"].tolist() == [1, 0, 0]
    assert table["op"][1] == "b, with a comma"


def test_transfers_say_what_goes_from_where_to_where(schedule, tmp_path):
    """One row per transfer; gzipped if the file name ends in .gz."""
    path = export.csv(schedule, tmp_path / "moved.csv.gz", table="transfers")
    head, *rows = csv.reader(io.StringIO(gzip.decompress(path.read_bytes()).decode()))
    assert head == ["producer", "output", "source", "destination", "size [bytes]", "start [s]", "finish [s]"]
    assert rows == [["'=cmd|' /C calc'!A1", "0", "dev0", "dev1", "4.0", "2.0", "4.0"]]


def test_no_cell_is_a_formula_unless_asked_for(schedule, tmp_path):
    """Names, kinds and groups come from untrusted files."""
    text = export.csv(schedule, tmp_path / "ops.csv").read_text()
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    plain = export.csv(schedule, tmp_path / "ops.csv", as_it_is=True).read_text()
    assert plain.replace("'=", "=") != text and "\n-3,Add,+g,dev0" in plain and "\n'-3,Add,'+g,dev0" in text


@given(st.text(min_size=1).filter(lambda name: "\n" not in name and "\0" not in name))
def test_any_name_is_one_cell(name):
    """A CSV reader returns names with quotes, commas and line breaks unchanged."""
    try:
        problem = pl.Problem(pl.OpGraph.from_arrays([name], [1.0], []), pl.Cluster([1.0]))
    except pl.FormatError:
        return
    text = "".join(csv_tables.ops_csv(pl.solve(problem, "single", "fifo"), as_it_is=True))
    assert list(csv.reader(io.StringIO(text, newline="")))[1][0] == name


def test_tables_have_a_row_for_everything(tmp_path):
    """On random problems under all models."""
    for problem in many(30, seed=9):
        schedule = pl.solve(problem.replace(memory="none"), "round-robin", "fifo")
        for table, n in (("ops", problem.graph.n_ops), ("transfers", len(schedule.transfers))):
            assert len(pd.read_csv(export.csv(schedule, tmp_path / "t.csv", table=table))) == n


def test_what_cannot_be_written_is_said(schedule, tmp_path):
    """Unknown table, no schedule, missing folder: one sentence each, and no file is left."""
    for what, path, options, words in (
        (schedule, tmp_path / "x.csv", dict(table="memory"), "no table 'memory'; there are ops and transfers"),
        (schedule, tmp_path / "x.csv", dict(table=["ops"]), r"no table \['ops'\]"),
        (schedule.problem, tmp_path / "x.csv", {}, "needs a Schedule, found a Problem"),
        (schedule, tmp_path / "no" / "x.csv", {}, "cannot be written"),
        (schedule, tmp_path, {}, "cannot be written"),
        (schedule, "a\0b", {}, "not the path of a file"),
    ):
        with pytest.raises(pl.FormatError, match=words):
            export.csv(what, path, **options)
    assert not list(tmp_path.parent.glob("*.partial")) and not list(tmp_path.iterdir())

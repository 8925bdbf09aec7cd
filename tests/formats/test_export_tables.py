"""Tables of a schedule: every op and transfer with units, and no formulas for spreadsheets."""

from __future__ import annotations

import csv
import gzip
import io
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import many

import placelab as pl
from placelab.app import export
from placelab.formats import exports
from placelab.formats.exports import TABLES


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
    text = "".join(exports.ops_csv(pl.solve(problem, "single", "fifo"), as_it_is=True))
    assert list(csv.reader(io.StringIO(text, newline="")))[1][0] == name


def test_tables_have_a_row_for_everything(tmp_path):
    """On random problems under all models."""
    for problem in many(30, seed=9):
        schedule = pl.solve(problem.replace(memory="none"), "round-robin", "fifo")
        for table, n in (("ops", problem.graph.n_ops), ("transfers", len(schedule.transfers))):
            assert len(pd.read_csv(export.csv(schedule, tmp_path / "t.csv", table=table))) == n


def rows_of(schedule, table):
    """The rows of a table, one cell after the other, as :mod:`csv` is to write them."""
    graph = schedule.problem.graph
    devices = schedule.problem.cluster.names
    if table == "ops":
        for op in range(graph.n_ops):
            group = graph.group_names[graph.group[op]] if graph.group[op] >= 0 else ""
            compute = "" if np.isnan(graph.compute[op]) else float(graph.compute[op])
            costs = [float(column[op]) for column in (graph.persistent, graph.temporary, graph.outputs)]
            times = float(schedule.start[op]), float(schedule.finish[op])
            yield graph.names[op], graph.kind[op], group, devices[schedule.device[op]], *times, compute, *costs
    else:
        for tensor, source, destination, *times in schedule.transfers.tolist():
            producer = graph.tensor_producer[tensor]
            number = "control" if graph.tensor_control[tensor] else tensor - graph.op_tensor_ptr[producer]
            size = float(graph.tensor_bytes[tensor])
            yield graph.names[producer], number, devices[source], devices[destination], size, *times


@pytest.mark.parametrize("as_it_is", [True, False])
@pytest.mark.parametrize("table", ["ops", "transfers"])
def test_a_table_is_what_csv_writes(schedule, table, as_it_is):
    """Byte by byte: unusual names, control edges, numbers of all sizes, costs that are unknown, more rows than a piece has."""
    names = ["a", "-b", 'say "c"', "d,e", "f\rg", "\t", " h ", "=1", *(f"op{i}" for i in range(2000)), "@"]
    n = len(names)
    rng = np.random.default_rng(1)
    costs = np.where(rng.random(n) < 0.3, 0.0, 10.0 ** rng.uniform(-300, 20, n))
    unknown = rng.random(n) < 0.1
    edges = [(i, i + 3) for i in range(n - 3)]
    control = rng.random(len(edges)) < 0.1
    graph = pl.OpGraph.from_arrays(
        names,
        np.where(unknown, np.nan, costs),
        edges,
        time={"gpu": np.where(unknown, 1.0, np.nan)},
        edge_bytes=np.where(control, 0.0, 10.0 ** rng.uniform(-5, 20, len(edges))),
        edge_control=control,
        kind=["x", "y,z", "", "-"] * (n // 4) + ["w"] * (n % 4),
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=2.0, types=["gpu", "gpu"], names=["+1", "2,3"]))
    by_hand = pl.simulate(problem, pl.Placement(problem, np.arange(n) % 2), "fifo")
    for one in (schedule, by_hand):
        written = "".join(TABLES[table](one, as_it_is=as_it_is))
        file = io.StringIO()
        for row in rows_of(one, table):
            formulas = [not as_it_is and isinstance(cell, str) and cell.startswith(exports.FORMULA) for cell in row]
            csv.writer(file).writerow(f"'{cell}" if bad else cell for cell, bad in zip(row, formulas, strict=True))
        assert written.partition("\r\n")[2] == file.getvalue()


@pytest.mark.parametrize("table", ["ops", "transfers"])
def test_no_row_is_written_by_itself(table):
    """Tables of large schedules are written in columns, with fewer calls of Python functions than rows."""
    problem = pl.Problem(pl.generators.layered(4000, seed=1), pl.Cluster.uniform(4))
    schedule = pl.simulate(problem, pl.Placement(problem, np.arange(4000) % 4), "fifo")
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        text = "".join(TABLES[table](schedule))
    finally:
        sys.setprofile(before)
    assert calls < text.count("\n") > 3000


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


def test_numbers_among_texts_stay_numbers():
    """A number below 0 is no formula, where a text that begins as one is."""
    columns = {"name": ["=a", "b"], "value": np.array([-2.5, "-x"], object)}
    assert exports.columns_csv(columns) == "name,value\r\n'=a,-2.5\r\nb,'-x\r\n"

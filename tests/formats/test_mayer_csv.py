"""Mayer's CSV: meaning of the columns, the published graphs, invalid files."""

from __future__ import annotations

import pytest
import samples

import placelab as pl
from placelab.formats.task_graphs import mayer_csv
from placelab.graphs.datasets import own_cluster

(SAMPLE,) = samples.mayer_csv()
HEAD, *ROWS = SAMPLE.decode().splitlines()


def test_columns():
    """Ops by number, one tensor each, a group, a constraint; units are seconds on the file's own processor."""
    graph = mayer_csv.loads(SAMPLE)
    assert graph.names.tolist() == ["1", "2", "3"] and graph.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert graph.compute.tolist() == [8, 6, 10] and graph.tensor_bytes.tolist() == [4, 5]
    assert graph.memory.tolist() == [9, 7, 0] and graph.kind.tolist() == ["x", "MatMul", ""]
    assert graph.device_sets == (("GPU", "*"),) and own_cluster(graph).n_devices == 4


def test_published_graphs(shared_data):
    """Numbers of ops and edges equal those of the paper's program."""
    folder = shared_data("mayer2017")
    sizes = [pl.load(folder / f"{name}_network.csv") for name in ("convolutional", "recurrent")]
    assert [(g.n_ops, g.n_edges) for g in sizes] == [(346, 531), (3068, 5506)]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["1,2"], "line 2 has 2 columns; expected at least 6"),
        ([], "there are no ops"),
        (["x,,,,1,1"], "line 2 names op 'x'; expected a whole number"),
        (["1,2,,,1,1"], "line 2 names op 2, which has no line"),
        (["1,,,7,1,1"], "line 2 names op 7, which has no line"),
        (["1,,,,1,1", "1,,,,1,1"], "two ops are called '1'"),
        (["1,,,,-1,1", "2,,,,0,0"], "tensor size in line 2 is -1"),
        (["1,,,,1,nan"], "operations in line 2 is nan"),
        (["1,1,,,1,1"], "consumes its own output"),
        (["1,2,,,1,1", "2,1,,,1,1"], "has a cycle"),
    ],
)
def test_files_that_are_none_say_what_was_found(rows, words):
    """The error is one line that begins with the file's name."""
    with pytest.raises(pl.PlacelabError, match=words) as caught:
        mayer_csv.loads("\n".join([HEAD, *rows]).encode(), "bad.csv")
    assert str(caught.value).startswith("bad.csv") and "\n" not in str(caught.value)


def test_other_tables_are_none():
    """The first line names the columns."""
    with pytest.raises(pl.FormatError, match="does not name the columns"):
        mayer_csv.loads(b"op,device\n1,2\n")

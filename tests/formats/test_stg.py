"""Standard Task Graphs: the three forms of the archive, round trips, and invalid files."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import samples
from hypothesis import given
from problems import problems

import placelab as pl
from placelab.formats.task_graphs import stg
from placelab.graphs.datasets import own_cluster

PLAIN, WITH_COSTS, PROTOTYPE = samples.stg()


def test_tasks_times_and_predecessors():
    """Dummies are ops without cost; edges cost nothing if the file has no costs."""
    graph = stg.loads(PLAIN)
    assert graph.names.tolist() == ["0", "1", "2", "3", "4"] and graph.compute.tolist() == [0, 20, 3, 5, 0]
    assert graph.edges.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3], [3, 4]] and not graph.edge_bytes.any()


def test_communication_costs_follow_each_predecessor():
    """Costs are identified by the order of numbers, on their own lines or not."""
    graph = stg.loads(WITH_COSTS)
    assert dict(zip(map(tuple, graph.edges.tolist()), graph.edge_bytes, strict=True))[1, 2] == 7.5
    again = stg.loads(b"2\n" + b" ".join(WITH_COSTS.split()[1:]))
    assert again.edge_bytes.tolist() == graph.edge_bytes.tolist() == [0, 0, 7.5, 0]


def test_the_prototype_set_names_processors_and_has_no_entry_dummy():
    """Its tasks count from 1; the graph comes with its cluster, on which a unit is a second."""
    graph = stg.loads(PROTOTYPE)
    assert graph.names.tolist() == ["1", "2", "3", "4"] and graph.edges.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]
    problem = pl.Problem(graph, own_cluster(graph))
    assert problem.cluster.n_devices == 2 and pl.solve(problem, "heft", "planned").makespan == 34
    assert own_cluster(stg.loads(PLAIN)).n_devices == 4


@given(problems(time_table=False, groups=False))
def test_what_is_written_is_read_again(problem):
    """Times, edges and bytes of any graph without a time table; edges with a shared tensor become separate tensors."""
    graph = problem.graph
    again = stg.loads(stg.dumps(graph).encode())
    np.testing.assert_array_equal(again.compute, graph.compute)
    assert sorted(zip(*again.edges.T.tolist(), again.edge_bytes, strict=True)) == sorted(
        zip(*graph.edges.T.tolist(), graph.edge_bytes, strict=True)
    )


def test_zipped_files(tmp_path):
    """A path, gzipped or not; the title is the file name."""
    path = tmp_path / "g.stg"
    path.write_bytes(gzip.compress(PLAIN))
    assert (pl.load(path).n_ops, pl.load(path).title) == (5, "g")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"", "the first line holds 0 numbers"),
        (b"# nothing\n", "the first line holds 0 numbers"),
        (b"3 4 5 6\n", "the first line holds 4 numbers"),
        (b"x\n", "a number of the first line is 'x'"),
        (b"99999999\n", "expected a whole number up to 2,000,000"),
        (b"1 99999\n", "expected a whole number up to 2,000"),
        (b"3\n", "there are no tasks"),
        (b"0\n", "there are no tasks"),
        (b"1\n0 0 0\n1 1 1 0\n2 1 1 0\n3 1 1 0\n4 1 1 0\n", "says 1 tasks, but there are 5"),
        (b"2\n0 0", "task 0 ends too early"),
        (b"2\n0 0 0\n5 1 1 0\n", "after 1 tasks comes '5'; expected task 1"),
        (b"2\n0 -1 0\n1 1 1 0\n", "time of task 0 is -1; expected a finite number, 0 or more"),
        (b"2\n0 nan 0\n1 1 1 0\n", "time of task 0 is nan"),
        (b"2\n0 1e999 0\n1 1 1 0\n", "time of task 0 is 1e999"),
        (b"2\n0 0 0\n1 1 1 9\n", "task 1 names predecessor 9; tasks are 0 to 1"),
        (b"2\n1 0 0\n2 1 1 0\n", "task 2 names predecessor 0; tasks are 1 to 2"),
        (b"2\n0 0 0\n1 1 7 0\n", "task 1 has 7 predecessors, but the file ends"),
        (b"2\n0 0 0\n1 1 99999999999 0\n", "expected a whole number up to 2,000,000"),
        (b"2\n0 0 0\n1 1 -1 0\n", "is '-1'; expected a whole number"),
        (b"2\n0 1 1 1\n1 1 1 0\n", "has a cycle: '1' → '0' → '1'"),
        (b"2\n0 1 1 0\n1 1 1 0\n", "op '0' consumes its own output"),
        (b"\xff\xfa", "not text in UTF-8"),
    ],
)
def test_files_that_are_none_say_what_was_found(text, words):
    """The error is one line that begins with the file's name."""
    with pytest.raises(pl.PlacelabError, match=words) as caught:
        stg.loads(text, "bad.stg")
    assert str(caught.value).startswith("bad.stg") and "\n" not in str(caught.value)


def test_a_table_of_times_cannot_be_written():
    """A Standard Task Graph has one time per task."""
    with pytest.raises(pl.FormatError, match="table of times"):
        stg.dumps(pl.load("topcuoglu"))

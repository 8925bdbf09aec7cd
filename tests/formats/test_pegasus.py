"""Workflows of Pegasus 5 in YAML, and hostile YAML."""

from __future__ import annotations

import fuzz
import pytest
import samples

import placelab as pl
from placelab.formats.task_graphs import pegasus
from placelab.graphs import loading

WORKFLOW = samples.pegasus()[0].decode()


def loaded(text):
    return pegasus.loads(text.encode(), "w.yml")


def test_jobs_files_and_children():
    """A size stands where the file is used, in its metadata, or in the catalogue; each writer's counts."""
    graph = loaded(WORKFLOW)
    assert graph.names.tolist() == ["A", "B", "C"] and graph.kind.tolist() == ["split", "pegasusWorkflow", "other"]
    assert (graph.compute / 1e13).tolist() == [13.5, 0, 0]
    assert graph.edges.tolist() == [[0, 1], [0, 2]] and graph.edge_bytes.tolist() == [1000, 0]
    assert graph.outputs.tolist() == [1000, 0, 1000]
    costs = graph.metadata["costs"]
    assert (costs["untimed"], costs["unsized"], costs["other_sizes"]) == (2, 1, 1)
    assert (costs["external"], costs["external_bytes"]) == (1, 100)


@pytest.mark.parametrize("name", ["workflow.yml", "workflow.yaml", "workflow.dax", "w.xml", "W.YML.gz"])
@pytest.mark.parametrize("before", [b"", b"\n\n", b"\xef\xbb\xbf", b"---\n", b"# a comment\n"])
def test_the_name_may_be_that_of_a_dax(name, before):
    """Content tells YAML from XML."""
    graph = loading.loads(before + WORKFLOW.encode(), name)
    assert graph.metadata["provenance"] == "Pegasus 5.0" and graph.n_edges == 2


def test_values_are_texts_whatever_yaml_makes_of_them():
    """``no``, ``1e3``, ``012`` and a date are names."""
    jobs = "\n".join(f"- {{type: job, id: {name}, name: null}}" for name in ("no", "1e3", "012", "2024-01-01"))
    assert loaded(f"pegasus: 5.0\njobs:\n{jobs}").names.tolist() == ["no", "1e3", "012", "2024-01-01"]


BOMB = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12))
HOSTILE = {
    "empty": ("", "it is not a workflow of Pegasus 5"),
    "a list": ("- a", "it is not a workflow of Pegasus 5"),
    "no jobs": ("pegasus: '5.0'", "there are no jobs"),
    "another version": ("pegasus: '6.1'\njobs: []", "has version '6.1' of Pegasus; this placelab reads 5"),
    "an alias bomb": (f"pegasus: '5.0'\n{BOMB}jobs: *a11", "more than 3,000,000 values"),
    "an alias of itself": ("pegasus: '5.0'\njobs: &a [*a]", "'a' is used before its value ends"),
    "an alias of nothing": ("pegasus: '5.0'\njobs: *a", "'a' is used before its value ends"),
    "a deep list": ("pegasus: '5.0'\njobs: " + "[" * 3000, "nests more than 100"),
    "a tag": ("pegasus: '5.0'\njobs: !!python/object/apply:os.system ['ls']", "entry 0 of jobs is a text"),
    "a key that is a list": ("? [a]\n: b", "a list or an object is a key"),
    "a key twice": ("pegasus: '5.0'\npegasus: '5.0'", "line 2 gives 'pegasus' twice"),
    "two documents": ("pegasus: '5.0'\n---\na: b", "a second document begins"),
    "open quotes": ("pegasus: '5.0", "it is not YAML: line 1: "),
    "a tab": ("pegasus: '5.0'\njobs:\n\t- a", "it is not YAML: line 3: "),
    "a job without id": ("pegasus: '5.0'\njobs: [{type: job}]", "id of job 0 is None; expected a text"),
    "an id twice": (WORKFLOW.replace("id: B", "id: A", 1), "two jobs have the id 'A'"),
    "a child that is none": (WORKFLOW.replace("[B, C]", "[B, ghost]"), "'ghost' is called a parent or child"),
    "a negative runtime": (WORKFLOW.replace('"13.5"', "-1"), "runtime of job 'A' is -1"),
    "a size that is none": (WORKFLOW.replace("size: 1000", "size: big"), "size of file 'a.txt' of job 'A' is 'big'"),
    "a size that is a list": (WORKFLOW.replace("size: 1000", "size: [1]"), "size of file 'a.txt' of job 'A' is"),
    "a cycle": (WORKFLOW.replace("children: [B, C]", "children: [B, C]\n- {id: B, children: [A]}"), "cycle"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_sentence(name):
    """The error names the file and what was found, and reading takes little memory."""
    text, words = HOSTILE[name]
    before = fuzz.peak()
    with pytest.raises(pl.PlacelabError, match=words) as refusal:
        pegasus.loads(text.encode(), "h.yml")
    assert fuzz.peak() - before < 200 << 20
    assert str(refusal.value).startswith("h.yml: ") and "\n" not in str(refusal.value)

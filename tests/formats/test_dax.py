"""DAX: jobs, files and parents of Pegasus workflows, and hostile XML."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import fuzz
import pytest
from dax_files import VERSION_3, WORKFLOW

import placelab as pl
from placelab.formats.task_graphs import dax

ESTEE = Path(__file__).resolve().parents[3] / "shared" / "data" / "estee"
BREAK = '<adag><job id="a" name="a" runtime="-1&#10;"/></adag>'


def loaded(text):
    return dax.loads(text.encode(), "w.dax")


def test_a_line_break_in_a_value_is_none_in_the_message():
    """A runtime of a line break and -1 is read as a number, and refused in one line."""
    with pytest.raises(pl.FormatError) as caught:
        loaded(BREAK)
    assert "expected a finite number, 0 or more" in str(caught.value) and len(str(caught.value).splitlines()) == 1


def test_jobs_files_and_parents():
    """The diamond workflow: one tensor per file, for any number of readers; a parent without a file only orders."""
    graph = loaded(WORKFLOW)
    assert graph.names.tolist() == ["ID0", "ID1", "ID2", "ID3"]
    assert graph.kind.tolist() == ["split", "work", "work", "join"]
    assert (graph.compute / 1e13).tolist() == [13.5, 2, 4, 0]
    assert graph.edges.tolist() == [[0, 1], [0, 2], [0, 3], [1, 3], [2, 3]]
    assert graph.edge_bytes.tolist() == [1000, 1000, 0, 200, 300]
    assert graph.tensor_control.sum() == 1
    assert graph.outputs.tolist() == [1000, 200, 300, 0]
    assert graph.edge_tensor[0] == graph.edge_tensor[1]
    assert graph.metadata["name"] == "diamond"
    expected = {"compute": "seconds × 1e+13", "unsized": 1, "untimed": 1, "external": 1, "external_bytes": 100}
    assert graph.metadata["costs"] == expected


def test_version_3_names_files_and_profiles_differently():
    """Sub-workflows are jobs; a runtime in a namespace other than Pegasus' is ignored."""
    graph = loaded(VERSION_3)
    assert graph.names.tolist() == ["A", "B"]
    assert (graph.compute / 1e13).tolist() == [1.25, 0]
    assert graph.edge_bytes.tolist() == [8]


def test_a_file_that_several_write_comes_from_the_parent():
    """Without a parent among the writers it existed before."""
    twice = WORKFLOW.replace('"c.txt" link="output"', '"b.txt" link="output"')
    assert loaded(twice).edges.tolist() == [[0, 1], [0, 2], [0, 3], [1, 3], [2, 3]]
    nobody = twice.replace('<parent ref="ID1"/><parent ref="ID2"/>', "")
    assert loaded(nobody).edges.tolist() == [[0, 1], [0, 2], [0, 3]]
    assert loaded(nobody).metadata["costs"]["unparented"] == 1


def uses(name, *files):
    """A job with (file, link, size)."""
    lines = (f'<uses file="{f}" link="{link}" size="{size}"/>' for f, link, size in files)
    return f'<job id="{name}" name="n" runtime="1">{"".join(lines)}</job>'


def test_the_size_of_a_tensor_is_its_writers():
    """Each of several writers has its own; readers count only where the writer gives none, and the largest."""
    jobs = [
        uses("A", ("f", "output", 100), ("g", "output", ""), ("h", "output", "")),
        uses("B", ("f", "output", 7)),
        uses("C", ("f", "input", 300), ("g", "input", 5)),
        uses("D", ("f", "input", 50), ("g", "input", 9), ("h", "input", "")),
        uses("E", ("f", "inout", 3), ("x", "input", 40), ("y", "input", 2)),
        uses("F", ("f", "input", 3), ("x", "input", 60)),
    ]
    parents = [("A", "C"), ("B", "D"), ("A", "D"), ("B", "E"), ("E", "F")]
    listed = [f'<child ref="{child}"><parent ref="{parent}"/></child>' for parent, child in parents]
    graph = loaded(f"<adag>{''.join(jobs + listed)}</adag>")
    found = {(*graph.names[list(edge)], size) for edge, size in zip(graph.edges, graph.edge_bytes, strict=True)}
    data = {("A", "C", 100), ("A", "C", 9), ("A", "D", 100), ("A", "D", 9), ("A", "D", 0), ("B", "E", 7), ("E", "F", 3)}
    assert found == data | {("B", "D", 0)}
    counts = graph.metadata["costs"]
    assert (counts["unsized"], counts["sized_by_readers"], counts["other_sizes"]) == (1, 1, 4)
    assert (counts["external"], counts["external_bytes"]) == (2, 62)


def test_negative_sizes_count_without_their_sign():
    """They are counted, and inspect's rows say so; a number below infinity stays one."""
    graph = loaded(
        f"<adag>{uses('A', ('f', 'output', -5))}{uses('B', ('f', 'input', '-0'), ('g', 'input', ' -7 '))}</adag>"
    )
    assert graph.edge_bytes.tolist() == [5]
    rows = dict(pl.costs.sources(graph))
    assert rows["negative size"] == "2 sizes count without their signs"
    assert rows["from outside"] == "1 file that no job writes costs nothing, 7 B"
    for size in ("--5", "-nan", "-1e999", "- 5x"):
        with pytest.raises(pl.FormatError, match="line 1: size of file 'f'"):
            loaded(f"<adag>{uses('A', ('f', 'output', size))}</adag>")


def test_a_job_that_changes_a_file_does_not_wait_for_itself():
    """``inout`` is both; only another job's file travels."""
    own = WORKFLOW.replace('"b.txt" link="output"', '"b.txt" link="inout"')
    assert loaded(own).edges.tolist() == loaded(WORKFLOW).edges.tolist()


def test_gzip_bytes_paths_and_encodings_give_the_same_graph(tmp_path):
    """UTF-16 too, as the XML declaration says."""
    path = tmp_path / "w.dax"
    path.write_bytes(gzip.compress(WORKFLOW.encode()))
    wide = WORKFLOW.replace("UTF-8", "UTF-16").encode("utf-16")
    for graph in (pl.load(path), dax.loads(wide)):
        assert graph.edges.tolist() == loaded(WORKFLOW).edges.tolist()


def test_published_workflows_survive_the_way_through_xml():
    """Five published Pegasus workflows, converted from JSON to DAX here: every job, file and second is read."""
    if not ESTEE.is_dir():
        pytest.skip(f"{ESTEE} is not there: the published task graphs are not part of the project")
    for name, tasks in published(ESTEE / "pegasus.zip"):
        graph = loaded(as_dax(tasks))
        assert graph.n_ops == len(tasks) > 60, name
        assert graph.n_edges == sum(len({tuple(i) for i in task["inputs"]}) for task in tasks)
        assert graph.compute.sum() / 1e13 == pytest.approx(sum(task["d"] for task in tasks))
        assert graph.tensor_bytes.sum() == pytest.approx(sum(out["s"] for task in tasks for out in task["outputs"]))


def published(path):
    """(name, tasks) of each workflow in an archive; a task has d seconds, outputs, and inputs as (task, output)."""
    import zipfile

    with zipfile.ZipFile(path) as archive:
        table = json.loads(archive.read(archive.namelist()[0]))
    return [(table["graph_name"][key], json.loads(table["graph"][key])) for key in table["graph"]]


def as_dax(tasks):
    lines = ['<adag name="x">']
    for v, task in enumerate(tasks):
        lines.append(f'<job id="t{v}" name="task" runtime="{task["d"]!r}">')
        lines += [f'<uses file="f{u}.{k}" link="input"/>' for u, k in task["inputs"]]
        lines += [f'<uses file="f{v}.{k}" link="output" size="{out["s"]!r}"/>' for k, out in enumerate(task["outputs"])]
        lines.append("</job>")
    return "\n".join([*lines, "</adag>"])


# -------------------------------------------------------------------- untrusted files


def with_dtd(declared, use="x"):
    return f'<?xml version="1.0"?><!DOCTYPE adag [{declared}]><adag><job id="{use}" name="n"/></adag>'


LAUGHS = "".join(f'<!ENTITY l{i + 1} "{f"&l{i};" * 10}">' for i in range(9))

HOSTILE = {
    "empty": ("", "it is not XML: no element found"),
    "text": ("not xml", "it is not XML: syntax error: line 1"),
    "another root": ("<graphml/>", "its first element is 'graphml'; expected 'adag'"),
    "no job": ("<adag/>", "it has no job"),
    "truncated": (WORKFLOW[:-30], "it is not XML"),
    "a document type": ('<!DOCTYPE adag SYSTEM "http://example.com/x.dtd"><adag/>', "declares a document type"),
    "a billion laughs": (with_dtd('<!ENTITY l0 "ha">' + LAUGHS, "&l9;"), "declares a document type"),
    "a file of this machine": (with_dtd('<!ENTITY e SYSTEM "file:///etc/passwd">', "&e;"), "declares a document type"),
    "a parameter entity": (with_dtd('<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;'), "declares a document type"),
    "an unknown entity": ('<adag><job id="&x;"/></adag>', "it is not XML: undefined entity"),
    "a million elements deep": ("<adag>" + "<a>" * 1_000_000, "line 1 nests more than 100 elements"),
    "a tag without end": ('<adag name="' + "x" * 9_000_000, "line 1 has a tag of more than 1,048,576 bytes"),
    "a comment without end": ("<adag><!--" + "x" * 9_000_000, "line 1 has a tag of more than 1,048,576 bytes"),
    "a thousand attributes": (
        "<adag><job " + " ".join(f'a{i}="1"' for i in range(1000)) + "/></adag>",
        "100 attributes",
    ),
    "an encoding nobody knows": ('<?xml version="1.0" encoding="klingon"?><adag/>', "it is not XML: unknown encoding"),
    "an encoding of several bytes": ('<?xml version="1.0" encoding="gb18030"?><adag/>', "it is not XML"),
    "ids twice": (WORKFLOW.replace('"ID1" name', '"ID0" name'), "line 9: two jobs have the id 'ID0'"),
    "a job without id": (WORKFLOW.replace('job id="ID1"', "job"), "line 9: a job has no id"),
    "a parent that is none": (WORKFLOW.replace('parent ref="ID1"', 'parent ref="ghost"'), "'ghost' is called a parent"),
    "a child without ref": (WORKFLOW.replace('child ref="ID1"', "child"), "line 19: a child has no ref"),
    "a file without a name": (WORKFLOW.replace('file="b.txt" link="output"', ""), "a file has no name"),
    "a runtime that is no number": (WORKFLOW.replace('"13.5"', '"long"'), "line 4: runtime of job 'ID0' is 'long'"),
    "a negative runtime": (WORKFLOW.replace('"13.5"', '"-1"'), "line 4: runtime of job 'ID0' is -1"),
    "no number at all": (WORKFLOW.replace('"13.5"', '"nan"'), "line 4: runtime of job 'ID0' is nan"),
    "an infinite size": (WORKFLOW.replace('size="200"', 'size="1e999"', 1), "size of file 'b.txt' is 1e999"),
    "a runtime of a megabyte": (VERSION_3.replace("1.25", "1" * 1_000_000), "runtime of job 'A' is 1111"),
    "a cycle": (WORKFLOW.replace('parent ref="ID0"/></child>', 'parent ref="ID3"/></child>', 1), "cycle"),
    "its own parent": (
        WORKFLOW.replace('parent ref="ID0"/></child>', 'parent ref="ID1"/></child>', 1),
        "its own output",
    ),
    "a name of two lines": (WORKFLOW.replace('"ID0"', '"ID&#10;0"'), "is not a name"),
    "a null byte": ("<adag>\x00</adag>", "it is not XML"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_one_sentence(name):
    """The error names the file, the line and what was found, and reading takes little memory."""
    text, words = HOSTILE[name]
    before = fuzz.peak()
    with pytest.raises(pl.PlacelabError, match=words) as refusal:
        dax.loads(text.encode(), "h.dax")
    assert fuzz.peak() - before < 200 << 20
    assert str(refusal.value).startswith("h.dax: ") and "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "before", [b"\n", b"\xef\xbb\xbf\r\n\t ", b"\n\n"], ids=["newline", "mark and blanks", "newlines"]
)
def test_blanks_before_the_declaration(tmp_path, before):
    """They are skipped, as JSON's are; a message names the line of the file."""
    path = tmp_path / "blanks.dax"
    path.write_bytes(before + WORKFLOW.encode())
    plain = tmp_path / "plain.dax"
    plain.write_text(WORKFLOW)
    there = pl.load(path)
    here = pl.load(plain)
    assert ([*there.names], there.edges.tolist()) == ([*here.names], here.edges.tolist())
    assert (there.compute.tolist(), there.edge_bytes.tolist()) == (here.compute.tolist(), here.edge_bytes.tolist())
    path.write_bytes(before + b'<?xml version="1.0"?>\n<adag>\n<job id="a" runtime="-1"/></adag>')
    line = 3 + before.count(b"\n")
    with pytest.raises(pl.FormatError, match=f"line {line}: runtime of job 'a' is -1"):
        pl.load(path)

"""Limits on untrusted files: memory, nesting, decompression, paths."""

from __future__ import annotations

import ast
import gzip
import json
import math
import os
import sys
import zlib
from pathlib import Path

import hostile
import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prepared import Prepared

import placelab as pl
from placelab import formats
from placelab.base import files
from placelab.formats.task_graphs.workflows import workflow_edges
from placelab.problem import graph_checks

MIB = 1 << 20


def parse(data: bytes):
    """`data`, parsed as JSON."""
    return files.json_of(data, "bad.json", "a graph")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"[" * 1_000_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b"[" * 101 + b"]" * 101, "nested too deeply: over 100"),
        (b'{"a":' * 101 + b"1" + b"}" * 101, "nested too deeply: over 100"),
        (b"[" + b"{}," * (2 * MIB) + b"1]", "so many lists, objects or values"),
        (b"[" + b"[]," * (4 * MIB) + b"1]", "so many lists, objects or values"),
        (b'{"a":1,"a":2}', "gives 'a' twice"),
        (b"[1,Infinity]", "holds Infinity, which is not JSON"),
        (b"[" + b"9" * 5000 + b"]", "has a number of more than 4,300 digits"),
        (b"\xef\xbb\xbf{", "is not JSON"),
        (b"\x80", "is not text in UTF-8"),
        (b" \n", "is empty; expected a graph"),
        (b"", "is empty; expected a graph"),
    ],
)
def test_json_that_breaks_programs_is_refused_in_a_sentence(data, words):
    """The error is one line that begins with the file's name."""
    with pytest.raises(pl.FormatError, match=words) as caught:
        parse(data)
    assert str(caught.value).startswith("bad.json ") and "\n" not in str(caught.value)


def test_json_nested_as_deep_as_allowed_is_read():
    """A hundred nested lists or objects, and a byte order mark."""
    assert parse(b"\xef\xbb\xbf" + b"[" * 100 + b"]" * 100) is not None
    assert parse(b'{"a":' * 100 + b"1" + b"}" * 100)["a"]["a"]


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
                    lambda some: st.lists(some) | st.dictionaries(st.text(), some)))  # fmt: skip
def test_json_of_ordinary_files_is_read_as_it_is(document):
    """Plain or gzipped."""
    data = json.dumps(document).encode()
    assert parse(data) == document == parse(gzip.compress(data, 1))


def test_a_column_of_numbers_may_be_long():
    """The column of a graph of a million ops is accepted."""
    assert len(parse(b"[" + b"12.5," * MIB + b"0]")) == MIB + 1


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (gzip.compress(bytes(40 * MIB), 1, mtime=0), "unpacks to more than 33,554,432 bytes"),
        (gzip.compress(b"x", mtime=0)[:-1], "not a whole gzip file"),
        (gzip.compress(b"x", mtime=0) + b"rubbish", "not a whole gzip file"),
        (b"\x1f\x8b", "not a whole gzip file"),
        (b"\x1f\x8b\x08\x00" + b"\xff" * 100, "not a whole gzip file"),
        (gzip.compress(b"abc" * 99, mtime=0)[:20] + b"\x00" * 40, "not a whole gzip file"),
    ],
)
def test_gzip_files_that_lie(data, words):
    """Gzip bombs, truncated and damaged gzip files are refused."""
    with pytest.raises(pl.FormatError, match=words):
        files.unzipped(data, "bad.gz")


def test_a_bomb_of_many_parts_is_stopped_too():
    """A gzip file may have several parts, which are unpacked in turn."""
    part = gzip.compress(bytes(8 * MIB), 1)
    with pytest.raises(pl.FormatError, match="unpacks to more than"):
        files.unzipped(part * 5, "bad.gz")


def test_a_file_zipped_twice_is_refused():
    """The error names the remedy."""
    with pytest.raises(pl.FormatError, match=r"x\.gz is a gzip file inside a gzip file; unpack it once"):
        files.unzipped(gzip.compress(gzip.compress(b"x")), "x.gz")


def test_what_unpacks_to_less_than_a_hundred_times_its_size_is_read():
    """This holds also beyond 32 MiB, up to 1 GiB."""
    data = b"".join(zlib.crc32(i.to_bytes(4, "big")).to_bytes(4, "big") + bytes(196) for i in range(200_000))
    assert len(data) > files.MAX_SMALL and files.unzipped(gzip.compress(data, 1), "x") == data


def test_files_larger_than_the_limit_are_not_read(tmp_path):
    """A sparse file of a terabyte is refused by its size, without reading."""
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(pl.FormatError, match=r"large\.json has 1,099,511,627,776 bytes; files over 268,435,456"):
        files.read_file(path, "a graph")


def test_a_file_that_grows_is_not_read(tmp_path, monkeypatch):
    """Its size was checked before; what is appended later might never end."""
    path = tmp_path / "log.json"
    path.write_bytes(b"{}")
    small = os.stat_result((0o100644, *[0] * 5, 1, *[0] * 3))
    with monkeypatch.context() as patched:
        patched.setattr(files.Path, "stat", lambda self, **_: small)
        with pytest.raises(pl.FormatError, match=r"log\.json grows while it is read"):
            files.read_file(path, "a graph")


@pytest.fixture(scope="module")
def readers():
    """A process that has imported what reads files; its forks report their own peak memory."""
    support = str(Path(hostile.__file__).parent)
    prepared = Prepared(f"import sys; sys.path.append({support!r}); import hostile, resource, placelab.base.files")
    yield prepared
    prepared.close()


HOSTILE = {
    "deep": 'b"[" * 10**6',
    "objects": 'b"[" + b"{}," * (4 << 20) + b"1]"',
    "open objects": 'b"{" * (8 << 20)',
    "bomb": "b''.join([zip.compress(bytes(1 << 20)) for _ in range(400)] + [zip.flush()])",
    "columns": 'b"[" + b"1.5," * (2 << 20) + b"1]"',
    "texts": 'b"[" + b\'"a",\' * (2 << 20) + b"1]"',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_uploads_stay_within_200_mb(name, readers):
    """Up to 8 MiB of hostile data, in a separate process whose peak memory the system reports."""
    code = f"""
import resource, zlib
from placelab.base.files import json_of
import placelab
zip = zlib.compressobj(1, zlib.DEFLATED, 31)
held = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
data = {HOSTILE[name]}
before = held()
try:
    json_of(data, "x", "a graph")
except placelab.FormatError:
    pass
print(held() - before)
"""
    run = readers.run([sys.executable, "-c", code], check=True)
    assert int(run.stdout) < 200


RATHER_LONG = {"times by default", "outputs of one op", "several writers"}  # each beside one that meets the same limits
SWELLING = [pytest.param(name, marks=[pytest.mark.slow] * (name in RATHER_LONG)) for name in hostile.SWELLING]


@pytest.mark.parametrize("name", SWELLING)
def test_small_files_do_not_become_large(name, readers):
    """Refused or read, they take at most 200 MB, and 3 s of processor time per 10 MB begun: 1 s, and what a busy machine adds."""
    run = readers.run([sys.executable, hostile.__file__, name], check=True)
    label, outcome, seconds, grown, size = run.stdout.decode().split("\n")[0].split("\t")
    assert label == name and outcome in ("read", "FormatError")
    assert float(seconds) < 3 * math.ceil(int(size) / 1e7) and int(grown) < 200


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"ops": 2_000_001}, "2,000,001 ops; at most 2,000,000"),
        ({"ops": 9, "edges": 2_000_001}, "2,000,001 edges between 9 ops; at most 2,000,000"),
        ({"ops": 300_000, "edges": 3_000_001}, "at most 3,000,000"),
        ({"ops": 9, "outputs": 300_001}, "300,001 outputs of 9 ops; at most 300,000"),
        ({"ops": 100_000, "outputs": 800_001}, "at most 800,000"),
        (
            {"ops": 1_000_000, "time_types": 11},
            r"11,000,000 times \(1,000,000 ops × 11 device types\); at most 10,000,000",
        ),
        ({"ops": 9, "device_names": 20_000_001}, "20,000,001 names of allowed devices, added up over 9 ops; at most"),
    ],
)
def test_what_a_graph_may_have(sizes, words):
    """The sentence has the amount found and the limit; a graph at the limit is read."""
    with pytest.raises(pl.FormatError, match=words):
        graph_checks.check_size(**sizes)
    what, found = list(sizes.items())[-1]
    graph_checks.check_size(**{**sizes, what: found - 1})


def test_a_million_ops_are_read():
    """With ten inputs and ten device types each, and eight allowed devices."""
    graph_checks.check_size(ops=1_000_000, edges=10_000_000, outputs=8_000_000, time_types=10, device_names=8_000_000)


def test_every_reader_builds_its_graph_within_the_limits():
    """All readers make graphs through the one function that checks limits."""
    folder = Path(formats.__file__).parent
    nodes = ((path.name, node) for path in folder.rglob("*.py") for node in ast.walk(ast.parse(path.read_text())))
    called = (
        name for name, node in nodes if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("from_arrays")
    )
    assert list(called) == ["building.py"]


def test_networkx_graphs_have_the_limits_of_files():
    """Shared attributes count for each node."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(3000), time={f"d{i}": 1.0 for i in range(4000)})
    with pytest.raises(pl.FormatError, match=r"there are 12,000,000 times \(3,000 ops × 4,000 device types\)"):
        pl.load(graph)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(3000), compute=1, devices=[f"d{i}" for i in range(7000)])
    with pytest.raises(pl.FormatError, match="there are 21,000,000 names of allowed devices, added up over 3,000 ops"):
        pl.load(graph)


def test_ops_that_share_a_list_of_devices_share_a_tuple():
    """One set, whether the list is the same or an equal one."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(3), compute=1, devices=["a", "b"], time={"a": 1.0})
    graph.add_node(3, compute=1, devices=["a", "b"], time={"b": 2.0})
    read = pl.load(graph)
    assert read.device_sets == (("a", "b"),) and read.device_set.tolist() == [0] * 4
    assert [[None if x != x else x for x in row] for row in read.time.tolist()] == [[1.0, None]] * 3 + [[None, 2.0]]


@given(st.data())
def test_of_several_writers_the_first_that_is_a_parent_counts(data):
    """Bit masks and sets give the result of the definition, on workflows of few and of many tasks."""
    n = data.draw(st.integers(1, 6))
    some = st.sets(st.sampled_from("xyz"))
    reads, writes = (data.draw(st.lists(some.map(sorted), min_size=n, max_size=n)) for _ in range(2))
    more = data.draw(st.sampled_from([0, 5000]))  # beside which a set is sparse
    parents = {v: data.draw(st.sets(st.integers(0, n - 1))) for v in range(n)}
    found = workflow_edges(reads + [[]] * more, writes + [[]] * more, parents)
    expected = []
    for v in range(n):
        joined = []
        for file in reads[v]:
            writers = [u for u in range(n) if file in writes[u]]
            known = [u for u in writers if u in parents[v]] if len(writers) > 1 else writers
            joined += [(known[0], v, file)] if known and known[0] != v else []
        expected += joined + [(u, v, None) for u in sorted(parents[v] - {u for u, _, _ in joined})]
    assert list(zip(found.producer, found.consumer, found.file, strict=True)) == expected

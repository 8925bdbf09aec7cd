"""What files look like: bytes before the content, other encodings, and kinds of files that are not read."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import zipfile

import numpy as np
import pytest
import samples
import tensorflow_samples
from chakra_files import WORKLOAD

import placelab as pl
from placelab.base.files import is_json
from placelab.formats import profiles
from placelab.graphs import loading

BEFORE = {
    "nothing": lambda text: text.encode(),
    "a newline": lambda text: b"\n" + text.encode(),
    "blank lines": lambda text: b"\r\n\t \n" + text.encode(),
    "a mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "a mark and blanks": lambda text: b"\xef\xbb\xbf\n\n" + text.encode(),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, big end first": lambda text: b"\xfe\xff" + ("\n" + text).encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
}
TRACE = {
    "schemaVersion": 1,
    "traceEvents": [
        {"ph": "X", "cat": "cpu_op", "name": "aten::relu", "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": {}}
        for ts, dur in ((10, 5), ("20.0", "7"))
    ],
}
DAX = '<adag name="d"><job id="A" name="a" runtime="1"/></adag>'


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", samples.wfformat()[0].decode()),
        ("a.json", json.dumps(WORKLOAD)),
        ("a.et", json.dumps(WORKLOAD)),
        ("a.dot", samples.dot()[0].decode()),
        ("a.stg", samples.stg()[0].decode()),
        ("a.csv", samples.mayer_csv()[0].decode()),
        ("a.pbtxt", 'node { name: "a" op: "NoOp" }'),
        ("a.pb", 'node { name: "a" op: "NoOp" }'),
    ],
)
def test_text_is_read_after_blanks_and_marks(name, text, before):
    """The graph is the same, gzipped or not."""
    data = BEFORE[before](text)
    expected = loading.loads(text.encode(), name)
    for found in (loading.loads(data, name), loading.loads(gzip.compress(data), name)):
        assert found.names.tolist() == expected.names.tolist() and found.edges.tolist() == expected.edges.tolist()


@pytest.mark.parametrize("before", BEFORE)
def test_profiles_are_read_after_blanks_and_marks(before, tmp_path):
    """A trace of the host alone, with times as text, and a timeline of TensorFlow."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)], kind=["aten.relu.default"] * 2)
    (tmp_path / "trace.json").write_bytes(BEFORE[before](json.dumps(TRACE)))
    found = pl.costs.Profile.load(tmp_path / "trace.json", graph=graph)
    assert found.seconds == pytest.approx({"a": 5e-6, "b": 7e-6})
    timeline = tensorflow_samples.timeline()
    assert profiles.loads(BEFORE[before](timeline.decode())).seconds == profiles.loads(timeline).seconds


@pytest.mark.parametrize("text", ["soon", "", "nan", "inf", "1e30"])
def test_times_that_are_no_numbers_are_refused(text):
    """The sentence has the event and what it found."""
    document = json.loads(json.dumps(TRACE))
    document["traceEvents"][1]["ts"] = text
    with pytest.raises(pl.FormatError, match=f"event 1 of t.json has ts '{text}'; expected microseconds"):
        profiles.profile_of(document, "t.json", pl.OpGraph.from_arrays(["a"], [1], [], kind=["aten.relu.default"]))


def zipped(*names):
    """A zip archive with empty members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    return file.getvalue()


def array():
    """A file of NumPy."""
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


HEADER = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
KINDS = {
    "ELF": (b"\x7fELF\x02\x01\x01" + bytes(40), "a program or library"),
    "PNG": (b"\x89PNG\r\n\x1a\n" + bytes(40), "a PNG picture"),
    "pickle": (pickle.dumps({"a": [1]}, protocol=2), "a pickle, which may run any code.*torch.export.save"),
    "later pickle": (pickle.dumps({"a": list(range(99))}, protocol=4), "a pickle"),
    "torch's old files": (b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "a pickle"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(40), "an HDF5 file"),
    "safetensors": (struct.pack("<Q", len(HEADER)) + HEADER + bytes(4), "a safetensors file; it holds weights"),
    "GGUF": (b"GGUF\x03\0\0\0" + bytes(40), "a GGUF file"),
    "Git LFS": (b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 5\n", "a pointer of Git LFS"),
    "parquet": (b"PAR1" + bytes(40) + b"PAR1", "a parquet table"),
    "sqlite": (b"SQLite format 3\0" + bytes(40), "a sqlite database"),
    "HTML": (b"\n<!DOCTYPE html>\n<html><body>404</body></html>", "a page in HTML"),
    "TFLite": (b"\x1c\0\0\0TFL3" + bytes(40), "a TensorFlow Lite model"),
    "xz": (b"\xfd7zXZ\0" + bytes(40), "an xz file; unpack it"),
    "array": (array(), "a NumPy array"),
    "tar": (b"a".ljust(257, b"\0") + b"ustar\x0000" + bytes(300), "a tar archive"),
}
SUFFIXES = (".json", ".pb", ".pbtxt", ".onnx", ".et", ".dot", ".stg", ".txt", ".csv", ".xml", ".pt2", ".pt", ".bin")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", KINDS)
def test_files_of_other_kinds_are_named(kind, suffix, tmp_path):
    """Under any suffix, known or not, small or large, gzipped too; in one line that begins with the file's name."""
    data, words = KINDS[kind]
    for name, content in (("f", data), ("large", data + bytes(10_000))):
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(content)
        with pytest.raises(pl.FormatError, match=f"looks like {words}") as refusal:
            pl.load(path)
        assert str(path) in str(refusal.value) and "\n" not in str(refusal.value)
    if suffix in (".json", ".pb"):
        (tmp_path / f"g{suffix}.gz").write_bytes(gzip.compress(data))
        for read in (pl.load, pl.costs.Profile.load):
            with pytest.raises(pl.FormatError, match=f"looks like {words}"):
                read(tmp_path / f"g{suffix}.gz")


@pytest.mark.parametrize("suffix", [".pt", ".pt2", ".ckpt", ".zip"])
def test_archives_are_named_by_what_is_in_them(suffix, tmp_path):
    """Pickled weights, TorchScript, arrays, a program of torch.export under another name; the message has the remedy."""
    cases = {
        (
            "m/data.pkl",
            "m/data/0",
        ): "a file of torch.save: pickled weights or modules; export the model with torch.export",
        ("m/data.pkl", "m/code/__torch__.py"): "a TorchScript program",
        ("x.npy", "y.npy"): "arrays of NumPy",
        ("config.json", "model.weights.h5"): "a model of Keras",
    }
    for members, words in cases.items():
        (tmp_path / f"m{suffix}").write_bytes(zipped(*members))
        with pytest.raises(pl.FormatError, match=f"looks like {words}"):
            pl.load(tmp_path / f"m{suffix}")
    if suffix != ".pt2":
        (tmp_path / f"p{suffix}").write_bytes(samples.torch_archive()[0])
        with pytest.raises(pl.FormatError, match=r"give it a name that ends in [.]pt2"):
            pl.load(tmp_path / f"p{suffix}")


def test_another_format_of_the_project_is_named_too():
    """JSON, XML and zip archives under the suffix of protobuf."""
    for data, words in ((b"\n{}", "JSON"), (DAX.encode(), "XML"), (zipped("a"), "a zip archive")):
        with pytest.raises(pl.FormatError, match=f"looks like {words}"):
            loading.loads(data, "m.pb")


def test_what_is_read_looks_like_nothing_else():
    """No sample of any format is taken for a file of another kind; a record's length of 256 is no pickle."""
    from placelab.base.files import foreign

    for name, seeds in vars(samples).items():
        if callable(seeds) and getattr(seeds, "__module__", "") == samples.__name__:
            assert not any(map(foreign, seeds() if isinstance(seeds(), list) else [])), name
    assert not foreign(b"\x80\x02\x0a\xfd\x01") and not is_json(b"\x80\x02\x0a")

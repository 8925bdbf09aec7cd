"""Programs stored by torch.export.save, read without PyTorch and without opening a pickle."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import subprocess
import sys
import zipfile

import fuzz
import numpy as np
import pytest
import samples
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.formats.torch.archive import loads, read


def small() -> dict:
    """The program of the smallest archive, for changes."""
    with zipfile.ZipFile(io.BytesIO(samples.torch_archive()[0])) as archive:
        return json.loads(archive.read("small/models/model.json"))


def packed(document, *, compress=zipfile.ZIP_STORED, **members) -> bytes:
    """An archive with that program."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compress) as archive:
        archive.writestr("small/models/model.json", document if isinstance(document, bytes) else json.dumps(document))
        for name, content in members.items():
            archive.writestr(f"small/{name}", content)
    return file.getvalue()


def test_a_program_is_read_without_pytorch():
    """Ops with their scopes, bytes, parameters; weights under two names are one; an assertion is no op."""
    graph = loads(samples.torch_archive()[0], "folder/small.pt2")
    assert graph.names.tolist() == ["x", "token/embedding", "head/linear", "split"]
    assert graph.outputs.tolist() == [16, 16 * 4, 2 * 8 * 4, 2 * 8 * 4]
    assert graph.persistent.tolist() == [0, 64 * 8 * 4, 0, 0] and len(graph.group_names) == 1
    assert graph.metadata["parameters"] == {"token.weight": "token/embedding", "head.weight": "token/embedding"}
    assert (graph.title, graph.compute[2]) == ("small", 2 * 2 * 8 * 8)
    assert loads(gzip.compress(samples.torch_archive()[0]), "folder/small.pt2.gz").title == "small"


def test_no_member_but_json_is_opened(monkeypatch):
    """A pickle beside it stays closed."""
    data = packed(small(), **{"data/sample_inputs/model.pt": b"cos\nsystem\n(S'false'\ntR."})
    opened = []
    whole = zipfile.ZipFile.open
    monkeypatch.setattr(
        zipfile.ZipFile, "open", lambda self, member: opened.append(member.filename) or whole(self, member)
    )
    loads(data)
    assert opened == ["small/models/model.json"]


def test_reading_does_not_import_torch(tmp_path):
    """Reading works in a process that can import neither torch nor modules that use pickle."""
    (tmp_path / "small.pt2").write_bytes(samples.torch_archive()[0])
    code = "import sys; sys.modules['torch'] = None; import placelab; print(placelab.load('small.pt2').n_ops)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path).stdout == "4\n"


@pytest.mark.parametrize("which", ["attention", "convolutions", "sizes"])
def test_the_graph_is_the_one_of_the_live_program(which, tmp_path):
    """Every column agrees, for archives written by torch.export.save."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install placelab[torch]")
    from torch_models import Convolutions, Model, called, images

    class Sizes(torch.nn.Module):
        def forward(self, x):
            left, right = torch.split(x, [3, x.shape[0] - 3])
            return torch.cat([right, left]).topk(2)[0].sum() + x.shape[0], x.detach()

    module, args, shapes = {
        "attention": (Model(), called(), None),
        "convolutions": (Convolutions(), images(), None),
        "sizes": (Sizes(), (torch.ones(7, 6),), ({0: torch.export.Dim("rows", min=5, max=20)},)),
    }[which]
    program = torch.export.export(module, args, dynamic_shapes=shapes)
    torch.export.save(program, tmp_path / "stored.pt2")
    live = pl.load(program)
    stored = pl.load(tmp_path / "stored.pt2")
    for column in ("names", "kind", "compute", "persistent", "edges", "tensor_bytes", "group", "tensor_producer"):
        assert np.array_equal(getattr(live, column), getattr(stored, column)), column
    assert live.metadata["parameters"] == stored.metadata["parameters"]
    assert live.metadata["costs"]["unknown"] == stored.metadata["costs"]["unknown"] == {}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_weights_of_16_bits_are_known_as_such(dtype, tmp_path):
    """As for the live program, so that estimates assume products at that precision."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install placelab[torch]")
    model = torch.nn.Linear(8, 4).to(getattr(torch, dtype))
    batch = torch.zeros(2, 8, dtype=getattr(torch, dtype))
    program = torch.export.export(model, (batch,))
    torch.export.save(program, tmp_path / "stored.pt2")
    found = [pl.load(of).metadata["costs"].get("precision") for of in (program, tmp_path / "stored.pt2")]
    assert found == [None if dtype == "float32" else dtype] * 2


# ---------------------------------------------------------------------------------------- untrusted files


def changed(*path, to) -> bytes:
    """An archive whose program has another value at that place."""
    document = part = small()
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = to
    return packed(document)


GRAPH = ("graph_module", "graph")
X = ("graph_module", "graph", "tensor_values", "x")


def long_list(n: int) -> bytes:
    """An archive whose stated list of members has n bytes."""
    data = bytearray(packed(small()))
    struct.pack_into("<I", data, data.rfind(b"PK\x05\x06") + 12, n)
    return bytes(data)


def decoy() -> bytes:
    """The same, with the end mark of the list also inside the end record."""
    data = bytearray(long_list(1 << 30))
    at = data.rfind(b"PK\x05\x06")
    data[at + 4 : at + 8] = b"PK\x05\x06"
    return bytes(data)


def large(n: int, *, moved: int = 0) -> bytes:
    """An archive in Zip64, as PyTorch writes them, whose list has n bytes and whose end record is shifted by `moved` bytes."""
    data = packed(small())
    at = data.rfind(b"PK\x05\x06")
    size, start = struct.unpack_from("<II", data, at + 12)
    wide = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, n or size, start)
    return data[:at] + wide + struct.pack("<4sLQL", b"PK\x06\x07", 0, at + moved, 1) + data[at:]


HOSTILE = {
    "empty": (b"", "it is no zip archive"),
    "no archive": (b"hello" * 30, "it is no zip archive"),
    "truncated": (packed(small())[:-30], "it is no zip archive"),
    "its end alone": (b"PK\x05\x06" + bytes(18), "holds 0 programs in models/"),
    "broken list": (packed(small()).replace(b"PK\x01\x02", b"PK\x01\x09"), "is not a program that torch.export.save wrote"),
    "long list": (long_list(1 << 30), "its list of members has 1,073,741,824 bytes"),
    "long list, hidden": (decoy(), "its list of members has 1,073,741,824 bytes"),
    "long list, large archive": (large(1 << 30), "its list of members has 1,073,741,824 bytes"),
    "large archive, its end elsewhere": (large(0, moved=-8), "its list of members has"),
    "another model": (packed({}).replace(b"/models/", b"/modals/"), "holds 0 programs"),
    "two programs": (packed(small(), **{"models/other.json": "{}"}), "holds 2 programs in models/; expected one"),
    "bomb": (packed(b"[" + b" " * (40 << 20) + b"]", compress=zipfile.ZIP_DEFLATED), "unpacks to more than"),
    "lzma": (packed(small(), compress=zipfile.ZIP_LZMA), "packed in a way that PyTorch does not write"),
    "damaged": (packed(small()).replace(b"embedding", b"embodding", 1), "is not a program that torch.export.save wrote"),
    "no JSON": (packed(b"{"), "is not JSON"),
    "nested": (packed(b"[" * 1_000_000), "nested too deeply|lists, objects or values"),
    "no program": (packed([]), r"the program is a list; expected an object"),
    "no nodes": (changed(*GRAPH, "nodes", to=None), "nodes is missing; expected a list of objects"),
    "target": (changed(*GRAPH, "nodes", 0, "target", to=7), "target of node 0 is 7; expected a text"),
    "reads nothing": (
        changed(*GRAPH, "nodes", 0, "inputs", 1, "arg", to={"as_tensor": {"name": "later"}}),
        "node 0, 'aten.embedding.default' reads 'later', which no earlier node makes",
    ),
    "name": (changed(*GRAPH, "nodes", 0, "inputs", 1, "arg", to={"as_tensor": {"name": [1]}}), "expected a text"),
    "argument": (changed(*GRAPH, "nodes", 0, "inputs", 1, "arg", to=3), "an argument of node 0.*expected an object"),
    "dtype": (changed(*X, "dtype", to="float"), "dtype of tensor 'x' is 'float'; expected a whole number"),
    "negative": (changed(*X, "sizes", 0, "as_int", to=-2), "a size of tensor 'x' is -2; expected a whole number"),
    "huge": (changed(*X, "sizes", to=[{"as_int": 1 << 61}] * 3), "tensor 'x' has 3 dimensions of .*; PyTorch has no such"),
    "many": (changed(*X, "sizes", to=[{"as_int": 1}] * 65), "tensor 'x' has 65 dimensions"),
    "two lines": (changed(*GRAPH, "nodes", 0, "target", to="torch.ops.aten.a\nb.default"), "is not a name"),
}  # fmt: skip


def test_messages_are_bounded():
    """A member name of 60,000 characters gives a message of at most 1,000."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(f"small/models/{'a' * 60_000}.json", "{")
    for data in (file.getvalue(), file.getvalue().replace(b"aa.json{", b"ab.json{")):
        with pytest.raises(pl.FormatError) as caught:
            loads(data, "x.pt2")
        assert str(caught.value).startswith("x.pt2") and len(str(caught.value)) <= 1000


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_one_sentence(name):
    """The error is one sentence that names the file, the place in it and what was found."""
    data, says = HOSTILE[name]
    with pytest.raises(pl.FormatError, match=says) as caught:
        loads(data)
    assert "\n" not in str(caught.value) and "the upload" in str(caught.value)


def test_files_that_are_not_there_are_one_sentence(tmp_path):
    """Missing files and folders."""
    for path, says in ((tmp_path, "is not a file"), (tmp_path / "no.pt2", "cannot be read")):
        with pytest.raises(pl.FormatError, match=says):
            read(path)


def test_an_archive_in_zip64_is_read():
    """PyTorch writes Zip64 for archives of any size."""
    assert loads(large(0)).names.tolist() == loads(packed(small())).names.tolist()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_pipes_and_devices_are_not_opened(tmp_path):
    """Reading them might never end."""
    os.mkfifo(tmp_path / "pipe.pt2")
    (tmp_path / "zero.pt2").symlink_to("/dev/zero")
    for name in ("pipe.pt2", "zero.pt2"):
        with pytest.raises(pl.FormatError, match=f"{name} is not a file; expected a program"):
            read(tmp_path / name)


@given(st.integers(0, 10**9))
@examples(150)
def test_damaged_programs_are_refused_or_read(number):
    """Damaged JSON in a sound archive gives a graph or one sentence."""
    seeds = [json.dumps(small()).encode()]
    outcome = fuzz.attempt(loads, packed(fuzz.damaged(seeds, 7, number)))
    assert not outcome.startswith("! ")

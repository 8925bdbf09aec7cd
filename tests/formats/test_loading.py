"""``placelab.load``: every suffix has a reader, and files that are not graphs are refused in one sentence."""

from __future__ import annotations

import ast
import gzip
import json
from contextlib import suppress
from importlib import import_module
from inspect import getmembers, isfunction, signature
from pathlib import Path

import networkx as nx
import onnx_models
import pytest
import tensorflow_samples

import placelab as pl
from placelab.app.export import __all__ as exports_of_placelab
from placelab.costs import Profile
from placelab.costs.descriptions import sources
from placelab.formats import catalogue
from placelab.formats.catalogue import GRAPH, PROFILE
from placelab.formats.tensorflow import run_metadata
from placelab.graphs import loading
from placelab.graphs.loading import loads, opened, suffixes
from placelab.problem import graph_json

READ = catalogue.readers(GRAPH, PROFILE)


@pytest.mark.parametrize("row", READ, ids=[row.title for row in READ])
def test_every_reader_is_there(row):
    """Each reader keeps the protocol: the functions that the loader calls, a file's description, the options of its row."""
    module = catalogue.module_of(row)
    wanted = loading.DocumentReader if row.holds == GRAPH and ".json" in row.suffixes else loading.Reader
    functions = [name for name, _ in getmembers(wanted, isfunction) if not name.startswith("_")]
    assert isinstance(module.EXPECTED, str)
    assert all(callable(getattr(module, name)) for name in functions)
    assert tuple(signature(module.loads).parameters)[2:] == row.options


@pytest.mark.parametrize("row", [row for row in catalogue.FORMATS if row.writer], ids=lambda row: row.title)
def test_every_writer_is_there(row):
    """Each writer takes what its format holds and a path, and what the row says beside."""
    module, _, name = row.writer.partition(":")
    parameters = signature(getattr(import_module(f"placelab.{module}"), name)).parameters
    assert {"path", *(set() if row.reader else row.options)} <= set(parameters)


def test_every_export_is_a_format():
    """The catalogue has what `export` writes, but for pages, a graph, which has several formats, and flags of launchers."""
    names = {row.writer.removeprefix("formats.exports:") for row in catalogue.FORMATS}
    flags = {"megatron_layout", "vllm_partition", "llama_cpp", "accelerate", "torch_split_points"}
    assert set(exports_of_placelab) - {"html", "graph"} - flags <= names


def test_the_catalogue_is_light():
    """It names readers and writers, and imports none of them: nothing but what tells how a file begins."""
    tree = ast.parse(Path(catalogue.__file__).read_text())
    named = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert [name for name in named if name.startswith("placelab")] == ["placelab.base.files"]


TIMELINE = {"ph": "X", "name": "Add", "pid": 1, "ts": 1, "dur": 2, "args": {"name": "L0.0", "op": "Add"}}


@pytest.fixture
def graph():
    """A small graph."""
    return pl.generators.layered(20, seed=1)


def test_bytes_are_loaded_as_the_file_would_be(graph, tmp_path):
    """`loads` takes the name and bytes of an upload, gzipped or not; the case of the suffix does not matter."""
    path = tmp_path / "g.json.gz"
    graph.save(path)
    data = path.read_bytes()
    for name, content in (("g.json.gz", data), ("G.JSON", gzip.decompress(data)), ("a folder/g.json", data)):
        assert loads(content, name).names.tolist() == graph.names.tolist()
    assert pl.load(path).names.tolist() == graph.names.tolist()


def test_networkx_graphs_and_op_graphs_are_taken():
    """A DiGraph is read by its attributes; an OpGraph is returned unchanged."""
    g = nx.DiGraph()
    g.add_node("a", compute=1.0)
    assert pl.load(g).names.tolist() == ["a"]
    graph = pl.load("topcuoglu")
    assert pl.load(graph) is graph


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ({"traceEvents": [TIMELINE]}, "is a profile of a run"),
        ({"x": 1, "\x1b[31m": 2}, r"JSON of a different kind, with the keys 'x', '\\x1b\[31m'; expected placelab JSON"),
        ({"format": "placelab-placement", "version": 1}, r"is a placement, which Placement\.load reads; expected"),
        (3, "JSON of a different kind, int"),
    ],
)
def test_json_that_is_no_graph_is_described(content, sentence):
    """The error describes what was recognised and what was expected."""
    with pytest.raises(pl.FormatError, match=sentence):
        loads(json.dumps(content).encode(), "a.json")


def test_unknown_suffixes_name_those_that_are_known(tmp_path):
    """The error lists the known suffixes, for files, bytes and folders."""
    (tmp_path / "a.xyz").write_text("")
    for call in (lambda: pl.load(tmp_path / "a.xyz"), lambda: pl.load(tmp_path), lambda: loads(b"", "a.xyz")):
        with pytest.raises(pl.FormatError, match=r"files end in \.json, .*\.onnx"):
            call()
    with pytest.raises(pl.FormatError, match=r"without saved_model\.pb"):
        pl.load(tmp_path)


LONG = "x" * 10_000


@pytest.mark.parametrize(
    "what", [LONG, LONG + ".json", LONG + ".onnx", LONG + ".pt2", "a\0b.json", "", ".json", "\ud800.onnx"]
)
def test_no_path_is_a_traceback(what):
    """Names that are too long, and values that are no names, raise one sentence."""
    with pytest.raises(pl.FormatError) as caught:
        pl.load(what)
    assert len(str(caught.value)) < 11_000 and "\0" not in str(caught.value)
    with pytest.raises(pl.FormatError):
        loads(b"", what)


def test_options_are_for_the_reader(tmp_path, graph):
    """An option that a format lacks is refused by name."""
    path = tmp_path / "g.json"
    graph.save(path)
    with pytest.raises(pl.UnsupportedError, match="placelab_json' has no option 'dimensions'; its options: none"):
        pl.load(path, dimensions={})


def test_what_takes_no_options_refuses_them(graph):
    """A dataset, a graph and a networkx graph would ignore options."""
    for what, words in (
        ("topcuoglu", "dataset 'topcuoglu'"),
        (graph, "an OpGraph"),
        (graph.to_networkx(), "a networkx graph"),
    ):
        with pytest.raises(pl.UnsupportedError, match=f"{words} has no option 'nonsense'; its options: none"):
            pl.load(what, nonsense=1)


def test_a_module_of_python_is_no_graph():
    """A Python module is refused although networkx itself has a function is_directed."""
    for read in (pl.load, pl.OpGraph.from_networkx):
        for what in (nx, nx.DiGraph):
            with pytest.raises(pl.FormatError, match=r"needs .*, found "):
                read(what)


def test_suffixes_come_packed_and_not():
    """File dialogues can list suffixes with and without .gz."""
    assert [s for s in suffixes() if s.endswith(".gz")] == [s + ".gz" for s in suffixes() if not s.endswith(".gz")]


def test_a_profile_is_opened_as_one(graph):
    """`opened` returns a profile; `loads`, which returns graphs, refuses it."""
    data = json.dumps({"traceEvents": [TIMELINE]}).encode()
    assert opened(data, "timeline.json").seconds == {"L0.0": 2e-6}
    assert opened(b" \n" + data, "timeline.json").seconds == {"L0.0": 2e-6}
    assert isinstance(opened(graph_json.dumps(graph).encode(), "graph.json"), pl.OpGraph)


def test_a_profile_may_begin_with_a_byte_order_mark(tmp_path):
    """Windows editors write one before JSON; no binary profile begins so."""
    path = tmp_path / "timeline.json"
    path.write_text(json.dumps({"traceEvents": [TIMELINE]}), encoding="utf-8-sig")
    assert Profile.load(path).seconds == run_metadata.read_profile(path).seconds == {"L0.0": 2e-6}


def test_protobuf_files_are_told_apart(graph):
    """GraphDef, ONNX and RunMetadata may end in .pb; other content is refused as no TensorFlow graph."""
    assert opened(tensorflow_samples.training(), "a.pb").n_ops == 10
    assert opened(onnx_models.model(onnx_models.LINEAR).SerializeToString(), "a.pb").n_ops == 5
    assert isinstance(opened(tensorflow_samples.step(), "a.pb"), Profile)
    with pytest.raises(pl.FormatError, match=r"a\.pb is a profile of a run"):
        loads(tensorflow_samples.step(), "a.pb")
    with pytest.raises(pl.FormatError, match=r"a\.pb .*TensorFlow"):
        opened(b"", "a.pb")


def test_estimates_come_with_what_was_counted(tmp_path):
    """FLOP from shapes bring seconds for two accelerators; an existing table stays alone."""
    metadata = {"costs": {"compute": "FLOP"}}
    counted = pl.OpGraph.from_arrays(["a"], [1e12], [], kind=["MatMul"], metadata=metadata)
    counted.save(tmp_path / "a.json")
    assert pl.load(tmp_path / "a.json").time_types == ("h100", "rtx2080ti")
    own = pl.OpGraph.from_arrays(["a"], [1e12], [], time={"h100": [1.0]}, metadata=metadata)
    own.save(tmp_path / "b.json")
    assert pl.load(tmp_path / "b.json").time.tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("metadata", "refused"),
    [
        ({"costs": {"compute": "FLOP", "unknown": 3, "columns": [1], "scaled": "x"}}, False),
        ({"costs": {"compute": "FLOP"}, "times": 7}, True),
        ({"costs": {"compute": "FLOP"}, "times": {"speed": 7, "default": []}}, True),
        ({"costs": [1, 2]}, False),
    ],
)
def test_metadata_of_strangers_are_read_or_refused(tmp_path, metadata, refused):
    """The error is one sentence."""
    document = json.loads(graph_json.dumps(pl.OpGraph.from_arrays(["a"], [1e12], [], kind=["MatMul"])))
    (tmp_path / "a.json").write_text(json.dumps(document | {"version": 1, "metadata": metadata}))
    loaded = None
    with suppress(pl.FormatError):
        loaded = pl.load(tmp_path / "a.json")
    assert (loaded is None) == refused
    assert refused or sources(loaded)


def test_a_live_module_is_loaded_forward_or_with_its_gradients():
    """With its arguments and, for gradients, a loss; the error names what is missing."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install placelab[torch]")
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    batch = torch.zeros(2, 4)
    forward = pl.load(model, args=(batch,))
    training = pl.load(model, args=(batch,), loss=lambda output: output.sum())
    assert forward.kind.tolist() == ["input", "aten.linear.default", "aten.relu.default"]
    assert training.n_ops > forward.n_ops
    assert any(name.startswith("gradients/") for name in training.names)
    assert training.time_types == ("h100", "rtx2080ti")
    with pytest.raises(pl.UnsupportedError, match="has no option 'batch'; its options: args, kwargs, name"):
        pl.load(model, batch=2)

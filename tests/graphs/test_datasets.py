"""The datasets load and agree with their README."""

import gzip
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import placelab as pl
from placelab.base.errors import FormatError
from placelab.formats import placelab_json
from placelab.graphs import datasets
from placelab.problem.tensor_shapes import shape_bytes

FOLDER = Path(__file__).resolve().parents[2] / "datasets"
LIGHT = [name for name in datasets.names() if name.startswith("light_")]  # inside the onnx package
COMMITTED = [name for name in datasets.names() if name not in LIGHT]
NETWORKS = ("convolutional_network", "recurrent_network", "dynamic_rnn")


@pytest.mark.parametrize("name", datasets.names())
def test_every_dataset_loads_and_says_where_it_is_from(name):
    """Each is a graph with costs, name, provenance and licence."""
    graph = datasets.load(name)
    assert graph.metadata["name"] == name
    assert graph.metadata["provenance"]
    assert graph.metadata["licence"]
    assert graph.compute.sum() > 0
    assert graph.tensor_bytes.sum() > 0


def test_models_hold_shapes_that_agree_with_their_bytes():
    """Nearly all tensors with bytes have one; of those that never ran or are references no dataset has bytes."""
    for name in set(COMMITTED) - {"topcuoglu"}:
        graph = placelab_json.read(committed(name))
        sent = graph.tensor_bytes > 0
        known = sent & (graph.tensor_shape >= 0)
        assert known.sum() >= 0.9 * sent.sum(), name
        texts = [graph.shapes[code] for code in graph.tensor_shape[known]]
        for text, size in zip(texts, graph.tensor_bytes[known], strict=True):
            assert shape_bytes(text) in (None, size)


# The other is the same network for shorter sentences.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in ("gnmt_40", "gnmt_50"))) for name in COMMITTED]
)
def test_every_dataset_round_trips_to_the_same_bytes(name, tmp_path):
    """Saving a loaded dataset gives the committed file, and networkx gives the same graph.

    An exception is the empty object of speeds in the metadata of older files.
    """
    graph = placelab_json.read(committed(name))  # datasets.load adds estimates
    graph.save(tmp_path / "again.json.gz")
    before = gzip.decompress(committed(name).read_bytes()).replace(b',"times":{"speed":{}}', b"", 1)
    assert gzip.decompress((tmp_path / "again.json.gz").read_bytes()) == before
    pl.OpGraph.from_networkx(graph.to_networkx()).save(tmp_path / "networkx.json.gz")
    assert (tmp_path / "networkx.json.gz").read_bytes() == (tmp_path / "again.json.gz").read_bytes()


def test_the_light_models_are_listed_where_onnx_is_installed():
    """Nine models are read from the package; listing them does not import onnx."""
    pytest.importorskip("onnx", reason="onnx is not installed")
    assert len(LIGHT) == 9
    code = "import sys; from placelab import datasets; print(*datasets.names()); assert 'onnx' not in sys.modules"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(LIGHT) < set(listed)


def test_without_onnx_there_are_the_committed_datasets(monkeypatch):
    """Without an extra only its datasets are missing."""
    monkeypatch.setattr(datasets, "find_spec", lambda name: None)
    monkeypatch.setattr(datasets, "_light", datasets._light.__wrapped__)
    assert datasets.names() == COMMITTED


@pytest.mark.parametrize("name", COMMITTED)
def test_committed_files_carry_no_time_stamp(name):
    """Bytes 4 to 8 of a gzip file, its modification time, are zero, so that a rebuild gives the same bytes."""
    assert committed(name).read_bytes()[4:8] == bytes(4)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_are_the_size_of_mayers_within_a_tenth(name):
    """Since Table 1 of the paper, changes of TensorFlow moved ops and edges by less than 10 %."""
    paper = {"convolutional_network": (347, 531), "recurrent_network": (3069, 5533), "dynamic_rnn": (5271, 9214)}
    graph = datasets.load(name)
    np.testing.assert_allclose((graph.n_ops, graph.n_edges), paper[name], rtol=0.1)


@pytest.mark.parametrize("name", NETWORKS)
def test_every_group_that_is_stored_binds(name):
    """Each group has at least two ops."""
    graph = datasets.load(name)
    assert (np.bincount(graph.group[graph.group >= 0]) >= 2).all()


@pytest.mark.parametrize("name", NETWORKS)
def test_what_did_not_run_costs_and_sends_nothing(name):
    """Initialisers are in the graph, but training steps do not run them."""
    graph = datasets.load(name)
    initialisers = graph.producer[graph.consumer == graph.index("init")]
    assert set(graph.kind[initialisers]) == {"Assign"}
    assert len(initialisers) == (graph.kind == "VariableV2").sum()
    assert graph.compute[initialisers].sum() == graph.outputs[initialisers].sum() == 0


@pytest.mark.parametrize("name", NETWORKS)
def test_variables_are_what_persists(name):
    """Persistent bytes are those of variables; a reference to a variable has no bytes."""
    graph = datasets.load(name)
    variable = graph.kind == "VariableV2"
    assert (graph.persistent[variable] > 0).all()
    assert graph.persistent[~variable].sum() == 0
    assert graph.outputs[variable].sum() == 0


def test_the_convolutional_network_holds_weights_and_two_adam_moments():
    """3,274,634 parameters of 4 bytes, three times, and Adam's two powers."""
    parameters = 5 * 5 * 32 + 32 + 5 * 5 * 32 * 64 + 64 + 7 * 7 * 64 * 1024 + 1024 + 1024 * 10 + 10
    assert datasets.load("convolutional_network").persistent.sum() == 4 * (3 * parameters + 2)


def test_batch_is_128():
    """The bytes of a matrix product of `recurrent_network`: 128 sequences, four gates of 128 units, 4 bytes each."""
    graph = datasets.load("recurrent_network")
    product = graph.index("rnn/basic_lstm_cell/MatMul")
    assert graph.outputs[product] == 128 * 4 * 128 * 4


def test_topcuoglu_has_its_time_table_and_processors():
    """Ops run in the tabled seconds, by the processors' names, over links of one byte a second."""
    problem = datasets.problem("topcuoglu")
    assert [problem.exec_time(0, device) for device in range(3)] == [14, 16, 9]
    assert [problem.exec_time(problem.graph.index("T10"), device) for device in range(3)] == [21, 7, 16]
    assert (problem.graph.n_ops, problem.graph.n_edges, problem.graph.edge_bytes.sum()) == (10, 15, 241)
    assert problem.cluster.bandwidth[0, 1] == 1
    assert problem.cluster.latency[0, 1] == 0


def test_topcuoglus_script_builds_the_committed_graph(tmp_path):
    """Saving the script's graph gives the committed file."""
    runpy.run_path(str(FOLDER / "topcuoglu.py"))["topcuoglu"]().save(tmp_path / "built.json.gz")
    assert gzip.decompress((tmp_path / "built.json.gz").read_bytes()) == gzip.decompress(
        committed("topcuoglu").read_bytes()
    )


def test_unknown_names_and_datasets_without_processors_are_one_sentence():
    """The message lists the datasets, or names a remedy."""
    with pytest.raises(FormatError, match=r"'resnet'; there are .*convolutional_network, dynamic_rnn"):
        datasets.load("resnet")
    with pytest.raises(FormatError, match="comes without processors"):
        datasets.problem("dynamic_rnn")


def test_the_readme_table_is_what_the_files_hold():
    """Ops, edges, mean degree, colocated ops and step time agree with README.md."""
    text = (FOLDER / "README.md").read_text()
    for name in COMMITTED:
        graph = datasets.load(name)
        row = re.search(rf"^\| `{name}` \|(.*)$", text, re.MULTILINE)
        assert row, f"README.md has no row for {name}"
        found = [cell.strip() for cell in row[1].split("|")]
        expected = [
            f"{graph.n_ops:,}",
            f"{graph.n_edges:,}",
            f"{graph.n_edges / graph.n_ops:.2f}",
            f"{(graph.group >= 0).sum() - len(graph.group_names):,}",
        ]
        if "reference_speed" in graph.metadata:
            expected.append(f"{1e3 * graph.compute.sum() / graph.metadata['reference_speed']:.1f} ms")
        assert found[: len(expected)] == expected, name


def committed(name: str) -> Path:
    return FOLDER / f"{name}.json.gz"


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        ([1], "is malformed: expected an object of"),
        ({"speed": [1.0], "flavour": 2}, "is malformed: its key 'flavour' is unknown; there are bandwidth"),
        ({"bandwidth": 1.0}, "is malformed: it has no 'speed'"),
        ({"speed": [1.0] * 20_000}, "at most 2,000 speeds"),
        ({"speed": 1.0}, "at most 2,000 speeds"),
        ({"speed": [0.0]}, "speed of device 'dev0' is 0"),
    ],
)
def test_a_cluster_that_comes_with_a_file_is_checked(cluster, words):
    """The file may be untrusted: an invalid or far too large cluster is refused before anything is built."""
    graph = pl.OpGraph.from_arrays(["a"], [1.0], [], metadata={"name": "small", "cluster": cluster})
    with pytest.raises(FormatError, match=words):
        datasets.own_cluster(graph)


@pytest.mark.skipif(not LIGHT, reason="onnx is not installed")
def test_the_readme_table_of_light_models_is_what_they_are():
    """Ops, edges, operations and parameters agree with README.md."""
    text = (FOLDER / "README.md").read_text()
    for name in LIGHT:
        graph = datasets.load(name)
        cost = f"{graph.compute.sum() / 1e9:.2f} GFLOP | {graph.persistent.sum() / 1e6:.1f} MB"
        assert f"| `{name}` | {graph.n_ops:,} | {graph.n_edges:,} | {cost} |" in text

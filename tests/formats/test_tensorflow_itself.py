"""Comparison with TensorFlow, if installed: it counts the same, and runs each op on the device of our placement."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import placelab as pl
from placelab.formats.flops import count
from placelab.formats.tensorflow.devices import write
from placelab.formats.tensorflow.graph_def import read
from placelab.formats.tensorflow.nodes import size_of, type_name
from placelab.formats.tensorflow.run_metadata import read_profile

if find_spec("tensorflow") is None:
    pytest.skip("TensorFlow is not installed: pip install tensorflow-cpu==2.21.*", allow_module_level=True)

pytestmark = pytest.mark.slow  # TensorFlow is imported in 13 s; the reader has quick tests of its own
CHILD = Path(__file__).parents[1] / "support" / "tensorflow_child.py"
BATCH = 8


def child(*arguments: object) -> str:
    """Output of tests/support/tensorflow_child.py; a separate process, because TensorFlow keeps devices and threads."""
    done = subprocess.run([sys.executable, CHILD, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def ask(tmp_path_factory) -> Iterator[Callable[[str], Path]]:
    """Has one such process, which imports TensorFlow once, do some tasks; the folder of what it has written."""
    folder = tmp_path_factory.mktemp("tensorflow")
    said = folder / "errors.txt"
    with said.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, CHILD, "-", folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            bufsize=1,
        )

    def done(tasks: str) -> Path:
        assert process.stdin and process.stdout
        process.stdin.write(f"{tasks}\n")
        assert process.stdout.readline() == "done\n", said.read_text()[-2000:]
        return folder

    yield done
    process.communicate()


@pytest.fixture(scope="module")
def folder(ask) -> Path:
    """What TensorFlow writes: networks, loops, models without shapes with those that their tensors have in a run, its counts."""
    return ask("build,shapes,loops,flops")


@pytest.fixture(scope="module")
def counted(folder) -> dict:
    """TensorFlow's counts of its network."""
    return json.loads((folder / "network.json").read_text())


@pytest.fixture(scope="module")
def placed(folder, ask) -> pl.Placement:
    """The network, placed on four devices at random within its groups, written back in both forms, compared, and run."""
    problem = pl.Problem(read(folder / "network.pb", batch=BATCH), pl.clusters.uniform(4))
    placement = pl.place(problem, "random", seed=3)
    for suffix in ("pb", "pbtxt"):
        write(folder / f"network.{suffix}", placement, folder / f"placed.{suffix}")
    ask("same,run")
    return placement


@pytest.mark.parametrize("suffix", ["pb", "pbtxt"])
def test_ops_and_edges_are_tensorflows(folder, counted, suffix):
    """Every op, data edge with its output's number, and control edge, except the loops' back edges."""
    g = read(folder / f"network.{suffix}")
    assert dict(zip(g.names, g.kind, strict=True)) == counted["ops"]
    data = []
    control = []
    first = g.op_tensor_ptr
    for (u, v), t in zip(g.edges.tolist(), g.edge_tensor.tolist(), strict=True):
        if g.tensor_control[t]:
            control.append([g.names[u], g.names[v]])
        else:
            data.append([g.names[u], t - int(first[u]), g.names[v]])
    back = [
        [u, k, v] for u, k, v in counted["data"] if (counted["ops"][u], counted["ops"][v]) == ("NextIteration", "Merge")
    ]
    assert back
    assert sorted(data + back) == counted["data"]
    assert sorted(control) == counted["control"]


def test_bytes_are_those_of_tensorflows_shapes(folder, counted):
    """Every output whose shape is known but for the batch: type size × dimensions; references and resources 0."""
    g = read(folder / "network.pb", batch=BATCH)
    known = 0
    for op, outputs in counted["outputs"].items():
        v = g.index(op)
        tensors = [t for t in range(g.op_tensor_ptr[v], g.op_tensor_ptr[v + 1]) if not g.tensor_control[t]]
        assert len(tensors) == len(outputs), op
        for t, (kind, shape) in zip(tensors, outputs, strict=True):
            if shape is not None and shape.count(None) < 2 and size_of(kind) is not None:
                assert g.tensor_bytes[t] == size_of(kind) * prod(BATCH if d is None else d for d in shape), op
                known += 1
    assert known > 0.9 * sum(map(len, counted["outputs"].values()))


def test_shapes_are_tensorflows(folder, counted):
    """Of every output whose sizes are known but for the batch; unknown for handles."""
    g = read(folder / "network.pb", batch=BATCH)
    known = 0
    for op, outputs in counted["outputs"].items():
        for mine, (kind, shape) in zip(g.shapes_of(g.index(op)), outputs, strict=True):
            if shape is not None and shape.count(None) < 2 and type_name(kind):
                assert mine == f"{type_name(kind)} {[BATCH if size is None else size for size in shape]}", op
                known += 1
            elif not type_name(kind):
                assert mine is None, op
    assert known > 0.9 * sum(map(len, counted["outputs"].values()))


def followed(path: Path) -> tuple[Sequence, Any]:
    """The ops of a file and their sizes, with a batch of 8, as they follow without ``_output_shapes``."""
    from placelab.formats.tensorflow.containers import binary
    from placelab.formats.tensorflow.graph_def import data_inputs, edges_of, without_loops
    from placelab.formats.tensorflow.output_shapes import Sizes
    from placelab.problem.graph_building import topological_order

    nodes = [node._replace(shapes=None) for node in binary(path.read_bytes(), path.name).nodes]
    edges, _ = without_loops(nodes, edges_of(nodes, path.name))
    order = topological_order(len(nodes), np.array([(u, v) for (u, _), v in edges]), [node.name for node in nodes])
    return nodes, Sizes(nodes, data_inputs(len(nodes), edges), order.tolist(), BATCH)


def test_shapes_we_follow_are_tensorflows(folder, counted):
    """From a file without shapes: sizes derived from constants, inputs and variables equal TensorFlow's inference."""
    nodes, sizes = followed(folder / "network.pb")
    compared = 0
    for v, node in enumerate(nodes):
        theirs = counted["outputs"][node.name]
        ours = next(iter(sizes.raw[v]), None) if node.holds is None and theirs else None
        if ours is not None and theirs[0][1] is not None and size_of(theirs[0][0]) != 0:
            assert len(ours) == len(theirs[0][1]), node
            assert all(a in (-1, b) or b is None for a, b in zip(ours, theirs[0][1], strict=True)), node
            compared += 1
    assert compared > 90


@pytest.mark.parametrize(("model", "share"), [("image_ops", 0.97), ("moving_ops", 0.95), ("summing_ops", 0.92)])
def test_shapes_we_follow_are_those_that_tensors_have(folder, model, share):
    """With the batch every shape that follows is that of the tensor in a run; without it, nothing contradicts that."""
    nodes, sizes = followed(folder / f"{model}.pb")
    theirs = json.loads((folder / f"{model}.json").read_text())
    unknown = Counter()
    for v, node in enumerate(nodes):
        assert node.kind != "RFFT" or sizes.filled[v][0] is not None, node
        for k in range(len(node.types)):
            ran = theirs[f"{node.name}:{k}"]
            ours, without_batch = (row[k] if k < len(row) else None for row in (sizes.filled[v], sizes.raw[v]))
            assert ours is None or list(ours) == ran, node
            assert without_batch is None or len(without_batch) == len(ran), node
            assert all(a in (-1, b) for a, b in zip(without_batch or (), ran, strict=False)), node
            unknown[node.kind] += ours is None
    assert unknown.total() < (1 - share) * len(theirs), unknown


def test_products_and_convolutions_count_as_tensorflow_counts_them(folder):
    """Its profiler's ``float_operation`` of a graph: registered formulas of MatMul, Conv2D and their like."""
    counted = json.loads((folder / "flops.json").read_text())
    assert {"MatMul", "Conv2D", "DepthwiseConv2dNative"} <= {kind for kind, *_ in counted}
    for kind, inputs, outputs, attributes, theirs in counted:
        assert count(kind, [tuple(s) for s in inputs], [tuple(s) for s in outputs], attributes) == theirs, kind


def test_a_saved_model(folder):
    """The ops of the signature: three variables read and multiplied, in the functions' scopes."""
    g = read(folder / "served" / "saved_model.pb", batch=BATCH)
    assert sorted(g.kind).count("MatMul") == 3
    assert g.compute[g.kind == "MatMul"].tolist() == [2 * BATCH * 8 * 8] * 3
    assert g.persistent.sum() == 3 * 8 * 8 * 4
    assert not {"SaveV2", "RestoreV2", "PartitionedCall", "StatefulPartitionedCall"} & set(g.kind)


def test_the_files_are_the_same_but_for_devices(folder, placed):
    """TensorFlow's own parsers find only each op's device changed, in binary and in text."""
    found = json.loads((folder / "same.json").read_text())
    assert found["same"]
    ours = {name: f"/device:CPU:{d}" for name, d in zip(placed.problem.graph.names, placed.device, strict=True)}
    assert found["devices"] == [ours, ours]


def test_a_session_honours_the_placement(folder, placed):
    """On four virtual CPUs with allow_soft_placement=False, every op runs on the device of its placement."""
    found = json.loads((folder / "ran.json").read_text())
    ours = {name: f"/device:CPU:{d}" for name, d in zip(placed.problem.graph.names, placed.device, strict=True)}
    for where in (found["where"], found["ran"]):
        known = {name: device for name, device in where.items() if name in ours}
        assert len(known) > 100
        assert {name for name, device in known.items() if not device.endswith(ours[name])} == set()
    assert len({device for device in ours.values()}) == 4
    assert found["loss"] == found["loss"]


def test_its_trace_is_a_profile(folder, placed):
    """Every op that ran in that step has seconds and a device; output sizes agree with the shapes."""
    g = placed.problem.graph
    profile = read_profile(folder / "step.pb")
    found = json.loads((folder / "ran.json").read_text())
    assert set(profile.seconds) >= {name for name in found["ran"] if name}
    assert all(0 <= took < 10 for took in profile.seconds.values())
    hidden = g.index("hidden")
    assert profile.outputs["hidden", 0] == g.tensor_bytes[g.op_tensor_ptr[hidden]] == BATCH * 32 * 4


def test_the_table_of_ops_is_the_registry(folder):
    """placelab/formats/tensorflow/op_types.txt equals the output of datasets/tensorflow_ops.py."""
    text = (Path(pl.__file__).parent / "formats" / "tensorflow" / "op_types.txt").read_text()
    assert child("ops") == text


PRODUCT = 2 * 8 * 16 * 16  # of x and the weight


@pytest.mark.parametrize(
    ("name", "listed", "flop"),
    [
        ("counted", [("while", 5)], 5 * PRODUCT),
        ("limited", [("while", 7)], 7 * PRODUCT),
        ("nested", [("while", 3), ("while/while/while", 5)], 15 * PRODUCT),
        ("for_range", [("while", 6)], 6 * (PRODUCT + 8 * 16)),
        ("mapped", [("map/while", 8)], None),
        ("scanned", [("scan/while", 8)], None),
    ],
)
def test_loops_of_tensorflow_2_count_as_often_as_they_run(folder, name, listed, flop):
    """Counters, ``maximum_iterations``, ``map_fn``, ``scan``, nested loops, a loop of autograph over a range."""
    graph = read(folder / f"{name}.pb", trips=50)
    rows = graph.metadata["loops"]
    assert sorted((row["op"], row["trips"]) for row in rows) == listed and all(row["known"] for row in rows)
    if flop is not None:
        assert graph.compute[graph.index("while")] == flop
        assert graph.edge_bytes[graph.edges[:, 0] == graph.index("while")].max() == 4 * 8 * 16


def test_a_loop_of_tensorflow_2_that_data_end(folder):
    """As often as the option says."""
    once, more = (read(folder / "on_data.pb", trips=trips) for trips in (1, 9))
    assert more.metadata["loops"] == [{"op": "while", "trips": 9, "known": False}]
    assert more.compute.max() == 9 * once.compute.max() >= 9 * PRODUCT


@pytest.mark.parametrize(("name", "k", "taken", "flop"), [("choice", 2, 1, PRODUCT), ("case", 3, 2, 2 * PRODUCT)])
def test_branches_of_tensorflow_2_count_their_dearest_side(folder, name, k, taken, flop):
    """``tf.cond`` and ``tf.switch_case``."""
    graph = read(folder / f"{name}.pb")
    (row,) = graph.metadata["branches"]
    assert (row["branches"], row["taken"], graph.compute[graph.index(row["op"])]) == (k, taken, flop)

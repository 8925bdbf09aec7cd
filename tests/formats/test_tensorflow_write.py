"""Placements written into GraphDef files change devices and nothing else."""

from __future__ import annotations

import gzip
import re

import pytest
import tensorflow_samples as samples
from hypothesis import given
from hypothesis import strategies as st
from tensorflow_samples import FLOAT, constant, graph, node

import placelab as pl
from placelab.base.errors import FormatError, UnsupportedError
from placelab.formats.protobuf import fields, tagged
from placelab.formats.tensorflow.containers import binary, textual
from placelab.formats.tensorflow.devices import allowed, tensorflow_names, write
from placelab.formats.tensorflow.graph_def import loads, read


def placed(g: pl.OpGraph, cluster: pl.Cluster | None = None) -> pl.Placement:
    """The ops in turn on the devices, groups together."""
    problem = pl.Problem(g, cluster or pl.clusters.uniform(3))
    return pl.place(problem, "round-robin")


def where(placement: pl.Placement) -> dict[str, str]:
    """TensorFlow's device name of each op."""
    called = tensorflow_names(placement.problem.cluster)
    return {name: called[d] for name, d in zip(placement.problem.graph.names, placement.device, strict=True)}


def without_devices(data: bytes) -> list[tuple[int, bytes]]:
    """A GraphDef's fields, nodes without their device."""
    found = []
    for number, _, start, value, end in fields(data, "x"):
        inner = (
            [data[a:b] for n, _, a, _, b in fields(data, "x", value, end) if n != 4]
            if number == 1
            else [data[start:end]]
        )
        found.append((number, b"".join(inner)))
    return found


def test_only_devices_change(tmp_path):
    """Every op has its device; every other field, known to us or not, is unchanged and in order."""
    data = graph(constant("a", 3), node("b", "Relu", "a", device="/gpu:7", types={"T": FLOAT}), node("c", "NoOp"))
    data = (
        tagged(1, tagged(1, b"early") + tagged(2, b"NoOp") + b"\xba\x06\x02hi" + b"\xc0\x06\x05")
        + data
        + tagged(77, b"later")
    )
    (tmp_path / "in.pb").write_bytes(data)
    placement = placed(loads(data, devices=False))
    out = write(tmp_path / "in.pb", placement, tmp_path / "out.pb").read_bytes()
    assert {one.name: one.device for one in binary(out, "out").nodes} == where(placement)
    assert without_devices(out) == without_devices(data)


def test_text_keeps_everything_else(tmp_path):
    """Comments, brackets, order and unknown fields stay; an existing device is replaced, a missing one added."""
    path = tmp_path / "in.pbtxt"
    out = tmp_path / "out.pbtxt"
    path.write_bytes(samples.text())
    placement = placed(read(path, devices=False))
    write(path, placement, out)
    assert {one.name: one.device for one in textual(out.read_text(), "out").nodes} == where(placement)
    old, new = (re.sub(r'\s*device: "[^"]*"', "", text) for text in (samples.text().decode(), out.read_text()))
    assert new == old


def test_text_lines_are_as_tensorflow_writes_them(tmp_path):
    """One field per line, the device below the name; a string that resembles a device is unchanged."""
    text = 'node {\n  name: "a"\n  op: "NoOp"\n  input: "^b"\n}\nnode {\n  name: "b"\n  op: "NoOp"\n  device: "/gpu:0"\n}\n'
    text += 'node {\n  op: "device: \\"/gpu:3\\""\n  name: "c"\n}\n'
    (tmp_path / "in.pbtxt").write_text(text)
    placement = pl.Placement.from_mapping(
        pl.Problem(loads(text.encode(), devices=False), pl.clusters.uniform(2)), dict(a="dev1", b="dev0", c="dev1")
    )
    out = write(tmp_path / "in.pbtxt", placement, tmp_path / "out.pbtxt").read_text()
    expected = text.replace('name: "a"', 'name: "a"\n  device: "/device:CPU:1"').replace("/gpu:0", "/device:CPU:0")
    assert out == expected.replace('name: "c"', 'name: "c"\n  device: "/device:CPU:1"')


def test_ops_that_the_placement_lacks_keep_their_device(tmp_path):
    """A part of a graph can be placed."""
    (tmp_path / "in.pb").write_bytes(graph(node("a", "NoOp"), node("b", "NoOp", device="/gpu:7")))
    part = pl.Placement.from_mapping(
        pl.Problem(pl.OpGraph.from_arrays(["a"], [1.0], []), pl.clusters.uniform(1)), {"a": "dev0"}
    )
    out = write(tmp_path / "in.pb", part, tmp_path / "out.pb").read_bytes()
    assert {one.name: one.device for one in binary(out, "out").nodes} == {"a": "/device:CPU:0", "b": "/gpu:7"}


def test_gzip_in_and_out(tmp_path):
    """The suffixes of both files decide."""
    (tmp_path / "in.pb.gz").write_bytes(gzip.compress(samples.loop()))
    placement = placed(loads(samples.loop()))
    out = write(tmp_path / "in.pb.gz", placement, tmp_path / "out.pb.gz")
    assert {one.name: one.device for one in binary(gzip.decompress(out.read_bytes()), "out").nodes} == where(placement)


def test_what_is_written_is_read_again_as_allowed_devices(tmp_path):
    """On a box of GPUs, only the written placement is allowed when the file is read."""
    (tmp_path / "in.pb").write_bytes(samples.training())
    placement = placed(loads(samples.training(), devices=False), pl.clusters.pcie_box(3))
    again = pl.Problem(read(write(tmp_path / "in.pb", placement, tmp_path / "out.pb")), placement.problem.cluster)
    assert {name: found for name, (found,) in again.allowed.items()} == {
        name: placement.problem.cluster.names[d]
        for name, d in zip(placement.problem.graph.names, placement.device, strict=True)
    }


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (pl.clusters.uniform(2), ("/device:CPU:0", "/device:CPU:1")),
        (pl.clusters.pcie_box(2), ("/device:GPU:0", "/device:GPU:1")),
        (pl.clusters.rtx2080ti_box(2), ("/device:GPU:0", "/device:GPU:1")),
        (pl.costs.cluster("v100", 2), ("/device:GPU:0", "/device:GPU:1")),
        (pl.costs.cluster("tpu_v3", 1), ("/device:TPU:0",)),
        (pl.costs.cluster("xeon_8380", 1), ("/device:CPU:0",)),
        (pl.clusters.parameter_server(1), ("/job:ps/task:0/device:CPU:0", "/job:worker/task:0/device:GPU:0")),
        (pl.Cluster([1, 1, 1], types=["gpu", "cpu", "RTX GPU"]), ("/device:GPU:0", "/device:CPU:0", "/device:GPU:1")),
        (
            pl.Cluster([1, 1], hosts=["left", "right"]),
            ("/job:worker/task:0/device:CPU:0", "/job:worker/task:1/device:CPU:0"),
        ),
        (pl.Cluster([1], names=["/job:a/task:3/device:GPU:5"]), ("/job:a/task:3/device:GPU:5",)),
    ],
)
def test_what_tensorflow_calls_devices(cluster, expected):
    """By type, counted on each host; with jobs and tasks if there are several hosts."""
    assert tensorflow_names(cluster) == expected


@pytest.mark.parametrize("hosts", [1, 2])
def test_what_is_written_is_what_is_allowed_when_it_is_read_again(hosts):
    """A device's name in TensorFlow means that device on the placement's cluster."""
    cluster = pl.costs.cluster("v100", 2, hosts=hosts)
    for device, text in zip(cluster.names, tensorflow_names(cluster), strict=True):
        graph = pl.OpGraph.from_arrays(["a"], [1.0], [], devices={0: allowed([text])[text]})
        assert pl.Problem(graph, cluster).allowed == {"a": (device,)}


def test_names_can_be_given():
    """Some or all devices can get TensorFlow names of the user."""
    assert tensorflow_names(pl.clusters.uniform(2), {"dev1": "/gpu:3"}) == ("/device:CPU:0", "/gpu:3")


@pytest.mark.parametrize("wrong", [5, {"dev7": "/gpu:0"}, {"dev0": "gpu zero"}, {"dev0": 3}])
def test_names_must_be_tensorflows(wrong):
    """The error is one sentence."""
    with pytest.raises(FormatError):
        tensorflow_names(pl.clusters.uniform(2), wrong)


@pytest.mark.parametrize(
    ("name", "data", "out", "message"),
    [
        ("in.pb", samples.served(), "out.pb", "is a SavedModel"),
        ("in.pb", graph(node("other", "NoOp")), "out.pb", "none of the placed ops"),
        ("in.pb", samples.loop(), "out.pbtxt", "out.pbtxt must end in .pb"),
        ("in.pbtxt", samples.text(), "out.pb", "out.pb must end in .pbtxt"),
        ("in.pb", samples.loop()[:-9], "out.pb", "not a complete protobuf file"),
        ("in.pbtxt", b"node {" * 200, "out.pbtxt", "more than 100 deep"),
        ("in.pb", samples.loop(), "no folder/out.pb", "cannot be written"),
    ],
)
def test_what_cannot_be_written(tmp_path, name, data, out, message):
    """The error is one sentence, and no file is written."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises((FormatError, UnsupportedError), match=message):
        write(tmp_path / name, placed(loads(samples.loop())), tmp_path / out)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@given(
    st.lists(
        st.tuples(st.text("abc_", min_size=1, max_size=4), st.sampled_from(["", "/gpu:0", "/job:a"])),
        min_size=1,
        max_size=6,
        unique_by=lambda row: row[0],
    )
)
def test_binary_round_trip(tmp_path_factory, rows):
    """For any names and devices, the written file holds the same ops on their devices."""
    folder = tmp_path_factory.mktemp("written")
    data = graph(*[node(name, "NoOp", device=device) for name, device in rows])
    (folder / "in.pb").write_bytes(data)
    placement = placed(loads(data, devices=False))
    out = write(folder / "in.pb", placement, folder / "out.pb").read_bytes()
    assert [(one.name, one.device) for one in binary(out, "out").nodes] == [
        (name, where(placement)[name]) for name, _ in rows
    ]
    assert without_devices(out) == without_devices(data)

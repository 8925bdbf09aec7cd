"""Figures of common devices and links, and clusters made of them."""

from __future__ import annotations

import pickle

import pytest

import placelab as pl
from placelab.costs import Link, Spec
from placelab.problem.hardware import chosen, hardware


@pytest.mark.parametrize("spec", pl.costs.specs().values(), ids=lambda spec: spec.name)
def test_every_device_has_plausible_figures_and_a_source(spec):
    """Lower precision is never slower; a device does between 0.1 and 1,000 TFLOP/s and more than 1 FLOP per byte."""
    assert pl.costs.specs()[spec.name] == spec
    assert 1e11 < spec.speed < 1e15
    assert 1 < spec.speed / spec.memory_bandwidth < 200
    assert 1e9 < spec.memory < 1e12
    assert 0 < spec.overhead < 1e-4
    assert len(spec.source) > 20
    order = [spec.matmul.get(key, 0) for key in ("float32", "tf32", "float16", "float8")]
    given = [peak for peak in order if peak]
    assert given == sorted(given)
    assert given[0] >= spec.speed


@pytest.mark.parametrize(
    ("name", "cores", "hertz"),
    [
        ("gtx1080ti", 3584, 1.582e9),
        ("rtx2080", 2944, 1.71e9),
        ("rtx2080ti", 4352, 1.545e9),
        ("p100", 3584, 1.48e9),
        ("v100", 5120, 1.53e9),
        ("t4", 2560, 1.59e9),
        ("a100_40gb", 6912, 1.41e9),
        ("a100_80gb", 6912, 1.41e9),
        ("l4", 7424, 2.04e9),
        ("rtx3090", 10496, 1.695e9),
        ("rtx4090", 16384, 2.52e9),
        ("h100", 16896, 1.98e9),
        ("h200", 16896, 1.98e9),
        ("mi300x", 304 * 64 * 2, 2.1e9),
    ],
)
def test_the_float32_peak_is_cores_times_clock(name, cores, hertz):
    """A multiplication and an addition per core and cycle: the figure that data sheets round."""
    assert pl.costs.specs()[name].speed == pytest.approx(2 * cores * hertz, rel=0.01)


@pytest.mark.parametrize("link", pl.costs.links().values(), ids=lambda link: link.name)
def test_every_link_has_one_direction_a_latency_and_a_source(link):
    """Links have between 1 Gbit/s and 1 TB/s."""
    assert 0.1e9 < link.bandwidth < 1e12
    assert 1e-6 <= link.latency <= 1e-4
    assert len(link.source) > 10


@pytest.mark.parametrize(
    ("name", "generations"), [("pcie", (3, 4, 5)), ("nvlink", (2, 3, 4, 5)), ("ethernet", (1, 10, 25, 100))]
)
def test_later_links_are_faster(name, generations):
    """The tables of names have every generation."""
    bandwidths = [pl.costs.links()[f"{name}{generation}"].bandwidth for generation in generations]
    assert bandwidths == sorted(bandwidths)
    assert len(set(bandwidths)) == len(bandwidths)


def test_pcie_is_lanes_times_transfers_times_coding():
    """16 lanes, one bit each, 128 of 130 bits."""
    for generation, rate in ((3, 8e9), (4, 16e9), (5, 32e9)):
        assert pl.costs.links()[f"pcie{generation}"].bandwidth == pytest.approx(16 * rate * 128 / 130 / 8, rel=1e-4)


def test_a_cluster_of_a_spec_has_its_speed_memory_and_type():
    """So estimates of that spec apply to it unchanged."""
    cluster = pl.costs.cluster("a100_40gb", 3, link="nvlink3")
    assert cluster.types == ("a100_40gb",) * 3
    assert cluster.names == ("gpu:0", "gpu:1", "gpu:2")
    assert set(cluster.speed.tolist()) == {19.5e12}
    assert set(cluster.memory.tolist()) == {40e9}
    assert cluster.bandwidth[0, 1] == 300e9
    assert cluster.latency[0, 1] == pl.costs.links()["nvlink3"].latency


def test_several_hosts_are_joined_by_the_network():
    """Within a host the link, between hosts the network."""
    cluster = pl.costs.cluster("h100", 2, link="nvlink4", hosts=2, network="infiniband_ndr")
    assert cluster.names[2] == "host1/gpu:0"
    assert cluster.bandwidth[0, 1] == 450e9
    assert cluster.bandwidth[0, 2] == 50e9
    assert len(set(cluster.hosts)) == 2


def test_a_cluster_of_own_figures():
    """A Spec and a Link that no table has."""
    cluster = pl.costs.cluster(Spec("mine", 1e12, memory=5e9), 2, link=Link("wire", 1e9, 0.0))
    graph = pl.OpGraph.from_arrays(["a", "b"], [1e12, 1e12], [(0, 1)], edge_bytes=[1e9])
    problem = pl.Problem(graph, cluster)
    assert problem.exec_time(0, 0) == 1.0
    assert problem.transfer_time(0, 0, 1) == 1.0
    assert cluster.memory.tolist() == [5e9, 5e9]


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        (pl.costs.cluster("v100", 1), "gpu"),
        (pl.clusters.h100_box(1), "gpu"),
        (pl.clusters.two_nodes(1), "gpu"),
        (pl.costs.cluster("tpu_v3", 1), "tpu"),
        (pl.costs.cluster("epyc_7763", 1), "cpu"),
        (pl.Cluster(speed=[1.0], names=["CPU:0"], bandwidth=1.0), "cpu"),
        (pl.clusters.uniform(1), ""),
    ],
)
def test_frameworks_know_a_device_by_its_type_else_by_its_name(cluster, expected):
    """A V100's type is known as a GPU; a device of unknown type is classified by its name."""
    assert hardware(cluster)[0] == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("h1000",), "no device is called 'h1000'; costs.specs\\(\\) has gtx1080ti"),
        (("h100", 0), "whole number"),
        (("h100", 2, "string"), "no link is called 'string'"),
        (("h100", 2, "pcie4", 0), "number of hosts is 0"),
        (("h100", 2, "pcie4", 1, 7), "no link is called 7"),
    ],
)
def test_what_no_table_has_is_refused(arguments, message):
    """The error is one sentence that lists the known names."""
    keywords = dict(zip(("device", "n", "link", "hosts", "network"), arguments, strict=False))
    with pytest.raises(pl.FormatError, match=message):
        pl.costs.cluster(**keywords)


def test_specs_may_be_given_in_several_forms():
    """Names, Spec objects, mappings of arguments, mappings name → figures, or a list that mixes them."""
    mine = Spec("mine", 1e12)
    assert [spec.name for spec in chosen("h100")] == ["h100"]
    assert chosen(mine) == [mine]
    assert [spec.name for spec in chosen(["t4", mine, {"name": "x", "speed": 2.0}])] == ["t4", "mine", "x"]
    assert [spec.speed for spec in chosen({"x": {"speed": 2.0}, "mine": mine})] == [2.0, 1e12]


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ({"speed": 0.0}, "speed of device 'x' is 0.0"),
        ({"speed": float("inf")}, "speed of device 'x' is inf"),
        ({"speed": 10**400}, "speed of device 'x' is 1000"),
        ({"speed": "fast"}, "speed of device 'x' is 'fast'"),
        ({"speed": 1.0, "memory_bandwidth": -1}, "memory_bandwidth of device 'x' is -1"),
        ({"speed": 1.0, "matmul": {"float32": 0}}, "matmul float32 of device 'x' is 0"),
        ({"speed": 1.0, "matmul": 7}, "matmul of device 'x' is 7"),
        ({"speed": 1.0, "overhead": -1}, "overhead of device 'x' is -1"),
        ({"speed": 1.0, "overhead": 10**400}, "overhead of device 'x' is 1000"),
        ({"speed": 1.0, "overhead": "long"}, "overhead of device 'x' is 'long'"),
    ],
)
def test_figures_that_are_none_are_refused_where_they_enter(figures, message):
    """A spec is checked when it is made."""
    with pytest.raises(pl.FormatError, match=message):
        Spec("x", **figures)


@pytest.mark.parametrize("name", ["", "two\nlines", 7])
def test_a_spec_needs_a_name_that_a_device_type_can_have(name):
    """The name becomes a time column and a device type."""
    with pytest.raises(pl.FormatError, match="name of a device"):
        Spec(name, 1.0)


def test_the_tables_cannot_be_changed_by_who_reads_them():
    """``specs()`` and ``links()`` return deep copies; a Spec can be pickled."""
    read = pl.costs.specs()
    read["h100"].matmul["float32"] = 1.0
    read.clear()
    pl.costs.links().clear()
    h100 = pl.costs.specs()["h100"]
    assert h100.matmul["float32"] == h100.speed
    assert pickle.loads(pickle.dumps(h100)) == h100
    assert pl.costs.links()["pcie3"].bandwidth > 0


def test_a_cluster_of_several_types():
    """Each device of a list has its own data sheet, on every host; a length that is not the list's is refused."""
    cards = pl.costs.cluster(["rtx4090", "rtx3090", "t4"], link="pcie4", hosts=2, network="ethernet100")
    known = pl.costs.specs()
    assert cards.types == ("rtx4090", "rtx3090", "t4") * 2
    assert cards.speed.tolist() == [known[name].speed for name in cards.types]
    assert cards.memory.tolist() == [known[name].memory for name in cards.types]
    assert cards.names[:2] == ("host0/rtx4090:0", "host0/rtx3090:1") and cards.names[5] == "host1/t4:2"
    assert cards.bandwidth[0, 1] == pl.costs.links()["pcie4"].bandwidth
    assert cards.bandwidth[0, 3] == pl.costs.links()["ethernet100"].bandwidth
    assert pl.costs.cluster(["h100", "h100"]).names == ("h100:0", "h100:1")
    for given, n in (([], None), (["h100"], 2)):
        with pytest.raises(pl.FormatError, match="leave n out, and name a device at least"):
            pl.costs.cluster(given, n)

"""Cluster and its presets."""

import json

import numpy as np
import pytest

import placelab as pl
from placelab.problem.cluster import as_argument, links_among


def test_scalars_fill_matrices_and_the_diagonal_is_ignored():
    """One bandwidth fills the matrix; transfers within a device take no time."""
    c = pl.Cluster([1, 2], bandwidth=[[0, 3], [4, np.nan]], latency=0.5)
    assert c.bandwidth.tolist() == [[np.inf, 3], [4, np.inf]]
    assert c.latency.tolist() == [[0, 0.5], [0.5, 0]]
    assert c.memory.tolist() == [np.inf, np.inf]


def test_from_hosts_joins_devices_by_two_kinds_of_link():
    """One link within a host, another between hosts."""
    c = pl.Cluster.from_hosts(
        {"host0": 2, "host1": 1}, speed=1e13, memory=16e9, inside=(300e9, 5e-6), between=(12e9, 50e-6)
    )
    assert c.hosts == ("host0", "host0", "host1")
    assert c.bandwidth[0, 1] == 300e9
    assert c.bandwidth[0, 2] == c.bandwidth[2, 1] == 12e9
    assert c.latency[1, 2] == 50e-6


def test_replace_makes_a_new_cluster():
    """The original is unchanged."""
    c = pl.Cluster.uniform(2, speed=1.0)
    faster = c.replace(speed=[2.0, 3.0])
    assert c.speed.tolist() == [1, 1]
    assert faster.speed.tolist() == [2, 3]
    assert faster.names == c.names
    with pytest.raises(pl.FormatError, match="a cluster has no sped"):
        c.replace(sped=1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (dict(speed=[]), "at least one"),
        (dict(speed=[1, 0]), "speed of device 'dev1' is 0 operations/s"),
        (dict(speed=["x"]), "speed is .* expected numbers"),
        (dict(speed=[1, 1], bandwidth=0), "bandwidth from 'dev0' to 'dev1' is 0 bytes/s; expected more than 0"),
        (dict(speed=[1, 1], bandwidth=np.nan), "bandwidth from 'dev0' to 'dev1' is nan"),
        (dict(speed=[1, 1], bandwidth=[[1, 1]]), r"bandwidth has shape \(1, 2\)"),
        (dict(speed=[1, 1], latency=-1), "latency from 'dev0' to 'dev1' is -1 s"),
        (dict(speed=[1, 1], memory=[1]), "2 speeds but 1 memory"),
        (dict(speed=[1, 1], memory=[[1], [2, 3]]), "memory is .*; expected numbers"),
        (dict(speed=[1, 1], memory=[1, 0]), "memory of device 'dev1' is 0 bytes"),
        (dict(speed=[1, 1], names=["a", "a"]), "two devices are called 'a'"),
    ],
)
def test_bad_clusters_are_refused_with_the_device_named(arguments, words):
    """One clear error for each."""
    with pytest.raises(pl.FormatError, match=words):
        pl.Cluster(**arguments)


def test_devices_are_found_by_name_type_and_host():
    """An op's devices and pins use the same names."""
    c = pl.clusters.parameter_server(2)
    assert c.matching("ps").tolist() == [0]
    assert c.matching("gpu").tolist() == [1, 2]
    assert c.matching("worker1").tolist() == [2]
    with pytest.raises(pl.FormatError, match="no device has the name, type or host 'tpu'"):
        c.matching("tpu")


def test_mayer50_draws_the_ranges_of_section_5_1():
    """Speeds 10–100, rates 10–60, symmetric, the same for a seed."""
    c = pl.clusters.mayer50(seed=3)
    rates = c.bandwidth[~np.eye(50, dtype=bool)]
    assert c.n_devices == 50
    assert 10 <= c.speed.min() <= 20
    assert 90 <= c.speed.max() <= 100
    assert (rates.min(), rates.max()) == (10, 60)
    np.testing.assert_array_equal(c.bandwidth, c.bandwidth.T)
    np.testing.assert_array_equal(c.speed, pl.clusters.mayer50(seed=3).speed)
    assert (c.speed != pl.clusters.mayer50(seed=4).speed).any()


def test_mayer50_has_the_two_kinds_of_the_published_constraints(shared_data):
    """19 of 50 GPUs, as in the device file; ops of the published graphs that need one kind go there alone."""
    c = pl.clusters.mayer50(seed=3)
    assert sorted(c.types) == ["CPU"] * 31 + ["GPU"] * 19
    published = (shared_data("mayer2017") / "devices_50.csv").read_text().splitlines()[1:]
    assert sorted(line.rsplit(",", 1)[1].strip() for line in published) == sorted(c.types)
    graph = pl.load(shared_data("mayer2017") / "recurrent_network.csv")
    problem = pl.Problem(graph, c)
    kinds = np.array(c.types)
    tied = [set(kinds[problem.feasible(v)]) for v in np.flatnonzero(graph.device_set >= 0)]
    assert {"CPU"} in tied and {"GPU"} in tied and {"CPU", "GPU"} not in tied


def test_a_data_parallel_cluster_has_a_stream_per_worker():
    """A hand-over to the own stream takes no latency; links between streams are those between their GPUs."""
    c = pl.clusters.data_parallel(4, hosts=2)
    assert c.names == tuple([f"worker:{w}" for w in range(4)] + [f"worker:{w}/stream" for w in range(4)])
    assert c.hosts == ("node0", "node0", "node1", "node1") * 2
    assert (c.latency[0, 4], c.latency[6, 2]) == (0, 0)
    assert c.bandwidth[4, 5] == c.bandwidth[0, 1] == 300e9 and c.bandwidth[4, 6] == c.bandwidth[0, 2] == 12.5e9
    assert np.isinf(c.memory[4:]).all() and (c.memory[:4] == 80e9).all()
    with pytest.raises(pl.FormatError, match="5 workers cannot be shared equally by 2 hosts"):
        pl.clusters.data_parallel(5, hosts=2)


@pytest.mark.parametrize("workers", range(1, 10))
def test_any_number_of_workers_has_a_data_parallel_cluster(workers):
    """Without a number of hosts, an odd number of workers is on one and an even number on two."""
    cluster = pl.clusters.data_parallel(workers)
    assert cluster.n_devices == 2 * workers and len(set(cluster.hosts)) == 2 - workers % 2


@pytest.mark.parametrize(
    ("preset", "device", "link", "n"), [("rtx2080ti_box", "rtx2080ti", "pcie3", 4), ("h100_box", "h100", "nvlink4", 8)]
)
def test_presets_of_real_devices_have_the_figures_of_their_specs(preset, device, link, n):
    """So models have seconds for exactly these types and speeds."""
    made = pl.costs.cluster(device, n, link=link)
    c = pl.clusters.preset(preset)
    assert set(c.types) == set(made.types) == {device} and c.n_devices == n
    for column in ("speed", "memory", "bandwidth", "latency"):
        np.testing.assert_array_equal(getattr(c, column), getattr(made, column))


@pytest.mark.parametrize("name", pl.clusters.PRESETS)
def test_presets_make_clusters(name):
    """Every preset works without arguments; an unknown one raises an error with the list."""
    assert pl.clusters.preset(name).n_devices >= 4
    with pytest.raises(pl.FormatError, match="pcie_box"):
        pl.clusters.preset(name + "?")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: pl.Cluster([10**400]), "expected numbers"),
        (lambda: pl.Cluster([1], memory=[[1]]), "memory has shape"),
        (lambda: pl.Cluster([1, 2], names="ab"), "names is 'ab'"),
        (lambda: pl.Cluster([1], hosts=3), "hosts is 3"),
        (lambda: pl.Cluster([1], names=["\ud800"]), "is not a device"),
        (lambda: pl.Cluster.from_hosts(["a"]), "hosts is"),
        (lambda: pl.Cluster.from_hosts({"a": 2}, inside=5), "inside is 5; expected .bandwidth"),
        (lambda: pl.clusters.mayer50(seed=-1), "seed is -1"),
        (lambda: pl.clusters.mayer50(seed=None), "seed is None"),
        (lambda: pl.Cluster([1, 2]).index(np.array([0, 1])), "no device is called"),
    ],
)
def test_arguments_of_the_wrong_kind_are_named(make, words):
    """Each raises a FormatError, never an exception of numpy or Python."""
    with pytest.raises(pl.FormatError, match=words):
        make()


def test_shared_links_are_pairs_of_devices():
    """Ends are devices, hosts, types or all; a link joins different devices, each pair once."""
    two = pl.Cluster.from_hosts({"a": 2, "b": 1})
    links = two.replace(links={"up": (5, [("a", "b"), (0, "b/gpu:0")]), "card": (2.0, [("a/gpu:0", "*")])}).links
    assert [(link.name, link.bandwidth, link.pairs) for link in links] == [
        ("up", 5.0, ((0, 2), (1, 2))),
        ("card", 2.0, ((0, 1), (0, 2))),
    ]
    narrow = two.replace(links=links)
    assert narrow.links == links and narrow.narrowest[0].tolist() == [np.inf, 2.0, 2.0]
    assert "card" in narrow._repr_mimebundle_()["text/html"]


def test_shared_links_survive_json_and_edits():
    """As an argument, and with devices removed, added or copied."""
    cluster = pl.Cluster([1.0] * 3, links={"up": (5.0, [(0, 1), (1, 2)])})
    again = pl.Cluster([1.0] * 3, links=json.loads(json.dumps(as_argument(cluster.links))))
    assert again.links == cluster.links
    assert [link.pairs for link in links_among(cluster.links, [1, 2])] == [((0, 1),)]
    assert [link.pairs for link in links_among(cluster.links, [1, 2, 1])] == [((0, 1), (2, 1))]
    assert links_among(cluster.links, [0, 2]) == ()
    copies = pl.clusters.replicated(cluster)
    assert [link.name for link in copies.links] == ["replica:0/up", "replica:1/up"]
    assert {(3, 4), (9, 10), (3, 10)} <= set(copies.links[1].pairs) and (0, 4) not in copies.links[1].pairs


@pytest.mark.parametrize(
    ("links", "words"),
    [
        (5, "links is 5; expected {name:"),
        ({"": (1.0, [(0, 1)])}, "is no name of a link"),
        ({"up": 5}, "link 'up' is 5; expected"),
        ({"up": (0.0, [(0, 1)])}, "link 'up' has a bandwidth of 0.0 bytes/s"),
        ({"up": (np.inf, [(0, 1)])}, "link 'up' has a bandwidth of inf"),
        ({"up": ("x", [(0, 1)])}, "link 'up' has a bandwidth of 'x'"),
        ({"up": (1.0, [(0, 0)])}, "link 'up' joins no two devices"),
        ({"up": (1.0, [(0,)])}, r"link 'up' has the pair \(0,\)"),
        ({"up": (1.0, [(0, "other")])}, "no device has the name, type or host 'other'"),
        ({"up": (1.0, [(0, 7)])}, "no device is called 7"),
    ],
)
def test_bad_links_are_refused(links, words):
    """One clear error for each."""
    with pytest.raises(pl.FormatError, match=words):
        pl.Cluster([1.0, 1.0], links=links)

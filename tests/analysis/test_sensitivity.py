"""Each row of a sensitivity is a problem solved with that value; what fails is a row with its reason."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import many, problems

import placelab as pl
from placelab.analysis.studies.over_values import COLUMNS

LINKS = ("bandwidth", "latency")
DEVICES = ("speed", "memory")


def put(problem: pl.Problem, over: str, meant, value: float) -> pl.Problem:
    """The problem whose entries `meant` of one column have the ratios of before, the largest the value."""
    column = getattr(problem.cluster, over).copy()
    usable = [x for x in column[meant] if 0 < x < np.inf]
    largest = max(usable, default=None)
    for place in zip(*meant, strict=True):
        old = column[place]
        column[place] = value if largest is None or old == largest else old * (value / largest)
    return problem.replace(cluster=problem.cluster.replace(**{over: column}))


def solved(problem: pl.Problem, partitioner: str, scheduler: str | None) -> tuple[pl.Schedule | None, str]:
    """The schedule and "", or None and why there is none."""
    try:
        return pl.solve(problem, partitioner, scheduler), ""
    except pl.PlacelabError as error:
        return None, str(error)


@given(data=st.data(), over=st.sampled_from([*LINKS, *DEVICES]))
def test_each_row_is_a_problem_solved(data, over):
    """All parameters, of one device, of a type, of a pair and of all; groups, restrictions, measured times, every model."""
    problem = data.draw(problems(ops=7, memory=("dynamic", "edges", "reserved")))
    cluster = problem.cluster
    k = problem.cluster.n_devices
    apart = ~np.eye(k, dtype=bool)
    i = data.draw(st.integers(0, k - 1))
    j = data.draw(st.integers(0, k - 1))
    of = data.draw(st.sampled_from([None, cluster.names[i], i, cluster.types[i], (cluster.names[i], j)]))
    devices = np.arange(k) == i
    if of is None or of == cluster.types[i]:
        devices = np.array([of in (None, kind) for kind in cluster.types])
    links = np.zeros((k, k), bool)
    if isinstance(of, tuple):
        links[i, j] = links[j, i] = True
    elif devices.sum() == 1:
        links = devices[:, None] | devices
    else:
        links = devices[:, None] & devices
    meant = np.nonzero(links & apart if over in LINKS else devices)
    if over in DEVICES and isinstance(of, tuple):
        with pytest.raises(pl.FormatError, match="of devices"):
            pl.sensitivity(problem, over=over, of=of)
        return
    if not len(meant[0]):
        with pytest.raises(pl.UnsupportedError, match="link"):
            pl.sensitivity(problem, over=over, of=of)
        return
    values = data.draw(st.lists(st.sampled_from([0.3, 1.0, 2.0, 5.5, 31.0]), min_size=1, max_size=3))
    pairs = [("heft", "planned"), ("single", "fifo"), ("heft", None)]
    frame = pl.sensitivity(problem, pairs, over=over, of=of, values=values)
    assert tuple(frame.columns) == COLUMNS
    assert frame["value"].tolist() == values * 3
    assert frame["scheduler"][: len(values)].eq("planned").all()
    for row, pair in zip(frame.itertuples(), np.repeat(pairs, len(values), axis=0), strict=True):
        schedule, error = solved(put(problem, over, meant, row.value), *pair)
        if schedule is None:
            assert (row.error, np.isnan(row.makespan)) == (error, True)
            continue
        assert (row.makespan, row.oom, row.error) == (schedule.makespan, bool(len(schedule.oom)), "")
        assert (row.partitioner, row.scheduler, row.over) == (pair[0], schedule.scheduler, over)


@pytest.mark.parametrize("over", [*LINKS, *DEVICES])
def test_default_values_are_around_the_present_one(over):
    """31 equal steps of the logarithm, a tenth to ten times; the present value itself gives the present makespan."""
    graph = pl.load("convolutional_network")
    problem = pl.Problem(graph, pl.Cluster.uniform(3, memory=1e9), memory="dynamic")
    frame = pl.sensitivity(problem, "heft", over=over)
    value = frame["value"].to_numpy()
    assert len(frame) == 31
    assert value[[0, 30]] == pytest.approx(value[15] * np.array([0.1, 10]))
    assert np.diff(np.log(value)) == pytest.approx(np.log(10) / 15)
    present = frame[frame["relative"] == 1.0]
    assert present["makespan"].tolist() == [pl.solve(problem, "heft").makespan]


@pytest.mark.parametrize(("over", "cluster"), [
    ("latency", pl.Cluster([1.0, 1.0])),
    ("bandwidth", pl.Cluster([1.0, 1.0], bandwidth=np.inf)),
    ("memory", pl.Cluster([1.0, 1.0])),
])  # fmt: skip
def test_default_values_where_there_is_none(over, cluster):
    """No latency, no limit of bandwidth or memory: values that make a difference, and the latency of 0 itself."""
    graph = pl.OpGraph.from_arrays(
        list("abcd"),
        [2.0] * 4,
        [(0, 2), (1, 3)],
        edge_bytes=[4.0, 4.0],
        persistent=2.0,
        devices={2: ["dev0"], 3: ["dev0"]},
    )
    frame = pl.sensitivity(pl.Problem(graph, cluster, memory="dynamic"), "round-robin", "fifo", over=over)
    assert len(frame) == 31 + (over == "latency")
    assert (frame["value"].iloc[0] == 0) == (over == "latency")
    assert frame["relative"].isna().all()
    felt = frame[["makespan", "oom", "error"]].drop_duplicates()
    assert len(felt) > 1


@pytest.mark.parametrize("transfers", ["fair", "parallel"])
def test_a_shared_link_has_a_curve(transfers):
    """By its name, where links are shared; its pairs keep their bandwidth, and other links theirs."""
    links = {"nic": (1.0, [(0, 1), (0, 2)]), "other": (3.0, [(1, 0)]), "dev0": (3.0, [(1, 0)])}
    graph = pl.OpGraph.from_arrays(list("abcd"), [1.0] * 4, [(0, 2), (1, 3)], edge_bytes=[4.0, 4.0])
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=9.0, links=links), transfers=transfers)
    if transfers != "fair":
        with pytest.raises(pl.UnsupportedError, match="fair"):
            pl.sensitivity(problem, of="nic")
        assert len(pl.sensitivity(problem, "single", of="dev0", values=[1.0])) == 1
        return
    frame = pl.sensitivity(problem, "hash", "fifo", of="nic")
    assert len(frame) == 31 and frame["relative"].iloc[15] == 1
    for row in frame.itertuples():
        changed = links | {"nic": (row.value, links["nic"][1])}
        again = problem.replace(cluster=problem.cluster.replace(links=changed))
        assert row.makespan == pl.solve(again, "hash", "fifo").makespan
    assert frame["makespan"].nunique() > 1
    assert "bandwidth of 0" in pl.sensitivity(problem, "hash", of="nic", values=[0.0])["error"].item()
    with pytest.raises(pl.FormatError, match="no latency"):
        pl.sensitivity(problem, over="latency", of="nic")
    with pytest.raises(pl.FormatError, match="name of its own"):
        pl.sensitivity(problem, of="dev0")


def test_anomalies_are_not_smoothed():
    """Some schedule becomes longer where links become faster, and the rows say so, to the last bit."""
    rises = 0
    for problem in many(60, seed=3, ops=10, devices=3, memory=("none",), restricted=False):
        if problem.cluster.n_devices > 1:
            frame = pl.sensitivity(problem, "heft", "fifo", over="bandwidth", values=np.geomspace(0.5, 8, 9))
            rises += (frame["makespan"].diff() > 1e-9).any()
    assert rises


def test_failures_are_rows():
    """A value that no cluster has, too little memory, a user's strategy that raises anything."""

    @pl.partitioner
    def fails_at_two(problem):
        """Fails at a speed of 2."""
        return pl.Placement(problem, [[0][int(problem.cluster.speed[0] == 2)]])

    graph = pl.OpGraph.from_arrays(["a"], [6.0], [], persistent=[9.0])
    problem = pl.Problem(graph, pl.Cluster([1.0], memory=[9.0]))
    frame = pl.sensitivity(problem, "fails-at-two", "fifo", over="speed", values=[1.0, 2.0, -1.0])
    assert frame["makespan"].isna().tolist() == [False, True, True]
    assert frame["error"][1] == "list index out of range"
    assert "expected more than 0" in frame["error"][2]
    frame = pl.sensitivity(problem, "single", over="memory", values=[9.0, 4.0])
    assert frame["error"].str.contains("short by 5 bytes").tolist() == [False, True]


def test_a_speed_that_no_time_depends_on_is_said():
    """Measured times hold at any speed, unless they say at which they were taken; one device that counts is enough."""
    given = dict(time={"cpu": [1.0, 2.0]}, edge_bytes=[1.0])
    measured = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)], **given)
    cluster = pl.Cluster([1.0, 1.0], types=["cpu", "gpu"])
    problem = pl.Problem(measured, cluster)
    for of, name in (("dev0", "'dev0'"), ("cpu", "'cpu'")):
        with pytest.warns(UserWarning, match=f"speed of {name}: the graph's times were measured"):
            frame = pl.sensitivity(problem, "single", over="speed", of=of, values=[1.0, 10.0])
        assert frame["makespan"].nunique() == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pl.sensitivity(problem, "single", over="speed", values=[1.0, 10.0])  # the gpu has no times
        pl.sensitivity(problem, "single", over="bandwidth", values=[1.0, 10.0])
    alike = pl.Problem(measured, cluster.replace(types=["cpu", "cpu"]))
    with pytest.warns(UserWarning, match="speed of any device"):
        pl.sensitivity(alike, "single", over="speed", values=[1.0, 10.0])


def test_progress_and_cancel():
    """Each row is reported; those that are complete are returned, in order."""
    problem = pl.Problem(pl.generators.fork_join(8), pl.Cluster.uniform(2))
    seen = []
    frame = pl.sensitivity(problem, [("heft", "planned"), ("single", "fifo")], progress=seen.append)
    assert len(seen) == len(frame) == 62 and seen[-1].fraction == 1.0
    few = pl.sensitivity(problem, progress=seen.append, cancel=lambda: len(seen) >= 66)
    assert len(few) == 4 and few["value"].is_monotonic_increasing


def test_what_makes_no_sense_is_refused():
    """One sentence each, before anything is solved."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    for kind, words, call in (
        (pl.FormatError, "over", dict(over="colour")),
        (pl.UnsupportedError, "memory model", dict(over="memory")),
        (pl.FormatError, "no device", dict(of="gpu:9")),
        (pl.FormatError, "pair", dict(of=("dev0", "dev1", "dev0"))),
        (pl.FormatError, "numbers", dict(values=["fast"])),
        (pl.FormatError, "shape", dict(values=[])),
        (pl.UnsupportedError, "no partitioner", dict(partitioner="heftig")),
        (pl.FormatError, "pairs", dict(partitioner=["heft", "pct"])),
        (pl.FormatError, "Problem", dict(problem=problem.graph)),
    ):
        with pytest.raises(kind, match=words):
            pl.sensitivity(**{"problem": problem, **call})
    alone = pl.Problem(pl.generators.fork_join(3), pl.Cluster([1.0]))
    with pytest.raises(pl.UnsupportedError, match="link"):
        pl.sensitivity(alone)

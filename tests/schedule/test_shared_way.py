"""Sharers of links: the same as by comparing each transfer with all others, at a cost that grows with the transfers."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from problems import many, placement

import placelab as pl
from placelab.schedule import critical_steps as steps_module
from placelab.schedule.critical_steps import ROUNDING, critical_steps, said_of_sharing


def compared(schedule, x):
    """What is said of transfer `x`, by comparing it with each other one."""
    problem = schedule.problem
    moved = schedule.transfers
    cluster = schedule.problem.cluster

    def window(transfer):
        late = cluster.latency[transfer["source"], transfer["destination"]]
        holds = problem.latency == "holds"
        begin, end = (
            (transfer["start"] + late, transfer["finish"]) if holds else (transfer["start"], transfer["finish"] - late)
        )
        return begin, end - ROUNDING * schedule.makespan

    begin, end = window(moved[x])
    way = int(moved["source"][x]), int(moved["destination"][x])
    alone = cluster.latency[way] + problem.graph.tensor_bytes[moved["tensor"][x]] / cluster.narrowest[way]
    longer = moved["finish"][x] - moved["start"][x] - alone
    links = [(f"{cluster.names[way[0]]} → {cluster.names[way[1]]}", {way})]
    links += [(link.name, set(link.pairs)) for link in cluster.links if way in link.pairs]
    parts = []
    for link, pairs in links:
        names = []
        for y, other in enumerate(moved):
            first, last = window(other)
            uses = (int(other["source"]), int(other["destination"])) in pairs
            name = problem.graph.names[problem.graph.tensor_producer[other["tensor"]]]
            if uses and y != x and first < end and last > begin and last > first and name not in names:
                names.append(name)
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        parts += [f"{', '.join(names[:3])}{more} on {link}"] if names else []
    if not parts or longer <= ROUNDING * moved["finish"][x]:
        return {}
    return {x: f", {cluster.units.time(longer)} longer than alone: shared with {'; with '.join(parts)}"}


def broadcasts(n, *, senders=1, latency="holds"):
    """`n` ops in a chain that alternates between two devices, beside `n` others whose outputs go to three devices each.

    All share one link, and the others' transfers are as long as many of the chain's.
    """
    rng = np.random.default_rng(0)
    edges = [(i, i + 1) for i in range(n - 1)] + [
        (n + i % senders, 2 * n + 3 * i + d) for i in range(n) for d in range(3)
    ]
    size = [1.0] * (n - 1) + np.repeat(rng.integers(1, 1 + n, n), 3).tolist()
    output = [0] * (n - 1) + [3 * (i // senders) + d for i in range(n) for d in range(3)]
    time = [0.01] * (n - 1) + [1e6] + [0.02] * n + [0.0] * 3 * n
    graph = pl.OpGraph.from_arrays([f"op{i}" for i in range(5 * n)], time, edges, edge_bytes=size, edge_output=output)
    where = [i % 2 for i in range(n)] + [i % 3 for i in range(n)] + [d + 1 for _ in range(n) for d in range(3)]
    cluster = pl.Cluster(
        [1.0] * 4, bandwidth=rng.integers(1, 9, (4, 4)), latency=rng.random((4, 4)), links={"bus": (9.0, [("*", "*")])}
    )
    problem = pl.Problem(graph, cluster, transfers="fair", latency=latency)
    return pl.simulate(problem, pl.Placement(problem, where), "fifo")


def test_sharers_are_those_found_one_by_one():
    """On critical paths and for any transfer of random problems: links, names in order, how many more."""
    said = 0
    for i, problem in enumerate(many(300, ops=30, transfers=["fair"])):
        schedule = pl.simulate(problem, placement(Random(i).randint, problem), "fifo")
        steps = critical_steps(schedule)
        rows = steps["by"][(steps["kind"] == 1) & (steps["cause"] != 2)]
        assert said_of_sharing(schedule, rows) == {
            k: v for x in rows.tolist() for k, v in compared(schedule, x).items()
        }
        for x in range(len(schedule.transfers)):
            assert said_of_sharing(schedule, np.array([x])) == compared(schedule, x)
            said += bool(compared(schedule, x))
    assert said > 20


@pytest.mark.parametrize("senders", [1, 7, 40])
@pytest.mark.parametrize("latency", ["holds", "follows"])
def test_many_that_share_a_link_are_found_on_a_long_path(latency, senders):
    """Few or many producers, each with several transfers that are under way during many steps of the path."""
    schedule = broadcasts(40, senders=senders, latency=latency)
    steps = critical_steps(schedule)
    rows = steps["by"][steps["kind"] == 1]
    texts = [compared(schedule, x) for x in rows.tolist()]
    assert said_of_sharing(schedule, rows) == {k: v for text in texts for k, v in text.items()}


class Counted:
    """A function or module that adds the sizes of the arrays that its functions get to a list."""

    def __init__(self, what, sizes):
        self.what = what
        self.sizes = sizes

    def __getattr__(self, name):
        found = getattr(self.what, name)
        return found if isinstance(found, type) else Counted(found, self.sizes)

    def __call__(self, *args, **options):
        self.sizes += [arg.size for arg in args if isinstance(arg, np.ndarray)]
        return self.what(*args, **options)


@pytest.mark.parametrize("senders", [1, 7, 1000])
def test_eight_times_the_transfers_are_at_most_twenty_times_the_work(senders, monkeypatch):
    """Elements of arrays that numpy's functions get, on a critical path whose every transfer shares its link."""
    work = []
    for n in (100, 800):
        schedule = broadcasts(n, senders=senders)
        sizes = []
        monkeypatch.setattr(steps_module, "np", Counted(np, sizes))
        assert pl.critical_path(schedule)["reason"].str.contains("shared with").sum() > n / 4
        monkeypatch.undo()
        work.append(sum(sizes))
    assert work[1] < 20 * work[0]

"""What-ifs are simulations of problems with other costs, to the last bit, whatever made the schedule."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import placed

import placelab as pl
from placelab.analysis.faster import Part, makespans, parts, things
from placelab.problem.problem import Problem, on_graph
from placelab.schedule import catalogue as strategies
from placelab.schedule.schedule import planned_schedule


@pytest.fixture(scope="module")
def own():
    """Two schedulers that a user wrote: a rule asked at run time, and one that looks at costs once."""

    @pl.scheduler
    def shortest_in_the_test(state, device, ready):
        """The shortest first."""
        return min(ready, key=lambda v: (state.exec_time(v), v))

    @pl.scheduler(static=True)
    def longest_in_the_test(problem, placement):
        """The longest first."""
        return problem.exec_times(placement.device)

    names = ["shortest-in-the-test", "longest-in-the-test"]
    yield names
    for name in names:
        del strategies._schedulers[name]


def changed(schedule: pl.Schedule, part: Part, factor: float) -> Problem:
    """The problem with one part faster, made by public means alone."""
    problem = schedule.problem
    graph = schedule.problem.graph
    cluster = schedule.problem.cluster
    if part.shared:
        links = {x.name: (x.bandwidth * (factor if x.name == part.name else 1), list(x.pairs)) for x in cluster.links}
        return problem.replace(cluster=cluster.replace(links=links))
    if part.what in ("link", "links"):
        bandwidth = cluster.bandwidth.copy()
        bandwidth[tuple(part.pairs.T)] *= factor
        return problem.replace(cluster=cluster.replace(bandwidth=bandwidth))
    if part.what in ("device", "devices"):
        meant = [d for d, kind in enumerate(cluster.types) if part.name in (cluster.names[d], f"all {kind}")]
        speed = [s * factor if i in meant else s for i, s in enumerate(cluster.speed)]
        problem = problem.replace(cluster=cluster.replace(speed=speed))
        column = {cluster.names[d]: graph.time_column(cluster.names[d], cluster.types[d]) for d in meant}
        faster = {name: graph.time[:, j] / factor for name, j in column.items() if j >= 0}
        if not faster:
            return problem
        times = dict(zip(graph.time_types, graph.time.T, strict=True)) | faster
        return on_graph(problem, graph.replace(time=np.stack([*times.values()], axis=1), time_types=tuple(times)))
    mine = graph.kind == part.name if part.what == "kind" else graph.names == part.name
    less = np.where(mine, factor, 1.0)
    time = None if graph.time is None else graph.time / less[:, None]
    return on_graph(problem, graph.replace(compute=graph.compute / less, time=time))


def check_things(schedule: pl.Schedule, factor: float, seed: int, options: dict) -> None:
    """What the explorer lists, too: several devices, several links."""
    several = [part for part in things(schedule, 0) if part.what in ("devices", "links")]
    for i, makespan in makespans(schedule, several, factor, lambda: False):
        problem = changed(schedule, several[i], factor)
        assert pl.simulate(problem, schedule.placement, schedule.scheduler, seed=seed, **options).makespan == makespan


def with_kinds(placement: pl.Placement) -> pl.Placement:
    """The placement on a graph whose ops have kinds, one of them none."""
    problem = placement.problem
    kind = np.array(["", "MatMul", "Add"])[np.arange(problem.graph.n_ops) % 3]
    columns = {name: getattr(problem.graph, name) for name in problem.graph.__dataclass_fields__}
    return pl.Placement(on_graph(problem, pl.OpGraph(**columns | {"kind": kind})), placement.device, placement.planned)


@pytest.mark.parametrize("name", ["fifo", "msr", "pct", "planned", "random", "own rule", "own priorities"])
@given(data=st.data())
def test_each_row_is_a_simulation_with_other_costs(own, name, data):
    """Kinds, devices, ops and links; all transfer models, Send ops, groups, restrictions, measured times with holes."""
    name = {"own rule": own[0], "own priorities": own[1]}.get(name, name)
    placement = with_kinds(data.draw(placed(ops=9)))
    if name == "planned":
        placement = pl.Placement(placement.problem, placement.device, np.arange(placement.problem.graph.n_ops))
    factor = data.draw(st.sampled_from([1.1, 2.0, 0.7, 3.3]))
    seed = data.draw(st.integers(0, 3))
    options = {"order_transfers": True} if name == "pct" and data.draw(st.booleans()) else {}
    schedule = pl.simulate(placement.problem, placement, name, seed=seed, **options)
    frame = pl.what_if(schedule, factor=factor, k=3)
    todo = {(part.what, part.name): part for part in parts(schedule, 3)}
    check_things(schedule, factor, seed, options)
    assert {*zip(frame["what"], frame["name"], strict=True)} == todo.keys()
    assert len(frame) == len(todo)
    assert frame["saved"].is_monotonic_decreasing
    for row in frame.itertuples():
        problem = changed(schedule, todo[row.what, row.name], factor)
        again = pl.simulate(problem, placement, name, seed=seed, **options)
        assert row.makespan == again.makespan
        assert row.saved == schedule.makespan - again.makespan


def test_what_could_be_faster():
    """Every kind, every device, the largest ops, and the links that carry something; a graph without kinds has none."""
    problem = pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box(4))
    schedule = pl.solve(problem, "heft")
    frame = pl.what_if(schedule, k=5)
    names = frame.groupby("what")["name"].agg(set)
    assert names["kind"] == set(problem.graph.kind)
    assert names["device"] == set(problem.cluster.names)
    took = schedule.finish - schedule.start
    assert names["op"] == set(problem.graph.names[np.argsort(-took, kind="stable")[:5]])
    used = {tuple(pair) for pair in schedule.transfers[["source", "destination"]].tolist()}
    assert names["link"] == {f"{problem.cluster.names[i]} → {problem.cluster.names[j]}" for i, j in used}
    assert [part.name for part in things(schedule, 0) if part.what == "links"] == ["inside server"]
    assert [part.name for part in things(schedule, 0) if part.what == "devices"] == ["all gpu"]
    plain = pl.solve(pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2)), "single")
    assert set(pl.what_if(plain, k=0)["what"]) == {"device"}


def four_flows(transfers: str = "fair") -> pl.Schedule:
    """Four pairs of devices, each sends 1 GB over one card of 12.5 GB/s: 320 ms, and an op of 1 ms before and after."""
    links = {"nic": (12.5e9, [(i, i + 4) for i in range(4)]), "idle": (1e9, [(4, 0)])}
    graph = pl.OpGraph.from_arrays(list("abcdefgh"), [1e-3] * 8, [(i, i + 4) for i in range(4)], edge_bytes=[1e9] * 4)
    problem = pl.Problem(graph, pl.Cluster([1.0] * 8, bandwidth=100e9, links=links), transfers=transfers)
    return pl.simulate(problem, pl.Placement(problem, range(8)), "fifo")


def test_a_link_that_all_share_is_a_row():
    """Twice the card saves half of its time; links that carry nothing, and models that share nothing, have no such row."""
    frame = pl.what_if(four_flows(), factor=2.0)
    assert frame["what"][0] == "link" and frame["name"][0] == "nic"
    assert (frame["makespan"][0], frame["saved"][0]) == pytest.approx((0.162, 0.160))
    assert not {"nic", "idle"} & set(pl.what_if(four_flows("parallel"))["name"])
    assert "idle" not in set(frame["name"])


def test_links_between_hosts_are_one_thing():
    """Up to three hosts are joined two by two, more by a network; both directions are one row, and both get faster."""
    for n, least, names in (
        (2, 5, {"between h0 and h1"}),
        (3, 6, {"between h0 and h1", "between h0 and h2"}),
        (4, 5, {*(f"of h{i} to other hosts" for i in range(4)), "between hosts"}),
    ):
        cluster = pl.Cluster.from_hosts({f"h{i}": 1 for i in range(n)}, speed=1.0, between=(1.0, 0.0))
        edges = [(0, 1), (1, 2), *((0, 3 + i) for i in range(n - 2))]
        graph = pl.OpGraph.from_arrays([f"v{i}" for i in range(n + 1)], [1.0] * (n + 1), edges, edge_bytes=[4.0] * n)
        problem = pl.Problem(graph, cluster)
        schedule = pl.simulate(problem, pl.Placement(problem, [0, 1, 0, *range(2, n)]), "fifo")
        links = [part for part in things(schedule) if part.what == "links"]
        assert {part.name for part in links} == names
        assert schedule.makespan == 11
        assert min(makespan for _, makespan in makespans(schedule, links, 4.0, lambda: False)) == least


def test_a_faster_op_may_make_the_whole_slower():
    """Graham's anomaly: `a` ends before `b` then, so that the long `x` goes before `y`, for which `z` waits."""
    ops = dict(a=3.0, b=2.9, x=10.0, y=1.0, z=10.0)
    graph = pl.OpGraph.from_arrays([*ops], [*ops.values()], [(0, 2), (1, 3), (3, 4)])
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3))
    where = {"a": "dev0", "b": "dev2", "x": "dev1", "y": "dev1", "z": "dev2"}
    schedule = pl.simulate(problem, pl.Placement.from_mapping(problem, where), "fifo")
    saved = pl.what_if(schedule).set_index(["what", "name"])["saved"]
    assert schedule.makespan == pytest.approx(13.9)
    assert saved["op", "a"] == pytest.approx(13.9 - (3 / 1.1 + 10 + 1 + 10))
    assert saved["op", "b"] > 0


def test_a_run_that_lacks_memory_then_has_no_makespan():
    """`b` twice as fast arrives while `x` still holds what `a` sent; the schedule was to refuse that."""
    graph = pl.OpGraph.from_arrays(
        list("abxy"), [1.0, 3.0, 1.0, 1.0], [(0, 2), (1, 3)], edge_bytes=[1.0, 1.0], kind=["A", "B", "X", "Y"]
    )
    cluster = pl.Cluster([1.0] * 3, memory=[9.0, 1.0, 9.0], bandwidth=np.inf)
    problem = pl.Problem(graph, cluster, memory="dynamic")
    placement = pl.Placement(problem, [0, 2, 1, 1])
    refused = pl.what_if(pl.simulate(problem, placement, "fifo", oom="raise"), factor=2.0)
    marked = pl.what_if(pl.simulate(problem, placement, "fifo"), factor=2.0)
    waits = pl.what_if(pl.simulate(problem, placement, "fifo", oom="wait"), factor=2.0)
    makespan = [frame.set_index(["what", "name"])["makespan"]["op", "b"] for frame in (refused, marked, waits)]
    assert np.isnan(makespan[0])
    assert makespan[1:] == [3.0, 3.0]
    assert refused["makespan"].isna().any() and not marked["makespan"].isna().any()


def test_progress_and_cancel():
    """Each row is reported as it comes; those that are complete are returned."""
    schedule = pl.solve(pl.Problem(pl.load("convolutional_network"), pl.clusters.pcie_box(4)), "heft", "pct")
    seen = []
    frame = pl.what_if(schedule, progress=seen.append)
    assert len(seen) == len(frame) and seen[-1].fraction == 1.0
    rows = sorted(tuple(report.row.values()) for report in seen)
    assert rows == sorted(frame.itertuples(index=False, name=None))
    few = pl.what_if(schedule, progress=seen.append, cancel=lambda: len(seen) >= len(frame) + 3)
    assert len(few) == 3
    assert len(pl.what_if(schedule, cancel=lambda: True)) == 0


def test_what_cannot_be_run_again():
    """A plan that no scheduler made, a factor of nothing, and something that is no schedule."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    schedule = pl.solve(problem, "single")
    plan = planned_schedule(problem, schedule.device, schedule.start, schedule.finish)
    with pytest.raises(pl.UnsupportedError, match="simulate its placement"):
        pl.what_if(plan)
    for factor in (0, -1.0, np.inf):
        with pytest.raises(pl.FormatError, match="factor"):
            pl.what_if(schedule, factor=factor)
    for wrong in ({"factor": np.nan}, {"factor": "fast"}, {"k": -1}):
        with pytest.raises(pl.UnsupportedError, match=f"{next(iter(wrong))} is"):
            pl.what_if(schedule, **wrong)
    with pytest.raises(pl.FormatError, match="Schedule"):
        pl.what_if(problem)


def test_a_users_scheduler_that_fails_says_so(own):
    """Its exception is raised, not swallowed as a row."""
    schedule = pl.solve(pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2)), "heft", own[0])
    before = strategies._schedulers[own[0]]
    try:

        @pl.scheduler(name=own[0])
        def fails(state, device, ready):
            """Fails."""
            return 1 / 0

        with pytest.raises(ZeroDivisionError):
            pl.what_if(schedule)
    finally:
        strategies._schedulers[own[0]] = before

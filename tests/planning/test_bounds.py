"""Lower bounds never exceed the optimum, and reach it on problems where they should."""

from __future__ import annotations

import numpy as np
import problems
import pytest
from brute_force import optimum
from examples import fewer

import placelab as pl
from placelab.planning import lower_bounds
from placelab.planning.input_bound import _best_links, input_bound, least_exec, windows
from placelab.planning.lower_bounds import best_bound, is_proven, known_bounds
from placelab.problem.resource_models import TRANSFER_MODELS


def test_no_bound_is_above_the_optimum():
    """Compared with every placement and order of small problems with groups, restrictions and measured times."""
    for problem in problems.many(
        150, seed=31, ops=6, devices=3, transfers=("parallel",), memory=("none",), transfer_ops=(0,)
    ):
        best = optimum(problem)
        for name, bound in pl.bounds(problem, inputs=True).items():
            assert bound <= best * (1 + 1e-9), name


def test_the_linear_program_is_a_bound_where_it_is_given():
    """With groups, restrictions, uneven devices and links, and transfers of up to a third of an op or a whole one."""
    given = 0
    tighter = 0
    limits = dict(transfers=("parallel",), memory=("none",), transfer_ops=(0,), zero=False)
    uneven = problems.many(80, seed=33, ops=6, devices=3, **limits)
    even = problems.many(80, seed=34, ops=7, devices=3, identical=True, time_table=False, groups=False, **limits)
    for i, problem in enumerate([*uneven, *even]):
        short = with_transfers_of(problem, (0.3, 1.0)[i % 2])
        found = pl.bounds(short, lp=True)
        if "lp" in found:
            assert found["critical_path"] * (1 - 1e-9) <= found["lp"] <= optimum(short) * (1 + 1e-9)
            given += 1
            tighter += found["lp"] > max(found["critical_path"], found["total_work"]) * (1 + 1e-9)
    assert given > fewer(60) and tighter > 0


def with_transfers_of(problem: pl.Problem, ratio: float) -> pl.Problem:
    """The problem with tensors scaled so that the largest takes `ratio` of the shortest op on the fastest link."""
    graph = problem.graph
    rate = problem.cluster.bandwidth
    fastest = rate[np.isfinite(rate)].max(initial=1.0)  # the diagonal is infinite
    scale = ratio * least_exec(problem).min() * fastest / max(graph.tensor_bytes.max(initial=0.0), 1e-9)
    same = dict(cluster=problem.cluster.replace(latency=0.0), groups=problem.groups)
    return problem.replace(graph=graph.replace(tensor_bytes=graph.tensor_bytes * scale * (1 - 1e-12)), **same)


def test_the_linear_program_by_hand():
    """u feeds a and b, all times are 1: w = 2.5 at x = ½; with longer transfers or one device there is no bound."""
    fork = pl.OpGraph.from_arrays(["u", "a", "b"], [1, 1, 1], [(0, 1), (0, 2)], edge_bytes=[1, 1])
    on = lambda m, bandwidth: pl.Problem(fork, pl.Cluster([1.0] * m, bandwidth=bandwidth))  # noqa: E731
    assert pl.bounds(on(2, 1.0), lp=True)["lp"] == pytest.approx(2.5)
    assert "lp" not in pl.bounds(on(2, 1.0))
    assert "lp" not in pl.bounds(on(2, 0.9), lp=True)
    assert "lp" not in pl.bounds(on(1, 1.0), lp=True)


def test_no_bound_of_a_placement_is_above_a_run_of_it():
    """Bounds by busiest device, channel, port and link, under every transfer model, with and without Send ops, in any order."""
    seen = set()
    for i, problem in enumerate(problems.many(300, seed=32)):
        placement = pl.place(problem.replace(memory="none"), "random", seed=i)
        schedule = pl.simulate(problem, placement, "random", seed=i)
        bounds = pl.bounds(problem, placement)
        seen |= set(bounds)
        for name, bound in bounds.items():
            assert bound <= schedule.makespan * (1 + 1e-9), name
    queues = {f"busiest_{model.queue}" for model in TRANSFER_MODELS.values() if model.queue}
    assert seen == {"critical_path", "total_work", "busiest_device"} | queues


def test_a_placement_of_another_graph_has_no_bounds_here():
    """A placement needs one device per op of the problem's graph."""
    small, large = (pl.Problem(pl.generators.fork_join(n), pl.Cluster.uniform(2)) for n in (2, 3))
    with pytest.raises(pl.FormatError, match="expected one for each of 5 ops"):
        pl.bounds(large, pl.place(small, "heft"))


def test_bounds_by_hand():
    """a→b, both on dev0; c on dev1 reads a: each bound is counted by hand."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c"], [4.0, 2.0, 6.0], [(0, 1), (0, 2)], edge_bytes=[3.0, 3.0], edge_output=[0, 0]
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 2.0], bandwidth=1.0, latency=0.5), transfer_ops=1)
    placement = pl.Placement(problem, [0, 0, 1])
    assert pl.bounds(problem) == {"critical_path": 5.0, "total_work": 4.0}
    assert pl.bounds(problem, placement)["busiest_device"] == 7.0  # 4 + 2 and the Send's 1
    ports = pl.bounds(problem.replace(transfers="sequential"), placement)
    assert ports["busiest_port"] == 3.5
    assert "busiest_port" not in pl.bounds(problem, placement)
    assert pl.bounds(problem.replace(transfers="channel"), placement)["busiest_channel"] == 3.5


def test_a_latency_that_follows_keeps_nothing_busy():
    """Two tensors of 2 bytes at 1 byte/s: a port and a channel are busy for 4 s, with 3 s of latency each for 10."""
    graph = pl.OpGraph.from_arrays(list("abc"), [0.0] * 3, [(0, 1), (0, 2)], edge_bytes=[2.0, 2.0])
    for transfers, kind in (("sequential", "port"), ("channel", "channel")):
        problem = pl.Problem(graph, pl.Cluster([1.0] * 2, bandwidth=1.0, latency=3.0), transfers=transfers)
        for rule, busy in (("holds", 10.0), ("follows", 4.0)):
            one = problem.replace(latency=rule)
            assert pl.bounds(one, pl.Placement(one, [0, 1, 1]))[f"busiest_{kind}"] == busy


def test_a_port_is_busy_both_ways_unless_duplex():
    """dev1 receives 3 bytes and sends 2: five seconds of one port, three of two."""
    graph = pl.OpGraph.from_arrays(list("abc"), [0.0] * 3, [(0, 1), (1, 2)], edge_bytes=[3.0, 2.0])
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3), transfers="sequential")
    placement = pl.Placement(problem, [0, 1, 2])
    assert pl.bounds(problem, placement)["busiest_port"] == 5.0
    assert pl.bounds(problem.replace(duplex=True), placement)["busiest_port"] == 3.0


def test_a_tensor_counts_once_per_device():
    """Two consumers on one device are one transfer of a channel, two devices are two."""
    graph = pl.OpGraph.from_arrays(
        list("abcd"), [0.0] * 4, [(0, v) for v in (1, 2, 3)], edge_bytes=[2.0] * 3, edge_output=[0] * 3
    )
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3), transfers="sequential")
    assert pl.bounds(problem, pl.Placement(problem, [0, 1, 1, 2]))["busiest_port"] == 4.0


def test_restricted_ops_and_measured_times_count_at_their_least():
    """With restrictions the work bound is Σ least exec / m, and a slow device that an op is tied to counts."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [4.0, 4.0], [], devices={0: ["dev0"]})
    assert pl.bounds(pl.Problem(graph, pl.Cluster([1.0, 4.0]))) == {"critical_path": 4.0, "total_work": 2.5}
    timed = pl.OpGraph.from_arrays(["a", "b"], [np.nan, np.nan], [], time={"x": [3.0, 1.0], "y": [2.0, 9.0]})
    assert pl.bounds(pl.Problem(timed, pl.Cluster([1.0, 1.0], types=["x", "y"]))) == {
        "critical_path": 2.0,
        "total_work": 1.5,
    }


def test_identical_ops_meet_the_work_bound():
    """Eight equal independent ops on four equal devices: round-robin is optimal, and the bound says so."""
    problem = pl.Problem(pl.OpGraph.from_arrays([f"op{v}" for v in range(8)], [3.0] * 8, []), pl.Cluster([1.0] * 4))
    assert pl.solve(problem, "round-robin", "fifo").makespan == pytest.approx(max(pl.bounds(problem).values()))


def of_one_rate(ops: dict[str, float], edges: dict[tuple[int, int], float], **rules) -> pl.Problem:
    """Two devices of speed 1 and a link of 1 byte/s."""
    graph = pl.OpGraph.from_arrays(list(ops), list(ops.values()), list(edges), edge_bytes=list(edges.values()))
    return pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0), **rules)


def join(size: float, **rules) -> pl.Problem:
    """Two ops of 3 s whose outputs of `size` bytes an op of 1 s reads."""
    return of_one_rate({"x": 3, "y": 3, "join": 1}, {(0, 2): size, (1, 2): size}, **rules)


def test_inputs_by_hand():
    """A chain stays on one device; of two inputs either one is awaited or both run on the reader's device."""
    assert pl.bounds(of_one_rate({"a": 2, "b": 3}, {(0, 1): 4}), inputs=True)["inputs"] == 5
    for size, bound, kinds in ((4, 7, ["share", "op"]), (2, 6, ["op", "transfer", "op"]), (0, 4, None)):
        problem = join(size)
        assert pl.bounds(problem, inputs=True)["inputs"] == bound, size
        assert kinds is None or pl.bounds(problem, why=True)["kind"].tolist() == kinds
    apart = join(2, allowed={"x": [0], "y": [0], "join": [1]})
    assert pl.bounds(apart, inputs=True)["inputs"] == 9  # both on device 0: 3 + 3, 2 + 1
    together = join(0, groups=[("x", "y", "join")])
    assert pl.bounds(together, inputs=True)["inputs"] == 7
    assert pl.bounds(pl.datasets.problem("topcuoglu"), inputs=True)["inputs"] <= 73
    single = pl.Problem(join(4).graph, pl.Cluster([2.0]))
    assert pl.bounds(single, inputs=True)["inputs"] == 3.5


def fork(branches: int, size: float, devices: int = 3) -> pl.Problem:
    """An op of 1 s, branches of one op of 3 s each, and an op of 1 s that reads them all; every edge takes `size` seconds."""
    edges = [(0, v) for v in range(1, branches + 1)] + [(v, branches + 1) for v in range(1, branches + 1)]
    names = ["fork", *(f"b{i}" for i in range(branches)), "join"]
    graph = pl.OpGraph.from_arrays(names, [1.0, *[3.0] * branches, 1.0], edges, edge_bytes=[size] * len(edges))
    return pl.Problem(graph, pl.Cluster([1.0] * devices, bandwidth=1.0))


def test_a_fork_and_its_join_by_hand():
    """Between them: on one device all branches but those with time for two transfers, or two devices that lose one each."""
    for branches, size, bound in (
        (2, 2, 7),  # 1, then 5: either device has 3 s beside a transfer; 1
        (3, 2, 8.5),  # 9 s of work on two devices, which lose 2 s each: 6.5 s
        (3, 1, 7),  # one branch on the device of fork and join, two have time for two transfers: 5 s
        (3, 9, 11),  # all on one device
    ):
        problem = fork(branches, size)
        assert pl.bounds(problem, inputs=True)["inputs"] == pytest.approx(bound, rel=1e-7), (branches, size)
        assert bound <= optimum(problem) * (1 + 1e-9)
    table = pl.bounds(fork(3, 2), why=True)
    assert table["kind"].tolist() == ["op", "between", "op"] and table["ops"][1] == ("b0", "b1", "b2")


def test_forks_and_joins_are_never_above_the_optimum():
    """Of one fork, and of two in a row, whose branches are of uneven ops and transfers, on two or three uneven devices."""
    at_optimum = 0
    random = np.random.default_rng(8)
    for seed in range(120):
        branches = [int(random.integers(2, 4)) for _ in range(1 + seed % 2)]
        edges = []
        last = 0
        for count in branches:
            edges += [(last, last + i) for i in range(1, count + 1)]
            edges += [(last + i, last + count + 1) for i in range(1, count + 1)]
            last += count + 1
        sizes = random.integers(0, 5, len(edges)).astype(float)
        times = random.integers(0, 5, last + 1).astype(float)
        graph = pl.OpGraph.from_arrays([f"o{v}" for v in range(last + 1)], times, edges, edge_bytes=sizes)
        speed = ([1.0, 1.0], [1.0, 2.0], [1.0, 1.0, 2.0])[seed % 3 if last < 7 else seed % 2]
        problem = pl.Problem(graph, pl.Cluster(speed, bandwidth=1.0))
        best = optimum(problem)
        bound = input_bound(problem)
        assert bound <= best * (1 + 1e-9)
        at_optimum += bound >= best * (1 - 1e-6)
    assert at_optimum > 30


def test_inception_is_proven_by_its_forks():
    """The bound is within 2 % of what one device takes, or a little less: without forks and joins it is 21 and 19 % below."""
    for name, bound in (("light_inception_v1", 0.13433e-3), ("light_inception_v2", 0.22383e-3)):
        problem = pl.Problem(pl.load(name), pl.clusters.nvlink_box(), memory="none")
        assert input_bound(problem) == pytest.approx(bound, rel=1e-3)


def test_inputs_prove_the_orders_of_pipelines_optimal():
    """Each stage's device has its work between the fastest way there and the fastest way back: (m + p - 1)(F + B) for 1F1B."""
    for step in (dict(microbatches=4, stages=4), dict(microbatches=7, stages=3)):
        problem = pl.generators.pipeline_training(1.0, 2.0, **step)
        made = pl.solve(problem, "hash", "1f1b").makespan
        assert pl.bounds(problem, inputs=True)["inputs"] == made == 3 * (step["microbatches"] + step["stages"] - 1)
        table = pl.bounds(problem, why=True)
        assert table["finish"].max() == made and set(table["kind"]) >= {"work"}


def test_inputs_prove_plans_optimal():
    """On light_squeezenet a list scheduler's plan is as long as the bound."""
    for cluster in (pl.clusters.rtx2080ti_box(), pl.clusters.nvlink_box()):
        problem = pl.Problem(pl.load("light_squeezenet"), cluster)
        makespan = min(pl.solve(problem, name, "pct").makespan for name in ("heft", "peft", "m-etf", "single"))
        assert makespan == pytest.approx(pl.bounds(problem, inputs=True)["inputs"], rel=1e-9)


def test_inputs_is_the_best_of_the_cheap_bounds():
    """It is never below them on random problems, and in the mean nearer to the optimum."""
    nearer = 0.0
    for problem in problems.many(
        90, seed=41, ops=6, devices=3, transfers=("parallel",), memory=("none",), transfer_ops=(0,)
    ):
        found = pl.bounds(problem, inputs=True)
        inputs = found.pop("inputs")
        others = max(found.values())
        best = optimum(problem)
        assert others * (1 - 1e-9) <= inputs <= best * (1 + 1e-9)
        nearer += (inputs - others) / best if best else 0.0
    assert nearer > 0.1


def test_inputs_never_rises_with_a_better_machine():
    """Links twice as fast, devices twice as fast, one more device: the bound stays or falls."""
    for problem in problems.many(90, seed=42, ops=12, devices=3, time_table=False, transfer_ops=(0,)):
        bound = input_bound(problem) * (1 + 1e-9)
        cluster = problem.cluster
        for better in (cluster.replace(bandwidth=cluster.bandwidth * 2), cluster.replace(speed=cluster.speed * 2)):
            assert input_bound(problem.replace(cluster=better)) <= bound


def test_inputs_never_rises_with_one_more_device():
    """A device that is added only adds choices, whatever its speed and its links are."""
    limits = dict(transfers=("parallel",), memory=("none",), transfer_ops=(0,), restricted=False)
    several = [p for p in problems.many(150, seed=44, ops=12, devices=4, **limits) if p.cluster.n_devices > 1]
    assert len(several) > fewer(60)
    for problem in several:
        assert input_bound(problem) <= input_bound(without_the_last_device(problem)) * (1 + 1e-9)


def without_the_last_device(problem: pl.Problem) -> pl.Problem:
    """The same ops and groups on all devices but one."""
    few = slice(0, problem.cluster.n_devices - 1)
    old = problem.cluster
    links = {name: getattr(old, name)[few, few] for name in ("bandwidth", "latency")}
    cluster = pl.Cluster(old.speed[few], names=old.names[few], types=old.types[few], **links)
    return pl.Problem(problem.graph, cluster, groups=problem.groups)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["light_squeezenet", "alexnet"])
@pytest.mark.parametrize("box", [pl.clusters.rtx2080ti_box, pl.clusters.nvlink_box])
def test_the_portfolio_meets_the_bound(name, box):
    """Its plan is as long as the bound, so it is optimal; the placement says so and the search ends."""
    problem = pl.Problem(pl.load(name), box())
    found = pl.place(problem, "portfolio")
    assert found.estimate == pytest.approx(pl.bounds(problem, inputs=True)["inputs"], rel=1e-9)
    assert found.optimal and any("meets a lower bound" in note for note in found.notes)


def test_the_best_bound_is_worked_out_once(monkeypatch):
    """What takes no time has it only after it was asked for; then it is among the bounds known, and not computed again."""
    problem = join(4)
    assert not is_proven(problem) and max(known_bounds(problem).values()) == 4
    assert best_bound(problem) == 7 and is_proven(problem) and known_bounds(problem)["inputs"] == 7
    monkeypatch.setattr(lower_bounds, "bounds", None)
    assert best_bound(problem) == 7


def test_links_that_are_worse_in_both_do_not_count():
    """The least time of every size over many uneven links is that of one of the few that no other beats."""
    random = np.random.default_rng(5)
    latency = random.uniform(0, 3, 60).round(1)
    rate = random.uniform(1, 2, 60).round(1)
    best = np.array(_best_links(latency, rate))
    for size in (0.0, 0.1, 1.0, 7.0, 1e3):
        assert (best[:, 0] + size / best[:, 1]).min() == (latency + size / rate).min()
    assert len(best) < 12


def test_the_proof_fills_the_time():
    """Rows follow one another from 0 to the bound; ops of a row and its time agree with the problem."""
    for problem in [
        *problems.many(90, seed=43, ops=12, devices=3),
        pl.Problem(pl.load("inception_v3"), pl.clusters.rtx2080ti_box()),
        pl.Problem(pl.generators.layered(300, seed=1), pl.clusters.nvlink_box()),
    ]:
        table = pl.bounds(problem, why=True)
        bound = input_bound(problem)
        time, head, tail = windows(problem)
        number = {name: op for op, name in enumerate(problem.graph.names)}
        edges = {*zip(problem.graph.producer.tolist(), problem.graph.consumer.tolist(), strict=True)}
        now = 0.0
        for row in table.itertuples():
            assert row.start == pytest.approx(now, rel=1e-6, abs=1e-9 * bound) and row.finish >= row.start
            ops = [number[name] for name in row.ops]
            took = row.finish - row.start
            if row.kind == "op":
                assert took == pytest.approx(time[ops[0]], rel=1e-6, abs=1e-6 * bound)
            elif row.kind == "transfer":
                assert tuple(ops) in edges
            elif row.kind == "work":
                assert head[ops].min() >= row.start * (1 - 1e-9) and tail[ops].min() >= (bound - row.finish) * (
                    1 - 1e-6
                )
            now = row.finish
        assert now == pytest.approx(bound, rel=1e-6)

"""TIC, TAC and random orders of reads: the worked examples, and a plain version of the two rules."""

from __future__ import annotations

from itertools import permutations
from math import inf
from random import Random

import numpy as np
import parameter_servers as made
import pytest

import placelab as pl
from placelab.planning.read_orders import Reads
from placelab.schedule import catalogue as strategies
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order


@pytest.fixture(autouse=True, scope="module")
def _catalogue_stays_as_it_was():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(strategies, "_schedulers", dict(strategies._schedulers))
        yield


def in_order(where: pl.Placement, reads: list[str]) -> pl.Schedule:
    """The schedule in which reads, by name, travel in that order; by transfer priorities alone."""

    @scheduler(static=True)
    def given_order(problem: pl.Problem, placement: pl.Placement) -> Order:
        names = [str(name) for name in problem.graph.names[problem.graph.tensor_producer]]
        return Order("fifo", transfer=np.array([-reads.index(n) if n in reads else 1 for n in names], dtype=float))

    return pl.simulate(where.problem, where, given_order)


def travelled(schedule: pl.Schedule) -> list[str]:
    """Names of the reads in the order of their transfers."""
    graph = schedule.problem.graph
    moved = schedule.transfers
    ops = graph.tensor_producer[moved["tensor"][np.argsort(moved["start"], kind="stable")]]
    return [str(name) for name in graph.names[ops]]


def efficiency(schedule: pl.Schedule) -> float:
    """E of the only worker."""
    return pl.worker_metrics(schedule)["efficiency"].item()


# -------------------------------------------------------------------- the worked examples


@pytest.mark.parametrize("file_order", [("r1", "r2"), ("r2", "r1")])
@pytest.mark.parametrize("rule", ["tic", "tac"])
def test_figure_1_does_not_depend_on_the_file(rule, file_order):
    """H1: 3, whichever read comes first in the file."""
    where = made.figure_1(file_order=file_order)
    schedule = pl.simulate(where.problem, where, rule)
    assert (schedule.makespan, efficiency(schedule)) == (3, 0.5)
    assert travelled(schedule) == ["r1@0", "r2@0"]
    assert not pl.validate(schedule)


@pytest.mark.parametrize("file_order", [("r1", "r2"), ("r2", "r1")])
def test_transfer_priorities_alone_decide(file_order):
    """Reads take no time and end one after the other; the first one must not take the channel before the best has asked."""
    where = made.figure_1(file_order=file_order)
    first = in_order(where, ["r1@0", "r2@0"])
    last = in_order(where, ["r2@0", "r1@0"])
    assert (first.makespan, efficiency(first)) == (3, 0.5)
    assert (last.makespan, efficiency(last)) == (4, 0)


@pytest.mark.parametrize("duplex", [False, True])
def test_ports_wait_for_all_requests_of_an_instant(duplex):
    """As a channel does."""
    where = made.figure_1(file_order=("r2", "r1"), transfers="sequential")
    where = pl.Placement(where.problem.replace(duplex=duplex), where.device)
    assert in_order(where, ["r1@0", "r2@0"]).makespan == 3
    assert pl.simulate(where.problem, where, "tic").makespan == 3


def test_tac_looks_at_costs():
    """H2: TIC 9, E .2; TAC 6, E .8."""
    where = made.long_read_first()
    tic, tac = (pl.simulate(where.problem, where, rule) for rule in ("tic", "tac"))
    assert (tic.makespan, travelled(tic)[:2]) == (9, ["r0@0", "r1@0"])
    assert (tac.makespan, travelled(tac)[:2]) == (6, ["r1@0", "r0@0"])
    assert efficiency(tic) == pytest.approx(0.2) and efficiency(tac) == pytest.approx(0.8)


def test_tic_can_be_the_worst_order_and_tac_the_best():
    """H3: TIC 16, the worst of the six; TAC 12, the best."""
    where = made.three_reads()
    names = ["r0@0", "r1@0", "r2@0"]
    assert [in_order(where, list(order)).makespan for order in permutations(names)] == [16, 15, 16, 14, 12, 12]
    tic, tac = (pl.simulate(where.problem, where, rule) for rule in ("tic", "tac"))
    assert (tic.makespan, travelled(tic)) == (16, names)
    assert (tac.makespan, travelled(tac)) == (12, ["r2@0", "r0@0", "r1@0"])
    assert efficiency(tic) == pytest.approx(1 / 6) and efficiency(tac) == pytest.approx(5 / 6)


def toy(graph: pl.OpGraph) -> pl.Placement:
    """A Par-n or Seq-n on a server and a worker of unit costs."""
    cluster = pl.Cluster([1.0, 1.0], bandwidth=1.0, latency=0.0, types=["ps", "gpu"])
    problem = pl.Problem(graph, cluster, memory="none", transfers="channel")
    return pl.Placement(problem, (graph.kind != "read").astype(int))


def test_seq_32_and_par_32():
    """H5: Seq-32 in order 33, E .96875; reversed 64, E 0. Par-32 takes 33 in any order, 33.32 with a hand-off of .01 s each."""
    seq = toy(pl.generators.seq(32))
    par = toy(pl.generators.par(32))
    reads = [f"read{i}" for i in range(1, 33)]
    tic = pl.simulate(seq.problem, seq, "tic")
    backwards = in_order(seq, reads[::-1])
    assert (tic.makespan, efficiency(tic)) == (33, 0.96875)
    assert (backwards.makespan, efficiency(backwards)) == (64, 0)
    assert {pl.simulate(par.problem, par, "random-reads", seed=seed).makespan for seed in range(20)} == {33}
    assert pl.simulate(par.problem, par, "tac").makespan == 33
    enforced = pl.iterations(par.problem, par, "tic", runs=1, handoff=0.01)
    assert enforced["step"].item() == pytest.approx(33.32)


@pytest.mark.parametrize(
    ("graph", "optimal"),
    [
        (pl.generators.seq(5), 1),
        (pl.generators.seq(5, compute=0.5), 12),
        (pl.generators.seq(5, compute=2.0), 12),
        (pl.generators.par(5), 120),
        (pl.generators.seq(6), 1),
        pytest.param(pl.generators.seq(6, compute=0.5), 36, marks=pytest.mark.slow),
        pytest.param(pl.generators.seq(6, compute=2.0), 36, marks=pytest.mark.slow),
        pytest.param(pl.generators.par(6), 720, marks=pytest.mark.slow),
    ],
    ids=lambda value: value.title if isinstance(value, pl.OpGraph) else str(value),
)
def test_number_of_optimal_orders(graph, optimal):
    """H6: of all orders of the reads."""
    where = toy(graph)
    reads = [f"read{i + 1}" for i in range(graph.n_ops // 2)]
    makespans = np.array([in_order(where, list(order)).makespan for order in permutations(reads)])
    assert np.count_nonzero(makespans <= makespans.min() * (1 + 1e-12)) == optimal


def test_orders_matter_to_par_if_costs_differ():
    """H6: Par-6 with unequal costs has orders that are not optimal."""
    graph = pl.generators.par(6)
    where = toy(graph.replace(compute=np.maximum(np.arange(graph.n_ops) - 6.0, 0.0)))
    reads = [f"read{i + 1}" for i in range(6)]
    assert len({in_order(where, list(order)).makespan for order in permutations(reads)}) > 1


# -------------------------------------------------------------------- random orders


def test_random_reads_are_drawn_per_worker():
    """H4: each of the four pairs of orders comes up, about as often."""
    where = made.figure_1(workers=2)
    ends = [
        tuple(pl.worker_metrics(pl.simulate(where.problem, where, "random-reads", seed=seed))["end"])
        for seed in range(200)
    ]
    assert {pair: ends.count(pair) > 30 for pair in ends} == {pair: True for pair in [(3, 3), (3, 4), (4, 3), (4, 4)]}


def test_two_workers_in_order():
    """H4: E per worker is .5, that of the whole graph .8333."""
    where = made.figure_1(workers=2)
    schedule = pl.simulate(where.problem, where, "tic")
    assert pl.worker_metrics(schedule)["efficiency"].tolist() == [0.5, 0.5]
    assert pl.metrics(schedule)["ordering_efficiency"] == pytest.approx(5 / 6)


# -------------------------------------------------------------------- the rules, written plainly


def plain_sets(reads: Reads) -> dict[int, set[int]]:
    """Positions of the reads that each op depends on, within its copy."""
    graph = reads.problem.graph
    copy = reads.copy
    number = {v: i for i, v in enumerate(reads.op.tolist())}
    found: dict[int, set[int]] = {}
    for v in range(graph.n_ops):
        found[v] = {number[v]} if v in number else set()
        for e in np.flatnonzero(graph.consumer == v):
            u = int(graph.producer[e])
            if copy[u] == copy[v] >= 0 and not graph.tensor_control[graph.edge_tensor[e]]:
                found[v] |= found[u]
    return found


def plain_tic(reads: Reads) -> list[int]:
    depends = plain_sets(reads)

    def least(r: int) -> float:
        return min((len(s) for s in depends.values() if r in s and len(s) > 1), default=inf)

    return sorted(range(len(reads.op)), key=lambda r: (reads.copy[reads.op[r]], least(r), r))


def plain_measures(reads: Reads, left: list[int]) -> tuple[dict[int, float], dict[int, float], dict[int, float]]:
    """P, M and M+ of the reads that are left."""
    depends = plain_sets(reads)
    took = reads.problem.exec_times(reads.placement.device)
    now = {v: s & set(left) for v, s in depends.items()}
    seconds = {v: sum(reads.seconds[r] for r in s) for v, s in now.items()}
    P = {r: sum(took[v] for v, s in now.items() if s == {r} and v not in reads.op) for r in left}
    least = {r: min((seconds[v] for v, s in now.items() if r in s and len(s) > 1), default=inf) for r in left}
    return P, {r: float(reads.seconds[r]) for r in left}, least


def plain_tac(reads: Reads) -> list[int]:
    order: list[int] = []
    for copy in range(len(reads.iteration)):
        left = [r for r, v in enumerate(reads.op) if reads.copy[v] == copy]
        while left:
            P, _, least = plain_measures(reads, left)
            best = left[0]
            for r in left:
                mine = min(P[best], reads.seconds[r])
                other = min(P[r], reads.seconds[best])
                if mine < other or (mine == other and least[r] < least[best]):
                    best = r
            order.append(best)
            left.remove(best)
    return order


@pytest.mark.parametrize(
    ("where", "counts", "P", "M", "least"),
    [
        (made.figure_1(), [2, 2], [1, 0], [1, 1], [2, 2]),
        (made.long_read_first(), [2, 2], [1, 4], [4, 1], [5, 5]),
        (made.three_reads(), [2, 2, 3], [0, 0, 5], [3, 2, 1], [5, 5, 6]),
    ],
    ids=["H1", "H2", "H3"],
)
def test_measures_of_the_worked_examples(where, counts, P, M, least):
    """H1, H2, H3: M+ as TIC counts it, and P, M and M+ of TAC at its first choice."""
    reads = Reads.of(where.problem, where)
    depends = plain_sets(reads)
    every = list(range(len(reads.op)))
    assert [min(len(s) for s in depends.values() if r in s and len(s) > 1) for r in every] == counts
    assert [list(found.values()) for found in plain_measures(reads, every)] == [P, M, least]


def random_placement(pick) -> pl.Placement:
    """Ops of whole costs, some of them reads, with control edges, on up to three devices."""
    n = pick(10, 25)
    pairs = [(u, v) for v in range(n) for u in range(v) if pick(0, n) < 3]
    share = pick(0, 2)
    sizes = [float(pick(1, 9)) for _ in pairs]
    control = [pick(0, 5) == 0 for _ in pairs]
    graph = pl.OpGraph.from_arrays(
        [f"op{v}" for v in range(n)],
        [float(pick(0, 9)) for _ in range(n)],
        pairs,
        edge_bytes=[0.0 if only_orders else size for size, only_orders in zip(sizes, control, strict=True)],
        edge_control=control,
        kind=["read" if pick(0, 2) < share else "" for _ in range(n)],
        metadata={"replica": replica(pick, n)} if pick(0, 1) else {},
    )
    cluster = pl.Cluster([1.0] * 3, bandwidth=1.0, latency=1.0, types=["ps" if pick(0, 1) else "gpu", "gpu", "gpu"])
    return pl.Placement(pl.Problem(graph, cluster, transfers="channel"), [pick(0, 2) for _ in range(n)])


def test_equal_the_plain_rules():
    """On 400 random problems, also with copies; costs are whole numbers, so that sums are exact."""
    several = 0
    for i in range(400):
        where = random_placement(Random(i).randint)
        problem = where.problem
        graph = where.problem.graph
        reads = Reads.of(where.problem, where)
        several += len(reads.op) > 4
        for rule, plain in (("tic", plain_tic), ("tac", plain_tac)):
            order = pl.schedulers()[rule](problem, where)
            if order.transfer is None:
                assert not len(reads.op)
                continue
            first = [-order.transfer[graph.tensor_producer == v][0] for v in reads.op]
            made = sorted(range(len(reads.op)), key=lambda r: (reads.copy[reads.op[r]], first[r]))
            assert made == plain(reads), f"{rule} on problem {i}"
    assert several > 50


def replica(pick, n: int) -> dict[str, list[int]]:
    """Copies drawn at random; some ops are of none."""
    return {"iteration": [pick(0, 1) for _ in range(n)], "worker": [pick(-1, 1) for _ in range(n)]}


def test_nothing_to_order():
    """On one device, and with the columns of another graph, the run is that of fifo."""
    where = made.figure_1()
    alone = pl.Placement(where.problem, [1] * 4)
    for rule in ("tic", "tac", "random-reads"):
        assert pl.simulate(alone.problem, alone, rule).makespan == 2
    graph = where.problem.graph.replace(metadata={"replica": {"iteration": [0], "worker": "x"}})
    other = pl.Placement(where.problem.replace(graph=graph), where.device)
    assert pl.simulate(other.problem, other, "tic").makespan == 3


def test_variables_go_with_their_read():
    """An op that leads to one read alone has the read's place on the server, even if reads take time there."""
    graph = pl.OpGraph.from_arrays(
        ["v2", "v1", "r2", "r1", "c1", "c2"],
        [1.0] * 6,
        [(0, 2), (1, 3), (3, 4), (2, 5), (4, 5)],
        edge_bytes=1.0,
        kind=["Variable"] * 2 + ["read"] * 2 + ["op"] * 2,
    )
    cluster = pl.Cluster([1.0, 1.0], bandwidth=1.0, latency=0.0, types=["ps", "gpu"])
    where = pl.Placement(pl.Problem(graph, cluster, transfers="channel"), [0, 0, 0, 0, 1, 1])
    schedule = pl.simulate(where.problem, where, "tic")
    assert [str(graph.names[v]) for v in schedule.order(0)] == ["v1", "v2", "r1", "r2"]


@pytest.mark.parametrize("names", [["r1", "r2"], ["r2", "r1"]])
@pytest.mark.parametrize("rule", ["tic", "tac"])
def test_replicated_steps_are_ordered_one_by_one(rule, names):
    """Fig. 1 trained on two workers for three iterations: each step 6, E .5, whichever read comes first in the file."""
    edges = [(names.index("r1"), 2), (2, 3), (names.index("r2"), 3)]
    graph = pl.OpGraph.from_arrays(
        [*names, "c1", "c2"], [0, 0, 1, 1], edges, edge_bytes=1.0, kind=["read"] * 2 + [""] * 2
    )
    job = pl.transforms.model_replica(graph, 2, iterations=3)
    names = ["worker:0", "worker:1", "ps:0"]
    cluster = pl.Cluster([1.0] * 3, bandwidth=1.0, latency=0.0, names=names, types=["gpu", "gpu", "ps"])
    problem = pl.Problem(job, cluster, memory="none", transfers="channel")
    schedule = pl.simulate(problem, pl.place(problem, "hash"), rule)
    assert schedule.makespan == 18 and not pl.validate(schedule)
    assert pl.worker_metrics(schedule)["efficiency"].tolist() == [0.5, 0.5]
    assert pl.iterations(problem, schedule.placement, rule, runs=1)["step"].item() == 6

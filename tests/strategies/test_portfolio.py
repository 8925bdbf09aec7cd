"""portfolio: never worse than the plans it tries, with the simulator's times, and optimal if the optimum is near."""

from __future__ import annotations

from functools import partial
from random import Random
from types import SimpleNamespace

import numpy as np
import problems
import pytest
from brute_force import optimum
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

import placelab as pl
from placelab.analysis.validation import validate
from placelab.base.threads import at_most
from placelab.kernels.search import local_search as kernels
from placelab.kernels.search import replaying
from placelab.planning.list_scheduler import planned_order
from placelab.strategies.partitioning import portfolio as search
from placelab.strategies.partitioning.portfolio import STALE, LocalSearch
from placelab.strategies.searches.tried_plans import TriedPlan, run


def any_plan(problem, seed):
    """A random placement, run in order of the critical path."""
    placement = problems.placement(Random(seed).randint, problem)
    schedule = pl.simulate(problem, placement, "pct")
    return run(problem, placement.device, planned_order(schedule.start, schedule.finish), "random", "pct")


def on_from(problem, device, order, seed):
    """A walk that starts from this plan."""
    return LocalSearch(problem, [TriedPlan(device, order, 0.0, 0.0, "", "")], seed, 50).walks[0]


def instants_meet(problem, device, order):
    """Whether transfers wait and an op that takes no time ends together with another: the kernel may confuse their requests."""
    schedule = pl.simulate(problem, pl.Placement(problem, device, order), "planned")
    at_once = schedule.finish[schedule.finish == schedule.start]
    return problem.transfers != "parallel" and any((schedule.finish == t).sum() > 1 for t in at_once)


# ------------------------------------------------------------------ timing a move


@examples(200)
@given(problem=problems.problems(), seed=st.integers(0, 10_000))
def test_a_plan_takes_what_it_takes_in_the_simulator(problem, seed):
    """The kernel's makespan equals that of the scheduler `planned`, to the last bit, before and after moves.

    Exceptions: `fair` transfers, which share no links in the kernel; sequential transfers with Send ops, where a port may
    be requested while a Send still runs; and ops that take no time where transfers wait.
    """
    plan = any_plan(problem, seed)
    device, order, _, makespan = LocalSearch(problem, [plan], seed, 50).walks[0].improve(30)
    if problem.transfers != "fair" and not (problem.transfers == "sequential" and problem.transfer_ops):
        same = makespan.tolist() == [plan.makespan, run(problem, device, order, "", "").makespan]
        assert same or instants_meet(problem, plan.device, plan.order) or instants_meet(problem, device, order)


@examples(150)
@given(problem=problems.problems(ops=25), seed=st.integers(0, 10_000))
def test_timing_from_the_first_change_on_is_timing_from_the_start(problem, seed):
    """After many moves, each timed from its first change, timing the whole plan gives the same makespan."""
    device, order, _, makespan = LocalSearch(problem, [any_plan(problem, seed)], seed, 50).walks[0].improve(60)
    assert on_from(problem, device, order, seed).improve(0)[3][0] == makespan[1] <= makespan[0]


def anew(search, number):
    """Time the whole plan, with the order in which its ops run; `number` is one that no move has."""
    n = len(search.place)
    found = replaying.Timing(*map(list, search.run[:4]), *search.run[4:])
    return kernels.replay(0, n, np.inf, number, found, search)[0], found


class TimedWhole:
    """Stands for what follows a move's changes and keeps them: it times the whole plan."""

    def __init__(self):
        self.timing = None
        self.given_up = []

    def follow(self, v, first, settled, count, bound, number, search):
        """-1 where the plan exceeds the bound."""
        makespan, self.timing = anew(search, -2 - number)
        self.given_up.append(makespan > bound)
        return -1 if makespan > bound else 0

    def settle(self, first, last, number, search):
        """Take over all times."""
        for mine, found in zip(search.run[:3], self.timing, strict=False):
            mine[:] = found
        for i, v in enumerate(search.run.order):
            search.place[v] = i
        return 0, len(search.place)

    def changed_tails(self, v, count, number, search):
        """Find all ways to the end."""
        kernels.tails(len(search.place), search)


@pytest.mark.slow
def test_following_what_a_move_changes_is_timing_the_whole_plan(monkeypatch):
    """The same moves are kept, by the same draws, and the same plan comes out, as where each move's plan is timed anew.

    On random problems, with ops of no time and ties, and on graphs of some hundred ops.
    """
    monkeypatch.setattr(kernels, "improve", kernels.improve.plain)
    known = dict(transfers=("parallel",), transfer_ops=(0,))
    box = pl.clusters.rtx2080ti_box()
    large = (pl.Problem(pl.generators.layered(300, seed=1), box), pl.Problem(pl.load("convolutional_network"), box))
    share = []
    for seed, problem in enumerate([*problems.many(80, seed=6, ops=25, **known), *large]):
        plan = any_plan(problem, seed)
        found = []
        for whole in (None, TimedWhole()):
            with monkeypatch.context() as patched:
                for name in ("follow", "settle", "changed_tails") if whole else ():
                    patched.setattr(kernels, name, getattr(whole, name))
                walk = on_from(problem, plan.device, plan.order, seed)
                device, order, tried, makespan = walk.improve(60, 0.02)
            found.append((device.tolist(), order.tolist(), tried, makespan.tolist(), walk.random.tolist()))
        assert found[0] == found[1]
        share += whole.given_up
    assert 0.2 < np.mean(share) < 0.8


def test_moves_start_from_the_critical_path_of_the_plan_that_was_kept(monkeypatch):
    """After each move that is kept, times, order, arrivals and the critical path are those of timing the whole plan anew."""
    monkeypatch.setattr(search, "CHUNK", 3)
    monkeypatch.setattr(kernels, "improve", kernels.improve.plain)
    kept = []

    def checked(keep, *args):
        result = keep(*args)
        now = args[-1]
        makespan, found = anew(now, -2 - len(kept))
        path = [0] * len(now.place)
        length = kernels.critical(now.pred, now.plan, found, path)
        assert makespan == max(now.run.finish) and found[:3] == now.run[:3]
        assert path[:length] == now.paths.path[: result if isinstance(result, int) else result[0]]
        kept.append(length)
        return result

    for name in ("keep", "keep_followed"):
        monkeypatch.setattr(kernels, name, partial(checked, getattr(kernels, name)))
    for seed, problem in enumerate(problems.many(60, seed=6, ops=25)):
        plan = any_plan(problem, seed)
        on_from(problem, plan.device, plan.order, seed).improve(60, 0.02)
    assert len(kept) > 100


def test_an_op_that_moves_may_end_before_the_saved_state(monkeypatch):
    """With a state saved every three ops: one before it is used, so that times, and the order of requests, are right."""
    monkeypatch.setattr(search, "CHUNK", 3)
    known = dict(transfers=("parallel", "sequential", "channel"), transfer_ops=(0,))
    for seed, problem in enumerate(problems.many(120, seed=4, ops=25, **known)):
        plan = any_plan(problem, seed)
        device, order, _, makespan = on_from(problem, plan.device, plan.order, seed).improve(60)
        assert on_from(problem, device, order, seed).improve(0)[3][0] == makespan[1]
        assert run(problem, device, order, "", "").makespan == makespan[1] or instants_meet(problem, device, order)


def test_saved_states_are_as_good_as_none():
    """The same on graphs with many saved states, with contention and with groups, at every round."""
    names = ("convolutional_network", "recurrent_network")
    graphs = [pl.generators.layered(700, seed=2), *(pl.load(name) for name in names)]
    for graph, transfers in zip(graphs, ("sequential", "channel", "parallel"), strict=True):
        problem = pl.Problem(graph, pl.clusters.pcie_box(), transfers=transfers)
        heft = pl.place(problem, "heft")
        device = heft.device
        order = heft.planned
        gained = 0
        for seed in range(5):
            device, order, _, makespan = on_from(problem, device, order, seed).improve(200)
            assert on_from(problem, device, order, seed).improve(0)[3][0] == makespan[1]
            assert run(problem, device, order, "", "").makespan == makespan[1]
            gained += makespan[1] < makespan[0]
        assert gained


def test_moves_given_up_early_are_too_long(monkeypatch):
    """Timed to the end instead, no move is decided otherwise."""
    monkeypatch.setenv("PLACELAB_JIT", "0")  # plain Python reads the margin when it runs
    for seed, problem in enumerate(problems.many(40, seed=9, ops=25)):
        plan = any_plan(problem, seed)
        found = []
        for margin in (replaying.MARGIN, np.inf):
            monkeypatch.setattr(replaying, "MARGIN", margin)
            device, order, tried, makespan = LocalSearch(problem, [plan], seed, 50).walks[0].improve(60, slack=0.05)
            found.append((device.tolist(), order.tolist(), tried, makespan.tolist()))
        assert found[0] == found[1]


# ------------------------------------------------------------------ what comes out


@examples(25)
@given(problem=problems.problems(), seed=st.integers(0, 99))
def test_never_worse_than_what_it_tried(problem, seed):
    """In every model, no row of its table is better or has a smaller memory shortage; `planned` gives its estimate."""
    try:
        found = pl.place(problem, "portfolio", moves=200, seed=seed)
    except pl.InfeasibleError:
        return
    tried = found.table[found.table.error == ""]
    assert not tried.oom.iloc[-1] or tried.oom.all()
    least = tried.makespan[tried.oom == tried.oom.iloc[-1]].min()
    assert found.estimate == tried.makespan.iloc[-1] and (tried.oom.iloc[-1] or found.estimate == least)
    schedule = pl.simulate(problem, found, "planned")
    assert schedule.makespan == found.estimate
    assert bool(len(schedule.oom)) == tried.oom.iloc[-1]
    assert {violation.kind for violation in validate(schedule)} <= {"memory"}


@pytest.mark.slow
def test_never_worse_than_any_pair_of_strategies():
    """Each partitioner under each static scheduler takes at least as long."""
    for problem in problems.many(15, seed=3, memory=("none",), transfers=("parallel",), transfer_ops=(0,)):
        found = pl.place(problem, "portfolio", seed=5)
        for partitioner in {*found.table.partitioner} & {*pl.partitioners()}:
            placement = pl.place(problem, partitioner, seed=5)
            for name, scheduler in pl.schedulers().items():
                if scheduler.static and not scheduler.needs and (name != "planned" or placement.planned is not None):
                    assert found.estimate <= pl.simulate(problem, placement, name, seed=5).makespan * (1 + 1e-12)


@pytest.mark.slow
def test_reaches_the_optimum_of_small_problems():
    """Up to 7 ops: from random plans, half of them optimal by luck, the search alone reaches nine optima in ten."""
    limits = dict(ops=7, devices=3, memory=("none",), transfers=("parallel",), transfer_ops=(0,), zero=False)
    at_first = 0
    reached = 0
    count = 120
    for seed in range(count):  # all of them: shares of fewer would be luck
        problem = problems.problem(Random(f"11 {seed}").randint, **limits)
        plan = any_plan(problem, seed)
        least = optimum(problem)
        search = LocalSearch(problem, [plan], seed, 1000)
        while search.goes_on:
            search.round()
        assert search.best.makespan >= least * (1 - 1e-9)
        at_first += plan.makespan <= least * (1 + 1e-9)
        reached += search.best.makespan <= least * (1 + 1e-9)
    assert at_first < 0.55 * count
    assert reached > 0.9 * count


def test_improves_a_bad_plan_to_the_optimum_by_hand():
    """Two chains that round-robin splits are moved back together: 4 s each, which is a lower bound."""
    names = [f"{chain}{i}" for i in range(4) for chain in "ab"]
    graph = pl.OpGraph.from_arrays(names, [1.0] * 8, [(v, v + 2) for v in range(6)], edge_bytes=[5.0] * 6)
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    torn = np.array([0, 0, 1, 1, 0, 0, 1, 1], dtype=np.int32)
    start = run(problem, torn, np.arange(8, dtype=np.int32), "by hand", "")
    search = LocalSearch(problem, [start], 0, 2000)
    while search.goes_on:
        search.round()
    assert start.makespan == 20.0
    assert search.best.makespan == search.bound == 4.0


@pytest.mark.slow
def test_the_budget_is_moves_and_the_seed_decides():
    """The same seed gives the same bytes, table included; another budget or seed may give another plan."""
    problem = pl.Problem(pl.generators.gaussian_elimination(12), pl.Cluster([1.0, 2.0, 3.0], bandwidth=1.0))
    one, again, other = (pl.place(problem, "portfolio", moves=800, seed=seed) for seed in (1, 1, 2))
    assert (one.device == again.device).all() and (one.planned == again.planned).all() and one.notes == again.notes
    assert one.table.equals(again.table)
    assert (one.planned != other.planned).any()
    none = pl.place(problem, "portfolio", moves=1, seed=1)
    assert none.estimate == none.table.makespan[:-1].min() > one.estimate
    with pytest.raises(pl.UnsupportedError, match="moves is -1"):
        pl.place(problem, "portfolio", moves=-1)


def test_the_number_of_cores_does_not_matter():
    """One thread and three find the same plan, by the same way."""
    problem = pl.Problem(pl.generators.layered(60, seed=3), pl.Cluster([1.0, 2.0, 3.0], bandwidth=1.0))
    start = any_plan(problem, 1)
    found = []
    for threads in (1, 3):
        search = LocalSearch(problem, [start], 1, 4000)
        ways = []
        with at_most(threads):
            while search.goes_on:
                search.round()
                ways.append([walk.now.makespan for walk in search.walks])
        found.append((search.best.device.tolist(), search.best.order.tolist(), ways))
    assert found[0] == found[1]
    # From one plan four ways, until half of them start again.
    assert len({*found[0][2][9]}) == 4 > len({*found[0][2][21]})


def test_a_cluster_moves_at_once_where_no_op_alone_can():
    """Two chains, each torn over three devices by transfers ten times as long as ops: no single move shortens anything."""
    names = [f"{chain}{i}" for i in range(12) for chain in "ab"]
    graph = pl.OpGraph.from_arrays(names, [1.0] * 24, [(v, v + 2) for v in range(22)], edge_bytes=[10.0] * 22)
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=1.0))
    halves = np.array([0, 0] * 6 + [1, 2] * 6, dtype=np.int32)  # both begin on one device
    start = run(problem, halves, np.arange(24, dtype=np.int32), "by hand", "")
    search = LocalSearch(problem, [start], 0, 4000)
    while search.goes_on:
        search.round()
    assert start.makespan > 20.0 and search.best.makespan == search.bound == 12.0


def test_a_cluster_is_what_leads_to_an_op_or_follows_it():
    """Way 1 joins ops before the first one, way 2 ops after it, on its device only; way 0 any that are not at the goal."""
    edges = [(0, 3), (1, 3), (2, 3), (3, 4), (4, 5), (3, 6)]  # 2 and 6 are on the device where the cluster goes
    graph = pl.OpGraph.from_arrays([*"abcdefg"], [1.0] * 7, edges, edge_bytes=[1.0] * 6)
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=1.0))
    device = np.array([0, 2, 1, 0, 0, 0, 1], dtype=np.int32)
    order = np.arange(7, dtype=np.int32)
    walk = on_from(problem, device, order, 0)
    pred, succ, *_ = walk.fixed
    moved = np.full(7, -1, np.int32)
    units = walk.assignment.units_block
    plan = SimpleNamespace(device=device)
    moved[0] = 3
    search = SimpleNamespace(
        random=walk.random, units=units, pred=pred, succ=succ, plan=plan, moved=SimpleNamespace(unit=moved)
    )
    met = [set(), set(), set()]
    for _ in range(200):
        foreseen = walk.random.copy()  # it draws the number of units first, then the way
        kernels.draw(foreseen, kernels.SIZES)
        met[kernels.draw(foreseen, 3)] |= {*moved[1 : kernels.gather(1, search)].tolist()}
    assert met == [{0, 1, 4, 5}, {0}, {4, 5}]


def test_a_walk_without_gain_goes_on_from_another_plan():
    """The optimum is kept, and its walk begins once more with the best plan that no walk has begun with."""
    graph = pl.OpGraph.from_arrays(
        [*"abcdefghijkl"], [1.0] * 12, [(v, v + 2) for v in range(10)], edge_bytes=[1.0] * 10
    )
    problem = pl.Problem(graph, pl.Cluster([1.0] * 3, bandwidth=1.0))
    chains = run(problem, np.arange(12, dtype=np.int32) % 2, np.arange(12, dtype=np.int32), "by hand", "")
    plans = sorted([chains, *(any_plan(problem, seed) for seed in range(20))], key=lambda plan: plan.cost)
    search = LocalSearch(problem, plans, 0, 4000)
    first, *_ = waiting = list(search.others)
    for _ in range(STALE):
        assert search.walks[0].now.cost == chains.cost
        search.round()
    assert search.walks[0].now is first and len(search.others) < len(waiting)
    assert search.best.cost == chains.cost


# ------------------------------------------------------------------ memory


@pytest.mark.slow
def test_stays_within_memory_where_a_partitioner_does():
    """Under every memory model with tight devices; a search that ignored memory would exceed it."""
    graph = pl.generators.layered(150, seed=6)
    graph = graph.replace(persistent=graph.outputs, memory=2 * graph.outputs)
    for memory in ("edges", "reserved", "dynamic"):
        ample = pl.Problem(graph, pl.Cluster.uniform(4, memory=1e12), memory=memory)
        peak = pl.solve(ample, "heft", "planned").peak_memory.max()
        share = {"edges": 0.6 * peak, "reserved": 0.3 * graph.memory.sum(), "dynamic": 0.85 * peak}
        capacity = share[memory]
        problem = ample.replace(cluster=pl.Cluster.uniform(4, memory=capacity))
        found = pl.place(problem, "portfolio", moves=2000)
        schedule = pl.simulate(problem, found, "planned")
        assert not len(schedule.oom) and not validate(schedule)
        assert found.estimate == schedule.makespan <= found.table.makespan[~found.table.oom].min()


def test_nothing_feasible_is_an_error_that_says_why():
    """When every partitioner refuses, the first refusal is raised."""
    problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2, memory=1.0), memory="reserved")
    with pytest.raises(pl.InfeasibleError, match="short by"):
        pl.place(problem.replace(graph=problem.graph.replace(memory=np.full(5, 9.0))), "portfolio")


# ------------------------------------------------------------------ progress, cancel, the catalogue


@pytest.mark.slow
def test_any_time():
    """Stopped at once or after some rounds, it returns a legal placement, no worse than those tried, with a note."""
    problem = pl.Problem(pl.generators.layered(300, seed=1), pl.Cluster([1e13, 3e13], bandwidth=1e7, latency=1e-3))
    for rounds in (0, 1, 25, 45):
        asked = iter(range(100))
        found = pl.place(problem, "portfolio", cancel=lambda asked=asked, rounds=rounds: next(asked) >= rounds)
        tried = found.table[found.table.error == ""]
        assert found.estimate == tried.makespan.min() and not validate(pl.simulate(problem, found, "planned"))
        assert "stopped before its end" in found.notes[1]
    assert len(tried) > 10
    assert "stopped before" in pl.place(problem, "portfolio", time_limit=0.0).table.error.iloc[1]


def test_tells_how_far_it_is():
    """Fractions rise to 1, and the best makespan falls to the estimate."""
    problem = pl.Problem(pl.generators.gaussian_elimination(12), pl.Cluster([1.0, 2.0, 3.0], bandwidth=1.0))
    reports = []
    found = pl.place(problem, "portfolio", progress=reports.append, moves=500)
    fraction = [word.fraction for word in reports]
    makespan = [word.makespan for word in reports if word.makespan is not None]
    assert fraction == sorted(fraction) and fraction[-1] == 1.0
    assert makespan == sorted(makespan, reverse=True) and makespan[-1] == found.estimate


def test_takes_what_is_in_the_catalogue():
    """A user's partitioners are tried, one that fails is a row; slow ones are left out, but for `ez` where it is quick."""
    where = [0, 1, 0, 1]

    @pl.partitioner
    def mine(problem, *, seed: int = 0):
        return pl.Placement(problem, where)

    @pl.partitioner
    def broken(problem):
        raise KeyError("oops")

    graph = pl.OpGraph.from_arrays(list("abcd"), [1.0] * 4, [])
    table = pl.place(pl.Problem(graph, pl.Cluster([1.0, 1.0])), "portfolio").table.set_index("partitioner")
    assert table.makespan["mine"] == 2.0
    assert "oops" in table.error["broken"] and np.isnan(table.makespan["broken"])
    quick = [name for name, function in pl.partitioners().items() if name == "ez" or not function.slow]
    assert table.index.tolist() == [*quick, "local search"]

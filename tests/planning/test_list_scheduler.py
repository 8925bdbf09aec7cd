"""A list scheduler's earliest times, gaps, groups and memory over time."""

from __future__ import annotations

from random import Random

import list_plans
import numpy as np
import problems
import pytest
from examples import fewer

import placelab as pl
from placelab.analysis.validation import validate
from placelab.planning.list_scheduler import Gaps, ListScheduler
from placelab.planning.memory_plan import can_bind

TWO = pl.Cluster(speed=[1.0, 2.0], bandwidth=4.0, latency=1.0)


def chain(*compute: float, size: float = 8.0, **costs) -> pl.OpGraph:
    """Ops a, b, c … in a chain."""
    n = len(compute)
    return pl.OpGraph.from_arrays(
        list("abcdefgh")[:n], compute, [(v, v + 1) for v in range(n - 1)], edge_bytes=[size] * (n - 1), **costs
    )


def fork(n: int, size: float = 8.0, **costs) -> pl.OpGraph:
    """A source whose one tensor goes to n ops."""
    names = ["source", *(f"op{i}" for i in range(n))]
    edges = [(0, i + 1) for i in range(n)]
    return pl.OpGraph.from_arrays(names, [1.0] * (n + 1), edges, edge_bytes=[size] * n, edge_output=[0] * n, **costs)


def random_plan(problem: pl.Problem, insertion: bool, rng: Random) -> ListScheduler:
    """A plan in some topological order, each op on some device with enough memory."""
    s = ListScheduler(problem, insertion=insertion)
    graph = problem.graph
    missing = np.diff(graph.pred_ptr)
    ready = np.flatnonzero(missing == 0).tolist()
    while ready:
        v = ready.pop(rng.randrange(len(ready)))
        s.place(v, rng.choice(s.feasible(v)))
        for w in graph.consumer[graph.succ_ptr[v] : graph.succ_ptr[v + 1]].tolist():
            missing[w] -= 1
            if missing[w] == 0:
                ready.append(w)
    return s


def test_earliest_times_are_those_of_the_definition():
    """EST waits for the input (latency + bytes / bandwidth from another device), EFT adds exec on that device."""
    s = ListScheduler(pl.Problem(chain(2.0, 6.0), TWO))
    s.place("a", "dev0")
    assert [s.est("b", d) for d in (0, 1)] == [2.0, 2.0 + 1.0 + 2.0]
    assert [s.eft("b", d) for d in (0, 1)] == [8.0, 5.0 + 3.0]


def test_the_arrival_of_inputs_does_not_wait_for_the_device():
    """The input is there at 2, though the device runs its second op till 8."""
    graph = pl.OpGraph.from_arrays(list("axb"), [2.0, 6.0, 1.0], [(0, 2)], edge_bytes=[8.0])
    s = ListScheduler(pl.Problem(graph, TWO))
    s.place("a", "dev0")
    s.place("x", "dev0")
    assert [s.arrival("b", d) for d in (0, 1)] == [2.0, 2.0 + 1.0 + 2.0]
    assert [s.est("b", d) for d in (0, 1)] == [8.0, 5.0]


def test_names_and_numbers_are_the_same():
    """Ops and devices may be given by name or by number, numpy's included."""
    s = ListScheduler(pl.Problem(chain(2.0, 6.0), TWO))
    s.place(np.int64(0), "dev1")
    assert s.est("b", "dev0") == s.est(1, 0) == s.est(np.int32(1), np.int64(0))


def test_inputs_of_every_predecessor_count():
    """EST takes the latest arrival, not the earliest."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 5.0, 1.0], [(0, 2), (1, 2)], edge_bytes=[4.0, 4.0])
    s = ListScheduler(pl.Problem(graph, pl.Cluster(speed=[1.0, 1.0], bandwidth=4.0)))
    s.place("a", 0)
    s.place("b", 1)
    assert [s.est("c", 0), s.est("c", 1)] == [6.0, 5.0]


def test_insertion_fills_a_gap_and_appending_does_not():
    """While device 0 waits for an input, insertion runs an independent op of fitting length before it."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [4.0, 2.0, 3.0], [(0, 1)], edge_bytes=[4.0])
    problem = pl.Problem(graph, pl.Cluster(speed=[1.0, 1.0], bandwidth=4.0))
    for insertion, start in ((True, 0.0), (False, 7.0)):
        s = ListScheduler(problem, insertion=insertion)
        s.place("a", 1)
        s.place("b", 0)  # from 5 to 7
        assert s.est("c", 0) == start


def test_an_op_of_no_time_fits_between_two_that_touch():
    """Adjacent busy spans are merged, but a zero-time op may start at their border; never inside an op."""
    gaps = Gaps()
    gaps.occupy(0.0, 5.0)
    gaps.occupy(5.0, 9.0)
    assert (gaps.begins, gaps.ends) == ([0.0], [9.0])
    assert [gaps.earliest(t, 0.0) for t in (0.0, 3.0, 5.0, 6.0, 12.0)] == [0.0, 5.0, 5.0, 9.0, 12.0]


def test_merged_gaps_are_the_gaps_between_single_ops():
    """On random requests merged spans give the start found by a scan over all ops of the device."""
    rng = Random(1)
    for _ in range(300):
        gaps = Gaps()
        ops = []
        for _ in range(30):
            ready = rng.randrange(40)
            length = rng.choice([0, 0, 1, 1, 2, 3, 7])
            start = gaps.earliest(ready, length)
            fits = lambda t: all(t + length <= a or t >= b for a, b in ops)  # noqa: B023, E731
            assert start == min(t for t in [ready, *(b for _, b in ops if b > ready)] if fits(t))
            gaps.occupy(start, start + length)
            ops.append((start, start + length))


def test_a_plan_is_legal_and_within_memory():
    """Random orders on random devices, appended or inserted, in every memory model: the validator finds nothing."""
    finished = 0
    for i, problem in enumerate(problems.many(600, seed=11, transfer_ops=(0,))):
        problem = problem.replace(transfers="parallel")
        try:
            s = random_plan(problem, insertion=bool(i % 2), rng=Random(i))
        except pl.InfeasibleError:
            continue
        assert validate(list_plans.schedule(s)) == [], i
        finished += can_bind(problem)
    assert finished > fewer(100)


def test_the_plan_is_what_the_simulator_replays():
    """Without memory limits and contention, the planned scheduler reproduces the plan's times to the last bit."""
    for i, problem in enumerate(
        problems.many(200, seed=12, memory=("none",), transfer_ops=(0,), transfers=("parallel",))
    ):
        s = random_plan(problem, insertion=bool(i % 2), rng=Random(i))
        placement = s.placement()
        schedule = pl.simulate(problem, placement, "planned")
        assert schedule.start.tolist() == s.start.tolist(), i
        assert placement.estimate == schedule.makespan


def test_a_group_goes_where_its_first_member_went():
    """After one member is placed, the others may use only its device."""
    problem = pl.Problem(chain(1.0, 1.0, 1.0), TWO, groups=[("a", "c")])
    s = ListScheduler(problem)
    s.place("a", "dev1")
    s.place("b", "dev0")
    assert s.feasible("c") == [1]
    with pytest.raises(pl.InfeasibleError, match="'c' may not run on 'dev0', only on dev1"):
        s.place("c", "dev0")


def test_a_group_must_fit_as_a_whole():
    """Persistent bytes of all members are reserved with the first (co-adjust): 6 + 6 fit on the device of 12 only."""
    graph = chain(1.0, 1.0, size=0.0, persistent=6.0, groups=[[0, 1]])
    problem = pl.Problem(graph, TWO.replace(memory=[11.0, 12.0]))
    assert problem.memory == "dynamic"
    assert ListScheduler(problem).feasible("a") == [1]
    assert ListScheduler(problem.replace(memory="reserved")).feasible("a") == [1]


def test_an_op_waits_until_memory_is_freed():
    """Two ops of 8 temporary bytes each on a device of 8 bytes: insertion delays the second to the end of the first."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c"], [2.0, 2.0, 2.0], [], temporary=[8.0, 8.0, 8.0], outputs=[(0, 0, 4.0)]
    )
    s = ListScheduler(pl.Problem(graph, pl.Cluster(speed=[1.0], memory=12.0)), insertion=True)
    s.place("a", 0)
    assert s.est("b", 0) == 2.0


def test_memory_of_a_received_tensor_counts_from_the_start_of_its_transfer():
    """The copy would arrive while dev0 is full (until 10), and transfers do not wait, so the consumer cannot run there."""
    graph = pl.OpGraph.from_arrays(
        ["full", "a", "b"], [10.0, 1.0, 1.0], [(1, 2)], edge_bytes=[8.0], temporary=[8.0, 0.0, 0.0]
    )
    cluster = pl.Cluster(speed=[1.0, 1.0], memory=[8.0, 100.0], bandwidth=1.0)
    s = ListScheduler(pl.Problem(graph, cluster))
    s.place("full", 0)
    s.place("a", 1)
    assert s.candidates("b") == [1]
    assert s.est("b", 0) == np.inf


def test_a_rejected_pair_may_become_possible():
    """A tensor is held until all its consumers are placed; then its memory is free again, and `freed` has grown."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c"], [1.0, 1.0, 1.0], [(0, 1)], edge_bytes=[6.0], temporary=[0.0, 0.0, 8.0], persistent=0.0
    )
    s = ListScheduler(pl.Problem(graph, pl.Cluster(speed=[1.0], memory=8.0)))
    s.place("a", 0)
    assert s.candidates("c") == []
    before = s.freed
    s.place("b", 0)
    assert s.freed > before
    assert s.est("c", 0) == 2.0


def test_nothing_left_is_an_error_that_says_why_for_each_device():
    """The message names the op and what each device lacks."""
    graph = pl.OpGraph.from_arrays(["big"], [1.0], [], persistent=10.0)
    problem = pl.Problem(graph, TWO.replace(memory=[4.0, 9.0]))
    with pytest.raises(
        pl.InfeasibleError, match=r"'big' fits on no device.*dev1 is short by 1 bytes; dev0 is short by 6 bytes"
    ):
        ListScheduler(problem).feasible("big")


def test_nothing_left_for_a_group_names_the_group():
    """The message names the group, not its member."""
    graph = chain(1.0, 1.0, size=0.0, persistent=6.0, groups=[[0, 1]], group_names=["pair"])
    with pytest.raises(pl.InfeasibleError, match="colocation group 'pair'"):
        ListScheduler(pl.Problem(graph, TWO.replace(memory=[11.0, 11.0]))).feasible("a")


def test_inputs_come_first():
    """Placing an op before its input is an error that names both."""
    with pytest.raises(pl.UnsupportedError, match="'b' comes before its input 'a'"):
        ListScheduler(pl.Problem(chain(1.0, 1.0), TWO)).place("b", 0)


def test_an_unknown_op_is_an_error():
    """A number out of range, negative ones included, and an unknown name."""
    s = ListScheduler(pl.Problem(chain(1.0, 1.0), TWO))
    for op in (2, -1, "z"):
        with pytest.raises(pl.FormatError, match=r"no op"):
            s.est(op, 0)


def test_an_op_is_placed_once_and_all_are_placed():
    """Placing twice and finishing early are errors that name the op."""
    s = ListScheduler(pl.Problem(chain(1.0, 1.0), TWO))
    s.place("a", 0)
    with pytest.raises(pl.UnsupportedError, match="'a' is placed already, on 'dev0'"):
        s.place("a", 0)
    with pytest.raises(pl.UnsupportedError, match="'b' is not placed"):
        s.placement()


def test_memory_that_cannot_bind_never_binds():
    """If the quick test finds that memory cannot bind, plans with and without memory are the same."""
    unbound = 0
    for i, problem in enumerate(problems.many(300, seed=13)):
        if problem.memory == "none" or can_bind(problem):
            continue
        unbound += 1
        s = random_plan(problem, insertion=True, rng=Random(i))
        s._memory = None
        free = random_plan(problem.replace(memory="none"), insertion=True, rng=Random(i))
        assert s.start.tolist() == free.start.tolist()
        assert (list_plans.schedule(s).peak_memory <= problem.cluster.memory).all() or problem.transfer_ops
    assert unbound > 20


def test_a_trace_has_what_was_compared():
    """One row per decision: the finish on every candidate, and the reason."""
    problem = pl.Problem(chain(2.0, 6.0, 1.0), TWO, groups=[("a", "c")])
    s = ListScheduler(problem, trace=True)
    s.place("a", 0, reason="by hand")
    s.place("b", 1)
    s.place("c", 0)
    trace = s.placement().trace
    assert trace.op.tolist() == [0, 1]  # c follows a
    assert trace.score.tolist() == [[2.0, 1.0], [8.0, 8.0]]
    assert "by hand" in trace.line(problem, 2)


def test_a_strategy_in_one_cell_works_verbatim():
    """The example of the design, with groups, restrictions and tight memory."""

    @pl.partitioner
    def blended(problem, *, alpha: float = 0.5):
        """HEFT whose priority blends the upward and the downward rank."""
        rank = pl.upward_rank(problem) - alpha * pl.downward_rank(problem)
        s = pl.ListScheduler(problem)
        for op in np.argsort(-rank, kind="stable"):
            s.place(op, min(s.feasible(op), key=lambda d: s.eft(op, d)))
        return s.placement()

    problem = pl.Problem(pl.generators.fork_join(5), pl.Cluster.uniform(3))
    assert pl.solve(problem, "blended", "planned").makespan == pytest.approx(pl.place(problem, "blended").estimate)
    for problem in problems.many(100, seed=14, memory=("none",)):
        pl.place(problem, "blended", alpha=0.9)


def test_a_member_that_follows_its_group_is_named_itself():
    """Once the group has a device, the error names the member, and the group as the reason for other devices."""
    graph = chain(1.0, 1.0, size=0.0, temporary=[1.0, 9.0], groups=[[0, 1]])
    s = ListScheduler(pl.Problem(graph, TWO.replace(memory=[4.0, 10.0])))
    s.place("a", 0)
    with pytest.raises(
        pl.InfeasibleError, match=r"op 'b' finds no room.*dev0 is short by 5 bytes; dev1 is not where its group is"
    ):
        s.feasible("b")


def test_the_next_candidate_is_the_first_in_the_circle():
    """From a device on, those before it last, it is the first of all candidates; none where there is none."""
    for problem in problems.many(fewer(40), seed=29, memory=("dynamic", "edges", "none"), transfer_ops=(0,)):
        s = ListScheduler(problem)
        k = problem.cluster.n_devices
        for v in range(problem.graph.n_ops):
            candidates = s.candidates(v)
            for first in range(k):
                expected = min(candidates, key=lambda d: (d - first) % k, default=None)
                assert s.next_candidate(v, first) == expected
            if not candidates:
                break
            s.place(v, candidates[v % len(candidates)])

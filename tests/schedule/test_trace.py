"""A trace tells the truth: every decision once, in order, the best of what was compared, and how ranks add up."""

from __future__ import annotations

from contextlib import suppress
from functools import cache

import numpy as np
import pytest
from examples import fewer
from problems import many

import placelab as pl
from placelab.analysis.two_schedules import first_difference, units

TRACED = sorted(name for name, function in pl.partitioners().items() if "trace" in function.reserved)
RANKED = ("heft", "cpop", "etf", "m-etf", "sct", "m-sct", "mite", "dfs")
BY_NUMBER = ("heft", "cpop", "tf-greedy", "critical-path")  # of equal scores the lowest device is taken
NOT_BY_SCORE = {  # reasons that something else than the scores decided by
    "critical-path": ("on the critical path",),
    "min-cut": ("in this device's part",),
    "hash": ("drawn",),
    "random": ("drawn",),
}
TOPCUOGLU = pl.datasets.problem("topcuoglu")
CHAIN = pl.Problem(
    pl.OpGraph.from_arrays(list("abc"), [1.0, 2.0, 4.0], [(0, 1), (1, 2)], edge_bytes=1.0),
    pl.Cluster([1.0, 1.0], bandwidth=1.0),
)
ROUNDING = 1e-12


@cache
def traced(name: str, count: int = 60, **limits) -> tuple[pl.Placement, ...]:
    """Placements of random problems with their traces, as far as the strategy itself finds some."""
    found = []
    for problem in many(count, seed=31, **limits):
        with suppress(pl.InfeasibleError):
            found.append(pl.place(problem, name, trace=True, fallback=False))
    return tuple(found)


def test_heft_on_topcuoglu_decides_as_the_paper_does():
    """Ranks, order, earliest finish times and processors of the ten tasks, step by step (Topcuoglu 2002, Table 3, Fig. 3)."""
    trace = pl.place(TOPCUOGLU, "heft", trace=True).trace
    assert (trace.op + 1).tolist() == [1, 3, 4, 2, 5, 6, 9, 7, 8, 10]
    assert trace.rank == pytest.approx([108, 80, 80, 77, 69, 63.333, 44.333, 42.667, 35.667, 14.667], abs=1e-3)
    assert trace.score.tolist() == [
        [14, 16, 9],
        [32, 34, 28],
        [31, 26, 45],
        [40, 46, 46],
        [52, 39, 38],
        [53, 42, 47],
        [69, 68, 76],
        [58, 83, 49],
        [62, 79, 73],
        [102, 80, 97],
    ]
    assert (trace.device + 1).tolist() == [3, 3, 2, 1, 3, 2, 2, 3, 1, 2]
    start, finish = trace.spans(TOPCUOGLU)
    assert start[1].tolist() == [21, 21, 9] and finish.max() == 102


@pytest.mark.parametrize("name", TRACED)
def test_every_unit_is_decided_once_where_it_is_placed(name):
    """Decisions name each group, and each op without one, once; `single` decides about all at once."""
    for placement in traced(name):
        trace = placement.trace
        problem = placement.problem
        decided = units(problem)[trace.op]
        assert len(set(decided)) == len(decided)
        assert name == "single" or set(decided) == set(units(problem))
        assert trace.device.tolist() == placement.device[trace.op].tolist()
        row = trace.rows(problem)
        if name != "single":
            assert trace.device[row].tolist() == placement.device.tolist()
            assert (units(problem)[trace.op[row]] == units(problem)).all()


@pytest.mark.parametrize("name", TRACED)
def test_the_chosen_device_has_the_least_score(name):
    """Under the documented tie rule, wherever the scores decide."""
    looked = 0
    for placement in traced(name):
        trace = placement.trace
        problem = placement.problem
        _, finish = trace.spans(problem)
        for i, (d, score) in enumerate(zip(trace.device, trace.score, strict=True)):
            assert not np.isnan(score[d])
            if trace.reasons[trace.reason[i]].startswith(NOT_BY_SCORE.get(name, ("no such reason",))):
                continue
            looked += 1
            assert score[d] == np.nanmin(score)
            equal = np.flatnonzero(score == score[d])
            if name in BY_NUMBER:
                assert d == equal[0]
            elif name in ("etf", "m-etf"):
                assert d == equal[np.argmin(finish[i, equal])]
    assert looked > fewer(100) or set(NOT_BY_SCORE.get(name, ())) == {"drawn"} or name in ("single", "min-cut")


@pytest.mark.parametrize("name", ["heft", "cpop", "tf-greedy", "etf", "sct"])
def test_spans_of_the_chosen_devices_are_the_plan(name):
    """The last finish is the estimate, and starts and finishes differ by the op's time."""
    for placement in traced(name, groups=False):
        trace = placement.trace
        problem = placement.problem
        start, finish = trace.spans(problem)
        rows = np.arange(len(trace.op))
        assert finish[rows, trace.device].max() == pytest.approx(placement.estimate, rel=ROUNDING)
        took = [problem.exec_time(v, d) for v, d in zip(trace.op, trace.device, strict=True)]
        assert (finish - start)[rows, trace.device] == pytest.approx(took, abs=ROUNDING * placement.estimate)
        assert (np.isnan(start) == np.isnan(trace.score)).all()


def test_scores_that_are_no_times_have_no_spans():
    """As mite's; and those of ops that were merged before they were placed, whose times are not those of the ops."""
    assert np.isnan(pl.place(TOPCUOGLU, "mite", trace=True).trace.spans(TOPCUOGLU)).all()
    for name in ("heft", "etf"):
        trace = pl.place(CHAIN, name, trace=True, prepare="coplace").trace
        assert np.isnan(trace.spans(CHAIN)).all() and not np.isnan(trace.score).any()


def test_merged_ops_keep_the_rank_of_their_decision():
    """They are decided as one, by the rank of the first; how that adds up is not theirs."""
    trace = pl.place(CHAIN, "heft", trace=True, prepare="coplace").trace
    assert trace.op.tolist() == [0, 1, 2] and trace.rank.tolist() == [9.0] * 3
    assert trace.rank_name == "upward rank [s]" and trace.ranks is None


@pytest.mark.parametrize("name", RANKED)
def test_ranks_add_up_from_the_exits(name):
    """Own time and the longest way on; no decision goes before one of larger rank."""
    for placement in traced(name, 30):
        graph = placement.problem.graph
        ranks = placement.trace.ranks
        through = ranks.through(graph)
        for v in range(graph.n_ops):
            ways = through[graph.producer == v]
            assert ranks.value[v] == pytest.approx(ranks.own[v] + max(ways, default=0.0))
        if name in ("heft", "mite"):
            rank = placement.trace.rank
            groups = placement.problem.n_groups or placement.problem.memory != "none"
            assert groups or (np.diff(rank) <= ROUNDING * rank.max()).all()


def test_heft_and_cpop_differ_at_once():
    """CPOP puts the critical path on P2, HEFT the first task on P3; task 2 is the first that both take but place apart."""
    heft, cpop = (pl.place(TOPCUOGLU, name, trace=True) for name in ("heft", "cpop"))
    assert first_difference(heft, cpop) == first_difference(cpop, heft) == 0
    assert first_difference(heft, heft) is None and first_difference(heft, heft, order=False) is None


def test_the_first_difference_is_the_first():
    """By a plain walk along both traces, in the order and op by op."""
    found = 0
    for problem in many(110, seed=33, memory=("none",)):
        a, b = (pl.place(problem, name, trace=True) for name in ("heft", "tf-greedy"))
        of = units(problem)
        steps = [(of[v], d) for v, d in zip(a.trace.op, a.trace.device, strict=True)]
        others = [(of[v], d) for v, d in zip(b.trace.op, b.trace.device, strict=True)]
        walk = next((i for i, (x, y) in enumerate(zip(steps, others, strict=True)) if x != y), None)
        moved = next((i for i, step in enumerate(steps) if step not in others), None)
        assert first_difference(a, b) == walk
        assert first_difference(a, b, order=False) == moved
        found += walk != moved
    assert found > 10


def test_a_shorter_trace_differs_where_it_ends():
    """`single` decides once; whatever the other does next is a difference."""
    one = pl.Problem(pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], []), pl.Cluster([1.0]))
    heft, single = (pl.place(one, name, trace=True) for name in ("heft", "single"))
    assert first_difference(heft, single) == 1 and first_difference(single, heft) is None


def test_only_traces_of_one_graph_are_compared():
    """A placement without a trace, or of another graph, is refused by a sentence."""
    heft = pl.place(TOPCUOGLU, "heft", trace=True)
    with pytest.raises(pl.UnsupportedError, match="heft has no trace; place with trace=True"):
        first_difference(heft, pl.place(TOPCUOGLU, "heft"))
    other = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    with pytest.raises(pl.UnsupportedError, match="different ops"):
        first_difference(heft, pl.place(other, "heft", trace=True))

"""Idle gaps back to the first op that ran, ops left waiting, and devices that were never chosen."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import problems
import pytest

import placelab as pl
from placelab.analysis.idle_time import REASONS, best_visit, idle_gaps, said_of_gap
from placelab.app.widgets.details import Subject, details_of
from placelab.kernels.explain import LEFT_WAITING
from placelab.problem.resource_models import TRANSFER_MODELS
from placelab.schedule.independent_checks import HeldBytes


def runs(count, seed, **rules):
    """Schedules of random placements under a plan and two rules; memory marked and waited for."""
    for i, problem in enumerate(problems.many(count, seed=seed)):
        problem = problem.replace(**rules)
        free = problem.replace(memory="none")
        for placement, scheduler, oom in (
            (pl.place(free, "random", seed=i), "fifo", "mark"),
            (pl.place(free, "random", seed=i + 1), "pct", "wait"),
            (replace(pl.place(free, "random", seed=i), planned=np.arange(problem.graph.n_ops)), "planned", "wait"),
        ):
            try:
                yield pl.simulate(problem, placement, scheduler, oom=oom)
            except pl.InfeasibleError:
                continue


def in_this_order(order, devices, edges, times, sizes):
    """A plan of ops 0, 1, … on two devices at 1 byte/s, whose devices run them in this order."""
    names = [*"abcdef"[: len(times)]]
    graph = pl.OpGraph.from_arrays(names, times, edges, edge_bytes=sizes, edge_output=[0] * len(edges))
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    return pl.simulate(problem, pl.Placement(problem, devices, planned=np.array(order)), "planned")


@pytest.mark.parametrize("transfers", TRANSFER_MODELS)
def test_chains_touch_in_time_and_end_at_the_first_op(transfers):
    """Each entry ends when the one before it starts, the last starts at 0; the first was under way when the gap ended."""
    seen = set()
    for schedule in runs(60, 71, transfers=transfers):
        frame = pl.idle_reasons(schedule, chain=True)
        plain = pl.idle_reasons(schedule)
        assert frame[list(plain)].drop(columns="name").equals(plain.drop(columns="name"))
        for row in frame.itertuples():
            seen.add(row.reason)
            if row.reason in ("end", "never chosen"):
                assert row.chain == ()
                continue
            first, *_, last = row.chain[0], row.chain[-1]
            assert last.start == 0.0
            assert first.start <= row.finish <= first.finish
            assert all(a.start == b.finish for a, b in pairwise(row.chain))
            assert {cause.kind for cause in row.chain} <= {"op", "transfer", "wait"}
            if row.reason == "upstream":
                assert (first.kind, first.name) == ("op", row.name) or first.kind == "wait"
            assert np.isnan(row.best)
    assert seen >= {"upstream", "transfer", "end", "never chosen"}


def test_chains_are_rows_of_critical_paths():
    """What a gap waited for is the way to the op that ended it, as `critical_path(to=…)` has it."""
    for schedule in runs(40, 72):
        names = schedule.problem.graph.names
        frame = pl.idle_reasons(schedule, chain=True)
        for chain, gap in zip(frame["chain"], idle_gaps(schedule), strict=True):
            if gap["next"] >= 0 and REASONS[gap["reason"]] == "transfer":
                path = pl.critical_path(schedule, to=names[gap["next"]])
                rows = [*path.drop(columns="reason").itertuples(index=False, name=None)][:-1]
                assert [cause[:-1] for cause in chain[::-1]] == rows[: len(chain)]


def test_the_path_to_an_op_tiles_the_time_until_it_ends():
    """For each op, by name or number; the default is the path to the op that finishes last."""
    for schedule in runs(15, 73):
        graph = schedule.problem.graph
        for v in range(graph.n_ops):
            path = pl.critical_path(schedule, to=v)
            assert path.equals(pl.critical_path(schedule, to=graph.names[v]))
            assert path["start"].iloc[0] == 0 and path["finish"].iloc[-1] == schedule.finish[v]
            assert (path["start"].to_numpy()[1:] == path["finish"].to_numpy()[:-1]).all()
            assert (path["kind"].iloc[-1], path["name"].iloc[-1]) == ("op", graph.names[v])
        last = pl.critical_path(schedule, to=int(schedule.finish.argmax())).drop(columns="reason")
        assert pl.critical_path(schedule).drop(columns="reason").equals(last)
    for wrong in (-1, graph.n_ops):
        with pytest.raises(pl.FormatError, match="there is no op number"):
            pl.critical_path(schedule, to=wrong)


def test_an_op_that_a_plan_left_waiting_is_named():
    """dev1's plan has b, which waits for a until 7, before c, which could run at once."""
    schedule = in_this_order([0, 1, 2], [0, 1, 1], [(0, 1)], [3.0, 1.0, 2.0], [4.0])
    frame = pl.idle_reasons(schedule, chain=True)
    gap = frame[frame["device"] == "dev1"].iloc[0]
    assert tuple(gap[["start", "finish", "reason", "name"]]) == (0.0, 7.0, "left waiting", "c")
    assert [(c.kind, c.name, c.start, c.finish) for c in gap["chain"]] == [("transfer", "a", 3, 7), ("op", "a", 0, 3)]
    row = int(np.flatnonzero(idle_gaps(schedule)["device"] == 1)[0])
    assert said_of_gap(schedule, row) == "dev1 waited for: transfer of a ← a; c could run and was left waiting"


def test_an_op_is_left_waiting_from_when_it_could_run():
    """Until c's own input is there the device waits upstream; it is c that could run then, although b goes first."""
    schedule = in_this_order([0, 1, 2, 3], [0, 0, 1, 1], [(0, 3), (1, 2)], [1.0, 4.0, 1.0, 1.0], [1.0, 2.0])
    frame = pl.idle_reasons(schedule)
    rows = frame[frame["device"] == "dev1"][["start", "finish", "reason", "name"]].to_numpy().tolist()
    assert rows == [[0.0, 2.0, "upstream", "b"], [2.0, 7.0, "left waiting", "d"]]


def test_a_rule_that_never_delays_leaves_no_op_waiting():
    """Under rules that run what is executable, memory marked, no op is left waiting; under plans, some are."""
    left = 0
    for schedule in runs(60, 74):
        waits = (pl.idle_reasons(schedule)["reason"] == "left waiting").sum()
        assert schedule.scheduler == "planned" or waits == 0
        left += waits
    assert left > 0


def test_a_time_that_a_plan_waits_for():
    """An op that the plan starts at 2 could run at 0."""
    problem = pl.Problem(pl.OpGraph.from_arrays(["a"], [1.0], []), pl.Cluster([1.0], memory=[9.0]), memory="dynamic")
    placement = pl.Placement(problem, [0], planned=np.array([0]), not_before=np.array([2.0]))
    schedule = pl.simulate(problem, placement, "planned")
    (gap,) = pl.idle_reasons(schedule, chain=True).itertuples()
    assert (gap.start, gap.finish, gap.reason, gap.name) == (0.0, 2.0, "left waiting", "a")
    assert [(c.kind, c.start, c.finish, c.reason) for c in gap.chain] == [("wait", 0, 2, "not started though it could")]


def test_what_held_the_memory_is_named():
    """c waits until b has read a's 2 bytes, which its device cannot hold beside c's byte."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1.0, 3.0, 1.0], [(0, 1)], edge_bytes=[2.0], outputs=[(2, 0, 1.0)])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], memory=[2.0, 3.0]), memory="dynamic")
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1, 0]), "fifo", oom="wait")
    frame = pl.idle_reasons(schedule, chain=True)
    (gap,) = frame[frame["reason"] == "memory"].itertuples()
    assert (gap.name, gap.chain[0].kind, gap.chain[0].reason) == ("c", "wait", "no room in memory, taken by a 2")


def test_an_op_that_lacks_room_is_named_beside_what_ended_the_gap():
    """dev1 runs c as soon as a's output is there; until then d is ready, for which x's output leaves no room, then a's, too."""
    graph = pl.OpGraph.from_arrays(
        list("axcdy"), [3, 1, 1, 1, 1], [(0, 2), (1, 4), (2, 4)], edge_bytes=[1, 2, 0], temporary=[0, 0, 0, 2, 0]
    )
    problem = pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1, memory=[9, 3]), memory="dynamic")
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 1, 1, 1, 1]), "fifo", oom="wait")
    frame = pl.idle_reasons(schedule)
    (row,) = np.flatnonzero(frame["reason"] == "memory")
    assert tuple(frame.loc[row, ["device", "start", "finish", "name"]]) == ("dev1", 1.0, 4.0, "d")
    lacked = "no room in memory, taken by x 2, a 1"
    assert said_of_gap(schedule, row) == f"dev1 waited for: transfer of a ← a; d was ready and found {lacked}"
    facts = details_of(schedule, Subject(op=3, gap=int(row)))["facts"]
    assert facts[2:] == [("reason", "memory"), ("the op that waits", "d"), ("it found", lacked), ("ended by", "c")]


def brute(schedule, device):
    """The best move of one op or group to a device, by simulating each."""
    problem = schedule.problem
    found = []
    for v in range(problem.graph.n_ops):
        where = schedule.device.copy()
        where[problem.members(v)] = device
        planned = schedule.placement.planned
        try:
            placement = pl.Placement(problem, where, planned=planned, not_before=schedule.placement.not_before)
            again = pl.simulate(problem, placement, schedule.scheduler, seed=schedule.seed, oom=schedule.oom_rule)
        except pl.InfeasibleError:
            continue
        found.append((again.makespan, int(problem.members(v)[0])))
    return min(found, default=(np.nan, -1))


def test_the_best_move_is_exact():
    """The makespan and the op of the best single move, as simulating all of them finds; to unused devices in the table."""
    unused = 0
    for schedule in runs(55, 75):
        device = int(np.bincount(schedule.device, minlength=schedule.problem.cluster.n_devices).argmin())
        makespan, op = brute(schedule, device)
        found = best_visit(schedule, device)
        assert found == (op, pytest.approx(makespan, rel=0, abs=0, nan_ok=True))
        if device not in schedule.device and schedule.makespan > 0:  # a schedule of no time has no gap
            frame = pl.idle_reasons(schedule, chain=True)
            (row,) = frame[frame["device"] == schedule.problem.cluster.names[device]].itertuples()
            names = [*schedule.problem.graph.names, ""]
            assert (row.reason, row.name) == ("never chosen", names[op])
            assert row.best == makespan or (np.isnan(row.best) and np.isnan(makespan))
            assert (row.start, row.finish) == (0.0, schedule.makespan)
            unused += 1
    assert unused > 3


def test_a_cancelled_search_names_no_op():
    """Half of a search would be another answer."""
    schedule = pl.solve(pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2)), "single", "fifo")
    frame = pl.idle_reasons(schedule, chain=True, cancel=lambda: True)
    assert frame["best"].isna().all() and frame["name"].tolist() == [""]
    seen = []
    pl.idle_reasons(schedule, chain=True, progress=seen.append)
    assert [step.fraction for step in seen] == [0.2, 0.4, 0.6, 0.8, 1.0]


def test_a_schedule_of_no_scheduler_has_chains_too():
    """Its devices that were never chosen have no cost, since it cannot be run again."""
    known = pl.solve(pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(3)), "single", "fifo")
    given = pl.Schedule(known.placement, known.start, known.finish, known.transfers, known.sends)
    frame = pl.idle_reasons(given, chain=True)
    assert frame["reason"].tolist() == ["never chosen"] * 2 and frame["best"].isna().all()


def test_every_gap_has_a_sentence():
    """It names the device, and a long chain is cut."""
    for schedule in runs(40, 76):
        for row, gap in enumerate(idle_gaps(schedule)):
            said = said_of_gap(schedule, row, few=2)
            assert said.startswith(schedule.problem.cluster.names[gap["device"]] + " ")
            assert said.count("←") <= 2


def test_no_gap_is_asked_for_room_where_there_is_plenty(monkeypatch):
    """A chart is drawn with each move of a drag: an op is asked only where its device may have been full."""
    asked = []
    monkeypatch.setattr(HeldBytes, "has_room", lambda self, op, begin, end: asked.append(op) or True)
    graph = pl.generators.layered(300, seed=1)
    problem = pl.Problem(graph, pl.Cluster.uniform(3, memory=1e15, bandwidth=1e9), memory="dynamic")
    gaps = idle_gaps(pl.solve(problem, "heft", "planned"))
    assert ((gaps["reason"] == LEFT_WAITING) & (gaps["op"] >= 0)).any() and not asked

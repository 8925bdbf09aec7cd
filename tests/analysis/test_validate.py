"""The validator accepts legal schedules and names each violation: by hand for each kind, then in damaged random ones."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
import reference_memory
import reference_simulator
from hypothesis import assume, given
from hypothesis import strategies as st
from problems import many, placed, placement

from placelab.analysis.validation import validate
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.resource_models import MEMORY_MODELS
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TRANSFER, Schedule
from placelab.simulation.event_simulation import simulate

# a (2 s on x) → b (3 s on y), c (1 s on y), both by one tensor of 2 bytes; z takes no time, on x.
FORK = OpGraph.from_arrays(
    ["a", "b", "c", "z"],
    [2, 3, 1, 0],
    [(0, 1), (0, 2)],
    edge_bytes=[2, 2],
    edge_output=[0, 0],
    persistent=1,
    temporary=4,
)
TWO = Cluster([1, 1], bandwidth=1, latency=1, names=["x", "y"], types=["cpu", "gpu"])


def fork(**rules) -> Schedule:
    """The only sensible schedule of FORK."""
    problem = Problem(FORK, rules.pop("cluster", TWO), **rules)
    return schedule(problem, [0, 1, 1, 0], start=[0, 5, 8, 0], finish=[2, 8, 9, 0], transfers=[(0, 0, 1, 2, 5)])


def schedule(problem: Problem, device, start, finish, transfers=(), sends=()) -> Schedule:
    """A hand-made schedule, of a placement that may be illegal."""
    where = object.__new__(Placement)
    for label, value in dict(problem=problem, device=np.array(device, dtype=np.int32), planned=None).items():
        object.__setattr__(where, label, value)
    times = [np.array(column, dtype=float) for column in (start, finish)]
    return Schedule(
        where, *times, *(np.array([tuple(row) for row in rows], dtype=TRANSFER) for rows in (transfers, sends))
    )


def kinds(made: Schedule, **options) -> set[str]:
    """The kinds of violations found."""
    return {violation.kind for violation in validate(made, **options)}


def changed(made: Schedule, column: str, row: int, value: float, field: str | None = None) -> Schedule:
    """The schedule with one number replaced."""
    values = getattr(made, column).copy()
    (values if field is None else values[field])[row] = value
    return replace(made, **{column: values})


def moved(made: Schedule, op: int, device: int) -> Schedule:
    """The schedule with one op on another device, legal or not."""
    device_of = made.device.copy()
    device_of[op] = device
    return schedule(made.problem, device_of, made.start, made.finish, made.transfers, made.sends)


def simulated(where: Placement, **priorities) -> Schedule:
    """The reference simulator's schedule of a placement, first come, first served."""
    return reference_simulator.simulate(where, Order("fifo", **priorities))


# -------------------------------------------------------------------- one kind at a time, by hand


def test_legal_schedule_has_no_violation():
    """The fork on two devices is legal in all memory models without limits."""
    for memory in MEMORY_MODELS:
        assert validate(fork(memory=memory)) == []


def test_violation_says_what_where_when():
    """A violation carries op and device names, a time, and what was found and expected."""
    (found,) = validate(changed(fork(), "finish", 2, 9.5))
    assert (found.kind, found.op, found.device, found.time) == ("duration", "c", "y", 8.0)
    assert found.detail == "runs for 1.5 s; expected 1"


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize(
    ("column", "field"), [("start", None), ("finish", None), ("transfers", "start"), ("transfers", "finish")]
)
def test_times_are_finite_and_not_negative(column, field, value):
    """NaN, infinite and negative times are reported, for ops and transfers."""
    assert kinds(changed(fork(), column, 0, value, field)) == {"time"}


def test_every_op_has_times():
    """A schedule with an op too few is reported; it raises no index error."""
    assert kinds(replace(fork(), start=np.zeros(3))) == {"time"}


def test_duration_is_compute_over_speed():
    """An op that runs too short or too long is reported."""
    assert kinds(changed(fork(), "finish", 1, 7.5)) == {"duration"}
    assert kinds(fork(cluster=TWO.replace(speed=[1, 2]))) == {"duration"}


def test_measured_time_of_the_name_before_the_type_before_compute():
    """exec is the table's entry for the device's name, else for its type, else compute / speed."""
    nan = np.nan
    table = {"x": [nan, 6, nan], "cpu": [5, 7, nan]}
    graph = OpGraph.from_arrays(["a", "b", "c"], [1, 1, 1], [], time=table)
    problem = Problem(graph, Cluster([1, 1], names=["x", "y"], types=["cpu", "cpu"]))
    on_x = schedule(problem, [0, 0, 0], start=[0, 1, 7], finish=[1, 7, 8])
    on_y = schedule(problem, [1, 1, 1], start=[0, 5, 12], finish=[5, 12, 13])
    assert validate(on_x) == []
    assert validate(on_y) == []
    assert [v.op for v in validate(changed(on_y, "finish", 1, 11))] == ["b"]


def test_rounding_is_forgiven_up_to_a_billionth_of_the_makespan():
    """1e-10 of the makespan early is rounding, 1e-8 is a violation."""
    for share, expected in ((1e-10, set()), (1e-8, {"precedence", "duration"})):
        assert kinds(changed(fork(), "start", 1, 5 - 9 * share)) == expected


def test_ops_run_on_allowed_devices():
    """The graph's constraints, by name, type or host, and the problem's added ones are checked."""
    graph = OpGraph.from_arrays(["a", "b"], [1, 1], [], devices={0: ("cpu",)})
    for problem in (Problem(graph, TWO), Problem(FORK, TWO, allowed={"a": "x"}), Problem(FORK, TWO).pin({"a": "cpu"})):
        n = problem.graph.n_ops
        times = dict(start=np.arange(n) * 10, finish=np.arange(n) * 10 + problem.graph.compute)
        found = validate(schedule(problem, [1] * n, **times))
        assert [(v.kind, v.op, v.device) for v in found] == [("allowed", "a", "y")]


def test_devices_exist():
    """A device number that the cluster lacks is reported; it raises no index error."""
    assert kinds(moved(fork(), 0, 2)) == {"allowed"}
    assert kinds(moved(fork(), 0, -1)) == {"allowed"}
    assert kinds(changed(fork(), "transfers", 0, 7, "destination")) == {"transfer"}
    assert kinds(changed(fork(), "transfers", 0, 7, "tensor")) == {"transfer"}


def test_groups_share_a_device():
    """Groups of the graph and of the problem hold, and are joined by a shared op."""
    graph = OpGraph.from_arrays(["a", "b", "c", "d"], [1, 1, 1, 1], [], groups=[[0, 1]])
    times = dict(start=[0, 1, 2, 3], finish=[1, 2, 3, 4])
    added = Problem(graph, TWO, groups=[["c", "b"]])
    assert validate(schedule(added, [1, 1, 1, 0], **times)) == []
    assert [v.op for v in validate(schedule(added, [0, 0, 1, 0], **times)) if v.kind == "colocation"] == ["c"]
    assert [v.op for v in validate(schedule(added, [1, 0, 0, 0], **times)) if v.kind == "colocation"] == ["b", "c"]
    assert [v.op for v in validate(schedule(Problem(graph, TWO), [0, 1, 1, 0], **times))] == ["b"]


@pytest.mark.parametrize(
    ("start", "overlap"), [(0.0, False), (2.0, False), (1.0, True), (2.0 - 1e-10, False), (1e-10, False), (3.0, False)]
)
def test_zero_time_op_may_touch_a_run_but_not_interrupt_it(start, overlap):
    """z takes no time, on the device where a runs from 0 to 2."""
    made = replace(changed(fork(), "start", 3, start), finish=np.array([2, 8, 9, start]))
    assert kinds(made) == ({"overlap"} if overlap else set())


def test_device_runs_one_op_at_a_time():
    """c begins while b runs; this is found also if a shorter op starts between them."""
    made = replace(fork(), start=np.array([0, 5, 7, 0.0]), finish=np.array([2, 8, 8, 0.0]))
    assert [(v.kind, v.op, v.time) for v in validate(made)] == [("overlap", "c", 7.0)]
    graph = OpGraph.from_arrays(["long", "short", "late"], [9, 1, 1], [])
    nested = schedule(Problem(graph, TWO), [0, 0, 0], start=[0, 2, 5], finish=[9, 3, 6])
    assert [v.op for v in validate(nested)] == ["short", "late"]


def test_op_and_send_do_not_overlap():
    """A Send occupies its device as an op does."""
    assert validate(with_send()) == []
    beside = replace(with_send(), start=np.array([0, 6, 9, 2.0]), finish=np.array([2, 9, 10, 2.0]))
    assert validate(beside) == []
    inside = replace(with_send(), start=np.array([0, 6, 9, 2.5]), finish=np.array([2, 9, 10, 2.5]))
    assert kinds(inside) == {"overlap"}


def with_send() -> Schedule:
    """The fork with a Send of one second between a and the transfer."""
    made = fork(transfer_ops=1)
    return replace(
        made,
        start=np.array([0, 6, 9, 0.0]),
        finish=np.array([2, 9, 10, 0.0]),
        transfers=np.array([(0, 0, 1, 3, 6)], dtype=TRANSFER),
        sends=np.array([(0, 0, 1, 2, 3)], dtype=TRANSFER),
    )


def test_sends_are_checked():
    """A Send exists iff required, belongs to its transfer, has its duration, and runs between producer and transfer."""
    assert kinds(fork(transfer_ops=1)) == {"send"}
    assert kinds(replace(fork(), sends=with_send().sends)) == {"send"}
    assert kinds(changed(with_send(), "sends", 0, 2.5, "finish")) == {"send"}
    assert kinds(changed(with_send(), "sends", 0, 0, "destination")) == {"send"}
    early = np.array([(0, 0, 1, 1, 2)], dtype=TRANSFER)
    assert "send" in kinds(replace(with_send(), sends=early))
    late = np.array([(0, 0, 1, 2.5, 3.5)], dtype=TRANSFER)
    assert kinds(replace(with_send(), sends=late)) == {"send"}


def test_local_inputs_come_first():
    """On one device an op starts after its producers have finished."""
    chain = OpGraph.from_arrays(["a", "b"], [1, 0], [(0, 1)], edge_bytes=[9])
    made = schedule(Problem(chain, TWO), [0, 0], start=[0, 1], finish=[1, 1])
    assert validate(made) == []
    early = schedule(Problem(chain, TWO), [0, 0], start=[0, 0], finish=[1, 0])
    assert kinds(early) == {"precedence"}


def test_remote_inputs_come_first():
    """c begins before the tensor arrives; the transfer begins before a ends."""
    late = replace(fork(), start=np.array([0, 5, 4, 0.0]), finish=np.array([2, 8, 5, 0.0]))
    assert [(v.kind, v.op) for v in validate(late)] == [("precedence", "c")]
    early = replace(fork(), transfers=np.array([(0, 0, 1, 1, 4)], dtype=TRANSFER))
    assert [(v.kind, v.op) for v in validate(early)] == [("precedence", "a")]


def test_one_transfer_per_tensor_and_destination():
    """Missing, doubled, useless and misdirected transfers are each reported."""
    row = (0, 0, 1, 2, 5)
    table = lambda *rows: np.array(list(rows), dtype=TRANSFER)  # noqa: E731
    for rows in (table(), table(row, row), table(row, (0, 0, 0, 2, 2)), table((0, 1, 0, 2, 5)), table((0, 1, 1, 2, 2))):
        assert "transfer" in kinds(replace(fork(), transfers=rows))
    assert [v.detail for v in validate(replace(fork(), transfers=table()))] == ["tensor 0 is not sent to 'b'"]
    useless = schedule(Problem(FORK, TWO), [0, 0, 0, 0], [0, 2, 5, 0], [2, 5, 6, 0], transfers=[row])
    assert kinds(useless) == {"transfer"}


def test_transfer_takes_latency_and_bytes_over_bandwidth():
    """2 bytes take 1 + 2 s; a shorter and a longer one are reported."""
    assert kinds(changed(fork(), "transfers", 0, 4.9, "finish")) == {"transfer time"}
    assert kinds(changed(fork(), "transfers", 0, 2.1, "start")) == {"transfer time"}


CONTENTION = [  # transfer model, duplex, the link of the one transfer, of the other: may they go at once?
    ("parallel", False, (0, 1), (0, 1), True),
    ("sequential", False, (0, 1), (1, 2), False),
    ("sequential", False, (0, 1), (0, 2), False),
    ("sequential", False, (0, 1), (2, 1), False),
    ("sequential", False, (0, 1), (2, 3), True),
    ("sequential", True, (0, 1), (1, 2), True),
    ("sequential", True, (0, 1), (1, 0), True),
    ("sequential", True, (0, 1), (0, 2), False),
    ("sequential", True, (0, 1), (2, 1), False),
    ("channel", False, (0, 1), (0, 1), False),
    ("channel", False, (0, 1), (1, 0), True),
    ("channel", False, (0, 1), (0, 2), True),
]


@pytest.mark.parametrize(("transfers", "duplex", "one", "other", "together"), CONTENTION)
def test_ports_and_channels_carry_one_transfer_at_a_time(transfers, duplex, one, other, together):
    """A port (half duplex: in or out; full: one each) or a channel is occupied for a transfer's whole duration."""
    graph = OpGraph.from_arrays(["p", "q", "P", "Q"], [1, 1, 1, 1], [(0, 2), (1, 3)], edge_bytes=[2, 2])
    problem = Problem(graph, Cluster([1] * 4, bandwidth=1), transfers=transfers, duplex=duplex)
    for begin, expected in ((4, set()), (3, set() if together else {"contention"})):
        rows = [(0, *one, 2, 4), (1, *other, begin, begin + 2)]
        made = schedule(problem, [one[0], other[0], one[1], other[1]], [0, 1, 20, 21], [1, 2, 21, 22], rows)
        assert kinds(made) == expected


@pytest.mark.parametrize(("transfers", "duplex", "one", "other", "together"), CONTENTION)
def test_a_link_is_free_when_the_bytes_have_left_where_the_latency_follows(transfers, duplex, one, other, together):
    """Of 2 s of bytes and 5 of latency, the latency alone may overlap with another transfer."""
    graph = OpGraph.from_arrays(["p", "q", "P", "Q"], [1, 1, 1, 1], [(0, 2), (1, 3)], edge_bytes=[2, 2])
    cluster = Cluster([1] * 4, bandwidth=1, latency=5)
    places = [one[0], other[0], one[1], other[1]]
    problem = Problem(graph, cluster, transfers=transfers, duplex=duplex, latency="follows")
    clash = set() if together else {"contention"}
    short = {"transfer time"}
    for first, second, expected in (((2, 9), (4, 11), set()), ((2, 9), (3, 10), clash), ((2, 4), (9, 16), short)):
        made = schedule(problem, places, [0, 1, 20, 21], [1, 2, 21, 22], [(0, *one, *first), (1, *other, *second)])
        assert kinds(made) == expected


# FORK holds 1 byte for ever and 4 while running per op; a's tensor has 2 bytes. Schedule: a 0-2, transfer 2-5, b 5-8, c 8-9.
MEMORY = [  # model, capacity of x and of y, what must be found: (device, from, bytes short)
    ("none", 1, 1, []),
    ("reserved", 12, 10, []),
    ("reserved", 11, 9, [("x", 0, 1), ("y", 0, 1)]),
    ("edges", 2, 2, []),
    ("edges", 1, 1, [("x", 2, 1), ("y", 5, 1)]),
    ("dynamic", 8, 8, []),
    ("dynamic", 7, 7, [("x", 0, 1), ("y", 5, 1)]),
    ("dynamic", 3, 3, [("x", 0, 5), ("y", 2, 5)]),
]


@pytest.mark.parametrize(("memory", "x", "y", "expected"), MEMORY)
def test_memory_of_each_model(memory, x, y, expected):
    """There is one violation per maximal span over a capacity, equal to the schedule's list; none if memory is not checked."""
    made = fork(memory=memory, cluster=TWO.replace(memory=[x, y]))
    found = validate(made)
    assert [(v.device, v.time, float(v.detail.split()[0])) for v in found if v.kind == "memory"] == expected
    assert kinds(made) <= {"memory"}
    assert kinds(made, memory=False) == set()


def test_spans_are_half_open():
    """Memory freed at an instant can be taken at the same instant: b's 4 temporary bytes end when c's begin."""
    made = fork(memory="dynamic", cluster=TWO.replace(memory=[8, 8]))
    assert validate(made) == []
    assert kinds(changed(changed(made, "start", 2, 7.5), "finish", 2, 8.5)) == {"overlap", "memory"}


def test_oom_of_the_schedule_is_checked():
    """A schedule that lists a shortage too few, too many or with other numbers is reported."""
    made = fork(memory="edges", cluster=TWO.replace(memory=[1, 1]))
    for change in ([0], [0, 1, 1], []):
        lying = replace(made)
        lying.__dict__["oom"] = made.oom[change]
        assert "oom" in kinds(lying)
    for field in ("start", "finish", "bytes", "device"):
        lying = replace(made)
        oom = made.oom.copy()
        oom[field][1] = 0
        lying.__dict__["oom"] = oom
        assert "oom" in kinds(lying)


# -------------------------------------------------------------------- any legal schedule, spoilt


def test_what_the_reference_simulator_makes_is_legal():
    """2,000 random problems have no violation but memory, and exactly the spans of memory's plain definition."""
    for i, problem in enumerate(many(2000, seed=2)):
        pick = Random(i).randint
        priorities = (
            {} if pick(0, 1) else dict(transfer=np.array([float(pick(0, 3)) for _ in range(problem.graph.n_tensors)]))
        )
        made = simulated(placement(pick, problem), **priorities)
        found = validate(made)
        expected = [(problem.cluster.names[d], begin) for d, begin, _, _ in reference_memory.shortages(made)]
        assert [(v.device, v.time) for v in found if v.kind == "memory"] == expected
        assert {v.kind for v in found} <= {"memory"}


LEGAL = dict(memory=["none"], transfer_ops=[0, 1])


@given(placed(**LEGAL), st.data())
def test_op_shifted_earlier_is_caught(where, data):
    """The simulator leaves no device idle that could run an op, so no op can begin earlier."""
    made = simulated(where)
    movable = np.flatnonzero((made.start > 0) & (made.finish > made.start))
    assume(len(movable))
    v = data.draw(st.sampled_from(movable.tolist()))
    shift = made.start[v] * data.draw(st.integers(1, 1000)) / 1000
    start = made.start.copy()
    finish = made.finish.copy()
    start[v] -= shift
    finish[v] -= shift
    assert kinds(replace(made, start=start, finish=finish)) & {"precedence", "overlap"}


@given(placed(**LEGAL), st.data())
def test_op_moved_away_from_its_consumer_is_caught(where, data):
    """If an op moves to another device, its transfer to a consumer on the old device is missing."""
    made = simulated(where)
    graph = where.problem.graph
    local = np.flatnonzero(made.device[graph.producer] == made.device[graph.consumer])
    assume(len(local) and where.problem.cluster.n_devices > 1)
    u = graph.producer[data.draw(st.sampled_from(local.tolist()))]
    others = [d for d in range(where.problem.cluster.n_devices) if d != made.device[u]]
    found = kinds(moved(made, u, data.draw(st.sampled_from(others))))
    assert "transfer" in found


@given(placed(**LEGAL, zero=False), st.data())
def test_spoilt_transfer_is_caught(where, data):
    """A transfer that is left out, doubled, cut short, sent early or too late for its consumer."""
    made = simulated(where)
    rows = made.transfers
    assume(len(rows))
    i = data.draw(st.integers(0, len(rows) - 1))
    left_out = np.delete(np.arange(len(rows)), i)
    doubled = np.append(np.arange(len(rows)), i)
    for order in (left_out, doubled):
        sends = made.sends[order] if len(made.sends) else made.sends
        assert "transfer" in kinds(replace(made, transfers=rows[order], sends=sends))
    half = (rows["finish"][i] - rows["start"][i]) * data.draw(st.integers(1, 1000)) / 2000
    shares = where.problem.transfers == "fair" and where.problem.graph.tensor_bytes[rows["tensor"][i]] > 0
    kind = "contention" if shares else "transfer time"
    assert kind in kinds(changed(made, "transfers", i, rows["finish"][i] - half, "finish"))
    for wait in (made.makespan, -half):
        shifted = rows.copy()
        shifted["start"][i] += wait
        shifted["finish"][i] += wait
        assert kinds(replace(made, transfers=shifted)) & {"precedence", "send", "contention", "time"}


@given(placed(**LEGAL, zero=False, ops=16), st.data())
def test_transfer_that_does_not_wait_for_its_port_is_caught(where, data):
    """A transfer that waited starts when its port or channel is free, so any earlier start is a violation."""
    made = simulated(where)
    rows = made.transfers
    asked = (
        made.sends["finish"] if len(made.sends) else made.finish[where.problem.graph.tensor_producer[rows["tensor"]]]
    )
    waited = np.flatnonzero(rows["start"] > asked)
    assume(len(waited))
    i = data.draw(st.sampled_from(waited.tolist()))
    early = rows.copy()
    early["start"][i] -= (rows["start"][i] - asked[i]) / 1000
    early["finish"][i] -= (rows["start"][i] - asked[i]) / 1000
    assert "contention" in kinds(replace(made, transfers=early))


@given(placed(**LEGAL), st.data())
def test_wrong_duration_is_caught(where, data):
    """An op takes longer or shorter than its time on the device."""
    made = simulated(where)
    v = data.draw(st.integers(0, len(made.start) - 1))
    longer = max(made.makespan, 1.0) * data.draw(st.integers(1, 1000)) / 1000
    assert "duration" in kinds(changed(made, "finish", v, made.finish[v] + longer))


@given(placed(memory=["edges", "reserved", "dynamic"]), st.integers(0, 99))
def test_capacity_below_the_peak_is_caught(where, percent):
    """With a capacity below a device's peak, the violations are the spans of the plain definition."""
    made = simulated(where)
    peaks = [max(size for _, size in reference_memory.curve(made, d)) for d in range(where.problem.cluster.n_devices)]
    assume(max(peaks) > 0)
    tight = where.problem.cluster.replace(memory=[peak * percent / 100 or 1e-3 for peak in peaks])
    problem = where.problem.replace(cluster=tight)
    made = simulated(Placement(problem, where.device))
    assert "memory" in kinds(made)
    expected = [(tight.names[d], begin) for d, begin, _, _ in reference_memory.shortages(made)]
    assert [(v.device, v.time) for v in validate(made)] == expected


@given(placed(**LEGAL), st.data())
def test_broken_group_is_caught(where, data):
    """A member of a group runs on another device than the other members."""
    problem = where.problem
    grouped = [v for v in range(problem.graph.n_ops) if len(problem.members(v)) > 1]
    assume(grouped and problem.cluster.n_devices > 1)
    v = data.draw(st.sampled_from(grouped))
    elsewhere = (where.device[v] + 1) % problem.cluster.n_devices
    assert "colocation" in kinds(moved(simulated(where), v, elsewhere))


@given(placed(**LEGAL), st.data())
def test_forbidden_device_is_caught(where, data):
    """An op runs on a device that its constraints, or its group's, do not allow."""
    problem = where.problem
    forbidden = np.argwhere(~problem.may_run).tolist()
    assume(forbidden)
    v, d = data.draw(st.sampled_from(forbidden))
    assert kinds(moved(simulated(where), v, d)) & {"allowed", "colocation"}


@pytest.mark.parametrize("seed", range(40))
def test_fair_shares_of_any_magnitude_are_legal(seed):
    """Bytes of a slow link are not lost beside those of one that is 10²⁰⁰ times as fast."""
    rng = np.random.default_rng(seed)
    edges = [(i, j) for i in range(10) for j in range(i + 1, 10) if rng.random() < 0.3]
    size = 10 ** rng.uniform(-300, 200, len(edges))
    graph = OpGraph.from_arrays([f"op{i}" for i in range(10)], 10 ** rng.uniform(-300, 200, 10), edges, edge_bytes=size)
    cluster = Cluster(10 ** rng.uniform(-50, 50, 3), bandwidth=10 ** rng.uniform(-100, 100, (3, 3)))
    problem = Problem(graph, cluster, transfers="fair")
    assert validate(simulate(problem, Placement(problem, rng.integers(0, 3, 10)), "fifo")) == []

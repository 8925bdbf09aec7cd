"""What the drawer of the chart says: facts, candidates and chains agree with the library, of ops, gaps, transfers and devices."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import placed

import placelab as pl
from placelab.analysis.idle_time import REASONS, idle_gaps, said_of_gap
from placelab.app.widgets.details import Subject, details_of
from placelab.app.widgets.details_parts import NEWEST, OLDEST
from placelab.app.widgets.gantt_chart import Gantt


@pytest.fixture
def chain() -> pl.Schedule:
    """a on dev0, b on dev1, which waits for 4 bytes at 2 a second; dev2 has nothing to run."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [(0, 1)], edge_bytes=[4.0], kind=["A", "B"])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0, 1.0], bandwidth=2.0), memory="dynamic")
    return pl.simulate(problem, pl.Placement(problem, [0, 1]))


def test_an_op(chain):
    said = details_of(chain, Subject(op=1))
    assert (said["title"], said["note"]) == ("b", "op 2 of 2")
    facts = dict(said["facts"])
    assert facts["kind"] == "B" and facts["device"] == "dev1 (device)" and facts["runs"] == "4 to 7, 3"
    assert facts["memory"] == "4 in" and facts["slack"].startswith("none")
    assert said["bars"] == {
        "head": "why here",
        "rows": [],
        "foot": "the placement recorded no decisions",
        "origin": False,
    }
    rows = said["chain"]["rows"]
    assert [row[0] for row in rows] == ["b", "transfer of a", "a"] and said["chain"]["root"]
    assert [row[3:] for row in rows] == [(4.0, 7.0, 1), (2.0, 4.0, 0), (0.0, 2.0, 0)]


def test_an_op_has_its_scope_and_each_of_its_outputs():
    """The folder part of its name; bytes and readers of each tensor, the largest first, without what only orders ops."""
    names = ["net/in", "net/conv/split", "net/conv/a", "net/conv/b", "out"]
    edges = [(0, 1), (1, 2), (1, 3), (1, 4), (2, 4), (3, 4)]
    graph = pl.OpGraph.from_arrays(
        names,
        [1e9] * 5,
        edges,
        edge_bytes=[8.0, 4e6, 4e6, 1e6, 0.0, 2e3],
        edge_output=[0, 0, 0, 1, 0, 0],
        edge_control=[False, False, False, False, True, False],
        outputs=[(3, 1, 5e2), (3, 2, 5e2)],
    )
    problem = pl.Problem(graph, pl.Cluster([1e9], bandwidth=1e9), memory="dynamic")
    schedule = pl.simulate(problem, pl.Placement(problem, [0] * 5))
    facts = [dict(details_of(schedule, Subject(op=v))["facts"]) for v in range(5)]
    assert [fact.get("scope") for fact in facts] == ["net", "net/conv", "net/conv", "net/conv", None]
    assert [fact.get("outputs") for fact in facts] == [
        "8 B read by 1 op",
        "4 MB read by 2 ops · 1 MB read by 1 op",
        None,
        "2 kB read by 1 op · 2 × 500 B, each read by none",
        None,
    ]


def shaped(shapes, **metadata):
    """``in`` feeds ``conv`` with two of its outputs, ``w`` and ``b`` with one, and ``conv`` ends on another device."""
    graph = pl.OpGraph.from_arrays(
        ["in", "w", "b", "s", "conv", "out"],
        [1.0] * 6,
        [(0, 4), (0, 4), (1, 4), (2, 4), (3, 4), (4, 5)],
        edge_bytes=[24.0, 24.0, 8.0, 2.0, 1.0, 12.0],
        edge_output=[0, 1, 0, 0, 0, 0],
        outputs=[(5, 0, 3.0), (5, 1, 3.0), (5, 2, 4.0)],
        shapes=shapes,
        metadata=metadata,
    )
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    return pl.simulate(problem, pl.Placement(problem, [0, 0, 0, 0, 0, 1]))


def test_an_op_tells_the_shapes_of_what_it_makes_and_reads():
    """Equal ones together; of three inputs with their makers; unknown ones as such; the CSV has those of outputs."""
    shapes = {
        (0, 0): "float32 [2, 3]",
        (0, 1): "float32 [2, 3]",
        (4, 0): "int32 [3]",
        (5, 0): "int8 [3]",
        (5, 1): "int8 [3]",
    }
    schedule = shaped(shapes)
    number = {name: v for v, name in enumerate(schedule.problem.graph.names)}
    said = {name: details_of(schedule, Subject(op=v)) for name, v in number.items()}
    facts = {name: dict(told["facts"]) for name, told in said.items()}
    assert [(facts[name].get("makes"), facts[name].get("reads")) for name in ("in", "w", "conv", "out")] == [
        ("2 × float32 [2, 3]", None),
        ("unknown shape", None),
        ("int32 [3]", "float32 [2, 3] of in · float32 [2, 3] of in · unknown shape of w · 2 more"),
        ("2 × int8 [3] · unknown shape", "int32 [3] of conv"),
    ]
    assert not any("open sizes" in fact for fact in facts.values())
    figures = said["out"]["figures"]
    assert figures[figures.index(("output", 3.0, "")) + 1] == ("shape of output", "int8 [3]", "")
    moved = details_of(schedule, Subject(op=number["conv"], transfer=0))
    assert dict(moved["facts"])["tensor"] == "int32 [3], 12, an output of conv"
    assert ("shape", "int32 [3]", "") in moved["figures"]


def test_without_shapes_nothing_is_said_of_them():
    """No row, of an op or a transfer."""
    schedule = shaped(None)
    conv = schedule.problem.graph.index("conv")
    for subject in (Subject(op=conv), Subject(op=conv, transfer=0)):
        said = details_of(schedule, subject)
        assert not {"makes", "reads", "open sizes"} & dict(said["facts"]).keys()
        assert "shape" not in json.dumps(said)


@pytest.mark.parametrize(
    ("costs", "told"),
    [
        (dict(assumed={"batch": 1, "n\x1b": 8}), "batch taken as 1, n\\x1b taken as 8"),
        (dict(assumed=2, batch=4), "batch taken as 4, the first unknown dimension of 2 outputs"),
        (dict(assumed=0, batch=1), None),
    ],
)
def test_sizes_that_a_file_leaves_open_are_told_beside_shapes(costs, told):
    """A size that was assumed is not the file's."""
    schedule = shaped({(4, 0): "int32 [3]"}, costs=costs)
    conv = schedule.problem.graph.index("conv")
    assert dict(details_of(schedule, Subject(op=conv))["facts"]).get("open sizes") == told
    plain = shaped(None, costs=costs)
    assert "open sizes" not in dict(details_of(plain, Subject(op=conv))["facts"])


def test_links_of_a_chain_begin_at_times_that_are_told_apart():
    """A second, then microseconds: three digits would say the same of all but the first."""
    graph = pl.OpGraph.from_arrays(["a", "b", "c"], [1e12, 5e6, 5e6], [(0, 1), (1, 2)])
    problem = pl.Problem(graph, pl.Cluster([1e12], bandwidth=1e9))
    said = details_of(pl.simulate(problem, pl.Placement(problem, [0, 0, 0])), Subject(op=2))
    assert [row[2] for row in said["chain"]["rows"]] == ["1.00001 s", "1 s", "0 s"]


def test_a_gap_a_transfer_and_a_device(chain):
    gaps = idle_gaps(chain)
    row = int(np.flatnonzero((gaps["device"] == 1) & (gaps["start"] == 2.0))[0])
    gap = details_of(chain, Subject(op=int(gaps["op"][row]), gap=row))
    assert gap["title"] == "dev1 idle" and dict(gap["facts"])["reason"] == "transfer"
    assert [row[0] for row in gap["chain"]["rows"]] == ["transfer of a", "a"]
    assert [(row[1], row[3]) for row in gap["idle"]["rows"]] == [("transfer", "2"), ("upstream", "2")]

    moved = details_of(chain, Subject(op=0, transfer=0))
    assert moved["title"] == "transfer of a" and moved["note"] == "dev0 → dev1"
    facts = dict(moved["facts"])
    assert (facts["on average"], facts["read there by"]) == ("2", "1 op, b first")

    unused = int(np.flatnonzero(gaps["device"] == 2)[0])
    never = details_of(chain, Subject(gap=unused))
    assert never["chain"]["rows"] == [("a", "on dev0", "0", 0.0, 2.0, 0)]

    device = details_of(chain, Subject(lane=1))
    assert device["title"] == "dev1" and dict(device["facts"])["runs"] == "1 op, 3, 43 %"
    assert [row[0] for row in device["chain"]["rows"]] == ["upstream: a", "transfer: a"]
    assert details_of(chain, Subject()) == {} == details_of(chain, Subject(op=9))


def test_a_device_that_was_never_chosen_says_so_and_which_op_is_best_for_it():
    """A click on its name tells the sentence of a click on its gap, and links the op; known or not, as for the gap."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [2.0, 3.0], [(0, 1)], edge_bytes=[4.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0, 1.0], bandwidth=2.0))
    schedule = pl.simulate(problem, pl.Placement(problem, [0, 0]))
    gaps = idle_gaps(schedule)
    for d in (1, 2):
        row = int(np.flatnonzero(gaps["device"] == d)[0])
        said = details_of(schedule, Subject(lane=d))
        assert said["facts"][0] == ("", f"dev{d} was never chosen: the best visit, of a, would cost 2 more")
        assert said["facts"][0][1] == said_of_gap(schedule, row)
        assert said["chain"]["head"] == "the best op for it would cost 2 more"
        assert said["chain"]["rows"] == [("a", "on dev0", "0", 0.0, 2.0, 0)]
    again = pl.simulate(problem, pl.Placement(problem, [0, 0]))
    untold = details_of(again, Subject(lane=1), most=1)
    assert untold["facts"][0] == ("", "dev1 was never chosen") and untold["chain"]["rows"] == []
    left = details_of(again, Subject(lane=1), cancel=lambda: True)
    assert left["facts"][0] == ("", "dev1 was never chosen")
    assert details_of(again, Subject(lane=1))["facts"] == details_of(schedule, Subject(lane=1))["facts"]
    assert not details_of(schedule, Subject(lane=0))["facts"][0][1].startswith("dev0 was never")


def test_figures_are_the_raw_numbers_of_what_is_told(chain):
    """Facts and bars, here plain numbers without a unit; what is not finite, as a memory without limit, is left out."""
    op = details_of(chain, Subject(op=1))["figures"]
    assert op[:6] == [
        ("op", "b", ""),
        ("kind", "B", ""),
        ("device", "dev1", ""),
        ("start", 4.0, ""),
        ("finish", 7.0, ""),
        ("time", 3.0, ""),
    ]
    assert ("inputs", 4.0, "") in op
    device = dict((name, value) for name, value, _ in details_of(chain, Subject(lane=1))["figures"])
    assert (device["ops"], device["time of ops"], device["idle"], device["moved in"]) == (1, 3.0, 4.0, 4.0)
    assert "memory" not in device and device["idle time of dev1 by reason: transfer"] == 2.0
    area = dict((name, value) for name, value, _ in details_of(chain, Subject(area=(1.0, 5.0, 0, 1)))["figures"])
    assert (area["time of ops"], area["idle"], area["moved"], area["idle time by reason: end"]) == (2.0, 6.0, 4.0, 3.0)
    assert area["device time by kind: A"] == 1.0 and area["busy: dev1"] == 1.0
    moved = dict((name, value) for name, value, _ in details_of(chain, Subject(op=0, transfer=0))["figures"])
    assert (moved["output of"], moved["tensor"], moved["time"], moved["in line for the link"]) == ("a", 4.0, 2.0, 0.0)
    problem = pl.datasets.problem("topcuoglu")
    schedule = pl.simulate(problem, pl.place(problem, "heft", trace=True), "planned")
    score = schedule.placement.trace
    told = details_of(schedule, Subject(op=3))["figures"]
    row = int(score.rows(problem)[3])
    found = {name.rpartition(": ")[2]: (value, unit) for name, value, unit in told if name.startswith("why here")}
    assert found == {f"P{d + 1}": (float(score.score[row][d]), "") for d in range(3)}


def test_another_op_ends_what_a_click_on_a_gap_or_a_transfer_has_asked(chain):
    assert details_of(chain, Subject(op=1, transfer=0, lane=2))["title"] == "b"
    assert details_of(chain, Subject(op=0, lane=1))["title"] == "a"


def test_candidates_are_those_that_the_partitioner_compared():
    problem = pl.datasets.problem("topcuoglu")
    schedule = pl.simulate(problem, pl.place(problem, "heft", trace=True), "planned")
    trace = schedule.placement.trace
    for op in range(problem.graph.n_ops):
        bars = details_of(schedule, Subject(op=op))["bars"]
        row = int(trace.rows(problem)[op])
        first, *rest = bars["rows"]
        assert first[0] == schedule.device[op] and first[5] and not any(other[5] for other in rest)
        assert sorted(row[0] for row in bars["rows"]) == [0, 1, 2]
        assert [float(other[3]) for other in bars["rows"]] == [trace.score[row][other[0]] for other in bars["rows"]]
        lengths = [other[2] for other in bars["rows"]]
        assert max(lengths) == 1.0 and min(lengths) > 0  # the origin is below the least


def test_a_long_chain_keeps_its_ends():
    n = 200
    graph = pl.OpGraph.from_arrays([f"op{v}" for v in range(n)], [1.0] * n, [(v, v + 1) for v in range(n - 1)])
    problem = pl.Problem(graph, pl.Cluster([1.0]))
    said = details_of(pl.solve(problem, "heft"), Subject(op=n - 1))["chain"]
    assert len(said["rows"]) == NEWEST + OLDEST and said["left"] == n - NEWEST - OLDEST and said["after"] == OLDEST
    assert said["rows"][0][0] == "op199" and said["rows"][-1][0] == "op0"


@given(placed())
def test_chains_have_no_hole_and_all_of_it_goes_on_the_wire(placement):
    """Each step ends when the one after it begins, the last begins at 0; everything is JSON."""
    problem = placement.problem
    schedule = pl.simulate(problem, placement)
    subjects = [Subject(op=v) for v in range(problem.graph.n_ops)]
    subjects += [Subject(lane=d) for d in range(problem.cluster.n_devices)]
    producer = problem.graph.tensor_producer[schedule.transfers["tensor"]]
    subjects += [Subject(op=int(v), transfer=x) for x, v in enumerate(producer)]
    subjects += [Subject(op=int(gap["op"]), gap=row) for row, gap in enumerate(idle_gaps(schedule))]
    for subject in subjects:
        said = details_of(schedule, subject)
        assert said["title"] and json.dumps(said, allow_nan=False)
        chain = said["chain"]
        if chain["root"] and not chain["left"]:
            ends = [row[3:5] for row in chain["rows"]]
            assert ends[-1][0] == 0.0
            assert all(later[0] == pytest.approx(sooner[1]) for later, sooner in pairwise(ends))
        assert all(isinstance(value, str) or np.isfinite(value) for _, value, _ in said["figures"])
        assert all(0.0 <= row[2] <= 1.0 for key in ("bars", "idle") for row in said.get(key, {"rows": []})["rows"])


def test_the_chart_of_one_schedule_answers_clicks(chain):
    chart = Gantt.of(chain)
    chart.lane = 1
    assert chart.details["title"] == "dev1"
    chart.selection = 1
    assert chart.details["title"] == "b"
    chart.selection = -1
    chart.lane = -1
    assert chart.details == {}


def test_an_area(chain):
    """By hand: from 1 to 5, dev0 runs a for 1, dev1 waits for the transfer from 2 to 4 and runs b for 1; dev2 idles."""
    said = details_of(chain, Subject(area=(1.0, 5.0, 0, 1)))
    assert (said["title"], said["note"], said["area"]) == ("1 to 5 on dev0 to dev1", "4 × 2 devices", True)
    facts = dict(said["facts"])
    assert facts["ops"] == "2, 2, 25 %" and facts["idle"] == "6, 75 %"
    assert facts["moved"] == "4 in 1 transfer, each counted whole"
    assert facts["critical path"] == "op 2 · transfer 2"
    assert facts["dev1"] == "25 % busy · 50 % transfer · 25 % upstream"
    assert [(row[1], row[3], row[4]) for row in said["bars"]["rows"]] == [("A", "1", "1 op"), ("B", "1", "1 op")]
    reasons = [(row[1], row[3], row[4]) for row in said["idle"]["rows"]]
    assert reasons == [
        ("end", "3", "38 % · 1 gap"),
        ("transfer", "2", "25 % · 1 gap"),
        ("upstream", "1", "12 % · 1 gap"),
    ]
    assert said["chain"]["rows"][0][3:5] == (2.0, 7.0)
    assert not details_of(chain, Subject(op=0, area=(1.0, 5.0, 0, 1))).get("area")


@given(placed(), st.floats(0.01, 1.0))
def test_an_area_has_its_idle_seconds_by_reason(placement, part):
    """Over all devices, the reasons are those of the library's gaps, cut at the end of the area."""
    schedule = pl.simulate(placement.problem, placement)
    ended = part * schedule.makespan
    n = placement.problem.cluster.n_devices
    said = details_of(schedule, Subject(area=(0.0, ended, *range(n))))
    gaps = pl.idle_reasons(schedule)
    lasted = (gaps["finish"].clip(upper=ended) - gaps["start"]).clip(lower=0.0).groupby(gaps["reason"]).sum()
    time = placement.problem.cluster.units.time
    assert {row[1]: row[3] for row in said["idle"]["rows"]} == {r: time(s) for r, s in lasted.items() if s > 0}
    assert all(REASONS[row[0]] == row[1] for row in said["idle"]["rows"])


@given(placed(), st.floats(0.01, 1.0))
def test_an_area_has_all_seconds_of_its_devices(placement, part):
    """Busy and idle shares make up the whole span."""
    schedule = pl.simulate(placement.problem, placement)
    if not schedule.makespan:
        return
    for d in range(schedule.problem.cluster.n_devices):
        facts = dict(details_of(schedule, Subject(area=(0.0, part * schedule.makespan, d, d)))["facts"])
        parts = [facts.get(name, "0 %").rpartition(", ")[2] for name in ("ops", "Send ops", "idle")]
        texts = [part.removesuffix(" %").replace("< ", "") for part in parts]
        assert abs(sum(map(float, texts)) - 100) <= 1.6, facts  # whole percents


def test_a_link_and_a_speed_that_were_chosen(chain):
    value = {"kind": "bandwidth", "label": "bandwidth inside a", "pairs": [[0, 1], [1, 0], [0, 9]]}
    said = details_of(chain, Subject(op=1, value=value))  # whatever was clicked before
    assert (said["title"], said["note"], said["over"]) == ("bandwidth inside a", "2 directed pairs", True)
    assert dict(said["facts"]) == {
        "carries": "4 in 1 transfer",
        "they take": "2",
        "in line for it": "nothing waits",
        "critical path": "2 of it, 29 %, in 1 transfer",
        "dev0 → dev1": "4, 2",
    }
    assert said["chain"]["rows"] == [("output of a", "2 · 4 · dev0 → dev1", "2", 2.0, 4.0, 0)]
    back = details_of(chain, Subject(value=value | {"pairs": [[1, 0]]}))
    assert dict(back["facts"]) == {"carries": "0 in 0 transfers", "critical path": "nothing of it"}
    speed = {"kind": "speed", "label": "speed of dev1", "device": 1}
    assert details_of(chain, Subject(value=speed))["title"] == "speed of dev1"
    assert details_of(chain, Subject(value=speed | {"device": 7})) == {}


@given(placed())
def test_links_carry_what_the_schedule_moves(placement):
    """The links of all pairs together: every byte, every second, and a step of the critical path for each transfer on it."""
    schedule = pl.simulate(placement.problem, placement)
    units = placement.problem.cluster.units
    n = placement.problem.cluster.n_devices
    value = {"kind": "latency", "label": "all", "pairs": [[i, j] for i in range(n) for j in range(n) if i != j]}
    facts = dict(details_of(schedule, Subject(value=value))["facts"])
    moved = schedule.transfers
    size = units.amount(float(placement.problem.graph.tensor_bytes[moved["tensor"]].sum()), "B")
    assert facts["carries"].startswith(f"{size} in {len(moved):,} transfer")
    if len(moved):
        assert facts["they take"] == units.time(float((moved["finish"] - moved["start"]).sum()))
    if len(schedule.sends) or (schedule.finish == schedule.makespan).sum() > 1:
        return  # Send ops have the transfer's name on the path, too; and one of two that end last is on it
    on_path = sum(row[0].startswith("transfer of") for row in critical_rows(schedule))
    assert on_path == 0 or facts["critical path"].endswith(f"in {on_path} transfer{'s' * (on_path != 1)}")


def critical_rows(schedule: pl.Schedule) -> list:
    """The steps of the critical path that take time, as the drawer tells those of the op that ends last."""
    return details_of(schedule, Subject(op=int(schedule.finish.argmax())))["chain"]["rows"]

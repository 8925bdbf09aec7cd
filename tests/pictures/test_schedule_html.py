"""A schedule and a placement at the end of a cell: a chart and a table that say what the library says, safely and briefly."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import HOSTILE, cells, find, html_of, read, words

import placelab as pl
from placelab.base.units import percent
from placelab.pictures.schedule_chart import PIXELS, covered, gantt
from placelab.pictures.style import CRITICAL, PALETTE
from placelab.schedule.critical_steps import STEP
from placelab.schedule.schedule import TRANSFER, Schedule, busy_time

NONE = np.empty(0, TRANSFER)
NO_STEPS = np.empty(0, STEP)


def by_hand(kinds, device, start, took, names=None, op_names=None):
    """A schedule of independent ops."""
    n, names = len(start), names or [f"dev{i}" for i in range(max(device) + 1)]
    graph = pl.OpGraph.from_arrays(op_names or [f"op{v}" for v in range(n)], took, [], kind=kinds)
    placement = pl.Placement(pl.Problem(graph, pl.Cluster([1e6] * len(names), names=names)), np.array(device))
    return Schedule(placement, np.array(start), np.array(start) + np.array(took), NONE, NONE)


def scattered(n_ops, devices, names=None):
    """A schedule as hard to draw as can be: short ops of all kinds anywhere."""
    rng = np.random.default_rng(0)
    kinds = [f"kind{i}" for i in rng.integers(0, 12, n_ops)]
    device = np.append(rng.integers(0, devices, n_ops - 1), devices - 1)
    return by_hand(kinds, device, rng.uniform(0, 100, n_ops), rng.uniform(0, 0.2, n_ops), names)


def drawn(schedule):
    """(colour, column, lane's y, length) of each bar, in pixels; those of the critical path have its colour."""
    found = []
    for group in (element for element in read(schedule).iter() if "scale" in element.get("transform", "")):
        scale = float(re.search(r"scale\((\S+) 1\)", group.get("transform"))[1])
        for path in find(group, "path"):
            x = y = 0
            for command, a, b, length in re.findall(r"([mM])(-?\d+) (\d+)h(\d+)", path.get("d")):
                x, y = (int(a), int(b)) if command == "M" else (x + int(a), y)
                found.append((path.get("stroke"), x * scale, y, int(length) * scale))
                x += int(length)
    return found


def legend_of(schedule):
    """Texts of the legend in a cell, in their order."""
    return [item.strip() for item in find(read(schedule), "div")[-1].itertext() if item.strip()]


def test_the_chart_of_ten_tasks():
    """Topcuoglu's schedule, bar by bar: a seam of a pixel keeps each named task from the next one of its kind."""
    schedule = pl.solve(pl.datasets.problem("topcuoglu"), "heft", "planned")
    second = PIXELS / 80
    third = [bar for bar in drawn(schedule) if bar[0] == PALETTE[0] and bar[2] == 52]
    spans = [(0, 9), (9, 28), (28, 38), (38, 49)]
    assert third == [(PALETTE[0], start * second, 52, (finish - start) * second - 1) for start, finish in spans]
    root = read(schedule)
    names = {text.text: float(text.get("x")) for text in find(root, "text") if text.text.startswith("T")}
    left = min(float(rect.get("x")) for rect in find(root, "rect"))
    assert names == {f"T{i + 1}": left + start * second + 3 for i, start in enumerate(schedule.start.tolist())}
    steps = pl.critical_path(schedule).query("kind == 'op'")
    red = sum(length for colour, *_, length in drawn(schedule) if colour == CRITICAL)
    assert red == pytest.approx((steps.finish - steps.start).sum() * PIXELS / 80, abs=len(steps))
    assert "makespan 80 ·" in words(root)


def test_the_legend_has_only_what_is_drawn():
    """Neither paleness, nor merged ops, nor a kind whose ops are nowhere the most, nor a critical path that is left out."""
    schedule = pl.solve(pl.datasets.problem("topcuoglu"), "heft", "planned")
    assert legend_of(schedule) == ["op", "critical path"]
    took = np.append([1e6], np.tile([2.0, 1.0], 50))
    rare = by_hand(["wide", *["most", "least"] * 50], [0] * 101, np.cumsum(took) - took, took)
    assert legend_of(rare) == ["wide", "most", "critical path", "drawn together: 100 ops narrower than ½ px"]
    part = gantt(rare, NO_STEPS, drawn=np.arange(101) == 0)
    assert [words for *_, words in part.key] == ["wide"]


def test_bars_that_can_be_seen_are_apart_and_the_others_counted():
    """Ops of half a pixel are bars of their own; a thousandth narrower they are columns, whose number the legend has."""
    n = 2 * PIXELS
    for width, bars in ((0.5, n), (0.499, 1)):
        start = np.arange(n) / 2
        schedule = by_hand("k", [0] * n, start, np.append([width] * (n - 1), PIXELS - start[-1]))
        assert len([bar for bar in drawn(schedule) if bar[0] == PALETTE[0] and bar[3] < 1]) == bars
        said = f"drawn together: {n - 1:,} ops narrower than ½ px"
        assert (said in legend_of(schedule)) == (bars == 1)


def test_a_name_keeps_its_end_and_stays_on_its_bar():
    """Whole, then without the scopes before its last parts, then the last part without its middle; none on a narrow bar."""
    name = "model/encoder/block_7/attention/MatMulAndAdd"
    expected = {
        400: name,
        250: "…/block_7/attention/MatMulAndAdd",
        100: "MatMulAndAdd",
        70: "Mat…dAdd",
        30: None,
    }
    for width, shown in expected.items():
        schedule = by_hand("k", [0, 0], [0.0, width], [width, PIXELS - width], op_names=[name, "other"])
        found = [text.text for text in find(read(schedule), "text") if text.text[0] in "mM…"]
        assert found == ([shown] if shown else []), width


@pytest.mark.parametrize("transfer_ops", [0, 5])
def test_lanes_tell_the_busy_time_of_the_library(transfer_ops):
    """Each lane's title has the device's share of busy time, Sends included, and its ops; the heading has the mean."""
    cluster = pl.Cluster.uniform(3, speed=1e3, bandwidth=1e4, latency=1e-4)
    problem = pl.Problem(pl.generators.stencil(6, 6, seed=1), cluster, transfer_ops=transfer_ops)
    schedule = pl.simulate(problem, pl.place(problem, "round-robin"), "fifo")
    root = read(schedule)
    share = busy_time(schedule) / schedule.makespan
    assert share.mean() == pytest.approx(pl.metrics(schedule)["utilisation"])
    ops = np.bincount(schedule.device)
    titles = [title.text for title in find(root, "title")]
    assert [title.partition(" ops, ")[0] for title in titles] == [
        f"{name}: busy {percent(share[d])}, {ops[d]}" for d, name in enumerate(cluster.names)
    ]
    assert f"devices busy {percent(pl.metrics(schedule)['utilisation'])}" in words(root)
    assert ("Send" in words(root)) == bool(transfer_ops)
    bars = [length for colour, *_, length in drawn(schedule) if colour != CRITICAL]
    assert sum(bars) + len(bars) >= PIXELS * share.sum() >= sum(bars) - len(bars)  # with a seam of at most a pixel each


spans = st.lists(st.tuples(st.floats(0, 8), st.floats(0, 8), st.integers(0, 2)), max_size=20)


@given(spans, st.integers(1, 9))
def test_columns_are_covered_by_what_overlaps_them(found, columns):
    """Against the overlap of each span with each column, one by one."""
    start, finish = np.array([[min(a, b), max(a, b)] for a, b, _ in found]).reshape(-1, 2).T
    row = np.array([r for *_, r in found], int)
    edges = np.linspace(0, 8, columns + 1)
    expected = np.zeros((3, columns))
    for a, b, r in zip(start, finish, row, strict=True):
        expected[r] += np.maximum(np.minimum(b, edges[1:]) - np.maximum(a, edges[:-1]), 0) * columns / 8
    np.testing.assert_allclose(covered(start, finish, row, 3, 8.0, columns), expected, atol=1e-9)


def test_a_column_has_the_colour_of_what_takes_most_of_it():
    """Two kinds take turns of a thousandth: the one with two thirds of the time wins all columns."""
    turns = 3000
    took = np.tile([2.0, 1.0], turns)
    schedule = by_hand(["most", "least"] * turns, [0] * 2 * turns, np.cumsum(took) - took, took)
    assert [bar for bar in drawn(schedule) if bar[0] != CRITICAL] == [(PALETTE[0], 0, 0, PIXELS)]


def test_a_column_that_is_mostly_idle_is_pale():
    """Many short ops with long gaps are no solid bar, and each op alone in its column can be seen."""
    schedule = by_hand("k", [0] * 5000, np.arange(5000.0), [0.1] * 5000)
    bars = [path for path in find(read(schedule), "path") if path.get("stroke") == PALETTE[0]]
    assert [path.get("stroke-opacity") for path in bars] == [".45"]
    alone = by_hand("k", [0, 0], [0.0, 1e6], [1e-3, 1e6])
    assert (PALETTE[0], 0, 0, 1) in drawn(alone)


@pytest.mark.parametrize(("n_ops", "devices"), [(20_000, 1), (20_000, 4), (20_000, 50), (20_000, 200), (20_000, 900)])
def test_a_picture_is_small(n_ops, devices):
    """At most 100 KB whatever the schedule; more than 200 devices share lanes."""
    schedule = scattered(n_ops, devices)
    root = read(schedule)
    assert len(find(root, "title")) == min(devices, 200)
    assert len({y for _, _, y, _ in drawn(schedule)}) == min(devices, 200)
    read(schedule.placement)


@pytest.mark.parametrize("devices", [8, 200])
def test_names_of_strangers_are_text(devices):
    """Names of devices, hosts, kinds, strategies and graphs come out as text, cut where long; see :func:`pictures.read`."""
    names = [f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(devices)]
    schedule = scattered(5000, devices, names)
    graph = pl.OpGraph.from_arrays(
        [f"{HOSTILE[v % 8]}{v}" for v in range(5000)],
        1.0,
        [],
        kind=[HOSTILE[v % 8] for v in range(5000)],
        metadata={"name": HOSTILE[0]},
    )
    problem = pl.Problem(graph, schedule.problem.cluster)
    placement = pl.Placement(problem, schedule.device, partitioner=HOSTILE[1], notes=HOSTILE)
    schedule = replace(schedule, placement=placement, scheduler=HOSTILE[2])
    assert "<script>alert(1)</script>" in words(read(schedule))
    assert HOSTILE[1] in words(read(placement))
    assert "mathjax_ignore" in read(schedule).get("class")


def test_nothing_takes_time():
    """A makespan of 0: every op is at 0, no share is known, nothing divides by zero."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [0.0, 0.0], [(0, 1)])
    schedule = pl.solve(pl.Problem(graph, pl.Cluster.uniform(2)), "heft", "planned")
    assert "makespan 0 s" in words(read(schedule))
    assert "0 s" in [text.text for text in find(read(schedule), "text")]
    read(schedule.placement)


@pytest.mark.parametrize("makespan", [1e-12, 3e-7, 0.19, 0.2, 1.0, 59.9, 1e9])
def test_the_axis_has_round_times_from_zero_on(makespan):
    """Four to eleven of them, all in one unit."""
    root = read(by_hand("", [0], [0.0], [makespan]))
    times = [text.text for text in find(root, "text") if text.get("text-anchor") == "middle"]
    assert 4 <= len(times) <= 11
    assert times[0].startswith("0 ")
    assert len({time.split()[1] for time in times}) == 1


def test_memory_in_the_heading():
    """Nothing under model none; against capacity where there is one; the devices that are short of it."""
    graph = pl.OpGraph.from_arrays(["a", "b"], [1.0, 1.0], [(0, 1)], edge_bytes=[4.0], persistent=[3e9, 1e9])

    def heading(capacity, **rules):
        problem = pl.Problem(graph, pl.Cluster([1e6], memory=capacity, names=["<gpu>"]), **rules)
        return words(read(pl.simulate(problem, pl.Placement(problem, [0] * 2), "fifo")))

    assert "memory" not in heading(None)
    assert "peak memory 4 GB" in heading(None, memory="dynamic")
    assert "peak memory 4 GB of" not in heading(None, memory="dynamic")
    assert "peak memory 4 GB of 16 GB" in heading(16e9)
    assert "out of memory: <gpu>" in heading(2e9)


def test_the_same_schedule_shows_the_same():
    """Notebooks compare outputs: a problem made again gives the same text to the last byte."""
    shown = []
    for _ in range(2):
        problem = pl.Problem(pl.generators.layered(300, seed=1), pl.Cluster.uniform(3))
        schedule = pl.solve(problem, "heft", "planned")
        shown.append((html_of(schedule), html_of(schedule.placement)))
    assert shown[0] == shown[1]


def test_a_placement_is_a_table_of_its_devices():
    """Ops, operations, seconds and bytes of each device, and what crosses between them."""
    graph = pl.OpGraph.from_arrays(
        ["a", "b", "c"],
        [2e9, 4e9, 2e9],
        [(0, 1), (0, 2)],
        edge_bytes=[5e6, 5e6],
        edge_output=[0, 0],
        persistent=[1e6, 0, 2e6],
    )
    problem = pl.Problem(graph, pl.Cluster([1e9, 2e9], memory=4e6, bandwidth=1e9, names=["slow", "fast"]))
    root = read(pl.Placement(problem, [0, 1, 1]))
    assert cells(root)[1:] == [
        ["slow", "1", "2 GFLOP", "2 s", "40 %", "1 MB (25 % of 4 MB)"],
        ["fast", "2", "6 GFLOP", "3 s", "60 %", "2 MB (50 % of 4 MB)"],
    ]
    assert "by hand · 1 transfer, 5 MB" in words(root)


def test_a_proof_is_told():
    """An optimum says so; a bound says how far the schedule may be from the optimum."""
    problem = pl.datasets.problem("topcuoglu")
    placement = replace(pl.place(problem, "heft"), bound=64.0)
    assert "at least 64 proven" in words(read(placement))
    assert "at most 25 % above the optimum" in words(read(pl.simulate(problem, placement, "planned")))
    assert "proven optimal" in words(read(replace(placement, bound=80.0)))
    assert "expects 80 ·" in words(read(placement))

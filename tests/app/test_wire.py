"""What the browser is sent is what the schedule holds, at single precision, in the layout that decode.ts reads."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import placelab as pl
from placelab.analysis.explanation import critical_steps
from placelab.analysis.idle_time import idle_gaps
from placelab.app.widgets import gantt_wire as wire
from placelab.pictures import style

READER = Path(__file__).parents[2] / "widgets" / "shared" / "reader.ts"
PALETTE = Path(__file__).parents[2] / "widgets" / "shared" / "palette.ts"
HEADER = ("version", "ops", "transfers", "sends", "devices", "critical", "idle")


@pytest.fixture(params=[0, 5], ids=["transfers", "sends"])
def schedule(request):
    """A stencil on three devices, so that there are transfers, gaps and (with transfer ops) Sends."""
    cluster = pl.Cluster.uniform(3, speed=1e3, bandwidth=1e4, latency=1e-4)
    problem = pl.Problem(pl.generators.stencil(6, 6, seed=1), cluster, transfers="channel", transfer_ops=request.param)
    return pl.simulate(problem, pl.place(problem, "round-robin"), "fifo")


def unpack(data):
    """A plain reader of the wire format, by its documentation."""
    header = dict(zip(HEADER, np.frombuffer(data, "<u4", 7).tolist(), strict=True))
    at = 32

    def take(dtype, n):
        nonlocal at
        column = np.frombuffer(data, dtype, n, at)
        at += -(-column.nbytes // 8) * 8
        return column

    tables = {
        "ops": ("start f4", "duration f4", "device u2"),
        "transfers": ("delay f4", "duration f4", "source u2", "destination u2", "producer u4"),
        "sends": ("start f4", "duration f4", "device u2", "transfer u4"),
        "critical": ("kind u1", "row u4", "start f4", "duration f4"),
        "idle": ("device u2", "start f4", "duration f4", "reason u1", "op u4"),
    }
    makespan = take("<f8", 1)[0]
    columns = {
        table: {name: take("<" + dtype, header[table]) for name, dtype in map(str.split, names)}
        for table, names in tables.items()
    }
    assert at == len(data)
    return header, makespan, columns


def test_columns_hold_the_schedule(schedule):
    """Ops, transfers and Sends arrive with their times and places; the makespan exactly."""
    header, makespan, columns = unpack(wire.pack_schedule(schedule))
    assert header["version"] == wire.VERSION and header["devices"] == 3
    assert makespan == schedule.makespan
    np.testing.assert_array_equal(columns["ops"]["device"], schedule.device)
    np.testing.assert_allclose(columns["ops"]["start"], schedule.start, rtol=1e-6)
    np.testing.assert_allclose(columns["ops"]["duration"], schedule.finish - schedule.start, rtol=1e-6)
    moved = schedule.transfers
    np.testing.assert_array_equal(columns["transfers"]["source"], moved["source"])
    np.testing.assert_array_equal(columns["transfers"]["destination"], moved["destination"])
    producer = columns["transfers"]["producer"]
    np.testing.assert_array_equal(producer, schedule.problem.graph.tensor_producer[moved["tensor"]])
    began = schedule.finish[producer] + columns["transfers"]["delay"]
    np.testing.assert_allclose(began, moved["start"], rtol=1e-6)
    assert header["sends"] == len(schedule.sends) == (len(moved) if schedule.problem.transfer_ops else 0)


def test_critical_path_and_gaps_are_those_of_explain(schedule):
    """Rows of the two arrays, a Send apart from the transfer it feeds; nothing where they are not asked for."""
    _, _, columns = unpack(wire.pack_schedule(schedule))
    steps = critical_steps(schedule)
    gaps = idle_gaps(schedule)
    np.testing.assert_array_equal(columns["critical"]["row"], steps["row"])
    assert set(columns["critical"]["kind"]) <= {0, 1, 2} or len(schedule.sends)
    np.testing.assert_array_equal(columns["idle"]["reason"], gaps["reason"])
    np.testing.assert_array_equal(columns["idle"]["op"].astype(np.int32), gaps["op"])
    header, _, _ = unpack(wire.pack_schedule(schedule, critical=False, idle=False))
    assert header["critical"] == header["idle"] == 0


def test_same_schedule_same_bytes(schedule):
    """What is sent depends on the schedule alone."""
    assert wire.pack_schedule(schedule) == wire.pack_schedule(schedule)


def test_no_time_is_negative_zero(schedule):
    """The browser sorts times by their bits, in which -0.0 is larger than everything."""
    _, _, columns = unpack(wire.pack_schedule(schedule))
    assert not np.signbit(columns["ops"]["start"]).any()


def unpack_memory(data):
    """A plain reader of the memory message: capacities, peaks, a curve (time, bytes) per device, spans out of memory."""
    version, k, n, short = np.frombuffer(data, "<u4", 4)
    assert version == wire.VERSION
    at = 16

    def take(dtype, n):
        nonlocal at
        column = np.frombuffer(data, dtype, n, at)
        at += -(-column.nbytes // 8) * 8
        return column

    capacity = take("<f4", k)
    peak = take("<f4", k)
    first = take("<u4", k)
    time = np.cumsum(take("<u4", n), dtype="<u4").view("<f4")
    level = np.cumsum(take("<u2", n), dtype="<u2") / wire.FULL
    ends = [*first[1:], n]
    curves = [(time[a:b], level[a:b] * p) for a, b, p in zip(first, ends, peak, strict=True)]
    spans = [take("<u2", short), take("<f4", short), take("<f4", short), take("<f4", short)]
    assert at == len(data)
    return capacity, peak, curves, spans


@pytest.fixture
def tight():
    """A stencil on two devices with little memory and one with plenty; placed without asking, so that some is missing."""
    cluster = pl.Cluster.uniform(3, speed=1e3, bandwidth=1e4, latency=1e-4).replace(memory=[5e6, 12e6, np.inf])
    return run(pl.Problem(pl.generators.stencil(8, 8, seed=1), cluster, memory="dynamic"))


def run(problem):
    """Ops on the devices in turn, whatever fits."""
    return pl.simulate(problem, pl.Placement(problem, np.arange(problem.graph.n_ops) % 3), "fifo")


def test_memory_is_that_of_the_schedule(tight):
    """Capacity, peak, every step of every curve and every span out of memory arrive at the precision of the message."""
    capacity, peak, curves, (device, start, duration, short) = unpack_memory(wire.pack_memory(tight))
    np.testing.assert_array_equal(capacity, tight.problem.cluster.memory.astype("f4"))
    np.testing.assert_allclose(peak, tight.peak_memory, rtol=1e-6)
    for d, (time, size) in enumerate(curves):
        whole_time, whole_size = tight.memory(d)
        at = np.searchsorted(time, whole_time.astype("f4"), side="right") - 1
        np.testing.assert_allclose(size[at], whole_size, atol=peak[d] / wire.FULL)
        assert size.max() == peak[d]
    assert len(tight.oom)
    np.testing.assert_array_equal(device, tight.oom["device"])
    np.testing.assert_allclose(start + duration, tight.oom["finish"], rtol=1e-6)
    np.testing.assert_allclose(short, tight.oom["bytes"], rtol=1e-6)


def test_fewer_points_leave_out_steps_but_not_the_peak(tight):
    """What is left out is less than a 16th of the peak."""
    whole, coarse = (unpack_memory(wire.pack_memory(tight, most=most)) for most in (np.inf, 60))
    for (all_times, all_sizes), (time, size), peak in zip(whole[2], coarse[2], whole[1], strict=True):
        assert len(time) < len(all_times) and size.max() == peak
        held = size[np.searchsorted(time, all_times, side="right") - 1]
        assert (abs(held - all_sizes) <= peak / 16).all()


def test_memory_that_is_not_shown_is_not_sent(tight):
    """Without curves the shortage still is; where nothing counts memory, nothing is worked out and nothing is unlimited."""
    _, peak, curves, (device, *_) = unpack_memory(wire.pack_memory(tight, curves=False))
    assert len(device) == len(tight.oom) and not sum(len(time) for time, _ in curves)
    np.testing.assert_allclose(peak, tight.peak_memory, rtol=1e-6)
    free = run(tight.problem.replace(memory="none"))
    capacity, peak, _, (device, *_) = unpack_memory(wire.pack_memory(free, curves=False))
    assert np.isinf(capacity).all() and np.isnan(peak).all() and not len(device)
    assert "_curves" not in free.__dict__
    capacity, peak, _, _ = unpack_memory(wire.pack_memory(free))
    assert np.isinf(capacity).all() and (peak > 0).all()


def test_names_survive_whatever_they_hold():
    """Unicode arrives; a newline, which would shift all names behind it, becomes a space."""
    names = np.array(["a/b", "µ → λ", "two\nlines", "</script>"], dtype=object)
    assert wire.pack_names(names).decode().split("\n") == ["a/b", "µ → λ", "two lines", "</script>"]


def graph_of(kinds, compute):
    names = [f"op{i}" for i in range(len(kinds))]
    return pl.OpGraph.from_arrays(names, compute, [], kind=kinds)


def test_the_most_expensive_kinds_get_colours_of_their_own():
    """Seven kinds by compute, the rest and the unknown share the last colour."""
    kinds = [f"k{i}" for i in range(9)] + [""]
    colours, names = wire.pack_kinds(graph_of(kinds, [*range(1, 10), 99.0]))
    assert list(colours) == [7, 7, 6, 5, 4, 3, 2, 1, 0, 7]
    assert names == ["k8", "k7", "k6", "k5", "k4", "k3", "k2", "other"]


def test_a_graph_without_kinds_has_one_colour():
    """And its legend says what the bars are."""
    assert wire.pack_kinds(graph_of(["", ""], [1.0, 2.0])) == (b"\0\0", ["op"])


def test_both_sides_agree_on_version_and_colours():
    """The constants that Python and TypeScript each write down are the same."""
    assert int(re.search(r"VERSION = (\d+)", READER.read_text())[1]) == wire.VERSION
    assert re.findall(r'"(#[0-9A-F]{6})"', PALETTE.read_text().partition("as const")[0]) == list(style.PALETTE)

"""An exported page holds the schedule safely; an exported trace holds the same for Perfetto."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import struct
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest

import placelab as pl
from placelab.app import export
from placelab.app.widgets.gantt_wire import pack_schedule
from placelab.app.widgets.live_page import pack_problem
from placelab.base.files import save
from placelab.formats.exports import trace_events

HOSTILE = "</script><script>alert(1)</script>\"'&\u2028"


@pytest.fixture
def schedule():
    """A chain over two devices whose first op has a hostile name."""
    graph = pl.OpGraph.from_arrays([HOSTILE, "b", "c"], [2.0, 3.0, 1.0], [(0, 1), (0, 2)], edge_bytes=[4.0, 4.0])
    problem = pl.Problem(graph, pl.Cluster([1.0, 1.0], bandwidth=2.0))
    return pl.simulate(problem, pl.Placement(problem, [0, 1, 0]), "fifo")


def packed(page: str) -> bytes:
    """The gzip file in a page."""
    block = re.search(r'<script type="text/plain" id="placelab-schedule">([A-Za-z0-9+/=]*)</script>', page)[1]
    return base64.b64decode(block)


def payload(page: str) -> tuple[dict, dict[str, bytes]]:
    """The header and the buffers of a page, as player.ts reads them."""
    data = gzip.decompress(packed(page))
    (length,) = struct.unpack_from("<I", data)
    header = json.loads(data[4 : 4 + length])
    at = 4 + length
    buffers = {}
    for name, size in header["buffers"]:
        buffers[name], at = data[at : at + size], at + size
    assert at == len(data)
    return header["traits"], buffers


def test_page_holds_the_schedule(schedule, tmp_path):
    """The payload equals the widget's traits."""
    numbers = [{"key": "makespan", "label": "makespan", "value": "7 s"}]
    page = export.html(schedule, tmp_path / "page.html", numbers=numbers, live=False).read_text(encoding="utf-8")
    traits, buffers = payload(page)
    assert traits["devices"] == ["dev0", "dev1"] and traits["numbers"] == numbers and traits["selection"] == -1
    assert buffers["schedule"] == pack_schedule(schedule)
    assert buffers["names"].decode().split("\n")[0] == HOSTILE


@pytest.mark.parametrize("live", [True, False])
def test_page_runs_and_fetches_nothing_but_its_own_code(schedule, tmp_path, live):
    """The policy has the hashes of what unpacks the code and of the code, and allows no other source."""
    page = export.html(schedule, tmp_path / "page.html", live=live).read_text(encoding="utf-8")
    (unpack,) = re.findall(r'<script type="module" nonce="[^"]+">(.*?)</script>', page, re.DOTALL)
    code = gzip.decompress(base64.b64decode(re.search(r'id="placelab-code">([A-Za-z0-9+/=]*)</script>', page)[1]))
    digests = [base64.b64encode(hashlib.sha256(text).digest()).decode() for text in (unpack.encode(), code)]
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "script-src " + " ".join(f"'sha256-{digest}'" for digest in digests) + "; " in policy
    assert "unsafe" not in policy and "http" not in policy and "alert(1)</script>" not in page
    assert page.count("<script") == 3 and f'<body class="{"live" if live else "plays"}">' in page


def test_a_page_that_recomputes_has_the_data_of_one_that_plays(schedule, tmp_path):
    """Those of the chart but the schedule, which it computes from the problem; and `live` is a truth value or None."""
    page = export.html(schedule, tmp_path / "live.html", live=True).read_text(encoding="utf-8")
    still = export.html(schedule, tmp_path / "still.html", live=False).read_text(encoding="utf-8")
    (_, mine), (plain, whole) = payload(page), payload(still)
    assert "live" not in plain and "problem" not in whole and whole["schedule"] == pack_schedule(schedule)
    assert mine["schedule"] == mine["memory"] == b"" and mine["problem"] == pack_problem(schedule)
    assert mine["names"] == whole["names"] and mine["kinds"] == whole["kinds"]
    with pytest.raises(pl.UnsupportedError, match="live is 3; expected True or False"):
        export.html(schedule, tmp_path / "no.html", live=3)


def test_a_page_recomputes_by_default_where_it_can_and_is_small(schedule, tmp_path, monkeypatch):
    """Up to 20,000 ops and 600 KB; beyond, and where it cannot, it plays, and says why; with live=False it says nothing."""
    page = lambda given: export.html(given, tmp_path / "page.html").read_text(encoding="utf-8")  # noqa: E731
    assert page(schedule) == export.html(schedule, tmp_path / "live.html", live=True).read_text(encoding="utf-8")
    plays = export.html(schedule, tmp_path / "still.html", live=False).read_text(encoding="utf-8")
    assert "<p>" not in plays
    n = schedule.problem.graph.n_ops
    size = len(page(schedule))
    for name, value, why in (
        ("LIVE_OPS", n - 1, f"it has {n} ops, above {n - 1}"),
        ("LIVE_BYTES", 1000, f"it would have {size // 1000} kB, above 1"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(export, name, value)
            said = f"<p>This page plays a saved schedule and does not recompute it, as {why}; live=True writes a page that does."
            assert page(schedule).replace(f"{said}</p>\n", "") == plays
    other = pl.simulate(schedule.problem, schedule.placement, "depth-first")
    assert "live" not in payload(page(other))[0] and "cannot recompute it: it does not know the scheduler" in page(
        other
    )


def test_names_cannot_leave_their_block(schedule, tmp_path):
    """Neither op names nor the title become markup."""
    page = export.html(schedule, tmp_path / "page.html", title=HOSTILE).read_text(encoding="utf-8")
    assert "alert(1)</script>" not in page
    assert "<title>&lt;/script&gt;" in page


def test_a_page_that_plays_shows_what_is_placed():
    """Ops in a tray are not drawn and hold no channel; a page that recomputes has the whole plan, and them in its tray."""
    problem = pl.datasets.problem("topcuoglu").replace(transfers="channel")
    whole = pl.by_hand(pl.solve(problem, "heft")).schedule
    waiting = list(range(3, 10))
    part = pl.by_hand(whole, placed=problem.graph.names[:3]).schedule
    traits, buffers = payload(export.page(whole, live=False, waiting=waiting))
    assert buffers["schedule"] == pack_schedule(part) and "live" not in traits
    assert list(buffers["decided"]) == [1] * 3 + [0] * 7 + [1] * len(part.transfers)
    traits, buffers = payload(export.page(whole, live=True, waiting=waiting))
    assert buffers["problem"] == pack_problem(whole) and traits["live"]["waiting"] == waiting
    assert buffers["decided"] == b""


def test_same_schedule_same_page(schedule, tmp_path):
    """A page contains no random numbers and no date."""
    first, second = (export.html(schedule, tmp_path / name).read_bytes() for name in ("a.html", "b.html"))
    assert first == second


def test_page_of_20000_ops_is_small(tmp_path):
    """At most 0.6 MB, module included."""
    problem = pl.Problem(pl.generators.layered(20_000, seed=0), pl.Cluster.uniform(8))
    page = export.html(pl.solve(problem, "heft", "planned"), tmp_path / "page.html")
    assert page.stat().st_size <= 600_000


@pytest.mark.parametrize(("ops", "best"), [(100, True), pytest.param(200_000, False, marks=pytest.mark.slow)])
def test_large_pages_are_not_packed_at_the_best_level(ops, best, tmp_path):
    """Which takes five times as long for 1 % less; the header of the gzip file says how it was made (RFC 1952)."""
    problem = pl.Problem(pl.generators.layered(ops, seed=0), pl.Cluster.uniform(2))
    schedule = pl.simulate(problem, pl.Placement(problem, np.arange(ops) % 2), "fifo")
    page = export.html(schedule, tmp_path / "page.html", live=False).read_text(encoding="utf-8")
    assert (packed(page)[8] == 2) == best
    assert payload(page)[1]["schedule"] == pack_schedule(schedule)


def events(schedule, path):
    """The events of a trace by phase."""
    text = export.chrome_trace(schedule, path).read_bytes()
    trace = json.loads(gzip.decompress(text) if path.suffix == ".gz" else text)["traceEvents"]
    return {phase: [event for event in trace if event["ph"] == phase] for phase in "MXstfC"}


def test_trace_has_a_process_per_device_and_every_op_in_microseconds(schedule, tmp_path):
    """Names, processes, times."""
    trace = events(schedule, tmp_path / "trace.json")
    processes = {e["pid"]: e["args"]["name"] for e in trace["M"] if e["name"] == "process_name"}
    assert processes == {0: "dev0", 1: "dev1"}
    ops = [(e["name"], e["pid"], e["ts"], e["dur"]) for e in trace["X"] if e["cat"] == "op"]
    assert ops == [(HOSTILE, 0, 0.0, 2e6), ("c", 0, 2e6, 1e6), ("b", 1, 4e6, 3e6)]


def test_trace_shows_a_transfer_on_both_devices_and_its_flow(schedule, tmp_path):
    """Source and destination show it; the flow leads from producer over transfer to consumer."""
    trace = events(schedule, tmp_path / "trace.json.gz")
    threads = {(e["pid"], e["tid"]): e["args"]["name"] for e in trace["M"] if e["name"] == "thread_name"}
    moved = [(threads[e["pid"], e["tid"]], e["pid"], e["ts"], e["dur"]) for e in trace["X"] if e["cat"] == "transfer"]
    assert sorted(moved) == [("transfers in", 1, 2e6, 2e6), ("transfers out", 0, 2e6, 2e6)]
    flow = [(e["pid"], e["tid"], e["ts"]) for phase in "stf" for e in trace[phase]]
    assert flow == [(0, 0, 0.0), (1, 1, 2e6), (1, 0, 4e6)]


def test_slices_of_a_thread_never_overlap(tmp_path):
    """Viewers would nest or drop overlapping slices; concurrent transfers have their own threads."""
    cluster = pl.Cluster.uniform(4, speed=7e12, bandwidth=3e9, latency=1e-3)
    problem = pl.Problem(pl.generators.layered(400, seed=3), cluster, transfer_ops=1e6)
    schedule = pl.simulate(problem, pl.place(problem, "round-robin"), "fifo")
    lanes: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for e in events(schedule, tmp_path / "trace.json")["X"]:
        begin = round(e["ts"] * 1000)
        lanes.setdefault((e["pid"], e["tid"]), []).append((begin, begin + round(e["dur"] * 1000)))
    assert max(tid for _, tid in lanes) > 1001  # some transfers did run at once
    for spans in lanes.values():
        assert all(before[1] <= after[0] for before, after in pairwise(sorted(spans)))


def test_memory_counter_is_the_schedules_curve(schedule, tmp_path):
    """There is one counter per device."""
    counters = [e for e in events(schedule, tmp_path / "trace.json")["C"] if e["pid"] == 0]
    times, sizes = schedule.memory(0)
    np.testing.assert_allclose([e["ts"] for e in counters], times * 1e6)
    assert [e["args"]["bytes"] for e in counters] == sizes.tolist()


@pytest.mark.parametrize("path", ["/", ".", "./", ".."])
def test_a_folder_is_no_file_to_write(path, schedule):
    """Every function that writes raises an error of one sentence."""
    placement = schedule.placement
    graph = schedule.problem.graph
    for write in (
        *(lambda path, f=f: f(schedule, path) for f in (export.html, export.chrome_trace, export.csv)),
        lambda path: export.csv(schedule, path, table="transfers"),
        lambda path: export.placement(placement, path),
        lambda path: export.graph(graph, path),
        graph.save,
        placement.save,
    ):
        with pytest.raises(
            pl.FormatError, match=r"cannot be written|no format to write|cannot hold a placement"
        ) as caught:
            write(path)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("numbers", [5, None, "x", {"key": "a"}, [5], ["ab"], [None], [{"key": {1}}], [{("a",): "b"}]])
def test_figures_that_are_none_are_refused(numbers, schedule, tmp_path):
    """Invalid figures are refused before anything is written."""
    with pytest.raises(pl.FormatError, match=r"^numbers (is|holds) .*; expected"):
        export.html(schedule, tmp_path / "x.html", numbers=numbers)
    assert not list(tmp_path.iterdir())


def large():
    """A schedule of 5,000 ops that sends tensors over eight devices."""
    problem = pl.Problem(pl.generators.layered(5_000, seed=0), pl.Cluster.uniform(8), transfer_ops=1e6)
    return pl.simulate(problem, pl.place(problem, "round-robin"), "fifo")


def test_a_trace_in_pieces_is_the_trace_of_all_events(tmp_path):
    """Written a thousand events at a time, it is one JSON text of every event, in order."""
    schedule = large()
    written = json.loads(export.chrome_trace(schedule, tmp_path / "trace.json").read_text())
    assert written == {"displayTimeUnit": "ms", "traceEvents": list(trace_events(schedule))}


@pytest.mark.parametrize(
    ("path", "most"),
    [pytest.param("trace.json", 8e6, marks=pytest.mark.slow), ("ops.csv", 1.4e6), ("transfers.csv", 1.4e6)],
)
def test_files_are_written_as_they_are_made(path, most, tmp_path):
    """No export holds all its text or events at once: a trace of 7.6 MB takes 3.4 MB, and 43 MB if it were held."""
    schedule = large()
    schedule.peak_memory  # noqa: B018 (computed once per schedule)
    tracemalloc.start()
    try:
        if path == "trace.json":
            export.chrome_trace(schedule, tmp_path / path)
        else:
            export.csv(schedule, tmp_path / path, table=path.partition(".")[0])
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def test_a_flow_ends_at_the_consumer_that_starts_first(tmp_path):
    """On each device that reads the tensor; ties go to the lower edge; compared op by op."""
    schedule = large()
    graph = schedule.problem.graph
    moved = schedule.transfers
    ends = [event for event in trace_events(schedule) if event["ph"] == "f"]
    assert len(ends) == len(moved)
    for x in range(0, len(moved), 97):
        edges = slice(*graph.tensor_ptr[moved["tensor"][x] : moved["tensor"][x] + 2])
        there = [v for v in graph.consumer[edges] if schedule.device[v] == moved["destination"][x]]
        assert ends[x]["id"] == x and ends[x]["ts"] * 1000 == pytest.approx(min(schedule.start[there]) * 1e9, abs=1)


def test_nothing_is_left_of_a_file_that_could_not_be_made(tmp_path):
    """If writing fails half-way, neither the file nor a part of it is left."""

    def pieces():
        yield "begun"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        save(pieces(), tmp_path / "file")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("write", [pl.export.html, pl.export.chrome_trace])
def test_what_cannot_be_written_is_said(write, schedule, tmp_path):
    """A folder, a missing one, no path, no schedule: one sentence each, as for `graph.save`."""
    for what, path, words in (
        (schedule, tmp_path, "cannot be written"),
        (schedule, tmp_path / "no" / "x", "cannot be written"),
        (schedule, None, "not the path of a file"),
        (schedule.problem, tmp_path / "x", "needs a Schedule, found a Problem"),
    ):
        with pytest.raises(pl.FormatError, match=words):
            write(what, path)

"""Studies: rows, their identity and order; failures; resumption after kills of the program and of its processes."""

from __future__ import annotations

import os
import signal
import sys
from collections import deque
from concurrent.futures import Future
from types import SimpleNamespace

import pandas as pd
import pytest
from support.study_programs import finish, start, stored, wait_for

import placelab as pl
from placelab.analysis.studies import study_cells, study_workers
from placelab.analysis.studies.study_cells import Task, problem_key
from placelab.base.errors import FormatError, UnsupportedError
from placelab.base.threads import cores

COMMON = dict(processes=0)


@pytest.fixture
def problems():
    """Two devices, then three, with two bandwidths each."""
    return pl.grid(pl.generators.fft(4), [2, 3], bandwidth=[1e9, 1e10])


def test_the_rows_are_those_of_compare(problems):
    """Problem by problem and column by column; the seconds are measured anew."""
    frame = pl.study(problems, ["heft", "single", "random"], ["fifo", "planned"], seeds=2, **COMMON)
    assert list(frame.columns[:4]) == ["problem", "graph", "devices", "bandwidth"]
    for name, part in frame.groupby("problem", sort=False):
        one = pl.compare(problems[name], ["heft", "single", "random"], ["fifo", "planned"], seeds=2)
        left, right = (some.drop(columns="seconds").reset_index(drop=True) for some in (part[one.columns], one))
        pd.testing.assert_frame_equal(left, right)
    assert list(frame["problem"].unique()) == list(problems)
    assert frame["error"].str.contains("planned").sum() == 4 * 2 * 2  # single and random have no plan


@pytest.mark.slow
def test_processes_and_this_process_give_the_same_rows(problems, tmp_path):
    """Also from disk; a problem's arrays are read-only everywhere, else each process would compile the kernels for others."""

    @pl.partitioner
    def first_device(problem):
        assert not problem.graph.compute.flags.writeable and not problem.cluster.bandwidth.flags.writeable
        return pl.Placement(problem, [0] * problem.graph.n_ops)

    given = problems, ["heft", "random", first_device], ["fifo", "pct"]
    here = pl.study(*given, seeds=[3, 1], **COMMON)
    there = pl.study(*given, seeds=[3, 1], processes=2, path=tmp_path / "study.parquet")
    pd.testing.assert_frame_equal(here.drop(columns="seconds"), there.drop(columns="seconds"))
    assert len(here) == 4 * 3 * 2 * 2 and set(here["error"]) == {""}


def test_a_rerun_computes_what_is_missing(problems, tmp_path):
    """More strategies, seeds and problems are added to what is there; other options are another cell."""
    rows = []
    common = dict(path=tmp_path / "study.parquet", progress=lambda p: rows.append(p.row), **COMMON)
    first = pl.study(problems, ["heft"], ["fifo"], **common)
    assert len(rows) == len(first) == 4
    again = pl.study(problems, ["heft"], ["fifo"], **common)
    assert len(rows) == 4
    pd.testing.assert_frame_equal(first, again)
    more = pl.study(problems, ["heft", "single"], ["fifo", "pct"], seeds=2, **common)
    assert len(more) == 32 and len(rows) == 32
    tuned = pl.study(problems, [("heft", {"insertion": False}), "heft"], "fifo", **common)
    assert len(rows) == 36 and list(tuned["partitioner"].unique()) == ["heft(insertion=False)", "heft"]
    assert len(stored(tmp_path)) == stored(tmp_path)["key"].nunique() == 36


def test_cancel_keeps_the_complete_rows(problems, tmp_path):
    """What was finished is in the table and on disk."""
    rows = []
    frame = pl.study(
        problems,
        ["heft", "single"],
        "fifo",
        path=tmp_path / "study.parquet",
        progress=rows.append,
        cancel=lambda: len(rows) >= 3,
        **COMMON,
    )
    assert len(frame) == len(stored(tmp_path)) == 3 and rows[-1].fraction == 3 / 8


def test_both_rules_of_latencies_are_an_axis():
    """Beside ``latency``, which is in seconds; the columns and the names say which rule a problem has."""
    rules = ["holds", "follows"]
    problems = pl.grid(pl.generators.fft(4), 2, latency=1e-6, latency_rule=rules, transfers="channel")
    assert [problem.latency for problem in problems.values()] == rules
    assert [columns["latency_rule"] for columns in problems.columns.values()] == rules
    assert [name.split(", ")[1] for name in problems] == ["latency_rule=holds", "latency_rule=follows"]
    with pytest.raises(pl.FormatError, match="latency_rule is 'late'; expected one of holds, follows"):
        pl.grid(pl.generators.fft(4), 2, latency_rule="late")


def test_what_a_problem_consists_of_is_its_identity():
    """Equal contents have equal keys, and each change another one."""
    graph = pl.generators.fft(4)
    problem = pl.Problem(graph, pl.Cluster.uniform(2))
    others = [
        problem.replace(cluster=pl.Cluster.uniform(2, bandwidth=1e9)),
        problem.replace(cluster=pl.Cluster.uniform(2, speed=1e12)),
        problem.replace(transfers="sequential"),
        problem.replace(latency="follows"),
        problem.replace(cluster=problem.cluster.replace(links={"switch": (1e9, [("*", "*")])})),
        problem.replace(groups=[graph.names[:2].tolist()]),
        problem.pin({graph.names[0]: 1}),
        problem.replace(graph=pl.generators.fft(8)),
    ]
    keys = [problem_key(p) for p in [problem, *others]]
    assert problem_key(pl.Problem(pl.generators.fft(4), pl.Cluster.uniform(2))) == keys[0]
    assert len(set(keys)) == len(keys)


def test_the_own_strategy_is_another_one_when_its_code_changes(problems, tmp_path):
    """Its rows are computed anew."""
    rows = []
    for device in (0, 1):
        if device:

            @pl.partitioner(name="mine")
            def mine(problem):
                """The second device."""
                return pl.Placement(problem, [1] * problem.graph.n_ops)
        else:

            @pl.partitioner(name="mine")
            def mine(problem):
                """The first device."""
                return pl.Placement(problem, [0] * problem.graph.n_ops)

        pl.study(problems, mine, "fifo", path=tmp_path / "s.parquet", progress=rows.append, **COMMON)
        assert len(rows) == 4 * (device + 1)


@pytest.mark.slow
def test_a_damaged_part_is_refused_or_whole(tmp_path):
    """Whatever bit of a file is turned: one sentence that names the file, or the rows that were written."""
    row = dict.fromkeys(study_cells.TEXTS, "é") | dict.fromkeys(study_cells.NUMBERS, 0.5)
    written = study_cells.Rows(tmp_path)
    written.add([row | dict.fromkeys(study_cells.FLAGS, True) | dict(key=f"ö{i}", seed=i) for i in range(10)])
    written.write()
    (part,) = study_cells.parts_of(tmp_path)
    data = part.read_bytes()
    rows = study_cells.rows_of(part)
    assert [one["key"] for one in rows] == [f"ö{i}" for i in range(10)]
    for i in range(len(data)):
        part.write_bytes(data[:i] + bytes([data[i] ^ 1 << i % 8]) + data[i + 1 :])
        try:
            found = study_cells.rows_of(part)
        except FormatError as error:
            found = str(error)
        assert found in (rows, f"{part} is no part of a study; remove it, and its rows are computed again")


def test_failures_are_rows_with_a_reason(problems):
    """Whatever a strategy raises, and an infeasible problem."""

    @pl.partitioner(name="broken")
    def broken(problem):
        """An error."""
        raise ZeroDivisionError("no good")

    tight = pl.Problem(pl.load("topcuoglu"), pl.datasets.problem("topcuoglu").cluster.replace(memory=1e-9))
    frame = pl.study({"loose": problems[next(iter(problems))], "tight": tight}, ["heft", broken], "fifo", **COMMON)
    assert list(frame[frame["partitioner"] == "broken"]["error"]) == ["no good"] * 2
    assert frame["makespan"].isna().sum() >= 2 and not frame[frame["makespan"].isna()]["valid"].any()


def test_wrong_arguments_are_sentences(problems, tmp_path):
    """Before any work is done."""
    with pytest.raises(FormatError, match="no problems"):
        pl.study([], "heft", **COMMON)
    with pytest.raises(UnsupportedError, match="no option 'insert'"):
        pl.study(problems, [("heft", {"insert": 1})], **COMMON)
    with pytest.raises(FormatError, match="'heft' is given twice"):
        pl.study(problems, ["heft", "heft"], **COMMON)
    with pytest.raises(FormatError, match="no axis 'width'"):
        pl.grid(pl.generators.fft(4), 2, width=[1])
    with pytest.raises(FormatError, match=r"problem 'fft 4, bandwidth=-1.*bandwidth"):
        pl.grid({"fft 4": pl.generators.fft(4)}, 2, bandwidth=[1e9, -1.0])
    (tmp_path / "file").write_text("")
    with pytest.raises(FormatError, match="is a file"):
        pl.study(problems, "heft", path=tmp_path / "file", **COMMON)
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "x.parquet").write_bytes(b"no parquet")
    with pytest.raises(FormatError, match="no part of a study; remove it"):
        pl.study(problems, "heft", path=tmp_path / "study", **COMMON)


def test_one_sentence_names_the_extra(problems, tmp_path, monkeypatch):
    """Without pyarrow, and without dask."""
    for module in ("pyarrow", "distributed"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UnsupportedError, match=r"pip install 'placelab\[studies\]'"):
        pl.study(problems, "heft", path=tmp_path / "s", **COMMON)
    with pytest.raises(UnsupportedError, match=r"pip install 'placelab\[studies\]'"):
        pl.study(problems, "heft", client="tcp://127.0.0.1:1")


def test_a_half_written_part_is_no_part(problems, tmp_path):
    """A kill between writing and renaming leaves a name that nobody reads, pandas neither."""
    rows = study_cells.Rows(tmp_path / "s")
    rows.folder.joinpath(".a.parquet.partial").write_bytes(b"PAR1 half")
    assert rows.by_key() == {}
    assert len(pl.study(problems, "heft", "fifo", path=tmp_path / "s", **COMMON)) == 4
    assert len(pd.read_parquet(tmp_path / "s")) == 4


def test_a_worker_uses_one_core(monkeypatch):
    """As there are as many workers as cores; this process uses all."""
    monkeypatch.setattr(study_workers, "run_task", lambda *_: cores())
    assert study_workers._on_one_core(None, None, None) == 1
    assert cores() == os.cpu_count()


def test_brief_tasks_go_in_batches(monkeypatch):
    """Each once, the last ones alone, and alone those of a batch that was lost; a worker gives back what it has no time for."""
    monkeypatch.setattr(study_workers, "_plan", "plan")
    monkeypatch.setattr(study_workers, "_problem", str)
    monkeypatch.setattr(study_workers, "_on_one_core", lambda problem, plan, task: [task.seed])
    tasks = [Task("p", 0, seed, (0,), ("key",)) for seed in range(100)]
    sizes = []
    alone = set()
    lost = []

    def submit(some):
        sizes.append(len(some))
        future = Future()
        future.set_result(study_workers._run_here(some))
        return future

    def take(future, given):
        if tasks[50] in given and len(given) > 1:
            alone.update(given)
            lost.append(len(given))
            return []
        return future.result()[:5]

    found = study_workers._completed(submit, deque(tasks), {}, lambda: 2, lambda: False, take, alone)
    assert sorted((task.seed, rows) for task, rows in found) == [(seed, [seed]) for seed in range(100)]
    assert lost == [len(alone)] and max(sizes) == 5 * study_workers.GROWTH and sizes[-1] == 1
    monkeypatch.setattr(study_workers, "BRIEF", -1.0)
    assert study_workers._run_here(tasks) == [[0]]


def test_a_cluster_without_workers_is_handed_tasks(monkeypatch):
    """They wait there for the first worker; the number of workers is asked for again and again."""
    monkeypatch.setattr(study_workers, "LOOK", 0.0)
    threads = {}
    most = study_workers._ahead(SimpleNamespace(nthreads=lambda: threads))
    assert most() == study_workers.AHEAD
    threads |= {"tcp://a": 3, "tcp://b": 2}
    assert most() == 5 * study_workers.AHEAD


@pytest.mark.slow
def test_a_killed_study_goes_on(tmp_path):
    """Killed after its first part and again later: in the end no row is lost, none is there twice, none is computed again."""
    arguments = "", "60", "sluggish"
    for parts in (1, 2):
        with start(tmp_path, *arguments) as program:
            wait_for(lambda: len(list(tmp_path.glob("study.parquet/*.parquet"))) >= parts)  # noqa: B023
            os.kill(program.pid, signal.SIGKILL)
    before = len(stored(tmp_path))
    assert 0 < before < 240
    computed, frame = finish(tmp_path, *arguments)
    assert computed == 240 - before
    assert len(frame) == len(stored(tmp_path)) == stored(tmp_path)["key"].nunique() == 240


@pytest.mark.slow
def test_a_killed_process_costs_a_retry(tmp_path):
    """All rows are there, without an error."""
    computed, frame = finish(tmp_path, "", "5", "deadly-once")
    assert computed == len(frame) == 20
    assert (tmp_path / "marker").exists() and frame["error"][frame["scheduler"] == "fifo"].eq("").all()


@pytest.mark.slow
def test_a_task_that_ends_its_process_is_a_failure(tmp_path):
    """Only its own rows have the reason; the others are complete."""
    _, frame = finish(tmp_path, "", "1", "deadly", "hash")
    fifo = frame[frame["scheduler"] == "fifo"].set_index(["devices", "partitioner"])["error"]
    assert "ended 3 times" in fifo[3, "deadly"] and (fifo.drop([(3, "deadly")]) == "").all()

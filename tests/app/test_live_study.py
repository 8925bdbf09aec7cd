"""The heat map of a study: what its cells say, that it fills, is cancelled, closed and opened again."""

from __future__ import annotations

import re
import subprocess
import sys
from threading import Event

import numpy as np
import pytest

import placelab as pl
from placelab.app.widgets import live_study
from placelab.base.errors import FormatError
from placelab.pictures.heat_map import MOST_ROWS, Cells, heat_map

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(live_study, "PAUSE", 0.01)


@pytest.fixture
def problems():
    """Two."""
    return pl.grid(pl.generators.fft(4), [2, 3])


def row(problem: str, partitioner: str, makespan: float, seed: int = 0, **more) -> dict:
    known = dict(problem=problem, partitioner=partitioner, scheduler="planned", seed=seed, makespan=makespan)
    return known | dict(valid=True, oom=False, error="") | more


def texts(html: str) -> list[str]:
    """What the cells show, row by row."""
    return re.findall(r"<td[^>]*>([^<]*)</td>", html)


def test_cells_are_ratios_to_the_best_of_the_problem():
    """Means over seeds, the geometric mean above; failures have their reason, and names are text."""
    cells = Cells()
    cells.add([row("p", "a", 1.0), row("p", "a", 3.0, seed=1), row("p", HOSTILE, 4.0), row("p", "c", 9.0, oom=True)])
    cells.add([row("q", "a", 5.0), row("q", HOSTILE, 2.5)])
    html = heat_map(cells)
    assert texts(html) == ["1.41", "1.41", "–", "1.00", "2.00", "–", "2.00", "1.00", ""]
    assert "c: 1 of 2 problems, out of memory" in html and "a: 2 × the best" in html
    assert "<img" not in html and len(cells) == 6
    cells.add([row("q", "a", np.nan, error="no <b>way</b>")])  # computed again: the later row holds
    assert texts(heat_map(cells))[0] == "1.00*" and "no &lt;b&gt;way" in heat_map(cells)


def test_many_problems_share_rows():
    """Each is in one of them."""
    cells = Cells()
    cells.add(row(f"p{i}", name, 1.0 + i * (name == "b")) for i in range(100) for name in "ab")
    html = heat_map(cells)
    assert html.count("<tr>") == 2 + MOST_ROWS
    assert sum(int(n or 1) for n in re.findall(r">(?:\((\d)\) )?p\d+[ …]*<", html)) == 100


def test_it_fills_and_is_opened_again(problems, tmp_path):
    """The table is that of `study`, and the view of its folder shows the same cells; a rerun shows stored rows."""
    given = problems, ["heft", "single"], "fifo"
    path = tmp_path / "s.parquet"
    view = pl.start_study(*given, path=path, processes=0)
    frame = view.result(60)
    assert len(frame) == 4 and list(frame["problem"]) == [name for name in problems for _ in range(2)]
    for again in (pl.study_view(path), pl.start_study(*given, path=path, processes=0)):
        wait_for(lambda: len(texts(again._map.value)) == 6)  # noqa: B023
        again.close()
    other = pl.study_view(path)
    pl.study(problems, "cpop", "fifo", path=path, processes=0)
    wait_for(lambda: len(texts(other._map.value)) == 9)
    other.close()
    with pytest.raises(FormatError, match="no folder"):
        pl.study_view(tmp_path / "other")


def test_cancel_and_errors(problems, monkeypatch):
    """Cancel keeps what is finished; a wrong argument is an error at once, a later one in the line and in `result`."""
    begun = Event()
    go_on = Event()

    @pl.partitioner(name="patient")
    def patient(problem):
        """Wait."""
        begun.set()
        go_on.wait(60)
        return pl.Placement(problem, [0] * problem.graph.n_ops)

    view = pl.start_study(problems, patient, "fifo", processes=0)
    with pytest.raises(TimeoutError, match="cancel"):
        view.result(0.01)
    assert begun.wait(60)
    view._button.click()
    go_on.set()
    assert len(view.result(60)) == 1
    wait_for(lambda: "1 of 2 rows; cancelled" in view._said.value)
    with pytest.raises(FormatError, match="no problems"):
        pl.start_study([])
    monkeypatch.setattr(live_study, "run", lambda *_: 1 / 0)
    view = pl.start_study(problems, "heft", "fifo", processes=0)
    with pytest.raises(ZeroDivisionError):
        view.result(60)
    wait_for(lambda: "0 of 2 rows; division by zero" in view._said.value)


SCRIPT = """
import atexit, threading
from time import sleep
atexit.register(lambda: print([t.name for t in threading.enumerate() if "study view" in t.name]))  # as ipykernel, before
import placelab as pl
from placelab.app.widgets import live_study

@pl.partitioner
def slow(problem):
    calls.append(problem)
    if len(calls) == 3:  # rows of two are finished
        begun.set()
    sleep(0.02)
    return pl.Placement(problem, [0] * problem.graph.n_ops)

live_study.PAUSE, begun, calls = 60, threading.Event(), []
seen = pl.study_view(".")
running = pl.start_study(pl.grid(pl.generators.fft(4), [2], bandwidth=list(range(1, 1000))), slow, "fifo", path="s", processes=0)
begun.wait()
"""


@pytest.mark.slow
def test_threads_end_before_what_was_there_before_them(tmp_path):
    """When Python ends, none is left for what a kernel registered at its start, and what was finished is written."""
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=tmp_path)
    assert done.stdout.strip() == "[]"
    assert 0 < sum(len(live_study.rows_of(part)) for part in live_study.parts_of(tmp_path / "s")) < 999


def wait_for(condition) -> None:
    """Until it holds."""
    wait = Event()
    assert any(condition() or wait.wait(0.02) for _ in range(5000))

"""A study in a notebook while it runs: its progress, a heat map that fills, and a button that cancels it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from html import escape
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import TYPE_CHECKING, Any

import ipywidgets as w

from placelab.analysis.studies.study_cells import parts_of, rows_of
from placelab.analysis.studies.study_runs import StudyTasks, planned, rows_of_study, run
from placelab.base.errors import FormatError
from placelab.base.files import path_of
from placelab.base.progress import Progress
from placelab.base.threads import Worker
from placelab.pictures.heat_map import Cells, heat_map
from placelab.strategies.preparing.chain import Transformations

if TYPE_CHECKING:
    import pandas as pd

PAUSE = 1.0  # seconds between two pictures at least
SHARE = 20  # times as long as one takes to draw


class StudyView(w.VBox):
    """The heat map of a study; :func:`placelab.start_study` and :func:`placelab.study_view` make one.

    Each cell is the makespan of a strategy over the best one of the problem, in the first row the geometric mean. Where there
    are many problems, neighbours share a row. A cell with an asterisk leaves out problems without a legal result within
    memory; hover for the reason. ``close()`` ends the view, not the study.
    """

    def __init__(self) -> None:
        self._cells = Cells()
        self._lock = Lock()
        self._fresh: list[Mapping[str, Any]] = []
        self._ended = Event()
        self._stopped = Event()
        self._drawer = Worker(self._keep_drawn, "study view")
        self._frame: pd.DataFrame | None = None
        self._error: BaseException | None = None
        self._share = 0.0
        self._total = 0
        self._bar = w.FloatProgress(0.0, min=0.0, max=1.0, layout=w.Layout(width="160px", margin="0"))
        self._said = w.HTML(layout=w.Layout(flex="1 1 auto", margin="0 8px"))
        self._button = w.Button(description="Cancel", tooltip="Stop computing; finished rows are kept")
        self._button.on_click(lambda _: self.cancel())
        self._map = w.HTML(layout=w.Layout(max_height="70vh", overflow="auto", margin="4px 0 0"))
        head = w.HBox([self._bar, self._said, self._button], layout=w.Layout(align_items="center"))
        super().__init__([head, self._map])

    def __repr__(self) -> str:
        return f"StudyView({len(self._cells):,} rows{'' if self._ended.is_set() else ' so far'})"

    def cancel(self) -> None:
        """Stop computing; tasks under way are given up, and finished rows are kept."""
        self._stopped.set()
        self._button.disabled = True

    def result(self, timeout: float | None = None) -> pd.DataFrame:
        """Wait for the end of a study that :func:`placelab.start_study` began, and return its table, as :func:`placelab.study`.

        Raises
        ------
        TimeoutError
            It runs for longer than `timeout` seconds.
        PlacelabError
            What ended the study.
        """
        if not self._ended.wait(timeout):
            raise TimeoutError(f"the study still runs after {timeout:g} s; cancel() ends it")
        if self._error is not None:
            raise self._error
        assert self._frame is not None
        return self._frame

    def close(self) -> None:
        """End the view; the study goes on, and :func:`placelab.study_view` opens another view of what is in its folder."""
        self._drawer.close()
        super().close()

    # ---------------------------------------------------------------- a study that runs here

    def _start(self, work: StudyTasks, client: Any, processes: int | None) -> None:
        """Run the study on a thread of its own, which ends with Python, and draw it on another."""
        runner = Worker(
            lambda: self._run(work, client, processes, lambda: self._stopped.is_set() or runner.closed), "study"
        )
        for worker in (runner, self._drawer):
            worker.wake()

    def _run(self, work: StudyTasks, client: Any, processes: int | None, stop: Callable[[], bool]) -> None:
        self._total = sum(len(task.keys) for task in work.tasks)
        self._take(rows_of_study(work, work.known))
        try:
            self._frame = run(work, client, processes, self._report, stop)
        except BaseException as error:  # raised by result()
            self._error = error
        self._ended.set()
        self._drawer.wake()

    def _report(self, progress: Progress) -> None:
        self._take([progress.row or {}])
        self._share = progress.fraction or 0.0

    def _take(self, rows: Iterable[Mapping[str, Any]]) -> None:
        with self._lock:
            self._fresh += rows

    # ---------------------------------------------------------------- a study that runs elsewhere, or is over

    def _read(self, folder: Path, seen: set[Path]) -> None:
        new = [part for part in parts_of(folder) if part not in seen]
        for part in sorted(new, key=lambda part: (part.stat().st_mtime_ns, part)):
            self._take(rows_of(part))
        seen.update(new)

    def _follow(self, folder: Path, seen: set[Path]) -> None:
        """Draw again whenever there are new parts, until the view is closed."""
        pause = PAUSE
        while self._drawer.sleep(pause):
            try:
                self._read(folder, seen)
            except (FormatError, OSError) as error:
                self._say(f"; {error}")
                return
            pause = self._draw()

    # ---------------------------------------------------------------- the picture

    def _keep_drawn(self) -> None:
        """Draw while the study runs, and once it has ended; called again when the end comes while it draws for the last time."""
        pause = PAUSE
        while not self._ended.is_set() and self._drawer.sleep(pause):
            pause = self._draw()
        if self._ended.is_set() and not self._drawer.closed:
            self._draw()
            self._finish()

    def _draw(self) -> float:
        """Show what is new; return the seconds until it is worth to look again."""
        began = monotonic()
        with self._lock:
            fresh = self._fresh
            self._fresh = []
        if fresh:
            self._cells.add(fresh)
            self._map.value = heat_map(self._cells)
            self._say()
        self._bar.value = self._share
        return max(PAUSE, SHARE * (monotonic() - began))

    def _finish(self) -> None:
        self._button.layout.display = "none"
        if self._error is not None:
            self._bar.bar_style = "danger"
            self._say(f"; {self._error}")
        elif self._stopped.is_set():
            self._bar.bar_style = "warning"
            self._say("; cancelled")
        else:
            self._bar.value = 1.0
            self._bar.bar_style = "success"
            self._say("; done")

    def _say(self, more: str = "") -> None:
        of = f" of {self._total:,}" if self._total else ""
        self._said.value = f'<span role="status">{len(self._cells):,}{of} rows{escape(more)}</span>'


def start_study(
    problems: Any,
    partitioners: Any = None,
    schedulers: Any = None,
    *,
    seeds: int | Iterable[int] = 1,
    prepare: Transformations = (),
    path: Any = None,
    client: Any = None,
    processes: int | None = None,
) -> StudyView:
    """Start :func:`placelab.study` in the background, with a heat map that fills while it runs.

    Parameters
    ----------
    problems, partitioners, schedulers, seeds, prepare, path, client, processes
        As for :func:`placelab.study`.

    Returns
    -------
    StudyView
        A widget, which a notebook shows: progress, *Cancel*, and the heat map. ``result()`` waits for the table.

    Raises
    ------
    FormatError, UnsupportedError
        As :func:`placelab.study`, for its arguments; what ends it later, ``result()`` raises.

    Examples
    --------
    >>> import placelab as pl
    >>> view = start_study(pl.grid(pl.generators.fft(4), [2, 3]), ["heft", "cpop"], "planned", processes=0)
    >>> len(view.result())
    4
    """
    work = planned(problems, partitioners, schedulers, seeds, prepare, path, processes)
    view = StudyView()
    view._start(work, client, processes)
    return view


def study_view(path: Any) -> StudyView:
    """The heat map of the rows in the folder of a study, whichever program adds to them.

    Parameters
    ----------
    path
        What :func:`placelab.study`, :func:`placelab.start_study` or ``placelab study`` had as its `path`.

    Returns
    -------
    StudyView
        A widget, which a notebook shows; it follows the folder until ``close()``.

    Raises
    ------
    FormatError, UnsupportedError
        There is no such folder, or a file in it is none of a study; pyarrow is missing.
    """
    folder = path_of(path)
    if not folder.is_dir():
        raise FormatError(f"{folder} is no folder; expected the path of a study")
    view = StudyView()
    seen = set[Path]()
    view._read(folder, seen)
    for part in (view._bar, view._button):
        part.layout.display = "none"
    view._draw()
    view._drawer = Worker(partial(view._follow, folder, seen), "study view")
    view._drawer.wake()
    return view

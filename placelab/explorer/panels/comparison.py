"""Compare all pairs of strategies on a heat map, computed in the background.

Partitioners that search for seconds run last, after the figure of all others is shown, and for graphs of more than `SMALL` ops
only on request, since each change would keep the machine busy for minutes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from html import escape
from typing import Any

import ipywidgets as w
import numpy as np
import pandas as pd

from placelab.comparing import compare
from placelab.explorer.engine.abandonable import Abandoned, run_abandonable
from placelab.explorer.engine.solving import preparation
from placelab.explorer.engine.worker import Worker
from placelab.explorer.panels.buttons import button
from placelab.explorer.panels.strip import OPTIMAL, at_most
from placelab.explorer.state import State
from placelab.problem.problem import Problem
from placelab.progress import Progress
from placelab.strategies import partitioners
from placelab.units import seconds

ROW, LOW, COLUMN = 23, 18, 64  # pixels: height of a row, height of one of many, least width of a column
MANY = 15  # partitioners; rows of more are low
NAMES, LETTER = 104, 6.5  # pixels: least width of the column of names, width of a letter in it
EDGE = 8  # pixels right of the cells
PAUSE = 0.4  # seconds without a change before all pairs are computed again
SMALL = 20  # ops; searches on smaller graphs end in about a second and run without a request
PENDING = "This partitioner searches for long; “Search too” runs it here."

Subject = tuple[Problem, int, tuple]  # problem (equal only to itself), seed, preparation


class Comparison:
    """The panel beside the canvas.

    Parameters
    ----------
    on_pick
        Called with a partitioner and a scheduler when a user picks a pair.
    on_end
        Called when a run has ended.

    Attributes
    ----------
    box
        The panel; `best`, `progress` and `figure` are widgets in it.
    plot
        The Bokeh figure shown; None before the first.

    Notes
    -----
    A drag stops a run and marks the figure as stale; a new run begins after the release.
    """

    def __init__(self, on_pick: Callable[[str, str], None], on_end: Callable[[], None]) -> None:
        self._on_pick, self._on_end = on_pick, on_end
        self._lock = threading.RLock()
        self._subject: Subject | None = None
        self._prepare: list[Callable] = []  # the transformations of its preparation
        self._pair = ("", "")
        self._paused = self._halted = self._search_too = False
        self._status = ""
        self._frame: pd.DataFrame | None = None
        self._filled: Subject | None = None  # what the frame compares, once all quick partitioners are in it
        self._known: list[pd.DataFrame] = []  # the parts of the frame
        self._missing: list[str] = []  # partitioners that have not searched yet
        self._cells: Any = None  # data source of the figure shown
        self.plot: Any = None
        self._worker = Worker(self._run, "comparison")
        self._title = w.HTML("All pairs").add_class("pl-label")
        self.best = button("", "Show the best pair", self._pick_best)
        self.progress = w.FloatProgress(0.0, min=0.0, max=1.0, tooltip="Pairs compared")
        self._cancel = button("Cancel", "Stop comparing; the rest goes on", self.halt)
        self._again = button("Compare", "Compare all pairs of partitioner and scheduler", self.resume)
        self._search = button("Search too", "", self.search)
        self.figure = w.VBox().add_class("pl-comparison-figure")
        head = w.HBox([self._title, self.best, self.progress, self._cancel, self._again, self._search])
        self.box = w.VBox([head.add_class("pl-comparison-head"), self.figure]).add_class("pl-comparison")
        self._show_status("waiting")

    @property
    def frame(self) -> pd.DataFrame | None:
        """The latest result of :func:`placelab.compare`; None before the first."""
        return self._frame

    def follow(self, problem: Problem, state: State, dragging: bool) -> None:
        """Compare for another problem or preparation, and mark the pair that the explorer shows."""
        with self._lock:
            self._pair = (state.partitioner, state.scheduler)
            self._mark_pair()
            subject = (problem, state.seed, state.preparation)
            if self._subject != subject or self._paused:
                self._subject, self._prepare, self._paused = subject, preparation(state), dragging
                self.figure.add_class("pl-stale")
                self._worker.wake()

    def again(self) -> None:
        """Compare again because the catalogues have changed."""
        self._filled = None
        self.figure.add_class("pl-stale")
        self._worker.wake()

    def halt(self) -> None:
        """Stop until `resume`, or until the problem changes."""
        self._halted = True

    def resume(self) -> None:
        """Compare now."""
        self._worker.wake()

    def search(self) -> None:
        """Compare now, with the partitioners that search for long."""
        self._search_too = True
        self._worker.wake()

    @property
    def running(self) -> bool:
        """Whether pairs are being compared now."""
        return self._status in ("running", "searching")

    def settled(self, timeout: float | None = None) -> bool:
        """Wait until nothing is being compared; return False when that takes longer."""
        return self._worker.settled(timeout)

    def close(self) -> None:
        """End the thread."""
        self._worker.close()

    def _run(self) -> None:
        self._halted = False
        if self._paused or not self._worker.sleep(PAUSE):
            return self._show_status("waiting")
        subject = self._subject
        if subject is None:  # woken before the first problem
            return self._show_status("waiting")
        search = self._search_too or subject[0].graph.n_ops <= SMALL
        self._search_too = False
        try:
            self._compare(subject, search)
        except Abandoned:
            pass
        except Exception as error:  # a broken strategy must not end the thread
            return self._show_status("stopped", str(error))
        if self._worker.woken:
            return self._show_status("waiting")
        self._show_status("done" if self._filled == subject else "stopped")

    def _compare(self, subject: Subject, search: bool) -> None:
        """Fill the figure: the quick partitioners together, then, if `search`, those that search one by one."""
        if self._filled != subject:
            self._show_status("running")
            self._known = [self._rows([name for name, f in partitioners().items() if not f.slow], subject)]
            if self._stopped():
                return
            self._fill(subject)
        for name in self._missing if search else ():
            self._show_status("searching", name)
            rows = self._rows([name], subject)
            if self._stopped():
                return
            self._known.append(rows)
            self._fill(subject)

    def _rows(self, names: list[str], subject: Subject) -> pd.DataFrame:
        problem, seed, _ = subject
        stop = self._until_stopped()
        arguments = dict(seeds=[seed], prepare=self._prepare, progress=self._advance, cancel=stop)
        return run_abandonable(lambda: compare(problem, names, **arguments), stop)

    def _until_stopped(self) -> Callable[[], bool]:
        """A function that returns whether to stop and, once True, stays True: an abandoned call may ask much later."""
        stopped = False

        def stop() -> bool:
            nonlocal stopped
            stopped = stopped or self._stopped()
            return stopped

        return stop

    def _fill(self, subject: Subject) -> None:
        """Draw the known results; partitioners that have not searched get a row without results."""
        frame = _proven(pd.concat(self._known, ignore_index=True))
        done = set(frame["partitioner"])
        missing = [name for name, function in partitioners().items() if function.slow and name not in done]
        with self._lock:
            self._frame, self._filled, self._missing = frame, subject, missing
            self._draw(_best_first(_with_pending(frame, missing)))

    def _stopped(self) -> bool:
        return self._halted or self._worker.woken

    def _advance(self, progress: Progress) -> None:
        self.progress.value = progress.fraction

    def _show_status(self, status: str, text: str = "") -> None:
        ended, self._status = self.running, status
        for widget, when in (
            (self.progress, self.running),
            (self._cancel, self.running),
            (self._again, status == "stopped"),
            (self.best, status in ("searching", "done")),
            (self._search, status == "done" and self._missing),
        ):
            widget.layout.display = "" if when else "none"
        self._search.tooltip = f"Compare {', '.join(self._missing)} too, which search for seconds or minutes"
        titles = {"running": "Comparing", "searching": f"Searching: {text}", "stopped": f"Stopped {text}"}
        self._title.value = escape({**titles, "waiting": "All pairs"}.get(status, "Best of all"))
        if ended and not self.running:
            self._on_end()

    def _draw(self, frame: pd.DataFrame) -> None:
        from bokeh.events import Tap
        from bokeh.models import FactorRange, TapTool
        from bokeh.models.renderers import GlyphRenderer
        from jupyter_bokeh import BokehModel

        from placelab.plots import comparison

        figure = comparison(frame, dark=False)  # the style sheet inverts it on dark pages
        rows, columns, cells = figure.y_range, figure.x_range, figure.select_one({"name": "cells"})
        assert isinstance(rows, FactorRange) and isinstance(columns, FactorRange) and isinstance(cells, GlyphRenderer)
        partitioners, schedulers = list(map(str, rows.factors)), list(map(str, columns.factors))
        names = max(NAMES, round(LETTER * max(map(len, partitioners))) + 2 * EDGE)
        figure.sizing_mode, figure.height = "stretch_width", _height(len(partitioners))
        figure.min_width = names + COLUMN * len(schedulers) + EDGE
        # The schedulers' names are a line of their own, which stays in view while the rows scroll.
        figure.xaxis.visible = False
        figure.min_border_left, figure.min_border_right = names, EDGE
        figure.min_border_top = figure.min_border_bottom = 0
        self._cells = cells.data_source
        for label in ("on_dark", "on_light", "on_page"):  # one line, the makespan; the rest is shown on hover
            self._cells.data[label] = [text.split("\n")[0] for text in self._cells.data[label]]
        # Taps, not selections: the browser sends back a selection that was made here, later and out of order.
        figure.toolbar.tools = [tool for tool in figure.toolbar.tools if not isinstance(tool, TapTool)]
        figure.on_event(Tap, self.tapped)
        self._mark_pair()
        heads = _columns(schedulers, names, figure.min_width)
        if self.figure.children:
            self.figure.children[0].value = heads
            self.figure.children[1].update_from_model(figure)
        else:
            self.figure.children = (w.HTML(heads).add_class("pl-columns"), BokehModel(figure))
        self.figure.remove_class("pl-stale")
        self.plot = figure
        best = _best(frame)
        self.best.disabled = best is None
        self.best.description = "none runs" if best is None else _summary(best)

    def _mark_pair(self) -> None:
        """Select the cell of the pair that the explorer shows."""
        if self._cells is not None:
            pairs = list(zip(self._cells.data["partitioner"], self._cells.data["scheduler"], strict=True))
            self._cells.selected.indices = [pairs.index(self._pair)] if self._pair in pairs else []

    def tapped(self, event: Any) -> None:
        """Pick the pair whose cell was clicked. Axes of names count from 0, one unit per name."""
        columns, rows = event.model.x_range.factors, event.model.y_range.factors
        column, row = int(np.floor(event.x)), int(np.floor(event.y))
        if 0 <= column < len(columns) and 0 <= row < len(rows):
            self._on_pick(rows[row], columns[column])

    def _pick_best(self) -> None:
        best = None if self._frame is None else _best(self._frame)
        if best is not None:
            self._on_pick(best["partitioner"], best["scheduler"])


def load_bokeh() -> None:
    """Load the part of BokehJS that the figure needs into the page, from this machine."""
    from bokeh.io import output_notebook
    from bokeh.resources import Resources
    from IPython import get_ipython

    if get_ipython() is not None:
        output_notebook(Resources(mode="inline", components=["bokeh"]), hide_banner=True)


def _proven(frame: pd.DataFrame) -> pd.DataFrame:
    """Recompute the gaps of all pairs with the best lower bound in the frame."""
    bound = (frame["makespan"] / (1 + frame["bound_gap"])).max()
    return frame.assign(bound_gap=np.where(frame["makespan"] > 0, frame["makespan"] / bound - 1, frame["bound_gap"]))


def _with_pending(frame: pd.DataFrame, missing: list[str]) -> pd.DataFrame:
    """A row without results for each pair of a partitioner that has not searched."""
    pairs = [(p, s) for p in missing for s in frame["scheduler"].unique()]
    rows = [dict(partitioner=p, scheduler=s, valid=False, oom=False, error=PENDING) for p, s in pairs]
    return pd.concat([frame, pd.DataFrame(rows)], ignore_index=True) if rows else frame


def _best_first(frame: pd.DataFrame) -> pd.DataFrame:
    """Sort partitioners by their least makespan under any scheduler; those out of memory come after the others."""
    every, good = frame["makespan"], frame["makespan"].where(frame["valid"] & ~frame["oom"])
    keys = pd.DataFrame(
        {key: of.groupby(frame["partitioner"]).transform("min") for key, of in enumerate((good, every))}
    )
    return frame.loc[keys.sort_values([0, 1], kind="stable").index]


def _height(rows: int) -> int:
    return rows * (ROW if rows <= MANY else LOW)


def _columns(schedulers: list[str], names: int, width: int) -> str:
    """HTML of the line of schedulers' names above the figure."""
    cells = "".join(f'<span title="{escape(name)}">{escape(name)}</span>' for name in schedulers)
    return f'<div style="padding: 0 {EDGE}px 0 {names}px; min-width: {width}px">{cells}</div>'


def _best(frame: pd.DataFrame) -> pd.Series | None:
    """The row of least makespan among those that are legal and within memory; the first of equal ones."""
    good = frame[frame["valid"] & ~frame["oom"] & frame["makespan"].notna()]
    return good.loc[good["makespan"].idxmin()] if len(good) else None


def _summary(row: pd.Series) -> str:
    pair = f"{row['partitioner']} + {row['scheduler']}: {seconds(row['makespan'])}"
    gap = row["bound_gap"]
    return pair if pd.isna(gap) else f"{pair}, optimal" if gap < OPTIMAL else f"{pair}, {at_most(gap)} above optimum"

"""The buttons to undo, redo, copy as code, download, and keep a schedule to compare others with."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from placelab.app.explorer import code
from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.panels.panel import Item, Popover, button
from placelab.app.explorer.session import Undoable
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.app.widgets.frame import CodeButton, Frame
from placelab.app.widgets.whole import PartComm
from placelab.pictures.cells.markup import counted
from placelab.schedule.schedule import Schedule

Shown = Callable[[], tuple[State, Schedule, list[Item]]]  # raises what kept the strategies from scheduling
KEEP_TIP = "Keep this schedule: its outline stays behind the next ones, and numbers show the change"


class Actions:
    """The buttons at the right end of the top bar.

    Parameters
    ----------
    undo, redo
        Called by the first two.
    state, shown
        Return the present state; state, schedule and numbers that are shown.
    keep
        Called with whether the schedule shown is to be kept.
    say
        Shows a sentence in a tone.

    Attributes
    ----------
    frame
        Full screen, presenting and the splitter; it hands downloads to the browser.
    draw
        Has the browser download the chart; called with the file's name and a title.
    """

    def __init__(
        self,
        undo: Callable[[], None],
        redo: Callable[[], None],
        state: Callable[[], State],
        shown: Shown,
        keep: Callable[[bool], None],
        say: Callable[[str, str], None],
    ) -> None:
        self._state = state
        self._shown = shown
        self._say = say
        self.draw: Callable[[str, str], None] = lambda name, title: None
        self.undo = button("↶", "Undo the last change, of the pickers or the cluster", undo)
        self.redo = button("↷", "Redo what was undone", redo)
        self.code = CodeButton(comm=PartComm())
        self.code.observe(lambda _: self.save_graph(), "copies")
        self.frame = Frame(comm=PartComm())
        self.keep = w.ToggleButton(description="◈ Keep", tooltip=KEEP_TIP)
        self.keep.observe(lambda change: keep(change["new"]), "value")
        self.downloads = {
            text: button(text, tip, partial(self._save, suffix, kind, write))
            for text, (tip, suffix, kind, write) in DOWNLOADS.items()
        }
        self.downloads |= {text: button(text, tip, partial(self._picture, text)) for text, tip in PICTURES.items()}
        self.download = Popover("⤓", "Download", *self.downloads.values())
        widgets = [self.undo, self.redo, self.code, self.download.box, self.keep, self.frame]
        self.box = w.HBox(widgets).add_class("pl-actions")

    def show(self, steps: Undoable) -> None:
        """Enable undo and redo where there are steps."""
        self.undo.disabled = not steps.past
        self.redo.disabled = not steps.future

    def offer_code(self) -> None:
        """Send the text of the cell to the browser, so that a click copies at once."""
        self.code.code = code.cell(self._state())

    def save_graph(self) -> None:
        """Save a graph that no expression loads to the file that the copied cell reads."""
        state = self._state()
        model = (state.base or state).model
        if not model.code:
            path = Path(code.file_name(state))
            model.graph.save(path)
            self.code.note = f"The graph is saved as {path}, beside the notebook."

    def _picture(self, text: str) -> None:
        """Have the browser draw the chart as it shows it."""
        self.download.close()
        try:
            state, schedule, _ = self._shown()
        except Exception as error:
            return self._say(sentence(error), "bad")
        devices = counted(schedule.problem.cluster.n_devices, "device")
        by = f"{state.partitioner} + {state.scheduler}"
        title = f"{state.model.title} · {by} · {devices} · makespan {schedule.problem.cluster.units.time(schedule.makespan)}"
        self.draw(_name(state, f".{text.lower()}"), title)

    def _save(self, suffix: str, kind: str, write: Callable[[Schedule, Path, list[Item]], Any]) -> None:
        """Write a file where the kernel runs, hand it to the browser, and delete it."""
        self.download.close()
        try:
            state, schedule, numbers = self._shown()
            name = _name(state, suffix)
            with TemporaryDirectory() as folder:
                path = Path(folder) / name
                write(schedule, path, numbers)
                self.frame.download(name, path.read_bytes(), kind)
        except Exception as error:
            self._say(sentence(error), "bad")


def _name(state: State, suffix: str) -> str:
    return f"{code.file_name(state, state.model.title).removesuffix('.json.gz')}-{state.partitioner}-{state.scheduler}{suffix}"


def _page(schedule: Schedule, path: Path, numbers: list[Item]) -> None:
    from placelab.app.export import html

    html(schedule, path, numbers=numbers)


def _trace(schedule: Schedule, path: Path, _: list[Item]) -> None:
    from placelab.app.export import chrome_trace

    chrome_trace(schedule, path)


def _ops(schedule: Schedule, path: Path, _: list[Item]) -> None:
    from placelab.app.export import csv

    csv(schedule, path)


def _figures(_: Schedule, path: Path, numbers: list[Item]) -> None:
    path.write_text("".join(f"{item['label']}\t{item['value']}\n" for item in numbers), encoding="utf-8")


PICTURES = {
    "PNG": "The chart as it is shown, as pixels",
    "SVG": "The chart as it is shown, as shapes that can be scaled and edited",
}
DOWNLOADS: dict[str, tuple[str, str, str, Callable[[Schedule, Path, list[Item]], Any]]] = {
    "Page": ("A web page that plays this schedule without a kernel", ".html", "text/html", _page),
    "Trace": ("A Chrome trace, which ui.perfetto.dev opens", ".trace.json", "application/json", _trace),
    "Ops": ("A row per op: device, start, finish, as comma-separated values", ".csv", "text/csv", _ops),
    "Numbers": ("The numbers as a table, separated by tabs", ".tsv", "text/tab-separated-values", _figures),
}

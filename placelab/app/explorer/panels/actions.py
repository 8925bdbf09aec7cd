"""The buttons to undo, redo, copy as code, keep a schedule to compare with, and download: pictures, tables, a page, a trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from placelab.app import export
from placelab.app.explorer import code
from placelab.app.explorer.engine.curve import UNITS
from placelab.app.explorer.engine.failure import sentence
from placelab.app.explorer.panels.held import PLACE_ALL
from placelab.app.explorer.panels.panel import Item, Popover, Shared, button
from placelab.app.explorer.session import Session
from placelab.app.explorer.state import State
from placelab.app.widgets import controls as w
from placelab.app.widgets.frame import CodeButton, Frame
from placelab.app.widgets.gantt_chart import Gantt
from placelab.app.widgets.whole import PartComm
from placelab.base.errors import UnsupportedError
from placelab.base.units import counted
from placelab.formats.exports import columns_csv
from placelab.schedule.schedule import Schedule

Shown = Callable[[], tuple[State, Schedule, list[Item]]]  # raises what kept the strategies from scheduling
Table = Callable[[str], Mapping[str, Any]]  # title in TABLES → columns by their heads; raises what it has not got yet

WIDTH = 178  # mm; two columns of a paper
NARROW, WIDE = 40, 1000  # mm
WIDTH_TIP = f"Width of the picture, {NARROW} to {WIDE} mm; 85 is one column of most papers, 178 are two"
SHOWN_TIP = "The chart as it is shown"
PAPER_TIP = "All devices in light colours, without a title; PDF opens the browser's print dialog"
TABLES = {
    "Comparison": "A row per pair of strategies: makespan, gap, memory, bytes moved",
    "Difference": "A row per op: where and when, here and in the kept schedule, and its share of either critical path",
    "What matters": "A row per op, device, link: what would be saved if it were faster",
    "Curve": "A row per value of the curve in the details: the value, and the makespan with it",
    "Details": "A row per fact of what is selected: name, value, unit",
}


def _figures(_: Schedule, path: Path, numbers: list[Item]) -> None:
    path.write_text("".join(f"{item['label']}\t{item['value']}\n" for item in numbers), encoding="utf-8")


Write = Callable[[Schedule, Path, list[Item]], Any]
# text of the button: words on hover, end of the file's name, its type, what writes it
FILES: dict[str, tuple[str, str, str, Write]] = {
    "Page .html": (
        "A web page that plays this schedule without a kernel",
        ".html",
        "text/html",
        lambda schedule, path, numbers: export.html(schedule, path, numbers=numbers),
    ),
    "Trace .json": (
        "A Chrome trace, which ui.perfetto.dev opens",
        ".trace.json",
        "application/json",
        lambda schedule, path, _: export.chrome_trace(schedule, path),
    ),
    "Numbers .tsv": ("The numbers above the chart", ".tsv", "text/tab-separated-values", _figures),
    "Ops": (
        "A row per op: costs, device, start, finish",
        ".csv",
        "text/csv",
        lambda schedule, path, _: export.csv(schedule, path, table="ops"),
    ),
    "Transfers": (
        "A row per transfer: tensor, from, to, start, finish",
        ".transfers.csv",
        "text/csv",
        lambda schedule, path, _: export.csv(schedule, path, table="transfers"),
    ),
}


class UnfinishedError(UnsupportedError):
    """A table is still being computed; its file follows by itself.

    Parameters
    ----------
    of
        A key of what it is of.
    """

    def __init__(self, message: str, of: str) -> None:
        super().__init__(message)
        self.of = of


class Downloads:
    """A button, and the panel of files that it opens.

    Parameters
    ----------
    shown
        Returns state, schedule and numbers that are shown.
    table
        Returns the table of that title.
    frame
        Hands files to the browser.
    say
        Shows a sentence in a tone.

    Attributes
    ----------
    draw
        Has the browser draw the chart as a file; called with its name, a title, and the width in mm (0: as it is shown).
    buttons
        By the text that they show.
    width
        Of the picture for a paper [mm].
    """

    def __init__(self, shown: Shown, table: Table, frame: Frame, say: Callable[[str, str], None]) -> None:
        self._shown = shown
        self._table = table
        self._frame = frame
        self._say = say
        self._awaited = "", ""  # the table that is computed before it is saved, and a key of what it is of
        self.draw: Callable[[str, str, int], None] = lambda name, title, width: None
        self.width = w.BoundedIntText(value=WIDTH, min=NARROW, max=WIDE, description="mm", tooltip=WIDTH_TIP)
        as_shown = self._pictures({"PNG": ".png", "SVG": ".svg"}, SHOWN_TIP, lambda: 0)
        papers = {"PNG, 300 dpi": ".png", "SVG, in mm": ".svg", "PDF": ".pdf"}
        paper = self._pictures(papers, PAPER_TIP, lambda: self.width.value)
        files = {text: self._button(text, how[0], partial(self._save, *how[1:])) for text, how in FILES.items()}
        tables = {title: self._button(title, tip, partial(self._save_table, title)) for title, tip in TABLES.items()}
        self.buttons: dict[str, w.Button] = as_shown | paper | files | tables
        rows = {
            "Chart as shown": as_shown.values(),
            "Chart for a paper": [self.width, *paper.values()],
            "Tables .csv": [files["Ops"], files["Transfers"], *tables.values()],
            "Everything": [made for text, made in files.items() if "." in text],
        }
        boxes = [w.HBox([w.HTML(title), *row]).add_class("pl-download-row") for title, row in rows.items()]
        self.popover = Popover("⤓", "Download", *boxes)

    def _button(self, text: str, tip: str, save: Callable[[], None]) -> w.Button:
        """A button of the panel; a click closes that, which a file that follows by itself leaves open."""

        def clicked() -> None:
            self.popover.close()
            save()

        return button(text, tip, clicked)

    def _pictures(self, suffixes: Mapping[str, str], tip: str, width: Callable[[], int]) -> dict[str, w.Button]:
        return {
            text: self._button(text, tip, partial(self._picture, suffix, width)) for text, suffix in suffixes.items()
        }

    def _picture(self, suffix: str, width: Callable[[], int]) -> None:
        """Have the browser draw the chart."""

        def drawn(state: State, schedule: Schedule, _: list[Item]) -> None:
            devices = counted(schedule.problem.cluster.n_devices, "device")
            by = f"{state.placer} + {state.scheduler}"
            makespan = schedule.problem.cluster.units.time(schedule.makespan)
            self.draw(_name(state, suffix), f"{state.model.title} · {by} · {devices} · makespan {makespan}", width())

        self._with_shown(drawn)

    def _save(self, suffix: str, kind: str, write: Write) -> None:
        """Write a file where the kernel runs, hand it to the browser, and delete it."""

        def saved(state: State, schedule: Schedule, numbers: list[Item]) -> None:
            if state.placed is not None:
                raise UnsupportedError(PLACE_ALL)
            name = _name(state, suffix)
            with TemporaryDirectory() as folder:
                path = Path(folder) / name
                write(schedule, path, numbers)
                self._frame.download(name, path.read_bytes(), kind)

        self._with_shown(saved)

    def _save_table(self, title: str) -> None:
        """Hand a table to the browser."""

        def saved(state: State, _: Schedule, __: list[Item]) -> None:
            name = _name(state, f".{title.lower().replace(' ', '-')}.csv")
            try:
                content = columns_csv(self._table(title)).encode()
            except UnfinishedError as error:
                self._awaited = title, error.of
                return self._say(str(error), "note")
            self._frame.download(name, content, "text/csv")

        self._awaited = "", ""
        self._with_shown(saved)

    def more_of(self, title: str, of: str) -> None:
        """Save a table that was asked for if it is whole now, or say how much there is; say that another one has begun, if so."""
        awaited, key = self._awaited
        if awaited != title:
            return
        if key == of:
            return self._save_table(title)
        self._awaited = "", ""
        self._say(f"There is no file, as what was asked for has changed: download {title} again.", "note")

    def _with_shown(self, act: Callable[[State, Schedule, list[Item]], None]) -> None:
        """Do something with what is shown; say why where it cannot be done."""
        try:
            act(*self._shown())
        except Exception as error:
            self._say(sentence(error), "bad")


def _name(state: State, suffix: str) -> str:
    by = state.placer.replace(" ", "-")
    return f"{code.file_name(state, state.model.title).removesuffix('.json.gz')}-{by}-{state.scheduler}{suffix}"


KEEP_TIP = "Keep this schedule: its outline stays behind the next ones, and numbers show the change"


class Actions:
    """The buttons at the right end of the top bar.

    Parameters
    ----------
    shown, table
        What can be downloaded, see :class:`Downloads`.
    keep
        Called with whether the schedule shown is to be kept.

    Attributes
    ----------
    frame
        Full screen, presenting and the splitter; it hands downloads to the browser.
    downloads
        The panel of files to download.
    """

    def __init__(
        self, shared: Shared, session: Session, shown: Shown, table: Table, keep: Callable[[bool], None]
    ) -> None:
        self._session = session
        self.undo = button("↶", "Undo the last change, of the pickers or the cluster", shared.undo)
        self.redo = button("↷", "Redo what was undone", shared.redo)
        self.code = CodeButton(comm=PartComm())
        self.code.observe(lambda _: self.save_graph(), "copies")
        self.code.observe(lambda _: self.save_plan(), "copies")
        self.frame = Frame(comm=PartComm())
        self.keep = w.ToggleButton(description="◈ Keep", tooltip=KEEP_TIP)
        self.keep.observe(lambda change: keep(change["new"]), "value")
        self.downloads = Downloads(shown, table, self.frame, shared.say)
        widgets = [self.undo, self.redo, self.code, self.downloads.popover.box, self.keep, self.frame]
        self.box = w.HBox(widgets).add_class("pl-actions")

    def show(self) -> None:
        """Enable undo and redo where there are steps."""
        self.undo.disabled = not self._session.steps.past
        self.redo.disabled = not self._session.steps.future

    def offer_code(self) -> None:
        """Send the text of the cell to the browser, so that a click copies at once."""
        self.code.code = code.cell(self._session.state)

    def save_graph(self) -> None:
        """Save a graph that no expression loads to the file that the copied cell reads."""
        state = self._session.state
        model = (state.base or state).model
        if not model.code:
            path = Path(code.file_name(state))
            model.graph.save(path)
            self.code.note = f"The graph is saved as {path}, beside the notebook."

    def save_plan(self) -> None:
        """Save a long plan by hand to the file that the copied cell reads."""
        state = self._session.state
        if state.own_plan and code.is_long(state.own_plan):
            path = Path(code.plan_file(state))
            state.own_plan.placement(state.problem()).save(path)
            self.code.note = f"The plan is saved as {path}, beside the notebook."


# -------------------------------------------------------------------- what the details drawer shows, as tables of raw numbers


def curve_columns(gantt: Gantt) -> dict[str, Any]:
    """A row per value of the curve that is shown: the value, and the makespan with it; UnsupportedError while there is none.

    UnfinishedError while it is computed.
    """
    curve = gantt.curve
    if why := curve.get("none", ""):
        raise UnsupportedError(f"there is no curve to download: {why.removeprefix('No curve: ')}")
    if not gantt.value:
        raise UnsupportedError("there is no curve to download: click a value of the cluster first")
    if not curve:  # as soon as the value is chosen
        raise UnfinishedError("The curve is being computed; its file follows.", curve_key(gantt))
    _settled(gantt, curve)
    if missing := curve.get("missing", 0):
        said = f"The curve is being computed, {missing} values are left; its file follows."
        raise UnfinishedError(said, curve_key(gantt))
    if not curve["values"]:
        raise UnsupportedError("there is no curve to download: no value that was tried gives a schedule")
    kind = gantt.value["kind"]
    columns = {gantt.value.get("label", kind): UNITS[kind], "makespan": "s"}
    heads = columns if gantt.unitless else [f"{name} [{unit}]" for name, unit in columns.items()]
    return dict(zip(heads, (list(curve["values"]), list(curve["makespans"])), strict=True))


def curve_key(gantt: Gantt) -> str:
    """A key of the state and the value of which there is a curve, or is going to be; "" where no value is chosen."""
    return f"{gantt.curve.get('of', gantt.result_of)} {gantt.value}" if gantt.value else ""


def details_columns(gantt: Gantt) -> dict[str, Any]:
    """A row per fact of what is selected: name, value, unit; UnsupportedError while nothing is."""
    details = gantt.details
    if not details.get("figures"):
        raise UnsupportedError(
            "there are no details to download: click an op, a transfer, an idle gap, a device, or a value of the cluster"
        )
    _settled(gantt, details)
    name, value, unit = zip(*details["figures"], strict=True)
    return {"name": list(name), "value": np.array(value, object), "unit": list(unit)}


def _settled(gantt: Gantt, said: dict[str, Any]) -> None:
    """Refuse what was said of the state before."""
    if said.get("of") != gantt.result_of:
        raise UnsupportedError("the details are computed anew; download them again in a moment")

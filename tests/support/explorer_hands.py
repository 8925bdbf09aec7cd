"""Use the explorer without a browser: pick, press, drag, edit, upload, and read its widgets."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import numpy as np

import placelab as pl
from placelab.app.explorer import Explorer
from placelab.app.widgets import controls as w

CLUSTER = pl.Cluster.from_hosts({"a": 2, "b": 2}, memory=16e9, inside=(300e9, 5e-6), between=(12e9, 50e-6))


def pick(explorer: Explorer, label: str, value: Any) -> None:
    """Choose in the menu with this label, as the browser does."""
    next(menu for menu in widgets(explorer) if getattr(menu, "description", "") == label).value = value


def widgets(widget: w.Widget) -> list[w.Widget]:
    """A widget and all below it."""
    return [widget, *(found for child in getattr(widget, "children", ()) for found in widgets(child))]


def shown(widget: w.Widget) -> bool:
    """Whether a widget is visible."""
    return not widget.hidden


def press(box: w.Widget, text: str) -> None:
    """Click the visible button of this text in a box."""
    (found,) = (x for x in widgets(box) if isinstance(x, w.Button) and x.description == text and shown(x))
    found.click()


def classes(widget: w.Widget) -> tuple[str, ...]:
    """Classes of a control's style; a view has none."""
    return tuple(getattr(widget, "classes", ()))


def of_class(box: w.Widget, name: str) -> w.Widget:
    """The widget of this CSS class in a box."""
    (found,) = (x for x in widgets(box) if name in classes(x))
    return found


def look(explorer: Explorer) -> None:
    """Open a view of the explorer: a page counts its own."""
    explorer.views = 1


def message(explorer: Explorer) -> str:
    """The sentence for errors and notes, as HTML, and that of the panel of a strategy that failed."""
    return explorer.message.text.value + explorer.failure_panel.said.failure.get("sentence", "")


def figures(explorer: Explorer) -> str:
    """Labels and values in the row of numbers."""
    return " ".join(f"{item['label']} {item['value']}" for item in explorer.numbers.figures.items)


def edit(explorer: Explorer, kind: str, **message: Any) -> None:
    """One message of the canvas."""
    explorer.canvas.edit = {"kind": kind, "seq": max(explorer.canvas.ack, default=0) + 1, **message}


def drag(explorer: Explorer, *values: float, release: bool = True) -> None:
    """Pull the link between the first two devices."""
    gesture = max(explorer.canvas.ack, default=0) + 1000
    for value in values:
        edit(explorer, "bandwidth", pairs=[[0, 1], [1, 0]], value=value, gesture=gesture, final=False)
    if release:
        edit(explorer, "release", gesture=gesture, final=True)


def release(explorer: Explorer) -> None:
    """End the drag in progress."""
    edit(explorer, "release", gesture=explorer.canvas.gesture, final=True)


def upload(explorer: Explorer, name: str, data: bytes, piece: int = 1 << 20) -> None:
    """Send a file as the browser does, and wait until it is read."""
    models = explorer.pickers.models
    upload = uuid4().hex
    for at in range(0, max(len(data), 1), piece):
        sent = {"kind": "piece", "id": upload, "name": name, "size": len(data), "at": at}
        models.upload.obey(sent, [memoryview(data)[at : at + piece]])
    assert models.opening.settled(120)


def wait_for(holds: Any) -> None:
    """Wait until a background thread has made the condition true: on a busy machine that takes half a minute."""
    until = time.monotonic() + 90
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)


def cell(explorer: Explorer) -> pl.Schedule:
    """The schedule that the copied cell returns."""
    names: dict[str, Any] = {}
    exec(explorer.code, names)
    return names["schedule"]


def reproduces(explorer: Explorer) -> bool:
    """Whether the copied cell gives exactly the schedule that is shown."""
    shown = explorer.schedule
    made = cell(explorer)
    columns = ("speed", "memory", "bandwidth", "latency", "names", "types", "hosts")
    same_cluster = all(
        np.array_equal(getattr(shown.problem.cluster, c), getattr(made.problem.cluster, c)) for c in columns
    )
    same_times = np.array_equal(shown.start, made.start) and np.array_equal(shown.finish, made.finish)
    return same_cluster and same_times and np.array_equal(shown.device, made.device)

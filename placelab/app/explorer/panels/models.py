"""Choose the model: a menu of datasets, and files by path, by upload or dropped on the explorer."""

from __future__ import annotations

from collections.abc import Callable
from os.path import isfile  # of Path, it would raise where a folder may not be read
from pathlib import Path
from typing import Any

import ipywidgets as w

from placelab.app.explorer.panels.choose import choose
from placelab.app.explorer.panels.opening import Opening
from placelab.app.explorer.panels.popover import opens
from placelab.app.explorer.state import Model, model_names, model_of
from placelab.app.widgets.frame import Files
from placelab.base.units import si
from placelab.costs import Profile
from placelab.graphs.loading import SAVED_MODEL, opened, suffixes

OFFERED = 200  # names that the path field completes
HINT = (
    "TensorFlow, ONNX, execution traces, workflows, DOT, placelab JSON …; files can be dropped anywhere here. A profile of a "
    "run gives the model that is shown its times. From a cell, <code>pl.explore(G)</code> takes a networkx DiGraph or a "
    "<code>torch.export</code> program."
)


class ModelPicker:
    """The menu, the button that opens the panel, the panel with a path field and an upload, and the line of the file being read.

    Parameters
    ----------
    pick
        Called with a model that is to be shown.
    measure
        Called with the name and the content of a profile.
    say
        Shows a sentence in a tone.
    """

    def __init__(
        self, pick: Callable[[Model], None], measure: Callable[[str, Profile], None], say: Callable[[str, str], None]
    ) -> None:
        self._pick, self._measure, self._say = pick, measure, say
        self._opened: dict[str, Model] = {}
        self._title, self._quiet = "", False
        self._failed_path = ""  # the path that could not be read
        self.opening = Opening(self._failed)
        self.menu = w.Dropdown(description="Model", tooltip="The graph that is placed.", layout=w.Layout(width="auto"))
        self.toggle = w.ToggleButton(
            description="Open file…",
            tooltip="A model of your own, by path or upload; files can be dropped anywhere on the explorer",
            layout=w.Layout(width="auto"),
        )
        self.path = w.Combobox(
            description="Path on the kernel's machine",
            placeholder="model.onnx, graph.pb …, then Enter",
            continuous_update=False,
            layout=w.Layout(width="340px"),
        )
        self.upload = Files(accept=",".join([*(s for s in suffixes() if not s.endswith(".gz")), ".gz"]))
        self.upload.on_piece, self.upload.on_file = self._arriving, self._uploaded
        self.upload.on_refused = self._refused
        hint = w.HTML(HINT).add_class("pl-about")
        self.panel = w.HBox([self.path, self.upload, hint]).add_class("pl-row").add_class("pl-open")
        self.menu.observe(self._chosen, "value")
        self.toggle.observe(
            self._list_files, "value"
        )  # before the field is seen: new options clear what is typed in it
        opens(self.toggle, self.panel)
        self.path.observe(lambda change: self._typed(change["new"]), "value")
        self.path.on_msg(self._entered)

    def show(self, model: Model) -> None:
        """Show which model is chosen, without calling `pick`."""
        self._opened[model.title] = model
        self._title, self._quiet = model.title, True  # a menu whose options change has another value for a moment
        names = model_names()
        choose(self.menu, [*names, *(t for t in self._opened if t not in names)], model.title)
        self._quiet = False

    def close(self) -> None:
        """End the thread."""
        self.opening.close()

    def _chosen(self, change: Any) -> None:
        title = change["new"]
        if not self._quiet and title != self._title:
            self.opening.read(title, lambda: self._opened.get(title) or model_of(title), self._take)

    def _typed(self, path: str) -> None:
        path, self._failed_path = path.strip(), ""
        if path:
            self._say("", "")
            self.opening.read(path, lambda: model_of(path), self._take)

    def _entered(self, _: Any, content: Any, __: Any) -> None:
        """Read the same path again on Enter if it could not be read: the file may have changed."""
        if content == {"event": "submit"} and self.path.value == self._failed_path:
            self._typed(self._failed_path)

    def _arriving(self, name: str, have: int, size: int) -> None:
        if have < size:
            self.opening.say(f"Uploading {name}: {si(have, 'B')} of {si(size, 'B')}")

    def _uploaded(self, name: str, data: bytes) -> None:
        shown = self._opened[self._title].graph

        def read() -> Any:
            content = opened(data, name, shown)
            return (name, content) if isinstance(content, Profile) else Model(name, content)

        self.opening.read(f"{name}, {si(len(data), 'B')}", read, self._take)

    def _refused(self, name: str, reason: str) -> None:
        large = (
            f"has more than the {si(self.upload.limit, 'B')} that are uploaded; give its path on the kernel's machine"
        )
        self._failed(f"{name} {large}" if reason == "large" else f"{name} did not arrive: {reason}")

    def _take(self, content: Any) -> None:
        if isinstance(content, Model):
            self._pick(content)
        else:
            self._measure(*content)
        self.toggle.value = False

    def _failed(self, reason: str) -> None:
        self.opening.say("")
        self._failed_path = self.path.value
        self._say(reason, "bad")
        self.menu.value = self._title

    def _list_files(self, _: Any) -> None:
        if self.toggle.value:
            self.path.options = openable_files(Path())


def openable_files(folder: Path) -> list[str]:
    """Paths in a folder that can be opened, by suffix or as a SavedModel, sorted; the first `OFFERED`."""
    known = tuple(suffixes())
    try:
        found = list(folder.iterdir())
    except OSError:  # it is gone, or may not be listed
        return []
    models = [path for path in found if path.name.lower().endswith(known) or isfile(path / SAVED_MODEL)]
    return sorted(map(str, models))[:OFFERED]

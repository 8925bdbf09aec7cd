"""Which model? A menu of those there are, and files: by path, by upload, dropped on the explorer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ipywidgets as w

from placelab.costs import Profile
from placelab.explorer.choose import choose
from placelab.explorer.opening import Opening
from placelab.explorer.state import Model, model_names, model_of
from placelab.loading import SAVED_MODEL, opened, suffixes
from placelab.units import si
from placelab.widgets.file_picker import Files

OFFERED = 200  # files whose names the path field completes
HINT = (
    "TensorFlow, ONNX, execution traces, workflows, DOT, placelab JSON …; files can be dropped anywhere here. A profile of a "
    "run gives the model that is shown its times. From a cell, <code>pl.explore(G)</code> takes a networkx DiGraph or a "
    "<code>torch.export</code> program."
)


class ModelPicker:
    """The menu, the button that opens the panel, the panel with a path field and an upload, and the line of what is read.

    Parameters
    ----------
    pick
        Takes a model that is to be shown.
    measure
        Takes the name and the content of a profile.
    say
        Takes a sentence and its tone.
    """

    def __init__(
        self, pick: Callable[[Model], None], measure: Callable[[str, Profile], None], say: Callable[[str, str], None]
    ) -> None:
        self._pick, self._measure, self._say = pick, measure, say
        self._opened: dict[str, Model] = {}
        self._title, self._quiet = "", False
        self._failing = ""  # the path that could not be read
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
        self.upload.on_piece, self.upload.on_file, self.upload.on_refused = self._coming, self._uploaded, self._refused
        hint = w.HTML(HINT).add_class("pl-about")
        self.panel = w.HBox([self.path, self.upload, hint]).add_class("pl-row").add_class("pl-open")
        self._reveal()
        self.menu.observe(self._chosen, "value")
        self.toggle.observe(self._reveal, "value")
        self.path.observe(lambda change: self._typed(change["new"]), "value")
        self.path.on_msg(self._entered)

    def show(self, model: Model) -> None:
        """Let the menu say which model is shown."""
        self._opened[model.title] = model
        self._title, self._quiet = model.title, True  # other options come with a value of their own for a moment
        names = model_names()
        choose(self.menu, [*names, *(t for t in self._opened if t not in names)], model.title)
        self._quiet = False

    def close(self) -> None:
        """End the thread that reads."""
        self.opening.close()

    def _chosen(self, change: Any) -> None:
        title = change["new"]
        if not self._quiet and title != self._title:
            self.opening.read(title, lambda: self._opened.get(title) or model_of(title), self._take)

    def _typed(self, path: str) -> None:
        path, self._failing = path.strip(), ""
        if path:
            self._say("", "")
            self.opening.read(path, lambda: model_of(path), self._take)

    def _entered(self, _: Any, content: Any, __: Any) -> None:
        """Enter again, on a path that has not changed: perhaps the file has."""
        if content == {"event": "submit"} and self.path.value == self._failing:
            self._typed(self._failing)

    def _coming(self, name: str, have: int, size: int) -> None:
        if have < size:
            self.opening.say(f"Uploading {name}: {si(have, 'B')} of {si(size, 'B')}")

    def _uploaded(self, name: str, data: bytes) -> None:
        shown = self._opened[self._title].graph

        def read() -> Any:
            found = opened(data, name, shown)
            return (name, found) if isinstance(found, Profile) else Model(name, found)

        self.opening.read(f"{name}, {si(len(data), 'B')}", read, self._take)

    def _refused(self, name: str, reason: str) -> None:
        large = (
            f"has more than the {si(self.upload.limit, 'B')} that are uploaded; give its path on the kernel's machine"
        )
        self._failed(f"{name} {large}" if reason == "large" else f"{name} did not arrive: {reason}")

    def _take(self, found: Any) -> None:
        if isinstance(found, Model):
            self._pick(found)
        else:
            self._measure(*found)
        self.toggle.value = False

    def _failed(self, told: str) -> None:
        self.opening.say("")
        self._failing = self.path.value
        self._say(told, "bad")
        self.menu.value = self._title

    def _reveal(self, _: Any = None) -> None:
        self.panel.layout.display = "flex" if self.toggle.value else "none"
        if self.toggle.value:
            self.path.options = _files(Path())


def _files(folder: Path) -> list[str]:
    """Paths that can be opened, by name."""
    known = tuple(suffixes())
    models = [path for path in folder.iterdir() if path.name.lower().endswith(known) or (path / SAVED_MODEL).is_file()]
    return sorted(map(str, models))[:OFFERED]

"""Choose the transformations of the graph before it is placed: a row of toggles, applied in the order of pressing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from html import escape
from typing import Any

import ipywidgets as w

from placelab.app.explorer.panels.options import Controls
from placelab.app.explorer.panels.popover import opens
from placelab.app.explorer.state import Change, State
from placelab.schedule.catalogue import Transform, transforms

TIP = "Make the graph smaller before it is placed; the placement of the smaller one is that of the whole."
HINT = "In the order pressed. The partitioner places what they leave; all ops follow."


class PreparePicker:
    """The button that lists the transformations, the panel it opens, and how many ops are left.

    Parameters
    ----------
    change
        Called with each change of the state, and the key under which quick repetitions are one step.

    Attributes
    ----------
    toggles, controls
        By transformation: the button that applies it, and the controls of its options.
    """

    def __init__(self, change: Callable[[Change, str], None]) -> None:
        self._change, self._quiet = change, False
        self._chosen: tuple[str, ...] = ()
        self.toggles: dict[str, w.ToggleButton] = {}
        self.controls: dict[str, Controls] = {}
        self.toggle = w.ToggleButton(tooltip=TIP, layout=w.Layout(width="auto"))
        self.about = w.HTML().add_class("pl-about")
        self.panel = w.HBox().add_class("pl-row").add_class("pl-open")
        self.box = w.VBox([self.toggle, self.about]).add_class("pl-prepare")
        opens(self.toggle, self.panel)

    def show(self, state: State) -> None:
        """Show the transformations of `state`, without calling `change`."""
        self._quiet = True
        try:
            if list(self.toggles) != list(transforms()):
                self._rebuild()
            self._chosen = state.prepare
            for name, toggle in self.toggles.items():
                self._show_step(name, toggle, dict(state.preparation))
        finally:
            self._quiet = False
        self.toggle.description = "Prepare: " + " → ".join(state.prepare) if state.prepare else "Prepare…"
        if not state.prepare:
            self.about.value = ""

    def show_count(self, before: int, after: int) -> None:
        """Show how many ops there are and how many were placed."""
        self.about.value = f"<div>{before:,} → {after:,} ops</div>" if self._chosen else ""

    def _show_step(self, name: str, toggle: w.ToggleButton, chosen: Mapping[str, Mapping[str, Any]]) -> None:
        toggle.value = name in chosen
        toggle.description = f"{self._chosen.index(name) + 1} · {name}" if toggle.value else name
        controls = self.controls[name]
        controls.show(transforms()[name], chosen.get(name, {}))
        controls.box.layout.display = "" if toggle.value else "none"

    def _rebuild(self) -> None:
        self.toggles = {name: self._toggle(name, function) for name, function in transforms().items()}
        self.controls = {name: Controls(self._option(name)) for name in self.toggles}
        steps = [w.HBox([self.toggles[name], self.controls[name].box]) for name in self.toggles]
        hint = w.HTML(escape(HINT)).add_class("pl-about")
        self.panel.children = (*(step.add_class("pl-choice") for step in steps), hint)

    def _toggle(self, name: str, function: Transform) -> w.ToggleButton:
        tip = f"{function.summary} {function.source}".strip()
        toggle = w.ToggleButton(description=name, tooltip=tip, layout=w.Layout(width="auto"))
        toggle.observe(lambda change: self._pressed(name, change["new"]), "value")
        return toggle

    def _pressed(self, name: str, chosen: bool) -> None:
        if self._quiet:
            return
        others = tuple(other for other in self._chosen if other != name)
        self._change(lambda s: replace(s, prepare=(*others, name) if chosen else others), "")

    def _option(self, name: str) -> Callable[[dict[str, Any], str], None]:
        def moved(values: dict[str, Any], option: str) -> None:
            self._change(lambda s: s.with_option_values("transform", name, values), f"transform {name} {option}")

        return moved

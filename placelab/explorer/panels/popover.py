"""A button that opens a panel over what is below it, so that nothing moves."""

from __future__ import annotations

from typing import Any

import ipywidgets as w


class Popover:
    """A toggle and the panel that it opens.

    Escape and a click elsewhere close it, in the browser (``widgets/frame``).

    Attributes
    ----------
    box
        The button; the panel is in it and stands over the rest of the page. `toggle` and `panel` are the two.
    """

    def __init__(self, text: str, tip: str, *content: w.Widget) -> None:
        self.toggle = w.ToggleButton(description=text, tooltip=tip, layout=w.Layout(width="auto"))
        self.toggle.add_class("pl-opens")
        self.panel = w.VBox(list(content)).add_class("pl-popover")
        self.box = w.HBox([self.toggle, self.panel]).add_class("pl-pops")
        self.toggle.observe(self._reveal, "value")
        self._reveal()

    def close(self) -> None:
        """Hide the panel."""
        self.toggle.value = False

    def _reveal(self, _: Any = None) -> None:
        self.panel.layout.display = "flex" if self.toggle.value else "none"

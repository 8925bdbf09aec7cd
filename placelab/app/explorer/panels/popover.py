"""A button that opens a panel over what is below it, so that nothing moves."""

from __future__ import annotations

import ipywidgets as w


def opens(toggle: w.ToggleButton, panel: w.Box) -> None:
    """Show a panel while a toggle is pressed."""

    def reveal(_: object = None) -> None:
        panel.layout.display = "flex" if toggle.value else "none"

    toggle.observe(reveal, "value")
    reveal()


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
        opens(self.toggle, self.panel)

    def close(self) -> None:
        """Hide the panel."""
        self.toggle.value = False

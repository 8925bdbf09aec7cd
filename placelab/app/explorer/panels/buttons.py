"""Make a button."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w


def button(text: str, tip: str, act: Callable[[], None]) -> w.Button:
    """A button as wide as its text; a click calls `act`."""
    made = w.Button(description=text, tooltip=tip, layout=w.Layout(width="auto"))
    made.on_click(lambda _: act())
    return made

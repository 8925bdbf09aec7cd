"""A button with a text, a tip and something to do."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets as w


def button(text: str, tip: str, act: Callable[[], None]) -> w.Button:
    """As wide as its text; a click calls `act`."""
    made = w.Button(description=text, tooltip=tip, layout=w.Layout(width="auto"))
    made.on_click(lambda _: act())
    return made

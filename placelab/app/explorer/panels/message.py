"""A line for one sentence: an error or a note."""

from __future__ import annotations

from html import escape
from typing import Any

import ipywidgets as w


class Message(w.HTML):
    """A line that is hidden while it is empty."""

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.add_class("pl-message")
        self.say("")

    def say(self, text: str, tone: str = "", details: str = "") -> None:
        """Show `text` in the tone ``"bad"`` or ``"note"``; "" hides the line. `details` is HTML shown below the text."""
        role = "alert" if tone == "bad" else "status"
        self.value = f'<div role="{role}" class="{tone}">{escape(text)}{details}</div>' if text else ""
        self.layout.display = "" if text else "none"

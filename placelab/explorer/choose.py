"""A menu that gets other choices and a value at once."""

from __future__ import annotations

import ipywidgets as w


def choose(menu: w.Dropdown, options: list[str], value: str) -> None:
    """Other choices and a value in one step, so that the browser never sees one without the other."""
    with menu.hold_sync():
        if list(menu.options) != options:
            menu.options = options
        menu.value = value

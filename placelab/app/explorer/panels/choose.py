"""Set the choices and the value of a menu at once."""

from __future__ import annotations

import ipywidgets as w


def choose(menu: w.Dropdown, options: list[str], value: str) -> None:
    """Set choices and value in one message, so that the browser never shows one without the other."""
    with menu.hold_sync():
        if list(menu.options) != options:
            menu.options = options
        menu.value = value

"""The row of numbers under the top bar, and beside them what there is to say, in one line that opens over the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import ipywidgets as w

from placelab.app.explorer.panels.item import Item

ORDER = ("makespan", "speedup", "gap", "memory", "legal", "critical", "moved")  # without room, the last drop out
LABELS = {"makespan": "", "critical": "Path", "memory": "Peak", "legal": ""}  # shorter ones, for one line


class Numbers:
    """The row; its height never changes. Figures for which there is no room are in the tooltip of the others.

    Parameters
    ----------
    notices
        Widgets that show warnings, notes, errors and progress; those that are empty are hidden. Where they do not fit, they are
        seen whole under the pointer or with the focus.

    Attributes
    ----------
    box
        The row; `text` is the widget with the numbers.
    """

    def __init__(self, *notices: w.Widget) -> None:
        self.text = w.HTML().add_class("pl-figures")
        self.warning = w.HTML().add_class("pl-warning")
        self.warning.layout.display = "none"
        said = w.HBox([*notices, self.warning]).add_class("pl-notices")
        self.box = w.HBox([self.text, said]).add_class("pl-numbers")

    def show(self, items: Sequence[Item], warning: str) -> None:
        """Show numbers, as :func:`placelab.app.explorer.panels.strip.numbers` writes them, and a warning."""
        first = sorted(items, key=lambda item: ORDER.index(item["key"]) if item["key"] in ORDER else len(ORDER))
        all_of_them = " · ".join(f"{item['label']} {item['value']}" for item in first)
        self.text.value = (
            f'<div role="list">{"".join(_figure(item, all_of_them * (not i)) for i, item in enumerate(first))}</div>'
        )
        self.warning.value = f'<div role="status" title="{escape(warning)}">{escape(warning)}</div>' if warning else ""
        self.warning.layout.display = "" if warning else "none"


def _figure(item: Item, rest: str) -> str:
    label, value = LABELS.get(item["key"], item["label"]), item["value"]
    if item["key"] == "critical":
        value = value.replace(" % ·", " ·")
    tip = f"{item['label']}. {item['title']}" + (f"\n{rest}" if rest else "")
    return (
        f'<span role="listitem" class="{escape(item["tone"])}" data-key="{escape(item["key"])}" title="{escape(tip)}">'
        f"<i>{escape(label)}</i> <b>{escape(value)}</b></span>"
    )

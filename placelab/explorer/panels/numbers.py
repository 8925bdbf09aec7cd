"""The row of numbers under the top bar, and beside them what there is to say, in one line that opens over the page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import ipywidgets as w

from placelab.explorer.panels.strip import Item


class Numbers:
    """The row; its height never changes.

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
        """Show numbers, as :func:`placelab.explorer.panels.strip.numbers` writes them, and a warning."""
        self.text.value = f"<dl>{''.join(map(_figure, items))}</dl>"
        self.warning.value = f'<div role="status" title="{escape(warning)}">{escape(warning)}</div>' if warning else ""
        self.warning.layout.display = "" if warning else "none"


def _figure(item: Item) -> str:
    tip = f"{item['label']}. {item['title']}"
    return (
        f'<div class="{escape(item["tone"])}" data-key="{escape(item["key"])}" title="{escape(tip)}">'
        f"<dt>{escape(item['label'])}</dt><dd>{escape(item['value'])}</dd></div>"
    )

"""A button that copies the text of a cell and shows it. Traits only."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets


class CodeButton(anywidget.AnyWidget):
    """Copies `code` in the browser, where the clipboard is.

    Examples
    --------
    >>> CodeButton(code="1 + 1")
    CodeButton(1 lines)
    """

    _esm = Path(__file__).parent / "static" / "code.js"

    code = traitlets.Unicode("").tag(sync=True)  # kept current, so that a click copies at once
    copies = traitlets.Int(0).tag(sync=True)  # counts clicks, in the browser
    note = traitlets.Unicode("").tag(sync=True)  # a sentence above the text, as where the graph was saved

    def __repr__(self) -> str:
        return f"CodeButton({len(self.code.splitlines())} lines)"

"""What surrounds the explorer's views in the page: splitter, full screen, presenting, downloads. Traits and messages only."""

from __future__ import annotations

from pathlib import Path

import anywidget
import traitlets


class Frame(anywidget.AnyWidget):
    """Two buttons, and what the page does around them: see ``widgets/frame``."""

    _esm = Path(__file__).parent / "static" / "frame.js"

    split = traitlets.Float(0.4).tag(sync=True)  # share of the height below the top rows that the middle row takes

    def download(self, name: str, content: bytes, kind: str) -> None:
        """Have the browser download a file of MIME type `kind`."""
        self.send({"download": name, "type": kind}, [content])

    def __repr__(self) -> str:
        return "Frame()"

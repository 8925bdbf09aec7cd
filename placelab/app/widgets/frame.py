"""The frame around the explorer's views in the page: splitter, full screen, presenting, downloads. Traits and messages only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets


class Frame(anywidget.AnyWidget):
    """Two buttons, and what the page does around them: see ``widgets/frame``."""

    _esm = Path(__file__).parent / "static" / "frame.js"

    split = traitlets.Float(0.4).tag(sync=True)  # share of the height below the top rows that the middle row takes

    tips = traitlets.Dict().tag(sync=True)  # what the page says when the pointer is on a menu, by the menu's name

    whole = traitlets.Unicode().tag(sync=True)  # id of the widget that the frame surrounds

    picture: traitlets.List[str] = traitlets.List().tag(sync=True)  # class and number of the newest saved picture
    on_stale_picture: Callable[[], None] | None = None  # called when the page has an earlier one, and gets no newer one

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(self._hear)

    def expect_picture(self, name: str, number: int) -> None:
        """Have the page check whether it has received the saved picture of this class and number."""
        self.picture = [name, str(number)]

    def _hear(self, _: object, content: Any, __: object) -> None:
        if content == "stale picture" and self.on_stale_picture:
            self.on_stale_picture()

    def download(self, name: str, content: bytes, kind: str) -> None:
        """Have the browser download a file of MIME type `kind`."""
        self.send({"download": name, "type": kind}, [content])

    def __repr__(self) -> str:
        return "Frame()"

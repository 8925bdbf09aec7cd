"""A button that uploads files, and takes those that are dropped on the explorer around it. Messages only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets


class Files(anywidget.AnyWidget):
    """Files of the browser's machine, in pieces, one file after the other.

    Attributes
    ----------
    on_piece
        Called with a file's name, the bytes that have arrived and those it has.
    on_file
        Called with the name and the content of a file that is complete.
    on_refused
        Called with the name and the reason, ``"large"`` or the browser's own words.

    Examples
    --------
    >>> Files(accept=".json,.onnx").limit
    268435456
    """

    _esm = Path(__file__).parent / "static" / "files.js"

    accept = traitlets.Unicode("").tag(sync=True)
    limit = traitlets.Int(256 << 20).tag(sync=True)  # bytes

    on_piece: Callable[[str, int, int], None] = staticmethod(lambda name, have, size: None)
    on_file: Callable[[str, bytes], None] = staticmethod(lambda name, data: None)
    on_refused: Callable[[str, str], None] = staticmethod(lambda name, reason: None)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._data = bytearray()
        self.on_msg(self._receive)

    def _receive(self, _: Any, piece: Any, buffers: list[Any]) -> None:
        try:
            self._take(Path(str(piece["name"])).name, piece["size"], piece["at"], piece.get("error", ""), buffers)
        finally:
            self.send({"arrived": True})  # the next one may come

    def _take(self, name: str, size: int, at: int, error: str, buffers: list[Any]) -> None:
        if at == 0:
            self._data = bytearray()
        if not error and (at != len(self._data) or not buffers or at + len(buffers[0]) > self.limit):
            error = "a piece of it is missing"
        if error:
            return self.on_refused(name, error)
        self._data += buffers[0]
        self.on_piece(name, len(self._data), size)
        if len(self._data) >= size:
            data, self._data = bytes(self._data), bytearray()
            self.on_file(name, data)

    def __repr__(self) -> str:
        return f"Files({self.accept})"

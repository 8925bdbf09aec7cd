"""Upload files by a button, or by dropping them on the explorer around it. Messages only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets


class Files(anywidget.AnyWidget):
    """A button that receives files from the browser's machine, in pieces, one file after another.

    Attributes
    ----------
    on_piece
        Called with a file's name, the number of bytes that have arrived, and the size of the file.
    on_file
        Called with the name and the content of a complete file.
    on_refused
        Called with the name and the reason: ``"large"`` or a sentence.

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
        self.on_msg(lambda _, piece, buffers: self.receive(piece, buffers))

    def receive(self, piece: Any, buffers: list[Any]) -> None:
        """Take a piece of a file from the browser: ``name``, ``size``, ``at`` (its offset) or ``error``, and one buffer."""
        try:
            self._take(Path(str(piece["name"])).name, piece["size"], piece["at"], piece.get("error", ""), buffers)
        finally:
            self.send({"arrived": True})  # asks for the next piece

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

"""What is around the explorer's views: frame, upload of files, copy of a cell, line for commands. Traits and messages only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import traitlets

from placelab.app.widgets.whole import View


class Frame(View):
    """Two buttons, and what the page does around them: see ``widgets/frame``."""

    _esm = Path(__file__).parent / "static" / "frame.js"

    split = traitlets.Float(0.4).tag(sync=True)  # share of the height below the top rows that the middle row takes

    whole = traitlets.Unicode().tag(sync=True)  # id of the widget that the frame surrounds

    picture: traitlets.List[str] = traitlets.List().tag(sync=True)  # class and number of the newest saved picture
    failing = traitlets.Dict().tag(sync=True)  # source and line of the cell in which a strategy has failed; {} for none
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


class Files(View):
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
            data = bytes(self._data)
            self._data = bytearray()
            self.on_file(name, data)

    def __repr__(self) -> str:
        return f"Files({self.accept})"


class CodeButton(View):
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


class CommandPalette(View):
    """Offers for what is typed, of which one is chosen; opened by Ctrl+K anywhere in the explorer.

    Attributes
    ----------
    on_chosen
        Called with the number of the offer that was chosen, among the offers for `typed`.
    on_undo, on_redo
        Called by Ctrl+Z and Ctrl+Shift+Z anywhere in the explorer but in its text fields, and by the note's button.

    Examples
    --------
    >>> CommandPalette(offers=[{"phrase": "undo", "says": "", "kind": "edit"}])
    CommandPalette(1 offers)
    """

    _esm = Path(__file__).parent / "static" / "palette.js"

    typed = traitlets.Unicode("").tag(sync=True)  # set by the browser
    offers = traitlets.List(traitlets.Dict()).tag(sync=True)  # phrase, says, kind; those for `answers`
    answers = traitlets.Unicode("").tag(sync=True)  # the text that the offers are for
    done = traitlets.Dict().tag(sync=True)  # number, text: a note for some seconds; {} for none

    on_chosen: Callable[[int], None] = staticmethod(lambda number: None)
    on_undo: Callable[[], None] = staticmethod(lambda: None)
    on_redo: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self.on_msg(self._hear)

    def note(self, text: str) -> None:
        """Say what an edit did, with a button that undoes it."""
        self.done = {"number": self.done.get("number", 0) + 1, "text": text}

    def _hear(self, _: object, content: Any, __: object) -> None:
        if content == "undo":
            self.on_undo()
        elif content == "redo":
            self.on_redo()
        elif isinstance(content, dict) and content.get("typed") == self.answers:
            number = content.get("chosen")
            if isinstance(number, int) and 0 <= number < len(self.offers):
                self.on_chosen(number)

    def __repr__(self) -> str:
        return f"CommandPalette({len(self.offers)} offers)"

"""What is around the explorer's views: frame, upload of files, copy of a cell, line for commands. Traits and messages only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import traitlets

from placelab.app.widgets.whole import View
from placelab.base.threads import Worker

UPLOADS = 4  # that are under way or have just ended, of which is known what has arrived
QUIET = 30.0  # seconds without a piece after which a user is told


class Frame(View):
    """Two buttons, and what the page does around them: see ``widgets/frame``."""

    _esm = Path(__file__).parent / "static" / "frame.js"

    split = traitlets.Float(0.4).tag(sync=True)  # share of the height below the top rows that the middle row takes

    whole = traitlets.Unicode().tag(sync=True)  # id of the widget that the frame surrounds

    picture: traitlets.List[str] = traitlets.List().tag(sync=True)  # class and number of the newest saved picture
    failing = traitlets.Dict().tag(sync=True)  # source and line of the cell in which a strategy has failed; {} for none

    def expect_picture(self, name: str, number: int) -> None:
        """Have the page check whether it has received the saved picture of this class and number; else it says ``stale``."""
        self.picture = [name, str(number)]

    def download(self, name: str, content: bytes, kind: str) -> None:
        """Have the browser download a file of MIME type `kind`."""
        self.send({"download": name, "type": kind}, [content])


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
    on_stopped
        Called as `on_piece` where no more pieces come; should some come later, the file goes on.

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

    on_stopped: Callable[[str, int, int], None] = staticmethod(lambda name, have, size: None)

    def __init__(self, **traits: Any) -> None:
        super().__init__(**traits)
        self._data: dict[str, bytearray] = {}  # by upload
        self._done: dict[str, int] = {}  # sizes of the latest files that are complete: their last answer may be lost
        self._latest: tuple[str, str, int] | None = None  # id, name, size of the file of the latest piece
        self._watch = Worker(self._wait, "upload")
        self.handles = {"piece": self._receive, "refuse": self._receive}

    def _receive(self, id: str, name: str, size: int, at: int = 0, data: Any = None, why: str = "") -> None:
        """Take a piece of the upload `id`, which begins `at`, or the reason `why` there is none; answer how much has arrived."""
        try:
            if id not in self._done:
                self._take(id, Path(name).name, size, at, data, why)
        finally:
            have = self._done.get(id, len(self._data.get(id, b"")))
            self.send({"id": id, "have": have})  # asks for the next piece

    def _take(self, upload: str, name: str, size: int, at: int, piece: Any, error: str) -> None:
        if not error and (piece is None or at + len(piece) > self.limit):
            error = "a piece of it is missing"
        if error:
            self._end(upload, size)
            return self.on_refused(name, error)
        if upload not in self._data:
            self._data = {**dict([*self._data.items()][1 - UPLOADS :]), upload: bytearray()}
        data = self._data[upload]
        if at == len(data):  # else it has come before, or one before it is lost: the answer says where to go on
            data += piece
        self._latest = upload, name, size
        self._watch.wake()
        self.on_piece(name, len(data), size)
        if len(data) >= size:
            self._end(upload, size)
            self.on_file(name, bytes(data))

    def _end(self, upload: str, size: int) -> None:
        self._latest = None
        self._data.pop(upload, None)
        self._done = {**dict([*self._done.items()][1 - UPLOADS :]), upload: size}

    def _wait(self) -> None:
        """Say that nothing comes any more, unless something does."""
        if self._watch.sleep(QUIET) and (latest := self._latest) is not None:
            upload, name, size = latest
            self.on_stopped(name, len(self._data.get(upload, b"")), size)

    def close(self) -> None:
        """End the thread."""
        self._watch.close()
        super().close()


class CodeButton(View):
    """Copies `code` in the browser, where the clipboard is."""

    _esm = Path(__file__).parent / "static" / "code.js"

    verbatim = ("code",)

    code = traitlets.Unicode("").tag(sync=True)  # kept current, so that a click copies at once
    copies = traitlets.Int(0).tag(sync=True)  # counts clicks, in the browser
    note = traitlets.Unicode("").tag(sync=True)  # a sentence above the text, as where the graph was saved


class CommandPalette(View):
    """Offers for what is typed, of which one is chosen; opened by Ctrl+K anywhere in the explorer.

    Its commands are ``choose``, one of the offers for what was typed, and ``undo`` and ``redo``: Ctrl+Z and Ctrl+Shift+Z anywhere
    in the explorer but in its text fields, and the note's button.
    """

    _esm = Path(__file__).parent / "static" / "palette.js"

    verbatim = ("typed", "answers")

    typed = traitlets.Unicode("").tag(sync=True)  # set by the browser
    offers = traitlets.List(traitlets.Dict()).tag(sync=True)  # phrase, says, kind, press; those for `answers`
    answers = traitlets.Unicode("").tag(sync=True)  # the text that the offers are for
    done = traitlets.Dict().tag(sync=True)  # number, text, effect, redo: a note for some seconds; {} for none

    def note(self, text: str, effect: str = "", redo: bool = False) -> None:
        """Say what an edit did and its effect, which is never cut, with a button that undoes it, or does it again."""
        self.done = {"number": self.done.get("number", 0) + 1, "text": text, "effect": effect, "redo": redo}

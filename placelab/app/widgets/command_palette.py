"""A line in which a user types what is to be done, and a note that says what an edit did. Traits only."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import traitlets

from placelab.app.widgets.whole import View


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

"""Style sheets: what they cost while a hand drags."""

import re
from pathlib import Path

import placelab as pl
from placelab.app.explorer.readable import ALONE, SavedPicture

WIDGETS = Path(pl.__file__).parents[1] / "widgets"
HAS = ":has("


def arguments(css: str) -> list[str]:
    """What stands in the parentheses of each ``:has(…)``, those in it left out."""
    found = []
    for match in re.finditer(re.escape(HAS), css):
        depth, inside = 1, ""
        for letter in css[match.end() :]:
            depth += (letter == "(") - (letter == ")")
            if not depth:
                break
            inside += letter if depth == 1 else ""
        found.append(inside.strip())
    return found


def test_has_looks_at_a_fixed_depth():
    """No ``:has()`` looks at all that is below an element: a browser would do so with each text that changes there."""
    sheets = [path.read_text(encoding="utf-8") for path in WIDGETS.glob("*/*.css")]
    python = [ALONE, SavedPicture(lambda: None).hiding]
    found = [argument for sheet in [*sheets, *python] for argument in arguments(sheet)]
    assert len(found) > 10
    for argument in found:
        steps = re.sub(r"\s*([>+~])\s*", r"\1", argument)
        assert re.fullmatch(r"([>+~][^\s>+~]+)+", steps), (
            f":has({argument}) begins with no >, or has a step without one"
        )

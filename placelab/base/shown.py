"""What a notebook shows of an object at the end of a cell; :mod:`placelab.pictures` draws it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_draw: Callable[[Any], str] = repr


def draw_with(draw: Callable[[Any], str]) -> None:
    """Have objects drawn by a function that returns HTML; the rooms of graphs and schedules know no pictures."""
    global _draw
    _draw = draw


def bundle(shown: Any) -> dict[str, str]:
    """What Jupyter shows of an object: HTML in notebooks, its repr in terminals."""
    return {"text/plain": repr(shown), "text/html": _draw(shown)}

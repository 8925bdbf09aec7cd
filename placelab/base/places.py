"""Where placelab's own files are: the package, and what comes with it."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def shipped(path: str | Path) -> Path:
    """Path of a file or folder that comes with placelab: inside the installed package, or beside it in a checkout."""
    installed = PACKAGE / "data" / path
    return installed if installed.exists() else PACKAGE.parent / path

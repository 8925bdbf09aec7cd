"""Files that come with placelab beside its modules: the notebooks."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def shipped(path: Path) -> Path:
    """Path of a file or folder that comes with placelab: inside the installed package, or beside it in a checkout."""
    installed = PACKAGE / "data" / path
    return installed if installed.exists() else PACKAGE.parent / path

"""Check names of ops, devices, strategies and files."""

from __future__ import annotations

from typing import Any


def is_name(value: Any) -> bool:
    """Whether a value is a name: text on one line, not empty, that UTF-8 can encode."""
    try:
        return (
            isinstance(value, str) and bool(value) and "\n" not in value and (value.isascii() or bool(value.encode()))
        )
    except UnicodeEncodeError:
        return False

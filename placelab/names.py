"""Tell what can be a name of an op, a device, a strategy or a file."""

from __future__ import annotations

from typing import Any


def is_name(value: Any) -> bool:
    """Whether a value can name something: text on one line, not empty, and all of it characters that UTF-8 has."""
    try:
        return (
            isinstance(value, str) and bool(value) and "\n" not in value and (value.isascii() or bool(value.encode()))
        )
    except UnicodeEncodeError:
        return False

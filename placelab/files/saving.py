"""How is a file written? Whole or not at all, and gzipped when its name says so."""

from __future__ import annotations

import gzip
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from placelab.errors import FormatError
from placelab.files.limits import path_of


def save(data: bytes | str, path: Any) -> Path:
    """Write bytes, or text in UTF-8, to `path`, gzipped when that ends in ``.gz``; the same data give the same file.

    Raises
    ------
    FormatError
        `path` is no path, or nothing can be written there; text that UTF-8 has no bytes for.
    """
    path = path_of(path)
    if not path.name:
        raise FormatError(f"{path} cannot be written: it is a folder; expected the path of a file")
    try:
        data = data.encode() if isinstance(data, str) else data
    except UnicodeEncodeError as error:
        raise FormatError(f"{path} is to hold {error.object[error.start]!a}, which no text in UTF-8 can") from None
    partial = path.with_name(path.name + ".partial")
    try:
        partial.unlink(missing_ok=True)  # left behind, or a link that somebody put there to another file
        with partial.open("xb") as file:
            file.write(gzipped(data) if path.suffix == ".gz" else data)
        os.replace(partial, path)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise FormatError(f"{path} cannot be written: {error.strerror}") from None
    return path


def gzipped(data: bytes) -> bytes:
    """`data` as a gzip file without a date, the same in every version of Python (``gzip.compress`` writes another header)."""
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb", compresslevel=9, mtime=0) as file:
        file.write(data)
    return buffer.getvalue()

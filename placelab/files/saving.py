"""How is a file written? Whole or not at all, and gzipped when its name says so."""

from __future__ import annotations

import gzip
import io
import os
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

from placelab.errors import FormatError
from placelab.files.limits import path_of


def save(data: bytes | str | Iterable[str], path: Any) -> Path:
    """Write bytes, or text in UTF-8, to `path`, gzipped when that ends in ``.gz``; the same data give the same file.

    Parameters
    ----------
    data
        What is written; or pieces of text, which are written one after the other, so that they need never all be in memory.

    Raises
    ------
    FormatError
        `path` is no path, or nothing can be written there; text that UTF-8 has no bytes for.
    """
    path = path_of(path)
    if not path.name:
        raise FormatError(f"{path} cannot be written: it is a folder; expected the path of a file")
    partial = path.with_name(path.name + ".partial")
    try:
        partial.unlink(missing_ok=True)  # left behind, or a link that somebody put there to another file
        with partial.open("xb") as file:
            _write(file, [data] if isinstance(data, (bytes, str)) else data, zipped=path.suffix == ".gz")
        os.replace(partial, path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        if isinstance(error, UnicodeEncodeError):
            raise FormatError(f"{path} is to hold {error.object[error.start]!a}, which no text in UTF-8 can") from None
        if isinstance(error, OSError):
            raise FormatError(f"{path} cannot be written: {error.strerror}") from None
        raise
    return path


def gzipped(data: bytes) -> bytes:
    """`data` as a gzip file without a date, the same in every version of Python (``gzip.compress`` writes another header)."""
    buffer = io.BytesIO()
    _write(buffer, [data], zipped=True)
    return buffer.getvalue()


def _write(file: BinaryIO, pieces: Iterable[bytes | str], zipped: bool) -> None:
    """Write pieces, text in UTF-8, to an open file."""
    stream = (
        gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=9, mtime=0) if zipped else nullcontext(file)
    )
    with stream as out:
        for piece in pieces:
            out.write(piece.encode() if isinstance(piece, str) else piece)

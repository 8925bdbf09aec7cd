"""Write files atomically, gzipped if their name ends in ``.gz``."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO

from placelab.base.errors import FormatError
from placelab.base.limits import path_of


def save(data: bytes | str | Iterable[str], path: Any, *, sync: bool = False) -> Path:
    """Write bytes, or text as UTF-8, to `path`, gzipped if that ends in ``.gz``; the same data give the same file.

    Parameters
    ----------
    data
        Contents of the file, or an iterable of pieces of text, so that they need not all be in memory at once.
    sync
        Wait until the disk has it before the file gets its name, so that a machine that loses power leaves no empty file.

    Raises
    ------
    FormatError
        `path` is not a valid path or cannot be written; text that UTF-8 cannot encode.
    """
    path = path_of(path)
    if not path.name:
        raise FormatError(f"{path} cannot be written: it is a folder; expected the path of a file")
    partial = path.with_name(
        f".{path.name}.partial"
    )  # hidden, so that those who read all files of a folder pass it over
    try:
        partial.unlink(missing_ok=True)  # a leftover, or a link planted to overwrite another file
        with partial.open("xb") as file:
            _write(file, [data] if isinstance(data, (bytes, str)) else data, zipped=path.suffix == ".gz")
            if sync:
                file.flush()
                os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException as error:
        with suppress(OSError):
            partial.unlink()
        if isinstance(error, UnicodeEncodeError):
            raise FormatError(f"{path} is to hold {error.object[error.start]!a}, which UTF-8 cannot encode") from None
        if isinstance(error, OSError):
            raise FormatError(f"{path} cannot be written: {error.strerror}") from None
        raise
    return path


def _write(file: BinaryIO, pieces: Iterable[bytes | str], zipped: bool) -> None:
    """Write pieces, text as UTF-8, to an open file; gzipped without name and time, the same in all versions of Python."""
    stream = (
        gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=9, mtime=0) if zipped else nullcontext(file)
    )
    with stream as out:
        for piece in pieces:
            out.write(piece.encode() if isinstance(piece, str) else piece)

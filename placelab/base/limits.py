"""Read untrusted files within limits on size, compression ratio and nesting; raise FormatError beyond them."""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from placelab.base.errors import FormatError
from placelab.base.looks import START, foreign, look, narrow
from placelab.base.names import is_name

MAX_FILE = 256 << 20  # bytes on disk, unless a format says otherwise
MAX_RATIO = 100  # of unpacked to packed bytes, beyond the first
MAX_SMALL = 32 << 20  # bytes that any file may unpack to
MAX_TEXT = 1 << 30  # bytes once unpacked, in any case
MAX_OPS = 2_000_000
MAX_DEPTH = 100  # of lists and objects in JSON; deeper nesting overflows the stack of recursive code
MAX_PARSED = 2 << 30  # bytes of memory that parsed JSON may take
MAX_EXPANSION = 24  # of parsed JSON over its text, once larger than:
MAX_EXPANDED = 100 << 20  # bytes that any parsed JSON may take
CHUNK = 1 << 20
GZIP = b"\x1f\x8b"  # first bytes of a gzip file


def path_of(path: Any) -> Path:
    """`path` as a Path; FormatError if it is not a valid path."""
    if not isinstance(path, (str, os.PathLike)) or "\0" in str(path) or not is_name(str(path)):
        raise FormatError(f"{path!a} is not the path of a file")
    return Path(path)


@contextmanager
def open_file(path: Path, expected: str) -> Iterator[BinaryIO]:
    """Open a file to read; FormatError if it is not a file, whose content might never end, or cannot be read."""
    try:
        if not path.is_file() and path.exists():
            raise FormatError(f"{path} is not a file; expected {expected}")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}") from None


def read_file(path: Any, expected: str, limit: int = MAX_FILE) -> bytes:
    """All bytes of a file; FormatError if it cannot be read or is larger than `limit` bytes.

    >>> read_file("/", "an ONNX model")
    Traceback (most recent call last):
    placelab.base.errors.FormatError: / is not a file; expected an ONNX model
    """
    path = path_of(path)
    with open_file(path, expected) as file:
        refuse_foreign(file.read(START), str(path), expected)
        file.seek(0)
        size = path.stat().st_size
        if size > limit:
            raise FormatError(f"{path} has {size:,} bytes; files over {limit:,} are not read")
        data = file.read(size + 1)
    if len(data) > size:
        raise FormatError(f"{path} grows while it is read; expected a whole file")
    return data


def refuse_foreign(start: bytes, where: str, expected: str = "") -> None:
    """FormatError if the first bytes of a file are those of a kind that is not read, such as a picture or a pickle."""
    if found := foreign(start):
        raise FormatError(f"{where} looks like {found}" + f"; expected {expected}" * bool(expected))


def most_unpacked(packed: int) -> int:
    """Bytes that a file or a member of `packed` bytes may unpack to."""
    return min(max(MAX_SMALL, MAX_RATIO * packed), MAX_TEXT)


def unzipped(data: bytes, where: str) -> bytes:
    """`data`, decompressed if it is a gzip file.

    Raises FormatError if the gzip file is damaged, or decompresses to more than 32 MiB and more than 100 times its size, or
    to more than 1 GiB; decompression stops at the limit. Also if the content is of a kind that is not read.
    """
    if data[:2] != GZIP:
        refuse_foreign(data[:START], where)
        return data
    limit = most_unpacked(len(data))
    parts = []
    size = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            while part := file.read(CHUNK):
                parts.append(part)
                size += len(part)
                if size > limit:
                    raise FormatError(f"{where} unpacks to more than {limit:,} bytes; such files are not read")
    except (OSError, EOFError, zlib.error) as error:
        raise FormatError(f"{where} is not a whole gzip file: {error}") from None
    unpacked = b"".join(parts)
    if unpacked[:2] == GZIP:
        raise FormatError(f"{where} is a gzip file inside a gzip file; unpack it once")
    refuse_foreign(unpacked[:START], where)
    return unpacked


def text_of(data: bytes, where: str, expected: str) -> str:
    """`data`, gzipped or not, as text; FormatError unless it is UTF-8, or UTF-16 or UTF-32 with a byte order mark."""
    data = unzipped(data, where)
    if len(data) > MAX_TEXT:
        raise FormatError(f"{where} has more than {MAX_TEXT:,} bytes; such files are not read")
    try:
        return narrow(data, "strict").decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(f"{where} is not text in UTF-8; expected {expected}{look(data)}") from None


def json_of(data: bytes, where: str, expected: str) -> Any:
    """Parse JSON, gzipped or not; FormatError unless it is strict JSON without duplicate keys, nested at most 100 deep."""
    text = text_of(data, where, expected)
    if not text.strip():
        raise FormatError(f"{where} is empty; expected {expected}")
    _check_expansion(text, where)
    try:
        document = json.loads(
            text,
            parse_constant=lambda name: _no_constant(name, where),
            object_pairs_hook=lambda pairs: _unique_keys(pairs, where),
        )
    except RecursionError:
        raise FormatError(f"{where} is nested too deeply for a graph") from None
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{where} is not JSON: {error}") from None
    _check_depth(document, where)
    return document


def _check_expansion(text: str, where: str) -> None:
    """FormatError if parsing would take far more memory than the text: 32 MiB of ``{},`` take 2 GB."""
    taken = 232 * text.count("{") + 72 * text.count("[") + 32 * text.count(",") + 30 * text.count('"')
    if taken > min(MAX_PARSED, max(MAX_EXPANDED, MAX_EXPANSION * len(text))):
        raise FormatError(f"{where} holds so many lists, objects or values that they would take {taken:,} bytes")


def _check_depth(document: Any, where: str) -> None:
    level = [document]
    for _ in range(MAX_DEPTH):
        level = [part for container in level for part in _nested(container)]
        if not level:
            return
    raise FormatError(f"{where} is nested too deeply for a graph: over {MAX_DEPTH} lists and objects in each other")


def _nested(container: Any) -> list[Any]:
    """The lists and objects in a list or an object."""
    parts = container.values() if isinstance(container, dict) else container if isinstance(container, list) else ()
    if not {list, dict} & set(map(type, parts)):  # fast path for columns of numbers
        return []
    return [part for part in parts if isinstance(part, (list, dict))]


def _unique_keys(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    found = dict(pairs)
    seen = set[str]()
    for name, _ in pairs if len(found) < len(pairs) else ():
        if name in seen:
            raise FormatError(f"{where} gives {name!r:.80} twice in one object; once is expected")
        seen.add(name)
    return found


def _no_constant(name: str, where: str) -> float:
    raise FormatError(f"{where} holds {name}, which is not JSON")

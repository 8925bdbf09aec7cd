"""Files: those of strangers, XML too, read within limits; what they look like; own ones written whole; where placelab's own are.

Files that are read are within limits on size, compression ratio and nesting; beyond them FormatError is raised.
"""

from __future__ import annotations

import codecs
import gzip
import io
import json
import os
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

from placelab.base.errors import FormatError, expect, is_name
from placelab.base.fields import one_line

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
LONGEST_NAME = 255  # bytes of a file's name that systems allow
MOST_DIGITS = "Exceeds the limit"  # how Python's message about a number of very many digits begins
GZIP = b"\x1f\x8b"  # first bytes of a gzip file


def path_of(path: Any) -> Path:
    """`path` as a Path; FormatError if it is not a valid path."""
    if not isinstance(path, (str, os.PathLike)) or "\0" in str(path) or not is_name(str(path)):
        raise FormatError(f"{path!a} is not the path of a file")
    if isinstance(path, str) and "://" in path:
        raise FormatError(f"{path!a:.200} is an address, and nothing is fetched; download the file and give its path")
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in Path(path).parts):
        raise FormatError(f"{str(path)!a:.60}… has a name of more than {LONGEST_NAME} bytes; give a shorter path")
    return Path(path)


FORMS = frozenset(  # suffixes that name a form; the end of gpt2-1.5b and of best.v2 is none
    "csv dax dot gv hlo htm html ipynb json jsonl md mlir onnx parquet pb pbtxt pdf pickle pkl png pt pt2 py stg svg toml tsv "
    "txt xlsx xml yaml yml zip".split()
)


def path_for(path: Any, what: str, form: str, *suffixes: str) -> Path:
    """`path` as a Path to write `what` to, in a form; FormatError if its name ends in another suffix than these, ``.gz`` aside.

    >>> path_for("g.csv", "a graph", "JSON", ".json")
    Traceback (most recent call last):
    placelab.base.errors.FormatError: g.csv cannot hold a graph, which is written as JSON; end its name in .json or .json.gz
    """
    path = path_of(path)
    name = path.name.lower().removesuffix(".gz")
    if name.rpartition(".")[2] in FORMS and not name.endswith(suffixes):
        ends = f"{suffixes[0]} or {suffixes[0]}.gz"
        raise FormatError(f"{path} cannot hold {what}, which is written as {form}; end its name in {ends}")
    return path


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
    expect(data, (bytes, bytearray), f"reading {where}")
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
        raise FormatError(f"{where} is nested too deeply; expected {expected}") from None
    except ValueError as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{where} {told(error, 'JSON')}") from None
    _check_depth(document, where, expected)
    return document


def told(error: ValueError, form: str) -> str:
    """What is wrong with a text that a parser of this form refused, to follow its name."""
    if str(error).startswith(MOST_DIGITS):
        return "has a number of more than 4,300 digits; expected at most 1.8e308"
    return f"is not {form}: {error}"


def _check_expansion(text: str, where: str) -> None:
    """FormatError if parsing would take far more memory than the text: 32 MiB of ``{},`` take 2 GB."""
    taken = 232 * text.count("{") + 72 * text.count("[") + 32 * text.count(",") + 30 * text.count('"')
    if taken > min(MAX_PARSED, max(MAX_EXPANDED, MAX_EXPANSION * len(text))):
        raise FormatError(f"{where} holds so many lists, objects or values that they would take {taken:,} bytes")


def _check_depth(document: Any, where: str, expected: str) -> None:
    level = [document]
    for _ in range(MAX_DEPTH):
        level = [part for container in level for part in _nested(container)]
        if not level:
            return
    raise FormatError(
        f"{where} is nested too deeply: over {MAX_DEPTH} lists and objects in each other; expected {expected}"
    )


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


# -------------------------------------------------------------------- what a file looks like by its first bytes

START = 1024  # bytes that tell the kind
BLANK = re.compile(rb"\s*+")
TAR = slice(257, 262)
WIDE = {  # byte order marks of text that is not UTF-8; the longer ones first, as one begins with another
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
MODULE = "export the model with torch.export.save, or give pl.load the module with its arguments"
WEIGHTS = "it holds weights, not the ops that use them"
BINARY = (  # first bytes, what they are, what helps
    (b"\x7fELF", "a program or library (ELF)", ""),
    (b"MZ", "a program or library of Windows", ""),
    (b"\xcf\xfa\xed\xfe", "a program or library of macOS", ""),
    (b"\x89PNG\r\n", "a PNG picture", ""),
    (b"\xff\xd8\xff", "a JPEG picture", ""),
    (b"GIF8", "a GIF picture", ""),
    (b"%PDF-", "a PDF document", ""),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (such as Keras weights)", "save the model as a SavedModel or as ONNX"),
    (b"GGUF", "a GGUF file", WEIGHTS),
    (
        b"version https://git-lfs.",
        "a pointer of Git LFS, which stands for the file",
        "fetch the file itself: git lfs pull",
    ),
    (b"PAR1", "a parquet table", ""),
    (b"ARROW1", "an Arrow table", ""),
    (b"SQLite format 3\0", "a sqlite database", "Nsight Systems exports none of the formats that are read"),
    (b"\x93NUMPY", "a NumPy array", ""),
    (b"BZh", "a bzip2 file", "unpack it, or pack it with gzip"),
    (b"\xfd7zXZ\0", "an xz file", "unpack it, or pack it with gzip"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "unpack it, or pack it with gzip"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it"),
    (b"ML\xefR", "MLIR in bytecode", "write it as text"),
    (b"BC\xc0\xde", "LLVM bitcode", ""),
)
FLATBUFFERS = {b"TFL3": ("a TensorFlow Lite model", "ONNX"), b"ORTM": ("an ONNX Runtime model (ORT)", "ONNX")}
PICKLE = re.compile(rb"\x80[\x02-\x05][\x8a\x95}\](cX)qK\x8c\x8e]")  # the first opcode after the version
SAFETENSORS = re.compile(rb'.{6}\0\0\{[ \n]*["}]', re.DOTALL)  # bytes of the JSON header, then the header
MARKED = re.compile(rb"\s*+<[?!\w]")
MARKUP = re.compile(rb"\s*+<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)


def is_json(data: bytes) -> bool:
    r"""Whether bytes begin as a list or an object of JSON: after blanks and a byte order mark, in UTF-8 or UTF-16.

    >>> is_json(b"\n\n {"), is_json(b"\x08\x03")
    (True, False)
    """
    data = narrow(data[: 1 << 16]) if data.startswith(tuple(WIDE)) else data.removeprefix(codecs.BOM_UTF8)
    begin = BLANK.match(data)
    return begin is not None and data[begin.end() : begin.end() + 1] in (b"{", b"[")


def narrow(data: bytes, errors: str = "replace") -> bytes:
    r"""Text in UTF-8 without a byte order mark, if `data` begins with the mark of UTF-16 or UTF-32; else `data`.

    `errors` are those of ``bytes.decode``.

    >>> narrow("a".encode("utf-16"))
    b'a'
    """
    encoding = next((name for mark, name in WIDE.items() if data.startswith(mark)), "")
    return data.decode(encoding, errors).encode() if encoding else data


def foreign(data: bytes) -> str:
    """What a file of a kind that is not read looks like, and what helps; "" for all other files."""
    found = next(((what, remedy) for start, what, remedy in BINARY if data.startswith(start)), None)
    if found is None and data[4:8] in FLATBUFFERS:
        what, other = FLATBUFFERS[data[4:8]]
        found = what, f"convert it to {other}"
    elif found is None and PICKLE.match(data):
        found = "a pickle, which may run any code", f"it is not opened; {MODULE}"
    elif found is None and _is_safetensors(data):
        found = "a safetensors file", WEIGHTS
    elif found is None and MARKUP.match(data[:START]):
        found = "a page in HTML", "perhaps the page about the file was saved, not the file"
    elif found is None and data[TAR] == b"ustar":
        found = "a tar archive", "unpack it"
    return "; ".join(part for part in found or () if part)


def look(data: bytes) -> str:
    """``"; it looks like …"`` for bytes that a reader could not read, or ""."""
    found = foreign(data)
    if not found and data.startswith(b"PK\x03\x04"):
        found = "a zip archive"
    elif not found and is_json(data):
        found = "JSON"
    elif not found and MARKED.match(data[:START].removeprefix(codecs.BOM_UTF8)):
        found = "XML"
    return f"; it looks like {found}" if found else ""


def archive(members: list[str]) -> str:
    """What a zip archive with these members looks like, and what helps; "" if that is not known."""
    if any(name.endswith("/data.pkl") or name == "data.pkl" for name in members):
        script = any(name.rpartition("/")[0].endswith("/code") or "/code/" in name for name in members)
        what = "a TorchScript program" if script else "a file of torch.save: pickled weights or modules"
        return f"{what}; {MODULE}"
    if "config.json" in members and any(name.endswith(".weights.h5") for name in members):
        return "a model of Keras; save it as a SavedModel or as ONNX"
    if members and all(name.endswith(".npy") for name in members):
        return "arrays of NumPy (npz)"
    return ""


def _is_safetensors(data: bytes) -> bool:
    if not SAFETENSORS.match(data[:START]):
        return False
    size = struct.unpack_from("<Q", data)[0]
    return 2 <= size <= 100_000_000  # the format's own limit


# -------------------------------------------------------------------- writing


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
    # Hidden, so that those who read all files of a folder pass it over.
    partial = path.with_name(f".{path.name}.partial")
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


# -------------------------------------------------------------------- where placelab's own files are

PACKAGE = Path(__file__).resolve().parents[1]


def shipped(path: str | Path) -> Path:
    """Path of a file or folder that comes with placelab: inside the installed package, or beside it in a checkout."""
    installed = PACKAGE / "data" / path
    return installed if installed.exists() else PACKAGE.parent / path


# ------------------------------------------------------- XML, element by element: no document types, no entities, no other files

MAX_ELEMENTS = 100  # of nested elements
MAX_ATTRIBUTES = 100  # of an element
MAX_TOKEN = 1 << 20  # bytes of one tag or comment, which the parser buffers
BITE = 1 << 16
BLANKS_FIRST = re.compile(rb"(\xef\xbb\xbf)?(\s++)(<\?xml\b[^>]{0,200}\?>)")


def declared_first(data: bytes) -> bytes:
    r"""The XML with its declaration before the blanks that stand in front of it, which XML forbids; lines keep their numbers.

    >>> declared_first(b"\n <?xml version='1.0'?><a/>")
    b"<?xml version='1.0'?>\n <a/>"
    """
    found = BLANKS_FIRST.match(data)
    if not found:
        return data
    mark, blanks, declaration = found.groups(b"")
    return mark + declaration + blanks + data[found.end() :]


def parse_xml(
    data: bytes,
    start: Callable[[str, dict[str, str], int], None],
    end: Callable[[int], None] = lambda line: None,
    text: Callable[[str], None] = lambda text: None,
) -> None:
    """Parse XML; FormatError if it is none, nests too deeply, or declares a document type, and with it entities of any kind.

    Parameters
    ----------
    start
        Called with the name of each element without its namespace, its attributes, and the line.
    end
        Called with the line where each element ends.
    text
        Called with the text between tags, in pieces.
    """
    data = declared_first(data)
    parser = expat.ParserCreate(namespace_separator=" ")
    depth = 0

    def begun(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_ELEMENTS or len(attributes) > MAX_ATTRIBUTES:
            raise FormatError(
                f"line {parser.CurrentLineNumber} nests more than {MAX_ELEMENTS} elements or has more than "
                f"{MAX_ATTRIBUTES} attributes"
            )
        start(tag.rpartition(" ")[2], attributes, parser.CurrentLineNumber)

    def ended(tag: str) -> None:
        nonlocal depth
        depth -= 1
        end(parser.CurrentLineNumber)

    parser.StartElementHandler = begun
    parser.EndElementHandler = ended
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _refuse
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    try:
        for at in range(0, len(data), BITE):
            parser.Parse(data[at : at + BITE], False)
            if at - parser.CurrentByteIndex > MAX_TOKEN:
                raise FormatError(f"line {parser.CurrentLineNumber} has a tag of more than {MAX_TOKEN:,} bytes")
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise FormatError(f"it is not XML: {error}") from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not know
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"it is not XML: {one_line(str(error)):.80}") from None


def _refuse(*_: Any) -> None:
    raise FormatError("it declares a document type or entities, which no graph needs; such files are not read")

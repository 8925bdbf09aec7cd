"""What a file looks like by its first bytes: JSON after blanks and byte order marks, and kinds of files that are not read."""

from __future__ import annotations

import codecs
import re
import struct

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

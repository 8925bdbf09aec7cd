"""What does a ``.pt2`` file compute? The program that ``torch.export.save`` stored, read from its JSON alone.

Such a file is a zip archive. Some of its members are pickles, which could run anything: ``torch.export.load`` unpickles them,
and nothing here does. The program is in ``models/*.json``, names of shared weights in ``data/weights/*.json``; no other member
is opened, and PyTorch is not needed.
"""

from __future__ import annotations

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any, BinaryIO

from placelab.errors import FormatError
from placelab.files.fields import integer, read_from, record, records, text
from placelab.files.limits import GZIP, MAX_OPS, MAX_RATIO, MAX_SMALL, MAX_TEXT, json_of, path_of, read_file, unzipped
from placelab.flops.kinds import category
from placelab.formats.torch.aten_ops import NUMBER, Op, Source, Tensor, assembled, unique
from placelab.problem.graph import OpGraph

EXPECTED = "a program that torch.export.save wrote"
MODEL = re.compile(r"[^/]+/models/[^/]+\.json")
WEIGHTS = re.compile(r"[^/]+/data/weights/[^/]+\.json")
PREFIX = re.compile(r"^(torch\.ops\.(higher_order\.)?|_operator\.)")  # of targets
END, LOCATOR = b"PK\x05\x06", b"PK\x06\x07"  # of a zip archive's list of members, and before it in a large archive
LARGEST_END = 65_557  # bytes, comment included
LARGEST_LIST = 4 << 20  # bytes of that list, of 100 or so for a weight
LARGEST_TENSOR = 1 << 62  # elements
DIMENSIONS = 64  # as many as PyTorch allows
ITEM = dict(zip(range(1, 14), (1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 2), strict=True)) | {
    28: 2,  # unsigned whole numbers, then the types of 8 bits
    **dict.fromkeys(range(29, 34), 1),
    34: 4,
    35: 8,
}
HALVES = {6: "float16", 13: "bfloat16"}  # number types whose products run at another speed than those of float32
BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError, struct.error)  # of zipfile
PLAIN = {"as_int": int, "as_float": (int, float), "as_bool": bool, "as_string": str}
PLAINS = {"as_ints": int, "as_floats": (int, float), "as_bools": bool}


def read(path: Any) -> OpGraph:
    """The graph in a ``.pt2`` file.

    Returns
    -------
    OpGraph
        As :func:`placelab.formats.torch.module.from_exported` gives it for the program that was saved.

    Raises
    ------
    FormatError
        Not such a file, several programs in one, or a program that does not hold together.
    """
    path = path_of(path)
    if not path.is_file():
        read_file(path, EXPECTED)  # says what it is instead: a pipe or a device might never end
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP
            return loads(read_file(path, EXPECTED), str(path)) if packed else _graph(file, str(path))
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}") from None


def loads(data: bytes, where: str = "the upload") -> OpGraph:
    """The graph in the bytes of a ``.pt2`` file, gzipped or not; `where` names it in messages."""
    return _graph(io.BytesIO(unzipped(data, where)), where)


# ---------------------------------------------------------------- the archive


def _graph(file: BinaryIO, where: str) -> OpGraph:
    _check_list(file, where)
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if MODEL.fullmatch(name)]
            if len(names) != 1:
                raise FormatError(f"{where} holds {len(names)} programs in models/; expected one, of torch.export.save")
            document = _json(archive, names[0], where)
            weights = [name for name in archive.namelist() if WEIGHTS.fullmatch(name)]
            stored = _json(archive, weights[0], where) if weights else {}
    except FormatError:
        raise
    except BROKEN as error:
        raise FormatError(f"{where} is not {EXPECTED}: {str(error) or 'a broken zip archive'}") from None
    with read_from(where):
        return graph_of(document, _shared(stored), where)


def _check_list(file: BinaryIO, where: str) -> None:
    """Refuse an archive of very many members before they are all read in."""
    file.seek(0, io.SEEK_END)
    size = file.tell()
    file.seek(max(0, size - LARGEST_END))
    tail = file.read()
    at = _end(tail)
    listed = struct.unpack_from("<I", tail, at + 12)[0] if 0 <= at <= len(tail) - 22 else 0
    if at >= 76 and tail.startswith(LOCATOR, at - 20):  # a large archive's end stands right before that, 56 bytes long
        there = struct.unpack_from("<Q", tail, at - 12)[0] == size - len(tail) + at - 76
        listed = struct.unpack_from("<Q", tail, at - 36)[0] if there else 1 << 64
    if at < 0 or listed > LARGEST_LIST:
        found = f"its list of members has {listed:,} bytes" if at >= 0 else "it is no zip archive"
        raise FormatError(f"{where} is not {EXPECTED}: {found}")


def _end(tail: bytes) -> int:
    """Where the list's end stands, found as zipfile finds it; -1 where it does not."""
    last = len(tail) - 22
    return last if last >= 0 and tail.startswith(END, last) and tail.endswith(b"\0\0") else tail.rfind(END)


def _json(archive: zipfile.ZipFile, name: str, where: str) -> Any:
    member = archive.getinfo(name)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FormatError(f"{where}: {name} is packed in a way that PyTorch does not write")
    limit = min(max(MAX_SMALL, MAX_RATIO * member.compress_size), MAX_TEXT)
    with archive.open(member) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise FormatError(f"{where}: {name} unpacks to more than {limit:,} bytes; such files are not read")
    return json_of(data, f"{where}: {name}", "JSON of torch.export")


def _shared(stored: Any) -> dict[str, str]:
    """Name of each stored weight → the first name of what lies in the same member."""
    config = stored.get("config") if isinstance(stored, dict) else None
    first: dict[Any, str] = {}
    return {
        name: first.setdefault(weight.get("path_name"), name) if isinstance(weight.get("path_name"), str) else name
        for name, weight in (config.items() if isinstance(config, dict) else ())
        if isinstance(weight, dict)
    }


# ---------------------------------------------------------------- the program


@dataclass
class Program:
    """What is known of the program so far.

    Attributes
    ----------
    tensors
        Name of a value → its tensor.
    sources
        Name of a value → where it comes from: an op's output, or a parameter's name; None for what is no tensor.
    sizes
        Parameter → bytes.
    aliases
        Every name of a parameter → the one in `sizes`.
    ops
        Those read so far.
    taken
        Their names.
    held
        Number type of parameters → bytes of those that have it.
    """

    tensors: Mapping[str, Tensor]
    sources: dict[str, Source | str | None] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)
    held: dict[Any, float] = field(default_factory=dict)


def graph_of(document: Any, shared: Mapping[str, str], where: str) -> OpGraph:
    """The graph of a program in parsed JSON; `shared` has the weights that go by several names."""
    module = record(record(document, "the program").get("graph_module"), "graph_module")
    graph = record(module.get("graph"), "graph")
    tensors = record(graph.get("tensor_values"), "tensor_values")
    program = Program({name: _tensor(value, f"tensor {name!r:.80}") for name, value in tensors.items()})
    signature = record(module.get("signature"), "signature")
    for i, spec in enumerate(records(signature.get("input_specs"), "input_specs")):
        _input(program, spec, shared, f"input {i}", tensors)
    nodes = records(graph.get("nodes"), "nodes")
    if len(nodes) > MAX_OPS:
        raise FormatError(f"the program has {len(nodes):,} nodes; more than {MAX_OPS:,} are not read")
    for i, node in enumerate(nodes):
        _node(program, node, f"node {i}")
    title = re.split(r"[/\\]", where)[-1].removesuffix(".pt2")
    version = str(document.get("torch_version", "of unknown version"))[:40]
    half = HALVES.get(max(program.held, key=program.held.__getitem__, default=0))
    metadata = {"name": title, "provenance": f"torch.export.save, PyTorch {version}"}
    metadata |= {"costs": {"precision": half}} if half else {}
    return assembled(program.ops, program.sizes, program.aliases, metadata)


def _tensor(value: Any, what: str) -> Tensor:
    meta = record(value, what)
    item = ITEM.get(integer(meta.get("dtype"), f"dtype of {what}", 0, 255), 0)
    sizes = [_size(size, f"a size of {what}") for size in records(meta.get("sizes"), f"sizes of {what}")]
    if len(sizes) > DIMENSIONS or prod(size or 0 for size in sizes) > LARGEST_TENSOR:
        raise FormatError(f"{what} has {len(sizes)} dimensions of {sizes!r:.60}; PyTorch has no such tensors")
    return Tensor(None if None in sizes else tuple(sizes), item)


def _size(value: Mapping[str, Any], what: str) -> int | None:
    """A number, or the one that an expression had when it was traced; None where it had none."""
    if "as_int" in value:
        return integer(value["as_int"], what, 0, 1 << 62)
    hint = record(value.get("as_expr"), what).get("hint")
    hinted = hint.get("as_int") if isinstance(hint, dict) else None
    return None if hinted is None else integer(hinted, what, 0, 1 << 62)


def _input(
    program: Program, spec: Mapping[str, Any], shared: Mapping[str, str], what: str, tensors: Mapping[str, Any]
) -> None:
    kind, value = next(iter(spec.items()), ("", None))
    arg = record(value, f"{what}, {kind!r:.40},").get("arg")
    if kind == "user_input":
        for name in _names(arg, what):
            if name in program.tensors:
                program.sources[name] = Source(len(program.ops), 0)
                program.ops.append(Op(unique(name, program.taken), "input", (), {0: program.tensors[name]}))
    elif kind in ("parameter", "buffer", "tensor_constant"):
        name = text(record(arg, f"arg of {what}").get("name"), f"the name of {what}")
        own = text(value.get(f"{kind}_name"), f"{kind}_name of {what}")
        held = shared.get(own, own)
        program.sources[name], program.aliases[own] = held, held
        size = program.tensors.get(name, NUMBER).bytes
        program.sizes[held] = max(program.sizes.get(held, 0.0), size)
        kind = tensors[name]["dtype"] if name in tensors else 0
        program.held[kind] = program.held.get(kind, 0.0) + size


def _node(program: Program, node: Mapping[str, Any], what: str) -> None:
    kind = PREFIX.sub("", text(node.get("target"), f"target of {what}"), count=1)
    what = f"{what}, {kind!r:.80}"
    given = records(node.get("inputs"), f"inputs of {what}")
    reads = [name for argument in given for name in _names(argument.get("arg"), what)]
    made = [name for output in records(node.get("outputs"), f"outputs of {what}") for name in _made(output, what)]
    short = kind.split(".")[1] if kind.startswith("aten.") else kind.rpartition(".")[2]
    if unknown := [name for name in reads if name not in program.sources]:
        raise FormatError(f"{what} reads {unknown[0]!r:.80}, which nothing before it makes")
    if short.startswith("_assert"):
        program.sources |= dict.fromkeys(made)
        return
    first = program.sources[reads[0]] if reads else None
    if len(made) == 1 and (
        short == "detach" or (isinstance(first, str) and _passes_on(program, kind, reads[0], made[0]))
    ):
        program.sources[made[0]] = first
        return
    program.sources |= {name: Source(len(program.ops), o) for o, name in enumerate(made)}
    scope = _module_path(node.get("metadata")).replace(".", "/")
    program.ops.append(
        Op(
            unique(f"{scope}/{short}".lstrip("/"), program.taken),
            kind,
            tuple(source for source in map(program.sources.__getitem__, reads) if source is not None),
            {o: program.tensors.get(name, NUMBER) for o, name in enumerate(made) if name},
            tuple(program.tensors[name].shape for name in reads if name in program.tensors),
            {str(argument.get("name")): value for argument in given for value in _plain(argument.get("arg"))},
        )
    )


def _passes_on(program: Program, kind: str, read: str, made: str) -> bool:
    """Whether a view of a parameter is the parameter: an op that moves nothing, and the type of its elements stays."""
    item = {program.tensors.get(name, NUMBER).item for name in (read, made)}
    return category(kind) == "view" and len(item) == 1


def _names(argument: Any, what: str) -> Iterator[str]:
    """Names of the tensors and numbers that an argument has."""
    for kind, value in record(argument, f"an argument of {what}").items():
        if kind in ("as_tensor", "as_sym_int", "as_sym_bool", "as_sym_float", "as_optional_tensor"):
            entries = [value]
        elif kind in ("as_tensors", "as_sym_ints", "as_sym_bools", "as_sym_floats", "as_optional_tensors"):
            entries = value
        else:
            continue
        for entry in records(entries, f"an argument of {what}"):
            entry = entry.get("as_tensor", entry)
            name = record(entry, f"an argument of {what}").get("name", entry.get("as_name"))
            if name is not None:
                yield text(name, f"the name of what {what} reads or makes")


def _made(output: Any, what: str) -> list[str]:
    """Names of what an output holds, "" for one that is not there: it still counts."""
    return list(_names(output, what)) or [""]


def _plain(argument: Any) -> Iterator[Any]:
    """The value of an argument that is a number, a text or a list of numbers."""
    for kind, value in argument.items():
        if isinstance(value, PLAIN.get(kind, ())):
            yield value
        elif isinstance(value, list) and kind in PLAINS and all(isinstance(v, PLAINS[kind]) for v in value):
            yield value
        elif kind == "as_none":
            yield None


def _module_path(metadata: Any) -> str:
    """Dotted path of the innermost module, from ``key,path,class;…``."""
    stack = metadata.get("nn_module_stack", "") if isinstance(metadata, dict) else ""
    parts = stack.rpartition(";")[2].split(",") if isinstance(stack, str) else []
    return parts[1].partition("@")[0] if len(parts) > 2 else ""

"""Read ``.pt2`` files of ``torch.export.save``: the stored program, from its JSON alone.

Such a file is a zip archive. Some of its members are pickles, which can run any code when ``torch.export.load`` unpickles them;
this reader does not. It opens ``models/*.json``, the program, and ``data/weights/*.json``, the names of shared weights, and needs
no PyTorch.
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

from placelab.base import files
from placelab.base.errors import FormatError
from placelab.base.fields import integer, read_from, record, records, text
from placelab.base.files import (
    GZIP,
    MAX_OPS,
    START,
    json_of,
    look,
    most_unpacked,
    open_file,
    path_of,
    read_file,
    refuse_foreign,
    unzipped,
)
from placelab.formats.loops import Control, Trips, Value
from placelab.formats.op_kinds import category
from placelab.formats.torch.aten_ops import NUMBER, ROWS, Body, CalledBodies, Op, Source, Tensor, assembled, unique
from placelab.problem.graph import OpGraph

EXPECTED = "a program that torch.export.save wrote"
MODEL = re.compile(r"[^/]+/models/[^/]+\.json")
WEIGHTS = re.compile(r"[^/]+/data/weights/[^/]+\.json")
PREFIX = re.compile(r"^(torch\.ops\.(higher_order\.)?|_operator\.)")  # of targets
CONSTANTS = re.compile(r"[^/]+/data/constants/[^/]+\.json")
MAX_CONSTANTS = 1_000  # whose values are read
MAX_DEPTH = 30  # of programs in programs
UINT8 = 1  # type number
LONGEST = 8  # bytes of the longest number
WHOLE = {1, 2, 3, 4, 5, 12}  # numbers of the types of whole numbers and truth values
END = b"PK\x05\x06"  # end of a zip archive's directory
LOCATOR = b"PK\x06\x07"  # before it in a ZIP64 archive
LARGEST_END = 65_557  # bytes, comment included
LARGEST_DIRECTORY = 4 << 20  # bytes; about 100 per weight
LARGEST_TENSOR = 1 << 62  # elements
MAX_RANK = 64  # PyTorch's own limit
ITEM = dict(zip(range(1, 14), (1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 2), strict=True)) | {
    28: 2,  # unsigned integers, then the 8-bit types
    **dict.fromkeys(range(29, 34), 1),
    34: 4,
    35: 8,
}
KIND = dict(enumerate("uint8 int8 int16 int32 int64 float16 float32 float64".split(), start=1))  # names of the types
KIND |= dict(enumerate("complex32 complex64 complex128 bool bfloat16".split(), start=9))
KIND |= dict(enumerate("uint16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz".split(), start=28))
KIND |= {33: "float8_e8m0fnu", 34: "uint32", 35: "uint64"}
HALVES = {6: "float16", 13: "bfloat16"}  # number types whose products have a speed of their own
BROKEN = (zipfile.BadZipFile, zlib.error, OSError, EOFError, RuntimeError, ValueError, struct.error)  # of zipfile
Types = type | tuple[type, ...]
PLAIN: dict[str, Types] = {"as_int": int, "as_float": (int, float), "as_bool": bool, "as_string": str}
PLAIN_LISTS: dict[str, Types] = {"as_ints": int, "as_floats": (int, float), "as_bools": bool}


def read(path: Any, *, trips: Trips = 1) -> OpGraph:
    """Read a ``.pt2`` file; a ``while_loop`` of which it does not say how often it runs counts `trips` times.

    Returns
    -------
    OpGraph
        The graph that :func:`placelab.formats.torch.module.from_exported` returns for the saved program.

    Raises
    ------
    FormatError
        Another format, a file with several programs, or a malformed program.
    """
    path = path_of(path)
    with open_file(path, EXPECTED) as file:
        start = file.read(START)
        refuse_foreign(start, str(path), EXPECTED)
        packed = start.startswith(GZIP)
        return loads(read_file(path, EXPECTED), str(path), trips=trips) if packed else _graph(file, str(path), trips)


def loads(data: bytes, where: str = "the upload", *, trips: Trips = 1) -> OpGraph:
    """The graph in the bytes of a ``.pt2`` file, gzipped or not; `where` names it in messages."""
    return _graph(io.BytesIO(unzipped(data, where)), where, trips)


# ---------------------------------------------------------------- the archive


def _graph(file: BinaryIO, where: str, trips: int) -> OpGraph:
    control = Control(trips)
    _check_directory(file, where)
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in archive.namelist() if MODEL.fullmatch(name)]
            if not names and (seen := files.archive(archive.namelist())):
                raise FormatError(f"{where} looks like {seen}; expected {EXPECTED}")
            if len(names) != 1:
                raise FormatError(f"{where} holds {len(names)} programs in models/; expected one, of torch.export.save")
            document = _json(archive, names[0], where)
            weights = [name for name in archive.namelist() if WEIGHTS.fullmatch(name)]
            stored = _json(archive, weights[0], where) if weights else {}
            constants = _constants(archive, where)
    except FormatError:
        raise
    except BROKEN as error:
        raise FormatError(f"{where} is not {EXPECTED}: {str(error) or 'a broken zip archive'}") from None
    with read_from(where):
        return graph_of(document, _shared(stored), where, control, constants)


def looks_like(file: BinaryIO, where: str) -> str:
    """What a zip archive looks like, and what helps; "" if that is not known, or the file is none."""
    try:
        _check_directory(file, where)
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (FormatError, *BROKEN):
        return ""
    programs = any(map(MODEL.fullmatch, names))
    return f"{EXPECTED}; give it a name that ends in .pt2" if programs else files.archive(names) or "a zip archive"


def _check_directory(file: BinaryIO, where: str) -> None:
    """FormatError if the archive has too many members, before zipfile reads its directory."""
    file.seek(0, io.SEEK_END)
    size = file.tell()
    file.seek(max(0, size - LARGEST_END))
    tail = file.read()
    at = _end(tail)
    listed = struct.unpack_from("<I", tail, at + 12)[0] if 0 <= at <= len(tail) - 22 else 0
    if at >= 76 and tail.startswith(LOCATOR, at - 20):  # the end of a ZIP64 directory is the 56 bytes before that
        there = struct.unpack_from("<Q", tail, at - 12)[0] == size - len(tail) + at - 76
        listed = struct.unpack_from("<Q", tail, at - 36)[0] if there else 1 << 64
    if at < 0 or listed > LARGEST_DIRECTORY:
        file.seek(0)
        found = (
            f"its list of members has {listed:,} bytes" if at >= 0 else "it is no zip archive" + look(file.read(START))
        )
        raise FormatError(f"{where} is not {EXPECTED}: {found}")


def _end(tail: bytes) -> int:
    """Index of the directory's end, found as zipfile finds it; -1 if there is none."""
    last = len(tail) - 22
    return last if last >= 0 and tail.startswith(END, last) and tail.endswith(b"\0\0") else tail.rfind(END)


def _json(archive: zipfile.ZipFile, name: str, where: str) -> Any:
    member = archive.getinfo(name)
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FormatError(f"{where}: {name} is packed in a way that PyTorch does not write")
    limit = most_unpacked(member.compress_size)
    with archive.open(member) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise FormatError(f"{where}: {name} unpacks to more than {limit:,} bytes; such files are not read")
    return json_of(data, f"{where}: {name}", "JSON of torch.export")


def _constants(archive: zipfile.ZipFile, where: str) -> dict[str, Value]:
    """Values of the stored tensors that are one whole number or truth value, which are stored as their bytes."""
    lists = [name for name in archive.namelist() if CONSTANTS.fullmatch(name)]
    stored = _json(archive, lists[0], where) if lists else {}
    config = stored.get("config") if isinstance(stored, dict) else None
    found: dict[str, Value] = {}
    for name, constant in list(config.items())[:MAX_CONSTANTS] if isinstance(config, dict) else ():
        meta = constant.get("tensor_meta") if isinstance(constant, dict) else None
        if not isinstance(meta, dict) or meta.get("sizes") != [] or constant.get("use_pickle") is not False:
            continue
        member = f"{lists[0].rpartition('/')[0]}/{constant.get('path_name')}"
        if meta.get("dtype") in WHOLE and member in archive.NameToInfo:
            with archive.open(member) as file:
                data = file.read(LONGEST + 1)
            if len(data) == ITEM[meta["dtype"]]:
                found[name] = int.from_bytes(data, "little", signed=meta["dtype"] != UINT8)
    return found


def _shared(stored: Any) -> dict[str, str]:
    """Name of each stored weight → first name of a weight in the same member."""
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
    """The part of a program that has been read.

    Attributes
    ----------
    tensors
        Name of a value → its tensor.
    sources
        Name of a value → its source: an op's output, or a parameter's name; None for values that are not tensors.
    sizes
        Parameter → bytes.
    aliases
        Each name of a parameter → its name in `sizes`.
    ops
        The ops.
    taken
        Names of the ops.
    held
        Number type → bytes of the parameters of that type.
    """

    tensors: Mapping[str, Tensor]
    sources: dict[str, Source | str | None] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)
    ops: list[Op] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)
    held: dict[Any, float] = field(default_factory=dict)
    depth: int = 0  # of programs around it


def graph_of(
    document: Any, shared: Mapping[str, str], where: str, control: Control, constants: Mapping[str, Value]
) -> OpGraph:
    """The graph of a program in parsed JSON; `shared` maps names of weights to the first name of the same weight."""
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
    title = re.split(r"[/\\]", where)[-1].removesuffix(".gz").removesuffix(".pt2")
    version = str(document.get("torch_version", "of unknown version"))[:40]
    half = HALVES.get(max(program.held, key=program.held.__getitem__, default=0))
    metadata = {"name": title, "provenance": f"torch.export.save, PyTorch {version}"}
    metadata |= {"costs": {"precision": half}} if half else {}
    values = {shared.get(name, name): value for name, value in constants.items()}
    return assembled(program.ops, program.sizes, program.aliases, metadata, control, values)


def _tensor(value: Any, what: str) -> Tensor:
    meta = record(value, what)
    item = ITEM.get(integer(meta.get("dtype"), f"dtype of {what}", 0, 255), 0)
    sizes = [_size(size, f"a size of {what}") for size in records(meta.get("sizes"), f"sizes of {what}")]
    if len(sizes) > MAX_RANK or prod(size or 0 for size in sizes) > LARGEST_TENSOR:
        raise FormatError(f"{what} has {len(sizes)} dimensions of {sizes!r:.60}; PyTorch has no such tensors")
    known = tuple(size for size in sizes if size is not None)
    kind = KIND.get(meta["dtype"], "")
    return Tensor(known if len(known) == len(sizes) else None, item, meta["dtype"] in WHOLE, kind)


def _size(value: Mapping[str, Any], what: str) -> int | None:
    """A size, or the value of an expression when it was traced; None if it had none."""
    if "as_int" in value:
        return integer(value["as_int"], what, 0, 1 << 62)
    hint = record(value.get("as_expr"), what).get("hint")
    hinted = hint.get("as_int") if isinstance(hint, dict) else None
    return None if hinted is None else integer(hinted, what, 0, 1 << 62)


def _input(
    program: Program, spec: Mapping[str, Any], shared: Mapping[str, str], what: str, tensors: Mapping[str, Any]
) -> None:
    kind, given = next(iter(spec.items()), ("", None))
    value = record(given, f"{what}, {kind!r:.40},")
    arg = value.get("arg")
    if kind == "user_input":
        for name in _names(arg, what):
            if name in program.tensors:
                program.sources[name] = Source(len(program.ops), 0)
                program.ops.append(Op(unique(name, program.taken), "input", (), {0: program.tensors[name]}))
    elif kind in ("parameter", "buffer", "tensor_constant"):
        name = text(record(arg, f"arg of {what}").get("name"), f"the name of {what}")
        own = text(value.get(f"{kind}_name"), f"{kind}_name of {what}")
        held = shared.get(own, own)
        program.sources[name] = held
        program.aliases[own] = held
        size = program.tensors.get(name, NUMBER).bytes
        program.sizes[held] = max(program.sizes.get(held, 0.0), size)
        dtype = tensors[name]["dtype"] if name in tensors else 0
        program.held[dtype] = program.held.get(dtype, 0.0) + size


def _node(program: Program, node: Mapping[str, Any], what: str) -> None:
    kind = PREFIX.sub("", text(node.get("target"), f"target of {what}"), count=1)
    what = f"{what}, {kind!r:.80}"
    given = records(node.get("inputs"), f"inputs of {what}")
    reads = [name for argument in given for name in _names(argument.get("arg"), what)]
    made = [
        name for output in records(node.get("outputs"), f"outputs of {what}") for name in _output_names(output, what)
    ]
    short = kind.split(".")[1] if kind.startswith("aten.") else kind.rpartition(".")[2]
    if unknown := [name for name in reads if name not in program.sources]:
        raise FormatError(f"{what} reads {unknown[0]!r:.80}, which no earlier node makes")
    if short.startswith("_assert"):
        program.sources |= dict.fromkeys(made)
        return
    first = program.sources[reads[0]] if reads else None
    if len(made) == 1 and (
        short == "detach" or (isinstance(first, str) and _is_view(program, kind, reads[0], made[0]))
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
            _run(program, [record(argument.get("arg"), f"an argument of {what}") for argument in given], short, what),
        )
    )


def _run(program: Program, given: list[dict[str, Any]], short: str, what: str) -> CalledBodies | None:
    """The programs that a node runs, and what it gives them; None if it runs none."""
    at = [i for i, argument in enumerate(given) if "as_graph" in argument]
    if not at:
        return None
    bodies = [_body(given[i]["as_graph"], program.depth + 1, what) for i in at]
    rows = ROWS.get(short, 0)
    through = list(_names(given[rows], what))[:1] if rows and rows < len(given) else []
    shape = program.tensors[through[0]].shape if through and through[0] in program.tensors else None
    arguments = [source for argument in given[at[-1] + 1 :] for source in _arguments(program, argument, what)]
    return CalledBodies(bodies, arguments, shape[0] if shape else None)


def _body(argument: Any, depth: int, what: str) -> Body:
    """A program that a node runs, its inputs first."""
    if depth > MAX_DEPTH:
        raise FormatError(f"{what} runs programs in programs more than {MAX_DEPTH} deep; such files are not read")
    graph = record(record(argument, f"a program of {what}").get("graph"), f"a program of {what}")
    tensors = record(graph.get("tensor_values"), f"tensor_values in {what}")
    body = Program({name: _tensor(value, f"tensor {name!r:.80}") for name, value in tensors.items()}, depth=depth)
    for i, entry in enumerate(records(graph.get("inputs"), f"inputs in {what}")):
        name = next(_names(entry, what), f"input {i}")
        body.sources[name] = Source(len(body.ops), 0)
        body.ops.append(Op(unique(name, body.taken), "input", (), {0: body.tensors.get(name, NUMBER)}))
    for i, node in enumerate(records(graph.get("nodes"), f"nodes in {what}")):
        _node(body, node, f"node {i} in {what}")
    outputs = records(graph.get("outputs"), f"outputs in {what}")
    return Body(body.ops, [source for entry in outputs for source in _arguments(body, entry, what)])


def _arguments(program: Program, argument: Any, what: str) -> list[Source | str | int | None]:
    """The sources in an argument; whole numbers are their own."""
    if isinstance(argument.get("as_int"), int):
        return [argument["as_int"]]
    names = list(_names(argument, what))
    return [program.sources.get(name) for name in names] or [None]


def _is_view(program: Program, kind: str, read: str, made: str) -> bool:
    """Whether an op returns its input's memory: a view that keeps the size of elements."""
    item = {program.tensors.get(name, NUMBER).item for name in (read, made)}
    return category(kind) == "view" and len(item) == 1


def _names(argument: Any, what: str) -> Iterator[str]:
    """Names of the tensors and symbolic numbers in an argument."""
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


def _output_names(output: Any, what: str) -> list[str]:
    """Names of the values of an output; one "" if it is absent, as it still has a number."""
    return list(_names(output, what)) or [""]


def _plain(argument: Any) -> Iterator[Any]:
    """The value of an argument that is a number, text, None or a list of numbers."""
    for kind, value in argument.items():
        if isinstance(value, PLAIN.get(kind, ())):
            yield value
        elif isinstance(value, list) and kind in PLAIN_LISTS and all(isinstance(v, PLAIN_LISTS[kind]) for v in value):
            yield value
        elif kind == "as_none":
            yield None


def _module_path(metadata: Any) -> str:
    """Dotted path of the innermost module in ``key,path,class;…``."""
    stack = metadata.get("nn_module_stack", "") if isinstance(metadata, dict) else ""
    parts = stack.rpartition(";")[2].split(",") if isinstance(stack, str) else []
    return parts[1].partition("@")[0] if len(parts) > 2 else ""

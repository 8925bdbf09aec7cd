"""ONNX: what does a model compute, out of what, in how many bytes and floating-point operations?

An op is a node, or an input of the graph (kind ``Input``): the device that holds it sends it to its readers. Initializers are
no ops but ``persistent`` bytes of the first op that reads them; all readers of one over a kilobyte share a colocation group.
So are values computed from initializers alone, such as a weight that is transposed, or the ``ConstantOfShape`` weights of
onnx's own test models: every runtime computes them once, when it loads the model. Quantised weights are kept as they are
stored: ``DequantizeLinear`` is an op. Functions are inlined; ``If``, ``Loop`` and ``Scan`` are one op each, which reads what
their bodies capture, holds the parameters in them, and counts a body once (of ``If`` the branch of more operations). Files of
external weights are not opened.
"""

from __future__ import annotations

import math
import mmap
from collections import ChainMap, Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from placelab.errors import FormatError, PlacelabError, UnsupportedError
from placelab.files.fields import title
from placelab.files.limits import GZIP, path_of, read_file, unzipped
from placelab.files.protobuf import parse
from placelab.flops.counting import count
from placelab.formats.building import build
from placelab.formats.onnx.shape_inference import completed, inferred
from placelab.formats.onnx.tensor_values import UNKNOWN, Value, assume, is_sized, values_of
from placelab.formats.onnx.weights import without_weights
from placelab.problem.graph import OpGraph

EXPECTED = "an ONNX model"
MAX_FILE = (2 << 30) - 1  # bytes; protobuf has no larger messages
MAX_SLIM = 64 << 20  # bytes of a model without its weights
MAX_SIZE = 1 << 31  # of a dimension that a user gives
SHARED = 1024  # bytes; a smaller parameter ties no ops together
MAX_ATTRIBUTE = 64  # entries; longer ones are data, not what a cost depends on
DOMAINS = ("", "ai.onnx")
HALVES = {10: "float16", 16: "bfloat16"}  # TensorProto.DataType → number type of 16 bits
NOT_FOLDED = {  # ops that are not computed once and for all although all they read is constant
    "DequantizeLinear",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
    "Multinomial",
    "Bernoulli",
}


def read(path: Any, *, dimensions: Mapping[str, int] | None = None) -> OpGraph:
    """The graph in an ONNX file; its weights are not read, nor are the files that hold external ones.

    Parameters
    ----------
    path
        A ``.onnx`` file of up to 2 GB, gzipped or not.
    dimensions
        Sizes of open dimensions of the inputs, by name (``{"batch": 32}``; ``input[axis]`` for one without a name). The others
        count 1; ``metadata["costs"]["assumed"]`` says all that were open.

    Returns
    -------
    OpGraph
        ``compute`` in floating-point operations, ``persistent`` in bytes; ``metadata["costs"]["unknown"]`` counts, by kind, the
        ops whose operations are not known (0), ``["unsized"]`` the values whose bytes are not; ``["precision"]`` is there where
        most parameters have 16 bits.

    Raises
    ------
    FormatError, CycleError
        No such file, or no such graph.
    UnsupportedError
        onnx is not installed.

    Notes
    -----
    About 0.2 s, then O(nodes); shapes are inferred by onnx in a process of its own.
    """
    path = path_of(path)
    if not path.is_file():
        read_file(path, EXPECTED)  # says what it is instead
    try:
        with path.open("rb") as file:
            if path.stat().st_size > MAX_FILE:
                raise FormatError(f"{path} has {path.stat().st_size:,} bytes; models over {MAX_FILE:,} are not read")
            if file.read(2) == GZIP or path.stat().st_size < mmap.PAGESIZE:
                return loads(read_file(path, EXPECTED), str(path), dimensions=dimensions)
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                slim = without_weights(data, str(path))
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}") from None
    return _graph_of(slim, str(path), dimensions or {})


def loads(data: bytes, where: str = "the upload", *, dimensions: Mapping[str, int] | None = None) -> OpGraph:
    """The graph in the bytes of an ONNX file, gzipped or not; `where` names it in messages. As :func:`read`."""
    return _graph_of(without_weights(unzipped(data, where), where), where, dimensions or {})


def op_name(name: str) -> str:
    """A node's name as an op's: on one line, without the slash that PyTorch's exporter puts first.

    >>> op_name("/layer1/conv1/Conv")
    'layer1/conv1/Conv'
    """
    return _line(name).strip("/")


def _line(text: str) -> str:
    return " ".join(text.split())


# -------------------------------------------------------------------- from bytes to a GraphProto


def _graph_of(slim: bytes, where: str, dimensions: Mapping[str, int]) -> OpGraph:
    onnx = _onnx()
    _check_dimensions(dimensions)
    if len(slim) > MAX_SLIM:
        raise FormatError(f"{where} has {len(slim):,} bytes besides its weights; models over {MAX_SLIM:,} are not read")
    model = parse(onnx.ModelProto, slim, where)
    if not model.graph.node:
        raise FormatError(f"{where} is not an ONNX model: expected a graph with nodes")
    strange = next((text for text in _texts(model) if not isinstance(text, str)), None)
    if strange is not None:
        raise FormatError(f"{where} has the name {strange!r:.80}, which is not text in UTF-8")
    assumed = assume(model.graph, dimensions)
    if strange := sorted(dimensions.keys() - assumed.keys()):
        raise UnsupportedError(f"{where} has no open dimension {strange[0]!r}; open are {', '.join(assumed) or 'none'}")
    data, problem = inferred(model.SerializeToString(), bool(model.functions))
    model = onnx.ModelProto.FromString(data)
    if _computes_shapes(model.graph):
        model = onnx.ModelProto.FromString(completed(data))
    try:
        return _graph(model, assumed, problem, where)
    except PlacelabError as error:
        raise type(error)(f"{where}: {error}") from None


def _computes_shapes(graph: Any) -> bool:
    """Whether some shapes are still not known, and the graph works with shapes."""
    known = {info.name for info in (*graph.value_info, *graph.output) if is_sized(info)}
    if not any(node.op_type in ("Shape", "Size", "Constant") for node in graph.node):
        return False
    return any(name and name not in known for node in graph.node for name in node.output)


def _texts(model: Any) -> Iterator[Any]:
    """All names in a model. Those that are not UTF-8 come as bytes: ONNX is of protobuf's older kind, which lets them pass."""
    yield from (model.producer_name, model.producer_version)
    yield from (opset.domain for opset in model.opset_import)
    yield from _names_in(model.graph)
    for function in model.functions:
        yield from (function.name, function.domain, *function.input, *function.output)
        for node in function.node:
            yield from _names_at(node)


def _names_in(graph: Any) -> Iterator[Any]:
    yield graph.name
    for info in (*graph.input, *graph.output, *graph.value_info):
        yield info.name
        yield from (dim.dim_param for dim in info.type.tensor_type.shape.dim)
    yield from (tensor.name for tensor in graph.initializer)
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    for node in graph.node:
        yield from _names_at(node)


def _names_at(node: Any) -> Iterator[Any]:
    yield from (node.name, node.op_type, node.domain, *node.input, *node.output)
    yield from (attribute.name for attribute in node.attribute)
    for body in _bodies(node):
        yield from _names_in(body)


def _check_dimensions(dimensions: Any) -> None:
    if not isinstance(dimensions, Mapping):
        raise UnsupportedError(f"dimensions is {dimensions!r:.60}; expected name → size")
    for name, size in dimensions.items():
        if type(size) is not int or not 1 <= size <= MAX_SIZE:
            raise UnsupportedError(f"dimension {name!r} is {size!r:.40}; expected a whole number, 1 or more")


def _onnx() -> Any:
    try:
        import onnx
    except ImportError:
        raise UnsupportedError("ONNX models need onnx: pip install placelab[onnx]") from None
    return onnx


# -------------------------------------------------------------------- from a GraphProto to a graph


@dataclass(frozen=True)
class Nodes:
    """The ops of a model: inputs first, then the nodes that are not computed in advance."""

    inputs: list[Any]
    nodes: list[Any]
    numbers: list[int]  # of each node in the file's list
    reads: list[list[str]]  # by each node, captured ones last
    constants: set[str]  # values known in advance
    producer: dict[str, tuple[int, int]]  # value → op, output number


def _graph(model: Any, assumed: Mapping[str, int], problem: str, where: str) -> OpGraph:
    values, ops = values_of(model.graph), _ops(model.graph)
    first = len(ops.inputs)
    size_of = lambda name: values.get(name, UNKNOWN).bytes or 0.0  # noqa: E731
    edges = [(*ops.producer[name], v, size_of(name)) for name, v in _data(ops)]
    read_by = _readers(ops)
    shared = {name: sorted(set(readers)) for name, readers in read_by.items() if size_of(name) > SHARED}
    groups = {name: readers for name, readers in shared.items() if len(readers) > 1}
    unknown: Counter[str] = Counter()
    compute = [_operations(node, values, unknown) for node in ops.nodes]
    costs = {
        "compute": "FLOP",
        "unknown": dict(unknown),
        "unsized": sum(values.get(name, UNKNOWN).bytes is None for name in (*ops.producer, *read_by)),
        "assumed": dict(assumed),
        "folded": len(model.graph.node) - len(ops.nodes),
    } | _precision(model.graph)
    return build(
        _names(ops),
        [0.0] * first + compute,
        [(u, v) for u, _, v, _ in edges],
        edge_bytes=[size for *_, size in edges],
        edge_output=[k for _, k, _, _ in edges],
        outputs=[(v, k, size_of(name)) for name, (v, k) in ops.producer.items()],
        persistent=_persistent(ops, read_by, size_of),
        kind=["Input"] * first + [_line(node.op_type) or "?" for node in ops.nodes],
        groups=list(groups.values()),
        group_names=[_line(name) for name in groups],
        metadata={
            "name": _line(model.graph.name) or title(where, "model"),
            "provenance": _provenance(model),
            "costs": costs | ({"problem": problem} if problem else {}),
        },
    )


def _persistent(ops: Nodes, read_by: Mapping[str, list[int]], size_of: Callable[[str], float]) -> list[float]:
    """Bytes of the parameters that each op is the first to read, and of those in its bodies."""
    persistent = [0.0] * len(ops.inputs) + [sum(_held(body) for body in _bodies(node)) for node in ops.nodes]
    for name, readers in read_by.items():
        persistent[readers[0]] += size_of(name)
    return persistent


def _precision(graph: Any) -> dict[str, str]:
    """Number type of products, where most elements of the parameters are in 16 bits."""
    size: Counter[int] = Counter()
    for tensor in graph.initializer:
        size[tensor.data_type] += math.prod(tensor.dims)
    half = HALVES.get(max(size, key=size.__getitem__, default=0))
    return {"precision": half} if half else {}


def _provenance(model: Any) -> str:
    opsets = ", ".join(f"{opset.domain or 'ai.onnx'} {opset.version}" for opset in model.opset_import[:8])
    producer = f", made by {model.producer_name} {model.producer_version}".rstrip() if model.producer_name else ""
    return _line(f"ONNX, IR version {model.ir_version}, opset {opsets or 'not given'}{producer}")


def _ops(graph: Any) -> Nodes:
    given = [*(tensor.name for tensor in graph.initializer), *(s.values.name for s in graph.sparse_initializer)]
    reads = [_reads(node) for node in graph.node]
    constants, folded = _folded(graph.node, reads, set(given))
    if len(folded) == len(graph.node):  # all of it is known in advance: then show how
        constants, folded = set(given), set()
    inputs = [info for info in graph.input if info.name not in constants]
    kept = [i for i in range(len(graph.node)) if i not in folded]
    nodes = [graph.node[i] for i in kept]
    outputs = [[info.name] for info in inputs] + [node.output for node in nodes]
    return Nodes(inputs, nodes, kept, [reads[i] for i in kept], constants, _producers(outputs))


def _producers(outputs: list[Iterable[str]]) -> dict[str, tuple[int, int]]:
    """Value → the op and the number of the output that it is."""
    producer: dict[str, tuple[int, int]] = {}
    for v, names in enumerate(outputs):
        for k, name in enumerate(names):
            if name and name in producer:
                raise FormatError(f"two nodes or inputs produce {name!r:.80}; one is expected")
            if name:
                producer[name] = v, k
    return producer


def _folded(nodes: Any, reads: list[list[str]], constants: set[str]) -> tuple[set[str], set[int]]:
    """What is known when the model has been loaded: values, and the numbers of the nodes that compute them."""
    folded = set()
    for i, node in enumerate(nodes):
        if _foldable(node) and constants.issuperset(reads[i]):
            folded.add(i)
            constants.update(filter(None, node.output))
    return constants, folded


def _foldable(node: Any) -> bool:
    return node.domain in DOMAINS and node.op_type not in NOT_FOLDED and not any(_bodies(node))


def _reads(node: Any) -> list[str]:
    """Values a node reads: its inputs, then what its bodies take from outside."""
    captured = dict.fromkeys(name for body in _bodies(node) for name in _captured(body))
    return [*filter(None, node.input), *captured]


def _bodies(node: Any) -> Iterator[Any]:
    """The graphs that a node runs: branches, loop bodies."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def _captured(body: Any) -> dict[str, None]:
    known = {x.name for x in (*body.input, *body.initializer)} | {s.values.name for s in body.sparse_initializer}
    wanted: dict[str, None] = {}
    for node in body.node:
        wanted |= dict.fromkeys(name for name in _reads(node) if name not in known)
        known.update(node.output)
    return wanted | dict.fromkeys(info.name for info in body.output if info.name not in known)


def _data(ops: Nodes) -> Iterator[tuple[str, int]]:
    """(value, op that reads it) of each input that an op computes."""
    for v, names in enumerate(ops.reads, start=len(ops.inputs)):
        for name in names:
            if name in ops.producer:
                yield name, v
            elif name not in ops.constants:
                node = ops.nodes[v - len(ops.inputs)]
                what = f"node {node.name!r:.80} ({_line(node.op_type):.40})"
                raise FormatError(f"{what} reads {name!r:.80}, which no node, input or initializer is")


def _readers(ops: Nodes) -> dict[str, list[int]]:
    """Parameter → ops that read it, in the file's order."""
    found: dict[str, list[int]] = {}
    for v, names in enumerate(ops.reads, start=len(ops.inputs)):
        for name in names:
            if name not in ops.producer:
                found.setdefault(name, []).append(v)
    return found


def _names(ops: Nodes) -> list[str]:
    """Unique names: a node without one is called by its type and number, as ONNX Runtime does in its profiles."""
    wanted = [(op_name(node.name), node.op_type, i) for node, i in zip(ops.nodes, ops.numbers, strict=True)]
    taken: set[str] = {name for name, _, _ in wanted}
    seen: set[str] = set()
    names = [_unique(name, kind, i, seen, taken) for name, kind, i in wanted]
    inputs = [_unique(op_name(info.name), "Input", i, seen, taken - {""}) for i, info in enumerate(ops.inputs)]
    return inputs + names


def _unique(name: str, kind: str, number: int, seen: set[str], taken: set[str]) -> str:
    """`name` the first time, then with its number in the file; without a name, the type and the number."""
    free = bool(name) and name not in seen
    while not free:
        name = f"{name or op_name(kind) or 'op'}_{number}"
        free = name not in seen and name not in taken
    seen.add(name)
    return name


def _held(body: Any) -> float:
    """Bytes of the parameters in a body: initializers and constants, those of bodies inside it included."""
    values = values_of(body)
    own = [*(x.name for x in body.initializer), *(s.values.name for s in body.sparse_initializer)]
    own += [node.output[0] for node in body.node if node.op_type == "Constant" and node.output]
    inner = (_held(deeper) for node in body.node for deeper in _bodies(node))
    return sum(values.get(name, UNKNOWN).bytes or 0.0 for name in own) + sum(inner)


# -------------------------------------------------------------------- floating-point operations


def _operations(node: Any, values: Mapping[str, Value], unknown: Counter[str]) -> float:
    """Of a node, its bodies included; 0 and counted in `unknown` where they are not known."""
    bodies = list(_bodies(node))
    if bodies:
        found = [_of_body(body, values, unknown) for body in bodies]
        return max(found) if node.op_type == "If" else sum(found)
    shapes = lambda names: [values.get(name, UNKNOWN).shape for name in names]  # noqa: E731
    operations = count(node.op_type, shapes(node.input), shapes(node.output), _attributes(node))
    if operations is None or not 0 <= operations < math.inf:
        unknown[_line(node.op_type)] += 1
        return 0.0
    return float(operations)


def _of_body(body: Any, values: Mapping[str, Value], unknown: Counter[str]) -> float:
    inside = ChainMap(values_of(body), values)
    return sum(_operations(node, inside, unknown) for node in body.node)


def _attributes(node: Any) -> dict[str, Any]:
    """A node's attributes as Python values, those that are tensors, graphs or long lists left out."""
    found: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.type in (1, 2):
            found[attribute.name] = attribute.f if attribute.type == 1 else attribute.i
        elif attribute.type == 3:
            found[attribute.name] = attribute.s.decode(errors="replace")
        elif attribute.type in (6, 7):
            entries = attribute.floats if attribute.type == 6 else attribute.ints
            found |= {attribute.name: list(entries)} if len(entries) <= MAX_ATTRIBUTE else {}
    return found

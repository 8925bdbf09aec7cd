"""Read ONNX models: ops, bytes and floating-point operations.

Functions are inlined and shapes inferred; :mod:`placelab.formats.onnx.model_graph` describes the graph. Files of external
weights are not opened.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Mapping
from typing import Any

from placelab.base.errors import FormatError, PlacelabError, UnsupportedError
from placelab.base.interrupts import need
from placelab.base.limits import GZIP, open_file, path_of, read_file, unzipped
from placelab.formats.onnx.model_graph import graph_of
from placelab.formats.onnx.node_proto import body_graphs
from placelab.formats.onnx.shape_inference import completed, inferred
from placelab.formats.onnx.tensor_values import assume, is_sized
from placelab.formats.onnx.weights import without_weights
from placelab.formats.protobuf import parse
from placelab.problem.graph import OpGraph

EXPECTED = "an ONNX model"
MAX_FILE = (2 << 30) - 1  # bytes; protobuf has no larger messages
MAX_SLIM = 64 << 20  # bytes of a model without its weights
MAX_SIZE = 1 << 31  # of a dimension in `dimensions`


def read(path: Any, *, dimensions: Mapping[str, int] | None = None) -> OpGraph:
    """Read an ONNX file, without its weights.

    Parameters
    ----------
    path
        A ``.onnx`` file of up to 2 GB, gzipped or not.
    dimensions
        Sizes of unknown dimensions of the inputs, by name (``{"batch": 32}``; ``input[axis]`` for one without a name). Others
        count as 1; ``metadata["costs"]["assumed"]`` lists all unknown dimensions.

    Returns
    -------
    OpGraph
        ``compute`` in floating-point operations, ``persistent`` in bytes. ``metadata["costs"]["unknown"]`` counts, by kind, the
        ops whose operations are unknown (0), ``["unsized"]`` the values whose bytes are unknown; ``["precision"]`` is present
        if most parameters have 16 bits.

    Raises
    ------
    FormatError, CycleError
        A file that does not exist, is not an ONNX model, or exceeds a limit.
    UnsupportedError
        onnx is not installed.

    Notes
    -----
    About 0.2 s, then O(nodes). onnx infers shapes in a separate process.
    """
    path = path_of(path)
    with open_file(path, EXPECTED) as file:
        size = path.stat().st_size
        if size > MAX_FILE:
            raise FormatError(f"{path} has {size:,} bytes; models over {MAX_FILE:,} are not read")
        if file.read(2) == GZIP or size < mmap.PAGESIZE:
            return loads(read_file(path, EXPECTED), str(path), dimensions=dimensions)
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            slim = without_weights(data, str(path))
    return _graph_of(slim, str(path), dimensions or {})


def loads(data: bytes, where: str = "the upload", *, dimensions: Mapping[str, int] | None = None) -> OpGraph:
    """Read the bytes of an ONNX file, gzipped or not, as :func:`read` does; `where` names it in messages."""
    return _graph_of(without_weights(unzipped(data, where), where), where, dimensions or {})


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
        return graph_of(model, assumed, problem, where)
    except PlacelabError as error:
        raise type(error)(f"{where}: {error}") from None


def _computes_shapes(graph: Any) -> bool:
    """Whether the graph computes with shapes and some shapes are still unknown."""
    known = {info.name for info in (*graph.value_info, *graph.output) if is_sized(info)}
    if not any(node.op_type in ("Shape", "Size", "Constant") for node in graph.node):
        return False
    return any(name and name not in known for node in graph.node for name in node.output)


def _texts(model: Any) -> Iterator[Any]:
    """All names in a model; bytes if not UTF-8, which the proto2 messages of ONNX accept."""
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
    for body in body_graphs(node):
        yield from _names_in(body)


def _check_dimensions(dimensions: Any) -> None:
    if not isinstance(dimensions, Mapping):
        raise UnsupportedError(f"dimensions is {dimensions!r:.60}; expected name → size")
    for name, size in dimensions.items():
        if type(size) is not int or not 1 <= size <= MAX_SIZE:
            raise UnsupportedError(f"dimension {name!r} is {size!r:.40}; expected a whole number, 1 or more")


def _onnx() -> Any:
    try:
        need("onnx")
        import onnx
    except ImportError:
        raise UnsupportedError("ONNX models need onnx: pip install placelab[onnx]") from None
    return onnx

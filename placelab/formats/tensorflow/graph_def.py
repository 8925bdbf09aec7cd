"""Read TensorFlow graphs, a GraphDef (``.pb``, ``.pbtxt``) or a SavedModel's ``saved_model.pb``, without TensorFlow.

* Ops and edges are those of the file: an input ``op:1`` is output 1, ``^op`` a control edge.
* A variable is an op that holds its bytes. References and resources have 0 bytes.
* Colocation groups join, transitively: a variable and the ops that read its reference or resource; ops that name each other in
  ``loc:@``; ``Switch``, ``Enter`` and ``Exit`` and the op that produces or consumes their data, to whose device TensorFlow moves
  them.
* ``device`` becomes allowed devices (:mod:`placelab.formats.tensorflow.devices`).
* Bytes are those of static shapes (:mod:`placelab.formats.tensorflow.output_shapes`); FLOP are counted from shapes.
* Calls of functions are replaced by their bodies (:mod:`placelab.formats.tensorflow.functions`).
* A loop of TensorFlow 1 becomes one iteration: edges from ``NextIteration`` back to ``Merge`` are removed, and both ops share a
  group. Loops and branches of TensorFlow 2 (``While``, ``If``, ``Case``) are single ops, which count the operations of their
  functions.
* The graph of a SavedModel is cut to the ops that its signatures need.

``metadata["costs"]`` counts what is unknown: ``unknown``, ops by kind whose FLOP could not be counted; ``unsized``, outputs whose
bytes are unknown or have only a lower bound; ``assumed``, outputs of which an unknown dimension was taken to be ``batch``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import numpy as np

from placelab.base.errors import FormatError, PlacelabError
from placelab.base.fields import title
from placelab.base.files import read_file, text_of, unzipped
from placelab.formats.building import Out, build, storages, without_garbage_collection
from placelab.formats.loops import Control, Trips
from placelab.formats.tensorflow.containers import Contents, binary, is_text, textual
from placelab.formats.tensorflow.devices import allowed
from placelab.formats.tensorflow.functions import Bodies, Wired, inlined
from placelab.formats.tensorflow.nodes import (
    CONTROL,
    DATA_TYPE,
    EXPECTED,
    Edge,
    Node,
    data_inputs,
    edges_of,
    size_of,
    without_loops,
)
from placelab.formats.tensorflow.output_shapes import Sizes, held
from placelab.problem.graph import OpGraph
from placelab.problem.graph_building import topological_order
from placelab.problem.graph_checks import check_size
from placelab.schedule.catalogue import Limits, checked

AFTER = {"Switch", "RefSwitch", "Exit", "RefExit"}  # kinds placed with their first input
BEFORE = {"Enter", "RefEnter"}  # kinds placed with their first consumer
HALVES = {DATA_TYPE[f"DT_{name}"]: called for name, called in (("HALF", "float16"), ("BFLOAT16", "bfloat16"))}

Batch = Annotated[int, Limits(1, (1 << 31) - 1)] | None


def read(path: Any, *, batch: Batch = 1, devices: Any = True, trips: Trips = 1) -> OpGraph:
    """Read a TensorFlow file.

    Parameters
    ----------
    path
        GraphDef as ``.pb`` or ``.pbtxt``, or a SavedModel's ``saved_model.pb``, gzipped or not.
    batch
        Size assumed for the first unknown dimension of a shape; None: outputs of such shapes have 0 bytes.
    devices
        How to use ``device`` fields: True, as allowed devices, on clusters that have such devices; False, not at all; a mapping
        from TensorFlow's names, full or partial, to devices of your cluster: ``{"/gpu:0": "dev0", "/cpu:*": "dev3"}``.
    trips
        Iterations of a ``While`` of which the file does not say how many; ``metadata["loops"]`` lists all.

    Returns
    -------
    OpGraph
        ``compute`` in FLOP, sizes in bytes; `costs`, `loops` and `provenance` in the metadata.

    Raises
    ------
    FormatError, CycleError
        Another format, a damaged or too large file, an input that does not exist, a cycle that is not a loop.
    """
    return loads(read_file(path, EXPECTED), str(path), batch=batch, devices=devices, trips=trips)


@checked
def loads(
    data: bytes, where: str = "the upload", *, batch: Batch = 1, devices: Any = True, trips: Trips = 1
) -> OpGraph:
    """The graph in the bytes of a TensorFlow file, gzipped or not; `where` names it in messages."""
    data = unzipped(data, where)
    try:
        with without_garbage_collection():
            found = textual(text_of(data, where, EXPECTED), where) if is_text(data) else binary(data, where)
            return graph_of(found, where, batch, devices, Control(trips))
    except PlacelabError as error:
        raise error if str(error).startswith(where) else type(error)(f"{where}: {error}") from None


def graph_of(
    contents: Contents, where: str, batch: int | None = 1, devices: Any = True, control: Control | None = None
) -> OpGraph:
    """The graph of a file's contents; `control` records its loops and branches."""
    control = control or Control()
    nodes, outputs = inlined(contents.nodes, contents.library, contents.outputs, where)
    if not nodes:
        raise FormatError(f"{where} holds no ops; expected {EXPECTED}")
    check_size(ops=len(nodes), outputs=sum(len(node.types) for node in nodes))
    calls = len(nodes) != len(contents.nodes)
    nodes, edges = needed(nodes, edges_of(nodes, where), outputs)
    edges, back = without_loops(nodes, edges)
    pairs = np.array([(u, v) for (u, _), v in edges], dtype=np.int64).reshape(-1, 2)
    order = topological_order(len(nodes), pairs, [node.name for node in nodes])
    inputs = data_inputs(len(nodes), edges)
    sizes = Sizes(nodes, inputs, order.tolist(), batch)
    bodies = Bodies(contents.library, control, batch, where)
    compute = bodies.operations(Wired(nodes, inputs, sizes))
    places = allowed(list(dict.fromkeys(node.device for node in nodes)), devices)
    used = {source for source, _ in edges}
    storage = storages(_aliases(nodes, inputs, order.tolist()), lambda output: _bytes(sizes, *output))
    return build(
        [node.name for node in nodes],
        compute,
        pairs,
        edge_bytes=[_bytes(sizes, u, k) for (u, k), _ in edges],
        edge_output=[max(k, 0) for (_, k), _ in edges],
        edge_control=[k == CONTROL for (_, k), _ in edges],
        edge_storage=[storage.get(source, -1) for source, _ in edges],
        outputs=[
            (v, k, size, storage.get((v, k), -1))
            for v, row in enumerate(sizes.bytes)
            for k, size in enumerate(row)
            if (v, k) not in used
        ],
        shapes=sizes.texts,
        persistent=[held(node) for node in nodes],
        kind=[node.kind for node in nodes],
        groups=list(groups(nodes, edges, back)),
        devices={v: places[node.device] for v, node in enumerate(nodes) if node.device in places},
        metadata={
            "name": title(where, "graph"),
            "provenance": contents.provenance | ({"calls": "replaced by the ops of their functions"} if calls else {}),
            "costs": {
                "compute": "FLOP",
                "unknown": dict(sorted(bodies.unknown.items())),
                "unsized": sizes.unsized + sum(k >= len(nodes[u].types) for u, k in used),
                "batch": batch,
                "assumed": sizes.assumed,
            }
            | precision(nodes, compute),
        }
        | control.metadata()
        | ({"rounds": f"one round of each; {len(back)} edges back to the next round are left out"} if back else {}),
    )


def needed(nodes: list[Node], edges: list[Edge], outputs: Sequence[str]) -> tuple[list[Node], list[Edge]]:
    """The ops that these outputs need, and their edges; all ops if no output is given or found."""
    names = {text.partition(":")[0] for text in outputs}
    waiting = [v for v, node in enumerate(nodes) if node.name in names]
    if not waiting:
        return nodes, edges
    before: list[list[int]] = [[] for _ in nodes]
    for (u, _), v in edges:
        before[v].append(u)
    kept = np.zeros(len(nodes), dtype=bool)
    while waiting:
        v = waiting.pop()
        if not kept[v]:
            kept[v] = True
            waiting += before[v]
    rank = (np.cumsum(kept) - 1).tolist()
    left = [((rank[u], k), rank[v]) for (u, k), v in edges if kept[v]]
    return [node for node, keep in zip(nodes, kept, strict=True) if keep], left


def precision(nodes: Sequence[Node], compute: Sequence[float]) -> dict[str, str]:
    """Number type of products, if most operations are on 16 bits; variables may have 32 bits nevertheless."""
    spent: dict[int, float] = {}
    for node, flop in zip(nodes, compute, strict=True):
        kind = node.types[0] or 0 if node.types else 0
        spent[kind] = spent.get(kind, 0.0) + flop
    half = HALVES.get(max(spent, key=spent.__getitem__))
    return {"precision": half} if half else {}


def groups(nodes: Sequence[Node], edges: Sequence[Edge], back: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Pairs of ops that must share a device: by name, by a reference or resource, by control flow."""
    number = {node.name: v for v, node in enumerate(nodes)}
    for v, node in enumerate(nodes):
        yield from ([number[other], v] for other in node.together if number.get(other, v) != v)
    for (u, k), v in edges:
        types = nodes[u].types
        if 0 <= k < len(types) and size_of(types[k]) == 0:
            yield [u, v]
    yield from _with_their_data(nodes, edges)
    yield from ([u, v] for u, v in back)


def _with_their_data(nodes: Sequence[Node], edges: Sequence[Edge]) -> Iterator[list[int]]:
    """Pairs of a control flow op and the op of its first input or output, to whose device TensorFlow always moves it."""
    seen: set[int] = set()
    for (u, k), v in edges:
        if k == CONTROL:
            continue
        if nodes[v].kind in AFTER and v not in seen:
            seen.add(v)
            yield [u, v]
        if nodes[u].kind in BEFORE and u not in seen:
            seen.add(u)
            yield [u, v]


# Ops whose kernels hand their input on as their output, with another shape or none (``set_output(i, input(i))``).
VIEWS = frozenset(
    "Bitcast CheckNumerics EnsureShape Enter Exit ExpandDims Identity NextIteration PlaceholderWithDefault PreventGradient "
    "RefEnter RefExit RefIdentity RefNextIteration Reshape Squeeze StopGradient".split()
)
EACH = frozenset(("IdentityN",))  # each output is the input of its number


def _aliases(nodes: Sequence[Node], inputs: Sequence[Sequence[Out]], order: Sequence[int]) -> Iterator[tuple[Out, Out]]:
    """Outputs that TensorFlow keeps in the memory of an input, with that."""
    for v in order:
        kind = nodes[v].kind
        if kind in EACH:
            yield from ((source, (v, k)) for k, source in enumerate(inputs[v]))
        elif kind in VIEWS and inputs[v]:
            yield inputs[v][0], (v, 0)


def _bytes(sizes: Sizes, op: int, output: int) -> float:
    row = sizes.bytes[op]
    return row[output] if 0 <= output < len(row) else 0.0

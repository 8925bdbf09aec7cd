"""TensorFlow graphs: a GraphDef (``.pb``, ``.pbtxt``) or a SavedModel's ``saved_model.pb``, read without TensorFlow.

What becomes what:

* ops and edges as the file has them: an input ``op:1`` is output 1, ``^op`` a control edge;
* a variable is the op of that name and holds its bytes; references and resources have 0 bytes, and ops that read one share its
  colocation group, as do ops that name each other in ``loc:@``, and ``Switch``, ``Enter`` and ``Exit`` with the op that gives or
  takes their data, to whose device TensorFlow moves them; all joined transitively;
* ``device`` becomes allowed devices (:mod:`placelab.formats.tensorflow.device_names`);
* bytes are those of static shapes (:mod:`placelab.formats.tensorflow.output_shapes`), FLOP are counted from them;
* calls of functions are replaced by their bodies (:mod:`placelab.formats.tensorflow.functions`);
* a loop of TensorFlow 1 becomes one round of it: the edges from ``NextIteration`` back to ``Merge`` are left out, and both ops
  share a group. Loops of TensorFlow 2 (``While``) are single ops of unknown cost;
* of a SavedModel, what its signatures need.

``metadata["costs"]`` counts what is not known: ``unknown``, ops by kind whose FLOP could not be counted; ``unsized``, outputs
whose bytes are not known or only from below; ``assumed``, outputs of which an unknown dimension was taken to be ``batch``.
"""

from __future__ import annotations

import gc
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePath
from typing import Annotated, Any

import numpy as np

from placelab.errors import FormatError, PlacelabError
from placelab.files.limits import read_file, text_of, unzipped
from placelab.flops.counting import count
from placelab.formats.building import build
from placelab.formats.tensorflow.containers import Contents, binary, is_text, textual
from placelab.formats.tensorflow.device_names import allowed
from placelab.formats.tensorflow.functions import inlined
from placelab.formats.tensorflow.nodes import DATA_TYPE, EXPECTED, Node
from placelab.formats.tensorflow.op_types import MAX_OUTPUTS, size_of
from placelab.formats.tensorflow.output_shapes import Sizes, Source, held
from placelab.problem.graph import OpGraph
from placelab.problem.graph_building import topological_order
from placelab.problem.graph_size import check_size
from placelab.strategies import Limits, checked

CONTROL = -1  # output number of a control edge
BACK = ({"NextIteration", "RefNextIteration"}, {"Merge", "RefMerge"})  # kinds that a loop's back edge joins
AFTER = {"Switch", "RefSwitch", "Exit", "RefExit"}  # kinds that are where their first input is
BEFORE = {"Enter", "RefEnter"}  # kinds that are where their first consumer is
INPUT = re.compile(r"(\^?)([^:^]+)(?::(\d{1,9}))?")
FREE = {"NoOp", "ControlTrigger"}  # kinds that only wait
HALVES = {DATA_TYPE[f"DT_{name}"]: called for name, called in (("HALF", "float16"), ("BFLOAT16", "bfloat16"))}

Batch = Annotated[int, Limits(1, (1 << 31) - 1)] | None
Edges = tuple[list[Source], list[int]]  # source and consumer of each


def read(path: Any, *, batch: Batch = 1, devices: Any = True) -> OpGraph:
    """The graph in a TensorFlow file.

    Parameters
    ----------
    path
        GraphDef as ``.pb`` or ``.pbtxt``, or a SavedModel's ``saved_model.pb``, gzipped or not.
    batch
        What the first unknown dimension of a shape is taken to be; None: outputs of such shapes have 0 bytes.
    devices
        What the ``device`` fields mean: True, allowed devices wherever a cluster has such ones; False, nothing; or a mapping
        from TensorFlow's names, full or partial, to devices of your cluster: ``{"/gpu:0": "dev0", "/cpu:*": "dev3"}``.

    Returns
    -------
    OpGraph
        ``compute`` in FLOP, sizes in bytes; `costs`, `loops` and `provenance` in the metadata.

    Raises
    ------
    FormatError, CycleError
        Not such a file, damaged, too large; an op that reads what is not there; a cycle that is no loop.
    """
    return loads(read_file(path, EXPECTED), str(path), batch=batch, devices=devices)


@checked
def loads(data: bytes, where: str = "the upload", *, batch: Batch = 1, devices: Any = True) -> OpGraph:
    """The graph in the bytes of a TensorFlow file, gzipped or not; `where` names it in messages."""
    data = unzipped(data, where)
    try:
        with _collector_waits():
            found = textual(text_of(data, where, EXPECTED), where) if is_text(data) else binary(data, where)
            return graph_of(found, where, batch, devices)
    except PlacelabError as error:
        raise error if str(error).startswith(where) else type(error)(f"{where}: {error}") from None


@contextmanager
def _collector_waits() -> Iterator[None]:
    """No cyclic garbage is made here, and looking for it again and again among all nodes takes 40 % of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def graph_of(contents: Contents, where: str, batch: int | None = 1, devices: Any = True) -> OpGraph:
    """The graph of a file's contents."""
    nodes, outputs = inlined(contents.nodes, contents.library, contents.outputs, where)
    if not nodes:
        raise FormatError(f"{where} holds no ops; expected {EXPECTED}")
    check_size(ops=len(nodes), outputs=sum(len(node.types) for node in nodes))
    calls = len(nodes) != len(contents.nodes)
    nodes, (source, consumer) = needed(nodes, edges_of(nodes, where), outputs)
    source, consumer, back = without_loops(nodes, source, consumer)
    order = topological_order(len(nodes), _pairs(source, consumer), [node.name for node in nodes])
    inputs = data_inputs(len(nodes), source, consumer)
    sizes = Sizes(nodes, inputs, order.tolist(), batch)
    compute, unknown = operations(nodes, inputs, sizes)
    places = allowed(list(dict.fromkeys(node.device for node in nodes)), devices)
    used = set(source)
    return build(
        [node.name for node in nodes],
        compute,
        _pairs(source, consumer),
        edge_bytes=[_bytes(sizes, u, k) for u, k in source],
        edge_output=[max(k, 0) for _, k in source],
        edge_control=[k == CONTROL for _, k in source],
        outputs=[(v, k, size) for v, row in enumerate(sizes.bytes) for k, size in enumerate(row) if (v, k) not in used],
        persistent=[held(node) for node in nodes],
        kind=[node.kind for node in nodes],
        groups=list(groups(nodes, source, consumer, back)),
        devices={v: places[node.device] for v, node in enumerate(nodes) if node.device in places},
        metadata={
            "name": PurePath(where).name.partition(".")[0] or "graph",
            "provenance": contents.provenance | ({"calls": "replaced by the ops of their functions"} if calls else {}),
            "costs": {
                "compute": "FLOP",
                "unknown": dict(sorted(unknown.items())),
                "unsized": sizes.unsized + sum(k >= len(nodes[u].types) for u, k in used),
                "batch": batch,
                "assumed": sizes.assumed,
            }
            | precision(nodes, compute),
        }
        | ({"loops": f"one round of each; {len(back)} edges back to the next round are left out"} if back else {}),
    )


def edges_of(nodes: Sequence[Node], where: str) -> Edges:
    """Every input as an edge, in the order of ops and inputs."""
    number = {node.name: v for v, node in enumerate(nodes)}
    if len(number) < len(nodes):
        twice = Counter(node.name for node in nodes).most_common(1)[0][0]
        raise FormatError(f"{where} has two ops called {twice!r:.200}; op names must be unique")
    source, consumer = [], []
    for v, node in enumerate(nodes):
        for text in node.inputs:
            u = number.get(text)
            found = (u, 0) if u is not None else _source(text, number)
            if found is None or found[1] >= (len(nodes[found[0]].types) or MAX_OUTPUTS):
                raise FormatError(f"{where}: op {node.name!r:.200} reads {text!r:.200}, but {_missing(found, nodes)}")
            source.append(found)
            consumer.append(v)
    return source, consumer


def _source(text: str, number: Mapping[str, int]) -> Source | None:
    """Op and output that an input names."""
    found = INPUT.fullmatch(text)
    if found is None or found[2] not in number:
        return None
    return number[found[2]], CONTROL if found[1] else int(found[3] or 0)


def _missing(found: Source | None, nodes: Sequence[Node]) -> str:
    return "no op is called that" if found is None else f"that op has {len(nodes[found[0]].types)} outputs"


def needed(nodes: list[Node], edges: Edges, outputs: Sequence[str]) -> tuple[list[Node], Edges]:
    """What these outputs are computed from; everything when none are named, or none is there."""
    names = {text.partition(":")[0] for text in outputs}
    waiting = [v for v, node in enumerate(nodes) if node.name in names]
    if not waiting:
        return nodes, edges
    before: list[list[int]] = [[] for _ in nodes]
    for (u, _), v in zip(*edges, strict=True):
        before[v].append(u)
    kept = np.zeros(len(nodes), dtype=bool)
    while waiting:
        v = waiting.pop()
        if not kept[v]:
            kept[v] = True
            waiting += before[v]
    rank = (np.cumsum(kept) - 1).tolist()
    left = [((rank[u], k), rank[v]) for (u, k), v in zip(*edges, strict=True) if kept[v]]
    return [node for node, keep in zip(nodes, kept, strict=True) if keep], ([s for s, _ in left], [v for _, v in left])


def without_loops(
    nodes: Sequence[Node], source: list[Source], consumer: list[int]
) -> tuple[list[Source], list[int], list]:
    """The edges but those that lead back to the next round of a loop, and these as pairs of ops."""
    ends = [kind in BACK[0] for kind in (node.kind for node in nodes)]
    if True not in ends:
        return source, consumer, []
    back = [k >= 0 and ends[u] and nodes[v].kind in BACK[1] for (u, k), v in zip(source, consumer, strict=True)]
    left = [pair for pair, goes_back in zip(zip(source, consumer, strict=True), back, strict=True) if not goes_back]
    gone = [(u, v) for (u, _), v, goes_back in zip(source, consumer, back, strict=True) if goes_back]
    return [s for s, _ in left], [v for _, v in left], gone


def data_inputs(n: int, source: Sequence[Source], consumer: Sequence[int]) -> list[list[Source]]:
    """The outputs that each op reads, in order."""
    inputs: list[list[Source]] = [[] for _ in range(n)]
    for pair, v in zip(source, consumer, strict=True):
        if pair[1] != CONTROL:
            inputs[v].append(pair)
    return inputs


def operations(nodes: Sequence[Node], inputs: Sequence[Sequence[Source]], sizes: Sizes) -> tuple[list[float], Counter]:
    """FLOP of each op, and how many of each kind could not be counted."""
    compute, unknown, known = [], Counter(), {}
    for node, read, outputs in zip(nodes, inputs, sizes.whole, strict=True):
        key = (node.kind, sizes.shapes(read), outputs, *node.attributes.items())
        if key not in known:
            known[key] = 0.0 if node.kind in FREE else count(*key[:3], node.attributes)
        if known[key] is None:
            unknown[node.kind] += 1
        compute.append(known[key] or 0.0)
    return compute, unknown


def precision(nodes: Sequence[Node], compute: Sequence[float]) -> dict[str, str]:
    """Number type of products, where most operations are on 16 bits: variables may have 32 beside it."""
    spent: Counter[int | None] = Counter()
    for node, flop in zip(nodes, compute, strict=True):
        spent[node.types[0] if node.types else None] += flop
    half = HALVES.get(max(spent, key=spent.__getitem__))
    return {"precision": half} if half else {}


def groups(nodes: Sequence[Node], source: Sequence[Source], consumer: Sequence[int], back: list) -> Iterator[list[int]]:
    """Ops that must share a device, in pairs: by name, by a reference or resource that one reads, by control flow."""
    number = {node.name: v for v, node in enumerate(nodes)}
    for v, node in enumerate(nodes):
        yield from ([number[other], v] for other in node.together if number.get(other, v) != v)
    for (u, k), v in zip(source, consumer, strict=True):
        types = nodes[u].types
        if 0 <= k < len(types) and size_of(types[k]) == 0:
            yield [u, v]
    yield from _with_their_data(nodes, source, consumer)
    yield from ([u, v] for u, v in back)


def _with_their_data(nodes: Sequence[Node], source: Sequence[Source], consumer: Sequence[int]) -> Iterator[list[int]]:
    """Control flow ops and the op of their first input or output, to whose device TensorFlow moves them whatever is asked."""
    seen: set[int] = set()
    for (u, k), v in zip(source, consumer, strict=True):
        if k == CONTROL:
            continue
        if nodes[v].kind in AFTER and v not in seen:
            seen.add(v)
            yield [u, v]
        if nodes[u].kind in BEFORE and u not in seen:
            seen.add(u)
            yield [u, v]


def _bytes(sizes: Sizes, op: int, output: int) -> float:
    row = sizes.bytes[op]
    return row[output] if 0 <= output < len(row) else 0.0


def _pairs(source: Sequence[Source], consumer: Sequence[int]) -> np.ndarray:
    return np.array([(u, v) for (u, _), v in zip(source, consumer, strict=True)], dtype=np.int64).reshape(-1, 2)

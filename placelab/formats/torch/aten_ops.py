"""Build a graph from the ATen ops of a PyTorch program, traced or stored.

What a view or an op in place (``add_``) makes lives in the storage of its first input. A traced and a stored program get the
same graph, so this follows from the names of ops, as PyTorch's schemas have it, and not from strides: ``reshape``, which copies
what is not contiguous, is a view unless its input is one that may leave gaps or turn axes (``transpose``, ``slice``). A view that
is larger than what it shows (``expand``), and one of a parameter, counts as a tensor of its own; ``contiguous`` and ``to`` copy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from placelab.formats.building import build
from placelab.formats.flops import count
from placelab.formats.loops import Arguments, Control, Expression, Look, Value, counted, limits, value_of
from placelab.formats.op_kinds import name_of
from placelab.problem.graph import OpGraph
from placelab.problem.tensor_shapes import shape_text

SHARED_BYTES = 1024  # of parameters that may be copied: their readers need not share a device


class Tensor(NamedTuple):
    """Shape, None if it depends on the data, bytes of an element, 0 for a number on the host, and whether it is `whole`.

    `kind` is the name of its element type, "" for such a number.
    """

    shape: tuple[int, ...] | None
    item: int
    whole: bool = False
    kind: str = ""

    @property
    def bytes(self) -> float:
        """Bytes of the tensor; 0 if its shape is unknown."""
        return 0.0 if self.shape is None else float(prod(self.shape) * self.item)


NUMBER = Tensor((), 0)
PLAIN_VIEWS = frozenset(  # of a contiguous tensor contiguous again
    """
    alias detach flatten lift_fresh ravel real resolve_conj resolve_neg reshape _reshape_alias reshape_as squeeze
    unflatten _unsafe_view unsqueeze view view_as view_as_real view_as_complex view_of
    """.split()
)
VIEWS = frozenset(
    """
    adjoint as_strided chunk _conj conj diagonal dsplit expand expand_as hsplit imag matrix_H mH moveaxis movedim mT narrow
    _neg_view numpy_T permute select slice split split_with_sizes swapaxes swapdims t tensor_split transpose unbind unfold
    vsplit
    """.split()
)
COPYING = frozenset("flatten ravel reshape reshape_as".split())  # where the input is one of `VIEWS`


class Source(NamedTuple):
    """An output of an op, by numbers."""

    op: int
    output: int


@dataclass(frozen=True)
class Op:
    """One op of a program.

    Attributes
    ----------
    name, kind
        Unique name, and ``aten.…`` as PyTorch spells it, or ``input``.
    reads
        Source of each tensor it reads, with repetitions: an op's output, or a parameter's name.
    outputs
        Number of each output → the tensor.
    inputs
        Shapes of the tensors it reads.
    attributes
        Its other arguments by name.
    runs
        The programs that it runs, if it is a loop, a branch or the like.
    """

    name: str
    kind: str
    reads: tuple[Source | str, ...]
    outputs: Mapping[int, Tensor]
    inputs: tuple[tuple[int, ...] | None, ...] = ()
    attributes: Mapping[str, Any] | None = None
    runs: CalledBodies | None = None


class Body(NamedTuple):
    """A program that an op runs: its ops, of which the first are its inputs, and what it returns."""

    ops: Sequence[Op]
    returns: Sequence[Source | str | int | None]


class CalledBodies(NamedTuple):
    """What an op runs.

    Attributes
    ----------
    bodies
        Of ``while_loop`` condition and body, of ``cond`` both sides.
    arguments
        What the bodies get: an op's output, a parameter, a number, or None for another value.
    rows
        Length of what a ``scan`` or ``map`` goes through; None if unknown, and for other ops.
    """

    bodies: Sequence[Body]
    arguments: Sequence[Source | str | int | None]
    rows: int | None = None


ROWS = {"scan": 2, "map_impl": 1, "associative_scan": 1}  # kind → number of the argument that it goes through
OPAQUE = ("flex_attention", "flex_attention_backward")  # run a body per score, whose shapes no body has


def assembled(
    ops: Sequence[Op],
    sizes: Mapping[str, float],
    aliases: Mapping[str, str],
    metadata: Mapping[str, Any],
    control: Control,
    constants: Mapping[str, Value] | None = None,
) -> OpGraph:
    """Build the graph of a program.

    Parameters
    ----------
    ops
        Ops, in any order; a `Source` has an index in this sequence.
    sizes
        Bytes of each parameter and buffer.
    aliases
        Name of each parameter and buffer → its name in `sizes`.
    metadata
        Entries for the graph's metadata.
    control
        Where loops and branches are recorded.
    constants
        Values of parameters that are one whole number.

    Returns
    -------
    OpGraph
        A parameter's bytes are ``persistent`` at the first op that reads it; all ops that read a parameter over 1 KiB share a
        colocation group. ``metadata`` gets ``costs``, and ``parameters``: name → op that holds it, "" if no op reads it.

    Notes
    -----
    O(ops and their inputs and outputs).
    """
    edges = [(source, v) for v, op in enumerate(ops) for source in op.reads if isinstance(source, Source)]
    used = {source for source, _ in edges}
    storage = storages(ops)
    unused = [(v, o, tensor.bytes, storage[Source(v, o)]) for v, o, tensor in _outputs(ops) if Source(v, o) not in used]
    readers = _readers(ops)
    persistent = [0.0] * len(ops)
    for name, which in readers.items():
        persistent[which[0]] += sizes[name]
    work = _Work(control, constants or {})
    flop = work.of(ops)
    bound = {name: which for name, which in readers.items() if len(which) > 1 and sizes[name] > SHARED_BYTES}
    return build(
        [op.name for op in ops],
        flop,
        [(source.op, v) for source, v in edges],
        edge_bytes=[ops[source.op].outputs.get(source.output, NUMBER).bytes for source, _ in edges],
        edge_output=[source.output for source, _ in edges],
        edge_storage=[storage.get(source, -1) for source, _ in edges],
        outputs=unused,
        shapes={(v, o): text for v, o, made in _outputs(ops) if (text := shape_text(made.kind, made.shape))},
        persistent=persistent,
        kind=[op.kind for op in ops],
        groups=list(bound.values()),
        group_names=list(bound),
        metadata={
            **metadata,
            **control.metadata(),
            "costs": {
                **metadata.get("costs", {}),
                "compute": "FLOP",
                "unknown": dict(sorted(work.unknown.items())),
                "unsized": sum(tensor.shape is None for _, _, tensor in _outputs(ops)),
            },
            "parameters": {
                name: ops[readers[held][0]].name if held in readers else "" for name, held in aliases.items()
            },
        },
    )


def storages(ops: Sequence[Op]) -> dict[Source, int]:
    """A number for the storage of each output; views and ops in place have that of their first input."""
    storage: dict[Source, int] = {}
    size: list[float] = []  # of the first tensor in each storage
    strided = set[Source]()  # views that may leave gaps or turn axes
    for v, op in enumerate(ops):
        first = op.reads[0] if op.reads and isinstance(op.reads[0], Source) else None
        shares = first in storage and _shares(op, first in strided)
        for o, tensor in op.outputs.items():
            own = Source(v, o)
            if shares and first is not None and tensor.bytes <= size[storage[first]]:
                storage[own] = storage[first]
                strided |= {own} if first in strided or name_of(op.kind) in VIEWS else set()
            else:
                storage[own] = len(size)
                size.append(tensor.bytes)
    return storage


def _shares(op: Op, strided: bool) -> bool:
    """Whether what an op makes lives in its first input, which is `strided` if it may have gaps or turned axes."""
    space, _, rest = op.kind.partition(".")
    spelt = rest.partition(".")[0]
    name = name_of(op.kind)
    if space != "aten" or spelt.startswith("_foreach_"):
        return False
    in_place = spelt.endswith("_") and not spelt.startswith("__")
    return in_place or name in VIEWS or (name in PLAIN_VIEWS and not (strided and name in COPYING))


def _outputs(ops: Sequence[Op]) -> list[tuple[int, int, Tensor]]:
    return [(v, o, tensor) for v, op in enumerate(ops) for o, tensor in op.outputs.items()]


def _readers(ops: Sequence[Op]) -> dict[str, list[int]]:
    """The ops that read each parameter, in order, without repetitions."""
    readers: dict[str, dict[int, None]] = {}
    for v, op in enumerate(ops):
        for source in op.reads:
            if isinstance(source, str):
                readers.setdefault(source, {})[v] = None
    return {name: list(which) for name, which in readers.items()}


def _flop(op: Op) -> float | None:
    shapes = [tensor.shape for tensor in op.outputs.values() if tensor.item]
    return count(op.kind, op.inputs, shapes, op.attributes) if shapes else 0.0  # numbers are computed on the host


class _Work:
    """Counts the operations of ops, those of the programs that they run included.

    ``cond`` counts its dearer side; ``while_loop`` condition and body as often as a counter says that the condition compares;
    ``scan`` and ``map`` their body once per row; other ops with programs run them once. In a program, single whole numbers and
    truth values are bookkeeping, and count nothing.
    """

    def __init__(self, control: Control, constants: Mapping[str, Value]) -> None:
        self.unknown: Counter[str] = Counter()
        self._control = control
        self._constants = constants

    def of(self, ops: Sequence[Op], scope: str = "", given: Arguments = lambda argument: None) -> list[float]:
        """Operations of each op; `scope` is the path of the ops around them, `given` has values of the first ones."""
        flop = list[float]()
        for op in ops:
            if op.kind == "input" or (scope and not op.runs and _is_bookkeeping(op)):
                found: float | None = 0.0
            elif op.runs and name_of(op.kind) not in OPAQUE:
                found = self._run(op, op.runs, ops, scope + op.name, given)
            else:
                found = _flop(op)
            self.unknown.update([op.kind] if found is None else [])
            flop.append(found or 0.0)
        return flop

    def _run(self, op: Op, run: CalledBodies, ops: Sequence[Op], name: str, given: Arguments) -> float:
        look = self._look(ops, given)
        known = {j: value_of(source, look) for j, source in enumerate(run.arguments)}
        sides = [sum(self.of(body.ops, f"{name}/", known.get)) for body in run.bodies]
        kind = name_of(op.kind)
        if kind == "cond":
            return sides[self._control.branch(name, sides)]
        if kind in ROWS:
            return sum(sides) * self._control.loop(name, run.rows)
        if kind.startswith("while_loop") and len(run.bodies) > 1:
            return sum(sides) * self._control.loop(name, *self._trips(run.bodies[0], run.bodies[1], known.get))
        return sum(sides)

    def _trips(self, condition: Body, body: Body, start: Arguments) -> tuple[int | None, int | None]:
        """Iterations of a loop; what the body returns is what it carries, the inputs behind it stay the same."""

        def update(j: int, arguments: Arguments) -> Value:
            return value_of(body.returns[j], self._look(body.ops, arguments)) if j < len(body.returns) else arguments(j)

        def holds(arguments: Arguments) -> Value:
            first = condition.returns[0] if condition.returns else None
            return value_of(first, self._look(condition.ops, arguments))

        return limits(counted(start, update, holds))

    def _look(self, ops: Sequence[Op], given: Arguments) -> Look:
        def look(source: Any) -> Value | Expression:
            if not isinstance(source, Source):
                return self._constants.get(source) if isinstance(source, str) else source
            op = ops[source.op]
            if op.kind == "input":
                return given(source.op)
            attributes = op.attributes or {}
            name = name_of(op.kind)
            if name in FILLED:
                return FILLED[name] if isinstance(FILLED[name], int) else attributes.get(FILLED[name])
            other = [value for key, value in attributes.items() if key in ("other", "") and type(value) is int]
            return Expression(op.kind, (*op.reads, *other), {"alpha": attributes.get("alpha", 1)})

        return look


# Kind → value, or its argument.
FILLED: dict[str, Any] = {
    "zeros": 0,
    "ones": 1,
    "full": "fill_value",
    "scalar_tensor": "s",
}


def _is_bookkeeping(op: Op) -> bool:
    """Whether an op of a program makes single whole numbers or truth values only."""
    return bool(op.outputs) and all(tensor.shape == () and tensor.whole for tensor in op.outputs.values())


def unique(name: str, taken: dict[str, int]) -> str:
    """`name`, with a number appended if it is in `taken`; the result is added to `taken`.

    >>> taken = {}
    >>> [unique("mm", taken) for _ in range(3)]
    ['mm', 'mm_1', 'mm_2']
    """
    numbered = name
    while numbered in taken:
        taken[name] += 1
        numbered = f"{name}_{taken[name]}"
    taken[numbered] = 0
    return numbered

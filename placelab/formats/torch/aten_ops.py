"""Build a graph from the ATen ops of a PyTorch program, traced or stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

from placelab.formats.building import build
from placelab.formats.flops.counting import count
from placelab.problem.graph import OpGraph

SHARED_BYTES = 1024  # of parameters that may be copied: their readers need not share a device


class Tensor(NamedTuple):
    """Shape, None if it depends on the data, and bytes of an element, 0 for a number on the host."""

    shape: tuple[int, ...] | None
    item: int

    @property
    def bytes(self) -> float:
        """Bytes of the tensor; 0 if its shape is unknown."""
        return 0.0 if self.shape is None else float(prod(self.shape) * self.item)


NUMBER = Tensor((), 0)


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
    """

    name: str
    kind: str
    reads: tuple[Source | str, ...]
    outputs: Mapping[int, Tensor]
    inputs: tuple[tuple[int, ...] | None, ...] = ()
    attributes: Mapping[str, Any] | None = None


def assembled(
    ops: Sequence[Op], sizes: Mapping[str, float], aliases: Mapping[str, str], metadata: Mapping[str, Any]
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
    unused = [(v, o, tensor.bytes) for v, o, tensor in _outputs(ops) if Source(v, o) not in used]
    readers = _readers(ops)
    persistent = [0.0] * len(ops)
    for name, which in readers.items():
        persistent[which[0]] += sizes[name]
    flop = [0.0 if op.kind == "input" else _flop(op) for op in ops]
    unknown = Counter(op.kind for op, found in zip(ops, flop, strict=True) if found is None)
    bound = {name: which for name, which in readers.items() if len(which) > 1 and sizes[name] > SHARED_BYTES}
    return build(
        [op.name for op in ops],
        [found or 0.0 for found in flop],
        [(source.op, v) for source, v in edges],
        edge_bytes=[ops[source.op].outputs.get(source.output, NUMBER).bytes for source, _ in edges],
        edge_output=[source.output for source, _ in edges],
        outputs=unused,
        persistent=persistent,
        kind=[op.kind for op in ops],
        groups=list(bound.values()),
        group_names=list(bound),
        metadata={
            **metadata,
            "costs": {
                **metadata.get("costs", {}),
                "compute": "FLOP",
                "unknown": dict(sorted(unknown.items())),
                "unsized": sum(tensor.shape is None for _, _, tensor in _outputs(ops)),
            },
            "parameters": {
                name: ops[readers[held][0]].name if held in readers else "" for name, held in aliases.items()
            },
        },
    )


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

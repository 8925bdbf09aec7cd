"""How many floating-point operations does an op take? Counted from its kind and the shapes of its inputs and outputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Shape = tuple[int, ...] | None  # None: not known


def count(
    kind: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any] | None = None
) -> float | None:
    """Floating-point operations of one op, or None where its kind is not known or a shape that matters is missing.

    Parameters
    ----------
    kind
        Op type as its framework spells it: ``MatMul`` (TensorFlow, ONNX), ``aten.addmm.default`` (PyTorch).
    inputs, outputs
        Shapes of data inputs and outputs, in order.
    attributes
        Those of the op that matter, by the framework's names: ``transpose_a``, ``data_format``, ``group``, ``equation`` …
    """
    return None

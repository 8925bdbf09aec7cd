"""Count an op's floating-point operations from its kind and the shapes of its inputs and outputs.

A multiplication, an addition, a comparison and a transcendental function are one operation each, however many instructions
``exp`` takes: most elementwise ops are bound by memory anyway (:func:`placelab.costs.estimate`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import inf, log2, prod
from typing import Any

from placelab.formats.contractions import (
    Shape,
    Unknown,
    at,
    attention,
    broadcast,
    convolution,
    largest,
    matmul,
    recurrent,
    size,
)
from placelab.formats.op_kinds import category, name_of

__all__ = ["Shape", "count"]

MALFORMED = (TypeError, ValueError, LookupError, OverflowError)  # raised for attributes and shapes of a broken file


def count(
    kind: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any] | None = None
) -> float | None:
    """Floating-point operations of one op; None if its kind is in no table or a shape that matters is unknown.

    Parameters
    ----------
    kind
        Op type in its framework's spelling: ``MatMul`` (TensorFlow, ONNX), ``aten.addmm.default`` (PyTorch).
    inputs, outputs
        Shapes of data inputs and outputs, in order.
    attributes
        The op's attributes by the framework's names: ``transpose_a``, ``data_format``, ``group``, ``equation`` …

    Returns
    -------
    float or None
        0 for ops that only move or rename data: gather, transpose, reshape, identity, control flow, parameters.

    Notes
    -----
    Matrix products: 2·m·n·k, without biases. Convolutions: 2 per output element and filter element of its channel, each of
    their gradients the same. Attention: causal masks do not reduce the count, backward is 2.5 times forward. Elementwise ops:
    1 per output element, more for compounds (``PER_ELEMENT``). Reductions: 1 per input element. Pooling: the size of the window
    per output element. Optimisers: ``PER_PARAMETER`` per parameter. Sorting n numbers: n·log₂ n. Fourier transforms:
    5·n·log₂ n. Calls of functions (loops, branches): None. O(number of dimensions).

    Examples
    --------
    >>> count("MatMul", [(32, 100), (100, 10)], [(32, 10)])
    64000.0
    >>> count("aten.convolution.default", [(1, 3, 8, 8), (4, 3, 3, 3)], [(1, 4, 6, 6)], {"groups": 1})
    7776.0
    >>> count("Mystery", [(3,)], [(3,)]) is None
    True
    """
    formula, name = _formula(kind)
    if formula is None:
        return None
    attributes = attributes or {}
    try:
        if "_foreach_" in kind:
            found = float(sum(formula(name, [shape], [shape], attributes) for shape in outputs))
        else:
            found = float(formula(name, inputs, outputs, attributes))
    except (Unknown, *MALFORMED):
        return None
    return found if 0 <= found < inf else None


# -------------------------------------------------------------------- elementwise and the like

PER_ELEMENT = {  # operations per output element, if not 1
    "SigmoidGrad": 3,
    "TanhGrad": 3,
    "SquaredDifference": 2,
    "sigmoid_backward": 3,
    "tanh_backward": 3,
    "addcmul": 3,
    "addcdiv": 3,
    "lerp": 3,
    "native_dropout": 3,
    "native_dropout_backward": 2,
    "Gelu": 5,
    "FastGelu": 8,
    "BiasGelu": 6,
    "BiasSplitGelu": 8,
    "QuickGelu": 3,
    "RotaryEmbedding": 3,
    "GemmaRotaryEmbedding": 6,
    "ComplexMul": 3,
    "ComplexMulConj": 3,
    "gelu": 5,
    "gelu_backward": 9,
    "silu": 2,
    "silu_backward": 5,
    "Swish": 2,
    "HardSwish": 4,
    "Mish": 4,
    "mish": 4,
    "softplus": 3,
    "Softplus": 3,
    "glu": 2,
    "ResizeBilinear": 7,
    "upsample_bilinear2d": 7,
    "upsample_bilinear2d_backward": 7,
    "upsample_trilinear3d": 15,
}
MANY = {"AddN", "AccumulateNV2", "Sum", "Max", "Min", "Mean"}


def _elementwise(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    each = max(len(inputs) - 1, 1) if name in MANY else PER_ELEMENT.get(name, 1)
    return each * _elements(name, inputs, outputs)


def _elements(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape]) -> int:
    """Elements of the first output; if unknown, of the broadcast inputs, or of the value assigned to a variable."""
    if outputs and outputs[0] is not None:
        return size(outputs[0])
    if name.startswith("Assign"):
        return size(at(inputs, 1))
    if not inputs:
        raise Unknown
    return prod(broadcast(inputs))


PER_INPUT = {  # operations per input element, if not 1
    "L2Loss": 2,
    "EuclideanNorm": 2,
    "ReduceL2": 2,
    "ReduceSumSquare": 2,
    "linalg_vector_norm": 2,
    "norm": 2,
    "var": 3,
    "std": 3,
    "var_mean": 4,
    "std_mean": 4,
}


def _reduction(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """1 per input element. ONNX's Sum, Max, Min, Mean combine n inputs elementwise: n - 1 per element."""
    if name in MANY and outputs and outputs[0] is not None:
        return max(size(at(inputs, 0)), size(outputs[0]) * (len(inputs) - 1))
    return PER_INPUT.get(name, 1) * size(at(inputs, 0))


def _pooling(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """Size of the window per output element, or per element of the gradient; without a window, elements of the largest tensor."""
    window = next((attributes[key] for key in ("ksize", "kernel_shape", "kernel_size") if attributes.get(key)), None)
    backward = "Grad" in name or name.endswith("_backward")
    if window is None:
        return largest([*inputs, *outputs])
    window = [window] if isinstance(window, int) else window
    length = prod(window) ** (_dimensions(name) if len(window) == 1 else 1)
    if not backward:
        return length * size(at(outputs, 0))
    return length * size(at(inputs, 0 if name[0].islower() or name.startswith("_") else -1))


def _dimensions(name: str) -> int:
    """Dimensions of the window of a PyTorch op that takes one length for all."""
    return 3 if "3d" in name else 2 if "2d" in name else 1


TRAINING = ("is_training", "training", "training_mode")  # attributes: compute the batch's statistics
# Kinds that use given statistics by default.
GIVEN = (
    "BatchNormalization",
    "_native_batch_norm_legit_no_training",
    "_batch_norm_no_update",
)


def _normalisation(
    name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]
) -> float:
    """Per element: mean 1, variance 3, normalise 2, scale and shift 2; 4 with given statistics; backward 11."""
    if name.startswith("LRN"):
        window = attributes.get("size") or 2 * attributes.get("depth_radius", 5) + 1
        return size(at(inputs, 0)) * (2 * window + 3) * (2 if "Grad" in name else 1)
    if "Grad" in name or name.endswith("_backward"):
        return 11 * size(at(inputs, 0))
    if name.startswith("Embed"):  # of ids, which have no elements to normalise
        return 8 * size(at(outputs, 0))
    trained = next((bool(attributes[key]) for key in TRAINING if key in attributes), name not in GIVEN)
    return (8 if trained else 4) * size(at(inputs, 0))


def _softmax(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """Per element: maximum, difference, exp, sum, quotient; backward 4; a loss with its gradient 8."""
    each = 4 if "backward" in name else 8 if "WithLogits" in name else 5
    return each * size(at(inputs, 0))


def _sort(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    shape = at(inputs, 0)
    length = shape[attributes.get("dim", attributes.get("axis", -1))] if shape else 1
    return prod(shape) * max(log2(max(length, 1)), 1.0)


def _transform(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """Fast Fourier transforms: 5·n·log₂ n, n the product of the transformed dimensions, by default the last ones.

    ONNX's have real and imaginary parts in the last dimension, `STFT` (batch, frames, frequencies, 2) of its output.
    """
    if name == "STFT":
        batch, frames, bins, _ = at(outputs, 0)
        length = 2 * (bins - 1) if attributes.get("onesided", 1) else bins
        return 5 * batch * frames * length * log2(max(length, 2))
    shape = _real(name, at(inputs, 0), outputs)
    rank = next((int(digit) for digit in name if digit in "123"), 1)
    axes = attributes.get("dim") or ([attributes["axis"]] if "axis" in attributes else range(-rank, 0))
    if name == "DFT":
        axes = [attributes.get("axis", 1 if len(inputs) < 3 else -2)]  # an input since opset 20, there -2 by default
        shape = shape if len(shape) < 3 else (*shape[:-1], 1)  # the last one has real and imaginary parts
    lengths = prod(shape[axis] for axis in axes if -len(shape) <= axis < len(shape))
    return 5 * prod(shape) * log2(max(lengths, 2))


def _real(name: str, shape: tuple[int, ...], outputs: Sequence[Shape]) -> tuple[int, ...]:
    """The shape that is transformed: of the real numbers where the others are half of the frequencies, cut or padded in RFFT."""
    out = outputs[0] if outputs else None
    if out is None or len(out) != len(shape) or not shape:
        return shape
    if name.lower().startswith(("irfft", "fft_irfft", "_fft_c2r", "fft_c2r", "fft_hfft")):
        return out
    if name.startswith("RFFT"):
        return (*out[:-1], shape[-1] if shape[-1] // 2 + 1 == out[-1] else 2 * (out[-1] - 1))
    return shape


def _random(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    return size(at(outputs, 0))


ADDING = ("Add", "Sub", "Mul", "Div", "Max", "Min", "Segment", "add", "accumulate", "reduce", "embedding", "gather")


def _scatter(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """1 per element that is added to the destination; 0 if it is only overwritten."""
    reduction = attributes.get("reduction", "none") if name.startswith("Scatter") else "none"  # an attribute in ONNX
    if not any(part in name for part in ADDING) and reduction == "none" and attributes.get("accumulate") is not True:
        return 0.0
    return size(at(inputs, 0 if "Grad" in name or name.endswith("_backward") else -1))


# -------------------------------------------------------------------- optimisers

PER_PARAMETER = {  # multiplications, additions, roots per parameter, by the suffix of the kind
    "ProximalGradientDescent": 5,
    "GradientDescent": 2,  # v -= r·g
    "KerasMomentum": 4,
    "Momentum": 4,  # m = β·m + g, v -= r·m
    "AdagradV2": 7,
    "AdagradDA": 8,
    "ProximalAdagrad": 8,
    "Adagrad": 6,  # a += g², v -= r·g / √a
    "CenteredRMSProp": 16,
    "RMSProp": 11,  # s += (g² − s)(1 − ρ), m = β·m + r·g / √(s + ε), v -= m
    "AdamWithAmsgrad": 13,
    "Adam": 12,  # m += (g − m)(1 − β₁), s += (g² − s)(1 − β₂), v -= r·m / (√s + ε)
    "AdaMax": 9,
    "Adadelta": 16,
    "FtrlV2": 14,
    "Ftrl": 12,
    "AddSign": 9,
    "PowerSign": 9,
    "_fused_adamw": 14,
    "_fused_adam": 12,
    "_fused_sgd": 4,
    "_fused_adagrad": 6,
}


def _optimiser(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    """``PER_PARAMETER`` per parameter; the gradient is the largest input with a known shape."""
    each = next(n for ending, n in PER_PARAMETER.items() if name.endswith(ending))
    return each * largest(inputs)


def _nothing(name: str, inputs: Sequence[Shape], outputs: Sequence[Shape], attributes: Mapping[str, Any]) -> float:
    return 0.0


Formula = Callable[[str, Sequence[Shape], Sequence[Shape], Mapping[str, Any]], float]


@lru_cache(4096)
def _formula(kind: str) -> tuple[Formula | None, str]:
    return FORMULAS.get(category(kind)), name_of(kind)


FORMULAS: dict[str, Formula] = {
    "matmul": matmul,
    "convolution": convolution,
    "attention": attention,
    "recurrent": recurrent,
    "normalisation": _normalisation,
    "softmax": _softmax,
    "elementwise": _elementwise,
    "reduction": _reduction,
    "pooling": _pooling,
    "transform": _transform,
    "sort": _sort,
    "gather": _nothing,
    "scatter": _scatter,
    "optimiser": _optimiser,
    "fill": _nothing,
    "random": _random,
    "movement": _nothing,
    "view": _nothing,
    "source": _nothing,
}

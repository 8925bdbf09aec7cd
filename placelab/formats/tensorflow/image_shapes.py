"""Shapes of what TensorFlow ops make of images: convolved, pooled, normalised, resized, cut into blocks.

A function is a rule of :mod:`placelab.formats.tensorflow.shape_rules`: it raises :class:`Unknown` where it cannot know a shape.
"""

from __future__ import annotations

from math import prod
from typing import Any

from placelab.formats.contractions import Unknown
from placelab.formats.tensorflow.known_numbers import Applied, Shapes
from placelab.formats.tensorflow.nodes import Shape

Dimensions = tuple[int, ...]


def windowed(op: Applied) -> Shape:
    """Convolutions and pooling over the middle dimensions (NHWC, NDHWC) or the last ones (NCHW, NCDHW)."""
    attributes = op.node.attributes
    image = op.shape()
    rank = len(image)
    pooling = "Pool" in op.node.kind
    window: Any = attributes.get("ksize") if pooling else op.shape(1)
    strides: Any = attributes.get("strides")
    dilations: Any = attributes.get("dilations") or (1,) * rank
    layout = attributes.get("data_format") or "NHWC"
    if any(not isinstance(listed, tuple) or len(listed) != rank for listed in (window, strides, dilations)):
        raise Unknown
    if rank not in (4, 5) or min(strides) < 1 or layout not in ("NHWC", "NDHWC", "NCHW", "NCDHW"):
        raise Unknown
    channel, first = (rank - 1, 1) if layout[-1] == "C" else (1, 2)
    sizes = window[first : first + rank - 2] if pooling else window[: rank - 2]
    pads: Any = attributes.get("explicit_paddings") or (0,) * 2 * rank
    shape = list(image)
    for place, size in enumerate(sizes, first):
        reach = -1 if size < 0 else (size - 1) * dilations[place] + 1
        added = pads[2 * place] + pads[2 * place + 1] if attributes.get("padding") == "EXPLICIT" else 0
        shape[place] = _places(image[place], reach, strides[place], attributes.get("padding"), added)
    if not pooling:
        depthwise = "Depthwise" in op.node.kind
        shape[channel] = window[-1] if not depthwise else window[-2] * window[-1] if min(window[-2:]) >= 0 else -1
    return tuple(shape)


def _places(length: int, window: int, stride: int, padding: Any, added: int) -> int:
    if padding not in ("SAME", "VALID", "EXPLICIT"):
        raise Unknown
    if length < 0 or (padding != "SAME" and window < 0):
        return -1
    return -(-length // stride) if padding == "SAME" else max(0, (length + added - window) // stride + 1)


def windowed_twice(op: Applied) -> Shapes:
    """The pooled image, and where each of its numbers was."""
    return (windowed(op),) * 2


def per_channel(op: Applied) -> Dimensions:
    """The channels alone, as a bias or a batch's statistics have them."""
    return (op.shape()[1 if (op.node.attributes.get("data_format") or "").startswith("NC") else -1],)


def normalised(op: Applied) -> Shapes:
    """The image, then statistics per channel; of the gradient those of scale and offset."""
    return (op.shape(), *(per_channel(op),) * (2 if "Grad" in op.node.kind else 4))


def resized(op: Applied) -> Shape:
    """An image of the height and width that input 1 says."""
    height, width = op.dims(1)
    image = op.shape()
    if len(image) != 4:
        raise Unknown
    return (image[0], height, width, image[3])


def depth_blocks(op: Applied) -> Shape:
    """Blocks of the image as channels, and back."""
    n = op.flag("block_size")
    image = op.shape()
    if (op.node.attributes.get("data_format") or "NHWC") != "NHWC" or len(image) != 4 or n < 1:
        raise Unknown
    if op.node.kind == "SpaceToDepth":
        return (image[0], *(size // n if size >= 0 else -1 for size in image[1:3]), times(image[3], n * n))
    return (image[0], *(times(size, n) for size in image[1:3]), image[3] // (n * n) if image[3] >= 0 else -1)


def batch_blocks(op: Applied) -> Shape:
    """Blocks of the image in rows of their own, and back; input 2 has what is padded, or cropped, on both sides."""
    shape = op.shape()
    blocks = op.dims(1)
    sides = op.values[2]
    n = prod(blocks)
    if min(blocks) < 1 or not len(sides) == len(blocks) < len(shape):
        raise Unknown
    places = shape[1 : len(blocks) + 1]
    if op.node.kind == "SpaceToBatchND":
        inner = [
            -1 if size < 0 else (size + sum(pads)) // block
            for size, block, pads in zip(places, blocks, sides, strict=True)
        ]
        return (times(shape[0], n), *inner, *shape[len(blocks) + 1 :])
    inner = [
        -1 if size < 0 else size * block - sum(pads) for size, block, pads in zip(places, blocks, sides, strict=True)
    ]
    return (shape[0] // n if shape[0] >= 0 else -1, *inner, *shape[len(blocks) + 1 :])


def times(size: int, n: int | None) -> int:
    """A size times a number, -1 where one is unknown."""
    return -1 if size < 0 or n is None or n < 0 else size * n

"""Layers of image classifiers: convolutions with and without batch normalisation, pools, and blocks of branches.

A layer is described by text: ``"3x3 32"`` is a convolution with 32 filters of 3 × 3, ``"3x3 32 /2 valid"`` one with stride 2
and no padding, ``"max 3x3 /2"`` and ``"avg 3x3"`` are pools. A tuple of texts is layers in parallel, concatenated.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tensorflow_profiling import tf

DECAY = 0.9997  # of moving averages
EPSILON = 0.001  # added to the variance


class Layer(NamedTuple):
    """A parsed layer."""

    kind: str
    rows: int
    columns: int
    width: int
    stride: int
    padding: str

    @property
    def name(self) -> str:
        return f"{self.kind}_{self.rows}x{self.columns}"


def parse(text: str) -> Layer:
    words = text.split()
    kind = words.pop(0) if words[0] in ("max", "avg") else "conv"
    rows, columns = (int(size) for size in words.pop(0).split("x"))
    width = int(words.pop(0)) if kind == "conv" else 0
    stride = next((int(word[1:]) for word in words if word.startswith("/")), 1)
    return Layer(kind, rows, columns, width, stride, "VALID" if "valid" in words else "SAME")


def variable(name: str, shape: Sequence[int], initial: str = "weights") -> tf.Variable:
    """A trainable variable: ``weights`` (scaled to the number of inputs), ``zeros`` or ``ones``."""
    first = {
        "weights": tf.variance_scaling_initializer(2.0),
        "zeros": tf.zeros_initializer(),
        "ones": tf.ones_initializer(),
    }
    return tf.get_variable(name, shape, initializer=first[initial])


def convolved(x: tf.Tensor, layer: Layer) -> tf.Tensor:
    """The convolution alone; its weights join the collection ``weights``, which are regularised."""
    weights = variable("weights", [layer.rows, layer.columns, x.shape[-1], layer.width])
    tf.add_to_collection("weights", weights)
    return tf.nn.conv2d(x, weights, strides=[1, layer.stride, layer.stride, 1], padding=layer.padding)


def biased(x: tf.Tensor) -> tf.Tensor:
    return tf.nn.bias_add(x, variable("biases", [x.shape[-1]], "zeros"))


def normalised(x: tf.Tensor, scaled: bool = False) -> tf.Tensor:
    """Batch normalisation by the batch's statistics; updates of the moving averages join the collection UPDATE_OPS."""
    with tf.variable_scope("norm"):
        shape = [x.shape[-1]]
        beta = variable("beta", shape, "zeros")
        gamma = variable("gamma", shape, "ones") if scaled else tf.ones(shape, name="gamma")
        y, mean, variance = tf.nn.fused_batch_norm(x, gamma, beta, epsilon=EPSILON)
        for name, first, value in (("moving_mean", "zeros", mean), ("moving_variance", "ones", variance)):
            tf.add_to_collection(tf.GraphKeys.UPDATE_OPS, follow(name, first, value))
        return y


def follow(name: str, first: str, value: tf.Tensor) -> tf.Tensor:
    """Add a moving average of `value`, and return the op that updates it, colocated with the average."""
    initial = tf.zeros_initializer() if first == "zeros" else tf.ones_initializer()
    average = tf.get_variable(name, value.shape, initializer=initial, trainable=False)
    with tf.colocate_with(average.op), tf.name_scope(f"follow_{name}"):
        return tf.assign_sub(average, (average - value) * (1 - DECAY))


def pooled(x: tf.Tensor, layer: Layer) -> tf.Tensor:
    pool = tf.nn.max_pool if layer.kind == "max" else tf.nn.avg_pool
    ksize = [1, layer.rows, layer.columns, 1]
    strides = [1, layer.stride, layer.stride, 1]
    return pool(x, ksize=ksize, strides=strides, padding=layer.padding)


def apply(x: tf.Tensor, text: str | tuple[str, ...], name: str = "") -> tf.Tensor:
    """Apply a layer: a pool, or a convolution with batch normalisation and rectifier; a tuple's layers are concatenated."""
    if isinstance(text, tuple):
        return tf.concat([apply(x, part, f"{name}{letter}_") for letter, part in zip("ab", text, strict=True)], 3)
    layer = parse(text)
    with tf.variable_scope(name + layer.name):
        return pooled(x, layer) if layer.kind != "conv" else tf.nn.relu(normalised(convolved(x, layer)))


def chain(x: tf.Tensor, layers: Sequence[str | tuple[str, ...]]) -> tf.Tensor:
    """Apply layers in sequence; their names are numbered."""
    for i, text in enumerate(layers):
        x = apply(x, text, f"{i}_")
    return x


def block(x: tf.Tensor, name: str, branches: Sequence[Sequence[str | tuple[str, ...]]]) -> tf.Tensor:
    """Apply branches to the same input and concatenate them: an Inception module."""
    with tf.variable_scope(name):
        ends = []
        for i, branch in enumerate(branches):
            with tf.variable_scope(f"branch_{i}"):
                ends.append(chain(x, branch))
        return tf.concat(ends, 3)


def classes_of(x: tf.Tensor, classes: int) -> tf.Tensor:
    """Scores by a 1 × 1 convolution with biases of the pooled features: [batch, 1, 1, width] → [batch, classes]."""
    with tf.variable_scope("logits"):
        scores = biased(convolved(x, parse(f"1x1 {classes}")))
        return tf.squeeze(scores, [1, 2])

"""Build the forward passes of AlexNet, VGG-16, Inception-V2 and ResNetV2-152, with their loss.

These are the networks of Hashemi, Jyothi, Campbell (2018), who order the transfers of parameters from a server: every op with
persistent bytes is a parameter, and the op ``…/read`` reads the value that is sent::

    pip install "tensorflow-cpu==2.21.*" "tf_keras==2.21.*"     # beside placelab; only rebuilding needs TensorFlow
    python datasets/hashemi_models.py                           # all four, a few minutes; or name some

``datasets/README.md`` describes what is counted and measured.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from convolutional_layers import apply, biased, block, chain, classes_of, convolved, normalised, parse, variable
from tensorflow_profiling import Network, main, tf

CLASSES = 1000
KEPT = 0.5


def fully_connected(x: tf.Tensor, name: str, width: int) -> tf.Tensor:
    with tf.variable_scope(name):
        return biased(tf.matmul(x, variable("weights", [x.shape[-1], width])))


def classifier(x: tf.Tensor) -> tf.Tensor:
    """The last layers of AlexNet and VGG-16: two of 4,096 with dropout, and the scores."""
    x = tf.reshape(x, [x.shape[0], -1])
    for name in ("fc6", "fc7"):
        x = tf.nn.dropout(tf.nn.relu(fully_connected(x, name, 4096)), KEPT)
    return fully_connected(x, "fc8", CLASSES)


def plain(x: tf.Tensor, name: str, text: str) -> tf.Tensor:
    """A convolution with biases and rectifier, without batch normalisation."""
    with tf.variable_scope(name):
        return tf.nn.relu(biased(convolved(x, parse(text))))


def tower(x: tf.Tensor, layers: list[tuple[str, str]]) -> tf.Tensor:
    """AlexNet's layers in one of its two towers: convolution, perhaps response normalisation, perhaps a pool."""
    for name, text in layers:
        if name.startswith("conv"):
            x = plain(x, name, text)
        elif name.startswith("norm"):
            x = tf.nn.lrn(x, depth_radius=2, bias=2.0, alpha=1e-4, beta=0.75, name=name)
        else:
            x = apply(x, text, f"{name}_")
    return x


def towers(x: tf.Tensor, layers: list[tuple[str, str]]) -> tf.Tensor:
    """Two towers on the same input, concatenated."""
    ends = []
    for i in (0, 1):
        with tf.variable_scope(f"tower_{i}", auxiliary_name_scope=False), tf.name_scope(f"tower_{i}/"):
            ends.append(tower(x, layers))
    return tf.concat(ends, 3)


def alexnet(images: tf.Tensor) -> tf.Tensor:
    """Krizhevsky, Sutskever, Hinton (2012): two towers that exchange their features before the third convolution."""
    halves = [("norm1", ""), ("pool1", "max 3x3 /2 valid"), ("conv2", "5x5 128")]
    halves += [("norm2", ""), ("pool2", "max 3x3 /2 valid")]
    x = towers(images, [("conv1", "11x11 48 /4 valid"), *halves])
    last = [("conv3", "3x3 192"), ("conv4", "3x3 192"), ("conv5", "3x3 128"), ("pool5", "max 3x3 /2 valid")]
    return classifier(towers(x, last))


def vgg16(images: tf.Tensor) -> tf.Tensor:
    """Simonyan, Zisserman (2014), configuration D."""
    x = images
    for i, (repeats, width) in enumerate(((2, 64), (2, 128), (3, 256), (3, 512), (3, 512)), start=1):
        for j in range(1, repeats + 1):
            x = plain(x, f"conv{i}_{j}", f"3x3 {width}")
        x = apply(x, "max 2x2 /2 valid", f"pool{i}_")
    return classifier(x)


def separable(x: tf.Tensor) -> tf.Tensor:
    """The first convolution of Inception-V2: 7 × 7 per colour, then 1 × 1."""
    with tf.variable_scope("separable_7x7"):
        each = variable("depthwise_weights", [7, 7, x.shape[-1], 8])
        mixed = variable("pointwise_weights", [1, 1, 8 * x.shape[-1], 64])
        return tf.nn.relu(normalised(tf.nn.separable_conv2d(x, each, mixed, [1, 2, 2, 1], "SAME")))


def mixed(one: int, three: tuple[int, int], double: tuple[int, int], pool: str) -> tuple:
    """A module of Inception-V2: 1 × 1; 3 × 3; 3 × 3 twice; a pool and 1 × 1."""
    narrow, wide = double
    twice = (f"1x1 {narrow}", f"3x3 {wide}", f"3x3 {wide}")
    return (f"1x1 {one}",), (f"1x1 {three[0]}", f"3x3 {three[1]}"), twice, tuple(pool.split(", "))


def halved(three: tuple[int, int], double: tuple[int, int]) -> tuple:
    """A module of Inception-V2 that halves rows and columns."""
    twice = (f"1x1 {double[0]}", f"3x3 {double[1]}", f"3x3 {double[1]} /2")
    return (f"1x1 {three[0]}", f"3x3 {three[1]} /2"), twice, ("max 3x3 /2",)


INCEPTION_V2 = {
    "mixed_3b": mixed(64, (64, 64), (64, 96), "avg 3x3, 1x1 32"),
    "mixed_3c": mixed(64, (64, 96), (64, 96), "avg 3x3, 1x1 64"),
    "mixed_4a": halved((128, 160), (64, 96)),
    "mixed_4b": mixed(224, (64, 96), (96, 128), "avg 3x3, 1x1 128"),
    "mixed_4c": mixed(192, (96, 128), (96, 128), "avg 3x3, 1x1 128"),
    "mixed_4d": mixed(160, (128, 160), (128, 160), "avg 3x3, 1x1 96"),
    "mixed_4e": mixed(96, (128, 192), (160, 192), "avg 3x3, 1x1 96"),
    "mixed_5a": halved((128, 192), (192, 256)),
    "mixed_5b": mixed(352, (192, 320), (160, 224), "avg 3x3, 1x1 128"),
    "mixed_5c": mixed(352, (192, 320), (192, 224), "max 3x3, 1x1 128"),
}


def inception_v2(images: tf.Tensor) -> tf.Tensor:
    """Inception with batch normalisation (Ioffe, Szegedy, 2015), as in the TensorFlow model collection."""
    with tf.variable_scope("stem"):
        x = chain(separable(images), ["max 3x3 /2", "1x1 64", "3x3 192", "max 3x3 /2"])
    for name, branches in INCEPTION_V2.items():
        x = block(x, name, branches)
    with tf.variable_scope("head"):
        return classes_of(tf.nn.dropout(chain(x, ["avg 7x7 valid"]), 0.8), CLASSES)


def before(x: tf.Tensor) -> tf.Tensor:
    """Batch normalisation and rectifier before a convolution, as in the second version of ResNet."""
    return tf.nn.relu(normalised(x, scaled=True))


def unit(x: tf.Tensor, width: int, stride: int) -> tf.Tensor:
    """A bottleneck: 1 × 1, 3 × 3, 1 × 1 to four times the width, added to the input or to a projection of it."""
    with tf.variable_scope("preact"):
        active = before(x)
    with tf.variable_scope("shortcut"):
        if x.shape[-1] == 4 * width:
            shortcut = x if stride == 1 else apply(x, f"max 1x1 /{stride} valid")
        else:
            shortcut = biased(convolved(active, parse(f"1x1 {4 * width} /{stride}")))
    for name, text in (("conv1", f"1x1 {width}"), ("conv2", f"3x3 {width} /{stride}")):
        with tf.variable_scope(name):
            active = before(convolved(active, parse(text)))
    with tf.variable_scope("conv3"):
        return shortcut + biased(convolved(active, parse(f"1x1 {4 * width}")))


def resnet_v2_152(images: tf.Tensor) -> tf.Tensor:
    """He, Zhang, Ren, Sun (2016): 3 + 8 + 36 + 3 bottlenecks; the last of a block halves rows and columns."""
    with tf.variable_scope("stem"):
        x = apply(biased(convolved(images, parse("7x7 64 /2"))), "max 3x3 /2")
    for b, (units, width, stride) in enumerate(((3, 64, 2), (8, 128, 2), (36, 256, 2), (3, 512, 1)), start=1):
        for u in range(1, units + 1):
            with tf.variable_scope(f"block{b}/unit_{u}"):
                x = unit(x, width, stride if u == units else 1)
    with tf.variable_scope("head"):
        return classes_of(chain(before(x), ["avg 7x7 valid"]), CLASSES)


def forward(scores_of: Callable, batch: int, size: int, random: np.random.Generator) -> Network:
    """The forward pass of a training step: the ops that the loss of one batch needs."""
    images = tf.placeholder(tf.float32, [batch, size, size, 3], name="images")
    labels = tf.placeholder(tf.int32, [batch], name="labels")
    scores = scores_of(images)
    with tf.name_scope("loss"):
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
        loss = tf.reduce_mean(entropy, name="mean")
    feed = {
        images: random.random((batch, size, size, 3), dtype=np.float32),
        labels: random.integers(CLASSES, size=batch),
    }
    return Network([loss], feed)


SIZES = {alexnet: (128, 227), vgg16: (32, 224), inception_v2: (32, 224), resnet_v2_152: (32, 224)}  # batch, rows
NETWORKS = {f.__name__: partial(forward, f, *size) for f, size in SIZES.items()}

if __name__ == "__main__":
    main(NETWORKS, "hashemi_models.py")

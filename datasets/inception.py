"""Build the training graph of Inception-V3 (Szegedy and others, 2016) with its auxiliary head, batch 32, RMSProp.

::

    pip install "tensorflow-cpu==2.21.*" "tf_keras==2.21.*"     # beside placelab; only rebuilding needs TensorFlow
    python datasets/inception.py                                # a few minutes

``datasets/README.md`` describes what is counted and measured.
"""

from __future__ import annotations

import numpy as np
from convolutional_layers import block, chain, classes_of
from tensorflow_profiling import Network, main, tf

BATCH = 32
SIZE = 299
CLASSES = 1000
SMOOTHING = 0.1
WEIGHT_DECAY = 4e-5
AUXILIARY = 0.4
KEPT = 0.8

STEM = (
    "3x3 32 /2 valid",
    "3x3 32 valid",
    "3x3 64",
    "max 3x3 /2 valid",
    "1x1 80 valid",
    "3x3 192 valid",
    "max 3x3 /2 valid",
)


def wide(pooled: int) -> tuple:
    """A module at 35 × 35: 5 × 5 as two steps, 3 × 3 twice, and a pool of the given width."""
    return ("1x1 64",), ("1x1 48", "5x5 64"), ("1x1 64", "3x3 96", "3x3 96"), ("avg 3x3", f"1x1 {pooled}")


def factored(width: int) -> tuple:
    """A module at 17 × 17: 7 × 7 convolutions as 1 × 7 and 7 × 1."""
    once = (f"1x1 {width}", f"1x7 {width}", "7x1 192")
    twice = (f"1x1 {width}", f"7x1 {width}", f"1x7 {width}", f"7x1 {width}", "1x7 192")
    return ("1x1 192",), once, twice, ("avg 3x3", "1x1 192")


EXPANDED = (
    ("1x1 320",),
    ("1x1 384", ("1x3 384", "3x1 384")),
    ("1x1 448", "3x3 384", ("1x3 384", "3x1 384")),
    ("avg 3x3", "1x1 192"),
)
TO_17 = (("3x3 384 /2 valid",), ("1x1 64", "3x3 96", "3x3 96 /2 valid"), ("max 3x3 /2 valid",))
TO_8 = (
    ("1x1 192", "3x3 320 /2 valid"),
    ("1x1 192", "1x7 192", "7x1 192", "3x3 192 /2 valid"),
    ("max 3x3 /2 valid",),
)
MODULES = {
    "mixed_5b": wide(32),
    "mixed_5c": wide(64),
    "mixed_5d": wide(64),
    "mixed_6a": TO_17,
    "mixed_6b": factored(128),
    "mixed_6c": factored(160),
    "mixed_6d": factored(160),
    "mixed_6e": factored(192),
    "mixed_7a": TO_8,
    "mixed_7b": EXPANDED,
    "mixed_7c": EXPANDED,
}


def modules(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Features from the stem and all modules, and those that the auxiliary head reads."""
    with tf.variable_scope("stem"):
        x = chain(x, STEM)
    outputs = {}
    for name, branches in MODULES.items():
        x = outputs[name] = block(x, name, branches)
    return x, outputs["mixed_6e"]


def heads(x: tf.Tensor, beside: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Scores of the network and of its auxiliary head."""
    with tf.variable_scope("head"):
        x = tf.nn.dropout(chain(x, ["avg 8x8 valid"]), KEPT)
        scores = classes_of(x, CLASSES)
    with tf.variable_scope("auxiliary"):
        beside = chain(beside, ["avg 5x5 /3 valid", "1x1 128", "5x5 768 valid"])
        return scores, classes_of(beside, CLASSES)


def total_loss(labels: tf.Tensor, scores: tf.Tensor, beside: tf.Tensor) -> tf.Tensor:
    """Cross entropy of both heads with smoothed labels, and weight decay."""
    with tf.name_scope("loss"):
        smooth = labels * (1 - SMOOTHING) + SMOOTHING / CLASSES
        entropies = [tf.nn.softmax_cross_entropy_with_logits_v2(smooth, logits) for logits in (scores, beside)]
        main, auxiliary = (tf.reduce_mean(entropy) for entropy in entropies)
        decay = tf.add_n([tf.nn.l2_loss(weights) * WEIGHT_DECAY for weights in tf.get_collection("weights")])
        return main + AUXILIARY * auxiliary + decay


def inception_v3(random: np.random.Generator) -> Network:
    """One training step: forward, backward, moving averages, RMSProp with momentum."""
    images = tf.placeholder(tf.float32, [BATCH, SIZE, SIZE, 3], name="images")
    labels = tf.placeholder(tf.float32, [BATCH, CLASSES], name="labels")
    loss = total_loss(labels, *heads(*modules(images)))
    optimizer = tf.train.RMSPropOptimizer(0.045, decay=0.9, momentum=0.9, epsilon=1.0)
    update = optimizer.minimize(loss)
    feed = {
        images: random.random((BATCH, SIZE, SIZE, 3), dtype=np.float32),
        labels: np.eye(CLASSES, dtype=np.float32)[random.integers(CLASSES, size=BATCH)],
    }
    return Network([update, loss, *tf.get_collection(tf.GraphKeys.UPDATE_OPS)], feed)


NETWORKS = {"inception_v3": inception_v3}

if __name__ == "__main__":
    main(NETWORKS, "inception.py")

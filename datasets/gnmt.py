"""Build the training graphs of a translator like GNMT: 4 + 4 LSTM layers of 512 units, attention, unrolled word by word.

::

    pip install "tensorflow-cpu==2.21.*" "tf_keras==2.21.*"     # beside placelab; only rebuilding needs TensorFlow
    python datasets/gnmt.py                                     # gnmt_40 and gnmt_50; or name one

``datasets/README.md`` describes what is counted and measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from tensorflow_profiling import Network, main, tf

BATCH = 128
UNITS = 512
LAYERS = 4
VOCABULARY = 30_000
FIRST_RESIDUAL = 2  # layers from this one on add their input to their output
RATE = 1.0
LARGEST_NORM = 5.0


class State(NamedTuple):
    """State that an LSTM passes to its next step: [batch, UNITS] each."""

    cell: tf.Tensor
    output: tf.Tensor


class Layer(NamedTuple):
    """The weights of one LSTM layer, shared by all its steps."""

    kernel: tf.Tensor
    bias: tf.Tensor


def variable(name: str, shape: Sequence[int]) -> tf.Variable:
    return tf.get_variable(name, shape, initializer=tf.random_uniform_initializer(-0.1, 0.1))


def layer(inputs: int) -> Layer:
    """Weights of a layer that reads `inputs` numbers per sequence besides its own output."""
    return Layer(variable("kernel", [inputs + UNITS, 4 * UNITS]), variable("bias", [4 * UNITS]))


def cell(weights: Layer, x: tf.Tensor, before: State) -> State:
    """One step of an LSTM, its input, candidate, forget and output gates computed by one product."""
    product = tf.matmul(tf.concat([x, before.output], 1), weights.kernel)
    into, candidate, forget, out = tf.split(tf.nn.bias_add(product, weights.bias), 4, 1)
    kept = before.cell * tf.sigmoid(forget + 1.0)
    state = kept + tf.sigmoid(into) * tf.tanh(candidate)
    return State(state, tf.tanh(state) * tf.sigmoid(out))


def nothing() -> State:
    return State(tf.zeros([BATCH, UNITS], name="cell"), tf.zeros([BATCH, UNITS], name="output"))


def sequence(name: str, xs: Sequence[tf.Tensor], residual: bool = False) -> tuple[list[tf.Tensor], State]:
    """Outputs and last state of a layer that is unrolled over its inputs."""
    with tf.variable_scope(name):
        weights = layer(xs[0].shape[-1])
        state = nothing()
        outputs = []
        for t, x in enumerate(xs):
            with tf.name_scope(f"step_{t}"):
                state = cell(weights, x, state)
                outputs.append(state.output + x if residual else state.output)
    return outputs, state


def embedded(tokens: tf.Tensor) -> list[tf.Tensor]:
    """Embed [steps, batch] words: one [batch, UNITS] per step."""
    table = variable("embedding", [VOCABULARY, UNITS])
    return tf.unstack(tf.nn.embedding_lookup(table, tokens))


def encoder(tokens: tf.Tensor) -> tuple[tf.Tensor, list[State]]:
    """Encode, the first layer in both directions; returns [batch, steps, UNITS] and each layer's last state."""
    with tf.variable_scope("encoder"):
        xs = embedded(tokens)
        ahead, _ = sequence("layer_0_forward", xs)
        back, state = sequence("layer_0_backward", xs[::-1])
        xs = [tf.concat(both, 1) for both in zip(ahead, back[::-1], strict=True)]
        states = [state]
        for i in range(1, LAYERS):
            xs, state = sequence(f"layer_{i}", xs, residual=i >= FIRST_RESIDUAL)
            states.append(state)
        return tf.stack(xs, axis=1), states


class Attention(NamedTuple):
    """Bahdanau's attention: the encoder's outputs, their keys, and the weights of queries and scores."""

    memory: tf.Tensor
    keys: tf.Tensor
    query: tf.Tensor
    score: tf.Tensor

    def context(self, output: tf.Tensor) -> tf.Tensor:
        """The mean of the memory, weighted by each step's match with `output`: [batch, UNITS]."""
        query = tf.expand_dims(tf.matmul(output, self.query), 1)
        match = tf.reduce_sum(self.score * tf.tanh(self.keys + query), 2)
        weights = tf.expand_dims(tf.nn.softmax(match), 1)
        return tf.squeeze(tf.matmul(weights, self.memory), [1])


def attention(memory: tf.Tensor) -> Attention:
    with tf.variable_scope("attention"):
        key, query = (variable(name, [UNITS, UNITS]) for name in ("key", "query"))
        rows = tf.matmul(tf.reshape(memory, [-1, UNITS]), key)
        return Attention(memory, tf.reshape(rows, memory.shape), query, variable("score", [UNITS]))


def decoder(tokens: tf.Tensor, memory: tf.Tensor, states: list[State]) -> tf.Tensor:
    """Decode from the encoder's last states; returns [steps, batch, UNITS].

    Each layer reads its input and the context of the first layer's last output.
    """
    with tf.variable_scope("decoder"):
        look = attention(memory)
        outputs = []
        xs = embedded(tokens)
        layers = []
        for i in range(LAYERS):
            with tf.variable_scope(f"layer_{i}"):
                layers.append(layer(2 * UNITS))
        for t, x in enumerate(xs):
            with tf.name_scope(f"decoder/attention/step_{t}/"):
                context = look.context(states[0].output)
            for i, weights in enumerate(layers):
                with tf.name_scope(f"decoder/layer_{i}/step_{t}/"):
                    states[i] = cell(weights, tf.concat([x, context], 1), states[i])
                    x = states[i].output + x if i >= FIRST_RESIDUAL else states[i].output
            outputs.append(x)
        return tf.stack(outputs)


def loss_of(outputs: tf.Tensor, wanted: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Cross entropy per sentence; one product after the last step computes the scores of all words."""
    with tf.variable_scope("projection"):
        rows = tf.reshape(outputs, [-1, UNITS])
        scores = tf.matmul(rows, variable("kernel", [UNITS, VOCABULARY]))
    with tf.name_scope("loss"):
        entropy = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.reshape(wanted, [-1]), logits=scores)
        return tf.reduce_sum(entropy * tf.reshape(mask, [-1])) / BATCH


def gnmt(steps: int, random: np.random.Generator) -> Network:
    """One training step: forward, backward, gradients clipped by their common norm, gradient descent."""
    source, target, wanted = (tf.placeholder(tf.int32, [steps, BATCH], name=n) for n in ("source", "target", "wanted"))
    mask = tf.placeholder(tf.float32, [steps, BATCH], name="mask")
    loss = loss_of(decoder(target, *encoder(source)), wanted, mask)
    variables = tf.trainable_variables()
    gradients, _ = tf.clip_by_global_norm(tf.gradients(loss, variables), LARGEST_NORM)
    update = tf.train.GradientDescentOptimizer(RATE).apply_gradients(zip(gradients, variables, strict=True))
    words = {ids: random.integers(VOCABULARY, size=(steps, BATCH)) for ids in (source, target, wanted)}
    return Network([update, loss], {**words, mask: np.ones((steps, BATCH), dtype=np.float32)})


NETWORKS = {f"gnmt_{steps}": partial(gnmt, steps) for steps in (40, 50)}

if __name__ == "__main__":
    main(NETWORKS, "gnmt.py")

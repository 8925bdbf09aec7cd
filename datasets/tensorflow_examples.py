"""Build the training graphs of three small TensorFlow networks, with measured times and bytes.

Builds the networks of Mayer, Mayer, Laich (2017), Table 1, in TensorFlow's v1 graph mode, as in the TensorFlow-Examples
collection before August 2017, profiles one training step of each, and writes ``<name>.json.gz`` to the folder of this script::

    pip install tensorflow-cpu==2.21.* tf_keras==2.21.*     # beside placelab; only rebuilding needs TensorFlow
    python datasets/tensorflow_examples.py                  # all three, about a minute; or name some

``datasets/README.md`` describes what is measured.
"""

from __future__ import annotations

import argparse
from statistics import median
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from shapes_anew import HELP, with_shapes_of
from tensorflow_profiling import HERE, Network, tensorflow, tf, traced_steps

BATCH = 128
WARM_UP = 10
STEPS = 31
REFERENCE_SPEED = 1e13  # operations/s of a device that takes the measured times: compute / seconds


def one_hot(labels: np.ndarray, classes: int) -> np.ndarray:
    return np.eye(classes, dtype=np.float32)[labels]


def classifier(logits: tf.Tensor, labels: tf.Tensor, optimizer: tf.train.Optimizer) -> list[Any]:
    """The common end of the three networks: softmax cross entropy, one optimizer step, accuracy, initialisation."""
    loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=labels))
    train = optimizer.minimize(loss)
    hits = tf.equal(tf.argmax(logits, 1), tf.argmax(labels, 1))
    accuracy = tf.reduce_mean(tf.cast(hits, tf.float32))
    tf.global_variables_initializer()
    return [train, loss, accuracy]


def convolutional_network(random: np.random.Generator) -> Network:
    """28 x 28 images: two 5 x 5 convolutions with max pooling, one dense layer with dropout, ten classes; Adam."""
    images = tf.placeholder(tf.float32, [None, 28 * 28])
    labels = tf.placeholder(tf.float32, [None, 10])
    keep = tf.placeholder(tf.float32)
    kernels = [tf.Variable(tf.random_normal(shape)) for shape in ([5, 5, 1, 32], [5, 5, 32, 64])]
    dense = [tf.Variable(tf.random_normal(shape)) for shape in ([7 * 7 * 64, 1024], [1024, 10])]
    biases = [tf.Variable(tf.random_normal([width])) for width in (32, 64, 1024, 10)]

    layer = tf.reshape(images, [-1, 28, 28, 1])
    for kernel, bias in zip(kernels, biases, strict=False):
        convolved = tf.nn.conv2d(layer, kernel, strides=[1, 1, 1, 1], padding="SAME")
        active = tf.nn.relu(tf.nn.bias_add(convolved, bias))
        layer = tf.nn.max_pool(active, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    flat = tf.reshape(layer, [-1, 7 * 7 * 64])
    hidden = tf.nn.dropout(tf.nn.relu(tf.add(tf.matmul(flat, dense[0]), biases[2])), keep)
    logits = tf.add(tf.matmul(hidden, dense[1]), biases[3])

    fetches = classifier(logits, labels, tf.train.AdamOptimizer(learning_rate=0.001))
    feed = {
        images: random.random((BATCH, 28 * 28), dtype=np.float32),
        labels: one_hot(random.integers(10, size=BATCH), 10),
        keep: np.float32(0.75),
    }
    return Network(fetches, feed)


def recurrent_network(random: np.random.Generator) -> Network:
    """28 x 28 images read row by row by an LSTM of 128 units, unrolled over the 28 rows; ten classes; Adam."""
    rows = tf.placeholder(tf.float32, [None, 28, 28])
    labels = tf.placeholder(tf.float32, [None, 10])
    weight = tf.Variable(tf.random_normal([128, 10]))
    bias = tf.Variable(tf.random_normal([10]))

    cell = tf.nn.rnn_cell.BasicLSTMCell(128, forget_bias=1.0)
    outputs, _ = tf.nn.static_rnn(cell, tf.unstack(rows, 28, 1), dtype=tf.float32)
    logits = tf.matmul(outputs[-1], weight) + bias

    fetches = classifier(logits, labels, tf.train.AdamOptimizer(learning_rate=0.001))
    feed = {
        rows: random.random((BATCH, 28, 28), dtype=np.float32),
        labels: one_hot(random.integers(10, size=BATCH), 10),
    }
    return Network(fetches, feed)


def dynamic_rnn(random: np.random.Generator) -> Network:
    """Sequences of 3 to 20 numbers, rising or random: an LSTM of 64 units stopped at each one's length; SGD."""
    steps = 20
    units = 64
    sequences = tf.placeholder(tf.float32, [None, steps, 1])
    labels = tf.placeholder(tf.float32, [None, 2])
    lengths = tf.placeholder(tf.int32, [None])
    weight = tf.Variable(tf.random_normal([units, 2]))
    bias = tf.Variable(tf.random_normal([2]))

    cell = tf.nn.rnn_cell.BasicLSTMCell(units)
    inputs = tf.unstack(sequences, steps, 1)
    outputs, _ = tf.nn.static_rnn(cell, inputs, dtype=tf.float32, sequence_length=lengths)
    by_sequence = tf.transpose(tf.stack(outputs), [1, 0, 2])
    last = tf.range(0, tf.shape(by_sequence)[0]) * steps + (lengths - 1)
    logits = tf.matmul(tf.gather(tf.reshape(by_sequence, [-1, units]), last), weight) + bias

    fetches = classifier(logits, labels, tf.train.GradientDescentOptimizer(learning_rate=0.01))
    length = random.integers(3, steps, size=BATCH, endpoint=True)
    rising = random.random(BATCH) < 0.5
    ramp = np.arange(steps) / 1000 + random.random((BATCH, 1))
    values = np.where(rising[:, None], ramp, random.random((BATCH, steps)))
    values[np.arange(steps) >= length[:, None]] = 0.0
    feed = {sequences: values[:, :, None], labels: one_hot(1 - rising, 2), lengths: length}
    return Network(fetches, feed)


NETWORKS = {build.__name__: build for build in (convolutional_network, recurrent_network, dynamic_rnn)}


def tensor_bytes(dtype: tf.DType, shape: list[int]) -> float:
    return float(np.prod(shape, dtype=float)) * dtype.base_dtype.size


def static_bytes(tensor: tf.Tensor) -> float:
    """Bytes by the declared shape, unknown dimensions taken as the batch; 0 if the rank is unknown."""
    shape = tensor.shape
    if shape.rank is None:
        return 0.0
    return tensor_bytes(tensor.dtype, [BATCH if size is None else size for size in shape.as_list()])


def declared_shape(tensor: tf.Tensor, size: float) -> str | None:
    """Its shape in words; where one length is not declared, as the batch, its bytes tell it."""
    from placelab.problem.tensor_shapes import shape_text

    if tensor.shape.rank is None:
        return None
    lengths = tensor.shape.as_list()
    rest = tensor_bytes(tensor.dtype, [length for length in lengths if length is not None])
    if lengths.count(None) == 1 and rest and size % rest == 0:
        lengths[lengths.index(None)] = int(size / rest)
    return shape_text(tensor.dtype.base_dtype.name, tuple(lengths))


class Profile(NamedTuple):
    """Per op name: seconds (median over steps of the sum over kernels), scratch bytes; per output: bytes.

    Seconds are the time that the op occupies its thread, including the handling of inputs and outputs, as in TensorFlow's
    timeline.
    """

    seconds: dict[str, float]
    scratch: dict[str, float]
    outputs: dict[tuple[str, int], float]


def profile(traces: list[Any]) -> Profile:
    """The profile of the traces; ops that never ran are left out."""
    seconds: dict[str, list[float]] = {}
    scratch: dict[str, float] = {}
    outputs: dict[tuple[str, int], float] = {}
    for trace in traces:
        step: dict[str, float] = {}
        for kernel in (kernel for device in trace.step_stats.dev_stats for kernel in device.node_stats):
            name = kernel.node_name
            step[name] = step.get(name, 0.0) + 1e-9 * kernel.all_end_rel_nanos
            scratch[name] = max(scratch.get(name, 0.0), float(kernel.memory_stats.temp_memory_size))
            for output in kernel.output:
                described = output.tensor_description
                dims = [d.size for d in described.shape.dim]
                outputs[name, output.slot] = tensor_bytes(tf.as_dtype(described.dtype), dims)
        for name, spent in step.items():
            seconds.setdefault(name, []).append(spent)
    return Profile({name: median(spent) for name, spent in seconds.items()}, scratch, outputs)


def colocation(graph: tf.Graph) -> dict[str, str]:
    """Colocation group of each op that has one, named after one of its ops.

    Two ops share a group, as in TensorFlow's placer, by a ``loc:@`` attribute or an input that is a reference to a variable.
    """
    anchor: dict[str, str] = {}

    def root(name: str) -> str:
        while anchor.get(name, name) != name:
            name = anchor[name]
        return name

    for op in graph.get_operations():
        named = [place.decode().removeprefix("loc:@") for place in op.colocation_groups()]
        for other in named + [tensor.op.name for tensor in op.inputs if tensor.dtype._is_ref_dtype]:
            anchor[root(op.name)] = root(other)
    members: dict[str, list[str]] = {}
    for op in graph.get_operations():
        members.setdefault(root(op.name), []).append(op.name)
    return {name: group for group, names in members.items() if len(names) > 1 for name in names}


def op_graph(graph: tf.Graph, feed: dict[Any, np.ndarray], measured: Profile, speed: float) -> nx.MultiDiGraph:
    """The TensorFlow graph with its costs, in the attributes that `OpGraph.from_networkx` reads."""
    groups = colocation(graph)
    fed = {tensor.op.name for tensor in feed}

    def sent(tensor: tf.Tensor) -> float:
        """Bytes of one output; 0 for a reference, as the variable's bytes are persistent."""
        if tensor.dtype._is_ref_dtype:
            return 0.0
        if tensor.op.name in fed:
            return static_bytes(tensor)
        return measured.outputs.get((tensor.op.name, tensor.value_index), 0.0)

    def shape(tensor: tf.Tensor) -> str | None:
        return declared_shape(tensor, sent(tensor))

    G = nx.MultiDiGraph()
    for op in graph.get_operations():
        unread = [tensor for tensor in op.outputs if not tensor.consumers()]
        variable = op.type == "VariableV2"
        G.add_node(
            op.name,
            compute=round(measured.seconds.get(op.name, 0.0) * speed),
            persistent=static_bytes(op.outputs[0]) if variable else 0.0,
            temporary=measured.scratch.get(op.name, 0.0),
            kind=op.type,
            outputs={tensor.value_index: sent(tensor) for tensor in unread},
            output_shapes={tensor.value_index: said for tensor in unread if (said := shape(tensor)) is not None},
        )
        if op.name in groups:
            G.nodes[op.name]["group"] = groups[op.name]
    for op in graph.get_operations():
        for tensor in op.inputs:
            said = {} if shape(tensor) is None else {"tensor_shape": shape(tensor)}
            G.add_edge(tensor.op.name, op.name, tensor=tensor.value_index, bytes=sent(tensor), **said)
        for before in op.control_inputs:
            G.add_edge(before.name, op.name, control=True, bytes=0.0)
    return G


def bytes_kept(name: str) -> Profile:
    """A profile with the bytes of the committed graph, and nothing else."""
    from placelab.formats import placelab_json

    kept = placelab_json.read(HERE / f"{name}.json.gz")
    outputs = {}
    for number, op in enumerate(kept.names.tolist()):
        tensors = range(kept.op_tensor_ptr[number], kept.op_tensor_ptr[number + 1])
        sizes = [float(kept.tensor_bytes[t]) for t in tensors if not kept.tensor_control[t]]
        outputs |= {(op, slot): size for slot, size in enumerate(sizes)}
    return Profile({}, {}, outputs)


def main(names: list[str], shapes: bool) -> None:
    from placelab import OpGraph

    for name in names:
        with tf.Graph().as_default() as graph:
            tf.set_random_seed(0)
            network = NETWORKS[name](np.random.default_rng(0))
        if shapes:
            built = OpGraph.from_networkx(op_graph(graph, network.feed, bytes_kept(name), REFERENCE_SPEED))
            with_shapes_of(built, HERE / f"{name}.json.gz").save(HERE / f"{name}.json.gz")
            continue
        measured = profile(traced_steps(graph, network, WARM_UP, STEPS))
        G = op_graph(graph, network.feed, measured, REFERENCE_SPEED)
        G.graph.update(
            name=name,
            reference_speed=REFERENCE_SPEED,
            provenance=f"datasets/tensorflow_examples.py, TensorFlow {tensorflow.__version__}, batch {BATCH}, "
            f"median of {STEPS} traced steps on one core",
            licence="MIT",
        )
        OpGraph.from_networkx(G).save(HERE / f"{name}.json.gz")
        ran = measured.seconds.keys() & set(G)
        step = sum(measured.seconds[op] for op in ran)
        print(f"{name}: {len(G)} ops, {len(ran)} of them ran, {step:.4f} s; {G.number_of_edges()} edges")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NETWORKS)}; default all")
    parser.add_argument("--shapes", action="store_true", help=HELP)
    given = parser.parse_args()
    main(given.names or list(NETWORKS), given.shapes)

"""Run TensorFlow itself, for tests/formats/test_tensorflow_itself.py, which starts this file if TensorFlow is installed.

It runs in a separate process, and no test imports TensorFlow: OR-tools crashes if TensorFlow was loaded first.

python tests/support/tensorflow_child.py build FOLDER     # networks and what TensorFlow counts in them
python tests/support/tensorflow_child.py run FOLDER       # the placed network on four virtual CPUs
python tests/support/tensorflow_child.py loops FOLDER     # loops and branches of TensorFlow 2
python tests/support/tensorflow_child.py shapes FOLDER    # models without shapes, and those of their tensors in a run
python tests/support/tensorflow_child.py ops              # the table of ops' outputs
python tests/support/tensorflow_child.py flops FOLDER     # how many operations TensorFlow counts

Several tasks, as ``build,loops``, share the seconds that it takes to import TensorFlow. With ``-`` instead, each line of the
standard input has tasks, and ``done`` is printed when they are.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

import numpy as np
import tensorflow

tf = tensorflow.compat.v1
FEED = {"x:0": np.ones((8, 16), np.float32), "labels:0": np.eye(4, dtype=np.float32)[np.arange(8) % 4]}


def network() -> tf.Graph:
    """Two layers with reference variables and one with a resource, a branch, a loop, gradients, momentum."""
    with tf.Graph().as_default() as graph:
        tf.disable_control_flow_v2()
        x = tf.placeholder(tf.float32, [None, 16], "x")
        labels = tf.placeholder(tf.float32, [None, 4], "labels")
        w = tf.Variable(tf.random_normal([16, 32]), name="w", use_resource=False)
        v = tf.Variable(tf.random_normal([32, 4]), name="v", use_resource=True)
        hidden = tf.nn.relu(tf.matmul(x, w), name="hidden")
        flipped = tf.cond(tf.reduce_sum(hidden) > 0, lambda: hidden * 2, lambda: hidden - 1)
        _, looped = tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.sin(a)), [tf.constant(0), flipped])
        with tf.device("/device:CPU:0"):
            first, second = tf.split(looped, 2, axis=1)
        logits = tf.matmul(tf.concat([second, first], 1), v, name="logits")
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(logits=logits, labels=labels), name="loss")
        tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss, name="train")
        tf.global_variables_initializer()
    return graph


class Served(tensorflow.Module):
    """Three layers in functions that call each other, with one signature."""

    def __init__(self):
        self.w = [tensorflow.Variable(tensorflow.ones([8, 8])) for _ in range(3)]

    @tensorflow.function
    def layer(self, x, w):
        return tensorflow.nn.relu(x @ w)

    @tensorflow.function(input_signature=[tensorflow.TensorSpec([None, 8], tensorflow.float32)])
    def __call__(self, x):
        for w in self.w:
            x = self.layer(x, w)
        return x


def counts(graph: tf.Graph) -> dict:
    """TensorFlow's ops, inputs, and static shape and type of each output."""
    ops = graph.get_operations()
    return {
        "ops": {op.name: op.type for op in ops},
        "data": sorted([t.op.name, t.value_index, op.name] for op in ops for t in op.inputs),
        "control": sorted([before.name, op.name] for op in ops for before in op.control_inputs),
        "outputs": {op.name: [described(t) for t in op.outputs] for op in ops},
    }


def described(tensor: tf.Tensor) -> list:
    """Number of the type, and shape or None."""
    return [tensor.dtype.as_datatype_enum, None if tensor.shape.rank is None else tensor.shape.as_list()]


def build(folder: Path) -> None:
    """Write the networks and TensorFlow's counts."""
    graph = network()
    whole = graph.as_graph_def(add_shapes=True)
    (folder / "network.pb").write_bytes(whole.SerializeToString())
    tf.train.write_graph(whole, str(folder), "network.pbtxt")
    (folder / "network.json").write_text(json.dumps(counts(graph)))
    tensorflow.saved_model.save(Served(), str(folder / "served"))


def run(folder: Path) -> None:
    """Run one training step of the placed network without soft placement; print the device that each op ran on."""
    placed = tf.GraphDef.FromString((folder / "placed.pb").read_bytes())
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(placed, name="")
    config = tf.ConfigProto(device_count={"CPU": 4}, allow_soft_placement=False)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    metadata = tf.RunMetadata()
    with tf.Session(graph=graph, config=config) as session:
        session.run("init")
        loss = session.run(["loss:0", "train"], FEED, options, metadata)[0]
    where = {node.name: node.device for part in metadata.partition_graphs for node in part.node}
    ran = {kernel.node_name: stats.device for stats in metadata.step_stats.dev_stats for kernel in stats.node_stats}
    (folder / "step.pb").write_bytes(metadata.SerializeToString())
    (folder / "ran.json").write_text(json.dumps({"loss": float(loss), "where": where, "ran": ran}))


def same(folder: Path) -> None:
    """Whether the placed files differ from the network only in devices, by TensorFlow's own parsers."""
    from google.protobuf import text_format

    whole = tf.GraphDef.FromString((folder / "network.pb").read_bytes())
    binary = tf.GraphDef.FromString((folder / "placed.pb").read_bytes())
    text = text_format.Parse((folder / "placed.pbtxt").read_text(), tf.GraphDef())
    devices = [{node.name: node.device for node in graph.node} for graph in (binary, text)]
    for graph in (whole, binary, text):
        for node in graph.node:
            node.ClearField("device")
    (folder / "same.json").write_text(json.dumps({"same": whole == binary == text, "devices": devices}))


def loops(folder: Path) -> None:
    """Write a graph for each loop and branch of TensorFlow 2; those that count do so over x, which is 8 × 16, and a weight."""
    w = tensorflow.ones([16, 16])

    def while_loop(x, limit=9, step=2, most=None):
        less = tensorflow.less
        return tensorflow.while_loop(
            lambda i, a: less(i, limit), lambda i, a: (i + step, a @ w), [0, x], maximum_iterations=most
        )[1]

    made = {
        "counted": while_loop,
        "limited": lambda x: while_loop(x, 100, 1, 7),
        "on_data": lambda x: tensorflow.while_loop(lambda a: tensorflow.reduce_sum(a) > 0, lambda a: [a @ w], [x])[0],
        "mapped": lambda x: tensorflow.map_fn(lambda row: tensorflow.linalg.matvec(w, row), x),
        "scanned": lambda x: tensorflow.scan(
            lambda a, row: tensorflow.linalg.matvec(w, a) + row, x, tensorflow.zeros([16])
        ),
        "nested": lambda x: tensorflow.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, while_loop(a)), [0, x])[1],
        "choice": lambda x: tensorflow.cond(tensorflow.reduce_sum(x) > 0, lambda: tensorflow.nn.relu(x), lambda: x @ w),
        "case": lambda x: tensorflow.switch_case(
            tensorflow.cast(x[0, 0], tensorflow.int32), [lambda: x @ w, lambda: x, lambda: x @ w @ w]
        ),
        "for_range": tensorflow.autograph.to_graph(_repeated),
    }
    tensorflow.compat.v1.enable_control_flow_v2()
    for name, function in made.items():
        called = tensorflow.function(function).get_concrete_function(
            tensorflow.TensorSpec([8, 16], tensorflow.float32, "x")
        )
        (folder / f"{name}.pb").write_bytes(called.graph.as_graph_def().SerializeToString())


def _repeated(x):
    for _ in tensorflow.range(6):
        x = tensorflow.nn.relu(x @ tensorflow.ones([16, 16]))
    return x


def image_ops(x: tf.Tensor) -> list[tf.Tensor]:
    """Convolutions, windows and resizing, with gradients; x is an image per row."""
    filters = tf.ones([3, 2, 4, 6])
    deep = tf.ones([3, 3, 4, 2])
    movie = tf.reshape(x, [-1, 4, 4, 16, 4])
    made = [
        tf.nn.conv2d(x, filters, 2, "SAME"),
        tf.nn.conv2d(x, filters, [1, 3, 2, 1], "VALID"),
        tf.nn.conv2d(x, filters, 1, "VALID", dilations=[1, 2, 3, 1]),
        tf.nn.conv2d(x, filters, 2, [[0, 0], [2, 1], [0, 3], [0, 0]]),
        tf.nn.depthwise_conv2d(x, deep, [1, 2, 2, 1], "VALID"),
        tf.nn.depthwise_conv2d(x, deep, [1, 1, 1, 1], "SAME", dilations=[2, 2]),
        tf.nn.conv3d(movie, tf.ones([2, 3, 5, 4, 7]), [1, 2, 1, 3, 1], "VALID"),
        tf.nn.conv3d(movie, tf.ones([2, 3, 5, 4, 7]), [1, 1, 2, 2, 1], "SAME"),
        tf.nn.conv2d_transpose(x, tf.ones([3, 3, 5, 4]), tf.stack([tf.shape(x)[0], 32, 32, 5]), 2, "SAME"),
        tf.nn.max_pool2d(x, 3, 2, "VALID"),
        tf.nn.avg_pool2d(x, [1, 2, 5, 1], [1, 2, 1, 1], "SAME"),
        tf.nn.max_pool3d(movie, 2, 2, "VALID"),
        tf.nn.avg_pool3d(movie, [1, 3, 1, 2, 1], 1, "SAME"),
        *tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        tf.image.resize_bilinear(x, [5, 9]),
        tf.image.resize_nearest_neighbor(x, tf.shape(x)[1:3] * 2),
        tf.space_to_depth(x, 4),
        tf.depth_to_space(x, 2),
        tf.nn.bias_add(x, tf.ones([4])),
        tf.nn.lrn(x),
        *tf.nn.fused_batch_norm(x, tf.ones([4]), tf.ones([4])),
    ]
    floats = [tensor for tensor in made if tensor.dtype == tf.float32]
    return made + tf.gradients([tf.reduce_sum(tensor) for tensor in floats], [x, filters, deep])


def moving_ops(x: tf.Tensor) -> list[tf.Tensor]:
    """Parts, joins, transposes and sizes that are computed; x is an image per row."""
    rows = tf.shape(x)[0]
    flat = tf.reshape(x, [rows, -1])
    table = tf.reshape(tf.range(24.0), [4, 6])
    ids = tf.cast(flat[:, :3] > 0, tf.int32)
    first, second, third = tf.split(x, [3, -1, 5], axis=2)
    made = [
        tf.transpose(x, [0, 3, 1, 2]),
        tf.transpose(x),
        x[:, 1:-2:2, ::-1, 0],
        x[..., tf.newaxis, 1:3],
        x[1:, tf.newaxis, -3:, 5:2, ...],
        x[:, :, tf.shape(x)[3]],
        tf.slice(x, [0, 1, 2, 0], [-1, 5, -1, 2]),
        tf.slice(x, [0, 0, 0, 0], [rows, 2, 2, 2]),
        tf.strided_slice(x, [0, 8, 2, 0], [3, 1, 99, 4], [1, -3, 5, 2]),
        tf.reshape(x, [-1, 16 * 4]),
        tf.reshape(x, [rows * 16, 64]),
        tf.reshape(x, tf.concat([[rows, 4], tf.shape(x)[1:2] // 4, [-1]], 0)),
        tf.reshape(x, [-1]),
        tf.concat([x, x * 2, x[..., :1]], -1),
        tf.concat([x, x], 0),
        tf.stack([x, x, x], axis=2),
        *tf.unstack(x, axis=1)[:2],
        *tf.split(x, 4, axis=-3),
        first,
        second,
        third,
        tf.expand_dims(x, -2),
        tf.squeeze(x[:, :1, :, :1], [1, -1]),
        tf.tile(x, [2, 1, 3, 1]),
        tf.tile(table[:1], [rows, 2]),
        tf.pad(x, [[0, 0], [1, 2], [3, 4], [0, 0]]),
        tf.pad(x, [[0, 0], [1, 2], [3, 4], [0, 0]], "REFLECT"),
        tf.gather(table, ids),
        tf.gather(x, [3, 1], axis=2),
        tf.gather(flat, ids, batch_dims=1),
        tf.gather_nd(x, tf.zeros([5, 2], tf.int32)),
        tf.nn.embedding_lookup(table, ids),
        tf.fill([rows, 3], 1.0),
        tf.range(rows),
        tf.range(2, 23, 4),
        tf.linspace(0.0, 1.0, 7),
        tf.zeros_like(x),
        tf.ones([rows, 5]),
        tf.one_hot(ids, 9, axis=1),
        tf.broadcast_to(table, [rows, 4, 6]),
        tf.cast(x, tf.float64),
        tf.where(x > 0, x, -x),
        tf.where_v2(x[:, :1] > 0, x, 0.0),
        tf.nn.dropout(x, rate=0.5),
        tf.random_normal([rows, tf.shape(x)[2] - 1]),
        tf.meshgrid(tf.range(3), tf.range(rows))[0],
        tf.reverse(x, [1]),
        tf.boolean_mask(table, [True, False, True, False]),
        tf.where(x > 0),
        tf.unique(tf.reshape(ids, [-1]))[0],
        tf.sparse.to_dense(tf.sparse.from_dense(ids)),
    ]
    floats = [tensor for tensor in made if tensor.dtype == tf.float32]
    return made + tf.gradients([tf.reduce_sum(tensor) for tensor in floats], [x])


def summing_ops(x: tf.Tensor) -> list[tf.Tensor]:
    """Reductions, products, spectra, attention; x is an image per row."""
    flat = tf.reshape(x, [tf.shape(x)[0], 16 * 16, 4])
    heads = tf.transpose(tf.reshape(flat, [-1, 256, 2, 2]), [0, 2, 1, 3])
    logits = tf.reduce_mean(x, [1, 2])
    made = [
        logits,
        tf.reduce_sum(x, -1, keepdims=True),
        tf.reduce_max(x),
        tf.reduce_min(x, [0, -2]),
        tf.reduce_prod(x, [1], keepdims=True),
        tf.reduce_any(x > 0, [2, 3]),
        tf.argmax(x, 2),
        tf.argmin(x, -1),
        *tf.nn.top_k(logits, 3),
        tf.matmul(heads, heads, transpose_b=True),
        tf.nn.softmax(tf.matmul(heads, heads, transpose_b=True)) @ heads,
        tf.matmul(logits, tf.ones([7, 4]), transpose_b=True),
        tf.matmul(flat, tf.ones([4, 9])),
        tf.tensordot(x, tf.ones([4, 3]), 1),
        tf.einsum("bijc,cd->bdij", x, tf.ones([4, 5])),
        tf.einsum("...i,...i->...", x, x),
        tf.einsum("bhqd,bhkd->bhqk", heads, heads),
        tf.signal.fft(tf.cast(x, tf.complex64)),
        tf.signal.rfft(flat, [6]),
        tf.signal.rfft2d(x),
        tf.signal.irfft(tf.cast(x, tf.complex64)),
        tf.signal.stft(tf.reshape(x, [-1, 1024]), 128, 64),
        tf.cumsum(x, 1),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.argmax(logits, -1), logits=logits),
        tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(logits), logits=logits),
        tf.nn.l2_normalize(x, -1),
        tf.add_n([x, x]),
        x + tf.ones([16, 1]),
        tf.squared_difference(x[:, :1], x[:, :, :1]),
    ]
    floats = [tensor for tensor in made if tensor.dtype == tf.float32]
    return made + tf.gradients([tf.reduce_sum(tensor) for tensor in floats], [x])


def shapes(folder: Path) -> None:
    """Write models without shapes, and the shape that each tensor has when TensorFlow runs it."""
    tf.disable_control_flow_v2()
    for model in (image_ops, moving_ops, summing_ops):
        with tf.Graph().as_default() as graph, tf.Session() as session:
            model(tf.placeholder(tf.float32, [None, 16, 16, 4], "x"))
            tensors = [
                t for op in graph.get_operations() for t in op.outputs if t.dtype not in (tf.variant, tf.resource)
            ]
            ran = session.run(tensors, {"x:0": np.random.default_rng(1).normal(size=(8, 16, 16, 4))})
        found = {t.name: list(np.shape(value)) for t, value in zip(tensors, ran, strict=True)}
        (folder / f"{model.__name__}.pb").write_bytes(graph.as_graph_def().SerializeToString())
        (folder / f"{model.__name__}.json").write_text(json.dumps(found))


def ops() -> None:
    """Print the table that datasets/tensorflow_ops.py writes."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "datasets"))
    from tensorflow_ops import table

    print(table(), end="")


def flops(folder: Path) -> None:
    """Write kind, shapes, attributes and float operations of products and convolutions."""
    from tensorflow.python.framework import ops as registry

    with tf.Graph().as_default() as graph:
        image = tf.placeholder("float32", (8, 28, 28, 16))
        filters = tf.placeholder("float32", (3, 3, 16, 32))
        tf.matmul(tf.placeholder("float32", (64, 100)), tf.placeholder("float32", (10, 100)), transpose_b=True)
        tf.nn.conv2d(image, filters, 2, "SAME")
        tf.nn.depthwise_conv2d(image, tf.placeholder("float32", (3, 3, 16, 2)), [1, 1, 1, 1], "VALID")
    found = []
    for op in graph.get_operations():
        shapes = [[tensor.shape.as_list() for tensor in each] for each in (op.inputs, op.outputs)]
        attributes = {
            name: op.get_attr(name) for name in ("transpose_a", "transpose_b", "strides") if name in op.node_def.attr
        }
        if counted := registry.get_stats_for_node_def(graph, op.node_def, "flops").value:
            found.append([op.type, *shapes, attributes, int(counted)])
    (folder / "flops.json").write_text(json.dumps(found))


TASKS = (build, run, loops, same, shapes, ops, flops)

if __name__ == "__main__":
    tasks, *folder = sys.argv[1:]
    for line in sys.stdin if tasks == "-" else [tasks]:
        for name in line.strip().split(","):
            {task.__name__: task for task in TASKS}[name](*map(Path, folder))
        if tasks == "-":
            print("done", flush=True)

"""Which ops does one step of a TensorFlow network run, and for how long? The v1 graph, cut to a step, and its traces."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

os.environ.update(TF_USE_LEGACY_KERAS="1", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # a checkout need not be installed

tf = tensorflow.compat.v1
tf.disable_v2_behavior()


class Network(NamedTuple):
    """What one step fetches, and the batch it is fed."""

    fetches: list[Any]
    feed: dict[Any, np.ndarray]


class Traced(NamedTuple):
    """A step as it was run: what TensorFlow says of it, and the share of the time in which it had a processor."""

    metadata: Any
    share: float


def unoptimised() -> tf.ConfigProto:
    """One thread, and the graph runs as it was written: no grappler, no constant folding, no common subexpressions."""
    config = tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def initialise(session: tf.Session) -> None:
    """Run the op called `init`, or make one: all variables get their first values."""
    made = [op for op in session.graph.get_operations() if op.name == "init"]
    with session.graph.as_default():
        session.run(made[0] if made else tf.global_variables_initializer())


def traced_steps(graph: tf.Graph, network: Network, warm_up: int, steps: int, tries: int | None = None) -> list[Traced]:
    """`steps` steps, after `warm_up` that are thrown away: of `tries`, those that other programs disturbed least."""
    with tf.Session(graph=graph, config=unoptimised()) as session:
        initialise(session)
        traced = [trace(session, network) for _ in range(warm_up + (tries or steps))][warm_up:]
    return sorted(traced, key=lambda step: -step.share)[:steps]


def trace(session: tf.Session, network: Network) -> Traced:
    """Run one step and trace it."""
    options, metadata = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), tf.RunMetadata()
    wall, busy = perf_counter(), process_time()
    session.run(network.fetches, network.feed, options=options, run_metadata=metadata)
    return Traced(metadata, (process_time() - busy) / (perf_counter() - wall))


def step_of(graph: tf.Graph, network: Network) -> Any:
    """GraphDef with shapes of what the fetches need, and nothing else: no initialisers, no summaries, no savers."""
    fetched = [getattr(fetch, "op", fetch).name for fetch in network.fetches]
    whole = graph.as_graph_def(add_shapes=True)
    return tf.graph_util.extract_sub_graph(whole, fetched)

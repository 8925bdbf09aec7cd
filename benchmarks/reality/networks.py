"""One training step of a TensorFlow network, as a GraphDef for TensorFlow and as a graph for placelab."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import placelab as pl


@dataclass(frozen=True)
class Step:
    """A training step.

    Attributes
    ----------
    definition : GraphDef
        Includes the ops that initialise.
    fetches : list of str
    feed : dict
        Tensor name → batch.
    initialiser : str
    graph : OpGraph
        Only the ops that a step runs, without costs.
    ties : list of pairs
        Ops that TensorFlow always runs on one device: its partitioner moves a Switch to the op it reads.
    """

    definition: Any
    fetches: list[str]
    feed: dict[str, np.ndarray]
    initialiser: str
    graph: pl.OpGraph
    ties: list[tuple[str, str]]


def step(name: str) -> Step:
    """One of the networks in ``datasets/tensorflow_examples.py``."""
    from tensorflow_examples import BATCH, NETWORKS
    from tensorflow_profiling import step_of, tf

    from placelab.formats.tensorflow.graph_def import loads

    with tf.Graph().as_default() as graph:
        tf.set_random_seed(0)
        network = NETWORKS[name](np.random.default_rng(0))
    cut = step_of(graph, network)
    return Step(
        graph.as_graph_def(),
        [fetch.name for fetch in network.fetches],
        {tensor.name: batch for tensor, batch in network.feed.items()},
        "init",
        loads(cut.SerializeToString(), name, batch=BATCH),
        [(node.name, node.input[0].partition(":")[0]) for node in cut.node if node.op == "Switch"],
    )


def problem(step: Step, graph: pl.OpGraph, cluster: pl.Cluster, **rules: Any) -> pl.Problem:
    """The step on a cluster. In TensorFlow, fed tensors always come from the first device."""
    tied = pl.Problem(graph, cluster, groups=step.ties, **rules)
    return tied.pin({tensor.partition(":")[0]: cluster.names[0] for tensor in step.feed})


def placed(step: Step, placement: pl.Placement) -> Any:
    """The step's GraphDef with the placement, as placelab exports it to TensorFlow."""
    from placelab.formats.tensorflow.devices import write

    with TemporaryDirectory() as folder:
        source = Path(folder, "step.pb")
        out = Path(folder, "placed.pb")
        source.write_bytes(step.definition.SerializeToString())
        return type(step.definition).FromString(write(source, placement, out).read_bytes())

"""Profile one step of a TensorFlow network: the v1 graph, cut to the step, and its traces."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

os.environ.update(TF_USE_LEGACY_KERAS="1", TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow
from processor_clock import start_again

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))  # a checkout need not be installed

from shapes_anew import HELP, with_shapes_of  # noqa: E402

WARM_UP = 1  # steps discarded
STEPS = 3  # steps traced

tf = tensorflow.compat.v1
tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)


class Network(NamedTuple):
    """The fetches of one step, and its batch."""

    fetches: list[Any]
    feed: dict[Any, np.ndarray]


Build = Callable[[np.random.Generator], Network]


def unoptimised() -> tf.ConfigProto:
    """A configuration of one thread without optimisations: no grappler, constant folding or common subexpressions."""
    config = tf.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    config.graph_options.optimizer_options.opt_level = tf.OptimizerOptions.L0
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def initialise(session: tf.Session) -> None:
    """Initialise all variables by the op called `init`, or by a new one."""
    made = [op for op in session.graph.get_operations() if op.name == "init"]
    with session.graph.as_default():
        session.run(made[0] if made else tf.global_variables_initializer())


def traced_steps(graph: tf.Graph, network: Network, warm_up: int, steps: int) -> list[Any]:
    """RunMetadata of each of `steps` steps, after `warm_up` steps that are discarded."""
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    traces = []
    with tf.Session(graph=graph, config=unoptimised()) as session:
        initialise(session)
        for _ in range(warm_up + steps):
            trace = tf.RunMetadata()
            session.run(network.fetches, network.feed, options=options, run_metadata=trace)
            traces.append(trace)
    return traces[warm_up:]


def step_of(graph: tf.Graph, network: Network) -> Any:
    """GraphDef, with shapes, of the ops that the fetches need, without initialisers, summaries and savers."""
    fetched = [getattr(fetch, "op", fetch).name for fetch in network.fetches]
    return tf.graph_util.extract_sub_graph(graph.as_graph_def(add_shapes=True), fetched)


def traces_of(name: str, graph: tf.Graph, network: Network, folder: Path) -> list[Path]:
    """Files with the traces of STEPS steps: those in the folder, else those of a new run."""
    if not list(folder.glob(f"{name}.*.pb")):
        folder.mkdir(parents=True, exist_ok=True)
        for i, trace in enumerate(traced_steps(graph, network, WARM_UP, STEPS)):
            (folder / f"{name}.{i}.pb").write_bytes(trace.SerializeToString())
    return sorted(folder.glob(f"{name}.*.pb"))


def built(name: str, build: Build) -> tuple[Any, Network, Any]:
    """TensorFlow's graph, the fetches of one step, and that step as an OpGraph: FLOP and bytes by shapes, groups."""
    from placelab.formats.tensorflow.graph_def import loads

    with tf.Graph().as_default() as graph:
        tf.set_random_seed(0)
        network = build(np.random.default_rng(0))
    return graph, network, loads(step_of(graph, network).SerializeToString(), name, batch=None)


def as_run(name: str, build: Build, folder: Path) -> Any:
    """The OpGraph of one step, with the measured seconds in the time column ``cpu``.

    Bytes in the traces are ignored: they agree with the shapes, except for references, which are never sent.
    """
    from placelab.costs import Profile, measured

    graph, network, step = built(name, build)
    profile = Profile.load(*traces_of(name, graph, network, folder))
    return measured(step, replace(profile, seconds=rounded(profile.seconds), outputs={}, temporary={}))


def rounded(seconds: Mapping[str, float]) -> dict[str, float]:
    """Seconds rounded to three digits; more are noise and would dominate the size of the file."""
    return {name: float(f"{value:.3g}") for name, value in seconds.items()}


def main(networks: Mapping[str, Build], script: str) -> None:
    """Write ``<name>.json.gz`` of the networks named on the command line."""
    parser = argparse.ArgumentParser(description=f"Writes {', '.join(networks)}.")
    parser.add_argument("names", nargs="*", help="which of them; default all")
    parser.add_argument("--traces", type=Path, help="folder to keep the traces in; existing ones are reused")
    parser.add_argument("--busy", action="store_true", help="measure processor time: other programs run here, too")
    parser.add_argument("--shapes", action="store_true", help=HELP)
    given = parser.parse_args()
    if given.busy:
        start_again("--busy")
    for name in given.names or networks:
        if given.shapes:
            path = HERE / f"{name}.json.gz"
            with_shapes_of(built(name, networks[name])[2], path).save(path)
            continue
        with TemporaryDirectory() as folder:
            graph = as_run(name, networks[name], given.traces or Path(folder))
        provenance = (
            f"datasets/{script}, TensorFlow {tensorflow.__version__}; cpu: median of {STEPS} traced steps on one core"
        )
        metadata = {**graph.metadata, "name": name, "provenance": provenance, "licence": "MIT"}
        graph.replace(metadata=metadata).save(HERE / f"{name}.json.gz")
        print(
            f"{name}: {graph.n_ops} ops, {graph.n_edges} edges, {graph.compute.sum():.4g} FLOP, {graph.time.sum():.3g} s"
        )

"""What a state is made of: model, cluster to start from, plan made before, training job; and what the menus offer of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os.path import isfile  # of Path, it would raise where a folder may not be read
from pathlib import Path
from typing import Any, Literal

import numpy as np

import placelab.costs as costs
from placelab.app.explorer.spreads import Layers, layers_of, layers_of_split
from placelab.base.errors import escaped
from placelab.graphs import datasets
from placelab.graphs.loading import load
from placelab.models import Transformer, read
from placelab.models import names as decoder_names
from placelab.models.transformer import CONFIG
from placelab.plans.layer_split import LayerSplit
from placelab.problem import clusters
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement

MODEL, CLUSTER = "inception_v3", "rtx2080ti_box"  # defaults
GIVEN, OWN = "as given", "the model's own"  # titles of clusters that are not presets
BY_HAND, BEST_KNOWN = "by hand", "best known"  # in place of a partitioner's name


@dataclass(frozen=True, eq=False)
class Model:
    """A graph, its title in the picker, and the Python expression that loads it ("" when it has to be saved first).

    Of a decoder, `layers` is how its layers are split at first, and `graph` that of its next token.
    """

    title: str
    graph: OpGraph
    code: str = ""
    layers: Layers | None = None

    @cached_property
    def mayer(self) -> OpGraph:
        """The same topology with the costs of Mayer 2017."""
        return costs.mayer(self.graph)

    @cached_property
    def seconds(self) -> OpGraph:
        """The same costs in seconds, operations and bytes, where they are plain numbers: 1 ms per unit."""
        return costs.in_seconds(self.graph)

    def with_costs(self, kind: str) -> OpGraph:
        """The graph with costs of a kind, one of those of `State.costs`."""
        return getattr(self, kind) if kind in ("mayer", "seconds") else self.graph

    def with_scaled_costs(self, kind: str, compute: float, transfer: float) -> OpGraph:
        """The graph with costs of a kind, multiplied by two factors; the same object when asked again."""
        key = (kind, compute, transfer)
        known, graph = self._latest.get("scaled", (None, self.graph))  # read at once: another thread may replace it
        if known != key:
            graph = self.with_costs(kind)
            if not compute == transfer == 1.0:
                graph = costs.scale(graph, compute=compute, transfer=transfer)
            self._latest["scaled"] = key, graph
        return graph

    @cached_property
    def _latest(self) -> dict[str, tuple[tuple[str, float, float], OpGraph]]:
        return {}

    @cached_property
    def cluster(self) -> Preset | None:
        """The graph's own processors, if it comes with some."""
        own = datasets.own_cluster(self.graph)
        return None if own is None else Preset(OWN, own, "pl.Cluster(**graph.metadata['cluster'])")


@dataclass(frozen=True, eq=False)
class Preset:
    """A cluster to start from, its title in the picker, and the Python expression that makes it ("" for none)."""

    title: str
    cluster: Cluster
    code: str = ""


@dataclass(frozen=True, eq=False)
class HandPlan:
    """A plan of a model's ops that no partitioner makes anew: one made by hand, or the best known; on so many devices.

    Attributes
    ----------
    device, planned, not_before
        Of each op its device, all ops in one order, by number, and times, as :class:`placelab.Placement` has them.
    title
        What stands in place of a partitioner's name.
    placed
        Which ops have been placed, shape (n_ops,), where they are placed one by one; the others wait, behind them, and are left
        out of what is simulated. None: all.
    """

    model: Model
    n_devices: int
    device: np.ndarray
    planned: np.ndarray
    not_before: np.ndarray | None = None
    title: str = BY_HAND
    placed: np.ndarray | None = None

    def placement(self, problem: Problem) -> Placement:
        """The plan as a placement of a problem of this model; what waits is where it may run, whatever was pinned since."""
        device = self.device
        if self.placed is not None:
            astray = ~self.placed & ~problem.runs_on(device)
            device = np.where(astray, problem.may_run.argmax(axis=1), device)
        return Placement(problem, device, self.planned, not_before=self.not_before)


def model_of(what: Any) -> Model:
    """Load a decoder, or anything that :func:`placelab.load` takes; raise FormatError when it cannot be read."""
    if isinstance(what, LayerSplit):
        return decoder_model(layers_of_split(what))
    if isinstance(what, Transformer):
        return decoder_model(layers_of(what))
    if is_decoder(what):
        return decoder_model(layers_of(read(what), f"pl.models.read({str(what)!r})"))
    graph = load(what)
    code = f"pl.load({str(what)!r})" if isinstance(what, (str, Path)) else ""
    title = graph.title if "name" in graph.metadata else "graph"
    return Model(escaped(str(what)) if code else f"{title}, given", graph, code)


def is_decoder(what: Any) -> bool:
    """Whether it is the name of a bundled decoder, or the path of a ``config.json`` or of its folder."""
    if not isinstance(what, (str, Path)) or str(what) in datasets.names():
        return False
    return str(what) in decoder_names() or isfile(what if Path(what).name == CONFIG else Path(what) / CONFIG)


def decoder_model(layers: Layers) -> Model:
    """A decoder, its layers to be split; alone, its graph is that of the next token."""
    graph = layers.model.graph("decode", context=layers.context)
    return Model(layers.model.name, graph, f"{layers.source}.graph('decode', context={layers.context})", layers)


def preset(name: str) -> Preset:
    """A preset of :mod:`placelab.clusters` with its defaults."""
    return Preset(name, clusters.preset(name), f"pl.clusters.{name}()")


def model_names() -> list[str]:
    """Names of the datasets; onnx's own light models, which are many, come last."""
    return sorted(datasets.names(), key=lambda name: (name.startswith("light_"), name))


SERVERS = "parameter servers"
ALL_REDUCE = "all-reduce"
PIPELINE = "pipeline"
KINDS = (SERVERS, ALL_REDUCE, PIPELINE)  # of jobs


@dataclass(frozen=True)
class Job:
    """What becomes of the step of one model.

    Attributes
    ----------
    kind
        One of ``KINDS``; what another kind needs is kept, and does nothing.
    workers, servers, hosts
        Numbers of devices: workers, servers of parameters, and machines that the workers of an all-reduce share.
    sync, barrier
        Of parameter servers: whether updates wait for all workers, and reads for all updates.
    training
        Of parameter servers: whether there is a backward pass.
    algorithm, bucket_bytes
        Of all-reduces, see :func:`placelab.transforms.model_replica`.
    iterations
        Steps in the graph, one after the other; of replicas.
    microbatches, stages, partitioner, split, recompute, blocking
        Of a pipeline: numbers, who cuts the model into stages, whether gradients of weights are ops of their own, whether the
        forward pass runs again before the backward pass, and whether a receive blocks its stage.
    replicas
        Of a pipeline: copies, whose gradients are summed by all-reduces.
    """

    kind: str = SERVERS
    workers: int = 4
    servers: int = 1
    hosts: int = 1
    sync: bool = True
    barrier: bool = True
    training: bool = True
    algorithm: Literal["ring", "tree", "halving"] = "ring"
    bucket_bytes: float = 25e6
    iterations: int = 1
    microbatches: int = 8
    stages: int = 4
    partitioner: str = "contiguous"
    split: bool = False
    recompute: bool = False
    replicas: int = 1
    blocking: bool = False

    @property
    def scheduler(self) -> str:
        """The scheduler that such a job is shown with at first."""
        if self.kind == PIPELINE:
            return "zb-h1" if self.split else "1f1b"
        return "tic" if self.kind == SERVERS else "fifo"

    @property
    def title(self) -> str:
        """What the job adds to the title of its model."""
        if self.kind == PIPELINE:
            copies = f"{self.replicas} × " * (self.replicas > 1)
            return f"{copies}{self.stages} stages × {self.microbatches} micro-batches"
        return f"{self.workers} workers"

"""Tables of the transfer models and of the memory models that a problem may have.

Menus, checks, planners, bounds, explanations and the search read these rows. Beside its row a model needs its meaning in time
and an independent check. The simulator's kernel has the meaning of transfer models, by their code: one with one queue per
transfer takes ``CHANNEL``, others need a number in :mod:`placelab.kernels.blocks` and a branch in the kernel. For memory the
meaning is in :mod:`placelab.schedule.schedule`. The checks are in :mod:`placelab.analysis.validation` for transfers and in
:mod:`placelab.schedule.independent_checks` for memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from placelab.base.errors import FormatError, count
from placelab.base.index_arrays import frozen
from placelab.kernels import blocks

if TYPE_CHECKING:
    from placelab.problem.cluster import Cluster
    from placelab.problem.graph import OpGraph

MOST_QUEUES = 10**8  # one per pair of the largest cluster
Bytes = Callable[["OpGraph"], np.ndarray]  # of each op, shape (n_ops,)
Ends = Callable[[np.ndarray, np.ndarray, "Cluster", bool], tuple[np.ndarray, ...]]


def _nowhere(source: np.ndarray, destination: np.ndarray, cluster: Cluster, duplex: bool) -> tuple[np.ndarray, ...]:
    return ()


def _ports(source: np.ndarray, destination: np.ndarray, cluster: Cluster, duplex: bool) -> tuple[np.ndarray, ...]:
    return source, destination + (cluster.n_devices if duplex else 0)


def _channels(source: np.ndarray, destination: np.ndarray, cluster: Cluster, duplex: bool) -> tuple[np.ndarray, ...]:
    return (source * cluster.n_devices + destination,)


@dataclass(frozen=True)
class TransferModel:
    """How transfers share the links.

    Attributes
    ----------
    name : str
        The value of ``Problem(transfers=…)``.
    about, source : str
        Its meaning in a few words, and its source.
    code : int
        Number of the model in the simulator; ``CHANNEL`` serves every model in which a transfer occupies one queue.
    planned : int
        Number of the model that planners, local search and explanations assume: this one, or the nearest that their kernels know.
    queue : str
        What transfers wait for or share, ``"port"``, ``"channel"`` or ``"link"``; "" when they do neither.
    queues : function of (cluster, duplex)
        How many of these there are.
    ends : function of (source, destination, cluster, duplex)
        Which of them each transfer occupies: arrays of whole numbers as long as there are transfers, one for each end that is
        occupied. Asked of each pair of devices; others read ``occupied``.
    duplex : bool
        Whether ``Problem(duplex=…)`` makes a difference.
    shared : bool
        Whether transfers that meet on a link share its bandwidth instead of waiting; then ``Cluster.links`` count, too.
    """

    name: str
    about: str
    source: str
    code: int
    planned: int
    queue: str = ""
    queues: Callable[[Cluster, bool], int] = lambda cluster, duplex: 0
    ends: Ends = _nowhere
    duplex: bool = False
    shared: bool = False

    def number_of_queues(self, cluster: Cluster, duplex: bool) -> int:
        """What `queues` says, checked: kernels have an array as long."""
        return count(self.queues(cluster, duplex), f"queues of the transfer model {self.name!r}", 0, MOST_QUEUES)

    def occupied(
        self, source: np.ndarray, destination: np.ndarray, cluster: Cluster, duplex: bool
    ) -> tuple[np.ndarray, ...]:
        """What `ends` says of transfers between these devices, as int64 and checked: kernels do not look where they write."""
        pair = source.astype(np.int64) * cluster.n_devices + destination
        return tuple(queue[pair] for queue in _ends_of_pairs(self, cluster, duplex))


@lru_cache(maxsize=32)
def _ends_of_pairs(model: TransferModel, cluster: Cluster, duplex: bool) -> tuple[np.ndarray, ...]:
    """Queues that a transfer of each pair of devices occupies, int64 (k * k,) each; 0 within a device."""
    k = cluster.n_devices
    most = model.number_of_queues(cluster, duplex)
    source, destination = np.divmod(np.arange(k * k), k)
    apart = source != destination
    found = []
    ends = model.ends(source[apart], destination[apart], cluster, duplex)
    if not isinstance(ends, tuple) or (model.code == blocks.CHANNEL and len(ends) != 1):
        expected = "a tuple of one array" if model.code == blocks.CHANNEL else "a tuple of arrays"
        raise FormatError(f"ends of the transfer model {model.name!r} gave {ends!r:.60}; expected {expected}")
    for end in ends:
        given = np.asarray(end)
        if given.shape != (k * k - k,) or given.dtype.kind not in "iu" or not ((given >= 0) & (given < most)).all():
            raise FormatError(
                f"ends of the transfer model {model.name!r} gave {given!r:.60}; expected a whole number from 0 to {most - 1} "
                "for each transfer"
            )
        queue = np.zeros(k * k, np.int64)
        queue[apart] = given
        found.append(frozen(queue))
    return tuple(found)


TRANSFER_MODELS = {
    model.name: model
    for model in (
        TransferModel("parallel", "no contention", "Mayer 2017 §5", blocks.PARALLEL, blocks.PARALLEL),
        TransferModel(
            "sequential",
            "one at a time per device, or one in and one out (duplex)",
            "Baechi 2020 §3.4",
            blocks.PORTS,
            blocks.PORTS,
            "port",
            lambda cluster, duplex: (2 if duplex else 1) * cluster.n_devices,
            _ports,
            duplex=True,
        ),
        TransferModel(
            "channel",
            "one at a time per pair of devices",
            "Hashemi 2019 §1",
            blocks.CHANNEL,
            blocks.CHANNEL,
            "channel",
            lambda cluster, duplex: cluster.n_devices**2,
            _channels,
        ),
        TransferModel(
            "fair",
            "all at once, links shared max-min fairly",
            "Bertsekas and Gallager 1992 §6.5.2",
            blocks.FAIR,
            blocks.PARALLEL,
            "link",
            lambda cluster, duplex: cluster.n_devices**2,
            _channels,
            shared=True,
        ),
    )
}


LATENCIES = {
    "holds": "a transfer occupies its port or channel until it arrives",
    "follows": "it occupies it for bytes / bandwidth, and arrives a latency later",
}


def held(latency: str) -> float:
    """Share of its latency for which a transfer occupies its port or channel: 1, or 0 where the latency follows."""
    return float(latency == "holds")


def _nothing(graph: OpGraph) -> np.ndarray:
    return frozen(np.zeros(graph.n_ops))


@dataclass(frozen=True)
class MemoryModel:
    """What counts against a device's memory.

    Attributes
    ----------
    name : str
        The value of ``Problem(memory=…)``.
    about, source : str
        Its meaning in a few words, and its source.
    code : int
        Number of the model in the simulator and in kernels that plan.
    lasting : function of a graph
        Bytes that each op keeps for the whole run, wherever it is.
    timed : bool
        Whether tensors take memory from when they are made to when they are used, so that waiting may make room.
    working : bool
        Whether temporary bytes count while an op runs.
    inputs : bool
        Whether planners without times count an op's inputs against its device all the time.
    """

    name: str
    about: str
    source: str
    code: int
    lasting: Bytes = _nothing
    timed: bool = False
    working: bool = False
    inputs: bool = False


MEMORY_MODELS = {
    model.name: model
    for model in (
        MemoryModel("none", "unlimited", "", blocks.FREE),
        MemoryModel("edges", "tensors on their way in", "Mayer 2017 eq. 2", blocks.EDGES, timed=True, inputs=True),
        MemoryModel(
            "reserved",
            "what each op reserves for the whole run",
            "Srivastava 2018 §3.1",
            blocks.RESERVED,
            lambda graph: graph.memory,
        ),
        MemoryModel(
            "dynamic",
            "parameters always, outputs while they are needed",
            "Baechi 2020 §4.2",
            blocks.DYNAMIC,
            lambda graph: graph.persistent,
            timed=True,
            working=True,
        ),
    )
}


def summary(models: Mapping[str, TransferModel | MemoryModel | str]) -> str:
    """The models of a table and what each says, as one sentence without its end."""
    return "; ".join(f"{name}: {getattr(model, 'about', model)}" for name, model in models.items())

"""The order in which workers read parameters: what TIC, TAC and random orders share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from placelab.base.index_arrays import frozen, pointers
from placelab.base.once import once
from placelab.kernels.plan.read_orders import Copies, pass_back
from placelab.planning import plan_arrays
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement

KINDS = ("read", "ReadVariableOp")
SERVER = "ps"  # type of devices that serve parameters
MOST = 2**31  # iterations, workers


@dataclass(frozen=True, eq=False)
class Reads:
    """The parameters that travel to workers under a placement.

    Attributes
    ----------
    problem, placement
        What is scheduled.
    copy : ndarray of int, shape (n_ops,)
        The copy each op belongs to, by iteration, then worker: what one worker runs in one iteration. -1 for ops of no worker.
    iteration : ndarray of int, shape (n_copies,)
        Iteration of each copy.
    op : ndarray of int, shape (n_reads,)
        Op that sends each parameter: by copy, then earliest consumer, then number.
    """

    problem: Problem
    placement: Placement
    copy: np.ndarray
    iteration: np.ndarray
    op: np.ndarray

    @classmethod
    def of(cls, problem: Problem, placement: Placement) -> Reads:
        """Those whose transfers can be ordered, found once for each placement.

        Reads are ops of kind ``read`` or ``ReadVariableOp``, or named ``…/read``; where none is sent to another device, what
        leaves devices of type ``ps``; where none does, ops without inputs. Copies are those of ``graph.metadata["replica"]``
        (:func:`placelab.transforms.model_replica`); without it, the whole graph is one copy.
        """
        return _reads(placement, problem)

    @cached_property
    def member(self) -> np.ndarray:
        """Ops of copies, by copy, then number."""
        order = np.argsort(self.copy, kind="stable")
        return order[np.count_nonzero(self.copy < 0) :]

    @cached_property
    def ptr(self) -> np.ndarray:
        """Reads of copy i are ``ptr[i]`` to ``ptr[i + 1]``; shape (n_copies + 1,)."""
        return pointers(self.copy[self.op], len(self.iteration))

    @cached_property
    def seconds(self) -> np.ndarray:
        """What the transfers of each read take: of each tensor the longest [s]; shape (n_reads,)."""
        graph = self.problem.graph
        cluster = self.problem.cluster
        device = self.placement.device
        sent = _sent(self.problem, device)
        source = device[graph.producer[sent]]
        destination = device[graph.consumer[sent]]
        took = cluster.latency[source, destination] + graph.edge_bytes[sent] / cluster.bandwidth[source, destination]
        longest = np.zeros(graph.n_tensors)
        np.maximum.at(longest, graph.edge_tensor[sent], took)
        return np.bincount(graph.tensor_producer, longest, minlength=graph.n_ops)[self.op]

    @property
    def links(self) -> tuple[np.ndarray, np.ndarray]:
        """(source, destination) of each link on which a read travels."""
        graph = self.problem.graph
        device = self.placement.device
        k = self.problem.cluster.n_devices
        sent = _sent(self.problem, device)
        sent = sent[np.isin(graph.producer[sent], self.op)]
        pair = np.unique(device[graph.producer[sent]].astype(np.int64) * k + device[graph.consumer[sent]])
        return pair // k, pair % k

    def copies(self) -> Copies:
        """The block that kernels take. Edges are data edges within copies, as in the published program."""
        graph = self.problem.graph
        copy = self.copy
        number = np.full(graph.n_ops, -1, np.int32)
        number[self.member] = np.arange(len(self.member))
        inside = (copy[graph.producer] == copy[graph.consumer]) & (copy[graph.producer] >= 0) & ~_control(graph)
        producer = number[graph.producer[inside]]
        consumer = number[graph.consumer[inside]]
        order = np.argsort(consumer, kind="stable")
        return Copies(
            pointers(copy[self.member], len(self.iteration)),
            pointers(consumer[order], len(self.member)),
            frozen(producer[order]),
            self.ptr,
            frozen(number[self.op]),
        )

    def order(self, position: np.ndarray) -> Order:
        """The order in which each copy's reads go by `position`, shape (n_reads,); all else is first come, first served.

        A copy of an earlier iteration goes before one of a later; transfers that are no reads go before reads. On a server, a
        read, and what leads to it alone, has the read's place among ops that became executable at one instant.
        """
        graph = self.problem.graph
        if not len(self.op):
            return Order("fifo")
        rounds = np.unique(self.iteration, return_inverse=True)[1]
        place = np.full(graph.n_ops, -1, np.int64)
        place[self.op] = rounds[self.copy[self.op]] * graph.n_ops + position
        of_tensor = place[graph.tensor_producer]
        return Order("fifo", self._ties(place), 1.0 * -of_tensor)

    def _ties(self, place: np.ndarray) -> np.ndarray:
        """Places of reads, also for the ops that lead to one read alone; for all others, a number after these."""
        return np.where(self.leads_to >= 0, place[self.leads_to], place.max() + 1)

    @cached_property
    def leads_to(self) -> np.ndarray:
        """The read that each op is or leads to alone, -1 for all others; shape (n_ops,)."""
        read = np.full(self.problem.graph.n_ops, -1, np.int64)
        read[self.op] = self.op
        pass_back(plan_arrays.successors(self.problem.graph), self.placement.device, read)
        return frozen(read)


@once  # thousands of runs ask
def _reads(placement: Placement, problem: Problem) -> Reads:
    graph = problem.graph
    is_read, copy, iteration = _columns(graph)
    sent = _sent(problem, placement.device)
    senders = np.zeros(graph.n_ops, bool)
    senders[graph.producer[sent]] = True
    senders &= copy >= 0
    served = np.array([kind == SERVER for kind in problem.cluster.types])[placement.device]
    for rule in (is_read, served, np.diff(graph.pred_ptr) == 0):
        if (senders & rule).any():
            senders &= rule
            break
    else:
        senders[:] = False
    first = np.full(graph.n_ops, graph.n_ops)
    np.minimum.at(first, graph.producer[sent], graph.consumer[sent])
    op = np.flatnonzero(senders)
    return Reads(problem, placement, copy, iteration, op[np.lexsort((op, first[op], copy[op]))])


def _sent(problem: Problem, device: np.ndarray) -> np.ndarray:
    """Numbers of the data edges that lead to another device."""
    graph = problem.graph
    return np.flatnonzero((device[graph.producer] != device[graph.consumer]) & ~_control(graph))


def _control(graph: OpGraph) -> np.ndarray:
    return graph.tensor_control[graph.edge_tensor]


@once
def _columns(graph: OpGraph) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether each op is a read by kind or name, its copy, and iteration of each copy."""
    copy, iteration = _copies(graph)
    return frozen(read_ops(graph)), frozen(copy), frozen(iteration)


def read_ops(graph: OpGraph) -> np.ndarray:
    """Whether each op reads a parameter, by its kind or its name; shape (n_ops,)."""
    named = np.array([name.endswith("/read") and name != "/read" for name in graph.names], dtype=bool)
    return named | np.isin(graph.kind.astype(str), KINDS)


def _copies(graph: OpGraph) -> tuple[np.ndarray, np.ndarray]:
    """Copy of each op, and iteration of each copy."""
    iteration = replica_column(graph, "iteration")
    worker = replica_column(graph, "worker")
    if iteration is None or worker is None:
        return np.zeros(graph.n_ops, np.int64), np.zeros(1, np.int64)
    key = np.where(worker >= 0, iteration * (worker.max(initial=0) + 1) + worker, -1)
    found, copy = np.unique(key, return_inverse=True)
    skipped = int(found[0] < 0)
    first = np.unique(copy, return_index=True)[1][skipped:]
    return copy - skipped, iteration[first]


@once
def replica_column(graph: OpGraph, label: str) -> np.ndarray | None:
    """``graph.metadata["replica"][label]``, whole numbers, one per op; None where there is no such list.

    A graph whose ops have been merged since has none.
    """
    replica = graph.metadata.get("replica")
    value = replica.get(label) if isinstance(replica, dict) else None
    if not isinstance(value, list) or len(value) != graph.n_ops:
        return None
    if set(map(type, value)) != {int} or min(value) < -1 or max(value) >= MOST:
        return None
    return frozen(np.array(value, dtype=np.int64))

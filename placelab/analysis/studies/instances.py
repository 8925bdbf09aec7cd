"""Problems that a search over instances moves through: small ones of any structure, and variations of a given one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem

LEAST = 0.1  # of each weight of a small instance at first, as the next
MOST = 1.0
CHANGE = 0.1  # of a weight by a move, at most
SIZES = (3, 5)  # ops and devices of a small instance
STEP = 0.25  # of the logarithm of a varied quantity: a move changes it by at most 28 %

Edges = dict[tuple[int, int], float]  # (producer, consumer) → bytes
EQUAL = ("devices", "links")  # what a search can be told to keep equal


class Instance(Protocol):
    """A problem, and the problems next to it."""

    def problem(self) -> Problem:
        """The problem itself."""

    def moved(self, random: np.random.Generator) -> Instance:
        """A neighbour."""


@dataclass(frozen=True)
class SmallInstance:
    """Weights of ops, devices, links and edges, each between `least` and 1, without units.

    Attributes
    ----------
    compute, speed
        Of each op and device.
    link
        Bandwidth between two devices, the same in both directions, shape (n_devices, n_devices); the diagonal means nothing.
    edges
        Bytes by (producer, consumer).
    least
        Below which no move takes a weight.
    equal
        Of ``"devices"`` and ``"links"`` those whose weights are 1 and stay so.
    """

    compute: np.ndarray
    speed: np.ndarray
    link: np.ndarray
    edges: Edges
    least: float = LEAST
    equal: frozenset[str] = frozenset()

    @classmethod
    def start(
        cls, random: np.random.Generator, least: float = LEAST, equal: frozenset[str] = frozenset()
    ) -> SmallInstance:
        """A chain of 3 to 5 ops on 3 to 5 devices, all weights drawn evenly from 0.1 to 1, but those of equal ones."""
        n, k = random.integers(SIZES[0], SIZES[1] + 1, size=2)
        link = np.triu(random.uniform(LEAST, MOST, (k, k)), 1)
        edges = {(v, v + 1): random.uniform(LEAST, MOST) for v in range(n - 1)}
        compute = random.uniform(LEAST, MOST, n)
        speed = random.uniform(LEAST, MOST, k)
        link = link + link.T
        speed = np.ones(k) if "devices" in equal else speed
        return cls(compute, speed, 1 - np.eye(k) if "links" in equal else link, edges, least, equal)

    def problem(self) -> Problem:
        """The problem, in plain numbers; its graph's metadata hold the cluster."""
        bandwidth = self.link + np.eye(len(self.speed))  # the diagonal means nothing
        own = {"speed": self.speed.tolist(), "bandwidth": bandwidth.tolist(), "latency": 0.0}
        metadata = {"name": "adversary", "costs": "units", "cluster": own}
        edges = sorted(self.edges)
        graph = OpGraph.from_arrays(
            [f"t{v}" for v in range(len(self.compute))],
            self.compute,
            edges,
            edge_bytes=[self.edges[edge] for edge in edges],
            metadata=metadata,
        )
        return Problem(graph, Cluster(self.speed, bandwidth=bandwidth, latency=0.0))

    def moved(self, random: np.random.Generator) -> SmallInstance:
        """One of six moves with equal chance: add or drop an edge, change an edge, an op, a device or a link.

        Equal devices and links have none. A move that is not possible, such as dropping the edge of a graph without edges, is
        drawn again.
        """
        moves = [self._added, self._dropped, self._edge, self._op]
        moves += [] if "devices" in self.equal else [self._device]
        moves += [] if "links" in self.equal else [self._link]
        while True:
            if (found := moves[random.integers(len(moves))](random)) is not None:
                return found

    def _added(self, random: np.random.Generator) -> SmallInstance | None:
        n = len(self.compute)
        free = [
            (u, v)
            for u in range(n)
            for v in range(n)
            if u != v and (u, v) not in self.edges and not _reaches(self.edges, v, u)
        ]
        if not free:
            return None
        return replace(self, edges=self.edges | {free[random.integers(len(free))]: random.uniform(self.least, MOST)})

    def _dropped(self, random: np.random.Generator) -> SmallInstance | None:
        if not self.edges:
            return None
        gone = sorted(self.edges)[random.integers(len(self.edges))]
        return replace(self, edges={edge: size for edge, size in self.edges.items() if edge != gone})

    def _edge(self, random: np.random.Generator) -> SmallInstance | None:
        if not self.edges:
            return None
        edge = sorted(self.edges)[random.integers(len(self.edges))]
        return replace(self, edges=self.edges | {edge: self._near(self.edges[edge], random)})

    def _op(self, random: np.random.Generator) -> SmallInstance:
        return replace(self, compute=self._one_changed(self.compute, random))

    def _device(self, random: np.random.Generator) -> SmallInstance:
        return replace(self, speed=self._one_changed(self.speed, random))

    def _link(self, random: np.random.Generator) -> SmallInstance:
        a, b = random.choice(len(self.speed), size=2, replace=False)
        link = self.link.copy()
        link[a, b] = link[b, a] = self._near(link[a, b], random)
        return replace(self, link=link)

    def _near(self, weight: float, random: np.random.Generator) -> float:
        return float(np.clip(weight + random.uniform(-CHANGE, CHANGE), self.least, MOST))

    def _one_changed(self, weights: np.ndarray, random: np.random.Generator) -> np.ndarray:
        weights = weights.copy()
        i = random.integers(len(weights))
        weights[i] = self._near(weights[i], random)
        return weights


def _reaches(edges: Edges, u: int, v: int) -> bool:
    """Whether a path leads from u to v."""
    return u == v or any(_reaches(edges, b, v) for a, b in edges if a == u)


@dataclass(frozen=True)
class Variation:
    """A given problem whose costs, bytes, speeds and bandwidths are multiplied, each within a factor; its structure is kept.

    Attributes
    ----------
    given
        The problem as it was.
    factor
        The greatest number by which anything is multiplied or divided.
    equal
        Of ``"devices"`` and ``"links"`` those that stay as they are.
    op, tensor, device, link
        Logarithms of the multipliers: of an op's compute and times, a tensor's bytes, a device's speed, and the bandwidth of
        a link, shape (n_devices, n_devices), the same in both directions.
    """

    given: Problem
    factor: float
    equal: frozenset[str]
    op: np.ndarray
    tensor: np.ndarray
    device: np.ndarray
    link: np.ndarray

    @classmethod
    def of(cls, problem: Problem, factor: float, equal: frozenset[str] = frozenset()) -> Variation:
        """The problem itself."""
        graph = problem.graph
        k = problem.cluster.n_devices
        none = np.zeros(graph.n_ops), np.zeros(graph.n_tensors), np.zeros(k), np.zeros((k, k))
        return cls(problem, factor, equal, *none)

    def problem(self) -> Problem:
        """The varied problem."""
        graph = self.given.graph
        cluster = self.given.cluster
        costs = np.exp(self.op)
        columns = {"compute": graph.compute * costs, "tensor_bytes": graph.tensor_bytes * np.exp(self.tensor)}
        if graph.time is not None:
            columns["time"] = graph.time * costs[:, None]
        speed = cluster.speed * np.exp(self.device)
        bandwidth = cluster.bandwidth * np.exp(self.link)
        return self.given.replace(
            graph=graph.replace(**columns), cluster=cluster.replace(speed=speed, bandwidth=bandwidth)
        )

    def moved(self, random: np.random.Generator) -> Variation:
        """An op, a tensor, a device or a link, with equal chance of those that may change, is multiplied anew."""
        k = len(self.device)
        sizes = {"op": len(self.op), "tensor": len(self.tensor)}
        sizes["device"] = 0 if "devices" in self.equal else k
        sizes["link"] = 0 if "links" in self.equal else k * (k - 1)
        possible = [label for label, size in sizes.items() if size]
        label = possible[random.integers(len(possible))]
        column = getattr(self, label).copy()
        reach = np.log(self.factor)
        flat = column.reshape(-1)
        at = random.integers(len(flat))
        back = at
        if label == "link":
            i, j = random.choice(k, 2, replace=False)
            at = i * k + j
            back = j * k + i
        flat[[at, back]] = np.clip(flat[at] + random.uniform(-STEP, STEP), -reach, reach)
        return replace(self, **{label: column})

"""One parameter of a cluster: the speed or memory of devices, the bandwidth or latency of links."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError
from placelab.problem.cluster import Cluster
from placelab.problem.problem import Problem

OF_LINKS, OF_DEVICES = ("bandwidth", "latency"), ("speed", "memory")
STEPS, SPAN = 31, 10.0  # default values, and how many times the present value the largest of them is


@dataclass(frozen=True)
class Parameter:
    """A parameter of some devices or links.

    Attributes
    ----------
    over : str
        ``bandwidth`` [bytes/s], ``latency`` [s], ``speed`` [operations/s] or ``memory`` [bytes].
    where : ndarray of bool
        The devices, shape (n_devices,), or links, shape (n_devices, n_devices), that are meant.
    """

    over: str
    where: np.ndarray

    def of(self, cluster: Cluster) -> float:
        """The present value: of several the largest that is finite and not 0; else 0, or infinite."""
        values = getattr(cluster, self.over)[self.where]
        usable = values[np.isfinite(values) & (values > 0)]
        return float(usable.max() if len(usable) else values.max())

    def put(self, problem: Problem, value: float) -> Problem:
        """The problem with another value; several that differ keep their ratios, and the largest gets the value."""
        return problem.with_costs(cluster=self.put_in(problem.cluster, value))

    def put_in(self, cluster: Cluster, value: float) -> Cluster:
        """The cluster with another value."""
        column, present = getattr(cluster, self.over).copy(), self.of(cluster)
        old = column[self.where]
        keeps = np.isfinite(present) and present > 0
        column[self.where] = np.where(old == present, value, old * (value / present)) if keeps else value
        return cluster.replace(**{self.over: column})

    def around(self, problem: Problem) -> np.ndarray:
        """31 values around the present one, which is among them, from a tenth to ten times, equal steps of the logarithm.

        Where that is 0 or unlimited: around what would be felt, the mean time of an op for a latency, the bandwidth at which a
        mean tensor takes that time, or an equal share of what all ops reserve; a latency of 0 is one value more.
        """
        present = self.of(problem.cluster)
        steps = SPAN ** (np.arange(STEPS) / (STEPS // 2) - 1)
        if np.isfinite(present) and present > 0:
            return present * steps
        felt = _felt(problem, self.over)
        return np.append([0.0] if present == 0 else [], (felt if 0 < felt < np.inf else 1.0) * steps)


def _felt(problem: Problem, over: str) -> float:
    """A value that makes a difference."""
    graph, k = problem.graph, problem.cluster.n_devices
    if over == "memory":
        return float(graph.memory.sum()) / k
    took = float(np.nanmean(problem.cost)) / float(problem.divisor.mean())
    if over == "latency":
        return took
    return float(graph.tensor_bytes.sum()) / max(graph.n_tensors, 1) / took if took > 0 else 0.0


def parameter(problem: Problem, over: str, of: Any = None) -> Parameter:
    """The parameter that :func:`placelab.sensitivity` calls `over` and `of`.

    Raises
    ------
    FormatError
        No such parameter, device, host or type; a pair of devices where the parameter is a device's.
    UnsupportedError
        No links are meant; memory where the problem's model does not limit it.
    """
    if over not in (*OF_LINKS, *OF_DEVICES):
        raise FormatError(f"over is {over!r:.60}; expected one of {', '.join((*OF_LINKS, *OF_DEVICES))}")
    if over == "memory" and problem.memory == "none":
        raise UnsupportedError(
            "the problem's memory model is 'none', so that memory makes no difference; give it another"
        )
    where = _devices(problem.cluster, over, of) if over in OF_DEVICES else _links(problem.cluster, of)
    if not where.any():
        raise UnsupportedError(f"{over} needs a link between two devices; {of or 'the cluster'!r} has none")
    return Parameter(over, where)


def _devices(cluster: Cluster, over: str, of: Any) -> np.ndarray:
    if isinstance(of, (tuple, list)):
        raise FormatError(f"of is {of!r:.60}, but {over} is of devices; expected a device, type, host or None")
    where = np.zeros(cluster.n_devices, bool)
    where[_matching(cluster, of)] = True
    return where


def _links(cluster: Cluster, of: Any) -> np.ndarray:
    """Links of one device; inside a host or type; or between the two of a pair. Both directions."""
    where = np.zeros((cluster.n_devices,) * 2, bool)
    if isinstance(of, (tuple, list)):
        if len(of) != 2:
            raise FormatError(f"of has {len(of)} entries; expected a pair of devices, types or hosts")
        a, b = (_matching(cluster, name) for name in of)
    else:
        a = _matching(cluster, of)
        b = a if len(a) > 1 else np.arange(cluster.n_devices)
    where[np.ix_(a, b)] = where[np.ix_(b, a)] = True
    np.fill_diagonal(where, False)
    return where


def _matching(cluster: Cluster, of: Any) -> np.ndarray:
    """Numbers of the devices that a name, type, host or number means; of None: all."""
    if of is None:
        return np.arange(cluster.n_devices)
    return cluster.matching(of) if isinstance(of, str) else np.array([cluster.index(of)])

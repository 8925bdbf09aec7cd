"""Compile simulate.c into a temporary folder and call it on a problem's own arrays."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from ctypes import c_double, c_int32
from functools import cache
from pathlib import Path

import numpy as np

from placelab import Placement

MODELS = {"parallel": 0, "sequential": 1, "channel": 2}
SOURCE = Path(__file__).with_name("simulate.c")
# No fused multiply-add, so that sums round as in placelab.
COMPILE = ("gcc", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")


@cache
def library() -> ctypes.CDLL:
    """The compiled yardstick; FileNotFoundError without gcc."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "simulate.so"
        subprocess.run([*COMPILE, "-o", str(path), str(SOURCE)], check=True)
        return ctypes.CDLL(str(path))


class Yardstick:
    """One placement that the C program can simulate with ``fifo`` or ``pct``.

    Supports only half duplex, no memory limits and no Send ops.
    """

    def __init__(self, placement: Placement) -> None:
        problem = placement.problem
        graph = problem.graph
        cluster = problem.cluster
        n = graph.n_ops
        m = graph.n_edges
        k = cluster.n_devices
        self.start = np.empty(n)
        self.finish = np.empty(n)
        self.rank = np.empty(n)
        duration = problem.exec_times(placement.device)
        latency = np.ravel(cluster.latency)
        bandwidth = np.ravel(cluster.bandwidth)
        arrays = (
            (placement.device, duration),
            (graph.succ_ptr, graph.pred_ptr, graph.producer, graph.consumer, graph.edge_tensor, graph.tensor_bytes),
            (latency, bandwidth),
        )
        self._kept = arrays  # alive as long as the addresses below
        (device, seconds), (succ, pred, producer, consumer, tensor, size), links = (
            [ctypes.c_void_p(a.ctypes.data) for a in group] for group in arrays
        )
        start, finish, self._rank = (ctypes.c_void_p(a.ctypes.data) for a in (self.start, self.finish, self.rank))
        self._pct = (c_int32(n), c_int32(k), device, seconds, succ, consumer, tensor, size, *links, self._rank)
        sizes = (c_int32(n), c_int32(m), c_int32(k), c_int32(MODELS[problem.transfers]))
        self._first = (*sizes, device, seconds, succ, pred, producer, consumer, tensor, size, *links)
        self._last = (start, finish)
        self._simulate = library().simulate
        self._path_computation_time = library().path_computation_time
        self._simulate.restype = c_double

    def fifo(self) -> float:
        """Makespan, first come, first served [s]."""
        return self._simulate(*self._first, None, *self._last)

    def pct(self) -> float:
        """Makespan by falling path computation time, which is computed first [s]."""
        self._path_computation_time(*self._pct)
        return self._simulate(*self._first, self._rank, *self._last)

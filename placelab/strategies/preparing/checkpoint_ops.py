"""Save and Restore ops beside the ops that hold bytes for ever."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.base.errors import FormatError, expect
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem, on_graph
from placelab.strategies.preparing.contraction import edge_columns, output_rows, shapes_at

SAVE = "Save"
RESTORE = "Restore"


def checkpoint_nodes(problem: Problem, *, disk: Any, save: bool = True, restore: bool = True) -> Problem:
    """Add a Save op, a Restore op, or both, for each op with persistent bytes: its variable.

    Parameters
    ----------
    problem
        A step.
    disk
        Bytes/s that a device writes or reads; a number, or one per device.
    save
        Add ``Save/<op>``, which runs after the op and after all that read its outputs, one of which updates it.
    restore
        Add ``Restore/<op>``, for which the op waits, as in the first step after a restart.

    Returns
    -------
    Problem
        The step with these ops. Each takes the op's persistent bytes / `disk` seconds of the device, whatever the device's
        speed, and is in one colocation group with the op. Names, costs and rules of the other ops stay; measured times are
        per device from then on, and no longer follow a change of its speed.

    Raises
    ------
    FormatError
        An op that is called so already; a disk that is not faster than 0 bytes/s.

    Notes
    -----
    O(n_ops · n_devices + n_edges log n_edges).

    References
    ----------
    TensorFlow white paper (2015) §3.3: a Save and a Restore node for each Variable, enabled in some steps only.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = pl.OpGraph.from_arrays(["x", "y"], [2.0, 3.0], [(0, 1)], edge_bytes=[1.0], persistent=[4.0, 0.0])
    >>> checkpoint_nodes(pl.Problem(graph, pl.Cluster([1.0])), disk=2.0).graph.names.tolist()
    ['Restore/x', 'x', 'y', 'Save/x']
    """
    expect(problem, Problem, "checkpoint_nodes")
    graph = problem.graph
    rate = disk_rates(disk, problem.cluster.n_devices)
    held = np.flatnonzero(graph.persistent > 0)
    _check_names(graph, held)
    first = held if restore else held[:0]
    last = held if save else held[:0]
    r = len(first)
    n = graph.n_ops
    restores = np.stack([np.arange(r), r + first], axis=1)
    saves = _after(graph, last) + [r, r + n]
    more = len(restores) + len(saves)
    padded = lambda column: np.concatenate([np.zeros(r), column, np.zeros(len(last))])  # noqa: E731
    restricted = np.flatnonzero(graph.device_set >= 0)
    unused = np.flatnonzero(np.diff(graph.tensor_ptr) == 0)
    own = [graph.group == g for g in range(len(graph.group_names))]
    numbers = [[r + v] for v in held.tolist()]
    for i, members in enumerate(numbers):
        members += ([i] if restore else []) + ([r + n + i] if save else [])
    made = OpGraph.from_arrays(
        [*(f"{RESTORE}/{x}" for x in graph.names[first]), *graph.names, *(f"{SAVE}/{x}" for x in graph.names[last])],
        padded(graph.compute),
        np.concatenate([graph.edges + r, restores, saves]),
        **edge_columns(graph, np.concatenate([graph.edge_tensor, np.full(more, -1)])),
        outputs=output_rows(graph, unused, r + np.arange(n)),
        shapes=shapes_at(graph, r + np.arange(n)),
        persistent=padded(graph.persistent),
        temporary=padded(graph.temporary),
        memory=padded(graph.memory),
        kind=[RESTORE] * r + graph.kind.tolist() + [SAVE] * len(last),
        time=_times(problem, first, last, rate),
        groups=[*(r + np.flatnonzero(group) for group in own), *numbers],
        group_names=[*graph.group_names, *(f"Checkpoint/{x}" for x in graph.names[held])],
        devices={r + int(v): graph.device_sets[graph.device_set[v]] for v in restricted},
        metadata=graph.metadata,
    )
    return on_graph(problem, made)


def disk_rates(disk: Any, n_devices: int) -> np.ndarray:
    """Bytes/s of each device's disk, shape (n_devices,), from one number or one per device."""
    try:
        rate = np.broadcast_to(np.asarray(disk, dtype=np.float64), n_devices)
    except (TypeError, ValueError):
        raise FormatError(f"disk is {disk!r:.60}; expected bytes/s, a number or one per device") from None
    if not (rate > 0).all():
        raise FormatError(f"disk is {disk!r:.60}; expected more than 0 bytes/s")
    return rate


def _after(graph: OpGraph, held: np.ndarray) -> np.ndarray:
    """(op, i) where Save i waits for op: the i-th op with persistent bytes, and each op that reads its outputs."""
    number = np.full(graph.n_ops, -1)
    number[held] = np.arange(len(held))
    reads = (number[graph.producer] >= 0) & ~graph.tensor_control[graph.edge_tensor]
    readers = np.stack([graph.consumer[reads], number[graph.producer[reads]]], axis=1)
    return np.unique(np.concatenate([np.stack([held, number[held]], axis=1), readers]), axis=0)


def _times(problem: Problem, first: np.ndarray, last: np.ndarray, rate: np.ndarray) -> dict[str, np.ndarray]:
    """Seconds of all ops on each device; NaN for ops whose seconds follow from their operations."""
    graph = problem.graph
    size = problem.graph.persistent
    known = lambda d: np.full(graph.n_ops, np.nan) if graph.time is None else problem.exec_times(d)  # noqa: E731
    return {
        name: np.concatenate([size[first] / rate[d], known(d), size[last] / rate[d]])
        for d, name in enumerate(problem.cluster.names)
    }


def _check_names(graph: OpGraph, held: np.ndarray) -> None:
    """FormatError where an op has the name that a Save or Restore op would get."""
    for name in graph.names[held]:
        for taken in (f"{SAVE}/{name}", f"{RESTORE}/{name}"):
            if taken in graph._index:
                raise FormatError(
                    f"checkpoint_nodes: {graph.title} has an op {taken!r} already, as the one of {name!r} is to be called; "
                    "give it the graph without Save and Restore ops"
                )

"""The realised critical path of a schedule, as an array."""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.once import once
from placelab.kernels import explain as kernels
from placelab.kernels.blocks import Predecessors
from placelab.problem.graph import OpGraph
from placelab.schedule.schedule import Schedule, carried
from placelab.schedule.shared_way import free_again

STEP = np.dtype([("kind", "u1"), ("row", "i4"), ("start", "f8"), ("finish", "f8"), ("cause", "u1"), ("by", "i4")])


@once
def critical_steps(schedule: Schedule) -> np.ndarray:
    """Realised critical path (:func:`placelab.critical_path`) in order of time, without a Python object per op.

    Returns
    -------
    structured ndarray
        ``kind`` (0 op, 1 transfer, 2 wait), ``row`` (op; transfer; op that waited), ``start``, ``finish`` [s],
        ``cause`` (of a wait: 0 memory, 1 an op, 2 a Send, 3 a transfer; of a transfer: 2 its Send), ``by`` (that op
        or transfer).
    """
    return StepsBack(schedule).to(int(np.argmax(schedule.finish)))


class StepsBack:
    """Walks from ops of a schedule back to time 0, through what each of them waited for."""

    def __init__(self, schedule: Schedule) -> None:
        items = items_run(schedule)
        n = len(items.start)
        x = len(schedule.transfers)
        before = np.zeros(n, np.int32)
        kernels.link_items(items, np.full(schedule.problem.cluster.n_devices, -1, np.int32), before)
        self._given = (items, inputs(schedule.problem.graph), carried(schedule), _moved(schedule))
        self._walk = kernels.Walk(before, np.zeros(n + x, np.int32))
        self._walks = 0
        kinds = (np.uint8, *3 * (np.int32,), *2 * (np.float64,))
        self._found = kernels.PathSteps(*(np.zeros(2 * (n + x) + 2, kind) for kind in kinds))

    none = frozen(np.empty(0, STEP))  # no way

    def to(self, op: int) -> np.ndarray:
        """The way to op number `op`, which is its last step, as :func:`critical_steps` has it."""
        self._walks += 1
        count = kernels.walk_back(op, self._walks, *self._given, self._walk, self._found)
        steps = np.empty(count, STEP)
        for label, column in zip(("kind", "row", "cause", "by", "start", "finish"), self._found, strict=True):
            steps[label] = column[:count][::-1]
        return frozen(steps)


def inputs(graph: OpGraph) -> Predecessors:
    """Edges by consumer."""
    return Predecessors(graph.pred_ptr, graph.pred_edge, graph.producer, graph.edge_bytes, graph.edge_tensor)


@once
def items_run(schedule: Schedule) -> kernels.Items:
    """What devices ran: ops and Sends."""
    sends = schedule.sends
    start = schedule.start
    finish = schedule.finish
    place = schedule.device
    if len(sends):
        start = np.concatenate([start, sends["start"]])
        finish = np.concatenate([finish, sends["finish"]])
        place = np.concatenate([place, sends["source"]])
    columns = map(frozen, (start, finish, place, np.argsort(start, kind="stable").astype(np.int32)))
    return kernels.Items(schedule.problem.graph.n_ops, *columns)


def _moved(schedule: Schedule) -> kernels.Moved:
    """Transfers, and what they may have waited for."""
    problem = schedule.problem
    moved = schedule.transfers
    ends = problem.transfer_model.occupied(moved["source"], moved["destination"], problem.cluster, problem.duplex)
    free = free_again(schedule)
    nothing = np.empty(0)
    first, last, by_free = (
        frozen(column.astype(np.int32))
        for column in ((ends[0], ends[-1], np.argsort(free)) if ends else (nothing, nothing, nothing))
    )
    made_by = frozen(problem.graph.tensor_producer[moved["tensor"]])
    return kernels.Moved(made_by, frozen(moved["start"]), first, last, free, by_free)

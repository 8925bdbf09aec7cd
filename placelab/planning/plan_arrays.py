"""The blocks that kernels take (:mod:`placelab.kernels.blocks`), made from a problem.

One function per block, or per few that belong together. What kernels only read is frozen; what they write is fresh at each call,
and uninitialised where they initialise it.
"""

from __future__ import annotations

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.once import once
from placelab.kernels import blocks, costs
from placelab.kernels.blocks import CHANNEL, FREE, PARALLEL, PORTS
from placelab.kernels.plan.list_schedule import FINISH, SPANS
from placelab.kernels.plan.memory_over_time import HALF, SIZE
from placelab.planning.memory_plan import held_for_ever_by_group, planning_limit
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.resource_models import held

# -------------------------------------------------------------------- a problem

HALVES = 192  # three numbers for each halving of what is added


Facts = tuple[blocks.Predecessors, blocks.Successors, blocks.Times, blocks.Network, blocks.Eligible]


def facts(problem: Problem) -> Facts:
    """The problem without memory and contention, as planning kernels take it."""
    edges = predecessors(problem.graph), successors(problem.graph)
    return (*edges, times(problem), network(problem), eligible(problem))


def predecessors(graph: OpGraph) -> blocks.Predecessors:
    """Edges by consumer."""
    return blocks.Predecessors(graph.pred_ptr, graph.pred_edge, graph.producer, graph.edge_bytes, graph.edge_tensor)


def successors(graph: OpGraph) -> blocks.Successors:
    """Edges by producer."""
    return blocks.Successors(graph.succ_ptr, graph.consumer, graph.edge_bytes, graph.edge_tensor)


def times(problem: Problem, cost: np.ndarray | None = None) -> blocks.Times:
    """Execution times of ops, or those of units from their own table `cost`, shape (n_units * columns,)."""
    table = problem.cost if cost is None else cost
    return blocks.Times(frozen(table), problem.column, frozen(problem.divisor), problem.columns)  # of a deep copy, too


@once
def network(problem: Problem) -> blocks.Network:
    """Links, Sends, and both together."""
    cluster = problem.cluster
    _, delay = transfer_delay(problem)
    send = frozen(problem.transfer_ops / cluster.speed)
    return blocks.Network(cluster.latency.reshape(-1), cluster.bandwidth.reshape(-1), send, delay.reshape(-1))


def transfer_delay(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """(send, delay) [s], shape (n_devices, n_devices) each: the Send on the source, if any, and that plus the latency."""
    cluster = problem.cluster
    sends = frozen(problem.transfer_ops / cluster.speed)
    send = np.where(np.eye(cluster.n_devices, dtype=bool), 0.0, sends[:, None])
    delay = np.empty(send.size)
    costs.delays(cluster.latency.reshape(-1), sends, delay)
    return frozen(send), frozen(delay.reshape(send.shape))


def durations(problem: Problem, device: np.ndarray) -> np.ndarray:
    """Seconds that each op takes on its device, shape (n_ops,): as ``problem.exec_times``, in an array that a run may write."""
    duration = np.empty(problem.graph.n_ops)
    costs.durations(frozen(np.array(device, np.int32)), times(problem), duration)
    return duration


def halves() -> np.ndarray:
    """Workspace of sums: :func:`placelab.kernels.costs.pairwise_sum`."""
    return np.empty(HALVES)


def total(values: np.ndarray) -> float:
    """The sum of numbers, added in the same order on all machines and in pages that recompute."""
    return float(costs.sum_of(frozen(values), halves()))


def eligible(problem: Problem) -> blocks.Eligible:
    """Restrictions and groups."""
    return blocks.Eligible(*problem.allowed_flags(), problem.group, np.empty(problem.n_groups, np.int32))


# -------------------------------------------------------------------- a plan of ops in time


def plan(problem: Problem, trace: bool, order: np.ndarray | None = None) -> blocks.Plan:
    """Results of a kernel that plans; where it plans in a given `order`, shape (n_ops,), with that."""
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    order = np.empty(n, np.int32) if order is None else frozen(order)
    score = np.full(n * k if trace else 0, np.nan)
    return blocks.Plan(np.full(n, -1, np.int32), np.zeros(n), np.zeros(n), order, score)


def frontier(problem: Problem) -> blocks.Frontier:
    """Where each device stands."""
    k = problem.cluster.n_devices
    return blocks.Frontier(np.empty(k), np.empty(k))


def aim(rule: int = FINISH, extra: np.ndarray | None = None) -> blocks.Aim:
    """What is least on the device that an op gets; `extra` is added to it, shape (n_ops, n_devices)."""
    return blocks.Aim(rule, frozen(np.empty(0) if extra is None else extra.reshape(-1)))


def ready(problem: Problem) -> blocks.Ready:
    """Ready ops, and where each would finish soonest."""
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    whole = lambda: np.empty(n, np.int32)  # noqa: E731
    return blocks.Ready(whole(), whole(), whole(), *np.empty((2, n * k)), *np.empty((3, n)))


def waiting(problem: Problem) -> blocks.Waiting:
    """Ready ops, the first one first."""
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    return blocks.Waiting(np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n * k))


def kinds(problem: Problem) -> tuple[blocks.Kinds, blocks.Tree]:
    """Devices by kind, and the tree of :mod:`placelab.kernels.plan.choose_least`, a column per kind."""
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    speeds = np.stack((problem.column, problem.divisor))
    _, kind, count = np.unique(speeds, axis=1, return_inverse=True, return_counts=True)
    kind = kind.reshape(-1)
    columns = kind, np.argsort(kind, kind="stable"), np.concatenate([[0], np.cumsum(count)])
    of, device, first = (frozen(column.astype(np.int32)) for column in columns)
    work = np.empty(n, np.int32), np.empty(n * k), np.empty(2 * n), np.empty(len(count))
    return blocks.Kinds(of, device, first, *work), _tree(n, len(count))


def _tree(n: int, columns: int) -> blocks.Tree:
    """A tree of n leaves; each level has four rows per row of the next one."""
    rows = n
    level = [0]
    while rows > 1:
        rows = -(-rows // 4)
        level.append(level[-1] + 4 * rows * columns)
    return blocks.Tree(frozen(np.array(level, np.int32)), columns, np.empty(level[-1] + columns))


def agenda(problem: Problem, aside: bool) -> blocks.Agenda:
    """Ops as they become ready; `aside`: some may be set aside."""
    n = problem.graph.n_ops
    return blocks.Agenda(np.empty(n, np.int32), np.empty(n), np.empty(2 * n), np.empty(2 * n if aside else 0))


def busy(problem: Problem, insertion: bool) -> blocks.Busy:
    """Busy spans of each device, for insertion into gaps or for appending."""
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    zeros = bool(np.fmin.reduce(problem.cost) / problem.divisor.max() == 0)
    row = -(-n // SPANS) * SPANS if insertion else 1
    size = row * k
    return blocks.Busy(
        row=row,
        count=np.empty(k, np.int32),
        begins=np.empty(size if insertion else 1),
        ends=np.empty(size),
        widest=np.empty(size // SPANS if insertion else 1),
        n_done=np.empty(k, np.int32),
        done=np.empty(size if zeros and insertion else 1),
    )


def queues(problem: Problem, rank: np.ndarray, item: np.ndarray) -> blocks.Queues:
    """Ops by rank, and heaps per device."""
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    later = np.empty(2 * n * k)
    now = np.empty(n * k, np.int32)
    counts = np.empty(k, np.int32), np.empty(k, np.int32)
    return blocks.Queues(np.empty(n, np.int32), frozen(rank), frozen(item), later, counts[0], now, counts[1])


def bounds(problem: Problem, ready_on: bool = True) -> blocks.Bounds:
    """Lower bounds of when ready ops could start; `ready_on`: of each op on each device."""
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    return blocks.Bounds(np.empty(n * k if ready_on else 0), np.empty(k, np.int32), np.empty(n, np.int32))


def favourites(problem: Problem, child: np.ndarray, turns: np.ndarray) -> blocks.Favourites:
    """Favourite children, shape (n_ops,), and the devices in the order in which they are tried, shape (n_devices,)."""
    n = problem.graph.n_ops
    k = problem.cluster.n_devices
    work = np.empty(k), np.empty(k, np.int32), np.empty(k)
    return blocks.Favourites(frozen(child), frozen(turns), np.zeros(n, np.int32), *work)


# -------------------------------------------------------------------- limits of links and memory


def limits(problem: Problem, memory: bool) -> blocks.Limits:
    """Limits of a plan; `memory`: memory over time, too."""
    return blocks.Limits(ports(problem), inputs(problem), memory_over_time(problem, memory))


def lanes(problem: Problem) -> int:
    """How many ports or channels planners count, by the transfer model that they assume; the problem's own may have others."""
    k = problem.cluster.n_devices
    return {PARALLEL: 0, PORTS: 2 * k if problem.duplex else k, CHANNEL: k * k}[problem.transfer_model.planned]


def ports(problem: Problem) -> blocks.Ports:
    """Contention for links."""
    k = problem.cluster.n_devices
    model = problem.transfer_model
    size = lanes(problem)
    copies = problem.graph.n_tensors * k if size else 0
    in_port = k if problem.duplex else 0
    times = np.empty(size), np.empty(copies), np.empty(copies)
    return blocks.Ports(model.planned, in_port, held(problem.latency), *times)


def inputs(problem: Problem) -> blocks.Inputs:
    """Inputs of the op under consideration."""
    most = _most_inputs(problem)
    return blocks.Inputs(np.empty(most), np.empty(most), np.empty(most, np.int32), np.empty(problem.cluster.n_devices))


def memory_over_time(problem: Problem, plan: bool = True) -> blocks.Memory:
    """Memory over time of a plan that is still empty.

    Parameters
    ----------
    plan
        False: memory is ignored, the arrays are as short as can be and the model is ``FREE``.
    """
    graph = problem.graph
    k = problem.cluster.n_devices
    model = problem.memory_model.code if plan else FREE
    n = graph.n_ops
    m = graph.n_edges
    tensors = graph.n_tensors
    most = _most_inputs(problem)
    if not plan:
        n = 0
        m = 0
        tensors = 0
        most = 0
    timed = plan and problem.memory_model.timed
    steps = 2 * n + 2 * m + k if timed else 0
    return blocks.Memory(
        _needs(problem, model),
        _held(k, tensors, copies=tensors * k if timed else 0, shared=problem.graph.tensor_storage is not None),
        _curve(k, n_blocks=k + steps // HALF + 1),  # a block is split when it is full
        blocks.Spans(*(np.empty(most + 2) for _ in range(3)), *(np.empty(2 * most + 4) for _ in range(2))),
    )


def _needs(problem: Problem, model: int) -> blocks.Needs:
    graph = problem.graph
    return blocks.Needs(
        model=model,
        limit=planning_limit(problem),
        for_ever=held_for_ever_by_group(problem),
        temporary=graph.temporary,
        outputs=graph.outputs,
        **storages(graph),
        tensor_ptr=graph.op_tensor_ptr,
        tensor_bytes=graph.tensor_bytes,
    )


def storages(graph: OpGraph) -> dict[str, np.ndarray]:
    """The fields of :class:`placelab.kernels.blocks.Needs` that say which tensors share storages; empty where none do."""
    first = graph.tensor_storage
    if first is None:
        return _NO_STORAGES
    return dict(storage=first, root=frozen(graph.tensor_producer[first]), storage_bytes=graph.storage_bytes)


_NO_STORAGES = dict(
    storage=frozen(np.empty(0, np.int32)), root=frozen(np.empty(0, np.int32)), storage_bytes=frozen(np.empty(0))
)


def _held(k: int, tensors: int, copies: int, shared: bool) -> blocks.Held:
    waiting, eased, home = (np.empty(size, np.int32) for size in (tensors, k, tensors if shared else 0))
    return blocks.Held(np.empty(k), waiting, np.empty(tensors), np.empty(copies), eased, home)


def _curve(k: int, n_blocks: int) -> blocks.Curve:
    return blocks.Curve(
        last=np.empty(k, np.int32),
        chain=np.empty(2 * n_blocks, np.int32),
        top=np.empty(1, np.int32),
        highest=np.empty(k),
        at=np.empty(n_blocks * SIZE),
        level=np.empty(n_blocks * SIZE),
        block=np.empty(2 * n_blocks),
    )


def _most_inputs(problem: Problem) -> int:
    return int(np.diff(problem.graph.pred_ptr).max())


# -------------------------------------------------------------------- units on devices, without times


def weighing(problem: Problem) -> blocks.Weighing:
    """Scores of the devices for one op."""
    k = problem.cluster.n_devices
    return blocks.Weighing(np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(k, np.int32))


# -------------------------------------------------------------------- transfers of a placement


def transfers(problem: Problem) -> tuple[blocks.Sorting, blocks.Receivers, blocks.Transfers]:
    """Workspace and results of :func:`placelab.kernels.run.starting.group_transfers`."""
    n = problem.graph.n_ops
    m = problem.graph.n_edges
    k = problem.cluster.n_devices
    by_device, op, *columns = [np.empty(m, np.int32) for _ in range(6)]  # to split one array takes longer
    receivers = blocks.Receivers(op, np.empty(2 * n, np.int32), np.empty(2 * m, np.int32))
    work = blocks.Sorting(np.empty(k + 1, np.int32), by_device, np.empty(n, np.int32))
    return work, receivers, blocks.Transfers(np.empty(n + 1, np.int32), *columns)

"""Make the blocks of the simulator's kernel (:mod:`placelab.kernels.run.simulation_blocks`) from a placement and an order.

One function per block, or per few that belong together. What the kernel only reads is frozen; what it writes is fresh at each
call. What it writes for the runs of a batch alone (:mod:`placelab.simulation.batches`) is fresh for a batch; single runs of a
problem share it. A call on ten ops takes as long as it takes to make these arrays.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from placelab.base.index_arrays import frozen
from placelab.base.once import once
from placelab.kernels import blocks
from placelab.kernels.blocks import CHANNEL, DYNAMIC, EDGES, FAIR, FREE, PORTS, PORTS_BY_PRIORITY
from placelab.kernels.run import events, msr
from placelab.kernels.run import simulation_blocks as simulating
from placelab.kernels.run.starting import group_transfers, in_sequence, queue_bases
from placelab.planning import plan_arrays
from placelab.planning.ranks import in_classes
from placelab.problem.cluster import SharedLink
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.resource_models import held
from placelab.schedule.order import Order
from placelab.schedule.schedule import TOLERANCE

I4 = np.int32
I8 = np.int64
F8 = np.float64
RULES = {"priority": events.PRIORITY, "fifo": events.FIFO, "msr": events.MSR, "planned": events.PLANNED}
_NONE = frozen(np.zeros(1, I4))  # stands for a column that a rule does not read
_NOTHING = np.empty(0, I4)
_NO_TIMES = frozen(np.empty(0))
NO_ROWS = simulating.Rows(*(frozen(np.empty(0, kind)) for kind in (I4, F8, F8, F8, F8, F8, I4, I4, I4, I4, I8)))
NO_RESULTS = simulating.Results(*(np.empty(0) for _ in range(6)))
_NO_BATCH = simulating.Batch(
    NO_ROWS,
    np.empty(0),
    NO_RESULTS,
    frozen(np.empty(0, I8)),
    blocks.Times(frozen(np.empty(0)), frozen(np.empty(0, I4)), frozen(np.empty(0)), 1),
    blocks.Successors(frozen(np.empty(0, I4)), frozen(np.empty(0, I4)), frozen(np.empty(0)), frozen(np.empty(0, I4))),
    blocks.Sorting(np.empty(0, I4), np.empty(0, I4), np.empty(0, I4)),
)


class PlacementTransfers(NamedTuple):
    """The transfers of a placement, and who receives what they bring."""

    copies: blocks.Transfers
    receivers: blocks.Receivers


def moves(problem: Problem, device: np.ndarray) -> PlacementTransfers:
    """Transfers of a placement by `device`, shape (n_ops,)."""
    graph = problem.graph
    work, receivers, moved = plan_arrays.transfers(problem)
    x = group_transfers(device, plan_arrays.successors(graph), graph.producer, work, receivers, moved)
    tensor, destination, source = (column[:x] for column in (moved.tensor, moved.destination, moved.source))
    return PlacementTransfers(blocks.Transfers(moved.ptr, tensor, destination, source, moved.of_edge), receivers)


def arguments(
    problem: Problem,
    device: np.ndarray,
    moved: PlacementTransfers,
    order: Order,
    rule: int,
    memory: int,
    batch: simulating.Batch | None = None,
) -> simulating.Arguments:
    """Everything the kernel takes.

    Parameters
    ----------
    device, moved
        Device of each op, shape (n_ops,), and the transfers of that placement.
    order, rule
        What a static scheduler gave, and the kind of rule the kernel is to follow.
    memory
        Model of the memory that ops wait for; FREE: they wait for none.
    batch
        Runs to make instead of this one.
    """
    k = problem.cluster.n_devices
    x = len(moved.copies.tensor)
    network, needs = _kept_costs(problem, memory) if batch is None else _costs(problem, memory)
    return simulating.Arguments(
        ops=_ops(problem, device),
        pred=plan_arrays.predecessors(problem.graph),
        copies=moved.copies,
        receivers=moved.receivers,
        network=network,
        order=_scheduling(problem, device, moved.copies, order, rule, memory),
        memory=simulating.RunMemory(needs, _use(problem, device, moved.copies, memory)),
        contention=_contention(problem, moved.copies, order),
        devices=simulating.Devices(np.zeros(k, I4), _worklist(k)),
        events=_events(problem, k + len(_not_before(order, rule)), x),
        clock=simulating.Clock(np.zeros(1), np.zeros(events.COUNTS, I8)),
        answer=np.full(1, -1, I8),
        results=results(problem, x),
        batch=_NO_BATCH if batch is None else batch,
    )


def _costs(problem: Problem, memory: int) -> tuple[simulating.Wires, blocks.Needs]:
    """Links, and what ops need, in arrays that the runs of a batch write."""
    return wires(problem), _needs(problem, memory)


_kept_costs = once(_costs)


def _ops(problem: Problem, device: np.ndarray) -> simulating.Ops:
    ptr = problem.graph.pred_ptr
    return simulating.Ops(np.array(device), plan_arrays.durations(problem, device), ptr[1:] - ptr[:-1])


def _worklist(n: int) -> simulating.Worklist:
    return simulating.Worklist(np.empty(n, I4), np.zeros(n, I4), np.zeros(1, I8))


def _events(problem: Problem, others: int, n_transfers: int) -> simulating.EventQueue:
    """Room for an event of each device and each transfer, its begin, and where links are shared two changes of rates."""
    per_transfer = 4 if problem.transfer_model.code == FAIR else 2
    return simulating.EventQueue(np.empty(2 * (others + per_transfer * n_transfers + 1)), np.zeros(1, I8))


def results(problem: Problem, n_transfers: int, runs: int = 1) -> simulating.Results:
    """Room for the results of some runs, run by run; NaN where an op does not start."""
    n = runs * problem.graph.n_ops
    x = runs * n_transfers
    sends = runs * _n_sends(problem, n_transfers)
    start = np.empty(n)
    finish = np.empty(n)
    start.fill(np.nan)
    finish.fill(np.nan)
    return simulating.Results(start, finish, np.empty(sends), np.empty(sends), np.empty(x), np.empty(x))


def _n_sends(problem: Problem, n_transfers: int) -> int:
    return n_transfers if problem.transfer_ops else 0


# -------------------------------------------------------------------- what devices choose


def _scheduling(
    problem: Problem, device: np.ndarray, copies: blocks.Transfers, order: Order, rule: int, memory: int
) -> simulating.Scheduling:
    """How devices choose, and empty queues."""
    sends = _n_sends(problem, len(copies.tensor))
    items = problem.graph.n_ops + sends
    rank, shared, item = ranks(problem, copies, order, rule)
    numbers = (np.full(len(shared), -1, I4), np.full(len(shared), -1, I4)) if len(shared) else (_NOTHING, _NOTHING)
    ready, of_sends = _queues(device, copies.source[:sends], problem.cluster.n_devices)
    return simulating.Scheduling(
        rule=simulating.Rule(rule, sends > 0, rank, item),
        classes=simulating.Classes(shared, *numbers),
        sequence=_sequence(device, problem.cluster.n_devices, order, rule),
        msr=_msr(problem.graph, order, rank) if rule == events.MSR else _NO_MSR,
        ready=ready,
        sends=of_sends,
        aside=np.empty(items if memory else 1, I8),
    )


def ranks(
    problem: Problem, copies: blocks.Transfers, order: Order, rule: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rank of each op and Send in its queue, the lowest of its equals, the item of each rank; at a tie Sends come first.

    Ranks of items that have equals are stored as :func:`placelab.kernels.run.ready_items.by_priority` takes them.
    """
    n = problem.graph.n_ops
    sends = _n_sends(problem, len(copies.tensor))
    shared = _NOTHING
    if rule == events.PRIORITY:
        priority = np.asarray(order.op, dtype=F8)
        if sends:
            priority = np.concatenate([_send_priorities(problem.graph, copies, order), priority])
        item, rank, shared = in_classes(priority)
    elif not sends and (order.op is None or rule != events.FIFO):
        item = np.arange(n, dtype=I4)
        rank = np.arange(n, dtype=I4)
    else:
        ties = np.arange(n) if order.op is None or rule != events.FIFO else np.argsort(order.op, kind="stable")
        item = np.concatenate([np.arange(sends), sends + ties]).astype(I4)
        rank = np.empty(n + sends, I4)
        rank[item] = np.arange(n + sends)
    if sends:
        ops_first = lambda column: np.concatenate([column[sends:], column[:sends]])  # noqa: E731
        rank = ops_first(rank)
        shared = ops_first(shared)
        item = np.where(item < sends, n + item, item - sends).astype(I4)
    if len(shared):
        rank[shared >= 0] ^= -1
    return rank, shared, item


def _send_priorities(graph: OpGraph, copies: blocks.Transfers, order: Order) -> np.ndarray:
    given = order.send if order.send is not None else order.transfer
    if given is not None:
        return _per_transfer(given, copies)
    remote = copies.of_edge >= 0
    priority = np.full(len(copies.tensor), -np.inf)
    np.maximum.at(priority, copies.of_edge[remote], np.asarray(order.op, dtype=F8)[graph.consumer[remote]])
    return priority


def _per_transfer(value: Any, copies: blocks.Transfers) -> np.ndarray:
    value = np.asarray(value, dtype=F8)
    if value.shape == (len(copies.tensor), 1):
        return value[:, 0]
    return value[copies.tensor] if value.ndim == 1 else value[copies.tensor, copies.destination]


def _sequence(device: np.ndarray, k: int, order: Order, rule: int) -> simulating.Sequence:
    """Planned ops device by device."""
    if rule != events.PLANNED:
        return _no_sequence(k)
    ptr = _bases(device, k)
    planned = np.array(order.op, dtype=I4)
    op = np.empty(len(planned), I4)
    in_sequence(frozen(np.array(device, I4)), frozen(planned), ptr[:-1].copy(), op)
    return simulating.Sequence(ptr, op, ptr[:-1].copy(), _not_before(order, rule))


def _bases(queue: np.ndarray, n: int) -> np.ndarray:
    """Where each of n queues begins, one more for the end."""
    base = np.empty(n + 1, I4)
    queue_bases(frozen(np.array(queue, I4)), base)
    return base


@lru_cache(maxsize=32)
def _no_sequence(k: int) -> simulating.Sequence:
    return simulating.Sequence(np.zeros(k + 1, I4), np.zeros(1, I4), np.zeros(k, I4), _NO_TIMES)


def _not_before(order: Order, rule: int) -> np.ndarray:
    return order.not_before if rule == events.PLANNED and order.not_before is not None else _NO_TIMES


def _queues(device: np.ndarray, senders: np.ndarray, k: int) -> tuple[simulating.ReadyQueues, simulating.SendQueues]:
    """Each device's queue, and within it the part for Sends."""
    base = _bases(np.concatenate([device, senders]) if len(senders) else device, k)
    ready = simulating.ReadyQueues(np.empty(len(device) + len(senders), I8), base, np.zeros(k, I4))
    if not len(senders):
        return ready, _no_sends(k)
    ops = np.bincount(device, minlength=k)
    return ready, simulating.SendQueues(frozen((base[:-1] + ops).astype(I4)), np.zeros(k, I4))


@lru_cache(maxsize=32)
def _no_sends(k: int) -> simulating.SendQueues:
    return simulating.SendQueues(frozen(np.zeros(k, I4)), np.zeros(k, I4))


def _msr(graph: OpGraph, order: Order, rank: np.ndarray) -> simulating.Msr:
    """What the rule MSR reads, and its empty heaps."""
    items = len(rank)
    facts = np.zeros((items, 4), I4)
    facts[:, 3] = msr.NOWHERE
    return simulating.Msr(
        simulating.Weights(bool(order.static), *(float(w) for w in order.weights)),
        _consumer_ops(graph),
        simulating.PairingHeaps(np.full(3 * items, -1, I4), np.full(items, -1, I4), rank),
        facts.reshape(-1),
    )


def _consumer_ops(graph: OpGraph) -> simulating.ConsumerOps:
    ptr, consumer, inputs = graph.successors
    most = np.zeros(graph.n_ops, I4)
    np.maximum.at(most, consumer, inputs)
    return simulating.ConsumerOps(ptr, consumer, inputs, graph.n_producers, frozen(most))


_NO_MSR = simulating.Msr(
    simulating.Weights(False, 0.0, 0.0, 0.0, 0.0),
    simulating.ConsumerOps(*(_NONE,) * 5),
    simulating.PairingHeaps(np.empty(0, I4), np.empty(0, I4), np.empty(0, I4)),
    np.empty(0, I4),
)


# -------------------------------------------------------------------- memory that ops wait for


def _needs(problem: Problem, memory: int) -> blocks.Needs:
    graph = problem.graph
    return blocks.Needs(
        model=memory,
        limit=frozen(problem.cluster.memory * (1 + TOLERANCE)),
        for_ever=frozen(problem.lasting),
        temporary=graph.temporary,
        outputs=_outputs(graph) if memory == EDGES else graph.outputs,
        **plan_arrays.storages(graph),
        tensor_ptr=graph.op_tensor_ptr,
        tensor_bytes=graph.tensor_bytes.copy(),
    )


def _outputs(graph: OpGraph) -> np.ndarray:
    """Bytes each op's outputs take while it waits for room under ``edges``, which does not count tensors without a consumer."""
    size = np.where(np.diff(graph.tensor_ptr) > 0, graph.tensor_bytes, 0.0)
    return frozen(np.bincount(graph.tensor_producer, size, minlength=graph.n_ops).astype(F8))


def _use(problem: Problem, device: np.ndarray, copies: blocks.Transfers, memory: int) -> simulating.Use:
    """Bytes in use at time 0, and how often each tensor is still needed at home and each copy where it went."""
    graph = problem.graph
    if memory == FREE:
        return _NO_USE
    local = copies.of_edge < 0
    home = np.bincount(graph.edge_tensor[local], minlength=graph.n_tensors) + np.bincount(
        copies.tensor, minlength=graph.n_tensors
    )
    of_copy = np.bincount(copies.of_edge[~local], minlength=len(copies.tensor))
    used = np.bincount(device, problem.lasting, minlength=problem.cluster.n_devices)
    use = _NO_USE._replace(bytes=used, home=home.astype(I4), copy=of_copy.astype(I4))
    if graph.tensor_storage is None:
        return use
    storage = graph.storages_on(device)
    home = np.bincount(storage, home + (memory == DYNAMIC), minlength=graph.n_tensors).astype(I4)
    begun, reads = np.zeros((2, graph.n_tensors), I4)
    return use._replace(
        home=home, storage=storage.astype(I4), size=graph.storage_bytes.copy(), begun=begun, reads=reads
    )


_NO_USE = simulating.Use(
    np.zeros(1), np.zeros(1, I4), np.zeros(1, I4), *(np.zeros(0, dtype) for dtype in (I4, F8, I4, I4))
)


# -------------------------------------------------------------------- transfers, and what they wait for


def wires(problem: Problem) -> simulating.Wires:
    """Links and Sends, in arrays of their own."""
    cluster = problem.cluster
    send = problem.transfer_ops / cluster.speed
    return simulating.Wires(cluster.latency.flatten(), cluster.bandwidth.flatten(), send)


def _contention(problem: Problem, copies: blocks.Transfers, order: Order) -> simulating.Contention:
    """Free links, and empty queues before them."""
    k = problem.cluster.n_devices
    model = problem.transfer_model.code
    if model == PORTS and order.transfer is not None:
        model = PORTS_BY_PRIORITY
    queues = _NO_QUEUES
    pairs = _NO_PAIRS
    channels = _NO_CHANNELS
    if model in (CHANNEL, PORTS_BY_PRIORITY):
        queue, n_queues = _queue_of_each(problem, copies, model)
        queues = _link_queues(queue, _bases(queue, n_queues), transfer_ranks(copies, order))
        pairs = _worklist(len(queues.count))
        channels = np.zeros(len(queues.count), I4)
    elif order.transfer is not None:
        queues = queues._replace(rank=transfer_ranks(copies, order))
    flows = NO_FLOWS
    shared = NO_SHARED
    if model == FAIR:
        flows = flows_of(k, len(copies.tensor))
        shared = shared_links_of(problem.cluster.links, k)
    in_port = k if problem.duplex else 0
    links = simulating.Links(model, in_port, held(problem.latency), np.zeros(2 * k), channels, flows, shared)
    return simulating.Contention(links, queues, pairs)


def _link_queues(queue: np.ndarray, base: np.ndarray, rank: np.ndarray) -> simulating.LinkQueues:
    """Empty queues that begin at `base`, with room for the transfers of each."""
    x = len(queue)
    n_queues = len(base) - 1
    return simulating.LinkQueues(
        queue, np.empty(x, I8), base, np.zeros(n_queues, I4), rank, np.empty(x, I4), np.zeros(1, I8)
    )


# Where transfers start at once, or reserve their ports.
_NO_QUEUES = _link_queues(np.empty(0, I8), np.zeros(2, I4), np.empty(0, I8))
_NO_PAIRS = _worklist(1)
_NO_CHANNELS = np.zeros(1, I4)


def _queue_of_each(problem: Problem, copies: blocks.Transfers, model: int) -> tuple[np.ndarray, int]:
    """The queue in which each transfer waits, and how many queues there are."""
    k = problem.cluster.n_devices
    row = problem.transfer_model
    if model == PORTS_BY_PRIORITY:
        return copies.source.astype(I8) * k + copies.destination, k * k
    (queue,) = row.occupied(copies.source, copies.destination, problem.cluster, problem.duplex)
    return queue, max(row.number_of_queues(problem.cluster, problem.duplex), 1)


def transfer_ranks(copies: blocks.Transfers, order: Order) -> np.ndarray:
    """Dense rank of each transfer's priority, 0 the highest, equal priorities share one; empty when there are none."""
    if order.transfer is None:
        return np.empty(0, I8)
    return np.unique(-_per_transfer(order.transfer, copies), return_inverse=True)[1].astype(I8)


def flows_of(k: int, n_transfers: int) -> simulating.Flows:
    """No flows yet."""
    rate, served, since, due = (np.zeros(k * k) for _ in range(4))
    count, stale, base, active = (np.zeros(k * k + more, I4) for more in (0, 0, 1, 0))
    entry = np.empty(2 * n_transfers)
    number = np.zeros(3, I8)
    following = np.zeros(1)
    return simulating.Flows(rate, served, since, due, count, stale, entry, base, active, number, following)


def shared_links_of(links: tuple[SharedLink, ...], k: int) -> simulating.SharedLinks:
    """The shared links of k devices, and which of them each pair uses, by number."""
    pairs = [np.array(link.pairs, I8) @ [k, 1] for link in links]
    pair = np.concatenate([np.empty(0, I8), *pairs]).astype(I4)
    ptr = np.zeros(k * k + 1, I4)
    first = np.zeros(len(links) + 1, I4)
    np.cumsum(np.bincount(pair, minlength=k * k), out=ptr[1:])
    np.cumsum([len(p) for p in pairs], out=first[1:])
    number = np.repeat(np.arange(len(links), dtype=I4), np.diff(first))[np.argsort(pair, kind="stable")]
    capacity = np.array([link.bandwidth for link in links], F8)
    return simulating.SharedLinks(
        capacity=frozen(capacity),
        ptr=frozen(ptr),
        link=frozen(number),
        first=frozen(first),
        pair=frozen(pair),
        own=np.zeros(k * k),
        flows=np.zeros(len(links), I4),
        left=np.zeros(len(links)),
        users=np.zeros(len(links), I4),
        share=np.zeros(len(links)),
        rate=np.zeros(k * k),
    )


NO_FLOWS = flows_of(0, 0)
NO_SHARED = shared_links_of((), 0)

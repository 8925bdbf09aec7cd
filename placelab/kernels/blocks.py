"""Arguments of kernels: one NamedTuple per concept, of two to seven fields; and numbers for the models of a problem.

:mod:`placelab.planning.plan_arrays` makes them from a problem. Notation: n ops, m edges, k devices, u units; ops and edges are
numbered as in :class:`placelab.problem.graph.OpGraph`, edges by producer. Times are seconds, sizes bytes. Arrays that are only
read are read-only. A field "of t on d" is flat, at ``t * k + d``; one of a pair of devices at ``source * k + destination``.

A new field is written twice: here, and where the block is made. Keep blocks small: each call of a helper that the
compiler does not put in place pushes seven words per array, used or not. Blocks of blocks (:class:`Memory`, :class:`Limits`) go
from a kernel to helpers that are put in place (:func:`placelab.kernels.jit.inlined`), or to those that are called once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# -------------------------------------------------------------------- a problem


class Predecessors(NamedTuple):
    """Edges by consumer."""

    ptr: np.ndarray  # int32 (n + 1,): inputs of op v are ptr[v] to ptr[v + 1]
    edge: np.ndarray  # int32 (m,): edge of each input
    producer: np.ndarray  # int32 (m,): op that makes the tensor of each edge
    bytes: np.ndarray  # float64 (m,): size of the tensor of each edge
    tensor: np.ndarray  # int32 (m,): tensor of each edge


class Successors(NamedTuple):
    """Edges by producer, which is how they are numbered."""

    ptr: np.ndarray  # int32 (n + 1,): edges from op v are ptr[v] to ptr[v + 1]
    consumer: np.ndarray  # int32 (m,): op that reads the tensor of each edge
    bytes: np.ndarray  # float64 (m,): size of the tensor of each edge
    tensor: np.ndarray  # int32 (m,): tensor of each edge


class Times(NamedTuple):
    """Execution times: ``cost[v * columns + column[d]] / divisor[d]`` seconds, see :class:`placelab.problem.problem.Problem`."""

    cost: np.ndarray  # float64 (n * columns,): operations, or seconds; of ops, or summed over the ops of each unit
    column: np.ndarray  # int32 (k,): column of each device
    divisor: np.ndarray  # float64 (k,): operations per second, or 1
    columns: int


class Awaited(NamedTuple):
    """Inputs of each op, and how long after its producer's end each is there at the earliest."""

    ptr: np.ndarray  # int32 (n + 1,): inputs of op v are ptr[v] to ptr[v + 1]
    op: np.ndarray  # int32 (m,): producer of each
    cost: np.ndarray  # float64 (m,): seconds from another device; infinite where both ops run on one
    always: np.ndarray  # float64 (m,): seconds wherever they run: 0, or `cost` where no device may run both


class Forced(NamedTuple):
    """Workspace: ops that must run on one device, at most f of them."""

    op: np.ndarray  # int32 (f,)
    until: np.ndarray  # float64 (f,): when each must have ended
    left: np.ndarray  # float64 (f,): what is left of each
    queue: np.ndarray  # float64 (2 f,): a heap
    ready: np.ndarray  # float64 (2 f,): a heap
    due: np.ndarray  # float64 (n,): by op, negative where it is not forced


class Between(NamedTuple):
    """Workspace: ops between one and another through which all ways to it lead, at most b of them, by falling number."""

    before: np.ndarray  # int32 (n,): the last op through which all ways to each lead, -1 for none
    first: np.ndarray  # int32 (n,): the first one, itself where there is none
    span: np.ndarray  # float64 (n,): least seconds from the end of `before` to the start of each, as far as looked at
    place: np.ndarray  # int32 (n,): place of an op between, else -1
    op: np.ndarray  # int32 (b,)
    time: np.ndarray  # float64 (b,): seconds of each
    near: np.ndarray  # float64 (b,): from the end of the first op to its start
    away: np.ndarray  # float64 (b,): the same where it is on another device
    rest: np.ndarray  # float64 (b,): from its end to the start of the last op
    back: np.ndarray  # float64 (b,): the same where that is on another device


class Network(NamedTuple):
    """Links between devices."""

    latency: np.ndarray  # float64 (k * k,): seconds, 0 within a device
    bandwidth: np.ndarray  # float64 (k * k,): bytes per second, infinite within a device
    send: np.ndarray  # float64 (k,): seconds of a Send or Receive op on each device, 0 for none
    delay: np.ndarray  # float64 (k * k,): the source's Send, and latency; 0 within a device


class Eligible(NamedTuple):
    """Where ops may run: restrictions, and groups, whose first op fixes the device of all."""

    allowed: np.ndarray  # uint8 (n * k,), or (k,) with stride 0: 1 at v * stride + d where op v may run on device d
    stride: int
    group: np.ndarray  # int32 (n,): group of each op, -1 for none
    group_device: np.ndarray  # int32 (groups,): device of each group, -1 while it has none; written


# -------------------------------------------------------------------- a plan of ops in time


class Plan(NamedTuple):
    """Results: where and when each op runs."""

    device: np.ndarray  # int32 (n,): -1 where not placed
    start: np.ndarray  # float64 (n,)
    finish: np.ndarray  # float64 (n,)
    order: np.ndarray  # int32 (n,): ops as they were placed; given and read-only where the order is fixed
    score: np.ndarray  # float64 (n * k,), or (0,) without a trace: what was compared, of op v on device d


class Aim(NamedTuple):
    """What is least on the device that an op gets: see :func:`placelab.kernels.plan.list_schedule.aimed`."""

    rule: int  # FINISH, START or LENGTH
    extra: np.ndarray  # float64 (n * k,): what is added to that of op v on device d; (0,) for nothing


class Ready(NamedTuple):
    """Workspace: ready ops side by side; positions 0 to count are those to choose from."""

    missing: np.ndarray  # int32 (n,): inputs of each op whose producers are not placed
    op: np.ndarray  # int32 (n,): ready ops
    at: np.ndarray  # int32 (n,): position of each op that is ready
    # float64 (k * n,): when all inputs of the op at i are on device d, at d * n + i; infinity: not there
    arrival: np.ndarray
    length: np.ndarray  # float64 (k * n,): how long it takes there
    soonest: np.ndarray  # float64 (n,): when the op at i would finish at its best device
    second: np.ndarray  # float64 (n,): and at its second-best one
    key: np.ndarray  # float64 (n,): the least goes first


class Waiting(NamedTuple):
    """Workspace: ready ops, the first one first."""

    missing: np.ndarray  # int32 (n,): inputs of each op whose producers are not placed
    op: np.ndarray  # int32 (n,): ready ops
    arrival: np.ndarray  # float64 (n * k,): when all inputs of op v are on device d


class Kinds(NamedTuple):
    """Devices by kind; and workspace: what ready ops wait for, of :mod:`placelab.kernels.plan.choose_least`."""

    kind: np.ndarray  # int32 (k,): of each device; an op takes as long on all of a kind
    device: np.ndarray  # int32 (k,): devices by kind
    first: np.ndarray  # int32 (kinds + 1,): where those of each kind begin there
    missing: np.ndarray  # int32 (n,): inputs of each op whose producers are not placed
    arrival: np.ndarray  # float64 (n * k,): when all inputs of op v are on device d
    heap: np.ndarray  # float64 (2 * n,): pairs (lower bound of finish minus head, op) of ops that have not arrived
    idle: np.ndarray  # float64 (kinds,): when the first device of a kind is free


class Tree(NamedTuple):
    """Workspace: a tree with a leaf per op, of four children a node; per column each node has the least of its children."""

    level: np.ndarray  # int32: entry of `least` at which each level begins, leaves first, the root last
    columns: int
    least: np.ndarray  # float64 (rows * columns,): infinite for an op that is not in the tree


class Frontier(NamedTuple):
    """Workspace: where each device stands."""

    free: np.ndarray  # float64 (k,): when it has run what is placed there
    arrival: np.ndarray  # float64 (k,): when all inputs of the op looked at would be there


class Agenda(NamedTuple):
    """Workspace: ops in the order in which they become ready."""

    missing: np.ndarray  # int32 (n,): inputs of each op whose producers are not placed
    became: np.ndarray  # float64 (n,): when the last input so far of each op was computed
    heap: np.ndarray  # float64 (2 * n,): pairs (key, op)
    aside: np.ndarray  # float64 (2 * n,): pairs of ops that fit nowhere for now; (0,) where memory is no limit


class Busy(NamedTuple):
    """Workspace: busy spans of each device, merged where they touch; those of device d begin at entry ``d * row``."""

    row: int  # entries of each device: n, rounded up to whole blocks of SPANS; 1 when ops are appended
    count: np.ndarray  # int32 (k,): spans of each device
    begins: np.ndarray  # float64 (k * row,), or (1,) when ops are appended
    ends: np.ndarray  # float64 (k * row,); when ops are appended, the last end
    widest: np.ndarray  # float64 (k * row / SPANS,): the longest gap before one of the spans of each block
    n_done: np.ndarray  # int32 (k,): entries of done
    done: np.ndarray  # float64 (k * row,): end of each op, ascending; (1,) where no op is of length 0


class Queues(NamedTuple):
    """Ops by rank, and two heaps per device of those that are ready; the heaps of device d begin at entry ``d * n``."""

    missing: np.ndarray  # int32 (n,): inputs of each op whose producers are not placed
    rank: np.ndarray  # int32 (n,): place of each op by falling priority
    item: np.ndarray  # int32 (n,): op of each rank
    later: np.ndarray  # float64 (2 * n * k,): pairs (when it could start, rank)
    n_later: np.ndarray  # int32 (k,)
    now: np.ndarray  # int32 (n * k,): ranks of ops whose inputs are there by the time the device is free
    n_now: np.ndarray  # int32 (k,)


class Bounds(NamedTuple):
    """Workspace: lower bounds of when ready ops could start, and which of them are to be looked at again."""

    # float64 (n * k,): when the inputs of op v could be on device d at best; (0,) where not needed
    ready_on: np.ndarray
    waits: np.ndarray  # int32 (k,): 1 where an op was found to start later than its inputs allow
    marked: np.ndarray  # int32 (n,): ops that read a tensor which has come to the device


class Favourites(NamedTuple):
    """Favourite children of SCT, and its workspace."""

    child: np.ndarray  # int32 (n,): favourite child of each op, -1 for none
    turns: np.ndarray  # int32 (k,): devices in the order in which they are asked
    rule: np.ndarray  # int32 (n,): result, which rule placed each op
    soonest: np.ndarray  # float64 (k,): earliest start on each device
    ran: np.ndarray  # int32 (k,): last op of each device, -1 for none
    starts: np.ndarray  # float64 (k,): when the favourite child could start on each device


# -------------------------------------------------------------------- transfers of a plan


class Ports(NamedTuple):
    """Contention for links: see :mod:`placelab.kernels.plan.planned_transfers`."""

    contention: int  # PARALLEL, PORTS or CHANNEL
    in_port: int  # entry of free at which receiving ports begin
    held: float  # share of its latency for which a transfer holds its ports: 1, or 0 where the latency follows
    free: np.ndarray  # float64, PORTS (2 * k,), CHANNEL (k * k,): when each port or channel is free
    sent: np.ndarray  # float64 (tensors * k,): when tensor t leaves for device d; -1 where no transfer is planned
    there: np.ndarray  # float64 (tensors * k,): when it is there; both (0,) without contention


class Inputs(NamedTuple):
    """Inputs of the op looked at, on the device looked at; entries by position among its inputs."""

    sent: np.ndarray  # float64 (most inputs,): when each input leaves its producer's device
    there: np.ndarray  # float64 (most inputs,): when it is there
    turn: np.ndarray  # int32 (most inputs,): workspace, the order in which they are sent
    lane: np.ndarray  # float64 (k,): workspace, when each source is free


# -------------------------------------------------------------------- memory over time of a plan


class Needs(NamedTuple):
    """Memory that ops need, and that devices have."""

    model: int  # FREE, EDGES, DYNAMIC or RESERVED
    limit: np.ndarray  # float64 (k,): bytes
    for_ever: np.ndarray  # float64 (n,): bytes that an op, or the first op of its group, takes for the whole run
    temporary: np.ndarray  # float64 (n,): bytes while the op runs
    outputs: np.ndarray  # float64 (n,): bytes of all tensors that the op makes
    storage: np.ndarray  # int32 (tensors,): first tensor in the storage of each; (0,) where none share any
    root: np.ndarray  # int32 (tensors,) or (0,): op that makes that one
    storage_bytes: np.ndarray  # float64 (tensors,) or (0,): bytes of a storage, by its first tensor
    tensor_ptr: np.ndarray  # int32 (n + 1,): tensors that op v makes are tensor_ptr[v] to tensor_ptr[v + 1]
    tensor_bytes: np.ndarray  # float64 (tensors,)


class Held(NamedTuple):
    """Memory that tensors hold as far as is known, and bytes taken for ever."""

    reserved: np.ndarray  # float64 (k,): bytes taken for the whole run
    waiting: np.ndarray  # int32 (tensors,): consumers that are not placed
    kept: np.ndarray  # float64 (tensors,): when the producer's device is done with it
    copy_kept: np.ndarray  # float64 (tensors * k,): the same for the copy of tensor t on device d, -1 without one
    eased: np.ndarray  # int32 (k,): set to 1 where an op may now fit that did not, or start sooner
    home: np.ndarray  # int32 (tensors,) or (0,): tensor whose memory each placed tensor is held in


class Curve(NamedTuple):
    """Step curves of bytes in use: one per device, a chain of blocks of at most SIZE steps."""

    last: np.ndarray  # int32 (k,): last block of each device
    chain: np.ndarray  # int32 (2 * blocks,): at 2 * b the block before b, -1 for none; then how many steps b has
    top: np.ndarray  # int32 (1,): number of blocks
    highest: np.ndarray  # float64 (k,): peak of each device
    at: np.ndarray  # float64 (blocks * SIZE,): when each step begins
    level: np.ndarray  # float64 (blocks * SIZE,): its bytes, less those of the block
    block: np.ndarray  # float64 (2 * blocks,): at 2 * b bytes to add to all levels of b, then the highest of the levels


class Spans(NamedTuple):
    """Workspace: what an op adds to a device's curve, for at most two spans more than it has inputs."""

    begins: np.ndarray  # float64 (most inputs + 2,)
    ends: np.ndarray  # float64 (most inputs + 2,)
    sizes: np.ndarray  # float64 (most inputs + 2,): bytes, negative where they are given back
    cuts: np.ndarray  # float64 (2 * most inputs + 4,): times at which their sum changes
    change: np.ndarray  # float64 (2 * most inputs + 4,): by how much


class Memory(NamedTuple):
    """Memory over time of a plan: see :mod:`placelab.kernels.plan.memory_over_time`."""

    needs: Needs
    held: Held
    curve: Curve
    spans: Spans


class Limits(NamedTuple):
    """What a plan is kept to besides the times of ops: links and memory."""

    ports: Ports
    inputs: Inputs
    memory: Memory


# -------------------------------------------------------------------- units on devices, without times


class Units(NamedTuple):
    """What is placed at once: ops, or whole colocation groups."""

    of: np.ndarray  # int32 (n,): unit of each op
    ptr: np.ndarray  # int32 (u + 1,): ops of unit i are ops[ptr[i]:ptr[i + 1]]
    ops: np.ndarray  # int32 (n,)


class UnitNeeds(NamedTuple):
    """What each unit needs: a device that it may run on, and bytes there."""

    allowed: np.ndarray  # uint8 (u * k,), or (k,) with stride 0: 1 at i * stride + d where unit i may run on device d
    stride: int
    held: np.ndarray  # float64 (u,): bytes that stay in use
    peak: np.ndarray  # float64 (u,): bytes on top of that, of one unit at a time


class Capacity(NamedTuple):
    """Memory of each device, and how much of it units take."""

    limit: np.ndarray  # float64 (k,): bytes
    used: np.ndarray  # float64 (k,): sum of held over its units
    top: np.ndarray  # float64 (k,): largest peak of its units


class Choices(NamedTuple):
    """Results: the device of each unit, and why. Row i of the last three belongs to the i-th unit placed."""

    place: np.ndarray  # int32 (u,): device of each unit, -1 where not placed
    order: np.ndarray  # int32 (u,): units as they were placed
    reason: np.ndarray  # int32 (u,): which of the strategy's reasons it was
    # float64 (u * k,), or (0,) without a trace: what was compared, NaN where a device was no candidate
    score: np.ndarray


class UnitInputs(NamedTuple):
    """Tensors that units read from other units, each once, and what it takes to move them."""

    ptr: np.ndarray  # int32 (u + 1,): those of unit i are ptr[i] to ptr[i + 1]
    source: np.ndarray  # int32 (at most m,): unit that makes each
    bytes: np.ndarray  # float64 (at most m,)
    latency: np.ndarray  # float64 (k * k,): seconds, 0 within a device
    slowness: np.ndarray  # float64 (k * k,): seconds per byte, 0 within a device


class UnitLinks(NamedTuple):
    """Weights between units: a symmetric graph by rows."""

    ptr: np.ndarray  # int32 (u + 1,): neighbours of unit i are ptr[i] to ptr[i + 1]
    neighbour: np.ndarray  # int32: unit
    weight: np.ndarray  # float64: seconds that the tensors between the two take


class Importance(NamedTuple):
    """How much units and devices matter, relative to the largest of each."""

    rank: np.ndarray  # float64 (u,): in the order in which units are placed
    speed: np.ndarray  # float64 (k,)


class Weighing(NamedTuple):
    """Workspace: what is compared between devices, for one unit."""

    traffic: np.ndarray  # float64 (k,): seconds
    took: np.ndarray  # float64 (k,): seconds, -1 where there is no room
    load: np.ndarray  # float64 (k,), zeros at first: operations or seconds of the units placed
    sent: np.ndarray  # int32 (k,), zeros at first: last tensor that went there, plus 1


class PathWork(NamedTuple):
    """Workspace: a path, and what devices have to do."""

    path: np.ndarray  # int32 (n,): ops of the path, last first
    seen: np.ndarray  # uint8 (u,), zeros at first
    load: np.ndarray  # float64 (k,), zeros at first: operations or seconds of the units placed


class DepthFirst(NamedTuple):
    """Workspace of a depth-first search."""

    child: np.ndarray  # int32 (m,): consumers of each op, the lowest rank first
    filled: np.ndarray  # int32 (n,)
    stack: np.ndarray  # int32 (m + 1,)
    visited: np.ndarray  # uint8 (n,), zeros at first


# -------------------------------------------------------------------- transfers of a placement


class Transfers(NamedTuple):
    """Transfers of a placement, one per tensor and destination; numbered by producer, destination, tensor."""

    ptr: np.ndarray  # int32 (n + 1,): transfers of op v are ptr[v] to ptr[v + 1]
    tensor: np.ndarray  # int32 (m,): tensor of each
    destination: np.ndarray  # int32 (m,): device that each goes to
    source: np.ndarray  # int32 (m,): device that each comes from
    of_edge: np.ndarray  # int32 (m,): transfer that brings each edge's tensor, -1 within a device


class Receivers(NamedTuple):
    """Consumers of each op's tensors, sorted by (their device, tensor, op)."""

    op: np.ndarray  # int32 (m,)
    local: np.ndarray  # int32 (2 * n,): consumers on op v's own device are op[local[2 * v]:local[2 * v + 1]]
    ptr: np.ndarray  # int32 (2 * m,): transfer x is for op[ptr[2 * x]:ptr[2 * x + 1]]


class Sorting(NamedTuple):
    """Workspace: edges sorted by device."""

    count: np.ndarray  # int32 (k + 1,)
    by_device: np.ndarray  # int32 (m,)
    cursor: np.ndarray  # int32 (n,)


# -------------------------------------------------------------------- numbers by which kernels know the models of a problem

# Contention between transfers.
PARALLEL = 0  # none
PORTS = 1  # one at a time per port of a device; in the simulator in the order of requests
CHANNEL = 2  # one at a time per queue, of which each transfer has one: in planners, that of its ordered pair of devices
PORTS_BY_PRIORITY = 3  # of the simulator alone: as PORTS, in the order of priorities that a scheduler gives
FAIR = 4  # of the simulator alone: all at once, links shared max-min fairly

# What holds memory.
FREE = 0  # nothing that is looked at
EDGES = 1  # tensors, from their producer's or transfer's finish to their last consumer's start
DYNAMIC = 2  # weights always, temporary bytes while an op runs, tensors from the start of what makes them to the last use's end
RESERVED = 3  # one number per op, for the whole run

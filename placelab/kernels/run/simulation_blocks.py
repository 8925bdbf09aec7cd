"""Arguments of the simulator's kernel, one NamedTuple per concept; those that planners take, too, are in :mod:`.blocks`.

:mod:`placelab.simulation.kernel_arrays` makes them. Notation: n ops, k devices, x transfers. An item is what a device executes:
op v, or the Send of transfer i by the number n + i; there are n or n + x of them. Without Sends, arrays of Sends are empty. A
pair of devices is numbered ``source * k + destination``. Arrays that are only read are read-only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from placelab.kernels.blocks import Needs, Predecessors, Receivers, Sorting, Successors, Times, Transfers

# -------------------------------------------------------------------- ops and devices


class Ops(NamedTuple):
    """Where ops run, how long, and what they still wait for."""

    device: np.ndarray  # int32 (n,)
    duration: np.ndarray  # float64 (n,): seconds
    missing: np.ndarray  # int32 (n,): inputs of each op that have not arrived


class Worklist(NamedTuple):
    """Numbers to look at, each once."""

    number: np.ndarray  # int32 (most,): devices or pairs; the first size[0] count
    flag: np.ndarray  # int32 (most,): 1 where a number is on the list
    size: np.ndarray  # int64 (1,)


class Devices(NamedTuple):
    """What devices do, and which of them to look at."""

    busy: np.ndarray  # int32 (k,): 1 where an item runs
    touched: Worklist  # devices that may be able to start an item


class EventQueue(NamedTuple):
    """A heap of events by time, then code: see :mod:`placelab.kernels.run.events`."""

    heap: np.ndarray  # float64: pairs (time, code)
    size: np.ndarray  # int64 (1,): number of events


class Clock(NamedTuple):
    """Where a simulation stands when it asks a run-time rule, or ends."""

    now: np.ndarray  # float64 (1,): seconds
    count: np.ndarray  # int64 (COUNTS,): see :mod:`placelab.kernels.run.events`


class Results(NamedTuple):
    """When everything happens, in seconds; NaN where an op does not start."""

    start: np.ndarray  # float64 (n,)
    finish: np.ndarray  # float64 (n,)
    send_start: np.ndarray  # float64 (x,), or (0,) without Sends
    send_finish: np.ndarray  # float64 (x,), or (0,) without Sends
    transfer_start: np.ndarray  # float64 (x,)
    transfer_finish: np.ndarray  # float64 (x,)


# -------------------------------------------------------------------- what devices choose


class Rule(NamedTuple):
    """Which executable item a device takes."""

    kind: int  # PRIORITY, FIFO, MSR, PLANNED or ASK
    with_sends: bool
    rank: np.ndarray  # int32 (items,): place of each item among all; its complement where it has equals
    item: np.ndarray  # int32 (items,): item of each rank


class Classes(NamedTuple):
    """Items of equal priority: see :func:`placelab.kernels.run.ready_items.by_priority`; (0,) where there are none."""

    first: np.ndarray  # int32 (items,): lowest rank among an item's equals, -1 where it has none
    turn: np.ndarray  # int32 (items,): last number that was taken, by first rank
    since: np.ndarray  # int32 (items,): instant at which it was taken, by first rank


class Sequence(NamedTuple):
    """Ops of each device in the order of a plan; (1,) but for PLANNED."""

    ptr: np.ndarray  # int32 (k + 1,): those of device d are ptr[d] to ptr[d + 1]
    op: np.ndarray  # int32 (n,)
    next: np.ndarray  # int32 (k,): position of the op that each device runs next
    not_before: np.ndarray  # float64 (n,): earliest start of each op in seconds; (0,) where no op has one


class ReadyQueues(NamedTuple):
    """Executable items of each device: keys, or items; a heap or a list, as the rule has it."""

    entry: np.ndarray  # int64 (items,): those of device d begin at base[d]
    base: np.ndarray  # int32 (k + 1,)
    count: np.ndarray  # int32 (k,)


class SendQueues(NamedTuple):
    """Sends where they do not compete with ops: part of ``ReadyQueues.entry``."""

    base: np.ndarray  # int32 (k,)
    count: np.ndarray  # int32 (k,)


class Weights(NamedTuple):
    """Weights of MSR's terms."""

    static: bool  # whether a successor counts as waiting for an item alone only if it has no other producer
    alpha: float  # of successors
    beta: float  # of those on other devices
    gamma: float  # of those that wait for the item alone
    delta: float  # of those whose device is idle


class ConsumerOps(NamedTuple):
    """Distinct consumers of each op; (1,) but for MSR."""

    ptr: np.ndarray  # int32 (n + 1,): those of op v are ptr[v] to ptr[v + 1]
    op: np.ndarray  # int32
    inputs: np.ndarray  # int32: edges between the two
    producers: np.ndarray  # int32 (n,): distinct producers of each op
    most: np.ndarray  # int32 (n,): edges into each op from any one producer, at most


class PairingHeaps(NamedTuple):
    """Pairing heaps of items that score alike, see :mod:`placelab.kernels.run.msr`; (0,) but for MSR."""

    links: np.ndarray  # int32 (3 * items,): first child, next sibling, parent or previous sibling; -1 for none
    since: np.ndarray  # int32 (items,): instant at which an item was queued, -1 while it is not
    rank: np.ndarray  # int32 (items,): that of the rule


class Msr(NamedTuple):
    """What the rule MSR needs."""

    weights: Weights
    consumers: ConsumerOps
    heaps: PairingHeaps
    facts: np.ndarray  # int32 (4 * items,): what the score of an item depends on


class Scheduling(NamedTuple):
    """How devices choose, and from what."""

    rule: Rule
    classes: Classes
    sequence: Sequence
    msr: Msr
    ready: ReadyQueues
    sends: SendQueues
    aside: np.ndarray  # int64 (items,), or (1,) where memory is no limit: workspace, entries that do not fit


# -------------------------------------------------------------------- memory that ops wait for


class Use(NamedTuple):
    """Memory in use, and what it is still needed for; (1,) each where memory is no limit."""

    bytes: np.ndarray  # float64 (k,)
    home: np.ndarray  # int32 (tensors,): consumers and transfers that still need a tensor where it was made
    copy: np.ndarray  # int32 (x,): consumers that still need what a transfer brings
    # int32 (tensors,): tensor whose memory each is held in, by which `home` counts; (0,) if none share any
    storage: np.ndarray
    size: np.ndarray  # float64 (tensors,) or (0,): bytes of that memory
    begun: np.ndarray  # int32 (tensors,) or (0,): 1 where it is taken
    reads: np.ndarray  # int32 (tensors,) or (0,), zeros: workspace


class RunMemory(NamedTuple):
    """What ops need, and what is in use."""

    needs: Needs
    use: Use


# -------------------------------------------------------------------- transfers, and what they wait for


class Wires(NamedTuple):
    """Speed of links, and of Sends."""

    latency: np.ndarray  # float64 (k * k,): seconds, 0 within a device
    bandwidth: np.ndarray  # float64 (k * k,): bytes per second, infinite within a device
    send: np.ndarray  # float64 (k,): seconds of a Send on each device, 0 for none


class Flows(NamedTuple):
    """Transfers whose bytes move, by class: ordered pair of devices; see :mod:`placelab.kernels.run.links`."""

    rate: np.ndarray  # float64 (k * k,): bytes per second of each flow
    served: np.ndarray  # float64 (k * k,): bytes that a flow has got since the class was idle, at the time `since`
    since: np.ndarray  # float64 (k * k,): seconds
    due: np.ndarray  # float64 (k * k,): when the class's next flow ends, infinite where it has none
    count: np.ndarray  # int32 (k * k,): flows
    stale: np.ndarray  # int32 (k * k,): 1 where `count` has changed and `rate` has not
    # float64 (2 * x,): heaps of (`served` at the end of a flow, its transfer); class c's begins at base[c]
    entry: np.ndarray
    base: np.ndarray  # int32 (k * k + 1,)
    active: np.ndarray  # int32 (k * k,): classes that have flows, ascending
    # int64 (3,): how many these are, whether any class has changed, whether any on a shared link has
    number: np.ndarray
    next: np.ndarray  # float64 (1,): time of the event at which the next flow ends


class SharedLinks(NamedTuple):
    """Links that several pairs of devices share; (1,) or (0,) each but for FAIR."""

    capacity: np.ndarray  # float64 (links,): bytes per second
    ptr: np.ndarray  # int32 (k * k + 1,): links that class c uses are link[ptr[c]:ptr[c + 1]]
    link: np.ndarray  # int32
    first: np.ndarray  # int32 (links + 1,): classes that use link l are pair[first[l]:first[l + 1]], ascending
    pair: np.ndarray  # int32
    own: np.ndarray  # float64 (k * k,): what the bandwidth of its own pair allows each flow of a class
    flows: np.ndarray  # int32 (links,): flows on each link
    left: np.ndarray  # float64 (links,): workspace, bytes per second that are not yet given
    users: np.ndarray  # int32 (links,): workspace, flows that have no rate yet
    share: np.ndarray  # float64 (links,): workspace, what is left for each of them
    rate: np.ndarray  # float64 (k * k,): new rate of a flow of each class


class Links(NamedTuple):
    """Contention for links."""

    contention: int  # PARALLEL, PORTS, CHANNEL, PORTS_BY_PRIORITY or FAIR
    in_port: int  # entry of port at which receiving ports begin, 0 where a port does both
    held: float  # share of its latency for which a transfer holds its links: 1, or 0 where the latency follows
    port: np.ndarray  # float64 (2 * k,): PORTS when each is free, PORTS_BY_PRIORITY 1 where it is taken
    channel: np.ndarray  # int32 (queues,), or (1,): CHANNEL 1 where it is taken
    flows: Flows
    shared: SharedLinks


class LinkQueues(NamedTuple):
    """Transfers that wait, by channel, or with PORTS_BY_PRIORITY by pair of devices; (0,) or (1,) where none does."""

    of: np.ndarray  # int64 (x,): queue of each transfer
    entry: np.ndarray  # int64 (x,): transfers, or keys in a heap; those of queue q begin at base[q]
    base: np.ndarray  # int32 (queues + 1,)
    count: np.ndarray  # int32 (queues,)
    rank: np.ndarray  # int64 (x,): rank of each transfer's priority, 0 the highest; (0,) without priorities
    request: np.ndarray  # int32 (x,): transfers as they were requested, with priorities
    n_requests: np.ndarray  # int64 (1,)


class Contention(NamedTuple):
    """Links, what waits for them, and which pairs to look at."""

    links: Links
    queues: LinkQueues
    pairs: Worklist


# -------------------------------------------------------------------- many runs


class Rows(NamedTuple):
    """What differs from run to run, a row for each, one after the other; (0,) where it is what the other arguments have."""

    device: np.ndarray  # int32 (runs * n,): device of each op; without rows of durations, these are then by Batch.times
    duration: np.ndarray  # float64 (runs * n,): seconds
    latency: np.ndarray  # float64 (runs * k * k,): seconds
    bandwidth: np.ndarray  # float64 (runs * k * k,): bytes per second
    send: np.ndarray  # float64 (runs * k,): seconds
    tensor_bytes: np.ndarray  # float64 (runs * tensors,)
    sequence: np.ndarray  # int32 (runs * n,): ops as planned; (0,) but for PLANNED
    rank: np.ndarray  # int32 (runs * items,): as in Rule
    item: np.ndarray  # int32 (runs * items,)
    first: np.ndarray  # int32 (runs * items,): as in Classes
    transfer_rank: np.ndarray  # int64 (runs * x,): as in LinkQueues


class Batch(NamedTuple):
    """Runs one after the other, see :mod:`placelab.kernels.run.starting`; arrays of length 0 where there is only one."""

    rows: Rows
    makespan: np.ndarray  # float64 (runs,): seconds, a result; NaN of a plan that contradicts the graph
    results: Results  # a row for each run in each array, or arrays of length 0 that keep none
    queue: np.ndarray  # int64 (k * k,): queue of each pair's transfers; (0,) but for CHANNEL with rows of devices
    times: Times
    succ: Successors
    sorting: Sorting


class Arguments(NamedTuple):
    """What :func:`placelab.kernels.run.events.run_events` takes, in its order."""

    ops: Ops
    pred: Predecessors
    copies: Transfers
    receivers: Receivers
    network: Wires
    order: Scheduling
    memory: RunMemory
    contention: Contention
    devices: Devices
    events: EventQueue
    clock: Clock
    answer: np.ndarray  # int64 (1,): the op that a run-time rule chose, -1 for none
    results: Results
    batch: Batch

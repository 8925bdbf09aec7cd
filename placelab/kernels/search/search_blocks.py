"""Arguments of the local search's kernel, one NamedTuple per concept; those that planners take, too, are in :mod:`.blocks`.

:mod:`placelab.strategies.partitioning.portfolio` makes them. Notation: n ops, m edges, k devices; times are seconds. Arrays
that are only read are read-only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from placelab.kernels.blocks import Capacity, Predecessors, Successors, UnitNeeds, Units


class Machine(NamedTuple):
    """Devices and links."""

    contention: int  # PARALLEL, PORTS or CHANNEL
    in_port: int  # entry of a state at which ports that receive begin
    held: float  # share of its latency for which a transfer holds its ports: 1, or 0 where the latency follows
    send: np.ndarray  # float64 (k,): seconds of a Send on each device, 0 for none
    latency: np.ndarray  # float64 (k * k,): seconds, 0 within a device
    bandwidth: np.ndarray  # float64 (k * k,): bytes per second, infinite within a device


class Lengths(NamedTuple):
    """How long ops take, and what follows."""

    seconds: np.ndarray  # float64 (n * k,): of op v on device d, at v * k + d
    rest: np.ndarray  # float64 (n,): least time from the finish of each op to the end


class Sequences(NamedTuple):
    """A plan: the ops of each device, a linked list; -1 for none."""

    device: np.ndarray  # int32 (n,)
    first: np.ndarray  # int32 (k,): first op of each device
    after: np.ndarray  # int32 (n,): op after each one on its device
    before: np.ndarray  # int32 (n,): op before each one on its device


class Timing(NamedTuple):
    """When a plan runs, and states that were saved on the way: see :mod:`placelab.kernels.search.replaying`."""

    finish: np.ndarray  # float64 (n,)
    order: np.ndarray  # int32 (n,): ops by finish
    arrival: np.ndarray  # float64 (m,): when the tensor of each edge is there
    saved: np.ndarray  # float64 (rows * width,)
    chunk: int  # positions of the order between two saved states
    width: int  # entries of a state


class Pending(NamedTuple):
    """Workspace: what each device runs next."""

    state: np.ndarray  # float64 (width,): the state now
    last: np.ndarray  # int32 (k,): last op of each device, -1 for none
    up: np.ndarray  # int32 (k,): the op that it runs next, -1 for none
    due: np.ndarray  # float64 (k,): when that ends, infinite while an input is not computed
    blocked: np.ndarray  # int32 (k,): the op that computes such an input, -1 for none
    stamp: np.ndarray  # int32 (n,): number of the move for which each op was last timed


class Paths(NamedTuple):
    """Workspace: the critical path, and ways to the end."""

    path: np.ndarray  # int32 (n,): ops of the critical path, last first
    tail: np.ndarray  # float64 (n,): longest way from the finish of each op to the end
    undo: np.ndarray  # int32 (2 * n,): what moved ops followed


class Moved(NamedTuple):
    """Workspace: the units of a move, and the shortest plan that was met."""

    unit: np.ndarray  # int32 (n,)
    source: np.ndarray  # int32 (n,): device that each of them leaves
    goal: np.ndarray  # int32 (n,): device that each of them goes to
    device: np.ndarray  # int32 (n,): of each op in the shortest plan
    order: np.ndarray  # int32 (n,): ops of the shortest plan by finish


class Search(NamedTuple):
    """All that a search works on."""

    pred: Predecessors
    succ: Successors
    machine: Machine
    lengths: Lengths
    units: Units
    needs: UnitNeeds
    capacity: Capacity
    plan: Sequences  # of the plan that moves start from, or that is tried
    place: np.ndarray  # int32 (n,): position of each op in the order of the plan that moves start from
    trial: Timing  # of the plan that is tried
    run: Timing  # of the plan that moves start from
    pending: Pending
    paths: Paths
    moved: Moved
    random: np.ndarray  # int64 (1,): the state of the generator

"""What a page needs that recomputes a schedule in the browser: the problem in columns, and whether the page can compute it.

The columns are read by ``widgets/kernels/problem.ts``. Little endian: a header of 21 uint32 (version, ops, edges, tensors,
devices, groups, code of the transfer model, duplex, latency holds, code of the memory model, memory may be short, costs may be
whole, columns of measured times, ops whose device is given, planned ops, tensors whose storage is given, shared links, their
pairs, ops whose reserved bytes are not the sum of what they hold, ops whose plan may wait for memory, bits of the columns of f8
that are in parts), then the columns below in order, each from a multiple of 8 bytes on. Numbers that decide are whole. A column
in parts has first the first bytes of all its numbers, then all second ones and so on, which compresses better; those of i4 all
are.

=============  ====================================================================================================
edges          i4 consumer minus producer, i4 tensor
tensors        i4 producer
ops            i4 group; later i4 device, none where the page places the ops
devices        i4 column of the measured times (before the device of each op)
plan           i4 ops in planned order, none without a plan
storages       i4 first tensor in the storage of each tensor, none where none share any
shared links   i4 pointers by pair, i4 link, i4 pointers by link, i4 pair
costs          f8 operations, f8 bytes of tensors, f8 measured times and f8 the speeds they hold for, f8 speeds of devices,
               f8 bandwidths, f8 latencies, f8 bandwidths of shared links
memory         f8 persistent bytes of ops, f8 temporary ones, f8 reserved ones, none where they are the sum of these and of what
               the op makes, f8 bytes of devices
waits          f8 when the plan lets each op start that waits for memory, 0 for the others; none where none waits
=============  ====================================================================================================

Of tensors, producers, groups, the plan and storages the columns hold the differences of neighbours, which compress better.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from placelab.analysis.idle_time import idle_gaps
from placelab.app.widgets.gantt_wire import VERSION, joined
from placelab.base.errors import InfeasibleError
from placelab.kernels.explain import FOR_MEMORY
from placelab.planning.memory_plan import can_bind
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.problem.resource_models import TRANSFER_MODELS, held
from placelab.schedule.catalogue import partitioners, schedulers
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.schedule.whole_costs import Numbers
from placelab.simulation.event_simulation import simulate
from placelab.simulation.kernel_arrays import shared_links_of
from placelab.strategies.placing import place_only

# That the page has, as widgets/kernels/place.ts.
PARTITIONERS = (
    "single",
    "heft",
    "peft",
    "cpop",
    "min-min",
    "tf-greedy",
    "etf",
    "m-etf",
)
SCHEDULERS = ("fifo", "pct", "msr", "planned")  # as widgets/kernels/simulate.ts
AS_PLACED = "as placed"
MOST_BITS = 30  # of a number of JavaScript on which ``&`` works
MODELS = ("parallel", "sequential", "channel", "fair")  # transfer models that the page knows
MEMORIES = ("none", "edges", "dynamic", "reserved")  # memory models, by the numbers of widgets/kernels/problem.ts


def live_traits(
    schedule: Schedule, puzzle: dict[str, Any] | None = None, waiting: Sequence[int] = ()
) -> dict[str, Any]:
    """What a page has beside the chart's traits to recompute this schedule, and in their place; see :func:`why_not`.

    The page computes the schedule itself, unless it has gaps for want of memory, which the page takes for waiting.
    `puzzle`, with ``name``, ``task``, ``heft`` (None for no plan) and ``optimum``, asks the reader for a plan by hand; `waiting`
    are ops in its tray, to be placed one by one.
    """
    cluster = schedule.problem.cluster
    fixed = why_fixed(schedule.problem)
    still = fixed or why_still(schedule)
    return {
        "problem": pack_problem(schedule, placed=bool(still) or not _is_found_again(schedule)),
        **({} if (idle_gaps(schedule)["reason"] == FOR_MEMORY).any() else {"schedule": b"", "memory": b""}),
        "live": {
            "partitioners": [AS_PLACED] if fixed or puzzle else [AS_PLACED, *PARTITIONERS],
            "partitioner": AS_PLACED if still else schedule.placement.partitioner,
            "schedulers": list(SCHEDULERS),
            "scheduler": schedule.scheduler,
            "models": list(MODELS),
            "transfers": schedule.problem.transfers,
            "memories": list(MEMORIES),
            "memory": schedule.problem.memory,
            "still": still,
            "proven": schedule.placement.proven(schedule.makespan),
            "names": list(cluster.names),
            "types": list(cluster.types),
            "hosts": list(cluster.hosts),
            **_allowed(schedule.problem),
            **({"puzzle": puzzle} if puzzle else {}),
            **({"waiting": list(waiting)} if waiting else {}),
            "links": [{"name": link.name, "pairs": [list(pair) for pair in link.pairs]} for link in cluster.links],
        },
    }


def _allowed(problem: Problem) -> dict[str, list[int] | None]:
    """Devices that may run each op, as bits; nothing where they are too many for that."""
    k = problem.cluster.n_devices
    if not problem.restricted:
        return {"allowed": None}
    return {"allowed": (problem.may_run @ (1 << np.arange(k))).tolist()} if k <= MOST_BITS else {}


def pack_problem(schedule: Schedule, placed: bool = True) -> bytes:
    """The columns of the schedule's problem, and of its placement, unless the page finds that by the same partitioner."""
    problem = schedule.problem
    placement = schedule.placement
    graph = problem.graph
    cluster = problem.cluster
    k = cluster.n_devices
    links = shared_links_of(cluster.links, k)
    whole = lambda column: np.asarray(column, "<i4")  # noqa: E731
    steps = lambda column: np.diff(np.asarray(column, "<i4"), prepend=np.int32(0)).astype("<i4")  # noqa: E731
    real = lambda column: np.asarray(column, "<f8").reshape(-1)  # noqa: E731
    may_be_whole = _may_be_whole(graph)
    columns = _time_columns(problem)
    times, speeds = (np.empty((0, 0)), np.empty(0)) if graph.time is None else (graph.time, graph.time_speed)
    if not may_be_whole:  # then other columns than those of the devices say nothing
        used = sorted({column for column in columns if column >= 0})
        times = times[:, used]
        speeds = speeds[used]
        columns = [used.index(column) if column >= 0 else -1 for column in columns]
    device = placement.device if placed else np.empty(0)
    planned = np.empty(0) if placement.planned is None or not placed else placement.planned
    counts = [graph.n_ops, graph.n_edges, graph.n_tensors, k, problem.n_groups, problem.transfer_model.code]
    rules = [problem.duplex, held(problem.latency), problem.memory_model.code, can_bind(problem), may_be_whole]
    storage = np.empty(0) if graph.tensor_storage is None else graph.tensor_storage
    reserved = _reserved(graph)
    waits = _waits(placement) if placed else np.empty(0)
    optional = (speeds, device, planned, storage, links.capacity, links.link, reserved, waits)
    whole_numbers = (
        whole(graph.consumer - graph.producer),
        *map(steps, (graph.edge_tensor, graph.tensor_producer, problem.group)),
        *map(whole, (columns, device)),
        *map(steps, (planned, storage)),
        *map(whole, (links.ptr, links.link, links.first, links.pair)),
    )
    reals = (
        *map(real, (graph.compute, graph.tensor_bytes, times, speeds)),
        *map(real, (cluster.speed, cluster.bandwidth, cluster.latency, links.capacity)),
        *map(real, (graph.persistent, graph.temporary, reserved, cluster.memory, waits)),
    )
    parted = [_is_smaller(_by_byte(column), column) for column in reals]
    header = [VERSION, *counts, *rules, *map(len, optional), sum(is_so << i for i, is_so in enumerate(parted))]
    return joined(
        [
            np.array(header, "<u4"),
            *map(_by_byte, whole_numbers),
            *(_by_byte(column) if is_so else column for column, is_so in zip(reals, parted, strict=True)),
        ]
    )


def _by_byte(column: np.ndarray) -> np.ndarray:
    """The first bytes of all numbers, then their second ones and so on."""
    return column.view("u1").reshape(-1, column.itemsize).T


def _is_smaller(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether a column compresses better than another one."""
    return len(zlib.compress(one.tobytes(), 6)) < len(zlib.compress(other.tobytes(), 6))


def _may_be_whole(graph: OpGraph) -> bool:
    """Whether costs may be whole in some decimal unit, on some cluster (:func:`placelab.schedule.whole_costs.in_whole_costs`)."""
    columns = [graph.compute, graph.tensor_bytes, *([] if graph.time is None else [graph.time])]
    return all(Numbers.of(column).parts for column in columns)


def _reserved(graph: OpGraph) -> np.ndarray:
    """The column ``memory`` of the graph, empty where it is what it is by default."""
    usual = np.array_equal(graph.memory, graph.persistent + graph.temporary + graph.new_bytes)
    return np.empty(0) if usual else graph.memory


def _time_columns(problem: Problem) -> list[int]:
    """The column of the graph's measured times that holds for each device, -1 for none."""
    graph = problem.graph
    if graph.time is None:
        return [-1] * problem.cluster.n_devices
    pairs = zip(problem.cluster.names, problem.cluster.types, strict=True)
    return [graph.time_column(name, kind) for name, kind in pairs]


def times_known(problem: Problem) -> bool:
    """Whether all times are operations over speed, or all are measured: of the two together the page knows nothing."""
    columns = _time_columns(problem)
    return problem.graph.time is None or (min(columns) >= 0 and not np.isnan(problem.graph.time[:, columns]).any())


def why_not(schedule: Schedule) -> str:
    """Why a page cannot recompute this schedule, to end a sentence; "" where it can."""
    problem = schedule.problem
    if schedule.scheduler not in SCHEDULERS:
        return f"it does not know the scheduler {schedule.scheduler or 'of given times'!r}"
    if TRANSFER_MODELS.get(problem.transfers) is not problem.transfer_model or problem.transfers not in MODELS:
        return f"it does not know the transfer model {problem.transfers!r}"
    if problem.transfer_ops:
        return "it does not know Send ops (transfer_ops)"
    if not times_known(problem):
        return "some ops have no measured time on some device"
    if _differs(schedule, simulate(problem, schedule.placement, schedulers()[schedule.scheduler])):
        return "its run has options, or ops that wait for memory"
    return ""


def why_fixed(problem: Problem) -> str:
    """Why a page that recomputes runs of this problem places no ops, as a sentence; "" where it does."""
    return "Some ops may not run on some devices, which the page does not plan for." if problem.restricted else ""


def why_still(schedule: Schedule) -> str:
    """Why a page begins with the ops on their devices, as a sentence; "" where it places them anew after each change."""
    mine = schedule.placement
    by = mine.partitioner
    if by not in PARTITIONERS:
        return f"It does not have the partitioner {by!r}." if by else "The ops were placed by hand."
    again = place_only(schedule.problem, by)
    order, own = (np.empty(0) if each.planned is None else each.planned for each in (again, mine))
    same = np.array_equal(order, own) and np.array_equal(again.device, mine.device)
    same = same and np.array_equal(_waits(again), _waits(mine))
    return "" if same else f"The placement is not what {by!r} gives by itself."


def _is_found_again(schedule: Schedule) -> bool:
    """Whether a page finds the placement, which is the partitioner's: not where another plan stands in for want of memory."""
    problem = schedule.problem
    mine = schedule.placement
    if not can_bind(problem):
        return True
    try:
        plain = partitioners()[mine.partitioner](problem)
    except InfeasibleError:
        return False
    if len(_waits(mine)) or not np.array_equal(plain.device, mine.device):
        return False
    return plain.planned is None or not len(simulate(problem, plain, schedulers()["planned"]).oom)


def _waits(placement: Placement) -> np.ndarray:
    """When the plan lets each op start that waits for memory [s], 0 for the others; empty where none waits."""
    return np.empty(0) if placement.not_before is None else placement.not_before


def _differs(schedule: Schedule, again: Schedule) -> bool:
    return not (np.array_equal(schedule.start, again.start) and np.array_equal(schedule.finish, again.finish))

"""Compute the papers' measures of a schedule, of the stages of a pipelined training step, and of the use of devices and links."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from placelab.analysis.explanation import KINDS
from placelab.base.errors import UnsupportedError, expect
from placelab.base.interrupts import need
from placelab.base.once import once
from placelab.planning.input_bound import least_exec
from placelab.planning.lower_bounds import best_bound, busiest, critical_length, sct_ratio, transfer_times
from placelab.problem.pipeline_columns import Pipeline, pipeline_of
from placelab.problem.problem import Problem
from placelab.schedule.critical_steps import critical_steps, free_again
from placelab.schedule.schedule import Schedule, busy_time

if TYPE_CHECKING:
    import pandas as pd

ROUNDING = 1e-9  # relative: what is equal is summed in different orders


def metrics(schedule: Schedule) -> dict[str, float]:
    r"""Measures of a schedule by name, not rounded; NaN where a measure is undefined.

    =======================  ========================================================================================
    ``makespan``             finish of the last op [s]
    ``speedup``              Σ exec on the best single device that may run all ops (memory aside), over the makespan
    ``slr``                  schedule length ratio: makespan over the longest path at least times (Topcuoglu), 1 or more
    ``efficiency``           speedup / number of devices; above 1 only where some op runs faster elsewhere than on the best
                             single device
    ``utilisation``          share of time that a device runs ops or Sends, mean over devices
    ``load_balance``         mean over maximum of the devices' busy time; 1 is even
    ``memory_balance``       mean over maximum of the devices' peak memory
    ``bytes_moved``          bytes of all transfers
    ``transfers``            their number
    ``ordering_efficiency``  :math:`E = (U - t) / (U - L)`: t the makespan, U the sum of all op, Send and transfer
                             times, L the busiest resource (:func:`placelab.bounds`); 1 if U = L (Hashemi §1),
                             which includes a relative difference of 1e-9, the rounding of the sums; below 0 only if
                             an order keeps all devices and links waiting
    ``critical_compute``     seconds of the realised critical path (:func:`placelab.critical_path`) in ops,
    ``critical_transfer``    in transfers and Sends,
    ``critical_wait``        and in line for a device or link; the three sum to the makespan
    ``bound_gap``            makespan over the best lower bound known, the partitioner's proof included, minus 1
    ``sct_ratio``            ρ of the problem: longest transfer over shortest op; the SCT assumption is ρ ≤ 1
    =======================  ========================================================================================

    A training step of stages and micro-batches (:mod:`placelab.problem.pipeline_columns`) has three more, see
    :func:`placelab.analysis.measures.bubbles`: ``bubble`` and ``bubble_span`` [s], ``peak_activations``.

    References
    ----------
    Topcuoglu et al. (2002) §5; Hashemi et al. (2018) §1; Srivastava (2018) §3.3.1, §4.3.
    """
    expect(schedule, Schedule, "metrics")
    return metrics_by(schedule, best_bound(schedule.problem))


def metrics_by(schedule: Schedule, bound: float) -> dict[str, float]:
    """:func:`metrics` with the gap to this lower bound [s]; NaN: none is known yet."""
    problem = schedule.problem
    t = schedule.makespan
    busy = busy_time(schedule)
    most = critical_length(problem, least_exec(problem))
    speedup = _ratio(best_single(problem), t)
    split = _critical_split(schedule)
    return {
        "makespan": t,
        "speedup": speedup,
        "slr": within(_ratio(t, most), low=1.0),
        "efficiency": speedup / problem.cluster.n_devices,
        "utilisation": within(_ratio(float(busy.mean()), t), high=1.0),
        "load_balance": _balance(busy),
        "memory_balance": _balance(schedule.peak_memory),
        "bytes_moved": float(problem.graph.tensor_bytes[schedule.transfers["tensor"]].sum()),
        "transfers": len(schedule.transfers),
        "ordering_efficiency": ordering_efficiency(schedule),
        "critical_compute": split["op"],
        "critical_transfer": split["transfer"],
        "critical_wait": split["wait"],
        "bound_gap": gap_to(t, max(bound, schedule.placement.proven(t))),
        "sct_ratio": sct_ratio(problem),
        **bubbles(schedule),
    }


def best_single(problem: Problem) -> float:
    """Least Σ exec over the devices that may run all ops [s], NaN when there is none. Memory is left out."""
    total = (problem.cost_table.sum(axis=0)[problem.column] / problem.divisor)[problem.runs_all]
    return float(total.min()) if len(total) else np.nan


def ordering_efficiency(schedule: Schedule) -> float:
    """E = (U − t) / (U − L), see :func:`metrics`; at most 1, 0 when nothing overlaps, and 1 when U = L up to rounding."""
    problem = schedule.problem
    moved = schedule.transfers
    took = transfer_times(problem, moved["tensor"], moved["source"], moved["destination"])
    most = float(busy_time(schedule).sum() + took.sum())
    least = max(busiest(problem, schedule.device, moved["tensor"], moved["destination"]).values())
    end = within(schedule.makespan, least, most)
    return 1.0 if most <= least * (1 + ROUNDING) else (most - end) / (most - least)


def gap_to(makespan: float, bound: float) -> float:
    """Makespan over a lower bound minus 1; NaN where the bound says nothing."""
    return within(_ratio(makespan, bound), low=1.0) - 1.0


def within(value: float, low: float = -np.inf, high: float = np.inf) -> float:
    """The value; the end of its range where it is beyond it by no more than rounding."""
    nearest = min(max(value, low), high)
    return nearest if abs(value - nearest) <= ROUNDING * abs(nearest) else value


def _critical_split(schedule: Schedule) -> dict[str, float]:
    steps = critical_steps(schedule)
    spent = np.bincount(steps["kind"], steps["finish"] - steps["start"], minlength=len(KINDS))
    return dict(zip(KINDS, spent.tolist(), strict=True))


def _balance(use: np.ndarray) -> float:
    return within(_ratio(float(use.mean()), float(use.max())), high=1.0)


def _ratio(a: float, b: float) -> float:
    return a / b if b > 0 else 1.0 if a == 0 else np.nan


WORK = ("F", "B", "W", "BW", "FB")


def stages(schedule: Schedule) -> pd.DataFrame:
    """Use of each device of a pipelined training step.

    Returns
    -------
    DataFrame
        A row per device that runs stages, by replica and first stage: ``device``; ``replica``, its number; ``stages``, how many;
        ``busy``, seconds of its ops (``F``, ``B``, ``W``, ``BW``, ``FB``); ``span``, from the start of the first to the finish
        of the last; ``idle``, the span less busy; ``activations``, the most forward passes of a micro-batch through a stage that
        it holds at a time, each from its start until its last backward op has finished; ``memory``, peak bytes.

    Raises
    ------
    UnsupportedError
        The graph has no stages and micro-batches.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.generators.pipeline_training(1.0, 2.0, microbatches=4, stages=2)
    >>> stages(pl.simulate(problem, pl.place(problem, "heft"), "1f1b"))["activations"].tolist()
    [2, 1]
    """
    need("pandas")
    import pandas as pd

    expect(schedule, Schedule, "stages")
    pipeline = pipeline_of(schedule.problem.graph)
    if pipeline is None:
        raise UnsupportedError(
            f"stages measures a training step of stages and micro-batches, and {schedule.problem.graph.title} has none; "
            "make one with generators.pipeline_training or transforms.microbatches"
        )
    ops = np.flatnonzero(np.isin(pipeline.phase, WORK))
    first = np.full(schedule.problem.cluster.n_devices, pipeline.stages)
    np.minimum.at(first, schedule.device[ops], pipeline.stage[ops])
    replica = np.zeros_like(first)
    replica[schedule.device[ops]] = pipeline.replica[ops]
    used = [int(d) for d in np.lexsort((first, replica)) if first[d] < pipeline.stages]
    rows = [_row(schedule, pipeline, ops[schedule.device[ops] == d], d) for d in used]
    return pd.DataFrame(rows)


def _row(schedule: Schedule, pipeline: Pipeline, ops: np.ndarray, d: int) -> dict[str, object]:
    start = schedule.start[ops]
    finish = schedule.finish[ops]
    span = float(finish.max() - start.min())
    busy = min(float((finish - start).sum()), span)  # the sum may be rounded up
    return {
        "device": schedule.problem.cluster.names[d],
        "replica": int(pipeline.replica[ops[0]]),
        "stages": len(np.unique(pipeline.stage[ops] + pipeline.stages * pipeline.replica[ops])),
        "busy": busy,
        "span": span,
        "idle": span - busy,
        "activations": _held(schedule, pipeline, ops),
        "memory": float(schedule.peak_memory[d]),
    }


def _held(schedule: Schedule, pipeline: Pipeline, ops: np.ndarray) -> int:
    """The most forward passes held at a time; what an instant frees is free for what starts then."""
    sizes = (pipeline.replicas, pipeline.microbatches, pipeline.stages)
    key = np.ravel_multi_index((pipeline.replica[ops], pipeline.microbatch[ops], pipeline.stage[ops]), sizes)
    forward = np.isin(pipeline.phase[ops], ("F", "FB"))
    begin = schedule.start[ops[forward]]
    until = np.zeros(int(np.prod(sizes)))
    np.maximum.at(until, key, schedule.finish[ops])
    merged = ops[pipeline.phase[ops] == "FB"]
    other = np.ravel_multi_index(tuple(pipeline.backward[merged].T[[2, 0, 1]]), sizes)
    np.maximum.at(until, other, schedule.finish[merged])
    end = until[key[forward]]
    held = end > begin
    time = np.concatenate([end[held], begin[held]])
    change = np.repeat([-1, 1], int(held.sum()))
    return int(np.cumsum(change[np.argsort(time, kind="stable")]).max(initial=0))


@once
def bubbles(schedule: Schedule) -> dict[str, float]:
    """Bubbles of a pipelined training step [s], and its peak of activations; {} for other graphs.

    ``bubble``: the makespan less the time of the busiest device's ops. ``bubble_span``: the longest span of a device instead of
    the makespan, as papers on zero bubbles count. ``peak_activations``: the most that a device holds, see
    :func:`~placelab.stages`.
    """
    if pipeline_of(schedule.problem.graph) is None:
        return {}
    table = stages(schedule)
    busiest = float(table["busy"].max())
    return {
        "bubble": max(schedule.makespan - busiest, 0.0),
        "bubble_span": max(float(table["span"].max()) - busiest, 0.0),
        "peak_activations": float(table["activations"].max()),
    }


# -------------------------------------------------------------------- the use of devices and links


class LinkUse(NamedTuple):
    """What one link carries.

    Attributes
    ----------
    name : str
        Of a link that transfers of several pairs of devices share; "" of the way from one device to another.
    pairs : frozenset of (source, destination)
        Names of the devices between which it carries.
    busy : float
        Seconds in which something is on it; transfers at the same time count once.
    carried : float
        Bytes.
    """

    name: str
    pairs: frozenset[tuple[str, str]]
    busy: float
    carried: float


def device_use(schedule: Schedule) -> dict[str, tuple[float, float, float]]:
    """Of each device, by name: seconds in which it runs ops and Sends, other seconds of the makespan, peak memory [bytes]."""
    busy = busy_time(schedule)
    idle = np.maximum(schedule.makespan - busy, 0.0)
    each = zip(busy.tolist(), idle.tolist(), schedule.peak_memory.tolist(), strict=True)
    return dict(zip(schedule.problem.cluster.names, each, strict=True))


def link_use(schedule: Schedule) -> list[LinkUse]:
    """The links that carry something: those that are shared, under a model that has them, then ways between two devices."""
    cluster = schedule.problem.cluster
    names = cluster.names
    k = cluster.n_devices
    moved = schedule.transfers
    way = moved["source"].astype(np.int64) * k + moved["destination"]
    size = schedule.problem.graph.tensor_bytes[moved["tensor"]]
    until = free_again(schedule)
    used = []
    alone = np.ones(len(way), bool)
    for link in cluster.links if schedule.problem.transfer_model.shared else ():
        ours = np.isin(way, [source * k + target for source, target in link.pairs])
        alone &= ~ours
        if ours.any():
            (busy,) = covered(np.zeros(int(ours.sum()), np.int64), moved["start"][ours], until[ours], 1)
            pairs = frozenset((names[source], names[target]) for source, target in link.pairs)
            used.append(LinkUse(link.name, pairs, float(busy), float(size[ours].sum())))
    ways, of = np.unique(way[alone], return_inverse=True)
    busy = covered(of, moved["start"][alone], until[alone], len(ways))
    total = np.bincount(of, size[alone], minlength=len(ways))
    for number, seconds, carried in zip(ways.tolist(), busy.tolist(), total.tolist(), strict=True):
        source, target = divmod(number, k)
        used.append(LinkUse("", frozenset({(names[source], names[target])}), seconds, carried))
    return used


def link_load(schedule: Schedule) -> np.ndarray:
    """Share of the makespan in which each link is busy, shape (n_devices, n_devices); overlapping transfers count once."""
    k = schedule.problem.cluster.n_devices
    moved = schedule.transfers
    way = moved["source"].astype(np.int64) * k + moved["destination"]
    busy = covered(way, moved["start"], free_again(schedule), k * k).reshape(k, k)
    return busy / schedule.makespan if schedule.makespan else busy


def covered(key: np.ndarray, start: np.ndarray, finish: np.ndarray, n: int) -> np.ndarray:
    """Seconds that the spans of each of `n` keys cover together, shape (n,); where some overlap, they count once."""
    order = np.lexsort((start, key))
    key = key[order]
    start = start[order]
    finish = finish[order]
    # Shifts the keys behind each other, so that one running maximum serves all.
    apart = key * (2.0 * finish.max(initial=0.0))
    until = np.maximum.accumulate(finish + apart)[:-1] if len(key) else finish
    begin = np.maximum(start, np.concatenate([[0.0], until])[: len(key)] - apart)
    return np.bincount(key, np.maximum(finish - begin, 0.0), minlength=n)

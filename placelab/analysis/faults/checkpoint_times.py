"""Seconds that a checkpoint takes: devices that write or read their variables, beside a step or within it."""

from __future__ import annotations

from typing import Any

import numpy as np

from placelab.base.errors import expect
from placelab.graphs.transforms.checkpoint_ops import RESTORE, SAVE, checkpoint_nodes, disk_rates
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate


def disk_time(placement: Placement | Schedule, *, disk: Any) -> float:
    """Seconds until every device has written, or read, the persistent bytes of its ops, all at once.

    Parameters
    ----------
    placement
        Where the ops are: a placement or a schedule.
    disk
        Bytes/s of a device's disk, a number or one per device.

    Returns
    -------
    float
        The greatest quotient of bytes and `disk`: a `save` or a `restore` of :func:`simulate_training` between steps.
    """
    expect(placement, (Placement, Schedule), "disk_time")
    problem = placement.problem
    rate = disk_rates(disk, problem.cluster.n_devices)
    held = np.bincount(placement.device, problem.graph.persistent, minlength=problem.cluster.n_devices)
    return float((held / rate).max())


def step_with_nodes(schedule: Schedule, *, disk: Any, save: bool = True, restore: bool = True) -> Schedule:
    """Simulate the step of a schedule with Save and Restore ops: same placement, same scheduler.

    Parameters
    ----------
    schedule, disk, save, restore
        See :func:`placelab.transforms.checkpoint_nodes`. A planned order has Restore ops first and Save ops last.

    Examples
    --------
    >>> import placelab as pl
    >>> g = pl.OpGraph.from_arrays(["x", "y"], [2.0, 3.0], [(0, 1)], edge_bytes=[1.0], persistent=[4.0, 6.0])
    >>> problem = pl.Problem(g, pl.Cluster([1.0, 1.0], bandwidth=1.0))
    >>> step = pl.simulate(problem, pl.Placement(problem, [0, 1]))
    >>> with_nodes = lambda **which: step_with_nodes(step, disk=2.0, **which).makespan
    >>> step.makespan, with_nodes(save=False), with_nodes(restore=False), with_nodes()
    (6.0, 8.0, 9.0, 11.0)
    """
    expect(schedule, Schedule, "step_with_nodes")
    problem = checkpoint_nodes(schedule.problem, disk=disk, save=save, restore=restore)
    options = dict(seed=schedule.seed, oom=schedule.shortage, **schedule.options)
    return simulate(problem, _placed(schedule.placement, problem), schedule.scheduler or None, **options)


def node_times(schedule: Schedule, *, disk: Any) -> tuple[float, float]:
    """Seconds by which Save ops, and by which Restore ops, lengthen a step: `save` and `restore` of a run.

    Parameters
    ----------
    schedule, disk
        See :func:`step_with_nodes`.

    Returns
    -------
    (float, float)
        Less than :func:`disk_time` where a device reads or writes while others compute; 0 where the step gets no longer.
    """
    longer = (
        step_with_nodes(schedule, disk=disk, save=save, restore=not save).makespan - schedule.makespan
        for save in (True, False)
    )
    save, restore = (max(seconds, 0.0) for seconds in longer)
    return save, restore


def _placed(placement: Placement, problem: Problem) -> Placement:
    """The placement of the step with Save and Restore ops: each where its variable is."""
    old, new = placement.problem.graph, problem.graph
    number = np.array([new._index[name] for name in old.names])
    device, added = np.full(new.n_ops, -1, dtype=np.int32), np.ones(new.n_ops, dtype=bool)
    device[number], added[number] = placement.device, False
    extra = np.flatnonzero(added)
    for v in extra:
        device[v] = placement.device[old.index(new.names[v].partition("/")[2])]
    planned, not_before = None, None
    if placement.planned is not None:
        restores, saves = (extra[new.kind[extra] == kind] for kind in (RESTORE, SAVE))
        planned = np.concatenate([restores, number[placement.planned], saves]).astype(np.int32)
    if placement.not_before is not None:
        not_before = np.zeros(new.n_ops)
        not_before[number] = placement.not_before
    return Placement(problem, device, planned=planned, partitioner=placement.partitioner, not_before=not_before)

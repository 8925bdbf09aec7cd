"""Duplex: the shorter of the plans of min-min and max-min."""

from __future__ import annotations

from placelab.base.errors import InfeasibleError
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import partitioner, partitioners
from placelab.schedule.placement import Placement


@partitioner(source="Braun et al. 2001")
def duplex(problem: Problem, *, batch: bool = False, trace: bool = False) -> Placement:
    """Duplex: the plans of ``min-min`` and of ``max-min``, of which the shorter one is taken.

    Parameters
    ----------
    batch
        Of both: round by round, as published for independent ops.

    Notes
    -----
    A tie goes to ``min-min``. Where one of them has no room for an op, the other's plan is taken. Twice the time of
    ``min-min``.
    """
    plans: list[Placement] = []
    for name in ("min-min", "max-min"):
        try:
            plans.append(partitioners()[name](problem, batch=batch, trace=trace))
        except InfeasibleError as error:
            refused = error
    if not plans:
        raise refused
    return min(plans, key=lambda plan: plan.estimate or 0.0)

"""Timing-independent communication order: parameters that few ops need together are read first."""

from __future__ import annotations

import numpy as np

from placelab.kernels.plan.read_orders import least_shared
from placelab.planning.read_orders import Reads
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import scheduler
from placelab.schedule.order import Order
from placelab.schedule.placement import Placement


@scheduler(static=True, source="Hashemi et al. 2018, eq. 3")
def tic(problem: Problem, placement: Placement) -> Order:
    r"""Order the reads of each worker by the fewest reads that an op needs together with them.

    .. math:: M^+(r) = \min \{ |Dep(v)| : r \in Dep(v), |Dep(v)| > 1 \}

    Dep(v) are the reads that v depends on through data edges within the copy of its worker and iteration. Reads travel by rising
    :math:`M^+`, last those that no op needs together with another; ties: earliest consumer, then lower tensor number. Ops, and
    transfers that are no reads, are first come, first served; the latter go before reads.

    Notes
    -----
    Reads are ops of kind ``read`` or ``ReadVariableOp``, or named ``…/read``; if none is sent, what leaves devices of type
    ``ps``; if nothing does, ops without inputs. Transfers queue under ``sequential`` and ``channel`` only. Costs do not count.
    O((ops + edges) · reads / 62).
    """
    reads = Reads.of(problem, placement)
    copies = reads.copies()
    n = len(reads.member)
    least = np.empty(n)
    least_shared(copies, np.empty(n, np.int64), np.empty(n, np.int32), least)
    order = np.lexsort((np.arange(len(reads.op)), least[copies.read], reads.copy[reads.op]))
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order)) - reads.ptr[reads.copy[reads.op[order]]]
    return reads.order(position)

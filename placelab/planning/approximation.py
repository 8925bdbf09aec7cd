"""Proven approximation ratios of partitioners, for problems that meet their assumptions."""

from __future__ import annotations

import numpy as np

from placelab.base.errors import expect
from placelab.planning.lower_bounds import least_exec
from placelab.planning.memory_plan import can_bind
from placelab.problem.problem import Problem


def ratios(problem: Problem) -> dict[str, float]:
    r"""Proven approximation ratios that apply to a problem: makespan of the planned schedule over the optimum, at most.

    With m devices, ρ the :func:`~placelab.planning.approximation.sct_ratio` and K the memory of all
    devices over the memory that all ops need:

    - ``etf``, ``m-etf``: :math:`2 + ρ - 1/m`, for any finite ρ;
    - ``sct``: :math:`α = \frac{4 + 3ρ}{2 + ρ} - \frac{2 + 2ρ}{m (2 + ρ)}`, for ρ ≤ 1, as the two below;
    - ``sct, infinite machines``: :math:`\frac{2 + 2ρ}{2 + ρ}`, of the rounded LP's schedule when devices abound;
    - ``m-sct``: :math:`α + \left(1 + \frac{2 + 2ρ}{(2 + ρ) m}\right) \frac{1}{K - 1}`, as published, for K > 1.

    Returns
    -------
    dict
        Empty unless devices are identical, links uniform and ``parallel``, transfers without Send ops, and no op is grouped
        or restricted. Where memory may bind (:func:`placelab.planning.memory_plan.can_bind`) only ``m-sct``, and that only under
        ``reserved``, the model it was published for.

    Notes
    -----
    They hold for default options and the ``planned`` scheduler. O(ops).

    The published proof of ``m-sct`` treats memory as divisible. On two devices of 4 units each, three ops of 1, 1 and 4 units
    (K = 4/3) that cost the same and share no edge have a placement, but m-SCT spreads the first two, and the third
    fits nowhere. So it is a ratio only where no device was excluded for want of memory, and there ``sct``'s holds too.

    References
    ----------
    Hwang, Chow, Anger, Lee (1989) (ETF); Hanen, Munier (1995) (SCT); Srivastava (2018) §4.2–4.3, Theorem 4.1. The thesis
    writes that ETF's ratio is 3 "when ρ approaches 2": 1 is meant.

    Examples
    --------
    >>> import placelab as pl
    >>> graph = pl.OpGraph.from_arrays(["u", "a", "b"], [1, 1, 1], [(0, 1), (0, 2)], edge_bytes=[1, 1])
    >>> for name, most in ratios(pl.Problem(graph, pl.Cluster([1, 1], bandwidth=1))).items():
    ...     print(f"{name}: {most:.3g}")
    etf: 2.5
    m-etf: 2.5
    sct: 1.67
    sct, infinite machines: 1.33
    m-sct: 1.67
    """
    expect(problem, Problem, "ratios")
    rho, m = sct_ratio(problem), problem.cluster.n_devices
    ratio: dict[str, float] = {}
    if not _is_uniform(problem) or rho == np.inf:
        return ratio
    binds = can_bind(problem)
    if not binds:
        ratio |= dict.fromkeys(("etf", "m-etf"), 2 + rho - 1 / m)
    if rho > 1:
        return ratio
    infinite = (2 + 2 * rho) / (2 + rho)
    sct = (4 + 3 * rho) / (2 + rho) - infinite / m
    if not binds:
        ratio |= {"sct": sct, "sct, infinite machines": infinite}
    k = _memory_ratio(problem, binds)
    if k > 1:
        ratio["m-sct"] = sct + (1 + infinite / m) / (k - 1)
    return ratio


def claim(problem: Problem, partitioner: str) -> str | None:
    """The proven ratio of a partitioner's plan, as a sentence; None where none applies, or where ρ > 1."""
    plain = partitioner.removeprefix("m-")  # with room for everything, m-SCT is SCT
    if plain not in ("etf", "sct") or can_bind(problem) or (rho := sct_ratio(problem)) > 1:
        return None
    most = ratios(problem).get(plain)
    sentence = f"proven: the planned order takes at most {{:.3g}} times the optimum ({partitioner}, ρ = {rho:.3g})"
    return None if most is None else sentence.format(most)


def sct_ratio(problem: Problem) -> float:
    """ρ = longest transfer of a tensor between two devices over the shortest op on a device it may run on.

    0 when nothing is ever sent or a transfer takes no time; inf when an op takes no time and a transfer some.
    """
    graph, cluster = problem.graph, problem.cluster
    if not graph.n_edges or cluster.n_devices == 1:
        return 0.0
    longest = float((cluster.latency + graph.edge_bytes.max() / cluster.bandwidth).max())  # 0 on the diagonal
    shortest = float(least_exec(problem).min())
    if longest == 0.0:
        return 0.0
    return longest / shortest if shortest > 0 else np.inf


def _is_uniform(problem: Problem) -> bool:
    """Whether every ratio's assumptions hold: equal devices, equal links, unrestricted ops, and no queues for links."""
    cluster = problem.cluster
    free = not problem.restricted and not problem.n_groups
    plain = not problem.transfer_model.queue and not problem.transfer_ops
    apart = ~np.eye(cluster.n_devices, dtype=bool)
    links = all((matrix[apart] == matrix[0, -1]).all() for matrix in (cluster.latency, cluster.bandwidth))
    return bool(free and plain and links and _are_identical(problem))


def _are_identical(problem: Problem) -> bool:
    """Whether every op takes as long on each device."""
    if (problem.divisor != problem.divisor[0]).any():
        return False
    table = problem.cost_table
    return bool((table == table[:, :1]).all())


def _memory_ratio(problem: Problem, binds: bool) -> float:
    """K of :func:`ratios`; inf where memory cannot bind, 0 where m-SCT's ratio does not cover the memory model."""
    if problem.memory == "none" or (not binds and problem.memory != "reserved"):
        return np.inf
    memory, needed = problem.cluster.memory, problem.graph.memory.sum()
    if problem.memory != "reserved" or not (memory == memory[0]).all():
        return 0.0
    return float(memory.sum() / needed) if needed else np.inf

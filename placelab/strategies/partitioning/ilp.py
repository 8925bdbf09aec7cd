"""Exact search for the shortest plan of a very small problem, with a proof: the thesis' integer linear program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from placelab.base.errors import UnsupportedError
from placelab.base.progress import Report, never, silent
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, partitioner
from placelab.schedule.placement import Placement
from placelab.strategies.partitioning.heft import heft
from placelab.strategies.searches.fallback import warm
from placelab.strategies.searches.ilp_model import left_out, search
from placelab.strategies.searches.incumbent import Incumbent


@partitioner(source="Srivastava 2018 §4.4", slow=True, packages=("scipy", "cvxpy", "highspy"))
def ilp(
    problem: Problem,
    *,
    max_ops: int = 12,
    time_limit: Annotated[float, Limits(0)] = 60.0,
    seed: int = 0,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> Placement:
    r"""Exact: the integer linear program with an order bit per pair of ops, stated with cvxpy and solved by HiGHS.

    .. math:: \min w, \quad s_v + exec_v \le w, \quad s_u + exec_u + c_{uv} (1 - same_{uv}) \le s_v, \quad
              \text{one op at a time per device}

    Parameters
    ----------
    max_ops
        Larger problems are refused. So many ops take seconds; one more can take more than a minute.
    time_limit
        Seconds of the clock after which the search stops. What it has then depends on the machine.
    seed
        Of the solver's random choices.

    Returns
    -------
    Placement
        `estimate` is the makespan of the plan as ``simulate(problem, placement, "planned")`` runs it, `bound` a proven lower
        bound on every schedule, `notes` say "proven optimal", or how far from the optimum the plan can be at most.
        That run is within memory; ops that must wait for room have their times in `not_before`.

    Raises
    ------
    UnsupportedError
        More than `max_ops` ops, memory over time ruled out every plan that was found, or a limit ended the search before it
        found one.
    InfeasibleError
        The memory that ops keep for the whole run fits on the devices in no way.

    Notes
    -----
    The rows and the misprints corrected are in :mod:`placelab.strategies.searches.ilp_model`. ``heft`` bounds the windows of
    the starts. Extended to unequal devices and links, groups and allowed devices; a tensor travels once per device. Contention
    for links (``sequential``, ``channel``), the time Sends take, and memory over time (``edges``, ``dynamic``, beyond the
    persistent bytes) are left out: there the bound holds but may be out of reach, and of the plans found the one whose run,
    with all that, ends first is returned.

    The order rows are weak, as they hold only where both ops share a device: ``cp-sat`` states the same without them. Of equal
    plans the one found first. Exponential in ops at worst.

    References
    ----------
    Srivastava (2018) §4.4; the infinite-machine part Hanen & Munier (1995).
    """
    if problem.graph.n_ops > max_ops:
        raise UnsupportedError(
            f"ilp takes up to {max_ops:,} ops, this problem has {problem.graph.n_ops:,}; place with 'cp-sat', which takes more, "
            "or raise max_ops and wait"
        )
    incumbent = Incumbent(problem, "solving the program", progress, left_out(problem))
    warm(incumbent, (heft,), cancel)
    return incumbent.result("ilp", search(problem, incumbent, time_limit, seed, cancel))

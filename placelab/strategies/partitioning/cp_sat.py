"""Exact search for the shortest plan of a small problem, with a proof: constraint programming."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Annotated

from placelab.base.errors import UnsupportedError
from placelab.base.progress import Report, never, silent
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, partitioner
from placelab.schedule.placement import Placement
from placelab.strategies.partitioning.cpop import cpop
from placelab.strategies.partitioning.etf import m_etf
from placelab.strategies.partitioning.heft import heft
from placelab.strategies.partitioning.portfolio import portfolio
from placelab.strategies.partitioning.sct import m_sct
from placelab.strategies.partitioning.tf_greedy import tf_greedy
from placelab.strategies.searches.cp_sat_search import left_out, search
from placelab.strategies.searches.fallback import warm
from placelab.strategies.searches.incumbent import Incumbent

FIRST = (heft, m_etf, m_sct, cpop, tf_greedy)


@partitioner(
    name="cp-sat",
    source="Srivastava 2018 §4.4, with the intervals of OR-tools CP-SAT",
    slow=True,
    packages=("ortools", "pandas"),  # ortools imports pandas
)
def cp_sat(
    problem: Problem,
    *,
    effort: Annotated[float, Limits(0)] = 10.0,
    time_limit: Annotated[float, Limits(0)] = 120.0,
    max_size: int = 2000,
    seed: int = 0,
    progress: Report = silent,
    cancel: Callable[[], bool] = never,
) -> Placement:
    r"""Exact: searches for the shortest plan and proves how close it is to the optimum.

    .. math:: \min \max_v finish(v), \quad start(v) \ge finish(u) + trans(\tau, p_u, p_v), \quad
              \text{one op at a time per device}

    Parameters
    ----------
    effort
        How long to search at most, in seconds of an idle core, roughly: counted as work done, not by the clock, so that the
        result is the same however busy the machine is. A problem that is solved before takes less.
    time_limit
        Seconds of the clock after which the search stops in any case. What it has then depends on the machine.
    max_size
        Larger problems (ops × devices) are refused: on them the search seldom improves what heuristics find.
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
        The problem is too large, memory over time ruled out every plan that was found, or a limit ended the search before
        it found one.
    InfeasibleError
        The memory that ops keep for the whole run fits on the devices in no way, or it is proven that no schedule stays within
        ``dynamic`` memory.

    Notes
    -----
    Begins with the best of ``heft``, ``m-etf``, ``m-sct``, ``cpop`` and ``tf-greedy``; where a second does not suffice and there
    are 30 ops or more, goes on from that of ``portfolio``. Groups, allowed devices, unequal devices and links, and ``reserved``
    memory are part of the model; a tensor travels once per device. Transfers that wait for ports (``sequential``) or channels
    are intervals that do not overlap, ``dynamic`` memory is a cumulative resource of each device
    (:mod:`placelab.strategies.searches.cp_sat_resources`). Ties go to the plan found first. Exponential in ops at worst.

    What ``placement.optimal`` says: the plan, as it runs, reaches `bound`, and in *every* transfer and memory model no schedule
    that stays within memory is shorter than that, under whichever scheduler. A search that ends by itself proves its plan, up to
    the rounding of times, where the model has everything: ``parallel`` transfers, memory ``none``, ``reserved`` or ``dynamic``,
    no Sends. Elsewhere the bound may be out of reach; the plan of least makespan among those found is returned with its gap:

    - ``sequential`` and ``channel``: the bound lets transfers go in any order, and wait; a run serves them in order of request;
    - ``dynamic`` with these: the bound also lets a transfer that could start wait until there is room;
    - ``fair``: every transfer has its link to itself;
    - ``edges``: memory over time is left out;
    - ``transfer_ops``: Sends delay their tensors, but take no time of their devices.

    Departures from the thesis: no big-M rows, so no weak relaxation; unequal devices and links; the optimum is exact up to the
    rounding of times to 2⁻³⁰ of the makespan, none where times are whole numbers.

    References
    ----------
    Srivastava (2018) §4.4; Laborie et al. (2018), optional interval variables, *Constraints* 23.
    """
    size = problem.graph.n_ops * problem.cluster.n_devices
    if size > max_size:
        raise UnsupportedError(
            f"cp-sat takes problems of up to {max_size:,} ops × devices, this one has {size:,}; place with 'portfolio' or "
            "'m-sct', coarsen the graph, or raise max_size"
        )
    incumbent = Incumbent(problem, "searching", progress, left_out(problem))
    warm(incumbent, FIRST, cancel)
    end = monotonic() + time_limit

    def improve() -> None:
        limit = max(end - monotonic(), 0.0)
        warm(incumbent, (lambda problem: portfolio(problem, time_limit=limit, cancel=cancel),), cancel)

    return incumbent.result("cp-sat", search(problem, incumbent, effort, time_limit, seed, cancel, improve))

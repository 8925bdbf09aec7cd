"""Search by the constraint solver of OR-tools: looking for shorter plans and refuting makespans take turns.

What is solved is ``Model`` of ``cp_sat_model``.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from placelab.base.progress import never
from placelab.planning.memory_plan import can_bind
from placelab.problem.problem import Problem
from placelab.strategies.searches.cp_sat_model import REACH, Model
from placelab.strategies.searches.cp_sat_resources import waiting
from placelab.strategies.searches.incumbent import Incumbent

WORK = {False: 0.13, True: 0.03}  # what the solver counts in a second here: with SEARCH, with others
FIRST_SHARE = 1.0  # seconds, about
LONGER = 4  # times as long once a makespan was neither met nor refuted
LARGE = 30  # ops from which on a plan is worth seconds: fewer are soon searched
SEARCH = dict(use_overload_checker_in_cumulative=True, use_timetable_edge_finding_in_cumulative=True)
# The linear relaxation takes most of the time, and knows little of orders. What is learned from a conflict may speak of any
# bound of a start, not only of those that have a Boolean: on two layered graphs of 50 ops, 0.08 and 0.45 of the conflicts.
REFUTE = SEARCH | dict(linearization_level=0)
LEARN = REFUTE | dict(use_new_integer_conflict_resolution=True)
LEAST_REACH = 0.1  # where even that is too far, searches get more time


def search(
    problem: Problem,
    incumbent: Incumbent,
    effort: float,
    time_limit: float,
    seed: int = 0,
    cancel: Callable[[], bool] = never,
    improve: Callable[[], object] = lambda: None,
) -> str:
    """Improve the incumbent and its bound, until it is proven optimal or until one of the limits.

    Parameters
    ----------
    incumbent
        The search begins with its best plan; plans that are found are offered to it.
    effort
        Work, roughly in seconds of an idle core; the solver counts it itself, so that the search is the same everywhere.
    time_limit
        Wall-clock seconds.
    cancel
        Called several times a second; returns True to stop.
    improve
        Called once if the first search does not end by itself, on 30 ops or more: may offer the incumbent a better plan.

    Returns
    -------
    str
        The limit that ended the search, or ``""`` where it ended by itself.

    Raises
    ------
    InfeasibleError
        The ops' memory fits on the devices in no way.

    Notes
    -----
    One core. Searches for shorter plans and for a better bound take turns, and begin with the best plan and bound so far. A
    makespan half-way between the two is refuted first; then one nearer to the plan where that succeeded, nearer to the bound
    where it did not; where even a tenth of the way is too far, each search gets twice the time. On up to 100 ops on 4 devices,
    all but the first search do without the linear relaxation, and learn from each conflict a clause on bounds of starts, with
    new Booleans for those that have none (lazy clause generation; Schutt et al. (2013) prove schedules with it); once one of
    them was undecided, the next ones get four times the work. What :func:`left_out` says is not in the model, so the bound holds
    with it; the makespan of every plan found is that of its run with it.

    References
    ----------
    Ohrimenko, Stuckey, Codish (2009), propagation via lazy clause generation, *Constraints* 14; Schutt, Feydy, Stuckey, Wallace
    (2013), solving RCPSP/max by lazy clause generation, *Journal of Scheduling* 16.
    """
    end = monotonic() + time_limit
    model = Model(problem, incumbent)
    left = effort
    share = FIRST_SHARE
    refuting = False
    while not (incumbent.proven or model.closed):
        if left <= 0:
            return f"after {effort:g} s of work"
        learning = left < effort and model.few
        spent = min(share * LONGER if model.hard else share, left)
        work = WORK[learning or refuting] * spent
        kind = LEARN if learning else REFUTE if refuting else SEARCH
        options = kind | dict(max_deterministic_time=work, random_seed=seed)
        seed += 1
        stopped = model.solve(options, (1 - left / effort, 1 - (left - spent) / effort), spent, end, cancel, refuting)
        if stopped:
            return stopped
        first = left == effort
        left -= min(model.spent / WORK[True], spent) if refuting else spent
        if first and left > 0 and problem.graph.n_ops >= LARGE and not model.closed:
            improve()
            model.begin()
        if refuting and model.reach < LEAST_REACH:
            share *= 2
            model.reach = REACH
        refuting = not refuting or model.decided or model.reach < REACH
    return ""


def left_out(problem: Problem) -> str:
    """Parts of a problem that the model leaves out, so that its bound holds but may be out of reach; "" if none."""
    what = ["the order in which transfers are requested"] if waiting(problem) else []
    what += ["links that transfers share"] if problem.transfer_model.shared else []
    what += ["the time that Sends take of devices"] if problem.transfer_ops else []
    what += ["memory over time"] if problem.memory == "edges" and can_bind(problem) else []
    return " and ".join(what)

"""How far the exact solver comes on graphs of 50 and 100 ops, and what helps it, as tables.

python benchmarks/quality/exact.py [--effort S] [--jobs N]   # exact.md beside this file; a quarter of an hour of processor time
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import numpy as np
from markdown_table import table

sys.path.insert(0, str(Path(__file__).parents[1]))

from placing import chains, layered

import placelab as pl
from placelab.strategies.searches import cp_sat_model as exact
from placelab.strategies.searches import cp_sat_search as turns
from placelab.strategies.searches.tables import tables

PAGE = Path(__file__).with_name("exact.md")
MORE = 2  # times the work on 100 ops
LESS = 2  # share of the work, where a part is left out
PATIENT = 3600.0  # seconds of the clock: what stops a search here is the work it may do
HEAD = """# Exact

`python benchmarks/quality/exact.py{options}` writes this file. Graphs of `benchmarks/placing.py` on 4 equal devices. `cp-sat` may
do {effort:g} s of work on 50 ops, {more:g} on 100; seconds are the processor's, on which they depend, as gaps do not. A gap is
how far the plan may be above the optimum; *proven*: it is optimal. Every plan's run passes `pl.validate`.

"""
BELOW = """
What is gained by what: the gaps, in percent, on graphs of 50 ops after {effort:g} s of work.

"""
NOTES = """
These rows are as without any change: {idle}. What each of them is:

- *Clauses on known Booleans*: what is learned from a conflict speaks only of bounds of starts that have a Boolean already.
- *No refuting*: the search for shorter plans alone, which raises its bound as it goes.
- *Four searches in turn*: OR-tools' own kinds of search, which share what they learn, each by a quarter of the work.
- *No heads and tails*: windows by the longest paths only.
- *No plan of portfolio*: begins with the best of five heuristics.
- *No shared Booleans*: instead of one for the ends of an edge, one condition for each device of its producer.
- *With linear relaxation* in all searches, as OR-tools has it by default; otherwise only the first has it.
- *All units ordered* among interchangeable devices, instead of the first {ordered}; *none ordered*: the search is left to
  find that they are alike.
- *No probing*, *one round of presolve*: less work before what is refuted is searched. *Dynamic precedences*, with strong
  propagation of what does not overlap: more work in each node of that search.

What else was tried on layered 50, 0 and 50, 1, once each, with clauses on any bound, and is not used:

- One search for the shortest plan with all of the work, 20 s, in the place of turns: plans of 1.5862 and 1.4484 ms, better than
  the turns find in that time, but the bounds are not raised.
- No new Booleans for what a clause speaks of: 30,490 conflicts in 18 s do not refute 1.5856 ms, which 3,365 do with them.

Neither the plan nor the bound alone is at fault. The optimum of layered 50, 0 is between 1.58606 and 1.58621 ms, that of layered
50, 1 between 1.4470 and 1.4484 ms; one search of 37 s does not refute 1.5861 ms, one of 28 s not 1.4481. Nor do OR-tools'
eight kinds of search, side by side in 347 s of the processor, refute 1.5861 ms; 120 s of work leave the bound of 30 s as it is.

Options of OR-tools by which four known bounds of these two were refuted, one search each. It took them the usual work, give or
take half of it, in no direction: saving phases, probing, hints, polarity, decay of activities, restarts, ERWA, minimization and
cleaning of clauses, precedences, Booleans for precedences, inprocessing, random branches. Undecided after twice the work: strong
propagation of what does not overlap; no energetic reasoning in the cumulative resource; no new Booleans.

Until commit 280a847d the solver had Booleans, too, for which of two ops is first where they share a device, on whichever one.
What is learned of a pair then holds on all devices; but with them one search refutes 2.85 ms of layered 100, 0 in 18 s, without
them in 4; 1.445 ms of layered 50, 1 in 7 and 5 s. After 60 s of work the plan of layered 100, 0 was 3.3 % above its bound, mostly
by the bound's fault: a million moves of `portfolio` ended within 0.02 % of that plan with each of three seeds.

What did not help there either: only the ops whose heads lie before a moment, and the idle time that a makespan leaves until then,
as nearly all idle time of the best plans is at their begin. 2.81 ms of layered 100, 0 is refuted in 0.4 s by the ops before
0.5 ms, but 2.84 is met with those before 0.87. All ops with that one inequality more: 3,145 conflicts instead of 4,110 for
2.85 ms, 7,347 instead of 7,592 for 1.445 of layered 50, 1.

Cuts that these graphs have no use for: edges whose ends must share a device in every schedule that is no longer than the plan
({shared}; that follows from the windows, so it is not stated), and ops through which all paths lead, where a graph could be
decomposed ({cuts}).
"""


def graphs(n: int) -> Iterator[tuple[str, pl.Problem]]:
    """Label and problem of six graphs of n ops."""
    for make in (chains, layered):
        for seed in range(3):
            yield f"{make.__name__} {n}, {seed}", make(n, seed)


def solved(problem: pl.Problem, effort: float) -> tuple[pl.Placement, float]:
    """The plan of cp-sat, validated, and the processor's seconds."""
    begun = process_time()
    placement = pl.place(problem, "cp-sat", effort=effort, time_limit=PATIENT)
    took = process_time() - begun
    wrong = pl.validate(pl.simulate(problem, placement, "planned"))
    assert not wrong, wrong
    return placement, took


def gap(placement: pl.Placement) -> str:
    """How far above the optimum the plan may be, in percent."""
    assert placement.estimate is not None and placement.bound is not None
    above = 100 * (placement.estimate / placement.bound - 1)
    return "proven" if placement.optimal else f"{above:.2f}" if above > 0.01 else f"{above:.1g}"


# -------------------------------------------------------------------- without a part


def one_per_device(model: exact.Model, a: int) -> None:
    """The precedence of an arc by conditions for each device of the producer."""
    arcs = model.table
    u = int(arcs.producer[a])
    v = int(arcs.consumer[a])
    model.model.add(model.start[v] >= model.end[u])
    there = model.here[arcs.units.of[v]]
    for d, y, _ in model.row(u):
        delay = [int(arcs.delay[a, d, e]) for e, z in enumerate(there) if z is not None and e != d]
        moved = [y] if there[d] is None else [y, there[d].negated()]
        if delay and arcs.apart[a]:  # links are equal here
            model.model.add(model.start[v] >= model.end[u] + delay[0]).only_enforce_if(moved)


def no_windows(windows: Any) -> Any:
    """The function `windows`, with heads and tails of nothing."""
    return lambda problem: windows(problem)._replace(
        head=np.zeros(problem.graph.n_ops), tail=np.zeros(problem.graph.n_ops)
    )


def searching_only(solve: Any) -> Any:
    """``Model.solve`` that refutes nothing, but raises the bound of the shortest plan step by step in its stead."""

    def only(
        model: exact.Model, options: dict, part: Any, expected: float, end: float, cancel: Any, refuting: bool
    ) -> str:
        kept = {name: options[name] for name in ("max_deterministic_time", "random_seed")}
        options = turns.SEARCH | kept | dict(use_objective_lb_search=refuting)
        stopped = solve(model, options, part, expected, end, cancel)
        model.reach = 0.0  # each search twice as long as the one before
        return stopped

    return only


VARIANTS: dict[str, list[tuple[Any, str, Any]]] = {
    "as it is": [],
    "clauses on known Booleans": [(turns, "LEARN", turns.LEARN | dict(use_new_integer_conflict_resolution=False))],
    "no refuting": [(exact.Model, "solve", searching_only(exact.Model.solve))],
    "four searches in turn": [(turns, "LEARN", turns.LEARN | dict(num_workers=4, interleave_search=True))],
    "no heads and tails": [(exact, "windows", no_windows(exact.windows))],
    "no plan of portfolio": [(turns, "LARGE", 10**9)],
    "no shared Booleans": [(exact.Model, "_precedence", one_per_device)],
    "with linear relaxation": [(turns, "LEARN", turns.LEARN | dict(linearization_level=1))],
    "all units ordered": [(exact, "ORDERED", 10**9)],
    "none ordered": [(exact, "ORDERED", 0)],
    "no probing": [(turns, "LEARN", turns.LEARN | dict(cp_model_probing_level=0))],
    "one round of presolve": [(turns, "LEARN", turns.LEARN | dict(max_presolve_iterations=1))],
    "dynamic precedences": [
        (
            turns,
            "LEARN",
            turns.LEARN | dict(use_dynamic_precedence_in_disjunctive=True, use_strong_propagation_in_disjunctive=True),
        )
    ],
}


@contextmanager
def without(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    """While this lasts, the solver lacks a part."""
    with ExitStack() as stack:
        for where, name, instead in changes:
            stack.enter_context(patch.object(where, name, instead))
        yield


# -------------------------------------------------------------------- what is not there to be used


def must_share(problem: pl.Problem, makespan: float) -> int:
    """Edges whose ends share a device in every schedule that is no longer than this [s]."""
    arcs, (time, head, tail) = tables(problem), exact.windows(problem)
    u = arcs.producer
    v = arcs.consumer
    return int((head[u] + time[u] + arcs.delay.max(axis=(1, 2)) + time[v] + tail[v] > makespan * (1 + 1e-9)).sum())


def cuts(problem: pl.Problem) -> int:
    """Ops, neither first nor last, through which all paths from what is before them to what is behind them lead."""
    arcs = tables(problem)
    before = arcs.related.T
    behind = arcs.related
    found = 0
    for v in range(arcs.n_ops):
        past = before[v][arcs.producer] & behind[v][arcs.consumer]
        all_related = before[v].sum() + behind[v].sum() == arcs.n_ops - 1
        found += bool(all_related and before[v].any() and behind[v].any() and not past.any())
    return found


# -------------------------------------------------------------------- the page


def measured(job: tuple[str, int, int, float]) -> tuple[str, str, int, int]:
    """Gap, the processor's seconds, and how much the cuts could use, of one graph; the solver lacks a part, or none."""
    variant, n, number, effort = job
    pl.place(chains(5, 0), "cp-sat"), pl.place(chains(5, 0), "portfolio")  # the time to load is not counted
    label, problem = list(graphs(n))[number]
    with without(VARIANTS[variant]):
        placement, took = solved(problem, effort)
    print(variant, label, gap(placement), f"{took:.1f}", flush=True)
    return gap(placement), f"{took:.1f}", must_share(problem, placement.estimate or 0.0), cuts(problem)


def write(effort: float, options: str, jobs: int) -> None:
    """Write the page; `jobs` graphs are solved side by side."""
    labels = [label for n in (50, 100) for label, _ in graphs(n)]
    first = next(iter(VARIANTS))
    whole = [(first, n, number, times * effort) for n, times in ((50, 1), (100, MORE)) for number in range(6)]
    parts = [(variant, 50, number, effort / LESS) for variant in VARIANTS for number in range(6)]
    with ProcessPoolExecutor(jobs) as pool:
        found = list(pool.map(measured, whole + parts))
    rows = [(label, *cells[:2]) for label, cells in zip(labels, found, strict=False)]
    shared = sum(cells[2] for cells in found[: len(whole)])
    cut = sum(cells[3] for cells in found[: len(whole)])
    gaps = [cells[0] for cells in found[len(whole) :]]
    lacking = [(variant, *gaps[6 * i : 6 * i + 6]) for i, variant in enumerate(VARIANTS)]
    PAGE.write_text(page(effort, options, rows, lacking, shared, cut))


def page(effort: float, options: str, rows: list, lacking: list, shared: int, cut: int) -> str:
    """The whole page: lines of both tables, edges whose ends must share a device, and ops where a graph could be cut."""
    (_, *whole), *others = lacking
    idle = ", ".join(name for name, *cells in others if cells == whole) or "none"
    return (
        HEAD.format(options=options, effort=effort, more=MORE * effort)
        + table(("graph", "gap, %", "seconds"), rows)
        + BELOW.format(effort=effort / LESS)
        + table(("", *(label for label, *_ in rows[:6])), lacking)
        + NOTES.format(idle=idle, ordered=exact.ORDERED, shared=shared, cuts=cut)
    )


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--effort", type=float, default=30.0, help="seconds of work of each graph of 50 ops, roughly")
    parser.add_argument(
        "--jobs", type=int, default=2, help="graphs that are solved side by side; gaps do not depend on it"
    )
    given = parser.parse_args()
    write(given.effort, "" if given.effort == 30 else f" --effort {given.effort:g}", given.jobs)


if __name__ == "__main__":
    main()

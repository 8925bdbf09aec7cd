"""The explorer: pickers, cluster canvas, comparison and Gantt chart of one problem, recomputed while a user drags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Annotated, Any

from placelab.analysis.hand_plans import ByHand
from placelab.app.explorer.application import Explorer
from placelab.app.explorer.panels.layers_panel import LayersPanel
from placelab.app.explorer.panels.panel import Puzzle
from placelab.app.explorer.state import initial_state
from placelab.base.errors import UnsupportedError, expect
from placelab.problem.cluster import Cluster
from placelab.schedule.catalogue import Limits, checked, partitioners, schedulers
from placelab.schedule.schedule import Schedule

__all__ = ["Explorer", "explore"]


@checked
def explore(
    problem_or_graph: Any = None,
    cluster: Cluster | str | None = None,
    *,
    partitioner: str | None = None,
    scheduler: str | None = None,
    options: Mapping[str, Any] | None = None,
    prepare: Sequence[str] = (),
    compare_with: Schedule | None = None,
    height: Annotated[int, Limits(1)] | None = None,
    tab: str | None = None,
    by_hand: bool = False,
    par: float | None = None,
) -> Explorer:
    """Open the explorer in the output of a cell.

    Parameters
    ----------
    problem_or_graph
        A Problem, whose rules are kept; a Schedule, whose problem is shown with its strategies, as far as the catalogues have
        them, and which is kept to compare with; a Transformer of :func:`placelab.models.read`, or what that reads, whose layers
        are split over the devices (tab *Layers*); a LayerSplit, which is shown with its borders; a plan of
        :func:`placelab.by_hand`, or a puzzle of :mod:`placelab.puzzles`, which begins with its start and shows the stars of each
        plan; or what :func:`placelab.load` takes: a dataset's name, a path, a networkx DiGraph, an OpGraph. Default: the dataset
        ``inception_v3``, over which a browser that has never shown the explorer has a page to begin with: drop a model, or open
        one of three examples.
    cluster
        A Cluster, or the name of a preset, as ``"pcie_box"``. Default: the problem's, the graph's own processors, or
        ``clusters.rtx2080ti_box(4)``.
    partitioner, scheduler
        Names in the catalogues. Default: ``heft``; ``planned`` if the partitioner plans, else ``pct``.
    options
        Options of the partitioner.
    prepare
        Name of a transformation that makes the graph smaller before it is placed, or several in their order.
    compare_with
        A schedule of the same graph; its outline stays behind those that follow, and numbers show the change.
    height
        Height in CSS pixels, 1 or more; below 400 it is 400. Default: what the window leaves, at least 590.
    tab
        Title of the tab to open, as ``"Decisions"``. Default: the first; of a Transformer ``"Layers"``.
    by_hand
        Whether the chart begins with bars that can be moved by hand; it does for a plan by hand and a puzzle.
    par
        Makespan that a plan by hand is to reach [s]. Numbers show three stars for a plan that does, two for one as short as
        HEFT's, one for a legal one, until the problem is a different one. Default: of a puzzle its optimum; otherwise no stars.

    Returns
    -------
    Explorer
        A widget. ``explorer.problem``, ``.placement`` and ``.schedule`` are what it shows.

    Examples
    --------
    >>> import placelab as pl
    >>> explore("topcuoglu")
    Explorer(topcuoglu: 10 ops on 3 devices, heft + planned: 80)
    """
    begins = problem_or_graph is cluster is partitioner is scheduler is tab is compare_with is None and not prepare
    if cluster is not None:
        expect(cluster, (Cluster, str), "explore, for cluster,")
    if isinstance(problem_or_graph, Schedule):
        given = problem_or_graph
        problem_or_graph = given.problem
        compare_with = compare_with or given
        if given.placement.partitioner in partitioners():
            partitioner = partitioner or given.placement.partitioner
        if given.scheduler in schedulers():
            scheduler = scheduler or given.scheduler
    puzzle = problem_or_graph if isinstance(problem_or_graph, Puzzle) else None
    plan = puzzle.start if puzzle is not None else problem_or_graph
    if isinstance(plan, ByHand):
        problem_or_graph = plan.placement.problem
    expect({} if options is None else options, Mapping, "explore, for options,")
    names = [prepare] if isinstance(prepare, str) else prepare
    expect(names, (list, tuple), "explore, for prepare,")
    for name in names:
        expect(name, str, "explore, in prepare,")
    if par is not None and not 0 < par < inf:
        raise UnsupportedError(f"explore: par is {par!r}; expected a makespan in seconds, more than 0")
    state = initial_state(problem_or_graph, cluster).with_choices(partitioner, scheduler, options or {}, tuple(names))
    if puzzle is not None:
        state = replace(state, model=replace(state.model, title=puzzle.name))
    if isinstance(plan, ByHand):
        state = state.with_hand(plan.placement, placed=plan.placed)
    problem = state.problem()
    if par is not None:
        from placelab.testing import puzzles  # with checks of answers, which an explorer seldom needs

        puzzle = puzzles.Puzzle("par", f"Par is {par:.6g}.", problem, par)
    explorer = Explorer(state, problem, height=height, puzzle=puzzle, begins=begins)
    tab = tab or (LayersPanel.title if state.layers is not None else None)
    try:
        if tab is not None:
            explorer.tabs.open(tab)
        if compare_with is not None:
            explorer.keep(compare_with)
        if by_hand or isinstance(plan, ByHand):
            explorer.by_hand.begin()
    except BaseException:
        explorer.close()  # its threads would compute for nobody
        raise
    return explorer

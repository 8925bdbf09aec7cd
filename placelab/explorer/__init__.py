"""The explorer: pickers, cluster canvas, comparison and Gantt chart of one problem, recomputed while a user drags."""

from __future__ import annotations

from typing import Any

from placelab.explorer.application import Explorer
from placelab.explorer.state import initial_state
from placelab.problem.cluster import Cluster

__all__ = ["Explorer", "explore"]


def explore(problem_or_graph: Any = None, cluster: Cluster | None = None) -> Explorer:
    """Open the explorer in the output of a cell.

    Parameters
    ----------
    problem_or_graph
        A Problem, whose rules are kept; or what :func:`placelab.load` takes: a dataset's name, a path, a networkx DiGraph,
        an OpGraph. Default: the dataset ``dynamic_rnn``.
    cluster
        Default: the problem's, the graph's own processors, or ``clusters.pcie_box(4)``.

    Returns
    -------
    Explorer
        A widget. ``explorer.problem``, ``.placement`` and ``.schedule`` are what it shows.

    Examples
    --------
    >>> import placelab as pl
    >>> explore("topcuoglu")
    Explorer(topcuoglu: 10 ops on 3 devices, heft + planned: 80 s)
    """
    state = initial_state(problem_or_graph, cluster)
    return Explorer(state, state.problem())

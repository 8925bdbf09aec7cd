"""Place the forward pass alone; backward ops follow their forward ops."""

from __future__ import annotations

from functools import partial

import numpy as np

from placelab.base.errors import expect
from placelab.planning.capacity import needs
from placelab.planning.ranks import precedence_order
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import time_arguments
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import transform
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import TOLERANCE
from placelab.strategies.preparing.chain import Expand
from placelab.strategies.preparing.contraction import (
    devices_of_blocks,
    edge_columns,
    expansion,
    in_turn,
    output_rows,
    same_ops,
    shapes_at,
    with_rules,
)
from placelab.strategies.preparing.coplacement import tied
from placelab.strategies.preparing.gradients import gradient_ties, leaders


@transform(source="Baechi (2020) §3.3")
def forward_only(problem: Problem) -> tuple[Problem, Expand]:
    """Leave the backward ops out; they go where their forward ops do.

    Backward ops are gradient ops, by name (``gradients/<op>_grad/…``), and all ops that depend on one, such as weight updates.

    Returns
    -------
    small, expand
        The problem of the forward ops, and the way from its placements to those of `problem`,
        :func:`~placelab.transforms.expand_backward`. When no
        device holds the whole model: the problem of all ops with each gradient op tied to its forward op
        (:func:`placelab.transforms.coplace`). Without gradient ops: the problem itself.

    Notes
    -----
    A device holds the model if it may run all ops and has room for them one after the other in topological order.
    Persistent and reserved bytes of backward ops count with the op they follow, so devices smaller than that one are
    not overfilled; the backward pass's temporaries, tensors and times do not count. O(n_ops + n_edges).
    """
    lead = leaders(problem.graph, problem.group)
    if (lead < 0).any():
        return problem, same_ops(problem)
    if not _fits_one_device(problem):
        return tied(problem, gradient_ties(problem.graph), "forward-only, memory being short, all ops")
    return _forward_problem(problem, lead), partial(_expanded, problem, lead)


def expand_backward(problem: Problem, placement: Placement) -> Placement:
    """A placement of the whole problem from one of its forward part: each backward op goes where the op it follows is.

    Parameters
    ----------
    problem
        The problem with both passes.
    placement
        Of the problem that :func:`forward_only` made of it: its ops are the forward ops of `problem`, by name.

    Returns
    -------
    Placement
        A backward op follows, whichever it has first: the first forward op of its colocation group; the forward op in its name;
        the first input, else the first consumer, that follows some op; the first op of the graph. The planned order runs all
        forward ops first, then the backward ops, those of the last forward op first, as far as edges allow. The estimate
        and the bound are those of the forward pass and are dropped.
    """
    expect(problem, Problem, "expand_backward")
    lead = leaders(problem.graph, problem.group)
    return _expanded(problem, np.where(lead < 0, np.arange(len(lead)), lead), placement)


def _expanded(problem: Problem, lead: np.ndarray, placement: Placement) -> Placement:
    expect(placement, Placement, "expand_backward")
    graph = problem.graph
    small = placement.problem
    of = np.array([small.graph.index(name) for name in graph.names[lead]], dtype=np.int32)
    mirrored = lead != np.arange(graph.n_ops)
    order = lambda position: precedence_order(graph, np.where(mirrored, position - len(position), -position))  # noqa: E731
    return expansion(problem, small, of, "forward-only", order)(placement)


def _fits_one_device(problem: Problem) -> bool:
    """Whether some device may run all ops and has room for them in turn."""
    graph = problem.graph
    n = problem.graph.n_ops
    held, peak = needs(problem, np.zeros(n))
    if problem.memory == "dynamic":
        peak = in_turn(graph, np.arange(n), np.zeros(n, dtype=np.int64), np.arange(graph.n_tensors))
    fits = held.sum() + peak.max() <= problem.capacity * (1 + TOLERANCE)
    return bool((fits & problem.runs_all).any())


def _forward_problem(problem: Problem, lead: np.ndarray) -> Problem:
    ops = np.flatnonzero(lead == np.arange(problem.graph.n_ops))
    kept = _forward_graph(problem, ops, np.searchsorted(ops, lead))
    return with_rules(problem.replace(graph=kept), problem, problem.graph.names[lead])


def _forward_graph(problem: Problem, ops: np.ndarray, of: np.ndarray) -> OpGraph:
    """The ops `ops` alone; ``of[v]`` is the place in `ops` of the one that op v follows."""
    graph = problem.graph
    n = len(ops)
    inside = np.isin(graph.consumer, ops)
    is_unused = np.isin(graph.tensor_producer, ops)
    is_unused[graph.edge_tensor[inside]] = False
    unused = np.flatnonzero(is_unused & ~graph.tensor_control)
    forward = problem.group_ops[np.isin(problem.group_ops, ops)]
    return OpGraph.from_arrays(
        graph.names[ops],
        graph.compute[ops],
        of[graph.edges[inside]],
        **edge_columns(graph, graph.edge_tensor[inside]),
        outputs=output_rows(graph, unused, of),
        shapes=shapes_at(graph, of),
        persistent=np.bincount(of, graph.persistent, minlength=n),
        temporary=graph.temporary[ops],
        memory=np.bincount(of, graph.memory, minlength=n),
        kind=graph.kind[ops],
        **time_arguments(graph, lambda time: time[ops]),
        groups=[of[forward[problem.group[forward] == g]] for g in range(problem.n_groups)],
        group_names=problem.group_names,
        devices=devices_of_blocks(problem, of, ops),
        metadata={key: value for key, value in graph.metadata.items() if key != "forward"},
    )

"""The backward pass of a forward graph: a gradient op per op, every edge reversed, and the forward schedule mirrored in time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError, expect, poses_as_number
from placelab.problem.graph import OpGraph
from placelab.problem.graph_columns import time_arguments
from placelab.problem.problem import Problem, on_graph
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule, planned_schedule
from placelab.strategies.preparing.contraction import edge_columns, output_rows, shapes_at

Either = TypeVar("Either", OpGraph, Problem)
TOLERANCE = 1e-9


def backward(graph: Either, ratio: Any = 1.0, *, transfer_ratio: Any = None, forward: bool = True) -> Either:
    r"""The gradient ops of a forward graph, mirrored, each colocated with its op.

    The gradient op of v, called ``gradients/<v>_grad``, reads from those of v's consumers; where v → s carries a tensor, the
    gradient op of s sends that of v one of ``ratio`` times the size.

    Parameters
    ----------
    graph
        The forward graph, or a problem with it.
    ratio
        Cost of each gradient op over its op's: compute, measured times, temporary bytes; a number, or one per op, shape (n_ops,).
    transfer_ratio
        Bytes of a gradient over its tensor's, a number, or one per edge, shape (n_edges,). Default: as `ratio`, which must be one
        number then.
    forward
        True: the graph of a training step, both passes. Every gradient op that starts the backward pass waits for the op that
        ends the forward one (a control edge), and is in one colocation group with its op. False: the mirrored graph alone,
        the thesis' G′, where op v's gradient op has the number ``n_ops - 1 - v``; its colocation groups are those of the ops.

    Returns
    -------
    OpGraph or Problem
        Of the same class as `graph`. Gradient ops hold no persistent bytes, and may run where their op may. Weight updates
        (GradientDescent, Assign) are left out, as in the thesis.

    Notes
    -----
    A tensor that several ops read has a gradient from each of them. Tensors of the forward pass share the storages that they
    shared; each gradient has its own. Control edges are mirrored as control edges. A gradient
    op needs the outputs of its op, too; that costs nothing, since both are on one device and the op has run by then.
    O(n_ops + n_edges).

    References
    ----------
    Srivastava (2018) ch. 5.

    Examples
    --------
    >>> import placelab as pl
    >>> g = pl.OpGraph.from_arrays(["a", "b"], [1.0, 3.0], [(0, 1)], edge_bytes=[8.0])
    >>> both = backward(g, 2.0)
    >>> list(both.names), both.compute.tolist()
    (['a', 'b', 'gradients/b_grad', 'gradients/a_grad'], [1.0, 3.0, 6.0, 2.0])
    >>> both.edges.tolist()
    [[0, 1], [1, 2], [2, 3]]
    """
    if isinstance(graph, Problem):
        made = backward(graph.graph, ratio, transfer_ratio=transfer_ratio, forward=forward)
        return on_graph(graph, made, None if forward else gradient_names(graph.graph))
    expect(graph, OpGraph, "backward")
    if transfer_ratio is None and np.ndim(ratio):
        raise FormatError("backward: with a ratio per op, give transfer_ratio, too: a number, or one per edge")
    of_ops = _factors(ratio, graph.n_ops, "ratio")
    of_edges = _factors(ratio if transfer_ratio is None else transfer_ratio, graph.n_edges, "transfer_ratio")
    if forward:
        _check_names(graph)
    mirrored = _mirrored(graph, of_ops, of_edges)
    return _training(graph, mirrored) if forward else mirrored


def gradient_names(graph: OpGraph) -> np.ndarray:
    """Name of each op's gradient op, shape (n_ops,)."""
    return np.array([f"gradients/{name}_grad" for name in graph.names], dtype=object)


def _check_names(graph: OpGraph) -> None:
    """FormatError where an op has the name that a gradient op would get."""
    for name, gradient in zip(graph.names, gradient_names(graph), strict=True):
        if gradient in graph._index:
            raise FormatError(
                f"backward: {graph.title} has an op {gradient!r} already, as the gradient op of {name!r} is to be called; "
                "give it the graph of the forward pass alone"
            )


def _factors(value: Any, n: int, label: str) -> np.ndarray:
    try:
        factors = np.broadcast_to(np.asarray(value, dtype=np.float64), n)
    except (TypeError, ValueError):
        raise FormatError(f"backward: {label} is {value!r:.60}; expected a number, or {n} of them") from None
    if not (np.isfinite(factors) & (factors >= 0)).all():
        raise FormatError(f"backward: {label} is {value!r:.60}; expected finite numbers, 0 or more")
    return factors


def _mirrored(graph: OpGraph, of_ops: np.ndarray, of_edges: np.ndarray) -> OpGraph:
    """The gradient ops alone: op v's is number n_ops - 1 - v, since the mirrored order is topological."""
    n = graph.n_ops
    restricted = np.flatnonzero(graph.device_set >= 0)
    return OpGraph.from_arrays(
        gradient_names(graph)[::-1],
        (graph.compute * of_ops)[::-1],
        n - 1 - graph.edges[:, ::-1],
        edge_bytes=graph.edge_bytes * of_edges,
        edge_control=graph.tensor_control[graph.edge_tensor],
        temporary=(graph.temporary * of_ops)[::-1],
        kind=[f"{kind}Grad" if kind else "" for kind in graph.kind[::-1]],
        **time_arguments(graph, lambda time: (time * of_ops[:, None])[::-1]),
        groups=[n - 1 - ops for ops in _groups(graph)],
        group_names=graph.group_names,
        devices={n - 1 - int(v): graph.device_sets[graph.device_set[v]] for v in restricted},
        metadata={**graph.metadata, "name": f"{graph.title}, backward"},
    )


def _groups(graph: OpGraph) -> list[np.ndarray]:
    members = np.argsort(graph.group, kind="stable")[(graph.group < 0).sum() :]
    return np.split(members, np.cumsum(np.bincount(graph.group[members]))[:-1]) if len(members) else []


def _training(graph: OpGraph, mirrored: OpGraph) -> OpGraph:
    """Both graphs as one, the ends of the forward pass followed by their gradient ops."""
    n = graph.n_ops
    ops = np.arange(graph.n_ops)
    twin = 2 * n - 1 - ops  # number of each op's gradient op
    ends = np.flatnonzero(np.diff(graph.succ_ptr) == 0)
    both = lambda label: np.concatenate([getattr(graph, label), getattr(mirrored, label)])  # noqa: E731
    unused = np.flatnonzero(np.diff(graph.tensor_ptr) == 0)
    order = edge_columns(graph, np.full(len(ends), -1))
    pairs = [*(np.concatenate([group, twin[group]]) for group in _groups(graph)), *np.stack([ops, twin], axis=1)]
    sets = {
        int(v) + first: made.device_sets[made.device_set[v]]
        for made, first in ((graph, 0), (mirrored, n))
        for v in np.flatnonzero(made.device_set >= 0)
    }
    given = (edge_columns(graph, graph.edge_tensor), edge_columns(mirrored, mirrored.edge_tensor))
    columns: dict[str, Any] = {
        label: np.concatenate([*(part[label] for part in given), only]) for label, only in order.items()
    }
    return OpGraph.from_arrays(
        both("names"),
        both("compute"),
        np.concatenate([graph.edges, mirrored.edges + n, np.stack([ends, twin[ends]], axis=1)]),
        **columns,
        outputs=output_rows(graph, unused, ops),
        shapes=shapes_at(graph, ops),
        persistent=both("persistent"),
        temporary=both("temporary"),
        memory=both("memory"),
        kind=both("kind"),
        **time_arguments(graph, lambda time: np.concatenate([time, mirrored.time])),
        groups=pairs,
        group_names=[*graph.group_names, *graph.names],
        devices=sets,
        metadata={**graph.metadata, "name": f"{graph.title}, training"},
    )


def backward_schedule(schedule: Schedule, ratio: float | None = None, *, graph: OpGraph | None = None) -> Schedule:
    r"""The schedule of the backward pass that goes with one of the forward pass: legal, and at most `ratio` times as long.

    The gradient op of v runs on v's device p(v) and starts at

    .. math:: s'_v = C_0 (T - s_v - exec(v, p_v)), \quad T \text{ the makespan of } S

    Parameters
    ----------
    schedule
        S, of the forward graph, under ``parallel`` transfers without Send ops.
    ratio
        C₀, the proportionality constant, or more. Default: :func:`proportionality` of `schedule` and `graph`.
    graph
        The mirrored graph: ``backward(…, forward=False)``, its costs perhaps replaced. Default: with the constant `ratio`.

    Returns
    -------
    Schedule
        S′, of the mirrored graph; its problem has the cluster, pins and groups of the forward one. Its makespan is at most
        C₀ · T, and exactly that if all ratios are C₀ and S starts at 0 (Theorem 5.1). Then, on links alike both ways, it is
        optimal if S is (Theorem 5.2), and as far from the optimum as S otherwise (Theorem 5.3).

    Raises
    ------
    UnsupportedError
        Transfers that queue; a time that is 0 forward and positive backward, such as the latency of a link that has one
        in one direction only: no constant is large enough.
    FormatError
        `ratio` is less than the proportionality constant, so the schedule would not be legal.

    Notes
    -----
    Tensors that several ops read travel once forward, but have a gradient from each reader backward, so ports and channels
    would not be free in time: hence ``parallel``. Latency does not grow with C₀: below 1 the constant ratio C₀ is
    no proportionality constant where transfers have latencies. O(n_ops + n_edges log n_edges).

    References
    ----------
    Srivastava (2018) §5.4.

    Examples
    --------
    >>> import placelab as pl
    >>> problem = pl.Problem(pl.generators.fork_join(3), pl.Cluster.uniform(2))
    >>> schedule = pl.solve(problem, "heft", "planned")
    >>> backward_schedule(schedule, 2.0).makespan / schedule.makespan
    2.0
    """
    expect(schedule, Schedule, "backward_schedule")
    problem = schedule.problem
    if problem.transfer_model.queue or problem.transfer_ops:
        raise UnsupportedError("backward_schedule mirrors schedules under parallel transfers without Send ops only")
    if ratio is not None and not (
        isinstance(ratio, (int, float, np.number)) and not poses_as_number(ratio) and 0 <= ratio < np.inf
    ):
        raise UnsupportedError(f"backward_schedule: ratio is {ratio!r:.60}; expected a finite number, 0 or more")
    if graph is None:
        if ratio is None:
            raise FormatError("backward_schedule needs ratio, or the mirrored graph to find it")
        graph = backward(problem.graph, ratio, forward=False)
    needed = proportionality(schedule, graph)
    ratio = needed if ratio is None else ratio
    if ratio < needed * (1 - TOLERANCE):
        raise FormatError(
            f"ratio is {ratio:g}, but some op or transfer takes {needed:g} times as long backward as forward; raise ratio"
        )
    with np.errstate(over="ignore"):
        start = ratio * (schedule.makespan - schedule.finish[::-1])
    if not np.isfinite(start).all():
        raise FormatError(
            f"backward_schedule: with ratio = {ratio:g} times exceed what a float can hold; use a smaller one"
        )
    return _reversed(schedule, _problem(problem, graph), start)


def proportionality(schedule: Schedule, graph: OpGraph) -> float:
    r"""C0: the largest ratio of a time of the backward pass to its time in the forward one, on the devices of a schedule.

    .. math:: C_0 = \max\left(\max_v \frac{exec'(v, p_v)}{exec(v, p_v)},
              \max_{u \to v,\, p_u \ne p_v} \frac{trans'(p_v, p_u)}{trans(p_u, p_v)}\right)

    Parameters
    ----------
    schedule
        Of the forward graph.
    graph
        The mirrored graph: ``backward(…, forward=False)``.

    Returns
    -------
    float
        0 if no time is positive. Pairs that are 0 both ways do not count.

    Raises
    ------
    UnsupportedError
        A time is 0 forward and positive backward.

    Notes
    -----
    The thesis takes the maximum over all edges, machines being alike; here those count that cross devices, over their own
    links, so that the constant holds for unequal links and is never larger. Of several tensors between two ops the
    one that takes longest counts.
    """
    expect(schedule, Schedule, "proportionality")
    problem = schedule.problem
    n = schedule.problem.graph.n_ops
    mirrored = _problem(problem, graph)
    device = schedule.device
    names = schedule.problem.graph.names
    forward = problem.exec_times(device)
    back = mirrored.exec_times(device[::-1])[::-1]
    ops = _largest(forward, back, lambda v: f"op {names[v]!r}")
    pair, moved = _longest(problem, device, problem.graph.edges)
    twin, returned = _longest(mirrored, device[::-1], n - 1 - mirrored.graph.edges[:, ::-1])
    if not np.array_equal(pair, twin):
        raise FormatError(
            f"{graph.title} is not {problem.graph.title} mirrored: its edges are others; make it with backward"
        )
    return max(
        ops, _largest(moved, returned, lambda i: f"the transfer from {names[pair[i] // n]!r} to {names[pair[i] % n]!r}")
    )


def _longest(problem: Problem, device: np.ndarray, named: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of ops on two devices, as ``first * n_ops + second`` by their forward numbers, and their longest transfer [s]."""
    graph = problem.graph
    cluster = problem.cluster
    source = device[graph.producer]
    destination = device[graph.consumer]
    took = cluster.latency[source, destination] + graph.edge_bytes / cluster.bandwidth[source, destination]
    away = source != destination
    pairs, which = np.unique(named[away, 0].astype(np.int64) * graph.n_ops + named[away, 1], return_inverse=True)
    longest = np.zeros(len(pairs))
    np.maximum.at(longest, which, took[away])
    return pairs, longest


def _largest(forward: np.ndarray, back: np.ndarray, name: Callable[[int], str]) -> float:
    """The largest ratio of two times, those that are both 0 left out."""
    grown = np.flatnonzero((forward == 0) & (back > 0))
    if len(grown):
        i = int(grown[0])
        raise UnsupportedError(
            f"{name(i)} takes no time forward but {back[i]:g} s backward: no ratio is large enough; give it a time forward"
        )
    some = forward > 0
    return float((back[some] / forward[some]).max(initial=0.0))


def _problem(problem: Problem, graph: OpGraph) -> Problem:
    """The problem of the mirrored graph."""
    expect(graph, OpGraph, "backward_schedule")
    names = gradient_names(problem.graph)
    if not np.array_equal(graph.names, names[::-1]):
        raise FormatError(
            f"{graph.title} is not {problem.graph.title} mirrored: its ops have other names; make it with "
            "backward(…, forward=False)"
        )
    return on_graph(problem, graph, names)


def _reversed(schedule: Schedule, problem: Problem, start: np.ndarray) -> Schedule:
    """The schedule of the mirrored problem with ops starting at `start`, each transfer as soon as its gradient is there."""
    device = schedule.device[::-1]
    finish = start + problem.exec_times(device)
    plan = planned_schedule(problem, device, start, finish)
    rows = plan.transfers
    made = problem.graph.tensor_producer[rows["tensor"]]
    placement = Placement(problem, device, planned=np.lexsort((np.arange(len(start)), finish, start)))
    order = np.lexsort((rows["tensor"], rows["destination"], made))
    return replace(plan, placement=placement, transfers=rows[order], scheduler="backward")

"""One device per named layer: how an expert splits a model by hand."""

from __future__ import annotations

import re
from typing import Annotated

import numpy as np

from placelab.planning.capacity import Assignment
from placelab.planning.ranks import mean_exec, relative_speed, rounded, upward_rank
from placelab.problem.problem import Problem
from placelab.schedule.catalogue import Limits, partitioner
from placelab.schedule.placement import Placement
from placelab.strategies.partitioning.contiguous import pieces

REASONS = ("with its layer", "its layer's device may not or cannot hold it; the next one that can")
GRADIENTS = re.compile(r"^gradients(_\d+)?/")


@partitioner(source="Jeon et al. 2020 §5.1 (Baechi), the expert")
def layers(problem: Problem, *, depth: Annotated[int, Limits(0)] = 0, trace: bool = False) -> Placement:
    r"""One device per named layer, consecutive layers together, work in proportion to the devices' speeds.

    Op names split at ``/`` into scopes; ops of one scope are a layer. A gradient op belongs to its forward op's layer
    (TensorFlow: ``gradients/rnn/cond_3/MatMul_grad/mul`` to ``rnn/cond_3/MatMul``).

    Parameters
    ----------
    depth
        Scopes that name a layer: at 1 ``rnn/cond_3/MatMul`` is in layer ``rnn``, at 2 in ``rnn/cond_3``. 0: as few as
        will do: a scope with more work than the fastest device's share is opened into the scopes in it, and so on.

    Notes
    -----
    Layers stand in the order of the largest :func:`placelab.upward_rank` of their ops, ties by op number: forward before
    backward, and weights next to the layer that reads them first. With W(l) the work of the layers before l, layer l belongs
    to the first device d with :math:`(W(l) + w_l / 2) / W \le \sum_{e \le d} s_e / \sum_e s_e`, as in ``contiguous``; so a
    device exceeds its share by less than its first and its last layer. An embedding goes with the first layer and a projection
    with the last, as the expert has it, because they stand next to them. A group goes with its first op's layer. An op that may
    not run where its layer is, or has no room there, goes on to the next device, round the cluster.

    A graph without scopes has as many layers as ops: ``contiguous`` in the order of the rank. w is
    :func:`placelab.planning.ranks.mean_exec`, s :func:`placelab.planning.ranks.relative_speed`. O(ops log ops).
    """
    assignment = Assignment(problem, trace)
    share = relative_speed(problem)
    work = assignment.units.total(mean_exec(problem))
    layer = _layers(
        [scopes(name) for name in problem.graph.names[assignment.units.first]], work, share.max() / share.sum(), depth
    )
    rank = np.full(layer.max() + 1, -1.0)
    np.maximum.at(rank, layer, assignment.units.largest(rounded(upward_rank(problem))))
    order = np.argsort(-rank, kind="stable")  # layers are numbered by their first unit
    target = np.empty(len(rank), dtype=np.int32)
    target[order] = pieces(np.bincount(layer, work)[order], share)
    queue = np.lexsort((np.arange(assignment.units.n), np.argsort(order)[layer]))
    return assignment.first_fit(queue, target[layer[queue]], REASONS)


def scopes(name: str) -> list[str]:
    """The scopes of an op and its own name, those of its forward op for a gradient.

    >>> scopes("gradients/rnn/cond_3/MatMul_grad/mul")
    ['rnn', 'cond_3', 'MatMul', 'mul']
    """
    forward = GRADIENTS.sub("", name)
    return [part.removesuffix("_grad") for part in forward.split("/")] if forward != name else name.split("/")


def _layers(path: list[list[str]], work: np.ndarray, share: float, depth: int) -> np.ndarray:
    """Layer of each unit, numbered by their first unit."""
    level = np.full(len(path), depth or 1)
    longest = np.array([len(scopes) for scopes in path])
    while True:
        number: dict[tuple[str, ...], int] = {}
        layer = np.array(
            [number.setdefault(tuple(p[:n]), len(number)) for p, n in zip(path, level.tolist(), strict=True)]
        )
        heavy = np.bincount(layer, work)[layer] > share * work.sum()
        if depth or not (heavy & (level < longest)).any():
            return layer
        level += heavy & (level < longest)

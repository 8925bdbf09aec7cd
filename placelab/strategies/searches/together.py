"""Tie the ops that transforms place as one, in the problem of all ops."""

from __future__ import annotations

import numpy as np

from placelab.base.errors import expect
from placelab.base.seeds import generator
from placelab.planning.capacity import units
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.strategies.preparing.chain import pipeline

DRAWN = 64  # placements; two units of which none is pinned share a device in all of them once in 2⁶⁴ times at most


def tied_by(problem: Problem, names: str) -> Problem:
    """The problem with a colocation group for all ops that always share a device after some transforms.

    Parameters
    ----------
    names
        Transforms of the catalogue in their order, such as ``"forward-only coplace fuse"``; "": the problem itself.

    Returns
    -------
    Problem
        All ops run, where after ``prepare=`` only the smaller problem is looked at; but what is to be decided is as small.

    Notes
    -----
    Random placements of the smaller problem are expanded; ops that have the same device in all of them are tied.
    """
    expect(names, str, "units, the names of transforms,")
    small, expand = pipeline(names.split())(problem)
    if small is problem:
        return problem
    unit, random = units(small), generator(0)
    choices = [small.feasible(v) for v in unit.first]
    drawn = np.empty((problem.graph.n_ops, DRAWN), dtype=np.int32)
    for i in range(DRAWN):
        place = np.array([choice[random.integers(len(choice))] for choice in choices])
        drawn[:, i] = expand(Placement(small, place[unit.of])).device
    _, number = np.unique(drawn, axis=0, return_inverse=True)
    members = np.argsort(number.reshape(-1), kind="stable")
    groups = np.split(problem.graph.names[members], np.cumsum(np.bincount(number.reshape(-1)))[:-1])
    return problem.replace(groups=[group.tolist() for group in groups if len(group) > 1])

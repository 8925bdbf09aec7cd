"""Seconds of a forward and a backward pass that run together: computation of one hides communication of the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from placelab.base.errors import FormatError, UnsupportedError
from placelab.base.interrupts import is_installed
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.schedule import Schedule
from placelab.simulation.event_simulation import simulate
from placelab.strategies.placing import place

Part = tuple[str, float]
WHERE = ("compute", "stream")
PROVABLE = 20  # parts


class Overlap(NamedTuple):
    """Seconds of a forward pass, a backward pass, and both together; whether no order takes less."""

    forward: float
    backward: float
    both: float
    proven: bool


def overlap_seconds(forward: Sequence[Part], backward: Sequence[Part], *, prove: bool = True) -> Overlap:
    """Run the parts of a chunk's forward pass beside those of another micro-batch's backward pass.

    Parameters
    ----------
    forward, backward
        Parts in their order, each ``("compute", seconds)`` or ``("stream", seconds)``: attention, dispatch to experts, experts,
        combination, for example, and in the backward pass the other way round. A device computes one part at a time, and its
        stream communicates one at a time.
    prove
        Find the optimum of up to 20 parts by ``cp-sat``, where OR-tools is there; else ``pct`` orders them.

    Returns
    -------
    Overlap
        ``both`` is F&B, the `seconds` of :func:`placelab.transforms.together`.

    Raises
    ------
    FormatError
        Seconds that are no numbers of 0 or more.
    UnsupportedError
        A part elsewhere than on ``compute`` or ``stream``.

    References
    ----------
    DeepSeek-AI (2024), DeepSeek-V3 §3.2.1.

    Examples
    --------
    >>> layer = [("compute", 1), ("stream", 1), ("compute", 1), ("stream", 1)]
    >>> back = [("stream", 1), ("compute", 2), ("stream", 1), ("compute", 2)]
    >>> overlap_seconds(layer, back)
    Overlap(forward=4.0, backward=6.0, both=6.0, proven=True)
    """
    chains = [_checked(parts, label) for parts, label in ((forward, "forward"), (backward, "backward"))]
    alone = [sum(seconds for _, seconds in chain) for chain in chains]
    if not all(alone):
        return Overlap(alone[0], alone[1], sum(alone), True)
    problem = _problem(chains)
    names = problem.graph.names
    busiest = max(sum(s for chain in chains for d, s in chain if d == device) for device in WHERE)
    least = max(busiest, *alone)
    both = _in_order(problem).makespan
    proven = both <= least * (1 + 1e-9)
    if not proven and prove and len(names) <= PROVABLE and is_installed("ortools"):
        placement = place(problem, "cp-sat")
        both = min(both, simulate(problem, placement, "planned").makespan)
        proven = "proven optimal" in placement.notes
    return Overlap(alone[0], alone[1], both, proven)


def together_order(forward: Sequence[Part], backward: Sequence[Part]) -> list[int]:
    """Which pass each next part is of, 0 for the forward one, where both run together as ``pct`` orders them.

    >>> layer = [("compute", 1), ("stream", 1), ("compute", 1), ("stream", 1)]
    >>> together_order(layer, [("stream", 1), ("compute", 2), ("stream", 1), ("compute", 2)])
    [0, 1, 0, 1, 0, 1, 0, 1]
    """
    chains = [_checked(parts, label) for parts, label in ((forward, "forward"), (backward, "backward"))]
    problem = _problem(chains)
    schedule = _in_order(problem)
    waiting = [[str(problem.graph.names[v]) for v in schedule.order(d)][::-1] for d in range(len(WHERE))]
    at = [0, 0]
    found = list[int]()
    while any(waiting):
        for names in waiting:
            while names and int(names[-1][1:]) == at[c := "FB".index(names[-1][0])]:
                names.pop()
                found.append(c)
                at[c] += 1
    return found


def _problem(chains: Sequence[Sequence[Part]]) -> Problem:
    """The parts of two passes on a device and its stream."""
    names = [f"{label}{k}" for label, chain in zip("FB", chains, strict=True) for k in range(len(chain))]
    each = [part for chain in chains for part in chain]
    edges = [(v, v + 1) for v in range(len(each) - 1) if v != len(chains[0]) - 1]
    ties = {device: (device,) for device in WHERE}
    graph = OpGraph.from_arrays(
        names,
        [seconds for _, seconds in each],
        np.array(edges, int).reshape(-1, 2),
        edge_control=[True] * len(edges),
        devices={v: ties[device] for v, (device, _) in enumerate(each)},
    )
    return Problem(graph, Cluster([1.0, 1.0], bandwidth=np.inf, names=list(WHERE)))


def _in_order(problem: Problem) -> Schedule:
    return simulate(problem, place(problem, "hash"), "pct")


def _checked(parts: Sequence[Part], label: str) -> list[tuple[str, float]]:
    found = []
    for part in parts:
        try:
            device, seconds = part
            taken = float(seconds)
        except (TypeError, ValueError):
            raise FormatError(f"{label} has {part!r:.60}; expected pairs like ('compute', 0.5)") from None
        if device not in WHERE:
            raise UnsupportedError(f"{label} has a part on {device!r:.60}; expected 'compute' or 'stream'")
        if not 0 <= taken < np.inf:
            raise FormatError(f"{label} has a part of {seconds!r:.60} s; expected a finite number of 0 or more")
        found.append((device, taken))
    return found

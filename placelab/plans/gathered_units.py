"""ZeRO 3 in a plan's step: which weights are gathered when, how long that takes, and the step on all ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from placelab.plans.degrees import Plan
from placelab.plans.plan_collectives import Gradients, gradient_groups, joined
from placelab.plans.rank_passes import GATHER, Ends, Part, RankPasses
from placelab.plans.stage_pipeline import beside
from placelab.problem.cluster import Cluster
from placelab.problem.graph import OpGraph
from placelab.problem.problem import Problem
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule

MOST_SHOWN = 30_000  # actions that one rank's problem has; more make a chart that nobody reads, seconds late
KINDS = {"gather": "all-gather", "scatter": "reduce-scatter"}
Groups = list[list[int]]
LIMIT = 2  # units whose weights are gathered at a time, PyTorch's


class Action(NamedTuple):
    """``"gather"``, ``"pass"`` or ``"scatter"`` of the blocks of a unit in a micro-batch; what it waits for is the number of an
    action, -1 for none."""

    kind: str
    microbatch: int
    phase: str
    blocks: tuple[int, ...]
    after: int = -1


@lru_cache(32)  # plans of other degrees have the same
def actions(layers: int, m: int, limit: int = LIMIT) -> tuple[Action, ...]:
    """A step of ZeRO 3 in the order in which devices and streams run it, by the rules of :func:`placelab.transforms.sharded`.

    Layers are the units. The rest, embedding and head, is gathered at the start of each micro-batch, and kept.

    >>> [a.kind[0] + a.phase + str(a.blocks[0]) for a in actions(2, 1)]  # doctest: +NORMALIZE_WHITESPACE
    ['gF0', 'pF0', 'gF1', 'gF2', 'pF1', 'gBW1', 'pF2', 'pF3', 'pBW3', 'pBW2', 'sBW2', 'pBW1', 'sBW1', 'pBW0', 'sBW0']
    """
    found: list[Action] = []

    def add(*fields: object) -> int:
        found.append(Action(*fields))  # type: ignore[arg-type]
        return len(found) - 1

    rest = 0, layers + 1
    units = [*(("F", u) for u in range(1, layers + 1)), *(("BW", u) for u in range(layers, 0, -1))]
    needed = [k for k in range(2 * layers) if k != layers]  # the last unit is kept until its backward pass
    for i in range(m):
        add("pass", i, "F", (0,), add("gather", i, "F", rest))
        freed: list[int] = []  # passes that have freed a unit
        gathers: list[int] = []
        for k, (phase, u) in enumerate(units):
            while len(gathers) < len(needed) and (needed[len(gathers)] <= k or len(gathers) - len(freed) < limit):
                ahead = units[needed[len(gathers)]]
                before = freed[len(gathers) - limit] if len(gathers) >= limit else -1
                gathers.append(add("gather", i, ahead[0], (ahead[1],), before))
            ended = add("pass", i, phase, (u,), gathers[k - (k > layers)] if k != layers else -1)
            if k != layers - 1:
                freed.append(ended)
            else:
                add("pass", i, "F", (layers + 1,))
                add("pass", i, "BW", (layers + 1,))
            if phase == "BW":
                add("scatter", i, "BW", (u,), ended)
        add("scatter", i, "BW", rest, add("pass", i, "BW", (0,)))
    return tuple(found)


def gathered_seconds(
    step: Sequence[Action],
    passes: Mapping[str, Sequence[float]],
    sent: Callable[[tuple[int, ...]], tuple[float, float]],
) -> float:
    """Seconds of a step: passes one after the other, gathers and scatters one after the other beside them.

    Parameters
    ----------
    passes
        Phase → seconds of each block.
    sent
        Of a unit's blocks the seconds to gather their weights, and to scatter their gradients.

    Examples
    --------
    Four layers of 2 s forward and 4 s backward, 3 s each to gather and to scatter:

    >>> passes = {"F": [0, 2, 2, 2, 2, 0], "BW": [0, 4, 4, 4, 4, 0]}
    >>> gathered_seconds(actions(4, 1), passes, lambda blocks: (0, 0) if 0 in blocks else (3, 3))
    37.0
    """
    ends: list[float] = []
    compute = stream = 0.0
    known = {blocks: sent(blocks) for blocks in {each.blocks for each in step if each.kind != "pass"}}
    for each in step:
        waits = ends[each.after] if each.after >= 0 else 0.0
        if each.kind == "pass":
            ends.append(compute := max(compute, waits) + passes[each.phase][each.blocks[0]])
        else:
            ends.append(stream := max(stream, waits) + known[each.blocks][each.kind == "scatter"])
    return max(compute, stream)


def is_shown(layers: int, m: int) -> bool:
    """Whether the step of one rank has gathers and scatters between its passes, or is too long for it."""
    return m * (5 * layers + 4) <= MOST_SHOWN


def with_gathers(
    one: Schedule,
    step: Sequence[Action],
    passes: Mapping[str, Sequence[float]],
    sent: Callable[[tuple[int, ...]], tuple[float, float]],
) -> Placement:
    """A step of ZeRO 3 of one rank, as :func:`gathered_seconds` times it; as it is where nothing is gathered.

    Parameters
    ----------
    one
        Of its passes alone, on one device.
    passes, sent
        As those of :func:`gathered_seconds`.

    Returns
    -------
    Placement
        Passes of blocks ``F{micro-batch}.{block}@name`` and ``BW…`` on the device, ``gather/F…`` and ``scatter/BW…`` on
        ``name/stream``, each after what is before it there: any scheduler keeps their order.
    """
    [name] = one.problem.cluster.names
    known = {blocks: sent(blocks) for blocks in {each.blocks for each in step if each.kind != "pass"}}
    places = name, f"{name}/stream"
    names: list[str] = []
    made: list[tuple[str, float, int]] = []  # kind, seconds, place
    edges: list[tuple[int, int]] = []
    last = [-1, -1]
    ends: list[int] = []
    for each in step:
        stream = each.kind != "pass"
        seconds = known[each.blocks][each.kind == "scatter"] if stream else passes[each.phase][each.blocks[0]]
        waits = ends[each.after] if each.after >= 0 else -1
        if stream and not seconds:
            ends.append(waits)
            continue
        edges += [(u, len(names)) for u in {waits, last[stream]} if u >= 0]
        last[stream] = len(names)
        ends.append(len(names))
        label = f"{each.phase}{each.microbatch}.{each.blocks[0]}@{name}"
        names.append(f"{each.kind}/{label}" if stream else label)
        made.append((each.kind if stream else each.phase[0], seconds, int(stream)))
    if last[1] < 0:
        return one.placement
    kinds, seconds_of, place = zip(*made, strict=True)
    graph = OpGraph.from_arrays(
        names,
        seconds_of,
        np.array(edges),
        edge_bytes=np.zeros(len(edges)),
        edge_control=np.ones(len(edges), bool),
        kind=kinds,
        devices={v: (places[at],) for v, at in enumerate(place)},
        metadata={"name": one.problem.graph.title},
    )
    number = np.array([graph.index(op) for op in names], np.int32)
    problem = one.problem.replace(graph=graph, cluster=beside(one.problem.cluster))
    device = np.empty(len(names), np.int32)
    device[number] = place
    return Placement(problem, device, number, partitioner=one.placement.partitioner)


def every_gathered_rank(
    plan: Plan,
    cluster: Cluster,
    like: Problem,
    step: Sequence[Action],
    parts: Sequence[Mapping[str, list[Part]]],
    sizes: Sequence[Gradients],
    make: Callable[..., RankPasses] = RankPasses,
) -> Placement:
    """The step of all dp · tp ranks under ZeRO 3: a stream for collectives within passes, and one for weights and gradients.

    Parameters
    ----------
    like
        Whose models of transfers and memory hold.
    parts
        Of each block, its passes' parts by phase.
    sizes
        Of each block, the bytes of gradients and of weights.
    make
        Of which ranks ops are made.

    Returns
    -------
    Placement
        Ops ``F{micro-batch}.{block}/{part}@{device}``, hops ``gather/F{micro-batch}.{block}/…`` and ``scatter/BW…/…`` on
        ``name/gather``; ``planned`` replays it.

    Raises
    ------
    FormatError
        More than a million ops.

    Notes
    -----
    Collectives are rings. O(ops + edges).
    """
    ranks = make(plan, cluster, streams=2)
    groups = [[g.tolist() for g in gradient_groups(plan, experts) if len(g) > 1] for experts in (False, True)]
    different = {(each.kind, each.blocks): each for each in step if each.kind != "pass"}
    rounds = {key: _rounds(each, sizes, groups) for key, each in different.items()}
    passes = (parts[each.blocks[0]][each.phase] for each in step if each.kind == "pass")
    sends = [each for each in step if each.kind != "pass"]
    ranks.check(passes, ((KINDS[a.kind], sent[2]) for a in sends for sent in rounds[a.kind, a.blocks]))
    ends: list[Ends] = []
    for each in step:
        label = f"{each.phase}{each.microbatch}.{each.blocks[0]}"
        after = ends[each.after] if each.after >= 0 else {}
        if each.kind == "pass":
            last = ranks.run(label, parts[each.blocks[0]][each.phase], 0, each.phase[0], after)[1]
            ends.append({d: [op] for d, op in last.items()})
        else:
            sent = rounds[each.kind, each.blocks]
            ends.append(_sent(ranks, f"{each.kind}/{label}", each.kind, sent, after))
    return ranks.placement(like)


def _rounds(each: Action, sizes: Sequence[Gradients], groups: Sequence[Groups]) -> list[tuple[str, float, Groups]]:
    """What is sent, its bytes, over which groups; what is of experts goes over the ranks that hold the same ones."""
    whole = joined(sizes, each.blocks)
    first = each.kind == "gather"
    rounds = ("", whole[first], groups[0]), ("/experts", whole[2 + first], groups[1])
    return [each for each in rounds if each[1]]


def _sent(ranks: RankPasses, label: str, kind: str, rounds: Sequence[tuple[str, float, Groups]], after: Ends) -> Ends:
    """Gather the weights of some blocks, or scatter their gradients."""
    last = after
    for name, size, groups in rounds:
        for members in groups:
            last = last | ranks.collective(label + name, KINDS[kind], size, members, last, GATHER)
    return last

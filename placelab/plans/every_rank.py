"""A plan's step with all of its ranks: parts of passes on devices, hops of collectives on their streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from placelab.plans.degrees import Plan
from placelab.plans.overlap import together_order
from placelab.plans.pass_parts import Part
from placelab.plans.plan_collectives import Gradients, gradient_groups
from placelab.plans.rank_passes import Ends, RankPasses
from placelab.plans.stage_ranks import layout_of
from placelab.problem.cluster import Cluster
from placelab.problem.pipeline_columns import required
from placelab.schedule.placement import Placement
from placelab.schedule.schedule import Schedule


def every_rank(
    plan: Plan,
    cluster: Cluster,
    one: Schedule,
    parts: Sequence[Mapping[str, list[Part]]],
    gradients: Sequence[Gradients],
    chains: Sequence[tuple[Sequence, Sequence]] = (),
) -> Placement:
    """The step of all dp · tp · pp ranks, planned in the order of the pipeline of one of them.

    Parameters
    ----------
    cluster
        Its first devices are the ranks, replica i, stage j, tensor rank q on q + tp (i + dp j).
    one
        The pipeline of one tensor rank of one replica, a device per stage.
    parts
        Of each stage, its passes' parts by phase.
    gradients
        Of each pipeline rank what leaves it after its last op.
    chains
        Of passes that run together: by stage, the seconds of the parts of its forward pass and of its whole backward pass, as
        :func:`placelab.plans.overlap_seconds` takes them.

    Returns
    -------
    Placement
        Of a problem on the ranks and their streams, ``name/stream``. Ops: ``F{micro-batch}.{stage}/{part}@{device}``, hops
        ``F…/{part}/reduce{hop}@{device}``, ``gradients{j}/…``; ``planned`` replays it. Passes that run together begin and end
        with an op without time; the parts between are in the order that gives the seconds of both.

    Raises
    ------
    FormatError
        More ops than graphs may have.

    Notes
    -----
    Sums and exchanges are rings. O(ops + edges).
    """
    ranks = RankPasses(plan, cluster)
    _passes(ranks, one, parts, chains)
    _gradients(ranks, gradients)
    return ranks.placement(one.problem)


def _passes(
    ranks: RankPasses,
    one: Schedule,
    parts: Sequence[Mapping[str, list[Part]]],
    chains: Sequence[tuple[Sequence, Sequence]],
) -> None:
    """Add all passes, in the order in which they start in the one pipeline."""
    graph = one.problem.graph
    pipeline = required(graph, "every_rank")
    each = zip(pipeline.phase.tolist(), pipeline.stage.tolist(), strict=True)
    ranks.check(parts[stage]["F" if phase == "FB" else phase] for phase, stage in each)
    ends: dict[int, dict[int, int]] = {}  # op of the one pipeline → device → the op that is its end there
    needs: dict[int, list[tuple[int, float]]] = {}
    for u, v, size in zip(graph.producer.tolist(), graph.consumer.tolist(), graph.edge_bytes.tolist(), strict=True):
        needs.setdefault(v, []).append((u, size))
    for v in np.lexsort((np.arange(graph.n_ops), one.finish, one.start)).tolist():
        rank, phase, stage = int(one.device[v]), str(pipeline.phase[v]), int(pipeline.stage[v])
        label = str(graph.names[v])
        if phase == "FB":
            back = int(pipeline.backward[v, 1])
            order = together_order(chains[stage][0], chains[back][1])
            begun, ends[v] = ranks.run_together(label, (parts[stage]["F"], parts[back]["BW"]), order, rank)
        else:
            begun, ends[v] = ranks.run(label, parts[stage][phase], rank, phase[0])
        for u, size in needs.get(v, []):
            away = (int(one.device[u]) - rank) * ranks.wide
            for device, op in begun.items():
                ranks.edges.append((ends[u][device + away], op, size if away else 0.0, 0, not away))


def _gradients(ranks: RankPasses, gradients: Sequence[Gradients]) -> None:
    """Sum gradients over the devices that hold the same weights once the last op of each is over; of twins over both ranks."""
    plan = ranks.plan
    dual = layout_of(plan.schedule, plan.chunks) == "dual"
    for rank, sent in enumerate(gradients):
        twins = [rank, plan.pp - 1 - rank] if dual else [rank]
        if twins[0] > twins[-1]:
            continue
        devices = [twin * ranks.wide for twin in twins]
        last: Ends = {d: ranks.order[d][-1:] for base in devices for d in range(base, base + ranks.wide)}
        for experts, size, gathered in ((False, *sent[:2]), (True, *sent[2:])):
            rounds = [("all-reduce", size)] if not plan.zero else [("reduce-scatter", size), ("all-gather", gathered)]
            for kind, bytes_ in rounds:
                for places in gradient_groups(plan, experts) if bytes_ else ():
                    members = [base + place for base in devices for place in places.tolist()]
                    if len(members) > 1:
                        label = f"gradients{rank}/{'experts/' * experts}{kind}"
                        last |= ranks.collective(label, kind, bytes_, members, last)

"""A plan's step with all of its ranks: parts of passes on devices, hops of collectives on their streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from placelab.plans.degrees import Plan
from placelab.plans.overlap import together_order
from placelab.plans.pass_parts import Part
from placelab.plans.plan_collectives import Gradients, gradient_groups
from placelab.plans.rank_passes import GATHER, STREAM, Ends, RankPasses, Sent
from placelab.plans.scattered_gradients import scatters, starting_order
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
    scattered: Sequence[Gradients] = (),
    make: Callable[..., RankPasses] = RankPasses,
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
    scattered
        Under ZeRO 2, of each stage what is scattered after each backward pass, on a second stream, ``name/gather``.
    make
        Of which ranks ops are made: of all, or of one (:class:`placelab.plans.one_rank.OneRank`).

    Returns
    -------
    Placement
        Of a problem on the ranks and their streams, ``name/stream``. Ops: ``F{micro-batch}.{stage}/{part}@{device}``, hops
        ``F…/{part}/reduce{hop}@{device}``, ``gradients{j}/…``; ``planned`` replays it. Passes that run together begin and end
        with an op without time; the parts between are in the order that gives the seconds of both.

    Raises
    ------
    FormatError
        More than a million ops.

    Notes
    -----
    Sums and exchanges are rings. O(ops + edges).
    """
    ranks = make(plan, cluster, streams=2 if scattered else 1)
    ranks.check(_each_pass(one, parts), _each_sent(plan, one, gradients, scattered))
    _passes(ranks, one, parts, chains, scattered)
    _gradients(ranks, gradients)
    return ranks.placement(one.problem)


def _each_pass(one: Schedule, parts: Sequence[Mapping[str, list[Part]]]) -> Iterator[list[Part]]:
    """The parts of all passes; of those that run together, of both."""
    pipeline = required(one.problem.graph, "every_rank")
    for phase, stage, back in zip(
        pipeline.phase, pipeline.stage.tolist(), pipeline.backward[:, 1].tolist(), strict=True
    ):
        yield parts[stage]["F" if phase == "FB" else str(phase)]
        if phase == "FB":
            yield parts[back]["BW"]


def _each_sent(
    plan: Plan, one: Schedule, gradients: Sequence[Gradients], scattered: Sequence[Gradients]
) -> Iterator[Sent]:
    """All collectives of gradients and weights."""
    bases = [0, plan.dp * plan.tp] if _dual(plan) else [0]
    groups = [_members(plan, bases, experts) for experts in (False, True)]
    stages = [each.stage for each in scatters(one, _dual(plan))] if scattered else []
    apart = gradients[: plan.pp // 2] if _dual(plan) else gradients  # twins send theirs together
    kinds = "reduce-scatter" if plan.zero else "all-reduce", "all-gather"
    for sent in (*apart, *(Gradients(scattered[s].size, 0.0, scattered[s].experts) for s in stages)):
        for k, size in enumerate(sent):  # gradients and weights, then those of experts
            if size:
                yield kinds[k % 2], groups[k // 2]


def _passes(
    ranks: RankPasses,
    one: Schedule,
    parts: Sequence[Mapping[str, list[Part]]],
    chains: Sequence[tuple[Sequence, Sequence]],
    scattered: Sequence[Gradients],
) -> None:
    """Add all passes, in the order in which they start in the one pipeline."""
    graph = one.problem.graph
    pipeline = required(graph, "every_rank")
    ends: dict[int, dict[int, int]] = {}  # op of the one pipeline → device → the op that is its end there
    needs: dict[int, list[tuple[int, float]]] = {}
    for u, v, size in zip(graph.producer.tolist(), graph.consumer.tolist(), graph.edge_bytes.tolist(), strict=True):
        needs.setdefault(v, []).append((u, size))
    at = {v: k for k, v in enumerate(starting_order(one))}
    sent = {max(each.ops, key=at.__getitem__): each for each in scatters(one, _dual(ranks.plan))} if scattered else {}
    for v in at:
        rank = int(one.device[v])
        phase = str(pipeline.phase[v])
        stage = int(pipeline.stage[v])
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
        if v in sent:
            _scatter(ranks, label, scattered[sent[v].stage], [ends[u] for u in sent[v].ops])


def _scatter(ranks: RankPasses, label: str, sent: Gradients, made: Sequence[Mapping[int, int]]) -> None:
    """Scatter the gradients of a stage once the passes that made them are over on each of its devices."""
    last: Ends = {d: [op] for each in made for d, op in each.items()}
    bases = [min(each) for each in made]
    for experts, size in ((False, sent.size), (True, sent.experts)):
        for members in _members(ranks.plan, bases, experts) if size else ():
            last |= ranks.collective(
                f"scatter/{label}{'/experts' * experts}", "reduce-scatter", size, members, last, GATHER
            )


def _members(plan: Plan, bases: Sequence[int], experts: bool) -> list[list[int]]:
    """Devices that hold the same weights, or the same experts, of ranks of the pipeline that begin at `bases`."""
    groups = [
        [base + place for base in bases for place in places.tolist()] for places in gradient_groups(plan, experts)
    ]
    return [group for group in groups if len(group) > 1]


def _dual(plan: Plan) -> bool:
    return layout_of(plan.schedule, plan.chunks) == "dual"


def _gradients(ranks: RankPasses, gradients: Sequence[Gradients]) -> None:
    """Sum gradients over the devices that hold the same weights once the last op of each is over; of twins over both ranks."""
    plan = ranks.plan
    stream = GATHER if ranks.plan.zero == 2 else STREAM
    for rank, sent in enumerate(gradients):
        twins = [rank, plan.pp - 1 - rank] if _dual(plan) else [rank]
        if twins[0] > twins[-1]:
            continue
        bases = [twin * ranks.wide for twin in twins]
        last: Ends = {d: ranks.order[d][-1:] for base in bases for d in range(base, base + ranks.wide)}
        for experts, size, gathered in ((False, *sent[:2]), (True, *sent[2:])):
            rounds = [("all-reduce", size)] if not plan.zero else [("reduce-scatter", size), ("all-gather", gathered)]
            for kind, bytes_ in rounds:
                for members in _members(plan, bases, experts) if bytes_ else ():
                    label = f"gradients{rank}/{'experts/' * experts}{kind}"
                    last |= ranks.collective(label, kind, bytes_, members, last, stream)
